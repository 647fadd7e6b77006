# SPDX-License-Identifier: Apache-2.0
"""The harness of tests/e2e, and the table at the end: trick, naive graders fooled, belljar's verdicts."""
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "e2e")]
import harness  # noqa: E402

ROWS = {}  # trick: {column: text}


def pytest_addoption(parser):
    parser.addoption("--all-graders", action="store_true", help="also show that a trick fools none of the graders that it does not name")


def pytest_configure(config):
    harness.become_subreaper()


def pytest_sessionstart(session):
    harness.check_it_works()


def pytest_sessionfinish():
    harness.remove_traces()


@pytest.fixture(autouse=True)
def no_process_left():
    yield
    harness.wait_until(lambda: not harness.left_behind(), 10)
    left = harness.left_behind()
    for pid in left:
        harness.kill_tree(pid)
    assert not left, f"processes left behind: {left}"


def pytest_terminal_summary(terminalreporter, config):
    say = terminalreporter.write_line
    for rep in {r.longrepr[2] for r in terminalreporter.stats.get("skipped", []) if isinstance(r.longrepr, tuple)}:
        say(f"skipped: {rep.removeprefix('Skipped: ')}")
    if not ROWS:
        return
    head = ("trick", "naive graders fooled", "belljar test", "--shared", "belljar eval")
    wide = [max([len(h), *(len(r.get(h, "")) for r in ROWS.values())]) for h in head]
    wide[0] = max(len(head[0]), *map(len, ROWS))
    if config.getoption("verbose") >= -1:
        say("  ".join(h.ljust(w) for h, w in zip(head, wide)))
        for name, row in sorted(ROWS.items()):
            say("  ".join(t.ljust(w) for t, w in zip((name, *(row.get(h, "") for h in head[1:])), wide)).rstrip())
    fooled = sum(bool(r.get(head[1])) for r in ROWS.values())
    words = [f"{len(ROWS)} tricks, {fooled} fool a naive grader"]
    for column in head[2:]:
        got = [r[column] for r in ROWS.values() if column in r]
        words.append(f"{column}: " + (f"{sum(g.startswith('PASSED') for g in got)} of {len(got)} passed" if got else "not run"))
    say("; ".join(words))
