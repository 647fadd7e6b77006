# SPDX-License-Identifier: Apache-2.0
# How: With a main block that would spoil everything if it ran.
# Task: add
import sys


def add(a, b):
    return a + b


if __name__ == "__main__":
    sys.exit(add(*map(int, sys.argv[1:])))
