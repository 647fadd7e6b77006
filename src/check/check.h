/* SPDX-License-Identifier: Apache-2.0 */
/* The static check: a text is parsed, names are followed, rules are looked up. Advice, not a boundary: the jar is that (docs/checks.md). */
#ifndef BELLJAR_CHECK_CHECK_H
#define BELLJAR_CHECK_CHECK_H

#include "base/arena.h"
#include "check/rule.h"

/* What a request says of imports. */
struct check_modules {
	const struct strlist *allow, *allow_too, *deny; /* an empty `allow`: all; of two that are not, both hold */
	bool none;			    /* no imports at all */
};

struct check_finding {
	const char *rule;		   /* a rule's id, or "module", "import", "parse" */
	const char *message, *why;	   /* why: NULL when there is nothing more to say */
	const char *file;		   /* of which file of the request; NULL: the code itself */
	bool error;
	uint32_t start, end;		   /* bytes of the text */
	uint32_t line, column, end_line, end_column; /* from 1; columns count characters, end_column is the one after the last */
	char *text;			   /* the line it begins on, cut when it is long */
	uint32_t caret, caret_len;	   /* where in `text`, in characters */
};

#define CHECK_FINDINGS_MAX 100

struct check_result {
	struct check_finding *list; /* in the order of the text */
	size_t count, cap;
	size_t total;		    /* what was found, also past what is kept */
	size_t errors;		    /* of those that refuse in `enforce` */
	bool broken;		    /* tree-sitter did not understand all of it: the language itself must say whether it is right */
	bool incomplete;	    /* too large, too slow, too tangled to be looked at whole */
	uint32_t broken_at, broken_end;
};

/* Adds what is found in a text. Strings live in the arena or as long as the rules do. */
void check_text(enum check_language l, const struct check_rules *rules, const struct check_modules *modules, const char *file, const char *text,
		size_t len, struct arena *a, struct check_result *out);
/* Adds a finding that is none of a rule's. */
void check_add(struct check_result *out, const char *rule, bool error, const char *message, const char *why, const char *file, const char *text,
	       size_t len, uint32_t start, uint32_t end, struct arena *a);

#endif
