# SPDX-License-Identifier: Apache-2.0
"""Fails when an include points up the layers of docs/architecture.md. Usage: check-layers.py SRC [STAMP]"""
import pathlib
import re
import sys

LAYERS = ["base", "kernel", "jar", "keeper", "guest", "check", "store", "run", "session", "grade", "evolve", "api", "fleet", "cli", "bench"]
# What kernel-facing code must never link: parsers of foreign bytes.
FORBIDDEN = {"base": "jansson|libfyaml|sqlite3|openssl|curl|microhttpd",
             "kernel": "jansson|libfyaml|sqlite3|openssl|curl|microhttpd",
             "jar": "jansson|libfyaml|sqlite3|openssl|curl|microhttpd",
             "keeper": "jansson|libfyaml|sqlite3|openssl|curl|microhttpd"}


def main():
    src = pathlib.Path(sys.argv[1])
    bad = []
    for path in sorted(src.glob("*/*.[ch]")):
        layer = path.parent.name
        if layer not in LAYERS:
            bad.append(f"{path}: '{layer}' is not a layer")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            own = re.match(r'#include "(\w+)/', line)
            if own and own.group(1) in LAYERS and LAYERS.index(own.group(1)) > LAYERS.index(layer):
                bad.append(f"{path}:{number}: {layer} must not include {own.group(1)}")
            foreign = re.match(r"#include <(%s)" % FORBIDDEN.get(layer, "$^"), line)
            if foreign:
                bad.append(f"{path}:{number}: {layer} must not use {foreign.group(1)}")
    for line in bad:
        print(line, file=sys.stderr)
    if not bad and len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text("ok\n")
    return 1 if bad else 0


sys.exit(main())
