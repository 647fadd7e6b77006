/* SPDX-License-Identifier: Apache-2.0 */
/* The error in what a program wrote to its stderr: type, message, line. All of it is foreign text that may say anything. */
#ifndef BELLJAR_GRADE_TRACE_H
#define BELLJAR_GRADE_TRACE_H

#include "grade/text.h"

/* Pieces of the text that was read. */
struct trace {
	const char *language; /* python, node, bash, compiler */
	struct span type, message;
	struct span code;     /* the line's own text, where it was printed */
	struct span file, function;
	long line;	      /* in the user's file; 0: not known */
};

/* The error that ended the program, which is the last one; of a compiler the first. Tried are the forms of `language`, or all where
 * it has none of its own (NULL). */
bool trace_parse(struct span text, const char *language, struct trace *t);

#endif
