/* SPDX-License-Identifier: Apache-2.0 */
/* Build tool: turns languages/<name>.yaml into the table that is compiled in, so that a run reads no YAML. */
#include <stdio.h>

#include "run/language.h"

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

	printf("/* Made by tools/lang-gen.c from languages/: do not edit. */\n#include \"run/language.h\"\n\n"
	       "const struct language languages_builtin[] = {\n");
	for (int i = 1; i < argc; i++) {
		const struct language *l = language_parse(argv[i], &e);

		if (!l) {
			fprintf(stderr, "lang-gen: %s\n", e.msg);
			return 1;
		}
		printf("\t{\n");
		print_field("name", l->name);
		print_field("title", l->title);
		print_field("file", l->file);
		print_field("program", l->program);
		print_field("package", l->package);
		print_field("warm", l->warm);
		print_list("aliases", l->aliases);
		print_list("endings", l->endings);
		print_list("interpreters", l->interpreters);
		print_list("compile", l->compile);
		print_list("run", l->run);
		print_list("build", l->build);
		print_list("start", l->start);
		print_list("readable", l->readable);
		print_list("env", l->env);
		print_list("version", l->version);
		print_field("syntax_first", l->syntax_first);
		print_field("check", l->check);
		print_list("syntax", l->syntax);
		print_list("syntax_again", l->syntax_again);
		printf("\t},\n");
	}
	printf("\t{ .name = 0 },\n};\n");
	return 0;
}
