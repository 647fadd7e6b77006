# SPDX-License-Identifier: Apache-2.0
"""Build tool: text files, one after the other, as a C string. Usage: embed.py HEADER SYMBOL FILE... > OUT.c"""
import pathlib
import sys

ESCAPES = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "?": "\\?"}  # the last against trigraphs


def main():
    header, symbol, *paths = sys.argv[1:]
    text = "".join(pathlib.Path(path).read_text(encoding="ascii") for path in paths)
    print(f'/* Made by tools/embed.py from {", ".join(pathlib.Path(path).name for path in paths)}: do not edit. */\n#include "{header}"\n\nconst char {symbol}[] =')
    for line in text.splitlines():
        print('\t"' + "".join(ESCAPES.get(c, c) for c in line) + '\\n"')
    print("\t;")


main()
