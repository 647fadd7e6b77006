# ---- a repository at one commit --------------------------------------------------------------------------------------------------------------
# Runs in a jar of its own with a mirror at /mirror, and writes to stdout one line of JSON, then a tar archive: the files of the commit, and a
# .git that holds this one commit and nothing that came before or after it. git never runs outside of a jar, and never with the mirror's configuration: its
# objects are looked at from a repository of our own. Where the repository's row has build steps they run here, when all of that is in place.
import json
import os
import re
import select
import signal
import subprocess
import sys
import time

try:
    with open("/workspace/.belljar/build.json", encoding="utf-8") as f:
        BUILD = json.load(f)
except FileNotFoundError:
    BUILD = None
# What is built may name the place where it was built: that is where the tests will see it.
TREE = BUILD["tree"] if BUILD else "/workspace/tree"
OWN = TREE + "/.git"
MIRROR = "/mirror"
OUTPUT_MAX = 6000  # of a step that fails, its end
ENV = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8",
       "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1",
       "GIT_AUTHOR_NAME": "belljar", "GIT_AUTHOR_EMAIL": "belljar@localhost", "GIT_COMMITTER_NAME": "belljar", "GIT_COMMITTER_EMAIL": "belljar@localhost"}
SAFE = ["-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.attributesFile=/dev/null",
        "-c", "protocol.allow=never", "-c", "core.pager=cat", "-c", "gc.auto=0"]
# Index entries stay valid where the files are shown: by size and whole seconds, whoever owns them.
CONFIG = {"core.checkStat": "minimal", "core.trustctime": "false", "gc.auto": "0", "maintenance.auto": "false", "core.logAllRefUpdates": "false",
          "advice.detachedHead": "false", "core.autocrlf": "false"}
LFS = b"version https://git-lfs.github.com/spec/"
# Files of tests have their contents in a store of their own (an alternate of the first): the driver removes it before the tests run. Else a patch could read
# there what a test said before a version of it was put in its place.
TESTS = re.compile(rb"(?:^|.*/)(?:tests?|testing)/.*|(?:.*/)?(?:tests?|conftest|test_[^/]*|[^/]*_tests?)\.py", re.S | re.I)
TEST_OBJECTS = "/test-objects"


def fail(error, hint=None, output=""):
    sys.stdout.write(json.dumps({"error": error[:2000], "hint": hint, "output": output}) + "\n")
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


# ---- what is built in the tree ----------------------------------------------------------------------------------------------------------------

def end_all():
    """Ends every process of the jar but this one: nothing writes to the tree any more."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run_step(words, env, deadline):
    """The exit status of a command (None: the time is over) and the end of what it printed."""
    tail = b""
    try:
        p = subprocess.Popen(words, cwd=TREE, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    except OSError as e:
        return 127, f"{words[0]}: {e.strerror}".encode()
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            end_all()
            p.wait()
            return None, tail
        if not select.select([p.stdout], [], [], min(left, 1))[0]:
            if p.poll() is not None:
                break  # a child that lives on holds the pipe
            continue
        data = os.read(p.stdout.fileno(), 65536)
        if not data:
            break
        tail = (tail + data)[-OUTPUT_MAX:]
    try:
        return p.wait(max(deadline - time.monotonic(), 0)), tail
    except subprocess.TimeoutExpired:
        end_all()
        return None, tail


def last_words(text, room):
    """The end of a text on one line."""
    text = " | ".join(line.strip() for line in text.splitlines() if line.strip())
    return text if len(text) <= room else "..." + text[3 - room:]


def build():
    """Runs the row's steps. The .git and the files of the commit are the same afterwards; what the steps made stays beside them."""
    import shutil  # only here: it takes its time
    env = {"HOME": "/tmp", "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8", **dict(x.split("=", 1) for x in BUILD["env"])}
    kept = "/workspace/kept.git"
    shutil.copytree(OWN, kept, symlinks=True)
    deadline = time.monotonic() + BUILD["timeout_ms"] / 1000
    for n, words in enumerate(BUILD["commands"], 1):
        status, tail = run_step(words, env, deadline)
        if status == 0:
            continue
        text = tail.decode("utf-8", "replace")
        how = f"did not end within {BUILD['timeout_ms'] // 1000} s" if status is None else f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
        fail(f"build step {n} ('{last_words(' '.join(words), 60)}') {how}: {last_words(text, 160)}",
             "a step has no network and cannot write to the environment; belljar swebench checkout OWNER/NAME COMMIT shows more of what it printed", text)
    end_all()
    if os.path.islink(OWN) or not os.path.isdir(OWN):
        if os.path.lexists(OWN):
            os.unlink(OWN)
    else:
        shutil.rmtree(OWN)
    shutil.copytree(kept, OWN, symlinks=True)
    git(f"--work-tree={TREE}", "checkout-index", "-a", "-f", "-q", cwd=TREE)


def stamp(paths, submodules, when):
    """The files of the commit, and the folders that they are in, have the commit's time."""
    ns = int(when) * 10**9
    folders = {os.fsencode(TREE), *filter(os.path.isdir, (os.path.join(os.fsencode(TREE), os.fsencode(s)) for s in submodules))}
    for path in paths:
        path = os.path.join(os.fsencode(TREE), path)
        os.utime(path, ns=(ns, ns), follow_symlinks=False)
        path = os.path.dirname(path)
        while path not in folders:
            folders.add(path)
            path = os.path.dirname(path)
    for path in folders:
        os.utime(path, ns=(ns, ns))


def copy_objects(ids, env):
    """Objects as the mirror has them: nothing is compressed anew that need not be, and nothing else comes along."""
    if not ids:
        return
    env = {**ENV, **env}
    pack = subprocess.Popen(["git", *SAFE, f"--git-dir={OWN}", "-c", "pack.window=0", "-c", "core.compression=1", "-c", "pack.compression=1",
                             "pack-objects", "--stdout", "-q", "--window=0"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    index = subprocess.Popen(["git", *SAFE, f"--git-dir={OWN}", "index-pack", "--stdin"], env=env, stdin=pack.stdout, stdout=subprocess.DEVNULL)
    pack.stdout.close()
    pack.stdin.write("".join(i + "\n" for i in sorted(ids)).encode())
    pack.stdin.close()
    if pack.wait() or index.wait():
        fail("git could not copy the commit's objects", "git fsck the mirror; a partial clone lacks some")


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
    ids, test_ids, submodules, small, paths = {tree}, set(), [], [], []
    for row in listing:
        head, _, path = row.partition(b"\t")
        mode, kind, oid, size = head.split()
        if kind == b"commit":
            submodules.append(path.decode("utf-8", "surrogateescape"))
            continue
        (test_ids if kind == b"blob" and TESTS.fullmatch(path) else ids).add(oid.decode())
        if kind == b"blob":
            paths.append(path)
        if kind == b"blob" and mode != b"120000" and int(size) < 1024:
            small.append(path)

    os.makedirs(OWN + TEST_OBJECTS + "/pack")
    copy_objects(ids, {})
    copy_objects(test_ids - ids, {"GIT_OBJECT_DIRECTORY": OWN + TEST_OBJECTS, "GIT_ALTERNATE_OBJECT_DIRECTORIES": MIRROR + "/objects"})
    with open(OWN + "/objects/info/alternates", "w") as f:  # from here on there is nothing but the two packs
        f.write(".." + TEST_OBJECTS + "\n")
    date = {"GIT_AUTHOR_DATE": f"{when} +0000", "GIT_COMMITTER_DATE": f"{when} +0000"}
    base = git("commit-tree", tree, "-m", "base", env=date).stdout.decode().strip()
    git("update-ref", "refs/heads/base", base)
    git("read-tree", "HEAD")
    git(f"--work-tree={TREE}", "checkout-index", "-a", "-q", cwd=TREE)
    stamp(paths, submodules, when)
    git(f"--work-tree={TREE}", "update-index", "-q", "--really-refresh", cwd=TREE, check=False)
    if BUILD:
        build()
        stamp(paths, submodules, when)
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
