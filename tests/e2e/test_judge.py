# SPDX-License-Identifier: Apache-2.0
"""belljar judge: every verdict, checkers, subtasks, and solutions that want more than they deserve."""
import base64
import json
import os
import secrets
import signal
import subprocess
import time

import pytest

from harness import TEST_USER, finish, home, need, need_language, own, run, start

SUM = {"python": "a, b = map(int, input().split())\nprint(a + b)\n",
       "c": "#include <stdio.h>\nint main(void) { int a, b; if (scanf(\"%d %d\", &a, &b) != 2) return 9; printf(\"%d\\n\", a + b); return 0; }\n",
       "bash": "read a b\necho $((a + b))\n"}
ENDINGS = {"python": "py", "c": "c", "bash": "sh", "java": "java", "cpp": "cpp", "go": "go", "perl": "pl", "node": "js"}
THREE = [{"name": "a", "stdin": "1 2\n", "expected": "3\n"}, {"name": "b", "stdin": "10 20\n", "expected": "30\n"},
         {"name": "c", "stdin": "5 -6", "expected": "-1"}]


class Desk:
    """A folder with a solution and its cases; calls the judge on them."""

    def __init__(self, path):
        self.path = own(path)

    def file(self, name, text, mode=0o644):
        f = self.path / name
        f.write_bytes(text if isinstance(text, bytes) else text.encode())
        f.chmod(mode)
        own(f)
        return f

    def judge(self, lang, code, cases, *opts, name=None, **kw):
        f = self.file(name or f"s.{ENDINGS[lang]}", code)
        c = cases if not isinstance(cases, (list, dict)) else self.file("cases.json", json.dumps(cases))
        got = run("judge", f, "--cases", c, "--json", *opts, **kw)
        assert got.result is not None, str(got)
        assert got.rc == (0 if got["verdict"] == "AC" else 1) and got["all_passed"] is (got.rc == 0), str(got)
        return got


@pytest.fixture
def desk(tmp_path):
    # The temporary folder's parents are its user's alone.
    for p in (tmp_path, *tmp_path.parents):
        if os.stat(p).st_uid == os.getuid() and str(p).startswith("/tmp/"):
            p.chmod(0o755)
    return Desk(tmp_path)


def verdicts(c):
    return [k["verdict"] for k in c["cases"]]


def one(c):
    """The first case that was run."""
    return next(k for k in c["cases"] if k["verdict"])


# ---- verdicts ------------------------------------------------------------------------------------

@pytest.mark.parametrize("lang", SUM)
def test_accepted(desk, lang):
    c = desk.judge(lang, SUM[lang], THREE)
    assert verdicts(c) == ["AC"] * 3 and c["score"] == 1 and c["points"] == c["max_points"] == 3 and c["language"] == lang
    assert c["compile"]["ok"] is True and c["compile"]["kind"] == ("compile" if lang == "c" else "syntax")
    for k in c["cases"]:
        assert k["passed"] and k["exit_code"] == 0 and k["elapsed_s"] > 0 and k["diff"] is None and k["limits"]["time"] == 10


SPIN = {"python": "while True: pass", "c": "int main(void) { for (volatile long i = 0;; i++); }", "bash": "while :; do :; done"}
CODE = {
    "WA": {"python": "print(4)", "c": "#include <stdio.h>\nint main(void) { puts(\"4\"); return 0; }", "bash": "echo 4"},
    "PE": {"python": "print()\nprint(3)", "c": "#include <stdio.h>\nint main(void) { puts(\" 3\"); return 0; }", "bash": "printf '\\r3\\n'"},
    "RE": {"python": "print(3)\nraise SystemExit(7)", "c": "#include <stdio.h>\nint main(void) { puts(\"3\"); return 7; }", "bash": "echo 3; exit 7"},
    "CE": {"python": "print(3", "c": "int main(void) { return x; }", "bash": "if true; then echo 3"},
    "TLE": SPIN,
    "MLE": {"python": "x = []\nwhile True:\n    try:\n        x.append(bytearray(1 << 20))\n    except BaseException:\n        pass",
            "c": "#include <stdlib.h>\n#include <string.h>\nint main(void) { for (;;) { char *p = malloc(1 << 20); if (p) memset(p, 1, 1 << 20); } }",
            "bash": "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done"},
    "OLE": {"python": "while True: print('a' * 1000)", "c": "#include <stdio.h>\nint main(void) { for (;;) puts(\"aaaaaaaaaaaaaaaaaaaaaaaaaa\"); }",
            "bash": "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaa; done"},
}


@pytest.mark.parametrize("lang", SUM)
@pytest.mark.parametrize("verdict", CODE)
def test_verdicts(desk, lang, verdict):
    if verdict == "MLE":
        need("cgroup-memory")
    limits = {"time": "300ms", "memory": "64M", "output": "100K"} if verdict == "TLE" else {"memory": "64M", "output": "100K"}
    c = desk.judge(lang, CODE[verdict][lang], {"cases": THREE, "limits": limits})
    assert c["verdict"] == verdict and c["score"] == 0, str(c)
    if verdict == "CE":
        assert verdicts(c) == [None] * 3 and c["compile"]["ok"] is False and c["compile"]["stderr"] and c["not_run"] == 3
        return
    k = c["cases"][0]
    assert verdicts(c) == [verdict, None, None] and c["not_run"] == 2 and c["failed"] == 1
    evidence = {"WA": k["exit_code"] == 0 and k["diff"] == {"line": 1, "token": None, "expected": "3", "got": "4"},
                "PE": k["exit_code"] == 0 and k["diff"]["line"] == 1,
                "RE": k["exit_code"] == 7,
                "TLE": k["exit_code"] is None and k["limits_hit"] and k["cpu_s"] > 0.01,
                "MLE": k["oom_kills"] > 0 and "memory" in k["limits_hit"],
                "OLE": k["stdout_bytes"] > 100 << 10}
    assert evidence[verdict], json.dumps(k, indent=1)


def test_sleeping_is_not_spinning(desk):
    c = desk.judge("python", "import time\ntime.sleep(100)", {"cases": THREE[:1], "limits": {"time": 0.1}})
    k = one(c)
    assert c["verdict"] == "TLE" and k["reason"] == "wall_time" and k["cpu_s"] < 0.1 and k["again"] is False and "wall clock" in k["detail"]
    c = desk.judge("python", SPIN["python"], {"cases": THREE[:1], "limits": {"time": 0.1, "wall": 30}})
    assert one(c)["reason"] == "cpu_time" and one(c)["cpu_s"] >= 0.1


def test_signals_and_forbidden_calls_are_runtime_errors(desk):
    assert one(desk.judge("bash", "kill -SEGV $$", THREE))["signal"] == signal.SIGSEGV
    c = desk.judge("bash", "kill -KILL $$", THREE)
    assert c["verdict"] == "RE" and one(c)["oom_kills"] == 0
    assert desk.judge("python", "import sys\nprint(3)\nsys.exit(137)", THREE)["verdict"] == "RE"


def test_more_languages(desk):
    done = 0
    for lang, code, name in (("java", "import java.util.*;\nclass Other {}\npublic class Add { public static void main(String[] a) {"
                              " Scanner s = new Scanner(System.in); System.out.println(s.nextInt() + s.nextInt()); } }", "Add.java"),
                             ("cpp", "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }", None),
                             ("node", "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number); console.log(a + b)", None),
                             ("perl", "my ($a, $b) = split ' ', <STDIN>; print $a + $b, \"\\n\";", None)):
        try:
            need_language(lang)
        except pytest.skip.Exception:
            continue
        c = desk.judge(lang, code, THREE, name=name)
        assert c["verdict"] == "AC", f"{lang}: {c}"
        done += 1
    assert done, "none of them is installed"


def test_syntax_names_failures_only(desk):
    """What its language calls wrong does not run, whatever stands before it (docs/checks.md)."""
    c = desk.judge("bash", SUM["bash"] + "exit 0\nif ((( payload", THREE)
    assert c["verdict"] == "CE"
    c = desk.judge("bash", "echo 1\nexit 0\nif ((( payload", THREE, "--all")
    assert c["verdict"] == "CE" and verdicts(c) == [None] * 3
    # Syntax that only holds when the program has begun is no error.
    c = desk.judge("bash", "shopt -s extglob\nread a b\ncase $a in !(x)) echo $((a + b));; esac\n", THREE)
    assert c["verdict"] == "AC" and c["compile"]["ok"] is True


def test_executables(desk):
    source = desk.file("p.c", SUM["c"])
    subprocess.run(["/usr/bin/gcc", "-o", desk.path / "p", source], check=True)
    (desk.path / "p").chmod(0o755)
    c = run("judge", desk.path / "p", "--cases", desk.file("cases.json", json.dumps(THREE)), "--json")
    assert c["verdict"] == "AC" and c["language"] is None and c["compile"] is None
    c = run("judge", "-", "--lang", "bash", "--cases", desk.path / "cases.json", "--json", input=SUM["bash"].encode())
    assert c["verdict"] == "AC"


# ---- comparison ----------------------------------------------------------------------------------

@pytest.mark.parametrize("mode, expected, got, verdict", [
    ("exact", "a b\nc\n", "a b  \r\nc\n\n\n", "AC"), ("exact", "a b\n", "a  b\n", "PE"), ("exact", "a\nb\n", "a\rb\n", "PE"), ("exact", "a", "", "WA"),
    ("tokens", "a b\nc", "a\nb\tc", "AC"), ("tokens", "a b", "ab", "WA"), ("float", "0.5 x", ".5000001 x", "AC"), ("float", "0.5", "nan", "WA"),
    ("float:0.1", "10", "11", "AC"), ("float:0,0.5", "10", "10.6", "WA")])
def test_comparisons(desk, mode, expected, got, verdict):
    c = desk.judge("python", f"import sys\nsys.stdout.write({got!r})", [{"expected": expected}], "--compare", mode)
    assert c["verdict"] == verdict, str(c)


def test_bytes_that_are_no_text(desk):
    code = "import sys\nsys.stdout.buffer.write(bytes(range(256)))"
    assert desk.judge("python", code, [{"expected_base64": "AAEC"}])["verdict"] == "WA"
    assert desk.judge("python", code, [{"expected_base64": base64.b64encode(bytes(range(256))).decode()}])["verdict"] == "AC"


def test_difference_is_shown(desk):
    right, wrong = ["x" * 500 + "R" + "y" * 500] * 3, ["x" * 500 + "R" + "y" * 500] * 2 + ["x" * 500 + "W" + "y" * 500]
    c = desk.judge("python", f"print({chr(10).join(wrong)!r})", [{"expected": "\n".join(right)}])
    d = one(c)["diff"]
    assert d["line"] == 3 and "R" in d["expected"] and "W" in d["got"] and len(d["got"]) < 250
    t = run("judge", desk.path / "s.py", "--cases", desk.path / "cases.json")
    assert t.rc == 1 and "line 3" in t.stdout and "expected" in t.stdout and "WA: 0 of 1 passed" in t.stdout


def test_a_table_cannot_be_steered(desk):
    c = desk.file("cases.json", json.dumps([{"name": "a\u001b[2Jb", "expected": "x"}]))
    f = desk.file("s.py", "import sys\nprint('\\x1b]0;owned\\x07\\x1b[2J\\x9b5m')\nsys.stderr.write('\\x1b[2J')")
    t = run("judge", f, "--cases", c)
    assert t.rc == 1 and b"\x1b" not in t.out and b"\x07" not in t.out, str(t)


# ---- cases ---------------------------------------------------------------------------------------

def test_folder(desk):
    d = desk.path / "t"
    d.mkdir()
    own(d)
    for n, (i, o) in {"2": ("1 2", "3.out"), "10": ("3 4", "7.ans"), "x1": ("5 6", "11.out")}.items():
        value, end = o.split(".")
        desk.file(f"t/{n}.in", i)
        desk.file(f"t/{n}.{end}", value + "\n")
    c = desk.judge("python", SUM["python"], d)
    assert [k["name"] for k in c["cases"]] == ["2", "10", "x1"] and c["verdict"] == "AC"
    desk.file("t/lost.in", "1")
    e = run("judge", desk.path / "s.py", "--cases", d)
    assert e.rc == 2 and "case 'lost'" in e.stderr


def test_files_beneath_the_cases(desk):
    desk.file("big.in", b"1 " * 2000000)
    desk.file("big.out", "2000000\n")
    c = desk.judge("python", "print(sum(map(int, input().split())))", [{"stdin_file": "big.in", "expected_file": "big.out"}])
    assert c["verdict"] == "AC"
    os.symlink("/etc/passwd", desk.path / "link")
    for bad in ("/etc/passwd", "../x", "link", "none"):
        f = desk.file("cases.json", json.dumps([{"name": "k", "stdin_file": bad, "expected": ""}]))
        e = run("judge", desk.path / "s.py", "--cases", f)
        assert e.rc == 2 and "case 'k'" in e.stderr, f"{bad}: {e}"


def test_usage(desk):
    f = desk.file("s.py", "print(3)")
    good = desk.file("cases.json", json.dumps(THREE))
    for args, words in ((["--cases", good], "no solution"), ([f], "no cases"), ([f, f, "--cases", good], "one solution"),
                        ([f, "--cases", desk.path / "none"], "none"), ([desk.path / "no.py", "--cases", good], "no.py"),
                        ([f, "--cases", desk.file("bad.json", '[{"name":"q","expectd":"1"}]')], "case 'q'"),
                        ([f, "--cases", good, "--compare", "like"], "--compare"), ([f, "--cases", good, "--checker", desk.path / "no"], "--checker"),
                        ([f, "--cases", good, "--compare", "checker"], "checker"), ([f, "--cases", good, "--time", "0"], "--time"),
                        ([desk.file("s.unknown", "x"), "--cases", good], "language")):
        e = run("judge", *args)
        assert e.rc == 2 and words in e.stderr and not e.out, f"{args}: {e}"


# ---- stopping, subtasks, many at once ------------------------------------------------------------

SECOND_FAILS = "a, b = map(int, input().split())\nprint(a + b if a != 10 else 0)"


@pytest.mark.parametrize("jobs", [1, 4])
def test_stops_at_the_first_failure(desk, jobs):
    cases = THREE + [dict(k, name=f"m{i}") for i, k in enumerate(THREE * 3)]
    c = desk.judge("python", SECOND_FAILS, cases, "-j", jobs)
    assert verdicts(c) == ["AC", "WA"] + [None] * 10 and c["points"] == 1 and c["not_run"] == 10
    c = desk.judge("python", SECOND_FAILS, cases, "-j", jobs, "--all")
    assert verdicts(c) == ["AC", "WA", "AC"] * 4 and c["points"] == 8 and c["verdict"] == "WA"


@pytest.mark.parametrize("jobs", [1, 4])
def test_subtasks(desk, jobs):
    cases = {"cases": [dict(k, name=str(i), points=5) for i, k in enumerate(THREE * 2)],
             "subtasks": [{"name": "easy", "points": 20, "cases": ["0", "2"]}, {"name": "hard", "weight": 80, "cases": ["0", "1", "3", "4"]},
                          {"name": "last", "points": 50, "cases": ["5"]}]}
    c = desk.judge("python", SECOND_FAILS, cases, "-j", jobs)
    assert [(s["name"], s["passed"], s["points"], s["verdict"]) for s in c["subtasks"]] == [
        ("easy", True, 20, "AC"), ("hard", False, 0, "WA"), ("last", True, 50, "AC")]
    # What only belongs to a subtask that is lost is not run.
    assert verdicts(c) == ["AC", "WA", "AC", None, None, "AC"] and c["points"] == 70 and c["max_points"] == 150
    assert c["score"] == pytest.approx(70 / 150) and c["verdict"] == "WA"
    c = desk.judge("python", SUM["python"], cases, "-j", jobs)
    assert c["points"] == 150 and c["verdict"] == "AC"


def test_points(desk):
    cases = [dict(k, points=p) for k, p in zip(THREE, (1, 2.5, 0))]
    c = desk.judge("python", SECOND_FAILS, cases, "--all")
    assert c["points"] == 1 and c["max_points"] == 3.5 and c["score"] == pytest.approx(1 / 3.5)


def test_limits_of_one_case(desk):
    need("cgroup-memory")
    code = "x = bytearray(80 << 20)\nprint(3)"
    cases = [{"name": "small", "expected": "3", "limits": {"memory": "40M"}}, {"name": "large", "expected": "3"}]
    c = desk.judge("python", code, cases, "--all")
    assert verdicts(c) == ["MLE", "AC"] and c["cases"][0]["limits"]["memory"] == 40 << 20


def test_output_of_exactly_the_limit(desk):
    for n, verdict in ((5000, "AC"), (5001, "OLE")):
        c = desk.judge("python", f"import sys\nsys.stdout.write('a' * {n})", [{"expected": "a" * n, "limits": {"output": 5000}}])
        assert c["verdict"] == verdict, n


def test_stopped_by_a_signal(desk):
    f = desk.file("s.py", "import time\nprint(3)\ntime.sleep(50)")
    p = start("judge", f, "--cases", desk.file("cases.json", json.dumps(THREE)), "--json")
    time.sleep(1)
    p.send_signal(signal.SIGINT)
    c = finish(p)
    assert c.rc == 130 and not c.out and "signal" in c.stderr


# ---- checkers ------------------------------------------------------------------------------------

CHECKER = """import sys
i, o, a = (open(n).read().strip() for n in sys.argv[1:])
if o == "crash": raise RuntimeError("x")
if o == "die": import os; os.kill(os.getpid(), 9)
if o == "spin":
    while True: pass
if o == "part": print("points 2.5 of it", file=sys.stderr); sys.exit(7)
if o == "toomuch": print("points 99", file=sys.stderr); sys.exit(7)
if o == "dirt": sys.exit(4)
if o == "fail": sys.exit(3)
if o == "memory": x = [bytearray(1 << 20) for _ in range(4000)]
print("said", i, o, a, file=sys.stderr)
sys.exit(0 if o == a else 1)
"""


def test_checker(desk):
    desk.file("check.py", CHECKER)
    rows = {"right": "AC", "wrong": "WA", "part": "PC", "dirt": "PE", "fail": "JE", "crash": "WA", "die": "JE", "toomuch": "JE", "spin": "JE"}
    cases = {"checker": {"file": "check.py", "limits": {"time": "500ms"}},
             "cases": [{"name": n, "stdin": n, "expected": "right", "points": 4} for n in rows]}
    c = desk.judge("python", "print(input())", cases, "--all")
    assert dict(zip(rows, verdicts(c))) == rows and c["verdict"] == "JE"
    k = {x["name"]: x for x in c["cases"]}
    assert k["right"]["detail"] == "said right right right" and k["right"]["checker"]["exit_code"] == 0 and k["right"]["points"] == 4
    assert k["part"]["points"] == 2.5 and k["part"]["passed"] is False and k["spin"]["points"] == 0


@pytest.mark.parametrize("kind", ["c", "program", "broken"])
def test_checkers_that_are_compiled(desk, kind):
    source = desk.file("check.c", '#include "mine.h"\nint main(int n, char **v) { return n == 4 && v[2][0] == \'o\' ? MINE : 3; }\n')
    header = desk.file("mine.h", "#define MINE 0\n")
    if kind == "program":
        subprocess.run(["/usr/bin/gcc", "-o", desk.path / "check", source], check=True)
        (desk.path / "check").chmod(0o755)
        c = desk.judge("python", "print(1)", THREE, "--checker", desk.path / "check")
    elif kind == "c":
        c = desk.judge("python", "print(1)", THREE, "--checker", source, "--checker-with", header)
    else:
        c = desk.judge("python", "print(1)", THREE, "--checker", source)
        assert c["verdict"] == "JE" and c["checker_compile"]["ok"] is False and "mine.h" in c["checker_compile"]["stderr"]
        return
    assert c["verdict"] == "AC"


def test_what_a_checker_reads_cannot_hurt(desk):
    """The solution's output is a file to it, nothing else; a checker that is taken over by it is alone with it."""
    desk.file("check.py", "import sys\nexec(open(sys.argv[2]).read())\nsys.exit(1)\n")
    evil = "import os\nprint('''import os\\ntry: os.kill(1, 9)\\nexcept OSError: pass\\nos.system('(sleep 1; echo late) &')''')"
    c = desk.judge("python", evil, {"checker": "check.py", "cases": THREE}, "--all")
    assert verdicts(c) == ["WA"] * 3


# ---- solutions that want more than they deserve --------------------------------------------------

def hostile(desk, code, *opts, lang="python", cases=THREE):
    c = desk.judge(lang, code, cases, "--all", *opts)
    assert "AC" not in verdicts(c), str(c)
    return c


def test_answers_that_come_late(desk):
    c = hostile(desk, """import os, time
n = input()
if os.fork() == 0:
    os.setsid()
    time.sleep(0.3)
    os.write(1, str(eval(n.replace(' ', '+'))).encode())
    os._exit(0)
""")
    assert verdicts(c) == ["WA"] * 3
    # Nor does it come into the next case: a jar is nobody's after it.
    c = desk.judge("python", """import os, time
a, b = map(int, input().split())
if os.fork() == 0:
    os.setsid()
    for _ in range(50):
        time.sleep(0.02)
        os.write(1, b'junk')
print(a + b, flush=True)
""", THREE + [dict(k, name=f"n{i}") for i, k in enumerate(THREE)], "-j", "1", "--all", "--compare", "tokens")
    # What a child writes while the program itself still runs is the program's; here it writes only later.
    assert verdicts(c).count("AC") >= 5, str(c)


def test_nothing_of_a_case_is_there_for_the_next(desk):
    code = """import ctypes, os, socket, subprocess, time
places = ["/tmp/x", "/workspace/x", "/dev/shm/x", os.path.expanduser("~/x"), "/var/tmp/x", "/run/x"]
seen = [p for p in places if os.path.exists(p)]
seen += [p for p in os.listdir("/proc") if p.isdigit() and int(p) not in (1, os.getpid())]
for p in places:
    try: open(p, "w").write("x")
    except OSError: pass
s = socket.socket(socket.AF_UNIX)
try: s.bind("\\0poison")
except OSError: seen.append("socket")
libc = ctypes.CDLL(None)
if libc.msgget(0x1234, 0o3666) < 0: seen.append("queue")
if libc.shmget(0x1234, 4096, 0o3666) < 0: seen.append("memory")
if os.fork() == 0:
    os.setsid()
    time.sleep(97)
print(seen)
"""
    c = desk.judge("python", code, [{"name": str(i), "expected": "[]"} for i in range(6)], "-j", "1", "--all")
    assert verdicts(c) == ["AC"] * 6, str(c)


@pytest.mark.parametrize("lang", ["python", "c"])
def test_expected_answers_are_nowhere(desk, lang):
    """Neither files, environment, arguments, memory of parents nor other cases' inputs show what is looked for."""
    mark = "MARK" + secrets.token_hex(8)
    half = len(mark) // 2
    search = f"""
mark = {mark[:half]!r} + {mark[half:]!r}
found = []
def look(path):
    try:
        with open(path, "rb") as f:
            if mark.encode() in f.read(4 << 20): found.append(path)
    except (OSError, ValueError): pass
for top in ("/workspace", "/tmp", "/dev/shm", "/home", "/etc", "/proc", "/run", "/var"):
    for d, _, files in os.walk(top):
        if len(d) > 200: continue
        for n in files:
            p = os.path.join(d, n)
            if not p.endswith(("/kmsg", "/trace_pipe", "/mem", "/pagemap")) and not os.path.realpath(p).endswith(("main.py", "s.py", "s.c")): look(p)
for n in range(3, 64):
    try:
        if mark.encode() in os.read(n, 65536): found.append(n)
    except OSError: pass
print(found)
"""
    code = "import os, sys\n" + search if lang == "python" else (
        "#include <unistd.h>\nint main(void) { execl(\"/usr/bin/python3\", \"python3\", \"-c\", " +
        json.dumps("import os, sys\n" + search) + ", (char *)0); return 1; }\n")
    cases = [{"name": str(i), "stdin": f"{i}", "expected": f"{mark} {i}"} for i in range(3)]
    c = desk.judge(lang, code, cases, "--all", "-t", "20s")
    assert verdicts(c) == ["WA"] * 3, str(c)
    for k in c["cases"]:
        # Its own arguments hold the program text in the case of C, in two pieces.
        assert k["diff"]["got"] == "[]", json.dumps(k, indent=1)


def test_killing_around(desk):
    for code in ("import os\nos.kill(os.getppid(), 9)\nos.kill(1, 9)\nos.kill(-1, 9)", "import os\nos.killpg(0, 9)",
                 "import os, signal\nfor p in range(1, 200):\n    try: os.kill(p, signal.SIGSTOP)\n    except OSError: pass\n"):
        c = hostile(desk, code, "-t", "200ms")
        assert set(verdicts(c)) <= {"WA", "RE", "TLE"}, str(c)


def test_writing_into_others(desk):
    c = hostile(desk, """import os
for p in os.listdir("/proc"):
    for fd in range(20):
        for how in (os.O_WRONLY, os.O_RDWR):
            try:
                f = os.open(f"/proc/{p}/fd/{fd}", how)
            except OSError:
                continue
            if p.isdigit() and int(p) != os.getpid(): os.write(f, b"3\\n30\\n-1\\n")
for name in ("exit_code", "result", "verdict"):
    print('{"%s": "AC"}' % name)
""")
    assert verdicts(c) == ["WA"] * 3


@pytest.mark.parametrize("code", ["import os\nos._exit(0)", "raise SystemExit(0)", "import os\nos.close(1)\nos._exit(0)", "import sys\nsys.stdout.close()",
                                  "import os\nos.execv('/bin/true', ['true'])", "import os\nos.dup2(os.open('/dev/null', 1), 1)\nprint(3)"])
def test_leaving_early(desk, code):
    c = hostile(desk, code)
    assert verdicts(c) == ["WA"] * 3 and c["cases"][0]["diff"]["got"] is None


def test_writing_after_close(desk):
    c = hostile(desk, "import os\nn = input()\nos.close(1)\nos.write(1, str(eval(n.replace(' ', '+'))).encode())")
    assert verdicts(c) == ["RE"] * 3 and c["cases"][0]["stdout_bytes"] == 0


def test_floods_on_the_other_stream(desk):
    c = hostile(desk, "import sys\nwhile True: sys.stderr.write('a' * 10000)", "--output", "200K")
    assert verdicts(c) == ["OLE"] * 3 and "standard error" in c["cases"][0]["detail"]


def test_memory_of_children_counts(desk):
    """A child is killed for memory, the parent says the right thing: past the limit all the same, and never a time-out."""
    need("cgroup-memory")
    code = """import os, sys
n = input()
if os.fork() == 0:
    x = []
    while True: x.append(bytearray(1 << 20))
os.wait()
print(eval(n.replace(' ', '+')))
"""
    assert verdicts(hostile(desk, code, "-m", "64M")) == ["MLE"] * 3
    # One that waits for a child which nobody lets end.
    assert verdicts(hostile(desk, code.replace("os.wait()", "import time; time.sleep(100)"), "-m", "64M", "--wall", "3s", cases=THREE[:1])) == ["MLE"]


def test_a_program_that_is_too_large(desk):
    need("cgroup-memory")
    c = hostile(desk, "volatile char x[60 << 20] = {1};\nint main(void) { return x[5]; }", "--disk", "300M", "-m", "48M", lang="c", cases=THREE[:1])
    assert verdicts(c) == ["MLE"], str(c)
    c = desk.judge("c", "volatile char x[60 << 20] = {1};\nint main(void) { return x[5]; }", THREE)
    assert c["verdict"] == "CE" and "disk" in c["compile"]["error"]


def test_what_a_build_leaves_is_taken_as_plain_files_only(desk):
    """A language whose compiler is the source itself: links, folders of links and nothing at all are no programs."""
    d = home(TEST_USER) / "config" / "belljar" / "languages"
    d.mkdir(parents=True, exist_ok=True)
    for p in (d, d.parent):
        own(p)
    (d / "evil.yaml").write_text('name: evil\ntitle: Evil\nendings: [.evil]\nfile: main.evil\ncompile: [/bin/sh, "{file}"]\nrun: ["{out}"]\n'
                                 'version: [/bin/true]\nprogram: /bin/sh\npackage: dash\n')
    own(d / "evil.yaml")
    try:
        ENDINGS["evil"] = "evil"
        for code in ("ln -s /etc/shadow /tmp/program", "mkfifo /tmp/program", "mkdir /tmp/program; ln -s /etc/passwd /tmp/program/x", "mkdir /tmp/program", "true"):
            c = desk.judge("evil", code, THREE)
            assert c["verdict"] == "CE" and c["compile"]["error"], f"{code}: {c}"
        c = desk.judge("evil", "printf '#!/bin/sh\\nread a b; echo $((a+b))\\n' > /tmp/program", THREE)
        assert c["verdict"] == "AC", str(c)
        # What else it left, or still does, is in no case.
        c = desk.judge("evil", "echo x > /workspace/left; echo x > /tmp/left; (setsid sleep 50 &); printf '#!/bin/sh\\nls /tmp /workspace\\n' > /tmp/program",
                       [{"expected": "/tmp:\n\n/workspace:\nprogram"}])
        assert c["verdict"] == "AC", str(c)
    finally:
        (d / "evil.yaml").unlink()


LISTS = [("command line", lambda names: (("--allow", names), {})), ("environment", lambda names: ((), {"env": {"BELLJAR_ALLOW": names}}))]


@pytest.mark.parametrize("given", [g for _, g in LISTS], ids=[n for n, _ in LISTS])
def test_an_allow_list(desk, given):
    """It holds for the solution, and not for the checker, which is the judge's own."""
    code = "read a b\nls / >/dev/null 2>&1 && echo ls\necho $((a + b))\n"
    opts, kw = given("bash")
    assert verdicts(desk.judge("bash", code, THREE[:1], *opts, **kw)) == ["AC"]
    assert verdicts(desk.judge("bash", code, THREE[:1])) == ["WA"], "the control: without a list there is ls"
    checker = desk.file("checker.py", "import sys\nsys.exit(open(sys.argv[2]).read() != '3\\n')\n")
    assert verdicts(desk.judge("bash", code, THREE[:1], "--checker", checker, *opts, **kw)) == ["AC"]
    opts, kw = given("git")
    c = desk.judge("bash", code, THREE[:1], *opts, **kw)
    assert c["verdict"] == "JE" and b"may not be started" in c.out, str(c)
    for name, text in (("s.c", SUM["c"].encode()), ("s", b"\177ELF" + bytes(100))):
        f = desk.file(name, text)
        got = run("judge", f, "--cases", desk.file("cases.json", json.dumps(THREE)), *opts, **kw)
        assert got.rc == 125 and b"can be started under an allow-list" in got.err and b"hint:" in got.err, str(got)
