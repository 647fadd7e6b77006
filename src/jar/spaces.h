/* SPDX-License-Identifier: Apache-2.0 */
/* The two namespaces that a jar's slot needs and that take time: U2, the guest's user namespace, and an empty network. */
#ifndef BELLJAR_JAR_SPACES_H
#define BELLJAR_JAR_SPACES_H

#include "jar/jar.h"

/* A child of the maker makes them while the maker builds the root, then ends; what stays is their descriptors. */
struct spaces {
	pid_t pid;
	int sock; /* -1: nothing under way */
	struct jar_ids ids;
	uint32_t uid;
	bool net;
};

/* Starts the child. `net`: also an empty network namespace with `lo` up, owned by U1. */
int spaces_begin(struct spaces *s, const struct jar_ids *ids, uint32_t uid, bool net, struct err *e);
/* Writes U2's maps when the child is ready for them, and takes the descriptors. *netns stays -1 without `net`. */
int spaces_take(struct spaces *s, int *userns, int *netns, struct err *e);

#endif
