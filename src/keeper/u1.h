/* SPDX-License-Identifier: Apache-2.0 */
/* U1, the intermediate user namespace: a process that is root of its own ids and nobody on the host. */
#ifndef BELLJAR_KEEPER_U1_H
#define BELLJAR_KEEPER_U1_H

#include <sys/types.h>

#include "jar/jar.h"
#include "keeper/slot.h"

struct u1 {
	int sock; /* SOCK_SEQPACKET to its first process; -1: none */
	pid_t pid;
};

/* What that process does; it finds its end of the socket as `sock`. `devices`: the mount for /dev, or -1. */
typedef void u1_main(int sock, int devices, const struct jar_ids *ids);

/* Starts it, in user, mount and uts namespaces of its own, born in the v2 folder `cgroup` (-1: the caller's). The ids of slots[k] become
 * IDMAP_SLOT_IDS * k and following. Rootless, id 0 is the caller's own. */
int u1_start(struct u1 *out, const struct slot *slots, unsigned count, int cgroup, int devices, u1_main *run, struct err *e);
/* Ends it and waits for it. */
void u1_stop(struct u1 *u);

#endif
