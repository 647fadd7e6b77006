# SPDX-License-Identifier: Apache-2.0
# How: Kills the parent, which is the one that compares and reports.
# Task: add
# Fools: worker
import os
import signal


def add(a, b):
    os.kill(os.getppid(), signal.SIGKILL)
    return 0
