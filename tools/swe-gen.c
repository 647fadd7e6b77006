/* SPDX-License-Identifier: Apache-2.0 */
/* Build tool: turns swebench/<name>.yaml into the table that is compiled in, so that a run reads no YAML. */
#include <stdio.h>

#include "grade/swe_spec.h"

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

int main(int argc, char **argv)
{
	struct err e = { 0 };

	printf("/* Made by tools/swe-gen.c from swebench/: do not edit. */\n#include \"grade/swe_spec.h\"\n\n"
	       "const struct swe_spec swe_specs_builtin[] = {\n");
	for (int i = 1; i < argc; i++) {
		const struct swe_spec *s = swe_spec_parse(argv[i], &e);

		if (!s) {
			fprintf(stderr, "swe-gen: %s\n", e.msg);
			return 1;
		}
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
		print_list("pythonpath", s->pythonpath);
		print_list("layers", s->layers);
		print_field("words", s->words);
		print_field("strip", s->strip);
		print_list("endings", s->endings);
		print_list("protected", s->protected);
		print_list("runner_files", s->runner_files);
		print_list("watched", s->watched);
		print_field("wall", s->wall);
		print_field("memory", s->memory);
		print_field("cpus", s->cpus);
		print_field("tmp", s->tmp);
		printf("\t},\n");
	}
	printf("\t{ .name = 0 },\n};\n");
	return 0;
}
