/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench from predictions to verdicts: trees, jars, rounds with canaries, reports; many at once. */
#ifndef BELLJAR_GRADE_SWE_RUN_H
#define BELLJAR_GRADE_SWE_RUN_H

#include "grade/swe_ask.h"
#include "grade/swe_calibrate.h"
#include "grade/swe_report.h"
#include "grade/swe_tree.h"

/* One round with canaries. */
struct swe_round {
	struct swe_ask ask;
	/* DOUBTED: it has findings, and the gold patch goes through the same round to show that they are the patch's. */
	enum { SWE_ROUND_NEW, SWE_ROUND_OPEN, SWE_ROUND_DOUBTED, SWE_ROUND_CHECKING, SWE_ROUND_DONE } state;
	unsigned tries;
	struct swe_ask check;	/* with the gold patch */
	bool checked;
	struct swe_tamper *gold_found;
	size_t gold_found_n;
	unsigned char *choice;	/* a version for each slot */
	unsigned *lines;	/* where the versions begin */
	struct strlist select;	/* ids of the tests that run */
	struct swe_tamper *found;
	size_t found_n;
};

/* What is asked of one instance. */
struct swe_item {
	const struct swe_instance *instance;
	struct swe_prediction pred;	/* whose patch; NULL: there is none, and that is the prediction */
	bool bare;			/* of `validate`: no patch on purpose, the tests run all the same */
	bool apply_only;		/* stop when the patches are in */
	/* what came of it */
	enum { SWE_ITEM_NEW, SWE_ITEM_TEST, SWE_ITEM_CANARIES, SWE_ITEM_ROUNDS, SWE_ITEM_GRADED, SWE_ITEM_TOLD } state;
	bool resumed;			/* its report was there already */
	struct err err;			/* why there is no verdict */
	struct swe_job job;
	const char *tree;		/* the checkout of its commit */
	struct swe_ask ask;		/* all tests */
	struct swe_canaries *canaries;	/* of its instance; NULL: not wanted yet */
	struct swe_round rounds[SWE_ROUNDS];
	size_t round_n;
	double round_seconds;		/* all tries of all rounds */
	uint64_t ticket;		/* of the last receipt that its verdict rests on */
	struct swe_verdict verdict;
	enum swe_state outcome;
	json_t *report;			/* what report.json holds */
	uint64_t tree_ns;		/* what making its tree took; 0: it was there */
	struct arena arena;
};

struct swe_evaluation {
	struct swe_jars_setup jars;	/* `more`, `tick`, `ctx` are ours */
	struct swe_item *items;
	size_t count;
	const char *repos;		/* folder of mirrors */
	struct swe_trees *trees;
	const struct request *defaults;
	int logs;			/* folder that a folder for each item is made in; -1: none */
	const struct strlist *extra;	/* words for the runner */
	const struct strlist *tests;	/* instead of the test patch's files; NULL: those */
	uint64_t wall_ms, memory_bytes; /* instead of the row's; 0: the row's */
	bool canaries, strict, progress;
	unsigned columns;		/* of the terminal that shows progress; 0: none, and it comes in lines */
	int canary_folder;		/* where plans of canaries are kept; -1: nowhere */
	bool raw;			/* reports hold what the runner printed */
	/* An item has its report. In the order in which they end. */
	void (*told)(void *ctx, struct swe_item *i);
	void *ctx;
};

/* 0; 130: a signal; -1: belljar failed. Items that were not finished keep their state. */
int swe_evaluate(struct swe_evaluation *s, struct err *e);
/* Reads the report of an item that an earlier call with the same options left in s->logs; false: there is none. */
bool swe_item_resume(const struct swe_evaluation *s, struct swe_item *i);
void swe_item_free(struct swe_item *i);

#endif
