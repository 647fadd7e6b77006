# SPDX-License-Identifier: Apache-2.0
"""Receipts: every request leaves one, nobody changes one unseen, none that was acknowledged is lost, and without one nothing runs."""
import base64
import contextlib
import fcntl
import functools
import hashlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from harness import BASE, BELLJAR, ROOT, TEST_USER, descendants, environment, as_user, finish, own, run, seconds, start, stop, wait_until

TAG = b"belljar receipt v1\n"


class State:
    """A state folder of the test's own."""

    def __init__(self, path):
        self.path = Path(path)
        self.env = {"BELLJAR_STATE_DIR": str(self.path)}
        self.db = self.path / "receipts.db"

    def run(self, *args, **kw):
        return run(*args, env={**self.env, **kw.pop("env", {})}, **kw)

    def jar(self, *args, **kw):
        return self.run("run", "--json", *args, **kw)

    def batch(self, requests, *opts, **kw):
        text = "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in requests).encode()
        c = self.run("batch", *opts, "-", input=text, **kw)
        c.results = [json.loads(line) for line in c.out.splitlines()]
        return c

    def fill(self, n=8):
        """n receipts, signed."""
        c = self.batch([{"argv": ["/bin/true"], "client": f"c{i}"} for i in range(n)])
        assert c.rc == 0, str(c)

    def sql(self, *statements):
        with contextlib.closing(sqlite3.connect(self.db)) as db:
            for s in statements:
                db.execute(*s) if isinstance(s, tuple) else db.execute(s)
            db.commit()
        for f in self.path.glob("receipts.db*"):
            own(f)

    def rows(self, sql="SELECT seq, id, hash, body FROM receipt ORDER BY seq"):
        with contextlib.closing(sqlite3.connect(self.db)) as db:
            rows = db.execute(sql).fetchall()
        for f in self.path.glob("receipts.db*"):
            own(f)
        return rows

    def verify(self, *opts):
        c = self.run("audit", "verify", "--json", *opts)
        assert c.rc in (0, 1) and c.result["ok"] == (c.rc == 0), str(c)
        return c.result

    def red(self, kind, seq=None, *opts):
        """Verify finds this kind, of this receipt."""
        found = self.verify(*opts)["findings"]
        assert any(f["kind"] == kind and seq in (None, f["seq"]) for f in found), found
        return found

    def green(self, *opts):
        v = self.verify(*opts)
        assert v["ok"], v
        return v

    def copy(self, name):
        to = self.path.parent / name  # or an absolute path
        shutil.copytree(self.path, to)
        for f in (to, *to.rglob("*")):
            own(f)
        return State(to)


@pytest.fixture
def state(box):
    return State(box / "state")


@functools.cache
def eight():
    """Eight signed receipts: made once, copied by each test."""
    top = BASE / "eight"
    top.mkdir()
    own(top)
    s = State(top / "state")
    s.fill()
    return s


@pytest.fixture
def filled(box):
    """A state folder with eight signed receipts, and an anchor."""
    s = eight().copy(box / "state")
    return s, s.run("audit", "anchor").stdout


def hash_of(body):
    return hashlib.sha256(TAG + body.encode()).digest()


# ---- what a receipt holds -------------------------------------------------------------------------

def sha(data):
    return hashlib.sha256(data).hexdigest()


def test_a_receipt_binds_what_went_in_and_what_came_out(state, put):
    code = "import sys; print(sys.stdin.read() + 'x' * 300000); sys.exit(3)"
    data = put("data.txt", "some data")
    c = state.jar("-c", code, "--stdin", "-", "--file", data, "--client", "me", "--id", "mine", "--arg", "a", "--arg", "b c", "-m", "128M", input=b"hello")
    r = json.loads(state.run("audit", "show", c["execution_id"]).out)
    got = r["receipt"]
    assert c["receipt"] == {"seq": r["seq"], "hash": r["hash"]} and r["seq"] == 1
    assert (got["id"], got["client"], got["request_id"], got["language"]) == (c["execution_id"], "me", "mine", "python")
    assert (got["status"], got["reason"], got["exit_code"], got["signal"]) == ("completed", "exited", 3, None)
    assert got["code"] == {"bytes": len(code), "kept": True, "sha256": sha(code.encode())}
    assert got["files"]["list"] == [{"path": "data.txt", "sha256": sha(b"some data")}] and got["files"]["count"] == 1
    assert got["stdin"] == {"bytes": 5, "sha256": sha(b"hello")}
    # All of it, not what the result shows of it.
    whole = b"hello" + b"x" * 300000 + b"\n"
    assert c["truncated"] and got["stdout"] == {"bytes": len(whole), "sha256": sha(whole)}
    assert got["args"] == {"count": 2, "sha256": sha(b"a\0b c\0")}
    assert got["limits"]["memory_bytes"] == 128 << 20 and got["isolation"]["mode"] == ("root" if ROOT else "rootless")
    assert got["prev"] == "0" * 64 and got["v"] == 1 and got["belljar"] == run("--version").stdout.split()[1]
    assert got["elapsed_ns"] > 0 and got["max_memory_bytes"] > 0 and got["time"].endswith("Z")
    assert state.run("audit", "code", c["execution_id"]).out == code.encode()
    # The bytes that docs/receipts.md says are hashed.
    (seq, ident, digest, body), = state.rows()
    assert hash_of(body) == digest and digest.hex() == r["hash"]
    assert json.dumps(json.loads(body), sort_keys=True, separators=(",", ":"), ensure_ascii=False) == body
    assert oct(state.db.stat().st_mode & 0o777) == "0o600"


def test_output_is_hashed_live_too(state):
    c = state.run("run", "-c", "import os; os.write(1, b'abc'); os.write(2, bytes(range(256)))", "--id", "live")
    assert c.out == b"abc"
    body = json.loads(state.rows()[0][3])
    assert body["stdout"]["sha256"] == sha(b"abc") and body["stderr"]["sha256"] == sha(bytes(range(256)))


def test_refused_requests_leave_one_too(state):
    c = state.batch(["{", {"cod": 1}, {"argv": ["/no/such"]}, {"argv": ["/bin/true"], "network": "host"}, {"code": "print(1)"}])
    assert [r["status"] for r in c.results] == ["error"] * 4 + ["completed"]
    assert len({r["receipt"]["seq"] for r in c.results}) == 5
    reasons = {r["receipt"]["seq"]: r["reason"] for r in c.results}
    bodies = [json.loads(b) for _, _, _, b in state.rows()]
    assert [b["reason"] for b in bodies] == [reasons[i] for i in range(1, 6)] and "policy" in reasons.values()
    assert all(b["error"] for b in bodies if b["status"] == "error")
    # A request by --request, and a file that is not there: requests. A wrong command line: none.
    assert state.run("run", "--request", "-", input=b'{"cod": 1}').rc == 2
    assert state.run("run", "/no/such/file.py").rc == 125
    assert state.run("run", "--no-such-option").rc == 2 and state.run("run").rc == 2 and state.run("run", "--dry-run", "-c", "1").rc == 0
    assert len(state.rows()) == 7
    state.green()


def test_code_is_kept_once_and_not_at_all(state):
    code = "print('long enough to be packed')\n" * 50
    state.batch([{"code": code}, {"code": code}, {"code": "print(2)"}, {"code": "secret = 1", "no_keep_code": True}])
    kept = state.rows("SELECT bytes, length(data) FROM code")
    assert sorted(b for b, _ in kept) == [8, len(code)] and min(p for b, p in kept if b > 8) < len(code) / 4
    body = next(json.loads(b) for *_, b in state.rows() if '"kept":false' in b)
    c = state.run("audit", "code", body["id"])
    assert c.rc == 1 and not c.out and "not kept" in c.stderr
    assert state.run("audit", "code", "exec-nothing").rc == 1
    state.run("run", "--no-keep-code", "-c", "x = 3")
    assert len(state.rows("SELECT 1 FROM code")) == 2
    state.green()


def test_filters(state):
    state.batch([{"code": "1"}, {"language": "bash", "code": "exit 2", "client": "a'b"}, {"argv": ["/bin/true"], "client": "c"}, "{"])

    def seqs(*opts):
        return [r["seq"] for r in state.run("audit", "list", "--json", *opts).result]
    assert len(seqs()) == 4 and len(seqs("-n", "2")) == 2
    assert len(seqs("--status", "error")) == 1 and len(seqs("--reason", "exited")) == 3
    assert len(seqs("--language", "bash")) == 1 and len(seqs("--client", "a'b")) == 1 and not seqs("--client", "x' OR 1")
    assert len(seqs("--hash", sha(b"1"))) == 1 and len(seqs("--since", "1h")) == 4 and not seqs("--until", "1h") and not seqs("--since", "2100-01-01")
    assert state.run("audit", "list", "--since", "yesterday-ish").rc == 2
    assert state.run("audit", "list").stdout.count("\n") == 5


def test_names_that_fill_a_receipt(state):
    """Strangers choose names: the receipt stays small, and the digest has them all."""
    files = [{"path": f"{i:04d}" + "/\x01" * 1200, "content": "x"} for i in range(250)]
    c = state.batch([{"argv": ["/bin/true"], "files": files, "client": "\x01" * 10000}, {"argv": ["/bin/true"]}])
    assert c.rc in (0, 1) and len(c.results) == 2 and all(r["receipt"]["seq"] for r in c.results), str(c)[:500]
    state.green()


def test_a_state_folder_behind_a_link(box):
    (box / "real").mkdir()
    own(box / "real")
    (box / "link").symlink_to(box / "real")
    s = State(box / "link" / "state")
    s.fill(1)
    assert s.jar("--", "true")["receipt"]["seq"] == 2
    s.green()


def test_a_terminal_is_not_steered_by_a_client(state):
    state.run("run", "--client", "\x1b[2Jx\nfake", "--", "true")
    out = state.run("audit", "list").out
    assert b"\x1b" not in out and out.count(b"\n") == 2


# ---- tampering ------------------------------------------------------------------------------------

def rechain(rows, db):
    """Writes these (seq, body object) rows as a chain that is sound in itself."""
    prev = bytes(32)
    for seq, body in rows:
        body["seq"], body["prev"] = seq, prev.hex()
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        prev = hash_of(text)
        db.execute("UPDATE receipt SET body = ?, hash = ?, status = ?, id = ? WHERE seq = ?", (text, prev, body["status"], body["id"], seq))


def edit_body(s):
    s.sql("UPDATE receipt SET body = replace(body, '\"exit_code\":0', '\"exit_code\":1') WHERE seq = 4")


def edit_body_and_hash(s):
    body = s.rows()[3][3].replace('"exit_code":0', '"exit_code":1')
    s.sql(("UPDATE receipt SET body = ?, hash = ? WHERE seq = 4", (body, hash_of(body))))


def edit_to_nonsense(s):
    s.sql("UPDATE receipt SET body = 'x' WHERE seq = 4")


def edit_column(s):
    s.sql("UPDATE receipt SET client = 'another' WHERE seq = 4")


def edit_and_rechain(s):
    with contextlib.closing(sqlite3.connect(s.db)) as db:
        rows = [(q, json.loads(b)) for q, b in db.execute("SELECT seq, body FROM receipt ORDER BY seq")]
        rows[3][1]["exit_code"] = 1
        rechain(rows, db)
        db.commit()


def remove(s):
    s.sql("DELETE FROM receipt WHERE seq = 4")


def remove_first(s):
    s.sql("DELETE FROM receipt WHERE seq <= 3")


def remove_and_renumber(s):
    s.sql("DELETE FROM receipt WHERE seq = 4", "UPDATE receipt SET seq = seq - 1 WHERE seq > 4")


def reorder(s):
    s.sql("UPDATE receipt SET seq = -4 WHERE seq = 4", "UPDATE receipt SET seq = 4 WHERE seq = 5", "UPDATE receipt SET seq = 5 WHERE seq = -4")


def insert(s):
    """A receipt of one's own between the fourth and the fifth, with a body and a hash that fit."""
    rows = s.rows()
    body = json.loads(rows[4][3])
    body["id"], body["seq"], body["prev"] = "exec-000000000000", 5, rows[3][2].hex()
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    s.sql("UPDATE receipt SET seq = -seq - 1 WHERE seq >= 5", "UPDATE receipt SET seq = -seq WHERE seq < 0",
          ("INSERT INTO receipt SELECT 5, 'exec-000000000000', time, client, language, status, reason, code, ?, ? FROM receipt WHERE seq = 6", (hash_of(text), text)))


def truncate(s):
    s.sql("DELETE FROM receipt WHERE seq > 5")


def truncate_with_checkpoints(s):
    s.sql("DELETE FROM receipt WHERE seq > 5", "DELETE FROM checkpoint")


@pytest.mark.parametrize("how, kind, seq", [
    (edit_body, "edited", 4), (edit_body_and_hash, "edited", 4), (edit_to_nonsense, "edited", 4), (edit_column, "edited", 4), (edit_and_rechain, "rewritten", None), (remove, "removed", 4),
    (remove_first, "removed", 1), (remove_and_renumber, "removed", 4), (reorder, "reordered", 4), (insert, "inserted", 5), (truncate, "truncated", 6),
    (truncate_with_checkpoints, "truncated", 6)], ids=lambda v: getattr(v, "__name__", ""))
def test_tampering_is_found(filled, how, kind, seq):
    state, anchor = filled
    state.green("--anchor", anchor)
    how(state)
    found = state.red(kind, seq)
    if kind in ("reordered", "removed", "edited") and how not in (edit_body_and_hash, edit_to_nonsense):
        # One trick, not a storm of findings.
        assert len(found) <= 3, found
    if kind == "reordered":
        assert {f["seq"] for f in found if f["kind"] == "reordered"} == {4, 5}
    # And nothing more is signed on top of it below the last checkpoint.
    c = state.run("audit", "checkpoint")
    if kind == "truncated":
        assert c.rc == 125 and "the notary has signed receipt 8" in c.stderr, str(c)
    if how is edit_and_rechain:
        assert c.rc == 125 and "refuses to sign" in c.stderr, str(c)
    assert state.run("audit", "prune", "--before", "2100-01-01").rc == 125


def test_an_old_copy_of_the_database_is_found(state):
    state.fill(3)
    old = {f.name: f.read_bytes() for f in state.path.glob("receipts.db*")}
    state.fill(3)
    anchor = state.run("audit", "anchor").stdout
    for f in state.path.glob("receipts.db*"):
        f.unlink()
    for name, data in old.items():
        (state.path / name).write_bytes(data)
        own(state.path / name)
    state.red("truncated", 4)
    # The chain goes on from there, and what comes of it is never signed as the same chain.
    c = state.batch([{"argv": ["/bin/true"]}] * 5)
    assert "the notary refuses" in c.stderr, c.stderr
    state.red("rewritten")
    # All of the state folder gone back: only an anchor that was kept elsewhere knows.
    c = state.run("audit", "verify", "--anchor", anchor)
    assert c.rc == 1


def test_a_whole_folder_gone_back_needs_an_anchor(state):
    state.fill(3)
    old = state.copy("old")
    state.fill(3)
    anchor = state.run("audit", "anchor").stdout
    old.green()
    old.red("truncated", 4, "--anchor", anchor)
    state.green("--anchor", anchor)


def test_another_key(filled):
    state, anchor = filled
    pub = state.path.parent / "old.pub"
    pub.write_text(state.run("audit", "key").stdout)
    own(pub)
    shutil.rmtree(state.path / "notary")
    # The folder is gone: a new key is made, and what the old one signed is not trusted without it.
    state.red("key")
    assert state.run("run", "-q", "--", "true").rc == 0
    state.run("audit", "checkpoint")
    assert state.run("audit", "key").stdout != pub.read_text()
    state.red("key")
    state.green("--key", pub)


def test_the_notarys_file_is_gone(filled):
    state, _ = filled
    (state.path / "notary" / "checkpoint").unlink()
    state.red("notary")
    c = state.run("audit", "checkpoint")
    assert c.rc == 125 and "its last checkpoint is gone" in c.stderr
    # Runs go on, and say it.
    state.sql("DELETE FROM checkpoint")
    c = state.run("run", "--", "true")
    assert c.rc == 0 and "not signed" in c.stderr
    c = state.run("audit", "checkpoint", "--adopt")
    assert c.rc == 0, str(c)
    state.green()


def test_a_forged_notarys_file(filled):
    state, _ = filled
    f = state.path / "notary" / "checkpoint"
    data = bytearray(f.read_bytes())
    data[8] = 3  # seq
    f.write_bytes(data)
    state.red("signature")
    c = state.run("audit", "checkpoint")
    assert c.rc == 125 and "not one that it has signed" in c.stderr


def test_damaged_code(state):
    state.batch([{"code": "print('x')\n" * 100}, {"code": "print(2)"}])
    state.sql("UPDATE code SET data = x'00', form = 0 WHERE bytes = 8")
    state.red("code")
    state.sql("DELETE FROM code")
    assert {f["kind"] for f in state.red("code")} == {"code"}


# ---- third parties --------------------------------------------------------------------------------

def test_an_export_is_verified_with_the_key_alone(filled, box):
    state, anchor = filled
    export, pub = box / "x.jsonl", box / "pub.pem"
    pub.write_text(state.run("audit", "key").stdout)
    export.write_bytes(state.run("audit", "export").out)
    own(pub), own(export)
    nowhere = {"BELLJAR_STATE_DIR": str(box / "nowhere")}

    def check(text, *opts):
        export.write_bytes(text)
        return run("audit", "verify", "--json", "--export", export, "--key", pub, *opts, env=nowhere)
    text = export.read_bytes()
    c = check(text)
    assert c.rc == 0 and c["receipts"] == 8 and c["signed"] == 8, str(c)
    lines = text.splitlines(keepends=True)
    first = next(i for i, l in enumerate(lines) if b'"type":"receipt"' in l)
    assert check(text.replace(b'\\"exit_code\\":0', b'\\"exit_code\\":7', 1))["findings"][0]["kind"] == "edited"
    assert check(b"".join(lines[:first + 2] + lines[first + 3:]))["findings"][0] ["kind"] == "removed"
    assert check(b"".join(lines[:-1]))["findings"][0]["kind"] == "truncated"
    assert check(b"".join(lines[:first + 1] + [lines[first]] + lines[first + 1:]))["findings"][0]["kind"] == "inserted"
    swapped = lines[:first + 2] + [lines[first + 3], lines[first + 2]] + lines[first + 4:]
    assert check(b"".join(swapped)).rc == 1
    assert check(b"").rc == 125 and check(b"{}\n").rc == 125 and check(lines[-1]).rc == 125
    assert check(b"".join(l for l in lines if b"checkpoint" not in l), "--anchor", anchor).rc == 0
    # Without a key that is trusted it proves nothing.
    assert run("audit", "verify", "--export", export, env=nowhere).rc == 2
    other = State(box / "other")
    other.fill(1)
    wrong = box / "wrong.pem"
    wrong.write_text(other.run("audit", "key").stdout)
    own(wrong)
    export.write_bytes(text)
    c = run("audit", "verify", "--json", "--export", export, "--key", wrong, env=nowhere)
    assert c.rc == 1 and c["findings"][0]["kind"] == "key"
    # Not all need to be shown: the rest stands as its hash.
    c = check(state.run("audit", "export", "--client", "c3").out)
    assert c.rc == 0 and (c["receipts"], c["digests"]) == (1, 7)


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl")
def test_the_recipe_of_the_documentation(filled, box):
    """docs/receipts.md, followed by hand with nothing of belljar's: sha256 and openssl."""
    state, _ = filled
    lines = [json.loads(l) for l in state.run("audit", "export").out.splitlines()]
    head, prev = bytes(32), bytes(32)
    heads = {}
    for r in (l for l in lines if l["type"] == "receipt"):
        assert json.loads(r["body"])["prev"] == prev.hex()
        prev = hashlib.sha256(TAG + r["body"].encode()).digest()
        assert prev.hex() == r["hash"]
        head = hashlib.sha256(b"belljar head v1\n" + head + prev).digest()
        heads[r["seq"]] = head.hex(), prev.hex()
    (box / "pub").write_text(lines[0]["key"])
    done = 0
    for c in (l for l in lines if l["type"] == "checkpoint" and l["seq"]):
        assert heads[c["seq"]] == (c["head"], c["receipt"])
        (box / "msg").write_text("belljar checkpoint v1\n%d\n%s\n%s\n%d\n%s\n" % (c["seq"], c["head"], c["receipt"], c["time_ms"], c["key"]))
        (box / "sig").write_bytes(bytes.fromhex(c["signature"]))
        subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", box / "pub", "-rawin", "-in", box / "msg", "-sigfile", box / "sig"], check=True,
                       capture_output=True)
        done += 1
    assert done
    raw = base64.b64decode(lines[0]["key"].splitlines()[1])[-32:]
    assert hashlib.sha256(raw).hexdigest()[:16] == c["key"]


# ---- pruning --------------------------------------------------------------------------------------

def test_pruning_keeps_the_chain(state):
    state.batch([{"code": f"print({i}) # " + "x" * 50} for i in range(6)])
    time.sleep(0.05)
    middle = time.time()
    time.sleep(0.05)
    state.batch([{"code": f"print({i}) # " + "x" * 50} for i in range(4, 10)])
    assert "would be pruned" in state.run("audit", "prune", "--dry-run", "--before", "2100-01-01").stdout
    when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(middle)) + ".%03dZ" % (middle % 1 * 1000)
    c = state.run("audit", "prune", "--before", when)
    assert c.rc == 0 and "receipts 1 to 6 (6), 4 of the codes" in c.stdout, str(c)
    v = state.green()
    assert v["first"] == 7 and v["last"] == 12 and v["pruned"] == 6
    assert "receipts 1 to 6 were pruned" in state.run("audit", "verify").stdout
    assert b"print(1)" not in state.db.read_bytes()
    assert state.run("audit", "prune", "--before", when).stdout == "nothing to prune\n"
    # It goes on, is pruned again, and the last one always stays.
    state.batch([{"argv": ["/bin/true"]}])
    assert state.run("audit", "prune", "--before", "2100-01-01").rc == 0
    assert state.green()["first"] == 13
    assert state.jar("--", "true")["receipt"]["seq"] == 14
    state.run("audit", "checkpoint")
    state.green()
    # The record is signed: without it the beginning is missing, and another's boundary does not fit.
    saved = state.rows("SELECT text FROM prune")
    state.sql("DELETE FROM prune")
    state.red("removed", 1)
    state.sql(("INSERT INTO prune(text) VALUES(?)", (saved[1][0].replace('"seq":12', '"seq":11'),)))
    state.red("signature")


def test_clean_keeps_receipts(state):
    state.fill(2)
    assert state.run("clean", "--older", "0s").rc == 0
    assert state.green()["receipts"] == 2


# ---- when it cannot be kept -----------------------------------------------------------------------

MARK = "import sys; open('/workspace/ran', 'w').write('x'); print('ran')"


@contextlib.contextmanager
def locked(state):
    db = sqlite3.connect(state.db, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        db.execute("ROLLBACK")
        db.close()


def test_a_locked_database(state):
    state.fill(1)
    with locked(state):
        tries = [start("run", "--json", *opts, "-c", MARK, env=state.env) for opts in ([], ["--audit", "best-effort"], ["--audit", "off"])]
        tries.append(start("batch", "-", env=state.env))
        c, effort, off, many = map(finish, tries)
        assert c.rc == 125 and c.verdict == "error/setup" and c["stdout"] == "" and "locked" in c["error"] and "best-effort" in c["hint"], str(c)
        assert effort.rc == 0 and effort["stdout"] == "ran\n" and "locked" in effort["receipt"]["error"]
        assert off.rc == 0 and off["receipt"] is None
        assert many.rc == 125 and not many.out and "locked" in many.stderr
    assert state.jar("--", "true")["receipt"]["seq"] == 2
    state.green()


def test_a_state_folder_that_cannot_be_written(box):
    f = box / "file"
    f.write_text("")
    own(f)
    s = State(f / "state")
    c = s.jar("-c", MARK)
    assert c.rc == 125 and c["status"] == "error" and c["stdout"] == "", str(c)
    s = State(box / "state")
    s.fill(1)
    s.db.chmod(0o400)
    if not ROOT:  # root may write it nevertheless
        c = s.jar("-c", MARK)
        assert c.rc == 125 and c["stdout"] == "" and "cannot be" in c["error"], str(c)
        c = s.jar("--audit", "best-effort", "-c", MARK)
        assert c.rc == 0 and c["receipt"]["error"]


@pytest.mark.skipif(not ROOT, reason="only root can mount a small disk")
def test_a_full_disk(box):
    """A tmpfs of its own as state folder, full before; and full by the time that the receipt is written."""
    d = box / "disk"
    d.mkdir()
    requests = box / "in"
    requests.write_text('{"code": "print(1)"}\n' * 3)
    script = r'''
mount -t tmpfs -o size=3m none "$1" && export BELLJAR_STATE_DIR="$1/state"
"$0" run --json -- true; echo "rc $?"
dd if=/dev/zero of="$1/fill" bs=4k 2>/dev/null
"$0" run --json -- true; echo "rc $?"
"$0" run --json --audit best-effort -- true; echo "rc $?"
"$0" batch "$2"; echo "rc $?"
rm "$1/fill"; dd if=/dev/zero of="$1/fill" bs=4k count=100 2>/dev/null
(sleep 0.7; dd if=/dev/zero of="$1/fill" bs=4k oflag=append conv=notrunc 2>/dev/null) & "$0" run --json -- sleep 1.5; echo "rc $?"; wait
rm "$1/fill"
"$0" run --json -- true; echo "rc $?"
"$0" audit verify; echo "rc $?"
'''
    p = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, str(BELLJAR), str(d), str(requests)], capture_output=True, text=True,
                       timeout=seconds(60), env=environment(""))
    parts = re.split(r"^rc (\d+)\n", p.stdout, flags=re.M)
    out, codes = parts[:-1:2], [int(c) for c in parts[1::2]]
    first, full, effort, batch, later, after = (json.loads(t) if t.strip().startswith("{") else None for t in out[:6])
    assert codes == [0, 125, 0, 125, 125, 0, 0], (codes, p.stdout, p.stderr)
    assert first["receipt"]["seq"] == 1
    assert full["status"] == "error" and full["reason"] == "setup" and "room" in full["error"]
    assert effort["success"] and "room" in effort["receipt"]["error"]
    assert batch is None and "room" in p.stderr
    assert later["status"] == "error" and later["reason"] == "internal" and "could not be kept" in later["error"] and later["receipt"]["error"]
    assert after["receipt"]["seq"] == 2
    assert "sound: 2 receipts" in out[6]


def test_the_mode_is_nobodys_but_the_operators(state, put, box):
    put(".belljar.yaml", "audit: off\n")
    c = state.run("run", "--", "true", cwd=box)
    assert c.rc == 125 and "audit" in c.stderr
    put(".belljar.yaml", "keep-code: false\n")
    assert state.run("run", "--", "true", cwd=box).rc == 125
    c = state.batch([{"argv": ["/bin/true"], "audit": "off"}])
    assert c.rc == 1 and "unknown field 'audit'" in c.results[0]["error"]
    assert state.run("run", "--audit", "maybe", "--", "true").rc == 2
    config = box / "config"
    (config / "belljar").mkdir(parents=True, exist_ok=True)
    (config / "belljar" / "config.yaml").write_text("audit: off\nkeep-code: false\n")
    for f in (config, *config.rglob("*")):
        own(f)
    c = state.jar("-c", "print(1)", env={"XDG_CONFIG_HOME": str(config)})
    assert c["receipt"] is None
    c = state.jar("-c", "print(1)", "--audit", "required", env={"XDG_CONFIG_HOME": str(config)})
    assert c["receipt"]["seq"] and not state.rows("SELECT 1 FROM code")


# ---- who can reach it -----------------------------------------------------------------------------

def test_a_guest_cannot_reach_it(state):
    state.fill(1)
    before = {f.name: f.stat().st_mtime_ns for f in state.path.glob("*.db")}
    where = str(state.path)
    code = ("import os\nfor p in (%r, %r + '/receipts.db', %r + '/notary/key', '/var/lib/belljar'):\n"
            "    for how in (os.O_RDONLY, os.O_RDWR | os.O_CREAT):\n"
            "        try: os.open(p, how); print('REACHED', p)\n"
            "        except OSError as e: print(e.errno)\n" % (where, where, where))
    c = state.batch([{"code": code}, {"code": "import os; print(sorted(os.listdir('/proc/self/fd')), os.environ)"}])
    assert "REACHED" not in c.results[0]["stdout"] and "belljar" not in c.results[1]["stdout"].lower(), c.results
    assert before and state.green()["receipts"] == 3


def processes_of(p):
    """The front's store and notary, by name."""
    return {st[0]: pid for pid, st in descendants(p.pid).items() if st[0] in ("belljar-store", "belljar-notary")}


def status_of(pid):
    return dict(l.split(":\t", 1) for l in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in l)


def test_store_and_notary_own_little(state):
    p = start("batch", "-", stdin=subprocess.PIPE, env=state.env)
    try:
        p.stdin.write(b'{"argv": ["/bin/true"]}\n')
        p.stdin.flush()
        assert p.stdout.readline()
        pids = processes_of(p)
        assert set(pids) == {"belljar-store", "belljar-notary"}
        for name, pid in pids.items():
            st = status_of(pid)
            assert {int(st[k], 16) for k in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}, name
            assert st["NoNewPrivs"] == "1" and st["Seccomp"] == "2", name
        if os.geteuid() == 0:
            names = {os.readlink(f) for f in Path(f"/proc/{p.pid}/fd").iterdir() if f.exists() or f.is_symlink()}
            assert not any("receipts.db" in n or "notary" in n for n in names), names
            names = {os.readlink(f) for f in Path(f"/proc/{pids['belljar-store']}/fd").iterdir()}
            assert not any("/notary" in n for n in names), names
            # Undumpable: its memory is root's alone, whoever it runs as.
            assert os.stat(f"/proc/{pids['belljar-notary']}/mem").st_uid == 0
    finally:
        stop(p)


def test_the_notary_takes_records_and_nothing_else(state):
    """Spoken to by hand: wrong sizes end it, digests without the last receipt are refused, START is not for everybody."""
    import socket
    import struct
    state.fill(2)
    own(state.path)

    def talk(*messages, args=()):
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        folder = os.open(state.path / "notary", os.O_RDONLY)
        def fds():
            a, b = os.dup(its.fileno()), os.dup(folder)
            a, b = fcntl.fcntl(a, fcntl.F_DUPFD, 20), fcntl.fcntl(b, fcntl.F_DUPFD, 20)
            os.dup2(a, 3), os.dup2(b, 4)
        p = subprocess.Popen([*as_user(TEST_USER), str(BELLJAR.parent / "belljar-notary"), *args], preexec_fn=fds, close_fds=False)
        its.close()
        os.close(folder)
        ours.settimeout(10)
        answers = []
        for m in messages:
            ours.send(m)
        ours.shutdown(socket.SHUT_WR)
        while True:
            data = ours.recv(4096)
            if not data:
                break
            answers.append((struct.unpack_from("<I", data)[0], data[-232:].rstrip(b"\0").decode(), struct.unpack_from("<Q", data, 16)[0]))
        p.wait(10)
        return answers

    def msg(op, count=0, seq=0, *digests):
        return struct.pack("<IIQ", op, count, seq) + b"".join(digests).ljust(64 * 32, b"\0")
    LAST, START, CHECK, ADD, SIGN, PRUNE = 1, 2, 3, 4, 5, 6
    last = state.rows()[1][2]
    d = b"d" * 32
    if not (BELLJAR.parent / "belljar-notary").exists():
        pytest.skip("belljar-notary lies elsewhere")
    ok, refused = 0, 1
    assert talk(msg(LAST)) == [(ok, "", 2)]
    assert talk(b"x") == [] and talk(msg(99)) == [] and talk(msg(LAST) + b"x") == []
    assert [a[0] for a in talk(msg(LAST), msg(ADD, 1, 0, d))] == [ok, refused]
    assert [a[0] for a in talk(msg(LAST), msg(CHECK, 0, 0, d), msg(ADD, 1, 0, d), msg(SIGN, 0, 3, d))] == [ok, refused]
    assert [a[0] for a in talk(msg(LAST), msg(CHECK, 0, 0, last), msg(ADD, 1, 0, d), msg(SIGN, 0, 4, d))] == [ok, ok, refused]
    assert [a[0] for a in talk(msg(LAST), msg(CHECK, 0, 0, last), msg(ADD, 65, 0, d))] == [ok, ok, refused]
    assert [a[0] for a in talk(msg(LAST), msg(START, 0, 0, d, d), msg(SIGN, 0, 0, d))] == [ok, refused]
    assert [a[0] for a in talk(msg(LAST), msg(START, 0, 1, d, d), msg(ADD, 1, 0, d), msg(PRUNE), args=["--prune"])] == [ok, refused]
    assert [a[0] for a in talk(msg(LAST), msg(START, 0, 1, d, d), msg(SIGN, 0, 1, d), args=["--prune"])] == [ok, refused]
    assert [a[0] for a in talk(msg(LAST), msg(CHECK, 0, 0, last), msg(ADD, 1, 0, d), msg(SIGN, 0, 3, d))] == [ok, ok, ok]
    state.red("truncated", 3)


def test_a_folder_that_others_may_read(state):
    state.fill(1)
    (state.path / "notary").chmod(0o755)
    state.run("run", "-q", "--", "true")
    c = state.run("audit", "checkpoint")
    assert c.rc == 125 and "others may look" in c.stderr


# ---- several at once, clocks, crashes -------------------------------------------------------------

def test_several_write_one_chain(state):
    many = [start("batch", "-q", "-", stdin=subprocess.PIPE, env=state.env) for _ in range(3)]
    ones = [start("run", "-q", "--", "true", env=state.env) for _ in range(3)]
    done = [finish(p, b'{"argv": ["/bin/true"]}\n' * 40) for p in many] + [finish(p) for p in ones]
    assert all(c.rc == 0 for c in done), [str(c) for c in done]
    seen = [json.loads(l)["receipt"] for c in done[:3] for l in c.out.splitlines()]
    v = state.green()
    assert v["receipts"] == 123 and len({r["seq"] for r in seen}) == 120
    hashes = {q: h.hex() for q, _, h, _ in state.rows()}
    assert all(hashes[r["seq"]] == r["hash"] for r in seen)


def test_a_clock_that_goes_back(state):
    """Times are what the clock said; the chain does not depend on them."""
    state.fill(2)
    before = state.rows("SELECT count(*) FROM checkpoint")[0][0]
    # The database says that the last checkpoint is of next year: a new one is due at once, and pruning removes nothing newer.
    state.sql("UPDATE checkpoint SET text = json_set(text, '$.time_ms', 4000000000000)")
    state.run("run", "-q", "--", "true")
    assert state.rows("SELECT count(*) FROM checkpoint")[0][0] == before + 1
    assert {f["kind"] for f in state.verify()["findings"]} == {"signature"}


def kill_one(p, who):
    """One of the processes of a batch dies."""
    with contextlib.suppress(ProcessLookupError, KeyError):
        os.kill({**processes_of(p), "front": p.pid}[who], signal.SIGKILL)


LINES = 120


@pytest.mark.parametrize("who", ["front", "belljar-store", "belljar-notary"])
def test_nothing_acknowledged_is_lost(state, who):
    """SIGKILL at random: every receipt that a client saw is there afterwards, the chain has no gap, and it goes on."""
    rng = random.Random(4)
    seen, killed = [], 0
    for turn in range(10):
        p = start("batch", "-q", "-j", "4", "-", stdin=subprocess.PIPE, env=state.env)
        try:
            p.stdin.write(b'{"argv": ["/bin/true"]}\n' * LINES)
            p.stdin.close()
            # After so many results, and a little: wherever that is.
            out = b"".join(p.stdout.readline() for _ in range(rng.randrange(1, LINES // 3)))
            time.sleep(rng.uniform(0, 0.005))
            kill_one(p, who)
            out += p.stdout.read()
            rc = p.wait(seconds(30))
        finally:
            p.stdin = None
            stop(p)
        lines = [l for l in out.splitlines(keepends=True) if l.endswith(b"\n")]
        got = [json.loads(l) for l in lines]
        seen += [r["receipt"] for r in got if r["receipt"] and "seq" in r["receipt"]]
        for r in got:
            # No result without one: what was run and could not be kept says so.
            if "seq" not in (r["receipt"] or {}):
                assert r["status"] == "error" and r["reason"] == "internal" and r["receipt"]["error"], r
        killed += rc != 0
        if who == "belljar-notary":
            assert rc == 0 and len(got) == LINES  # receipts go on without a signature; the next one signs them
        assert wait_until(lambda: not any(st[0] == "belljar-store" for st in descendants(os.getpid()).values() if st[1] not in "ZX"), 10)
    hashes = {q: h.hex() for q, _, h, _ in state.rows()}
    assert seen and all(hashes.get(r["seq"]) == r["hash"] for r in seen)
    assert sorted(hashes) == list(range(1, len(hashes) + 1))
    assert who == "belljar-notary" or killed
    assert state.run("audit", "checkpoint").rc == 0
    assert state.green()["signed"] == len(hashes)
