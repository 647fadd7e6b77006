# SPDX-License-Identifier: Apache-2.0
"""Build tool: a text file as a C string. Usage: embed.py HEADER SYMBOL FILE > OUT.c"""
import pathlib
import sys

ESCAPES = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "?": "\\?"}  # the last against trigraphs


def main():
    header, symbol, path = sys.argv[1:]
    text = pathlib.Path(path).read_text(encoding="ascii")
    print(f'/* Made by tools/embed.py from {pathlib.Path(path).name}: do not edit. */\n#include "{header}"\n\nconst char {symbol}[] =')
    for line in text.splitlines():
        print('\t"' + "".join(ESCAPES.get(c, c) for c in line) + '\\n"')
    print("\t;")


main()
