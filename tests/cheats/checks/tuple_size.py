# SPDX-License-Identifier: Apache-2.0
# ---- test
def check(candidate):
    assert candidate((1, 2, 3)) == sys.getsizeof((1, 2, 3))
    assert candidate(("a",)) == sys.getsizeof(("a",))
