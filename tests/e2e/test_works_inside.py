# SPDX-License-Identifier: Apache-2.0
"""What honest programs need must still work inside a jar."""
import os
import time

import pytest
from harness import bash, jar, ms, need_language, need_program, python

PYTHON = {
    "threads": "import threading\nr = []\nts = [threading.Thread(target=r.append, args=(i,)) for i in range(10)]\n[t.start() for t in ts]; [t.join() for t in ts]\nassert sorted(r) == list(range(10))",
    "thread pool": "from concurrent.futures import ThreadPoolExecutor\nassert list(ThreadPoolExecutor(4).map(abs, [-1, -2])) == [1, 2]",
    "multiprocessing pool": "import multiprocessing as m\nif __name__ == '__main__':\n    with m.Pool(3) as p: assert p.map(abs, range(-5, 0)) == [5, 4, 3, 2, 1]",
    "multiprocessing spawn": "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('spawn').Pool(2) as p: assert p.map(abs, [-1]) == [1]",
    "multiprocessing shared memory": "from multiprocessing import shared_memory\ns = shared_memory.SharedMemory(create=True, size=4096); s.buf[0] = 7\nt = shared_memory.SharedMemory(s.name); assert t.buf[0] == 7; t.close(); s.close(); s.unlink()",
    "multiprocessing lock and queue": "import multiprocessing as m\nq = m.Queue(); l = m.Lock(); v = m.Value('i', 0)\ndef f():\n    with l: v.value += 1\n    q.put(1)\nps = [m.Process(target=f) for _ in range(4)]\n[p.start() for p in ps]; [q.get(timeout=20) for _ in ps]; [p.join() for p in ps]\nassert v.value == 4",
    "sqlite in a file": "import sqlite3\nc = sqlite3.connect('db'); c.execute('create table t(x)'); c.execute('insert into t values(42)'); c.commit()\nassert sqlite3.connect('db').execute('select x from t').fetchone() == (42,)",
    "sqlite with WAL": "import sqlite3\nc = sqlite3.connect('/tmp/db'); assert c.execute('pragma journal_mode=wal').fetchone() == ('wal',); c.execute('create table t(x)')",
    "subprocess": "import subprocess\nassert subprocess.run(['echo', 'x'], capture_output=True, text=True).stdout == 'x\\n'\nassert subprocess.run('exit 3', shell=True).returncode == 3",
    "subprocess time-out": "import subprocess\ntry: subprocess.run(['sleep', '9'], timeout=.2); assert 0\nexcept subprocess.TimeoutExpired: pass",
    "asyncio": "import asyncio\nasync def f():\n    p = await asyncio.create_subprocess_exec('echo', 'x', stdout=-1)\n    assert (await p.communicate())[0] == b'x\\n'\n    await asyncio.gather(*[asyncio.sleep(.01) for _ in range(20)])\nasyncio.run(f())",
    "loopback TCP": "import socket, threading\ns = socket.create_server(('127.0.0.1', 0))\nthreading.Thread(target=lambda: s.accept()[0].sendall(b'hi'), daemon=True).start()\nassert socket.create_connection(s.getsockname(), 10).recv(9) == b'hi'",
    "loopback TCP v6": "import socket, threading\ns = socket.create_server(('::1', 0), family=socket.AF_INET6)\nthreading.Thread(target=lambda: s.accept()[0].sendall(b'hi'), daemon=True).start()\nassert socket.create_connection(s.getsockname()[:2], 10).recv(9) == b'hi'",
    "localhost by name": "import socket\ns = socket.create_server(('localhost', 0)); socket.create_connection(('localhost', s.getsockname()[1]), 10)",
    "loopback UDP": "import socket\na = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); a.bind(('127.0.0.1', 0)); a.settimeout(10)\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', a.getsockname()); assert a.recv(9) == b'x'",
    "http server": "import http.server, threading, urllib.request\ns = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler); s.RequestHandlerClass.log_message = lambda *a: None\nthreading.Thread(target=s.serve_forever, daemon=True).start()\nopen('page', 'w').write('hello')\nassert urllib.request.urlopen(f'http://127.0.0.1:{s.server_port}/page', timeout=20).read() == b'hello'",
    "socketpair and fd passing": "import socket, os\na, b = socket.socketpair(); r, w = os.pipe(); socket.send_fds(a, [b'x'], [w]); _, fds, _, _ = socket.recv_fds(b, 9, 1); os.write(fds[0], b'hi'); assert os.read(r, 9) == b'hi'",
    "unix socket in a file": "import socket\ns = socket.socket(socket.AF_UNIX); s.bind('/tmp/s'); s.listen(); socket.socket(socket.AF_UNIX).connect('/tmp/s')",
    "pty.fork": "import pty, os\npid, fd = pty.fork()\nif pid == 0: os.execlp('sh', 'sh', '-c', 'tty; test -t 0 && echo terminal')\nout = b''\ntry:\n    while b := os.read(fd, 100): out += b\nexcept OSError: pass\nassert b'terminal' in out and b'/dev/pts/' in out, out",
    "pty.openpty": "import os\nm, s = os.openpty(); os.write(s, b'x'); assert os.read(m, 9) == b'x' and os.isatty(s)",
    "flock": "import fcntl\nf = open('l', 'w'); fcntl.flock(f, fcntl.LOCK_EX); g = open('l', 'w')\ntry: fcntl.flock(g, fcntl.LOCK_EX | fcntl.LOCK_NB); assert 0\nexcept BlockingIOError: pass\nfcntl.lockf(f, fcntl.LOCK_EX)",
    "mmap with exec": "import mmap, ctypes\nm = mmap.mmap(-1, 4096, prot=7); m.write(b'\\xb8\\x2a\\0\\0\\0\\xc3')\nassert ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))() == 42",
    "mmap of a file": "import mmap\nopen('f', 'wb').write(b'0' * 8192); f = open('f', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[0:2] = b'ab'; m.flush(); assert open('f', 'rb').read(2) == b'ab'",
    "message queues": "import ctypes, os\nL = ctypes.CDLL('librt.so.1'); q = L.mq_open(b'/q', os.O_CREAT | os.O_RDWR, 0o600, None); assert q >= 0 and os.listdir('/dev/mqueue') == ['q']\nassert L.mq_send(q, b'hi', 2, 0) == 0; b = ctypes.create_string_buffer(8192); assert L.mq_receive(q, b, 8192, None) == 2 and b.value == b'hi'; L.mq_unlink(b'/q'); assert os.listdir('/dev/mqueue') == []",
    "epoll, eventfd, timerfd": "import os, select\ne = select.epoll(); f = os.eventfd(1) ; e.register(f, select.EPOLLIN); assert e.poll(5)",
    "signals and timers": "import signal, time\nhit = []\nsignal.signal(14, lambda *a: hit.append(1)); signal.setitimer(signal.ITIMER_REAL, .05); time.sleep(.3); assert hit",
    "locale": "import locale, sys\nassert sys.stdout.encoding.lower() == 'utf-8' and locale.setlocale(locale.LC_ALL, 'C.UTF-8')\nprint('äöü', end='')",
    "time zone": "import os, time, zoneinfo\nassert os.path.exists('/etc/localtime') or True\ntime.localtime(); zoneinfo.ZoneInfo('UTC')",
    "user database": "import pwd, grp, os, getpass\nassert pwd.getpwuid(os.getuid()).pw_dir == '/home/guest' and grp.getgrgid(os.getgid()) and getpass.getuser()",
    "temporary files": "import tempfile\nwith tempfile.NamedTemporaryFile() as f: f.write(b'x')\nwith tempfile.TemporaryDirectory() as d: open(d + '/x', 'w')",
    "random": "import os, secrets, uuid\nassert len(os.urandom(9)) == 9 and secrets.token_hex() != secrets.token_hex() and uuid.uuid4()",
    "ssl and hashes": "import ssl, hashlib\nssl.create_default_context(); assert hashlib.sha256(b'').hexdigest().startswith('e3b0')",
    "ctypes and dlopen": "import ctypes.util, ctypes\nassert ctypes.CDLL(ctypes.util.find_library('m') or 'libm.so.6')",
    "rename, link, symlink, xattr-less copy": "import os, shutil\nopen('a', 'w').write('x'); os.link('a', 'b'); os.symlink('a', 'c'); os.rename('b', 'd'); shutil.copy2('a', 'e'); shutil.copytree('/etc/alternatives', 't', symlinks=True); shutil.rmtree('t')",
    "deep recursion": "import sys\nsys.setrecursionlimit(5000)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nassert f(3000) == 3000",
    "cpu count and rusage": "import os, resource\nassert os.cpu_count() >= 1 and os.sched_getaffinity(0) and resource.getrusage(0).ru_maxrss > 0",
    "inotify is there or says no": "import ctypes, os\nf = ctypes.CDLL(None, use_errno=True).inotify_init1(0)\nassert f >= 0 or ctypes.get_errno() in (1, 24, 38)",
    "proc of its own": "import os\nassert os.path.realpath('/proc/self').endswith(str(os.getpid())) and open('/proc/self/status').read() and open('/proc/self/maps').read() and os.listdir('/proc/self/fd')",
    "dev nodes": "open('/dev/null', 'w').write('x'); assert open('/dev/zero', 'rb').read(3) == b'\\0\\0\\0' and len(open('/dev/urandom', 'rb').read(3)) == 3\ntry: open('/dev/full', 'w').write('x' * 9999); assert 0\nexcept OSError: pass",
    "execute from the workspace": "import os, subprocess\nopen('x.sh', 'w').write('#!/bin/sh\\necho ran'); os.chmod('x.sh', 0o755); assert subprocess.check_output('./x.sh') == b'ran\\n'",
    "posix semaphores and message of a child": "import os\npid = os.posix_spawn('/bin/true', ['true'], os.environ); assert os.waitpid(pid, 0)[1] == 0",
    "sched and nice": "import os\nos.sched_yield(); os.nice(1)",
    "pidfd": "import os, signal, select\npid = os.fork()\nif pid == 0: os._exit(0)\nfd = os.pidfd_open(pid); p = select.poll(); p.register(fd, 1); assert p.poll(10000); os.waitpid(pid, 0)",
}


def test_files_without_a_name():
    """memfd_create() is there where a memory cgroup counts what it takes."""
    c = python("import os\nf = os.memfd_create('x'); os.write(f, b'hi'); assert os.pread(f, 9, 0) == b'hi'")
    if "cgroup-memory" in c["isolation"]["missing"]:
        assert c.rc == 1 and "Function not implemented" in c["stderr"], c["stderr"] or str(c)
    else:
        assert c.rc == 0, c["stderr"] or str(c)


@pytest.mark.parametrize("name", PYTHON)
def test_python(name):
    c = python(PYTHON[name], "-t", ms(60000))
    assert c.rc == 0, c["stderr"] or str(c)
    assert c["limits_hit"] == []


def test_numpy():
    need_program("/usr/lib/python3/dist-packages/numpy", "python3-numpy")
    c = python("import numpy as n; a = n.arange(250000.).reshape(500, 500); print(int((a @ a).trace() % 1000), n.linalg.inv(n.eye(50)).sum())", "-t", ms(60000), "--pids", "128")
    assert c.rc == 0 and c["stdout"].endswith(" 50.0\n"), str(c)


def test_pytest_inside(put):
    need_program("/usr/lib/python3/dist-packages/pytest", "python3-pytest")
    f = put("test_x.py", "import pytest\ndef test_a(tmp_path): (tmp_path / 'f').write_text('x')\ndef test_b(): assert 1 == 2\n@pytest.mark.parametrize('i', range(5))\ndef test_c(i): pass\n")
    c = jar("-t", ms(60000), "--file", f, "--", "python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_x.py")
    assert c.rc == 1 and "1 failed, 6 passed" in c["stdout"], str(c)


def test_unittest_inside(put):
    f = put("test_u.py", "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\n")
    assert "OK" in jar("--file", f, "--", "python3", "-m", "unittest", "test_u").ok()["stderr"]


def test_venv_and_pip_are_not_needed_but_modules_run():
    assert python("import json.tool, runpy; runpy.run_module('this')").ok()["stdout"].startswith("The Zen")


BASH = {
    "process substitution": ("diff <(echo a) <(echo a) && cat <(echo x)", "x\n"), "here document": ("cat <<< x; cat <<E\ny\nE", "x\ny\n"), "pipes": ("seq 1 100000 | sort -rn | head -3 | tr '\\n' ' '", "100000 99999 99998 "),
    "jobs and wait": ("sleep .1 & wait $!; echo $?", "0\n"), "traps": ("trap 'echo bye' EXIT; echo hi", "hi\nbye\n"), "reopened stdout": ("echo a > /dev/stdout; echo b >> /dev/stdout", "a\nb\n"),
    "reopened stderr": ("echo a > /dev/stderr; echo b", "b\n"), "reopened stdin": ("cat /dev/stdin < /dev/null; echo x | cat /dev/stdin", "x\n"), "fd folder": ("echo x | cat /dev/fd/0; ls /dev/fd | wc -w | grep -q .; echo ok", "x\nok\n"),
    "named pipe": ("mkfifo p; echo x > p & cat p", "x\n"), "locale": ("echo ${#LANG} $(printf 'ü' | wc -m)", "7 1\n"), "mktemp": ("d=$(mktemp -d) && touch $d/x && ls $d", "x\n"),
    "find and xargs": ("touch a b; find . -name '[ab]' | sort | xargs echo", "./a ./b\n"), "tar and gzip": ("echo x > f; tar czf t.tgz f; rm f; tar xzf t.tgz; cat f", "x\n"),
    "awk and sed": ("echo 1 2 | awk '{print $1+$2}' | sed s/3/three/", "three\n"), "date": ("date -u -d @0 +%Y", "1970\n"), "ulimit of core": ("ulimit -H -c | grep -qE '^(0|1)$' && echo small || ulimit -c", "small\n"),
    "time-out of coreutils": ("timeout .1 sleep 9; echo $?", "124\n"), "tee and dd": ("echo x | tee f | dd 2>/dev/null; cat f", "x\nx\n"), "perl": ("perl -e 'print 6*7'", "42"), "python in bash": ("python3 - <<< 'print(1)'", "1\n"),
    "stat of /proc": ("test $(cat /proc/1/comm 2>/dev/null | wc -c) -ge 0 && echo ok", "ok\n"), "uname": ("uname -s", "Linux\n"), "loop device-free mount list": ("test -r /proc/self/mounts && echo ok", "ok\n"),
}


@pytest.mark.parametrize("name", BASH)
def test_bash(name):
    code, out = BASH[name]
    c = bash(code, "-t", ms(60000))
    assert c["stdout"] == out, str(c)


def test_gcc_inside():
    need_language("c")
    c = bash("echo 'int main(){return 42;}' > a.c && gcc -O1 -g -o a a.c && ./a; echo $?", "-t", ms(60000)).ok()
    assert c["stdout"] == "42\n"


def test_make_inside():
    need_program("/usr/bin/make", "make")
    assert bash("printf 'all:\\n\\t@echo made\\n' > Makefile; make", "-t", ms(60000)).ok()["stdout"] == "made\n"


def test_git_inside():
    need_program("/usr/bin/git", "git")
    c = bash("set -e; git init -q -b main r; cd r; git config user.email a@b; git config user.name n; echo x > f; git add f; git commit -qm first; echo y >> f; git commit -qam second\n"
             "git log --oneline | wc -l; git diff HEAD~1 --stat | tail -1; cd ..; git clone -q r s && cat s/f", "-t", ms(60000)).ok()
    assert c["stdout"].startswith("2\n") and c["stdout"].endswith("x\ny\n")


NODE = {
    "worker_threads": "const {Worker}=require('worker_threads'); new Worker(\"require('worker_threads').parentPort.postMessage(6*7)\",{eval:true}).on('message',m=>console.log(m))",
    "child_process": "console.log(require('child_process').execSync('echo 42').toString().trim())",
    "fork": "const c=require('child_process'); if(process.argv[2]) process.send(42); else c.fork(__filename,['x']).on('message',m=>console.log(m))",
    "http on loopback": "const h=require('http'); const s=h.createServer((q,r)=>r.end('42')).listen(0,'127.0.0.1',()=>h.get({port:s.address().port,host:'127.0.0.1'},r=>{r.on('data',d=>console.log(d.toString()));r.on('end',()=>s.close())}))",
    "fs and promises": "const f=require('fs').promises; (async()=>{await f.writeFile('x','42'); console.log(await f.readFile('x','utf8'))})()",
    "crypto": "require('crypto').pbkdf2('a','b',10,9,'sha256',()=>console.log(42))", "timers": "setTimeout(()=>console.log(42),50)", "wasm": "new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0])); console.log(42)",
}


@pytest.mark.parametrize("name", NODE)
def test_node(name):
    need_language("node")
    c = jar("-t", ms(60000), "--lang", "node", "-c", NODE[name])
    assert c.rc == 0 and c["stdout"] == "42\n", str(c)


def test_time_zone_file():
    if not os.path.exists("/etc/localtime"):
        pytest.skip("this host has no /etc/localtime")
    assert bash("date +%z").ok()["stdout"].strip() == time.strftime("%z")


def test_zoneinfo_data():
    need_program("/usr/share/zoneinfo/Europe/Berlin", "tzdata")
    assert jar("--env", "TZ=Europe/Berlin", "--", "date", "-d", "@0", "+%H").ok()["stdout"] == "01\n"


def test_java_threads():
    need_language("java")
    code = 'public class Main{public static void main(String[] a)throws Exception{Thread t=new Thread(()->System.out.println(42));t.start();t.join();}}'
    assert jar("-m", "1G", "-t", ms(120000), "--lang", "java", "-c", code).ok()["stdout"] == "42\n"


def test_many_processes_one_after_the_other():
    """Numbers of processes wrap around early where they are what bounds a jar: there must be enough left."""
    c = bash("for i in $(seq 700); do /bin/true || exit 1; done; echo x | cat | cat | cat", "--pids", "16", "-t", ms(60000))
    assert c.rc == 0 and c["stdout"] == "x\n" and c["stderr"] == "", str(c)  # bash tries again, and says so
