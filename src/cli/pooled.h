/* SPDX-License-Identifier: Apache-2.0 */
/* What every command with a pool begins with: the keeper, fewer rights, an entry in the list of runs, and the pool's sizes. */
#ifndef BELLJAR_CLI_POOLED_H
#define BELLJAR_CLI_POOLED_H

#include "keeper/pool_proto.h"
#include "run/client.h"
#include "run/config.h"
#include "run/ledger.h"
#include "run/state.h"

struct pooled {
	struct client client;
	struct err start_error; /* why there is no keeper */
	bool started;
	struct state_run entry;
	struct strlist write; /* folders that stay writable; mostly none */
};

/* First of all, before anything foreign is read: the keeper fills its pool while options are read; then rights go. */
int pooled_start(struct pooled *p, struct err *e);
/* CPUs that this process may use. */
size_t pooled_cpus(void);
/* The pool's sizes for that many runs at once (0: what fits this machine) and what its interpreters import. */
int pooled_sizes(struct pool_open *open, uint64_t *jobs, const struct config *c, const char *preload, bool recycle, uint64_t disk_bytes, struct err *e);
/* For what is graded: a verifier stays beside each of `jobs` samples. */
void pooled_verifiers(struct pool_open *open, uint64_t jobs);
/* Receipts: starts the store and the notary, two processes of their own, while we may; what they have open we never do. Where there can be none and
 * that is not required, `error` says why. */
int pooled_store(struct ledger_setup *s, const struct request *req, const char **error, struct err *e);
/* The last step before foreign bytes: listed in `belljar ps`, then confined. Folders in `files` stay readable. */
int pooled_confine(struct pooled *p, const char *what, const struct strlist *files, bool quiet, struct arena *a, struct err *e);
/* The keeper's socket, for whoever closes it; -1 with `e` when there is no keeper. */
int pooled_keeper(struct pooled *p, struct err *e);
void pooled_end(struct pooled *p);

#endif
