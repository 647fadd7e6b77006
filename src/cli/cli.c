/* SPDX-License-Identifier: Apache-2.0 */
/* What all verbs share: errors, colours, options. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "run/output.h"

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
