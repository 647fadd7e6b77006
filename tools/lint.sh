#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Warnings are errors here: gcc and clang builds, clang-tidy, cppcheck, the layers.
set -eu
tools/deps.sh --lint
log=$(mktemp)
trap 'rm -f "$log"' EXIT

check() {
	name=$1
	shift
	if "$@" >"$log" 2>&1; then
		echo "lint: $name ok"
	else
		cat "$log" >&2
		echo "lint: $name failed" >&2
		exit 1
	fi
}

werror() {
	cc=$1 dir=$2
	[ -f "$dir/build.ninja" ] || CC=$cc meson setup "$dir" --werror
	ninja -C "$dir"
}

check "gcc -Werror" werror gcc build-lint-gcc
check "clang -Werror" werror clang build-lint-clang
check layers /usr/bin/python3 tools/check-layers.py src
check cppcheck cppcheck --quiet --error-exitcode=1 --enable=warning,performance,portability --inline-suppr \
	--suppressions-list=tests/lint/cppcheck.suppress --std=c11 -D_GNU_SOURCE -Isrc -Iinclude src lib examples tools
tidy() {
	git ls-files 'src/*.c' 'lib/*.c' | xargs -P "$(nproc)" -n 8 clang-tidy --quiet --warnings-as-errors='*' -p build-lint-clang
}
check clang-tidy tidy
