# SPDX-License-Identifier: Apache-2.0
"""The cost of a run stays flat from 1 to 64 at a time: CPU time as a ratio, measured in turns (bench/flat.py). No time is looked at."""
import json
import os
import subprocess

import pytest
from harness import BELLJAR, PYTHON, REPO, ROOT, has_sanitizer, seconds

TIMES = 2.0  # what would grow with the number in flight (a walk through all, a lock) is 64 times one


@pytest.mark.skipif(not ROOT, reason="the same processes as root's; one measurement is enough")
@pytest.mark.skipif(has_sanitizer(), reason="cost says nothing under a sanitizer")
def test_a_run_costs_the_same_however_many_go_on(tmp_path):
    ratios = []
    for _ in range(3):  # a neighbour that takes the caches away does so once, growth is there every time
        p = subprocess.run([PYTHON, str(REPO / "bench" / "flat.py"), "--runs", "192", "--rounds", "2", "--json", str(tmp_path / "flat.json")], capture_output=True,
                           text=True, timeout=seconds(150), env={**os.environ, "BELLJAR": str(BELLJAR)})
        assert p.returncode == 0, p.stdout + p.stderr
        ratios.append(json.loads((tmp_path / "flat.json").read_text())["times_one"])
        if max(ratios[-1].values()) <= TIMES:
            return
    raise AssertionError(f"CPU time of a run against one at a time: {ratios}")
