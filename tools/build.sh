#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Configures a build folder once and builds it; prints only what goes wrong. Usage: build.sh FOLDER [MESON OPTIONS...]
set -eu
# The build tools leave their tables to the end of the process; that is no leak.
export ASAN_OPTIONS=detect_leaks=0
dir=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
fail() {
	cat "$log" >&2
	exit 1
}
[ -f "$dir/build.ninja" ] || meson setup "$dir" "$@" >"$log" 2>&1 || fail
ninja -C "$dir" >"$log" 2>&1 || fail
grep -E 'warning:' "$log" >&2 || true
