/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical JSON, written. */
#include "store/canon.h"

#include <string.h>

#include "base/utf8.h"

static void sep(struct canon *c)
{
	if (!c->first)
		buf_add(c->out, ",", 1);
	c->first = false;
}

void canon_key(struct canon *c, const char *key)
{
	sep(c);
	if (!key)
		return;
	buf_add(c->out, "\"", 1);
	buf_str(c->out, key);
	buf_add(c->out, "\":", 2);
}

void canon_open(struct canon *c, const char *key)
{
	canon_key(c, key);
	buf_add(c->out, "{", 1);
	c->first = true;
}

void canon_close(struct canon *c)
{
	buf_add(c->out, "}", 1);
	c->first = false;
}

void canon_list(struct canon *c, const char *key)
{
	canon_key(c, key);
	buf_add(c->out, "[", 1);
	c->first = true;
}

void canon_end_list(struct canon *c)
{
	buf_add(c->out, "]", 1);
	c->first = false;
}

/* As jansson writes them, so that a text can be made again from what it means. */
static void escape(struct buf *out, unsigned char ch)
{
	static const char *const names[] = {
		['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t", ['"'] = "\\\"", ['\\'] = "\\\\"
	};

	if (ch < sizeof(names) / sizeof(names[0]) && names[ch])
		buf_add(out, names[ch], 2);
	else
		buf_fmt(out, "\\u%04X", ch);
}

void canon_clean(const char *text, size_t max, char *out)
{
	size_t len = strlen(text), n;

	for (size_t i = 0; i < len; i += n ? n : 1) {
		n = utf8_len((const unsigned char *)text + i, len - i);
		if (i + (n ? n : 1) > max)
			break;
		memcpy(out, n ? text + i : "\xef\xbf\xbd", n ? n : 3);
		out += n ? n : 3;
	}
	*out = '\0';
}

void canon_text(struct canon *c, const char *key, const char *text, size_t len, size_t max)
{
	size_t plain = 0, i = 0;

	canon_key(c, key);
	buf_add(c->out, "\"", 1);
	while (i < len) {
		unsigned char ch = (unsigned char)text[i];
		size_t n = ch < 0x80 ? 1 : utf8_len((const unsigned char *)text + i, len - i);

		if (i + (n ? n : 1) > max)
			break;
		if (n && ch >= ' ' && ch != '"' && ch != '\\') {
			i += n;
			continue;
		}
		buf_add(c->out, text + plain, i - plain);
		if (n)
			escape(c->out, ch);
		else
			buf_str(c->out, "\xef\xbf\xbd");
		plain = ++i;
	}
	buf_add(c->out, text + plain, i - plain);
	buf_add(c->out, "\"", 1);
}

void canon_str(struct canon *c, const char *key, const char *text)
{
	if (text)
		canon_text(c, key, text, strlen(text), SIZE_MAX);
	else
		canon_null(c, key);
}

void canon_int(struct canon *c, const char *key, int64_t v)
{
	char text[24], *at = text + sizeof(text);
	uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	/* A receipt has thirty of them: printf would be a tenth of its cost. */
	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (v < 0)
		*--at = '-';
	canon_key(c, key);
	buf_add(c->out, at, (size_t)(text + sizeof(text) - at));
}

void canon_bool(struct canon *c, const char *key, bool v)
{
	canon_key(c, key);
	buf_str(c->out, v ? "true" : "false");
}

void canon_null(struct canon *c, const char *key)
{
	canon_key(c, key);
	buf_str(c->out, "null");
}

void canon_hex(struct canon *c, const char *key, const uint8_t *data, size_t len)
{
	char text[DIGEST_HEX];

	digest_hex(data, len < DIGEST_SIZE ? len : DIGEST_SIZE, text);
	canon_str(c, key, text);
}
