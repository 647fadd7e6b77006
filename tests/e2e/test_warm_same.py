# SPDX-License-Identifier: Apache-2.0
"""A program cannot tell a warm run from a cold one: hundreds of them are run both ways, and every field but times is compared.

BELLJAR_SAME=cold compares cold with cold instead: what differs then is a snippet that is no good.
"""
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import harness
import same

SNIPPETS = same.all_snippets()
TWICE_COLD = os.environ.get("BELLJAR_SAME") == "cold"
SIBLINGS = 20


def cold(snippet):
    c = harness.run("run", "--request", "-", "--json", input=json.dumps(snippet.request).encode())
    return c.result or {"status": "no result", "stdout": "", "stderr": "", "error": c.stderr}


def all_cold():
    with ThreadPoolExecutor(3) as pool:
        return dict(zip((s.name for s in SNIPPETS), pool.map(cold, SNIPPETS)))


def wait_for_warmth(batch):
    """The first jars of a batch may be cold: asks until each kind was served warm. Some may never be; the test says which."""
    end = time.monotonic() + harness.seconds(10)
    kinds = {"python": "print(1)", "node": "1", "bash": "true"}
    while kinds and time.monotonic() < end:
        for language in list(kinds):
            if batch.run({"language": language, "code": kinds[language], "client": "same"})["start"] == "warm":
                del kinds[language]
    return kinds


def all_warm(*opts):
    harness.need_batch()
    with harness.Batch("-j", "4", "--unordered", *opts) as batch:
        wait_for_warmth(batch)
        lines, end = {}, time.monotonic() + harness.seconds(300)
        for s in SNIPPETS:
            while batch.sent - len(batch.results) > 32:  # no more on the way than a queue with a bound takes
                time.sleep(0.002)
                assert batch.p.poll() is None and time.monotonic() < end, f"batch stands still: {batch.err[-500:]!r}"
            lines[s.name] = batch.send(s.request)
        results = {name: batch.get(line) for name, line in lines.items()}
        # A node takes longer to start than most of these programs run: who came while none waited gets another turn, one after the other.
        for s in SNIPPETS:
            if s.start == "warm" and results[s.name]["start"] == "cold" and results[s.name]["status"] != "error":
                time.sleep(0.1)
                results[s.name] = batch.get(batch.send(s.request))
        batch.close()
        assert not batch.bad, f"lines that are no results: {batch.bad[:3]}"
    return results


class Runs:
    """Both ways of all snippets, run once per session."""

    def __init__(self):
        self.warm = all_cold() if TWICE_COLD else all_warm()
        self.cold = all_cold()
        self.again = self.warm if TWICE_COLD else all_warm("--recycle")
        self.differ, self.allowed = {}, {}


_runs = []


@pytest.fixture(autouse=True, scope="module")
def no_process_left():
    """Instead of conftest's: looked at once, not after each of a thousand comparisons."""
    yield
    harness.wait_until(lambda: not harness.left_behind(), 10)
    assert not harness.left_behind(), harness.left_behind()


@pytest.fixture(scope="module")
def runs():
    if not _runs:
        _runs.append(Runs())
    return _runs[0]


def told_at_end():
    """For conftest: the count and the documented exceptions, at the end of the session."""
    if not _runs:
        return []
    r = _runs[0]
    warm = sum(1 for x in r.warm.values() if x and x.get("start") == "warm")
    lines = [f"{len(SNIPPETS)} snippets compared, {len(r.differ)} differ ({warm} of the first runs were warm)"]
    lines += [f"  differs: {name}: {', '.join(fields)}" for name, fields in r.differ.items()]
    lines += [f"  documented: {name}: {field}: {why}{' (differed now)' if name in r.allowed else ''}" for name, (field, why) in same.EXCEPTIONS.items()]
    return lines


def skip_unless_installed(request):
    if "language" in request:
        harness.need_language(request["language"])


@pytest.mark.parametrize("snippet", SNIPPETS, ids=[s.name for s in SNIPPETS])
def test_same(snippet, runs):
    skip_unless_installed(snippet.request)
    warm, cold_ = runs.warm[snippet.name], runs.cold[snippet.name]
    assert warm is not None, "no result"
    if not snippet.refused:
        assert cold_["status"] != "no result" and cold_["reason"] != "internal", cold_
    diff = same.differences(warm, cold_, snippet.mask)
    field = same.EXCEPTIONS.get(snippet.name, ("",))[0]
    if field in diff:
        runs.allowed[snippet.name] = diff.pop(field)
    if diff:
        runs.differ[snippet.name] = list(diff)
    assert not diff, f"{snippet.name} differs:\n{same.told(diff)[:4000]}"


@pytest.mark.parametrize("snippet", SNIPPETS, ids=[s.name for s in SNIPPETS])
def test_same_in_used_memory(snippet, runs):
    """--recycle: in jars, and in Python's memory (test_seats.py), that another snippet had before."""
    skip_unless_installed(snippet.request)
    again = runs.again[snippet.name]
    assert again is not None, "no result"
    diff = same.differences(again, runs.cold[snippet.name], snippet.mask)
    diff.pop(same.EXCEPTIONS.get(snippet.name, ("",))[0], None)
    if snippet.name == "python-world/process-number":  # a jar that is used again counts on
        assert int(diff.pop("stdout", ("2", ""))[0]) >= 2
    assert not diff, f"{snippet.name} differs:\n{same.told(diff)[:4000]}"


def test_start_is_told(runs):
    """PYTHON* and LD_* are served cold; nearly all others warm: what is not may only be a pool that was empty for a moment."""
    if TWICE_COLD:
        pytest.skip("BELLJAR_SAME=cold: nothing ran warm")
    for s in SNIPPETS:
        if s.start == "cold":
            assert runs.warm[s.name]["start"] == "cold", f"{s.name}: its environment changes the interpreter"
    hoped = [s for s in SNIPPETS if s.start == "warm" and runs.warm[s.name]["status"] != "error"]
    warm = [s for s in hoped if runs.warm[s.name]["start"] == "warm"]
    if not warm:
        pytest.skip("this belljar's batch serves everything cold")
    not_warm = sorted({s.name for s in hoped} - {s.name for s in warm})
    assert len(warm) >= 0.9 * len(hoped), f"{len(warm)} of {len(hoped)} were warm; not: {not_warm[:40]}"


RANDOM = """
import random, uuid, os, secrets, tempfile, sys, ssl, sqlite3, ctypes
from multiprocessing import process
print("random", random.random())
print("randbits", random.getrandbits(128))
print("shuffle", sum(x << i for i, x in enumerate(random.choices((0, 1), k=64))))
print("instance", random.Random().random())
print("uuid4", uuid.uuid4())
print("uuid1", uuid.uuid1())
print("urandom", os.urandom(16).hex())
print("secrets", secrets.token_hex(16))
print("mktemp", tempfile.mktemp())
print("tempfile", tempfile.NamedTemporaryFile().name)
print("openssl", ssl.RAND_bytes(16).hex())
print("sqlite", sqlite3.connect(":memory:").execute("select hex(randomblob(16))").fetchone()[0])
print("getrandom", os.getrandom(16).hex())
print("authkey", bytes(process.current_process().authkey).hex())
try:
    import numpy
    print("numpy", numpy.random.random())
    print("numpy-rng", numpy.random.default_rng().random())
    print("numpy-state", numpy.random.get_state()[1][:4].tolist())
except ImportError: pass
getauxval = ctypes.CDLL(None).getauxval
getauxval.restype = ctypes.c_void_p
print("at_random", ctypes.string_at(getauxval(25), 16).hex())
print("hash", hash("a"))
"""
# may repeat among the children of one zygote: fixed when the interpreter or its program started
SHARED = {"hash": "the hash seed is set when the interpreter starts", "at_random": "the kernel's 16 bytes of the zygote's own exec"}


@pytest.mark.parametrize("preload", ["", "random,uuid,secrets,tempfile,ssl,sqlite3,numpy,multiprocessing"], ids=["plain", "preloaded"])
def test_siblings_share_no_randomness(preload):
    """MT-12: runs of one batch that draw numbers draw different ones, whatever the zygote had imported and seeded."""
    harness.need_batch()
    harness.need_language("python")
    with harness.Batch("-j", "4", *(["--preload", preload] if preload else [])) as batch:
        wait_for_warmth(batch)
        lines = [batch.send({"language": "python", "code": RANDOM, "client": "siblings", "limits": {"wall_ms": 20000}}) for _ in range(SIBLINGS)]
        results = [batch.get(n) for n in lines]
        batch.close()
    drawn = {}
    for r in results:
        assert r and r["success"], r
        for line in r["stdout"].splitlines():
            name, value = line.split(" ", 1)
            drawn.setdefault(name, []).append(value)
    for name, values in drawn.items():
        assert len(values) == SIBLINGS, f"{name}: {len(values)}"
        if name not in SHARED:
            assert len(set(values)) == SIBLINGS, f"{name} repeats: {values}"


def test_sibling_state_does_not_pass_on():
    """What one run changes in its interpreter is not there for the next: modules, environment, files, signal handlers, folders."""
    harness.need_batch()
    change = """
import sys, os, signal, builtins, random, json, time, warnings, locale, resource, gc, atexit
sys.path.append('/tmp/changed'); os.environ['CHANGED'] = '1'; os.putenv('CHANGED2', '1'); os.chdir('/tmp'); os.umask(0o777)
builtins.changed = 1; json.changed = 1; sys.modules['changed'] = sys; sys.setrecursionlimit(5000); gc.disable()
signal.signal(signal.SIGTERM, signal.SIG_IGN); warnings.simplefilter('error'); sys.argv.append('changed')
open('/tmp/changed', 'w').close(); open('/dev/shm/changed', 'w').close(); open('/home/guest/changed', 'w').close()
atexit.register(print, 'changed')
resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16)); os.sched_setaffinity(0, {0}); os.nice(5)
sys.stdout.reconfigure(encoding='latin-1')
"""
    look = """
import sys, os, signal, builtins, json, warnings, resource, gc, atexit
print(sys.path, 'CHANGED' in os.environ, os.getcwd(), oct(os.umask(0)), hasattr(builtins, 'changed'), hasattr(json, 'changed'), 'changed' in sys.modules,
      sys.getrecursionlimit(), gc.isenabled(), signal.getsignal(signal.SIGTERM), len(warnings.filters), sys.argv, os.listdir('/tmp'), os.listdir('/dev/shm'),
      os.listdir('/home/guest'), atexit._ncallbacks(), resource.getrlimit(resource.RLIMIT_NOFILE), len(os.sched_getaffinity(0)), os.nice(0), sys.stdout.encoding)
"""
    fresh = harness.python(look)["stdout"]
    for opts in ([], ["--recycle"]):
        with harness.Batch("-j", "2", *opts) as batch:
            wait_for_warmth(batch)
            for _ in range(6):
                assert batch.run({"language": "python", "code": change, "client": "a"})["success"]
                r = batch.run({"language": "python", "code": look, "client": "a"})
                assert r["stdout"] == fresh, (opts, r["start"])
            batch.close()
