/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a stream, one by one, of bounded length. */
#include "run/lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BLOCK	 65536
#define KEEP_MAX (1U << 20) /* memory of a long line is given back */

void lines_init(struct lines *l, int fd, size_t max)
{
	memset(l, 0, sizeof(*l));
	l->fd = fd;
	l->buf.max = max + BLOCK;
}

void lines_done(struct lines *l)
{
	buf_done(&l->buf);
}

/* Puts what is left at the start of the buffer. */
static void pack(struct lines *l)
{
	size_t left = l->buf.len - l->at;

	if (l->buf.cap > KEEP_MAX && left < KEEP_MAX / 2) {
		struct buf small = BUF_INIT(l->buf.max);

		buf_add(&small, l->buf.data + l->at, left);
		buf_done(&l->buf);
		l->buf = small;
	} else if (l->at && left) {
		memmove(l->buf.data, l->buf.data + l->at, left);
	}
	l->buf.len = left;
	l->seen -= l->at;
	l->at = 0;
}

int lines_fill(struct lines *l)
{
	static char block[BLOCK];
	ssize_t n;

	do
		n = read(l->fd, block, sizeof(block));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -1;
	if (n == 0) {
		l->eof = true;
		return 0;
	}
	pack(l);
	/* Never past the maximum: lines_next() throws away before that. */
	if (buf_add(&l->buf, block, (size_t)n) < 0) {
		errno = ENOMEM;
		return -1;
	}
	return 0;
}

static void skip_to(struct lines *l, size_t at)
{
	l->bytes += at - l->at;
	l->at = l->seen = at;
}

enum lines_result lines_next(struct lines *l, const char **text, size_t *len, bool *cut)
{
	char *end = l->buf.len > l->seen ? memchr(l->buf.data + l->seen, '\n', l->buf.len - l->seen) : NULL;
	size_t from = l->at, to = end ? (size_t)(end - l->buf.data) : l->buf.len;
	bool was_skipping = l->skipping;

	if (!end && !l->eof) {
		l->seen = l->buf.len;
		if (l->skipping || l->buf.len - l->at > l->buf.max - BLOCK) {
			l->skipping = true;
			skip_to(l, l->buf.len);
		}
		return LINES_MORE;
	}
	if (!end && from == to && !l->skipping)
		return LINES_END;
	skip_to(l, end ? to + 1 : to);
	l->number++;
	l->skipping = false;
	if (cut)
		*cut = !end;
	if (was_skipping || to - from > l->buf.max - BLOCK)
		return LINES_LONG;
	*text = l->buf.data + from;
	*len = to - from;
	return LINES_LINE;
}
