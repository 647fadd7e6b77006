# SPDX-License-Identifier: Apache-2.0
"""What belljar keeps is bounded by itself: logs of outputs by size, age and number, code of receipts by size (docs/operator.md)."""
import fcntl
import json
import os
import signal
import sqlite3
import time

import pytest
from harness import finish, own, run, start, wait_until

M = 1 << 20
LOUD = f"import sys; sys.stdout.write('x' * {3 * M // 2})"


@pytest.fixture
def kept(box):
    """kept(settings): keywords for run() with a state folder and a user's file of the test's own."""
    def write(text=""):
        top = box / "config" / "belljar"
        top.mkdir(parents=True, exist_ok=True)
        (top / "config.yaml").write_text(text)
        (box / "state" / "logs").mkdir(parents=True, exist_ok=True)
        for p in box.rglob("*"):
            own(p)
        return {"env": {"XDG_CONFIG_HOME": str(box / "config"), "BELLJAR_STATE_DIR": str(box / "state")}}
    write.logs = box / "state" / "logs"
    write.state = box / "state"
    return write


def size(folder):
    return sum(p.stat().st_blocks * 512 for p in folder.iterdir() if p.name.startswith("exec-"))


def old_log(folder, name, days, text=b"old\n"):
    p = folder / name
    p.write_bytes(text)
    os.utime(p, (time.time() - days * 86400,) * 2)
    own(p)
    return p


# ---- logs ----------------------------------------------------------------------------------------

def test_logs_are_bounded_by_size(kept):
    kw = kept("logs:\n  max-size: 4M\n")
    paths = []
    for _ in range(7):
        c = run("run", "--json", "-c", LOUD, **kw).ok()
        paths.append(c["log"]["stdout"])
        assert size(kept.logs) <= 4 * M
    there = [os.path.exists(p) for p in paths]
    assert there[-1] and not there[0] and there == sorted(there), there  # the oldest went


def test_logs_of_a_batch_are_bounded_while_it_runs(kept):
    kw = kept("logs:\n  max-size: 4M\n")
    n, p = 24, start("batch", "-j", "2", "-q", "-", stdin=-1, **kw)
    most = 0
    for i in range(n):
        p.stdin.write(json.dumps({"code": LOUD}).encode() + b"\n")
        p.stdin.flush()
        p.stdout.readline()
        most = max(most, size(kept.logs))
    c = finish(p)
    assert c.rc == 0 and most <= 4 * M + 4 * 3 * M // 2, most  # and what is being written
    assert size(kept.logs) <= 4 * M


def test_logs_are_bounded_by_age_and_nothing_else_goes(kept, box):
    kw = kept("logs:\n  max-age: 5d\n")
    old, young = old_log(kept.logs, "exec-0123456789ab.stdout", 6), old_log(kept.logs, "exec-0123456789ac.stdout", 4)
    other, target = old_log(kept.logs, "notes.txt", 100), old_log(box, "target", 100)
    (kept.logs / "exec-link").symlink_to(target)
    run("run", "--", "true", **kw).ok()
    assert not old.exists() and young.exists() and other.exists() and target.exists() and (kept.logs / "exec-link").is_symlink()


def test_thirty_days_are_the_default(kept):
    kw = kept()
    old, young = old_log(kept.logs, "exec-0123456789ab.stdout", 31), old_log(kept.logs, "exec-0123456789ac.stdout", 29)
    run("run", "--", "true", **kw).ok()
    assert not old.exists() and young.exists()
    c = run("config", **kw)
    assert "logs.max-size        2G" in c.stdout and "logs.max-age         2592000s" in c.stdout and "receipts.code-max-size 1G" in c.stdout


def test_many_small_logs(kept):
    kw = kept()
    for i in range(20050):
        (kept.logs / f"exec-{i:012x}.stdout").write_bytes(b"x")
    os.utime(kept.logs / f"exec-{7:012x}.stdout", (1, 1))
    run("run", "--", "true", **kw).ok()
    left = [p for p in os.listdir(kept.logs) if p.startswith("exec-")]
    assert len(left) == 20000 and f"exec-{7:012x}.stdout" not in left


def test_once_a_minute(kept):
    """It is no work of each run."""
    kw = kept()
    run("run", "--", "true", **kw).ok()
    old = old_log(kept.logs, "exec-0123456789ab.stdout", 100)
    run("run", "--", "true", **kw).ok()
    assert old.exists()
    for text in ("0 0", "", "nonsense" * 20, f"{int(time.time()) + 10**6:020d} {0:020d}\n"):  # long ago, or a file that a crash left, or a clock that was put back
        old = old_log(kept.logs, "exec-0123456789ab.stdout", 100)
        (kept.logs / ".tidied").write_text(text)
        run("run", "--", "true", **kw).ok()
        assert not old.exists(), text


def test_a_log_that_is_written_stays(kept):
    kw = kept()
    used, old = old_log(kept.logs, "exec-0123456789ab.stdout", 100), old_log(kept.logs, "exec-0123456789ac.stdout", 100)
    with used.open("rb") as f:
        fcntl.flock(f, fcntl.LOCK_SH)
        run("run", "--", "true", **kw).ok()
    assert used.exists() and not old.exists()
    slow = start("run", "--json", "-c", LOUD + "; sys.stdout.flush(); import time; time.sleep(60)", **kw)
    try:
        log = wait_until(lambda: next((p for p in kept.logs.iterdir() if p.name.startswith("exec-") and p != used), None), 30)
        with log.open("rb") as f, pytest.raises(BlockingIOError):
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        slow.send_signal(signal.SIGTERM)
        finish(slow)


def test_many_at_once(kept):
    kw = kept("logs:\n  max-size: 4M\n")
    runs = [start("run", "--json", "-c", LOUD, **kw) for _ in range(8)]
    assert all(finish(p).ok() for p in runs)
    run("run", "--json", "-c", LOUD, **kw).ok()
    assert size(kept.logs) <= 4 * M + 3 * M // 2


def test_clean_still_says_what_it_does(kept):
    kw = kept()
    old_log(kept.logs, "exec-0123456789ab.stdout", 8)
    assert "would remove 1 of 1 logs" in run("clean", "--dry-run", **kw).stdout
    assert "removed 1 of 1 logs" in run("clean", **kw).stdout


# ---- code of receipts -----------------------------------------------------------------------------

def code(i):
    return f"# {i} {os.urandom(100 << 10).hex()}\nprint({i})\n"


def kept_bytes(state):
    with sqlite3.connect(f"file:{state}/receipts.db?mode=ro", uri=True) as db:
        return db.execute("SELECT sum(length(data)), sum(form <> 2), count(*) FROM code").fetchone()


SMALL = "receipts:\n  code-max-size: 1M\n"


def feed(codes, **kw):
    c = run("batch", "-q", "-j", "2", "-", input="".join(json.dumps({"code": x, "policy": "off"}) + "\n" for x in codes).encode(), **kw)
    assert c.rc == 0, str(c)
    return [json.loads(l) for l in c.stdout.splitlines()]


def test_code_is_bounded_and_receipts_verify(kept):
    kw = kept(SMALL)
    codes = [code(i) for i in range(40)]
    results = feed(codes, **kw)
    used, there, rows = kept_bytes(kept.state)
    assert used <= M and there < 25 and rows == 40, (used, there, rows)
    assert run("audit", "verify", **kw).rc == 0
    first, last = results[0]["execution_id"], results[-1]["execution_id"]
    assert run("audit", "code", last, **kw).out.decode() == codes[-1]
    c = run("audit", "code", first, **kw)
    assert c.rc == 1 and c.out == b"" and "removed for room" in c.stderr, str(c)
    feed(codes[:1], **kw)  # it comes again, and is kept again
    assert run("audit", "code", first, **kw).out.decode() == codes[0]
    assert run("audit", "verify", **kw).rc == 0
    assert (kept.state / "receipts.db").stat().st_size < 8 * M


def test_code_of_run_is_bounded(kept, put):
    kw = kept(SMALL)
    for i in range(16):
        run("run", put("x.py", code(i)), **kw).ok()
        assert kept_bytes(kept.state)[0] <= M
    assert run("audit", "verify", **kw).rc == 0 and kept_bytes(kept.state)[2] == 16


def test_code_that_is_gone_without_a_mark_is_still_told(kept):
    kw = kept(SMALL)
    feed([code(0)], **kw)
    with sqlite3.connect(kept.state / "receipts.db") as db:
        db.execute("DELETE FROM code")
    c = run("audit", "verify", **kw)
    assert c.rc == 1 and "is gone" in c.stdout + c.stderr, str(c)


def test_the_log_of_the_database_is_given_back(kept):
    kw = kept()
    feed([f"# {os.urandom(12 * M).hex()}\nprint(1)\n" for _ in range(2)], **kw)
    assert (kept.state / "receipts.db-wal").stat().st_size <= 9 * M


def test_two_batches_and_a_kill(kept):
    """Whoever trims, and whenever it dies: what is there verifies."""
    kw = kept(SMALL)
    text = "".join(json.dumps({"code": code(i), "policy": "off"}) + "\n" for i in range(60)).encode()
    two = [start("batch", "-q", "-j", "2", "-o", f"{kept.state}/out{k}", "-", stdin=-1, **kw) for k in range(2)]
    for p in two:
        p.stdin.write(text)
        p.stdin.close()
        p.stdin = None
    wait_until(lambda: os.path.exists(f"{kept.state}/out0") and os.path.getsize(f"{kept.state}/out0") > 10000, 30)
    os.killpg(two[0].pid, signal.SIGKILL)
    finish(two[0])
    assert finish(two[1]).rc == 0
    c = run("audit", "verify", **kw)
    assert c.rc == 0, str(c)
    feed([code(99)], **kw)
    assert kept_bytes(kept.state)[0] <= M + (256 << 10)


# ---- doctor ---------------------------------------------------------------------------------------

def test_doctor_shows_them(kept):
    kw = kept("logs:\n  max-size: 4M\n  max-age: 5d\n" + SMALL)
    run("run", "--json", "-c", LOUD, **kw).ok()
    rows = {r["feature"]: r for r in json.loads(run("doctor", "--json", **kw).stdout)}
    assert rows["logs"]["state"] == "ok" and "in 1 logs" in rows["logs"]["text"] and "4M, 5 days" in rows["logs"]["text"], rows["logs"]
    assert rows["receipts"]["state"] == "ok" and "1 texts" in rows["receipts"]["text"] and "kept of code: 1M" in rows["receipts"]["text"], rows["receipts"]


@pytest.mark.parametrize("text,names", [("logs: 5\n", "logs"), ("logs:\n  max-size: 5\n", "max-size"), ("logs:\n  max-sise: 5M\n", "max-sise"), ("receipts:\n  code-max-size: many\n", "code-max-size")])
def test_bad_settings(text, names, kept):
    c = run("run", "--", "echo", "started", **kept(text))
    assert c.rc in (2, 125) and c.out == b"" and names in c.stderr, str(c)
