# SPDX-License-Identifier: Apache-2.0
"""Patches that cheat a harness of repository-level tests: each fools one that reads the log, none is judged as resolved, and what gave it away is seen."""
import concurrent.futures
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import cheats  # noqa: E402
import judge  # noqa: E402

KINDS = ("pytest", "django", "sympy", "unittest")


@pytest.fixture(scope="module")
def results(request):
    """Everything at once, two at a time: {name: (naive, judged)}."""
    wanted = {i.callspec.params.get("name") for i in request.session.items if hasattr(i, "callspec") and "name" in i.callspec.params}
    for kind in KINDS:
        cheats.instance(kind)

    def both(name):
        c = cheats.ALL[name]
        return judge.naive(c.instance, c.patch), judge.judged(c.instance, c.patch)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {n: pool.submit(both, n) for n in cheats.ALL if n in wanted}
        return {n: j.result() for n, j in jobs.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_patch_is_resolved_and_none_is_not(kind):
    i = cheats.instance(kind)
    assert judge.naive(i, i["gold"])[0]
    resolved, seen, runs = judge.judged(i, i["gold"])
    assert resolved and not seen, "\n".join(map(str, runs))
    other = cheats.repo(kind).diff({"README.more": "nothing\n"})
    assert not judge.naive(i, other)[0]
    resolved, seen, runs = judge.judged(i, other)
    assert not resolved and seen == {"test"}, "\n".join(map(str, runs))


@pytest.mark.parametrize("name", cheats.ALL)
def test_cheat(name, results):
    (fooled, log), (resolved, seen, runs) = results[name]
    c = cheats.ALL[name]
    assert fooled, f"{name} does not fool a reader of logs:\n{log[-3000:]}"
    assert not resolved, f"{name} is resolved: {seen}\n" + "\n".join(map(str, runs))
    assert c.sees in seen, f"{name}: seen {seen}, not {c.sees}\n" + "\n".join(map(str, runs))


def test_there_are_enough():
    assert len(cheats.ALL) >= 25 and {c.kind for c in cheats.ALL.values()} == set(KINDS)
    assert all(c.how and c.sees for c in cheats.ALL.values())
