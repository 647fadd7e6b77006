# SPDX-License-Identifier: Apache-2.0
"""belljar as an ordinary user, with subordinate ids and without: the heart of every other file, in short.

The whole suite runs as such a user with BELLJAR_TEST_USER=belljartest (or belljarsingle)."""
import json
import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from harness import (BELLJAR, SUBIDS, TEST_USER, as_user, descendants, finish, home, is_alive, left_behind, make_user, missing, ms, own, run, run_dir, seconds,
                     start, stop, wait_until)

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or bool(TEST_USER), reason="root calls belljar as other users here; the suite itself runs as one already")


@pytest.fixture(params=SUBIDS, scope="module")
def user(request):
    make_user(request.param)
    if SUBIDS[request.param] and not shutil.which("newuidmap"):
        pytest.skip("newuidmap is not installed: apt-get install uidmap")
    return request.param


def jar(user, *args, **kw):
    c = run("run", "--json", *args, user=user, **kw)
    assert c.result is not None, str(c)
    return c


def test_hello(user):
    c = jar(user, "-c", "print(6*7)", "--lang", "python").ok()
    iso = c["isolation"]
    assert c["stdout"] == "42\n" and iso["mode"] == "rootless" and iso["no_new_privs"] is True and iso["seccomp"]
    assert {"user", "mount", "pid", "net", "ipc", "uts", "cgroup"} <= set(iso["namespaces"])
    assert ("uid-range" in iso["missing"]) == (not SUBIDS[user])
    if SUBIDS[user]:
        assert iso["host_uid"] not in (0, pwd.getpwnam(user).pw_uid)
    else:
        assert iso["host_uid"] == pwd.getpwnam(user).pw_uid


def test_missing_guards_are_listed_and_warned_once(user):
    gone = missing(user)
    c = run("run", "--", "true", user=user)
    lines = [l for l in c.stderr.splitlines() if "weaker" in l]
    assert c.rc == 0 and len(lines) == (1 if gone else 0)
    for g in gone:
        assert g in lines[0]
    assert run("run", "--quiet", "--", "true", user=user).err == b""


@pytest.mark.parametrize("args,out", [
    (["--lang", "bash", "-c", "echo $((6*7)); touch /tmp/x ~/y z"], "42\n"), (["--lang", "node", "-c", "console.log(42)"], "42\n"),
    (["--lang", "c", "-c", "#include <stdio.h>\nint main(){puts(\"42\");}"], "42\n"), (["--uid", "0", "--", "id", "-u"], "0\n"), (["--uid", "1234", "--", "id", "-u"], "1234\n"),
    (["--hostname", "h", "--", "uname", "-n"], "h\n"), (["--env", "A=42", "--", "printenv", "A"], "42\n"),
    (["-c", "import multiprocessing as m\nwith m.Pool(2) as p: print(sum(p.map(abs, [-40, -2])))"], "42\n"),
    (["-c", "import socket\ns = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print(42)"], "42\n"),
    (["-c", "import pty, os\npid, fd = pty.fork()\nif pid == 0: os.execlp('echo', 'echo', '42')\nprint(os.read(fd, 9).split()[0].decode())"], "42\n"),
])
def test_runs(user, args, out):
    assert jar(user, "-t", ms(60000), *args).ok()["stdout"] == out


@pytest.mark.parametrize("args,verdict,rc", [
    (["-t", ms(500), "--", "sleep", "60"], "timeout/wall_time", 124), (["--output-log", "2K", "--", "yes"], "killed/output", 137),
    (["-c", "import ctypes; ctypes.CDLL(None).syscall(169, 0xfee1dead, 672274793, 0x01234567, 0)"], "killed/syscall", 159),
    (["-c", "import os; os.kill(os.getpid(), 9)"], "completed/signal", 137), (["-c", "raise SystemExit(137)"], "completed/exited", 137),
    (["--cpu-time", "300ms", "-t", ms(20000), "-c", "while 1: pass"], "timeout/cpu_time", 124), (["--", "/no/such"], "error/setup", 127), (["--", "/etc/hosts"], "error/setup", 126),
])
def test_verdicts(user, args, verdict, rc):
    c = jar(user, *args)
    assert c.verdict == verdict and c.rc == rc, str(c)


def test_memory_is_bounded_and_claimed_only_with_evidence(user):
    c = jar(user, "-m", "96M", "-t", ms(30000), "-c", "x = []\nwhile True: x.append(bytearray(1 << 20))")
    assert c["success"] is False and c["timed_out"] is False, str(c)
    if c["reason"] != "memory":
        assert "MemoryError" in c["stderr"] and "cgroup-memory" in c["isolation"]["missing"]


def test_memory_of_many_children_together(user):
    """Without cgroups each process has its rlimit; together they must not go far past the limit."""
    code = ("import os, time\nfor _ in range(12):\n    if os.fork() == 0:\n        x = bytearray(60 << 20)\n        for i in range(0, len(x), 4096): x[i] = 1\n        time.sleep(20); os._exit(0)\n"
            "time.sleep(8)")
    c = jar(user, "-m", "128M", "-t", ms(15000), "-c", code)
    assert c.verdict == "killed/memory" or "memory" in c["limits_hit"], str(c)


def test_disk_full(user):
    c = jar(user, "--disk", "2M", "--", "dd", "if=/dev/zero", "of=/tmp/x", "bs=1M", "count=9")
    assert c["exit_code"] == 1 and c["limits_hit"] == ["disk"]


def test_fork_bomb(user):
    c = jar(user, "-t", ms(1500), "--pids", "30", "--lang", "bash", "-c", ":(){ :|:& };:\nsleep 60")
    assert c["status"] in ("timeout", "completed"), str(c)
    assert jar(user, "--", "true").ok()


def test_many_processes_one_after_the_other(user):
    """The namespace's own limit of process numbers must leave room after it has wrapped around."""
    c = jar(user, "--pids", "16", "-t", ms(60000), "--lang", "bash", "-c", "for i in $(seq 700); do /bin/true || exit 1; done; echo x | cat | cat | cat")
    assert c.rc == 0 and c["stdout"] == "x\n" and c["stderr"] == "", str(c)  # bash tries again, and says so


def test_files_in_and_out(user, box):
    own(box, user)
    (box / "in").mkdir()
    (box / "in" / "f").write_text("content")
    for p in (box / "in", box / "in" / "f"):
        own(p, user)
    c = jar(user, "--workspace", box / "in", "--lang", "bash", "-c", "cat f; echo new > g; rm f; chmod 4777 g").ok()
    assert c["stdout"] == "content" and (box / "in" / "g").read_text() == "new\n" and not (box / "in" / "f").exists()
    assert os.stat(box / "in" / "g").st_uid == pwd.getpwnam(user).pw_uid and os.stat(box / "in" / "g").st_mode & 0o7777 == 0o755
    jar(user, "--get", "o", "--out", box / "out", "--lang", "bash", "-c", "umask 077; echo x > o").ok()
    assert (box / "out" / "o").read_text() == "x\n"


def test_read_only_bind(user, box):
    (box / "d").mkdir()
    (box / "d" / "f").write_text("x")
    c = jar(user, "--ro", f"{box}/d:/data", "--lang", "bash", "-c", "cat /data/f; echo y > /data/f").result
    assert c["stdout"] == "x" and c["exit_code"] == 1 and (box / "d" / "f").read_text() == "x"


def test_guest_cannot_read_what_is_private_to_its_caller(user):
    """The caller's home is not in the jar, whoever the guest is outside."""
    secret = home(user) / "secret"
    secret.write_text("secret")
    own(secret, user)
    c = jar(user, "--lang", "bash", "-c", f"cat {secret}; ls {home(user)}; ls /var/tmp")
    assert c["stdout"] == "" and c["stderr"].count("No such file") == 2, str(c)


def test_killed_belljar_takes_the_jar_along(user):
    p = start("run", "-t", ms(60000), "-c", "import os, time\nif os.fork() == 0: os.setsid()\nprint('ready', flush=True)\ntime.sleep(60)", user=user)
    try:
        p.stdout.readline()
        guests = [pid for pid, st in descendants(p.pid).items() if st[0].startswith("python3")]
        assert len(guests) == 2
        os.kill(p.pid, signal.SIGKILL)
        assert wait_until(lambda: not any(map(is_alive, guests)), 2)
    finally:
        stop(p)
    assert wait_until(lambda: not left_behind(), 5), left_behind()
    assert jar(user, "--", "echo", "next").ok()["stdout"] == "next\n"
    assert not list((run_dir(user) / "runs").glob("*")) or run("clean", user=user).rc == 0


def test_terminate(user):
    p = start("run", "--json", "-t", ms(60000), "-c", "import time; time.sleep(60)", user=user)
    try:
        assert wait_until(lambda: any(st[0].startswith("python3") for st in descendants(p.pid).values()), 10)
        time.sleep(seconds(0.2))
        p.terminate()
        assert finish(p, timeout=20).verdict == "killed/cancelled"
    finally:
        stop(p)


def test_ten_at_once(user):
    procs = [start("run", "--json", "-t", ms(60000), "-c", f"import time; time.sleep(.5); print('nonce-{i}')", user=user) for i in range(10)]
    try:
        for i, p in enumerate(procs):
            c = finish(p)
            assert c.rc == 0 and c["stdout"] == f"nonce-{i}\n", str(c)
    finally:
        for p in procs:
            stop(p)


def test_doctor_languages_config(user):
    assert run("doctor", user=user).rc == 0
    assert run("languages", "--json", user=user).result
    assert run("config", user=user).rc == 0
    assert run("ps", user=user).rc == 0 and run("clean", user=user).rc == 0


def test_without_a_home(user):
    """A service's user: no HOME, no XDG folders."""
    c = run("run", "--json", "--", "echo", "x", user=user, env={"HOME": "/nonexistent", "BELLJAR_STATE_DIR": "", "XDG_STATE_HOME": "", "XDG_RUNTIME_DIR": "", "XDG_CONFIG_HOME": ""})
    assert c.rc == 0 or c.stderr.count("error:") == 1 or c["error"], str(c)


@pytest.mark.parametrize("variables", [{}, {"HOME": "", "XDG_STATE_HOME": ""}, {"HOME": "relative", "XDG_STATE_HOME": "relative"}], ids=["unset", "empty", "relative"])
def test_state_folder_without_a_home(user, variables):
    """A service without HOME: logs lie in the private run folder, and nowhere else."""
    pw, top = pwd.getpwnam(user), home(user)
    base = {"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(top / "run"), **variables}
    p = subprocess.run([*as_user(user), str(BELLJAR), "run", "--json", "--output", "1K", "--", "seq", "1", "2000"], env=base, cwd="/", capture_output=True,
                       timeout=seconds(30))
    assert p.returncode == 0, p
    log = Path(json.loads(p.stdout)["log"]["stdout"])
    assert log.is_relative_to(top / "run" / "belljar" / "logs") and log.read_text().endswith("1999\n2000\n")
    for d in (log, log.parent, log.parent.parent):
        assert d.stat().st_uid == pw.pw_uid and not d.stat().st_mode & 0o077, d
    log.unlink()


def test_no_folder_at_all_without_a_home(user):
    """Neither HOME nor XDG_RUNTIME_DIR, and somebody else was first in /tmp: nothing starts."""
    trap = f"/tmp/belljar-{pwd.getpwnam(user).pw_uid}"
    script = f"mount -t tmpfs none /tmp && mkdir -m 777 {trap} && \"$@\"; echo \"status $? $(ls {trap} | wc -l)\""
    p = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", *as_user(user), str(BELLJAR), "run", "--", "true"],
                       env={"PATH": "/usr/bin:/bin"}, cwd="/", capture_output=True, timeout=seconds(30))
    assert p.stdout == b"status 125 0\n" and b"not a private folder" in p.stderr, p
