# SPDX-License-Identifier: Apache-2.0
"""A zygote that somebody has taken over owns nothing of the host: code of ours runs in a living one (puppet.py), and tries (taken.py).

The same code runs outside as the host's root: every door that must be closed inside has to be open there, or it proves nothing.
"""
import contextlib
import ctypes
import json
import os
import secrets
import select
import socket
import struct
import subprocess
import time
from pathlib import Path

import pytest

import harness
import puppet
from harness import Batch, descendants, seconds, wait_until

HERE = Path(__file__).parent
NONCE = secrets.token_hex(6)
CAP_SYS_ADMIN, CAP_SYS_CHROOT = 21, 18
NS_GET_PARENT = 0xb702

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root of the host can put code into a zygote")


# ---- the host's side -----------------------------------------------------------------------------

class Host:
    """Files, a process, sockets and a cgroup that nobody else may touch."""

    def __init__(self):
        self.top = Path(subprocess.run(["mktemp", "-d", "/var/tmp/zygote-XXXXXX"], capture_output=True, text=True, check=True).stdout.strip())
        self.top.chmod(0o755)
        self.secret, self.world, self.folder = self.top / "secret", self.top / "world", self.top / "folder"
        self.secret.write_text("secret")
        self.secret.chmod(0o600)
        self.world.write_text("untouched")
        self.world.chmod(0o666)
        self.folder.mkdir()
        self.folder.chmod(0o1777)
        self.proc = subprocess.Popen(["/bin/sleep", "600"], start_new_session=True)
        harness._known.add(self.proc.pid)
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind(f"\0zygote-{NONCE}")
        self.file = socket.socket(socket.AF_UNIX)
        self.file.bind(str(self.top / "sock"))
        os.chmod(self.top / "sock", 0o777)
        for s in (self.abstract, self.file):
            s.listen(8)
        for s in (self.tcp, self.abstract, self.file):
            s.setblocking(False)

    def heard(self):
        """Connections since the last look."""
        n = 0
        for s in (self.tcp, self.abstract, self.file):
            while True:
                try:
                    s.accept()[0].close()
                    n += 1
                except BlockingIOError:
                    break
        return n

    def groups(self):
        return Path(f"/proc/{self.proc.pid}/cgroup").read_text()

    def close(self):
        self.proc.kill()
        self.proc.wait()
        harness._known.discard(self.proc.pid)
        for s in (self.tcp, self.abstract, self.file):
            s.close()
        subprocess.run(["rm", "-rf", str(self.top)], check=True)


@pytest.fixture
def host():
    if not puppet.allowed():
        pytest.skip("this host does not let root trace a process")
    h = Host()
    yield h
    h.close()


class Group:
    """A cgroup that the control may move a process into."""

    def __init__(self):
        tops = [Path(t) for t in harness.cgroup_tops()]
        top = next((t for t in tops if t.name == "pids"), tops[0])
        self.path = top / f"zygote-test-{NONCE}"
        self.path.mkdir()
        self.back = top / "cgroup.procs"
        file = self.path / "tasks"
        self.fd = os.open(file if file.exists() else self.path / "cgroup.procs", os.O_WRONLY)

    def close(self):
        os.close(self.fd)
        for pid in (self.path / "cgroup.procs").read_text().split():
            self.back.write_text(pid)
        self.path.rmdir()


def user_namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/user")
    except OSError:
        return ""


def in_jar(pid):
    try:
        ids = next(l for l in Path(f"/proc/{pid}/status").read_text().splitlines() if l.startswith("NSpid:")).split()[1:]
    except (OSError, StopIteration):
        return []
    return ids if len(ids) > 1 else []


class Parts:
    """Who is who below a batch, by shelf (its intermediate user namespace)."""

    def __init__(self, batch):
        own = user_namespace(os.getpid())
        all_ = {p: st for p, st in descendants(batch.p.pid).items() if st[1] not in "ZX"}
        self.keeper = next(p for p, st in all_.items() if "keeper" in st[0] and user_namespace(p) == own)
        self.front = batch.p.pid
        outside = {p: st for p, st in all_.items() if st[2] == self.keeper and not in_jar(p) and user_namespace(p) not in (own, "")}
        self.shelves = {}
        for p, st in outside.items():
            if "seat" in st[0] or "restore" in st[0]:
                continue  # they are no zygotes: tests/e2e/test_seats.py
            kind = "python" if st[0].startswith("python3") else "forker" if "forker" in st[0] else "maker"
            self.shelves.setdefault(user_namespace(p), {})[kind] = p
        self.jars = {p: st for p, st in all_.items() if in_jar(p)}

    def whole(self):
        return len(self.shelves) >= 2 and all(len(s) == 3 for s in self.shelves.values())


def guests(batch, words):
    """Guests that run this command line: {pid}."""
    found = {}
    for p in descendants(batch.p.pid):
        try:
            if Path(f"/proc/{p}/cmdline").read_bytes().split(b"\0")[:-1] == [w.encode() for w in words]:
                found[p] = p
        except OSError:
            continue
    return list(found)


def parent_user_namespace(pid):
    """Of the jar that a process is in: the shelf's."""
    try:
        fd = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY)
    except OSError:
        return ""
    up = ctypes.CDLL(None).ioctl(fd, NS_GET_PARENT)
    os.close(fd)
    if up < 0:
        return ""
    name = os.readlink(f"/proc/self/fd/{up}")
    os.close(up)
    return name


@pytest.fixture
def few(put):
    """Options of a batch with few jars ahead, so that both shelves are soon in use."""
    put("belljar/config.yaml", "pool: {floor: 1, zygotes: 2}\n")
    return {"env": {"XDG_CONFIG_HOME": put("x", "").parent}}


@pytest.fixture
def batch(few):
    with Batch("-j", "16", "--unordered", **few) as b:
        yield b


def settled(batch):
    """Both shelves are up; guests of different clients run on both; every zygote waits."""
    batch.run({"language": "python", "code": "print(1)", "client": "a"})
    batch.run({"argv": ["/bin/true"], "client": "b"})
    parts = wait_until(lambda: (lambda x: x if x.whole() else None)(Parts(batch)), 20)
    assert parts, f"not all parts came up: {Parts(batch).shelves}"
    lines, running = [], []
    while {parent_user_namespace(p) for p in running} != set(parts.shelves):
        assert len(running) < 12, "the guests are all on one shelf"
        words = ["/bin/sleep", f"{40 + len(running)}.5"]
        lines.append(batch.send({"argv": words, "client": f"c{len(running)}", "limits": {"wall_ms": int(seconds(50) * 1000)}}))
        found = wait_until(lambda: guests(batch, words), 20)
        assert found, "a guest did not start"
        running += found[:1]
    time.sleep(seconds(0.4))  # refilling ends
    return parts, running, lines


def targets(host, parts, shelf, running, **more):
    other = next(s for s in parts.shelves if s != shelf)
    near = [g for g in running if parent_user_namespace(g) == shelf]
    far = [g for g in running if parent_user_namespace(g) == other]
    assert near and far, "guests are not on both shelves"
    pids = {"init": 1, "keeper": parts.keeper, "front": parts.front, "maker": parts.shelves[shelf]["maker"], "canary": host.proc.pid, "test": os.getpid(),
            "near-guest": near[0], "far-guest": far[0], "far-maker": parts.shelves[other]["maker"], "far-python": parts.shelves[other]["python"],
            "far-forker": parts.shelves[other]["forker"]}
    return {"files": {"secret": str(host.secret), "world": str(host.world), "shadow": "/etc/shadow", "binary": str(harness.BELLJAR)},
            "folders": {"world": str(host.folder), "tmp": "/tmp", "run": "/run", "shm": "/dev/shm", "etc": "/etc"}, "nonce": NONCE, "pids": pids,
            "enter": ["init", "keeper", "canary", "near-guest", "far-guest", "maker"], "move": ["canary", "keeper", "near-guest", "far-guest"],
            "tcp": host.tcp.getsockname()[1], "abstract": f"zygote-{NONCE}", "socket": str(host.top / "sock"), "cgroup": next(iter(harness.cgroup_tops())),
            "uids": {"root": 0, "nobody": 65534, "user": 1000, "slot": 11}, "address": stack_of(host.proc.pid), "control": False, "speak": False, **more}


def stack_of(pid):
    line = next(l for l in Path(f"/proc/{pid}/maps").read_text().splitlines() if l.endswith("[stack]"))
    return int(line.split("-")[1].split()[0], 16) - 4096


def script(t):
    return f"TARGETS = {t!r}\nexec(compile({(HERE / 'taken.py').read_text()!r}, 'taken', 'exec'), dict(TARGETS=TARGETS))\n"


def attack(pid, kind, t):
    """Runs taken.py in that zygote; its answers."""
    with puppet.Puppet(pid) as z:
        # A pipe: where no memory cgroup counts them, zygotes have no memfd_create.
        ends = z.room(64)
        assert z.syscall("pipe2", ends, 0) == 0
        r, out = struct.unpack("ii", z.peek(ends, 8))
        answers = os.open(f"/proc/{pid}/fd/{r}", os.O_RDONLY | os.O_NONBLOCK)
        try:
            code = script({**t, "out": out})
            if kind == "python":
                z.python(code)
            else:
                z.become(["/usr/bin/python3", "-I", "-S", "-c", code])
                assert wait_until(lambda: select.select([answers], [], [], 0)[0], 20), "the attacker did not get through"
                wait_until(lambda: not harness.is_alive(pid), 10)
            return json.loads(os.read(answers, 1 << 16))
        finally:
            os.close(answers)


def control(t):
    """The same outside, as the host's root; mounts and the host name in namespaces of its own."""
    group = Group()
    r, w = os.pipe()
    try:
        code = script({**t, "out": w, "control": True})
        p = subprocess.run(["unshare", "-mu", "--propagation", "private", "/usr/bin/python3", "-I", "-c", code], pass_fds=(w, group.fd), capture_output=True,
                           timeout=seconds(30), stdin=subprocess.DEVNULL)
        os.close(w)
        w = -1
        said = os.read(r, 1 << 20)
        assert p.returncode == 0 and said, p.stderr.decode()[-1500:]
        return json.loads(said)
    finally:
        os.close(r)
        if w >= 0:
            os.close(w)
        group.close()


# ---- what must be closed, and what may be open ---------------------------------------------------

# Each is tried inside and must fail there; the control must get through at least one of the same name (up to the colon).
DOORS = ("read read-up read-root write create device list-proc kill pidfd-kill pidfd-getfd enter-mnt enter-net enter-user enter-cgroup enter-ipc enter-uts nice affinity "
         "rlimit trace memory-read memory-write kcmp mount umount fsopen open_tree bpf perf syslog keyring fanotify hostname raw-socket packet-socket more-caps tcp abstract "
         "socket-file cgroup-folder move new-user-mount new-user-chroot new-user-read setgroups setgid setuid").split()
# The same from inside of a slot, whose namespaces it may enter: that is its work.
IN_SLOT = "tcp-in-slot abstract-in-slot socket-file-in-slot kill-in-slot mount-in-slot read-in-slot move-in-slot".split()

ITS_OWN = ("kill-in-slot:near-guest", "move-in-slot:near-guest")  # in a slot that it bears guests into


def family(name):
    return name.partition(":")[0]


def opened(inside):
    """Doors that it got through."""
    return sorted(k for k, v in inside.items() if family(k) in DOORS + IN_SLOT and v == "ok" and k not in ITS_OWN)


def check_controls(outside):
    works = {family(k) for k, v in outside.items() if v == "ok"}
    shut = [d for d in DOORS if d not in works and not (d in ABSENT)]
    assert not shut, f"not possible outside either, so that nothing is proven: { {k: v for k, v in outside.items() if family(k) in shut} }"


ABSENT = () if Path("/proc/sys/kernel/perf_event_paranoid").exists() else ("perf",)


# ---- the tests -----------------------------------------------------------------------------------

def taken_over(host, batch, kind, **more):
    """Attacks one zygote; (what the control could do, what it could do, parts, running guests, their lines)."""
    parts, running, lines = settled(batch)
    shelf = next(iter(parts.shelves))
    t = targets(host, parts, shelf, running, **more)
    outside = control(t)
    check_controls(outside)
    host.world.write_text("untouched")
    for f in [*host.folder.iterdir(), *(Path(d) / f"taken-{NONCE}" for d in ("/tmp", "/run", "/dev/shm", "/etc"))]:
        f.unlink(missing_ok=True)
    host.heard()
    groups = host.groups()
    inside = attack(parts.shelves[shelf][kind], kind, t)
    print(json.dumps(inside, indent=1))
    broken = [k for k, v in inside.items() if str(v).startswith("broken")]
    assert not broken, {k: inside[k] for k in broken}
    # what the host itself says
    assert host.heard() == 0 and host.world.read_text() == "untouched" and not list(host.folder.iterdir())
    if not more.get("moved"):
        assert host.groups() == groups, "a process of the host was moved into a jar's cgroup"
    return outside, inside, parts, running, lines


def serves(batch, running, lines):
    """The batch goes on, and nobody else has noticed."""
    for n in range(8):
        r = batch.run({"language": "python", "code": f"print({n})", "client": f"after{n}"}, 30)
        assert r["success"] and r["stdout"] == f"{n}\n", r
        assert batch.run({"argv": ["/bin/echo", str(n)], "client": f"after{n}"}, 30)["stdout"] == f"{n}\n"
    assert all(harness.is_alive(p) for p in running) and not [n for n in lines if n in batch.results], "a guest of another was ended"


@pytest.mark.parametrize("kind", ["python", "forker"])
def test_a_zygote_that_was_taken_over_owns_nothing_of_the_host(host, batch, kind):
    outside, inside, parts, running, lines = taken_over(host, batch, kind)
    assert not opened(inside), f"open: {opened(inside)}"
    missing = [d for d in DOORS + IN_SLOT if d not in {family(k) for k in inside} and not (d == "move-in-slot" and not inside["holds"]["groups"])]
    assert not missing, f"not tried: {missing}"
    assert inside["caps"] == 1 << CAP_SYS_ADMIN | 1 << CAP_SYS_CHROOT and inside["uid"] == 3
    assert inside["new-privileges"] == "never" and inside["filtered"] == "yes" and outside["filtered"] == "no"
    assert inside["links"] == inside["links-in-slot"] == ["lo"]
    # its work: it holds the slots of its own shelf, and can enter them
    assert inside["holds"]["namespaces"] >= 4 and {"net", "user", "uts"} <= set(inside["entered"])
    serves(batch, running, lines)


def pipes_of(pid):
    found = []
    for n in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/{pid}/fd/{n}"))
    return [n for n in found if n.startswith("pipe:")]


@pytest.mark.parametrize("kind", ["python", "forker"])
def test_a_zygote_that_talks_nonsense_is_ended(host, batch, kind):
    """It has the keeper's ear: whatever it says, the keeper lives, holds no more than before, and runs go on."""
    _, _, parts, running, lines = taken_over(host, batch, kind, speak=True)
    taken = next(iter(parts.shelves.values()))[kind]
    assert wait_until(lambda: not harness.is_alive(taken), 5), "it was not ended"
    serves(batch, running, lines)
    assert wait_until(lambda: not pipes_of(parts.keeper), 5), "the keeper keeps descriptors that a zygote has sent it"
    assert harness.is_alive(parts.keeper)


@pytest.fixture
def weaker(few):
    """weaker(guard): a batch of the build with test hooks, with that guard off."""
    hooks = harness.REPO / "build-hooks" / "belljar"
    if not hooks.exists():
        pytest.skip("no build-hooks: make hooks")
    if harness.TEST_USER:
        pytest.skip("the build folder is root's")
    started, real = [], harness.BELLJAR

    def start(guard):
        harness.BELLJAR = hooks
        b = Batch("-j", "16", "--unordered", env={**few["env"], "BELLJAR_UNSAFE_DISABLE": guard})
        started.append(b)
        return b
    yield start
    harness.BELLJAR = real
    for b in started:
        b.gone()


def test_the_opener_of_a_cgroup_is_what_keeps_others_out(host, weaker):
    if not any(t.endswith(("memory", "pids")) for t in harness.cgroup_tops()):
        pytest.skip("v1 groups only")
    _, inside, *_ = taken_over(host, weaker("cgroup_opener"), "python", moved=True)
    assert {"move:canary", "move:keeper"} <= set(opened(inside)), inside


def test_without_its_filter_it_still_owns_nothing_of_the_host(host, weaker):
    """The second layer: ids, capabilities and namespaces alone. Mounts in its own namespace are all that it wins."""
    _, inside, *_ = taken_over(host, weaker("seccomp"), "python")
    won = set(opened(inside))
    assert "umount" in won or "mount" in won, "the filter is not what closed these"
    assert won <= {"mount", "umount", "fsopen", "open_tree", "hostname", "keyring", "raw-socket", "packet-socket", "new-user-mount", "new-user-chroot", "mount-in-slot",
                   "perf", "bpf", "fanotify"}, won


# ---- the image that guests are forked from ---------------------------------------------------------

IMAGE = r'''
import ctypes, os, re, sys
libc = ctypes.CDLL(None, use_errno=True)
maps = [(int(m[1], 16), int(m[2], 16)) for m in map(re.compile(r"(\w+)-(\w+) .*belljar-image").match, open("/proc/self/maps")) if m]
size = sum(b - a for a, b in maps)
'''

# All of it in one system call: the process that makes it does not come back.
SCRIBBLE = IMAGE + r'''
class Part(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("len", ctypes.c_size_t)]

junk = os.open("/tmp/junk", os.O_CREAT | os.O_RDWR)
os.write(junk, b"\xa5" * size)
parts = (Part * len(maps))(*[Part(a, b - a) for a, b in maps])
pid = os.fork()
if pid == 0:
    ok = all(libc.mprotect(ctypes.c_void_p(a), ctypes.c_size_t(b - a), 7) == 0 for a, b in maps)  # libraries too: we still run on them
    os.write(2, b"writable" if ok else b"closed")
    libc.preadv(junk, parts, len(maps), ctypes.c_long(0))
    os._exit(0)
print(size >> 20, os.waitpid(pid, 0)[1])
'''

# Ways to the file itself, which all guests have in common: none may work.
REACH = IMAGE + r'''
REMOVE, NO_FD = 9, -1
found = [f for f in os.listdir("/proc/self/fd") if "belljar-image" in (os.readlink(f"/proc/self/fd/{f}") if os.path.lexists(f"/proc/self/fd/{f}") else "")]
opened = []
for a, b in maps:
    for how in (os.O_RDWR, os.O_RDONLY):
        try:
            opened.append(os.open(f"/proc/self/map_files/{a:x}-{b:x}", how))
        except OSError:
            pass
    if libc.madvise(ctypes.c_void_p(a), ctypes.c_size_t(b - a), REMOVE) == 0:
        opened.append("removed")
    if libc.mremap(ctypes.c_void_p(a), ctypes.c_size_t(0), ctypes.c_size_t(4096), 1) != -1:
        opened.append("a second mapping")
try:
    opened.append(os.open("/proc/self/mem", os.O_RDWR))
except OSError:
    pass
print(len(maps) > 5, found, opened)
'''

TRIM = r'''
import ctypes, gc, random
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.calloc.restype = ctypes.c_void_p
sizes = [24, 100, 1000, 5000, 20000, 60000, 127000, 200000] * 10

def work():
    d = {i: str(i) * 20 for i in range(5000)}
    x = [bytearray(5000) for _ in range(100)]
    assert not any(map(any, x)) and d[77] == "77" * 20

def dirty(sizes):
    had = [libc.malloc(n) for n in sizes]
    for p, n in zip(had, sizes):
        ctypes.memset(p, 0xaa, n)
    random.shuffle(had)
    for p in had:
        libc.free(ctypes.c_void_p(p))

for _ in range(3):
    work()
    gc.collect()
    dirty(sizes)
    libc.malloc_trim(0)
    fresh = [(libc.calloc(1, n), n) for n in sizes]
    assert not any(any(ctypes.string_at(p, n)) for p, n in fresh)
    for p, n in fresh:
        libc.free(ctypes.c_void_p(p))
libc.mallopt(-3, 1 << 30)  # no mappings of their own: the heap grows, shrinks and grows again
dirty([20 << 20])
libc.malloc_trim(0)
p = libc.calloc(1, 20 << 20)
assert not any(ctypes.string_at(p, 20 << 20))
work()
print("well")
'''

PLAIN = {"language": "python", "code": "import sys, json\nprint(len(sys.modules), json.dumps([sum(range(1000))]), [].__doc__[:8])"}


@pytest.fixture
def image(put):
    """A batch whose guests all come from one zygote."""
    put("belljar/config.yaml", "pool: {floor: 1, zygotes: 1}\n")
    with Batch("-j", "2", "--unordered", env={"XDG_CONFIG_HOME": put("x", "").parent}) as b:
        yield b


def served(r):
    assert r["start"] == "warm" and r["status"] == "completed", r
    return r["stdout"], r["exit_code"]


def test_what_a_guest_writes_to_its_image_is_its_own_and_charged_to_it(image):
    first = image.run(PLAIN)
    for _ in range(2):
        r = image.run({"language": "python", "code": SCRIBBLE})
        size, status = map(int, served(r)[0].split())
        assert size >= 4 and status & 0x7f, f"it has not written over all of its memory: {r}"
        assert r["stderr"] == "writable", r
        assert r["max_memory_mb"] >= 2 * size, f"{size} MB of the image and as much junk were not charged: {r}"
    assert {served(image.run(PLAIN)) for _ in range(20)} == {served(first)}
    after = max(image.run(PLAIN)["max_memory_mb"] for _ in range(4))
    assert after < first["max_memory_mb"] + 2, f"something of it is charged still: {after} MB"


def test_no_guest_reaches_the_file_of_the_image(image):
    assert served(image.run({"language": "python", "code": REACH})) == ("True [] []\n", 0)


def test_memory_that_is_given_back_and_taken_again(image):
    """MADV_DONTNEED brings back what the zygote had, where it brought zeros."""
    r = image.run({"language": "python", "code": TRIM})
    assert served(r) == ("well\n", 0), r["stderr"]


def test_a_preloaded_module_that_starts_threads(put):
    """The zygote may not do things that are right with one thread alone."""
    folder = subprocess.run(["/usr/bin/python3", "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True, text=True, check=True).stdout.strip()
    module = Path(folder) / f"belljar_test_{NONCE}.py"
    if not Path(folder).is_dir() or not str(module).startswith("/usr/"):
        pytest.skip(f"{folder} is no place of this system's Python")
    module.write_text("import threading, time\ndef f(n):\n    d = {}\n    while True:\n        d[len(d) % 1000] = bytearray(300 + n)\n"
                      "        if n % 2: time.sleep(0.0001)\n        if len(d) > 900: d.clear()\n"
                      "for n in range(4): threading.Thread(target=f, args=(n,), daemon=True).start()\n")
    try:
        code = f"import {module.stem}, threading\nt = threading.Thread(target=print, args=('here',))\nt.start(); t.join()\nprint(threading.active_count())"
        for _ in range(3):
            put("belljar/config.yaml", "pool: {floor: 1, zygotes: 1}\n")
            with Batch("-j", "1", "--preload", module.stem, env={"XDG_CONFIG_HOME": put("x", "").parent}) as b:
                for _ in range(3):
                    assert served(b.run({"language": "python", "code": code}, 20)) == ("here\n1\n", 0), b.err
    finally:
        module.unlink()


SEED = r'''
import ctypes, os, posix, subprocess, sys
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
own = subprocess.run([sys.executable, "-c", "print(hash('belljar'))"], capture_output=True, text=True).stdout
print("PYTHONHASHSEED" in os.environ, b"PYTHONHASHSEED" in posix.environ, getenv(b"PYTHONHASHSEED"), b"HASHSEED" in open("/proc/self/environ", "rb").read(), sys.flags.hash_randomization,
      own.strip() == str(hash("belljar")))
'''


def test_the_seed_of_all_pythons_is_not_in_a_guests_environment(image):
    assert served(image.run({"language": "python", "code": SEED}))[0].split() == ["False", "False", "None", "False", "1", "False"]
