# SPDX-License-Identifier: Apache-2.0
"""libbelljar: results, threads, a child that dies, large results, an end in the middle; what is installed compiles and links."""
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from harness import BASE, BELLJAR, REPO, TEST_USER, as_user, environment, need_program, seconds

HERE = Path(__file__).parent
CC = ["cc", "-std=gnu17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{REPO}/include"]
LIBRARY = REPO / "lib" / "belljar.c"


@pytest.fixture(scope="module")
def folder():
    need_program("/usr/bin/cc", "gcc")
    top = Path(tempfile.mkdtemp(dir=BASE))
    top.chmod(0o755)
    yield top
    shutil.rmtree(top)


@pytest.fixture(scope="module")
def probe(folder):
    """The caller, with the library built into it."""
    return compiled(folder, "probe", HERE / "library_probe.c", LIBRARY, "-pthread")


def compiled(folder, name, *words):
    c = subprocess.run([*CC, "-D_GNU_SOURCE", *map(str, words), "-o", str(folder / name)], capture_output=True, text=True)
    assert c.returncode == 0, c.stderr
    (folder / name).chmod(0o755)
    return folder / name


def call(program, *words, env=None, timeout=60):
    more = {"BELLJAR": str(BELLJAR), **(env or {})}
    return subprocess.run([*as_user(TEST_USER), str(program), *words], env=environment(TEST_USER, more), capture_output=True, text=True, timeout=seconds(timeout), cwd="/")


def said(program, *words, **kw):
    c = call(program, *words, **kw)
    assert c.returncode == 0, (c.returncode, c.stdout[-800:], c.stderr[-800:])
    return c.stdout.splitlines()


def test_requests_and_results(probe):
    ok, multi, bad, not_json = map(json.loads, said(probe, "run", '{"code": "print(6*7)"}', '{"id":\n"a",\r\n"code": "exit(3)"}', '{"cod": 1}', "[not json"))
    assert ok["stdout"] == "42\n" and ok["success"]
    assert multi["id"] == "a" and multi["exit_code"] == 3
    assert bad["status"] == "error" and "'cod'" in bad["error"] and not_json["status"] == "error"


def test_function_tests(probe):
    passed = json.loads(said(probe, "test", ' {"code": "def f(x): return x"} ', '{"func": "f", "cases": [{"args": [7], "expected": 7}]}')[0])
    assert passed["all_passed"] and passed["total"] == 1
    empty = json.loads(said(probe, "test", "{ }", '{"func": "f", "cases": []}')[0])
    assert empty["status"] == "error" and "nothing to run" in empty["error"]
    assert "must be an object" in said(probe, "test", "[]", "{}")[0]


def test_other_commands(probe, folder):
    """All that the command line can do: swebench, audit, check."""
    log, data = folder / "log", folder / "instances.jsonl"
    log.write_text("PASSED t.py::test_a\nFAILED t.py::test_b - x\n")
    data.write_text(json.dumps({"instance_id": "a__b-1", "repo": "a/b", "base_commit": "HEAD", "FAIL_TO_PASS": ["t.py::test_a"], "PASS_TO_PASS": ["t.py::test_b"]}) + "\n")
    log.chmod(0o644), data.chmod(0o644)
    head, *rest = said(probe, "command", "swebench", "grade", "--instances", str(data), "--id", "a__b-1", "--log", str(log), "--json")
    assert head.startswith("status 1 ") and head.endswith("whole"), head
    report = json.loads("\n".join(rest))["a__b-1"]
    assert not report["resolved"] and report["fail_to_pass"] == {"t.py::test_a": True} and report["pass_to_pass"] == {"t.py::test_b": False}
    line, = said(probe, "command", "swebench", "grade", "--id", "x")
    assert line.startswith("error belljar ended with status 2: ") and "--log" in line, line
    assert said(probe, "command", "languages", "--json")[0].startswith("status 0 ")
    assert said(probe, "command", "run", env={"BELLJAR": "/nonexistent"})[0].startswith("error start /nonexistent")


def test_two_hundred_at_once(probe):
    assert said(probe, "threads") == ["good 200 of 200", "children none"]


def test_two_hundred_at_once_under_the_thread_sanitizer(folder):
    c = subprocess.run([*CC, "-D_GNU_SOURCE", "-fsanitize=thread", str(HERE / "library_probe.c"), str(LIBRARY), "-pthread", "-o", str(folder / "tsan")],
                       capture_output=True, text=True)
    if c.returncode:
        pytest.skip("no thread sanitizer")
    (folder / "tsan").chmod(0o755)
    found = call(folder / "tsan", "threads", env={"TSAN_OPTIONS": "exitcode=66"})
    if "unexpected memory mapping" in found.stderr:
        pytest.skip("the thread sanitizer does not work on this kernel")
    assert found.returncode == 0 and "good 200 of 200" in found.stdout, found.stderr[-1500:]


def test_no_memory_is_lost_or_misused(folder):
    program = compiled(folder, "asan", HERE / "library_probe.c", LIBRARY, "-pthread", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    for mode in ("tickets", "close", "killed"):
        c = call(program, mode)
        assert c.returncode == 0 and "Sanitizer" not in c.stderr, (mode, c.stdout, c.stderr[-1500:])


def test_tickets(probe):
    again, counts, empty = said(probe, "tickets")
    assert again.startswith("again -1: nobody has ticket") and counts == "waited 20 next 20 end 0" and empty == "empty -1: a request is empty"


def test_a_huge_result(probe):
    code = "import sys; sys.stdout.write('é' * (15 << 20))"
    r = json.loads(said(probe, "run", json.dumps({"code": code, "limits": {"output_bytes": 60 << 20, "log_bytes": 62 << 20}}), '{"code": "print(1)"}')[0])
    assert r["success"] and len(r["stdout"]) == 15 << 20


def test_a_child_that_is_killed(probe):
    wait, next_, submit, left = said(probe, "killed")
    for line, word in ((wait, "wait"), (next_, "next"), (submit, "submit")):
        assert line == f"{word} -1: belljar has ended (signal 9)"
    assert left == "children none"


def test_a_child_that_is_no_belljar(probe, folder):
    for program, words in (("/bin/false", "belljar has ended (exit status 1)"), ("/bin/true", "belljar has ended (exit status 0)"), ("/bin/echo", "no result of a request")):
        text, left = said(probe, "program", program)
        assert words in text and left == "children none", text
    c = call(probe, "program", str(folder / "missing"))
    assert c.returncode == 1 and "open: start" in c.stdout and "No such file" in c.stdout
    # What it said on standard error is in the error.
    words = folder / "words"
    words.write_text("#!/bin/sh\necho 'error: no keeper today' >&2\nexit 125\n")
    words.chmod(0o755)
    assert said(probe, "program", str(words))[0] == "belljar has ended (exit status 125): error: no keeper today"


def test_close_with_requests_in_flight(probe):
    assert said(probe, "close") == ["ours looked at", "children none", "descriptors as before", "children none"]


def test_a_caller_with_odd_descriptors_and_signals(probe):
    r = json.loads(said(probe, "odd")[0])
    assert r["stdout"] == "y\n" and r["exit_code"] == 0


def test_path_is_searched(probe, folder):
    c = call(probe, "run", '{"argv": ["/bin/echo", "x"]}', env={"BELLJAR": "", "PATH": f"{Path(BELLJAR).parent}:/usr/bin:/bin"})
    assert json.loads(c.stdout)["stdout"] == "x\n"
    c = call(probe, "run", "{}", env={"BELLJAR": "", "PATH": str(folder)})
    assert c.returncode == 1 and "start belljar" in c.stdout


def test_what_is_installed_compiles_and_links(folder):
    """The example as its first line says, against `make install`'s files, shared and static; and nothing but libc behind it."""
    need_program("/usr/bin/meson", "meson")
    build, root = REPO / "build", folder / "root"
    if not (build / "build.ninja").exists() or shutil.which("pkg-config") is None:
        pytest.skip("no build folder, or no pkg-config")
    c = subprocess.run(["meson", "install", "-C", str(build), "--no-rebuild", "--destdir", str(root)], capture_output=True, text=True)
    assert c.returncode == 0, c.stderr[-800:]
    pc = next(root.rglob("belljar.pc"))
    lib, env = pc.parent.parent, {**os.environ, "PKG_CONFIG_PATH": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(root)}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "belljar"], env=env, capture_output=True, text=True, check=True).stdout.split()
    example = [str(REPO / "examples" / "run.c")]
    for name, words in (("shared", [*flags, f"-Wl,-rpath,{lib}"]), ("static", [*flags[:1], str(lib / "libbelljar.a"), "-pthread"])):
        c = subprocess.run(["cc", "-Wall", "-Werror", *example, *words, "-o", str(folder / name)], capture_output=True, text=True)
        assert c.returncode == 0, c.stderr
        (folder / name).chmod(0o755)
        first, second = map(json.loads, said(folder / name))
        assert first["stdout"] == "42\n" and second["all_passed"]
    needed = subprocess.run(["readelf", "-d", str(lib / "libbelljar.so")], capture_output=True, text=True, check=True).stdout
    assert [line.split("[")[1].rstrip("]") for line in needed.splitlines() if "NEEDED" in line and "ld-linux" not in line] == ["libc.so.6"]
    names = subprocess.run(["nm", "-D", "--defined-only", str(lib / "libbelljar.so")], capture_output=True, text=True, check=True).stdout
    assert all(line.split()[-1].startswith("belljar_") for line in names.splitlines())
