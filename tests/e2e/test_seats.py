# SPDX-License-Identifier: Apache-2.0
"""With --recycle the memory of a warm Python serves the same client's next run, put back to what it was (src/jar/seat.h).

What a run leaves in it, or does to it, the next one does not find: a list of such things, and a look (LOOK) that sees each of them. That the look would see them is
shown by a build in which nothing is put back, and within one run.
"""
import json
import os
import signal
import time
from pathlib import Path

import pytest

import harness
from harness import Batch, descendants, need_batch, seconds, stat_of, wait_until

REPO = Path(__file__).resolve().parents[2]
HOOKS = REPO / "build-hooks" / "belljar"
LIMITS = {"wall_ms": int(seconds(20) * 1000), "memory_bytes": 256 << 20}

LIBC = "import ctypes; L = ctypes.CDLL(None, use_errno=True); L.syscall.restype = ctypes.c_long\nV = ctypes.c_void_p\ns = lambda *a: L.syscall(*[V(x) for x in a])\n"

# What the next one could find: printed as one object.
LOOK = LIBC + r"""
import builtins, gc, json, os, re, signal, sys, threading
maps = [l.split() for l in open('/proc/self/maps')]
status = dict(l.split(':', 1) for l in open('/proc/self/status'))
text = next(int(m[0].split('-')[0], 16) for m in maps if 'x' in m[1])
heap = [m for m in maps if m[-1] == '[heap]'][-1][0].split('-')
pages = lambda a: ctypes.string_at(a, 4096)
look = {
    'builtins': sorted(dir(builtins)), 'modules': 'planted' in sys.modules, 'small': [257 - 256, 5, 2 + 2, True, None], 'path': sys.path, 'hooks': len(sys.meta_path),
    'environ': dict(os.environ), 'getenv': str(ctypes.cast(L.getenv(b'PLANTED'), V).value), 'umask': os.umask(0o22), 'cwd': os.getcwd(),
    'signals': [str(signal.getsignal(n)) for n in range(1, 32)], 'status': {k: status[k] for k in ('SigBlk', 'SigIgn', 'SigCgt', 'Threads', 'VmLck', 'CoreDumping', 'THP_enabled', 'NoNewPrivs', 'Seccomp', 'Name')},
    'maps': [(m[0], m[1], m[2], m[4]) for m in maps if m[-1] not in ('[stack]', '[heap]') and 'python3' not in m[-1]][:400] and len([m for m in maps if 'memfd' in m[-1]]),
    'text': hash(pages(text)) == hash(pages(text)) and sum(pages(text + 0x20000)), 'prctl': [s(157, n, 0, 0, 0, 0) for n in (3, 39, 42, 66, 79)], 'nice': os.getpriority(os.PRIO_PROCESS, 0),
    'pkey': s(330, 0, 0), 'membarrier': s(324, 1 << 9, 0, 0), 'files': sorted(os.listdir('/workspace')), 'tmp': os.listdir('/tmp'), 'fds': sorted(os.listdir('/proc/self/fd')),
    'threads': threading.active_count(), 'recursion': sys.getrecursionlimit(), 'gc': gc.get_threshold(), 'trace': str(sys.gettrace()), 'codec': sys.getdefaultencoding(),
    'policy': s(239, 0, 0, 0, 0, 0), 'brk': s(12, 0) & 0xfff, 'limits': [__import__('resource').getrlimit(n) for n in range(16)], 'timer': signal.getitimer(signal.ITIMER_REAL),
    'affinity': len(os.sched_getaffinity(0)), 'scheduler': os.sched_getscheduler(0), 'planted': [o for o in gc.get_objects() if type(o) is dict and 'planted-here' in o] != [],
    'peak': int(__import__('resource').getrusage(0).ru_maxrss > 120000), 'dumpable': s(157, 3, 0, 0, 0, 0), 'slack': s(157, 30, 0, 0, 0, 0), 'subreaper': 0,
    'fork': os.waitpid(p, 0)[1] if (p := os.fork()) else os._exit(len([1, 2, 3]) - 3),
}
print(json.dumps(look, default=str))
"""

PLANTS = {
    # Not at the end that Python makes of it, which would clear much of it away.
    "a builtin": "import builtins, os; builtins.planted = 1; os._exit(0)",
    "a changed builtin": "import builtins, os; builtins.len = lambda x: 7; builtins.sorted = None; os._exit(0)",
    "a module": "import os, sys, types; sys.modules['planted'] = types.ModuleType('planted'); os._exit(0)",
    "a finder": "import os, sys; sys.meta_path.insert(0, 7); sys.path.append('planted'); os._exit(0)",
    "the number five": LIBC + "ctypes.memset(id(5) + 24, 9, 4)",
    "what None is counted": LIBC + "ctypes.memset(id(None), 0x7f, 4)",
    "the environment": "import os; os.environ['PLANTED'] = 'x'; os._exit(0)",
    "the C library's environment": LIBC + "L.setenv(b'PLANTED', b'x', 1)",
    "signals": "import signal, os\nfor n in (2, 10, 12, 15): signal.signal(n, signal.SIG_IGN)\nsignal.pthread_sigmask(0, [10, 12]); signal.setitimer(signal.ITIMER_REAL, 500)",
    "process attributes": "import os, sys, gc; os.umask(0); os.nice(3); sys.setrecursionlimit(77777); gc.set_threshold(1, 1, 1); os.chdir('/tmp')",
    "files": "open('left', 'w').write('x'); open('/tmp/left', 'w').write('x'); open('/dev/shm/left', 'w').write('x')",
    "open files": "import os; [os.dup2(os.open('/etc/passwd', 0), n) for n in range(20, 60)]",
    "much memory": "x = bytearray(150 << 20); x[::4096] = b'x' * len(x[::4096])",
    "a dictionary": "import gc, ctypes; d = {'planted-here': 1}; ctypes.pythonapi.Py_IncRef(ctypes.py_object(d)); gc.freeze(); import os; os._exit(0)",
    "changed program text": LIBC + "m = next(l for l in open('/proc/self/maps') if 'xp' in l); a = int(m.split('-')[0], 16) + 0x20000\n"
                                   "L.mprotect(V(a), 4096, 7); ctypes.memset(a, 0x90, 4096); L.mprotect(V(a), 4096, 5); import os; os._exit(0)",
    "changed text in a huge page": LIBC + "m = next(l for l in open('/proc/self/maps') if 'xp' in l); a = int(m.split('-')[0], 16) + 0x20000\n"
                                          "L.mprotect(V(a), 4096, 7); ctypes.memset(a, 0x90, 64); s(28, a & ~0x1fffff, 2 << 20, 25); L.mprotect(V(a), 4096, 5); import os; os._exit(0)",
    "text that is not there": LIBC + "m = next(l for l in open('/proc/self/maps') if 'xp' in l); a = int(m.split('-')[0], 16)\ns(28, a + 0x20000, 4096, 4)",
    "changed constants of a library": LIBC + "m = [l for l in open('/proc/self/maps') if 'r--p' in l and 'memfd' in l][0]; a = int(m.split('-')[0], 16)\n"
                                             "assert L.mprotect(V(a), 4096, 3) == 0; ctypes.memset(a, 0x55, 4096); L.mprotect(V(a), 4096, 1); import os; os._exit(0)",
    "a library's data": LIBC + "m = [l for l in open('/proc/self/maps') if 'rw-p' in l and 'memfd' in l]\nfor l in m[3:]:\n    a, b = [int(x, 16) for x in l.split()[0].split('-')]\n"
                               "    s(28, a, b - a, 4)\nimport os; os._exit(0)",
    "all of it over and over": LIBC + "import os\nm = [l for l in open('/proc/self/maps') if 'rw-p' in l and ('memfd' in l or 'heap' in l)]\n"
                                      "for l in m:\n    a, b = [int(x, 16) for x in l.split()[0].split('-')]\n    n = min(b - a, 65536)\n    if b - a > 1 << 19: ctypes.memset(b - n, 0x41, n)\n    os.write(1, b'')\nos._exit(0)",
    "other memory in its place": LIBC + "m = [l for l in open('/proc/self/maps') if 'rw-p' in l and 'memfd' in l][-1]\na, b = [int(x, 16) for x in m.split()[0].split('-')]\n"
                                        "L.mmap.restype = V; L.mmap(V(a), b - a, 3, 0x32, -1, 0); import os; os._exit(0)",
    "shared memory in its place": LIBC + "m = [l for l in open('/proc/self/maps') if 'rw-p' in l and '[heap]' in l][-1]\na, b = [int(x, 16) for x in m.split()[0].split('-')]\n"
                                         "L.mmap.restype = V; L.mmap(V(b - 4096), 4096, 3, 0x31, -1, 0); import os; os._exit(0)",
    "anonymous memory anew": LIBC + "import os\nm = [l for l in open('/proc/self/maps') if 'rw-p' in l and l.split()[4] == '0' and len(l.split()) == 5]\n"
                                    "for l in m:\n    a, b = [int(x, 16) for x in l.split()[0].split('-')]\n    if b - a > 1 << 20:\n        L.mmap.restype = V; L.mmap(V(a), b - a, 3, 0x32, -1, 0); ctypes.memset(a, 0x41, b - a)\n        os._exit(0)",
    "a little more heap": LIBC + "b = s(12, 0); s(12, b + 24); import os; os._exit(0)",
    "much more heap": LIBC + "b = s(12, 0); s(12, b + (8 << 20)); ctypes.memset(b, 0x41, 8 << 20); import os; os._exit(0)",
    "a deep stack": "import sys; sys.setrecursionlimit(10 ** 6); f = lambda n: n and f(n - 1)\nimport threading; f(9000)",
    "locked memory": LIBC + "print(s(151, 3), s(149, id(5) & ~4095, 4096))",
    "no huge pages": LIBC + "s(157, 41, 1, 0, 0, 0)",
    "no executable memory": LIBC + "s(157, 65, 1, 0, 0, 0)",
    "a protection key": LIBC + "k = s(330, 0, 0); print(k)",
    "execute-only memory": LIBC + "L.mmap.restype = V; print(L.mmap(V(0), 4096, 4, 0x22, -1, 0))",
    "what a fork leaves out": LIBC + "m = [l for l in open('/proc/self/maps') if 'rw-p' in l and '[heap]' in l][-1]\na, b = [int(x, 16) for x in m.split()[0].split('-')]\nprint(s(28, a, b - a, 18), s(28, a, b - a, 10))",
    "a registration": LIBC + "print(s(324, 1 << 4, 0, 0))",
    "not dumpable": LIBC + "s(157, 4, 0, 0, 0, 0)",
    "a name": LIBC + "L.prctl(15, b'planted', 0, 0, 0)",
    "threads at its end": "import threading, time, os\nfor i in range(5): threading.Thread(target=lambda: [time.sleep(0.0001) for _ in iter(int, 1)], daemon=True).start()\ntime.sleep(0.01); os._exit(0)",
    "a child that shares its memory": LIBC + "import os\ncode = b'\\xb8\\x38\\x00\\x00\\x00\\xbf\\x11\\x01\\x00\\x00\\x0f\\x05'\n"
                                             "L.mmap.restype = V; st = L.mmap(V(0), 1 << 16, 3, 0x22, -1, 0); f = ctypes.CFUNCTYPE(ctypes.c_int, V)(lambda a: 0)\n"
                                             "L.clone.restype = ctypes.c_int; pid = L.clone(L.pause, V(st + 65536), 0x100, V(0)); print(pid > 0, flush=True); os._exit(0)",
    "a crash": LIBC + "ctypes.string_at(8)",
    "an abort": "import os; os.abort()",
    "another program in its place": "import os; os.execv('/bin/true', ['true'])",
    "a thread that becomes another program": "import os, threading; threading.Thread(target=lambda: os.execv('/bin/true', ['true'])).start(); import time; time.sleep(5)",
    "children": "import os, time\nfor i in range(5):\n    if os.fork() == 0: time.sleep(60)",
    "killed by its limit": "x = []\nwhile True: x.append(bytearray(1 << 20))",
    "sys.exit": "import sys; sys.exit(3)",
}
# What of them shows when nothing is put back: the rest is new with every process, or ends the memory's use by itself.
SHOWN = ["a builtin", "a changed builtin", "the environment", "the number five"]


def seats(batch):
    return {p for p, st in descendants(batch.p.pid).items() if "seat" in st[0] and st[1] not in "ZX"}


_none = []  # it was found once that there are no seats here


def start(**env):
    need_batch()
    if _none:
        pytest.skip(_none[0])
    b = Batch("-j", "1", "--recycle", env=env or None)
    if not wait_until(lambda: b.run(py("print(1)"))["start"] == "warm" and seats(b), 10, 0.1):
        b.gone()
        _none.append("no seats here: no memory or pids cgroup (rootless), or a kernel before 6.10")
        pytest.skip(_none[0])
    return b


def py(code, **more):
    return {"language": "python", "code": code, "limits": LIMITS, **more}


@pytest.fixture
def batch():
    b = start()
    with b:
        yield b
        assert b.close() == 0


def first_look(b):
    """What the look sees in memory that nobody had before."""
    r = b.run(py(LOOK))
    assert r["status"] == "completed" and r["exit_code"] == 0, r
    return json.loads(r["stdout"])


def changes(b, usual, runs, **more):
    """What the next runs see otherwise: by what they were to see."""
    seen = {}
    for _ in range(runs):
        r = b.run({**py(LOOK), **more})
        if r["exit_code"] != 0:
            seen["end"] = (r["exit_code"], r["signal"], r["stderr"][-300:])
            continue
        now = json.loads(r["stdout"])
        seen.update({k: (usual[k], now[k]) for k in usual if now[k] != usual[k]})
    return seen


def test_memory_is_used_again(batch):
    """Runs of one client come and go, its seats stay."""
    batch.run(py("print(1)"))
    assert wait_until(lambda: len(seats(batch)) >= 4, 10), seats(batch)
    batch.run(py("print(1)"))
    before = seats(batch)
    for _ in range(30):
        assert batch.run(py("print(2)"))["stdout"] == "2\n"
    assert len(before & seats(batch)) >= len(before) - 1, (before, seats(batch))
    # Nothing of a guest's jar stays open in them.
    for p in seats(batch):
        assert len(os.listdir(f"/proc/{p}/fd")) < 16, os.listdir(f"/proc/{p}/fd")


@pytest.mark.parametrize("part", range(4))
def test_nothing_is_left(batch, part):
    """Each in as many runs as there are seats, so that each of them has had it; then a look into all of them."""
    usual, left = first_look(batch), {}
    for what in list(PLANTS)[part::4]:
        for _ in range(5):
            r = batch.run(py(PLANTS[what]))
            assert r["status"] and "AssertionError" not in r["stderr"], (what, r)
        seen = changes(batch, usual, 8)
        if seen:
            left[what] = seen
    assert not left, left


def test_the_look_sees_what_is_left():
    """The same, where memory is not put back: then it is all there."""
    if not HOOKS.exists():
        pytest.skip("no build-hooks: make hooks")
    unseen = []
    for what in SHOWN:
        b = None
        try:
            harness_binary, harness.BELLJAR = harness.BELLJAR, HOOKS
            b = Batch("-j", "1", "--recycle", env={"BELLJAR_UNSAFE_DISABLE": "restore_pages"})
        finally:
            harness.BELLJAR = harness_binary
        with b:
            # As soon as its memory is another's nothing may work any more: what matters is that this is seen.
            usual = first_look(b)
            for _ in range(6):
                b.run(py(PLANTS[what], limits={"wall_ms": 1500}))
            if not changes(b, usual, 6, limits={"wall_ms": 1500}):
                unseen.append(what)
    assert not unseen, unseen


def test_random_numbers_are_its_own(batch):
    code = "import random, secrets, uuid, os; print(random.random(), secrets.token_hex(8), uuid.uuid4(), os.urandom(4).hex())"
    got = [batch.run(py(code))["stdout"].split() for _ in range(20)]
    for column in zip(*got):
        assert len(set(column)) == 20, column


def test_processes_are_counted_without_the_seat(batch):
    r = batch.run(py("print(1)"))
    assert r["pids_peak"] == 1, r
    code = ("import os, time\nn = 0\ntry:\n    while n < 50:\n        if os.fork() == 0:\n            time.sleep(30)\n        n += 1\nexcept OSError: pass\nprint(n)")
    r = batch.run(py(code, limits={**LIMITS, "pids": 8}))
    assert r["stdout"] == "7\n" and "pids" in r["limits_hit"] and r["pids_peak"] == 8, r


def test_memory_ends_in_oom_and_the_next_run_is_well(batch):
    for _ in range(6):
        r = batch.run(py("x = []\nwhile True: x.append(bytearray(1 << 20))", limits={**LIMITS, "memory_bytes": 40 << 20}))
        assert (r["status"], r["oom_kills"]) != ("timeout", 0) and r["oom_kills"] >= 1, r
        assert batch.run(py("print(1)"))["stdout"] == "1\n"


def test_clients_do_not_share_a_seat():
    """Two slots, a new client with each run: the seat of whoever had the slot before is gone."""
    start().gone()
    folder = harness.BASE / "few-slots" / "belljar"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text("pool: {floor: 1, ceiling: 1, zygotes: 1}\n")
    with Batch("-j", "1", "--recycle", env={"XDG_CONFIG_HOME": folder.parent}) as b:
        seen = set()
        for i in range(12):
            r = b.run(py("import builtins, os\nprint(hasattr(builtins, 'planted'), flush=True); builtins.planted = 1; os._exit(0)", client=f"c{i}"))
            assert r["stdout"] == "False\n", r
            seen |= seats(b)
        assert len(seen) >= 8, seen
        assert b.close() == 0


def killed_while_at_work(b, name):
    """Somebody kills those of this name, again and again; every run ends, and nothing hangs."""
    def victims():
        return [p for p, st in descendants(b.p.pid).items() if name in st[0] and st[1] not in "ZX"]

    for i in range(12):
        line = b.send(py("import time; time.sleep(0.03); print(1)"))
        for p in victims():
            try:
                os.kill(p, signal.SIGKILL)
            except ProcessLookupError:
                pass
        r = b.get(line, 30)
        assert r is not None and (r["stdout"] == "1\n" or r["status"] in ("error", "killed", "failed")), r
    assert wait_until(lambda: b.run(py("print(2)"))["stdout"] == "2\n", 10)


@pytest.mark.parametrize("name", ["belljar-seat", "belljar-restore"])
def test_the_end_of(name):
    b = start()
    with b:
        killed_while_at_work(b, name)
        assert b.close() == 0


def test_a_seat_dies_with_its_restorer():
    """It must never go on with a guest's memory: not even when nobody is left who would stop it."""
    b = start()
    with b:
        line = b.send(py("import time; time.sleep(1.5); print(1)"))
        assert wait_until(lambda: seats(b), 5)
        before = seats(b)
        for p, st in descendants(b.p.pid).items():
            if "restore" in st[0]:
                os.kill(p, signal.SIGKILL)
        assert wait_until(lambda: not (before & seats(b)), 5), before & seats(b)
        assert b.get(line)["stdout"] == "1\n"
        assert b.close() == 0


def test_who_traces_whom(batch):
    """Every seat is traced by a restorer, which may do nothing else; neither has anything of the host. In its jar a seat has no rights at all, and no more descriptors than it needs."""
    batch.run(py("print(1)"))
    assert wait_until(lambda: seats(batch), 10)
    field = lambda p, k: next(l.split()[1:] for l in Path(f"/proc/{p}/status").read_text().splitlines() if l.startswith(k + ":"))
    caps = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    assert wait_until(lambda: all(field(p, "CapEff") == ["0000000000000000"] for p in seats(batch)), 10), "one has not entered its jar"
    for p in seats(batch):
        tracer = int(field(p, "TracerPid")[0])
        assert "restore" in stat_of(tracer)[0]
        assert all(field(p, k) == ["0000000000000000"] for k in caps) and not field(p, "Groups") and field(p, "NoNewPrivs") == ["1"]
        assert field(p, "Uid")[0] not in ("0", field(tracer, "Uid")[0]) and field(p, "Seccomp") == ["2"]
        for space in ("mnt", "ipc", "net", "uts", "user", "cgroup", "pid_for_children"):
            assert os.readlink(f"/proc/{p}/ns/{space}") != os.readlink(f"/proc/self/ns/{space.removesuffix('_for_children')}"), space
        folders = {os.readlink(f"/proc/{p}/fd/{fd}") for fd in os.listdir(f"/proc/{p}/fd") if int(fd) > 3}
        assert folders == {"/dev/mqueue", "/workspace", "/tmp", "/home/guest", "/dev/shm"}, folders
        assert field(tracer, "CapEff") == ["0000000000080000"] and field(tracer, "CapBnd") == ["0000000000000000"] and field(tracer, "Uid")[0] != "0"
        assert os.readlink(f"/proc/{tracer}/root") == "/proc" and field(tracer, "NoNewPrivs") == ["1"]


def test_text_is_sealed(batch):
    """Python's own text is a copy in huge pages, of which no page could be told from another's: nobody can change it."""
    code = LIBC + "m = next(l for l in open('/proc/self/maps') if 'xp' in l); a = int(m.split('-')[0], 16)\nprint(L.mprotect(V(a), 4096, 7), s(28, a, 4096, 4), L.munmap(V(a), 4096))"
    assert batch.run(py(code))["stdout"] == "-1 -1 -1\n"


def test_a_stack_that_does_not_grow(batch):
    """Other memory in the stack's place looks the same in a list of mappings."""
    deep = "import sys; sys.setrecursionlimit(10 ** 6)\nclass A:\n    def __getattr__(self, n): return getattr(self, n + 'a') if len(n) < 1500 else 7\nprint(A().a)"
    plant = LIBC + ("import threading, os\ndef f():\n    m = next(l for l in open('/proc/self/maps') if '[stack]' in l); a, b = [int(x, 16) for x in m.split()[0].split('-')]\n"
                    "    L.mmap.restype = V; L.mmap(V(a), b - a, 3, 0x32, -1, 0); os._exit(0)\nt = threading.Thread(target=f); t.start(); t.join()")
    want = batch.run(py(deep))
    assert want["stdout"] == "7\n", want
    for _ in range(8):
        batch.run(py(plant))
    for _ in range(10):
        r = batch.run(py(deep))
        assert r["stdout"] == "7\n", r


def test_what_it_had_is_not_charged_to_the_next(batch):
    """Pages that only one run wrote to are given back; so are the marks of how much it had."""
    probe = "import resource; print(resource.getrusage(0).ru_maxrss, next(l for l in open('/proc/self/status') if 'VmHWM' in l).split()[1])"
    before = batch.run(py(probe))
    for _ in range(6):
        batch.run(py(LIBC + "m = [l for l in open('/proc/self/maps') if 'rw-p' in l and 'memfd' in l]\nfor l in m:\n    a, b = [int(x, 16) for x in l.split()[0].split('-')]\n"
                            "    for at in range(a, b, 4096): ctypes.memset(at + 8, ctypes.string_at(at + 8, 1)[0], 1)\nx = bytearray(60 << 20)\nx[::4096] = b'x' * len(x[::4096])"))
    for _ in range(8):
        r = batch.run(py(probe))
        assert r["max_memory_mb"] < before["max_memory_mb"] + 1.5, (before["max_memory_mb"], r["max_memory_mb"])
        now, then = [int(x) for x in r["stdout"].split()], [int(x) for x in before["stdout"].split()]
        assert all(n < t + 2048 for n, t in zip(now, then)), (then, now)


def test_another_program_does_not_pay_for_python(batch):
    """os.execv: the memory is nobody's then, and the seat does not keep it."""
    code = "import os\nx = bytearray(40 << 20)\nx[::4096] = b'x' * len(x[::4096])\nos.execv('/usr/bin/python3', ['python3', '-c', \"y = bytearray(35 << 20); y[::4096] = b'x' * len(y[::4096]); print(len(y))\"])"
    for _ in range(6):
        r = batch.run(py(code, limits={**LIMITS, "memory_bytes": 64 << 20}))
        assert r["stdout"] == f"{35 << 20}\n" and r["oom_kills"] == 0 and not r["limits_hit"], r


def test_calls_that_are_noted_do_what_they_do(batch):
    """However often: they are told to the keeper and go on."""
    code = LIBC + ("L.mmap.restype = V; a = L.mmap(V(0), 1 << 21, 3, 0x22, -1, 0)\nimport collections\nprint(collections.Counter(s(28, a, 1 << 21, 14) for _ in range(12000)), s(149, a, 4096), s(324, 16, 0, 0))")
    for _ in range(3):
        assert batch.run(py(code))["stdout"] == "Counter({0: 12000}) 0 0\n"


def test_graded_lines_have_memory_of_their_own():
    """Whatever plain lines, or candidates before, have left: and theirs is nobody's after."""
    solution = "import builtins\nwas = hasattr(builtins, 'planted')\nbuiltins.planted = 1\ndef f():\n    return was\n"
    b = start()
    with b:
        seen = seats(b)
        for _ in range(6):
            b.run(py(PLANTS["a builtin"]))
            before = seats(b)
            r = b.run({"language": "python", "code": solution, "test": {"func": "f", "cases": [{"args": [], "expected": False}]}})
            assert r["all_passed"] is True, r
            seen |= before
        assert b.close() == 0


def test_a_page_below_the_stack(batch):
    """What the seat tries after each guest, whether its stack grows, must not end in a stop that nobody waits for."""
    code = LIBC + ("import os\nm = next(l for l in open('/proc/self/maps') if '[stack]' in l); a = int(m.split('-')[0], 16)\n"
                   "L.mmap.restype = V; L.mmap(V(a - 4096), 4096, 0, 0x32, -1, 0); os._exit(0)")
    over = LIBC + ("import os, threading\ndef f():\n    m = next(l for l in open('/proc/self/maps') if '[stack]' in l); a, b = [int(x, 16) for x in m.split()[0].split('-')]\n"
                   "    L.mmap.restype = V; L.mmap(V(a - 4096), b - a + 4096, 3, 0x32, -1, 0); os._exit(0)\nt = threading.Thread(target=f); t.start(); t.join()")
    deep = "import sys; sys.setrecursionlimit(10 ** 6)\nclass A:\n    def __getattr__(self, n): return getattr(self, n + 'a') if len(n) < 1500 else 7\nprint(A().a)"
    for plant in (code, over):
        for _ in range(8):
            batch.run(py(plant))
        for _ in range(8):
            r = batch.run(py(deep), 10)
            assert r["stdout"] == "7\n", r


def test_a_small_share_of_the_cpu_is_not_the_next_ones(batch):
    """Whoever is put back, or dies, does so at once."""
    for _ in range(3):
        r = batch.run(py("x = bytearray(100 << 20)\nx[::4096] = b'x' * len(x[::4096])", limits={**LIMITS, "cpus": 0.05}))
        assert r["status"], r
        assert batch.run(py("print(1)"), 10)["stdout"] == "1\n"


def test_a_guest_and_its_seat(batch):
    """They have one user, and one memory; a guest can do nothing to it, since it is in no place where it could be named."""
    code = ("import os, signal\nprint(os.getppid(), {p for p in os.listdir('/proc') if p.isdigit()} <= {'1', str(os.getpid())})\n"
            "os.setpriority(os.PRIO_USER, 0, 7); print(os.getpriority(os.PRIO_PROCESS, 0))\n"
            "for sig in (signal.SIGSTOP, signal.SIGKILL, signal.SIGUSR1):\n    try: os.kill(-1, sig); print('sent')\n    except ProcessLookupError: print('nobody')\n"
            "try: open('/proc/self/oom_score_adj', 'w').write('900')\nexcept OSError: pass\n")
    batch.run(py("print(1)"))
    before = seats(batch)
    for _ in range(2 * len(before) + 2):
        assert batch.run(py(code))["stdout"] == "0 True\n7\n" + "nobody\n" * 3
    assert len(before & seats(batch)) >= len(before) - 1, (before, seats(batch))
    for p in seats(batch):
        assert stat_of(p)[1] not in "T" and Path(f"/proc/{p}/stat").read_text().rsplit(")", 1)[1].split()[16] == "0", "its priority"
        assert int(Path(f"/proc/{p}/oom_score_adj").read_text()) != 900
    for _ in range(len(before) + 2):
        r = batch.run(py("import os; print(os.getpriority(os.PRIO_PROCESS, 0), open('/proc/self/oom_score_adj').read())"))
        assert r["stdout"].startswith("0 ") and "900" not in r["stdout"], r


LEFT = {
    "folders that nobody may open": "import os\nos.makedirs('/tmp/a/b'); open('/tmp/a/b/c', 'w').close(); os.mkfifo('/tmp/a/f'); os.symlink('/', '/tmp/a/l')\nos.chmod('/tmp/a/b', 0); os.chmod('/tmp/a', 0)",
    "files that nobody may write": "import os\nos.mkdir('/dev/shm/a'); open('/dev/shm/a/x', 'w').close(); os.chmod('/dev/shm/a/x', 0); os.chmod('/dev/shm/a', 0o555)",
    "a folder of the home": "import os\nos.makedirs('/home/guest/.cache/x'); open('/workspace/y', 'w').close()",
}
SHOW = "import os\nprint([sorted(os.listdir(d)) for d in ('/tmp', '/dev/shm', '/home/guest')], sorted(os.listdir('/workspace')))"


@pytest.mark.parametrize("what", LEFT)
def test_files_that_were_left(batch, what):
    """They are removed by whoever comes next, who is nobody but their owner; the jar and its seat go on."""
    clean = batch.run(py(SHOW))["stdout"]
    before = seats(batch)
    for _ in range(2 * len(before) + 2):
        assert batch.run(py(LEFT[what]))["status"] == "completed"
        assert batch.run(py(SHOW))["stdout"] == clean
    assert len(before & seats(batch)) >= len(before) - 1, (before, seats(batch))


DIRTY = {
    "shared memory": LIBC + "print(s(29, 0x1234, 4096, 0o1666) >= 0)",
    "semaphores": LIBC + "print(s(64, 0x1234, 3, 0o1666) >= 0)",
    "a message queue": LIBC + "print(s(68, 0x1234, 0o1666) >= 0)",
    "a changed folder": "import os; os.chmod('/tmp', 0o700); print(True)",
    "a POSIX message queue": "import ctypes, os; print(ctypes.CDLL('librt.so.1').mq_open(b'/q', os.O_CREAT | os.O_RDWR, 0o666, None) >= 0)",
    "too many files": "for i in range(600): open(f'/tmp/{i}', 'w').close()\nprint(True)",
}


@pytest.mark.parametrize("what", DIRTY)
def test_a_jar_that_is_not_clean_goes_with_its_seat(batch, what):
    code = ("import os, stat\\nprint([len(open('/proc/sysvipc/' + k).readlines()) for k in ('shm', 'sem', 'msg')], oct(stat.S_IMODE(os.stat('/tmp').st_mode)), os.listdir('/tmp'), "
            "os.listdir('/dev/mqueue'))")
    want = batch.run(py(code))["stdout"]
    seen = set()
    for _ in range(8):
        before = seats(batch)
        r = batch.run(py(DIRTY[what]))
        assert r["stdout"] == "True\n", r
        assert batch.run(py(code))["stdout"] == want
        seen |= before
    assert wait_until(lambda: len(seen - seats(batch)) >= 5, 10), (seen, seats(batch))


TAMPERS = """
import os, resource, time
def tamper():
    os.setsid()
    for fd in (0, 1, 2): os.close(fd)
    me, end = os.getpid(), time.monotonic() + 3
    while time.monotonic() < end:
        for pid in range(me + 1, me + 4):
            try: resource.prlimit(pid, resource.RLIMIT_NOFILE, (77, 77))
            except OSError: continue
            os.setpriority(os.PRIO_PROCESS, pid, 15)
            os._exit(0)
    os._exit(0)
"""
LEAVERS = {
    "of a program that became another": py(TAMPERS + "if os.fork() == 0: tamper()\ntime.sleep(0.02); os.execv('/bin/true', ['true'])"),
    "of a program that ended": py(TAMPERS + "if os.fork() == 0: tamper()\ntime.sleep(0.02)"),
    "of a shell": {"language": "bash", "code": "cat > /tmp/a.py <<'X'\n" + TAMPERS + "tamper()\nX\npython3 /tmp/a.py </dev/null >/dev/null 2>&1 &\nsleep 0.1"},
}


@pytest.mark.parametrize("who", LEAVERS)
def test_nobody_is_born_beside_what_was_left(batch, who):
    """A process that somebody left has the same user as the next guest, and could change what it is before it has begun."""
    look = "import os, resource; print(os.getpriority(os.PRIO_PROCESS, 0), resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 77)"
    for _ in range(8):
        assert batch.run(LEAVERS[who])["status"] == "completed"
        for _ in range(2):
            assert batch.run(py(look))["stdout"] == "0 False\n"


def test_times_of_folders(batch):
    """What somebody wrote there is nobody else's to read."""
    look = "import os; print([int(t) for d in ('/tmp', '/home/guest', '/dev/shm') for t in (os.stat(d).st_mtime, os.stat(d).st_atime) if t < 10 ** 9])"
    for _ in range(2 * len(seats(batch)) + 2):
        assert batch.run(py("import os\nfor d in ('/tmp', '/home/guest', '/dev/shm'): os.utime(d, (5, 7))"))["status"] == "completed"
        assert batch.run(py(look))["stdout"] == "[]\n"


def test_an_init_that_somebody_killed():
    """The kernel ends the guest then, and takes its time to end the init: that is no end of its own."""
    seen = []
    with start() as b:
        for _ in range(6):
            line = b.send(py("import time; time.sleep(6)", limits={**LIMITS, "wall_ms": 60000}))
            time.sleep(seconds(0.3))
            for p, st in descendants(b.p.pid).items():
                if "init" in st[0]:
                    try:
                        os.kill(p, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
            r = b.get(line, 30)
            seen.append((r["status"], r["reason"], r["evidence"]["ended_by"]))
            assert wait_until(lambda: b.run(py("print(2)"))["stdout"] == "2\n", 10)
    # One that had not begun when its jar went is run in another.
    assert set(seen) <= {("killed", "cancelled", "outside"), ("completed", "exited", "itself")} and ("killed", "cancelled", "outside") in seen, seen


@pytest.mark.parametrize("place", ["/tmp", "/workspace", "/dev/shm", "/home/guest"])
def test_a_jar_that_no_seat_can_enter(batch, place):
    """It is thrown away; seats go on elsewhere."""
    for _ in range(4):
        assert batch.run(py(f"import os; os.chmod({place!r}, 0); os.execv('/bin/true', ['true'])"))["status"] == "completed"
        assert batch.run(py(SHOW))["stdout"] == "[[], [], []] ['main.py']\n"
    assert wait_until(lambda: any("restore" in st[0] for st in descendants(batch.p.pid).values()) and len(seats(batch)) >= 3, 10), seats(batch)
    assert b"denied" not in batch.err, batch.err
