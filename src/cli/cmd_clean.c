/* SPDX-License-Identifier: Apache-2.0 */
/* belljar clean: logs by age and size, and what killed runs left behind. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "keeper/slot.h"
#include "kernel/cgroup.h"
#include "run/state.h"

struct clean {
	uint64_t older_ms, max_bytes;
	bool dry_run;
};

static const struct opt clean_opts[] = {
	{ "older", 0, "TIME", "7d", OPT_MS, offsetof(struct clean, older_ms), NULL, 0, 0, 0, "remove logs older than this" },
	{ "max-size", 0, "SIZE", "1G", OPT_BYTES, offsetof(struct clean, max_bytes), NULL, 0, 0, 0,
	  "then remove the oldest until the rest fits" },
	{ "dry-run", 'n', NULL, NULL, OPT_FLAG, offsetof(struct clean, dry_run), NULL, 0, 0, 0, "only say what would be removed" },
	{ .name = NULL },
};

const struct opt_cmd cmd_clean_opts = {
	.name = "clean",
	.summary = "remove old logs and what killed runs left behind",
	.usage = "  belljar clean [OPTIONS]",
	.opts = clean_opts,
};

struct log_file {
	char name[96];
	time_t mtime;
	uint64_t size;
};

static int by_age(const void *a, const void *b)
{
	const struct log_file *x = a, *y = b;

	return (x->mtime > y->mtime) - (x->mtime < y->mtime);
}

static size_t list_logs(DIR *dir, struct log_file **out)
{
	struct dirent *d;
	size_t n = 0, cap = 0;

	*out = NULL;
	while ((d = readdir(dir))) {
		struct stat st;

		if (strncmp(d->d_name, "exec-", 5) != 0 || strlen(d->d_name) >= sizeof((*out)->name) ||
		    fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (n == cap) {
			struct log_file *more = realloc(*out, (cap = cap ? cap * 2 : 64) * sizeof(**out));

			if (!more)
				break;
			*out = more;
		}
		memcpy((*out)[n].name, d->d_name, strlen(d->d_name) + 1);
		(*out)[n].mtime = st.st_mtime;
		(*out)[n++].size = (uint64_t)st.st_size;
	}
	return n;
}

static int clean_logs(const struct clean *c, struct err *e)
{
	char path[512];
	struct log_file *logs;
	uint64_t total = 0, freed = 0;
	size_t n, removed = 0;
	time_t now = time(NULL);
	DIR *dir;

	if (state_log_dir(path, sizeof(path), e) < 0)
		return -1;
	dir = opendir(path);
	if (!dir)
		return err_sys(e, "list %s", path);
	n = list_logs(dir, &logs);
	for (size_t i = 0; i < n; i++)
		total += logs[i].size;
	if (n)
		qsort(logs, n, sizeof(*logs), by_age);
	for (size_t i = 0; i < n; i++) {
		bool old = (uint64_t)(now > logs[i].mtime ? now - logs[i].mtime : 0) * 1000 > c->older_ms;

		if (!old && total <= c->max_bytes)
			break;
		if (!c->dry_run && unlinkat(dirfd(dir), logs[i].name, 0) < 0)
			continue;
		total -= logs[i].size;
		freed += logs[i].size;
		removed++;
	}
	printf("%s %zu of %zu logs, %llu bytes (%s)\n", c->dry_run ? "would remove" : "removed", removed, n,
	       (unsigned long long)freed, path);
	free(logs);
	closedir(dir);
	return 0;
}

struct leftovers {
	struct cgroup_host host;
	unsigned count;
};

static void clear_slot(const char *cgroup, void *ctx)
{
	struct leftovers *l = ctx;

	if (cgroup_clear(&l->host, cgroup))
		l->count++;
}

static int ignore_entry(const struct state_entry *s, void *ctx)
{
	(void)s, (void)ctx;
	return 0;
}

static int clean_leftovers(struct err *e)
{
	static struct leftovers l;
	char dir[256];

	if (slot_run_dir(dir, sizeof(dir), e) < 0 || state_each(ignore_entry, NULL, e) < 0)
		return -1;
	cgroup_host_open(&l.host);
	if (slot_each_free(dir, clear_slot, &l, e) < 0)
		return -1;
	cgroup_host_close(&l.host);
	printf("removed %u leftover cgroups\n", l.count);
	return 0;
}

int cmd_clean(int argc, char **argv)
{
	struct clean c = { 0 };
	struct arena a = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	int status = 0;

	opt_defaults(clean_opts, &c, &a);
	if (cli_parse(&cmd_clean_opts, argc, argv, &c, &rest, &a, &status))
		return status;
	if (clean_logs(&c, &e) < 0 || (!c.dry_run && clean_leftovers(&e) < 0))
		status = cli_error(&e);
	arena_free(&a);
	return status;
}
