/* SPDX-License-Identifier: Apache-2.0 */
/* belljar config: every setting, its value, and where the value comes from. */
#include <stdio.h>

#include "cli/cli.h"
#include "run/config.h"

static const struct opt config_opts[] = { { .name = NULL } };

const struct opt_cmd cmd_config_opts = {
	.name = "config",
	.summary = "show every setting and where its value comes from",
	.usage = "  belljar config",
	.details = "Files, later ones win: /etc/belljar/config.yaml, ~/.config/belljar/config.yaml, .belljar.yaml of the current\n"
		   "folder (can only tighten), then the environment (BELLJAR_TIMEOUT), then options. What the system file\n"
		   "sets is a ceiling for all others, and what any of them sets is one for request objects (docs/operator.md).",
	.opts = config_opts,
};

int cmd_config(int argc, char **argv)
{
	static struct config c;
	static struct request r;
	struct arena a = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	int status = 0;

	if (cli_parse(&cmd_config_opts, argc, argv, NULL, &rest, &a, &status))
		return status;
	if (config_load(&c, &r, &a, &e) < 0)
		return cli_error(&e);
	for (const struct opt *o = request_opts; o->name; o++) {
		char value[256];
		enum config_source from = c.from[o - request_opts];

		if (!(o->flags & OPT_CONFIG))
			continue;
		opt_format(o, &r, value, sizeof(value));
		/* A project's list narrows what the others say. */
		for (size_t i = 0; o->kind == OPT_LIST && from == CONFIG_PROJECT && i < r.allow_project.n; i++)
			printf("%-20s %s\n", "allow (narrowed to)", r.allow_project.v[i]);
		printf("%-20s %-12s %s%s%s%s\n", o->name, value, config_source_name(from), c.paths[from][0] ? " (" : "",
		       c.paths[from], c.paths[from][0] ? ")" : "");
	}
	printf("%-20s %-12s\n", "allow-host-network", c.allow_host_network ? "true" : "false");
	for (const struct config_section *s = config_sections; s->name; s++)
		for (const struct opt *o = s->opts; o->name; o++) {
			char name[32], value[1024];

			snprintf(name, sizeof(name), "%s.%s", s->name, o->name);
			opt_format(o, (const char *)&c + s->at, value, sizeof(value));
			printf("%-20s %s\n", name, value);
		}
	for (size_t i = 0; i < c.layers.n; i++)
		printf("%-20s %s\n", "layer", c.layers.v[i]);
	arena_free(&a);
	return 0;
}
