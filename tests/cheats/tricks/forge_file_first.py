# SPDX-License-Identifier: Apache-2.0
# How: Writes result.json at import and makes the driver fail before it can write its own.
# Task: add
# Fools: lenient, stages
import os

with open("result.json", "w") as f:
    f.write('{"passed": true}')


def add(a, b):
    os._exit(1)
