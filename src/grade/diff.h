/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between an expected value and the one that came: "[2]['name']: expected 3, got 4". */
#ifndef BELLJAR_GRADE_DIFF_H
#define BELLJAR_GRADE_DIFF_H

#include "grade/text.h"

#define DIFF_LINES_MAX 5

struct diff {
	struct strlist lines; /* clean text, each on one line */
	size_t more;	      /* differences that are not in it */
};

/* Both as Python writes them; where one is no value, the texts are compared. */
void diff_values(struct span expected, struct span got, struct arena *a, struct diff *out);
/* Output of a program, line by line. */
void diff_output(struct span expected, struct span got, struct arena *a, struct diff *out);

#endif
