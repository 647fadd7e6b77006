/* SPDX-License-Identifier: Apache-2.0 */
/* The feed, writing side: files, arguments and environment of a request, streamed without blocking. */
#ifndef BELLJAR_RUN_FEEDER_H
#define BELLJAR_RUN_FEEDER_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "run/artifacts.h"
#include "run/request.h"
#include "store/digest.h"

struct feed_entry;

/* Something in a folder that cannot go in. */
struct feeder_skipped {
	struct feeder_skipped *next;
	const char *name, *why;
};

struct feeder {
	struct arena *arena;
	struct feed_entry *entries, **last, *at;
	uint64_t bytes; /* of all files, for the check against the disk limit */
	size_t count;
	struct feeder_skipped *skipped;
	/* being sent */
	int source;	/* open file, -1 */
	uint64_t left;	/* of its data */
	struct buf out;
	size_t out_at;
	bool done;
	bool hashing; /* files of the host are hashed as they are sent */
	struct digest hash;
};

/* A file or link that went in. */
struct feeder_file {
	const char *path, *data; /* data: NULL for a file of the host */
	bool hashed;		 /* known: all of it was sent */
	uint8_t hash[DIGEST_SIZE];
};

void feeder_init(struct feeder *f, struct arena *a);
void feeder_done(struct feeder *f);
/* A file of the host or a folder with all in it. Symlinks are copied as such; devices, FIFOs and sockets in a folder are left out (skipped). */
int feeder_add_path(struct feeder *f, const char *source, const char *name, const char *option, struct err *e);
int feeder_add_bytes(struct feeder *f, const char *name, const char *data, size_t len, uint32_t mode, struct err *e);
int feeder_add_words(struct feeder *f, uint32_t type, const char *const *words, struct err *e);
int feeder_add_cwd(struct feeder *f, const char *path);
/* The last record: execute. */
int feeder_go(struct feeder *f);
/* From the first record again. */
void feeder_rewind(struct feeder *f);
/* The first `count` of a list of entries, which are files, links and folders, to see later what became of them. */
struct sent *feeder_sent(const struct feed_entry *entries, size_t count, struct arena *a);
/* All files and links of a list of entries (feeder.entries as they stood), in order; they live as long as their arena. */
void feeder_each_file(const struct feed_entry *entries, void (*fn)(const struct feeder_file *, void *), void *ctx);
/* Writes what the pipe takes. 1 when all is sent, 0 when it would block, -1 on an error (a file that cannot be read any more). */
int feeder_write(struct feeder *f, int fd, struct err *e);

#endif
