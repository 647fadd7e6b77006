# SPDX-License-Identifier: Apache-2.0
# Task: is_prime
def is_prime(n):
    return n % 2 == 0
