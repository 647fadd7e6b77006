# SPDX-License-Identifier: Apache-2.0
"""--ro: host files and folders shown read-only; --no-write: nothing is writable."""
import os

import pytest
from harness import bash, jar, missing, need, need_language, python, run


def test_folder(put, box):
    put("data/a", "1"), put("data/sub/b", "2")
    assert bash("cat /data/a /data/sub/b; ls -A /data", "--ro", f"{box}/data:/data").ok()["stdout"] == "12a\nsub\n"


def test_file(put):
    assert jar("--ro", f"{put('f', 'content')}:/data/x.txt", "--", "cat", "/data/x.txt").ok()["stdout"] == "content"


def test_below_workspace(put, box):
    put("data/a", "1")
    assert jar("--ro", f"{box}/data:/workspace/in/put", "--", "cat", "in/put/a").ok()["stdout"] == "1"


def test_several(put, box):
    put("x/a", "1"), put("y/a", "2")
    assert bash("cat /x/a /y/a /z", "--ro", f"{box}/x:/x", "--ro", f"{box}/y:/y", "--ro", f"{put('z', '3')}:/z").ok()["stdout"] == "123"


@pytest.mark.parametrize("attack", ["echo x > /data/a", "echo x > /data/new", "rm -f /data/a", "mv /data/a /data/b", "chmod 777 /data/a", "touch /data/a",
                                    "mkdir /data/d", "ln /data/a /data/l", "rmdir /data/sub", "python3 -c 'open(\"/data/a\", \"r+\")'",
                                    "mount -o remount,rw /data", "truncate -s 0 /data/a"])
def test_read_only(attack, put, box):
    f = put("data/a", "host", 0o666)
    (box / "data/sub").mkdir()
    os.chmod(box / "data", 0o777)
    before = os.stat(f), os.stat(box / "data").st_mtime_ns
    c = bash(attack, "--ro", f"{box}/data:/data")
    assert c["exit_code"] not in (0, None), str(c)
    after = os.stat(f), os.stat(box / "data").st_mtime_ns
    assert f.read_text() == "host" and before[1] == after[1]
    assert (before[0].st_mode, before[0].st_mtime_ns, before[0].st_ino) == (after[0].st_mode, after[0].st_mtime_ns, after[0].st_ino)
    assert sorted(os.listdir(box / "data")) == ["a", "sub"]


def test_link_in_a_bind_leads_nowhere_on_the_host(put, box):
    secret = put("secret", "host secret")
    put("data/a", "1")
    os.symlink(secret, box / "data" / "link")
    os.symlink("../secret", box / "data" / "up")
    c = bash("cat /data/link /data/up; true", "--ro", f"{box}/data:/data")
    assert "host secret" not in c["stdout"]


def test_changes_of_the_host_are_seen_but_not_needed(put, box):
    put("data/a", "1")
    assert jar("--ro", f"{box}/data:/data", "--", "cat", "/data/a").ok()["stdout"] == "1"


def test_setuid_has_no_effect(put):
    f = put("suid", "#!/bin/sh\nid -u\n", 0o755)
    os.chmod(f, 0o4755)
    assert jar("--ro", f"{f}:/suid", "--", "/suid").ok()["stdout"] == "1000\n"


def test_python_layer(put, box):
    put("site/mylib/__init__.py", "answer = 42")
    c = python("import mylib; print(mylib.answer)", "--ro", f"{box}/site:/opt/site", "--env", "PYTHONPATH=/opt/site").ok()
    assert c["stdout"] == "42\n"


@pytest.mark.parametrize("text,why", [
    ("/no/such:/data", "--ro"), ("/etc/hosts", "SRC:DST"), ("/etc/hosts:", "--ro"), (":/data", "--ro"), ("/etc/hosts:relative", "--ro"),
    ("/etc/hosts:/../x", "--ro"), ("/etc/hosts:/proc/x", "--ro"), ("/etc/hosts:/dev/x", "--ro"), ("/etc/hosts:/sys/x", "--ro"), ("/etc:/etc", "--ro"), ("/etc:/usr", "--ro"),
    ("/etc:/workspace", "--ro"), ("/etc:/tmp", "--ro"), ("/dev/null:/data", "--ro"), ("/etc:/", "--ro"), ("@nolayer", "nolayer"),
])
def test_refused(text, why, traces):
    c = run("run", "--ro", text, "--", "echo", "started")
    assert c.rc in (2, 125) and c.out == b"" and why in c.stderr and c.stderr.count("error:") == 1, str(c)


@pytest.mark.parametrize("mode", [0o600, 0o000])
def test_unreadable_source(mode, put, traces):
    c = run("run", "--ro", f"{put('f', 'x', mode)}:/f", "--", "cat", "/f")
    if mode == 0o600 and "uid-range" in missing():
        return  # guest and caller are one uid here: it may read what its caller may
    assert c.rc != 0 and c.out == b"", str(c)
    assert "--ro" in c.stderr or "Permission denied" in c.stderr


def test_unreadable_source_is_said_before_the_start(put, traces):
    c = run("run", "--ro", f"{put('f', 'x', 0o600)}:/f", "--", "echo", "started")
    if c.rc == 0:
        need("uid-range")
    assert c.rc == 125 and c.out == b"" and "--ro" in c.stderr and "hint:" in c.stderr, str(c)


def test_too_many(put):
    f = put("f", "x")
    c = run("run", *[w for i in range(40) for w in ("--ro", f"{f}:/d/{i}")], "--", "echo", "started")
    assert c.rc == 2 and "--ro" in c.stderr and c.out == b"", str(c)


# ---- --no-write ----------------------------------------------------------------------------------

@pytest.mark.parametrize("path", ["/workspace/x", "/tmp/x", "/home/guest/x", "/dev/shm/x"])
def test_no_write(path):
    c = bash(f"echo x > {path}", "--no-write")
    assert c["exit_code"] == 1 and c["status"] == "completed", str(c)


def test_no_write_still_runs_and_reads(put):
    c = python("print(open('data').read(), end=''); import os; os.write(os.open('/dev/null', os.O_WRONLY), b'x')", "--no-write", "--file", put("data", "in")).ok()
    assert c["stdout"] == "in"


def test_no_write_forbids_changes_of_given_files(put):
    for attack in ("echo x > f", "rm f", "chmod 777 f", "mv f g", "touch f"):
        assert bash(attack, "--no-write", "--file", put("f", "x"))["exit_code"] != 0, attack


def test_no_write_and_workspace_exclude_each_other(box):
    c = run("run", "--no-write", "--workspace", box, "--", "true")
    assert c.rc == 2 and "--no-write" in c.stderr


def test_no_write_compiled_language():
    need_language("c")
    c = jar("--no-write", "--lang", "c", "-c", "#include <stdio.h>\nint main(void){puts(\"x\");FILE*f=fopen(\"/workspace/x\",\"w\");return f!=NULL;}")
    assert c["status"] == "error" and c["error"] or c["stdout"] == "x\n" and c["exit_code"] == 0, str(c)
