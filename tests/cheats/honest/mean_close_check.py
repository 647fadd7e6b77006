# SPDX-License-Identifier: Apache-2.0
# Task: mean_close
# Styles: eval
    return sum(xs) / len(xs)
