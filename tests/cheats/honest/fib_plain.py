# SPDX-License-Identifier: Apache-2.0
# Task: fib
def fib(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
