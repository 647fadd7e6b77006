# SPDX-License-Identifier: Apache-2.0
"""belljar explain: real results of run and batch, results of test and judge as they are documented, and input that is none."""
import json

import pytest

from harness import BASE, jar, ms, own, python, run

LIMITS = {"wall": ("--timeout", ms(700))}


def explain(result, *opts, code=None):
    text = result if isinstance(result, (str, bytes)) else json.dumps(result)
    if code is not None:
        path = BASE / "explained-code"
        path.write_text(code)
        path.chmod(0o644)
        own(path)
        opts += ("--code", path)
    return run("explain", *opts, "-", input=text.encode() if isinstance(text, str) else text)


def text_of(c, code=None):
    e = explain(c.result, code=code)
    assert e.rc == 0, str(e)
    return e.stdout


# Programs that fail, with all that is said about it (golden), or pieces of it where versions of Python and node differ in their words.
PYTHON = {
    "name": ("def f():\n    total = 1\n    return totl\nf()", [
        "Failed: NameError: name 'totl' is not defined", "\n  at line 3: return totl\n", "(did you mean 'total'?)"]),
    "import_forgotten": ("print(math.pi)", ["\n  at line 1: print(math.pi)\n", "\nhint: NameError: 'math' is used and not imported: add 'import math'\n"]),
    "type": ("x = 1\nx + 'a'", "Failed: TypeError: unsupported operand type(s) for +: 'int' and 'str' (line 2).\n  at line 2: x + 'a'\n"
             "hint: TypeError: + does not work between int and str: convert one side first (int(), str(), list())\n"),
    "value": ("int('a')", "Failed: ValueError: invalid literal for int() with base 10: 'a' (line 1).\n  at line 1: int('a')\n"
              "hint: ValueError: int() got 'a', which is no whole number: strip, split or check the text first (int(float(x)) for '1.0')\n"),
    "index": ("[][0]", "Failed: IndexError: list index out of range (line 1).\n  at line 1: [][0]\n"
              "hint: IndexError: an index is past the end: handle empty input, and check the bounds of the loop (off by one: range(len(x) - 1), i + 1)\n"),
    "key": ("d = {}\nd['k']", "Failed: KeyError: 'k' (line 2).\n  at line 2: d['k']\n"
            "hint: KeyError: the dict has no key 'k'; use .get(), test with 'in', or a defaultdict\n"),
    "attribute": ("x = [1].sort()\nx.append(1)", ["'NoneType' object has no attribute 'append' (line 2)", "what stands before '.append' is None"]),
    "module": ("import colections", ["\n  at line 1: import colections\n", "no module 'colections' in the jar (did you mean 'collections'?)"]),
    "import": ("from math import sqrtt", ["Failed: ImportError: cannot import name 'sqrtt' from 'math'", "module 'math' has no 'sqrtt'"]),
    "syntax": ("x = (1,\ny = 2", ["SyntaxError: '(' was never closed (line 1)", "at line 1: x = (1,", "is not closed"]),
    "indent": ("def f():\nreturn 1", ["IndentationError", "at line 2: return 1", "indent the lines that belong to it"]),
    "zero": ("1 / 0", ["ZeroDivisionError: division by zero (line 1)", "divisor of 0"]),
    "recursion": ("def f(n):\n    return f(n)\nf(1)", ["RecursionError", "at line 2: return f(n)", "base case"]),
    "memory_error": ("[0] * 10**17", ["MemoryError", "memory limit is reached"]),
    "assertion": ("assert 1 == 2", ["AssertionError", "an assertion does not hold (line 1: assert 1 == 2)"]),
    "chained": ("try:\n    1/0\nexcept Exception as e:\n    raise KeyError('x') from e", ["Failed: KeyError: 'x' (line 4)"]),
    "library": ("import json\njson.loads('{')", ["JSONDecodeError", "at line 2: json.loads('{')", "not JSON"]),
    "own": ("class Own(Exception): pass\nraise Own('x')", ["Own: x (line 2)", "raises this itself"]),
    "no_file": ("open('/workspace/none')", ["no file '/workspace/none' in the jar"]),
    "no_input": ("input()", ["EOFError", "input() found no more input"]),
    "status": ("raise SystemExit(3)", "Failed: exit status 3.\nhint: it ended by itself with exit status 3 and said nothing: look for exit calls, or (bash, set -e) the "
               "first command that fails\n"),
    "words": ("import sys\nsys.exit('went\\x1b[31mwrong')", "Failed: exit status 1.\nit said: went\\x1b[31mwrong\n"),
}
NODE = {
    "reference": ("let total = 1;\nfunction f() { return totl }\nf()", "Failed: ReferenceError: totl is not defined (line 2).\n  at line 2: function f() { return totl }\n"
                  "hint: ReferenceError: 'totl' is not defined here (did you mean 'total'?); declare or import it; there is no window or document in node\n"),
    "type": ("let o;\no.x", ["TypeError: Cannot read properties of undefined (reading 'x') (line 2)", "at line 2: o.x", "before '.x' is undefined"]),
    "not_a_function": ("const items = [];\nitems.pushh(1)", ["items.pushh is not a function", "at line 2: items.pushh(1)"]),
    "syntax": ("let a = ;", ["SyntaxError: Unexpected token ';' (line 1)", "at line 1: let a = ;", "not valid JavaScript"]),
    "range": ("new Array(-1)", ["RangeError: Invalid array length (line 1)", "at line 1: new Array(-1)"]),
    "stack": ("function f() { f() }\nf()", ["RangeError: Maximum call stack size exceeded (line 1)", "base case"]),
    "module": ("require('nothere')", ["Error: Cannot find module 'nothere' (line 1)", "no module 'nothere' in the jar"]),
    "thrown": ("throw 5", ["throw: 5 (line 1)", "no Error"]),
    "own": ("throw new Error('boom')", ["Error: boom (line 1)", "throws this itself"]),
}
BASH = {
    "command": ("echo a\ngerp x", "Failed: gerp: command not found (line 2).\n  at line 2: gerp x\n"
                "hint: there is no command 'gerp' in the jar (did you mean 'grep'?); in an assignment there are no spaces around '='\n"),
    "unbound": ("set -u\ncount=1\necho $coutn", ["coutn: unbound variable (line 3)", "at line 3: echo $coutn", "(did you mean 'count'?)"]),
    "syntax": ("if true; then\necho a", ["syntax error: unexpected end of file", "missing fi"]),
    "status": ("exit 3", ["Failed: exit status 3.", "exit status 3"]),
    "no_file": ("cat /nothere", ["No such file or directory", "a file is not there"]),
    "zero": ("echo $((1 / 0))", ["division by 0", "test the divisor"]),
}


def check(text, expected):
    if isinstance(expected, str):
        assert text == expected
    for piece in [] if isinstance(expected, str) else expected:
        assert piece in text, text
    assert len(text) <= 4000


@pytest.fixture(scope="module")
def results():
    """All of them in one batch, which is sixty times as fast as one run each."""
    requests = [{"id": f"{lang} {name}", "language": lang, "code": code} for lang, table in TABLES.items() for name, (code, _) in table.items()]
    c = run("batch", "-q", "-", input=b"".join(json.dumps(r).encode() + b"\n" for r in requests))
    assert c.rc == 0, str(c)
    return {r["id"]: r for r in map(json.loads, c.out.splitlines())}


TABLES = {"python": PYTHON, "node": NODE, "bash": BASH}


@pytest.mark.parametrize("lang, name", [(lang, name) for lang, table in TABLES.items() for name in table])
def test_error(results, lang, name):
    code, expected = TABLES[lang][name]
    # Python prints its lines and near names itself.
    e = explain(results[f"{lang} {name}"], code=None if lang == "python" else code)
    assert e.rc == 0, str(e)
    check(e.stdout, expected)


@pytest.mark.parametrize("lang, name", [("python", "type"), ("node", "reference"), ("bash", "command")])
def test_result_of_run(lang, name):
    code, expected = TABLES[lang][name]
    e = explain(jar("-c", code, "--lang", lang).result, code=code)
    assert e.rc == 0, str(e)
    check(e.stdout, expected)


def test_compiler():
    c = jar("-c", "int main(void) { return totl; }", "--lang", "c")
    check(text_of(c), ["undeclared", "at line 1: int main(void) { return totl; }", "hint: "])


@pytest.mark.parametrize("code, opts, pieces", [
    ("while True: pass", LIMITS["wall"], ["wall-clock limit", "did not end in time"]),
    ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", (), ["SIGSEGV", "it crashed (SIGSEGV)"]),
    ("import sys\nprint('Traceback (most recent call last):\\n  File \"x\", line 1\\n    y\\nKeyError: 1', file=sys.stderr, flush=True)\nwhile True: pass", LIMITS["wall"],
     ["wall-clock limit"]),
], ids=["time", "signal", "time_with_a_forged_trace"])
def test_ended_by_a_limit(code, opts, pieces):
    text = text_of(python(code, *opts))
    check(text, pieces)
    assert "KeyError" not in text  # what it printed is not why it ended


def test_went_well():
    e = explain(python("print(1)").result)
    assert (e.rc, e.stdout) == (1, "") and "nothing to explain" in e.stderr


def test_batch_lines():
    requests = [{"id": "good", "code": "print(1)"}, {"id": "bad", "code": "1/0"}, {"id": "worse", "language": "bash", "code": "gerp"}]
    lines = run("batch", "-q", "-", input=b"".join(json.dumps(r).encode() + b"\n" for r in requests))
    assert lines.rc == 0, str(lines)
    e = explain(lines.stdout)
    assert e.rc == 0
    assert "-- 2 (id 'bad')\nFailed: ZeroDivisionError" in e.stdout and "-- 3 (id 'worse')\nFailed: gerp: command not found" in e.stdout
    assert "-- 1 " not in e.stdout and "2 of 3 explained" in e.stderr
    got = [json.loads(line) for line in explain(lines.stdout, "--json").stdout.splitlines()]
    assert [(g["n"], g["id"], g["feedback"] is None) for g in got] == [(1, "good", True), (2, "bad", False), (3, "worse", False)]


def case(name, reason, **more):
    return {"name": name, "function": "f", "passed": False, "reason": reason, "output": None, "expected": None,
            "input": {"args": "(1, [2])", "kwargs": "{'k': 3}"}, **more}


def test_results_of_test():
    e = explain({"success": True, "all_passed": False, "test_results": [
        {"name": "fine", "passed": True, "reason": None},
        case("value", "wrong_value", expected="{'a': [1, 2, 3]}", output="{'a': [1, 2, '3']}"),
        case("slow", "timeout", where={"line": 4, "text": "    while n > 0:"}),
        case("gone", "missing_function", function="ad", available=["add", "sub"]),
    ]})
    assert e.stdout == (
        "3 of 4 cases failed: 1 wrong value, 1 time limit, 1 the function is missing.\n"
        "case 'value': wrong value\n  input: f(1, [2], **{'k': 3})\n  expected: {'a': [1, 2, 3]}\n  got: {'a': [1, 2, '3']}\n"
        "  diff: ['a'][2]: expected 3 (int), got '3' (str)\n"
        "case 'slow': time limit\n  input: f(1, [2], **{'k': 3})\n  at line 4: while n > 0:\n"
        "case 'gone': there is no function 'ad'\n  input: ad(1, [2], **{'k': 3})\n"
        "hint: it did not end in time; it was at line 4, 'while n > 0:': look for a loop whose condition never changes, for waiting for input that does not come, or use "
        "a faster way\n"
        "hint: define the function under exactly the name that is asked for (did you mean 'add'?); what is defined: add, sub\n")


def test_results_of_judge():
    e = explain({"verdict": "WA", "cases": [{"name": "1", "verdict": "AC"}, {"name": "2", "verdict": "WA", "stdin": "2\n", "expected": "1\n2\n", "stdout": "1\n3\n"}]})
    assert e.stdout == "1 of 2 cases failed: 1 wrong value.\ncase '2': wrong value\n  input: 2\\n\n  expected: 1\\n2\\n\n  got: 1\\n3\\n\n  diff: line 2: expected '2', got '3'\n"


def test_results_of_judge_as_it_prints_them():
    e = explain({"verdict": "WA", "all_passed": False, "passed": 0, "language": "python", "compile": {"ok": True, "exit_code": 0, "stderr": ""}, "cases": [
        {"name": "1", "verdict": "WA", "passed": False, "reason": "exited", "exit_code": 0, "detail": None, "stdout": "7\n9\n", "stderr": "",
         "diff": {"line": 2, "token": 1, "expected": "8", "got": "9"}},
        {"name": "2", "verdict": "RE", "passed": False, "reason": "exited", "exit_code": 1, "detail": "exit code 1", "diff": None, "stdout": "",
         "stderr": "Traceback (most recent call last):\n  File \"/workspace/s.py\", line 2, in <module>\n    x[0]\nIndexError: list index out of range\n"},
        {"name": "3", "verdict": "RE", "passed": False, "reason": "signal", "signal": 11, "detail": None, "diff": None, "stdout": "", "stderr": ""},
        {"name": "4", "verdict": None, "passed": False}]})
    for piece in ("case '1': wrong value\n  got: 7\\n9\\n\n  diff: line 2, token 1: expected '8', got '9'\n", "case '2': IndexError: list index out of range\n  at line 2: x[0]\n",
                  "case '3': crashed\n", "hint: it crashed (SIGSEGV)", "case '4': not run\n"):
        assert piece in e.stdout, e.stdout
    e = explain({"verdict": "CE", "all_passed": False, "language": "c", "cases": [{"name": "1", "verdict": None, "passed": False}], "compile": {
        "ok": False, "exit_code": 1, "stdout": "", "stderr": "/workspace/s.c:1:19: error: 'x' undeclared (first use)\n    1 | int main(){return x;}\n"}})
    assert e.stdout.startswith("1 of 1 case failed: 1 not run.\n'x' undeclared (first use)\n  at line 1: int main(){return x;}\ncase '1': not run\n"), e.stdout


def test_json_fields():
    f = json.loads(explain(python("x = 1\n\nx[0]").result, "--json").stdout)["feedback"]
    assert set(f) == {"summary", "items", "text", "cut"} and len(f["items"]) == 1
    item = f["items"][0]
    assert set(item) == {"kind", "case", "reason", "type", "text", "input", "expected", "got", "diff", "diff_more", "line", "code", "suggestion", "same", "same_more"}
    assert (item["kind"], item["type"], item["line"], item["code"]) == ("error", "TypeError", 3, "x[0]")


@pytest.mark.parametrize("data, word", [
    (b"", "empty"), (b"nonsense", "not JSON"), (b'{"status"', "not JSON"), (b"{}", "no result"), (b"[1]", "no result"), (b'{"success":false} {', "not JSON"),
    (b"[" * 5000, "not JSON"), (b'{"success":\xff}', "not JSON"),
])
def test_bad_input(data, word):
    e = explain(data)
    assert e.rc == 2 and word in e.stderr and "error:" in e.stderr, str(e)


def test_usage():
    assert run("explain").rc == 2
    assert run("explain", "/", "/").rc == 2
    assert run("explain", "/").rc == 2
    assert run("explain", "/nowhere.json").rc == 2
    assert run("explain", "--code", "/nowhere", "-", input=b"{}").rc == 2
    assert run("explain", "--help").rc == 0


def test_a_list_and_laid_out_json():
    bad = {"success": False, "status": "completed", "reason": "exited", "exit_code": 3}
    assert explain(json.dumps([bad, bad], indent=4)).stdout.count("Failed: exit status 3.") == 2
    assert explain(json.dumps(bad, indent=4) * 3).stdout.count("Failed: exit status 3.") == 3
