# SPDX-License-Identifier: Apache-2.0
"""OK: a jar that closes every door and runs no program is of no use. What people run must run."""
import shutil
import textwrap

import pytest

import jarlib

PYTHON = {
    "threads": "import threading; t=[threading.Thread(target=print, args=(i,)) for i in range(4)]; [x.start() for x in t]; [x.join() for x in t]",
    "multiprocessing": """
        import multiprocessing as m
        def f(x): return x * x
        if __name__ == '__main__':
            m.set_start_method('fork')
            with m.Pool(3) as p: assert p.map(f, range(5)) == [0, 1, 4, 9, 16]
    """,
    "asyncio": """
        import asyncio
        async def main():
            p = await asyncio.create_subprocess_exec('/bin/echo', 'hi', stdout=asyncio.subprocess.PIPE)
            assert (await p.communicate())[0] == b'hi\\n'
            s = await asyncio.start_server(lambda r, w: w.close(), '127.0.0.1', 0)
            r, w = await asyncio.open_connection(*s.sockets[0].getsockname()); w.close()
        asyncio.run(main())
    """,
    "sqlite": "import sqlite3; c=sqlite3.connect('x.db'); c.execute('pragma journal_mode=wal'); c.execute('create table t(a)'); c.commit()",
    "subprocess": "import subprocess; assert subprocess.run('echo $((6*7)) | cat', shell=True, capture_output=True).stdout == b'42\\n'",
    "tempfile": "import tempfile, os; f=tempfile.NamedTemporaryFile(); f.write(b'x'); f.flush(); assert os.path.getsize(f.name) == 1",
    "getaddrinfo": "import socket; assert socket.getaddrinfo('localhost', 80)",
    "socketpair": "import socket; a,b=socket.socketpair(); a.send(b'x'); assert b.recv(1)==b'x'",
    "loopback": """
        import socket, threading
        for fam, addr in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
            s = socket.socket(fam); s.bind((addr, 0)); s.listen()
            c = socket.create_connection(s.getsockname()[:2]); d, _ = s.accept(); d.send(b'x'); assert c.recv(1) == b'x'
    """,
    "flock": "import fcntl; f=open('l','w'); fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX)",
    # Without a memory cgroup there is none (RE-34).
    "memfd": "import os, sys\ntry: f = os.memfd_create('x')\nexcept OSError as e: sys.exit(0 if %r and e.errno == 38 else 1)\nos.write(f, b'x'); assert os.path.getsize(f'/proc/self/fd/{f}') == 1" % jarlib.ROOTLESS,
    "cpus": "import os; assert os.cpu_count() > 0 and len(os.sched_getaffinity(0)) > 0",
    "shared memory": "from multiprocessing import shared_memory as m; s=m.SharedMemory(create=True, size=4096); s.buf[0]=1; s.close(); s.unlink()",
    "semaphore": "import multiprocessing as m; l=m.Lock(); l.acquire(); l.release(); q=m.Queue(); q.put(1); assert q.get()==1",
    "jit": "import mmap; m=mmap.mmap(-1, 4096, prot=mmap.PROT_READ|mmap.PROT_WRITE|mmap.PROT_EXEC); m.write(b'\\xc3')",
    "pty": "import pty, os; a,b=os.openpty(); os.write(b, b'x\\n'); assert os.read(a, 10)",
    "user": "import os, pwd, getpass; assert os.getuid() == UID; pwd.getpwuid(os.getuid()); os.path.expanduser('~')",
    "hostname": "import socket; assert socket.gethostname() == 'jar'",
    "random": "import os, random, uuid; os.urandom(8); uuid.uuid4()",
    "time zone": "import time, datetime; time.localtime(); datetime.datetime.now().astimezone()",
    "encoding": "import sys; assert sys.stdout.encoding.lower() == 'utf-8'; print('\\u00e9\\u4e2d')",
}


@pytest.mark.parametrize("what", PYTHON)
def test_ok_python(jar, what):
    code = textwrap.dedent(PYTHON[what]).strip().replace("UID", str(jarlib.GUEST_UID))
    r = jar.python(code)
    assert r.exit_code == 0, r.told()


NODE = {
    "worker": "const {Worker}=require('worker_threads');new Worker('1',{eval:true}).on('exit',c=>process.exit(c))",
    "child": "require('child_process').execFile('/bin/echo',['hi'],(e,o)=>process.exit(o=='hi\\n'?0:1))",
    "http": "const h=require('http');const s=h.createServer((q,r)=>r.end('x')).listen(0,'127.0.0.1',()=>h.get({port:s.address().port,host:'127.0.0.1'},r=>process.exit(r.statusCode==200?0:1)))",
    "fs": "require('fs').promises.writeFile('x','y').then(()=>process.exit(0))",
    "watch": "const fs=require('fs');fs.watch('.',()=>process.exit(0));setTimeout(()=>fs.writeFileSync('w','1'),50);setTimeout(()=>process.exit(1),5000)",
}


@pytest.mark.parametrize("what", NODE)
@pytest.mark.skipif(not shutil.which("node"), reason="no node on this host")
def test_ok_node(jar, what):
    r = jar.run("--lang", "node", "-c", NODE[what], opts=["-t", "20s"], files=False)
    assert r.exit_code == 0, r.told()


SHELL = {
    "pipeline": "seq 100 | sort -n | tail -1 | grep -q 100",
    "substitution": "diff <(echo a) <(echo a) && [ \"$(echo x)\" = x ]",
    "here document": "cat <<X | grep -q y\ny\nX",
    "background": "sleep 0.1 & wait $!; kill -0 $$",
    "tools": "ls -la / > /dev/null && find /usr/bin -name env | grep -q env && awk 'BEGIN{exit 0}' && sed --version >/dev/null && tar --version >/dev/null",
    "awk division": "echo 10 | awk '{exit !($1/2==5)}'",
    "nproc": "[ $(nproc) -gt 0 ]",
    "tty": "! tty",
    "id": "[ $(id -u) = UID ] && whoami >/dev/null",
    "dev": "echo x > /dev/null && head -c4 /dev/urandom | wc -c | grep -q 4 && head -c4 /dev/zero | wc -c | grep -q 4 && echo e >/dev/stderr",
    "git": "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline | grep -q x",
    "make": "printf 'all: a b\\na b:\\n\\ttouch $@\\n' > Makefile && make -j2 && ls a b",
    "cc": "echo 'int main(void){return 0;}' > x.c && cc -O1 -o x x.c && ./x",
    "c++": "echo '#include <thread>\nint main(){std::thread t([]{});t.join();}' > x.cc && g++ -pthread -o x x.cc && ./x",
    "clang": "echo 'int main(void){return 0;}' > x.c && clang -o x x.c && ./x",
    "perl": "perl -e 'print 1+1' | grep -q 2",
    "venv": "python3 -c 'import venv; venv.create(\"v\", with_pip=False)' && v/bin/python -c 'print(1)'",
    "script": "printf '#!/bin/sh\\necho ok\\n' > s && chmod +x s && ./s | grep -q ok",
    "ulimit": "ulimit -a >/dev/null",
    "copy": "cp --preserve=mode,timestamps /usr/bin/env e && ./e true",
    "mkfifo": "mkfifo f && (echo x > f &) && grep -q x f",
    "timeout": "timeout 5 true",
}
NEEDS = {"git": "git", "make": "make", "cc": "cc", "c++": "g++", "clang": "clang", "perl": "perl"}


@pytest.mark.parametrize("what", SHELL)
def test_ok_shell(jar, what):
    if what in NEEDS and not shutil.which(NEEDS[what]):
        pytest.skip(f"no {NEEDS[what]} on this host")
    r = jar.bash("set -e\n" + SHELL[what].replace("UID", str(jarlib.GUEST_UID)), opts=["-m", "1G"], files=False)
    assert r.exit_code == 0, r.told()


@pytest.mark.skipif(not shutil.which("javac"), reason="no JDK on this host")
def test_ok_java(jar):
    code = "public class Main { public static void main(String[] a) { long s = 0; for (int i = 0; i < 5000000; i++) s += i; System.out.println(s); } }"
    r = jar.bash(f"cat > Main.java <<'X'\n{code}\nX\njavac Main.java && java Main", opts=["-m", "1G", "--pids", "200", "-t", "25s"], files=False)
    assert r.exit_code == 0 and "12499997500000" in r.stdout, r.told()


def test_ok_stdin(jar):
    r = jar.run("--lang", "python", "-c", "import sys; print(len(sys.stdin.buffer.read()))", opts=["--stdin", "-"], data=b"x" * 300000, files=False)
    assert r.stdout.strip() == "300000", r.told()


def test_ok_files_in_and_out(jar, box, outdir):
    (box / "in.txt").write_text("hello")
    (box / "in.txt").chmod(0o644)
    r = jar.bash("mkdir -p d && tr a-z A-Z < sub/in.txt > d/out.txt", opts=["--file", f"{box / 'in.txt'}:sub/in.txt", "--get", "d/*", "--out", outdir],
                 files=False)
    assert r.exit_code == 0, r.told()
    assert [p.read_text() for p in outdir.rglob("*.txt")] == ["HELLO"]
