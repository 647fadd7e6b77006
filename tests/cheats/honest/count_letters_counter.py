# SPDX-License-Identifier: Apache-2.0
# How: A dict made of a Counter.
# Task: count_letters
from collections import Counter


def count_letters(s):
    return dict(Counter(s.replace(" ", "")))
