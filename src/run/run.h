/* SPDX-License-Identifier: Apache-2.0 */
/* One run: a resolved request in, one result out. */
#ifndef BELLJAR_RUN_RUN_H
#define BELLJAR_RUN_RUN_H

#include "run/client.h"
#include "run/result.h"

struct run_options {
	bool live;	  /* pass output on to our own stdout and stderr as it comes */
	bool terminal[2]; /* that of stdout, stderr is a terminal: escape control sequences */
};

/* Executes the request. Always fills `res`, whatever happens: an error becomes its verdict. `client` is a started keeper. */
void run_execute(const struct request *req, const struct run_options *opt, struct client *client, struct arena *a,
		 struct result *res);
void run_result_done(struct result *res);

/* The commands and environment that a request comes to; used by --dry-run too. */
void run_command(const struct request *req, const char *const *words, struct arena *a, struct strlist *out);
void run_environment(const struct request *req, struct arena *a, struct strlist *out);

#endif
