# SPDX-License-Identifier: Apache-2.0
"""--get and --out: files out of a jar whose processes are all dead, written beneath one folder and nowhere else."""
import hashlib
import os

import pytest
from harness import bash, ms, own, python, run

TREE = "mkdir -p d/e; echo 1 > a.txt; echo 2 > b.txt; echo 3 > c.log; echo 4 > d/x.txt; echo 5 > d/e/y.txt; echo 6 > /tmp/t.txt; echo 7 > ~/h.txt; echo 8 > .hidden"


@pytest.mark.parametrize("patterns,expected", [
    (["a.txt"], {"a.txt"}), (["*.txt"], {"a.txt", "b.txt"}), (["?.log"], {"c.log"}), (["[ab].txt"], {"a.txt", "b.txt"}), (["d/*.txt"], {"d/x.txt"}),
    (["d"], {"d/x.txt", "d/e/y.txt"}), (["d/e/y.txt"], {"d/e/y.txt"}), (["/workspace/a.txt"], {"a.txt"}), (["/tmp/t.txt"], {"/tmp/t.txt"}), (["/tmp/*"], {"/tmp/t.txt"}),
    (["/home/guest/h.txt"], {"/home/guest/h.txt"}), (["a.txt", "c.log"], {"a.txt", "c.log"}), ([".hidden"], {".hidden"}), (["nothing"], set()),
    (["a.txt", "a.txt", "*.txt"], {"a.txt", "b.txt"}),
])
def test_patterns(patterns, expected, box):
    out = box / "out"
    c = bash(TREE, *[w for p in patterns for w in ("--get", p)], "--out", out).ok()
    assert {f["path"] for f in c["files"]} == expected, str(c)
    written = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()} if out.exists() else set()
    assert written == {p.lstrip("/") for p in expected}


def test_sha256_size_mode_and_content(box):
    c = bash("head -c 3000000 /dev/urandom > r; chmod 750 r; sha256sum r", "--get", "r", "--out", box / "out").ok()
    f = c["files"][0]
    data = (box / "out" / "r").read_bytes()
    assert f["sha256"] == hashlib.sha256(data).hexdigest() == c["stdout"].split()[0]
    assert f["size"] == 3000000 == len(data) and f["mode"] == "0750"
    assert os.stat(box / "out" / "r").st_mode & 0o7777 == 0o750


def test_without_out_they_are_only_listed(box):
    c = bash("echo x > f", "--get", "f", cwd=box).ok()
    assert c["files"][0]["sha256"] == hashlib.sha256(b"x\n").hexdigest()
    assert list(box.iterdir()) == []


def test_empty_file(box):
    c = bash("touch e", "--get", "e", "--out", box / "o").ok()
    assert c["files"][0]["size"] == 0 and (box / "o" / "e").read_bytes() == b""


def test_what_cannot_come_out_is_refused_and_listed(box):
    c = bash("ln -s /etc/passwd link; ln -s a inside; echo x > a; mkfifo fifo; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('sock')\"",
             "--get", "*", "--out", box / "out").ok()
    refused = {f["path"] for f in c["files"] if f.get("refused")}
    assert {"link", "fifo", "sock"} <= refused
    assert sorted(os.listdir(box / "out")) in (["a", "main.sh"], ["a"])


def test_links_to_folders_are_not_walked(box):
    c = bash("ln -s /etc d", "--get", "d/hosts", "--get", "d/*", "--out", box / "out").ok()
    assert not (box / "out" / "d" / "hosts").exists() and not any(f["size"] for f in c["files"] if not f.get("refused"))


def test_links_in_out_are_not_followed(box):
    """A link that lies in --out already does not lead the copy outside."""
    for d in ("out", "outside"):
        (box / d).mkdir()
        own(box / d)
    os.symlink(box / "outside", box / "out" / "d")
    os.symlink(box / "outside" / "target", box / "out" / "f")
    bash("mkdir d; echo x > d/x; echo y > f", "--get", "d", "--get", "f", "--out", box / "out")
    assert list((box / "outside").iterdir()) == []
    assert (box / "out" / "f").read_text() == "y\n" and not (box / "out" / "f").is_symlink()


def test_nothing_outside_of_out(box):
    (box / "out").mkdir()
    own(box / "out")
    before = set(os.listdir(box))
    bash("echo x > f; echo y > /tmp/g", "--get", "f", "--get", "/tmp/g", "--out", box / "out", cwd=box).ok()
    assert set(os.listdir(box)) == before
    assert sorted(str(p.relative_to(box / "out")) for p in (box / "out").rglob("*")) == ["f", "tmp", "tmp/g"]


def test_old_file_is_replaced_whole(box):
    (box / "out").mkdir()
    own(box / "out")
    old = box / "out" / "f"
    old.write_text("old and longer than the new one")
    os.link(old, box / "hard")
    bash("echo new > f", "--get", "f", "--out", box / "out").ok()
    assert old.read_text() == "new\n" and (box / "hard").read_text().startswith("old")


def test_artifacts_of_a_program_that_failed(box):
    assert bash("echo x > f; exit 4", "--get", "f", "--out", box / "o").rc == 4 and (box / "o" / "f").read_text() == "x\n"
    assert bash("echo x > f; sleep 60", "--get", "f", "--out", box / "p", "-t", ms(1500)).rc == 124 and (box / "p" / "f").read_text() == "x\n"


def test_setuid_artifact_loses_the_bit(box):
    bash("echo x > f; chmod 4777 f", "--get", "f", "--out", box / "o").ok()
    assert os.stat(box / "o" / "f").st_mode & 0o7022 == 0


def test_sparse_file_of_the_guest_is_bounded(box):
    """Apparent size past the disk limit: refused by name, not written out as zeros."""
    c = bash("dd of=huge bs=1 seek=120M count=0 2>/dev/null || dd of=huge bs=1 seek=90M count=0; echo x > small; stat -c %s huge", "--get", "*",
             "--out", box / "o", "--disk", "64M").ok()
    by = {f["path"]: f for f in c["files"]}
    assert (box / "o" / "small").exists()
    if int(c["stdout"]) > 64 << 20:  # a file size limit may have stopped the guest already
        assert by["huge"].get("refused") and not (box / "o" / "huge").exists()


def test_deep_tree(box):
    c = python("import os\nfor i in range(60): os.mkdir('d'); os.chdir('d')\nopen('f', 'w').write('x')", "--get", "d", "--out", box / "o").ok()
    path = "/".join(["d"] * 60) + "/f"
    assert (box / "o" / path).exists() or any(f.get("refused") for f in c["files"])


@pytest.mark.parametrize("pattern", ["../x", "/tmp/../etc/passwd", "", "a/../../b"])
def test_bad_patterns(pattern):
    c = run("run", "--get", pattern, "--", "echo", "started")
    assert c.rc == 2 and "--get" in c.stderr and c.out == b""


@pytest.mark.parametrize("pattern", ["/etc/passwd", "/usr/bin/env", "/proc/self/environ"])
def test_files_of_the_root_do_not_come_out(pattern, box):
    c = bash("true", "--get", pattern, "--out", box / "o")
    assert not any((box / "o").rglob("*")) if (box / "o").exists() else True
    assert not [f for f in c["files"] if not f.get("refused")]


def test_out_needs_get(box):
    c = run("run", "--out", box, "--", "true")
    assert c.rc == 2 and "--out" in c.stderr


def test_out_that_cannot_be_written(put):
    c = run("run", "--get", "f", "--out", put("plain", "x"), "--", "touch", "f")
    assert c.rc == 125 and "--out" in c.stderr, str(c)


def test_out_is_checked_before_the_program_runs(put, box):
    """What cannot be kept should not be computed first: nothing was started."""
    c = run("run", "--json", "--get", "f", "--out", put("plain", "x"), "--", "touch", "f")
    assert c["status"] == "error" and c["evidence"] == {}, str(c)
