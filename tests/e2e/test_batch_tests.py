# SPDX-License-Identifier: Apache-2.0
"""Lines of `belljar batch` that are function tests: the verdicts of `belljar test`, among ordinary lines, with their receipts."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from harness import BASE, REPO, descendants, finish, need_language, run, start, stop, wait_until

sys.path.append(str(REPO / "tests" / "cheats"))
import tasks  # noqa: E402

ADD = "def f(a, b):\n    return a + b\n"
CASES = [{"args": [1, 2], "expected": 3}, {"args": ["a", "b"], "expected": "ab"}]
# What depends on the moment.
MOMENT = {"duration", "cpu_s", "max_memory_mb", "start", "jars"}
LINE = {"execution_id", "line", "id", "client", "status", "receipt"}


def lines(*requests):
    return "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in requests).encode()


def batch(requests, *opts, rc=0, **kw):
    c = run("batch", *opts, "-", input=lines(*requests), **kw)
    assert c.rc == rc, (c.rc, c.out[-1500:], c.err)
    return [json.loads(line) for line in c.out.splitlines()]


def test(code, cases=CASES, func="f", id=None, more=None, **fields):
    out = {"code": code, "test": {"func": func, "cases": cases, **(more or {})}, **fields}
    return {**out, "id": id} if id else out


test.__test__ = False


def plain(result):
    """Without what depends on the moment, and without what a line has more."""
    def row(r):
        r = {k: v for k, v in r.items() if k != "duration_ms"}
        return r
    out = {k: v for k, v in result.items() if k not in MOMENT | LINE}
    out["test_results"] = [row(r) for r in out["test_results"]]
    return out


def picked():
    """A dozen solutions: honest, wrong, and tricks of every kind."""
    want = ["eq_object.py", "eq_int.py", "eq_first_call.py", "exit_call_os.py", "exit_import_sys.py", "exc_named.py", "forge_stdout.py", "deep_list.py", "args_cleared.py",
            "flood_answer.py", "daemon_next.py"]
    here = Path(tasks.HERE)
    paths = [here / "tricks" / n for n in want] + sorted((here / "honest").glob("*.py"))[:3] + sorted((here / "wrong").glob("*.py"))[:2]
    out = [tasks.Solution(p) for p in paths if p.exists()]
    return [s for s in out if tasks.cases(s.task)]


def test_the_verdicts_are_those_of_belljar_test():
    top = Path(tempfile.mkdtemp(dir=BASE))
    top.chmod(0o755)
    solutions = picked()
    assert len(solutions) >= 12
    got = batch([test(s.text, tasks.cases(s.task), s.func, s.name) for s in solutions], "-j", 2)
    assert [r["id"] for r in got] == [s.name for s in solutions]
    for s, r in zip(solutions, got):
        (top / s.name).write_text(s.text)
        (top / "cases.json").write_text(json.dumps(tasks.cases(s.task)))
        one = json.loads(run("test", str(top / s.name), "--func", s.func, "--cases", str(top / "cases.json"), "--json").out)
        mine, theirs = plain(r), plain(one)
        for x in (mine, theirs):
            # what a program prints while it is ended may be there or not
            for row in x["test_results"]:
                row.pop("where", None)
            x.pop("feedback", None)
        assert mine == theirs, s.name
        assert set(r) == set(one) | LINE, s.name
        assert r["all_passed"] == (s.path.parent.name == "honest"), s.name
        assert r["status"] == "completed" and r["receipt"]["seq"] > 0


def test_mixed_with_ordinary_lines_and_in_their_order():
    requests = []
    for i in range(12):
        requests.append(test(ADD, id=f"t{i}", client="someone"))
        requests.append({"id": f"r{i}", "argv": ["/bin/echo", str(i)]})
    got = batch(requests, "-j", 3)
    assert [r["id"] for r in got] == [r["id"] for r in requests] and [r["line"] for r in got] == list(range(1, 25))
    assert all(r["all_passed"] and r["client"] == "someone" for r in got[::2])
    assert [r["stdout"] for r in got[1::2]] == [f"{i}\n" for i in range(12)]
    got = batch([test("import time\ntime.sleep(0.5)\n" + ADD, id="slow"), *requests[:6]], "-j", 3, "--unordered")
    assert sorted(r["id"] for r in got) == sorted(["slow", *[r["id"] for r in requests[:6]]]) and got[0]["id"] != "slow"


def test_values_that_only_the_verifier_can_read():
    big = 10 ** 40
    line = '{"code": "def f(x):\\n    return x + 1", "test": {"cases": [{"args": [%d], "expected": %d}, {"args": [{"$float": "inf"}], "expected": {"$float": "inf"}}], "func": "f"}}' % (
        big, big + 1)
    assert batch([line])[0]["all_passed"]


def test_options_of_a_test():
    state = "n = 0\ndef f():\n    global n\n    n += 1\n    return n\n"
    cases = [{"expected": 1}, {"expected": 2}]
    apart, shared = batch([test(state, cases), test(state, cases, more={"shared": True})])
    assert [r["passed"] for r in apart["test_results"]] == [True, False] and shared["all_passed"]
    spin = "def f():\n    while True: pass\n"
    late, with_setup, file, limit = batch([
        test(spin, [{}], more={"case_ms": 200}),
        test("def f(): return BASE + 1", [{"expected": 6}], more={"setup": "BASE = 5"}),
        test("def f(): return open('d.txt').read()", [{"expected": "given"}], files=[{"path": "d.txt", "content": "given"}]),
        test("def f(): return len(bytearray(200 << 20))", [{"expected": 200 << 20}], limits={"memory_bytes": 64 << 20})])
    assert late["test_results"][0]["reason"] == "timeout" and late["test_results"][0]["where"]["line"] == 2
    assert with_setup["all_passed"] and file["all_passed"]
    assert limit["test_results"][0]["reason"] in ("memory", "exception")


def test_limits_of_the_command_line_and_of_belljar_test():
    big = test("def f(): return len(bytearray(300 << 20))", [{"expected": 300 << 20}])
    assert not batch([big])[0]["all_passed"]  # 256 MB, as belljar test
    assert batch([big], "--memory", "800M")[0]["all_passed"]


def test_other_languages():
    need_language("node")
    js, sh, bad = batch([
        test("function f(a, b) { return a + b }", id="js", language="javascript"),
        test("f() { echo $(($1 + $2)); }", [{"args": ["1", "2"], "expected": "3"}], language="bash"),
        test("int f(void) { return 1; }", [{"expected": 1}], language="c")], rc=1)
    assert js["all_passed"] and js["jars"] == 2 and sh["all_passed"]
    assert bad["status"] == "error" and "function tests are for" in bad["error"]


@pytest.mark.parametrize("request_, words", [
    (test(ADD, [{"args": [1, 2], "expectd": 3}]), ["test.cases", "case_0", "expectd"]),
    (test(ADD, [{"name": "mine", "args": 5}]), ["mine", "args"]),
    (test(ADD, {"no": "list"}), ["test.cases", "list"]),
    (test(ADD, [{"args": [1], "args ": 1}]), ["test.cases"]),
    ('{"code": "x", "test": {"func": "f", "cases": [{"expected": NaN}]}}', ["NaN"]),
    ('{"code": "x", "test": {"func": "f", "cases": [{"expected": 1, "expected": 2}]}}', ["expected", "twice"]),
    ('{"code": "x", "test": {"func": "f", "cases": [{"expected": 1}], "cases": []}}', ["test", "twice"]),
    ('{"code": "x", "test": {"func": "f", "cases": []}, "test": {}}', ["not JSON"]),
    ('{"code": "x", "test": {"func": "f", "cases": [\0]}}', []),
    ('{"code": "x", "test": {"func": "f", "cases": [', ["JSON"]),
    ({"code": "x", "test": {"func": "f"}}, ["test.cases", "missing"]),
    ({"code": "x", "test": []}, ["'test' must be an object"]),
    (test(ADD, more={"func": 5}), ["test.func", "text"]),
    (test(ADD, more={"shared": 1}), ["test.shared"]),
    (test(ADD, more={"case_ms": 0}), ["test.case_ms"]),
    (test(ADD, more={"trust": "exit"}), ["unknown field 'test.trust'"]),
    (test(ADD, stdin="x"), ["'stdin'", "'test'"]),
    (test(ADD, get=["x"]), ["'get'", "'test'"]),
    ({"argv": ["/bin/true"], "test": {"cases": []}}, ["'argv'", "'test'"]),
    (test(ADD, limits={"memory": 5}), ["limits.memory"]),
    (test(ADD, more={"setup": "x"}, language="bash"), ["setup", "bash"]),
])
def test_a_bad_line_is_an_error_of_its_own(request_, words):
    first, bad, last = batch([test(ADD, id="before"), request_, test(ADD, id="after")], rc=1)
    assert first["all_passed"] and last["all_passed"]
    assert bad["status"] == "error" and bad["line"] == 2 and bad["receipt"]
    for w in words:
        assert w in bad["error"], bad["error"]


def test_policy_refuses_before_anything_runs():
    warned, refused = (batch([test("import socket\n" + ADD)], "--policy", p, "--rules", "strict")[0] for p in ("warn", "enforce"))
    assert warned["all_passed"]
    assert not refused["all_passed"] and refused["reason"] == "policy" and not refused["success"]


def test_every_jar_leaves_a_receipt():
    need_language("node")
    one, many = batch([test(ADD), test("function f(a, b) { return a + b }", language="javascript")])
    assert many["jars"] == 2 and many["receipt"]["seq"] - one["receipt"]["seq"] == 2
    found = run("audit", "show", str(many["receipt"]["seq"]), "--json")
    assert found.rc == 0 and many["execution_id"].encode() in found.out
    off = batch([test(ADD)], "--audit", "off")[0]
    assert off["receipt"] is None and off["all_passed"]


def test_a_jar_is_never_used_again():
    """With --recycle too: neither what a candidate left nor what somebody left for it."""
    mark = {"code": "open('/tmp/left', 'w').write('x')"}
    look = test("import os\ndef f(): return os.path.exists('/tmp/left')", [{"expected": False}])
    leave = test("open('/tmp/left', 'w').write('x')\ndef f(): return 1", [{"expected": 1}])
    got = batch([mark, look, leave, look, leave, look] * 3, "--recycle", "-j", 1)
    assert all(r.get("all_passed", True) for r in got)


def sleeping(n):
    return [test(f"import time\ndef f():\n    time.sleep(60)\n    return {i}", [{"expected": i}], id=f"s{i}") for i in range(n)]


def test_stopped_by_signals():
    p = start("batch", "-", "-j", 2, "--unordered", stdin=subprocess.PIPE)
    try:
        p.stdin.write(lines(test(ADD, id="first"), *sleeping(3)))
        p.stdin.flush()
        first = json.loads(p.stdout.readline())
        assert first["id"] == "first" and first["all_passed"]
        p.send_signal(signal.SIGINT)
        assert b"stopping" in p.stderr.readline()
        p.send_signal(signal.SIGINT)
        c = finish(p)
    finally:
        stop(p)
    rest = [json.loads(line) for line in c.out.splitlines()]
    assert c.rc == 130 and rest and all(r["status"] == "killed" and r["reason"] == "cancelled" for r in rest)
    assert {r["id"] for r in rest} <= {"s0", "s1", "s2"}


@pytest.mark.parametrize("who", ["belljar-keeper", "belljar-store"])
def test_what_it_needs_dies(who):
    """What was under way does not count, whatever came of it."""
    p = start("batch", "-", "-j", 2, "--unordered", stdin=subprocess.PIPE)
    try:
        p.stdin.write(lines(test(ADD, id="first")))
        p.stdin.flush()
        assert json.loads(p.stdout.readline())["all_passed"]
        p.stdin.write(lines(*[test("import time\ndef f():\n    time.sleep(2)\n    return 1", [{"expected": 1}], id=f"s{i}") for i in range(3)]))
        p.stdin.flush()
        pid = wait_until(lambda: [pid for pid, st in descendants(p.pid).items() if st[0] == who], 10)[0]
        time.sleep(0.5)
        os.kill(pid, signal.SIGKILL)
        c = finish(p)
    finally:
        stop(p)
    rest = [json.loads(line) for line in c.out.splitlines()]
    assert c.rc == 125 and rest
    assert all(r["status"] == "error" and r["reason"] == "internal" and not r.get("all_passed") and not r["success"] and not r.get("score") for r in rest), rest


def test_resume_knows_what_was_graded():
    top = Path(tempfile.mkdtemp(dir=BASE))
    top.chmod(0o777)
    file, out = top / "in.jsonl", top / "out.jsonl"
    requests = [test(ADD, id="passed"), test(ADD, [{"args": [1, 1], "expected": 3}], id="failed"), {"id": "run", "argv": ["/bin/true"]}]
    file.write_bytes(lines(*requests))
    assert run("batch", str(file), "--out", str(out)).rc == 0
    before = out.read_bytes()
    assert len(before.splitlines()) == 3
    file.write_bytes(lines(*requests, test(ADD, id="new")))
    assert run("batch", str(file), "--out", str(out), "--resume").rc == 0
    after = out.read_bytes()
    assert after.startswith(before) and [json.loads(line)["id"] for line in after[len(before):].splitlines()] == ["new"]


def test_a_pool_with_no_room_to_spare():
    """An operator's ceiling of one jar: a verifier gets one on top."""
    top = Path(tempfile.mkdtemp(dir=BASE))
    (top / ".config" / "belljar").mkdir(parents=True)
    (top / ".config" / "belljar" / "config.yaml").write_text("pool:\n  ceiling: 1\n  floor: 1\n")
    for p in [top, *top.rglob("*")]:
        p.chmod(0o755)
    got = batch([test(ADD), {"argv": ["/bin/true"]}, test(ADD)], env={"XDG_CONFIG_HOME": str(top / ".config")})
    assert got[0]["all_passed"] and got[2]["all_passed"]


def test_a_test_is_no_field_of_a_run():
    top = Path(tempfile.mkdtemp(dir=BASE))
    top.chmod(0o755)
    (top / "r.json").write_text(json.dumps(test(ADD)))
    c = run("run", "--request", str(top / "r.json"))
    assert c.rc == 2 and b"'test'" in c.err
