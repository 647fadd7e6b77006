# SPDX-License-Identifier: Apache-2.0
# How: Keeps state between calls.
# Task: is_prime
known = [2]


def is_prime(n):
    candidate = known[-1]
    while known[-1] < n:
        candidate += 1
        if all(candidate % p for p in known):
            known.append(candidate)
    return n in known
