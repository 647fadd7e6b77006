# SPDX-License-Identifier: Apache-2.0
"""BELLJAR_TEST_WARM=1: the cases' runs go through `belljar batch`, where a jar and an interpreter wait already.

One batch process serves all cases that ask for nothing special; a case with guards off, an environment or namespaces of its own gets one for
itself, which ends with it. What a batch refuses by design, or what is no field of a request (binds, the host's network, a folder for
artifacts, streams of the caller), stays on the one-shot path, and the table at the end says so.
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

WARM = bool(os.environ.get("BELLJAR_TEST_WARM"))
WARM_UP_S = 5
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

starts = {}  # case id: Counter of "warm", "cold", and the reasons for the one-shot path
_never_warm = set()  # kinds that a batch without anything special did not serve warm in time: nobody waits for them again


class OneShot(Exception):
    """This run cannot be a line of a batch; the text says why."""


def current_case():
    m = re.search(r"::test_([a-z]{2})_(\d\d)", os.environ.get("PYTEST_CURRENT_TEST", ""))
    return f"{m[1].upper()}-{m[2]}" if m else "OK"


def note(what):
    starts.setdefault(current_case(), Counter())[what] += 1


def one_shots():
    """Runs that could not be lines of a batch."""
    return sum(n for c in starts.values() for what, n in c.items() if what.startswith("one-shot"))


# ---- options to a request ------------------------------------------------------------------------

def ms(text):
    m = re.fullmatch(r"(\d+)(ms|s|m)?", text)
    if not m:
        raise OneShot(f"time {text!r}")
    return int(m[1]) * {"ms": 1, "s": 1000, "m": 60000, None: 1000}[m[2]]


def size(text):
    m = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not m:
        raise OneShot(f"size {text!r}")
    return int(m[1]) * UNITS[m[2]]


def number(text):
    if not re.fullmatch(r"\d+", text):
        raise OneShot(f"number {text!r}")
    return int(text)


LIMITS = {"-t": ("wall_ms", ms), "--cpu-time": ("cpu_ms", ms), "-m": ("memory_bytes", size), "--cpus": ("cpus", float), "--disk": ("disk_bytes", size),
          "--pids": ("pids", number), "--nofile": ("nofile", number), "--output": ("output_bytes", size), "--output-log": ("log_bytes", size)}
FIELDS = {"--lang": ("language", str), "-c": ("code", str), "--uid": ("uid", number), "--workdir": ("workdir", str), "--hostname": ("hostname", str)}
LISTS = {"--arg": "args", "-a": "args", "--get": "get", "-g": "get"}


def file_entry(text, folder):
    source, _, name = text.partition(":")
    if not os.path.isfile(source) or not source.startswith(f"{folder}/"):
        raise OneShot("--file that is no file, or from elsewhere than --files-from")
    return {"path": name or os.path.basename(source), "source": source, "mode": os.stat(source).st_mode & 0o777}


def request_of(words, data, client, folder):
    """The request object of `belljar run WORDS`; OneShot where there is none."""
    r = {"limits": {}, "client": client} if client else {"limits": {}}
    words = list(map(str, words))
    while words:
        w = words.pop(0)
        if w == "--":
            r["argv"], words = words, []
        elif w in LIMITS:
            name, parse = LIMITS[w]
            r["limits"][name] = parse(words.pop(0))
        elif w in FIELDS:
            name, parse = FIELDS[w]
            r[name] = parse(words.pop(0))
        elif w in LISTS:
            r.setdefault(LISTS[w], []).append(words.pop(0))
        elif w in ("--env", "-e"):
            key, eq, value = words.pop(0).partition("=")
            if not eq:
                raise OneShot("--env without a value")
            r.setdefault("env", {})[key] = value
        elif w in ("--file", "-f"):
            r.setdefault("files", []).append(file_entry(words.pop(0), folder))
        elif w == "--no-write":
            r["no_write"] = True
        elif w == "--stdin":
            if words.pop(0) != "-" or data is None:
                raise OneShot("standard input from a file or a stream")
        else:
            raise OneShot(f"option {w if w.startswith('-') else 'FILE'}")
    if data is not None:
        try:
            r["stdin"] = data.decode()
        except UnicodeDecodeError:
            raise OneShot("standard input that is no text") from None
    try:
        json.dumps(r).encode()
    except UnicodeEncodeError:
        raise OneShot("arguments that are no text") from None
    if any("\0" in w for w in map(str, (r.get("code", ""), *r.get("argv", [])))):
        raise OneShot("NUL in arguments")
    return r


def exit_status(r):
    """What `belljar run` would have ended with (docs/result.md)."""
    if r["status"] == "completed":
        return r["exit_code"] if r["exit_code"] is not None else 128 + signal_number(r["signal"])
    if r["status"] == "timeout":
        return 124
    if r["status"] == "killed":
        return 159 if r["reason"] == "syscall" else 137
    text = r["error"] or ""
    if text.startswith("guest-exec:"):
        return 127 if "No such file" in text else 126
    return 125


def signal_number(value):
    return value if isinstance(value, int) else int(getattr(signal, value if value.startswith("SIG") else "SIG" + value))


# ---- a batch process -----------------------------------------------------------------------------

class Server:
    """One `belljar batch - --unordered` and the runs on their way in it."""

    def __init__(self, jarlib, argv, env, pass_fds=(), special=False):
        self.jarlib, self.suspect, self.warmed, self.special = jarlib, False, set(), special
        self.runs, self.sent, self.err = {}, 0, b""
        self.lock = threading.Condition()
        self.p = subprocess.Popen(argv, env=env, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  start_new_session=True, pass_fds=pass_fds)
        jarlib.own(self.p.pid)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.talker = threading.Thread(target=self._listen, daemon=True)
        self.talker.start()

    def _read(self):
        for line in self.p.stdout:
            with self.lock:
                with contextlib.suppress(ValueError, KeyError):
                    record = json.loads(line)
                    self.runs[record["line"]].end(line, record)
                self.lock.notify_all()
        with self.lock:
            for run in self.runs.values():
                run.lost()
            self.lock.notify_all()

    def _listen(self):
        for line in self.p.stderr:
            self.err = (self.err + line)[-4000:]

    def usable(self):
        return not self.suspect and self.p.poll() is None and self.reader.is_alive()

    def send(self, request, argv):
        with self.lock:
            self.sent += 1
            run = WarmRun(self, request, argv)
            self.runs[self.sent] = run
        try:
            self.p.stdin.write(json.dumps(request).encode() + b"\n")
            self.p.stdin.flush()
        except BrokenPipeError:
            run.lost()
        return run

    def warm_up(self, request, special):
        """Asks for the same kind until it is served warm; gives up after a while, and then for good."""
        kind = request.get("language", "argv")
        if kind in self.warmed or kind in _never_warm:
            return
        probe = {"argv": ["/bin/true"]} if kind == "argv" else {"language": kind, "code": {"python": "pass", "bash": ":", "node": ";"}.get(kind, "")}
        if "code" in probe and not probe["code"]:
            return
        end = time.monotonic() + WARM_UP_S
        while time.monotonic() < end and self.usable():
            run = self.send({**probe, "client": "warm-up"}, [])
            run.wait(WARM_UP_S)
            # What is refused will not be warm either; and who asks without a pause leaves more keyrings behind than the kernel clears away meanwhile.
            if run.record and (run.record.get("start") == "warm" or run.record.get("status") == "error"):
                break
            time.sleep(0.02)
        else:
            if not special:
                _never_warm.add(kind)
        self.warmed.add(kind)

    def guests(self):
        """Programs of runs below this batch that live: none may, when no run is on its way. (An interpreter that waits looks like one that runs.)"""
        return {pid: b" ".join(self.jarlib.cmdline(pid))[:120] for pid, st in self.jarlib.descendants(self.p.pid).items()
                if st[1] not in "ZX" and b"".join(self.jarlib.cmdline(pid)[:1]).startswith(b"/workspace/")}

    def close(self):
        """End of input, then belljar's own end. Returns its exit status; None when it had to be killed."""
        status = None
        with contextlib.suppress(OSError):
            self.p.stdin.close()
        try:
            status = self.p.wait(10)
        except subprocess.TimeoutExpired:
            self.jarlib.kill_tree(self.p.pid)
            self.p.wait()
        for t in (self.reader, self.talker):
            t.join(5)
        self.p.stdout.close()
        self.p.stderr.close()
        self.jarlib.disown(self.p.pid)
        return status


class WarmRun:
    """Looks like the Popen of a one-shot run to the cases: pid is the batch's."""

    def __init__(self, server, request, argv):
        self.server, self.request, self.args, self.pid = server, request, argv, server.p.pid
        self.returncode, self.out, self.err, self.record, self.stdin = None, b"", b"", None, None
        self.started = time.monotonic()
        self.ended, self.cancelled = None, False

    def end(self, line, record):
        self.out, self.record, self.returncode = line, record, exit_status(record)
        self.ended = time.monotonic()
        if record["reason"] == "internal":
            self.server.suspect = True

    def lost(self):
        """The batch ended without this result: its own exit status is the answer."""
        if self.returncode is None:
            self.server.suspect = True
            try:
                self.returncode = self.server.p.wait(5)
            except subprocess.TimeoutExpired:
                self.returncode = 125
            self.ended = time.monotonic()

    def poll(self):
        return self.returncode

    def wait(self, timeout=None):
        end = time.monotonic() + (timeout or 60)
        with self.server.lock:
            while self.returncode is None and time.monotonic() < end:
                self.server.lock.wait(0.05)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def communicate(self, data=None, timeout=None):
        self.wait(timeout)
        return self.out, self.server.err

    def terminate(self):
        """There is no way to cancel one line: the guest's own program is ended, found by the command line that we gave it."""
        if self.returncode is not None:
            return
        self.cancelled = True
        wanted = [w.encode() for w in self.request.get("argv", [])]
        if not wanted:
            return  # the command line of a warm interpreter is that of all which wait: this run ends by itself
        # below us, not below the batch: what a killed keeper left is our child now
        found = [pid for pid in self.server.jarlib.descendants(os.getpid()) if self.server.jarlib.cmdline(pid)[:-1] == wanted]
        if found:
            os.kill(min(found), signal.SIGKILL)

    kill = terminate


# ---- who serves whom -----------------------------------------------------------------------------

_servers = {}  # what is special about it: Server; the one with nothing special stays for the session


def server_for(jarlib, jar, env=None, pass_fds=(), opts=(), alone=False):
    special = (jar.off, alone and current_case(), *jar.prefix, "", *jar.inner, *sorted((env or {}).items()), *pass_fds, *opts)
    special = () if not any(special) else special
    old = _servers.get(special)
    if old and not old.usable():
        old.close()
        del _servers[special]
    if special not in _servers:
        argv = [*jar.prefix, *jarlib.user_prefix(), *jar.inner, jar.binary, "batch", "-", "-j", "16", "--unordered", "--files-from",
                os.path.dirname(jar.probe_path), *opts, *(["--recycle"] if os.environ.get("BELLJAR_TEST_RECYCLE") else [])]
        _servers[special] = Server(jarlib, argv, jar.environment(env), pass_fds, bool(special))
    return _servers[special], bool(special)


def start(jarlib, jar, words, data, env, popen):
    """A run as a line of a batch. OneShot when it has to be a process of its own."""
    pass_fds = tuple(popen.pop("pass_fds", ()))
    if popen:
        raise OneShot("streams of the caller: " + ", ".join(sorted(popen)))
    request = request_of(words, data, jar.client, os.path.dirname(jar.probe_path))
    server, special = server_for(jarlib, jar, env, pass_fds)
    server.warm_up(request, special)
    return server.send(request, ["belljar", "batch", "--json", *map(str, words)])


def hurt():
    """A test killed a part of a batch: whatever it does about it, the next run goes to another one."""
    for s in _servers.values():
        s.suspect = True


def end_of_test():
    """Special batches end with their test. Returns what is wrong with any."""
    wrong = {}
    for special in list(_servers):
        s = _servers[special]
        if special or not s.usable():
            status = _servers.pop(special).close()
            if status is None:
                wrong[f"batch {special}"] = f"did not end within 10 s of the end of its input: {s.err[-300:]!r}"
        elif all(r.returncode is not None for r in s.runs.values()):
            s.runs = {}
            left = s.guests()
            end = time.monotonic() + 2
            while left and time.monotonic() < end:
                time.sleep(0.05)
                left = {k: v for k, v in s.guests().items() if k in left}
            if left:
                wrong["guests"] = left
    return wrong


def close_all():
    for s in _servers.values():
        s.close()
    _servers.clear()


def has_batch(binary):
    return Path(binary).exists() and subprocess.run([str(binary), "batch", "--help"], capture_output=True, timeout=20).returncode == 0
