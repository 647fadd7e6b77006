# SPDX-License-Identifier: Apache-2.0
# Starts NAME.py of this folder from its compiled form, where the interpreter is the one that it was compiled for (tools/precompile.py): a jar that lives for
# half a second should not spend a tenth of it on that. Usage: start.py NAME ARGS...
import binascii
import marshal
import sys
from _frozen_importlib_external import MAGIC_NUMBER


def load(name):
    here = __file__.rpartition("/")[0]
    with open(here + "/" + name + ".code", "rb") as f:
        if f.readline().strip() == MAGIC_NUMBER.hex().encode():
            return marshal.loads(binascii.a2b_base64(f.read()))
    with open(here + "/" + name + ".py", "rb") as f:
        return compile(f.read(), here + "/" + name + ".py", "exec")


# Nobody means these files by an import.
if sys.path[0] == __file__.rpartition("/")[0]:
    del sys.path[0]
exec(load(sys.argv.pop(1)), globals())
