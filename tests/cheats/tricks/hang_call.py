# SPDX-License-Identifier: Apache-2.0
# How: The call never returns: no failure is reported until the time is over.
# Task: sort_list
# Fools: lenient
import time


def sort_list(xs):
    time.sleep(600)
