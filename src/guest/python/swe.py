# SPDX-License-Identifier: Apache-2.0
# Repository-level patches (src/grade/swe_*.c): two programs in one file, both in the jar.
#
# The driver applies the patches, puts the files of the tests where they belong, starts the runner, and says on its standard output what it sees, as
# frames. Nothing of the model ever runs in its process, and nobody may look into it: what it says about the tree and about the runner's end is true.
# The runner is a process of its own. It imports what it needs, then opens the checkout's folders, and runs the repository's own test runner inside of
# itself with a reporter. Patch and tests share that interpreter: what the reporter says is evidence, not proof. So a test has passed only when two
# agree that do not know each other, the runner of the repository, and a witness around the test's function, and when both still speak at the end.
#
# Frame: length (4 bytes, little endian), JSON. One comes in, the job (see drive() and patch_all()); these go out:
#	apply      outcome, method, notes, attempts, rejects, files, ms, detail (why a patch was refused)
#	tampering  what, path, action (restored, removed, seen), detail
#	ready      renamed {id: function}, kept {id: why it was not renamed}, canary_file, ns, apply_ns
#	out        data: the runner's output
#	test       id, orig (id with its old name), outcome, phase, name, class, module, file, doc, str, ms, detail
#	finish     counts {outcome: n}, exit: the test runner's own end, only when it came to it
#	tests_end  exit, signal, children_left: from the kernel
import os
import sys

if len(sys.argv) > 1 and sys.argv[1] == "runner":
    sys.path[:] = [p for p in sys.path if p and p != os.path.dirname(os.path.abspath(__file__))]

import re
import select
import struct
import time

GIT, PATCH, CP, PYTHON = "/usr/bin/git", "/usr/bin/patch", "/bin/cp", sys.executable or "/usr/bin/python3"
LOG_MAX, REJECTS_MAX, TEXT_MAX, FRAME_MAX = 8 << 10, 20 << 10, 4096, 1 << 20
NONCE = 16


class Refused(Exception):
    """A patch that is not tried: the outcome's name, and why."""

    def __init__(self, outcome, why):
        super().__init__(why)
        self.outcome = outcome


# ---- frames ------------------------------------------------------------------------------------------------------------------------------

def safe_text(text):
    """Text without lone surrogates: what was no UTF-8 shows as \\xNN."""
    try:
        text.encode("utf-8")
        return text
    except UnicodeEncodeError:
        pass
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def read_exactly(fd, n):
    parts = []
    while n:
        part = os.read(fd, min(n, 1 << 20))
        if not part:
            return None
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def read_frame(fd):
    head = read_exactly(fd, 4)
    return None if head is None else read_exactly(fd, struct.unpack("<I", head)[0])


# ==== the driver ==========================================================================================================================

def hide():
    """Nobody looks into this process, and orphans of the runner become our children."""
    import ctypes
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(4, 0, 0, 0, 0) != 0:  # PR_SET_DUMPABLE
        raise OSError(ctypes.get_errno(), "the driver cannot make itself non-dumpable")
    prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


class Front:
    """Whoever reads our standard output."""

    def __init__(self, fd):
        import json
        self.fd, self.dumps, self.loads = fd, json.dumps, json.loads

    def say(self, t, **fields):
        data = self.dumps({"t": t, **fields}).encode("ascii")
        write_all(self.fd, struct.pack("<I", len(data)) + data)


def spawn(argv, env, stdin, out, extra=(), session=False):
    actions = [(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, out, 2)]
    actions += [(os.POSIX_SPAWN_DUP2, a, b) for a, b in extra]
    return os.posix_spawn(argv[0], argv, env, file_actions=actions, setsid=session)


class Tools:
    """git and patch, in a clean environment and with a time limit."""

    def __init__(self, tree, limit_s):
        self.tree, self.end = tree, time.monotonic() + limit_s
        self.null = os.open("/dev/null", os.O_RDWR)
        self.env = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
                    "GIT_ATTR_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_DIR": tree + "/.git", "GIT_WORK_TREE": tree}

    def run(self, argv, stdin=None):
        """Its exit status (None: it took too long or was killed) and what it printed."""
        out = os.memfd_create("out")
        try:
            pid = spawn(argv, self.env, self.null if stdin is None else stdin, out)
            watch = os.pidfd_open(pid)
            late = not select.select([watch], [], [], max(0.0, self.end - time.monotonic()))[0]
            if late:
                os.kill(pid, 9)
            status = os.waitpid(pid, 0)[1]
            os.close(watch)
            os.lseek(out, 0, 0)
            text = os.read(out, 4 << 20)
        finally:
            os.close(out)
        return (os.WEXITSTATUS(status) if os.WIFEXITED(status) and not late else None), text

    def git(self, *args, stdin=None):
        return self.run([GIT, "-C", self.tree, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.attributesFile=/dev/null",
                         "-c", "core.untrackedCache=false", "-c", "safe.directory=*", *args], stdin)


# ---- the headers of a patch --------------------------------------------------------------------------------------------------------------

ESCAPES = {ord("n"): 10, ord("t"): 9, ord("r"): 13, ord("a"): 7, ord("b"): 8, ord("f"): 12, ord("v"): 11, ord('"'): 34, ord("\\"): 92}
IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")  # HFS+ does not see them
HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def unquote(raw):
    """A name as git quotes it: (name, what follows it)."""
    out, i = bytearray(), 1
    while i < len(raw) and raw[i] != 34:
        c = raw[i]
        if c == 92 and i + 1 < len(raw):
            i += 1
            digits = re.match(rb"[0-3][0-7]{2}", raw[i:i + 3])
            if digits:
                out.append(int(digits.group(), 8))
                i += 3
                continue
            c = ESCAPES.get(raw[i], raw[i])
        out.append(c)
        i += 1
    return bytes(out), raw[i + 1:]


def header_name(raw):
    """The name of a --- or +++ line."""
    raw = raw.rstrip(b"\r\n")
    return unquote(raw)[0] if raw.startswith(b'"') else raw.split(b"\t")[0]


def git_names(raw):
    """Both names of a `diff --git` line; where a name has spaces, the split that makes both the same."""
    raw = raw.rstrip(b"\r\n")
    if raw.startswith(b'"'):
        one, rest = unquote(raw)
        rest = rest.lstrip(b" ")
        return [one, unquote(rest)[0] if rest.startswith(b'"') else rest]
    if raw.endswith(b'"') and b' "' in raw:
        one, rest = raw.split(b' "', 1)
        return [one, unquote(b'"' + rest)[0]]
    cuts = [m.start() for m in re.finditer(b" ", raw)]
    for cut in cuts:
        one, two = raw[:cut], raw[cut + 1:]
        if one.split(b"/", 1)[1:] == two.split(b"/", 1)[1:]:
            return [one, two]
    return raw.split(b" ", 1) if cuts else [raw]


class Entry:
    """One file of a patch."""

    def __init__(self):
        self.names, self.mode, self.old_mode, self.binary, self.added, self.hunks = [], None, None, False, [], 0


def in_tree(raw):
    """A name with its first part (a/, b/) taken off, checked."""
    name = raw.decode("utf-8", "surrogateescape")
    if name.startswith("/"):
        raise Refused("absolute", f"{name}: an absolute path")
    cut = name.split("/", 1)
    return plain_path(cut[1] if len(cut) > 1 else cut[0])


def plain_path(name):
    if name.startswith("/"):
        raise Refused("absolute", f"{name}: an absolute path")
    parts = [p for p in name.split("/") if p not in ("", ".")]
    if not parts:
        raise Refused("malformed", "a file without a name")
    if "\0" in name or "\n" in name:
        raise Refused("malformed", f"{name!r}: no name of a file")
    for part in parts:
        if part == "..":
            raise Refused("outside", f"{name}: a path that leaves the tree")
        seen = IGNORED.sub("", part).lower().split(":")[0].replace("\\", "/").rstrip(". ")
        if seen in (".git", "git~1") or seen.startswith(".git/") or "/.git/" in seen + "/":
            raise Refused("git", f"{name}: inside of .git")
        if "\\" in part and ".." in part.replace("\\", "/").split("/"):
            raise Refused("outside", f"{name}: a path that leaves the tree")
    return "/".join(parts)


def parse(patch):
    """The files of a patch, or Refused."""
    entries, entry, left = [], None, [0, 0]
    lines = patch.split(b"\n")
    old = None
    for n, line in enumerate(lines):
        if left[0] > 0 or left[1] > 0:
            kind = line[:1]
            if kind in (b" ", b"", b"\r"):
                left[0] -= 1
                left[1] -= 1
                continue
            if kind == b"-":
                left[0] -= 1
                continue
            if kind == b"+":
                left[1] -= 1
                if entry and len(entry.added) < 100:
                    entry.added.append(line[1:])
                continue
            if kind == b"\\":
                continue
            left = [0, 0]
        if line.startswith(b"diff --git "):
            entry = Entry()
            entries.append(entry)
            entry.names += [in_tree(x) for x in git_names(line[11:]) if x]
            old = None
        elif line.startswith(b"--- ") and n + 1 < len(lines) and lines[n + 1].startswith(b"+++ "):
            old = header_name(line[4:])
        elif line.startswith(b"+++ ") and old is not None:
            if entry is None or entry.hunks:
                entry = Entry()
                entries.append(entry)
            entry.names += [in_tree(x) for x in (old, header_name(line[4:])) if x != b"/dev/null"]
            old = None
        elif line.startswith(b"Index: "):
            in_tree(b"a/" + line[7:].strip())  # patch(1) goes by it
        elif entry is not None and line.startswith((b"rename from ", b"rename to ", b"copy from ", b"copy to ")):
            raw = line.split(b" ", 2)[2].rstrip(b"\r")
            raw = unquote(raw)[0] if raw.startswith(b'"') else raw
            entry.names.append(plain_path(raw.decode("utf-8", "surrogateescape")))
        elif entry is not None and (m := re.match(rb"(new file mode|new mode|old mode|deleted file mode|index [0-9a-f]+\.\.[0-9a-f]+) (\d{6})", line)):
            if m.group(2) == b"160000":
                raise Refused("submodule", f"{entry.names[0] if entry.names else '?'}: a submodule")
            if m.group(1) in (b"old mode", b"deleted file mode"):
                entry.old_mode = m.group(2)
            else:
                entry.mode = m.group(2)
        elif entry is not None and line.startswith((b"GIT binary patch", b"Binary files ")):
            entry.binary = True
        elif m := HUNK.match(line):
            left = [int(m.group(1) or 1), int(m.group(2) or 1)]
            if entry:
                entry.hunks += 1
    for e in entries:
        if e.mode == b"120000":
            check_link(e)
    return entries


def check_link(e):
    if not e.names:
        return
    path = e.names[-1]
    if e.binary or not e.added:
        raise Refused("symlink", f"{path}: a symbolic link whose target cannot be read from the patch")
    target = b"\n".join(e.added).decode("utf-8", "surrogateescape")
    leads = os.path.normpath(os.path.join(os.path.dirname(path), target))
    if target.startswith("/") or leads == ".." or leads.startswith("../"):
        raise Refused("symlink", f"{path}: a symbolic link out of the tree, to {target}")
    if ".git" in leads.lower().split("/"):
        raise Refused("git", f"{path}: a symbolic link into .git")


def numstat_names(tools, patch_fd):
    """The files as git itself reads the patch (None: it cannot)."""
    os.lseek(patch_fd, 0, 0)
    code, text = tools.git("apply", "--numstat", "-z", stdin=patch_fd)
    if code != 0:
        return None
    names, fields = [], text.split(b"\0")
    i = 0
    while i < len(fields) and fields[i]:
        parts = fields[i].split(b"\t", 2)
        if len(parts) < 3:
            break
        if parts[2]:
            names.append(parts[2])
            i += 1
        else:  # a rename: both names follow
            names += fields[i + 1:i + 3]
            i += 3
    return [plain_path(x.decode("utf-8", "surrogateescape")) for x in names if x]


# ---- files of the tree -------------------------------------------------------------------------------------------------------------------

MISSING = ("missing",)


def look(path):
    """What is there: MISSING, ("file", bytes, mode), ("link", target), ("dir",)."""
    try:
        st = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    kind = st.st_mode & 0o170000
    if kind == 0o120000:
        return ("link", os.readlink(path))
    if kind == 0o040000:
        return ("dir",)
    if kind != 0o100000:
        return ("other",)
    with open(path, "rb") as f:
        return ("file", f.read(), st.st_mode & 0o777)


def remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except (IsADirectoryError, PermissionError):
        import shutil
        shutil.rmtree(path)
    except NotADirectoryError:
        pass


class Tree:
    """The checkout, with what was there before the patch."""

    def __init__(self, top):
        self.top, self.base, self.folders = top, {}, set()

    def at(self, path):
        return os.path.join(self.top, path)

    def remember(self, paths):
        for p in paths:
            if p not in self.base:
                self.base[p] = look(self.at(p))
                folder = os.path.dirname(p)
                while folder and folder not in self.folders and not os.path.lexists(self.at(folder)):
                    self.folders.add(folder)
                    folder = os.path.dirname(folder)

    def solid(self, path, gone):
        """Makes the folders above a path; a link or file in their place that base has not goes away."""
        folder = ""
        for part in path.split("/")[:-1]:
            folder = f"{folder}/{part}" if folder else part
            now = look(self.at(folder))
            if now[0] == "dir":
                continue
            if now[0] == "link" and self.base.get(folder, now) == now:
                continue  # base has it
            if now is not MISSING:
                remove(self.at(folder))
                gone.append((folder, now))
            os.mkdir(self.at(folder), 0o755)

    def put(self, path, what, gone):
        """Writes a state of a path."""
        if what[0] == "dir":
            return
        now = look(self.at(path))
        if what is MISSING or what[0] == "missing":
            if now is not MISSING:
                remove(self.at(path))
            return
        self.solid(path, gone)
        if look(self.at(path)) is not MISSING:
            remove(self.at(path))
        if what[0] == "link":
            os.symlink(what[1], self.at(path))
        elif what[0] == "file":
            fd = os.open(self.at(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, what[2])
            try:
                write_all(fd, what[1])
                os.fchmod(fd, what[2])
            finally:
                os.close(fd)

    def back(self):
        """As before the patch, as far as paths are known."""
        gone = []
        order = sorted(self.base.items(), key=lambda kv: (kv[1][0] != "missing", kv[0].count("/")))
        for p, was in order:
            for end in (".rej", ".orig"):
                if p + end not in self.base and os.path.lexists(self.at(p + end)):
                    remove(self.at(p + end))
            if look(self.at(p)) != was:
                self.put(p, was, gone)
        for folder in sorted(self.folders, key=len, reverse=True):
            try:
                os.rmdir(self.at(folder))
            except OSError:
                pass

    def reject_text(self):
        text = b""
        for p in self.base:
            if len(text) < REJECTS_MAX and look(self.at(p + ".rej"))[0] == "file" and p + ".rej" not in self.base:
                text += look(self.at(p + ".rej"))[1][:REJECTS_MAX]
        return text[:REJECTS_MAX].decode("utf-8", "backslashreplace")


def all_changes(tools):
    """Every path that differs from the commit (the slow way)."""
    code, text = tools.git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
    return [plain_path(x[3:].decode("utf-8", "surrogateescape")) for x in text.split(b"\0") if len(x) > 3] if code == 0 else []


# ---- applying ----------------------------------------------------------------------------------------------------------------------------

class Patch:
    """A patch in a file, with what its headers say."""

    def __init__(self, text):
        data = text.encode("utf-8", "surrogateescape")
        self.notes = []
        if data.strip() and not data.endswith(b"\n"):
            data += b"\n"
            self.notes.append("no-final-newline")
        if b"\r\n" in data:
            self.notes.append("crlf")
        self.data, self.empty = data, not data.strip()
        self.entries = [] if self.empty else parse(data)
        if any(e.binary for e in self.entries):
            self.notes.append("binary")
        self.paths = list(dict.fromkeys(n for e in self.entries for n in e.names))
        self.fd = os.memfd_create("patch", 0)
        write_all(self.fd, data)

    def file(self):
        """A name that children have too."""
        path = f"/tmp/belljar-{os.getpid()}.patch"
        with open(path, "wb") as f:
            f.write(self.data)
        return path


CHAIN = [
    ("git apply", ("apply", "--verbose")),
    ("git apply --3way", ("apply", "--verbose", "--3way")),
    ("git apply --reject", ("apply", "--verbose", "--reject")),
    ("patch", None),
    ("git apply --whitespace=fix", ("apply", "--verbose", "--whitespace=fix")),
]


class Applied:
    def __init__(self):
        self.outcome, self.method, self.attempts, self.rejects = None, None, [], ""


def apply_chain(tools, tree, patch):
    """The reference's chain, the tree as it was between the steps."""
    done = Applied()
    names = numstat_names(tools, patch.fd)
    patch.paths = list(dict.fromkeys(patch.paths + (names or [])))
    if not patch.paths:
        done.outcome = "malformed"
        return done
    tree.remember(patch.paths)
    index = os.path.join(tree.top, ".git/index")
    kept = None

    def attempt(method, args):
        if args is None:
            file = patch.file()
            code, text = tools.run([PATCH, "--batch", "--forward", "--fuzz=5", "-p1", "-d", tree.top, "-i", file])
            os.unlink(file)
        else:
            os.lseek(patch.fd, 0, 0)
            code, text = tools.git(*args, stdin=patch.fd)
        done.attempts.append({"method": method, "exit": code, "log": text[-LOG_MAX:].decode("utf-8", "backslashreplace")})
        done.text = text
        return code

    for method, args in CHAIN:
        if method == "git apply --3way":
            kept = look(index)
            there = [p for p in patch.paths if tree.base[p][0] == "file"]
            if there:
                tools.git("update-index", "--", *there)
        code = attempt(method, args)
        if method == "git apply --reject":
            done.rejects = tree.reject_text()
        if code == 0:
            done.outcome, done.method = "applied", method
            break
        tree.back()
        if kept and look(index) != kept:
            with open(index, "wb") as f:
                f.write(kept[1])
        if code is None:
            done.outcome = "error"
            return done
    if done.outcome is None:
        os.lseek(patch.fd, 0, 0)
        code, text = tools.git("apply", "--check", "--reverse", stdin=patch.fd)
        done.attempts.append({"method": "already", "exit": code, "log": text[-LOG_MAX:].decode("utf-8", "backslashreplace")})
        if code == 0:
            done.outcome = done.method = "already"
        else:
            corrupt = names is None and not any(e.hunks or e.binary or e.mode for e in patch.entries)
            done.outcome = "malformed" if corrupt or any("corrupt patch" in a["log"] for a in done.attempts) else "rejected"
        return done
    if done.method != "git apply":
        if kept and look(index) != kept:
            with open(index, "wb") as f:
                f.write(kept[1])
        for p in patch.paths:
            for end in (".rej", ".orig"):
                if p + end not in tree.base:
                    remove(tree.at(p + end))
        known = set(tree.base)
        written = {m.decode("utf-8", "surrogateescape").strip("'") for m in re.findall(rb"(?m)^patching (?:file|symbolic link) (.*?)(?: \(.*\))?$", done.text)}
        for p in all_changes(tools) if not written <= known or len(done.text) >= 4 << 20 else ():
            if p not in known:
                patch.paths.append(p)
                code, blob = tools.git("show", f"HEAD:{p}")  # patch(1) read a name that we did not
                tree.base[p] = ("file", blob, 0o644) if code == 0 else MISSING
    return done


def apply_tests(tools, top, text):
    """What the test patch's files are: {path: state}. The tree stays as it is."""
    patch = Patch(text)
    if patch.empty:
        return {}, None
    tree = Tree(top)
    done = apply_chain(tools, tree, patch)
    if done.outcome not in ("applied", "already"):
        return None, done
    files = {p: look(tree.at(p)) for p in patch.paths}
    tree.back()
    return {p: s for p, s in files.items() if s != ("dir",)}, done


# ---- what the model may not have changed -------------------------------------------------------------------------------------------------

def glob(pattern):
    """A glob of paths, where ** goes over folders."""
    out, i = "", 0
    while i < len(pattern):
        if pattern.startswith("**/", i):
            out, i = out + "(?:.*/)?", i + 3
        elif pattern.startswith("**", i):
            out, i = out + ".*", i + 2
        elif pattern[i] == "*":
            out, i = out + "[^/]*", i + 1
        elif pattern[i] == "?":
            out, i = out + "[^/]", i + 1
        else:
            out, i = out + re.escape(pattern[i]), i + 1
    return re.compile(out + r"\Z", re.S)


def globs(patterns):
    compiled = [glob(p) for p in patterns or ()]
    return lambda path: any(c.match(path) for c in compiled)


RUNNERS = frozenset("pytest _pytest pluggy py iniconfig exceptiongroup tomli xdist execnet pkg_resources setuptools attr attrs packaging mpmath sqlparse "
                    "asgiref pytz belljar".split())
SITE = frozenset(("sitecustomize", "usercustomize"))


def standard_names():
    names = getattr(sys, "stdlib_module_names", None)
    if names is None:
        names = set(sys.builtin_module_names)
        for f in os.listdir(os.path.dirname(os.__file__)):
            names.add(f.split(".")[0])
    return names


def import_places(tree, tests, job):
    """Folders below the tree that come to sys.path."""
    places = {""}
    for p in tests:
        if p.endswith(".py"):
            folder = os.path.dirname(p)
            while folder and (os.path.exists(tree.at(folder + "/__init__.py")) or tests.get(folder + "/__init__.py", MISSING)[0] == "file"):
                places.add(folder)
                folder = os.path.dirname(folder)
            places.add(folder)
    if job["kind"] in ("django", "sympy") and job.get("argv"):
        places.add(os.path.dirname(os.path.normpath(job["argv"][0])))
    for p in job.get("pythonpath") or ():
        rel = os.path.relpath(p, tree.top)
        if not rel.startswith(".."):
            places.add("" if rel == "." else rel)
    return places


def why_removed(path, places, tests, standard, link=False):
    """A file that the patch added and that no honest patch adds: what it is, or None."""
    parts = path.split("/")
    name = parts[-1]
    stem = name.split(".")[0]
    if stem in SITE or (len(parts) > 1 and parts[-2] in SITE) or name.endswith(".pth"):
        return "site"
    if name == "entry_points.txt" and len(parts) > 1 and parts[-2].endswith((".egg-info", ".dist-info")):
        return "entry_point"
    if name.endswith((".pyc", ".pyo")) or "__pycache__" in parts[:-1]:
        return "shadow"
    for i, part in enumerate(parts):
        folder, last = "/".join(parts[:i]), i == len(parts) - 1
        if last and not link and not name.endswith((".py", ".so", ".pyd")):
            break
        module = stem if last else part
        if folder in places and (module in standard or module in RUNNERS):
            return "shadow"
        beside = f"{folder}/{module}.py" if folder else f"{module}.py"
        if beside != path and (not last or name.endswith(".so")) and tests.get(beside, MISSING)[0] == "file":
            return "shadow"  # a folder or library that is imported instead of a test file
    return None


def guard(front, tree, patch, tests, job):
    """Puts back, removes, names. Returns nothing: the tree is fit for tests after it."""
    protected, runner, watched = globs(job.get("protected")), globs(job.get("runner_files")), globs(job.get("watched"))
    places, standard = import_places(tree, tests, job), standard_names()
    gone = []

    def tell(what, path, action, detail=None):
        front.say("tampering", what=what, path=safe_text(path), action=action, detail=detail and safe_text(detail))

    real = os.path.realpath(tree.top)
    for p in patch.paths:
        now, was = look(tree.at(p)), tree.base.get(p, MISSING)
        if now[0] == "link" and was != now:
            leads = os.path.realpath(tree.at(p))
            above = any(t.startswith(p + "/") for t in [*tests, *(b for b, s in tree.base.items() if s is not MISSING)])
            if leads != real and not leads.startswith(real + "/") or leads.startswith(real + "/.git/") or above:
                remove(tree.at(p))
                tell("symlink_parent", p, "removed", f"a link to {now[1]}")
    for p in patch.paths:
        was, now = tree.base.get(p, MISSING), look(tree.at(p))
        if now == was:
            continue
        if p in tests:
            tell("protected", p, "restored", "a file of the test patch")
            continue
        if runner(p):
            tree.put(p, was, gone)
            tell("runner_file", p, "restored" if was is not MISSING else "removed")
            continue
        if was is MISSING:
            what = why_removed(p, places, tests, standard, now[0] == "link")
            if what:
                remove(tree.at(p))
                tell(what, p, "removed")
                continue
        elif why_removed(p, (), {}, ()) in ("site", "entry_point"):
            tree.put(p, was, gone)
            tell(why_removed(p, (), {}, ()), p, "restored")
            continue
        if protected(p):
            if was is not MISSING:
                tree.put(p, was, gone)
                tell("protected", p, "restored", "deleted" if now is MISSING else None)
            else:
                tell("protected", p, "seen", "added")
        elif watched(p):
            tell("watched", p, "seen")
    for p, state in tests.items():
        tree.put(p, state, gone)
    for path, what in gone:
        tell("symlink_parent", path, "removed", f"a link to {what[1]}" if what[0] == "link" else "a file where a folder belongs")


# ---- names of tests ----------------------------------------------------------------------------------------------------------------------

UNITTEST_ID = re.compile(r"(\w+) \(([\w.<>]+)\)")


def unittest_id(text):
    """(method, class path) of `test_x (m.C)` or `test_x (m.C.test_x)`, else None."""
    m = UNITTEST_ID.match(text)
    if not m:
        return None
    name, path = m.groups()
    return name, path[:-len(name) - 1] if path.endswith("." + name) else path


def function_of(test, kind):
    """(function name, file or None, module or None) of an id; the name is None where only a docstring is known."""
    if kind == "pytest":
        head = re.split(r"\[", test, maxsplit=1)[0]
        if "::" in head:
            parts = head.split("::")
            return parts[-1], parts[0], None
        return None, None, None
    if kind == "sympy":
        return (test if test.isidentifier() else None), None, None
    known = unittest_id(test)
    if known:
        return known[0], None, known[1].rsplit(".", 1)[0]
    return None, None, None


def is_module(path, module):
    dotted = path[:-3].replace("/", ".")
    return dotted == module or dotted.endswith("." + module)


class Source:
    """A Python file, parsed as far as renaming asks."""

    def __init__(self, data):
        import ast
        self.data, self.tree = data, ast.parse(data)
        self.functions, self.imports, self.strings, docs = {}, set(), [], set()
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                doc = ast.get_docstring(node, clean=False)
                self.functions.setdefault(node.name, []).append((doc or "").strip().split("\n")[0].strip())
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
                first = node.body[0] if node.body else None
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    docs.add(first.value)
            elif isinstance(node, ast.alias):
                self.imports.update((node.name.split(".")[-1], node.asname))
        self.strings = [n.value for n in ast.walk(self.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str) and n not in docs]

    def renamed(self, names):
        """The file with each NAME token of `names` in its new spelling."""
        import io
        import tokenize
        tokens = tokenize.tokenize(io.BytesIO(self.data).readline)
        encoding = next(tokens).string
        text = self.data.decode(encoding)
        lines = re.findall(r"[^\n]*\n|[^\n]+", text)  # splitlines() knows more ends of lines than tokenize does
        marks = [(t.start, t.end, names[t.string]) for t in tokens if t.type == tokenize.NAME and t.string in names]
        for (row, start), (_, end), new in reversed(marks):
            line = lines[row - 1]
            lines[row - 1] = line[:start] + new + line[end:]
        data = "".join(lines).encode(encoding)
        compile(data, "renamed", "exec", dont_inherit=True)
        return data


def rename(files, tests, suffix, kind):
    """Renames the functions of `tests` in `files` ({path: bytes}). Returns (changed files, {id: new name}, {id: why it keeps its name}, {id: path})."""
    sources, renamed, kept, found, plan = {}, {}, {}, {}, {}
    for path, data in files.items():
        if path.endswith(".py"):
            try:
                sources[path] = Source(data)
            except (SyntaxError, ValueError, RecursionError):
                pass
    for test in tests:
        name, file, module = function_of(test, kind)
        places = [(p, s) for p, s in sources.items() if file is None or p == os.path.normpath(file)]
        if module:
            places = [(p, s) for p, s in places if is_module(p, module)] or places
        if name is None:
            first = test.strip()
            hits = [(p, s, n) for p, s in places for n, docs in s.functions.items() if first in docs]
            if len({n for _, _, n in hits}) != 1:
                kept[test] = "no such docstring in the test files" if not hits else "more than one function with this docstring"
                continue
            name, places = hits[0][2], [(p, s) for p, s, _ in hits]
        places = [(p, s) for p, s in places if name in s.functions]
        if not places:
            kept[test] = "its function is not in the test files"
            continue
        word = re.compile(rf"\b{re.escape(name)}\b")
        why = None
        for p, s in places:
            if name in s.imports:
                why = f"{p} imports this name"
            elif any(word.search(x) for x in s.strings):
                why = f"{p} has the name in a string"
            elif not name.startswith("test"):
                why = "the name does not begin with test"
        found[test] = places[0][0]
        if why:
            kept[test] = why
            continue
        for p, _ in places:
            plan.setdefault(p, {})[name] = name + suffix
        renamed[test] = name + suffix
    changed = {}
    for p, names in plan.items():
        try:
            changed[p] = sources[p].renamed(names)
        except Exception as e:  # tokenize has an opinion of its own about some files
            for test in [t for t in renamed if renamed[t] in names.values() and found[t] == p]:
                del renamed[test]
                kept[test] = f"{p} cannot be rewritten: {e}"
    return changed, renamed, kept, found


# The canary that must fail passes where an assertion was disarmed: every way to fail has to work, the last one is its own failure.
CANARY_FUNCTIONS = '''

def {passing}():
    assert 1 + 1 == 2


def {failing}():
    import unittest
    case = unittest.TestCase()
    for check, args in (("assertEqual", (1, 2)), ("assertTrue", (False,)), ("assertIn", (1, ())), ("assertIs", (1, None)), ("fail", ())):
        try:
            getattr(case, check)(*args)
        except AssertionError:
            continue
        return
    try:
        {raises}
    except BaseException as e:
        if type(e).__name__ not in ("Failed", "AssertionError", "ImportError", "ModuleNotFoundError"):
            return
    else:
        return
    total = 1 + 1
    assert total == 3
'''
RAISES = {
    "pytest": '__import__("pytest").raises(ZeroDivisionError, int)',
    "sympy": 'from sympy.testing.pytest import raises; raises(ZeroDivisionError, lambda: None)',
}
CANARY_CLASS = '''

class {name}(next((k for k in ({like}).__mro__ if k.__module__ in ("unittest.case", "django.test.testcases") and k.__name__ in (
        "TestCase", "SimpleTestCase", "TransactionTestCase")), __import__("unittest").TestCase)):
    def {passing}(self):
        self.assertEqual(1 + 1, 2)

    def {failing}(self):
        for check, args in (("assertEqual", (1, 2)), ("assertTrue", (False,)), ("assertFalse", (True,)), ("assertIn", (1, ())), ("assertIs", (1, None)),
                            ("assertIsNone", (1,)), ("assertNotEqual", (1, 1)), ("fail", ())):
            try:
                getattr(self, check)(*args)
            except AssertionError:
                continue
            return
        try:
            with self.assertRaises(ZeroDivisionError):
                pass
        except AssertionError:
            pass
        else:
            return
        with self.subTest(canary=1):
            raise AssertionError("a subtest that must fail")
'''


def with_canaries(data, canary, kind, suffix, test):
    """A test file with both canaries at its end."""
    names = {"passing": canary["pass"], "failing": canary["fail"]}
    if not data.endswith(b"\n"):
        data += b"\n"
    if kind in RAISES:
        text = CANARY_FUNCTIONS.format(raises=RAISES[kind], **names)
    else:
        known = unittest_id(test or "")
        like = known[1].rsplit(".", 1)[-1] if known else ""
        if not re.search(rb"(?m)^class %s\b" % re.escape(like.encode()), data) or not like:
            classes = re.findall(rb"(?m)^class (\w+)\(", data)
            like = classes[-1].decode() if classes else "object"
        text = CANARY_CLASS.format(name="Belljar" + canary["pass"].title().replace("_", ""), like=like, **names)
    if b"\r\n" in data[:4096]:
        text = text.replace("\n", "\r\n")
    return data + text.encode()


def looks_like_tests(path):
    name = os.path.basename(path)
    return name.endswith(".py") and (name.startswith("test") or name.endswith("_test.py") or name == "tests.py")


def prepare_tests(tree, patch, tests, job):
    """Renames and adds canaries. Returns the fields of `ready` and the test files' paths."""
    kind, plan, canary = job["kind"], job.get("rename") or {}, job.get("canary")
    files = {p: s[1] for p, s in tests.items() if s[0] == "file" and p.endswith(".py")}
    wanted = plan.get("tests") or []
    for test in wanted:  # a test in a file that the test patch does not have
        _, file, module = function_of(test, kind)
        path = os.path.normpath(file) if file else None
        if path and path not in files and not path.startswith(("..", "/")) and look(tree.at(path))[0] == "file":
            if path not in patch.paths or look(tree.at(path)) == tree.base.get(path):
                files[path] = look(tree.at(path))[1]
    changed, renamed, kept, found = rename(files, wanted, plan.get("suffix") or "", kind) if plan.get("suffix") else ({}, {}, {}, {})
    where = None
    if canary:
        first = next((t for t in wanted if t in found), None)
        where = found.get(first) or next((p for p in files if looks_like_tests(p)), None)
        if where:
            changed[where] = with_canaries(changed.get(where, files[where]), canary, kind, plan.get("suffix"), first)
    gone = []
    for p, data in changed.items():
        state = look(tree.at(p))
        tree.put(p, ("file", data, state[2] if state[0] == "file" else 0o644), gone)
    return {"renamed": renamed, "kept": kept, "canary_file": where}, sorted(files)


def argv_for(job, renamed, where):
    """The runner's words, with the new names of tests."""
    argv, names = list(job.get("argv") or ()), {}
    for test, new in renamed.items():
        name = function_of(test, job["kind"])[0]
        if name:
            names[name] = new
    for i, word in enumerate(argv):
        for name, new in names.items():
            argv[i] = word = re.sub(rf"(::|\.){re.escape(name)}(?=\[|\Z)", lambda m: m.group(1) + new, word)
    canary = job.get("canary")
    if canary and where and job["kind"] == "pytest" and any("::" in a for a in argv) and where not in argv:
        argv += [f"{where}::{canary['fail']}", f"{where}::{canary['pass']}"]
    return argv


# ---- the runner, seen from here ----------------------------------------------------------------------------------------------------------

FIELDS = {"test": {"id": str, "outcome": str, "phase": str, "module": str, "class": str, "name": str, "doc": str, "str": str, "file": str, "ms": int,
                   "detail": str},
          "finish": {"counts": dict, "exit": int}, "tampering": {"what": str, "path": str, "action": str, "detail": str}, "up": {}}


class Runner:
    """The child that runs tests; its frames are only believed when they begin with the run's word."""

    def __init__(self):
        """Forks it, before this process knows anything: so it need not be started and compiled again."""
        to_r, self.to = os.pipe()
        self.out, out_w = os.pipe()
        self.said, say_w = os.pipe()
        null = os.open("/dev/null", os.O_RDONLY)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                for i, fd in enumerate((null, out_w, out_w, to_r, say_w)):
                    os.dup2(fd, 60 + i)
                for i in range(5):
                    os.dup2(60 + i, i, inheritable=i < 3)
                os.closerange(5, 256)
                run_tests()
            finally:
                os._exit(1)
        for fd in (to_r, out_w, say_w, null):
            os.close(fd)
        self.watch = os.pidfd_open(self.pid)
        self.pending, self.broken, self.is_up = b"", False, False
        import codecs
        self.decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        os.set_blocking(self.out, False)
        os.set_blocking(self.said, False)

    def begin(self, front, job):
        """Says what it will need, so that it imports while patches are applied."""
        self.front, self.suffix, self.nonce = front, ((job.get("rename") or {}).get("suffix") or ""), os.urandom(NONCE)
        self.send({"kind": job["kind"], "env": {str(k): str(v) for k, v in (job.get("env") or {}).items() if k != "PYTHONPATH"}})

    def send(self, part, nonce=bytes(NONCE)):
        data = nonce + self.front.dumps(part).encode("ascii")
        try:
            write_all(self.to, struct.pack("<I", len(data)) + data)
        except BrokenPipeError:
            pass  # it has ended: that is told soon

    def kill(self):
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)

    def hear_out(self):
        """One piece of output; False at its end."""
        try:
            data = os.read(self.out, 65536)
        except BlockingIOError:
            return None
        text = self.decoder.decode(data, final=not data)
        if text:
            self.front.say("out", data=text)
        return bool(data)

    def hear_said(self):
        try:
            data = os.read(self.said, 65536)
        except BlockingIOError:
            return None
        self.pending += data
        while not self.broken and len(self.pending) >= 4:
            size = struct.unpack("<I", self.pending[:4])[0]
            if size > FRAME_MAX or size < NONCE:
                self.break_off("a frame that no reporter writes")
                break
            if len(self.pending) < 4 + size:
                break
            body, self.pending = self.pending[4:4 + size], self.pending[4 + size:]
            self.frame(body)
        if self.broken:
            self.pending = b""
        return bool(data)

    def break_off(self, why):
        self.broken = True
        self.front.say("tampering", what="reporter", path=None, action="seen", detail=why)

    def frame(self, body):
        if self.is_up and body[:NONCE] != self.nonce:
            self.break_off("a frame that is not the reporter's came through its pipe")
            return
        try:
            o = self.front.loads(body[NONCE:])
            fields = FIELDS[o["t"]]
            clean = {k: o[k] for k, kind in fields.items() if k in o and type(o[k]) is kind}
        except (ValueError, KeyError, TypeError, RecursionError):
            self.break_off("a frame that cannot be read came through the reporter's pipe")
            return
        clean = {k: safe_text(v)[:TEXT_MAX] if isinstance(v, str) else v for k, v in clean.items()}
        if o["t"] == "up":
            self.is_up = True
            return
        if not self.is_up:
            return
        if o["t"] == "test":
            clean["orig"] = clean.get("id", "").replace(self.suffix, "") if self.suffix else clean.get("id", "")
        self.front.say(o["t"], **clean)

    def pump(self, until):
        """Relays until the runner has ended, or until() says so."""
        poll = select.poll()
        for fd in (self.out, self.said, self.watch):
            poll.register(fd, select.POLLIN | select.POLLHUP)
        while not until():
            for fd, _ in poll.poll():
                if fd == self.watch:
                    return True
                more = self.hear_out() if fd == self.out else self.hear_said()
                if more is False:
                    poll.unregister(fd)
        return False

    def rest(self, hear):
        for _ in range(64):  # somebody else may go on writing
            if not hear():
                break

    def finish(self):
        """After its end: the rest of what it said, whoever it left behind."""
        self.rest(self.hear_said)
        self.rest(self.hear_out)
        _, status, _ = os.wait4(self.pid, 0)
        left = end_descendants()
        self.rest(self.hear_out)
        self.front.say("tests_end", exit=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
                       signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None, children_left=left)


def descendants():
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as f:
                    rest = f.read().rpartition(b")")[2].split()
                if rest[0] not in (b"Z", b"X"):
                    parents[int(name)] = int(rest[1])
            except (OSError, IndexError):
                pass
    found, grew, me = set(), True, os.getpid()
    while grew:
        more = {p for p, parent in parents.items() if p not in found and (parent == me or parent in found)}
        grew = bool(more)
        found |= more
    return found


def own_children():
    """Our children, also those that /proc does not show since they do not let themselves be looked at: tried by number, up to one that starts now."""
    null = os.open("/dev/null", os.O_RDWR)
    last = spawn(["/bin/true"], {}, null, null)
    os.close(null)
    os.waitpid(last, 0)
    found = set()
    for pid in range(2, last):
        try:
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            found.add(pid)
        except OSError:
            pass
    return found


def end_descendants():
    """Ends everybody below us; whoever loses its parent becomes our child. Says how many there were."""
    seen = set()
    for _ in range(100):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            break
        now = descendants()
        now = now or own_children()
        seen |= now
        for pid in now:
            try:
                os.kill(pid, 9)
            except OSError:
                pass
        time.sleep(0.002)
    return len(seen)


# ---- the driver's way --------------------------------------------------------------------------------------------------------------------

def drive():
    runner = Runner()
    hide()
    inp, out = os.dup(0), os.dup(1)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    front = Front(out)
    data = read_frame(inp)
    if data is None:
        runner.kill()
        front.say("apply", outcome="error", method=None, notes=[], attempts=[], rejects="", files=[], detail="no job on standard input")
        return 1
    try:
        job = front.loads(data)
        if job.get("mode") == "apply":
            runner.kill()
            runner = None
        else:
            runner.begin(front, job)
        go_on = patch_all(front, job, runner)
    except BaseException as e:
        front.say("apply", outcome="error", method=None, notes=[], attempts=[], rejects="", files=[], detail=safe_text(f"{type(e).__name__}: {e}")[:TEXT_MAX])
        if runner:
            runner.kill()
        return 1
    if runner:
        if not go_on:
            runner.kill()
            return 0
        runner.pump(lambda: False)
        runner.finish()
    return 0


def patch_all(front, job, runner):
    begin = time.monotonic_ns()
    top = job["tree"].rstrip("/")
    notes, files = [], []

    def told(outcome, method=None, attempts=(), rejects="", **more):
        front.say("apply", outcome=outcome, method=method, notes=notes, attempts=list(attempts), rejects=rejects, files=[safe_text(f) for f in files],
                  ms=(time.monotonic_ns() - begin) // 1000000, **more)

    tools = Tools(top, float(job.get("apply_timeout_s") or 60))
    if job.get("copy_from"):
        os.makedirs(top, exist_ok=True)
        code, text = tools.run([CP, "-a", "--reflink=auto", job["copy_from"].rstrip("/") + "/.", top])
        if code != 0:
            told("error", detail=f"the tree cannot be copied: {text[-500:].decode('utf-8', 'backslashreplace')}")
            return False
    tests = {}
    try:
        tests, done = apply_tests(tools, top, job.get("test_patch") or "")
    except Refused as e:
        told("test_patch_failed", detail=safe_text(str(e)))
        return False
    if tests is None:
        told("test_patch_failed", attempts=done.attempts, rejects=done.rejects)
        return False
    tree, text = Tree(top), job.get("model_patch")
    try:
        patch = Patch(text or "")
    except Refused as e:
        told(e.outcome, detail=safe_text(str(e)))
        return False
    notes += patch.notes
    if text is not None and patch.empty:
        told("empty")
        return False
    if text is None:
        told("applied")
    else:
        try:
            done = apply_chain(tools, tree, patch)
        except Refused as e:
            tree.back()
            told(e.outcome, detail=safe_text(str(e)))
            return False
        files += patch.paths
        told(done.outcome, done.method, done.attempts, done.rejects if done.outcome in ("rejected", "malformed") else "")
        if done.outcome not in ("applied", "already"):
            return False
    guard(front, tree, patch, tests, job)
    if not runner:
        return False
    ready, paths = prepare_tests(tree, patch, tests, job)
    part = {"tree": top, "kind": job["kind"], "argv": argv_for(job, ready["renamed"], ready["canary_file"]), "pythonpath": job.get("pythonpath") or [],
            "test_files": [tree.at(p) for p in paths], "select": job.get("select"), "canary": job.get("canary"), "suffix": runner.suffix}
    if runner.pump(lambda: runner.is_up):
        front.say("ready", ns=time.monotonic_ns(), apply_ns=time.monotonic_ns() - begin, **ready)
        return True
    front.say("ready", ns=time.monotonic_ns(), apply_ns=time.monotonic_ns() - begin, **ready)
    runner.send(part, runner.nonce)
    return True


# ==== the runner ==========================================================================================================================

def make_say():
    """The way to the driver. Everything it needs is bound here, before anybody can put something else in its place."""
    from _json import encode_basestring_ascii as quote
    import _thread
    write, getpid, pack, me, lock, word = os.write, os.getpid, struct.pack, os.getpid(), _thread.allocate_lock(), [bytes(NONCE)]

    def value(v):
        if type(v) is str:
            return quote(v[:TEXT_MAX])
        if type(v) is dict:
            return "{" + ",".join([quote(str(k)) + ":" + value(x) for k, x in v.items()]) + "}"
        return "%d" % v

    def say(t, **fields):
        if getpid() != me:
            return  # a fork of a test
        fields["t"] = t
        data = word[0] + value({k: v for k, v in fields.items() if v is not None}).encode("ascii")
        data = pack("<I", len(data)) + data
        with lock:
            while data:
                data = data[write(4, data):]

    def use(nonce):
        word[0] = nonce

    return say, use


def code_of(func):
    """The code below decorators that say what they decorate."""
    func = getattr(func, "__func__", func)
    for _ in range(20):
        if not hasattr(func, "__wrapped__"):
            break
        func = func.__wrapped__
    return getattr(getattr(func, "__func__", func), "__code__", None)


class Witness:
    """Knows the functions of the test files as they were before anything of the checkout was loaded, and sees them called."""

    def __init__(self, files, rewritten):
        import ast
        self.known, self.waited, self.rewritten, self.code_type = {}, {}, rewritten, type(make_say.__code__)
        for file in files:
            if not file.endswith(".py"):
                continue
            try:
                with open(file, "rb") as f:
                    data = f.read()
                tree, code = ast.parse(data), compile(data, file, "exec", dont_inherit=True)
            except (OSError, SyntaxError, ValueError, RecursionError):
                continue
            plain, waited, codes = set(), set(), {}

            def defs(body, prefix):
                for node in body:
                    if isinstance(node, ast.ClassDef):
                        defs(node.body, prefix + node.name + ".")
                    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.decorator_list:
                        plain.add(prefix + node.name)
                        if isinstance(node, ast.AsyncFunctionDef):
                            waited.add(prefix + node.name)

            def walk(c, prefix):
                for k in c.co_consts:
                    if isinstance(k, self.code_type):
                        codes.setdefault(prefix + k.co_name, set()).add((k.co_firstlineno, k.co_code))
                        walk(k, prefix + k.co_name + ".")

            defs(tree.body, "")
            walk(code, "")
            self.known[os.path.realpath(file)] = {q: codes[q] for q in plain if q in codes}
            self.waited[os.path.realpath(file)] = waited

    def knows(self, file, qualname):
        """Whether it is a plain function of a test file, so that its call has to be seen."""
        return qualname in self.known.get(os.path.realpath(file or "/"), {}) and qualname not in self.waited.get(os.path.realpath(file), ())

    def strange(self, func, qualname, file):
        """Why this is not the function of the test file, or None. Decorated functions are not judged."""
        known = self.known.get(os.path.realpath(file or "/"), {}).get(qualname)
        if not known:
            return None
        code = code_of(func)
        if type(code) is not self.code_type or os.path.realpath(code.co_filename) != os.path.realpath(file):
            return "another function is called in its place"
        if self.rewritten:
            return None if any(code.co_firstlineno == line for line, _ in known) else "another function is called in its place"
        return None if (code.co_firstlineno, code.co_code) in known else "its code was exchanged"


def file_of(cls):
    return getattr(sys.modules.get(cls.__module__), "__file__", None) or ""


class Session:
    """What the reporters share."""

    def __init__(self, say, part):
        self.say, self.part = say, part
        self.witness = Witness(part["test_files"], part["kind"] == "pytest")
        self.counts, self.begun, self.ended = {}, 0, 0
        self.suffix, canary = part.get("suffix") or "", part.get("canary") or {}
        self.canaries = set(canary.values())
        self.clock = time.perf_counter_ns

    def original(self, text):
        return text.replace(self.suffix, "") if self.suffix else text

    def product(self, file):
        """Whether a file is the checkout's and no test's."""
        file, top = os.path.realpath(file), os.path.realpath(self.part["tree"]) + "/"
        return file.startswith(top) and file not in self.witness.known and not re.search(r"(^|/)(tests?|testing|conftest\.py)(/|$)", file[len(top):])

    def result(self, outcome, started=None, **fields):
        self.counts[outcome] = self.counts.get(outcome, 0) + 1
        self.say("test", outcome=outcome, ms=(self.clock() - started) // 1000000 if started else 0, **fields)

    def contradiction(self, id, why):
        self.say("tampering", what="reporter", path=id, action="seen", detail=why)


def on_import(names, then):
    """Calls then(module) when one of these modules has been loaded."""
    import importlib.machinery

    class Finder:  # importlib.abc has a base class for it, and brings half of the library along
        def find_spec(self, name, path, target=None):
            if name not in names:
                return None
            spec = importlib.machinery.PathFinder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                execute = spec.loader.exec_module

                def exec_module(module):
                    execute(module)
                    then(module)

                spec.loader.exec_module = exec_module
            return spec

    sys.meta_path.insert(0, Finder())


# ---- unittest, django --------------------------------------------------------------------------------------------------------------------

def watch_calls(session):
    """The witness of unittest's test methods: returns what tells (and forgets) whether a method came to its end."""
    import unittest
    from functools import wraps
    came, strange = {}, {}
    witness = session.witness

    def put(cls):
        orig = cls._callTestMethod

        @wraps(orig)
        def call(self, method, *a, **k):
            name = self._testMethodName
            orig(self, method, *a, **k)
            came[id(self)] = True
            func = getattr(method, "__func__", None)
            if func is not getattr(getattr(self, name, None), "__func__", None):
                strange[id(self)] = "another method is called in its place"
            else:
                why = witness.strange(func, f"{type(self).__qualname__}.{name}", file_of(type(self)))
                if why:
                    strange[id(self)] = why

        cls._callTestMethod = call

    def put_async(module):
        if "_callTestMethod" in vars(module.IsolatedAsyncioTestCase):
            put(module.IsolatedAsyncioTestCase)

    put(unittest.TestCase)
    if "unittest.async_case" in sys.modules:
        put_async(sys.modules["unittest.async_case"])
    else:
        on_import(("unittest.async_case",), put_async)  # it brings all of asyncio
    return lambda test: (came.pop(id(test), False), strange.pop(id(test), None))


def selected_unittest(session):
    """A function that says whether a test case is to run."""
    exact, docs = set(), set()
    for id in session.part["select"]:
        known = unittest_id(id)
        if known:
            exact.add(known)
        else:
            docs.add(id.strip())

    def wanted(test):
        import unittest
        if not isinstance(test, unittest.TestCase) or type(test).__name__ == "_FailedTest":
            return True
        name = test._testMethodName
        if name in session.canaries or (session.original(name), f"{type(test).__module__}.{type(test).__qualname__}") in exact:
            return True
        return bool(docs) and (test.shortDescription() or "").strip() in docs

    return wanted


def report_unittest(session):
    import unittest
    import unittest.suite
    from functools import wraps
    Result, Text = unittest.TestResult, unittest.TextTestRunner
    tests, top = {}, []
    took = watch_calls(session)

    def fields(test):
        cls = type(test)
        name = getattr(test, "_testMethodName", None)
        path = f"{cls.__module__}.{cls.__qualname__}"
        try:
            doc = test.shortDescription()
        except Exception:
            doc = None
        text = str(test)
        return {"id": f"{name} ({path})" if name else text, "str": text, "doc": doc if type(doc) is str else None, "module": cls.__module__,
                "class": cls.__qualname__, "name": name, "file": file_of(cls)}

    def ours(result):
        return not top or top[0] is result

    def note(result, test, outcome):
        if not ours(result):
            return
        row = tests.get(id(test))
        if row is None:  # setUpClass, setUpModule
            if outcome != "passed":
                session.result(outcome, phase="setup", **fields(test))
        elif row["outcome"] in (None, "passed") or outcome == "error":
            row["outcome"] = outcome

    def wrap(name, before):
        orig = getattr(Result, name)

        @wraps(orig)
        def method(self, test, *args, **kwargs):
            before(self, test, *args)
            return orig(self, test, *args, **kwargs)

        setattr(Result, name, method)

    def start(result, test):
        if ours(result):
            tests[id(test)] = {"outcome": None, "started": session.clock()}
            took(test)

    def stop(result, test):
        row = tests.pop(id(test), None) if ours(result) else None
        if row is None:
            return
        came, strange = took(test)
        f, outcome = fields(test), row["outcome"]
        if outcome == "passed" and (not came or strange):
            session.contradiction(f["id"], strange or "reported as passed, but its method did not come to its end")
            outcome = "error"
        session.result(outcome or "error", row["started"], phase="call", **f)

    def subtest(result, test, sub, err):
        if err is not None:
            note(result, test, "failed" if issubclass(err[0], test.failureException) else "error")

    wrap("startTest", start)
    wrap("stopTest", stop)
    wrap("addSubTest", subtest)
    for name, outcome in (("addSuccess", "passed"), ("addError", "error"), ("addFailure", "failed"), ("addSkip", "skipped"),
                          ("addExpectedFailure", "xfail"), ("addUnexpectedSuccess", "xpass")):
        wrap(name, lambda result, test, *a, _o=outcome: note(result, test, _o))
    run, make = Text.run, Text._makeResult

    @wraps(make)
    def make_result(self):
        result = make(self)
        if not top and session.begun > session.ended:
            top.append(result)
        return result

    @wraps(run)
    def run_all(self, test):
        if session.begun > session.ended:
            return run(self, test)  # a test that runs tests
        session.begun += 1
        del top[:]
        result = run(self, test)
        session.ended += 1
        return result

    Text.run, Text._makeResult = run_all, make_result
    if session.part["select"] is not None:
        wanted, Suite = selected_unittest(session), unittest.suite.BaseTestSuite
        add = Suite.addTest

        @wraps(add)
        def add_test(self, test):
            if wanted(test):
                add(self, test)

        Suite.addTest = add_test


# ---- sympy -------------------------------------------------------------------------------------------------------------------------------

SYMPY = ("sympy.testing.runtests", "sympy.utilities.runtests")


def report_sympy(session):
    import inspect
    from functools import wraps
    isfunction, isgenerator, run_code = inspect.isfunction, inspect.isgeneratorfunction, exec
    now = {"file": "", "f": None, "started": 0}
    came = {}

    def seen(name, func):
        """A test function with its witness around it."""
        @wraps(func)
        def call(*a, **k):
            value = func(*a, **k)
            came[name] = session.witness.strange(func, name, now["file"]) or True
            return value
        return call

    def execute(code, namespace=None, *rest):
        run_code(code, namespace, *rest)
        if namespace is not None and namespace.get("__file__"):
            for name, func in list(namespace.items()):
                if name.startswith("test_") and isfunction(func) and not isgenerator(func) and func.__name__ == name:
                    namespace[name] = seen(name, func)

    def result(outcome, phase="call"):
        f, now["f"] = now["f"], None
        if f is None:
            session.result(outcome, id=now["file"] or "?", phase="collect", file=now["file"])
            return
        name = getattr(f, "__name__", "?")
        if outcome == "passed" and (hasattr(f, "__wrapped__") or session.witness.knows(now["file"], name)):
            was = came.pop(name, False)
            if was is not True:
                session.contradiction(name, was or "reported as passed, but its function did not come to its end")
                outcome = "error"
        session.result(outcome, now["started"], id=name, name=name, phase=phase, file=now["file"], module=os.path.basename(now["file"]))

    def put(cls, name, before):
        orig = getattr(cls, name, None)
        if orig is None:
            return

        @wraps(orig)
        def method(self, *a, **k):
            before(*a, **k)
            return orig(self, *a, **k)

        setattr(cls, name, method)

    def patch(module):
        cls = getattr(module, "PyTestReporter", None)
        if cls is None or cls.__module__ != module.__name__:
            return
        module.exec = module.exec_ = execute  # what it runs test files with

        def enter_file(filename, n):
            now["file"], now["f"] = filename, None

        def enter(f):
            now["f"], now["started"] = f, session.clock()
            came.pop(getattr(f, "__name__", "?"), None)

        def begin(*a, **k):
            session.begun += 1

        put(cls, "start", begin)
        put(cls, "entering_filename", enter_file)
        put(cls, "entering_test", enter)
        for name, outcome in (("test_pass", "passed"), ("test_fail", "failed"), ("test_exception", "error"), ("test_skip", "skipped"),
                              ("test_xfail", "xfail"), ("test_xpass", "xpass")):
            put(cls, name, lambda *a, _o=outcome, **k: result(_o))
        put(cls, "import_error", lambda filename, *a: session.result("error", id=filename, phase="collect", file=filename))
        finish = cls.finish

        @wraps(finish)
        def end(self, *a, **k):
            value = finish(self, *a, **k)
            session.ended += 1
            return value

        cls.finish = end
        if session.part["select"] is not None:
            wanted = set(session.part["select"]) | session.canaries
            module.SymPyTests.matches = lambda self, x: session.original(x.__name__) in wanted

    on_import(SYMPY, patch)


# ---- pytest ------------------------------------------------------------------------------------------------------------------------------

def pytest_plugin(session):
    import inspect
    from functools import wraps
    import pytest
    from _pytest.python import Function
    from _pytest.unittest import TestCaseFunction
    took = watch_calls(session)
    is_async = inspect.iscoroutinefunction
    items, collected, outcomes = {}, {}, os.path.join("_pytest", "outcomes.py")

    def wanted(nodeid, name, cut):
        id = session.original(nodeid)
        return id in cut or name in session.canaries or any("[" in c and not c.endswith("]") and id.startswith(c) for c in cut)

    class Reporter:
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, config, items):
            if session.part["select"] is None:
                return
            cut = {s for s in session.part["select"]}
            keep = [i for i in items if wanted(i.nodeid, getattr(i, "originalname", None) or i.name, cut)]
            drop = [i for i in items if i not in keep]
            if drop:
                config.hook.pytest_deselected(items=drop)
                items[:] = keep

        def pytest_sessionstart(self):
            session.begun += 1

        def pytest_itemcollected(self, item):
            if isinstance(item, Function):
                collected[item.nodeid] = code_of(getattr(item, "obj", None))

        def pytest_collectreport(self, report):
            if report.failed:
                session.result("error", id=report.nodeid, phase="collect", file=report.nodeid.split("::")[0], detail=str(report.longrepr)[-1000:])

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_protocol(self, item):
            f = {"name": getattr(item, "originalname", None) or item.name, "file": item.location[0]}
            if isinstance(item, Function):
                f["module"] = getattr(getattr(item, "module", None), "__name__", None)
                f["class"] = getattr(getattr(item, "cls", None), "__qualname__", None)
            items[item.nodeid] = {"fields": f, "outcome": None, "phase": None, "started": session.clock(), "watched": False, "came": False, "strange": None}
            yield

        @pytest.hookimpl(hookwrapper=True, trylast=True)
        def pytest_runtest_call(self, item):
            row, orig = items.get(item.nodeid), None
            if row is not None and isinstance(item, TestCaseFunction):
                row["watched"] = True
                case = getattr(item, "_testcase", None) or getattr(item, "_instance", None) or getattr(item, "instance", None)
                took(case)
                yield
                row["came"], row["strange"] = took(case)
                return
            if row is not None and isinstance(item, Function) and not is_async(item.obj):
                try:
                    orig = item.obj
                    qualname = f"{item.cls.__qualname__}.{row['fields']['name']}" if item.cls else row["fields"]["name"]
                    file = str(getattr(item, "path", None) or item.fspath)

                    @wraps(orig)
                    def seen(*a, **k):
                        value = orig(*a, **k)
                        row["came"], row["strange"] = True, session.witness.strange(orig, qualname, file)
                        if collected.get(item.nodeid) is not code_of(orig):
                            row["strange"] = "its code was exchanged"
                        return value

                    item.obj = seen
                    row["watched"] = True
                except Exception:
                    orig = None
            yield
            if orig is not None:
                item.obj = orig

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(self, item, call):
            row = items.get(item.nodeid)
            if row is not None and call.excinfo is not None and call.when == "call" and not item.get_closest_marker("xfail"):
                where = [str(e.path) for e in call.excinfo.traceback]
                if where and where[-1].endswith(outcomes):  # pytest.xfail() and its like: only a test may call them
                    callers = [w for w in where if not w.endswith(outcomes)]
                    row["giver"] = callers[-1] if callers else None
            yield

        def pytest_runtest_logreport(self, report):
            row = items.setdefault(report.nodeid, {"fields": {}, "outcome": None, "phase": None, "started": None, "watched": False, "came": False,
                                                   "strange": None})
            xfail = hasattr(report, "wasxfail")
            if report.failed:
                outcome = "failed" if report.when == "call" else "error"
            elif report.skipped:
                outcome = "xfail" if xfail else "skipped"
            elif report.when == "call" and report.passed:
                outcome = "xpass" if xfail else "passed"
            else:
                return
            giver = row.get("giver")
            if outcome == "xfail" and giver and session.product(giver):
                session.contradiction(report.nodeid, f"{giver} says that it is expected to fail")
                outcome = "failed"
            if row["outcome"] is None or report.failed:
                row["outcome"], row["phase"] = outcome, report.when

        def pytest_runtest_logfinish(self, nodeid):
            row = items.pop(nodeid, None)
            if row is None:
                return
            outcome = row["outcome"]
            file, *names = nodeid.split("[")[0].split("::")
            watched = row["watched"] or session.witness.knows(os.path.join(session.part["tree"], file), ".".join(names))
            if outcome == "passed" and watched and (not row["came"] or row["strange"]):
                session.contradiction(nodeid, row["strange"] or "reported as passed, but its function did not come to its end")
                outcome = "error"
            session.result(outcome or "error", row["started"], id=nodeid, phase=row["phase"], **row["fields"])

        def pytest_sessionfinish(self):
            session.ended += 1

    return Reporter()


# ---- the runner's way --------------------------------------------------------------------------------------------------------------------

def script(part):
    """Runs a script of the repository as python3 would."""
    import runpy
    path = os.path.join(part["tree"], part["argv"][0])
    sys.argv = [path if os.path.isabs(part["argv"][0]) else part["argv"][0], *part["argv"][1:]]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    runpy.run_path(path, run_name="__main__")
    return 0


def run_django(session, part):
    report_unittest(session)
    return script(part)


def run_sympy(session, part):
    report_sympy(session)
    if "--no-subprocess" not in part["argv"]:
        part["argv"].insert(1, "--no-subprocess")  # in this process, or there is nobody to report
    return script(part)


def run_unittest(session, part):
    import unittest
    report_unittest(session)
    sys.argv = ["python3 -m unittest", *part["argv"]]
    done = unittest.main(module=None, argv=sys.argv, exit=False)
    return 0 if done.result.wasSuccessful() else 1


def run_pytest(session, part):
    import pytest
    sys.argv = ["pytest", *part["argv"]]
    return int(pytest.main(part["argv"], plugins=[pytest_plugin(session)]))


KINDS = {"pytest": run_pytest, "django": run_django, "sympy": run_sympy, "unittest": run_unittest}
NEEDED = {
    "pytest": "pytest _pytest.python _pytest.unittest _pytest.runner _pytest.reports ast functools inspect unittest",
    "sympy": "ast functools importlib.machinery inspect runpy traceback",
}
NEEDED["django"] = NEEDED["unittest"] = "ast functools inspect json logging runpy subprocess tempfile threading traceback unittest unittest.suite"
STARTED = dict(os.environ) if not sys.flags.ignore_environment else {}  # what this interpreter was started with
AT_START = ("PYTHONHASHSEED", "PYTHONOPTIMIZE", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONDEVMODE", "PYTHONINTMAXSTRDIGITS")  # only heard by an interpreter that starts


def run_tests(again=False):
    import importlib
    import json
    if not again:
        data = read_frame(3)
        if data is None:
            os._exit(1)  # nothing to run
        first = json.loads(data[NONCE:])
        kind = first["kind"]
        os.environ.update(first["env"])
        if any(first["env"].get(k, STARTED.get(k)) != STARTED.get(k) for k in AT_START):
            for fd in (3, 4):
                os.set_inheritable(fd, True)
            os.execve(PYTHON, [PYTHON, "-s", *([os.path.abspath(__file__), "swe"] if __file__.endswith("start.py") else [os.path.abspath(__file__)]), "runner", kind], os.environ)
        if os.environ.get("PYTHONWARNINGS", "") != STARTED.get("PYTHONWARNINGS", ""):
            import warnings
            sys.warnoptions += os.environ["PYTHONWARNINGS"].split(",")
            warnings._processoptions(sys.warnoptions)
    else:
        kind = sys.argv[2]
    for name in NEEDED[kind].split():
        importlib.import_module(name)
    for fd in (3, 4):
        os.set_inheritable(fd, False)
    say, use = make_say()
    say("up")
    data = read_frame(3)
    os.close(3)
    if data is None:
        os._exit(1)
    use(data[:NONCE])
    part = json.loads(data[NONCE:])
    del data, use
    sys.modules["__main__"] = type(sys)("__main__")  # who looks for us has to look further
    leave, flush = os._exit, [sys.stdout, sys.stderr]
    session = Session(say, part)
    os.chdir(part["tree"])
    path = [p for p in part["pythonpath"]]
    if path:
        os.environ["PYTHONPATH"] = ":".join(path)
    sys.path[:0] = path
    if kind in ("pytest", "unittest") and part["tree"] not in sys.path:
        sys.path.insert(0, part["tree"])  # as -m has it
    try:
        code = KINDS[kind](session, part)
    except SystemExit as e:
        code = int(e.code) if isinstance(e.code, int) else 0 if e.code is None else 1
        if e.code is not None and not isinstance(e.code, int):
            print(e.code, file=sys.stderr)
    except BaseException:
        import traceback
        traceback.print_exc()
        code = 1
        session.ended = -1
    for stream in (*flush, sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    if session.begun and session.begun == session.ended:
        say("finish", counts=session.counts, exit=code)
    leave(code & 255)  # nothing registered for the end runs: the status is the test runner's


if len(sys.argv) > 1 and sys.argv[1] == "runner":
    run_tests(again=True)
else:
    sys.exit(drive())
