# SPDX-License-Identifier: Apache-2.0
# How: A flood at import, before the driver has said anything.
# Task: sort_list
# Fools: lenient
print("y" * 3000000, flush=True)


def sort_list(xs):
    return xs
