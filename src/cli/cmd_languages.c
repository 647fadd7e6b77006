/* SPDX-License-Identifier: Apache-2.0 */
/* belljar languages: each language with its version, or what to install. */
#include <ctype.h>
#include <fcntl.h>
#include <jansson.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "run/config.h"

struct languages {
	bool json;
};

static const struct opt languages_opts[] = {
	{ "json", 'j', NULL, NULL, OPT_FLAG, offsetof(struct languages, json), NULL, 0, 0, 0, "print a JSON list" },
	{ .name = NULL },
};

const struct opt_cmd cmd_languages_opts = {
	.name = "languages",
	.summary = "list the languages with their versions",
	.usage = "  belljar languages [--json]",
	.opts = languages_opts,
};

/* The first line with a digit of what the version command prints; false when it fails. */
static bool version_of(const struct language *l, char *out, size_t size)
{
	posix_spawn_file_actions_t fa;
	char *envp[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", NULL }, text[2048], *save = NULL, *line;
	size_t got = 0;
	int p[2], status = -1;
	ssize_t n;
	pid_t pid;

	if (access(l->program, X_OK) < 0 || pipe2(p, O_CLOEXEC) < 0)
		return false;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, p[1], 1);
	posix_spawn_file_actions_adddup2(&fa, p[1], 2);
	if (posix_spawn(&pid, l->version[0], &fa, NULL, (char *const *)l->version, envp) != 0)
		pid = -1;
	posix_spawn_file_actions_destroy(&fa);
	close(p[1]);
	while (pid > 0 && got < sizeof(text) - 1 && (n = read(p[0], text + got, sizeof(text) - 1 - got)) > 0)
		got += (size_t)n;
	close(p[0]);
	if (pid <= 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return false;
	text[got] = '\0';
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strpbrk(line, "0123456789")) {
			snprintf(out, size, "%.70s", line);
			return true;
		}
	return false;
}

int cmd_languages(int argc, char **argv)
{
	static struct config config;
	static struct request req;
	struct languages p = { false };
	struct arena a = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	const struct language *l;
	json_t *list = json_array();
	int status = 0;

	if (cli_parse(&cmd_languages_opts, argc, argv, &p, &rest, &a, &status))
		goto out;
	if (config_load(&config, &req, &a, &e) < 0) {
		status = cli_error(&e);
		goto out;
	}
	for (size_t i = 0; (l = language_at(i)); i++) {
		char version[96] = "";
		bool there = version_of(l, version, sizeof(version));

		if (p.json)
			json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:s?, s:s}", "name", l->name, "title", l->title,
							      "installed", there, "version", there ? version : NULL, "package",
							      l->package));
		else
			printf("%-12s %-6s %s%s\n", l->name, l->endings[0], there ? version : "not here: apt-get install ",
			       there ? "" : l->package);
	}
	if (p.json)
		json_dumpf(list, stdout, JSON_INDENT(2)), putchar('\n');
out:
	json_decref(list);
	arena_free(&a);
	return status;
}
