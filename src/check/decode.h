/* SPDX-License-Identifier: Apache-2.0 */
/* A text as its language reads it: a check of other characters than those that run is none. */
#ifndef BELLJAR_CHECK_DECODE_H
#define BELLJAR_CHECK_DECODE_H

#include "base/arena.h"
#include "check/rule.h"

struct decoded {
	const char *text; /* in UTF-8, in the arena or the text that came in */
	size_t len;
	const char *why;  /* the language may read something else than `text`, and why; NULL: it does not */
	uint32_t at, end; /* where in the text that came in */
};

/* `is_file`: a file beside the code, which a program may start in another way (`python3 -x`, without its first line). */
struct decoded decode_text(enum check_language l, const char *text, size_t len, bool is_file, struct arena *a);

#endif
