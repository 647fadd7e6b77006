/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of one request: given out piece by piece, freed once. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 16384

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	char data[];
};

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *b = a->blocks;
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (!b || b->size - b->used < size) {
		size_t room = size > BLOCK ? size : BLOCK;

		b = calloc(1, sizeof(*b) + room);
		if (!b) {
			fputs("error: out of memory\n", stderr);
			exit(125);
		}
		b->size = room;
		b->next = a->blocks;
		a->blocks = b;
	}
	p = b->data + b->used;
	b->used += size;
	return p;
}

char *arena_dup_len(struct arena *a, const char *data, size_t len)
{
	char *p = arena_alloc(a, len + 1);

	if (len)
		memcpy(p, data, len);
	return p;
}

char *arena_dup(struct arena *a, const char *text)
{
	return arena_dup_len(a, text, strlen(text));
}

char *arena_fmt(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)(n < 0 ? 0 : n) + 1, fmt, ap);
	va_end(ap);
	return p;
}

void arena_free(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
}

void arena_reset(struct arena *a)
{
	struct arena_block *kept = NULL, *next;

	for (struct arena_block *b = a->blocks; b; b = next) {
		next = b->next;
		if (!kept && b->size == BLOCK) {
			kept = b;
			continue;
		}
		free(b);
	}
	a->blocks = kept;
	if (!kept)
		return;
	memset(kept->data, 0, kept->used);
	kept->used = 0;
	kept->next = NULL;
}

void strlist_add(struct arena *a, struct strlist *l, const char *text)
{
	if (l->n + 1 >= l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 8;
		const char **v = arena_alloc(a, cap * sizeof(*v));

		if (l->n)
			memcpy(v, l->v, l->n * sizeof(*v));
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = text;
	l->v[l->n] = NULL;
}
