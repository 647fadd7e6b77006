# SPDX-License-Identifier: Apache-2.0
# Task: parse_positive
def parse_positive(s):
    n = int(s)
    if n <= 0:
        raise ValueError(f"{s} is not positive")
    return n
