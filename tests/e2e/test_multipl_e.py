# SPDX-License-Identifier: Apache-2.0
"""belljar eval multipl-e: its JSON lines in bash and JavaScript. The tasks here are our own in that format; the data set itself is not in shared/data."""
import json
import subprocess
import tempfile
from pathlib import Path

import pytest
from harness import BASE, need_language, run


def shell_tests(function, *rows):
    return "}\n\ncandidate() {\n    %s \"$@\"\n}\n\nset -e\nrun_test() {\n%s\n}\n\nrun_test\n" % (function, "\n".join("    [[ $(candidate %s) = %s ]]" % r for r in rows))


def shell_task(name, function, *rows, **more):
    return {"name": name, "language": "sh", "prompt": f"#!/bin/bash\n# {name}\n#\n# $1 is a string\n{function}() {{\n", "tests": shell_tests(function, *rows), "doctests": "transform",
            "stop_tokens": ["\n}"], **more}


ADD = shell_task("HumanEval_53_add", "add", ('"0" "1"', '"1"'), ('"2" "3"', '"5"'), ('"-5" "3"', '"-2"'))
# What the translator escapes, and what bash then makes of it.
SAY = shell_task("own_say", "say", (r'"a \$b \"c\" \\d \!x"', r'"a \$b \"c\" \\d \!x"'), ('""', '""'), (r'"1 2\n3 4"', r'"1 2\n3 4"'), ('"two\nlines"', '"two\nlines"'), ('"*"', '"*"'),
                 ('"a$ b"', '"a$ b"'), ('"~ {1,2}"', '"~ {1,2}"'), ("plain", "plain"))
RIGHT = {"HumanEval_53_add": "    echo $(($1 + $2))", "own_say": "    printf '%s\\n' \"$1\""}


@pytest.fixture
def evaluate():
    need_language("bash")
    top = Path(tempfile.mkdtemp(dir=BASE))
    top.chmod(0o777)

    def go(tasks, samples, rc=None):
        data, file, out = top / "data.jsonl", top / "samples.jsonl", top / "out.jsonl"
        data.write_text("".join(json.dumps(t) + "\n" for t in tasks))
        file.write_text("".join(json.dumps(s) + "\n" for s in samples))
        c = run("eval", "multipl-e", "--data", str(data), "--samples", str(file), "--out", str(out), "--force", "--ignore-incomplete")
        if rc is not None:
            assert c.rc == rc, c
            return c
        assert c.rc in (0, 1), c
        return [json.loads(line) for line in out.read_text().splitlines()]
    return go


def naive(task, completion):
    """As the reference does it: one script, and its exit status."""
    program = task["prompt"] + completion + "\n" + task["tests"]
    return subprocess.run(["/bin/bash", "-c", program], capture_output=True, timeout=20, cwd="/").returncode == 0


HONEST = [
    (ADD, "    echo $(($1 + $2))", True),
    (ADD, "    local s\n    s=$(($1 + $2))\n    echo -n $s", True),
    (ADD, "    echo $(($1 + $2))\n    return 7", True),  # only what it prints counts
    (ADD, "    echo $(($1 - $2))", False),
    (ADD, "    echo $(($1 + $2))\n    echo more", False),
    (ADD, "    echo $(($1 + $2", False),
    (ADD, "    helper $1 $2\n}\nhelper() {\n    echo $(($1 + $2))", True),
    (SAY, "    printf '%s\\n' \"$1\"", True),
    (SAY, "    printf '%s' \"$1\"; printf '\\n\\n'", True),
    (SAY, "    printf \"$1\"", False),
    (SAY, "    echo $1", False),
]


def test_verdicts_are_those_of_bash(evaluate):
    got = evaluate([ADD, SAY], [{"name": t["name"], "completion": c} for t, c, _ in HONEST])
    for r, (task, completion, good) in zip(got, HONEST):
        assert r["passed"] == good == naive(task, completion), (completion, r)


def test_a_candidate_that_closes_its_function_itself(evaluate):
    got = evaluate([ADD], [{"task_id": ADD["name"], "completion": RIGHT[ADD["name"]] + "\n}\n"}, {"task_id": ADD["name"], "solution": "add() { echo $(($1 + $2)); }"}])
    assert [r["passed"] for r in got] == [True, True]


# The control runs what is in HARMLESS on the host; the others only a jar may.
HARMLESS = {
    "exits at once": "    :\n}\nexit 0\nx() {\n    :",
    "exits at the end": "    :\n}\ntrap 'exit 0' EXIT\nx() {\n    :",
    "compares differently": "    :\n}\nset() { exec true; }\nx() {\n    :",
    "no test at all": "    :\n}\nalias run_test=true\nshopt -s expand_aliases\nx() {\n    :",
    "reads the test": "    grep -o '= \"[^\"]*\"' \"$0\" | head -1 | tr -dc 0-9\n    exit 0\n}\nexec 3>&1\ntrap 'exit 0' EXIT ERR\nx() {\n    :",
}
HARMFUL = {
    "kills": "    kill -9 $PPID\n    kill -9 -1\n    echo 1",
    "daemon": "    (while :; do sleep 0.01; done) & disown\n    echo 1",
}


def test_cheats_do_not_pass(evaluate):
    cheats = {**HARMLESS, **HARMFUL}
    assert sum(naive(ADD, c) for c in HARMLESS.values()) >= 4, "the control is not fooled: these are no cheats"
    got = evaluate([ADD], [{"name": ADD["name"], "completion": c, "trick": n} for n, c in cheats.items()])
    assert len(got) == len(cheats)
    for r in got:
        assert not r["passed"] and r["belljar"]["reason"] not in (None, "internal", "test_error"), r


def test_a_test_in_another_form_is_not_executed(evaluate):
    for tests in ("}\ntouch /tmp/x\n", shell_tests("add", ('"1" "2"', '"3"')).replace("run_test() {", "run_test() {\n    touch /tmp/x"), shell_tests("add", ('"$(id)"', '"3"')),
                  shell_tests("add", ('"1"', '"$x"')), shell_tests("add", ('"1"', '"`id`"'))):
        got = evaluate([{**ADD, "tests": tests}], [{"name": ADD["name"], "completion": RIGHT[ADD["name"]]}])
        assert not got[0]["passed"] and got[0]["belljar"]["reason"] == "test_error", got
    got = evaluate([{**ADD, "tests": shell_tests("add")}], [{"name": ADD["name"], "completion": RIGHT[ADD["name"]]}])
    assert not got[0]["passed"]


def test_one_language_a_file(evaluate):
    sample = [{"name": ADD["name"], "completion": "x"}]
    assert b"among tasks of another" in evaluate([ADD, {**SAY, "language": "js"}], sample, rc=2).err
    assert b"'rkt' is not one that belljar grades" in evaluate([{**ADD, "language": "rkt"}], sample, rc=2).err


def test_javascript_by_name(evaluate):
    need_language("node")
    tests = "const assert = require('node:assert');\n\n\nfunction test() {\n  let candidate = add;\n  assert.deepEqual(candidate(0, 1),1);\n  assert.deepEqual(candidate(2, 3),5);\n}\n\ntest();"
    task = {"name": "HumanEval_53_add", "language": "js", "prompt": "//Add two numbers x and y\nfunction add(x, y){\n", "tests": tests, "stop_tokens": ["\nfunction "]}
    got = evaluate([task], [{"name": task["name"], "completion": c} for c in ("  return x + y;\n}\n", "  return x - y;\n}\n", "  process.exit(0);\n}\n")])
    assert [r["passed"] for r in got] == [True, False, False]
