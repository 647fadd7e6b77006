# SPDX-License-Identifier: Apache-2.0
"""The result object of DESIGN.md section 5: every field, its type, and what always holds."""
import functools

import pytest
from harness import SLOW, jar, ms, need_language, run

NUMBER, TEXT, OPTIONAL_TEXT = (int, float), (str,), (str, type(None))
FIELDS = {
    "execution_id": TEXT, "id": OPTIONAL_TEXT, "client": OPTIONAL_TEXT, "command": (list,), "status": TEXT, "reason": TEXT,
    "success": (bool,), "timed_out": (bool,), "exit_code": (int, type(None)), "signal": (int, type(None)), "stdout": TEXT,
    "stderr": TEXT, "stdout_bytes": (int,), "stderr_bytes": (int,), "truncated": (bool,), "log": (dict, str, type(None)),
    "elapsed_s": NUMBER, "cpu_s": NUMBER, "max_memory_mb": NUMBER, "pids_peak": (int,), "oom_kills": (int,),
    "limits_hit": (list,), "denied": (list,), "start": TEXT, "error": OPTIONAL_TEXT, "hint": OPTIONAL_TEXT,
    "evidence": (dict,), "isolation": (dict, type(None)), "violations": (list,), "files": (list,),
}
STATUSES = {"created", "running", "completed", "timeout", "error", "killed"}
REASONS = {"completed": {"exited", "signal"}, "timeout": {"wall_time", "cpu_time"},
           "killed": {"memory", "output", "syscall", "cancelled", "pids"},
           "error": {"policy", "syntax", "busy", "setup", "internal"}}
ISOLATION = {"mode": TEXT, "namespaces": (list,), "host_uid": (int,), "cgroup": TEXT, "seccomp": TEXT, "landlock_abi": (int,),
             "no_new_privs": (bool,), "network": TEXT, "programs": (list, type(None)),
             "missing": (list,)}
EVIDENCE = {"ended_by": TEXT, "wait_code": TEXT, "wait_status": (int,), "oom_kills": (int,), "memory_peak_bytes": (int,),
            "cpu_ns": (int,), "pids_peak": (int,), "disk_full": (bool,), "memory_source": TEXT, "cpu_source": TEXT}

RUNS = {
    "success": ["-c", "print(1)"],
    "exit code": ["-c", "raise SystemExit(3)"],
    "signal": ["-c", "import os; os.abort()"],
    "timeout": ["-t", ms(300), "--", "sleep", "30"],
    "cpu": ["--cpu-time", "200ms", "-c", "while 1: pass"],
    "memory": ["-m", "64M", "-c", "x = bytearray(300<<20)"],
    "output": ["--output-log", "1K", "--", "yes"],
    "syscall": ["-c", "import ctypes; ctypes.CDLL(None).syscall(169, 0xfee1dead, 672274793, 0x01234567, 0)"],
    "compile error": ["--lang", "c", "-c", "int main("],
    "compiled": ["--lang", "c", "-c", "int main(void){return 0;}"],
    "not found": ["--", "/no/such/program"],
    "not executable": ["--", "/etc/hosts"],
    "missing file": ["/no/such/file.py"],
    "bad option value": ["--hostname", "ä", "--", "true"],
    "denied": ["--net", "host", "--", "true"],
    "no workdir": ["--workdir", "/nope", "--", "true"],
    "files": ["--get", "*", "--", "touch", "a", "b"],
}


@functools.cache
def result(name):
    if name.startswith("compile"):
        need_language("c")
    return jar(*RUNS[name])


def check(fields, o):
    for name, types in fields.items():
        assert name in o, f"{name} is missing"
        assert isinstance(o[name], types), f"{name}: {o[name]!r}"
        if bool not in types:
            assert not isinstance(o[name], bool), f"{name}: {o[name]!r}"


@pytest.mark.parametrize("name", RUNS)
def test_every_field_has_its_type(name):
    r = result(name).result
    check(FIELDS, r)
    if r["isolation"] is not None:
        check(ISOLATION, r["isolation"])
    if r["evidence"]:
        check(EVIDENCE, r["evidence"])
    if "compile" in r:
        check({k: FIELDS[k] for k in ("status", "reason", "success", "exit_code", "command", "stdout", "stderr", "elapsed_s", "cpu_s",
                                      "limits_hit", "evidence")}, r["compile"])
    for f in r["files"]:
        check({"path": TEXT, "size": (int,), "sha256": OPTIONAL_TEXT, "mode": TEXT}, f)
    assert all(isinstance(w, str) for w in r["command"])


@pytest.mark.parametrize("name", RUNS)
def test_what_always_holds(name):
    c = result(name)
    r = c.result
    assert r["status"] in STATUSES and r["reason"] in REASONS[r["status"]]
    assert r["success"] == (r["status"] == "completed" and r["exit_code"] == 0)
    assert r["timed_out"] == (r["status"] == "timeout")
    assert (r["exit_code"] is not None) == (r["reason"] == "exited")
    assert r["execution_id"].startswith("exec-") and len(r["execution_id"]) >= 13
    assert r["elapsed_s"] >= 0 and r["cpu_s"] >= 0 and r["max_memory_mb"] >= 0
    assert set(r["limits_hit"]) <= {"wall_time", "cpu_time", "memory", "pids", "disk", "output"}
    assert r["start"] in ("warm", "cold")
    if r["status"] in ("timeout", "killed", "error"):
        assert r["error"] and "\n" not in r["error"]
    if r["status"] in ("timeout", "killed"):
        assert r["hint"] and r["evidence"]["ended_by"]
    if r["status"] in ("completed", "timeout", "killed"):
        assert r["isolation"] and r["evidence"] and r["elapsed_s"] > 0
    if r["reason"] == "signal":
        assert r["signal"] and c.rc == 128 + r["signal"]
    if r["reason"] == "exited":
        assert c.rc == r["exit_code"] and r["signal"] is None
    if r["success"]:
        assert r["error"] is None


@pytest.mark.parametrize("name", RUNS)
def test_stdout_is_the_object_and_nothing_else(name):
    c = result(name)
    assert c.out.startswith(b"{\n") and c.out.endswith(b"}\n")
    assert c.err == b""


@pytest.mark.parametrize("name,status,reason,rc", [
    ("success", "completed", "exited", 0), ("exit code", "completed", "exited", 3), ("signal", "completed", "signal", 134),
    ("timeout", "timeout", "wall_time", 124), ("compile error", "error", "syntax", 125), ("compiled", "completed", "exited", 0),
    ("output", "killed", "output", 137), ("syscall", "killed", "syscall", 159), ("not found", "error", "setup", 127),
    ("not executable", "error", "setup", 126), ("missing file", "error", "setup", 125), ("bad option value", "error", "setup", 2),
    ("denied", "error", "policy", 125), ("no workdir", "error", "setup", 125),
])
def test_status_reason_and_exit_status(name, status, reason, rc):
    c = result(name)
    assert (c["status"], c["reason"], c.rc) == (status, reason, rc), str(c)


def test_usage_errors_with_json_are_objects_too():
    """A wrong option is found before or after --json: what reads the object must get one."""
    for argv in (["--json", "--memory", "-5", "--", "true"], ["--memory", "-5", "--json", "--", "true"], ["--json", "--bogus", "--", "true"],
                 ["--json"]):
        c = run("run", *argv)
        assert c.rc == 2 and c.result is not None and c["status"] == "error" and c["error"], str(c)


def test_numbers_are_plausible():
    c = jar("-c", "import time\nx = bytearray(60<<20)\nt=time.process_time()\nwhile time.process_time()-t < .3: pass\ntime.sleep(.2)")
    assert 0.5 <= c["elapsed_s"] < 30 * SLOW
    assert 0.3 <= c["cpu_s"] < c["elapsed_s"] + 0.3
    assert 60 <= c["max_memory_mb"] < 200
    assert c["elapsed_s"] < c.wall
