/* SPDX-License-Identifier: Apache-2.0 */
/* Where belljar keeps things: the state folder (logs), and the list of runs that are alive. */
#ifndef BELLJAR_RUN_STATE_H
#define BELLJAR_RUN_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* $BELLJAR_STATE_DIR, else /var/lib/belljar for root, $XDG_STATE_HOME/belljar or ~/.local/state/belljar for others; made 0700 when missing. */
int state_dir(char *out, size_t size, struct err *e);
/* The folder of kept output logs in it. */
int state_log_dir(char *out, size_t size, struct err *e);
/* True the first time that it is asked about `what` (a file of the state folder remembers). */
bool state_first_time(const char *what);
/* "exec-" and 12 hexadecimal digits. */
void state_new_id(char out[32]);

/* A run in the list: a file whose POSIX lock belongs to the process that runs it, so that nobody can be mistaken for it. */
struct state_run {
	int fd;
	char path[320];
};

int state_register(struct state_run *out, const char *id, const char *command, struct err *e);
void state_unregister(struct state_run *r);

struct state_entry {
	char id[40];
	char command[160];
	pid_t pid;	    /* the front's */
	uint64_t started_s; /* seconds since the epoch */
};

/* Calls `fn` for every run that is alive; entries of dead ones are removed. Returns the number, or -1. */
int state_each(int (*fn)(const struct state_entry *, void *), void *ctx, struct err *e);
/* Asks the run `id` to end; -1 when there is none. */
int state_kill(const char *id, struct err *e);

/* Removes a folder and all in it, or a file; never through a mount. */
void state_remove_tree(int at, const char *name);

#endif
