/* SPDX-License-Identifier: Apache-2.0 */
/* What of belljar runs in SWE-bench's jars: files of src/guest/python, embedded at build time, that come with the request. */
#ifndef BELLJAR_GRADE_SWE_GUEST_H
#define BELLJAR_GRADE_SWE_GUEST_H

#include "run/request.h"

extern const char swe_start_py[], swe_driver_py[], swe_driver_code[], swe_tree_py[], swe_tree_code[];

/* Puts the files into the request, `more` places behind them left free, and the words that start `name` ("swe", "tree") behind its argv. Nothing of
 * a stranger's runs before they are read. */
void swe_guest_add(struct request *r, const char *python, const char *name, size_t more, struct arena *a);

#endif
