# SPDX-License-Identifier: Apache-2.0
"""MT: two jars at the same time do not see, hear or hinder each other."""
import os
import time


import jarlib
from jarlib import HarnessError, NONCE, ROOT, wait_until


def start(jar, *args):
    p = jar.start(["--", "/workspace/probe", *map(str, args)], ["-t", "15s"])
    if not wait_until(lambda: jarlib.guest_pid_any(p.pid, str(args[0]).encode()), 8):
        raise HarnessError("the first jar did not start")
    time.sleep(0.15)
    return p


def stop(jar, p):
    p.terminate()
    jar.finish(p)


def test_mt_01_processes(jar):
    """Both are pid 2 or so in a world of their own: no number of one names a process of the other."""
    mark = f"neighbour-{NONCE}"
    a = start(jar, "wait", mark)
    try:
        jar.probe("procs", mark).denied()
        code = """
import os, signal, sys
for pid in range(2, 40000):
    if pid == os.getpid(): continue
    try: os.kill(pid, signal.SIGKILL); print('hit', pid); sys.exit(41)
    except ProcessLookupError: pass
sys.exit(40)
"""
        jar.python(code).denied()
        assert a.poll() is None and jarlib.guest_pid_any(a.pid, b"wait"), "the neighbour was hit"
    finally:
        stop(jar, a)


def test_mt_02_files(jar):
    places = ["/tmp", "/workspace", "/dev/shm", "/home/guest"]
    a = start(jar, "write", *[x for d in places for x in (f"{d}/mark-{NONCE}", f"secret-{NONCE}")], "stay")
    try:
        jar.probe("open", "ENOENT", "rd", *[f"{d}/mark-{NONCE}" for d in places]).denied()
        jar.probe("open", "ENOENT", "rd", "/run/belljar", "/var/lib/belljar", "/tmp/belljar", "/work").denied()
        r = jar.bash(f"grep -rs 'secret-''{NONCE}' /tmp /workspace /dev/shm /home /run /var /proc/*/root/tmp 2>/dev/null; true", files=False)
        assert f"secret-{NONCE}" not in r.stdout
    finally:
        stop(jar, a)
    for d in ("/var/lib/belljar", "/run/belljar"):
        if ROOT and os.path.isdir(d) and d != "/run/belljar":
            assert os.stat(d).st_mode & 0o077 == 0, f"{d} can be read by others"


def test_mt_03_ipc(jar):
    key, name = hex(0x43000000 | int(NONCE[:4], 16)), f"/mt-{NONCE}"
    a = start(jar, "sysv_make", key, name, "stay")
    try:
        jar.probe("sysv", key, name).denied()
    finally:
        stop(jar, a)
        if jar.off:
            jarlib.remove_ipc(key, name)
    listener = f"import socket,time\ns=socket.socket(socket.AF_UNIX); s.bind('\\0mt-{NONCE}'); s.listen(); time.sleep(6)"
    p = jar.start(["--lang", "python", "-c", listener], ["-t", "10s"], files=False)
    try:
        time.sleep(0.5)
        jar.probe("connect_unix", f"@mt-{NONCE}").denied()
    finally:
        stop(jar, p)


def test_mt_04_network(jar):
    port = 28474
    a = start(jar, "listen", port)
    try:
        jar.probe("connect", "tcp", "127.0.0.1", port, "::1", port, "127.0.0.2", port).denied()
        jar.probe("connect", "udp", "255.255.255.255", port, "224.0.0.1", port, "ff02::1", port)  # into an empty network namespace
    finally:
        r = jar.finish(a)
    assert r.exit_code == 0, r.told()


def test_mt_05_locks(jar):
    a = start(jar, "lock_base", "hold", "/usr/bin/env")
    try:
        jar.probe("lock_base", "try", "/usr/bin/env").denied()
    finally:
        stop(jar, a)


def test_mt_06_inotify(jar):
    b = jar.start(["--", "/workspace/probe", "inotify", "/usr/bin/sha256sum", "1200"], ["-t", "10s"])
    try:
        assert wait_until(lambda: jarlib.guest_pid_any(b.pid, b"inotify"), 8)
        time.sleep(0.2)
        jar.run("--", "/usr/bin/sha256sum", "/usr/bin/sha256sum", files=False)
    finally:
        r = jar.finish(b)
    r.denied()
