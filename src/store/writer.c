/* SPDX-License-Identifier: Apache-2.0 */
/* The store of a batch. */
#include "store/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hook.h"
#include "kernel/caps.h"
#include "kernel/landlock.h"
#include "kernel/seccomp.h"
#include "store/signer.h"

/*
 * Theory of operation
 *
 * The front of a batch must not wait for the disk, and should it be taken over it must not reach the database: so a process of its own has that open.
 * It takes all receipts that have come whole, commits them in one transaction, and answers; meanwhile the next ones gather in its socket.
 * A result is given out when its answer has come. Before it takes the first byte it has given up everything but its descriptors.
 */

#define MAGIC	       0x74706352U
#define MAGIC_END      0x646e4552U
#define FLAG_CODE      1U
#define FLAG_KEEP      2U
#define FLAG_CLIENT    4U
#define FLAG_LANGUAGE  8U
#define GROUP_MAX      512
#define BUSY_START_MS  5000
#define BUSY_MS	       10000
#define BUSY_AGAIN_MS  200
#define READ_BYTES     (1U << 20)
#define TIDY_PAGES     2000 /* 8 MiB of log */
#define TIDY_END_PAGES 64   /* whoever comes next reads it first */

/* ---- the wire ---- */

int writer_put(const struct receipt *r, struct buf *out)
{
	struct writer_head h = { .magic = MAGIC, .time_ms = r->time_ms };
	bool send_code = r->has_code && r->keep_code;

	memcpy(h.id, r->id, sizeof(h.id));
	memcpy(h.status, r->status, sizeof(h.status));
	memcpy(h.reason, r->reason, sizeof(h.reason));
	memcpy(h.code_hash, r->code_hash, sizeof(h.code_hash));
	h.flags = (r->has_code ? FLAG_CODE : 0) | (send_code ? FLAG_KEEP : 0) | (r->client ? FLAG_CLIENT : 0) |
		  (r->language ? FLAG_LANGUAGE : 0);
	h.client_len = r->client ? (uint32_t)strlen(r->client) + 1 : 0;
	h.language_len = r->language ? (uint32_t)strlen(r->language) + 1 : 0;
	h.code_len = send_code ? (uint32_t)r->code_len : 0;
	for (int i = 0; i < 3; i++)
		h.part_len[i] = (uint32_t)r->part_len[i];
	buf_add(out, &h, sizeof(h));
	buf_add(out, r->client ? r->client : "", h.client_len);
	buf_add(out, r->language ? r->language : "", h.language_len);
	for (int i = 0; i < 3; i++)
		buf_add(out, r->part[i], h.part_len[i]);
	return buf_add(out, r->code ? r->code : "", h.code_len);
}

int writer_put_end(struct buf *out)
{
	struct writer_head h = { .magic = MAGIC_END };

	return buf_add(out, &h, sizeof(h));
}

static bool is_text(const char *field, size_t size)
{
	return memchr(field, '\0', size) != NULL;
}

/* One receipt at the beginning of `data`: its length, 0 when it is not whole yet, -1 when it is none (or the end). Its pointers are into `data`. */
static ssize_t take(const char *data, size_t len, struct receipt *r)
{
	struct writer_head h;
	const char *at = data + sizeof(h);
	size_t total = sizeof(h);

	if (len < sizeof(h))
		return 0;
	memcpy(&h, data, sizeof(h));
	if (h.magic != MAGIC || !is_text(h.id, sizeof(h.id)) || !is_text(h.status, sizeof(h.status)) ||
	    !is_text(h.reason, sizeof(h.reason)) || h.client_len > RECEIPT_NAME_MAX * 4 ||
	    h.language_len > RECEIPT_NAME_MAX * 4 || h.code_len > RECEIPT_CODE_MAX)
		return -1;
	total += h.client_len + h.language_len + (size_t)h.code_len;
	for (int i = 0; i < 3; i++) {
		if (h.part_len[i] > RECEIPT_BODY_MAX)
			return -1;
		total += h.part_len[i];
	}
	if (len < total)
		return 0;
	*r = (struct receipt){
		.time_ms = h.time_ms, .has_code = h.flags & FLAG_CODE, .keep_code = h.flags & FLAG_KEEP, .code_len = h.code_len
	};
	memcpy(r->id, h.id, sizeof(h.id));
	memcpy(r->status, h.status, sizeof(h.status));
	memcpy(r->reason, h.reason, sizeof(h.reason));
	memcpy(r->code_hash, h.code_hash, sizeof(h.code_hash));
	if ((h.flags & FLAG_CLIENT && (!h.client_len || at[h.client_len - 1])) ||
	    (h.flags & FLAG_LANGUAGE && (!h.language_len || at[h.client_len + h.language_len - 1])))
		return -1;
	r->client = h.flags & FLAG_CLIENT ? at : NULL;
	at += h.client_len;
	r->language = h.flags & FLAG_LANGUAGE ? at : NULL;
	at += h.language_len;
	for (int i = 0; i < 3; i++) {
		r->part[i] = at;
		r->part_len[i] = h.part_len[i];
		at += h.part_len[i];
	}
	r->code = at;
	return (ssize_t)total;
}

/* ---- the process ---- */

struct writer {
	int sock, notary;
	struct store store;
	struct buf in;
	size_t unsigned_count;
	uint64_t signed_ns;
	bool ended;
};

/* What has come, at least something unless `wait_ms` have passed. */
static int gather(struct writer *w, int wait_ms)
{
	struct pollfd p = { .fd = w->sock, .events = POLLIN };
	static char block[READ_BYTES];
	int ready = poll(&p, 1, wait_ms);

	if (ready == 0)
		return 0;
	if (ready < 0)
		return errno == EINTR ? 0 : -1;
	for (;;) {
		ssize_t n = recv(w->sock, block, sizeof(block), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		if (n == 0) {
			w->ended = true;
			return 0;
		}
		if (buf_add(&w->in, block, (size_t)n) < 0)
			return -1;
		/* Enough for one group; the rest waits in the socket. */
		if (w->in.len >= READ_BYTES * 4)
			return 0;
	}
}

static int reply(struct writer *w, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = send(w->sock, at, len, MSG_NOSIGNAL);
		struct pollfd p = { .fd = w->sock, .events = POLLOUT };

		if (n < 0 && errno == EAGAIN)
			poll(&p, 1, -1);
		else if (n < 0 && errno != EINTR)
			return -1;
		else if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int acknowledge(struct writer *w, const struct receipt_place *at, uint32_t count, const struct err *e)
{
	static char text[sizeof(struct writer_ack) + GROUP_MAX * DIGEST_SIZE];
	struct writer_ack a = { .seq = at ? at[0].seq : 0, .count = count, .failed = at == NULL };
	size_t len = sizeof(a);

	if (e)
		a.err = *e;
	memcpy(text, &a, sizeof(a));
	for (uint32_t i = 0; at && i < count; i++, len += DIGEST_SIZE)
		memcpy(text + len, at[i].hash, DIGEST_SIZE);
	return reply(w, text, len);
}

/* Commits everything that is there whole. */
static int commit_all(struct writer *w)
{
	static struct receipt group[GROUP_MAX];
	static struct receipt_place at[GROUP_MAX];
	size_t used = 0;

	for (;;) {
		struct err e = { 0 };
		uint32_t n = 0;
		ssize_t len = 1;
		bool good;

		while (n < GROUP_MAX && (len = take(w->in.data ? w->in.data + used : "", w->in.len - used, &group[n])) > 0) {
			used += (size_t)len;
			n++;
		}
		/* The end, or nonsense: there is nobody to talk to any more. */
		if (!n && len < 0)
			return -1;
		if (!n)
			break;
		good = store_append(&w->store, group, n, at, &e) == 0;
		/* One that waited in vain keeps the next ones waiting less. */
		store_set_busy(&w->store, good ? BUSY_MS : BUSY_AGAIN_MS);
		if (acknowledge(w, good ? at : NULL, n, good ? NULL : &e) < 0 && !good)
			return -1;
		w->unsigned_count += good ? n : 0;
	}
	if (used) {
		memmove(w->in.data, w->in.data + used, w->in.len - used);
		w->in.len -= used;
		if (w->in.cap > READ_BYTES * 8 && !w->in.len)
			buf_done(&w->in);
	}
	return 0;
}

static void sign(struct writer *w)
{
	struct checkpoint c;
	struct err e = { 0 };

	w->unsigned_count = 0;
	w->signed_ns = clock_mono_ns();
	if (w->notary < 0 || signer_sign(w->notary, &w->store, &c, &e) == 0)
		return;
	/* The front tells it, once. A notary that is gone stays gone. */
	acknowledge(w, NULL, 0, &e);
	if (e.kind != ERR_SETUP)
		return;
	fd_close(&w->notary);
}

static bool is_due(const struct writer *w)
{
	return w->unsigned_count >= SIGNER_RECEIPTS ||
	       (w->unsigned_count && clock_mono_ns() - w->signed_ns >= SIGNER_INTERVAL_MS * NS_PER_MS);
}

static void serve(struct writer *w)
{
	w->signed_ns = clock_mono_ns();
	while (!w->ended) {
		if (gather(w, w->unsigned_count ? SIGNER_INTERVAL_MS : -1) < 0 || commit_all(w) < 0)
			break;
		store_trim_code(&w->store, is_due(w));
		store_tidy(&w->store, TIDY_PAGES, false);
		if (is_due(w))
			sign(w);
	}
	if (w->unsigned_count)
		sign(w);
	store_trim_code(&w->store, true);
	store_tidy(&w->store, TIDY_END_PAGES, true);
}

/* Everything that it will ever need is open. */
static int confine(struct err *e)
{
	int abi = landlock_abi();
	auto_close int rules = -1;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "hide the store's memory");
	if (caps_no_new_privs(e) < 0)
		return -1;
	if (abi) {
		rules = landlock_new(abi, e);
		if (rules < 0 || landlock_enforce(rules, e) < 0)
			return -1;
	}
	if (caps_set(0, e) < 0)
		return -1;
	return hook_disabled("store_seccomp") ? 0 : seccomp_load_store(e);
}

/* The end of the chain once: SQLite opens its log and its index now, while it may. */
static int warm_up(struct store *s, struct err *e)
{
	struct receipt_place last;

	return store_probe(s, e) < 0 || store_last(s, &last, e) < 0 ? -1 : 0;
}

static void close_others(const int *keep, size_t n)
{
	int low = 3;

	/* In order of their numbers; few. */
	for (;;) {
		int next = -1;

		for (size_t i = 0; i < n; i++)
			if (keep[i] >= low && (next < 0 || keep[i] < next))
				next = keep[i];
		if (next < 0)
			break;
		if (next > low)
			close_range((unsigned)low, (unsigned)next - 1, 0);
		low = next + 1;
	}
	close_range((unsigned)low, ~0U, 0);
}

static _Noreturn void become_store(const char *dir, int sock, int notary)
{
	static struct writer w;
	struct err e = { 0 };
	int keep[2] = { sock, notary }, null;
	sigset_t all;

	/* Ctrl-C is the front's; we end when it is gone. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "belljar-store");
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	close_others(keep, 2);
	w.sock = sock;
	w.notary = notary;
	w.in.max = (RECEIPT_CODE_MAX + RECEIPT_BODY_MAX * 4UL) * 2;
	/* Opened here: SQLite's locks do not live through a fork. */
	if (store_open(&w.store, dir, true, BUSY_START_MS, &e) < 0 || warm_up(&w.store, &e) < 0 || confine(&e) < 0) {
		acknowledge(&w, NULL, 0, &e);
		_exit(1);
	}
	acknowledge(&w, NULL, 0, NULL);
	store_set_busy(&w.store, BUSY_MS);
	serve(&w);
	_exit(0);
}

int writer_start(const char *dir, int notary, struct err *e)
{
	struct writer_ack a;
	int sock[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make the store's socket");
	pid = fork();
	if (pid == 0)
		become_store(dir, sock[1], notary);
	close(sock[1]);
	if (pid < 0) {
		close(sock[0]);
		return err_sys(e, "start the store");
	}
	if (fd_read_all(sock[0], &a, sizeof(a)) != 0) {
		close(sock[0]);
		return err_set(e, ERR_SETUP, "the store of receipts ended unexpectedly");
	}
	if (a.err.msg[0]) {
		close(sock[0]);
		*e = a.err;
		return -1;
	}
	fcntl(sock[0], F_SETFL, O_NONBLOCK);
	return sock[0];
}
