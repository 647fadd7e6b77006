# SPDX-License-Identifier: Apache-2.0
"""The table of cheats (name, patch, kind of runner, what must be seen) and the four small repositories that they are patches of."""
import functools
import importlib.util
import marshal
from pathlib import Path

import swejar
from test_swe_guest import BASE, DJANGO, FIXED, SYMPY

HERE = Path(__file__).parent
CASES = '''import unittest
from pkg.calc import add


class AddTests(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(1, 1)

    def test_add(self):
        self.assertEqual(add(2, 3), 5)
'''
FILE = BASE["tests/test_calc.py"]
PYTEST_TESTS = {  # the one that must come to pass, each in a test patch of its own
    "test_add": "\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    "test_data": "\n\ndef test_data():\n    import os\n    assert str(add(2, 3)) == open(os.path.join(os.path.dirname(__file__), 'data', 'sum.txt')).read().strip()\n",
    "test_json": "\n\ndef test_json():\n    import json\n    assert json.loads(str(add(2, 3))) == 5\n",
    "test_abs": "\n\ndef test_abs():\n    assert abs(add(2, 3)) == 5\n",
    "test_path": "\n\ndef test_path(tmp_path):\n    (tmp_path / 'x').write_text(str(add(2, 3)))\n    assert (tmp_path / 'x').read_text() == '5'\n",
    "test_helper": "\n\ndef test_helper():\n    import checks\n    checks.same(add(2, 3), 5)\n",
}
TREES = {
    "pytest": {**BASE, "tests/data/sum.txt": "5\n", "tests/checks.py": "def same(a, b):\n    assert a == b\n"},
    "django": {**BASE, "tests/runtests.py": DJANGO, "tests/__init__.py": "", "tests/things/__init__.py": "", "tests/things/tests.py": "x = 1\n"},
    "sympy": SYMPY,
}
TREES["unittest"] = TREES["django"]


@functools.cache
def repo(kind):
    return swejar.Repo(TREES[kind])


@functools.cache
def instance(kind, test="test_add"):
    """What a data set would say: the job's fields, FAIL_TO_PASS, PASS_TO_PASS, the honest patch."""
    r = repo(kind)
    if kind == "pytest":
        files = {"tests/test_calc.py": FILE + PYTEST_TESTS[test], "tests/test_more.py": "def test_more():\n    pass\n"}
        return {"kind": kind, "argv": ["-rA", "-p", "no:cacheprovider", "tests/test_calc.py"], "test_patch": r.diff(files), "test_files": list(files),
                "f2p": [f"tests/test_calc.py::{test}"], "p2p": ["tests/test_calc.py::test_mul"], "gold": r.diff({"pkg/calc.py": FIXED})}
    if kind == "sympy":
        text = SYMPY["sympy/tests/test_calc.py"].replace("import mul", "import add, mul") + PYTEST_TESTS["test_add"]
        files = {"sympy/tests/test_calc.py": text}
        return {"kind": kind, "argv": ["bin/test", "-C", "--verbose", "sympy/tests/test_calc.py"], "test_patch": r.diff(files), "test_files": list(files),
                "f2p": ["test_add"], "p2p": ["test_mul"], "gold": r.diff({"sympy/calc.py": FIXED}), "watched": ["sympy/testing/**"]}
    files = {"tests/things/tests.py": CASES}
    module, argv = {"django": ("things.tests", ["tests/runtests.py", "--verbosity", "2", "things.tests"]), "unittest": ("tests.things.tests", ["-v", "tests.things.tests"])}[kind]
    return {"kind": kind, "argv": argv, "test_patch": r.diff(files), "test_files": list(files), "f2p": [f"test_add ({module}.AddTests)"],
            "p2p": [f"test_plain ({module}.AddTests)"], "gold": r.diff({"pkg/calc.py": FIXED})}


def pyc(source, path):
    """Compiled code that python takes without a look at the source (PEP 552, unchecked)."""
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(compile(source, path, "exec"))


class Cheat:
    """One file of patches/: `How:`, `Kind:`, `Sees:`, perhaps `Tests:`, then `=== PATH [HOW]` and the file's new text."""

    def __init__(self, path):
        head, *sections = path.read_text().split("\n=== ")
        self.name, self.head = path.stem, dict(line.split(": ", 1) for line in head.splitlines())
        self.kind, self.how, self.sees, self.test = self.head["Kind"], self.head["How"], self.head["Sees"], self.head.get("Tests", "test_add")
        self.sections = [s.rstrip("\n").partition("\n") for s in sections]

    def files(self):
        edited = {}
        for head, newline, text in self.sections:
            text += newline
            path, _, how = head.partition(" ")
            if how == "link":
                yield path, ("link", text.strip())
            elif how == "gone":
                yield path, None
            elif how == "exec":
                yield path, ("exec", text)
            elif how == "pyc":
                yield path.replace("cpython-311", importlib.util.cache_from_source("x.py").split(".")[-2]), pyc(text, path)
            elif how == "edit":
                old, new = text.rstrip("\n").split("\n--- to ---\n")
                base = edited.get(path, TREES[self.kind][path])
                assert old in base, f"{self.name}: {path} has no such text"
                edited[path] = base.replace(old, new)
                yield path, edited[path]
            else:
                yield path, text

    @functools.cached_property
    def patch(self):
        return repo(self.kind).diff(dict(self.files()))

    @property
    def instance(self):
        return instance(self.kind, self.test) if self.kind == "pytest" else instance(self.kind)


ALL = {c.name: c for c in map(Cheat, sorted(HERE.glob("patches/*.cheat")))}
