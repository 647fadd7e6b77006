# SPDX-License-Identifier: Apache-2.0
"""belljar run: every way to say what to run, in every language that is here."""
import json

import pytest
from harness import bash, jar, ms, need_language, python, run

HELLO = {
    "python": "import sys; print('hello', 6*7, *sys.argv[1:])",
    "bash": 'echo hello $((6*7)) "$@"',
    "node": "console.log('hello', 6*7, ...process.argv.slice(2))",
    "c": '#include <stdio.h>\nint main(int c,char**v){printf("hello %d",6*7);for(int i=1;i<c;i++)printf(" %s",v[i]);puts("");return 0;}',
    "cpp": '#include <iostream>\nint main(int c,char**v){std::cout<<"hello "<<6*7;for(int i=1;i<c;i++)std::cout<<" "<<v[i];std::cout<<std::endl;}',
    "java": 'public class Main{public static void main(String[] a){System.out.println("hello "+6*7+(a.length>0?" "+String.join(" ",a):""));}}',
    "perl": "print join(' ', 'hello', 6*7, @ARGV), \"\\n\";",
    "go": 'package main\nimport ("fmt";"os";"strings")\nfunc main(){fmt.Println(strings.Join(append([]string{"hello",fmt.Sprint(6*7)},os.Args[1:]...)," "))}',
    "rust": 'fn main(){let a:Vec<String>=std::env::args().skip(1).collect();println!("hello {}{}",6*7,a.iter().map(|s|format!(" {}",s)).collect::<String>());}',
    "ruby": "puts (['hello', 6*7] + ARGV).join(' ')",
    "lua": "io.write('hello ', 6*7); for _, a in ipairs(arg) do io.write(' ', a) end; print()",
    "php": "<?php echo implode(' ', array_merge(['hello', 6*7], array_slice($argv, 1))), \"\\n\";",
    "typescript": "const n: number = 6*7; console.log('hello', n, ...process.argv.slice(2))",
}
ENDINGS = {"python": "py", "bash": "sh", "node": "js", "c": "c", "cpp": "cpp", "java": "java", "perl": "pl", "go": "go",
           "rust": "rs", "ruby": "rb", "lua": "lua", "php": "php", "typescript": "ts"}
ROOM = {"java": ["-m", "1G"], "go": ["-m", "1G", "--disk", "300M"], "rust": ["-m", "1G", "--disk", "300M"]}


def test_the_line_of_the_issue():
    c = run("run", "--json", "-c", "print(6*7)", "--lang", "python").ok()
    assert (c["status"], c["reason"], c["stdout"], c["exit_code"]) == ("completed", "exited", "42\n", 0)
    iso = c["isolation"]
    assert {"user", "mount", "pid", "net", "ipc", "uts", "cgroup"} <= set(iso["namespaces"])
    assert iso["seccomp"] and iso["no_new_privs"] is True and iso["network"] == "none"
    assert iso["host_uid"] != 0 and iso["cgroup"] in ("v1", "v2", "hybrid", "none")
    assert c.err == b""


@pytest.mark.parametrize("name", HELLO)
def test_language_as_code(name):
    need_language(name)
    c = jar("-t", ms(60000), *ROOM.get(name, []), "-c", HELLO[name], "--lang", name, "--arg", "a", "--arg", "b c").ok()
    assert (c["stdout"], c["stderr"], c["language"]) == ("hello 42 a b c\n", "", name)


@pytest.mark.parametrize("name", HELLO)
def test_language_by_ending(name, put):
    need_language(name)
    file = put(f"Main.{ENDINGS[name]}", HELLO[name])
    c = jar("-t", ms(60000), *ROOM.get(name, []), file).ok()
    assert (c["stdout"], c["language"]) == ("hello 42\n", name)


@pytest.mark.parametrize("ending,code,language", [
    ("bash", "echo x", "bash"), ("mjs", "import fs from 'fs'; console.log('x')", "node"),
    ("cjs", "require('fs'); console.log('x')", "node"), ("cc", "#include <cstdio>\nint main(){puts(\"x\");}", "cpp"),
    ("cxx", "#include <cstdio>\nint main(){puts(\"x\");}", "cpp"), ("PY", "print('x')", "python"),
])
def test_other_endings(ending, code, language, put):
    need_language(language)
    c = jar(put(f"f.{ending}", code)).ok()
    assert (c["stdout"], c["language"]) == ("x\n", language)


@pytest.mark.parametrize("alias,name", [("py", "python"), ("python3", "python"), ("Python", "python"), ("js", "node"), ("javascript", "node"),
                                        ("sh", "bash"), ("c++", "cpp"), ("g++", "cpp"), ("gcc", "c"), ("pl", "perl")])
def test_alias(alias, name):
    need_language(name)
    c = run("run", "--dry-run", "-c", HELLO[name], "--lang", alias)
    assert c.rc == 0 and c["language"] == name, str(c)


@pytest.mark.parametrize("line,name", [
    ("#!/usr/bin/python3", "python"), ("#!/usr/bin/env python3", "python"), ("#!/usr/bin/env -S python3 -u", "python"),
    ("#! /usr/bin/python3 -E", "python"), ("#!/bin/sh", "bash"), ("#!/bin/bash -e", "bash"), ("#!/usr/bin/env node", "node"),
    ("#!/usr/bin/perl -w", "perl"),
])
@pytest.mark.parametrize("file", ["script", "script.unknown"])
def test_by_shebang(line, name, file, put):
    need_language(name)
    c = jar(put(file, f"{line}\n{HELLO[name]}\n")).ok()
    assert (c["stdout"], c["language"]) == ("hello 42\n", name)


def test_shebang_with_windows_line_end(put):
    c = jar(put("script", "#!/usr/bin/env python3\r\nprint('x')\r\n")).ok()
    assert c["stdout"] == "x\n"


def test_ending_wins_over_shebang(put):
    assert jar(put("f.sh", "#!/usr/bin/python3\necho shell\n")).ok()["stdout"] == "shell\n"


def test_lang_wins_over_ending(put):
    assert jar("--lang", "bash", put("f.py", "echo shell\n")).ok()["stdout"] == "shell\n"


def test_code_from_stdin():
    assert jar("-", input=b"print('from stdin')").ok()["stdout"] == "from stdin\n"
    assert jar("--lang", "bash", "-", input=b"echo from stdin").ok()["stdout"] == "from stdin\n"


def test_empty_code_from_stdin_is_an_empty_program():
    assert jar("-", input=b"").ok()["stdout"] == ""


def test_code_is_not_the_programs_stdin():
    assert jar("-", input=b"import sys; print(repr(sys.stdin.read()))").ok()["stdout"] == "''\n"


def test_name_of_the_code_file_is_kept(put):
    c = jar(put("odd name-ü.py", "import sys; print(sys.argv[0])")).ok()
    assert c["stdout"] == "/workspace/odd name-ü.py\n"


@pytest.mark.parametrize("argv,out", [
    (["/bin/echo", "a", "b c", ""], "a b c \n"), (["echo", "by PATH"], "by PATH\n"), (["python3", "-c", "print(1)"], "1\n"),
    (["printf", "%s|", "--json", "-c", "--"], "--json|-c|--|"),
])
def test_program(argv, out):
    c = jar("--", *argv).ok()
    assert c["stdout"] == out and c["language"] is None and c["command"] == argv


def test_program_with_args_appended():
    assert jar("--arg", "x", "--", "echo", "a").ok()["stdout"] == "a x\n"


def test_python_is_the_systems():
    c = python("import sys; print(sys.executable, sys.flags.isolated)", env={"PATH": "/nowhere", "PYTHONPATH": "/evil", "PYTHONHOME": "/evil"})
    assert c.ok()["stdout"].startswith("/usr/bin/python3 ")


def test_environment_is_short_and_clean():
    c = python("import os, json; print(json.dumps(dict(os.environ)))", env={"SECRET": "s", "LD_PRELOAD": "", "BELLJAR_QUIET": "1"})
    env = json.loads(c.ok()["stdout"])
    assert env.pop("PATH").endswith("/usr/bin:/sbin:/bin")
    env.pop("LC_CTYPE", None)
    assert env == {"SANDBOX_MODE": "1", "HOME": "/home/guest", "LANG": "C.UTF-8", "TMPDIR": "/tmp", "LSAN_OPTIONS": "detect_leaks=0", "PYTHONDONTWRITEBYTECODE": "1",
                   "PYTHONUNBUFFERED": "1"}


def test_workspace_is_cwd_and_writable_and_home_too():
    c = bash("pwd; echo 1 > f && echo 2 > ~/g && echo 3 > /tmp/h && cat f ~/g /tmp/h; echo $HOME")
    assert c.ok()["stdout"] == "/workspace\n1\n2\n3\n/home/guest\n"


@pytest.mark.parametrize("path", ["/x", "/usr/x", "/etc/x", "/home/x", "/var/x", "/run/x", "/dev/x"])
def test_rest_is_read_only(path):
    c = bash(f"echo x > {path}")
    assert c["exit_code"] == 1 and c["status"] == "completed"


def test_live_output_without_json():
    c = run("run", "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (c.rc, c.out) == (3, b"out\n")
    assert c.stderr.startswith("err\n")


def test_quiet_and_verbose():
    loud = run("run", "--verbose", "--", "true")
    assert loud.rc == 0 and "completed (exited): exit code 0" in loud.stderr
    quiet = run("run", "--quiet", "-t", "200ms", "--", "sleep", "30")
    assert quiet.rc == 124 and quiet.err == b""


def test_id_and_client_are_echoed():
    c = jar("--id", "my run", "--client", "häns", "--", "true").ok()
    assert (c["id"], c["client"]) == ("my run", "häns")


def test_execution_ids_differ():
    ids = [jar("--", "true")["execution_id"] for _ in range(3)]
    assert len(set(ids)) == 3 and all(len(i) >= 13 and i.startswith("exec-") for i in ids)
