/* SPDX-License-Identifier: Apache-2.0 */
/* The front's end of the keeper: starts it, then gives its own rights away. */
#ifndef BELLJAR_RUN_CLIENT_H
#define BELLJAR_RUN_CLIENT_H

#include <sys/types.h>

#include "keeper/proto.h"

struct client {
	int sock;
};

/* Takes the keeper that the launcher started, else starts one (of a pool, or of one jar). Called before anything foreign is read. */
int client_start(struct client *c, bool pool, struct err *e);
/* Drops every capability of this process but reading and writing the caller's files, and perhaps giving them to their owner; no program started
 * from here can gain any. */
int client_drop_rights(bool chown, struct err *e);
int client_send(struct client *c, const void *req, size_t len, const int *fds, unsigned nfds, struct err *e);
/* The next event, and the descriptor that came with it (-1: none), which is the caller's. When the keeper is gone, KEEPER_FAILED says so. */
void client_read(struct client *c, struct keeper_event *ev, int *fd);
void client_close(struct client *c);

#endif
