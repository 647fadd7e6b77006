# SPDX-License-Identifier: Apache-2.0
"""How the tests call belljar: as root or as an ordinary user, never without a hard time limit."""
import contextlib
import ctypes
import fcntl
import functools
import glob
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
BUILT = Path(os.environ.get("BELLJAR", REPO / "build" / "belljar")).resolve()
TEST_USER = os.environ.get("BELLJAR_TEST_USER", "")
SLOW = float(os.environ.get("BELLJAR_SLOW", "1"))  # a factor for every time limit: an emulated machine is slow
ROOT = os.geteuid() == 0 and not TEST_USER  # belljar itself runs as root
PYTHON = "/usr/bin/python3"
HANG_S = 60  # what takes longer hangs
NOT_PARTS = (".1", ".h", ".d")  # beside the programs and what they load
SUBIDS = {"belljartest": True, "belljarsingle": False}  # users that are made when missing: with subordinate ids, without


def seconds(s):
    return s * SLOW


def ms(n):
    """A time limit for a guest, as an option's value."""
    return f"{int(n * SLOW)}ms"


# ---- the session's folder, the users -------------------------------------------------------------

BASE = Path(tempfile.mkdtemp(prefix="belljar-e2e-", dir="/var/tmp"))  # every user may walk through it
BASE.chmod(0o755)


def copy_of_binary():
    """Tests use a copy: the build folder may be rebuilt while they run, and another user may not reach it."""
    if not BUILT.exists():
        pytest.exit(f"{BUILT} is missing: build belljar first, or set BELLJAR", 2)
    parts = [f for f in BUILT.parent.glob("belljar-*") if f.is_file() and f.suffix not in NOT_PARTS]
    if not parts:
        return BUILT  # installed: its parts lie elsewhere
    (BASE / "bin").mkdir(mode=0o755)
    for f in (BUILT, *parts):
        shutil.copy2(f, BASE / "bin" / f.name)
    return BASE / "bin" / BUILT.name


BELLJAR = copy_of_binary()


_logs = set()  # that runs of this session left in the state folder


def remove_traces():
    """What the session itself made: its folder, and the logs of its runs."""
    for log in _logs:
        with contextlib.suppress(OSError):
            os.unlink(log)
    shutil.rmtree(BASE, ignore_errors=True)


def has_sanitizer():
    """ASan keeps what is freed for a while: sizes say nothing then."""
    return any(b"__asan_init" in f.read_bytes() for f in BELLJAR.parent.glob("belljar*"))


def in_subfile(path, user):
    return Path(path).exists() and any(l.startswith(user + ":") for l in Path(path).read_text().splitlines())


def make_user(name):
    """An ordinary account; the ones of SUBIDS get or lack subordinate ids as the table says."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        if os.geteuid() != 0:
            pytest.skip(f"user {name} is missing, and only root can make it")
        subprocess.run(["useradd", "--no-create-home", "--shell", "/usr/sbin/nologin", "-K", "SUB_UID_COUNT=0", "-K",
                        "SUB_GID_COUNT=0", name], check=True, capture_output=True)
    if SUBIDS.get(name) and not in_subfile("/etc/subuid", name) and shutil.which("newuidmap"):
        subprocess.run(["usermod", "--add-subuids", "300000-365535", "--add-subgids", "300000-365535", name], check=True)
    return pwd.getpwnam(name)


def own(path, user=None):
    """Gives a file or folder of the test to whoever runs belljar."""
    user = TEST_USER if user is None else user
    if user:
        pw = pwd.getpwnam(user)
        os.chown(path, pw.pw_uid, pw.pw_gid)
    return path


@functools.cache
def home(user):
    """HOME and the XDG folders of one user (root: only HOME and configuration; state lies where root's does)."""
    if user:
        make_user(user)
    top = BASE / f"home-{user or 'self'}"
    for d in (top, top / "run", top / "state", top / "config"):
        d.mkdir(mode=0o700)
        own(d, user)
    return top


def environment(user, more=None):
    h = home(user)
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(h), "LANG": "C.UTF-8",
           "XDG_RUNTIME_DIR": str(h / "run"), "XDG_STATE_HOME": str(h / "state"), "XDG_CONFIG_HOME": str(h / "config"),
           "BELLJAR_STATE_DIR": str(h / "state" / "belljar")}  # root's too: thousands of receipts of tests are nobody's
    env.update({k: str(v) for k, v in (more or {}).items()})
    return env


def as_user(user):
    if not user:
        return []
    pw = make_user(user)
    return ["/usr/bin/setpriv", f"--reuid={pw.pw_uid}", f"--regid={pw.pw_gid}", "--clear-groups", "--"]


def run_dir(user=None):
    user = TEST_USER if user is None else user
    return Path("/run/belljar") if os.geteuid() == 0 and not user else home(user) / "run" / "belljar"


def state_dir(user=None):
    user = TEST_USER if user is None else user
    return home(user) / "state" / "belljar"


# ---- processes -----------------------------------------------------------------------------------

_known = set()  # children that a Popen object will wait for


def become_subreaper():
    """Whatever a run leaves behind becomes our child, so that nothing can hide."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def stat_of(pid):
    """(name, state, parent) of a process, or None. One that is already exiting in the kernel counts as dead (Z): it has no memory
    and runs no code any more, but taking namespaces down can keep it for seconds on a busy machine."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    rest = text[text.rindex(")") + 2:].split()
    exiting = int(rest[6]) & 4  # PF_EXITING
    return text[text.index("(") + 1:text.rindex(")")], "Z" if exiting else rest[0], int(rest[1])


def descendants(root):
    """All processes below `root`: {pid: (name, state, parent)}."""
    table = {int(p): stat_of(int(p)) for p in os.listdir("/proc") if p.isdigit()}
    found, grew = {}, True
    while grew:
        grew = False
        for pid, st in table.items():
            if st and pid not in found and (st[2] == root or st[2] in found):
                found[pid] = st
                grew = True
    return found


def is_alive(pid):
    st = stat_of(pid)
    return st is not None and st[1] not in "ZX"


def left_behind():
    """Living processes below us that no test waits for."""
    left = {}
    for pid, st in descendants(os.getpid()).items():
        if pid in _known:
            continue
        if st[1] in "ZX":
            if st[2] == os.getpid():
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            continue
        left[pid] = st
    return left


def told_about(pid):
    """What a process that should be gone is doing."""
    told = {}
    for name in ("wchan", "syscall", "stack", "cmdline", "stat"):
        with contextlib.suppress(OSError):
            told[name] = Path(f"/proc/{pid}/{name}").read_bytes().decode("utf-8", "replace").strip()
    return told


def kill_tree(pid):
    for p in [*descendants(pid), pid]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(p, signal.SIGKILL)


def wait_until(check, limit, step=0.02):
    """The first true value of check() within the time, else its last value."""
    end = time.monotonic() + seconds(limit)
    while True:
        value = check()
        if value or time.monotonic() > end:
            return value
        time.sleep(step)


# ---- running belljar -----------------------------------------------------------------------------

class Completed:
    """One finished call: exit status, both streams, and the result object where --json asked for it."""

    def __init__(self, argv, rc, out, err, wall):
        self.argv, self.rc, self.out, self.err, self.wall = argv, rc, out, err, wall
        self.result = None
        if out.lstrip().startswith((b"{", b"[")):
            with contextlib.suppress(ValueError):
                self.result = json.loads(out)
        whole = self.result if isinstance(self.result, dict) else {}
        for step in (whole, whole.get("compile")):
            if isinstance(step, dict) and isinstance(step.get("log"), dict):
                _logs.update(step["log"].values())

    def __getitem__(self, key):
        assert self.result is not None, f"no result object: {self}"
        return self.result[key]

    @property
    def verdict(self):
        return f"{self['status']}/{self['reason']}"

    @property
    def stderr(self):
        return self.err.decode("utf-8", "replace")

    @property
    def stdout(self):
        return self.out.decode("utf-8", "replace")

    def ok(self):
        """The program ran and exited with 0."""
        assert self.rc == 0 and (self.result is None or self["success"] is True), str(self)
        return self

    def __str__(self):
        argv = [a if len(a) < 300 else a[:300] + "..." for a in map(str, self.argv)]
        return f"exit status {self.rc}, {self.wall:.2f} s: {argv}\nstdout: {self.out[:1500]!r}\nstderr: {self.err[-1500:]!r}"


def start(*args, user=None, env=None, cwd="/", stdin=subprocess.DEVNULL, **popen):
    """Starts belljar in a session of its own; finish() or stop() ends it."""
    user = TEST_USER if user is None else user
    popen.setdefault("stdout", subprocess.PIPE)
    popen.setdefault("stderr", subprocess.PIPE)
    p = subprocess.Popen([*as_user(user), str(BELLJAR), *map(str, args)], stdin=stdin, env=environment(user, env), cwd=cwd,
                         start_new_session=True, **popen)
    p.started = time.monotonic()
    _known.add(p.pid)
    return p


def finish(p, input=None, timeout=HANG_S):
    try:
        out, err = p.communicate(input, timeout=seconds(timeout))
    except subprocess.TimeoutExpired:
        kill_tree(p.pid)
        out, err = p.communicate()
        raise AssertionError(f"no end after {seconds(timeout)} s: {p.args}\n{(out or b'')[-500:]!r}\n{(err or b'')[-500:]!r}") from None
    finally:
        _known.discard(p.pid)
    return Completed(p.args, p.returncode, out or b"", err or b"", time.monotonic() - p.started)


def stop(p):
    """For the end of a test: whatever state it is in, it ends."""
    if p.poll() is None:
        kill_tree(p.pid)
    with contextlib.suppress(ValueError):
        p.communicate()
    _known.discard(p.pid)


def check_it_works():
    """One run before all tests: without it none of them says anything."""
    c = run("run", "--", "echo", "works")
    if c.rc != 0 or c.out != b"works\n":
        pytest.exit(f"belljar does not work here at all: {c}", 2)


def run(*args, input=None, timeout=HANG_S, **kw):
    """`belljar ARGS`."""
    if input is not None:
        kw["stdin"] = subprocess.PIPE
    return finish(start(*args, **kw), input, timeout)


def jar(*args, **kw):
    """`belljar run --json ARGS`: the result object decides."""
    c = run("run", "--json", *args, **kw)
    assert c.result is not None, f"no result object: {c}"
    return c


def python(code, *opts, **kw):
    return jar(*opts, "-c", code, "--lang", "python", **kw)


def bash(code, *opts, **kw):
    return jar(*opts, "-c", code, "--lang", "bash", **kw)


@functools.cache
def has_batch():
    return run("batch", "--help").rc == 0


def need_batch():
    if not has_batch():
        pytest.skip("this belljar has no `batch`")


class Batch:
    """One `belljar batch -`: requests go in as they come, results are collected by line number."""

    def __init__(self, *opts, env=None, user=None):
        self.p = start("batch", "-", *opts, env=env, user=user, stdin=subprocess.PIPE)
        self.results, self.bad, self.err, self.sent = {}, [], b"", 0
        self.more = threading.Condition()
        self.readers = [threading.Thread(target=f, daemon=True) for f in (self._results, self._errors)]
        for t in self.readers:
            t.start()

    def _results(self):
        for line in self.p.stdout:
            with self.more:
                try:
                    r = json.loads(line)
                    self.results[r["line"]] = r
                    if isinstance(r.get("log"), dict):
                        _logs.update(r["log"].values())
                except (ValueError, KeyError, TypeError):
                    self.bad.append(line)
                self.more.notify_all()
        with self.more:
            self.more.notify_all()

    def _errors(self):
        for line in self.p.stderr:
            self.err += line

    def send(self, request):
        """Writes one request; returns its line number. BrokenPipeError when belljar is gone."""
        text = request if isinstance(request, bytes) else json.dumps(request).encode() + b"\n"
        self.sent += 1
        self.p.stdin.write(text)
        self.p.stdin.flush()
        return self.sent

    def get(self, line, limit=HANG_S):
        """The result of one line, or None when there is none in time or belljar ended without it."""
        end = time.monotonic() + seconds(limit)
        with self.more:
            while line not in self.results and self.readers[0].is_alive() and time.monotonic() < end:
                self.more.wait(0.2)
            return self.results.get(line)

    def run(self, request, limit=HANG_S):
        r = self.get(self.send(request), limit)
        assert r is not None, f"no result in {limit} s for {str(request)[:300]}: {self.err[-500:]!r}"
        return r

    def close(self, limit=HANG_S):
        """End of input; waits for belljar's own end and returns its exit status."""
        with contextlib.suppress(BrokenPipeError):
            self.p.stdin.close()
        try:
            return self.p.wait(seconds(limit))
        except subprocess.TimeoutExpired:
            kill_tree(self.p.pid)
            raise AssertionError(f"batch did not end within {limit} s of the end of its input: {self.err[-500:]!r}") from None
        finally:
            self.gone()

    def gone(self):
        """For the end of a test: whatever state it is in, nothing of it stays."""
        if self.p.poll() is None:
            kill_tree(self.p.pid)
        self.p.wait()
        for t in self.readers:
            t.join(5)
        with contextlib.suppress(OSError):
            self.p.stdin.close()
        self.p.stdout.close()
        self.p.stderr.close()
        _known.discard(self.p.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.gone()


@functools.cache
def missing(user=None):
    """What this host cannot guard, as belljar itself says."""
    return frozenset(run("run", "--json", "--", "/bin/true", user=user)["isolation"]["missing"])


def need(guard, user=None):
    if guard in missing(user):
        pytest.skip(f"needs {guard}, which belljar lists as missing here (no cgroup was delegated to this user)")


@functools.cache
def languages():
    return {l["name"]: l for l in run("languages", "--json").result}


def need_language(name):
    row = languages().get(name)
    if not row or not row["installed"]:
        pytest.skip(f"{name} is not installed: apt-get install {row['package'] if row else '?'}")


def need_program(path, package):
    if not os.path.exists(path):
        pytest.skip(f"{path} is not installed: apt-get install {package}")


# ---- what a run may leave on the host ------------------------------------------------------------

def cgroup_tops():
    for line in Path("/proc/self/mounts").read_text().splitlines():
        f = line.split()
        if f[2] in ("cgroup", "cgroup2"):
            yield f[1]


def stale_cgroups(user=None):
    """Cgroups of slots that nobody holds: looked at while we hold the slot's lock, so that other runs do not count."""
    stale = []
    for lock in glob.glob(str(run_dir(user) / "slots" / "*")):
        with open(lock, "r+") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            name = "s" + os.path.basename(lock)
            for top in cgroup_tops():
                stale += [g for g in glob.glob(f"{top}/belljar/{name}") + glob.glob(f"{top}/*/belljar/{name}") if ours(g, user)]
    return stale


def ours(cgroup, user):
    """Root's slots and an ordinary user's have the same names: the owner tells them apart."""
    user = TEST_USER if user is None else user
    with contextlib.suppress(OSError):
        return not user or os.stat(cgroup).st_uid != 0
    return False


def stale_runs(user=None):
    """Entries of the runs' folder whose process is gone."""
    stale = set()
    for path in glob.glob(str(run_dir(user) / "runs" / "*")):
        with contextlib.suppress(OSError):
            with open(path, "r+") as f:
                fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                stale.add(os.path.basename(path))
    return stale


class Traces:
    """What is there before; new() says what came since and belongs to nobody alive."""

    def __init__(self, user=None):
        self.user, self.cgroups, self.runs = user, set(stale_cgroups(user)), stale_runs(user)

    def new(self):
        found = {}
        if left_behind():
            found["processes"] = left_behind()
        if set(stale_cgroups(self.user)) - self.cgroups:
            found["cgroups"] = set(stale_cgroups(self.user)) - self.cgroups
        if stale_runs(self.user) - self.runs:
            found["runs"] = stale_runs(self.user) - self.runs
        return found

    def gone(self, limit=2):
        """Empty when everything of ours is away within the time."""
        wait_until(lambda: not self.new(), limit)
        return self.new()
