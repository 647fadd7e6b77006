/* SPDX-License-Identifier: Apache-2.0 */
/* What the static check says of a request before anything is started. */
#ifndef BELLJAR_RUN_POLICY_H
#define BELLJAR_RUN_POLICY_H

#include "check/check.h"
#include "run/request.h"

/* Looks at the code and at files of the request that are Python, bash or JavaScript by their ending. -1: a set of rules that does not exist. */
int policy_check(const struct request *r, struct arena *a, struct check_result *out, struct err *e);
/* Whether anything that is found can refuse the request: with `enforce`, and with lists of modules under every policy. Else findings are only recorded. */
bool policy_can_refuse(const struct request *r);
/* -1 with an error of kind ERR_DENIED that says how many findings refuse it, and the first. */
int policy_decide(const struct request *r, const struct check_result *c, struct err *e);
/* Where findings can refuse: the grammar did not understand the code, but the language does. What was not understood was not checked. */
void policy_add_parse(const struct request *r, struct arena *a, struct check_result *out);
/* The grammar that the code of a request is checked with. */
enum check_language policy_language(const struct request *r);

#endif
