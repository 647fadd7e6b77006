/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts by file descriptor only: no path is looked up twice. */
#ifndef BELLJAR_KERNEL_MOUNT_H
#define BELLJAR_KERNEL_MOUNT_H

#include <stdint.h>

#include "base/err.h"

struct mount_opt {
	const char *key;
	const char *value; /* NULL: a flag */
};

/* Makes a file system that is attached nowhere yet. `attr` is MOUNT_ATTR_*; `opts` ends with a
 * NULL key. Returns its root descriptor or -1. The caller needs CAP_SYS_ADMIN over its mount
 * namespace. */
int mount_new(const char *type, const struct mount_opt *opts, uint64_t attr, struct err *e);
/* Changes options of the file system that `mnt` is the root of. */
int mount_change(int mnt, const struct mount_opt *opts, struct err *e);
/* A private copy of what `dir`/`path` shows (with its submounts when `recursive`), attached nowhere, with `attr`
 * set on all of it. The source must be in the caller's mount namespace. */
int mount_copy(int dir, const char *path, bool recursive, uint64_t attr, struct err *e);
/* Shows what belongs to one id of the file system as if it belonged to another: `users` is a user namespace whose maps say so. The mount must not have
 * been attached yet, and the caller needs CAP_SYS_ADMIN where the file system was mounted. */
int mount_idmap(int mnt, int users, struct err *e);
/* Attaches `mnt` at `dir`/`path`, which may not be reached through a symlink. */
int mount_attach(int mnt, int dir, const char *path, struct err *e);
/* Adds attributes to an existing mount. */
int mount_restrict(int mnt, uint64_t attr, bool recursive, struct err *e);
/* Cuts the whole tree off from the host: nothing propagates in or out any more. */
int mount_private(struct err *e);
/* Makes `root` (a mount) the root of this mount namespace and drops the old one. */
int mount_pivot(int root, struct err *e);

#endif
