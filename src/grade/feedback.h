/* SPDX-License-Identifier: Apache-2.0 */
/* Feedback: from a result to what somebody needs to put the code right (docs/feedback.md). */
#ifndef BELLJAR_GRADE_FEEDBACK_H
#define BELLJAR_GRADE_FEEDBACK_H

#include <jansson.h>

#include "grade/text.h"

#define FEEDBACK_ITEMS_MAX 20
#define FEEDBACK_TEXT_MAX  4000 /* bytes of `text` */

/*
 * The feedback object of a result of run, batch, test or judge, to be freed with json_decref(): {summary, items, text, cut}. NULL when there is nothing to
 * explain: it ended well, or it is no result at all (feedback_is_result() tells). `source` is the program's code, for names that are near and the text of
 * lines; it may be empty. Looks at nothing else, and keeps nothing. Every string of a result is taken for foreign text: what comes out
 * is bounded, and each piece of it stays on its line.
 */
json_t *feedback_make(const json_t *result, struct span source);
/* It has the fields of a result that feedback_make() knows. */
bool feedback_is_result(const json_t *result);

#endif
