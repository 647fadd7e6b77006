/* SPDX-License-Identifier: Apache-2.0 */
/* Build tool: turns rules/<name>.yaml into the tables that are compiled in, so that a run reads no YAML. */
#include <stdio.h>

#include "run/rules.h"

const struct check_rule rules_builtin[] = { { .id = NULL } };
const struct check_set_row rule_sets_builtin[] = { { .name = NULL } };

static void print_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\' || *s == '?')
			putchar('\\');
		putchar(*s);
	}
	putchar('"');
}

static void print_field(const char *field, const char *value)
{
	if (!value)
		return;
	printf("\t\t.%s = ", field);
	print_string(value);
	printf(",\n");
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

static void print_rule(const struct check_rule *r)
{
	printf("\t{\n");
	print_field("id", r->id);
	print_field("language", r->language);
	print_field("severity", r->severity);
	print_field("message", r->message);
	print_field("why", r->why);
	print_field("unknown", r->unknown);
	print_field("piped", r->piped);
	print_list("call", r->call);
	print_list("import", r->import);
	print_list("attribute", r->attribute);
	print_list("computed", r->computed);
	print_list("command", r->command);
	print_list("redirect", r->redirect);
	print_list("except", r->except);
	print_list("argument", r->argument);
	print_list("matches", r->matches);
	print_list("args", r->args);
	print_list("sets", r->sets);
	printf("\t},\n");
}

int main(int argc, char **argv)
{
	struct err e = { 0 };

	printf("/* Made by tools/rules-gen.c from rules/: do not edit. */\n#include \"check/rule.h\"\n\n");
	for (int pass = 0; pass < 2; pass++) {
		printf(pass ? "const struct check_set_row rule_sets_builtin[] = {\n" : "const struct check_rule rules_builtin[] = {\n");
		for (int i = 1; i < argc; i++) {
			struct rules_file f;

			if (rules_parse(argv[i], &f, &e) < 0) {
				fprintf(stderr, "rules-gen: %s\n", e.msg);
				return 1;
			}
			for (size_t k = 0; !pass && k < f.count; k++)
				print_rule(f.rules[k]);
			for (size_t k = 0; pass && k < f.set_count; k++) {
				printf("\t{\n");
				print_field("name", f.sets[k]->name);
				print_field("summary", f.sets[k]->summary);
				print_field("raise", f.sets[k]->raise);
				printf("\t},\n");
			}
		}
		printf("\t{ 0 },\n};\n");
	}
	return 0;
}
