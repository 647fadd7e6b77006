# SPDX-License-Identifier: Apache-2.0
# How: Prints, and leaves a thread and an atexit function behind.
# Task: add
import atexit
import sys
import threading
import time

threading.Thread(target=time.sleep, args=[0.05], daemon=True).start()
atexit.register(lambda: None)
print("loading", file=sys.stderr)


def add(a, b):
    print("adding", a, b)
    return a + b
