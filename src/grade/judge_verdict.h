/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of stdin tests: from the kernel's evidence, and from a checker's exit status. */
#ifndef BELLJAR_GRADE_JUDGE_VERDICT_H
#define BELLJAR_GRADE_JUDGE_VERDICT_H

#include "run/result.h"

enum judge_verdict {
	JUDGE_NOT_RUN,
	JUDGE_AC,  /* accepted */
	JUDGE_PC,  /* a checker gave a part of the points */
	JUDGE_PE,  /* the words are right, the white space is not */
	JUDGE_WA,  /* wrong answer */
	JUDGE_TLE, /* past the time limit */
	JUDGE_MLE, /* past the memory limit */
	JUDGE_OLE, /* past the output limit */
	JUDGE_RE,  /* did not exit with 0 */
	JUDGE_CE,  /* does not compile, or cannot be read */
	JUDGE_JE,  /* the judge failed: its checker, or belljar itself */
	JUDGE_VERDICTS
};

/* "AC"; NULL for JUDGE_NOT_RUN. */
const char *judge_verdict_name(enum judge_verdict v);

#define JUDGE_DETAIL 400

/*
 * How the program ended; JUDGE_AC means well, so that what it printed decides. `output_max`: the output limit, below the cap (log_bytes) that ends
 * a program, so that what came in the last moment counts too.
 */
enum judge_verdict judge_verdict_of_run(const struct verdict *v, const struct step_result *s, uint64_t output_max, char detail[JUDGE_DETAIL]);
/* What a checker says: testlib's exit codes; 7 needs a number from 0 to `points_max` among what it printed. Everything else is JUDGE_JE. */
enum judge_verdict judge_verdict_of_checker(const struct verdict *v, const struct step_result *s, double points_max, double *points,
					    char detail[JUDGE_DETAIL]);

#endif
