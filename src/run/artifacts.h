/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts on the host's side: what came out of a jar, written where the caller wants it, and only there. */
#ifndef BELLJAR_RUN_ARTIFACTS_H
#define BELLJAR_RUN_ARTIFACTS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct artifact {
	struct artifact *next;
	const char *path;	/* relative to /workspace, or absolute */
	uint64_t size;
	char sha256[65];
	uint32_t mode;
	const char *link;	/* a symlink's target: told, not made, unless for a workspace */
	const char *data;	/* its bytes, where they are kept in memory */
	const char *refused;	/* why it was not taken; NULL when it was */
	const char *review;	/* a name that programs of the host act on by themselves */
	bool dir, skipped, git, unchanged;	/* unchanged: the workspace has the same already */
};

struct artifact_reader;

struct artifacts {
	struct arena *arena;
	struct artifact_reader *reader; /* while records are read */
	struct artifact *list, **last;
	uint64_t count, refused;
	bool incomplete; /* not everything in the jar could be listed */
	int out;	/* folder to write to, -1: only tell */
	bool workspace; /* copying changes back: folders, links and unchanged files too */
	uint64_t keep_bytes; /* room for files in memory (the arena); 0: none is kept */
	const char *skip; /* the request's own code, which was no file of the workspace */
};

void artifacts_init(struct artifacts *x, struct arena *a);
/* A path of git's own: `.git` or anything below one. */
bool artifacts_is_git(const char *path);
/* Reads the records of an export (feed.h) until FEED_END; the stream is foreign: everything is checked. */
int artifacts_read(struct artifacts *x, int in, struct err *e);
/* The same as far as `in`, which does not block, has it: 1 at FEED_END, 0 when there is more to come, -1. */
int artifacts_step(struct artifacts *x, int in, struct err *e);
/* Gives up on what was begun. */
void artifacts_done(struct artifacts *x);

#endif
