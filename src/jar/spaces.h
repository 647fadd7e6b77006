/* SPDX-License-Identifier: Apache-2.0 */
/* The two namespaces that a jar's slot needs and that take time: U2, the guest's user namespace, and an empty network. */
#ifndef BELLJAR_JAR_SPACES_H
#define BELLJAR_JAR_SPACES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Ids in U1. Where only one id could be had, all three are 0. */
struct jar_ids {
	uid_t init, guest;
	bool single;
	bool shared_quota; /* rootless: the kernel charges all jars of a user to that user */
};

/* A child of the maker makes them while the maker builds the root, then ends; what stays is their descriptors. */
struct spaces {
	pid_t pid;    /* as the maker and its /proc see it */
	int sock;     /* -1: nothing under way */
	uint32_t uid; /* the guest's number inside U2 */
	struct jar_ids ids;
};

/* Starts the child, in the maker. */
int spaces_begin(struct spaces *s, const struct jar_ids *ids, struct err *e);
/* Writes U2's maps when the child is ready for them, and takes the descriptors. Runs in init, while it has U1's rights and the maker's
 * /proc: its own mounts are made meanwhile. The network namespace has `lo` up and belongs to U1. */
int spaces_take(struct spaces *s, int *userns, int *netns, struct err *e);
/* The number init has inside U2. */
uint32_t jar_init_uid(uint32_t guest_uid);

#endif
