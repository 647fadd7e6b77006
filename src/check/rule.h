/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of the static check: rows of data from rules/<name>.yaml, compiled in at build time; a user can add more. */
#ifndef BELLJAR_CHECK_RULE_H
#define BELLJAR_CHECK_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Lists end with NULL. docs/checks.md says what each field means. */
struct check_rule {
	const char *id, *language, *severity, *message, *why;
	/* what is matched: any of these */
	const char *const *call, *const *import, *const *attribute, *const *computed, *const *command, *const *redirect;
	/* and what must hold besides */
	const char *const *except;   /* not these */
	const char *const *argument; /* of a call: position or keyword */
	const char *const *matches;  /* patterns, one of which its constant value has */
	const char *const *args;     /* of a command: each "a|b" is matched by some argument */
	const char *unknown;	     /* "true": also when the argument is no constant */
	const char *piped;	     /* "true": only a command that reads from a pipe */
	const char *const *sets;
};

/* A name under which rules are asked for. */
struct check_set_row {
	const char *name, *summary;
	const char *raise; /* "true": all its findings are errors */
};

/* The rows compiled in; each list ends with a NULL name. */
extern const struct check_rule rules_builtin[];
extern const struct check_set_row rule_sets_builtin[];

enum check_language { CHECK_NONE, CHECK_PYTHON, CHECK_BASH, CHECK_JAVASCRIPT, CHECK_LANGUAGES };

enum check_language check_language_find(const char *name);

/* Adds a row (kept for the life of the process); one with an id that is there already replaces it. `file`: where it stands, or NULL. */
int rules_add(const struct check_rule *rule, const char *file, struct err *e);
int rules_add_set(const struct check_set_row *set, struct err *e);
/* The i-th of all rows that are in force, NULL past the end. */
const struct check_rule *rules_at(size_t i);
const struct check_set_row *rules_set_at(size_t i);
bool rule_in_set(const struct check_rule *r, const char *set);

enum rule_what { RULE_CALL, RULE_IMPORT, RULE_ATTRIBUTE, RULE_NAME, RULE_COMPUTED, RULE_COMMAND, RULE_REDIRECT };

/* One name of one rule, where it is looked for. */
struct rule_entry {
	struct rule_entry *next;
	const struct check_rule *rule;
	const char *pattern;
	uint8_t what; /* enum rule_what; RULE_NAME: an attribute of that name, whatever it belongs to */
	bool error;
	bool owned; /* the pattern is the entry's own */
};

#define RULE_BUCKETS 256

/* The rules of some sets, made ready for looking up. */
struct check_rules {
	char names[128];
	struct rule_entry *buckets[CHECK_LANGUAGES][RULE_BUCKETS]; /* by the first part of a name, or a command */
	struct rule_entry *redirects, *commands;		    /* of bash, one after the other */
};

/* Of "standard,mine" or a file's path; kept and shared: valid until the 16th other was asked for. NULL on an error that names the bad one. */
const struct check_rules *rules_of(const char *names, struct err *e);
/* The entries that may match a name beginning (or being) so. */
struct rule_entry *rules_first(const struct check_rules *r, enum check_language l, const char *part, size_t len);

/* Shell-like patterns: * ? [a-z] [!a]. Linear in time but for one star. */
bool rule_glob(const char *pattern, const char *text, size_t len);
/* "a|b|c". */
bool rule_glob_any(const char *patterns, const char *text, size_t len);
bool rule_list_has(const char *const *globs, const char *text, size_t len);

#endif
