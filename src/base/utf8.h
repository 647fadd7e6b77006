/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8, strict: overlong forms, surrogates and what lies past U+10FFFF are not characters. */
#ifndef BELLJAR_BASE_UTF8_H
#define BELLJAR_BASE_UTF8_H

#include <stddef.h>

/* Bytes that a character beginning with `lead` has: 1 to 4; 0 when nothing begins so. */
static inline size_t utf8_need(unsigned char lead)
{
	return lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}

/* Length of the valid character at p, 0 when it is none. */
static inline size_t utf8_len(const unsigned char *p, size_t left)
{
	size_t n = left ? utf8_need(p[0]) : 0;

	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

#endif
