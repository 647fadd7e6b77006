# SPDX-License-Identifier: Apache-2.0
# Task: add
def add(a, b):
    return a - b
