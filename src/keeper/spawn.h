/* SPDX-License-Identifier: Apache-2.0 */
/* Starting belljar-keeper: the first thing that happens in a run, before anything foreign is looked at. */
#ifndef BELLJAR_KEEPER_SPAWN_H
#define BELLJAR_KEEPER_SPAWN_H

#include <stddef.h>

#include "base/err.h"

/* The launcher leaves the keeper's socket here for the front. */
#define SPAWN_ENV "BELLJAR_KEEPER_SOCKET"

/* Path of a program of ours: beside the running one, else in the folder it was installed to. */
void spawn_path(const char *name, char *out, size_t size);
/* Starts the keeper of one jar, or of a pool, with an environment of its own. Returns our end of its socket (close-on-exec), or -1. */
int spawn_keeper(bool pool, struct err *e);
/* What the keeper sees of the caller's environment: where a rootless user keeps run-time files. `out` has room for SPAWN_WORDS. */
#define SPAWN_WORDS 4
void spawn_env(char **out);

#endif
