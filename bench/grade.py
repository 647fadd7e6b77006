#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What grading costs: samples a second beside a control that trusts exit codes, and the price of one more case. Prints figures; never passes or fails.

    bench/grade.py [--rounds 5] [--jobs N] [--only humaneval,mbpp,completions,case] [--case-rounds 20] [--json FILE]

Samples: the references of HumanEval and MBPP through `belljar eval` in its default mode, and through one bare `/usr/bin/python3` for each sample (solution and tests in one
program, as many at a time), whose exit code is believed; round by round in turns, so that a busy machine is busy for both. The ratio is of the same round.
Completions: the real solutions of shared/data/evalplus/runs, with those that hang, through `belljar eval humaneval`, and through a control in the manner of human-eval's harness: four
workers, a forked Python for each sample with solution and tests in one namespace, ended after three seconds by the clock.
Cases: `belljar test` with 1 and with 101 cases in turns; the difference by 100.
"""
import argparse
import gzip
import json
import os
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BELLJAR = os.environ.get("BELLJAR", str(REPO / "build" / "belljar"))
DATA = Path(os.environ.get("BELLJAR_DATA", REPO.parent / "shared" / "data"))
MORE = 100


def tasks(path):
    with gzip.open(path, "rt") as f:
        return [json.loads(line) for line in f if line.strip()]


def humaneval(t):
    return f"{t['prompt']}{t['canonical_solution']}\n{t['test']}\ncheck({t['entry_point']})\n"


def mbpp(t):
    return "\n".join([t["code"], t.get("test_setup_code") or "", *t["test_list"], ""])


SETS = {"humaneval": (DATA / "humaneval" / "HumanEval.jsonl.gz", humaneval), "mbpp": (DATA / "mbpp" / "mbpp.jsonl.gz", mbpp)}


def control(programs, jobs):
    """(seconds, passed): as naive as can be, and as fast as that gets."""
    def one(program):
        try:
            return subprocess.run(["/usr/bin/python3", "-c", program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30).returncode == 0
        except subprocess.TimeoutExpired:
            return False
    begin = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        passed = sum(pool.map(one, programs))
    return time.monotonic() - begin, passed


def evaluate(name, path, jobs):
    begin = time.monotonic()
    c = subprocess.run([BELLJAR, "eval", name, "--data", str(path), "--references", "--json", "-j", str(jobs)], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    if c.returncode not in (0, 1):
        raise SystemExit(f"belljar eval {name}: {c.stderr[-500:]}")
    return seconds, json.loads(c.stdout)["passed"]


def samples(name, rounds, jobs):
    path, program = SETS[name]
    all_ = tasks(path)
    programs = [program(t) for t in all_]
    rows = []
    for i in range(rounds):
        both = {}
        for who in (("belljar", "control") if i % 2 else ("control", "belljar")):
            both[who] = evaluate(name, path, jobs) if who == "belljar" else control(programs, jobs)
        rows.append(both)
    n = len(all_)
    rate = {who: [n / r[who][0] for r in rows] for who in ("belljar", "control")}
    ratios = [r["control"][0] / r["belljar"][0] for r in rows]
    out = {"samples": n, "jobs": jobs, "rounds": rounds, "passed": {w: rows[-1][w][1] for w in rate}, "per_second": {w: {"median": statistics.median(v), "best": max(v)} for w, v in rate.items()},
           "ratio": {"median": statistics.median(ratios), "lowest": min(ratios), "highest": max(ratios)}}
    print(f"{name}: {n} samples, {jobs} at once, {rounds} rounds")
    for who, v in rate.items():
        print(f"  {who:<8} {statistics.median(v):7.0f} samples/s median, {max(v):7.0f} best, {out['passed'][who]} passed")
    print(f"  ratio    {out['ratio']['median']:7.2f} median, {min(ratios):.2f} to {max(ratios):.2f}")
    return out


def forked(programs, workers=4, limit=3.0):
    """(seconds, passed): a forked child for each, which is ended after `limit` seconds of wall clock."""
    running, passed, waiting = {}, 0, list(programs)[::-1]
    begin = time.monotonic()
    while waiting or running:
        while waiting and len(running) < workers:
            program, pid = waiting.pop(), os.fork()
            if pid == 0:
                null = os.open(os.devnull, os.O_RDWR)
                for fd in (0, 1, 2):
                    os.dup2(null, fd)
                code = 1
                try:
                    exec(program, {"__name__": "sample"})  # the control's point: it trusts what it runs
                    code = 0
                except BaseException:
                    pass
                os._exit(code)
            running[pid] = time.monotonic() + limit
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            passed += status == 0
            del running[pid]
            continue
        for late in [p for p, end in running.items() if time.monotonic() > end]:
            os.kill(late, 9)
            running[late] = float("inf")
        time.sleep(0.0005)
    return time.monotonic() - begin, passed


def completions(rounds, jobs):
    path = SETS["humaneval"][0]
    of = {t["task_id"]: t for t in tasks(path)}
    found = []
    for file in sorted((DATA / "evalplus" / "runs").glob("*.json.gz")):
        with gzip.open(file, "rt") as f:
            found += [(task, s["solution"]) for task, list_ in json.load(f)["eval"].items() for s in list_]
    if not found:
        print("completions: no runs in", DATA)
        return None
    programs = [f"{of[t]['prompt']}    pass\n\n{code}\n{of[t]['test']}\ncheck({of[t]['entry_point']})\n" for t, code in found]
    rows = []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        samples_file = Path(top) / "samples.jsonl"
        samples_file.write_text("".join(json.dumps({"task_id": t, "solution": code}) + "\n" for t, code in found))

        def ours():
            begin = time.monotonic()
            c = subprocess.run([BELLJAR, "eval", "humaneval", "--data", str(path), "--samples", str(samples_file), "--out", "/dev/null", "--json", "-j", str(jobs)], capture_output=True, text=True, check=False)
            if c.returncode not in (0, 1):
                raise SystemExit(f"belljar eval: {c.stderr[-500:]}")
            return time.monotonic() - begin, json.loads(c.stdout)["passed"]
        for i in range(rounds):
            both = {}
            for who in (("belljar", "forked") if i % 2 else ("forked", "belljar")):
                both[who] = ours() if who == "belljar" else forked(programs)
            rows.append(both)
    n = len(found)
    ratios = [r["forked"][0] / r["belljar"][0] for r in rows]
    rate = {who: [n / r[who][0] for r in rows] for who in ("belljar", "forked")}
    print(f"completions: {n} real samples, {rounds} rounds")
    for who, v in rate.items():
        print(f"  {who:<8} {statistics.median(v):7.0f} samples/s median, {max(v):7.0f} best, {rows[-1][who][1]} passed")
    print(f"  ratio    {statistics.median(ratios):7.2f} median, {min(ratios):.2f} to {max(ratios):.2f}")
    return {"samples": n, "rounds": rounds, "per_second": {w: statistics.median(v) for w, v in rate.items()}, "ratio": {"median": statistics.median(ratios), "lowest": min(ratios), "highest": max(ratios)}}


def case_cost(rounds):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        solution = Path(top) / "solution.py"
        solution.write_text("def f(a, b):\n    return a + b\n")
        files = {}
        for n in (1, 1 + MORE):
            files[n] = Path(top) / f"{n}.json"
            files[n].write_text(json.dumps([{"args": [i, 1], "expected": i + 1} for i in range(n)]))

        def once(n):
            begin = time.monotonic()
            c = subprocess.run([BELLJAR, "test", str(solution), "--func", "f", "--cases", str(files[n]), "-q"], capture_output=True, check=False)
            if c.returncode:
                raise SystemExit(f"belljar test: {c.returncode} {c.stderr[-300:]!r}")
            return time.monotonic() - begin
        took = {n: [] for n in files}
        for i in range(rounds):
            for n in sorted(files, reverse=i % 2):
                took[n].append(once(n))
    few, many = took[1], took[1 + MORE]
    best, median = (min(many) - min(few)) / MORE * 1e3, (statistics.median(many) - statistics.median(few)) / MORE * 1e3
    print(f"one more case: {best:.3f} ms best, {median:.3f} ms median (1 case {min(few) * 1e3:.1f} ms, {1 + MORE} cases {min(many) * 1e3:.1f} ms; {rounds} rounds)")
    return {"rounds": rounds, "best_ms": best, "median_ms": median}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--case-rounds", type=int, default=20)
    p.add_argument("--jobs", type=int, default=2 * len(os.sched_getaffinity(0)))
    p.add_argument("--only", default="humaneval,mbpp,completions,case")
    p.add_argument("--json", metavar="FILE")
    o = p.parse_args()
    out = {}
    for name in o.only.split(","):
        out[name] = case_cost(o.case_rounds) if name == "case" else completions(o.rounds, o.jobs) if name == "completions" else samples(name, o.rounds, o.jobs)
    if o.json:
        Path(o.json).write_text(json.dumps(out, indent=2) + "\n")


if __name__ == "__main__":
    main()
