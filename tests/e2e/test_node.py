# SPDX-License-Identifier: Apache-2.0
"""src/guest/node/preload.js: os.cpus() in a jar, nothing to notice, and the waiting mode that warm jars use (fed by hand, without a jar)."""
import contextlib
import fcntl
import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness import REPO, jar, ms, need_language, seconds

NODE = "/usr/bin/node"
DIR, FILE, LINK, ARGV, ENV, CWD, GO = range(1, 8)
CPUS = "const c = require('os').cpus(); if (c.length !== require('os').availableParallelism() || !c.every(x => typeof x.model === 'string' && " \
       "typeof x.speed === 'number' && ['user', 'nice', 'sys', 'idle', 'irq'].every(k => typeof x.times[k] === 'number'))) throw c; "


def node(code, *opts, **kw):
    need_language("node")
    return jar("-t", ms(60000), *opts, "--lang", "node", "-c", code, **kw)


# ---- in a jar ------------------------------------------------------------------------------------

@pytest.mark.parametrize("code", [
    CPUS + "console.log(42)",
    f"new (require('worker_threads').Worker)({CPUS + 'console.log(42)'!r}, {{eval: true}})",
    "import('os').then(({cpus, availableParallelism, default: os}) => { if (cpus().length !== availableParallelism() || cpus !== os.cpus) throw 1; console.log(42) })",
    # a program's own BELLJAR_WAIT means nothing, here or in its threads
    "process.env.BELLJAR_WAIT = '1'; new (require('worker_threads').Worker)('console.log(42)', {eval: true})",
], ids=["main", "worker", "import", "worker with BELLJAR_WAIT"])
def test_cpus(code):
    assert node(code).ok()["stdout"] == "42\n"


def test_own_variable_means_nothing():
    assert node("console.log(process.env.BELLJAR_WAIT)", "--env", "BELLJAR_WAIT=1").ok()["stdout"] == "1\n"


SHOW = """
const m = require('module');
console.log(JSON.stringify([process.execArgv, Object.keys(require.cache), module.children.length, Object.keys(m._pathCache),
  Object.getOwnPropertyNames(globalThis).sort(), Object.getOwnPropertyDescriptor(m, 'runMain').value === m.runMain, require.main === module,
  new Error('here').stack, process.moduleLoadList.filter(x => /preload|belljar/.test(x) && !/internal.preload/.test(x))]));
"""


def test_nothing_shows(box):
    """The same program prints the same with and without the preload."""
    (box / "main.js").write_text(SHOW)
    with_it = node(SHOW).ok()["stdout"]
    plain = jar("-t", ms(60000), "--file", f"{box}/main.js:main.js", "--", NODE, "/workspace/main.js").ok()["stdout"]
    assert with_it == plain


def test_fork_and_worker_inherit(box):
    """process.execArgv is what fork and Worker pass on: both work, and show nothing."""
    code = """
const {fork} = require('child_process'), {Worker, isMainThread, parentPort} = require('worker_threads');
if (!isMainThread) parentPort.postMessage(process.execArgv.length);
else if (process.argv[2]) process.send(process.execArgv.length);
else fork(__filename, ['x']).on('message', a => new Worker(__filename).on('message', b => console.log(a, b)));
"""
    assert node(code).ok()["stdout"] == "0 0\n"


# ---- the waiting mode ----------------------------------------------------------------------------

def rec(kind, name=b"", data=b"", mode=0, mtime=0):
    return struct.pack("<IIIIQq", 0x626A6631, kind, mode, len(name), len(data), mtime) + name + data


def words(*list_):
    return b"".join(os.fsencode(str(w)) + b"\0" for w in list_)


@pytest.fixture
def workspace():
    """A folder in /workspace's place, and the preload with its path in it."""
    if not os.path.exists(NODE):
        pytest.skip(f"{NODE} is not installed: apt-get install nodejs")
    top = Path(tempfile.mkdtemp(prefix="node-", dir="/var/tmp"))
    text = (REPO / "src/guest/node/preload.js").read_text()
    assert text.count("const WORKSPACE = '/workspace';") == 1
    (top / "preload.js").write_text(text.replace("const WORKSPACE = '/workspace';", f"const WORKSPACE = '{top}/ws';"))
    (top / "ws").mkdir()
    yield top
    shutil.rmtree(top)


class Waiting:
    """A node that waits for its feed. As in a jar: an environment and a folder that are not the request's."""

    def __init__(self, top, main="main.js", wait="2"):
        inner, self.feed = os.pipe()
        ours = fcntl.fcntl(inner, fcntl.F_DUPFD, 10)
        os.close(inner)
        self.p = subprocess.Popen(["/bin/bash", "-c", f'exec "$@" 3<&{ours} {ours}<&-', "bash", NODE, f"--require={top}/preload.js", f"{top}/ws/{main}"],
                                  env={"BELLJAR_WAIT": wait, "OLD": "gone"}, cwd="/", pass_fds=[ours], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(ours)

    def finish(self, feed, stdin=b""):
        with contextlib.suppress(BrokenPipeError):  # it gave up: its status says so
            while feed:
                feed = feed[os.write(self.feed, feed):]
        os.close(self.feed)
        try:
            out, err = self.p.communicate(stdin, timeout=seconds(30))
        finally:
            self.p.kill()
        return self.p.returncode, out, err


def plain(top, argv, env, cwd, stdin=b""):
    p = subprocess.run([NODE, f"--require={top}/preload.js", *argv], env=env, cwd=cwd, input=stdin, capture_output=True, timeout=seconds(30))
    return p.returncode, p.stdout, p.stderr


ENVIRONMENT = {"HOME": "/home/guest", "TZ": "Asia/Tokyo", "EMPTY": "", "TWO": "a=b", "PATH": "/usr/bin:/bin", "UML": "ü"}
PROGRAMS = {
    "state": ("main.js", SHOW + """
console.log(process.argv, process.cwd(), __filename, Object.entries(process.env).sort(), new Date(0).toString(), require('os').cpus().length,
  require('./lib/sub/x.js'), process.title, process.argv0, require('path').resolve('y'), process.stdout.writable, process.listenerCount('exit'))"""),
    "throws": ("main.js", "function f() { throw new Error('boom') }\nf()"),
    "syntax": ("main.js", "let let = 1"),
    "exit status": ("main.js", "process.exitCode = 7; console.error('e')"),
    "signal": ("main.js", "process.kill(process.pid, 'SIGKILL'); for (;;);"),
    "stdin": ("main.js", "process.stdin.on('data', d => process.stdout.write('got ' + d)).on('end', () => console.log('end'))"),
    "readFileSync(0)": ("main.js", "console.log(require('fs').readFileSync(0, 'utf8').length)"),
    "children": ("main.js", "if (process.argv[2] === 'kid') console.log('kid', process.env.TWO, process.cwd());"
                            " else require('child_process').spawnSync(process.execPath, [__filename, 'kid'], {stdio: 'inherit'})"),
    "worker": ("main.js", "const w = require('worker_threads'); if (w.isMainThread) new w.Worker(__filename); else console.log(process.env.TWO, process.argv)"),
    "other name": ("lib/other.js", SHOW + "console.log(process.argv, __filename, require.main.filename)"),
    "other name throws": ("lib/other.js", "null.x"),
    "module": ("lib/m.mjs", "import {cpus} from 'os'; import {readFileSync} from 'fs'; console.log(import.meta.url, cpus().length, process.argv, await 5)"),
    "package type": ("esm/m.js", "export const a = 1; console.log(import.meta.url, process.argv)"),
    "no such file": ("absent.js", None),
    "megabytes": ("main.js", "console.log('x'.repeat(1 << 20)); process.stdout.write('y'.repeat(1 << 20)); process.stderr.write('z'.repeat(1 << 20))"),
    "many lines": ("main.js", "for (let i = 0; i < 30000; i++) console.log(i, 'a line that is written alone'); process.on('beforeExit', () => console.error('before'))"),
    "last words": ("main.js", "process.on('exit', c => { console.log('exit', c); process.exitCode = 5 })"),
    "unsettled": ("lib/m.mjs", "await new Promise(() => { })"),
    "rejected": ("main.js", "setTimeout(() => Promise.reject(new Error('late')), 1)"),
    "asynchronous ids": ("main.js", "const h = require('async_hooks'); console.log(new h.AsyncResource('x').asyncId()); setTimeout(() => console.log(h.executionAsyncId()), 1)"),
    "listeners": ("main.js", "console.log(process.listeners('exit'), process.eventNames(), process._events, Object.keys(process), process.mainModule === module)"),
    "descriptors": ("main.js", "console.log([0, 1, 2].map(i => require('fs').fstatSync(i).isFIFO()));"
                               "try { console.log(require('fs').fstatSync(3).isFIFO()) } catch (e) { console.log(false) }"),
}


@pytest.mark.parametrize("wait", ["1", "2"], ids=["quick", "practised"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_waiting_is_the_same(workspace, name, wait):
    ws = workspace / "ws"
    file, code = PROGRAMS[name]
    argv = [f"{ws}/{file}", "a b", "-x", "--", "ü", ""]
    feed = rec(DIR, b"lib", mode=0o755) + rec(FILE, b"lib/sub/x.js", b"module.exports = 'x'", 0o644) + rec(FILE, b"esm/package.json", b'{"type": "module"}', 0o644)
    if code is not None:
        feed += rec(FILE, file.encode(), code.encode(), 0o644)
    feed += rec(ARGV, data=words(NODE, f"--require={workspace}/preload.js", *argv)) + rec(ENV, data=words(*(f"{k}={v}" for k, v in ENVIRONMENT.items())))
    feed += rec(CWD, data=str(ws).encode()) + rec(GO)
    warm = Waiting(workspace, wait=wait).finish(feed, b"line\n")
    cold = plain(workspace, argv, ENVIRONMENT, ws, b"line\n")  # on the files that the warm one made
    assert warm == cold, name


def test_waiting_makes_files(workspace):
    ws = workspace / "ws"
    big = os.urandom(300_000)
    feed = b"".join([
        rec(FILE, b"tool", b"#!/bin/sh\n", 0o755, 1_600_000_000_123_456_000), rec(FILE, b"deep/er/big", big, 0o600), rec(FILE, b"none", b"", 0o400),
        rec(DIR, b"d", mode=0o750), rec(DIR, b"d", mode=0o750), rec(LINK, b"d/link", b"../tool"), rec(FILE, b"\xff\xfe", b"bytes", 0o644),
        rec(FILE, b"main.js", b"console.log(1)", 0o644), rec(ARGV, data=words(NODE, "--require=x", f"{ws}/main.js")), rec(ENV), rec(CWD, data=str(ws).encode()),
        rec(GO)])
    assert Waiting(workspace).finish(feed) == (0, b"1\n", b"")
    mode = lambda p: (ws / p).stat().st_mode & 0o7777
    assert (mode("tool"), mode("deep/er/big"), mode("none"), mode("d"), mode("deep/er")) == (0o755, 0o600, 0o400, 0o750, 0o755)
    assert abs((ws / "tool").stat().st_mtime_ns - 1_600_000_000_123_456_000) < 1000
    assert (ws / "deep/er/big").read_bytes() == big and os.readlink(ws / "d/link") == "../tool"
    assert Path(os.fsdecode(os.fsencode(ws) + b"/\xff\xfe")).read_bytes() == b"bytes"


@pytest.mark.parametrize("guard,at_once", [
    ("", True), ("process.exit(0)", True), ("process.exitCode = 3", False), ("process.on('exit', () => { })", False), ("require.cache['a.node'] = module", False),
    ("process.emit = process.emit", False), ("process.reallyExit = function (...a) { }", False), ("require('domain')", False),
], ids=["plain", "exit()", "status", "listener", "native module", "emit", "reallyExit", "domain"])
def test_waiting_ends_at_once(workspace, guard, at_once):
    """A socket's file is taken away when node is taken apart, and stays where it is not: only where nobody can have anything to do at the end."""
    ws = workspace / "ws"
    code = f"const s = require('net').createServer().listen('{ws}/sock', () => {{ s.unref(); setTimeout(() => {{ {guard} }}, 1) }})"
    feed = rec(FILE, b"main.js", code.encode(), 0o644) + rec(ARGV, data=words(NODE, "-r", f"{ws}/main.js")) + rec(ENV) + rec(CWD, data=str(ws).encode()) + rec(GO)
    assert Waiting(workspace).finish(feed) == (3 if "exitCode" in guard else 0, b"", b"")
    assert (ws / "sock").exists() == at_once


def test_waiting_in_pieces(workspace):
    """A feed that comes byte by byte, and one that ends too early."""
    ws = workspace / "ws"
    feed = rec(FILE, b"main.js", b"console.log(process.argv.length)", 0o644) + rec(ARGV, data=words(NODE, "-r", f"{ws}/main.js", "x"))
    feed += rec(ENV, data=words("A=1")) + rec(CWD, data=str(ws).encode()) + rec(GO)
    w = Waiting(workspace)
    for byte in feed[:-1]:
        os.write(w.feed, bytes([byte]))
    assert w.finish(feed[-1:]) == (0, b"3\n", b"")


@pytest.mark.parametrize("feed,why", [
    (b"", "ended early"), (rec(CWD, data=b"/")[:20], "ended early"), (b"x" * 32, "damaged"), (rec(9), "does not belong"), (rec(CWD, data=b"/") + rec(GO), "no command"),
    (rec(FILE, b"a", b"1", 0o644) + rec(FILE, b"a/b", b"1", 0o644), ""), (rec(ARGV, data=words("node", "x")) + rec(CWD, data=b"/absent") + rec(GO), "absent"),
], ids=["nothing", "half a record", "magic", "type", "no command", "file as folder", "no folder"])
def test_waiting_for_a_bad_feed(workspace, feed, why):
    (workspace / "ws" / "main.js").write_text("console.log('ran')")
    rc, out, err = Waiting(workspace).finish(feed)
    assert rc == 125 and out == b"" and err.startswith(b"belljar: ") and why.encode() in err, (rc, out, err)
