# SPDX-License-Identifier: Apache-2.0
"""Compiled languages: two limited steps, each with its own result."""
import pytest
from harness import jar, ms, need, need_language, own, run, seconds


@pytest.fixture(autouse=True)
def compilers():
    need_language("c")
    need_language("cpp")


C_OK = "#include <stdio.h>\nint main(void){puts(\"ran\");return 7;}"


def test_two_results():
    c = jar("-c", C_OK, "--lang", "c")
    assert c.verdict == "completed/exited" and c["exit_code"] == 7 and c.rc == 7
    step = c["compile"]
    assert (step["status"], step["reason"], step["exit_code"], step["success"]) == ("completed", "exited", 0, True)
    assert step["command"][0].endswith("gcc") and not any("gcc" in w for w in c["command"])
    assert step["evidence"]["cpu_ns"] > 0 and step["elapsed_s"] > 0
    assert c["stdout"] == "ran\n" and step["stdout"] == ""


def test_warnings_of_the_compiler_are_not_the_programs_output():
    c = jar("-c", '#warning "watch out"\n' + C_OK, "--lang", "c")
    assert "watch out" in c["compile"]["stderr"] and c["stderr"] == "" and c["stdout"] == "ran\n"


@pytest.mark.parametrize("lang,code", [
    ("c", "int main(void){ return nothing; }"), ("cpp", "int main(){ std::string s; }"), ("c", "#include \"missing.h\"\nint main(void){}"),
    ("c", "int helper(void){return 0;}"),  # does not link
    ("c", ""),
])
def test_compile_error(lang, code):
    c = jar("-c", code, "--lang", lang) if code else jar("--lang", lang, "-", input=b"")
    assert c.verdict == "error/syntax" and c.rc == 125, str(c)
    assert c["exit_code"] is None and c["success"] is False
    assert c["error"] and c["hint"]
    assert c["compile"]["status"] == "completed" and c["compile"]["exit_code"] == 1 and c["compile"]["stderr"]


def test_compile_error_on_the_terminal_shows_the_compilers_words():
    c = run("run", "-c", "int main(void){ return nothing; }", "--lang", "c")
    assert c.rc == 125 and "nothing" in c.stderr and "error: it does not compile" in c.stderr


def test_compiler_that_reads_for_ever_is_limited():
    c = jar("-t", ms(3000), "-c", '#include "/dev/zero"\nint main(void){}', "--lang", "c")
    assert c["status"] in ("timeout", "killed", "error") and c["success"] is False and c["exit_code"] is None
    assert c["compile"]["success"] is False
    if c["status"] != "error":
        assert "compil" in c["error"] and c["hint"]


BOMB = """
template<int N> struct T { static constexpr unsigned long v = T<N-1>::v + T<N-2>::v + N; };
template<int A, int B> struct U { using x = U<A-1, B*2>; using y = U<A-1, B*2+1>; static constexpr int v = x::v + y::v; };
template<int B> struct U<0, B> { static constexpr int v = 1; };
int main(){ return U<22, 1>::v; }
"""


def test_template_bomb_is_a_timeout_of_the_compile_step():
    c = jar("-t", ms(1000), "-m", "1G", "-c", BOMB, "--lang", "cpp")
    assert c.verdict in ("timeout/wall_time", "killed/memory"), str(c)
    assert c["error"].startswith("while compiling") and c["compile"]["reason"] == c["reason"]


def test_compiler_out_of_memory_is_memory():
    need("cgroup-memory")
    c = jar("-t", ms(60000), "-m", "512M", "-c", "char x[1<<30] = {1};\nint main(){}", "--lang", "c", "--disk", "2G")
    assert c["status"] in ("killed", "error") and c["success"] is False
    assert "memory" in c["limits_hit"] and c["compile"]["oom_kills"] >= 1, str(c)


def test_compiler_leaves_no_process_for_the_program():
    """The compile step's leftovers are dead before the program starts."""
    c = jar("-c", '#include <stdio.h>\n#include <dirent.h>\n#include <ctype.h>\nint main(void){DIR*d=opendir("/proc");struct dirent*e;int n=0;'
            'while((e=readdir(d)))n+=!!isdigit(e->d_name[0]);printf("%d\\n",n);return 0;}', "--lang", "c").ok()
    assert int(c["stdout"]) <= 2


def test_limits_of_the_run_step_hold_after_compiling():
    need("cgroup-memory")
    c = jar("-m", "32M", "-c", "#include <stdlib.h>\n#include <string.h>\nint main(void){for(;;)memset(malloc(1<<20),1,1<<20);}", "--lang", "c")
    assert c.verdict == "killed/memory" and c["compile"]["success"] is True
    assert c["oom_kills"] >= 1 and c["compile"]["oom_kills"] == 0


def test_stdin_goes_to_the_program_not_to_the_compiler():
    c = jar("--stdin", "-", "-c", "#include <stdio.h>\nint main(void){int n=0;while(getchar()!=EOF)n++;printf(\"%d\\n\",n);return 0;}",
            "--lang", "c", input=b"x" * 100000).ok()
    assert c["stdout"] == "100000\n"


def test_interpreted_languages_have_no_compile_object():
    assert "compile" not in jar("-c", "1").ok().result


@pytest.fixture
def shell_compiler(box):
    """A language whose compiler is the source itself, as a shell script."""
    d = box / "belljar" / "languages"
    d.mkdir(parents=True)
    (d / "shc.yaml").write_text("name: shc\ntitle: shc\nendings: [.shc]\nfile: main.shc\ncompile: [/bin/sh, \"{file}\", \"{out}\"]\nrun: [\"{out}\"]\n"
                                "version: [/bin/sh, --version]\nprogram: /bin/sh\npackage: dash\n")
    for p in (d, d.parent, d / "shc.yaml"):
        own(p)
    return lambda code, *opts: jar("-t", ms(60000), *opts, "--lang", "shc", "-c", code, env={"XDG_CONFIG_HOME": box})


PROGRAM = "printf '#!/bin/sh\\nsleep .3; echo ran\\n' > $1; chmod +x $1\n"


def test_last_words_of_the_compiler_are_whole(shell_compiler):
    """What the compiler wrote just before its end is in its result, although somebody else holds the pipe open and nobody will close it."""
    for _ in range(5):
        c = shell_compiler(PROGRAM + "sleep 60 &\nhead -c 60000 /dev/zero | tr '\\0' x\necho last >&2").ok()
        step = c["compile"]
        assert step["stdout_bytes"] == 60000 and step["stderr"] == "last\n" and c["stdout"] == "ran\n" and c.wall < seconds(20), str(c)


def test_noise_after_the_compiler_is_not_the_programs(shell_compiler):
    """A process that the compiler left, and that writes on and on: it delays nothing, and none of it is in the program's output."""
    c = shell_compiler(PROGRAM + "(while :; do echo noise; echo noise >&2; done) &\nsleep .2; echo done", "--output-log", "900M").ok()
    assert c["stdout"] == "ran\n" and c["stderr"] == "" and "noise" in c["compile"]["stdout"] and c.wall < seconds(20), str(c)
