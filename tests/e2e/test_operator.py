# SPDX-License-Identifier: Apache-2.0
"""What an operator sets is a ceiling (docs/operator.md): the system file's for all, what belljar was started with for request objects."""
import json
import shutil

import harness
import pytest
from harness import REPO, own, run

HOOKS = REPO / "build-hooks" / "belljar"
SHELL = "import subprocess\nprint('RAN', subprocess.run(['id'], capture_output=True).stdout)\n"


@pytest.fixture
def settings(box):
    """settings(user=...): the user's file; keywords for run()."""
    def write(user):
        top = box / "config" / "belljar"
        top.mkdir(parents=True, exist_ok=True)
        (top / "config.yaml").write_text(user)
        for p in box.rglob("*"):
            own(p)
        return {"env": {"XDG_CONFIG_HOME": str(box / "config")}}
    return write


@pytest.fixture
def system(box, monkeypatch):
    """system(text): a system file of the test's own; only a build with hooks looks for one elsewhere."""
    if not HOOKS.exists():
        pytest.skip("no build-hooks: make hooks")
    d = harness.BASE / "hooks-operator"
    if not d.exists():
        d.mkdir(mode=0o755)
        for f in [HOOKS, *(f for f in HOOKS.parent.glob("belljar-*") if f.is_file() and f.suffix not in harness.NOT_PARTS)]:
            shutil.copy2(f, d / f.name)
    monkeypatch.setattr(harness, "BELLJAR", d / "belljar")

    def write(text):
        top = box / "system"
        top.mkdir(exist_ok=True)
        (top / "config.yaml").write_text(text)
        return {"env": {"BELLJAR_SYSTEM_DIR": str(top)}}
    return write


def lines(*requests, opts=(), **kw):
    c = run("batch", "-j", "1", "-q", *opts, "-", input="\n".join(json.dumps(r) for r in requests).encode(), **kw)
    return [json.loads(l) for l in c.stdout.splitlines()]


def refused(r, *words):
    assert (r["status"], r["reason"]) == ("error", "policy") and r["stdout"] == "", r
    for w in words:
        assert w in r["error"], r["error"]


# ---- request objects -----------------------------------------------------------------------------

@pytest.mark.parametrize("asked", ["off", "warn"])
def test_a_line_does_not_switch_the_policy_off(asked, settings):
    plain, loose = lines({"code": SHELL}, {"code": SHELL, "policy": asked}, **settings("policy: enforce\n"))
    assert plain["reason"] == "policy"
    refused(loose, "'policy'", asked, "enforce", "user file")


def test_a_line_may_make_the_policy_tighter(settings):
    a, b = lines({"code": SHELL}, {"code": SHELL, "policy": "enforce"}, **settings("policy: warn\n"))
    assert a["status"] == "completed" and b["reason"] == "policy" and "static check" in b["error"]


LIMITS = [("timeout", "1s", "wall_ms", 9000), ("cpu-time", "1s", "cpu_ms", 9000), ("memory", "64M", "memory_bytes", 1 << 30), ("cpus", "0.5", "cpus", 2), ("disk", "5M", "disk_bytes", 1 << 30),
          ("pids", "8", "pids", 3000), ("nofile", "64", "nofile", 4096), ("output", "2K", "output_bytes", 1 << 20), ("output-log", "1M", "log_bytes", 1 << 30)]


@pytest.mark.parametrize("key,value,field,more", LIMITS)
def test_a_line_does_not_raise_a_limit(key, value, field, more, settings):
    ask = {"language": "bash", "code": "echo ran", "limits": {field: more}}
    for kw in (settings(f"{key}: {value}\n"), {"env": {"BELLJAR_" + key.upper().replace("-", "_"): value}}, {"opts": (f"--{key}", value)}):
        plain, loose = lines({"language": "bash", "code": "echo ran"}, ask, **kw)
        assert plain["stdout"] == "ran\n", plain
        refused(loose, f"limits.{field}", value)


@pytest.mark.parametrize("key,value,field,more", LIMITS)
def test_a_default_is_no_ceiling(key, value, field, more):
    (r,) = lines({"language": "bash", "code": "echo ran", "limits": {field: more}})
    assert r["stdout"] == "ran\n", r


def test_a_line_may_ask_for_less(settings):
    (r,) = lines({"code": "import time; time.sleep(9)", "limits": {"wall_ms": 300}}, **settings("timeout: 5s\nmemory: 64M\n"))
    assert r["reason"] == "wall_time"


def test_a_request_of_run_is_held_too(settings, put):
    for opts, kw in (((), settings("policy: enforce\n")), (("--policy", "enforce"), {})):
        f = put("r.json", json.dumps({"code": SHELL, "policy": "off"}))
        refused(run("run", "--json", *opts, "--request", f, **kw).result, "'policy'", "enforce")
    f = put("r.json", json.dumps({"code": "print(1)", "limits": {"memory_bytes": 1 << 30}}))
    c = run("run", "--json", "-m", "64M", "--request", f)
    refused(c.result, "limits.memory_bytes", "1G", "64M", "command line")
    assert "at most 64M" in c["hint"]


def test_other_guards_of_a_line(settings):
    deny = [("no-write: true\n", {"no_write": False}, "'no_write'"), ("keep-code: true\n", {"no_keep_code": True}, "'no_keep_code'"), ("keep-code: false\n", {"no_keep_code": False}, "'no_keep_code'"),
            ("net: none\nallow-host-network: true\n", {"network": "host"}, "'network'")]
    for text, ask, name in deny:
        (r,) = lines({"language": "bash", "code": "echo ran", **ask}, **settings(text))
        refused(r, name)
    (r,) = lines({"code": "print(1)", "allow_imports": True}, opts=("--allow-imports=false",))
    refused(r, "'allow_imports'")


def test_rules_of_a_line_are_added():
    """A set of its own does not take the place of the operator's."""
    code = "open('x', 'w')\n"  # a warning in standard, an error in strict
    plain, own_set = lines({"code": code}, {"code": code, "rules": ["standard"]}, opts=("--policy", "enforce", "--rules", "strict"))
    for r in (plain, own_set):
        assert r["reason"] == "policy" and "py-open-write" in r["error"], r
    a, b = lines({"code": code}, {"code": code, "rules": ["strict"]}, opts=("--policy", "enforce", "--rules", "standard"))
    assert a["status"] == "completed" and b["reason"] == "policy"


def test_modules_of_a_line_narrow():
    opts = ("--policy", "enforce", "--allow-modules", "math", "--allow-modules", "json")
    a, b, c, d = lines({"code": "import math"}, {"code": "import string", "allow_modules": ["string"]}, {"code": "import math", "allow_modules": ["math", "string"]},
                       {"code": "import json", "allow_modules": ["math"]}, opts=opts)
    assert a["status"] == c["status"] == "completed", (a, c)
    for r in (b, d):
        assert r["reason"] == "policy" and "(module)" in r["error"], r


TEST_LINE = {"code": "def f(x):\n    import subprocess\n    return x", "test": {"func": "f", "cases": [{"args": [1], "expected": 1}]}}


def test_lines_that_are_tests(settings):
    a, b, c = lines(TEST_LINE, {**TEST_LINE, "policy": "off"}, {**TEST_LINE, "limits": {"memory_bytes": 1 << 30}}, **settings("policy: enforce\nmemory: 64M\n"))
    assert "static check" in json.dumps(a), a
    for r, name in ((b, "'policy'"), (c, "limits.memory_bytes")):
        assert r["status"] == "error" and r["reason"] == "policy" and name in r["error"], r


def test_a_test_line_has_no_more_than_the_operator_gives(settings):
    """The limits of `belljar test` are defaults: they are lowered, not refused."""
    line = {"code": "def f(x):\n    return len(bytearray(150 << 20)) and x", "test": {"func": "f", "cases": [{"args": [1], "expected": 1}]}}
    (free,) = lines(line)
    (held,) = lines(line, **settings("memory: 64M\n"))
    assert free["all_passed"] is True and held["all_passed"] is False, (free, held)


# ---- the system file -----------------------------------------------------------------------------

@pytest.mark.parametrize("key,value,field,more", LIMITS)
def test_options_and_environment_do_not_raise_the_systems(key, value, field, more, system):
    kw = system(f"{key}: {value}\n")
    big = {"cpus": "2", "wall_ms": "9s", "cpu_ms": "9s"}.get(field, str(more))
    c = run("run", f"--{key}", big, "--", "echo", "ran", **kw)
    assert c.rc == 125 and c.out == b"" and f"--{key}" in c.stderr and "system file" in c.stderr, str(c)
    name = "BELLJAR_" + key.upper().replace("-", "_")
    c = run("run", "--", "echo", "ran", env={**kw["env"], name: big})
    assert c.rc == 125 and name in c.stderr and value.rstrip("s") in c.stderr, str(c)
    assert run("run", "--", "echo", "ran", **kw).stdout == "ran\n"


def test_the_users_file_does_not_raise_the_systems(system, settings):
    env = {**system("timeout: 5s\npolicy: enforce\nallow-host-network: false\naudit: required\nallow-degraded: false\nnet: none\n")["env"]}
    for text, name in (("timeout: 6s\n", "timeout"), ("policy: warn\n", "policy"), ("allow-host-network: true\n", "allow-host-network"), ("audit: best-effort\n", "audit"),
                       ("allow-degraded: true\n", "allow-degraded"), ("net: host\n", "net")):
        c = run("run", "--", "echo", "ran", env={**env, **settings(text)["env"]})
        assert c.rc == 125 and c.out == b"" and name in c.stderr and "config.yaml" in c.stderr and "system file" in c.stderr, str(c)
    assert run("run", "--", "echo", "ran", env={**env, **settings("timeout: 4s\n")["env"]}).stdout == "ran\n"


def test_what_is_kept_is_held(system, settings):
    env = system("logs:\n  max-size: 10M\nreceipts:\n  code-max-size: 10M\n")["env"]
    for text, name in (("logs:\n  max-size: 11M\n", "logs.max-size"), ("receipts:\n  code-max-size: 11M\n", "receipts.code-max-size")):
        c = run("run", "--", "echo", "ran", env={**env, **settings(text)["env"]})
        assert c.rc == 125 and c.out == b"" and name in c.stderr, str(c)
    assert run("run", "--", "echo", "ran", env={**env, **settings("logs:\n  max-size: 9M\n  max-age: 90d\n")["env"]}).stdout == "ran\n"


@pytest.mark.parametrize("args", [["--audit", "off"], ["--net", "host"], ["--allow-degraded"], ["--policy", "off"], ["--no-keep-code"], ["--no-write=false"]])
def test_options_that_loosen(args, system):
    kw = system("audit: required\nnet: none\nallow-host-network: true\nallow-degraded: false\npolicy: enforce\nkeep-code: true\nno-write: true\n")
    c = run("run", *args, "--", "echo", "ran", **kw)
    assert c.rc == 125 and c.out == b"" and args[0].split("=")[0] in c.stderr, str(c)


def test_the_systems_allow_list_is_narrowed_only(system, settings):
    env = system("allow: [echo, cat]\n")["env"]
    for more in ((), ("--allow", "echo,true")):
        assert run("run", *more, "--", "echo", "ran", env=env).stdout == "ran\n"
        assert run("run", *more, "--", "true", env=env).rc == 125
    assert run("run", "--allow", "true", "--", "true", env=env).rc == 125
    assert run("run", "--", "true", env={**env, "BELLJAR_ALLOW": "true"}).rc == 125
    assert run("run", "--", "true", env={**env, **settings("allow: ['true']\n")["env"]}).rc == 125


def test_the_systems_rules_stay(system):
    env = system("policy: enforce\nrules: strict\n")["env"]
    for args, more in ((("--rules", "standard"), {}), ((), {"BELLJAR_RULES": "standard"})):
        c = run("run", "--json", *args, "-c", "open('x', 'w')", env={**env, **more})
        assert c["reason"] == "policy", str(c)


def test_grading_is_held(system, put):
    """Commands with limits of their own: what nobody asked for is lowered, what an option asks for is refused."""
    kw = system("memory: 64M\n")
    sol = put("s.py", "def f(x):\n    return len(bytearray(150 << 20)) and x\n")
    cases = put("c.json", json.dumps([{"args": [1], "expected": 1}]))
    assert run("test", sol, "--func", "f", "--cases", cases).rc == 0
    assert run("test", sol, "--func", "f", "--cases", cases, **kw).rc == 1
    c = run("test", sol, "--func", "f", "--cases", cases, "-m", "300M", **kw)
    assert c.rc == 125 and "--memory" in c.stderr, str(c)
    prog = put("p.py", "print(len(bytearray(150 << 20)))\n")
    tests = put("t.json", json.dumps({"cases": [{"name": "1", "stdin": "", "expected": f"{150 << 20}\n"}]}))
    c = run("judge", prog, "--cases", tests)
    assert c.rc == 0, str(c)
    assert run("judge", prog, "--cases", tests, **kw).rc == 1
    c = run("judge", prog, "--cases", tests, "-m", "256M", **kw)
    assert c.rc != 0 and "--memory" in c.stderr and "64M" in c.stderr, str(c)
    tests = put("t.json", json.dumps({"cases": [{"name": "1", "stdin": "", "expected": "", "limits": {"memory": "256M"}}]}))
    c = run("judge", prog, "--cases", tests, **kw)
    assert c.rc != 0 and "limits.memory" in c.stderr and "64M" in c.stderr, str(c)


def test_a_compiler_is_held(system):
    """It has room to work, but not past the system's ceiling."""
    c = run("run", "--json", "--lang", "c", "-c", "char big[400 << 20] = {1}; int main(void) { return 0; }", **system("memory: 32M\n"))
    assert c["compile"]["status"] == "killed" or c["status"] != "completed", str(c)


def test_swebench_under_enforce(system):
    c = run("swebench", "run", "--instances", "/nonexistent", "--predictions", "gold", "--repos", "/nonexistent", **system("policy: enforce\n"))
    assert c.rc == 125 and "policy: enforce" in c.stderr, str(c)
