/* SPDX-License-Identifier: Apache-2.0 */
/* From an error to what one can do about it: looks up the table and fills in its words. */
#include "grade/advice.h"

#include <ctype.h>
#include <string.h>

#include "grade/advice_table.h"
#include "grade/near.h"

#define ROWS	    (sizeof(advice_rows) / sizeof(advice_rows[0]))
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define SUBJECT_MAX 1000
#define PIECE_MAX   60 /* characters of a foreign piece in a suggestion */

/* ---- which row ---- */

/*
 * A piece between two literals ends where the second is found first, and the last literal stands at the end: no backtracking, so that no message
 * takes long.
 */
bool advice_match(const char *pattern, struct span text, struct span kept[3])
{
	size_t count = 0;

	for (bool open = false, keep = false;;) {
		size_t n = strcspn(pattern, "*{");
		bool last = !pattern[n];
		long at = 0;

		if (open && last && n) {
			/* The last literal: at the end, whatever it may be found in before. */
			at = text.n >= n && memcmp(text.p + text.n - n, pattern, n) == 0 ? (long)(text.n - n) : -1;
		} else if (open && !last) {
			const char *found = n && text.n ? memmem(text.p, text.n, pattern, n) : NULL;

			at = n == 0 ? 0 : found ? (long)(found - text.p) : -1;
		} else if (open) {
			at = (long)text.n;
		} else if (text.n < n || (n && memcmp(text.p, pattern, n) != 0) || (last && text.n != n)) {
			at = -1;
		}
		if (at < 0)
			return false;
		if (keep && count < 3)
			kept[count++] = span_head(text, (size_t)at);
		if (last)
			return true;
		text = span_from(text, (size_t)at + n);
		keep = pattern[n] == '{';
		open = true;
		pattern += n + (keep ? 2 : 1);
	}
}

/* The class without its module. */
static struct span last_part(struct span type)
{
	for (size_t i = type.n; i > 0; i--)
		if (type.p[i - 1] == '.')
			return span_from(type, i);
	return type;
}

static bool in_list(const char *list, struct span word)
{
	while (*list) {
		size_t n = strcspn(list, "|");

		if (word.n == n && memcmp(word.p, list, n) == 0)
			return true;
		list += n + (list[n] == '|');
	}
	return false;
}

/* A case that ended by an exception is told by that; else by its reason. */
static bool when_fits(const char *when, const struct advice_in *in)
{
	if (in->type.n) {
		if (in_list(when, last_part(in->type)))
			return true;
		for (size_t i = 0; i < in->bases.n && i < 32; i++)
			if (in_list(when, span_of(in->bases.v[i])))
				return true;
		return false;
	}
	return in->reason && in_list(when, span_of(in->reason));
}

static bool row_fits(const struct advice_row *r, const struct advice_in *in, struct span kept[3])
{
	memset(kept, 0, 3 * sizeof(*kept));
	if (r->language && (!in->language || strcmp(r->language, in->language) != 0))
		return false;
	return when_fits(r->when, in) && (!r->pattern || advice_match(r->pattern, span_head(in->subject, SUBJECT_MAX), kept));
}

bool advice_row_at(size_t i, const char **when, const char **pattern, const char **say)
{
	if (i >= ROWS)
		return false;
	*when = advice_rows[i].when;
	*pattern = advice_rows[i].pattern;
	*say = advice_rows[i].say;
	return true;
}

/* ---- its words ---- */

/* Python says it itself: "Did you mean: 'total'?" */
static struct span said_near(struct span message)
{
	long at = span_find(message, "Did you mean: '"), end;

	if (at < 0)
		return SPAN_NONE;
	message = span_from(message, (size_t)at + 15);
	end = span_find(message, "'");
	return end > 0 ? span_head(message, (size_t)end) : SPAN_NONE;
}

static bool is_name(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("_$.", s[i]) && (unsigned char)s[i] < 0x80)
			return false;
	return n > 0 && n < 64;
}

static void add_all(struct arena *a, struct strlist *to, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		strlist_add(a, to, list[i]);
}

static const char *find_near(const struct advice_row *r, const struct advice_in *in, const char *word, struct arena *a)
{
	struct strlist names = { 0 };
	struct span said = said_near(in->subject);
	const char *near;

	if (r->pool == POOL_NONE)
		return NULL;
	if (said.n)
		return text_clean(a, said, PIECE_MAX);
	/* What the place itself knows is better than what stands somewhere in the source. */
	for (size_t i = 0; i < in->near.n && i < 64; i++)
		if (is_name(in->near.v[i]))
			strlist_add(a, &names, in->near.v[i]);
	near = names.n ? near_find(word, &names) : NULL;
	if (near || (names.n && r->pool != POOL_FUNCTIONS))
		return near ? near : names.v[0];
	if (r->pool == POOL_MODULES)
		add_all(a, &names, advice_modules, COUNT(advice_modules));
	if (r->pool == POOL_JS)
		add_all(a, &names, advice_js, COUNT(advice_js));
	if (r->pool == POOL_COMMANDS)
		add_all(a, &names, advice_commands, COUNT(advice_commands));
	if (r->pool == POOL_FUNCTIONS)
		add_all(a, &names, in->names.v, in->names.n);
	else if (r->pool != POOL_MODULES)
		near_collect(in->source, a, &names);
	return near_find(word, &names);
}

static const char *find_import(const char *word, struct arena *a)
{
	for (size_t i = 0; i < COUNT(advice_imports); i++)
		if (strcmp(advice_imports[i].name, word) == 0)
			return advice_imports[i].statement;
	for (size_t i = 0; i < COUNT(advice_modules); i++)
		if (strcmp(advice_modules[i], word) == 0)
			return arena_fmt(a, "import %s", word);
	return "";
}

static const char *join_names(const struct strlist *l, struct arena *a)
{
	auto_buf out = BUF_INIT(4096);

	for (size_t i = 0; i < l->n && i < 8; i++) {
		buf_str(&out, i ? ", " : "");
		text_add(&out, span_of(l->v[i]), 40);
	}
	if (l->n > 8)
		buf_fmt(&out, " and %zu more", l->n - 8);
	return arena_dup_len(a, out.data ? out.data : "", out.len);
}

enum { WORD_1, WORD_2, WORD_3, WORD_NEAR, WORD_IMPORT, WORD_NAMES, WORD_LINE, WORD_CODE, WORD_TYPE, WORD_FUNCTION, WORDS };
static const char *const word_names[WORDS] = { "1", "2", "3", "near", "import", "names", "line", "code", "type", "function" };

static void fill_words(const char *values[WORDS], const struct advice_row *r, const struct advice_in *in, const struct span kept[3], struct arena *a)
{
	size_t last = kept[2].n ? 2 : kept[1].n ? 1 : 0;
	struct span word = r->pool == POOL_FUNCTIONS ? in->function : kept[last];

	for (int i = 0; i < 3; i++)
		values[WORD_1 + i] = text_clean(a, kept[i], PIECE_MAX);
	/* A key that is a string: 'name'. */
	if (word.n > 2 && word.p[0] == '\'' && word.p[word.n - 1] == '\'')
		word = span_head(span_from(word, 1), word.n - 2);
	values[WORD_NEAR] = word.n && word.n < 64 ? find_near(r, in, text_clean(a, word, 64), a) : NULL;
	/* A source may hold bytes that are no text. */
	if (values[WORD_NEAR])
		values[WORD_NEAR] = text_clean(a, span_of(values[WORD_NEAR]), PIECE_MAX);
	values[WORD_IMPORT] = word.n && word.n < 64 ? find_import(text_clean(a, word, 64), a) : "";
	values[WORD_NAMES] = join_names(&in->names, a);
	values[WORD_LINE] = in->line > 0 ? arena_fmt(a, "%ld", in->line) : "";
	values[WORD_CODE] = text_clean(a, span_trim(in->code), 80);
	values[WORD_TYPE] = text_clean(a, in->type, PIECE_MAX);
	values[WORD_FUNCTION] = text_clean(a, in->function, PIECE_MAX);
	for (int i = 0; i < WORDS; i++)
		if (!values[i])
			values[i] = "";
}

/* A part of a template; false when a piece in it is missing. */
static bool fill(struct buf *out, struct span part, const char *const values[WORDS])
{
	bool whole = true;

	while (part.n) {
		const char *open = memchr(part.p, '{', part.n);
		size_t n = open ? (size_t)(open - part.p) : part.n;
		long close;

		buf_add(out, part.p, n);
		part = span_from(part, n);
		close = span_find(part, "}");
		if (close < 0) {
			buf_add(out, part.p, part.n);
			break;
		}
		size_t w = 0;
		while (w < WORDS && !span_is(span_head(span_from(part, 1), (size_t)close - 1), word_names[w]))
			w++;
		if (w == WORDS) {
			/* Not ours: ${x:-} */
			buf_add(out, part.p, (size_t)close + 1);
		} else {
			whole &= values[w][0] != '\0';
			buf_str(out, values[w]);
		}
		part = span_from(part, (size_t)close + 1);
	}
	return whole;
}

/* False when a piece outside of [ ] is missing. */
static bool fill_template(struct buf *out, const char *say, const char *const values[WORDS])
{
	struct span rest = span_of(say);

	while (rest.n) {
		long open = span_find(rest, "["), close = open < 0 ? -1 : span_find(rest, "]");
		size_t kept;

		if (!fill(out, close < 0 ? rest : span_head(rest, (size_t)open), values))
			return false;
		if (close < 0)
			break;
		kept = out->len;
		if (!fill(out, span_head(span_from(rest, (size_t)open + 1), (size_t)(close - open - 1)), values)) {
			out->len = kept;
			if (out->data)
				out->data[kept] = '\0';
		}
		rest = span_from(rest, (size_t)close + 1);
	}
	return true;
}

void advice_find(const struct advice_in *in, struct arena *a, struct advice *out)
{
	*out = (struct advice){ NULL, NULL };
	for (size_t i = 0; i < ROWS && !out->text; i++) {
		auto_buf text = BUF_INIT(8192);
		const char *values[WORDS];
		struct span kept[3];

		if (!row_fits(&advice_rows[i], in, kept))
			continue;
		fill_words(values, &advice_rows[i], in, kept, a);
		if (!fill_template(&text, advice_rows[i].say, values))
			continue;
		out->text = arena_dup_len(a, text.data ? text.data : "", text.len);
		out->key = arena_fmt(a, "%zu %s %s", i, values[WORD_NEAR], values[WORD_IMPORT]);
	}
}
