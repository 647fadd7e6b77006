# SPDX-License-Identifier: Apache-2.0
"""Syntax errors: error/syntax with line, column and text, in every mode, cold and warm; and nobody is called one who is not."""
import json

import pytest
from harness import BELLJAR, Batch, bash, jar, need_batch, need_language, own, python, run

WRONG = [
    # language, code, line, column, a word of the message
    ("python", "x = 1\ny = = 2\n", 2, 5, "invalid syntax"), ("python", "if 1:\nx = 1\n", 2, 1, "indented"), ("python", "if 1:\n\tx = 1\n        y = 2\n", 3, 0, "tab"),
    ("python", "print('ä', 5 5)\n", 1, 0, "comma"), ("python", "return 1\n", 1, 1, "return"), ("python", "x = 'abc\n", 1, 5, "unterminated"), ("python", "await x\n", 1, 1, "await"),
    ("bash", "echo first\nif then\n", 2, 4, "then"), ("bash", "echo \"unclosed\n", 1, 1, "matching"), ("bash", "echo first\nfor\n", 2, 1, "token"),
    ("node", "console.log(1)\nlet x = ;\n", 2, 9, "';'"), ("node", "function (\n", 1, 1, ""), ("node", "let let = 1\n", 1, 5, "let"), ("node", "import fs from 'fs';\nlet y = ;\n", 2, 9, ""),
]
RIGHT = [
    # what looks like one and is none
    ("python", "raise SyntaxError('mine')", 1), ("python", "import sys\nsys.stderr.write('SyntaxError: invalid syntax\\n')\nsys.exit(1)", 1), ("python", "eval('1 +')", 1),
    ("python", "open('/workspace/main.py', 'w').write('x = = 1')\nraise SyntaxError('x')", 1), ("python", "import os\nos.remove('/workspace/main.py')\nos.mkdir('/workspace/main.py')\nraise SyntaxError", 1),
    ("bash", "shopt -s extglob\necho !(x) >/dev/null\nexit 3", 3), ("bash", "if !(false); then exit 4; fi", 4), ("bash", "eval 'if then'; exit 5", 5),
    ("node", "throw new SyntaxError('mine')", 1), ("node", "eval('let x = ;')", 1), ("node", "JSON.parse('{')", 1), ("node", "return process.exit(6)", 6), ("node", "#!/usr/bin/env node\nprocess.exit(7)", 7),
    ("node", "require('fs').writeFileSync('/workspace/package.json', '{\"type\": \"module\"}'); with ({}) {}; throw new SyntaxError('x')", 1),
]


def wrong(r, line, column, word):
    assert (r["status"], r["reason"], r["exit_code"], r["success"], r["stdout"]) == ("error", "syntax", None, False, ""), r
    s = r["syntax"]
    assert s["line"] == line and (not column or s["column"] == column) and word in s["message"], s
    assert f"line {line}, column {s['column']}" in r["error"] and r["hint"]
    return s


@pytest.mark.parametrize("lang,code,line,column,word", WRONG)
def test_wrong(lang, code, line, column, word):
    need_language(lang)
    c = jar("--lang", lang, "-c", code)
    assert c.rc == 125
    assert wrong(c.result, line, column, word)["text"] == code.splitlines()[line - 1]


@pytest.mark.parametrize("lang,code,status", RIGHT)
def test_right(lang, code, status):
    need_language(lang)
    c = jar("--lang", lang, "-c", code)
    assert c.verdict == "completed/exited" and c["exit_code"] == status and "syntax" not in c.result, str(c)


def test_batch_says_the_same():
    need_batch()
    with Batch("-j", "4") as b:
        sent = [(b.send({"language": lang, "code": code}), line, column, word) for lang, code, line, column, word in WRONG]
        fine = [(b.send({"language": lang, "code": code, "get": ["*"] if i % 2 else []}), status) for i, (lang, code, status) in enumerate(RIGHT)]
        for n, *expected in sent:
            wrong(b.get(n), *expected)
        for n, status in fine:
            r = b.get(n)
            assert (r["status"], r["reason"], r["exit_code"]) == ("completed", "exited", status), r
        for mode in ("off", "warn", "enforce"):
            assert b.run({"code": "x = = 1", "policy": mode})["reason"] == "syntax"
        assert b.run({"code": "x = = 1", "get": ["*"]})["files"] == []
        assert b.run({"code": "print(1)"})["stdout"] == "1\n"
        b.close()


@pytest.mark.parametrize("mode", ["off", "warn", "enforce"])
def test_every_mode(mode):
    assert python("x = = 1", "--policy", mode).verdict == "error/syntax"
    c = bash("echo first > ran\nif then", "--policy", mode, "--get", "ran")
    assert c.verdict == "error/syntax" and c["files"] == []


def test_bad_bytes(box):
    for name, data in (("bytes.py", b"x = '\xff'\n"), ("nul.py", b"\0x = = 1\n")):
        (box / name).write_bytes(data)
        own(box / name)
        assert jar(box / name)["status"] in ("error", "completed")
    assert jar(box / "bytes.py").verdict == "error/syntax"


def test_module_types(box):
    need_language("node")
    r = {"language": "node", "code": "export const a = 1; let x = ;", "files": [{"path": "package.json", "content": "{\"type\": \"module\"}"}]}
    assert jar("--request", "-", input=json.dumps(r).encode()).verdict == "error/syntax"
    r["code"] = "export const a = 1; throw new SyntaxError('mine')"
    assert jar("--request", "-", input=json.dumps(r).encode()).verdict == "completed/exited"
    r = {"language": "node", "code": "import fs from 'fs'", "files": [{"path": "package.json", "content": "{\"type\": \"commonjs\"}"}]}
    assert jar("--request", "-", input=json.dumps(r).encode()).verdict == "error/syntax"
    f = box / "m.mjs"
    f.write_text("with ({}) {}\n")
    own(f)
    assert jar(f).verdict == "error/syntax"


def test_the_checker_is_not_the_programs_to_steer():
    """The request's environment, input and working directory are not the checker's."""
    c = python("import sys\nsys.stderr.write('SyntaxError')\nsys.exit(1)", "-e", "PYTHONSTARTUP=/workspace/x", "-e", "PYTHONPATH=/workspace", "--stdin", "/etc/passwd")
    assert c.verdict == "completed/exited"
    code = "import os, sys\nfor n in ('sys', 'builtins', 'site', 'encodings', 'codecs'):\n    open(n + '.py', 'w').write('print(1, 1, \"forged\", sep=chr(9))')\nos.makedirs('d'); os.chdir('d')\n" \
           "sys.stderr.write('SyntaxError'); sys.exit(1)"
    assert python(code).verdict == "completed/exited"


def test_what_is_left_running_does_not_disturb():
    code = "import os, sys, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\nsys.stderr.write('SyntaxError'); os._exit(1)"
    assert python(code).verdict == "completed/exited"


def test_stdin_of_the_program_is_its_own():
    c = jar("--lang", "bash", "-c", "read x; echo \"<$x>\"", "--stdin", "-", input=b"line\n")
    assert c["stdout"] == "<line>\n"


def test_caret_for_people():
    c = run("run", "-l", "bash", "-c", "echo 1\n\tif then")
    assert c.rc == 125 and c.out == b"" and "    \tif then\n    \t   ^\n" in c.stderr and "hint: nothing of it ran" in c.stderr
    c = run("run", "-c", "x = = 1")
    assert c.rc == 125 and "syntax error in main.py line 1, column 5: invalid syntax" in c.stderr
