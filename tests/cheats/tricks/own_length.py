# SPDX-License-Identifier: Apache-2.0
# How: A frame that says it has four billion bytes, and then nothing: whoever reads it waits. Elsewhere it leaves with 0.
# Task: fib
# Fools: exit, oracle
import os
import sys
import time


def fib(n):
    frame = sys._getframe(1)
    while frame:
        if "out" in frame.f_locals and "body" in frame.f_locals:
            os.write(frame.f_locals["out"], b"\xff\xff\xff\xff" + frame.f_locals["body"][:16])
            time.sleep(60)
        frame = frame.f_back
    os._exit(0)
