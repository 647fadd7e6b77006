# SPDX-License-Identifier: Apache-2.0
"""Takes the filters that are really installed out of a living guest, and runs them in user space."""
import ctypes
import os
import struct

from jarlib import HarnessError

X86_64, I386 = 0xC000003E, 0x40000003
X32_BIT = 0x40000000
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, PTRACE_SECCOMP_GET_FILTER = 0x4206, 0x4207, 17, 0x420C
WALL = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def filters_of(pid):
    """All filters of a process, newest first, each a list of (code, jt, jf, k). Needs root and CHECKPOINT_RESTORE."""
    if _libc.ptrace(PTRACE_SEIZE, pid, None, None) != 0:
        raise HarnessError(f"ptrace: {os.strerror(ctypes.get_errno())}")
    _libc.ptrace(PTRACE_INTERRUPT, pid, None, None)
    os.waitpid(pid, WALL)
    found = []
    try:
        while True:
            n = _libc.ptrace(PTRACE_SECCOMP_GET_FILTER, pid, len(found), None)
            if n < 0:
                err = ctypes.get_errno()
                if err != 2:
                    raise HarnessError(f"PTRACE_SECCOMP_GET_FILTER: {os.strerror(err)}")
                return found
            buf = ctypes.create_string_buffer(n * 8)
            _libc.ptrace(PTRACE_SECCOMP_GET_FILTER, pid, len(found), buf)
            found.append(list(struct.iter_unpack("=HBBI", buf.raw)))
    finally:
        _libc.ptrace(PTRACE_DETACH, pid, None, None)


def run(prog, nr, arch=X86_64, args=(0,) * 6, loads=None):
    """The filter's return value; `loads` collects the offsets it looked at."""
    data = struct.pack("=iIQ6Q", ((nr + 2**31) % 2**32) - 2**31, arch, 0x1000, *[a % 2**64 for a in args])
    a = x = pc = 0
    mem = [0] * 16
    while True:
        code, jt, jf, k = prog[pc]
        pc += 1
        cls, src = code & 7, x if code & 8 else k
        if cls == 0:  # LD
            mode = code & 0xE0
            if mode == 0x20:
                a = struct.unpack_from("=I", data, k)[0]
                if loads is not None:
                    loads.add(k)
            else:
                a = {0x00: lambda: k, 0x60: lambda: mem[k], 0x80: lambda: 64}[mode]()
        elif cls == 1:  # LDX
            x = {0x00: lambda: k, 0x60: lambda: mem[k], 0x80: lambda: 64}[code & 0xE0]()
        elif cls == 2:
            mem[k] = a
        elif cls == 3:
            mem[k] = x
        elif cls == 4:  # ALU
            op = code & 0xF0
            a = {0x00: lambda: a + src, 0x10: lambda: a - src, 0x20: lambda: a * src, 0x30: lambda: a // src if src else 0,
                 0x40: lambda: a | src, 0x50: lambda: a & src, 0x60: lambda: a << (src & 31), 0x70: lambda: a >> (src & 31),
                 0x80: lambda: -a, 0xA0: lambda: a ^ src}[op]() & 0xFFFFFFFF
        elif cls == 5:  # JMP
            op = code & 0xF0
            if op == 0:
                pc += k
            else:
                hit = {0x10: a == src, 0x20: a > src, 0x30: a >= src, 0x40: bool(a & src)}[op]
                pc += jt if hit else jf
        elif cls == 6:
            return a if code & 0x18 == 0x10 else k
        else:
            x, a = (a, a) if code & 0xF8 == 0 else (x, x)


# the stronger action wins, as in the kernel
RANK = {0x80000000: 0, 0x00000000: 1, 0x00030000: 2, 0x00050000: 3, 0x7FC00000: 4, 0x7FF00000: 5, 0x7FFC0000: 6, 0x7FFF0000: 7}
NAME = {0x80000000: "kill", 0x00000000: "kill-thread", 0x00030000: "trap", 0x7FC00000: "notify", 0x7FF00000: "trace",
        0x7FFC0000: "log", 0x7FFF0000: "allow"}


def verdict(filters, nr, arch=X86_64, args=(0,) * 6, loads=None):
    """"allow", "errno 1", "notify", ...: what the kernel would do."""
    values = [run(f, nr, arch, args, loads) for f in filters]
    v = min(values, key=lambda r: RANK[r & 0xFFFF0000])
    return f"errno {v & 0xFFFF}" if v & 0xFFFF0000 == 0x00050000 else NAME[v & 0xFFFF0000]


def constants(filters):
    """Every number that the filters compare something with."""
    return sorted({k for f in filters for code, _, _, k in f if code & 7 == 5 and code & 0xF0 and not code & 8})


def table(filters, top=1024):
    """The whole profile as text: one line per run of numbers with one and the same answer."""
    lines = []
    for name, arch, bit in (("x86_64", X86_64, 0), ("i386", I386, 0), ("x32", X86_64, X32_BIT)):
        answers = []
        for nr in range(top):
            loads = set()
            answer = verdict(filters, nr | bit, arch, loads=loads)
            answers.append(answer + (" (looks at arguments)" if any(o >= 16 for o in loads) else ""))
        start = 0
        for nr in range(1, top + 1):
            if nr == top or answers[nr] != answers[start]:
                lines.append(f"{name} {start}-{nr - 1} {answers[start]}")
                start = nr
    return "\n".join(lines) + "\n"
