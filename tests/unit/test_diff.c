/* SPDX-License-Identifier: Apache-2.0 */
/* diff: paths and words for what differs. */
#include "unit.h"

#include "grade/diff.h"

static const char *joined(const struct diff *d)
{
	static char out[16384];
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < d->lines.n; i++)
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s", i ? " | " : "", d->lines.v[i]);
	if (d->more)
		snprintf(out + n, sizeof(out) - n, " | +%zu", d->more);
	return out;
}

static const struct {
	const char *expected, *got, *lines;
} values[] = {
	{ "3", "4", "expected 3, got 4" },
	{ "[1, 2, {'name': 3}]", "[1, 2, {'name': 4}]", "[2]['name']: expected 3, got 4" },
	{ "1", "'1'", "expected 1 (int), got '1' (str)" },
	{ "None", "0", "expected None, got 0 (int)" },
	{ "[1, 2]", "(1, 2)", "expected a list, got a tuple with the same elements" },
	{ "[1, 2]", "(1, 3)", "expected a list, got a tuple | [1]: expected 2, got 3" },
	{ "[1, 2, 3]", "[1, 3]", "length: expected 3, got 2 | [1]: missing 2" },
	{ "[1, 3]", "[1, 2, 3]", "length: expected 2, got 3 | [1]: extra 2" },
	{ "[1, 2, 3, 4]", "[9, 2, 8]", "length: expected 4, got 3 | [0]: expected 1, got 9 | [2]: expected 3, got 8 | [3]: missing 4" },
	{ "[1, 2, 3]", "[3, 2, 1]", "the same elements in another order | [0]: expected 1, got 3 | [2]: expected 3, got 1" },
	{ "{'a': 1, 'b': 2}", "{'b': 3, 'c': 4}", "['a']: missing, expected 1 | ['b']: expected 2, got 3 | ['c']: extra 4" },
	{ "{1, 2, 3}", "{3, 4}", "missing 1 | missing 2 | extra 4" },
	{ "{'k': {1, 2}}", "{'k': {1}}", "['k']: missing 2" },
	{ "0.3", "0.30000000000000004", "expected 0.3, got 0.30000000000000004 (off by 5.6e-17)" },
	{ "1", "1.0", "expected 1 (int), got 1.0 (float)" },
	{ "[True]", "[1]", "[0]: expected True (bool), got 1 (int)" },
	{ "{1}", "frozenset({1})", "expected a set, got a frozenset with the same elements" },
	{ "'abc'", "'abd'", "expected 'abc', got 'abd'" },
	{ "'Abc'", "'abc'", "expected 'Abc', got 'abc' (only upper and lower case differ)" },
	{ "'a b'", "'a  b '", "expected 'a b', got 'a  b ' (only white space differs)" },
	{ "'x\\ny\\nz'", "'x\\nY\\nz'", "line 2: expected 'y', got 'Y' (only upper and lower case differ)" },
	{ "b'\\x00'", "b'\\xff'", "expected '\\x00', got '\\xff'" },
	{ "Point(x=1, y=2)", "Point(x=1, y=3)", ".y: expected 2, got 3" },
	{ "Point(x=1)", "Pair(x=1)", "expected Point(x=1), got Pair(x=1)" },
	{ "deque([1, 2])", "deque([1, 3])", "[1]: expected 2, got 3" },
	{ "[1, 2, 3, ...", "[1, 9, 3, ...", "[1]: expected 2, got 9" },
	{ "[1, 2, ...", "[1, 2, ...", "no difference in the part that is shown" },
	{ "nan", "nan", "both are written the same way: nan, or objects that compare as they like" },
	{ "not a value", "not a Value", "expected 'not a value', got 'not a Value' (only upper and lower case differ)" },
	{ "[[], [], [], [], [], [], []]", "[1, 1, 1, 1, 1, 1, 1]",
	  "[0]: expected [] (list), got 1 (int) | [1]: expected [] (list), got 1 (int) | [2]: expected [] (list), got 1 (int) | "
	  "[3]: expected [] (list), got 1 (int) | [4]: expected [] (list), got 1 (int) | +2" },
	{ "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaXb'", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaYbc'",
	  "differs from character 67 on: expected …'aaaaaaaaaaaaaaaaXb', got …'aaaaaaaaaaaaaaaaYbc' (68 characters expected, 69 came)" },
	/* Foreign text stays on its line, and cannot move a cursor. */
	{ "'a'", "'\x1b[2J\xe2\x80\xae'", "expected 'a', got '\\x1b[2J\\u202e'" },
	{ "{'a\nb': 1}", "{'a\nb': 2}", "['a\\nb']: expected 1, got 2" },
};

static const struct {
	const char *expected, *got, *lines;
} outputs[] = {
	{ "1\n2\n", "1\n3\n", "line 2: expected '2', got '3'" },
	{ "1\n2\n", "1\n", "line 2: missing 2 | 2 lines expected, 1 came" },
	{ "1\n", "1\n2\n3\n", "line 2: extra 2 | 1 line expected, 3 came" },
	{ "1\n", "1", "the line end after the last line is missing" },
	{ "1", "1\n", "there is a line end after the last line that is not expected" },
	{ "1\n2\n", "1\r\n2\r\n", "line ends differ (\\r\\n and \\n)" },
	{ "a b\n", "a  b\n", "line 1: expected 'a b', got 'a  b' (only white space differs)" },
	{ "", "x\n", "line 1: extra x | 0 lines expected, 1 came" },
	{ "same", "same", "" },
};

TEST(of_values)
{
	for (size_t i = 0; i < COUNT(values); i++) {
		struct arena a = { 0 };
		struct diff d;

		diff_values(span_of(values[i].expected), span_of(values[i].got), &a, &d);
		ROW_OK(strcmp(joined(&d), values[i].lines) == 0, "%s / %s: %s", values[i].expected, values[i].got, joined(&d));
		arena_free(&a);
	}
}

TEST(of_output)
{
	for (size_t i = 0; i < COUNT(outputs); i++) {
		struct arena a = { 0 };
		struct diff d;

		diff_output(span_of(outputs[i].expected), span_of(outputs[i].got), &a, &d);
		ROW_OK(strcmp(joined(&d), outputs[i].lines) == 0, "%s / %s: %s", outputs[i].expected, outputs[i].got, joined(&d));
		arena_free(&a);
	}
}

/* Deep, wide, and different everywhere: it ends, with as many lines as are shown. */
TEST(large)
{
	auto_buf e = BUF_INIT(1 << 16), g = BUF_INIT(1 << 16);
	struct arena a = { 0 };
	struct diff d;

	for (int k = 0; k < 100; k++) {
		buf_str(&e, k ? "," : "[");
		buf_str(&g, k ? "," : "[");
		for (int i = 0; i < 95; i++)
			buf_str(&e, "{1:"), buf_str(&g, "{1:");
		buf_str(&e, "1"), buf_str(&g, "2");
		for (int i = 0; i < 95; i++)
			buf_str(&e, "}"), buf_str(&g, "}");
	}
	buf_str(&e, "]"), buf_str(&g, "]");
	diff_values((struct span){ e.data, e.len }, (struct span){ g.data, g.len }, &a, &d);
	assert_int_equal(d.lines.n, DIFF_LINES_MAX);
	assert_int_equal(d.more, 95);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(of_values), cmocka_unit_test(of_output), cmocka_unit_test(large) };

	return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
