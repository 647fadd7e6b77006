/* SPDX-License-Identifier: Apache-2.0 */
/* Receipts of runs whose results are told later: put down as they come, waited for before anything of them is said. */
#include "run/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/account.h"
#include "store/writer.h"

#define END_MS 10000

static void lost(struct ledger *l, const struct err *e)
{
	if (!l->failed)
		l->err = *e;
	l->failed = true;
}

/* Nobody will answer any more. */
static void gone(struct ledger *l)
{
	struct err e = { 0 };

	watch_close(&l->store);
	if (l->settled < l->put || !l->ending) {
		err_set(&e, ERR_SETUP, "the store of receipts ended unexpectedly");
		err_hint(&e, "belljar audit verify; --audit best-effort goes on without receipts");
		lost(l, &e);
	}
	l->settled = l->put;
}

static void send_all(struct ledger *l)
{
	while (l->store.fd >= 0 && l->sent < l->to.len) {
		ssize_t n = write(l->store.fd, l->to.data + l->sent, l->to.len - l->sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			loop_want(l->loop, &l->store, EPOLLIN | EPOLLOUT);
			return;
		}
		if (n < 0) {
			gone(l);
			return;
		}
		l->sent += (size_t)n;
	}
	l->to.len = l->sent = 0;
	if (l->store.fd >= 0)
		loop_want(l->loop, &l->store, EPOLLIN);
}

/* One answer at the beginning of `data`: its length, 0 when it is not whole yet. */
static size_t take_ack(struct ledger *l, const char *data, size_t len)
{
	struct writer_ack a;
	size_t total = sizeof(a);

	if (len < sizeof(a))
		return 0;
	memcpy(&a, data, sizeof(a));
	total += a.failed ? 0 : (size_t)a.count * DIGEST_SIZE;
	if (len < total)
		return 0;
	l->settled += a.count;
	if (a.count && a.failed)
		lost(l, &a.err);
	return total;
}

static void on_store(struct watch *w, uint32_t events)
{
	static char block[65536];
	struct ledger *l = CONTAINER_OF(w, struct ledger, store);
	size_t used = 0, len;
	ssize_t n;

	if (events & EPOLLOUT)
		send_all(l);
	if (w->fd < 0 || !(events & ~(uint32_t)EPOLLOUT))
		return;
	n = read(w->fd, block, sizeof(block));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || buf_add(&l->from, block, (size_t)n) < 0) {
		gone(l);
		return;
	}
	while ((len = take_ack(l, l->from.data + used, l->from.len - used)))
		used += len;
	memmove(l->from.data, l->from.data + used, l->from.len - used);
	l->from.len -= used;
}

void ledger_begin(struct ledger *l, struct loop *loop, const struct ledger_setup *s)
{
	memset(l, 0, sizeof(*l));
	l->loop = loop;
	l->mode = s->mode;
	l->store = (struct watch){ .fd = s->mode == AUDIT_OFF ? -1 : s->store, .ready = on_store };
	l->to.max = l->from.max = SIZE_MAX / 2;
	l->text.max = 1U << 20;
	if (l->store.fd >= 0)
		loop_want(loop, &l->store, EPOLLIN);
}

uint64_t ledger_put(struct ledger *l, const struct request *req, const struct result *res)
{
	struct receipt r;
	struct err e = { 0 };

	if (l->store.fd < 0)
		return 0;
	if (account_receipt(&r, req, res, &l->text) < 0) {
		err_set(&e, ERR_SETUP, "a receipt would be larger than 1 MiB");
		lost(l, &e);
		return 0;
	}
	if (writer_put(&r, &l->to) < 0)
		abort(); /* a front without memory has nothing to say */
	l->put++;
	send_all(l);
	return l->put;
}

bool ledger_refuses(const struct ledger *l)
{
	return l->failed && l->mode == AUDIT_REQUIRED;
}

int ledger_end(struct ledger *l, struct err *e)
{
	uint64_t end = clock_mono_ns() + END_MS * NS_PER_MS;

	while (l->store.fd >= 0 && l->settled < l->put && clock_mono_ns() < end)
		loop_wait(l->loop, 100);
	if (l->store.fd >= 0 && writer_put_end(&l->to) == 0) {
		l->ending = true;
		send_all(l);
		/* Its last checkpoint is signed before we say goodbye. */
		while (l->store.fd >= 0 && clock_mono_ns() < end)
			loop_wait(l->loop, 100);
	}
	/* No answer is no receipt. */
	if (l->settled < l->put && !l->failed)
		gone(l);
	watch_close(&l->store);
	buf_done(&l->to);
	buf_done(&l->from);
	buf_done(&l->text);
	if (!ledger_refuses(l))
		return 0;
	*e = l->err;
	return -1;
}
