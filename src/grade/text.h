/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign text that is shown: borrowed pieces of it, and the one way in which it gets into our own lines. */
#ifndef BELLJAR_GRADE_TEXT_H
#define BELLJAR_GRADE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

/* A borrowed piece of text; may hold any byte. */
struct span {
	const char *p;
	size_t n;
};

#define SPAN_NONE ((struct span){ NULL, 0 })

struct span span_of(const char *text); /* NULL: empty */
bool span_is(struct span s, const char *word);
bool span_same(struct span a, struct span b);
bool span_starts(struct span s, const char *prefix);
bool span_ends(struct span s, const char *suffix);
/* Where `word` begins in it, or -1. */
long span_find(struct span s, const char *word);
struct span span_from(struct span s, size_t at);
struct span span_head(struct span s, size_t len);
/* Without white space at both ends. */
struct span span_trim(struct span s);
/* Takes the next line off (without its end); false when there is none. */
bool span_line(struct span *rest, struct span *line);
/* The digits that it begins with, 0 when there are none or too many; *len how many bytes they are. */
long span_number(struct span s, size_t *len);

/*
 * Adds up to `max` characters of foreign text, on one line: line ends, control characters, what changes the direction of text or is
 * not seen at all (a prompt may hide in it), and bytes that are no UTF-8 become escapes. "… [12 more]" says that it was cut.
 */
void text_add(struct buf *out, struct span s, size_t max);
/* The same as a string in an arena. */
const char *text_clean(struct arena *a, struct span s, size_t max);
/* Characters in it; a byte that is no UTF-8 counts as one. */
/* The code point of the first character; 0: there is none. */
uint32_t text_code(struct span s);
size_t text_chars(struct span s);
/* Bytes of its first `chars` characters. */
size_t text_bytes(struct span s, size_t chars);

#endif
