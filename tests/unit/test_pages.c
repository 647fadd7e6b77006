/* SPDX-License-Identifier: Apache-2.0 */
/* src/guest/pages.c: what of a zygote's memory becomes its image, and what may not. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "guest/pages.h"

#define PAGE 4096UL
#define MB   (1UL << 20)

/* With a page that nobody can read before and behind it: neighbours would be one mapping with it. */
static char *memory(size_t len)
{
	char *p = mmap(NULL, len + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + PAGE, len, PROT_READ | PROT_WRITE) < 0)
		_exit(99);
	return p + PAGE;
}

/* Bytes of the image that are mapped, and whether `at` is one of them. */
static size_t image(const void *at, bool *in)
{
	FILE *f = fopen("/proc/self/maps", "re");
	size_t total = 0;
	char line[512];

	*in = false;
	while (f && fgets(line, sizeof(line), f)) {
		char *next;
		uintptr_t start = strtoul(line, &next, 16), end = strtoul(next + 1, NULL, 16);

		if (!strstr(line, "belljar-image"))
			continue;
		total += end - start;
		*in |= start <= (uintptr_t)at && (uintptr_t)at < end;
	}
	if (f)
		fclose(f);
	return total;
}

static bool is_all(const char *p, int c, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != (char)c)
			return false;
	return true;
}

/* The status of a child that does `f`: 0 is well, a number says what was not. */
static int in_child(int (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGBUS, SIG_DFL); /* cmocka has handlers */
		_exit(f());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static char *plain, *wiped, *left_out;

static int look(void)
{
	unsigned char there;

	if (!is_all(plain, 0x5a, 4 * PAGE))
		return 11;
	if (!is_all(wiped, 0, 4 * PAGE))
		return 12;
	return mincore(left_out, PAGE, &there) == 0 ? 13 : 0;
}

static int forks(void)
{
	char **all[] = { &plain, &wiped, &left_out };
	bool in;

	for (int i = 0; i < 3; i++) {
		*all[i] = memory(4 * PAGE);
		memset(*all[i], 0x5a, 4 * PAGE);
	}
	if (madvise(wiped, 4 * PAGE, MADV_WIPEONFORK) < 0 || madvise(left_out, 4 * PAGE, MADV_DONTFORK) < 0)
		return 98;
	pages_settle(true, false);
	if (!image(plain, &in) || !in)
		return 1;
	if (!is_all(plain, 0x5a, 4 * PAGE) || !is_all(wiped, 0x5a, 4 * PAGE) || !is_all(left_out, 0x5a, 4 * PAGE))
		return 2;
	return in_child(look);
}

/* A random generator whose state is to be wiped at a fork (getrandom() of glibc 2.41) would give the same numbers to all guests. */
static void test_what_is_wiped_at_a_fork_still_is(void **state)
{
	(void)state;
	assert_int_equal(in_child(forks), 0);
}

static int sparse(void)
{
	char *both_ends = memory(256 * MB), *stack = memory(64 * MB);
	bool in;

	both_ends[0] = both_ends[256 * MB - 1] = 1;
	memset(stack + 64 * MB - 4 * PAGE, 1, 4 * PAGE);
	pages_settle(true, false);
	if (image(stack + 64 * MB - PAGE, &in) > 32 * MB)
		return 1;
	if (!in)
		return 2;
	return both_ends[0] == 1 && both_ends[256 * MB - 1] == 1 && both_ends[128 * MB] == 0 && stack[64 * MB - 1] == 1 && stack[0] == 0 ? 0 : 3;
}

/* The stack of a thread that a preloaded module has started, a buffer that is hardly used. */
static void test_empty_memory_is_not_filled(void **state)
{
	(void)state;
	assert_int_equal(in_child(sparse), 0);
}

static int read_at(const volatile char *p)
{
	return *p ? 8 : 7;
}

static int behind_the_end(void)
{
	char *p = memory(PAGE), *grown;
	size_t absent = 0;
	bool in;

	*p = 1;
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) < 0)
		return 98;
	pages_settle(true, false);
	if (!image(p, &in) || !in)
		return 1;
	grown = mremap(p, PAGE, 64 * MB, MREMAP_MAYMOVE);
	if (grown == MAP_FAILED)
		return 2;
	/* As many as the image has, from here on at most; then the file ends. */
	for (size_t i = 0; i < 64 * MB; i += PAGE) {
		unsigned char there;

		if (mincore(grown + i, PAGE, &there) < 0)
			return 4;
		if (!there)
			absent++;
		else if (absent)
			return 5;
	}
	return absent ? read_at(grown + 64 * MB - absent * PAGE) : 6;
}

/* A guest that makes its mapping larger would fill what is there, for all guests after it. */
static void test_there_is_no_hole_behind_the_end(void **state)
{
	(void)state;
	assert_int_equal(in_child(behind_the_end), -SIGBUS);
}

static int text(void)
{
	bool in;

	pages_settle(true, false);
	return image((const void *)(uintptr_t)fopen, &in) && in ? 0 : 1;
}

/* Each mapping costs something at a fork and at an end, and a guest would look for its pages sixteen at a time. */
static void test_program_text_is_in_the_image_too(void **state)
{
	(void)state;
	assert_int_equal(in_child(text), 0);
}

#define LEARNED 5

static int forgets(void)
{
	char *all = memory(2UL * LEARNED * PAGE);
	int p[2];

	if (pipe(p) < 0)
		return 98;
	for (int i = 0; i < LEARNED; i++) {
		uintptr_t r[2] = { (uintptr_t)all + 2UL * (uintptr_t)i * PAGE, (uintptr_t)all + (2UL * (uintptr_t)i + 1) * PAGE };

		if (write(p[1], r, sizeof(r)) != sizeof(r))
			return 97;
	}
	close(p[1]);
	pages_learn(p[0], PAGES_CASE);
	munmap(all, PAGE);
	mprotect(all + 4 * PAGE, PAGE, PROT_READ);
	mprotect(all + 8 * PAGE, PAGE, PROT_NONE);
	pages_check(PAGES_CASE);
	madvise(all + PAGE, (2UL * LEARNED - 1) * PAGE, MADV_DONTNEED);
	pages_touch(PAGES_CASE); /* one that is not there is the end of us */
	for (int i = 1; i < 8; i++) {
		unsigned char there;

		if (mincore(all + (size_t)i * PAGE, PAGE, &there) < 0 || (there & 1) != (i == 2 || i == 6))
			return i;
	}
	return 0;
}

/* A solution can have given its memory back before the first child of a case takes its pages. */
static void test_pages_that_are_no_memory_any_more_are_forgotten(void **state)
{
	(void)state;
	assert_int_equal(in_child(forgets), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_wiped_at_a_fork_still_is),
		cmocka_unit_test(test_empty_memory_is_not_filled),
		cmocka_unit_test(test_there_is_no_hole_behind_the_end),
		cmocka_unit_test(test_program_text_is_in_the_image_too),
		cmocka_unit_test(test_pages_that_are_no_memory_any_more_are_forgotten),
	};

#ifdef __SANITIZE_ADDRESS__
	return 77; /* terabytes of shadow memory to look through */
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
