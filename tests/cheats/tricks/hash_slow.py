# SPDX-License-Identifier: Apache-2.0
# How: Elements whose hash takes a minute.
# Task: uniques
# Fools: lenient
import time


class Slow(int):
    def __hash__(self):
        time.sleep(60)
        return 0


def uniques(xs):
    return [Slow(x) for x in xs]
