/* SPDX-License-Identifier: Apache-2.0 */
/* A process that bears guests into warm jars: what a zygote does, whatever it is a zygote of. */
#ifndef BELLJAR_JAR_FORKER_H
#define BELLJAR_JAR_FORKER_H

#include "jar/jar.h"

#define FORKER_SLOTS 32 /* with a share of the kernel's per-user counts each */

enum forker_op {
	FORKER_SLOT = 1, /* descriptors: SLOT_SPACES, then `tasks` v1 cgroups, then the v2 one if `v2` */
	FORKER_CLEAR,	 /* forget a slot: what is held here stays alive */
	FORKER_FORK,	 /* a guest; descriptors: report, then OWN_SPACES */
	FORKER_SEAT,	 /* a seat (jar/seat.h) for a slot; descriptors: its end of a socket to the keeper. It says REPORT_WAITING, at_ns is where its mail is */
	FORKER_SETTLE,	 /* to a seat: it is traced, and is to enter this jar, give everything away, and stop; descriptors: OWN_SPACES */
	FORKER_ENTER,	 /* to a seat, received by the guest that it bears then: descriptors: report */
};

struct forker_msg {
	uint32_t op, slot;
	uint32_t tasks, v2;
	uint32_t recycled;
};

/*
 * Says REPORT_READY with the descriptor of its filter's listener first (at_ns: 1 when it can bear seats), then serves the keeper over `sock` until it is gone. Children are the
 * keeper's (CLONE_PARENT) and inherit the filter.
 *
 * It never comes back from a jar's pid namespace, into which its next child is to be born: the kernel would want rights over the host's.
 */
struct forker {
	int sock;
	void (*guest)(struct jar *j, struct warm_guest *g); /* the child; never returns */
	/* In a seat: it takes what its guests will need, and says what is the first byte below its stack: what is there when it grows. NULL: it bears none. */
	volatile char *(*seat)(void);
	bool uncounted; /* no memory cgroup counts its guests (kernel/seccomp.h) */
	void *tid; /* where the C library keeps the thread's number, NULL: nowhere */
};

_Noreturn void forker_serve(const struct forker *f);

/* What all warm jars have in common. Ids are those of slot `slot`. */
void forker_jar(struct jar *j, unsigned slot);

#endif
