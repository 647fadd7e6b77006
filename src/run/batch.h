/* SPDX-License-Identifier: Apache-2.0 */
/* Many runs at once: one request a line in, one result a line out. */
#ifndef BELLJAR_RUN_BATCH_H
#define BELLJAR_RUN_BATCH_H

#include "keeper/pool_proto.h"
#include "run/config.h"
#include "run/request.h"
#include "run/resume.h"

#define BATCH_LINE_MAX (256U << 20)

struct batch_setup {
	const struct request *defaults;	    /* what a line does not say */
	const struct config *config;
	const struct strlist *files_from;   /* absolute folders that requests may take files from */
	const struct resume *resume;	    /* what is done already; NULL: nothing */
	struct pool_open open;
	int keeper;			    /* socket of a keeper of a pool; the batch closes it */
	int in, out;
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
