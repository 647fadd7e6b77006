/* SPDX-License-Identifier: Apache-2.0 */
/* Core dumps: neither a file nor a helper of the host's may be started by a guest's crash (KS-18). */
#ifndef BELLJAR_KERNEL_DUMPS_H
#define BELLJAR_KERNEL_DUMPS_H

#include <stdbool.h>

/* Sets this process's limit, which its children inherit, to 1: the kernel then writes no file and starts no helper, as long as
 * nobody lowers the soft limit (a guest still may: tests/containment/README.md, KS-18). Where the caller's hard limit
 * is 0 and cannot be raised, that suffices unless core_pattern names a helper; false then. */
bool dumps_bar(void);

#endif
