# ---- values of JavaScript, in the verifier ---------------------------------------------------------------------------------------------------
# A verifier of function tests is Python; what a JavaScript solution returns comes in the bytes of src/guest/node/data.js. null, booleans, numbers, strings,
# arrays and plain objects are None, bool, int or float, str, list and dict here. All others are a Js. docs/grading.md has the tables.
import binascii
import math
import re

SAFE = (1 << 53) - 1  # a whole number beyond it is written as a BigInt
JS_ARRAYS = ("Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array", "Float32Array", "Float64Array", "BigInt64Array",
             "BigUint64Array", "Buffer", "ArrayBuffer")
JS_BYTES = ("Uint8Array", "Uint8ClampedArray", "Buffer", "ArrayBuffer")
JS_ERRORS = ("Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError", "URIError", "AggregateError", "AssertionError")


class Js:
    """kind: undefined, hole, bigint, set (a list), map (a list of pairs), array (typed: a list), date (milliseconds), boxed, iterator (a list), instance (of a class of the
    solution's: what it holds). name: of a typed array's kind, or a class."""

    __slots__ = ("kind", "data", "name")

    def __init__(self, kind, data=None, name=""):
        self.kind, self.data, self.name = kind, data, name

    def __repr__(self):
        return short(self)

    def shown(self):
        """For short(): what it begins with, what is in it, and how it ends."""
        if self.kind == "set":
            return ("{", self.data, "}") if self.data else ("set()", (), "")
        if self.kind == "map":
            return "", (Bag("dict", self.data),), ""
        if self.data is None:
            return self.kind, (), ""
        return {"date": "Date(", "boxed": "Object("}.get(self.kind, ""), (self.data,), {"date": ")", "boxed": ")", "bigint": "n"}.get(self.kind, "")


UNDEFINED, HOLE = Js("undefined"), Js("hole")


# ---- bytes ---------------------------------------------------------------------------------------------------------------------------------

class _JsReader:
    __slots__ = ("b", "at")

    def __init__(self, b):
        self.b, self.at = b, 0

    def until(self, end, pattern):
        m = pattern.match(self.b, self.at)
        if not m or self.b[m.end():m.end() + 1] != end:
            raise Malformed("not a number")
        self.at = m.end() + 1
        return m[0]

    def count(self):
        n = int(self.until(b":", JS_COUNT))
        if n > len(self.b) - self.at:
            raise Malformed("a length past the end")
        return n

    def raw(self):
        n = self.count()
        self.at += n
        return self.b[self.at - n:self.at]

    def double(self):
        return _struct.unpack(">d", bytes.fromhex(self.until(b";", JS_DOUBLE).decode()))[0]

    def items(self, depth):
        return [self.value(depth + 1, True) for _ in range(self.count())]

    def pairs(self, depth):
        return [(self.value(depth + 1), self.value(depth + 1)) for _ in range(self.count())]

    def text(self):
        try:
            return str(self.raw(), "utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise Malformed("not UTF-8") from None

    def value(self, depth, in_list=False):
        if depth > 2 * DEPTH + 20:
            raise Malformed("nested too deep")
        tag = self.b[self.at:self.at + 1]
        self.at += 1
        if tag == b"i":
            n = int(self.until(b";", JS_WHOLE))
            if abs(n) > SAFE:
                raise Malformed("a number that is none of JavaScript's")
            return n
        if tag == b"d":
            x = self.double()
            # One number has one form here, whatever the sender chose.
            return int(x) if x == x and abs(x) <= SAFE and x == math.floor(x) and (x or math.copysign(1, x) > 0) else x
        if tag == b"s":
            return self.text()
        if tag == b"l" or tag == b"t":
            return self.items(depth)
        if tag == b"m":
            pairs = self.pairs(depth)
            if any(type(k) is not str for k, _ in pairs):
                raise Malformed("a key that cannot be one")
            return dict(pairs)
        if tag in PLAIN_TAGS:
            return PLAIN_TAGS[tag]
        if tag == b"H" and in_list:
            return HOLE
        return self.other(tag, depth)

    def other(self, tag, depth):
        if tag == b"B":
            return Js("bigint", int(self.until(b";", JS_HEX), 16))
        if tag == b"e":
            return Js("set", self.items(depth))
        if tag == b"M":
            return Js("map", self.pairs(depth))
        if tag == b"g":
            return Js("iterator", self.items(depth))
        if tag == b"b":
            return Js("array", list(self.raw()), "Uint8Array")
        if tag == b"A":
            return self.typed(depth)
        if tag == b"w":
            return Js("date", self.double())
        if tag == b"O":
            return Js("boxed", self.value(depth + 1))
        if tag == b"C":
            name = self.text()[:200]
            return Js("instance", self.value(depth + 1), name)
        raise Malformed("unknown kind of value")

    def typed(self, depth):
        name, x = self.text(), self.value(depth + 1)
        items = x.data if type(x) is Js and x.kind == "array" else x
        if name not in JS_ARRAYS or type(items) is not list:
            raise Malformed("not a typed array")
        return Js("array", items, name)


JS_COUNT, JS_WHOLE, JS_HEX, JS_DOUBLE = re.compile(rb"[0-9]{1,10}"), re.compile(rb"-?[0-9]{1,17}"), re.compile(rb"-?[0-9a-f]+"), re.compile(rb"[0-9a-f]{16}")
PLAIN_TAGS = {b"N": None, b"U": UNDEFINED, b"T": True, b"F": False}


def js_decode(b):
    if type(b) is not bytes:
        raise Malformed("no bytes")
    r = _JsReader(b)
    x = r.value(0)
    if r.at != len(b):
        raise Malformed("something after the value")
    return x


def js_encode(x):
    """A question: its arguments are what the cases say."""
    t = type(x)
    if t is Js:
        return _js_encode_other(x)
    if t is int:
        return b"i%d;" % x if abs(x) <= SAFE else b"B%x;" % x
    if t is list or t is tuple:
        return b"l%d:" % len(x) + b"".join(map(js_encode, x))
    if t is dict:
        return b"m%d:" % len(x) + b"".join(js_encode(k) + js_encode(v) for k, v in x.items())
    if t is str:
        text = x.encode("utf-8", "surrogatepass")
        return b"s%d:" % len(text) + text
    if t is float:
        return b"d" + _struct.pack(">d", x).hex().encode() + b";"
    return b"N" if x is None else b"T" if x else b"F"


def _js_encode_other(x):
    if x.kind == "undefined":
        return b"U"
    if x.kind == "hole":
        return b"H"
    if x.kind == "bigint":
        return b"B%x;" % x.data
    if x.kind == "set":
        return b"e%d:" % len(x.data) + b"".join(map(js_encode, x.data))
    if x.kind == "map":
        return b"M%d:" % len(x.data) + b"".join(js_encode(k) + js_encode(v) for k, v in x.data)
    if x.kind == "date":
        return b"w" + _struct.pack(">d", x.data).hex().encode() + b";"
    name = x.name.encode()
    if x.name in ("Uint8Array", "Buffer", "ArrayBuffer"):
        items = b"b%d:" % len(x.data) + bytes(x.data)
        return items if x.name == "Uint8Array" else b"A%d:" % len(name) + name + items
    return b"A%d:" % len(name) + name + js_encode(x.data)


# ---- what a case says ----------------------------------------------------------------------------------------------------------------------

def js_value(x):
    """A Python value as the cases of a JavaScript function mean it."""
    t = type(x)
    if t in (list, tuple):
        return [js_value(i) for i in x]
    if t in (set, frozenset):
        return Js("set", [js_value(i) for i in x])
    if t is dict:
        if all(type(k) is str for k in x):
            return {k: js_value(v) for k, v in x.items()}
        return Js("map", [(js_value(k), js_value(v)) for k, v in x.items()])
    if t in (bytes, bytearray):
        return Js("bytes", list(x), "Uint8Array")
    if t is complex or t not in (int, float, bool, str, type(None), Js):
        raise ValueError("JavaScript has no %s" % t.__name__)
    return x


def _js_list(v):
    if type(v) is not list:
        raise ValueError("it takes a list")
    return v


def _js_pairs(v, read):
    return [(read(k), read(w)) for k, w in _js_list(v)]


def _js_dict(v, read):
    pairs = _js_pairs(v, read)
    return dict(pairs) if all(type(k) is str for k, _ in pairs) else Js("map", pairs)


def _js_has_none(name):
    def refuse(v, read):
        raise ValueError("JavaScript has no %s" % name)
    return refuse


def _js_true(v, value):
    if v is not True:
        raise ValueError("it takes true")
    return value


def _js_bigint(v):
    if type(v) is not str or not re.fullmatch(r"-?[0-9]+", v):
        raise ValueError("digits in a string")
    return Js("bigint", int(v))


def _js_date(v):
    if type(v) in (int, float):
        return Js("date", float(v))
    import datetime
    when = datetime.datetime.fromisoformat(v.replace("Z", "+00:00"))
    if when.tzinfo is None:
        raise ValueError("a time needs Z or an offset")
    return Js("date", float((when - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(milliseconds=1)))


def _js_typed(v, read):
    name, items = v
    if name not in JS_ARRAYS:
        raise ValueError("one of %s" % ", ".join(JS_ARRAYS))
    items = [read(i) for i in _js_list(items)]
    if name in JS_BYTES and not all(type(i) is int and 0 <= i < 256 for i in items):
        raise ValueError("bytes")
    return Js("array", items, name)


# Instead of, and beside, what Python has: what it takes, and how an inner value is read.
JS_TAGS = {
    "$undefined": lambda v, read: _js_true(v, UNDEFINED),
    "$hole": lambda v, read: _js_true(v, HOLE),
    "$bigint": lambda v, read: _js_bigint(v),
    "$date": lambda v, read: _js_date(v),
    "$map": lambda v, read: Js("map", _js_pairs(v, read)),
    "$typed": _js_typed,
    "$tuple": lambda v, read: [read(i) for i in _js_list(v)],
    "$set": lambda v, read: Js("set", [read(i) for i in _js_list(v)]),
    "$frozenset": lambda v, read: Js("set", [read(i) for i in _js_list(v)]),
    "$dict": _js_dict,
    "$bytes": lambda v, read: Js("bytes", list(binascii.a2b_base64(v, strict_mode=True)), "Uint8Array"),
    **{"$" + name: _js_has_none(name) for name in ("complex", "deque", "decimal", "fraction", "datetime", "time", "timedelta")},
    "$py": lambda v, read: js_value(__import__("ast").literal_eval(v)),
}


# ---- comparing -----------------------------------------------------------------------------------------------------------------------------

class JsSame:
    """Whether two values are the same, as util.isDeepStrictEqual has it. With `loose` the second is what a case says in JSON, which has fewer types: its list is any
    array or iterator, its object any object or Map, its whole number also a BigInt."""

    def __init__(self, how="exact", rel=0.0, abs_=0.0, loose=False):
        self.close, self.rel, self.abs, self.loose = how in ("float", "approx-nested"), rel, abs_, loose

    def same(self, a, b, depth=0):
        if depth > 400:
            return False
        if type(a) is Js or type(b) is Js:
            return self.other(a, b, depth)
        if type(a) in (int, float) and type(b) in (int, float):
            return self.number(a, b)
        if type(a) is not type(b):
            return False
        if type(a) is list:
            return len(a) == len(b) and all(self.same(x, y, depth + 1) for x, y in zip(a, b))
        if type(a) is dict:
            return len(a) == len(b) and all(k in b and self.same(v, b[k], depth + 1) for k, v in a.items())
        return a == b

    def number(self, a, b):
        if a != a or b != b:
            return a != a and b != b
        if self.close:
            try:
                return a == b or math.isclose(a, b, rel_tol=self.rel, abs_tol=self.abs)
            except OverflowError:
                return a == b
        if a == 0 and b == 0:
            return math.copysign(1, a) == math.copysign(1, b)
        return a == b or a == js_nearest(b)

    def other(self, a, b, depth):
        kind = a.kind if type(a) is Js else None
        if type(b) is not Js:
            return self.loose and kind is not None and self.plain(a, kind, b, depth)
        if b.kind == "bytes":
            return kind in ("array", "bytes") and a.name in JS_BYTES and a.data == b.data
        if kind == "instance" and b.kind != "instance" and self.loose:
            return self.same(a.data, b, depth + 1)
        if kind != b.kind:
            return False
        if kind == "bigint":
            return a.data == b.data
        if kind == "date":
            return a.data == b.data or (a.data != a.data and b.data != b.data)
        if kind == "set":
            return self.unordered(a.data, b.data, depth)
        if kind == "map":
            return self.unordered([list(p) for p in a.data], [list(p) for p in b.data], depth)
        return a.name == b.name and self.same(a.data, b.data, depth + 1)

    def plain(self, a, kind, b, depth):
        """A value that JSON does not have, and what a case has in JSON."""
        if kind == "bigint":
            return type(b) is int and (a.data == b or (self.close and self.number(a.data, b)))
        if kind == "instance" or (kind in ("array", "iterator") and type(b) is list):
            return self.same(a.data, b, depth + 1)
        if kind == "map" and type(b) is dict:
            return self.unordered([list(p) for p in a.data], [[k, v] for k, v in b.items()], depth)
        return False

    def unordered(self, a, b, depth=0):
        """The same elements in any order, each used once. Only elements with the same key can be the same: few pairs are compared."""
        if len(a) != len(b):
            return False
        if self.close:
            return self.each(a, b, depth)
        mine, theirs = {}, {}
        for items, places in ((a, mine), (b, theirs)):
            for x in items:
                places.setdefault(js_key(x), []).append(x)
        return all(len(xs) == len(theirs.get(key, ())) for key, xs in mine.items()) and all(self.pair(xs, theirs[key], depth) for key, xs in mine.items())

    def each(self, a, b, depth):
        """With a tolerance there are no keys: numbers in their order, others pair by pair."""
        if all(type(x) in (int, float) for x in a) and all(type(x) in (int, float) for x in b):
            order = lambda x: (x != x, x)
            return all(self.number(x, y) for x, y in zip(sorted(a, key=order), sorted(b, key=order)))
        if len(a) > 2000:
            raise ValueError("more than 2000 elements that cannot be sorted")
        return self.pair(a, b, depth)

    def pair(self, a, b, depth):
        """Each of one list with one of the other."""
        left, late, owner = list(range(len(b))), [], {}
        for i, x in enumerate(a):
            j = next((j for j in left if self.same(x, b[j], depth + 1)), None)
            if j is None:
                late.append(i)
            else:
                left.remove(j)
                owner[j] = i
        # What a case says may be the same as several, and so may a number with a tolerance: the first that fits need not be the right one.
        if late and not self.loose and not self.close:
            return False
        return all(self.move(i, a, b, owner, set(), depth) for i in late)

    def move(self, i, a, b, owner, seen, depth):
        """A place for element i, where need be by giving others another one."""
        for j, y in enumerate(b):
            if j not in seen and self.same(a[i], y, depth + 1):
                seen.add(j)
                if j not in owner or self.move(owner[j], a, b, owner, seen, depth):
                    owner[j] = i
                    return True
        return False


def js_nearest(x):
    """The number that JavaScript has for digits beyond 2 ** 53."""
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def js_key(x, depth=0):
    """Values that are the same, loosely, have the same key."""
    t = type(x)
    if t is str:
        return x
    if t is bool or x is None or depth > 400:
        return ("is", str(x))
    if t in (int, float) or (t is Js and x.kind == "bigint"):
        n = js_nearest(x.data if t is Js else x)
        return ("n", "nan" if n != n else n)
    if t is list:
        return ("l", tuple([js_key(i, depth + 1) for i in x]))
    if t is dict:
        return _js_bag("m", [(k, js_key(v, depth + 1)) for k, v in x.items()])
    if x.kind == "instance":
        return js_key(x.data, depth + 1)
    if x.kind in ("array", "iterator", "bytes"):
        return ("l", tuple([js_key(i, depth + 1) for i in x.data]))
    if x.kind == "map":
        return _js_bag("m", [(js_key(k, depth + 1), js_key(v, depth + 1)) for k, v in x.data])
    if x.kind == "set":
        return _js_bag("e", [js_key(i, depth + 1) for i in x.data])
    if x.kind == "boxed":
        return ("O", js_key(x.data, depth + 1))
    if x.kind == "date":
        return ("w", "nan" if x.data != x.data else x.data)
    return ("is", x.kind)


def _js_bag(tag, items):
    counts = {}
    for i in items:
        counts[i] = counts.get(i, 0) + 1
    return (tag, frozenset(counts.items()))


# ---- types and exceptions --------------------------------------------------------------------------------------------------------------------

JS_TYPES = {
    "number": "number", "Number": "number", "float": "number", "string": "string", "String": "string", "str": "string", "boolean": "boolean", "Boolean": "boolean",
    "bool": "boolean", "bigint": "bigint", "BigInt": "bigint", "undefined": "undefined", "null": "null", "None": "null", "NoneType": "null", "Array": "Array", "list": "Array",
    "Object": "Object", "Map": "Map", "Set": "Set", "set": "Set", "Date": "Date", "Iterator": "Iterator", "iterator": "Iterator", "Generator": "Iterator", "generator": "Iterator",
    **{name: name for name in JS_ARRAYS}}


def js_type(x):
    """The name of a value's type; of an instance, what it holds."""
    if x is None:
        return "null"
    if type(x) is Js:
        if x.kind == "instance":
            return js_type(x.data)
        return x.name if x.kind == "array" else {"set": "Set", "map": "Map", "date": "Date", "boxed": "boxed", "iterator": "Iterator"}.get(x.kind, x.kind)
    return {bool: "boolean", int: "number", float: "number", str: "string", list: "Array", dict: "Object"}[type(x)]


def js_has_type(x, wanted, classes):
    is_object = js_type(x) not in ("number", "string", "boolean", "bigint", "undefined", "null")
    for name in (w.strip() for w in wanted.split("|")):
        if name == "int":
            good = type(x) is int or js_type(x) == "bigint"
        elif name == "object":
            good = is_object or x is None
        elif name == "dict":
            good = js_type(x) in ("Object", "Map")
        elif name == "bytes":
            good = js_type(x) in JS_BYTES
        elif name in JS_TYPES:
            good = js_type(x) == JS_TYPES[name]
        else:
            good = type(x) is Js and x.kind == "instance" and name in js_ancestors(x.name, classes())
        if good:
            return True
    return False


def js_ancestors(name, classes):
    """A class of the solution's and those that it extends, as the source says it. A name that the source does not define is nobody."""
    found = []
    while name in classes and name not in found:
        found.append(name)
        name = classes[name]
    return found


JS_NOT_CODE = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|(?<=[(,=:\[!&|?{};+\n])[ \t]*/(?![*/])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/", re.S)
JS_CLASS = re.compile(r"(?<![\w$.#])(?:class\s+(?!extends\b)(?P<c>[\w$]+)|(?P<v>[\w$]+)\s*[=:]\s*class\b(?:\s+(?!extends\b)(?P<i>[\w$]+))?|function\s*\*?\s*(?P<f>[\w$]+))"
                      r"(?:\s+extends\s+(?:[\w$]+\s*\.\s*)*(?P<p>[\w$]+))?")


def js_classes(source):
    """The classes that a source defines, each with the one that it extends."""
    found = {}
    for m in JS_CLASS.finditer(JS_NOT_CODE.sub(lambda m: " " if m[0][0] in "/ \t" else "''", source)):
        for key in ("c", "v", "i", "f"):
            if m[key]:
                found.setdefault(m[key], m["p"])
    return found


def js_raised(info, wanted, classes):
    """Whether what was thrown is `wanted`. One of JavaScript's own classes: the driver has compared prototypes. Any other: a class that the source defines."""
    chain = info.get("chain")
    if type(chain) is not list or not all(type(c) is list and len(c) == 2 and type(c[1]) is str for c in chain):
        raise Tampered("an exception that is none")
    if wanted in JS_ERRORS or any(own is None for own, _ in chain):
        return any(own is not True and name == wanted for own, name in chain)
    return any(wanted in js_ancestors(name, classes()) for own, name in chain if own is True)


def js_judge(case, r, source):
    """One case's answer: exception, then type, then value, then arguments."""
    found = []

    def classes():
        if not found:
            found.append(js_classes(source))
        return found[0]

    if "missing" in r:
        return {"reason": "missing_function", "detail": "there is no '%s'" % str(r["missing"])[:100], "names": name_list(r)}
    wanted = case.get("expected_exception")
    if "e" in r:
        info = clean_info(r["e"])
        if not wanted:
            return {"reason": "exception", "exception": info, "detail": "%s: %s" % (info["type"], info["message"][:200])}
        if not js_raised(r["e"], wanted, classes):
            return {"reason": "exception", "exception": info, "expected_exception": wanted, "detail": "expected %s, got %s%s" % (
                wanted, "another class that is called " if info["type"] == wanted else "", info["type"])}
        return js_judge_args(case, r, {"output": "%s(%s)" % (info["type"], short(info["message"]))})
    if "u" in r:
        return {"reason": "unencodable", "detail": str(r["u"])[:300], "output": "<%s>" % str(r.get("type"))[:100]}
    value = js_answer(r.get("v"), "a value")
    out = {"output": short(value)}
    if wanted:
        return {**out, "reason": "no_exception", "expected_exception": wanted, "detail": "expected %s, got a value" % wanted}
    if case.get("expected_type") and not js_has_type(value, case["expected_type"], classes):
        return {**out, "reason": "wrong_type", "detail": "expected type %s, got %s" % (case["expected_type"], js_shown_type(value))}
    if "expected" in case:
        try:
            good = js_is_expected(value, case["expected"], case["compare"])
        except (ValueError, RecursionError) as e:
            return {**out, "reason": "wrong_value", "detail": "cannot be compared: %s" % str(e)[:200]}
        if not good:
            detail = "expected %s, got %s" % (short(case["expected"]), out["output"])
            if js_type(value) != js_type(case["expected"]):
                detail = "expected %s (%s), got %s (%s)" % (short(case["expected"]), js_type(case["expected"]), out["output"], js_shown_type(value))
            return {**out, "reason": "wrong_value", "detail": detail, **js_far_difference(case["expected"], value, case["compare"])}
    return js_judge_args(case, r, out)


def js_answer(b, what):
    try:
        return js_decode(b)
    except (Malformed, RecursionError, TypeError) as e:
        raise Tampered("%s that is no data: %s" % (what, e)) from None


def js_shown_type(x):
    return x.name[:100] if type(x) is Js and x.kind == "instance" else js_type(x)


def js_elements(x):
    """The elements of what may be compared in any order."""
    if type(x) is Js and x.kind == "instance":
        x = x.data
    return x.data if type(x) is Js and x.kind in ("set", "array", "iterator", "bytes") else x if type(x) is list else None


def js_is_expected(value, expected, compare):
    kind, rel, abs_ = compare
    same = JsSame(kind, rel, abs_, loose=True)
    if kind == "unordered" and js_elements(value) is not None and js_elements(expected) is not None:
        return same.unordered(js_elements(value), js_elements(expected))
    return same.same(value, expected)


def js_far_difference(expected, value, compare):
    kind, rel, abs_ = compare
    if kind == "unordered":
        return {}
    if type(expected) is list and js_type(value) != "Set":
        value = js_elements(value) or value
    return far_difference(expected, value, JsSame(kind, rel, abs_, loose=True).same)


def js_judge_args(case, r, out):
    if "expected_args" not in case:
        return out
    now = list(case["args"])
    if "changed" in r:
        if type(r["changed"]) is not bytes:
            return {**out, "reason": "args_unencodable", "detail": "its arguments cannot be compared afterwards: %s" % str(r.get("lost"))[:200]}
        now = js_answer(r["changed"], "arguments")
    kind, rel, abs_ = case["compare"]
    if not JsSame(kind, rel, abs_, loose=True).same(now, case["expected_args"]):
        return {**out, "reason": "wrong_value", "detail": "its arguments should be %s afterwards, they are %s" % (short(case["expected_args"]), short(now)),
                "arguments": {"expected": short(case["expected_args"]), "got": short(now)}}
    return out


