/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of one request: given out piece by piece, freed once. */
#ifndef BELLJAR_BASE_ARENA_H
#define BELLJAR_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
};

/* Zeroed memory; ends the program when there is none (a front without memory has nothing to say). */
void *arena_alloc(struct arena *a, size_t size);
char *arena_dup(struct arena *a, const char *text);
char *arena_dup_len(struct arena *a, const char *data, size_t len); /* adds a NUL */
char *arena_fmt(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *a);
/* Takes back all that was given out and keeps one block for what comes next. */
void arena_reset(struct arena *a);

/* A list of strings in an arena. */
struct strlist {
	const char **v; /* NULL-terminated once something was added */
	size_t n, cap;
};

void strlist_add(struct arena *a, struct strlist *l, const char *text);

#endif
