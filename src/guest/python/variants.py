# SPDX-License-Identifier: Apache-2.0
# Versions of test functions ("derived canaries") for repository-level patches. plan() is pure: text in, text out, nothing is executed.
#
# A version is the whole test function, unparsed. An original means what the file says. A variant differs in one place, so that every correct product
# fails it in one statement, the planted one. Whoever runs the versions calibrates them with the gold patch: a variant that does not fail is dropped.
# So a rule below may guess; the rules are tried in the order of their chances.
#
#	hidden kinds  only the right answer tells them from the original: base swap param const exc msg bool elem op name local input
#	open kinds    their form tells them: neg dup arg end
#
# Originals and variants take the same way: changes -> new names for locals, operands lifted into new locals -> unparse. Nothing in the text says
# which one a version is.
import ast
import builtins
import itertools
import keyword
import math
import random
import re
import warnings

VARIANTS_MAX, OPEN_MAX, ORIGINALS = 14, 3, 3
VARIANTS_LEAST, VARIANTS_ALL = 3, 1400  # where there are many functions each gets fewer variants: all of them run once, with the gold patch
HOT_FIRST, AFTER_FIRST, ELSEWHERE_FIRST = 6, 3, 2  # hidden variants at the failing statement, after it, elsewhere; then what is left, in this order
ROWS_MAX = 5000  # of all parametrize decorators of a function together
TRIES_MAX, NODES_MAX = 120, 400  # candidates looked at in a function; size of an expression that is written out in another place

# ---- the table of assertion forms --------------------------------------------------------------------------------------------------------------
#
# style, expected arguments, sibling that fails where this one passes ("-": none), names of the assertions.
#	eq      two values that must be equal; the expected one is the second, or the first where only that is a literal. Exact: no tolerance, no order
#	like    eq with a tolerance, an order or a text form of its own
#	truth   a property; the sibling says the opposite
#	raises  argument 0 is a type, further expected arguments are texts, the block or the callable must raise
#	args    literals among the expected arguments; * is every argument, the last one first
FORMS = """
eq      1    assertNotEqual         assertEqual assertEquals failUnlessEqual assertListEqual assertTupleEqual assertSetEqual assertDictEqual
eq      1    assertNotEqual         assertMultiLineEqual
eq      1    -                      assertSequenceEqual
eq      1    assertIsNot            assertIs
like    1    -                      assertCountEqual assertItemsEqual assertURLEqual assertQuerysetEqual assertQuerySetEqual assert_equal
like    1    -                      assert_array_equal assert_string_equal assert_allclose assert_almost_equal assert_approx_equal
like    1    -                      assert_array_almost_equal assert_array_almost_equal_nulp assert_array_max_ulp assert_quantity_allclose
like    1    -                      assert_identical assert_series_equal assert_frame_equal assert_index_equal eq_
like    1    assertNotAlmostEqual   assertAlmostEqual assertAlmostEquals
like    1    assertHTMLNotEqual     assertHTMLEqual
like    1    assertXMLNotEqual      assertXMLEqual
like    1    assertJSONNotEqual     assertJSONEqual
like    0    -                      assertDictContainsSubset
args    *    -                      assert_array_less assertFormError assertFormsetError assertFormSetError deprecated_call
truth   0    assertFalse            assertTrue failUnless
truth   -    assertTrue             assertFalse failIf
truth   0    -                      assert_
truth   -    assertIsNotNone        assertIsNone
truth   -    assertIsNone           assertIsNotNone
truth   0,1  assertNotIn            assertIn
truth   -    assertIn               assertNotIn
truth   1    assertNotIsInstance    assertIsInstance
truth   -    assertIsInstance       assertNotIsInstance
truth   -    assertEqual            assertNotEqual assertNotEquals
truth   -    assertAlmostEqual      assertNotAlmostEqual
truth   -    assertHTMLEqual        assertHTMLNotEqual
truth   -    assertXMLEqual         assertXMLNotEqual
truth   -    assertIs               assertIsNot
truth   1    assertLessEqual        assertGreater
truth   1    assertLess             assertGreaterEqual
truth   1    assertGreaterEqual     assertLess
truth   1    assertGreater          assertLessEqual
truth   1    assertNotRegex         assertRegex assertRegexpMatches
truth   -    assertRegex            assertNotRegex
truth   1    assertNotContains      assertContains
truth   -    assertContains         assertNotContains
truth   1,0  assertTemplateNotUsed  assertTemplateUsed
truth   -    assertTemplateUsed     assertTemplateNotUsed
truth   0,2  assertNotInHTML        assertInHTML
truth   -    assert_not_called      assert_called assert_called_once
truth   -    assert_called          assert_not_called
truth   -    assert_not_awaited     assert_awaited assert_awaited_once
truth   -    assert_awaited         assert_not_awaited
args    *    assert_not_called      assert_called_with assert_called_once_with assert_any_call assert_has_calls
args    *    assert_not_awaited     assert_awaited_with assert_awaited_once_with
args    0    -                      assertNumQueries
args    1    -                      assertRedirects
raises  -    -                      assertRaises assertWarns assert_raises assert_warns raises warns
raises  1    -                      assertRaisesMessage assertRaisesRegex assertRaisesRegexp assertWarnsMessage assertWarnsRegex assert_raises_regex
"""
FORM = {name: row[:3] for row in (line.split() for line in FORMS.strip().split("\n")) for name in row[3:]}
BLOCKS = {name for name, row in FORM.items() if row[0] == "raises"} | {"assertNumQueries", "assertTemplateUsed", "assertTemplateNotUsed"}  # also `with`
HELPER = re.compile(r"assert|check|verif|expect|should|compar|ensure|validat|equal|match|(^|_)(test|eq|ok|run|do)(_|$)", re.I)
ASIDE = {"msg", "msg_prefix", "places", "delta", "rtol", "atol", "tol", "decimal", "significant", "err_msg", "verbose", "transform", "ordered", "using",
         "html", "extra", "check_dtype", "fetch_redirect_response", "flags", "equal_nan", "maxulp", "nulp", "level", "logger", "id", "strict"}

FLIPS = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Lt: ast.GtE,
         ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult, ast.MatMult: ast.Add,
             ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.BitXor: ast.BitOr, ast.Mod: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift}
# A type of the product may have any of these for a second base, as in class Bad(OwnError, ValueError): no variant expects one in place of such a type.
BASES = {"TypeError", "ValueError", "KeyError", "AttributeError", "RuntimeError", "LookupError"}
ERRORS = ("TypeError", "ValueError", "KeyError", "AttributeError", "IndexError", "NotImplementedError", "RuntimeError", "ZeroDivisionError", "OSError", "ImportError", "UnicodeError")
WARNINGS = ("FutureWarning", "UnicodeWarning", "ImportWarning", "BytesWarning", "SyntaxWarning")
FAILING = ("[][0]", "{}[%r]", "int(%r)", "None.%s", "(1 / 0)")  # expressions that raise, whatever the product does; %: a word of the test
MARK = re.compile(r"skip|xfail|expected_?failure", re.I)
FRAME_READERS = {"locals", "vars", "eval", "exec", "dir", "f_locals", "_getframe", "currentframe", "getsource", "getsourcelines", "co_varnames", "stack"}
HOLDERS = {"gc", "weakref", "ref", "WeakSet", "getrefcount", "get_referrers", "proxy", "finalize", "WeakValueDictionary", "WeakKeyDictionary"}
LOCALS = ("value result outcome found given output entry sample target source wanted actual answer first second other left right record subject content "
          "reply state holder current initial final received produced computed observed reference candidate detail message number total part piece unit "
          "term factor series block frame node point pair group batch choice option setting record_a record_b item_a item_b data_a data_b res obj val "
          "out got want seen kept made").split()
# What a strict original compares with. Values of builtin types by these types' own methods, everything else by its own and with the same type.
STRICT_NAMES = ("agree", "alike", "coincide", "tally", "agree_with", "alike_to")
STRICT = """
def NAME(a, b):
    for kind in (str, bytes, list, tuple, dict):
        if type(b) is kind:
            if not isinstance(a, kind) or kind.__len__(a) != len(b):
                return False
            if kind is dict:
                return all(dict.__contains__(a, k) and NAME(dict.__getitem__(a, k), v) for k, v in b.items())
            if kind in (list, tuple):
                return all(NAME(kind.__getitem__(a, i), v) for i, v in enumerate(b))
            return kind.__eq__(a, b)
    for kind in (bool, int, float, complex):
        if type(b) in (int, float, complex) and isinstance(a, kind):
            return kind.__eq__(a, b) is True or kind.__eq__(a, b) is NotImplemented and type(b).__eq__(b, a) is True
    if type(b) in (int, float, complex):
        return bool(a == b) and not a == b + 1
    return type(a) is type(b) and bool(a == b)
"""
EMPTY = {"set", "list", "tuple", "frozenset", "deque", "Counter", "str"}  # calls that make something empty
NOT_NAMES = set(keyword.kwlist) | set(keyword.softkwlist) | set(dir(builtins))
NOT_VALUES = set(dir(builtins)) | {"self", "cls"}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
CONTAINERS = (ast.List, ast.Tuple, ast.Set, ast.Dict)


# ---- trees -------------------------------------------------------------------------------------------------------------------------------------

def copy_tree(node, edits):
    """A copy of a tree. `edits` maps id(old node) to what stands in its place; where that is a list, its statements follow each other."""
    if isinstance(node, list):
        out = []
        for item in node:
            new = copy_tree(item, edits)
            out.extend(new) if isinstance(new, list) else out.append(new)
        return out
    if not isinstance(node, ast.AST):
        return node
    if id(node) in edits:
        return copy_tree(edits[id(node)], {})
    new = type(node)(**{field: copy_tree(value, edits) for field, value in ast.iter_fields(node)})
    new.origin = getattr(node, "origin", node)
    if hasattr(node, "lineno"):
        new.lineno, new.end_lineno = node.lineno, node.end_lineno
    return new


def expression(text):
    return ast.parse(text, mode="eval").body


def last_name(node):
    """`c` of a.b.c, a.b.c(...) and c."""
    while isinstance(node, (ast.Call, ast.Await)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def literal(node):
    """(True, value) where the expression is a literal."""
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False, None


def dotted(node):
    """The text of a name or of attributes of one; "" for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id] + parts[::-1]) if isinstance(node, ast.Name) else ""


def words_of(nodes):
    return {w for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str) for w in re.findall(r"\w+", n.value)}


def warns(text):
    """Whether compiling warns, as `is` with a literal does. Some projects make warnings errors."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            compile(text, "version", "exec", dont_inherit=True)
        except SyntaxError:  # a nonlocal name: the function is inside of another one
            pass
    return any(issubclass(w.category, SyntaxWarning) for w in caught)


def size(node):
    return sum(1 for _ in ast.walk(node))


def first_line(node):
    return min([node.lineno] + [d.lineno for d in node.decorator_list])


def is_error_name(name):
    return bool(re.search(r"(Error|Exception|Warning|Exit|Invalid\w*|DoesNotExist)$", name))


def constants(node):
    """The literals of an expression that may be changed; not the parts of format specifications."""
    if isinstance(node, ast.Constant):
        if node.value is not Ellipsis:
            yield node
    elif isinstance(node, ast.FormattedValue):
        yield from constants(node.value)
    elif isinstance(node, ast.AST):
        for child in ast.iter_child_nodes(node):
            yield from constants(child)


def statements(body, certain=True):
    """(statement, surely executed, its block) of a body and all that is in it."""
    for stmt in body:
        yield stmt, certain, body
        inner = certain and isinstance(stmt, (ast.With, ast.AsyncWith)) and not any(last_name(i.context_expr) in BLOCKS for i in stmt.items)
        for field in ("body", "orelse", "finalbody"):
            yield from statements(getattr(stmt, field, None) or [], inner)
        for part in (getattr(stmt, "handlers", None) or []) + (getattr(stmt, "cases", None) or []):
            yield from statements(part.body, False)


# ---- other literals ----------------------------------------------------------------------------------------------------------------------------

WORD = re.compile(r"(?<![\\%{\w])\w+")
NUMBER = re.compile(r"([+-]?)(\d+)(\.\d*)?")


def other_numbers(text, rng):
    """Texts of numbers beside `text`: some with the same value in another form, some with another value in the same form."""
    sign, whole, part = NUMBER.fullmatch(text).groups()
    forms = [text + "0", text[:-1] if len(part) > 2 else sign + whole] if part else [text + ".0", text + ".00"]
    digits = whole + (part or "")[1:]
    near = []
    for d in rng.sample((-3, -2, -1, 1, 2, 3), 6):
        other = int(digits) + d
        if other >= 0:
            new = str(other).rjust(len(digits), "0")
            near.append(sign + (new[:len(new) - len(part) + 1] + "." + new[len(new) - len(part) + 1:] if part and len(part) > 1 else new + (part or "")))
    rng.shuffle(forms)
    return [x for x in forms + near[:3] if x != text]


def shape(text):
    """Its form: what is left when words and blanks are all alike."""
    return re.sub(r"\s+", " ", re.sub(r"\w+", "w", text))


def other_texts(text, rng, strings, far):
    """Texts unlike `text`, made of words that it, another string of the test or (`far`) of its file has; never of other letters."""
    words = [m.span() for m in WORD.finditer(text)]
    pool = sorted({w for s in strings for w in WORD.findall(s)} - {text})
    like_it = [s for s in far if shape(s) == shape(text) and s != text and s not in strings]

    def put(span, new):
        return text[:span[0]] + new + text[span[1]:]

    ways, odd = [], []
    for span in rng.sample(words, min(len(words), 4)):
        word = text[span[0]:span[1]]
        others = [text[a:b] for a, b in words if text[a:b] != word]
        # A word of the same kind keeps the text's form.
        like = [w for w in pool if w.isdigit() == word.isdigit() and abs(len(w) - len(word)) < 4 and w != word]
        ways += [put(span, rng.choice(like or pool))] if pool else []
        ways += [put(span, rng.choice(others))] if others else []
        odd += [re.sub(r"(^|\s)\s+", r"\1", put(span, ""))] if len(words) > 1 else []
        odd += [put(span, word + (" " if " " in text or len(words) == 1 else text[span[1]:span[1] + 1]) + word)]
    rng.shuffle(ways)
    rng.shuffle(odd)
    ways += odd
    whole = [s for s in strings if s != text]
    rng.shuffle(whole)
    if NUMBER.fullmatch(text):
        ways = other_numbers(text, rng) + ways
    elif len(words) < 2:
        ways = rng.sample(like_it, min(1, len(like_it))) + whole[:2] + ways
    # One that another assertion has can be told by that: new ones first.
    ways = [w for w in ways if w not in strings] + [w for w in ways if w in strings]
    return [w for w in dict.fromkeys(ways + whole[:2]) if w.split() != text.split()]


def other_values(value, rng, pool, far=()):
    """Values to stand in place of a literal, best first."""
    same = [v for v in pool if type(v) is type(value) and v != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        return other_texts(value, rng, same, far)
    if isinstance(value, bytes):
        texts = other_texts(value.decode("latin-1"), rng, [s.decode("latin-1") for s in same] or [s for s in pool if isinstance(s, str) and s.isascii()], ())
        return [t.encode("latin-1") for t in texts]
    if value is None:
        return [rng.choice([v for v in pool if v is not None] or [False, 0, 1]), False]
    steps = [1, 2, 3] if value == 0 else [d for d in (-3, -2, -1, 1, 2, 3) if isinstance(value, complex) or (value + d >= 0) == (value >= 0)]
    near = [value + d for d in rng.sample(steps, len(steps))]
    if same and rng.random() < 0.4:
        near.insert(0, rng.choice(same))
    return near


# ---- one test function -------------------------------------------------------------------------------------------------------------------------

class Spot:
    """An assertion, or a part of one: what is expected, and how it is turned round."""

    def __init__(self, stmt, style, expected, actual=(), flip=None, certain=False):
        self.stmt, self.style, self.expected, self.actual, self.flip, self.certain = stmt, style, list(expected), list(actual), flip, certain


class Function:
    """A test function and everything its variants are made of."""

    def __init__(self, source, node, tests, rng):
        self.source, self.rng, self.tests = source, rng, tests
        self.first, self.last = first_line(node), node.end_lineno
        self.classes = source.classes[id(node)]
        self.origin = node
        self.node = copy_tree(node, {})
        body = self.node.body
        self.docstring = body[0] if ast.get_docstring(node, clean=False) is not None else None
        self.body = body[1:] if self.docstring else body
        self.hot = {line for t in tests for line in self.hot_lines(t.get("where") or "")}
        self.rows, self.fixed = {}, set()  # argument -> its cells in the rows of parametrize; cells that may change without a new test id
        self.pinned, self.aliases = [], {}  # lists of ids that rows have; test id -> its id in a version
        for decorator in self.node.decorator_list:
            self.parametrize(decorator)
        if self.pinned:
            self.number_rows()
        self.all = list(statements(self.body))
        self.pool = [v for v in dict.fromkeys((type(c.value), c.value) for stmt in self.body for c in constants(stmt))]
        self.pool = [v for _, v in self.pool] + [w for w in node.name.split("_") if len(w) > 2 and w != "test"][:3]
        self.survey()
        self.bound = self.bindings()
        self.spots = list(self.find_spots())
        self.expected = {n.id for s in self.spots for e in s.expected for n in ast.walk(e) if isinstance(n, ast.Name)}

    def survey(self):
        """What the body uses: names that are read, called, stored (and where first), attributes by what they belong to, words of its strings."""
        args = self.node.args
        self.arguments = {a.arg for a in args.posonlyargs + args.args + args.kwonlyargs + [x for x in (args.vararg, args.kwarg) if x]}
        nodes = [n for stmt in self.node.body for n in ast.walk(stmt)]
        self.called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
        self.reads, self.stored, self.used = {}, {}, {}  # used: (owner or None, whether called) -> names, in the order of the text
        for n in nodes:
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                self.reads[n.id] = self.reads.get(n.id, 0) + 1
                self.used.setdefault((None, id(n) in self.called), {})[n.id] = True
            elif isinstance(n, ast.Name):
                self.stored[n.id] = min(n.lineno, self.stored.get(n.id, n.lineno))
            elif isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load):
                self.used.setdefault((dotted(n.value), id(n) in self.called), {})[n.attr] = True
        self.words = words_of(nodes)
        self.locals, self.inner = bound_inside(self.node.body)
        self.mentioned = {n.id if isinstance(n, ast.Name) else n.attr for n in nodes if isinstance(n, (ast.Name, ast.Attribute))}
        self.lifts = not self.mentioned & HOLDERS and not any(isinstance(n, ast.Delete) for n in nodes)

    def hot_lines(self, where):
        for frame in where.split("\n"):
            path, _, line = frame.rpartition(":")
            if path == self.source.path and line.isdigit() and self.first <= int(line) <= self.last:
                yield int(line)

    # -- rows of parametrize

    def parametrize(self, decorator):
        """Notes the cells of a parametrize decorator's rows, and gives the rows their ids by name: a changed cell must not change the test's id."""
        if not (isinstance(decorator, ast.Call) and last_name(decorator) == "parametrize" and len(decorator.args) >= 2):
            return
        names, rows = literal(decorator.args[0])[1], decorator.args[1]
        names = [n.strip() for n in names.split(",") if n.strip()] if isinstance(names, str) else list(names or ())
        if not names or not isinstance(rows, (ast.List, ast.Tuple)) or any(isinstance(r, ast.Starred) for r in rows.elts):
            return
        given = [k.value for k in decorator.keywords if k.arg == "ids"] + decorator.args[3:4]
        alone = sum(last_name(d) == "parametrize" for d in self.node.decorator_list) == 1
        cells = [self.cells(row, len(names)) for row in rows.elts]
        ids = [self.row_id(row, names, i) if row else None for i, row in enumerate(cells)]
        wanted = [t["id"] for t in self.tests if t.get("f2p")] or [t["id"] for t in self.tests]
        ours = [re.escape("-".join(p)) if None not in p else "-".join(".*" if x is None else re.escape(x) for x in p) for p in (i or [None] for i in ids)]
        names_of_rows = []
        for i, parts in enumerate(ids):
            name = None
            if parts and None not in parts:
                name = "-".join(parts)
            elif parts and alone:  # a cell that only the interpreter can name: the tests' ids know it, if just one fits and fits no other row
                fits = {t["id"].split("[", 1)[1][:-1] for t in self.tests if "[" in t["id"] and t["id"].endswith("]")}
                fits = [f for f in fits if re.fullmatch(ours[i], f) and sum(bool(re.fullmatch(o, f)) for o in ours) == 1]
                name = fits[0] if len(fits) == 1 and "\\" not in fits[0] else None
            names_of_rows.append(name)
        if not given and any(n is not None for n in names_of_rows) and not any(n and not n.isascii() for n in names_of_rows):
            pins = ast.List([], ast.Load())
            decorator.keywords.append(ast.keyword("ids", pins))
            self.pinned.append((pins, names_of_rows))
        elif given and isinstance(given[0], (ast.List, ast.Tuple)):
            self.pinned.append((given[0], [literal(n)[1] for n in given[0].elts]))
        else:
            names_of_rows = [None] * len(cells)
        known = [bool(given) and isinstance(given[0], (ast.List, ast.Tuple)) or n is not None for n in names_of_rows]
        hits = [any(self.row_hit(n, i, w) for w in wanted) for n, i in zip(names_of_rows, ours)]
        order = sorted((i for i, row in enumerate(cells) if row), key=lambda i: not hits[i])
        if any(hits):
            order = [i for i in order if hits[i]]
        for i in order:
            for name, cell in zip(names, cells[i]):
                if known[i] or isinstance(cell, CONTAINERS):
                    self.rows.setdefault(name, []).append(cell)

    def number_rows(self):
        """
        Ids of rows name values, also those that a variant has changed: who reads the id would know the right one. So rows are numbered, and `aliases` says
        which test has which id then. Where that is not understood, rows keep their ids, and only cells that no id names are changed.
        """
        tables = [(pins, names) for pins, names in reversed(self.pinned)]  # the decorator next to the function comes first in an id
        stacked = sum(last_name(d) == "parametrize" for d in self.node.decorator_list)
        sure = len(tables) == stacked and all(None not in names and all(isinstance(n, str) for n in names) for _, names in tables) or stacked == len(tables) == 1
        known = {}
        if sure and math.prod(len(names) for _, names in tables) <= ROWS_MAX:
            for some in itertools.product(*(list(enumerate(names)) for _, names in tables)):
                if all(isinstance(n, str) for _, n in some):
                    known.setdefault("-".join(n for _, n in some), []).append("-".join(f"{chr(97 + k)}{i}" for k, (i, _) in enumerate(some)))
        aliases = {}
        for t in self.tests:
            head, _, inner = t["id"].partition("[")
            inner = inner[:-1] if inner.endswith("]") else inner
            fits = [n for n in known if inner == n] or [n for n in known if inner.startswith(n + "-") or inner.endswith("-" + n)]
            if len(fits) == 1 and len(known[fits[0]]) == 1:
                new = known[fits[0]][0]
                aliases[t["id"]] = f"{head}[{new}{inner[len(fits[0]):] if inner.startswith(fits[0]) else ''}]" if inner.startswith(fits[0]) else f"{head}[{inner[:-len(fits[0])]}{new}]"
            elif all(isinstance(n, str) for _, names in tables for n in names) or fits:
                known = {}  # a test whose row is not found
                break
        if known and len(aliases) >= 1:
            for k, (pins, names) in enumerate(tables):
                pins.elts = [ast.Constant(f"{chr(97 + k)}{i}" if isinstance(n, str) else None) for i, n in enumerate(names)]
            self.aliases = aliases
            return
        for pins, names in tables:
            if not pins.elts:
                pins.elts = [ast.Constant(n) for n in names]
        self.rows = {name: some for name, cells in self.rows.items() if (some := [c for c in cells if isinstance(c, CONTAINERS)])}

    @staticmethod
    def cells(row, width):
        if isinstance(row, ast.Call) and last_name(row) == "param":
            return row.args if len(row.args) == width and not any(k.arg == "id" for k in row.keywords) else row.args[:width]
        if width == 1:
            return [row]
        return row.elts if isinstance(row, (ast.Tuple, ast.List)) and len(row.elts) == width else None

    @staticmethod
    def row_id(row, names, index):
        """The parts of the id that pytest makes of a row; None for a part that the text does not tell."""
        parts = []
        for name, cell in zip(names, row):
            ok, value = literal(cell)
            if isinstance(cell, CONTAINERS + (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                parts.append(f"{name}{index}")
            elif ok and isinstance(value, bytes):
                parts.append(value.decode("ascii") if re.fullmatch(rb"[ -\[\]-~]*", value) else None)
            elif ok and value is not Ellipsis:
                parts.append(value if isinstance(value, str) else str(value))
            else:
                parts.append(None)
        return parts

    @staticmethod
    def row_hit(name, pattern, wanted):
        """Whether a wanted test id is of this row. Ids of the lists may be cut off at a space."""
        if "[" not in wanted:
            return False
        inner = wanted.split("[", 1)[1]
        if not inner.endswith("]"):
            return name is not None and name.startswith(inner)
        inner = inner[:-1]
        return inner == name if name is not None and inner == name else bool(re.search(f"(^|-)(?:{pattern})($|-)", inner))

    # -- what names hold

    def bindings(self):
        """name -> [(line, expression)] of the assignments in the function; the cells of a loop's table each count."""
        bound = {}

        def bind(target, value, line):
            if isinstance(target, ast.Name):
                bound.setdefault(target.id, []).append((line, value))
            elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)) and len(target.elts) == len(value.elts):
                for t, v in zip(target.elts, value.elts):
                    bind(t, v, line)

        def table(node):
            """The rows that a loop goes over, where the text shows them."""
            if isinstance(node, ast.Name) and bound.get(node.id):
                node = bound[node.id][-1][1]
            if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
                return node.elts
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "items" and not node.args:
                of = node.func.value
                of = bound[of.id][-1][1] if isinstance(of, ast.Name) and bound.get(of.id) else of
                if isinstance(of, ast.Dict):
                    return [ast.Tuple([k, v], ast.Load()) for k, v in zip(of.keys, of.values) if k]
            if isinstance(node, ast.Call) and last_name(node) == "enumerate" and node.args:
                return [ast.Tuple([ast.Constant(i), row], ast.Load()) for i, row in enumerate(table(node.args[0]))]
            return []

        for stmt, _, _ in self.all:
            if isinstance(stmt, ast.Assign):
                for target in stmt.targets:
                    bind(target, stmt.value, stmt.lineno)
            elif isinstance(stmt, ast.AnnAssign) and stmt.value:
                bind(stmt.target, stmt.value, stmt.lineno)
            elif isinstance(stmt, (ast.For, ast.AsyncFor)):
                for row in self.rng.sample(rows := table(stmt.iter), len(rows)):
                    bind(stmt.target, row, stmt.lineno)
        return bound

    def held(self, node, line):
        """([expressions in this function], [expressions elsewhere]) that an expected name may hold."""
        if isinstance(node, ast.Name):
            here = self.bound.get(node.id, [])
            before = [(n, e) for n, e in here if n <= line] or here
            latest = max((n for n, _ in before), default=0)
            if before:
                return [e for n, e in before if n == latest], []
            return list(self.rows.get(node.id, [])), self.source.globals.get(node.id, [])
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") and self.classes:
            return [], self.source.attributes(self.classes[-1]).get(node.attr, [])
        return [], []

    # -- assertions

    def find_spots(self):
        for stmt, certain, _ in self.all:
            if isinstance(stmt, ast.Assert):
                yield from self.test_spots(stmt, stmt.test, certain)
            elif isinstance(stmt, (ast.With, ast.AsyncWith)):
                for item in stmt.items:
                    if isinstance(item.context_expr, ast.Call) and last_name(item.context_expr) in BLOCKS:
                        yield from self.call_spots(stmt, item.context_expr, certain)
            elif isinstance(stmt, (ast.Expr, ast.Assign, ast.Return)):
                call = stmt.value.value if isinstance(stmt.value, ast.Await) else stmt.value
                if isinstance(call, ast.Call) and (isinstance(stmt, ast.Expr) or last_name(call) in FORM):
                    yield from self.call_spots(stmt, call, certain)

    def is_hot(self, stmt):
        return any(stmt.lineno <= line <= stmt.end_lineno for line in self.hot)

    def call_spots(self, stmt, call, certain):
        name = last_name(call)
        named = [k.value for k in call.keywords if k.arg and k.arg not in ASIDE]
        args = [a for a in call.args if not isinstance(a, ast.Starred)]
        if name not in FORM:
            if HELPER.search(name) or self.is_hot(stmt):
                yield Spot(stmt, "args", named + args[::-1])
            return
        style, places, sibling = FORM[name]
        picked = args[::-1] if places == "*" else [args[int(p)] for p in places.split(",") if p != "-" and int(p) < len(args)]
        flip = None
        if sibling != "-" and isinstance(call.func, ast.Attribute):
            new = ast.Attribute(call.func.value, sibling, ast.Load())
            flip = {id(call): ast.Call(new, [], [])} if sibling.startswith("assert_not_") else {id(call.func): new}  # of a mock: takes no arguments
        if style in ("eq", "like") and len(args) >= 2:
            yield self.pair(stmt, style, args[0], args[1], flip, certain)
        elif name == "assertTrue" and args and isinstance(args[0], (ast.Compare, ast.BoolOp, ast.UnaryOp)):
            yield from self.test_spots(stmt, args[0], certain)
        elif style == "raises" and args:
            inside = stmt.body if isinstance(stmt, (ast.With, ast.AsyncWith)) else args[1 + (places == "1"):]
            yield Spot(stmt, "raises", [args[0]] + picked + [k.value for k in call.keywords if k.arg in ("match", "expected_message", "expected_regex")],
                       [a for part in inside for c in ast.walk(part) if isinstance(c, ast.Call) for a in c.args + [k.value for k in c.keywords]] or
                       [a for a in inside if isinstance(a, ast.expr)], certain=certain)
        else:
            yield Spot(stmt, style, picked + named, [a for a in args if a not in picked], flip, certain)

    def pair(self, stmt, style, left, right, flip, certain):
        """Two sides that must be equal. The expected one is the right one, unless only the left one is a literal (or a name that holds one)."""
        def shown(side):
            return literal(side)[0] or any(literal(e)[0] for part in self.held(side, stmt.lineno) for e in part)
        if shown(left) and not shown(right):
            left, right = right, left
        return Spot(stmt, style, [right], [left], flip, certain)

    def test_spots(self, stmt, test, certain):
        """The spots of what an `assert` statement, or assertTrue, asks."""
        if isinstance(test, ast.BoolOp):
            for part in test.values:
                yield from self.test_spots(stmt, part, certain and isinstance(test.op, ast.And))
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yield Spot(stmt, "truth", [], [test.operand], {id(test): test.operand}, certain)
        elif isinstance(test, ast.Compare):
            op = type(test.ops[-1])
            left = test.comparators[-2] if len(test.ops) > 1 else test.left
            flip = {id(test): ast.Compare(test.left, test.ops[:-1] + [FLIPS[op]()], test.comparators)}
            right = test.comparators[-1]
            if op in (ast.Eq, ast.Is):
                yield self.pair(stmt, "eq", left, right, flip, certain)
            else:
                picked = {ast.In: [left, right], ast.Lt: [right], ast.Gt: [right], ast.LtE: [right], ast.GtE: [right]}.get(op, [])
                yield Spot(stmt, "truth", picked, [] if picked else [left, right], flip, certain)
        else:
            args = [a for a in test.args if not isinstance(a, ast.Starred)][::-1] if isinstance(test, ast.Call) else []
            yield Spot(stmt, "truth", args, [test], {id(test): ast.UnaryOp(ast.Not(), test)}, certain)

    # -- changes of an expected expression: (kind, edits, whether a literal itself was changed)

    def changes(self, node, line, depth=0):
        lists = [list(self.const(node)), list(self.local(node, line, depth)), list(self.exc(node)), list(self.elem(node)), list(self.op(node)),
                 list(self.name(node, line))]
        yield from take_turns(lists)

    def const(self, node):
        found = list(constants(node))
        found = self.rng.sample(found, min(len(found), 4))
        tries = [(c, other_values(c.value, self.rng, self.pool, self.source.strings)) for c in found]
        for turn in range(3 if len(found) < 2 else 1 if len(found) > 2 else 2):
            for c, values in tries:
                if turn < len(values):
                    yield "const", {id(c): expression(repr(values[turn]))}, c is node

    def local(self, node, line, depth):
        """Changes what an expected name holds: in place where nothing else reads the name, else written out at the assertion."""
        if depth > 1:
            return
        for use in [n for n in ast.walk(node) if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load)][:6]:
            here, elsewhere = self.held(use, line)
            once = isinstance(use, ast.Name) and self.reads.get(use.id) == 1
            row = isinstance(use, ast.Name) and use.id in self.rows and use.id not in self.bound
            in_place = once or row or len(here) > 1
            todo = [itertools.islice(self.changes(e, line, depth + 1), 2) for e in here[:6]] + [itertools.islice(self.changes(e, line, depth + 1), 3)
                                                                                               for e in elsewhere[:1] if size(e) <= NODES_MAX]
            for some in itertools.zip_longest(*todo):
                for (e, where), change in zip([(e, 0) for e in here[:6]] + [(e, 1) for e in elsewhere[:1]], some):
                    if change and in_place and not where:
                        yield "param" if row else "local", change[1], False
                    elif change and size(e) <= NODES_MAX and not any(isinstance(n, (ast.Await, ast.Yield, ast.NamedExpr)) for n in ast.walk(e)):
                        yield "local", {id(use): copy_tree(e, change[1])}, False

    def exc(self, node):
        """Another type in place of an exception or of a type that is asked for."""
        for use in [node] if isinstance(node, ast.Tuple) else [n for n in ast.walk(node) if isinstance(n, (ast.Name, ast.Attribute))][:3]:
            names = [last_name(e) for e in use.elts] if isinstance(use, ast.Tuple) else [last_name(use)]
            if names and all(is_error_name(n) for n in names):
                for new in self.other_types(names):
                    yield "exc", {id(use): new}, all(isinstance(getattr(builtins, n, None), type) for n in names)

    def typed(self, node, line):
        """Another type in place of the one that a block must raise."""
        yield from self.local(node, line, 0)
        names = [last_name(e) for e in node.elts] if isinstance(node, ast.Tuple) else [last_name(node)]
        for new in self.other_types(names):
            yield "exc", {id(node): new}, all(isinstance(getattr(builtins, n, None), type) for n in names)

    def other_types(self, names):
        known = [getattr(builtins, n) for n in names if isinstance(getattr(builtins, n, None), type)]
        warning = any(n.endswith("Warning") for n in names)
        common = [n for n in (WARNINGS if warning else ERRORS) if n not in names and not (len(known) < len(names) and n in BASES)]
        common = [n for n in common if not any(issubclass(k, getattr(builtins, n)) or issubclass(getattr(builtins, n), k) for k in known)]
        near = [n for n in self.source.errors if n not in names and n.endswith("Warning") == warning and hasattr(builtins, n) and n in common]
        pick = self.rng.sample(near, min(1, len(near)))
        pick += self.rng.sample([n for n in common if n not in pick], min(2, len([n for n in common if n not in pick])))
        return [ast.Name(n, ast.Load()) for n in pick]

    def elem(self, node):
        rng = self.rng
        for box in [n for n in ast.walk(node) if isinstance(n, CONTAINERS + (ast.JoinedStr,))][:3]:
            if isinstance(box, ast.Dict):
                for i in rng.sample(range(len(box.keys)), min(2, len(box.keys))):
                    yield "elem", {id(box): ast.Dict(box.keys[:i] + box.keys[i + 1:], box.values[:i] + box.values[i + 1:])}, False
                if not box.keys:
                    yield "elem", {id(box): ast.Dict([self.any_literal()], [self.any_literal()])}, False
                continue
            items = box.values if isinstance(box, ast.JoinedStr) else box.elts

            def made(new):
                return {id(box): ast.JoinedStr(new) if isinstance(box, ast.JoinedStr) else ast.Set(new) if isinstance(box, ast.Set) else
                        type(box)(new, ast.Load())}
            if len(items) > 1 or items and not isinstance(box, (ast.Set, ast.JoinedStr)):
                i = rng.randrange(len(items))
                yield "elem", made(items[:i] + items[i + 1:]), False
                if not isinstance(box, (ast.Set, ast.JoinedStr)):
                    j = rng.randrange(len(items))
                    yield "elem", made(items[:i] + [items[j]] + items[i:]), False
            elif not items:
                yield "elem", made([self.any_literal()]), False
        for empty in [n for n in ast.walk(node) if isinstance(n, ast.Call) and last_name(n) in EMPTY and not n.args and not n.keywords][:1]:
            yield "elem", {id(empty): ast.Call(empty.func, [ast.List([self.any_literal()], ast.Load())], [])}, False

    def any_literal(self):
        return expression(repr(self.rng.choice(self.pool or [0])))

    def op(self, node):
        found = [n for n in ast.walk(node) if isinstance(n, ast.BinOp) or isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub)]
        for n in self.rng.sample(found, min(2, len(found))):
            if isinstance(n, ast.UnaryOp):
                yield "op", {id(n): n.operand}, False
            elif not isinstance(n.left, (ast.JoinedStr, ast.Constant)) or not isinstance(getattr(n.left, "value", ""), (str, bytes)):
                yield "op", {id(n): ast.BinOp(n.left, OPERATORS[type(n.op)](), n.right)}, False

    def name(self, node, line):
        """Another name of the test in place of a name, another attribute of the same thing in place of an attribute."""
        uses = [n for n in ast.walk(node) if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load)]
        for use in self.rng.sample(uses, min(3, len(uses))):
            if use.lineno < self.node.lineno:  # a decorator: it runs when the file is imported, and an error there loses the whole file
                continue
            of, here = dotted(use.value) if isinstance(use, ast.Attribute) else None, id(use) in self.called
            others = self.used.get((of, here), {})
            if of is None:
                others = [n for n in others if n != use.id and n not in NOT_VALUES and self.visible(ast.Name(n, ast.Load()), line)]
                near = [n for n in others if n in self.expected]
                others = self.rng.sample(near, len(near)) + [n for n in others if n not in near]
                new = [ast.Name(n, ast.Load()) for n in others]
            else:
                new = [ast.Attribute(use.value, n, ast.Load()) for n in others if of and n != use.attr]
            for n in new[:2]:
                yield "name", {id(use): n}, False

    def visible(self, node, line):
        """Whether every name of an expression is bound where `line` is executed, as far as the text shows."""
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and n.id not in self.arguments:
                if n.id in self.inner or self.stored.get(n.id, 0) >= line:
                    return False
        return True

    # -- hidden variants of a spot, best first: (kind, edits, safe)

    def hidden(self, spot):
        line = spot.stmt.lineno
        exact = spot.style == "eq" and spot.certain
        is_block = isinstance(spot.stmt, (ast.With, ast.AsyncWith))
        if spot.style in ("eq", "like"):
            yield from self.base(spot)
            swaps = self.swap(spot, exact)
        else:
            swaps = iter(())
        firsts = take_turns([self.typed(e, line) if spot.style == "raises" and i == 0 else self.changes(e, line) for i, e in enumerate(spot.expected)])
        yield from itertools.islice(swaps, 1)
        if spot.style == "raises":  # who raises whatever is asked for, and always, shows only here
            yield from itertools.islice(self.inputs(spot), 3)
        if spot.style == "truth" and spot.flip:
            for kind, edits, _ in itertools.islice(firsts, 1):
                yield kind, edits, False
            yield "bool", spot.flip, spot.certain and not is_block
        for kind, edits, direct in itertools.islice(firsts, 12):
            if spot.style == "raises" and kind in ("const", "elem", "op"):
                kind = "msg"
            yield kind, edits, direct and (exact and kind == "const" or spot.style == "raises" and spot.certain and kind == "exc")
        yield from swaps
        yield from self.inputs(spot)

    def inputs(self, spot):
        """Another input: with it the right answer is another one, or nothing is raised."""
        for e in spot.actual:
            for kind, edits, _ in itertools.islice(take_turns([iter(list(self.op(e))), self.const(e)]), 3):
                yield "input", edits, False

    def base(self, spot):
        """The value that the unrepaired product gives, in place of the expected one."""
        if self.is_hot(spot.stmt) and not literal(spot.actual[0])[0]:
            for value in dict.fromkeys(t.get("value") for t in self.tests if t.get("value")):
                try:
                    new = expression(value)
                    same = literal(spot.expected[0]) == (True, ast.literal_eval(new))
                except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                    continue
                if not same:
                    yield "base", {id(spot.expected[0]): new}, False

    def swap(self, spot, exact):
        """The expected side of another assertion of the test."""
        mine, text = spot.expected[0], ast.unparse(spot.expected[0])
        others = {}
        for other in self.spots:
            if other.style in ("eq", "like") and other is not spot and size(other.expected[0]) <= NODES_MAX:
                theirs = other.expected[0]
                if ast.unparse(theirs) != text and self.visible(theirs, spot.stmt.lineno):
                    near = type(theirs) is type(mine) and type(getattr(theirs, "value", None)) is type(getattr(mine, "value", None))
                    others.setdefault(ast.unparse(theirs), (not near, abs(other.stmt.lineno - spot.stmt.lineno), theirs))
        for _, _, theirs in sorted(others.values(), key=lambda o: o[:2])[:3]:
            a, b = literal(mine), literal(theirs)
            yield "swap", {id(mine): theirs}, exact and a[0] and b[0] and a[1] != b[1]
        answers = [a for a in self.source.answers if ast.unparse(a) != text]
        for theirs in self.rng.sample(answers, min(2, len(answers))) if not others else ():
            yield "swap", {id(mine): theirs}, False

    # -- open variants: (kind, edits, planted statement, safe)

    def open(self, spots):
        done = 0
        for spot in spots[:4]:
            for kind, edits, planted in self.turned(spot):
                yield kind, edits, planted, spot.certain and kind == "neg" and spot.style == "eq"
                done += 1
            if done >= 2:
                break
        hot = [s for s, _, _ in self.all if self.is_hot(s) and not hasattr(s, "body")]
        last = [s for s, _, _ in self.all if not hasattr(s, "body") and any(isinstance(n, ast.Call) for n in ast.walk(s))]
        asserted = {id(s.stmt) for s in self.spots}
        for stmt in [s for s in hot[-1:] + last[-1:] if id(s) not in asserted or not done][:1]:
            for edits in self.arg(stmt):
                yield "arg", edits, stmt, False
        planted = self.rng.choice([ast.Assert(ast.Constant(False)), ast.Raise(expression("AssertionError"))])
        final = self.body[-1] if self.body else self.docstring
        before = isinstance(final, (ast.Return, ast.Raise, ast.Continue, ast.Break))
        yield "end", {id(final): [planted, final] if before else [final, planted]}, planted, not before and self.straight()

    def straight(self):
        return not any(isinstance(n, (ast.Return, ast.Yield, ast.YieldFrom)) for s, _, _ in self.all for n in ast.walk(s))

    def turned(self, spot):
        """The negated assertion, and the assertion with its negation after it."""
        stmt = spot.stmt
        if spot.style == "raises":
            if isinstance(stmt, (ast.With, ast.AsyncWith)):
                if len(stmt.body) == 1 and len(stmt.items) == 1:
                    yield "neg", {id(stmt): [stmt.body[0]]}, stmt.body[0]
            elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and len(stmt.value.args) > 1:
                call = stmt.value.args[1 + (FORM[last_name(stmt.value)][1] == "1"):]
                if call:
                    value = call[0].body if isinstance(call[0], ast.Lambda) else ast.Call(call[0], call[1:], stmt.value.keywords)
                    new = ast.Expr(value)
                    yield "neg", {id(stmt): [new]}, new
        elif spot.flip and not isinstance(stmt, (ast.With, ast.AsyncWith)):
            if spot.style != "truth":
                yield "neg", spot.flip, stmt
            if not isinstance(stmt, ast.Return):
                copy = copy_tree(stmt, spot.flip)
                copy.origin = copy
                yield "dup", {id(stmt): [stmt, copy]}, copy

    def arg(self, stmt):
        """An expression that raises, as an argument of the statement's call."""
        calls = [n for n in ast.walk(stmt) if isinstance(n, ast.Call)]
        calls = [c for c in calls if last_name(c) not in FORM or c.args] or calls
        for form in self.rng.sample(FAILING, 1):
            words = [w for w in self.pool if isinstance(w, str) and w.isidentifier() and not keyword.iskeyword(w)] or ["value"]
            bad = expression(form % self.rng.choice(words) if "%" in form else form)
            for call in calls[:1]:
                if call.args:
                    yield {id(call.args[0]): bad}
                else:
                    yield {id(call): ast.Call(call.func, [bad], call.keywords)}
            if not calls and isinstance(stmt, (ast.Assign, ast.Expr, ast.AugAssign, ast.Return)) and stmt.value:
                yield {id(stmt.value): bad}

    # -- choosing

    def candidates(self):
        """(kind, strength, edits, planted statement, safe), best first."""
        end = max(self.hot, default=0)
        spots = self.spots if self.hot else self.rng.sample(self.spots, len(self.spots))
        hot = sorted((s for s in spots if self.is_hot(s.stmt)), key=lambda s: s.stmt.end_lineno - s.stmt.lineno)
        after = [s for s in spots if s not in hot and s.stmt.lineno > end]
        rest = [s for s in spots if s not in hot and s not in after]
        queues = [take_turns([self.at_spot(s) for s in group]) for group in (hot, after, rest)]
        firsts = [itertools.islice(q, n) for q, n in zip(queues, (HOT_FIRST, AFTER_FIRST, ELSEWHERE_FIRST))]
        for spot, (kind, edits, safe) in itertools.islice(itertools.chain(*firsts, *queues), TRIES_MAX):
            yield kind, "hidden_hot" if self.is_hot(spot.stmt) else "hidden", edits, spot.stmt, safe
        for kind, edits, planted, safe in self.open(hot + after + rest):
            yield kind, "open", edits, planted, safe

    def at_spot(self, spot):
        for kind, edits, safe in self.hidden(spot):
            yield spot, (kind, self.alike(spot, edits), safe)

    def alike(self, spot, edits):
        """The same edit of every later assertion that expects the same. They are not reached, but who compares the assertions of a test with one another
        would find the odd one out."""
        mine = spot.expected[0] if spot.expected else None
        if spot.style not in ("eq", "like") or id(mine) not in edits or len(edits) > 1:
            return edits
        text, new = ast.unparse(mine), edits[id(mine)]
        later = [s.expected[0] for s in self.spots if s.style in ("eq", "like") and s.stmt.lineno > spot.stmt.end_lineno and ast.unparse(s.expected[0]) == text]
        return {**edits, **{id(e): new for e in later if self.visible(new, e.lineno)}}

    def versions(self, most):
        """Originals, and at most so many variants."""
        hidden_most = max(most - OPEN_MAX, 2)
        if ast.dump(ast.parse(ast.unparse(self.node)).body[0]) != ast.dump(self.node):
            raise ValueError("the function does not survive unparsing")
        out, seen, hidden = [], set(), 0
        strict = self.strict({})
        for i in range(ORIGINALS if most == VARIANTS_MAX else 1):
            version = self.version("original", "original", {}, None, True)
            if not any(version["pre"] + version["post"] == v["pre"] + v["post"] for v in out):
                out.append(version)
        if strict:
            out.append({**self.version("original", "original", strict, None, False), "strict": True})
        for kind, strength, edits, planted, safe in self.candidates():
            if len(seen) == most or strength != "open" and hidden == hidden_most:
                continue
            try:
                texts = [(old, ast.unparse(new)) for old, new in edits.items()]
                key = (tuple(texts), kind == "dup")
                if key in seen:
                    continue
                # Half of the variants are strict too: else only originals would be.
                both = self.strict(edits) if strict and strength != "open" and self.rng.random() < 0.5 else None
                out.append(self.version(kind, strength, both or edits, planted, bool(safe) and not both))
            except (SyntaxError, ValueError):  # not every tree has a text: a backslash in an f-string, for one
                continue
            seen.add(key)
            hidden += strength != "open"
        return out

    def strict(self, changes):
        """The edits of a version that compares by the expected value's own type, so that no method of the product's classes decides, and that looks whether every
        block of a `with` came to its end, so that no context of the product's swallows an exception. None: there is nothing to compare."""
        if self.mentioned & FRAME_READERS or not self.body:
            return None
        spots = [s for s in self.spots if s.style == "eq" and len(s.expected) == len(s.actual) == 1 and not isinstance(s.stmt, (ast.Return, ast.Assign))]
        name = next(n for n in STRICT_NAMES if n not in self.source.words and n not in NOT_NAMES)
        edits = {}
        for spot in spots:
            old = spot.stmt.test if isinstance(spot.stmt, ast.Assert) else spot.stmt.value
            if any(id(n) in changes and n is not spot.expected[0] for n in ast.walk(old)) or id(spot.stmt) in changes:
                continue
            call = ast.Call(ast.Name(name, ast.Load()), [spot.actual[0], changes.get(id(spot.expected[0]), spot.expected[0])], [])
            if isinstance(old, ast.Compare) and len(old.ops) == 1 and isinstance(old.ops[0], ast.Eq):
                edits[id(old)] = call
            elif isinstance(old, ast.Call) and isinstance(old.func, ast.Attribute) and FORM.get(old.func.attr, ("",))[0] == "eq" and last_name(old) != "assertIs":
                edits[id(old)] = ast.Call(ast.Attribute(old.func.value, "assertTrue", ast.Load()), [call], [])
        compares = bool(edits)
        edits = {**edits, **self.ends(changes, edits)}
        first = self.body[0]
        if not edits or id(first) in changes:
            return None
        edits = {**changes, **edits}
        if compares:
            helper = ast.parse(STRICT.replace("NAME", name)).body[0]
            new = edits[id(first)] if id(first) in edits else copy_tree(first, edits)
            edits[id(first)] = [helper] + (new if isinstance(new, list) else [new])
        return edits

    def ends(self, changes, compared):
        """After each block of a `with` that is no assertion: an assertion that its last statement was reached."""
        edits, free = {}, [n for n in LOCALS if n not in self.source.words and n not in self.words]
        for stmt, _, _ in self.all:
            last = stmt.body[-1] if isinstance(stmt, (ast.With, ast.AsyncWith)) else None
            if last is None or not free or isinstance(last, (ast.Return, ast.Continue, ast.Break, ast.Raise)):
                continue
            if any(last_name(i.context_expr) in BLOCKS for i in stmt.items) or any(id(n) in changes for n in ast.walk(stmt)):
                continue
            name = free.pop(0)
            new = copy_tree(stmt, compared)
            new.body.append(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(True), lineno=last.lineno))
            before = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(False), lineno=stmt.lineno)
            edits[id(stmt)] = [before, new, ast.Assert(ast.Name(name, ast.Load()))]
        return edits

    # -- a version's text

    def version(self, kind, strength, edits, planted, safe):
        tree = copy_tree(self.node, edits)
        mark = next((s for s, _, _ in statements(tree.body) if planted is not None and s.origin is getattr(planted, "origin", planted)), None)
        words = self.words | {w for new in edits.values() for n in (new if isinstance(new, list) else [new]) for w in words_of(ast.walk(n))}
        Disguise(self, tree, words, None if kind in ("original", "base", "swap", "const", "bool", "dup", "elem", "op", "local", "param", "name") else mark)
        text = ast.unparse(tree).lstrip("\n")
        parsed = ast.parse(text).body[0]
        if kind != "original" and warns(text):
            raise ValueError("only the variant warns when it is compiled")
        lines = text.split("\n")
        start, end = 0, 0
        if mark is not None:
            place = next(i for i, (s, _, _) in enumerate(statements(tree.body)) if s is mark)
            at = next(s for i, (s, _, _) in enumerate(statements(parsed.body)) if i == place)
            start, end = at.lineno, at.end_lineno
        inside = '"""' in text and {row for n in ast.walk(parsed) if isinstance(n, (ast.Constant, ast.JoinedStr)) for row in range(n.lineno, n.end_lineno)} or ()
        indent = self.source.lines[self.first - 1][:self.origin.col_offset]
        head = re.match(r"(?:async )?def ", lines[parsed.lineno - 1]).end()
        lines = [line if i in inside or not line else indent + line for i, line in enumerate(lines)]
        line = lines[parsed.lineno - 1]
        cut = len(indent) + head
        return {"kind": kind, "strength": strength, "safe": safe, "from": start, "to": end,
                "pre": "".join(x + "\n" for x in lines[:parsed.lineno - 1]) + line[:cut],
                "post": line[cut + len(parsed.name):] + "\n" + "".join(x + "\n" for x in lines[parsed.lineno:])}

    def marked(self):
        """Whether the source says that the test may be skipped or may fail."""
        calls = [n for stmt in self.body for n in ast.walk(stmt) if isinstance(n, ast.Call)]
        return (any(MARK.search(ast.unparse(d)) for d in self.node.decorator_list + [d for c in self.classes for d in c.decorator_list])
                or any(MARK.search(last_name(c)) for c in calls) or any(MARK.search(m) for m in self.source.marks(self.classes)))


def take_turns(queues):
    """The first of each, the second of each, and so on."""
    for some in itertools.zip_longest(*queues):
        yield from (x for x in some if x is not None)


# ---- disguise ----------------------------------------------------------------------------------------------------------------------------------

def bound_inside(body):
    """(locals that may get another name, names that scopes inside bind, or that are bound by something else than a plain name)."""
    mine, inner = set(), set()

    def visit(node, nested):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            (inner if nested else mine).add(node.id)
        elif isinstance(node, ast.arg):
            inner.add(node.arg)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            inner.update(node.names)
        elif isinstance(node, ast.NamedExpr):
            inner.add(node.target.id)
        elif isinstance(node, ast.alias):
            inner.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, FUNCTIONS + (ast.ClassDef,)):
            inner.add(node.name)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            inner.add(node.name)
        elif isinstance(node, ast.MatchMapping):
            inner.add(node.rest)
        for child in ast.iter_child_nodes(node):
            visit(child, nested or isinstance(node, SCOPES))

    for stmt in body:
        visit(stmt, False)
    return mine - inner, inner


class Disguise:
    """New names for locals, and operands of assertions lifted into new locals: what a test computes stays the same."""

    def __init__(self, function, tree, words, whole):
        self.rng, self.whole = function.rng, whole  # whole: a statement whose operands stay in it
        self.taken = function.source.words | words | NOT_NAMES
        if not function.mentioned & FRAME_READERS:
            self.rename(tree, function.locals - words - function.arguments)
            if function.lifts:
                self.lift(tree)

    def new_name(self):
        for tail in ("", "_2", "_3", "_one", "_two", "_x", "_y"):
            free = [n + tail for n in LOCALS if n + tail not in self.taken]
            if free:
                name = self.rng.choice(free)
                self.taken.add(name)
                return name
        return None

    def rename(self, tree, names):
        names = sorted(n for n in names if not n.startswith("_"))
        new = {n: self.new_name() for n in names if self.rng.random() < 0.75}
        for stmt in tree.body:
            for node in ast.walk(stmt):
                if isinstance(node, ast.Name) and new.get(node.id):
                    node.id = new[node.id]

    def lift(self, node):
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            block = getattr(node, field, None)
            if not isinstance(block, list):
                continue
            out = []
            for stmt in block:
                self.lift(stmt)
                if not isinstance(node, ast.ClassDef) and stmt is not self.whole:
                    out += self.lifted(stmt)
                out.append(stmt)
            block[:] = out

    def lifted(self, stmt):
        """Statements to stand before an assertion: `name = operand`. Only the operand that is evaluated first, and literals: the order stays."""
        if isinstance(stmt, ast.Assert) and isinstance(stmt.test, ast.Compare):
            places = [(stmt.test, "left", None), (stmt.test.comparators, None, 0)]
        elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and FORM.get(last_name(stmt.value), ("",))[0] in ("eq", "like", "truth"):
            places = [(stmt.value.args, None, i) for i in range(min(2, len(stmt.value.args)))]
        else:
            return []
        out = []
        for i, (owner, field, index) in enumerate(places):
            value = getattr(owner, field) if field else owner[index]
            if isinstance(value, (ast.Name, ast.Starred)) or self.rng.random() > 0.35 or i and not literal(value)[0]:
                continue
            name = self.new_name()
            if name:
                out.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value, lineno=0), stmt))
                out[-1].origin = out[-1]
                if field:
                    setattr(owner, field, ast.Name(name, ast.Load()))
                else:
                    owner[index] = ast.Name(name, ast.Load())
        return out


# ---- files -------------------------------------------------------------------------------------------------------------------------------------

class Source:
    """A test file: its lines as Python counts them, its functions, and what its names hold."""

    def __init__(self, path, text):
        self.path = path
        self.lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)
        self.tree = ast.parse(text)
        self.words = set(re.findall(r"[^\W\d]\w*", text))
        self.functions, self.classes, self.names = [], {}, {}
        self.collect(self.tree, [], "")
        self.globals = {}
        for stmt in self.tree.body:
            if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], ast.Name):
                self.globals.setdefault(stmt.targets[0].id, []).append(stmt.value)
        self.errors = sorted({last_name(n.args[0]) for n in ast.walk(self.tree) if isinstance(n, ast.Call) and n.args
                              and FORM.get(last_name(n), ("",))[0] == "raises"})
        self.answers = [n.args[1] for n in ast.walk(self.tree) if isinstance(n, ast.Call) and FORM.get(last_name(n), ("",))[0] == "eq" and len(n.args) > 1]
        self.answers += [n.test.comparators[0] for n in ast.walk(self.tree) if isinstance(n, ast.Assert) and isinstance(n.test, ast.Compare)]
        self.answers = [n for n in self.answers if size(n) < 40 and literal(n)[0]]  # literals that other tests of the file expect
        self.attributes_of = {}
        self.strings = sorted({n.value for n in ast.walk(self.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str) and 0 < len(n.value) < 80})[:2000]

    def collect(self, node, classes, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FUNCTIONS):
                self.functions.append(child)
                self.classes[id(child)], self.names[id(child)] = classes, prefix + child.name
                self.collect(child, classes, prefix + child.name + ".<locals>.")
            elif isinstance(child, ast.ClassDef):
                self.collect(child, classes + [child], prefix + child.name + ".")
            elif not isinstance(child, ast.expr):
                self.collect(child, classes, prefix)

    def attributes(self, cls):
        """Attribute -> [value] that a class's body or its methods give it, where there is just one."""
        if id(cls) not in self.attributes_of:
            found = {}
            for n in ast.walk(cls):
                if isinstance(n, ast.Assign) and len(n.targets) == 1:
                    target = n.targets[0]
                    own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id in ("self", "cls")
                    if own or isinstance(target, ast.Name) and n in cls.body:
                        found.setdefault(target.attr if own else target.id, []).append(n.value)
            self.attributes_of[id(cls)] = {k: v for k, v in found.items() if len(v) == 1 and literal(v[0])[0]}
        return self.attributes_of[id(cls)]

    def marks(self, classes):
        for body in [self.tree.body] + [c.body for c in classes]:
            for stmt in body:
                if isinstance(stmt, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in stmt.targets):
                    yield ast.unparse(stmt.value)

    def at(self, line, name):
        """The function that `def` names: by its line, or by its qualified name where only one has it."""
        last = name.rsplit(".", 1)[-1]
        by_line = [f for f in self.functions if first_line(f) <= line <= f.lineno and (f.name == last or not last)]
        by_name = [f for f in self.functions if self.names[id(f)] == name]
        return by_line[0] if by_line else by_name[0] if len(by_name) == 1 else None


def by_id(test, sources):
    """The function of a test that says no `def`: its id names it, or the first line of its docstring."""
    found = re.fullmatch(r"(\w+) \(([\w.]+)\)", test) or re.fullmatch(r"(?:.*::)?(\w+)(?:\[.*)?()", test, re.S) or re.fullmatch(r"[\w.]+\.(\w+)()", test)
    path = test.split("::")[0] if "::" in test else ""
    where = (found.group(2) if found else "") or ".".join(test.split("[")[0].split("::")[1:])
    matches = []
    for source in sources:
        for f in source.functions:
            parts = source.names[id(f)].split(".")
            if found and f.name == found.group(1) and (not path or path == source.path):
                if len(parts) < 2 or not where or parts[-2] in where.split("."):
                    matches.append((source, f))
            elif not found and (ast.get_docstring(f) or "").strip().split("\n")[0].strip() == test.strip():
                matches.append((source, f))
    return matches[0] if len(matches) == 1 else None


def find(test, sources, broken):
    """(source, function, None), or (None, None, why not)."""
    place = re.fullmatch(r"(.*?):(\d+):(.*)", test.get("def") or "", re.S)
    if place:
        path, line, name = place.groups()
        if path not in sources:
            return None, None, broken.get(path, f"{path}: its text is not given")
        node = sources[path].at(int(line), name)
        return (sources[path], node, None) if node else (None, None, f"{path}: no function {name} at line {line}")
    match = by_id(str(test.get("id")), sources.values())
    return (*match, None) if match else (None, None, "the test's function was not found")


def callers(groups):
    """Functions that get no versions since a test calls another: a variant of the one would make the other fail. FAIL_TO_PASS tests keep theirs where they can."""
    def wanted(key):
        return any(t.get("f2p") for t in groups[key][2])
    names = {}
    for key, (_, node, _) in groups.items():
        names.setdefault((key[0], node.name), []).append(key)
    out = set()
    for key, (_, node, _) in groups.items():
        uses = {n.attr if isinstance(n, ast.Attribute) else n.id for n in ast.walk(node) if isinstance(n, (ast.Attribute, ast.Name))}
        for other in [k for name in uses for k in names.get((key[0], name), []) if k != key]:
            if key not in out and other not in out:
                out.add(other if wanted(key) and not wanted(other) else key)
    return out


def plan(request):
    """Versions of the functions of the request's tests. See docs/swebench.md for the fields."""
    sources, broken, none, groups = {}, {}, [], {}
    for path, text in sorted((request.get("files") or {}).items()):
        try:
            sources[path] = Source(path, text)
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
            broken[path] = f"{path}: cannot be parsed: {error}"
    for test in request.get("tests") or []:
        source, node, why = find(test, sources, broken)
        if why:
            none.append({"id": test.get("id"), "why": why})
        else:
            groups.setdefault((source.path, first_line(node), node.end_lineno), (source, node, []))[2].append(test)
    for key in callers(groups):
        none.extend({"id": t.get("id"), "why": "one of it and another test calls the other"} for t in groups.pop(key)[2])
    slots, files, free = [], {}, {}
    most = max(VARIANTS_LEAST, min(VARIANTS_MAX, VARIANTS_ALL // max(len(groups), 1)))
    for (path, first, last), (source, node, tests) in sorted(groups.items(), key=lambda g: g[0]):
        why = "it is inside of another test's function" if first <= free.get(path, 0) else None
        if not why and source.lines[first - 1][:node.col_offset].strip():
            why = "its function does not begin a line"
        try:
            if not why:
                function = Function(source, node, tests, random.Random(f"{request.get('seed')}:{path}:{first}"))
                versions = function.versions(most)
                why = "no variant could be made" if all(v["kind"] == "original" for v in versions) else None
        except Exception as error:  # an odd source costs its own slot, not the others
            why = f"no version could be made: {type(error).__name__}: {error}"
        if why:
            none.extend({"id": t.get("id"), "why": why} for t in tests)
            continue
        pieces = files.setdefault(path, [])
        pieces += ["".join(source.lines[free.get(path, 0):first - 1]), len(slots)]
        free[path] = last
        slots.append({"name": node.name, "path": path, "text": "".join(source.lines[first - 1:last]), "tests": [t["id"] for t in tests],
                      "as": [function.aliases.get(t["id"], t["id"]) for t in tests], "f2p": any(bool(t.get("f2p")) for t in tests),
                      "marked": function.marked(), "versions": versions})
    reply = [{"path": path, "pieces": [p for p in pieces + ["".join(sources[path].lines[free[path]:])] if p != ""]} for path, pieces in files.items()]
    return {"files": reply, "slots": slots, "none": none}
