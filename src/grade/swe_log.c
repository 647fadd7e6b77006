/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: what a test runner's plain output says about each test. */
#include "grade/swe_log.h"

#include <string.h>

#define NAME_MAX_BYTES 65536

struct reader {
	struct swe_log *l;
	const char *suffix;
	struct arena *a;
	struct span pending, above; /* a test that was named and has no outcome yet; the line before it, when it is a name as well */
};

static void add(struct reader *r, struct span id, enum swe_outcome o, bool alias)
{
	const char *canon, *plain;

	id = span_trim(id);
	if (!id.n || id.n > NAME_MAX_BYTES)
		return;
	canon = swe_name_canon(r->l->style, id, r->a);
	plain = swe_name_unrename(r->l->style, canon, r->suffix, r->a);
	swe_map_add(&r->l->map, plain ? plain : canon, o, plain != NULL, alias);
}

/* The first word of it. */
static struct span word(struct span s)
{
	size_t n = 0;

	s = span_trim(s);
	while (n < s.n && s.p[n] != ' ' && s.p[n] != '\t')
		n++;
	return span_head(s, n);
}

static struct span last_word(struct span s)
{
	size_t n = 0;

	s = span_trim(s);
	while (n < s.n && s.p[s.n - 1 - n] != ' ' && s.p[s.n - 1 - n] != '\t')
		n++;
	return span_from(s, s.n - n);
}

static struct span without_tail(struct span s, size_t n)
{
	return span_trim(span_head(s, s.n - n));
}

/* ---- pytest ---- */

/* "[100%]", "[  5%]", "[12]" */
static bool is_count(struct span s, bool percent)
{
	size_t digits = 0;

	if (s.n < 3 || s.p[0] != '[' || s.p[s.n - 1] != ']')
		return false;
	s = span_trim((struct span){ s.p + 1, s.n - 2 });
	if (percent && (!span_ends(s, "%") || !--s.n))
		return false;
	while (digits < s.n && s.p[digits] >= '0' && s.p[digits] <= '9')
		digits++;
	return s.n && digits == s.n;
}

/* "ERROR    root:x.py:3 message" is a line of a captured log: the level is padded, and a place follows. */
static bool is_log_line(struct span line, struct span first)
{
	struct span rest = span_from(line, first.n), place = word(rest);
	size_t digits = 0;

	while (digits < place.n && place.p[place.n - 1 - digits] >= '0' && place.p[place.n - 1 - digits] <= '9')
		digits++;
	return span_is(first, "ERROR") && (span_starts(rest, "  ") || (digits && digits < place.n && place.p[place.n - 1 - digits] == ':' && span_find(place, "::") < 0));
}

/* "PASSED path::name[a b]", as -rA ends with. */
static bool pytest_summary(struct reader *r, struct span line)
{
	struct span first = word(line), rest;
	enum swe_outcome o;

	if (!first.n || first.p != line.p || first.p[0] < 'A' || first.p[0] > 'Z' || !swe_outcome_find(first, &o))
		return false;
	if (is_log_line(line, first))
		return true;
	rest = span_trim(span_from(line, first.n));
	/* "SKIPPED [1] path:12: why" is no test. */
	if (!rest.n || (o == SWE_SKIPPED && is_count(word(rest), false)))
		return true;
	if (o != SWE_PASSED) {
		/* Some parsers take the reason for a part of the name, and lists have it so. */
		add(r, rest, o, true);
		rest = swe_name_before_message(rest);
	}
	/* Ids that hold blanks are listed whole by some, and up to the first blank by others. "PASSED [100%]" is a wrapped line: listed so. */
	if (is_count(word(rest), true) && span_find(rest, "::") < 0)
		rest = word(rest);
	add(r, rest, o, false);
	if (word(rest).n != span_trim(rest).n)
		add(r, word(rest), o, true);
	return true;
}

/* "path::name PASSED  [ 12%]", "path::name SKIPPED (why) [ 12%]", as -v says; also "[gw0] [ 12%] PASSED path::name". */
static void pytest_verbose(struct reader *r, struct span line)
{
	struct span rest = span_trim(line), w;
	enum swe_outcome o;
	long at;

	if (span_starts(rest, "[gw") && (at = span_find(rest, "%] ")) > 0) {
		pytest_summary(r, span_trim(span_from(rest, (size_t)at + 3)));
		return;
	}
	if (span_ends(rest, "%]")) {
		for (at = (long)rest.n - 1; at > 0 && rest.p[at] != '['; at--)
			;
		if (is_count(span_from(rest, (size_t)at), true))
			rest = span_trim(span_head(rest, (size_t)at));
	}
	w = last_word(rest);
	if (span_ends(rest, ")"))
		for (at = (long)rest.n - 1; at > 0; at--)
			if (rest.p[at] == '(' && rest.p[at - 1] == ' ' && swe_outcome_find(last_word(span_head(rest, (size_t)at)), &o)) {
				rest = span_trim(span_head(rest, (size_t)at));
				w = last_word(rest);
				break;
			}
	if (!w.n || w.p[0] < 'A' || w.p[0] > 'Z' || w.n == rest.n || !swe_outcome_find(w, &o) || span_find(rest, "::") <= 0)
		return;
	rest = without_tail(rest, w.n);
	at = span_find(rest, " <- ");
	if (at > 0)
		rest = span_head(rest, (size_t)at);
	add(r, rest, o, false);
	if (word(rest).n != rest.n)
		add(r, word(rest), o, true);
}

static void pytest_line(struct reader *r, struct span line)
{
	if (!pytest_summary(r, line))
		pytest_verbose(r, line);
}

/* ---- unittest and django ---- */

static const struct ending {
	const char *text;
	enum swe_outcome outcome;
	bool more; /* a reason follows */
} endings[] = {
	{ "ok", SWE_PASSED, false },		       { "OK", SWE_PASSED, false },
	{ "FAIL", SWE_FAILED, false },		       { "ERROR", SWE_ERROR, false },
	{ "expected failure", SWE_XFAIL, false },      { "unexpected success", SWE_XPASS, false },
	{ "skipped", SWE_SKIPPED, true },
};

static const struct ending *ending_of(struct span s)
{
	s = span_trim(s);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (span_is(s, endings[i].text) || (endings[i].more && span_starts(s, endings[i].text) && (s.p[strlen(endings[i].text)] == ' ')))
			return &endings[i];
	return NULL;
}

/* "name (dotted.name)" and nothing else. */
static bool is_title(struct span s)
{
	long at = span_find(s, " (");

	return at > 0 && span_ends(s, ")") && !memchr(s.p, ' ', (size_t)at) && !memchr(s.p + at + 2, ' ', s.n - (size_t)at - 2);
}

static void decide(struct reader *r, struct span id, enum swe_outcome o)
{
	add(r, id, o, false);
	/* Of a test with a docstring the reference lists the docstring only; it is found by both. */
	if (r->above.n)
		add(r, r->above, o, true);
	r->pending = r->above = SPAN_NONE;
}

/* "FAIL: test_x (m.C.test_x) (i=1)": the headline of a traceback; with a subtest it says something about the test as well. */
static bool headline(struct reader *r, struct span line)
{
	enum swe_outcome o = span_starts(line, "FAIL: ") ? SWE_FAILED : SWE_ERROR;
	struct span id;
	long at;

	if (o == SWE_ERROR && !span_starts(line, "ERROR: "))
		return false;
	id = span_trim(span_from(line, o == SWE_FAILED ? 6 : 7));
	add(r, id, o, false);
	at = span_find(id, ")");
	if (at > 0 && (size_t)at + 1 < id.n)
		add(r, span_head(id, (size_t)at + 1), o, false);
	return true;
}

static void unittest_line(struct reader *r, struct span line)
{
	const struct ending *end;
	struct span title = SPAN_NONE;
	long at;

	line = span_trim(line);
	if (headline(r, line))
		return;
	/* A migration's line may have no end of its own. */
	if (span_starts(line, "Applying ") && (at = span_find(line, "...test_")) >= 0)
		line = span_from(line, (size_t)at + 3);
	at = span_find(line, " ... ");
	if (at < 0 && span_ends(line, " ..."))
		at = (long)line.n - 4;
	if (at > 0) {
		struct span rest = span_from(line, (size_t)at + 4);
		long more;

		/* A docstring may hold dots as well: the last ones count when an outcome follows. */
		for (;;) {
			more = span_find(rest, " ... ");
			if (more < 0)
				break;
			rest = span_from(rest, (size_t)more + 4);
		}
		if (!is_title(r->above))
			r->above = SPAN_NONE;
		end = ending_of(rest);
		if (end && !end->more) {
			decide(r, span_head(line, (size_t)(rest.p - line.p) - 4), end->outcome);
			return;
		}
		end = ending_of(span_from(line, (size_t)at + 4));
		if (end)
			decide(r, span_head(line, (size_t)at), end->outcome);
		else
			r->pending = span_head(line, (size_t)at);
		return;
	}
	if (r->pending.n) {
		end = ending_of(line);
		/* Something was printed between the dots and the outcome. "OK" is how the whole run ends. */
		if (span_starts(line, "Ran ") || span_is(line, "OK"))
			r->pending = r->above = SPAN_NONE;
		else if (end)
			decide(r, r->pending, end->outcome);
		else if (span_starts(line, "ok") && line.n > 2 && !((line.p[2] | 32) >= 'a' && (line.p[2] | 32) <= 'z'))
			decide(r, r->pending, SWE_PASSED);
		return;
	}
	if (is_title(line))
		title = line;
	r->above = title;
}

/* ---- sympy ---- */

static const struct {
	const char *text;
	enum swe_outcome outcome;
} marks[] = {
	{ "ok", SWE_PASSED }, { "F", SWE_FAILED }, { "E", SWE_ERROR }, { "f", SWE_XFAIL }, { "X", SWE_XPASS },
	{ "s", SWE_SKIPPED }, { "w", SWE_SKIPPED }, { "K", SWE_ERROR }, { "T", SWE_ERROR },
};

static void sympy_line(struct reader *r, struct span line)
{
	struct span w, name;

	line = span_trim(line);
	/* "____ path.py:test_x ____": the headline of a traceback. */
	if (span_starts(line, "_") && span_ends(line, "_") && span_find(line, ".py:") > 0) {
		w = span_trim(line);
		while (w.n && w.p[0] == '_')
			w = span_from(w, 1);
		while (w.n && w.p[w.n - 1] == '_')
			w.n--;
		add(r, w, SWE_FAILED, false);
		return;
	}
	/* The last test of a file has the file's mark behind its own. */
	if (span_ends(line, "[OK]") || span_ends(line, "[FAIL]"))
		line = without_tail(line, last_word(line).n);
	name = span_starts(line, "test_") ? word(line) : SPAN_NONE;
	if (name.n)
		r->pending = name;
	else if (!r->pending.n)
		return;
	w = last_word(line);
	if (name.n && w.p == name.p)
		return;
	/* Without a name in front only a line that is nothing but a mark is one. */
	if (!name.n && w.n != line.n)
		return;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (span_is(w, marks[i].text)) {
			add(r, r->pending, marks[i].outcome, false);
			r->pending = SPAN_NONE;
			return;
		}
}

/* ---- all of them ---- */

static void (*const parsers[])(struct reader *, struct span) = {
	[SWE_PYTEST] = pytest_line, [SWE_PYTEST_OPTIONS] = pytest_line, [SWE_MATPLOTLIB] = pytest_line,
	[SWE_DJANGO] = unittest_line, [SWE_SYMPY] = sympy_line, [SWE_UNITTEST] = unittest_line,
};

/* Without colours: ESC [ ... letter. A line that has none is left where it is. */
static struct span plain(struct span line, struct arena *a)
{
	char *out;
	size_t n = 0;

	if (!line.n || !memchr(line.p, '\033', line.n))
		return line;
	out = arena_alloc(a, line.n + 1);
	for (size_t i = 0; i < line.n; i++) {
		if (line.p[i] != '\033') {
			out[n++] = line.p[i];
			continue;
		}
		if (i + 1 < line.n && line.p[i + 1] == '[')
			for (i += 2; i < line.n && (line.p[i] < '@' || line.p[i] > '~'); i++)
				;
	}
	return (struct span){ out, n };
}

void swe_log_parse(struct swe_log *l, enum swe_style style, const char *text, size_t len, const char *suffix, struct arena *a)
{
	struct reader r = { .l = l, .suffix = suffix, .a = a };
	struct span rest = { text, len }, line;

	*l = (struct swe_log){ .style = style, .text = { text, len } };
	while (span_line(&rest, &line))
		parsers[style](&r, plain(line, a));
}

bool swe_log_mentions(const struct swe_log *l, struct span word_)
{
	return word_.n && l->text.n && memmem(l->text.p, l->text.n, word_.p, word_.n);
}

void swe_log_done(struct swe_log *l)
{
	swe_map_done(&l->map);
}
