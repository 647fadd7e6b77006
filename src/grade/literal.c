/* SPDX-License-Identifier: Apache-2.0 */
/* Values as Python writes them (repr), read into a small tree. */
#include "grade/literal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const char *p, *end;
	struct arena *arena;
	unsigned depth, nodes;
	bool cut; /* the text ended too early; everything that is still open is cut */
};

static struct lit *parse_value(struct parser *s);

/* ---- small steps ---- */

static uint64_t mix(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3U;
	return h;
}

static struct span left(const struct parser *s)
{
	return (struct span){ s->p, (size_t)(s->end - s->p) };
}

static void skip_space(struct parser *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
		s->p++;
}

/* The text ends here, or whoever shortened it said so. */
static bool at_cut(struct parser *s)
{
	skip_space(s);
	if (s->p == s->end || span_starts(left(s), "...") || span_starts(left(s), "…")) {
		s->cut = true;
		s->p = s->end;
		return true;
	}
	return false;
}

static bool take(struct parser *s, char c)
{
	skip_space(s);
	if (s->p == s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

static struct lit *node(struct parser *s, enum lit_kind kind)
{
	struct lit *l;

	if (++s->nodes > LITERAL_NODES_MAX)
		return NULL;
	l = arena_alloc(s->arena, sizeof(*l));
	l->kind = kind;
	l->src.p = s->p;
	return l;
}

static struct lit *finish(struct parser *s, struct lit *l)
{
	l->src.n = (size_t)(s->p - l->src.p);
	return l;
}

static void add_item(struct parser *s, struct lit *l, struct lit *key, struct lit *item)
{
	/* Powers of two: full when there is but one bit. */
	if (l->n == 0 || (l->n >= 4 && (l->n & (l->n - 1)) == 0)) {
		size_t cap = l->n ? l->n * 2 : 4;
		struct lit **v = arena_alloc(s->arena, cap * sizeof(void *)), **k = arena_alloc(s->arena, cap * sizeof(void *));

		for (size_t i = 0; i < l->n; i++)
			v[i] = l->items[i], k[i] = l->keys[i];
		l->items = v;
		l->keys = k;
	}
	l->items[l->n] = item;
	l->keys[l->n++] = key;
}

/* ---- numbers ---- */

static size_t number_length(struct span s)
{
	size_t n = s.n && (s.p[0] == '-' || s.p[0] == '+');
	bool digits = false, prefix = false;

	if (n + 1 < s.n && s.p[n] == '0' && strchr("xXoObB", s.p[n + 1]))
		prefix = true, n += 2;
	if (n == s.n || !(prefix || isdigit((unsigned char)s.p[n]) || s.p[n] == '.'))
		return 0;
	for (; n < s.n && !span_starts(span_from(s, n), "..."); n++) {
		char c = s.p[n];

		if (isdigit((unsigned char)c) || (prefix && isxdigit((unsigned char)c)))
			digits = true;
		else if (!prefix && (c == '+' || c == '-') && n && (s.p[n - 1] == 'e' || s.p[n - 1] == 'E'))
			continue;
		else if (c != '_' && (prefix || (c != '.' && c != 'e' && c != 'E')))
			break;
	}
	return digits ? n : 0;
}

/* Decimal digits without underscores and leading zeros, so that equal ints are equal text. */
static struct span int_digits(struct parser *s, struct span t)
{
	char *out = arena_alloc(s->arena, t.n + 24), *end;
	size_t n = 0, i = 0;
	bool minus = t.n && t.p[0] == '-';

	if (t.n && (t.p[0] == '-' || t.p[0] == '+'))
		i++;
	if (i + 1 < t.n && t.p[i] == '0' && isalpha((unsigned char)t.p[i + 1])) {
		int c = tolower((unsigned char)t.p[i + 1]);
		unsigned long long value;

		for (size_t k = i + 2; k < t.n; k++)
			if (t.p[k] != '_')
				out[n++] = t.p[k];
		out[n] = '\0';
		value = strtoull(out, &end, c == 'x' ? 16 : c == 'o' ? 8 : 2);
		if (*end || value == ~0ULL)
			return t;
		n = (size_t)snprintf(out, 24, "%s%llu", minus && value ? "-" : "", value);
		return (struct span){ out, n };
	}
	while (i + 1 < t.n && (t.p[i] == '0' || t.p[i] == '_'))
		i++;
	if (minus && !(i + 1 == t.n && t.p[i] == '0'))
		out[n++] = '-';
	for (; i < t.n; i++)
		if (t.p[i] != '_')
			out[n++] = t.p[i];
	return (struct span){ out, n };
}

static struct lit *parse_number(struct parser *s)
{
	struct lit *l = node(s, LIT_INT);
	struct span t = left(s);
	size_t n = number_length(t);
	char *copy, *end;

	if (!l || !n)
		return NULL;
	s->p += n;
	t = span_head(t, n);
	copy = arena_alloc(s->arena, n + 1);
	for (size_t i = 0, k = 0; i < n; i++)
		if (t.p[i] != '_')
			copy[k++] = t.p[i];
	if (memchr(t.p, '.', n) || (!(n > 1 && memchr(t.p, 'x', n)) && (memchr(t.p, 'e', n) || memchr(t.p, 'E', n)))) {
		l->kind = LIT_FLOAT;
		l->number = strtod(copy, &end);
		/* "1e" of "1e5" may stand at a cut. */
		if (*end && (s->p < s->end || s->depth <= 1))
			return NULL;
	} else {
		l->value = int_digits(s, t);
		l->number = strtod(arena_dup_len(s->arena, l->value.p, l->value.n), NULL);
	}
	/* 2j, 1+2j */
	if (s->p < s->end && (*s->p == '+' || *s->p == '-')) {
		size_t more = number_length(left(s));

		if (more && s->p + more < s->end && s->p[more] == 'j')
			s->p += more;
	}
	if (s->p < s->end && *s->p == 'j') {
		s->p++;
		l->kind = LIT_COMPLEX;
		l->value = (struct span){ l->src.p, (size_t)(s->p - l->src.p) };
	}
	/* The last digits may be missing. */
	if (s->p == s->end && s->depth > 1)
		s->cut = l->cut = true;
	else if (span_is(left(s), "...") || span_is(left(s), "…"))
		l->cut = true;
	return finish(s, l);
}

/* ---- strings ---- */

static void put_utf8(struct buf *out, uint32_t c)
{
	char b[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	b[0] = (char)(n == 1 ? c : (0xf00U >> n) | c >> 6 * (n - 1));
	for (size_t i = 1; i < n; i++)
		b[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
	buf_add(out, b, n);
}

/* Of \xNN, \uNNNN, \UNNNNNNNN; false when the digits are not there. */
static bool take_hex(struct parser *s, size_t digits, uint32_t *out)
{
	uint32_t value = 0;

	for (size_t i = 0; i < digits; i++) {
		if (s->p == s->end || !isxdigit((unsigned char)*s->p))
			return false;
		value = value << 4 | (uint32_t)(isdigit((unsigned char)*s->p) ? *s->p - '0' : (*s->p | 0x20) - 'a' + 10);
		s->p++;
	}
	*out = value;
	return true;
}

static void take_escape(struct parser *s, bool bytes, struct buf *out)
{
	static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
	const char *at;
	uint32_t value = 0;
	char c;

	if (s->p == s->end)
		return;
	c = *s->p++;
	if (c && (at = strchr(from, c))) {
		buf_add(out, &to[at - from], 1);
	} else if (c == '\n') {
		return;
	} else if (c >= '0' && c <= '7') {
		value = (uint32_t)(c - '0');
		for (int i = 0; i < 2 && s->p < s->end && *s->p >= '0' && *s->p <= '7'; i++)
			value = value * 8 + (uint32_t)(*s->p++ - '0');
		goto put;
	} else if (c == 'x' || (!bytes && (c == 'u' || c == 'U'))) {
		const char *start = s->p;

		if (take_hex(s, c == 'x' ? 2 : c == 'u' ? 4 : 8, &value) && value <= 0x10ffff)
			goto put;
		s->p = start;
		buf_add(out, (char[]){ '\\', c }, 2);
	} else {
		buf_add(out, (char[]){ '\\', c }, 2);
	}
	return;
put:
	if (bytes) {
		c = (char)value;
		buf_add(out, &c, 1);
	} else {
		put_utf8(out, value);
	}
}

/* What a string begins with: its prefix letters and the quote. 0: it is none. */
static size_t string_begins(struct span s, bool *bytes, bool *raw)
{
	size_t n = 0;

	*bytes = *raw = false;
	for (; n < 2 && n < s.n && strchr("bBrRuU", s.p[n]) && s.p[n]; n++) {
		*bytes |= s.p[n] == 'b' || s.p[n] == 'B';
		*raw |= s.p[n] == 'r' || s.p[n] == 'R';
	}
	return n < s.n && (s.p[n] == '\'' || s.p[n] == '"') ? n + 1 : 0;
}

static struct lit *parse_string(struct parser *s)
{
	bool bytes, raw;
	struct lit *l = node(s, LIT_STR);
	size_t n = string_begins(left(s), &bytes, &raw), quotes = 1;
	auto_buf text = BUF_INIT(LITERAL_TEXT_MAX * 2);
	char quote, triple[4] = "";

	if (!l || !n)
		return NULL;
	l->kind = bytes ? LIT_BYTES : LIT_STR;
	quote = s->p[n - 1];
	memset(triple, quote, 3);
	s->p += n;
	if (s->end - s->p >= 2 && s->p[0] == quote && s->p[1] == quote) {
		quotes = 3;
		s->p += 2;
	}
	for (;;) {
		if (s->p == s->end) {
			s->cut = l->cut = true;
			break;
		}
		if (span_starts(left(s), quotes == 3 ? triple : triple + 2)) {
			s->p += quotes;
			break;
		}
		if (*s->p == '\\' && !raw) {
			s->p++;
			take_escape(s, bytes, &text);
		} else {
			buf_add(&text, s->p++, 1);
		}
	}
	l->value = (struct span){ arena_dup_len(s->arena, text.data ? text.data : "", text.len), text.len };
	/* A mark of who cut it is no part of it. */
	if (l->cut && span_ends(l->value, "..."))
		l->value.n -= 3;
	else if (l->cut && span_ends(l->value, "…"))
		l->value.n -= strlen("…");
	return finish(s, l);
}

/* ---- containers ---- */

/* Items up to `close`; "a: b" where `pairs` allows it, which makes a set a dict. */
static struct lit *parse_items(struct parser *s, struct lit *l, char close, bool pairs)
{
	bool comma = false;

	for (;;) {
		struct lit *first, *second = NULL;

		if (take(s, close))
			break;
		if (at_cut(s)) {
			l->cut = true;
			return finish(s, l);
		}
		if (l->n && !comma)
			return NULL;
		first = parse_value(s);
		if (!first)
			return NULL;
		if (pairs && take(s, ':')) {
			if (l->n && l->kind != LIT_DICT)
				return NULL;
			l->kind = LIT_DICT;
			if (!at_cut(s)) {
				second = parse_value(s);
				if (!second)
					return NULL;
			}
		} else if (l->kind == LIT_DICT && !s->cut) {
			return NULL;
		}
		/* A pair of which half is missing says nothing. */
		if (l->kind != LIT_DICT)
			add_item(s, l, NULL, first);
		else if (second)
			add_item(s, l, first, second);
		if (s->cut) {
			l->cut = true;
			return finish(s, l);
		}
		comma = take(s, ',');
		if (!comma && l->kind == LIT_TUPLE && l->n == 1 && take(s, close)) {
			/* Just brackets around a value, as complex numbers have them. */
			struct lit *inner = l->items[0];

			inner->src = (struct span){ l->src.p, (size_t)(s->p - l->src.p) };
			return inner;
		}
	}
	return finish(s, l);
}

static struct lit *parse_braces(struct parser *s)
{
	struct lit *l = node(s, LIT_SET);

	if (!l)
		return NULL;
	s->p++;
	l = parse_items(s, l, '}', true);
	/* "{'a": a set or a dict. */
	if (l && l->cut && l->kind == LIT_SET && l->n <= 1)
		l->kind = LIT_OTHER;
	else if (l && l->n == 0)
		l->kind = LIT_DICT;
	return l;
}

static struct lit *parse_sequence(struct parser *s)
{
	struct lit *l = node(s, *s->p == '[' ? LIT_LIST : LIT_TUPLE);
	char close = *s->p == '[' ? ']' : ')';

	if (!l)
		return NULL;
	s->p++;
	return parse_items(s, l, close, false);
}

/* <module 'x' from '…'>: to the bracket that closes it. */
static struct lit *parse_angle(struct parser *s)
{
	struct lit *l = node(s, LIT_OTHER);
	unsigned open = 0;

	if (!l)
		return NULL;
	for (; s->p < s->end; s->p++) {
		open += *s->p == '<';
		if (*s->p == '>' && --open == 0) {
			s->p++;
			return finish(s, l);
		}
	}
	s->cut = l->cut = true;
	return finish(s, l);
}

static size_t word_length(struct span s)
{
	size_t n = 0;

	while (n < s.n && (isalnum((unsigned char)s.p[n]) || s.p[n] == '_' || s.p[n] == '.' || (unsigned char)s.p[n] >= 0x80) &&
	       !span_starts(span_from(s, n), "...") && !span_starts(span_from(s, n), "…"))
		n++;
	return n;
}

/* name(a, b, key=c) */
static struct lit *parse_arguments(struct parser *s, struct lit *l)
{
	bool comma = true;

	for (;;) {
		struct lit *key = NULL, *value;
		size_t n;

		if (take(s, ')'))
			return finish(s, l);
		if (at_cut(s)) {
			l->cut = true;
			return finish(s, l);
		}
		if (!comma)
			return NULL;
		n = word_length(left(s));
		if (n && s->p + n < s->end && s->p[n] == '=') {
			key = node(s, LIT_OTHER);
			if (!key)
				return NULL;
			s->p += n;
			key = finish(s, key);
			s->p++;
			if (at_cut(s)) {
				l->cut = true;
				return finish(s, l);
			}
		}
		value = parse_value(s);
		if (!value)
			return NULL;
		add_item(s, l, key, value);
		if (s->cut) {
			l->cut = true;
			return finish(s, l);
		}
		comma = take(s, ',');
	}
}

static const struct {
	const char *word;
	enum lit_kind kind;
	double number;
} words[] = {
	{ "None", LIT_NONE, 0 }, { "True", LIT_BOOL, 1 }, { "False", LIT_BOOL, 0 }, { "inf", LIT_FLOAT, HUGE_VAL },
	{ "-inf", LIT_FLOAT, -HUGE_VAL }, { "nan", LIT_FLOAT, NAN },
};

static struct lit *parse_word(struct parser *s)
{
	struct lit *l = node(s, LIT_OTHER);
	bool minus = *s->p == '-';
	size_t n = minus + word_length(span_from(left(s), minus));

	if (!l || n == minus)
		return NULL;
	l->value = span_head(left(s), n);
	s->p += n;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (span_is(l->value, words[i].word)) {
			l->kind = words[i].kind;
			l->number = words[i].number;
			return finish(s, l);
		}
	if (minus)
		return NULL;
	if (s->p < s->end && *s->p == '(') {
		l->kind = LIT_CALL;
		s->p++;
		l = parse_arguments(s, l);
		if (l && (span_is(l->value, "set") || span_is(l->value, "frozenset")) && l->n <= 1 && (!l->n || !l->keys[0])) {
			struct lit *inner = l->n ? l->items[0] : NULL;

			l->kind = span_is(l->value, "set") ? LIT_SET : LIT_FROZENSET;
			l->items = inner ? inner->items : NULL;
			l->keys = inner ? inner->keys : NULL;
			l->n = inner ? inner->n : 0;
			l->cut |= inner && inner->cut;
			if (inner && inner->kind != LIT_SET && inner->kind != LIT_LIST && inner->kind != LIT_TUPLE)
				return NULL;
		}
		return l;
	}
	/* "Tru" of "True". */
	if (s->p == s->end && s->depth > 1)
		s->cut = l->cut = true;
	else if (span_is(left(s), "...") || span_is(left(s), "…"))
		l->cut = true;
	return finish(s, l);
}

/* ---- the value ---- */

static uint64_t hash_of(const struct lit *l)
{
	uint64_t h = 0xcbf29ce484222325U, sum = 0;
	unsigned char kind = (unsigned char)l->kind;
	double number = l->number == 0 ? 0 : isnan(l->number) ? (double)NAN : l->number;

	switch (l->kind) {
	case LIT_BOOL:
	case LIT_INT:
	case LIT_FLOAT:
		return mix(h, &number, sizeof(number));
	case LIT_NONE:
		return mix(h, &kind, 1);
	case LIT_FROZENSET:
		kind = LIT_SET;
		/* fall through */
	case LIT_SET:
	case LIT_DICT:
		for (size_t i = 0; i < l->n; i++)
			sum += l->items[i]->hash * 31 + (l->keys[i] ? l->keys[i]->hash : 0);
		h = mix(h, &sum, sizeof(sum));
		return mix(h, &kind, 1);
	case LIT_LIST:
	case LIT_TUPLE:
	case LIT_CALL:
		for (size_t i = 0; i < l->n; i++)
			h = mix(h, &l->items[i]->hash, sizeof(l->items[i]->hash));
		/* fall through */
	default:
		h = l->kind == LIT_OTHER ? mix(h, l->src.p, l->src.n) : mix(h, l->value.p, l->value.n);
		return mix(h, &kind, 1);
	}
}

static struct lit *parse_value(struct parser *s)
{
	struct lit *l = NULL;
	bool bytes, raw;

	skip_space(s);
	if (s->p == s->end || ++s->depth > LITERAL_DEPTH_MAX)
		return NULL;
	if (*s->p == '[' || *s->p == '(')
		l = parse_sequence(s);
	else if (*s->p == '{')
		l = parse_braces(s);
	else if (*s->p == '<')
		l = parse_angle(s);
	else if (string_begins(left(s), &bytes, &raw))
		l = parse_string(s);
	else if (number_length(left(s)))
		l = parse_number(s);
	else
		l = parse_word(s);
	s->depth--;
	if (l)
		l->hash = hash_of(l);
	return l;
}

struct lit *literal_parse(struct span text, struct arena *a)
{
	struct parser s = { text.p, text.p + text.n, a, 0, 0, false };
	struct lit *l;

	if (!text.n || text.n > LITERAL_TEXT_MAX)
		return NULL;
	l = parse_value(&s);
	if (!l)
		return NULL;
	skip_space(&s);
	return s.p == s.end || at_cut(&s) ? l : NULL;
}

/* ---- comparing ---- */

bool literal_is_number(const struct lit *l)
{
	return l->kind == LIT_BOOL || l->kind == LIT_INT || l->kind == LIT_FLOAT;
}

struct span literal_type(const struct lit *l)
{
	static const char *const names[LIT_KINDS] = { "None", "bool", "int", "float", "complex", "str", "bytes", "list", "tuple", "dict", "set",
						      "frozenset", "", "object" };

	return l->kind == LIT_CALL ? l->value : span_of(names[l->kind]);
}

static int by_hash(const void *a, const void *b, void *ctx)
{
	const struct lit *l = ctx;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	uint64_t x = (l->keys[i] ? l->keys[i] : l->items[i])->hash, y = (l->keys[k] ? l->keys[k] : l->items[k])->hash;

	return x < y ? -1 : x > y ? 1 : i < k ? -1 : i > k;
}

static void sort_order(const struct lit *l, size_t *order)
{
	for (size_t i = 0; i < l->n; i++)
		order[i] = i;
	if (l->n > 1)
		qsort_r(order, l->n, sizeof(*order), by_hash, (void *)l);
}

size_t *literal_order(const struct lit *l, struct arena *a)
{
	size_t *order = arena_alloc(a, (l->n + 1) * sizeof(*order));

	sort_order(l, order);
	return order;
}

long literal_lookup(const struct lit *in, const size_t *order, const struct lit *key)
{
	size_t low = 0, high = in->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if ((in->keys[order[mid]] ? in->keys[order[mid]] : in->items[order[mid]])->hash < key->hash)
			low = mid + 1;
		else
			high = mid;
	}
	/* Equal hashes of values that differ are rare, and somebody may have made them: a few are looked at. */
	for (size_t tries = 0; low < in->n && tries < 16; low++, tries++) {
		const struct lit *k = in->keys[order[low]] ? in->keys[order[low]] : in->items[order[low]];

		if (k->hash != key->hash)
			break;
		if (literal_equal(k, key, false))
			return (long)order[low];
	}
	return -1;
}

static bool is_set(const struct lit *l)
{
	return l->kind == LIT_SET || l->kind == LIT_FROZENSET;
}

/* Every item of a is in b. Both have no items twice (or somebody wrote {1, 1}, which no repr does). */
static bool all_in(const struct lit *a, const struct lit *b, bool strict)
{
	size_t few[8], *order = few;
	struct arena arena = { 0 };
	bool in = true;

	if (b->n <= sizeof(few) / sizeof(few[0]))
		sort_order(b, few);
	else
		order = literal_order(b, &arena);

	for (size_t i = 0; i < a->n && in; i++) {
		long k = literal_lookup(b, order, a->keys[i] ? a->keys[i] : a->items[i]);

		/* Without keys the look-up has compared the items: doing it twice at each level would double with each level. */
		in = k >= 0 && ((!a->keys[i] && !strict) || literal_equal(a->items[i], b->items[k], strict));
	}
	arena_free(&arena);
	return in;
}

static bool prefix_equal(struct span a, struct span b)
{
	return a.n <= b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static bool equal_numbers(const struct lit *a, const struct lit *b)
{
	if (a->kind == LIT_INT && b->kind == LIT_INT)
		return span_same(a->value, b->value);
	return a->number == b->number || (isnan(a->number) && isnan(b->number));
}

static bool equal_items(const struct lit *a, const struct lit *b, bool strict)
{
	size_t n = a->n < b->n ? a->n : b->n;

	if ((a->n != b->n) && !(a->n < b->n ? a->cut : b->cut))
		return false;
	for (size_t i = 0; i < n; i++) {
		if ((a->keys[i] == NULL) != (b->keys[i] == NULL) || (a->keys[i] && !literal_equal(a->keys[i], b->keys[i], strict)))
			return false;
		if (!literal_equal(a->items[i], b->items[i], strict))
			return false;
	}
	return true;
}

bool literal_equal(const struct lit *a, const struct lit *b, bool strict)
{
	bool cut = a->cut || b->cut;

	if (literal_is_number(a) && literal_is_number(b))
		return cut || ((!strict || a->kind == b->kind) && equal_numbers(a, b));
	if (!strict && is_set(a) && is_set(b))
		return cut || (a->n == b->n && all_in(a, b, strict));
	if (a->kind != b->kind)
		return cut && (a->kind == LIT_OTHER || b->kind == LIT_OTHER);
	switch (a->kind) {
	case LIT_STR:
	case LIT_BYTES:
		return span_same(a->value, b->value) || (a->cut && prefix_equal(a->value, b->value)) || (b->cut && prefix_equal(b->value, a->value));
	case LIT_SET:
	case LIT_FROZENSET:
	case LIT_DICT:
		return cut || (a->n == b->n && all_in(a, b, strict));
	case LIT_CALL:
		return span_same(a->value, b->value) && equal_items(a, b, strict);
	case LIT_LIST:
	case LIT_TUPLE:
		return equal_items(a, b, strict);
	case LIT_NONE:
		return true;
	default:
		return cut || span_same(a->kind == LIT_COMPLEX ? a->value : a->src, b->kind == LIT_COMPLEX ? b->value : b->src);
	}
}
