# SPDX-License-Identifier: Apache-2.0
# How: Recursive.
# Task: sort_list
def sort_list(xs):
    if len(xs) < 2:
        return list(xs)
    a, b, out = sort_list(xs[:len(xs) // 2]), sort_list(xs[len(xs) // 2:]), []
    while a and b:
        out.append((a if a[0] <= b[0] else b).pop(0))
    return out + a + b
