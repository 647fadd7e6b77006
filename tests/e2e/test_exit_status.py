# SPDX-License-Identifier: Apache-2.0
"""The exit status: the guest's own, or one row of the table."""
import pytest
from harness import jar, ms, run


@pytest.mark.parametrize("code", [0, 1, 2, 3, 42, 77, 100, 124, 125, 126, 127, 128, 129, 137, 200, 254, 255])
@pytest.mark.parametrize("json_", [False, True])
def test_guests_own(code, json_):
    c = run("run", *(["--json"] if json_ else []), "--", "sh", "-c", f"exit {code}")
    assert c.rc == code


ROWS = [
    (["--", "sh", "-c", "kill -9 $$"], 137), (["--", "sh", "-c", "kill -15 $$"], 143), (["--", "sh", "-c", "kill -6 $$"], 134),
    (["-t", ms(300), "--", "sleep", "30"], 124), (["--cpu-time", "100ms", "-c", "while 1: pass"], 124),
    (["--", "/usr/bin/does-not-exist"], 127), (["--", "does-not-exist"], 127), (["--", "/etc/hosts/x"], 127),
    (["--", "/etc/hosts"], 126), (["--", "/usr"], 126), (["--", "/workspace"], 126),
    (["--bogus", "--", "true"], 2), (["--timeout", "x", "--", "true"], 2), ([], 2), (["--"], 2), (["a", "b"], 2),
    (["/no/such/file.py"], 125), (["--lang", "c", "-c", "x"], 125), (["--net", "host", "--", "true"], 125),
]


@pytest.mark.parametrize("args,rc", ROWS, ids=lambda v: " ".join(v) if isinstance(v, list) else None)
def test_table(args, rc):
    c = run("run", *args)
    assert c.rc == rc, str(c)
    if rc in (2, 125, 126, 127):
        assert "error:" in c.stderr and c.out == b""


@pytest.mark.parametrize("mode,content,rc", [(0o644, "#!/bin/sh\necho x\n", 126), (0o755, "no program\n", 126), (0o755, "#!/no/such/interpreter\n", 127),
                                             (0o755, "#!/bin/sh\nexit 9\n", 9), (0o755, "", 126)])
def test_files_of_the_request_as_programs(mode, content, rc, put):
    c = jar("--file", put("prog", content, mode), "--", "/workspace/prog")
    assert c.rc == rc, str(c)
    if rc in (126, 127):
        assert c["status"] == "error" and c["error"] and c["hint"]


def test_commands():
    assert run().rc == 2
    assert run("--help").rc == 0
    assert run("bogus").rc == 2
    assert run("kill").rc == 2
