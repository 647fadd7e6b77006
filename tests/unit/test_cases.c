/* SPDX-License-Identifier: Apache-2.0 */
/* src/guest/cases.c: a process for each case, its end, and what the parent says about it. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "guest/cases.h"

static volatile sig_atomic_t signals;
static int *children; /* how many there were: shared */

/* The youngest process of the same parent. */
static void kill_sibling(int sig)
{
	char name[64], text[256];
	pid_t found = 0;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/children", (int)getppid(), (int)getppid());
	if (fd_read_head(AT_FDCWD, name, text, sizeof(text)) < 0)
		_exit(8);
	for (char *at = text; *at;) {
		pid_t pid = (pid_t)strtol(at, &at, 10);

		at += *at == ' ';
		if (pid > found)
			found = pid;
	}
	kill(found, sig);
}

/* What the child of a case does with its question, which is one byte. */
static void answer(struct cases *c)
{
	char q;

	if (fd_read_all(c->inp, &q, 1) != 0)
		_exit(9);
	if (q == 'p')
		(void)!write(c->capture, "printed", 7);
	if (q == 'k')
		kill(getpid(), SIGKILL);
	if (q == 's')
		pause();
	if (q == 'u')
		kill(getppid(), SIGUSR1);
	if (q == 'U')
		_exit(signals ? 7 : 0);
	if (q == 'n' || q == 'l') { /* the child of the next case, when it is there; or later, when it is at work */
		while (__atomic_load_n(children, __ATOMIC_SEQ_CST) < 2)
			;
		kill_sibling(q == 'n' ? SIGKILL : SIGSTOP);
	}
	_exit(q == 'x' ? 3 : 0);
}

static void count(void)
{
	__atomic_add_fetch(children, 1, __ATOMIC_SEQ_CST);
}

struct world {
	int to, from;
	struct cases c;
};

static struct world start(void)
{
	int in[2], out[2];

	children = mmap(NULL, sizeof(*children), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	return (struct world){ .to = in[1], .from = out[0], .c = { .inp = in[0], .out = out[1], .capture = memfd_create("printed", MFD_CLOEXEC), .in_child = count } };
}

/* In one piece: nobody can end between the question and the rest of it. */
static void ask(struct world *w, char op, char question, uint32_t wall_ms, const char *rest)
{
	unsigned char frame[CASES_HEAD + 64] = { 18, 0, 0, 0, (unsigned char)op, 1, 2, 3 };
	size_t len = question ? CASES_HEAD + 1 : CASES_HEAD;

	memcpy(frame + 17, &wall_ms, 4);
	frame[CASES_HEAD] = (unsigned char)question;
	memcpy(frame + len, rest, strlen(rest));
	assert_int_equal(fd_write_all(w->to, frame, len + strlen(rest)), 0);
}

/* Reads the first head itself, as the driver does. */
static int serve(struct world *w, unsigned char *head)
{
	int rc;

	assert_int_equal(fd_read_all(w->c.inp, head, CASES_HEAD), 0);
	rc = cases_serve(&w->c, head);
	if (rc == 0 && head[4] == CASES_CHILD)
		answer(&w->c);
	return rc;
}

static bool heard(struct world *w, const char *text)
{
	char said[256] = "";
	uint32_t len;

	return fd_read_all(w->from, &len, 4) == 0 && len < sizeof(said) && fd_read_all(w->from, said, len) == 0 && memcmp(said, "\1\2\3", 3) == 0 &&
	       strcmp(said + 16, text) == 0;
}

struct row {
	char op, question;
	uint32_t wall_ms;
	const char *rest; /* of the question, which nobody reads */
	const char *word; /* what is said of it */
};

#define WORD(status, late, printed) "m3:s5:endedi" status ";s4:late" late "s3:outb" printed

/* Each question is asked after the word on the one before, by somebody else; then something that is no case. */
static void talk(struct world *w, const struct row *rows, size_t n)
{
	unsigned char head[CASES_HEAD];
	pid_t asker = fork();
	int status;

	if (asker == 0) {
		alarm(30);
		for (size_t i = 0; i < n; i++) {
			ask(w, rows[i].op, rows[i].question, rows[i].wall_ms, rows[i].rest ? rows[i].rest : "");
			if (!heard(w, rows[i].word))
				_exit((int)i + 1);
		}
		ask(w, 'L', 0, 0, "");
		_exit(0);
	}
	assert_int_equal(serve(w, head), 0);
	assert_int_equal(head[4], 'L');
	if (waitpid(asker, &status, 0) == asker) /* where children are ignored nobody is told */
		assert_int_equal(status, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
}

static void test_ends(void **state)
{
	static const struct row rows[] = {
		{ 'F', 'o', 10000, NULL, WORD("0", "F", "0:") },
		{ 'F', 'p', 10000, NULL, WORD("0", "F", "7:printed") },
		{ 'F', 'k', 10000, NULL, WORD("9", "F", "0:") },
		{ 'f', 'x', 10000, NULL, WORD("768", "F", "0:") },
	};
	struct world w = start();

	(void)state;
	talk(&w, rows, 4);
	assert_int_equal(*children, 4);
}

/* The child that waits for the next case goes when something else is asked. */
static void test_nobody_waits_for_long(void **state)
{
	static const struct row rows[] = { { 'F', 'o', 10000, NULL, WORD("0", "F", "0:") } };
	struct world w = start();
	unsigned char head[CASES_HEAD];

	(void)state;
	talk(&w, rows, 1);
	talk(&w, rows, 1);
	ask(&w, 'F', 'o', 10000, "");
	close(w.to);
	assert_int_equal(serve(&w, head), -1);
}

static void test_time(void **state)
{
	static const struct row rows[] = { { 'F', 's', 1, NULL, WORD("9", "T", "0:") }, { 'f', 'o', 10000, NULL, WORD("0", "F", "0:") } };
	struct world w = start();

	(void)state;
	talk(&w, rows, 2);
}

/* Who is ended before it has a question is replaced. */
static void test_next_one_is_replaced(void **state)
{
	static const struct row rows[] = { { 'F', 'n', 10000, NULL, WORD("0", "F", "0:") }, { 'f', 'o', 10000, NULL, WORD("0", "F", "0:") } };
	struct world w = start();

	(void)state;
	talk(&w, rows, 2);
	assert_int_equal(*children, 3);
}

/* The same, when it was ended too late to be noticed; but not twice. */
static void test_next_one_never_begins(void **state)
{
	static const struct row rows[] = { { 'F', 'l', 10000, NULL, WORD("0", "F", "0:") }, { 'f', 'o', 1, NULL, WORD("0", "F", "0:") } };
	struct world w = start();

	(void)state;
	talk(&w, rows, 2);
	assert_int_equal(*children, 3);
}

/* What a child has not read is nobody's: the next head begins behind it. */
static void test_question_not_read(void **state)
{
	static const struct row rows[] = { { 'F', 'k', 10000, "the rest", WORD("9", "F", "0:") }, { 'f', 'o', 10000, NULL, WORD("0", "F", "0:") } };
	struct world w = start();

	(void)state;
	talk(&w, rows, 2);
}

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

/* What a case sends to its parent waits until that is at work for somebody else again, and no child of another case hears of it. */
static void test_signals_wait(void **state)
{
	static const struct row rows[] = { { 'F', 'u', 10000, NULL, WORD("0", "F", "0:") }, { 'f', 'U', 10000, NULL, WORD("0", "F", "0:") } };
	struct world w = start();

	(void)state;
	signals = 0;
	signal(SIGUSR1, on_signal);
	talk(&w, rows, 2);
	assert_int_equal(signals, 1);
	signal(SIGUSR1, SIG_DFL);
}

/* Whoever does not want to hear of its children is not told how they ended, and goes on. */
static void test_children_ignored(void **state)
{
	static const struct row rows[] = { { 'F', 'o', 10000, NULL, WORD("-1", "F", "0:") }, { 'f', 'x', 10000, NULL, WORD("-1", "F", "0:") } };
	struct world w = start();

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	talk(&w, rows, 2);
	signal(SIGCHLD, SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),		     cmocka_unit_test(test_nobody_waits_for_long), cmocka_unit_test(test_time),
		cmocka_unit_test(test_next_one_is_replaced), cmocka_unit_test(test_next_one_never_begins), cmocka_unit_test(test_question_not_read),	   cmocka_unit_test(test_children_ignored), cmocka_unit_test(test_signals_wait),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
