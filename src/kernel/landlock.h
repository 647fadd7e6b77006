/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock: what a process may read, write and execute: a guest of its jar's root, a front of the host. */
#ifndef BELLJAR_KERNEL_LANDLOCK_H
#define BELLJAR_KERNEL_LANDLOCK_H

#include <stdint.h>

#include "base/err.h"

enum landlock_right {
	LANDLOCK_READ,		/* read files and folders */
	LANDLOCK_READ_EXEC,	/* read files and folders, execute */
	LANDLOCK_WRITE,		/* everything but device nodes, execute included */
	LANDLOCK_WRITE_NOEXEC,	/* the same without execute */
	LANDLOCK_DEVICE,	/* read and write device nodes, no device ioctl */
	LANDLOCK_TTY,		/* the same with ioctl (pseudo terminals) */
	LANDLOCK_REMOVE,	/* remove files, nothing else */
};

/* The kernel's ABI version, 0 where Landlock is missing or off. */
int landlock_abi(void);
/* A ruleset that denies all it can handle under `abi`; descriptor or -1. */
int landlock_new(int abi, struct err *e);
/* Allows `right` beneath `path` in the caller's root. A path that does not exist is an error. */
int landlock_allow(int ruleset, int abi, const char *path, enum landlock_right right, struct err *e);
/* The same beneath what a descriptor leads to; `path` is for the message. */
int landlock_allow_fd(int ruleset, int abi, int fd, const char *path, enum landlock_right right, struct err *e);
/* Puts the caller under the ruleset for good. Needs no_new_privs. */
int landlock_enforce(int ruleset, struct err *e);

#endif
