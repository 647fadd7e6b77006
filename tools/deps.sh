#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing, and says which; fetches tree-sitter's sources. Silent when nothing is missing.
#   deps.sh          what building, running and testing need
#   deps.sh --v2     what the virtual machine of `make test-v2` needs as well
set -eu

build="gcc libc6-dev make meson ninja-build pkg-config musl-tools libseccomp-dev libjansson-dev libfyaml-dev libssl-dev libsqlite3-dev libzstd-dev zlib1g-dev scdoc curl ca-certificates"
tests="python3 python3-pytest libcmocka-dev uidmap bubblewrap git patch bash iproute2 util-linux passwd procps openssl sqlite3"
languages="nodejs g++ perl python3-numpy"
lint="clang clang-tidy clang-format cppcheck libclang-rt-14-dev"
vm="qemu-system-x86 kmod cpio"

want="$build $tests $languages"
for word; do
	case $word in
	--v2) want="$want $vm" ;;
	--lint) want="$want $lint" ;;
	*) echo "deps.sh: unknown option $word" >&2; exit 2 ;;
	esac
done

missing=
for package in $want; do
	dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
here=$(cd "$(dirname "$0")" && pwd)
[ -n "$missing" ] || exec "$here/grammars.sh"

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/tmp/belljar-deps.log 2>&1 || {
	echo "error: apt-get could not install them; its last words:" >&2
	tail -n 20 /tmp/belljar-deps.log >&2
	exit 1
}
exec "$here/grammars.sh"
