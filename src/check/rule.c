/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: which are in force, and how they are looked up. */
#include "check/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN_MAX	  1024
#define SETS_MAX  64
#define CACHE_MAX 16

static struct own_rule {
	const struct check_rule *rule;
	char *file;
} own[OWN_MAX];
static size_t own_count;
static const struct check_set_row *own_sets[SETS_MAX];
static size_t own_set_count;

static const char *const language_names[CHECK_LANGUAGES] = { "", "python", "bash", "javascript" };

enum check_language check_language_find(const char *name)
{
	for (int i = 1; i < CHECK_LANGUAGES; i++)
		if (strcmp(language_names[i], name) == 0)
			return i;
	/* As the language rows call it. */
	return strcmp(name, "node") == 0 ? CHECK_JAVASCRIPT : CHECK_NONE;
}

int rules_add_set(const struct check_set_row *set, struct err *e)
{
	if (own_set_count == SETS_MAX)
		return err_set(e, ERR_INPUT, "more than %d sets of rules", SETS_MAX);
	own_sets[own_set_count++] = set;
	return 0;
}

static char *copy(const char *text)
{
	char *p = text ? strdup(text) : NULL;

	if (text && !p)
		abort(); /* a front without memory has nothing to say */
	return p;
}

int rules_add(const struct check_rule *rule, const char *file, struct err *e)
{
	for (size_t i = 0; i < own_count; i++)
		if (strcmp(own[i].rule->id, rule->id) == 0) {
			free(own[i].file);
			own[i] = (struct own_rule){ rule, copy(file) };
			return 0;
		}
	if (own_count == OWN_MAX)
		return err_set(e, ERR_INPUT, "more than %d rules", OWN_MAX);
	own[own_count++] = (struct own_rule){ rule, copy(file) };
	return 0;
}

static bool is_replaced(const char *id)
{
	for (size_t i = 0; i < own_count; i++)
		if (strcmp(own[i].rule->id, id) == 0)
			return true;
	return false;
}

const struct check_rule *rules_at(size_t i)
{
	if (i < own_count)
		return own[i].rule;
	i -= own_count;
	for (const struct check_rule *r = rules_builtin; r->id; r++)
		if (!is_replaced(r->id) && !i--)
			return r;
	return NULL;
}

const struct check_set_row *rules_set_at(size_t i)
{
	if (i < own_set_count)
		return own_sets[i];
	i -= own_set_count;
	for (const struct check_set_row *s = rule_sets_builtin; s->name; s++)
		if (!i--)
			return s;
	return NULL;
}

bool rule_in_set(const struct check_rule *r, const char *set)
{
	for (const char *const *s = r->sets; s && *s; s++)
		if (strcmp(*s, set) == 0)
			return true;
	return false;
}

/* ---- patterns ---- */

/* One character against one element of the pattern; *next is what follows it. */
static bool match_one(const char *p, unsigned char c, const char **next)
{
	bool invert, hit = false;

	if (*p == '?') {
		*next = p + 1;
		return true;
	}
	if (*p != '[' || !p[1] || !strchr(p + 2, ']')) {
		*next = p + 1;
		return (unsigned char)*p == c;
	}
	p++;
	invert = *p == '!' || *p == '^';
	p += invert;
	do {
		unsigned char lo = (unsigned char)*p++, hi = lo;

		if (*p == '-' && p[1] && p[1] != ']') {
			hi = (unsigned char)p[1];
			p += 2;
		}
		hit = hit || (c >= lo && c <= hi);
	} while (*p && *p != ']');
	*next = *p ? p + 1 : p;
	return hit != invert;
}

static bool glob(const char *p, const char *end, const char *text, size_t len)
{
	const char *star = NULL, *next;
	size_t i = 0, back = 0;

	for (;;) {
		if (p < end && *p == '*') {
			star = ++p;
			back = i;
		} else if (i < len && p < end && match_one(p, (unsigned char)text[i], &next) && next <= end) {
			p = next;
			i++;
		} else if (i == len && p == end) {
			return true;
		} else if (star && back < len) {
			/* Only the last star needs to take more. */
			p = star;
			i = ++back;
		} else {
			return false;
		}
	}
}

bool rule_glob(const char *pattern, const char *text, size_t len)
{
	return glob(pattern, pattern + strlen(pattern), text, len);
}

bool rule_glob_any(const char *patterns, const char *text, size_t len)
{
	for (const char *p = patterns;; p++) {
		const char *end = strchrnul(p, '|');

		if (glob(p, end, text, len))
			return true;
		if (!*end)
			return false;
		p = end;
	}
}

bool rule_list_has(const char *const *globs, const char *text, size_t len)
{
	for (; globs && *globs; globs++)
		if (rule_glob_any(*globs, text, len))
			return true;
	return false;
}

/* ---- sets, ready for use ---- */

static unsigned bucket_of(const char *s, size_t len)
{
	unsigned h = 2166136261U;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619U;
	return (h ^ h >> 16) % RULE_BUCKETS;
}

struct rule_entry *rules_first(const struct check_rules *r, enum check_language l, const char *part, size_t len)
{
	return r->buckets[l][bucket_of(part, len)];
}

static void add_entry(struct check_rules *c, const struct check_rule *r, enum check_language l, enum rule_what what, const char *pattern, bool error)
{
	struct rule_entry *n = calloc(1, sizeof(*n)), **at;
	char full[256];
	bool plain = !strchr(pattern, '.');
	const char *use = pattern;

	if (!n)
		abort(); /* a front without memory has nothing to say */
	if (what == RULE_ATTRIBUTE && plain)
		what = RULE_NAME;
	/* Python's own functions have a module of their own. */
	if (l == CHECK_PYTHON && what == RULE_CALL && plain) {
		snprintf(full, sizeof(full), "builtins.%s", pattern);
		use = strdup(full);
		if (!use)
			abort();
	}
	*n = (struct rule_entry){ .rule = r, .pattern = use, .owned = use != pattern, .what = (uint8_t)what, .error = error };
	if (what == RULE_REDIRECT)
		at = &c->redirects;
	else if (what == RULE_COMMAND)
		at = &c->commands;
	else
		at = &c->buckets[l][bucket_of(use, strcspn(use, "."))];
	n->next = *at;
	*at = n;
}

static void add_rule(struct check_rules *c, const struct check_rule *r, bool raise)
{
	static const struct {
		size_t offset;
		enum rule_what what;
	} lists[] = {
		{ offsetof(struct check_rule, call), RULE_CALL },	    { offsetof(struct check_rule, import), RULE_IMPORT },
		{ offsetof(struct check_rule, attribute), RULE_ATTRIBUTE }, { offsetof(struct check_rule, computed), RULE_COMPUTED },
		{ offsetof(struct check_rule, command), RULE_COMMAND },	    { offsetof(struct check_rule, redirect), RULE_REDIRECT },
	};
	bool error = raise || strcmp(r->severity, "error") == 0;

	if (strcmp(r->severity, "off") == 0)
		return;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (const char *const *v = *(const char *const *const *)((const char *)r + lists[i].offset); v && *v; v++)
			add_entry(c, r, check_language_find(r->language), lists[i].what, *v, error);
}

static void free_entries(struct rule_entry *n)
{
	while (n) {
		struct rule_entry *next = n->next;

		if (n->owned)
			free((char *)n->pattern);
		free(n);
		n = next;
	}
}

static void clear(struct check_rules *c)
{
	for (int l = 0; l < CHECK_LANGUAGES; l++)
		for (int i = 0; i < RULE_BUCKETS; i++)
			free_entries(c->buckets[l][i]);
	free_entries(c->redirects);
	free_entries(c->commands);
	memset(c, 0, sizeof(*c));
}

static const struct check_set_row *find_set(const char *name)
{
	const struct check_set_row *s;

	for (size_t i = 0; (s = rules_set_at(i)); i++)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

/* A set that a rule names is one, also without a row that describes it; a file's path is the set of its rules. */
static int add_named(struct check_rules *c, const char *name, struct err *e)
{
	const struct check_set_row *s = find_set(name);
	const struct check_rule *r;
	bool found = s != NULL, raise = s && s->raise && strcmp(s->raise, "true") == 0;

	for (size_t i = 0; (r = rules_at(i)); i++)
		if ((i < own_count && own[i].file && strcmp(own[i].file, name) == 0) || rule_in_set(r, name)) {
			add_rule(c, r, raise);
			found = true;
		}
	if (found)
		return 0;
	err_set(e, ERR_REQUEST, "rules: there is no set '%.60s'", name);
	return err_hint(e, "belljar check --list shows the sets: standard, strict, pure and your own");
}

const struct check_rules *rules_of(const char *names, struct err *e)
{
	static struct check_rules *cache[CACHE_MAX];
	static size_t turn;
	struct check_rules *c;
	char copy[sizeof(c->names)], *save = NULL;

	for (size_t i = 0; i < CACHE_MAX; i++)
		if (cache[i] && strcmp(cache[i]->names, names) == 0)
			return cache[i];
	if (strlen(names) >= sizeof(copy)) {
		err_set(e, ERR_REQUEST, "rules: '%.40s...' is too long", names);
		return NULL;
	}
	c = cache[turn];
	if (c)
		clear(c);
	else
		c = cache[turn] = calloc(1, sizeof(*c));
	if (!c)
		abort(); /* a front without memory has nothing to say */
	snprintf(copy, sizeof(copy), "%s", names);
	for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save))
		if (add_named(c, name, e) < 0) {
			clear(c);
			return NULL;
		}
	snprintf(c->names, sizeof(c->names), "%s", names);
	turn = (turn + 1) % CACHE_MAX;
	return c;
}
