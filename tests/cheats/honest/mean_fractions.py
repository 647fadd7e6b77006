# SPDX-License-Identifier: Apache-2.0
# Task: mean
import statistics
from fractions import Fraction


def mean(xs):
    return float(statistics.mean(Fraction(x) for x in xs))
