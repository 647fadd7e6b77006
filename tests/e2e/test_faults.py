# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random moments under load: whoever dies, every request ends with a typed result or belljar with a clear error, no guest
stays, and the next start works.

BELLJAR_KILLS   how many (default 200, about a minute; rootless 60)
BELLJAR_SEED    the random numbers of a run that failed; printed with every failure
"""
import json
import os
import random
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import harness

KILLS = int(os.environ.get("BELLJAR_KILLS", "200" if harness.ROOT else "60"))
SEED = int(os.environ.get("BELLJAR_SEED", str(random.SystemRandom().randrange(10**6))))
JOBS = 8
WALL_MS = 1500  # of every request of the load
END_S = 12  # after its time limit a request is late, and what is later hangs
ID_BASE = 0x70000000

STATUSES = {"completed", "timeout", "error", "killed"}
REASONS = {"exited", "signal", "wall_time", "cpu_time", "memory", "output", "syscall", "syntax", "policy", "busy", "cancelled", "setup", "internal"}

LOAD = [
    {"language": "python", "code": "print(1 + 1)"},
    {"language": "python", "code": "import time; print('a', flush=True); time.sleep(0.3); print('b')"},
    {"language": "python", "code": "import os\nfor _ in range(5):\n    if not os.fork(): os._exit(0)\n    os.wait()\nprint('forked')"},
    {"language": "python", "code": "import time; time.sleep(30)"},
    {"language": "python", "code": "print('x' * 50000)"},
    {"language": "bash", "code": "echo hi; sleep 0.2 & wait"},
    {"language": "bash", "code": "sleep 30"},
    {"argv": ["/bin/true"]},
    {"argv": ["/bin/cat"], "stdin": "through\n"},
    {"language": "node", "code": "setTimeout(() => console.log('n'), 50)"},
    {"language": "python", "code": "open('o.txt', 'w').write('made')", "get": ["o.txt"]},
]


# ---- who is who ----------------------------------------------------------------------------------

def ids_in_namespaces(pid):
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                return line.split()[1:]
    except OSError:
        pass
    return []


def kind_of(pid, st, front):
    """Which part of belljar a process below a batch is."""
    if pid == front:
        return "front"
    inside = ids_in_namespaces(pid)
    if len(inside) > 1:
        return "init" if inside[-1] == "1" else "guest"
    name = st[0]
    for part in ("keeper", "maker", "zygote", "init"):
        if part in name:
            return part
    if name.startswith("python"):
        return "zygote"
    return "keeper" if cmdline(pid)[:1] == [b"belljar-keeper"] else "other"


def parts(front):
    """{kind: [pids]} of the living processes of one batch, itself included."""
    found = {"front": [front]}
    for pid, st in harness.descendants(front).items():
        if st[1] not in "ZX":
            found.setdefault(kind_of(pid, st, front), []).append(pid)
    return found


def served_by(front, keeper):
    """What lives because of one keeper: everything below it, unless a keeper of its own is between."""
    tree = harness.descendants(front)
    found = []
    for pid in tree:
        above = tree[pid][2]
        while above in tree and above != keeper and kind_of(above, tree[above], front) != "keeper":
            above = tree[above][2]
        if above == keeper:
            found.append(pid)
    return found


def started(pid):
    """Names one process for ever: its start time."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except OSError:
        return None


def guests_among(processes):
    """Which of {pid: start time} are alive and guests of root's jars (host ids from ID_BASE on) or, rootless, inside of a jar's pid namespace."""
    alive = []
    for pid, since in processes.items():
        if not harness.is_alive(pid) or started(pid) != since:
            continue
        try:
            mine = os.stat(f"/proc/{pid}").st_uid >= ID_BASE if harness.ROOT else True
        except OSError:
            continue
        if mine and len(ids_in_namespaces(pid)) > 1:
            alive.append(pid)
    return alive


# ---- load ----------------------------------------------------------------------------------------

class Loaded:
    """A batch that is kept busy: never more than a few requests on their way."""

    def __init__(self, rng, *opts):
        self.batch = harness.Batch("-j", str(JOBS), "--unordered", *opts)
        self.rng, self.stop, self.requests = rng, threading.Event(), {}
        self.load = [r for r in LOAD if "language" not in r or harness.languages()[r["language"]]["installed"]]
        self.feeder = threading.Thread(target=self._feed, daemon=True)
        self.feeder.start()

    def _feed(self):
        n = 0
        while not self.stop.is_set() and self.batch.p.poll() is None:
            if self.batch.sent - len(self.batch.results) >= 2 * JOBS:
                time.sleep(0.002)
                continue
            n += 1
            request = {**self.rng.choice(self.load), "id": f"r{n}", "client": self.rng.choice(["a", "b"]), "limits": {"wall_ms": WALL_MS}}
            self.requests[n] = request
            try:
                self.batch.send(request)
            except (BrokenPipeError, ValueError):
                self.requests.pop(n)
                return

    @property
    def pid(self):
        return self.batch.p.pid

    def unanswered(self):
        return sorted(set(self.requests) - set(self.batch.results))

    def check_typed(self):
        assert not self.batch.bad or self.batch.p.poll() is not None, f"no result: {self.batch.bad[:2]}"
        for n, r in self.batch.results.items():
            assert r["status"] in STATUSES and r["reason"] in REASONS, r
            assert r["status"] != "error" or r["error"], f"an error without a sentence: {r}"
            assert r["id"] == self.requests[n]["id"] and r["client"] == self.requests[n]["client"], f"line {n}: {r}"

    def settle(self, what):
        """What was on its way at this moment ends: with a result, or with the batch."""
        pending = self.unanswered()
        harness.wait_until(lambda: self.batch.p.poll() is not None or not set(pending) & set(self.unanswered()), END_S)
        if self.batch.p.poll() is None:
            late = set(pending) & set(self.unanswered())
            assert not late, f"{what}: hangs: {[self.requests[n] for n in sorted(late)][:5]} ({len(late)}); belljar says {self.batch.err[-600:]!r}"

    def end(self):
        self.stop.set()
        self.feeder.join(5)
        self.batch.gone()


def check_end(loaded, victim, before):
    """A batch that ended because a part of it was killed: not a word is missing, and no guest is left."""
    assert harness.wait_until(lambda: not guests_among(before), 1), f"{victim}: guests outlived it by a second: {guests_among(before)}"
    loaded.stop.set()
    loaded.feeder.join(5)
    for t in loaded.batch.readers:
        t.join(5)
    loaded.check_typed()
    missing = loaded.unanswered()
    if victim != "front" and missing:
        assert loaded.batch.p.returncode != 0, f"{victim}: {len(missing)} requests without a result, and exit status 0"
        assert re.search(rb"error|lost|ended|killed|gone", loaded.batch.err), f"{victim}: no word about {len(missing)} requests: {loaded.batch.err[-500:]!r}"
    loaded.batch.gone()
    harness.wait_until(lambda: not harness.left_behind(), 3)
    left = harness.left_behind()
    assert not left, f"{victim}: left behind: { {p: (s, harness.told_about(p)) for p, s in left.items()} }"


# ---- the kills -----------------------------------------------------------------------------------

def first_results(loaded):
    """The load is on: a few results have come."""
    harness.wait_until(lambda: len(loaded.batch.results) >= 3 or loaded.batch.p.poll() is not None, 15)
    assert loaded.batch.results, f"a fresh batch gave no result: {loaded.batch.err[-600:]!r}"


FATAL = ["front", "keeper", "front", "keeper", "maker"]
OTHERS = ["guest", "init", "zygote", "guest", "init", "maker"]


def kill_one(rng, loaded, kind, counts):
    """Kills one process of that kind, or a guest when there is none. Returns what was killed, and who has no right to live after a keeper or front."""
    time.sleep(rng.random() * 0.15)
    found = parts(loaded.pid)
    kind = next((k for k in (kind, "guest", "init", "keeper") if found.get(k)), "front")
    pid = rng.choice(found[kind])
    doomed = served_by(loaded.pid, pid) if kind == "keeper" else [p for pids in found.values() for p in pids]
    before = {p: started(p) for p in doomed}
    try:
        os.kill(pid, signal.SIGKILL)
        counts[kind] += 1
    except ProcessLookupError:
        pass  # it ended in between: that was no kill
    return kind, before


def test_killed_at_random(capsys):
    harness.need_batch()
    rng, counts = random.Random(SEED), Counter()
    stale = harness.Traces()
    end = time.monotonic() + harness.seconds(max(120, KILLS))
    rounds = 0
    while sum(counts.values()) < KILLS:
        assert time.monotonic() < end, f"seed {SEED}: only {dict(counts)} in time"
        rounds += 1
        loaded = Loaded(rng)
        try:
            first_results(loaded)
            victims = [rng.choice(OTHERS) for _ in range(7)] + [FATAL[rounds % len(FATAL)]]
            for kind in victims:
                victim, before = kill_one(rng, loaded, kind, counts)
                if victim in ("front", "keeper"):
                    assert harness.wait_until(lambda: not guests_among(before), 1), f"guests outlived the {victim} by a second: {guests_among(before)}"
                    harness.wait_until(lambda: loaded.batch.p.poll() is not None, 0.5)
                if loaded.batch.p.poll() is not None:
                    check_end(loaded, victim, before)
                    break
                loaded.check_typed()
            else:
                # nothing of it was fatal: everything on its way still ends, and the batch with it
                loaded.stop.set()
                loaded.feeder.join(5)
                loaded.settle(f"seed {SEED}, round {rounds}, {victims}")
                loaded.batch.close(END_S)
                loaded.check_typed()
                assert not loaded.unanswered(), f"seed {SEED}: no result for {loaded.unanswered()[:5]}: {loaded.batch.err[-500:]!r}"
        except AssertionError as e:
            raise AssertionError(f"seed {SEED}, round {rounds}, after {dict(counts)}: {e}") from None
        finally:
            loaded.end()
    # the next start works, and nothing of the dead is left
    assert harness.run("run", "--", "/bin/true").rc == 0
    assert harness.run("clean").rc == 0
    left = stale.gone(3)
    assert not left, f"seed {SEED}: after `belljar clean`: {left}"
    with capsys.disabled():
        print(f"\n{sum(counts.values())} kills under load in {rounds} batches: {dict(counts)}, seed {SEED}")


@pytest.mark.parametrize("kind", ["front", "keeper"])
def test_next_start_scrubs(kind):
    """A batch dies with all its jars; the next of the same size finds everything as if it had been the first."""
    harness.need_batch()
    stale = harness.Traces()
    rng = random.Random(SEED)
    loaded = Loaded(rng)
    try:
        first_results(loaded)
        before = kill_one(rng, loaded, kind, Counter())[1]
        harness.wait_until(lambda: loaded.batch.p.poll() is not None, 5)
        assert loaded.batch.p.poll() is not None or kind == "keeper", "it lives on"
        if loaded.batch.p.poll() is not None:
            check_end(loaded, kind, before)
    finally:
        loaded.end()
    with harness.Batch("-j", str(JOBS)) as again:
        for n in range(3 * JOBS):
            assert again.run({"language": "bash", "code": f"echo {n}"}, 20)["stdout"] == f"{n}\n"
        assert again.close() == 0
    assert harness.wait_until(lambda: not harness.left_behind(), 5), harness.left_behind()
    harness.run("clean")
    left = stale.gone(3)
    assert not left, left


def test_init_dies(capsys):
    """Only its own run notices: typed, with a sentence; the others end well."""
    harness.need_batch()
    with harness.Batch("-j", "4", "--unordered") as batch:
        batch.run({"argv": ["/bin/true"]})
        victim = batch.send({"argv": ["/bin/sleep", "20.25"], "limits": {"wall_ms": 15000}})
        other = batch.send({"argv": ["/bin/sleep", "1.5"], "limits": {"wall_ms": 15000}})
        guest = harness.wait_until(lambda: [p for p in harness.descendants(batch.p.pid) if b"20.25" in cmdline(p)], 10)
        assert guest, "the guest did not appear"
        mine = os.readlink(f"/proc/{guest[0]}/ns/pid")
        init = [p for p in harness.descendants(batch.p.pid) if pid_namespace(p) == mine and ids_in_namespaces(p)[-1:] == ["1"]]
        assert len(init) == 1, init
        os.kill(init[0], signal.SIGKILL)
        r = batch.get(victim, 5)
        assert r and r["status"] in STATUSES and not r["success"], r
        assert batch.get(other, 10)["success"], "another run was touched"
        assert batch.run({"language": "python", "code": "print(1)"})["success"]
        assert batch.close() == 0 or batch.p.returncode == 1


def test_zygotes_die_all():
    """All zygotes at once, again and again: the cold path serves meanwhile, and it is told, not for every request."""
    harness.need_batch()
    with harness.Batch("-j", "4", "--unordered") as batch:
        batch.run({"language": "python", "code": "print(1)"})
        killed = 0
        for _ in range(5):
            time.sleep(0.3)
            for pid in parts(batch.p.pid).get("zygote", []):
                os.kill(pid, signal.SIGKILL)
                killed += 1
            lines = [batch.send({"language": "python", "code": "print(2)", "id": str(n)}) for n in range(6)]
            for n in lines:
                r = batch.get(n, 20)
                assert r and r["status"] in STATUSES, f"no result: {batch.err[-500:]!r}"
                # one that was in the zygote's hands may fail, clearly; none may be lost
                assert r["success"] or r["error"], r
        end = time.monotonic() + harness.seconds(10)
        while not batch.run({"language": "python", "code": "print(3)"})["success"]:
            assert time.monotonic() < end, "it does not come back"
        batch.close()
    if not killed:
        pytest.skip("this belljar has no zygotes")
    assert batch.err.count(b"\n") <= 2 * killed + 2, f"too many words: {batch.err[-800:]!r}"


def test_preload_fails():
    """A module that is not there is told once, and runs are served all the same."""
    harness.need_batch()
    with harness.Batch("-j", "2", "--preload", "json,nosuchmodule_belljar,re") as batch:
        starts = set()
        for _ in range(12):
            r = batch.run({"language": "python", "code": "import json, re; print(json.dumps([1]))"}, 20)
            assert r["success"] and r["stdout"] == "[1]\n", r
            starts.add(r["start"])
            time.sleep(0.05)
        assert batch.close() == 0
    if not batch.err and starts == {"cold"}:
        pytest.skip("this belljar has no zygotes")
    said = [x for x in batch.err.splitlines() if b"nosuchmodule_belljar" in x]
    assert len(said) == 1, f"told {len(said)} times: {batch.err[-800:]!r}"


def test_preload_crashes(put):
    """A preload that ends the interpreter is no different. Only modules of root's folders can be named, so it is one that is known to exit."""
    harness.need_batch()
    with harness.Batch("-j", "2", "--preload", "antigravity_nosuch.sub,this,idlelib.idle") as batch:
        r = batch.run({"language": "python", "code": "print('served')"}, 20)
        assert r["success"] and r["stdout"] == "served\n", r
        assert batch.close(20) in (0, 1)


@pytest.mark.parametrize("bad", ["../x", "a b", "a;b", "", ".", "a..b", "x" * 300, "os,", "/etc/x", "a\nb"])
def test_preload_names_are_checked(bad):
    """Not a module's name: refused before anything starts, or told; never executed."""
    harness.need_batch()
    c = harness.run("batch", "-", "--preload", bad, input=b'{"language": "python", "code": "print(5)"}\n', timeout=30)
    assert c.rc in (0, 2, 125), str(c)
    if c.rc == 0:
        assert c.result["stdout"] == "5\n", str(c)
    else:
        assert b"error" in c.err, str(c)


def test_stop_is_clean():
    """SIGINT under load: what was answered is whole, what was not is not lost silently, nothing stays."""
    harness.need_batch()
    stale = harness.Traces()
    rng = random.Random(SEED)
    for sig in (signal.SIGINT, signal.SIGTERM):
        loaded = Loaded(rng)
        try:
            first_results(loaded)
            before = {pid: started(pid) for pids in parts(loaded.pid).values() for pid in pids}
            os.kill(loaded.pid, sig)
            assert harness.wait_until(lambda: loaded.batch.p.poll() is not None, END_S), f"{sig!r} did not end it"
            loaded.stop.set()
            loaded.feeder.join(5)
            assert harness.wait_until(lambda: not guests_among(before), 1), "guests outlived it"
            for t in loaded.batch.readers:
                t.join(5)
            assert not loaded.batch.bad, f"half a line: {loaded.batch.bad[-1][-200:]!r}"
            loaded.check_typed()
            assert loaded.batch.p.returncode != 0, "it was stopped, and says that all is well"
        finally:
            loaded.end()
    left = stale.gone(3)
    assert not left, left


def cmdline(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def pid_namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


HOOKS = Path(__file__).resolve().parents[2] / "build-hooks" / "belljar"


def steps_of(kind):
    if not HOOKS.exists():
        return []
    p = subprocess.run([str(HOOKS), "debug", kind], capture_output=True, timeout=10)
    return sorted(set(p.stdout.decode().split()))


def with_fault(step, *opts):
    lines = [{"id": "p", "code": "print('ran')"}, {"id": "x", "argv": ["/bin/echo", "ran"]}]
    p = subprocess.run([str(HOOKS), "batch", "-", "-j", "2", *opts], input="".join(json.dumps(x) + "\n" for x in lines).encode(),
                       capture_output=True, timeout=60, env={**os.environ, "BELLJAR_FAULT": step})
    results = [json.loads(x) for x in p.stdout.splitlines()]
    assert [r["id"] for r in results] == ["p", "x"], p.stderr[-500:]
    return results


@pytest.mark.parametrize("step", steps_of("warm-steps") or [None])
def test_warm_steps(step):
    """One step of a warm jar's set-up fails, every time: nothing runs in such a jar, everybody is told, nothing hangs."""
    if step is None:
        pytest.skip("no build with test hooks")
    for r in with_fault(step):
        # A run that no warm jar could be had for may be served by a cold one, whose steps have other names.
        assert r["status"] == "error" or (r["start"] == "cold" and r["success"]), r
        if r["status"] == "error":
            assert r["reason"] in ("setup", "internal") and r["stdout"] == "" and r["error"], r


@pytest.mark.parametrize("step", steps_of("seat-steps") or [None])
def test_seat_steps(step):
    """The same with --recycle, where a seat takes some of the steps for all of its guests. Where it alone fails, guests are forked."""
    if step is None:
        pytest.skip("no build with test hooks")
    if not harness.ROOT:
        pytest.skip("no seats without cgroups")
    python, program = with_fault(step, "--recycle")
    if step in ("seat-start", "seat-close"):
        assert python["stdout"] == program["stdout"] == "ran\n", (python, program)
        return
    assert python["status"] == "error" and python["reason"] in ("setup", "internal") and python["stdout"] == "" and python["error"], python
    if step in steps_of("warm-steps"):
        assert program["status"] == "error", program
    else:  # jars that fail one after the other fail all who wait
        assert program["stdout"] == "ran\n" or program["status"] == "error", program


def test_set_up_killed():
    """One of the processes of a one-shot run dies while the jar is made, before all of its guards against that are up: none of the others goes on waiting."""
    rnd = random.Random(SEED)
    for _ in range(80 if harness.ROOT else 40):
        p = harness.start("run", "--", "/bin/sleep", "20", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rnd.uniform(0, 0.006))
        family = sorted(harness.descendants(p.pid))
        try:
            os.kill(rnd.choice(family or [p.pid]), signal.SIGKILL)
        except ProcessLookupError:
            pass
        time.sleep(rnd.choice((0, 0.02)))
        p.kill()
        p.wait(timeout=20)
    assert harness.wait_until(lambda: not harness.left_behind(), 10), f"seed {SEED}: {harness.left_behind()}"


@pytest.mark.parametrize("step", ["jar-clone", "jar-network", "jar-root", "jar-proc", "jar-fence", "jar-data", "jar-fence-binds", "jar-attach-proc", "jar-readonly", "jar-pivot",
                                  "init-gate", "init-userns", "init-caps", "init-hand-over"])
def test_allow_steps(step):
    """With an allow-list init is born after the request and goes another way: that one fails closed, too."""
    if not HOOKS.exists():
        pytest.skip("no build with test hooks")
    p = subprocess.run([str(HOOKS), "run", "--json", "--allow", "cat", "--", "/bin/cat", "/etc/passwd"], capture_output=True, timeout=60,
                       env={**os.environ, "BELLJAR_FAULT": step})
    r = json.loads(p.stdout)
    assert r["status"] == "error" and r["reason"] == "setup" and r["stdout"] == "" and step in r["error"], r
