# SPDX-License-Identifier: Apache-2.0
"""belljar swebench with jars: checkout, apply, test, run, validate, on small repositories that are made here."""
import fcntl
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from harness import BASE, finish, own, run, seconds, start, state_dir

# git clears configuration given by variables when it starts git for a second repository (push, clone): it must come from a file.
(BASE / "gitconfig").write_text("[safe]\n\tdirectory = *\n")
ENV = {**os.environ, "GIT_CONFIG_GLOBAL": str(BASE / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
       "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000",
       "HOME": "/nonexistent"}
CALC = "def add(a, b):\n    return a - b\n\n\ndef twice(a):\n    return 2 * a\n"
TESTS = "from pkg.calc import add, twice\n\n\ndef test_twice():\n    assert twice(2) == 4\n"
FIXED = CALC.replace("a - b", "a + b")
NEW_TESTS = TESTS + "\n\ndef test_add():\n    assert add(1, 2) == 3\n"


def git(repo, *words, **kw):
    return subprocess.run(["git", "-C", str(repo), *words], env=ENV, check=True, capture_output=True, text=True, **kw).stdout.strip()


def write(repo, files):
    for name, text in files.items():
        path = Path(repo, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def diff(repo, files, *words):
    """The patch that turns the work tree into these files; the tree stays as it is."""
    write(repo, files)
    git(repo, "add", "-A", "-N")
    text = subprocess.run(["git", "-C", str(repo), "diff", "--binary", *words], env=ENV, check=True, capture_output=True, text=True).stdout
    git(repo, "reset", "-q", "--hard")
    git(repo, "clean", "-qfd")
    return text


class Bench:
    """A mirror with a past, a base commit and a future, an instance, and predictions for it."""

    def __init__(self, top):
        self.top, self.repos = top, top / "repos"
        self.repos.mkdir()
        work = self.work = top / "work"
        work.mkdir()
        git(work, "init", "-q", "-b", "main")
        write(work, {"README": f"past of {top}\n"})
        git(work, "add", "-A"), git(work, "commit", "-q", "-m", "past")
        write(work, {"pkg/__init__.py": "", "pkg/calc.py": CALC, "tests/test_calc.py": TESTS, "tests/data.txt": "data\n", "bin/run": "#!/bin/sh\n"})
        os.chmod(work / "bin" / "run", 0o755)
        os.symlink("README", work / "link")
        git(work, "add", "-A"), git(work, "commit", "-q", "-m", "base")
        self.base = git(work, "rev-parse", "HEAD")
        self.gold, self.tests = diff(work, {"pkg/calc.py": FIXED}), diff(work, {"tests/test_calc.py": NEW_TESTS})
        write(work, {"pkg/calc.py": FIXED, "SECRET": "the future\n"})
        git(work, "add", "-A"), git(work, "commit", "-q", "-m", "future"), git(work, "tag", "v2")
        self.future = git(work, "rev-parse", "HEAD")
        git(work, "checkout", "-q", self.base)
        subprocess.run(["git", "clone", "-q", "--mirror", str(work), str(self.repos / "acme__proj.git")], env=ENV, check=True)
        self.instance = {"repo": "acme/proj", "instance_id": "acme__proj-1", "base_commit": self.base, "patch": self.gold, "test_patch": self.tests, "version": "1.0",
                         "problem_statement": "", "hints_text": "", "created_at": "", "FAIL_TO_PASS": json.dumps(["tests/test_calc.py::test_add"]),
                         "PASS_TO_PASS": json.dumps(["tests/test_calc.py::test_twice"]), "environment_setup_commit": ""}
        self.put("instances.jsonl", [self.instance])
        own(top)
        subprocess.run(["chmod", "-R", "a+rX", str(top)], check=True)
        subprocess.run(["chown", "-R", f"{top.stat().st_uid}:{top.stat().st_gid}", str(top)], check=True)

    def put(self, name, rows):
        path = self.top / name
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
        own(path)
        return path

    def swebench(self, *words, **kw):
        return run("swebench", *words, "--instances", self.top / "instances.jsonl", "--repos", self.repos, timeout=seconds(120), **kw)

    def predict(self, *patches, opts=()):
        """Runs predictions: {model: inner report}."""
        rows = [{"instance_id": "acme__proj-1", "model_name_or_path": f"m{k}", "model_patch": p} for k, p in enumerate(patches)]
        c = self.swebench("run", "--predictions", self.put("preds.jsonl", rows), "--json", *opts)
        assert c.rc in (0, 1), c
        got = json.loads(c.out)
        self.summaries = got["runs"]
        return [r["acme__proj-1"] for r in got["instances"]]


@pytest.fixture
def bench(box):
    return Bench(box)


def test_gold_wrong_and_empty(bench):
    wrong = diff(bench.work, {"pkg/calc.py": CALC.replace("a - b", "a * b")})
    broken = diff(bench.work, {"pkg/calc.py": "def broken(:\n"})
    gold, no, bad, empty, none, junk = bench.predict(bench.gold, wrong, broken, "", None, "this is no patch\n")
    assert gold["resolved"] and gold["patch_successfully_applied"] and gold["apply"]["method"] == "git apply" and gold["tampering"] == []
    assert gold["tests_status"]["FAIL_TO_PASS"] == {"success": ["tests/test_calc.py::test_add"], "failure": []}
    assert gold["trust"] == "shared_interpreter" and {"canary", "log", "witness", "exit", "finish"} <= set(gold["checks"])
    assert not no["resolved"] and no["tests_status"]["PASS_TO_PASS"]["success"] == ["tests/test_calc.py::test_twice"]
    assert no["reasons"] == {"tests/test_calc.py::test_add": "failed"}
    assert not bad["resolved"] and bad["tests_status"]["PASS_TO_PASS"]["success"] == []
    assert not empty["resolved"] and empty["patch_exists"] and not none["resolved"] and none["patch_is_None"]
    assert not junk["resolved"] and not junk["patch_successfully_applied"] and junk["apply"]["outcome"] == "malformed"
    ids = ["resolved_ids", "unresolved_ids", "unresolved_ids", "empty_patch_ids", "empty_patch_ids", "error_ids"]
    for summary, where in zip(bench.summaries, ids):
        assert summary[where] == ["acme__proj-1"] and summary["schema_version"] == 2 and summary["total_instances"] == 1


def test_an_allow_list_that_cannot_be_kept(bench):
    """Nobody reads a configuration's list and gets a run without it."""
    for words in (("validate",), ("test", "--id", "x", "--patch", "x")):
        c = bench.swebench(*words, env={"BELLJAR_ALLOW": "python3"})
        assert c.rc == 125 and b"allow-list" in c.err and b"hint:" in c.err, str(c)


def test_the_tree_holds_one_commit_and_nothing_of_the_future(bench):
    """What a guest finds in /testbed: the base's files with their modes, one commit, no ref, tag, reflog or object of any other."""
    look = ("import json, os, subprocess\n"
            "def sh(*w): return subprocess.run(w, cwd='/testbed', capture_output=True, text=True).stdout.split()\n"
            "print('LOOK' + json.dumps({'commits': sh('git', 'rev-list', '--all', '--count'), 'refs': len(sh('git', 'for-each-ref', '--format=x')), "
            "'reflog': sh('git', 'reflog'), 'remotes': sh('git', 'remote'), 'stash': sh('git', 'stash', 'list'), "
            f"'future': sh('git', 'cat-file', '-t', '{bench.future}'), 'base': sh('git', 'cat-file', '-t', '{bench.base}'), "
            "'objects': len(sh('git', 'cat-file', '--batch-all-objects', '--batch-check=%(objectname)')), 'grep': sh('grep', '-rl', 'the [f]uture', '.'), "
            "'status': sh('git', 'status', '--porcelain', '--untracked-files=no'), 'link': os.readlink('/testbed/link'), 'mode': os.stat('/testbed/bin/run').st_mode & 0o111, "
            "'product': sh('git', 'show', 'HEAD:pkg/calc.py'), 'test': sh('git', 'show', 'HEAD:tests/test_calc.py'), "
            "'alternates': os.path.exists('/testbed/.git/objects/info/alternates'), 'root': os.listdir('/')}) + 'KOOL')\n")
    # The failure's message is what the runner prints.
    cheat = diff(bench.work, {"pkg/calc.py": CALC.replace("return a - b", "import subprocess, sys\n    raise ValueError(subprocess.run([sys.executable, '-c', %r], "
                              "capture_output=True, text=True).stdout)" % look)})
    out = bench.top / "out"
    bench.predict(cheat, opts=("--out", out))
    text = (out / "m0" / "acme__proj-1" / "test_output.txt").read_text()
    assert "LOOK{" in text, text
    got = json.loads(text[text.index("LOOK{") + 4:text.index("KOOL", text.index("LOOK{"))])
    assert got["commits"] == ["1"] and got["refs"] == 1 and got["reflog"] == got["remotes"] == got["stash"] == [], got
    assert got["future"] == got["base"] == got["grep"] == [] and not got["alternates"], got
    assert got["product"] and not got["test"], got  # what a test said before a version of it was put in its place
    files = git(bench.work, "ls-tree", "-r", "-t", bench.base).count("\n") + 1
    assert got["objects"] <= files + 2, got  # the root tree and the commit; equal files are one object
    assert got["link"] == "README" and got["mode"] == 0o111, got
    assert {w for w in got["status"] if "/" in w} == {"pkg/calc.py", "tests/test_calc.py"}, got
    assert not {"mirror", "base"} & set(got["root"]), got


def test_the_model_cannot_change_the_tests(bench):
    """Files of the test patch win, those of the base are put back, runner files are removed; each is named."""
    cheats = {
        "edited": {"tests/test_calc.py": "def test_add():\n    pass\n\n\ndef test_twice():\n    pass\n"},
        "conftest": {"conftest.py": "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    o = yield\n    o.get_result().outcome = 'passed'\n"},
        "ini": {"pytest.ini": "[pytest]\naddopts = --collect-only\n"},
        "shadow": {"pytest.py": "import sys\nprint('PASSED tests/test_calc.py::test_add')\nsys.exit(0)\n"},
        "exit": {"pkg/calc.py": CALC + "import os\nprint('PASSED tests/test_calc.py::test_add\\nPASSED tests/test_calc.py::test_twice', flush=True)\nos._exit(0)\n"},
    }
    reports = bench.predict(*[diff(bench.work, f) for f in cheats.values()])
    for name, r in zip(cheats, reports):
        assert not r["resolved"], (name, r)
    seen = {name: {t["what"] for t in r["tampering"]} for name, r in zip(cheats, reports)}
    assert "runner_file" in seen["conftest"] and "runner_file" in seen["ini"] and "shadow" in seen["shadow"] and seen["exit"], seen


def test_canaries_catch_who_rewrites_outcomes(bench):
    """A patch that makes every failure a pass, from inside of the package."""
    patch = CALC + ("import _pytest.reports\n_old = _pytest.reports.TestReport.from_item_and_call.__func__\n\n\ndef _new(cls, item, call):\n    r = _old(cls, item, call)\n"
                    "    r.outcome, r.longrepr = 'passed', None\n    return r\n\n\n_pytest.reports.TestReport.from_item_and_call = classmethod(_new)\n")
    r, = bench.predict(diff(bench.work, {"pkg/calc.py": patch}))
    assert not r["resolved"] and r["tampering"], r


def test_the_originals_come_last(bench):
    """The whole run shows the patch the original of every test: whatever it leaves behind in the kernel, no round comes after it."""
    report = bench.predict(bench.gold)[0]
    assert report["resolved"] and len(report["canaries"]["jars"]) == 6
    order = {r["id"]: r["seq"] for r in json.loads(run("audit", "list", "--json").out)}
    assert order[report["jar"]["execution_id"]] > max(order[j["execution_id"]] for j in report["canaries"]["jars"])


def test_rounds_of_a_wrong_patch_are_few(bench):
    """Two rounds with originals that fail are enough, and such a patch is not called tampering."""
    wrong = bench.predict(diff(bench.work, {"pkg/calc.py": CALC.replace("a - b", "a * b")}))[0]
    assert not wrong["resolved"] and wrong["reason"] == "failed" and wrong["tampering"] == [] and "canaries" not in wrong


def test_checkout(bench):
    c = run("swebench", "checkout", "acme/proj", bench.base, "--repos", bench.repos, "--json", timeout=seconds(60))
    assert c.rc == 0, c
    first = json.loads(c.out)
    assert first["commit"] == bench.base and first["files"] >= 6 and Path(first["path"]).is_dir()
    tree = Path(first["path"])
    assert (tree / "pkg" / "calc.py").read_text() == CALC and os.readlink(tree / "link") == "README" and os.access(tree / "bin" / "run", os.X_OK)
    again = json.loads(run("swebench", "checkout", "acme/proj", bench.base, "--repos", bench.repos, "--json").out)
    assert again["path"] == first["path"] and not again["made"]
    newest = json.loads(run("swebench", "checkout", bench.work, "--json").out)
    assert newest["commit"] == bench.base  # HEAD is detached there
    newest = json.loads(run("swebench", "checkout", "acme/proj", "head", "--repos", bench.repos, "--json").out)
    assert newest["commit"] == git(bench.repos / "acme__proj.git", "rev-parse", "HEAD")
    assert tree.is_relative_to(state_dir())


@pytest.mark.parametrize("words,says", [
    (["acme/proj", "0" * 40], "not in the mirror"), (["acme/proj", "v2"], "full id"), (["acme/none"], "no mirror"), (["acme/../x"], "neither"), ([], "needs a repository"),
    (["acme/proj", "--upload-pack=x"], "unknown option")])
def test_checkout_refusals(bench, words, says):
    c = run("swebench", "checkout", *words, "--repos", bench.repos)
    assert c.rc == 2 and says in c.stderr, c


def test_checkout_over_the_network_only_when_allowed(bench):
    """A shallow mirror that lacks the commit; file:// stands for the network."""
    mirror = bench.repos / "acme__proj.git"
    subprocess.run(["rm", "-rf", str(mirror)], check=True)
    url = f"file://{bench.work}"
    c = run("swebench", "checkout", "acme/proj", bench.base, "--repos", bench.repos)
    assert c.rc == 2 and "no mirror" in c.stderr
    c = run("swebench", "checkout", "acme/proj", bench.base, "--repos", bench.repos, "--url", url)
    assert c.rc == 2 and "--network" in c.stderr
    c = run("swebench", "checkout", "acme/proj", bench.base, "--repos", bench.repos, "--network", "--url", url, "--json")
    assert c.rc == 0 and json.loads(c.out)["commit"] == bench.base, c
    c = run("swebench", "checkout", "acme/proj", bench.future, "--repos", bench.repos, "--network", "--url", url, "--json")
    assert c.rc == 0 and json.loads(c.out)["commit"] == bench.future, c


def test_submodules_and_lfs_pointers_are_named(bench):
    work = bench.work
    write(work, {"big.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 5\n"})
    git(work, "add", "-A"), git(work, "update-index", "--add", "--cacheinfo", f"160000,{bench.base},vendor/lib"), git(work, "commit", "-q", "-m", "more")
    c = run("swebench", "checkout", work, git(work, "rev-parse", "HEAD"), "--json")
    got = json.loads(c.out)
    assert got["submodules"] == ["vendor/lib"] and got["lfs"] == ["big.bin"], c


def test_apply_and_test_alone(bench):
    patch = bench.top / "p.diff"
    patch.write_text(bench.gold)
    own(patch)
    c = bench.swebench("apply", "--id", "acme__proj-1", "--patch", patch)
    assert c.rc == 0 and c.stdout == "acme__proj-1: applied by git apply\n  pkg/calc.py\n", c
    c = bench.swebench("apply", "--id", "acme__proj-1", "--patch", patch, "--json")
    assert c.rc == 0 and json.loads(c.out)["outcome"] == "applied", c
    c = bench.swebench("test", "--id", "acme__proj-1", "--patch", patch, "--json")
    assert c.rc == 0 and json.loads(c.out)["acme__proj-1"]["resolved"], c
    patch.write_text(bench.gold.replace("pkg/calc.py", "../calc.py"))
    c = bench.swebench("apply", "--id", "acme__proj-1", "--patch", patch)
    assert c.rc == 1 and c.stdout.startswith("acme__proj-1: outside (../calc.py: "), c
    c = bench.swebench("test", "--id", "acme__proj-1", "--patch", "gold", "--test-id", "tests/test_calc.py::test_add", "--json")
    report = json.loads(c.out)["acme__proj-1"]
    assert report["passed"] == 1 and "test_add" in report["raw_output"] and "test_twice" not in report["raw_output"], report
    c = bench.swebench("test", "--id", "acme__proj-1", "--json")
    assert c.rc == 1 and not json.loads(c.out)["acme__proj-1"]["resolved"], c


def test_validate(bench):
    flaky = {**bench.instance, "instance_id": "acme__proj-2", "FAIL_TO_PASS": json.dumps(["tests/test_calc.py::test_twice"]), "PASS_TO_PASS": "[]"}
    bench.put("instances.jsonl", [bench.instance, flaky])
    c = bench.swebench("validate", "--json")
    assert c.rc == 1, c
    first, second = json.loads(c.out)
    assert first["holds"] and not second["holds"] and "before" in second["reason"]


def test_reports_are_the_same_twice_and_runs_go_on(bench):
    def plain(r):
        r = json.loads(json.dumps(r))
        for key in ("jar", "tree_seconds"):
            r.pop(key, None)
        for key in ("jars", "seconds", "calibration_seconds"):
            r.get("canaries", {}).pop(key, None)
        r["apply"].pop("ms", None)
        return r

    wrong = diff(bench.work, {"pkg/calc.py": CALC.replace("a - b", "a * b")})
    out = bench.top / "out"
    one = bench.predict(bench.gold, wrong, opts=("--out", out))
    two = bench.predict(bench.gold, wrong)
    assert [plain(r) for r in one] == [plain(r) for r in two]
    assert sorted(p.name for p in (out / "m0" / "acme__proj-1").iterdir()) == ["apply.json", *(f"canary_output.{k}.txt" for k in range(1, 7)), "patch.diff", "report.json",
                                                                                 "test_output.txt"]
    stamp = (out / "m0" / "acme__proj-1" / "report.json").stat().st_mtime_ns
    (out / "m1" / "acme__proj-1" / "report.json").unlink()
    assert [plain(r) for r in bench.predict(bench.gold, wrong, opts=("--out", out))] == [plain(r) for r in one]
    assert (out / "m0" / "acme__proj-1" / "report.json").stat().st_mtime_ns == stamp
    assert (out / "m1" / "acme__proj-1" / "report.json").exists()
    assert json.loads((out / "m1.report.json").read_text())["unresolved_ids"] == ["acme__proj-1"]


def test_the_kept_output_is_worth_the_same_to_grade(bench):
    """Also where tests log errors: no name in it is another than the listed one."""
    loud = "import logging\nlogging.error('loaded')\n" + FIXED.replace("return a + b", "logging.error('added')\n    return a + b")
    wrong = CALC.replace("a - b", "a * b")
    out = bench.top / "out"
    reports = bench.predict(*[diff(bench.work, {"pkg/calc.py": text}) for text in (FIXED, loud, wrong)], opts=("--out", out))
    assert [r["resolved"] for r in reports] == [True, True, False], reports
    for k, r in enumerate(reports):
        c = run("swebench", "grade", "--instances", bench.top / "instances.jsonl", "--id", "acme__proj-1", "--log", out / f"m{k}" / "acme__proj-1" / "test_output.txt",
                "--exit-status", str(r["exit_code"]), "--json")
        got = json.loads(c.out)["acme__proj-1"]
        assert got["tests_status"] == r["tests_status"] and got["resolved"] == r["resolved"] and not got["tampering"], c


def test_a_report_counts_for_its_own_prediction_alone(bench):
    """Another patch under the same name, another set of tests, a report that somebody left there, a pipe in its place: all are run."""
    out = bench.top / "out"
    assert bench.predict(bench.gold, opts=("--out", out))[0]["resolved"]
    report = out / "m0" / "acme__proj-1" / "report.json"
    assert not bench.predict("not even a patch\n", opts=("--out", out))[0]["resolved"]
    report.write_text(json.dumps({"acme__proj-1": {"resolved": True, "error": None, "apply": {"outcome": "applied"}}}))
    assert not bench.predict("not even a patch\n", opts=("--out", out))[0]["resolved"]
    report.unlink()
    os.mkfifo(report)
    c = bench.swebench("run", "--predictions", bench.put("preds.jsonl", [{"instance_id": "acme__proj-1", "model_name_or_path": "m0", "model_patch": "x"}]), "--out", out)
    assert c.rc == 1, c
    kept = bench.predict(bench.gold, opts=("--out", bench.top / "out2", "--no-canaries"))[0]
    assert kept["resolved"] and "canary" not in kept["checks"]
    assert "canary" in bench.predict(bench.gold, opts=("--out", bench.top / "out2"))[0]["checks"]
    again = bench.predict(bench.gold, opts=("--out", bench.top / "out2", "--extra-arg=-v"))[0]
    assert "-v" in again["command"], again["command"]


def test_the_mirrors_configuration_is_never_read(bench):
    """Commands that a repository can name (hooks, pagers, gpg, filters, upload-pack) run neither on the host nor in the jar that makes the tree."""
    mirror, mark = bench.repos / "acme__proj.git", bench.top / "mark"
    evil = bench.top / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {mark} /mirror/mark /workspace/tree/.git/mark\n")
    evil.chmod(0o755)
    (mirror / "config").write_text(f"""[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfsmonitor = {evil}\n\talternateRefsCommand = {evil}\n[log]\n\tshowSignature = true
[gpg]\n\tprogram = {evil}\n[remote "https://github.com/acme/proj"]\n\turl = {bench.work}\n\tuploadpack = {evil}; git-upload-pack\n[filter "x"]\n\tsmudge = {evil}\n""")
    own(mirror / "config")
    c = run("swebench", "checkout", "acme/proj", bench.base, "--repos", bench.repos, "--again", "--json")
    assert c.rc == 0, c
    tree = Path(json.loads(c.out)["path"])
    assert not mark.exists() and not (tree / ".git" / "mark").exists() and not (tree / ".git" / "hooks").exists()
    text = (tree / ".git" / "config").read_text()
    assert "evil" not in text and "checkstat" in text
    c = run("swebench", "checkout", "acme/proj", bench.future, "--repos", bench.repos, "--network", "--url", f"file://{bench.work}", "--json")
    assert c.rc == 0 and not mark.exists(), c


def test_names_reach_the_terminal_as_text(bench):
    rows = [{"instance_id": "acme__proj-1", "model_name_or_path": "m\x1b]0;evil\x07", "model_patch": ""}]
    c = bench.swebench("run", "--predictions", bench.put("preds.jsonl", rows))
    assert c.rc == 1 and b"\x1b" not in c.out, c.out


LIMITS = {
    "timeout": ("import time\n    time.sleep(600)", ("--timeout", "4s")),
    "memory": ("x = [bytearray(1 << 24) for _ in range(1000)]\n    return len(x)", ("--memory", "256M")),
    "output": ("import os\n    while True:\n        os.write(2, b'x' * 65536)", ("--extra-arg=-s",)),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_are_told(bench, limit):
    body, opts = LIMITS[limit]
    r, = bench.predict(diff(bench.work, {"pkg/calc.py": FIXED.replace("return a + b", body)}), opts=opts)
    if limit == "memory" and r["reason"] == "failed":
        pytest.skip("the allocation failed in Python before the kernel ended anything")
    assert not r["resolved"] and r["reason"] == limit and set(r["reasons"].values()) == {limit} and not r["tampering"], (r["reason"], r["reasons"], r["jar"])


def test_a_missing_commit_is_not_the_newest_one(bench):
    for missing in ({**bench.instance, "base_commit": ""}, {k: v for k, v in bench.instance.items() if k != "base_commit"}):
        bench.put("instances.jsonl", [missing])
        r, = bench.predict(bench.gold)
        assert not r["resolved"] and "base_commit" in r["error"] and "HEAD" in r["hint"], r
    bench.put("instances.jsonl", [{**bench.instance, "base_commit": "HEAD"}])
    assert bench.predict(bench.gold)[0]["error"] is None


def test_half_of_a_surrogate_pair_spoils_one_patch_at_most(bench):
    """In a patch that nothing fits, in a line that counts for nothing, and a whole pair."""
    odd = "# \udcff \ud83d\ude00 \ud800\n"
    path = bench.top / "preds.jsonl"
    rows = [("m0", odd), ("m1", bench.gold), ("m2", odd + bench.gold)]
    path.write_text("".join(json.dumps({"instance_id": "acme__proj-1", "model_name_or_path": m, "model_patch": p}) + "\n" for m, p in rows))
    own(path)
    c = bench.swebench("run", "--predictions", path, "--json", "--no-canaries")
    got = [r["acme__proj-1"]["resolved"] for r in json.loads(c.out)["instances"]]
    assert got == [False, True, True], c
    listed = {**bench.instance, "PASS_TO_PASS": json.dumps(["tests/test_calc.py::test_twice", "x\ud800"])}
    bench.put("instances.jsonl", [listed])
    assert bench.predict(bench.gold)[0]["reasons"] == {"x\ufffd": "missing"}


def test_a_repository_that_the_runner_uses_is_refused_by_name(bench):
    """It would be the runner's own copy that is tested: also a patch that does nothing would be resolved."""
    write(bench.work, {"src/pluggy/__init__.py": "raise ValueError\n"})
    git(bench.work, "add", "-A"), git(bench.work, "commit", "-q", "-m", "own")
    commit = git(bench.work, "rev-parse", "HEAD")
    git(bench.work, "push", "-q", str(bench.repos / "acme__proj.git"), f"{commit}:refs/heads/own")
    own(bench.repos)
    bench.put("instances.jsonl", [{**bench.instance, "base_commit": commit}])
    r, = bench.predict(bench.gold)
    assert not r["resolved"] and "acme/proj cannot be tested" in r["error"] and "pluggy" in r["error"] and r["hint"], r
    c = bench.swebench("validate")
    assert c.rc == 1 and "acme/proj cannot be tested" in c.stdout, c


def test_progress_on_a_terminal_and_when_asked(bench):
    slow = diff(bench.work, {"pkg/calc.py": "import time\ntime.sleep(2)\n" + CALC})
    preds = bench.put("preds.jsonl", [{"instance_id": "acme__proj-1", "model_name_or_path": m, "model_patch": slow} for m in ("m0", "m1")])
    words = ("run", "--predictions", preds, "-j", "1")
    master, slave = os.openpty()
    p = start("swebench", *words, "--instances", bench.top / "instances.jsonl", "--repos", bench.repos, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    c = finish(p, timeout=seconds(60))
    text = shown.decode()
    assert c.rc == 1 and "0 of 2, 0 resolved, 0 errors; 0:0" in text and "acme__proj-1 (tests)" in text and "1 of 2" in text and " left" in text and "\r" in text, text
    assert bench.swebench(*words).err == b""
    c = bench.swebench(*words, "--progress")
    assert b"0 of 2, 0 resolved" in c.err and b"\r" not in c.err and b"\033" not in c.err, c.err


def test_nothing_to_run_is_an_error(bench):
    bench.put("instances.jsonl", [{**bench.instance, "test_patch": ""}])
    r, = bench.predict(bench.gold)
    assert not r["resolved"] and r["error"], r
    bench.put("instances.jsonl", [{**bench.instance, "FAIL_TO_PASS": "[]", "PASS_TO_PASS": "[]"}])
    r, = bench.predict(bench.gold)
    assert not r["resolved"] and not r["gradable"], r


SOFT = """import unittest
import pkg.calc
import pytest
from pkg.calc import add, twice


def test_twice():
    assert twice(2) == 4


@pytest.mark.xfail(getattr(pkg.calc, "SLOW", False), reason="slow")
def test_flag():
    assert add(1, 2) == 3


@pytest.mark.skipif(getattr(pkg.calc, "SLOW", False), reason="slow")
def test_skipped():
    assert add(1, 2) == 3


def test_plain():
    calc = pytest.importorskip("pkg.calc")
    assert calc.add(1, 2) == 3


class Cases(unittest.TestCase):
    def test_case(self):
        self.assertEqual(add(1, 2), 3)
"""
# What a wrong product can do to be expected to fail: patch of calc.py, which test it is for.
SOFTENERS = {
    "a flag that a mark of the source asks for": ("SLOW = True\n", "test_flag"),
    "a flag that a skip of the source asks for": ("SLOW = True\n", "test_skipped"),
    "an exception of pytest": ("import pytest\n\n\ndef add(a, b):\n    pytest.xfail('x')\n", "test_plain"),
    "a skip": ("import pytest\n\n\ndef add(a, b):\n    pytest.skip('x')\n", "test_plain"),
    "a module that is not there": ("import sys\n\n\ndef add(a, b):\n    raise __import__('pytest').skip.Exception('x')\n\n\nsys.modules['pkg.calc2'] = None\n", "test_plain"),
    "a mark at run time": ("import sys\n\n\ndef add(a, b):\n    import pytest\n    f = sys._getframe(1)\n    while 'self' not in f.f_locals or not hasattr(f.f_locals['self'], 'add_marker'):\n"
                           "        f = f.f_back\n    f.f_locals['self'].add_marker(pytest.mark.xfail)\n    return 0\n", "test_plain"),
    "unittest's mark": ("import unittest\n_old = unittest.TestCase.run\n\n\ndef _run(self, result=None):\n    type(self).__unittest_expecting_failure__ = True\n"
                        "    return _old(self, result)\n\n\nunittest.TestCase.run = _run\n", "Cases::test_case"),
    "unittest's skip": ("import unittest\n\n\ndef add(a, b):\n    raise unittest.SkipTest('x')\n", "Cases::test_case"),
    "a mark on whatever is collected": ("import _pytest.python\n_old = _pytest.python.Function.__init__\n\n\ndef _init(self, *a, **k):\n    _old(self, *a, **k)\n"
                                        "    self.add_marker('xfail')\n\n\n_pytest.python.Function.__init__ = _init\n", "test_plain"),
}


@pytest.mark.parametrize("canaries", [(), ("--no-canaries",)])
def test_expected_failures_count_only_where_the_source_says_so(bench, canaries):
    """A FAIL_TO_PASS test that passes with the gold patch has to pass: no mark, skip or condition of the product stands for it."""
    at = "tests/test_calc.py::"
    tests = diff(bench.work, {"tests/test_calc.py": SOFT})
    names = ["test_flag", "test_skipped", "test_plain", "Cases::test_case"]
    bench.put("instances.jsonl", [{**bench.instance, "test_patch": tests, "FAIL_TO_PASS": json.dumps([at + n for n in names]), "PASS_TO_PASS": "[]"}])
    assert bench.predict(bench.gold, opts=canaries)[0]["resolved"]
    for name in names:
        bench.put("instances.jsonl", [{**bench.instance, "test_patch": tests, "FAIL_TO_PASS": json.dumps([at + name]), "PASS_TO_PASS": "[]"}])
        mine = {how: text for how, (text, test) in SOFTENERS.items() if test == name and not (canaries and name == "test_flag")}
        if mine:
            for how, r in zip(mine, bench.predict(*[diff(bench.work, {"pkg/calc.py": CALC + text}) for text in mine.values()], opts=canaries)):
                assert not r["resolved"] and r["reasons"][at + name] in (("xfail",) if name == "test_flag" else ("failed", "error", "skipped", "xfail", "log_disagrees")), (how, r["reason"], r["reasons"], r["tampering"])


def test_a_signal_stops_it(bench, traces):
    slow = diff(bench.work, {"pkg/calc.py": "import time\n" + FIXED.replace("return a + b", "time.sleep(600)")})
    preds = bench.put("preds.jsonl", [{"instance_id": "acme__proj-1", "model_name_or_path": "m", "model_patch": slow}])
    p = start("swebench", "run", "--predictions", preds, "--instances", bench.top / "instances.jsonl", "--repos", bench.repos, "--out", bench.top / "out",
              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(seconds(3))
    os.kill(p.pid, signal.SIGINT)
    c = finish(p, timeout=seconds(30))
    assert c.rc == 130 and not (bench.top / "out" / "m" / "acme__proj-1" / "report.json").exists(), c


# ---- what is kept ----

class Kept:
    """A state folder of its own: `clean` of a test removes nothing of anyone else's."""

    def __init__(self, bench):
        self.bench, self.state = bench, bench.top / "state"
        self.env = {"BELLJAR_STATE_DIR": str(self.state)}
        self.trees = self.state / "trees"

    def checkout(self, commit, *opts):
        c = run("swebench", "checkout", "acme/proj", commit, "--repos", self.bench.repos, "--json", *opts, env=self.env, timeout=seconds(60))
        assert c.rc == 0, c
        return Path(json.loads(c.out)["path"])

    def age(self, tree, days):
        when = time.time() - days * 86400
        os.utime(f"{tree}.json", (when, when))

    def clean(self, *opts):
        c = run("swebench", "clean", "--json", *opts, env=self.env)
        assert c.rc == 0, c
        return json.loads(c.out)

    def left(self):
        return {p.name for p in self.trees.iterdir() if p.is_dir() and p.name != "empty"}


@pytest.fixture
def kept(bench):
    return Kept(bench)


def test_clean(kept):
    old, new = kept.checkout(kept.bench.base), kept.checkout(kept.bench.future)
    kept.age(old, 10)
    (kept.state / "canaries").mkdir(exist_ok=True)
    (kept.state / "canaries" / "a.json").write_text("{}")
    (kept.state / "mirrors" / "acme__proj.git").mkdir(parents=True)
    (kept.trees / "new-1-7").mkdir()  # of a process that was killed
    (kept.trees / "notes.txt").write_text("not ours\n")
    os.utime(kept.trees / "new-1-7", (0, 0))
    for path in (kept.state / "canaries", kept.state / "mirrors", kept.trees / "new-1-7", kept.trees / "notes.txt"):
        own(path)
    got = kept.clean("--older-than", "7d", "--dry-run")
    assert got["dry_run"] and got["removed"]["trees"] == 1 and got["kept"]["trees"] == 2 and old.exists(), got
    c = run("swebench", "clean", "--older-than", "7d", env=kept.env)
    assert c.rc == 0 and old.name in c.stdout and "removed 1 trees, 0 canaries, 0 mirrors" in c.stdout and not old.exists() and not Path(f"{old}.json").exists(), c
    got = kept.clean("--max-size", "1G")
    assert got["removed"] == {"trees": 0, "canaries": 0, "mirrors": 0}, got
    got = kept.clean()
    assert got["removed"]["trees"] == 2 and got["removed"]["canaries"] == 1 and got["bytes"] > 0 and not kept.left(), got
    assert (kept.state / "mirrors" / "acme__proj.git").exists() and (kept.trees / "notes.txt").exists()
    assert kept.clean("--all")["removed"]["mirrors"] == 1 and not (kept.state / "mirrors" / "acme__proj.git").exists()


def test_clean_keeps_what_is_in_use(kept):
    """A tree that a run uses, and one that is being made."""
    tree = kept.checkout(kept.bench.base)
    making = kept.trees / "new-1-8"
    making.mkdir()
    own(making)
    fds = [os.open(p, os.O_RDONLY) for p in (tree, making)]
    for fd in fds:
        fcntl.flock(fd, fcntl.LOCK_SH)
    assert kept.clean("--dry-run")["in_use"] == 2
    got = kept.clean("--max-size", "0")
    assert got["in_use"] == 2 and got["removed"]["trees"] == 0 and tree.exists() and making.exists(), got
    for fd in fds:
        os.close(fd)
    assert kept.clean()["removed"]["trees"] == 2 and not tree.exists()


def test_a_run_holds_its_tree(kept, traces):
    slow = diff(kept.bench.work, {"pkg/calc.py": "import time\n" + FIXED.replace("return a + b", "time.sleep(600)")})
    preds = kept.bench.put("preds.jsonl", [{"instance_id": "acme__proj-1", "model_name_or_path": "m", "model_patch": slow}])
    tree = kept.checkout(kept.bench.base)
    p = start("swebench", "run", "--predictions", preds, "--instances", kept.bench.top / "instances.jsonl", "--repos", kept.bench.repos, env=kept.env,
              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + seconds(30)
    while not kept.clean("--dry-run")["in_use"] and time.monotonic() < end:
        time.sleep(0.1)
    got = kept.clean()
    assert got["in_use"] == 1 and tree.exists(), got
    os.kill(p.pid, signal.SIGINT)
    finish(p, timeout=seconds(30))
    assert kept.clean()["removed"]["trees"] == 1 and not tree.exists()


def test_trees_have_a_bound(kept):
    """Before a tree is made, those that were used least recently go until the rest fits."""
    (kept.bench.work / "big").write_bytes(os.urandom(1 << 20))
    commits = []
    for n in range(3):
        write(kept.bench.work, {"n": f"{n}\n"})
        git(kept.bench.work, "add", "-A"), git(kept.bench.work, "commit", "-q", "-m", f"n{n}")
        commits.append(git(kept.bench.work, "rev-parse", "HEAD"))
    subprocess.run(["rm", "-rf", str(kept.bench.repos / "acme__proj.git")], check=True)
    subprocess.run(["git", "clone", "-q", "--mirror", str(kept.bench.work), str(kept.bench.repos / "acme__proj.git")], env=ENV, check=True)
    own(kept.bench.repos)
    trees = [kept.checkout(commits[0]), kept.checkout(commits[1])]
    kept.age(trees[0], 2), kept.age(trees[1], 3)
    kept.checkout(commits[1])  # a use counts
    trees.append(kept.checkout(commits[2], "--trees-max", "3M"))
    assert kept.left() == {trees[1].name, trees[2].name}
    # The configuration's bound.
    conf = kept.bench.top / "conf" / "belljar"
    conf.mkdir(parents=True)
    (conf / "config.yaml").write_text("trees:\n  max: 1M\n")
    own(conf.parent)
    kept.env["XDG_CONFIG_HOME"] = str(conf.parent)
    kept.checkout(commits[0])
    assert kept.left() == {trees[0].name}
    (conf / "config.yaml").write_text("trees:\n  most: 1M\n")
    c = run("swebench", "checkout", "acme/proj", commits[0], "--repos", kept.bench.repos, env=kept.env)
    assert c.rc == 125 and "trees.most" in c.stderr, c
