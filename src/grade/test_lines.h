/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a batch that are function tests: {"code": …, "test": {"func": …, "cases": […]}} (docs/batch.md). */
#ifndef BELLJAR_GRADE_TEST_LINES_H
#define BELLJAR_GRADE_TEST_LINES_H

#include "grade/pairs.h"
#include "run/batch.h"

/* What `belljar test` gives a solution that says nothing else; the clock has three times the CPU time. */
#define TEST_CPU_MS	  30000
#define TEST_MEMORY_BYTES (256ULL << 20)
#define TEST_CASE_MS	  10000

struct test_lines {
	const struct request *verifier; /* a request with nothing but defaults */
	const struct ceiling *ceiling;	/* of the batch */
	struct pairs pairs;
};

/* Its row of a batch's table of kinds. `defaults`: what a line does not say; without a wall-clock limit it is three times the CPU time. */
struct batch_kind test_lines_kind(struct test_lines *t, const struct request *defaults);

#endif
