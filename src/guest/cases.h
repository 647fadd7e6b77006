/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of a candidate, each in a process of its own. */
#ifndef BELLJAR_GUEST_CASES_H
#define BELLJAR_GUEST_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The driver's loop (src/guest/python/driver.py) where a zygote made the driver: the interpreter that has loaded the solution writes to no page between
 * two cases, so that a fork leaves nothing to be copied in it, and the child of the next case is there before its question is.
 *
 * As everything in a candidate's jar, it is not trusted: it says what happened, and the verifier believes what it can check.
 */

#define CASES_HEAD 21 /* of a frame: the length, what is to be done, the answer's first 16 bytes */
#define CASES_CHILD 'K'

struct cases {
	int inp, out;  /* questions and answers */
	int capture;   /* a file with what was printed; -1: none */
	void (*in_child)(void); /* while there is no question yet */
	struct cases_child {
		pid_t pid; /* 0: there is none */
		int pidfd, go;
	} next;	       /* waits for its question */
};

/*
 * Serves the case whose head this is and all that come after it, until a head comes that is no case's, or a case can have no child: 0, with that head. In the
 * child of a case: 0 too, with its head, which then says CASES_CHILD. -1: there are no more questions. The caller has one thread. Signals wait: what one case sends to its
 * parent is not for the children of others.
 */
int cases_serve(struct cases *c, unsigned char head[static CASES_HEAD]);

#define CASES_PRINTED_MAX 65536
/* What was printed to `fd` since the last look: at most `size` bytes of it. */
size_t cases_printed(int fd, char *out, size_t size);
/* Of a head: how many bytes follow, and for how long the child may take. */
size_t cases_length(const unsigned char head[static CASES_HEAD]);
uint32_t cases_wall_ms(const unsigned char head[static CASES_HEAD]);

#endif
