/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a zygote, laid out so that a guest costs few pages. */
#ifndef BELLJAR_GUEST_PAGES_H
#define BELLJAR_GUEST_PAGES_H

#include <stddef.h>

/*
 * A fork copies the page tables of all memory that was ever written to, and the end of the child takes them apart again: an interpreter has three
 * thousand pages, of which a small program writes to two hundred. So the zygote, when it will never change again, puts its memory into a sealed file
 * of its own and maps that, private, in the same place: nothing is copied at a fork, and a guest has tables for what it looks at.
 *
 * Which pages guests write to hardly differs from one to the next: reference counts, the allocator's lists, the stack. The zygote finds out once, and
 * its guests take all of them at once while nobody waits for them.
 */

/* In the zygote: what is allocated from now on, by the interpreter's own allocator or by malloc, lies together. */
void pages_use_up(void *(*object_malloc)(size_t));
/* In the zygote, before its filter, while it sees its own /proc: nothing but the caller's stack and this library's own memory may be written to from
 * now on. What cannot be done is left as it was. Without `data` only program text is moved: with other threads about, what they write while it is copied
 * would be lost. Whether the data is where it should be,
 * and with `sealed` no child can ever change text that is not a file's. */
_Bool pages_settle(_Bool data, _Bool sealed);
/* In the zygote, after that: what is mapped now. False: it cannot be told. */
_Bool pages_begin(void);
/* In a child that will do all that a guest does: when it has done so, it tells what pages it has of its own. False: nobody wants to know. */
void pages_tell_to(int out);
_Bool pages_tell(void);
/* What guests write to: all of them, and besides those that are graded, and the child of a case. */
enum pages_set { PAGES_ALL, PAGES_DRIVER, PAGES_CASE, PAGES_SETS };
/* In the zygote: reads that. PAGES_ALL comes first. */
void pages_learn(int in, enum pages_set set);
/* Where somebody's code has run: forgets pages that are no memory to write to any more. */
void pages_check(enum pages_set set);
/* In a guest, first of all; PAGES_DRIVER before the driver goes on; PAGES_CASE in a child of it, after it has checked them itself. All of them must be there. */
void pages_touch(enum pages_set set);
/* The end of the heap, which is no part of the image. */
void pages_touch_heap(void);

#endif
