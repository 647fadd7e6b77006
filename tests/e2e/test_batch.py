# SPDX-License-Identifier: Apache-2.0
"""belljar batch: order, bad lines, resuming, stopping, streaming, bounds, and what its front may not do."""
import base64
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from harness import REPO, ROOT, Batch, Traces, descendants, finish, has_sanitizer, own, run, seconds, start, stop, wait_until

HOOKS = REPO / "build-hooks" / "belljar"
TRUE = {"argv": ["/bin/true"]}


def lines(*requests):
    return "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in requests).encode()


def results(out):
    return [json.loads(l) for l in out.splitlines()]


def batch(requests, *opts, **kw):
    """`belljar batch OPTS -` with these lines; .results are the objects."""
    c = run("batch", *opts, "-", input=requests if isinstance(requests, bytes) else lines(*requests), **kw)
    c.results = results(c.out)
    return c


def echo(i, **more):
    return {"id": f"r{i}", "argv": ["/bin/echo", str(i)], **more}


@pytest.fixture
def folder(tmp_path):
    """A folder that belljar, whoever runs it, can write to and reach."""
    top = Path(subprocess.run(["mktemp", "-d", "/var/tmp/belljar-batch-XXXXXX"], capture_output=True, text=True, check=True).stdout.strip())
    top.chmod(0o755)
    own(top)
    yield top
    subprocess.run(["rm", "-rf", str(top)], check=True)


# ---- lines in, lines out -------------------------------------------------------------------------

def test_results_come_in_the_order_of_the_lines():
    slow = [{"id": f"r{i}", "argv": ["/bin/sleep", "0.4" if i == 0 else "0"]} for i in range(12)]
    c = batch(slow, "-j", 4)
    assert c.rc == 0 and [r["id"] for r in c.results] == [f"r{i}" for i in range(12)]
    assert [r["line"] for r in c.results] == list(range(1, 13))


def test_unordered_comes_as_it_finishes():
    c = batch([{"id": "slow", "argv": ["/bin/sleep", "0.7"]}, *[echo(i) for i in range(6)]], "-j", 3, "--unordered")
    assert c.rc == 0 and sorted(r["id"] for r in c.results) == sorted(["slow", *[f"r{i}" for i in range(6)]])
    assert c.results[-1]["id"] == "slow"


def test_a_slow_line_holds_up_nobody():
    """Without an order no result waits for another: as many as there are go past the one that takes long."""
    with Batch("-j", "2", "--unordered", "--queue", "4") as b:
        slow = b.send({"id": "slow", "argv": ["/bin/sleep", "600"], "limits": {"wall_ms": 900000}})
        for i in range(40):
            assert b.run(echo(i))["stdout"] == f"{i}\n"
        assert b.get(slow, 0) is None



def test_a_result_is_one_compact_line_with_every_field_of_a_run():
    c = batch([{"id": "a", "client": "someone", "code": "print('x')\nprint('y')"}])
    one = run("run", "--json", "-c", "print('x')\nprint('y')").result
    assert c.out.count(b"\n") == 1 and b'", "' not in c.out
    got = c.results[0]
    assert set(one) | {"line"} == set(got)
    assert got["stdout"] == "x\ny\n" and got["success"] is True and got["client"] == "someone" and got["id"] == "a"


def test_all_kinds_of_requests():
    c = batch([
        {"code": "import sys; print(sys.stdin.read()[::-1]); sys.exit(3)", "stdin": "abc", "args": ["x"]},
        {"language": "bash", "code": "echo $V; echo bad >&2", "env": {"V": "w"}},
        {"language": "c", "code": "#include <stdio.h>\nint main(void) { puts(\"compiled\"); return 4; }"},
        {"language": "c", "code": "int main(void) { syntax error }"},
        {"code": "open('o.txt', 'w').write('made')", "get": ["o.txt"]},
        {"code": "print(open('in/a').read())", "files": [{"path": "in/a", "content": "given"}]},
        {"code": "import time; time.sleep(60)", "limits": {"wall_ms": 300}},
        {"code": "x = bytearray(1 << 30)", "limits": {"memory_bytes": 64 << 20}},
        {"argv": ["/no/such/program"]},
    ])
    r = c.results
    assert (r[0]["stdout"], r[0]["exit_code"]) == ("cba\n", 3)
    assert (r[1]["stdout"], r[1]["stderr"]) == ("w\n", "bad\n")
    assert (r[2]["stdout"], r[2]["exit_code"]) == ("compiled\n", 4) and r[2]["compile"]["exit_code"] == 0
    assert (r[3]["status"], r[3]["reason"]) == ("error", "syntax") and "error" in r[3]["stderr"]
    assert r[4]["files"][0]["path"] == "o.txt" and r[4]["files"][0]["size"] == 4
    assert r[5]["stdout"] == "given\n"
    assert (r[6]["status"], r[6]["reason"]) == ("timeout", "wall_time")
    assert r[7]["success"] is False
    assert r[8]["status"] == "error" and r[8]["error"]
    assert c.rc == 1  # a program that does not exist could not be run


def test_verdicts_are_no_failure_of_the_batch():
    assert batch([{"code": "raise SystemExit(1)"}, {"language": "c", "code": "nonsense"}, {"code": "import time; time.sleep(9)",
                  "limits": {"wall_ms": 200}}]).rc == 0


def test_binary_output_survives():
    raw = bytes(range(256)) * 20
    c = batch([{"code": "import sys; sys.stdout.buffer.write(bytes(range(256)) * 20)"}])
    assert base64.b64decode(c.results[0]["stdout_base64"]) == raw and c.results[0]["stdout_bytes"] == len(raw)


def test_large_output_is_cut_and_kept_in_a_log():
    c = batch([{"code": "print('x' * 500000)"}, echo(1)], "--output", "10K")
    r = c.results[0]
    assert r["truncated"] and len(r["stdout"]) < 12000 and r["stdout_bytes"] == 500001
    log = Path(r["log"]["stdout"])
    assert log.stat().st_size == 500001
    log.unlink()


def test_options_are_defaults_of_lines():
    """And their ceilings, where they are limits (test_operator.py)."""
    c = batch([{"code": "import time; time.sleep(0.1)"}, {"code": "print(1)", "limits": {"wall_ms": 20000}, "client": "own"},
               {"code": "print(1)", "limits": {"wall_ms": 9000}}, {"code": "import time; time.sleep(9)", "limits": {"wall_ms": 300}}], "--timeout", "9500ms", "--client", "mine")
    assert [r["reason"] for r in c.results] == ["exited", "policy", "exited", "wall_time"]
    assert [r["client"] for r in c.results] == ["mine", "own", "mine", "mine"]
    assert batch([{"code": "import time; time.sleep(9)"}], "--timeout", "300ms").results[0]["reason"] == "wall_time"
    assert batch([{"code": "echo $0"}], "--lang", "bash").results[0]["language"] == "bash"


# ---- bad lines -----------------------------------------------------------------------------------

@pytest.mark.parametrize("line, word", [
    ("{nonsense", "JSON"), ("[]", "object"), ("42", "JSON"), ('{"code": 1}', "code"), ('{"cod": "1"}', "cod"), ("{}", "nothing to run"),
    ('{"code": "1", "limits": {"wall_ms": -1}}', "limits.wall_ms"), ('{"code": "1", "limits": {"memory": 1}}', "limits.memory"),
    ('{"code": "1", "code": "2"}', "JSON"), ('{"code": "1", "language": "cobol"}', "cobol"), ("\x00", "JSON"), ('{"code": "1", "network": "host"}', "net"),
    ('{"code": "1", "files": [{"path": "../x", "content": ""}]}', "../x"), ('{"argv": []}', "nothing"), ('{"code": "1", "image": "x"}', "image"),
    ('{"code": "\xff"}', "JSON"),
])
def test_a_bad_line_has_its_number_and_the_rest_goes_on(line, word):
    text = lines(TRUE) + line.encode("latin-1") + b"\n" + lines({"id": "after", **TRUE})
    c = batch(text)
    assert c.rc == 1 and [r["line"] for r in c.results] == [1, 2, 3]
    bad = c.results[1]
    assert bad["status"] == "error" and word in bad["error"] and bad["success"] is False and bad["exit_code"] is None
    assert c.results[2]["id"] == "after" and c.results[2]["success"]


def test_a_bad_line_keeps_its_id_and_client():
    r = batch(['{"wrong": 1, "id": "x", "client": "y"}']).results[0]
    assert (r["id"], r["client"]) == ("x", "y") and "wrong" in r["error"]


def test_empty_lines_are_passed_over_but_counted():
    c = batch(b"\n  \n" + lines(TRUE) + b"\r\n\n\t\n" + lines(TRUE))
    assert c.rc == 0 and [r["line"] for r in c.results] == [3, 7]
    assert batch(b"").results == [] and batch(b"\n\n").rc == 0


def test_the_last_line_needs_no_end():
    assert batch(lines(TRUE) + json.dumps(TRUE).encode()).results[1]["success"]


def test_long_lines():
    big = "#" + "x" * (3 << 20)
    c = batch([{"code": f"print(1)\n{big}"}, TRUE])
    assert c.rc == 0 and c.results[0]["stdout"] == "1\n"


def test_a_line_past_the_maximum_is_an_error_of_its_own(folder):
    path = folder / "in"
    with path.open("wb") as f:
        f.write(lines(TRUE))
        f.write(b'{"code": "')
        for _ in range(257):
            f.write(b"x" * (1 << 20))
        f.write(b'"}\n' + lines(TRUE))
    c = run("batch", path)
    r = results(c.out)
    assert c.rc == 1 and [x["line"] for x in r] == [1, 2, 3] and "256 MiB" in r[1]["error"] and r[2]["success"]


# ---- streams and files ---------------------------------------------------------------------------

def test_one_by_one_over_pipes():
    """Whoever writes a line and waits gets its result at once."""
    p = start("batch", "-", stdin=subprocess.PIPE)
    try:
        for i in range(5):
            p.stdin.write(lines(echo(i)))
            p.stdin.flush()
            assert json.loads(p.stdout.readline())["stdout"] == f"{i}\n"
        p.stdin.write(b"{bad\n")
        p.stdin.flush()
        assert json.loads(p.stdout.readline())["line"] == 6
        p.stdin.close()
        assert p.stdout.read() == b"" and p.wait(seconds(20)) == 1
    finally:
        p.stdin = None
        stop(p)


def test_file_in_file_out(folder):
    (folder / "in").write_bytes(lines(*[echo(i) for i in range(30)]))
    c = run("batch", folder / "in", "--out", folder / "out", cwd=folder)
    assert c.rc == 0 and c.out == b""
    assert [r["stdout"] for r in results((folder / "out").read_bytes())] == [f"{i}\n" for i in range(30)]


def times_of(file):
    return {t["line"]: t["latency_s"] for t in map(json.loads, file.read_text().splitlines())}


@pytest.mark.parametrize("opts", [[], ["--unordered"], ["--audit", "off"]])
def test_times_are_of_each_line(folder, opts):
    """From the line taken to the result written: never less than the program took, and in order no less than whoever it waits for."""
    slow = {"id": "slow", "argv": ["/bin/sleep", "0.6"]}
    begin = time.monotonic()
    c = batch([slow, *[echo(i) for i in range(5)], "not json"], "-j", 3, "--times", folder / "t", *opts)
    all_of_it = time.monotonic() - begin
    t = times_of(folder / "t")
    assert c.rc == 1 and sorted(t) == list(range(1, 8)) and len((folder / "t").read_text().splitlines()) == 7
    assert all(0 < v <= all_of_it for v in t.values()), (t, all_of_it)
    assert all(t[r["line"]] >= r["elapsed_s"] for r in c.results)
    assert t[1] >= 0.6 and (min(t.values()) < t[1] if "--unordered" in opts else min(t.values()) >= 0.3), t


def test_times_of_a_reader_that_is_slow(folder):
    """What he has taken is not said to have waited for what came later."""
    p = start("batch", "-", "-j", "1", "--audit", "off", "--times", folder / "t", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    p.stdin.write(lines(*[{"argv": ["/usr/bin/head", "-c", "90000", "/dev/zero"]} for _ in range(12)]))
    p.stdin.close()
    time.sleep(1)  # more are ready than a pipe holds
    first = b""
    while first.count(b"\n") < 1:
        first += p.stdout.read1(65536)
    assert wait_until(lambda: (folder / "t").exists() and 1 in times_of(folder / "t"), 10)
    time.sleep(1)
    rest = p.stdout.read()
    assert p.wait() == 0 and (first + rest).count(b"\n") == 12
    t = times_of(folder / "t")
    assert sorted(t) == list(range(1, 13)) and t[12] > t[1] + 0.9, t
    p.stdout.close()


def test_nothing_that_is_read_blocks_the_front(folder):
    """Files on their way out neither: others' results do not wait for them."""
    with Batch("-j", "4", "--unordered", "--audit", "off") as b:
        b.run(TRUE)
        front = b.p.pid
        line = b.send({"language": "python", "code": "for i in range(4000): open(f'f{i}', 'w').write('x' * 5000)", "get": ["**"]})
        blocking, seen = set(), set()
        end = time.monotonic() + seconds(60)
        while line not in b.results and time.monotonic() < end:
            for n in os.listdir(f"/proc/{front}/fd"):
                with contextlib.suppress(OSError):
                    link, flags = os.readlink(f"/proc/{front}/fd/{n}"), int(Path(f"/proc/{front}/fdinfo/{n}").read_text().split()[3], 8)
                    if link.startswith("pipe:") and flags & os.O_ACCMODE == os.O_RDONLY and int(n) > 2:
                        seen.add(link)
                        # those that are for the next run are not read, and one end of them is the guest's
                        if not flags & os.O_NONBLOCK and Path(f"/proc/{front}/syscall").read_text().startswith(f"0 {int(n):#x} "):
                            blocking.add((n, link))
        assert b.results[line]["success"] and len(b.results[line]["files"]) > 1000 and len(seen) >= 3, seen
        assert not blocking, blocking


def test_times_go_on_where_they_were_and_are_nobody_elses_file(folder):
    (folder / "in").write_bytes(lines(echo(0), echo(1)))
    own(folder / "in")
    assert run("batch", folder / "in", "--out", folder / "out", "--times", folder / "t").rc == 0
    c = run("batch", folder / "in", "--out", folder / "other", "--times", folder / "t")
    assert c.rc == 125 and "--times" in c.stderr and "has something in it" in c.stderr, c.stderr
    (folder / "in").write_bytes(lines(echo(0), echo(1), echo(2)))
    assert run("batch", folder / "in", "--out", folder / "out", "--times", folder / "t", "--resume").rc == 0
    assert sorted(times_of(folder / "t")) == [1, 2, 3]
    for same in ("in", "out"):
        c = run("batch", folder / "in", "--out", folder / "out", "--times", folder / same, "--resume")
        assert c.rc == 2 and "is the input or the output" in c.stderr, c.stderr


def test_an_output_with_something_in_it_is_not_overwritten(folder):
    (folder / "out").write_text("precious\n")
    own(folder / "out")
    c = batch([TRUE], "--out", folder / "out")
    assert c.rc == 125 and "--resume" in c.stderr and (folder / "out").read_text() == "precious\n"


@pytest.mark.parametrize("opts, status, word", [
    ((), 2, "no file"), (("a", "b"), 2, "one file"), (("--resume", "x"), 2, "--out"), (("-j", "0", "x"), 2, "range"), (("-j", "257", "x"), 2, "range"),
    (("/no/such/file",), 125, "/no/such/file"), (("/",), 125, "folder"), (("--unorderd", "x"), 2, "--unordered"), (("--files-from", "/no/such", "-"), 125, "/no/such"),
    (("--preload", "a,b c", "-"), 2, "module"), (("--out", "/no/such/x", "-"), 125, "/no/such/x"),
])
def test_usage(opts, status, word):
    c = run("batch", *opts)
    assert c.rc == status and word in c.stderr and c.out == b"", str(c)


def test_help_and_man_page_have_it():
    assert b"--unordered" in run("batch", "--help").out and b"batch" in run("--help").out


def test_a_reader_that_goes_away_ends_it():
    p = start("batch", "-", stdin=subprocess.PIPE)
    p.stdout.close()
    p.stdout = None
    c = finish(p, lines(*[echo(i) for i in range(50)]), timeout=30)
    assert c.rc == 125 and "write the results" in c.stderr


def test_a_reader_that_is_slow_gets_everything():
    n = 40
    p = start("batch", "-j", 4, "-", stdin=subprocess.PIPE)
    try:
        p.stdin.write(lines(*[{"code": "print('x' * 60000)"} for _ in range(n)]))
        p.stdin.close()
        time.sleep(seconds(1.5))
        out = p.stdout.read()
        assert p.wait(seconds(30)) == 0
        assert [len(r["stdout"]) for r in results(out)] == [60001] * n
    finally:
        p.stdin = None
        stop(p)


# ---- resuming ------------------------------------------------------------------------------------

def test_resume_skips_what_is_there(folder):
    (folder / "in").write_bytes(lines(*[echo(i) for i in range(10)]))
    (folder / "half").write_bytes(lines(*[echo(i) for i in range(0, 10, 2)]))
    assert run("batch", folder / "half", "--out", folder / "out").rc == 0
    before = (folder / "out").read_bytes()
    assert run("batch", folder / "in", "--resume", "--out", folder / "out").rc == 0
    after = (folder / "out").read_bytes()
    assert after.startswith(before) and [r["id"] for r in results(after[len(before):])] == [f"r{i}" for i in range(1, 10, 2)]
    assert run("batch", folder / "in", "--resume", "--out", folder / "out").rc == 0
    assert (folder / "out").read_bytes() == after


def test_resume_begins_a_new_file(folder):
    assert batch([echo(0)], "--resume", "--out", folder / "out").rc == 0
    assert len(results((folder / "out").read_bytes())) == 1


def test_resume_repairs_a_cut_line(folder):
    (folder / "in").write_bytes(lines(*[echo(i) for i in range(5)]))
    assert run("batch", folder / "in", "--out", folder / "out").rc == 0
    whole = (folder / "out").read_bytes()
    for cut in (len(whole) - 1, len(whole) - 200, whole.index(b"\n") + 1, 17, 0):
        (folder / "out").write_bytes(whole[:cut])
        c = run("batch", folder / "in", "--resume", "--out", folder / "out")
        assert c.rc == 0, str(c)
        assert [r["id"] for r in results((folder / "out").read_bytes())] == [f"r{i}" for i in range(5)], cut


def test_resume_knows_lines_without_an_id(folder):
    (folder / "in").write_bytes(lines(*[{"argv": ["/bin/echo", str(i)]} for i in range(4)]))
    assert run("batch", folder / "in", "--out", folder / "out").rc == 0
    (folder / "out").write_bytes(b"".join((folder / "out").read_bytes().splitlines(True)[:2]))
    assert run("batch", folder / "in", "--resume", "--out", folder / "out").rc == 0
    assert [r["line"] for r in results((folder / "out").read_bytes())] == [1, 2, 3, 4]


def test_resume_leaves_a_strangers_file_alone(folder):
    (folder / "out").write_text("my notes\nand more\n")
    own(folder / "out")
    c = batch([echo(0)], "--resume", "--out", folder / "out")
    assert c.rc == 125 and "line 1" in c.stderr and (folder / "out").read_text() == "my notes\nand more\n"


# ---- stopping ------------------------------------------------------------------------------------

@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_what_runs_end(folder, sig):
    traces = Traces()
    (folder / "in").write_bytes(lines(*[{"id": f"r{i}", "argv": ["/bin/sleep", "0.6"]} for i in range(40)]))
    p = start("batch", folder / "in", "-j", 4, "--out", folder / "out")
    try:
        assert wait_until(lambda: sum(st[0] == "sleep" for st in descendants(p.pid).values()) >= 4, 20)
        p.send_signal(sig)
        c = finish(p, timeout=20)
    finally:
        stop(p)
    assert c.rc == 130 and "stopping" in c.stderr, str(c)
    first = results((folder / "out").read_bytes())
    assert 4 <= len(first) < 40 and all(r["success"] for r in first)
    (folder / "in").write_bytes((folder / "in").read_bytes().replace(b"0.6", b"0"))
    assert run("batch", folder / "in", "--resume", "--out", folder / "out").rc == 0
    assert sorted(r["id"] for r in results((folder / "out").read_bytes())) == sorted(f"r{i}" for i in range(40))
    assert not traces.gone(5)


def test_a_second_signal_cancels(folder):
    (folder / "in").write_bytes(lines({"id": "quick", "argv": ["/bin/true"]}, *[{"id": f"r{i}", "argv": ["/bin/sleep", "60"]} for i in range(20)]))
    p = start("batch", folder / "in", "-j", 3, "--out", folder / "out")
    try:
        assert wait_until(lambda: sum(st[0] == "sleep" for st in descendants(p.pid).values()) >= 3, 20)
        p.send_signal(signal.SIGINT)
        time.sleep(seconds(0.3))
        assert p.poll() is None
        p.send_signal(signal.SIGINT)
        c = finish(p, timeout=15)
    finally:
        stop(p)
    r = results((folder / "out").read_bytes())
    assert c.rc == 130 and r[0]["id"] == "quick" and r[0]["success"]
    assert len(r) == 4 and {(x["status"], x["reason"]) for x in r[1:]} == {("killed", "cancelled")}
    # they never had their chance: --resume gives it to them
    (folder / "in").write_bytes((folder / "in").read_bytes().replace(b'"60"', b'"0"'))
    assert run("batch", folder / "in", "--resume", "--out", folder / "out").rc == 0
    last = {x["id"]: x["success"] for x in results((folder / "out").read_bytes())}
    assert len(last) == 21 and all(last.values())


def test_ps_and_kill_see_it(folder):
    (folder / "in").write_bytes(lines({"argv": ["/bin/sleep", "3"]}, TRUE))
    name = f"batch {folder}/in"
    p = start("batch", "-j", 1, folder / "in")
    try:
        assert wait_until(lambda: name in run("ps").stdout, 20)
        row = next(l for l in run("ps").stdout.splitlines() if name in l)
        assert run("kill", next(w for w in row.split() if w.startswith("exec-"))).rc == 0
        assert finish(p, timeout=20).rc == 130
    finally:
        stop(p)


def test_a_killed_keeper_is_an_error_of_every_run_and_nothing_hangs(folder):
    """The keeper of the pool is gone: no more is begun."""
    (folder / "in").write_bytes(lines(*[{"id": f"r{i}", "argv": ["/bin/sleep", "0.5"]} for i in range(40)]))
    p = start("batch", folder / "in", "-j", 4, "--out", folder / "out")
    try:
        assert wait_until(lambda: sum(st[0] == "sleep" for st in descendants(p.pid).values()) >= 4, 20)
        keeper = next(pid for pid, st in descendants(p.pid).items() if st[0] == "belljar-keeper" and st[2] == p.pid)
        os.kill(keeper, signal.SIGKILL)
        c = finish(p, timeout=20)
    finally:
        stop(p)
    assert c.rc == 125 and "keeper" in c.stderr, str(c)
    r = results((folder / "out").read_bytes())
    assert 4 <= len(r) < 40
    assert all(x["success"] or (x["status"], x["reason"]) == ("error", "internal") for x in r)


# ---- bounds --------------------------------------------------------------------------------------

def test_busy_answers_at_once():
    n = 60
    c = batch([{"id": f"r{i}", "argv": ["/bin/sleep", "0.2"]} for i in range(n)], "-j", 2, "--queue", 4, "--busy")
    assert c.rc == 1 and len(c.results) == n
    busy = [r for r in c.results if r["reason"] == "busy"]
    assert len(busy) >= n - 12 and all(r["status"] == "error" and "--queue" in r["hint"] for r in busy)
    assert sum(r["success"] for r in c.results) == n - len(busy) >= 4


def test_without_busy_it_waits():
    c = batch([echo(i) for i in range(60)], "-j", 2, "--queue", 1)
    assert c.rc == 0 and [r["stdout"] for r in c.results] == [f"{i}\n" for i in range(60)]


def test_a_client_that_floods_starves_nobody():
    flood = [{"id": f"f{i}", "client": "flood", "argv": ["/bin/sleep", "0.05"]} for i in range(60)]
    c = batch([*flood, {"id": "other", "client": "other", **TRUE}], "-j", 2, "--unordered")
    where = [r["id"] for r in c.results].index("other")
    assert c.rc == 0 and where < 20, where


def test_two_thousand_quick_lines():
    c = batch([echo(i) for i in range(2000)], "-j", 8, timeout=150)
    assert c.rc == 0 and [r["stdout"] for r in c.results] == [f"{i}\n" for i in range(2000)]


def peak_kb(n, folder):
    """Highest memory of the front over n lines that need no jar."""
    (folder / "in").write_bytes(b'{"id": "some-name", "cod": "print(1)"}\n' * n)
    with open(folder / "out", "wb") as out:
        p = start("batch", folder / "in", stdout=out, stderr=subprocess.DEVNULL)
        pid, status, usage = wait_until(lambda: (w := os.wait4(p.pid, os.WNOHANG))[0] and w, 30) or (0, 0, None)
        if pid:
            p.returncode = os.waitstatus_to_exitcode(status)
        stop(p)
    assert pid, "no end"
    assert p.returncode == 1 and (folder / "out").read_bytes().count(b"\n") == n
    return usage.ru_maxrss


@pytest.mark.skipif(has_sanitizer(), reason="sizes say nothing under a sanitizer")
def test_memory_does_not_grow_with_lines(folder):
    few, many = peak_kb(2000, folder), peak_kb(20000, folder)
    assert many < few + 1500, (few, many)


def peak_of_a_slow_reader_kb(n, folder):
    """The same for somebody who reads on and on, and never catches up."""
    with open(folder / "in", "wb") as f:
        for _ in range(n // 1000):
            f.write(b'{"id": "some-name", "cod": "print(1)"}\n' * 1000)
    p = start("batch", "--audit", "off", folder / "in", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    count = blocks = peak = 0
    while block := p.stdout.read1(4096):
        count += block.count(b"\n")
        blocks += 1
        for pid in (p.pid, *descendants(p.pid)) if blocks % 500 == 0 else ():
            with contextlib.suppress(OSError, StopIteration):
                peak = max(peak, next(int(l.split()[1]) for l in Path(f"/proc/{pid}/status").read_text().splitlines() if l.startswith("VmHWM")))
    assert p.wait() == 1 and count == n and peak
    p.stdout.close()
    stop(p)
    return peak


@pytest.mark.skipif(has_sanitizer(), reason="sizes say nothing under a sanitizer")
def test_memory_does_not_grow_with_a_slow_reader(folder):
    # The first is enough for all that may wait.
    few, many = peak_of_a_slow_reader_kb(50000, folder), peak_of_a_slow_reader_kb(250000, folder)
    assert many < few + 6000, (few, many)


def waiting_jars(pid):
    """Pid namespaces below a batch that are not ours."""
    found = set()
    for p in descendants(pid):
        try:
            found.add(os.readlink(f"/proc/{p}/ns/pid"))
        except OSError:
            continue
    return len(found - {os.readlink("/proc/self/ns/pid")})


@pytest.mark.skipif(not ROOT, reason="the build folder is root's")
def test_where_memory_is_short_no_jar_waits():
    """The spare ones go and are not made anew; runs are served all the same."""
    if not HOOKS.exists():
        pytest.skip("no build-hooks: make hooks")
    for guard, wanted in (("free_memory", 0), ("nothing", 4)):
        p = subprocess.Popen([str(HOOKS), "batch", "-j", "4", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "BELLJAR_UNSAFE_DISABLE": guard})
        try:
            for i in range(3):
                p.stdin.write(lines(echo(i)))
                p.stdin.flush()
                assert json.loads(p.stdout.readline())["stdout"] == f"{i}\n"
            assert wait_until(lambda: (waiting_jars(p.pid) == 0) == (wanted == 0) and waiting_jars(p.pid) >= wanted, 20)
            seen = []
            for _ in range(20):
                seen.append(waiting_jars(p.pid))
                time.sleep(0.1)
            assert max(seen) == 0 if wanted == 0 else min(seen) >= wanted, seen
        finally:
            p.stdin.close()
            p.wait(seconds(20))
            p.stdout.close()


# ---- warm and cold ------------------------------------------------------------------------------

def test_what_the_pool_cannot_serve_gets_a_keeper_of_its_own():
    show = {"code": "import os; print(os.getuid(), os.uname().nodename, os.environ.get('PYTHONPATH'))"}
    c = batch([show, {**show, "env": {"PYTHONPATH": "/x"}}, {**show, "uid": 2000}, {**show, "hostname": "other"}, {**show, "env": {"LD_BIND_NOW": "1"}},
               {**show, "env": {"PLAIN": "1"}}, {"language": "bash", "code": "echo $LD_BIND_NOW", "env": {"LD_BIND_NOW": "1"}}, {**show, "no_write": True}])
    assert c.rc == 0, c.stderr
    assert [r["stdout"] for r in c.results] == ["1000 jar None\n", "1000 jar /x\n", "2000 jar None\n", "1000 other None\n", "1000 jar None\n",
                                                "1000 jar None\n", "1\n", "1000 jar None\n"]
    assert {c.results[i]["start"] for i in (1, 2, 3, 4, 7)} == {"cold"}


# ---- what the front may not do -------------------------------------------------------------------

def test_a_disk_of_its_own():
    """Rootless the keeper cannot resize what is there: such a run gets a jar of its own instead of an error."""
    code = "import os; s = os.statvfs('/tmp'); print(s.f_blocks * s.f_frsize)"
    got = results(batch([{"code": code, "limits": {"disk_bytes": n << 20}} for n in (16, 100, 300)]).out)
    assert [int(r["stdout"]) >> 20 for r in got] == [16, 100, 300]


def test_the_front_is_confined():
    p = start("batch", "-", stdin=subprocess.PIPE)
    try:
        p.stdin.write(lines(echo(1)))
        p.stdin.flush()
        p.stdout.readline()
        status = dict(l.split(":\t", 1) for l in Path(f"/proc/{p.pid}/status").read_text().splitlines() if ":\t" in l)
        assert {int(status[k], 16) for k in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
        if ROOT:
            assert int(status["CapBnd"], 16) == 0
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    finally:
        stop(p)


def debug(**env):
    if not HOOKS.exists():
        pytest.skip("no build-hooks: make hooks")
    with tempfile.TemporaryDirectory() as state:  # without the guards it does remove receipts: not this host's
        env = {**os.environ, "BELLJAR_STATE_DIR": state, **env}
        subprocess.run([str(HOOKS), "run", "-q", "--", "true"], timeout=20, check=True, env={**env, "BELLJAR_UNSAFE_DISABLE": ""})
        assert (Path(state) / "receipts.db").exists()
        c = subprocess.run([str(HOOKS), "debug", "front-confined"], capture_output=True, text=True, timeout=20, env=env)
    return dict(l.split(" ", 1) for l in c.stdout.splitlines() if " " in l)


@pytest.mark.skipif(not ROOT, reason="the build folder is root's")
def test_a_front_that_was_taken_over_owns_nothing():
    got = debug()
    assert got.pop("open:log") == "ok" and got.pop("caps") == "0"
    assert len(got) >= 16 and {"write:receipts", "unlink:receipts", "write:notary"} <= set(got) and set(got.values()) <= {"EACCES", "EPERM"}, got


@pytest.mark.skipif(not ROOT, reason="the build folder is root's")
@pytest.mark.parametrize("off", ["core_limit", "core_socket"])
def test_a_core_helper_that_cannot_be_barred(off):
    """No warm jar is made, and no cold one either (KS-18)."""
    if not HOOKS.exists():
        pytest.skip("no build-hooks: make hooks")
    c = subprocess.run([str(HOOKS), "batch", "-"], input=lines({"argv": ["/bin/true"]}), capture_output=True, timeout=30,
                       env={**os.environ, "BELLJAR_UNSAFE_DISABLE": off})
    got, = results(c.stdout)
    assert b"core_pattern" in c.stderr, c.stderr
    assert (got["status"], got["reason"]) == ("error", "setup") and "core_pattern" in got["error"], got


@pytest.mark.skipif(not ROOT, reason="the build folder is root's")
def test_the_confinement_is_what_stops_it():
    assert debug(BELLJAR_UNSAFE_DISABLE="front_landlock")["open:/etc/passwd"] == "ok"
    off = debug(BELLJAR_UNSAFE_DISABLE="front_seccomp")
    assert off["execve"] == "EACCES" and off["open:/etc/passwd"] == "EACCES"


@pytest.mark.parametrize("field", ["ro", "workspace", "out", "file"])
def test_fields_that_name_paths_of_the_host_are_refused(field):
    r = batch([{"code": "1", field: ["/etc:/x"] if field == "ro" else "/etc"}]).results[0]
    assert r["status"] == "error" and f"'{field}'" in r["error"]


def test_sources_only_from_named_folders(folder):
    (folder / "data").mkdir()
    (folder / "data" / "a.txt").write_text("inside")
    (folder / "b.txt").write_text("outside")
    (folder / "data" / "link").symlink_to(folder / "b.txt")
    os.chmod(folder / "data", 0o755)
    ask = lambda *paths: [{"code": "print(open('x').read(), end='')", "files": [{"path": "x", "source": str(p)}]} for p in paths]  # noqa: E731
    c = batch(ask(folder / "data" / "a.txt"))
    assert "files.source" in c.results[0]["error"] and "--files-from" in c.results[0]["hint"]
    c = batch(ask(folder / "data" / "a.txt", folder / "b.txt", folder / "data" / ".." / "b.txt", folder / "data" / "link", "data/a.txt", "/etc/passwd"),
              "--files-from", folder / "data", cwd=folder)
    assert [r["success"] for r in c.results] == [True, False, False, False, False, False]
    assert c.results[0]["stdout"] == "inside" and all(r["error"] for r in c.results[1:])


def shown_on_a_terminal(*args):
    """What a terminal gets on standard error."""
    master, slave = os.openpty()
    p = start("batch", *args, stderr=slave)
    os.close(slave)
    shown = ""
    while True:
        try:
            piece = os.read(master, 65536).decode()
        except OSError:
            break
        shown += piece
    os.close(master)
    out = p.communicate(timeout=seconds(20))[0]
    stop(p)
    return out, shown


def test_progress_counts_results(put):
    """Not what was read ahead: the first of these takes a second, and all lines are read long before."""
    file = put("slow.jsonl", lines({"code": "import time; time.sleep(1.2)"}, *[echo(i) for i in range(9)]))
    out, shown = shown_on_a_terminal(file, "-j", "1")
    first = shown.split("\r")[1]
    assert len(results(out)) == 10 and first.startswith("[" + " " * 20 + "]   0% 0 of 10 done") and "ETA ?" in first, shown
    assert "10 of 10 done" in shown.split("\r")[-2] + shown.split("\r")[-1] and "100%" in shown, shown


def test_progress_is_for_terminals_only():
    c = batch([echo(1)])
    assert c.err == b""
    master, slave = os.openpty()
    p = start("batch", "-", stdin=subprocess.PIPE, stderr=slave)
    os.close(slave)
    out, _ = p.communicate(lines(*[echo(i) for i in range(5)]), timeout=seconds(20))
    shown = ""
    while True:  # a terminal gives what was written piece by piece, and EIO at its end
        try:
            piece = os.read(master, 65536).decode()
        except OSError:
            break
        shown += piece
        if not piece:
            break
    os.close(master)
    stop(p)
    assert len(results(out)) == 5 and "5 done" in shown and "0 failed" in shown
