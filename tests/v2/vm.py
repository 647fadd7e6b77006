# SPDX-License-Identifier: Apache-2.0
"""Boots Debian's kernel under qemu as a pure cgroup v2 host and runs one command in it (see README.md)."""

import contextlib
import lzma
import os
import re
import secrets
import select
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
CACHE = os.environ.get("V2_CACHE") or os.path.join(REPO, "build", "v2")
TIMEOUT_S = float(os.environ.get("V2_TIMEOUT") or 600)
MEMORY = os.environ.get("V2_MEMORY") or "3G"
CGROUP = (os.environ.get("V2_CGROUP") or "").strip("/")
DEBUG = bool(os.environ.get("V2_DEBUG"))

DEFAULT_CMD = ["/usr/bin/python3", "-m", "pytest", "-q", "tests/e2e", "tests/containment"]
QEMU = "qemu-system-x86_64"

# Needed to boot, then what tests use: dummy and veth interfaces.
MODULES = ["virtio_pci", "virtio_console", "9p", "9pnet_virtio", "overlay"]
MODULES += (os.environ.get("V2_MODULES") or "dummy veth").split()

# Host folders that the machine sees, read-only. /etc is copied; /root, /home and /var stay the host's own.
SHARES = ["/usr"] + [p for p in (os.environ.get("V2_SHARE") or "").split(":") if p]

# Exit statuses when there is none of the command's own.
EXIT_TIMEOUT, EXIT_HARNESS = 124, 125


class Failure(Exception):
    pass


# Packages


def apt(*args, cwd=None):
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive", LC_ALL="C")
    cmd = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", "-o", "APT::Sandbox::User=root", *args]
    done = subprocess.run(cmd, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise Failure("%s failed:\n%s" % (" ".join(cmd), done.stdout.decode(errors="replace")[-2000:]))


def kernel_package():
    """The versioned package behind linux-image-amd64. (The cloud flavour has no 9p.)"""
    said = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], stdout=subprocess.PIPE, check=True).stdout.decode()
    found = re.search(r"Depends: (linux-image-\S+)", said)
    if not found:
        raise Failure("apt knows no linux-image-amd64")
    return found.group(1)


def unpack(package, into):
    """Downloads a package and unpacks it into a folder: nothing is installed."""
    with tempfile.TemporaryDirectory() as tmp:
        apt("download", package, cwd=tmp)
        (deb,) = os.listdir(tmp)
        subprocess.run(["dpkg", "-x", os.path.join(tmp, deb), into], check=True)


def provision():
    """Makes the cache complete; says nothing and asks nobody when it is."""
    root = os.path.join(CACHE, "root")
    if shutil.which(QEMU) and os.path.isdir(root):
        return root
    print("v2: installing what is missing (once)", file=sys.stderr)
    apt("update")
    if not shutil.which(QEMU):
        apt("install", "-y", "--no-install-recommends", "qemu-system-x86")
    if not os.path.isdir(root):
        os.makedirs(CACHE, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as tmp:
            made = os.path.join(tmp, "root")
            unpack(kernel_package(), made)
            unpack("busybox-static", made)
            os.chmod(made, 0o755)
            write_vmlinux(made)
            with contextlib.suppress(FileExistsError, OSError):
                os.rename(made, root)  # a parallel run may have been first
    return root


# The kernel and its modules


def kernel_version(root):
    (name,) = [n for n in os.listdir(os.path.join(root, "boot")) if n.startswith("vmlinuz-")]
    return name[len("vmlinuz-"):]


def write_vmlinux(root):
    """Unpacks the kernel out of its bzImage: doing so here takes 1 s, in the emulated machine 5 s at each boot.

    The payload's place is in the boot header (Documentation/arch/x86/boot.rst); qemu starts the ELF file by its PVH note.
    """
    boot = os.path.join(root, "boot")
    with open(os.path.join(boot, "vmlinuz-" + kernel_version(root)), "rb") as f:
        image = f.read()
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    # The payload ends in a length word of its own, which the decompressor leaves alone.
    elf = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(image[start:start + length])
    if elf[:4] != b"\x7fELF":
        raise Failure("no ELF kernel inside the bzImage")
    with open(os.path.join(boot, "vmlinux"), "wb") as f:
        f.write(elf)


def module_files(root, version):
    """The .ko files of MODULES in loading order. (No modules.dep: the package's postinst would make it.)"""
    paths = {}
    for folder, _, names in os.walk(os.path.join(root, "lib", "modules", version, "kernel")):
        for name in names:
            if name.endswith(".ko"):
                paths[name[:-3].replace("-", "_")] = os.path.join(folder, name)
    ordered = []

    def add(name):
        path = paths.get(name)
        if path is None:
            raise Failure("kernel %s has no module %s" % (version, name))
        if path in ordered:
            return
        with open(path, "rb") as f:
            depends = re.search(rb"\0depends=([^\0]*)\0", f.read())
        for needed in (depends.group(1).decode() if depends else "").split(","):
            if needed:
                add(needed.replace("-", "_"))
        ordered.append(path)

    for name in MODULES:
        add(name.replace("-", "_"))
    return ordered


# The initramfs


class Cpio:
    """Writes the newc format, which is what the kernel reads."""

    def __init__(self, out):
        self.out, self.ino, self.dirs = out, 0, set()

    def entry(self, name, mode, data=b"", uid=0, gid=0):
        self.ino += 1
        raw = name.encode("utf-8", "surrogateescape") + b"\0"
        fields = (self.ino, mode, uid, gid, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + raw
        self.out.write(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))

    def folder(self, name, mode=0o755, uid=0, gid=0):
        parent = os.path.dirname(name)
        if parent and parent not in self.dirs:
            self.folder(parent)
        if name not in self.dirs:
            self.dirs.add(name)
            self.entry(name, stat.S_IFDIR | mode, b"", uid, gid)

    def file(self, name, data, mode=0o644):
        self.folder(os.path.dirname(name))
        self.entry(name, stat.S_IFREG | mode, data)

    def copy(self, source, name, mode=None):
        """One host file, folder or link with its owner and mode; what cannot be read is left out."""
        st = os.lstat(source)
        kind, mode = stat.S_IFMT(st.st_mode), stat.S_IMODE(st.st_mode) if mode is None else mode
        if kind == stat.S_IFDIR:
            self.folder(name, mode, st.st_uid, st.st_gid)
        elif kind == stat.S_IFLNK:
            self.entry(name, kind | 0o777, os.readlink(source).encode("utf-8", "surrogateescape"), st.st_uid, st.st_gid)
        elif kind == stat.S_IFREG:
            try:
                with open(source, "rb") as f:
                    data = f.read()
            except PermissionError:
                return
            self.entry(name, kind | mode, data, st.st_uid, st.st_gid)

    def end(self):
        self.entry("TRAILER!!!", 0)


def write_skeleton(cpio):
    """The machine's root: the host's links (/bin, /lib) and /etc, and empty folders."""
    base = "v2/root"
    for name in ("proc", "sys", "dev", "run", "mnt", "media", "boot", "srv", "opt", "home", "usr", "var/lib", "var/log", "var/cache"):
        cpio.folder(base + "/" + name)
    cpio.folder(base + "/root", 0o700)
    cpio.folder(base + "/tmp", 0o1777)
    cpio.folder(base + "/var/tmp", 0o1777)
    cpio.entry(base + "/var/run", stat.S_IFLNK | 0o777, b"/run")
    for name in os.listdir("/"):
        if os.path.islink("/" + name) and os.readlink("/" + name).lstrip("/").startswith("usr/"):
            cpio.copy("/" + name, base + "/" + name)
    cpio.copy("/etc", base + "/etc")
    for folder, dirs, files in os.walk("/etc"):
        for name in dirs + files:
            with contextlib.suppress(FileNotFoundError):
                cpio.copy(os.path.join(folder, name), base + os.path.join(folder, name))


def write_initramfs(path, root, modules, command, nonce):
    with open(path, "wb") as out:
        cpio = Cpio(out)
        for name in ("proc", "sys", "dev", "new", "v2/modules"):
            cpio.folder(name)
        cpio.copy(os.path.join(root, "bin", "busybox"), "v2/busybox", 0o755)
        with open(os.path.join(HERE, "init"), "rb") as f:
            cpio.file("init", f.read(), 0o755)
        with open(os.path.join(HERE, "init2"), "rb") as f:
            cpio.file("v2/init2", f.read())
        for n, module in enumerate(modules):
            cpio.copy(module, "v2/modules/%02d-%s" % (n, os.path.basename(module)), 0o644)
        shares = "\n".join("share%d %s" % pair for pair in enumerate(SHARES))
        conf = "REPO=%s\nHOSTNAME=v2\nSHARES=%s\nCGROUP=%s\n" % (shlex.quote(REPO), shlex.quote(shares), shlex.quote(CGROUP))
        cpio.file("v2/conf", conf.encode())
        cpio.file("v2/cmd", ("exec " + shlex.join(command) + "\n").encode("utf-8", "surrogateescape"))
        cpio.file("v2/nonce", nonce.encode())
        write_skeleton(cpio)
        cpio.end()


# The machine


def share_args(tag, path):
    return ["-fsdev", "local,id=%s,path=%s,security_model=none,readonly=on,multidevs=remap" % (tag, path.replace(",", ",,")),
            "-device", "virtio-9p-pci,fsdev=%s,mount_tag=%s" % (tag, tag)]


def qemu_args(kernel, initramfs, console, out_fd, status_fd):
    """No network device (-nodefaults, none added), no disk, no display. -cpu max: the host's programs may want SSE4.

    tsc: qemu's is steady, yet the kernel distrusts it, and without it every clock_gettime is a system call.
    pdeathsig: the machine does not outlive this process, even if that is killed with SIGKILL.
    """
    log = "" if DEBUG else "quiet loglevel=4 "
    args = ["setpriv", "--pdeathsig", "KILL", QEMU, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-machine", "pc,usb=off,vmport=off", "-accel", "tcg,thread=multi", "-cpu", "max,la57=off",
            "-smp", "2", "-m", MEMORY, "-kernel", kernel, "-initrd", initramfs,
            "-append", "console=ttyS0 %sprintk.time=1 oops=panic panic=-1 nowatchdog tsc=reliable clocksource=tsc mitigations=off" % log,
            "-chardev", "file,id=console,path=%s" % console, "-serial", "chardev:console",
            "-device", "virtio-serial-pci",
            "-chardev", "file,id=out,path=/proc/self/fd/%d" % out_fd,
            "-device", "virtserialport,chardev=out,name=v2.out",
            "-chardev", "file,id=status,path=/proc/self/fd/%d" % status_fd,
            "-device", "virtserialport,chardev=status,name=v2.status"]
    for n, path in enumerate(SHARES):
        args += share_args("share%d" % n, path)
    return args + share_args("repo", REPO)


def pump(vm, out, status, deadline):
    """Copies the command's output to ours until the machine is off; returns what came through the status port."""
    said, open_fds = b"", {out, status}
    while open_fds:
        left = deadline - time.monotonic()
        ready = select.select(list(open_fds), [], [], left)[0] if left > 0 else []
        if not ready:
            raise TimeoutError
        for fd in ready:
            data = os.read(fd, 65536)
            if not data:
                open_fds.discard(fd)
            elif fd == out:
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
            else:
                said += data
    vm.wait(timeout=max(deadline - time.monotonic(), 1))
    return said.decode(errors="replace")


def show_console(path, lines):
    with contextlib.suppress(FileNotFoundError), open(path, errors="replace") as f:
        sys.stderr.write("".join("v2 console: " + line for line in f.readlines()[-lines:]))


def boot(root, command):
    started = time.monotonic()
    nonce = secrets.token_hex(16)
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="belljar-v2-") as tmp:
        initramfs, console = os.path.join(tmp, "initramfs"), os.path.join(tmp, "console.log")
        write_initramfs(initramfs, root, module_files(root, kernel_version(root)), command, nonce)
        out_r, out_w = os.pipe()
        status_r, status_w = os.pipe()
        vm = subprocess.Popen(qemu_args(os.path.join(root, "boot", "vmlinux"), initramfs, console, out_w, status_w),
                              stdin=subprocess.DEVNULL, stdout=sys.stderr, pass_fds=(out_w, status_w))
        os.close(out_w)
        os.close(status_w)
        ended = False
        try:
            said = pump(vm, out_r, status_r, started + TIMEOUT_S)
            ended = True
        except (TimeoutError, subprocess.TimeoutExpired):
            print("v2: the machine did not end within %g s (V2_TIMEOUT)" % TIMEOUT_S, file=sys.stderr)
        finally:
            if vm.poll() is None:
                vm.kill()
                vm.wait()
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(console, os.path.join(CACHE, "console.log"))
        if not ended:
            show_console(console, 30)
            return EXIT_TIMEOUT
        up = re.search(r"^%s up ([\d.]+)$" % nonce, said, re.M)
        end = re.search(r"^%s exit (\d+)$" % nonce, said, re.M)
        if DEBUG:
            show_console(console, 10000)
            print("v2: up after %s s of machine time, off after %.1f s" % (up and up.group(1), time.monotonic() - started), file=sys.stderr)
        if not end:
            print("v2: the machine ended without an exit status (console: %s/console.log)" % CACHE, file=sys.stderr)
            show_console(console, 30)
            return EXIT_HARNESS
        return int(end.group(1))


def main(argv):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    if argv[:1] == ["--"]:
        argv = argv[1:]
    try:
        return boot(provision(), argv or DEFAULT_CMD)
    except Failure as failure:
        print("v2: %s" % failure, file=sys.stderr)
        return EXIT_HARNESS
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else the interpreter complains again at its end
        return EXIT_HARNESS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
