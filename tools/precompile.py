# SPDX-License-Identifier: Apache-2.0
"""Build tool: Python code compiled by this interpreter, as text: its magic number, then base64. Usage: precompile.py NAME FILE... > OUT"""
import base64
import importlib.util
import marshal
import pathlib
import sys

name, *paths = sys.argv[1:]
code = compile("".join(pathlib.Path(path).read_text(encoding="ascii") for path in paths), name, "exec", dont_inherit=True)
print(importlib.util.MAGIC_NUMBER.hex())
text = base64.b64encode(marshal.dumps(code)).decode()
for i in range(0, len(text), 120):
    print(text[i:i + 120])
