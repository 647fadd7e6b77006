/* SPDX-License-Identifier: Apache-2.0 */
/* From an error to what one can do about it: one table of rows (advice_table.h). */
#ifndef BELLJAR_GRADE_ADVICE_H
#define BELLJAR_GRADE_ADVICE_H

#include "grade/text.h"

/* What is known of an error. Everything may be missing. */
struct advice_in {
	const char *language;	/* python, node, bash, compiler */
	const char *reason;	/* of a run or a case: wall_time, wrong_value, … */
	struct span type;	/* of an exception */
	struct strlist bases;	/* of an exception: names of the builtin classes that it comes from */
	struct span subject;	/* what a row's pattern looks at: an exception's message; a signal's name; an exit status */
	struct span code, function;
	long line;
	struct strlist near;	/* names that whoever saw it happen found near */
	struct strlist names;	/* functions that do exist */
	struct span source;	/* of the program */
};

struct advice {
	const char *text;	/* a suggestion on one line; NULL: no row fits */
	const char *key;	/* two of the same key say the same */
};

void advice_find(const struct advice_in *in, struct arena *a, struct advice *out);

/* For tests: a pattern with "*" (anything) and "{}" (anything, kept) against a text; up to 3 pieces are kept. */
bool advice_match(const char *pattern, struct span text, struct span kept[3]);
/* The i-th row's text and pattern; false past the end. */
bool advice_row_at(size_t i, const char **when, const char **pattern, const char **say);

#endif
