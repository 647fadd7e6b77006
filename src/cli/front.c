/* SPDX-License-Identifier: Apache-2.0 */
/* What commands have in common that run much over one pool. */
#include "cli/front.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kernel/caps.h"
#include "run/client.h"
#include "run/confine.h"

static const char *const preload_default[] = { "json", "re", "math", "collections", "itertools", "functools", "typing", "random", "datetime" };

size_t front_cpus(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n > 0 ? (size_t)n : 1;
}

/* ---- the pool ---- */

static int add_module(struct pool_open *p, const char *name, size_t len, struct err *e)
{
	bool good = len > 0 && len < POOL_MODULE_MAX;

	for (size_t i = 0; good && i < len; i++)
		good = (name[i] >= '0' && name[i] <= '9') || (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
		       name[i] == '_' || name[i] == '.';
	if (!good)
		return err_set(e, ERR_USAGE, "--preload: '%.*s' is not a module's name", (int)(len < 60 ? len : 60), name);
	if (p->preload_count == POOL_PRELOAD_MAX)
		return err_set(e, ERR_USAGE, "--preload: at most %d modules", POOL_PRELOAD_MAX);
	memcpy(p->preload[p->preload_count++], name, len);
	return 0;
}

static int set_preload(struct pool_open *p, const char *preload, const struct config *c, struct err *e)
{
	if (preload) {
		for (const char *s = preload; *s;) {
			size_t n = strcspn(s, ",");

			if (add_module(p, s, n, e) < 0)
				return -1;
			s += n + (s[n] == ',');
		}
		return 0;
	}
	for (size_t i = 0; i < c->pool.preload.n; i++)
		if (add_module(p, c->pool.preload.v[i], strlen(c->pool.preload.v[i]), e) < 0)
			return -1;
	for (size_t i = 0; !c->pool.preload.n && i < sizeof(preload_default) / sizeof(preload_default[0]); i++)
		add_module(p, preload_default[i], strlen(preload_default[i]), e);
	return 0;
}

int front_pool(struct pool_open *p, uint64_t *jobs, uint64_t disk_bytes, const char *preload, bool recycle, const struct config *c, struct err *e)
{
	p->op = POOL_OPEN;
	if (c->pool.ceiling && *jobs > c->pool.ceiling)
		*jobs = c->pool.ceiling;
	/* Each run at once, as many that are made ahead of the next, and as many that are being cleared away. */
	p->ceiling = (uint32_t)(c->pool.ceiling ? c->pool.ceiling : *jobs * 3 + 6 < POOL_CEILING_MAX ? *jobs * 3 + 6 : POOL_CEILING_MAX);
	p->floor = (uint32_t)(c->pool.floor ? c->pool.floor : *jobs < 4 ? 4 : *jobs);
	if (p->floor > p->ceiling)
		p->floor = p->ceiling;
	p->zygotes = (uint32_t)c->pool.zygotes;
	p->disk_bytes = disk_bytes;
	p->recycle = recycle;
	return set_preload(p, preload, c, e);
}

/* ---- rights ---- */

void front_raise_nofile(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

int front_confine(const struct strlist *files, const struct state_run *entry, bool quiet, struct arena *a, struct err *e)
{
	char state[400], *runs = arena_dup(a, entry->path);
	struct confine c = { .state_dir = state, .files = files };
	bool weaker = false;

	/* Made now, with what is in it: afterwards nothing above it can be. */
	if (state_log_dir(state, sizeof(state), e) < 0 || state_dir(state, sizeof(state), e) < 0)
		return -1;
	*strrchr(runs, '/') = '\0';
	c.runs_dir = runs;
	if (confine_front(&c, &weaker, e) < 0)
		return -1;
	if (weaker && !quiet)
		fprintf(stderr, "belljar: weaker on this host: no Landlock around the front (belljar doctor says more)\n");
	return 0;
}

int front_drop_rights(struct err *e)
{
	if ((caps_effective() & CAP_BIT(CAP_SETPCAP)) && caps_drop_bounding(e) < 0)
		return -1;
	return client_drop_rights(e);
}
