# SPDX-License-Identifier: Apache-2.0
"""--workdir, --hostname, --uid, --env, --arg, --nofile, --cpus, --dry-run."""
import json

import pytest
from harness import bash, jar, ms, need, python, run


@pytest.mark.parametrize("path", ["/workspace", "/tmp", "/", "/usr/lib", "/home/guest", "/workspace/sub/dir"])
def test_workdir(path, put):
    c = jar("--file", f"{put('f', '')}:sub/dir/f", "--workdir", path, "--", "pwd").ok()
    assert c["stdout"] == path + "\n"


@pytest.mark.parametrize("path", ["/nope", "/workspace/../../etc", "relative", "", "/proc/1", "/dev", "/etc/hosts", "/root", "/proc/self/root"])
def test_bad_workdir(path, traces):
    c = run("run", "--workdir", path, "--", "echo", "started")
    assert c.rc in (2, 125) and "--workdir" in c.stderr and c.out == b"", str(c)


def test_workdir_with_code():
    assert python("import os; print(os.getcwd())", "--workdir", "/tmp").ok()["stdout"] == "/tmp\n"


@pytest.mark.parametrize("name", ["box", "a-b.example", "x" * 63])
def test_hostname(name):
    assert jar("--hostname", name, "--", "uname", "-n").ok()["stdout"] == name + "\n"


@pytest.mark.parametrize("name", ["", "a b", "x" * 64, "ä", "a/b", "a;b"])
def test_bad_hostname(name, traces):
    c = run("run", "--hostname", name, "--", "echo", "started")
    assert c.rc == 2 and "--hostname" in c.stderr and c.out == b""


def test_default_hostname():
    assert jar("--", "uname", "-n").ok()["stdout"] == "jar\n"


@pytest.mark.parametrize("uid", [0, 1, 1000, 1234, 65533, 65535])
def test_uid(uid):
    c = bash("id -u; id -g; touch f; stat -c %u f", "--uid", uid)
    assert c.ok()["stdout"] == f"{uid}\n{uid}\n{uid}\n"
    assert c["isolation"]["host_uid"] != 0


def test_uid_0_has_no_power():
    c = bash("grep Cap /proc/self/status; mount -t tmpfs x /tmp; hostname x; chown 1 /etc/hosts; exit 0", "--uid", "0").ok()
    assert "CapEff:\t0000000000000000" in c["stdout"]
    assert c["stderr"].count("ermission denied") + c["stderr"].count("not permitted") + c["stderr"].count("must be") + c["stderr"].count("ead-only") >= 3, c["stderr"]


def test_uid_name():
    assert bash("whoami; echo ~").ok()["stdout"] == "guest\n/home/guest\n"


def test_env():
    c = jar("--env", "A=1", "--env", "B=x=y z", "--env", "EMPTY=", "--", "sh", "-c", 'echo "$A|$B|$EMPTY|${EMPTY+set}"').ok()
    assert c["stdout"] == "1|x=y z||set\n"


@pytest.mark.parametrize("pair,name", [("PATH=/nowhere:/bin", "PATH"), ("HOME=/tmp", "HOME"), ("LANG=C", "LANG"), ("SANDBOX_MODE=0", "SANDBOX_MODE"), ("TMPDIR=/workspace", "TMPDIR")])
def test_env_overrides(pair, name):
    assert jar("--env", pair, "--", "/usr/bin/printenv", name).ok()["stdout"] == pair.split("=", 1)[1] + "\n"


def test_env_overrides_the_languages_row():
    assert python("import os; print(os.environ['PYTHONUNBUFFERED'], os.environ.get('PYTHONHASHSEED'))", "--env", "PYTHONUNBUFFERED=2",
                  "--env", "PYTHONHASHSEED=7").ok()["stdout"] == "2 7\n"


def test_last_env_wins():
    assert jar("--env", "A=1", "--env", "A=2", "--", "printenv", "A").ok()["stdout"] == "2\n"


@pytest.mark.parametrize("pair", ["A B", "=x", ""])
def test_bad_env(pair, traces):
    c = run("run", "--env", pair, "--", "echo", "started")
    assert c.rc == 2 and "--env" in c.stderr and c.out == b""


def test_args():
    args = ["a", "", "b c", "-c", "--json", "--", "ü", "*", "$HOME", "line\nline"]
    c = python("import sys, json; print(json.dumps(sys.argv[1:]))", *[w for a in args for w in ("--arg", a)]).ok()
    assert json.loads(c["stdout"]) == args


def test_args_that_are_no_utf8():
    assert python("import os, sys; print(os.fsencode(sys.argv[1]))", "--arg", b"\xff\xfe".decode("utf-8", "surrogateescape")).ok()["stdout"] == "b'\\xff\\xfe'\n"


def test_very_long_argument():
    c = python("import sys; print(len(sys.argv[1]))", "--arg", "x" * 100000).ok()
    assert c["stdout"] == "100000\n"


@pytest.mark.parametrize("n", [16, 64, 1024, 4096])
def test_nofile(n):
    c = python("import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))", "--nofile", n)
    assert c.ok()["stdout"] == f"({n}, {n})\n"


def test_nofile_is_kept():
    c = python("import os\nn = 3\ntry:\n    while True: os.dup(1); n += 1\nexcept OSError as e: print(n, e.errno)", "--nofile", "32").ok()
    assert c["stdout"] == "32 24\n"


SPIN = """
import multiprocessing, time
def spin():
    end = time.monotonic() + 1.5
    while time.monotonic() < end: pass
ps = [multiprocessing.Process(target=spin) for _ in range(2)]
[p.start() for p in ps]; [p.join() for p in ps]
"""


@pytest.mark.parametrize("cpus,low,high", [("0.3", 0.1, 0.5), ("1.0", 0.4, 1.25)])
def test_cpus(cpus, low, high):
    """By evidence: CPU time over elapsed time, with bounds that a loaded machine keeps."""
    need("cgroup-cpu")
    c = python(SPIN, "--cpus", cpus, "-t", ms(60000)).ok()
    assert low <= c["cpu_s"] / c["elapsed_s"] <= high, (c["cpu_s"], c["elapsed_s"])


def test_cpus_says_how_much_was_withheld():
    need("cgroup-cpu")
    c = python(SPIN, "--cpus", "0.2", "-t", ms(60000)).ok()
    assert c["evidence"]["cpu_throttled_ns"] > 0


def test_short_forms():
    c = run("run", "-j", "-t10s", "-m", "64M", "-e", "A=1", "-a", "x", "-l", "bash", "-c", "echo $A $1").ok()
    assert c["stdout"] == "1 x\n"


def test_equals_form():
    assert run("run", "--json", "--timeout=5s", "--lang=bash", "--code=echo x").ok()["stdout"] == "x\n"


@pytest.mark.parametrize("text,value", [("500ms", 500), ("2s", 2000), ("2", 2000), ("1.5s", 1500), ("1m", 60000), ("1h", 3600000), ("0.25", 250)])
def test_times(text, value):
    assert run("run", "--dry-run", "-t", text, "--", "true")["limits"]["wall_ms"] == value


@pytest.mark.parametrize("text,value", [("64M", 64 << 20), ("1G", 1 << 30), ("5242880", 5 << 20), ("8192K", 8 << 20), ("1.5G", 3 << 29), ("64MB", 64 << 20), ("64MiB", 64 << 20),
                                        ("64m", 64 << 20)])
def test_sizes(text, value):
    assert run("run", "--dry-run", "-m", text, "--", "true")["limits"]["memory_bytes"] == value


def test_dry_run_tells_the_plan_and_starts_nothing(put, traces, box):
    c = run("run", "--dry-run", "--file", put("data", "x"), "--env", "A=1", "--get", "*.txt", "--hostname", "h", "--uid", "7", "-t", "3s", "--cpus", "0.5",
            "--arg", "z", "--lang", "c", "-c", "int main(){}", "--out", box / "never")
    assert c.rc == 0
    plan = c.result
    assert plan["language"] == "c" and plan["compile"][0].endswith("gcc") and plan["command"][-1] == "z" and "A=1" in plan["env"]
    assert plan["limits"]["wall_ms"] == 3000 and plan["limits"]["cpus"] == 0.5 and plan["uid"] == 7 and plan["hostname"] == "h"
    assert plan["get"] == ["*.txt"] and {"data"} <= {f["path"] for f in plan["files"]}
    assert not (box / "never").exists()


def test_dry_run_does_not_run(box):
    c = run("run", "--dry-run", "--workspace", box, "--", "touch", "ran")
    assert c.rc == 0 and not (box / "ran").exists()


def test_dry_run_finds_bad_input_too():
    assert run("run", "--dry-run", "/no/such/file.py").rc == 125
