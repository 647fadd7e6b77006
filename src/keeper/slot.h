/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: the host ids and cgroup names that one keeper has to itself, claimed by a lock. */
#ifndef BELLJAR_KEEPER_SLOT_H
#define BELLJAR_KEEPER_SLOT_H

#include "base/err.h"
#include "kernel/cgroup.h"
#include "kernel/idmap.h"

struct slot {
	int lock;		 /* held as long as the slot is ours */
	uint32_t number;
	bool rootless, single;	 /* single: only the caller's own id could be had */
	struct idmap_range uids, gids;
	char cgroup[32];
};

/* Claims the first free slot. `run_dir` is where the locks are (made when missing). */
int slot_claim(struct slot *out, const char *run_dir, struct err *e);
/* The same in two halves: the slot itself; and whether its ids are anybody else's on this host, which must be known before anything foreign comes near. */
int slot_take(struct slot *out, const char *run_dir, struct err *e);
int slot_check(const struct slot *s, struct err *e);
/* True when guests run under the caller's own host id, for want of others. */
bool slot_is_single(void);
/* Removes the cgroups that killed keepers left behind, whatever slot they had. Returns how many slots had some. */
unsigned slot_scrub(const char *run_dir, const struct cgroup_host *h);
/* Where locks and the list of runs are kept: /run/belljar for root; $XDG_RUNTIME_DIR/belljar or a private folder in /tmp for others. */
int slot_run_dir(char *out, size_t size, struct err *e);

#endif
