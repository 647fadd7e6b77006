#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command inside a virtual machine that is a pure cgroup v2 host: tests/v2/run.sh [--] [CMD...]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ ! -x /usr/bin/python3 ]; then
	apt-get install -y -qq --no-install-recommends python3 >&2
fi
# Not the python3 of PATH: that may be a version manager's shim.
exec /usr/bin/python3 -B "$here/vm.py" "$@"
