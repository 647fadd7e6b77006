# SPDX-License-Identifier: Apache-2.0
# Values as bytes: what may pass between a candidate and its verifier. A closed set of types, read from the objects themselves and never by
# asking them: a subclass of int, list, dict is what int, list, dict see in it. docs/grading.md has the table.
import os as _os
import _struct
import sys as _sys

DEPTH = 180
ITEMS = 1000000  # of an iterator that is read to its end
ANSWER_MAX = (64 << 20) - 64  # bytes of an answer; the front takes no longer frame
NODES = 12000000  # values in one answer
FRACTION_BITS, DECIMAL_DIGITS = 1 << 18, 1 << 20
PACKED = 32  # from so many floats on a list is sent as their bits


class Unencodable(Exception):
    pass


class Malformed(Exception):
    pass


class Handle:
    """An object that stays where it is."""

    __slots__ = ("number", "name", "flags")

    def __init__(self, number, name, flags):
        self.number, self.name, self.flags = number, name, flags


def _bases():
    """The types that are data, by what reads their contents."""
    none = type(None)
    return none, bool, int, float, complex, str, bytes, bytearray, list, tuple, set, frozenset, dict, range


BUILTIN_TYPES = {t.__name__: t for t in (*_bases(), object, type)}

# Types of the standard library that are data: by their name, the module that has them, and what they are called there. A value is sent as K, its type's
# name, and a plainer value that holds all of it: _taken() and _made() have one row for each.
KNOWN = {"Decimal": ("decimal", "Decimal"), "Fraction": ("fractions", "Fraction"), "date": ("datetime", "date"), "datetime": ("datetime", "datetime"), "time": ("datetime", "time"),
         "timedelta": ("datetime", "timedelta"), "deque": ("collections", "deque"), "Counter": ("collections", "Counter"), "OrderedDict": ("collections", "OrderedDict"),
         "defaultdict": ("collections", "defaultdict"), "UserDict": ("collections", "UserDict"), "UserList": ("collections", "UserList"), "UserString": ("collections", "UserString"),
         "ChainMap": ("collections", "ChainMap"), "mappingproxy": ("types", "MappingProxyType"), "memoryview": ("builtins", "memoryview"), "array": ("array", "array")}


def _taken(name, base, x):
    """What is sent for a value of a known type, read as its own class reads it."""
    if name == "Decimal":
        return base.__str__(x)
    if name == "Fraction":
        return base.numerator.__get__(x), base.denominator.__get__(x)
    if name in ("date", "datetime", "time"):
        return base.isoformat(x)
    if name == "timedelta":
        return base.days.__get__(x), base.seconds.__get__(x), base.microseconds.__get__(x)
    if name == "deque":
        return [i for i in base.__iter__(x)]
    if name in ("UserDict", "UserList", "UserString"):
        return object.__getattribute__(x, "data")
    if name == "ChainMap" or name == "mappingproxy":
        return {k: base.__getitem__(x, k) for k in base.__iter__(x)}
    if name == "memoryview":
        return base.tobytes(x) if x.format in ("B", "b", "c") else base.tolist(x)
    if name == "array":
        code = base.typecode.__get__(x)
        return code, (base.tounicode(x) if code == "u" else base.tolist(x))
    return {k: v for k, v in dict.items(x)}  # Counter, OrderedDict, defaultdict


def _make_encoder(packs=False, recipe=None):
    """`packs`: long lists of floats as their bits. `recipe`: of a set, in which order its items are to be added, and whether to a set that is copied then."""
    # Everything that is used later is bound here, before anybody's code has run.
    none, bool_, int_, float_, complex_, str_, bytes_, bytearray_, list_, tuple_, set_, frozenset_, dict_, range_ = _bases()
    type_, len_, mro_of = type, len, type.__dict__["__mro__"].__get__
    pack, struct_of = _struct.Struct(">d").pack, _struct.pack
    # Types are looked up by their id: a metaclass has an opinion about hashes and equality, and nobody asks it. None of these types ever goes away.
    id_ = id
    views = {id_(type_({}.keys())): b"k", id_(type_({}.values())): b"v", id_(type_({}.items())): b"w"}
    encode_str = str_.encode
    list_iter, tuple_iter, set_iter, frozenset_iter, dict_items = list_.__iter__, tuple_.__iter__, set_.__iter__, frozenset_.__iter__, dict_.items
    sequences = {id_(list_): (b"l", list_iter, list_.__len__), id_(tuple_): (b"t", tuple_iter, tuple_.__len__), id_(set_): (b"e", set_iter, set_.__len__),
                 id_(frozenset_): (b"z", frozenset_iter, frozenset_.__len__)}
    others = frozenset_(map(id_, (int_, str_, float_, complex_, bytes_, bytearray_, dict_)))
    floats = {id_(float_)}
    int_to, float_to = int_.__int__, float_.__float__
    complex_real, complex_imag = complex_.__dict__["real"].__get__, complex_.__dict__["imag"].__get__
    hex_ = "%x"
    type_name, module_of = type_.__dict__["__name__"].__get__, type_.__dict__["__module__"].__get__
    class_names = type_.__dict__["__dict__"].__get__
    next_, stop, map_ = next, StopIteration, map
    builtin_types = frozenset_(map(id_, BUILTIN_TYPES.values()))
    generator = type_((x for x in ()))
    modules, taken, known_types = _sys.modules, _taken, KNOWN

    def one(x, out, depth, keep):
        t = type_(x)
        if t is int_:
            if -(1 << 63) < x < 1 << 63:
                out.append(b"i%d;" % x)
            else:
                out.append(b"x" + (hex_ % x).encode() + b";")
        elif t is str_:
            b = encode_str(x, "utf-8", "surrogatepass")
            out.append(b"s%d:" % len_(b))
            out.append(b)
        elif t is bool_:
            out.append(b"T" if x else b"F")
        elif x is None:
            out.append(b"N")
        elif t is float_:
            out.append(b"d" + pack(x).hex().encode() + b";")
        elif t is list_ or t is tuple_ or t is set_ or t is frozenset_:
            if depth > DEPTH:
                raise Unencodable("nested more than %d deep" % DEPTH)
            tag, walk, size = sequences[id_(t)]
            if packs and t is list_ and len_(x) >= PACKED and type_(x[0]) is float_ and set_(map_(id_, map_(type_, x))) == floats:
                out.append(b"p%d:" % (8 * len_(x)))
                out.append(struct_of(">%dd" % len_(x), *x))
                return
            if recipe and len_(x) > 1 and (t is set_ or t is frozenset_):
                items, copied = recipe(x)
                out.append((tag.upper() if copied else tag) + b"%d:" % len_(items))
                for item in items:
                    one(item, out, depth + 1, keep)
                return
            out.append(tag + b"%d:" % size(x))
            for item in walk(x):
                one(item, out, depth + 1, keep)
        elif t is dict_:
            if depth > DEPTH:
                raise Unencodable("nested more than %d deep" % DEPTH)
            out.append(b"m%d:" % len_(x))
            for k, v in dict_items(x):
                one(k, out, depth + 1, keep)
                one(v, out, depth + 1, keep)
        elif t is bytes_ or t is bytearray_:
            out.append((b"b%d:" if t is bytes_ else b"y%d:") % len_(x))
            out.append(bytes_(x))
        elif t is complex_:
            out.append(b"c" + pack(complex_real(x)).hex().encode() + pack(complex_imag(x)).hex().encode() + b";")
        elif t is range_:
            out.append(b"r")
            for v in (x.start, x.stop, x.step):
                one(v, out, depth, keep)
        elif id_(t) in views:
            several(views[id_(t)], [i for i in x], out, depth, keep)
        elif t is type_ and id_(x) in builtin_types:
            name = type_name(x).encode()
            out.append(b"Y%d:" % len_(name) + name)
        elif t is Handle:
            name = encode_str(x.name, "utf-8", "replace")
            out.append(b"h%d,%d;%d:" % (x.number, x.flags, len_(name)) + name)
        else:
            other(x, t, out, depth, keep)

    def several(tag, items, out, depth, keep):
        if depth > DEPTH:
            raise Unencodable("nested more than %d deep" % DEPTH)
        out.append(tag + b"%d:" % len_(items))
        for item in items:
            one(item, out, depth + 1, keep)

    def named(tag, name, out):
        b = encode_str(name, "utf-8", "replace")[:200]
        out.append(tag + b"%d:" % len_(b) + b)

    def known(base):
        """The name that a class of the standard library is sent by, if it is that very class."""
        name = str_.__str__(type_name(base))
        where = known_types.get(name)
        if where is None:
            return None
        module = modules.get(where[0])
        return name if type_(module) is type_(_sys) and module.__dict__.get(where[1]) is base else None

    def other(x, t, out, depth, keep):
        if depth > DEPTH:
            raise Unencodable("nested more than %d deep" % DEPTH)
        names = []
        for base in mro_of(t):
            name = known(base)
            if name or id_(base) in sequences or id_(base) in others:
                break
            names.append(base)
        else:
            no_base(x, t, out, depth, keep)
            return
        # A subclass: what its classes are called, which is told of the outermost value alone, and what the base class itself sees in it.
        for own in names[:8] if depth == 0 else ():
            named(b"S", class_label(own), out)
        if name:
            named(b"K", name, out)
            one(taken(name, base, x), out, depth + 1, keep)
        elif base is int_:
            one(int_to(x), out, depth + 1, keep)
        elif base is float_:
            one(float_to(x), out, depth + 1, keep)
        elif base is str_:
            one(str_.__str__(x) if type_(str_.__str__(x)) is str_ else "".join([c for c in str_.__iter__(x)]), out, depth + 1, keep)
        elif base is complex_:
            one(complex_(complex_real(x), complex_imag(x)), out, depth + 1, keep)
        elif base is bytes_ or base is bytearray_:
            b = bytes_([c for c in base.__iter__(x)])
            out.append((b"b%d:" if base is bytes_ else b"y%d:") % len_(b))
            out.append(b)
        elif base is dict_:
            items = [i for i in dict_items(x)]
            out.append(b"m%d:" % len_(items))
            for k, v in items:
                one(k, out, depth + 1, keep)
                one(v, out, depth + 1, keep)
        else:
            several(sequences[id_(base)][0], [i for i in sequences[id_(base)][1](x)], out, depth, keep)

    def of_numpy(t):
        try:
            module = module_of(t)
        except AttributeError:
            return False  # it was deleted
        return type_(module) is str_ and module == "numpy"

    def no_base(x, t, out, depth, keep):
        """No data of a known type. An iterator is its items, each looked at before the next one is asked for: groupby's groups do not live longer."""
        if of_numpy(t) and hasattr(x, "tolist"):
            if depth == 0:
                named(b"S", class_label(t), out)
            one(x.tolist(), out, depth + 1, keep)
        elif keep is not None:
            keep(x, t, out)
        elif t is generator or any("__next__" in class_names(base) for base in mro_of(t)):
            if depth == 0:
                named(b"S", "builtins.generator" if t is generator else class_label(t), out)
            parts, count = [], 0
            while True:
                try:
                    item = next_(x)
                except stop:
                    break
                count += 1
                if count > ITEMS:
                    raise Unencodable("an iterator with more than %d items" % ITEMS)
                one(item, parts, depth + 1, keep)
            out.append(b"g%d:" % count)
            out += parts
        else:
            raise Unencodable("an object of type %s is no plain data" % type_name(t)[:100])

    def encode(x, keep=None):
        out = []
        one(x, out, 0, keep)
        return b"".join(out)

    return encode


def class_label(c, modules=_sys.modules, name_of=type.__dict__["__name__"].__get__, module_of=type.__dict__["__module__"].__get__, std=_sys.stdlib_module_names):
    """What a class is called: module.Name if the standard library has that very class, otherwise its name alone."""
    name = str.__str__(name_of(c))
    try:
        module = module_of(c)
        if type(module) is str and module.partition(".")[0] in std and module != "__main__" and modules[module].__dict__.get(name) is c:
            return module + "." + name
    except Exception:
        pass
    return name.replace(".", "_")


encode = _make_encoder()


class Items(list):
    """What an iterator or a view of a dictionary had in it."""

    __slots__ = ("kind",)


class Bag:
    """A set or a dictionary that Python's own cannot be: a class of one's own may have another idea of what a key is, and JavaScript has other keys. Items, or pairs."""

    __slots__ = ("kind", "items")

    def __init__(self, kind, items):
        self.kind, self.items = kind, items


class TooLarge(BaseException):
    """More than anybody wants to look at; no proof of anything else."""


class _Reader:
    __slots__ = ("b", "at", "handle", "labels", "left")

    def __init__(self, b, at, handle, labels):
        # `labels`: a list for what the outermost value's classes are called. Then values are what is compared: iterators are Items, subclasses their base.
        self.b, self.at, self.handle, self.labels, self.left = b, at, handle, labels, NODES

    def number(self, end):
        b, at = self.b, self.at
        stop = b.find(end, at, at + 24)
        if stop < 0:
            raise Malformed("a number has no end")
        text = b[at:stop]
        if not text or not (text.isdigit() or (text[:1] == b"-" and text[1:].isdigit())):
            raise Malformed("not a number")
        self.at = stop + 1
        return int(text)

    def count(self):
        n = self.number(b":")
        if n < 0 or n > len(self.b) - self.at:
            raise Malformed("a length past the end")
        return n

    def raw(self):
        n = self.count()
        out = self.b[self.at:self.at + n]
        self.at += n
        return out

    def hexfloat(self):
        h = self.b[self.at:self.at + 16]
        if len(h) != 16:
            raise Malformed("a short float")
        self.at += 16
        try:
            return _struct.unpack(">d", bytes.fromhex(h.decode("ascii")))[0]
        except ValueError:
            raise Malformed("not a float") from None

    def end(self):
        if self.b[self.at:self.at + 1] != b";":
            raise Malformed("no end of a number")
        self.at += 1

    def items(self, depth):
        n = self.count()
        self.left -= n
        if self.left < 0:
            raise TooLarge("more than %d values" % NODES)
        return [self.value(depth + 1) for _ in range(n)]

    def value(self, depth):
        if depth > 2 * DEPTH + 20:
            raise Malformed("nested too deep")
        tag = self.b[self.at:self.at + 1]
        self.at += 1
        if tag == b"i":
            return self.number(b";")
        if tag == b"s":
            try:
                return str(self.raw(), "utf-8", "surrogatepass")
            except UnicodeDecodeError:
                raise Malformed("not UTF-8") from None
        if tag == b"l":
            return self.items(depth)
        if tag == b"N":
            return None
        if tag == b"T":
            return True
        if tag == b"F":
            return False
        if tag == b"d":
            x = self.hexfloat()
            self.end()
            return x
        if tag == b"t":
            return tuple(self.items(depth))
        if tag == b"m":
            return self.dictionary(depth)
        if tag in (b"e", b"z", b"E", b"Z"):
            return self.set_of(tag, depth)
        if tag == b"x":
            stop = self.b.find(b";", self.at)
            if stop < 0:
                raise Malformed("a number has no end")
            text = self.b[self.at:stop]
            self.at = stop + 1
            if not text.lstrip(b"-").isalnum():
                raise Malformed("not a number")
            try:
                return int(text, 16)
            except ValueError:
                raise Malformed("not a number") from None
        if tag == b"b":
            return self.raw()
        if tag == b"y":
            return bytearray(self.raw())
        if tag == b"c":
            re, im = self.hexfloat(), self.hexfloat()
            self.end()
            return complex(re, im)
        if tag == b"r":
            a = [self.value(depth + 1) for _ in range(3)]
            if any(type(v) is not int for v in a) or a[2] == 0:
                raise Malformed("not a range")
            if self.labels is None and max(map(abs, a)) > 10000000 and (max(map(abs, a)) >> 60 or len(range(*a)) > 10000000):
                raise TooLarge("a range of more than ten million numbers")
            return range(*a)
        if tag == b"p":
            b = self.raw()
            if len(b) % 8:
                raise Malformed("not floats")
            return list(_struct.unpack(">%dd" % (len(b) // 8), b))
        if tag == b"g":
            items = self.items(depth)
            return self.walked(items, "iterator") if self.labels is not None else iter(items)
        if tag in (b"k", b"v", b"w"):
            return self.view(tag, depth)
        if tag == b"K":
            return self.known(depth)
        if tag == b"S":
            name = self.raw().decode("utf-8", "replace")
            return self.labelled(name, depth)
        if tag == b"Y":
            name = self.raw().decode("ascii", "replace")
            if name not in BUILTIN_TYPES:
                raise Malformed("not a type")
            return BUILTIN_TYPES[name]
        if tag == b"h" and self.handle:
            number, flags = self.number(b","), self.number(b";")
            return self.handle(number, self.raw().decode("utf-8", "replace"), flags)
        raise Malformed("unknown kind of value")

    def labelled(self, name, depth):
        # Only those before the outermost value say something about it: nothing but names has been read then.
        if self.labels is not None and depth == len(self.labels):
            self.labels.append(name)
        return self.value(depth + 1)

    def walked(self, items, kind):
        found = Items(items)
        found.kind = kind
        return found

    def dictionary(self, depth):
        n = self.count()
        self.left -= 2 * n
        if self.left < 0:
            raise TooLarge("more than %d values" % NODES)
        if self.labels is None:
            try:
                return {self.value(depth + 1): self.value(depth + 1) for _ in range(n)}
            except TypeError:
                raise Malformed("a key that cannot be one") from None
        pairs = [(self.value(depth + 1), self.value(depth + 1)) for _ in range(n)]
        try:
            # one by one: whoever watches the time can step in, however badly they collide
            found = {}
            for k, v in pairs:
                found[k] = v
            if len(found) == n:
                return found
        except TypeError:
            pass
        return Bag("dict", pairs)

    def set_of(self, tag, depth):
        items = self.items(depth)
        found = set()
        try:
            for item in items:
                found.add(item)
        except TypeError:
            if self.labels is None:
                raise Malformed("a key that cannot be one") from None
            return Bag("set", items)
        if self.labels is not None and len(found) != len(items):
            return Bag("set", items)
        # The order of a set's items is that in which they came, and whether it is a copy.
        if tag == b"e":
            return found
        return set(found) if tag == b"E" else frozenset(found) if tag == b"Z" else frozenset(items)

    def known(self, depth):
        """A value of a type of the standard library."""
        name, labels = self.raw().decode("ascii", "replace"), self.labels
        if labels is not None and depth == len(labels):
            labels.append("=" + name)
        x = self.value(depth + 1)
        try:
            return _made(name, x, labels is not None)
        except (TypeError, ValueError, ArithmeticError, AttributeError, IndexError):
            raise Malformed("not a %s" % name[:40]) from None

    def view(self, tag, depth):
        items = self.items(depth)
        if self.labels is not None:
            return self.walked(items, {b"k": "dict_keys", b"v": "dict_values", b"w": "dict_items"}[tag])
        try:
            if tag == b"k":
                return dict.fromkeys(items).keys()
            if tag == b"v":
                return dict(enumerate(items)).values()
            return dict(items).items()
        except (TypeError, ValueError):
            raise Malformed("not a view") from None


def _made(name, x, plain):
    """A value of a known type from what _taken() sent. `plain`: where its class adds nothing to what it equals, the value without it."""
    if name == "Decimal":
        import decimal
        if len(x) > DECIMAL_DIGITS:
            raise TooLarge("a decimal of more than %d digits" % DECIMAL_DIGITS)
        return decimal.Decimal(str(x))
    if name == "Fraction":
        import fractions
        a, b = x
        if type(a) is not int or type(b) is not int:
            raise TypeError
        if a.bit_length() + b.bit_length() > FRACTION_BITS:
            raise TooLarge("a fraction of more than %d bits" % FRACTION_BITS)
        return fractions.Fraction(a, b)
    if name in ("date", "datetime", "time"):
        import datetime
        return getattr(datetime, name).fromisoformat(x)
    if name == "timedelta":
        import datetime
        return datetime.timedelta(*x)
    import collections
    if name == "deque":
        return collections.deque(x)
    if name == "array":
        import array
        kind, items = x
        return list(items) if plain else array.array(kind, items)
    if name == "memoryview":
        return x if plain or type(x) is not bytes else memoryview(x)
    if name not in KNOWN or not isinstance(x, (dict, list, str, Bag)):
        raise TypeError
    if plain or name == "defaultdict":
        return x
    if name == "mappingproxy":
        return type(type.__dict__)(x)
    return getattr(collections, name)(x)


def decode(b, handle=None, labels=None):
    r = _Reader(b, 0, handle, labels)
    x = r.value(0)
    if r.at != len(b):
        raise Malformed("something after the value")
    return x


def read_exact(fd, n):
    parts = []
    while n:
        try:
            b = _os.read(fd, min(n, 1 << 20))
        except InterruptedError:
            continue
        if not b:
            return None
        parts.append(b)
        n -= len(b)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_frame(fd):
    head = read_exact(fd, 4)
    if head is None:
        return None
    n = int.from_bytes(head, "little")
    return read_exact(fd, n) if n else b""


def write_frame(fd, data, write=_os.write):
    write_all(fd, len(data).to_bytes(4, "little") + data, write)


def write_all(fd, b, write=_os.write):
    if len(b) <= 65536:
        n = write(fd, b)
        if n == len(b):
            return
        b = b[n:]
    view = memoryview(b)
    while view:
        n = write(fd, view[:1 << 16])
        view = view[n:]
