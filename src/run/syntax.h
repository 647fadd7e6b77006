/* SPDX-License-Identifier: Apache-2.0 */
/* Syntax errors: when a run looks like one, and what the language said of it. */
#ifndef BELLJAR_RUN_SYNTAX_H
#define BELLJAR_RUN_SYNTAX_H

#include "run/result.h"

/*
 * Python and node compile a file before they run any of it, so a run that fails to compile has done nothing: only a run that ended as such a
 * one would is asked about, in a jar, with a program of ours that compiles and does not run. What that says decides: a program that
 * prints "SyntaxError" itself stays what it is. bash runs a file while it reads it, and is asked before.
 */

/* Whether the code must be asked about before it runs. */
bool syntax_is_first(const struct request *r, const struct result *res);
/* Whether a run that has ended looks like code that does not compile. */
bool syntax_is_likely(const struct request *r, const struct step_result *run);
/* "module", "commonjs" or "auto": what node takes the code for. */
const char *syntax_node_type(const struct request *r, struct arena *a);
/* Reads what the step said. 1: wrong (with `out` filled), 0: right, -1: nobody knows. */
int syntax_read(const struct request *r, const struct step_result *step, struct syntax_report *out, struct arena *a);
/* The verdict of code that is wrong: error/syntax. */
void syntax_blame(const struct request *r, const struct syntax_report *s, struct verdict *v);

#endif
