/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a folder of shared objects are programs: an allow-list masks them (allow.h). */
#ifndef BELLJAR_JAR_PROGRAMS_H
#define BELLJAR_JAR_PROGRAMS_H

#include <stddef.h>

#include "base/err.h"

/*
 * The ELF loader can be started with a file as its argument, and then needs nothing but to map that file: no right to execute it. So in
 * folders from which code can be mapped no program may lie but the allowed ones. A program is by its content ELF, and
 *
 *	ET_EXEC; or ET_DYN with DF_1_PIE; or ET_DYN with an interpreter and without a name of its own as a library (libc.so.6 has both);
 *	or ET_DYN that is executable by its mode and not called like a library.
 *
 * Folders that cannot be listed are masked whole; files that we cannot read neither can a guest, who is nobody as we are.
 */

/* NUL-terminated paths of all programs beneath `trees`, on the heap, in *out. `cache` is a file to remember them in (-1: none): what it says
 * about a folder holds while no folder in it has changed; whatever is wrong with it, it is written anew. */
int programs_find(const char *const *trees, size_t count, int cache, char **out, size_t *len, struct err *e);
/* The test itself. */
bool programs_is(int fd, const char *name);

#endif
