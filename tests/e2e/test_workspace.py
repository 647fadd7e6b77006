# SPDX-License-Identifier: Apache-2.0
"""--workspace: a host folder copied in, its changes copied back when everything in the jar is dead."""
import os
import socket

import pytest
from harness import bash, jar, ms, own, python, run


@pytest.fixture
def ws(put, box):
    put("ws/keep", "keep"), put("ws/change", "old"), put("ws/delete", "x"), put("ws/sub/inner", "inner"), put("ws/tool", "#!/bin/sh\necho tool\n", 0o755)
    return box / "ws"


def inode(p):
    s = os.stat(p)
    return s.st_ino, s.st_mtime_ns, s.st_mode, s.st_uid


def test_changes_come_back(ws):
    before = {n: inode(ws / n) for n in ("keep", "sub/inner", "tool")}
    c = bash("cat keep sub/inner; ./tool; echo new > change; echo made > created; mkdir -p d/e && echo deep > d/e/f; rm delete", "--workspace", ws).ok()
    assert c["stdout"] == "keepinnertool\n"
    assert (ws / "change").read_text() == "new\n" and (ws / "created").read_text() == "made\n" and (ws / "d/e/f").read_text() == "deep\n"
    assert not (ws / "delete").exists()
    assert {n: inode(ws / n) for n in before} == before, "what did not change was not touched"
    assert sorted(f["path"] for f in c["files"]) == ["change", "created", "d/e/f"] and c["deleted"] == ["delete"] and "files_incomplete" not in c.result


def test_nothing_changed_nothing_listed(ws):
    before = {p: inode(p) for p in ws.rglob("*")}
    c = jar("--workspace", ws, "--", "true").ok()
    assert c["files"] == [] and c["deleted"] == [] and {p: inode(p) for p in ws.rglob("*")} == before


def test_same_size_and_time_but_other_bytes_is_a_change(ws):
    python("import os; s = os.stat('keep'); open('keep', 'w').write('KEEP'); os.utime('keep', ns=(s.st_atime_ns, s.st_mtime_ns))", "--workspace", ws).ok()
    assert (ws / "keep").read_text() == "KEEP"


def test_changes_of_a_failed_program_come_back_too(ws):
    c = bash("echo new > change; exit 3", "--workspace", ws)
    assert c.rc == 3 and (ws / "change").read_text() == "new\n"


def test_changes_of_a_timed_out_program_come_back_too(ws):
    c = bash("echo new > change; sleep 60", "--workspace", ws, "-t", ms(1500))
    assert c["timed_out"] and (ws / "change").read_text() == "new\n"


def test_writers_are_dead_before_the_copy(ws):
    """A daemon that writes on and on cannot write into the copy."""
    c = bash("(setsid sh -c 'i=0; while :; do i=$((i+1)); echo $i > race; done' &) ; sleep .3", "--workspace", ws).ok()
    listed = {f["path"]: f for f in c["files"]}
    assert (ws / "race").stat().st_size == listed["race"]["size"]


def test_code_file_is_not_left_behind(ws, put):
    assert bash("ls", "--workspace", ws).ok()["stdout"].count("main.sh") == 1
    assert not (ws / "main.sh").exists()
    jar("--workspace", ws, put("prog.py", "print(1)")).ok()
    assert not (ws / "prog.py").exists()


def test_code_file_of_the_workspace_stays(ws):
    (ws / "prog.py").write_text("open('x', 'w').write('y')")
    own(ws / "prog.py")
    before = inode(ws / "prog.py")
    jar("--workspace", ws, ws / "prog.py").ok()
    assert (ws / "x").read_text() == "y" and inode(ws / "prog.py") == before


def test_symlinks_inside_come_back_and_others_are_refused(ws):
    c = bash("ln -s keep inside; ln -s sub/inner deep; ln -s /etc/passwd absolute; ln -s ../../etc/passwd up; ln -s ../keep sub/up", "--workspace", ws).ok()
    assert os.readlink(ws / "inside") == "keep" and os.readlink(ws / "deep") == "sub/inner" and os.readlink(ws / "sub/up") == "../keep"
    refused = {f["path"]: f["refused"] for f in c["files"] if f.get("refused")}
    assert {"absolute", "up"} == set(refused) and not os.path.lexists(ws / "absolute") and not os.path.lexists(ws / "up")
    assert all("symlink" in why for why in refused.values())


def test_links_of_the_workspace_go_in_and_stay(ws):
    os.symlink("keep", ws / "link")
    os.symlink("/etc/hostname", ws / "outside")
    c = bash("readlink link outside", "--workspace", ws).ok()
    assert c["stdout"] == "keep\n/etc/hostname\n"
    assert os.readlink(ws / "link") == "keep" and os.readlink(ws / "outside") == "/etc/hostname"


def test_unchanged_links_are_not_reported(ws):
    os.symlink("keep", ws / "link")
    os.symlink("/etc/hostname", ws / "outside")
    assert jar("--workspace", ws, "--", "true").ok()["files"] == []


def test_fifo_and_socket_are_refused_and_listed(ws):
    c = bash("mkfifo pipe; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('sock')\"", "--workspace", ws).ok()
    refused = {f["path"]: f["refused"] for f in c["files"] if f.get("refused")}
    assert refused == {"pipe": "is a FIFO", "sock": "is a socket"}
    assert not os.path.lexists(ws / "pipe") and not os.path.lexists(ws / "sock")


def test_refused_paths_are_said_on_stderr(ws):
    c = run("run", "--workspace", ws, "--", "mkfifo", "pipe")
    assert c.rc == 0 and "pipe" in c.stderr and "FIFO" in c.stderr


def test_files_that_run_by_themselves_are_pointed_out(ws):
    c = bash("mkdir .git; echo x > .git/config; echo x > conftest.py; echo x > plain", "--workspace", ws).ok()
    review = {f["path"]: f.get("review") for f in c["files"]}
    assert review["conftest.py"] and review[".git/config"] and not review["plain"]


@pytest.mark.parametrize("mode,comes", [("4755", 0o755), ("2755", 0o755), ("1777", 0o755), ("666", 0o644), ("777", 0o755), ("600", 0o600), ("755", 0o755)])
def test_mode_bits_are_masked(mode, comes, ws):
    bash(f"echo x > f; chmod {mode} f", "--workspace", ws).ok()
    assert os.stat(ws / "f").st_mode & 0o7777 == comes


def test_changed_mode_alone_comes_back(ws):
    bash("chmod +x keep", "--workspace", ws).ok()
    assert os.stat(ws / "keep").st_mode & 0o777 == 0o755 and (ws / "keep").read_text() == "keep"


def test_deleted_folder(ws):
    c = bash("rm -r sub", "--workspace", ws).ok()
    assert not (ws / "sub").exists() and c["deleted"] == ["sub/inner", "sub"]


def test_deleted_link(ws):
    os.symlink("keep", ws / "link")
    c = bash("rm link", "--workspace", ws).ok()
    assert not os.path.lexists(ws / "link") and c["deleted"] == ["link"] and (ws / "keep").read_text() == "keep"


def test_hard_links_of_the_host_are_not_written_through(ws, box):
    os.link(ws / "change", box / "other-name")
    bash("echo new > change", "--workspace", ws).ok()
    assert (ws / "change").read_text() == "new\n" and (box / "other-name").read_text() == "old"


def test_host_link_planted_in_the_target_is_not_followed(ws, box, put):
    """`change` is a link on the host to a file outside: the guest's change replaces the link, not the file."""
    outside = put("outside", "host")
    (ws / "change").unlink()
    os.symlink(outside, ws / "change")
    bash("rm change; echo guest > change", "--workspace", ws).ok()
    assert outside.read_text() == "host"


def test_odd_names(ws):
    names = ["with space", "new\nline", "ü", "-rf", "a'b\"c", "*"]
    python(f"for n in {names!r}: open(n, 'w').write('x')", "--workspace", ws).ok()
    for n in names:
        assert (ws / n).read_text() == "x"


def test_names_that_are_no_utf8(ws):
    python("open(b'bad\\xff', 'w').write('x')", "--workspace", ws).ok()
    assert os.path.exists(os.fsencode(ws) + b"/bad\xff")


@pytest.mark.parametrize("make,word", [(os.mkfifo, "FIFO"), (lambda p: socket.socket(socket.AF_UNIX).bind(str(p)), "socket")], ids=["fifo", "socket"])
def test_special_files_in_the_source(make, word, ws):
    """They do not go in, which is said by name; the rest does, and they stay where they are."""
    make(ws / "special"), make(ws / "sub" / "deep")
    before = os.lstat(ws / "special")
    c = run("run", "--workspace", ws, "--", "ls", timeout=20)
    assert c.rc == 0 and b"keep" in c.out and b"special" not in c.out and "special" in c.stderr and word in c.stderr, str(c)
    c = bash("echo mine > special; rm -r sub; echo new > change", "--workspace", ws).ok()
    listed = {f["path"]: f["refused"] for f in c["files"] if f.get("refused")}
    # "special" is there twice: it did not go in, and the guest's file of that name does not cover it
    assert set(listed) == {"special", "sub/deep"} and word in listed["sub/deep"] and "did not go in" in listed["sub/deep"], str(c)
    assert os.lstat(ws / "special").st_ino == before.st_ino and os.path.lexists(ws / "sub" / "deep") and (ws / "change").read_text() == "new\n"


@pytest.mark.parametrize("path", ["/no/such/folder", "/etc/hosts"])
def test_bad_workspace(path):
    c = run("run", "--workspace", path, "--", "echo", "started")
    assert c.rc == 125 and c.out == b"" and "--workspace" in c.stderr


def test_files_beside_the_workspaces_own(ws, put):
    assert jar("--workspace", ws, "--file", f"{put('f', 'more')}:beside", "--", "cat", "beside").ok()["stdout"] == "more"


def test_a_file_in_the_place_of_a_workspaces_own_is_refused(ws, put):
    """Else the host's own would be overwritten on the way back."""
    c = run("run", "--workspace", ws, "--file", f"{put('f', 'over')}:change", "--", "echo", "started")
    assert c.rc in (2, 125) and c.out == b"" and "--file" in c.stderr and (ws / "change").read_text() == "old", str(c)


def test_two_gibibytes_are_refused_by_disk(ws):
    with open(ws / "big", "wb") as f:
        f.truncate(2 << 30)
    c = run("run", "--workspace", ws, "--", "echo", "started")
    assert c.rc == 125 and "--disk" in c.stderr and c.out == b""


@pytest.mark.parametrize("more", [[], ["--out", "o"]])
def test_get_and_workspace_exclude_each_other(more, ws):
    c = run("run", "--workspace", ws, "--get", "/tmp/t", *more, "--", "echo", "started")
    assert c.rc == 2 and c.out == b"" and "--get" in c.stderr and "--workspace" in c.stderr, str(c)


DEEP = "import os\nfor _ in range(80): os.mkdir('d'); os.chdir('d')\nopen('f', 'w').write('x')\nos.unlink('/workspace/delete'); open('/workspace/change', 'w').write('new')"


def test_incomplete_list_deletes_nothing(ws):
    """Folders deeper than belljar walks: what came is kept, the result says that it is not all, and a file that seems gone stays."""
    c = python(DEEP, "--workspace", ws).ok()
    assert c["files_incomplete"] is True and c["deleted"] == [], str(c)
    assert (ws / "delete").read_text() == "x" and (ws / "change").read_text() == "new"


def test_incomplete_list_is_said_on_the_terminal(ws):
    c = run("run", "--workspace", ws, "--lang", "python", "-c", DEEP)
    assert c.rc == 0 and "no deleted file was removed" in c.stderr and (ws / "delete").exists(), str(c)
