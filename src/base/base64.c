/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648, with padding), strict. */
#include "base/base64.h"

#include <stdint.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *data, size_t len, char *out)
{
	const unsigned char *p = data;

	for (; len >= 3; len -= 3, p += 3) {
		*out++ = digits[p[0] >> 2];
		*out++ = digits[(p[0] & 3) << 4 | p[1] >> 4];
		*out++ = digits[(p[1] & 15) << 2 | p[2] >> 6];
		*out++ = digits[p[2] & 63];
	}
	if (len) {
		unsigned char second = len == 2 ? p[1] : 0;

		*out++ = digits[p[0] >> 2];
		*out++ = digits[(p[0] & 3) << 4 | second >> 4];
		*out++ = len == 2 ? digits[(second & 15) << 2] : '=';
		*out++ = '=';
	}
	*out = '\0';
}

static int value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int base64_decode(const char *text, size_t len, void *out, size_t *out_len)
{
	unsigned char *o = out;
	size_t pad = 0;

	if (len % 4)
		return -1;
	while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
		pad++;
	for (size_t i = 0; i < len; i += 4) {
		size_t n = i + 4 == len ? 4 - pad : 4; /* digits in this group */
		uint32_t v = 0;

		for (size_t k = 0; k < 4; k++) {
			int d = k < n ? value(text[i + k]) : 0;

			if (d < 0)
				return -1;
			v = v << 6 | (uint32_t)d;
		}
		/* Bits that no byte uses must be zero, or two texts would mean the same bytes. */
		if ((n == 2 && v & 0xffff) || (n == 3 && v & 0xff))
			return -1;
		*o++ = (unsigned char)(v >> 16);
		if (n > 2)
			*o++ = (unsigned char)(v >> 8);
		if (n > 3)
			*o++ = (unsigned char)v;
	}
	*out_len = (size_t)(o - (unsigned char *)out);
	return 0;
}
