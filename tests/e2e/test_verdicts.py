# SPDX-License-Identifier: Apache-2.0
"""Every verdict from kernel evidence: the real ones, and guests that fake them."""
import signal

import pytest
from harness import bash, jar, ms, need, need_language, python, run

EAT_C = "#include <stdlib.h>\n#include <string.h>\nint main(void){for(;;){char*p=malloc(1<<20);if(p)memset(p,1,1<<20);}}"
CHILD_EATS = """
import os, time
pid = os.fork()
if pid == 0:
    x = []
    while True: x.append(bytearray(1 << 20))
_, status = os.waitpid(pid, 0)
print('child ended by', os.WTERMSIG(status))
"""


# ---- memory --------------------------------------------------------------------------------------

@pytest.mark.parametrize("name,args", [
    ("python", ["-c", "x = []\nwhile True: x.append(bytearray(1 << 20))"]),
    ("python at once", ["-c", "x = b'x' * (900 << 20)"]),
    ("c", ["--lang", "c", "-c", EAT_C]),
    ("node", ["--lang", "node", "-c", "const a=[]; for(;;) a.push(Buffer.alloc(1<<20, 1))"]),
    ("files count", ["--disk", "1G", "--", "dd", "if=/dev/zero", "of=/tmp/x", "bs=1M", "count=900"]),
])
def test_memory(name, args):
    need("cgroup-memory")
    if name in ("c", "node"):
        need_language(name)
    c = jar("-m", "96M", "-t", ms(60000), *args)
    assert c.verdict == "killed/memory" and c.rc == 137, str(c)
    assert c["exit_code"] is None and c["timed_out"] is False and c["signal"] == 9
    assert "memory" in c["limits_hit"] and c["oom_kills"] >= 1 and c["evidence"]["oom_kills"] >= 1
    assert "96M" in c["error"] and "--memory" in c["hint"]
    assert c["max_memory_mb"] <= 97


def test_memory_of_a_child_while_the_main_program_goes_on():
    need("cgroup-memory")
    c = python(CHILD_EATS, "-m", "64M", "-t", ms(60000))
    assert c.verdict == "completed/exited" and c["exit_code"] == 0, str(c)
    assert c["stdout"] == "child ended by 9\n"
    assert c["limits_hit"] == ["memory"] and c["oom_kills"] >= 1 and "--memory" in c["hint"]


def test_memory_of_a_child_then_a_wait_until_the_wall_limit_says_both():
    need("cgroup-memory")
    c = python(CHILD_EATS + "\ntime.sleep(60)", "-m", "64M", "-t", ms(4000))
    assert c.verdict == "timeout/wall_time" and set(c["limits_hit"]) == {"wall_time", "memory"}, str(c)
    assert "memory" in c["error"] and "--memory" in c["hint"]


def test_memory_error_that_the_program_survives_is_its_own_affair():
    c = python("try:\n    bytearray(1 << 50)\nexcept MemoryError: print('caught')").ok()
    assert c["stdout"] == "caught\n" and c["limits_hit"] == []


def test_without_cgroups_memory_is_claimed_only_with_evidence():
    c = python("x = []\nwhile True: x.append(bytearray(1 << 20))", "-m", "96M", "-t", ms(30000))
    assert c["success"] is False and c["timed_out"] is False, str(c)
    if c["reason"] == "memory":
        assert c["oom_kills"] >= 1 or c["evidence"]["ended_by"] == "memory_poll"
    else:
        assert c.verdict == "completed/exited" and "MemoryError" in c["stderr"]
        assert "cgroup-memory" in c["isolation"]["missing"]


# ---- time ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("args", [["--", "sleep", "60"], ["-c", "while True: pass"], ["-c", "import time\nwhile True: time.sleep(1)"],
                                  ["-c", "import signal, time\nfor s in range(1, 65):\n  try: signal.signal(s, signal.SIG_IGN)\n"
                                         "  except (OSError, ValueError): pass\nwhile True: time.sleep(1)"],
                                  ["--lang", "bash", "-c", "kill -STOP $$"]])
def test_wall_time(args):
    c = jar("-t", ms(700), *args)
    assert c.verdict == "timeout/wall_time" and c.rc == 124, str(c)
    assert c["timed_out"] is True and c["exit_code"] is None and c["signal"] == 9
    assert "wall_time" in c["limits_hit"] and "--timeout" in c["hint"] and c["error"]
    assert c["evidence"]["ended_by"] == "wall_clock"
    assert c["elapsed_s"] >= float(ms(700)[:-2]) / 1000


def test_output_before_the_kill_is_there():
    c = python("import time; print('before'); time.sleep(60)", "-t", ms(1500))
    assert c["timed_out"] and c["stdout"] == "before\n"


@pytest.mark.parametrize("code", [
    "while True: pass",
    "import os\nfor _ in range(3): os.fork()\nwhile True: pass",
    "import os\nwhile True:\n  if os.fork() == 0:\n    for i in range(3000000): pass\n    os._exit(0)\n  os.wait()",
])
def test_cpu_time(code):
    need("cgroup-cpu")
    c = python(code, "--cpu-time", "300ms", "-t", ms(30000))
    assert c.verdict == "timeout/cpu_time" and c.rc == 124, str(c)
    assert c["timed_out"] is True and "cpu_time" in c["limits_hit"] and "--cpu-time" in c["hint"]
    assert c["evidence"]["cpu_ns"] >= 300e6 and c["evidence"]["ended_by"] == "cpu_clock"


def test_cpu_time_without_cgroups():
    c = python("while True: pass", "--cpu-time", "300ms", "-t", ms(20000))
    assert c.verdict == "timeout/cpu_time" and c.rc == 124, str(c)


def test_sleeping_uses_no_cpu_time():
    c = python("import time; time.sleep(1); print('ok')", "--cpu-time", ms(900)).ok()
    assert c["stdout"] == "ok\n" and c["limits_hit"] == []


# ---- pids ----------------------------------------------------------------------------------------

THREADS = """
import threading, time
n = 0
try:
    for _ in range(200):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); n += 1
except RuntimeError as e: print('stopped at', n)
import os; os._exit(0)
"""
FORKS = """
import os, time
n = 0
try:
    for _ in range(200):
        if os.fork() == 0: time.sleep(60)
        n += 1
except OSError as e: print('stopped at', n, e.errno)
"""


@pytest.mark.parametrize("code", [THREADS, FORKS], ids=["threads", "processes"])
def test_pids_felt_and_survived(code):
    c = python(code, "--pids", "20")
    assert c.verdict == "completed/exited" and c["exit_code"] == 0 and "stopped at" in c["stdout"], str(c)
    need("cgroup-pids")
    assert 10 <= int(c["stdout"].split()[2]) < 20
    assert c["limits_hit"] == ["pids"] and "--pids" in c["hint"] and c["evidence"]["pids_limit_hits"] >= 1
    assert c["pids_peak"] <= 20


@pytest.mark.parametrize("code", [":(){ :|:& };:\nsleep 60", "f() { f & f & }; f; wait; sleep 60"])
def test_fork_bomb_ends_at_its_time_limit_and_takes_nothing_along(code):
    c = bash(code, "-t", ms(1500), "--pids", "40")
    assert c["status"] in ("timeout", "completed") and c["success"] is False or "pids" in c["limits_hit"], str(c)
    need("cgroup-pids")
    assert "pids" in c["limits_hit"] and c["pids_peak"] <= 40
    assert python("print(1)").ok()["stdout"] == "1\n"


# ---- disk ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("where", ["/workspace/x", "/tmp/x", "/home/guest/x", "/dev/shm/x"])
def test_disk_full_is_felt(where):
    c = bash(f"head -c 20M /dev/zero > {where}; echo rest $?", "--disk", "4M")
    assert c.verdict == "completed/exited" and c["stdout"] == "rest 1\n", str(c)
    assert "No space left" in c["stderr"]
    assert c["limits_hit"] == ["disk"] and "--disk" in c["hint"] and c["evidence"]["disk_full"] is True


def test_disk_is_one_budget():
    c = bash("head -c 3M /dev/zero > /tmp/a && head -c 3M /dev/zero > /workspace/b", "--disk", "4M")
    assert c["exit_code"] == 1 and c["limits_hit"] == ["disk"]


def test_disk_full_and_cleaned_up_again_is_still_said():
    c = bash("head -c 20M /dev/zero > x; sleep .4; rm x; echo done", "--disk", "4M").ok()
    assert c["limits_hit"] == ["disk"]


def test_inodes_used_up():
    c = python("import os\nn = 0\ntry:\n    while True: os.mknod(f'f{n}'); n += 1\nexcept OSError as e: print(e.strerror, n)", "--disk", "1M")
    assert c.verdict == "completed/exited" and "No space left" in c["stdout"], str(c)
    assert c["limits_hit"] == ["disk"]


def test_disk_not_full():
    assert bash("head -c 3M /dev/zero > x", "--disk", "4M").ok()["limits_hit"] == []


# ---- output --------------------------------------------------------------------------------------

@pytest.mark.parametrize("stream", ["1", "2"])
def test_output_past_the_log_cap(stream):
    c = bash(f"yes abc >&{stream}", "--output-log", "300K")
    assert c.verdict == "killed/output" and c.rc == 137, str(c)
    assert c["limits_hit"] == ["output"] and "--output-log" in c["hint"] and "300K" in c["error"]
    assert c["stdout_bytes" if stream == "1" else "stderr_bytes"] == 300 << 10


def test_output_exactly_at_the_cap_is_fine():
    c = jar("--output-log", "100K", "--", "head", "-c", str(100 << 10), "/dev/zero").ok()
    assert c["limits_hit"] == [] and c["stdout_bytes"] == 100 << 10


# ---- system calls --------------------------------------------------------------------------------

@pytest.mark.parametrize("number,args,name", [(169, (0xfee1dead, 672274793, 0x01234567, 0), "reboot"),
                                              (175, (0, 0, 0), "init_module"), (246, (0, 0, 0, 0), "kexec_load")])
def test_syscall_is_named(number, args, name):
    c = python(f"import ctypes; print('before'); ctypes.CDLL(None).syscall({number}, {', '.join(map(str, args))}); print('after')")
    assert c.verdict == "killed/syscall" and c.rc == 159, str(c)
    assert c["stdout"] == "before\n" and c["exit_code"] is None
    assert c["evidence"]["syscall"]["name"] == name and c["evidence"]["syscall"]["number"] == number
    assert name in c["error"] and c["hint"]


X32 = """
#include <stdio.h>
int main(void) { long r; puts("before"); fflush(stdout);
  __asm__ volatile("syscall" : "=a"(r) : "a"(0x40000000L + 39) : "rcx", "r11", "memory");
  printf("after %ld\\n", r); return 0; }
"""
INT80 = X32.replace('"syscall"', '"int $0x80"').replace("0x40000000L + 39", "20L").replace('"rcx", "r11", ', "")


@pytest.mark.parametrize("code,arch", [(X32, "x32"), (INT80, "i386")], ids=["x32", "int80"])
def test_other_abis(code, arch):
    need_language("c")
    c = jar("--lang", "c", "-c", code)
    assert c["stdout"].startswith("before\n") and "after" not in c["stdout"], str(c)
    assert c.verdict in ("killed/syscall", "completed/signal") and c["success"] is False
    if c["reason"] == "syscall":
        assert c["evidence"]["syscall"]["arch"] == arch and c["compile"]["success"] is True
    else:
        assert c["signal"] in (signal.SIGSYS, signal.SIGSEGV)


def test_a_child_that_makes_a_forbidden_call_ends_the_run():
    c = python("import ctypes, os, time\nif os.fork() == 0: ctypes.CDLL(None).syscall(169, 0xfee1dead, 672274793, 0x01234567, 0)\ntime.sleep(30)",
               "-t", ms(20000))
    assert c.verdict == "killed/syscall" and c["evidence"]["syscall"]["name"] == "reboot", str(c)


# ---- signals -------------------------------------------------------------------------------------

@pytest.mark.parametrize("code,sig", [
    ("import ctypes; ctypes.string_at(8)", signal.SIGSEGV), ("import os; os.abort()", signal.SIGABRT),
    ("import os; os.kill(os.getpid(), 15)", signal.SIGTERM), ("import os; os.kill(os.getpid(), 8)", signal.SIGFPE),
    ("import os; os.kill(os.getpid(), 34)", 34), ("import os, signal; signal.signal(1, signal.SIG_DFL); os.kill(os.getpid(), 1)", signal.SIGHUP),
])
def test_signal(code, sig):
    c = python(code)
    assert c.verdict == "completed/signal" and c["signal"] == sig and c.rc == 128 + sig, str(c)
    assert c["exit_code"] is None and c["success"] is False and c["limits_hit"] == [] and c["error"]


# ---- fakes ---------------------------------------------------------------------------------------

OUR_JSON = '{"execution_id": "exec-00000000", "status": "killed", "reason": "memory", "success": false, "timed_out": true, "exit_code": null}'
FAKES = {
    "exit 137": ("raise SystemExit(137)", "completed/exited", 137),
    "exit 124": ("raise SystemExit(124)", "completed/exited", 124),
    "exit 125": ("raise SystemExit(125)", "completed/exited", 125),
    "exit 126": ("raise SystemExit(126)", "completed/exited", 126),
    "exit 127": ("raise SystemExit(127)", "completed/exited", 127),
    "exit 2": ("raise SystemExit(2)", "completed/exited", 2),
    "exit 159": ("raise SystemExit(159)", "completed/exited", 159),
    "own SIGKILL": ("import os; os.kill(os.getpid(), 9)", "completed/signal", 137),
    "own SIGSYS": ("import os; os.kill(os.getpid(), 31)", "completed/signal", 159),
    "own SIGXCPU": ("import os; os.kill(os.getpid(), 24)", "completed/signal", 152),
    "own SIGALRM": ("import os; os.kill(os.getpid(), 14)", "completed/signal", 142),
    "killed by its child": ("import os, time\nif os.fork() == 0: os.kill(os.getppid(), 9); os._exit(0)\ntime.sleep(30)", "completed/signal", 137),
    "kills everything": ("import os\ntry: os.kill(-1, 9)\nexcept OSError: pass\nos.kill(os.getpid(), 9)", "completed/signal", 137),
    "our object": (f"import sys; print({OUR_JSON!r}); print({OUR_JSON!r}, file=sys.stderr)", "completed/exited", 0),
    "our words": ("import sys; print('belljar: killed (memory): out of memory', file=sys.stderr); raise SystemExit(1)", "completed/exited", 1),
    "sends SIGKILL to pid 1": ("import os\ntry: os.kill(1, 9)\nexcept OSError: pass\nprint('on')", "completed/exited", 0),
}


@pytest.mark.parametrize("name", FAKES)
def test_fake(name):
    code, verdict, rc = FAKES[name]
    c = python(code, "-t", ms(25000))
    assert c.verdict == verdict and c.rc == rc, str(c)
    assert c["limits_hit"] == [] and c["oom_kills"] == 0 and c["timed_out"] is False
    assert c["success"] == (rc == 0) and "syscall" not in c["evidence"]


def test_a_big_program_that_kills_itself_is_not_out_of_memory():
    c = python("import os; x = bytearray(50 << 20); os.kill(os.getpid(), 9)", "-m", "96M")
    assert c.verdict == "completed/signal" and c["limits_hit"] == [], str(c)


def test_own_sigkill_after_a_child_was_out_of_memory():
    """The kernel's counter cannot tell whose SIGKILL it was; a child's death is known to have been the first."""
    need("cgroup-memory")
    c = python(CHILD_EATS + "\nos.kill(os.getpid(), 9)", "-m", "64M", "-t", ms(60000))
    assert "memory" in c["limits_hit"] and c["status"] in ("completed", "killed"), str(c)


# ---- one line for people -------------------------------------------------------------------------

@pytest.mark.parametrize("args,words", [
    (["-t", ms(300), "--", "sleep", "60"], ["timeout", "wall_time", "--timeout"]),
    (["-m", "64M", "-c", "x = b'x' * (900 << 20)"], ["killed", "memory", "64M", "--memory"]),
    (["--cpu-time", "200ms", "-c", "while 1: pass"], ["timeout", "cpu_time", "--cpu-time"]),
    (["--output-log", "2K", "--", "yes"], ["killed", "output", "2K", "--output-log"]),
    (["-c", "import ctypes; ctypes.CDLL(None).syscall(169, 0xfee1dead, 672274793, 0x01234567, 0)"], ["killed", "syscall", "reboot"]),
    (["--disk", "1M", "--", "dd", "if=/dev/zero", "of=/tmp/x", "bs=1M", "count=9", "status=none"], ["disk", "--disk", "1M"]),
])
def test_verdict_line(args, words):
    if "memory" in words:
        need("cgroup-memory")
    c = run("run", *args)
    lines = [l for l in c.stderr.splitlines() if l.startswith("belljar: ") and "weaker on this host" not in l]
    assert len(lines) == 1, str(c)
    for w in words:
        assert w in lines[0], f"{w} is not in {lines[0]}"


def test_no_verdict_line_when_it_ended_by_itself():
    c = run("run", "-c", "raise SystemExit(137)")
    assert c.rc == 137 and "belljar: killed" not in c.stderr and "belljar: timeout" not in c.stderr
