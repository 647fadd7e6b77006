/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a candidate's function, from the bytes of the question to those of the answer. */
#ifndef BELLJAR_GUEST_ANSWER_H
#define BELLJAR_GUEST_ANSWER_H

#include "guest/interp.h"

/*
 * call() of src/guest/python/driver.py, for what nearly all calls are: a function of the solution's, plain values, and a plain value that it returns. A case has a process of
 * its own, and every object that the interpreter looks at on the way costs it a page; here it is the solution that is interpreted, and little else. What is not plain
 * is Python's: before the call all of it, after the call what to make of its outcome.
 */
struct answers {
	object *names;	 /* the solution's; NULL: all questions are Python's */
	object *after;	 /* after(nonce, value, begin, cpu, args, kwargs, before, materialise): answers with a value that is not plain */
	object *raised;	 /* raised(nonce, e, args, kwargs, before): answers with an exception */
	int out;
	int capture;	 /* a file with what was printed; -1: none */
};

#define ANSWER_NONCE 16

/* 1: it is answered. 0: it is for Python, and nothing has happened. -1: a Python error. */
int answer(const struct answers *a, const char nonce[static ANSWER_NONCE], const char *body, size_t len);

#endif
