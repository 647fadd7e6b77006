# ---- the verifier's side -------------------------------------------------------------------------------------------------------------------
# Trusted code only: ours, and the tests of a data set. It knows what is expected, and asks the candidate, which is in another jar, through the
# front: every question is a frame, every answer is data. Nothing of an answer is ever executed, and no object of it is ever asked for its
# opinion: all are plain.
import builtins
import gc
import json
import math
import random
import re
import signal
import time

IN, OUT = _os.dup(0), _os.dup(1)
_quick = globals().get("_quick")  # of a zygote: the bytes of a value that is all plain data, or None (src/guest/driver.h). What is read is read here


class Gone(BaseException):
    """The candidate's jar has ended. Not an Exception: no test may swallow it."""

    def __init__(self, why):
        self.why = why


class Tampered(BaseException):
    """An answer that no honest driver gives."""


class ArgsLost(BaseException):
    """Arguments that cannot be brought back, so that a test would see those of before."""


class NoData(BaseException):
    """A value that cannot be brought out of the jar. Not an Exception: a test that expects a TypeError must not take it for one."""


class Astray(BaseException):
    """The test asks something else than what was foreseen."""


class CandidateError(Exception):
    """An exception class of the candidate's own."""


# ---- talking -----------------------------------------------------------------------------------------------------------------------------

ANSWER_S = 3.0  # CPU time for looking at one answer
ANSWER_BYTES_S = 4 << 20  # and a second more for each so many bytes: 19 at most, and the front waits for 30


class watched:
    """Whoever sends something that takes for ever to look at, or that cannot be looked at, has sent no answer. So no answer is a failure of ours."""

    depth = size = 0

    def __init__(self, size=0):
        if watched.depth == 0:
            watched.size = size

    def __enter__(self):
        if watched.depth == 0:
            signal.setitimer(signal.ITIMER_PROF, ANSWER_S + watched.size / ANSWER_BYTES_S)
        watched.depth += 1

    def __exit__(self, kind, e, _):
        watched.depth -= 1
        if watched.depth == 0:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if kind is not None and issubclass(kind, Exception):
            raise Tampered("an answer that cannot be looked at: %s: %s" % (kind.__name__, str(e)[:200])) from None


def on_too_dear(number, frame):
    if watched.size > 1 << 20:
        raise TooLarge("%d bytes take too long to look at" % watched.size)
    raise Tampered("an answer that takes too long to look at")


def size_of(r):
    """The bytes of an answer that are still to be read."""
    return sum(len(x) for x in (r.get("v"), r.get("changed")) if type(x) is bytes)


def say(kind, data):
    write_frame(OUT, kind + data)


inbox = [b"", 0]  # what was read, and how much of it was looked at
spent = [0.0, 0.0]  # of the last answer: CPU time of the candidate's whole jar since the answer before, and time by the clock; seconds. The front reads the kernel's count


def hear(read=_os.read):
    """A frame from the front. When it does not want us any more, that is the end."""
    b, at = inbox
    while len(b) - at < 4:
        more = read(IN, 1 << 16)
        if not more:
            _os._exit(0)
        b, at = b[at:] + more, 0
    end = at + 4 + int.from_bytes(b[at:at + 4], "little")
    if end > len(b):
        more = read_exact(IN, end - len(b))
        if more is None:
            _os._exit(0)
        b, at, end = b[at:] + more, 0, end - at
    inbox[:] = (b, end) if end < len(b) else (b"", 0)
    kind = b[at + 4:at + 5]
    if kind != b"A":
        return kind, b[at + 5:end]
    spent[0] = int.from_bytes(b[at + 5:at + 9], "little") / 1e6
    spent[1] = int.from_bytes(b[at + 9:at + 13], "little") / 1e3
    return kind, b[at + 13:end]


patience = [False, False]  # this sample was ended by the clock though it was at work: it gets a second chance; one was in vain: there are no more
PATIENCE, SHARE = 5, 20  # src/grade/patience.h


def look_at_clock(cpu_limit):
    """The clock has ended a question: whether that says something about the candidate."""
    if spent[0] * SHARE >= spent[1] and spent[0] < cpu_limit:
        patience[0] = True


def over_time(cpu_s):
    return Gone({"reason": "timeout", "detail": "cpu time limit: it used %.2f s of %.2f s" % (spent[0], cpu_s)})


LIVE = (SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, StopAsyncIteration, BaseException)  # these do something to whoever lets them pass


def make_exception(info):
    """What the candidate raised, as an exception of ours: of the genuine builtin class, or of one that is its child."""
    if type(info) is not dict or type(info.get("bases")) is not list or type(info.get("type")) is not str or type(info.get("message", "")) is not str:
        raise Tampered("an exception that is none")
    bases = [b for b in info["bases"] if isinstance(b, str)]
    base = next((getattr(builtins, b) for b in bases if isinstance(getattr(builtins, b, None), type) and issubclass(getattr(builtins, b), BaseException)), Exception)
    if base in LIVE:
        base = CandidateError
    cls = base
    if info.get("own"):
        cls = type(text(info["type"], 100).replace("\0", "?") or "error", (base,), {})
    try:
        e = cls(info.get("message", ""))
    except Exception:
        e = Exception(info.get("message", ""))
    e.__dict__["candidate"] = info
    return e


inserted = {}  # sets that cases gave, by their id: themselves, and their items in the order that the case has


def set_recipe(x):
    """How the other side makes a set that has its items in the same order: which to add after which, and whether to copy it then (a set literal in a function is a copy)."""
    if id(x) in inserted:
        return inserted[id(x)][1], False
    order = list(x)
    return order, len(order) < 10000 and list(type(x)(order)) != order and list(type(x)(set(order))) == order


encode = _make_encoder(recipe=set_recipe)


def to_bytes(x):
    return (_quick and _quick(x)) or encode(x)


def milliseconds(s):
    return min(math.ceil(s * 1000), 0xffffffff).to_bytes(4, "little")


class Candidate:
    """The other side."""

    def __init__(self, timeout_ms):
        self.timeout_ms = timeout_ms
        self.calls = 0
        self.ahead = []  # what was asked already, last one first
        self.astray = False

    def foresee(self, questions):
        """Asks one after the other, before the first is answered: they wait at the front, and so do the answers until all are there or time goes by."""
        noise = _os.urandom(16 * len(questions))
        parts, ahead = [], []
        for i, (question, timeout_ms) in enumerate(questions):
            nonce = noise[16 * i:16 * i + 16]
            parts += ((len(question) + 41).to_bytes(4, "little"), b"Q", (timeout_ms or self.timeout_ms).to_bytes(4, "little"), bytes(4), nonce, question[:1], nonce, question[1:])
            ahead.append((question, nonce))
        write_all(OUT, b"".join(parts))
        self.ahead = ahead[::-1]

    def send(self, op, body, nonce, timeout_ms=None, cpu_s=0):
        say(b"C", (timeout_ms or self.timeout_ms).to_bytes(4, "little") + milliseconds(cpu_s) + op + nonce + body)

    def reply(self, nonce):
        kind, data = hear()
        with watched(len(data)):
            return self.read(kind, data, nonce)

    def read(self, kind, data, nonce):
        if kind == b"X":
            why = json.loads(data)
            patience[0] = patience[0] or why.pop("starved", False)
            raise Gone(why)
        if kind != b"A":
            raise Tampered("a frame of kind %r" % kind)
        if data[:16] != nonce:
            raise Tampered("an answer to nobody's question")
        try:
            r = decode(data[16:])
        except (Malformed, RecursionError) as e:
            raise Tampered("an answer that is no data: %s" % e) from None
        if type(r) is not dict:
            raise Tampered("an answer that is no data")
        if "large" in r:
            raise TooLarge("it has %s bytes, and may have %d" % (short(r["large"]) if type(r["large"]) is int else "more", ANSWER_MAX))
        return r

    def ask(self, op, request, timeout_ms=None, cpu_s=0):
        return self.ask_bytes(op, to_bytes(request), timeout_ms, cpu_s)

    def ask_bytes(self, op, body, timeout_ms=None, cpu_s=0):
        """With `cpu_s` that is the CPU time that it may use."""
        if self.astray:
            raise Astray
        if self.ahead:
            question, nonce = self.ahead.pop()
            if question != op + body:
                self.astray = True
                raise Astray
            return self.reply(nonce)
        nonce = _os.urandom(16)
        self.send(op, body, nonce, timeout_ms, cpu_s)
        r = self.reply(nonce)
        if cpu_s and spent[0] > cpu_s:
            raise over_time(cpu_s)
        return r

    def value(self, b):
        if type(b) is not bytes:
            raise Tampered("a value that is none")
        try:
            with watched(len(b)):
                return decode(b, self.remote)
        except (Malformed, RecursionError) as e:
            raise Tampered("a value that is no data: %s" % e) from None

    def remote(self, number, name, flags):
        cls = RemoteIterator if flags & 2 else Remote
        return cls(self, number, name, flags)

    def result(self, r):
        if "e" in r:
            raise make_exception(r["e"])
        if "u" in r:
            raise NoData("the value cannot be brought out of the jar: %s" % text(r["u"], 300))
        if "missing" in r:
            raise NameError("name %r is not defined" % text(r["missing"], 100))
        return self.value(r.get("v"))

    def call(self, target, args, kwargs):
        self.calls += 1
        r = self.ask_bytes(b"C", call_request(target, args, kwargs))
        if "changed" in r:
            if type(r["changed"]) is not bytes:
                raise ArgsLost("its arguments afterwards are no plain data")
            changed = self.value(r["changed"])
            if type(changed) is not tuple or len(changed) != 2 or type(changed[0]) is not tuple or type(changed[1]) is not dict:
                raise Tampered("arguments that are none")
            for mine, theirs in zip(args, changed[0]):
                update(mine, theirs)
            for k in kwargs:
                update(kwargs[k], changed[1].get(k))
        return self.result(r)

    def function(self, name):
        def candidate(*args, **kwargs):
            return self.call(name, args, kwargs)
        candidate.__name__ = candidate.__qualname__ = name
        return candidate


def call_request(target, args, kwargs):
    key = "target" if isinstance(target, str) else "ref"
    plain = _quick and _quick({key: target, "args": args, "kwargs": kwargs})
    return plain or encode({key: target, "args": lower(args), "kwargs": lower(kwargs)})


def update(mine, theirs):
    """An argument that was changed in place over there is changed here too."""
    if type(mine) is not type(theirs):
        return
    if type(mine) is list or type(mine) is bytearray:
        mine[:] = theirs
    elif type(mine) is dict or type(mine) is set:
        mine.clear()
        mine.update(theirs)


class Remote:
    """An object that is no data: it can be handed back, called and asked for attributes. It equals nothing but itself."""

    def __init__(self, candidate, number, name, flags):
        self.__dict__["_remote"] = (candidate, number, name, flags)

    def __call__(self, *args, **kwargs):
        candidate, number, name, flags = self._remote
        return candidate.call(number, args, kwargs)

    def __getattr__(self, name):
        candidate, number, _, _ = self._remote
        if name.startswith("__") and name != "__name__":
            raise AttributeError(name)
        return candidate.result(candidate.ask(b"A", {"ref": number, "name": name}))

    def __setattr__(self, name, value):
        candidate, number, _, _ = self._remote
        candidate.result(candidate.ask(b"S", {"ref": number, "name": name, "value": lower(value)}))

    def __iter__(self):
        candidate, number, _, _ = self._remote
        return iter(candidate.result(candidate.ask(b"I", {"ref": number})))

    def __len__(self):
        candidate, number, _, _ = self._remote
        return int(candidate.result(candidate.ask(b"M", {"ref": number})))

    def __str__(self):
        candidate, number, _, _ = self._remote
        return str(candidate.result(candidate.ask(b"T", {"ref": number})))

    def __repr__(self):
        return "<%s of the candidate>" % self._remote[2]

    def __bool__(self):
        return True

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


class RemoteIterator(Remote):
    def __init__(self, *a):
        super().__init__(*a)
        self.__dict__["_have"], self.__dict__["_over"], self.__dict__["_chunk"] = [], False, 1

    def __iter__(self):
        return self

    def __next__(self):
        if not self._have:
            if self._over:
                raise StopIteration
            candidate, number, _, _ = self._remote
            r = candidate.ask(b"N", {"ref": number, "count": self._chunk})
            self.__dict__["_chunk"] = min(self._chunk * 4, 4096)
            items = candidate.result(r)
            if type(items) is not list:
                raise Tampered("items that are none")
            self.__dict__["_have"], self.__dict__["_over"] = items[::-1], bool(r.get("over"))
            if not items:
                raise StopIteration
        return self._have.pop()


class Named(Remote):
    """A name of the candidate's that the test calls: what else it may be is asked only when the test wants something else of it."""

    def __init__(self, names, name):
        self.__dict__.update(_names=names, _name=name)

    def __call__(self, *args, **kwargs):
        return self._names.candidate.call(self._name, args, kwargs)

    def __getattr__(self, name):
        value = self._names.find(self._name)
        return value._remote if name == "_remote" and isinstance(value, Remote) else getattr(value, name)


def lower(x):
    """Arguments as they are sent: what belongs to the candidate goes back as what it is."""
    t = type(x)
    if t is list:
        return [lower(i) for i in x]
    if t is tuple:
        return tuple(lower(i) for i in x)
    if t is dict:
        return {lower(k): lower(v) for k, v in x.items()}
    if isinstance(x, Remote):
        _, number, name, flags = x._remote
        return Handle(number, name, flags)
    return x


# ---- tests that are programs -------------------------------------------------------------------------------------------------------------

LOUD = {"antigravity", "this", "idlelib", "turtle", "turtledemo", "tkinter", "test", "lib2to3"}  # modules that do something when they are imported


class Names(dict):
    """builtins, and behind them what the candidate's module has."""

    def __init__(self, candidate, called):
        super().__init__(vars(builtins))
        self.candidate, self.called = candidate, called

    def __missing__(self, name):
        if name in _sys.stdlib_module_names:
            # A test that forgot to import it means the genuine one.
            value = self[name] = __import__(name)
            return value
        if name in self.called:
            value = self[name] = Named(self, name)
            return value
        return self.find(name)

    def find(self, name):
        r = self.candidate.ask(b"G", {"name": name})
        if "missing" in r:
            raise KeyError(name)
        if "module" in r:
            if r["module"] not in _sys.stdlib_module_names or r["module"] in LOUD:
                raise KeyError(name)
            value = __import__(str(r["module"]))
            for part in str(r["module"]).split(".")[1:]:
                value = getattr(value, part)
        else:
            value = self.candidate.result(r)
            if isinstance(value, Remote) and value._remote[3] & 1 and not value._remote[3] & 4:
                value = self.candidate.function(name)
        self[name] = value
        return value


def failure(e):
    """What a test's exception says, in a word and a sentence."""
    if isinstance(e, NoData):
        return {"result": "failed: " + str(e)[:300], "reason": "unencodable", "detail": str(e)[:300]}
    info = getattr(e, "candidate", None)
    if info is not None:
        text = "%s: %s" % (info.get("type"), str(info.get("message", ""))[:300])
        return {"result": "failed: " + text[:300], "reason": "exception", "exception": clean_info(info), "detail": text}
    if isinstance(e, AssertionError):
        line = test_line(e)
        return {"result": "failed: " + said(e), "reason": "wrong_value", "detail": (said(e) or "assertion failed") + (": " + line if line else "")}
    return {"result": "failed: " + said(e), "reason": "test_error", "detail": "%s in the test: %s" % (type(e).__name__, said(e))}


def said(e):
    """An exception's text. Where objects of the verifier's lie is nobody's business."""
    return re.sub(r" at 0x[0-9a-f]+>", ">", str(e)[:1000])[:300]


def test_line(e):
    tb, number = e.__traceback__, 0
    while tb is not None:
        if tb.tb_frame.f_code.co_filename == "<test>":
            number = tb.tb_lineno
        tb = tb.tb_next
    lines = current.get("test", "").split("\n")
    return lines[number - 1].strip()[:300] if 0 < number <= len(lines) else ""


current = {}


def load(candidate, task, **more):
    return candidate.ask(b"L", {"path": task.get("path", "/workspace/solution.py"), **more}, task.get("load_ms", 30000), task.get("load_s", 0))


def load_question(task, **more):
    return b"L" + to_bytes({"path": task.get("path", "/workspace/solution.py"), **more}), task.get("load_ms", 30000)


def new_jar(patience=0):
    """With `patience` all begins anew, also its time, and the clock is that much more patient."""
    say(b"N", bytes([patience] if patience else []))
    while hear()[0] != b"Y":
        pass  # answers of the old one


def name_list(r):
    return texts(r.get("names"), 50, 100)


def load_failure(r):
    info = clean_info(r.get("e"))
    word = "syntax" if set(info["bases"]) & {"SyntaxError"} and not info.get("function") else "exited" if info["type"] == "SystemExit" else "load_error"
    return {"passed": False, "result": "failed: %s: %s" % (info["type"], info["message"][:300]), "reason": word, "exception": info, "detail": "the solution does not load",
            "names": name_list(r)}


def run_test(task, space, candidate_function):
    """The statements of a test, with somebody who plays the candidate."""
    random.seed(0)
    for text in task.get("trusted", []):
        exec(compile_once(text, "<given>"), space)
    entry = task.get("entry_point")
    if entry:
        space[entry] = candidate_function(entry)
    for name in task.get("names", []):
        if name in vars(builtins):
            space[name] = candidate_function(name)
    exec(compile_once(task["test"], "<test>"), space)
    if task.get("check"):
        space[task["check"]](space[entry])


def program_test(task):
    """HumanEval and MBPP: statements that call the candidate and assert."""
    questions, called = foreseen(task)
    candidate = Candidate(task.get("call_ms", 10000))
    if questions:
        candidate.foresee([load_question(task), *questions])
    report = program_run(task, candidate, called)
    if candidate.astray:
        # Its calls have left their traces: from the beginning, in a new jar, one question at a time.
        plans[task["line"]] = ((), ())
        new_jar()
        report = program_run(task, Candidate(task.get("call_ms", 10000)), ())
    return report


def program_run(task, candidate, called):
    r = load(candidate, task)
    if "e" in r:
        return load_failure(r)
    current["test"] = task["test"]
    try:
        run_test(task, {"__name__": "test", "__builtins__": Names(candidate, called)}, candidate.function)
    except (Gone, Tampered, TooLarge, ArgsLost, Astray) as e:
        if candidate.astray:
            return None
        raise
    except NameError as e:
        if task.get("entry_point") and str(task["entry_point"]) in str(e):
            return {"passed": False, "result": "failed: name '%s' is not defined" % task["entry_point"], "reason": "missing_function", "names": name_list(r)}
        return {"passed": False, **failure(e)}
    except BaseException as e:
        return {"passed": False, **failure(e)}
    if not candidate.calls:
        return {"passed": False, "result": "failed: the test did not call it", "reason": "test_error"}
    return {"passed": True, "result": "passed", "calls": candidate.calls}


# ---- what a test will ask ----------------------------------------------------------------------------------------------------------------
# A test is run once with nobody behind it, to see its questions: then all can be asked in a row, and answers come together. It is no more than a guess, which
# decides nothing: the test itself is run with the answers, and takes the next one only for the very question that it asks. When it asks another one everything
# begins anew, without a guess.

FORESEEN_MAX, FORESEEN_BYTES = 64, 1 << 18


class Unseen(BaseException):
    """As far as one can see."""


class Wild:
    """A value that nobody knows yet, and that pleases whoever asserts something about it; until it is to be looked into."""

    def same(self, *_):
        return self

    def pleased(self, *_):
        return True

    def unseen(self, *_, **__):
        raise Unseen

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = pleased
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __abs__ = __neg__ = __round__ = __getitem__ = same
    __call__ = __getattr__ = __setattr__ = __setitem__ = __iter__ = __len__ = __contains__ = __hash__ = __index__ = __int__ = __float__ = __str__ = __repr__ = __format__ = unseen


class NobodysNames(dict):
    def __init__(self, function):
        super().__init__(vars(builtins))
        self.function = function

    def __missing__(self, name):
        value = self[name] = __import__(name) if name in _sys.stdlib_module_names else self.function(name)
        return value


def look_ahead(task):
    """The questions that the test asks first, and the names of the candidate's that it calls."""
    questions, called = [], set()

    def function(name):
        def candidate(*args, **kwargs):
            if len(questions) >= FORESEEN_MAX:
                raise Unseen
            question = b"C" + call_request(name, args, kwargs)
            if len(question) > FORESEEN_BYTES // FORESEEN_MAX:
                raise Unseen
            questions.append((question, None))
            called.add(name)
            return Wild()
        candidate.__name__ = candidate.__qualname__ = name
        return candidate

    try:
        with watched():
            run_test(task, {"__name__": "test", "__builtins__": NobodysNames(function)}, function)
    except BaseException:
        pass  # so far, and no further
    return questions, called


plans = {}


def foreseen(task):
    if "line" not in task:
        return (), ()
    plan = plans.get(task["line"])
    if plan is None:
        if len(plans) > 1024:
            plans.clear()
        plan = plans[task["line"]] = look_ahead(task)
    return plan


compiled = {}


def compile_once(text, name):
    code = compiled.get((text, name))
    if code is None:
        if len(compiled) > 4096:
            compiled.clear()
        code = compiled[text, name] = compile(text, name, "exec", dont_inherit=True)
    return code


# ---- evalplus ----------------------------------------------------------------------------------------------------------------------------

NOT_NONE = {"check_str", "text_match_three", "text_starta_endb"}
SET_EQUAL = {"similar_elements", "find_char_long", "common_in_nested_lists", "extract_singly", "larg_nnum", "intersection_array", "find_dissimilar", "Diff"}


def is_floats(x):
    if isinstance(x, float):
        return True
    return isinstance(x, (list, tuple)) and bool(x) and all(isinstance(i, float) for i in x)


def close(a, b, rtol, atol):
    try:
        if a == b:
            return True
        return abs(a - b) <= atol + rtol * abs(b)
    except (TypeError, OverflowError):
        return False


def poly(xs, x):
    return sum(c * math.pow(x, i) for i, c in enumerate(xs))


def evalplus_same(task, args, out, expected):
    entry, atol = task["entry_point"], task.get("atol", 0) or 0
    if task.get("family") == "mbpp":
        if entry in SET_EQUAL:
            try:
                return set(out) == set(expected)
            except TypeError:
                return False
        if entry in NOT_NONE:
            return expected == (out is not None) if isinstance(expected, bool) else (out is not None) == (expected is not None)
    if task.get("family") == "humaneval" and entry == "find_zero":
        try:
            return abs(poly(args[0], out)) <= atol
        except Exception:
            return False
    try:
        if out == expected:
            return True
    except ArithmeticError:
        return False  # a signalling NaN
    if atol == 0 and is_floats(expected):
        atol = 1e-6
    if atol == 0 or type(out) is not type(expected):
        return False
    if isinstance(expected, (list, tuple)):
        if len(out) != len(expected):
            return False
        return all(close(a, b, 1e-7, atol) for a, b in zip(out, expected))
    return close(out, expected, 1e-7, atol)


references = {}


def copy_data(x):
    t = type(x)
    if t is list:
        return [copy_data(i) for i in x]
    if t is dict:
        return {k: copy_data(v) for k, v in x.items()}
    if t is tuple:
        return tuple(copy_data(i) for i in x)
    if t is set:
        return set(x)
    return x


def reference_outputs(task):
    """Computed once a task from the canonical solution, which is the data set's own."""
    found = references.get(task["task_id"])
    if found is None:
        space = {"__name__": "reference"}
        exec(compile(task["reference"], "<reference>", "exec", dont_inherit=True), space)
        f = space[task["entry_point"]]
        found = []
        for inputs in task["inputs"]:
            outputs = []
            for args in inputs:
                begin = time.process_time()
                outputs.append((f(*copy_data(args)), time.process_time() - begin))
            found.append(outputs)
        if len(references) > 600:
            references.clear()
        references[task["task_id"]] = found
    return found


def evalplus_test(task):
    try:
        return evalplus_run(task, 64)
    except Unclear:
        # One of them may have used all of it: from the beginning in a new jar, where nothing is known of them, one at a time.
        new_jar(1)
        return evalplus_run(task, 1)


class Unclear(BaseException):
    """Inputs that were asked together have used more than one of them may."""


def evalplus_run(task, together):
    if task.get("mbpp_inputs"):
        task["inputs"] = [mbpp_inputs(task["task_id"], i) for i in task["inputs"]]
        task["mbpp_inputs"] = False
    expected = reference_outputs(task)
    candidate = Candidate(task.get("call_ms", 60000))
    r = load(candidate, task)
    status = []
    if "e" in r:
        return {**load_failure(r), "status": ["fail"] * len(expected)}
    why = {}
    for inputs, outputs in zip(task["inputs"], expected):
        try:
            good = evalplus_part(task, candidate, inputs, outputs, why, together)
        except Gone as g:
            word = "timed out" if g.why.get("reason") == "timeout" else "failed: %s" % g.why.get("detail")
            return {"passed": False, "status": status + ["timeout" if word == "timed out" else "fail"] * (len(expected) - len(status)), "result": word, **g.why}
        status.append("pass" if good else "fail")
    if all(s == "pass" for s in status):
        return {"passed": True, "result": "passed", "status": status}
    return {"passed": False, "status": status, **why}


def evalplus_part(task, candidate, inputs, outputs, why, together):
    """One list of inputs: stops at the first that is wrong, and says it in `why` unless something is said there already."""
    at = 0
    while at < len(inputs):
        part, wanted = inputs[at:at + together], outputs[at:at + together]
        # Of each input: a second, or ten times what the reference took, as evalplus has it; of all together no more than it gives to a task.
        cpu = [max(1.0, 10 * took) for _, took in wanted]
        r = candidate.ask(b"B", {"target": task["entry_point"], "many": part, "cpu_s": cpu}, int(min(sum(cpu), 60.0) * 4000 * task.get("patience", 1)) + 2000, min(sum(cpu), 60.0))
        if spent[0] > min(cpu) and len(part) > 1 and "timeout" not in r:
            raise Unclear
        if "timeout" in r:
            raise Gone({"reason": "timeout", "detail": "more than %.1f s of CPU time for one input" % min(cpu)})
        got = r.get("all")
        if type(got) is not list or not 0 < len(got) <= len(part):
            raise Tampered("answers are missing")
        at += len(got)
        for args, one, (want, _) in zip(part, got, wanted):
            try:
                # Of these only whether there is something is asked: an object that is no data (a match) is something.
                value = True if type(one) is dict and "u" in one and task.get("family") == "mbpp" and task["entry_point"] in NOT_NONE else candidate.result(one)
            except (Gone, Tampered, TooLarge):
                raise
            except BaseException as e:
                why.update({} if why else failure(e))
                return False
            if not evalplus_same(task, args, value, want):
                why.update({} if why else {"result": "failed: wrong value", "reason": "wrong_value", "detail": "%s(%s): expected %s, got %s" % (
                    task["entry_point"], ", ".join(map(short, args))[:200], short(want), short(value))})
                return False
    return True


def mbpp_inputs(task_id, inputs):
    """evalplus keeps MBPP's arguments as JSON; these were other types there."""
    number = int(str(task_id).split("/")[-1])
    if number in (2, 116, 132, 143, 222, 261, 273, 394, 399, 421, 424, 429, 470, 560, 579, 596, 616, 630, 726, 740, 744, 809):
        return [[tuple(a) if type(a) is list else a for a in args] for args in inputs]
    if number in (63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780):
        return [[[tuple(x) for x in args[0]], *args[1:]] for args in inputs]
    if number in (75, 413, 444, 753):
        return [[[tuple(x) for x in args[0]], *args[1:]] for args in inputs]
    if number in (106, 750):
        return [[args[0], tuple(args[1])] for args in inputs]
    if number == 115:
        return [[[set(x) if type(x) is list and len(x) else {} for x in args[0]]] for args in inputs]
    if number == 124:
        return [[float(args[0]), complex(args[1])] for args in inputs]
    if number in (250, 405, 446, 617, 720, 763, 808):
        return [[tuple(args[0]), *args[1:]] for args in inputs]
    if number in (259, 401, 445):
        return [[tuple(tuple(x) for x in a) for a in args] for args in inputs]
    if number == 278:
        return [[tuple(tuple(x) if type(x) is list else x for x in args[0])] for args in inputs]
    if number == 307:
        return [[tuple(args[0]), *args[1:]] for args in inputs]
    if number == 722:
        return [[{k: tuple(v) for k, v in args[0].items()}, *args[1:]] for args in inputs]
    if number == 252:
        return [[complex(args[0])] for args in inputs]
    if number in (580, 615, 791):
        def deep(x):
            return tuple(deep(i) for i in x) if type(x) is list else x
        return [[deep(a) for a in args] for args in inputs]
    return inputs


# ---- function tests ----------------------------------------------------------------------------------------------------------------------

class BadCase(Exception):
    pass


TAGS = {"$tuple", "$set", "$frozenset", "$bytes", "$complex", "$float", "$int", "$dict", "$py", "$deque", "$decimal", "$fraction", "$date", "$datetime", "$time", "$timedelta"}
language_tags = {}  # those of the solution's language, which go first


def from_json(x, where):
    """JSON with tagged objects as a value; strict."""
    if type(x) is list:
        return [from_json(i, where) for i in x]
    if type(x) is not dict:
        return x
    tags = [k for k in x if k.startswith("$")]
    if not tags:
        return {k: from_json(v, where) for k, v in x.items()}
    if len(x) != 1 or tags[0] not in TAGS and tags[0] not in language_tags:
        raise BadCase("%s: %r is no tag (%s)" % (where, tags[0], ", ".join(sorted({*TAGS, *language_tags}))))
    tag, v = tags[0], x[tags[0]]
    try:
        if tag in language_tags:
            return language_tags[tag](v, lambda i: from_json(i, where))
        if tag in ("$tuple", "$set", "$frozenset"):
            if type(v) is not list:
                raise BadCase("%s: %s takes a list" % (where, tag))
            return from_items({"$tuple": tuple, "$set": set, "$frozenset": frozenset}[tag], [from_json(i, where) for i in v])
        if tag == "$bytes":
            import base64
            return base64.b64decode(v, validate=True)
        if tag == "$complex":
            re_, im = v
            return complex(number(re_), number(im))
        if tag == "$float":
            if v not in ("inf", "-inf", "nan"):
                raise ValueError("inf, -inf or nan")
            return float(v)
        if tag == "$int":
            if type(v) is not str or not re.fullmatch(r"-?[0-9]+", v):
                raise ValueError("digits in a string")
            _sys.set_int_max_str_digits(0)
            return int(v)
        if tag == "$dict":
            return {from_json(k, where): from_json(w, where) for k, w in v}
        if tag == "$deque":
            return _made("deque", [from_json(i, where) for i in v], True)
        if tag == "$timedelta":
            return _made("timedelta", v, True)
        if tag == "$fraction":
            return _made("Fraction", [int(n) for n in (v.split("/") if type(v) is str else v)], True)
        if type(v) is not str:
            raise ValueError("a Python literal in a string" if tag == "$py" else "a string")
        if tag != "$py":
            return _made({"$decimal": "Decimal"}.get(tag, tag[1:]), v, True)
        import ast
        return from_literal(ast.parse(v.lstrip(" \t"), mode="eval").body, ast)
    except BadCase:
        raise
    except Exception as e:
        raise BadCase("%s: %s: %s" % (where, tag, str(e)[:200])) from None


def from_items(kind, items):
    made = kind(items)
    if kind is not tuple:
        inserted[id(made)] = (made, items)
    return made


def from_literal(node, ast):
    """ast.literal_eval(), and what order the items of sets were written in."""
    if isinstance(node, ast.Set):
        return from_items(set, [from_literal(i, ast) for i in node.elts])
    if isinstance(node, (ast.List, ast.Tuple)):
        return (list if isinstance(node, ast.List) else tuple)([from_literal(i, ast) for i in node.elts])
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {from_literal(k, ast): from_literal(v, ast) for k, v in zip(node.keys, node.values)}
    return ast.literal_eval(node)


def number(x):
    return from_json(x, "$complex") if type(x) is dict else float(x)


FIELDS = {"name": str, "args": list, "kwargs": dict, "expected": None, "expected_type": str, "expected_exception": str, "weight": (int, float), "timeout_s": (int, float),
          "compare": (str, dict), "function": str, "expected_args": list, "expected_exit": int}
OTHER_NAMES = {"input_args": "args", "input_kwargs": "kwargs", "expected_output": "expected", "func": "function"}
COMPARES = ("exact", "float", "unordered", "approx-nested")


def read_case(c, at, default_function):
    if type(c) is not dict:
        raise BadCase("case %d: not an object" % at)
    name = c.get("name", "case_%d" % at)
    where = "case %d (%s)" % (at, str(name)[:60])
    out = {}
    for k, v in c.items():
        key = OTHER_NAMES.get(k, k)
        if key not in FIELDS:
            raise BadCase("%s: '%s' is no field of a case (%s)" % (where, str(k)[:60], ", ".join(FIELDS)))
        if key in out:
            raise BadCase("%s: '%s' is given twice" % (where, k))
        want = FIELDS[key]
        if want and (not isinstance(v, want) or (isinstance(v, bool))):
            raise BadCase("%s: '%s' must be %s" % (where, k, {str: "a string", list: "a list", dict: "an object", int: "a whole number"}.get(want, "a number")))
        out[key] = v
    out["name"] = str(name)
    out["args"] = [from_json(a, where + ": args") for a in out.get("args", [])]
    out["kwargs"] = {k: from_json(v, where + ": kwargs") for k, v in out.get("kwargs", {}).items()}
    for key in ("expected", "expected_args"):
        if key in out:
            out[key] = from_json(out[key], where + ": " + key)
    out["weight"] = float(out.get("weight", 1.0))
    if not (out["weight"] >= 0 and out["weight"] < 1e12):
        raise BadCase("%s: 'weight' must not be negative" % where)
    if "timeout_s" in out and not 0 < out["timeout_s"] <= 3600:
        raise BadCase("%s: 'timeout_s' must be between 0 and 3600" % where)
    out["function"] = out.get("function", default_function)
    if not out["function"] or not re.fullmatch(r"[^\W\d]\w*(\(\))?(\.[^\W\d]\w*(\(\))?)*", out["function"]):
        raise BadCase("%s: 'function' must be a name, like f or Solution().f" % where)
    compare = out.get("compare", "exact")
    if isinstance(compare, str):
        compare = {"kind": compare}
    if compare.get("kind") not in COMPARES or set(compare) - {"kind", "rel", "abs"}:
        raise BadCase("%s: 'compare' must be one of %s, or {kind, rel, abs}" % (where, ", ".join(COMPARES)))
    out["compare"] = (compare["kind"], float(compare.get("rel", 1e-9 if compare["kind"] != "float" else 1e-6)), float(compare.get("abs", 1e-9)))
    return out


def read_cases(text, default_function):
    try:
        cases = json.loads(text, parse_constant=lambda c: bad_constant(c), object_pairs_hook=no_repeats)
    except (ValueError, RecursionError) as e:
        raise BadCase("the cases are no JSON: %s" % str(e)[:200]) from None
    if type(cases) is dict and "cases" in cases:
        extra = set(cases) - {"cases", "function"}
        if extra:
            raise BadCase("'%s' is no field of a cases file" % sorted(extra)[0])
        default_function = cases.get("function", default_function)
        cases = cases["cases"]
    if type(cases) is not list:
        raise BadCase("the cases must be a list, or an object with 'cases'")
    out, used, warnings = [], {}, []
    for at, c in enumerate(cases):
        c = read_case(c, at, default_function)
        n = used[c["name"]] = used.get(c["name"], 0) + 1
        if n > 1:
            warnings.append("case name %r is used twice: called %s#%d" % (c["name"], c["name"], n))
            c["name"] = "%s#%d" % (c["name"], n)
        out.append(c)
    return out, warnings


def bad_constant(c):
    raise BadCase("%s is no JSON: write {\"$float\": \"%s\"}" % (c, {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[c]))


def no_repeats(pairs):
    out = {}
    for k, v in pairs:
        if k in out:
            raise BadCase("'%s' is given twice" % k[:60])
        out[k] = v
    return out


def text(x, most):
    """What a candidate says should be a text: nothing else is made one."""
    return x[:most] if type(x) is str else ""


def texts(x, count, most):
    return [text(i, most) for i in x[:count]] if type(x) is list else []


def clean_info(info):
    if type(info) is not dict or type(info.get("bases", [])) is not list:
        raise Tampered("an exception that is none")
    out = {"type": text(info.get("type"), 100), "bases": texts(info.get("bases"), 10, 100), "message": text(info.get("message"), 1000)}
    for k in ("text", "function", "traceback"):
        if text(info.get(k), 1):
            out[k] = info[k][:3000]
    for k in ("line", "column"):
        if type(info.get(k)) is int:
            out[k] = info[k]
    if type(info.get("near")) is list:
        out["near"] = texts(info["near"], 5, 60)
    return out


def as_json(x):
    """As JSON would have it: expected values that were kept in it know no tuples."""
    if type(x) in (list, tuple, Items):
        return [as_json(i) for i in x]
    if type(x) is dict:
        return {k: as_json(v) for k, v in x.items()}
    return x


SHELL_WORD = re.compile(r'"((?:[^"\\$`]|\\.|\$(?![A-Za-z0-9_({*@#?!$-]))*)"|([A-Za-z0-9_.,:/+=-]+)', re.S)
SHELL_CALL = re.compile(r"\s*\[\[ \$\(candidate((?: +(?:%s))*) *\) = (%s) \]\]\s*\Z" % ((SHELL_WORD.pattern.replace("((?:", "(?:(?:", 1).replace("|([A", "|(?:[A"),) * 2), re.S)
SHELL_TESTS = re.compile(r"\s*\}?\s*candidate\(\) \{\s+([\w.-]+) \"\$@\"\s+\}\s+set -e\s+run_test\(\) \{\n(.*)\n\}\s+run_test\s*\Z", re.S)


def shell_words(text):
    """What bash makes of words that are plain or in double quotes."""
    return [re.sub(r'\\(["\\$`])|\\\n', lambda m: m[1] or "", quoted) if quoted is not None else plain
            for quoted, plain in ((m[1], m[2]) for m in SHELL_WORD.finditer(text))]


def shell_cases(tests):
    """MultiPL-E's tests of a shell function, lines [[ $(candidate "a" "b") = "c" ]], as cases: nothing of them is executed."""
    found = SHELL_TESTS.match(tests)
    if not found:
        raise BadCase("not a test of a shell function as MultiPL-E writes it")
    cases, part = [], ""
    for line in found[2].split("\n"):
        part = part + "\n" + line if part else line
        if not part.strip():
            part = ""
            continue
        m = SHELL_CALL.match(part)
        if m:
            cases.append({"args": shell_words(m[1]), "expected": shell_words(m[2])[0]})
            part = ""
    if part:
        raise BadCase("the test has a line that is no comparison of a call with a text: %s" % part.strip()[:100])
    return found[1], cases


def judge_shell(case, r, any_exit=False):
    """A shell function: its words and its exit status. The last line's end is not part of what it says."""
    try:
        got = decode(r["v"])
        printed, status = got["stdout"], got["exit"]
    except (Malformed, TypeError, KeyError) as e:
        raise Tampered("a value that is no data: %s" % e) from None
    out = {"output": short(printed)}
    if not any_exit and status != case.get("expected_exit", 0):
        return {**out, "reason": "wrong_value", "detail": "expected exit status %d, got %s" % (case.get("expected_exit", 0), short(status))}
    if "expected" in case:
        wanted = case["expected"] if type(case["expected"]) is str else json.dumps(case["expected"])
        if type(printed) is not str or printed.rstrip("\n") != wanted.rstrip("\n"):
            return {**out, "reason": "wrong_value", "detail": "expected %s, got %s" % (short(wanted), out["output"])}
    return out


def raised_as(wanted, info, r, defined):
    """Whether an exception is of the class that is wanted. A builtin's name, in any of its spellings, is that builtin."""
    meant = getattr(builtins, wanted, None)
    if isinstance(meant, type):
        return meant.__name__ in info["bases"]
    if "." in wanted:
        module, _, name = (meant_class(wanted) or "").rpartition(".")
        if module == "builtins":
            return name in info["bases"]
    return claimed(wanted, r["e"].get("classes"), defined)


def never_handle(*_):
    raise Unencodable("an object that is no plain data")


def judge_args(case, r, how):
    """The arguments afterwards: nothing to say, or what is wrong with them."""
    if "expected_args" not in case:
        return {}
    now = case["args"]
    if "changed" in r:
        try:
            if type(r["changed"]) is not bytes:
                raise Unencodable("nested too deep, or in itself")
            now = list(decode(r["changed"], never_handle, [])[0])
        except Unencodable as e:
            return {"reason": "args_unencodable", "detail": "its arguments afterwards cannot be compared: %s" % e}
        except (Malformed, RecursionError, TypeError, IndexError) as e:
            raise Tampered("arguments that are no data: %s" % e) from None
    if same(now, case["expected_args"], *how):
        return {}
    return {"reason": "wrong_value", "detail": "its arguments should be %s afterwards, they are %s" % (short(case["expected_args"]), short(now)),
            "arguments": {"expected": short(case["expected_args"]), "got": short(now)}}


def judge(case, r, loose=False, language="python", any_exit=False, defined=frozenset()):
    """One case's answer against what is expected: exception, then type, then value, then the arguments. `defined`: the classes of the solution; in JavaScript its text."""
    if language == "js":
        return js_judge(case, r, defined)
    if "missing" in r:
        return {"reason": "missing_function", "detail": "there is no '%s'" % text(r["missing"], 100), "names": name_list(r)}
    wanted = case.get("expected_exception")
    if language == "bash" and "v" in r:
        return judge_shell(case, r, any_exit)
    if "e" in r:
        info = clean_info(r["e"])
        if wanted:
            if raised_as(wanted, info, r, defined):
                return {"output": "%s(%s)" % (info["type"], short(info["message"])), **judge_args(case, r, case["compare"])}
            return {"reason": "exception", "exception": info, "expected_exception": wanted, "detail": "expected %s, got %s" % (wanted, info["type"])}
        if info["type"] == "SystemExit":
            return {"reason": "exited", "exception": info, "detail": "it called exit() instead of returning"}
        return {"reason": "exception", "exception": info, "detail": "%s: %s" % (info["type"], info["message"][:200])}
    kind = case.get("expected_type")
    if "u" in r:
        out = {"output": "<%s>" % text(r.get("type"), 100)}
        if wanted:
            return {**out, "reason": "no_exception", "expected_exception": wanted, "detail": "expected %s, got a value" % wanted}
        if kind and "expected" not in case and any(claimed(name.strip(), r.get("classes"), defined) for name in kind.split("|") if name.strip() not in TYPES and name.strip() not in KNOWN):
            return {**out, **judge_args(case, r, case["compare"])}
        return {**out, "reason": "unencodable", "detail": text(r["u"], 300)}
    labels = []
    try:
        plain = decode(r.get("v") if type(r.get("v")) is bytes else b"", None, labels)
    except (Malformed, RecursionError, TypeError) as e:
        raise Tampered("a value that is no data: %s" % e) from None
    value = as_json(plain) if loose else plain
    out = {"output": short(value)}
    if wanted:
        return {**out, "reason": "no_exception", "expected_exception": wanted, "detail": "expected %s, got a value" % wanted}
    if kind and not has_type(plain, labels, kind, defined):
        return {**out, "reason": "wrong_type", "detail": "expected type %s, got %s" % (kind, type_of(plain, labels))}
    if "expected" in case:
        expected, how = case["expected"], case["compare"]
        try:
            unordered = how[0] == "unordered" and kind_of(value) in ("list", "set", tuple) and kind_of(expected) in ("list", "set", tuple)
            good = same_elements(list(elements(value)), list(elements(expected)), *how, 0) if unordered else same(value, expected, *how)
        except (ValueError, RecursionError) as e:
            return {**out, "reason": "wrong_value", "detail": "cannot be compared: %s" % str(e)[:200]}
        if not good:
            detail = "expected %s, got %s" % (short(expected), out["output"])
            if type(value) is not type(expected):
                detail = "expected %s (%s), got %s (%s)" % (short(expected), type_of(expected), out["output"], type_of(plain, labels))
            far = {} if how[0] == "unordered" else far_difference(expected, value, lambda g, e: same(g, e, *how))
            return {**out, "reason": "wrong_value", "detail": detail, **far}
    return {**out, **judge_args(case, r, case["compare"])}


LOAD_S = 10.0  # CPU time for loading a solution, or that of a case where it has more
CASES_AHEAD = 32  # as many cases wait at the front


class Cases:
    """Cases one after the other: each is asked when the one before is over, and the next ones wait at the front."""

    def __init__(self, cases, candidate, task):
        self.cases, self.candidate, self.task = cases, candidate, task
        self.begin_at(0)

    def begin_at(self, at):
        self.at, self.asked = at, []

    def ask(self):
        """As many as may wait."""
        task, ahead = self.task, 1 if self.task.get("fresh") else CASES_AHEAD
        parts = []
        while len(self.asked) < ahead and self.at < len(self.cases):
            case = self.cases[self.at]
            self.at += 1
            cpu = float(case.get("timeout_s", task["case_s"]))
            wall = (cpu * 3 + 1) * task.get("patience", 1)
            body = (js_encode if task.get("language") == "js" else to_bytes)({"target": case["function"], "args": tuple(case["args"]), "kwargs": case["kwargs"], "materialise": True, "wall_s": wall})
            nonce = _os.urandom(16)
            if task.get("shared"):
                last, patience, frame = nonce, int(wall * 1000) + 500, b"C" + nonce + body
            else:
                # For the parent: what its last word begins with. It ends in the time that it waits for its child.
                wall_ms, cpu_ms = min(int(wall * 1000), 0xffffffff), min(max(int(cpu * 1000), 1), 0xffffffff)
                last, patience = _os.urandom(12) + wall_ms.to_bytes(4, "little"), int((wall + 4) * 1000)
                frame = (b"F" if self.at < len(self.cases) and not task.get("tight") else b"f") + last + nonce + cpu_ms.to_bytes(4, "little") + body
            patience = min(patience, 0xffffffff)
            parts += ((25 + len(frame)).to_bytes(4, "little"), b"Q", patience.to_bytes(4, "little"), milliseconds(cpu), last, frame)
            self.asked.append((nonce, last, cpu))
        if parts:
            write_all(OUT, b"".join(parts))

    def next(self):
        """Waits for the answer and, where the case has a process of its own, for its end."""
        if len(self.asked) <= CASES_AHEAD // 2:
            self.ask()
        nonce, ended, cpu = self.asked.pop(0)
        r = self.answer(nonce, ended)
        if r.get("timeout") == "wall_time" or r.get("late"):
            look_at_clock(cpu)
        if spent[0] > cpu and "timeout" not in r:
            # Whatever it answered. Its own timer only tells where it was.
            return {"timeout": "cpu_time", "where": None, "out": r.get("out", b"")}
        return r

    def answer(self, nonce, ended):
        candidate = self.candidate
        if ended is nonce:
            return candidate.reply(nonce)
        kind, data = hear()
        if kind == b"A" and data[:16] == ended:
            with watched(len(data)):
                r = candidate.read(kind, data, ended)
            return {"died": r.get("ended"), "late": r.get("late"), "out": r.get("out", b"")}
        with watched(len(data)):
            r = candidate.read(kind, data, nonce)
        kind, data = hear()
        if kind == b"A" and data[:16] == nonce:
            # Its time was over after it had answered, in the __del__ of its answer for instance: its process has said where that was.
            with watched(len(data)):
                more = candidate.read(kind, data, nonce)
                if "timeout" not in more:
                    raise Tampered("two answers to one question")
            r = more
            kind, data = hear()
        with watched(len(data)):
            end = candidate.read(kind, data, ended)
        status = end.get("ended")
        if end.get("late") and "timeout" not in r:
            return {"timeout": "wall_time", "where": None, "out": r.get("out", b"")}
        if status:
            # it answered, and did not end as a driver does
            r["after"] = status
        return r


def died(r):
    status = r.get("died") if type(r.get("died")) is int else -1
    if r.get("late"):
        return {"reason": "timeout", "detail": "it was ended after its time"}
    if status >= 0 and status & 0x7f:
        return {"reason": "crashed", "signal": status & 0x7f, "detail": "its process was ended by signal %d" % (status & 0x7f)}
    return {"reason": "exited", "detail": "its process ended with exit code %d before it returned" % (status >> 8)}


def case_verdict(c, r, task, language, defined, row):
    """What is said of a case that was answered; what was measured and printed goes into its row."""
    row["stdout"] = text_of(r.get("out", b""))
    if type(r.get("ns")) is int and 0 <= r["ns"] < 1 << 62:
        row["duration_ms"] = round(r["ns"] / 1e6, 3)
    if "timeout" in r:
        found = {"reason": "timeout", "detail": "%s limit" % text(r["timeout"], 20).replace("_", " ")}
        if type(r.get("where")) is dict:
            found["where"] = {k: r["where"][k] for k in ("line", "text", "function") if type(r["where"].get(k)) in (int, str)}
        return found
    if "died" in r:
        return died(r)
    found = judge(c, r, task.get("loose"), language, task.get("any_exit"), defined)
    if r.get("after") and "reason" not in found:
        found["note"] = "its process did not end well after it had answered"
    return found


def function_test(task):
    language_tags.clear()
    if task.get("language") == "js":
        language_tags.update(JS_TAGS)
    try:
        cases, warnings = read_cases(task["cases"], task.get("function"))
    except BadCase as e:
        return {"bad": str(e)}
    results = []
    language = task.get("language", "python")
    candidate = Candidate(task.get("call_ms", 60000))
    task = {**task, "load_s": max(LOAD_S, float(task["case_s"]))}
    options = {"capture": True, "shell": language == "bash", "close": bool(task.get("close"))}
    if task.get("setup"):
        options["setup"] = task["setup"]
    try:
        loaded = load(candidate, task, **options)
    except (Gone, Tampered) as e:
        why = e.why if isinstance(e, Gone) else {"reason": "tampering", "detail": str(e)[:300]}
        rows = [{"name": c["name"], "function": c["function"], "passed": False, "weight": c["weight"], "reason": why.get("reason"), "detail": "while it was loaded: %s" % why.get("detail")}
                for c in cases]
        return {"warnings": warnings, "results": rows, "load_out": "", "names": [], "gone": why}
    report = {"warnings": warnings, "results": results, "load_out": text_of(loaded.get("out", b"")), "names": []}
    if "e" in loaded:
        report["load"] = load_failure(loaded)
        report["load"]["where"] = "setup" if loaded.get("where") == "setup" else "solution"
        for c in cases:
            results.append({"name": c["name"], "function": c["function"], "passed": False, "weight": c["weight"], "reason": report["load"]["reason"], "detail": "the %s does not load" % report["load"]["where"]})
        return report
    report["names"] = name_list(loaded)
    if loaded.get("threads") is True and not task.get("shared"):
        # A child would not have them: each case gets a jar of its own, and runs where the solution was loaded.
        task = {**task, "shared": True, "fresh": True}
    asked = Cases(cases, candidate, task)
    sources = task.get("sources", [])
    defined = "\n".join(sources) if language == "js" else defined_classes(sources)
    for at, c in enumerate(cases):
        begin = time.perf_counter()
        row = {"name": c["name"], "function": c["function"], "weight": c["weight"], "input": {"args": short(c["args"]), "kwargs": short(c["kwargs"])}, "trust": "data"}
        if "expected" in c:
            row["expected"] = short(c["expected"])
        elif "expected_exception" in c:
            row["expected"] = c["expected_exception"]
        elif "expected_type" in c:
            row["expected"] = c["expected_type"]
        again = bool(task.get("fresh"))
        try:
            r = asked.next()
            with watched(size_of(r)):
                found = case_verdict(c, r, task, language, defined, row)
            row.update(found)
        except Gone as g:
            row.update(reason=g.why.get("reason") or "crashed", detail=g.why.get("detail", "the jar ended"), gone=True)
            again = True
        except Tampered as t:
            row.update(reason="tampering", detail=str(t)[:300])
            again = True
        except TooLarge as t:
            row.update(reason="output", detail="its answer is too large: %s" % t)
            again = True
        except Exception as e:
            # Nothing that came from a candidate is our failure.
            row.update(reason="tampering", detail="an answer that cannot be read (%s)" % type(e).__name__)
            again = True
        row["passed"] = "reason" not in row
        row.setdefault("duration_ms", round((time.perf_counter() - begin) * 1e3, 3))
        results.append(row)
        if task.get("first") and not row["passed"]:
            break
        if again and at + 1 < len(cases):
            # a new jar for what is left
            new_jar()
            asked.begin_at(at + 1)
            try:
                loaded = load(candidate, task, **options)
                if "e" in loaded:
                    raise Tampered("the solution loads only once")
            except (Gone, Tampered) as e:
                for rest in cases[at + 1:]:
                    results.append({"name": rest["name"], "function": rest["function"], "weight": rest["weight"], "passed": False, "reason": "not_run",
                                    "detail": "the solution could not be loaded again"})
                break
    return report


def clean(x):
    """A report that any reader of JSON takes: no half of a surrogate pair."""
    if type(x) is str:
        return x.encode("utf-8", "backslashreplace").decode()
    if type(x) is dict:
        return {clean(k): clean(v) for k, v in x.items()}
    if type(x) in (list, tuple):
        return [clean(i) for i in x]
    if x is None or type(x) in (bool, int, float):
        return x if x == x and x not in (math.inf, -math.inf) and (type(x) is not int or abs(x) < 1 << 62) else str(x)
    return str(x)[:200]


def text_of(b):
    return b.decode("utf-8", "replace")[:10000] if type(b) is bytes else ""


# ---- the loop ----------------------------------------------------------------------------------------------------------------------------

DEFINED = re.compile(r"(?:def|class)\s+(\w+)")


def whole_prompt(prompt):
    """A prompt that ends in a function without a docstring is no program yet: its body is the completion."""
    last = next((text for text in reversed(prompt.splitlines()) if text.strip()), "")
    for end in ("", "\n" + last[:len(last) - len(last.lstrip())] + "    pass\n"):
        try:
            compile_once(prompt + end, "<given>")
            return prompt + end
        except (SyntaxError, ValueError):
            pass
    return prompt


def given_names(code):
    """The functions and classes that a reference defines and whose names builtins have: what the tests mean by these names is the candidate's nevertheless."""
    if not any(hasattr(builtins, name) for name in DEFINED.findall(code)):
        return []
    import ast
    try:
        return [n.name for n in ast.parse(code).body if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))]
    except (SyntaxError, ValueError, RecursionError):
        return []


def from_humaneval(task, line):
    return {**task, "kind": "program", "trusted": [whole_prompt(line["prompt"])], "test": line["test"], "entry_point": line["entry_point"], "check": "check"}


def from_mbpp(task, line):
    setup = line.get("test_setup_code") or ("\n".join(line["test_imports"]) if line.get("test_imports") else "")
    tests = list(line["test_list"]) + (list(line.get("challenge_test_list", [])) if task.get("challenge") else [])
    return {**task, "kind": "program", "test": setup + "\n" + "\n".join(tests), "names": given_names(line["code"])}


def from_evalplus(task, line):
    reference = line["prompt"] + line["canonical_solution"]
    inputs = [line["base_input"], line["plus_input"] if isinstance(line["plus_input"], list) else []]
    mbpp = line["task_id"].startswith("Mbpp")
    return {**task, "kind": "evalplus", "task_id": line["task_id"], "entry_point": line["entry_point"], "reference": reference, "inputs": inputs,
            "atol": line.get("atol", 0), "family": "mbpp" if mbpp else "humaneval", "mbpp_inputs": mbpp}


def from_quixbugs(task, line):
    cases = [{"name": "case_%d" % i, "args": args if isinstance(args, list) else [args], "expected": expected, "compare": "approx-nested"}
             for i, (args, expected) in enumerate(line["tests"])]
    return {**task, "kind": "function", "cases": json.dumps(cases), "function": line["entry_point"], "shared": True, "first": True, "loose": True}


def from_cases(task, line):
    return {**task, "kind": "function", "cases": json.dumps(line["cases"]), "function": line.get("function") or line.get("entry_point"),
            "setup": "/workspace/belljar_setup.py" if line.get("setup") else None, "shared": bool(line.get("shared"))}


def from_multipl_e(task, line):
    """For bash; what is JavaScript is the other verifier's. There too only what is printed counts."""
    function, cases = shell_cases(line["tests"])
    return {**task, "kind": "function", "language": "bash", "path": "/workspace/solution.sh", "cases": json.dumps(cases), "function": function, "shared": True, "first": True,
            "any_exit": True, "close": True}


KINDS = {"function": function_test, "program": program_test, "evalplus": evalplus_test}
DATASETS = {"humaneval": from_humaneval, "mbpp": from_mbpp, "humaneval+": from_evalplus, "mbpp+": from_evalplus, "quixbugs": from_quixbugs, "cases": from_cases,
            "multipl-e": from_multipl_e}


def grade_of(report):
    """Of a function test: whether the sample as a whole has passed, in the words of the data sets."""
    rows = report["results"]
    bad = next((r for r in rows if not r["passed"]), None)
    if not rows:
        return {**report, "passed": False, "result": "failed: there are no cases", "reason": "test_error"}
    if bad is None:
        return {**report, "passed": True, "result": "passed"}
    word = "timed out" if bad["reason"] == "timeout" else "failed: %s" % bad.get("detail", bad["reason"])
    return {**report, "passed": False, "result": word, "reason": bad["reason"], "detail": bad.get("detail", "")}


def graded(task):
    try:
        return KINDS[task["kind"]](task)
    except Gone as g:
        return {"passed": False, "gone": g.why}


def main():
    signal.signal(signal.SIGPROF, on_too_dear)
    _sys.setrecursionlimit(5000)
    _sys.set_int_max_str_digits(0)
    gc.freeze()
    null = _os.open("/dev/null", _os.O_RDWR)
    _os.dup2(null, 0)
    _os.dup2(null, 1)
    say(b"R", b"{}")
    while True:
        kind, data = hear()
        if kind != b"T":
            continue  # of a candidate that is not asked any more
        try:
            head, _, raw = data.partition(b"\n")
            task = json.loads(head)
            if "dataset" in task:
                task = DATASETS[task["dataset"]](task, json.loads(raw))
                task["line"] = raw
            elif raw:
                task["cases"] = raw.decode()
            patience[0] = False
            report = graded(task)
            if patience[0] and not patience[1]:
                # Once more, as `belljar judge` does it.
                patience[0] = False
                for key in ("call_ms", "load_ms"):
                    task[key] = min(task.get(key, 60000) * PATIENCE, 0xffffffff)
                new_jar(PATIENCE)
                report = graded({**task, "patience": PATIENCE})
                patience[1] = patience[0]
            if "dataset" in task and task["kind"] == "function" and "bad" not in report:
                report = grade_of(report)
        except BadCase as b:
            report = {"passed": False, "result": "failed: %s" % b, "reason": "test_error", "detail": str(b)}
        except Tampered as t:
            report = {"passed": False, "result": "failed: tampering", "reason": "tampering", "detail": str(t)[:300]}
        except TooLarge as t:
            report = {"passed": False, "result": "failed: its answer is too large: %s" % t, "reason": "output", "detail": "its answer is too large: %s" % t}
        except ArgsLost as t:
            report = {"passed": False, "result": "failed: %s" % t, "reason": "args_unencodable", "detail": str(t)}
        except (Exception, RecursionError) as e:
            report = {"passed": False, "internal": "%s: %s" % (type(e).__name__, str(e)[:500])}
        watched.depth = 0
        inserted.clear()
        say(b"R", json.dumps(clean(report)).encode())


main()
