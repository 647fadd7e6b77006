/* SPDX-License-Identifier: Apache-2.0 */
/* Core dumps: neither a file nor a helper of the host's may be started by a guest's crash (KS-18). */
#ifndef BELLJAR_KERNEL_DUMPS_H
#define BELLJAR_KERNEL_DUMPS_H

#include <stdbool.h>

#include "base/err.h"

/* Sets this process's limit, which its children inherit, to 1: the kernel then writes no file and starts no helper. A guest cannot
 * lower it again (seccomp_table.h: prlimit64, setrlimit). -1 where that does not suffice, as core_pattern stands now: it names a helper and the
 * caller's hard limit is 0 and cannot be raised, or it names a socket. */
int dumps_bar(struct err *e);

/* Whether a crash stays without effect under this core_pattern (NULL: unknown), with a limit of 1 (`limited`) or of 0. */
bool dumps_held(const char *pattern, bool limited);

#endif
