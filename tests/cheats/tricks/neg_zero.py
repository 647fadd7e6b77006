# SPDX-License-Identifier: Apache-2.0
# How: 0.0 == -0.0, so a comparison with == cannot see that the sign is wrong.
# Task: negate
# Fools: -
def negate(x):
    return 0.0 - x if x else x
