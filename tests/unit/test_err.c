/* SPDX-License-Identifier: Apache-2.0 */
/* err: truncation, wrapping, hints, the table of kinds. */
#include "unit.h"

#include "base/err.h"

static char big[2000];

static int fill_big(void **state)
{
	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	return 0;
}

TEST(set_clears_what_was_there)
{
	struct err e;

	memset(&e, 0xff, sizeof(e));
	assert_int_equal(err_set(&e, ERR_REQUEST, "field %d", 3), -1);
	assert_int_equal(e.kind, ERR_REQUEST);
	assert_int_equal(e.sys, 0);
	assert_string_equal(e.msg, "field 3");
	assert_string_equal(e.hint, "");
	assert_string_equal(e.step, "");
}

TEST(sys_appends_errno_and_keeps_it)
{
	struct err e = { 0 };

	errno = ENOSPC;
	assert_int_equal(err_sys(&e, "write %s", "x"), -1);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(e.sys, ENOSPC);
	assert_int_equal(e.kind, ERR_SETUP);
	assert_string_equal(e.msg, "write x: No space left on device");
	errno = 99999;
	err_sys(&e, "x");
	assert_string_equal(e.msg, "x: unknown error");
}

TEST(everything_is_cut_not_overrun)
{
	struct err e = { 0 };

	err_set(&e, ERR_INPUT, "%s", big);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	errno = EIO;
	err_sys(&e, "%s", big);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	err_wrap(&e, "%s", big);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	err_hint(&e, "%s", big);
	assert_int_equal(strlen(e.hint), sizeof(e.hint) - 1);
	err_set(&e, ERR_INPUT, "inner");
	err_wrap(&e, "%.380s", big);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
}

TEST(wrap_puts_context_in_front)
{
	struct err e = { 0 };

	err_set(&e, ERR_INPUT, "why");
	assert_int_equal(err_wrap(&e, "what %d", 1), -1);
	assert_int_equal(err_wrap(&e, "where"), -1);
	assert_string_equal(e.msg, "where: what 1: why");
	assert_int_equal(e.kind, ERR_INPUT);
}

TEST(the_first_hint_stands)
{
	struct err e = { 0 };

	err_hint(&e, "one");
	err_hint(&e, "two");
	assert_string_equal(e.hint, "one");
}

TEST(null_is_allowed)
{
	assert_int_equal(err_set(NULL, ERR_INPUT, "x"), -1);
	assert_int_equal(err_sys(NULL, "x"), -1);
	assert_int_equal(err_wrap(NULL, "x"), -1);
	assert_int_equal(err_hint(NULL, "x"), -1);
	err_clear(NULL);
}

TEST(every_kind_has_a_row)
{
	for (int k = -2; k < ERR_KINDS + 2; k++) {
		const struct err_info *i = err_info(k);

		assert_non_null(i);
		assert_non_null(i->code);
		assert_non_null(i->reason);
		assert_true(i->exit_status == 0 || i->exit_status == 2 || (i->exit_status >= 125 && i->exit_status <= 127));
		assert_true(i->http_status >= 200 && i->http_status < 600);
	}
	assert_ptr_equal(err_info(-1), err_info(ERR_INTERNAL));
	assert_ptr_equal(err_info(4711), err_info(ERR_INTERNAL));
	assert_int_equal(err_info(ERR_NOT_FOUND)->exit_status, 127);
	assert_int_equal(err_info(ERR_NOT_EXEC)->exit_status, 126);
}

TEST(what_was_received_is_text)
{
	struct err e;

	memset(&e, 'x', sizeof(e));
	err_received(&e);
	assert_int_equal(e.kind, ERR_INTERNAL);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	assert_int_equal(strlen(e.hint), sizeof(e.hint) - 1);
	assert_int_equal(strlen(e.step), sizeof(e.step) - 1);
	memset(&e, 0, sizeof(e));
	e.kind = ERR_SETUP;
	strcpy(e.msg, "a\033[2Jb\nc \xc3\xa9");
	err_received(&e);
	assert_int_equal(e.kind, ERR_SETUP);
	assert_string_equal(e.msg, "a?[2Jb?c \xc3\xa9");
	memset(&e, 0, sizeof(e));
	err_received(&e);
	assert_true(e.kind == ERR_INTERNAL && e.msg[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_clears_what_was_there), cmocka_unit_test(sys_appends_errno_and_keeps_it),
		cmocka_unit_test(everything_is_cut_not_overrun), cmocka_unit_test(wrap_puts_context_in_front),
		cmocka_unit_test(the_first_hint_stands), cmocka_unit_test(null_is_allowed), cmocka_unit_test(every_kind_has_a_row),
		cmocka_unit_test(what_was_received_is_text),
	};

	return cmocka_run_group_tests_name("err", tests, fill_big, NULL);
}
