# SPDX-License-Identifier: Apache-2.0
"""Two judges: the one that believes a log (the control), and the one that goes by the driver's frames as belljar's front does. The second can be exchanged
for `belljar swebench run`: judged(cheat's instance, patch) -> (resolved, what was seen)."""
import json
import re

import harness
import swejar
from cheats import HERE, repo

HARD = {"reporter"}  # contradictions between the runner and the witness: never resolved
CANARY = {"fail": "test_k3v9_no", "pass": "test_k3v9_yes"}


# ---- the control ---------------------------------------------------------------------------------

def from_log(kind, text):
    """{test: status} as plain parsers of logs have it; later lines win."""
    found = {}
    for line in text.splitlines():
        if kind == "pytest" and (m := re.match(r"(PASSED|FAILED|ERROR|SKIPPED|XFAIL) (\S+)", line)):
            found[m.group(2)] = "PASSED" if m.group(1) == "XFAIL" else m.group(1)
        elif kind in ("django", "unittest") and (m := re.match(r"(test_\w+) \(([\w.]+?)(?:\.\1)?\) \.\.\. (ok|FAIL|ERROR)\s*$", line)):
            found[f"{m.group(1)} ({m.group(2)})"] = "PASSED" if m.group(3) == "ok" else "FAILED"
        elif kind == "sympy" and (m := re.match(r"(test_\w+) (ok|F|E)\b", line)):
            found[m.group(1)] = "PASSED" if m.group(2) == "ok" else "FAILED"
    return found


def naive(instance, patch):
    """(resolved, the log) of a harness that reads the log."""
    job = {"model_patch": patch, **{k: instance[k] for k in ("kind", "argv", "test_patch", "test_files")}}
    c = harness.run("run", "-q", "--ro", f"{repo(instance['kind']).top}:/base", "--ro", f"{HERE / 'control.py'}:/etc/control.py", "--stdin", "-", "--disk", "200M", "-m", "1G",
                    "--pids", "128", "--output", "8M", "--audit", "off", "--timeout", "50s", "--", "/usr/bin/python3", "-I", "/etc/control.py", input=json.dumps(job).encode())
    got = from_log(instance["kind"], c.stdout)
    return all(got.get(t) == "PASSED" for t in instance["f2p"] + instance["p2p"]), c.stdout + c.stderr


# ---- by frames -----------------------------------------------------------------------------------

def one_run(instance, patch, suffix, **more):
    job = {k: instance[k] for k in ("kind", "argv", "test_patch", "watched") if k in instance}
    return swejar.drive(repo(instance["kind"]), model_patch=patch, rename={"suffix": suffix, "tests": instance["f2p"]}, **job, **more)


def passed(said, instance, tests):
    """The tests of `tests` that have positive evidence: reported under the new name, as passed, once."""
    renamed = said.one("ready")["renamed"]
    good = set()
    for test in tests:
        rows = [f for f in said.all("test") if f["orig"] == test]
        if rows and all(f["outcome"] == "passed" for f in rows) and (test not in renamed or all(f.get("name") == renamed[test] for f in rows)):
            good.add(test)
    return good


def in_order(said):
    """The session ended as one does, and everybody agrees about it."""
    finish, end = said.all("finish"), said.all("tests_end")
    if len(finish) != 1 or len(end) != 1 or end[0]["signal"] is not None or end[0]["exit"] != finish[0]["exit"]:
        return False
    counted = {}
    for f in said.all("test"):
        counted[f["outcome"]] = counted.get(f["outcome"], 0) + 1
    return counted == finish[0]["counts"]


def judged(instance, patch):
    """(resolved, {what was seen}, the runs)."""
    first = one_run(instance, patch, "_q7f3")
    seen = {f["what"] for f in first.all("tampering")}
    if first.outcome not in ("applied", "already") or not first.all("ready"):
        return False, seen | {first.outcome}, [first]
    ok = True
    if not in_order(first):
        seen.add("finish")
        ok = False
    want = instance["f2p"] + instance["p2p"]
    if passed(first, instance, want) != set(want):
        seen.add("test")
        ok = False
    if not ok or seen & HARD:
        return False, seen, [first]
    second = one_run(instance, patch, "_z81", select=instance["f2p"], canary=CANARY)
    rows = {f["name"]: f["outcome"] for f in second.all("test") if f.get("name") in CANARY.values()}
    seen |= {f["what"] for f in second.all("tampering")}
    if rows.get(CANARY["fail"]) not in ("failed", "error") or rows.get(CANARY["pass"]) != "passed":
        seen.add("canary")
        ok = False
    if not in_order(second) or passed(second, instance, instance["f2p"]) != set(instance["f2p"]):
        seen.add("second")
        ok = False
    return ok and not seen & HARD, seen, [first, second]
