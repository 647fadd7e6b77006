/* SPDX-License-Identifier: Apache-2.0 */
/* Files of rules: YAML to rows of check/rule.h. */
#ifndef BELLJAR_RUN_RULES_H
#define BELLJAR_RUN_RULES_H

#include "check/rule.h"

/* What a file holds: heap rows, kept for the life of the process. */
struct rules_file {
	struct check_rule **rules;
	size_t count;
	struct check_set_row **sets;
	size_t set_count;
};

/* Reads one file. */
int rules_parse(const char *path, struct rules_file *out, struct err *e);
/* Reads one file and adds its rows; `named`: the file's path is a set of its own (--rules FILE). */
int rules_load_file(const char *path, bool named, struct err *e);
/* The rows of every *.yaml in `dir`; a folder that does not exist is no error. */
int rules_load_dir(const char *dir, struct err *e);
/* Loads the files among "standard,mine.yaml": what holds a slash or ends in .yaml. */
int rules_load_named(const char *names, struct err *e);
bool rules_is_file(const char *name, size_t len);

#endif
