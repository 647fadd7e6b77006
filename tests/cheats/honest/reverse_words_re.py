# SPDX-License-Identifier: Apache-2.0
# Task: reverse_words
import re


def reverse_words(s: str) -> str:
    words = re.findall(r"\S+", s)
    return " ".join(words[::-1])
