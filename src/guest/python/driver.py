# ---- the candidate's side ------------------------------------------------------------------------------------------------------------------
# Loads a solution and answers calls. From the moment the solution is loaded nothing here can be trusted, and nothing here is: an answer is data,
# and whether it is right is decided elsewhere, by somebody who knows what this process never sees.


encode = _make_encoder(packs=True)


def _make(cases=None, exit_now=_os._exit, loaded=None, quick_call=None):
    """All that does not depend on who is asked what; a zygote does it before anybody's code has run, and has some of it in C (src/guest/driver.c)."""
    import _signal as signal
    import gc
    import select
    import time
    from _thread import _count as thread_count

    os, sys = _os, _sys
    fork, getpid, waitpid, kill, read, lseek, ftruncate, close = os.fork, os.getpid, os.waitpid, os.kill, os.read, os.lseek, os.ftruncate, os.close
    select_, clock, cpu_clock, setitimer, set_signal = select.select, time.perf_counter_ns, time.process_time_ns, signal.setitimer, signal.signal
    type_name = type.__dict__["__name__"].__get__
    mro_of, class_names = type.__dict__["__mro__"].__get__, type.__dict__["__dict__"].__get__
    # By identity: a metaclass has an opinion about equality.
    genuine = {id(t): n for n, t in vars(__import__("builtins")).items() if isinstance(t, type) and issubclass(t, BaseException) and t.__name__ == n}
    builtin_names = list(vars(__import__("builtins")))
    special = {id(type(x)): "builtins." + type(x).__name__ for x in (_make, len, sys, _Reader(b"", 0, None, None).end)}
    label = class_label
    source_lines, path = {}, [None]

    async def _coroutine():
        yield

    async def _plain():
        pass

    c = _plain()
    Module, Coroutine, AsyncGenerator = type(sys), type(c), type(_coroutine())
    c.close()
    namespace = {}
    kept = {}
    scalars = frozenset(map(id, (int, str, float, bool, type(None))))  # of these nothing changes in place

    inp = out = -1
    capture, shell = [-1], [False]

    def keep(x, t, parts):
        n = len(kept) + 1
        kept[n] = x
        flags = (1 if callable(x) else 0) | (2 if any("__next__" in class_names(b) for b in mro_of(t)) else 0) | (4 if any(b is type for b in mro_of(t)) else 0)
        name = type_name(x) if flags & 4 else type_name(t)
        parts.append(b"h%d,%d;%d:" % (n, flags, len(name.encode("utf-8", "replace"))) + name.encode("utf-8", "replace"))

    def handle(number, name, flags):
        return kept[number]

    def line_of(file, number):
        lines = source_lines.get(file)
        return lines[number - 1].strip()[:300] if lines and type(number) is int and 0 < number <= len(lines) else ""

    def near(e):
        """Names like the one that is missing."""
        try:
            if type(e) is NameError or type(e) is UnboundLocalError:
                tb = e.__traceback__
                while tb.tb_next:
                    tb = tb.tb_next
                have = [*tb.tb_frame.f_locals, *tb.tb_frame.f_globals, *builtin_names]
                name = e.name
            elif type(e) is AttributeError:
                have, name = dir(e.obj), e.name
            else:
                return []
            import difflib
            return [n for n in difflib.get_close_matches(str(name), [h for h in have if isinstance(h, str)], 3, 0.6) if n != name]
        except BaseException:
            return []

    def describe(e):
        t = type(e)
        info = {"type": type_name(t), "bases": [genuine[id(b)] for b in mro_of(t) if id(b) in genuine], "own": id(t) not in genuine,
                "classes": [label(b) for b in mro_of(t) if id(b) not in genuine][:20]}
        try:
            text = str(e)
            info["message"] = text[:2000] if type(text) is str else ""
        except BaseException:
            info["message"] = ""
        try:
            rows, tb = [], e.__traceback__
            while tb is not None and len(rows) < 400:
                code = tb.tb_frame.f_code
                if code.co_filename in source_lines:
                    rows.append((code.co_filename, tb.tb_lineno, code.co_name))
                tb = tb.tb_next
            if t is SyntaxError or t is IndentationError or t is TabError:
                info["line"], info["column"] = e.lineno or 0, e.offset or 0
                info["text"] = (e.text or "").rstrip("\n")[:300] or line_of(path[0], e.lineno or 0)
                info["message"] = str(e.msg)[:500]
            elif rows:
                file, info["line"], info["function"] = rows[-1]
                info["text"] = line_of(file, info["line"])
            shown = rows if len(rows) <= 6 else rows[:2] + [None] + rows[-3:]
            lines = [f"  ... {len(rows) - 5} more" if r is None else f'  File "{r[0]}", line {r[1]}, in {r[2]}\n    {line_of(r[0], r[1])}' for r in shown]
            info["traceback"] = "\n".join([*lines, f"{info['type']}: {info['message'][:500]}"])[-3000:]
            close = near(e)
            if close:
                info["near"] = close
        except BaseException:
            pass
        return info

    def run_file(file):
        with open(file, "rb") as f:
            source = f.read()
        try:
            source_lines[file] = source.decode("utf-8", "replace").split("\n")
        except Exception:
            source_lines[file] = []
        exec(compile(source, file, "exec", dont_inherit=True), namespace)

    def scratch():
        """A file without a name, and nobody can give it one. With an allow-list there are none that lie in memory."""
        try:
            return os.memfd_create("stdout")
        except OSError:
            return os.open("/tmp", os.O_TMPFILE | os.O_EXCL | os.O_RDWR, 0o600)

    def load(opts):
        path[0] = opts["path"]
        if opts.get("shell"):
            shell[0] = True
            if opts.get("close"):
                close_function()
            return {}
        module = Module(opts.get("module", "solution"))
        sys.modules[module.__name__] = module
        nonlocal namespace
        namespace = module.__dict__
        module.__file__ = path[0]
        if opts.get("capture"):
            capture[0] = scratch()
            os.dup2(capture[0], 1)
        sys.argv = [path[0]]
        folder = os.path.dirname(path[0])
        sys.path[:1] = [folder]
        for key in ("setup", "path"):
            if not opts.get(key):
                continue
            try:
                run_file(opts[key])
            except BaseException as e:
                return {"where": key, "e": describe(e), "out": taken()}
        for name, value in opts.get("names", {}).items():
            namespace[name] = value
        if loaded:
            loaded(namespace, after, raised, out, capture[0])
        return {"out": taken()}

    def names():
        found = []
        for n, v in [*namespace.items()]:
            try:
                if not n.startswith("_") and callable(v) and getattr(v, "__module__", None) == namespace.get("__name__"):
                    found.append(n)
            except BaseException:
                pass  # it does not want to be asked
        return sorted(found)[:100]

    def taken():
        """What was printed since the last look."""
        try:
            sys.stdout.flush()
        except BaseException:
            pass
        fd = capture[0]
        if fd < 0:
            return b""
        try:
            if not lseek(fd, 0, 1):
                return b""
            lseek(fd, 0, 0)
            text = read(fd, 65536)
            lseek(fd, 0, 0)
            ftruncate(fd, 0)
            return text
        except OSError:
            return b""

    class Missing(Exception):
        pass

    def find(target):
        """NAME, NAME().NAME, NAME.NAME(): what is to be called."""
        x, first = None, True
        for part in target.split("."):
            call = part.endswith("()")
            name = part[:-2] if call else part
            if first:
                if name not in namespace:
                    raise Missing(name)
                x = namespace[name]
            else:
                if not hasattr(x, name):
                    raise Missing(target)
                x = getattr(x, name)
            if call:
                x = x()
            first = False
        return x

    def settle(x):
        """What a coroutine comes to."""
        if type(x) is Coroutine:
            import asyncio
            return asyncio.run(x)
        if type(x) is AsyncGenerator:
            import asyncio

            async def collect():
                found = []
                async for item in x:
                    found.append(item)
                    if len(found) > ITEMS:
                        raise Unencodable("an iterator with more than %d items" % ITEMS)
                return found

            return asyncio.run(collect())
        return x

    def word(x):
        """An argument as a shell has it."""
        if type(x) is str:
            return x
        if type(x) is bool:
            return "true" if x else "false"
        if type(x) is int or type(x) is float:
            return repr(x)
        if x is None:
            return ""
        raise Unencodable("a shell takes words, not %s" % type_name(type(x)))

    def close_function():
        """A function that was cut off before its last brace, as completions of shell functions are."""
        if os.spawnv(os.P_WAIT, "/bin/bash", ["/bin/bash", "-n", path[0]]) == 0:
            return
        with open(path[0], "ab") as f:
            f.write(b"\n}\n")

    def call_shell(r):
        """A function of a shell script: what it prints and its exit status. Each call is a process of its own."""
        begin = clock()
        try:
            words = [word(a) for a in r.get("args", ())]
        except Unencodable as e:
            return {"e": {"type": "TypeError", "bases": ["TypeError"], "own": False, "message": str(e)}}
        text = scratch()
        script = 'source "$0" >/dev/null; declare -F -- "$1" >/dev/null || exit 127; "$@"'
        pid = os.posix_spawn("/bin/bash", ["/bin/bash", "-c", script, path[0], r["target"], *words], os.environ,
                             file_actions=[(os.POSIX_SPAWN_DUP2, text, 1)], setsigdef=[signal.SIGPIPE], setpgroup=0)
        pidfd = os.pidfd_open(pid)
        late = not select_([pidfd], [], [], r["wall_s"])[0]
        try:
            os.killpg(pid, 9)
        except OSError:
            pass
        status = waitpid(pid, 0)[1]
        os.close(pidfd)
        lseek(text, 0, 0)
        printed = read(text, 1 << 20)
        os.close(text)
        if late:
            return {"timeout": "wall_time", "where": None}
        if status & 0x7f:
            return {"died": status, "late": False}
        if status >> 8 == 127 and not printed:
            return {"missing": r["target"], "names": []}
        return {"v": encode({"stdout": printed.decode("utf-8", "surrogateescape"), "exit": status >> 8}), "ns": clock() - begin}

    def call(r, keeper):
        """One call: the reply as a dictionary."""
        if shell[0]:
            return call_shell(r)
        reply = {}
        args, kwargs = r.get("args", ()), r.get("kwargs", {})
        try:
            f = kept[r["ref"]] if "ref" in r else find(r["target"])
        except Missing as e:
            return {"missing": str(e), "names": names()}
        except BaseException as e:
            return {"e": describe(e)}
        watch = r.get("inplace", True) and (kwargs or not scalars.issuperset(map(id, map(type, args))))
        before = encode((args, kwargs), keep) if watch else None
        begin, cpu, self = clock(), cpu_clock(), getpid()
        value = error = None
        try:
            value = f(*args, **kwargs)
        except BaseException as e:
            error = e
        if getpid() != self:
            exit_now(0)  # the solution has forked, and this one has come back too
        if error is not None:
            return with_changes({"e": describe(error)}, args, kwargs, before)
        return outcome(value, keeper, begin, cpu, args, kwargs, before)

    def outcome(value, keeper, begin, cpu, args, kwargs, before):
        """The reply with what a call has returned."""
        reply = {}
        try:
            value = settle(value)
            if keeper is None:
                # only cases are asked how long they took
                reply["ns"], reply["cpu"] = clock() - begin, cpu_clock() - cpu
            reply["v"] = encode(value, keeper)
        except (Unencodable, RecursionError, MemoryError) as e:
            reply["u"] = str(e)[:300] or type_name(type(e))
            reply["type"] = type_name(type(value))
            reply["classes"] = [special.get(id(b)) or label(b) for b in mro_of(type(value))][:20]
        except BaseException as e:
            reply["e"] = describe(e)
        return with_changes(reply, args, kwargs, before)

    def with_changes(reply, args, kwargs, before):
        """And with its arguments, where they are not what they were."""
        if before is not None:
            try:
                now = encode((args, kwargs), keep)
                if now != before:
                    reply["changed"] = now
            except BaseException:
                reply["changed"] = None
        return reply

    # What a call in C (src/guest/answer.h) came to, where that is no plain value.

    def after(nonce, value, begin, cpu, args, kwargs, before, materialise):
        tell(nonce, outcome(value, None if materialise else keep, begin, cpu, args, kwargs, before))

    def raised(nonce, e, args, kwargs, before):
        tell(nonce, with_changes({"e": describe(e)}, args, kwargs, before))

    def tell(nonce, reply):
        if capture[0] >= 0:
            reply["out"] = reply.get("out") or taken()
        answer = encode(reply)
        if len(answer) > ANSWER_MAX:
            answer = encode({"large": len(answer), "out": reply.get("out", b"")})
        write_frame(out, nonce + answer)

    def serve(op, nonce, body):
        r = decode(body, handle)
        if op == b"C":
            reply = call(r, None if r.get("materialise") else keep)
        elif op == b"B":
            asked[0] = nonce
            set_signal(signal.SIGPROF, on_time("cpu_time"))
            reply = {"all": []}
            size = 0
            for args, cpu_s in zip(r["many"], r["cpu_s"]):
                setitimer(signal.ITIMER_PROF, cpu_s)
                reply["all"].append(call({"target": r["target"], "args": args, "inplace": False}, None))
                size += len(reply["all"][-1].get("v", b""))
                if size > 4 << 20:
                    break  # the rest is asked for again
            setitimer(signal.ITIMER_PROF, 0)
        elif op == b"L":
            reply = load(r)
            reply["names"] = names()
            reply["threads"] = thread_count() > 0
            gc.freeze()
        elif op == b"G":
            if r["name"] not in namespace:
                reply = {"missing": r["name"]}
            elif isinstance(namespace[r["name"]], Module):
                reply = {"module": namespace[r["name"]].__name__}
            else:
                reply = {"v": encode(namespace[r["name"]], keep)}
        else:
            x = kept[r["ref"]]
            try:
                if op == b"A":
                    reply = {"v": encode(getattr(x, r["name"]), keep)}
                elif op == b"S":
                    setattr(x, r["name"], r["value"])
                    reply = {"v": encode(None)}
                elif op == b"N":
                    items, over = [], False
                    for _ in range(r["count"]):
                        try:
                            items.append(next(x))
                        except StopIteration:
                            over = True
                            break
                    reply = {"v": encode(items, keep), "over": over}
                else:
                    reply = {"v": encode({b"I": iter, b"M": len, b"T": str}[op](x), keep)}
            except BaseException as e:
                reply = {"e": describe(e)}
        tell(nonce, reply)

    asked = [b""]  # the nonce of what is being answered

    def on_time(limit_kind):
        """A time limit of this case is over: say where we are. If nobody lets us, the parent's patience ends soon after."""
        def handler(number, frame):
            where = None
            while frame is not None:
                if frame.f_code.co_filename in source_lines:
                    line = frame.f_lineno or frame.f_code.co_firstlineno  # between two lines there is none
                    where = {"line": line, "text": line_of(frame.f_code.co_filename, line), "function": frame.f_code.co_name}
                    break
                frame = frame.f_back
            write_frame(out, asked[0] + encode({"timeout": limit_kind, "where": where, "out": taken()}))
            exit_now(0)
        return handler

    def in_child(rest, wall_s):
        # Its question alone is for us: nobody who lives longer has read it.
        if rest is None:
            exit_now(1)
        asked[0] = rest[:16]
        setitimer(signal.ITIMER_PROF, int.from_bytes(rest[16:20], "little") / 1000)
        setitimer(signal.ITIMER_REAL, wall_s)
        try:
            serve(b"C", rest[:16], rest[20:])
        except BaseException as e:
            write_frame(out, rest[:16] + encode({"e": describe(e), "out": taken()}))
        exit_now(0)

    def in_parent(pid, nonce, wall_s):
        late = False
        try:
            pidfd = os.pidfd_open(pid)
            late = not select_([pidfd], [], [], wall_s + 1.0)[0]
            close(pidfd)
            if late:
                kill(pid, 9)
            status = waitpid(pid, 0)[1]
        except (ProcessLookupError, ChildProcessError):
            status = -1  # it is gone, and the solution does not want to hear of its children
        while status and select_([inp], [], [], 0)[0]:
            # It ended before it had read its question. The next one comes only after our word.
            if not read(inp, 65536):
                exit_now(0)
        # What it said itself has come before this.
        write_frame(out, nonce + encode({"ended": status, "late": late, "out": taken()}))

    def run():
        nonlocal inp, out
        inp, out = os.dup(0), os.dup(1)
        null = os.open("/dev/null", os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        close(null)
        while True:
            # The length, what is to be done, and the answer's first 16 bytes. No frame has less.
            head = read_exact(inp, 21)
            if head is not None and (head[4] == 70 or head[4] == 102):
                if not asked[0]:
                    # once, for all children
                    asked[0] = head[5:]
                    set_signal(signal.SIGPROF, on_time("cpu_time"))
                    set_signal(signal.SIGALRM, on_time("wall_time"))
                if cases:
                    head = cases(inp, out, capture[0], head, asked)
            if head is None:
                exit_now(0)
            length, op, nonce = int.from_bytes(head[:4], "little") - 17, head[4:5], head[5:21]
            if op == b"E":  # the end of a rehearsal
                return
            wall_s = int.from_bytes(nonce[12:], "little") / 1000
            if op == b"K":  # we are its child, and have its question
                in_child(head[21:], wall_s)
            if op == b"F" or op == b"f":  # one case; there are more, or not
                pid = fork()
                if pid == 0:
                    in_child(read_exact(inp, length), wall_s)
                in_parent(pid, nonce, wall_s)
            else:
                rest = read_exact(inp, length)
                if rest is None:
                    exit_now(0)
                if not (op == b"C" and quick_call and quick_call(nonce, rest)):
                    serve(op, nonce, rest)

    return run


_serve = _make(*globals().get("_zygote", ()))

if __name__ == "__main__":  # a zygote has the rest already, and calls this itself
    _serve()
