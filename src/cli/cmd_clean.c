/* SPDX-License-Identifier: Apache-2.0 */
/* belljar clean: logs by age and size, and what killed runs left behind. */
#include <stdio.h>

#include "cli/cli.h"
#include "keeper/slot.h"
#include "kernel/cgroup.h"
#include "run/logs.h"
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

static int clean_logs(const struct clean *c, struct err *e)
{
	struct logs_bounds b = { .max_bytes = c->max_bytes, .max_age_ms = c->older_ms };
	struct logs_found f;

	if (logs_trim(&b, c->max_bytes, c->dry_run, &f, e) < 0)
		return -1;
	printf("%s %zu of %zu logs, %llu bytes (%s)\n", c->dry_run ? "would remove" : "removed", f.removed, f.files, (unsigned long long)f.freed, f.dir);
	return 0;
}

static int ignore_entry(const struct state_entry *s, void *ctx)
{
	(void)s, (void)ctx;
	return 0;
}

static int clean_leftovers(struct err *e)
{
	struct cgroup_host host;
	char dir[256];

	if (slot_run_dir(dir, sizeof(dir), e) < 0 || state_each(ignore_entry, NULL, e) < 0)
		return -1;
	cgroup_host_open(&host);
	printf("removed %u leftover cgroups\n", slot_scrub(dir, &host));
	cgroup_host_close(&host);
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
