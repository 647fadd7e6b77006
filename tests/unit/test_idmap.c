/* SPDX-License-Identifier: Apache-2.0 */
/* idmap: /etc/subuid as it is and as it should not be. */
#include "unit.h"

#include "kernel/idmap.h"

TEST(find_sub)
{
	static const struct {
		const char *text;
		int rc;
		uint32_t start, count;
	} rows[] = {
		{ "bob:100000:65536\n", 0, 100000, 65536 },
		{ "1234:200000:65536\n", 0, 200000, 65536 },
		{ "eve:1:2\nbob:100000:65536\nbob:300000:65536\n", 0, 100000, 65536 },
		{ "bob:100000:65536", 0, 100000, 65536 },
		{ "# bob:1:2\n\n\nbob:100000:8\n", 0, 100000, 8 },
		{ "", -1, 0, 0 },
		{ "bobby:100000:65536\n", -1, 0, 0 },
		{ "12345:100000:65536\n", -1, 0, 0 },
		{ "bob\n", -1, 0, 0 },
		{ "bob:\n", -1, 0, 0 },
		{ "bob:100000\n", -1, 0, 0 },
		{ "bob:100000:\n", -1, 0, 0 },
		{ "bob:100000:7\n", -1, 0, 0 },	    /* less than a slot */
		{ "bob:0:65536\n", -1, 0, 0 },	    /* host root */
		{ "bob:-1:65536\n", -1, 0, 0 },
		{ "bob:4294967296:65536\n", -1, 0, 0 },
		{ "bob:100000:4294967296\n", -1, 0, 0 },
		{ "bob:18446744073709551615:8\n", -1, 0, 0 },
		{ "bob:x:y\n", -1, 0, 0 },
		{ "bob:0:65536\nbob:100000:65536\n", 0, 100000, 65536 },
	};
	struct temp t;
	char path[128];

	temp_make(&t);
	snprintf(path, sizeof(path), "%s/subuid", t.path);
	assert_int_equal(idmap_find_sub(path, 1234, "bob", &(struct idmap_range){ 0 }), -1); /* no such file */
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct idmap_range r = { 4711, 4712 };

		temp_write(&t, "subuid", rows[i].text);
		ROW_OK(idmap_find_sub(path, 1234, "bob", &r) == rows[i].rc, "%s", rows[i].text);
		ROW_OK(r.start == (rows[i].rc ? 4711 : rows[i].start), "%s gave %u", rows[i].text, r.start);
		ROW_OK(r.count == (rows[i].rc ? 4712 : rows[i].count), "%s gave %u", rows[i].text, r.count);
	}
	temp_remove(&t);
}

TEST(a_range_past_the_end)
{
	struct idmap_range r = { 0, 0 };
	struct temp t;
	char path[128];
	int rc;

	temp_make(&t);
	snprintf(path, sizeof(path), "%s/subuid", t.path);
	temp_write(&t, "subuid", "bob:4294967290:65536\n");
	rc = idmap_find_sub(path, 1234, "bob", &r);
	temp_remove(&t);
	KNOWN_BUG(rc == 0, "A23: a range that wraps past 2^32 is taken");
	assert_int_equal(rc, -1);
}

TEST(ids_in_use_are_refused)
{
	struct err e = { 0 };

	/* root and the first ordinary user's neighbourhood are in /etc/passwd of every host. */
	assert_int_equal(idmap_check_free((struct idmap_range){ 0, 1 }, &e), -1);
	assert_int_equal(e.kind, ERR_SETUP);
	assert_non_null(strstr(e.msg, "/etc/passwd"));
	assert_true(e.hint[0]);
	assert_int_equal(idmap_check_free((struct idmap_range){ 0, 0 }, &e), 0);
}

TEST(the_range_of_slots)
{
	assert_true((uint64_t)IDMAP_BASE + (uint64_t)IDMAP_SLOTS * IDMAP_SLOT_IDS < UINT32_MAX);
	assert_true(IDMAP_SLOT_IDS >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find_sub), cmocka_unit_test(a_range_past_the_end), cmocka_unit_test(ids_in_use_are_refused),
		cmocka_unit_test(the_range_of_slots),
	};

	return cmocka_run_group_tests_name("idmap", tests, NULL, NULL);
}
