/* SPDX-License-Identifier: Apache-2.0 */
/* What commands have in common that run much over one pool: its sizes, and what their front gives up before it reads what strangers wrote. */
#ifndef BELLJAR_CLI_FRONT_H
#define BELLJAR_CLI_FRONT_H

#include "keeper/pool_proto.h"
#include "run/config.h"
#include "run/state.h"

/* CPUs that this process may use. */
size_t front_cpus(void);
/* Sizes of a pool for `*jobs` runs at once, which the configuration may lower. `preload`: A,B,C of the command line, NULL: the
 * configuration's, else ours. */
int front_pool(struct pool_open *p, uint64_t *jobs, uint64_t disk_bytes, const char *preload, bool recycle, const struct config *c, struct err *e);
/* As many descriptors as the system lets us have. */
void front_raise_nofile(void);
/* What this process needs of its rights until its files are open: reading and writing the caller's. */
int front_drop_rights(struct err *e);
/* Gives up the rest, for good (run/confine.h); `files`: folders that may be read. */
int front_confine(const struct strlist *files, const struct state_run *entry, bool quiet, struct arena *a, struct err *e);

#endif
