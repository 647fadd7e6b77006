/* SPDX-License-Identifier: Apache-2.0 */
/* Function tests: from a solution and a file of cases to a result (docs/grading.md). */
#ifndef BELLJAR_GRADE_FUNCTIONS_H
#define BELLJAR_GRADE_FUNCTIONS_H

#include <jansson.h>

#include "grade/pairs.h"

#define FUNCTIONS_SETUP "belljar_setup.py" /* where setup code is in /workspace */

struct function_test {
	const char *function;	 /* may be NULL where every case names its own */
	const char *cases;	 /* JSON text */
	size_t cases_len;
	const char *setup;	 /* code that runs before the solution; NULL: none */
	size_t setup_len;
	bool shared;		 /* all cases in one process */
	uint64_t case_ms;	 /* CPU time of one case */
};

struct function_language;

/* A resolved request for a solution becomes one for a driver that answers calls of it: how its language is called, NULL: not at all. */
const struct function_language *function_place(struct request *r, struct arena *a);
/* The source of a placed request in its own language, as a list of texts: the verifier looks for the classes that it defines. */
json_t *function_sources(const struct request *r);
/* Turns a resolved request for a solution into a sample; everything is in the arena. */
int function_sample(struct grade_sample *s, const struct function_test *t, struct arena *a, struct err *e);
/* The result object of what came of it. Cases that are bad give NULL and the error (ERR_INPUT), which names the case and its field. */
json_t *function_result(const struct grade_outcome *o, struct err *e);
/* Adds `language` and `feedback`: what an agent needs to put it right. */
void function_feedback(json_t *result, const struct request *r);
/* The same for a solution that was run as a program, without cases. */
json_t *function_program_result(const struct result *r, bool has_function);

#endif
