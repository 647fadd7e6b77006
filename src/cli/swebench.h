/* SPDX-License-Identifier: Apache-2.0 */
/* belljar swebench: what its sub-commands share. */
#ifndef BELLJAR_CLI_SWEBENCH_H
#define BELLJAR_CLI_SWEBENCH_H

#include "cli/pooled.h"
#include "grade/swe_data.h"
#include "run/request.h"

struct swebench {
	struct request req; /* first: the rows of request.h fill it */
	const char *instances, *meta, *id, *log, *kind, *exit;
	const char *predictions, *repos, *out, *patch, *url;
	const char *python, *env, *env_map;
	struct strlist ids, extra, tests;
	uint64_t jobs, wall_ms, memory_bytes, trees_max;
	uint64_t older_ms, max_size; /* clean; ~0: not given */
	bool json, quiet, strict, no_canaries, network, all, everything, dry_run, progress;
	int instances_fd, meta_fd;
	struct strlist words; /* behind the sub-command */
	struct config config;
	struct pooled pooled; /* of sub-commands with jars */
};

/* --trees-max, the configuration's trees.max, or 10 GiB. */
uint64_t swebench_trees_max(const struct swebench *s);
/* Opens a file that an option names; "-" is standard input. */
int swebench_open(const char *path, const char *option, struct err *e);
/* --instances and --meta: opened with the caller's rights, read without. */
int swebench_open_instances(struct swebench *s, struct err *e);
int swebench_instances(struct swebench *s, struct swe_instances *t, struct err *e);

/* Each returns an exit status, or -1 with an error. */
int swebench_checkout(struct swebench *s, struct arena *a, struct err *e);
int swebench_apply(struct swebench *s, struct arena *a, struct err *e);
int swebench_test(struct swebench *s, struct arena *a, struct err *e);
int swebench_run(struct swebench *s, struct arena *a, struct err *e);
int swebench_validate(struct swebench *s, struct arena *a, struct err *e);

#endif
