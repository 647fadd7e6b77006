# SPDX-License-Identifier: Apache-2.0
# How: Works bit by bit, with helper functions and typing.
# Task: add
from typing import Union

Number = Union[int, float]


def increment(a: Number, b: Number) -> Number:
    while b:
        a, b = a + 1 if b > 0 else a - 1, b - 1 if b > 0 else b + 1
    return a


def add(a: Number, b: Number) -> Number:
    return increment(a, b) if abs(b) < 100 else a - -b
