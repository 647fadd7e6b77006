# SPDX-License-Identifier: Apache-2.0
"""--layer: a folder of the host with a private writable layer over it."""
import os

import pytest
from harness import ROOT, bash, jar, own


@pytest.fixture
def tree(put, box):
    """A folder that a guest may change by its modes; as root the modes of its owner suffice."""
    put("tree/a", "old\n"), put("tree/sub/b", "b\n"), put("tree/run", "#!/bin/sh\necho ran\n")
    os.symlink("a", box / "tree" / "link")
    for top, _, files in os.walk(box / "tree"):
        os.chmod(top, 0o777 if not ROOT else 0o755)
        for f in files:
            if f != "link":
                os.chmod(os.path.join(top, f), (0o666 if not ROOT else 0o644) | (0o111 if f == "run" else 0))
    own(box)
    return box / "tree"


def state(tree):
    return {str(p.relative_to(tree)): (p.lstat().st_mode, p.lstat().st_mtime_ns, os.readlink(p) if p.is_symlink() else p.is_file() and p.read_bytes())
            for p in [tree, *tree.rglob("*")]}


def test_everything_can_be_changed_and_nothing_is(tree):
    before = state(tree)
    chmod = "chmod 600 z && " if ROOT else ""  # rootless a guest is not the owner, only let in by the modes
    code = f"cd /t && echo new >> a && cat a link && rm -r sub && mkdir sub && echo c > sub/c && mv a z && {chmod}ln -s z y && ./run && ls -A . sub"
    assert bash(code, "--layer", f"{tree}:/t").ok()["stdout"].split() == ["old", "new", "old", "new", "ran", ".:", "link", "run", "sub", "y", "z", "sub:", "c"]
    assert state(tree) == before
    assert bash("cd /t && cat a sub/b && ls -A", "--layer", f"{tree}:/t").ok()["stdout"].split() == ["old", "b", "a", "link", "run", "sub"]


def test_it_can_lie_below_the_workspace_and_there_can_be_two(tree):
    c = bash("echo 1 > w/a; echo 2 > /u/a; cat w/a /u/a", "--layer", f"{tree}:/workspace/w", "--layer", f"{tree}:/u").ok()
    assert c["stdout"] == "1\n2\n" and (tree / "a").read_text() == "old\n"


def test_its_budget_is_its_own(tree):
    c = bash("head -c 3M /dev/zero > /t/x; head -c 3M /dev/zero > x; head -c 3M /dev/zero > /t/y; stat -c %s /t/x x /t/y", "--disk", "4M", "--layer", f"{tree}:/t")
    x, w, y = map(int, c["stdout"].split())
    assert x == w == 3 << 20 and y < 3 << 20, c
    assert "No space left" in c["stderr"]


def test_what_was_not_changed_costs_nothing(tree):
    (tree / "big").write_bytes(bytes(8 << 20))
    own(tree / "big")
    assert bash("wc -c < /t/big", "--disk", "1M", "-m", "64M", "--layer", f"{tree}:/t").ok()["stdout"].strip() == str(8 << 20)


def test_no_write(tree):
    c = bash("echo x > /t/a || echo x > /t/new || echo refused", "--no-write", "--layer", f"{tree}:/t")
    assert c["stdout"] == "refused\n"


def test_the_parts_are_not_seen(tree):
    c = bash("ls -A /run; cat /proc/self/mountinfo | grep -c ' /t '; ls /sys 2>&1", "--layer", f"{tree}:/t")
    assert c["stdout"].split()[0] == "1" and "No such file" in c["stdout"]


def test_set_user_id_and_devices_stay_harmless(tree):
    os.chmod(tree / "run", 0o4755)
    c = bash("grep ' /t ' /proc/self/mountinfo; stat -f -c %T /t", "--layer", f"{tree}:/t").ok()
    options = c["stdout"].split()[5].split(",")
    assert "nosuid" in options and "nodev" in options


def test_locks_are_not_shared(tree):
    """Two jars over one folder: neither sees the other's lock (MT-05)."""
    from harness import finish, start
    import subprocess
    p = start("run", "--layer", f"{tree}:/t", "--", "/usr/bin/flock", "/t/a", "sh", "-c", "echo held; sleep 3", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert p.stdout.readline() == b"held\n"
        assert jar("--layer", f"{tree}:/t", "--", "/usr/bin/flock", "-n", "/t/a", "echo", "free").ok()["stdout"] == "free\n"
    finally:
        finish(p)


@pytest.mark.parametrize("what,says", [("/:/t", "shows the host"), ("/proc:/t", "shows the host"), ("{f}:/t", "not a folder"), ("{d}:/etc", "cannot be a target"),
                                       ("{d}/none:/t", "No such file"), ("{d}", "is not SRC:DST")])
def test_refusals(tree, what, says):
    c = jar("--layer", what.format(f=tree / "a", d=tree), "--", "true")
    assert c.rc in (2, 125) and says in c["error"], c["error"]


@pytest.mark.skipif(not ROOT, reason="ids are mapped for root alone")
def test_of_others_files_only_the_owners_are_the_guests(tree):
    os.chown(tree / "sub" / "b", 12345, 12345)
    c = bash("stat -c '%U %n' /t /t/a /t/sub/b; echo x >> /t/a && echo changed; echo x >> /t/sub/b || echo refused", "--layer", f"{tree}:/t")
    assert c["stdout"].split() == ["guest", "/t", "guest", "/t/a", "nobody", "/t/sub/b", "changed", "refused"]
    assert (tree / "sub" / "b").read_text() == "b\n" and (tree / "a").read_text() == "old\n"


def test_an_allow_list_holds(tree):
    """Nothing of a layer can be executed under an allow-list, and no program of it can be on the list: it could be rewritten."""
    c = jar("--layer", f"{tree}:/t", "--allow", "/t/run,sh", "--", "/t/run")
    assert c.rc == 125 and "--layer" in c["error"], c["error"]
    c = jar("--layer", f"{tree}:/t", "--allow", "sh,cp,true", "--", "sh", "-c", "cp /bin/true /t/run; /t/run && echo ran; /t/link || echo refused")
    assert "ran" not in c["stdout"].split() and "refused" in c["stdout"], c["stdout"]
