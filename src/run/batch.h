/* SPDX-License-Identifier: Apache-2.0 */
/* Many runs at once: one request a line in, one result a line out. */
#ifndef BELLJAR_RUN_BATCH_H
#define BELLJAR_RUN_BATCH_H

#include "keeper/pool_proto.h"
#include "run/config.h"
#include "run/request.h"
#include "run/resume.h"
#include "run/result.h"

#define BATCH_LINE_MAX (256U << 20)

struct json_t;

/* A line that is more than a run, under way. */
struct batch_job {
	struct request *req;
	uint32_t number; /* in the pool, for one jar at a time */
	void *more;	 /* what the kind's `read` gave */
};

/* What a kind of lines finds there. */
struct batch_host {
	struct loop *loop;
	struct pool *pool;
	bool recycles;	    /* jars that are proven clean are used again */
	size_t jobs, spare; /* of its lines at once, at most; jars that it can have besides */
	uint32_t number;    /* the first number in the pool that nobody has; `spare` of them */
};

/* Lines with a field that this layer knows nothing of: whoever starts the batch says who serves them, on the batch's own loop and pool. */
struct batch_kind {
	const char *field;		/* NULL: the end of the table */
	const char *const *beside;	/* the fields of a request that may go with it */
	const struct request *defaults; /* what such a line does not say */
	void *ctx;
	/* Before the first such line is begun. */
	int (*open)(void *ctx, const struct batch_host *h, struct err *e);
	void (*close)(void *ctx);
	/* The field as it was written (valid during the call) and its request, which is resolved: what `begin` needs, in the arena; NULL and the error. */
	void *(*read)(void *ctx, struct request *r, const char *value, size_t len, struct arena *a, struct err *e);
	/* Every one that was begun ends with one of the calls below, from `round` or `cancel`. */
	void (*begin)(void *ctx, struct batch_job *j);
	/* In each round of the loop, and every BATCH_KIND_MS while there are jobs. */
	void (*round)(void *ctx);
	/* Calls all off. */
	void (*cancel)(void *ctx);
};

#define BATCH_KIND_MS 100

/* One of the job's jars has ended: its receipt. */
void batch_job_keep(struct batch_job *j, const struct request *req, const struct result *res);
/* The job's result, told when all its receipts are kept. `failed` only counts for the progress. */
void batch_job_done(struct batch_job *j, struct json_t *result, bool failed);
/* It came to nothing: an error, or (NULL) it was called off. */
void batch_job_failed(struct batch_job *j, const struct err *e);

struct batch_setup {
	const struct request *defaults;	    /* what a line does not say */
	const struct batch_kind *kinds;	    /* lines that are more than runs; NULL: none */
	const struct config *config;
	const struct ceiling *ceiling;	    /* no line asks for more */
	const struct strlist *files_from;   /* absolute folders that requests may take files from */
	const struct resume *resume;	    /* what is done already; NULL: nothing */
	struct pool_open open;
	int keeper;			    /* socket of a keeper of a pool; the batch closes it */
	int in, out;
	int times;			    /* how long each line took goes there; -1: nowhere */
	bool out_waits;			    /* `out` does not block and can be waited for */
	size_t jobs, queue;		    /* at once; waiting */
	bool unordered, busy, progress, quiet;
	enum request_audit audit;
	int store;			    /* socket of the store of receipts (store/writer.h); -1: none, and `store_error` says why; the batch closes it */
	const char *store_error;	    /* NULL: receipts are off */
};

/* Runs everything. The exit status: 0 all lines were run, 1 some could not be, 130 stopped by a signal, 125 (and `e`) belljar itself failed. */
int batch_run(const struct batch_setup *s, struct err *e);

#endif
