# SPDX-License-Identifier: Apache-2.0
"""Does a run cost the same however many go on at once? CPU time of one run with 1, 8 and 64 in flight, in one interleaved measurement.

    bench/flat.py [--runs 256] [--rounds 3] [--recycle] [--json FILE]

Three batches (-j 1, 8, 64) live side by side and get their runs in turns, round by round, so that a busy machine is busy for all of them. What counts is the CPU
time of all of a batch's processes, the dead ones included, clearing away and refilling too. Ratios are to one at a time; nothing passes or fails here.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO / "tests" / "soak"))
from soak import BELLJAR, cpu_ms  # noqa: E402

WIDTHS = (1, 8, 64)
LINE = json.dumps({"language": "python", "code": "print(1 + 1)", "client": "flat"}).encode() + b"\n"
HANG_S = 120


class Batch:
    def __init__(self, width, opts):
        self.width, self.done, self.bad = width, 0, []
        self.p = subprocess.Popen([BELLJAR, "batch", "-", "-j", str(width), "--unordered", "--quiet", *opts], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self):
        for line in self.p.stdout:
            if b'"success":true' not in line or b'"start":"warm"' not in line:
                self.bad.append(line[:300])
            self.done += 1

    def run(self, n):
        """n runs, as many at once as it is made for."""
        first, sent, end = self.done, 0, time.monotonic() + HANG_S
        while self.done - first < n:
            room = min(n - sent, self.width - (sent - (self.done - first)))
            if room > 0:
                self.p.stdin.write(LINE * room)
                self.p.stdin.flush()
                sent += room
            time.sleep(0.0005)
            if self.p.poll() is not None or time.monotonic() > end:
                sys.exit(f"error: batch -j {self.width} ended or hangs")

    def rest(self):
        """Until it does nothing any more: what the runs left to do is theirs."""
        before, end = cpu_ms(self.p.pid), time.monotonic() + 5
        while time.monotonic() < end:
            time.sleep(0.25)
            now = cpu_ms(self.p.pid)
            if now - before < 15:
                return
            before = now

    def measure(self, n):
        before = cpu_ms(self.p.pid)
        self.run(n)
        self.rest()
        return (cpu_ms(self.p.pid) - before) / n

    def close(self):
        self.p.stdin.close()
        self.p.wait(60)


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--runs", type=int, default=256, help="of each batch and round")
    a.add_argument("--rounds", type=int, default=3)
    a.add_argument("--recycle", action="store_true")
    a.add_argument("--json", metavar="FILE")
    args = a.parse_args()
    batches = [Batch(w, ["--recycle"] if args.recycle else []) for w in WIDTHS]
    for b in batches:
        b.run(2 * b.width)
        b.rest()
        b.bad.clear()  # until the zygotes are there
    cost = {b.width: [] for b in batches}
    for _ in range(args.rounds):
        for b in batches:
            cost[b.width].append(b.measure(args.runs))
    bad = sum((b.bad for b in batches), [])
    for b in batches:
        b.close()
    ms = {w: statistics.median(c) for w, c in cost.items()}
    print(f"{'in flight':>9} {'cpu ms of a run':>16} {'times one':>10}")
    for w in WIDTHS:
        print(f"{w:>9} {ms[w]:>16.2f} {ms[w] / ms[1]:>10.2f}")
    if bad:
        print(f"{len(bad)} runs were not warm, or failed: {bad[0]!r}")
    if args.json:
        Path(args.json).write_text(json.dumps({"cpu_ms": ms, "rounds": cost, "times_one": {w: ms[w] / ms[1] for w in WIDTHS}, "bad": len(bad),
                                               "cpus": os.cpu_count()}, indent=1))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
