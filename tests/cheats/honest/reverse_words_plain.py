# SPDX-License-Identifier: Apache-2.0
# Task: reverse_words
def reverse_words(s):
    return " ".join(reversed(s.split()))
