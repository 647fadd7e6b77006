# SPDX-License-Identifier: Apache-2.0
"""What survives a run in a warm jar. docs/kernel-objects.md has this table.

Each row: what a run changes, and what the next run in the same slot sees of it. `kept` says what a recycled jar keeps for the same client: counters that go on. Another client
sees nothing of any row, and neither does the same client without --recycle. What is left in an interpreter's memory is in test_seats.py.
"""
from typing import NamedTuple

import pytest
from harness import ROOT, Batch, need_batch, seconds

LIMITS = {"wall_ms": int(seconds(20) * 1000)}
LIBC = "import ctypes, os, socket, time\nL = ctypes.CDLL(None, use_errno=True)\n"


class Row(NamedTuple):
    change: str
    look: str
    kept: bool = False


SERVER = """
s = socket.socket(); s.bind(('127.0.0.1', 4711)); s.listen(); c = socket.create_connection(s.getsockname()); a, _ = s.accept()
a.send(b'x' * 1000); c.recv(1000); a.close(); c.recv(1); c.close()
"""
# Of netlink sockets only how many there are: their addresses and inode numbers are new with every namespace.
NUMBERS = "[open('/proc/self/net/' + f).read() for f in ('dev', 'snmp', 'netstat', 'sockstat', 'tcp', 'udp', 'unix')], len(open('/proc/self/net/netlink').readlines())"
FOLDERS = "('/workspace', '/tmp', '/home/guest', '/dev/shm')"

ROWS = {
    # files
    "files": Row("for d in " + FOLDERS + ": open(d + '/left', 'w').write('x')", "[os.listdir(d) for d in " + FOLDERS + "]"),
    "folders nobody may read": Row("os.makedirs('/tmp/a/b'); open('/tmp/a/b/c', 'w'); os.chmod('/tmp/a', 0)", "os.listdir('/tmp')"),
    "modes of folders": Row("for d in " + FOLDERS + ": os.chmod(d, 0o700)", "[oct(os.stat(d).st_mode) for d in " + FOLDERS + "]"),
    "times of folders": Row("for d in " + FOLDERS + ": os.utime(d, (1, 1))", "[os.stat(d).st_mtime > 1e9 and os.stat(d).st_atime > 1e9 for d in " + FOLDERS + "]"),
    "space that is used": Row("open('/tmp/f', 'wb').write(b'x' * (20 << 20))", "os.statvfs('/tmp').f_bfree"),
    "inodes that are used": Row("for i in range(400): open(f'/tmp/{i}', 'w')", "os.statvfs('/tmp').f_ffree"),
    "inode numbers": Row("for i in range(400): open(f'/tmp/{i}', 'w'); os.unlink(f'/tmp/{i}')", "[open('/tmp/n', 'w').close(), os.stat('/tmp/n').st_ino][1]", kept=True),
    "an unlinked file that stays open": Row("if os.fork() == 0:\n    f = open('/tmp/f', 'wb'); f.write(b'x' * (9 << 20)); f.flush(); os.unlink('/tmp/f'); time.sleep(60)\ntime.sleep(0.2)",
                                             "os.statvfs('/tmp').f_bfree"),
    "locks on files of the host": Row("import fcntl\nif os.fork() == 0:\n    f = open('/usr/bin/env'); fcntl.flock(f, fcntl.LOCK_EX); fcntl.fcntl(f, fcntl.F_GETLK, bytes(32)); time.sleep(60)\ntime.sleep(0.1)",
                                      "__import__('fcntl').flock(open('/usr/bin/env'), 6)"),
    "times of the host's files": Row("open('/usr/share/common-licenses/GPL-1').read(); open('/etc/host.conf').read()",
                                     "[os.stat(f).st_atime_ns for f in ('/usr/share/common-licenses/GPL-1', '/usr/share/common-licenses')] + [os.stat('/etc/host.conf').st_atime_ns - os.stat('/etc/host.conf').st_mtime_ns]"),
    "times of devices": Row("open('/dev/null', 'w').write('x'); open('/dev/zero', 'rb').read(9)", "[os.stat('/dev/' + d).st_mtime_ns == os.stat('/dev/' + d).st_atime_ns for d in ('null', 'zero')]"),
    # processes
    "processes": Row("import sys\nfor i in range(3):\n    if os.fork() == 0: os.setsid(); time.sleep(60)", "[p for p in os.listdir('/proc') if p.isdigit() and p not in ('1', str(os.getpid()))]"),
    "process numbers": Row("for i in range(50):\n    if os.fork() == 0: os._exit(0)\n    os.wait()", "os.getpid()", kept=True),
    "process numbers to their end": Row("for i in range(500):\n    if os.fork() == 0: os._exit(0)\n    os.wait()", "[os.getpid() < 40000]"),
    "priority": Row("os.nice(7); os.setpriority(os.PRIO_USER, 0, 9)", "[os.getpriority(os.PRIO_PROCESS, 0), os.getpriority(os.PRIO_USER, 0)]"),
    "limits": Row("import resource\nfor n in range(16):\n    try: resource.setrlimit(n, (1, 1))\n    except (OSError, ValueError): pass", "[__import__('resource').getrlimit(n) for n in range(16)]"),
    "out-of-memory score": Row("open('/proc/self/oom_score_adj', 'w').write('500')", "open('/proc/self/oom_score_adj').read()"),
    "a session and its terminal": Row("import pty\npty.openpty(); os.open('/dev/ptmx', os.O_RDWR)", "[os.listdir('/dev/pts'), __import__('pty').openpty()[1] and os.listdir('/dev/pts')]"),
    # System V and POSIX objects
    "shared memory": Row("L.shmget(0x4711, 4096, 0o1666)", "L.shmget(0x4711, 0, 0)"),
    "semaphores": Row("L.semget(0x4711, 3, 0o1666)", "L.semget(0x4711, 0, 0)"),
    "messages": Row("L.msgget(0x4711, 0o1666)", "L.msgget(0x4711, 0)"),
    "numbers of System V objects": Row("for i in range(9): L.shmctl(L.shmget(0, 4096, 0o1666), 0, None)", "L.shmget(0, 4096, 0o1666)", kept=True),
    "POSIX message queues": Row("ctypes.CDLL('librt.so.1').mq_open(b'/q', os.O_CREAT | os.O_RDWR, 0o666, None)", "os.listdir('/dev/mqueue')"),
    "POSIX shared memory": Row("import multiprocessing.shared_memory as m\nos.close(os.open('/dev/shm/left', os.O_CREAT | os.O_RDWR))", "os.listdir('/dev/shm')"),
    # the network namespace
    "a port that waits": Row(SERVER, "(s := socket.socket(), s.bind(('127.0.0.1', 4711)))[1]"),
    "counters of the network": Row(SERVER, NUMBERS),
    "counters of UDP": Row("a = socket.socket(2, 2); a.bind(('127.0.0.1', 4712))\nfor i in range(20): a.sendto(b'x', ('127.0.0.1', 4712))", NUMBERS),
    "names of UNIX sockets": Row("if os.fork() == 0:\n    s = socket.socket(1); s.bind('\\0left'); s.listen(); time.sleep(60)\ntime.sleep(0.1)", "(s := socket.socket(1), s.bind('\\0left'))[1]"),
    "netlink": Row("socket.if_nameindex(); socket.socket(16, 3, 0)", NUMBERS),
    # what the kernel keeps of namespaces
    "the host's name": Row("try: socket.sethostname('left')\nexcept OSError: pass", "socket.gethostname()"),
    "what can be seen of the cgroup": Row("x = bytearray(50 << 20)", "open('/proc/self/cgroup').read()"),
    "limits of the namespaces": Row("for f in ('user/max_user_namespaces', 'net/ipv4/tcp_rmem'):\n    try: open('/proc/sys/' + f, 'w').write('7')\n    except OSError: pass", "os.path.exists('/proc/sys')"),
    "keys": Row("L.syscall(248, b'user', b'left', b'x', 1, -4)", "[L.syscall(249, b'user', b'left', None, 0) >= 0]"),
    "quotas of the user": Row("k = [L.inotify_init() for _ in range(200)]\nif os.fork() == 0: time.sleep(60)", "[L.inotify_init() >= 0]"),
    "flags of a crash": Row("os.abort()", "os.listdir('.')"),
}


def python(code, client):
    return {"code": LIBC + code, "client": client, "limits": LIMITS}


def show(look):
    return f"try: print({look})\nexcept OSError as e: print(e)\n"


class Slot:
    """One batch with one run at a time."""

    def __init__(self, *opts):
        self.batch = Batch("-j", "1", *opts)

    def run(self, code, client="a"):
        r = self.batch.run(python(code, client))
        assert r["status"] == "completed", r
        return r["stdout"]


@pytest.fixture(params=["", "--recycle"], ids=["fresh jars", "recycled jars"])
def slot(request):
    need_batch()
    s = Slot(*[o for o in [request.param] if o])
    s.recycles = bool(request.param)
    yield s
    assert s.batch.close() == 0


@pytest.mark.parametrize("what", ROWS)
def test_the_next_run_sees_nothing(slot, what):
    row = ROWS[what]
    first = slot.run(show(row.look), f"first to look at {what}")
    assert first
    for turn in range(3):
        slot.run(row.change, "a")
        same = slot.run(show(row.look), "a")
        if row.kept and slot.recycles:
            continue
        assert same == first, f"turn {turn}: the same client"
        slot.run(row.change, "a")
        assert slot.run(show(row.look), f"other {turn} of {what}") == first, f"turn {turn}: another client"


@pytest.mark.parametrize("what", [w for w, r in ROWS.items() if r.kept])
def test_what_a_recycled_jar_keeps_is_for_its_client_alone(what):
    """The control: such a counter does go on where the jar is used again. Without that the rows above would prove nothing for it."""
    need_batch()
    if what == "numbers of System V objects" and not ROOT:
        pytest.skip("without a memory cgroup there are no System V objects")
    s, row = Slot("--recycle"), ROWS[what]
    seen, other = set(), set()
    for turn in range(6):
        s.run(row.change, "a")
        seen.add(s.run(show(row.look), "a"))
        other.add(s.run(show(row.look), f"b{turn}"))
    assert s.batch.close() == 0
    assert len(other) == 1 and len(seen) > 1, (seen, other)
