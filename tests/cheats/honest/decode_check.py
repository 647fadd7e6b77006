# SPDX-License-Identifier: Apache-2.0
# Task: decode
# Styles: eval
    return "".join(chr((ord(c) - 5 - ord("a")) % 26 + ord("a")) for c in s)
