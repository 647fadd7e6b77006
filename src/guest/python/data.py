# SPDX-License-Identifier: Apache-2.0
# Values as bytes: what may pass between a candidate and its verifier. A closed set of types, read from the objects themselves and never by
# asking them: a subclass of int, list, dict is what int, list, dict see in it. docs/grading.md has the table.
import os as _os
import _struct
import sys as _sys

DEPTH = 180
ITEMS = 100000  # of an iterator that is read to its end


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


def _make_encoder():
    # Everything that is used later is bound here, before anybody's code has run.
    none, bool_, int_, float_, complex_, str_, bytes_, bytearray_, list_, tuple_, set_, frozenset_, dict_, range_ = _bases()
    type_, len_, isinstance_type = type, len, type.__dict__["__mro__"].__get__
    pack, struct_error = _struct.Struct(">d").pack, _struct.error
    views = {type_({}.keys()): b"k", type_({}.values()): b"v", type_({}.items()): b"w"}
    encode_str = str_.encode
    list_iter, tuple_iter, set_iter, frozenset_iter, dict_items = list_.__iter__, tuple_.__iter__, set_.__iter__, frozenset_.__iter__, dict_.items
    sequences = {list_: (b"l", list_iter, list_.__len__), tuple_: (b"t", tuple_iter, tuple_.__len__), set_: (b"e", set_iter, set_.__len__),
                 frozenset_: (b"z", frozenset_iter, frozenset_.__len__)}
    int_to, float_to = int_.__int__, float_.__float__
    complex_real, complex_imag = complex_.__dict__["real"].__get__, complex_.__dict__["imag"].__get__
    hex_ = "%x"
    type_name = type_.__dict__["__name__"].__get__
    iterators = {type_(iter([])), type_(iter(())), type_(iter({})), type_(iter({}.values())), type_(iter({}.items())), type_(iter(set())), type_(iter(range_(0))),
                 type_(iter("")), type_(map(None, ())), type_(filter(None, ())), type_(zip()), type_(enumerate(())), type_(reversed([])), type_((x for x in ()))}
    next_, stop = next, StopIteration
    builtin_types = set(BUILTIN_TYPES.values())

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
            tag, walk, size = sequences[t]
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
        elif t in views:
            items = [i for i in x]
            out.append(views[t] + b"%d:" % len_(items))
            for item in items:
                one(item, out, depth + 1, keep)
        elif t is type_ and x in builtin_types:
            name = type_name(x).encode()
            out.append(b"Y%d:" % len_(name) + name)
        elif t is Handle:
            name = encode_str(x.name, "utf-8", "replace")
            out.append(b"h%d,%d;%d:" % (x.number, x.flags, len_(name)) + name)
        else:
            other(x, t, out, depth, keep)

    def other(x, t, out, depth, keep):
        mro = isinstance_type(t)
        for base in mro:
            if base in sequences or base in (int_, str_, float_, complex_, bytes_, bytearray_, dict_):
                break
        else:
            base = None
        if base is not None:
            # a subclass: its name, and what the base class itself sees in it
            name = encode_str(type_name(t), "utf-8", "replace")[:200]
            out.append(b"S%d:" % len_(name) + name)
            if base is int_:
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
                tag, walk, size = sequences[base]
                items = [i for i in walk(x)]
                out.append(tag + b"%d:" % len_(items))
                for item in items:
                    one(item, out, depth + 1, keep)
            return
        module = getattr_module(t)
        name = type_name(t)
        if module == "decimal" and name == "Decimal":
            s = format(x, "").encode()
            out.append(b"D%d:" % len_(s) + s)
        elif module == "fractions" and name == "Fraction":
            s = (b"%d/%d" % (x.numerator, x.denominator))
            out.append(b"Q%d:" % len_(s) + s)
        elif module == "collections" and name == "deque":
            items = [i for i in x]
            out.append(b"q%d:" % len_(items))
            for item in items:
                one(item, out, depth + 1, keep)
        elif module == "numpy" and hasattr(x, "tolist"):
            n = encode_str(name, "utf-8", "replace")[:200]
            out.append(b"S%d:" % len_(n) + n)
            one(x.tolist(), out, depth + 1, keep)
        elif t in iterators or name == "generator":
            if keep is not None:
                keep(x, t, out)
                return
            items = []
            for _ in range_(ITEMS + 1):
                try:
                    items.append(next_(x))
                except stop:
                    break
            if len_(items) > ITEMS:
                raise Unencodable("an iterator with more than %d items" % ITEMS)
            out.append(b"g%d:" % len_(items))
            for item in items:
                one(item, out, depth + 1, keep)
        elif keep is not None:
            keep(x, t, out)
        else:
            raise Unencodable("an object of type %s is no plain data" % name[:100])

    def getattr_module(t):
        try:
            m = t.__module__
            return m if type_(m) is str_ else ""
        except Exception:
            return ""

    def encode(x, keep=None):
        out = []
        one(x, out, 0, keep)
        return b"".join(out)

    return encode


encode = _make_encoder()


class Subclass:
    """What came as a subclass of a builtin: the value, and what its type is called over there."""

    __slots__ = ("value", "name")

    def __init__(self, value, name):
        self.value, self.name = value, name


class _Reader:
    __slots__ = ("b", "at", "handle", "subclass")

    def __init__(self, b, at, handle, subclass):
        self.b, self.at, self.handle, self.subclass = b, at, handle, subclass

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
        return [self.value(depth + 1) for _ in range(self.count())]

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
        try:
            if tag == b"m":
                n = self.count()
                return {self.value(depth + 1): self.value(depth + 1) for _ in range(n)}
            if tag == b"e" or tag == b"z":
                # one by one: whoever watches the time can step in, however badly they collide
                found = set()
                for item in self.items(depth):
                    found.add(item)
                return found if tag == b"e" else frozenset(found)
        except TypeError:
            raise Malformed("a key that cannot be one") from None
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
            if any(type(v) is not int or abs(v) > 1 << 60 for v in a) or a[2] == 0 or len(range(*a)) > 10000000:
                raise Malformed("not a range, or one of more than ten million numbers")
            return range(*a)
        if tag == b"g":
            return iter(self.items(depth))
        if tag in (b"k", b"v", b"w"):
            return self.view(tag, depth)
        if tag == b"q":
            import collections
            return collections.deque(self.items(depth))
        if tag == b"D":
            import decimal
            try:
                text = self.raw().decode("ascii")
                if len(text) > 5000:
                    raise Malformed("a decimal of more than 5000 characters")
                return decimal.Decimal(text)
            except (ValueError, decimal.InvalidOperation):
                raise Malformed("not a decimal") from None
        if tag == b"Q":
            import fractions
            try:
                a, slash, b = self.raw().partition(b"/")
                if not slash or len(a) + len(b) > 4000 or not a.lstrip(b"-").isdigit() or not b.isdigit():
                    raise Malformed("not a fraction")
                return fractions.Fraction(int(a), int(b))
            except (ValueError, ZeroDivisionError):
                raise Malformed("not a fraction") from None
        if tag == b"S":
            name = self.raw().decode("utf-8", "replace")
            x = self.value(depth + 1)
            return self.subclass(x, name) if self.subclass else x
        if tag == b"Y":
            name = self.raw().decode("ascii", "replace")
            if name not in BUILTIN_TYPES:
                raise Malformed("not a type")
            return BUILTIN_TYPES[name]
        if tag == b"h" and self.handle:
            number, flags = self.number(b","), self.number(b";")
            return self.handle(number, self.raw().decode("utf-8", "replace"), flags)
        raise Malformed("unknown kind of value")

    def view(self, tag, depth):
        items = self.items(depth)
        try:
            if tag == b"k":
                return dict.fromkeys(items).keys()
            if tag == b"v":
                return dict(enumerate(items)).values()
            return dict(items).items()
        except (TypeError, ValueError):
            raise Malformed("not a view") from None


def decode(b, handle=None, subclass=None):
    r = _Reader(b, 0, handle, subclass)
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
