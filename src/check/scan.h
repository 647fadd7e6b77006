/* SPDX-License-Identifier: Apache-2.0 */
/* One text being looked at: what its expressions may be, what its names are bound to, what is found. */
#ifndef BELLJAR_CHECK_SCAN_H
#define BELLJAR_CHECK_SCAN_H

#include "check/check.h"
#include "check/tree.h"

/*
 * A value is the few things that an expression may be, as far as that can be said without running it: names of modules' contents
 * ("os.system") and constant strings. Number 0 is "anything".
 */
enum atom_kind { ATOM_NAME, ATOM_STR };

struct atom {
	const char *s;
	uint32_t len;
	uint8_t kind;
};

#define VALUE_MAX 6

struct value {
	uint8_t n;
	bool more; /* or something else that nobody can say */
	struct atom a[VALUE_MAX];
};

enum scope_kind { SCOPE_MODULE, SCOPE_FUNCTION, SCOPE_CLASS };

#define NO_SCOPE 0xffffffffU

struct star {
	struct star *next;
	struct atom module;
};

struct scope {
	uint32_t parent;
	enum scope_kind kind;
	struct star *stars; /* from x import * */
};

struct binding {
	struct binding *next; /* of its bucket */
	uint32_t scope;
	const char *name;
	uint32_t len;
	struct value value;
	uint32_t sure_from; /* from this byte on it is bound whatever happens; NO_NODE: perhaps never */
	bool deleted;
	bool builtin;
	uint32_t redirect; /* `global x`: the scope it belongs to; NO_SCOPE: this one */
};

struct scan {
	enum check_language lang;
	struct tree tree;
	const struct check_rules *rules;
	const struct check_modules *modules;
	const char *file;
	struct arena *arena; /* of the request: what is found */
	struct arena work;   /* of this text */
	struct check_result *out;
	struct value *values;
	uint32_t value_count, value_cap;
	struct scope *scopes;
	uint32_t scope_count, scope_cap;
	struct binding **table;
	uint32_t table_size, binding_count;
	bool changed; /* a name may be more than it was thought to be */
	/* bounds on what a hostile text can cost */
	size_t bytes_left;
	uint64_t steps_left;
	/* a text within the text (bash -c '...'): what is found stands where the string does */
	const char *whole;
	size_t whole_len;
	uint32_t depth, at_start, at_end;
};

#define SCAN_BYTES (8U << 20)
#define SCAN_STEPS 20000000ULL
#define STR_MAX	   4096
#define NAME_MAX_LEN 256

void scan_init(struct scan *s, enum check_language l, const char *text, size_t len);
void scan_done(struct scan *s);
/* False when the text has cost enough. */
bool scan_step(struct scan *s, uint64_t n);

static inline const struct node *node_at(const struct scan *s, uint32_t i)
{
	return &s->tree.nodes[i];
}

static inline const char *node_text(const struct scan *s, uint32_t i, uint32_t *len)
{
	*len = s->tree.nodes[i].end - s->tree.nodes[i].start;
	return s->tree.text + s->tree.nodes[i].start;
}

/* Characters that are read as ASCII in a name (tools/nfkc-gen.py). */
struct nfkc_row {
	uint32_t c;
	char plain[4];
};
extern const struct nfkc_row nfkc_rows[];
extern const size_t nfkc_count;

/* The name that an identifier is: Python's NFKC where that leads to ASCII, JavaScript's \u0065 resolved. */
const char *node_name(struct scan *s, uint32_t i, uint32_t *len);
bool node_is(const struct scan *s, uint32_t i, const char *text);
static inline uint32_t node_child(const struct scan *s, uint32_t i, enum tree_field f)
{
	return tree_child(&s->tree, i, f);
}

/* ---- values ---- */

static inline const struct value *value_of(const struct scan *s, uint32_t node)
{
	static const struct value none;

	return node == NO_NODE || !s->tree.nodes[node].value ? &none : &s->values[s->tree.nodes[node].value];
}

/* Adds to a value, without doubles; true when it is new. */
bool value_add(struct value *v, enum atom_kind kind, const char *text, size_t len);
bool value_join(struct value *v, const struct value *more);
/* Gives a node its value. */
void value_set(struct scan *s, uint32_t node, const struct value *v);
/* Memory, and a copy, that live as long as the scan; with a NUL after them; NULL when that would cost too much. */
char *scan_room(struct scan *s, size_t len);
char *scan_copy(struct scan *s, const char *text, size_t len);
/* "a.b" of "a" and "b", for every "a". */
void value_member(struct scan *s, struct value *out, const struct value *object, const char *member, size_t len);
/* Every combination of two strings. */
void value_concat(struct scan *s, struct value *out, const struct value *a, const struct value *b);
bool atom_is(const struct atom *a, const char *name);
/* The first string of a value, or NULL. */
const struct atom *value_str(const struct value *v);
/* It is a constant string and nothing else. */
bool value_is_known(const struct value *v);
/* Whether some name of it is this. */
bool value_has_name(const struct value *v, const char *name);

/* ---- names ---- */

uint32_t scope_new(struct scan *s, uint32_t parent, enum scope_kind kind);
struct binding *binding_find(struct scan *s, uint32_t scope, const char *name, uint32_t len);
/* Makes it when there is none. Follows `global`. */
struct binding *binding_declare(struct scan *s, uint32_t scope, const char *name, uint32_t len);
void binding_add(struct scan *s, struct binding *b, const struct value *v);

/* ---- findings ---- */

void scan_found(struct scan *s, const struct rule_entry *e, uint32_t start, uint32_t end);
/* Entries of a kind that match a name; `only` is told each, and decides. */
void scan_match(struct scan *s, enum rule_what what, const struct atom *name, uint32_t start, uint32_t end,
		bool (*only)(struct scan *s, const struct rule_entry *e, void *ctx), void *ctx);
/* An import of a module; `member`: what of it is imported, or NULL. */
void scan_import(struct scan *s, const char *module, size_t len, const char *member, size_t member_len, uint32_t start, uint32_t end);
/* An import of which nobody can say what it imports. */
void scan_import_unknown(struct scan *s, uint32_t start, uint32_t end);
/* A use of a.b.c, where a.b was `object`. */
void scan_use(struct scan *s, const struct atom *name, const struct value *object, uint32_t start, uint32_t end);

void scan_python(struct scan *s);
void scan_javascript(struct scan *s);
void scan_bash(struct scan *s);

#endif
