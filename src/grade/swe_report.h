/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: reports in the reference harness's form, with our own fields beside it (docs/swebench.md). */
#ifndef BELLJAR_GRADE_SWE_REPORT_H
#define BELLJAR_GRADE_SWE_REPORT_H

#include <jansson.h>

#include "grade/swe_grade.h"

/* {instance_id: {...}}. `p` may be NULL (nothing but a log is graded). The caller may add fields of its own to the inner object: swe_report_inner(). */
json_t *swe_report_instance(const char *instance_id, const struct swe_prediction *p, bool applied, const struct swe_verdict *v);
json_t *swe_report_inner(json_t *report);
/* A list of texts. */
json_t *swe_report_words(const struct strlist *l);

enum swe_state {
	SWE_NOT_RUN,	/* an error, once a prediction is there */
	SWE_RESOLVED,
	SWE_UNRESOLVED,
	SWE_EMPTY,
	SWE_FAILED_TO_RUN, /* an error */
};

/* The report of one model's run: `states` is by position in `p`, whose entries of other models are passed over. Lists are sorted. */
json_t *swe_report_run(const struct swe_instances *t, const struct swe_predictions *p, const char *model, const enum swe_state *states);
/* As text, with a line end; NULL without memory. The caller frees it. */
char *swe_report_text(const json_t *report);

#endif
