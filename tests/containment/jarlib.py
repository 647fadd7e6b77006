# SPDX-License-Identifier: Apache-2.0
"""What the cases share: run belljar, run a probe outside, look at the host, find what was left behind."""
import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import warm
from warm import OneShot, WARM

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
BELLJAR = Path(os.environ.get("BELLJAR", REPO / "build" / "belljar"))
HOOKS = Path(os.environ.get("BELLJAR_HOOKS", REPO / "build-hooks" / "belljar"))
TEST_USER = os.environ.get("BELLJAR_TEST_USER", "")
TEST_UID = os.environ.get("BELLJAR_TEST_UID", "")  # run every jar with this uid inside
ROOT = os.geteuid() == 0
ROOTLESS = bool(TEST_USER) or not ROOT
GUEST_UID = int(TEST_UID or 1000)
ID_BASE = 0x70000000

DENIED, REACHED, ABSENT, BROKEN = 40, 41, 42, 43
CASE_LIMIT_S = 30  # a case that takes longer hangs, and a hang is a failure

NONCE = secrets.token_hex(8)


def snapshot_binaries():
    """Copies what is tested, so that a build that goes on meanwhile does not change it. Returns the folder."""
    global BELLJAR, HOOKS
    top = Path(tempfile.mkdtemp(prefix="containment-bin-", dir="/var/tmp"))
    top.chmod(0o755)
    for name, source in (("plain", BELLJAR), ("hooks", HOOKS)):
        programs = [f for f in source.parent.glob("belljar*") if f.is_file() and f.suffix not in (".1", ".h", ".d")]
        if source in programs:
            (top / name).mkdir(mode=0o755)
            for f in programs:
                shutil.copy2(f, top / name / f.name)
    BELLJAR = top / "plain" / BELLJAR.name if (top / "plain").exists() else BELLJAR
    HOOKS = top / "hooks" / HOOKS.name if (top / "hooks").exists() else HOOKS
    return top


class HarnessError(Exception):
    """The suite itself cannot go on: never a verdict about belljar, never counted as red."""


class Hang(AssertionError):
    """belljar did not end by itself."""


# ---- processes -----------------------------------------------------------------------------------

_libc = ctypes.CDLL(None, use_errno=True)
_owned = set()  # helpers of the suite itself: listeners, canaries, live jars


def become_subreaper():
    """Whatever belljar leaves behind becomes our child, so that nothing can hide from leak()."""
    if _libc.prctl(36, 1, 0, 0, 0) != 0:
        raise HarnessError("prctl(PR_SET_CHILD_SUBREAPER)")


def own(pid):
    _owned.add(pid)
    return pid


def disown(pid):
    _owned.discard(pid)


def stat_of(pid):
    """(comm, state, ppid, pgrp, session) of a process, or None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    comm = text[text.index("(") + 1 : text.rindex(")")]
    rest = text[text.rindex(")") + 2 :].split()
    return comm, rest[0], int(rest[1]), int(rest[2]), int(rest[3])


def descendants(root):
    """All living processes below `root` (zombies too), as {pid: stat}."""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            st = stat_of(int(name))
            if st:
                table[int(name)] = st
    found, grew = {}, True
    while grew:
        grew = False
        for pid, st in table.items():
            if pid not in found and (st[2] == root or st[2] in found):
                found[pid] = st
                grew = True
    return found


def reap_orphans():
    """Zombies that were handed to us as subreaper; children that Popen waits for stay."""
    for pid, st in descendants(os.getpid()).items():
        if st[1] == "Z" and st[2] == os.getpid() and pid not in _owned and pid not in _running:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def cmdline(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def status_field(pid, key, task=None):
    base = Path(f"/proc/{pid}") if task is None else Path(f"/proc/{pid}/task/{task}")
    for line in (base / "status").read_text().splitlines():
        if line.startswith(key + ":"):
            return line.split(":", 1)[1].split()
    return []


def limits_of(pid):
    """{name: (soft, hard)} of another process; prlimit(2) would need CAP_SYS_RESOURCE, which not every root has."""
    found = {}
    for line in Path(f"/proc/{pid}/limits").read_text().splitlines()[1:]:
        words = line[26:].split()
        found[line[:26].strip()] = tuple(-1 if w == "unlimited" else int(w) for w in words[:2])
    return found


def wait_until(check, seconds, step=0.02):
    """The first true value of check() within the time, else its last value."""
    end = time.monotonic() + seconds
    while True:
        value = check()
        if value or time.monotonic() > end:
            return value
        time.sleep(step)


# ---- running belljar -----------------------------------------------------------------------------

_running = set()


def kill_tree(pid):
    """Ends a process that this suite started, and what is below it."""
    for p in list(descendants(pid)) + [pid]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(p, signal.SIGKILL)


class Result:
    """One finished run: the record is belljar's own, the rest is what the caller saw."""

    def __init__(self, argv, rc, out, err, wall):
        self.argv, self.rc, self.out, self.err, self.wall = argv, rc, out, err, wall
        self.record = None
        if b"--json" in argv or "--json" in argv:
            try:
                self.record = json.loads(out)
            except ValueError as e:
                self.bad_json = str(e)

    def __getattr__(self, name):
        record = self.__dict__.get("record")
        if record is None:
            raise HarnessError(f"no record: rc={self.rc} stdout={self.out[:500]!r} stderr={self.err[:500]!r}")
        if name not in record:
            raise AttributeError(name)
        return record[name]

    @property
    def verdict(self):
        """Why the program ended, as one word pair."""
        return f"{self.status}/{self.reason}"

    def told(self):
        r = self.record or {}
        keep = {k: r.get(k) for k in ("status", "reason", "exit_code", "signal", "error", "limits_hit", "stderr")}
        first = f"exit status {self.rc}, {self.verdict if r else 'no record'}"
        return f"{first}\n{keep}\nguest: {r.get('stdout', '')[-1500:]}\nbelljar: {self.err[-600:].decode(errors='replace')}"

    # -- the three ways a probe answers
    def denied(self):
        assert self.record is not None, self.told()
        assert self.record["exit_code"] == DENIED, "the door is not closed: " + self.told()
        return self

    def rows(self):
        """{name: errno} of the lines "row NAME ERRNO"."""
        return dict(re.findall(r"^row (\S+) (\S+)", self.record["stdout"], re.M))

    def ended(self, status, reason):
        assert self.record is not None, self.told()
        assert (self.status, self.reason) == (status, reason), self.told()
        return self


def user_prefix():
    if not TEST_USER:
        return []
    pw = pwd.getpwnam(TEST_USER)
    return ["setpriv", f"--reuid={pw.pw_uid}", f"--regid={pw.pw_gid}", "--clear-groups", "--"]


class Jar:
    """How the cases call belljar. `off` names the guards that are switched off (hooks build only)."""

    def __init__(self, probe, off="", home=None):
        self.probe_path, self.off, self.home = str(probe), off, home
        self.binary = str(HOOKS if off else BELLJAR)
        self.prefix = []  # for example nsenter into a network namespace of the test's own
        self.inner = []  # the same, but as the user who runs belljar
        self.client = ""

    def with_off(self, off):
        return Jar(self.probe_path, off, self.home)

    def tenant(self, name):
        """The same jar for another client."""
        other = Jar(self.probe_path, self.off, self.home)
        other.prefix, other.inner, other.client = self.prefix, self.inner, name
        return other

    def environment(self, more=None):
        env = {
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": os.environ.get("HOME", "/root"),
            "CANARY_ENV": f"canary-env-{NONCE}",
            "LANG": "C.UTF-8",
        }
        if TEST_USER:
            env.update(HOME=str(self.home), XDG_RUNTIME_DIR=str(self.home / "run"), XDG_STATE_HOME=str(self.home / "state"),
                       USER=TEST_USER)
        if self.off:
            env["BELLJAR_UNSAFE_DISABLE"] = self.off
        env.update(more or {})
        return env

    def words(self, args, opts=(), files=True):
        uid = ["--uid", TEST_UID] if TEST_UID and "--uid" not in opts else []
        file = ["--file", f"{self.probe_path}:probe"] if files else []
        # a jar that is refused for its missing cgroups proves nothing about the case; a pool with some of them is not
        weaker = ["--allow-degraded"] if "cgroup_" in self.off and "--allow-degraded" not in opts and not WARM else []
        return [*weaker, *uid, *file, *map(str, opts), *map(str, args)]

    def argv(self, args, opts=(), json_=True, files=True):
        client = ["--client", self.client] if self.client else []
        return [*self.prefix, *user_prefix(), *self.inner, self.binary, "run", *(["--json"] if json_ else []), *client,
                *self.words(args, opts, files)]

    def start(self, args, opts=(), json_=True, files=True, env=None, stdin=subprocess.DEVNULL, data=None, **popen):
        """Starts belljar in a session of its own, or hands the run to a batch; the caller ends it with finish()."""
        if WARM:
            try:
                if not json_ or (stdin is not subprocess.DEVNULL and data is None):
                    raise OneShot("streams of the caller")
                return warm.start(sys.modules[__name__], self, self.words(args, opts, files), data, env, dict(popen))
            except OneShot as why:
                warm.note(f"one-shot: {why}")
        argv = self.argv(args, opts, json_, files)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        popen.setdefault("start_new_session", True)
        popen.setdefault("pipesize", 1 << 20)  # a whole result fits: belljar ends though nobody reads yet
        p = subprocess.Popen(argv, stdin=stdin, env=self.environment(env), cwd="/", **popen)
        p.started = time.monotonic()
        _running.add(p.pid)
        return p

    def finish(self, p, data=None, limit=CASE_LIMIT_S):
        try:
            out, err = p.communicate(data, timeout=limit)
        except subprocess.TimeoutExpired:
            kill_tree(p.pid)
            out, err = p.communicate()
            raise Hang(f"no end after {limit} s: {p.args}\n{err[-500:]!r}") from None
        finally:
            _running.discard(p.pid)
        r = Result(p.args, p.returncode, out or b"", err or b"", (getattr(p, "ended", None) or time.monotonic()) - p.started)
        if isinstance(p, warm.WarmRun):
            if r.record is None and not p.server.special and not p.cancelled:  # a special one may be unable to start, and say so
                raise HarnessError(f"the batch ended without this result: {p.server.err[-800:]!r}")
            warm.note(r.record["start"] if r.record else "lost")
        if self.off and r.record and r.record["status"] == "error":
            # a jar that does not start without its guard proves nothing about the case
            raise HarnessError(f"no jar without {self.off}: {r.record['error']}")
        return r

    def run(self, *args, opts=(), data=None, limit=CASE_LIMIT_S, **kw):
        """`belljar run --json OPTS ARGS`; args start with "--" for a program."""
        if data is not None:
            kw.update(stdin=subprocess.PIPE, data=data)
        return self.finish(self.start(args, opts, **kw), data, limit)

    def probe(self, name, *args, opts=(), **kw):
        """One probe in a fresh jar."""
        return self.run("--", "/workspace/probe", name, *args, opts=("-t", "20s", *opts), **kw)

    def python(self, code, *args, opts=(), **kw):
        return self.run("--lang", "python", "-c", code, opts=("-t", "20s", *opts), files=False, **kw)

    def bash(self, code, opts=(), **kw):
        return self.run("--lang", "bash", "-c", code, opts=("-t", "20s", *opts), **kw)

    @contextlib.contextmanager
    def live(self, name="wait", *args, opts=(), program="/workspace/probe", **kw):
        """A jar that stays for the time of the block; .guest is its first process's pid on the host."""
        nonce = secrets.token_hex(6)
        p = self.start(["--", program, name, nonce, *args], ("-t", "25s", *opts), **kw)
        try:
            p.guest = wait_until(lambda: guest_pid(p.pid, program, nonce), 8)
            if not p.guest:
                if p.poll() is None:
                    kill_tree(p.pid)
                out, err = p.communicate()
                raise HarnessError(f"guest did not appear: {out[:800]!r} {err[:500]!r}")
            yield p
        finally:
            # SIGTERM is how a user cancels: belljar must clean up after it
            with contextlib.suppress(ProcessLookupError):
                p.terminate()
            try:
                p.out, p.err = p.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                kill_tree(p.pid)
                p.communicate()
                raise Hang("SIGTERM did not end belljar") from None
            except ValueError:
                p.wait(5)
            finally:
                _running.discard(p.pid)


def guest_pid(belljar, program, nonce):
    for pid in sorted(descendants(belljar)):
        argv = cmdline(pid)
        if argv and argv[0] == program.encode() and nonce.encode() in argv:
            return pid
    return 0


def control(probe, *args, alone=True, user=None, limit=20):
    """The same probe outside of any jar. Root runs it in throw-away namespaces of its own (`alone`)."""
    argv = [str(probe), *map(str, args)]
    if user:
        pw = pwd.getpwnam(user)
        argv = ["setpriv", f"--reuid={pw.pw_uid}", f"--regid={pw.pw_gid}", "--clear-groups", "--", *argv]
    if alone:
        own_ns = ["unshare", "-fpmnui", "--propagation", "private"]
        argv = own_ns + (argv if ROOT else ["-Ur", *argv])
    p = subprocess.run(argv, capture_output=True, timeout=limit, start_new_session=True, cwd="/tmp",
                       stdin=subprocess.DEVNULL)
    if p.returncode == BROKEN:
        raise HarnessError(f"control {args}: {p.stdout[-400:]!r}")
    p.rows = dict(re.findall(r"^row (\S+) (\S+)", p.stdout.decode(errors="replace"), re.M))
    return p


# ---- looking at the host -------------------------------------------------------------------------

def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def cgroup_roots():
    for line in Path("/proc/self/mounts").read_text().splitlines():
        f = line.split()
        if f[2] in ("cgroup", "cgroup2"):
            yield Path(f[1])


def jar_cgroups():
    """Folders below a `belljar` folder, in every hierarchy."""
    found = set()
    for root in cgroup_roots():
        for top, dirs, _ in os.walk(root, onerror=None):
            parts = Path(top).relative_to(root).parts
            if "belljar" in parts and parts[-1] != "belljar":
                found.add(top)
            if len(parts) > 6:
                dirs.clear()
    return found


def cgroup_pids(folder):
    try:
        return [int(x) for x in (Path(folder) / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def slot_in_use(folder):
    """A living keeper, ours or another session's, holds the lock of the slot that a cgroup folder is named after."""
    try:
        fd = os.open(f"/run/belljar/slots/{Path(folder).name.removeprefix('s')}", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)


def host_mounts():
    """Mounts of our own namespace that have to do with belljar."""
    return {line for line in Path("/proc/self/mountinfo").read_text().splitlines() if "belljar" in line}


def temp_entries():
    """Folders and sockets that belljar may have left; lock files of the run folder are allowed to stay."""
    found = set()
    # other suites on this machine have folders like belljar-e2e-x, and /tmp/belljar-UID is the run folder of a user without XDG_RUNTIME_DIR
    places = [(d, p) for d in ("/tmp", "/var/tmp", "/dev/shm") for p in ("belljar", ".belljar*")]
    places.append(("/run/belljar", "*"))
    if os.environ.get("XDG_RUNTIME_DIR"):
        places.append((os.environ["XDG_RUNTIME_DIR"] + "/belljar", "*"))
    for place, pattern in places:
        with contextlib.suppress(OSError):
            for p in Path(place).glob(pattern):
                if p.is_dir() or p.is_socket() or p.is_fifo():
                    found.add(str(p))
    return found


SEARCHED = ("/tmp", "/var/tmp", "/run", "/dev/shm")  # where a program leaves files without being asked
NO_FILES = ("proc", "sysfs", "cgroup", "cgroup2", "tracefs", "debugfs", "securityfs")


def files_holding(text, since, places=SEARCHED, limit=20 * float(os.environ.get("BELLJAR_SLOW", "1"))):
    """Regular files of the host that hold `text` and were written, renamed or otherwise touched after `since` (time.time()). Only those can
    have come from a run that started later; all the others (this machine may have its repository in /tmp) need not be read. By ctime, which
    nobody can set back; a second earlier, since the kernel stamps files with a coarser clock."""
    skip = [w for fs in NO_FILES for w in ("-fstype", fs, "-o")] + ["-path", str(REPO)]
    p = subprocess.run(["find", *map(str, places), "(", *skip, ")", "-prune", "-o", "-type", "f", "-newerct", f"@{since - 1:.3f}",
                        "-exec", "grep", "-lsF", "-e", text, "{}", "+"], capture_output=True, timeout=limit)
    bad = [x for x in p.stderr.decode(errors="replace").splitlines() if "No such file" not in x and "Permission denied" not in x]
    if bad:
        raise HarnessError(f"the search did not work: {bad[:3]}")
    return p.stdout.decode(errors="replace").splitlines()


def links():
    return set(os.listdir("/sys/class/net"))


class Before:
    """The host before a case; leaks() says what is new and stays."""

    def __init__(self):
        self.cgroups, self.mounts, self.temp, self.links = jar_cgroups(), host_mounts(), temp_entries(), links()

    def leaks(self, seconds=2.0):
        me = os.getpid()

        def look():
            reap_orphans()
            left = {}
            all_ = descendants(me)
            mine = {p: s for p, s in all_.items() if p not in _owned and s[1] != "Z" and not _below_owned(p, all_)}
            if mine:
                left["processes"] = {p: (s[0], b" ".join(cmdline(p))[:120]) for p, s in mine.items()}
            groups = set()
            for g in jar_cgroups() - self.cgroups:
                pids = cgroup_pids(g)
                # another session on this machine may use belljar too: its living jars are not ours
                if any(p in mine for p in pids) or not (pids or slot_in_use(g)):
                    groups.add(g)
            if groups:
                left["cgroups"] = groups
            for name, now, then in (("mounts", host_mounts(), self.mounts), ("temp", temp_entries(), self.temp),
                                    ("links", links(), self.links)):
                if now - then:
                    left[name] = now - then
            return left

        first = look()
        end = time.monotonic() + seconds
        while first and time.monotonic() < end:
            time.sleep(0.05)
            again = look()
            # only what was there all the time is a leak: others come and go
            first = {k: v if isinstance(v, dict) else v & first[k] for k, v in again.items() if k in first}
            first = {k: v for k, v in first.items() if v}
        return first


def _below_owned(pid, table):
    seen = set()
    while pid in table and pid not in seen:
        seen.add(pid)
        pid = table[pid][2]
        if pid in _owned:
            return True
    return False


# ---- canaries and listeners ----------------------------------------------------------------------

class Listener:
    """Records every connection or datagram; nothing else."""

    def __init__(self, family, kind, address):
        self.seen = []
        self.sock = socket.socket(family, kind)
        self.sock.bind(address)
        if kind != socket.SOCK_DGRAM:
            self.sock.listen(8)
        self.kind = kind
        self.address = self.sock.getsockname()
        self.port = self.address[1] if isinstance(self.address, tuple) else 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                if self.kind == socket.SOCK_DGRAM:
                    self.seen.append(self.sock.recvfrom(2048)[0])
                else:
                    c, _ = self.sock.accept()
                    self.seen.append(b"connection")
                    c.close()
            except OSError:
                return

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()

    def silent(self, wait=0.05):
        """Nothing came since the last call."""
        time.sleep(wait)
        got, self.seen = self.seen, []
        assert not got, f"{self.address}: {got}"

    def heard(self, seconds=2):
        """Positive control: something did come."""
        if not wait_until(lambda: self.seen, seconds):
            raise HarnessError(f"listener {self.address} heard nothing")
        self.seen = []


class Canaries:
    """Secrets and targets on the host that no guest may see, touch or talk to."""

    def __init__(self):
        home = Path("/root") if ROOT else Path.home()
        self.secret = f"canary-secret-{NONCE}"
        self.ro = home / f"canary-{NONCE}"
        self.ro.write_text(self.secret)
        self.ro.chmod(0o600)
        self.rw = Path(f"/var/tmp/canary-{NONCE}")
        self.rw.write_text("untouched")
        self.rw.chmod(0o666)
        self.rw_hash = sha256(self.rw)
        self.proc = subprocess.Popen(["sleep", "3600.0", ], executable="/bin/sleep", start_new_session=True)
        own(self.proc.pid)
        self.argv_proc = subprocess.Popen([f"canary-proc-{NONCE}", "3600"], executable="/bin/sleep", start_new_session=True)
        own(self.argv_proc.pid)
        self.proc_name = f"canary-proc-{NONCE}"
        self.tcp4 = Listener(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.tcp6 = Listener(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))
        self.udp4 = Listener(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self.udp6 = Listener(socket.AF_INET6, socket.SOCK_DGRAM, ("::1", 0))
        self.abstract_name = f"@canary-{NONCE}"
        self.abstract = Listener(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.abstract_name[1:])
        run = Path("/run") if ROOT else Path(tempfile.gettempdir())
        self.path_name = str(run / f"canary-{NONCE}.sock")
        self.path = Listener(socket.AF_UNIX, socket.SOCK_STREAM, self.path_name)
        os.chmod(self.path_name, 0o777)

    def check(self):
        """Called after every case: alive, unread, silent."""
        assert self.argv_proc.poll() is None and self.proc.poll() is None, "a canary process died"
        assert sha256(self.rw) == self.rw_hash, "CANARY_RW was changed"
        for name in ("tcp4", "tcp6", "udp4", "udp6", "abstract", "path"):
            getattr(self, name).silent(0)

    def close(self):
        for p in (self.proc, self.argv_proc):
            p.kill()
            p.wait()
            disown(p.pid)
        for name in ("tcp4", "tcp6", "udp4", "udp6", "abstract", "path"):
            getattr(self, name).close()
        for p in (self.ro, self.rw, Path(self.path_name)):
            p.unlink(missing_ok=True)


# ---- the witness ---------------------------------------------------------------------------------

class Witness:
    """A second jar that does ordinary things all the time; an attack next door must not stop it."""

    FLOOR_US = 150_000  # below this a busy test machine alone explains it

    def __init__(self, jar):
        self.jar = jar.with_off("") if jar.off else jar
        self.idle = None

    def start(self):
        if WARM:  # a line of a batch has no stream that could be closed: somebody inside holds it, until we end that one
            self.holder = f"28.{secrets.randbelow(10**6):06}"
            p = self.jar.tenant("witness").start(["--", "/bin/sh", "-c", f"sleep {self.holder} | /workspace/probe witness 25000"],
                                                 ("-t", "28s", "--output", "4M"))
        else:
            p = self.jar.start(["--", "/workspace/probe", "witness", "25000"], ("-t", "28s", "--output", "4M", "--stdin", "-"),
                               stdin=subprocess.PIPE)
        # the first rounds happen before the attack
        if not wait_until(lambda: guest_pid_any(p.pid, b"witness"), 8):
            raise HarnessError("the witness did not start")
        return p

    def stop(self, p):
        if isinstance(p, warm.WarmRun):
            for pid in descendants(p.pid):
                if cmdline(pid)[:2] == [b"sleep", self.holder.encode()]:
                    os.kill(pid, signal.SIGKILL)
        else:
            p.stdin.close()
            p.stdin = None
        r = self.jar.finish(p)
        if r.exit_code != 0:
            raise HarnessError("witness: " + r.told())
        bad = re.findall(r"^bad", r.stdout, re.M)
        us = sorted(int(x) for x in re.findall(r"^us (\d+)", r.stdout, re.M))
        if not us and not bad:
            raise HarnessError("witness measured nothing: " + r.told())
        return len(bad), us

    @staticmethod
    def p99(us):
        """Of fewer than a hundred rounds the worst one alone is no percentile: a shared machine has such moments without any attack."""
        return us[max(0, min(len(us) - 2, int(len(us) * 0.99)))]

    def measure_idle(self):
        p = self.start()
        time.sleep(0.8)
        bad, us = self.stop(p)
        if bad:
            raise HarnessError(f"the witness fails on an idle machine: {bad} of {len(us)}")
        self.idle = max(self.idle or 0, self.p99(us))

    @contextlib.contextmanager
    def watching(self):
        if self.idle is None:
            self.measure_idle()
        p = self.start()
        try:
            yield
        finally:
            bad, us = self.stop(p)
        assert not bad, f"{bad} rounds of the witness were refused while {len(us)} passed"
        if self.p99(us) > max(5 * self.idle, self.FLOOR_US):
            self.measure_idle()  # was it the attack, or has the machine become slower since?
        assert self.p99(us) <= max(5 * self.idle, self.FLOOR_US), f"witness p99 {self.p99(us)} us, idle {self.idle} us"


def guest_cpu_s(root, word):
    """CPU seconds of the living guest processes below `root` that run this probe, as the host's kernel counts them."""
    ticks = 0
    for pid in descendants(root):
        with contextlib.suppress(OSError, IndexError):
            if cmdline(pid)[:2] == [b"/workspace/probe", word]:
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def cpu_share(jar, tasks, *args, opts=(), seconds=1.2):
    """How many CPUs a spinning jar really gets, measured from outside; and its record."""
    p = jar.start(["--", "/workspace/probe", "spin", tasks, *args], ["-t", "1800ms", *opts])
    if not wait_until(lambda: guest_pid_any(p.pid, b"spin"), 8):
        raise HarnessError("the guest did not start")
    time.sleep(0.2)
    t, used = time.monotonic(), guest_cpu_s(p.pid, b"spin")
    time.sleep(seconds)
    share = (guest_cpu_s(p.pid, b"spin") - used) / (time.monotonic() - t)
    return share, jar.finish(p)


def guest_pid_any(root, word):
    for pid in descendants(root):
        argv = cmdline(pid)
        if argv and argv[0] == b"/workspace/probe" and word in argv:
            return pid
    return 0


# ---- odds and ends -------------------------------------------------------------------------------

def elf32(path):
    """A 32-bit program in 100 bytes: getpid, then exit(41)."""
    code = bytes.fromhex("b814000000" "cd80" "bb29000000" "b801000000" "cd80")
    base, off = 0x08048000, 84
    ehdr = b"\x7fELF\x01\x01\x01" + b"\0" * 9
    ehdr += b"".join(x.to_bytes(n, "little") for x, n in (
        (2, 2), (3, 2), (1, 4), (base + off, 4), (52, 4), (0, 4), (0, 4), (52, 2), (32, 2), (1, 2), (0, 2), (0, 2), (0, 2)))
    size = off + len(code)
    phdr = b"".join(x.to_bytes(4, "little") for x in (1, 0, base, base, size, size, 5, 4096))
    Path(path).write_bytes(ehdr + phdr + code)
    Path(path).chmod(0o755)
    return path


def remove_ipc(key, queue):
    """System V objects of one key and one POSIX queue of the host: what a test made, or a jar without its own namespace."""
    for flag in ("-M", "-S", "-Q"):
        subprocess.run(["ipcrm", flag, key], capture_output=True)
    _libc.mq_unlink(queue.encode())


def dmesg():
    try:
        return subprocess.run(["dmesg"], capture_output=True, timeout=10).stdout
    except OSError:
        return b""


def kernel_complaints(before):
    """Warnings since `before`; out-of-memory reports have call traces too and are no complaint."""
    def stamp(line):
        m = re.match(rb"\[\s*([\d.]+)\]", line)
        return float(m[1]) if m else 0.0

    last = max((stamp(x) for x in before.splitlines()), default=0.0)
    return [x for x in dmesg().splitlines()
            if stamp(x) > last and re.search(rb"WARNING:|BUG:|Oops|general protection|kernel panic", x)]


def remove_tree(path):
    subprocess.run(["chmod", "-R", "u+rwX", str(path)], capture_output=True)
    shutil.rmtree(path, ignore_errors=True)
