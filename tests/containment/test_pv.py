# SPDX-License-Identifier: Apache-2.0
"""PV: a guest has no privilege, gets none back and carries none of its caller's."""
import contextlib
import os
import secrets
import shutil
import signal
import stat
import tempfile
import time
from pathlib import Path

import pytest

import jarlib
import warm
from jarlib import GUEST_UID, ID_BASE, NONCE, ROOT, ROOTLESS, status_field

host_root = pytest.mark.skipif(not ROOT, reason="looking at the guest from outside needs root")
UIDS = pytest.mark.parametrize("uid", [1000, 0])


def test_pv_01_ids(jar, control):
    if ROOT:
        control("ids", 12345)
    for target in {0, 1, 65534, GUEST_UID + 1} - {GUEST_UID}:
        jar.probe("ids", target).denied()
    if ROOT:
        with jar.live() as p:
            ids = {int(x) for k in ("Uid", "Gid") for x in status_field(p.guest, k)}
            caller = jarlib.pwd.getpwnam(jarlib.TEST_USER).pw_uid if jarlib.TEST_USER else 0
            assert 0 not in ids, ids
            if not ROOTLESS:
                assert all(i >= ID_BASE for i in ids) and caller not in ids, ids


@host_root
@UIDS
def test_pv_02_capabilities(jar, uid):
    with jar.live(opts=["--uid", uid]) as p:
        for cap in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert status_field(p.guest, cap) == ["0000000000000000"], cap


@UIDS
def test_pv_03_regain(jar, uid):
    jar.probe("regain", uid, opts=["--uid", uid]).denied()


@UIDS
def test_pv_04_maps(jar, uid):
    jar.probe("maps", opts=["--uid", uid]).denied()
    if ROOT:
        with jar.live(opts=["--uid", uid]) as p:
            for line in Path(f"/proc/{p.guest}/uid_map").read_text().splitlines():
                inside, outside, count = map(int, line.split())
                assert outside != 0 and (ROOTLESS or outside >= ID_BASE), line


def test_pv_05_nested_userns(jar, control):
    """The whole story is KS-07 and KS-15; here for guest root too."""
    control("newns", "filter")
    jar.probe("newns", "filter", opts=["--uid", "0"]).denied()


@host_root
def test_pv_06_no_new_privs(jar):
    with jar.live("wait", 2) as p:
        for task in os.listdir(f"/proc/{p.guest}/task"):
            assert status_field(p.guest, "NoNewPrivs", task) == ["1"]
    if not jar.off:
        jar.probe("regain", GUEST_UID).denied()


@host_root
def test_pv_07_groups(jar, box):
    """belljar started with an extra group that can read a file: the guest has neither."""
    f = box / "group-only"
    f.write_text("secret")
    os.chown(f, 0, 54321)
    f.chmod(0o640)
    jar.prefix = [] if jarlib.TEST_USER else ["setpriv", "--groups", "54321,54322", "--"]
    jar.probe("groups", "/in/group-only", opts=["--ro", f"{box}:/in"]).denied()
    with jar.live() as p:
        groups = set(status_field(p.guest, "Groups"))
        assert not groups & {"0", "54321", "54322"}, groups
        assert ROOTLESS or all(int(g) >= ID_BASE for g in groups), groups


@host_root
def test_pv_08_unique_ids(jar):
    """Many jars at once: each has host ids of its own, out of belljar's range, known to no account."""
    n = 50 if float(os.environ.get("BELLJAR_SLOW", "1")) == 1 else 10  # an emulated machine would take minutes
    n = 12 if warm.WARM else n  # as many as the harness's batch runs at once, with room for others
    seen = []
    with contextlib.ExitStack() as stack:
        for _ in range(n):
            p = stack.enter_context(jar.live())
            maps = [tuple(map(int, x.split())) for x in Path(f"/proc/{p.guest}/uid_map").read_text().splitlines()]
            seen.append((int(status_field(p.guest, "Uid")[0]), int(status_field(p.guest, "Gid")[0]), maps))
    uids, gids = {u for u, _, _ in seen}, {g for _, g, _ in seen}
    assert len(uids) == n and len(gids) == n, seen
    assert all(x >= ID_BASE for x in uids | gids)
    taken = {int(x.split(":")[2]) for x in Path("/etc/passwd").read_text().splitlines()}
    assert not uids & taken
    ranges = sorted((o, o + c) for _, _, maps in seen for _, o, c in maps)
    assert all(a[1] <= b[0] for a, b in zip(ranges, ranges[1:])), ranges


@host_root
def test_pv_08_identities_differ_from_init(jar):
    """pid 1 of the jar is somebody else than the guest, so that it cannot be signalled, traced or read."""
    with jar.live() as p:
        init = [x for x in jarlib.descendants(p.pid) if status_field(x, "NSpid")[-1:] == ["1"]
                and os.readlink(f"/proc/{x}/ns/pid") == os.readlink(f"/proc/{p.guest}/ns/pid")]
        assert len(init) == 1, init
        assert set(status_field(init[0], "Uid")).isdisjoint(status_field(p.guest, "Uid"))


def test_pv_09_exported_ownership(jar, outdir):
    code = """
import os
for name, mode in (('a', 0o6777), ('b', 0o4755), ('c', 0o600), ('d', 0o1666)):
    open(name, 'w').write(name); os.chmod(name, mode)
try: os.setxattr('a', 'user.mark', b'x')
except OSError: pass
"""
    jar.python(code, opts=["--get", "?", "--out", outdir])
    assert sorted(os.listdir(outdir)) == ["a", "b", "c", "d"]
    owner = jarlib.pwd.getpwnam(jarlib.TEST_USER).pw_uid if jarlib.TEST_USER else os.getuid()
    for name in "abcd":
        st = os.lstat(outdir / name)
        assert st.st_uid == owner and not st.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX | 0o022), oct(st.st_mode)
        assert os.listxattr(outdir / name) == []


def test_pv_10_map_helpers(jar, box):
    """Rootless: the helpers get numbers of belljar's own making, and are not looked up in the caller's PATH."""
    trap, mark = box / "newuidmap", box / "mark"
    trap.write_text(f"#!/bin/sh\necho \"$@\" >> {mark}\nexit 1\n")
    trap.chmod(0o755)
    shutil.copy(trap, box / "newgidmap")
    box.chmod(0o777)
    r = jar.probe("true", env={"PATH": f"{box}:/usr/bin:/bin"})
    assert r.exit_code == 0, r.told()
    assert not mark.exists(), mark.read_text()


ENV_ALLOWED = {"SANDBOX_MODE", "LSAN_OPTIONS", "HOME", "PATH", "LANG", "TMPDIR", "PWD", "SHLVL", "_", "USER", "LOGNAME", "TERM", "LC_CTYPE"}


def test_pv_11_environment(jar):
    hostile = {"LD_PRELOAD": "", "LD_LIBRARY_PATH": "/x", "DOCKER_HOST": "unix:///x", "SSH_AUTH_SOCK": "/x", "DBUS_SESSION_BUS_ADDRESS": "x",
               "XDG_RUNTIME_DIR": os.environ.get("XDG_RUNTIME_DIR", "/run"), "AWS_SECRET_ACCESS_KEY": NONCE, "PYTHONPATH": "/x", "NODE_OPTIONS": "",
               "BASH_ENV": "/x", "GIT_DIR": "/x", "http_proxy": "http://x"}
    if jarlib.TEST_USER:
        del hostile["XDG_RUNTIME_DIR"]
    r = jar.run("--", "/usr/bin/env", env=hostile)
    assert r.exit_code == 0, r.told()
    names = {x.split("=", 1)[0] for x in r.stdout.splitlines()}
    assert names <= ENV_ALLOWED, names - ENV_ALLOWED
    assert NONCE not in r.stdout and "SANDBOX_MODE=1" in r.stdout
    if ROOT:
        with jar.live(env=hostile) as p:
            assert NONCE.encode() not in Path(f"/proc/{p.guest}/environ").read_bytes()


def test_pv_12_tokens(jar, canaries):
    names = [".aws/credentials", ".config/gh/hosts.yml", ".netrc", ".docker/config.json", ".kube/config", ".ssh/id_rsa", ".npmrc", ".git-credentials",
             ".gnupg", ".bash_history"]
    paths = [f"{h}/{n}" for h in ("/root", "/home/guest", os.environ.get("HOME", "/root"), "/home/user") for n in names]
    paths += ["/run/secrets", "/var/run/secrets/kubernetes.io/serviceaccount/token", "/etc/ssl/private", "/etc/sudoers"]
    jar.probe("open", "ENOENT", "rd", *sorted(set(paths))).denied()
    # a token in the caller's home, and belljar started there
    r = jar.bash("cat ~/.* ~/* /workspace/* 2>/dev/null | head -c 100000; find / -xdev -name 'canary-*' 2>/dev/null", files=False)
    assert NONCE not in r.stdout


def test_pv_13_search_finds():
    """The search of the next test can fail: what is planted is found, by name and only while it is new."""
    text = f"planted-{secrets.token_hex(8)}"
    began = time.time()
    with contextlib.ExitStack() as stack:
        planted = []
        for place in filter(lambda d: os.access(d, os.W_OK), jarlib.SEARCHED):
            d = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="search-", dir=place)))
            (d / "deep").mkdir()
            (d / "deep" / "f").write_bytes(b"\0\xff" + text.encode() + b"\n")
            os.utime(d / "deep" / "f", (0, 0))  # an old mtime hides nothing
            planted.append(str(d / "deep" / "f"))
        assert planted and sorted(jarlib.files_holding(text, began)) == sorted(planted)
        assert not jarlib.files_holding("un" + text, began)
        assert not jarlib.files_holding(text, time.time() + 60)


def test_pv_13_secret_injection(jar):
    secret = f"injected-{NONCE}"
    began = time.time()
    r = jar.python("import os; print(os.environ['TOKEN'])", opts=["--env", f"TOKEN={secret}"])
    assert secret in r.stdout
    r = jar.bash("env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; grep -rs injected- /tmp /workspace /home /dev/shm /run /var 2>/dev/null",
                 files=False)
    assert f"injected-{NONCE}" not in r.stdout
    assert not jarlib.files_holding(secret, began)


def test_pv_14_inherited_state(jar):
    """belljar started by a caller in an odd state: nothing of it reaches the guest."""
    def odd():
        os.umask(0)
        if not ROOTLESS:
            os.nice(3)  # nobody but root can take it back
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR2, signal.SIGHUP})

    jar.probe("inherited", preexec_fn=odd).denied()
