/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces made ahead: an empty network and a user namespace, by a helper beside the caller's other work. */
#ifndef BELLJAR_KERNEL_SPACE_H
#define BELLJAR_KERNEL_SPACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * A network namespace takes longer to make than anything else in a jar (0.5 ms) and needs nothing of the rest; a user namespace needs somebody
 * else to write its maps, which its own first process would have to wait for. The helper is a process that shares memory and
 * descriptors with its caller, since a fork would cost what is gained. Both namespaces belong to the caller's user namespace, where it needs
 * CAP_SYS_ADMIN. One at a time; who is forked between space_begin and space_release calls space_forget.
 */
struct space_ahead {
	pid_t pid, parent; /* 0: none was begun */
	int sock[2];	  /* ours and the helper's end */
	int net, user;	  /* descriptors; the helper writes these */
	bool tcp_limited; /* net_limit_tcp() has worked */
	int error;	  /* errno */
	const char *what; /* that failed */
};

int space_begin(struct space_ahead *s, struct err *e);
/* Waits until both are made. On success `net` (its `lo` is up) and `user` are the caller's; the helper stays in them, so that the maps
 * of its user namespace can be written through its pid. */
int space_wait(struct space_ahead *s, struct err *e);
/* Lets the helper go; space_reap waits for its end, which is better done after something else. */
void space_release(struct space_ahead *s);
void space_reap(struct space_ahead *s);
/* In a child: closes what is the parent's, who would otherwise let the helper go in vain. */
void space_forget(struct space_ahead *s);

/* The caller's own namespaces as descriptors, in the order of `names` ("mnt", "pid", ...). From 6.11 on without a look at /proc, whose entries would
 * have to be made for it. */
int space_own(const char *const *names, int count, int *out, struct err *e);

#endif
