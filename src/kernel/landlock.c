/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock: what of the jar's own root a guest may read, write and execute. */
#include "kernel/landlock.h"

#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/hook.h"
#include "kernel/sys.h"

/* Debian 12's headers stop at ABI 2; these are the kernel's numbers (include/uapi/linux/landlock.h). */
#define FS_EXECUTE	(1ULL << 0)
#define FS_WRITE_FILE	(1ULL << 1)
#define FS_READ_FILE	(1ULL << 2)
#define FS_READ_DIR	(1ULL << 3)
#define FS_REMOVE_FILE	(1ULL << 5)
#define FS_MAKE_CHAR	(1ULL << 6)
#define FS_MAKE_BLOCK	(1ULL << 11)
#define FS_TRUNCATE	(1ULL << 14)
#define FS_IOCTL_DEV	(1ULL << 15)
#define SCOPE_ABSTRACT_UNIX (1ULL << 0)
#define SCOPE_SIGNAL	    (1ULL << 1)
#define CREATE_VERSION	    (1U << 0)
#define RULE_PATH_BENEATH   1

struct ruleset_attr {
	uint64_t handled_fs, handled_net, scoped;
};

struct path_attr {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

/* Highest file system right each ABI knows: 1, 2 (refer), 3 (truncate), 5 (ioctl). */
static uint64_t fs_rights(int abi)
{
	unsigned bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;

	return (1ULL << bits) - 1;
}

int landlock_abi(void)
{
	long abi = hook_disabled("landlock_abi") ? -1 : syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

int landlock_new(int abi, struct err *e)
{
	struct ruleset_attr a = { .handled_fs = fs_rights(abi) };
	/* TCP rules (ABI 4) stay unhandled: the jar has its own network namespace, and loopback must work. */
	size_t size = abi >= 6 ? sizeof(a) : offsetof(struct ruleset_attr, handled_net);
	int fd;

	if (abi >= 6)
		a.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
	fd = (int)syscall(SYS_landlock_create_ruleset, &a, size, 0);
	if (fd < 0)
		return err_sys(e, "create a Landlock ruleset");
	return fd;
}

int landlock_allow_fd(int ruleset, int abi, int fd, const char *path, enum landlock_right right, struct err *e)
{
	static const uint64_t rights[] = {
		[LANDLOCK_READ] = FS_READ_FILE | FS_READ_DIR,
		[LANDLOCK_READ_EXEC] = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR,
		[LANDLOCK_WRITE] = ~(FS_MAKE_CHAR | FS_MAKE_BLOCK | FS_IOCTL_DEV),
		[LANDLOCK_WRITE_NOEXEC] = ~(FS_MAKE_CHAR | FS_MAKE_BLOCK | FS_IOCTL_DEV | FS_EXECUTE),
		[LANDLOCK_DEVICE] = FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE,
		[LANDLOCK_REMOVE] = FS_REMOVE_FILE,
		[LANDLOCK_TTY] = FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
	};
	struct stat st;
	struct path_attr a = { rights[right] & fs_rights(abi), fd };

	if (fd < 0)
		return err_sys(e, "open '%s' for Landlock", path);
	/* The kernel refuses rights over folders for a file. */
	if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		a.allowed &= FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
	if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &a, 0) < 0)
		return err_sys(e, "add the Landlock rule of '%s'", path);
	return 0;
}

int landlock_allow(int ruleset, int abi, const char *path, enum landlock_right right, struct err *e)
{
	auto_close int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC); /* musl's open() would make two calls of it */

	return landlock_allow_fd(ruleset, abi, fd, path, right, e);
}

int landlock_enforce(int ruleset, struct err *e)
{
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return err_sys(e, "enforce Landlock");
	return 0;
}
