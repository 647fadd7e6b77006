# SPDX-License-Identifier: Apache-2.0
"""belljar swebench grade and parse: logs that real runners leave, instances in all their forms, and files that are none."""
import gzip
import json
import subprocess

import pytest

from harness import BASE, PYTHON, own, run

TESTS = '''
import unittest
class T(unittest.TestCase):
    def test_new(self): pass
    def test_old(self):
        """Does what it did.

        More."""
    def test_loud(self): print("noise")
    @unittest.skip("no")
    def test_left(self): pass
    def test_sub(self):
        for i in range(2):
            with self.subTest(i=i): self.assertEqual(i, 0)
'''
INSTANCE = {"instance_id": "own__repo-1", "repo": "own/repo", "base_commit": "HEAD", "version": "1.0", "patch": "", "test_patch": "",
            "FAIL_TO_PASS": json.dumps(["test_new (t.T)"]), "PASS_TO_PASS": json.dumps(["Does what it did.", "test_loud (t.T.test_loud)", "test_left (t.T)"])}


def file(name, data):
    f = BASE / name
    f.write_bytes(data if isinstance(data, bytes) else data.encode())
    f.chmod(0o644)
    own(f)
    return f


def instance(**changes):
    return {**INSTANCE, **changes}


def grade(log, *opts, instances=None, name="swe.jsonl", kind="unittest"):
    data = json.dumps(instances or INSTANCE)
    return run("swebench", "grade", "--instances", file(name, data), "--id", "own__repo-1", "--kind", kind, "--log", file("swe.log", log), *opts)


def report(*args, **kw):
    c = grade(*args, "--json", **kw)
    assert c.rc in (0, 1), str(c)
    r = json.loads(c.stdout)["own__repo-1"]
    assert r["resolved"] is (c.rc == 0)
    return r


@pytest.fixture(scope="module")
def unittest_log(tmp_path_factory):
    d = tmp_path_factory.mktemp("swe")
    (d / "t.py").write_text(TESTS)
    p = subprocess.run([PYTHON, "-m", "unittest", "-v", "t"], cwd=d, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    assert p.returncode == 1
    return p.stdout.decode()


def test_a_real_log(unittest_log):
    r = report(unittest_log, "--exit-status", "1")
    assert r["tests_status"]["FAIL_TO_PASS"] == {"success": ["test_new (t.T)"], "failure": []}
    assert r["tests_status"]["PASS_TO_PASS"]["failure"] == [] and r["resolved"] and r["resolution"] == "RESOLVED_FULL"
    assert r["trust"] == "log_only" and r["failed"] >= 1 and r["patch_successfully_applied"] and not r["patch_is_None"]
    assert r["fail_to_pass"] == {"test_new (t.T)": True} and r["score"] == {"fail_to_pass": 1.0, "pass_to_pass": 1.0, "all": 1.0}
    # a subtest that fails is a test that fails
    r = report(unittest_log, instances=instance(FAIL_TO_PASS=["test_new (t.T)", "test_sub (t.T)"]))
    assert r["reasons"] == {"test_sub (t.T)": "failed"} and r["resolution"] == "RESOLVED_PARTIAL"
    # left out: kept, but no resolution
    r = report(unittest_log, instances=instance(FAIL_TO_PASS=["test_left (t.T)"]))
    assert r["reasons"] == {"test_left (t.T)": "skipped"} and not r["resolved"]


def test_an_exit_status_that_says_otherwise(unittest_log):
    r = report(unittest_log, "--exit-status", "0")
    assert not r["resolved"] and r["reason"] == "exit_disagrees" and r["tampering"][0]["what"] == "exit_disagrees"
    assert report("test_new (t.T) ... ok\n", "--exit-status", "1", instances=instance(PASS_TO_PASS=[]))["reason"] == "exit_disagrees"


def test_a_forged_line_does_not_win(unittest_log):
    forged = unittest_log.replace("test_new (t.T.test_new) ... ok", "test_new (t.T.test_new) ... FAIL") + "test_new (t.T.test_new) ... ok\n"
    assert not report(forged)["resolved"]


def test_nothing_to_grade():
    r = report("", instances=instance(FAIL_TO_PASS=[], PASS_TO_PASS="[]"))
    assert not r["resolved"] and not r["gradable"] and r["reason"] == "not_gradable"
    r = report("")
    assert not r["resolved"] and set(r["reasons"].values()) == {"missing"}


def test_forms_of_instances(unittest_log):
    log = file("swe.log", unittest_log)
    for name, data in {"swe-list.json": json.dumps([INSTANCE], indent=2), "swe.jsonl.gz": gzip.compress(json.dumps(INSTANCE).encode())}.items():
        c = run("swebench", "grade", "--instances", file(name, data), "--id", "own__repo-1", "--kind", "django", "--log", log)
        assert c.rc == 0 and c.stdout.startswith("own__repo-1: resolved"), str(c)
    # the parser that --meta names
    meta = file("swe-meta.jsonl", json.dumps({"instance_id": "own__repo-1", "log_parser": "parse_log_django"}))
    c = run("swebench", "grade", "--instances", file("swe.jsonl", json.dumps(INSTANCE)), "--id", "own__repo-1", "--log", log, "--meta", meta)
    assert c.rc == 0, str(c)
    # without it, the default for a repository that nobody knows: pytest
    c = run("swebench", "grade", "--instances", file("swe.jsonl", json.dumps(INSTANCE)), "--id", "own__repo-1", "--log", log)
    assert c.rc == 1 and "missing: test_new (t.T)" in c.stdout, str(c)


BAD = {
    "no file": (["--instances", "/nonexistent"], "--instances: /nonexistent"),
    "folder": (["--instances", "/"], "is a folder"),
    "no instances": ([], "--instances FILE is missing"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name):
    args, said = BAD[name]
    c = run("swebench", "grade", *args, "--id", "x", "--log", "/dev/null")
    assert c.rc == 2 and said in c.stderr, str(c)


@pytest.mark.parametrize("text, said", [
    (json.dumps(INSTANCE) + "\n{", "line 2 is not JSON"), (json.dumps(INSTANCE) + "\n" + json.dumps(INSTANCE), "twice"),
    (json.dumps(instance(instance_id="../../etc")), "'instance_id'"), (json.dumps(instance(FAIL_TO_PASS=3)), "'FAIL_TO_PASS' is a number"), ("", "is empty")])
def test_bad_instances(text, said):
    c = run("swebench", "grade", "--instances", file("bad.jsonl", text), "--id", "own__repo-1", "--log", "/dev/null")
    assert c.rc == 2 and said in c.stderr and ("hint:" in c.stderr or said == "twice"), str(c)


def test_usage():
    f = file("swe.jsonl", json.dumps(INSTANCE))
    for args, said in ((["grde"], "did you mean 'grade'?"), ([], "what is to be done?"), (["parse"], "no log"), (["parse", "--kind", "tap", f], "no kind of log"),
                       (["grade", "--instances", f, "--id", "own__repo-2", "--log", f], "did you mean 'own__repo-1'?"),
                       (["grade", "--instances", f, "--id", "own__repo-1", "--log", f, "--exit-status", "x"], "--exit-status"), (["parse", f], "--kind is missing")):
        c = run("swebench", *args)
        assert c.rc == 2 and said in c.stderr, str(c)
    c = run("swebench", "--help")
    assert c.rc == 0 and "grade" in c.stdout and "--instances" in c.stdout


def test_parse(unittest_log):
    c = run("swebench", "parse", "--kind", "unittest", "--json", file("swe.log", unittest_log))
    assert c.rc == 0
    assert json.loads(c.stdout) == {"test_left (t.T)": "skipped", "test_loud (t.T)": "passed", "test_new (t.T)": "passed", "Does what it did.": "passed",
                                    "test_sub (t.T) (i=1)": "failed", "test_sub (t.T)": "failed"}
    # names that would steer a terminal do not
    c = run("swebench", "parse", "--kind", "pytest", file("swe.log", b"PASSED a::b\x07\x9b2J\nPASSED a::\xff\n"))
    assert c.rc == 0 and "\x07" not in c.stdout and "\x9b" not in c.stdout, str(c)


def test_lines_of_a_captured_log_are_no_tests():
    log = ("------ Captured log call ------\nERROR    root:x.py:3 no::thing here\nERROR pkg.sub:x.py:12 one blank\nWARNING  root:x.py:4 x\n"
           "==== short test summary info ====\nPASSED t.py::test_a\nERROR t.py::test_b - ValueError: x:3\nERROR bad.py\n")
    c = run("swebench", "parse", "--kind", "pytest", "--json", file("swe.log", log))
    assert json.loads(c.stdout) == {"t.py::test_a": "passed", "t.py::test_b": "error", "bad.py": "error"}, str(c)
    one = instance(FAIL_TO_PASS=["t.py::test_a"], PASS_TO_PASS=[])
    assert report(log.split("ERROR t.py")[0], "--exit-status", "0", instances=one, kind="pytest")["resolved"]


def test_own_rows(unittest_log, tmp_path):
    """An operator's row goes before the default, and a bad one says what is wrong with it."""
    conf = BASE / "swe-config" / "belljar" / "swebench"
    conf.mkdir(parents=True, exist_ok=True)
    row = "name: own\nrepos: [own/repo]\nkind: unittest\nparser: unittest\nargv: [-v, '{tests}']\nprotected: []\nrunner_files: []\n"
    f, log = file("swe.jsonl", json.dumps(INSTANCE)), file("swe.log", unittest_log)

    def go(text):
        (conf / "own.yaml").write_text(text)
        for p in (BASE / "swe-config", BASE / "swe-config" / "belljar", conf):
            p.chmod(0o755)
        (conf / "own.yaml").chmod(0o644)
        return run("swebench", "grade", "--instances", f, "--id", "own__repo-1", "--log", log, env={"XDG_CONFIG_HOME": str(BASE / "swe-config")})

    assert go(row).rc == 0
    for bad, said in ((row.replace("unittest\nparser", "nose\nparser"), "'kind'"), (row.replace(", '{tests}'", ""), "{tests}"), (row + "colour: red\n", "unknown key 'colour'")):
        c = go(bad)
        assert c.rc == 2 and said in c.stderr, str(c)
    (conf / "own.yaml").unlink()


LIKE = [
    # files of rows, what is said (None: the log is read as unittest's)
    ({"own": "name: own\nlike: base\nrepos: [own/repo]\n", "zbase": "name: base\nlike: django\nparser: unittest\nkind: unittest\nrepos: [x/y]\n"}, None),
    # a row that replaces ours and keeps the rest of it
    ({"own": "name: default\nlike: default\nkind: unittest\nparser: unittest\n"}, None),
    # an empty text takes a key away: without a version it holds for all
    ({"own": "name: own\nlike: django-1.9\nrepos: [own/repo]\nfrom: ''\nuntil: ''\nparser: unittest\n"}, None),
    ({"a": "name: a\nlike: b\n", "b": "name: b\nlike: c\n", "c": "name: c\nlike: a\n"}, "a.yaml: 'like: b' leads back"),
    ({"a": "name: a\nlike: a\n"}, "a.yaml: 'like: a' names no other row"),
    ({"a": "name: a\nlike: nothing\n"}, "a.yaml: 'like: nothing' names no other row"),
    ({"a": "like: django\n"}, "a.yaml: 'name' is missing"),
    ({"a": "name: a\nlike: django\nkind: ''\n"}, "a.yaml: 'kind' is missing"),
    ({"a": "name: a\nlike: django\nbuild: make\n"}, "'build' is no list of commands"),
    ({"a": "name: a\nlike: django\nbuild: ['make; rm x']\n"}, "';' is for a shell"),
    ({"a": "name: a\nlike: django\nbuild: [[]]\n"}, "a command is a list of words"),
    ({"a": "name: a\nlike: django\nenvironment: venv\n"}, "'environment': 'venv' is not absolute"),
]


@pytest.mark.parametrize("rows, said", LIKE)
def test_rows_inherit(rows, said, unittest_log, box):
    conf = box / "belljar" / "swebench"
    conf.mkdir(parents=True)
    for name, text in rows.items():
        (conf / f"{name}.yaml").write_text(text)
    f, log = file("swe.jsonl", json.dumps(INSTANCE)), file("swe.log", unittest_log)
    c = run("swebench", "grade", "--instances", f, "--id", "own__repo-1", "--log", log, env={"XDG_CONFIG_HOME": str(box)})
    assert (c.rc == 0) if said is None else (c.rc == 2 and said in c.stderr), str(c)
