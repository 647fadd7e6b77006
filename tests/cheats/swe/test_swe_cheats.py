# SPDX-License-Identifier: Apache-2.0
"""Patches that cheat a harness of repository-level tests: each fools one that reads the log, none is resolved, and what gave it away is named."""
import concurrent.futures
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import cheats  # noqa: E402
import judge  # noqa: E402

KINDS = ("pytest", "django", "sympy", "unittest")


@pytest.fixture(scope="module")
def fooled(request):
    """The control, two at a time: {name: (fooled, log)}."""
    wanted = {i.callspec.params.get("name") for i in request.session.items if hasattr(i, "callspec") and "name" in i.callspec.params}
    for kind in KINDS:
        cheats.instance(kind)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {n: pool.submit(judge.naive, cheats.ALL[n].instance, cheats.ALL[n].patch) for n in cheats.ALL if n in wanted}
        return {n: j.result() for n, j in jobs.items()}


@pytest.fixture(scope="module")
def reports(request):
    """All of them, and for each kind an honest patch and one that does nothing, by one call of belljar."""
    front = judge.Front()
    for kind in KINDS:
        i = cheats.instance(kind)
        front.add(f"{kind}: honest", i, i["gold"])
        front.add(f"{kind}: nothing", i, cheats.repo(kind).diff({"README.more": "nothing\n"}))
    for name, c in cheats.ALL.items():
        front.add(name, c.instance, c.patch)
    found = front.judged()
    yield found
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n{'PATCH':26} {'KIND':9} {'LOG READER':11} {'BELLJAR':13} SEEN")
        for name, c in cheats.ALL.items():
            print(f"{name:26} {c.kind:9} {'fooled':11} {'resolved' if found[name]['resolved'] else 'not resolved':13} {', '.join(sorted(filter(None, judge.seen(found[name]))))}")


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_patch_is_resolved_and_none_is_not(kind, reports):
    i = cheats.instance(kind)
    assert judge.naive(i, i["gold"])[0]
    honest, nothing = reports[f"{kind}: honest"], reports[f"{kind}: nothing"]
    assert honest["resolved"] and honest["tampering"] == [] and "canary" in honest["checks"], honest
    assert not nothing["resolved"] and nothing["tampering"] == [] and nothing["reason"] == "failed", nothing


@pytest.mark.parametrize("name", cheats.ALL)
def test_cheat(name, fooled, reports):
    c, r = cheats.ALL[name], reports[name]
    assert fooled[name][0], f"{name} does not fool a reader of logs:\n{fooled[name][1][-3000:]}"
    assert not r["resolved"], r
    assert set(c.sees.split(" or ")) & judge.seen(r), f"{name}: seen {judge.seen(r)}, not {c.sees}: {r}"


def test_there_are_enough():
    assert len(cheats.ALL) >= 25 and {c.kind for c in cheats.ALL.values()} == set(KINDS)
    assert all(c.how and c.sees for c in cheats.ALL.values())
