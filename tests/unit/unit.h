/* SPDX-License-Identifier: Apache-2.0 */
/* What every unit test needs: cmocka with its prerequisites, temporary folders, small shorthands. */
#ifndef BELLJAR_TESTS_UNIT_H
#define BELLJAR_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>

#define TEST(name) static void name(void **state __attribute__((unused)))
#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))

/* Says which row of a table failed: cmocka only knows the line. */
#define ROW_OK(cond, ...)                                          \
	do {                                                       \
		if (!(cond)) {                                     \
			print_error("row: " __VA_ARGS__);          \
			print_error("\n");                         \
			fail_msg("%s", #cond);                     \
		}                                                  \
	} while (0)

/* A bug that FINDINGS.txt tells of: shown as skipped until it is fixed, and a real test from then on. */
#define KNOWN_BUG(present, what)                                   \
	do {                                                       \
		if (present) {                                     \
			print_message("known bug: %s\n", what);    \
			skip();                                    \
		}                                                  \
	} while (0)

struct temp {
	char path[64];
	int fd;
};

static inline void temp_make(struct temp *t)
{
	snprintf(t->path, sizeof(t->path), "/tmp/belljar-unit-XXXXXX");
	assert_non_null(mkdtemp(t->path));
	t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(t->fd >= 0);
}

static inline int temp_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void temp_remove(struct temp *t)
{
	close(t->fd);
	nftw(t->path, temp_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The whole file as a string in a static buffer, "" when there is none. */
static inline const char *temp_read(const struct temp *t, const char *name)
{
	static char text[65536];
	int fd = openat(t->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static inline void temp_write(const struct temp *t, const char *name, const char *text)
{
	int fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static inline bool temp_has(const struct temp *t, const char *name)
{
	return faccessat(t->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* How many descriptors this process has: a leak is a difference. */
static inline int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			n++;
	return n;
}

#endif
