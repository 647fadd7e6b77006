# SPDX-License-Identifier: Apache-2.0
"""The driver of repository-level patches (src/guest/python/swe.py) in a jar: outcomes of applying, what is put back, the four kinds of runners."""
import functools
import json
import re
import struct

import pytest

import harness
import swejar

pytestmark = pytest.mark.skipif(not __import__("os").path.exists("/usr/bin/patch"), reason="patch is not installed: apt-get install patch")

LINES = [f"line_{i} = {i}\n" for i in range(40)]
BASE = {
    "pkg/__init__.py": "",
    "pkg/calc.py": "def add(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a * b\n",
    "pkg/lines.py": "".join(LINES),
    "pkg/dos.py": "one = 1\r\ntwo = 2\r\nthree = 3\r\n",
    "pkg/data.bin": bytes(range(256)),
    "tests/test_calc.py": "from pkg.calc import add, mul\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n",
    "tests/sub/keep.py": "kept = 1\n",
    "setup.cfg": "[tool:pytest]\n",
    "README": "hello\n",
}
FIXED = BASE["pkg/calc.py"].replace("a - b", "a + b")
TEST = BASE["tests/test_calc.py"] + "\n\ndef test_add():\n    assert add(2, 3) == 5\n"


@functools.cache
def repo():
    return swejar.Repo(BASE)


@functools.cache
def gold():
    return repo().diff({"pkg/calc.py": FIXED})


@functools.cache
def the_tests():
    return repo().diff({"tests/test_calc.py": TEST})


def new_file(path, text="x = 1\n", mode="100644"):
    """A patch by hand: with names that git would not write."""
    lines = text.splitlines(keepends=True)
    tail = "" if text.endswith("\n") else "\n\\ No newline at end of file\n"
    return f"diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n" + "".join("+" + l for l in lines) + tail


PYTEST = {"kind": "pytest", "argv": ["-q", "-rA", "-p", "no:cacheprovider", "tests/test_calc.py"]}
F2P = ["tests/test_calc.py::test_add"]


# ---- applying: each outcome by its name ----------------------------------------------------------

REFUSED = {
    "empty": ["", "  \n\n"],
    "malformed": ["this is no patch\nat all\n", "diff --git a/x b/x\n", "--- a/pkg/calc.py\n+++ b/pkg/calc.py\n@@ -1,3 +1,9 @@\n def add(a, b):\n"],
    "outside": [new_file("../evil.py"), new_file("pkg/../../evil.py"), "--- a/../x\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n",
                "diff --git a/README b/../R\nrename from README\nrename to ../R\n", 'diff --git "a/..\\057x" "b/..\\057x"\nnew file mode 100644\n'],
    "absolute": ["--- /etc/passwd\n+++ /etc/passwd\n@@ -0,0 +1 @@\n+x\n", new_file("/tmp/evil.py"), "diff --git a/README b/README\nrename from README\nrename to /tmp/R\n"],
    "git": [new_file(".git/hooks/post-checkout"), new_file(".GIT/config"), new_file("pkg/.git/config"), new_file("git~1/config"), new_file(".git./config"),
            new_file(".git::$INDEX_ALLOCATION/config"), new_file(".g\u200cit/config"), new_file("lnk", ".git/config", "120000")],
    "submodule": ["diff --git a/sub b/sub\nnew file mode 160000\nindex 0000000..1234567\n--- /dev/null\n+++ b/sub\n@@ -0,0 +1 @@\n"
                  "+Subproject commit 1234567890123456789012345678901234567890\n"],
    "symlink": [new_file("pkg/out", "/etc", "120000"), new_file("pkg/out", "../../..", "120000"),
                "diff --git a/l b/l\nnew file mode 120000\nindex 0000000..1234567\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n"],
}


def test_patches_that_are_refused_by_name():
    """All in one jar each would take a minute: the driver's functions are asked in one, whole jobs in test_a_refused_patch_changes_nothing."""
    code = ("import sys; sys.argv = ['swe']; source = open('/workspace/.belljar/swe.py').read().rsplit('sys.exit(drive())', 1)[0]\n"
            "ns = {'__file__': '/workspace/.belljar/swe.py', '__name__': 'swe'}; exec(compile(source, 'swe.py', 'exec'), ns)\n"
            "import json\nfor name, text in json.load(sys.stdin):\n"
            "    try:\n        p = ns['Patch'](text); got = 'empty' if p.empty else 'parsed' if p.paths else 'malformed'\n"
            "    except ns['Refused'] as e:\n        got = e.outcome\n    print(json.dumps([name, got, text[:80]]))\n")
    cases = [(name, text) for name, texts in REFUSED.items() for text in texts if "calc.py" not in text and text != "diff --git a/x b/x\n"]
    cases += [("parsed", gold()), ("parsed", the_tests()), ("parsed", new_file("pkg/.github/x")), ("parsed", new_file("pkg/..x")),
              ("parsed", new_file("inside", "pkg/calc.py", "120000")), ("parsed", new_file("pkg/git.py")),
              ("parsed", "--- a/README\n+++ b/README\n@@ -1,2 +1,2 @@\n--- a/../../x\n+++ b/../../x\n hello\n")]
    c = harness.run("run", "-q", "--stdin", "-", *swejar.DRIVER, "--", "/usr/bin/python3", "-I", "-c", code, input=json.dumps(cases).encode()).ok()
    got = [json.loads(l) for l in c.stdout.splitlines()]
    assert len(got) == len(cases) and not [g for g in got if g[0] != g[1]]


@pytest.mark.parametrize("outcome", ["empty", "malformed", "outside", "absolute", "git", "submodule", "symlink"])
def test_a_refused_patch_changes_nothing(outcome):
    text = REFUSED[outcome][-1]
    said = swejar.drive(repo(), model_patch=text, test_patch=the_tests(), tests=F2P, **PYTEST)
    assert said.outcome == outcome and said.rc == 0, str(said)
    assert not said.all("ready") and not said.all("test") and not said.all("tests_end"), str(said)
    if outcome not in ("empty", "malformed"):
        assert said.apply["detail"] and not said.apply["attempts"]


def test_garbage_is_malformed_and_a_wrong_path_rejected():
    assert swejar.apply(repo(), REFUSED["malformed"][0]).outcome == "malformed"
    said = swejar.apply(repo(), gold().replace("pkg/calc.py", "pkg/none.py"))
    assert said.outcome == "rejected" and said.apply["method"] is None
    assert [a["method"] for a in said.apply["attempts"]] == ["git apply", "git apply --3way", "git apply --reject", "patch", "git apply --whitespace=fix", "already"]


def test_rejected_hunks_are_shown_and_nothing_stays():
    text = repo().diff({"pkg/lines.py": "".join(LINES).replace("line_3 = 3", "line_3 = 33").replace("line_30 = 30", "line_30 = 300")})
    text = re.sub(r"line_(2[789]|3[0123])\b", r"other_\1", text)  # the second hunk fits nowhere
    said = swejar.apply(repo(), text)
    assert said.outcome == "rejected" and "+other_30 = 300" in said.apply["rejects"] and "line_3 = 33" not in said.apply["rejects"], str(said)
    assert said.apply["files"] == ["pkg/lines.py"]
    assert "Hunk #1 applied cleanly" in [a for a in said.apply["attempts"] if a["method"] == "git apply --reject"][0]["log"]


def test_applies_plainly_and_the_tests_run():
    said = swejar.drive(repo(), model_patch=gold(), test_patch=the_tests(), tests=F2P, **PYTEST)
    assert (said.outcome, said.apply["method"], said.apply["files"], said.apply["notes"]) == ("applied", "git apply", ["pkg/calc.py"], [])
    assert said.one("ready")["marked"] == []
    assert said.tests == {"tests/test_calc.py::test_mul": "passed", "tests/test_calc.py::test_add": "passed"}
    assert not [f for f in said.all("test") if "where" in f or "value" in f]
    assert [f["def"] for f in said.all("test")] == ["tests/test_calc.py:4:test_mul", "tests/test_calc.py:8:test_add"]
    assert said.one("finish") == {"t": "finish", "counts": {"passed": 2}, "exit": 0}
    assert {k: said.one("tests_end")[k] for k in ("exit", "signal", "children_left")} == {"exit": 0, "signal": None, "children_left": 0}
    assert "2 passed" in said.out and not said.tampering


def test_without_a_patch_the_test_fails():
    said = swejar.drive(repo(), model_patch=None, test_patch=the_tests(), tests=F2P, **PYTEST)
    assert said.outcome == "applied" and said.apply["method"] is None
    assert said.tests == {"tests/test_calc.py::test_mul": "passed", "tests/test_calc.py::test_add": "failed"}
    assert said.one("tests_end")["exit"] == 1 and said.one("finish")["exit"] == 1


def test_three_way():
    """Context from another place of the file, but the blob that the patch names is there."""
    changed = "".join(LINES).replace("line_20 = 20\n", "line_20 = 2000\n")
    said = swejar.apply(repo(), repo().diff({"pkg/lines.py": changed}))
    assert said.apply["method"] == "git apply"
    text = repo().diff({"pkg/lines.py": changed}).replace(" line_19 = 19\n", " line_19 = 19\n line_19b = 0\n").replace("@@ -18,7 +18,7 @@", "@@ -18,8 +18,8 @@")
    assert swejar.apply(repo(), text).apply["method"] in ("patch", None)  # three-way needs the text to fit the blob
    other = swejar.Repo({**BASE, "pkg/lines.py": "".join(LINES[:18]) + "inserted = 1\n" + "".join(LINES[18:])})
    _, blob = swejar.git(repo().top, "rev-parse", "HEAD:pkg/lines.py"), None
    with_blob = swejar.Repo({**BASE, "pkg/lines.py": "".join(LINES[:18]) + "inserted = 1\n" + "".join(LINES[18:]), "old/lines.py": "".join(LINES)})
    text = repo().diff({"pkg/lines.py": changed}, "--full-index")
    assert swejar.apply(other, text).apply["method"] == "patch"
    said, tree = swejar.look(with_blob, ["pkg/lines.py"], model_patch=text)
    assert (said.outcome, said.apply["method"]) == ("applied", "git apply --3way"), str(said)
    assert "line_20 = 2000\n" in tree["pkg/lines.py"] and "inserted = 1\n" in tree["pkg/lines.py"]


def test_patch_with_fuzz_and_no_leftovers():
    text = gold().replace(" def mul(a, b):", " def mul(x, y):").replace("index ", "index f")
    said, tree = swejar.look(repo(), ["pkg/calc.py", "pkg/calc.py.orig", "pkg/calc.py.rej"], model_patch=text)
    assert (said.outcome, said.apply["method"]) == ("applied", "patch"), str(said)
    assert tree == {"pkg/calc.py": FIXED, "pkg/calc.py.orig": None, "pkg/calc.py.rej": None}


def test_whitespace_is_the_last_step():
    r = swejar.Repo({**BASE, "pkg/ws.py": "a = 1\nx = 1  \nb = 2\n"})
    text = swejar.Repo({"pkg/ws.py": "a = 1\nx = 1\nb = 2\n"}).diff({"pkg/ws.py": "a = 1\nx = 2\nb = 2\n"})
    said, tree = swejar.look(r, ["pkg/ws.py"], model_patch=text)
    assert (said.outcome, said.apply["method"]) == ("applied", "git apply --whitespace=fix") and tree["pkg/ws.py"] == "a = 1\nx = 2\nb = 2\n", str(said)


def test_already_applied_goes_on():
    fixed = swejar.Repo({**BASE, "pkg/calc.py": FIXED})
    said = swejar.drive(fixed, model_patch=gold(), test_patch=fixed.diff({"tests/test_calc.py": TEST}), tests=F2P, **PYTEST)
    assert (said.outcome, said.apply["method"]) == ("already", "already")
    assert set(said.tests.values()) == {"passed"} and len(said.tests) == 2


def test_no_final_newline_crlf_binary_modes():
    assert swejar.apply(repo(), gold().rstrip("\n")).apply["notes"] == ["no-final-newline"]
    text = repo().diff({"pkg/dos.py": "one = 1\r\ntwo = 22\r\nthree = 3\r\n", "pkg/data.bin": bytes(range(255, -1, -1)), "run.sh": ("exec", "#!/bin/sh\n"),
                        "README": None, "READ ME é": "hello\nyou\n"})
    said, tree = swejar.look(repo(), ["pkg/dos.py", "pkg/data.bin", "run.sh", "README", "READ ME é"], model_patch=text)
    assert said.outcome == "applied" and said.apply["notes"] == ["crlf", "binary"]
    assert tree["pkg/dos.py"] == "one = 1\r\ntwo = 22\r\nthree = 3\r\n" and tree["pkg/data.bin"] == bytes(range(255, -1, -1)).decode("latin-1")
    assert tree["README"] is None and tree["READ ME é"] == "hello\nyou\n" and tree["run.sh"]
    assert set(said.apply["files"]) == {"README", "READ ME é", "pkg/data.bin", "pkg/dos.py", "run.sh"}
    whole = gold().replace("\n", "\r\n")  # the patch itself came through a mail program
    said, tree = swejar.look(repo(), ["pkg/calc.py"], model_patch=whole)
    assert said.outcome == "applied" and "crlf" in said.apply["notes"] and tree["pkg/calc.py"] == FIXED, str(said)


def test_bad_test_patch():
    said = swejar.apply(repo(), gold(), repo().diff({"tests/test_calc.py": TEST.replace("mul(2, 3)", "mul(4, 3)")}).replace("(2, 3) == 6", "(9, 9) == 81"))
    assert said.outcome == "test_patch_failed" and said.apply["rejects"]
    assert swejar.apply(repo(), gold(), new_file("../x")).outcome == "test_patch_failed"


def test_a_job_that_is_none():
    for data in (b"", b"\x05\x00\x00\x00{bad}"):
        c = harness.run("run", "-q", "--stdin", "-", *swejar.DRIVER, "--", "/usr/bin/python3", "-I", "/workspace/.belljar/swe.py", input=data)
        assert c.rc != 0
        assert not [f for f in swejar.frames(c.out) if f["t"] != "apply" or f["outcome"] != "error"]


# ---- what is put back ----------------------------------------------------------------------------

def test_files_of_the_test_patch_win():
    """Also one that base does not have, one in the place of a folder, and below a link."""
    tests = repo().diff({"tests/test_calc.py": TEST, "tests/test_new.py": "def test_new():\n    assert 1\n", "tests/deep/test_deep.py": "def test_deep():\n    assert 1\n",
                         "tests/sub/keep.py": None})
    model = repo().diff({"pkg/calc.py": FIXED, "tests/test_calc.py": "def test_add():\n    pass\n", "tests/test_new.py": "def test_new():\n    pass\n",
                         "tests/deep": ("link", "../pkg"), "tests/sub/keep.py": "kept = 2\n"})
    said, tree = swejar.look(repo(), ["tests/test_calc.py", "tests/test_new.py", "tests/deep/test_deep.py", "pkg/test_deep.py", "tests/sub/keep.py"], model_patch=model,
                             test_patch=tests)
    assert tree == {"tests/test_calc.py": TEST, "tests/test_new.py": "def test_new():\n    assert 1\n", "tests/deep/test_deep.py": "def test_deep():\n    assert 1\n",
                    "pkg/test_deep.py": None, "tests/sub/keep.py": None}, str(said)
    assert ("symlink_parent", "tests/deep", "removed") in said.tampering and ("protected", "tests/test_new.py", "restored") in said.tampering


def test_a_folder_in_the_place_of_a_test_file():
    tests = repo().diff({"tests/test_new.py": "def test_new():\n    assert 1\n"})
    model = repo().diff({"tests/test_new.py/x.py": "x = 1\n", "tests/test_calc/__init__.py": "y = 1\n"})
    said, tree = swejar.look(repo(), ["tests/test_new.py", "tests/test_calc/__init__.py"], model_patch=model, test_patch=tests + the_tests())
    assert tree == {"tests/test_new.py": "def test_new():\n    assert 1\n", "tests/test_calc/__init__.py": None}, str(said)
    assert ("shadow", "tests/test_calc/__init__.py", "removed") in said.tampering


def test_runner_files_protected_files_and_shadows():
    pyc = b"\xa7\r\r\n\x01\0\0\0" + bytes(8)
    model = repo().diff({
        "conftest.py": "x", "pkg/conftest.py": "x", "setup.cfg": "[tool:pytest]\naddopts = -x\n", "pytest.ini": "[pytest]\n", "tests/sub/keep.py": None,
        "tests/other.py": "o = 1\n", "json.py": "x", "pytest/__init__.py": "x", "tests/unittest.py": "x", "sitecustomize.py": "x", "pkg/evil.pth": "import os",
        "evil.egg-info/entry_points.txt": "[pytest11]\nx=y\n", "pkg/__pycache__/calc.cpython-311.pyc": pyc, "pkg/json.py": "fine = 1\n", "pkg/runner.py": "w = 1\n",
        "pkg/calc.py": FIXED})
    paths = ["conftest.py", "pkg/conftest.py", "setup.cfg", "pytest.ini", "tests/sub/keep.py", "tests/other.py", "json.py", "pytest/__init__.py", "tests/unittest.py",
             "sitecustomize.py", "pkg/evil.pth", "evil.egg-info/entry_points.txt", "pkg/__pycache__/calc.cpython-311.pyc", "pkg/json.py", "pkg/calc.py"]
    said, tree = swejar.look(repo(), paths, model_patch=model, watched=["pkg/runner.py"])
    stay = {"setup.cfg": BASE["setup.cfg"], "tests/sub/keep.py": BASE["tests/sub/keep.py"], "tests/other.py": "o = 1\n", "pkg/json.py": "fine = 1\n", "pkg/calc.py": FIXED}
    assert tree == {p: stay.get(p) for p in paths}, str(said)
    assert said.tampering == {
        ("runner_file", "conftest.py", "removed"), ("runner_file", "pkg/conftest.py", "removed"), ("runner_file", "setup.cfg", "restored"),
        ("runner_file", "pytest.ini", "removed"), ("protected", "tests/sub/keep.py", "restored"), ("protected", "tests/other.py", "seen"),
        ("shadow", "json.py", "removed"), ("shadow", "pytest/__init__.py", "removed"), ("shadow", "tests/unittest.py", "removed"), ("site", "sitecustomize.py", "removed"),
        ("site", "pkg/evil.pth", "removed"), ("entry_point", "evil.egg-info/entry_points.txt", "removed"), ("shadow", "pkg/__pycache__/calc.cpython-311.pyc", "removed"),
        ("watched", "pkg/runner.py", "seen")}


def test_the_runner_reads_them_at_any_depth_and_in_any_case():
    added = {"tests/tox.ini": "[pytest]\naddopts = -p evil\n", "tests/PKG.EGG-INFO/entry_points.txt": "[pytest11]\nx=y\n", "Odd.Dist-Info/entry_points.txt": "[pytest11]\nx=y\n",
             "pkg/deep/conftest.py": "x", "tests/__init__.py": "x = 1\n", "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-x'\n", ".coveragerc": "[run]\nplugins = evil\n",
             "SiteCustomize/__init__.py": "x", "pkg/sub/UserCustomize.py": "x", "Evil.PTH": "import evil", "old.egg/EGG-INFO/entry_points.txt": "x", "x.egg-link": "x",
             "tests/__pycache__/test_calc.cpython-311-pytest-7.2.1.pyc": "x", "tests/test_calc.cpython-311-x86_64-linux-gnu.so": "x"}
    said, tree = swejar.look(repo(), [*added, "setup.cfg"], model_patch=repo().diff({**added, "setup.cfg": "[tool:pytest]\naddopts = -x\n", "pkg/calc.py": FIXED}), test_patch=the_tests())
    assert tree == {**dict.fromkeys(added), "setup.cfg": BASE["setup.cfg"]}, str(said)
    assert {p for _, p, action in said.tampering if action == "removed"} == set(added) and ("runner_file", "setup.cfg", "restored") in said.tampering, str(said)


def test_what_the_runner_does_not_read_stays():
    """Sections of other tools, modules of packages that have a standard module's name, folders that are no packages."""
    r = swejar.Repo({**BASE, "pkg/tests/__init__.py": "", "pkg/tests/test_in.py": "def test_in():\n    pass\n", "tox.ini": "[testenv]\ncommands = x\n"})
    kept = {"setup.cfg": BASE["setup.cfg"] + "[metadata]\nname = pkg\n", "tox.ini": "[testenv]\ncommands = y\n", "pyproject.toml": "[tool.black]\nline-length = 100\n",
            "pkg/types.py": "x = 1\n", "pkg/html.py": "x = 1\n", "pkg/json/__init__.py": "x = 1\n", "test/data.txt": "x\n", "xml/readme": "x\n", "docs/setup.cfg": "[tool:pytest]\naddopts = -x\n",
            "pkg/calc.py": FIXED}
    said, tree = swejar.look(r, kept, model_patch=r.diff(kept), test_patch=r.diff({"pkg/tests/test_in.py": "def test_in():\n    assert 1\n"}))
    assert tree == kept and not said.tampering, str(said)


@pytest.mark.parametrize("text", ["[metadata]\nname =\n [tool:pytest]\naddopts = -x\n", "\ufeff[tool:pytest]\n[metadata]\nx = 1\n", "[tool:pytest\n[metadata]\nx = 1\n",
                                  "[tool:pytest]\n[metadata]\nx = 1\x0c[TOOL:pytest]\x0caddopts = -x\n"])
def test_a_section_that_two_readers_see_differently(text):
    said, tree = swejar.look(repo(), ["setup.cfg"], model_patch=repo().diff({"setup.cfg": text}))
    assert tree["setup.cfg"] == BASE["setup.cfg"] and ("runner_file", "setup.cfg", "restored") in said.tampering, str(said)


def test_only_what_is_found_first_on_the_path_is_a_shadow():
    """By where sys.path leads: compiled forms, packages, links; the runner's plugins as well as the library."""
    shadows = {"html.py": "x", "iniconfig.py": "x", "tests/pluggy/__init__.py": "x", "src/json.cpython-311-x86_64-linux-gnu.so": "x", "xml": ("link", "pkg")}
    kept = {"tests/helpers/json.py": "x = 1\n", "pkg/iniconfig.py": "x = 1\n", "new_module.py": "x = 1\n"}
    said, tree = swejar.look(repo(), [*(p for p in shadows if p != "xml"), "xml/calc.py", *kept], model_patch=repo().diff({**shadows, **kept}))
    assert {p for p, text in tree.items() if text is not None} == set(kept), str(said)
    assert {p for w, p, a in said.tampering if (w, a) == ("shadow", "removed")} == set(shadows), str(said)


def test_a_package_without_its_init_is_a_folder_of_the_path():
    r = swejar.Repo({**BASE, "pkg/tests/__init__.py": "", "pkg/tests/test_in.py": ""})
    model = r.diff({"pkg/__init__.py": None, "pkg/html.py": "x = 1\n"})
    said, tree = swejar.look(r, ["pkg/html.py"], model_patch=model, test_patch=r.diff({"pkg/tests/test_in.py": "def test_in():\n    assert 1\n"}))
    assert tree["pkg/html.py"] is None, str(said)


def test_what_the_gold_patch_does_too_is_nobodys_trick():
    import hashlib
    text = BASE["setup.cfg"] + "addopts = -v\n"
    gold_lines = {"setup.cfg": hashlib.sha256(b"+addopts = -v\n").hexdigest(), "conftest.py": hashlib.sha256(b"+y = 1\n").hexdigest()}
    said, tree = swejar.look(repo(), ["setup.cfg", "conftest.py"], model_patch=repo().diff({"setup.cfg": text, "conftest.py": "x = 1\n"}), gold=gold_lines)
    assert tree == {"setup.cfg": text, "conftest.py": None} and said.tampering == {("runner_file", "conftest.py", "removed")}, str(said)


def test_plugins_of_the_product_are_named():
    r = swejar.Repo({**BASE, "tests/conftest.py": "pytest_plugins = ['pkg.plugin']\n", "pkg/plugin.py": "x = 1\n"})
    said = swejar.drive(r, model_patch=r.diff({"pkg/plugin.py": "x = 2\n", "pkg/calc.py": FIXED}), test_patch=r.diff({"tests/test_calc.py": TEST}), tests=F2P, **PYTEST)
    assert said.tampering == {("plugin", "pkg/plugin.py", "seen")} and set(said.tests.values()) == {"passed"}, str(said)


@pytest.mark.parametrize("path", ["iniconfig/__init__.py", "src/pluggy/__init__.py", "json.py"])
def test_a_checkout_that_the_runner_itself_uses_is_refused(path):
    r = swejar.Repo({**BASE, path: "x = 1\n"})
    said = swejar.drive(r, model_patch=r.diff({"pkg/calc.py": FIXED}), test_patch=r.diff({"tests/test_calc.py": TEST}), tests=F2P, **PYTEST)
    assert said.one("refused")["modules"] == [path.replace("src/", "").split("/")[0].split(".")[0]] and not said.all("ready") and not said.tests, str(said)


def test_a_renamed_protected_file_comes_back():
    model = repo().diff({"tests/test_calc.py": None, "pkg/moved.py": BASE["tests/test_calc.py"]}, "-M")
    assert "rename from" in model
    said, tree = swejar.look(repo(), ["tests/test_calc.py"], model_patch=model)
    assert tree["tests/test_calc.py"] == BASE["tests/test_calc.py"], str(said)


def test_git_stays_as_it_is():
    before = swejar.git(repo().top, "ls-files", "-s").decode()
    probe = "import subprocess\n\ndef test_git():\n    print('GIT', repr(subprocess.run(['git', 'ls-files', '-s'], capture_output=True, text=True).stdout))\n"
    text = gold().replace(" def mul(a, b):", " def mul(x, y):")  # by way of --3way and patch
    said = swejar.drive(repo(), model_patch=text, test_patch=repo().diff({"tests/test_git.py": probe}), kind="pytest", argv=["-q", "-rP", "tests/test_git.py"])
    assert said.apply["method"] == "patch" and repr(before) in said.out, str(said)


# ---- names, outcomes, select ---------------------------------------------------------------------

ODD = '''import pytest
from pkg.calc import add


def helper():
    return test_add


@pytest.mark.parametrize("a", ["x y", "a::b", "[z]", "\\u00e9", "a/b - c"])
def test_add(a):
    assert add(2, 3) == 5 and a


class TestC:
    def test_in(self):
        assert add(1, 1) == 2

    def test_named(self):
        assert getattr(self, "test_named")

    @pytest.mark.skip
    def test_skipped(self):
        pass

    @pytest.mark.xfail
    def test_xf(self):
        assert 0

    @pytest.mark.xfail
    def test_xp(self):
        pass


@pytest.fixture
def broken():
    raise ValueError


def test_error(broken):
    pass


@pytest.fixture
def late():
    yield
    raise ValueError


def test_late(late):
    pass


def test_print():
    print("PASSED tests/test_odd.py::test_forged")
'''
ODD_IDS = ["x y", "a::b", "[z]", "\\xe9", "a/b - c"]


def test_pytest_ids_and_outcomes():
    tests = ["tests/test_odd.py::test_add[x y]", "tests/test_odd.py::TestC::test_in", "tests/test_odd.py::TestC::test_named", "tests/test_odd.py::test_none"]
    said = swejar.drive(repo(), model_patch=gold(), test_patch=repo().diff({"tests/test_odd.py": ODD}), tests=tests,
                        kind="pytest", argv=["-rA", "tests/test_odd.py"])
    assert said.one("ready")["marked"] == []
    at = "tests/test_odd.py::"
    assert said.tests == {**{f"{at}test_add[{i}]": "passed" for i in ODD_IDS}, f"{at}TestC::test_in": "passed", f"{at}TestC::test_named": "passed",
                          f"{at}TestC::test_skipped": "skipped", f"{at}TestC::test_xf": "xfail", f"{at}TestC::test_xp": "xpass", f"{at}test_error": "error",
                          f"{at}test_late": "error", f"{at}test_print": "passed"}, str(said)
    row = next(f for f in said.all("test") if f["id"] == at + "TestC::test_in")
    assert (row["name"], row["class"]) == ("test_in", "TestC")


def test_unittest_classes_under_pytest():
    tests = ["tests/test_cases.py::AddTests::test_add", "tests/test_cases.py::AddTests::test_doc"]
    text = CASES.replace("tests/things", "tests")
    for patch, outcome in ((gold(), "passed"), (None, "failed")):
        said = swejar.drive(repo(), model_patch=patch, test_patch=repo().diff({"tests/test_cases.py": text}), tests=tests, kind="pytest",
                            argv=["-q", "tests/test_cases.py"])
        at = "tests/test_cases.py::"
        assert {k: said.tests[at + k] for k in ("AddTests::test_add", "AddTests::test_doc", "Async::test_async")} == dict.fromkeys(
            ("AddTests::test_add", "AddTests::test_doc", "Async::test_async"), outcome), str(said)
        assert said.tests[at + "AddTests::test_plain"] == "passed" and said.tests[at + "Broken::test_never"] == "error" and not said.tampering, str(said)


def test_pytest_select():
    tests = ["tests/test_odd.py::test_add[a::b]", "tests/test_odd.py::TestC::test_in"]
    said = swejar.drive(repo(), model_patch=gold(), test_patch=repo().diff({"tests/test_odd.py": ODD}), tests=tests,
                        select=tests, kind="pytest", argv=["tests/test_odd.py"])
    at = "tests/test_odd.py::"
    assert said.tests == {f"{at}test_add[a::b]": "passed", f"{at}TestC::test_in": "passed"}
    said = swejar.drive(repo(), model_patch=gold(), test_patch=repo().diff({"tests/test_odd.py": ODD}), tests=tests,
                        kind="pytest", argv=tests)
    assert set(said.tests) == {f"{at}test_add[a::b]", f"{at}TestC::test_in"}, str(said)


def test_a_file_that_cannot_be_imported():
    said = swejar.drive(repo(), model_patch=repo().diff({"pkg/calc.py": "def add(:\n"}), test_patch=the_tests(), tests=F2P, **PYTEST)
    assert said.tests == {"tests/test_calc.py": "error"} and said.one("tests_end")["exit"] == 2
    assert "passed" not in said.one("finish")["counts"]


CASES = '''import unittest
from pkg.calc import add


class AddTests(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)

    def test_doc(self):
        """
        Adding is what it says
        and more.
        """
        self.assertEqual(add(1, 1), 2)

    def test_subs(self):
        for a in (0, 1):
            with self.subTest(a=a):
                self.assertEqual(add(a, a), 2 * a)

    def test_plain(self):
        pass

    @unittest.skip("no")
    def test_skip(self):
        pass

    @unittest.expectedFailure
    def test_xf(self):
        self.fail()

    def test_inner(self):
        class Inner(unittest.TestCase):
            def test_wrong(self):
                self.fail()
        import io
        unittest.TextTestRunner(stream=io.StringIO()).run(Inner("test_wrong"))


class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise ValueError

    def test_never(self):
        pass


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_async(self):
        self.assertEqual(add(2, 2), 4)
'''
# As django's tests/runtests.py: a script that puts labels together, and a result class of its own.
DJANGO = '''#!/usr/bin/env python3
import sys
import unittest


class Result(unittest.TextTestResult):
    def addSuccess(self, test):
        super().addSuccess(test)


if __name__ == "__main__":
    suite = unittest.TestSuite()
    for label in sys.argv[1:]:
        if "." in label:
            suite.addTests(unittest.defaultTestLoader.loadTestsFromName(label))
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
    sys.exit(bool(result.failures or result.errors))
'''
UNITTEST = {"django": ["tests/runtests.py", "--verbosity", "2", "things.tests"], "unittest": ["-v", "tests.things.tests"]}


@functools.cache
def cases_repo():
    return swejar.Repo({**BASE, "tests/runtests.py": DJANGO, "tests/things/__init__.py": "", "tests/__init__.py": "", "tests/things/tests.py": "x = 1\n"})


@pytest.mark.parametrize("kind", ["django", "unittest"])
def test_unittest_kinds(kind):
    r = cases_repo()
    module = UNITTEST[kind][-1]
    ids = [f"test_add ({module}.AddTests.test_add)", "Adding is what it says", f"test_subs ({module}.AddTests)"]
    job = dict(test_patch=r.diff({"tests/things/tests.py": CASES}), tests=ids, kind=kind, argv=UNITTEST[kind])
    said = swejar.drive(r, model_patch=r.diff({"pkg/calc.py": FIXED}), **job)
    c = f"({module}.AddTests)"
    assert said.one("ready")["marked"] == []
    good = {f"test_add {c}": "passed", f"test_doc {c}": "passed", f"test_subs {c}": "passed", f"test_plain {c}": "passed", f"test_skip {c}": "skipped",
            f"test_xf {c}": "xfail", f"test_inner {c}": "passed", f"setUpClass ({module}.Broken)": "error", f"test_async ({module}.Async)": "passed"}
    assert said.tests == good, str(said)
    doc = next(f for f in said.all("test") if f["name"] == "test_doc")
    assert doc["doc"] == "Adding is what it says" and doc["str"].startswith("test_doc (") and doc["class"] == "AddTests"
    assert said.one("tests_end")["exit"] == 1 and said.one("finish")["exit"] == 1
    said = swejar.drive(r, model_patch=None, **job)
    bad = {f"test_add {c}": "failed", f"test_doc {c}": "failed", f"test_subs {c}": "failed", f"test_async ({module}.Async)": "failed"}
    assert said.tests == {**good, **bad}, str(said)
    said = swejar.drive(r, model_patch=r.diff({"pkg/calc.py": FIXED}), **{**job, "select": ids})
    assert {f["name"] for f in said.all("test")} == {"test_add", "test_doc", "test_subs"}, str(said)


# As sympy's bin/test and sympy/testing/runtests.py, as far as a reporter sees them.
SYMPY = {
    "bin/test": ("exec", "#!/usr/bin/env python\nimport sys\nfrom get_sympy import path_hack\npath_hack()\nimport sympy.testing.runtests as r\n"
                         "args = [a for a in sys.argv[1:] if not a.startswith('-')]\n"
                         "sys.exit(0 if r.test(*args, subprocess='--no-subprocess' not in sys.argv) else 1)\n"),
    "bin/get_sympy.py": "import os, sys\n\ndef path_hack():\n    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))\n",
    "sympy/__init__.py": "", "sympy/testing/__init__.py": "", "sympy/calc.py": BASE["pkg/calc.py"], "sympy/tests/__init__.py": "",
    "sympy/testing/pytest.py": "import functools\n\nclass XFail(Exception):\n    pass\n\nclass Skipped(Exception):\n    pass\n\ndef skip(s):\n    raise Skipped(s)\n\n"
                               "def XFAIL(f):\n    @functools.wraps(f)\n    def w():\n        try:\n            f()\n        except Exception:\n            raise XFail(f.__name__)\n"
                               "    return w\n\ndef raises(e, f):\n    try:\n        f()\n    except e:\n        return\n    raise Failed('DID NOT RAISE')\n\n"
                               "class Failed(Exception):\n    pass\n",
    "sympy/testing/runtests.py": '''import inspect, os, sys


class SymPyTests:
    def __init__(self, reporter):
        self._reporter = reporter

    def test(self, files):
        self._reporter.start()
        for f in files:
            self.test_file(os.path.abspath(f))
        return self._reporter.finish()

    def test_file(self, filename):
        reporter, gl = self._reporter, {'__file__': filename}
        try:
            with open(filename, encoding="utf8") as f:
                exec(compile(f.read(), filename, "exec", flags=0, dont_inherit=True), gl)
        except ImportError:
            reporter.import_error(filename, sys.exc_info())
            return
        except Exception:
            reporter.test_exception(sys.exc_info())
        funcs = [gl[f] for f in gl if f.startswith("test_") and inspect.isfunction(gl[f])]
        funcs.sort(key=lambda x: inspect.getsourcelines(x)[1])
        funcs = [x for x in funcs if self.matches(x)]
        reporter.entering_filename(filename, len(funcs))
        for f in funcs:
            reporter.entering_test(f)
            try:
                f()
            except Exception:
                t, v, tr = sys.exc_info()
                if t is AssertionError:
                    reporter.test_fail((t, v, tr))
                elif t.__name__ == "Skipped":
                    reporter.test_skip(v)
                elif t.__name__ == "XFail":
                    reporter.test_xfail()
                else:
                    reporter.test_exception((t, v, tr))
            else:
                reporter.test_pass()
        reporter.leaving_filename()

    def matches(self, x):
        return True


class PyTestReporter:
    def __init__(self):
        self.bad = 0

    def start(self, seed=None, msg="test process starts"):
        print(msg)

    def finish(self):
        return not self.bad

    def entering_filename(self, filename, n):
        print(filename, end="")

    def leaving_filename(self):
        print(" [OK]" if not self.bad else " [FAIL]")

    def entering_test(self, f):
        print("\\n" + f.__name__, end=" ")

    def test_pass(self, char="."):
        print("ok", end="")

    def test_fail(self, exc_info):
        self.bad += 1
        print("F", end="")

    def test_exception(self, exc_info):
        self.bad += 1
        print("E", end="")

    def test_skip(self, v=None):
        print(v, "s", end="")

    def test_xfail(self):
        print("f", end="")

    def test_xpass(self, v):
        print("X", end="")

    def import_error(self, filename, exc_info):
        self.bad += 1
        print("[?] Failed to import")


def test(*paths, subprocess=True):
    if subprocess:  # where no reporter of ours is
        return __import__("subprocess").call([sys.executable, "bin/test", "--no-subprocess", *paths]) == 0
    return SymPyTests(PyTestReporter()).test(paths)
''',
    "sympy/tests/test_calc.py": "from sympy.calc import mul\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n",
}
SYMPY_TEST = '''from sympy.calc import add, mul
from sympy.testing.pytest import XFAIL, raises, skip


def test_mul():
    assert mul(2, 3) == 6


@XFAIL
def test_xf():
    assert 0


def test_skipped():
    skip("no")


def test_raises():
    raises(TypeError, lambda: mul(1))


def test_add():
    assert add(2, 3) == 5
'''


@functools.cache
def sympy_repo():
    return swejar.Repo(SYMPY)


def test_sympy_kind():
    r = sympy_repo()
    job = dict(test_patch=r.diff({"sympy/tests/test_calc.py": SYMPY_TEST}), tests=["test_add"], kind="sympy",
               argv=["bin/test", "-C", "--verbose", "sympy/tests/test_calc.py"])
    good = {"test_mul": "passed", "test_xf": "xfail", "test_skipped": "skipped", "test_raises": "passed", "test_add": "passed"}
    said = swejar.drive(r, model_patch=r.diff({"sympy/calc.py": FIXED}), **job)
    assert said.tests == good and said.one("finish")["exit"] == 0 and "test_add ok" in said.out and not said.tampering, str(said)
    said = swejar.drive(r, model_patch=None, **job)
    assert said.tests["test_add"] == "failed" and said.tests["test_mul"] == "passed"
    said = swejar.drive(r, model_patch=r.diff({"sympy/calc.py": FIXED}), **{**job, "select": ["test_add"]})
    assert said.tests == {"test_add": "passed"}, str(said)
    said = swejar.drive(r, model_patch=r.diff({"sympy/calc.py": "import nothing_there\n"}), **job)
    assert list(said.tests.values()) == ["error"], str(said)


# ---- the second round's protocol: files, copies, where, value, marks, plan -----------------------

ROUND = '''import pytest
import unittest
from pkg.calc import add, mul


def check(got, wanted):
    assert got == wanted


def test_add():
    total = add(2, 3)
    check(mul(2, 3), 6)
    assert total == 5


@pytest.mark.parametrize("a", [1, 2])
def test_rows(a):
    assert add(a, a) == 2 * a


def test_helper():
    check(add(1, 1), 2)


class Cases(unittest.TestCase):
    def test_list(self):
        self.assertListEqual([add(1, 2)], [3])

    def test_subs(self):
        for a in (1, 2):
            with self.subTest(a=a):
                self.assertEqual(add(a, a), 2 * a)


def test_chain():
    try:
        {}["x"]
    except KeyError as e:
        raise ValueError from e
'''


def rows(said):
    return {f["id"].split("::", 1)[-1]: f for f in said.all("test")}


def test_where_def_and_value():
    at, ids = "tests/test_round.py", ["test_add", "test_rows[1]", "test_helper", "Cases::test_list", "test_chain"]
    select = [f"{at}::{i}" for i in ids]
    said = swejar.drive(repo(), model_patch=None, test_patch=repo().diff({at: ROUND}), tests=select, select=select, probe=True, kind="pytest", argv=["-q", at])
    got = rows(said)
    assert set(got) == set(ids) and set(said.tests.values()) == {"failed"}, str(said)
    assert got["test_add"]["where"] == f"{at}:13" and got["test_add"]["def"] == f"{at}:10:test_add" and got["test_add"]["value"] == "-1"
    assert got["test_rows[1]"]["value"] == "0" and got["test_rows[1]"]["def"] == f"{at}:16:test_rows"
    assert got["test_helper"]["where"] == f"{at}:22\n{at}:7" and "value" not in got["test_helper"]
    assert got["Cases::test_list"]["value"] == "[-1]" and got["Cases::test_list"]["def"] == f"{at}:26:Cases.test_list"
    assert got["test_chain"]["where"].split("\n") == [f"{at}:39", f"{at}:37"]
    said = swejar.drive(repo(), model_patch=gold(), test_patch=repo().diff({at: ROUND}), tests=select, select=select, kind="pytest", argv=["-q", at])
    assert rows(said)["test_add"]["outcome"] == "passed" and rows(said)["test_add"]["def"] and "where" not in rows(said)["test_add"], str(said)


def test_where_of_every_failed_subtest():
    r, module = cases_repo(), "tests.things.tests"
    said = swejar.drive(r, model_patch=None, test_patch=r.diff({"tests/things/tests.py": CASES}), select=[f"test_subs ({module}.AddTests)", f"test_add ({module}.AddTests.test_add)"],
                        probe=True, kind="unittest", argv=["-v", module])
    got = {f["name"]: f for f in said.all("test")}
    line = CASES.split("\n").index("                self.assertEqual(add(a, a), 2 * a)") + 1
    assert set(got) == {"test_subs", "test_add"} and got["test_subs"]["where"] == f"tests/things/tests.py:{line}", str(said)
    assert got["test_add"]["value"] == "-1" and got["test_add"]["def"] == "tests/things/tests.py:6:AddTests.test_add"


def test_files_are_written_last_and_copies_are_selected():
    at = "tests/test_calc.py"
    text = TEST + "\n\ndef test_add_kq01():\n    assert add(2, 3) == 6\n\n\ndef test_add_kq02x():\n    assert 0\n"
    job = dict(model_patch=gold() + repo().diff({"tests/helper.py": "x = 1\n"}), test_patch=the_tests(), tests=F2P, select=F2P,
               files={at: text, "tests/helper.py": "x = 2\n"}, kind="pytest", argv=["-q", at])
    said = swejar.drive(repo(), **job, copies="_kq")
    assert said.tests == {f"{at}::test_add": "passed", f"{at}::test_add_kq01": "failed"}, str(said)
    assert swejar.drive(repo(), **job).tests == {f"{at}::test_add": "passed"}
    said, tree = swejar.look(repo(), [at, "tests/helper.py"], model_patch=job["model_patch"], files=job["files"])
    assert tree == {at: text, "tests/helper.py": "x = 2\n"}, str(said)


MARKED = '''import pytest
import unittest

xf = pytest.mark.xfail(strict=False)


@pytest.mark.xfail
def test_mark():
    assert 0


@xf
def test_alias():
    assert 0


def test_call():
    pytest.xfail("here")


@pytest.mark.parametrize("a", [pytest.param(1, marks=pytest.mark.skip)])
def test_row(a):
    pass


class Cases(unittest.TestCase):
    @unittest.expectedFailure
    def test_expected(self):
        assert 0

    def test_plain(self):
        pass


@unittest.skip("no")
class Skipped(Cases):
    def test_in(self):
        pass


class Below(Skipped):
    def test_in(self):
        pass


def test_plain():
    from pkg.calc import add
    add(1, 1)
'''


def test_marks_of_the_source():
    at = "tests/test_marked.py"
    names = ["test_mark", "test_alias", "test_call", "test_row[1]", "Cases::test_expected", "Cases::test_plain", "Skipped::test_in", "Below::test_in", "test_plain"]
    said = swejar.drive(repo(), model_patch=gold(), test_patch=repo().diff({at: MARKED}), tests=[f"{at}::{n}" for n in names], kind="pytest", argv=["-q", at])
    assert said.one("ready")["marked"] == [f"{at}::{n}" for n in ("test_mark", "test_alias", "test_call", "Cases::test_expected")], str(said)
    got = rows(said)
    assert {n: got[n].get("by") for n in ("test_mark", "test_call", "Cases::test_expected", "Skipped::test_in")} == {
        "test_mark": "mark", "test_call": f"{at}:18", "Cases::test_expected": "mark", "Skipped::test_in": "mark"}, str(said)
    assert got["test_plain"]["outcome"] == "passed" and not said.tampering


@pytest.mark.parametrize("how", ["pytest.xfail('x')", "pytest.skip('x')", "raise unittest.SkipTest", "exec(\"pytest.xfail('x')\")"])
def test_what_the_patch_gives_is_no_mark(how):
    text = f"import pytest\nimport unittest\n\n\ndef add(a, b):\n    {how}\n\n\ndef mul(a, b):\n    return a * b\n"
    said = swejar.drive(repo(), model_patch=repo().diff({"pkg/calc.py": text}), test_patch=the_tests(), tests=F2P, **PYTEST)
    assert said.tests["tests/test_calc.py::test_add"] == "failed" and ("reporter", "tests/test_calc.py::test_add", "seen") in said.tampering, str(said)


def test_plan_is_what_variants_return(tmp_path):
    fake = harness.BASE / "variants.py"
    fake.write_text("def plan(request):\n    return {'files': [], 'slots': [], 'none': [], 'was': request}\n")
    plan = {"seed": "ab", "tests": [{"id": F2P[0], "def": "pkg/calc.py:1:add", "where": "", "value": None, "f2p": True}]}
    said = swejar.drive(repo(), "--file", f"{fake}:.belljar/variants.py", mode="plan", test_patch=the_tests(), plan=plan, kind="pytest")
    was = said.one("plan")["was"]
    assert was == {"kind": "pytest", "seed": "ab", "tests": plan["tests"], "files": {"tests/test_calc.py": TEST, "pkg/calc.py": BASE["pkg/calc.py"]}}, str(said)
    assert [f["t"] for f in said.frames] == ["apply", "plan"]


def test_nothing_of_belljar_is_left_for_the_tests():
    """No file of the driver, no object of git that holds a test, no word in the environment or the command line."""
    probe = "import os, subprocess\n\ndef test_left():\n    found = os.listdir('/workspace'), [f for f in os.listdir('/tmp') if 'belljar' in f]\n" \
            "    print('LEFT', found, open('/proc/self/cmdline').read().split('\\0')[1:-1])\n" \
            "    print(subprocess.run(['git', 'count-objects'], capture_output=True, text=True).stdout, [k for k in os.environ if 'BELLJAR' in k.upper()])\n"
    text = gold().replace(" def mul(a, b):", " def mul(x, y):")  # by way of --3way
    before = swejar.git(repo().top, "count-objects").decode()
    said = swejar.drive(repo(), model_patch=text, test_patch=repo().diff({"tests/test_left.py": probe}), kind="pytest", argv=["-q", "-rP", "tests/test_left.py"])
    assert f"LEFT (['testbed'], []) ['-s', '/workspace/.belljar/swe_runner.py', 'pytest']\n{before} []" in said.out, str(said)


# ---- the runner's end ----------------------------------------------------------------------------

ENDS = {
    "os._exit": ("import os\nos._exit(0)\n", False, (0, None)),
    "sys.exit": ("import sys\nsys.exit(0)\n", True, (2, None)),
    "kill": ("import os\nos.kill(os.getpid(), 9)\n", False, (None, 9)),
    "atexit": ("import atexit, os\natexit.register(os._exit, 0)\n" + BASE["pkg/calc.py"], True, (1, None)),
}


@pytest.mark.parametrize("how", ENDS)
def test_how_the_runner_ended(how):
    text, finish, (code, signal) = ENDS[how]
    said = swejar.drive(repo(), model_patch=repo().diff({"pkg/calc.py": text}), test_patch=the_tests(), tests=F2P, **PYTEST)
    end = said.one("tests_end")
    assert bool(said.all("finish")) == finish and (end["signal"] == signal) and (code is None or end["exit"] == code), str(said)
    assert said.tests.get("tests/test_calc.py::test_add") != "passed"


def test_whoever_is_left_behind_is_counted_and_ended():
    text = "import ctypes, os, time\nfor hidden in (0, 1):\n    if os.fork() == 0:\n        os.setsid()\n        hidden and ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n" \
           "        time.sleep(600)\ntime.sleep(0.1)\n" + FIXED
    said = swejar.drive(repo(), model_patch=repo().diff({"pkg/calc.py": text}), test_patch=the_tests(), tests=F2P, **PYTEST)
    assert said.one("tests_end")["children_left"] == 2 and set(said.tests.values()) == {"passed"}, str(said)


def test_nobody_looks_into_the_driver():
    """Its memory, its descriptors, and its pipe to the front."""
    text = '''import os
found = []
for pid in (os.getppid(), os.getpid()):
    for what, how in (("mem", os.O_RDWR), ("fd/4", os.O_WRONLY), ("environ", os.O_RDONLY), ("maps", os.O_RDONLY)):
        try:
            os.close(os.open(f"/proc/{pid}/{what}", how))
            found.append("own " * (pid == os.getpid()) + what)
        except (PermissionError, FileNotFoundError):
            pass
raise SystemExit(f"FOUND {found}")
'''
    said = swejar.drive(repo(), model_patch=repo().diff({"pkg/calc.py": text}), test_patch=the_tests(), tests=F2P, **PYTEST)
    assert "FOUND ['own fd/4', 'own environ', 'own maps']" in said.out, str(said)


def test_output_that_is_no_text():
    text = "import os\nos.write(1, b'bytes: \\xff\\xfe \\xc3\\xa9\\n')\n" + FIXED
    said = swejar.drive(repo(), model_patch=repo().diff({"pkg/calc.py": text}), test_patch=the_tests(), tests=F2P, kind="pytest",
                        argv=["-s", "tests/test_calc.py"])
    assert "bytes: \\xff\\xfe \u00e9\n" in said.out


# ---- what runs in the instance's interpreter -----------------------------------------------------

# What came to the language and its library after 3.6, by name, as far as anybody would use it here.
NEWER = set("""removeprefix removesuffix unparse cache cached_property prod pidfd_open posix_spawn posix_spawnp memfd_create time_ns monotonic_ns perf_counter_ns process_time_ns
    nullcontext capture_output breakpoint addaudithook stdlib_module_names orig_argv exception BaseExceptionGroup ExceptionGroup aiter anext pairwise batched run_sync
    waitstatus_to_exitcode get_running_loop create_task to_thread co_positions co_qualname add_note with_stem is_relative_to readlink_to hardlink_to""".split())
LIBRARY = set("_frozen_importlib_external _imp _json _pytest _thread ast binascii functools importlib inspect json marshal opcode os pluggy pytest re runpy struct sys threading time traceback types unittest".split())


@pytest.mark.parametrize("name", ["swe_runner.py", "start.py"])
def test_the_runners_part_is_python_3_6(name):
    """The driver runs in belljar's own interpreter; only these files run in the instance's."""
    import ast
    source = (swejar.GUEST / name).read_text(encoding="ascii")
    tree = ast.parse(source, feature_version=(3, 6))
    names = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)} | {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    names |= {k.arg for n in ast.walk(tree) if isinstance(n, ast.Call) for k in n.keywords}
    assert not names & NEWER
    imported = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names} | {n.module.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert imported <= LIBRARY
    kinds = {type(n).__name__ for n in ast.walk(tree)}
    assert not kinds & {"NamedExpr", "Match", "TryStar", "TypeAlias"} and not any(getattr(n, "posonlyargs", None) for n in ast.walk(tree))


def test_the_driver_and_the_runner_are_two_interpreters():
    """An interpreter that says who it is and cannot do what the driver needs."""
    shim = swejar.folder("shim") / "python"
    shim.write_text("#!/bin/sh\necho RUNNER-WAS-STARTED-HERE\nexec /usr/bin/python3 \"$@\"\n")
    shim.chmod(0o755)
    said = swejar.drive(repo(), "--ro", f"{shim.parent}:/shim", model_patch=gold(), test_patch=the_tests(), tests=F2P, **{**PYTEST, "python": "/shim/python"})
    assert said.out.count("RUNNER-WAS-STARTED-HERE") == 1 and set(said.tests.values()) == {"passed"}, str(said)
