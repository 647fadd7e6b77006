# SPDX-License-Identifier: Apache-2.0
"""belljar swebench with jars: checkout, apply, test, run, validate, on small repositories that are made here."""
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from harness import finish, own, run, seconds, start, state_dir

ENV = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
       "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", "GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000", "HOME": "/nonexistent"}
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
    assert gold["trust"] == "shared_interpreter" and {"canary", "rename", "log", "exit", "finish"} <= set(gold["checks"])
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
    assert c.rc == 0 and json.loads(c.out)["outcome"] == "applied", c
    c = bench.swebench("test", "--id", "acme__proj-1", "--patch", patch, "--json")
    assert c.rc == 0 and json.loads(c.out)["acme__proj-1"]["resolved"], c
    patch.write_text(bench.gold.replace("pkg/calc.py", "../calc.py"))
    c = bench.swebench("apply", "--id", "acme__proj-1", "--patch", patch)
    assert c.rc == 1 and json.loads(c.out)["outcome"] == "outside", c
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
        for key in ("jar", "canary_jar", "tree_seconds"):
            r.pop(key, None)
        r["apply"].pop("ms", None)
        return r

    wrong = diff(bench.work, {"pkg/calc.py": CALC.replace("a - b", "a * b")})
    out = bench.top / "out"
    one = bench.predict(bench.gold, wrong, opts=("--out", out))
    two = bench.predict(bench.gold, wrong)
    assert [plain(r) for r in one] == [plain(r) for r in two]
    assert sorted(p.name for p in (out / "m0" / "acme__proj-1").iterdir()) == ["apply.json", "canary_output.txt", "patch.diff", "report.json", "test_output.txt"]
    stamp = (out / "m0" / "acme__proj-1" / "report.json").stat().st_mtime_ns
    (out / "m1" / "acme__proj-1" / "report.json").unlink()
    assert [plain(r) for r in bench.predict(bench.gold, wrong, opts=("--out", out))] == [plain(r) for r in one]
    assert (out / "m0" / "acme__proj-1" / "report.json").stat().st_mtime_ns == stamp
    assert (out / "m1" / "acme__proj-1" / "report.json").exists()
    assert json.loads((out / "m1.report.json").read_text())["unresolved_ids"] == ["acme__proj-1"]


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


def test_limits_are_told(bench):
    slow = diff(bench.work, {"pkg/calc.py": "import time\n" + FIXED.replace("return a + b", "time.sleep(60)")})
    fat = diff(bench.work, {"pkg/calc.py": FIXED.replace("return a + b", "x = bytearray(1 << 30)\n    return len(x)")})
    r, = bench.predict(slow, opts=("--timeout", "4s"))
    assert not r["resolved"] and r["jar"]["status"] == "timeout" and r["jar"]["reason"] == "wall_time", r["jar"]
    r, = bench.predict(fat, opts=("--memory", "256M"))
    assert not r["resolved"] and (r["jar"]["reason"] == "memory" or r["reasons"]["tests/test_calc.py::test_add"] in ("failed", "missing", "unfinished")), r


def test_nothing_to_run_is_an_error(bench):
    bench.put("instances.jsonl", [{**bench.instance, "test_patch": ""}])
    r, = bench.predict(bench.gold)
    assert not r["resolved"] and r["error"], r
    bench.put("instances.jsonl", [{**bench.instance, "FAIL_TO_PASS": "[]", "PASS_TO_PASS": "[]"}])
    r, = bench.predict(bench.gold)
    assert not r["resolved"] and not r["gradable"], r


def test_a_signal_stops_it(bench, traces):
    slow = diff(bench.work, {"pkg/calc.py": "import time\n" + FIXED.replace("return a + b", "time.sleep(600)")})
    preds = bench.put("preds.jsonl", [{"instance_id": "acme__proj-1", "model_name_or_path": "m", "model_patch": slow}])
    p = start("swebench", "run", "--predictions", preds, "--instances", bench.top / "instances.jsonl", "--repos", bench.repos, "--out", bench.top / "out",
              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(seconds(3))
    os.kill(p.pid, signal.SIGINT)
    c = finish(p, timeout=seconds(30))
    assert c.rc == 130 and not (bench.top / "out" / "m" / "acme__proj-1" / "report.json").exists(), c
