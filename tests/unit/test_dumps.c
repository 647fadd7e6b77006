/* SPDX-License-Identifier: Apache-2.0 */
/* dumps: under which core_pattern a limit of core files holds (KS-18). */
#include "unit.h"

#include "kernel/dumps.h"

TEST(patterns)
{
	static const struct {
		const char *pattern;
		bool limited, unlimited; /* held with a limit of 1, of 0 */
	} rows[] = {
		{ "core", true, true },
		{ "", true, true },
		{ "/var/crash/core.%p", true, true },
		{ "|/usr/lib/systemd/systemd-coredump %P", true, false },
		{ "|", true, false },
		{ "@/run/coredump.socket", false, false },
		{ "@@/run/coredump.socket", false, false },
		{ " @/a/file/of/this/name", true, true },
		{ NULL, true, false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		ROW_OK(dumps_held(rows[i].pattern, true) == rows[i].limited, "%s, limit 1", rows[i].pattern ? rows[i].pattern : "unknown");
		ROW_OK(dumps_held(rows[i].pattern, false) == rows[i].unlimited, "%s, limit 0", rows[i].pattern ? rows[i].pattern : "unknown");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(patterns) };

	return cmocka_run_group_tests_name("dumps", tests, NULL, NULL);
}
