# SPDX-License-Identifier: Apache-2.0
"""Writes the seed corpora: tests/fuzz/corpus/<target>/<name>. Run it after a change of a format."""
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent / "corpus"
DIR, FILE, LINK, ARGV, ENV, CWD, GO, REFUSED, END = range(1, 10)


def rec(kind, name=b"", data=b"", mode=0o644, mtime=0, size=None):
    return struct.pack("<IIIIQq", 0x626A6631, kind, mode, len(name), len(data) if size is None else size, mtime) + name + data


COMMAND = rec(ENV, data=b"A=1\0") + rec(ARGV, data=b"prog\0arg\0") + rec(CWD, data=b"/workspace") + rec(GO, mode=0)
TREE = (rec(DIR, b"d", mode=0o755) + rec(FILE, b"d/f", b"hello", mode=0o755, mtime=10**18) + rec(LINK, b"l", b"d/f")
        + rec(FILE, b"e", b""))
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

SEEDS = {
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
    "base64": {"one": b"QQ==", "two": b"QUI=", "three": b"QUJD", "middle": b"QQ==QQ=="},
}

for target, seeds in SEEDS.items():
    folder = HERE / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in seeds.items():
        (folder / name).write_bytes(data)
