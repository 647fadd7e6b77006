/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that is written as it comes: the very text, and back again. */
#include "unit.h"

#include <jansson.h>

#include "base/json_out.h"

TEST(whole)
{
	auto_buf b = BUF_INIT(4096);
	struct json_out o = { .to = &b };

	json_out_open(&o, NULL, '{');
	json_out_int(&o, "a", INT64_MIN);
	json_out_open(&o, "l", '[');
	json_out_close(&o, ']');
	json_out_open(&o, "m", '[');
	json_out_int(&o, NULL, 0);
	json_out_open(&o, NULL, '{');
	json_out_bool(&o, "t", true);
	json_out_bool(&o, "f", false);
	json_out_close(&o, '}');
	json_out_raw(&o, NULL, "[1]");
	json_out_close(&o, ']');
	json_out_str(&o, "n", NULL);
	json_out_str(&o, "s", "x");
	json_out_int(&o, "z", INT64_MAX);
	json_out_close(&o, '}');
	assert_string_equal(b.data,
			    "{\"a\":-9223372036854775808,\"l\":[],\"m\":[0,{\"t\":true,\"f\":false},[1]],\"n\":null,\"s\":\"x\",\"z\":9223372036854775807}");
}

TEST(fixed)
{
	static const struct {
		uint64_t v;
		unsigned decimals;
		const char *text;
	} rows[] = {
		{ 0, 6, "0.0" }, { 1, 6, "0.000001" }, { 10, 6, "0.00001" }, { 500000, 6, "0.5" }, { 1000000, 6, "1.0" }, { 1234567, 6, "1.234567" },
		{ 120000000, 6, "120.0" }, { 7, 3, "0.007" }, { 19500, 3, "19.5" }, { UINT64_MAX, 9, "18446744073.709551615" }, { 3, 1, "0.3" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_buf b = BUF_INIT(64);
		struct json_out o = { .to = &b };

		json_out_fixed(&o, NULL, rows[i].v, rows[i].decimals);
		ROW_OK(strcmp(b.data, rows[i].text) == 0, "%s instead of %s", b.data, rows[i].text);
	}
}

TEST(text)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *text; /* between the quotes */
		bool good;
	} rows[] = {
		{ "", 0, "", true },
		{ "plain", 5, "plain", true },
		{ "a\"b\\c/", 6, "a\\\"b\\\\c/", true },
		{ "\b\f\n\r\t", 5, "\\b\\f\\n\\r\\t", true },
		{ "\0\x01\x1f\x7f", 4, "\\u0000\\u0001\\u001F\x7f", true },
		{ "\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80", 9, "\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80", true },
		{ "a\xff\xfe", 3, "a\xef\xbf\xbd\xef\xbf\xbd", false },
		{ "\xc3", 1, "\xef\xbf\xbd", false },
		{ "\xed\xa0\x80z", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz", false },
		{ "\xc3\xa9\xc3\n", 4, "\xc3\xa9\xef\xbf\xbd\\n", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_buf b = BUF_INIT(256);
		struct json_out o = { .to = &b };
		bool good = json_out_text(&o, NULL, rows[i].bytes, rows[i].len);
		json_t *back = json_loadb(b.data, b.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		size_t n = strlen(rows[i].text);

		ROW_OK(good == rows[i].good, "row %zu", i);
		ROW_OK(b.len == n + 2 && memcmp(b.data + 1, rows[i].text, n) == 0, "row %zu: %s", i, b.data);
		ROW_OK(back && (!good || (json_string_length(back) == rows[i].len && memcmp(json_string_value(back), rows[i].bytes, rows[i].len) == 0)),
		       "row %zu: not what it was", i);
		json_decref(back);
	}
}

TEST(no_room)
{
	auto_buf b = BUF_INIT(8);
	struct json_out o = { .to = &b };

	json_out_open(&o, NULL, '{');
	json_out_str(&o, "name", "a text that is too long");
	json_out_close(&o, '}');
	assert_true(b.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(whole), cmocka_unit_test(fixed), cmocka_unit_test(text), cmocka_unit_test(no_room) };

	return cmocka_run_group_tests_name("json_out", tests, NULL, NULL);
}
