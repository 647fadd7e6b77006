/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a stream as frames: four bytes of length, little end first, then that many. */
#include "grade/frames.h"

#include <stdint.h>
#include <string.h>

void frames_init(struct frames *f, size_t max)
{
	f->in.len = f->at = 0;
	f->in.max = max + 4 + (64U << 10);
	f->in.failed = false;
	f->max = max;
	f->bad = false;
}

void frames_done(struct frames *f)
{
	buf_done(&f->in);
}

void frames_add(struct frames *f, const char *data, size_t len)
{
	if (f->bad)
		return;
	if (f->at) {
		memmove(f->in.data, f->in.data + f->at, f->in.len - f->at);
		f->in.len -= f->at;
		f->at = 0;
	}
	/* Large enough for one frame and what a read may bring beyond it. */
	if (buf_add(&f->in, data, len) < 0)
		f->bad = true;
}

bool frames_next(struct frames *f, const char **data, size_t *len)
{
	size_t left = f->in.len - f->at;
	const unsigned char *p;
	uint32_t n;

	if (f->bad || left < 4)
		return false;
	p = (const unsigned char *)f->in.data + f->at;
	n = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	if (n > f->max) {
		f->bad = true;
		return false;
	}
	if (left - 4 < n)
		return false;
	*data = f->in.data + f->at + 4;
	*len = n;
	f->at += 4 + (size_t)n;
	return true;
}
