# SPDX-License-Identifier: Apache-2.0
"""Every verb once, in its plainest use: `make check` runs this beside the unit tests, for the inner loop. Details are tested elsewhere."""
import json
import re

import pytest
from harness import need_batch, run

TASK = {"task_id": "T/0", "prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return x + 1\n", "test": "def check(candidate):\n    assert candidate(1) == 2\n"}


def smoke_run(put):
    c = run("run", "--json", "-c", "print(6 * 7)")
    assert c["status"] == "completed" and c["stdout"] == "42\n"


def smoke_batch(put):
    need_batch()
    c = run("batch", put("b.jsonl", '{"code": "print(1)"}\n{"code": "print(2)"}\n'))
    assert [json.loads(line)["stdout"] for line in c.out.splitlines()] == ["1\n", "2\n"]


def smoke_check(put):
    c = run("check", put("c.py", "import os\nos.system('ls')\n"))
    assert c.rc == 1 and b"os.system" in c.err


def smoke_test(put):
    s, cases = put("s.py", "def f(x): return x + 1\n"), put("c.json", '[{"args": [1], "expected": 2}, {"args": [2], "expected": 5}]')
    c = run("test", s, "--func", "f", "--cases", cases, "--json")
    assert [r["passed"] for r in json.loads(c.out)["test_results"]] == [True, False]


def smoke_eval(put):
    data, samples = put("d.jsonl", json.dumps(TASK) + "\n"), put("s.jsonl", json.dumps({"task_id": "T/0", "completion": "    return x + 1\n"}) + "\n")
    assert run("eval", "humaneval", "--data", data, "--samples", samples).rc == 0


def smoke_explain(put):
    c = run("explain", put("r.json", run("run", "--json", "-c", "1 / 0").out))
    assert b"ZeroDivisionError" in c.out


def smoke_judge(put):
    put("cases/1.in", "20 22\n"), put("cases/1.out", "42\n"), put("cases/2.in", "1 1\n")
    c = run("judge", put("j.py", "print(sum(map(int, input().split())))\n"), "--cases", put("cases/2.out", "2\n").parent, "--json")
    assert c.rc == 0 and c["verdict"] == "AC"


def smoke_swebench(put):
    c = run("swebench", "parse", "--kind", "pytest", put("log", "PASSED tests/test_a.py::test_b\n"))
    assert c.rc == 0 and b"test_b" in c.out


def smoke_languages(put):
    assert b"python" in run("languages").out


def smoke_ps(put):
    assert run("ps", "--json").rc == 0


def smoke_kill(put):
    c = run("kill", "exec-00000000")
    assert c.rc != 0 and b"exec-00000000" in c.err


def smoke_audit(put):
    run("run", "-c", "print(1)")
    assert run("audit", "verify").rc == 0


def smoke_clean(put):
    assert run("clean").rc == 0


def smoke_doctor(put):
    assert b"cgroup" in run("doctor").out


def smoke_bench(put):
    c = run("bench", "--quick", "--rounds", "3", "--seconds", "60ms", "--only", "bare,belljar-run", "--jobs", "true", "--json")
    assert c.rc == 0 and json.loads(c.out)["jobs"]


def smoke_config(put):
    assert b"memory" in run("config").out


SMOKE = {name.removeprefix("smoke_"): f for name, f in list(globals().items()) if name.startswith("smoke_")}


@pytest.mark.parametrize("verb", SMOKE)
def test_verb(verb, put):
    SMOKE[verb](put)


def test_every_verb_has_one():
    verbs = re.findall(r"^  (\w+) +\w", run("--help").out.decode().split("commands:")[1], re.M)
    assert sorted(verbs) == sorted(SMOKE)
