# SPDX-License-Identifier: Apache-2.0
"""--file: files and folders copied into /workspace."""
import hashlib
import os
import socket

import pytest
from harness import bash, jar, own, python, run


def test_file_under_its_own_name(put):
    assert jar("--file", put("data.txt", "content"), "--", "cat", "data.txt").ok()["stdout"] == "content"


@pytest.mark.parametrize("dst,path", [("other.txt", "other.txt"), ("a/b/c/deep.txt", "a/b/c/deep.txt"), ("/workspace/x.txt", "x.txt"), ("ü ö.txt", "ü ö.txt"),
                                      (".hidden", ".hidden"), ("-dash", "./-dash")])
def test_file_under_another_name(dst, path, put):
    assert jar("--file", f"{put('f', 'content')}:{dst}", "--", "cat", path).ok()["stdout"] == "content"


def test_source_with_a_colon(put):
    f = put("a:b", "colon")
    assert jar("--file", f, "--", "cat", "a:b").ok()["stdout"] == "colon"
    assert jar("--file", f"{f}:c", "--", "cat", "c").ok()["stdout"] == "colon"


def test_many_files(put):
    opts = [w for i in range(20) for w in ("--file", put(f"f{i}", str(i)))]
    assert bash("cat f*", *opts).ok()["stdout"] == "".join(str(i) for i in sorted(range(20), key=lambda i: f"f{i}"))


def test_folder(put, box):
    put("tree/a", "1"), put("tree/sub/b", "2"), put("tree/sub/.c", "3")
    (box / "tree" / "empty").mkdir()
    c = bash("cd tree && find . | sort && cat a sub/b sub/.c", "--file", box / "tree").ok()
    assert c["stdout"] == ".\n./a\n./empty\n./sub\n./sub/.c\n./sub/b\n123"


def test_folder_with_slash_and_renamed(put, box):
    put("tree/a", "1")
    assert jar("--file", f"{box}/tree/", "--", "cat", "tree/a").ok()["stdout"] == "1"
    assert jar("--file", f"{box}/tree:x/y", "--", "cat", "x/y/a").ok()["stdout"] == "1"


def test_symlinks_stay_links(put, box):
    put("tree/real", "1")
    os.symlink("real", box / "tree" / "link")
    os.symlink("/etc/hostname", box / "tree" / "away")
    c = bash("readlink tree/link tree/away; cat tree/link", "--file", box / "tree").ok()
    assert c["stdout"] == "real\n/etc/hostname\n1"


@pytest.mark.parametrize("target,end", [("secret", ""), ("tree", ""), ("tree", "/"), ("no-such", "")])
def test_a_symlink_that_is_named_is_not_followed(target, end, put, box):
    """In a folder that is another's (a cloned repository) a data file may be a link to what the caller may read."""
    put("secret", "host secret"), put("tree/f", "host secret")
    os.symlink(target, box / "data")
    for name in (":x", ""):
        c = run("run", "--file", f"{box}/data{end}{name}", "--", "sh", "-c", "cat x x/f data data/f")
        assert c.rc == 125 and c.out == b"" and "--file" in c.stderr and ("symlink" in c.stderr or target == "no-such"), str(c)


def test_a_link_in_a_folder_is_never_followed_on_the_host(put, box):
    """What it points to on the host must not come along."""
    secret = put("secret", "host secret")
    put("tree/a", "1")
    os.symlink(secret, box / "tree" / "link")
    c = bash("cat tree/link; find / -name secret 2>/dev/null; grep -rs 'host secret' tree /tmp; true", "--file", box / "tree").ok()
    assert c["stdout"] == ""


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o444, 0o700])
def test_mode(mode, put):
    assert jar("--file", put("f", "x", mode), "--", "stat", "-c", "%a %U", "f").ok()["stdout"] == f"{mode:o} guest\n"


def test_setuid_bits_do_not_come_along(put):
    f = put("f", "#!/bin/sh\n", 0o755)
    f.chmod(0o6755)
    assert jar("--file", f, "--", "stat", "-c", "%a", "f").ok()["stdout"] == "755\n"


def test_exec_bit_lets_it_run(put):
    assert jar("--file", put("tool", "#!/bin/sh\necho ran $1\n", 0o755), "--", "./tool", "x").ok()["stdout"] == "ran x\n"


def test_mtime(put):
    f = put("f", "x")
    os.utime(f, ns=(1_000_000_000_123_456_789, 1_000_000_000_123_456_789))
    c = python("import os; print(os.stat('f').st_mtime_ns)", "--file", f).ok()
    assert c["stdout"] == "1000000000123456789\n"


def test_guest_owns_what_it_got(put):
    c = bash("echo more >> f && mv f g && rm g && echo fine", "--file", put("f", "x")).ok()
    assert c["stdout"] == "fine\n"


def test_host_is_unchanged(put):
    f = put("f", "x")
    before = os.stat(f)
    bash("echo changed > f; chmod 777 f; touch f", "--file", f).ok()
    after = os.stat(f)
    assert f.read_text() == "x" and (before.st_mode, before.st_mtime_ns, before.st_ino) == (after.st_mode, after.st_mtime_ns, after.st_ino)


def test_ten_thousand_small_files(box):
    tree = box / "many"
    tree.mkdir()
    own(tree)
    for i in range(10000):
        (tree / f"f{i}").write_bytes(b"%d" % i)
    c = bash("ls many | wc -l; cat many/f9999", "--file", tree).ok()
    assert c["stdout"] == "10000\n9999"


def test_large_file_and_its_content(put):
    data = os.urandom(20 << 20)
    c = jar("--file", put("big", data), "--", "sha256sum", "big").ok()
    assert c["stdout"].split()[0] == hashlib.sha256(data).hexdigest()


def test_empty_file(put):
    assert jar("--file", put("e", b""), "--", "stat", "-c", "%s", "e").ok()["stdout"] == "0\n"


def test_larger_than_the_disk_is_refused(box):
    f = box / "big"
    with open(f, "wb") as x:
        x.truncate(5 << 20)
    c = run("run", "--disk", "4M", "--file", f, "--", "echo", "started")
    assert c.rc == 125 and c.out == b"" and "--disk" in c.stderr, str(c)


def test_more_files_than_inodes_is_refused(box):
    tree = box / "many"
    tree.mkdir()
    for i in range(600):
        (tree / f"f{i}").touch()
    c = run("run", "--disk", "64K", "--file", tree, "--", "echo", "started")
    assert c.rc == 125 and c.out == b"" and "--disk" in c.stderr, str(c)


@pytest.mark.parametrize("make,word", [(os.mkfifo, "FIFO"), (lambda p: socket.socket(socket.AF_UNIX).bind(str(p)), "socket")])
def test_special_files_are_refused_by_name_and_left_out_of_folders(make, word, put, box):
    put("tree/plain", "plain")
    make(box / "tree" / "x")
    c = run("run", "--file", box / "tree" / "x", "--", "echo", "started", timeout=20)
    assert c.rc == 125 and c.out == b"" and "--file" in c.stderr and str(box / "tree" / "x") in c.stderr and word in c.stderr, str(c)
    c = jar("--file", box / "tree", "--", "ls", "tree").ok()
    assert c["stdout"] == "plain\n" and [f["path"] for f in c["files"]] == ["tree/x"] and word in c["files"][0]["refused"], str(c)


@pytest.mark.parametrize("dst", ["../x", "/etc/x", "a/../../x", "..", ".", "a//b", "", "/"])
def test_targets_outside_are_refused(dst, put):
    c = run("run", "--file", f"{put('f', 'x')}:{dst}", "--", "echo", "started")
    assert c.rc == 2 and c.out == b"" and "--file" in c.stderr, str(c)


def test_a_file_over_a_folder_is_refused(put, box):
    put("tree/a", "1")
    c = run("run", "--file", box / "tree", "--file", f"{put('f', 'x')}:tree", "--", "echo", "started")
    assert c.rc == 125 and c.out == b"" and "tree" in c.stderr, str(c)


def test_a_file_below_a_link_of_the_request_does_not_escape(put, box):
    """tree/link -> /tmp, then a file at tree/link/x: names never pass through links."""
    put("tree/a", "1")
    os.symlink("/tmp", box / "tree" / "link")
    c = run("run", "--json", "--file", box / "tree", "--file", f"{put('f', 'x')}:tree/link/x", "--", "ls", "/tmp")
    assert c.rc == 125 and c["status"] == "error", str(c)


def test_later_file_wins(put):
    assert jar("--file", f"{put('a', '1')}:x", "--file", f"{put('b', '22')}:x", "--", "cat", "x").ok()["stdout"] == "22"


def test_code_and_files_together(put):
    c = python("import helper; print(helper.answer)", "--file", put("helper.py", "answer = 42")).ok()
    assert c["stdout"] == "42\n"


def test_own_pycache_is_not_written(put):
    assert bash("python3 -c 'import helper'; ls -A", "--file", put("helper.py", "")).ok()["stdout"].count("helper.py") == 1
