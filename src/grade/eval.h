/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a data set, graded: one line a sample out, pass@k and reasons at the end. */
#ifndef BELLJAR_GRADE_EVAL_H
#define BELLJAR_GRADE_EVAL_H

#include "grade/dataset.h"
#include "grade/grader.h"

#define EVAL_KS 8

struct eval_setup {
	const struct dataset *kind;
	int data, samples, out; /* open files; out is written from its beginning, or after what is kept of it */
	const char *data_name, *samples_name, *out_name;
	bool references;	/* no samples: the data set's own solutions */
	const char *field;	/* with references: another field of the tasks that holds solutions */
	bool resume, ignore_incomplete, progress, json, quiet;
	unsigned ks[EVAL_KS];
	size_t k_count;
	const struct request *request; /* limits of a sample */
	struct grade_setup grade;      /* keeper, sizes, jobs */
};

/* 0 all passed, 1 not, 2 bad input, 125, 130. */
int eval_run(struct eval_setup *s, struct err *e);

#endif
