# SPDX-License-Identifier: Apache-2.0
"""The controls: graders as they are commonly written, each of which trusts the process of the code that it grades.

Runs inside a jar of its own for each trick (test_cheats.py), since tricks kill parents and write to whatever is open:
`naive.py GRADER` with job.json and the solution beside it. Exit status: FOOLED the grader says "passed", 0 it says "failed", else it broke.

Processes: P, this one, is the part that a service would call the host's side: it never runs the solution and only believes what it is told. D is
the driver that P starts; unless said otherwise it loads the solution itself. W is a worker of D's.
"""
import atexit
import collections
import json
import math
import mmap
import os
import pickle
import random
import re
import select
import signal
import subprocess
import sys
import time

FOOLED = 42
LIMIT_S = 4.0  # for the whole of a solution; what was reported until then counts
CASE_S = 0.5
KEPT = 64 << 10  # of the output of a driver
PYTHON = "/usr/bin/python3"


# ---- what they share -----------------------------------------------------------------------------

def value(v):
    """The tagged values that the tasks here use."""
    if isinstance(v, dict) and len(v) == 1:
        tag, x = next(iter(v.items()))
        if tag == "$set":
            return set(x)
        if tag == "$float":
            return float(x)
        if tag == "$int":
            return int(x)
    return [value(x) for x in v] if isinstance(v, list) else v


def same(got, expected, compare):
    if compare == "float":
        return not abs(got - expected) > 1e-6
    if compare == "unordered":
        return collections.Counter(got) == collections.Counter(expected)
    return got == expected


def load(job):
    """The solution's function, from a module made in this process."""
    ns = {"__name__": "solution"}
    exec(compile(job["solution"], "solution.py", "exec"), ns)
    return ns[job["func"]]


def listed(got):
    return list(got) if hasattr(got, "__next__") else got


class TimeLimit(Exception):
    pass


def alarm(*_):
    raise TimeLimit


def one(func, case):
    """One case in this process: True when it holds."""
    expected, wanted = value(case.get("expected")), case.get("expected_exception")
    signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, CASE_S)
    try:
        got = listed(func(*value(case["args"])))
    except Exception as e:
        return type(e).__name__ == wanted
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if wanted:
        return False
    return bool(same(got, expected, case.get("compare")))


def fork(body, keep=()):
    """A driver: its streams go nowhere, of our descriptors it has only `keep`; it ends like a program, atexit included."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        null = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            if fd not in keep:
                os.dup2(null, fd)
        os.close(null)
        for fd in range(3, 64):
            if fd not in keep:
                try:
                    os.close(fd)
                except OSError:
                    pass
        code = body() or 0
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
    except BaseException:
        try:
            sys.excepthook(*sys.exc_info())
        except BaseException:
            pass
    atexit._run_exitfuncs()
    os._exit(code)


def ended(pid, limit=LIMIT_S):
    """Its exit status, or None: it was killed, or took too long and is killed now."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def hear(fd, limit=LIMIT_S, most=1 << 20):
    """What is written to a pipe until everybody closed it, or the time is over."""
    text, end = b"", time.monotonic() + limit
    while time.monotonic() < end and len(text) < most:
        if select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
            more = os.read(fd, 65536)
            if not more:
                break
            text += more
    return text


def heard(body, **kw):
    """Starts a driver with a pipe to us: (what it said, its exit status)."""
    r, w = os.pipe()
    pid = fork(lambda: body(w), keep=(w,))
    os.close(w)
    return hear(r, **kw), ended(pid, 0.3)


def python(*argv, limit=LIMIT_S, **kw):
    """A python3 of its own: (its standard output, exit status or None)."""
    p = subprocess.Popen([PYTHON, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **kw)
    text = hear(p.stdout.fileno(), limit)
    try:
        return text, p.wait(1)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
        return text, None


def put(name, text):
    with open(name, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(text)


# ---- the graders ---------------------------------------------------------------------------------

GUARD = """
def guard():
    import builtins, os, shutil, subprocess, sys
    builtins.exit = builtins.quit = builtins.help = None
    for name in "kill system putenv remove removedirs rmdir setuid fork forkpty killpg rename truncate unlink chmod chown chdir".split():
        setattr(os, name, None)
    shutil.rmtree = shutil.move = shutil.chown = subprocess.Popen = None
    for name in "ipdb joblib resource psutil tkinter".split():
        sys.modules[name] = None
guard()
"""


def exit_code(job):
    """The solution and check(candidate) as one program, what is dangerous set to None; exit status 0 passes."""
    put("prog.py", GUARD + job["solution"] + "\n" + job["check"] + f"\ncheck({job['func']})\n")
    return python("prog.py", limit=10)[1] == 0


def pipe(job):
    """D compares with == and sends a list of results as JSON through a pipe; the last line that parses counts."""
    def driver(w):
        func = load(job)
        results = []
        for case in job["cases"]:
            expected = value(case.get("expected"))  # noqa: F841: at hand, as in the real ones
            results.append(one(func, case))
        os.write(w, json.dumps({"results": results}).encode() + b"\n")

    for line in reversed(heard(driver)[0].splitlines()):
        try:
            return bool(json.loads(line)["results"]) and all(json.loads(line)["results"])
        except (ValueError, KeyError, TypeError):
            continue
    return False


def shm(job):
    """D marks each case that held in shared memory."""
    marks = mmap.mmap(-1, len(job["cases"]))

    def driver():
        func = load(job)
        for i, case in enumerate(job["cases"]):
            if one(func, case):
                marks[i] = 1

    ended(fork(driver))
    return all(marks[:])


DRIVER = """
import json as _json
def _run(cases, func):
    good = 0
    for case in cases:
        expected = case.get("expected")
        if isinstance(expected, dict) and "$set" in expected:
            expected = set(expected["$set"])
        try:
            got = func(*case["args"])
            if hasattr(got, "__next__"):
                got = list(got)
            ok = "expected_exception" not in case and (
                not abs(got - expected) > 1e-6 if case.get("compare") == "float" else
                sorted(got) == sorted(expected) if case.get("compare") == "unordered" else got == expected)
        except Exception as e:
            ok = type(e).__name__ == case.get("expected_exception")
        print("case", case["name"], "PASS" if ok else "FAIL")
        good += bool(ok)
    print("RESULT " + _json.dumps({"passed": good, "total": len(cases)}))
"""


def stdout(job):
    """The solution and a driver as one program that prints its result; the last RESULT line counts, the exit status does not."""
    put("prog.py", f"{job['solution']}\n{DRIVER}\nCASES = {job['cases']!r}\n_run(CASES, {job['func']})\n")
    found = re.findall(rb"^RESULT (\{.*\})\s*$", python("prog.py")[0], re.M)
    try:
        last = json.loads(found[-1])
        return last["passed"] == last["total"] > 0
    except (IndexError, ValueError, KeyError, TypeError):
        return False


def lenient(job):
    """D reports what failed, in words; nothing reported is nothing failed. Of its output the first 64 KiB are kept."""
    def driver(w):
        os.dup2(w, 1)
        os.dup2(w, 2)
        sys.stdout = sys.stderr = os.fdopen(w, "w", encoding="utf-8", buffering=1)
        func = load(job)
        for case in job["cases"]:
            expected, got = value(case.get("expected")), None
            try:
                got = listed(func(*value(case["args"])))
                ok = "expected_exception" not in case and same(got, expected, case.get("compare"))
            except Exception as e:
                ok, got = type(e).__name__ == case.get("expected_exception"), e
            if not ok:
                print(f"FAIL {case['name']}: got {got} ({got!r}), expected {expected!r}")

    return not re.search(rb"^FAIL ", heard(driver, most=KEPT)[0][:KEPT], re.M)


def worker(job):
    """Each case in a worker that D forks, which answers with JSON; D compares and reports what failed. P counts as above."""
    def driver(w):
        os.setsid()
        for case in job["cases"]:
            r, answer = os.pipe()

            def work(answer=answer, case=case):
                func = load(job)
                try:
                    got = {"value": listed(func(*value(case["args"])))}
                except Exception as e:
                    got = {"exception": type(e).__name__}
                os.write(answer, json.dumps(got, default=sorted).encode())

            pid = fork(work, keep=(answer, w))
            os.close(answer)
            text = hear(r, CASE_S)
            ended(pid, 0.1)
            os.close(r)
            expected = case.get("expected")
            if isinstance(expected, dict) and "$set" in expected:
                expected = sorted(expected["$set"])
            try:
                got = json.loads(text)
                ok = got.get("exception") == case["expected_exception"] if "expected_exception" in case else (
                    same(got["value"], value(expected), case.get("compare")))
            except (ValueError, KeyError, TypeError, AttributeError):
                ok = False
            if not ok:
                os.write(w, f"FAIL {case['name']}\n".encode())

    return not re.search(rb"^FAIL ", heard(driver, most=KEPT)[0][:KEPT], re.M)


def pickled(job):
    """W answers with a pickle, so that comparing happens in D, a process without the solution; D's exit status 0 passes."""
    def driver():
        r, answer = os.pipe()

        def work():
            func = load(job)
            for case in job["cases"]:
                try:
                    got = listed(func(*value(case["args"])))
                except Exception as e:
                    got = type(e).__name__
                text = pickle.dumps(got)
                os.write(answer, len(text).to_bytes(8, "little") + text)

        pid = fork(work, keep=(answer,))
        os.close(answer)
        text, good = hear(r), 0
        ended(pid, 0.1)
        for case in job["cases"]:
            size = int.from_bytes(text[:8], "little")
            got, text = pickle.loads(text[8:8 + size]), text[8 + size:]
            good += bool(got == case["expected_exception"] if "expected_exception" in case else
                         same(got, value(case["expected"]), case.get("compare")))
        return 0 if good == len(job["cases"]) else 1

    return ended(fork(driver), 8) == 0


def ref_prime(n):
    return n > 1 and all(n % i for i in range(2, math.isqrt(n) + 1))


def ref_mean(xs):
    import numpy
    return float(numpy.mean(xs)) if xs else 0.0


def ref_fib(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def ref_parse(s):
    if not s.isdigit() or int(s) == 0:
        raise ValueError(s)
    return int(s)


def words():
    return " ".join(random.choice(["one", "two", "three", "four"]) for _ in range(random.randint(2, 6)))


def numbers():
    return [random.randint(2, 90) for _ in range(random.randint(3, 9))]


ORACLE = {  # task: (reference, arguments at random)
    "add": (lambda a, b: a + b, lambda: [random.randint(1, 999), random.randint(1, 999)]),
    "sort_list": (sorted, lambda: [numbers() + [1, 99, 0]]),
    "is_prime": (ref_prime, lambda: [random.randint(2, 200)]),
    "fib": (ref_fib, lambda: [random.randint(5, 40)]),
    "reverse_words": (lambda s: " ".join(reversed(s.split())), lambda: [words()]),
    "mean": (ref_mean, lambda: [numbers()]),
    "count_letters": (lambda s: dict(collections.Counter(s.replace(" ", ""))), lambda: [words()]),
    "parse_positive": (ref_parse, lambda: [random.choice(["7", "31", "0", "-4", "x1"])]),
    "uniques": (lambda xs: list(dict.fromkeys(xs)), lambda: [numbers()]),
    "negate": (lambda x: -x, lambda: [random.choice([0.0, -0.0])]),
    "evens": (lambda n: list(range(0, n, 2)), lambda: [random.randint(5, 30)]),
}


def oracle(job):
    """D makes arguments at random, asks the solution and then a reference in the same process, and looks at the clock; exit status 0 passes."""
    def driver():
        func = load(job)
        import numpy
        reference, arguments = ORACLE[job["task"]]
        random.seed(os.urandom(8))
        for _ in range(25):
            args = arguments()
            began = time.perf_counter()
            try:
                got = listed(func(*args))
            except Exception as e:
                got = type(e).__name__
            slow = time.perf_counter() - began > CASE_S
            try:
                expected = reference(*args)
            except Exception as e:
                expected = type(e).__name__
            if isinstance(expected, float):
                ok = numpy.allclose(got, expected)
            elif job["task"] == "uniques":
                ok = sorted(got) == sorted(expected)
            else:
                ok = got == expected
            if slow or not ok:
                sys.exit(1)

    return ended(fork(driver), 8) == 0


def careful(job):
    """Types are looked at, __eq__ is asked from both sides, and a result counts only with a secret that P made up for this run."""
    nonce = os.urandom(16).hex()

    def driver(w):
        secret = nonce
        func = load(job)

        def holds(case):
            expected = value(case.get("expected"))
            try:
                got = func(*value(case["args"]))
            except Exception as e:
                if "expected_exception" not in case:
                    raise
                return any(c.__name__ == case["expected_exception"] for c in type(e).__mro__)
            if "expected_exception" in case or not isinstance(got, type(expected)):
                return False
            if isinstance(expected, float):
                return not (got < expected - 1e-6 or got > expected + 1e-6)
            if case.get("compare") == "unordered":
                return set(got) == set(expected) and len(got) == len(expected)
            return expected == got and got == expected and not got != expected

        results = list(map(holds, job["cases"]))
        os.write(w, f"{secret} {json.dumps(all(results))}\n".encode())

    return f"{nonce} true\n".encode() in heard(driver)[0]


TEST_FILE = """
import pytest
from solution import {func}
CASES = {cases!r}
def value(v):
    return set(v["$set"]) if isinstance(v, dict) and "$set" in v else v
@pytest.mark.parametrize("case", CASES)
def test_case(case):
    if "expected_exception" in case:
        with pytest.raises(getattr(__import__("builtins"), case["expected_exception"])):
            {func}(*case["args"])
        return
    got = {func}(*case["args"])
    if hasattr(got, "__next__"):
        got = list(got)
    if case.get("compare") == "float":
        assert got == pytest.approx(case["expected"])
    elif case.get("compare") == "unordered":
        assert sorted(got) == sorted(case["expected"])
    else:
        assert got == value(case["expected"])
"""


def pytest_exit(job):
    """The exit status of pytest, with the solution beside the tests."""
    import pytest
    put("solution.py", job["solution"])
    put("test_solution.py", TEST_FILE.format(func=job["func"], cases=job["cases"]))

    def driver():
        sys.path.insert(0, os.getcwd())
        return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "test_solution.py"]))

    return ended(fork(driver), 12) == 0


GRADER_TESTS = """
def value(v):
    return set(v["$set"]) if isinstance(v, dict) and "$set" in v else v
def holds(func, case):
    try:
        got = func(*case["args"])
        if hasattr(got, "__next__"):
            got = list(got)
    except Exception as e:
        return type(e).__name__ == case.get("expected_exception")
    if "expected_exception" in case:
        return False
    if case.get("compare") == "float":
        return abs(got - case["expected"]) <= 1e-6
    if case.get("compare") == "unordered":
        return sorted(got) == sorted(case["expected"])
    return got == value(case["expected"])
"""
RUN_TESTS = """
import json, os
cases = json.load(open("cases.json"))
import solution
from grader_tests import holds
good = [holds(getattr(solution, os.environ["FUNC"]), c) for c in cases]
json.dump({"passed": all(good)}, open("result.json", "w"))
"""


def stages(job):
    """First the solution is imported to see that it loads, then a second python3 runs the tests in the same folder and writes result.json."""
    os.mkdir("stage")
    os.chdir("stage")
    env = {"PYTHONPATH": os.getcwd(), "FUNC": job["func"], "CASES": json.dumps(job["cases"]), "PATH": "/usr/bin:/bin", "HOME": os.getcwd()}
    for name, text in (("solution.py", job["solution"]), ("grader_tests.py", GRADER_TESTS), ("run_tests.py", RUN_TESTS),
                       ("cases.json", json.dumps(job["cases"]))):
        put(name, text)
    if python("-c", "import solution", env={**env, "CASES": ""})[1] != 0:
        return False
    python("run_tests.py", "--tests", json.dumps(job["cases"]), env=env)
    try:
        with open("result.json") as f:
            return json.load(f)["passed"] is True
    except (OSError, ValueError, KeyError, TypeError):
        return False


def pid1(job):
    """D is pid 1, as in a container, ends with 0 when asked to stop, and starts W; its exit status 0 passes. Needs a namespace of its own."""
    if os.getpid() != 1:
        raise SystemExit("not pid 1")
    signal.signal(signal.SIGTERM, lambda *_: os._exit(FOOLED))  # 0 in the real one: here the exit status is our own word
    r, answer = os.pipe()

    def work():
        func = load(job)
        os.write(answer, json.dumps([one(func, c) for c in job["cases"]]).encode())

    pid = fork(work, keep=(answer,))
    os.close(answer)
    text = hear(r)
    ended(pid, 0.3)
    return bool(text) and all(json.loads(text))


NODE = """
const assert = require("assert"), fs = require("fs"), vm = require("vm");
const job = JSON.parse(fs.readFileSync("job.json"));
vm.runInThisContext(fs.readFileSync("solution.js", "utf8"), "solution.js");
const func = eval(job.func);
const results = job.cases.map(c => { try { assert.deepEqual(func(...c.args), c.expected); return true } catch (e) { return false } });
console.log("RESULT " + JSON.stringify({ passed: results.filter(Boolean).length, total: results.length }));
process.exitCode = results.every(Boolean) ? 0 : 1;
"""


def node(job, by_status=True):
    """JavaScript: assert.deepEqual in the process of the solution; the exit status, or the RESULT line, counts."""
    put("solution.js", job["solution"])
    put("driver.js", NODE)
    p = subprocess.Popen(["/usr/bin/node", "driver.js"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = hear(p.stdout.fileno())
    try:
        status = p.wait(0.5)
    except subprocess.TimeoutExpired:
        p.kill()
        status = p.wait()
    if by_status:
        return status == 0
    found = re.findall(rb"^RESULT (\{.*\})\s*$", text, re.M)
    last = json.loads(found[-1]) if found else {}
    return last.get("passed") == last.get("total") is not None


def node_stdout(job):
    return node(job, False)


BASH = """
. ./solution.sh
bad=0
while IFS=$'\\t' read -r a b expected; do
	got=$({func} "$a" "$b")
	[ "$got" = "$expected" ] || bad=1
done < cases.tsv
exit $bad
"""


def bash(job):
    """bash: the solution is sourced, the function's output compared with [; exit status 0 passes."""
    put("solution.sh", job["solution"])
    put("driver.sh", BASH.replace("{func}", job["func"]))
    put("cases.tsv", "".join("\t".join([*map(str, c["args"]), str(c["expected"])]) + "\n" for c in job["cases"]))
    p = subprocess.Popen(["/bin/bash", "driver.sh"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return p.wait(LIMIT_S) == 0
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
        return False


GRADERS = {  # name: (what it runs, the function)
    "exit": ("python", exit_code), "pipe": ("python", pipe), "shm": ("python", shm), "stdout": ("python", stdout),
    "lenient": ("python", lenient), "worker": ("python", worker), "pickle": ("python", pickled), "oracle": ("python", oracle),
    "careful": ("python", careful), "pytest": ("python", pytest_exit), "stages": ("python", stages), "pid1": ("python", pid1),
    "node": ("javascript", node), "node-stdout": ("javascript", node_stdout), "bash": ("bash", bash),
}


def main(grader, job):
    with open(job, encoding="utf-8") as f:
        text = f.read()
    if GRADERS[grader][0] != "javascript":
        os.unlink(job)
    return FOOLED if GRADERS[grader][1](json.loads(text)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "job.json"))
