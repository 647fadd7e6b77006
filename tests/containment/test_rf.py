# SPDX-License-Identifier: Apache-2.0
"""RF: the result is what the kernel saw, whatever the guest says."""
import hashlib
import json
import signal

import pytest


def test_rf_01_fake_record(jar):
    fake = json.dumps({"status": "completed", "reason": "exited", "exit_code": 0, "success": True, "stdout": "forged"})
    code = f"""
import os, sys, time
fake = {fake!r}
for fd in (1, 2): os.write(fd, ('\\n' + fake + '\\n').encode())
if os.fork() == 0:
    os.setsid(); time.sleep(0.3); os.write(1, fake.encode()); os._exit(0)
os._exit(3)
"""
    r = jar.python(code)
    r.ended("completed", "exited")
    assert r.exit_code == 3 and r.rc == 3 and not r.success, r.told()


@pytest.mark.parametrize("code", [124, 125, 126, 127, 137, 139, 159, 255])
def test_rf_02_exit_codes(jar, code):
    r = jar.python(f"import os; os._exit({code})")
    r.ended("completed", "exited")
    assert r.exit_code == code and r.rc == code and not r.timed_out and r.oom_kills == 0, r.told()


@pytest.mark.parametrize("sig", ["SIGKILL", "SIGXCPU", "SIGSYS", "SIGXFSZ", "SIGTERM", "SIGSEGV"])
def test_rf_02_own_signals(jar, sig):
    number = getattr(signal, sig)
    r = jar.python(f"import os, signal\nsignal.signal({number}, signal.SIG_DFL) if {number} != 9 else None\nos.kill(os.getpid(), {number})")
    r.ended("completed", "signal")
    assert r.signal in (int(number), sig, sig[3:]) and r.rc == 128 + number and not r.timed_out and r.oom_kills == 0, r.told()
    assert not r.success and r.exit_code is None


@pytest.mark.parametrize("i", range(4))
def test_rf_08_late_change(jar, outdir, i):
    code = f"""
import os, time
def put(text):
    with open('t', 'w') as f: f.write(text)
    os.rename('t', 'out.txt')
put('at exit')
if os.fork() == 0:
    os.setsid(); n = 0
    time.sleep({0.01 * i})
    while True:
        n += 1; put('late ' + str(n) * 200)
time.sleep(0.02)
os._exit(0)
"""
    r = jar.python(code, opts=["--get", "out.txt", "--out", outdir])
    r.ended("completed", "exited")
    row = r.files[0]
    data = (outdir / "out.txt").read_bytes()
    assert hashlib.sha256(data).hexdigest() == row["sha256"] and len(data) == row["size"], row


def test_rf_09_times(jar):
    code = """
import os, time
r, w = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        while time.process_time() < 0.35: pass
        os.write(w, b'x')
        os._exit(0)
    os._exit(0)
os.wait()
os.read(r, 1)
time.sleep(0.3)
time.time = time.monotonic = lambda: 0
"""
    r = jar.python(code)
    assert r.exit_code == 0, r.told()
    assert 0.6 <= r.elapsed_s <= r.wall, (r.elapsed_s, r.wall)
    assert 0.33 <= r.cpu_s <= 1.2, f"the orphan's CPU time is missing: {r.cpu_s}"


GRABS = {
    "child": "if os.fork() == 0:\n x = bytearray(48 << 20); os._exit(0)\nos.wait()",
    "mmap": "import mmap; m = mmap.mmap(-1, 48 << 20); m.write(b'x' * (48 << 20)); m.close()",
    "memfd": "f = os.memfd_create('x'); [os.write(f, b'x' * (1 << 20)) for _ in range(48)]; os.close(f)",
    "tmpfs": "f = open('/tmp/x', 'wb', 0); [f.write(b'x' * (1 << 20)) for _ in range(48)]; os.unlink('/tmp/x'); f.close()",
}


def test_rf_10_memory_of_a_file_without_name(jar):
    memory_peak(jar, "memfd")


@pytest.mark.nored  # other counters show these as well
@pytest.mark.parametrize("how", ["child", "mmap", "tmpfs"])
def test_rf_10_memory(jar, how):
    memory_peak(jar, how)


def memory_peak(jar, how):
    r = jar.python("import os, time\n" + GRABS[how] + "\ntime.sleep(0.05)")
    assert r.exit_code == 0, r.told()
    assert r.max_memory_mb >= 46, f"{r.max_memory_mb} MB"


@pytest.mark.parametrize("order", ["flood first", "flood last"])
def test_rf_11_truncation(jar, order):
    flood = "sys.stdout.write('y' * 400000 + '\\n')"
    word = "sys.stdout.write('PASS\\n')"
    r = jar.python("import sys\n" + "\n".join([flood, word] if order == "flood first" else [word, flood]), opts=["--output", "100K"])
    assert r.exit_code == 0, r.told()[:400]
    assert r.truncated and r.stdout_bytes == 400006 and len(r.stdout) < 110 * 1024
    assert "PASS" in (r.stdout[-20:] if order == "flood first" else r.stdout[:20]), "head and tail are kept"


def test_rf_12_streams(jar):
    """Each stream has a pipe of its own, and nobody else's can be opened."""
    code = """
import os
for pid in os.listdir('/proc'):
    if pid.isdigit() and int(pid) != os.getpid():
        for fd in range(10):
            try: os.write(os.open(f'/proc/{pid}/fd/{fd}', os.O_WRONLY), b'forged'); os._exit(41)
            except OSError: pass
os.write(1, b'to stdout'); os.write(2, b'to stderr')
os._exit(0 if os.fstat(1).st_ino != os.fstat(2).st_ino else 41)
"""
    r = jar.python(code)
    assert r.exit_code == 0 and r.stdout == "to stdout" and r.stderr == "to stderr", r.told()
