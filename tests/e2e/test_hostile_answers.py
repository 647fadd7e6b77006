# SPDX-License-Identifier: Apache-2.0
"""The verifiers against answers of any kind. The test plays the front and a candidate that knows the protocol: every answer carries the right
nonce, and is built at random. No answer may end a verifier, pass, or give a report that is belljar's own failure or no JSON."""
import json
import os
import random
import shutil
import subprocess
import tempfile
from decimal import Decimal
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
GUEST = REPO / "src" / "guest"
ROUNDS = int(os.environ.get("BELLJAR_HOSTILE_ROUNDS", "600"))
SECRET = "expected-9f3b"  # no answer is built of it

DATA = {"__name__": "data"}
exec(compile((GUEST / "python" / "data.py").read_text(), "data.py", "exec"), DATA)
encode = DATA["encode"]


class Verifier:
    def __init__(self, argv):
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.hear() == (b"R", b"{}")

    def hear(self):
        head = self.p.stdout.read(4)
        if len(head) < 4:
            self.p.stdin.close()
            pytest.fail("the verifier ended: %s" % self.p.stderr.read()[-2000:].decode("utf-8", "replace"))
        b = self.p.stdout.read(int.from_bytes(head, "little"))
        return b[:1], b[1:]

    def say(self, kind, data):
        b = (len(data) + 1).to_bytes(4, "little") + kind + data
        self.p.stdin.write(b)
        self.p.stdin.flush()

    def grade(self, task, line, answer):
        """One sample; answer(op) makes the bytes of an answer, or None: the jar has ended. The front adds the CPU time and the clock's: none was used here."""
        times = bytes(8)
        self.say(b"T", json.dumps(task).encode() + b"\n" + line)
        queue, asked = [], None
        while True:
            if asked is None and queue:
                asked = queue.pop(0)
            if asked is not None:
                wait, frame = asked
                op, nonce = frame[:1], frame[1:17]
                if op in b"Ff":
                    said = answer(b"C")
                    if said is None:
                        self.say(b"X", b'{"reason":"crashed","detail":"it ended"}')
                    else:
                        if said != b"":
                            self.say(b"A", times + frame[17:33] + said)
                        self.say(b"A", times + wait + (answer(b"E") or encode({"ended": 0, "late": False, "out": b""})))
                else:
                    said = answer(op)
                    self.say(*((b"A", times + nonce + said) if said is not None else (b"X", b'{"reason":"crashed","detail":"it ended"}')))
                asked = None
                continue
            kind, data = self.hear()
            if kind == b"R":
                return data
            if kind == b"N":
                queue.clear()
                self.say(b"Y", b"")
            elif kind == b"C":
                asked = (b"", data[8:])
            elif kind == b"Q":
                queue.append((data[8:24], data[24:]))

    def end(self):
        self.p.stdin.close()
        self.p.kill()
        self.p.wait()


# ---- answers ---------------------------------------------------------------------------------------------------------------------------------

TEXTS = ["", "a", "a\0b", "\0", "\ud800", "\udfff\ud800", "x" * 5000, "\x1b[31m", "\u202e", "é" * 300, "ValueError", "SystemExit", "KeyboardInterrupt", "StopIteration",
         "BaseException", "GeneratorExit", "ExceptionGroup", "UnicodeDecodeError", "__class__", "%s%n{0}", "sys", "os.path", "decimal.nothing", "]\n{", "1" * 4000]
PLAIN = [None, True, False, 0, -1, 2**62, 2**63, 2**64, -(2**63), 10**400, -(10**5000), 0.0, -0.0, float("nan"), float("inf"), float("-inf"), 5e-324, 1e308, 3 + 4j, complex("nan"),
         b"", b"\0\xff\xfe", b"x" * 3000, range(3), range(0, 2**60, 2**59), bytearray(b"\0"), int, type(None), object]
RAW = [b"", b"\0", b"N", b"i;", b"i9999999999999999999999;", b"x;", b"xzz;", b"l5:", b"l99999999:", b"m1:NN", b"m1:l0:N", b"e1:l0:", b"d;", b"d7ff8000000000001;", b"s3:\xff\xfe\xfd",
       b"h1,3;1:x", b"h-1,7;0:", b"S1:xS1:xS1:xN", b"D3:NaN", b"D4:sNaN", b"D9:1E9999999", b"D8:Infinity", b"Q3:1/0", b"Q3:1/3", b"Y4:type", b"Y6:object", b"g2:NN", b"k1:l0:", b"w1:N",
       b"q1:N", b"r" + b"i0;" * 3, b"l1:" * 150 + b"N", b"l1:" * 3000 + b"N", b"t2:l0:m0:", b"t2:t1:l0:m0:", b"t1:N", b"t2:NN", b"\xff" * 40, b"U", b"u", b"j1:", b"B-f;", b"H", b"M1:NN", b"A3:FooN", b"A12:Float64Arrayl1:N", b"w7ff8000000000000;", b"ON", b"C1:xm0:", b"p8:abc", b"K7:Decimals1:x"]
KEYS = ["e", "v", "u", "type", "missing", "names", "out", "changed", "ns", "cpu", "timeout", "where", "died", "ended", "late", "module", "over", "all", "classes", "chain", "lost", "later", "large", "threads", "bases", "message", "own",
        "line", "column", "text", "function", "traceback", "near", "signal"]


class Hostile:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def value(self, depth=0):
        r = self.r
        kind = r.randrange(12 if depth < 4 else 7)
        if kind < 3:
            return r.choice(PLAIN)
        if kind < 6:
            return r.choice(TEXTS)
        if kind == 6:
            return r.choice([Decimal("sNaN"), Decimal("1e9999"), Decimal("-0"), frozenset((1, "a\0"))])
        items = [self.value(depth + 1) for _ in range(r.randrange(4))]
        if kind == 7:
            return items
        if kind == 8:
            return tuple(items)
        if kind == 9:
            return {k: self.value(depth + 1) for k in r.sample(KEYS, r.randrange(6))}
        if kind == 10:
            return {self.key(): i for i in items}
        return {self.key() for _ in items}

    def key(self):
        return self.r.choice([x for x in PLAIN if type(x) is not bytearray] + TEXTS)

    def packed(self):
        """The bytes of a value inside of an answer: well made, or not."""
        return self.r.choice(RAW) if self.r.random() < 0.4 else encode(self.value())

    def exception(self):
        r = self.r
        e = {"type": r.choice(TEXTS), "bases": [r.choice(TEXTS) for _ in range(r.randrange(4))], "own": r.random() < 0.5, "message": r.choice(TEXTS), "line": r.choice([1, 0, -1, 10**30, 2**63]),
             "text": r.choice(TEXTS), "function": r.choice(TEXTS), "traceback": r.choice(TEXTS), "near": [r.choice(TEXTS)],
             "classes": [r.choice(TEXTS) for _ in range(r.randrange(4))], "chain": [[r.choice([True, False, None]), r.choice(TEXTS)] for _ in range(r.randrange(4))]}
        for _ in range(r.randrange(3)):
            e[r.choice(list(e))] = self.value()
        return e

    def reply(self):
        r = self.r
        out = {}
        for k in r.sample(KEYS[:24], r.randrange(1, 6)):
            out[k] = (self.exception() if k == "e" and r.random() < 0.7 else self.packed() if k in ("v", "changed") and r.random() < 0.8 else
                      [{"v": self.packed()} if r.random() < 0.7 else self.value() for _ in range(3)] if k == "all" and r.random() < 0.8 else self.value())
        return out

    def answer(self, op):
        r = self.r
        if op == b"L" and r.random() < 0.85:
            # most load well, since there is more to see behind it
            return encode({"out": r.choice([b"", b"\0\xff", "\ud800"]), "names": r.choice([[], ["f\0"], ["\ud800"], self.value()])})
        if op == b"E":
            return None if r.random() < 0.6 else encode(self.value() if r.random() < 0.3 else {"ended": self.value(), "late": self.value(), "out": self.value()})
        dice = r.random()
        if dice < 0.02:
            return None
        if dice < 0.08:
            return r.choice(RAW)
        b = encode(self.reply() if dice < 0.9 else self.value())
        if dice > 0.8 and b:
            at = r.randrange(len(b))
            b = b[:at] + bytes([r.randrange(256)]) * r.randrange(3) + b[at + r.randrange(2):]
        return b


def no_constant(c):
    raise ValueError(c)


def check(report, seed):
    """A report that any strict reader takes, and that is a verdict about the candidate."""
    text = report.decode("utf-8")
    found = json.loads(text, parse_constant=no_constant, parse_int=lambda i: int(i) if abs(int(i)) < 2**63 else no_constant(i))
    assert "internal" not in found, (seed, found["internal"])
    json.dumps(found, ensure_ascii=False).encode("utf-8")  # no half of a surrogate pair
    assert not found.get("passed"), (seed, found)
    for row in found.get("results", []):
        assert row["passed"] is False and isinstance(row["reason"], str), (seed, row)
    assert "reason" in found or "gone" in found or "results" in found, (seed, found)


# ---- who is asked ----------------------------------------------------------------------------------------------------------------------------

CASES = json.dumps([{"args": [[1, 2]], "expected": SECRET, "expected_args": [[SECRET]]}, {"args": [], "expected": SECRET, "expected_type": "str"},
                    {"args": [1], "expected_exception": "TabError"}, {"args": [1], "expected": [SECRET, 1.5], "compare": "unordered"},
                    {"args": [{"a": 1}], "expected": {"k": SECRET}, "compare": "float"}, {"args": [], "expected": {"$set": [SECRET]}, "compare": "approx-nested"}]).encode()
HUMANEVAL = json.dumps({"task_id": "t/0", "prompt": "def f(x):\n    pass\n", "entry_point": "f",
                        "test": "def check(c):\n    x = [1]\n    r = c(x)\n    assert abs(r - 1) < 5\n    assert c(2) == '%s' and x == []\n" % SECRET}).encode()
MBPP = json.dumps({"task_id": 7, "code": "def f(x):\n    return x\n", "test_list": ["assert f(1) == '%s'" % SECRET, "assert sorted(f([2])) == [g(1), '%s']" % SECRET]}).encode()
PLUS = json.dumps({"task_id": "HumanEval/900", "prompt": "def f(x):\n", "canonical_solution": "    return '%s' + str(x)\n" % SECRET, "entry_point": "f", "base_input": [[1], [2]],
                   "plus_input": [[3], [4]], "atol": 0.001}).encode()
JS = json.dumps({"task_id": "js/0", "prompt": "", "test": "const x = [1]; const r = f(x); console.assert(JSON.stringify(r) === '%s'); console.assert(f(2)[0] === '%s')" % (SECRET, SECRET)}).encode()

KINDS = {
    "function": ({"kind": "function", "function": "f", "case_s": 1.0}, CASES),
    "shared": ({"kind": "function", "function": "f", "case_s": 1.0, "shared": True}, CASES),
    "fresh js": ({"kind": "function", "function": "f", "case_s": 1.0, "shared": True, "fresh": True, "language": "js"}, CASES),
    "bash": ({"kind": "function", "function": "f", "case_s": 1.0, "shared": True, "language": "bash"}, CASES),
    "humaneval": ({"dataset": "humaneval", "case_s": 1, "call_ms": 1000, "load_ms": 1000}, HUMANEVAL),
    "mbpp": ({"dataset": "mbpp", "case_s": 1, "call_ms": 1000, "load_ms": 1000}, MBPP),
    "humaneval+": ({"dataset": "humaneval+", "case_s": 1, "call_ms": 1000, "load_ms": 1000}, PLUS),
}


def make(tmp, kind):
    if kind == "humaneval-x":
        if not shutil.which("node"):
            pytest.skip("no node here")
        text = "".join((GUEST / "node" / n).read_text() for n in ("data.js", "verifier.js"))
        path = tmp / "verifier.js"
        argv = [shutil.which("node"), str(path)]
    else:
        text = "".join((GUEST / "python" / n).read_text() for n in ("data.py", "compare.py", "js.py", "verifier.py"))
        path = tmp / "verifier.py"
        argv = ["/usr/bin/python3", "-I", str(path)]
    path.write_text(text)
    return Verifier(argv)


@pytest.mark.parametrize("kind", [*KINDS, "humaneval-x"])
def test_no_answer_breaks_a_verifier(kind):
    task, line = KINDS.get(kind) or ({"dataset": "humaneval-x", "case_s": 1, "call_ms": 1000, "load_ms": 1000}, JS)
    with tempfile.TemporaryDirectory() as tmp:
        v = make(Path(tmp), kind)
        try:
            for seed in range(ROUNDS):
                check(v.grade(task, line, Hostile(seed).answer), seed)
        finally:
            v.end()
