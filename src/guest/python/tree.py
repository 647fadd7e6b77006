# ---- a repository at one commit --------------------------------------------------------------------------------------------------------------
# Runs in a jar of its own with a mirror at /mirror, and writes to stdout one line of JSON, then a tar archive: the files of the commit, and a
# .git that holds this one commit and nothing that came before or after it. git never runs outside of a jar, and never with the mirror's configuration: its
# objects are looked at from a repository of our own.
import json
import os
import re
import subprocess
import sys

TREE = "/workspace/tree"
OWN = TREE + "/.git"
MIRROR = "/mirror"
ENV = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8",
       "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1",
       "GIT_AUTHOR_NAME": "belljar", "GIT_AUTHOR_EMAIL": "belljar@localhost", "GIT_COMMITTER_NAME": "belljar", "GIT_COMMITTER_EMAIL": "belljar@localhost"}
SAFE = ["-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.attributesFile=/dev/null",
        "-c", "protocol.allow=never", "-c", "core.pager=cat", "-c", "gc.auto=0"]
# Index entries stay valid where the files are shown: by size and whole seconds, whoever owns them.
CONFIG = {"core.checkStat": "minimal", "core.trustctime": "false", "gc.auto": "0", "maintenance.auto": "false", "core.logAllRefUpdates": "false",
          "advice.detachedHead": "false", "core.autocrlf": "false"}
LFS = b"version https://git-lfs.github.com/spec/"


def fail(error, hint=None):
    sys.stdout.write(json.dumps({"error": error[:2000], "hint": hint}) + "\n")
    sys.stdout.flush()
    sys.exit(3)


def git(*words, check=True, **kw):
    p = subprocess.run(["git", *SAFE, f"--git-dir={OWN}", *words], env={**ENV, **kw.pop("env", {})}, stdout=kw.pop("stdout", subprocess.PIPE),
                       stderr=subprocess.PIPE, **kw)
    if check and p.returncode:
        fail(f"git {words[0]}: " + p.stderr.decode("utf-8", "replace").strip())
    return p


def read_ref(name, depth=0):
    """What a ref of the mirror says, read as the text that it is."""
    if depth > 5 or not re.fullmatch(r"HEAD|refs/[\w./+@-]+", name) or ".." in name:
        return None
    try:
        with open(f"{MIRROR}/{name}", encoding="ascii", errors="replace") as f:
            text = f.read(400).strip()
    except OSError:
        text = ""
        try:
            with open(f"{MIRROR}/packed-refs", encoding="utf-8", errors="replace") as f:
                text = next((line.split(" ")[0] for line in f if line.rstrip("\n").endswith(" " + name)), "")
        except OSError:
            pass
    return read_ref(text[5:].strip(), depth + 1) if text.startswith("ref: ") else text


def find(commit):
    """The full id of a commit of the mirror."""
    if not commit or commit.upper() == "HEAD":
        commit = read_ref("HEAD")
        if not commit:
            fail("the mirror has no HEAD", "name a commit")
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", commit):
        fail(f"'{commit[:80]}' is not the full id of a commit", "40 hexadecimal digits, or HEAD")
    p = git("cat-file", "-t", commit, check=False)
    if p.returncode:
        shallow = os.path.exists(MIRROR + "/shallow")
        fail(f"commit {commit} is not in the mirror" + (", which is shallow" if shallow else ""),
             f"git --git-dir=MIRROR fetch origin {commit}" + (" (or: fetch --unshallow)" if shallow else ""))
    if p.stdout.strip() != b"commit":
        fail(f"{commit} is a {p.stdout.decode().strip()}, not a commit")
    return commit


def main():
    kind = ["--object-format=sha256"] if len(sys.argv[1]) == 64 else []
    subprocess.run(["git", "init", "-q", "--template=", "-b", "base", *kind, TREE], env=ENV, check=True)
    for key, value in CONFIG.items():
        git("config", key, value)
    os.makedirs(OWN + "/objects/info", exist_ok=True)
    with open(OWN + "/objects/info/alternates", "w") as f:
        f.write(MIRROR + "/objects\n")
    commit = find(sys.argv[1])
    tree = git("rev-parse", f"{commit}^{{tree}}").stdout.decode().strip()
    header = git("cat-file", "commit", commit).stdout.split(b"\n\n")[0]
    when = re.search(rb"^committer .*> (\d{1,11}) [+-]\d{4}$", header, re.M)
    when = when[1].decode() if when else "0"
    listing = git("ls-tree", "-r", "-t", "-z", "-l", tree).stdout.split(b"\0")[:-1]
    ids, submodules, small = {tree}, [], []
    for row in listing:
        head, _, path = row.partition(b"\t")
        mode, kind, oid, size = head.split()
        if kind == b"commit":
            submodules.append(path.decode("utf-8", "surrogateescape"))
            continue
        ids.add(oid.decode())
        if kind == b"blob" and mode != b"120000" and int(size) < 1024:
            small.append(path)

    # Objects as the mirror has them: nothing is compressed anew that need not be, and nothing else comes along.
    pack = subprocess.Popen(["git", *SAFE, f"--git-dir={OWN}", "-c", "pack.window=0", "-c", "core.compression=1", "-c", "pack.compression=1",
                             "pack-objects", "--stdout", "-q", "--window=0"], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    index = subprocess.Popen(["git", *SAFE, f"--git-dir={OWN}", "index-pack", "--stdin"], env=ENV, stdin=pack.stdout, stdout=subprocess.DEVNULL)
    pack.stdout.close()
    pack.stdin.write("".join(i + "\n" for i in sorted(ids)).encode())
    pack.stdin.close()
    if pack.wait() or index.wait():
        fail("git could not copy the commit's objects", "git fsck the mirror; a partial clone lacks some")
    os.unlink(OWN + "/objects/info/alternates")  # from here on there is nothing but the pack
    date = {"GIT_AUTHOR_DATE": f"{when} +0000", "GIT_COMMITTER_DATE": f"{when} +0000"}
    base = git("commit-tree", tree, "-m", "base", env=date).stdout.decode().strip()
    git("update-ref", "refs/heads/base", base)
    git("read-tree", "HEAD")
    git(f"--work-tree={TREE}", "checkout-index", "-a", "-q", cwd=TREE)
    ns = int(when) * 10**9
    for top, dirs, files in os.walk(TREE):
        if top == TREE:
            dirs.remove(".git")
        for f in files:
            os.utime(os.path.join(top, f), ns=(ns, ns), follow_symlinks=False)
        os.utime(top, ns=(ns, ns))
    git(f"--work-tree={TREE}", "update-index", "-q", "--really-refresh", cwd=TREE, check=False)
    lfs = []
    for path in small:
        try:
            with open(os.path.join(os.fsencode(TREE), path), "rb") as f:
                if f.read(len(LFS)) == LFS:
                    lfs.append(path.decode("utf-8", "surrogateescape"))
        except OSError:
            pass
    info = {"commit": commit, "tree": tree, "base": base, "files": len(listing), "submodules": submodules[:100], "lfs": lfs[:100]}
    sys.stdout.write(json.dumps(info) + "\n")
    sys.stdout.flush()
    os.execv("/usr/bin/tar", ["tar", "-C", TREE, "--format=gnu", "--owner=0", "--group=0", "--numeric-owner", "--sort=none", "-b", "128", "-cf", "-", "."])


main()
