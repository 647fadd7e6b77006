# SPDX-License-Identifier: Apache-2.0
"""RE: what a guest uses is counted, bounded and given back, and its neighbour does not notice."""
import errno
import contextlib
import os
import re
import resource
import threading
import time
from pathlib import Path
from typing import NamedTuple

import pytest

import jarlib
from jarlib import DENIED, HarnessError, REACHED, ROOT, ROOTLESS, wait_until

OBJECTS_OUT = os.environ.get("BELLJAR_OBJECTS_OUT")  # where RE-06 writes what it measured
host_root = pytest.mark.skipif(not ROOT, reason="reading the guest's cgroups needs root")


def number(r, word):
    m = re.search(rf"{word} (\d+)", r.stdout)
    assert m, r.told()
    return int(m[1])


# ---- processes -----------------------------------------------------------------------------------

def test_re_01_fork_bomb_c(jar, witness):
    with contextlib.nullcontext() if jar.off else witness.watching():
        r = jar.probe("forks", 300, opts=["--pids", "40"])
    r.denied()
    assert number(r, "forks") <= 40
    assert r.pids_peak is None or r.pids_peak <= 40, r.pids_peak


@pytest.mark.nored
@pytest.mark.parametrize("language,code", [("bash", ":(){ :|:& };:; wait"), ("python", "import os\nwhile True:\n try: os.fork()\n except OSError: pass")])
def test_re_01_fork_bomb(jar, witness, language, code):
    with witness.watching():
        r = jar.run("--lang", language, "-c", code, opts=["-t", "700ms", "--pids", "40"], files=False)
    assert r.status in ("timeout", "completed"), r.told()
    assert r.pids_peak is None or r.pids_peak <= 40, r.pids_peak
    assert r.wall - r.elapsed_s < 1.5, f"teardown took {r.wall - r.elapsed_s:.2f} s"


def test_re_02_thread_bomb(jar):
    r = jar.probe("threads", 300, opts=["--pids", "40"]).denied()
    assert number(r, "threads") <= 40


def test_re_03_cpu_is_charged(jar):
    """20 times the process time of the guest is spent in children that are gone: the record still has it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    quiet = jar.probe("true")
    between = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = jar.probe("short_procs", 3000)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    overhead = between.ru_utime + between.ru_stime - before.ru_utime - before.ru_stime
    host = after.ru_utime + after.ru_stime - between.ru_utime - between.ru_stime - overhead
    assert r.exit_code == 0 and quiet.exit_code == 0, r.told()
    assert r.cpu_s > 0.1, r.cpu_s
    # what belljar's own process tree was charged is a second witness, when it waited for the guest
    if host > 0.1:
        assert r.cpu_s > 0.8 * host - 0.05, f"record {r.cpu_s}, host saw {host}"


# ---- memory --------------------------------------------------------------------------------------

def test_re_04_memory(jar, witness):
    with contextlib.nullcontext() if jar.off else witness.watching():
        r = jar.probe("mem", "anon", 256, opts=["-m", "64M"])
    r.ended("killed", "memory")
    assert r.oom_kills >= 1 and r.max_memory_mb <= 65, r.told()
    assert r.exit_code is None and not r.success


def test_re_05_file_without_name(jar):
    other_memory(jar, "memfd")


@pytest.mark.nored  # without cgroups belljar looks at the disk and the processes by itself, and the kernel has quotas per user
@pytest.mark.parametrize("kind", ["tmpfs", "devshm", "sysv", "pipe", "socket"])
def test_re_05_other_memory(jar, kind):
    other_memory(jar, kind)


def other_memory(jar, kind):
    r = jar.probe("mem", kind, 160, opts=["-m", "64M", "--disk", "300M"])
    if r.status == "killed":
        r.ended("killed", "memory")
    else:
        r.denied()
    assert r.max_memory_mb <= 65, r.max_memory_mb


def used_mib():
    """Host memory in use, without what the page cache could give back."""
    m = dict(re.findall(r"^(\w+):\s+(\d+)", Path("/proc/meminfo").read_text(), re.M))
    return (int(m["MemTotal"]) - int(m["MemFree"]) - int(m["Buffers"]) - int(m["Cached"]) + int(m["Shmem"])) >> 10


class Objects(NamedTuple):
    """A kind of kernel object (probe.c), how many are asked for, and who bounds them: as root, and rootless without a memory cgroup. A number: that many are had at most.
    MEMORY: the memory limit. KEEPER: the keeper counts, and ends the program. POLLED: the same, but only every 50 ms, so what is had until then has no bound. KERNEL: nothing of the jar's, and "cgroup-memory" is in `missing`."""
    kind: str
    n: int
    root: object
    rootless: object = None

    @property
    def bound(self):
        return self.rootless if ROOTLESS and self.rootless is not None else self.root


MEMORY, KEEPER, POLLED, KERNEL = "the memory limit", "the keeper", "the keeper, every 50 ms", "the kernel's own bounds for one user"
OBJECTS = [
    # of files
    Objects("inodes", 1000000, MEMORY, 25664), Objects("dentries", 2000000, MEMORY, KERNEL), Objects("locks", 3000000, KEEPER), Objects("ofd_locks", 100, 0),
    Objects("flocks", 200000, 4096), Objects("xattrs", 100, 0), Objects("acls", 100, 0), Objects("rulesets", 1000000, MEMORY, KERNEL),
    # of memory
    Objects("pagetables", 500000, MEMORY, POLLED), Objects("vmas", 60000, MEMORY, KERNEL), Objects("policies", 100, 0), Objects("memfd", 1000, MEMORY, 0), Objects("shm", 1000, MEMORY, 0),
    # of processes
    Objects("threads", 5000, 64), Objects("signals", 100000, 1024), Objects("timers", 200000, 1024), Objects("keys", 100, 0), Objects("aio", 100, 0), Objects("mounts", 100, 0),
    # of communication
    Objects("pipes", 5000, MEMORY, KERNEL), Objects("socketpairs", 50000, 2048, 128), Objects("unix_data", 5000, MEMORY, 128), Objects("scm", 20000, MEMORY),
    Objects("sem", 10000, MEMORY, 0), Objects("msg", 30000, MEMORY, 0), Objects("mq", 5000, 16), Objects("eventfds", 50000, 1400), Objects("epoll", 4000000, MEMORY, KERNEL),
    Objects("inotify", 500000, MEMORY, 8192), Objects("inotify_instances", 50000, 128, 16), Objects("ptys", 5000, 32), Objects("filters", 100, 0), Objects("flow_labels", 100, 0), Objects("futex_hash", 100, 0),
]


@pytest.mark.parametrize("o", OBJECTS, ids=[o.kind for o in OBJECTS])
def test_re_06_kernel_objects(jar, witness, o):
    """Each kind is allocated to the end in a jar of 64 MiB, and the host looks at its own memory. docs/kernel-objects.md is this table."""
    before, worst, done = used_mib(), [0], threading.Event()

    def sample():
        while not done.wait(0.02):
            worst[0] = max(worst[0], used_mib() - before)

    t = threading.Thread(target=sample)
    t.start()
    try:
        with witness.watching() if o.kind in ("inodes", "pagetables") else contextlib.nullcontext():
            r = jar.probe("objects", o.kind, o.n, opts=["-m", "64M", "-t", "8s", "--nofile", "4096"])
    finally:
        done.set()
        t.join()
    if OBJECTS_OUT:
        with open(OBJECTS_OUT, "a") as f:
            f.write(f"{o.kind}\t{o.bound}\t{r.status}/{r.reason}\t{r.stdout.strip()}\t{worst[0]}\n")
    assert r.status in ("completed", "killed", "timeout"), r.told()
    if r.status == "killed":
        assert r.reason == "memory" and o.bound in (MEMORY, KEEPER, POLLED), r.told()
    if isinstance(o.bound, int):
        r.denied()
        assert number(r, "objects") <= o.bound, r.told()
    if o.bound is POLLED:
        r.ended("killed", "memory")
    elif o.bound is KERNEL:
        assert "cgroup-memory" in r.isolation["missing"], r.told()
    else:
        assert worst[0] < 64 + 96, f"the host's memory in use grew by {worst[0]} MiB"


def test_re_32_file_locks(jar):
    """The kernel charges them to no cgroup: the keeper counts them."""
    r = jar.probe("objects", "locks", 700000, opts=["-m", "64M", "-t", "20s", "--nofile", "4096"])
    r.ended("killed", "memory")
    assert r.evidence["file_locks"] > 256 and "file locks" in r.error, r.told()


@pytest.mark.nored
def test_re_32_many_locks_work(jar):
    """As many as a large database has."""
    r = jar.probe("objects", "locks", 10000, opts=["-m", "64M", "--nofile", "4096"])
    assert r.exit_code == REACHED and r.status == "completed", r.told()


WAITING = """
import socket, time
ls = []
for i in range(24):
    l = socket.socket(); l.bind(('127.0.0.1', 2000 + i)); l.listen(4096); ls.append(l)
c, n = socket.socket(), 0
c.setblocking(False)
import ctypes
L = ctypes.CDLL(None)
for i in range(24):
    for _ in range(128):
        try: c.connect(('127.0.0.1', 2000 + i))
        except BlockingIOError: pass
        try: c.send(b'x' * 65536)
        except OSError: break
        n += 1
        L.connect(c.fileno(), b'\\0' * 16, 16)   # AF_UNSPEC: the same socket once more
print('waiting', n, flush=True)
time.sleep(1)
"""


def test_re_35_connections_that_wait(jar):
    """The kernel makes a socket for each connection that nobody has accepted, charges it to no cgroup, and socket() was never called for it."""
    r = jar.python(WAITING, opts=["-m", "64M", "-t", "20s"])
    r.ended("killed", "memory")
    assert r.evidence["open_sockets"] > 512 and "sockets" in r.limits_hit, r.told()


@pytest.mark.nored
def test_re_35_many_unix_sockets_are_none(jar):
    if ROOTLESS:
        pytest.skip("without a memory cgroup UNIX sockets are counted as they are made (RE-34)")
    r = jar.python("import socket, time\nk = [socket.socketpair() for _ in range(500)]\ntime.sleep(0.3)\nprint('ok')", opts=["-m", "64M", "--nofile", "2048"])
    assert r.stdout == "ok\n" and r.status == "completed", r.told()


@pytest.mark.nored
def test_re_32_the_keeper_is_not_held_up(jar):
    """Many processes that lock at once make the list of locks slow to read: limits hold all the same."""
    code = """
import fcntl, os, struct, time
for p in range(30):
    if os.fork() == 0:
        for i in range(40):
            f = os.open(f'/tmp/l{p}-{i}', os.O_CREAT | os.O_RDWR)
            for k in range(600): fcntl.fcntl(f, fcntl.F_SETLK, struct.pack('hhqqi4x', 1, 0, k * 2, 1, 0))
        while True: fcntl.fcntl(f, fcntl.F_SETLK, struct.pack('hhqqi4x', 1, 0, 5000, 1, 0)); fcntl.fcntl(f, fcntl.F_SETLK, struct.pack('hhqqi4x', 2, 0, 5000, 1, 0))
time.sleep(60)
"""
    began = time.monotonic()
    r = jar.python(code, opts=["-m", "256M", "-t", "12s", "--nofile", "256"])
    assert (r.status, r.reason) in (("killed", "memory"), ("timeout", "wall_time")), r.told()
    assert time.monotonic() - began < 20, "the wall-clock limit of 12 s was not kept"


@pytest.mark.parametrize("kind", ["acls", "xattrs", "policies", "ofd_locks", "filters", "flow_labels", "futex_hash"])
def test_re_33_uncharged_memory(jar, kind):
    """Memory that the kernel charges to no cgroup, or takes from a pool of the whole host."""
    r = jar.probe("objects", kind, 20).denied()
    assert number(r, "objects") == 0, r.told()


@pytest.mark.parametrize("kind", ["memfd", "shm", "sem", "msg", "socketpairs"])
def test_re_34_without_a_memory_cgroup(jar, kind):
    """What no look at /proc could find is not there, or is counted."""
    r = jar.probe("objects", kind, 200, opts=["-m", "64M", "--nofile", "4096"]).denied()
    assert number(r, "objects") <= (128 if kind == "socketpairs" else 0), r.told()


def test_re_07_huge_argv(jar):
    r = jar.probe("argv_storm", 60, opts=["-m", "128M", "-t", "10s"])
    assert r.status in ("completed", "killed") and r.max_memory_mb <= 129, r.told()


def test_re_08_mlock(jar, control):
    control("mlock")
    r = jar.probe("mlock", opts=["-m", "512M"])
    r.denied()


def memory_cgroup(pid):
    """The folder of the guest's memory controller, and whether it is version 2."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for root in jarlib.cgroup_roots():
            if names == "" and (root / path.lstrip("/") / "memory.max").exists():
                return root / path.lstrip("/"), True
            if "memory" in names.split(",") and (root / path.lstrip("/") / "memory.limit_in_bytes").exists():
                return root / path.lstrip("/"), False
    raise HarnessError("the guest's memory cgroup was not found")


@host_root
def test_re_09_swap(jar):
    with jar.live(opts=["-m", "96M"]) as p:
        folder, v2 = memory_cgroup(p.guest)
        if v2:
            assert (folder / "memory.max").read_text().strip() == str(96 << 20)
            swap = folder / "memory.swap.max"
            assert not swap.exists() or swap.read_text().strip() == "0"
        else:
            assert (folder / "memory.limit_in_bytes").read_text().strip() == str(96 << 20)
            both = folder / "memory.memsw.limit_in_bytes"
            assert not both.exists() or both.read_text().strip() == str(96 << 20)


def test_re_10_child_oom(jar):
    r = jar.probe("mem", "child", 256, opts=["-m", "64M"])
    r.ended("completed", "exited")
    assert r.exit_code == 0 and r.oom_kills >= 1 and "memory" in r.limits_hit, r.told()


# ---- time ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("tasks", [1, 30])
def test_re_11_cpu_quota(jar, witness, tasks):
    with contextlib.nullcontext() if jar.off else witness.watching():
        share, r = jarlib.cpu_share(jar, tasks, opts=["--cpus", "0.1"])
    assert share <= 0.1 * 1.1 + 0.06, f"{share:.2f} CPUs"
    r.ended("timeout", "wall_time")
    assert abs(r.cpu_s / r.elapsed_s - share) < 0.15, f"the record says {r.cpu_s / r.elapsed_s:.2f} CPUs, the host {share:.2f}"


def test_re_12_sleep(jar):
    r = jar.probe("wait", "x", opts=["-t", "700ms"])
    r.ended("timeout", "wall_time")
    assert 0.69 <= r.elapsed_s <= 0.9 + 0.1, r.elapsed_s


# ---- output and input ----------------------------------------------------------------------------

def run_and_watch(jar, args, opts, **kw):
    """The result, and the highest resident size in KiB that any process of belljar's own reached."""
    p = jar.start(["--", "/workspace/probe", *map(str, args)], opts, **kw)
    peak = [0]
    done = threading.Event()

    def sample():
        while not done.wait(0.02):
            for pid in [p.pid, *jarlib.descendants(p.pid)]:
                argv = jarlib.cmdline(pid)
                if argv and argv[0] == b"/workspace/probe":
                    continue
                with contextlib.suppress(OSError, IndexError, ValueError):
                    peak[0] = max(peak[0], int(jarlib.status_field(pid, "VmHWM")[0]))

    t = threading.Thread(target=sample)
    t.start()
    try:
        return jar.finish(p), peak[0]
    finally:
        done.set()
        t.join()


@pytest.mark.parametrize("stream", ["stdout", "stderr", "both"])
def test_re_14_flood(jar, stream):
    r, rss = run_and_watch(jar, ["flood", stream, 300], ["-t", "15s", "--output", "100K", "--output-log", "8M"])
    r.ended("killed", "output")
    assert r.truncated and len(r.stdout) + len(r.stderr) < 3 * 100 * 1024, r.told()[:500]
    assert rss < 48 << 10, f"belljar grew to {rss >> 10} MiB"


def test_re_14_flood_in_bytes(jar):
    r, rss = run_and_watch(jar, ["flood", "stdout", 2, "small"], ["-t", "20s", "--output", "100K", "--output-log", "64M"])
    r.ended("completed", "exited")
    assert r.truncated and r.stdout_bytes == 2 << 20 and rss < 48 << 10, r.told()[:500]


def test_re_15_stdout_tricks(jar):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = jar.probe("stdout_tricks")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    r.ended("completed", "exited")
    assert r.exit_code == 7 and "stderr intact" in r.stderr, r.told()
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.25, "the supervisor spins"


def test_re_16_stdin_not_read(jar, box):
    big = box / "big"
    with open(big, "wb") as f:
        f.truncate(1 << 30)
    big.chmod(0o644)
    r, rss = run_and_watch(jar, ["stdout_tricks"], ["-t", "10s", "--stdin", str(big)])
    r.ended("completed", "exited")
    assert r.exit_code == 7 and rss < 48 << 10, f"{rss >> 10} MiB"


# ---- files ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("where", ["/workspace", "/tmp", "/dev/shm", "/home/guest"])
def test_re_17_disk_fill(jar, where):
    r = jar.probe("fill", 200, f"{where}/fill", opts=["--disk", "20M"]).denied()
    assert "ENOSPC" in r.stdout and number(r, "mib") <= 20, r.told()
    assert "disk" in r.limits_hit, r.limits_hit


def test_re_17_one_budget(jar):
    code = """
import errno
import os
total = 0
for d in ('/workspace', '/tmp', '/dev/shm', '/home/guest'):
    f = open(d + '/fill', 'wb', 0)
    try:
        while True: total += f.write(b'x' * 65536)
    except OSError as e: print(e.errno)
print('total', total >> 20)
"""
    r = jar.python(code, opts=["--disk", "20M"])
    assert r.exit_code == 0 and number(r, "total") <= 21, r.told()


def test_re_18_sync(jar, witness):
    with witness.watching():
        r = jar.probe("sync_storm", 700)
    assert r.exit_code == 0, r.told()
    assert number(r, "rounds") > 200, r.told()  # each would cost a write-back of the host's disks


def test_re_19_page_cache(jar, witness):
    with witness.watching():
        r = jar.probe("thrash", 800, opts=["-m", "64M"])
    assert r.status in ("completed", "killed") and r.max_memory_mb <= 65, r.told()


def test_re_20_descriptors(jar, witness):
    with witness.watching():
        r = jar.probe("objects", "scm", 20000, opts=["--nofile", "256"])
        s = jar.probe("objects", "socketpairs", 20000, opts=["--nofile", "256"])
    s.denied()
    assert number(s, "objects") <= 128
    assert r.exit_code in (DENIED, REACHED), r.told()
    if r.exit_code == DENIED:
        assert "ETOOMANYREFS" in r.stdout or "EMFILE" in r.stdout or "ENOBUFS" in r.stdout, r.told()
    used, _, top = map(int, Path("/proc/sys/fs/file-nr").read_text().split())
    assert used < top / 2


@pytest.mark.parametrize("kind", ["inotify_instances", "signals", "eventfds", "mq"])
def test_re_21_per_user_quotas(jar, witness, kind):
    """One jar holds all of a quota that the kernel keeps per user; the neighbour still gets its own."""
    p = jar.start(["--", "/workspace/probe", "objects", kind, 100000, "hold"], ["-t", "10s", "--nofile", "1024"])
    try:
        assert wait_until(lambda: jarlib.guest_pid_any(p.pid, b"objects"), 8)
        time.sleep(0.3)
        with witness.watching():
            time.sleep(0.4)
        if kind == "inotify_instances":
            jar.probe("inotify", "/tmp", 1).denied()
    finally:
        p.terminate()
        jar.finish(p)


def test_re_23_cgroup_escape(jar, control):
    control("cgroups")
    jar.probe("cgroups").denied()
    jar.probe("cgroups", opts=["--uid", "0"]).denied()
    if ROOT and not ROOTLESS:
        with jar.live(opts=["-m", "64M"]) as p:
            folder, v2 = memory_cgroup(p.guest)
            limit = folder / ("memory.max" if v2 else "memory.limit_in_bytes")
            assert limit.read_text().strip() == str(64 << 20)
            for f in folder.iterdir():
                st = f.stat()
                assert st.st_uid < jarlib.ID_BASE, f"{f} belongs to the guest"


@pytest.mark.nored
def test_re_23_without_the_filter(second_layer):
    second_layer("seccomp").probe("cgroups").denied()


def test_re_25_kill_latency(jar, witness):
    with witness.watching():
        r = jar.probe("storm", opts=["-t", "600ms", "--pids", "64"])
    r.ended("timeout", "wall_time")
    assert r.wall - r.elapsed_s < 0.5 + 0.5, f"{r.wall - r.elapsed_s:.2f} s after the limit"


def test_re_26_noise(jar, witness):
    with witness.watching():
        r = jar.probe("noise", 800)
    assert r.exit_code == 0, r.told()


def test_re_27_bombs(jar):
    r = jar.python("import zlib\nb = zlib.compress(b'0' * (1 << 20), 9) \nx = [zlib.decompress(b) for _ in range(400)]", opts=["-m", "64M"])
    r.ended("killed", "memory")
    r = jar.python("import re; re.match(r'(a+)+$', 'a' * 60 + 'b')", opts=["--cpu-time", "400ms", "-t", "8s"])
    r.ended("timeout", "cpu_time")


def test_re_28_teardown(jar):
    def start():
        return jar.probe("true").wall

    idle = max(start() for _ in range(3))
    r = jar.probe("mmaps", 100000, 10000, opts=["-t", "10s"])
    assert r.exit_code == 0, r.told()
    after = start()
    assert after < max(5 * idle, 0.5), f"{after:.3f} s, idle {idle:.3f} s"


NETLINK = """
import socket, struct
ask = struct.pack('=IHHII', 32, 18, 1, 1, 0) + struct.pack('=BBHiII', 0, 0, 0, 1, 0, 0)  # RTM_GETLINK of lo
held = []
try:
    for _ in range(200):
        s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        held.append(s)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        s.setblocking(False)
        for _ in range(400):
            try: s.send(ask)
            except OSError: break
except OSError as e:
    print(e.errno)
print(len(held), sum(int(x.split()[4]) for x in open('/proc/self/net/netlink').read().splitlines()[1:]) >> 20)
"""


def test_re_29_netlink(jar):
    """Unread replies are charged to no cgroup: the number of sockets and the buffer of each are bounded instead."""
    r = jar.python(NETLINK, opts=["-m", "64M"])
    r.ended("completed", "exited")
    lines = r.stdout.split()
    assert int(lines[-2]) <= 32 + 2 and int(lines[-1]) <= 12, r.told()
    assert lines[0] == str(errno.ENOBUFS) and "sockets" in r.limits_hit, r.told()


@pytest.mark.nored
def test_re_29_netlink_works(jar):
    """One socket after the other, as getifaddrs does: there is no bound on how many a program has had."""
    r = jar.python("import socket\nfor _ in range(150): socket.if_nameindex(); socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()\nprint('ok')")
    assert r.stdout == "ok\n" and r.limits_hit == [], r.told()


SOCKETS = """
import socket, sys, time
want, kind, held, total = 400 << 20, sys.argv[1] if len(sys.argv) > 1 else KIND, [], 0
piece = b'x' * 65000
try:
    if kind == 'tcp':
        l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(128)
    for _ in range(450):
        if kind == 'udp':
            a, b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            b.bind(('127.0.0.1', 0)); a.connect(b.getsockname())
        else:
            a = socket.socket(); a.connect(l.getsockname()); b, _ = l.accept()
        held += [a, b]
        for s in (a, b):
            s.setblocking(False)
            try:
                for _ in range(40): s.send(piece)
            except OSError: pass
except OSError as e:
    print('stopped', e.errno)
mem = {x.split()[0]: int(x.split()[-1]) for x in open('/proc/self/net/sockstat').read().splitlines() if ' mem ' in x}
print('pages', mem['TCP:'] + mem['UDP:'], flush=True)
"""


@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_re_30_socket_buffers(jar, kind):
    """sockstat counts the pages of the whole host: what other programs use is a few hundred."""
    def pages():
        return sum(int(x.split()[-1]) for x in Path("/proc/net/sockstat").read_text().splitlines() if " mem " in x)
    before = pages()
    r = jar.python(f"KIND = {kind!r}\n" + SOCKETS, opts=["-m", "64M", "--nofile", "1024", "-t", "30s"])
    if r.status == "killed":
        r.ended("killed", "memory")  # cgroup v2 charges them to the memory limit itself
        return
    r.ended("completed", "exited")
    used = (number(r, "pages") - before) * 4096
    assert used <= 96 << 20, r.told()
    assert "sockets" in r.limits_hit, r.told()


@pytest.mark.nored
def test_re_30_a_server_works(jar):
    """200 connections at once, each with an answer of 100 KB, stay below every bound."""
    r = jar.python("""
import socket, threading
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(300)
def serve():
    for _ in range(200):
        c, _ = l.accept(); threading.Thread(target=lambda c=c: (c.recv(1), c.sendall(b'y' * 100000), c.close())).start()
threading.Thread(target=serve, daemon=True).start()
cs = [socket.create_connection(l.getsockname()) for _ in range(200)]
n = 0
for c in cs:
    c.send(b'x')
    while True:
        d = c.recv(65536)
        if not d: break
        n += len(d)
print(n)
""", opts=["--pids", "256"])
    assert r.stdout == "20000000\n" and "sockets" not in r.limits_hit, r.told()


def test_re_31_ptys(jar):
    """The kernel has about 3,000 for all jars together."""
    with jar.live(opts=["--nofile", "1024"]):
        r = jar.python("import os\nn = 0\ntry:\n    while n < 200: os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY); n += 1\nexcept OSError: pass\nprint('ptys', n)", opts=["--nofile", "1024"])
        assert number(r, "ptys") == 32, r.told()
