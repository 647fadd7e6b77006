/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says of a jar's processes: the little that is known where there are no cgroups. */
#ifndef BELLJAR_KEEPER_SCAN_H
#define BELLJAR_KEEPER_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/idmap.h"

struct scan {
	uint64_t memory_bytes; /* proportional share of all processes that live now, and their page tables */
	uint64_t cpu_ns;       /* of those, and of children they have waited for */
	uint32_t processes;
};

/* The host's number of the process behind a pidfd; -1 when it is gone. */
pid_t scan_pidfd(int pidfd);
/* True when the process runs under an id of the range, or is gone. */
bool scan_in_range(pid_t pid, struct idmap_range uids);
/* True when it is on its way out, or is gone. */
bool scan_is_ending(pid_t pid);
/* The process that a thread belongs to; -1: gone. */
pid_t scan_group_of(pid_t thread);
/* CPU time and largest memory of a process that lives, as its parent would hear of them at its end. */
void scan_usage(pid_t pid, uint64_t *cpu_ns, uint64_t *maxrss_bytes);
/* Both of the process behind a pidfd. */
bool scan_owner(int pidfd, pid_t *pid, struct idmap_range uids);
/*
 * Something that all processes of a jar have in common and no others: their pid namespace; or, where a keeper may not look at that because guests are other users, their
 * user, which is one of their slot's. False: the process is gone.
 */
#define SCAN_KEY 48
bool scan_key(pid_t pid, char key[static SCAN_KEY]);
/* Looks at every process that is in the same pid namespace as `guest`. Polling: what lives between two looks is not seen. */
void scan_jar(pid_t guest, struct scan *out);

#endif
