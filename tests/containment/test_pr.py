# SPDX-License-Identifier: Apache-2.0
"""PR: a guest sees, signals and outlives nobody but itself."""
import contextlib
import os
import signal
from pathlib import Path

import pytest

import jarlib
import warm
from jarlib import HarnessError, ROOT, descendants, stat_of, status_field, wait_until

host_root = pytest.mark.skipif(not ROOT, reason="looking at the guest from outside needs root")


def test_pr_01_see_host(jar, control, canaries):
    control("procs", canaries.proc_name, alone=False, user="nobody" if ROOT else None)
    r = jar.probe("procs", canaries.proc_name).denied()
    others = [x for x in r.stdout.splitlines() if x.startswith("pid ") and "/workspace/probe procs" not in x]
    assert not others, others  # hidepid: not even init


def test_pr_02_kill_all(jar, canaries):
    r = jar.probe("kill_all").denied()
    r.ended("completed", "exited")
    canaries.check()


def test_pr_03_kill_group(jar):
    """The session is the guest's own; then the kill itself, which must end the guest and nobody else."""
    if ROOT:
        with jar.live() as p:
            _, _, _, pgrp, session = stat_of(p.guest)
            outside = {p.pid, os.getpid()} | {pid for pid in descendants(p.pid) if not in_jar(p, pid)}
            for pid in outside:
                st = stat_of(pid)
                assert not st or (st[3] != pgrp and st[4] != session), f"{pid} shares the guest's group"
    if jar.off:
        return  # the kill itself could end more than the guest
    r = jar.probe("kill_group", int(signal.SIGKILL))
    r.ended("completed", "signal")
    assert r.signal in (9, "SIGKILL", "KILL") and r.rc == 137, r.told()


def in_jar(p, pid):
    """Shares the guest's pid namespace."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") == os.readlink(f"/proc/{p.guest}/ns/pid")
    except OSError:
        return True


def test_pr_04_attack_init(jar):
    r = jar.probe("attack_init").denied()
    r.ended("completed", "exited")


def test_pr_05_trace_init(jar, control):
    control("sys", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp")
    r = jar.probe("sys", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp").denied()
    assert set(r.rows().values()) == {"EPERM"}, r.rows()
    if not jar.off:
        jar.probe("ptrace_init").denied()


@pytest.mark.nored
def test_pr_05_without_the_filter(second_layer):
    second_layer("seccomp").probe("ptrace_init").denied()


def test_pr_06_inits_secrets(jar):
    names = ["environ", "cmdline", "fd", "fdinfo", "wchan", "auxv", "status", "stat", "cgroup", "mountinfo"]
    r = jar.probe("open", "ENOENT,EACCES,EPERM", "rd", *[f"/proc/1/{n}" for n in names])
    assert "canary-env" not in r.stdout
    r.denied()


def test_pr_07_daemonize(jar):
    r = jar.probe("daemonize", 20000)
    r.ended("completed", "exited")
    assert r.exit_code == 0 and r.wall < 3, r.told()
    assert wait_until(lambda: not [x for x in descendants(os.getpid()) if b"daemonize" in jarlib.cmdline(x)], 1.0)


def alive(pids):
    return [x for x in pids if (stat_of(x) or ("", "Z"))[1] not in "ZX"]


def is_above(pid, p):
    """One of those that this guest depends on: its parents, the trusted process in its pid namespace. Others may be of other jars."""
    x = p.guest
    while x > 1 and x != p.pid:
        x = (stat_of(x) or ("", "", 0))[2]
        if x == pid:
            return True
    return in_jar(p, pid)


@host_root
@pytest.mark.parametrize("program", ["wait", "stubborn"])
def test_pr_08_supervisor_killed(jar, program):
    """Each process between us and the guest dies once by SIGKILL; a second later no guest runs."""
    victim, count, survived = 0, 1, 0
    while victim < count:
        with jar.live(program) as p:
            tree = [p.pid, *sorted(descendants(p.pid))]
            guests = [x for x in tree if jarlib.cmdline(x)[:1] == [b"/workspace/probe"]]
            chain = [x for x in tree if x not in guests and is_above(x, p)]
            count = len(chain)
            if victim >= count or not guests:
                raise HarnessError(f"belljar's processes changed: {chain} {guests}")
            name = (stat_of(chain[victim]) or ("?",))[0]
            os.kill(chain[victim], signal.SIGKILL)
            warm.hurt()
            wait_until(lambda: not alive(guests), 1.0)
            # a helper that watches over nothing may be missed by nobody: then all others are still there
            others = [x for x in chain if x != chain[victim]]
            assert not alive(guests) or alive(others) == others, f"{alive(guests)} outlived {name}, number {victim} of {count}"
            survived += bool(alive(guests))
        # the next run is the janitor for what the dead could not remove
        jar.probe("true").ended("completed", "exited")
        victim += 1
    assert survived <= 1, "more than one process of belljar is of no consequence"


@host_root
@pytest.mark.nored
def test_pr_08_leftovers_of_any_slot(jar):
    """The next run removes what a killed keeper left, also under the number of a slot that this run does not use itself."""
    with jar.live("wait"):
        first = jarlib.jar_cgroups()
        with jar.live("wait") as p:
            second = jarlib.jar_cgroups() - first
            for pid in [p.pid, *sorted(descendants(p.pid))]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            warm.hurt()
    jar.probe("true").ended("completed", "exited")
    if not second:
        return  # this host has no cgroups to leave
    assert wait_until(lambda: not second & jarlib.jar_cgroups(), 2.0), second & jarlib.jar_cgroups()


def test_pr_09_pdeathsig_off(jar):
    """The guest takes back every soft way to be ended; killing belljar still ends it."""
    with jar.live("stubborn") as p:
        wait_until(lambda: len(descendants(p.pid)) >= 5, 2)
        guests = [x for x in descendants(p.pid) if jarlib.cmdline(x)[:1] == [b"/workspace/probe"]]
        os.kill(p.pid, signal.SIGKILL)
        warm.hurt()
        assert wait_until(lambda: not alive(guests), 1.0), alive(guests)
    jar.probe("true").ended("completed", "exited")


def test_pr_10_signal_immunity(jar):
    r = jar.probe("spin", 1, opts=["-t", "600ms"])
    r.ended("timeout", "wall_time")
    assert r.rc == 124 and 0.55 <= r.elapsed_s < 1.2, r.told()


@pytest.mark.nored
@pytest.mark.skipif(not ROOT, reason="only root of the host may signal pid 1 of a jar")
def test_pr_10_pid_1_gets_no_signal(jar):
    """Sent by somebody who may: where ids and Landlock do not keep a guest from it, the kernel does."""
    with jar.live("wait") as p:
        space = os.readlink(f"/proc/{p.guest}/ns/pid")
        one = [x for x in descendants(p.pid) if status_field(x, "NSpid")[-1:] == ["1"] and os.readlink(f"/proc/{x}/ns/pid") == space]
        assert len(one) == 1, one
        for number in set(range(1, 65)) - {signal.SIGKILL, signal.SIGSTOP}:
            os.kill(one[0], number)
        assert not wait_until(lambda: len(alive([one[0], p.guest])) < 2, 0.3), "one signal has ended the jar"
        assert status_field(one[0], "State")[0] in "SR" and status_field(one[0], "SigCgt") == ["0" * 16]


@pytest.mark.nored
def test_pr_10_cpu_time(jar):
    r = jar.probe("spin", 1, opts=["--cpu-time", "300ms", "-t", "8s"])
    r.ended("timeout", "cpu_time")
    assert r.rc == 124 and r.elapsed_s < 3, r.told()


@pytest.mark.parametrize("how", ["self", "group"])
def test_pr_11_stop(jar, how):
    jar.probe("stop_self", how, opts=["-t", "500ms"]).ended("timeout", "wall_time")


def test_pr_12_zombies(jar):
    jar.probe("zombies", 3000).denied()


def test_pr_13_clone_parent(jar):
    r = jar.probe("clone_parent")
    r.ended("completed", "exited")
    assert r.exit_code == 7 and r.rc == 7, r.told()


def test_pr_14_pid_reuse(jar, canaries):
    """belljar names its processes by pidfd, so a recycled number is never hit."""
    if ROOT:
        with jar.live() as p:
            kinds = []
            for pid in [p.pid, *descendants(p.pid)]:
                try:
                    kinds += [os.readlink(f"/proc/{pid}/fd/{f}") for f in os.listdir(f"/proc/{pid}/fd")]
                except OSError:
                    pass
            if warm.WARM:
                # A pool's keeper is the parent of all of them: a number is nobody else's before it has reaped it.
                with open(f"/proc/{status_field(p.guest, 'PPid')[0]}/comm") as f:
                    assert f.read().strip() == "belljar-keeper"
            else:
                assert any("pidfd" in k for k in kinds), sorted(set(kinds))
    r = jar.probe("short_procs", 4000, opts=["-t", "500ms"])
    assert r.status in ("timeout", "completed"), r.told()
    canaries.check()


@host_root
def test_pr_15_threads(jar):
    with jar.live("wait", 4) as p:
        assert wait_until(lambda: len(os.listdir(f"/proc/{p.guest}/task")) == 5, 3)
        for task in os.listdir(f"/proc/{p.guest}/task"):
            assert status_field(p.guest, "Seccomp", task) == ["2"]
            assert status_field(p.guest, "NoNewPrivs", task) == ["1"]
            for cap in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                assert status_field(p.guest, cap, task) == ["0000000000000000"], cap


def test_pr_16_name_spoof(jar):
    r = jar.probe("spoof", "victim")
    r.ended("completed", "exited")
    assert r.exit_code == 7, r.told()


def test_pr_17_scheduling(jar, control):
    control("sched")
    jar.probe("sched").denied()
    jar.probe("sched", opts=["--uid", "0"]).denied()
    if ROOT:
        with jar.live() as p:
            assert os.sched_getscheduler(p.guest) == os.SCHED_OTHER


def test_pr_18_affinity(jar):
    """No cpuset is promised: all CPUs may be asked for, the CPU quota must hold on all of them."""
    share, r = jarlib.cpu_share(jar, 4, "all", opts=["--cpus", "0.1"])
    assert share < 0.1 * 1.1 + 0.06, f"{share:.2f} CPUs"
    r.ended("timeout", "wall_time")


@host_root
def test_pr_19_rlimits(jar):
    jar.probe("rlimits").denied()
    with jar.live(opts=["--nofile", "200"]) as p:
        limits = jarlib.limits_of(p.guest)
        assert limits["Max open files"] == (200, 200)
        assert limits["Max locked memory"][1] != -1
        assert limits["Max realtime priority"] == limits["Max nice priority"] == (0, 0)


def test_pr_20_oom_score(jar):
    jar.probe("oom_adj").denied()
    if ROOT:
        mine = int(Path("/proc/self/oom_score_adj").read_text())
        with jar.live() as p:
            assert int(Path(f"/proc/{p.guest}/oom_score_adj").read_text()) >= mine


def test_pr_21_stdout_holder(jar):
    r = jar.probe("daemonize", 20000, "keep")
    r.ended("completed", "exited")
    assert r.elapsed_s < 0.5 and r.wall < 1.5, f"{r.elapsed_s} {r.wall}"


@pytest.mark.parametrize("how", ["vfork", "fifo", "futex", "flock"])
def test_pr_22_blocking(jar, how):
    r = jar.probe("block", how, opts=["-t", "400ms"])
    r.ended("timeout", "wall_time")
    assert r.wall < 2.5, r.wall
