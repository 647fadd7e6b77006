# SPDX-License-Identifier: Apache-2.0
# Task: sort_list
def sort_list(xs):
    return xs[::-1]
