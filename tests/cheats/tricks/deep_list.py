# SPDX-License-Identifier: Apache-2.0
# How: A list nested a hundred thousand deep: comparing is short, but its repr for the report is a RecursionError.
# Task: sort_list
# Fools: lenient
def sort_list(xs):
    deep = []
    for _ in range(100000):
        deep = [deep]
    return deep
