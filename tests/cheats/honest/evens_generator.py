# SPDX-License-Identifier: Apache-2.0
# How: A generator function; in the check text it is made a list.
# Task: evens
def evens(n):
    for i in range(n):
        if i % 2 == 0:
            yield i
