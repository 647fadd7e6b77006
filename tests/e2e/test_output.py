# SPDX-License-Identifier: Apache-2.0
"""Output: the view with start and end, the log with everything, bytes that are no text, live streaming, bounded memory."""
import base64
import hashlib
import json
import os
import select
import subprocess
import time
from pathlib import Path

import pytest
from harness import (BELLJAR, HANG_S, PYTHON, TEST_USER, as_user, bash, environment, finish, has_sanitizer, jar, ms, python, run, seconds, start, state_dir,
                     stop)


def log_of(c, stream="stdout"):
    log = c["log"]
    path = Path(log[stream] if isinstance(log, dict) else log)
    assert path.is_relative_to(state_dir()), path
    return path


def streams(c, name):
    return base64.b64decode(c[name + "_base64"]) if name + "_base64" in c.result else c[name].encode()


MEASURE = """
import json, os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
json.dump({"rc": os.waitstatus_to_exitcode(status), "rss_kb": usage.ru_maxrss}, sys.stderr)
"""


@pytest.mark.parametrize("json_", [True, False])
def test_a_gibibyte_of_output_does_not_grow_belljar(json_, box):
    """Measured from a small process: the peak of a child counts its parent's size before exec."""
    if has_sanitizer():
        pytest.skip("a build with ASan keeps freed memory")
    argv = [*as_user(TEST_USER), PYTHON, "-I", "-c", MEASURE, str(BELLJAR), "run", *(["--json"] if json_ else []), "--output-log", "2G",
            "-t", ms(120000), "--", "head", "-c", "1G", "/dev/zero"]
    out = box / "out"
    with open(out, "wb") as f:
        p = subprocess.run(argv, stdout=f if json_ else subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(TEST_USER), cwd="/",
                           timeout=seconds(150), stdin=subprocess.DEVNULL)
    told = json.loads(p.stderr[p.stderr.rindex(b"{"):])
    assert told["rc"] == 0, p.stderr
    assert told["rss_kb"] < 64 << 10, told
    if json_:
        r = json.loads(out.read_bytes())
        assert r["stdout_bytes"] == 1 << 30 and r["truncated"] is True
        log = Path(r["log"]["stdout"])
        assert log.stat().st_size == 1 << 30
        log.unlink()


def test_view_keeps_head_and_tail_and_the_log_keeps_all():
    code = "import sys\nfor i in range(60000): sys.stdout.write('%07d\\n' % i)"
    c = python(code, "--output", "4K").ok()
    full = "".join("%07d\n" % i for i in range(60000)).encode()
    assert c["stdout_bytes"] == len(full) and c["truncated"] is True
    view = c["stdout"]
    assert view.startswith("0000000\n0000001\n") and view.endswith("0059998\n0059999\n")
    marker = [l for l in view.splitlines() if "belljar" in l]
    assert len(marker) == 1 and str(log_of(c)) in marker[0]
    head, tail = view.split("\n" + marker[0] + "\n")
    left_out = int("".join(ch for ch in marker[0].split("bytes")[0] if ch.isdigit()))
    assert left_out == len(full) - len(head) - len(tail)
    assert len(head) + len(tail) <= 4 << 10 and full.startswith(head.encode()) and full.endswith(tail.encode())
    kept = log_of(c).read_bytes()
    assert hashlib.sha256(kept).digest() == hashlib.sha256(full).digest()
    assert log_of(c).stat().st_mode & 0o077 == 0


def test_default_cap_is_100k():
    for size, truncated in ((100 << 10, False), ((100 << 10) + 1, True)):
        c = jar("--", "head", "-c", str(size), "/dev/zero").ok()
        assert c["truncated"] is truncated and c["stdout_bytes"] == size
        assert (c["log"] is None) is (not truncated)
        view = len(streams(c, "stdout"))
        assert view == size if not truncated else view < (100 << 10) + 400


def test_small_output_leaves_no_log():
    c = jar("--", "echo", "x").ok()
    assert c["log"] is None
    assert not list((state_dir() / "logs").glob(c["execution_id"] + "*"))


def test_stderr_has_its_own_view_and_log():
    c = bash("head -c 300000 /dev/zero | tr '\\0' e >&2; echo out").ok()
    assert c["stdout"] == "out\n" and c["stderr_bytes"] == 300000 and c["truncated"] is True
    assert log_of(c, "stderr").read_bytes() == b"e" * 300000


def test_random_bytes_in_the_log_byte_for_byte():
    c = bash("head -c 3000000 /dev/urandom | tee /tmp/r; sha256sum < /tmp/r >&2").ok()
    assert hashlib.sha256(log_of(c).read_bytes()).hexdigest() == c["stderr"].split()[0]


def test_output_of_a_killed_program_is_in_the_log_too():
    c = bash("head -c 500000 /dev/zero; sleep 60", "-t", ms(2000))
    assert c["timed_out"] and log_of(c).stat().st_size == 500000


BYTES = {
    "invalid UTF-8": b"\xff\xfe abc \x80\n", "NUL": b"a\0b\0\n", "lone surrogate": b"\xed\xa0\x80\n", "overlong": b"\xc0\xaf\n",
    "past the last character": b"\xf4\x90\x80\x80\n", "cut character": b"\xe2\x82", "all bytes": bytes(range(256)),
    "latin-1": "déjà".encode("latin-1"), "surrogate pair as CESU": b"\xed\xa0\xbd\xed\xb8\x80",
}
TEXTS = {"umlauts": "äöü€😀\n", "quotes": '"\\\\n\t\r\b\f/\u2028\u2029\n', "controls": "\x01\x02\x1b[31m\x7f\x9b\n", "replacement": "\ufffd\n",
         "noncharacter": "\uffff\U0010ffff\n", "marker": "\n[belljar: 5 bytes left out here]\n", "empty": "", "no line end": "x"}


@pytest.mark.parametrize("name", BYTES)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_bytes_survive(name, stream):
    c = python(f"import os; os.write({1 if stream == 'stdout' else 2}, {BYTES[name]!r})").ok()
    assert streams(c, stream) == BYTES[name] and c[stream + "_bytes"] == len(BYTES[name])
    if name != "NUL":
        assert stream + "_base64" in c.result and "\ufffd" in c[stream]
    c.out.decode("utf-8")  # the object itself is always UTF-8


@pytest.mark.parametrize("name", TEXTS)
def test_text_survives(name):
    c = python(f"import os; os.write(1, {TEXTS[name].encode()!r})").ok()
    assert c["stdout"] == TEXTS[name] and "stdout_base64" not in c.result


def test_view_is_cut_between_characters():
    c = python("import sys; sys.stdout.write('€' * 100000)", "--output", "1K").ok()
    assert "\ufffd" not in c["stdout"] and "stdout_base64" not in c.result and c["truncated"]


def test_streams_are_separate():
    c = bash("for i in 1 2 3; do echo out$i; echo err$i >&2; done").ok()
    assert c["stdout"] == "out1\nout2\nout3\n" and c["stderr"] == "err1\nerr2\nerr3\n"


def test_live_output_appears_before_the_end():
    p = start("run", "-t", ms(30000), "-c", "import time\nprint('one', flush=True); time.sleep(1.5); print('two')")
    try:
        got = b""
        while got != b"one\n" and select.select([p.stdout], [], [], seconds(20))[0]:
            got += os.read(p.stdout.fileno(), 1)
        assert got == b"one\n"
        assert p.poll() is None
        c = finish(p)
        assert c.rc == 0 and c.out == b"two\n"
    finally:
        stop(p)


def test_live_order_on_one_pipe():
    c = run("run", "-t", ms(30000), "-c", "import sys, time\nfor i in range(5):\n    print('o', i); time.sleep(.1); print('e', i, file=sys.stderr); time.sleep(.1)",
            stderr=subprocess.STDOUT)
    assert [l for l in c.stdout.splitlines() if l[:2] in ("o ", "e ")] == [f"{s} {i}" for i in range(5) for s in "oe"]


def test_live_output_is_whole_and_not_capped_by_the_view():
    c = run("run", "--output", "1K", "--", "head", "-c", "3000000", "/dev/zero")
    assert c.rc == 0 and c.out == b"\0" * 3000000


def test_bytes_go_through_a_pipe_unchanged():
    c = run("run", "-c", "import os; os.write(1, bytes(range(256)))")
    assert c.out == bytes(range(256))


def test_reader_that_goes_away_ends_the_run():
    p = start("run", "-t", ms(60000), "--", "yes")
    try:
        assert p.stdout.read(2) == b"y\n"
        p.stdout.close()
        begun = time.monotonic()
        p.wait(seconds(10))
        assert time.monotonic() - begun < seconds(10) and p.returncode != 0
    finally:
        stop(p)


def test_reader_that_is_slow_loses_nothing():
    p = start("run", "-t", ms(60000), "--", "head", "-c", "2000000", "/dev/zero")
    try:
        time.sleep(0.5)
        c = finish(p)
        assert c.rc == 0 and len(c.out) == 2000000
    finally:
        stop(p)


def test_full_disk_of_the_reader_is_an_error():
    with open("/dev/full", "wb") as full:
        c = run("run", "-c", "print('x' * 100000)", stdout=full, timeout=HANG_S)
    assert c.rc != 0


def test_reopened_streams():
    c = bash("echo a > /dev/stdout; echo b > /dev/stderr; echo c | tee /dev/stderr; echo d > /proc/self/fd/1").ok()
    assert c["stdout"] == "a\nc\nd\n" and c["stderr"] == "b\nc\n"


def test_closed_streams_are_the_guests_affair():
    c = bash("exec >&- 2>&-; sleep .2; exit 5")
    assert c.verdict == "completed/exited" and c["exit_code"] == 5


@pytest.mark.parametrize("json_", [True, False])
def test_callers_stdout_may_be_non_blocking(json_):
    """A pipe of an event loop: it is full most of the time, and its flags are the caller's. Nothing is lost, nothing is changed."""
    r, w = os.pipe()
    os.set_blocking(w, False)
    size = 1_000_000
    p = start("run", *(["--json"] if json_ else []), "--output", "2M", "-t", ms(60000), "--", "sh", "-c", f"head -c {size} /dev/zero | tr '\\0' x", stdout=w)
    try:
        got = b""
        end = time.monotonic() + seconds(30)
        os.set_blocking(r, False)
        while time.monotonic() < end and not (p.poll() is not None and not select.select([r], [], [], 0)[0]):
            time.sleep(0.002)  # slower than it writes: the pipe is full
            try:
                got += os.read(r, 65536)
            except BlockingIOError:
                pass
        assert p.poll() == 0 and not os.get_blocking(w), p.poll()
        assert (json.loads(got)["stdout"] if json_ else got.decode()) == "x" * size
    finally:
        stop(p)
        os.close(r), os.close(w)
