/* SPDX-License-Identifier: Apache-2.0 */
/* arena: zeroed, aligned, separate pieces; lists of strings. */
#include "unit.h"

#include "base/arena.h"

TEST(pieces_are_zeroed_aligned_and_apart)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 100, 16383, 16384, 16385, 100000, 1 };
	struct arena a = { 0 };
	unsigned char *p[COUNT(sizes)];

	for (size_t i = 0; i < COUNT(sizes); i++) {
		p[i] = arena_alloc(&a, sizes[i]);
		assert_int_equal((uintptr_t)p[i] % 8, 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(p[i][k], 0);
		memset(p[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(p[i][k], i + 1);
	arena_free(&a);
	assert_null(a.blocks);
	arena_free(&a);
}

TEST(copies)
{
	struct arena a = { 0 };
	char *p = arena_dup_len(&a, "a\0b", 3);

	assert_memory_equal(p, "a\0b\0", 4);
	assert_string_equal(arena_dup(&a, ""), "");
	assert_string_equal(arena_dup_len(&a, NULL, 0), "");
	assert_string_equal(arena_fmt(&a, "%s-%d", "x", 7), "x-7");
	p = arena_fmt(&a, "%40000s", "x");
	assert_int_equal(strlen(p), 40000);
	arena_free(&a);
}

TEST(lists_are_null_terminated_at_every_length)
{
	struct arena a = { 0 };
	struct strlist l = { 0 };

	for (size_t i = 0; i < 1000; i++) {
		strlist_add(&a, &l, arena_fmt(&a, "%zu", i));
		assert_int_equal(l.n, i + 1);
		assert_null(l.v[l.n]);
	}
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(strtoul(l.v[i], NULL, 10), i);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_zeroed_aligned_and_apart), cmocka_unit_test(copies),
		cmocka_unit_test(lists_are_null_terminated_at_every_length),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
