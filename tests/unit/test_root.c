/* SPDX-License-Identifier: Apache-2.0 */
/* root: which paths a bind may be attached at. */
#include "unit.h"

#include "jar/root.h"

TEST(bind_targets)
{
	static const struct {
		const char *path;
		bool ok;
	} rows[] = {
		{ "/data", true }, { "/data/x", true }, { "/opt/tool", true }, { "/workspace/in", true }, { "/tmp/x", true }, { "/mnt", true },
		{ "/usr/local/share/x", true }, { "/etc/extra.conf", true }, { "/home/guest/.cache", true }, { "/procx", true }, { "/devel", true },
		{ "", false }, { "/", false }, { "data", false }, { "./data", false }, { "//data", false }, { "/data/", false },
		{ "/data//x", false }, { "/data/../etc", false }, { "/..", false }, { "/.", false }, { "/a/./b", false },
		{ "/proc", false }, { "/proc/self", false }, { "/dev", false }, { "/dev/null", false }, { "/dev/shm/x", false }, { "/sys", false },
		{ "/sys/fs/cgroup", false }, { "/tmp", false }, { "/workspace", false }, { "/home", false }, { "/home/guest", false },
		{ "/usr", false }, { "/etc", false }, { "/bin", false }, { "/sbin", false }, { "/lib", false }, { "/lib64", false },
		{ "/var", false }, { "/run", false },
	};
	char longpath[JAR_PATH_MAX + 300];

	for (size_t i = 0; i < COUNT(rows); i++)
		ROW_OK(root_bind_path_ok(rows[i].path) == rows[i].ok, "'%s'", rows[i].path);
	memset(longpath, 'a', sizeof(longpath) - 1);
	longpath[0] = '/';
	longpath[sizeof(longpath) - 1] = '\0';
	assert_false(root_bind_path_ok(longpath)); /* a part of more than 255 */
}

TEST(places)
{
	/* Artifacts and the feed count on the first one. */
	assert_string_equal(root_places[0].path, "/workspace");
	for (size_t i = 0; i < ROOT_PLACES; i++) {
		assert_int_equal(root_places[i].path[0], '/');
		assert_null(strchr(root_places[i].name, '/'));
		assert_false(root_bind_path_ok(root_places[i].path));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(bind_targets), cmocka_unit_test(places) };

	return cmocka_run_group_tests_name("root", tests, NULL, NULL);
}
