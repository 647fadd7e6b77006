/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 and its text. */
#include "store/digest.h"

void digest_of(const void *data, size_t len, uint8_t out[DIGEST_SIZE])
{
	struct digest d;

	digest_init(&d);
	digest_add(&d, data, len);
	digest_get(&d, out);
}

void digest_hex(const uint8_t *data, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*out++ = digits[data[i] >> 4];
		*out++ = digits[data[i] & 15];
	}
	*out = '\0';
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool digest_from_hex(const char *text, uint8_t *out, size_t len)
{
	for (size_t i = 0; i < len; i++, text += 2) {
		int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);

		if (low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return !*text;
}
