/* SPDX-License-Identifier: Apache-2.0 */
/* Jars for SWE-bench: many conversations at once, with git that makes a tree or with the driver that applies patches and runs tests. */
#ifndef BELLJAR_GRADE_SWE_JAR_H
#define BELLJAR_GRADE_SWE_JAR_H

#include "base/loop.h"
#include "keeper/pool_proto.h"
#include "run/ledger.h"
#include "run/run.h"

/* What is said in one jar, from the job to its end. The owner keeps it until `done`. */
struct swe_talk {
	struct request req;		/* resolved */
	const char *job;		/* sent first, as a frame; NULL: nothing is */
	size_t job_len;
	void (*said)(struct swe_talk *t, const char *data, size_t len); /* its stdout, as it comes */
	void (*done)(struct swe_talk *t);
	void *ctx;
	/* what came of it */
	struct result res;
	struct arena arena;		/* of the run */
	uint64_t begun_ns, ended_ns;	/* monotonic; 0: not yet */
	uint64_t ticket;		/* of its receipt */
};

struct swe_jars_setup {
	struct pool_open open;
	int keeper;			/* socket of a pool's keeper; closed at the end */
	size_t jobs;			/* at once */
	struct ledger_setup ledger;
	bool quiet;
	/* Called whenever there is room: begins talks by swe_jars_begin() while it likes. False: there will be no more. */
	bool (*more)(void *ctx);
	void (*tick)(void *ctx);
	void *ctx;
};

/* Runs until `more` has nothing and all talks are done. 0; 130: a signal stopped it (talks that were under way are done as cancelled); -1. */
int swe_jars_run(const struct swe_jars_setup *s, struct err *e);
/* How many talks can begin now. */
size_t swe_jars_room(void);
/* From `more` or `done`. False when there is no room. */
bool swe_jars_begin(struct swe_talk *t);
/* Ends it; `done` comes when that has happened. */
void swe_jars_cancel(struct swe_talk *t);
/* A signal asked for the end: nothing new should be begun. */
bool swe_jars_stopping(void);
/* Its receipt is kept. */
bool swe_jars_settled(uint64_t ticket);
/* Frees what a talk holds. */
void swe_talk_free(struct swe_talk *t);

#endif
