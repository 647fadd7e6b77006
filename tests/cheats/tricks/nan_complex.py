# SPDX-License-Identifier: Apache-2.0
# How: A complex number of nans, whose abs is nan.
# Task: mean
# Fools: pipe, lenient, stdout, pickle, shm
def mean(xs):
    return complex(float("nan"), 0.0)
