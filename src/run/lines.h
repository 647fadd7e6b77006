/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a stream, one by one, of bounded length. */
#ifndef BELLJAR_RUN_LINES_H
#define BELLJAR_RUN_LINES_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct lines {
	int fd;
	struct buf buf;
	size_t at, seen; /* where the next line begins; up to where no line end was found */
	uint64_t number; /* of the line that was given out last, from 1 */
	uint64_t bytes;	 /* before the next line, in the whole stream */
	bool eof, skipping;
};

enum lines_result { LINES_MORE, LINES_LINE, LINES_LONG, LINES_END };

void lines_init(struct lines *l, int fd, size_t max);
void lines_done(struct lines *l);
/* One read. 0, or -1 with errno. */
int lines_fill(struct lines *l);
/* The next line without its end, valid until the next fill. LINES_MORE: fill first; LINES_LONG: this one (counted) is longer than the maximum and was
 * thrown away. A last line without an end is a line; `cut`, where given, says that it was one. */
enum lines_result lines_next(struct lines *l, const char **text, size_t *len, bool *cut);

#endif
