/* SPDX-License-Identifier: Apache-2.0 */
/* belljar: finds the verb, shows help, prints errors. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/hook.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "belljar_config.h"
#include "keeper/spawn.h"
#include "run/output.h"

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

bool cli_colour(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

void cli_print_safe_to(FILE *to, const char *fmt, const char *a, const char *b)
{
	const char *words[2] = { a ? a : "", b ? b : "" };
	char *safe[2];

	for (int i = 0; i < 2; i++) {
		struct buf out = BUF_INIT(1 << 20);
		struct escaper s = { ESCAPE_TEXT };

		output_escape(&s, words[i], strlen(words[i]), &out);
		safe[i] = buf_take(&out);
		for (char *p = safe[i]; p && *p; p++)
			if (*p == '\n' || *p == '\033')
				*p = '?';
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fprintf(to, fmt, safe[0] ? safe[0] : "", safe[1] ? safe[1] : "");
#pragma GCC diagnostic pop
	free(safe[0]);
	free(safe[1]);
}

void cli_print_safe(const char *fmt, const char *a, const char *b)
{
	cli_print_safe_to(stderr, fmt, a, b);
}

int cli_error(const struct err *e)
{
	bool colour = cli_colour(2);

	fprintf(stderr, "%serror:%s ", colour ? "\033[31m" : "", colour ? "\033[0m" : "");
	cli_print_safe("%s%s\n", e->msg, "");
	if (e->hint[0])
		fprintf(stderr, "%shint: %s%s\n", colour ? "\033[2m" : "", e->hint, colour ? "\033[0m" : "");
	return err_info(e->kind)->exit_status;
}

bool cli_parse(const struct opt_cmd *cmd, int argc, char **argv, void *dst, struct opt_rest *rest, struct arena *a, int *status)
{
	struct err e = { 0 };

	if (opt_parse(cmd, argc, argv, dst, rest, a, &e) < 0) {
		*status = cli_error(&e);
		return true;
	}
	if (rest->help) {
		opt_help(cmd, stdout);
		*status = 0;
		return true;
	}
	if (!cmd->words && (rest->words.n || rest->dashes)) {
		err_set(&e, ERR_USAGE, "unexpected argument '%.60s'", rest->words.n ? rest->words.v[0] : "--");
		err_hint(&e, "belljar %s --help", cmd->name);
		*status = cli_error(&e);
		return true;
	}
	return false;
}

static void print_help(void)
{
	printf("belljar runs code that nobody has read yet: isolated, limited, watched.\n\nusage: belljar COMMAND [OPTIONS]\n\ncommands:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-11s %s\n", commands[i].opts->name, commands[i].opts->summary);
	printf("\n'belljar COMMAND --help' shows a command's options; 'belljar --version' the version.\n");
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
	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		print_help();
		return argc < 2 ? 2 : 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
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
