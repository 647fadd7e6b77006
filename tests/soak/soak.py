# SPDX-License-Identifier: Apache-2.0
"""Many runs through one `belljar batch`: is anything more afterwards than before, and does a run cost the same at the end as at the start?

    tests/soak/soak.py [--runs 100000] [--jobs 8] [--every 10000] [--recycle] [--json FILE]

Looks every so many runs, when the batch is idle and its jars are taken down. Prints one line per look and exits 1 on growth. What is looked at:
  rss         resident KiB of front, keeper, makers and zygotes together; of jars that wait only the count (they are used once)
  fds         descriptors of the same processes
  procs       processes of the batch
  cgroups     of the whole machine, dying ones included (/proc/cgroups), and folders below belljar/
  mounts      lines of mountinfo of keeper and makers
  netns       distinct network namespaces of the batch's processes, and objects of the kernel's slab where it can be read
  uids        distinct host ids of the batch's processes
  slots       slot locks that are held
"""
import argparse
import atexit
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
# A hundred thousand receipts are nobody's.
if "BELLJAR_STATE_DIR" not in os.environ:
    os.environ["BELLJAR_STATE_DIR"] = tempfile.mkdtemp(prefix="belljar-soak-", dir="/var/tmp")
    atexit.register(shutil.rmtree, os.environ["BELLJAR_STATE_DIR"], True)
BELLJAR = os.environ.get("BELLJAR", str(REPO / "build" / "belljar"))
ID_BASE = 0x70000000
HANG_S = 120  # without a single result
SETTLE_S = 8  # for taking down jars and the kernel's own deferred work

MIX = [
    {"language": "python", "code": "print(1 + 1)"},
    {"language": "python", "code": "import os\nif not os.fork(): os._exit(0)\nos.wait()\nopen('/tmp/x', 'w').write('x' * 1000)"},
    {"argv": ["/bin/true"]},
    {"language": "python", "code": "print(2)", "stdin": "input\n"},
    {"language": "bash", "code": "echo $((1+1)); exit 3"},
    {"language": "python", "code": "1/0"},
]
# What may be more at the end than after the warm-up: an allowance, then a share. Everything is counted while nothing runs.
MAY_GROW = {"rss": (2048, 0.05), "fds": (4, 0), "procs": (6, 0.1), "cgroups": (12, 0.1), "cgroup_dirs": (8, 0.1), "mounts": (8, 0.1), "netns": (4, 0.1),
            "net_slab": (16, 0.25), "uids": (6, 0.1), "slots": (4, 0)}
SLOWER = 1.35  # the slowest tenth against the median: a machine has neighbours, a leak goes on


# ---- looking -------------------------------------------------------------------------------------

def read(path):
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def descendants(root):
    table = {}
    for name in os.listdir("/proc"):
        stat = read(f"/proc/{name}/stat") if name.isdigit() else ""
        if stat:
            table[int(name)] = (stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2:].split())
    found, grew = {root: table.get(root, ("?", ["X"] * 30))}, True
    while grew:
        grew = False
        for pid, (name, rest) in table.items():
            if pid not in found and int(rest[1]) in found and rest[0] not in "ZX":
                found[pid] = (name, rest)
                grew = True
    return found


def is_trusted(pid):
    """Front, keeper, maker, zygote: not inside a jar."""
    ids = re.search(r"^NSpid:\s*(.*)$", read(f"/proc/{pid}/status"), re.M)
    return bool(ids) and len(ids[1].split()) == 1


def rss_kib(pid):
    m = re.search(r"^VmRSS:\s*(\d+)", read(f"/proc/{pid}/status"), re.M)
    return int(m[1]) if m else 0


def fd_count(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def net_namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None


def cgroup_folders():
    n = 0
    for line in read("/proc/self/mounts").splitlines():
        f = line.split()
        if f[2] in ("cgroup", "cgroup2"):
            n += sum(1 for _ in Path(f[1]).glob("belljar/*/")) + sum(1 for _ in Path(f[1]).glob("*/belljar/*/"))
    return n


def held_slots():
    n = 0
    for lock in Path("/run/belljar/slots").glob("*"):
        try:
            with open(lock) as f:
                fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            n += 1
    return n


def look(root):
    tree = descendants(root)
    trusted = [p for p in tree if is_trusted(p)]
    named = [p for p in trusted if "keeper" in tree[p][0] or "maker" in tree[p][0]]
    slab = re.search(r"^net_namespace\s+(\d+)", read("/proc/slabinfo"), re.M)
    uids = {read(f"/proc/{p}/status").partition("Uid:")[2].split()[:1][0] for p in tree if "Uid:" in read(f"/proc/{p}/status")}
    return {
        "rss": sum(map(rss_kib, trusted)), "fds": sum(map(fd_count, trusted)), "procs": len(tree),
        "cgroups": sum(int(x.split()[2]) for x in read("/proc/cgroups").splitlines()[1:]), "cgroup_dirs": cgroup_folders(),
        "mounts": sum(read(f"/proc/{p}/mountinfo").count("\n") for p in named), "netns": len({net_namespace(p) for p in tree} - {None}),
        "net_slab": int(slab[1]) if slab else 0, "uids": sum(1 for u in uids if int(u) >= ID_BASE), "slots": held_slots(),
    }


def settled(root):
    """The least of each figure within some seconds: jars are taken down behind the results."""
    best, end = look(root), time.monotonic() + SETTLE_S
    while time.monotonic() < end:
        time.sleep(0.5)
        now = look(root)
        best = {k: min(v, now[k]) for k, v in best.items()}
    return best


# ---- running -------------------------------------------------------------------------------------

class Batch:
    def __init__(self, jobs, opts):
        self.p = subprocess.Popen([BELLJAR, "batch", "-", "-j", str(jobs), "--unordered", "--quiet", *opts], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=sys.stderr, start_new_session=True)
        self.done, self.warm, self.bad, self.last = 0, 0, [], time.monotonic()
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self):
        for line in self.p.stdout:
            # the whole of it need not be parsed: this process is on the same two cores
            self.warm += b'"start":"warm"' in line
            if b'"status":"completed"' not in line and len(self.bad) < 5:
                self.bad.append(line[:600])
            self.done += 1
            self.last = time.monotonic()

    def run(self, n, window):
        """n requests, never more than a window on their way; returns seconds."""
        first, sent, t = self.done, 0, time.monotonic()
        lines = [json.dumps({**r, "client": "soak"}).encode() + b"\n" for r in MIX]
        while self.done - first < n:
            room = min(n - sent, window - (sent - (self.done - first)))
            if room > 0:
                self.p.stdin.write(b"".join(lines[(sent + i) % len(lines)] for i in range(room)))
                self.p.stdin.flush()
                sent += room
            time.sleep(0.001)
            if self.p.poll() is not None or time.monotonic() - max(self.last, t) > HANG_S:
                sys.exit(f"error: batch {'ended' if self.p.poll() is not None else 'hangs'} after {self.done} results of {first + sent} requests")
        return time.monotonic() - t

    def close(self):
        self.p.stdin.close()
        try:
            return self.p.wait(60)
        except subprocess.TimeoutExpired:
            self.p.kill()
            return None


def grown(first, last):
    """The figures that are more at the end than they may be."""
    found = []
    for name, (plus, share) in MAY_GROW.items():
        limit = first[name] + max(plus, first[name] * share)
        if last[name] > limit:
            found.append(f"{name}: {first[name]} -> {last[name]} (at most {limit:.0f})")
    return found


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--runs", type=int, default=100000)
    a.add_argument("--jobs", type=int, default=8)
    a.add_argument("--every", type=int, default=0, help="runs between two looks (default: a tenth)")
    a.add_argument("--recycle", action="store_true")
    a.add_argument("--json", metavar="FILE")
    args = a.parse_args()
    every = args.every or max(1, args.runs // 10)
    outside = look(os.getpid())
    batch = Batch(args.jobs, ["--recycle"] if args.recycle else [])
    batch.run(max(200, every // 20), 4 * args.jobs)  # pools and caches fill before the first look
    names = list(MAY_GROW)
    print(f"{'runs':>8} {'runs/s':>7} " + " ".join(f"{n:>11}" for n in names), flush=True)
    rows, total = [settled(batch.p.pid)], 0
    print(f"{0:>8} {'':>7} " + " ".join(f"{rows[0][n]:>11}" for n in names), flush=True)
    rates = []
    while total < args.runs:
        n = min(every, args.runs - total)
        rates.append(n / batch.run(n, 4 * args.jobs))
        total += n
        rows.append(settled(batch.p.pid))
        print(f"{total:>8} {rates[-1]:>7.0f} " + " ".join(f"{rows[-1][x]:>11}" for x in names), flush=True)
    status = batch.close()
    time.sleep(1)
    after = look(os.getpid())
    wrong = grown(rows[0], rows[-1])
    # flat cost: the last third against the first
    third = max(1, len(rates) // 3)
    first, last = sum(rates[:third]) / third, sum(rates[-third:]) / third
    if last * SLOWER < first:
        wrong.append(f"slower: {first:.0f}/s in the first third, {last:.0f}/s in the last")
    for name in ("cgroup_dirs", "slots"):
        if after[name] > outside[name] + 4:  # others may use belljar at the same time
            wrong.append(f"after the end: {name} {outside[name]} -> {after[name]}")
    if batch.bad:
        wrong.append(f"runs that did not end by themselves: {batch.bad[0]!r}")
    if status not in (0, 1):
        wrong.append(f"exit status {status}")
    print(f"{batch.done} runs, {batch.warm} warm; first third {first:.0f}/s, last third {last:.0f}/s; before/after: "
          + ", ".join(f"{n} {rows[0][n]}/{rows[-1][n]}" for n in names))
    for w in wrong:
        print(f"GREW: {w}")
    if args.json:
        Path(args.json).write_text(json.dumps({"rows": rows, "rates": rates, "wrong": wrong, "warm": batch.warm, "runs": batch.done}, indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
