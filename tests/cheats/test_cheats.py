# SPDX-License-Identifier: Apache-2.0
"""Every trick fools the naive graders that its file names, and belljar never calls it passed; honest solutions pass everywhere.

Naive graders run in jars too (naive.py), one for each trick and grader: what a trick does to its grader it must not do to this machine.
"""
import concurrent.futures
import functools
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
import tasks
from conftest import ROWS
from harness import BASE, SLOW, TEST_USER, Completed, as_user, finish, need_language, own, run, start
from naive import FOOLED, GRADERS

NAIVE = (tasks.HERE / "naive.py").read_text()
PRELOAD = "pytest,_pytest.assertion.rewrite,numpy,json,subprocess,pickle,random,mmap,unittest.mock,ctypes"
TRICKS = tasks.all_of("tricks")
HONEST = tasks.all_of("honest")
PLAIN = [s for s in HONEST if "_plain" in s.name or s.language != "python"]  # naive graders fail honest code of other styles
WRONG = tasks.all_of("wrong")
SHOWN = 2  # of the graders that a trick names; --all-graders asks all of them, also those that it does not name
AT_ONCE = 6  # many of them wait for a time limit
REASONS = {"wrong_value", "wrong_type", "exception", "no_exception", "timeout", "memory", "crashed", "exited", "unencodable", "args_unencodable", "output",
           "missing_function", "load_error", "syntax", "policy", "tampering", "not_run"}
CALLED = [s for s in TRICKS if "test" in s.styles]
TWO_KINDS = [("belljar test", []), ("--shared", ["--shared"])]
SHARED_TOO = ("exit_", "kill_", "patch_", "forge_", "own_", "exc_", "args_", "hang_")  # --shared makes a difference; --all-graders asks for all


def ids(rows):
    return [r.name for r in rows]


# ---- the naive graders ---------------------------------------------------------------------------

def job(s):
    return json.dumps({"task": s.task, "func": s.func, "solution": tasks.prompt(s.task) + s.text, "cases": tasks.cases(s.task), "check": tasks.check(s.task)})


def graders_for(s):
    return ["exit"] if "test" not in s.styles else [g for g, (language, _) in GRADERS.items() if language == s.language]


def as_pid1(s):
    """naive.py as pid 1 of namespaces of its own; nothing of it outlives unshare."""
    need = shutil.which("unshare")
    top = Path(tempfile.mkdtemp(prefix="pid1-", dir=BASE))
    top.chmod(0o755)
    own(top)
    (top / "job.json").write_text(job(s))
    (top / "naive.py").write_text(NAIVE)
    own(top / "job.json")
    p = subprocess.run([*as_user(TEST_USER), need, "--user", "--map-root-user", "--pid", "--mount", "--ipc", "--net", "--fork", "--kill-child",
                        "--mount-proc", "/usr/bin/prlimit", "--as=2000000000", "--fsize=10000000", "--nofile=128", "/usr/bin/python3",
                        "naive.py", "pid1"], cwd=top, stdin=subprocess.DEVNULL, capture_output=True, timeout=30 * SLOW)
    return p.returncode


def request(s, grader):
    return {"id": f"{s.path.parent.name}/{s.name} {grader}", "language": "python", "code": NAIVE, "args": [grader],
            "files": [{"path": "job.json", "content": job(s)}],
            "limits": {"wall_ms": int(20000 * SLOW), "memory_bytes": 400 << 20, "pids": 24, "disk_bytes": 32 << 20}}


def pairs(everything):
    """(solution, grader): the first that the files name; the honest (in plain style) and the plainly wrong everywhere; with --all-graders the tricks too."""
    for s in TRICKS:
        for g in graders_for(s):
            if g in s.fools[:SHOWN] or everything and (g in s.fools or g != "pid1"):
                yield s, g
    for s in [*PLAIN, *WRONG]:
        yield from ((s, g) for g in graders_for(s) if g != "pid1")


def ask_naive(everything):
    """{(folder/file, grader): exit status or why there is none}."""
    told = {}
    todo = list(pairs(everything))
    jars = [(s, g) for s, g in todo if g != "pid1"]
    text = "".join(json.dumps(request(s, g)) + "\n" for s, g in jars).encode()
    c = run("batch", "-", "-q", "-j", AT_ONCE, "--unordered", "--preload", PRELOAD, input=text, timeout=600)
    for line in c.out.splitlines():
        r = json.loads(line)
        told[tuple(r["id"].split(" "))] = r["exit_code"] if r["exit_code"] is not None else f"{r['status']}/{r['reason']}"
    for s, g in todo:
        if g == "pid1":
            told[f"{s.path.parent.name}/{s.name}", g] = as_pid1(s)
    assert len(told) == len(todo), f"{len(told)} results of {len(todo)}: {c}"
    return told


@pytest.fixture(scope="session")
def naive(request):
    return ask_naive(request.config.getoption("--all-graders"))


def fooled(naive, s):
    return [g for g in graders_for(s) if naive.get((f"{s.path.parent.name}/{s.name}", g)) == FOOLED]


@pytest.mark.parametrize("s", TRICKS, ids=ids(TRICKS))
def test_the_trick_fools_a_naive_grader(naive, s):
    told = {g: v for (name, g), v in naive.items() if name == f"tricks/{s.name}"}
    ROWS.setdefault(s.name, {})["naive graders fooled"] = ", ".join(fooled(naive, s))
    assert s.how, "a trick says at its top how it works"
    assert fooled(naive, s), f"{s.name} fools nobody: {told}"
    wrong = {g: v for g, v in told.items() if (v == FOOLED) != (g in s.fools) and g not in s.sometimes}
    assert not wrong, f"{s.name} names {s.fools}: {wrong}"


@pytest.mark.parametrize("s", WRONG, ids=ids(WRONG))
def test_naive_graders_fail_what_is_plainly_wrong(naive, s):
    """Else being passed by them would say nothing."""
    assert not fooled(naive, s)


@pytest.mark.parametrize("s", PLAIN, ids=ids(PLAIN))
def test_naive_graders_pass_what_is_honest(naive, s):
    told = {g: v for (name, g), v in naive.items() if name == f"honest/{s.name}"}
    assert told and all(v == FOOLED for v in told.values()), told


def test_there_are_enough_tricks_of_every_kind():
    kinds = {}
    for s in TRICKS:
        kinds.setdefault(s.name.split("_")[0].split(".")[0], []).append(s.name)
    assert len(TRICKS) >= 70
    for kind in "own check exit eq read forge patch kill daemon flood hang args exc gen deep hash big nan neg surrogate import js sh".split():
        assert len(kinds.get(kind, [])) >= 2, kind


# ---- belljar ----------------------------------------------------------------------------------------

@functools.cache
def has(verb):
    return run(verb, "--help").rc == 0


LIMITS = ["--timeout", f"{int(10 * SLOW)}s", "--cpu-time", f"{int(4 * SLOW)}s"]  # for what no limit of a case ends


def need_verb(verb):
    assert has(verb), f"this belljar has no `{verb}`"


def grade(s, *opts):
    return run("test", s.path, "--func", s.func, "--cases", cases_of(s.task), "--json", *LIMITS, *opts, timeout=30)


@functools.cache
def cases_of(task):
    """The cases with their time limits stretched for a slow machine, where whoever runs belljar can read them."""
    rows = [{**c, "timeout_s": c["timeout_s"] * SLOW} for c in tasks.cases(task)]
    path = BASE / f"cases-{task}.json"
    path.write_text(json.dumps(rows))
    path.chmod(0o644)
    return path


def in_shared(s):
    return s.name.startswith(SHARED_TOO) or s.path.parent.name != "tricks" and s in PLAIN + WRONG


@functools.cache
def graded(shared, everything):
    """Every solution through `belljar test`, several at once: {folder/file: Completed or what went wrong}."""
    opts = ["--shared"] if shared else []

    def one(s):
        try:
            return grade(s, *opts)  # what hangs is cut off by the harness
        except AssertionError as e:
            return str(e)

    rows = [s for s in [*TRICKS, *HONEST, *WRONG] if "test" in s.styles and (everything or not shared or in_shared(s))]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip([f"{s.path.parent.name}/{s.name}" for s in rows], pool.map(one, rows)))


def result_of(s, shared, config):
    need_verb("test")
    everything = config.getoption("--all-graders")
    if shared and not everything and not in_shared(s):
        pytest.skip("--shared for all of them: with --all-graders")
    c = graded(shared, everything)[f"{s.path.parent.name}/{s.name}"]
    assert isinstance(c, Completed), f"belljar test hangs: {c}"
    assert isinstance(c.result, dict), f"no result object: {c}"
    return c


def column(result):
    if result.get("all_passed"):
        return "PASSED"
    reasons = sorted({t["reason"] or "passed" for t in result["test_results"]})
    return ", ".join(reasons) if reasons else str(result.get("reason"))


@pytest.mark.parametrize("kind,opts", TWO_KINDS, ids=["each", "shared"])
@pytest.mark.parametrize("s", CALLED, ids=ids(CALLED))
def test_belljar_is_not_fooled(s, kind, opts, pytestconfig):
    c = result_of(s, bool(opts), pytestconfig)
    ROWS.setdefault(s.name, {})[kind] = column(c.result)
    assert c["all_passed"] is False and c["score"] < 1 and c.rc == 1, f"{s.name} passes: {c}"
    if c["reason"]:  # it did not load: no case was begun
        assert c["reason"] in REASONS and c["error"] and c["passed"] == 0, f"untyped: {c}"
        return
    assert c["passed"] < c["total"] == len(tasks.cases(s.task)) == len(c["test_results"]), f"every case has a result: {c}"
    for t in c["test_results"]:
        assert t["passed"] is (t["reason"] is None), t
        assert t["reason"] is None or t["reason"] in REASONS, f"untyped: {t}"
        assert t["passed"] or t["detail"], f"no reason given: {t}"


@pytest.mark.parametrize("kind,opts", TWO_KINDS, ids=["each", "shared"])
@pytest.mark.parametrize("s", [s for s in HONEST if "test" in s.styles], ids=lambda s: s.name)
def test_belljar_passes_the_honest(s, kind, opts, pytestconfig):
    c = result_of(s, bool(opts), pytestconfig)
    assert c["all_passed"] is True and c["success"] is True and c["score"] == 1 and c.rc == 0, str(c)
    assert c["passed"] == c["total"] == len(tasks.cases(s.task)) and c["failed"] == 0


@pytest.mark.parametrize("kind,opts", TWO_KINDS, ids=["each", "shared"])
@pytest.mark.parametrize("s", WRONG, ids=ids(WRONG))
def test_belljar_fails_the_plainly_wrong(s, kind, opts, pytestconfig):
    c = result_of(s, bool(opts), pytestconfig)
    assert c["all_passed"] is False and c["passed"] < c["total"]


# ---- belljar eval, HumanEval's format ----------------------------------------------------------------

EVALUATED = [s for s in [*TRICKS, *HONEST, *WRONG] if s.language == "python" and "eval" in s.styles]
EVAL_BLIND = {  # right by what the check text asks: {file: why}
    "bool_int.py": "1 == True, and a check text compares with ==",
    **dict.fromkeys(["patch_time.py", "patch_alarm.py", "patch_alarm_caught.py"], "right, and later than a limit of 0.5 s, which eval has not"),
}


@functools.cache
def evaluated():
    """All Python solutions in one `belljar eval humaneval`: {folder/file: the line of its result}."""
    top = Path(tempfile.mkdtemp(prefix="eval-", dir=BASE))
    top.chmod(0o755)
    own(top)
    data, samples, out = top / "data.jsonl", top / "samples.jsonl", top / "results.jsonl"
    names = sorted({s.task for s in EVALUATED})
    data.write_text("".join(json.dumps({"task_id": f"Cheats/{n}", "prompt": tasks.prompt(n), "entry_point": n, "canonical_solution": "", "test": tasks.check(n)})
                            + "\n" for n in names))
    samples.write_text("".join(json.dumps({"task_id": f"Cheats/{s.task}", "completion": s.text}) + "\n" for s in EVALUATED))
    for f in (data, samples):
        f.chmod(0o644)
    try:
        c = run("eval", "humaneval", "--data", data, "--samples", samples, "--out", out, "-j", AT_ONCE, *LIMITS, timeout=300)
    except AssertionError as e:
        return str(e)
    rows = [json.loads(l) for l in out.read_text().splitlines()] if out.exists() else []
    if len(rows) != len(EVALUATED):
        return f"{len(rows)} results of {len(EVALUATED)}: {c}"
    return {f"{s.path.parent.name}/{s.name}": r for s, r in zip(EVALUATED, rows)}


@pytest.mark.parametrize("s", EVALUATED, ids=[f"{s.path.parent.name}/{s.name}" for s in EVALUATED])
def test_belljar_eval(s):
    need_verb("eval")
    if isinstance(evaluated(), str):
        pytest.fail(evaluated())
    r = evaluated()[f"{s.path.parent.name}/{s.name}"]
    if s.path.parent.name == "tricks":
        ROWS.setdefault(s.name, {})["belljar eval"] = "PASSED" if r["passed"] else r["belljar"]["reason"]
    if s.name in EVAL_BLIND:
        pytest.skip(f"{s.name} is no cheat here: {EVAL_BLIND[s.name]}")
    assert r["task_id"] == f"Cheats/{s.task}"
    assert r["passed"] is (s.path.parent.name == "honest"), r
    assert r["result"] and (r["passed"] or r["result"] != "passed"), r
    assert r["belljar"]["reason"] in ({None} if r["passed"] else REASONS | {"test_error"}) and (r["passed"] or r["belljar"]["detail"]), f"untyped: {r}"
