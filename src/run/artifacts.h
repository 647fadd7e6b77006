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
	bool dir, skipped, unchanged; /* unchanged: the workspace has the same already */
	bool on_host;		/* refused is why it stays on the host as it is: it did not go in, or was not removed */
	/* until it is in its place (place.c) */
	uint64_t order;	 /* of coming */
	unsigned staged; /* a file's name in the staging folder, 0: it is not there */
	uint8_t hash[32];
	bool hashed;	   /* all of its bytes came over */
	uint32_t raw_mode; /* as the guest left it */
	int64_t mtime_ns;
	bool late; /* it takes the place of something of another kind, or is in a folder that does */
};

/* What went in with --workspace: what the host had when the copy was made. */
struct sent {
	const char *path, *link; /* link: a symlink's target */
	bool dir, hashed;
	const uint8_t *hash; /* of a file, when it is known */
	uint32_t mode;
	uint64_t size;
	int64_t mtime_ns;
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
	struct sent *sent; /* what went in; NULL: not known, then the host's folder is taken as it is now */
	size_t sent_count;
	struct strlist deleted; /* what of it the program removed, and what went with that on the host */
	/* Files wait in a folder of their own beneath `out` until all have come. */
	int stage; /* -1: none was needed yet */
	unsigned staged;
	char stage_name[40];
};

void artifacts_init(struct artifacts *x, struct arena *a);
/* Reads the records of an export (feed.h) until FEED_END, and puts all in its place; the stream is foreign: everything is checked. */
int artifacts_read(struct artifacts *x, int in, struct err *e);
/* Reads as far as `in`, which does not block, has it: 1 at FEED_END, 0 when there is more to come, -1. Nothing is put in its place yet:
 * artifacts_place() (place.h) does it. */
int artifacts_step(struct artifacts *x, int in, struct err *e);
/* Gives up on what was begun and is in no place yet. */
void artifacts_done(struct artifacts *x);

/* For place.c, and for what a run has to list besides. */
struct artifact *artifacts_add(struct artifacts *x, const char *path);
void artifacts_refuse(struct artifacts *x, struct artifact *a, const char *why);
/* Opens the folder where files wait, makes it when there is none. A name in it that is free: artifacts_next(). */
int artifacts_stage(struct artifacts *x);
unsigned artifacts_next(struct artifacts *x);

#endif
