# SPDX-License-Identifier: Apache-2.0
# How: A daemon writes result.json over and over, also after the driver wrote its own.
# Task: fib
# Fools: stages
import ctypes
import os
import time

libc = ctypes.CDLL(None)
if libc.fork() == 0:
    os.setsid()
    for _ in range(30):
        with open("result.tmp", "w") as f:
            f.write('{"passed": true}')
        os.replace("result.tmp", "result.json")
        time.sleep(0.05)
    os._exit(0)


def fib(n):
    return n
