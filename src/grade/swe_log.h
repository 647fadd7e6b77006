/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: what a test runner's plain output says about each test. */
#ifndef BELLJAR_GRADE_SWE_LOG_H
#define BELLJAR_GRADE_SWE_LOG_H

#include "grade/swe_names.h"

struct swe_log {
	enum swe_style style;
	struct swe_map map;
	struct span text; /* borrowed */
};

/* Reads a whole log. `suffix` (NULL: none): functions of this run have it at their end; they are entered without. Names are in the arena. */
void swe_log_parse(struct swe_log *l, enum swe_style style, const char *text, size_t len, const char *suffix, struct arena *a);
/* Is the word anywhere in it, also where no outcome could be told? */
bool swe_log_mentions(const struct swe_log *l, struct span word);
void swe_log_done(struct swe_log *l);

#endif
