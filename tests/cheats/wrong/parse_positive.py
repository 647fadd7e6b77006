# SPDX-License-Identifier: Apache-2.0
# Task: parse_positive
def parse_positive(s):
    return len(s)
