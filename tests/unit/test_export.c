/* SPDX-License-Identifier: Apache-2.0 */
/* export and feeder: what one side writes, the other reads back the same; what must not travel does not. */
#include "unit.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "jar/export.h"
#include "jar/feed.h"
#include "jar/root.h"
#include "run/artifacts.h"
#include "run/feeder.h"

static struct temp data, out;
static struct arena arena;
static struct artifacts x;
static struct err err;

static int setup(void **state)
{
	(void)state;
	umask(022);
	temp_make(&data);
	temp_make(&out);
	for (size_t i = 0; i < ROOT_PLACES; i++)
		assert_int_equal(mkdirat(data.fd, root_places[i].name, 0755), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	temp_remove(&data);
	temp_remove(&out);
	arena_free(&arena);
	return 0;
}

/* Exports by patterns (ended by NULL) and reads the result into `out`. */
static void move(const char *const *globs, uint64_t file_max, uint64_t total_max)
{
	static struct export_req req;
	int fd = memfd_create("export", MFD_CLOEXEC);

	memset(&req, 0, sizeof(req));
	req.file_max_bytes = file_max;
	req.total_max_bytes = total_max;
	for (; *globs; globs++)
		snprintf(req.globs[req.count++], JAR_PATH_MAX, "%s", *globs);
	memset(&err, 0, sizeof(err));
	assert_int_equal(export_write(data.fd, &req, fd, &err), 0);
	lseek(fd, 0, SEEK_SET);
	artifacts_init(&x, &arena);
	x.out = out.fd;
	assert_int_equal(artifacts_read(&x, fd, &err), 0);
	close(fd);
}
#define MOVE(...) move((const char *const[]){ __VA_ARGS__, NULL }, 1 << 20, 1 << 20)

static const struct artifact *find(const char *path)
{
	for (const struct artifact *f = x.list; f; f = f->next)
		if (strcmp(f->path, path) == 0)
			return f;
	return NULL;
}

TEST(patterns)
{
	mkdirat(data.fd, "workspace/d", 0755);
	temp_write(&data, "workspace/a.txt", "1");
	temp_write(&data, "workspace/b.bin", "2");
	temp_write(&data, "workspace/d/c.txt", "3");
	temp_write(&data, "tmp/t.txt", "4");
	MOVE("*.txt");
	assert_non_null(find("a.txt"));
	assert_null(find("b.bin"));
	assert_null(find("d/c.txt")); /* a star stays in its folder */
	assert_null(find("/tmp/t.txt"));
	MOVE("d");
	assert_non_null(find("d/c.txt")); /* a folder brings what is below */
	assert_null(find("a.txt"));
	MOVE("**");
	assert_non_null(find("a.txt"));
	assert_non_null(find("d/c.txt"));
	assert_null(find("/tmp/t.txt"));
	MOVE("/tmp/*");
	assert_non_null(find("/tmp/t.txt"));
	assert_string_equal(temp_read(&out, "tmp/t.txt"), "4");
	assert_null(find("a.txt"));
	MOVE("nothing");
	assert_int_equal(x.count, 0);
	assert_false(x.incomplete);
}

TEST(only_plain_files_are_read)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(mkfifoat(data.fd, "workspace/fifo", 0666), 0);
	assert_int_equal(symlinkat("/etc/passwd", data.fd, "workspace/link"), 0);
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/workspace/sock", data.path);
	assert_int_equal(bind(s, (struct sockaddr *)&sun, sizeof(sun)), 0);
	close(s);
	alarm(10);
	MOVE("**");
	alarm(0);
	assert_string_equal(find("fifo")->refused, "is a FIFO");
	assert_string_equal(find("sock")->refused, "is a socket");
	assert_string_equal(find("link")->link, "/etc/passwd");
	assert_non_null(find("link")->refused);
	assert_false(temp_has(&out, "fifo") || temp_has(&out, "sock") || temp_has(&out, "link"));
}

TEST(sizes)
{
	temp_write(&data, "workspace/a", "0123456789");
	temp_write(&data, "workspace/b", "0123456789");
	temp_write(&data, "workspace/c", "01234567890");
	move((const char *const[]){ "**", NULL }, 10, 15);
	assert_non_null(find("c")->refused); /* too large */
	assert_true(!find("a")->refused != !find("b")->refused); /* one of them fits the total */
	/* A sparse giant costs nothing. */
	assert_int_equal(truncate(strcat(strcpy((char[128]){ 0 }, data.path), "/workspace/a"), 1LL << 40), 0);
	move((const char *const[]){ "a", NULL }, 1 << 20, 1 << 20);
	assert_non_null(find("a")->refused);
}

TEST(too_deep_is_said)
{
	char path[1024] = "workspace";

	for (int i = 0; i < EXPORT_DEPTH_MAX + 3; i++) {
		strcat(path, "/d");
		assert_int_equal(mkdirat(data.fd, path, 0755), 0);
	}
	strcat(path, "/f");
	temp_write(&data, path, "deep");
	MOVE("**");
	assert_true(x.incomplete);
	assert_null(find(path + strlen("workspace/")));
}

TEST(odd_names_and_times)
{
	struct timespec t[2] = { { 0, UTIME_OMIT }, { -5, 0 } };

	temp_write(&data, "workspace/a\nb\033[31m\xff", "1");
	assert_int_equal(utimensat(data.fd, "workspace/a\nb\033[31m\xff", t, 0), 0);
	temp_write(&data, "workspace/*", "2");
	temp_write(&data, "workspace/\\", "3");
	MOVE("**");
	assert_int_equal(x.count, 3);
	assert_int_equal(x.refused, 0);
}

/* ---- the feeder ---- */

static struct feeder feeder;

/* Everything the feeder has, through a small pipe, read as a guest would. */
static int round_trip(int root, struct feed_plan *plan)
{
	int p[2], rc, status;
	pid_t pid;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		close(p[0]);
		do
			rc = feeder_write(&feeder, p[1], &err);
		while (rc == 0);
		_exit(rc == 1 ? 0 : 1);
	}
	close(p[1]);
	rc = feed_read(p[0], root, plan, &err);
	close(p[0]);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	return rc;
}

TEST(a_tree_goes_in)
{
	static struct feed_plan plan;
	static char big[300000];
	struct stat st;
	char link[32] = "";

	for (size_t i = 0; i < sizeof(big) - 1; i++)
		big[i] = (char)('a' + i % 23);
	assert_int_equal(mkdirat(data.fd, "workspace/d", 0700), 0);
	temp_write(&data, "workspace/d/f", "hello");
	assert_int_equal(fchmodat(data.fd, "workspace/d/f", 0750, 0), 0);
	temp_write(&data, "workspace/empty", "");
	assert_int_equal(symlinkat("d/f", data.fd, "workspace/l"), 0);
	feeder_init(&feeder, &arena);
	assert_int_equal(feeder_add_path(&feeder, strcat(strcpy((char[128]){ 0 }, data.path), "/workspace"), "", "--workspace", &err), 0);
	assert_int_equal(feeder_add_bytes(&feeder, "big", big, sizeof(big) - 1, 0644, &err), 0);
	assert_int_equal(feeder_add_words(&feeder, FEED_ENV, (const char *const[]){ "A=1", NULL }, &err), 0);
	assert_int_equal(feeder_add_words(&feeder, FEED_ARGV, (const char *const[]){ "prog", "", "x", NULL }, &err), 0);
	assert_int_equal(feeder_add_cwd(&feeder, "/workspace"), 0);
	feeder_go(&feeder);
	assert_int_equal(round_trip(out.fd, &plan), 0);
	feeder_done(&feeder);
	assert_string_equal(temp_read(&out, "d/f"), "hello");
	assert_int_equal(fstatat(out.fd, "d/f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(fstatat(out.fd, "big", &st, 0), 0);
	assert_int_equal(st.st_size, sizeof(big) - 1);
	assert_int_equal(strncmp(temp_read(&out, "big"), big, 65535), 0);
	assert_true(temp_has(&out, "empty"));
	assert_int_equal(readlinkat(out.fd, "l", link, sizeof(link)), 3);
	assert_int_equal(plan.argv_len, 8);
	munmap(plan.argv_words, FEED_WORDS_MAX + 1);
	munmap(plan.env_words, FEED_WORDS_MAX + 1);
}

TEST(what_cannot_go_in)
{
	char path[128];

	feeder_init(&feeder, &arena);
	assert_int_equal(feeder_add_bytes(&feeder, "../x", "", 0, 0644, &err), -1);
	assert_int_equal(feeder_add_bytes(&feeder, "/x", "", 0, 0644, &err), -1);
	assert_int_equal(feeder_add_path(&feeder, "/nowhere/at/all", "x", "--file", &err), -1);
	assert_int_equal(err.kind, ERR_INPUT);
	assert_int_equal(feeder_add_path(&feeder, "/dev/null", "x", "--file", &err), -1);
	assert_int_equal(mkfifoat(data.fd, "workspace/fifo", 0600), 0);
	snprintf(path, sizeof(path), "%s/workspace", data.path);
	/* A folder goes in without it. */
	assert_int_equal(feeder_add_path(&feeder, path, "x", "--file", &err), 0);
	assert_string_equal(feeder.skipped->name, "x/fifo");
	assert_null(feeder.skipped->next);
	assert_int_equal(symlinkat("workspace", data.fd, "link"), 0);
	snprintf(path, sizeof(path), "%s/link/", data.path);
	assert_int_equal(feeder_add_path(&feeder, path, "x", "--file", &err), -1);
	assert_non_null(strstr(err.msg, "symlink"));
	feeder_done(&feeder);
}

/* Swapped for a link between the walk and the copy (SV-10). */
TEST(a_swapped_file_is_not_copied)
{
	char path[128];
	int fd = memfd_create("sink", MFD_CLOEXEC), rc;

	temp_write(&data, "workspace/f", "mine");
	temp_write(&data, "tmp/secret", "secret");
	snprintf(path, sizeof(path), "%s/workspace", data.path);
	feeder_init(&feeder, &arena);
	assert_int_equal(feeder_add_path(&feeder, path, "", "--workspace", &err), 0);
	feeder_go(&feeder);
	assert_int_equal(unlinkat(data.fd, "workspace/f", 0), 0);
	assert_int_equal(symlinkat("../tmp/secret", data.fd, "workspace/f"), 0);
	rc = feeder_write(&feeder, fd, &err);
	feeder_done(&feeder);
	close(fd);
	assert_int_equal(rc, -1);
	assert_int_equal(err.kind, ERR_INPUT);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(patterns), T(only_plain_files_are_read), T(sizes), T(too_deep_is_said), T(odd_names_and_times), T(a_tree_goes_in), T(what_cannot_go_in),
		T(a_swapped_file_is_not_copied),
	};

	return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
