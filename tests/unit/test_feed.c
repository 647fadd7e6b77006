/* SPDX-License-Identifier: Apache-2.0 */
/* feed: names, headers, and streams that are right, cut, out of order or hostile. */
#include "unit.h"

#include "jar/feed.h"
#include "stream.h"

TEST(names)
{
	static const struct {
		const char *name;
		bool ok;
	} rows[] = {
		{ "a", true }, { "a/b", true }, { "a/b/c.txt", true }, { ".hidden", true }, { "..a", true }, { "a..", true }, { "...", true },
		{ "a/.b", true }, { "a b", true }, { "a\nb", true }, { "\xff\xfe", true }, { "-", true }, { "a\\..\\b", true }, { "C:\\x", true },
		{ "", false }, { "/", false }, { "/a", false }, { "//a", false }, { ".", false }, { "..", false }, { "../a", false },
		{ "a/..", false }, { "a/../b", false }, { "a/./b", false }, { "./a", false }, { "a/", false }, { "a//b", false },
		{ "a/.", false }, { "a/b/../../..", false },
	};
	char longname[FEED_NAME_MAX + 10];

	for (size_t i = 0; i < COUNT(rows); i++)
		ROW_OK(feed_name_ok(rows[i].name, strlen(rows[i].name)) == rows[i].ok, "'%s'", rows[i].name);
	assert_false(feed_name_ok("a\0b", 3));
	assert_false(feed_name_ok("a\0", 2));
	memset(longname, 'a', sizeof(longname));
	assert_true(feed_name_ok(longname, 255));
	assert_false(feed_name_ok(longname, 256));
	for (size_t i = 1; i < sizeof(longname); i += 2)
		longname[i] = '/';
	assert_true(feed_name_ok(longname, FEED_NAME_MAX - 1));
	assert_false(feed_name_ok(longname, FEED_NAME_MAX));
	assert_false(feed_name_ok(longname, FEED_NAME_MAX + 1));
	assert_false(feed_name_ok(longname, UINT64_MAX));
}

TEST(headers)
{
	static const struct {
		const char *what;
		struct feed_rec r;
		bool ok;
	} rows[] = {
		{ "file", { FEED_MAGIC, FEED_FILE, 0644, 3, 100, 0 }, true },
		{ "file of any size", { FEED_MAGIC, FEED_FILE, 07777, 3, UINT64_MAX, -1 }, true },
		{ "folder", { FEED_MAGIC, FEED_DIR, 0755, 3, 0, 0 }, true },
		{ "link", { FEED_MAGIC, FEED_LINK, 0, 3, FEED_NAME_MAX - 1, 0 }, true },
		{ "words", { FEED_MAGIC, FEED_ARGV, 0, 0, FEED_WORDS_MAX, 0 }, true },
		{ "environment", { FEED_MAGIC, FEED_ENV, 0, 0, 0, 0 }, true },
		{ "folder to be in", { FEED_MAGIC, FEED_CWD, 0, 0, FEED_NAME_MAX - 1, 0 }, true },
		{ "go", { FEED_MAGIC, FEED_GO, 0, 0, 0, 0 }, true },
		{ "end", { FEED_MAGIC, FEED_END, 0, 0, 0, 0 }, true },
		{ "refused", { FEED_MAGIC, FEED_REFUSED, 0, 3, 10, 0 }, true },
		{ "magic", { 0, FEED_FILE, 0644, 3, 100, 0 }, false },
		{ "type 0", { FEED_MAGIC, 0, 0, 0, 0, 0 }, false },
		{ "type past the end", { FEED_MAGIC, FEED_END + 1, 0, 0, 0, 0 }, false },
		{ "type negative", { FEED_MAGIC, UINT32_MAX, 0, 0, 0, 0 }, false },
		{ "mode", { FEED_MAGIC, FEED_FILE, 010000, 3, 0, 0 }, false },
		{ "file without a name", { FEED_MAGIC, FEED_FILE, 0644, 0, 0, 0 }, false },
		{ "words with a name", { FEED_MAGIC, FEED_ARGV, 0, 3, 1, 0 }, false },
		{ "go with a name", { FEED_MAGIC, FEED_GO, 0, 3, 0, 0 }, false },
		{ "end with a name", { FEED_MAGIC, FEED_END, 0, 1, 0, 0 }, false },
		{ "name too long", { FEED_MAGIC, FEED_FILE, 0644, FEED_NAME_MAX, 0, 0 }, false },
		{ "name much too long", { FEED_MAGIC, FEED_FILE, 0644, UINT32_MAX, 0, 0 }, false },
		{ "folder with data", { FEED_MAGIC, FEED_DIR, 0755, 3, 1, 0 }, false },
		{ "link too long", { FEED_MAGIC, FEED_LINK, 0, 3, FEED_NAME_MAX, 0 }, false },
		{ "words too long", { FEED_MAGIC, FEED_ARGV, 0, 0, FEED_WORDS_MAX + 1, 0 }, false },
		{ "cwd too long", { FEED_MAGIC, FEED_CWD, 0, 0, FEED_NAME_MAX, 0 }, false },
		{ "refused too long", { FEED_MAGIC, FEED_REFUSED, 0, 3, FEED_NAME_MAX, 0 }, false },
		{ "go with data", { FEED_MAGIC, FEED_GO, 0, 0, 1, 0 }, false },
		{ "end with data", { FEED_MAGIC, FEED_END, 0, 0, 1, 0 }, false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { 0 };

		ROW_OK(feed_check(&rows[i].r, &e) == (rows[i].ok ? 0 : -1), "%s", rows[i].what);
	}
}

static struct temp t;
static struct feed_plan plan;
static struct err err;

static int setup(void **state)
{
	(void)state;
	umask(022);
	temp_make(&t);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	temp_remove(&t);
	return 0;
}

static void plan_done(void)
{
	if (plan.argv_words)
		munmap(plan.argv_words, FEED_WORDS_MAX + 1);
	if (plan.env_words)
		munmap(plan.env_words, FEED_WORDS_MAX + 1);
	memset(&plan, 0, sizeof(plan));
}

static int feed_len(const struct stream *s, size_t len)
{
	int fd = stream_open(s, len), rc;

	memset(&err, 0, sizeof(err));
	plan_done();
	rc = feed_read(fd, t.fd, &plan, &err);
	close(fd);
	return rc;
}

static int feed(const struct stream *s)
{
	return feed_len(s, s->len);
}

static void add_end(struct stream *s)
{
	stream_add(s, FEED_ENV, "", "A=1\0B=2", 8);
	stream_add(s, FEED_ARGV, "", "prog\0arg", 9);
	stream_add(s, FEED_CWD, "", "/workspace", 10);
	stream_add(s, FEED_GO, "", NULL, 0);
}

TEST(a_whole_feed)
{
	struct stream s = { .len = 0 };
	struct stat st;
	char link[16];
	int before = count_fds();

	stream_add(&s, FEED_FILE, "a.txt", "hello", 5);
	stream_rec(&s, (struct feed_rec){ FEED_MAGIC, FEED_FILE, 0755, 7, 2, 1234567890LL * 1000000000 + 5 }, "d/e/run", 7, "ok", 2);
	stream_add(&s, FEED_DIR, "empty/dir", NULL, 0);
	stream_add(&s, FEED_LINK, "d/link", "../a.txt", 8);
	stream_add(&s, FEED_FILE, "empty.txt", "", 0);
	add_end(&s);
	stream_add(&s, FEED_FILE, "after-go", "x", 1);
	assert_int_equal(feed(&s), 0);
	assert_string_equal(temp_read(&t, "a.txt"), "hello");
	assert_string_equal(temp_read(&t, "d/e/run"), "ok");
	assert_int_equal(fstatat(t.fd, "d/e/run", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(st.st_mtim.tv_sec, 1234567890);
	assert_int_equal(st.st_mtim.tv_nsec, 5);
	assert_int_equal(fstatat(t.fd, "empty/dir", &st, 0), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(readlinkat(t.fd, "d/link", link, sizeof(link)), 8);
	assert_true(temp_has(&t, "empty.txt"));
	assert_false(temp_has(&t, "after-go"));
	assert_int_equal(plan.argv_len, 9);
	assert_string_equal(plan.argv_words, "prog");
	assert_int_equal(plan.env_len, 8);
	assert_string_equal(plan.cwd, "/workspace");
	assert_int_equal(count_fds(), before);
}

/* Cut after every single byte: an error, never a crash, never "go". */
TEST(cut_anywhere)
{
	struct stream s = { .len = 0 };

	stream_add(&s, FEED_FILE, "f", "hello", 5);
	stream_add(&s, FEED_DIR, "x", NULL, 0);
	stream_add(&s, FEED_LINK, "l", "f", 1);
	add_end(&s);
	for (size_t n = 0; n < s.len; n++) {
		ROW_OK(feed_len(&s, n) == -1, "%zu bytes", n);
		ROW_OK(err.msg[0] && !plan.go, "%zu bytes", n);
		unlinkat(t.fd, "l", 0);
	}
	assert_int_equal(feed(&s), 0);
}

TEST(names_that_leave)
{
	static const char *const names[] = { "../evil", "/tmp/belljar-unit-evil", "a/../../evil", "..", ".", "a//b", "a/", "./a" };
	static const uint32_t types[] = { FEED_FILE, FEED_DIR, FEED_LINK };

	for (size_t i = 0; i < COUNT(names); i++)
		for (size_t k = 0; k < COUNT(types); k++) {
			struct stream s = { .len = 0 };
			const char *data = types[k] == FEED_DIR ? "" : "x";

			stream_add(&s, types[k], names[i], data, strlen(data));
			add_end(&s);
			ROW_OK(feed(&s) == -1, "'%s'", names[i]);
			ROW_OK(strstr(err.msg, "leaves its folder"), "'%s': %s", names[i], err.msg);
		}
	assert_false(temp_has(&t, "../evil"));
	assert_int_equal(access("/tmp/belljar-unit-evil", F_OK), -1);
}

TEST(nul_in_a_name)
{
	struct stream s = { .len = 0 };

	stream_rec(&s, (struct feed_rec){ FEED_MAGIC, FEED_FILE, 0644, 7, 0, 0 }, "a\0/../b", 7, NULL, 0);
	add_end(&s);
	assert_int_equal(feed(&s), -1);
	assert_false(temp_has(&t, "a"));
}

TEST(links_are_not_followed)
{
	static const char *const through[] = { "out", "out/file", "file-link" };
	struct temp other;

	temp_make(&other);
	temp_write(&other, "file", "safe");
	for (size_t i = 0; i < COUNT(through); i++) {
		struct stream s = { .len = 0 };
		char path[128];

		unlinkat(t.fd, "out", 0);
		unlinkat(t.fd, "file-link", 0);
		stream_add(&s, FEED_LINK, "out", other.path, strlen(other.path));
		snprintf(path, sizeof(path), "%s/file", other.path);
		stream_add(&s, FEED_LINK, "file-link", path, strlen(path));
		stream_add(&s, FEED_FILE, through[i], "evil", 4);
		add_end(&s);
		ROW_OK(feed(&s) == -1, "%s", through[i]);
		assert_string_equal(temp_read(&other, "file"), "safe");
	}
	temp_remove(&other);
}

TEST(out_of_order)
{
	static const struct {
		const char *what;
		struct {
			uint32_t type;
			const char *data;
			size_t len;
		} r[5];
	} rows[] = {
		{ "no arguments", { { FEED_CWD, "/", 1 }, { FEED_GO, NULL, 0 } } },
		{ "empty arguments", { { FEED_ARGV, "", 0 }, { FEED_CWD, "/", 1 }, { FEED_GO, NULL, 0 } } },
		{ "no folder", { { FEED_ARGV, "x", 2 }, { FEED_GO, NULL, 0 } } },
		{ "empty folder", { { FEED_ARGV, "x", 2 }, { FEED_CWD, "", 0 }, { FEED_GO, NULL, 0 } } },
		{ "arguments twice", { { FEED_ARGV, "x", 2 }, { FEED_ARGV, "x", 2 }, { FEED_CWD, "/", 1 }, { FEED_GO, NULL, 0 } } },
		{ "environment twice", { { FEED_ENV, "x", 2 }, { FEED_ENV, "x", 2 }, { FEED_ARGV, "x", 2 }, { FEED_CWD, "/", 1 } } },
		{ "words without end", { { FEED_ARGV, "xy", 2 }, { FEED_CWD, "/", 1 }, { FEED_GO, NULL, 0 } } },
		{ "end", { { FEED_ARGV, "x", 2 }, { FEED_CWD, "/", 1 }, { FEED_END, NULL, 0 }, { FEED_GO, NULL, 0 } } },
		{ "go at once", { { FEED_GO, NULL, 0 } } },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct stream s = { .len = 0 };

		for (size_t k = 0; k < 5 && rows[i].r[k].type; k++)
			stream_add(&s, rows[i].r[k].type, "", rows[i].r[k].data, rows[i].r[k].len);
		ROW_OK(feed(&s) == -1, "%s", rows[i].what);
	}
	{
		struct stream s = { .len = 0 };

		stream_add(&s, FEED_REFUSED, "x", "why", 3);
		add_end(&s);
		assert_int_equal(feed(&s), -1);
	}
}

TEST(a_huge_size_ends_with_the_stream)
{
	struct stream s = { .len = 0 };

	stream_rec(&s, (struct feed_rec){ FEED_MAGIC, FEED_FILE, 0644, 1, UINT64_MAX, 0 }, "f", 1, "data", 4);
	assert_int_equal(feed(&s), -1);
	assert_non_null(strstr(err.msg, "middle of a file"));
}

TEST(extreme_times)
{
	static const int64_t times[] = { INT64_MIN, -1, 0, 1, INT64_MAX };

	for (size_t i = 0; i < COUNT(times); i++) {
		struct stream s = { .len = 0 };

		stream_rec(&s, (struct feed_rec){ FEED_MAGIC, FEED_FILE, 0644, 1, 1, times[i] }, "f", 1, "x", 1);
		add_end(&s);
		ROW_OK(feed(&s) == 0, "%lld: %s", (long long)times[i], err.msg);
	}
}

TEST(a_file_over_a_folder)
{
	struct stream s = { .len = 0 };

	stream_add(&s, FEED_DIR, "d", NULL, 0);
	stream_add(&s, FEED_FILE, "d", "x", 1);
	add_end(&s);
	assert_int_equal(feed(&s), -1);
	assert_int_equal(err.sys, EISDIR);
	s.len = 0;
	stream_add(&s, FEED_FILE, "x", "x", 1);
	stream_add(&s, FEED_FILE, "x/y", "x", 1);
	add_end(&s);
	assert_int_equal(feed(&s), -1);
	assert_int_equal(err.sys, ENOTDIR);
}

/* The same file twice (a request's file over one of the workspace): the last one stands. */
TEST(the_last_one_stands)
{
	struct stream s = { .len = 0 };

	stream_add(&s, FEED_FILE, "x", "first, longer", 13);
	stream_add(&s, FEED_FILE, "x", "second", 6);
	add_end(&s);
	assert_int_equal(feed(&s), 0);
	assert_string_equal(temp_read(&t, "x"), "second");
}

#define WITH_FOLDER(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names), cmocka_unit_test(headers), WITH_FOLDER(a_whole_feed), WITH_FOLDER(cut_anywhere),
		WITH_FOLDER(names_that_leave), WITH_FOLDER(nul_in_a_name), WITH_FOLDER(links_are_not_followed), WITH_FOLDER(out_of_order),
		WITH_FOLDER(a_huge_size_ends_with_the_stream), WITH_FOLDER(extreme_times), WITH_FOLDER(a_file_over_a_folder),
		WITH_FOLDER(the_last_one_stands),
	};

	return cmocka_run_group_tests_name("feed", tests, NULL, NULL);
}
