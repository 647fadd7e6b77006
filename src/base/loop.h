/* SPDX-License-Identifier: Apache-2.0 */
/* An event loop: descriptors and who is called when they are ready. */
#ifndef BELLJAR_BASE_LOOP_H
#define BELLJAR_BASE_LOOP_H

#include <stdint.h>
#include <sys/epoll.h>

#include "base/err.h"
#include "base/fd.h"

struct loop {
	int epoll;
};

/*
 * One descriptor. It lives inside its owner, who finds himself by CONTAINER_OF. `ready` may be called once more for something that was over
 * when an earlier call of the same round dealt with it: reads and writes must not block on that.
 */
struct watch {
	int fd; /* -1: none */
	bool added;
	uint32_t events; /* what the kernel was told */
	void (*ready)(struct watch *w, uint32_t events);
};

#define CONTAINER_OF(p, type, member) ((type *)(void *)((char *)(p) - offsetof(type, member)))

int loop_init(struct loop *l, struct err *e);
void loop_done(struct loop *l);
/* Says what to wait for (EPOLLIN, EPOLLOUT; 0: only that the other side is gone). Costs nothing when that is known already. 0, or -1 with errno;
 * EPERM: a plain file, which is always ready. */
int loop_want(struct loop *l, struct watch *w, uint32_t events);
/* Waits for it no more; the descriptor stays open. */
void loop_forget(struct loop *l, struct watch *w);
/* Waits at most that long (-1: for ever) and calls whoever is ready. */
void loop_wait(struct loop *l, int timeout_ms);

/* The kernel forgets a descriptor when its last copy is closed; one that has copies needs loop_forget() first. */
static inline void watch_close(struct watch *w)
{
	fd_close(&w->fd);
	w->added = false;
}

#endif
