# SPDX-License-Identifier: Apache-2.0
import math


def mean_close(xs):
    """The mean."""
# ---- test
def check(candidate):
    assert math.isclose(candidate([1.0, 2.0, 4.5]), 2.5)
    assert math.isclose(candidate([-3.5, 8.0]), 2.25)
