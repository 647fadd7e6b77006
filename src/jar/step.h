/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up as a table of named steps: one failing step stops the walk, and tests can make any of them fail. */
#ifndef BELLJAR_JAR_STEP_H
#define BELLJAR_JAR_STEP_H

#include <stddef.h>

#include "base/err.h"

struct step {
	const char *name;
	const char *guard; /* test builds may skip the step under this name; NULL: never */
	int (*run)(void *ctx, struct err *e);
};

/* Runs the steps in order. The first failure is returned with its step's name in `e`. */
int step_walk(const struct step *steps, size_t count, void *ctx, struct err *e);
/* For steps inside other code: fails when a test asks for it. */
int step_point(const char *name, struct err *e);

#endif
