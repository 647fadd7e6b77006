/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a stream as frames: four bytes of length, little end first, then that many. */
#ifndef BELLJAR_GRADE_FRAMES_H
#define BELLJAR_GRADE_FRAMES_H

#include "base/buf.h"

#define FRAME_MAX (256U << 20)

struct frames {
	struct buf in;
	size_t at;  /* where the next one begins */
	size_t max; /* longer ones are refused */
	bool bad;   /* something was said that is none: nothing after it can be told apart */
};

void frames_init(struct frames *f, size_t max);
void frames_done(struct frames *f);
void frames_add(struct frames *f, const char *data, size_t len);
/* The next whole one, valid until frames_add(). False: none yet, or never again. */
bool frames_next(struct frames *f, const char **data, size_t *len);

#endif
