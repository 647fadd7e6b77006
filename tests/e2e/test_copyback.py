# SPDX-License-Identifier: Apache-2.0
"""--workspace, the way back: kinds that change, repositories in disguise, links, owners, and a host that changes its files meanwhile."""
import os
import shutil
import stat
import subprocess
import threading
import time

import pytest
from harness import ROOT, bash, own, python

KINDS = ("file", "folder", "link", "empty folder")
MAKE = {"file": "echo new > it", "folder": "mkdir -p it/sub; echo new > it/sub/in", "link": "ln -s other it", "empty folder": "mkdir it"}


@pytest.fixture
def ws(put, box):
    put("ws/other", "other")
    return box / "ws"


def refused(c):
    return {f["path"]: f["refused"] for f in c["files"] if f.get("refused")}


def content(top):
    """Everything below a folder: path, kind, bytes."""
    out = {}
    for d, dirs, files in os.walk(os.fsencode(top)):
        for n in dirs + files:
            p = os.path.join(d, n)
            s = os.lstat(p)
            out[os.path.relpath(p, os.fsencode(top)).decode(errors="surrogateescape")] = (
                os.readlink(p).decode() if stat.S_ISLNK(s.st_mode) else open(p, "rb").read() if stat.S_ISREG(s.st_mode) else "dir" if stat.S_ISDIR(s.st_mode) else "special")
    return out


def host_has(ws, put, kind):
    if kind == "file":
        put("ws/it", "old")
    elif kind == "folder":
        put("ws/it/a", "old"), put("ws/it/b/c", "old")
    elif kind == "link":
        os.symlink("other", ws / "it")
    else:
        (ws / "it").mkdir()
        own(ws / "it")


# ---- kinds that change ----

@pytest.mark.parametrize("before", KINDS)
@pytest.mark.parametrize("after", KINDS)
def test_every_change_of_kind(before, after, ws, put):
    host_has(ws, put, before)
    c = bash(f"rm -r it; {MAKE[after]}", "--workspace", ws).ok()
    assert refused(c) == {}, str(c)
    want = {"file": {"it": b"new\n"}, "folder": {"it": "dir", "it/sub": "dir", "it/sub/in": b"new\n"}, "link": {"it": "other"}, "empty folder": {"it": "dir"}}
    assert content(ws) == {"other": b"other"} | want[after]
    if before == "folder" and after != "folder":
        assert {"it/a", "it/b/c", "it/b"} <= set(c["deleted"])
    if before in ("file", "link") and after.endswith("folder"):
        assert c["deleted"] == ["it"]


def test_a_folder_that_became_a_file_keeps_its_content(ws, put):
    """F6: what was merged into one file is there afterwards."""
    put("ws/conf/a", "important")
    c = bash("cp conf/a merged; rm -rf conf; mv merged conf", "--workspace", ws).ok()
    assert (ws / "conf").read_text() == "important" and c["deleted"] == ["conf/a"] and refused(c) == {}


@pytest.mark.parametrize("what", ["mkfifo conf", "ln -s /etc conf", "ln -s ../.. conf", "truncate -s 40M conf"], ids=["fifo", "absolute", "up", "large"])
def test_a_refused_replacement_removes_nothing(what, ws, put):
    put("ws/conf/a", "important")
    c = bash(f"rm -rf conf; {what}", "--workspace", ws, "--disk", "20M")
    assert (ws / "conf" / "a").read_text() == "important" and c["deleted"] == [], str(c)
    assert "conf" in refused(c) or "large" in str(c) or c["limits_hit"] or c["exit_code"], str(c)


def test_nothing_is_removed_when_a_file_was_too_large(ws, put):
    """It may be what became of a file that is gone."""
    put("ws/data", "important")
    c = bash("for i in 1 2 3 4 5; do truncate -s 9M big$i; done; rm data", "--workspace", ws, "--disk", "10M").ok()
    assert refused(c) and c["files_incomplete"] is True and c["deleted"] == [] and (ws / "data").read_text() == "important", str(c)


def test_a_file_moved_to_where_it_is_refused_stays(ws, put):
    put("ws/data", "important"), put("ws/gone", "x")
    c = bash("mkdir -p .git; mv data .git/data; rm gone", "--workspace", ws).ok()
    assert (ws / "data").read_text() == "important" and c["deleted"] == ["gone"]
    assert ".git/data" in refused(c) and "stays" in refused(c)["data"], str(c)


def test_a_folder_with_more_than_went_in_is_not_replaced(ws, put):
    """A socket in it did not go in, and a repository never goes away."""
    put("ws/conf/a", "old"), put("ws/repo/.git/config", "host's")
    os.mkfifo(ws / "conf" / "fifo")
    c = bash("rm -rf conf repo; echo x > conf; echo x > repo", "--workspace", ws).ok()
    assert (ws / "conf/a").read_text() == "old" and (ws / "repo/.git/config").read_text() == "host's" and os.path.lexists(ws / "conf/fifo")
    assert {"conf", "repo"} <= set(refused(c)) and c["deleted"] == [], str(c)


def test_nothing_is_left_of_the_copy(ws, put):
    put("ws/it/a", "old"), put("ws/change", "old")
    bash("rm -r it; echo x > it; echo y > change; ln -s it l", "--workspace", ws).ok()
    assert sorted(os.listdir(ws)) == ["change", "it", "l", "other"]


# ---- the host changes its files while the program runs ----

def meanwhile(ws, code, change):
    fifo = ws.parent / "go"
    os.mkfifo(fifo)
    own(fifo)

    def later():
        time.sleep(1.2)
        change()
        with open(fifo, "w") as f:
            f.write("go\n")
    t = threading.Thread(target=later)
    t.start()
    try:
        return bash(f"read line; {code}", "--workspace", ws, "--stdin", fifo).ok()
    finally:
        t.join()


def test_an_edit_of_the_host_is_not_undone(ws, put):
    """The program left it as it was: what went in does not come back over the host's newer one."""
    put("ws/mine", "v1")
    c = meanwhile(ws, "true", lambda: (ws / "mine").write_text("v2 of the host"))
    assert (ws / "mine").read_text() == "v2 of the host" and c["files"] == [], str(c)


def test_edits_of_both_the_hosts_stays(ws, put):
    put("ws/both", "v1"), put("ws/removed", "v1")

    def change():
        (ws / "both").write_text("host")
        (ws / "removed").write_text("host's newer")
        (ws / "new").write_text("host")
    c = meanwhile(ws, "echo guest > both; rm removed; echo guest > new", change)
    assert (ws / "both").read_text() == "host" and (ws / "removed").read_text() == "host's newer" and (ws / "new").read_text() == "host"
    assert set(refused(c)) == {"both", "removed", "new"} and c["deleted"] == [], str(c)


# ---- repositories in disguise ----

EVIL = r"""printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = "."\n\tfsmonitor = "touch %s; false"\n' """
BARE = "mkdir -p {d}/objects {d}/refs; echo 'ref: refs/heads/main' > {d}/HEAD; " + EVIL + "{mark} > {d}/config"
REPOSITORIES = {
    "bare": (BARE.format(d="lib", mark="{mark}"), "lib"),
    "deep": (BARE.format(d="a/b/c/d", mark="{mark}"), "a/b/c/d"),
    "below": (BARE.format(d="lib", mark="{mark}") + "; mkdir -p lib/src/deep; echo x > lib/src/deep/f", "lib"),
    "top": (BARE.format(d=".", mark="{mark}"), "."),
    "detached": (BARE.format(d="lib", mark="{mark}") + "; echo 0123456789012345678901234567890123456789 > lib/HEAD", "lib"),
    "head is a link": (BARE.format(d="lib", mark="{mark}") + "; ln -sf refs/heads/main lib/HEAD", "lib"),
    "links in it": (BARE.format(d="lib", mark="{mark}") + "; rm -r lib/objects lib/refs; ln -s . lib/objects; ln -s . lib/refs", "lib"),
    "commondir": ("mkdir -p lib common/objects common/refs; echo 'ref: refs/heads/main' > lib/HEAD; echo ../common > lib/commondir; "
                  + r"""printf '[remote "origin"]\n\turl = .\n\tuploadpack = "touch %s; false"\n' {mark} > common/config""", "lib"),
    "gitfile": (BARE.format(d="store", mark="{mark}") + "; mkdir sub; echo 'gitdir: ../store' > sub/.git", "sub"),
    "git link": (BARE.format(d="store", mark="{mark}") + "; mkdir sub; ln -s ../store sub/.git", "sub"),
    "renamed": ("mkdir x; " + BARE.format(d="x/.git", mark="{mark}") + "; mv x/.git lib", "lib"),
}


def git_runs(folder, mark):
    """Do commands of git in this folder, or in any below it, run what the guest wants?"""
    env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null", HOME="/nonexistent")
    for d, _, _ in os.walk(folder):
        for words in (["status"], ["diff"], ["add", "."], ["fetch"]):
            subprocess.run(["git", "-c", "safe.directory=*", *words], cwd=d, env=env, capture_output=True)
    return mark.exists()


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.parametrize("name", REPOSITORIES)
def test_no_repository_of_the_guest_comes_back(name, ws, box):
    mark = box / "mark"
    code, where = REPOSITORIES[name]
    c = bash(code.replace("{mark}", str(mark)), "--workspace", ws).ok()
    assert not git_runs(ws, mark), str(c)
    assert any("git's own data" in why for why in refused(c).values()), str(c)
    # the test itself: the same made on the host does run it
    shutil.rmtree(ws), ws.mkdir()
    subprocess.run(["bash", "-c", code.replace("{mark}", str(mark))], cwd=ws, check=True)
    assert git_runs(ws, mark), f"git does not look at {where}: the case shows nothing"


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.parametrize("first", ["HEAD", "rest"])
def test_no_repository_is_put_together_in_two_runs(first, ws, box):
    mark = box / "mark"
    head, rest = "mkdir -p lib; echo 'ref: refs/heads/main' > lib/HEAD", BARE.format(d="lib", mark=str(mark)).replace("echo 'ref: refs/heads/main' > lib/HEAD; ", "")
    for code in (head, rest) if first == "HEAD" else (rest, head):
        bash(code, "--workspace", ws).ok()
    assert not git_runs(ws, mark)


def test_a_repository_of_the_hosts_stays_as_it_is(ws, put):
    """Whatever its name: a fixture of tests, a store beside the tree."""
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n"), ("objects/x", "o"), ("refs/heads/main", "r")):
        put(f"ws/store/{name}", text)
    before = content(ws)
    c = bash("echo evil >> store/config; mkdir store/hooks; echo evil > store/hooks/x; rm store/objects/x; rm -r store/refs; ln -s store/hooks hk", "--workspace", ws).ok()
    assert content(ws) == before and c["deleted"] == [], str(c)
    assert {"store/config", "store/hooks/x", "hk"} <= set(refused(c)), str(c)


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.parametrize("pattern", ["*", "**", ".git", "lib", "config"])
def test_no_repository_comes_by_get_either(pattern, box):
    """--out . in a repository of the host's: its config is not the guest's to write, nor is any other that git would find."""
    mark, out = box / "mark", box / "out"
    subprocess.run(["git", "init", "-q", *(["--bare"] if pattern == "config" else []), out], check=True)
    before = (out / ("config" if pattern == "config" else ".git/config")).read_text()
    for p in [out, *out.rglob("*")]:
        own(p)
    evil = EVIL + f"{mark} > "
    c = bash(BARE.format(d="lib", mark=mark) + f"; mkdir .git; {evil} .git/config; {evil} config", "--get", pattern, "--out", out).ok()
    assert (out / ("config" if pattern == "config" else ".git/config")).read_text() == before and not git_runs(out, mark), str(c)
    assert any("git's own data" in why for why in refused(c).values()), str(c)


def test_a_head_alone_is_a_file_like_any_other(ws):
    bash("mkdir d e; echo x > d/HEAD; mkdir e/HEAD e/refs; echo x > e/HEAD/f", "--workspace", ws).ok()
    assert (ws / "d/HEAD").read_text() == "x\n" and (ws / "e/HEAD/f").read_text() == "x\n"


@pytest.mark.parametrize("target", [".git/hooks", ".git", "./.git/config", "sub/../.git", "via/hooks", ".GIT/config"])
def test_links_into_git_are_refused(target, ws, put):
    put("ws/.git/config", "host's"), put("ws/.git/hooks/x", "host's"), put("ws/sub/f", "x")
    os.symlink(".git", ws / "via")
    c = bash(f"ln -s {target} hk; ln -s ../{target} sub/hk", "--workspace", ws).ok()
    assert set(refused(c)) == {"hk", "sub/hk"} and not os.path.lexists(ws / "hk") and not os.path.lexists(ws / "sub/hk"), str(c)


@pytest.mark.parametrize("name", [".hg/hgrc", ".jj/repo/config.toml"])
def test_other_version_control_is_treated_as_git(name, ws):
    c = bash(f"mkdir -p {os.path.dirname(name)}; echo x > {name}", "--workspace", ws).ok()
    assert "own data" in refused(c)[name] and not (ws / name).exists()


# ---- links ----

INSIDE = {"node_modules/.bin/x": "../x/cli.js", "alias": "libfoo..so", "a/b/c/top": "../../..", "a/up": "../other", "dangling": "not/there", "dots": "a/.../q"}
OUTSIDE = {"abs": "/etc/passwd", "up": "..", "a/up": "../../x", "a/b/c/far": "../../../../x", "mixed": "a/b/../../../x", "through": "a/b/c/top/../x"}


def linked(links):
    return "; ".join(f"mkdir -p $(dirname {p}); ln -s {t} {p}" for p, t in links.items())


def test_links_that_stay_inside_make_the_round_trip(ws):
    c = bash("mkdir -p node_modules/x; echo 1 > node_modules/x/cli.js; " + linked(INSIDE), "--workspace", ws).ok()
    assert refused(c) == {} and {p: os.readlink(ws / p) for p in INSIDE} == INSIDE, str(c)
    c = bash("cat node_modules/.bin/x a/up; readlink " + " ".join(INSIDE), "--workspace", ws).ok()
    assert c["stdout"].split("\n")[:2] == ["1", "other" + INSIDE["node_modules/.bin/x"]] and c["files"] == [] and c["deleted"] == [], str(c)


def test_links_that_leave_are_refused(ws):
    c = bash("mkdir -p a/b/c; ln -s ../../.. a/b/c/top; " + linked(OUTSIDE), "--workspace", ws).ok()
    assert set(refused(c)) == set(OUTSIDE) and all("leaves the folder" in why for why in refused(c).values()), str(c)
    assert not [p for p in OUTSIDE if os.path.lexists(ws / p)]


def test_links_through_a_link_of_the_hosts_that_leaves(ws, box, put):
    """The host may have links to wherever it likes; a guest's do not lead through them."""
    put("outside/secret", "host secret")
    os.symlink("../outside", ws / "ext")
    c = bash("ln -s ext/secret one; ln -s ext two; mkdir d; ln -s ../ext/secret d/three", "--workspace", ws).ok()
    assert set(refused(c)) == {"one", "two", "d/three"} and os.readlink(ws / "ext") == "../outside", str(c)


def test_a_link_of_the_hosts_replaced_by_a_folder(ws, box, put):
    put("outside/f", "host")
    os.symlink("../outside", ws / "ext")
    bash("rm ext; mkdir ext; echo guest > ext/f", "--workspace", ws).ok()
    assert (box / "outside/f").read_text() == "host" and not (ws / "ext").is_symlink() and (ws / "ext/f").read_text() == "guest\n"


# ---- owners and modes ----

@pytest.mark.skipif(not ROOT, reason="only root has files of other users")
def test_what_comes_back_belongs_to_the_owner(ws, put):
    put("ws/mine", "x", 0o640), put("ws/theirs", "x"), put("ws/turn/f", "x")
    os.symlink("mine", ws / "link")
    for p in (ws, ws / "mine", ws / "turn", ws / "turn/f"):
        os.lchown(p, 65534, 65534)
    os.chown(ws / "theirs", 12, 34)
    bash("echo 2 > mine; echo 2 > theirs; echo 3 > new; chmod 6777 new; mkdir -p d/e; echo 4 > d/e/f; ln -s new l; rm -r turn; echo x > turn", "--workspace", ws).ok()
    owners = {n: (os.lstat(ws / n).st_uid, os.lstat(ws / n).st_gid) for n in ("mine", "theirs", "new", "d", "d/e", "d/e/f", "l", "turn")}
    assert owners == dict.fromkeys(owners, (65534, 65534)) | {"theirs": (12, 34)}
    assert os.stat(ws / "new").st_mode & 0o7777 == 0o755 and os.stat(ws / "mine").st_mode & 0o7777 == 0o640


@pytest.mark.skipif(not ROOT, reason="only root has files of other users")
def test_artifacts_belong_to_the_owner_of_out(box):
    (box / "out").mkdir()
    os.chown(box / "out", 65534, 65534)
    bash("mkdir d; echo x > d/f", "--get", "d", "--out", box / "out").ok()
    assert [(s.st_uid, s.st_gid) for s in (os.stat(box / "out/d"), os.stat(box / "out/d/f"))] == [(65534, 65534)] * 2


def test_group_write_of_the_hosts_stays(ws, put):
    """A guest gives no rights to others, and takes none that the host's own file gave."""
    put("ws/shared", "x", 0o664), put("ws/private", "x", 0o600)
    bash("echo 2 > shared; echo 2 > private; chmod 666 private", "--workspace", ws).ok()
    assert os.stat(ws / "shared").st_mode & 0o7777 == 0o664 and os.stat(ws / "private").st_mode & 0o7777 == 0o644


def test_a_private_folder_stays_private(ws):
    bash("mkdir -m 700 secret; echo x > secret/f; mkdir -m 0 none; mkdir -m 777 open", "--workspace", ws).ok()
    assert [os.stat(ws / n).st_mode & 0o7777 for n in ("secret", "none", "open")] == [0o700, 0o700, 0o755]


# ---- names ----

NAMES = """.pdbrc justfile Rakefile Gemfile CMakeLists.txt setup.cfg noxfile.py mise.toml .tool-versions flake.nix build.gradle gradlew .eslintrc.js jest.config.js
vite.config.js Dockerfile docker-compose.yml .gitlab-ci.yml Cargo.toml .yarnrc.yml .pnpmfile.cjs .dir-locals.el .nvim.lua .irbrc tasks.py manage.py .windsurfrules
.aider.conf.yml opencode.json .codex/config.toml .continue/config.json .zed/tasks.json go.mod .bazelrc WORKSPACE Vagrantfile random.py .netrc .screenrc .tmux.conf
.xinitrc package-lock.json .gitconfig .git-credentials .ssh/authorized_keys .gnupg/gpg.conf .config/fish/config.fish .hgrc .hg/hgrc .svn/wc.db .jj/repo .githooks/x""".split()


def test_names_that_hosts_act_on_are_marked(ws):
    plain = ["main.py", "src/app.js", "notes.txt", "data.json", "pkg/random.py", "rc", "config.js.txt"]
    c = bash(f"for n in {' '.join(NAMES + plain)} pkg/__init__.py; do mkdir -p $(dirname $n); echo x > $n; done", "--workspace", ws).ok()
    marked = {f["path"] for f in c["files"] if f.get("review")}
    assert marked == set(NAMES), (marked - set(NAMES), set(NAMES) - marked)


# ---- siblings ----

def test_two_names_for_one_place(box):
    """tmp/x of the workspace and /tmp/x: the second does not cover the first."""
    c = bash("mkdir tmp; echo workspace > tmp/x; echo tmp > /tmp/x", "--get", "tmp/x", "--get", "/tmp/x", "--out", box / "out").ok()
    assert (box / "out/tmp/x").read_text() == "workspace\n" and set(refused(c)) == {"/tmp/x"}, str(c)


def test_holes_stay_holes(ws):
    c = bash("truncate -s 30M sparse; echo end >> sparse; truncate -s 20M zeros", "--workspace", ws).ok()
    assert os.stat(ws / "sparse").st_size == (30 << 20) + 4 and (ws / "sparse").read_bytes()[-4:] == b"end\n" and os.stat(ws / "zeros").st_size == 20 << 20, str(c)
    assert os.stat(ws / "sparse").st_blocks * 512 < 1 << 20 and os.stat(ws / "zeros").st_blocks == 0


def test_odd_names_change_their_kind_too(ws):
    names = [b"new\nline", b"bad\xff", b"-rf", b"*", b"sp ace"]
    for n in names:
        os.mkdir(os.fsencode(ws) + b"/" + n)
        with open(os.fsencode(ws) + b"/" + n + b"/f", "w") as f:
            f.write("x")
    subprocess.run(["chown", "-R", f"--reference={ws}", ws], check=True)
    python(f"import os, shutil\nfor n in {names!r}: shutil.rmtree(n); open(n, 'w').write('file')", "--workspace", ws).ok()
    assert all(open(os.fsencode(ws) + b"/" + n).read() == "file" for n in names)


def test_read_only_files_and_folders(ws, put):
    put("ws/ro/f", "x", 0o444), put("ws/file", "x", 0o444)
    bash("chmod u+w file && echo y > file && chmod 444 file; rm -rf ro; echo z > ro; chmod 444 ro", "--workspace", ws).ok()
    assert (ws / "file").read_text() == "y\n" and (ws / "ro").read_text() == "z\n" and os.stat(ws / "ro").st_mode & 0o7777 == 0o444


def test_what_cannot_be_removed_is_said(ws, put):
    """An immutable file in a folder that became a file: it was moved aside, and is named."""
    put("ws/conf/a", "important")
    if not ROOT or subprocess.run(["chattr", "+i", ws / "conf/a"], capture_output=True).returncode:
        pytest.skip("no immutable files here")
    try:
        c = bash("rm -r conf; echo x > conf", "--workspace", ws).ok()
        kept = [p for p in ws.rglob("a") if p.read_text() == "important"]
        assert kept and any(str(kept[0].relative_to(ws)).startswith(p) for p in refused(c)), str(c)
    finally:
        for p in ws.rglob("a"):
            subprocess.run(["chattr", "-i", p], check=True)


def test_many_changes_of_kind_are_quick(ws):
    """Each costs what is in its folder, not what is in all: ten times as many may cost 30 times as much, not a hundred times."""
    def cost(n):
        top = ws / str(n)
        for i in range(n):
            (top / f"d{i}").mkdir(parents=True)
            (top / f"d{i}/f").write_text("x")
        subprocess.run(["chown", "-R", f"--reference={ws}", ws], check=True)
        begun = time.monotonic()
        c = bash(f"for i in $(seq 0 {n - 1}); do rm -r d$i/f; rmdir d$i; echo y > d$i; done", "--workspace", top, "-t", "120s").ok()
        assert refused(c) == {} and len(c["deleted"]) == n and (top / f"d{n - 1}").read_text() == "y\n"
        return time.monotonic() - begun - c["elapsed_s"]
    few = min(cost(300), cost(301))
    assert cost(3000) < 30 * max(few, 0.05), few


def test_hard_links_of_the_guest_are_files_of_their_own(ws):
    bash("echo x > a; ln a b", "--workspace", ws).ok()
    assert os.stat(ws / "a").st_ino != os.stat(ws / "b").st_ino and (ws / "b").read_text() == "x\n"


def test_a_full_target_loses_nothing(ws, put, box):
    """A workspace without room for what comes: nothing of the old goes away."""
    if not ROOT:
        pytest.skip("a file system of its own needs root")
    small = box / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", small], capture_output=True).returncode:
        pytest.skip("no mount here")
    try:
        (small / "conf").mkdir()
        (small / "conf" / "a").write_text("important")
        (small / "data").write_text("important")
        c = bash("rm -r conf data; head -c 2000000 /dev/urandom > conf; echo x > new", "--workspace", small).ok()
        assert (small / "conf/a").read_text() == "important" and (small / "data").read_text() == "important", str(c)
        assert c["deleted"] == [] and c["files_incomplete"] is True and "conf" in refused(c) and sorted(os.listdir(small)) == ["conf", "data", "new"], str(c)
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_mount_in_the_workspace(ws, put):
    """The staging folder is on another file system than a part of the workspace."""
    if not ROOT:
        pytest.skip("a file system of its own needs root")
    (ws / "vol").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", ws / "vol"], capture_output=True).returncode:
        pytest.skip("no mount here")
    try:
        (ws / "vol/f").write_text("old")
        c = bash("echo new > vol/f; echo more > vol/g; ln -s f vol/l; mkdir vol/d; echo x > vol/d/x", "--workspace", ws).ok()
        assert refused(c) == {} and content(ws / "vol") == {"f": b"new\n", "g": b"more\n", "l": "f", "d": "dir", "d/x": b"x\n"}, str(c)
        c = bash("rm -r vol; echo x > vol", "--workspace", ws).ok()
        assert "vol" in refused(c) and (ws / "vol/f").read_text() == "new\n", str(c)
    finally:
        subprocess.run(["umount", ws / "vol"], check=True)
