# SPDX-License-Identifier: Apache-2.0
"""Standard input: a file, our own, none; large, binary, not read, closed early."""
import hashlib
import os
import subprocess
import time

import pytest
from harness import BELLJAR, TEST_USER, as_user, bash, environment, finish, jar, ms, python, run, seconds, start, stop

READ = "import sys, hashlib; d = sys.stdin.buffer.read(); print(len(d), hashlib.sha256(d).hexdigest())"


def told(data):
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}\n"


DATA = {"empty": b"", "text": b"hello\nworld\n", "binary": bytes(range(256)) * 500, "large": os.urandom(5 << 20), "NUL": b"\0" * 100}


@pytest.mark.parametrize("name", DATA)
def test_from_a_file(name, put):
    assert python(READ, "--stdin", put("in", DATA[name])).ok()["stdout"] == told(DATA[name])


@pytest.mark.parametrize("name", DATA)
def test_from_our_own(name):
    assert python(READ, "--stdin", "-", input=DATA[name]).ok()["stdout"] == told(DATA[name])


def test_default_is_ours_where_it_is_a_pipe():
    assert python(READ, input=b"given").ok()["stdout"] == told(b"given")


def test_ours_is_left_alone_when_another_is_named():
    """The next program on the caller's stdin finds all of it."""
    r, w = os.pipe()
    os.write(w, b"untouched")
    os.close(w)
    run("run", "--stdin", "/dev/null", "--", "true", stdin=r)
    assert os.read(r, 100) == b"untouched"
    os.close(r)


def test_a_terminal_is_left_alone():
    """Only what is piped in is passed on: a program that reads does not wait for the caller's keyboard."""
    master, slave = os.openpty()
    os.write(master, b"typed\n")
    assert run("run", "-c", READ, stdin=slave).out.decode() == told(b"")
    os.close(master), os.close(slave)


def test_a_gibibyte_that_nobody_reads(box):
    big = box / "big"
    with open(big, "wb") as f:
        f.truncate(1 << 30)
    c = python("print('done')", "--stdin", big).ok()
    assert c["stdout"] == "done\n" and c.wall < seconds(30)


def test_endless_input_that_nobody_reads():
    assert python("print('done')", "--stdin", "/dev/zero").ok()["stdout"] == "done\n"


def test_endless_input_that_is_read_a_little():
    assert jar("--stdin", "/dev/zero", "--", "head", "-c", "100000").ok()["stdout_bytes"] == 100000


def test_guest_closes_stdin_early():
    c = python("import os, sys, time; os.read(0, 10); os.close(0); time.sleep(.5); print('on')", "--stdin", "-", input=b"x" * (8 << 20)).ok()
    assert c["stdout"] == "on\n"


def test_our_stdin_stays_open_without_data():
    """A pipe that nobody writes to must not keep belljar from ending."""
    r, w = os.pipe()
    try:
        c = run("run", "--json", "--stdin", "-", "-c", "print('done')", stdin=r, timeout=30)
        assert c.ok()["stdout"] == "done\n"
    finally:
        os.close(r)
        os.close(w)


def test_interactive_exchange():
    p = start("run", "-t", ms(30000), "--stdin", "-", "-c", "for line in iter(input, 'end'): print(line.upper(), flush=True)", stdin=subprocess.PIPE)
    try:
        for word in (b"one", b"two"):
            p.stdin.write(word + b"\n")
            p.stdin.flush()
            assert p.stdout.readline() == word.upper() + b"\n"
        p.stdin.write(b"end\n")
        p.stdin.flush()
        assert finish(p).rc == 0
    finally:
        stop(p)


def test_idle_guest_does_not_make_belljar_spin():
    """With its stdin open and nothing to do belljar must wait, not poll."""
    p = start("run", "-t", ms(30000), "--stdin", "-", "--", "sleep", "1.5", stdin=subprocess.PIPE)
    try:
        time.sleep(1.2)
        ticks = sum(map(int, open(f"/proc/{p.pid}/stat").read().rsplit(")", 1)[1].split()[11:13]))
        assert ticks / os.sysconf("SC_CLK_TCK") < seconds(0.5)
        finish(p)
    finally:
        stop(p)


def test_slow_reader_gets_everything():
    data = os.urandom(1 << 20)
    c = python("import sys, time, hashlib\nh = hashlib.sha256(); n = 0\nwhile b := sys.stdin.buffer.read(200000):\n    h.update(b); n += len(b); time.sleep(.05)\n"
               "print(n, h.hexdigest())", "--stdin", "-", input=data).ok()
    assert c["stdout"] == told(data)


def test_bash_reads_lines():
    assert bash("while read a b; do echo \"$b $a\"; done", "--stdin", "-", input=b"1 2\n3 4\n").ok()["stdout"] == "2 1\n4 3\n"


@pytest.mark.parametrize("path", ["/no/such/file", "/"])
def test_bad_source(path):
    c = run("run", "--stdin", path, "--", "cat")
    assert c.rc in (2, 125) and "--stdin" in c.stderr and c.stderr.count("error:") == 1, str(c)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("stdin", [[], ["--stdin", "-"]])
def test_closed_descriptors(closed, stdin):
    """Started without some of 0, 1, 2, as daemons do: no pipe or socket of belljar's own may take their place."""
    p = subprocess.Popen([*as_user(TEST_USER), "sh", "-c", f'exec "$0" "$@" {closed}', str(BELLJAR), "run", *stdin, "-c",
                          "import sys; print(repr(sys.stdin.read()))"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(TEST_USER), cwd="/", start_new_session=True)
    try:
        out, _ = p.communicate(timeout=seconds(10))
    except subprocess.TimeoutExpired:
        raise AssertionError("hangs") from None
    finally:
        stop(p)
    assert p.returncode in (0, 125, 137)
    if ">&-" not in closed.replace("2>&-", ""):
        assert out == b"''\n" and p.returncode == 0
