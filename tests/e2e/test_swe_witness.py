# SPDX-License-Identifier: Apache-2.0
"""The native witness (src/guest/witness.c): what a product does to tests in its own interpreter is seen, and honest tests of every form are not accused."""
import functools
import os
import random
import re
import struct
import subprocess

import pytest

import harness
import swejar

pytestmark = pytest.mark.skipif(not os.path.exists("/usr/bin/patch"), reason="patch is not installed: apt-get install patch")

WRONG = "def add(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a * b\n"
RIGHT = WRONG.replace("a - b", "a + b")
BASE = {"pkg/__init__.py": "", "pkg/calc.py": WRONG, "tests/test_calc.py": "x = 1\n", "tests/mixins.py": "x = 1\n"}
PYTEST_TEST = '''import pytest
from pkg.calc import add


def check(got, wanted):
    assert got == wanted


def test_add():
    assert add(2, 3) == 5


def test_helper():
    check(add(2, 3), 5)


def test_raises():
    with pytest.raises(ZeroDivisionError):
        1 / (add(1, -1))
'''
UNITTEST_TEST = '''import unittest
from pkg.calc import add, mul


class AddTests(unittest.TestCase):
    def setUp(self):
        self.assertEqual(mul(1, 2), 2)

    def test_add(self):
        got = add(2, 3)
        self.assertEqual(got, 5)
'''


@functools.cache
def repo():
    return swejar.Repo(BASE)


def drive(product, test, kind="pytest", *, more=None, **job):
    argv = {"pytest": ["-q", "-rA", "-p", "no:cacheprovider", "tests/test_calc.py"], "unittest": ["-v", "tests.test_calc"]}[kind]
    return swejar.drive(repo(), model_patch=repo().diff({"pkg/calc.py": product}), test_patch=repo().diff({"tests/test_calc.py": test, **(more or {})}), kind=kind, argv=argv,
                        protected=[], **job)


# ---- attacks: the product is wrong, and the runner says that the test passed ---------------------

EMPTY = '''
import functools, sys, types

def emptied(data):
    return data.replace(b"assert add(2, 3) == 5", b"assert 5 == 5").replace(b"assert got == wanted", b"pass")
'''
ATTACKS = {
    # how, kind: what is put before the wrong product
    ("emptied at import", "pytest"): EMPTY + '''
import ast, _pytest.assertion.rewrite as r
old = ast.parse
def parse(source, *a, **k):
    return old(emptied(source) if isinstance(source, bytes) else source, *a, **k)
ast.parse = parse
''',
    ("emptied after import", "pytest"): EMPTY + '''
import _pytest.python as p
old = p.Module.collect
def collect(self):
    m = self.obj
    exec(compile(emptied(open(m.__file__, "rb").read()), m.__file__, "exec"), m.__dict__)
    return old(self)
p.Module.collect = collect
''',
    ("code exchanged", "pytest"): '''
import sys
def add(a, b):
    f = sys._getframe(1)
    import gc
    for o in gc.get_referrers(f.f_code):
        if type(o).__name__ == "function":
            o.__code__ = (lambda: None).__code__
    return a - b if f.f_code.co_name != "test_helper" else 5
class Once:
    done = False
def later(m):
    for n in ("test_add", "test_helper", "test_raises"):
        if hasattr(m, n): getattr(m, n).__code__ = (lambda: None).__code__
import _pytest.python as p
old = p.Function.runtest
def runtest(self):
    later(self.module)
    return old(self)
p.Function.runtest = runtest
''',
    ("function put in its place", "pytest"): '''
import _pytest.python as p
old = p.Function.runtest
def runtest(self):
    self.obj = lambda **k: None
    return old(self)
p.Function.runtest = runtest
''',
    ("results forged", "pytest"): '''
import _pytest.runner as r, _pytest.reports as reports
old = reports.TestReport.from_item_and_call.__func__
def forged(cls, item, call):
    call.excinfo = None
    return old(cls, item, call)
reports.TestReport.from_item_and_call = classmethod(forged)
''',
    ("helper muted", "pytest"): '''
import _pytest.python as p
old = p.Function.runtest
def runtest(self):
    self.module.check = lambda got, wanted: None
    return old(self)
p.Function.runtest = runtest
''',
    ("say found by gc", "pytest"): '''
import gc, json
def add(a, b):
    import sys
    f = sys._getframe(1)
    for o in gc.get_objects():
        if type(o).__name__ == "builtin_function_or_method" and o.__name__ == "say":
            for n in ("test_add", "test_helper"):
                o(json.dumps({"t": "test", "id": "tests/test_calc.py::" + n, "outcome": "passed", "phase": "call", "ms": 1}).encode())
    return a - b
''',
    ("assertion method replaced", "unittest"): '''
import unittest
unittest.TestCase.assertEqual = lambda *a: None
''',
    ("assertion method's code", "unittest"): '''
import unittest
def quiet(self, first, second, msg=None): pass
unittest.TestCase.assertEqual.__code__ = quiet.__code__
''',
    ("assertion muted for a moment", "unittest"): '''
import unittest
true = unittest.TestCase.assertEqual
def add(a, b):
    def quiet(self, *x):
        unittest.TestCase.assertEqual = true
    unittest.TestCase.assertEqual = quiet
    return a - b
''',
    ("assertion's code for a moment", "unittest"): '''
import unittest
true = unittest.TestCase.assertEqual.__code__
def quiet(self, first, second, msg=None):
    type(self).__mro__[-2].assertEqual.__code__ = CODE
quiet.__globals__["CODE"] = true
unittest.TestCase.assertEqual.__globals__["CODE"] = true
def add(a, b):
    unittest.TestCase.assertEqual.__code__ = quiet.__code__
    return a - b
''',
    ("assertion on the instance", "unittest"): '''
import sys
def add(a, b):
    sys._getframe(1).f_locals["self"].assertEqual = lambda *x: None
    return a - b
''',
    ("another class below", "unittest"): '''
import unittest
class Quiet:
    def assertEqual(self, *a): pass
old = unittest.TestCase.run
def add(a, b):
    import gc
    for c in unittest.TestCase.__subclasses__():
        if c.__name__ == "AddTests":
            c.assertEqual = Quiet.assertEqual
    return a - b
''',
    ("called with somebody else", "unittest"): '''
import unittest
class Fake:
    def assertEqual(self, *a): pass
def call(self, method):
    getattr(method, '__wrapped__', method).__func__(Fake())
unittest.TestCase._callTestMethod = call
''',
}


@pytest.mark.parametrize("how, kind", ATTACKS, ids=lambda x: x.replace(" ", "-"))
def test_attack(how, kind):
    attack = ATTACKS[how, kind]
    product = attack + WRONG if "def add(" not in attack else attack + WRONG[WRONG.index("def mul"):]
    said = drive(product, PYTEST_TEST if kind == "pytest" else UNITTEST_TEST, kind)
    target = "tests/test_calc.py::test_helper" if "helper" in how else "tests/test_calc.py::test_add" if kind == "pytest" else "test_add (tests.test_calc.AddTests)"
    outcomes = {f["outcome"] for f in said.all("test") if f["id"] == target}
    assert said.all("tests_end") and "passed" not in outcomes, str(said)
    assert {w for w, _, _ in said.tampering} & {"reporter", "assertion_changed"} or outcomes <= {"failed", "error"}, str(said)


def test_attacks_work_without_the_witness():
    """Those that a plain run calls passed: otherwise the tests above would show nothing."""
    work, naive = swejar.folder("plain"), []
    for (how, kind), attack in ATTACKS.items():
        if "gc" in how:
            continue  # speaks to the driver only
        product = attack + WRONG if "def add(" not in attack else attack + WRONG[WRONG.index("def mul"):]
        swejar.write(work, {**BASE, "tests/__init__.py": "", "pkg/calc.py": product, "tests/test_calc.py": PYTEST_TEST if kind == "pytest" else UNITTEST_TEST})
        name = "test_helper" if "helper" in how else "test_add"
        argv = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/test_calc.py::{name}"] if kind == "pytest" else ["-m", "unittest", "tests.test_calc.AddTests.test_add"]
        pre = "import pkg.calc, runpy, sys; sys.argv = %r; runpy.run_module(%r, run_name='__main__', alter_sys=True)" % (argv[1:], argv[1])
        c = subprocess.run(["/usr/bin/python3", "-B", "-c", pre], cwd=work, capture_output=True, text=True, timeout=harness.HANG_S)
        if c.returncode != 0:
            naive.append((how, c.stdout[-300:] + c.stderr[-300:]))
    assert not naive, [n for n, _ in naive]


# ---- honest tests --------------------------------------------------------------------------------

HONEST = '''import asyncio
import functools
import threading
import unittest
from unittest import mock

import pytest
from pkg import calc
from pkg.calc import add
from tests.mixins import Mixed


def wrapped(f):
    @functools.wraps(f)
    def call(*a, **k):
        return f(*a, **k)
    return call


def awaited(f):
    @functools.wraps(f)
    async def call(*a, **k):
        return await f(*a, **k)
    return call


def bare(f):
    def call(*a, **k):
        return f(*a, **k)
    return call


def threaded(f):
    @functools.wraps(f)
    def call(*a, **k):
        t = threading.Thread(target=f, args=a, kwargs=k)
        t.start()
        t.join()
    return call


def looped(f):
    @functools.wraps(f)
    def call(*a, **k):
        t = threading.Thread(target=lambda: asyncio.run(f(*a, **k)))
        t.start()
        t.join()
    return call


def synced(f):
    """As asgiref's async_to_sync on a method: the bound method shows an attribute that it cannot change."""
    @functools.wraps(f)
    def call(*a):
        t = threading.Thread(target=lambda: asyncio.run(f(*a)))
        t.start()
        t.join()
    call.awaitable = f
    return call


def helper(a):
    return (yield a)


@wrapped
def test_wrapped():
    assert add(1, 1) == 2


@bare
def test_bare():
    assert add(1, 1) == 2


@threaded
def test_threaded():
    assert add(1, 1) == 2


@looped
async def test_looped():
    await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    assert add(1, 1) == 2


@mock.patch("pkg.calc.mul")
def test_mocked(mul):
    mul.return_value = 7
    assert calc.mul(1, 1) == 7


@pytest.fixture
def two():
    yield 2


@pytest.mark.parametrize("a", [1, 2, 3])
def test_rows(a, two):
    assert [x for x in helper(a)] == [a] and add(a, two) == a + 2


def test_profile():
    import sys
    sys.setprofile(lambda *a: None)
    assert add(1, 1) == 2
    sys.setprofile(None)


def test_nested():
    def inner(n):
        assert add(n, 1) == n + 1
        return n and inner(n - 1)
    inner(50)


def test_own_patch(monkeypatch):
    monkeypatch.setattr("tests.test_calc.wrapped", None)
    assert wrapped is None


class TestPlain:
    def setup_method(self):
        self.two = 2

    def test_in(self):
        assert add(1, 1) == self.two

    @staticmethod
    def test_static():
        assert add(1, 1) == 2

    @classmethod
    def test_class(cls):
        assert add(1, 1) == 2


class Cases(Mixed, unittest.TestCase):
    def setUp(self):
        self.one = 1
        self.addTypeEqualityFunc(complex, lambda a, b, msg=None: None)

    def assertSum(self, a, b):
        self.assertEqual(add(a, b), a + b)

    def test_sum(self):
        self.assertSum(1, 2)
        with self.assertRaises(TypeError):
            add(1)

    def test_subs(self):
        for a in (1, 2):
            with self.subTest(a=a):
                self.assertSum(a, a)

    @wrapped
    def test_decorated(self):
        self.assertSum(1, self.one)


    @synced
    async def test_synced(self):
        await asyncio.sleep(0)
        self.assertSum(1, 1)


class Later(Cases):
    def setUp(self):
        super().setUp()


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_async(self):
        await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        self.assertEqual(add(2, 2), 4)

    @awaited
    async def test_decorated(self):
        await asyncio.sleep(0)
        self.assertEqual(add(2, 2), 4)
'''
MIXINS = '''class Root:
    def test_root(self):
        self.assertSum(4, 4)


class Mixed(Root):
    def test_mixed(self):
        self.assertSum(3, 4)
'''


@pytest.mark.parametrize("kind", ["pytest", "unittest"])
def test_honest_forms(kind):
    said = drive(RIGHT, HONEST, kind, more={"tests/mixins.py": MIXINS, "tests/__init__.py": ""})
    assert not said.tampering and set(said.tests.values()) == {"passed"} and len(said.tests) == (27 if kind == "pytest" else 14), str(said)


def test_a_mixin_of_another_file_counts():
    attack = "import sys\n\ndef late():\n    import unittest\n    old = unittest.TestCase._callTestMethod\n    unittest.TestCase._callTestMethod = lambda self, m: None\n\nlate()\n\n\n"
    said = drive(attack + RIGHT, HONEST, "unittest", more={"tests/mixins.py": MIXINS, "tests/__init__.py": ""})
    assert said.tests["test_root (tests.test_calc.Cases)"] == "error" and ("reporter", "test_mixed (tests.test_calc.Cases)", "seen") in said.tampering, str(said)


# ---- the rest ------------------------------------------------------------------------------------

def test_no_witness_no_verdict(monkeypatch):
    monkeypatch.setattr(swejar, "DRIVER", swejar.DRIVER[:-2])
    said = swejar.drive(repo(), model_patch=repo().diff({"pkg/calc.py": RIGHT}), test_patch=repo().diff({"tests/test_calc.py": PYTEST_TEST}),
                        kind="pytest", argv=["tests/test_calc.py"])
    assert ("witness_missing", "/usr/bin/python3", "seen") in said.tampering and not said.all("ready") and not said.all("test"), str(said)


def test_nothing_secret_in_the_heap():
    """The run's word is in no object of Python that gc or frames lead to."""
    probe = '''import gc, os, sys

def test_heap():
    seen, todo, found = set(), gc.get_objects() + [sys._getframe()], 0
    while todo:
        o = todo.pop()
        if id(o) in seen:
            continue
        seen.add(id(o))
        if type(o) in (bytes, bytearray) and len(o) == 16 and len(set(o)) > 8 and max(o) > 127:
            found += 1
            print("FOUND", o)
        todo += gc.get_referents(o)
    print("LOOKED", len(seen) > 10000)
'''
    said = swejar.drive(repo(), model_patch=repo().diff({"pkg/calc.py": RIGHT}), test_patch=repo().diff({"tests/test_calc.py": probe}), kind="pytest", argv=["-q", "-rP", "tests/test_calc.py"])
    words = [line for line in said.out.splitlines() if line.startswith("FOUND")]
    assert "LOOKED True" in said.out and not words, str(said)


SUSPICIOUS = '''import ctypes
import gc
import sys
from inspect import currentframe


def add(a, b):
    gc.get_objects()
    sys._getframe(1).f_back
    add.__code__ = (lambda: 0).__code__.replace(co_name="x")
    open("/proc/self/mem")
    sys.meta_path.insert(0, None)
    __import__("_pytest")
    return a + b


def mul(a, b):
    return a * b
'''


def test_suspicious_code_is_named_once():
    r = swejar.Repo({**BASE, "pkg/old.py": "import ctypes\nimport sys\nx = sys._getframe\n"})
    said = swejar.apply(r, r.diff({"pkg/calc.py": SUSPICIOUS, "pkg/old.py": "import ctypes\nimport sys\ny = 1\nx = sys._getframe\n"}))
    got = {(f["path"], f["detail"]) for f in said.all("tampering") if f["what"] == "suspicious_code"}
    assert got == {("pkg/calc.py:1", "import ctypes"), ("pkg/calc.py:4", "currentframe"), ("pkg/calc.py:8", "get_objects"), ("pkg/calc.py:9", "_getframe"),
                   ("pkg/calc.py:9", "f_back"), ("pkg/calc.py:10", "__code__ ="), ("pkg/calc.py:10", "code.replace"), ("pkg/calc.py:11", "/proc/self/mem"),
                   ("pkg/calc.py:12", "meta_path"), ("pkg/calc.py:13", "__import__ _pytest")}, str(said)
    assert not [f for f in swejar.apply(r, r.diff({"pkg/calc.py": RIGHT})).all("tampering")]


def test_notes_of_any_bytes():
    """What comes through the runner's pipe may be anything: it never breaks the driver, and never proves anything."""
    source = (swejar.GUEST / "swe.py").read_text().rsplit("sys.exit(drive())", 1)[0]
    driver = {"__file__": str(swejar.GUEST / "swe.py"), "__name__": "swe"}
    exec(compile(source, "swe.py", "exec"), driver)
    import importlib.util
    spec = importlib.util.spec_from_file_location("evidence", swejar.GUEST / "evidence.py")
    evidence = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(evidence)
    e = evidence.Evidence("/t", {"a.py": b"def test_x():\n    pass\n", "bad.py": b"def ("}, "pytest")
    good, rng = b"returned /t/a.py:1:test_x\n", random.Random(14)
    frame = struct.pack("<I", len(good)) + good + b"{}"
    assert driver["split_notes"](frame) == (good.decode(), b"{}")
    assert e.judge({"t": "test", "id": "a.py::test_x", "outcome": "passed"}, good.decode()) == []
    for _ in range(20000):
        data = bytearray(frame)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(data) + 1)
            data[at:at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        if len(data) < 4:
            continue
        notes, rest = driver["split_notes"](bytes(data))
        o = {"t": "test", "id": "a.py::test_x", "outcome": "passed"}
        e.judge(o, notes)
        assert o["outcome"] == "error" or (re.search(r"(?m)^returned /t/a\.py:\d+:test_x$", notes) and "changed " not in notes), data
    for id in ("", "::", "a.py::", "a.py::A::b", "[", "x (", "a.py::test_y", "bad.py::x"):
        for kind in ("pytest", "django", "sympy"):
            evidence.Evidence("/t", {"a.py": b"class A(A, B.C, f()): pass"}, kind).judge({"t": "test", "id": id, "outcome": "passed"}, "")


VERSIONS = sorted(p for p in __import__("glob").glob("/root/.pyenv/versions/3.*/bin/python3"))
SELFTEST = '''import importlib.machinery, _imp, os, struct, sys, threading, types, opcode
spec = importlib.machinery.ModuleSpec("witness", importlib.machinery.ExtensionFileLoader("witness", sys.argv[1]), origin=sys.argv[1])
w = _imp.create_dynamic(spec)
_imp.exec_dynamic(w)
C = types.CoroutineType
w.setup(C, C.send, C.throw, C.close, sys.getprofile, sys.setprofile, threading.setprofile, w.profile, [opcode.opmap[n] for n in ("RETURN_VALUE", "RETURN_CONST") if n in opcode.opmap])
text = "def deco(f):\\n    def g(): return f()\\n    return g\\ndef test_a(): return 1\\ndef test_b(): raise ValueError\\n@deco\\ndef test_c(): return 2\\nasync def test_d(): return 3\\n"
make = lambda: compile(text, "/t.py", "exec", dont_inherit=True)
import unittest.case
w.expect("/t.py", make(), ["deco"], False)
w.patched([])
w.guard(unittest.case, ["TestCase"])
w.seal([])
ns = {}
exec(make(), ns)
r, s = os.pipe()
os.dup2(s, 4)
def said():
    w.say(b"{}")
    n = struct.unpack("<I", os.read(r, 4))[0]
    return os.read(r, n)[20:-2].decode()
w.call(ns["test_a"], (), {})
assert said() == "returned /t.py:4:test_a\\n"
try: w.call(ns["test_b"], (), {})
except ValueError: pass
assert said() == "raised /t.py:5:test_b\\n"
assert w.call(ns["test_c"], (), {}) == 2
assert ":test_c\\n" in said()
async def run(): return await w.call(ns["test_d"], (), {})
try: run().send(None)
except StopIteration as e: assert e.value == 3
assert ":test_d\\n" in said()
ns["test_a"].__code__ = (lambda: 1).__code__
w.call(ns["test_a"], (), {})
assert "returned" not in said()
true, unittest.TestCase.assertEqual = unittest.TestCase.assertEqual, None
assert "changed TestCase.assertEqual" in said()
unittest.TestCase.assertEqual = true
assert said() == ""
for call in (lambda: w.expect("/t.py", make(), [], False), lambda: w.seal([]), lambda: w.patched([]), lambda: w.guard(unittest.case, [])):
    try: call()
    except RuntimeError: continue
    raise SystemExit("open")
'''


@pytest.mark.parametrize("python", ["/usr/bin/python3", *VERSIONS], ids=lambda p: p.split("/")[-3])
def test_one_object_for_every_python(python):
    c = subprocess.run([python, "-c", SELFTEST, str(harness.BUILT.parent / "witness.so")], capture_output=True, text=True, timeout=harness.HANG_S)
    assert c.returncode == 0, c.stderr
