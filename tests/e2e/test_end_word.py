# SPDX-License-Identifier: Apache-2.0
"""An interpreter that waited says that it ends with 0, by a signal that does not exist (src/kernel/seccomp.h), and is killed. Nobody else can say so."""
import json

import pytest

import harness
from harness import Batch, need_batch, need_language, run, seconds, wait_until

WORD = 0x626A656E
SAY = f"process._kill(process.pid, {WORD})"
WALL = {"wall_ms": int(seconds(20) * 1000)}


@pytest.fixture
def batch():
    need_batch()
    need_language("node")
    with Batch("-j", "1") as b:
        yield b
        assert b.close() == 0


def warm(batch, code, language="node", **more):
    """The result of a run that found somebody waiting."""
    got = []

    def served():
        got.append(batch.run({"language": language, "code": code, "limits": WALL, **more}))
        return got[-1]["start"] == "warm"

    if not wait_until(served, seconds(15), 0.1):
        pytest.skip("this belljar's batch serves everything cold")
    return got[-1]


def test_the_word_is_the_end(batch):
    """Whatever it would have done next: it is blocked, then dead."""
    r = warm(batch, f"console.log(1); {SAY}; console.log(2); for (;;);")
    assert (r["status"], r["reason"], r["exit_code"], r["stdout"]) == ("completed", "exited", 0, "1\n"), r
    assert r["evidence"]["ended_by"] == "itself" and "syscall" not in r["evidence"] and not r["limits_hit"]
    assert r["cpu_s"] > 0 and r["max_memory_mb"] > 1 and r["elapsed_s"] < seconds(10)


def test_a_plain_end_is_told_so(batch):
    """The control: a program that ends by itself. Its files are there, its output is whole."""
    r = warm(batch, "require('fs').writeFileSync('o', 'x'); console.log('a'.repeat(50000))", get=["o"])
    assert r["exit_code"] == 0 and r["stdout"] == "a" * 50000 + "\n" and "o" in {f["path"].split("/")[-1] for f in r["files"]}, r


def test_those_left_behind_die(batch):
    """Other threads that go on, and children of its own session, go with the jar."""
    code = ("const { Worker } = require('worker_threads'); require('child_process').spawn('/bin/sleep', ['500'], { detached: true, stdio: 'ignore' }).unref();"
            f"new Worker('for (;;);', {{ eval: true }}).on('online', () => {SAY})")
    r = warm(batch, code)
    assert r["status"] == "completed" and r["exit_code"] == 0, r
    sleepers = lambda: [p for p in harness.descendants(batch.p.pid) if b"sleep\x00500" in cmdline(p)]
    assert wait_until(lambda: not sleepers(), seconds(10)), sleepers()


def cmdline(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read()
    except OSError:
        return b""


@pytest.mark.parametrize("language,code", [
    ("node", f"new (require('worker_threads').Worker)(\"require('process')._kill(process.pid, {WORD})\", {{ eval: true }}); setInterval(() => {{ }}, 1000)"),
    ("node", f"require('child_process').execFile('/usr/bin/python3', ['-c', 'import os; os.kill(1, {WORD})']); setInterval(() => {{ }}, 1000)"),
    ("python", f"import os, threading; threading.Thread(target=os.kill, args=(os.getpid(), {WORD})).start(); print('after')"),
    ("python", f"import os\nif os.fork() == 0: os.kill(1, {WORD})\nos.wait(); print('after')"),
    ("bash", f"kill -{WORD} $$ || /usr/bin/python3 -c 'import os; os.kill(1, {WORD})'; echo after"),
], ids=["a thread", "a child", "a thread of python", "a child of python", "a program"])
def test_the_word_of_others(batch, language, code):
    """As the kill set: the jar ends, and the result says by what."""
    r = warm(batch, code, language)
    assert (r["status"], r["reason"], r["stdout"]) == ("killed", "syscall", ""), r
    assert r["evidence"]["syscall"]["name"] == "kill"


@pytest.mark.parametrize("code", [f"import os; print(1, flush=True); os.kill(os.getpid(), {WORD}); print('after')",
                                  f"import ctypes; print(1, flush=True); ctypes.CDLL(None).syscall(62, 0, (7 << 32) + {WORD}); print('after')"], ids=["plain", "high half"])
def test_the_word_of_python(batch, code):
    r = warm(batch, code, "python")
    assert (r["status"], r["reason"], r["exit_code"], r["stdout"]) == ("completed", "exited", 0, "1\n"), r
    assert r["evidence"]["ended_by"] == "itself" and r["max_memory_mb"] > 0 and r["cpu_s"] > 0


def test_a_plain_end_of_python(batch):
    """The control: files are there, output is whole, what was registered has run, those left behind die; another status is told by the kernel."""
    code = "import atexit, os\nopen('o', 'w').write('x')\natexit.register(print, 'last')\nif os.fork() == 0: os.execv('/bin/sleep', ['sleep', '500'])\nprint('a' * 50000)"
    r = warm(batch, code, "python", get=["o"])
    assert r["exit_code"] == 0 and r["stdout"] == "a" * 50000 + "\nlast\n" and "o" in {f["path"].split("/")[-1] for f in r["files"]}, r
    assert wait_until(lambda: not [p for p in harness.descendants(batch.p.pid) if b"sleep\x00500" in cmdline(p)], seconds(10))
    assert warm(batch, "raise SystemExit(3)", "python")["exit_code"] == 3


@pytest.mark.parametrize("end", ["", "import sys; sys.exit(0)", "raise SystemExit"])
@pytest.mark.parametrize("opts", [(), ("--recycle",)])
def test_children_that_end_like_their_parent(end, opts):
    """They run the end of the program too, and it is not theirs to say."""
    need_batch()
    with Batch("-j", "1", *opts) as b:
        r = warm(b, f"import os\nif os.fork():\n    print(os.wait()[1])\n{end}", "python")
        assert (r["status"], r["exit_code"], r["stdout"]) == ("completed", 0, "0\n"), r
        assert b.close() == 0


def test_the_word_in_a_jar_that_is_used_again():
    """Alone in its jar it is the end, as everywhere. Beside others it says nothing, and is said once."""
    need_batch()
    word = f"import os\ntry: os.kill(os.getpid(), {WORD})\nexcept OSError as e: os.write(1, b'%d' % e.errno)\n"
    sleeper = "import os\nif os.fork() == 0: os.execv('/bin/sleep', ['sleep', '501'])\n"
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    with Batch("-j", "1", "--recycle") as b:
        r = warm(b, word, "python")
        if r["evidence"]["memory_source"] == "cgroup":
            assert (r["status"], r["exit_code"], r["stdout"]) == ("completed", 0, ""), r
        else:  # nobody counts who else is there
            assert (r["status"], r["reason"], r["stdout"]) == ("killed", "syscall", "22"), r
        for others in (sleeper, thread):
            r = warm(b, others + word + "os._exit(0)", "python")
            assert (r["exit_code"], r["stdout"]) == (0, "22"), r
            r = warm(b, others + word, "python")
            assert (r["status"], r["reason"], r["stdout"]) == ("killed", "syscall", "22"), r  # the second one is Python's own
        assert wait_until(lambda: not [p for p in harness.descendants(b.p.pid) if b"sleep\x00501" in cmdline(p)], seconds(10))
        assert [b.run({"language": "python", "code": "print(1)"})["stdout"] for _ in range(20)] == ["1\n"] * 20
        assert b.close() == 0


@pytest.mark.parametrize("limits, reason", [({"cpu_ms": 700, "wall_ms": 20000}, "cpu_time"), ({"wall_ms": 900}, "wall_time")], ids=["cpu", "wall"])
def test_nobody_outlives_the_word_unwatched(limits, reason):
    """Children that work on: the run goes on with all its limits, and is no success."""
    need_batch()
    code = f"""import os, signal
for _ in range(3):
    if os.fork() == 0:
        while True: pass
try: os.kill(os.getpid(), {WORD})
except OSError: signal.pause()
"""
    with Batch("-j", "1", "--recycle") as b:
        r = warm(b, code, "python", limits=limits)
        assert (r["status"], r["reason"], r["exit_code"]) == ("timeout", reason, None), r
        assert b.run({"language": "python", "code": "print(1)"}, 30)["stdout"] == "1\n"
        assert b.close() == 0


def test_the_word_in_a_cold_jar():
    need_language("node")
    r = run("run", "--request", "-", "--json", input=json.dumps({"language": "node", "code": f"{SAY}; console.log(2)", "limits": WALL}).encode())
    assert r.verdict == "killed/syscall" and r["evidence"]["syscall"]["name"] == "kill" and r["stdout"] == "", str(r)


def test_neighbours_of_the_word(batch):
    """Other numbers that are no signals answer as the kernel has it."""
    r = warm(batch, f"console.log([-1, 65, {WORD - 1}, {WORD + 1}].map((n) => process._kill(process.pid, n)))")
    assert r["exit_code"] == 0 and r["stdout"] == "[ -22, -22, -22, -22 ]\n", r
