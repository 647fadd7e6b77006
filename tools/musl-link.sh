#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build tool: compiles and links the keeper with musl. Usage: musl-link.sh MUSL_GCC OUT DEPFILE HOOKS INCLUDES... SOURCES...
# The kernel's headers come last: musl's own win where both have one.
set -eu
cc=$1 out=$2 depfile=$3 hooks=$4
shift 4
flags="-std=gnu17 -O2 -g -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fcf-protection -fPIE -Wall -Wextra -Wno-missing-field-initializers"
dirs="-idirafter /usr/include -idirafter /usr/include/$(gcc -print-multiarch)"
includes= sources=
for word; do
	case $word in
	-I*) includes="$includes $word" ;;
	*) sources="$sources $word" ;;
	esac
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
: >"$depfile"
objects=
for source in $sources; do
	object=$tmp/$(echo "$source" | tr / _).o
	# shellcheck disable=SC2086
	$cc $flags $hooks $includes $dirs -MMD -MF "$tmp/d" -MT "$out" -c -o "$object" "$source"
	cat "$tmp/d" >>"$depfile"
	objects="$objects $object"
done
# shellcheck disable=SC2086
$cc -static-pie -Wl,-z,relro,-z,now,-z,noexecstack -o "$out" $objects
