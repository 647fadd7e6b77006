# SPDX-License-Identifier: Apache-2.0
# How: Takes all processes that there may be: the driver cannot start the next worker, and dies of it.
# Task: fib
# Fools: -
import os
import time


def fib(n):
    try:
        while True:
            if os.fork() == 0:
                time.sleep(0.7)
                os._exit(0)
    except OSError:
        pass
    return 0
