/* SPDX-License-Identifier: Apache-2.0 */
/* The pages that every guest of a zygote writes to: taken at once instead of fault by fault. */
#ifndef BELLJAR_GUEST_PAGES_H
#define BELLJAR_GUEST_PAGES_H

/*
 * A forked interpreter writes to some two hundred pages of its parent's before its program has printed a line: reference counts, the allocator's
 * lists, the stack. Each is a fault and a copy. Which ones they are hardly differs from guest to guest, so the zygote finds out once and its
 * guests ask the kernel for all of them with a few calls while nobody waits for them.
 */

/* In the zygote: a fork leaves out the page tables of program text, since they can be filled again, fault by fault, some eighty in every guest.
 * Puts private copies of the interpreter's and the C library's read-only parts in their place, in huge pages where that is possible: those
 * tables are copied. */
void pages_own_text(void);
/* In the zygote, before its filter, while it sees its own /proc: what is mapped now. False: it cannot be told. */
_Bool pages_begin(void);
/* In a child that has done all that a guest does: writes what it has of its own to `out`. */
void pages_tell(int out);
/* In the zygote: reads that. */
void pages_learn(int in);
/* In a guest, first of all. */
void pages_touch(void);

#endif
