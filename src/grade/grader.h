/* SPDX-License-Identifier: Apache-2.0 */
/* Grading of many samples, on a loop and a pool of its own. */
#ifndef BELLJAR_GRADE_GRADER_H
#define BELLJAR_GRADE_GRADER_H

#include "grade/pairs.h"
#include "keeper/pool_proto.h"
#include "run/ledger.h"

struct grade_setup {
	struct pool_open open;
	int keeper;		/* socket of a pool's keeper; closed at the end */
	size_t jobs;		/* samples at once */
	const struct request *defaults; /* a request with nothing but defaults: the verifier's */
	struct ledger_setup ledger; /* receipts of the candidates' runs */
	bool quiet;
	bool js;		/* the tests are JavaScript */
	/* The next sample, NULL: there are no more. */
	struct grade_sample *(*next)(void *ctx);
	void (*done)(void *ctx, struct grade_sample *s, const struct grade_outcome *o);
	/* Now and then, for progress. May be NULL. */
	void (*tick)(void *ctx);
	void *ctx;
};

/* Grades all. 0; 130: a signal stopped it; 125 with `e`: belljar failed. */
int grade_all(const struct grade_setup *s, struct err *e);

/* True when the receipts of a sample that was done are kept. */
bool grade_settled(uint64_t ticket);
/* Runs a solution as the program that it is; the result's outputs are the caller's to free (run_result_done). */
int grade_program(const struct grade_setup *s, const struct request *req, struct arena *a, struct result *res, struct err *e);

#endif
