#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests and ends with one count. Usage: test.sh [--check | --asan | --v2]
#   (no option)  unit tests; end to end and containment as root, containment again with warm jars; both again as an ordinary user, with and
#                without subordinate ids
#   --check      unit tests, and every verb once
#   --asan       unit and most of end to end with the sanitized build, as root
#   --v2         limits and containment inside a pure cgroup v2 machine
set -u
cd "$(dirname "$0")/.." || exit 1
mode=${1:-}
passed=0 failed=0 skipped=0 broken=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Adds up pytest's last line: "3 failed, 120 passed, 4 skipped in 9.87s".
count() {
	local line
	line=$(grep -aE '^=*[^=]*[0-9]+ (passed|failed|skipped|error)' "$log" | tail -n 1)
	passed=$((passed + $(grep -oE '[0-9]+ passed' <<<"$line" | grep -oE '[0-9]+' || echo 0)))
	failed=$((failed + $(grep -oE '[0-9]+ failed' <<<"$line" | grep -oE '[0-9]+' || echo 0)))
	failed=$((failed + $(grep -oE '[0-9]+ errors?' <<<"$line" | grep -oE '[0-9]+' || echo 0)))
	skipped=$((skipped + $(grep -oE '[0-9]+ skipped' <<<"$line" | grep -oE '[0-9]+' || echo 0)))
}

# A group of tests; its exit status counts even when it printed no number.
group() {
	local name=$1 status before=$failed
	shift
	printf '\n== %s\n' "$name"
	"$@" 2>&1 | tee "$log"
	status=${PIPESTATUS[0]}
	count
	if [ "$status" -ne 0 ] && [ "$failed" -eq "$before" ]; then
		echo "error: $name ended with status $status" >&2
		broken=$((broken + 1))
	fi
}

py() {
	/usr/bin/python3 -m pytest -p no:cacheprovider -q -rs --durations=6 "$@"
}

# meson prints "Ok: N", "Fail: N", "Timeout: N".
unit() {
	local dir=$1 status=0 bad
	printf '\n== unit tests\n'
	meson test -C "$dir" --print-errorlogs >"$log" 2>&1 || status=$?
	[ "$status" -eq 0 ] || cat "$log"
	grep -aE '^(Ok|Fail|Timeout):' "$log"
	bad=$(awk '/^(Fail|Timeout):/ {n += $2} END {print n + 0}' "$log")
	passed=$((passed + $(awk '/^Ok:/ {n = $2} END {print n + 0}' "$log")))
	failed=$((failed + bad))
	if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then broken=$((broken + 1)); fi
}

rootless() {
	[ "$(id -u)" = 0 ] || { echo "not root: the tests above were rootless already"; return 0; }
	# What does not depend on who asks (interpreters, comparison, rules, texts) is not asked again.
	group "end to end, rootless" env BELLJAR_TEST_USER=belljartest /usr/bin/python3 -m pytest -p no:cacheprovider -q -rs \
		--ignore=tests/e2e/test_warm_same.py --ignore=tests/e2e/test_check.py --ignore=tests/e2e/test_syntax.py --ignore=tests/e2e/test_explain.py \
		--ignore=tests/e2e/test_judge.py --ignore=tests/e2e/test_swe_grade.py --ignore=tests/e2e/test_swe_guest.py --ignore=tests/e2e/test_multipl_e.py \
		--ignore=tests/e2e/test_batch_tests.py --ignore=tests/e2e/test_variants.py --ignore=tests/e2e/test_compare.py --ignore=tests/e2e/test_feedback.py \
		--ignore=tests/e2e/test_grade_js.py --ignore=tests/e2e/test_swe_witness.py --ignore=tests/e2e/test_swe_env.py --ignore=tests/e2e/test_any_bytes.py \
		--ignore=tests/e2e/test_hostile_answers.py --ignore=tests/e2e/test_bench.py --deselect=tests/e2e/test_swebench.py::test_progress_on_a_terminal_and_when_asked \
		--deselect=tests/e2e/test_swebench.py::test_limits_are_told --deselect=tests/e2e/test_swebench.py::test_expected_failures_count_only_where_the_source_says_so \
		--deselect=tests/e2e/test_grade.py::test_mbpp_references --deselect=tests/e2e/test_grade.py::test_humaneval_references tests/e2e
	group "containment, rootless" env BELLJAR_TEST_USER=belljartest /usr/bin/python3 -m pytest -p no:cacheprovider -q -rs tests/containment
}

case $mode in
"")
	unit build
	group "end to end" py tests/e2e
	group "tricks against graders, and honest solutions" py tests/cheats/swe tests/cheats/test_functions.py tests/cheats/test_honest_kinds.py
	group "containment" py tests/containment
	# Guards switched off one by one are the group before it; here once for each that warm jars set up in steps of their own (cases.py).
	group "containment, warm jars" env BELLJAR_TEST_WARM=1 /usr/bin/python3 -m pytest -p no:cacheprovider -q -rs tests/containment
	rootless
	;;
--check)
	unit build
	group "every verb once" py tests/e2e/test_smoke.py
	;;
--asan)
	export BELLJAR=$PWD/build-asan/belljar ASAN_OPTIONS=detect_leaks=0
	unit build-asan
	# Without cgroups memory is kept by RLIMIT_DATA, which counts AddressSanitizer's own: rootless is tested without it.
	# Zygotes are not sanitized (they are somebody else's interpreter), and what is measured is not measured here. Those that read what strangers wrote
	# come first; what only asks the same code again with other options is left out (45 minutes).
	group "end to end, sanitized" py tests/e2e/test_bad_input.py tests/e2e/test_request.py tests/e2e/test_config.py tests/e2e/test_check.py \
		tests/e2e/test_explain.py tests/e2e/test_judge.py tests/e2e/test_grade.py tests/e2e/test_audit.py tests/e2e/test_allow.py tests/e2e/test_batch.py tests/e2e/test_batch_tests.py tests/e2e/test_swe_grade.py tests/e2e/test_swebench.py \
		tests/e2e/test_run.py tests/e2e/test_stdin.py tests/e2e/test_files.py tests/e2e/test_artifacts.py tests/e2e/test_output.py tests/e2e/test_result.py \
		tests/e2e/test_verdicts.py tests/e2e/test_lifecycle.py --deselect=tests/e2e/test_grade.py::test_mbpp_references \
		--deselect=tests/e2e/test_grade.py::test_humaneval_references --deselect=tests/e2e/test_swebench.py::test_expected_failures_count_only_where_the_source_says_so \
		--deselect=tests/e2e/test_swebench.py::test_progress_on_a_terminal_and_when_asked --deselect=tests/e2e/test_swebench.py::test_limits_are_told
	;;
--v2)
	tools/deps.sh --v2
	# The limits (every verdict, with its fakes), and the containment cases about privileges and other jars. The rest of the containment suite has
	# time limits that an emulated machine does not keep. (End to end first: containment's canaries live until the end.) Of warm jars: the limits in slots that are used again, and what a batch does without a clock.
	group "cgroup v2: limits and containment" tests/v2/run.sh -- env BELLJAR_SLOW=8 \
		/usr/bin/python3 -m pytest -p no:cacheprovider -q -rs --no-red tests/e2e/test_verdicts.py tests/e2e/test_warm_limits.py tests/e2e/test_batch.py \
		tests/containment/test_pv.py tests/containment/test_mt.py \
		-k "test_verdicts or test_pv or mt_01 or mt_02 or mt_03 or mt_04 or mt_05 or mt_06 or in_a_few_slots or all_kinds or front_is_confined"
	;;
*)
	echo "usage: test.sh [--check | --asan | --v2]" >&2
	exit 2
	;;
esac

printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$((failed + broken))" "$skipped"
[ "$failed" -eq 0 ] && [ "$broken" -eq 0 ] && [ "$passed" -gt 0 ]
