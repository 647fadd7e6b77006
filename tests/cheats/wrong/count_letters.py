# SPDX-License-Identifier: Apache-2.0
# Task: count_letters
def count_letters(s):
    return {c: 1 for c in s}
