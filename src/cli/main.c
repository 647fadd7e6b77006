/* SPDX-License-Identifier: Apache-2.0 */
/* belljar: finds the verb, shows help, prints errors. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hook.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "belljar_config.h"
#include "keeper/spawn.h"

static const struct cli_cmd commands[] = {
	{ &cmd_run_opts, cmd_run },
	{ &cmd_batch_opts, cmd_batch },
	{ &cmd_check_opts, cmd_check },
	{ &cmd_test_opts, cmd_test },
	{ &cmd_eval_opts, cmd_eval },
	{ &cmd_explain_opts, cmd_explain },
	{ &cmd_judge_opts, cmd_judge },
	{ &cmd_swebench_opts, cmd_swebench },
	{ &cmd_languages_opts, cmd_languages },
	{ &cmd_ps_opts, cmd_ps },
	{ &cmd_kill_opts, cmd_kill },
	{ &cmd_audit_opts, cmd_audit },
	{ &cmd_clean_opts, cmd_clean },
	{ &cmd_doctor_opts, cmd_doctor },
	{ &cmd_bench_opts, cmd_bench },
	{ &cmd_config_opts, cmd_config },
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(void)
{
	printf("belljar runs code that nobody has read yet: isolated, limited, watched.\n\nusage: belljar COMMAND [OPTIONS]\n\ncommands:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-11s %s\n", commands[i].opts->name, commands[i].opts->summary);
	printf("\n'belljar help COMMAND' shows a command's options; 'belljar version' the version.\n");
}

/* "## option" lines for scdoc: the man page comes from the same rows as --help. */
static void print_scdoc(void)
{
	printf("belljar(1)\n\n# NAME\n\nbelljar - runs code that nobody has read yet: isolated, limited, watched\n\n# SYNOPSIS\n\n"
	       "*belljar* _COMMAND_ [_OPTIONS_]\n\n# COMMANDS\n");
	for (size_t i = 0; i < COMMANDS; i++) {
		const struct opt_cmd *c = commands[i].opts;

		printf("\n## belljar %s\n\n%s.\n\n", c->name, c->summary);
		for (const struct opt *o = c->opts; o->name; o++) {
			printf("*--%s*", o->name);
			if (o->letter)
				printf(", *-%c*", o->letter);
			if (o->arg) {
				printf(" _");
				for (const char *p = o->arg; *p; p++)
					printf(*p == '_' ? "\\_" : "%c", *p);
				printf("_");
			}
			printf("\n\t%s%s%s%s\n\n", o->help, o->def ? " (default " : "", o->def ? o->def : "", o->def ? ")" : "");
		}
	}
	printf("# EXIT STATUS\n\nThe program's own; 124 a time limit, 125 belljar failed or refused, 126 not executable, 127 not found, "
	       "128+n signal n, 2 usage.\n\n# FILES\n\n/etc/belljar/config.yaml, ~/.config/belljar/config.yaml, .belljar.yaml: "
	       "settings; a project's file can only tighten.\n");
}

static int unknown_command(const char *word)
{
	const char *near = NULL;
	struct err e;

	for (size_t i = 0; i < COMMANDS && !near; i++)
		if (parse_is_near(word, commands[i].opts->name))
			near = commands[i].opts->name;
	err_set(&e, ERR_USAGE, "unknown command '%.40s'%s%s%s", word, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	err_hint(&e, "belljar --help");
	return cli_error(&e);
}

int main(int argc, char **argv)
{
	fd_fill_stdio();
	hook_init();
	signal(SIGPIPE, SIG_IGN);
	if (argc > 2 && strcmp(argv[1], "help") == 0) {
		for (size_t i = 0; i < COMMANDS; i++)
			if (strcmp(argv[2], commands[i].opts->name) == 0) {
				opt_help(commands[i].opts, stdout);
				return 0;
			}
		return unknown_command(argv[2]);
	}
	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		print_help();
		return argc < 2 ? 2 : 0;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
		printf("belljar %s\n", BELLJAR_VERSION);
		return 0;
	}
	if (strcmp(argv[1], "--scdoc") == 0) {
		print_scdoc();
		return 0;
	}
#ifdef BELLJAR_TEST_HOOKS
	if (argc == 3 && strcmp(argv[1], "debug") == 0 && strcmp(argv[2], "front-confined") == 0)
		return cmd_batch_debug();
	if (argc == 3 && strcmp(argv[1], "debug") == 0 && (strcmp(argv[2], "steps") == 0 || strcmp(argv[2], "warm-steps") == 0 || strcmp(argv[2], "seat-steps") == 0)) {
		char path[512], what[16];

		spawn_path("belljar-keeper", path, sizeof(path));
		snprintf(what, sizeof(what), "--%s", argv[2]);
		execl(path, "belljar-keeper", what, NULL);
		return 125;
	}
#endif
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(argv[1], commands[i].opts->name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	return unknown_command(argv[1]);
}
