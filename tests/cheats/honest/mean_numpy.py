# SPDX-License-Identifier: Apache-2.0
# How: A numpy.float64 made a float.
# Task: mean
import numpy as np


def mean(xs):
    return float(np.mean(np.array(xs)))
