# SPDX-License-Identifier: Apache-2.0
"""--request: the whole request as one object, from a file or stdin, with the same result as flags."""
import base64
import json

import pytest
from harness import ms, run


def request(obj, *args, **kw):
    c = run("run", "--json", *args, "--request", "-", input=json.dumps(obj).encode(), **kw)
    assert c.result is not None, str(c)
    return c


def test_code():
    assert request({"code": "print(6*7)"}).ok()["stdout"] == "42\n"


def test_language_and_args():
    assert request({"language": "bash", "code": "echo $1 $2", "args": ["a", "b c"]}).ok()["stdout"] == "a b c\n"


def test_argv():
    assert request({"argv": ["echo", "x y"]}).ok()["stdout"] == "x y\n"


def test_from_a_file(put):
    assert run("run", "--json", "--request", put("r.json", json.dumps({"code": "print(1)"}))).ok()["stdout"] == "1\n"


def test_code_with_nul_and_unicode():
    c = request({"code": "print('ü€😀')\n# \0"})
    assert c["stdout"] == "ü€😀\n" or "null bytes" in c["stderr"]
    assert request({"argv": ["cat"], "stdin": "a\0b"}).ok()["stdout"] == "a\0b"


def test_every_field(put):
    src = put("source.txt", "from source")
    c = request({
        "id": "i1", "client": "c1", "language": "python", "network": "none", "hostname": "reqhost", "uid": 77, "no_write": False, "workdir": "/workspace/sub",
        "code": "import os, sys, socket, resource\nprint(sys.argv[1:], os.environ['K'], sys.stdin.read(), os.getcwd(), socket.gethostname(), os.getuid())\n"
                "for f in ('a.txt', 'b.bin', 'c.txt'): print(open('/workspace/sub/' + f, 'rb').read())\n"
                "print(oct(os.stat('a.txt').st_mode & 0o777), resource.getrlimit(resource.RLIMIT_NOFILE)[0])\nopen('out.txt', 'w').write('result')",
        "args": ["x", "y z"], "env": {"K": "v=w"}, "stdin": "input ü",
        "files": [{"path": "sub/a.txt", "content": "text ü", "mode": 0o600}, {"path": "sub/b.bin", "base64": base64.b64encode(bytes(range(5))).decode()},
                  {"path": "/workspace/sub/c.txt", "source": str(src)}],
        "get": ["sub/out.txt"],
        "limits": {"wall_ms": 60000, "cpu_ms": 30000, "memory_bytes": 256 << 20, "cpus": 0.9, "disk_bytes": 10 << 20, "pids": 32, "nofile": 200, "output_bytes": 4096, "log_bytes": 1 << 20},
    }).ok()
    assert c["stdout"] == ("['x', 'y z'] v=w input ü /workspace/sub reqhost 77\n" + f"{'text ü'.encode()!r}\n{bytes(range(5))!r}\nb'from source'\n" + "0o600 200\n")
    assert (c["id"], c["client"]) == ("i1", "c1") and [f["path"] for f in c["files"]] == ["sub/out.txt"]


@pytest.mark.parametrize("limits,args,expected", [
    ({"wall_ms": 400}, {"argv": ["sleep", "60"]}, "timeout/wall_time"), ({"cpu_ms": 200}, {"code": "while 1: pass"}, "timeout/cpu_time"),
    ({"log_bytes": 2048}, {"argv": ["yes"]}, "killed/output"), ({"disk_bytes": 1 << 20}, {"argv": ["dd", "if=/dev/zero", "of=x", "bs=1M", "count=5"]}, "completed/exited"),
])
def test_limits_are_in_force(limits, args, expected):
    if "wall_ms" in limits:
        limits = {"wall_ms": int(ms(400)[:-2])}
    assert request({**args, "limits": limits}).verdict == expected


def same(a, b):
    volatile = {"execution_id", "elapsed_s", "cpu_s", "max_memory_mb", "evidence", "isolation", "pids_peak", "receipt"}
    return {k: v for k, v in a.result.items() if k not in volatile} == {k: v for k, v in b.result.items() if k not in volatile}


def test_same_result_as_flags(put):
    f = put("data", "abc")
    by_flags = run("run", "--json", "--lang", "python", "-c", "print(open('data').read()); open('o', 'w').write('x'); raise SystemExit(5)", "--file", f, "--env", "A=1", "--get", "o",
                   "--id", "z", "--arg", "q")
    by_request = request({"language": "python", "code": "print(open('data').read()); open('o', 'w').write('x'); raise SystemExit(5)", "files": [{"path": "data", "source": str(f)}],
                          "env": {"A": "1"}, "get": ["o"], "id": "z", "args": ["q"]})
    assert same(by_flags, by_request) and by_flags.rc == by_request.rc == 5, (by_flags.result, by_request.result)


def test_flags_and_request_together():
    """What the request does not say comes from the command line: here the name of the run and a limit."""
    c = request({"argv": ["sleep", "60"]}, "-t", ms(300), "--id", "from-flag")
    assert c.verdict == "timeout/wall_time" and c["id"] == "from-flag"


def test_live_output_without_json():
    c = run("run", "--request", "-", input=json.dumps({"code": "print('live')"}).encode())
    assert c.rc == 0 and c.out == b"live\n"


def test_large_request():
    c = request({"argv": ["wc", "-c", "big"], "files": [{"path": "big", "content": "x" * (20 << 20)}]}).ok()
    assert c["stdout"].split()[0] == str(20 << 20)


def test_source_folder(put, box):
    put("tree/a", "1")
    assert request({"argv": ["cat", "t/a"], "files": [{"path": "t", "source": str(box / "tree")}]}).ok()["stdout"] == "1"


def test_empty_code_is_an_empty_program():
    assert request({"code": ""}).ok()["stdout"] == ""


def test_dry_run_of_a_request():
    c = run("run", "--dry-run", "--request", "-", input=json.dumps({"language": "c", "code": "int main(){}", "limits": {"pids": 7}}).encode())
    assert c.rc == 0 and c["limits"]["pids"] == 7 and c["language"] == "c"
