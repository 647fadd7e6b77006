#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds every fuzz target with clang and its sanitizers into build-fuzz/ and runs each for SECONDS (default 10).
# Usage: tests/fuzz/run.sh [SECONDS [TARGET...]]. Exit status 1 when a target crashed; its input is in build-fuzz/crashes/.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
out=$root/build-fuzz
seconds=${1:-10}
[ $# -gt 0 ] && shift
CC=${CC:-clang}
cflags="-std=gnu17 -D_GNU_SOURCE -g -O1 -fno-omit-frame-pointer -I$root/src -I$out -I$root/grammars/tree-sitter/include -Wno-deprecated-declarations"
sanitize="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
libs="-ljansson -lfyaml -lcrypto -lsqlite3 -lzstd -lz -lm"

command -v "$CC" >/dev/null || { echo "fuzz: $CC is not installed: apt-get install clang libclang-rt-dev" >&2; exit 2; }
mkdir -p "$out/obj" "$out/crashes"
# Replaces a file only when it differs: nothing is compiled anew for the same text.
keep() {
	cat >"$1.new"
	if cmp -s "$1.new" "$1"; then rm "$1.new"; else mv "$1.new" "$1"; fi
}
keep "$out/belljar_config.h" <<CONFIG
#define BELLJAR_VERSION "fuzz"
#define BELLJAR_LIBEXECDIR "/nonexistent"
CONFIG

# Build tools write sources of their own.
cc -D_GNU_SOURCE -I"$root/src" -o "$out/seccomp-gen" "$root/tools/seccomp-gen.c" -lseccomp -lcrypto
"$out/seccomp-gen" | keep "$out/seccomp_filter.c"
cc -D_GNU_SOURCE -I"$root/src" -o "$out/lang-gen" "$root/tools/lang-gen.c" "$root"/src/run/*yaml.c "$root"/src/base/*.c -lfyaml
"$out/lang-gen" "$root"/languages/*.yaml | keep "$out/languages.c"
cc -D_GNU_SOURCE -I"$root/src" -o "$out/rules-gen" "$root/tools/rules-gen.c" "$root"/src/run/rules.c "$root"/src/run/yaml.c "$root"/src/check/rule.c "$root"/src/base/*.c -lfyaml
"$out/rules-gen" "$root"/rules/*.yaml | keep "$out/rules.c"
cc -D_GNU_SOURCE -I"$root/src" -o "$out/swe-gen" "$root/tools/swe-gen.c" "$root"/src/grade/swe_spec_yaml.c "$root"/src/run/yaml.c "$root"/src/base/*.c -lfyaml
"$out/swe-gen" "$root"/swebench/*.yaml | keep "$out/swe_specs.c"
/usr/bin/python3 "$root/tools/nfkc-gen.py" | keep "$out/nfkc.c"

# tree-sitter and the grammars, with the sanitizers and the fuzzer's eyes in them as well.
for name in tree-sitter tree-sitter-python tree-sitter-bash tree-sitter-javascript; do
	for source in "$root/grammars/$name"/src/lib.c "$root/grammars/$name"/parser.c "$root/grammars/$name"/scanner.c; do
		object=$out/obj/$name-$(basename "$source" .c).o
		if [ ! -e "$source" ] || [ -n "$(find "$object" -newer "$source" 2>/dev/null)" ]; then continue; fi
		# shellcheck disable=SC2086
		$CC $cflags -w -I"$root/grammars/$name" -I"$root/grammars/$name/src" -fsanitize=address -fsanitize=fuzzer-no-link -c "$source" -o "$object"
	done
done

/usr/bin/python3 "$root/tools/embed.py" jar/allow.h allow_table "$root/allow/programs.txt" | keep "$out/allow_table.c"
embed() {
	symbol=$1
	shift
	/usr/bin/python3 "$root/tools/embed.py" jar/root.h "$symbol" "$@" | keep "$out/text_$symbol.c"
}
embed root_node_js "$root/src/guest/node/preload.js"
embed root_driver_py "$root/src/guest/python/data.py" "$root/src/guest/python/driver.py"
embed root_verifier_py "$root/src/guest/python/data.py" "$root/src/guest/python/compare.py" "$root/src/guest/python/js.py" "$root/src/guest/python/verifier.py"
/usr/bin/python3 "$root/tools/precompile.py" /etc/belljar/verifier.py "$root/src/guest/python/data.py" "$root/src/guest/python/compare.py" "$root/src/guest/python/js.py" "$root/src/guest/python/verifier.py" | keep "$out/verifier.code"
embed root_verifier_code "$out/verifier.code"
embed root_start_py "$root/src/guest/python/start.py"
swe_words="-:start.py:$root/src/guest/python/start.py"
for name in swe swe_runner tree; do
	/usr/bin/python3 "$root/tools/precompile.py" "/workspace/.belljar/$name.py" "$root/src/guest/python/$name.py" | keep "$out/$name.code"
	swe_words="$swe_words ${name%_runner}:$name.py:$root/src/guest/python/$name.py ${name%_runner}:$name.code:$out/$name.code"
done
# shellcheck disable=SC2086
/usr/bin/python3 "$root/tools/embed-files.py" $swe_words | keep "$out/text_swe_guest_files.c"
embed root_driver_js "$root/src/guest/node/data.js" "$root/src/guest/node/driver.js"
embed root_verifier_js "$root/src/guest/node/data.js" "$root/src/guest/node/verifier.js"

# Everything but programs with a main() of their own; an object is made anew when any source is newer.
rm -f "$out/all.a"
for source in "$root"/src/base/*.c "$root"/src/kernel/*.c "$root"/src/jar/*.c "$root"/src/keeper/[lsuw]*.c "$root"/src/check/*.c "$root"/src/store/*.c "$root"/src/run/*.c "$root"/src/grade/*.c \
	"$out/seccomp_filter.c" "$out/languages.c" "$out/rules.c" "$out/allow_table.c" "$out/nfkc.c" "$out/swe_specs.c" "$out"/text_*.c; do
	case $source in */store/notary.c) continue ;; esac
	object=$out/obj/$(basename "$(dirname "$source")")-$(basename "$source" .c).o
	if [ ! -e "$object" ] || [ -n "$(find "$root/src" "$out" -maxdepth 2 -name '*.[ch]' -newer "$object" -print -quit)" ]; then
		# shellcheck disable=SC2086
		$CC $cflags $sanitize -fsanitize=fuzzer-no-link -c "$source" -o "$object"
	fi
	ar rcs "$out/all.a" "$object"
done

status=0
for source in "$root"/tests/fuzz/fuzz_*.c; do
	target=$(basename "$source" .c)
	target=${target#fuzz_}
	if [ $# -gt 0 ]; then
		case " $* " in *" $target "*) ;; *) continue ;; esac
	fi
	# shellcheck disable=SC2086
	$CC $cflags $sanitize -fsanitize=fuzzer -I"$root/tests/fuzz" "$source" "$out/all.a" "$out"/obj/tree-sitter*.o $libs -o "$out/fuzz_$target"
	mkdir -p "$out/corpus/$target"
	leaks=1
	# Rows live as long as the process; libfyaml leaks a little of what it refuses.
	case $target in yaml | config | rules) leaks=0 ;; esac
	log=$out/$target.log
	if (cd "$out" && ASAN_OPTIONS=detect_leaks=$leaks timeout -s KILL $((seconds + 60)) ./fuzz_"$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
		-detect_leaks=$leaks -print_final_stats=1 -artifact_prefix="crashes/$target-" \
		"corpus/$target" "$root/tests/fuzz/corpus/$target") >"$log" 2>&1; then
		echo "ok    $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
	else
		echo "CRASH $target: see $log"
		grep -E "ERROR|broken:|runtime error|SUMMARY" "$log" | head -5
		status=1
	fi
done
# Values of JavaScript beside node's own comparison: about 30,000 pairs a second.
if [ $# -eq 0 ] && command -v node >/dev/null; then
	/usr/bin/python3 "$root/tests/fuzz/values_js.py" "$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')" $((seconds * 20000)) || status=1
fi
rm -rf /dev/shm/belljar-fuzz-*
exit $status
