/* SPDX-License-Identifier: Apache-2.0 */
/* Base64: what decodes is what an encoder would have written. */
#include "fuzz.h"

#include "base/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *out = malloc(size / 4 * 3 + 1);
	char *back = malloc(BASE64_SIZE(size));
	size_t n = 0;

	MUST(out && back);
	if (base64_decode((const char *)data, size, out, &n) == 0) {
		MUST(n <= size / 4 * 3);
		base64_encode(out, n, back);
		MUST(strlen(back) == size && memcmp(back, data, size) == 0);
	}
	base64_encode(data, size, back);
	free(back);
	free(out);
	return 0;
}
