/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of a stdin test (first byte 0 or 1: without or with a checker of the command line), or two texts to compare (2; split at the first 0xff). */
#include "fuzz.h"

#include <math.h>

#include "grade/judge_cases.h"
#include "jar/feed.h"

static void check_cases(const struct cases *c, const struct cases_defaults *d)
{
	MUST(c->count > 0 && c->count <= CASES_COUNT_MAX);
	for (size_t i = 0; i < c->count; i++) {
		const struct cases_case *k = &c->v[i];

		MUST(k->name && strlen(k->name) <= 100 && k->points >= 0 && isfinite(k->points));
		MUST(!k->input.path || feed_name_ok(k->input.path, strlen(k->input.path)));
		MUST(!k->expected.path || feed_name_ok(k->expected.path, strlen(k->expected.path)));
		MUST(k->compare.mode == COMPARE_CHECKER ? c->checker.path || d->has_checker : k->expected.there);
		MUST(compare_tolerance_ok(k->compare.rel, k->compare.abs));
		MUST(k->limits.output_bytes <= CASES_OUTPUT_MAX && k->limits.time_ms <= 86400000 && k->limits.wall_ms <= 86400000);
		MUST(!k->limits.memory_bytes || k->limits.memory_bytes >= 4U << 20);
	}
	for (size_t s = 0; s < c->subtask_count; s++) {
		MUST(c->subtasks[s].count > 0);
		for (size_t k = 0; k < c->subtasks[s].count; k++)
			MUST(c->subtasks[s].cases[k] < c->count);
	}
}

static void check_compare(const char *data, size_t size)
{
	const char *cut = size ? memchr(data, 0xff, size) : NULL;
	size_t n = cut ? (size_t)(cut - data) : size, m = cut ? size - n - 1 : 0;
	/* Copies of exact size: a byte past the end is seen. */
	char *a = memcpy(malloc(n + 1), data, n), *b = memcpy(malloc(m + 1), cut ? cut + 1 : data, m);
	struct compare_diff diff;
	enum compare_result got[3];

	a = realloc(a, n ? n : 1);
	b = realloc(b, m ? m : 1);
	for (int mode = COMPARE_EXACT; mode <= COMPARE_FLOAT; mode++) {
		struct compare c = { .mode = mode, .rel = 1e-6, .abs = 1e-9 };

		got[mode] = compare_run(&c, a, n, b, m, &diff);
		if (got[mode] != COMPARE_SAME) {
			MUST(diff.line > 0 && !(diff.expected.end && diff.got.end));
			MUST(diff.expected.end || (diff.expected.text >= a && diff.expected.text + diff.expected.len <= a + n && diff.expected.at <= diff.expected.len));
			MUST(diff.got.end || (diff.got.text >= b && diff.got.text + diff.got.len <= b + m && diff.got.at <= diff.got.len));
		}
		MUST(compare_run(&c, a, n, a, n, &diff) == COMPARE_SAME);
	}
	/* Each is stricter than the next. */
	MUST(got[COMPARE_EXACT] == COMPARE_OTHER || got[COMPARE_TOKENS] == COMPARE_SAME);
	MUST(got[COMPARE_EXACT] != COMPARE_OTHER || got[COMPARE_TOKENS] == COMPARE_OTHER);
	MUST(got[COMPARE_TOKENS] != COMPARE_SAME || got[COMPARE_FLOAT] == COMPARE_SAME);
	free(a);
	free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cases_defaults d = { 0 };
	struct arena a = { 0 };
	struct err e = { 0 };
	struct cases c;

	if (!size)
		return 0;
	if (data[0] == 2) {
		check_compare((const char *)data + 1, size - 1);
		return 0;
	}
	d.has_checker = data[0] == 1;
	if (cases_from_json(&c, (const char *)data + 1, size - 1, &d, &a, &e) < 0)
		MUST(e.kind == ERR_REQUEST && e.msg[0] && memchr(e.msg, 0, sizeof(e.msg)));
	else
		check_cases(&c, &d);
	arena_free(&a);
	return 0;
}
