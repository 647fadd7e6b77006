/* SPDX-License-Identifier: Apache-2.0 */
/* An event loop: descriptors and who is called when they are ready. */
#include "base/loop.h"

#define ROUND 128 /* events of one round */

int loop_init(struct loop *l, struct err *e)
{
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	return l->epoll < 0 ? err_sys(e, "make an event loop") : 0;
}

void loop_done(struct loop *l)
{
	fd_close(&l->epoll);
}

int loop_want(struct loop *l, struct watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (w->added && w->events == events)
		return 0;
	if (epoll_ctl(l->epoll, w->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, w->fd, &ev) < 0)
		return -1;
	w->added = true;
	w->events = events;
	return 0;
}

void loop_forget(struct loop *l, struct watch *w)
{
	if (w->added)
		epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	w->added = false;
}

void loop_wait(struct loop *l, int timeout_ms)
{
	struct epoll_event ev[ROUND];
	int n = epoll_wait(l->epoll, ev, ROUND, timeout_ms);

	for (int i = 0; i < n; i++) {
		struct watch *w = ev[i].data.ptr;

		/* Closed by somebody who was called before it. */
		if (w->added)
			w->ready(w, ev[i].events);
	}
}
