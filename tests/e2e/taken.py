# SPDX-License-Identifier: Apache-2.0
"""What somebody tries who has taken a zygote over. Runs inside of one (test_zygote.py puts it there), and outside as the control.

Wants TARGETS, a dictionary, in its globals. Writes one JSON object {probe: "ok" or the errno's name} to descriptor TARGETS["out"]. Everything happens in this one
process: what cannot be taken back comes last.
"""
import array
import ctypes
import errno
import json
import os
import resource
import socket
import stat
import struct

T = TARGETS  # noqa: F821
got = {}
libc = ctypes.CDLL(None, use_errno=True)
NR = {"mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "fsopen": 430, "open_tree": 428, "move_mount": 429, "mount_setattr": 442, "unshare": 272,
      "setns": 308, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_open": 434, "pidfd_send_signal": 424, "pidfd_getfd": 438,
      "sethostname": 170, "settimeofday": 164, "syslog": 103, "bpf": 321, "perf_event_open": 298, "io_uring_setup": 425, "open_by_handle_at": 304,
      "name_to_handle_at": 303, "capset": 126, "capget": 125, "setresuid": 117, "setresgid": 119, "setgroups": 116, "mknod": 133, "keyctl": 250, "kcmp": 312,
      "clone3": 435, "exit": 231, "wait4": 61, "quotactl": 179, "fanotify_init": 300}
NS = {"mnt": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000}


def sys(name, *args):
    """-1 becomes an OSError."""
    full = [a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in args]
    r = libc.syscall(ctypes.c_long(NR[name]), *full)
    if r < 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
    return r


def probe(name, fn, *args):
    try:
        r = fn(*args)
        got[name] = "ok"
        return r
    except OSError as e:
        got[name] = errno.errorcode.get(e.errno, str(e.errno))
    except Exception as e:  # noqa: BLE001: a probe that is broken must show
        got[name] = f"broken: {e!r}"


def read_file(path):
    with open(path, "rb") as f:
        return f.read(64)


def write_file(path, data):
    with open(path, "r+b", buffering=0) as f:
        f.write(data)


# ---- files of the host ---------------------------------------------------------------------------

for name, path in T["files"].items():
    probe(f"read:{name}", read_file, path)
    probe(f"read-up:{name}", read_file, "/" + "../" * 30 + path.lstrip("/"))
for who in ("init", "keeper", "canary"):
    probe(f"read-root:{who}", read_file, f"/proc/{T['pids'][who]}/root{T['files']['secret']}")
probe("write:world", write_file, T["files"]["world"], b"touched by the attacker")
for name, path in T["folders"].items():
    probe(f"create:{name}", lambda p: os.close(os.open(p, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)), f"{path}/taken-{T['nonce']}")
probe("list-proc", lambda: os.listdir("/proc/1"))
probe("device", lambda: sys("mknod", T["folders"]["world"].encode() + b"/node-" + T["nonce"].encode() + b"\0", 0o600 | stat.S_IFBLK, os.makedev(7, 0)))


def enter(fd, kind):
    """The control comes back from nowhere: it sends a child."""
    if not T["control"]:
        return sys("setns", fd, kind)
    pid = os.fork()
    if pid == 0:
        try:
            sys("setns", fd, kind)
        except OSError as e:
            os._exit(e.errno)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise OSError(code, "")
    return 0


# ---- processes -----------------------------------------------------------------------------------

for name, pid in T["pids"].items():
    probe(f"kill:{name}", os.kill, pid, 0)
    fd = probe(f"pidfd:{name}", sys, "pidfd_open", pid, 0)
    if fd is not None:
        probe(f"pidfd-kill:{name}", sys, "pidfd_send_signal", fd, 0, 0, 0)
        probe(f"pidfd-getfd:{name}", lambda f: os.close(sys("pidfd_getfd", f, 0, 0)), fd)
        for kind in ("mnt", "net", "user", "cgroup", "ipc", "uts"):
            if name not in T["enter"]:
                continue
            probe(f"enter-{kind}:{name}", enter, fd, NS[kind])
        os.close(fd)
    probe(f"nice:{name}", os.setpriority, os.PRIO_PROCESS, pid, 0)
    probe(f"affinity:{name}", os.sched_setaffinity, pid, os.sched_getaffinity(0))
    probe(f"rlimit:{name}", resource.prlimit, pid, resource.RLIMIT_CORE, (0, 0))
victim = T["pids"]["canary"]
PTRACE_ATTACH, PTRACE_DETACH = 16, 17
if probe("trace", sys, "ptrace", PTRACE_ATTACH, victim, 0, 0) is not None:
    os.waitpid(victim, 0x40000000)
    sys("ptrace", PTRACE_DETACH, victim, 0, 0)
buf = ctypes.create_string_buffer(64)
here = struct.pack("QQ", ctypes.addressof(buf), 1)
there = struct.pack("QQ", T["address"], 1)
probe("memory-read", sys, "process_vm_readv", victim, here, 1, there, 1, 0)
probe("memory-write", sys, "process_vm_writev", victim, here, 1, there, 1, 0)
probe("kcmp", sys, "kcmp", victim, victim, 0, 0, 0)

# ---- kernel --------------------------------------------------------------------------------------

probe("mount", sys, "mount", b"none\0", b"/usr\0", b"tmpfs\0", 0, 0)
probe("umount", sys, "umount2", b"/usr\0", 2)
probe("pivot_root", sys, "pivot_root", b"/nowhere\0", b"/nowhere\0")
probe("fsopen", lambda: os.close(sys("fsopen", b"tmpfs\0", 1)))
probe("open_tree", lambda: os.close(sys("open_tree", -100, b"/usr\0", 1)))
probe("bpf", sys, "bpf", 0, struct.pack("IIII", 2, 4, 4, 1) + b"\0" * 64, 72)
probe("perf", lambda: os.close(sys("perf_event_open", struct.pack("IIQ", 1, 112, 0) + b"\0" * 96, 0, -1, -1, 0)))
probe("syslog", sys, "syslog", 10, 0, 0)
probe("keyring", sys, "keyctl", 0, -3, 0, 0, 0)
probe("fanotify", lambda: os.close(sys("fanotify_init", 0, 0)))
probe("hostname", lambda: sys("sethostname", os.uname().nodename.encode(), len(os.uname().nodename)))
probe("raw-socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close())
probe("packet-socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close())

# ---- rights --------------------------------------------------------------------------------------

head = struct.pack("II", 0x20080522, 0)
sets = ctypes.create_string_buffer(24)
sys("capget", head, sets)
e0, p0, i0, e1, p1, i1 = struct.unpack("6I", sets.raw)
got["caps"] = p0 | p1 << 32
probe("more-caps", sys, "capset", head, struct.pack("6I", e0 | 1 << 7, p0 | 1 << 7, i0, e1, p1, i1))
got["new-privileges"] = "ok" if libc.prctl(39, 0, 0, 0, 0) == 0 else "never"
got["filtered"] = "no" if libc.prctl(21, 0, 0, 0, 0) == 0 else "yes"
got["uid"] = os.getuid()

# ---- the network ---------------------------------------------------------------------------------


def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(3)
        s.connect(address)


def networks(where):
    probe(f"tcp{where}", connect, socket.AF_INET, ("127.0.0.1", T["tcp"]))
    probe(f"abstract{where}", connect, socket.AF_UNIX, "\0" + T["abstract"])
    probe(f"socket-file{where}", connect, socket.AF_UNIX, T["socket"])
    got[f"links{where}"] = sorted(n for _, n in socket.if_nameindex())


networks("")

# ---- cgroups, and all that it holds --------------------------------------------------------------

probe("cgroup-folder", os.listdir, T["cgroup"])


def fs_type(fd):
    raw = ctypes.create_string_buffer(256)
    return struct.unpack_from("q", raw.raw)[0] if libc.fstatfs(fd, raw) == 0 else 0


CGROUP, CGROUP2, NSFS = 0x27e0eb, 0x63677270, 0x6e736673
held = [fd for fd in range(3, 4096) if fd != T["out"] and fs_type(fd)]
groups = [fd for fd in held if fs_type(fd) in (CGROUP, CGROUP2)]
spaces = [fd for fd in held if fs_type(fd) == NSFS]
got["holds"] = {"all": len(held), "groups": len(groups), "namespaces": len(spaces)}


def move(fd, pid):
    """Puts a process into the group behind a descriptor."""
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        procs = os.open("cgroup.procs", os.O_WRONLY, dir_fd=fd)
        try:
            os.write(procs, b"%d" % pid)
        finally:
            os.close(procs)
    else:
        os.write(fd, b"%d" % pid)


for name in T["move"]:
    answers = set()
    for fd in groups:
        probe("x", move, fd, T["pids"][name])
        answers.add(got.pop("x"))
    got[f"move:{name}"] = "ok" if "ok" in answers else sorted(answers)[0] if answers else "nothing held"
for fd in groups:
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        probe("cgroup-limit", lambda f: os.close(os.open("memory.max", os.O_WRONLY, dir_fd=f)), fd)
        probe("cgroup-up", lambda f: os.close(os.open("../../cgroup.procs", os.O_WRONLY, dir_fd=f)), fd)
        probe("cgroup-kill", lambda f: os.close(os.open("cgroup.kill", os.O_WRONLY, dir_fd=f)), fd)

# ---- a user namespace of its own: all rights in it, and over nothing --------------------------------

r, w = os.pipe()
pid = probe("new-user", sys, "clone3", struct.pack("11Q", NS["user"] | NS["mnt"] | NS["net"], 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88)
if pid == 0:
    got = {}
    sys("capget", head, sets)
    got["new-user-caps"] = struct.unpack_from("I", sets.raw, 4)[0]
    probe("new-user-read", read_file, T["files"]["secret"])
    probe("new-user-mount", sys, "mount", b"none\0", b"/usr\0", b"tmpfs\0", 0, 0)
    probe("new-user-chroot", sys, "chroot", b"/usr\0")
    os.write(w, json.dumps(got).encode())
    libc.syscall(ctypes.c_long(NR["exit"]), ctypes.c_long(0))
os.close(w)
if pid:
    got.update(json.loads(os.read(r, 65536) or b"{}"))
    os.waitpid(pid, 0)
os.close(r)

# ---- what cannot be taken back -------------------------------------------------------------------

# an id at a time: one that works ends the others
probe("setgroups", os.setgroups, [0])
probe("setgid", os.setresgid, 0, 0, 0)
for name, uid in T["uids"].items():
    probe(f"setuid:{name}", os.setresuid, uid, uid, uid)
    if got[f"setuid:{name}"] == "ok" and T["control"]:
        break
# into a slot of its own shelf: that is its work
entered = []
for fd in spaces:
    for kind in ("net", "uts", "user"):
        try:
            sys("setns", fd, NS[kind])
            entered.append(kind)
        except OSError:
            pass
    if "user" in entered:
        break
got["entered"] = sorted(set(entered))
if entered and not T["control"]:
    networks("-in-slot")
    sys("capget", head, sets)
    got["caps-in-slot"] = sum(struct.unpack_from("I", sets.raw, o)[0] << s for o, s in ((4, 0), (16, 32)))
    for name, pid in T["pids"].items():
        probe(f"kill-in-slot:{name}", os.kill, pid, 0)
    probe("mount-in-slot", sys, "mount", b"none\0", b"/usr\0", b"tmpfs\0", 0, 0)
    probe("read-in-slot", read_file, T["files"]["secret"])
    for name in T["move"]:
        for fd in groups:
            probe(f"move-in-slot:{name}", move, fd, T["pids"][name])
os.write(T["out"], json.dumps(got).encode())
if T["speak"] and not T["control"]:
    # the keeper's own socket: what it expects once, many times; then everything else
    s = socket.socket(fileno=os.dup(3))
    s.setblocking(False)
    for kind in (1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0):
        for size in (16, 17, 512, 1200, 4096, 4, 0):
            for fds in ([], [0], [0, 1, 2]):
                try:
                    s.sendmsg([struct.pack("<IIQ", kind, 0, (1 << 64) - 1).ljust(size, b"\xff")[:size]],
                              [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
                except OSError:
                    pass
