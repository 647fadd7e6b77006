# SPDX-License-Identifier: Apache-2.0
# Task: count_letters
def count_letters(s):
    counts = {}
    for c in s:
        if c != " ":
            counts[c] = counts.get(c, 0) + 1
    return counts
