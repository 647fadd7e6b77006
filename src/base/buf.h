/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer that is created with its maximum. */
#ifndef BELLJAR_BASE_BUF_H
#define BELLJAR_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * `data` is always NUL-terminated once something was added, and may hold NUL bytes before that.
 * Past `max` (or out of memory) nothing is added and `failed` stays true: callers may build a
 * whole text and look once at the end.
 */
struct buf {
	char *data;
	size_t len, cap, max;
	bool failed;
};

#define BUF_INIT(limit) { .max = (limit) }

int buf_add(struct buf *b, const void *data, size_t len);
int buf_str(struct buf *b, const char *text);
int buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_done(struct buf *b);
/* The bytes, owned by the caller from now on (never NULL unless out of memory). */
char *buf_take(struct buf *b);

#define auto_buf __attribute__((cleanup(buf_done))) struct buf

#endif
