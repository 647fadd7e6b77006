/* SPDX-License-Identifier: Apache-2.0 */
/* File locks of a jar: kernel memory that no cgroup counts. */
#ifndef BELLJAR_KEEPER_LOCKS_H
#define BELLJAR_KEEPER_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/idmap.h"

/*
 * Theory of operation
 *
 * The kernel charges file locks to no cgroup and has no limit for them: fcntl(F_SETLK) takes 200 bytes for each byte range, and a program can have millions. So
 * the keeper counts them. /proc/locks lists the locks of the whole host, which is slow when there are many, and very slow while many processes lock. So the keeper
 * first looks at the kernel's own memory (SUnreclaim in /proc/meminfo), and reads the list only when that has grown by LOCKS_GROWN_KIB since the guest was first
 * looked at. It reads for LOCKS_LOOK_NS at most: it has deadlines to keep. Where that was not enough to count, the part that was read decides: LOCKS_SAMPLE lines
 * and more, of which nine in ten are the jar's, beside the memory that has grown.
 *
 * The filter refuses open file description locks (F_OFD_SETLK): the list does not say whose they are.
 */

#define LOCKS_GROWN_KIB	(16 << 10)
#define LOCKS_AGAIN_KIB	(64 << 10)	/* after a look that found no reason: grown by that much again, or ... */
#define LOCKS_AGAIN_NS	500000000ULL	/* ... so much later */
#define LOCKS_LOOK_NS	60000000ULL
#define LOCKS_SAMPLE	256
#define LOCKS_MIN	16384
#define LOCKS_MAX	262144
#define LOCKS_BYTES	1024		/* of the memory limit for each lock */

struct locks {
	uint64_t base_kib;   /* 0: not looked yet */
	uint64_t looked_kib, looked_ns;
};

/* The number of locks that the jar of process `guest` has (`uids`: its slot's), where that is more than its memory limit allows; else 0. */
uint64_t locks_too_many(struct locks *l, pid_t guest, struct idmap_range uids, uint64_t memory_bytes, uint64_t now_ns);

#endif
