/* SPDX-License-Identifier: Apache-2.0 */
/* A simple command as words. */
#ifndef BELLJAR_GRADE_SWE_WORDS_H
#define BELLJAR_GRADE_SWE_WORDS_H

#include "base/arena.h"
#include "base/err.h"

/*
 * The words of a simple command as a shell would see them. Anything that a shell would act on is refused: no shell reads the command. `{python}` and `{tree}` stay as they are.
 * `shown` begins the error.
 */
int swe_words_split(const char *text, struct strlist *out, const char *shown, struct arena *a, struct err *e);

#endif
