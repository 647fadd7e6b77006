/* SPDX-License-Identifier: Apache-2.0 */
/* near: names somebody may have meant, and only those. */
#include "unit.h"

#include "grade/near.h"

static const struct {
	const char *word, *names, *near;
} rows[] = {
	{ "totl", "total count", "total" }, { "toatl", "total count", "total" }, { "Total", "total totals", "total" }, { "my_list", "mylist", "mylist" },
	{ "lenght", "length width", "length" }, { "numbres", "numbers number", "numbers" }, { "foo", "bar baz", NULL }, { "x", "y z", NULL }, { "x", "X y", "X" },
	{ "ab", "abc xyz", "abc" }, { "total", "total", NULL }, { "result", "results resale", "results" }, { "cnt", "ant cat", "cat" }, { "", "a", NULL },
	{ "find_maximum_value", "find_maximum_values find", "find_maximum_values" }, { "abcdef", "uvwxyz", NULL },
};

static struct strlist words(struct arena *a, const char *text)
{
	struct strlist l = { 0 };
	char *copy = arena_dup(a, text), *save = NULL;

	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		strlist_add(a, &l, w);
	return l;
}

TEST(nearest)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct arena a = { 0 };
		struct strlist names = words(&a, rows[i].names);
		const char *got = near_find(rows[i].word, &names);

		ROW_OK(rows[i].near ? got && strcmp(got, rows[i].near) == 0 : !got, "%s in %s: %s", rows[i].word, rows[i].names, got ? got : "none");
		arena_free(&a);
	}
}

TEST(long_words_are_never_near)
{
	struct arena a = { 0 };
	char word[80];
	struct strlist names = { 0 };

	memset(word, 'x', 79);
	word[79] = '\0';
	strlist_add(&a, &names, arena_dup(&a, word));
	word[3] = 'y';
	assert_null(near_find(word, &names));
	arena_free(&a);
}

static const char *collected(const char *source, const char *language)
{
	static char out[1024];
	struct arena a = { 0 };
	struct strlist l = { 0 };

	if (language)
		near_collect_functions(span_of(source), language, &a, &l);
	else
		near_collect(span_of(source), &a, &l);
	out[0] = '\0';
	for (size_t i = 0; i < l.n; i++)
		snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", i ? " " : "", l.v[i]);
	arena_free(&a);
	return out;
}

TEST(names_of_source)
{
	assert_string_equal(collected("def f(total, x1):\n  return total + 0x1f + 1e5", NULL), "def f total x1 return");
	assert_string_equal(collected("", NULL), "");
	assert_string_equal(collected("def f(x):\n  def g(): pass\nasync def h(): pass\nclass C: pass\n  def no(): pass\ndefx = 1", "python"), "f h C");
	assert_string_equal(collected("function a() {}\nconst b = () => 1\nlet c\nexports.d = 1", "node"), "a b d");
	assert_string_equal(collected("f() {\n:\n}\nfunction g {\n}\nh () { :; }", "bash"), "f g h");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(nearest), cmocka_unit_test(long_words_are_never_near), cmocka_unit_test(names_of_source) };

	return cmocka_run_group_tests_name("near", tests, NULL, NULL);
}
