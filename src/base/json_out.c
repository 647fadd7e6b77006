/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that is written as it comes, into a buffer: for what is told thousands of times a second. */
#include "base/json_out.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static void begin(struct json_out *o, const char *name)
{
	if (o->more)
		buf_add(o->to, ",", 1);
	o->more = true;
	if (name) {
		buf_add(o->to, "\"", 1);
		buf_str(o->to, name);
		buf_add(o->to, "\":", 2);
	}
}

void json_out_open(struct json_out *o, const char *name, char bracket)
{
	begin(o, name);
	buf_add(o->to, &bracket, 1);
	o->more = false;
}

void json_out_close(struct json_out *o, char bracket)
{
	buf_add(o->to, &bracket, 1);
	o->more = true;
}

void json_out_raw(struct json_out *o, const char *name, const char *json)
{
	begin(o, name);
	buf_str(o->to, json);
}

void json_out_bool(struct json_out *o, const char *name, bool v)
{
	json_out_raw(o, name, v ? "true" : "false");
}

/* The digits of v, the last first; at least `least` of them. */
static size_t digits(uint64_t v, size_t least, char *end)
{
	size_t n = 0;

	while (v || n < least) {
		*--end = (char)('0' + v % 10);
		v /= 10;
		n++;
	}
	return n;
}

void json_out_int(struct json_out *o, const char *name, int64_t v)
{
	char text[24], *end = text + sizeof(text);
	size_t n = digits(v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 1, end);

	begin(o, name);
	if (v < 0)
		buf_add(o->to, "-", 1);
	buf_add(o->to, end - n, n);
}

void json_out_fixed(struct json_out *o, const char *name, uint64_t v, unsigned decimals)
{
	char text[24] = "", *end = text + sizeof(text);
	size_t n = digits(v, decimals + 1, end), whole = n - decimals;

	begin(o, name);
	buf_add(o->to, end - n, whole);
	buf_add(o->to, ".", 1);
	while (decimals > 1 && end[-1] == '0') {
		end--;
		decimals--;
	}
	buf_add(o->to, end - decimals, decimals);
}

/* How a character is written that may not stand for itself; NULL when it may. */
static const char *escape(unsigned char c, char room[8])
{
	static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";

	if (c >= 0x20 && c != '"' && c != '\\')
		return NULL;
	for (const char *s = shorts; *s; s += 2)
		if ((unsigned char)*s == c) {
			room[0] = '\\';
			room[1] = s[1];
			room[2] = '\0';
			return room;
		}
	snprintf(room, 8, "\\u%04X", c);
	return room;
}

bool json_out_text(struct json_out *o, const char *name, const char *data, size_t len)
{
	size_t from = 0; /* what has not been written begins there */
	bool good = true;
	char room[8];

	begin(o, name);
	buf_add(o->to, "\"", 1);
	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)data[i];
		size_t n = c < 0x80 ? 1 : utf8_len((const unsigned char *)data + i, len - i);
		const char *other = n ? escape(c, room) : "\xef\xbf\xbd";

		good = good && n;
		n = n ? n : 1;
		if (other) {
			buf_add(o->to, data + from, i - from);
			buf_str(o->to, other);
			from = i + n;
		}
		i += n;
	}
	if (len)
		buf_add(o->to, data + from, len - from);
	buf_add(o->to, "\"", 1);
	return good;
}

bool json_out_str(struct json_out *o, const char *name, const char *text)
{
	if (text)
		return json_out_text(o, name, text, strlen(text));
	json_out_raw(o, name, "null");
	return true;
}
