/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: names of tests, how runners and lists spell them, and a map from them to outcomes. */
#include "grade/swe_names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- words ---- */

static const struct {
	const char *name;
	enum swe_style style;
} styles[] = {
	{ "pytest", SWE_PYTEST },	   { "pytest_options", SWE_PYTEST_OPTIONS },
	{ "matplotlib", SWE_MATPLOTLIB },  { "django", SWE_DJANGO },
	{ "sympy", SWE_SYMPY },		   { "unittest", SWE_UNITTEST },
	/* of the reference, after "parse_log_" */
	{ "pytest_v2", SWE_PYTEST },	   { "astropy", SWE_PYTEST },
	{ "scikit", SWE_PYTEST },	   { "sphinx", SWE_PYTEST },
	{ "seaborn", SWE_PYTEST },	   { "astroid", SWE_PYTEST },
	{ "flask", SWE_PYTEST },	   { "marshmallow", SWE_PYTEST },
	{ "pvlib", SWE_PYTEST },	   { "pyvista", SWE_PYTEST },
	{ "sqlfluff", SWE_PYTEST },	   { "xarray", SWE_PYTEST },
	{ "pydicom", SWE_PYTEST_OPTIONS }, { "requests", SWE_PYTEST_OPTIONS },
	{ "pylint", SWE_PYTEST_OPTIONS },
};

bool swe_style_find(const char *name, enum swe_style *out)
{
	if (strncmp(name, "parse_log_", 10) == 0)
		name += 10;
	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
		if (strcmp(styles[i].name, name) == 0) {
			*out = styles[i].style;
			return true;
		}
	return false;
}

const char *swe_style_name(enum swe_style s)
{
	return styles[s].name;
}

const char *swe_style_names(void)
{
	return "pytest, pytest_options, matplotlib, django, sympy, unittest";
}

/* `rank`: which of two outcomes of one name counts. */
static const struct {
	const char *name;
	int rank;
	bool good, bad;
} outcomes[] = {
	[SWE_MISSING] = { "missing", 0, false, false }, [SWE_PASSED] = { "passed", 3, true, false },
	[SWE_FAILED] = { "failed", 5, false, true },	[SWE_ERROR] = { "error", 6, false, true },
	[SWE_SKIPPED] = { "skipped", 1, false, false }, [SWE_XFAIL] = { "xfail", 2, true, false },
	[SWE_XPASS] = { "xpass", 4, false, true },
};

bool swe_outcome_find(struct span word, enum swe_outcome *out)
{
	for (size_t i = SWE_PASSED; i < SWE_OUTCOMES; i++)
		if (strlen(outcomes[i].name) == word.n && strncasecmp(outcomes[i].name, word.p, word.n) == 0) {
			*out = (enum swe_outcome)i;
			return true;
		}
	return false;
}

const char *swe_outcome_name(enum swe_outcome o)
{
	return outcomes[o].name;
}

bool swe_outcome_good(enum swe_outcome o)
{
	return outcomes[o].good;
}

bool swe_outcome_bad(enum swe_outcome o)
{
	return outcomes[o].bad;
}

enum swe_outcome swe_outcome_merge(enum swe_outcome a, enum swe_outcome b)
{
	return outcomes[a].rank >= outcomes[b].rank ? a : b;
}

/* ---- names ---- */

static bool is_pytest(enum swe_style s)
{
	return s == SWE_PYTEST || s == SWE_PYTEST_OPTIONS || s == SWE_MATPLOTLIB;
}

/* "test_x (m.C.test_x)" to "test_x (m.C)", in place. What follows, as the parameters of a subtest, stays. */
static void drop_method(char *id)
{
	char *open = strstr(id, " ("), *close = open ? strchr(open, ')') : NULL;
	size_t name = open ? (size_t)(open - id) : 0;

	if (!close || !name || (size_t)(close - open) < name + 4 || close[-(long)name - 1] != '.' || memcmp(close - name, id, name) != 0)
		return;
	memmove(close - name - 1, close, strlen(close) + 1);
}

/* "t[/a/b/c]" to "t[/c]", as the reference lists what has a path for an option; behind the last bracket nothing stays. */
static void shorten_option(char *id)
{
	char *open = strchr(id, '['), *close = open ? strrchr(open, ']') : NULL, *slash;

	if (!close)
		return;
	close[1] = '\0';
	if (open[1] != '/' || open[2] == '/' || memchr(open, '*', (size_t)(close - open)))
		return;
	for (slash = close; *slash != '/'; slash--)
		;
	memmove(open + 1, slash, strlen(slash) + 1);
}

static void replace(char *id, const char *word, const char *by)
{
	size_t n = strlen(word), m = strlen(by);

	for (char *at = id; (at = strstr(at, word)); at += m) {
		memcpy(at, by, m);
		memmove(at + m, at + n, strlen(at + n) + 1);
	}
}

const char *swe_name_canon(enum swe_style s, struct span id, struct arena *a)
{
	char *out, *to;

	id = span_trim(id);
	to = out = arena_dup_len(a, id.p ? id.p : "", id.n);
	/* A NUL would end it early for some and not for others. */
	for (size_t i = 0; i < id.n; i++) {
		char c = out[i];

		if (c == ' ' || (c >= '\t' && c <= '\r')) {
			if (to > out && to[-1] != ' ')
				*to++ = ' ';
		} else {
			*to++ = c ? c : '?';
		}
	}
	*to = '\0';
	if (!is_pytest(s))
		drop_method(out);
	if (s == SWE_PYTEST_OPTIONS)
		shorten_option(out);
	if (s == SWE_MATPLOTLIB) {
		replace(out, "MouseButton.LEFT", "1");
		replace(out, "MouseButton.RIGHT", "3");
	}
	return out;
}

struct span swe_name_function(enum swe_style s, const char *canon)
{
	struct span id = span_of(canon);
	long at;

	if (is_pytest(s)) {
		const char *open = strchr(canon, '[');

		if (open)
			id.n = (size_t)(open - canon);
		while ((at = span_find(id, "::")) >= 0)
			id = span_from(id, (size_t)at + 2);
		return id;
	}
	at = span_find(id, " (");
	return at >= 0 ? span_head(id, (size_t)at) : id;
}

const char *swe_name_unrename(enum swe_style s, const char *canon, const char *suffix, struct arena *a)
{
	struct span f = swe_name_function(s, canon);
	const char *rest;
	size_t n = suffix ? strlen(suffix) : 0;

	if (!n || f.n <= n || !span_ends(f, suffix))
		return NULL;
	rest = f.p + f.n;
	return arena_fmt(a, "%.*s%s", (int)(rest - canon - (long)n), canon, rest);
}

bool swe_name_truncated(const char *canon)
{
	size_t open = 0, close = 0;

	for (; *canon; canon++) {
		open += *canon == '[';
		close += *canon == ']';
	}
	return open > close;
}

struct span swe_name_before_message(struct span s)
{
	long depth = 0, first = -1;

	for (size_t i = 0; i + 3 <= s.n; i++) {
		depth += (s.p[i] == '[') - (s.p[i] == ']');
		if (memcmp(s.p + i, " - ", 3) != 0)
			continue;
		if (depth <= 0)
			return span_head(s, i);
		if (first < 0)
			first = (long)i;
	}
	/* Brackets that never close: the message has some, or the name is one that cannot be told. */
	return first >= 0 && depth > 0 ? span_head(s, (size_t)first) : s;
}

bool swe_name_has_function(enum swe_style s, const char *canon)
{
	size_t n = strcspn(canon, " "), close;

	if (is_pytest(s))
		return strstr(canon, "::") != NULL;
	if (s == SWE_SYMPY || !n || strncmp(canon + n, " (", 2) != 0)
		return s == SWE_SYMPY;
	close = strcspn(canon + n + 2, ") ");
	return close && canon[n + 2 + close] == ')' && (!canon[n + 3 + close] || strncmp(canon + n + 3 + close, " (", 2) == 0 || strncmp(canon + n + 3 + close, " [", 2) == 0);
}

bool swe_name_junk(enum swe_style s, const char *canon)
{
	return is_pytest(s) && !strstr(canon, "::");
}

/* ---- the map ---- */

/* Names come from whoever is graded: with a seed of its own nobody can choose names that all fall into one place. */
static uint64_t hash(const struct swe_map *m, const char *s)
{
	uint64_t h = m->seed;

	for (; *s; s++) {
		h = (h ^ (unsigned char)*s) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return h ^ h >> 32;
}

static size_t place(const struct swe_map *m, const char *id)
{
	size_t i = hash(m, id) % m->index_size;

	while (m->index[i] && strcmp(m->v[m->index[i] - 1].id, id) != 0)
		i = (i + 1) % m->index_size;
	return i;
}

/* False: no memory, which counts as full. */
static bool grow(struct swe_map *m)
{
	size_t cap = m->cap ? m->cap * 2 : 256;
	struct swe_map_entry *v = calloc(cap, sizeof(*v));
	uint32_t *index = calloc(cap * 2, sizeof(*index));

	if (!v || !index) {
		free(v);
		free(index);
		return false;
	}
	if (m->v)
		memcpy(v, m->v, m->n * sizeof(*v));
	free(m->v);
	m->v = v;
	if (!m->seed && getrandom(&m->seed, sizeof(m->seed), 0) != sizeof(m->seed))
		m->seed = (uint64_t)(uintptr_t)index;
	free(m->index);
	m->index = index;
	m->index_size = cap * 2;
	m->cap = cap;
	for (size_t i = 0; i < m->n; i++)
		index[place(m, v[i].id)] = (uint32_t)i + 1;
	return true;
}

void swe_map_add(struct swe_map *m, const char *id, enum swe_outcome o, bool renamed, bool alias)
{
	struct swe_map_entry *at;
	size_t i;

	if (!*id)
		return;
	/* When it is full, what is in it still learns of bad news. */
	if (m->n == m->cap && !swe_map_find(m, id) && (m->n >= SWE_MAP_MAX || !grow(m))) {
		m->cut = true;
		return;
	}
	i = place(m, id);
	if (!m->index[i]) {
		m->v[m->n] = (struct swe_map_entry){ .id = id, .alias = true };
		m->index[i] = (uint32_t)++m->n;
	}
	at = &m->v[m->index[i] - 1];
	at->outcome = swe_outcome_merge(at->outcome, o);
	if (renamed)
		at->renamed = swe_outcome_merge(at->renamed, o);
	at->alias = at->alias && alias;
}

const struct swe_map_entry *swe_map_find(const struct swe_map *m, const char *id)
{
	size_t i;

	if (!m->n)
		return NULL;
	i = m->index[place(m, id)];
	return i ? &m->v[i - 1] : NULL;
}

enum swe_outcome swe_map_outcome(const struct swe_map *m, const char *canon, bool renamed)
{
	const struct swe_map_entry *at = swe_map_find(m, canon);
	enum swe_outcome out = SWE_MISSING;
	size_t n = strlen(canon);

	if (at && (!renamed || at->renamed))
		return renamed ? at->renamed : at->outcome;
	if (!swe_name_truncated(canon))
		return SWE_MISSING;
	for (size_t i = 0; m->v && i < m->n; i++)
		if (!m->v[i].alias && strncmp(m->v[i].id, canon, n) == 0)
			out = swe_outcome_merge(out, renamed ? m->v[i].renamed : m->v[i].outcome);
	return out;
}

void swe_map_done(struct swe_map *m)
{
	free(m->v);
	free(m->index);
	*m = (struct swe_map){ 0 };
}
