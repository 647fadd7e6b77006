# SPDX-License-Identifier: Apache-2.0
"""SV: the supervisor cannot be changed, talked to, confused or half-started."""
import json
import os
import subprocess
import threading

import pytest

import jarlib
import warm
from jarlib import NONCE, ROOT, ROOTLESS, sha256

host_root = pytest.mark.skipif(not ROOT, reason="the fixture needs root")


def test_sv_01_binary(jar):
    before = {p: sha256(p) for p in {str(jarlib.BELLJAR), jar.binary}}
    jar.probe("open", "ENOENT,EACCES,EPERM", "wr", "/proc/1/exe").denied()
    code = """
import os, sys
found = []
for p in os.listdir('/proc'):
    if p.isdigit():
        for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND):
            for name in ('exe', 'root/usr/bin/env'):
                try: found.append(os.open(f'/proc/{p}/{name}', flags))
                except OSError: pass
        try:
            fd = os.open(f'/proc/{p}/exe', os.O_PATH)
            found.append(os.open(f'/proc/self/fd/{fd}', os.O_WRONLY))
        except OSError: pass
sys.exit(41 if found else 40)
"""
    jar.python(code).denied()
    assert {p: sha256(p) for p in before} == before


def test_sv_02_control_channel(jar):
    code = """
import os, sys
reached = []
for fd in range(3, 1024):
    try: os.write(fd, b'\\0' * 64); reached.append(fd)
    except OSError as e:
        if e.errno != 9: reached.append(fd)
try: reached += os.listdir('/proc/1/fd')
except OSError: pass
try: unix = open('/proc/self/net/unix').read().splitlines()[1:]
except OSError: unix = []
reached += [x for x in unix if len(x.split()) > 7]  # an unnamed socket cannot be connected to
reached += [k for k in os.environ if 'BELLJAR' in k or 'FD' in k]
print(reached)
sys.exit(41 if reached else 40)
"""
    # the interpreter may hold descriptors of its own: the C probe has none
    jar.probe("fds").denied()
    jar.python(code).denied()


BAD_REQUESTS = {
    "empty": b"", "cut": b'{"language": "pyt', "not an object": b"[1, 2]", "number": b"5", "duplicate": b'{"code": "1", "code": "2"}',
    "unknown field": b'{"code": "1", "sandbox": false}', "wrong type": b'{"code": 5}', "negative": b'{"code": "1", "limits": {"wall_ms": -1}}',
    "huge": b'{"code": "1", "limits": {"memory_bytes": 18446744073709551616}}', "float": b'{"code": "1", "limits": {"pids": 1.5}}',
    "deep": b"[" * 100000, "deep object": b'{"env":' * 20000 + b"1" + b"}" * 20000, "nul in argv": b'{"argv": ["/bin/echo", "a\\u0000b"]}',
    "nul in path": b'{"code": "1", "files": [{"path": "a\\u0000b", "content": ""}]}', "env with =": b'{"code": "1", "env": {"A=B": "1"}}',
    "empty env name": b'{"code": "1", "env": {"": "1"}}', "no program": b"{}", "both": b'{"code": "1", "argv": ["x"]}',
    "file outside": b'{"code": "1", "files": [{"path": "../x", "content": ""}]}', "file absolute": b'{"code": "1", "files": [{"path": "/etc/x", "content": ""}]}',
    "bad base64": b'{"code": "1", "files": [{"path": "x", "base64": "!!"}]}', "bad utf8": b'{"code": "\xff"}', "trailing": b'{"code": "1"} {"code": "2"}',
    "bom": b'\xef\xbb\xbf{"code": "1"}', "nan": b'{"code": "1", "limits": {"cpus": NaN}}', "image": b'{"code": "1", "image": "x"}',
    "network": b'{"code": "1", "network": "all"}', "empty argv": b'{"argv": []}', "million args": None, "language": b'{"code":"1","language":"../../x"}',
    "zero memory": b'{"code": "1", "limits": {"memory_bytes": 0}}', "null": b'{"code": null}', "get": b'{"code": "1", "get": ["../../*"]}',
    "hostile id": b'{"code": "1", "id": 5}',
}


@pytest.mark.parametrize("what", BAD_REQUESTS)
def test_sv_03_requests(jar, box, what):
    data = BAD_REQUESTS[what]
    if data is None:
        data = b'{"argv": ["/bin/true"' + b', "x"' * 1000000 + b"]}"
    f = box / "request.json"
    f.write_bytes(data)
    f.chmod(0o644)
    r = jar.run("--request", str(f), files=False, limit=15)
    assert r.rc in (2, 125), f"rc {r.rc} {r.out[:300]!r} {r.err[:300]!r}"
    if r.out.strip():
        assert json.loads(r.out)["status"] == "error", r.out[:300]
    assert r.err.strip() or r.out.strip(), "no word about what is wrong"


BAD_FLAGS = [["-t", "-1s"], ["-m", "99999999999999999999"], ["--pids", "0"], ["--cpus", "nan"], ["--disk", "-5"], ["--nofile", "abc"], ["--uid", "-1"],
             ["--uid", "4294967295"], ["--uid", "99999999999"], ["--env", "NO EQUALS"], ["--env", "=x"], ["--output", "1e400"], ["--net", "all"], ["--lang", "../x"],
             ["--no-such-option"], ["--cpus", "0"], ["-t", ""], ["--hostname", "a/b"], ["--hostname", "x" * 300], ["--get", "x"]]


@pytest.mark.parametrize("flags", BAD_FLAGS, ids=" ".join)
def test_sv_03_flags(jar, flags):
    r = jar.run("-c", "print(1)", opts=[f if len(f) < 400 else f for f in flags], files=False)
    if flags == ["--get", "x"]:
        return  # without --out: belljar's own choice, it only must end
    assert r.rc in (2, 125), f"rc {r.rc} {r.out[:200]!r} {r.err[:200]!r}"


def fault_steps():
    if not jarlib.HOOKS.exists():
        return []
    p = subprocess.run([str(jarlib.HOOKS), "debug", "steps"], capture_output=True, timeout=10)
    return p.stdout.decode().split()


@pytest.mark.parametrize("step", fault_steps() or [None])
def test_sv_04_fail_closed(second_layer, home, probe, box, step):
    """One step of the set-up fails: nothing of the guest may run, the answer is error/setup, nothing stays."""
    if step is None:
        pytest.skip("no build with test hooks, or it names no steps")
    if warm.WARM:
        pytest.skip("these are the steps of a one-shot jar; those of warm ones: tests/e2e/test_faults.py, test_warm_steps")
    jar = jarlib.Jar(probe, "", home)
    jar.binary = str(jarlib.HOOKS)
    mark = f"first-instruction-{NONCE}"
    r = jar.run("--", "/workspace/probe", "write", "/tmp/x", "x", opts=["-t", "5s"], env={"BELLJAR_FAULT": step})
    assert r.rc == 125, r.told()
    r.ended("error", "setup")
    assert r.stdout == "" and not r.exit_code, r.told()
    r = jar.run("--lang", "bash", "-c", f"echo {mark}", env={"BELLJAR_FAULT": step}, files=False)
    assert r.rc == 125 and mark not in (r.record or {}).get("stdout", ""), r.told()


@pytest.mark.parametrize("step", [s for s in fault_steps() if s.split("-")[0] in ("keeper", "cgroup", "maker", "jar")] or [None])
def test_sv_04_slow_front(second_layer, home, probe, step):
    """The same when the front asks for the guest before it has heard that there is no jar."""
    if step is None or warm.WARM:
        pytest.skip("no build with test hooks, or it names no steps; warm jars have steps of their own")
    jar = jarlib.Jar(probe, "", home)
    jar.binary = str(jarlib.HOOKS)
    seconds = str(400000 + os.getpid())
    p = jar.start(("--", "sleep", seconds), opts=["-t", "5s"], files=False, env={"BELLJAR_FAULT": step, "BELLJAR_UNSAFE_DISABLE": "front_prompt"})
    seen = []
    while p.poll() is None:
        seen += [pid for pid in filter(str.isdigit, os.listdir("/proc")) if jarlib.cmdline(pid)[:2] == [b"sleep", seconds.encode()]]
    r = jar.finish(p)
    assert not seen and r.rc == 125, (seen, r.told())
    r.ended("error", "setup")


def test_sv_04_scrub(second_layer, home, probe):
    """What a compiler left cannot be ended: the program never runs. (Not one of the steps above: only a second guest gets there.)"""
    jar = jarlib.Jar(probe, "", home)
    jar.binary = str(jarlib.HOOKS)
    code = f"#include <stdio.h>\nint main(void) {{ puts(\"first-instruction-{NONCE}\"); }}"
    args = ("--lang", "c", "-c", code)
    assert jar.run(*args, files=False).stdout == f"first-instruction-{NONCE}\n"
    r = jar.run(*args, files=False, env={"BELLJAR_FAULT": "jar-scrub"})
    assert r.rc == 125, r.told()
    r.ended("error", "setup")
    assert "jar-scrub" in r.error and r.compile["success"] is True and NONCE not in r.stdout and r.exit_code is None, r.told()


@host_root
def test_sv_05_no_user_namespaces(jar):
    """A kernel that gives no user namespaces: refused, the guest never runs."""
    inner = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\""
    jar.inner = ["unshare", "-Urmpf", "--mount-proc", "sh", "-c", inner, "sh"]
    r = jar.probe("true")
    assert r.rc == 125, r.told()
    r.ended("error", "setup")
    assert r.error, "no sentence for a person"


@host_root
def test_sv_05_no_cgroups(jar):
    """A host without cgroups: root is refused with a hint unless it accepts less, and then the record lists what is missing."""
    if ROOTLESS:
        pytest.skip("rootless runs go on without cgroups: see test_sv_05_no_cgroups_rootless")
    jar.prefix = ["unshare", "-m", "--propagation", "private", "sh", "-c", "umount -R /sys/fs/cgroup && exec \"$@\"", "sh"]
    r = jar.probe("true")
    assert r.rc == 125, r.told()
    r.ended("error", "setup")
    assert "cgroup" in r.error and "--allow-degraded" in r.hint, r.record
    r = jar.probe("true", opts=["--allow-degraded"])
    assert r.exit_code == 0 and {"cgroup-memory", "cgroup-pids", "cgroup-cpu"} <= set(r.isolation["missing"]), r.told()
    assert r.isolation["cgroup"] == "none", r.isolation


@host_root
def test_sv_05_no_controllers(jar, second_layer):
    """The same where cgroups are mounted and no controller can be had (the hooks switch each off); one that is left is enough to go on."""
    if ROOTLESS:
        pytest.skip("rootless runs go on without cgroups: see test_sv_05_no_cgroups_rootless")
    none = {"BELLJAR_UNSAFE_DISABLE": "cgroup_memory,cgroup_cpu,cgroup_pids,cgroup_kill"}
    jar.binary = str(jarlib.HOOKS)
    r = jar.probe("true", env=none)
    r.ended("error", "setup")
    assert r.rc == 125 and "cgroup" in r.error and "--allow-degraded" in r.hint, r.told()
    r = jar.probe("true", env=none, opts=["--allow-degraded"])
    assert r.exit_code == 0 and "cgroup-memory" in r.isolation["missing"], r.told()
    r = second_layer("cgroup_memory").probe("true")
    assert r.exit_code == 0 and r.isolation["missing"] == ["cgroup-memory"], r.told()


def test_sv_05_no_cgroups_rootless(jar):
    """An ordinary user who was given no cgroups: rlimits and polling stand in, and the record says so."""
    if not ROOTLESS:
        pytest.skip("as root: see test_sv_05_no_cgroups")
    r = jar.probe("true")
    if r.isolation["cgroup"] != "none":
        pytest.skip("this user was given cgroups")
    assert r.exit_code == 0 and {"cgroup-memory", "cgroup-pids", "cgroup-cpu"} <= set(r.isolation["missing"]), r.told()


def test_sv_05_missing_is_said(jar):
    """What the record claims is what the host sees."""
    r = jar.probe("true")
    iso = r.isolation
    assert isinstance(iso["missing"], list)
    if not ROOTLESS:
        assert iso["missing"] == [], iso
    named = {str(n).replace("mount", "mnt") for n in iso["namespaces"]}
    assert {"user", "mnt", "pid", "net", "ipc", "uts"} <= named, iso
    assert iso["landlock_abi"] >= 1, iso


@pytest.mark.parametrize("opts", [
    ["--file", "{src}:../x"], ["--file", "{src}:a/../../x"], ["--file", "{src}:/etc/x"], ["--file", "{src}:" + "a/" * 3000 + "x"],
    ["--file", "{src}:."], ["--file", "{src}:"], ["--file", "/no/such:x"], ["--file", "/dev/zero:x"], ["--file", "{fifo}:x"],
    ["--ro", "{dir}:/proc"], ["--ro", "{dir}:/dev/shm/../.."], ["--ro", "{dir}:/"], ["--ro", "{dir}:/dev"], ["--ro", "{dir}:relative"],
    ["--ro", "{dir}:/proc/self/cwd"], ["--ro", "{dir}:/usr/../proc"], ["--ro", "/proc:/in"], ["--ro", "/sys:/in"], ["--ro", "/:/in"],
    ["--ro", "/dev:/in"], ["--ro", "{cgroup}:/in"], ["--ro", "/no/such:/in"],
    ["--ro", "{dir}:/" + "a" * 300], ["--ro", "{dir}"], ["--workspace", "/no/such"], ["--workspace", "{src}"],
], ids=lambda o: " ".join(o)[:40])
def test_sv_09_paths(jar, box, canaries, opts):
    """Refused before anything runs, or harmless: never a mount or a file outside of the jar."""
    (box / "src").write_text("source")
    (box / "dir").mkdir()
    os.mkfifo(box / "fifo")
    opts = [o.format(src=box / "src", dir=box / "dir", fifo=box / "fifo", cgroup=next(jarlib.cgroup_roots(), "/sys/fs/cgroup"))
            for o in opts]
    r = jar.probe("cwd", canaries.ro, opts=[*opts, "-t", "5s"])
    harmless = {f"{box / 'src'}:/etc/x"}
    if opts[1].startswith(("/proc:", "/sys:", "/:", "/dev:", "/sys/fs/cgroup/")):
        assert r.rc in (2, 125), f"accepted: {opts} {r.told()}"
    if r.rc not in (2, 125):
        assert opts[1] in harmless or opts[1].endswith((":", "/in", ":relative")) or opts[1] == str(box / "dir"), f"accepted: {opts} {r.told()}"
        r.denied()
    elif r.record is not None:
        assert r.record["status"] == "error", r.told()
    assert sorted(os.listdir(box)) == ["dir", "fifo", "src"] and os.listdir(box / "dir") == []


@pytest.mark.parametrize("kind", ["fifo", "endless", "missing"])
def test_sv_09_stdin(jar, box, kind):
    """A source of stdin that never ends or never opens: the limit holds, or it is refused at once."""
    os.mkfifo(box / "fifo")
    (box / "fifo").chmod(0o666)
    source = {"fifo": box / "fifo", "endless": "/dev/zero", "missing": box / "none"}[kind]
    r = jar.run("--lang", "python", "-c", "print(1)", opts=["-t", "1500ms", "--stdin", source], files=False, limit=6)
    assert r.rc in (0, 2, 124, 125), r.told()
    assert kind != "missing" or r.rc in (2, 125), r.told()


@pytest.mark.parametrize("pattern", ["../*", "/etc/passwd", "/etc/*", "../../../../etc/passwd", "/proc/self/environ", "/proc/1/*", "/usr/bin/env"])
def test_sv_09_get_patterns(jar, outdir, pattern):
    r = jar.probe("true", opts=["--get", pattern, "--out", outdir])
    assert [x for x in outdir.rglob("*") if x.is_file()] == [], r.told()
    assert not (outdir.parent / "passwd").exists()


@pytest.mark.parametrize("pattern", ["*", "**", "?"])
def test_sv_09_relative_patterns(jar, outdir, pattern):
    """A pattern without a leading slash is about /workspace."""
    r = jar.run("--", "/bin/sh", "-c", "echo a > a; echo t > /tmp/t; echo h > ~/h; echo s > /dev/shm/s", files=False,
                opts=["--get", pattern, "--out", outdir])
    assert r.exit_code == 0, r.told()
    assert [f["path"] for f in r.files] == ["a"], r.files
    assert [str(p.relative_to(outdir)) for p in outdir.rglob("*") if p.is_file()] == ["a"]


@pytest.mark.parametrize("name", ["../x", "a/b", "x" * 300, "ж", ".", "..", "a\nb"])
def test_sv_09_ids(jar, box, name):
    """An id is the caller's own word: echoed or refused, never a path on the host."""
    f = box / "request.json"
    f.write_text(json.dumps({"argv": ["/bin/true"], "id": name, "client": name}))
    f.chmod(0o644)
    r = jar.run("--request", str(f), files=False)
    assert r.rc in (0, 2, 125), r.told()
    if r.rc == 0:
        assert r.id == name and r.execution_id.startswith("exec-") and "/" not in r.execution_id
    assert sorted(os.listdir(box)) == ["request.json"]


def test_sv_10_swapped_source(jar, box):
    """The source flips between a folder and a link to a secret one while belljar starts: what is mounted was checked."""
    good, bad, src = box / "good", box / "bad", box / "src"
    for d, text in ((good, "good"), (bad, "bad")):
        d.mkdir()
        (d / "f").write_text(text)
    src.mkdir()
    (src / "f").write_text("good")
    stop = threading.Event()

    def flip():
        while not stop.is_set():
            os.rename(src, box / "t")
            os.symlink(bad, src)
            os.unlink(src)
            os.rename(box / "t", src)

    t = threading.Thread(target=flip)
    t.start()
    try:
        for _ in range(15):
            r = jar.run("--", "/bin/sh", "-c", "cat /in/f; ls -ld /in; touch /in/x 2>/dev/null && echo WRITTEN", opts=["--ro", f"{src}:/in"], files=False)
            assert r.rc in (0, 1, 2, 125), r.told()
            if r.record and r.record["status"] == "completed":
                assert "WRITTEN" not in r.stdout and r.stdout.startswith(("good", "bad")), r.told()
    finally:
        stop.set()
        t.join()
    assert (bad / "f").read_text() == "bad" and not (bad / "x").exists() and not (src / "x").exists()


def test_sv_11_signals(jar):
    """The guest asks for signals to whoever shares its pipes, and closes them at the worst time."""
    code = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
for fd in (0, 1, 2):
    for owner in (1, os.getppid() or 1, -1, 0x7fffffff, -os.getpgrp()):
        for sig in (0, 9, 15, 29):
            try:
                fcntl.fcntl(fd, fcntl.F_SETOWN, owner); fcntl.fcntl(fd, 10, sig)
                fcntl.fcntl(fd, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
            except OSError: pass
os.close(0)
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
try: sys.stdout.write('x' * 100000); sys.stdout.flush()
except OSError: pass
os.close(1)
os.write(2, b'end')
os._exit(7)
"""
    r = jar.run("--lang", "python", "-c", code, opts=["-t", "10s", "--stdin", "-"], data=b"z" * (8 << 20), files=False)
    r.ended("completed", "exited")
    assert r.exit_code == 7 and r.stderr.endswith("end"), r.told()
