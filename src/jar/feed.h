/* SPDX-License-Identifier: Apache-2.0 */
/* The feed: how files, arguments and environment reach a guest process, and how artifacts come back. */
#ifndef BELLJAR_JAR_FEED_H
#define BELLJAR_JAR_FEED_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

/*
 * A stream of records. Going in, it is read by the process that will become the guest, inside the jar, after everything
 * was dropped: no trusted process ever looks at a request's bytes. Coming out (FEED_FILE, FEED_DIR, FEED_LINK,
 * FEED_REFUSED, FEED_END), it is written by the jar's maker after all in the jar is dead, and read by the front.
 */
enum feed_type {
	FEED_DIR = 1,
	FEED_FILE,
	FEED_LINK,    /* data: the target */
	FEED_ARGV,    /* data: NUL-terminated words */
	FEED_ENV,     /* data: NUL-terminated K=V */
	FEED_CWD,     /* data: absolute path in the jar */
	FEED_GO,      /* execute now */
	FEED_REFUSED, /* out: data says why this name did not come */
	FEED_END,     /* out: all was said */
};

#define FEED_INCOMPLETE 1U /* mode of FEED_END: not everything could be listed */
#define FEED_LOST	2U /* mode of FEED_END: a file was refused whose bytes are nowhere else */
#define FEED_MAGIC	0x626a6631U /* "bjf1" */
#define FEED_NAME_MAX	4096U
#define FEED_WORDS_MAX	(1U << 20) /* argv and environment, each */

struct feed_rec {
	uint32_t magic, type;
	uint32_t mode;	    /* permission bits */
	uint32_t name_len;  /* bytes of name that follow, then `size` bytes of data */
	uint64_t size;
	int64_t mtime_ns;
};

/* Times may be anything: what does not fit in nanoseconds since 1970 is not told. */
static inline int64_t feed_mtime(const struct stat *st)
{
	if (st->st_mtim.tv_sec <= 0 || st->st_mtim.tv_sec >= INT64_MAX / 1000000000 - 1)
		return 0;
	return st->st_mtim.tv_sec * 1000000000LL + st->st_mtim.tv_nsec;
}

/* A name that may be made inside a folder: relative, no empty, "." or ".." part, no NUL, at most
 * FEED_NAME_MAX - 1 bytes. */
bool feed_name_ok(const char *name, uint64_t len);
/* Checks a record's header for what its type allows. */
int feed_check(const struct feed_rec *r, struct err *e);

/* What the reading side has gathered when FEED_GO came. */
struct feed_plan {
	char *argv_words, *env_words; /* inside the arena */
	uint64_t argv_len, env_len;
	char cwd[FEED_NAME_MAX];
	unsigned entries; /* files, folders and links that were made */
	bool go;
};

/* Reads records from `in` until FEED_GO, perhaps with what follows it, which is lost. Files are made beneath the folder `root` by the caller's own rights; words
 * are kept in two anonymous mappings (no heap). Fails on anything out of order. */
int feed_read(int in, int root, struct feed_plan *out, struct err *e);
/* Takes the memory that it needs most often. */
void feed_prepare(void);

#endif
