/* SPDX-License-Identifier: Apache-2.0 */
/* What a program printed beside what it should have printed: bytes in, one of three answers out. No memory, no process, no locale. */
#ifndef BELLJAR_GRADE_JUDGE_COMPARE_H
#define BELLJAR_GRADE_JUDGE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * exact    the same bytes, but for blanks (space, tab, CR) at the end of a line and blanks and empty lines at the end of all
 * tokens   the same words between white space (space, tab, LF, CR, VT, FF: those of C, no other of Unicode's)
 * float    as tokens; two words that are both decimal numbers may differ by max(abs, rel * |expected|)
 * checker  a program decides (judge.c)
 */
enum compare_mode { COMPARE_EXACT, COMPARE_TOKENS, COMPARE_FLOAT, COMPARE_CHECKER, COMPARE_MODES };

extern const char *const compare_mode_names[COMPARE_MODES];

struct compare {
	enum compare_mode mode;
	double rel, abs; /* COMPARE_FLOAT */
};

#define COMPARE_REL 1e-6
#define COMPARE_ABS 1e-9

/* Numbers with more characters are words. */
#define COMPARE_NUMBER_MAX 4096

enum compare_result {
	COMPARE_SAME,
	COMPARE_SPACING, /* exact: the words are right, the white space between them is not */
	COMPARE_OTHER,
};

/* A line of one side, inside the caller's bytes. */
struct compare_line {
	const char *text;
	size_t len, at; /* at: where in the line it differs */
	bool end;	/* there is no such line: the text was over before */
};

/* The first difference. */
struct compare_diff {
	uint64_t line;	/* from 1; of the expected text, or of the other when that was over */
	uint64_t token; /* from 1; 0 for exact */
	struct compare_line expected, got;
};

/* Compares; `diff` is filled unless they are the same. Any bytes may stand on both sides. Not for COMPARE_CHECKER. */
enum compare_result compare_run(const struct compare *c, const char *expected, size_t expected_len, const char *got, size_t got_len,
				struct compare_diff *diff);
/* True when both words are the same number within the tolerance; nan is nan however it is spelled, an infinity is the one of its sign, and what a
 * long double cannot hold is no number. */
bool compare_numbers(const struct compare *c, const char *expected, size_t expected_len, const char *got, size_t got_len);
/* "exact", "float:REL" or "float:REL,ABS" of the command line. */
int compare_parse(const char *text, struct compare *out, struct err *e);
/* A tolerance: finite, not negative, rel at most 1. */
bool compare_tolerance_ok(double rel, double abs);

#endif
