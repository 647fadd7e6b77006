/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator has set: who comes after may ask for less, never for more. */
#include "run/ceiling.h"

#include <string.h>

/*
 * Theory of operation
 *
 * There are two ceilings (run/config.h). The system file's holds for everything after it: the user's file, the environment, options, requests. All that was
 * set when belljar was started, by file, environment or option, is one for a request object: a line of a batch, `run --request`. The allow-list of programs
 * (request_programs) and the lists of modules (check/check.h) are kept apart by who wrote them, and all of them hold.
 */

/* Which of two values is the looser one. */
enum order {
	ORDER_LESS,  /* a number: the larger, and 0, which is none */
	ORDER_MORE,  /* a choice: the earlier word */
	ORDER_TRUE,  /* a flag that guards: false */
	ORDER_FALSE, /* a flag that lets something happen: true */
	ORDER_SAME,  /* any other: there are two sides to it, and the operator has taken one */
	ORDER_WORDS, /* the later of `words` */
};

static const struct row {
	const char *name;
	enum order order;
	const char *words;
} rows[] = {
	{ "timeout", ORDER_LESS, NULL },	{ "cpu-time", ORDER_LESS, NULL },	   { "memory", ORDER_LESS, NULL },
	{ "cpus", ORDER_LESS, NULL },		{ "disk", ORDER_LESS, NULL },		   { "pids", ORDER_LESS, NULL },
	{ "nofile", ORDER_LESS, NULL },		{ "output", ORDER_LESS, NULL },		   { "output-log", ORDER_LESS, NULL },
	{ "policy", ORDER_MORE, NULL },		{ "no-write", ORDER_TRUE, NULL },	   { "allow-imports", ORDER_FALSE, NULL },
	{ "allow-degraded", ORDER_FALSE, NULL }, { "no-keep-code", ORDER_SAME, NULL },	   { "net", ORDER_WORDS, "none|host" },
	{ "audit", ORDER_WORDS, "required|best-effort|off" },
};

static const struct row *row_of(const struct opt *o)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, o->name) == 0)
			return &rows[i];
	return NULL;
}

/* Which of "a|b|c"; one that is none of them is past them all. */
static unsigned rank(const char *words, const char *text)
{
	unsigned n = 0;

	for (const char *p = words; *p; n++) {
		size_t len = strcspn(p, "|");

		if (strlen(text) == len && memcmp(p, text, len) == 0)
			return n;
		p += len + (p[len] == '|');
	}
	return n;
}

static bool is_past_number(uint64_t top, uint64_t v)
{
	return top && (!v || v > top);
}

static bool is_past(const struct row *row, const char *top, const char *v)
{
	switch (row->order) {
	case ORDER_LESS:
		return is_past_number(*(const uint64_t *)(const void *)top, *(const uint64_t *)(const void *)v);
	case ORDER_MORE:
		return *(const uint64_t *)(const void *)v < *(const uint64_t *)(const void *)top;
	case ORDER_TRUE:
		return *(const bool *)top && !*(const bool *)v;
	case ORDER_FALSE:
		return !*(const bool *)top && *(const bool *)v;
	case ORDER_SAME:
		return *(const bool *)top != *(const bool *)v;
	default:
		return rank(row->words, *(const char *const *)(const void *)v) > rank(row->words, *(const char *const *)(const void *)top);
	}
}

static size_t size_of(const struct opt *o)
{
	return o->kind == OPT_FLAG ? sizeof(bool) : o->kind == OPT_STR ? sizeof(char *) : sizeof(uint64_t);
}

static bool is_same(const struct opt *o, const char *x, const char *y)
{
	if (o->kind == OPT_STR)
		return strcmp(*(const char *const *)(const void *)x, *(const char *const *)(const void *)y) == 0;
	return memcmp(x, y, size_of(o)) == 0;
}

void ceiling_set(struct ceiling *c, const struct opt *o, const struct request *r, const char *by)
{
	bool rules = strcmp(o->name, "rules") == 0;

	if (!rules && !row_of(o))
		return;
	memcpy((char *)&c->at + o->at, (const char *)r + o->at, size_of(o));
	c->by[o - request_opts] = by;
}

/* ---- rules ---- */

static bool names_set(const char *names, const char *name, size_t len)
{
	for (const char *p = names; *p;) {
		size_t n = strcspn(p, ",");

		if (n == len && memcmp(p, name, n) == 0)
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

/* Sets of rules only add to each other: both lists hold. */
static const char *join_rules(const char *first, const char *more, struct arena *a)
{
	const char *all = first;

	for (const char *p = more; *p;) {
		size_t n = strcspn(p, ",");

		if (!names_set(all, p, n))
			all = arena_fmt(a, "%s,%.*s", all, (int)n, p);
		p += n + (p[n] == ',');
	}
	return all;
}

/* ---- holding a request against it ---- */

static void name_row(const struct opt *o, enum ceiling_asker asker, const char *path, char *out, size_t size)
{
	char env[64];

	opt_env_name(o, env, sizeof(env));
	if (asker == CEILING_REQUEST && o->json)
		snprintf(out, size, "request: '%s'", o->json);
	else if (asker == CEILING_FILE)
		snprintf(out, size, "%s: '%s'", path, o->name);
	else if (asker == CEILING_ENV)
		snprintf(out, size, "%s", env);
	else
		snprintf(out, size, "--%s", o->name);
}

static int refuse(const struct ceiling *c, const struct opt *o, const void *asked, const char *shown, struct err *e)
{
	char is[64], top[64];

	opt_format(o, asked, is, sizeof(is));
	opt_format(o, &c->at, top, sizeof(top));
	err_set(e, ERR_DENIED, "%s is %s, and the operator has set %s (%s)", shown, row_of(o)->order == ORDER_LESS && is[0] == '0' ? "no limit" : is, top,
		c->by[o - request_opts]);
	return err_hint(e, "leave it out, or ask for %s%s; docs/operator.md says what an operator sets for good", row_of(o)->order == ORDER_LESS ? "at most " : "", top);
}

int ceiling_apply(const struct ceiling *c, const struct request *began, struct request *r, enum ceiling_asker asker, const char *path, struct arena *a, struct err *e)
{
	for (const struct opt *o = request_opts; o->name; o++) {
		const struct row *row = c->by[o - request_opts] ? row_of(o) : NULL;
		const char *top = (const char *)&c->at + o->at;
		char *v = (char *)r + o->at, shown[600];

		if (!row || !is_past(row, top, v))
			continue;
		if (!is_same(o, (const char *)began + o->at, v)) {
			name_row(o, asker, path, shown, sizeof(shown));
			return refuse(c, o, r, shown, e);
		}
		/* A wall clock that is not there yet is made from the CPU time, and then held. */
		if (o->at != REQUEST_AT(limits.wall_ms) || r->limits.wall_ms)
			memcpy(v, top, size_of(o));
	}
	if (c->at.rules)
		r->rules = join_rules(c->at.rules, r->rules, a);
	return 0;
}

void ceiling_clamp(const struct ceiling *c, struct request *r)
{
	for (const struct opt *o = request_opts; o->name; o++) {
		const struct row *row = c->by[o - request_opts] ? row_of(o) : NULL;
		const char *top = (const char *)&c->at + o->at;
		char *v = (char *)r + o->at;

		if (row && is_past(row, top, v))
			memcpy(v, top, size_of(o));
	}
}

int ceiling_number(const struct ceiling *c, const char *row, uint64_t value, const char *shown, struct err *e)
{
	const struct opt *o = opt_find(request_opts, row);
	static struct request asked;

	if (!value || !o || !c->by[o - request_opts] || !is_past_number(*(const uint64_t *)(const void *)((const char *)&c->at + o->at), value))
		return 0;
	memcpy((char *)&asked + o->at, &value, sizeof(value));
	return refuse(c, o, &asked, shown, e);
}

/* ---- every jar ---- */

static const struct ceiling *system_ceiling;

void ceiling_hold_all(const struct ceiling *c)
{
	system_ceiling = c;
}

void ceiling_held(struct jar_limits *l)
{
	static struct request r;

	if (!system_ceiling)
		return;
	for (const struct opt *o = request_opts; o->name; o++) {
		const struct row *row = system_ceiling->by[o - request_opts] ? row_of(o) : NULL;
		const char *top = (const char *)&system_ceiling->at + o->at;

		if (!row || row->order != ORDER_LESS)
			continue;
		r.limits = *l;
		if (is_past(row, top, (const char *)&r + o->at))
			memcpy((char *)&r + o->at, top, sizeof(uint64_t));
		*l = r.limits;
	}
}
