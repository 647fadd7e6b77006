# SPDX-License-Identifier: Apache-2.0
"""Writes the seed corpora: tests/fuzz/corpus/<target>/<name>. Run it after a change of a format."""
import hashlib
import io
import json
import pathlib
import struct
import tarfile

HERE = pathlib.Path(__file__).resolve().parent / "corpus"
DIR, FILE, LINK, ARGV, ENV, CWD, GO, REFUSED, END = range(1, 10)


def rec(kind, name=b"", data=b"", mode=0o644, mtime=0, size=None):
    return struct.pack("<IIIIQq", 0x626A6631, kind, mode, len(name), len(data) if size is None else size, mtime) + name + data


COMMAND = rec(ENV, data=b"A=1\0") + rec(ARGV, data=b"prog\0arg\0") + rec(CWD, data=b"/workspace") + rec(GO, mode=0)
TREE = (rec(DIR, b"d", mode=0o755) + rec(FILE, b"d/f", b"hello", mode=0o755, mtime=10**18) + rec(LINK, b"l", b"d/f")
        + rec(FILE, b"e", b""))


def tar(fmt, *rows):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=fmt) as t:
        for name, kind, data in rows:
            info = tarfile.TarInfo(name)
            info.type, info.mode = kind, 0o755
            if kind == tarfile.SYMTYPE:
                info.linkname = data.decode()
            else:
                info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


D, F, S = tarfile.DIRTYPE, tarfile.REGTYPE, tarfile.SYMTYPE
LANGUAGE = b"""name: own
title: Own
aliases: [oo]
endings: [.own]
interpreters: [own]
file: main.own
compile: [/bin/cc, "{file}", -o, "{out}"]
run: [/bin/own, "{file}"]
env: {A: b}
version: [/bin/own]
program: /bin/own
package: own
"""

# The first byte says which language and which rules (fuzz_check.c).
PYTHON = rb'''import os as o, subprocess
from os import system as s, path
from x import *
f = o.popen; f('x'); a, (b, *c) = o, 1
class A(B):
    s = o.system
    def m(self, x=o.system, *y, **z):
        global g
        return getattr(o, 'sys' + f"{'te'}m" + chr(109) + '\x41'[::-1])(''.join(['a', 'b']))
__import__('o' + 's').system; globals()['__builtins__']['eval']; vars(o)['x']; o.__dict__[k]
open('a', mode='w'); [eval for eval in q]; (h := lambda z: z)(1); import_module(bytes.fromhex('6f73').decode())
with open('x') as fh: del fh
'''
BASH = rb'''C=curl; $C x; c\u"r"'l' y | xargs -n 1 wget; bash -c 'rm -rf /' > /dev/sda 2>&1
eval "$C" $(command -v nc) ${D:-telnet} $'\x41'; env A=1 sudo -u me timeout 5 dd if=x
f() { curl; }; for i in a b; do $i; done; bash <<E
curl $C
E
sh <<< 'wget x'; trap 'curl' EXIT; find . -exec curl {} \;; /bin/cu?l; exec 3<>/dev/tcp/a/1
'''
JAVASCRIPT = rb'''const {exec: e, a: {b = 1}, ...r} = require('child' + '_process'), [q] = z;
import x, {y as w} from 'node:fs'; import * as n from "net"; export * from 'vm';
(0, eval)(`a${b}c`); globalThis['ev' + 'al']?.(1); new Function('a'); [].constructor.constructor('b')();
const f = async (a, {c}, ...d) => (await import('x')).default; x.y = eval; ({eval, k: Function});
class C { m(x) { return process.binding } static { } } require(atob('YQ==')); String.fromCharCode(1, 2); f.call(1); label: for (const k of l) {}
'''
RULES = b'''sets:
  - {name: mine, summary: ours, raise: true}
rules:
  - {id: a, language: python, call: [os.system, "os.ex*"], import: [x], severity: error, message: m, why: w, argument: ["1", mode], matches: ["*[wa]*"], sets: [mine]}
  - {id: b, language: bash, command: [rm], args: ["-r|-[!-]*r*", "/"], severity: warning, message: m, except: [y]}
'''

def canonical(o):
    return json.dumps(o, sort_keys=True, separators=(",", ":")).encode()


def export(n, hide=(), prune=0):
    """A small chain, signed (as far as the target looks) by the key of all zeroes."""
    key = hashlib.sha256(bytes(32)).hexdigest()[:16]
    head = prev = bytes(32)
    lines, at = [], None
    for seq in range(1, n + 1):
        body = canonical({"v": 1, "seq": seq, "prev": prev.hex(), "id": f"exec-{seq:012x}", "status": "completed", "reason": "exited", "client": None,
                          "language": "python", "time": "2026-11-15T11:26:04.123Z", "code": {"sha256": "ab" * 32}})
        prev = hashlib.sha256(b"belljar receipt v1\n" + body).digest()
        head = hashlib.sha256(b"belljar head v1\n" + head + prev).digest()
        if seq == prune:
            at = {"type": "prune", "seq": seq, "head": head.hex(), "receipt": prev.hex(), "key": key, "signature": "00" * 64, "time_ms": 1}
        line = {"type": "digest", "seq": seq, "hash": prev.hex()} if seq in hide else {"type": "receipt", "seq": seq, "hash": prev.hex(), "body": body.decode()}
        if seq > prune:
            lines.append(canonical(line))
    last = {"type": "checkpoint", "seq": n, "head": head.hex(), "receipt": prev.hex(), "key": key, "signature": "00" * 64, "time_ms": 2}
    first = {"type": "belljar-receipts", "v": 1, "belljar": "0", "key": None}
    return b"\n".join([canonical(first), *([canonical(at)] if at else []), canonical(last), *lines, b""])

UP = bytes([2, 0, 2, 1, 3, 0, 3, 1, 3, 2, 3, 3])  # makers and zygotes are there
SLOT = b"".join(bytes([4, n]) for n in range(5)) + b"".join(bytes([5, n]) for n in range(5))
GUEST = b"".join(bytes([5, n]) for n in range(5))

SEEDS = {
    "check": {f"{name}-{sets}": bytes([language | sets << 2 | 0x60 * (sets == 1)]) + text
              for language, (name, text) in enumerate([("python", PYTHON), ("bash", BASH), ("javascript", JAVASCRIPT)]) for sets in range(3)},
    "rules": {"rules": RULES, "glob": b"-[!-]*[a-z]*|x?\0-xay"},
    "export": {"two": export(2), "hidden": export(3, hide=(2,)), "pruned": export(4, prune=2)},
    "feed": {
        "command": COMMAND,
        "tree": TREE + COMMAND,
        "up": rec(FILE, b"../x", b"1") + COMMAND,
        "through": rec(LINK, b"l", b"..") + rec(FILE, b"l/canary", b"evil") + COMMAND,
        "huge": rec(FILE, b"f", b"data", size=2**64 - 1),
        "twice": rec(ARGV, data=b"a\0") * 2 + COMMAND,
    },
    "artifacts": {
        "tree": b"\x01" + TREE + rec(END, mode=0),
        "workspace": b"\x03" + TREE + rec(REFUSED, b"fifo", b"is a FIFO", mode=0) + rec(END, mode=1),
        "absolute": b"\x01" + rec(FILE, b"/tmp/x", b"1") + rec(END, mode=0),
        "up": b"\x03" + rec(FILE, b"up/canary", b"evil") + rec(FILE, b"c", b"evil") + rec(END, mode=0),
        "through": b"\x03" + rec(LINK, b"l", b"..") + rec(FILE, b"l/canary", b"evil") + rec(END, mode=0),
        "git": b"\x03" + rec(FILE, b".git/config", b"x") + rec(LINK, b".git", b"x") + rec(END, mode=0),
        "skip": b"\x07" + rec(FILE, b"a", b"x") + rec(END, mode=0),
    },
    "request": {
        "code": b'{"code":"print(1)","language":"bash"}',
        "all": b'{"id":"x","client":"c","argv":["a"],"args":["b"],"env":{"K":"V"},"stdin":"in","workdir":"/tmp","hostname":"h","uid":0,'
               b'"no_write":true,"network":"none","get":["*.txt"],"limits":{"wall_ms":1,"cpu_ms":2,"memory_bytes":8388608,"cpus":1.5,'
               b'"disk_bytes":65536,"pids":3,"nofile":100,"output_bytes":1024,"log_bytes":2048}}',
        "files": b'{"files":[{"path":"a","content":"x\\u0000y"},{"path":"/workspace/b","base64":"QUI=","mode":493},{"path":"c","source":"/x"}]}',
    },
    "judge": {
        "list": b'\0[{"stdin":"1 2","expected":"3"},{"name":"x","input":"","output":"","points":0}]',
        "all": b'\1{"cases":[{"name":"a","stdin_base64":"QQ==","expected_file":"d/a.out","compare":{"mode":"float","rel":1e-3,"abs":0},'
               b'"limits":{"time":"1s","wall":2.5,"memory":"64M","output":1000},"points":2.5},{"name":7,"stdin_file":"b","compare":"checker"}],'
               b'"subtasks":[{"name":"s","weight":3,"cases":["a",7]}],"compare":"tokens","checker":{"file":"c.cpp","lang":"cpp","with":["t.h"],'
               b'"limits":{"time":3}},"limits":{"time":0.5}}',
        "compare": b'\2\0 1.0 nan -inf 1e400\n\r\n\xff1 NaN -Infinity 1E+400 ',
    },
    "escape": {
        "osc52": b"\x1b]52;c;aGk=\x07", "colour": b"\x1b[1;31mred\x1b[0m", "c1": b"\xc2\x9b31m \x9b31m", "bidi": "a\u202eb\u2066".encode(),
        "cursor": b"\x1b[2J\x1b[10;20H\x1b[?1049h", "overlong": b"\xe0\x80\x9b\xf0\x80\x80\x9b\xed\xa0\x80", "text": "h\u00e9 \u20ac \U0001f600\n".encode(),
    },
    "result": {"plain": b"\x10\x10\x04hello world, this is longer than the view", "bytes": b"\x08\x08\x03" + bytes(range(256)),
               "utf8": b"\x0a\x20\x05" + "\u20ac\U0001f600\u00e9".encode() * 10},
    "language": {"py": b"x.py\0", "shebang": b"x\0#!/usr/bin/env -S python3 -u\n", "bash": b"dir/x\0#! /bin/bash -e\r\n", "near": b"pyton\0"},
    "yaml": {"row": LANGUAGE, "alias": b"a: &a [1]\nb: *a\n", "flow": b"{name: x, run: [a, [b]], env: {a: {b: c}}}", "key": b"? [a]\n: b\n", "directive": b"%id: \xcd\xdeG"},
    "config": {"project": b"\x01memory: 64M\ntimeout: 5s\nno-write: true\n", "user": b"\x00memory: 1G\nnet: host\nallow-host-network: true\nlayers: {a: /x:/y}\n",
               "loose": b"\x01memory: 2G\n", "zero": b"\x01cpu-time: 1s\ncpus: 0.5\n"},
    "opt": {"long": b"--memory=1M\0--timeout\0005s\0x.py", "short": b"-m1M\0-t\0005\0-c\0print(1)", "dashes": b"-q\0--\0prog\0-x", "near": b"--memroy=1M"},
    "mountinfo": {"v2": b"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
                  "v1": b"31 23 0:27 / /sys/fs/cgroup/cpu\\054x rw - cgroup cgroup rw,cpu,cpuacct\n32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"},
    "subuid": {"name": b"bob:100000:65536\n", "number": b"1000:1879048192:65536\nbob:4294967290:65536\n", "passwd": b"root:x:0:0:root:/root:/bin/sh\n"},
    "literal": {"list": b"[1, 2.5, 'a']\0[1, 2.5, 'b']", "dict": b"{'a': (1,), 'b': {2, 3}}\0{'a': [1], 'b': {3}}", "call": b"P(x=1, y=frozenset({2}))\0P(x=1)",
                "cut": b"[1, {'a': 'b...\0[1, {'a': 'c...", "text": b"not a value\0not a Value", "deep": b"[" * 40 + b"]" * 40 + b"\0" + b"(" * 40 + b")" * 40},
    "feedback": {
        "run": b'{"status":"completed","success":false,"reason":"exited","exit_code":1,"language":"python","stderr":"Traceback (most recent call last):\\n'
               b'  File \\"/workspace/main.py\\", line 3, in f\\n    totl\\nNameError: name \'totl\' is not defined\\n"}\0total = 1',
        "node": b'{"status":"completed","success":false,"reason":"exited","language":"node","stderr":"/workspace/main.js:2\\nf(x)\\n^\\n\\nTypeError: x is not a function\\n'
                b'    at f (/workspace/main.js:2:15)\\n"}\0const y = 1',
        "bash": b'{"success":false,"language":"bash","exit_code":127,"stderr":"main.sh: line 3: foo: command not found\\n"}\0',
        "compile": b'{"success":false,"reason":"syntax","compile":{"exit_code":1,"stderr":"main.c:3:5: error: x undeclared\\n 3 | x\\n"}}\0',
        "test": b'{"test_results":[{"name":"a","passed":false,"function":"f","reason":"wrong_value","expected":"[1]","output":"[2]","input":{"args":"(1,)","kwargs":"{}"}},'
                b'{"name":"b","passed":false,"reason":"exception","exception":{"type":"KeyError","bases":["LookupError"],"message":"\'x\'","line":2,"near":["y"]}},'
                b'{"passed":false,"reason":"missing_function","available":["g"]},{"passed":false,"reason":"timeout","where":{"line":1,"text":"x"}}]}\0def g(): pass',
        "judge": b'{"verdict":"WA","cases":[{"name":"1","verdict":"WA","stdin":"1","expected":"1\\n2","stdout":"1\\n3"},{"verdict":"RE","exit_code":1,"stderr":""}]}\0',
        "policy": b'{"success":false,"reason":"policy","error":"no","violations":[{"rule":"r","line":3,"text":"x"}],"denied":["curl"]}\0',
        "bytes": b'{"success":false,"language":"python","exception":{"type":"NameError","message":"name \'totl\' is not defined"}}\0tot\xff',
        "limits": b'{"success":false,"reason":"signal","signal":11,"limits_hit":["pids","disk"]}\0',
    },
    "lines": {"two": b"\xff\x03" + b'{"code":"print(1)","id":"a","client":"b"}\n\n{"argv":["x"]}\n{"bad', "long": b"\x08\x02" + b"x" * 40 + b"\n{}\n" + b"y" * 9,
              "exact": b"\x04\x00abcd\nabcde\n\n"},
    "pool_front": {"run": bytes([0, 1, 0, 33, 0, 65, 0x80, 1, 1, 0, 1]) + b"\0" * 16, "cold": bytes([1, 0x41, 0x81, 6, 2, 1, 0]) + b"\0" * 16,
                   "streams": bytes([0, 1, 0, 33, 0x81, 7, 2, 4, 0]) + b"\0" * 16, "notice": bytes([0x81, 8, 0, 0, 1]) + b"\0" * 16, "short": bytes([0x81, 1, 1, 0x81, 0])},
    # which act, who; for the front: number, wall time, kind, flags, client, no garbage
    "pool_keeper": {"run": UP + bytes([0, 1, 1, 9, 1, 0, 1, 0]) + SLOT * 3 + GUEST + bytes([5, 0, 6, 8]), "kept": UP + SLOT * 3 + bytes([0, 1, 2, 9, 1, 1, 1, 0]) + GUEST
                    + bytes([6, 9, 0, 2, 2, 9, 0]) + SLOT * 2 + bytes([0, 5, 2, 6, 4, 0, 6, 2, 1, 0, 0, 7, 2]), "nonsense": UP + bytes([0x43, 1, 9, 3]) + b"\xff" * 30,
                    "time": UP + SLOT * 3 + bytes([7, 200, 7, 255]), "node": UP + SLOT * 3 + bytes([0, 1, 3, 9, 2, 0, 1, 0]) + SLOT * 2},
    "swe": {
        "pytest": b"\x00PASSED a.py::t[a b]\nFAILED a.py::t[x - y] - E: [\na.py::u SKIPPED (no (way))  [ 12%]\nSKIPPED [1] a.py:9: why\nPASSED [100%]\nERROR b.py - ImportError\n"
                  b"[gw0] [ 10%] PASSED a.py::v_q\n\x1b[32mPASSED\x1b[0m a.py::w[log(photon\nXFAIL a.py::x - why\n",
        "options": b"\x01PASSED a.py::t[/x/y/z.txt]\nPASSED a.py::t[//h/x]\n", "mouse": b"\x02PASSED a.py::t[MouseButton.LEFT-MouseButton.RIGHT]\n",
        "django": b"\x03test_a (m.C.test_a)\nSays ... this. ... ok\ntest_b (m.C.test_b) ... noise\nok\ntest_c (m.C) ... skipped 'x'\n  test_d_q (m.C.test_d_q) (i=1) ... FAIL\n"
                  b"Applying x...test_e (m.C) ... ok\nFAIL: test_d (m.C.test_d) (i=1)\nERROR: setUpClass (m.C)\nRan 3 tests\nOK\n",
        "sympy": b"\x04s/t/test_a.py[3] \ntest_a ok\ntest_b_q F\ntest_c Slow w\ntest_d hi\nok\ntest_e ok    [OK]\n____ s/t/test_a.py:test_b ____\n",
        "unittest": b"\x05test_ef (m.C.test_ef) ... expected failure\ntest_us (m.C.test_us) ... unexpected success\n",
        "instances": b'\x06{"instance_id": "a__b-1", "repo": "a/b", "base_commit": "HEAD", "version": "1", "patch": "", "test_patch": "", "FAIL_TO_PASS": "[\\"t\\"]", "PASS_TO_PASS": []}\n',
        "list": b'\x06[{"instance_id": "x", "repo": "a/b", "FAIL_TO_PASS": [], "PASS_TO_PASS": "[]"}]', "lines": b'\x07{"instance_id": "x", "model_name_or_path": "o/m", "model_patch": null}\n'
        b'{"instance_id": "x", "model_name_or_path": "o/m", "model_patch": "p"}\n', "dict": b'\x07{"x": {"model_patch": ""}, "y": {}}',
        "patch": b'\x08diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n a\n-b\n\\ No newline\ndiff --git "a/\\303\\274" "b/\\t"\nnew file mode 120000\n'
                 b"GIT binary patch\ndiff --git a/o b/n\nrename from o\nrename to n\n",
        "frames": b'\x0a{"t":"apply","outcome":"applied"}\n{"t":"tampering","what":"shadow","path":"x"}\n{"t":"ready","renamed":{"a":"a_q"}}\n{"t":"out","data":"x\\\\n"}\n'
                  b'{"t":"test","id":"a_q","outcome":"passed","doc":"D","str":"s"}\n{"t":"finish","counts":{}}\n{"t":"tests_end","exit":0,"signal":null,"children_left":0}\n',
        "bytes": b'\x0b\x20\x00\x00\x00{"t":"apply","outcome":"empty"}  \x04\x00\x00\x00null',
        "job": b"\x09diff --git a/tests/a/b.py b/tests/a/b.py\n", "command": b"\x09\xffA='b c' python -m pytest -rA a.py", "runtests": b"\x09\xff./tests/runtests.py --verbosity 2 a.b",
    },
    "swe_tar": {
        "plain": tar(tarfile.GNU_FORMAT, ("./", D, b""), ("./d/", D, b""), ("./d/f", F, b"hello"), ("l", S, b"d/f")),
        "long": tar(tarfile.GNU_FORMAT, ("a" * 120, F, b"x" * 600), ("k", S, b"t" * 200)), "ustar": tar(tarfile.USTAR_FORMAT, ("p" * 90, D, b""), ("p" * 90 + "/" + "n" * 90, F, b"1")),
        "up": tar(tarfile.GNU_FORMAT, ("../x", F, b"1")), "absolute": tar(tarfile.GNU_FORMAT, ("/tmp/x", F, b"1")),
        "through": tar(tarfile.GNU_FORMAT, ("l", S, b".."), ("l/canary", F, b"bad")), "twice": tar(tarfile.GNU_FORMAT, ("l", S, b"../canary"), ("l", F, b"bad")),
    },
    "base64": {"one": b"QQ==", "two": b"QUI=", "three": b"QUJD", "middle": b"QQ==QQ=="},
}

for target, seeds in SEEDS.items():
    folder = HERE / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in seeds.items():
        (folder / name).write_bytes(data)
