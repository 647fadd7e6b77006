/* SPDX-License-Identifier: Apache-2.0 */
/* What a terminal gets to see: nothing that steers it but colours, and the same however the bytes are split. */
#include "fuzz.h"

#include "base/utf8.h"
#include "run/output.h"

static void check(const char *p, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = utf8_len((const unsigned char *)p + i, len - i);

		MUST(n); /* all of it is UTF-8 */
		if (p[i] == 033) {
			MUST(i + 1 < len && p[i + 1] == '[');
			for (i += 2; i < len && ((p[i] >= '0' && p[i] <= '9') || p[i] == ';'); i++)
				;
			MUST(i < len && p[i] == 'm');
			i++;
			continue;
		}
		MUST(n > 1 || p[i] >= ' ' || p[i] == '\n' || p[i] == '\t');
		MUST(p[i] != 0x7f);
		MUST(!(n == 2 && (unsigned char)p[i] == 0xc2 && (unsigned char)p[i + 1] < 0xa0));
		MUST(!(n == 3 && memcmp(p + i, "\xe2\x80\xae", 3) == 0));
		i += n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct escaper one = { 0 }, two = { 0 };
	auto_buf whole = BUF_INIT(size * 4 + 256);
	auto_buf parts = BUF_INIT(size * 4 + 256);
	size_t cut = size ? data[0] % size : 0;

	output_escape(&one, (const char *)data, size, &whole);
	output_escape(&two, (const char *)data, cut, &parts);
	output_escape(&two, (const char *)data + cut, size - cut, &parts);
	MUST(!whole.failed && !parts.failed && whole.len == parts.len);
	MUST(!whole.len || memcmp(whole.data, parts.data, whole.len) == 0);
	check(whole.data, whole.len);
	return 0;
}
