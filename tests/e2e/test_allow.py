# SPDX-License-Identifier: Apache-2.0
"""--allow: only named programs can be started, and the kernel is who refuses.

allow_probe.c tries every way that we know of to start or map something else, all in one jar. Outside of an allow-list each of them works: that is
the control. With each guard off (build-hooks) the ways that only this guard closes work again: that is what shows that the guard is one.
"""
import functools
import json
import os
import shutil
import subprocess
import textwrap
from pathlib import Path

import harness
import pytest
from harness import REPO, ROOT, Batch, has_sanitizer, jar, need_language, need_program, own, run

HOOKS = REPO / "build-hooks" / "belljar"
LOADER = "/lib64/ld-linux-x86-64.so.2"
DEFAULT = "git pytest python python3 pip pip3 cat ls echo find grep head tail mkdir cp mv touch chmod".split()
STARTED = 77
GUEST_PLACES = ("/workspace", "/tmp", "/dev/shm", "/home/guest")


# ---- the probe -----------------------------------------------------------------------------------

@functools.cache
def built():
    """The folder with probe, victims and library, readable for all."""
    d = harness.BASE / "allow"
    d.mkdir(mode=0o755)
    src = Path(__file__).with_name("allow_probe.c")
    for out, flags in {"probe": [], "victim": ["-DVICTIM", "-static"], "victim-dyn": ["-DVICTIM"],
                       "library.so": ["-DLIBRARY", "-shared", "-fPIC"],
                       "codeless.so": ["-DCODELESS", "-shared", "-nostdlib", "-lc", "-Wl,--hash-style=gnu"]}.items():
        subprocess.run(["gcc", "-O1", "-o", str(d / out), str(src), *flags], check=True)
    return d


def is_program(path):
    """A dynamically linked program, as allow-lists understand it (programs.h)."""
    c = subprocess.run(["readelf", "-lhd", path], capture_output=True, text=True)
    return "interpreter:" in c.stdout and "(SONAME)" not in c.stdout


@functools.cache
def program_in(folder, inside=True):
    """Some program in a folder of libraries of this host."""
    for top, dirs, files in os.walk(folder):
        dirs.sort()
        if not inside:
            dirs[:] = [d for d in dirs if not d.endswith("-linux-gnu") and not d.startswith("python")]
        for f in sorted(files):
            p = os.path.join(top, f)
            if os.access(p, os.X_OK) and not os.path.islink(p) and ".so" not in f and os.stat(p).st_mode & 0o5 == 0o5 and is_program(p):
                return p
    return None


def ways():
    """Every way, and what it needs to work outside of an allow-list."""
    w = ["exec", "exec=/probe/victim", "exec=/proc/self/cwd/victim", "exec=/proc/self/root/workspace/victim", "exec=./victim"]
    w += [f"copy={d}" for d in GUEST_PLACES] + ["patched", "patched=/tmp"]
    w += ["load", "load=/probe/victim-dyn"] + [f"load-copy={d}" for d in GUEST_PLACES]
    w += ["preload", "ld-preload", "ld-audit", "codeless", "memfd", "memfd-path", "memfd-path=/dev/fd/", "tmpfile", "tmpfile=/workspace", "deleted", "passed",
          "symlink", "symlink=/probe/victim", "hardlink", "script", "script=/usr/bin/python3", "mmap", "mmap=/probe/victim", "mprotect",
          "mprotect=/probe/victim", "run=/usr/bin/true", "run=/bin/true", "list=/usr/bin/true", "list=/usr/bin/cat", "there=/usr/bin/true", "there=/usr/sbin/ldconfig",
          "run=/usr/lib/x86_64-linux-gnu/libc.so.6"]
    for f in (program_in("/usr/lib/x86_64-linux-gnu"), program_in("/usr/lib", False)):
        w += [f"list={f}", f"mmap={f}"] if f else []
    return w


# Not executable outside either: /dev/shm is noexec in every jar.
# Where no memory cgroup counts them there are no files in memory either.
FILES_IN_MEMORY = {"memfd", "memfd-path", "memfd-path=/dev/fd/"}
NOEXEC_ANYWAY = {"copy=/dev/shm", "load-copy=/dev/shm"} | (set() if ROOT else FILES_IN_MEMORY)


def probe(*opts, tries=None, env=None, binary=None):
    d = built()
    args = ["--ro", f"{d}:/probe", *(x for f in ("victim", "victim-dyn", "library.so", "codeless.so") for x in ("--file", str(d / f))), *opts,
            "--", "/probe/probe", LOADER, *(tries or ways())]
    if binary:
        c = subprocess.run([*harness.as_user(harness.TEST_USER), str(binary), "run", "--json", *args], capture_output=True, timeout=60, cwd="/",
                           env=harness.environment(harness.TEST_USER, env), stdin=subprocess.DEVNULL)
        out = json.loads(c.stdout)
    else:
        out = jar(*args).result
    if out["status"] != "completed" or out["exit_code"] != 0:
        raise AssertionError(out)
    return {l.split()[0]: (int(l.split()[1]), l.split()[2]) for l in out["stdout"].splitlines()}, out


ALLOWED = ["--allow", "/probe/probe,cat,python3"]


def test_control_without_a_list_everything_can_be_started():
    got, _ = probe()
    assert {w for w, (status, _) in got.items() if status != STARTED} <= NOEXEC_ANYWAY, got


def test_no_way_leads_around_the_list():
    got, out = probe(*ALLOWED)
    assert {w: s for w, s in got.items() if s[0] == STARTED} == {}, got
    assert len(got) == len(set(ways()))
    assert len(out["denied"]) == 16 and out["denied_more"] > 0
    _, out = probe(*ALLOWED, tries=["exec", "exec=/probe/victim", "run=/usr/bin/true", "run=/bin/true", "memfd-path", "script=/usr/bin/python3"])
    told = {x["program"] for x in out["denied"]}
    assert {"true", "/workspace/victim", "/probe/victim"} <= told, told


def test_named_programs_can_be_started():
    got, out = probe(*ALLOWED, tries=["run=/usr/bin/cat", "run=/bin/cat", "run=/proc/self/root/usr/bin/cat"])
    assert {s for s, _ in got.values()} == {STARTED}, got
    assert out["denied"] == []


@functools.cache
def hooks():
    """A copy that whoever runs belljar can reach."""
    if not HOOKS.exists():
        pytest.skip("no build-hooks: make hooks")
    d = harness.BASE / "hooks"
    d.mkdir(mode=0o755)
    for f in HOOKS.parent.glob("belljar*"):
        if f.is_file() and f.suffix not in harness.NOT_PARTS:
            shutil.copy2(f, d / f.name)
    return d / "belljar"


# What works again, and only then, with this guard off.
GUARDS = {
    "allow_noexec": {"mmap", "mmap=/probe/victim", "mprotect", "mprotect=/probe/victim"},
    "allow_loader": {"list=/usr/bin/cat", "codeless"},
    "allow_landlock": {"run=/usr/lib/x86_64-linux-gnu/libc.so.6"},
    "allow_root": {"there=/usr/bin/true", "there=/usr/sbin/ldconfig"},
    "allow_mask": {"there=TREE"},
    "allow_seccomp" if ROOT else "allow_seccomp,uncounted": FILES_IN_MEMORY,
    "allow_exec_root": {"mmap=LIB"},
    # Two layers stand before these: each set fails for one of them alone.
    "allow_noexec,allow_loader": {"load", "load=/probe/victim-dyn", "load-copy=/tmp", "load-copy=/workspace", "load-copy=/home/guest", "preload",
                                  "ld-preload", "ld-audit"},
    "allow_exec_root,allow_loader": {"list=LIB"},
    "allow_mask,allow_loader": {"list=TREE"},
    "allow_noexec,allow_landlock": {"exec", "copy=/tmp", "patched", "tmpfile", "deleted", "passed", "symlink", "script", "script=/usr/bin/python3"},
    "allow_root,allow_landlock,allow_exec_root,allow_loader": {"run=/usr/bin/true", "run=/bin/true", "list=/usr/bin/true"},
}


@pytest.mark.parametrize("off", GUARDS)
def test_red_without(off):
    stand_in = {"TREE": program_in("/usr/lib/x86_64-linux-gnu"), "LIB": program_in("/usr/lib", False)}
    want = {w.split("=")[0] + f"={stand_in[w.split('=')[1]]}" if w.split("=")[-1] in stand_in else w
            for w in GUARDS[off] if stand_in.get(w.split("=")[-1], True)}
    if not want:
        pytest.skip("this host has no program in its folders of libraries")
    on, _ = probe(*ALLOWED, tries=sorted(want), binary=hooks())
    assert STARTED not in {s for s, _ in on.values()}, on
    got, _ = probe(*ALLOWED, tries=sorted(want), env={"BELLJAR_UNSAFE_DISABLE": off}, binary=hooks())
    assert {w for w, (s, _) in got.items() if s == STARTED} == want, got


# ---- what is named works -------------------------------------------------------------------------

WORK = """
    import os, subprocess, sys
    def do(*a):
        p = subprocess.run(a, capture_output=True, text=True)
        assert p.returncode == 0, (a, p.returncode, p.stdout, p.stderr)
        return p.stdout
    os.environ.update(GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@b")
    do("mkdir", "r"), os.chdir("r"), do("git", "init", "-q", ".")
    open("test_x.py", "w").write("import subprocess, sys\\ndef test_a():\\n    assert subprocess.run([sys.executable, '-c', '']).returncode == 0\\n")
    do("git", "add", "."), do("git", "commit", "-qm", "first"), do("touch", "new")
    assert "new" in do("git", "status", "--short") and "first" in do("git", "log", "--stat")
    do("git", "gc", "-q"), do("git", "stash", "-u")
    assert "1 passed" in do("pytest", "-q", "-p", "no:cacheprovider")
    assert "pip" in do("pip", "--version") and "pip" in do("pip3", "--version") and "Python 3" in do("python3", "--version")
    assert "test_x.py" in do("find", ".", "-name", "test*") and "assert" in do("grep", "-r", "assert", "test_x.py")
    do("cp", "test_x.py", "y"), do("mv", "y", "z"), do("chmod", "600", "z"), do("ls", "-l"), do("cat", "z"), do("head", "z"), do("tail", "z")
    assert do("echo", "hi") == "hi\\n"
    import ssl, sqlite3, ctypes, lzma
    ssl.create_default_context(); ctypes.CDLL("libm.so.6").cos
    try:
        import numpy
    except ModuleNotFoundError:
        numpy = None
    assert numpy is None or numpy.linalg.inv(numpy.eye(3)).sum() == 3
    print("all of it")
"""


def test_the_default_set_works():
    for p in ("/usr/bin/git", "/usr/bin/pytest", "/usr/bin/pip"):
        need_program(p, "git python3-pytest python3-pip")
    c = jar("--allow", "default", "--lang", "python", "-c", textwrap.dedent(WORK)).ok()
    assert c["stdout"] == "all of it\n"
    # git looks for an editor's or pager's shell only when it needs one; nothing else may be refused on the way.
    assert {x["program"] for x in c["denied"]} <= {"sh"}, c["denied"]
    assert c["start"] == "cold" and c["isolation"]["programs"] == DEFAULT


def test_the_default_set_has_no_shell():
    c = jar("--allow", "default", "--", "python3", "-c", "import os; print(os.system('echo x'), [p for p in ('/bin/sh', '/bin/bash', '/usr/bin/dash') if os.path.exists(p)])").ok()
    assert c["stdout"] == "32512 []\n" and [x["program"] for x in c["denied"]] == ["sh"]


@pytest.mark.parametrize("language,allow", [("node", "node"), ("perl", "perl"), ("bash", "bash"), ("java", "java")])
def test_other_interpreters(language, allow):
    need_language(language)
    code = {"node": "console.log(1)", "perl": "use POSIX; print floor(1.5), qq(\\n)", "bash": "echo 1",
            "java": "class A { public static void main(String[] a) { System.out.println(1); } }"}[language]
    assert jar("--allow", allow, "--memory", "1G", "-t", "55s", "--lang", language, "-c", code).ok()["stdout"] == "1\n"


def test_only_the_named_ones_are_there():
    c = jar("--allow", "ls,python3", "--", "ls", "-A", "/usr/bin", "/usr/sbin", "/bin/", "/usr/libexec", "/usr/local/bin").ok()
    assert set(c["stdout"].split()) - {f"{d}:" for d in ("/usr/bin", "/usr/sbin", "/bin/", "/usr/libexec", "/usr/local/bin")} == \
        {"ls", "python3", os.path.basename(os.path.realpath("/usr/bin/python3"))}


# ---- refusals ------------------------------------------------------------------------------------

def policy(c, *words):
    assert c.verdict == "error/policy" and c.rc == 125 and c["exit_code"] is None and c["stdout"] == "", str(c)
    for w in words:
        assert w in c["error"] + c["hint"], str(c)


def test_the_main_program_is_refused():
    policy(jar("--allow", "git,python3", "--", "true"), "'true'", "git, python3", "--allow")
    policy(jar("--allow", "git", "--", "/usr/bin/true"), "/usr/bin/true", "allowed: git")
    policy(jar("--allow", "git", "--file", "/usr/bin/true", "--", "./true"), "./true")


def test_a_language_needs_its_interpreter_named():
    policy(jar("--allow", "git", "-c", "print(1)"), "/usr/bin/python3", "allowed: git")
    assert jar("--allow", "python3", "-c", "print(1)").ok()["stdout"] == "1\n"
    assert jar("--allow", "/usr/bin/python3", "-c", "print(1)").ok()["stdout"] == "1\n"


def test_compiled_languages_are_refused():
    need_language("c")
    policy(jar("--allow", "gcc", "--lang", "c", "-c", "int main(void){}"), "compiled")


@pytest.mark.parametrize("name", ["nosuchprogram", "/usr/bin/nosuchprogram", "/workspace/x", "/etc/passwd", "/proc/self/exe", "/usr/bin", "/opt/x"])
def test_unknown_names(name):
    c = jar("--allow", f"cat,{name}", "--", "cat", "/dev/null")
    assert c["status"] == "error" and c.rc == 125 and name in c["error"], str(c)


@pytest.mark.parametrize("name", ["", ",", " ", "a b", "../x", "x/y", "-x", "?cat", "/usr/../bin/cat", "x" * 200, "a\nb"])
def test_bad_names(name):
    c = jar(f"--allow={name}", "--", "cat", "/dev/null")
    assert c["status"] == "error" and "--allow" in c["error"], str(c)


def test_too_many_names():
    c = jar("--allow", ",".join(f"p{i}" for i in range(65)), "--", "p1")
    assert c["status"] == "error" and "at most 64" in c["error"]


def test_nested_refusals_are_listed():
    code = """
        import os, subprocess, shutil
        for a in (["nc"], ["nc"], ["/usr/bin/nc"], ["./mine"], ["/tmp/x\\x1b[2J\\n"]):
            try: subprocess.run(a)
            except OSError: pass
        shutil.copy("/usr/bin/python3", "mine2")
        if os.fork() == 0:
            try: os.execv("mine2", ["mine2"])
            finally: os._exit(0)
        os.wait()
        try: os.posix_spawn("/usr/sbin/ldconfig", ["x"], {})
        except OSError: pass
        subprocess.run(["python3", "-c", ""])
    """
    c = jar("--allow", "python3", "-c", textwrap.dedent(code)).ok()
    assert c["denied"] == [{"program": "nc", "count": 3}, {"program": "/workspace/./mine", "count": 1}, {"program": "/tmp/x?[2J?", "count": 1},
                           {"program": "/workspace/mine2", "count": 1}, {"program": "ldconfig", "count": 1}]
    assert "denied_more" not in c.result
    c = run("run", "--allow", "python3", "-c", textwrap.dedent(code))
    assert "not allowed to start: nc," in c.stderr and "\x1b[2J" not in c.stderr


def test_the_list_of_refusals_is_bounded():
    code = """
        import os
        for i in range(3000):
            try: os.execv(f"/workspace/{i % 40}" + "y" * 300, ["x"])
            except OSError: pass
        print("through")
    """
    c = jar("--allow", "python3", "-c", textwrap.dedent(code)).ok()
    assert c["stdout"] == "through\n" and len(c["denied"]) == 16
    assert sum(x["count"] for x in c["denied"]) + c["denied_more"] == 3000
    assert all(len(x["program"]) < 124 for x in c["denied"])


def test_shell_scripts():
    script = "true; /usr/bin/true; cp /bin/cat ./c; ./c /dev/null; " + LOADER + " ./c /dev/null; exec true"
    c = jar("--allow", "sh,cp,cat", "--", "sh", "-c", script)
    assert c["exit_code"] == 127 and c["stdout"] == "", str(c)
    assert [x["program"] for x in c["denied"]] == ["true", "/workspace/./c"]


# ---- what comes along ----------------------------------------------------------------------------

def plan(*opts):
    c = run("run", "--dry-run", *opts)
    assert c.rc == 0, str(c)
    return {x["path"]: (x["kind"], x["for"]) for x in c.result["allow"]}


def test_dry_run_shows_the_files():
    need_program("/usr/bin/pip", "python3-pip")
    p = plan("--allow", "pip", "--", "pip")
    python = os.path.realpath("/usr/bin/python3")
    assert p["/usr/bin/pip"] == ("named", "pip") and p[python] == ("interpreter", "pip") and p[os.path.realpath(LOADER)] == ("loader", "pip")
    assert len(p) == 3
    p = plan("--allow", "git", "--", "git")
    assert p["/usr/bin/git"] == ("named", "git") and p["/usr/lib/git-core/git"] == ("helper", "git")


def test_alternatives_are_followed():
    link = "/usr/bin/awk"
    if not os.path.islink(link) or "/etc/alternatives" not in os.readlink(link):
        pytest.skip("awk is no alternative here")
    assert os.path.realpath(link) in plan("--allow", "awk", "--", "awk")
    c = jar("--allow", "awk", "--", "awk", "BEGIN { print 1; system(\"true\") }")
    assert c["stdout"] == "1\n"


@pytest.mark.parametrize("line,needs", [("#!/usr/bin/env python3", {"env", "python3"}), ("#!/usr/bin/env -S A=1 python3 -u", {"env", "python3"}),
                                        ("#! /bin/sh -e", {"sh"}), ("#!/bin/nosuch", None), ("#!/usr/bin/env nosuch", None), ("#!relative", None)])
def test_script_interpreters_come_along(line, needs, put, box):
    put("p/script", f"{line}\n", 0o755)
    opts = ["--ro", f"{box}/p:/p", "--allow", "/p/script"]
    if needs is None:
        c = jar(*opts, "--", "/p/script")
        assert c["status"] == "error" and "needs" in c["error"] and "/p/script" in c["error"], str(c)
        return
    assert {os.path.realpath(f"/usr/bin/{n}") for n in needs} == {p for p, (kind, _) in plan(*opts, "--", "/p/script").items() if kind == "interpreter"}
    jar(*opts, "--", "/p/script").ok()


def test_a_chain_of_scripts(put, box):
    put("p/inner", "#!/usr/bin/python3\nimport sys; print('ran', sys.argv[1])\n", 0o755)
    put("p/outer", "#!/p/inner\n", 0o755)
    opts = ["--ro", f"{box}/p:/p", "--allow", "/p/outer"]
    assert set(plan(*opts, "--", "/p/outer")) == {"/p/outer", "/p/inner", os.path.realpath("/usr/bin/python3"), os.path.realpath(LOADER)}
    assert jar(*opts, "--", "/p/outer").ok()["stdout"] == "ran /p/outer\n"
    put("p/loop", "#!/p/loop\n", 0o755)
    c = jar("--ro", f"{box}/p:/p", "--allow", "/p/loop", "--", "/p/loop")
    assert c["status"] == "error" or c["exit_code"] != 0, str(c)


def test_a_program_of_a_bind(put, box):
    shutil.copy("/usr/bin/cat", box / "mine")
    shutil.copy("/usr/bin/cat", box / "other")
    for f in ("mine", "other"):
        os.chmod(box / f, 0o755)
        own(box / f)
    opts = ["--ro", f"{box}:/b", "--allow", "/b/mine,python3"]
    jar(*opts, "--", "/b/mine", "/dev/null").ok()
    policy(jar(*opts, "--", "/b/other", "/dev/null"), "/b/other")
    policy(jar("--ro", f"{box}:/b", "--allow", "python3", "--", "/b/mine"), "/b/mine")
    c = jar(*opts, "--", "python3", "-c", f"import subprocess; print(subprocess.run(['{LOADER}', '/b/other', '/dev/null']).returncode)")
    assert c["stdout"] == "127\n", str(c)


# ---- where lists come from -----------------------------------------------------------------------

def test_request_objects(put):
    f = put("r.json", json.dumps({"argv": ["cat", "/dev/null"], "allow": ["cat"]}))
    jar("--request", f).ok()
    policy(jar("--request", put("s.json", json.dumps({"argv": ["cat"], "allow": ["ls"]}))), "cat", "allowed: ls")
    policy(jar("--request", put("t.json", json.dumps({"argv": ["cat"], "allow": []}))), "empty")
    c = jar("--request", put("u.json", json.dumps({"argv": ["cat"], "allow": "cat"})))
    assert c["status"] == "error" and "'allow'" in c["error"]


def test_a_request_only_narrows(put):
    f = put("r.json", json.dumps({"argv": ["cat", "/dev/null"], "allow": ["cat", "ls"]}))
    jar("--allow", "cat,git", "--request", f).ok()
    policy(jar("--allow", "git,ls", "--request", f), "cat", "allowed: ls")
    policy(jar("--allow", "git", "--request", f), "no program is allowed")


def test_configuration(box, put):
    config = {"XDG_CONFIG_HOME": str(box)}
    put("belljar/config.yaml", "allow: [cat, ls]\n")
    jar("--", "cat", "/dev/null", env=config).ok()
    policy(jar("--", "true", env=config), "cat, ls")
    jar("--allow", "true", "--", "true", env=config).ok()
    policy(jar("--", "cat", env={**config, "BELLJAR_ALLOW": "ls"}), "allowed: ls")
    assert "cat" in run("config", env=config).stdout
    put("belljar/config.yaml", "allow: []\n")
    policy(jar("--", "cat", env=config), "no program")


def test_a_project_file_only_narrows(box, put):
    put(".belljar.yaml", "allow: [cat, python3]\n")
    jar("--", "cat", "/dev/null", cwd=box).ok()
    policy(jar("--", "true", cwd=box), "cat, python3")
    policy(jar("--allow", "true,cat", "--", "true", cwd=box), "allowed: cat")
    policy(jar("--allow", "true", "--", "true", cwd=box), "no program")


def test_batch():
    with Batch("--allow", "python3,cat") as b:
        r = b.run({"code": "print(1)"})
        assert r["success"] and r["start"] == "cold" and r["isolation"]["programs"] == ["python3", "cat"], r
        r = b.run({"argv": ["true"]})
        assert (r["status"], r["reason"]) == ("error", "policy") and "python3, cat" in r["error"]
        r = b.run({"argv": ["cat", "/dev/null"], "allow": ["cat"]})
        assert r["success"]
        r = b.run({"code": "import subprocess\ntry: subprocess.run(['nc'])\nexcept OSError: print('no')"})
        assert r["stdout"] == "no\n" and r["denied"] == [{"program": "nc", "count": 1}]
        r = b.run({"argv": ["true"], "allow": ["true"]})
        assert (r["status"], r["reason"]) == ("error", "policy")
        r = b.run({"argv": ["cat"], "allow": ["nosuch"]})
        assert r["status"] == "error"
        assert b.close() == 1


# ---- the rest ------------------------------------------------------------------------------------

def test_together_with_the_other_options(box, put):
    put("w/a.txt", "in")
    c = jar("--allow", "python3", "--workspace", str(box / "w"), "-c", "open('b.txt', 'w').write(open('a.txt').read() + ' out')").ok()
    assert (box / "w/b.txt").read_text() == "in out" and c["files"]
    jar("--allow", "cat", "--no-write", "--", "cat", "/dev/null").ok()
    jar("--allow", "cat", "--uid", "0", "--", "cat", "/dev/null").ok()
    got, _ = probe("--allow", "/probe/probe,cat", "--no-write", tries=["load", "exec", "mmap"])
    assert STARTED not in {s for s, _ in got.values()}


def test_without_overlays():
    """Where the kernel refuses overlays, masks are mounts."""
    got, out = probe(*ALLOWED, env={"BELLJAR_UNSAFE_DISABLE": "overlay"}, binary=hooks())
    assert {w: s for w, s in got.items() if s[0] == STARTED} == {}, got
    assert "overlay" in out["isolation"]["missing"]


def test_without_landlock_it_is_refused():
    d = {"BELLJAR_UNSAFE_DISABLE": "landlock_abi"}
    with pytest.raises(AssertionError) as refused:
        probe(*ALLOWED, tries=["exec"], env=d, binary=hooks())
    assert refused.value.args[0]["reason"] == "setup" and "no Landlock" in refused.value.args[0]["error"]
    got, out = probe(*ALLOWED, "--allow-degraded", tries=["exec", "load", "there=/usr/bin/true"], env=d, binary=hooks())
    assert out["isolation"]["missing"].count("landlock") == 1 and STARTED not in {s for s, _ in got.values()}


def test_a_loader_that_cannot_be_guarded_is_refused():
    d = {"BELLJAR_UNSAFE_DISABLE": "loader_room"}
    with pytest.raises(AssertionError) as refused:
        probe(*ALLOWED, tries=["exec"], env=d, binary=hooks())
    assert refused.value.args[0]["reason"] == "setup" and "loader" in refused.value.args[0]["error"]
    _, out = probe(*ALLOWED, "--allow-degraded", tries=["exec"], env=d, binary=hooks())
    assert "loader" in out["isolation"]["missing"]


def test_a_library_can_be_no_interpreter(put):
    """An ELF file without code that names a function of libpython: the loader of an allowed program would call it."""
    libs = sorted(Path("/usr/lib/x86_64-linux-gnu").glob("libpython3.*.so.1.0"))
    if not libs:
        pytest.skip("no libpython here: apt-get install libpython3-dev")
    put("x.s", '.section .init_array,"aw"\n.quad Py_BytesMain\n.section .note.GNU-stack,"",@progbits\n')
    x = put("x.so")
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", str(x), str(x.with_name("x.s")), str(libs[0])], check=True)
    args = ["--file", str(x), "--env", "LD_PRELOAD=/workspace/x.so", "--", "cat", "-c", "print('python')"]
    assert "python" in jar(*args)["stdout"]
    assert jar("--allow", "cat", *args)["stdout"] == ""


def test_what_is_remembered_is_checked(put):
    """The file of programs in the state folder: damaged, it is made anew."""
    cache = harness.state_dir() / "programs"
    jar(*ALLOWED, "--ro", f"{built()}:/probe", "--", "cat", "/dev/null").ok()
    whole = cache.read_bytes()
    assert len(whole) > 1000
    masked = program_in("/usr/lib/x86_64-linux-gnu")
    for bad in (b"", whole[:100], whole[:-1], b"x" * 5000, whole.replace(b"x86_64-linux-gnu", b"y86_64-linux-gnu"), b"\0" * 10**6):
        cache.write_bytes(bad)
        jar("--allow", "cat", "--", "cat", "/dev/null").ok()
        if masked:
            got, _ = probe(*ALLOWED, tries=[f"list={masked}"])
            assert STARTED not in {s for s, _ in got.values()}, bad[:50]


def test_an_interpreter_interprets():
    """What cannot be stopped, so that the page about it stays true: memory that is made executable."""
    code = "import mmap; m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC); print('mapped')"
    assert jar("--allow", "python3", "-c", code).ok()["stdout"] == "mapped\n"


@pytest.mark.skipif(not ROOT or has_sanitizer(), reason="root's build only")
def test_many_starts_do_not_stop_the_watch():
    code = "import os\nwhile True:\n    try: os.execv('/x', ['x'])\n    except OSError: pass"
    c = jar("--allow", "python3", "-t", harness.ms(1500), "-c", code)
    assert c.verdict == "timeout/wall_time"
    assert c["denied"][0]["program"] == "/x"
