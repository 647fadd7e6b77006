/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of a candidate, each in a process of its own. */
#include "guest/cases.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define OP	     4	/* in a head: after the length */
#define NONCE	     5
#define WALL	     17 /* the last four bytes of the nonce: for how long its child may take, in ms */
#define CASE	     'F'
#define LAST_CASE    'f' /* no other is known to follow */
#define GRACE_MS     1000
#define ANSWER_EXTRA 128 /* of the last word, besides what was printed */

static uint32_t number(const unsigned char *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

size_t cases_length(const unsigned char head[static CASES_HEAD])
{
	return number(head) - (CASES_HEAD - 4);
}

uint32_t cases_wall_ms(const unsigned char head[static CASES_HEAD])
{
	return number(head + WALL);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Whether there is something to read before the time is over. */
static bool ready(int fd, int64_t ms)
{
	int64_t end = now_ms() + ms;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	for (;;) {
		int64_t left = end - now_ms();

		n = poll(&p, 1, left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left);
		if (n > 0 || (n < 0 && errno != EINTR) || left <= 0)
			return n > 0;
	}
}

/* The status as waitpid(2) has it; -1: somebody else was told, since the solution does not want to hear of its children. */
static int end_of(struct cases_child *k)
{
	int status = -1;

	while (!ready(k->pidfd, INT32_MAX))
		;
	if (waitpid(k->pid, &status, WNOHANG) != k->pid)
		status = -1;
	close(k->pidfd);
	close(k->go);
	k->pid = 0;
	return status;
}

static void discard(struct cases_child *k)
{
	if (!k->pid)
		return;
	kill(k->pid, SIGKILL);
	end_of(k);
}

/* 1 in the child, when it has got its head; 0 in the parent; -1: there can be no child. */
static int fork_next(struct cases *c, unsigned char *head)
{
	struct cases_child *k = &c->next;
	int go[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0)
		return -1;
	k->pid = fork();
	if (k->pid == 0) {
		close(go[1]);
		if (c->in_child)
			c->in_child();
		if (fd_read_all(go[0], head, CASES_HEAD) != 0)
			_exit(0); /* nobody needs us */
		close(go[0]);
		return 1;
	}
	close(go[0]);
	k->go = go[1];
	k->pidfd = k->pid > 0 ? (int)syscall(SYS_pidfd_open, k->pid, 0) : -1;
	if (k->pid > 0 && k->pidfd >= 0)
		return 0;
	if (k->pid > 0) {
		kill(k->pid, SIGKILL);
		waitpid(k->pid, NULL, 0);
	}
	close(k->go);
	k->pid = 0;
	return -1;
}

size_t cases_printed(int fd, char *out, size_t size)
{
	ssize_t n;

	if (fd < 0 || lseek(fd, 0, SEEK_CUR) <= 0)
		return 0;
	n = pread(fd, out, size, 0);
	if (lseek(fd, 0, SEEK_SET) < 0 || ftruncate(fd, 0) < 0 || n < 0)
		return 0;
	return (size_t)n;
}

/* The parent's word on one case, in the form of data.py. */
static int say_ended(const struct cases *c, const unsigned char *nonce, int status, bool late)
{
	static char answer[CASES_PRINTED_MAX + ANSWER_EXTRA];
	static char printed[CASES_PRINTED_MAX];
	size_t n = cases_printed(c->capture, printed, sizeof(printed)), len;

	memcpy(answer + 4, nonce, 16);
	len = 20 + (size_t)snprintf(answer + 20, ANSWER_EXTRA - 20, "m3:s5:endedi%d;s4:late%cs3:outb%zu:", status, late ? 'T' : 'F', n);
	memcpy(answer + len, printed, n);
	len += n;
	for (int i = 0; i < 4; i++)
		answer[i] = (char)((len - 4) >> 8 * i);
	return fd_write_all(c->out, answer, len);
}

/* It ended before it had read its question. The next one comes only after our word. */
static bool drop_question(int inp)
{
	char waste[4096];

	while (ready(inp, 0)) {
		ssize_t n = read(inp, waste, sizeof(waste));

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
	}
	return true;
}

enum step {
	STEP_DONE,  /* the case is over */
	STEP_CHILD, /* here is its child */
	STEP_NO,    /* it can have no child */
	STEP_END,   /* nobody listens any more */
	STEP_AGAIN, /* its child was ended before it had begun */
};

/* Nobody has read of the question, and it is all there. */
static bool unread(int inp, const unsigned char *head)
{
	int waiting = 0;

	return ioctl(inp, FIONREAD, &waiting) == 0 && waiting > 0 && (size_t)waiting == cases_length(head);
}

/* One try of a case. Whoever was there before its question may have been ended by the case before it: then it gets another child. */
static enum step try_case(struct cases *c, unsigned char *head, bool again)
{
	int64_t patience = (int64_t)cases_wall_ms(head) + GRACE_MS;
	unsigned char own[CASES_HEAD];
	bool waited, late;
	struct cases_child k;
	int rc, status;

	memcpy(own, head, CASES_HEAD);
	if (c->next.pid && ready(c->next.pidfd, 0))
		discard(&c->next);
	waited = c->next.pid != 0;
	rc = waited ? 0 : fork_next(c, head);
	if (rc)
		return rc > 0 ? STEP_CHILD : STEP_NO;
	k = c->next;
	c->next.pid = 0;
	(void)!send(k.go, own, CASES_HEAD, MSG_NOSIGNAL); /* it may be dead by now */
	/* While it is at work. If there can be no next one now, there may be one when it is needed. */
	if (own[OP] == CASE && fork_next(c, head) > 0) {
		close(k.go);
		close(k.pidfd);
		return STEP_CHILD;
	}
	late = !ready(k.pidfd, patience);
	if (late)
		kill(k.pid, SIGKILL);
	status = end_of(&k);
	if (status && waited && !again && unread(c->inp, own))
		return STEP_AGAIN;
	if (status && !drop_question(c->inp))
		return STEP_END;
	return say_ended(c, own + NONCE, status, late) < 0 ? STEP_END : STEP_DONE;
}

static enum step one_case(struct cases *c, unsigned char *head)
{
	enum step step = try_case(c, head, false);

	return step == STEP_AGAIN ? try_case(c, head, true) : step;
}

int cases_serve(struct cases *c, unsigned char head[static CASES_HEAD])
{
	enum step step = STEP_DONE;
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	while (step == STEP_DONE && (head[OP] == CASE || head[OP] == LAST_CASE)) {
		step = one_case(c, head);
		if (step == STEP_DONE && fd_read_all(c->inp, head, CASES_HEAD) != 0)
			step = STEP_END;
	}
	if (step == STEP_CHILD)
		head[OP] = CASES_CHILD;
	else
		discard(&c->next); /* what comes now, if anything, changes the solution */
	sigprocmask(SIG_SETMASK, &before, NULL);
	return step == STEP_END ? -1 : 0;
}
