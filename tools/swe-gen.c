/* SPDX-License-Identifier: Apache-2.0 */
/* Build tool: turns swebench/<name>.yaml into the table that is compiled in, so that a run reads no YAML. */
#include <stdio.h>

#include "grade/swe_spec.h"

#define ROWS_MAX 256

static void print_string(const char *s)
{
	if (!s) {
		printf("0");
		return;
	}
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\' || *s == '?')
			putchar('\\');
		if (*s == '\n')
			printf("\\n");
		else
			putchar(*s);
	}
	putchar('"');
}

static void print_list(const char *field, const char *const *list)
{
	if (!list)
		return;
	printf("\t\t.%s = (const char *const[]){ ", field);
	for (; *list; list++) {
		print_string(*list);
		printf(", ");
	}
	printf("0 },\n");
}

static void print_field(const char *field, const char *value)
{
	printf("\t\t.%s = ", field);
	print_string(value);
	printf(",\n");
}

static void print_commands(const char *field, const char *const *const *list)
{
	if (!list)
		return;
	printf("\t\t.%s = (const char *const *const[]){ ", field);
	for (; *list; list++) {
		printf("(const char *const[]){ ");
		for (const char *const *w = *list; *w; w++) {
			print_string(*w);
			printf(", ");
		}
		printf("0 }, ");
	}
	printf("0 },\n");
}

static void print_row(const struct swe_spec *s)
{
	printf("\t{\n");
	print_field("name", s->name);
	print_list("repos", s->repos);
	print_field("from", s->from);
	print_field("until", s->until);
	print_field("kind", s->kind);
	print_field("parser", s->parser);
	print_list("argv", s->argv);
	print_list("env", s->env);
	print_field("python", s->python);
	print_field("environment", s->environment);
	print_list("pythonpath", s->pythonpath);
	print_list("layers", s->layers);
	print_field("words", s->words);
	print_field("strip", s->strip);
	print_list("endings", s->endings);
	print_list("protected", s->protected);
	print_list("runner_files", s->runner_files);
	print_list("watched", s->watched);
	print_commands("build", s->build);
	print_field("wall", s->wall);
	print_field("memory", s->memory);
	print_field("cpus", s->cpus);
	print_field("tmp", s->tmp);
	printf("\t},\n");
}

int main(int argc, char **argv)
{
	static struct swe_spec *rows[ROWS_MAX];
	size_t n = argc > 0 ? (size_t)argc - 1 : 0;
	struct err e = { 0 };
	bool good = n <= ROWS_MAX;

	for (size_t i = 0; good && i < n; i++)
		good = (rows[i] = swe_spec_parse(argv[i + 1], &e)) != NULL;
	if (!good || swe_spec_inherit(rows, n, NULL, &e) < 0) {
		fprintf(stderr, "swe-gen: %s\n", e.msg[0] ? e.msg : "too many rows");
		return 1;
	}
	printf("/* Made by tools/swe-gen.c from swebench/: do not edit. */\n#include \"grade/swe_spec.h\"\n\n"
	       "const struct swe_spec swe_specs_builtin[] = {\n");
	for (size_t i = 0; i < n; i++)
		print_row(rows[i]);
	printf("\t{ .name = 0 },\n};\n");
	return 0;
}
