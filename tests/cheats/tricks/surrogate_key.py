# SPDX-License-Identifier: Apache-2.0
# How: Lone surrogates as keys of the answer.
# Task: count_letters
# Fools: -
def count_letters(s):
    return {"\udcff": 1, "\ud83d": 2}
