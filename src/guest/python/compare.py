# ---- what is the same ----------------------------------------------------------------------------------------------------------------------
# Plain values against what a case expects, as Python's == has it, but for what docs/grading.md says: bool is no number, -0.0 is not 0.0, nan is nan, and
# an iterator is a list. The same holds inside of sets and for the keys of dictionaries, where Python's own == cannot be asked.
import math
import re


def value_key(x):
    """Bytes that are the same for values that are the same, and for no others. Bytes, since nobody can choose them so that their hashes collide."""
    t = type(x)
    if t is str:
        b = x.encode("utf-8", "surrogatepass")
        return b"s%d:" % len(b) + b
    if t is int:
        return b"%x;" % x
    if t is bool:
        return b"T" if x else b"F"
    if x is None:
        return b"N"
    if t is float:
        return number_key(x)
    if t is list or t is tuple or t is Items:
        return (b"t%d:" if t is tuple else b"l%d:") % len(x) + b"".join([value_key(i) for i in x])
    if t in SETS or t is Bag and x.kind == "set":
        keys = [value_key(i) for i in elements(x)]
        keys.sort()
        return b"e%d:" % len(keys) + b"".join(keys)
    if t is dict or t is Bag:
        keys = [value_key(k) + value_key(v) for k, v in pairs_of(x)]
        keys.sort()
        return b"m%d:" % len(keys) + b"".join(keys)
    if t is bytes or t is bytearray:
        return b"b%d:" % len(x) + bytes(x)
    return other_key(x, t)


def number_key(x):
    if x != x:
        return b"nan;"
    if x in (math.inf, -math.inf):
        return b"inf;" if x > 0 else b"-inf;"
    if x == 0:
        return b"0;" if math.copysign(1, x) > 0 else b"-0;"
    return b"%x/%x;" % x.as_integer_ratio() if x % 1 else b"%x;" % int(x)


def other_key(x, t):
    if t is complex:
        # The signs of its zeros say where it came from, and nobody expects them.
        re_, im = number_key(x.real + 0.0), number_key(x.imag + 0.0)
        return re_ if im == b"0;" else b"c" + re_ + im
    if t is range:
        n = range_length(x)
        return b"r%x:" % n + (b"" if n == 0 else b"%x;" % x.start if n == 1 else b"%x;%x;" % (x.start, x.step))
    if t is type:
        return b"Y" + x.__name__.encode() + b";"
    name = t.__name__
    if name == "Fraction":
        return b"%x;" % x.numerator if x.denominator == 1 else b"%x/%x;" % (x.numerator, x.denominator)
    if name == "Decimal":
        return decimal_key(x)
    if name == "deque":
        return b"q" + value_key(list(x))
    if name in ("date", "datetime", "time", "timedelta"):
        if name == "datetime" and x.tzinfo is not None:
            try:
                x = (x - x.utcoffset()).replace(tzinfo=None)
            except OverflowError:
                pass  # the first day and the last
            name = "datetime+"
        return b"K" + value_key("%s %s" % (name, x))
    return b"?%d;" % id(x)  # equals nothing but itself


DECIMAL_EXACT = 20000  # digits, before and behind the point, of those that are compared with other numbers


def decimal_key(x):
    if x.is_snan():
        return b"snan" + str(x).encode() + b";"  # whoever computes with it gets an exception: it is no nan
    if x.is_nan():
        return b"nan;"
    if x.is_infinite():
        return b"inf;" if x > 0 else b"-inf;"
    if x == 0:
        return b"-0;" if x.is_signed() else b"0;"
    if -DECIMAL_EXACT < x.adjusted() < DECIMAL_EXACT and len(x.as_tuple().digits) < DECIMAL_EXACT:
        a, b = x.as_integer_ratio()
        return b"%x;" % a if b == 1 else b"%x/%x;" % (a, b)
    sign, digits, exponent = x.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    short_ = text.rstrip("0")
    return ("D%s%se%d;" % ("-" if sign else "", short_, exponent + len(text) - len(short_))).encode()


def range_length(x):
    """len() has no words for the very long ones."""
    return max(0, -((x.start - x.stop) // abs(x.step))) if x.step > 0 else max(0, -((x.stop - x.start) // abs(x.step)))


SETS = (set, frozenset)
LISTS = (list, Items)


def elements(x):
    return x.items if type(x) is Bag else x


def pairs_of(x):
    return x.items if type(x) is Bag else x.items()


def kind_of(x):
    """What values must have in common before they are looked into."""
    t = type(x)
    if t is Bag:
        return x.kind
    return "list" if t in LISTS else "set" if t in SETS else "dict" if t is dict else "deque" if t.__name__ == "deque" else t


def is_number(x):
    t = type(x)
    return t is int or t is float or t.__name__ in ("Decimal", "Fraction")


def close_numbers(a, b, rel, abs_):
    """Two numbers that are not complex, within a tolerance. What no float can hold must be the same."""
    if type(a) is int and type(b) is int:
        return abs(a - b) <= abs_ or abs(a - b) <= rel * min(max(abs(a), abs(b)), 1 << 1000)
    try:
        x, y = float(a), float(b)
    except (OverflowError, ValueError):
        return value_key(a) == value_key(b)
    if x != x or y != y:
        return x != x and y != y
    if math.isinf(x) or math.isinf(y):
        return value_key(a) == value_key(b)
    return math.isclose(x, y, rel_tol=rel, abs_tol=abs_)


def same(a, b, how, rel, abs_, depth=0):
    """Whether what came is what is expected (b)."""
    if depth > 400:
        return False
    kind = kind_of(a)
    if kind == "list" and type(a) is Items and a.kind in ("dict_keys", "dict_items") and kind_of(b) == "set":
        return same_elements(list(a), list(elements(b)), how, rel, abs_, depth)
    if type(a) is bool or type(b) is bool:
        return a is b
    if kind is str:
        return type(b) is str and a == b
    tolerant = how in ("float", "approx-nested")
    if tolerant and is_number(a) and is_number(b):
        return close_numbers(a, b, rel, abs_)
    if tolerant and (kind is complex or type(b) is complex) and (is_number(a) or kind is complex) and (is_number(b) or type(b) is complex):
        return close_numbers(a.real, b.real, rel, abs_) and close_numbers(a.imag, b.imag, rel, abs_)
    if kind == "list" or kind is tuple or kind == "dict" or kind == "set" or kind == "deque":
        if kind_of(b) != kind:
            return False
        if kind == "dict":
            return same_dict(a, b, how, rel, abs_, depth)
        if kind == "set":
            return same_elements(list(elements(a)), list(elements(b)), how, rel, abs_, depth)
        return len(a) == len(b) and (not tolerant and same_at_once(a, b) or all(same(x, y, how, rel, abs_, depth + 1) for x, y in zip(a, b)))
    return value_key(a) == value_key(b)


def same_at_once(a, b):
    """Long lists of one plain type, where Python's own == says it. False: not known."""
    if len(a) < 100 or type(a[0]) not in (int, str, float, bytes):
        return False
    types = set(map(type, a))
    if len(types) > 1 or types != set(map(type, b)) or a != b:
        return False
    return types != {float} or 0.0 not in a


def same_dict(a, b, how, rel, abs_, depth):
    left, right = list(pairs_of(a)), list(pairs_of(b))
    if len(left) != len(right):
        return False
    if type(b) is dict and all(type(k) is str for k in b):
        wanted, name = b, lambda k: k if type(k) is str else None
    else:
        # only what is expected is in a table
        wanted, name = {}, value_key
        for k, v in right:
            if name(k) in wanted:
                return same_elements(left, right, how, rel, abs_, depth)  # nan twice, for instance
            wanted[name(k)] = v
    seen = set()
    for k, v in left:
        at = name(k)
        if at is None or at not in wanted or at in seen or not same(v, wanted[at], how, rel, abs_, depth + 1):
            return False
        seen.add(at)
    return True


def same_elements(a, b, how, rel, abs_, depth):
    """The same elements in any order, each used once."""
    if len(a) != len(b):
        return False
    counts = {}
    for i in b:
        counts.setdefault(value_key(i), []).append(i)
    left = []
    for i in a:
        found = counts.get(value_key(i))
        if found:
            found.pop()
        elif how not in ("float", "approx-nested"):
            return False
        else:
            left.append(i)
    return not left or nearly_same_elements(left, [i for found in counts.values() for i in found], how, rel, abs_, depth)


def nearly_same_elements(a, b, how, rel, abs_, depth):
    """Numbers in their order; anything else pair by pair, which is dear."""
    if all(is_number(i) for i in a) and all(is_number(i) for i in b):
        try:
            return all(same(x, y, how, rel, abs_, depth + 1) for x, y in zip(sorted(a), sorted(b)))
        except (TypeError, ArithmeticError):
            pass
    if len(a) > 2000:
        raise ValueError("more than 2000 elements that are not exactly what is expected")
    for i in a:
        at = next((at for at, j in enumerate(b) if same(i, j, how, rel, abs_, depth + 1)), None)
        if at is None:
            return False
        del b[at]
    return True


# ---- types -------------------------------------------------------------------------------------------------------------------------------
# The type of an answer is what it was sent as: an int is an int since it came as one. What classes of the solution's own are called is a claim, and counts
# only for names that the solution's text defines.

TYPES = {"int": int, "float": float, "str": str, "bool": bool, "list": list, "tuple": tuple, "dict": dict, "set": set, "frozenset": frozenset, "bytes": bytes,
         "bytearray": bytearray, "complex": complex, "None": type(None), "NoneType": type(None), "range": range, "type": type}
OTHER_WORDS = {"MappingProxyType": "mappingproxy", "Iterator": "iterator", "Generator": "generator"}
CLASS_TEXT = re.compile(r"""(?m)^[ \t]*class[ \t\\\n]+([^\W\d]\w*)"""
                        r"""|\b(?:namedtuple|NamedTuple|TypedDict|make_dataclass|new_class|type|(?:Int|Str)?Enum|(?:Int)?Flag)\(\s*["'](\w+)["']""")
# Modules of the standard library whose classes a case may name without their module.
NAMED_MODULES = frozenset("""_pickle array asyncio.exceptions asyncio.queues binascii builtins collections collections.abc concurrent.futures._base configparser copy csv _csv ctypes dataclasses
    datetime decimal email.errors enum fractions functools graphlib http.client ipaddress itertools json.decoder operator pathlib pickle queue _queue random re select shutil socket sqlite3
    statistics string struct subprocess tarfile threading time tokenize types typing unittest.case urllib.error uuid weakref xml.etree.ElementTree zipfile zlib zoneinfo""".split())


UNNAMED = ("function", "method", "module", "builtin_function_or_method")  # types of the interpreter that no module has by that name


def defined_classes(sources):
    """The names that a solution's text defines classes by: class statements, and calls that make one and give it that name."""
    found = set()
    for text in sources:
        for m in CLASS_TEXT.finditer(text):
            found.add(m[1] or m[2])
    return found


def meant_class(wanted):
    """A dotted name of the author's: "builtins.X" or "module.X" of the very class that it means; None: there is none."""
    module, _, name = wanted.rpartition(".")
    try:
        if module.partition(".")[0] not in _sys.stdlib_module_names:
            return None
        c = getattr(__import__(module, fromlist=[name]), name, None)
        return c.__module__ + "." + c.__name__ if isinstance(c, type) else None
    except Exception:
        return None


def claimed(wanted, labels, defined):
    """Whether one of the classes that an object is said to have is the one that is wanted: solution.X, module.X, or X in either."""
    labels = [n for n in labels if type(n) is str] if type(labels) is list else []
    if wanted.startswith("solution."):
        name = wanted[len("solution."):]
        return name in labels and name in defined
    if "." in wanted:
        return meant_class(wanted) in labels
    if wanted in defined and wanted in labels:
        return True
    if wanted in UNNAMED and "builtins." + wanted in labels:
        return True
    return any(n == module + "." + wanted and meant_class(n) == n for n in labels for module in (n.rpartition(".")[0],) if module in NAMED_MODULES)


def has_type(value, labels, wanted, defined):
    """`labels`: from decode(). A name of a builtin type, or of one of the standard library's that is data, means that type and no class of another name or place."""
    own = [n for n in labels if not n.startswith("=")]
    known = labels[len(own)][1:] if len(own) < len(labels) else None
    for name in (w.strip() for w in wanted.split("|")):
        name = OTHER_WORDS.get(name, name)
        if "." in name and not name.startswith("solution."):
            name = {"%s.%s" % where: word for word, where in KNOWN.items()}.get(name, name)
        if name in TYPES:
            if type(value) is TYPES[name] and known is None or type(value) is Bag and value.kind == name:
                return True
            # a subclass is one
            if known in ("Counter", "OrderedDict", "defaultdict") and name == "dict":
                return True
        elif name in KNOWN:
            if known == name or name == "date" and known == "datetime":
                return True
        elif name in ("iterator", "generator"):
            if type(value) is Items and (value.kind == "iterator" and name == "iterator" or own[:1] == ["builtins.generator"]):
                return True
        elif type(value) is Items and value.kind == name or claimed(name, own, defined):
            return True
    return False


def type_of(value, labels=()):
    """What the type of an answer is called, to be shown."""
    own = [n for n in labels if not n.startswith("=")]
    if len(own) < len(labels):
        base = labels[len(own)][1:]
    else:
        base = value.kind if type(value) in (Items, Bag) else "None" if value is None else type(value).__name__
    if not own or type(value) is Items:
        return own[0] if own else base
    return "%s, a class of its own that is a kind of %s" % (own[0], base) if "." not in own[0] else own[0]


# ---- to be shown -------------------------------------------------------------------------------------------------------------------------

REPR_MAX = 200


class Enough(Exception):
    pass


def short(x, limit=REPR_MAX):
    """repr(x), of which no more is made than is shown."""
    parts, left = [], [limit + 1]

    def put(text):
        parts.append(text)
        left[0] -= len(text)
        if left[0] <= 0:
            raise Enough

    def several(begin, items, end, depth):
        put(begin)
        for at, i in enumerate(items):
            if at:
                put(", ")
            one(i, depth + 1)
        put(end)

    def one(x, depth):
        t = type(x)
        if depth > 400:
            put("...")
        elif t is int:
            put(repr(x) if x.bit_length() < 10000 else hex(x)[:limit + 3])
        elif t is list or t is Items:
            several("[", x, "]", depth)
        elif t is tuple:
            several("(", x, ",)" if len(x) == 1 else ")", depth)
        elif t is dict or t is Bag and x.kind == "dict":
            put("{")
            for at, (k, v) in enumerate(pairs_of(x)):
                put(", " if at else "")
                one(k, depth + 1)
                put(": ")
                one(v, depth + 1)
            put("}")
        elif (t in SETS or t is Bag) and elements(x):
            several("frozenset({" if t is frozenset else "{", elements(x), "})" if t is frozenset else "}", depth)
        elif t is str or t is bytes or t is bytearray:
            put(repr(x[:limit + 8]))
        elif t.__name__ == "deque":
            several("deque([", x, "])", depth)
        elif t.__name__ == "Js":
            several(*x.shown(), depth)
        elif t.__name__ == "Fraction":
            several("Fraction(", (x.numerator, x.denominator), ")", depth)
        elif t is range:
            several("range(", (x.start, x.stop) if x.step == 1 else (x.start, x.stop, x.step), ")", depth)
        elif t.__repr__ is object.__repr__ or t.__name__.endswith("iterator"):
            put("<%s>" % t.__name__)  # no address
        else:
            put(repr(x))

    try:
        one(x, 0)
    except Enough:
        pass
    text = "".join(parts)
    return text if len(text) <= limit else text[:limit - 3] + "..."


def whole_shown(x):
    return not short(x).endswith("...")


def difference(e, g, alike, path="", depth=0):
    """The first place where two values differ: its path, what is expected there and what came. `alike` compares what came with what is expected."""
    kind = kind_of(e)
    both = kind == kind_of(g)
    if depth < 50 and both and (kind in ("list", "deque") or kind is tuple):
        for i, (x, y) in enumerate(zip(e, g)):
            if not alike(y, x):
                return difference(x, y, alike, "%s[%d]" % (path, i), depth + 1)
        return {"path": path, "expected": "%d elements" % len(e), "got": "%d elements" % len(g)}
    if depth < 50 and both and kind == "dict":
        return dict_difference(list(pairs_of(e)), list(pairs_of(g)), alike, path, depth)
    if both and kind == "set":
        e, g = ({value_key(i): i for i in elements(x)} for x in (e, g))
        missing, extra = (sorted(short(a[k]) for k in a if k not in b) for a, b in ((e, g), (g, e)))
        return {"path": path, "expected": "with " + missing[0] if missing else "%d elements" % len(e), "got": "with " + extra[0] if extra else "%d elements" % len(g)}
    if both and kind in (str, bytes) and not (whole_shown(e) and whole_shown(g)):
        at = next((i for i, (x, y) in enumerate(zip(e, g)) if x != y), min(len(e), len(g)))
        begin = max(at - 20, 0)
        unit = "character" if kind is str else "byte"
        return {"path": path, "at": at, "unit": unit, "expected": "%s (%d %ss)" % (short(e[begin:at + 40]), len(e), unit), "got": "%s (%d %ss)" % (short(g[begin:at + 40]), len(g), unit)}
    return {"path": path, "expected": short(e), "got": short(g)}


def dict_difference(e, g, alike, path, depth):
    """As difference(), for two lists of keys and values."""
    came, wanted = {value_key(k): v for k, v in g}, {value_key(k) for k, _ in e}
    for k, v in e:
        at, where = value_key(k), "%s[%s]" % (path, short(k, 60))
        if at not in came:
            return {"path": where, "expected": short(v), "got": "no such key"}
        if not alike(came[at], v):
            return difference(v, came[at], alike, where, depth + 1)
    extra = [k for k, _ in g if value_key(k) not in wanted]
    return {"path": path, "expected": "%d keys" % len(e), "got": "%d keys%s" % (len(g), ", also %s" % short(extra[0], 60) if extra else "")}


def far_difference(e, g, alike):
    """For values that are not shown whole; the others speak for themselves."""
    return {} if whole_shown(e) and whole_shown(g) else {"differs": difference(e, g, alike)}
