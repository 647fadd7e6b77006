/* SPDX-License-Identifier: Apache-2.0 */
/* The front's end of a pool: whatever comes over the keeper's socket reaches the right run at most once, and no descriptor is lost. */
#include "fuzz.h"

#include <sys/socket.h>

#include "run/pool.h"

#define RUNS 6

static struct link links[RUNS + 1];
static unsigned calls;

static void on_event(struct link *l, const struct link_event *ev)
{
	calls++;
	MUST(l >= links + 1 && l <= links + RUNS && l->number == (uint32_t)(l - links));
	MUST(ev->type <= LINK_SOCKET);
	if (ev->type == LINK_STREAMS)
		for (int i = 0; i < 4; i++)
			MUST(ev->fds[i] >= 0 && close(ev->fds[i]) == 0);
	if (ev->type == LINK_SOCKET)
		MUST(ev->fd >= 0 && close(ev->fd) == 0);
	/* Every other event leaves the run to decide; some are over. */
	if ((ev->type == LINK_FAILED || ev->type == LINK_EXITED) && l->ops)
		l->ops->done(l);
}

static void on_notice(struct pool *p, const struct err *e)
{
	(void)p;
	MUST(e);
}

static unsigned open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void do_one(struct pool *p, uint8_t what)
{
	struct link *l = &links[1 + what % RUNS];
	struct jar_limits limits = { .wall_ms = 1 };
	struct export_req export = { 0 };
	struct request req = { 0 };
	struct err e = { 0 };
	int fds[4];

	if (!l->ops) {
		if (what & 0x40)
			pool_cold(p, l, &e);
		else
			pool_link(p, l);
		return;
	}
	switch (what >> 5) {
	case 0:
		l->ops->make(l, &req, what & 16, &e);
		break;
	case 1:
		for (int i = 0; i < 4; i++)
			fds[i] = dup(0);
		l->ops->start(l, &limits, true, fds, &e);
		break;
	case 2:
		l->ops->kill(l, JAR_ENDED_CANCELLED);
		break;
	case 3:
		l->ops->end(l, &e);
		break;
	case 4:
		l->ops->export(l, &export, dup(0), &e);
		break;
	case 5:
		l->ops->signal(l, 15);
		break;
	default:
		l->ops->done(l);
	}
}

/* A record: its length, its head and descriptors from the input, the rest too as far as it goes. */
static size_t say(int sock, const uint8_t *data, size_t size)
{
	static struct pool_event ev;
	int fds[5] = { 0, 0, 0, 0, 0 };
	size_t n = size < 4 ? size : 4, len = sizeof(ev), more;

	if (n < 4)
		return size;
	memset(&ev, data[3], sizeof(ev));
	ev.type = data[0] & 15;
	ev.run = data[1] == 255 ? 0xffffffff : data[1];
	ev.have_facts = data[3] & 1;
	if (data[2] & 0x80)
		len = (size_t)data[2] * 16;
	more = size - 4 < 16 ? size - 4 : 16;
	memcpy((char *)&ev + 8, data + 4, more);
	fd_send(sock, &ev, len < sizeof(ev) ? len : sizeof(ev), fds, data[2] & 7 ? (data[2] & 7) % 6 : 0);
	return 4 + more;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pool p;
	static const struct pool_open open = { .op = POOL_OPEN, .ceiling = RUNS };
	unsigned before = open_fds();
	char sink[8192];
	struct loop loop;
	struct err e = { 0 };
	int sock[2];

	MUST(loop_init(&loop, &e) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sock) == 0);
	MUST(pool_init(&p, &loop, sock[0], &open, on_notice, &e) == 0);
	memset(links, 0, sizeof(links));
	for (uint32_t i = 1; i <= RUNS; i++)
		links[i] = (struct link){ .number = i, .event = on_event, .loop = &loop, .sock.fd = -1 };
	for (size_t at = 0; at < size && !p.dead;) {
		uint8_t b = data[at++];

		if (b < 128)
			do_one(&p, (uint8_t)(data[at < size ? at++ : at - 1]));
		else
			at += say(sock[1], data + at, size - at);
		calls = 0;
		loop_wait(&loop, 0);
		MUST(calls <= 1 || p.dead);
		/* A keeper that reads, now and then: what was not sent waits meanwhile. */
		while (b & 1 && fd_recv(sock[1], sink, sizeof(sink), (int[4]){ 0 }, 0, &(unsigned){ 0 }) > 0)
			;
		for (uint32_t i = 1; i <= RUNS; i++)
			MUST(!p.links[i] || (p.links[i] == &links[i] && links[i].ops));
	}
	close(sock[1]);
	for (int i = 0; i < 4 && !p.dead; i++)
		loop_wait(&loop, 0);
	MUST(p.dead);
	pool_done(&p);
	MUST(!p.first);
	loop_done(&loop);
	MUST(open_fds() == before);
	return 0;
}
