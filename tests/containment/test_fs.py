# SPDX-License-Identifier: Apache-2.0
"""FS: a guest sees its own files and nothing of the host's."""
import json
import os
import shutil
import socket
import stat
import time
from pathlib import Path

import pytest

import jarlib
from jarlib import DENIED, GUEST_UID, NONCE, REACHED, ROOT, sha256

needs_host_root = pytest.mark.skipif(not ROOT, reason="the host side of the fixture needs root")
UIDS = pytest.mark.parametrize("uid", [1000, 0])


def test_fs_01_absolute_read(jar, control, canaries):
    paths = [str(canaries.ro), "/etc/shadow", "/root/.ssh", "/root", "/var/run/docker.sock", "/home/user", "/etc/gshadow",
             "/etc/ssh", "/var/lib/belljar", "/run/belljar", "/work"]
    control("open", "ENOENT", "rd", canaries.ro, "/etc/shadow", alone=False)
    r = jar.probe("open", "ENOENT", "rd", *paths).denied()
    assert canaries.secret not in json.dumps(r.record)
    r = jar.probe("cat", canaries.ro, "/proc/1/environ", "/proc/1/cmdline", "/proc/1/root/etc/shadow")
    assert canaries.secret not in r.stdout and NONCE not in r.stdout.replace(str(canaries.ro), "")


def test_fs_02_dot_dot(jar, control, canaries):
    control("dotdot", canaries.ro, alone=False)
    jar.probe("dotdot", canaries.ro).denied()


def host_namespaces():
    names = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"]
    return [f"{n}={os.readlink(f'/proc/self/ns/{n}').split('[')[1][:-1]}" for n in names]


def test_fs_03_magic_links(jar, control):
    control("links", *host_namespaces(), alone=False)
    r = jar.probe("links", *host_namespaces()).denied()
    outside = [x for x in r.stdout.splitlines() if str(jarlib.HERE) in x or "/work/" in x.split(" ")[-1]]
    assert not outside, outside


@needs_host_root
def test_fs_03_namespaces_seen_from_host(jar):
    """The host's own view: the guest's namespaces are all others than ours."""
    with jar.live() as p:
        for row in host_namespaces():
            name, inode = row.split("=")
            assert inode not in os.readlink(f"/proc/{p.guest}/ns/{name}"), name


def test_fs_04_leaked_fd(jar, box):
    fds = [os.open(box, os.O_RDONLY | os.O_DIRECTORY), os.open("/proc", os.O_RDONLY), os.open("/dev/null", os.O_RDWR)]
    a, b = socket.socketpair()
    fds += [a.fileno(), b.fileno()]
    try:
        for fd in fds:
            os.set_inheritable(fd, True)
        jar.probe("fds", pass_fds=fds).denied()
        if ROOT and not jar.off:
            with jar.live(pass_fds=fds) as p:
                assert sorted(os.listdir(f"/proc/{p.guest}/fd"), key=int) == ["0", "1", "2"]
    finally:
        for fd in fds[:3]:
            os.close(fd)
        a.close(), b.close()


@pytest.mark.parametrize("where", ["/proc/self/fd/7", "/proc/self/fd/8/../..", "//", "..", "../../../..", "out", "x" * 5000,
                                   "/proc/1/root", "/proc/self/root/..", ""])
def test_fs_05_hostile_workdir(jar, canaries, where):
    ws = ["--workdir", where]
    r = jar.run("--", "/workspace/probe", "cwd", canaries.ro, "/root", "/work/main", opts=ws)
    if r.rc in (2, 125):
        assert r.record is None or r.record["status"] == "error", r.told()
    else:
        r.denied()
        cwd = r.stdout.split("cwd ", 1)[1].splitlines()[0]
        assert cwd.startswith("/") and "unreachable" not in cwd


@UIDS
def test_fs_06_chroot(jar, control, uid):
    control("sys", "chroot", "pivot_root")
    r = jar.probe("sys", "chroot", "pivot_root", opts=["--uid", uid]).denied()
    assert r.rows() == {"chroot": "EPERM", "pivot_root": "EPERM"}


@UIDS
def test_fs_07_remount(jar, control, uid):
    base = sha256("/usr/bin/env")
    control("sys", "mount", "mount_setattr", "move_mount", "open_tree")
    jar.probe("sys", "mount", "mount_setattr", "move_mount", "open_tree", opts=["--uid", uid]).denied()
    if not jar.off:
        jar.probe("remount", "/", "/usr", "/proc", "/tmp", "/workspace", opts=["--uid", uid]).denied()
    assert sha256("/usr/bin/env") == base


def test_fs_08_unmask(jar, control):
    control("sys", "umount2")
    jar.probe("umount_all").denied()


def test_fs_09_write_base(jar, control):
    files = [f for f in ("/usr/bin/env", "/etc/passwd", "/etc/hosts", "/usr/lib", "/usr/bin") if os.path.exists(f)]
    hashes = {f: sha256(f) for f in files if os.path.isfile(f)}
    stats = {f: os.stat(f) for f in files}
    inside = [f for f in files if f in ("/usr/bin/env", "/etc/passwd", "/usr/lib", "/usr/bin")]
    jar.probe("write_base", *inside).denied()
    jar.probe("write_base", *inside, opts=["--uid", "0"]).denied()
    assert {f: sha256(f) for f in hashes} == hashes
    for f, st in stats.items():
        now = os.stat(f)
        assert (now.st_mode, now.st_mtime_ns, now.st_nlink, now.st_ino) == (st.st_mode, st.st_mtime_ns, st.st_nlink, st.st_ino), f
    r = jar.run("--", "/usr/bin/sha256sum", "/usr/bin/env")
    assert r.stdout.split()[0] == hashes["/usr/bin/env"]


@UIDS
def test_fs_10_device_nodes(jar, control, box, outdir, uid):
    if ROOT:
        box.chmod(0o700)
        control("mknod", box)
    opts = ["--uid", uid, "--get", "node-*", "--out", outdir]
    jar.probe("mknod", "/tmp", "/workspace", "/dev/shm", "/home/guest", opts=opts).denied()
    odd = [p for p in outdir.rglob("*") if not stat.S_ISREG(p.lstat().st_mode) and not p.is_dir()]
    assert not odd


DEV_ALLOWED = {"null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "shm", "pts", "ptmx", "mqueue"}


def test_fs_11_devices(jar, control):
    nodes = ["/dev/kvm", "/dev/fuse", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/loop0", "/dev/loop-control",
             "/dev/net/tun", "/dev/vhost-net", "/dev/vhost-vsock", "/dev/userfaultfd", "/dev/tty0", "/dev/tty1", "/dev/ttyS0",
             "/dev/console", "/dev/hwrng", "/dev/cpu/0/msr", "/dev/mapper/control", "/dev/vsock", "/dev/btrfs-control",
             "/dev/autofs", "/dev/vcs", "/dev/snapshot", "/dev/port", "/dev/nvram", "/dev/rtc0", "/dev/zram0"]
    control("open", "ENOENT", "rd", "/dev/null", "/dev/tty0", alone=False)
    jar.probe("open", "ENOENT", "rd", *nodes).denied()
    if ROOT:
        with jar.live() as p:
            seen = set(os.listdir(f"/proc/{p.guest}/root/dev"))
            assert seen <= DEV_ALLOWED, seen - DEV_ALLOWED
            numbers = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}
            for name, (major, minor) in numbers.items():
                st = os.stat(f"/proc/{p.guest}/root/dev/{name}")
                assert stat.S_ISCHR(st.st_mode) and (os.major(st.st_rdev), os.minor(st.st_rdev)) == (major, minor), name


@needs_host_root
def test_fs_12_device_in_input(jar, probe, box):
    """A device node that an input folder happens to hold: visible, never usable. Char 1:3 harms nobody if it is."""
    os.mknod(box / "node", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    os.chmod(box / "node", 0o666)
    assert jarlib.control(probe, "open", "EACCES", "rd", box / "node", alone=False).returncode == REACHED
    jar.probe("open", "EACCES,ENOENT", "rd", "/in/node", opts=["--ro", f"{box}:/in"]).denied()


@UIDS
def test_fs_13_file_handles(jar, control, uid):
    control("sys", "name_to_handle_at", "open_by_handle_at")
    r = jar.probe("sys", "name_to_handle_at", "open_by_handle_at", opts=["--uid", uid]).denied()
    assert set(r.rows().values()) <= {"EPERM", "ENOSYS"}


@needs_host_root
def test_fs_14_setuid_file(jar, probe, box):
    shutil.copy(probe, box / "suid")
    os.chown(box / "suid", 0, 0)
    os.chmod(box / "suid", 0o6755)
    ro = ["--ro", f"{box}:/in"]
    with jar.live(program="/in/suid", opts=ro) as p:
        uids = set(jarlib.status_field(p.guest, "Uid")) | set(jarlib.status_field(p.guest, "Gid"))
        assert len(uids) <= 2 and "0" not in uids, uids
        assert jarlib.status_field(p.guest, "CapEff") == ["0000000000000000"]
    jar.probe("exec", "/in/suid", "creds", GUEST_UID, opts=ro).denied()


def test_fs_14_setuid_copy(jar):
    jar.probe("run_copy", "/tmp/suid", "6755", "creds", GUEST_UID).denied()
    jar.probe("run_copy", "/workspace/suid", "4755", "creds", GUEST_UID).denied()


def test_fs_15_file_capabilities(jar):
    jar.probe("filecap", GUEST_UID).denied()


def test_fs_16_hardlink(jar, box):
    f = box / "input.txt"
    f.write_text("input")
    f.chmod(0o666)
    jar.probe("hardlink", "/usr/bin/env", "/in/input.txt", opts=["--ro", f"{box}:/in"]).denied()
    assert f.stat().st_nlink == 1


def test_fs_17_exchange(jar, box):
    f = box / "input.txt"
    f.write_text("input")
    f.chmod(0o666)
    box.chmod(0o777)
    before = sha256(f)
    jar.probe("exchange", "/in/input.txt", opts=["--ro", f"{box}:/in"]).denied()
    assert sha256(f) == before and sorted(os.listdir(box)) == ["input.txt"]


def test_fs_18_read_only_inputs(jar, box, control):
    """World-writable on the host, so that nothing but the mount protects it."""
    f = box / "input.txt"
    f.write_text("input " * 1000)
    f.chmod(0o666)
    box.chmod(0o777)
    before = sha256(f)
    r = jar.probe("ro_write", "/in/input.txt", opts=["--ro", f"{box}:/in"])
    assert sha256(f) == before, "the guest changed an input"
    r.denied()


def test_fs_22_mountinfo(jar, box):
    """The nonce is in belljar's own folders: a guest must not learn where on the host its jar is kept.

    (The source of a --ro mount shows its path inside its file system; the caller chose to show it: README.)"""
    state = box / f"tenant-{NONCE}"
    for d in (state, state / "run", state / "state"):
        d.mkdir(mode=0o700)
        if jarlib.TEST_USER:
            shutil.chown(d, jarlib.TEST_USER)
    env = {"XDG_STATE_HOME": str(state / "state"), "XDG_RUNTIME_DIR": str(state / "run"), "HOME": str(state)}
    r = jar.probe("cat", "/proc/self/mountinfo", "/proc/self/mounts", "/proc/self/mountstats", "/proc/self/maps",
                  "/proc/self/cgroup", "/proc/self/environ", env=env)
    assert "/proc/self/mountinfo OK" in r.stdout, r.told()
    for secret in (NONCE, str(jarlib.REPO), str(jarlib.HERE), "exec-", "containment-"):
        assert secret not in r.stdout, [x for x in r.stdout.splitlines() if secret in x]
    r = jar.probe("listmount", env=env)
    assert NONCE not in r.stdout and "containment-" not in r.stdout


PROC_FILES = ["kcore", "keys", "key-users", "kallsyms", "kmsg", "timer_list", "sched_debug", "latency_stats", "interrupts",
              "iomem", "ioports", "slabinfo", "vmallocinfo", "pagetypeinfo", "config.gz", "bus", "fs", "irq", "acpi", "scsi",
              "sys", "modules", "cmdline", "version", "loadavg", "stat", "meminfo", "diskstats", "uptime", "partitions",
              "crypto", "mounts_", "sysvipc", "tty", "driver", "swaps", "cgroups", "zoneinfo", "vmstat", "buddyinfo"]


def test_fs_23_proc(jar, control):
    control("open", "ENOENT", "rd", "/proc/kallsyms", "/proc/meminfo", alone=False)
    jar.probe("open", "ENOENT", "rd", *[f"/proc/{f}" for f in PROC_FILES]).denied()


@needs_host_root
def test_fs_23_proc_seen_from_host(jar):
    with jar.live() as p:
        odd = {x for x in os.listdir(f"/proc/{p.guest}/root/proc") if not x.isdigit()} - {"self", "thread-self"}
        assert not odd


def proc_sys():
    """/proc/sys without what counts or changes by itself."""
    skip = ("/random/", "nr", "-state", "-nr", "stat_refresh", "/fs/inode", "/fs/dentry", "/fs/file", "ns_last_pid", "/sched_domain",
            "conntrack_count", "/route/", "pty/nr", "hung_task_detect", "flush", "compact_memory", "drop_caches", "usermodehelper",
            "ipc/", "msgmni", "/neigh/")
    out = {}
    for top, _, names in os.walk("/proc/sys"):
        for n in names:
            path = os.path.join(top, n)
            if any(s in path for s in skip):
                continue
            try:
                out[path] = Path(path).read_bytes()
            except OSError:
                pass
    return out


@pytest.mark.nored  # it asks for files of the host's kernel
def test_fs_24_proc_sys(jar):
    before = proc_sys()
    jar.probe("sys_writes").denied()
    jar.probe("open", "ENOENT,EROFS,EACCES", "wr", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
              "/proc/sys/fs/binfmt_misc/register", "/proc/sys/kernel/randomize_va_space", "/proc/sys/kernel/ns_last_pid",
              "/proc/sys/kernel/pid_max", "/proc/sys/net/ipv4/ip_forward", "/proc/sysrq-trigger", "/proc/self/uid_map").denied()
    after = proc_sys()
    assert {k: v for k, v in after.items() if before.get(k) != v} == {}


def test_fs_24_own_proc(jar):
    """Files of the guest's own processes are for reading."""
    jar.probe("open", "EACCES", "wr", "/proc/self/comm", "/proc/self/coredump_filter", "/proc/self/timerslack_ns",
              "/proc/self/oom_score_adj", "/proc/self/clear_refs").denied()


def test_fs_25_sys(jar):
    jar.probe("open", "ENOENT", "rd", "/sys/fs/cgroup", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security",
              "/sys/firmware", "/sys/class/powercap", "/sys/devices/system/cpu").denied()
    if ROOT:
        with jar.live() as p:
            sysfs = Path(f"/proc/{p.guest}/root/sys")
            assert not sysfs.exists() or not os.listdir(sysfs)


def test_fs_26_tmp_privacy(jar):
    name = f"mark-{NONCE}"
    marks = [x for d in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/workspace", "/home/guest") for x in (f"{d}/{name}", NONCE)]

    def host_sees():
        return [d for d in ("/tmp", "/var/tmp", "/dev/shm", "/run") if os.path.exists(f"{d}/{name}")]

    p = jar.start(["--", "/workspace/probe", "write", *marks, "stay"], ["-t", "20s"])
    try:
        assert jarlib.wait_until(lambda: jarlib.guest_pid_any(p.pid, b"write"), 8)
        time.sleep(0.2)
        assert not host_sees()
        jar.probe("open", "ENOENT", "rd", *marks[0::2]).denied()
    finally:
        p.terminate()
        jar.finish(p)
    assert not host_sees()


@pytest.mark.parametrize("where,closed", [("/tmp/x", False), ("/workspace/x", False), ("/home/guest/x", False), ("/dev/shm/x", True)])
def test_fs_27_noexec(jar, where, closed):
    """As the profile says: /dev/shm is noexec, the rest is not (compilers and virtual environments need it)."""
    r = jar.probe("run_copy", where, "755", "unknown", 1000, 1001)
    if closed:
        assert "exec /dev/shm/x EACCES" in r.stdout, r.told()
    else:
        assert r.exit_code == DENIED and "exec" not in r.stdout, r.told()


WEIRD = [b"\n", b"-rf", b"..\\..", b"$(id)", b"\xff" * 255, b"\x1b[2J", "\u202egpj.exe".encode(), b" ", b"a\tb", b"'\"", b"...",
         b"%s%n", b"\xc3\x28", b"CON", b"name\r"]


def test_fs_28_weird_names(jar, outdir):
    code = f"import os\nfor n in {WEIRD!r}:\n open(b'out/'+n,'wb').write(b'content of '+n)"
    r = jar.python("import os; os.mkdir('out')\n" + code, opts=["--get", "out/*", "--out", outdir])
    r.ended("completed", "exited")
    assert r.exit_code == 0, r.told()
    refused = [f for f in r.files if f.get("refused")]
    for top, _, names in os.walk(os.fsencode(outdir)):
        for n in names:
            assert n in WEIRD, n
            assert Path(os.fsdecode(os.path.join(top, n))).read_bytes() == b"content of " + n
    got = sum(len(n) for _, _, n in os.walk(os.fsencode(outdir)))
    assert got + len(refused) == len(WEIRD), r.files
    assert sorted(os.listdir(outdir.parent)).count(outdir.name) == 1


def test_fs_29_deep_tree(jar, outdir):
    # Landlock looks at every folder above: the guest's own time grows with the square of the depth
    r = jar.probe("deep", 50000, opts=["-t", "3s", "--get", "d", "--out", outdir])
    assert r.wall - r.elapsed_s < 5, r.told()
    r = jar.probe("deep", 2000, opts=["--get", "**", "--out", outdir])
    assert r.wall - r.elapsed_s < 5, r.told()


def test_fs_30_undeletable(jar, control, outdir):
    control("high", "ioctl.SETFLAGS", "ioctl.FSSETXATTR.high")
    jar.probe("high", "ioctl.SETFLAGS", "ioctl.SETFLAGS.high", "ioctl.FSSETXATTR.high").denied()
    code = """
import os
for d in ('/tmp', '/workspace', '/dev/shm', '/home/guest'):
    os.makedirs(d + '/a/b/c'); open(d + '/a/b/c/f', 'w').write('x')
    f = open(d + '/gone', 'w'); f.write('y' * 100000); f.flush(); os.unlink(d + '/gone')
    os.chmod(d + '/a/b', 0); os.chmod(d + '/a', 0o1000); os.chmod(d, 0)
"""
    r = jar.python(code, opts=["--get", "**", "--out", outdir])
    r.ended("completed", "exited")


def test_fs_31_sparse(jar, outdir):
    r = jar.probe("sparse", "/workspace/huge", opts=["--get", "huge", "--out", outdir])
    huge = [f for f in r.files if f["path"].endswith("huge")]
    assert huge, r.files
    if "1 TiB OK" in r.stdout:
        assert huge[0].get("refused") and not (outdir / "huge").exists(), r.files
    else:
        assert "1 TiB EFBIG" in r.stdout, r.told()
    assert r.wall < 10
    # one that may exist: past the disk limit, below the limit of a file's size
    r = jar.run("--", "/bin/sh", "-c", "truncate -s 60M big", opts=["--disk", "20M", "--get", "big", "--out", outdir], files=False)
    assert r.exit_code == 0 and r.files and r.files[0].get("refused") and not (outdir / "big").exists(), r.told()


def test_fs_32_many_entries(jar, outdir):
    r = jar.probe("many", "/workspace", 1000000, opts=["-t", "20s", "--get", "*", "--out", outdir])
    r.denied()
    assert "ENOSPC" in r.stdout, r.told()
    assert r.wall - r.elapsed_s < 15, "the export walks without a bound"
    assert len(os.listdir(outdir)) <= 100_000


def shmem_kib():
    return int(next(x for x in Path("/proc/meminfo").read_text().splitlines() if x.startswith("Shmem:")).split()[1])


def test_fs_33_unlinked_space(jar):
    before = shmem_kib()
    r = jar.probe("fill", 200, "/workspace/ghost", "unlink", opts=["--disk", "40M"]).denied()
    mib = int(r.stdout.split("mib ")[1].split()[0])
    assert 20 <= mib <= 41, r.told()
    assert jarlib.wait_until(lambda: shmem_kib() - before < 20 << 10, 2), "not freed"


def test_fs_34_fallocate(jar):
    jar.probe("fallocate", opts=["--disk", "40M"]).denied()


ARTIFACTS = {
    "fifo": "os.mkfifo('out.txt')",
    "socket": "import socket; s = socket.socket(socket.AF_UNIX); s.bind('out.txt')",
    "symlink": "os.symlink(CANARY, 'out.txt')",
    "dotdot": "os.symlink('../../../../../..' + CANARY, 'out.txt')",
    "magic": "os.symlink('/proc/self/root' + CANARY, 'out.txt')",
    "directory": "os.mkdir('out.txt')",
    "device": "os.mknod('out.txt', 0o600 | 0o020000, 0)",
    "dangling": "os.symlink('nowhere', 'out.txt')",
}


@pytest.mark.parametrize("kind", ARTIFACTS)
def test_fs_35_special_artifacts(jar, canaries, outdir, kind):
    code = f"import os\nCANARY = {str(canaries.ro)!r}\ntry:\n {ARTIFACTS[kind]}\nexcept OSError as e: print(e)"
    r = jar.python(code, opts=["--get", "out.txt", "--out", outdir])
    assert r.status == "completed", r.told()
    assert r.wall - r.elapsed_s < 1.5, f"{r.wall - r.elapsed_s:.2f} s outside of the run"
    for f in outdir.rglob("*"):
        st = f.lstat()
        assert stat.S_ISDIR(st.st_mode), f"{f} was exported"
    assert canaries.secret not in json.dumps(r.record)
    if kind in ("fifo", "socket", "symlink", "dotdot", "magic", "dangling"):
        assert [f for f in r.files if f.get("refused")], r.files
