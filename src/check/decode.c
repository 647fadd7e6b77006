/* SPDX-License-Identifier: Apache-2.0 */
/* A text as its language reads it: Python's coding cookies (PEP 263) and line ends, NUL bytes. */
#include "check/decode.h"

#include <ctype.h>
#include <string.h>

/*
 * Theory of operation
 *
 * Python decodes a file by the comment "coding: NAME" of its first two lines before it reads any of it, and NAME may be a codec that makes other code of the
 * bytes (unicode_escape, utf-7). What is UTF-8, ASCII or a common 8-bit code is decoded here as well; of anything else it is told that the check cannot read it.
 * The cookie is looked for as CPython's tokenizer does (Parser/tokenizer.c: get_coding_spec, check_coding_spec, get_normal_name).
 *
 * Python ends a line at a carriage return too, which the grammar takes for a blank; bash passes NUL bytes over, and some Pythons end a line at them.
 */

enum coding { CODING_UTF8, CODING_LATIN1, CODING_LATIN9, CODING_CP1252, CODING_OTHER };

#define NAME_SIZE 40

/* ---- the name ---- */

/* As Python's own short cut has it: only the first 12 characters count. */
static enum coding normal_name(const char *name, size_t len)
{
	static const char *const latin1[] = { "latin-1", "iso-8859-1", "iso-latin-1" };
	char buf[13] = "";

	for (size_t i = 0; i < len && i < 12; i++)
		buf[i] = name[i] == '_' ? '-' : (char)tolower((unsigned char)name[i]);
	if (strcmp(buf, "utf-8") == 0 || strncmp(buf, "utf-8-", 6) == 0)
		return CODING_UTF8;
	for (size_t i = 0; i < sizeof(latin1) / sizeof(latin1[0]); i++) {
		size_t n = strlen(latin1[i]);

		if (strncmp(buf, latin1[i], n) == 0 && (!buf[n] || buf[n] == '-'))
			return CODING_LATIN1;
	}
	return CODING_OTHER;
}

/* As Python looks codecs up: small letters, and "_" for each run of others than letters, digits and dots. */
static void codec_name(const char *name, size_t len, char out[NAME_SIZE])
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < NAME_SIZE - 1; i++) {
		if (isalnum((unsigned char)name[i]) || name[i] == '.')
			out[n++] = (char)tolower((unsigned char)name[i]);
		else if (n && out[n - 1] != '_')
			out[n++] = '_';
	}
	out[n] = '\0';
}

static enum coding coding_of(const char *name, size_t len)
{
	/* ASCII is read as UTF-8: Python refuses what differs. */
	static const struct {
		const char *name;
		enum coding is;
	} rows[] = {
		{ "utf8", CODING_UTF8 },	 { "utf_8", CODING_UTF8 },	 { "u8", CODING_UTF8 },		 { "utf", CODING_UTF8 },
		{ "cp65001", CODING_UTF8 },	 { "utf8_ucs2", CODING_UTF8 },	 { "utf8_ucs4", CODING_UTF8 },	 { "ascii", CODING_UTF8 },
		{ "us_ascii", CODING_UTF8 },	 { "us", CODING_UTF8 },		 { "646", CODING_UTF8 },	 { "iso646_us", CODING_UTF8 },
		{ "cp367", CODING_UTF8 },	 { "ibm367", CODING_UTF8 },	 { "latin1", CODING_LATIN1 },	 { "latin", CODING_LATIN1 },
		{ "l1", CODING_LATIN1 },	 { "iso8859_1", CODING_LATIN1 }, { "iso8859", CODING_LATIN1 },	 { "8859", CODING_LATIN1 },
		{ "cp819", CODING_LATIN1 },	 { "ibm819", CODING_LATIN1 },	 { "iso8859_15", CODING_LATIN9 }, { "iso_8859_15", CODING_LATIN9 },
		{ "latin9", CODING_LATIN9 },	 { "l9", CODING_LATIN9 },	 { "cp1252", CODING_CP1252 },	 { "windows_1252", CODING_CP1252 },
		{ "1252", CODING_CP1252 },
	};
	enum coding c = normal_name(name, len);
	char codec[NAME_SIZE];

	codec_name(name, len, codec);
	for (size_t i = 0; c == CODING_OTHER && len < NAME_SIZE && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, codec) == 0)
			return rows[i].is;
	return c;
}

/* ---- the cookie ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\f';
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/* "coding" and ":" or "=", then a name, in a line that is a comment and nothing else. Its length, or 0. */
static size_t find_cookie(const char *line, size_t len, const char **name)
{
	size_t i = 0;

	while (i < len && is_blank(line[i]))
		i++;
	if (i == len || line[i] != '#')
		return 0;
	for (; i + 7 <= len; i++) {
		size_t from = i + 7, to;

		if (memcmp(line + i, "coding", 6) != 0 || (line[i + 6] != ':' && line[i + 6] != '='))
			continue;
		while (from < len && (line[from] == ' ' || line[from] == '\t'))
			from++;
		for (to = from; to < len && is_name(line[to]);)
			to++;
		if (to > from) {
			*name = line + from;
			return to - from;
		}
	}
	return 0;
}

/* A line that keeps the next one from having a cookie. */
static bool has_code(const char *line, size_t len)
{
	for (size_t i = 0; i < len && line[i] != '#'; i++)
		if (!is_blank(line[i]))
			return true;
	return false;
}

static size_t line_len(const char *p, size_t len)
{
	size_t n = 0;

	while (n < len && p[n] != '\n' && p[n] != '\r')
		n++;
	return n;
}

static size_t cookie_of(const char *text, size_t len, int lines, const char **name)
{
	for (size_t at = 0; lines-- && at < len;) {
		size_t n = line_len(text + at, len - at), found = find_cookie(text + at, n, name);

		if (found || (lines == 1 && has_code(text + at, n)))
			return found;
		at += n;
		at += at + 1 < len && text[at] == '\r' && text[at + 1] == '\n' ? 2 : 1;
	}
	return 0;
}

/* ---- the characters ---- */

static unsigned char_of(enum coding c, unsigned char b)
{
	static const uint16_t cp1252[32] = { 0x20ac, 0xfffd, 0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0xfffd, 0x17d, 0xfffd,
					     0xfffd, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0xfffd, 0x17e, 0x178 };
	static const struct {
		uint8_t from;
		uint16_t to;
	} latin9[] = { { 0xa4, 0x20ac }, { 0xa6, 0x160 }, { 0xa8, 0x161 }, { 0xb4, 0x17d }, { 0xb8, 0x17e }, { 0xbc, 0x152 }, { 0xbd, 0x153 }, { 0xbe, 0x178 } };

	if (c == CODING_CP1252 && b >= 0x80 && b < 0xa0)
		return cp1252[b - 0x80];
	for (size_t i = 0; c == CODING_LATIN9 && i < sizeof(latin9) / sizeof(latin9[0]); i++)
		if (latin9[i].from == b)
			return latin9[i].to;
	return b;
}

static size_t put_utf8(char *out, unsigned c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | c >> 12);
	out[1] = (char)(0x80 | (c >> 6 & 0x3f));
	out[2] = (char)(0x80 | (c & 0x3f));
	return 3;
}

/* In UTF-8, with line feeds where Python ends a line. */
static void rewrite(struct decoded *d, enum coding c, struct arena *a)
{
	const char *in = d->text;
	size_t len = d->len, n = 0;
	char *out;

	if (c == CODING_UTF8 && !memchr(in, '\r', len))
		return;
	out = arena_alloc(a, (c == CODING_UTF8 ? len : len * 3) + 1);
	for (size_t i = 0; i < len; i++) {
		if (in[i] == '\r' && (i + 1 == len || in[i + 1] != '\n'))
			out[n++] = '\n';
		else if (c == CODING_UTF8)
			out[n++] = in[i];
		else
			n += put_utf8(out + n, char_of(c, (unsigned char)in[i]));
	}
	d->text = out;
	d->len = n;
}

static void cannot_read(struct decoded *d, const char *why, const char *at, size_t len)
{
	if (d->why)
		return;
	d->why = why;
	d->at = (uint32_t)(at - d->text);
	d->end = d->at + (uint32_t)len;
}

static void decode_python(struct decoded *d, bool is_file, struct arena *a)
{
	bool marked = d->len >= 3 && memcmp(d->text, "\xef\xbb\xbf", 3) == 0;
	size_t skip = marked ? 3 : 0, n;
	const char *name = NULL;
	enum coding c = CODING_UTF8;

	/* Without its first line, lines 2 and 3 are those that count; line 2 is one of them either way. */
	n = cookie_of(d->text + skip, d->len - skip, 2, &name);
	if (!n && is_file) {
		size_t first = line_len(d->text, d->len);

		n = first < d->len ? cookie_of(d->text + first + 1, d->len - first - 1, 2, &name) : 0;
	}
	if (n)
		c = coding_of(name, n);
	if (c == CODING_OTHER || (marked && c != CODING_UTF8)) {
		cannot_read(d, marked ? "its first bytes say that it is UTF-8, and its coding comment says something else: the check cannot read it as Python does"
				      : "the check cannot read text in this encoding, and Python does: use UTF-8", name, n);
		c = CODING_UTF8;
	}
	if (!d->why)
		rewrite(d, c, a);
}

struct decoded decode_text(enum check_language l, const char *text, size_t len, bool is_file, struct arena *a)
{
	struct decoded d = { .text = text, .len = len };
	const char *nul = l == CHECK_JAVASCRIPT || !len ? NULL : memchr(text, '\0', len);

	if (nul)
		cannot_read(&d, "a NUL byte: what the language makes of the text around it was not checked", nul, 1);
	if (l == CHECK_PYTHON)
		decode_python(&d, is_file, a);
	return d;
}
