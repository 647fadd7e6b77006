/* SPDX-License-Identifier: Apache-2.0 */
/* What an earlier batch has done already, from its output. */
#ifndef BELLJAR_RUN_RESUME_H
#define BELLJAR_RUN_RESUME_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A set of hashes: 16 bytes for each result, however long the ids are. */
struct resume {
	uint64_t (*keys)[2];
	size_t count, cap;
};

/* Reads the results in `fd` and cuts off a last line that was not finished; the descriptor then stands at the end. Results of runs that never had their
 * chance (cancelled, busy, internal) do not count. */
int resume_load(struct resume *s, int fd, const char *name, struct err *e);
/* A request without an id is known by its line. */
bool resume_has(const struct resume *s, const char *id, uint64_t line);
void resume_done(struct resume *s);

#endif
