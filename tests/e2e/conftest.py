# SPDX-License-Identifier: Apache-2.0
"""Folders for the tests, and the check after each of them that no process was left behind."""
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import harness  # noqa: E402


def pytest_configure(config):
    harness.become_subreaper()


def pytest_sessionstart(session):
    harness.check_it_works()


def pytest_report_header(config):
    who = harness.TEST_USER or ("root" if harness.ROOT else "this user")
    return f"belljar: {harness.BUILT}, run as {who}, time factor {harness.SLOW:g}"


def pytest_terminal_summary(terminalreporter):
    """A skip prints why, once."""
    why = {}
    for rep in terminalreporter.stats.get("skipped", []):
        text = rep.longrepr[2] if isinstance(rep.longrepr, tuple) else str(rep.longrepr)
        why[text.removeprefix("Skipped: ")] = why.get(text.removeprefix("Skipped: "), 0) + 1
    for text, n in sorted(why.items()):
        terminalreporter.write_line(f"skipped {n}: {text}")
    if "test_warm_same" in sys.modules:
        for line in sys.modules["test_warm_same"].told_at_end():
            terminalreporter.write_line(line)


def pytest_sessionfinish():
    harness.remove_traces()


@pytest.fixture(autouse=True)
def no_process_left():
    yield
    # A process whose parent ends while the list is read is in nobody's line for that moment: what a second look finds gets its time as well.
    for _ in range(2):
        harness.wait_until(lambda: not harness.left_behind(), 10)
        left = harness.left_behind()
        if not left:
            break
    told = {pid: harness.told_about(pid) for pid in left}
    for pid in left:
        harness.kill_tree(pid)
    assert not left, f"processes left behind: {left}: {told}"


@pytest.fixture
def box():
    """A folder of the test's own that belongs to whoever runs belljar."""
    d = Path(tempfile.mkdtemp(prefix="box-", dir=harness.BASE))
    d.chmod(0o755)
    harness.own(d)
    yield d
    shutil.rmtree(d, ignore_errors=True)


@pytest.fixture
def traces():
    """Nothing may be left behind: no process, cgroup or entry of a run."""
    t = harness.Traces()
    yield t
    left = t.gone()
    assert not left, f"left behind: {left}"


@pytest.fixture
def put(box):
    """put(name, content, mode): a file in the test's folder."""
    def write(name, content=b"", mode=0o644):
        path = box / name
        for parent in reversed(path.relative_to(box).parents):
            if not (box / parent).exists():
                (box / parent).mkdir()
                harness.own(box / parent)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        harness.own(path)
        return path
    return write
