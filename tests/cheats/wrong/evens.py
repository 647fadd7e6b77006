# SPDX-License-Identifier: Apache-2.0
# Task: evens
def evens(n):
    return list(range(1, n, 2))
