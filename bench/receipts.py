#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What receipts cost: `belljar batch` and `belljar run` with them and without, turn by turn in one run. Prints figures; never passes or fails.

    bench/receipts.py [--rounds 30] [--chunk 200] [--runs 150] [--job python|true] [--json]

A batch with `--audit required` and one with `--audit off` stand side by side; each gets a chunk of lines in turn, and the time until its last result is
taken. A machine that is noisy is noisy for both: the ratio of one run holds where times do not. The order changes from round to round.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BELLJAR = os.environ.get("BELLJAR", str(REPO / "build" / "belljar"))
MODES = ("off", "required")


def job(name, n):
    """Every run has code of its own: it is hashed, packed and kept."""
    if name == "true":
        return {"argv": ["/bin/true"]}
    return {"code": f"# {n}\n" + "x = [i * i for i in range(100)]\n" * 10 + f"print(sum(x), {n})\n"}


class Batch:
    def __init__(self, mode, env):
        self.p = subprocess.Popen([BELLJAR, "batch", "--unordered", "-q", "--audit", mode, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, bufsize=1 << 20)
        self.n = 0

    def chunk(self, name, size):
        """Seconds for so many runs."""
        text = "".join(json.dumps(job(name, self.n + i)) + "\n" for i in range(size)).encode()
        self.n += size
        began = time.perf_counter()
        self.p.stdin.write(text)
        self.p.stdin.flush()
        for _ in range(size):
            line = self.p.stdout.readline()
            assert b'"success":true' in line, line
        return time.perf_counter() - began

    def end(self):
        self.p.stdin.close()
        return self.p.wait(60)


def measure_batch(a, env):
    times = {m: [] for m in MODES}
    batches = {m: Batch(m, env) for m in MODES}
    for b in batches.values():
        b.chunk(a.job, a.chunk)  # warm
    for i in range(a.rounds):
        for m in MODES if i % 2 else MODES[::-1]:
            times[m].append(batches[m].chunk(a.job, a.chunk))
    for b in batches.values():
        assert b.end() == 0
    rate = {m: a.chunk / statistics.median(times[m]) for m in MODES}
    ratios = [o / r for o, r in zip(times["off"], times["required"])]
    return {"off_per_s": round(rate["off"], 1), "required_per_s": round(rate["required"], 1), "ratio": round(sum(times["off"]) / sum(times["required"]), 3),
            "ratio_median_of_rounds": round(statistics.median(ratios), 3)}


def measure_run(a, env):
    times = {m: [] for m in MODES}
    for i in range(a.runs + 3):
        for m in MODES if i % 2 else MODES[::-1]:
            began = time.perf_counter()
            subprocess.run([BELLJAR, "run", "-q", "--audit", m, "--", "/bin/true"], env=env, check=True)
            if i >= 3:
                times[m].append((time.perf_counter() - began) * 1000)
    out = {}
    for m in MODES:
        t = sorted(times[m])
        out[f"{m}_p50_ms"], out[f"{m}_p90_ms"] = round(t[len(t) // 2], 2), round(t[len(t) * 9 // 10], 2)
    out["added_p50_ms"] = round(out["required_p50_ms"] - out["off_p50_ms"], 2)
    return out


def main():
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument("--rounds", type=int, default=30)
    o.add_argument("--chunk", type=int, default=200)
    o.add_argument("--runs", type=int, default=150)
    o.add_argument("--job", choices=["python", "true"], default="python")
    o.add_argument("--json", action="store_true")
    a = o.parse_args()
    # On a disk, not in memory: /var/tmp is one where /tmp may not be.
    state = tempfile.mkdtemp(prefix="belljar-bench-", dir="/var/tmp")
    env = {**os.environ, "BELLJAR_STATE_DIR": state}
    try:
        result = {"job": a.job, "batch": measure_batch(a, env), "run": measure_run(a, env)}
        check = subprocess.run([BELLJAR, "audit", "verify", "--json"], env=env, capture_output=True)
        result["receipts"], result["sound"] = json.loads(check.stdout)["receipts"], check.returncode == 0
        result["bytes_per_receipt"] = round(sum(f.stat().st_size for f in Path(state).glob("receipts.db*")) / max(result["receipts"], 1))
    finally:
        shutil.rmtree(state, ignore_errors=True)
    if a.json:
        print(json.dumps(result, indent=2))
        return
    b, r = result["batch"], result["run"]
    print(f"batch ({a.job}): {b['required_per_s']} runs/s with receipts, {b['off_per_s']} without: {b['ratio'] * 100:.1f} % (median of rounds "
          f"{b['ratio_median_of_rounds'] * 100:.1f} %)")
    print(f"run -- /bin/true: p50 {r['required_p50_ms']} ms with, {r['off_p50_ms']} ms without (+{r['added_p50_ms']} ms); p90 {r['required_p90_ms']} and {r['off_p90_ms']} ms")
    print(f"{result['receipts']} receipts, {result['bytes_per_receipt']} bytes each, {'sound' if result['sound'] else 'NOT SOUND'}")


if __name__ == "__main__":
    main()
