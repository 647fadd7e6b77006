/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a JSON object as they are written: for values that only somebody else can read. */
#include "base/field.h"

#include <string.h>

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

/* Behind a string's last quote; NULL: it has none. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		if (*p == '\\' && p + 1 < end)
			p++;
		else if (*p == '"')
			return p + 1;
	}
	return NULL;
}

/* Behind a value. Brackets are only counted: whoever uses the value parses it. */
static const char *skip_value(const char *p, const char *end)
{
	size_t depth = 0;

	do {
		p = skip_space(p, end);
		if (p >= end)
			return NULL;
		if (*p == '"') {
			p = skip_string(p, end);
			if (!p)
				return NULL;
		} else if (*p == '[' || *p == '{') {
			depth++;
			p++;
		} else if (*p == ']' || *p == '}') {
			if (!depth--)
				return NULL;
			p++;
		} else if (*p == ',' || *p == ':') {
			if (!depth)
				return NULL;
			p++;
		} else {
			size_t n = 0;

			while (p + n < end && p[n] && !strchr(",:]}[{\" \t\r\n", p[n]))
				n++;
			/* A zero byte is no part of any value. */
			if (!n)
				return NULL;
			p += n;
		}
	} while (depth);
	return p;
}

bool field_find(const char *line, size_t len, const char *key, const char **at, size_t *n)
{
	const char *end = line + len, *p = skip_space(line, end);
	size_t key_len = strlen(key);

	if (p >= end || *p++ != '{')
		return false;
	for (;;) {
		const char *name, *value;

		p = skip_space(p, end);
		if (p >= end || *p != '"')
			return false;
		name = p + 1;
		p = skip_string(p, end);
		if (!p)
			return false;
		bool match = (size_t)(p - 1 - name) == key_len && memcmp(name, key, key_len) == 0;
		p = skip_space(p, end);
		if (p >= end || *p++ != ':')
			return false;
		value = skip_space(p, end);
		p = skip_value(value, end);
		if (!p)
			return false;
		if (match) {
			*at = value;
			*n = (size_t)(p - value);
			return true;
		}
		p = skip_space(p, end);
		if (p >= end || *p++ != ',')
			return false;
	}
}

bool field_is_blank(const char *text, size_t len)
{
	return skip_space(text, text + len) == text + len;
}
