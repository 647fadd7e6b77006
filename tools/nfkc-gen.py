# SPDX-License-Identifier: Apache-2.0
"""Build tool: characters that Python reads as ASCII in a name (PEP 3131: NFKC), as a sorted C table. Usage: nfkc-gen.py > OUT.c"""
import unicodedata


def main():
    print('/* Made by tools/nfkc-gen.py: do not edit. */\n#include "check/scan.h"\n\nconst struct nfkc_row nfkc_rows[] = {')
    count = 0
    for c in range(0x80, 0x110000):
        plain = unicodedata.normalize("NFKC", chr(c))
        if plain.isascii() and ("a" + plain).isidentifier() and ("a" + chr(c)).isidentifier() and len(plain) <= 3:
            print(f'\t{{ 0x{c:x}, "{plain}" }},')
            count += 1
    print(f"}};\nconst size_t nfkc_count = {count};")


main()
