# SPDX-License-Identifier: Apache-2.0
"""Two judges: one that believes a log (the control), and `belljar swebench run`."""
import json
import re
import shutil

import harness
import swejar
from cheats import HERE, repo

ROW = """name: cheat-{kind}
repos: [cheat/{kind}]
kind: {kind}
parser: {kind}
argv: [{argv}, "{{tests}}"]
python: /usr/bin/python3
pythonpath: ["{{tree}}"]
words: {words}
protected: ["tests/**", "sympy/tests/**"]
runner_files: [conftest.py, "**/conftest.py", pytest.ini, setup.cfg, tox.ini, pyproject.toml, sitecustomize.py, usercustomize.py, "**/*.pth", "*.pth", bin/test]
watched: ["sympy/testing/**"]
"""


# ---- the control ---------------------------------------------------------------------------------

def from_log(kind, text):
    """{test: status} as plain parsers of logs have it; later lines win."""
    found = {}
    for line in text.splitlines():
        if kind == "pytest" and (m := re.match(r"(PASSED|FAILED|ERROR|SKIPPED|XFAIL) (\S+)", line)):
            found[m.group(2)] = "PASSED" if m.group(1) == "XFAIL" else m.group(1)
        elif kind in ("django", "unittest") and (m := re.match(r"(test_\w+) \(([\w.]+?)(?:\.\1)?\) \.\.\. (ok|FAIL|ERROR)\s*$", line)):
            found[f"{m.group(1)} ({m.group(2)})"] = "PASSED" if m.group(3) == "ok" else "FAILED"
        elif kind == "sympy" and (m := re.match(r"(test_\w+) (ok|F|E)\b", line)):
            found[m.group(1)] = "PASSED" if m.group(2) == "ok" else "FAILED"
    return found


def naive(instance, patch):
    """(resolved, the log) of a harness that reads the log."""
    job = {"model_patch": patch, **{k: instance[k] for k in ("kind", "argv", "test_patch", "test_files")}}
    c = harness.run("run", "-q", "--ro", f"{repo(instance['kind']).top}:/base", "--ro", f"{HERE / 'control.py'}:/etc/control.py", "--stdin", "-", "--disk", "200M", "-m", "1G",
                    "--pids", "128", "--output", "8M", "--audit", "off", "--timeout", "50s", "--", "/usr/bin/python3", "-I", "/etc/control.py", input=json.dumps(job).encode())
    got = from_log(instance["kind"], c.stdout)
    return all(got.get(t) == "PASSED" for t in instance["f2p"] + instance["p2p"]), c.stdout + c.stderr


# ---- belljar ------------------------------------------------------------------------------------

class Front:
    """`belljar swebench run` over all of them at once: judged(patches) -> {name: its report}."""

    def __init__(self):
        self.top = swejar.folder("front")
        self.rows = []

    def add(self, name, instance, patch):
        number = len(self.rows)
        kind = instance["kind"]
        mirror = self.top / "repos" / f"cheat__{kind}"
        if not mirror.exists():
            shutil.copytree(repo(kind).top, mirror, symlinks=True)
        head = swejar.git(repo(kind).top, "rev-parse", "HEAD").decode().strip()
        id = f"cheat__{kind}-{number}"
        self.rows.append({"name": name, "patch": patch,
                          "instance": {"instance_id": id, "repo": f"cheat/{kind}", "base_commit": head, "version": "1", "patch": "", "test_patch": instance["test_patch"],
                                       "FAIL_TO_PASS": instance["f2p"], "PASS_TO_PASS": instance["p2p"]},
                          "meta": {"instance_id": id, "test_cmd": " ".join([*(["pytest"] if kind == "pytest" else ["python3 -m unittest"] if kind == "unittest" else []), *instance["argv"]]),
                                   "test_files": instance["test_files"]}})

    def write(self, name, rows):
        path = self.top / name
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
        return path

    def judged(self, *opts):
        home = harness.home(harness.TEST_USER)
        rows = home / ".config" / "belljar" / "swebench"
        rows.mkdir(parents=True, exist_ok=True)
        for kind, argv, words in (("pytest", "-rA", "path"), ("django", "tests/runtests.py", "module"), ("sympy", "bin/test", "path"), ("unittest", "-v", "module")):
            (rows / f"cheat-{kind}.yaml").write_text(ROW.format(kind=kind, argv=argv, words=words))
        instances = self.write("instances.jsonl", [r["instance"] for r in self.rows])
        meta = self.write("meta.jsonl", [r["meta"] for r in self.rows])
        preds = self.write("preds.jsonl", [{"instance_id": r["instance"]["instance_id"], "model_name_or_path": "cheat", "model_patch": r["patch"]} for r in self.rows])
        for path in [self.top, *self.top.rglob("*")]:
            harness.own(path)
        harness.own(home / ".config"), harness.own(home / ".config" / "belljar"), harness.own(rows)
        for path in rows.iterdir():
            harness.own(path)
        c = harness.run("swebench", "run", "--instances", instances, "--meta", meta, "--predictions", preds, "--repos", self.top / "repos", "--json", "-q", "--timeout", "60s",
                        *opts, timeout=600, env={"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")})
        assert c.rc in (0, 1), c
        found = {}
        for report in json.loads(c.out)["instances"]:
            found.update(report)
        return {r["name"]: found[r["instance"]["instance_id"]] for r in self.rows}


def seen(report):
    """What gave it away: the kinds of tampering, or why it is not resolved."""
    return {t["what"] for t in report["tampering"]} | {report["reason"]}
