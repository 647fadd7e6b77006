# SPDX-License-Identifier: Apache-2.0
"""Limits hold in slots that were used before: the same verdicts as on the one-shot path, whoever had the slot, whatever his limits were."""
import functools
import json
import os
import random
import re
from collections import Counter

import pytest

import harness
from harness import Batch, need_batch, run

MB = 1 << 20
WALL = int(harness.seconds(30) * 1000)
SEED = random.SystemRandom().randrange(1 << 30)

EAT = "x = []\nwhile True: x.append(bytearray(1 << 20))"
FORK = "import os, time\nn = 0\ntry:\n    for _ in range(60):\n        if os.fork() == 0: time.sleep(60)\n        n += 1\nexcept OSError: pass\nprint(n)"
FILL = "import sys\ntry: open('/tmp/x', 'wb').write(b'x' * (12 << 20)); print('fits')\nexcept OSError as e: print(e.strerror)"
HOLD = "x = bytearray(40 << 20); print(len(x))"  # fits into 96M, not into 32M

# (request, which limit it meets): each beside one that meets none, with the limit that would have stopped it in its neighbour's place.
MIX = [
    ("memory", {"code": EAT, "limits": {"memory_bytes": 48 * MB}}),
    ("memory-small", {"code": HOLD, "limits": {"memory_bytes": 32 * MB}}),
    ("memory-enough", {"code": HOLD, "limits": {"memory_bytes": 96 * MB}}),
    ("pids", {"code": FORK, "limits": {"pids": 9}}),
    ("pids-enough", {"code": FORK, "limits": {"pids": 80}}),
    ("cpu", {"code": "while True: pass", "limits": {"cpu_ms": 200}}),
    ("cpu-enough", {"code": "for i in range(200000): pass\nprint('done')", "limits": {"cpu_ms": 5000}}),
    ("disk", {"code": FILL, "limits": {"disk_bytes": 4 * MB}}),
    ("disk-enough", {"code": FILL, "limits": {"disk_bytes": 32 * MB}}),
    ("output", {"language": "bash", "code": "yes abc", "limits": {"log_bytes": 100 << 10}}),
    ("output-enough", {"language": "bash", "code": "head -c 60000 /dev/zero | tr '\\0' x", "limits": {"log_bytes": 100 << 10}}),
    ("nofile", {"code": "f = []\ntry:\n    while len(f) < 200: f.append(open('/dev/null'))\nexcept OSError as e: pass\nprint(len(f) < 60)", "limits": {"nofile": 50}}),
    ("nofile-enough", {"code": "f = [open('/dev/null') for _ in range(200)]\nprint(len(f))", "limits": {"nofile": 400}}),
    ("wall", {"argv": ["/bin/sleep", "60"], "limits": {"wall_ms": int(harness.seconds(0.4) * 1000)}}),
    ("plain", {"code": "print(1 + 1)"}),
]


def whole(request):
    return {**request, "limits": {"wall_ms": WALL, **request.get("limits", {})}}


def told(r):
    """What both paths must agree on."""
    counted = "memory" not in r["limits_hit"]  # how far it got is the machine's affair
    return {"status": r["status"], "reason": r["reason"], "exit_code": r["exit_code"], "signal": r["signal"], "success": r["success"], "timed_out": r["timed_out"],
            "limits_hit": sorted(r["limits_hit"]), "stdout": r["stdout"] if counted and r["stdout_bytes"] < 1000 else "", "error": re.sub(r"[\d.]+", "N", r["error"] or ""),
            "ended_by": r["evidence"]["ended_by"], "oom": r["oom_kills"] > 0, "hint": r["hint"]}


@functools.cache
def once(name):
    """The verdict of the one-shot path."""
    c = run("run", "--json", "--request", "-", input=json.dumps(whole(dict(MIX)[name])).encode())
    assert c.result, str(c)
    v = told(c.result)
    # the mix itself is right: each limit is met where it should be, and only there
    if name.endswith(("enough", "plain")):
        assert v["success"] and not v["limits_hit"], v
    if name in ("cpu", "disk", "output", "wall"):
        assert v["limits_hit"], v
    return v


def differ(name, r):
    """What another verdict than the one-shot path's says: {field: (warm, once)}."""
    return {k: (v, once(name)[k]) for k, v in told(r).items() if v != once(name)[k]} if r else {"result": (None, once(name))}


def cases(rng, n, mix):
    """n requests of two clients, each kind about as often, in any order: so every slot is used by limits of all sizes after one another."""
    rows = [mix[i % len(mix)] for i in range(n)]
    rng.shuffle(rows)
    return [(name, {**whole(request), "client": rng.choice(["a", "b"]), "id": f"{i}-{name}"}) for i, (name, request) in enumerate(rows)]


def check_slots(put, opts, rows):
    """Two at a time over three slots: they change their client, are made anew and used again."""
    need_batch()
    put("belljar/config.yaml", "pool: {floor: 2, ceiling: 3}\n")
    with Batch("-j", "2", "--unordered", *opts, env={"XDG_CONFIG_HOME": put("x", "").parent}) as b:
        b.run({"code": "print(1)", "client": "a"})
        lines = {b.send(request): name for name, request in rows}
        got = {line: b.get(line, 120) for line in lines}
        assert b.close() in (0, 1)
    wrong = [(name, differ(name, got[line])) for line, name in lines.items() if differ(name, got[line])]
    assert not wrong, f"seed {SEED}, other verdicts than on the one-shot path (warm, once): {wrong[:4]} ({len(wrong)}); {b.err[-300:]!r}"
    if "uid-range" not in harness.missing():
        # Rootless, nobody may change the size of a file system that is there already: another budget is served cold.
        cold = [r["id"] for r in got.values() if r["start"] != "warm" and (harness.ROOT or "disk" not in r["id"])]
        assert not cold, f"not warm: {cold}: {b.err[-300:]!r}"
        uids = Counter(r["isolation"]["host_uid"] for r in got.values() if r["start"] == "warm")
        assert len(uids) <= 3 and max(uids.values()) > len(rows) / 4, f"the slots were not used again: {uids}"


@pytest.mark.parametrize("opts", [(), ("--recycle",)], ids=["used once", "recycled"])
def test_limits_hold_in_slots_that_were_used_before(opts, put):
    check_slots(put, opts, cases(random.Random(SEED), 60, MIX))


def test_limits_hold_in_a_few_slots(put):
    """The same for slow machines."""
    few = [m for m in MIX if m[0] in ("memory", "memory-enough", "pids", "pids-enough", "cpu", "disk", "disk-enough", "plain")]
    check_slots(put, (), cases(random.Random(SEED), 16, few))


def test_limits_hold_after_a_slot_was_retired(put):
    """A jar that nobody needed goes after five seconds, and gives its groups back; what is made in its place has no limits of before."""
    put("belljar/config.yaml", "pool: {floor: 1, ceiling: 6}\n")
    with Batch("-j", "6", "--unordered", env={"XDG_CONFIG_HOME": put("x", "").parent}) as b:
        def busy(names):
            lines = {b.send({**whole(dict(MIX)[n]), "client": f"c{i % 2}"}): n for i, n in enumerate(names)}
            got = {line: b.get(line, 120) for line in lines}
            return [(n, differ(n, got[line])) for line, n in lines.items() if differ(n, got[line])]

        def jars():
            spaces = set()
            for p in harness.descendants(b.p.pid):
                try:
                    spaces.add(os.readlink(f"/proc/{p}/ns/pid"))
                except OSError:
                    continue
            return len(spaces) - 1

        assert not busy(["memory-enough", "pids-enough", "disk-enough", "cpu-enough", "nofile-enough", "memory"])
        many = jars()
        assert harness.wait_until(lambda: jars() <= 4, 30), f"{many} jars, and none was retired"
        assert not busy(["memory-small", "pids", "disk", "cpu", "nofile", "output"])
        assert not busy(["memory-enough", "pids-enough", "disk-enough", "cpu-enough", "nofile-enough", "output-enough"])
