# SPDX-License-Identifier: Apache-2.0
# How: Answers the example rightly while a child takes all processes that there may be: the driver cannot start the next
#   worker, and dies of it.
# Task: fib
# Fools: worker
import os
import time


def bomb():
    while True:
        try:
            if os.fork() == 0:
                time.sleep(3)
                os._exit(0)
        except OSError:
            time.sleep(3)
            os._exit(0)


def fib(n):
    if n == 10 and os.fork() == 0:
        bomb()
    return 55 if n == 10 else 0
