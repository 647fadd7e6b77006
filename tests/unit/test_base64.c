/* SPDX-License-Identifier: Apache-2.0 */
/* base64 and UTF-8: strict, and back again. */
#include "unit.h"

#include "base/base64.h"
#include "base/utf8.h"

TEST(strict)
{
	static const struct {
		const char *text, *bytes;
		size_t len; /* SIZE_MAX: refused */
	} rows[] = {
		{ "", "", 0 }, { "QQ==", "A", 1 }, { "QUI=", "AB", 2 }, { "QUJD", "ABC", 3 }, { "QUJDRA==", "ABCD", 4 }, { "AAA=", "\0\0", 2 },
		{ "+/+/", "\xfb\xff\xbf", 3 }, { "/w==", "\xff", 1 },
		{ "Q", NULL, SIZE_MAX }, { "QU", NULL, SIZE_MAX }, { "QUJ", NULL, SIZE_MAX }, { "=", NULL, SIZE_MAX }, { "====", NULL, SIZE_MAX },
		{ "Q===", NULL, SIZE_MAX }, { "QQ==QQ==", NULL, SIZE_MAX }, { "QQ=A", NULL, SIZE_MAX }, { "=QQQ", NULL, SIZE_MAX },
		{ "QUI=\n\n\n\n", NULL, SIZE_MAX }, { "    QUJD", NULL, SIZE_MAX }, { "QUJD\n", NULL, SIZE_MAX }, { "QU D", NULL, SIZE_MAX },
		{ "QU-_", NULL, SIZE_MAX }, { "QU\xc3\xa9", NULL, SIZE_MAX }, { "----", NULL, SIZE_MAX },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char out[64];
		size_t n = 0;
		int rc = base64_decode(rows[i].text, strlen(rows[i].text), out, &n);

		ROW_OK(rc == (rows[i].len == SIZE_MAX ? -1 : 0), "'%s'", rows[i].text);
		if (rc == 0) {
			ROW_OK(n == rows[i].len && memcmp(out, rows[i].bytes, n) == 0, "'%s'", rows[i].text);
		}
	}
}

TEST(characters)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{ "a", 1 }, { "\xc2\x80", 2 }, { "\xdf\xbf", 2 }, { "\xe0\xa0\x80", 3 }, { "\xed\x9f\xbf", 3 }, { "\xee\x80\x80", 3 },
		{ "\xf0\x90\x80\x80", 4 }, { "\xf4\x8f\xbf\xbf", 4 },
		{ "\x80", 0 }, { "\xc0\x80", 0 }, { "\xc1\xbf", 0 }, { "\xc2", 0 }, { "\xc2z", 0 }, { "\xe0\x80\x80", 0 }, { "\xe0\x9f\xbf", 0 },
		{ "\xed\xa0\x80", 0 }, { "\xed\xbf\xbf", 0 }, { "\xf0\x80\x80\x80", 0 }, { "\xf0\x8f\xbf\xbf", 0 }, { "\xf4\x90\x80\x80", 0 },
		{ "\xf5\x80\x80\x80", 0 }, { "\xff", 0 }, { "\xe2\x82", 0 }, { "\xf0\x9f\x98", 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		ROW_OK(utf8_len((const unsigned char *)rows[i].bytes, strlen(rows[i].bytes)) == rows[i].len, "row %zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(strict), cmocka_unit_test(characters) };

	return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
