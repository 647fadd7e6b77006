/* SPDX-License-Identifier: Apache-2.0 */
/* User namespaces' id maps, and the host ids that belljar may use. */
#ifndef BELLJAR_KERNEL_IDMAP_H
#define BELLJAR_KERNEL_IDMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Host ids start here when root runs belljar: far from any distribution's ranges. */
#define IDMAP_BASE	0x70000000U
/* One jar's slot: ids 0 (maker), 1 (init), 2 (guest) of the intermediate namespace; the rest is kept free
 * for sessions with more than one guest identity. */
#define IDMAP_SLOT_IDS	8U
#define IDMAP_SLOTS	16384U

struct idmap_range {
	uint32_t start, count;
};

/* One line of a map: `count` ids from `inside` on are those from `outside` on. */
struct idmap_extent {
	uint32_t inside, outside, count;
};

/* Writes /proc/<pid>/{setgroups,uid_map,gid_map}. `deny_groups` writes "deny" first, which the kernel asks
 * of callers without privileges. */
int idmap_write(pid_t pid, const char *uid_map, const char *gid_map, bool deny_groups, struct err *e);

/* A user namespace that nobody lives in, for mount_idmap(): those single ids and no other. Descriptor or -1. */
int idmap_space(struct idmap_extent uid, struct idmap_extent gid, struct err *e);

/* Fails when [start, start+count) meets an id of /etc/passwd, /etc/group, /etc/subuid or /etc/subgid. */
int idmap_check_free(struct idmap_range r, struct err *e);

/* The caller's first range in /etc/subuid or /etc/subgid (`file`); 0 when found, -1 when there is none. */
int idmap_find_sub(const char *file, uid_t uid, const char *name, struct idmap_range *out);

/* The same from extents. */
int idmap_write_extents(pid_t pid, const struct idmap_extent *uids, const struct idmap_extent *gids, unsigned count, bool deny_groups,
			struct err *e);

/* Runs newuidmap/newgidmap for `pid`. `pid` must be the caller's own child: nobody else chooses it. */
int idmap_run_helpers(pid_t pid, const struct idmap_extent *uids, const struct idmap_extent *gids, unsigned count, struct err *e);

#endif
