/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier's report on a sample, as JSON. */
#ifndef BELLJAR_GRADE_REPORT_H
#define BELLJAR_GRADE_REPORT_H

#include <jansson.h>

#include "grade/pairs.h"

/*
 * The report as an object, which the caller frees. Texts in it come from whoever is graded, so they hold any bytes, NUL too.
 *
 * NULL: belljar failed, and `e` says how. That is so only when the candidate had not answered anything yet. A verifier that fails with an answer in its
 * hands, or whose report cannot be read, has met something in that answer: then the report is a verdict about the candidate.
 */
json_t *report_read(const struct grade_outcome *o, struct err *e);

/* A text of an object without what makes it end early for C: NUL is shown as \0. "" where there is none. Valid until `a` is freed. */
const char *report_text(const json_t *o, const char *key, struct arena *a);

#endif
