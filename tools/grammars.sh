#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches the C sources of tree-sitter and of its grammars from the npm registry into grammars/ (git-ignored, shared by every build folder).
# Each archive must have the hash that stands here. Silent when all are there.
#
# The library too: Debian's 0.20.7 corrupts its heap on 70,000 nested brackets, and could not be built with the sanitizers.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/grammars
registry=${BELLJAR_NPM_REGISTRY:-https://registry.npmjs.org}

# name, version, sha256 of the archive, what is unpacked of it
rows="
tree-sitter 0.25.0 016448ee8e2c23aed7e1155c118cd66cd026e6436f7394b3f3606d30bf9aaa4a package/vendor/tree-sitter/lib
tree-sitter-python 0.23.6 aab5b860d93dbf84b37fed532f7dacc0468ede5387d0c74911d68f964287662a package/src
tree-sitter-bash 0.23.3 10f4d67f56e07bc6cc34c49afb34e232269c1e0a19933880dfdb5dd738a8fc7d package/src
tree-sitter-javascript 0.23.1 90e80b25a67517a4daf6ad751557bee21efbda7b7a5a554897933245d1734398 package/src
"

fail() {
	echo "error: $1" >&2
	echo "hint: $2" >&2
	exit 1
}

mkdir -p "$out"
echo "$rows" | while read -r name version hash part; do
	[ -n "$name" ] || continue
	stamp=$out/$name/.$version-$hash
	[ ! -e "$stamp" ] || continue
	tmp=$(mktemp -d "$out/.fetch-XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	echo "fetching: $name $version"
	curl -fsSL --retry 4 --connect-timeout 20 --max-time 300 -o "$tmp/archive" "$registry/$name/-/$name-$version.tgz" ||
		fail "$name $version could not be fetched from $registry" "look at the network, or name a mirror with BELLJAR_NPM_REGISTRY=URL"
	is=$(sha256sum "$tmp/archive" | cut -d ' ' -f 1)
	[ "$is" = "$hash" ] || fail "$name $version has the sha256 $is, not $hash" "the archive is not the one that was looked at: use another mirror"
	tar -xzf "$tmp/archive" -C "$tmp" "$part" || fail "$name $version cannot be unpacked" "is there room in $out?"
	rm -rf "${out:?}/$name"
	mv "$tmp/$part" "$out/$name"
	: >"$stamp"
	rm -rf "$tmp"
done
