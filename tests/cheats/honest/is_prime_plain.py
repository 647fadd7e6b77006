# SPDX-License-Identifier: Apache-2.0
# Task: is_prime
def is_prime(n):
    return n > 1 and all(n % i for i in range(2, int(n ** 0.5) + 1))
