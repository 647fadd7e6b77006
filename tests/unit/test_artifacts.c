/* SPDX-License-Identifier: Apache-2.0 */
/* artifacts: hostile streams write beneath the target folder and nowhere else. */
#include "unit.h"

#include <dirent.h>

#include "run/artifacts.h"
#include "stream.h"

static struct temp top, out; /* out is a folder in top; canaries stand beside it */
static struct arena arena;
static struct artifacts x;
static struct err err;

static int setup(void **state)
{
	(void)state;
	umask(022);
	temp_make(&top);
	temp_write(&top, "canary", "alive");
	assert_int_equal(mkdirat(top.fd, "out", 0755), 0);
	assert_true(snprintf(out.path, sizeof(out.path), "%.50s/out", top.path) < (int)sizeof(out.path));
	out.fd = openat(top.fd, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

static int teardown(void **state)
{
	int n = 0;

	(void)state;
	assert_string_equal(temp_read(&top, "canary"), "alive");
	/* Nothing but the canary and the folder. */
	for (const char *const *name = (const char *const[]){ "evil", "tmp", "etc", "x", "a", NULL }; *name; name++)
		n += temp_has(&top, *name);
	assert_int_equal(n, 0);
	close(out.fd);
	temp_remove(&top);
	arena_free(&arena);
	return 0;
}

static int take_len(const struct stream *s, size_t len, bool workspace)
{
	int fd = stream_open(s, len), rc;

	memset(&err, 0, sizeof(err));
	artifacts_init(&x, &arena);
	x.out = out.fd;
	x.workspace = workspace;
	rc = artifacts_read(&x, fd, &err);
	close(fd);
	return rc;
}

static int take(const struct stream *s, bool workspace)
{
	return take_len(s, s->len, workspace);
}

TEST(an_honest_stream)
{
	struct stream s = { .len = 0 };
	int before = count_fds();
	struct stat st;

	stream_add(&s, FEED_DIR, "d", NULL, 0);
	stream_rec(&s, (struct feed_rec){ FEED_MAGIC, FEED_FILE, 07777, 5, 5, 1000000000LL * 1000000000 }, "d/f.x", 5, "hello", 5);
	stream_add(&s, FEED_FILE, "/tmp/y", "tmp", 3);
	stream_add(&s, FEED_FILE, "empty", "", 0);
	stream_add(&s, FEED_REFUSED, "fifo", "is a FIFO", 9);
	stream_add(&s, FEED_LINK, "l", "d/f.x", 5);
	stream_add(&s, FEED_END, "", NULL, 0);
	assert_int_equal(take(&s, false), 0);
	assert_int_equal(x.count, 6);
	assert_int_equal(x.refused, 2); /* the FIFO, and the link: only for a workspace */
	assert_string_equal(temp_read(&out, "d/f.x"), "hello");
	assert_string_equal(temp_read(&out, "tmp/y"), "tmp");
	assert_int_equal(fstatat(out.fd, "d/f.x", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755); /* no setuid, nothing for others to write */
	assert_int_equal(st.st_mtim.tv_sec, 1000000000);
	assert_string_equal(x.list->next->path, "d/f.x");
	assert_string_equal(x.list->next->sha256, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
	assert_int_equal(x.list->next->size, 5);
	assert_false(temp_has(&out, "l"));
	assert_int_equal(count_fds(), before);
}

TEST(only_told_without_a_folder)
{
	struct stream s = { .len = 0 };
	int fd;

	stream_add(&s, FEED_FILE, "f", "hello", 5);
	stream_add(&s, FEED_DIR, "d", NULL, 0);
	stream_add(&s, FEED_END, "", NULL, 0);
	fd = stream_open(&s, s.len);
	artifacts_init(&x, &arena);
	assert_int_equal(artifacts_read(&x, fd, &err), 0);
	close(fd);
	assert_int_equal(x.count, 2);
	assert_true(x.list->sha256[0]);
	assert_false(temp_has(&out, "f"));
}

TEST(names_that_leave)
{
	static const char *const names[] = { "../evil", "..", ".", "a/../../evil", "a/..", "//evil", "/", "/../evil", "/a/../../evil", "a//b", "a/", "/tmp/" };
	static const uint32_t types[] = { FEED_FILE, FEED_DIR, FEED_LINK, FEED_REFUSED };

	for (size_t i = 0; i < COUNT(names); i++)
		for (size_t k = 0; k < COUNT(types); k++)
			for (int workspace = 0; workspace < 2; workspace++) {
				struct stream s = { .len = 0 };

				stream_add(&s, types[k], names[i], "x", types[k] == FEED_DIR ? 0 : 1);
				stream_add(&s, FEED_END, "", NULL, 0);
				ROW_OK(take(&s, workspace) == -1, "'%s' type %u", names[i], types[k]);
			}
}

TEST(nul_in_a_name)
{
	struct stream s = { .len = 0 };

	stream_rec(&s, (struct feed_rec){ FEED_MAGIC, FEED_FILE, 0644, 4, 1, 0 }, "a\0/b", 4, "x", 1);
	stream_add(&s, FEED_END, "", NULL, 0);
	assert_int_equal(take(&s, true), -1);
	assert_false(temp_has(&out, "a"));
}

TEST(cut_anywhere)
{
	struct stream s = { .len = 0 };

	stream_add(&s, FEED_FILE, "f", "hello", 5);
	stream_add(&s, FEED_DIR, "d", NULL, 0);
	stream_add(&s, FEED_LINK, "l", "f", 1);
	stream_add(&s, FEED_REFUSED, "r", "why", 3);
	stream_add(&s, FEED_END, "", NULL, 0);
	for (size_t n = 0; n < s.len; n++)
		ROW_OK(take_len(&s, n, true) == -1, "%zu bytes", n);
	assert_int_equal(take(&s, true), 0);
}

TEST(a_cut_file_is_not_left)
{
	struct stream s = { .len = 0 };
	DIR *dir;
	int n = 0;

	temp_write(&out, "f", "old");
	stream_rec(&s, (struct feed_rec){ FEED_MAGIC, FEED_FILE, 0644, 1, UINT64_MAX, 0 }, "f", 1, "data", 4);
	assert_int_equal(take(&s, true), -1);
	assert_string_equal(temp_read(&out, "f"), "old");
	dir = fdopendir(dup(out.fd));
	rewinddir(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	assert_int_equal(n, 3); /* ., .. and f: no temporary file */
}

TEST(records_that_do_not_belong)
{
	static const uint32_t types[] = { FEED_ARGV, FEED_ENV, FEED_CWD, FEED_GO };

	for (size_t i = 0; i < COUNT(types); i++) {
		struct stream s = { .len = 0 };

		stream_add(&s, types[i], "", "x", types[i] == FEED_GO ? 0 : 1);
		stream_add(&s, FEED_END, "", NULL, 0);
		ROW_OK(take(&s, false) == -1, "type %u", types[i]);
	}
}

/* A guest's link, then a file through it: the canary stays. */
TEST(links_are_not_followed)
{
	static const char *const targets[] = { "..", "../canary", "/etc/passwd", "a/../../canary", "/", "x/..", "." };
	static const char *const files[] = { "l", "l/canary", "l/x" };

	for (size_t i = 0; i < COUNT(targets); i++)
		for (size_t k = 0; k < COUNT(files); k++)
			for (int workspace = 0; workspace < 2; workspace++) {
				struct stream s = { .len = 0 };

				stream_add(&s, FEED_LINK, "l", targets[i], strlen(targets[i]));
				stream_add(&s, FEED_FILE, files[k], "evil", 4);
				stream_add(&s, FEED_END, "", NULL, 0);
				ROW_OK(take(&s, workspace) == 0, "%s %s: %s", targets[i], files[k], err.msg);
				ROW_OK(strcmp(temp_read(&top, "canary"), "alive") == 0, "%s %s", targets[i], files[k]);
				unlinkat(out.fd, "l/x", 0);
				unlinkat(out.fd, "l/canary", 0);
				unlinkat(out.fd, "l", AT_REMOVEDIR);
				unlinkat(out.fd, "l", 0);
			}
}

/* Links that are there on the host: never written through. */
TEST(host_links_are_not_followed)
{
	struct stream s = { .len = 0 };

	assert_int_equal(symlinkat("../canary", out.fd, "link"), 0);
	assert_int_equal(symlinkat("..", out.fd, "up"), 0);
	stream_add(&s, FEED_FILE, "link", "evil", 4);
	stream_add(&s, FEED_FILE, "up/canary", "evil", 4);
	stream_add(&s, FEED_FILE, "up/evil", "evil", 4);
	stream_add(&s, FEED_DIR, "up/evil", NULL, 0);
	stream_add(&s, FEED_LINK, "up/evil", "x", 1);
	stream_add(&s, FEED_END, "", NULL, 0);
	assert_int_equal(take(&s, true), 0);
	assert_int_equal(x.refused, 4);
	assert_string_equal(temp_read(&out, "link"), "evil"); /* replaced, not followed */
}

/* A hard link of the host's is replaced, not written through. */
TEST(host_hard_links)
{
	struct stream s = { .len = 0 };

	assert_int_equal(linkat(top.fd, "canary", out.fd, "hard", 0), 0);
	stream_add(&s, FEED_FILE, "hard", "evil", 4);
	stream_add(&s, FEED_END, "", NULL, 0);
	assert_int_equal(take(&s, false), 0);
	assert_string_equal(temp_read(&out, "hard"), "evil");
}

TEST(links_of_a_workspace)
{
	static const struct {
		const char *target;
		bool made;
	} rows[] = {
		{ "f", true }, { "d/f", true }, { "a..b", true }, { "...", true }, { ".git/x", false }, { "x/.GIT", false }, { "../f", false }, { "/etc", false }, { "..", false }, { "d/../f", false }, { "", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct stream s = { .len = 0 };

		temp_write(&out, "l", "old");
		stream_add(&s, FEED_LINK, "l", rows[i].target, strlen(rows[i].target));
		stream_add(&s, FEED_END, "", NULL, 0);
		assert_int_equal(take(&s, true), 0);
		ROW_OK(!x.list->refused == rows[i].made, "'%s': %s", rows[i].target, x.list->refused ? x.list->refused : "made");
		/* What was refused left the old file alone. */
		ROW_OK(rows[i].made || strcmp(temp_read(&out, "l"), "old") == 0, "'%s'", rows[i].target);
		unlinkat(out.fd, "l", 0);
	}
}

TEST(unchanged_is_by_content)
{
	struct stream s = { .len = 0 };

	temp_write(&out, "same", "hello");
	temp_write(&out, "other", "hellO");
	stream_add(&s, FEED_FILE, "same", "hello", 5);
	stream_add(&s, FEED_FILE, "other", "hello", 5);
	stream_add(&s, FEED_FILE, "new", "hello", 5);
	stream_add(&s, FEED_END, "", NULL, 0);
	assert_int_equal(take(&s, true), 0);
	assert_true(x.list->unchanged);
	assert_false(x.list->next->unchanged);
	assert_false(x.list->next->next->unchanged);
	assert_string_equal(temp_read(&out, "other"), "hello");
}

TEST(a_file_over_a_folder)
{
	struct stream s = { .len = 0 };

	assert_int_equal(mkdirat(out.fd, "d", 0755), 0);
	temp_write(&out, "d/keep", "1");
	temp_write(&out, "f", "1");
	stream_add(&s, FEED_FILE, "d", "x", 1);
	stream_add(&s, FEED_LINK, "d", "x", 1);
	stream_add(&s, FEED_DIR, "f/sub", NULL, 0);
	stream_add(&s, FEED_END, "", NULL, 0);
	assert_int_equal(take(&s, true), 0);
	assert_int_equal(x.refused, 3);
	assert_string_equal(temp_read(&out, "d/keep"), "1");
}

/* It is the host's own: it neither hangs the copy nor is covered by it. */
TEST(fifo_of_the_host_stays)
{
	struct stream s = { .len = 0 };
	struct stat st;

	assert_int_equal(mkfifoat(out.fd, "f", 0600), 0);
	stream_add(&s, FEED_FILE, "f", "x", 1);
	stream_add(&s, FEED_END, "", NULL, 0);
	alarm(5);
	assert_int_equal(take(&s, true), 0);
	alarm(0);
	assert_int_equal(x.refused, 1);
	assert_int_equal(fstatat(out.fd, "f", &st, 0), 0);
	assert_true(S_ISFIFO(st.st_mode));
}

TEST(names_that_act)
{
	static const struct {
		const char *name;
		bool review;
	} rows[] = {
		{ ".bashrc", true }, { "a/.envrc", true }, { ".vscode/tasks.json", true }, { "x/.claude/settings.json", true }, { "Makefile", true },
		{ "conftest.py", true }, { "a/b.pth", true }, { "package.json", true }, { "CLAUDE.md", true }, { ".git/hooks/pre-commit", true },
		{ "sub/.git/config", true }, { ".git", true }, { "/tmp/.bashrc", true },
		{ "main.py", false }, { "bashrc", false }, { "makefile.txt", false }, { "pth", false }, { ".gitignore", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct stream s = { .len = 0 };

		stream_add(&s, FEED_FILE, rows[i].name, "x", 1);
		stream_add(&s, FEED_END, "", NULL, 0);
		assert_int_equal(take(&s, false), 0);
		ROW_OK(!!x.list->review == rows[i].review, "%s", rows[i].name);
		unlinkat(out.fd, ".git", 0);
	}
}

/* git acts on its own data: a guest's never reaches a workspace, in whatever form. */
TEST(git_is_not_copied_back)
{
	static const char *const names[] = { ".git", ".git/config", "sub/.git/hooks/x", ".GIT/config" };
	static const uint32_t types[] = { FEED_FILE, FEED_LINK };

	for (size_t i = 0; i < COUNT(names); i++)
		for (size_t k = 0; k < COUNT(types); k++) {
			struct stream s = { .len = 0 };

			stream_add(&s, types[k], names[i], "x", 1);
			stream_add(&s, FEED_END, "", NULL, 0);
			assert_int_equal(take(&s, true), 0);
			ROW_OK(x.list->refused && !temp_has(&out, names[i]), "%s", names[i]);
		}
}

TEST(extreme_times)
{
	static const int64_t times[] = { INT64_MIN, -1, 0, 1, INT64_MAX };

	for (size_t i = 0; i < COUNT(times); i++) {
		struct stream s = { .len = 0 };

		stream_rec(&s, (struct feed_rec){ FEED_MAGIC, FEED_FILE, 0644, 1, 1, times[i] }, "f", 1, "x", 1);
		stream_add(&s, FEED_END, "", NULL, 0);
		ROW_OK(take(&s, false) == 0 && !x.refused, "%lld", (long long)times[i]);
	}
}

TEST(the_code_itself_is_skipped)
{
	struct stream s = { .len = 0 };
	int fd;

	stream_add(&s, FEED_FILE, "main.py", "x", 1);
	stream_add(&s, FEED_END, "", NULL, 0);
	fd = stream_open(&s, s.len);
	artifacts_init(&x, &arena);
	x.out = out.fd;
	x.workspace = true;
	x.skip = "main.py";
	assert_int_equal(artifacts_read(&x, fd, &err), 0);
	close(fd);
	assert_false(temp_has(&out, "main.py"));
	assert_true(x.list->skipped);
}

TEST(an_incomplete_list_says_so)
{
	struct stream s = { .len = 0 };

	stream_rec(&s, (struct feed_rec){ FEED_MAGIC, FEED_END, FEED_INCOMPLETE, 0, 0, 0 }, "", 0, NULL, 0);
	assert_int_equal(take(&s, true), 0);
	assert_true(x.incomplete);
	s.len = 0;
	stream_add(&s, FEED_END, "", NULL, 0);
	assert_int_equal(take(&s, true), 0);
	assert_false(x.incomplete);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_honest_stream), T(only_told_without_a_folder), T(names_that_leave), T(nul_in_a_name), T(cut_anywhere), T(a_cut_file_is_not_left),
		T(records_that_do_not_belong), T(links_are_not_followed), T(host_links_are_not_followed), T(host_hard_links), T(links_of_a_workspace),
		T(unchanged_is_by_content), T(a_file_over_a_folder), T(fifo_of_the_host_stays), T(names_that_act), T(git_is_not_copied_back),
		T(extreme_times), T(the_code_itself_is_skipped), T(an_incomplete_list_says_so),
	};

	return cmocka_run_group_tests_name("artifacts", tests, NULL, NULL);
}
