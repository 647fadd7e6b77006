# SPDX-License-Identifier: Apache-2.0
"""Build tool: files that come into SWE-bench's jars, as a C table. Usage: embed-files.py GROUP:NAME:FILE... > OUT.c (GROUP "-": for every group)"""
import pathlib
import sys

LINE = 24


def main():
    rows = [word.split(":", 2) for word in sys.argv[1:]]
    print('/* Made by tools/embed-files.py: do not edit. */\n#include "grade/swe_guest.h"\n')
    for i, (_, name, path) in enumerate(rows):
        data = pathlib.Path(path).read_bytes()
        print(f"static const unsigned char file_{i}[] = {{ /* {name} */")
        for at in range(0, len(data), LINE):
            print("\t" + ", ".join(str(b) for b in data[at:at + LINE]) + ",")
        print("};")
    print("\nconst struct swe_guest_file swe_guest_files[] = {")
    for i, (group, name, _) in enumerate(rows):
        print(f'\t{{ "{group}", ".belljar/{name}", (const char *)file_{i}, sizeof(file_{i}) }},')
    print("\t{ 0 },\n};")


main()
