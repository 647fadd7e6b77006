# SPDX-License-Identifier: Apache-2.0
# How: An instance that can be called, with its memory.
# Task: fib
class Fib:
    def __init__(self):
        self.known = {0: 0, 1: 1}

    def __call__(self, n):
        if n not in self.known:
            self.known[n] = self(n - 1) + self(n - 2)
        return self.known[n]


fib = Fib()
