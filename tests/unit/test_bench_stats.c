/* SPDX-License-Identifier: Apache-2.0 */
/* bench_stats: percentiles, ratios, verdicts, numbers, lists, tables. */
#include "unit.h"

#include <math.h>

#include "bench/stats.h"

static double percentile(size_t n, double percent)
{
	struct samples s = { 0 };
	double v;

	/* 1 to n, in no order */
	for (size_t i = 0; i < n; i++)
		samples_add(&s, (double)((i * 7919) % n + 1));
	v = samples_percentile(&s, percent);
	samples_done(&s);
	return v;
}

/* 7919 is prime, so that i * 7919 mod n takes every value when n is no multiple of it. */
TEST(percentiles_by_nearest_rank)
{
	static const struct {
		size_t n;
		double percent, want;
	} rows[] = {
		{ 1, 0, 1 },	 { 1, 50, 1 },	  { 1, 99, 1 },	   { 1, 100, 1 },     { 2, 50, 1 },	 { 2, 51, 2 },
		{ 3, 50, 2 },	 { 5, 90, 5 },	  { 10, 50, 5 },   { 10, 90, 9 },     { 10, 99, 10 },	 { 100, 0, 1 },
		{ 100, 50, 50 }, { 100, 90, 90 }, { 100, 99, 99 }, { 100, 100, 100 }, { 1000, 99, 990 }, { 200, 99, 198 },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		ROW_OK(percentile(rows[i].n, rows[i].percent) == rows[i].want, "p%g of %zu: %g, not %g", rows[i].percent,
		       rows[i].n, percentile(rows[i].n, rows[i].percent), rows[i].want);
}

TEST(samples_may_grow_after_they_were_read)
{
	struct samples s = { 0 };

	assert_true(isnan(samples_percentile(&s, 50)));
	assert_true(isnan(samples_mean(&s)));
	samples_add(&s, 10);
	assert_true(samples_percentile(&s, 50) == 10);
	samples_add(&s, 2);
	samples_add(&s, 3);
	assert_true(samples_percentile(&s, 50) == 3);
	assert_true(samples_mean(&s) == 5);
	samples_done(&s);
	assert_int_equal(s.n, 0);
}

TEST(ratios_and_verdicts)
{
	assert_true(stats_ratio(12, 4) == 3);
	assert_true(isnan(stats_ratio(NAN, 4)));
	assert_true(isnan(stats_ratio(4, NAN)));
	assert_true(isnan(stats_ratio(4, 0)));
	assert_int_equal(stats_judge(9, 9, false), STATS_REACHED);
	assert_int_equal(stats_judge(8.99, 9, false), STATS_MISSED);
	assert_int_equal(stats_judge(2.9, 3, true), STATS_REACHED);
	assert_int_equal(stats_judge(3.1, 3, true), STATS_MISSED);
	assert_int_equal(stats_judge(NAN, 3, true), STATS_UNKNOWN);
	assert_int_equal(stats_judge(NAN, 3, false), STATS_UNKNOWN);
	assert_string_equal(stats_verdict_text(STATS_MISSED), "not reached");
}

TEST(numbers)
{
	static const struct {
		double value;
		int digits;
		const char *want;
	} rows[] = {
		{ 1.234, 2, "1.23" }, { 99.994, 2, "99.99" }, { 123.45, 2, "123.5" }, { 1234.5, 2, "1234" }, { 155.4, 0, "155" },
		{ 0, 2, "0.000" },    { 0.0042, 2, "0.004" }, { 0.42, 0, "0" },	      { NAN, 2, "-" },
	};
	char text[32];

	for (size_t i = 0; i < COUNT(rows); i++)
		ROW_OK(strcmp(stats_number(text, sizeof(text), rows[i].value, rows[i].digits), rows[i].want) == 0,
		       "%g: '%s', not '%s'", rows[i].value, text, rows[i].want);
}

TEST(lists)
{
	assert_true(stats_list_has(NULL, "bare"));
	assert_true(stats_list_has("bare", "bare"));
	assert_true(stats_list_has("runc,bare", "bare"));
	assert_true(stats_list_has("bare,runc", "bare"));
	assert_false(stats_list_has("barefoot", "bare"));
	assert_false(stats_list_has("bar", "bare"));
	assert_false(stats_list_has("", "bare"));
	assert_false(stats_list_has("runc,,crun", "bare"));
}

TEST(fields)
{
	static const struct {
		const char *line;
		unsigned n;
		int64_t want;
	} rows[] = {
		{ "5", 0, 5 },	  { "  12 kB", 0, 12 }, { "a 1 2\n", 1, 1 }, { "memory\t9\t120\t1\n", 2, 120 },
		{ "a b", 1, -1 }, { "a 1", 2, -1 },	{ "a -4", 1, -1 },   { "", 0, -1 },
		{ "", 3, -1 },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		ROW_OK(stats_field(rows[i].line, rows[i].n) == rows[i].want, "'%s' %u", rows[i].line, rows[i].n);
}

static char *printed(struct table *t, bool bold)
{
	static char text[512];
	FILE *f = fmemopen(text, sizeof(text), "w");

	table_print(t, f, bold);
	fclose(f);
	return text;
}

TEST(tables_are_aligned)
{
	struct table t;

	table_init(&t, 3, 1);
	table_add(&t, "");
	table_add(&t, "p50 ms");
	table_add(&t, "runs");
	table_add(&t, "bubblewrap");
	table_number(&t, 5.3, 2);
	table_number(&t, NAN, 0);
	assert_string_equal(printed(&t, false), "            p50 ms  runs\n"
						"bubblewrap    5.30     -\n");
	assert_true(strncmp(printed(&t, true), "\033[1m", 4) == 0);
	table_done(&t);
	/* A last column on the left ends with its text, not with spaces. */
	table_init(&t, 2, 2);
	table_add(&t, "a");
	table_add(&t, "short");
	table_add(&t, "bb");
	table_add(&t, "rather longer");
	assert_string_equal(printed(&t, false), "a   short\nbb  rather longer\n");
	table_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_by_nearest_rank),
		cmocka_unit_test(samples_may_grow_after_they_were_read),
		cmocka_unit_test(ratios_and_verdicts),
		cmocka_unit_test(numbers),
		cmocka_unit_test(lists),
		cmocka_unit_test(fields),
		cmocka_unit_test(tables_are_aligned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
