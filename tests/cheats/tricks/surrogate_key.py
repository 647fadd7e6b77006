# SPDX-License-Identifier: Apache-2.0
# How: A dict of lone surrogates, whose text is one too.
# Task: count_letters
# Fools: lenient
class Letters(dict):
    def __str__(self):
        return "\ud83d"


def count_letters(s):
    return Letters({"\udcff": 1, "\ud83d": 2})
