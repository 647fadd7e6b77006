# SPDX-License-Identifier: Apache-2.0
"""Time in function tests and data sets: the kernel's count of the whole jar decides (docs/grading.md). Limits are far below what the cases burn, so that no test depends on how
fast the machine is."""
import json
import tempfile
from pathlib import Path

import pytest

import harness

BURN = """
import time
def burn(s):
    e = time.process_time() + s
    while time.process_time() < e: pass
"""
LIMIT, WORK = 0.5, 3

# Each burns WORK seconds of CPU time in a case whose limit is LIMIT, and returns what is expected.
TRICKS = {
    "timer off": "import signal\ndef f(x):\n    signal.setitimer(signal.ITIMER_PROF, 0)\n    burn(W)\n    return x\n",
    "both timers off": "import signal\ndef f(x):\n    signal.setitimer(signal.ITIMER_PROF, 0); signal.setitimer(signal.ITIMER_REAL, 0)\n    burn(W)\n    return x\n",
    "signal ignored": "import signal\nsignal.signal(signal.SIGPROF, signal.SIG_IGN)\ndef f(x):\n    signal.signal(signal.SIGPROF, signal.SIG_IGN)\n    burn(W)\n    return x\n",
    "handler that goes on": "import signal\ndef f(x):\n    signal.signal(signal.SIGPROF, lambda *_: None)\n    burn(W)\n    return x\n",
    "signals blocked": "import signal\ndef f(x):\n    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n    burn(W)\n    return x\n",
    "timer far away": "import signal\ndef f(x):\n    signal.setitimer(signal.ITIMER_PROF, 9999)\n    burn(W)\n    return x\n",
    "exec": "import os, sys\ndef f(x):\n    import subprocess\n    return int(subprocess.run([sys.executable, '-c', B + 'burn(%d); print(%d)' % (W, x)], stdout=-1).stdout)\n",
    "child": "import os\ndef f(x):\n    r, w = os.pipe()\n    if os.fork() == 0:\n        burn(W); os.write(w, b'1'); os._exit(0)\n    return x * int(os.read(r, 1))\n",
    "grandchild of nobody": "import os\ndef f(x):\n    r, w = os.pipe()\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            burn(W); os.write(w, b'1')\n        os._exit(0)\n    os.wait()\n    return x * int(os.read(r, 1))\n",
    "children that nobody waits for": "import os, signal\ndef f(x):\n    signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n    for i in range(10):\n        r, w = os.pipe()\n        if os.fork() == 0:\n            burn(W / 10); os.write(w, b'1'); os._exit(0)\n        os.read(r, 1)\n    return x\n",
    "many at once": "import os\ndef f(x):\n    r, w = os.pipe()\n    for i in range(6):\n        if os.fork() == 0:\n            burn(W / 6); os.write(w, b'1'); os._exit(0)\n    for i in range(6): os.read(r, 1)\n    return x\n",
    "threads": "import threading, signal\ndef f(x):\n    signal.setitimer(signal.ITIMER_PROF, 0)\n    t = [threading.Thread(target=burn, args=(W,)) for _ in range(3)]\n    [i.start() for i in t]; [i.join() for i in t]\n    return x\n",
    "a pool of processes": "import multiprocessing\ndef one(i):\n    burn(W / 4); return i\ndef f(x):\n    with multiprocessing.get_context('fork').Pool(2) as p: return x + sum(p.map(one, range(4))) - 6\n",
    "a helper made at load": "import os\na, b = os.pipe(), os.pipe()\nif os.fork() == 0:\n    while True:\n        d = os.read(a[0], 1)\n        if not d: os._exit(0)\n        burn(W); os.write(b[1], d)\ndef f(x):\n    os.write(a[1], b'1'); return int(os.read(b[0], 1)) * x\n",
    "the answer first": "import os\ndef f(x):\n    if os.fork() == 0:\n        return x\n    burn(W); return x\n",
    "stopped in between": "import os, signal\ndef f(x):\n    me = os.getpid()\n    if os.fork() == 0:\n        burn(W); os.kill(me, signal.SIGCONT); os._exit(0)\n    os.kill(me, signal.SIGSTOP)\n    return x\n",
    "clocks that lie": "import time, signal\ndef f(x):\n    burn(W)\n    time.process_time = time.process_time_ns = time.perf_counter = lambda *_: 0\n    return x\n",
    "timer off by a thread": "import threading, signal\ndef f(x):\n    signal.setitimer(signal.ITIMER_PROF, 0)\n    signal.setitimer(signal.ITIMER_VIRTUAL, 0)\n    t = threading.Thread(target=burn, args=(W,)); t.start(); t.join()\n    return x\n",
    "a limit of its own": "import resource, signal\ndef f(x):\n    signal.setitimer(signal.ITIMER_PROF, 0)\n    try: resource.setrlimit(resource.RLIMIT_CPU, (100, 100))\n    except (ValueError, OSError): pass\n    burn(W)\n    return x\n",
    "another priority": "import os, signal\ndef f(x):\n    signal.setitimer(signal.ITIMER_PROF, 0)\n    os.nice(19)\n    burn(W)\n    return x\n",
    "in the value": "import signal\nclass L(list):\n    def __iter__(self):\n        signal.setitimer(signal.ITIMER_PROF, 0); burn(W); return list.__iter__(self)\ndef g(x):\n    signal.setitimer(signal.ITIMER_PROF, 0); burn(W); yield x\ndef f(x):\n    return next(iter(list(g(x))))\n",
    "when it ends": "import signal, atexit, os\ndef f(x):\n    signal.setitimer(signal.ITIMER_PROF, 0)\n    try: return x\n    finally: burn(W)\n",
}


@pytest.fixture
def tmp_path():
    """A folder that whoever runs belljar can read and write."""
    path = Path(tempfile.mkdtemp(dir=harness.BASE))
    path.chmod(0o777)
    return path


def run(tmp_path, code, cases, *opts, ext="py"):
    solution, file = tmp_path / f"solution.{ext}", tmp_path / "cases.json"
    solution.write_text(code)
    file.write_text(json.dumps(cases))
    r = harness.run("test", str(solution), "--func", "f", "--cases", str(file), "--json", *opts)
    assert r.rc in (0, 1), (r.rc, r.out[-2000:], r.err)
    return json.loads(r.out)


def reasons(result):
    return [r["reason"] for r in result["test_results"]]


def source(trick):
    return f"W = {WORK}\nB = {BURN!r}\n{BURN}{trick}"


@pytest.mark.parametrize("name", TRICKS)
def test_the_kernels_count_decides(tmp_path, name):
    r = run(tmp_path, source(TRICKS[name]), [{"args": [1], "expected": 1, "timeout_s": LIMIT}])
    assert reasons(r) == ["timeout"], r["test_results"]


@pytest.mark.parametrize("name", ["timer off", "child", "a helper made at load", "children that nobody waits for"])
def test_also_in_one_process(tmp_path, name):
    assert reasons(run(tmp_path, source(TRICKS[name]), [{"args": [1], "expected": 1, "timeout_s": LIMIT}], "--shared")) == ["timeout"]


def test_an_overrun_is_ended(tmp_path):
    """Not only judged afterwards: it would burn for ever, and what it used is about its limit."""
    r = run(tmp_path, source("import signal\ndef f(x):\n    signal.setitimer(signal.ITIMER_PROF, 0)\n    burn(1000)\n"), [{"args": [1], "expected": 1, "timeout_s": LIMIT}])
    assert reasons(r) == ["timeout"] and r["cpu_s"] < 10


def test_the_others_go_on(tmp_path):
    """A case past its limit is its own failure, also where its process has to be ended with its jar."""
    code = source("import signal\ndef f(x):\n    signal.setitimer(signal.ITIMER_PROF, 0)\n    if x == 1: burn(W)\n    return x\n")
    assert reasons(run(tmp_path, code, [{"args": [i], "expected": i, "timeout_s": LIMIT} for i in range(4)])) == [None, "timeout", None, None]


def test_work_that_is_left_to_others_counts(tmp_path):
    """A process of the first case burns while the second is at work: whoever is at work then has used it."""
    code = source("import os\na, b = os.pipe()\ndef f(x):\n    if x == 0:\n        if os.fork() == 0:\n            burn(W); os.write(b, b'1'); os._exit(0)\n        return x\n    return x * int(os.read(a, 1))\n")
    assert "timeout" in reasons(run(tmp_path, code, [{"args": [i], "expected": i, "timeout_s": 1.5} for i in range(2)]))


def test_loading_has_a_limit(tmp_path):
    r = run(tmp_path, source("import signal\nsignal.setitimer(signal.ITIMER_PROF, 0)\nburn(1000)\ndef f(x): return x\n"), [{"args": [1], "expected": 1, "timeout_s": LIMIT}])
    assert not r["all_passed"] and reasons(r) == ["timeout"]


def test_loading_may_take_longer_than_a_case(tmp_path):
    assert reasons(run(tmp_path, source("burn(2)\ndef f(x): return x\n"), [{"args": [i], "expected": i, "timeout_s": LIMIT} for i in range(3)])) == [None] * 3


def test_who_sleeps_is_judged_by_the_clock(tmp_path):
    r = run(tmp_path, "import time\ndef f(x):\n    time.sleep(1000)\n", [{"args": [1], "expected": 1, "timeout_s": 0.2}])
    assert reasons(r) == ["timeout"] and r["cpu_s"] < 2


def test_sleeping_is_not_cpu_time(tmp_path):
    assert reasons(run(tmp_path, "import time\ndef f(x):\n    time.sleep(0.7)\n    return x\n", [{"args": [1], "expected": 1, "timeout_s": 0.5}])) == [None]


def test_where_it_was(tmp_path):
    """An honest one still says the line."""
    r = run(tmp_path, "def f(x):\n    while True:\n        x += 1\n", [{"args": [1], "expected": 1, "timeout_s": LIMIT}])
    assert r["test_results"][0]["where"]["function"] == "f"


SLOW_END = "import time\nclass Q(int):\n    def __del__(s):\n        %s\ndef f(x): return Q(x)\n"


@pytest.mark.parametrize("doing, reason", [("time.sleep(9)", "timeout"), ("while True: pass", "timeout"), ("time.sleep(0.1)", None)], ids=["sleeps", "spins", "in time"])
def test_what_an_answer_does_after_it_was_given(tmp_path, doing, reason):
    """Its time was over with the answer on its way: that is a time limit, and no lie about the answer. The case after it is none the worse."""
    code = SLOW_END % ("if s == 1:\n            " + doing)
    assert reasons(run(tmp_path, code, [{"args": [x], "expected": x, "timeout_s": LIMIT} for x in (1, 2)])) == [reason, None]


POOL = "from concurrent.futures import ThreadPoolExecutor\nE = ThreadPoolExecutor(4); E.submit(int).result()\nn = []\ndef f(x):\n    n.append(x)\n    return [E.submit(abs, x).result(), len(n)]\n"


def test_threads_made_at_load(tmp_path):
    """They are there in each case, and each case has the solution as it was loaded."""
    cases = [{"args": [-i], "expected": [i, 1], "timeout_s": 2} for i in range(3)]
    assert reasons(run(tmp_path, POOL, cases)) == [None] * 3
    shared = [{"args": [-i], "expected": [i, i + 1], "timeout_s": 2} for i in range(3)]
    assert reasons(run(tmp_path, POOL, shared, "--shared")) == [None] * 3


def test_javascript(tmp_path):
    busy = "const { spawnSync } = require('child_process');\nfunction f(x) { if (x === 1) spawnSync('/usr/bin/python3', ['-c', %r]); return x; }\n" % (BURN + "burn(%d)" % WORK)
    assert reasons(run(tmp_path, busy, [{"args": [i], "expected": i, "timeout_s": 1.5} for i in (1, 2)], ext="js")) == ["timeout", None]


def evaluate(tmp_path, name, task, code, *opts):
    data, samples, out = tmp_path / "data.jsonl", tmp_path / "samples.jsonl", tmp_path / "out.jsonl"
    data.write_text(json.dumps(task) + "\n")
    samples.write_text(json.dumps({"task_id": task["task_id"], "solution": code}) + "\n")
    r = harness.run("eval", name, "--data", str(data), "--samples", str(samples), "--out", str(out), "-q", *opts)
    assert r.rc in (0, 1), (r.rc, r.out[-2000:], r.err)
    return json.loads(out.read_text())


PLUS = {"task_id": "HumanEval/900", "prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return x\n", "base_input": [[i] for i in range(3)], "plus_input": [[i] for i in range(3, 6)],
        "atol": 0, "test": "", "contract": ""}


@pytest.mark.parametrize("trick", ["signal.setitimer(signal.ITIMER_PROF, 0); burn(W)", "signal.signal(signal.SIGPROF, signal.SIG_IGN); burn(W)",
                                   "p = os.fork() or (burn(W), os._exit(0)); os.waitpid(p, 0)"], ids=["timer off", "ignored", "child"])
def test_an_input_of_evalplus(tmp_path, trick):
    """Each input has a second; one that takes more cannot hide among others that were asked with it."""
    code = source("import os, signal\ndef f(x):\n    if x == 4:\n        %s\n    return x\n" % trick)
    r = evaluate(tmp_path, "humaneval+", PLUS, code)
    assert (r["passed"], r["base_status"], r["plus_status"]) == (False, "pass", "timeout"), r


@pytest.mark.parametrize("value, reason", [("object()", "unencodable"), ("lambda: 1", "unencodable"), ("[x, object]", "wrong_value"), ("iter([x])", "wrong_value"), ("__import__('decimal').Decimal('sNaN')", "wrong_value")])
def test_what_is_said_of_answers_that_evalplus_cannot_compare(tmp_path, value, reason):
    r = evaluate(tmp_path, "humaneval+", PLUS, "def f(x): return %s\n" % value)
    assert (r["passed"], r["belljar"]["reason"]) == (False, reason) and "0x" not in json.dumps(r["belljar"]), r["belljar"]


def test_no_data_is_no_type_error(tmp_path):
    task = {"task_id": "HumanEval/902", "prompt": "def f(x):\n    \"\"\"x\"\"\"\n", "entry_point": "f", "canonical_solution": "    return x + ''\n", "test": "def check(candidate):\n    try:\n        candidate(1)\n    except TypeError:\n        return\n    assert False\n"}
    deep = "def f(x):\n    y = []\n    for _ in range(500): y = [y]\n    return y\n"
    assert evaluate(tmp_path, "humaneval", task, "def f(x): return x + ''\n")["passed"]
    r = evaluate(tmp_path, "humaneval", task, deep, "--force")
    assert (r["passed"], r["belljar"]["reason"]) == (False, "unencodable"), r
    r = evaluate(tmp_path, "humaneval", {**task, "test": "def check(candidate):\n    x = candidate(1)\n    assert x == 1, x\n"}, "def f(x): return (i for i in [x])\n", "--force")
    assert r["belljar"]["reason"] == "wrong_value" and "0x" not in json.dumps(r["belljar"]), r["belljar"]


def test_inputs_of_evalplus_that_take_long_together(tmp_path):
    """None is past its own limit: asked one by one, all pass."""
    r = evaluate(tmp_path, "humaneval+", PLUS, source("def f(x):\n    burn(0.4)\n    return x\n"))
    assert r["passed"], r


def test_a_sample_has_three_seconds(tmp_path):
    task = {"task_id": "HumanEval/901", "prompt": "def f(x):\n    \"\"\"x\"\"\"\n", "entry_point": "f", "canonical_solution": "    return x\n", "test": "def check(candidate):\n    assert candidate(1) == 1\n"}
    r = evaluate(tmp_path, "humaneval", task, source("def f(x):\n    burn(6)\n    return x\n"))
    assert r["result"] == "timed out", r
    assert evaluate(tmp_path, "humaneval", task, source("def f(x):\n    burn(4)\n    return x\n"), "--cpu-time", "20s", "--force")["passed"]


def test_a_busy_machine_is_no_verdict(tmp_path):
    """A share of one CPU that makes the clock end it before its CPU limit: it gets a second chance, and passes."""
    code = source("def f(x):\n    burn(0.5)\n    return x\n")
    r = run(tmp_path, code, [{"args": [1], "expected": 1, "timeout_s": 0.8}], "--cpus", "0.08")
    assert reasons(r) == [None], r["test_results"]
