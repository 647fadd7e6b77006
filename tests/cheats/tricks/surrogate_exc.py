# SPDX-License-Identifier: Apache-2.0
# How: The message of the exception is a lone surrogate, so that it cannot be reported.
# Task: parse_positive
# Fools: lenient
def parse_positive(s):
    if s == "12":
        raise LookupError("\udfff")
    raise ValueError
