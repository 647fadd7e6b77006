# SPDX-License-Identifier: Apache-2.0
# Task: add_all
# Styles: eval
    return a + b
