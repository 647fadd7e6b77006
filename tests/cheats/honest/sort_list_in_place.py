# SPDX-License-Identifier: Apache-2.0
# How: Changes its argument and returns it.
# Task: sort_list
def sort_list(xs):
    xs.sort()
    return xs
