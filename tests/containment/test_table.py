# SPDX-License-Identifier: Apache-2.0
"""The table and the tests name the same cases; every case says what would turn it red, or why nothing can."""
import re

import jarlib
from cases import CASES


def test_table_is_complete():
    found = set()
    for f in jarlib.HERE.glob("test_*.py"):
        for a, b in re.findall(r"^def test_([a-z]{2})_(\d\d)", f.read_text(), re.M):
            found.add(f"{a.upper()}-{b}")
    found.add("OK")
    assert found == set(CASES), f"without a row: {sorted(found - set(CASES))}, without a test: {sorted(set(CASES) - found)}"


def test_every_case_has_guards_or_a_reason():
    assert not [c for c, row in CASES.items() if not row.guards and not row.why]
