# SPDX-License-Identifier: Apache-2.0
# The runner of repository-level patches: a process of its own in the interpreter of the instance (3.6 and later), started by swe.py.
#
# It imports what it needs while the driver applies the patches. Then it opens the checkout's folders and runs the repository's own test runner inside
# of itself with a reporter. Patch and tests share this interpreter: what the reporter says is evidence, not proof. So test functions are called by way of
# a native witness (witness.c), whose notes the driver compares with what the reporter says.
#
# Usage: swe_runner.py KIND. Descriptor 3: the driver's part (length, JSON). Descriptor 4: frames for the driver (length, the run's word, length, notes, JSON).
import os
import re
import struct
import sys
import time

WHERE_MAX, VALUE_MAX = 60, 2000
NONCE = 16


UNITTEST_ID = re.compile(r"(\w+) \(([\w.<>]+)\)")


def unittest_id(text):
    """(method, class path) of `test_x (m.C)` or `test_x (m.C.test_x)`, else None."""
    m = UNITTEST_ID.match(text)
    if not m:
        return None
    name, path = m.groups()
    return name, path[:-len(name) - 1] if path.endswith("." + name) else path


def load_witness():
    """The native witness (src/guest/witness.c). It is in no table of modules."""
    import _imp
    import importlib.machinery
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "witness.so")
    spec = importlib.machinery.ModuleSpec("witness", importlib.machinery.ExtensionFileLoader("witness", path), origin=path)
    module = _imp.create_dynamic(spec)
    _imp.exec_dynamic(module)
    import opcode
    import threading
    import types
    coroutine = types.CoroutineType
    module.setup(coroutine, coroutine.send, coroutine.throw, coroutine.close, sys.getprofile, sys.setprofile, threading.setprofile, module.profile,
                 [opcode.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in opcode.opmap])
    return module


def make_say(witness):
    """The way to the driver. The run's word is the witness's; what it needs else is bound here, before the checkout can put something in its place."""
    from _json import encode_basestring_ascii as quote
    send = witness.say

    def value(v):
        if type(v) is str:
            return quote(v)
        if type(v) is dict:
            return "{" + ",".join([quote(str(k)) + ":" + value(x) for k, x in v.items()]) + "}"
        if type(v) is list:
            return "[" + ",".join([value(x) for x in v]) + "]"
        return "%d" % v

    def say(t, **fields):
        fields["t"] = t
        send(value({k: v for k, v in fields.items() if v is not None}).encode("ascii"))

    return say


def inner(func):
    """The function below decorators that say what they decorate."""
    func = getattr(func, "__func__", func)
    for _ in range(20):
        below = getattr(func, "__wrapped__", None)
        if below is None:
            below = getattr(func, "awaitable", None)  # asgiref's AsyncToSync
        if below is None:
            break
        func = getattr(below, "__func__", below)
    return getattr(func, "__func__", func)


def code_of(func):
    return getattr(inner(func), "__code__", None)


OWN = code_of.__code__.co_filename


def plain_names(tree):
    """Functions and methods of a file that keep what their source says: without decorators, and assigned nowhere else in the file."""
    import ast
    found, stored = [], set()

    def walk(body, prefix):
        for node in body:
            if isinstance(node, ast.ClassDef) and not node.decorator_list and not node.keywords:
                walk(node.body, prefix + node.name + ".")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.decorator_list:
                found.append(prefix + node.name)

    walk(tree.body, "")
    for node in ast.walk(tree):
        if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            stored.add(getattr(node, "attr", getattr(node, "id", None)))
        elif isinstance(node, ast.alias):
            stored.add(node.asname or node.name)
        else:  # a text may be a name for setattr() or patch()
            text = getattr(node, "value", getattr(node, "s", None))
            if isinstance(text, str):
                stored.add(text.rpartition(".")[2])
    return [name for name in found if name.rpartition(".")[2] not in stored]


def forms(file, kind):
    """The code that a pristine file may have when it is loaded, and its plain names."""
    import ast
    with open(file, "rb") as f:
        data = f.read()
    tree = ast.parse(data)
    plain, codes = plain_names(tree), [compile(data, file, "exec", dont_inherit=True)]
    if kind == "pytest":
        from _pytest.assertion import rewrite

        class Config:
            def __init__(self, hook):
                self.hook = hook

            def getini(self, name):
                return self.hook

        for hook in (False, True):
            again = ast.parse(data, filename=file)
            try:
                rewrite.rewrite_asserts(again, data, file, Config(hook))
            except TypeError:  # before 5.0
                rewrite.rewrite_asserts(again)
            codes.append(compile(again, file, "exec", dont_inherit=True))
            if not hasattr(rewrite.AssertionRewriter, "is_rewrite_disabled") or not hook and b"assert" not in data:
                break
    return codes, plain


GUARDED = {"unittest": "builtins unittest.case unittest.util unittest.result unittest.suite unittest.runner unittest.async_case",
           "pytest": "pytest _pytest.outcomes _pytest.python_api _pytest.raises _pytest.recwarn _pytest.assertion.rewrite _pytest.reports"}
ASSERTIONS = "__getattribute__ __getattr__ subTest skipTest failureException defaultTestResult _getAssertEqualityFunc _baseAssertEqual _formatMessage".split()


# Not touched: modules with effects of their own, and those whose classes honest products exchange.
ODD = set("this antigravity idlelib turtle tkinter test lib2to3 distutils".split())
LOOSE = set("sys os warnings logging threading asyncio socket ssl multiprocessing signal".split())


def libraries(files):
    """Modules of the standard library that test files import, or that fixtures hand out, loaded before the checkout is on the path."""
    import ast
    import importlib.util
    names = set("pathlib json copy math datetime decimal re io collections posixpath".split())
    for file in files:
        try:
            with open(file, "rb") as f:
                tree = ast.parse(f.read())
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names.update(a.name for a in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    home = os.path.dirname(os.path.realpath(os.__file__))
    for name in sorted(names):
        top = name.partition(".")[0]
        if top in ODD or top in ("builtins", "unittest"):
            continue
        try:
            spec = importlib.util.find_spec(top)  # of a name with dots it would import the package, which may be the checkout's
            path = os.path.realpath(spec.origin) if spec and spec.origin and spec.has_location else ""
            if spec and (spec.origin in ("built-in", "frozen") or path.startswith(home + os.sep) and "-packages" + os.sep not in path):
                yield name, importlib.import_module(name)
        except Exception:  # not here, or not without what the tests bring along
            continue


def instruct(witness, part):
    """Tells the witness what it must find, and closes it."""
    import unittest.case
    for file in part["test_files"] + part["support"]:
        if file.endswith(".py"):
            try:
                codes, plain = forms(file, part["kind"])
            except (OSError, SyntaxError, ValueError, RecursionError):
                continue
            for code in codes:
                witness.expect(os.path.realpath(file), code, plain, file in part["support"])
    witness.patched([os.path.join(os.path.realpath(part["tree"]), p) for p in part["foreign"]])
    for name in (GUARDED["unittest"] + (" " + GUARDED["pytest"] if part["kind"] == "pytest" else "")).split():
        if name in sys.modules:
            witness.guard(sys.modules[name], ["TestCase", "_AssertRaisesContext", "_AssertRaisesBaseContext", "_BaseTestCaseContext", "RaisesContext", "RaisesExc"])
    for name, module in libraries(part["test_files"]):
        witness.library(module, None if name.partition(".")[0] in LOOSE else True)
    witness.seal(ASSERTIONS + [name for name in unittest.case.TestCase.__dict__ if name.startswith(("assert", "fail"))])


def file_of(cls):
    return getattr(sys.modules.get(cls.__module__), "__file__", None) or ""


# ---- where a test failed -----------------------------------------------------------------------------------------------------------------

EQUAL = frozenset("assertEqual assertEquals assertListEqual assertTupleEqual assertSetEqual assertDictEqual assertSequenceEqual assertMultiLineEqual assertCountEqual "
                  "assertIs assertAlmostEqual assertHTMLEqual assertXMLEqual assertJSONEqual assert_equal assert_array_equal assert_allclose assert_almost_equal "
                  "assert_array_almost_equal assert_string_equal".split())


class Places:
    """Names of places in the tree."""

    def __init__(self, tree):
        self.top, self.names, self.statements = os.path.realpath(tree) + "/", {}, {}

    def relative(self, file):
        """A file's name in the tree, or None."""
        if file not in self.names:
            real = os.path.realpath(os.path.join(self.top, file))
            self.names[file] = real[len(self.top):] if real.startswith(self.top) else None
        return self.names[file]

    def chain(self, exc):
        """The exception, its causes and contexts, and the members of groups."""
        found, todo = [], [exc]
        while todo and len(found) < 20:
            e = todo.pop(0)
            if e is None or any(e is f for f in found):
                continue
            found.append(e)
            todo += list(getattr(e, "exceptions", None) or ())[:10] if isinstance(getattr(e, "exceptions", None), (tuple, list)) else []
            todo += [e.__cause__, e.__context__]
        return [e for e in found if isinstance(e, BaseException)]

    def frames(self, exc):
        """[(name, line, frame)] of one exception below the tree, outermost first."""
        found, tb = [], exc.__traceback__
        while tb is not None:
            name = self.relative(tb.tb_frame.f_code.co_filename)
            if name:
                found.append((name, tb.tb_lineno, tb.tb_frame))
            tb = tb.tb_next
        return found

    def where(self, exc):
        lines = []
        for e in self.chain(exc):
            part = ["%s:%d" % (name, line) for name, line, _ in self.frames(e)]
            lines += part if len(part) <= WHERE_MAX else part[:WHERE_MAX // 2] + part[-WHERE_MAX // 2:]
        return lines[:WHERE_MAX]

    def defined(self, func):
        """path:line:qualname of a function's code."""
        func = inner(func)
        code = getattr(func, "__code__", None)
        name = self.relative(code.co_filename) if code is not None else None
        return "%s:%d:%s" % (name, code.co_firstlineno, func.__qualname__) if name else None

    def left_side(self, file, line):
        """The code of L of the comparison at a line, or None."""
        import ast
        if file not in self.statements:
            try:
                with open(file, "rb") as f:
                    self.statements[file] = [n for n in ast.walk(ast.parse(f.read())) if isinstance(n, ast.stmt)]
            except (OSError, SyntaxError, ValueError, RecursionError):
                self.statements[file] = []
        here = [n for n in self.statements[file] if isinstance(n, (ast.Assert, ast.Expr)) and n.lineno <= line <= (getattr(n, "end_lineno", None) or line)]
        node = max(here, key=lambda n: n.lineno, default=None)
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare) and len(node.test.ops) == 1 and isinstance(node.test.ops[0], (ast.Eq, ast.Is)):
            return compile(ast.Expression(node.test.left), file, "eval")
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Await):
            call = call.value
        if isinstance(call, ast.Call) and len(call.args) >= 2 and getattr(call.func, "attr", getattr(call.func, "id", None)) in EQUAL:
            return compile(ast.Expression(call.args[0]), file, "eval")
        return None

    def value(self, exc, func):
        """What the left side of the failing comparison gives in the test's own frame, as a literal."""
        import ast
        code = code_of(func)
        if code is None:
            return None
        own = [code] + [c for c in code.co_consts if isinstance(c, type(code))]
        hit = next((f for e in self.chain(exc) for f in reversed(self.frames(e)) if any(f[2].f_code is c for c in own)), None)
        try:
            left = hit and self.left_side(self.top + hit[0], hit[1])
            if not left:
                return None
            text = repr(eval(left, hit[2].f_globals, hit[2].f_locals))
            ast.literal_eval(text)
            return text if len(text) <= VALUE_MAX else None
        except Exception:
            return None


class Session:
    """What the reporters share."""

    def __init__(self, say, call, part):
        self.say, self.call, self.part = say, call, part
        self.places = Places(part["tree"])
        self.counts, self.begun, self.ended = {}, 0, 0
        self.copy = re.compile(re.escape(part["copies"]) + r"\d+\Z") if part["copies"] else None
        self.patched = frozenset(part["patched"])
        self.clock = time.perf_counter

    def original(self, name):
        """The name of the function that this one is a copy of."""
        return self.copy.sub("", name) if self.copy else name

    def failure(self, row, exc, func):
        """Notes where something failed."""
        row["where"] = (row.get("where") or []) + self.places.where(exc)
        if self.part["probe"] and not row.get("value"):
            row["value"] = self.places.value(exc, func)

    def giver(self, exc, own):
        """Who raised a skip or an expected failure: "path:line", a path outside of the tree, or None. `own`: where the test runner's own files lie."""
        found, tb = None, exc.__traceback__
        while tb is not None:
            file = tb.tb_frame.f_code.co_filename
            if file != OWN and not file.startswith(own):
                found = (file, tb.tb_lineno)
            tb = tb.tb_next
        return found and "%s:%d" % (self.places.relative(found[0]) or found[0], found[1])

    def product(self, giver):
        """Whether a giver is a file that the patch changed, or no file at all."""
        path = giver.rpartition(":")[0]
        return path in self.patched or path.startswith("<") or not os.path.exists(os.path.join(self.part["tree"], path))

    def result(self, outcome, started=None, row=None, func=None, **fields):
        self.counts[outcome] = self.counts.get(outcome, 0) + 1
        row = row or {}
        if outcome != "passed":
            fields["where"] = "\n".join((row.get("where") or [])[:WHERE_MAX]) or None
        if outcome in ("skipped", "xfail", "xpass"):
            fields["by"] = row.get("by")
        fields["def"] = func and self.places.defined(func)
        fields["value"] = row.get("value")
        self.say("test", outcome=outcome, ms=int((self.clock() - started) * 1000) if started else 0, **fields)

    def contradiction(self, id, why):
        self.say("tampering", what="reporter", path=id, action="seen", detail=why)

    def judged(self, id, outcome, row):
        """The outcome, when what says so may say so."""
        by = row.get("by")
        if outcome in ("skipped", "xfail") and by and by != "mark" and self.product(by):
            self.contradiction(id, "%s says that it is %s" % (by, "skipped" if outcome == "skipped" else "expected to fail"))
            return "failed"
        return outcome


def on_import(names, then):
    """Calls then(module) when one of these modules has been loaded."""
    import importlib.machinery

    class Finder:  # importlib.abc has a base class for it, and brings half of the library along
        def find_spec(self, name, path, target=None):
            if name not in names:
                return None
            spec = importlib.machinery.PathFinder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                execute = spec.loader.exec_module

                def exec_module(module):
                    execute(module)
                    then(module)

                spec.loader.exec_module = exec_module
            return spec

    sys.meta_path.insert(0, Finder())


# ---- unittest, django --------------------------------------------------------------------------------------------------------------------

def folder_of(module):
    return os.path.dirname(module.__file__) + "/"


def has_mark(cls, func):
    """Whether a class or a method carries unittest's mark of a skip or of an expected failure."""
    return any(getattr(x, name, False) for x in (cls, func) for name in ("__unittest_skip__", "__unittest_expecting_failure__"))


def watched_method(session, test, row):
    """Puts the witness around the method that a test case is about to call."""
    from functools import wraps
    from inspect import iscoroutinefunction as is_async
    import unittest
    name = getattr(test, "_testMethodName", None)
    method = getattr(test, name, None) if type(name) is str else None
    if method is None or not callable(method):
        return
    cls, call = type(test), session.call
    row["func"] = method

    def went(exc):
        if isinstance(exc, unittest.SkipTest):
            row["by"] = session.giver(exc, (folder_of(unittest),))

    def around(method):
        if not is_async(method):
            @wraps(method)
            def seen(*a, **k):
                try:
                    return call(method, a, k)
                except BaseException as e:
                    went(e)
                    raise
            return seen

        @wraps(method)
        async def seen_async(*a, **k):
            try:
                return await call(method, a, k)
            except BaseException as e:
                went(e)
                raise
        return seen_async

    seen = None
    if is_async(getattr(method, "awaitable", None)):  # asgiref's AsyncToSync runs it in a loop of its own
        try:
            method.awaitable = around(method.awaitable)
            seen = method
        except AttributeError:
            pass  # a method that only shows its function's attributes
    seen = seen or around(method)

    if has_mark(cls, method):
        row["by"] = "mark"
    row["was"] = test.__dict__.get(name)
    test.__dict__[name] = seen


def unwatch(test, row):
    name = getattr(test, "_testMethodName", None)
    if row.get("func") is not None:
        if row["was"] is None:
            test.__dict__.pop(name, None)
        else:
            test.__dict__[name] = row["was"]


def selected_unittest(session):
    """A function that says whether a test case is to run."""
    exact, docs = set(), set()
    for id in session.part["select"]:
        known = unittest_id(id)
        if known:
            exact.add(known)
        else:
            docs.add(id.strip())

    def wanted(test):
        import unittest
        if not isinstance(test, unittest.TestCase) or type(test).__name__ == "_FailedTest":
            return True
        if (session.original(test._testMethodName), type(test).__module__ + "." + type(test).__qualname__) in exact:
            return True
        return bool(docs) and (test.shortDescription() or "").strip() in docs

    return wanted


def report_unittest(session):
    import unittest
    import unittest.suite
    from functools import wraps
    Result, Text = unittest.TestResult, unittest.TextTestRunner
    tests, top = {}, []

    def fields(test):
        cls = type(test)
        name = getattr(test, "_testMethodName", None)
        path = cls.__module__ + "." + cls.__qualname__
        try:
            doc = test.shortDescription()
        except Exception:
            doc = None
        text = str(test)
        return {"id": "%s (%s)" % (name, path) if name else text, "str": text, "doc": doc if type(doc) is str else None, "module": cls.__module__,
                "class": cls.__qualname__, "name": name, "file": file_of(cls)}

    def ours(result):
        return not top or top[0] is result

    def note(result, test, outcome, err=None):
        if not ours(result):
            return
        row = tests.get(id(test))
        known = row if row is not None else {}
        if type(err) is tuple and len(err) == 3 and isinstance(err[1], BaseException):
            session.failure(known, err[1], known.get("func"))
        if row is None:  # setUpClass, setUpModule
            if outcome != "passed":
                session.result(outcome, row=known, phase="setup", **fields(test))
        elif row["outcome"] in (None, "passed") or outcome == "error":
            row["outcome"] = outcome

    def wrap(name, before, after=None):
        orig = getattr(Result, name)

        @wraps(orig)
        def method(self, test, *args, **kwargs):
            before(self, test, *args)
            return orig(self, test, *args, **kwargs)

        setattr(Result, name, method)

    def start(result, test):
        if ours(result):
            tests[id(test)] = row = {"outcome": None, "started": session.clock(), "func": None}
            watched_method(session, test, row)

    def stop(result, test):
        row = tests.pop(id(test), None) if ours(result) else None
        if row is None:
            return
        unwatch(test, row)
        f, outcome = fields(test), row["outcome"]
        session.result(session.judged(f["id"], outcome, row) or "error", row["started"], row, row["func"], phase="call", **f)

    def subtest(result, test, sub, err):
        if err is not None:
            note(result, test, "failed" if issubclass(err[0], test.failureException) else "error", err)

    wrap("startTest", start)
    wrap("stopTest", stop)
    wrap("addSubTest", subtest)
    for name, outcome in (("addSuccess", "passed"), ("addError", "error"), ("addFailure", "failed"), ("addSkip", "skipped"),
                          ("addExpectedFailure", "xfail"), ("addUnexpectedSuccess", "xpass")):
        wrap(name, lambda result, test, *a, _o=outcome: note(result, test, _o, *a[:1]))
    run, make = Text.run, Text._makeResult

    @wraps(make)
    def make_result(self):
        result = make(self)
        if not top and session.begun > session.ended:
            top.append(result)
        return result

    @wraps(run)
    def run_all(self, test):
        if session.begun > session.ended:
            return run(self, test)  # a test that runs tests
        session.begun += 1
        del top[:]
        result = run(self, test)
        session.ended += 1
        return result

    Text.run, Text._makeResult = run_all, make_result
    if session.part["select"] is not None:
        wanted, Suite = selected_unittest(session), unittest.suite.BaseTestSuite
        add = Suite.addTest

        @wraps(add)
        def add_test(self, test):
            if wanted(test):
                add(self, test)

        Suite.addTest = add_test


# ---- sympy -------------------------------------------------------------------------------------------------------------------------------

SYMPY = ("sympy.testing.runtests", "sympy.utilities.runtests")


def report_sympy(session):
    import inspect
    from functools import wraps
    isfunction, isgenerator, run_code = inspect.isfunction, inspect.isgeneratorfunction, exec
    now = {"file": "", "f": None, "started": 0, "row": {}}
    call, own = session.call, tuple(os.path.join(session.part["tree"], "sympy", d, "pytest.py") for d in ("testing", "utilities"))

    def seen(func):
        """A test function with its witness around it."""
        @wraps(func)
        def watched(*a, **k):
            try:
                return call(func, a, k)
            except BaseException as e:
                now["row"]["by"] = session.giver(e, own) or "mark"
                raise
        return watched

    def execute(code, namespace=None, *rest):
        run_code(code, namespace, *rest)
        if namespace is not None and namespace.get("__file__"):
            for name, func in list(namespace.items()):
                if name.startswith("test_") and isfunction(func) and not isgenerator(func) and func.__name__ == name:
                    namespace[name] = seen(func)

    def result(outcome, exc_info=None, phase="call"):
        f, row, now["f"], now["row"] = now["f"], now["row"], None, {}
        if type(exc_info) is tuple and len(exc_info) == 3 and isinstance(exc_info[1], BaseException):
            session.failure(row, exc_info[1], f)
        if f is None:
            session.result(outcome, row=row, id=now["file"] or "?", phase="collect", file=now["file"])
            return
        name = getattr(f, "__name__", "?")
        outcome = session.judged(name, outcome, row)
        session.result(outcome, now["started"], row, f, id=name, name=name, phase=phase, file=now["file"], module=os.path.basename(now["file"]))

    def put(cls, name, before):
        orig = getattr(cls, name, None)
        if orig is None:
            return

        @wraps(orig)
        def method(self, *a, **k):
            before(*a, **k)
            return orig(self, *a, **k)

        setattr(cls, name, method)

    def patch(module):
        cls = getattr(module, "PyTestReporter", None)
        if cls is None or cls.__module__ != module.__name__:
            return
        module.exec = module.exec_ = execute  # what it runs test files with

        def enter_file(filename, n):
            now["file"], now["f"] = filename, None

        def enter(f):
            now["f"], now["started"], now["row"] = f, session.clock(), {}

        def begin(*a, **k):
            session.begun += 1

        def no_import(filename, exc_info=None, *a):
            row = {}
            if type(exc_info) is tuple and len(exc_info) == 3 and isinstance(exc_info[1], BaseException):
                session.failure(row, exc_info[1], None)
            session.result("error", row=row, id=filename, phase="collect", file=filename)

        put(cls, "start", begin)
        put(cls, "entering_filename", enter_file)
        put(cls, "entering_test", enter)
        for name, outcome in (("test_pass", "passed"), ("test_fail", "failed"), ("test_exception", "error"), ("test_skip", "skipped"),
                              ("test_xfail", "xfail"), ("test_xpass", "xpass")):
            put(cls, name, lambda *a, _o=outcome, **k: result(_o, *a[:1]))
        put(cls, "import_error", no_import)
        finish = cls.finish

        @wraps(finish)
        def end(self, *a, **k):
            value = finish(self, *a, **k)
            session.ended += 1
            return value

        cls.finish = end
        if session.part["select"] is not None:
            wanted = set(session.part["select"])
            module.SymPyTests.matches = lambda self, x: session.original(x.__name__) in wanted

    on_import(SYMPY, patch)


# ---- pytest ------------------------------------------------------------------------------------------------------------------------------

def pytest_plugin(session):
    import inspect
    import unittest
    from functools import wraps
    import _pytest
    import pluggy
    import pytest
    from _pytest.python import Function
    from _pytest.unittest import TestCaseFunction
    is_async = inspect.iscoroutinefunction
    items, call, gives = {}, session.call, (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)
    own = tuple(folder_of(m) for m in (_pytest, pluggy, unittest))

    def original(nodeid):
        head, bracket, rest = nodeid.partition("[")
        return session.original(head) + bracket + rest

    def wanted(nodeid, chosen, cut):
        id = original(nodeid)
        return id in chosen or any(id.startswith(c) for c in cut)

    def new_row(**more):
        return dict({"fields": {}, "outcome": None, "phase": None, "started": None, "func": None}, **more)

    class Reporter:
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, config, items):
            if session.part["select"] is None:
                return
            chosen = set(session.part["select"])
            cut = [c for c in chosen if "[" in c and not c.endswith("]")]  # ids that the data has cut off
            keep, drop = [], []
            for i in items:
                (keep if wanted(i.nodeid, chosen, cut) else drop).append(i)
            if drop:
                config.hook.pytest_deselected(items=drop)
                items[:] = keep

        def pytest_sessionstart(self):
            session.begun += 1

        def pytest_collectreport(self, report):
            if report.failed:
                session.result("error", id=report.nodeid, phase="collect", file=report.nodeid.split("::")[0], detail=str(report.longrepr)[-1000:])

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_protocol(self, item):
            f = {"name": getattr(item, "originalname", None) or item.name, "file": item.location[0]}
            func = None
            if isinstance(item, Function):
                f["module"] = getattr(getattr(item, "module", None), "__name__", None)
                f["class"] = getattr(getattr(item, "cls", None), "__qualname__", None)
                func = item.obj
            items[item.nodeid] = new_row(fields=f, started=session.clock(), func=func)
            yield

        @pytest.hookimpl(hookwrapper=True, trylast=True)
        def pytest_runtest_call(self, item):
            row, orig = items.get(item.nodeid), None
            if row is not None and isinstance(item, Function):
                try:
                    orig = item.obj

                    def went(exc):
                        if isinstance(exc, gives):
                            row["by"] = session.giver(exc, own) or "mark"

                    if is_async(orig):
                        @wraps(orig)
                        async def seen(*a, **k):
                            try:
                                return await call(orig, a, k)
                            except BaseException as e:
                                went(e)
                                raise
                    else:
                        @wraps(orig)
                        def seen(*a, **k):
                            try:
                                return call(orig, a, k)
                            except BaseException as e:
                                went(e)
                                raise

                    item.obj = seen
                    case = isinstance(item, TestCaseFunction) and (getattr(item, "_testcase", None) or getattr(item, "_instance", None) or getattr(item, "instance", None))
                    if case:
                        case.__dict__[item.name] = seen
                except Exception:
                    orig = None
            yield
            if orig is not None:
                item.obj = orig

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(self, item, call):
            row, exc = items.get(item.nodeid), call.excinfo and call.excinfo.value
            if row is not None and isinstance(exc, gives):
                row.setdefault("by", session.giver(exc, own) or "mark")
            yield
            if row is None:
                return
            if any(item.get_closest_marker(m) for m in ("xfail", "skip", "skipif")) or has_mark(getattr(item, "cls", None), row["func"]):
                row.setdefault("by", "mark")
            if call.excinfo is not None:
                session.failure(row, call.excinfo.value, row["func"])

        def pytest_runtest_logreport(self, report):
            row = items.setdefault(report.nodeid, new_row())
            xfail = hasattr(report, "wasxfail")
            if report.failed:
                outcome = "failed" if report.when == "call" else "error"
            elif report.skipped:
                outcome = "xfail" if xfail else "skipped"
            elif report.when == "call" and report.passed:
                outcome = "xpass" if xfail else "passed"
            else:
                return
            if row["outcome"] is None or report.failed:
                row["outcome"], row["phase"] = outcome, report.when

        def pytest_runtest_logfinish(self, nodeid):
            row = items.pop(nodeid, None)
            if row is None:
                return
            outcome = session.judged(nodeid, row["outcome"], row)
            session.result(outcome or "error", row["started"], row, row["func"], id=nodeid, phase=row["phase"], **row["fields"])

        def pytest_sessionfinish(self):
            session.ended += 1

    return Reporter()


# ---- the runner's way --------------------------------------------------------------------------------------------------------------------

def script(part):
    """Runs a script of the repository as python3 would."""
    import runpy
    path = os.path.join(part["tree"], part["argv"][0])
    sys.argv = [path if os.path.isabs(part["argv"][0]) else part["argv"][0]] + part["argv"][1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    runpy.run_path(path, run_name="__main__")
    return 0


def run_django(part, ready):
    return script(part)


def run_sympy(part, ready):
    if "--no-subprocess" not in part["argv"]:
        part["argv"].insert(1, "--no-subprocess")  # in this process, or no reporter sees it
    return script(part)


def run_unittest(part, ready):
    import unittest
    sys.argv = ["python3 -m unittest"] + part["argv"]
    done = unittest.main(module=None, argv=sys.argv, exit=False)
    return 0 if done.result.wasSuccessful() else 1


def run_pytest(part, plugin):
    import pytest
    sys.argv = ["pytest"] + part["argv"]
    return int(pytest.main(part["argv"], plugins=[plugin]))


# How tests are run, and what comes before the witness is closed.
KINDS = {"pytest": (run_pytest, pytest_plugin), "django": (run_django, report_unittest), "sympy": (run_sympy, report_sympy), "unittest": (run_unittest, report_unittest)}
NEEDED = {
    "pytest": "pytest _pytest.python _pytest.unittest _pytest.runner _pytest.reports _pytest.assertion.rewrite ast functools inspect opcode threading unittest",
    "sympy": "ast functools importlib.machinery inspect opcode runpy threading traceback unittest",
}
NEEDED["django"] = NEEDED["unittest"] = "ast functools inspect json logging opcode runpy subprocess tempfile threading traceback unittest unittest.suite"


def outside_names():
    """Top modules that can be imported here, before the checkout comes to the path: whatever has such a name there would be taken for them."""
    found = set(sys.builtin_module_names) | {name.split(".")[0] for name in sys.modules}
    for folder in sys.path:
        try:
            found.update(name.split(".")[0] for name in os.listdir(folder or "."))
        except OSError:
            pass
    return sorted(name for name in found if name.isidentifier())


def run_tests(kind):
    import importlib.util
    import json
    for name in NEEDED[kind].split():
        importlib.import_module(name)
    for fd in (3, 4):
        os.set_inheritable(fd, False)
    try:
        witness = load_witness()
    except (ImportError, OSError, AttributeError) as e:  # no CPython of ours: nobody could say what runs
        data = bytes(NONCE + 4) + json.dumps({"t": "up", "missing": "%s: %s" % (sys.version.split()[0], e)}).encode("ascii")
        os.write(4, struct.pack("<I", len(data)) + data)
        os._exit(1)
    say = make_say(witness)
    say("up", modules=sorted({name.split(".")[0] for name in sys.modules}), outside=outside_names())
    data = witness.receive()
    if data is None:
        os._exit(1)
    part = json.loads(data.decode("ascii"))
    del data
    sys.modules["__main__"] = type(sys)("__main__")  # who looks for us has to look further
    leave, flush = os._exit, [sys.stdout, sys.stderr]
    session = Session(say, witness.call, part)
    run, prepare = KINDS[kind]
    ready = prepare(session)
    instruct(witness, part)
    del witness
    os.chdir(part["tree"])
    path = [p for p in part["pythonpath"]]
    if path:
        os.environ["PYTHONPATH"] = ":".join(path)
    sys.path[:0] = path
    if kind in ("pytest", "unittest") and part["tree"] not in sys.path:
        sys.path.insert(0, part["tree"])  # as -m has it
    try:
        code = run(part, ready)
    except SystemExit as e:
        code = int(e.code) if isinstance(e.code, int) else 0 if e.code is None else 1
        if e.code is not None and not isinstance(e.code, int):
            print(e.code, file=sys.stderr)
    except BaseException:
        import traceback
        traceback.print_exc()
        code = 1
        session.ended = -1
    for stream in flush + [sys.stdout, sys.stderr]:
        try:
            stream.flush()
        except BaseException:
            pass
    if session.begun and session.begun == session.ended:
        say("finish", counts=session.counts, exit=code)
    leave(code & 255)  # nothing registered for the end runs: the status is the test runner's


run_tests(sys.argv[1])
