# SPDX-License-Identifier: Apache-2.0
"""PR and RE with two tenants: while jar A attacks, jar B of another client lives, works and gets its own results.

B is looked at in three ways: its long-running program is never signalled, it is refused nothing and answers within five times its idle time
(the witness), and short runs of B that start during the attack end well and quickly. With BELLJAR_TEST_WARM, A and B share one batch process.
"""
import contextlib
import os
import time

import pytest

import jarlib
from jarlib import HarnessError, ROOT, stat_of, wait_until

pytestmark = pytest.mark.nored  # the guards are shown by the cases with one tenant
host_root = pytest.mark.skipif(not ROOT, reason="looking at the guests from outside needs root")


class Neighbour:
    """Jar B: one program that stays, and short ones."""

    SLOW_S = 2.0  # a short run of B beside an attack; idle it takes some hundredths

    def __init__(self, jar):
        self.jar = jar.tenant("tenant-b")

    def once(self):
        t = time.monotonic()
        r = self.jar.probe("true")
        r.ended("completed", "exited")
        assert r.exit_code == 0, r.told()
        return time.monotonic() - t

    @contextlib.contextmanager
    def beside(self):
        self.once()
        with self.jar.live() as p:
            times = []
            self.measure = lambda: times.append(self.once())
            self.measure()
            yield self
            self.measure()
            assert p.poll() is None and (stat_of(p.guest) or ("", "Z"))[1] not in "ZX", "the neighbour's program was ended"
            assert max(times) < self.SLOW_S, times


@pytest.fixture
def a(jar):
    return jar.tenant("tenant-a")


@pytest.fixture
def b(jar):
    return Neighbour(jar)


def attack(a, b, *args, opts=(), until=None):
    """Runs one probe in A; B runs something in the middle of it."""
    p = a.start(["--", "/workspace/probe", *map(str, args)], ["-t", "20s", *map(str, opts)])
    if until and not wait_until(lambda: jarlib.guest_pid_any(p.pid, until) or p.poll() is not None, 8):
        raise HarnessError("A did not start")
    b.measure()
    return a.finish(p)


# ---- processes -----------------------------------------------------------------------------------

def test_pr_02_two_tenants(a, b):
    with b.beside():
        attack(a, b, "kill_all").denied()


def test_pr_03_two_tenants(a, b):
    with b.beside():
        attack(a, b, "kill_group", 9).ended("completed", "signal")


def test_pr_04_two_tenants(a, b):
    with b.beside():
        attack(a, b, "attack_init").denied()


def test_pr_05_two_tenants(a, b):
    with b.beside():
        attack(a, b, "ptrace_init").denied()


def test_pr_07_two_tenants(a, b):
    """What A left running is dead when A's result is there, and B's is not."""
    with b.beside():
        r = attack(a, b, "daemonize", 20000)
        assert r.exit_code == 0, r.told()
        assert wait_until(lambda: not [x for x in jarlib.descendants(os.getpid()) if b"daemonize" in jarlib.cmdline(x)], 1.0)


@host_root
def test_pr_08_two_tenants(a, b):
    """The init of A's jar dies by SIGKILL: A ends with a typed result, B does not notice."""
    with b.beside():
        with a.live("stubborn") as p:
            mine = os.readlink(f"/proc/{p.guest}/ns/pid")
            init = [x for x in jarlib.descendants(p.pid) if ns_of(x) == mine and jarlib.status_field(x, "NSpid")[-1:] == ["1"]]
            assert len(init) == 1, init
            os.kill(init[0], 9)
            assert wait_until(lambda: (stat_of(p.guest) or ("", "Z"))[1] in "ZX", 1.0), "the guest outlived its init"


def ns_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def test_pr_12_two_tenants(a, b):
    with b.beside():
        attack(a, b, "zombies", 3000).denied()


def test_pr_14_two_tenants(a, b):
    """A turns its pids over while B's live."""
    with b.beside():
        r = attack(a, b, "short_procs", 4000, opts=["-t", "700ms"], until=b"short_procs")
        assert r.status in ("timeout", "completed"), r.told()


def test_pr_17_two_tenants(a, b):
    with b.beside():
        r = attack(a, b, "spin", 8, opts=["-t", "900ms"], until=b"spin")
        r.ended("timeout", "wall_time")


# ---- resources -----------------------------------------------------------------------------------

RESOURCES = [
    pytest.param("RE-01", ["forks", 300], ["--pids", "40"], id="forks"),
    pytest.param("RE-02", ["threads", 300], ["--pids", "40"], id="threads"),
    pytest.param("RE-04", ["mem", "anon", 256], ["-m", "64M"], id="memory"),
    pytest.param("RE-05", ["mem", "tmpfs", 160], ["-m", "64M", "--disk", "300M"], id="tmpfs"),
    pytest.param("RE-05", ["mem", "memfd", 160], ["-m", "64M"], id="memfd"),
    pytest.param("RE-06", ["objects", "inodes", 100000], ["-m", "64M", "-t", "6s"], id="inodes"),
    pytest.param("RE-06", ["objects", "pagetables", 500000], ["-m", "64M", "-t", "6s"], id="pagetables"),
    pytest.param("RE-11", ["spin", 30], ["--cpus", "0.5", "-t", "1s"], id="cpu"),
    pytest.param("RE-14", ["flood", "both", 300], ["--output", "100K", "--output-log", "8M"], id="output"),
    pytest.param("RE-17", ["fill", 200, "/workspace/fill"], ["--disk", "20M"], id="disk"),
    pytest.param("RE-18", ["sync_storm", 500], [], id="sync"),
    pytest.param("RE-20", ["objects", "scm", 20000], ["--nofile", "256"], id="descriptors"),
    pytest.param("RE-21", ["objects", "inotify_instances", 100000, "hold"], ["-t", "1s", "--nofile", "1024"], id="inotify"),
    pytest.param("RE-25", ["storm"], ["-t", "700ms", "--pids", "64"], id="storm"),
    pytest.param("RE-26", ["noise", 700], [], id="noise"),
    pytest.param("RE-28", ["mmaps", 100000, 10000], ["-t", "10s"], id="teardown"),
]


def beside_witness(a, b, witness, args, opts):
    if jarlib.ROOTLESS:
        pytest.skip("limits are kept by cgroups, which this user was not delegated")
    with b.beside(), witness.watching():
        r = attack(a, b, *args, opts=opts, until=str(args[0]).encode())
    assert r.status in ("completed", "killed", "timeout"), r.told()
    if r.reason == "memory":
        assert r.oom_kills >= 1, r.told()
    # B is not charged, counted or blamed for A
    mine = b.jar.probe("true")
    assert mine.oom_kills == 0 and mine.limits_hit == [] and mine.max_memory_mb < 32 and mine.cpu_s < 1, mine.told()


def make(case):
    rows = [p for p in RESOURCES if p.values[0] == case]

    @pytest.mark.parametrize("args,opts", [pytest.param(*p.values[1:], id=p.id) for p in rows])
    def test(a, b, witness, args, opts):
        beside_witness(a, b, witness, args, opts)

    return test


for _case in dict.fromkeys(p.values[0] for p in RESOURCES):
    _name = f"test_{_case.lower().replace('-', '_')}_two_tenants"
    _f = make(_case)
    _f.__name__ = _f.__qualname__ = _name
    globals()[_name] = _f
