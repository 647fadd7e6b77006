# SPDX-License-Identifier: Apache-2.0
"""The whole tree dies: at the end, by Ctrl-C, by SIGTERM, and when belljar or any of its parts is killed."""
import json
import os
import signal
import subprocess
import time

import harness
import pytest
from harness import (ROOT, Traces, bash, descendants, finish, is_alive, jar, left_behind, ms, need, python, run, seconds, start, stat_of, stop,
                     wait_until)

BUSY = """
import os, signal, subprocess, sys, time
for s in (1, 2, 3, 15): signal.signal(s, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: time.sleep(.01)
        time.sleep(60)
subprocess.Popen(['sleep', '60'])
print('ready', flush=True)
time.sleep(60)
"""


@pytest.fixture
def started():
    """started(code): a run whose guest has said something; ended at the end of the test."""
    runs = []

    def begin(code, *opts, json_=False):
        p = start("run", *(["--json"] if json_ else []), "-t", ms(60000), *opts, "-c", code)
        runs.append(p)
        if json_:
            assert wait_until(lambda: any(st[0].startswith("python3") for st in descendants(p.pid).values()), 20), "no guest"
            time.sleep(seconds(0.3))
        else:
            line = p.stdout.readline()
            assert line == b"ready\n", (line, p.stderr.read() if p.poll() is not None else "")
        return p
    yield begin
    for p in runs:
        stop(p)


def part(p, name):
    """The pid of one of belljar's processes of this run."""
    found = [pid for pid, st in descendants(p.pid).items() if st[0] == name and st[1] not in "ZX"]
    return found[0] if found else 0


# ---- signals to belljar --------------------------------------------------------------------------

def test_interrupt_goes_to_the_program(started):
    p = started("import time\ntry: print('ready', flush=True); time.sleep(60)\nexcept KeyboardInterrupt: print('interrupted'); raise SystemExit(9)")
    p.send_signal(signal.SIGINT)
    c = finish(p, timeout=20)
    assert c.rc == 9 and b"interrupted" in c.out


def test_interrupt_that_the_program_does_not_handle(started):
    p = started("import time\nprint('ready', flush=True)\ntime.sleep(60)")
    p.send_signal(signal.SIGINT)
    c = finish(p, timeout=20)
    assert c.rc == 130 and "KeyboardInterrupt" in c.stderr


def test_second_interrupt_kills(started):
    p = started("import signal, time\nsignal.signal(2, signal.SIG_IGN)\nprint('ready', flush=True)\ntime.sleep(60)")
    p.send_signal(signal.SIGINT)
    time.sleep(seconds(0.3))
    assert p.poll() is None
    p.send_signal(signal.SIGINT)
    c = finish(p, timeout=20)
    assert c.rc == 137 and "cancelled" in c.stderr


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGHUP])
def test_terminate_cancels(started, sig):
    p = started(BUSY, json_=True)
    p.send_signal(sig)
    c = finish(p, timeout=20)
    assert c.verdict == "killed/cancelled" and c.rc == 137 and c["exit_code"] is None and c["error"], str(c)
    assert wait_until(lambda: not left_behind(), 2), left_behind()


@pytest.mark.parametrize("delay_ms", [0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 25])
def test_cancel_at_any_moment(delay_ms):
    """Before, while and after the jar is made: a cancel is never lost."""
    p = start("run", "--json", "-t", ms(60000), "--", "sleep", "60")
    try:
        time.sleep(delay_ms / 1000)
        p.terminate()
        c = finish(p, timeout=8)
        if c.rc != -signal.SIGTERM:  # belljar itself was ended before it could say anything
            assert c.verdict == "killed/cancelled" and c.rc == 137, str(c)
    finally:
        stop(p)


def test_interrupt_from_a_terminal_reaches_only_belljar(started):
    """Ctrl-C goes to the whole foreground group: the guest is in a session of its own and gets one SIGINT, from belljar."""
    p = started("import signal, time\nn = 0\ndef on(*a):\n    global n; n += 1\nsignal.signal(2, on)\nprint('ready', flush=True)\n"
                "end = time.time() + 1.5\nwhile time.time() < end: time.sleep(.05)\nprint(n)")
    os.killpg(os.getpgid(p.pid), signal.SIGINT)
    assert finish(p, timeout=20).out == b"1\n"


# ---- SIGKILL of every part -----------------------------------------------------------------------

@pytest.mark.parametrize("name", ["belljar", "belljar-keeper", "belljar-maker", "belljar-init"])
def test_killed_part_takes_the_jar_along(started, name):
    traces = Traces()
    p = started(BUSY)
    # on a busy machine the children's children come after the word
    wait_until(lambda: len(descendants(p.pid)) >= 9, 5)
    tree = descendants(p.pid)
    assert len(tree) >= 9, tree
    victim = p.pid if name == "belljar" else part(p, name)
    assert victim, (name, tree)
    os.kill(victim, signal.SIGKILL)
    others = [pid for pid, st in tree.items() if not st[0].startswith("belljar")]
    wait_until(lambda: not any(map(is_alive, others)), 2)
    assert not [(pid, stat_of(pid)) for pid in others if is_alive(pid)], "guest processes live on"
    if name == "belljar":
        p.wait(seconds(10))
        p.stdout.close(), p.stderr.close()
        stop(p)
    else:
        c = finish(p, timeout=20)
        assert c.rc not in (0, None), str(c)
        if name != "belljar-init":  # its death looks like a SIGKILL to the program, and is shown as one
            assert "error:" in c.stderr, "it must say that something is wrong: " + str(c)
    wait_until(lambda: not left_behind(), 5)
    assert not left_behind()
    # the next run works, and after `clean` nothing is left
    assert python("print('next')").ok()["stdout"] == "next\n"
    assert run("clean", "--max-size", "900G").rc == 0
    left = traces.gone()
    assert not left, left


@pytest.mark.parametrize("name", ["belljar-keeper", "belljar-maker", "belljar-init"])
def test_killed_part_is_never_the_programs_success(started, name):
    p = started(BUSY, json_=True)
    os.kill(part(p, name), signal.SIGKILL)
    c = finish(p, timeout=20)
    assert c["success"] is False and c["exit_code"] is None and c.rc != 0, str(c)
    if name != "belljar-init":
        assert c["status"] == "error" and c["error"]


def test_killed_while_it_is_set_up():
    """SIGKILL of belljar at many moments of the start: nothing lives on."""
    for delay in (0, 1, 2, 3, 5, 8, 12):
        p = start("run", "-t", ms(60000), "--", "sleep", "60")
        time.sleep(delay / 1000)
        p.kill()
        stop(p)
    assert wait_until(lambda: not left_behind(), 5), left_behind()
    jar("--", "true").ok()


def test_parent_dies_while_belljar_runs():
    """Whoever starts belljar may be killed: a closed pipe ends the run when it writes."""
    p = start("run", "-t", ms(60000), "-c", "import time\nwhile True: print('x' * 1000, flush=True); time.sleep(.01)")
    p.stdout.read(10)
    p.stdout.close()
    try:
        p.wait(seconds(15))
    finally:
        stop(p)
    assert wait_until(lambda: not left_behind(), 3)


# ---- the end of a run ----------------------------------------------------------------------------

DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        {close}
        while True: time.sleep(.05)
    os._exit(0)
os.wait()
print('main ends', flush=True)
"""


@pytest.mark.parametrize("close", ["pass", "os.closerange(0, 3)"], ids=["holds the pipes", "closed the pipes"])
def test_double_forked_daemon_dies_and_delays_nothing(close):
    c = python(DAEMON.format(close=close), "-t", ms(60000)).ok()
    assert c["stdout"] == "main ends\n" and c.wall < seconds(20)
    assert c["elapsed_s"] < 20 * seconds(1)
    wait_until(lambda: not left_behind(), 2)
    assert not left_behind()


def test_grandchild_that_holds_stdout_does_not_delay_the_return():
    c = bash("sleep 60 & echo done", "-t", ms(120000)).ok()
    assert c["stdout"] == "done\n" and c.wall < seconds(20)


def test_grandchild_that_writes_on_and_on_does_not_delay_the_return():
    c = bash("(while :; do echo noise; done) & sleep .2; echo done >&2", "-t", ms(120000), "--output-log", "900M").ok()
    assert c["stderr"] == "done\n" and c.wall < seconds(20)


def test_output_of_children_before_the_end_is_there():
    c = bash("(echo child) ; sh -c 'echo grandchild' & wait; echo main").ok()
    assert sorted(c["stdout"].split()) == ["child", "grandchild", "main"]


def test_large_last_output_is_whole():
    """What was written just before the end is still in the pipe when the program is gone."""
    for _ in range(5):
        assert python("import os; os.write(1, b'x' * 60000); os._exit(0)").ok()["stdout_bytes"] == 60000


def test_stopped_guest_is_killed_too():
    c = bash("sleep 60 & kill -STOP $!; echo stopped").ok()
    assert c["stdout"] == "stopped\n"


def test_many_zombies_are_reaped():
    c = python("import os, time\nfor _ in range(300):\n    if os.fork() == 0:\n        if os.fork() == 0: os._exit(0)\n        os._exit(0)\n    os.wait()\nprint('ok')", "--pids", "20")
    assert c.ok()["stdout"] == "ok\n"


def test_a_thousand_leftovers_are_killed(traces):
    """More processes than fit into one page of cgroup.procs, at the end of a run, some of them stopped: none lives on."""
    need("cgroup-pids")
    c = python("import os, signal\nfor i in range(900):\n    if os.fork() == 0:\n        while True: signal.pause()\nprint('left', flush=True)",
               "--pids", "1000", "-m", "2G", "-t", ms(60000)).ok()
    assert c["stdout"] == "left\n" and c["pids_peak"] >= 900, str(c)
    assert wait_until(lambda: not left_behind(), 10), len(left_behind())


# ---- the host is left as it was ------------------------------------------------------------------

def test_host_files_are_unchanged(box):
    watched = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/ptmx", "/tmp", "/usr", "/etc", "/etc/passwd", "/sys", "/mnt", "/proc", "/dev/shm", "/run"]

    def look():
        return {p: (s.st_mode, s.st_uid, s.st_gid, s.st_ino, s.st_rdev) for p in watched if os.path.exists(p) for s in [os.stat(p)]}
    before = look()
    bash("chmod 777 /dev/null /tmp /dev/stdout; chown 1 /dev/null; echo x > /dev/null; true", "--uid", "0").ok()
    bash("chmod 0 /dev/stdout /dev/stderr /proc/self/fd/0; true").ok()
    assert look() == before


@pytest.mark.parametrize("json_", [True, False])
def test_owner_and_mode_of_stdio_stay(json_, box):
    files = [box / n for n in ("in", "out", "err")]
    for f in files:
        f.write_bytes(b"")
        f.chmod(0o640)
    before = [(os.stat(f).st_mode, os.stat(f).st_uid, os.stat(f).st_gid) for f in files]
    with open(files[0], "rb") as i, open(files[1], "wb") as o, open(files[2], "wb") as e:
        c = run("run", *(["--json"] if json_ else []), "--stdin", "-", "--uid", "0", "--", "sh", "-c",
                "chmod 777 /dev/stdin /dev/stdout /dev/stderr; chown 1 /proc/self/fd/1; echo x", stdin=i, stdout=o, stderr=e)
    assert c.rc == 0
    assert [(os.stat(f).st_mode, os.stat(f).st_uid, os.stat(f).st_gid) for f in files] == before
    assert b"x" in files[1].read_bytes()


def test_offset_of_a_shared_stdin_file_is_not_moved(box):
    (box / "in").write_text("line 1\nline 2\n")
    with open(box / "in") as f:
        run("run", "--stdin", "/dev/null", "--", "cat", stdin=f)
        assert os.lseek(f.fileno(), 0, os.SEEK_CUR) == 0


# ---- many at once --------------------------------------------------------------------------------

def test_thirty_at_once():
    """Distinct nonces come back to whom they belong; in root mode every run has a host uid of its own."""
    procs = []
    for i in range(30):
        procs.append(start("run", "--json", "-t", ms(120000), "--id", f"n{i}", "--stdin", "-", "-c",
                           f"import sys, time\nd = sys.stdin.read(); open('f', 'w').write(d); open('/tmp/f', 'w').write(d); time.sleep(1.5)\n"
                           f"print('nonce-{i}', d, open('f').read(), open('/tmp/f').read())", stdin=subprocess.PIPE))
    for i, p in enumerate(procs):
        p.stdin.write(f"secret-{i}".encode())
        p.stdin.close()
        p.stdin = None
    uids = []
    try:
        for i, p in enumerate(procs):
            c = finish(p, timeout=120)
            assert c.rc == 0, str(c)
            assert c["stdout"] == f"nonce-{i} secret-{i} secret-{i} secret-{i}\n" and c["id"] == f"n{i}"
            uids.append(c["isolation"]["host_uid"])
    finally:
        for p in procs:
            stop(p)
    assert len({json.dumps(u) for u in uids}) == 30 or not ROOT, uids


def test_a_hundred_one_after_the_other(traces):
    for i in range(100):
        c = jar("--", "echo", str(i)).ok()
        assert c["stdout"] == f"{i}\n"


def memory_of(pid):
    """What a process has in its private memory; nothing where we may not look."""
    found = b""
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
            for line in maps:
                area, rights = line.split()[:2]
                start, end = (int(x, 16) for x in area.split("-"))
                if "r" in rights and "[v" not in line and end - start < 1 << 24:
                    try:
                        mem.seek(start)
                        found += mem.read(end - start)
                    except OSError:
                        pass
    except OSError:
        pass
    return found


def test_the_callers_words_stay_in_the_front():
    """The keeper is a child of the launcher that is not executed anew, and maker and init are its children: none has the caller's environment or arguments."""
    secret = "words-of-the-caller-" + os.urandom(8).hex()
    p = harness.start("run", "--env", f"X={secret}", "--", "/bin/sleep", "30", env={"TOKEN": secret, "A": "1", "ZZZ": secret * 300})
    try:
        names = {"belljar-keeper", "belljar-maker", "belljar-init"}
        assert harness.wait_until(lambda: names <= {st[0] for st in harness.descendants(p.pid).values()} and
                                  any(st[0] == "sleep" for st in harness.descendants(p.pid).values()), 10)
        looked = 0
        for pid, st in harness.descendants(p.pid).items():
            if st[0] not in names:
                continue
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                assert f.read().split(b"\0")[0] == b"belljar-keeper"
            memory = memory_of(pid)
            looked += bool(memory)
            assert secret.encode() not in memory, st[0]
        assert looked or not harness.ROOT
    finally:
        harness.stop(p)


def test_keeper_and_launcher_are_static():
    """They need no loader of the host's: what runs with rights is what was built."""
    if harness.has_sanitizer():
        pytest.skip("a build with sanitizers is dynamic")
    for name in ("belljar", "belljar-keeper"):
        with open(os.path.join(os.path.dirname(harness.BELLJAR), name), "rb") as f:
            head = f.read(65536)
        assert b"ld-musl" not in head and b"ld-linux" not in head, name


def test_a_caller_that_does_not_want_to_hear_of_children():
    """SIGCHLD ignored is inherited: belljar's own processes must hear of theirs."""
    p = start("run", "--", "sh", "-c", "exit 3", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert finish(p).rc == 3
