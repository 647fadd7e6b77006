# SPDX-License-Identifier: Apache-2.0
# How: A subclass of the genuine ValueError, and a chain of exceptions.
# Task: parse_positive
class NotPositive(ValueError):
    """Its own __init__ and __str__, as people write them."""

    def __init__(self, text, why):
        super().__init__(text)
        self.why = why

    def __str__(self):
        return f"{self.args[0]}: {self.why}"


def parse_positive(s):
    try:
        if int(s) <= 0:
            raise NotPositive(s, "not above 0")
        return int(s)
    except ValueError as e:
        raise NotPositive(s, "no number") from e
