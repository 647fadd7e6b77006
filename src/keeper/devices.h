/* SPDX-License-Identifier: Apache-2.0 */
/* The /dev of one jar: device nodes of its own. */
#ifndef BELLJAR_KEEPER_DEVICES_H
#define BELLJAR_KEEPER_DEVICES_H

#include "base/err.h"

/*
 * A bind of the host's /dev/null is the host's inode: a guest that watches it sees when others open it, its locks block others, and its times change the host's
 * file. So each jar gets a file system of its own with nodes of its own. Only a file system that the host's root mounted may hold devices, so the keeper makes
 * it, and the maker attaches it as /dev.
 *
 * Returns a read-only mount that is attached nowhere. -1 where the keeper may not make device nodes (rootless, or without CAP_MKNOD): then jars see the host's nodes.
 */
int devices_make(void);

#endif
