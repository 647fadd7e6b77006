# SPDX-License-Identifier: Apache-2.0
"""bench: the object it prints has the fields of docs/bench.md, wrong results are errors, nothing is left behind. No test looks at how fast anything is."""
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from harness import BASE, BELLJAR, REPO, TEST_USER, Completed, as_user, environment, finish, run, seconds, start, wait_until

QUICK = ["bench", "--quick", "--rounds", "5", "--seconds", "100ms"]
ALL = ["bare", "bubblewrap", "nsjail", "firejail", "runc", "crun", "runsc", "docker", "podman", "belljar-run", "belljar-batch", "belljar-recycle"]
TOP = {"belljar", "host", "settings", "contenders", "jobs", "memory", "soak", "figures", "errors"}
CELL = {"name", "reason", "rounds", "p50_ms", "p90_ms", "p99_ms", "min_ms", "mean_ms", "inside_p50_ms", "inside_p90_ms", "runs_per_s", "cpu_ms", "cpu_by", "times_bare",
        "times_bubblewrap", "runs", "warm", "cold", "errors", "first_error"}
FIGURES = ["python_p50", "python_p50_low", "python_rate_8", "python_rate_8_recycled", "node_p50", "true_p50", "numpy_p50", "idle_pss_mb", "soak"]


def cell(c, job, name):
    row = next(j for j in c["jobs"] if j["name"] == job)
    return next(x for x in row["contenders"] if x["name"] == name)


@pytest.fixture(autouse=True)
def nothing_left():
    folders = set(glob.glob("/tmp/belljar-bench-*"))
    yield
    wait_until(lambda: set(glob.glob("/tmp/belljar-bench-*")) <= folders, 2)
    assert set(glob.glob("/tmp/belljar-bench-*")) <= folders


@pytest.fixture(scope="module")
def measured():
    c = run(*QUICK, "--json", "--only", "bare,belljar-run", "--jobs", "true,python", timeout=120)
    assert c.rc == 0 and c.err == b"" and c.result, str(c)
    return c


def test_the_object(measured):
    assert set(measured.result) == TOP
    assert measured["settings"] == {"quick": True, "rounds": 5, "seconds": 0.1}
    assert measured["host"]["cpus"] >= 1 and measured["host"]["root"] == (not TEST_USER and os.geteuid() == 0)
    assert [c["name"] for c in measured["contenders"]] == ["bare", "belljar-run"]
    assert all(set(c) == {"name", "available", "what", "reason"} and c["available"] and c["what"] for c in measured["contenders"])
    assert [j["name"] for j in measured["jobs"]] == ["python", "true", "node", "numpy"]
    assert [j["measured"] for j in measured["jobs"]] == [True, True, False, False]
    assert measured["errors"] == 0 and measured["soak"] is None


@pytest.mark.parametrize("job", ["python", "true"])
@pytest.mark.parametrize("name", ["bare", "belljar-run"])
def test_a_cell(measured, job, name):
    x = cell(measured, job, name)
    assert set(x) == CELL and x["reason"] is None and x["first_error"] is None and x["errors"] == 0
    assert x["rounds"] == 5 and x["runs"] > 5 and x["warm"] == x["cold"] == 0
    assert 0 < x["min_ms"] <= x["p50_ms"] <= x["p90_ms"] <= x["p99_ms"] and x["min_ms"] <= x["mean_ms"] <= x["p99_ms"]
    assert set(x["runs_per_s"]) == {"1", "2", "8", "64"} and x["runs_per_s"]["1"] > 0
    assert x["cpu_ms"] > 0 and x["cpu_by"]
    assert x["times_bare"] == pytest.approx(cell(measured, job, "bare")["p50_ms"] / x["p50_ms"], rel=1e-3)


def test_figures_without_belljar_batch(measured):
    assert [f["name"] for f in measured["figures"]] == FIGURES
    for f in measured["figures"]:
        assert set(f) == {"name", "figure", "verdict", "wanted", "measured", "reached", "note"}
        assert f["verdict"] == "not measured" and f["reached"] is None and f["measured"] is None and f["note"], f
    assert measured["memory"]["idle_python_jar_pss_mb"] is None and measured["memory"]["reason"]


def test_the_object_in_a_file_as_well():
    shared = Path(tempfile.mkdtemp(dir=BASE))
    shared.chmod(0o777)
    file = shared / "bench.json"
    c = run(*QUICK, "--out", file, "--only", "bare", "--jobs", "true", timeout=60)
    assert c.rc == 0 and b"p50 ms" in c.out, str(c)
    assert cell(json.loads(file.read_text()), "true", "bare")["p50_ms"] > 0
    c = run(*QUICK, "--out", shared / "no" / "where", "--only", "bare", "--jobs", "true", timeout=60)
    assert c.rc == 125 and b"--out" in c.err and c.out == b"", str(c)


def test_the_document_names_every_field():
    text = (REPO / "docs" / "bench.md").read_text()
    for word in [*TOP, *CELL, *FIGURES, *ALL]:
        assert f"`{word}`" in text, word


def test_the_tables():
    c = run(*QUICK, "--only", "bare,nsjail", "--jobs", "true", env={"NO_COLOR": "1"}, timeout=120)
    assert c.rc == 0 and "\033" not in c.stdout and c.err == b""
    assert "p50 ms" in c.stdout and "/bin/true" in c.stdout and "not measured" in c.stdout and "print(1+1)" not in c.stdout
    if not shutil.which("nsjail"):
        assert "nsjail  not measured: not installed" in c.stdout


@pytest.mark.parametrize("args,word", [(["--only", "bear"], "did you mean 'bare'"), (["--jobs", "perl"], "no 'perl'"), (["--rounds", "0"], "out of range"),
                                       (["--seconds", "0"], "out of range"), (["words"], "unexpected argument"), (["--frob"], "unknown option")])
def test_bad_options(args, word):
    c = run("bench", *args)
    assert c.rc == 2 and word in c.stderr and c.out == b""


def test_interrupted_it_cleans_up():
    p = start("bench", "--only", "bare,bubblewrap,belljar-run", "--rounds", "100000")
    time.sleep(seconds(1))
    p.send_signal(signal.SIGINT)
    c = finish(p, timeout=20)
    assert c.rc == 130 and c.out == b""


# ---- belljar batch, played by a script -----------------------------------------------------------

PLAYED = """#!/usr/bin/python3
import json, os, sys
if sys.argv[1] != "batch":
    os.execv({real!r}, sys.argv)
if os.environ["BELLJAR_PLAY"] == "missing":
    print("error: unknown command 'batch'", file=sys.stderr)
    sys.exit(2)
assert sys.argv[2] == "-" and "--unordered" in sys.argv and sys.argv[sys.argv.index("-j") + 1] in ("1", "2", "8", "64")
times = open(sys.argv[sys.argv.index("--times") + 1], "x") if "--times" in sys.argv else None
n = 0
for line in iter(sys.stdin.readline, ""):
    n += 1
    request = json.loads(line)
    assert ("argv" in request) != ("code" in request)
    result = {{"status": "completed", "exit_code": 0, "stdout": "2\\n" if request.get("code") else "", "start": "cold" if n < 3 else "warm"}}
    if os.environ["BELLJAR_PLAY"] == "wrong" and n > 40:
        result["stdout"] = "3\\n"
    if os.environ["BELLJAR_PLAY"] == "dies" and n > 40:
        sys.exit("error: the keeper is gone")
    print(json.dumps(result), flush=True)
    if times:
        # The first ones, until it is warm, do not count.
        print('{{"line":%d,"latency_s":%s}}' % (n, "9.0" if n < 11 else "0.000" + str(100 + n)), file=times, flush=True)
"""


@pytest.fixture(scope="module")
def stage():
    program = BELLJAR.parent / "belljar-bench"
    if not program.exists():
        pytest.skip("belljar-bench is not beside belljar: nothing can be put in belljar's place")
    folder = BASE / "stage"
    folder.mkdir(mode=0o755)
    shutil.copy2(program, folder / "belljar-bench")
    (folder / "belljar").write_text(PLAYED.format(real=str(BELLJAR)))
    (folder / "belljar").chmod(0o755)
    return folder


def played(stage, play, *args):
    p = subprocess.run([*as_user(TEST_USER), str(stage / "belljar-bench"), *QUICK[1:], "--json", *args], env=environment(TEST_USER, {"BELLJAR_PLAY": play}), cwd="/",
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds(120))
    return Completed(p.args, p.returncode, p.stdout, p.stderr, 0)


def figure(c, name):
    return next(f for f in c["figures"] if f["name"] == name)


def test_batch_is_measured(stage):
    c = played(stage, "well", "--only", "bare,belljar-batch,belljar-recycle", "--jobs", "python,true", "--soak", "1000")
    assert c.rc == 0 and c["errors"] == 0, str(c)
    for name in ("belljar-batch", "belljar-recycle"):
        x = cell(c, "python", name)
        assert x["rounds"] == 5 and x["warm"] == x["runs"] > 40 and x["cold"] == 0 and all(x["runs_per_s"].values()) and x["cpu_ms"] > 0
        # what it said of the five rounds, of which the first were the lines 11 to 15
        assert (x["inside_p50_ms"], x["inside_p90_ms"]) == (0.113, 0.115), x
    assert cell(c, "python", "bare")["inside_p50_ms"] is None
    f = figure(c, "python_p50")
    assert f["measured"] == pytest.approx(cell(c, "python", "bare")["p50_ms"] / 0.113, rel=1e-3) and f["reached"] == (f["measured"] >= 9)
    assert f["note"].startswith("0.11 against ") and "with its client's pipes" in f["note"]
    assert f["verdict"] == ("reached" if f["reached"] else "not reached")
    assert figure(c, "true_p50")["reached"] is None  # bubblewrap takes no part
    assert c["soak"]["runs"] == 1000 and set(c["soak"]["before"]) == set(c["soak"]["after"])
    assert figure(c, "soak")["reached"] is not True  # fewer than were asked for


def test_batch_that_does_not_exist(stage):
    c = played(stage, "missing", "--only", "bare,belljar-batch", "--jobs", "true")
    assert c.rc == 0 and cell(c, "true", "bare")["rounds"] == 5
    assert next(x for x in c["contenders"] if x["name"] == "belljar-batch")["reason"] == "belljar batch does not exist"


def test_wrong_results_are_errors(stage):
    c = played(stage, "wrong", "--only", "bare,belljar-batch", "--jobs", "python")
    x = cell(c, "python", "belljar-batch")
    assert c.rc == 1 and c["errors"] == x["errors"] > 0 and "stdout '3" in x["first_error"]


def test_batch_that_dies(stage):
    c = played(stage, "dies", "--only", "bare,belljar-batch", "--jobs", "true")
    assert c.rc == 0 and "the keeper is gone" in cell(c, "true", "belljar-batch")["reason"] and cell(c, "true", "bare")["errors"] == 0
