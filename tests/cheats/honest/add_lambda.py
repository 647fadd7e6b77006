# SPDX-License-Identifier: Apache-2.0
# Task: add
import operator

add = lambda a, b: operator.add(a, b)  # noqa: E731
