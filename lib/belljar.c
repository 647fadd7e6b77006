/* SPDX-License-Identifier: Apache-2.0 */
/* libbelljar: a client of `belljar batch -`, with nothing but libc. */
#include "belljar.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * The child reads lines from a socket (so that a write to a dead one is an error and no signal) and writes results, as they finish, to a pipe; each has the
 * number of its line, which is the ticket. There is no thread of our own: whoever waits moves the bytes, one at a time (`pumping`), and the others wait for
 * him. He polls without the lock; `wake` gets him out of that when somebody has put something down that he does not wait to write.
 */

#define API	     __attribute__((visibility("default")))
#define UNSENT_MAX   (8U << 20) /* of requests that the child has not read: past it belljar_submit() waits */
#define BLOCK	     65536
#define READ_ROUND   (1U << 20) /* bytes before the lock is given away */
#define BUCKETS	     1024
#define LAST_WORDS   400	/* kept of its standard error */
#define CALL_OFF_MS  100	/* between two signals at the end */
#define PATIENCE_MS  30000	/* then it is killed */
#define MEMORY	     "no memory"

enum { TO, FROM, WORDS, WAKE, CHILD, FDS }; /* ends of ours: requests, results, its standard error, an eventfd, a pidfd */

struct entry {
	struct entry *same;	   /* of its bucket */
	struct entry *next, *prev; /* of those that are finished and waited for by nobody */
	int64_t ticket;
	bool waited, listed;
	char *json;		   /* NULL: not there yet */
	size_t len;
};

struct text {
	char *data;
	size_t len, cap, at; /* at: what of it was dealt with */
};

struct belljar {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool pumping;
	pid_t pid;
	int fd[FDS];
	struct text to, from;
	size_t seen; /* of `from`: there is no end of a line before */
	char words[LAST_WORDS + 1];
	size_t words_len;
	int64_t last_ticket;
	size_t outstanding, free_running; /* without a result; those of them that nobody waits for by ticket */
	struct entry *bucket[BUCKETS];
	struct entry *first, *last;
	bool reaped;
	int status;
	char dead[600]; /* why nothing will come any more; "" while it lives */
};

static _Thread_local char last_error[700];

__attribute__((format(printf, 1, 2))) static int fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last_error, sizeof(last_error), fmt, ap);
	va_end(ap);
	return -1;
}

API const char *belljar_error(void)
{
	return last_error[0] ? last_error : "no error";
}

API void belljar_free(char *result)
{
	free(result);
}

/* ---- memory ---- */

static int text_room(struct text *t, size_t more)
{
	size_t cap = t->cap ? t->cap : BLOCK;
	char *data;

	if (t->at && t->at == t->len)
		t->at = t->len = 0;
	if (t->at > t->len / 2 && t->at > BLOCK) {
		memmove(t->data, t->data + t->at, t->len - t->at);
		t->len -= t->at;
		t->at = 0;
	}
	if (more > SIZE_MAX / 4 || t->len > SIZE_MAX / 4)
		return -1;
	while (cap < t->len + more)
		cap *= 2;
	if (cap == t->cap)
		return 0;
	data = realloc(t->data, cap);
	if (!data)
		return -1;
	t->data = data;
	t->cap = cap;
	return 0;
}

/* ---- entries ---- */

static struct entry **place(struct belljar *j, int64_t ticket)
{
	struct entry **e = &j->bucket[ticket % BUCKETS];

	while (*e && (*e)->ticket != ticket)
		e = &(*e)->same;
	return e;
}

static void list(struct belljar *j, struct entry *e)
{
	e->listed = true;
	e->next = NULL;
	e->prev = j->last;
	*(j->last ? &j->last->next : &j->first) = e;
	j->last = e;
}

static void unlist(struct belljar *j, struct entry *e)
{
	if (!e->listed)
		return;
	*(e->prev ? &e->prev->next : &j->first) = e->next;
	*(e->next ? &e->next->prev : &j->last) = e->prev;
	e->listed = false;
}

/* Out of everything; its result is the caller's. */
static void take(struct belljar *j, struct entry *e, char **json, size_t *len)
{
	*place(j, e->ticket) = e->same;
	unlist(j, e);
	*json = e->json;
	if (len)
		*len = e->len;
	free(e);
}

/* ---- the child ---- */

static void close_fd(struct belljar *j, int i)
{
	if (j->fd[i] >= 0)
		close(j->fd[i]);
	j->fd[i] = -1;
}

static void send_signal(struct belljar *j, int sig)
{
	if (j->reaped)
		return;
#ifdef SYS_pidfd_send_signal
	if (j->fd[CHILD] >= 0) {
		syscall(SYS_pidfd_send_signal, j->fd[CHILD], sig, NULL, 0);
		return;
	}
#endif
	kill(j->pid, sig);
}

/* True when it has ended. Somebody else's waitpid(-1) may have been there first. */
static bool reap(struct belljar *j, bool wait)
{
	pid_t got;

	if (j->reaped)
		return true;
	do
		got = waitpid(j->pid, &j->status, wait ? 0 : WNOHANG);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return false;
	if (got < 0)
		j->status = -1;
	j->reaped = true;
	return true;
}

static void read_words(struct belljar *j)
{
	char block[4096];
	ssize_t n;

	while (j->fd[WORDS] >= 0 && (n = read(j->fd[WORDS], block, sizeof(block))) != 0) {
		size_t keep = 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		if (n < LAST_WORDS) {
			keep = LAST_WORDS - (size_t)n < j->words_len ? LAST_WORDS - (size_t)n : j->words_len;
			memmove(j->words, j->words + j->words_len - keep, keep);
			memcpy(j->words + keep, block, (size_t)n);
			j->words_len = keep + (size_t)n;
		} else {
			memcpy(j->words, block + n - LAST_WORDS, LAST_WORDS);
			j->words_len = LAST_WORDS;
		}
	}
	close_fd(j, WORDS);
}

/* The child is gone, or cannot be talked to: every wait from now on says so. */
static void die(struct belljar *j, const char *why)
{
	char how[64] = "";

	if (j->dead[0])
		return;
	read_words(j);
	j->words[j->words_len] = '\0';
	for (char *p = j->words; *p; p++)
		if ((unsigned char)*p < 32)
			*p = p[1] ? ' ' : '\0';
	if (reap(j, false) && j->status != -1) {
		if (WIFEXITED(j->status))
			snprintf(how, sizeof(how), " (exit status %d)", WEXITSTATUS(j->status));
		else if (WIFSIGNALED(j->status))
			snprintf(how, sizeof(how), " (signal %d)", WTERMSIG(j->status));
	}
	snprintf(j->dead, sizeof(j->dead), "%s%s%s%s", why, how, j->words[0] ? ": " : "", j->words);
	close_fd(j, TO);
	close_fd(j, FROM);
}

/* `{"execution_id":…,"line":N,`: the number; 0: that is no result. */
static int64_t ticket_of(const char *line, size_t len)
{
	static const char head[] = "{\"execution_id\":", next[] = ",\"line\":";
	const char *p = line + sizeof(head) - 1, *end = line + len;
	int64_t n = 0;

	if (len < sizeof(head) || memcmp(line, head, sizeof(head) - 1) != 0)
		return 0;
	while (p < end && *p != ',')
		p++;
	if ((size_t)(end - p) < sizeof(next) || memcmp(p, next, sizeof(next) - 1) != 0)
		return 0;
	for (p += sizeof(next) - 1; p < end && *p >= '0' && *p <= '9' && n < INT64_MAX / 10 - 10; p++)
		n = n * 10 + (*p - '0');
	return n;
}

static int take_line(struct belljar *j, const char *line, size_t len)
{
	int64_t ticket = ticket_of(line, len);
	struct entry *e = ticket ? *place(j, ticket) : NULL;

	if (!e || e->json)
		return -1;
	e->json = malloc(len + 1);
	if (!e->json)
		return -1;
	memcpy(e->json, line, len);
	e->json[len] = '\0';
	e->len = len;
	j->outstanding--;
	if (!e->waited) {
		j->free_running--;
		list(j, e);
	}
	return 0;
}

static void take_lines(struct belljar *j)
{
	struct text *t = &j->from;
	char *end;

	while ((end = t->len > j->seen ? memchr(t->data + j->seen, '\n', t->len - j->seen) : NULL)) {
		if (take_line(j, t->data + t->at, (size_t)(end - t->data) - t->at) < 0) {
			die(j, "belljar said something that is no result of a request");
			return;
		}
		t->at = j->seen = (size_t)(end - t->data) + 1;
	}
	j->seen = t->len;
	/* A large result does not stay as a large buffer. */
	if (t->at == t->len && t->cap > (4U << 20)) {
		free(t->data);
		*t = (struct text){ 0 };
		j->seen = 0;
	}
}

/* Everything that is there. */
static void read_results(struct belljar *j)
{
	size_t got = 0;

	while (j->fd[FROM] >= 0 && got < READ_ROUND) {
		size_t at = j->from.at, len = j->from.len;
		ssize_t n;

		if (text_room(&j->from, BLOCK) < 0) {
			die(j, MEMORY);
			return;
		}
		/* It may have moved to the beginning. */
		j->seen -= j->from.len != len ? at : 0;
		n = read(j->fd[FROM], j->from.data + j->from.len, BLOCK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			/* How it ended is known when it has. */
			close_fd(j, FROM);
			if (j->fd[CHILD] < 0)
				die(j, "belljar has ended");
			return;
		}
		j->from.len += (size_t)n;
		got += (size_t)n;
		take_lines(j);
	}
}

static void write_requests(struct belljar *j)
{
	while (j->fd[TO] >= 0 && j->to.at < j->to.len) {
		ssize_t n = send(j->fd[TO], j->to.data + j->to.at, j->to.len - j->to.at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		/* It reads no more: that it ends is seen elsewhere. */
		if (n < 0) {
			close_fd(j, TO);
			break;
		}
		j->to.at += (size_t)n;
	}
	if (j->to.cap > UNSENT_MAX) {
		free(j->to.data);
		j->to = (struct text){ 0 };
	}
	j->to.at = j->to.len = 0;
}

/* Moves bytes once, or waits for who does. The lock is held before and after. */
static void pump(struct belljar *j, int timeout_ms)
{
	struct pollfd p[FDS];
	uint64_t count;

	if (j->pumping) {
		pthread_cond_wait(&j->moved, &j->lock);
		return;
	}
	j->pumping = true;
	for (int i = 0; i < FDS; i++)
		p[i] = (struct pollfd){ .fd = j->fd[i], .events = POLLIN };
	p[TO].events = 0;
	if (j->to.at < j->to.len)
		p[TO].events = POLLOUT;
	else
		p[TO].fd = -1;
	pthread_mutex_unlock(&j->lock);
	poll(p, FDS, timeout_ms);
	pthread_mutex_lock(&j->lock);
	if (p[WAKE].revents && read(j->fd[WAKE], &count, sizeof(count)) < 0)
		count = 0; /* nothing to be done about it, nothing is lost */
	if (p[WORDS].revents)
		read_words(j);
	write_requests(j);
	/* Its last results are in the pipe, even when somebody else holds the other end. */
	read_results(j);
	if (p[CHILD].revents) {
		size_t before;

		reap(j, false);
		do {
			before = j->outstanding;
			read_results(j);
		} while (!j->dead[0] && j->outstanding != before);
		die(j, "belljar has ended");
	}
	j->pumping = false;
	pthread_cond_broadcast(&j->moved);
}

static void wake(struct belljar *j)
{
	uint64_t one = 1;

	if (j->pumping && write(j->fd[WAKE], &one, sizeof(one)) < 0)
		return; /* it is awake already */
}

/* ---- starting ---- */

/* No end of ours is one of a program's first three, even where the caller has closed those. */
static int above(int fd)
{
	int up;

	if (fd < 0 || fd > 2)
		return fd;
	up = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return up;
}

struct ends {
	int in, out, words; /* the child's */
};

static int make_channels(struct belljar *j, struct ends *c)
{
	int s[2] = { -1, -1 }, o[2] = { -1, -1 }, w[2] = { -1, -1 };

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) < 0)
		return fail("make a socket: %s", strerror(errno));
	j->fd[TO] = above(s[0]);
	c->in = above(s[1]);
	if (pipe2(o, O_CLOEXEC) == 0) {
		j->fd[FROM] = above(o[0]);
		c->out = above(o[1]);
	}
	if (pipe2(w, O_CLOEXEC) == 0) {
		j->fd[WORDS] = above(w[0]);
		c->words = above(w[1]);
	}
	j->fd[WAKE] = above(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (j->fd[TO] < 0 || c->in < 0 || j->fd[FROM] < 0 || c->out < 0 || j->fd[WORDS] < 0 || c->words < 0 || j->fd[WAKE] < 0)
		return fail("make pipes: %s", strerror(errno));
	fcntl(j->fd[FROM], F_SETFL, O_NONBLOCK);
	fcntl(j->fd[WORDS], F_SETFL, O_NONBLOCK);
	return 0;
}

/* With signals as a program expects them, and a group of its own: the terminal's Ctrl-C is the caller's. */
static int spawn(struct belljar *j, const char *program, char *const *argv, const struct ends *c)
{
	static const int usual[] = { SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGQUIT };
	extern char **environ;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, defaults;
	int rc;

	sigemptyset(&none);
	sigemptyset(&defaults);
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		sigaddset(&defaults, usual[i]);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return fail(MEMORY);
	if (posix_spawnattr_init(&attr) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return fail(MEMORY);
	}
	rc = posix_spawn_file_actions_adddup2(&actions, c->in, 0);
	rc = rc ? rc : posix_spawn_file_actions_adddup2(&actions, c->out, 1);
	rc = rc ? rc : posix_spawn_file_actions_adddup2(&actions, c->words, 2);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setsigmask(&attr, &none);
	rc = rc ? rc : posix_spawnp(&j->pid, program, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		return fail("start %s: %s%s", program, strerror(rc), rc == ENOENT ? "; name it in the options or in the variable BELLJAR" : "");
#ifdef SYS_pidfd_open
	j->fd[CHILD] = above((int)syscall(SYS_pidfd_open, j->pid, 0));
#endif
	return 0;
}

static int start(struct belljar *j, const struct belljar_options *o)
{
	const char *given = o->program ? o->program : getenv("BELLJAR"), *program = given && *given ? given : "belljar";
	struct ends c = { -1, -1, -1 };
	size_t n = 0, i = 0;
	char jobs[32];
	const char **argv;
	int rc;

	while (o->args && o->args[n])
		n++;
	argv = calloc(n + 8, sizeof(*argv));
	if (!argv)
		return fail(MEMORY);
	argv[i++] = "belljar";
	argv[i++] = "batch";
	argv[i++] = "--unordered";
	if (o->jobs) {
		snprintf(jobs, sizeof(jobs), "-j%u", o->jobs);
		argv[i++] = jobs;
	}
	for (size_t k = 0; k < n; k++)
		argv[i++] = o->args[k];
	argv[i] = "-";
	rc = make_channels(j, &c);
	if (rc == 0)
		rc = spawn(j, program, (char *const *)(void *)argv, &c);
	if (c.in >= 0)
		close(c.in);
	if (c.out >= 0)
		close(c.out);
	if (c.words >= 0)
		close(c.words);
	free(argv);
	return rc;
}

static void release(struct belljar *j)
{
	for (int i = 0; i < FDS; i++)
		close_fd(j, i);
	for (size_t b = 0; b < BUCKETS; b++)
		while (j->bucket[b]) {
			struct entry *e = j->bucket[b];

			j->bucket[b] = e->same;
			free(e->json);
			free(e);
		}
	free(j->to.data);
	free(j->from.data);
	pthread_mutex_destroy(&j->lock);
	pthread_cond_destroy(&j->moved);
	free(j);
}

API struct belljar *belljar_open(const struct belljar_options *options)
{
	static const struct belljar_options none;
	struct belljar *j = calloc(1, sizeof(*j));

	if (!j) {
		fail(MEMORY);
		return NULL;
	}
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->moved, NULL);
	for (int i = 0; i < FDS; i++)
		j->fd[i] = -1;
	if (start(j, options ? options : &none) < 0) {
		release(j);
		return NULL;
	}
	return j;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

API void belljar_close(struct belljar *j)
{
	uint64_t end = now_ms() + PATIENCE_MS, said = 0;

	if (!j)
		return;
	pthread_mutex_lock(&j->lock);
	close_fd(j, TO);
	while (!reap(j, false)) {
		uint64_t now = now_ms();

		/* The first one stops it, the next calls off what runs. Nothing under way: it ends by itself, and at once. */
		if ((j->outstanding || j->dead[0]) && now - said >= CALL_OFF_MS) {
			send_signal(j, now < end ? SIGTERM : SIGKILL);
			said = now;
		} else if (now >= end) {
			send_signal(j, SIGKILL);
		}
		if (j->dead[0]) {
			/* What it still says is for nobody, and it has nobody to wait for. */
			struct pollfd p = { .fd = j->fd[CHILD], .events = POLLIN };

			poll(&p, 1, j->fd[CHILD] >= 0 ? CALL_OFF_MS : 5);
		} else {
			pump(j, j->fd[CHILD] >= 0 ? CALL_OFF_MS : 5);
		}
	}
	pthread_mutex_unlock(&j->lock);
	release(j);
}

/* ---- requests ---- */

static bool is_blank(const char *s, size_t len)
{
	while (len && strchr(" \t\r\n", *s) && *s) {
		s++;
		len--;
	}
	return !len;
}

/* Puts a request down, with its ticket. The lock is held. */
static struct entry *put(struct belljar *j, const char *json, size_t len)
{
	struct entry *e = NULL;
	char *at;

	while (!j->dead[0] && j->to.len - j->to.at > UNSENT_MAX)
		pump(j, -1);
	if (j->dead[0]) {
		fail("%s", j->dead);
		return NULL;
	}
	e = calloc(1, sizeof(*e));
	if (!e || text_room(&j->to, len + 1) < 0) {
		free(e);
		fail(MEMORY);
		return NULL;
	}
	at = j->to.data + j->to.len;
	memcpy(at, json, len);
	/* Between the parts of an object the end of a line is space; inside of a text it cannot stand. */
	for (size_t i = 0; i < len; i++)
		if (at[i] == '\n' || at[i] == '\r')
			at[i] = ' ';
	at[len] = '\n';
	j->to.len += len + 1;
	e->ticket = ++j->last_ticket;
	*place(j, e->ticket) = e;
	j->outstanding++;
	j->free_running++;
	write_requests(j);
	if (j->to.at < j->to.len)
		wake(j);
	return e;
}

API int64_t belljar_submit(struct belljar *j, const char *json, size_t len)
{
	struct entry *e;
	int64_t ticket;

	if (is_blank(json, len))
		return fail("a request is empty");
	pthread_mutex_lock(&j->lock);
	e = put(j, json, len);
	ticket = e ? e->ticket : -1;
	pthread_mutex_unlock(&j->lock);
	return ticket;
}

static void claim(struct belljar *j, struct entry *e)
{
	e->waited = true;
	if (!e->json)
		j->free_running--;
	unlist(j, e);
}

/* Waits for an entry that is claimed. The lock is held. */
static int wait_entry(struct belljar *j, struct entry *e, char **result, size_t *len)
{
	int rc = 0;

	while (!e->json && !j->dead[0])
		pump(j, -1);
	if (!e->json) {
		rc = fail("%s", j->dead);
		j->outstanding--;
	}
	take(j, e, result, len);
	return rc;
}

API int belljar_wait(struct belljar *j, int64_t ticket, char **result, size_t *len)
{
	struct entry *e;
	int rc;

	*result = NULL;
	pthread_mutex_lock(&j->lock);
	e = ticket > 0 ? *place(j, ticket) : NULL;
	if (!e || e->waited) {
		rc = fail("nobody has ticket %lld, or its result was taken already", (long long)ticket);
	} else {
		claim(j, e);
		rc = wait_entry(j, e, result, len);
	}
	pthread_mutex_unlock(&j->lock);
	return rc;
}

API int64_t belljar_next(struct belljar *j, char **result, size_t *len)
{
	int64_t ticket = 0;

	*result = NULL;
	pthread_mutex_lock(&j->lock);
	while (!j->first && !j->dead[0] && j->free_running)
		pump(j, -1);
	if (j->first) {
		ticket = j->first->ticket;
		take(j, j->first, result, len);
	} else if (j->free_running) {
		ticket = fail("%s", j->dead);
	}
	pthread_mutex_unlock(&j->lock);
	return ticket;
}

API char *belljar_run(struct belljar *j, const char *json, size_t len, size_t *result_len)
{
	char *result = NULL;
	struct entry *e;

	if (is_blank(json, len)) {
		fail("a request is empty");
		return NULL;
	}
	pthread_mutex_lock(&j->lock);
	e = put(j, json, len);
	if (e) {
		claim(j, e);
		wait_entry(j, e, &result, result_len);
	}
	pthread_mutex_unlock(&j->lock);
	return result;
}

API char *belljar_test(struct belljar *j, const char *json, size_t len, const char *test, size_t test_len, size_t *result_len)
{
	static const char name[] = "\"test\":";
	char *line, *result;
	size_t n;

	while (len && json[len - 1] && strchr(" \t\r\n", json[len - 1]))
		len--;
	if (!len || json[len - 1] != '}' || is_blank(test, test_len)) {
		fail("a request must be an object, and so must its test");
		return NULL;
	}
	n = len - 1;
	line = malloc(len + test_len + sizeof(name) + 2);
	if (!line) {
		fail(MEMORY);
		return NULL;
	}
	memcpy(line, json, n);
	while (n && line[n - 1] && strchr(" \t\r\n", line[n - 1]))
		n--;
	/* An empty object has no field before it. */
	if (n && line[n - 1] != '{')
		line[n++] = ',';
	memcpy(line + n, name, sizeof(name) - 1);
	n += sizeof(name) - 1;
	memcpy(line + n, test, test_len);
	n += test_len;
	line[n++] = '}';
	result = belljar_run(j, line, n, result_len);
	free(line);
	return result;
}

/* ---- other commands ---- */

/* One read of what is there; false at its end. */
static bool read_some(int fd, struct text *t)
{
	ssize_t n;

	if (text_room(t, BLOCK + 1) < 0)
		return false;
	n = read(fd, t->data + t->len, BLOCK);
	if (n > 0)
		t->len += (size_t)n;
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* All that it says, and how it ended. */
static int listen_to(struct belljar *j, struct text *out, struct text *words)
{
	int status = 0;

	while (j->fd[FROM] >= 0 || j->fd[WORDS] >= 0) {
		struct pollfd p[2] = { { j->fd[FROM], POLLIN, 0 }, { j->fd[WORDS], POLLIN, 0 } };

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		if (p[0].revents && !read_some(j->fd[FROM], out))
			close_fd(j, FROM);
		if (p[1].revents && !read_some(j->fd[WORDS], words))
			close_fd(j, WORDS);
	}
	while (waitpid(j->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

API char *belljar_command(const struct belljar_options *options, const char *const *words, int *status, size_t *len)
{
	const char *given = options && options->program ? options->program : getenv("BELLJAR"), *program = given && *given ? given : "belljar";
	struct belljar j = { .fd = { -1, -1, -1, -1, -1 } };
	struct ends c = { -1, -1, -1 };
	struct text out = { 0 }, said = { 0 };
	const char **argv;
	size_t n = 0;
	int rc, ended = -1;

	last_error[0] = '\0';
	while (words && words[n])
		n++;
	argv = calloc(n + 2, sizeof(*argv));
	if (!argv) {
		fail(MEMORY);
		return NULL;
	}
	argv[0] = "belljar";
	for (size_t i = 0; i < n; i++)
		argv[i + 1] = words[i];
	rc = make_channels(&j, &c);
	if (rc == 0)
		rc = spawn(&j, program, (char *const *)(void *)argv, &c);
	for (int i = 0; i < 3; i++) {
		int fd = i == 0 ? c.in : i == 1 ? c.out : c.words;

		if (fd >= 0)
			close(fd);
	}
	close_fd(&j, TO);
	if (rc == 0)
		ended = listen_to(&j, &out, &said);
	for (int i = 0; i < FDS; i++)
		close_fd(&j, i);
	free(argv);
	if (rc == 0 && (ended < 0 || !WIFEXITED(ended) || WEXITSTATUS(ended) > 1)) {
		while (said.len && said.data[said.len - 1] == '\n')
			said.len--;
		rc = fail("belljar ended with status %d: %.*s", ended < 0 || !WIFEXITED(ended) ? -1 : WEXITSTATUS(ended), (int)(said.len < 600 ? said.len : 600), said.data ? said.data : "");
	}
	if (rc == 0 && text_room(&out, 1) < 0)
		rc = fail(MEMORY);
	free(said.data);
	if (rc < 0) {
		free(out.data);
		return NULL;
	}
	out.data[out.len] = '\0';
	if (status)
		*status = WEXITSTATUS(ended);
	if (len)
		*len = out.len;
	return out.data;
}
