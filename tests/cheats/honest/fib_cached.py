# SPDX-License-Identifier: Apache-2.0
# Task: fib
from functools import lru_cache


@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
