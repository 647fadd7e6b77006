# SPDX-License-Identifier: Apache-2.0
def encode(s):
    """Every letter is moved on by five."""
    return "".join(chr((ord(c) + 5 - ord("a")) % 26 + ord("a")) for c in s)


def decode(s):
    """Undoes encode."""
# ---- test
def check(candidate):
    for text in ("hello", "belljar", "xyz"):
        assert candidate(encode(text)) == text
