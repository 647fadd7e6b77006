/* SPDX-License-Identifier: Apache-2.0 */
/* The front's end of a keeper that holds a pool (keeper/pool_proto.h): many runs over one socket. */
#include "run/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUND 64 /* events that are read before others have their turn */

struct pool_unsent {
	struct pool_unsent *next;
	size_t len;
	unsigned nfds;
	int fds[4];
	char data[];
};

/* ---- sending ---- */

static bool would_wait(void)
{
	/* Too many descriptors on their way (ETOOMANYREFS) passes, too, when the keeper reads. */
	return errno == EAGAIN || errno == ETOOMANYREFS || errno == ENOBUFS;
}

static void keep(struct pool *p, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	struct pool_unsent *u = malloc(sizeof(*u) + len);

	if (!u)
		abort(); /* a front without memory has nothing to say */
	u->next = NULL;
	u->len = len;
	u->nfds = nfds;
	if (nfds)
		memcpy(u->fds, fds, nfds * sizeof(int));
	memcpy(u->data, rec, len);
	*p->last = u;
	p->last = &u->next;
	loop_want(p->loop, &p->sock, EPOLLIN | EPOLLOUT);
}

/* A keeper that is gone is noticed when it is read: its last words may be waiting. */
static void ask(struct pool *p, const void *rec, size_t len, const int *fds, unsigned nfds)
{
	if (!p->first && (p->dead || fd_send(p->sock.fd, rec, len, fds, nfds) == 0 || !would_wait()))
		link_close_fds(fds, nfds);
	else
		keep(p, rec, len, fds, nfds);
}

static void flush(struct pool *p)
{
	while (p->first) {
		struct pool_unsent *u = p->first;

		if (!p->dead && fd_send(p->sock.fd, u->data, u->len, u->fds, u->nfds) < 0 && would_wait())
			return;
		link_close_fds(u->fds, u->nfds);
		p->first = u->next;
		free(u);
	}
	p->last = &p->first;
	if (!p->dead)
		loop_want(p->loop, &p->sock, EPOLLIN);
}

/* ---- a run's link ---- */

static int pooled_make(struct link *l, const struct request *req, bool keep_jar, struct err *e)
{
	const char *warm = req->lang ? req->lang->warm : NULL;
	static uint64_t alone;

	(void)e;
	l->keep = keep_jar;
	l->started = false;
	/* Jars go from one run to another within a client: who is alone is one of his own. */
	l->client = req->alone ? UINT64_MAX - alone++ : pool_client(req->client);
	l->meter = req->metered;
	l->kind = !warm ? POOL_EXEC : strcmp(warm, "python") == 0 ? POOL_PYTHON : POOL_NODE;
	/* Node looks for it when it starts, and remembers that there was none. */
	for (size_t i = 0; i < req->file_count && l->kind == POOL_NODE; i++)
		if (strcmp(req->files[i].path, "package.json") == 0 || strstr(req->files[i].path, "/package.json"))
			l->kind = POOL_EXEC;
	return 0;
}

static int pooled_start(struct link *l, const struct jar_limits *limits, bool last, const int fds[4], struct err *e)
{
	struct pool_run r = { .op = POOL_RUN, .run = l->number, .kind = l->kind, .flags = (l->keep ? POOL_KEEP : 0) | (l->meter ? POOL_METER : 0), .client = l->client,
			      .limits = *limits };
	struct pool_next n = { .op = POOL_NEXT, .run = l->number, .limits = *limits };

	(void)last, (void)e;
	if (l->started)
		ask(l->pool, &n, sizeof(n), fds, 4);
	else
		ask(l->pool, &r, sizeof(r), fds, 4);
	l->started = true;
	return 0;
}

static void pooled_kill(struct link *l, uint32_t why)
{
	struct pool_kill k = { POOL_KILL, l->number, why };

	ask(l->pool, &k, sizeof(k), NULL, 0);
}

static void pooled_signal(struct link *l, int signal)
{
	struct pool_signal s = { POOL_SIGNAL, l->number, (uint32_t)signal };

	ask(l->pool, &s, sizeof(s), NULL, 0);
}

/* POOL_NEXT does it. */
static int pooled_scrub(struct link *l, struct err *e)
{
	(void)l, (void)e;
	return 1;
}

static void ask_plain(struct link *l, uint32_t op)
{
	struct pool_plain p = { op, l->number };

	ask(l->pool, &p, sizeof(p), NULL, 0);
}

static int pooled_end(struct link *l, struct err *e)
{
	(void)e;
	ask_plain(l, POOL_END);
	return 0;
}

static int pooled_export(struct link *l, const struct export_req *req, int out, struct err *e)
{
	static struct pool_export x;

	(void)e;
	x.op = POOL_EXPORT;
	x.run = l->number;
	x.req = *req;
	ask(l->pool, &x, sizeof(x), &out, 1);
	return 0;
}

static void pooled_done(struct link *l)
{
	if (l->keep && l->started)
		ask_plain(l, POOL_DONE);
	l->pool->links[l->number] = NULL;
	l->ops = NULL;
}

static const struct link_ops pooled_ops = { pooled_make, pooled_start, pooled_kill, pooled_signal,
					    pooled_scrub, pooled_end, pooled_export, pooled_done };

void pool_link(struct pool *p, struct link *l)
{
	l->pool = p;
	l->ops = &pooled_ops;
	l->keep = l->started = false;
	p->links[l->number] = l;
}

int pool_cold(struct pool *p, struct link *l, struct err *e)
{
	if (p->dead)
		return err_set(e, ERR_INTERNAL, "belljar-keeper has ended");
	pool_link(p, l);
	ask_plain(l, POOL_COLD);
	return 0;
}

uint64_t pool_client(const char *name)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	SHA256_CTX ctx; /* the plain functions, as in artifacts.c */
	uint64_t out;

	if (!name || !*name)
		return 0;
	SHA256_Init(&ctx);
	SHA256_Update(&ctx, name, strlen(name));
	SHA256_Final(hash, &ctx);
	memcpy(&out, hash, sizeof(out));
	return out ? out : 1;
}

/* ---- what the pool can serve ---- */

/* Variables that an interpreter reads while it starts: one that waits has started already. */
static bool changes_interpreter(const char *pair, const char *warm)
{
	static const char *const all[] = { "LD_", "MALLOC_", "GLIBC_TUNABLES=", "LANG", "LC_", "LOCPATH=", "TZ=", NULL }, *const python[] = { "PYTHON", NULL },
			  *const node[] = { "NODE_", NULL };
	const char *const *const lists[] = { all, strcmp(warm, "python") == 0 ? python : node };

	for (size_t k = 0; k < 2; k++)
		for (const char *const *p = lists[k]; *p; p++)
			if (strncmp(pair, *p, strlen(*p)) == 0)
				return true;
	return false;
}

bool pool_can_serve(const struct request *r)
{
	const char *warm = r->lang ? r->lang->warm : NULL;

	/* An allow-list is a root of its own. */
	if (r->programs.n || r->ro.n || r->layer.n || r->workspace || r->no_write || r->allow_degraded || r->uid != 1000 || strcmp(r->hostname, "jar") != 0 ||
	    strcmp(r->network, "none") != 0)
		return false;
	for (size_t i = 0; warm && i < r->env.n; i++)
		if (changes_interpreter(r->env.v[i], warm))
			return false;
	return true;
}

/* ---- receiving ---- */

static void deliver(struct pool *p, const struct pool_event *ev, const int *fds, unsigned nfds)
{
	static const enum link_event_type types[] = {
		[POOL_EXITED] = LINK_EXITED,   [POOL_FAILED] = LINK_FAILED,	[POOL_REFUSED] = LINK_REFUSED, [POOL_ENDED] = LINK_ENDED,
		[POOL_EXPORTED] = LINK_EXPORTED, [POOL_SOCKET] = LINK_SOCKET,   [POOL_STREAMS] = LINK_STREAMS,
		[POOL_METERED] = LINK_METER,
	};
	struct link *l = ev->run <= POOL_CEILING_MAX ? p->links[ev->run] : NULL;
	struct link_event out = { .facts = ev->have_facts ? &ev->facts : NULL, .evidence = &ev->evidence, .err = &ev->err, .fd = nfds == 1 ? fds[0] : -1, .fds = fds };
	unsigned want = ev->type == POOL_SOCKET || ev->type == POOL_METERED ? 1 : ev->type == POOL_STREAMS ? 4 : 0;

	if (ev->type == POOL_NOTICE)
		p->notice(p, &ev->err);
	if (!l || ev->type < POOL_EXITED || ev->type > POOL_METERED || nfds != want) {
		link_close_fds(fds, nfds);
		return;
	}
	out.type = types[ev->type];
	if (ev->type == POOL_SOCKET || ev->type == POOL_REFUSED) {
		/* The number is free again. */
		p->links[l->number] = NULL;
		l->ops = NULL;
	}
	l->event(l, &out);
}

static void die(struct pool *p)
{
	struct err e = { 0 };
	struct link_event ev = { .type = LINK_FAILED, .err = &e, .fd = -1 };

	p->dead = true;
	watch_close(&p->sock);
	flush(p);
	err_set(&e, ERR_INTERNAL, "belljar-keeper ended unexpectedly");
	err_hint(&e, "belljar doctor");
	for (size_t i = 0; i <= POOL_CEILING_MAX; i++)
		if (p->links[i])
			p->links[i]->event(p->links[i], &ev);
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct pool *p = CONTAINER_OF(w, struct pool, sock);
	static struct pool_event ev;

	if (events & EPOLLOUT)
		flush(p);
	for (int i = 0; i < ROUND && !p->dead; i++) {
		int fds[4];
		unsigned nfds = 0;
		ssize_t n = fd_recv(w->fd, &ev, sizeof(ev), fds, 4, &nfds);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n != sizeof(ev)) {
			link_close_fds(fds, nfds);
			die(p);
			return;
		}
		deliver(p, &ev, fds, nfds);
	}
}

int pool_init(struct pool *p, struct loop *loop, int sock, const struct pool_open *open,
	      void (*notice)(struct pool *, const struct err *), struct err *e)
{
	memset(p, 0, sizeof(*p));
	p->loop = loop;
	p->notice = notice;
	p->last = &p->first;
	p->sock = (struct watch){ .fd = sock, .ready = on_ready };
	if (fcntl(sock, F_SETFL, O_NONBLOCK) < 0 || loop_want(loop, &p->sock, EPOLLIN) < 0)
		return err_sys(e, "wait for the keeper");
	ask(p, open, sizeof(*open), NULL, 0);
	return 0;
}

void pool_done(struct pool *p)
{
	p->dead = true;
	flush(p);
	watch_close(&p->sock);
}
