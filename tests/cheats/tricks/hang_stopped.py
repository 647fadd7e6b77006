# SPDX-License-Identifier: Apache-2.0
# How: Stops itself: no CPU time is used and no limit of CPU time is ever reached.
# Task: fib
# Fools: lenient
import os
import signal


def fib(n):
    os.kill(os.getpid(), signal.SIGSTOP)
    return 0
