# SPDX-License-Identifier: Apache-2.0
"""What a new user sees in the first hour: messages, small conveniences, and no silence where something went wrong."""
import json

import pytest
from harness import jar, need_batch, python, run

CRASHES = {"SIGSEGV": "import ctypes; ctypes.string_at(8)", "SIGABRT": "import os; os.abort()", "SIGFPE": "import os; os.kill(os.getpid(), 8)"}


@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_is_told(name):
    c = run("run", "--policy", "off", "-c", CRASHES[name])
    assert c.rc > 128 and c.err.count(b"\n") == 1 and name.encode() in c.err and b"sent by itself" not in c.err
    assert run("run", "--quiet", "-c", CRASHES[name]).err == b""


@pytest.mark.parametrize("folder", ["/workspace/a/b/c", "/tmp/new", "/home/guest/x", "/workspace"])
def test_a_working_directory_is_made(folder):
    c = python("import os; print(os.getcwd(), os.stat('.').st_uid == os.getuid()); open('f', 'w')", "--workdir", folder).ok()
    assert c["stdout"] == f"{folder} True\n"


def test_a_working_directory_is_made_in_a_warm_jar():
    need_batch()
    c = run("batch", "-", input=b'{"code": "import os; print(os.getcwd())", "workdir": "/workspace/a/b"}\n')
    assert json.loads(c.out)["stdout"] == "/workspace/a/b\n"


@pytest.mark.parametrize("folder", ["/usr/none", "/etc/none/deep", "/none"])
def test_a_working_directory_that_cannot_be_made(folder):
    c = jar("--workdir", folder, "-c", "print(1)")
    assert c.rc == 125 and c["status"] == "error" and folder in c["error"] and "guest-" not in c["error"] and "/workspace" in c["hint"]


def test_a_working_directory_through_a_file():
    c = jar("--workdir", "/etc/passwd/x", "-c", "print(1)")
    assert c.rc == 125 and "guest-" not in c["error"]


def test_a_file_that_is_not_there_is_told(box):
    code = "open('a.txt', 'w').write('x')"
    c = jar("-c", code, "--get", "a.txt", "--get", "/workspace/no*.txt", "--get", "/tmp/none", "--out", box / "out")
    assert c["missing"] == ["/workspace/no*.txt", "/tmp/none"] and [f["path"] for f in c["files"]] == ["a.txt"]
    c = run("run", "-c", code, "--get", "none", "--out", box / "two")
    assert c.rc == 0 and b"nothing in the jar matches --get none" in c.err
    assert "missing" not in jar("-c", code, "--get", "a.txt", "--out", box / "three").result


def test_what_is_piped_in_is_the_programs(box):
    code = "import sys; print(len(sys.stdin.read()))"
    assert run("run", "-c", code, input=b"x" * 100000).out == b"100000\n"
    (box / "in").write_text("hello")
    with open(box / "in") as f:
        assert run("run", "-c", code, stdin=f).out == b"5\n"
    assert run("run", "-c", code).out == b"0\n"  # /dev/null
    assert run("run", "--stdin", "/dev/null", "-c", code, input=b"x").out == b"0\n"
    assert run("run", "-l", "python", "-", input=b"print('the code')").out == b"the code\n"


def test_a_pipe_that_stays_open_does_not_hold_a_run_up():
    import os
    r, w = os.pipe()
    try:
        c = run("run", "-c", "print(1)", stdin=r)
        assert c.out == b"1\n" and c.rc == 0
    finally:
        os.close(r), os.close(w)


SHOW = "import os; print(sorted((k, v) for k, v in os.environ.items() if k.startswith('BJ_')))"


def test_environment_of_the_caller(put):
    c = run("run", "-e", "BJ_A", "-e", "BJ_NONE", "-e", "BJ_B=2", "-c", SHOW, env={"BJ_A": "1 =x", "BJ_C": "no"})
    assert c.out == b"[('BJ_A', '1 =x'), ('BJ_B', '2')]\n"
    file = put("env", "# comment\n\n  BJ_A=from the file \r\nBJ_C\nBJ_B=1=2\nBJ_D=")
    c = run("run", "--env-file", file, "-e", "BJ_B=last", "-c", SHOW, env={"BJ_C": "caller's"})
    assert c.out.decode() == str([("BJ_A", "from the file "), ("BJ_B", "last"), ("BJ_C", "caller's"), ("BJ_D", "")]) + "\n"


def test_environment_that_is_wrong(put):
    assert run("run", "-e", "=x", "-c", SHOW).rc == 2
    c = run("run", "--env-file", "/nope", "-c", SHOW)
    assert c.rc == 125 and b"/nope" in c.err
    c = run("run", "--env-file", put("nul", b"BJ_A=\0"), "-c", SHOW)
    assert c.rc == 125 and b"NUL" in c.err


def test_letters_can_be_joined():
    c = run("run", "-vj", "-c", "print(1)")
    assert json.loads(c.out)["stdout"] == "1\n"
    assert json.loads(run("run", "-jc", "print(2)").out)["stdout"] == "2\n"
    c = run("run", "-jZ", "-c", "print(1)")
    assert c.rc == 2 and b"-Z" in c.err + c.out


def test_kill_says_what_it_needs():
    c = run("kill")
    assert c.rc == 2 and b"execution id" in c.err


def test_help_and_version():
    assert run("version").out == run("--version").out
    assert run("help", "run").out == run("run", "--help").out
    c = run("help", "rnu")
    assert c.rc == 2 and b"run" in c.err


def test_a_wrong_setting_names_the_right_one(box):
    (box / ".belljar.yaml").write_text("memry: 5M\n")
    c = run("run", "-c", "print(1)", cwd=box)
    assert c.rc == 125 and b"did you mean 'memory'" in c.err and b"cannot be set" not in c.err


def test_success_means_that_all_passed(put):
    s, cases = put("s.py", "def f(x): return x\n"), put("c.json", '[{"args": [1], "expected": 2}]')
    r = json.loads(run("test", s, "--func", "f", "--cases", cases, "--json").out)
    assert (r["success"], r["all_passed"], r["loaded"]) == (False, False, True)
    r = json.loads(run("test", s, "--func", "f", "--cases", put("d.json", '[{"args": [1], "expected": 1}]'), "--json").out)
    assert (r["success"], r["all_passed"], r["loaded"]) == (True, True, True)


def test_a_program_without_cases_shows_its_output(put):
    c = run("test", put("s.py", "print('hello')\nassert 1 == 2, 'not so'\n"))
    assert c.rc == 1 and b"hello" in c.out and b"AssertionError: not so" in c.out and b"of 0" not in c.out
    c = run("test", put("t.py", "print('hello \\x1b[31m')\n"))
    assert c.rc == 0 and b"hello" in c.out and b"\x1b" not in c.out


def test_a_syntax_error_has_its_place(put):
    c = run("test", put("s.py", "x = 1\ndef f(:\n"))
    assert c.rc == 1 and b"line 2, column 7" in c.out
