/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of a stdin test: read from a folder of files or from JSON, strictly (docs/judge.md). */
#ifndef BELLJAR_GRADE_JUDGE_CASES_H
#define BELLJAR_GRADE_JUDGE_CASES_H

#include "base/arena.h"
#include "base/buf.h"
#include "grade/judge_compare.h"

#define CASES_FILE_MAX	(64U << 20)  /* of JSON */
#define CASES_COUNT_MAX 100000
#define CASES_BYTES_MAX (256U << 20) /* of one input or answer */
#define CASES_OUTPUT_MAX ((64U << 20) - 1)

/* 0: not said. */
struct cases_limits {
	uint64_t time_ms, wall_ms; /* CPU time; wall clock */
	uint64_t memory_bytes, output_bytes;
};

/* Bytes that stand in the cases themselves, or the file that has them, beneath the folder of the cases. */
struct cases_bytes {
	bool there;
	const char *data, *path;
	size_t len;
};

struct cases_case {
	const char *name;
	struct cases_bytes input, expected;
	struct compare compare;
	struct cases_limits limits;
	double points;
};

/* Counts only when all of its cases pass. */
struct cases_subtask {
	const char *name;
	double points;
	size_t *cases, count; /* indices */
};

struct cases_checker {
	const char *path, *lang; /* NULL path: none; NULL lang: by its ending or first line, or a program as it is */
	struct strlist with;	 /* files that it is compiled and run with */
	struct cases_limits limits;
};

struct cases {
	struct cases_case *v;
	size_t count, cap;
	struct cases_subtask *subtasks;
	size_t subtask_count;
	struct cases_checker checker;
};

/* What the command line said: it goes before what a file says for all of its cases, and behind what a case says for itself. */
struct cases_defaults {
	bool has_compare;
	struct compare compare;
	struct cases_limits limits;
	bool has_checker;
};

/* Reads a JSON text. Everything is checked but files, none of which is opened; an error names the case and the field. */
int cases_from_json(struct cases *c, const char *text, size_t len, const struct cases_defaults *d, struct arena *a, struct err *e);
/* Lists a folder: NAME.in with NAME.out or NAME.ans, in natural order (2 before 10). */
int cases_from_folder(struct cases *c, int dir, const char *shown, const struct cases_defaults *d, struct arena *a, struct err *e);
/* Looks at every file that is named, before anything is run. */
int cases_check_files(const struct cases *c, int dir, struct err *e);
/* Reads a plain file beneath `dir`, whole, up to the buffer's maximum. */
int cases_read_file(int dir, const char *path, struct buf *out, struct err *e);
/* Natural order: numbers inside of names by their value. */
int cases_order(const char *a, const char *b);

#endif
