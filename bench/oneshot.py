# SPDX-License-Identifier: Apache-2.0
"""One-shot runs side by side: bare, bubblewrap, belljar. One interleaved run, so that a noisy machine is noisy for all of them.

usage: bench/oneshot.py [--rounds N] [--json FILE]

bubblewrap gets all namespaces, a read-only /usr, /proc, /dev and /tmp: no cgroups, no seccomp, no Landlock. belljar has every guard on.
Figures are never a pass or fail by absolute time; the ratios at the end are what counts.
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BELLJAR = os.environ.get("BELLJAR", os.path.join(ROOT, "build", "belljar"))
BWRAP = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib",
         "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/tmp", "--"]
JOBS = {
    "/bin/true": ["/bin/true"],
    "python3 -c 'print(1+1)'": ["/usr/bin/python3", "-c", "print(1+1)"],
}
CONTENDERS = {"bare": [], "bubblewrap": BWRAP, "belljar": [BELLJAR, "run", "--quiet", "--"]}


def once(command):
    start = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"error: {' '.join(command[:3])} ended with {done.returncode}: {done.stderr.decode(errors='replace')[:300]}")
    return time.perf_counter() - start


def latency(job, rounds):
    """p50 and p99 of each contender; they take turns."""
    times = {name: [] for name in CONTENDERS}
    for name, prefix in CONTENDERS.items():
        once(prefix + job)
    for _ in range(rounds):
        for name, prefix in CONTENDERS.items():
            times[name].append(once(prefix + job))
    return {name: {"p50_ms": statistics.median(t) * 1e3, "p99_ms": sorted(t)[max(0, int(len(t) * 0.99) - 1)] * 1e3}
            for name, t in times.items()}


def throughput(job, width, seconds):
    """Runs per second with `width` at a time, in three turns for each contender."""
    best = {}
    for _ in range(3):
        for name, prefix in CONTENDERS.items():
            with concurrent.futures.ThreadPoolExecutor(width) as pool:
                start = time.perf_counter()

                def work():
                    n = 0
                    while time.perf_counter() - start < seconds:
                        once(prefix + job)
                        n += 1
                    return n

                runs = sum(f.result() for f in [pool.submit(work) for _ in range(width)])
                best.setdefault(name, []).append(runs / (time.perf_counter() - start))
    return {name: statistics.median(v) for name, v in best.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--json", help="write the figures here too")
    args = parser.parse_args()
    result = {"cpus": os.cpu_count(), "kernel": os.uname().release, "jobs": {}}
    print(f"{'job':26} {'what':12} {'p50 ms':>8} {'p99 ms':>8} {'runs/s x2':>10} {'runs/s x8':>10}  p50 / bubblewrap")
    for title, job in JOBS.items():
        rows = latency(job, args.rounds)
        for width in (2, 8):
            for name, value in throughput(job, width, args.seconds).items():
                rows[name][f"runs_per_s_{width}"] = value
        for name, row in rows.items():
            row["p50_ratio_to_bubblewrap"] = row["p50_ms"] / rows["bubblewrap"]["p50_ms"]
            print(f"{title:26} {name:12} {row['p50_ms']:8.2f} {row['p99_ms']:8.2f} {row['runs_per_s_2']:10.0f} {row['runs_per_s_8']:10.0f}  "
                  f"{row['p50_ratio_to_bubblewrap']:.2f}")
        result["jobs"][title] = rows
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(result, out, indent=2)
        print(f"written to {args.json}")


main()
