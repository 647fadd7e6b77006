/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign text that is shown: borrowed pieces of it, and the one way in which it gets into our own lines. */
#include "grade/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

struct span span_of(const char *text)
{
	return (struct span){ text, text ? strlen(text) : 0 };
}

bool span_is(struct span s, const char *word)
{
	return s.n == strlen(word) && (s.n == 0 || memcmp(s.p, word, s.n) == 0);
}

bool span_same(struct span a, struct span b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool span_starts(struct span s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.n >= n && (n == 0 || memcmp(s.p, prefix, n) == 0);
}

bool span_ends(struct span s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.n >= n && (n == 0 || memcmp(s.p + s.n - n, suffix, n) == 0);
}

long span_find(struct span s, const char *word)
{
	const char *at = s.n ? memmem(s.p, s.n, word, strlen(word)) : NULL;

	return at ? (long)(at - s.p) : -1;
}

struct span span_from(struct span s, size_t at)
{
	return at >= s.n ? SPAN_NONE : (struct span){ s.p + at, s.n - at };
}

struct span span_head(struct span s, size_t len)
{
	return (struct span){ s.p, s.n < len ? s.n : len };
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct span span_trim(struct span s)
{
	while (s.n && is_space(s.p[0]))
		s.p++, s.n--;
	while (s.n && is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

bool span_line(struct span *rest, struct span *line)
{
	const char *end;

	if (!rest->n)
		return false;
	end = memchr(rest->p, '\n', rest->n);
	*line = span_head(*rest, end ? (size_t)(end - rest->p) : rest->n);
	*rest = span_from(*rest, line->n + 1);
	if (span_ends(*line, "\r"))
		line->n--;
	return true;
}

long span_number(struct span s, size_t *len)
{
	long value = 0;
	size_t i = 0;

	while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') {
		if (i == 9)
			return 0;
		value = value * 10 + (s.p[i++] - '0');
	}
	if (len)
		*len = i;
	return value;
}

/* The code point of a valid character. */
static uint32_t code_point(const unsigned char *p, size_t len)
{
	uint32_t c = len == 1 ? p[0] : p[0] & (0x7fU >> len);

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* Ranges of what nobody sees, or what moves other text: controls, C1, soft hyphen, directions, joiners, variation selectors, tags. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0, 0x1f },	     { 0x7f, 0x9f },	  { 0xad, 0xad },	 { 0x61c, 0x61c },	  { 0x115f, 0x1160 },
	{ 0x180b, 0x180f },  { 0x200b, 0x200f },  { 0x2028, 0x202e },	 { 0x2060, 0x206f },	  { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f },  { 0xfeff, 0xfeff },  { 0xffa0, 0xffa0 },	 { 0xfff9, 0xfffb },	  { 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff },
};

static bool is_hidden(uint32_t c)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return true;
	return false;
}

static void add_escape(struct buf *out, uint32_t c)
{
	static const char letters[] = "tn\0\0r";

	if (c >= '\t' && c <= '\r' && letters[c - '\t'])
		buf_fmt(out, "\\%c", letters[c - '\t']);
	else
		buf_fmt(out, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

/* Bytes of the character at s; *valid when it is one. */
static size_t step(struct span s, bool *valid)
{
	size_t n = utf8_len((const unsigned char *)s.p, s.n);

	*valid = n > 0;
	return n ? n : 1;
}

uint32_t text_code(struct span s)
{
	size_t n = s.n ? utf8_len((const unsigned char *)s.p, s.n) : 0;

	return n ? code_point((const unsigned char *)s.p, n) : 0;
}

size_t text_chars(struct span s)
{
	size_t count = 0;
	bool valid;

	for (; s.n; count++)
		s = span_from(s, step(s, &valid));
	return count;
}

size_t text_bytes(struct span s, size_t chars)
{
	struct span rest = s;
	bool valid;

	for (; rest.n && chars; chars--)
		rest = span_from(rest, step(rest, &valid));
	return s.n - rest.n;
}

void text_add(struct buf *out, struct span s, size_t max)
{
	struct span rest = s;

	for (size_t i = 0; rest.n && i < max; i++) {
		bool valid;
		size_t n = step(rest, &valid);
		uint32_t c = valid ? code_point((const unsigned char *)rest.p, n) : 0;

		if (!valid)
			buf_fmt(out, "\\x%02x", (unsigned char)rest.p[0]);
		else if (is_hidden(c))
			add_escape(out, c);
		else
			buf_add(out, rest.p, n);
		rest = span_from(rest, n);
	}
	if (rest.n)
		buf_fmt(out, "… [%zu more]", text_chars(rest));
}

const char *text_clean(struct arena *a, struct span s, size_t max)
{
	auto_buf out = BUF_INIT(max * 10 + 64);

	text_add(&out, s, max);
	return arena_dup_len(a, out.data ? out.data : "", out.len);
}
