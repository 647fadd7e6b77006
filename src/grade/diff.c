/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between an expected value and the one that came. */
#include "grade/diff.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grade/literal.h"

#define SHOWN 60 /* characters of a value in a line */
#define SHORT 48 /* strings up to here are shown whole */
#define AROUND 16 /* characters before and after the first that differs */

struct walk {
	struct arena *arena;
	struct diff *out;
	struct buf path;
	bool strict; /* types of equal values too */
};

/* ---- lines ---- */

static void add_line(struct walk *w, struct buf *line)
{
	if (w->out->lines.n < DIFF_LINES_MAX)
		strlist_add(w->arena, &w->out->lines, arena_dup_len(w->arena, line->data ? line->data : "", line->len));
	else
		w->out->more++;
	buf_done(line);
}

static struct buf begin_line(struct walk *w)
{
	struct buf line = BUF_INIT(8192);

	if (w->path.len)
		buf_fmt(&line, "%s: ", w->path.data);
	return line;
}

/* Adds to the path; the answer takes it off again. */
static size_t enter(struct walk *w, const char *before, struct span name, const char *after)
{
	size_t len = w->path.len;

	buf_str(&w->path, before);
	text_add(&w->path, name, 40);
	buf_str(&w->path, after);
	return len;
}

static size_t enter_index(struct walk *w, size_t i)
{
	size_t len = w->path.len;

	buf_fmt(&w->path, "[%zu]", i);
	return len;
}

static void leave(struct walk *w, size_t len)
{
	w->path.len = len;
	w->path.failed = false;
	if (w->path.data)
		w->path.data[len] = '\0';
}

/* Missing or extra: there is nothing on the other side. */
static void add_one_side(struct walk *w, const char *what, struct span value)
{
	struct buf line = begin_line(w);

	buf_fmt(&line, "%s ", what);
	text_add(&line, value, SHOWN);
	add_line(w, &line);
}

/* ---- text ---- */

static bool same_but(struct span a, struct span b, bool spaces, bool letters)
{
	size_t i = 0, k = 0;

	for (;;) {
		while (spaces && i < a.n && isspace((unsigned char)a.p[i]))
			i++;
		while (spaces && k < b.n && isspace((unsigned char)b.p[k]))
			k++;
		if (i == a.n || k == b.n)
			return i == a.n && k == b.n;
		if (letters ? tolower((unsigned char)a.p[i]) != tolower((unsigned char)b.p[k]) : a.p[i] != b.p[k])
			return false;
		i++, k++;
	}
}

/* Bytes that both begin with, cut between characters. */
static size_t common(struct span a, struct span b)
{
	size_t n = 0;

	while (n < a.n && n < b.n && a.p[n] == b.p[n])
		n++;
	while (n && n < a.n && ((unsigned char)a.p[n] & 0xc0) == 0x80)
		n--;
	while (n && n < b.n && ((unsigned char)b.p[n] & 0xc0) == 0x80)
		n--;
	return n;
}

/* The first characters that differ by their numbers, where one of them is not ASCII: it may look like the other. */
static void add_look_alike(struct buf *line, struct span a, struct span b)
{
	size_t at = common(a, b);
	uint32_t ca = text_code(span_from(a, at)), cb = text_code(span_from(b, at));

	if (ca && cb && (ca >= 0x80 || cb >= 0x80))
		buf_fmt(line, " (U+%04X expected, U+%04X came)", ca, cb);
}

static void add_note(struct buf *line, struct span a, struct span b)
{
	if (same_but(a, b, true, false))
		buf_str(line, " (only white space differs)");
	else if (same_but(a, b, false, true))
		buf_str(line, " (only upper and lower case differ)");
	else
		add_look_alike(line, a, b);
}

/* A window around byte `at`, with marks where it was cut. */
static void add_window(struct buf *line, struct span s, size_t at)
{
	size_t from = at;

	for (size_t i = 0; from && i < AROUND;)
		if (((unsigned char)s.p[--from] & 0xc0) != 0x80)
			i++;
	struct span rest = span_from(s, from), shown = span_head(rest, text_bytes(rest, AROUND * 2));
	buf_fmt(line, "%s'", from ? "…" : "");
	text_add(line, shown, AROUND * 2);
	buf_fmt(line, "'%s", shown.n < rest.n ? "…" : "");
}

static void quote(struct buf *line, struct span s)
{
	buf_str(line, "'");
	text_add(line, s, SHORT);
	buf_str(line, "'");
}

/* Two texts without line ends that matter. */
static void diff_string(struct walk *w, struct span e, struct span g, const char *unit)
{
	struct buf line = begin_line(w);
	size_t ec = text_chars(e), gc = text_chars(g), at;

	if (ec <= SHORT && gc <= SHORT) {
		buf_str(&line, "expected ");
		quote(&line, e);
		buf_str(&line, ", got ");
		quote(&line, g);
		add_note(&line, e, g);
		add_line(w, &line);
		return;
	}
	at = common(e, g);
	buf_fmt(&line, "differs from %s %zu on: expected ", unit, text_chars(span_head(e, at)) + 1);
	add_window(&line, e, at);
	buf_str(&line, ", got ");
	add_window(&line, g, at);
	if (ec != gc)
		buf_fmt(&line, " (%zu %ss expected, %zu came)", ec, unit, gc);
	add_note(&line, e, g);
	add_line(w, &line);
}

static size_t count_lines(struct span s)
{
	struct span line;
	size_t n = 0;

	while (span_line(&s, &line))
		n++;
	return n;
}

static void diff_lines(struct walk *w, struct span e, struct span g)
{
	size_t en = count_lines(e), gn = count_lines(g), before = w->out->lines.n + w->out->more, len;
	struct span el, gl, er = e, gr = g;
	char number[32];

	for (size_t i = 1;; i++) {
		bool he = span_line(&er, &el), hg = span_line(&gr, &gl);

		if ((!he && !hg) || w->out->more > 1000)
			break;
		if (he && hg && span_same(el, gl))
			continue;
		snprintf(number, sizeof(number), "%sline %zu", w->path.len ? " " : "", i);
		len = enter(w, number, SPAN_NONE, "");
		if (he && hg)
			diff_string(w, el, gl, "character");
		else if (i == (he ? gn : en) + 1)
			add_one_side(w, he ? "missing" : "extra", he ? el : gl);
		leave(w, len);
	}
	if (en != gn) {
		struct buf line = begin_line(w);

		buf_fmt(&line, "%zu line%s expected, %zu came", en, en == 1 ? "" : "s", gn);
		add_line(w, &line);
	}
	if (w->out->lines.n + w->out->more == before && !span_same(e, g)) {
		struct buf line = begin_line(w);

		buf_str(&line, span_ends(e, "\n") != span_ends(g, "\n") ? span_ends(e, "\n") ? "the line end after the last line is missing" :
			"there is a line end after the last line that is not expected" : "line ends differ (\\r\\n and \\n)");
		add_line(w, &line);
	}
}

static void diff_texts(struct walk *w, struct span e, struct span g, const char *unit)
{
	if (memchr(e.n ? e.p : "", '\n', e.n) && memchr(g.n ? g.p : "", '\n', g.n))
		diff_lines(w, e, g);
	else
		diff_string(w, e, g, unit);
}

/* ---- values ---- */

static void walk(struct walk *w, const struct lit *e, const struct lit *g);

static bool is_sequence(const struct lit *l)
{
	return l->kind == LIT_LIST || l->kind == LIT_TUPLE;
}

static bool is_set(const struct lit *l)
{
	return l->kind == LIT_SET || l->kind == LIT_FROZENSET;
}

static void add_typed(struct buf *line, const struct lit *l)
{
	text_add(line, l->src, SHOWN);
	if (l->kind != LIT_NONE && l->kind != LIT_CALL) {
		buf_str(line, " (");
		text_add(line, literal_type(l), 40);
		buf_str(line, ")");
	}
}

static void diff_types(struct walk *w, const struct lit *e, const struct lit *g)
{
	struct buf line = begin_line(w);

	buf_str(&line, "expected ");
	add_typed(&line, e);
	buf_str(&line, ", got ");
	add_typed(&line, g);
	add_line(w, &line);
}

static void diff_numbers(struct walk *w, const struct lit *e, const struct lit *g)
{
	struct buf line = begin_line(w);
	double off = fabs(e->number - g->number);

	/* Of long ones the place counts, which may be their last digit. */
	if (e->src.n > SHOWN || g->src.n > SHOWN) {
		buf_done(&line);
		diff_string(w, e->src, g->src, "digit");
		return;
	}
	buf_str(&line, "expected ");
	text_add(&line, e->src, SHOWN);
	buf_str(&line, ", got ");
	text_add(&line, g->src, SHOWN);
	if ((e->kind == LIT_FLOAT || g->kind == LIT_FLOAT) && off > 0 && off < fabs(e->number) * 1e-6)
		buf_fmt(&line, " (off by %.2g)", off);
	add_line(w, &line);
}

/* The same items in another order. */
static bool same_bag(struct walk *w, const struct lit *e, const struct lit *g)
{
	size_t *eo, *go, same = 0;

	if (e->n != g->n || e->n < 2 || e->cut || g->cut)
		return false;
	while (same < e->n && literal_equal(e->items[same], g->items[same], false))
		same++;
	if (same == e->n)
		return false;
	eo = literal_order(e, w->arena);
	go = literal_order(g, w->arena);
	for (size_t i = 0; i < e->n; i++)
		if (e->items[eo[i]]->hash != g->items[go[i]]->hash)
			return false;
	return true;
}

static void walk_item(struct walk *w, const struct lit *e, const struct lit *g, size_t i)
{
	size_t len = enter_index(w, i);

	walk(w, e->items[i], g->items[i]);
	leave(w, len);
}

static void diff_length(struct walk *w, const struct lit *e, const struct lit *g)
{
	const struct lit *more = e->n > g->n ? e : g;
	size_t less = e->n < g->n ? e->n : g->n, by = more->n - less, head = 0, tail = 0, len;
	struct buf line = begin_line(w);

	buf_fmt(&line, "length: expected %zu, got %zu", e->n, g->n);
	add_line(w, &line);
	while (head < less && literal_equal(e->items[head], g->items[head], w->strict))
		head++;
	while (tail < less - head && literal_equal(e->items[e->n - 1 - tail], g->items[g->n - 1 - tail], w->strict))
		tail++;
	/* All of the shorter one is in the longer: only what stands between is told. */
	if (head + tail == less) {
		for (size_t i = head; i < head + by; i++) {
			len = enter_index(w, i);
			add_one_side(w, more == e ? "missing" : "extra", more->items[i]->src);
			leave(w, len);
		}
		return;
	}
	for (size_t i = head; i < less; i++)
		walk_item(w, e, g, i);
	for (size_t i = less; i < more->n; i++) {
		len = enter_index(w, i);
		add_one_side(w, more == e ? "missing" : "extra", more->items[i]->src);
		leave(w, len);
	}
}

static void diff_sequences(struct walk *w, const struct lit *e, const struct lit *g)
{
	size_t less = e->n < g->n ? e->n : g->n;

	if (e->n != g->n && !(e->n < g->n ? e->cut : g->cut)) {
		diff_length(w, e, g);
		return;
	}
	if (same_bag(w, e, g)) {
		struct buf line = begin_line(w);

		buf_str(&line, "the same elements in another order");
		add_line(w, &line);
	}
	for (size_t i = 0; i < less; i++)
		walk_item(w, e, g, i);
}

static void diff_sets(struct walk *w, const struct lit *e, const struct lit *g)
{
	size_t *eo = literal_order(e, w->arena), *go = literal_order(g, w->arena);

	for (size_t i = 0; i < e->n && !g->cut; i++)
		if (literal_lookup(g, go, e->items[i]) < 0)
			add_one_side(w, "missing", e->items[i]->src);
	for (size_t i = 0; i < g->n && !e->cut; i++)
		if (literal_lookup(e, eo, g->items[i]) < 0)
			add_one_side(w, "extra", g->items[i]->src);
}

static void diff_dicts(struct walk *w, const struct lit *e, const struct lit *g)
{
	size_t *eo = literal_order(e, w->arena), *go = literal_order(g, w->arena);

	for (size_t i = 0; i < e->n; i++) {
		long k = literal_lookup(g, go, e->keys[i]);
		size_t len = enter(w, "[", e->keys[i]->src, "]");

		if (k >= 0)
			walk(w, e->items[i], g->items[k]);
		else if (!g->cut)
			add_one_side(w, "missing, expected", e->items[i]->src);
		leave(w, len);
	}
	for (size_t i = 0; i < g->n && !e->cut; i++)
		if (literal_lookup(e, eo, g->keys[i]) < 0) {
			size_t len = enter(w, "[", g->keys[i]->src, "]");

			add_one_side(w, "extra", g->items[i]->src);
			leave(w, len);
		}
}

static bool same_key(const struct lit *a, const struct lit *b)
{
	return a && b ? span_same(a->src, b->src) : a == b;
}

/* Point(x=1, y=2): argument by argument where they have the same names. */
static void diff_calls(struct walk *w, const struct lit *e, const struct lit *g)
{
	bool alike = span_same(e->value, g->value) && (e->n == g->n || e->cut || g->cut);
	size_t less = e->n < g->n ? e->n : g->n;

	for (size_t i = 0; i < less && alike; i++)
		alike = same_key(e->keys[i], g->keys[i]);
	if (!alike) {
		diff_types(w, e, g);
		return;
	}
	for (size_t i = 0; i < less; i++) {
		size_t len = w->path.len;

		if (e->keys[i])
			enter(w, ".", e->keys[i]->src, "");
		else if (e->n > 1)
			buf_fmt(&w->path, "(%zu)", i);
		walk(w, e->items[i], g->items[i]);
		leave(w, len);
	}
}

static void walk_same_kind(struct walk *w, const struct lit *e, const struct lit *g)
{
	if (is_sequence(e)) {
		diff_sequences(w, e, g);
	} else if (is_set(e)) {
		diff_sets(w, e, g);
	} else if (e->kind == LIT_DICT) {
		diff_dicts(w, e, g);
	} else if (e->kind == LIT_CALL) {
		diff_calls(w, e, g);
	} else if (e->kind == LIT_STR) {
		diff_texts(w, e->value, g->value, "character");
	} else if (e->kind == LIT_BYTES) {
		diff_texts(w, e->value, g->value, "byte");
	} else {
		diff_numbers(w, e, g);
	}
}

static void walk(struct walk *w, const struct lit *e, const struct lit *g)
{
	/* Past the lines that are shown, a count is enough, and that need not be exact. */
	if (w->out->more > 1000 || literal_equal(e, g, w->strict))
		return;
	if (e->kind == g->kind) {
		walk_same_kind(w, e, g);
	} else if (literal_is_number(e) && literal_is_number(g) && !w->strict) {
		/* True and 2: the values differ, and so do the types. */
		if (e->kind == LIT_BOOL || g->kind == LIT_BOOL)
			diff_types(w, e, g);
		else
			diff_numbers(w, e, g);
	} else if ((is_sequence(e) && is_sequence(g)) || (is_set(e) && is_set(g))) {
		struct buf line = begin_line(w);
		size_t before = w->out->lines.n + w->out->more;

		buf_fmt(&line, "expected a %s, got a %s", literal_type(e).p, literal_type(g).p);
		add_line(w, &line);
		walk_same_kind(w, e, g);
		if (w->out->lines.n + w->out->more == before + 1 && w->out->lines.n == before + 1) {
			const char **last = &w->out->lines.v[before];

			*last = arena_fmt(w->arena, "%s with the same elements", *last);
		}
	} else {
		diff_types(w, e, g);
	}
}

void diff_values(struct span expected, struct span got, struct arena *a, struct diff *out)
{
	struct walk w = { a, out, BUF_INIT(2048), false };
	struct lit *e = literal_parse(expected, a), *g = literal_parse(got, a);

	*out = (struct diff){ 0 };
	if (!e || !g) {
		if (!span_same(expected, got))
			diff_texts(&w, expected, got, "character");
	} else {
		walk(&w, e, g);
		w.strict = true;
		if (!out->lines.n)
			walk(&w, e, g);
	}
	if (!out->lines.n)
		strlist_add(a, &out->lines, (e && e->cut) || (g && g->cut) ? "no difference in the part that is shown" :
			e && g && !span_same(expected, got) ? arena_fmt(a, "expected %s, got %s: equal as numbers, but not the same value", text_clean(a, expected, SHOWN), text_clean(a, got, SHOWN)) :
			"both are written the same way: nan, or objects that compare as they like");
	buf_done(&w.path);
}

void diff_output(struct span expected, struct span got, struct arena *a, struct diff *out)
{
	struct walk w = { a, out, BUF_INIT(2048), false };

	*out = (struct diff){ 0 };
	/* What nobody will read is not looked at either. */
	if (!span_same(expected, got))
		diff_lines(&w, span_head(expected, 1 << 20), span_head(got, 1 << 20));
	buf_done(&w.path);
}
