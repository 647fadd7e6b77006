# SPDX-License-Identifier: Apache-2.0
"""ps, kill, clean, doctor, languages, help, version, unknown verbs."""
import contextlib
import os
import time

import pytest
from harness import TEST_USER, bash, descendants, finish, home, jar, ms, own, run, run_dir, seconds, start, state_dir, stop, wait_until

VERBS = ["run", "batch", "languages", "ps", "kill", "clean", "doctor", "bench", "config"]


def test_help_lists_every_verb():
    for args in (["--help"], ["-h"], ["help"]):
        c = run(*args)
        assert c.rc == 0 and all(f"  {v}" in c.stdout for v in VERBS) and c.err == b""


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_each(verb):
    c = run(verb, "--help")
    assert c.rc == 0 and f"belljar {verb}" in c.stdout and c.err == b""
    assert run(verb, "-h").out == c.out


def test_help_of_run_lists_every_option_with_its_default():
    text = run("run", "--help").stdout
    for option in ("--lang", "--timeout", "--cpu-time", "--memory", "--cpus", "--disk", "--pids", "--output", "--output-log", "--nofile", "--stdin", "--arg", "--env", "--file", "--ro", "--workspace",
                   "--get", "--out", "--workdir", "--hostname", "--uid", "--no-write", "--net", "--image", "--allow-degraded", "--json", "--quiet", "--verbose", "--dry-run", "--request"):
        assert option + " " in text or option + "\n" in text, option
    for default in ("30s", "512M", "100M", "64M", "100K", "1000"):
        assert f"(default {default})" in text


def test_help_starts_nothing(traces):
    assert run("run", "--help", "-c", "print(1)").rc == 0


def test_version():
    c = run("--version")
    assert c.rc == 0 and c.stdout.startswith("belljar ") and c.stdout.count("\n") == 1


def test_no_verb():
    c = run()
    assert c.rc == 2 and "usage" in c.stdout + c.stderr


@pytest.mark.parametrize("word,near", [("rnu", "run"), ("runn", "run"), ("docter", "doctor"), ("lang", "languages"), ("clear", "clean"), ("confg", "config")])
def test_unknown_verb_with_near_miss(word, near):
    c = run(word)
    assert c.rc == 2 and f"did you mean '{near}'" in c.stderr and c.out == b""


@pytest.mark.parametrize("word", ["frobnicate", "--frob", "", "x" * 5000])
def test_unknown_verb(word):
    c = run(word)
    assert c.rc == 2 and "error:" in c.stderr and len(c.err) < 400


@pytest.mark.parametrize("verb", VERBS)
def test_unknown_option_of_each(verb):
    c = run(verb, "--frobnicate")
    assert c.rc == 2 and "--frobnicate" in c.stderr


@pytest.mark.parametrize("verb", ["ps", "clean", "doctor", "languages", "config"])
def test_surplus_words_are_refused(verb):
    c = run(verb, "surplus")
    assert c.rc == 2 and "surplus" in c.stderr, str(c)


# ---- languages, doctor ---------------------------------------------------------------------------

def test_languages():
    rows = run("languages", "--json").result
    names = {r["name"] for r in rows}
    assert {"python", "bash", "node", "c", "cpp", "go", "rust", "java", "ruby", "perl", "lua", "php", "typescript"} <= names
    for r in rows:
        assert r["title"] and r["package"] and (r["installed"] is True) == (r["version"] is not None)
    text = run("languages").stdout
    for r in rows:
        line = next(l for l in text.splitlines() if l.split()[0] == r["name"])
        assert (r["version"] if r["installed"] else "apt-get install") in line


def test_python_and_bash_are_here():
    rows = {r["name"]: r for r in run("languages", "--json").result}
    assert rows["python"]["installed"] and rows["python"]["version"].startswith("Python 3") and rows["bash"]["installed"]


def test_doctor():
    c = run("doctor")
    assert c.rc == 0, str(c)
    for word in ("user namespaces", "seccomp", "landlock", "cgroup memory", "cgroup cpu", "cgroup pids", "core dumps", "host ids"):
        assert word in c.stdout


def test_doctor_json():
    c = run("doctor", "--json")
    assert c.rc == 0
    for row in c.result:
        assert set(row) == {"feature", "state", "text", "fix"} and row["state"] in ("ok", "weaker", "broken") and row["text"]
        if row["state"] != "ok":
            assert row["fix"], row
    states = {r["feature"]: r["state"] for r in c.result}
    assert states["seccomp"] == states["user namespaces"] == states["a jar"] == "ok" or states["a jar"] == "weaker"


def test_doctor_agrees_with_a_run():
    missing = jar("--", "true")["isolation"]["missing"]
    states = {r["feature"]: r["state"] for r in run("doctor", "--json").result}
    assert (states["cgroup memory"] == "ok") == ("cgroup-memory" not in missing)
    assert (states["host ids"] == "ok") == ("uid-range" not in missing)


# ---- ps, kill ------------------------------------------------------------------------------------

@pytest.fixture
def sleeper():
    """A run whose program is at work; .id is its execution id."""
    p = start("run", "--json", "-t", ms(60000), "--", "sh", "-c", "sleep 60; true")
    assert wait_until(lambda: "sleep" in {st[0] for st in descendants(p.pid).values()}, 10), "the program did not start"
    rows = [r for r in run("ps", "--json").result if r["pid"] == p.pid]
    assert rows, "not in ps"
    p.id, p.row = rows[0]["execution_id"], rows[0]
    yield p
    stop(p)


def test_ps(sleeper):
    assert sleeper.id.startswith("exec-") and sleeper.row["what"] == "sh" and abs(sleeper.row["started"] - time.time()) < seconds(60)
    text = run("ps")
    assert text.rc == 0 and any(l.split()[:2] == [sleeper.id, str(sleeper.pid)] for l in text.stdout.splitlines())


def test_kill(sleeper):
    c = run("kill", sleeper.id)
    assert c.rc == 0 and c.out == b""
    end = finish(sleeper, timeout=20)
    assert end.verdict == "killed/cancelled" and end.rc == 137 and end["execution_id"] == sleeper.id and end["error"]
    assert not [r for r in run("ps", "--json").result if r["execution_id"] == sleeper.id]


def test_kill_several_names_the_bad_one(sleeper):
    c = run("kill", "exec-000000000000", sleeper.id)
    assert c.rc != 0 and "exec-000000000000" in c.stderr
    assert finish(sleeper, timeout=20).verdict == "killed/cancelled"


@pytest.mark.parametrize("name", ["exec-000000000000", "nonsense", "../../etc/passwd", "exec-../../x", "1", "-1", "", "exec-" + "0" * 500])
def test_kill_of_nothing(name):
    c = run("kill", name) if not name.startswith("-") else run("kill", "--", name)
    assert c.rc in (2, 125) and "error:" in c.stderr, str(c)


def test_kill_without_a_name():
    c = run("kill")
    assert c.rc == 2 and "belljar ps" in c.stderr


def test_finished_runs_are_not_listed():
    done = jar("--", "true")["execution_id"]
    assert done not in run("ps", "--json").stdout


def test_ps_when_nothing_runs():
    """Only where no other run can be: a runtime folder of our own."""
    if not TEST_USER:
        pytest.skip("root's runs are shared with everything else on this host")
    c = run("ps")
    assert c.rc == 0 and c.out == b"" and "nothing" in c.stderr


def test_folders_are_private():
    jar("--", "true")
    for d in (run_dir(), run_dir() / "runs", state_dir()):
        assert os.stat(d).st_mode & 0o777 == 0o700, d
    if TEST_USER:
        assert home(TEST_USER).exists()


# ---- clean ---------------------------------------------------------------------------------------

def make_log(age_s):
    c = bash("head -c 200000 /dev/zero")
    log = c["log"]["stdout"] if isinstance(c["log"], dict) else c["log"]
    then = time.time() - age_s
    os.utime(log, (then, then))
    return log


def test_clean_by_age():
    old, new = make_log(30 * 86400), make_log(0)
    c = run("clean", "--dry-run", "--older", "20d", "--max-size", "900G")
    assert c.rc == 0 and os.path.exists(old) and "would remove" in c.stdout
    c = run("clean", "--older", "20d", "--max-size", "900G")
    assert c.rc == 0 and not os.path.exists(old) and os.path.exists(new)
    os.unlink(new)


def test_clean_by_size():
    """Only where the logs are ours alone: it removes the oldest until the rest fits."""
    if not TEST_USER:
        pytest.skip("root's logs are shared with everything else on this host")
    logs = [make_log(a) for a in (300, 200, 100)]
    assert run("clean", "--max-size", "450000").rc == 0
    assert [os.path.exists(l) for l in logs] == [False, True, True]
    assert run("clean", "--max-size", "0").rc == 0
    assert not any(map(os.path.exists, logs))


def test_clean_touches_nothing_else():
    log = make_log(90 * 86400)
    stranger = os.path.join(os.path.dirname(log), "stranger.txt")
    with open(stranger, "w") as f:
        f.write("x")
    os.utime(stranger, (1, 1))
    os.symlink("/etc/passwd", os.path.join(os.path.dirname(log), "exec-link"))
    try:
        assert run("clean", "--older", "60d", "--max-size", "900G").rc == 0
        assert os.path.exists(stranger) and os.path.exists("/etc/passwd") and not os.path.exists(log)
    finally:
        os.unlink(stranger)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(os.path.dirname(log), "exec-link"))


@pytest.mark.parametrize("args", [["--older", "x"], ["--max-size", "-1"], ["--older"]])
def test_clean_bad_values(args):
    assert run("clean", *args).rc == 2


def test_clean_does_not_disturb_a_run(sleeper):
    assert run("clean", "--max-size", "900G").rc == 0
    assert sleeper.poll() is None and [r for r in run("ps", "--json").result if r["execution_id"] == sleeper.id]


# ---- -q -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("args", [["--policy", "enforce", "-c", "import subprocess"], ["--allow", "nosuch-program", "--", "true"], ["--", "/usr/bin/nosuch-program"], ["-c", "def"],
                                  ["--request", "/nonexistent"], ["--timeout", "never", "--", "true"]])
def test_quiet_does_not_hide_errors(args):
    """Progress and notices are silenced; what belljar fails at or refuses is not."""
    c = run("run", "-q", *args)
    assert c.rc != 0 and "error: " in c.stderr, str(c)


def test_quiet_hides_verdicts():
    c = run("run", "-q", "-t", "300ms", "--", "sleep", "60")
    assert c.rc == 124 and c.err == b"", str(c)
    assert run("run", "-q", "--", "sh", "-c", "exit 3").err == b""


def test_quiet_of_test(put):
    cases = put("c.json", '[{"args": [1], "expected": 1}]')
    c = run("test", "-q", "--policy", "enforce", put("s.py", "import subprocess\ndef f(x): return x\n"), "--func", "f", "--cases", cases)
    assert c.rc == 1 and c.out == b"" and "py-subprocess" in c.stderr, str(c)
    c = run("test", "-q", put("w.py", "def f(x): return x + 1\n"), "--func", "f", "--cases", cases)
    assert (c.rc, c.out, c.err) == (1, b"", b"")


def test_quiet_of_batch_tells_that_there_are_no_receipts(box):
    state = put_file(box)
    c = run("batch", "-q", "--audit", "best-effort", "-", input=b'{"code": "print(1)"}\n', env={"BELLJAR_STATE_DIR": state})
    assert "no receipts" in c.stderr, str(c)


def put_file(box):
    """A state folder whose database is none."""
    d = box / "state"
    d.mkdir()
    (d / "receipts.db").write_bytes(b"not a database" * 100)
    for p in (d, d / "receipts.db"):
        own(p)
    return d
