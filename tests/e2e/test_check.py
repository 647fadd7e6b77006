# SPDX-License-Identifier: Apache-2.0
"""The static check: what is found, what is not, what `enforce` refuses, and that hostile text costs nothing but itself.

CAUGHT and CLEAN are rows: (language, sets of rules, code, rules that are found). All of them go through one call of `belljar check`.
"""
import json
import os
import re

import pytest
from harness import BASE, Batch, bash, jar, need_batch, need_language, own, python, run

ENDING = {"python": ".py", "bash": ".sh", "javascript": ".js"}

CAUGHT = [
    # every item of the design's list
    ("python", "standard", "import os\nos.system('x')", "py-shell"), ("python", "standard", "import os\nos.popen('x')", "py-shell"),
    ("python", "standard", "import os\nos.execv('a', [])\nos.execlp('a', 'b')", "py-exec-program"), ("python", "standard", "import os\nos.spawnl(0, 'a')", "py-exec-program"),
    ("python", "standard", "import subprocess", "py-subprocess"), ("python", "standard", "import shutil\nshutil.rmtree('a')", "py-rmtree"),
    ("python", "standard", "__import__('math')", "py-import-function"), ("python", "standard", "eval('1')", "py-eval"), ("python", "standard", "exec('1')", "py-eval"),
    ("python", "standard", "compile('1', 'a', 'eval')", "py-compile"), ("python", "standard", "import importlib\nimportlib.import_module('x')", "py-import-module"),
    ("python", "standard", "import ctypes", "py-ctypes"), ("python", "standard", "import os\nos.remove('a')", "py-remove"), ("python", "standard", "import os\nos.unlink('a')", "py-remove"),
    ("python", "standard", "import os\nos.rmdir('a')", "py-remove"), ("python", "standard", "import socket", "py-socket"), ("python", "standard", "import requests", "py-http"),
    ("python", "standard", "import urllib.request", "py-http"), ("python", "strict", "import urllib.parse", "py-http-all"), ("python", "standard", "import http.client", "py-http"),
    ("python", "strict", "import http", "py-http-all"), ("python", "standard", "import ftplib", "py-http"), ("python", "standard", "open('a', 'w')", "py-open-write"),
    ("python", "standard", "open('a', mode='ab')", "py-open-write"), ("python", "strict", "open('a', m)", "py-open-unknown"), ("python", "standard", "import pty", "py-pty"),
    ("python", "standard", "import multiprocessing.pool", "py-multiprocessing"), ("python", "pure", "open('a')", "py-pure-open"), ("python", "pure", "import os", "py-pure-modules"),
    ("python", "pure", "import sys", "py-pure-modules"), ("python", "pure", "import shutil", "py-pure-modules"),
    ("bash", "standard", "rm -rf /", "sh-rm-root"), ("bash", "standard", "mkfs.ext4 /dev/sda1", "sh-mkfs"), ("bash", "standard", "dd if=/dev/zero of=x", "sh-dd"),
    ("bash", "standard", "echo x > /dev/sda", "sh-device"), ("bash", "standard", "chmod -R 777 .", "sh-chmod-777"), ("bash", "standard", "wget x", "sh-download"),
    ("bash", "standard", "curl x", "sh-download"), ("bash", "standard", "nc -l 1", "sh-network"), ("bash", "standard", "telnet x", "sh-network"),
    ("javascript", "standard", "require('child_process')", "js-child-process"), ("javascript", "standard", "require('net')", "js-network"), ("javascript", "standard", "eval('1')", "js-eval"),
    ("javascript", "standard", "new Function('1')", "js-function"), ("javascript", "standard", "Function('1')()", "js-function"),
    ("javascript", "standard", "require('fs').writeFileSync('a', 'b')", "js-fs-write"), ("javascript", "standard", "process.binding('fs')", "js-binding"),
    # Python: names that are other names
    ("python", "standard", "import os as o\no.system('x')", "py-shell"), ("python", "standard", "from os import system\nsystem('x')", "py-shell"),
    ("python", "standard", "from os import system as s\ns('x')", "py-shell"), ("python", "standard", "from os import *\nsystem('x')", "py-shell"),
    ("python", "standard", "import os\nf = os.system\nf('x')", "py-shell"), ("python", "standard", "import os\na = b = os\na.system('x')", "py-shell"),
    ("python", "standard", "import os\na, b = os.system, 1\na('x')", "py-shell"), ("python", "standard", "import os\nif (f := os.system): f('x')", "py-shell"),
    ("python", "standard", "__import__('os').system('x')", "py-shell"), ("python", "standard", "import importlib as i\ni.import_module('o' + 's').system('x')", "py-shell"),
    ("python", "standard", "import os\ngetattr(os, 'sys' + 'tem')('x')", "py-shell"), ("python", "standard", "import os\ngetattr(os, f'sys{\"tem\"}')('x')", "py-shell"),
    ("python", "standard", "import os\ngetattr(os, ''.join(['s', 'ys', 'tem']))('x')", "py-shell"), ("python", "standard", "import os\ngetattr(os, 'metsys'[::-1])('x')", "py-shell"),
    ("python", "standard", "import os\ngetattr(os, chr(115) + 'ystem')('x')", "py-shell"), ("python", "standard", "import os\ngetattr(os, '\\x73ystem')('x')", "py-shell"),
    ("python", "standard", "import os\ngetattr(os, 'SYSTEM'.lower())('x')", "py-shell"), ("python", "standard", "import os\ngetattr(os, bytes.fromhex('73797374656d').decode())('x')", "py-shell"),
    ("python", "standard", "import os, base64\ngetattr(os, base64.b64decode('c3lzdGVt').decode())('x')", "py-shell"),
    ("python", "standard", "import os\ngetattr(os, 'sXysXtem'.replace('X', ''))('x')", "py-shell"), ("python", "standard", "import os\nos.__dict__['system']('x')", "py-shell"),
    ("python", "standard", "import os\nvars(os)['system']('x')", "py-shell"), ("python", "standard", "import sys\nsys.modules['os'].system('x')", "py-shell"),
    ("python", "standard", "import os\nos.__getattribute__('system')('x')", "py-shell"), ("python", "standard", "import operator, os\noperator.attrgetter('system')(os)('x')", "py-shell"),
    ("python", "standard", "import shutil\nshutil.os.system('x')", "py-shell"), ("python", "standard", "import random\nrandom._os.system('x')", "py-shell"),
    ("python", "standard", "import os\nos.system.__call__('x')", "py-shell"), ("python", "standard", "import os\nlist(map(os.system, ['x']))", "py-shell"),
    ("python", "standard", "import os\nt = {'a': os.system}\nt['a']('x')", "py-shell"), ("python", "standard", "import os\nclass A:\n    s = os.system\nA.s('x')", "py-shell"),
    ("python", "standard", "import os\ndef f(s=os.system):\n    s('x')", "py-shell"), ("python", "standard", "import os\nself.s = os.system", "py-shell"),
    ("python", "standard", "import os\nf = lambda: os.system\nf()('x')", "py-shell"), ("python", "standard", "import os\n@os.system\ndef f(): pass", "py-shell"),
    ("python", "standard", "def f():\n    g('x')\nimport os\ng = os.system", "py-shell"), ("python", "standard", "import os\nx = os if a else None\nx.system('y')", "py-shell"),
    ("python", "standard", "import builtins\nbuiltins.eval('1')", "py-eval"), ("python", "standard", "__builtins__.eval('1')", "py-eval"),
    ("python", "standard", "__builtins__['eval']('1')", "py-eval"), ("python", "standard", "globals()['__builtins__']['eval']('1')", "py-eval"),
    ("python", "standard", "globals()['eval']('1')", "py-eval"), ("python", "standard", "e = eval\ne('1')", "py-eval"), ("python", "standard", "(lambda: 0).__globals__['__builtins__'].eval('1')", "py-eval"),
    ("python", "standard", "if 0:\n    def eval(x): pass\neval('1')", "py-eval"), ("python", "standard", "eval('1')\ndef eval(x): pass", "py-eval"),
    ("python", "standard", "def eval(x): pass\ndel eval\neval('1')", "py-eval"), ("python", "standard", "class A:\n    def eval(self): eval('1')", "py-eval"),
    ("python", "standard", "try:\n    import foo\nexcept ImportError:\n    import subprocess as foo", "py-subprocess"), ("python", "standard", "import os\ngetattr(os, x)()", "py-computed-name-module"),
    ("python", "strict", "globals()[x]('1')", "py-computed-name"), ("python", "strict", "().__class__.__base__.__subclasses__()", "py-introspection"),
    ("python", "standard", "import os\nos . \\\n  system('x')", "py-shell"), ("python", "standard", "import os\n(os).system('x')", "py-shell"), ("python", "standard", "import  os . path  as p\np.os.system('x')", "py-shell"),
    ("python", "standard", "𝐞𝐯𝐚𝐥('1')", "py-eval"), ("python", "standard", "import ｏｓ\nｏｓ.ſystem('x')", "py-shell"), ("python", "standard", "import os\ns = 'sys'\ns += 'tem'\ngetattr(os, s)('x')", "py-shell"),
    ("python", "standard", "import os\ns = 'path'\ns = f()\ngetattr(os, s)('x')", "py-computed-name-module"), ("python", "standard", "import os\nsetattr(a, 'b', os.system)", "py-shell"),
    ("python", "standard", "def f():\n    global eval\n    eval = print\neval('x')", "py-eval"), ("python", "standard", "type('A', (), {'s': __import__('os').system}).s('x')", "py-shell"),
    ("python", "standard", "import os\nprint(f\"{os.system('x')}\")", "py-shell"), ("python", "standard", "import posix\nposix.system('x')", "py-exec-program"),
    ("python", "standard", "import sys\nsys.modules.get('os').system('x')", "py-shell"), ("python", "standard", "from os import system as open\nopen('x')", "py-shell"),
    # bash: words that are other words
    ("bash", "standard", "c\\url x", "sh-download"), ("bash", "standard", "c'ur'l x", "sh-download"), ("bash", "standard", "\"cu\"\"rl\" x", "sh-download"), ("bash", "standard", "$'\\x63url' x", "sh-download"),
    ("bash", "standard", "/usr/bin/curl x", "sh-download"), ("bash", "standard", "\"$(command -v curl)\" x", "sh-download"), ("bash", "standard", "`which curl` x", "sh-download"),
    ("bash", "standard", "env A=1 curl x", "sh-download"), ("bash", "standard", "sudo -u me curl x", "sh-download"), ("bash", "standard", "exec curl x", "sh-download"),
    ("bash", "standard", "echo x | xargs -n 1 curl", "sh-download"), ("bash", "standard", "eval \"curl x\"", "sh-download"), ("bash", "standard", "bash -c 'curl x'", "sh-download"),
    ("bash", "standard", "sh -ec \"bash -c 'curl x'\"", "sh-download"), ("bash", "standard", "C=curl; $C x", "sh-download"), ("bash", "standard", "C='curl -s'; $C x", "sh-download"),
    ("bash", "standard", "A=cu; B=rl; $A$B x", "sh-download"), ("bash", "standard", "${C:-curl} x", "sh-download"), ("bash", "standard", "for c in wget curl; do $c x; done", "sh-download"),
    ("bash", "standard", "timeout 5 nice -n 3 curl x", "sh-download"), ("bash", "standard", "find . -exec curl {} \\;", "sh-download"), ("bash", "standard", "bash <<'E'\ncurl x\nE", "sh-download"),
    ("bash", "standard", "bash <<< 'curl x'", "sh-download"), ("bash", "standard", "echo 'curl x' | sh", "sh-download sh-pipe-shell"), ("bash", "standard", "trap 'curl x' EXIT", "sh-download"),
    ("bash", "standard", "/usr/bin/cur? x", "sh-download"), ("bash", "standard", "x=$(curl y)", "sh-download"), ("bash", "standard", "cat <(curl y)", "sh-download"), ("bash", "standard", "if true; then\n  (curl x)\nfi", "sh-download"),
    ("bash", "standard", "f() { curl x; }", "sh-download"), ("bash", "standard", "curl() { :; }\ncommand curl x", "sh-download"), ("bash", "standard", "if false; then curl() { :; }; fi; curl x", "sh-download"),
    ("bash", "standard", "exec 3<>/dev/tcp/1.2.3.4/80", "sh-dev-tcp"), ("bash", "standard", "rm -r -f /*", "sh-rm-root"), ("bash", "standard", "rm --recursive --force /", "sh-rm-root"),
    ("bash", "standard", "rm -fR \"$HOME\"", "sh-rm-root"), ("bash", "standard", "D=/dev/sda; echo x >> $D", "sh-device"), ("bash", "standard", "echo x | tee /dev/nvme0n1", "sh-device-command"),
    ("bash", "standard", "find / -delete", "sh-find-root"), ("bash", "standard", "rm -rf ${Z:-/}", "sh-rm-root"), ("bash", "standard", "cat <<E\n$(curl x)\nE", "sh-download"),
    ("bash", "standard", "echo Y3VybCB4 | base64 -d | bash", "sh-pipe-shell"), ("bash", "standard", "nohup bash -c 'exec curl x' &", "sh-download"), ("bash", "standard", "bash -c \"$(echo curl x)\"", "sh-download"),
    # JavaScript
    ("javascript", "standard", "const {exec: e} = require('child_process'); e('x')", "js-child-process"), ("javascript", "standard", "import {exec as e} from 'node:child_process'", "js-child-process"),
    ("javascript", "standard", "import cp from 'child_process'", "js-child-process"), ("javascript", "standard", "require('child' + '_process')", "js-child-process"),
    ("javascript", "standard", "require(`child_${'process'}`)", "js-child-process"), ("javascript", "standard", "require(['child', 'process'].join('_'))", "js-child-process"),
    ("javascript", "standard", "const r = require; r('child_process')", "js-child-process"), ("javascript", "standard", "import('child_process').then(x => x)", "js-child-process"),
    ("javascript", "standard", "module.require('child_process')", "js-child-process"), ("javascript", "standard", "process.mainModule.require('child_process')", "js-child-process"),
    ("javascript", "standard", "require('module').createRequire(__filename)('child_process')", "js-child-process"), ("javascript", "standard", "process.getBuiltinModule('child_process')", "js-child-process"),
    ("javascript", "standard", "require(atob('Y2hpbGRfcHJvY2Vzcw=='))", "js-child-process"), ("javascript", "standard", "require(Buffer.from('Y2hpbGRfcHJvY2Vzcw==', 'base64').toString())", "js-child-process"),
    ("javascript", "standard", "require('\\x63hild_process')", "js-child-process"), ("javascript", "standard", "export * from 'child_process'", "js-child-process"),
    ("javascript", "standard", "globalThis.eval('1')", "js-eval"), ("javascript", "standard", "global['ev' + 'al']('1')", "js-eval"), ("javascript", "standard", "(0, eval)('1')", "js-eval"),
    ("javascript", "standard", "const e = eval; e('1')", "js-eval"), ("javascript", "standard", "eval.call(null, '1')", "js-eval"), ("javascript", "standard", "['1'].map(eval)", "js-eval"),
    ("javascript", "standard", "eval?.('1')", "js-eval"), ("javascript", "standard", "Reflect.get(globalThis, 'eval')('1')", "js-eval"), ("javascript", "standard", "{ let eval = 1 }\neval('1')", "js-eval"),
    ("javascript", "standard", "(() => {}).constructor('1')()", "js-function"), ("javascript", "standard", "[].constructor.constructor('1')()", "js-function"),
    ("javascript", "standard", "[]['constructor']['constructor']('1')()", "js-function"), ("javascript", "standard", "const f = require('fs/promises'); f.writeFile('a', 'b')", "js-fs-write"),
    ("javascript", "standard", "import {promises as p} from 'fs'; p.rm('a')", "js-fs-write"), ("javascript", "standard", "const {writeFileSync} = require('fs'); writeFileSync('a', 'b')", "js-fs-write"),
    ("javascript", "standard", "require('fs').openSync('a', 'w')", "js-fs-open"), ("javascript", "standard", "process['bind' + 'ing']('fs')", "js-binding"), ("javascript", "strict", "global[x]('1')", "js-computed-name"),
    ("javascript", "strict", "setTimeout('1', 1)", "js-timer-text"), ("javascript", "standard", "\\u0065val('x')", "js-eval"), ("javascript", "standard", "var f = Function.prototype.constructor; f('x')()", "js-function"),
    ("javascript", "standard", "new (class extends Function {})('x')", "js-function"), ("javascript", "standard", "Reflect.construct(Function, ['x'])", "js-function"),
    ("javascript", "standard", "let m = 'child'; m += '_process'; require(m)", "js-child-process"), ("javascript", "standard", "const {eval: e} = globalThis; e('x')", "js-eval"),
]

CLEAN = [
    ("python", "standard", "x = \"os.system('a')\"  # os.system('b')\n'''eval(1)'''"), ("python", "standard", "import os\nprint(os.path.join('a', 'b'), os.getcwd())"),
    ("python", "standard", "def open(a, b): pass\nopen('a', 'w')"), ("python", "standard", "def system(x): pass\nsystem('a')"), ("python", "standard", "def f(eval):\n    eval('1')"),
    ("python", "standard", "def f():\n    open = print\n    open('a', 'w')"), ("python", "standard", "import re\nre.compile('a')"), ("python", "standard", "class A:\n    def system(self): pass\nA().system('x')"),
    ("python", "standard", "open('a')\nopen('a', 'rb')\nopen('a', mode='r')"), ("python", "standard", "from . import os\nos.system('x')"), ("python", "standard", "reopen('a', 'w')\nx.open('a', 'w')"),
    ("python", "standard", "model.eval()\ncursor.exec('x')"), ("python", "standard", "import subprocess_tools, osx, socketio"), ("python", "standard", "os = 1\nos.system('x')"),
    ("python", "standard", "from urllib.parse import quote"), ("python", "standard", "getattr(x, name)\ngetattr(self, 'system')"), ("python", "strict", "import math, json, re\nprint(math.pi)"),
    ("python", "pure", "import math\ndef f(x):\n    return [math.sqrt(y) for y in x]\nprint(f([1, 2]))"), ("python", "standard", "[eval for eval in x]"),
    ("bash", "standard", "echo curl; echo 'rm -rf /'  # curl x"), ("bash", "standard", "curl() { :; }\ncurl x"), ("bash", "standard", "echo x > /dev/null 2>&1; cat sda.txt"),
    ("bash", "standard", "rm -rf ./build /tmp/x"), ("bash", "standard", "rm /"), ("bash", "standard", "chmod 755 x; chmod +x y"), ("bash", "standard", "cat <<'E'\ncurl x\nE"), ("bash", "standard", "A=curl; echo $A"),
    ("bash", "standard", "git commit -m 'curl x'"), ("bash", "standard", "grep -r curl ."),
    ("javascript", "standard", "const x = 'eval(1)'; // eval(1)"), ("javascript", "standard", "function eval(x) {}\neval('1')"), ("javascript", "standard", "x.eval('1'); math.eval('1')"),
    ("javascript", "standard", "const f = require('fs'); f.readFileSync('a')"), ("javascript", "standard", "require('./child_process')"), ("javascript", "standard", "const net = {}; net.connect()"),
    ("javascript", "standard", "obj.constructor.name; typeof Function; x instanceof Function"), ("javascript", "standard", "require('fs').openSync('a', 'r')"), ("javascript", "standard", "setTimeout(f, 1)"),
]


def write(folder, name, text):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    own(folder)
    own(path)
    return path


@pytest.fixture(scope="module")
def found():
    """{(list, number): [rules]}, by one call for each set of rules."""
    out = {}
    for sets in ("standard", "strict", "pure"):
        folder = BASE / f"check-{sets}"
        folder.mkdir()
        for which, rows in (("caught", CAUGHT), ("clean", CLEAN)):
            for i, row in enumerate(rows):
                if row[1] == sets:
                    write(folder, f"{which}-{i}{ENDING[row[0]]}", row[2])
        c = run("check", "-S", "--json", "--rules", sets, folder)
        for f in c["files"]:
            which, i = re.search(r"(\w+)-(\d+)\.\w+$", f["file"]).groups()
            out[which, int(i)] = f["violations"]
    return out


@pytest.mark.parametrize("i", range(len(CAUGHT)), ids=lambda i: re.sub(r"\W+", "_", CAUGHT[i][2])[:40])
def test_caught(found, i):
    rules = {v["rule"] for v in found["caught", i]}
    assert set(CAUGHT[i][3].split()) <= rules, (CAUGHT[i], found["caught", i])


@pytest.mark.parametrize("i", range(len(CLEAN)), ids=lambda i: re.sub(r"\W+", "_", CLEAN[i][2])[:40])
def test_clean(found, i):
    assert found["clean", i] == [], CLEAN[i]


def test_strict_raises_everything(found):
    for (which, i), violations in found.items():
        row = (CAUGHT if which == "caught" else CLEAN)[i]
        assert row[1] == "standard" or all(v["severity"] == "error" for v in violations), violations


# ---- belljar check --------------------------------------------------------------------------------

def test_where(box):
    f = write(box, "ü.py", "# ä\nimport os\nx = 'ää'; os.system('ls')\n")
    v = run("check", "-S", "--json", f)["files"][0]["violations"][0]
    assert (v["line"], v["column"], v["end_line"], v["end_column"]) == (3, 11, 3, 20)
    assert v["text"] == "x = 'ää'; os.system('ls')" and v["severity"] == "error" and v["message"] and v["why"]
    c = run("check", "-S", f)
    assert c.rc == 1 and "ü.py:3:11: error:" in c.stderr and "\n" + " " * 14 + "^" * 9 + "\n" in c.stderr


def test_a_file_whose_name_is_no_text(box):
    """It is in the list all the same."""
    write(box, os.fsdecode(b"a\xff.py"), "eval('1')\n")
    c = run("check", "-S", "--json", box)
    assert c.rc == 1 and [f["file"].rpartition("/")[2] for f in c["files"]] == ["a\ufffd.py"] and c["files"][0]["violations"], str(c)


def test_exit_status_and_usage(box):
    good, bad = write(box, "good.py", "print(1)\n"), write(box, "bad.py", "eval('1')\n")
    assert run("check", "-S", good).rc == 0
    assert run("check", "-S", good, bad).rc == 1
    assert run("check", "-S", "-", "--lang", "python", input=b"eval('1')").rc == 1
    assert run("check").rc == 2
    assert run("check", "-S", box / "absent.py").rc != 0
    assert run("check", "-S", "--rules", "nosuch", good).rc != 0
    c = run("check", "-S", write(box, "x.c", "int x;"))
    assert c.rc == 2 and "Python, bash and JavaScript" in c.stderr


def test_syntax_is_asked_of_the_language(box):
    need_language("python")
    bad = write(box, "bad.py", "x = 1\ny = = 2\n")
    sh = write(box, "bad.sh", "echo 1\nif then\n")
    c = run("check", "--json", bad, sh, write(box, "good.py", "match = 1\n"))
    assert c.rc == 1
    assert [f["syntax"] and (f["syntax"]["line"], f["syntax"]["column"], f["syntax"]["text"]) for f in c["files"]] == [(2, 5, "y = = 2"), (2, 4, "if then"), None]
    c = run("check", bad)
    assert c.rc == 1 and "line 2, column 5" in c.stderr and "\n        ^\n" in c.stderr


def test_list():
    c = run("check", "--list", "--json")
    assert {"standard", "strict", "pure"} <= {s["name"] for s in c["sets"]}
    ids = [r["id"] for r in c["rules"]]
    assert len(ids) == len(set(ids)) > 50 and all(r["message"] and r["sets"] for r in c["rules"])
    assert "py-pure-open" not in run("check", "--list", "--rules", "standard").stdout


RULES = """
sets:
  - {name: mine, summary: ours, raise: true}
rules:
  - {id: my-antigravity, language: python, import: [antigravity], severity: warning, message: it flies, sets: [mine, standard]}
  - {id: py-eval, language: python, severity: "off", message: off}
"""


def test_own_rules(box):
    code = write(box, "a.py", "import antigravity\neval('1')\n")
    rules = write(box, "r.yaml", RULES)
    assert [v["rule"] for v in run("check", "-S", "--json", "--rules", rules, code)["files"][0]["violations"]] == ["my-antigravity"]
    top = box / "config" / "belljar"
    (top / "rules").mkdir(parents=True)
    (top / "rules" / "r.yaml").write_text(RULES)
    for p in box.rglob("*"):
        own(p)
    kw = {"env": {"XDG_CONFIG_HOME": str(box / "config")}}
    assert [(v["rule"], v["severity"]) for v in run("check", "-S", "--json", code, **kw)["files"][0]["violations"]] == [("my-antigravity", "warning")]
    assert [(v["rule"], v["severity"]) for v in run("check", "-S", "--json", "--rules", "mine", code, **kw)["files"][0]["violations"]] == [("my-antigravity", "error")]
    c = jar("--policy", "enforce", "--rules", "mine", "-c", "import antigravity", **kw)
    assert c.verdict == "error/policy"


@pytest.mark.parametrize("text,names", [
    ("rules: 5", "list"), ("rules:\n  - {id: x}", "language"), ("rules:\n  - {id: x, language: c, severity: error, message: m, call: [a]}", "language"),
    ("rules:\n  - {id: x, language: python, severity: bad, message: m, call: [a]}", "severity"), ("rules:\n  - {id: x, language: python, severity: error, message: m}", "nothing is matched"),
    ("rules:\n  - {id: x, language: bash, severity: error, message: m, call: [a]}", "bash has command"), ("other: 1", "other"), ("rules:\n  - {id: x, nokey: 1}", "nokey"), ("rules: [", "YAML"),
])
def test_broken_rules(box, text, names):
    c = run("check", "-S", "--rules", write(box, "r.yaml", text), write(box, "a.py", "1"))
    assert c.rc not in (0, 1) and names in c.stderr, str(c)


# ---- runs -----------------------------------------------------------------------------------------

SHELL = "import os\nprint('ran')\nos.system('true')\n"


def test_warn_records_and_runs():
    c = python(SHELL).ok()
    assert c["stdout"] == "ran\n" and c["stderr"] == ""
    assert [(v["rule"], v["line"], v["column"]) for v in c["violations"]] == [("py-shell", 3, 1)]
    plain = run("run", "-c", SHELL)
    assert plain.out == b"ran\n" and plain.err.count(b"\n") == 1 and b"main.py:3:1: warning: runs a shell command [py-shell]" in plain.err
    assert "py-shell" in run("run", "-v", "-c", SHELL).stderr


def test_off_looks_at_nothing():
    assert python(SHELL, "--policy", "off").ok()["violations"] == []


def test_enforce_refuses_before_anything_starts():
    c = python(SHELL, "--policy", "enforce")
    assert c.verdict == "error/policy" and c.rc == 125 and c["exit_code"] is None and c["stdout"] == ""
    assert c["isolation"] is None and c["evidence"] == {} and c["violations"][0]["rule"] == "py-shell" and c["error"] and c["hint"]
    c = run("run", "--policy", "enforce", "-c", SHELL)
    assert c.rc == 125 and c.out == b"" and "main.py:3:1: error:" in c.stderr and "^^^^^^^^^" in c.stderr and "hint:" in c.stderr


def test_warnings_do_not_refuse_but_strict_does():
    code = "open('a', 'w').write('x'); print('ran')"
    c = python(code, "--policy", "enforce").ok()
    assert [v["severity"] for v in c["violations"]] == ["warning"]
    assert python(code, "--policy", "enforce", "--rules", "strict").verdict == "error/policy"


@pytest.mark.parametrize("opts,code,verdict", [
    (["--allow-imports=false"], "import math", "error/policy"), (["--allow-imports=false"], "print(1)", "completed/exited"), (["--allow-modules", "math"], "import math", "completed/exited"),
    (["--allow-modules", "math"], "import json", "error/policy"), (["--allow-modules", "os.path"], "from os import path", "completed/exited"), (["--allow-modules", "os.path"], "from os import getcwd", "error/policy"),
    (["--deny-modules", "json"], "import json.decoder", "error/policy"), (["--deny-modules", "json"], "import jsonschema_not", "completed/exited"), (["--deny-modules", "json"], "x = '__import__(json)'", "completed/exited"),
])
@pytest.mark.parametrize("policy", ["warn", "enforce"])
def test_modules(opts, code, verdict, policy):
    """A list is obeyed under every policy."""
    assert python(code, "--policy", policy, *opts).verdict == verdict


def test_a_list_refuses_nothing_else():
    c = python("import os\nos.system('true')\nprint('ran')", "--deny-modules", "json").ok()
    assert c["stdout"] == "ran\n" and [v["rule"] for v in c["violations"]] == ["py-shell"]


@pytest.mark.parametrize("code", ["import sys\n" * 3000 + "import json", "# -*- coding: unicode_escape -*-\nimport json", "__import__('js' + input())"])
def test_a_list_is_not_dodged(code):
    assert python(code, "--deny-modules", "json").verdict == "error/policy"


def test_warn_prints_a_line_for_each_finding():
    code = "import os\nos.system('true'); os.popen('true').read()\nprint(1)"
    c = run("run", "-c", code)
    assert c.rc == 0 and [line for line in c.err.decode().splitlines() if "[py-shell]" in line] and c.err.count(b"warning:") == 2, c.err
    assert run("run", "--quiet", "-c", code).err == b"" and run("run", "--policy", "off", "-c", code).err == b""


def test_a_list_that_nobody_would_look_at_is_refused():
    c = python("1", "--policy", "off", "--deny-modules", "json")
    assert c.rc != 0 and "--policy" in c["hint"]


def test_files_of_the_request_are_looked_at():
    r = {"policy": "enforce", "code": "import m", "files": [{"path": "lib/m.py", "content": "import os\nos.system('x')"}, {"path": "d.txt", "content": "eval(1)"}]}
    c = jar("--request", "-", input=json.dumps(r).encode())
    assert c.verdict == "error/policy" and [(v["file"], v["line"]) for v in c["violations"]] == [("lib/m.py", 2)]


@pytest.mark.parametrize("name", ["m.py", "m.pyw", "M.PY", "lib/m.Sh"])
def test_endings_in_any_case(name):
    text = "curl x" if name.endswith("Sh") else SHELL
    c = jar("--request", "-", input=json.dumps({"policy": "enforce", "code": "1", "files": [{"path": name, "content": text}]}).encode())
    assert c.verdict == "error/policy" and c["violations"][0]["file"] == name, str(c)


def test_what_is_not_looked_at_is_refused(put):
    """A file that is past what is looked at is no way around the check."""
    others = [{"path": f"a{i}.txt", "content": ""} for i in range(300)]
    many = [{"path": f"a{i}.py", "content": ""} for i in range(256)]
    bad, good = {"path": "z.py", "content": SHELL}, {"path": "z.txt", "content": ""}
    for files, verdict in (([*others, bad], "error/policy"), ([*many, bad], "error/policy"), ([*many, *others, good], "completed/exited")):
        c = jar("--request", "-", input=json.dumps({"policy": "enforce", "code": "1", "files": files}).encode())
        assert c.verdict == verdict and (verdict != "error/policy" or "z.py" in c["error"]), str(c)
    c = jar("--policy", "enforce", "-f", put("big.py", "#" * (2 << 20) + "\n" + SHELL), "-c", "1")
    assert c.verdict == "error/policy" and "big.py" in c["error"], str(c)


NOT_UNDERSTOOD = "echo a 2>&1 <<<\"str\"\ncat > x 2>&1 <<<\"str\"\n"  # tree-sitter's grammar does not know that order; bash does


def test_enforce_refuses_what_it_did_not_understand():
    assert bash(NOT_UNDERSTOOD).verdict == "completed/exited"
    c = bash(NOT_UNDERSTOOD, "--policy", "enforce")
    assert c.verdict == "error/policy" and c["violations"][0]["rule"] == "parse" and c["stdout"] == ""
    c = bash("if then", "--policy", "enforce")
    assert c.verdict == "error/syntax"
    assert python("x = = 1", "--policy", "enforce").verdict == "error/syntax"


def test_too_large_is_refused_in_enforce(box):
    f = write(box, "big.py", "x = '" + "a" * (2 << 20) + "'\nprint(1)\n")
    assert jar(f)["stdout"] == "1\n"
    c = jar("--policy", "enforce", f)
    assert c.verdict == "error/policy" and c["violations"][0]["rule"] == "parse"


def test_violations_are_capped():
    c = python("import os\n" + "os.remove('x')\n" * 500 + "print(1)", "--policy", "warn")
    assert len(c["violations"]) == 100 and c["violations_total"] == 500


def test_configuration(box):
    (box / "work").mkdir()
    (box / "config" / "belljar").mkdir(parents=True)
    config, project = box / "config" / "belljar" / "config.yaml", box / "work" / ".belljar.yaml"
    kw = {"env": {"XDG_CONFIG_HOME": str(box / "config")}, "cwd": box / "work"}

    def verdict(user, here, *opts):
        config.write_text(user)
        project.write_text(here)
        for p in box.rglob("*"):
            own(p)
        return run("run", "--json", *opts, "-c", "import os\nos.system('true')", **kw)
    assert verdict("policy: enforce\n", "").verdict == "error/policy"
    assert verdict("", "policy: enforce\n").verdict == "error/policy"
    assert verdict("policy: enforce\n", "", "--policy", "warn").verdict == "completed/exited"
    assert "tighter" in verdict("policy: enforce\n", "policy: warn\n").stderr
    assert "tighter" in verdict("", "policy: off\n").stderr
    assert "project" in verdict("", "rules: pure\n").stderr
    assert verdict("policy: enforce\nrules: pure\n", "", "--rules", "standard")["violations"][0]["rule"] == "py-shell"


def test_batch():
    need_batch()
    with Batch("--policy", "enforce") as b:
        assert b.run({"code": "print(1)"})["status"] == "completed"
        r = b.run({"code": SHELL})
        assert (r["status"], r["reason"], r["stdout"]) == ("error", "policy", "") and r["isolation"] is None
        r = b.run({"code": SHELL, "policy": "warn"})
        assert (r["reason"], r["stdout"]) == ("policy", "") and "'policy'" in r["error"], r
        assert b.run({"code": "open('a')", "rules": ["pure"]})["reason"] == "policy"
        assert b.run({"code": "import json", "allow_modules": ["math"]})["reason"] == "policy"
        assert b.run({"code": "import json", "allow_imports": False})["reason"] == "policy"
        for bad in ({"policy": "maybe"}, {"rules": ["/etc/passwd"]}, {"rules": []}, {"rules": ["nosuch"]}, {"allow_imports": 1}, {"deny_modules": "x"}):
            r = b.run({"code": "1", **bad})
            assert r["status"] == "error" and r["reason"] == "setup" and next(iter(bad)) in r["error"], r
        assert b.run({"code": "[" * 100000})["reason"] in ("syntax", "exited")
        assert b.run({"code": "print(2)"})["stdout"] == "2\n"
        b.close()


# ---- hostile text ---------------------------------------------------------------------------------

HOSTILE = {
    "long-line.py": lambda: b"x = '" + b"a" * 10_000_000 + b"'\n", "brackets.py": lambda: b"[" * 100_000, "pairs.py": lambda: b"(" * 50_000 + b")" * 50_000,
    "bytes.py": lambda: bytes(range(256)) * 400, "nul.py": lambda: b"import os\0\nos.system('x')\0\n" * 100, "utf8.py": lambda: b"\xff\xfeimport os\n\xc3(\n\xed\xa0\x80",
    "lambda.py": lambda: b"lambda: " * 100_000, "dots.py": lambda: b"x=" + b"a." * 200_000 + b"b", "plus.py": lambda: b"x=" + b"'a'+" * 150_000 + b"'b'",
    "memory.py": lambda: b"x='" + b"a" * 4000 + b"'\n" + b"y=x+'b'\n" * 80_000, "fstring.py": lambda: b"f'{" * 30_000, "brackets.js": lambda: b"[" * 100_000,
    "arrows.js": lambda: b"a=>" * 150_000, "templates.js": lambda: b"`${" * 50_000, "nul.js": lambda: b"require('child_process\0')\n", "substitutions.sh": lambda: b"$(" * 100_000,
    "quotes.sh": lambda: b'"' * 100_001, "inner.sh": lambda: b"bash -c '" + b"curl x; " * 10_000 + b"'\n", "variables.sh": lambda: b"X=a;" * 80_000 + b"$X" * 50_000,
    "braces.sh": lambda: b"{" * 100_000, "here.sh": lambda: b"cat <<A\n" * 20_000, "evals.sh": lambda: b"eval \"" * 20_000, "empty.py": lambda: b"", "line.sh": lambda: b"a" * 10_000_000,
}


def test_hostile_text(box):
    files = [write(box, name, make()) for name, make in HOSTILE.items()]
    c = run("check", "-S", "--json", *files, timeout=120)
    assert c.rc == 1 and c["checked"] == len(HOSTILE), str(c)
    by = {f["file"].rsplit("/", 1)[1]: f for f in c["files"]}
    assert [v["rule"] for v in by["long-line.py"]["violations"]] == ["parse"]
    assert "sh-download" in {v["rule"] for v in by["inner.sh"]["violations"]}


# ---- text that the language reads in another way ---------------------------------------------------

EVIL = "import os\nos.system('echo RAN')\n"
HIDDEN = "x = 1 #\\n" + EVIL.replace("\n", "\\n") + "\n"  # a comment, unless \n is read as a line's end

# What stands before HIDDEN, and whether Python takes it for a coding comment: PEP 263 as CPython's tokenizer has it.
COOKIES = {
    "# coding: unicode_escape\n": True, "#coding=unicode_escape\n": True, "# -*- coding: unicode_escape -*-\n": True, "# vim: set fileencoding=unicode_escape :\n": True,
    "#!/usr/bin/python3\n# coding: unicode_escape\n": True, "\n# coding: unicode_escape\n": True, " \t\f# coding: unicode_escape\n": True, "#\r# coding: unicode_escape\n": True,
    "#\r\n# coding: unicode_escape\r\n": True, "# coding:\tunicode_escape\n": True, "# coding: unicode-escape\n": True,
    "# CODING: unicode_escape\n": False, "# coding : unicode_escape\n": False, "# coding unicode_escape\n": False, "x = 2 # coding: unicode_escape\n": False,
    "x = 2\n# coding: unicode_escape\n": False, "\n\n# coding: unicode_escape\n": False, "#\n#\n# coding: unicode_escape\n": False, "'''\n# coding: unicode_escape\n'''\n": False,
    "# coding: utf-8\n# coding: unicode_escape\n": False, "\\\n# coding: unicode_escape\n": False,
}


@pytest.mark.parametrize("head", list(COOKIES))
def test_coding_comments(head, box):
    text = (head + HIDDEN).encode()
    f = write(box, "t.py", text)
    rules = {v["rule"] for v in run("check", "-S", "--json", f)["files"][0]["violations"]}
    assert ("encoding" in rules) is COOKIES[head]
    try:  # the same question to Python itself
        names = compile(text, "t.py", "exec").co_names
    except SyntaxError:
        names = ()
    assert ("os" in names) is COOKIES[head]


@pytest.mark.parametrize("name", ["unicode_escape", "raw_unicode_escape", "utf-7", "utf7", "UTF_7", "utf-16", "utf-32", "punycode", "idna", "koi8-r", "shift_jis", "hz", "cp037", "no-such", "rot13",
                                  "utf-8x", "utf_16_le"])
def test_an_encoding_that_is_not_read_refuses(name):
    c = python(f"# coding: {name}\nprint('RAN')\n", "--policy", "enforce")
    assert c.verdict == "error/policy" and "(encoding)" in c["error"] and c["stdout"] == "", str(c)


def test_unicode_escape_does_not_run_in_enforce():
    code = "# coding: unicode_escape\n" + HIDDEN
    assert python(code, "--policy", "warn")["stdout"] == "RAN\n"
    assert python(code, "--policy", "enforce").verdict == "error/policy"
    assert jar("--policy", "enforce", "--request", "-", input=json.dumps({"code": "import a", "files": [{"path": "a.py", "content": code}]}).encode()).verdict == "error/policy"
    # `python3 -x a.py` passes the first line over.
    third = "#\n#\n" + code
    assert jar("--policy", "enforce", "--request", "-", input=json.dumps({"argv": ["python3", "-x", "a.py"], "files": [{"path": "a.py", "content": third}]}).encode()).verdict == "error/policy"


@pytest.mark.parametrize("head", ["", "# coding: utf-8\n", "# coding: utf8\n", "# coding: UTF_8\n", "# coding: ascii\n", "# coding: us-ascii\n", "# coding: latin-1\n", "# coding: iso-8859-1\n",
                                  "# coding: iso-8859-15\n", "# coding: cp1252\n", "\ufeff", "\ufeff# coding: utf-8\n"])
def test_common_encodings_are_read(head):
    assert python(head + "print(6 * 7)\n", "--policy", "enforce", "--rules", "pure").ok()["stdout"] == "42\n"


@pytest.mark.parametrize("coding", ["latin-1", "cp1252", "iso8859-15"])
def test_letters_of_8_bit_encodings(coding, put):
    """\xaa is a letter that Python takes for an a."""
    f = put("t.py", b"# coding: " + coding.encode() + b"\n# \xe9\xe8\nev\xaal('print(1)')\n")
    v = run("check", "--json", f)["files"][0]["violations"]
    assert [(x["rule"], x["line"], x["column"]) for x in v] == [("py-eval", 3, 1)]


def test_a_mark_and_another_encoding(put):
    f = put("t.py", "\ufeff# coding: latin-1\nprint(1)\n")
    assert [v["rule"] for v in run("check", "-S", "--json", f)["files"][0]["violations"]] == ["encoding"]


# (language, text, rule): code that stands where the grammar alone does not see it.
READ_OTHERWISE = [
    ("python", "# x\r" + EVIL.replace("\n", "\r"), "py-shell"), ("python", "x = 'a' # '\r" + EVIL, "py-shell"), ("python", "# \0\n" + EVIL, "encoding"),
    ("python", "x = 1 \0'''\n\n" + EVIL + "# '''\n", "encoding"), ("bash", "echo hi\ncu\0rl x\n", "encoding"),
]


@pytest.mark.parametrize("lang,text,rule", READ_OTHERWISE)
def test_line_ends_and_nul(lang, text, rule, box):
    f = write(box, "t" + ENDING[lang], text.encode())
    assert rule in {v["rule"] for v in run("check", "-S", "--json", f)["files"][0]["violations"]}


@pytest.mark.parametrize("lang,text,rule", [
    ("python", "import os\ngetattr(os, '\\N{LATIN SMALL LETTER S}ystem')('x')\n", "py-computed-name-module"), ("python", "import os\r\ngetattr(os, 'sys\\\r\ntem')('x')\r\n", "py-shell"),
    ("javascript", "require('\\143hild_process')\n", "js-child-process"), ("javascript", "require('child\\\r_process')\n", "js-child-process"),
    ("javascript", "require('child\\\r\n_process')\n", "js-child-process"), ("javascript", "require('child\\\u2028_process')\n", "js-child-process"),
    ("javascript", "require(`\\x63hild_process`)\n", "js-child-process"), ("bash", "$'cu\\0xx'rl x\n", "sh-download"), ("bash", "$'cu\\x00xx'rl x\n", "sh-download"),
])
def test_escapes(lang, text, rule, box):
    f = write(box, "t" + ENDING[lang], text.encode())
    assert {v["rule"] for v in run("check", "-S", "--json", f)["files"][0]["violations"]} == {rule}


@pytest.mark.parametrize("name,text", [
    ("t.js", "var x = 1\n<!-- `\nrequire('child_process').execSync('echo RAN', {stdio: 'inherit'})\n// `\n"),
    ("t.js", "var x = 1\n--> `\nrequire('child_process').execSync('echo RAN', {stdio: 'inherit'})\n// `\n"),
    ("t.js", "var x = 1\n/* */ --> `\nrequire('child_process').execSync('echo RAN', {stdio: 'inherit'})\n// `\n"),
    ("t.sh", "cu\\\nrl --version >&2; echo RAN\n"), ("t.sh", "echo \"$(cu\\\nrl --version >&2; echo RAN)\"\n"), ("t.sh", "bash -c 'cu\\\nrl --version >&2; echo RAN'\n"),
])
def test_two_readings_are_refused(name, text, put):
    """What the grammar and the language read differently is not understood."""
    if name.endswith(".js"):
        need_language("node")
    f = put(name, text)
    assert "RAN" in jar(f)["stdout"]
    c = jar("--policy", "enforce", f)
    assert c.verdict == "error/policy" and c["stdout"] == "", str(c)


@pytest.mark.parametrize("name,text", [
    ("t.js", "var a = '<!-- x -->', b = `\n--> ${1}`, n = 2\n// <!--\nwhile (n --> 0);\nconsole.log(/<!--/.test(a))\n"),
    ("t.sh", "echo a \\\n  b\necho \"x\\\ny\"\ncat <<E\na\\\nb\nE\ntrue &&\\\ntrue\n# c\\\nprintf '%s\\\n' z\n"),
])
def test_one_reading_is_none_of_them(name, text, put):
    if name.endswith(".js"):
        need_language("node")
    jar("--policy", "enforce", put(name, text)).ok()
