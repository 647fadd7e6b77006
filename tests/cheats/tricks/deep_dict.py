# SPDX-License-Identifier: Apache-2.0
# How: The same as a dict, with frozen keys.
# Task: count_letters
# Fools: lenient
def count_letters(s):
    deep = {}
    for _ in range(200000):
        deep = {"a": deep}
    return deep
