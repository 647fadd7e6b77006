/* SPDX-License-Identifier: Apache-2.0 */
/* judge_compare: lines, words, numbers; what is forgiven and what is not. */
#include "unit.h"

#include "grade/judge_compare.h"

static enum compare_result run(enum compare_mode mode, const char *expected, size_t n, const char *got, size_t m, struct compare_diff *d)
{
	struct compare c = { .mode = mode, .rel = 1e-6, .abs = 1e-9 };
	/* Exact copies on the heap: a sanitizer sees what is read past the end. */
	char *a = malloc(n ? n : 1), *b = malloc(m ? m : 1);
	enum compare_result r;

	memcpy(a, expected, n);
	memcpy(b, got, m);
	r = compare_run(&c, a, n, b, m, d);
	/* Pointers into the copies are not for the caller. */
	if (r != COMPARE_SAME) {
		d->expected.text = d->expected.end ? NULL : expected + (d->expected.text - a);
		d->got.text = d->got.end ? NULL : got + (d->got.text - b);
	}
	free(a);
	free(b);
	return r;
}

struct row {
	const char *expected, *got;
	enum compare_result exact, tokens, fl;
};
#define S COMPARE_SAME
#define P COMPARE_SPACING
#define O COMPARE_OTHER

TEST(texts)
{
	static const struct row rows[] = {
		{ "", "", S, S, S }, { "", "\n", S, S, S }, { "\n\n", "", S, S, S }, { "", " \t\r\n \n", S, S, S }, { "", "x", O, O, O }, { "x", "", O, O, O },
		{ "3\n", "3", S, S, S }, { "3", "3\n\n\n", S, S, S }, { "3\n", "3 \n", S, S, S }, { "3\n", "3\t \r\n", S, S, S }, { "3 \n", "3\n", S, S, S },
		{ "1\n2\n", "1\r\n2\r\n", S, S, S }, { "1\n2\n", "1\r2\n", P, S, S }, { "1\n2\n", "1 2\n", P, S, S }, { "1 2\n", "1  2\n", P, S, S },
		{ "1 2\n", " 1 2\n", P, S, S }, { "1\n2\n", "1\n\n2\n", P, S, S }, { "1\n\n2\n", "1\n2\n", P, S, S }, { "1 2", "1\v2", P, S, S }, { "1 2", "1\f2", P, S, S },
		{ "1\n2", "\n1\n2", P, S, S }, { "1 2", "12", O, O, O }, { "12", "1 2", O, O, O }, { "ab", "aB", O, O, O }, { "1\n2\n", "1\n", O, O, O },
		{ "1\n", "1\n2\n", O, O, O }, { "1", "1.0", O, O, S }, { "1", "1.0000000001", O, O, S }, { "1", "1.1", O, O, O }, { "x 1", "y 1.0", O, O, O },
		{ "x 1", "x 1.0", O, O, S }, { "1", "1 1", O, O, O }, { "Yes", "YES", O, O, O },
		/* U+00A0 and U+2003 are no white space; composed and decomposed are two things. */
		{ "1 2", "1\xc2\xa0" "2", O, O, O }, { "1 2", "1\xe2\x80\x83" "2", O, O, O }, { "\xc3\xa9", "e\xcc\x81", O, O, O }, { "\xc3\xa9\n", "\xc3\xa9", S, S, S },
		{ "\xff\xfe", "\xff\xfe\n", S, S, S }, { "\xff", "\xfe", O, O, O }, { "\xef\xbb\xbf" "1", "1", O, O, O },
	};
	struct compare_diff d;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct row *r = &rows[i];
		size_t n = strlen(r->expected), m = strlen(r->got);

		ROW_OK(run(COMPARE_EXACT, r->expected, n, r->got, m, &d) == r->exact, "exact %zu: '%s' '%s'", i, r->expected, r->got);
		ROW_OK(run(COMPARE_TOKENS, r->expected, n, r->got, m, &d) == r->tokens, "tokens %zu: '%s' '%s'", i, r->expected, r->got);
		ROW_OK(run(COMPARE_FLOAT, r->expected, n, r->got, m, &d) == r->fl, "float %zu: '%s' '%s'", i, r->expected, r->got);
	}
}

TEST(nul_is_a_byte)
{
	struct compare_diff d;

	assert_int_equal(run(COMPARE_EXACT, "a\0b", 3, "a\0b\n", 4, &d), COMPARE_SAME);
	assert_int_equal(run(COMPARE_EXACT, "a\0b", 3, "a\0c", 3, &d), COMPARE_OTHER);
	assert_int_equal(run(COMPARE_TOKENS, "a", 1, "a\0", 2, &d), COMPARE_OTHER);
	assert_int_equal(run(COMPARE_TOKENS, "a b", 3, "a\0b", 3, &d), COMPARE_OTHER);
	assert_int_equal(run(COMPARE_FLOAT, "1", 1, "1\0", 2, &d), COMPARE_OTHER);
	assert_int_equal(compare_run(&(struct compare){ .mode = COMPARE_EXACT }, NULL, 0, NULL, 0, &d), COMPARE_SAME);
}

TEST(numbers)
{
	static const struct {
		const char *expected, *got;
		bool same;
	} rows[] = {
		{ "1", "1", true }, { "1", "+1", true }, { "1", "1.", true }, { "0.5", ".5", true }, { "1e3", "1000", true }, { "1E+3", "1000.0", true },
		{ "0", "-0.0", true }, { "-0.0", "0", true }, { "0", "1e-9", true }, { "0", "1.1e-9", false }, { "0", "-1e-9", true },
		{ "1000000", "1000001", true }, { "1000000", "1000002", false }, { "1", "-1", false }, { "-1", "-1.0000005", true }, { "1", "1.000002", false },
		{ "nan", "NaN", true }, { "nan", "-nan", true }, { "nan", "1", false }, { "1", "nan", false }, { "nan", "inf", false },
		{ "inf", "Infinity", true }, { "inf", "+INF", true }, { "inf", "-inf", false }, { "-inf", "-Infinity", true }, { "inf", "1e4931", false }, { "1e4931", "inf", false },
		{ "1e400", "1E400", true }, { "1e400", "1.0000001e400", true }, { "1e400", "1e401", false }, { "1e400", "inf", false }, { "inf", "1e400", false },
		/* What a long double cannot hold is a word: only the same text is the same. */
		{ "1e5000", "1.0e5000", false }, { "1e5000", "inf", false }, { "inf", "1e5000", false }, { "1e99999999999999999999", "2e99999999999999999999", false },
		{ "1e-400", "0", true }, { "1e-9999", "0", true },
		{ "123456789012345678901234567890", "123456789012345678901234567891", true }, { "123456789012345678901234567890", "223456789012345678901234567890", false },
		{ "0x10", "16", false }, { "16", "0x10", false }, { "1", "0x1p0", false }, { "nan(1)", "nan", false }, { "1", "1f", false }, { "1", "1,0", false }, { "1", "", false },
		{ "", "", false }, { "1", "1e", false }, { "1", "1e+", false }, { "1", "--1", false }, { "1", "+-1", false }, { ".", "0", false }, { "e5", "0", false }, { "-", "0", false },
		{ "infinit", "inf", false }, { "infinityx", "inf", false }, { "1_000", "1000", false }, { "\xd9\xa1", "1", false }, { "1", "1.0.0", false }, { "true", "1", false },
	};
	static const struct compare c = { .mode = COMPARE_FLOAT, .rel = 1e-6, .abs = 1e-9 }, none = { .mode = COMPARE_FLOAT };
	char longer[COMPARE_NUMBER_MAX + 3];

	for (size_t i = 0; i < COUNT(rows); i++)
		ROW_OK(compare_numbers(&c, rows[i].expected, strlen(rows[i].expected), rows[i].got, strlen(rows[i].got)) == rows[i].same, "%zu: %s %s", i,
		       rows[i].expected, rows[i].got);
	/* Without a tolerance the values decide. */
	assert_true(compare_numbers(&none, "0.5", 3, "0.50", 4));
	assert_true(compare_numbers(&none, "0.1", 3, "1e-1", 4));
	assert_false(compare_numbers(&none, "0.1", 3, "0.10000000000000001", 19));
	memset(longer, '1', sizeof(longer));
	longer[1] = '.';
	assert_true(compare_numbers(&c, "1.1111111111", 12, longer, COMPARE_NUMBER_MAX));
	assert_false(compare_numbers(&c, "1.1111111111", 12, longer, COMPARE_NUMBER_MAX + 1));
}

TEST(first_difference)
{
	struct compare_diff d;
	const char *a = "one\ntwo\nthree x\n", *b = "one\ntwo \nthree y\nfour\n";

	assert_int_equal(run(COMPARE_EXACT, a, strlen(a), b, strlen(b), &d), COMPARE_OTHER);
	assert_int_equal(d.line, 3);
	assert_int_equal(d.expected.at, 6);
	assert_int_equal(d.expected.len, 7);
	assert_memory_equal(d.got.text, "three y", 7);
	assert_int_equal(run(COMPARE_TOKENS, a, strlen(a), b, strlen(b), &d), COMPARE_OTHER);
	assert_int_equal(d.line, 3);
	assert_int_equal(d.token, 4);
	assert_int_equal(d.got.at, 6);
	/* One is over. */
	assert_int_equal(run(COMPARE_EXACT, "1\n2\n", 4, "1\n", 2, &d), COMPARE_OTHER);
	assert_true(d.line == 2 && d.got.end && !d.expected.end && d.expected.len == 1);
	assert_int_equal(run(COMPARE_TOKENS, "1\n", 2, "1\n\n2\n", 5, &d), COMPARE_OTHER);
	assert_true(d.line == 3 && d.expected.end && d.got.len == 1);
}

TEST(options)
{
	static const struct {
		const char *text;
		int mode; /* -1: refused */
		double rel, abs;
	} rows[] = {
		{ "exact", COMPARE_EXACT, COMPARE_REL, COMPARE_ABS }, { "tokens", COMPARE_TOKENS, COMPARE_REL, COMPARE_ABS }, { "checker", COMPARE_CHECKER, COMPARE_REL, COMPARE_ABS },
		{ "float", COMPARE_FLOAT, COMPARE_REL, COMPARE_ABS }, { "float:1e-3", COMPARE_FLOAT, 1e-3, COMPARE_ABS }, { "float:0,0.5", COMPARE_FLOAT, 0, 0.5 },
		{ "", -1, 0, 0 }, { "Exact", -1, 0, 0 }, { "exac", -1, 0, 0 }, { "exact:1", -1, 0, 0 }, { "float:", -1, 0, 0 }, { "float:2", -1, 0, 0 }, { "float:-1", -1, 0, 0 },
		{ "float:nan", -1, 0, 0 }, { "float:inf", -1, 0, 0 }, { "float:1e-3,", -1, 0, 0 }, { "float:1e-3,1,1", -1, 0, 0 }, { "float:0,1e400", -1, 0, 0 }, { "float:1x", -1, 0, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct compare c = { .mode = COMPARE_MODES };
		struct err e = { 0 };
		int rc = compare_parse(rows[i].text, &c, &e);

		ROW_OK(rc == (rows[i].mode < 0 ? -1 : 0), "%s", rows[i].text);
		if (rc < 0)
			ROW_OK(e.kind == ERR_USAGE && e.hint[0] && c.mode == COMPARE_MODES, "%s", rows[i].text);
		else
			ROW_OK((int)c.mode == rows[i].mode && c.rel == rows[i].rel && c.abs == rows[i].abs, "%s", rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts), cmocka_unit_test(nul_is_a_byte), cmocka_unit_test(numbers), cmocka_unit_test(first_difference), cmocka_unit_test(options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
