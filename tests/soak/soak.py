# SPDX-License-Identifier: Apache-2.0
"""Many runs through one `belljar batch`: is anything more afterwards than before, and does a run cost the same at the end as at the start?

    tests/soak/soak.py [--runs 100000] [--jobs 8] [--every 10000] [--recycle] [--json FILE]

Looks every so many runs, when the batch is idle and its jars are taken down. Prints one line per look and exits 1 on growth. What is looked at:
  jars        that wait. Their number follows the load, so what each of them has is taken off the figures with a star: so much for each, as two
              batches of different sizes show that have not run anything yet. What is left may not grow by one.
  rss         resident KiB of front, keeper, makers and zygotes together
  fds*        descriptors of the same processes
  procs*      processes of the batch
  cgroups     of the whole machine, dying ones included (/proc/cgroups)
  dirs*       cgroup folders of the batch's slots
  mounts      lines of mountinfo of keeper and makers
  netns*      distinct network namespaces of the batch's processes
  net_slab    objects of the kernel's slab where it can be read
  uids*       distinct host ids of the batch's processes
  slots       slot locks that the keeper holds
  cpu_ms      CPU time of one run, of all processes together: the last third may not cost a third more than the first
"""
import argparse
import atexit
import fcntl
import json
import os
import re
import shutil
import statistics
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
MAY_GROW = {"rss": (2048, 0.05), "fds": (0, 0), "procs": (0, 0), "cgroups": (12, 0.1), "dirs": (0, 0), "mounts": (0, 0), "netns": (0, 0),
            "net_slab": (16, 0.25), "uids": (0, 0), "slots": (0, 0)}
OF_THE_MACHINE = ("cgroups", "net_slab")  # say nothing while somebody else uses belljar
PER_JAR = ("fds", "procs", "dirs", "netns", "uids")
DEARER = 1.35  # CPU time of a run, the last third against the first: a leak goes on


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


def namespace(pid, kind):
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return None


def cpu_ms(root):
    """Of all that lives below, and of all that ended and was waited for: everything is the keeper's child."""
    ticks = sum(sum(int(x) for x in rest[11:15]) for _, rest in descendants(root).values() if rest[0] != "X")
    return ticks * 1000 / os.sysconf("SC_CLK_TCK")


def cgroup_folders(slots):
    n = 0
    for line in read("/proc/self/mounts").splitlines():
        f = line.split()
        if f[2] in ("cgroup", "cgroup2"):
            found = {*Path(f[1]).glob("belljar/*/"), *Path(f[1]).glob("*/belljar/*/")}
            n += sum(1 for d in found if d.name[1:] in slots)
    return n


def slots_of(pids):
    """The locks that these processes hold."""
    found = set()
    for pid in pids:
        for name in os.listdir(f"/proc/{pid}/fd") if os.path.isdir(f"/proc/{pid}/fd") else []:
            try:
                path = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if "/belljar/slots/" in path:
                found.add(path.rpartition("/")[2])
    return found


def held_slots():
    held = set()
    for lock in Path("/run/belljar/slots").glob("*"):
        try:
            with open(lock) as f:
                fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            held.add(lock.name)
    return held


def look(root):
    tree = descendants(root)
    trusted = [p for p in tree if is_trusted(p)]
    named = [p for p in trusted if "keeper" in tree[p][0] or "maker" in tree[p][0]]
    slab = re.search(r"^net_namespace\s+(\d+)", read("/proc/slabinfo"), re.M)
    slots = slots_of(trusted)
    uids = {read(f"/proc/{p}/status").partition("Uid:")[2].split()[:1][0] for p in tree if "Uid:" in read(f"/proc/{p}/status")}
    return {
        "jars": len({namespace(p, "pid") for p in tree if p not in trusted} - {None}),
        "rss": sum(map(rss_kib, trusted)), "fds": sum(map(fd_count, trusted)), "procs": len(tree),
        "cgroups": sum(int(x.split()[2]) for x in read("/proc/cgroups").splitlines()[1:]), "dirs": cgroup_folders(slots),
        "mounts": sum(read(f"/proc/{p}/mountinfo").count("\n") for p in named), "netns": len({namespace(p, "net") for p in tree} - {None}),
        "net_slab": int(slab[1]) if slab else 0, "uids": sum(1 for u in uids if int(u) >= ID_BASE), "slots": len(slots), "others": len(held_slots() - slots),
    }


def settled(root, each, seconds=SETTLE_S):
    """Some seconds of looks: jars are taken down behind the results. The least of each figure; where jars are taken off (`each`: what one has) the most
    frequent one, since a jar that is just being made or cleared away has less."""
    looks, end = [], time.monotonic() + seconds
    while not looks or time.monotonic() < end:
        now = look(root)
        now.update({k: now[k] - n * now["jars"] for k, n in each.items()})
        looks.append(now)
        time.sleep(0.4)
    return {k: statistics.mode(x[k] for x in looks) if k in each or k == "jars" else max(x[k] for x in looks) if k == "others" else min(x[k] for x in looks)
            for k in looks[0]}


def ready(root, jars):
    """A look at a batch that has not run anything, when so many jars wait."""
    end, before = time.monotonic() + HANG_S, None
    while time.monotonic() < end:
        now = look(root)
        if now["jars"] == jars and before and all(now[k] == before[k] for k in PER_JAR):
            return now
        before = now
        time.sleep(0.5)
    sys.exit(f"error: {jars} jars were to wait, there are {before['jars']}")


def one_jar(jobs, opts):
    """What each jar that waits has of the figures in PER_JAR."""
    seen = []
    for floor in (jobs, 2 * jobs):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "belljar").mkdir()
            (Path(folder) / "belljar" / "config.yaml").write_text(f"pool: {{floor: {floor}, ceiling: {3 * jobs + 6}}}\n")
            batch = Batch(jobs, opts, {**os.environ, "XDG_CONFIG_HOME": folder})
            seen.append(ready(batch.p.pid, floor))
            batch.close()
    each = {k: (seen[1][k] - seen[0][k]) / jobs for k in PER_JAR}
    if any(n != int(n) for n in each.values()):
        sys.exit(f"error: jars that wait are not all alike: {seen}")
    return {k: int(n) for k, n in each.items()}


# ---- running -------------------------------------------------------------------------------------

class Batch:
    def __init__(self, jobs, opts, env=None):
        self.p = subprocess.Popen([BELLJAR, "batch", "-", "-j", str(jobs), "--unordered", "--quiet", *opts], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=sys.stderr, start_new_session=True, env=env)
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


def grown(rows):
    """The figures that are more at the end than they may be."""
    first, last, found = rows[0], rows[-1], []
    for name, (plus, share) in MAY_GROW.items():
        if name in OF_THE_MACHINE and any(r["others"] for r in rows):
            print(f"not judged: {name}, since somebody else uses belljar on this machine")
            continue
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
    opts = ["--recycle"] if args.recycle else []
    each = one_jar(args.jobs, opts)
    print("a jar that waits: " + ", ".join(f"{n} {k}" for k, n in each.items()), flush=True)
    batch = Batch(args.jobs, opts)
    batch.run(max(200, every // 20), 4 * args.jobs)  # pools and caches fill before the first look
    names = ["jars", *MAY_GROW]
    print(f"{'runs':>8} {'runs/s':>7} {'cpu_ms':>7} " + " ".join(f"{n + '*' * (n in each):>8}" for n in names), flush=True)
    rows, total = [settled(batch.p.pid, each)], 0
    print(f"{0:>8} {'':>7} {'':>7} " + " ".join(f"{rows[0][n]:>8}" for n in names), flush=True)
    rates, costs = [], []
    while total < args.runs:
        n, before = min(every, args.runs - total), cpu_ms(batch.p.pid)
        rates.append(n / batch.run(n, 4 * args.jobs))
        costs.append((cpu_ms(batch.p.pid) - before) / n)
        total += n
        rows.append(settled(batch.p.pid, each))
        print(f"{total:>8} {rates[-1]:>7.0f} {costs[-1]:>7.2f} " + " ".join(f"{rows[-1][x]:>8}" for x in names), flush=True)
    held = slots_of(p for p in descendants(batch.p.pid) if is_trusted(p))
    status = batch.close()
    time.sleep(1)
    wrong = grown(rows)
    # flat cost, by CPU time: a busy neighbour makes runs slower, but hardly dearer
    third = max(1, len(costs) // 3)
    first, last = sum(costs[:third]) / third, sum(costs[-third:]) / third
    if last > first * DEARER:
        wrong.append(f"dearer: {first:.2f} ms of CPU in the first third, {last:.2f} ms in the last")
    left = cgroup_folders(held - held_slots())
    if left:
        wrong.append(f"after the end: {left} cgroup folders of its slots")
    if batch.bad:
        wrong.append(f"runs that did not end by themselves: {batch.bad[0]!r}")
    if status not in (0, 1):
        wrong.append(f"exit status {status}")
    print(f"{batch.done} runs, {batch.warm} warm; CPU of a run {first:.2f} ms in the first third, {last:.2f} ms in the last; before/after: "
          + ", ".join(f"{n} {rows[0][n]}/{rows[-1][n]}" for n in names))
    for w in wrong:
        print(f"GREW: {w}")
    if args.json:
        Path(args.json).write_text(json.dumps({"jar": each, "rows": rows, "rates": rates, "cpu_ms": costs, "wrong": wrong, "warm": batch.warm, "runs": batch.done}, indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
