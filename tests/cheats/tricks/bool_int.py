# SPDX-License-Identifier: Apache-2.0
# How: 1 and 0.0 equal True and False; the type asked for is bool. Wrong by type alone.
# Task: is_prime
# Fools: exit, pipe, lenient, stdout, oracle, pickle, worker, shm, stages, pytest
def is_prime(n):
    return 1 if n > 1 and all(n % i for i in range(2, int(n ** 0.5) + 1)) else 0.0
