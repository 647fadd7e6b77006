# SPDX-License-Identifier: Apache-2.0
"""Small repositories, patches made by git itself, and the driver of src/guest/python/swe.py in a jar."""
import itertools
import json
import os
import shutil
import struct
import subprocess

import harness

TREE = "/workspace/testbed"
GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.autocrlf=false", "-c", "init.defaultBranch=main"]
GUEST = harness.REPO / "src" / "guest" / "python"
DRIVER = [w for f in (GUEST / "swe.py", GUEST / "swe_guard.py", GUEST / "swe_runner.py", GUEST / "evidence.py", harness.BUILT.parent / "witness.so") for w in ("--file", f"{f}:.belljar/{f.name}")]
_count = itertools.count()


def folder(name="swe"):
    path = harness.BASE / f"{name}-{next(_count)}"
    path.mkdir(mode=0o755)
    return path


def write(top, files):
    """{path: text, bytes, None (gone), ("link", target), ("exec", text)}"""
    for name, what in files.items():
        path = top / name
        if what is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or path.is_file():
            path.unlink()
        if isinstance(what, tuple) and what[0] == "link":
            if path.is_dir():
                path.rmdir()
            path.symlink_to(what[1])
            continue
        mode, what = (0o755, what[1]) if isinstance(what, tuple) else (0o644, what)
        path.write_bytes(what if isinstance(what, bytes) else what.encode())
        path.chmod(mode)


def git(top, *args, **kw):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run([*GIT, "-C", str(top), *args], check=True, capture_output=True, env=env, **kw).stdout


class Repo:
    """A repository of one commit."""

    def __init__(self, files):
        self.top = folder("repo")
        write(self.top, files)
        git(self.top, "init", "-q")
        git(self.top, "add", "-A", "-f")
        git(self.top, "commit", "-qm", "base")
        for path in [self.top, *self.top.rglob("*")]:
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o444 | (0o111 if path.is_dir() else 0))

    def diff(self, files, *opts):
        """The patch that makes these changes."""
        work = folder("work")
        shutil.rmtree(work)
        shutil.copytree(self.top, work, symlinks=True)
        write(work, files)
        git(work, "add", "-A", "-f")
        text = git(work, "diff", "--cached", "--binary", *opts, "HEAD").decode("utf-8", "surrogateescape")
        shutil.rmtree(work)
        return text


def frames(data):
    found = []
    while len(data) >= 4:
        n = struct.unpack("<I", data[:4])[0]
        found.append(json.loads(data[4:4 + n]))
        data = data[4 + n:]
    assert not data, f"half a frame at the end: {data[:100]!r}"
    return found


class Said:
    """What the driver said."""

    def __init__(self, all_frames, rc):
        self.frames, self.rc = all_frames, rc

    def all(self, t):
        return [f for f in self.frames if f["t"] == t]

    def one(self, t):
        found = self.all(t)
        assert len(found) == 1, f"{len(found)} frames {t!r}: {self}"
        return found[0]

    @property
    def apply(self):
        return self.one("apply")

    @property
    def outcome(self):
        return self.apply["outcome"]

    @property
    def out(self):
        return "".join(f["data"] for f in self.all("out"))

    @property
    def tests(self):
        return {f["id"]: f["outcome"] for f in self.all("test")}

    @property
    def tampering(self):
        return {(f["what"], f["path"], f["action"]) for f in self.all("tampering")}

    def __str__(self):
        return f"exit {self.rc}\n" + "\n".join(json.dumps(f)[:3000] for f in self.frames)


def drive(repo, *options, timeout=harness.HANG_S, **job):
    """One job for the driver."""
    job = {"tree": TREE, "copy_from": "/base", "model_patch": None, "test_patch": "", "mode": "test", "kind": "pytest", "argv": [], "env": {},
           "pythonpath": [TREE], "protected": ["tests/**", "**/tests/**", "bin/test"],
           "runner_files": [], "watched": [], "gold": {}, "python": "/usr/bin/python3", "tests": [], "select": None, "copies": "", "files": {}, "probe": False, "apply_timeout_s": 60, **job}
    data = json.dumps(job).encode()
    c = harness.run("run", "-q", "--ro", f"{repo.top}:/base", "--stdin", "-", "--disk", "200M", "-m", "1G", "--pids", "128", "--output", "32M", "--timeout", "60s",
                    "--audit", "off", *options, *DRIVER, "--", "/usr/bin/python3", "-I", "/workspace/.belljar/swe.py", input=struct.pack("<I", len(data)) + data, timeout=timeout)
    return Said(frames(c.out), c.rc)


def apply(repo, model_patch, test_patch="", *options, **job):
    return drive(repo, *options, model_patch=model_patch, test_patch=test_patch, mode="apply", **job)


def look(repo, paths, **job):
    """The tree after the patches, as a test sees it: {path: text or None}."""
    prober = f"import json\n\ndef test_look():\n    got = {{}}\n    for p in {list(paths)!r}:\n        try:\n            got[p] = open(p, encoding='latin-1', " \
             "newline='').read()\n        except OSError:\n            got[p] = None\n    print('LOOK' + json.dumps(got))\n"
    probe = repo.diff({"tests/test_belljar_look.py": prober})
    job["test_patch"] = job.get("test_patch", "") + probe
    said = drive(repo, kind="pytest", argv=["-q", "-rP", "-p", "no:cacheprovider", "tests/test_belljar_look.py"], **job)
    assert "LOOK" in said.out, str(said)
    return said, json.loads(next(l for l in said.out.splitlines() if l.startswith("LOOK"))[4:])
