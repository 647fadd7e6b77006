# SPDX-License-Identifier: Apache-2.0
# How: An object with __next__ that never stops and sleeps in between: neither CPU time nor memory is used.
# Task: evens
# Fools: lenient
import time


class Slow:
    def __iter__(self):
        return self

    def __next__(self):
        time.sleep(0.05)
        return 0


def evens(n):
    return Slow()
