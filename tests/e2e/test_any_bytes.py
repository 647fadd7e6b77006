# SPDX-License-Identifier: Apache-2.0
"""Graded code never causes a failure of belljar: any bytes from the candidate to the report, and any harm it does to its own jar."""
import json
import tempfile
from pathlib import Path

import pytest

import harness

# Bytes that are no text, and characters that some writer of JSON refuses.
PY_TEXT = r'"a\0b\x1b\x7f\x85\u2028\u202e\ud800\udfff\ufeff\U0010ffff\n\"\\"'
JS_TEXT = r'"a\0b\x1b\x7f\x85\u2028\u202e\ud800\udfff\ufeff\u{10ffff}\n\"\\"'

# where the bytes are: code in which TEXT is put
PYTHON = {
    "printed": "def f(x):\n    print(TEXT.encode('utf-8', 'surrogatepass').decode('utf-8', 'replace'))\n    return 0\n",
    "stdout": "import os\ndef f(x):\n    os.write(1, bytes(range(256)))\n    return 0\n",
    "stderr": "import os\ndef f(x):\n    os.write(2, bytes(range(256)))\n    return 0\n",
    "printed at load": "import os\nos.write(1, bytes(range(256)))\nos.write(2, bytes(range(256)))\ndef f(x):\n    return 0\n",
    "message": "def f(x):\n    raise ValueError(TEXT)\n",
    "message at load": "raise ValueError(TEXT)\n",
    "class name": "class E(Exception):\n    pass\nE.__name__ = 'a\\x1b\\u2028b'\nE.__qualname__ = TEXT\nE.__module__ = TEXT\ndef f(x):\n    raise E('x')\n",
    "function name": "def f(x):\n    g.__name__ = TEXT\n    return g()\ndef g():\n    raise ValueError\ng.__code__ = g.__code__.replace(co_name=TEXT)\n",
    "file name": "exec(compile('def f(x):\\n    raise ValueError(1)\\n', TEXT.replace('\\0', ''), 'exec'))\n",
    "module names": "globals()[TEXT] = lambda: 1\nglobals()[TEXT].__module__ = __name__\ndef f(x):\n    return 0\n",
    "missing beside names": "def g():\n    pass\nglobals()[TEXT] = g\n",
    "docstring": "def f(x):\n    return 0\nf.__doc__ = TEXT\n__doc__ = TEXT\n",
    "string": "def f(x):\n    return TEXT\n",
    "bytes": "def f(x):\n    return bytes(range(256))\n",
    "dict keys": "def f(x):\n    return {TEXT: {TEXT: [TEXT]}}\n",
    "subclass name": "def f(x):\n    C = type('C', (int,), {})\n    C.__name__ = 'a\\u2028\\x1b'\n    return C(1)\n",
    "arguments": "def f(x):\n    x.append(TEXT)\n    return 0\n",
    "attribute": "def f(x):\n    return getattr(x, TEXT)\n",
    "key error": "def f(x):\n    return {}[TEXT]\n",
    "unencodable": "class C:\n    pass\nC.__name__ = 'a\\u2028\\x1b'\ndef f(x):\n    return C()\n",
    "exit text": "def f(x):\n    raise SystemExit(TEXT)\n",
    "group": "def f(x):\n    raise ExceptionGroup(TEXT.replace('\\0', ''), [ValueError(TEXT)])\n",
}
JS = {
    "printed": "function f(x) { console.log(TEXT); return 0 }\n",
    "stdout": "function f(x) { process.stdout.write(Buffer.from([...Array(256).keys()])); return 0 }\n",
    "stderr": "function f(x) { process.stderr.write(Buffer.from([...Array(256).keys()])); return 0 }\n",
    "message": "function f(x) { throw new Error(TEXT) }\n",
    "message at load": "throw new Error(TEXT)\n",
    "class name": "const E = { [TEXT]: class extends Error {} }[TEXT];\nfunction f(x) { throw new E(TEXT) }\n",
    "function name": "const g = { [TEXT]() { null.x } }[TEXT];\nfunction f(x) { return g() }\n",
    "no error": "function f(x) { throw TEXT }\n",
    "string": "function f(x) { return TEXT }\n",
    "keys": "function f(x) { return { [TEXT]: { [TEXT]: [TEXT] } } }\n",
    "arguments": "function f(x) { x.push(TEXT); return 0 }\n",
    "unencodable": "const C = { [TEXT]: class { #a } }[TEXT];\nfunction f(x) { return new C() }\n",
}
ALL = [("python", n, c.replace("TEXT", PY_TEXT)) for n, c in PYTHON.items()] + [("javascript", n, c.replace("TEXT", JS_TEXT)) for n, c in JS.items()]
CASES = [{"args": [[1]], "expected": "never", "expected_args": [[1]]}]
BAD = ("internal", "setup", "busy", "cancelled")


@pytest.fixture
def folder():
    path = Path(tempfile.mkdtemp(dir=harness.BASE))
    path.chmod(0o777)
    return path


def lines(text):
    return [json.loads(l) for l in text.split("\n") if l]


def batch(rows, **more):
    text = "\n".join(json.dumps({"id": str(i), "language": lang, "code": code, "test": {"func": "f", "cases": more.get("cases", CASES)}, "limits": {"memory_bytes": 256 << 20}})
                     for i, (lang, _, code) in enumerate(rows))
    c = harness.run("batch", "-q", "-", input=text.encode() + b"\n", timeout=300)
    found = {int(r["id"]): r for r in lines(c.stdout)}
    return c, [found[i] for i in range(len(rows))]


def test_batch_and_explain():
    c, found = batch(ALL)
    for (lang, name, _), r in zip(ALL, found):
        assert r["status"] == "completed" and r["reason"] not in BAD and r["all_passed"] is False, (lang, name, r)
        assert [x["reason"] for x in r["test_results"]] and all(x["reason"] not in BAD for x in r["test_results"]), (lang, name, r)
    e = harness.run("explain", "--json", "-", input=c.out)
    assert e.rc == 0, str(e)
    for r in lines(e.stdout):
        assert all(ch == "\n" or (ord(ch) >= 32 and ch != "\x7f") for ch in r["feedback"]["text"])


@pytest.mark.parametrize("lang, name", [("python", "message"), ("python", "stdout"), ("python", "class name"), ("javascript", "message"), ("javascript", "class name")])
def test_test(folder, lang, name):
    code = next(c for l, n, c in ALL if (l, n) == (lang, name))
    solution, cases = folder / ("s.py" if lang == "python" else "s.js"), folder / "cases.json"
    solution.write_text(code)
    cases.write_text(json.dumps(CASES))
    plain = harness.run("test", str(solution), "--func", "f", "--cases", str(cases))
    assert plain.rc == 1 and "FAILED" in plain.stdout and "\0" not in plain.stdout, str(plain)
    c = harness.run("test", str(solution), "--func", "f", "--cases", str(cases), "--json")
    assert c.rc == 1 and json.loads(c.out)["test_results"][0]["reason"] not in BAD, str(c)


def evaluate(folder, kind, task, codes):
    data, samples, out = folder / "data.jsonl", folder / "samples.jsonl", folder / "out.jsonl"
    data.write_text(json.dumps(task) + "\n")
    samples.write_text("".join(json.dumps({"task_id": task["task_id"], "solution": c}) + "\n" for c in codes))
    args = ("eval", kind, "--data", str(data), "--samples", str(samples), "--out", str(out), "-q")
    c = harness.run(*args, "--force", timeout=300)
    assert c.rc == 1, str(c)
    rows = lines(out.read_text())
    assert len(rows) == len(codes)
    for code, r in zip(codes, rows):
        assert r["passed"] is False and r["belljar"]["reason"] not in BAD, (code, r)
    # nothing is left to be run again
    before = out.read_bytes()
    again = harness.run(*args, "--resume")
    assert again.rc == 1 and out.read_bytes() == before, str(again)


@pytest.mark.parametrize("kind", ["humaneval", "cases"])
def test_eval(folder, kind):
    task = {"humaneval": {"task_id": "t/0", "prompt": "def f(x):\n    pass\n", "entry_point": "f", "test": "def check(c):\n    assert c([1]) == 'never'\n"},
            "cases": {"task_id": "t/0", "function": "f", "cases": CASES}}[kind]
    evaluate(folder, kind, task, [c for lang, _, c in ALL if lang == "python"])


def test_eval_js(folder):
    task = {"task_id": "JavaScript/0", "prompt": "", "declaration": "", "canonical_solution": "", "test": "console.assert(f([1]) === 'never')\n"}
    evaluate(folder, "humaneval-x", task, [c for lang, _, c in ALL if lang == "javascript"])


# ---- harm ------------------------------------------------------------------------------------------------------------------------------------

LOUD = "import os\nF = [i for i in range(3, 30)]\ndef each(do):\n    for i in F:\n        try: do(i)\n        except OSError: pass\n"
ANY = ("wrong_value", "exited", "crashed", "timeout", "tampering", "exception", "memory", "load_error")
HARM = {
    "close all": ("import os\ndef f(x):\n    os.closerange(0, 1000)\n    return x\n", ("exited",)),
    "close all at load": ("import os\nos.closerange(0, 1000)\ndef f(x): return x\n", ("exited",)),
    "close the channel": ("import os\ndef f(x):\n    os.closerange(3, 1000)\n    return x\n", ("exited",)),
    "kill the driver": ("import os\ndef f(x):\n    os.kill(os.getppid(), 9)\n    return x\n", ("crashed",)),
    "stop the driver": ("import os\ndef f(x):\n    os.kill(os.getppid(), 19)\n    return x\n", ("timeout", "crashed")),
    "stop itself": ("import os\ndef f(x):\n    os.kill(os.getpid(), 19)\n    return x\n", ("timeout",)),
    "kill all": ("import os\ndef f(x):\n    os.kill(-1, 9)\n    return x\n", ("crashed",)),
    "fill the disk": ("def f(x):\n    try:\n        with open('/tmp/x', 'wb') as g:\n            while True: g.write(b'x' * 1000000)\n    except OSError: pass\n    return x\n", ("wrong_value", "memory")),
    "no pids": ("import os, time\nwhile True:\n    try:\n        if os.fork() == 0: time.sleep(100)\n    except OSError: break\ndef f(x): return x\n", ("exited", "timeout")),
    "endless stderr": ("import sys\ndef f(x):\n    while True: sys.stderr.write('x' * 100000)\n", ("output", "timeout")),
    "deep value": ("def f(x):\n    y = []\n    for i in range(100000): y = [y]\n    return y\n", ("unencodable",)),
    "deep subclass": ("class L(list): pass\ndef f(x):\n    y = L()\n    for i in range(100000): y = L([y])\n    return y\n", ("unencodable",)),
    "no recursion limit": ("import sys\nsys.setrecursionlimit(10**9)\ndef f(x): return f(x) + 1\n", ("memory", "crashed", "timeout", "exception")),
    "low recursion limit": ("import sys\nsys.setrecursionlimit(10)\ndef f(x): return [[[x]]]\n", ANY),
    "another program": ("import os\ndef f(x):\n    os.execv('/bin/sh', ['sh', '-c', 'exit 3'])\n", ("exited",)),
    "another program at load": ("import os\nos.execv('/bin/echo', ['echo', 'hello'])\n", ("exited",)),
    "no folder": ("import os\ndef f(x):\n    os.mkdir('/tmp/d'); os.chdir('/tmp/d'); os.rmdir('/tmp/d')\n    return x\n", ("wrong_value",)),
    "no files": ("import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))\ndef f(x): return x\n", ANY),
    "no file size": ("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\ndef f(x):\n    print('x')\n    return x\n", ANY),
    "no address space": ("import resource\nresource.setrlimit(resource.RLIMIT_AS, (1000, 1000))\ndef f(x): return 'x' * 10000000\n", ANY),
    "no processes": ("import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (0, 0))\ndef f(x): return x\n", ANY),
    "garbage": (LOUD + "def f(x):\n    each(lambda i: os.write(i, b'\\xff' * 1000))\n    return x\n", ("tampering",)),
    "empty frames": (LOUD + "def f(x):\n    each(lambda i: os.write(i, b'\\0' * 4000))\n    return x\n", ("tampering",)),
    "endless frames": (LOUD + "def f(x):\n    while True: each(lambda i: os.write(i, b'\\x40\\0\\0\\0' + b'x' * 64))\n", ("tampering",)),
    "half a frame": (LOUD + "def f(x):\n    each(lambda i: os.write(i, b'\\xff\\xff\\0\\0abc'))\n    os._exit(0)\n", ("timeout", "tampering", "exited")),
    "null channel": ("import os\ndef f(x):\n    n = os.open('/dev/null', os.O_RDWR)\n    for i in range(3, 30):\n        if i != n: os.dup2(n, i)\n    return x\n", ("exited",)),
    "read the questions": (LOUD + "def f(x):\n    each(lambda i: (os.set_blocking(i, False), os.read(i, 100000)))\n    return x\n", ANY),
    "not blocking": (LOUD + "each(lambda i: os.set_blocking(i, False))\ndef f(x): return 'x' * 5000000\n", ANY),
    "segfault at load": ("import ctypes\nctypes.string_at(0)\n", ("crashed",)),
    "forbidden call": ("import ctypes\nctypes.CDLL(None).syscall(175, 0, 0, 0)\ndef f(x): return x\n", ANY),
    "broken builtins": ("import builtins\nbuiltins.len = builtins.int = builtins.type = builtins.isinstance = None\ndef f(x): return {x}\n", ANY),
    "broken os": ("import os\nos.write = os.read = os._exit = os.fork = None\ndef f(x): return x\n", ANY),
    "huge integer": ("def f(x): return 1 << (8 << 20)\n", ("wrong_value",)),
    "text that is none": ("class E(Exception):\n    def __str__(self): return 5\ndef f(x): raise E\n", ("exception",)),
    "text that exits": ("class E(Exception):\n    def __str__(self): raise SystemExit\n    __repr__ = __str__\ndef f(x): raise E\n", ("exception", "exited")),
    "huge name": ("def f(x): raise type('E' * 1000000, (Exception,), {})('x')\n", ("exception",)),
}


@pytest.fixture(scope="module")
def harmed():
    rows = [("python", n, code) for n, (code, _) in HARM.items()]
    _, found = batch(rows, cases=[{"args": [1], "expected": "never", "timeout_s": 1}])
    return dict(zip(HARM, found))


@pytest.mark.parametrize("name", HARM)
def test_harm_is_a_verdict(harmed, name):
    r = harmed[name]
    assert r["status"] == "completed" and r["reason"] not in BAD and r["all_passed"] is False, r
    assert [x["reason"] for x in r["test_results"]][0] in HARM[name][1], r["test_results"]
