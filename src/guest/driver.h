/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of graded candidates (src/guest/python/driver.py), made in the zygote. */
#ifndef BELLJAR_GUEST_DRIVER_H
#define BELLJAR_GUEST_DRIVER_H

#include "guest/interp.h"
#include "guest/pages.h"

extern struct driver {
	object *names;		    /* of its module */
	object *serve;		    /* goes on from its first question; NULL: there is no driver */
	int rehearsals[PAGES_SETS]; /* what a candidate may be asked, to learn the pages that this takes; -1: nothing */
} driver;

extern const char driver_code[]; /* compiled when belljar was built (tools/precompile.py): the interpreter's magic number, and base64 */

/* Every candidate that is graded needs the driver: all of it that does not depend on who it is happens here, before anybody's code has run. */
void driver_prepare(void);
/* Verifiers are guests too: theirs is _quick(x), the bytes of a plain value, or None. */
void driver_lend(object *names);

#endif
