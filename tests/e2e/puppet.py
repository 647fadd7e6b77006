# SPDX-License-Identifier: Apache-2.0
"""Makes another process run code of ours: what somebody who took it over could do. By ptrace, as root of the host; no build is special for it.

    with Puppet(pid) as z:
        z.syscall("getuid")                     one system call, with its own rights and under its own filter
        z.python("import os; ...")              a Python process: any code, in its own interpreter
        z.become(["/usr/bin/python3", ...])     any other: another program in its place, with all it holds

The process must be waiting in a system call, as zygotes do; it goes on waiting afterwards, unless it became another.
"""
import ctypes
import os
import re
import signal
import struct
import subprocess
import time
from pathlib import Path

SYSCALLS = {"mmap": 9, "getuid": 102, "fcntl": 72, "execve": 59, "pipe2": 293, "lseek": 8}
PTRACE_CONT, PTRACE_SINGLESTEP, PTRACE_ATTACH, PTRACE_DETACH, PTRACE_GETREGS, PTRACE_SETREGS = 7, 9, 16, 17, 12, 13
REGS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs").split()
RED_ZONE = 128
LIMIT_S = 10  # for what is run inside

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, data=None):
    if libc.ptrace(request, pid, None, data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace({request}): {os.strerror(ctypes.get_errno())}")


class Puppet:
    def __init__(self, pid):
        self.pid, self.gone = pid, False
        ptrace(PTRACE_ATTACH, pid)
        self.wait()
        self.saved = self.get()
        self.memory = open(f"/proc/{pid}/mem", "r+b", buffering=0)
        # two bytes back is the instruction that brought it into the kernel
        self.gate = self.saved["rip"] - 2
        if self.peek(self.gate, 2) != b"\x0f\x05":
            self.release()
            raise RuntimeError(f"process {pid} does not wait in a system call")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()

    def release(self):
        """Lets it go on with what it was doing."""
        try:
            if not self.gone:
                self.set(self.saved)
            if not self.gone:
                self.ask(PTRACE_DETACH)
        finally:
            self.gone = True
            self.memory.close()

    def ask(self, request, data=None):
        """One request to a stopped process. Somebody may end it at any moment, stopped or not: then, and only then, it is gone."""
        try:
            ptrace(request, self.pid, data)
        except ProcessLookupError:
            if self.wait() is not None:
                raise  # it lives

    # -- a stopped process
    def wait(self):
        """Until it stops: the signal. None: it has ended."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG | 0x40000000)  # __WALL
            if pid and os.WIFSTOPPED(status):
                return os.WSTOPSIG(status)
            if pid:
                self.gone = True
                return None
            time.sleep(0.001)
        raise TimeoutError(f"process {self.pid} does not stop")

    def get(self):
        raw = ctypes.create_string_buffer(8 * len(REGS))
        self.ask(PTRACE_GETREGS, raw)
        return dict(zip(REGS, struct.unpack(f"<{len(REGS)}Q", raw.raw)))

    def set(self, regs):
        raw = struct.pack(f"<{len(REGS)}Q", *(regs[r] & 0xffffffffffffffff for r in REGS))
        self.ask(PTRACE_SETREGS, ctypes.create_string_buffer(raw, len(raw)))

    def peek(self, at, n):
        self.memory.seek(at)
        return self.memory.read(n)

    def poke(self, at, data):
        self.memory.seek(at)
        self.memory.write(data)

    # -- what it is made to do
    def syscall(self, name, *args):
        """What the kernel answers: negative is an errno."""
        regs = dict(self.saved, rip=self.gate, rax=SYSCALLS[name], orig_rax=-1)
        regs.update(zip(("rdi", "rsi", "rdx", "r10", "r8", "r9"), args))
        self.set(regs)
        ptrace(PTRACE_SINGLESTEP, self.pid)
        stopped = self.wait()
        assert stopped == signal.SIGTRAP, f"{name}: stopped by {stopped}"
        return ctypes.c_long(self.get()["rax"]).value

    def room(self, size):
        at = self.syscall("mmap", 0, size, 3, 0x22, -1, 0)
        if at < 0:
            raise OSError(-at, "no memory in it")
        return at

    def call(self, function, *args):
        """A C function with these numbers; it returns to address 0, where the process stops."""
        stack = (self.saved["rsp"] - RED_ZONE - 4096 & ~15) - 8
        self.poke(stack, struct.pack("<Q", 0))
        regs = dict(self.saved, rip=function, rsp=stack, rax=0, orig_rax=-1)
        regs.update(zip(("rdi", "rsi", "rdx"), args))
        self.set(regs)
        ptrace(PTRACE_CONT, self.pid)
        stopped = self.wait()
        at = self.get() if not self.gone else None
        if self.gone:
            return 0  # somebody has ended it
        assert stopped == signal.SIGSEGV and at["rip"] == 0, f"stopped by {stopped} at {at['rip']:#x}"
        return ctypes.c_int(at["rax"] & 0xffffffff).value

    def python(self, code):
        text = code.encode() + b"\0"
        at = self.room(len(text))
        self.poke(at, text)
        if self.call(address_of(self.pid, "PyRun_SimpleString"), at) != 0:
            raise RuntimeError("the code raised an exception in it")

    def become(self, argv):
        """Executes a program in its place, which keeps its descriptors, and lets it run."""
        for fd in os.listdir(f"/proc/{self.pid}/fd"):
            self.syscall("fcntl", int(fd), 2, 0)  # F_SETFD: nothing is closed
        words = [a.encode() + b"\0" for a in argv]
        at = self.room(sum(map(len, words)) + 8 * (len(words) + 2))
        pointers, data = b"", b""
        for w in words:
            pointers += struct.pack("<Q", at + len(data))
            data += w
        data += b"\0" * (-len(data) % 8)
        table = at + len(data)
        self.poke(at, data + pointers + b"\0" * 16)
        self.set(dict(self.saved, rip=self.gate, rax=SYSCALLS["execve"], rdi=at, rsi=table, rdx=table + len(pointers), orig_rax=-1))
        ptrace(PTRACE_CONT, self.pid)
        stopped = self.wait()
        assert stopped == signal.SIGTRAP, f"execve: stopped by {stopped}, {self.get()['rax']:#x}"
        ptrace(PTRACE_DETACH, self.pid)
        self.gone = True


def address_of(pid, symbol):
    """Where a function of the program is, or None."""
    exe = f"/proc/{pid}/exe"
    said = subprocess.run(["nm", "-D", exe], capture_output=True, text=True, check=True).stdout
    m = re.search(rf"^([0-9a-f]+) T {symbol}$", said, re.M)
    if not m:
        raise RuntimeError(f"{os.readlink(exe)} has no {symbol}")
    at = int(m[1], 16)
    with open(exe, "rb") as f:
        kind = struct.unpack_from("<H", f.read(18), 16)[0]
    if kind == 3:  # ET_DYN: where it was put
        name = os.path.basename(os.readlink(exe))
        first = next(l for l in Path(f"/proc/{pid}/maps").read_text().splitlines() if l.endswith(name))
        at += int(first.split("-")[0], 16)
    return at


def allowed():
    """Whether this host lets root trace at all."""
    child = subprocess.Popen(["/bin/sleep", "60"])
    try:
        ptrace(PTRACE_ATTACH, child.pid)
        os.waitpid(child.pid, 0x40000000)
        ptrace(PTRACE_DETACH, child.pid)
        return True
    except OSError:
        return False
    finally:
        child.kill()
        child.wait()
