# SPDX-License-Identifier: Apache-2.0
"""HI: the host handles what a guest made as bytes of a stranger."""
import base64
import concurrent.futures
import hashlib
import io
import json
import os
import pty
import stat
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

import pytest

import jarlib
from jarlib import NONCE, wait_until


def exported(outdir):
    """{relative name: bytes} of every file that reached the host; anything but files and folders is an error."""
    found = {}
    for f in sorted(outdir.rglob("*")):
        mode = f.lstat().st_mode
        assert stat.S_ISREG(mode) or stat.S_ISDIR(mode), f"{f} is special"
        if stat.S_ISREG(mode):
            found[str(f.relative_to(outdir))] = f.read_bytes()
    return found


# Each race is a jar of its own, ended at another moment of the guest's game; two at a time, as there are at least that many CPUs.
RACES = int(os.environ.get("BELLJAR_RACES") or (2000 if os.environ.get("BELLJAR_LONG") else 200))


def races(jar, build, kind, target, gets, check):
    """Runs the probe `swap` RACES times and lets check(record, {name: bytes}) look at each."""
    def one(i):
        out = Path(tempfile.mkdtemp(prefix="race-", dir=build))
        try:
            if jarlib.TEST_USER:
                subprocess.run(["chown", f"{jarlib.TEST_USER}:", out], check=True)
            r = jar.probe("swap", kind, target, 500 + i * 7919 % 6000, opts=[w for g in gets for w in ("--get", g)] + ["--out", out])
            assert r.status == "completed" and r.exit_code == 0, r.told()
            check(r, exported(out))
            return [f for f in r.files if not f.get("refused")]
        finally:
            jarlib.remove_tree(out)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        came = list(pool.map(one, range(RACES)))
    # the game is real: the file was met as a file, and as something else
    assert any(came) and not all(came), f"{sum(map(bool, came))} of {RACES} brought a file"


def test_hi_01_symlink_race(jar, canaries, build):
    def check(r, files):
        assert set(files.values()) <= {b"mine", b""}, files
        assert canaries.secret not in json.dumps(r.record)
    races(jar, build, "file", canaries.ro, ["out/data"], check)


def test_hi_02_parent_race(jar, canaries, build):
    """`out` itself flips to a link to the folder of a host file; the name asked for exists there."""
    def check(r, files):
        assert set(files.values()) <= {b"mine"}, files
        assert canaries.secret not in json.dumps(r.record)
    races(jar, build, "folder", canaries.ro.parent, [f"out/{canaries.ro.name}", "out/data"], check)


def test_hi_02_workspace(jar, build, canaries):
    """--workspace both ways: links of the host are not followed inwards, links of the guest are not followed outwards."""
    ws = Path(tempfile.mkdtemp(prefix="ws-", dir=build))
    target = Path(tempfile.mkdtemp(prefix="target-", dir=build))
    (ws / "sub").mkdir()
    (ws / "sub" / "f").write_text("f")
    (ws / "file").symlink_to(canaries.ro)
    (ws / "dir").symlink_to(target)
    (ws / "other").mkdir()
    (target / "hard").write_text("untouched")
    os.link(target / "hard", ws / "hard")
    if jarlib.TEST_USER:
        subprocess.run(["chown", "-hR", f"{jarlib.TEST_USER}:", ws, target], check=True)
    code = f"""
cat file dir/* 2>/dev/null
rm -rf sub && ln -s {target} sub; mkdir -p {target} 2>/dev/null
rm file && echo mine > file
rm dir && mkdir dir && echo evil > dir/evil
rmdir other && ln -s ../../../../../../var/tmp other
echo changed > hard
mkdir -p new && echo n > new/n && chmod 6777 new/n
echo t > /tmp/t
"""
    try:
        r = jar.run("--lang", "bash", "-c", code, opts=["--workspace", ws], files=False)
        assert r.status == "completed", r.told()
        assert canaries.secret not in json.dumps(r.record), "a link of the host was followed"
        assert sorted(os.listdir(target)) == ["hard"], "something was written through a link"
        assert (target / "hard").read_text() == "untouched" and canaries.ro.read_text() == canaries.secret
        for top, dirs, files in os.walk(ws):
            for name in dirs + files:
                p = Path(top, name)
                if p.is_symlink() and p != ws / "dir":
                    assert not os.readlink(p).startswith(("/", "..")), f"{p} -> {os.readlink(p)}"
        assert (ws / "new" / "n").read_text() == "n\n" and (ws / "new" / "n").stat().st_mode & 0o7022 == 0
        assert not (ws / "tmp").exists(), "files of the jar's /tmp came back into the workspace"
    finally:
        jarlib.remove_tree(ws)
        jarlib.remove_tree(target)


def test_hi_03_specials_quickly(jar, outdir):
    code = """
import os, socket
os.mkdir('s')
for i in range(20):
    os.mkfifo(f's/fifo{i}')
    s = socket.socket(socket.AF_UNIX); s.bind(f's/sock{i}')
open('s/plain', 'w').write('plain')
"""
    r = jar.python(code, opts=["--get", "s/*", "--out", outdir])
    assert r.exit_code == 0, r.told()
    assert list(exported(outdir).values()) == [b"plain"]
    assert len([f for f in r.files if f.get("refused")]) == 40, r.files
    assert r.wall - r.elapsed_s < 2, f"{r.wall - r.elapsed_s:.2f} s for 40 of them"


def test_hi_04_lease(jar, outdir):
    code = """
import fcntl, os, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
f = open('out.txt', 'w+'); f.write('leased'); f.flush()
if os.fork() == 0:
    os.setsid()
    try: fcntl.fcntl(f, 1024, fcntl.F_WRLCK)
    except OSError as e: os._exit(0)
    time.sleep(20)
time.sleep(0.1)
try: fcntl.fcntl(f, 1024, fcntl.F_WRLCK); sys.exit(41)
except PermissionError: sys.exit(40)
"""
    r = jar.python(code, opts=["--get", "out.txt", "--out", outdir])
    if not jar.off:
        assert r.wall - r.elapsed_s < 1.5
        assert exported(outdir) == {"out.txt": b"leased"}
    r.denied()


@pytest.mark.parametrize("loop", ["f.write(b'x' * 65536)", "f.truncate(0); f.write(b'y' * 100000)"], ids=["growing", "shrinking"])
def test_hi_05_moving_file(jar, outdir, loop):
    code = f"""
import os, time
f = open('out.bin', 'wb', 0); f.write(b'start')
if os.fork() == 0:
    os.setsid()
    while True:
        try: {loop}
        except OSError: pass
time.sleep(0.2)
"""
    r = jar.python(code, opts=["--get", "out.bin", "--out", outdir, "--disk", "20M"])
    assert r.status == "completed", r.told()
    got = exported(outdir)
    assert sum(map(len, got.values())) <= 21 << 20
    for f in r.files:
        if not f.get("refused"):
            assert hashlib.sha256(got["out.bin"]).hexdigest() == f["sha256"] and len(got["out.bin"]) == f["size"]


def test_hi_06_hardlinks(jar, outdir):
    """500 names of one 20 MiB file would be 10 GiB on the host: the total is capped or links are refused."""
    code = """
import os
os.mkdir('h'); open('h/0', 'wb').write(b'z' * (20 << 20))
for i in range(1, 500): os.link('h/0', f'h/{i}')
"""
    r = jar.python(code, opts=["--get", "h/*", "--out", outdir])
    assert r.exit_code == 0, r.told()
    total = sum(f.lstat().st_size for f in outdir.rglob("*") if f.is_file())
    assert total <= 1 << 30, f"{total >> 20} MiB"
    assert any(f.get("refused") for f in r.files)
    assert r.wall < 15


def evil_tar():
    """Every trick of the list, as one archive."""
    buf = io.BytesIO()
    with tarfile.open(fileobj=buf, mode="w", format=tarfile.PAX_FORMAT) as t:
        def add(name, kind=tarfile.REGTYPE, link="", data=b"evil", mode=0o644):
            i = tarfile.TarInfo(name)
            i.type, i.linkname, i.mode = kind, link, mode
            i.size = len(data) if kind == tarfile.REGTYPE else 0
            t.addfile(i, io.BytesIO(data))
        add(f"/var/tmp/evil-{NONCE}")
        add(f"../../../../var/tmp/evil-{NONCE}")
        add("link", tarfile.SYMTYPE, "/var/tmp")
        add(f"link/evil-{NONCE}")
        add("hard", tarfile.LNKTYPE, "/etc/passwd")
        add("dev", tarfile.CHRTYPE)
        add("suid", mode=0o4755)
        add("twice")
        add("twice", tarfile.SYMTYPE, "/etc/passwd")
        add("n" * 300)
        add("back\\slash")
        add("C:evil")
        add("zeros", data=b"\0" * 100000)
    return buf.getvalue()


def test_hi_07_archive_out(jar, box, outdir):
    """An archive is an artifact like any other: it arrives as it was, and nothing is unpacked."""
    tar = box / "a.tar"
    tar.write_bytes(evil_tar())
    tar.chmod(0o644)
    r = jar.run("--lang", "bash", "-c", "cp a.tar out.tar", opts=["--file", f"{tar}:a.tar", "--get", "out.tar", "--out", outdir], files=False)
    assert r.exit_code == 0, r.told()
    assert exported(outdir) == {"out.tar": tar.read_bytes()}
    assert not os.path.lexists(f"/var/tmp/evil-{NONCE}")


def test_hi_08_archive_in(jar, box):
    tar = box / "a.tar"
    tar.write_bytes(evil_tar())
    tar.chmod(0o644)
    r = jar.run("--lang", "bash", "-c", "ls -A /workspace; ls -d /workspace/link /var/tmp/evil* 2>/dev/null; true",
                opts=["--file", f"{tar}:a.tar"], files=False)
    assert "a.tar" in r.stdout.split() and "link" not in r.stdout, r.told()
    assert not os.path.lexists(f"/var/tmp/evil-{NONCE}")


def test_hi_13_patch(jar, outdir):
    """A patch that a guest made is bytes: one-shot runs apply nothing."""
    patch = f"--- a/x\n+++ b/../../../../var/tmp/evil-{NONCE}\n@@ -0,0 +1 @@\n+evil\n" \
            "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n"
    r = jar.python(f"open('fix.patch', 'w').write({patch!r})", opts=["--get", "fix.patch", "--out", outdir])
    assert r.exit_code == 0, r.told()
    assert exported(outdir) == {"fix.patch": patch.encode()}
    assert not os.path.lexists(f"/var/tmp/evil-{NONCE}")


ESCAPES = b"\x1b]52;c;ZXZpbA==\x07\x1b]0;title\x07\x1b[2J\x1bP$q\"p\x1b\\\xc2\x9b31m\xe2\x80\xae"


@pytest.mark.parametrize("stream", [1, 2])
def test_hi_15_terminal_escapes(jar, stream):
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    code = f"import os; os.write({stream}, {ESCAPES!r} + b'visible\\n')"
    try:
        p = jar.start(["--lang", "python", "-c", code], ["-t", "10s"], json_=False, files=False, stdout=slave, stderr=slave)
        data = b""

        def read():
            nonlocal data
            try:
                data += os.read(master, 65536)
            except BlockingIOError:
                pass
            return p.poll() is not None

        wait_until(read, 15)
        jar.finish(p)
        time.sleep(0.05)
        read()
    finally:
        os.close(master)
        os.close(slave)
    assert b"visible" in data, data
    for bad in (b"\x1b]52", b"\x1b]0;", b"\x1b[2J", b"\x1bP", b"\xc2\x9b", b"\xe2\x80\xae", b"\x07"):
        assert bad not in data, f"{bad!r} reached the terminal: {data!r}"


def test_hi_15_pipe_gets_the_bytes(jar):
    code = f"import os; os.write(1, {ESCAPES!r})"
    r = jar.run("--lang", "python", "-c", code, json_=False, files=False)
    assert r.out == ESCAPES


def test_hi_16_encoding(jar):
    data = b"\xff\xfe\x00\xed\xa0\x80\xe2\x80\xa8\"\\\r\n\x7f" + bytes(range(256))
    r = jar.python(f"import os; os.write(1, {data!r}); os.write(2, {data!r})")
    assert r.record is not None, r.told()
    for stream in ("stdout", "stderr"):
        coded = [v for k, v in r.record.items() if k.startswith(stream) and "64" in k and isinstance(v, str)]
        assert coded and base64.b64decode(coded[0]) == data, {k: v for k, v in r.record.items() if k.startswith(stream)}
        assert r.record[f"{stream}_bytes"] == len(data)


def test_hi_16_long_line(jar):
    r = jar.python("import os\nfor _ in range(64): os.write(1, b'L' * (1 << 18))", opts=["--output", "100K"])
    assert r.truncated and r.stdout_bytes == 16 << 20 and len(r.stdout) < 120 << 10


def test_hi_17_log_injection(jar):
    fake = 'x\nerror: forged line\n{"event":"forged"}\r\x1b[2J'
    r = jar.run("--lang", "python", "-c", "pass", "--arg", fake, "--env", f"K={fake}", files=False, opts=["--verbose"])
    text = r.err.decode(errors="replace")
    assert not [x for x in text.splitlines() if x.startswith(("error: forged", '{"event":"forged'))], text
    assert "\x1b[2J" not in text
    r = jar.run("--", f"/no/such/{fake}", files=False)
    assert r.rc == 127, r.told()
    text = r.err.decode(errors="replace")
    assert not [x for x in text.splitlines() if x.startswith(("error: forged", '{"event":"forged'))], text
    assert "\x1b[2J" not in text


def test_hi_18_metadata(jar, outdir):
    code = """
import os
os.mkdir('m')
for name, t in (('epoch', 0), ('before', -1), ('far', 2**62), ('e\\u0301', 5), ('\\u00e9', 6), ('CASE', 7), ('case', 8)):
    open('m/' + name, 'w').write(name)
    try: os.utime('m/' + name, (t, t))
    except (OSError, OverflowError): pass
"""
    r = jar.python(code, opts=["--get", "m/*", "--out", outdir])
    assert r.exit_code == 0, r.told()
    got = {Path(k).name: v.decode() for k, v in exported(outdir).items()}
    assert got == {n: n for n in ("epoch", "before", "far", "e\u0301", "\u00e9", "CASE", "case")}, got


def test_hi_22_stdio_ownership(jar, box):
    def look(path):
        st = os.stat(path)
        return st.st_uid, st.st_gid, st.st_mode, st.st_rdev

    log = box / "log"
    log.write_text("")
    log.chmod(0o640)
    before = look("/dev/null"), look(log)
    with open(log, "ab") as out:
        for opts in ([], ["--stdin", "-"]):
            p = jar.start(["--", "/workspace/probe", "true"], ["-t", "5s", *opts], json_=False, stdout=out, stderr=out)
            assert jar.finish(p).rc == 0
    assert (look("/dev/null"), look(log)) == before
