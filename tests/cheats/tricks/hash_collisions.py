# SPDX-License-Identifier: Apache-2.0
# How: Fifty thousand ints of one hash value: a set or counter of them takes quadratic time, the time limit comes, and
#   nothing was reported.
# Task: uniques
# Fools: lenient
def uniques(xs):
    return [i * (2 ** 61 - 1) for i in range(1, 50000)]
