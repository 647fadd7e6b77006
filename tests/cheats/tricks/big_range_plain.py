# SPDX-License-Identifier: Apache-2.0
# How: A range of 400 million numbers is a few bytes, also as data; a list of it, in the process of whoever compares, is gigabytes.
# Task: evens
# Fools: lenient
def evens(n):
    return iter(range(0, 400000000))
