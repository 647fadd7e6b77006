# SPDX-License-Identifier: Apache-2.0
"""belljar swebench: environments of the host that the tests of a repository run in, and steps that prepare a tree."""
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from harness import PYTHON, own, run, seconds
from test_swebench import CALC, Bench, diff


@pytest.fixture
def bench(box):
    return Bench(box)


@pytest.fixture
def envs():
    """A folder for environments. A jar's /tmp and /var/tmp are the guest's, so it cannot be there."""
    place = next((p for p in ("/opt", "/srv", str(Path.home())) if os.access(p, os.W_OK)), None)
    if not place:
        pytest.skip("no folder outside of /tmp and /var/tmp that can be written")
    folder = Path(tempfile.mkdtemp(prefix="belljar-e2e-", dir=place))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def venv(folder, python=PYTHON):
    subprocess.run([python, "-m", "venv", "--without-pip", "--system-site-packages", str(folder)], check=True)
    subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)
    own(folder)
    return folder


def where(bench, *opts, rc=1):
    """What the interpreter of the tests says about itself."""
    say = ("import json, os, shutil, sys\n    raise ValueError('SAID' + json.dumps({'exe': sys.executable, 'prefix': sys.prefix, 'base': sys.base_prefix, 'path': os.environ['PATH'], "
           "'venv': os.environ.get('VIRTUAL_ENV'), 'tool': shutil.which('own-tool')}) + 'DIAS')")
    patch = bench.top / "say.diff"
    patch.write_text(diff(bench.work, {"pkg/calc.py": CALC.replace("return a - b", say)}))
    own(patch)
    c = bench.swebench("test", "--id", "acme__proj-1", "--patch", patch, "--json", *opts)
    assert c.rc == rc, str(c)
    text = json.loads(c.out)["acme__proj-1"]["raw_output"]
    assert "SAID{" in text, text
    return json.loads(text[text.index("SAID{") + 4:text.index("DIAS", text.index("SAID{"))])


def test_an_environment_is_shown_and_used(bench, envs):
    env = venv(envs / "env one")
    tool = env / "bin" / "own-tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    said = where(bench, "--env", env)
    assert said["prefix"] == said["venv"] == str(env) and said["path"].startswith(f"{env}/bin:") and said["tool"] == str(tool), said
    # The gold patch is resolved there too, and nothing can be written to it.
    c = bench.swebench("run", "--predictions", "gold", "--env", env)
    assert c.rc == 0, str(c)
    # --python alone: the same interpreter, found to be a venv's.
    assert where(bench, "--python", env / "bin" / "python")["venv"] == str(env)
    # Without either: the row's.
    assert where(bench)["venv"] is None


def test_the_environment_cannot_be_written(bench, envs):
    env = venv(envs / "env")
    write = f"open({str(env / 'mark')!r}, 'w')"
    r, = bench.predict(diff(bench.work, {"pkg/calc.py": CALC.replace("return a - b", write + "\n    return a + b")}), opts=("--env", env))
    assert not r["resolved"] and not (env / "mark").exists(), r


def test_a_venv_of_an_interpreter_outside_of_usr(bench, envs):
    """bin/python is a link to a prefix that the jar does not have, by way of a folder that is a link: all of that is shown as well."""
    real, link = envs / "python-3.11.2", envs / "python-3"
    (real / "bin").mkdir(parents=True)
    (real / "lib").mkdir()
    shutil.copy(os.path.realpath(PYTHON), real / "bin" / "python3")
    for name in (Path(os.path.realpath(PYTHON)).name, "python3"):
        os.symlink(f"/usr/lib/{name}", real / "lib" / name)
    os.symlink(real, link)
    said = where(bench, "--env", venv(envs / "env", link / "bin" / "python3"))
    assert said["prefix"] == said["venv"] == str(envs / "env") and said["base"] == str(link), said


def test_the_most_specific_entry_of_a_map_wins(bench, envs):
    one, two, three = (venv(envs / n) for n in ("one", "two", "three"))

    def put(text):
        path = bench.top / "map"
        path.write_text(text)
        own(path)
        return path

    pairs = {"acme/proj": one, "acme/proj@1.0": two, "acme/proj@2.0": three, "other/thing": three}
    lines = "# environments\n\n" + "".join(f"{k}   {v}\n" for k, v in pairs.items())
    assert where(bench, "--env-map", put(lines), "--env", three)["venv"] == str(two)
    assert where(bench, "--env-map", put(json.dumps({k: str(v) for k, v in pairs.items()})))["venv"] == str(two)
    assert where(bench, "--env-map", put("".join(f"{k}: {v}\n" for k, v in pairs.items() if "1.0" not in k)))["venv"] == str(one)
    # A repository that the map does not have.
    other = put(f"other/thing {three}\n")
    assert where(bench, "--env-map", other, "--env", one)["venv"] == str(one)


def test_rows_name_environments(bench, envs):
    env = venv(envs / "env")
    conf = bench.top / "conf" / "belljar" / "swebench"
    conf.mkdir(parents=True)
    row = conf / "own.yaml"
    config = {"env": {"XDG_CONFIG_HOME": str(bench.top / "conf")}}
    row.write_text(f"name: own\nlike: default\nrepos: [acme/proj]\nenvironment: {env}\n")
    c = bench.swebench("run", "--predictions", "gold", "--json", **config)
    assert c.rc == 0, str(c)
    row.write_text(f"name: own\nlike: default\nrepos: [acme/proj]\nenvironment: {env}/none\n")
    c = bench.swebench("run", "--predictions", "gold", **config)
    assert c.rc == 2 and "own.yaml: 'environment'" in c.stderr and "does not exist" in c.stderr and "hint:" in c.stderr, str(c)


def bad_folders(top):
    (top / "empty").mkdir()
    (top / "dangling" / "bin").mkdir(parents=True)
    os.symlink("/nonexistent/python", top / "dangling" / "bin" / "python")
    (top / "map").write_text("acme/proj@1.0 /nonexistent\n")
    (top / "map2").write_text("acme@1.0 /usr\n")
    (top / "map3").write_text("acme/proj venv\n")
    (top / "map4").write_text("acme/proj: /usr\nAcme/proj: /usr\n")
    return [(["--env", "/nonexistent"], "--env: /nonexistent does not exist"), (["--env", "/etc/passwd"], "is no folder"),
            (["--env", top / "empty"], "empty/bin/python does not exist"), (["--env", top / "dangling"], "bin/python leads to no program"),
            (["--python", "/nonexistent"], "--python: /nonexistent is no program"), (["--python", "/etc/passwd"], "is no program"),
            (["--env-map", "/nonexistent"], "--env-map: /nonexistent"), (["--env-map", top / "map"], "line 1: /nonexistent does not exist"),
            (["--env-map", top / "map2"], "neither owner/name nor owner/name@version"), (["--env-map", top / "map3"], "absolute path"),
            (["--env-map", top / "map4"], "is there twice"), (["--env", venv(top / "env")], "cannot be shown at its own path")]


def test_bad_environments_are_refused_before_anything_runs(bench):
    for opts, said in bad_folders(bench.top):
        c = bench.swebench("run", "--predictions", "gold", "--out", bench.top / "out", *opts)
        assert c.rc == 2 and said in c.stderr and not (bench.top / "out" / "gold").exists(), (opts, str(c))
        assert "hint:" in c.stderr or "--env-map: /nonexistent" in said or "twice" in said, str(c)


# ---- build steps ----

def rows(bench, *build, more=""):
    """Options of a call with a row that has these build steps."""
    conf = bench.top / "conf" / "belljar" / "swebench"
    conf.mkdir(parents=True, exist_ok=True)
    (conf / "own.yaml").write_text(f"name: own\nlike: default\nrepos: [acme/proj]\nbuild: {json.dumps(build)}\n{more}")
    return {"env": {"XDG_CONFIG_HOME": str(bench.top / "conf")}}


def checkout(bench, *opts, **kw):
    return run("swebench", "checkout", "acme/proj", bench.base, "--repos", bench.repos, "--json", *opts, timeout=seconds(60), **kw)


def test_a_build_is_part_of_the_tree(bench, envs):
    """What the steps made is in the tree; the commit's files and its .git are as they were; other steps or another environment make another tree."""
    steps = [["{python}", "-c", "open('pkg/built.py', 'w').write('PLACE = %r' % '{tree}')"],
             "sh -c 'echo changed > README && rm tests/data.txt && echo mine > own.txt && git add -A && git -c user.name=x -c user.email=x commit -qm mine && (sleep 600 &)'",
             "sh -c 'mkdir .git/hooks && echo evil > .git/hooks/post-checkout && rm -r bin && echo file > bin'"]
    config = rows(bench, *steps)
    first = json.loads(checkout(bench, **config).out)
    tree = Path(first["path"])
    assert (tree / "pkg" / "built.py").read_text() == "PLACE = '/testbed'" and (tree / "own.txt").read_text() == "mine\n"
    assert (tree / "README").read_text() != "changed\n" and (tree / "tests" / "data.txt").read_text() == "data\n" and os.access(tree / "bin" / "run", os.X_OK)
    git = ["git", "-c", "safe.directory=*", "-C", str(tree)]
    assert subprocess.run([*git, "rev-list", "--all", "--count"], capture_output=True, text=True).stdout == "1\n" and not (tree / ".git" / "hooks").exists()
    status = subprocess.run([*git, "--no-optional-locks", "status", "--porcelain"], capture_output=True, text=True).stdout.splitlines()
    assert sorted(status) == ["?? own.txt", "?? pkg/built.py"], status
    # The same again is there already; another step, another environment is not.
    again = json.loads(checkout(bench, **config).out)
    assert again["path"] == first["path"] and not again["made"]
    other = json.loads(checkout(bench, **rows(bench, *steps[:1])).out)
    assert other["path"] != first["path"] and other["made"]
    third = json.loads(checkout(bench, "--env", venv(envs / "env"), **rows(bench, *steps[:1])).out)
    assert third["path"] not in (first["path"], other["path"])
    # The tests find it.
    fixed = "from pkg.built import PLACE\n" + CALC.replace("a - b", "a + b if PLACE == '/testbed' else 0")
    patch = bench.top / "p.diff"
    patch.write_text(diff(bench.work, {"pkg/calc.py": fixed}))
    own(patch)
    c = bench.swebench("test", "--id", "acme__proj-1", "--patch", patch, **rows(bench, *steps))
    assert c.rc == 0, str(c)
    # Once more on purpose.
    assert json.loads(checkout(bench, "--again", **rows(bench, *steps[:1])).out)["made"]


@pytest.mark.parametrize("step, more, said", [
    (["sh", "-c", "echo first words; echo the last words >&2; exit 7"], "", ["build step 1", "status 7", "first words | the last words"]),
    (["nothing-like-it"], "", ["build step 1", "status 127", "No such file"]),
    (["sh", "-c", "echo begun; sleep 600"], "wall: 1s\n", ["did not end within 1 s", "begun"]),
    (["sh", "-c", "kill -9 $$"], "", ["was ended by signal 9"]),
    (["{python}", "-c", "import socket; socket.create_connection(('192.0.2.1', 80), 1)"], "", ["status 1", "OSError"]),
    (["sh", "-c", "touch /usr/lib/mark /mirror/HEAD.new && touch $PWD/../mark"], "", ["status 1"])])
def test_a_build_step_that_fails_is_an_error(bench, step, more, said):
    config = rows(bench, step, more=more)
    c = bench.swebench("run", "--predictions", "gold", "--json", **config)
    r = json.loads(c.out)["instances"][0]["acme__proj-1"]
    assert c.rc == 1 and not r["resolved"] and all(word in r["error"] for word in said) and r["hint"], r["error"]
    if more == "":
        c = checkout(bench, **config)
        assert c.rc == 2 and said[0] in c.stderr and not c.out, str(c)
