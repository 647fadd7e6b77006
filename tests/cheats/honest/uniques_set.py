# SPDX-License-Identifier: Apache-2.0
# Task: uniques
def uniques(xs):
    return [*{*xs}]
