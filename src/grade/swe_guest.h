/* SPDX-License-Identifier: Apache-2.0 */
/* What of belljar runs in SWE-bench's jars: files of src/guest, embedded at build time (tools/embed-files.py), that come with the request. */
#ifndef BELLJAR_GRADE_SWE_GUEST_H
#define BELLJAR_GRADE_SWE_GUEST_H

#include "run/request.h"

struct swe_guest_file {
	const char *group; /* the program that needs it; "-": every program */
	const char *path;  /* in /workspace */
	const char *data;
	size_t len;
};

/* Ends with a row of zeros. */
extern const struct swe_guest_file swe_guest_files[];

/* Belljar's own interpreter: it runs the driver and the tree's program, whatever interpreter an instance has. */
#define SWE_GUEST_PYTHON "/usr/bin/python3"

/* Puts the files of `name` ("swe", "tree") into the request, `more` places behind them left free, and the words that start it behind its argv. Nothing
 * of the checkout runs before they are read. */
void swe_guest_add(struct request *r, const char *python, const char *name, size_t more, struct arena *a);

#endif
