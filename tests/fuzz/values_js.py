# SPDX-License-Identifier: Apache-2.0
"""The verifier's comparison of JavaScript values beside node's own (util.isDeepStrictEqual): random pairs, equal and nearly equal.

Usage: values_js.py [SEED [COUNT]]. Exit status 1 when there is a pair on which they do not agree."""
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def verifier_values():
    """What a verifier has of src/guest/python: bytes of JavaScript values, and whether two are the same."""
    space = {"__name__": "values"}
    for name in ("data.py", "compare.py", "js.py"):
        exec(compile((ROOT / "src/guest/python" / name).read_text(), name, "exec"), space)
    return space


def check(seed, count, node="node"):
    """Yields a sentence for each pair that is wrong, and at the end the numbers of equal and different pairs."""
    v = verifier_values()
    decode, encode, same, loose = v["js_decode"], v["js_encode"], v["JsSame"](), v["JsSame"](loose=True)
    rng = random.Random(seed)
    p = subprocess.run([node, str(ROOT / "tests/fuzz/values_js.js"), str(ROOT / "src/guest/node/data.js"), str(seed), str(count)], stdout=subprocess.PIPE, check=True)
    seen = [0, 0]
    for line in p.stdout.decode().splitlines():
        a_hex, b_hex, equal, back, strange = line.split()
        equal = equal == "1"
        a, b = decode(bytes.fromhex(a_hex)), decode(bytes.fromhex(b_hex))
        seen[equal] += 1
        if same.same(a, b) != equal or same.same(b, a) != equal:
            yield "node says %s: %r and %r" % ("equal" if equal else "different", a, b)
        if equal and not loose.same(a, b):
            yield "equal, but not for a case: %r and %r" % (a, b)
        if back != "1":
            yield "does not come back in node: %r" % (a,)
        if strange == "0" and b"O" not in bytes.fromhex(a_hex) and decode(encode(a)) is not None and not same.same(decode(encode(a)), a):
            yield "does not come back in Python: %r" % (a,)
        if type(a) is list:
            # in any order: the same elements, and not the same with one of them exchanged
            mixed = list(a)
            rng.shuffle(mixed)
            if not same.unordered(a, mixed):
                yield "not the same in another order: %r and %r" % (a, mixed)
            if type(b) is list and len(a) == len(b) and same.unordered(a, b) != matches(same, a, b):
                yield "in any order: %r and %r" % (a, b)
    yield seen


def matches(same, a, b):
    """By trying: the slow way that needs no keys."""
    if not a:
        return not b
    return any(same.same(a[0], y) and matches(same, a[1:], b[:i] + b[i + 1:]) for i, y in enumerate(b))


def hostile(seed, count):
    """Yields a sentence for bytes that do anything but give a value or be refused: a candidate writes what it likes."""
    v = verifier_values()
    rng = random.Random(seed)
    good = [b"i5;", b"d3ff8000000000000;", b"s2:ab", b"l2:NU", b"m1:s1:aT", b"M1:i1;l1:H", b"e2:i1;i1;", b"g1:B-ff;", b"A12:Float64Arrayl1:i1;", b"b3:abc", b"A6:Bufferb1:a",
            b"w7ff8000000000000;", b"Oi1;", b"C1:Pm0:", b"C4:Baseel1:N", b"s3:\xed\xa0\x80", b"Bffffffffffffffffffff;"]
    for _ in range(count):
        b = bytearray(b"".join(rng.choice(good) for _ in range(rng.randrange(1, 4))))
        if rng.random() < 0.5:
            b = bytearray(b"l%d:" % rng.randrange(4)) + b
        for _ in range(rng.randrange(3)):
            b[rng.randrange(len(b))] = rng.choice(b"iNUTFsmMelHBgAbwOCd:;-0123456789abcdef\xff\x00")
        try:
            x = v["js_decode"](bytes(b))
        except v["Malformed"]:
            continue
        except Exception as e:
            yield "%r: %s: %s" % (bytes(b), type(e).__name__, e)
            continue
        for how in ("exact", "float", "unordered"):
            same = v["JsSame"](how, 1e-6, 1e-9, True)
            try:
                if not same.same(x, x) or len(repr(x)) > 10000 or not v["js_type"](x):
                    yield "%r is not itself" % bytes(b)
                same.same(x, [1, {"a": None}, "ab"])
                v["js_key"](x)
            except Exception as e:
                yield "%r: %s: %s" % (bytes(b), type(e).__name__, e)


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(1 << 32)
    *wrong, seen = check(seed, int(sys.argv[2]) if len(sys.argv) > 2 else 100000)
    wrong += hostile(seed, 100000)
    for text in wrong[:20]:
        print(text[:500])
    print("seed %d: %d equal and %d different pairs, %d wrong" % (seed, seen[1], seen[0], len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
