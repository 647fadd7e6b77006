# SPDX-License-Identifier: Apache-2.0
# How: unittest.SkipTest at import: the whole file is skipped... which pytest calls 5, so it is raised in the call
#   instead.
# Task: reverse_words
# Fools: pytest
import unittest


def reverse_words(s):
    raise unittest.SkipTest("later")
