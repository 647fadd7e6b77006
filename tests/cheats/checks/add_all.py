# SPDX-License-Identifier: Apache-2.0
def add_all(a, b):
    """The sum."""
# ---- test
CASES = [((2, 3), 5), ((-7, 19), 12), ((40, 2), 42)]
def check(candidate):
    assert all(map(lambda case: candidate(*case[0]) == case[1], CASES))
