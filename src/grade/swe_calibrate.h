/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: makes the canaries of an instance, once, by trusted runs before the patch and with the gold patch; keeps them on disk. */
#ifndef BELLJAR_GRADE_SWE_CALIBRATE_H
#define BELLJAR_GRADE_SWE_CALIBRATE_H

#include "grade/swe_ask.h"
#include "grade/swe_canary.h"

enum swe_canaries_state {
	CANARIES_NEW,
	CANARIES_RUNS,	   /* base and gold run, side by side */
	CANARIES_PLAN,	   /* both have ended */
	CANARIES_PLANNING, /* the generator is at work */
	CANARIES_TRY,
	CANARIES_TRYING,   /* all versions run with the gold patch */
	CANARIES_READY,
	CANARIES_FAILED,   /* `err` says why */
};

struct swe_canaries {
	struct swe_ask form;	/* what all of its jobs have in common: instance, job, tree, defaults, limits */
	int folder;		/* where plans are kept; -1: nowhere */
	enum swe_canaries_state state;
	struct err err;
	struct canary_plan plan;
	double seconds;		/* what making it took, all jars added up; 0: it was on disk */
	uint64_t ticket;	/* of its last receipt */
	/* while it is made */
	struct swe_ask base, gold, ask;
	struct strlist sample;	/* PASS_TO_PASS tests that get variants too */
	struct strlist selected; /* what runs where all versions are tried */
	json_t *tests;		/* what the generator was asked */
	char copies[16];
	unsigned *lines;
	unsigned open;		/* jars under way */
	bool gold_waits;	/* the gold run has not begun yet */
	struct arena arena;
};

/* Takes the plan from disk when it is there. */
void swe_canaries_init(struct swe_canaries *c, const struct swe_ask *form, int folder);
/* Begins its next job, when it has one and there is room. */
void swe_canaries_more(struct swe_canaries *c);
void swe_canaries_free(struct swe_canaries *c);

#endif
