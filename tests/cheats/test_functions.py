# SPDX-License-Identifier: Apache-2.0
"""Function tests of Python, in tables: honest solutions of many styles that must pass, wrong ones that look right and must not. All go through one batch."""
import json

import pytest
from harness import run

IMPORTS = """import array, asyncio, collections, contextlib, copy, dataclasses, datetime, decimal, enum, fractions, functools, heapq, io, itertools, json, math, operator, random, re, string, sys, types, typing
from collections import *
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import *
"""
NAN = {"$float": "nan"}

# What f() returns, and what is expected.
VALUES = [
    # iterators of all kinds are their items
    ("chain([1], [2])", [1, 2]), ("islice(count(), 3)", [0, 1, 2]), ("zip([1], 'a')", [{"$tuple": [1, "a"]}]), ("map(str, [1])", ["1"]), ("filter(None, [0, 1])", [1]), ("reversed([1, 2])", [2, 1]),
    ("reversed('ab')", ["b", "a"]), ("reversed({1: 2, 3: 4})", [3, 1]), ("reversed(range(3))", [2, 1, 0]), ("enumerate('a')", [{"$tuple": [0, "a"]}]), ("iter({1: 2})", [1]), ("iter('ab')", ["a", "b"]),
    ("iter((1, 2))", [1, 2]), ("iter(b'a')", [97]), ("(i for i in range(2))", [0, 1]), ("permutations([1, 2])", [{"$tuple": [1, 2]}, {"$tuple": [2, 1]}]), ("combinations('abc', 2)", [{"$tuple": ["a", "b"]}, {"$tuple": ["a", "c"]}, {"$tuple": ["b", "c"]}]),
    ("product([1], [2])", [{"$tuple": [1, 2]}]), ("accumulate([1, 2, 3])", [1, 3, 6]), ("starmap(pow, [(2, 3)])", [8]), ("takewhile(bool, [1, 0])", [1]), ("dropwhile(bool, [1, 0])", [0]), ("zip_longest([1], [])", [{"$tuple": [1, None]}]),
    ("compress('ab', [0, 1])", ["b"]), ("pairwise([1, 2])", [{"$tuple": [1, 2]}]), ("repeat(1, 2)", [1, 1]), ("cycle([])", []), ("filterfalse(None, [0])", [0]), ("chain.from_iterable([[1]])", [1]), ("iter(int, 0)", []),
    ("groupby('aab')", [{"$tuple": ["a", ["a", "a"]]}, {"$tuple": ["b", ["b"]]}]), ("tee([1])[0]", [1]), ("re.finditer('x', '')", []), ("io.StringIO('a\\nb')", ["a\n", "b"]), ("[map(int, '1')]", [[1]]), ("heapq.merge([1], [0])", [0, 1]),
    # dictionaries, and what is like one
    ("Counter('aab')", {"a": 2, "b": 1}), ("OrderedDict(b=1, a=2)", {"a": 2, "b": 1}), ("defaultdict(list, a=[1])", {"a": [1]}), ("UserDict(a=1)", {"a": 1}), ("ChainMap({'a': 1}, {'a': 2, 'b': 3})", {"a": 1, "b": 3}),
    ("types.MappingProxyType({'a': 1})", {"a": 1}), ("dict(zip('ab', (1, 2)))", {"a": 1, "b": 2}), ("{1: 2}.keys()", [1]), ("{1: 2}.keys()", {"$set": [1]}), ("{1: 2}.values()", [2]), ("{1: 2}.items()", [{"$tuple": [1, 2]}]),
    ("{(1, 2): {3}}", {"$dict": [[{"$tuple": [1, 2]}, {"$set": [3]}]]}), ("{1.0: 'a'}", {"$dict": [[1, "a"]]}), ("{None: 1}", {"$dict": [[None, 1]]}), ("{float('nan'): 1}", {"$dict": [[NAN, 1]]}), ("{True: 1}", {"$dict": [[True, 1]]}),
    ("dataclasses.asdict(make(1))", {"x": 1}), ("vars(make(2))", {"x": 2}), ("json.loads('{\"a\": [1]}')", {"a": [1]}), ("{k: {**v} for k, v in {'a': {'b': 1}}.items()}", {"a": {"b": 1}}), ("Counter('aab').most_common(1)", [{"$tuple": ["a", 2]}]),
    # sequences
    ("UserList([1, 2])", [1, 2]), ("array.array('d', [1.5])", [1.5]), ("Stack([1])", [1]), ("namedtuple('P', 'x y')(1, 2)", {"$tuple": [1, 2]}), ("Pair(1, 'a')", {"$tuple": [1, "a"]}), ("sorted({3, 1})", [1, 3]), ("list('ab')", ["a", "b"]),
    ("[*range(3)]", [0, 1, 2]), ("[[0] * 2 for _ in range(2)]", [[0, 0], [0, 0]]), ("tuple([1])", {"$tuple": [1]}), ("divmod(7, 2)", {"$tuple": [3, 1]}), ("(1,) * 2", {"$tuple": [1, 1]}), ("deque([1, 2], 3)", {"$deque": [1, 2]}), 
    ("[-0.0]", {"$py": "[-0.0]"}), ("[float('nan'), 1.0]", [NAN, 1.0]), ("[0.5] * 200", [0.5] * 200), ("[0.0] * 200", [0.0] * 200), ("list(map(float, range(100)))", list(range(100))), ("heapq.nsmallest(2, [3, 1, 2])", [1, 2]),
    # sets
    ("{1, 2} | {3}", {"$set": [1, 2, 3]}), ("frozenset([1])", {"$set": [1]}), ("{float('nan')}", {"$set": [NAN]}), ("{frozenset([1]), frozenset()}", {"$set": [{"$frozenset": [1]}, {"$frozenset": []}]}), ("{(1, True)}", {"$set": [{"$tuple": [1, True]}]}),
    ("{1.0, 2.5}", {"$set": [1, 2.5]}), ("set()", {"$set": []}), ("{-0.0}", {"$py": "{-0.0}"}), ("{Colour.RED}", {"$set": [1]}), ("{'a', None, 1.5}", {"$set": ["a", None, 1.5]}), ("set(map(Word, 'ab'))", {"$set": ["a", "b"]}),
    # numbers
    ("2 ** 100", {"$int": str(2 ** 100)}), ("10 / 2", 5), ("7 // 2", 3), ("math.inf", {"$float": "inf"}), ("-0.0", {"$py": "-0.0"}), ("complex(1, -0.0)", {"$complex": [1, 0]}), ("3 + 0j", 3), ("Decimal('0.5')", 0.5), ("Decimal(3)", 3),
    ("Decimal('0.30')", {"$decimal": "0.3"}), ("Fraction(1, 2)", 0.5), ("Fraction(4, 2)", 2), ("Fraction(1, 3)", {"$fraction": "1/3"}), ("sum(Fraction(1, i) for i in range(1, 5)) ", {"$fraction": [25, 12]}), ("Colour.RED", 1), ("Level.HIGH", 2), ("Own(7)", 7),
    ("operator.index(3)", 3), ("1e400", {"$float": "inf"}), ("round(2.5)", 2), ("math.prod([2, 3])", 6), ("int('ff', 16)", 255), ("True", True), ("not []", True), ("bool(1)", True), ("0.1 + 0.2", 0.30000000000000004), ("float('nan')", NAN), ("hash(-1)", -2),
    # text and bytes
    ("Word('ab')", "ab"), ("UserString('ab')", "ab"), ("f'{1:03}'", "001"), ("'a\\0b'", "a\0b"), ("'\\ud800'", "\ud800"), ("'\\U0001f600'", "\U0001f600"), ("''.join(reversed('ab'))", "ba"), ("b'ab'", {"$bytes": "YWI="}), ("bytearray(b'ab')", {"$bytes": "YWI="}),
    ("memoryview(b'ab')", {"$bytes": "YWI="}), ("str(1)", "1"), ("'%s' % 1", "1"), ("string.Template('$a').substitute(a=1)", "1"), ("Suit.HEARTS", "h"), ("'ß'.upper()", "SS"), ("'x' * 100000", "x" * 100000), ("repr([1])", "[1]"),
    # dates
    ("datetime.date(2024, 2, 29)", {"$date": "2024-02-29"}), ("datetime.datetime(2024, 1, 1, 12)", {"$datetime": "2024-01-01T12:00:00"}), ("datetime.timedelta(1)", {"$timedelta": [1]}), ("datetime.time(1, 2)", {"$time": "01:02:00"}),
    ("datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.timezone.utc)", {"$datetime": "2024-01-01T13:00:00+01:00"}),
    ("None", None), ("[None, [None]]", [None, [None]]), ("later(3)", 3), ("many()", [0, 1]), ("print('noise') or 4", 4), ("(lambda: 5)()", 5), ("functools.reduce(operator.mul, [2, 3])", 6), ("[] or None", None), ("copy.deepcopy([[1]])", [[1]]),
]
HELPERS = """
@dataclass
class make: x: int = 0
class Stack(list): pass
class Word(str): pass
class Own(int):
    def __eq__(self, other): return False
    __hash__ = int.__hash__
class Pair(typing.NamedTuple):
    x: int
    y: str
class Colour(enum.IntEnum): RED = 1
class Level(enum.IntFlag): HIGH = 2
class Suit(str, enum.Enum): HEARTS = 'h'
async def later(x):
    await asyncio.sleep(0)
    return x
async def many():
    for i in range(2): yield i
"""

# Whole solutions, and one case each.
WHOLE = [
    ("own iterator", "class C:\n    def __init__(s): s.n = 0\n    def __iter__(s): return s\n    def __next__(s):\n        s.n += 1\n        if s.n > 3: raise StopIteration\n        return s.n\ndef f(): return C()\n", {"expected": [1, 2, 3]}),
    ("own iterator's type", "class C:\n    def __iter__(s): return s\n    def __next__(s): raise StopIteration\ndef f(): return C()\n", {"expected_type": "C"}),
    ("quiet nan with a payload", "from decimal import Decimal\ndef f(): return Decimal('NaN12')\n", {"expected": NAN, "compare": "float"}), ("sNaN itself", "from decimal import Decimal\ndef f(): return Decimal('sNaN12')\n", {"expected": {"$decimal": "sNaN12"}}),
    ("exception's subclass", "class BankError(Exception): pass\nclass Low(BankError): pass\ndef f(): raise Low\n", {"expected_exception": "BankError"}),
    ("exception by its module", "import json\ndef f(): return json.loads('{')\n", {"expected_exception": "json.JSONDecodeError"}),
    ("exception of a library", "import json\ndef f(): return json.loads('{')\n", {"expected_exception": "JSONDecodeError"}),
    ("exception's base", "import json\ndef f(): return json.loads('{')\n", {"expected_exception": "ValueError"}),
    ("IOError", "def f(): open('/nowhere')\n", {"expected_exception": "IOError"}), ("EnvironmentError", "def f(): open('/nowhere')\n", {"expected_exception": "EnvironmentError"}),
    ("select.error", "def f(): raise OSError\n", {"expected_exception": "select.error"}), ("socket.timeout", "def f(): raise TimeoutError\n", {"expected_exception": "socket.timeout"}),
    ("division", "def f(): return 1 / 0\n", {"expected_exception": "ArithmeticError"}), ("decimal's", "from decimal import *\ndef f(): return Decimal('x')\n", {"expected_exception": "InvalidOperation"}),
    ("exception and arguments", "def f(x):\n    if not x: raise ValueError('empty')\n", {"args": [[]], "expected_exception": "ValueError", "expected_args": [[]]}),
    ("exception group", "def f(): raise ExceptionGroup('g', [ValueError()])\n", {"expected_exception": "ExceptionGroup"}), ("assertion", "def f(): assert False\n", {"expected_exception": "AssertionError"}),
    ("stop iteration", "def f(): return next(iter([]))\n", {"expected_exception": "StopIteration"}), ("exit expected", "import sys\ndef f(): sys.exit(1)\n", {"expected_exception": "SystemExit"}),
    ("own class", "class Node: pass\ndef f(): return Node()\n", {"expected_type": "Node"}), ("own class by its place", "class Node: pass\ndef f(): return Node()\n", {"expected_type": "solution.Node"}),
    ("subclass of own", "class Shape: pass\nclass Square(Shape): pass\ndef f(): return Square()\n", {"expected_type": "Shape"}), ("own or None", "class Node: pass\ndef f(): return None\n", {"expected_type": "Node|None"}),
    ("dataclass", "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    x: int\ndef f(): return P(1)\n", {"expected_type": "P"}), ("namedtuple's type", "from collections import namedtuple\nP = namedtuple('P', 'x')\ndef f(): return P(1)\n", {"expected_type": "P", "expected": {"$tuple": [1]}}),
    ("enum", "from enum import Enum\nclass C(Enum):\n    A = 1\ndef f(): return C.A\n", {"expected_type": "C"}), ("class in a function", "def f():\n    class Local: pass\n    return Local()\n", {"expected_type": "Local"}),
    ("own Fraction", "class Fraction:\n    pass\ndef f(): return Fraction()\n", {"expected_type": "solution.Fraction"}), ("date", "from datetime import date\ndef f(): return date.today()\n", {"expected_type": "date"}),
    ("datetime is a date", "from datetime import datetime\ndef f(): return datetime.now()\n", {"expected_type": "date"}), ("Decimal's type", "from decimal import Decimal\ndef f(): return Decimal(1)\n", {"expected_type": "Decimal"}),
    ("Fraction's type", "from fractions import Fraction\ndef f(): return Fraction(1, 3)\n", {"expected_type": "fractions.Fraction"}), ("deque's type", "from collections import deque\ndef f(): return deque()\n", {"expected_type": "deque"}),
    ("Counter's type", "from collections import Counter\ndef f(): return Counter()\n", {"expected_type": "Counter"}), ("Counter is a dict", "from collections import Counter\ndef f(): return Counter()\n", {"expected_type": "dict"}),
    ("generator's type", "def f(): yield 1\n", {"expected_type": "generator", "expected": [1]}), ("iterator's type", "def f(): return iter([1])\n", {"expected_type": "iterator"}), ("function's type", "def f(): return lambda: 1\n", {"expected_type": "function"}),
    ("pattern", "import re\ndef f(): return re.compile('a')\n", {"expected_type": "re.Pattern"}), ("match", "import re\ndef f(): return re.match('a', 'a')\n", {"expected_type": "Match"}), ("path", "import pathlib\ndef f(): return pathlib.Path('.')\n", {"expected_type": "pathlib.PosixPath"}),
    ("range's type", "def f(): return range(10 ** 8)\n", {"expected_type": "range"}), ("range of huge", "def f(): return range(10 ** 30)\n", {"expected_type": "range"}), ("harmonic", "from fractions import Fraction\ndef f(): return sum(Fraction(1, i) for i in range(1, 5001))\n", {"expected_type": "Fraction"}),
    ("many floats", "def f(): return [1.5] * 5000000\n", {"expected_type": "list"}), ("many ints", "def f(): return list(range(1000000))\n", {"expected_type": "list"}), ("large set", "def f(): return set(range(300000))\n", {"expected_type": "set"}),
    ("list as its own subclass", "class L(list): pass\ndef f(): return L([1])\n", {"expected_type": "list", "expected": [1]}), ("int as its own subclass", "class I(int): pass\ndef f(): return I(1)\n", {"expected_type": "int", "expected": 1}),
    ("hashable list in a set", "class L(list):\n    def __hash__(s): return 1\ndef f(): return {L([1])}\n", {"expected_type": "set"}),
    ("Decimal within a tolerance", "from decimal import Decimal\ndef f(): return Decimal('0.3')\n", {"expected": 0.3, "compare": "float"}), ("Fraction within a tolerance", "from fractions import Fraction\ndef f(): return Fraction(1, 3)\n", {"expected": 0.333333333, "compare": "float"}),
    ("set within a tolerance", "def f(): return {0.1 + 0.2}\n", {"expected": {"$set": [0.3]}, "compare": "float"}), ("nan unordered", "def f(): return [2.0, float('nan'), 1.0]\n", {"expected": [1.0, 2.0, NAN], "compare": "unordered"}),
    ("set for a list, unordered", "def f(): return {3, 1}\n", {"expected": [1, 3], "compare": "unordered"}), ("dicts unordered", "def f(): return [{'a': 1}, {'b': [2]}]\n", {"expected": [{"b": [2]}, {"a": 1}], "compare": "unordered"}),
    ("generator unordered", "def f():\n    yield 2\n    yield 1\n", {"expected": [1, 2], "compare": "unordered"}), ("sorted in place", "def f(x): x.sort()\n", {"args": [[2, 1]], "expected": None, "expected_args": [[1, 2]]}),
    ("set argument changed", "def f(x): x.add(1)\n", {"args": [{"$set": []}], "expected_args": [{"$set": [1]}]}), ("arguments untouched", "def f(x): return sorted(x)\n", {"args": [[2, 1]], "expected": [1, 2], "expected_args": [[2, 1]]}),
    ("dict argument", "def f(d): d.setdefault('a', []).append(1)\n", {"args": [{}], "expected_args": [{"a": [1]}]}), ("decimal argument", "def f(x): return x * 2\n", {"args": [{"$decimal": "0.1"}], "expected": {"$decimal": "0.2"}}),
    ("date argument", "def f(d): return d.replace(day=2)\n", {"args": [{"$date": "2024-01-01"}], "expected": {"$date": "2024-01-02"}}), ("deque argument", "def f(q):\n    q.rotate()\n    return list(q)\n", {"args": [{"$deque": [1, 2]}], "expected": [2, 1]}),
    ("NUL printed", "def f():\n    print('a\\0b')\n    return 1\n", {"expected": 1}), ("NUL in a name", "globals()['a\\0b'] = lambda: 1\ndef f(): return 1\n", {"expected": 1}), ("surrogate in a name", "globals()['\\ud800'] = lambda: 1\ndef f(): return 1\n", {"expected": 1}),
    ("any bytes printed", "import sys\ndef f():\n    sys.stdout.buffer.write(bytes(range(256)))\n    return 1\n", {"expected": 1}), ("recursion", "def f(n=20): return n if n < 2 else f(n - 1) + f(n - 2)\n", {"expected": 6765}),
    ("closure", "def g():\n    n = 0\n    def f():\n        nonlocal n\n        n += 1\n        return n\n    return f\nf = g()\n", {"expected": 1}), ("partial", "import functools\nf = functools.partial(pow, 2, 3)\n", {"expected": 8}),
    ("class with call", "class F:\n    def __call__(self, x): return x + 1\nf = F()\n", {"args": [1], "expected": 2}), ("cached", "import functools\n@functools.lru_cache(None)\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n", {"args": [90], "expected": 2880067194370816120}),
    ("decorated", "def d(g):\n    return lambda *a: g(*a) * 2\n@d\ndef f(x): return x\n", {"args": [2], "expected": 4}), ("match statement", "def f(x):\n    match x:\n        case [a, *_]: return a\n        case _: return None\n", {"args": [[5, 6]], "expected": 5}),
    ("walrus", "def f(x):\n    if (n := len(x)) > 1: return n\n", {"args": ["ab"], "expected": 2}), ("keywords only", "def f(*, a, **k): return [a, k]\n", {"kwargs": {"a": 1, "b": 2}, "expected": [1, {"b": 2}]}), ("builtin itself", "f = sorted\n", {"args": [[2, 1]], "expected": [1, 2]}),
    ("with a context", "import contextlib\n@contextlib.contextmanager\ndef c(): yield 3\ndef f():\n    with c() as x: return x\n", {"expected": 3}), ("set order", "def f(s): return list(s)\n", {"args": [{"$set": [17, 9, 1, 33, 25]}], "expected": list(set([17, 9, 1, 33, 25]))}),
]


# Classes whose metaclass has an opinion, which nobody asks for.
OPINIONS = {"no hash": "def __eq__(a, b): return a is b", "equals all": "def __eq__(a, b): return True", "raises": "def __eq__(a, b): raise RuntimeError\n    def __hash__(a): raise RuntimeError\n    def __getattribute__(a, n): raise RuntimeError"}
WHOLE += [(f"metaclass that {word}, {base or 'iterator'}", f"import decimal\nclass M(type):\n    {body}\nclass C({base}{', ' if base else ''}metaclass=M):\n    {inside}\ndef f(): return {made}\n", case)
          for word, body in OPINIONS.items() for base, inside, made, case in (
              ("list", "pass", "C([1])", {"expected": [1], "expected_type": "list"}), ("int", "pass", "[C(1), {C(2): C(3)}]", {"expected": [1, {"$dict": [[2, 3]]}]}), ("dict", "pass", "C(a=1)", {"expected": {"a": 1}}),
              ("str", "pass", "C('a')", {"expected": "a"}), ("float", "pass", "[1.0] * 40 + [C(2)]", {"expected": [1.0] * 40 + [2.0]}), ("frozenset", "pass", "C([1])", {"expected": {"$set": [1]}}),
              ("decimal.Decimal", "pass", "C('0.5')", {"expected": 0.5}), ("", "n = 0\n    def __iter__(s): return s\n    def __next__(s):\n        s.n += 1\n        if s.n > 2: raise StopIteration\n        return s.n", "C()", {"expected": [1, 2]}),
              ("Exception", "pass", "(_ for _ in ()).throw(C('x'))", {"expected_exception": "C"}), ("object", "pass", "C()", {"expected_type": "C"}))]


def set_orders():
    """Sets as a case writes them: what is iterated over is what one process has that makes them of the same list."""
    import random
    rng = random.Random(3)
    for n in (4, 9, 30, 200):
        items = [rng.randrange(10 ** 6) for _ in range(n)]
        yield f"order of {n}", "def f(s): return list(s)\n", {"args": [{"$set": items}], "expected": list(set(items))}
        yield f"order of {n} written", "def f(s): return [list(i) for i in s]\n", {"args": [{"$py": "[{%s}]" % ", ".join(map(str, items))}], "expected": [list(set(items))]}
        yield f"order of {n} frozen", "def f(s): return list(s)\n", {"args": [{"$frozenset": items}], "expected": list(frozenset(items))}


HONEST = WHOLE + list(set_orders())

# What must not pass: its name, the solution, the case.
LIES = [
    ("a class called int", "C = type('int', (str,), {})\ndef f(): return C('x')\n", {"expected_type": "int"}), ("a float called int", "class int(float): pass\ndef f(): return int(4)\n", {"expected": 4, "expected_type": "int"}),
    ("a list called dict", "class dict(list): pass\ndef f(): return dict()\n", {"expected_type": "dict"}), ("renamed", "class C(list): pass\nC.__name__ = C.__qualname__ = 'tuple'\ndef f(): return C()\n", {"expected_type": "tuple"}),
    ("own Decimal", "class Decimal(str): pass\nDecimal.__module__ = 'decimal'\ndef f(): return Decimal('1')\n", {"expected_type": "Decimal"}), ("own date", "class date: pass\ndate.__module__ = 'datetime'\ndef f(): return date()\n", {"expected_type": "date"}),
    ("own Counter", "class Counter(dict): pass\nCounter.__module__ = 'collections'\ndef f(): return Counter()\n", {"expected_type": "Counter"}), ("own generator", "class generator(list): pass\ndef f(): return generator()\n", {"expected_type": "generator"}),
    ("class that is not in the text", "C = type('No' + 'de', (), {})\ndef f(): return C()\n", {"expected_type": "Node"}), ("renamed to what is missing", "class C: pass\nC.__name__ = 'No' + 'de'\ndef f(): return C()\n", {"expected_type": "Node"}),
    ("__class__ lies", "class C(list):\n    __class__ = int\ndef f(): return C()\n", {"expected_type": "int"}), ("metaclass lies", "class M(type):\n    __mro__ = (int, object)\n    __name__ = 'int'\nclass C(metaclass=M): pass\ndef f(): return C()\n", {"expected_type": "int"}),
    ("bool for int", "def f(): return True\n", {"expected_type": "int"}), ("frozenset for set", "def f(): return frozenset()\n", {"expected_type": "set"}), ("UserDict for dict", "from collections import UserDict\ndef f(): return UserDict()\n", {"expected_type": "dict"}),
    ("memoryview for bytes", "def f(): return memoryview(b'a')\n", {"expected_type": "bytes"}), ("list for generator", "def f(): return [1]\n", {"expected_type": "generator"}), ("own function", "class function: pass\ndef f(): return function()\n", {"expected_type": "types.FunctionType"}),
    ("own Pattern", "class Pattern: pass\nPattern.__module__ = 're'\ndef f(): return Pattern()\n", {"expected_type": "re.Pattern"}), ("another's Fraction", "from fractions import Fraction\ndef f(): return Fraction(1)\n", {"expected_type": "solution.Fraction"}),
    ("module replaced", "import re, types\nclass Pattern: pass\nPattern.__module__ = 're'\ndef f(): return Pattern()\n", {"expected_type": "solution.re.Pattern"}),
    ("exception of the name", "class X(Exception): pass\nX.__name__ = 'ValueError'\ndef f(): raise X\n", {"expected_exception": "ValueError"}), ("own KeyError", "class KeyError(Exception): pass\ndef f(): raise KeyError\n", {"expected_exception": "LookupError"}),
    ("exception not in the text", "X = type('Bank' + 'Error', (Exception,), {})\ndef f(): raise X\n", {"expected_exception": "BankError"}), ("exception with a module", "class JSONDecodeErro(Exception): pass\nJSONDecodeErro.__name__ = 'JSONDecodeError'\nJSONDecodeErro.__module__ = 'json.decoder'\ndef f(): raise JSONDecodeErro\n", {"expected_exception": "json.JSONDecodeError"}),
    ("sibling", "class A(Exception): pass\nclass B(Exception): pass\ndef f(): raise A\n", {"expected_exception": "B"}), ("instancecheck", "class M(type):\n    def __instancecheck__(c, x): return True\n    def __eq__(c, o): return True\n    __hash__ = type.__hash__\nclass X(Exception, metaclass=M): pass\ndef f(): raise X\n", {"expected_exception": "ValueError"}),
    ("arguments hidden by a loop", "def f(x):\n    x.sort()\n    r = list(x)\n    x.append(x)\n    return r\n", {"args": [[3, 1, 2]], "expected": [1, 2, 3], "expected_args": [[3, 1, 2]]}),
    ("arguments hidden by a function", "def f(x):\n    r = sorted(x)\n    x.append(len)\n    return r\n", {"args": [[2, 1]], "expected": [1, 2], "expected_args": [[2, 1]]}),
    ("arguments hidden by a generator", "def f(x):\n    r = sorted(x)\n    x.append(i for i in x)\n    return r\n", {"args": [[2, 1]], "expected": [1, 2], "expected_args": [[2, 1]]}),
    ("arguments too deep", "def f(x):\n    y = x\n    for _ in range(300):\n        y.append([])\n        y = y[-1]\n    return 1\n", {"args": [[]], "expected": 1, "expected_args": [[]]}),
    ("arguments and exception", "def f(x):\n    x.clear()\n    raise ValueError\n", {"args": [[1, -2]], "expected_exception": "ValueError", "expected_args": [[1, -2]]}),
    ("arguments lost in an exception", "def f(x):\n    x.append(x)\n    raise ValueError\n", {"args": [[1]], "expected_exception": "ValueError", "expected_args": [[1]]}),
    ("argument's inside", "def f(x):\n    x['a'].append(1)\n    return 1\n", {"args": [{"a": []}], "expected": 1, "expected_args": [{"a": []}]}), ("argument's 1 is True", "def f(x):\n    x[0] = True\n    return 1\n", {"args": [[1]], "expected": 1, "expected_args": [[1]]}),
    ("bool in a set", "def f(): return {True, False}\n", {"expected": {"$set": [0, 1]}}), ("bool as a key", "def f(): return {True: 2}\n", {"expected": {"$dict": [[1, 2]]}}), ("int as a key", "def f(): return {1: 2}\n", {"expected": {"$dict": [[True, 2]]}}),
    ("-0.0 in a set", "def f(): return {-0.0}\n", {"expected": {"$set": [0.0]}}), ("-0.0 as a key", "def f(): return {-0.0: 1}\n", {"expected": {"$dict": [[0.0, 1]]}}), ("bool in a tuple in a set", "def f(): return {(1, True)}\n", {"expected": {"$set": [{"$tuple": [1, 1]}]}}),
    ("bool in a frozenset as a key", "def f(): return {frozenset([True]): 1}\n", {"expected": {"$dict": [[{"$frozenset": [1]}, 1]]}}), ("-0.0 among many", "def f(): return [0.0] * 150 + [-0.0]\n", {"expected": [0.0] * 151}), ("True among many", "def f(): return [1] * 150 + [True]\n", {"expected": [1] * 151}),
    ("bool unordered", "def f(): return [True, 2]\n", {"expected": [2, 1], "compare": "unordered"}), ("twice unordered", "def f(): return [1, 1, 2]\n", {"expected": [1, 2, 2], "compare": "unordered"}), ("tuple for a list, inside", "def f(): return [(1,)]\n", {"expected": [[1]], "compare": "unordered"}),
    ("nan for 0", "def f(): return [float('nan')]\n", {"expected": [0.0], "compare": "float"}), ("nan for all", "def f(): return {float('nan'), 1.0}\n", {"expected": {"$set": [1.0, 2.0]}, "compare": "float"}), ("Decimal out of reach", "from decimal import Decimal\ndef f(): return Decimal('1e999')\n", {"expected": {"$decimal": "1e1000"}, "compare": "float"}),
    ("Decimal nan", "from decimal import Decimal\ndef f(): return Decimal('nan')\n", {"expected": 1, "compare": "float"}), ("inf for the large", "def f(): return float('inf')\n", {"expected": {"$int": "1" + "0" * 400}, "compare": "float"}), ("str for bytes", "def f(): return 'a'\n", {"expected": {"$bytes": "YQ=="}}),
    ("own __eq__ in a deque", "from collections import deque\nclass E:\n    def __eq__(s, o): return True\n    __hash__ = None\ndef f(): return deque([E()])\n", {"expected": {"$deque": [1]}}), ("UserList lies", "from collections import UserList\nclass U(UserList):\n    def __eq__(s, o): return True\ndef f(): return U([2])\n", {"expected": [1]}),
    ("iterator without an end", "import itertools\ndef f(): return itertools.repeat(1)\n", {"expected": [1]}), ("Fraction that lies", "from fractions import Fraction\nclass F(Fraction):\n    numerator = denominator = 1\n    def __eq__(s, o): return True\ndef f(): return F(1, 2)\n", {"expected": 1}),
    ("Decimal that lies", "from decimal import Decimal\nclass D(Decimal):\n    def __str__(s): return '4'\n    __format__ = lambda s, x: '4'\ndef f(): return D(3)\n", {"expected": 4}), ("date that lies", "import datetime\nclass D(datetime.date):\n    def isoformat(s): return '2024-01-01'\ndef f(): return D(2023, 1, 1)\n", {"expected": {"$date": "2024-01-01"}}),
    ("list that lies", "class L(list):\n    def __iter__(s): return iter([1, 2])\n    def __len__(s): return 2\ndef f(): return L([3])\n", {"expected": [1, 2]}), ("dict that lies", "class D(dict):\n    def items(s): return [('a', 1)]\ndef f(): return D(b=2)\n", {"expected": {"a": 1}}),
    ("deque that lies", "from collections import deque\nclass D(deque):\n    def __iter__(s): return iter([1])\ndef f(): return D([2])\n", {"expected": {"$deque": [1]}}), ("missing key filled in", "from collections import defaultdict\ndef f(): return defaultdict(lambda: 1)\n", {"expected": {"a": 1}}),
    ("Counter with zero", "from collections import Counter\ndef f(): return Counter(a=0)\n", {"expected": {}}), ("collisions", "M = 2 ** 61 - 1\ndef f(): return {i * M for i in range(20000)}\n", {"expected": {"$set": [0]}, "timeout_s": 20}), ("hugest integer", "def f(): return [1 << 50000000]\n", {"expected": [1]}),
    ("hugest fraction", "from fractions import Fraction\ndef f():\n    x = Fraction(1)\n    x._numerator, x._denominator = 1 << 100000000, (1 << 100000000) - 1\n    return x\n", {"expected": 1}), ("hugest decimal", "from decimal import Decimal\ndef f(): return Decimal('1' * 2000000)\n", {"expected": 1}),
    *[(f"{x} is no nan, {how}", f"from decimal import Decimal\ndef f(): return Decimal('{x}')\n", {"expected": NAN, "compare": how}) for x in ("sNaN", "sNaN12", "-sNaN") for how in ("exact", "float")],
    ("sNaN among many", "from decimal import Decimal\ndef f(): return [1] * 150 + [Decimal('sNaN')]\n", {"expected": [1] * 151}), ("sNaN for another", "from decimal import Decimal\ndef f(): return Decimal('sNaN1')\n", {"expected": {"$decimal": "sNaN2"}}),
    ("exception with NUL", "def f(): raise ValueError('a\\0b')\n", {"expected": 1}), ("exception with half a pair", "def f(): raise ValueError('\\ud800')\n", {"expected": 1}), ("class with half a pair", "def f(): raise type('\\ud800', (Exception,), {})\n", {"expected": 1}),
    ("exception that cannot be shown", "class X(Exception):\n    def __str__(s): raise SystemExit\ndef f(): raise X\n", {"expected": 1}), ("message of odd type", "class S(str): pass\nclass X(Exception):\n    def __str__(s): return S('x')\ndef f(): raise X\n", {"expected": 1}),
]

FORGERS = [
    # The solution writes the driver's frames itself: it may say what it likes, but not what it does not know.
    ("an exception of nothing", {"e": {}}), ("an exception that is a list", {"e": []}), ("classes that are none", {"e": {"type": "X", "bases": [], "message": "", "classes": {"ValueError": 1}}}),
    ("names that are numbers", {"e": {"type": 10 ** 30, "bases": [1, None, ["ValueError"]], "message": 5, "classes": [1, None]}}), ("missing that is a list", {"missing": [[1]] * 5, "names": {"a": 1}}),
    ("a value that is text", {"v": "i1;"}), ("no value", {"v": b""}), ("two values", {"v": b"i1;i1;"}), ("an unknown kind", {"v": b"h1,1;1:a"}), ("a set in itself", {"v": b"e2:e0:"}), ("a known type of nothing", {"v": b"K7:DecimalN"}),
    ("a known type that is none", {"v": b"K5:whilei1;"}), ("a date of no day", {"v": b"K4:dates3:now"}), ("a fraction over nothing", {"v": b"K8:Fractiont2:i1;i0;"}), ("a range of no step", {"v": b"ri0;i1;i0;"}), ("floats cut off", {"v": b"p7:1234567"}),
    ("called int by itself", {"v": b"S3:ints1:a"}), ("called int by the library", {"v": b"S12:builtins.ints1:a"}), ("called int as a known type", {"v": b"K3:ints1:a"}), ("unencodable, and an int", {"u": "x", "type": "int", "classes": ["int", "builtins.int", "=int"]}),
    ("too large by its own word", {"large": "x"}), ("ended by its own word", {"died": 0, "late": False}), ("passed by its own word", {"passed": True, "reason": None}), ("a time limit that is a dict", {"timeout": {}, "where": {"line": "x"}}),
    ("changed to nothing", {"v": b"i1;", "changed": b""}), ("changed to a number", {"v": b"i1;", "changed": b"i1;"}), ("a million names", {"missing": "f", "names": ["x" * 1000] * 1000}), ("deep", {"v": b"l1:" * 5000 + b"N"}),
]
FORGER = """
import os, sys
def f(x):
    frame, nonce = sys._getframe(), None
    fds = [int(n) for n in os.listdir('/proc/self/fd')]
    while frame and not nonce:
        nonce, frame = frame.f_locals.get('nonce'), frame.f_back
    def enc(v):
        if v is None: return b'N'
        if v is True: return b'T'
        if v is False: return b'F'
        if type(v) is int: return b'i%d;' % v if abs(v) < 2 ** 62 else b'x%x;' % v
        if type(v) is str: return b's%d:' % len(v) + v.encode()
        if type(v) is bytes: return b'b%d:' % len(v) + v
        if type(v) is list: return b'l%d:' % len(v) + b''.join(map(enc, v))
        return b'm%d:' % len(v) + b''.join(enc(k) + enc(w) for k, w in v.items())
    body = (nonce or b'') + enc(ANSWER)
    for fd in fds:
        if fd > 2:
            try: os.write(fd, len(body).to_bytes(4, 'little') + body)
            except OSError: pass
    os._exit(0)
"""


def graded(rows):
    """Each row's only case, or an assertion with what became of the line."""
    text = "".join(json.dumps({"id": name, "code": code, "test": {"func": "f", "cases": [case]}}) + "\n" for name, code, case in rows).encode()
    c = run("batch", "-q", "-j", 2, "-", input=text, timeout=900)
    out = {}
    for line in c.out.splitlines():
        r = json.loads(line)
        assert r.get("test_results"), r
        out[r["id"]] = r["test_results"][0]
    assert len(out) == len(rows), (len(out), len(rows), c.err[-500:])
    return out


def unique(rows):
    return [(f"{at} {name}", *rest) for at, (name, *rest) in enumerate(rows)]


def test_there_are_enough():
    assert len(HONEST) + len(VALUES) >= 200 and len(LIES) + len(FORGERS) >= 60


def test_honest_values_pass():
    """In one solution: each is a case, with a process of its own."""
    code = IMPORTS + HELPERS + "VALUES = [\n" + ",\n".join("lambda: " + v for v, _ in VALUES) + "]\ndef f(i): return VALUES[i]()\n"
    cases = [{"args": [i], "expected": want} for i, (_, want) in enumerate(VALUES)]
    c = run("batch", "-q", "-", input=json.dumps({"code": code, "test": {"func": "f", "cases": cases}}).encode() + b"\n", timeout=300)
    rows = json.loads(c.out)["test_results"]
    assert len(rows) == len(VALUES) and not [(VALUES[i][0], r["reason"], r["detail"]) for i, r in enumerate(rows) if not r["passed"]]


def test_honest_solutions_pass():
    found = graded(unique(HONEST))
    wrong = {k: (r["reason"], r["detail"]) for k, r in found.items() if not r["passed"]}
    assert not wrong, wrong


def test_lies_fail():
    found = graded(unique(LIES))
    passed = [k for k, r in found.items() if r["passed"]]
    assert not passed, passed
    broken = {k: r["detail"] for k, r in found.items() if r["reason"] == "load_error"}
    assert not broken, broken
    assert {r["reason"] for r in found.values()} <= {"wrong_value", "wrong_type", "exception", "no_exception", "unencodable", "args_unencodable", "output", "memory", "tampering", "timeout"}
    hidden = {k.split(" ", 1)[1]: r["reason"] for k, r in found.items() if "hidden" in k or "lost" in k}
    assert set(hidden.values()) == {"args_unencodable"}, hidden


@pytest.mark.parametrize("more", [{"expected": 2}, {"expected_type": "int"}, {"expected_exception": "ValueError"}], ids=["value", "type", "exception"])
def test_forged_answers_fail_and_break_nothing(more):
    rows = [(name, f"ANSWER = {answer!r}\n" + FORGER, {"args": [{"$set": [1]}], **more}) for name, answer in FORGERS]
    found = graded(unique(rows))
    assert not [k for k, r in found.items() if "nobody's question" in (r["detail"] or "")], "the nonce was not found: nothing was forged"
    passed = [k for k, r in found.items() if r["passed"]]
    # what is changed is an int in truth: it was told as one
    assert not [k for k in passed if not (more == {"expected_type": "int"} and "changed to" in k)], passed
