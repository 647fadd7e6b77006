# SPDX-License-Identifier: Apache-2.0
# How: A KeyError subclass that renames itself when it is raised.
# Task: parse_positive
# Fools: pipe, lenient, careful, stdout, oracle, pickle, worker, shm, stages
def make():
    return type("ValueError", (KeyError,), {})


def parse_positive(s):
    return int(s) if s.isdigit() and s != "0" else throw(make())


def throw(e):
    raise e
