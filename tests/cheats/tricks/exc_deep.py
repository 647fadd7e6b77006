# SPDX-License-Identifier: Apache-2.0
# How: An exception whose repr recurses for ever.
# Task: fib
# Fools: lenient
class Deep(Exception):
    def __repr__(self):
        return repr(self)


def fib(n):
    raise Deep
