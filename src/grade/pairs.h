/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of jars: a candidate in one, what is expected in the other, and data between them; on somebody's loop. */
#ifndef BELLJAR_GRADE_PAIRS_H
#define BELLJAR_GRADE_PAIRS_H

#include "base/loop.h"
#include "run/pool.h"
#include "run/result.h"

#define PAIRS_TICK_MS 100 /* pairs_round() is called at least so often: it looks at the clock */

/* One solution and what is to be asked of it. The caller owns all of it until `done`. */
struct grade_sample {
	struct request req;	/* resolved: language, code, files, limits; code_name is what the driver loads */
	const char *task;	/* for the verifier: JSON (src/guest/python/verifier.py) */
	size_t task_len;
	uint32_t number;	/* of its jars in the pool; 0: the pair's own */
	void *ctx;		/* the caller's */
	struct grade_sample *next; /* of those that wait */
};

/* What came of it. */
struct grade_outcome {
	const char *report;	/* the verifier's words: JSON; NULL: there are none, see `failure` */
	size_t report_len;
	struct err failure;	/* belljar's own */
	bool answered;		/* the candidate has said something */
	bool cancelled;		/* it was called off, and says nothing about the candidate */
	/* of the candidate's jars, the last one's where there were several */
	const struct result *result; /* NULL: none was begun */
	unsigned jars;
	uint64_t ticket;	/* what `keep` gave for the last of them */
	uint64_t oom_kills, cpu_ns, max_memory_bytes, elapsed_ns; /* of all of them */
};

struct pairs_setup {
	struct loop *loop;
	struct pool *pool;
	size_t count;		/* samples at once; verifiers are started as they are needed */
	uint32_t number;	/* the first of `count` numbers in the pool that are the verifiers'; as many behind them are for candidates without one */
	const struct request *defaults; /* a request with nothing but defaults: the verifier's */
	bool js;		/* the tests are JavaScript */
	bool recycles;		/* the pool gives jars to a client again: not to and not from these */
	/* A jar of a candidate has ended: its receipt. What it returns is the outcome's ticket. */
	uint64_t (*keep)(void *ctx, struct grade_sample *s, const struct result *res);
	/* Never from inside of pairs_put(). */
	void (*done)(void *ctx, struct grade_sample *s, const struct grade_outcome *o);
	void *ctx;
};

struct pair;

struct pairs {
	struct pairs_setup setup;
	struct pair *list;
	struct request verifier;
	struct grade_sample *first, **last; /* they wait for a pair */
	size_t pending, busy;
	bool failed;		/* verifiers do not stay, and `err` says why: what waits is done with that failure */
	struct err err;
};

int pairs_init(struct pairs *all, const struct pairs_setup *s, struct err *e);
/* Ends what runs; nothing is told of it any more. Before the pool is closed. */
void pairs_done(struct pairs *all);
/* A sample to grade. It is begun by pairs_round(). */
void pairs_put(struct pairs *all, struct grade_sample *s);
/* At the end of each round of the loop: deals with what has ended, and begins. */
void pairs_round(struct pairs *all);
/* Calls everything off; `done` comes for each. */
void pairs_cancel(struct pairs *all);
/* Verifiers get another chance. */
void pairs_forgive(struct pairs *all);
/* Samples that wait or are being graded. */
static inline size_t pairs_in_hand(const struct pairs *all)
{
	return all->pending + all->busy;
}

#endif
