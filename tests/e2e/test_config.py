# SPDX-License-Identifier: Apache-2.0
"""Configuration: flag over environment over project file over user file over default; a project can only tighten."""
import os

import harness
import pytest
from harness import own, run


@pytest.fixture
def place(box):
    """place(user=..., project=...): the two files; returns keywords for run()."""
    def write(user=None, project=None, languages=None):
        top = box / "config" / "belljar"
        (top / "languages").mkdir(parents=True, exist_ok=True)
        work = box / "work"
        work.mkdir(exist_ok=True)
        if user is not None:
            (top / "config.yaml").write_text(user)
        if project is not None:
            (work / ".belljar.yaml").write_text(project)
        for name, text in (languages or {}).items():
            (top / "languages" / name).write_text(text)
        for p in box.rglob("*"):
            own(p)
        return {"env": {"XDG_CONFIG_HOME": str(box / "config")}, "cwd": work}
    return write


def limits(*args, **kw):
    c = run("run", "--dry-run", *args, "--", "true", **kw)
    assert c.rc == 0, str(c)
    return c["limits"]


def test_precedence(place):
    assert limits()["wall_ms"] == 30000
    kw = place(user="timeout: 20s\n")
    assert limits(**kw)["wall_ms"] == 20000
    kw = place(project="timeout: 15s\n")
    assert limits(**kw)["wall_ms"] == 15000
    kw["env"]["BELLJAR_TIMEOUT"] = "25s"
    assert limits(**kw)["wall_ms"] == 25000
    assert limits("--timeout", "40s", **kw)["wall_ms"] == 40000


def test_precedence_is_in_force(place):
    kw = place(user="timeout: 300ms\n")
    assert run("run", "--json", "--", "sleep", "60", **kw)["timed_out"] is True


@pytest.mark.parametrize("key,value,field,expected", [
    ("memory", "64M", "memory_bytes", 64 << 20), ("cpus", "0.5", "cpus", 0.5), ("disk", "5M", "disk_bytes", 5 << 20), ("pids", "9", "pids", 9), ("nofile", "100", "nofile", 100),
    ("output", "2K", "output_bytes", 2048), ("output-log", "3M", "log_bytes", 3 << 20), ("cpu-time", "5s", "cpu_ms", 5000), ("timeout", "1m", "wall_ms", 60000),
])
def test_every_limit(key, value, field, expected, place):
    assert limits(**place(user=f"{key}: {value}\n"))[field] == expected
    assert limits(env={"BELLJAR_" + key.upper().replace("-", "_"): value})[field] == expected


@pytest.mark.parametrize("text,names", [
    ("timeout: 31s\n", "timeout"), ("memory: 1G\n", "memory"), ("pids: 65\n", "pids"), ("cpus: 2\n", "cpus"), ("disk: 1G\n", "disk"), ("output-log: 1G\n", "output-log"), ("net: host\n", "net"),
    ("net: none\n", "net"), ("allow-degraded: true\n", "allow-degraded"), ("allow-host-network: true\n", "allow-host-network"), ("layers: {a: '/etc:/x'}\n", "layers"), ("uid: 0\n", "uid"),
    ("hostname: x\n", "hostname"), ("workspace: /\n", "workspace"), ("ro: '/:/x'\n", "ro"), ("env: A=1\n", "env"), ("file: /etc/passwd\n", "file"), ("json: true\n", "json"), ("code: print(1)\n", "code"),
])
def test_project_can_only_tighten(text, names, place):
    c = run("run", "--", "echo", "started", **place(project=text))
    assert c.rc in (2, 125) and c.out == b"" and names in c.stderr and ".belljar.yaml" in c.stderr, str(c)


def test_project_cannot_loosen_what_the_user_set(place):
    c = run("run", "--", "echo", "started", **place(user="timeout: 5s\nno-write: true\n", project="timeout: 6s\n"))
    assert c.rc == 125 and "timeout" in c.stderr
    c = run("run", "--", "echo", "started", **place(user="no-write: true\n", project="no-write: false\n"))
    assert c.rc == 125 and "no-write" in c.stderr


def test_project_may_tighten(place):
    c = run("run", "--json", "-c", "open('x', 'w')", **place(project="no-write: true\ntimeout: 20s\ncpu-time: 10s\npids: 20\n"))
    assert c["exit_code"] == 1 and "Read-only" in c["stderr"] or "Permission" in c["stderr"]


@pytest.mark.parametrize("text", ["timeout: [1, 2]\n", "timeout: soon\n", "timeout: -1\n", "bogus: 1\n", "- a\n- b\n", "just text", "timeout: 1s\n  bad: indent\n: x", "memory: 1\n", "{", "timeout: &a [*a]\n"])
def test_broken_user_file(text, place):
    c = run("run", "--", "echo", "started", **place(user=text))
    assert c.rc in (2, 125) and c.out == b"" and "config.yaml" in c.stderr and c.stderr.count("error:") == 1, str(c)


def test_empty_and_comment_only_files_are_fine(place):
    for text in ("", "# nothing here\n", "---\n"):
        c = run("run", "--", "echo", "started", **place(user=text))
        assert c.rc == 0, str(c)


@pytest.mark.parametrize("name,value", [("BELLJAR_TIMEOUT", "soon"), ("BELLJAR_MEMORY", "-1"), ("BELLJAR_PIDS", "many"), ("BELLJAR_NO_WRITE", "perhaps"), ("BELLJAR_TIMEOUT", "")])
def test_broken_environment(name, value):
    c = run("run", "--", "echo", "started", env={name: value})
    assert c.rc == 2 and name in c.stderr and c.out == b"", str(c)


def test_environment_does_not_allow_host_network():
    assert run("run", "--net", "host", "--", "true", env={"BELLJAR_ALLOW_HOST_NETWORK": "true"}).rc == 125


def test_config_command(place):
    kw = place(user="memory: 100M\n", project="pids: 10\n")
    kw["env"]["BELLJAR_CPUS"] = "0.5"
    c = run("config", **kw)
    rows = {l.split()[0]: l for l in c.stdout.splitlines()}
    assert c.rc == 0 and "30s" in rows["timeout"] and "default" in rows["timeout"]
    assert "100M" in rows["memory"] and "user" in rows["memory"] and "config.yaml" in rows["memory"]
    assert "10" in rows["pids"] and "project" in rows["pids"]
    assert "0.5" in rows["cpus"] and "environment" in rows["cpus"]


LANGUAGE = """
name: upper
title: Upper case
aliases: [up]
endings: [.upper]
interpreters: [upper]
file: main.upper
run: [/usr/bin/tr, a-z, A-Z]
env:
  FROM_ROW: "yes"
version: [/usr/bin/tr, --version]
program: /usr/bin/tr
package: coreutils
"""


def test_own_language(place, put):
    kw = place(languages={"upper.yaml": LANGUAGE})
    assert run("run", "--json", "--lang", "upper", "-c", "x", "--stdin", "-", input=b"abc", **kw).ok()["stdout"] == "ABC"
    assert run("run", "--json", "--lang", "up", "-c", "x", "--stdin", "-", input=b"abc", **kw).ok()["stdout"] == "ABC"
    assert run("run", "--json", put("f.upper", "x"), **kw).ok()["language"] == "upper"
    assert run("run", "--json", put("script", "#!/usr/bin/env upper\n"), **kw).ok()["language"] == "upper"
    listed = {l["name"]: l for l in run("languages", "--json", **kw).result}
    assert listed["upper"]["installed"] is True and "coreutils" in listed["upper"]["version"]


def test_own_language_with_a_compile_step(place):
    text = LANGUAGE.replace("run: [/usr/bin/tr, a-z, A-Z]", 'compile: [/bin/cp, "{file}", "{out}"]\nrun: [/bin/cat, "{out}"]')
    c = run("run", "--json", "--lang", "upper", "-c", "content", **place(languages={"u.yaml": text})).ok()
    assert c["stdout"] == "content" and c["compile"]["success"] is True


def test_own_row_replaces_a_built_in_one(place):
    text = LANGUAGE.replace("name: upper", "name: lua").replace("endings: [.upper]", "endings: [.lua]")
    c = run("run", "--json", "--lang", "lua", "-c", "x", "--stdin", "-", input=b"abc", **place(languages={"lua.yaml": text})).ok()
    assert c["stdout"] == "ABC"


@pytest.mark.parametrize("text,names", [(LANGUAGE.replace("run:", "rnu:"), "rnu"), ("name: x\n", "bad.yaml"), ("[]", "bad.yaml"), ("{", "bad.yaml"), (LANGUAGE.replace("run: [/usr/bin/tr, a-z, A-Z]", "run: tr"), "run")])
def test_broken_language_row(text, names, place):
    c = run("run", "--lang", "python", "-c", "1", **place(languages={"bad.yaml": text}))
    assert c.rc in (2, 125) and names in c.stderr and "bad.yaml" in c.stderr, str(c)


def test_layers(place, put, box):
    put("site/lib.py", "answer = 42")
    kw = place(user=f"layers:\n  mylib: {box}/site:/opt/site\n")
    c = run("run", "--json", "--ro", "@mylib", "--env", "PYTHONPATH=/opt/site", "-c", "import lib; print(lib.answer)", **kw).ok()
    assert c["stdout"] == "42\n"
    assert "mylib" in run("config", **kw).stdout
    c = run("run", "--ro", "@other", "--", "true", **kw)
    assert c.rc == 2 and "other" in c.stderr and "layers" in c.stderr


# ---- a project's folder is foreign ------------------------------------------------------------------

SECRET = "hunter2-secret:!:19000:0:99999:7:::"


@pytest.fixture
def work(box):
    d = box / "work"
    d.mkdir()
    own(d)
    return d


def test_a_link_is_not_followed(work, put):
    """As root it would be read with root's rights, and quoted."""
    for target in (put("secret", f"{SECRET} x\n", 0o600), put("good.yaml", "timeout: 5s\n"), "/etc/shadow", "nowhere"):
        (work / ".belljar.yaml").symlink_to(target)
        c = run("run", "--", "echo", "started", cwd=work)
        (work / ".belljar.yaml").unlink()
        assert c.rc == 125 and c.out == b"" and "is a link" in c.stderr and "hunter2" not in c.stderr and "root" not in c.stderr, str(c)


def test_errors_do_not_quote_what_is_no_word(work, place, put):
    """A hard link, or a file that the caller names, may be a secret too."""
    kw = place(project=f"{SECRET}: 1\n")
    c = run("run", "--", "echo", "started", **kw)
    assert c.rc == 125 and c.out == b"" and "hunter2" not in c.stderr and "not a setting" in c.stderr or "cannot be set" in c.stderr, str(c)
    f = put("secret.yaml", f"'{SECRET}': 1\n")
    c = run("check", "--rules", f, "/dev/null")
    assert c.rc != 0 and "hunter2" not in c.stderr and "secret.yaml" in c.stderr, str(c)
    c = run("run", "--", "true", **place(project="", languages={"x.yaml": f"'{SECRET}': 1\n"}))
    assert c.rc != 0 and "hunter2" not in c.stderr, str(c)
    f = put("secret.json", "hunter2secret\n")
    c = run("run", "--request", f)
    assert c.rc != 0 and "not JSON" in c.stderr and "hunter2" not in c.stderr, str(c)
    c = run("judge", put("s.py", "print(1)"), "--cases", f)
    assert c.rc == 2 and "not JSON" in c.stderr and "hunter2" not in c.stderr, str(c)


def root_only():
    if not harness.ROOT:
        pytest.skip("only root can give files away")


def test_a_third_users_file(work):
    root_only()
    f = work / ".belljar.yaml"
    f.write_text("timeout: 5s\n")
    os.chown(f, 12345, 12345)
    c = run("run", "--", "echo", "started", cwd=work)
    assert c.rc == 125 and c.out == b"" and "12345" in c.stderr, str(c)
    assert run("run", "--", "echo", "started", cwd=work, env={"SUDO_UID": "12345"}).ok().out == b"started\n"
    os.chown(work, 12345, 12345)  # the folder's owner has the say in it
    assert run("run", "--", "echo", "started", cwd=work).ok().out == b"started\n"


def test_somebody_elses_settings(place, box):
    root_only()
    kw = place(user="policy: off\n")
    d = box / "config" / "belljar"
    os.chown(d, 12345, 12345)
    c = run("run", "--", "echo", "started", **kw)
    assert c.rc == 125 and c.out == b"" and "12345" in c.stderr, str(c)
    os.chown(d, 0, 0)
    d.chmod(0o777)
    c = run("run", "--", "echo", "started", **kw)
    assert c.rc == 125 and "every user" in c.stderr, str(c)
    d.chmod(0o755)
    f = d / "config.yaml"  # a link in one's own folder is one's own
    f.rename(box / "mine.yaml")
    f.symlink_to(box / "mine.yaml")
    assert run("run", "--", "echo", "started", **kw).ok().out == b"started\n"
