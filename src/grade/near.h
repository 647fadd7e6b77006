/* SPDX-License-Identifier: Apache-2.0 */
/* Near names: what somebody may have meant who wrote another. */
#ifndef BELLJAR_GRADE_NEAR_H
#define BELLJAR_GRADE_NEAR_H

#include "grade/text.h"

#define NEAR_NAMES_MAX 4096

/* The name that is nearest to `word` (insertions, deletions, changes and swaps; other case or underscores count for little), or NULL when none is near
 * enough. The word itself is none. Looks at the first NEAR_NAMES_MAX names. */
const char *near_find(const char *word, const struct strlist *names);
/* Adds the names that stand in source code, up to NEAR_NAMES_MAX. */
void near_collect(struct span source, struct arena *a, struct strlist *names);
/* Adds the functions and classes that source code defines at its top level. `language`: python, node or bash. */
void near_collect_functions(struct span source, const char *language, struct arena *a, struct strlist *names);

#endif
