# SPDX-License-Identifier: Apache-2.0
"""Bad input: one clear sentence that names the option or field, exit 2 or 125, nothing started, nothing left behind."""
import json
import os
import socket
import subprocess

import pytest
from harness import BELLJAR, ROOT, environment, languages, own, run, seconds

STARTED = ["--", "echo", "started"]
NUMERIC = {
    "--timeout": ["-1", "0", "abc", "", "1e3", "99999999999999999999", "25h", "5 s", "1s1s", "0x10", "-0", "NaN", "inf", "1,5s"],
    "--cpu-time": ["-1s", "0", "x", "25h"],
    "--memory": ["-5M", "0", "1K", "big", "", "18446744073709551616", "99999999999G", "2T", "512X", "1.2.3M", "0.5"],
    "--cpus": ["-1", "0", "0.001", "2000", "one", "", "1e9"],
    "--disk": ["-1", "0", "1K", "2T", "much"],
    "--pids": ["-1", "0", "40000", "x", "1.5", "", "18446744073709551617"],
    "--nofile": ["-1", "0", "2", "99999999", "x"],
    "--output": ["-1", "0", "10", "65M", "1T", "x"],
    "--output-log": ["-1", "0", "10", "2T", "x"],
    "--uid": ["-1", "65536", "4294967296", "root", "1.0"],
}


def refused(c, names, rcs=(2, 125)):
    assert c.rc in rcs, str(c)
    assert c.out == b"", str(c)
    assert c.stderr.count("error:") == 1, str(c)
    line = next(l for l in c.stderr.splitlines() if "error:" in l)
    assert names in line, f"{names!r} is not in {line!r}"
    assert len(c.stderr.splitlines()) <= 2 and len(line) < 600
    return c.stderr


@pytest.mark.parametrize("option,value", [(o, v) for o, vs in NUMERIC.items() for v in vs])
def test_numbers(option, value, traces):
    refused(run("run", f"{option}={value}", *STARTED), option, (2,))


def test_range_is_said():
    text = refused(run("run", "--memory", "1K", *STARTED), "--memory")
    assert "4M" in text
    text = refused(run("run", "--pids", "40000", *STARTED), "--pids")
    assert "32768" in text


@pytest.mark.parametrize("option", ["--timeout", "--memory", "--file", "--env", "--lang", "-c", "-t"])
def test_value_is_missing(option, traces):
    c = run("run", option)
    assert c.rc == 2 and "needs a value" in c.stderr, str(c)


@pytest.mark.parametrize("option,near", [("--timout", "--timeout"), ("--memmory", "--memory"), ("--jsn", "--json"), ("--work-space", "--workspace"), ("--envs", "--env"),
                                         ("--mem", "--memory"), ("--cpu", "--cpus"), ("--no_write", "--no-write"), ("--dryrun", "--dry-run")])
def test_unknown_option_with_suggestion(option, near, traces):
    text = refused(run("run", option, *STARTED), option, (2,))
    assert f"did you mean '{near}'" in text


@pytest.mark.parametrize("option", ["--frobnicate", "-Z", "--json=maybe", "-qx", "---", "--=x", "--timeout5s"])
def test_unknown_option(option, traces):
    refused(run("run", option, *STARTED), "option" if option != "--json=maybe" else "--json", (2,))


@pytest.mark.parametrize("name,near", [("pyhton", "python"), ("pythn", "python"), ("javascrpt", "node"), ("nod", "node"), ("baash", "bash"), ("cp", "c"), ("rustt", "rust")])
def test_unknown_language_with_near_miss(name, near, traces):
    text = refused(run("run", "--lang", name, "-c", "1"), "--lang", (2,))
    assert name in text and near in text and "did you mean" in text


@pytest.mark.parametrize("name", ["cobol-2000-enterprise", "", "../../etc/passwd", "x" * 1000, "py\x1bthon\n"])
def test_unknown_language(name, traces):
    refused(run("run", "--lang", name, "-c", "1"), "--lang", (2,))


FILES = [("/no/such/file.py", "/no/such/file.py"), ("/tmp", "/tmp"), ("/etc", "folder"), ("", ""), ("/dev/null", "/dev/null"), ("/dev/zero", "/dev/zero"), ("file-with-no-ending", "")]


@pytest.mark.parametrize("path,names", FILES)
def test_code_files(path, names, traces):
    refused(run("run", path), names)


def test_empty_file_without_language(put, traces):
    text = refused(run("run", put("thing", "")), "thing", (2,))
    assert "--lang" in text


def test_unknown_ending(put, traces):
    text = refused(run("run", put("code.xyz", "x")), "code.xyz", (2,))
    assert "--lang" in text


def test_fifo_as_code(box, traces):
    os.mkfifo(own(box) / "f.py")
    refused(run("run", box / "f.py", timeout=20), "f.py")


def test_200_mb_source(box, traces):
    big = box / "big.py"
    with open(big, "wb") as f:
        f.truncate(200 << 20)
    c = run("run", big)
    refused(c, "big.py", (125,))
    assert c.wall < seconds(20)


def test_200_mb_source_through_a_pipe(traces):
    c = run("run", "-", input=b"#" * (200 << 20))
    assert c.rc == 125 and c.stderr.count("error:") == 1, str(c)


@pytest.mark.skipif(ROOT, reason="root may read every file")
def test_unreadable_source(put, traces):
    f = put("f.py", "print(1)")
    f.chmod(0o000)
    refused(run("run", f), "f.py", (125,))
    refused(run("run", "--file", f, *STARTED), "--file", (125,))
    refused(run("run", "--stdin", f, *STARTED), "--stdin", (125,))


ROWS = [
    ([], "nothing to run"), (["--"], "--"), (["--", ""], "empty"), (["a.py", "b.py"], "b.py"), (["-c", "1", "--", "true"], "one of"), (["-c", "1", "x.py"], "one of"),
    (["--lang", "python", "--", "true"], "--lang"), (["--image", "debian", *STARTED], "--image"), (["--net", "bridge", *STARTED], "--net"), (["--net", "host", *STARTED], "--net"),
    (["--workdir", "etc", *STARTED], "--workdir"), (["--workdir", "/workspace/../..", *STARTED], "--workdir"), (["--file", "/no/such", *STARTED], "--file"),
    (["--file", "/no/such:x", *STARTED], "--file"), (["--ro", "/no/such:/x", *STARTED], "--ro"), (["--workspace", "/no/such", *STARTED], "--workspace"),
    (["--stdin", "/no/such", *STARTED], "--stdin"), (["--request", "/no/such"], "--request"), (["--request", "/"], "--request"), (["--env", "no value", *STARTED], "--env"),
    (["--hostname", "a b", *STARTED], "--hostname"), (["--out", "/tmp/x", *STARTED], "--out"), (["--get", "../x", *STARTED], "--get"),
]


@pytest.mark.parametrize("args,names", ROWS, ids=lambda v: " ".join(v)[:40] if isinstance(v, list) else None)
def test_rows(args, names, traces):
    refused(run("run", *args), names)


def test_image_has_a_hint():
    assert "hint:" in run("run", "--image", "debian", *STARTED).stderr


def test_net_host_is_for_the_operator(box, traces):
    """Refused as long as no operator's file allows it."""
    c = run("run", "--json", "--net", "host", *STARTED)
    assert c.rc == 125 and c["reason"] == "policy" and "allow-host-network" in c["hint"]
    (box / "belljar").mkdir()
    (box / "belljar" / "config.yaml").write_text("allow-host-network: true\n")
    own(box / "belljar")
    c = run("run", "--json", "--net", "host", "-c", "import socket; print(socket.if_nameindex())", env={"XDG_CONFIG_HOME": box}).ok()
    assert c["isolation"]["network"] == "host" and "net" not in c["isolation"]["namespaces"]
    assert c["stdout"] == f"{socket.if_nameindex()}\n"


@pytest.mark.skipif(not ROOT, reason="puts a folder over /etc in a mount namespace of its own")
@pytest.mark.parametrize("target", ["{box}/stub.conf", "..{box}/stub.conf", "{box}/missing"], ids=["absolute", "relative", "dangling"])
def test_net_host_follows_the_resolvers_link(box, put, target):
    """/etc/resolv.conf is a link to a place that the jar does not have on many hosts: its content comes along, never the link."""
    put("belljar/config.yaml", "allow-host-network: true\n"), put("stub.conf", "nameserver 192.0.2.7\n")
    script = ("set -e; mount -t tmpfs none /mnt; mkdir /mnt/up /mnt/work; mount -t overlay -o lowerdir=/etc,upperdir=/mnt/up,workdir=/mnt/work none /etc\n"
              f"ln -sfn {target.format(box=box)} /etc/resolv.conf; exec \"$@\"")
    p = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", str(BELLJAR), "run", "--net", "host", "--", "sh", "-c",
                        "test -L /etc/resolv.conf && echo link; cat /etc/resolv.conf"], env=environment("", {"XDG_CONFIG_HOME": box}), cwd="/",
                       capture_output=True, timeout=seconds(30))
    if b"mount:" in p.stderr:
        pytest.skip(f"no overlay over /etc here: {p.stderr[:100]}")
    if target.endswith("missing"):
        assert p.stdout == b"" and b"No such file" in p.stderr, p
    else:
        assert p.stdout == b"nameserver 192.0.2.7\n", p


def test_uninstalled_language_says_what_to_install(traces):
    gone = [n for n, row in languages().items() if not row["installed"]]
    if not gone:
        pytest.skip("every language is installed here")
    for name in gone:
        if name == "typescript":
            continue  # node is there, only too old: node itself says so
        c = run("run", "--lang", name, "-c", "x")
        refused(c, "not installed", (125,))
        assert "apt-get install" in c.stderr


# ---- the request object --------------------------------------------------------------------------

DEEP = "[" * 100000
REQUESTS = {
    "empty": ("", "request"), "not JSON": ("{code: 1}", "request"), "list": ("[]", "object"), "text": ('"x"', "request"), "trailing garbage": ('{"code": "1"} x', "request"),
    "two objects": ('{"code": "1"}{"code": "2"}', "request"), "duplicate key": ('{"code": "1", "code": "2"}', "code"), "unknown field": ('{"code": "1", "colour": "red"}', "colour"),
    "near field": ('{"code": "1", "limit": {}}', "limits"), "unknown limit": ('{"code": "1", "limits": {"walls": 1}}', "walls"), "limits no object": ('{"code": "1", "limits": 5}', "limits"),
    "code a number": ('{"code": 5}', "code"), "code null": ('{"code": null}', "code"), "args a string": ('{"code": "1", "args": "x"}', "args"), "args of numbers": ('{"code": "1", "args": [1]}', "args"),
    "argv a string": ('{"argv": "ls"}', "argv"), "argv empty": ('{"argv": []}', ""), "argv with NUL": ('{"argv": ["ls", "a\\u0000b"]}', "argv"), "env a list": ('{"code": "1", "env": []}', "env"),
    "env of numbers": ('{"code": "1", "env": {"A": 1}}', "env"), "env with NUL": ('{"code": "1", "env": {"A": "\\u0000"}}', "env"), "env with = in the name": ('{"code": "1", "env": {"A=B": "1"}}', "env"),
    "env with an empty name": ('{"code": "1", "env": {"": "1"}}', "env"), "stdin a number": ('{"code": "1", "stdin": 1}', "stdin"), "huge integer": ('{"code": "1", "limits": {"wall_ms": 1%s}}' % ("0" * 400), ""),
    "beyond 64 bits": ('{"code": "1", "limits": {"wall_ms": 18446744073709551616}}', ""), "negative": ('{"code": "1", "limits": {"wall_ms": -1}}', "wall_ms"), "zero": ('{"code": "1", "limits": {"wall_ms": 0}}', "wall_ms"),
    "a real for an integer": ('{"code": "1", "limits": {"pids": 1.5}}', "pids"), "a string for a number": ('{"code": "1", "limits": {"memory_bytes": "512M"}}', "memory_bytes"),
    "a bool for a number": ('{"code": "1", "limits": {"pids": true}}', "pids"), "cpus huge": ('{"code": "1", "limits": {"cpus": 1e308}}', "cpus"), "too large": ('{"code": "1", "limits": {"pids": 99999}}', "pids"),
    "files no list": ('{"code": "1", "files": {}}', "files"), "file without content": ('{"code": "1", "files": [{"path": "a"}]}', "files"), "file with two contents": ('{"code": "1", "files": [{"path": "a", "content": "", "base64": ""}]}', "files"),
    "file outside": ('{"code": "1", "files": [{"path": "../a", "content": ""}]}', "../a"), "file absolute": ('{"code": "1", "files": [{"path": "/etc/a", "content": ""}]}', "/etc/a"),
    "bad base64": ('{"code": "1", "files": [{"path": "a", "base64": "###="}]}', "base64"), "base64 cut": ('{"code": "1", "files": [{"path": "a", "base64": "QQ"}]}', "base64"),
    "unknown field of a file": ('{"code": "1", "files": [{"path": "a", "content": "", "owner": 0}]}', "owner"), "bad mode": ('{"code": "1", "files": [{"path": "a", "content": "", "mode": 4095}]}', "mode"),
    "missing source": ('{"code": "1", "files": [{"path": "a", "source": "/no/such"}]}', "/no/such"), "network": ('{"code": "1", "network": "bridge"}', "net"), "image": ('{"code": "1", "image": "x"}', "image"),
    "language": ('{"code": "1", "language": "pyhton"}', "python"), "both code and argv": ('{"code": "1", "argv": ["ls"]}', ""), "neither": ("{}", ""), "deep nesting": (DEEP, "request"), "deep objects": ('{"limits":' * 5000, "request"),
    "bad UTF-8": (b'{"code": "\xff"}', "request"), "lone surrogate": ('{"code": "\\ud800"}', "request"), "BOM": ("\ufeff{}", "request"), "NaN": ('{"code": "1", "limits": {"cpus": NaN}}', "request"),
    "not for requests": ('{"code": "1", "json": true}', "json"), "not for requests either": ('{"code": "1", "allow-degraded": true}', "allow-degraded"), "dotted": ('{"code": "1", "limits.pids": 5}', "limits.pids"),
    "request in a request": ('{"code": "1", "request": "x"}', "request"), "file path with NUL": ('{"code": "1", "files": [{"path": "a\\u0000b", "content": ""}]}', "path"),
    "get a string": ('{"code": "1", "get": "*"}', "get"), "uid too large": ('{"code": "1", "uid": 70000}', "uid"), "workdir relative": ('{"code": "1", "workdir": "x"}', "workdir"),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_request(name, traces):
    text, names = REQUESTS[name]
    c = run("run", "--request", "-", input=text.encode() if isinstance(text, str) else text)
    refused(c, names)


def test_request_error_with_json_is_an_object(traces):
    c = run("run", "--json", "--request", "-", input=b'{"colour": 1}')
    assert c.rc == 2 and c["status"] == "error" and "colour" in c["error"]


def test_request_with_something_else_to_run(put, traces):
    r = put("r.json", json.dumps({"code": "1"}))
    refused(run("run", "--request", r, *STARTED), "--request", (2,))
    refused(run("run", "--request", r, "-c", "print(1)"), "", (2,))


def test_error_lines_hold_no_control_characters(traces):
    """Foreign bytes in an error message must not steer the caller's terminal."""
    for args in (["--lang", "\x1b]0;x\x07", "-c", "1"], ["/no/\x1b[2J"], ["--\x1b[2J"], ["--env", "\x1b[2J", *STARTED], ["--hostname", "\x1b[2J", *STARTED]):
        c = run("run", *args)
        assert c.rc in (2, 125) and "\x1b" not in c.stderr, str(c)
    c = run("run", "--request", "-", input=json.dumps({"\x1b[2J": 1}).encode())
    assert c.rc == 2 and "\x1b" not in c.stderr, str(c)
