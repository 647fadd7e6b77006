/* SPDX-License-Identifier: Apache-2.0 */
/* The ELF loader that a jar with an allow-list shows: the host's, with a few instructions in front that narrow what it does. */
#ifndef BELLJAR_JAR_LOADER_H
#define BELLJAR_JAR_LOADER_H

#include "base/err.h"

/*
 * The kernel opens the loader for each program as if it executed it, so whoever may start a program may start its loader: `ld.so FILE`, and
 * `LD_PRELOAD=FILE program` is the same by other means. A file on a noexec mount cannot have its code mapped, but it needs none: the loader calls
 * whatever function of whatever library in the jar its tables name. A file of 600 bytes makes `cat` a Python where there is a libpython.
 *
 * So the loader's entry is a stub that ends the process when the loader is not some program's interpreter (the kernel says so: AT_BASE is 0), and
 * hides variables that name files to load (LD_*, GCONV_PATH) from it. The jar shows that copy in the loader's place. The stub is
 * written into the padding behind its code; a loader without room for it is left as it is, and JAR_MISSING_LOADER says so.
 */

/* Whether the loader open at `fd` can be guarded. */
bool loader_can_guard(int fd);
/* Writes the guarded copy of `in` to `out`. */
int loader_guard(int in, int out, struct err *e);

#endif
