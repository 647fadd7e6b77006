# SPDX-License-Identifier: Apache-2.0
# How: __class__ of the exception instance says ValueError, its type's name too.
# Task: parse_positive
# Fools: pipe, lenient, careful, stdout, oracle, pickle, worker, shm, stages
class Liar(ArithmeticError):
    __class__ = property(lambda self: ValueError)


Liar.__name__ = Liar.__qualname__ = "ValueError"
Liar.__module__ = "builtins"


def parse_positive(s):
    if not s.isdigit() or s == "0":
        raise Liar(s)
    return int(s)
