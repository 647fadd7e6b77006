#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build tool: compiles and links the keeper with musl. Usage: musl-link.sh MUSL_GCC OUT DEPFILE HOOKS INCLUDES... SOURCES...
# The kernel's headers come last: musl's own win where both have one.
set -eu
cc=$1 out=$2 depfile=$3 hooks=$4
shift 4
flags="-std=gnu17 -O2 -g -ffunction-sections -fdata-sections -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fcf-protection -fPIE -Wall -Wextra -Wno-missing-field-initializers"
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
# musl-gcc's specs know no -static-pie: its result would be a dynamic program with musl's ld.so. So it is linked by hand.
# (-print-file-name would find glibc's files.)
lib=$(dirname "$(sed -n 's/.*-specs "\([^"]*\)".*/\1/p' "$(command -v "$cc")")")
gcc_lib=$(dirname "$(gcc -print-libgcc-file-name)")
# shellcheck disable=SC2086
gcc -static-pie -nostdlib -nostartfiles -Wl,-z,relro,-z,now,-z,noexecstack,--gc-sections -o "$out" "$lib/rcrt1.o" "$lib/crti.o" "$gcc_lib/crtbeginS.o" \
	$objects -Wl,--start-group "$lib/libc.a" "$gcc_lib/libgcc.a" "$gcc_lib/libgcc_eh.a" -Wl,--end-group "$gcc_lib/crtendS.o" "$lib/crtn.o"
