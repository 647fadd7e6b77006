/* SPDX-License-Identifier: Apache-2.0 */
/* What every command with a pool begins with: the keeper, fewer rights, an entry in the list of runs, and the pool's sizes. */
#include "cli/pooled.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/caps.h"
#include "run/confine.h"
#include "store/signer.h"
#include "store/writer.h"

static const char *const preload_default[] = { "json", "re", "math", "collections", "itertools", "functools", "typing", "random", "datetime" };

/* What this process needs of its rights until the files are open: reading and writing the caller's. */
static int drop_rights(struct err *e)
{
	if ((caps_effective() & CAP_BIT(CAP_SETPCAP)) && caps_drop_bounding(e) < 0)
		return -1;
	return client_drop_rights(false, e);
}

static void raise_nofile(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

int pooled_start(struct pooled *p, struct err *e)
{
	memset(p, 0, sizeof(*p));
	p->client.sock = p->entry.fd = -1;
	p->started = client_start(&p->client, true, &p->start_error) == 0;
	raise_nofile();
	return drop_rights(e);
}

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

size_t pooled_cpus(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n > 0 ? (size_t)n : 1;
}

int pooled_sizes(struct pool_open *p, uint64_t *jobs, const struct config *c, const char *preload, bool recycle, uint64_t disk_bytes, struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	memset(p, 0, sizeof(*p));
	p->op = POOL_OPEN;
	if (!*jobs)
		*jobs = cpus > 0 && cpus < POOL_CEILING_MAX / 2 ? (uint64_t)cpus * 2 : POOL_CEILING_MAX;
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

void pooled_verifiers(struct pool_open *p, uint64_t jobs)
{
	p->ceiling = p->ceiling + jobs < POOL_CEILING_MAX ? p->ceiling + (uint32_t)jobs : POOL_CEILING_MAX;
}

static int start_store(struct ledger_setup *s, struct err *e)
{
	char dir[400];
	auto_close int notary = -1;

	if (state_dir(dir, sizeof(dir), e) < 0)
		return -1;
	notary = signer_start(dir, SIGNER_PLAIN, e);
	s->store = notary < 0 ? -1 : writer_start(dir, notary, e);
	return s->store < 0 ? -1 : 0;
}

int pooled_store(struct ledger_setup *s, const struct request *req, const char **error, struct err *e)
{
	static struct err why;

	s->store = -1;
	*error = NULL;
	if (request_audit(req, &s->mode, e) < 0)
		return -1;
	if (s->mode == AUDIT_OFF || start_store(s, &why) == 0)
		return 0;
	if (s->mode == AUDIT_REQUIRED) {
		*e = why;
		return -1;
	}
	*error = why.msg;
	fprintf(stderr, "belljar: no receipts: %s\n", why.msg);
	return 0;
}

int pooled_confine(struct pooled *p, const char *what, const struct strlist *files, bool quiet, struct arena *a, struct err *e)
{
	char logs[400], *runs, id[32];
	struct confine c = { .log_dir = logs, .files = files, .write = &p->write };
	bool weaker = false;

	state_new_id(id);
	if (state_register(&p->entry, id, what, e) < 0)
		return -1;
	/* Made now: afterwards nothing above it can be. */
	if (state_log_dir(logs, sizeof(logs), e) < 0)
		return -1;
	runs = arena_dup(a, p->entry.path);
	*strrchr(runs, '/') = '\0';
	c.runs_dir = runs;
	if (confine_front(&c, &weaker, e) < 0)
		return -1;
	if (weaker && !quiet)
		fprintf(stderr, "belljar: weaker on this host: no Landlock around the front (belljar doctor says more)\n");
	return 0;
}

int pooled_keeper(struct pooled *p, struct err *e)
{
	if (p->started)
		return take_fd(&p->client.sock);
	*e = p->start_error;
	return -1;
}

void pooled_end(struct pooled *p)
{
	state_unregister(&p->entry);
	client_close(&p->client);
	logs_tidy(true);
}
