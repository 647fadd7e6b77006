/* SPDX-License-Identifier: Apache-2.0 */
/* A run's link to a keeper that serves it alone (keeper/proto.h). */
#include "run/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "keeper/proto.h"
#include "run/bind.h"
#include "run/ceiling.h"
#include "run/client.h"
#include "run/state.h"

void link_close_fds(const int *fds, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
}

static int ask(struct link *l, const void *req, size_t len, const int *fds, unsigned nfds, struct err *e)
{
	struct client c = { l->sock.fd };
	int rc = client_send(&c, req, len, fds, nfds, e);

	link_close_fds(fds, nfds);
	return rc;
}

static int ask_plain(struct link *l, uint32_t op, struct err *e)
{
	struct keeper_plain p = { op };

	return ask(l, &p, sizeof(p), NULL, 0, e);
}

/* Where makers remember which files are programs; without it they look each time. */
static int open_cache(void)
{
	char dir[400], path[512];

	if (state_dir(dir, sizeof(dir), NULL) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/programs", dir);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

/* The allow-list, in front of the descriptors' end. */
static unsigned add_allow(struct jar_spec *spec, const struct request *req, int *fds)
{
	int cache = req->programs.n ? open_cache() : -1;

	for (size_t i = 0; i < req->programs.n; i++)
		snprintf(spec->allow[spec->allow_count++], JAR_ALLOW_NAME, "%s", req->programs.v[i]);
	spec->flags |= req->programs.n ? JAR_ALLOW : 0;
	if (cache < 0)
		return spec->bind_count;
	spec->flags |= JAR_CACHE;
	fds[spec->bind_count] = cache;
	return spec->bind_count + 1;
}

static int add_binds(const char *opt, const struct strlist *list, bool layer, struct jar_spec *spec, int *fds, struct err *e)
{
	for (size_t i = 0; i < list->n; i++) {
		auto_close int fd = -1;

		/* Checks that there is room before it counts one more. */
		if (bind_open(opt, list->v[i], spec, &fd, e) < 0) {
			link_close_fds(fds, spec->bind_count);
			return -1;
		}
		spec->layers |= layer ? 1U << (spec->bind_count - 1) : 0;
		fds[spec->bind_count - 1] = take_fd(&fd);
	}
	return 0;
}

/* Programs of ours that a jar shows only when it is asked to (jar/root.h): a driver, a verifier. */
static bool is_grading(const struct request *req)
{
	static const char dir[] = "/etc/belljar/";

	if (req->driver)
		return true;
	for (size_t i = 0; i < req->argv.n; i++)
		if (strncmp(req->argv.v[i], dir, sizeof(dir) - 1) == 0)
			return true;
	return false;
}

static int direct_make(struct link *l, const struct request *req, bool keep, struct err *e)
{
	static struct keeper_make m;
	struct jar_limits limits = req->limits;
	int fds[JAR_BINDS_MAX + 1];

	(void)keep;
	l->meter = req->metered;
	memset(&m, 0, offsetof(struct keeper_make, spec.binds));
	m.op = KEEPER_MAKE;
	m.spec.uid = (uint32_t)req->uid;
	ceiling_held(&limits);
	m.spec.disk_bytes = limits.disk_bytes;
	m.spec.pids = limits.pids;
	m.spec.flags = (strcmp(req->network, "host") == 0 ? JAR_NET_HOST : 0) | (req->no_write ? JAR_NO_WRITE : 0) |
		       (req->allow_degraded ? JAR_DEGRADED : 0) | (is_grading(req) ? JAR_GRADING : 0);
	snprintf(m.spec.hostname, sizeof(m.spec.hostname), "%s", req->hostname);
	if (add_binds("--ro", &req->ro, false, &m.spec, fds, e) < 0 || add_binds("--layer", &req->layer, true, &m.spec, fds, e) < 0)
		return -1;
	unsigned count = add_allow(&m.spec, req, fds);

	return ask(l, &m, offsetof(struct keeper_make, spec) + jar_spec_len(&m.spec), fds, count, e);
}

static int direct_start(struct link *l, const struct jar_limits *limits, bool last, const int fds[4], struct err *e)
{
	struct keeper_start s = { .op = KEEPER_START, .last = last, .meter = l->meter, .limits = *limits };

	return ask(l, &s, sizeof(s), fds, 4, e);
}

static void direct_kill(struct link *l, uint32_t why)
{
	struct keeper_kill k = { KEEPER_KILL, why };

	ask(l, &k, sizeof(k), NULL, 0, NULL);
}

static void direct_signal(struct link *l, int signal)
{
	struct keeper_signal s = { KEEPER_SIGNAL, (uint32_t)signal };

	ask(l, &s, sizeof(s), NULL, 0, NULL);
}

static int direct_scrub(struct link *l, struct err *e)
{
	return ask_plain(l, KEEPER_SCRUB, e);
}

static int direct_end(struct link *l, struct err *e)
{
	return ask_plain(l, KEEPER_END, e);
}

static int direct_export(struct link *l, const struct export_req *req, int out, struct err *e)
{
	static struct keeper_export x;

	x.op = KEEPER_EXPORT;
	x.req = *req;
	return ask(l, &x, sizeof(x), &out, 1, e);
}

static void direct_done(struct link *l)
{
	watch_close(&l->sock);
	l->ops = NULL;
}

static const struct link_ops direct_ops = { direct_make, direct_start, direct_kill, direct_signal,
					    direct_scrub, direct_end, direct_export, direct_done };

static void direct_ready(struct watch *w, uint32_t events)
{
	struct link *l = CONTAINER_OF(w, struct link, sock);
	struct client c = { w->fd };
	struct keeper_event ev;
	struct link_event out = { .fd = -1 };

	(void)events;
	client_read(&c, &ev, &out.fd);
	switch (ev.type) {
	case KEEPER_MADE:
		out.type = LINK_MADE;
		out.facts = &ev.facts;
		break;
	case KEEPER_DENIED:
		out.type = LINK_DENIED;
		out.denied = &ev.denied;
		break;
	case KEEPER_EXITED:
		out.type = LINK_EXITED;
		out.evidence = &ev.evidence;
		break;
	case KEEPER_SCRUBBED:
		out.type = LINK_SCRUBBED;
		break;
	case KEEPER_ENDED:
		out.type = LINK_ENDED;
		break;
	case KEEPER_EXPORTED:
		out.type = LINK_EXPORTED;
		break;
	case KEEPER_METER:
		out.type = LINK_METER;
		out.evidence = &ev.evidence;
		break;
	case KEEPER_FAILED:
		out.type = LINK_FAILED;
		out.err = &ev.err;
		break;
	default:
		fd_close(&out.fd);
		return;
	}
	if (ev.type != KEEPER_METER)
		fd_close(&out.fd);
	l->event(l, &out);
}

int link_direct(struct link *l, int sock, struct err *e)
{
	l->ops = &direct_ops;
	l->sock = (struct watch){ .fd = sock, .ready = direct_ready };
	return loop_want(l->loop, &l->sock, EPOLLIN) < 0 ? err_sys(e, "wait for the keeper") : 0;
}
