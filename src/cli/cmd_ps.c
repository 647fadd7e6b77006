/* SPDX-License-Identifier: Apache-2.0 */
/* belljar ps, belljar kill: what runs, and ending it. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/cli.h"
#include "run/state.h"

struct ps {
	bool json;
};

static const struct opt ps_opts[] = {
	{ "json", 'j', NULL, NULL, OPT_FLAG, offsetof(struct ps, json), NULL, 0, 0, 0, "print a JSON list" },
	{ .name = NULL },
};

const struct opt_cmd cmd_ps_opts = {
	.name = "ps",
	.summary = "list the runs that are alive",
	.usage = "  belljar ps [--json]",
	.opts = ps_opts,
};

static const struct opt kill_opts[] = { { .name = NULL } };

const struct opt_cmd cmd_kill_opts = {
	.name = "kill",
	.summary = "end a run",
	.usage = "  belljar kill ID...",
	.words = true,
	.opts = kill_opts,
};

static int print_text(const struct state_entry *s, void *ctx)
{
	int *shown = ctx;

	if (!(*shown)++)
		printf("%-18s %8s %8s  %s\n", "ID", "PID", "SECONDS", "WHAT");
	printf("%-18s %8d %8lld  %s\n", s->id, s->pid, (long long)time(NULL) - (long long)s->started_s, s->command);
	return 0;
}

static int add_json(const struct state_entry *s, void *ctx)
{
	json_array_append_new(ctx, json_pack("{s:s, s:i, s:I, s:s}", "execution_id", s->id, "pid", s->pid, "started",
					     (json_int_t)s->started_s, "what", s->command));
	return 0;
}

int cmd_ps(int argc, char **argv)
{
	struct ps p = { false };
	struct arena a = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	int status = 0, shown = 0;

	if (cli_parse(&cmd_ps_opts, argc, argv, &p, &rest, &a, &status))
		return status;
	if (p.json) {
		json_t *list = json_array();

		if (state_each(add_json, list, &e) < 0)
			status = cli_error(&e);
		else
			json_dumpf(list, stdout, JSON_INDENT(2)), putchar('\n');
		json_decref(list);
	} else if (state_each(print_text, &shown, &e) < 0) {
		status = cli_error(&e);
	} else if (!shown) {
		fprintf(stderr, "nothing runs\n");
	}
	arena_free(&a);
	return status;
}

int cmd_kill(int argc, char **argv)
{
	struct arena a = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	int status = 0;

	if (cli_parse(&cmd_kill_opts, argc, argv, NULL, &rest, &a, &status))
		return status;
	if (!rest.words.n) {
		err_set(&e, ERR_USAGE, "kill needs an execution id");
		err_hint(&e, "belljar kill ID; 'belljar ps' lists the runs that are alive");
		status = cli_error(&e);
	}
	for (size_t i = 0; i < rest.words.n; i++)
		if (state_kill(rest.words.v[i], &e) < 0)
			status = cli_error(&e);
	arena_free(&a);
	return status;
}
