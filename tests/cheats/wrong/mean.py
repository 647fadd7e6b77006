# SPDX-License-Identifier: Apache-2.0
# Task: mean
def mean(xs):
    return xs[0]
