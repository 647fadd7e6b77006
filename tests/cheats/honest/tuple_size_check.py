# SPDX-License-Identifier: Apache-2.0
# Task: tuple_size
# Styles: eval
import sys


def tuple_size(t):
    return sys.getsizeof(t)
