/* SPDX-License-Identifier: Apache-2.0 */
/* literal: Python's values as text, read into a tree; bounded, and honest about what was cut off. */
#include "unit.h"

#include "grade/literal.h"

/* The tree in a form of its own: kind letter, then value or children. */
static void dump(const struct lit *l, struct buf *out)
{
	static const char letters[LIT_KINDS] = "NBIFCSYLTDEZK?";

	buf_fmt(out, "%c%s", letters[l->kind], l->cut ? "~" : "");
	if (l->kind == LIT_STR || l->kind == LIT_BYTES || l->kind == LIT_INT || l->kind == LIT_CALL)
		buf_add(out, l->value.p, l->value.n);
	else if (l->kind == LIT_FLOAT || l->kind == LIT_BOOL)
		buf_fmt(out, "%g", l->number);
	else if (l->kind == LIT_OTHER || l->kind == LIT_COMPLEX)
		buf_add(out, l->src.p, l->src.n);
	if (l->kind < LIT_LIST || l->kind > LIT_CALL)
		return;
	buf_str(out, "(");
	for (size_t i = 0; i < l->n; i++) {
		buf_str(out, i ? " " : "");
		if (l->keys[i]) {
			dump(l->keys[i], out);
			buf_str(out, "=");
		}
		dump(l->items[i], out);
	}
	buf_str(out, ")");
}

static const struct {
	const char *text, *tree; /* NULL: refused */
} rows[] = {
	{ "None", "N" }, { "True", "B1" }, { "False", "B0" }, { "0", "I0" }, { "-0", "I0" }, { "1_000", "I1000" }, { "-17", "I-17" },
	{ "007", "I7" }, { "0x1F", "I31" }, { "-0b11", "I-3" }, { "0o17", "I15" },
	{ "123456789012345678901234567890", "I123456789012345678901234567890" },
	{ "1.5", "F1.5" }, { "-2e-3", "F-0.002" }, { "1e+20", "F1e+20" }, { "inf", "Finf" }, { "-inf", "F-inf" }, { "nan", "Fnan" }, { "-0.0", "F-0" },
	{ "2j", "C2j" }, { "(1+2j)", "C(1+2j)" }, { "(1.5-0j)", "C(1.5-0j)" },
	{ "'a'", "Sa" }, { "\"it's\"", "Sit's" }, { "'it\\'s'", "Sit's" }, { "''", "S" }, { "'''a'b'''", "Sa'b" }, { "''''''", "S" }, { "r'\\n'", "S\\n" },
	{ "'\\x41\\u00e9\\U0001f600\\101'", "SA\xc3\xa9\xf0\x9f\x98\x80" "A" }, { "'\\n\\t\\\\'", "S\n\t\\" }, { "'\\q'", "S\\q" },
	{ "b'\\xff'", "Y\xff" }, { "b''", "Y" }, { "Rb'\\x'", "Y\\x" },
	{ "[]", "L()" }, { "[1, 'a', None]", "L(I1 Sa N)" }, { "[1,]", "L(I1)" }, { "()", "T()" }, { "(1,)", "T(I1)" }, { "(1, 2)", "T(I1 I2)" }, { "(1)", "I1" },
	{ "{}", "D()" }, { "{1: 2, 'a': [3]}", "D(I1=I2 Sa=L(I3))" }, { "{1, 2}", "E(I1 I2)" }, { "set()", "E()" }, { "frozenset({1})", "Z(I1)" },
	{ "frozenset()", "Z()" }, { " [ 1 ,\n2 ] ", "L(I1 I2)" },
	{ "Point(x=1, y=(2,))", "KPoint(?x=I1 ?y=T(I2))" }, { "deque([1])", "Kdeque(L(I1))" }, { "datetime.date(2020, 1, 2)", "Kdatetime.date(I2020 I1 I2)" },
	{ "<object at 0x7f>", "?<object at 0x7f>" }, { "[<a <b>>]", "L(?<a <b>>)" }, { "Ellipsis", "?Ellipsis" },
	/* cut off, by somebody who says so or not */
	{ "[1, 2", "L~(I1 I~2)" }, { "[1, 2...", "L~(I1 I~2)" }, { "[1, 2, ...", "L~(I1 I2)" }, { "[1, 2, …", "L~(I1 I2)" }, { "'abc", "S~abc" },
	{ "'abc...", "S~abc" }, { "{'a': 1, 'b", "D~(Sa=I1)" }, { "{'a': 1, 'b':", "D~(Sa=I1)" }, { "{'a", "?~{'a" }, { "[[1], [2, ", "L~(L(I1) L~(I2))" },
	{ "[Tru", "L~(?~Tru)" }, { "f(1, x=", "K~f(I1)" }, { "<obj", "?~<obj" }, { "1.5...", "F~1.5" },
	/* no values */
	{ "", NULL }, { "hello world", NULL }, { "[1 2]", NULL }, { "[1]]", NULL }, { "{1: 2, 3}", NULL }, { "{1, 2: 3}", NULL }, { "1 + 1", NULL }, { "[,]", NULL },
	{ "-", NULL }, { "-x", NULL }, { "1.2.3", NULL }, { ")", NULL }, { "f(x 1)", NULL }, { "@", NULL },
};

TEST(trees)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct arena a = { 0 };
		struct lit *l = literal_parse(span_of(rows[i].text), &a);
		auto_buf out = BUF_INIT(4096);

		if (l)
			dump(l, &out);
		ROW_OK(rows[i].tree ? l && strcmp(out.data, rows[i].tree) == 0 : !l, "%s -> %s", rows[i].text, l ? out.data : "refused");
		arena_free(&a);
	}
}

TEST(bounds)
{
	static char text[LITERAL_TEXT_MAX + 2];
	struct arena a = { 0 };

	memset(text, '[', LITERAL_DEPTH_MAX);
	memset(text + LITERAL_DEPTH_MAX, ']', LITERAL_DEPTH_MAX);
	assert_non_null(literal_parse(span_head(span_of(text), 2 * LITERAL_DEPTH_MAX), &a));
	memset(text, '[', LITERAL_DEPTH_MAX + 1);
	assert_null(literal_parse(span_head(span_of(text), 2 * LITERAL_DEPTH_MAX), &a));
	text[0] = '[';
	for (size_t i = 1; i + 1 < sizeof(text); i += 2)
		memcpy(text + i, "1,", 2);
	/* As many nodes as are allowed, and one more. */
	assert_non_null(literal_parse(span_head(span_of(text), 2 * (LITERAL_NODES_MAX - 1) + 1), &a));
	assert_null(literal_parse(span_head(span_of(text), 2 * LITERAL_NODES_MAX + 1), &a));
	memset(text, '7', sizeof(text) - 1);
	assert_non_null(literal_parse(span_head(span_of(text), LITERAL_TEXT_MAX), &a));
	assert_null(literal_parse(span_head(span_of(text), LITERAL_TEXT_MAX + 1), &a));
	arena_free(&a);
}

static const struct {
	const char *a, *b;
	bool equal, strict;
} pairs[] = {
	{ "1", "1.0", true, false }, { "1", "True", true, false }, { "0", "-0.0", true, false }, { "nan", "nan", true, true }, { "1", "'1'", false, false },
	{ "[1]", "(1,)", false, false }, { "{1, 2}", "{2, 1}", true, true }, { "{1}", "frozenset({1})", true, false }, { "{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", true, true },
	{ "{'a': 1}", "{'a': 2}", false, false }, { "{1: 'x'}", "{True: 'x'}", true, true }, { "'a'", "b'a'", false, false }, { "'\\x41'", "'A'", true, true },
	{ "10000000000000000000001", "10000000000000000000002", false, false }, { "0x10", "16", true, true }, { "(1+2j)", "1+2j", true, true },
	{ "{frozenset({1, 2})}", "{frozenset({2, 1})}", true, true }, { "[1, 2", "[1, 2, 3]", true, true }, { "[1, 2", "[2, 2, 3]", false, false },
	{ "'ab", "'abc'", true, true }, { "'ab", "'acc'", false, false }, { "P(x=1)", "P(y=1)", false, false },
};

TEST(equality)
{
	for (size_t i = 0; i < COUNT(pairs); i++) {
		struct arena a = { 0 };
		struct lit *x = literal_parse(span_of(pairs[i].a), &a), *y = literal_parse(span_of(pairs[i].b), &a);

		ROW_OK(x && y, "%s, %s", pairs[i].a, pairs[i].b);
		ROW_OK(literal_equal(x, y, false) == pairs[i].equal && literal_equal(y, x, false) == pairs[i].equal, "%s == %s", pairs[i].a, pairs[i].b);
		ROW_OK(literal_equal(x, y, true) == pairs[i].strict, "%s === %s", pairs[i].a, pairs[i].b);
		if (pairs[i].equal && !x->cut)
			ROW_OK(x->hash == y->hash, "hash of %s and %s", pairs[i].a, pairs[i].b);
		arena_free(&a);
	}
}

/* Sets in sets: comparing twice at each level would take 2^90 steps. */
TEST(nested_sets_end)
{
	struct arena a = { 0 };
	auto_buf text = BUF_INIT(1 << 16);

	for (int i = 0; i < 49; i++)
		buf_str(&text, "frozenset({");
	buf_str(&text, "1");
	for (int i = 0; i < 49; i++)
		buf_str(&text, "})");
	struct lit *x = literal_parse((struct span){ text.data, text.len }, &a), *y = literal_parse((struct span){ text.data, text.len }, &a);
	assert_true(x && y && literal_equal(x, y, false) && literal_equal(x, y, true));
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees), cmocka_unit_test(bounds), cmocka_unit_test(equality), cmocka_unit_test(nested_sets_end),
	};

	return cmocka_run_group_tests_name("literal", tests, NULL, NULL);
}
