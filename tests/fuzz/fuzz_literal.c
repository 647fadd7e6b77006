/* SPDX-License-Identifier: Apache-2.0 */
/* Two values as Python writes them: a tree stays in its text, equals itself, and a diff is clean and bounded. */
#include "fuzz.h"

#include "grade/diff.h"
#include "grade/literal.h"

static void check(const struct lit *l, struct span text)
{
	MUST(l->src.p >= text.p && l->src.p + l->src.n <= text.p + text.n);
	/* A dict with a key twice (nobody's repr, but for nan) may not. */
	MUST(l->n || literal_equal(l, l, true));
	for (size_t i = 0; i < l->n; i++) {
		check(l->items[i], text);
		if (l->keys[i])
			check(l->keys[i], text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	size_t n = zero ? (size_t)(zero - data) : size;
	struct span e = { (const char *)data, n }, g = zero ? (struct span){ (const char *)zero + 1, size - n - 1 } : e;
	struct arena a = { 0 };
	struct lit *l;
	struct diff d;

	if (size > 4096)
		return 0;
	l = literal_parse(e, &a);
	if (l)
		check(l, e);
	for (int turn = 0; turn < 3; turn++) {
		if (turn == 2)
			diff_output(e, g, &a, &d);
		else
			diff_values(turn ? g : e, turn ? e : g, &a, &d);
		MUST(d.lines.n <= DIFF_LINES_MAX && (d.lines.n || turn == 2));
		for (size_t i = 0; i < d.lines.n; i++) {
			MUST(strlen(d.lines.v[i]) < 8192);
			for (const char *p = d.lines.v[i]; *p; p++)
				MUST((unsigned char)*p >= 0x20 && *p != 0x7f);
		}
	}
	arena_free(&a);
	return 0;
}
