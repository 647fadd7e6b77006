/* SPDX-License-Identifier: Apache-2.0 */
/* The front of a batch gives up what it does not need, before it reads the first foreign byte. */
#ifndef BELLJAR_RUN_CONFINE_H
#define BELLJAR_RUN_CONFINE_H

#include "base/arena.h"
#include "base/err.h"

struct confine {
	const char *log_dir;	     /* written to; nothing else of the state folder is in reach */
	const char *runs_dir;	     /* our entry in the list of runs is removed there; NULL: none */
	const struct strlist *files; /* folders that are read */
	const struct strlist *write; /* folders that are written to; NULL: none */
};

/* For good: no capabilities, no_new_privs, Landlock, a filter that starts no program and opens no socket. `weaker` says that the host has no
 * Landlock. */
int confine_front(const struct confine *c, bool *weaker, struct err *e);

#endif
