# SPDX-License-Identifier: Apache-2.0
# Repository-level patches (src/grade/swe_*.c), the driver. It runs in the jar, in belljar's own interpreter.
#
# The driver applies the patches, puts the files of the tests where they belong, starts the runner (swe_runner.py, in the instance's interpreter), and says
# on its standard output what it sees, as frames. Nothing of the model ever runs in the driver's process, and the runner cannot look into it: what the
# driver says about the tree and about the runner's end is true.
#
# Frame: length (4 bytes, little endian), JSON. One comes in, the job (see drive() and patch_all()); these go out:
#	apply      outcome, method, notes, attempts, rejects, files, ms, detail (why a patch was refused)
#	tampering  what, path, action (restored, removed, seen), detail
#	refused    modules: top modules of the checkout that the runner itself has loaded from elsewhere; nothing is run
#	ready      marked [ids of job.tests whose own source says expected failure], ns, apply_ns
#	out        data: the runner's output
#	test       id, outcome, phase, name, class, module, file, doc, str, ms, detail; where (not passed); by (skipped, xfail: who says so);
#	           def (with select), value (with probe)
#	plan       what variants.plan() returned (mode plan; the last frame)
#	finish     counts {outcome: n}, exit: the test runner's own end, only when it came to it
#	tests_end  exit, signal, children_left: from the kernel
import os
import re
import select
import struct
import sys
import time

GIT, PATCH, CP, PYTHON = "/usr/bin/git", "/usr/bin/patch", "/bin/cp", "/usr/bin/python3"
HERE = os.path.dirname(os.path.abspath(__file__))
LOG_MAX, REJECTS_MAX, TEXT_MAX, FRAME_MAX = 8 << 10, 20 << 10, 4096, 1 << 20
TEXT_LONG = 16 << 10  # of a traceback's places
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


def scratch(inherit=False):
    """A file without a name. Where no memory cgroup counts them there are none that lie in memory."""
    try:
        return os.memfd_create("belljar", 0 if inherit else os.MFD_CLOEXEC)
    except OSError:
        fd = os.open("/tmp", os.O_TMPFILE | os.O_EXCL | os.O_RDWR, 0o600)
        os.set_inheritable(fd, inherit)
        return fd


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

    def tell(self, what, path, action, detail=None):
        self.say("tampering", what=what, path=safe_text(path), action=action, detail=detail and safe_text(detail))


def spawn(argv, env, stdin, out, extra=(), session=False):
    actions = [(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, out, 2)]
    actions += [(os.POSIX_SPAWN_DUP2, a, b) for a, b in extra]
    return os.posix_spawn(argv[0], argv, env, file_actions=actions, setsid=session)


class Tools:
    """git and patch, in a clean environment and with a time limit."""

    def __init__(self, tree, limit_s):
        self.tree, self.end = tree, time.monotonic() + limit_s
        self.null = os.open("/dev/null", os.O_RDWR)
        # What git writes for itself while it tries holds the tests as well: it goes away with close().
        self.objects = f"/tmp/belljar-{os.getpid()}.objects"
        os.mkdir(self.objects, 0o700)
        self.env = {"GIT_OBJECT_DIRECTORY": self.objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{tree}/.git/objects:{tree}/.git/test-objects", "PATH": "/usr/bin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
                    "GIT_ATTR_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_DIR": tree + "/.git", "GIT_WORK_TREE": tree}

    def run(self, argv, stdin=None):
        """Its exit status (None: it took too long or was killed) and what it printed."""
        out = scratch()
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

    def close(self):
        remove(self.objects)
        os.close(self.null)

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
        import hashlib
        self.names, self.mode, self.old_mode, self.binary, self.added, self.hunks = [], None, None, False, [], 0
        self.lines = hashlib.sha256()  # of what it adds and removes


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
            if entry and kind in (b"+", b"-"):
                entry.lines.update(line.rstrip(b"\r") + b"\n")
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

    def look(self, path):
        return look(self.at(path))

    def remove(self, path):
        remove(self.at(path))

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
        self.digests = {e.names[-1]: e.lines.hexdigest() for e in self.entries if e.names and not e.binary}
        self.fd = scratch(inherit=True)
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


class TestFile:
    """A test file, parsed as far as marks ask: a test may only be expected to fail where its own source says so."""

    def __init__(self, data):
        import ast
        self.ast, self.tree = ast, ast.parse(data)
        self.classes, self.functions, self.aliases = {}, [], set()
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and self.says(node.value):
                self.aliases.update(t.id for t in node.targets if isinstance(t, ast.Name))
        self.walk(self.tree.body, ())

    def walk(self, body, classes):
        ast = self.ast
        for node in body:
            if isinstance(node, ast.ClassDef):
                self.classes[".".join([*classes, node.name])] = node
                self.walk(node.body, (*classes, node.name))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions.append((".".join(classes), node))
            elif isinstance(node, (ast.If, ast.Try, ast.With)):
                for part in ("body", "orelse", "finalbody"):
                    self.walk(getattr(node, part, ()), classes)

    def says(self, node):
        """Whether an expression or a statement names something that expects a failure."""
        return any(MARK.search(getattr(n, "attr", getattr(n, "id", ""))) or getattr(n, "id", None) in self.aliases for n in self.ast.walk(node)
                   if isinstance(n, (self.ast.Attribute, self.ast.Name)))

    def class_says(self, name, depth=0):
        node = self.classes.get(name)
        if node is None or depth > 10:
            return False
        return any(map(self.says, node.decorator_list)) or self.assigned(node.body) or any(
            self.class_says(b.id, depth + 1) for b in node.bases if isinstance(b, self.ast.Name))

    def assigned(self, body):
        """pytestmark = ... in the body of a module or class."""
        return any(isinstance(n, self.ast.Assign) and any(getattr(t, "id", None) == "pytestmark" for t in n.targets) and self.says(n.value) for n in body)

    def marks(self, cls, node):
        return any(map(self.says, node.decorator_list)) or any(map(self.says, node.body)) or self.class_says(cls) or self.assigned(self.tree.body)

    def doc(self, node):
        return (self.ast.get_docstring(node, clean=False) or "").strip().split("\n")[0].strip()


MARK = re.compile(r"(?i)xfail|expected_?fail")  # a skipped test never counts, whoever says so


def marked(files, tests, kind):
    """Those of `tests` whose own source says that they are expected to fail. `files`: {path: bytes}."""
    parsed, found = {}, []
    for path, data in files.items():
        try:
            parsed[path] = TestFile(data)
        except (SyntaxError, ValueError, RecursionError):
            pass
    for test in tests:
        name, file, module = function_of(test, kind)
        cls = class_of(test, kind)
        places = {p: f for p, f in parsed.items() if file is None or p == os.path.normpath(file)}
        if module:
            places = {p: f for p, f in places.items() if is_module(p, module)} or places
        for f in places.values():
            hits = [(c, n) for c, n in f.functions if (n.name == name if name else f.doc(n) == test.strip())]
            own = [(c, n) for c, n in hits if cls and c == cls]
            if (cls and f.class_says(cls)) or any(f.marks(c, n) for c, n in own or hits):
                found.append(test)
                break
    return found


def class_of(test, kind):
    """The class in the name of a test, or None."""
    if kind == "pytest":
        return ".".join(re.split(r"\[", test, maxsplit=1)[0].split("::")[1:-1]) or None
    known = unittest_id(test) if kind in ("django", "unittest") else None
    return known[1].rsplit(".", 1)[-1] if known else None


def write_files(tree, files):
    """The contents of test files for this run, over what the test patch made."""
    gone = []
    for path, text in files.items():
        path = plain_path(path)
        state = look(tree.at(path))
        tree.put(path, ("file", text.encode("utf-8", "surrogateescape"), state[2] if state[0] == "file" else 0o644), gone)


def sources(tree, tests, more=()):
    """{path: bytes} of the test patch's files and of some more, as they are now."""
    found = {}
    for path in [p for p, s in tests.items() if s[0] == "file"] + list(more):
        state = look(tree.at(path)) if path.endswith(".py") else MISSING
        if state[0] == "file":
            found[path] = state[1]
    return found


def files_of(ids, kind):
    """Files that the names of tests name."""
    named = [function_of(t, kind)[1] for t in ids]
    return [os.path.normpath(p) for p in dict.fromkeys(named) if p and not os.path.normpath(p).startswith(("..", "/"))]


# ---- versions of tests -------------------------------------------------------------------------------------------------------------------

def load(name):
    """A module of this folder, from its compiled form where there is one for this interpreter."""
    import binascii
    import importlib.util
    import marshal
    import types
    path, code = os.path.join(HERE, name + ".py"), None
    if os.path.exists(path[:-3] + ".code"):
        with open(path[:-3] + ".code", "rb") as f:
            code = marshal.loads(binascii.a2b_base64(f.read())) if f.readline().strip() == importlib.util.MAGIC_NUMBER.hex().encode() else None
    if code is None:
        with open(path, "rb") as f:
            code = compile(f.read(), path, "exec", dont_inherit=True)
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(code, module.__dict__)
    return module


def make_plan(front, tree, tests, job):
    """What variants.plan() makes of the test files and of the files that hold the tests' functions."""
    wanted = job["plan"]["tests"]
    defined = [plain_path(t["def"].rsplit(":", 2)[0]) for t in wanted if t.get("def")]
    files = {p: data.decode("utf-8", "surrogateescape") for p, data in sources(tree, tests, [p for p in dict.fromkeys(defined) if p not in tests]).items()}
    front.say("plan", **load("variants").plan({"kind": job["kind"], "files": files, "tests": wanted, "seed": job["plan"]["seed"]}))


# ---- the runner, seen from here ----------------------------------------------------------------------------------------------------------

FIELDS = {"test": {"id": str, "outcome": str, "phase": str, "module": str, "class": str, "name": str, "doc": str, "str": str, "file": str, "ms": int,
                   "detail": str, "def": str, "where": str, "value": str, "by": str},
          "finish": {"counts": dict, "exit": int}, "tampering": {"what": str, "path": str, "action": str, "detail": str}, "up": {"modules": list, "outside": list, "missing": str}}


# A repository's own test library: the witness compares it like test files, unless the patch changes it.
SUPPORT = {"django": ("django/test/testcases.py",), "sympy": ("sympy/testing/pytest.py", "sympy/utilities/pytest.py")}


def split_notes(body):
    """(the witness's notes, the rest) of a frame."""
    n = struct.unpack("<I", body[:4])[0]
    return (body[4:4 + n].decode("utf-8", "replace"), body[4 + n:]) if 4 + n <= len(body) else ("", b"")


class Runner:
    """The process that runs tests; its frames are only believed when they begin with the run's word."""

    def __init__(self, front, job):
        """Starts it in the instance's interpreter, so that it imports while patches are applied."""
        import codecs
        import fcntl
        to_r, self.to = os.pipe()
        self.out, out_w = os.pipe()
        self.said, say_w = os.pipe()
        null = os.open("/dev/null", os.O_RDONLY)
        self.front, self.nonce, self.modules, self.outside, self.missing, self.evidence = front, os.urandom(NONCE), frozenset(), frozenset(), None, None
        env = {**os.environ, **{str(k): str(v) for k, v in (job.get("env") or {}).items()}}
        env.pop("PYTHONPATH", None)
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in (null, out_w, to_r, say_w)]  # above the numbers that they get
        start = os.path.join(HERE, "start.py")
        words = [start, "swe_runner"] if os.path.exists(start) else [os.path.join(HERE, "swe_runner.py")]
        self.pid = spawn([job.get("python") or PYTHON, "-s", *words, job["kind"]], env, high[0], high[1], ((high[2], 3), (high[3], 4)), session=True)
        for fd in (to_r, out_w, say_w, null, *high):
            os.close(fd)
        self.watch = os.pidfd_open(self.pid)
        self.pending, self.broken, self.is_up = b"", False, False
        self.decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        os.set_blocking(self.out, False)
        os.set_blocking(self.said, False)

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
            if size > FRAME_MAX or size < NONCE + 4:
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
        notes, body = split_notes(body[NONCE:])
        try:
            o = self.front.loads(body)
            fields = FIELDS[o["t"]]
            clean = {k: o[k] for k, kind in fields.items() if k in o and type(o[k]) is kind}
        except (ValueError, KeyError, TypeError, RecursionError):
            self.break_off("a frame that cannot be read came through the reporter's pipe")
            return
        clean = {k: safe_text(v)[:TEXT_LONG if k == "where" else TEXT_MAX] if isinstance(v, str) else v for k, v in clean.items()}
        if o["t"] == "up" and not self.is_up:
            self.is_up, self.modules, self.outside, self.missing = True, frozenset(clean.get("modules", ())), frozenset(clean.get("outside", ())), clean.get("missing")
            return
        if not self.is_up or self.evidence is None:
            return
        judged = {"t": o["t"], **clean}
        for what, why in self.evidence.judge(judged, notes):
            self.front.say("tampering", what=what, path=clean.get("id"), action="seen", detail=safe_text(why)[:TEXT_MAX])
        self.front.say(**judged)

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
    hide()
    inp, out = os.dup(0), os.dup(1)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    front, runner = Front(out), None
    try:
        data = read_frame(inp)
        if data is None:
            raise ValueError("no job on standard input")
        job = front.loads(data)
        if job.get("mode") == "test":
            runner = Runner(front, job)
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
    try:
        tree, patch, tests = apply_all(tools, top, job, told, notes, files)
    finally:
        tools.close()
    if tree is None:
        return False
    if runner:
        runner.pump(lambda: runner.is_up)
    outside = runner.outside if runner else frozenset(sys.stdlib_module_names)
    guard = load("swe_guard").Guard(front, tree, patch, tests, files_of(job.get("tests") or [], job["kind"]), job, outside)
    guard.run()
    guard.suspects(load("evidence").suspicious)
    if runner and refuse(front, tree, job, runner.modules):
        return False
    write_files(tree, job.get("files") or {})
    if job.get("mode") == "plan":
        make_plan(front, tree, tests, job)
    if not runner:
        return False
    return start_tests(front, tree, patch, tests, job, runner, guard, begin)


def refuse(front, tree, job, loaded):
    """A checkout whose own modules the runner has loaded from somewhere else would not be what is tested."""
    roots = {""} | {os.path.relpath(p, tree.top) for p in job.get("pythonpath") or ()} | {"src", "lib"}
    own = load("swe_guard").packages(tree, [r for r in roots if not r.startswith("..")]) & loaded
    if own:
        front.say("refused", modules=sorted(own))
    return bool(own)


NOT_APPLIED = (None, None, None)


def apply_all(tools, top, job, told, notes, files):
    """Both patches, and what came of it. Returns the tree, the model's patch and the test patch's files, or NOT_APPLIED."""
    if job.get("copy_from"):
        os.makedirs(top, exist_ok=True)
        code, text = tools.run([CP, "-a", "--reflink=auto", job["copy_from"].rstrip("/") + "/.", top])
        if code != 0:
            told("error", detail=f"the tree cannot be copied: {text[-500:].decode('utf-8', 'backslashreplace')}")
            return NOT_APPLIED
    tests = {}
    try:
        tests, done = apply_tests(tools, top, job.get("test_patch") or "")
    except Refused as e:
        told("test_patch_failed", detail=safe_text(str(e)))
        return NOT_APPLIED
    if tests is None:
        told("test_patch_failed", attempts=done.attempts, rejects=done.rejects)
        return NOT_APPLIED
    tree, text = Tree(top), job.get("model_patch")
    try:
        patch = Patch(text or "")
    except Refused as e:
        told(e.outcome, detail=safe_text(str(e)))
        return NOT_APPLIED
    notes += patch.notes
    if text is not None and patch.empty:
        told("empty")
        return NOT_APPLIED
    if text is None:
        told("applied")
    else:
        try:
            done = apply_chain(tools, tree, patch)
        except Refused as e:
            tree.back()
            told(e.outcome, detail=safe_text(str(e)))
            return NOT_APPLIED
        files += patch.paths
        told(done.outcome, done.method, done.attempts, done.rejects if done.outcome in ("rejected", "malformed") else "")
        if done.outcome not in ("applied", "already"):
            return NOT_APPLIED
    return tree, patch, tests


def start_tests(front, tree, patch, tests, job, runner, guard, begin):
    """Says to the runner what it is to run, once it has loaded what it needs."""
    ids = job.get("tests") or []
    files = sources(tree, tests, [p for p in [*files_of(ids, job["kind"]), *(job.get("files") or {})] if p not in tests])
    evidence = load("evidence")
    changed = [p for p in patch.paths if look(tree.at(p)) != tree.base.get(p, MISSING)]
    foreign = [p for p in changed if not guard.watched(p)]

    def read(path):
        state = look(tree.at(path)) if path not in changed else MISSING
        return state[1] if state[0] == "file" else None

    files = {**evidence.mixin_files(read, files, sorted(guard.places.roots())), **files}
    runner.evidence = evidence.Evidence(tree.top, files, job["kind"])
    support = [tree.at(p) for p in SUPPORT.get(job["kind"], ()) if p not in files and read(p) is not None]
    part = {"foreign": foreign, "support": support, "tree": tree.top, "kind": job["kind"], "argv": list(job.get("argv") or ()), "pythonpath": job.get("pythonpath") or [],
            "test_files": [tree.at(p) for p in sorted(files)], "select": job.get("select"), "copies": job.get("copies") or "", "probe": bool(job.get("probe")),
            "patched": changed}
    ready = {"marked": marked(files, ids, job["kind"])}
    forget_files()
    forget_tests(tree)
    if runner.missing:
        front.say("tampering", what="witness_missing", path=job.get("python"), action="seen", detail=safe_text(runner.missing)[:TEXT_MAX])
        return False
    front.say("ready", ns=time.monotonic_ns(), apply_ns=time.monotonic_ns() - begin, **ready)
    runner.send(part, runner.nonce)
    return True


def forget_tests(tree):
    """Takes the store with the contents of the base's test files out of the repository (tree.py): nothing says any more what a test was before this run."""
    if look(tree.at(".git/test-objects"))[0] == "dir":
        remove(tree.at(".git/test-objects"))
        remove(tree.at(".git/objects/info/alternates"))


def forget_files():
    """The runner has loaded its own: nothing of ours stays where the tests could read it."""
    if os.path.basename(HERE) == ".belljar":
        remove(HERE)


sys.exit(drive())
