/* SPDX-License-Identifier: Apache-2.0 */
/* Seats: the memory of an interpreter that guests of one client use one after the other, each time as it was before the first. */
#ifndef BELLJAR_JAR_SEAT_H
#define BELLJAR_JAR_SEAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jar/root.h"

/*
 * Theory of operation
 *
 * A fork of an interpreter, the copies of the pages that it writes to, and taking all of that apart again are most of what a short program costs. So a
 * zygote bears a *seat* for a slot: a process that does nothing but bear guests, one at a time, with its own memory instead of a copy (CLONE_VM). Such a
 * guest is a process like any other in everything else: number, session, descriptors, signals, limits and the last filter are its own.
 *
 * Before its first guest a seat enters the jar, and gives away all that its guests are not to have (enter_seat()): they have its namespaces, ids and ruleset, and it has
 * no more rights than they. It stays where it was born in one respect: its number is not of the jar's pid namespace, so that no guest can name it. It is that jar's for good, and is
 * killed with it.
 *
 * Still it has what a guest has not: a socket to the keeper, two more system calls, a number among the host's; and the guest can write all that the seat will ever execute. Therefore
 * the seat never runs while a guest of its has lived and its memory was not restored:
 *
 *  - it bears with CLONE_VFORK, so it waits in the kernel, deaf to all signals but SIGKILL, until the guest has let go of the memory;
 *  - it is traced by the *restorer* and stops in the kernel then (PTRACE_O_TRACEVFORKDONE), before the next instruction;
 *  - it dies with the restorer (PTRACE_O_EXITKILL).
 *
 * When everything in the jar is dead (the keeper looks at the kernel's own count, and nobody but the seat may be left in the group), the restorer compares
 * what is mapped with what was mapped before the first guest, writes back every page that anybody has written to, sets the seat's registers to what
 * they were, and lets it go: it finds itself where it once stopped (SIGSTOP), as if nothing had been. What was mapped besides it then unmaps
 * itself. If anything is not as it was, or a guest has asked for what a list of mappings does not show (the calls that seccomp-gen's seat rows report), the seat is
 * killed, and the zygote bears another.
 *
 * Program text that the zygote has copied into huge pages is sealed (mseal): nobody can change it. A guest runs nothing of the interpreter before it has closed and filtered everything.
 *
 * The restorer reads no byte that a guest wrote: it writes what it has read before the first one.
 */

/* What it has open when it has entered its jar. */
enum { SEAT_SOCK = 3, SEAT_QUEUES, SEAT_PLACES, SEAT_FDS = SEAT_PLACES + ROOT_PLACES };

#define SEAT_ERRANDS 512

/* In the seat's memory, written to by the restorer: what its last guest has mapped, and pages that only it has written to: they are what they were, and are to be
 * given back, so that the next guest does not pay for them. */
struct seat_mail {
	uint32_t count;
	uint32_t stop; /* it was much: the seat is to stop once more, so that the kernel's marks of how much it was can be set back */
	struct {
		uint64_t start, end;
		uint64_t unmap; /* else give back */
	} errands[SEAT_ERRANDS];
};

enum restore_op {
	RESTORE_TAKE = 1, /* `pid` says that it is a seat, its mail is at `mail`; answered when it is traced */
	RESTORE_LEARN,	  /* it stops itself: what it has now is how it is to be. Answered when it goes on */
	RESTORE_BACK,	  /* its guest is dead. Answered when it goes on */
};

struct restore_msg {
	uint32_t op, seat; /* a number of the keeper's, below SEATS_MAX */
	int32_t pid;
	uint32_t zygote; /* whose child it is: those of one have the same files mapped */
	uint64_t mail;
};

struct restore_answer {
	uint32_t seat;
	int32_t pid;
	uint32_t ok; /* 0: it is of no more use, and is to be killed */
	int32_t sys; /* errno, where the kernel said no */
	uint32_t why; /* enum restore_why, for tests and for whoever wonders */
};

enum restore_why {
	RESTORE_OK,
	RESTORE_AGAIN,	  /* it was the first of its zygote: to read what all of them have it was looked at more than is good. The next will do */
	RESTORE_KERNEL,	  /* the kernel cannot, or does not let us */
	RESTORE_STRANGE,  /* it is not where it should be */
	RESTORE_MAPPED,	  /* something is mapped otherwise than before */
	RESTORE_TOO_MUCH, /* too many pages */
	RESTORE_TEXT,	  /* what nobody may write to was written to */
};

#define SEATS_MAX 33 /* of a shelf: numbered as its slots are */

/* Runs in a child of the shelf, as root of U1. Says REPORT_READY or REPORT_ERROR first. */
_Noreturn void restorer_main(int sock);

#endif
