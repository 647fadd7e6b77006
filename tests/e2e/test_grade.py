# SPDX-License-Identifier: Apache-2.0
"""belljar test and belljar eval: verdicts, values, cases, data sets. What tries to fool them is in tests/cheats."""
import base64
import gzip
import json
import os
import random
import re
import signal
import tempfile
from pathlib import Path

import pytest

import harness

DATA = Path(os.environ.get("BELLJAR_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))


@pytest.fixture
def tmp_path():
    """A folder that whoever runs belljar can read and write."""
    path = Path(tempfile.mkdtemp(dir=harness.BASE))
    path.chmod(0o777)
    return path


@pytest.fixture
def grade(tmp_path):
    def run(code, cases, *opts, func="f", name="solution.py", rc=None, **kw):
        solution, file = tmp_path / name, tmp_path / "cases.json"
        solution.write_text(code)
        file.write_text(cases if isinstance(cases, str) else json.dumps(cases))
        words = ["--func", func] if func else []
        r = harness.run("test", str(solution), *words, "--cases", str(file), "--json", *opts, **kw)
        if rc is not None:
            assert r.rc == rc, (r.rc, r.out, r.err)
            return r
        assert r.rc in (0, 1), (r.rc, r.out[-2000:], r.err)
        found = json.loads(r.out)
        assert (r.rc == 0) == found["all_passed"]
        return found
    return run


def reasons(result):
    return [row["reason"] for row in result["test_results"]]


# ---- verdicts ------------------------------------------------------------------------------------

VERDICTS = '''
import os, sys, time
class MyError(Exception): pass
class Fake(Exception): pass
Fake.__name__ = "ValueError"
def f(what, x=None):
    print("called", what)
    if what == "value": return x
    if what == "raise": raise ValueError("bad")
    if what == "mine": raise MyError("own")
    if what == "fake": raise Fake("not the genuine one")
    if what == "key": raise KeyError("k")
    if what == "exit": os._exit(0)
    if what == "sys": sys.exit(0)
    if what == "spin":
        while True: pass
    if what == "sleep": time.sleep(60)
    if what == "crash": os.kill(os.getpid(), 11)
    if what == "object": return object()
    if what == "deep":
        y = []
        for _ in range(5000): y = [y]
        return y
    if what == "endless":
        def g():
            while True: yield 1
        return g()
    if what == "name": return undefined_nam
undefined_name = 1
'''


@pytest.fixture
def cold(tmp_path):
    """Options with which the driver is not a zygote's: a file that a preloaded module is named like."""
    (tmp_path / "empty").write_text("")
    return ["--file", f"{tmp_path / 'empty'}:datetime.py"]


@pytest.mark.parametrize("mode", ["forked", "cold", "shared"])
def test_every_verdict(grade, mode, cold):
    rows = [
        ({"args": ["value", 1], "expected": 1}, None),
        ({"args": ["value", 1], "expected": 2}, "wrong_value"),
        ({"args": ["value", 1], "expected_type": "str"}, "wrong_type"),
        ({"args": ["value", 1], "expected_exception": "ValueError"}, "no_exception"),
        ({"args": ["raise"], "expected_exception": "ValueError"}, None),
        ({"args": ["raise"], "expected_exception": "Exception"}, None),
        ({"args": ["raise"], "expected_exception": "KeyError"}, "exception"),
        ({"args": ["key"], "expected_exception": "LookupError"}, None),
        ({"args": ["mine"], "expected_exception": "MyError"}, None),
        ({"args": ["fake"], "expected_exception": "ValueError"}, "exception"),
        ({"args": ["raise"]}, "exception"),
        ({"args": ["sys"]}, "exited"),
        ({"args": ["object"]}, "unencodable"),
        ({"args": ["deep"], "expected": []}, "unencodable"),
        ({"args": ["endless"], "expected": []}, "unencodable"),
        ({"args": ["name"]}, "exception"),
        ({"function": "g", "args": []}, "missing_function"),
    ]
    if mode != "shared":
        rows += [({"args": ["exit"], "expected": 1}, "exited"), ({"args": ["crash"]}, "crashed"), ({"args": ["spin"], "timeout_s": 0.2}, "timeout"),
                 ({"args": ["sleep"], "timeout_s": 0.2}, "timeout"), ({"args": ["value", 5], "expected": 5}, None)]
    r = grade(VERDICTS, [c for c, _ in rows], *{"forked": [], "cold": cold, "shared": ["--shared"]}[mode], "-m", "128M")
    assert reasons(r) == [w for _, w in rows]
    assert r["total"] == len(rows) and r["passed"] == sum(w is None for _, w in rows) and r["loaded"] and not r["success"] and not r["all_passed"]
    assert r["test_results"][0]["stdout"] == "called value\n"
    name = next(x for x in r["test_results"] if x["input"]["args"] == "['name']")
    assert "undefined_name" in name["exception"]["near"] and name["exception"]["line"] == 28


def test_a_time_limit_between_two_lines_is_one(grade):
    """Where the interpreter stands may have no line number (it was told as the candidate's TypeError)."""
    code = ("def f(n):\n    a = [i * i - i + 1 for i in range(1, n + 1)]\n    c = 0\n    for i in range(n - 2):\n        for j in range(i + 1, n - 1):\n"
            "            for k in range(j + 1, n):\n                if (a[i] + a[j] + a[k]) % 3 == 0:\n                    c += 1\n    return c\n")
    r = grade(code, [{"args": [4000], "timeout_s": 0.05 + i / 1000} for i in range(30)])
    assert set(reasons(r)) == {"timeout"}, r


def test_time_limit_says_where(grade):
    r = grade("def f():\n    n = 0\n    while True:\n        n += 1\n", [{"args": [], "timeout_s": 0.2}])
    assert reasons(r) == ["timeout"] and r["test_results"][0]["where"]["line"] in (3, 4)


def test_memory_of_one_case(grade):
    """The kernel ends one case; the others do not notice."""
    code = "def f(n):\n    b = []\n    while n and len(b) < n: b.append(b'x' * 1000000 + bytes(len(b)))\n    return len(b)\n"
    r = grade(code, [{"args": [1], "expected": 1}, {"args": [100000], "expected": 1}, {"args": [2], "expected": 2}], "-m", "96M")
    assert [x["passed"] for x in r["test_results"]] == [True, False, True]
    assert r["test_results"][1]["reason"] == ("memory" if harness.ROOT else "exception")  # rootless an rlimit says no before the kernel has to


def test_lost_jar_is_replaced(grade):
    """In one process a crash takes the jar along: what is left runs in the next one."""
    code = "import os\ndef f(x):\n    if x == 1: os._exit(3)\n    return x\n"
    r = grade(code, [{"args": [0], "expected": 0}, {"args": [1], "expected": 1}, {"args": [2], "expected": 2}], "--shared")
    assert reasons(r) == [None, "exited", None] and r["jars"] == 2


def test_cases_do_not_share_state(grade):
    code = "seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)\n"
    cases = [{"args": [i], "expected": 1} for i in range(3)]
    assert grade(code, cases)["all_passed"]
    assert [x["passed"] for x in grade(code, cases, "--shared")["test_results"]] == [True, False, False]


def test_load_errors(grade):
    for code, reason in (("def f(:\n", "syntax"), ("import nonexistent_module\n", "load_error"), ("raise SystemExit(0)\n", "exited"), ("import os; os._exit(0)\n", "exited")):
        r = grade(code, [{"args": []}])
        assert not r["success"] and not r["all_passed"] and r["passed"] == 0 and r["reason"] == reason, (code, r)


def test_without_cases(tmp_path):
    solution = tmp_path / "s.py"
    solution.write_text("print('x')\n")
    r = harness.run("test", str(solution), "--json")
    assert r.rc == 0 and json.loads(r.out)["success"] and not json.loads(r.out)["all_passed"] and json.loads(r.out)["stdout"] == "x\n"
    r = harness.run("test", str(solution), "--func", "f", "--json")
    assert r.rc == 1 and not json.loads(r.out)["success"] and json.loads(r.out)["reason"] == "no_cases"
    solution.write_text("raise SystemExit(3)\n")
    r = harness.run("test", str(solution), "--json")
    assert r.rc == 1 and json.loads(r.out)["exit_code"] == 3


# ---- values --------------------------------------------------------------------------------------

VALUES = [
    ("None", None), ("True", True), ("-5", -5), ("10**40", {"$int": str(10**40)}), ("1.5", 1.5), ("-0.0", {"$py": "-0.0"}), ("float('inf')", {"$float": "inf"}),
    ("float('nan')", {"$float": "nan"}), ("1+2j", {"$complex": [1, 2]}), ("'h\\u00e9'", "hé"), ("b'\\x00\\xff'", {"$bytes": base64.b64encode(b"\0\xff").decode()}),
    ("[1, [2, (3,)]]", [1, [2, {"$tuple": [3]}]]), ("{1, 2}", {"$set": [2, 1]}), ("frozenset([1])", {"$frozenset": [1]}), ("{(1, 2): 'x'}", {"$dict": [[{"$tuple": [1, 2]}, "x"]]}),
    ("{'a': {'b': None}}", {"a": {"b": None}}), ("range(3)", {"$py": "None"}), ("__import__('collections').Counter('aab')", {"a": 2, "b": 1}),
    ("__import__('collections').OrderedDict(a=1)", {"a": 1}), ("(i for i in range(3))", [0, 1, 2]), ("type('I', (int,), {})(7)", 7), ("'\\ud800'", "\ud800"),
    ("'x' * 100000", "x" * 100000),
]


def test_values_come_back(grade):
    code = "def f(i):\n    return [lambda: " + ", lambda: ".join(v for v, _ in VALUES) + "][i]()\n"
    r = grade(code, [{"args": [i], "expected": e} for i, (_, e) in enumerate(VALUES)])
    wrong = {VALUES[i][0]: row["detail"] for i, row in enumerate(r["test_results"]) if not row["passed"]}
    assert list(wrong) == ["range(3)"], wrong


# Calls of plain values are made in C (src/guest/answer.c), all others in Python. Whoever is called, with what, and what comes of it:
OUTCOMES = r'''
import asyncio, collections, decimal, fractions, sys
class Own(ValueError): pass
class L(list): pass
class Solution:
    def f(self, x): return [x]
ordered = sorted
log = []
def deep(n):
    x = []
    for _ in range(n): x = [x]
    return x
def value(i): return [lambda: v for v in ()] or VALUES[i]()
VALUES = [lambda: None, lambda: True, lambda: 0, lambda: -1, lambda: 2**63 - 1, lambda: 2**63, lambda: -2**63, lambda: -2**63 + 1, lambda: -2**63 - 1, lambda: 10**400,
    lambda: 10**17, lambda: 10**18, lambda: -10**18, lambda: 1.5, lambda: -0.0, lambda: float("inf"), lambda: float("nan"), lambda: 5e-324, lambda: 1e308, lambda: "", lambda: "a\0b",
    lambda: "\u00e9\u4e2d\U0001f600", lambda: "\ud800", lambda: b"", lambda: b"\0\xff", lambda: bytearray(b"x"), lambda: [], lambda: (), lambda: {}, lambda: set(), lambda: frozenset({1}),
    lambda: {1}, lambda: {(1, 2): [3], None: {}}, lambda: [1, [2, [3, (4, {5: {6}})]]], lambda: deep(178), lambda: deep(179), lambda: deep(180), lambda: deep(181), lambda: deep(500),
    lambda: L([1]), lambda: [L([1])], lambda: collections.Counter("ab"), lambda: collections.deque([1]), lambda: decimal.Decimal("1.50"), lambda: fractions.Fraction(1, 3),
    lambda: range(3), lambda: (i for i in range(3)), lambda: iter([1]), lambda: {}.keys(), lambda: complex(1, 2), lambda: int, lambda: object(), lambda: [object()], lambda: [1, (i for i in "ab")],
    lambda: "x" * 100000, lambda: list(range(20000)), lambda: {str(i): i for i in range(3000)}, lambda: NotImplemented, lambda: Own, lambda: value, lambda: sys.modules]
def append(x): x.append(4); return len(x)
def inner(x): x["a"].append(1)
def into_object(x): x[0] = object(); return 1
def clear(x, y=None): x.clear(); y.append(0); return y
def same(x): return x
def keywords(*a, **k): return [a, k]
def prints(x): print("out", x); sys.stderr.write("err"); return x
def prints_and_raises(): print("before"); raise KeyError("k")
def raises(): raise ValueError("v", 1)
def own():
    try: 1 / 0
    except ZeroDivisionError as e: raise Own("o") from e
def quits(): sys.exit(3)
def interrupted(): raise KeyboardInterrupt
def recurses(n=0): return recurses(n + 1)
def names(): return undefined_thing
async def waits(x): await asyncio.sleep(0); return x
async def many():
    for i in range(3): yield i
def closed(): sys.stdout = None; return 1
def odd_flush():
    class F:
        def write(self, x): pass
        def flush(self): raise RuntimeError
    sys.stdout = F()
    return 2
def counts(): log.append(1); return len(log)
'''
COUNT_VALUES = OUTCOMES.count("lambda:") - 1
CALLS = [{"function": "value", "args": [i]} for i in range(COUNT_VALUES)] + [
    {"function": f, "args": a, **more} for f, a, more in [
        ("append", [[1, 2]], {}), ("append", [[1, 2]], {"expected_args": [[1, 2, 4]]}), ("append", [(1, 2)], {}), ("inner", [{"a": []}], {"expected_args": [{"a": [1]}]}),
        ("into_object", [[1]], {}), ("clear", [[1, 2]], {"kwargs": {"y": [5]}}), ("clear", [{"a": 1}], {"kwargs": {"y": []}}), ("same", [{"$int": str(2**100)}], {}),
        ("same", [{"$py": "(1, [2.5, {'k': (None, True)}, {3}, b'b', 'text'])"}], {}), ("same", [{"$frozenset": [4]}], {}), ("same", ["\ud800"], {}), ("same", [{"$float": "nan"}], {}),
        ("same", [{"$complex": [1, 2]}], {}), ("same", [], {}), ("same", [1, 2], {}), ("keywords", [1, [2]], {"kwargs": {"a": 1, "b": {"c": [None]}}}),
        ("keywords", [], {}), ("prints", ["p"], {}), ("prints_and_raises", [], {}), ("raises", [], {"expected_exception": "ValueError"}), ("raises", [], {}), ("own", [], {"expected_exception": "Own"}),
        ("own", [], {}), ("quits", [], {}), ("interrupted", [], {}), ("recurses", [], {}), ("names", [], {}), ("waits", [7], {"expected": 7}), ("many", [], {"expected": [0, 1, 2]}),
        ("closed", [], {}), ("odd_flush", [], {}), ("counts", [], {"expected": 1}), ("counts", [], {"expected": 1}), ("ordered", [[3, 1, 2]], {"expected": [1, 2, 3]}), ("ordered", [5], {}),
        ("Solution().f", [1], {"expected": [1]}), ("Solution.f", [1], {}), ("log", [], {}), ("Own", ["x"], {}), ("absent", [], {}), ("L", [[1, 2]], {})]]


def outcomes(r):
    rows = []
    for row in r["test_results"]:
        row.pop("duration_ms")
        text = json.dumps(row)
        # how deep the stack was is the driver's own
        rows.append(re.sub(r"\.\.\. \d+ more|0x[0-9a-f]+", "", text))
    return rows


def test_a_call_in_c_is_as_one_in_python(grade, cold):
    # The last ones change the process: with --shared they would change those behind them.
    fast, slow = outcomes(grade(OUTCOMES, CALLS)), outcomes(grade(OUTCOMES, CALLS, *cold))
    different = [(CALLS[i], a, b) for i, (a, b) in enumerate(zip(fast, slow)) if a != b]
    assert not different, different[:3]
    assert len(fast) == len(slow) == len(CALLS) > 90
    found = [json.loads(row)["reason"] for row in fast]
    assert {None, "exception", "unencodable", "exited", "missing_function", "wrong_value"} - set(found) <= {"wrong_value"}, set(found)


def test_what_goes_in_comes_out(grade):
    """Both ways through C and through Python, by chance."""
    rng = random.Random(5)

    def some(depth=0):
        kind = rng.randrange(7 if depth > 3 else 12)
        if kind < 7:
            return rng.choice([None, True, False, rng.randrange(-9, 9), rng.randrange(-2**65, 2**65), rng.uniform(-1e9, 1e9), "".join(chr(rng.randrange(1, 0xd7ff)) for _ in range(rng.randrange(9))),
                               bytes(rng.randrange(256) for _ in range(rng.randrange(9))), rng.choice([2**63, -2**63, 2**63 - 1, 10**17, 10**18, -10**18])])
        items = [some(depth + 1) for _ in range(rng.randrange(6))]
        if kind < 9:
            return items
        if kind == 9:
            return tuple(items)
        return {str(i) if kind == 10 else i: v for i, v in enumerate(items)}
    values = [some() for _ in range(300)]
    r = grade("def f(x):\n    return x\n", [{"args": [{"$py": repr(v)}], "expected": {"$py": repr(v)}} for v in values])
    wrong = [(values[i], row) for i, row in enumerate(r["test_results"]) if not row["passed"]]
    assert not wrong and r["passed"] == 300, wrong[:3]


def test_exact_is_strict(grade):
    pairs = [("1", True), ("True", 1), ("[1]", {"$tuple": [1]}), ("'1'", 1), ("None", False), ("0", None), ("''", None), ("[1, 2]", [2, 1]), ("{}", [])]
    code = "def f(i):\n    return [" + ", ".join(v for v, _ in pairs) + "][i]\n"
    r = grade(code, [{"args": [i], "expected": e} for i, (_, e) in enumerate(pairs)])
    assert r["passed"] == 0, r["test_results"]


def test_compare_kinds(grade):
    code = "def f(x):\n    return x\n"
    rows = [
        ([0.1 + 0.2], {"expected": 0.3}, False), ([0.1 + 0.2], {"expected": 0.3, "compare": "float"}, True), ([[0.1 + 0.2, [1]]], {"expected": [0.3, [1]], "compare": "approx-nested"}, True),
        ([100.0], {"expected": 101.0, "compare": {"kind": "float", "rel": 0.02}}, True), ([100.0], {"expected": 101.0, "compare": {"kind": "float", "rel": 0.001}}, False),
        ([[3, 1, 2]], {"expected": [1, 2, 3], "compare": "unordered"}, True), ([[1, 1, 2]], {"expected": [1, 2, 2], "compare": "unordered"}, False),
        ([[[1], {"a": 1}]], {"expected": [{"a": 1}, [1]], "compare": "unordered"}, True),
    ]
    r = grade(code, [{"args": a, **more} for a, more, _ in rows])
    assert [x["passed"] for x in r["test_results"]] == [good for _, _, good in rows]


def test_arguments_changed_in_place(grade):
    code = "def f(x):\n    x.sort()\n"
    r = grade(code, [{"args": [[2, 1]], "expected": None, "expected_args": [[1, 2]]}, {"args": [[2, 1]], "expected_args": [[2, 1]]}])
    assert reasons(r) == [None, "wrong_value"]


def test_kinds_of_functions(grade):
    code = ("import asyncio\nclass Solution:\n    def add(self, a, b): return a + b\n    @staticmethod\n    def two(): return 2\n"
            "async def later(x):\n    await asyncio.sleep(0)\n    return x\nasync def many():\n    for i in range(3): yield i\n")
    r = grade(code, [{"function": "Solution().add", "args": [1, 2], "expected": 3}, {"function": "Solution.two", "expected": 2}, {"function": "later", "args": [5], "expected": 5},
                     {"function": "many", "expected": [0, 1, 2]}, {"function": "Solution().add", "args": [1], "kwargs": {"b": 4}, "expected": 5}], func=None)
    assert r["all_passed"], r["test_results"]


def test_files(grade, tmp_path):
    """--file, one and a folder, for cases and for a program without."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "n.txt").write_text("7")
    (tmp_path / "helper.py").write_text("def seven(): return int(open('data/n.txt').read())\n")
    opts = ["--file", str(tmp_path / "data"), "--file", f"{tmp_path / 'helper.py'}:lib/helper.py"]
    code = "import sys\nsys.path.append('lib')\nfrom helper import seven\ndef f(): return seven()\nassert f() == 7\n"
    assert grade(code, [{"args": [], "expected": 7}], *opts)["all_passed"]
    c = harness.run("test", str(tmp_path / "solution.py"), "--json", *opts)
    assert json.loads(c.out)["success"], (c.out, c.err)


def test_setup_and_weights(grade, tmp_path):
    (tmp_path / "setup.py").write_text("BASE = 10\n")
    r = grade("def f(x):\n    return BASE + x\n", [{"args": [1], "expected": 11, "weight": 3}, {"args": [1], "expected": 0}], "--setup", str(tmp_path / "setup.py"))
    assert r["score"] == 0.75
    assert grade("def f(): return 1\n", [{"expected": 1, "weight": 0}])["score"] == 0
    (tmp_path / "setup.py").write_text("1/0\n")
    r = grade("def f(x):\n    return 1\n", [{"args": [1], "expected": 1}], "--setup", str(tmp_path / "setup.py"))
    assert not r["success"] and r["exception"]["type"] == "ZeroDivisionError" and "setup" in r["test_results"][0]["detail"]


def test_names_and_other_names(grade):
    r = grade("def f(x): return x\n", [{"name": "a", "input_args": [1], "expected_output": 1}, {"name": "a", "args": [2], "expected": 2}])
    assert [x["name"] for x in r["test_results"]] == ["a", "a#2"] and len(r["warnings"]) == 1 and r["all_passed"]


@pytest.mark.parametrize("cases,word", [
    ('[{"args": 1}]', "'args' must be a list"), ('[{"arg": []}]', "'arg' is no field"), ("{", "no JSON"), ('[{"expected": {"$tupel": []}}]', "$tupel"), ("[1]", "case 0"),
    ('[{"args": [], "args": []}]', "twice"), ('[{"expected": NaN}]', "$float"), ('[{"expected": {"$py": "f()"}}]', "$py"), ('[{"name": "n", "timeout_s": 0}]', "timeout_s"),
    ('[{"compare": "fuzzy"}]', "compare"), ('{"cases": [], "x": 1}', "'x'"), ('[{"args": [], "input_args": []}]', "twice"), ('[{"function": "a;b"}]', "function"),
])
def test_bad_cases_are_named(grade, cases, word):
    r = grade("def f(): pass\n", cases, rc=2)
    assert word in r.err.decode() if isinstance(r.err, bytes) else word in r.err, r.err


def test_no_result_without_its_receipt(tmp_path):
    """The store of receipts dies while a case runs: nothing is told of it, and the exit status says so; best-effort goes on."""
    (tmp_path / "s.py").write_text("import time\ndef f():\n    time.sleep(2)\n    return 1\n")
    (tmp_path / "c.json").write_text('[{"expected": 1}]')
    for mode, rc in (("required", 125), ("best-effort", 0)):
        p = harness.start("test", str(tmp_path / "s.py"), "--func", "f", "--cases", str(tmp_path / "c.json"), "--json", "--audit", mode)
        store = harness.wait_until(lambda: [pid for pid, st in harness.descendants(p.pid).items() if st[0] == "belljar-store"], 10)
        assert store, "there is no store"
        os.kill(store[0], signal.SIGKILL)
        r = harness.finish(p)
        assert r.rc == rc, (mode, r.rc, r.out, r.err)
        assert (b"receipt" in r.err and not r.out) if rc else json.loads(r.out)["all_passed"], (mode, r.out, r.err)


def test_a_case_cannot_ask_to_be_believed(grade):
    assert "'trust' is no field" in str(grade("def f(): pass\n", [{"trust": "in_guest"}], rc=2).err)


# ---- other languages -----------------------------------------------------------------------------

def test_javascript(grade):
    if not harness.languages()["node"]["installed"]:
        pytest.skip("node is not installed")
    code = ("const add = (a, b) => { console.log('hi'); return a + b; };\nfunction boom() { throw new RangeError('x'); }\nasync function later(x) { return [x, { a: null }]; }\n"
            "class Solution { twice(n) { this.n = (this.n || 0) + n; return n * 2; } }\nlet count = 0;\nfunction state() { return ++count; }\n")
    rows = [({"function": "add", "args": [1, 2], "expected": 3}, None), ({"function": "boom", "expected_exception": "RangeError"}, None),
            ({"function": "later", "args": ["q"], "expected": ["q", {"a": None}]}, None), ({"function": "Solution().twice", "args": [4], "expected": 8}, None),
            ({"function": "nope"}, "missing_function"), ({"function": "add", "args": ["a", "b"], "expected": "ba"}, "wrong_value"), ({"function": "state", "expected": 1}, None),
            ({"function": "state", "expected": 1}, None)]
    r = grade(code, [c for c, _ in rows], name="solution.js", func=None)
    assert reasons(r) == [w for _, w in rows]
    assert r["test_results"][0]["stdout"] == "hi\n"


def test_bash(grade):
    code = 'greet() { echo "hello $1"; }\nfail() { return 3; }\nspin() { while :; do :; done; }\n'
    rows = [({"function": "greet", "args": ["you"], "expected": "hello you"}, None), ({"function": "fail", "expected_exit": 3}, None), ({"function": "fail"}, "wrong_value"),
            ({"function": "greet", "args": [1], "expected": "hello 2"}, "wrong_value"), ({"function": "nope"}, "missing_function"), ({"function": "spin", "timeout_s": 0.1}, "timeout")]
    r = grade(code, [c for c, _ in rows], name="solution.sh", func=None)
    assert reasons(r) == [w for _, w in rows], r["test_results"]


def test_other_languages_are_refused(grade):
    assert "judge" in str(grade("int main(){}\n", [], name="s.c", rc=2).err)


@pytest.mark.parametrize("opts", [(), ("--shared",)], ids=["forked", "shared"])
@pytest.mark.parametrize("name, code, printed, programs", [
    ("solution.py", "def f(x):\n    print('x', x)\n    return x\n", "x 1\n", "python3"),
    ("solution.js", "function f(x) { console.log('x', x); return x }\n", "x 1\n", "node"),
    ("solution.sh", "f() { echo -n \"$1\"; }\n", None, "python3,bash"),
], ids=["python", "javascript", "bash"])
def test_with_an_allow_list(grade, name, code, printed, programs, opts):
    """Where files in memory, which somebody could start, are refused."""
    cases = [{"args": [1], "expected": "1" if name.endswith(".sh") else 1}, {"args": [2], "expected": "3" if name.endswith(".sh") else 3}]
    r = grade(code, cases, *opts, name=name, env={"BELLJAR_ALLOW": programs})
    assert reasons(r) == [None, "wrong_value"], r
    assert printed is None or r["test_results"][0]["stdout"] == printed, r
    assert reasons(grade(code, cases, *opts, name=name, env={"BELLJAR_ALLOW": "git"})) == ["policy", "policy"]


# ---- data sets -----------------------------------------------------------------------------------

def needs(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"there is no {path}: BELLJAR_DATA names the folder")
    return path


def evaluate(dataset, data, *opts, samples=None, rc=(0, 1)):
    words = ["--samples", str(samples)] if samples else ["--references"]
    r = harness.run("eval", dataset, "--data", str(data), *words, "--json", *opts, timeout=harness.seconds(300))
    assert r.rc in rc, (r.rc, r.out[-800:], r.err)
    return json.loads(r.out) if r.rc in (0, 1) else r


def test_humaneval_references(tmp_path):
    r = evaluate("humaneval", needs("humaneval/HumanEval.jsonl.gz"))
    assert r["samples"] == r["passed"] == 164 and r["pass_at"]["1"] == 1.0, r


def test_mbpp_references():
    r = evaluate("mbpp", needs("mbpp/mbpp.jsonl.gz"))
    assert r["samples"] == r["passed"] == 974, r


# ---- questions that are asked in a row -------------------------------------------------------------

def one_program(tmp_path, code, *tests):
    """What becomes of a sample whose tests are these statements."""
    data, out = tmp_path / "tasks.jsonl", tmp_path / "out.jsonl"
    data.write_text(json.dumps({"task_id": 1, "text": "", "code": code, "test_setup_code": "", "test_list": list(tests), "challenge_test_list": []}) + "\n")
    evaluate("mbpp", data, "--force", "--out", str(out))
    found = json.loads(out.read_text())
    return found["passed"], found["belljar"]["reason"], found["result"]


def test_a_later_question_does_not_wait_in_the_jar(tmp_path):
    """It may tell what should have been answered before."""
    code = """
import os, select, stat, time
def waiting(n):
    time.sleep(0.3)
    found = 0
    for fd in range(64):
        try:
            found += stat.S_ISFIFO(os.fstat(fd).st_mode) and bool(select.select([fd], [], [], 0)[0])
        except (OSError, ValueError):
            pass
    return found
"""
    assert one_program(tmp_path, code, "assert waiting(1) == 0", "assert waiting(2) == 0")[0]


def test_a_test_that_asks_something_else_begins_anew(tmp_path):
    """What was foreseen, and asked in vain, has left no traces."""
    code = "log = []\ndef f(n):\n    log.append(n)\n    return len(log) + 4\n"
    passed, _, why = one_program(tmp_path, code, "x = f(1)", "assert (f(2) if x == 1 else f(3)) == 6", "try:\n    assert f(4) == 7\nexcept:\n    raise ValueError(log)")
    assert passed, why


def test_the_first_failure_counts(tmp_path):
    code = "import os\ndef f(n):\n    while n == 2: pass\n    if n == 3: os._exit(0)\n    return n\n"
    assert one_program(tmp_path, code, "assert f(1) == 2", "assert f(2) == 2")[1] == "wrong_value"
    assert one_program(tmp_path, code, "assert f(1) == 2", "assert f(3) == 2")[1] == "wrong_value"
    assert one_program(tmp_path, code, "assert f(1) == 1", "assert f(3) == 2")[1] == "exited"
    assert one_program(tmp_path, code, "assert f(1) == 1", "assert g(3) == 2")[2] == "failed: name 'g' is not defined"


AT_FORK = "import os\ndef f(x): return x\nn = [0]\ndef born():\n    if n[0] == 2: os._exit(3)\ndef count(): n[0] += 1\nos.register_at_fork(before=count, after_in_child=born)\n"
FOUR = [{"args": [i], "expected": i} for i in range(4)]


def test_a_case_whose_process_never_reads_it(grade, cold):
    assert reasons(grade(AT_FORK, FOUR, *cold)) == [None, "exited", None, None]


def test_a_case_is_no_fork_of_the_solutions(grade):
    """Where a zygote made the driver: what the solution wants to do at a fork is about its own."""
    assert reasons(grade(AT_FORK, FOUR)) == [None] * 4


KILLER = """
import os, signal
def f(x):
    if x == 1:
        for pid in os.listdir("/proc"):
            if pid.isdigit() and int(pid) not in (1, os.getpid(), os.getppid()):
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except OSError:
                    pass
    return x
"""
THREADS = "import threading, time\nlock = threading.Lock()\ndef work():\n    while True:\n        with lock: time.sleep(0.01)\n" \
          "threading.Thread(target=work, daemon=True).start()\ndef f(x):\n    return x if threading.active_count() == 2 else threading.active_count()\n"


FORKS = "import os\ndef f(x):\n    pid = os.fork()\n    if not pid: os._exit(0)\n    os.waitpid(pid, 0)\n    return x\n"
SIGNALS = "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: 1 / 0)\ndef f(x):\n    if x == 1:\n        os.kill(os.getppid(), signal.SIGINT); os.kill(os.getppid(), signal.SIGUSR1)\n    return x\n"
LATER = "import threading, time\ntable = {}\nthreading.Timer(0.3, lambda: table.update(x=1)).start()\n" \
        "def f(x):\n    time.sleep(0.6)\n    return x if table else table\n"


IGNORES_IN_THREADS = "import signal, threading, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()\ndef f(x): return x\n"
# Whoever forked hears of the child only when it is no more.
GONE_AT_ONCE = "import os\n" + IGNORES_IN_THREADS + "os.register_at_fork(after_in_parent=lambda: time.sleep(0.3))\n"
# What is returned changes when its sets are walked: that makes an iterator, which begins a collection, which calls __del__.
COLLECTED = """
import gc
class K:
    def __del__(self): self.x.clear()
def f(n):
    x = [[{1, 2}, {3}] for _ in range(1000)]
    gc.collect()
    k = K(); k.x = x; k.k = k
    x.insert(0, 7)
    gc.set_threshold(1, 10**6, 10**6)
    k = None
    return [n, x] and (x if n > 9 else n)
def many(n): return f(10)
"""


@pytest.mark.parametrize("code, opts", [(KILLER, ()), (FORKS, ("--pids", "3")), (SIGNALS, ()), (LATER, ()), (THREADS, ()), ("def f(x): return x\n", ("--pids", "2")), ("import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\ndef f(x): return x\n", ()),
                                        (IGNORES_IN_THREADS, ()), (GONE_AT_ONCE, ()), ("import os\ndef f(x):\n    os.fork()\n    return x\n", ()), (COLLECTED, ())],
                         ids=["the next one is killed", "few processes", "signals for the driver", "a thread goes on", "the solution has threads", "no process can wait", "children are ignored", "and it has threads", "and they are gone at once", "two come back", "a collection while the value is looked at"])
def test_all_cases_of_an_odd_solution(grade, code, opts):
    assert reasons(grade(code, FOUR, *opts)) == [None] * 4


def test_a_value_that_changes_while_it_is_looked_at(grade, cold):
    for opts in ((), ("--shared",), cold):
        found = reasons(grade(COLLECTED, [{"function": "many", "args": [1]}, {"args": [2], "expected": 2}], *opts))
        assert found == [None, None], (opts, found)


def test_sets_have_the_same_order_on_both_sides(tmp_path):
    """As in a harness that runs both in one process; whatever zygotes they come from."""
    (tmp_path / "belljar").mkdir()
    (tmp_path / "belljar" / "config.yaml").write_text("pool: {zygotes: 3}\n")
    words = "w = ['w%d' % i for i in range(30)]\nassert f(w) == list(set(w))"
    lines = [{"task_id": i, "text": "", "code": "def f(x):\n    return list(set(x))\n", "test_list": [words], "test_setup_code": "", "challenge_test_list": []} for i in range(24)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    r = harness.run("eval", "mbpp", "--data", str(tmp_path / "data.jsonl"), "--references", "--json", "-j", "4", env={"XDG_CONFIG_HOME": str(tmp_path)}, timeout=harness.seconds(120))
    assert r.rc == 0 and json.loads(r.out)["passed"] == 24, (r.rc, r.out[-500:], r.err)


def test_one_jar_is_not_enough(tmp_path):
    """The verifier would have it, and the candidate would be late."""
    (tmp_path / "belljar").mkdir()
    (tmp_path / "belljar" / "config.yaml").write_text("pool: {ceiling: 1}\n")
    (tmp_path / "s.py").write_text("def f(x):\n    return x\n")
    (tmp_path / "c.json").write_text('[{"args": [1], "expected": 1}]')
    r = harness.run("test", str(tmp_path / "s.py"), "--func", "f", "--cases", str(tmp_path / "c.json"), "--json", env={"XDG_CONFIG_HOME": str(tmp_path)})
    assert r.rc == 0, (r.rc, r.out[-500:], r.err)


def test_a_case_has_what_the_solution_drew(grade):
    """A seed that the solution has set is one in every case."""
    code = "import random\nrandom.seed(7)\ndef f(x): return random.randrange(1000)\n"
    import random
    random.seed(7)
    n = random.randrange(1000)
    assert reasons(grade(code, [{"args": [i], "expected": n} for i in range(3)])) == [None] * 3


def test_quixbugs_buggy():
    r = evaluate("quixbugs", needs("quixbugs/quixbugs.jsonl"), "--field", "buggy", "--cpu-time", "1s")
    assert r["samples"] == 31 and r["passed"] == 0, r


def own_tasks(tmp_path):
    data = tmp_path / "tasks.jsonl.gz"
    tasks = [{"task_id": f"t/{c}", "function": "f", "cases": [{"args": [i], "expected": i * 2} for i in range(3)], "solution": "def f(x): return 2 * x\n"} for c in "abc"]
    with gzip.open(data, "wt") as f:
        f.writelines(json.dumps(t) + "\n" for t in tasks)
    data.chmod(0o644)
    return data


def test_results_order_resume_and_k(tmp_path):
    data, samples = own_tasks(tmp_path), tmp_path / "s.jsonl"
    good, bad = "def f(x): return 2 * x\n", "def f(x): return x\n"
    lines = [{"task_id": t, "solution": good if i % 2 else bad, "extra": i} for t in ("t/a", "t/b", "t/c") for i in range(4)]
    samples.write_text("".join(json.dumps(x) + "\n" for x in lines))
    samples.chmod(0o644)
    r = evaluate("cases", data, "-k", "1,2", samples=samples)
    assert r["passed"] == 6 and r["pass_at"]["1"] == 0.5 and abs(r["pass_at"]["2"] - (1 - 2 / 12)) < 1e-9, r
    out = Path(str(samples) + "_results.jsonl")
    rows = [json.loads(x) for x in out.read_text().splitlines()]
    assert [x["extra"] for x in rows] == [x["extra"] for x in lines] and [x["passed"] for x in rows] == [bool(i % 2) for _ in range(3) for i in range(4)]
    assert rows[1]["result"] == "passed" and rows[0]["result"].startswith("failed") and rows[0]["belljar"]["reason"] == "wrong_value"
    # a second run does not throw results away, and --resume goes on after what is whole
    assert evaluate("cases", data, samples=samples, rc=(2,)).rc == 2
    whole = out.read_text()
    out.write_text("".join(whole.splitlines(True)[:5]) + '{"task_id": "t/b", "pas')
    r = evaluate("cases", data, "--resume", samples=samples)
    assert r["samples"] == 12 and r["passed"] == 6
    assert [json.loads(x)["passed"] for x in out.read_text().splitlines()] == [x["passed"] for x in rows]


def test_incomplete_and_bad_samples(tmp_path):
    data, samples = own_tasks(tmp_path), tmp_path / "s.jsonl"
    samples.write_text('{"task_id": "t/a", "solution": "def f(x): return 2 * x"}\n')
    samples.chmod(0o644)
    r = evaluate("cases", data, "--out", str(tmp_path / "o1"), samples=samples, rc=(2,))
    assert "no sample" in str(r.err)
    assert evaluate("cases", data, "--out", str(tmp_path / "o2"), "--ignore-incomplete", samples=samples)["passed"] == 1
    for line, word in (('{"task_id": "t/z", "solution": ""}', "no task"), ('{"solution": ""}', "task_id"), ('{"task_id": "t/a"}', "completion")):
        samples.write_text(line + "\n")
        r = evaluate("cases", data, "--out", str(tmp_path / "o3"), "--force", samples=samples, rc=(2,))
        assert word in str(r.err), r.err


# ---- nothing that is graded is our failure ---------------------------------------------------------

ODD = {
    "printed": "def f(x):\n    print('a\\0b\\ud800'.encode('utf-8', 'surrogatepass'), 'a\\0b')\n    return x\n", "raised": "def f(x):\n    raise ValueError('a\\0b\\ud800')\n",
    "named": "globals()['a\\0b'] = globals()['\\ud800'] = lambda: 1\ndef f(x): return x\n", "returned": "def f(x): return '\\0\\ud800' * 500\n", "at load": "print('\\0')\nraise KeyError('\\0')\n",
    "own class": "class Node: pass\ndef f(x): return Node()\n",
}


def test_any_text_is_only_text(grade):
    for name, code in ODD.items():
        r = grade(code, [{"args": [1], "expected": 1}])
        assert r["all_passed"] == (name in ("printed", "named")), (name, r)
    assert "\0" in grade(ODD["printed"], [{"args": [1], "expected": 1}])["test_results"][0]["stdout"]


def test_eval_takes_any_text_and_knows_own_classes(tmp_path):
    data, samples, out = tmp_path / "d.jsonl", tmp_path / "s.jsonl", tmp_path / "out.jsonl"
    data.write_text("".join(json.dumps({"task_id": n, "function": "f", "cases": [{"args": [1], **({"expected_type": "Node"} if n == "own class" else {"expected": 1})}]}) + "\n" for n in ODD))
    samples.write_text("".join(json.dumps({"task_id": n, "solution": c}) + "\n" for n, c in ODD.items()))
    for more in ([], ["--resume"]):
        r = harness.run("eval", "cases", "--data", str(data), "--samples", str(samples), "--out", str(out), "-q", *more)
        assert r.rc in (0, 1), (r.rc, r.out, r.err)
        found = {x["task_id"]: x["passed"] for x in map(json.loads, out.read_text().splitlines())}
        assert found == {n: n in ("printed", "named", "own class") for n in ODD}


def test_sources_that_classes_are_looked_up_in(tmp_path):
    """Also one that is no UTF-8, and the setup."""
    (tmp_path / "s.py").write_bytes(b"# coding: latin-1\n# \xe9\nclass Node: pass\ndef f(x):\n    if x: raise Low(x)\n    return Node()\n")
    (tmp_path / "setup.py").write_text("class Low(Exception): pass\n")
    (tmp_path / "c.json").write_text(json.dumps([{"args": [0], "expected_type": "Node"}, {"args": [1], "expected_exception": "Low"}, {"args": [1], "expected_exception": "High"}]))
    r = harness.run("test", str(tmp_path / "s.py"), "--func", "f", "--cases", str(tmp_path / "c.json"), "--setup", str(tmp_path / "setup.py"), "--json")
    assert reasons(json.loads(r.out)) == [None, None, "exception"], r.out[-1500:]
