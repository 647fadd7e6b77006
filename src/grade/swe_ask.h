/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: one job for the driver in a jar (src/guest/python/swe.py), and what it said. */
#ifndef BELLJAR_GRADE_SWE_ASK_H
#define BELLJAR_GRADE_SWE_ASK_H

#include "grade/swe_data.h"
#include "grade/swe_frames.h"
#include "grade/swe_jar.h"
#include "grade/swe_spec.h"

#define SWE_TREE "/testbed" /* where the checkout is in a jar */

enum swe_mode { SWE_MODE_TEST, SWE_MODE_APPLY, SWE_MODE_PLAN };

struct swe_ask {
	/* what is asked */
	enum swe_mode mode;
	const struct swe_instance *instance;
	const struct swe_job *how;
	const char *tree;	/* folder of the base tree */
	const char *patch;	/* NULL: none */
	size_t patch_len;
	const struct strlist *select, *more; /* only these tests; NULL, NULL: all that the runner is given */
	const char *copies;	/* what names of copied test functions have behind them; NULL: there are none */
	json_t *files;		/* contents of test files, instead of the test patch's; NULL: none. Its owner frees it */
	json_t *plan;		/* of SWE_MODE_PLAN; likewise */
	bool probe;		/* before the patch: the values of failing comparisons are wanted */
	bool open_modes;	/* rootless: the tree belongs to another user than the guest */
	const struct request *defaults;
	uint64_t wall_ms, memory_bytes; /* instead of the row's; 0: the row's */
	void (*done)(struct swe_ask *a);
	void *ctx;
	/* what came of it */
	struct swe_talk talk;
	struct swe_session session;
	uint64_t said_bytes;
	uint64_t ready_ns;	/* when the tests began, monotonic; 0: they never did */
	bool open;		/* it has begun and not ended */
};

/* Begins it; `done` comes when the jar has ended. There must be room (swe_jars_room). */
int swe_ask_begin(struct swe_ask *a, struct err *e);
/* The run, borrowed from the session. */
void swe_ask_run(const struct swe_ask *a, struct swe_run *out);
/* Seconds from its begin to its end; 0: it did not run. */
double swe_ask_seconds(const struct swe_ask *a);
void swe_ask_free(struct swe_ask *a);

#endif
