/* SPDX-License-Identifier: Apache-2.0 */
/* File locks of a jar: kernel memory that no cgroup counts. */
#ifndef BELLJAR_KEEPER_LOCKS_H
#define BELLJAR_KEEPER_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Theory of operation
 *
 * The kernel charges file locks to no cgroup and has no limit for them: fcntl(F_SETLK) takes 200 bytes for each byte range, and a program can have millions. So
 * the keeper counts them. /proc/locks lists the locks of the whole host, which is slow when there are many, and very slow while many processes lock. So:
 *
 * - A jar asks for a count only when the kernel's own memory (SUnreclaim in /proc/meminfo) has grown by LOCKS_GROWN_KIB since the jar was first looked at.
 * - One reading counts for all jars of this keeper. It takes LOCKS_LOOK_NS at most, and the next one comes ten times its duration later at the earliest: the keeper has
 *   deadlines to keep.
 * - A reading that was cut off counts less than there is. Then the jar's share of what was read tells its share of the memory that has grown. A jar with a share of
 *   one in LOCKS_SHARE and more, that comes to too many LOCKS_SUSPECT times in a row, has too many. The list begins with the newest locks: those of a jar that
 *   makes none meanwhile are far behind.
 *
 * The filter refuses open file description locks (F_OFD_SETLK): the list does not say whose they are.
 */

#define LOCKS_GROWN_KIB	(16 << 10)
#define LOCKS_LOOK_NS	60000000ULL
#define LOCKS_SUSPECT	3
#define LOCKS_SHARE	16
#define LOCKS_EACH	256		/* bytes of the kernel's, at most */
#define LOCKS_SAMPLE	64		/* of the jar's, that a reading must have seen to be worth anything */
#define LOCKS_CLEAR	4096		/* with so many, and half of all that was read, one reading is enough */
#define LOCKS_MIN	16384
#define LOCKS_MAX	65536
#define LOCKS_BYTES	1024		/* of the memory limit for each lock */

struct locks {
	uint64_t base_kib;  /* 0: not looked yet */
	uint64_t seen_ns;   /* the reading that was looked at last */
	unsigned suspected; /* readings in a row */
};

/* How many locks the jar of process `guest` has at least, where they are more than its memory limit allows; else 0. */
uint64_t locks_too_many(struct locks *l, pid_t guest, uint64_t memory_bytes, uint64_t now_ns);

#endif
