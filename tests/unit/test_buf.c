/* SPDX-License-Identifier: Apache-2.0 */
/* buf: growth, the maximum, the sticky failure. */
#include "unit.h"

#include "base/buf.h"

TEST(grows_and_ends_with_nul)
{
	auto_buf b = BUF_INIT(100000);
	char block[1000];

	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 100; i++) {
		assert_int_equal(buf_add(&b, block, sizeof(block)), 0);
		assert_int_equal(b.data[b.len], 0);
	}
	assert_int_equal(b.len, 100000);
	assert_false(b.failed);
	assert_int_equal(buf_add(&b, "y", 1), -1);
	assert_true(b.failed);
	assert_int_equal(b.len, 100000);
}

TEST(failure_is_sticky)
{
	auto_buf b = BUF_INIT(4);

	assert_int_equal(buf_str(&b, "abc"), 0);
	assert_int_equal(buf_str(&b, "de"), -1);
	/* A short one would fit: nothing is added after a gap. */
	assert_int_equal(buf_str(&b, "d"), -1);
	assert_int_equal(buf_fmt(&b, "%d", 1), -1);
	assert_string_equal(b.data, "abc");
}

TEST(exact_maximum)
{
	auto_buf b = BUF_INIT(4);
	auto_buf none = BUF_INIT(0);

	assert_int_equal(buf_fmt(&b, "%s", "abcd"), 0);
	assert_string_equal(b.data, "abcd");
	assert_int_equal(buf_add(&b, "", 0), 0);
	assert_int_equal(buf_add(&none, "", 0), 0);
	assert_int_equal(none.len, 0);
	assert_int_equal(buf_add(&none, "x", 1), -1);
}

TEST(huge_length_does_not_wrap)
{
	auto_buf b = BUF_INIT(1000);

	assert_int_equal(buf_str(&b, "abc"), 0);
	assert_int_equal(buf_add(&b, "x", SIZE_MAX), -1);
	assert_int_equal(b.len, 3);
}

TEST(holds_nul_bytes)
{
	auto_buf b = BUF_INIT(10);

	assert_int_equal(buf_add(&b, "a\0b", 3), 0);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "a\0b\0", 4);
}

TEST(take_leaves_it_empty)
{
	auto_buf b = BUF_INIT(10);
	char *p = buf_take(&b);

	assert_string_equal(p, "");
	free(p);
	buf_str(&b, "abc");
	p = buf_take(&b);
	assert_string_equal(p, "abc");
	assert_null(b.data);
	assert_int_equal(buf_str(&b, "0123456789"), 0);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_and_ends_with_nul), cmocka_unit_test(failure_is_sticky), cmocka_unit_test(exact_maximum),
		cmocka_unit_test(huge_length_does_not_wrap), cmocka_unit_test(holds_nul_bytes), cmocka_unit_test(take_leaves_it_empty),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
