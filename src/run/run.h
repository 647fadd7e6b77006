/* SPDX-License-Identifier: Apache-2.0 */
/* One run: a resolved request in, one result out. */
#ifndef BELLJAR_RUN_RUN_H
#define BELLJAR_RUN_RUN_H

#include "base/buf.h"
#include "base/loop.h"
#include "run/client.h"
#include "run/feeder.h"
#include "run/link.h"
#include "run/meter.h"
#include "run/pool.h"
#include "run/result.h"

struct run;

struct run_options {
	bool live;	  /* pass output on to our own stdout and stderr as it comes */
	bool terminal[2]; /* that of stdout, stderr is a terminal: escape control sequences */
	/* Output waits in its pipes until run_watch_output(): who drives many short runs is not woken for each word that they print. */
	bool late_output;
	bool receipts; /* streams and files are hashed as they pass */
	/* For one run alone, NULL: none. `before_start` may refuse, with everything asked for but nothing of the guest started: the keeper makes the jar
	 * meanwhile. `meanwhile` is called when it was started. */
	int (*before_start)(void *ctx, struct err *e);
	void (*meanwhile)(void *ctx);
	void *ctx;
	/* A conversation: what the guest writes to stdout comes here as it comes, and stdin is what run_say() is given until run_hang_up(). */
	void (*said)(struct run *x, const char *data, size_t len);
};

enum run_state { RUN_SOCKET, RUN_SYNTAX, RUN_COMPILE, RUN_SCRUB, RUN_MAIN, RUN_RECHECK, RUN_END, RUN_EXPORT, RUN_DONE };

/* A run under way; run.c says how it moves. The same structure can serve one run after another. */
struct run {
	struct loop *loop;
	const struct run_options *opt;
	void (*finished)(struct run *x); /* the result is complete; the run may be begun anew, but not from inside of this call */
	struct pool *pool;		 /* NULL: a keeper of its own */
	const struct request *req;
	struct arena *arena;
	struct result *res;
	enum run_state state;
	struct link link;
	size_t sent_count; /* how many entries of the feed are --workspace's: to see later what became of them */
	const char *log_dir;
	int target; /* folder that files come back to, -1: none */
	unsigned interrupts;
	bool cancelled; /* a signal asked for the end */
	void (*next)(struct run *x); /* what follows when the jar is scrubbed */
	bool again;	/* the language was asked about the syntax a second time, with other options */
	bool recheck_here; /* that question is put in the same jar */
	bool unchecked; /* the static check, which only records what it finds, is still to come: when the request is on its way */
	bool doubtful;	/* it ended as code does that does not compile: asked when all else is done */
	/* the step under way */
	struct step_result *step;
	struct feeder feeder;
	struct watch feed, in, out[2]; /* our ends of the guest's pipes */
	struct watch source;	       /* where stdin comes from, -1: memory or nothing */
	bool source_plain;	       /* it is a file: always ready */
	const char *in_data;
	size_t in_left;
	char *in_block;
	struct buf say;	       /* of a conversation: what was said; kept from its beginning until the guest has answered */
	size_t say_at;	       /* what of it was written */
	bool heard, hung_up;
	struct meter meter;    /* of the guest under way, where the request is metered */
	bool killed, failed;
	struct err err;
	/* files that come out */
	struct watch files;
	bool exported;
};

void run_init(struct run *x, struct loop *loop, const struct run_options *opt, void (*finished)(struct run *));
/* Begins the request on a keeper of its own (a socket that is closed at the end), or on a pool's, under a number that no other run of the
 * pool has. `finished` always comes, perhaps at once, and then `res` is complete: an error becomes its verdict. */
void run_begin(struct run *x, const struct request *req, int keeper, struct arena *a, struct result *res);
void run_begin_pooled(struct run *x, const struct request *req, struct pool *pool, uint32_t number, struct arena *a, struct result *res);
/* Reads output as it comes from now on. */
void run_watch_output(struct run *x);
/* Makes ahead what the next run will need, when nobody waits for it; and gives it back. */
void run_prepare(void);
void run_unprepare(void);
/* Of a conversation: more for the guest to read; and that there will be no more. */
void run_say(struct run *x, const void *data, size_t len);
/* The same, and nobody is in a hurry: it goes with what is said next. */
void run_say_later(struct run *x, const void *data, size_t len);
void run_hang_up(struct run *x);
/* The user's Ctrl-C: the program gets it; the second one cancels. */
void run_interrupt(struct run *x);
/* Ends it; `finished` comes when that has happened. */
void run_cancel(struct run *x);

/* Executes one request on a started keeper and waits for its end, passing signals on. */
void run_execute(const struct request *req, const struct run_options *opt, struct client *client, struct arena *a,
		 struct result *res);
void run_result_done(struct result *res);

/* The commands and environment that a request comes to; used by --dry-run too. */
void run_command(const struct request *req, const char *const *words, struct arena *a, struct strlist *out);
void run_environment(const struct request *req, struct arena *a, struct strlist *out);

#endif
