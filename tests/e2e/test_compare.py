# SPDX-License-Identifier: Apache-2.0
"""What the verifier calls the same, beside what Python's own == says in one process: random values of every type that is data, equal and nearly equal.

BELLJAR_PAIRS: how many pairs (make fuzz takes more); BELLJAR_SEED: other ones.
"""
import array
import collections
import datetime
import decimal
import fractions
import json
import math
import os
import random
import tempfile
import types
from pathlib import Path

import harness

SOURCE = Path(__file__).resolve().parents[2] / "src" / "guest" / "python"
PAIRS = int(os.environ.get("BELLJAR_PAIRS", 100000))
SEED = int(os.environ.get("BELLJAR_SEED", 14))
EXACT = ("exact", 1e-9, 1e-9)
Point = collections.namedtuple("Point", "x y")


class Text(str):
    pass


class Whole(int):
    pass


class Row(list):
    pass


def load():
    space = {"__name__": "under_test"}
    for name in ("data.py", "compare.py"):
        exec(compile((SOURCE / name).read_text(), name, "exec"), space)
    return types.SimpleNamespace(**space)


V = load()


# ---- the model: Python's ==, and what docs/grading.md says is different ----------------------------------------------------------------------

NUMBERS = (int, float, complex, decimal.Decimal, fractions.Fraction)
PLAINER = {collections.UserDict: dict, collections.UserList: list, collections.UserString: str, collections.ChainMap: dict, types.MappingProxyType: dict, memoryview: bytes,
           collections.Counter: dict, collections.OrderedDict: dict, Point: tuple, Text: str, Whole: int, Row: list}


def plainer(x):
    return PLAINER[type(x)](x) if type(x) in PLAINER else x


def is_nan(x):
    return x != x


def negative_zero(x):
    return type(x) in (float, decimal.Decimal) and x == 0 and math.copysign(1, x) < 0


def model(a, b):
    a, b = plainer(a), plainer(b)
    if type(a) is bool or type(b) is bool:
        return type(a) is type(b) and a == b
    if isinstance(a, NUMBERS) and isinstance(b, NUMBERS):
        if is_nan(a) or is_nan(b):
            return is_nan(a) and is_nan(b)
        if a == 0 and b == 0:
            return negative_zero(a) == negative_zero(b)
        return a == b
    for kind in (list, tuple, collections.deque):
        if type(a) is kind:
            return type(b) is kind and len(a) == len(b) and all(map(model, a, b))
    if isinstance(a, (set, frozenset)):
        return isinstance(b, (set, frozenset)) and matched(list(a), list(b), model)
    if type(a) is dict:
        return type(b) is dict and matched(list(a.items()), list(b.items()), lambda x, y: model(x[0], y[0]) and model(x[1], y[1]))
    return a == b


def matched(a, b, equal):
    """Every one of a has one of b for itself."""
    if len(a) != len(b):
        return False
    for x in a:
        at = next((i for i, y in enumerate(b) if equal(x, y)), None)
        if at is None:
            return False
        del b[at]
    return True


def is_special(x):
    """Where Python's == and the model may differ."""
    x = plainer(x)
    if type(x) is bool or isinstance(x, NUMBERS) and (x == 0 or x != x):
        return True
    if isinstance(x, (list, tuple, set, frozenset, collections.deque)):
        return any(map(is_special, x))
    return type(x) is dict and any(is_special(i) for pair in x.items() for i in pair)


# ---- values ------------------------------------------------------------------------------------------------------------------------------

def leaf(rng):
    n = rng.choice([0, 1, 2, -1, 3, 255, 2**31, 2**53, 2**53 + 1, -2**63, 2**64, 10**30])
    kind = rng.randrange(24)
    if kind < 5:
        return n
    if kind < 7:
        return float(n)
    return [lambda: rng.random() < 0.5, lambda: None, lambda: rng.choice([-0.0, 0.0, math.inf, -math.inf, math.nan, 5e-324, 1e308, 0.1, 0.1 + 0.2, 0.3]),
            lambda: rng.choice(["", "a", "b", "1", "\0", "é", "\ud800", "\U0001f600", "ab"]), lambda: rng.choice([b"", b"a", b"\0\xff"]), lambda: bytearray(rng.choice([b"", b"a"])),
            lambda: complex(n if abs(n) < 1000 else 2, rng.choice([0, 0.0, 1, -2.5])), lambda: decimal.Decimal(n), lambda: decimal.Decimal(rng.choice(["0.1", "0.50", "-0", "NaN", "Infinity", "1E+40", "1E-30"])),
            lambda: fractions.Fraction(rng.randrange(-9, 9), rng.randrange(1, 9)), lambda: range(rng.randrange(4), rng.randrange(9), rng.randrange(1, 4)),
            lambda: datetime.date(2024, 1, rng.randrange(1, 4)), lambda: datetime.datetime(2024, 1, 1, rng.randrange(3), tzinfo=rng.choice([None, datetime.timezone.utc])),
            lambda: datetime.timedelta(rng.randrange(3), rng.randrange(2)), lambda: Text("a"), lambda: Whole(1), lambda: rng.choice([int, str, list])][kind - 7]()


def hashable(rng, depth):
    x = leaf(rng)
    if depth < 3 and rng.random() < 0.3:
        items = [hashable(rng, depth + 1) for _ in range(rng.randrange(4))]
        return rng.choice([tuple, frozenset])(items)
    return bytes(x) if type(x) is bytearray else x


def value(rng, depth=0):
    if depth > 3 or rng.random() < 0.35:
        return leaf(rng)
    kind = rng.randrange(12)
    if kind < 6:
        items = [value(rng, depth + 1) for _ in range(rng.randrange(5))]
        return [list, list, tuple, collections.deque, Row, collections.UserList][kind](items)
    if kind == 6:
        return Point(value(rng, depth + 1), value(rng, depth + 1))
    items = [hashable(rng, depth + 1) for _ in range(rng.randrange(5))]
    if kind < 9:
        return rng.choice([set, frozenset])(items)
    made = {k: value(rng, depth + 1) for k in items}
    return rng.choice([dict, dict, collections.OrderedDict, collections.UserDict, types.MappingProxyType, collections.ChainMap, collections.Counter])(made)


NEAR = {int: lambda x: [float(x) if abs(x) < 1e300 else x, x + 1, decimal.Decimal(x), fractions.Fraction(x), complex(x) if abs(x) < 1e15 else x, bool(x), str(x), -x, Whole(x)],
        float: lambda x: [math.nextafter(x, 0), -x, fractions.Fraction(x) if math.isfinite(x) else x, decimal.Decimal(x), int(x) if math.isfinite(x) else x, complex(x, 0)],
        bool: lambda x: [int(x), float(x), not x], str: lambda x: [x + "\0", x.encode("utf-8", "replace"), Text(x), collections.UserString(x)], bytes: lambda x: [bytearray(x), x + b"\0", memoryview(x)],
        bytearray: lambda x: [bytes(x), memoryview(bytes(x))], type(None): lambda x: [False, 0, "", [], ()],
        list: lambda x: [tuple(x), x[::-1], x + [None], collections.deque(x), collections.UserList(x), Row(x)], tuple: lambda x: [list(x), x[::-1], x + (None,)], set: lambda x: [frozenset(x), list(x)],
        frozenset: lambda x: [set(x), tuple(x)], dict: lambda x: [list(x.items()), dict(reversed(x.items())), collections.OrderedDict(x), types.MappingProxyType(x)],
        collections.deque: lambda x: [list(x)], decimal.Decimal: lambda x: [-x, float(x), x.normalize() if x.is_finite() else x, x + 1],
        fractions.Fraction: lambda x: [float(x), -x, x + 1], complex: lambda x: [x.conjugate(), x.real, -x], range: lambda x: [list(x), range(x.start, x.stop + 1, x.step), range(x.start, x.stop, x.step)]}


def nearly(rng, x):
    """The same, or another in one place."""
    t = type(x)
    if rng.random() < 0.35 and t in NEAR:
        return rng.choice(NEAR[t](x))
    try:
        if t in (list, tuple, Row, collections.deque, collections.UserList, set, frozenset) and len(x):
            items = list(x)
            rng.random() < 0.3 and t in (set, frozenset) and rng.shuffle(items)
            at = rng.randrange(len(items))
            items[at] = nearly(rng, items[at])
            return t(items)
        if t in (dict, collections.OrderedDict) and x:
            items = list(x.items())
            at = rng.randrange(len(items))
            k, v = items[at]
            items[at] = (nearly(rng, k), v) if rng.random() < 0.4 else (k, nearly(rng, v))
            return t(items)
    except TypeError:
        pass  # a list is no key
    return x


def through(x):
    """As a verifier has it after it came from a candidate."""
    return V.decode(V.encode(x), None, [])


def test_the_same_as_in_one_process():
    rng = random.Random(SEED)
    equal = wrong = python = 0
    shown = []
    for _ in range(PAIRS):
        a = value(rng)
        b = nearly(rng, a) if rng.random() < 0.85 else value(rng)
        expected = through(b)
        said, wanted = V.same(through(a), expected, *EXACT), model(a, b)
        if not (is_special(a) or is_special(b)):
            python += 1
            assert wanted == bool(plainer(a) == plainer(b)), f"the model itself: {a!r} {b!r}"
        equal += wanted
        if said != wanted:
            wrong += 1
            shown.append((a, b, said, wanted))
        assert said == (V.value_key(through(a)) == V.value_key(expected)), f"two ways, two answers: {a!r} {b!r}"
    assert not wrong, (wrong, shown[:5])
    assert PAIRS < 1000 or PAIRS / 5 < equal < PAIRS * 4 / 5 and python > PAIRS / 10, (equal, python)


def test_long_lists_and_what_no_dictionary_holds():
    for a, b in [([1.0] * 150 + [-0.0], [1.0] * 150 + [0.0]), ([1] * 150 + [True], [1] * 151), ([1] * 150 + [1.0], [1] * 151)]:
        assert V.same(a, b, *EXACT) == model(a, b), (a[-1], b[-1])
    # a key twice, and keys that JavaScript tells apart
    for wire, b, good in [(b"m2:i1;i5;i1;i5;", {1: 5, 2: 5}, False), (b"m2:i1;i5;Ti5;", {1: 5}, False), (b"e2:i1;T", {1}, False), (b"e2:i1;T", {True}, False), (b"e2:i1;i2;", {1, 2}, True)]:
        assert V.same(V.decode(wire, None, []), b, *EXACT) == good, wire


def test_any_order_is_as_matching_pair_by_pair():
    rng = random.Random(SEED + 1)
    for _ in range(PAIRS // 20):
        a = [value(rng, 2) for _ in range(rng.randrange(6))]
        b = [nearly(rng, i) if rng.random() < 0.3 else i for i in a]
        rng.shuffle(b)
        assert V.same_elements(through(a), through(b), "unordered", 1e-9, 1e-9, 0) == matched(list(a), list(b), model), (a, b)


def test_within_a_tolerance():
    rng = random.Random(SEED + 2)
    kinds = [float, lambda x: decimal.Decimal(x), lambda x: fractions.Fraction(x), lambda x: complex(x, 0), int]
    for _ in range(PAIRS // 20):
        x = rng.choice([rng.uniform(-10, 10), rng.uniform(-1e12, 1e12), float(rng.randrange(100))])
        y = x * (1 + rng.choice([0, 1e-12, 5e-7, 2e-6, 1e-3]))
        a, b = rng.choice(kinds)(x), rng.choice(kinds)(y)
        near = abs(complex(a) - complex(b)) <= max(1e-6 * max(abs(complex(a)), abs(complex(b))), 1e-9)
        assert V.same(through(a), through(b), "float", 1e-6, 1e-9) == near, (a, b)
        assert V.same(through({"k": [a, {a}]}), through({"k": [b, {b}]}), "float", 1e-6, 1e-9) == near, (a, b)
    for a, b, good in [(decimal.Decimal("1e999"), decimal.Decimal("1e1000"), False), (10**400, 10**400, True), (10**400, 10**401, False), (math.inf, 10**400, False),
                       (math.nan, math.nan, True), (True, 1.0, False), (2**60, 2**60 + 1, True), (fractions.Fraction(1, 3), 0.3333333333, True), (-0.0, 0.0, True)]:
        assert V.same(through(a), through(b), "float", 1e-6, 1e-9) == good, (a, b)
    assert not V.same(2**60, 2**60 + 1, "float", 0.0, 0.0)


def test_many_elements_in_any_order():
    rows = [{"id": i, "tags": {i, -i}} for i in range(100000)]
    other = rows[::-1]
    assert V.same_elements(rows, other, "unordered", 0, 0, 0)
    other[5] = {"id": 3, "tags": {True}}
    assert not V.same_elements(rows, other, "unordered", 0, 0, 0)


def test_what_is_shown_is_python_s_own():
    rng = random.Random(SEED + 3)
    for _ in range(3000):
        x = through(value(rng))
        text = repr(x)
        if "Bag" in text:
            continue
        assert V.short(x) == (text if len(text) <= 200 else text[:197] + "..."), x
    assert len(V.short([1 << 10000000] * 5)) <= 200 and len(V.short("x" * 10**7)) <= 200


def test_iterators_and_views_are_their_items():
    for x, y in [(iter([1, 2]), [1, 2]), ({1: 2}.keys(), [1]), ({1: 2}.keys(), {1}), ({1: 2}.items(), {(1, 2)}), ({1: 2}.values(), [2]), (array.array("i", [1, 2]), [1, 2]), ([iter("ab")], [["a", "b"]])]:
        assert V.same(through(x), y, *EXACT), y
    assert not V.same(through({1: 2}.values()), {2}, *EXACT) and not V.same(through(iter([1, 2])), (1, 2), *EXACT)


def test_pairs_through_the_program():
    """A sample of the same pairs, graded by belljar itself."""
    rng = random.Random(SEED + 4)
    pairs = []
    while len(pairs) < 400:
        a = value(rng)
        b = nearly(rng, a)
        try:
            if eval(repr(b), {}) == b and "\\ud800" not in repr((a, b)):
                compile(repr(a), "", "eval")
                __import__("ast").literal_eval(repr(b))
                pairs.append((a, b))
        except Exception:
            continue
    top = Path(tempfile.mkdtemp(dir=harness.BASE))
    top.chmod(0o777)
    head = ("import collections, datetime, types\nfrom decimal import Decimal\nfrom fractions import Fraction\nfrom collections import *\nfrom math import inf, nan\nmappingproxy = types.MappingProxyType\n"
            "Point = namedtuple('Point', 'x y')\n")
    (top / "s.py").write_text(head + "VALUES = [\n" + ",\n".join("lambda: " + repr(a) for a, _ in pairs) + "]\ndef f(i):\n    return VALUES[i]()\n")
    (top / "c.json").write_text(json.dumps([{"args": [i], "expected": {"$py": repr(b)}} for i, (_, b) in enumerate(pairs)]))
    r = json.loads(harness.run("test", str(top / "s.py"), "--func", "f", "--cases", str(top / "c.json"), "--json").out)
    space = {}
    exec((top / "s.py").read_text(), space)
    wrong = [(pairs[i], row) for i, row in enumerate(r["test_results"]) if row["passed"] != model(space["f"](i), pairs[i][1])]
    assert not wrong and 50 < r["passed"] < 350, (r["passed"], wrong[:3])


# ---- answers of any bytes ------------------------------------------------------------------------------------------------------------------

def load_verifier():
    space = {"__name__": "under_test"}
    text = "".join((SOURCE / name).read_text() for name in ("data.py", "compare.py", "js.py", "verifier.py"))
    assert text.endswith("\nmain()\n")
    exec(compile(text[:-len("main()\n")], "verifier", "exec"), space)
    return types.SimpleNamespace(**space)


def mutated(rng, b):
    b = bytearray(b)
    for _ in range(rng.randrange(5)):
        at = rng.randrange(len(b) + 1)
        how = rng.randrange(4)
        if how == 0:
            b[at:at] = rng.choice([b"l1:", b"e2:", b"m1:", b"N", b"T", b"i1;", b"K7:Decimal", b"K5:array", b"K4:date", b"K8:Fraction", b"S3:int", b"p8:", b"r", b"g1:", b"k1:", b"x-f;", b"s1:a", b"b2:", b"Y3:int", b"c", b"h1,1;1:a", b"E1:", b"Z1:", b"w1:"])
        elif how == 1 and b:
            b[at - 1] = rng.randrange(256)
        elif how == 2:
            del b[at:at + rng.randrange(1, 9)]
        else:
            b[at:at] = bytes([rng.randrange(256)])
    return bytes(b)


def test_no_answer_is_the_verifier_s_failure():
    """Whatever bytes come: a row of a report, or one of the two words for what is no answer."""
    v = load_verifier()
    rng = random.Random(SEED + 5)
    cases, _ = v.read_cases(json.dumps([
        {"args": [[1]], "expected": [1, 2.5, "a"]}, {"expected_type": "Node|int|date", "args": [1]}, {"expected_exception": "ValueError"}, {"expected_exception": "Own", "expected_args": [[1]], "args": [[1]]},
        {"expected": {"$set": [1, 2]}, "compare": "float", "expected_args": []}, {"expected": [1, {"a": 2}], "compare": "unordered"}, {"expected_exception": "json.JSONDecodeError"}, {"expected": {"$decimal": "1"}, "compare": "float"}]), "f")
    told = collections.Counter()
    for _ in range(max(PAIRS // 4, 1000)):
        x = value(rng)
        reply = rng.choice([lambda: {"v": mutated(rng, V.encode(x)), "ns": 5}, lambda: {"v": V.encode(x), "changed": mutated(rng, V.encode(((x,), {})))}, lambda: {"v": V.encode(x), "changed": None},
                            lambda: {"e": {"type": "Own", "bases": ["ValueError"], "own": True, "message": "m", "classes": ["Own"], "line": 3, "near": ["a"]}, "changed": mutated(rng, b"t2:t1:l1:i1;m0:")},
                            lambda: {"u": "no", "type": "Node", "classes": ["Node", "builtins.object"]}, lambda: {"missing": "f", "names": ["a"]}, lambda: {rng.choice(["v", "e", "u", "missing", "changed", "out"]): x for _ in range(2)},
                            lambda: {"e": {k: rng.choice([x, "a", ["ValueError"], 1]) for k in ("type", "bases", "message", "classes", "line", "text", "near", "traceback", "function")}}])()
        try:
            data = V.encode(reply)
            r = v.Candidate(1).read(b"A", b"n" * 16 + (mutated(rng, data) if rng.random() < 0.4 else data), b"n" * 16)
            found = v.judge(rng.choice(cases), r, defined={"Node", "Own"})
            found["stdout"] = v.text_of(r.get("out", b""))
            json.loads(json.dumps(v.clean(found)))
            told[found.get("reason")] += 1
        except (v.Tampered, v.TooLarge) as e:
            told[type(e).__name__] += 1
    assert told[None] and told["wrong_value"] and told["Tampered"] and told["exception"] and told["args_unencodable"], told
