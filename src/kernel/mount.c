/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts by file descriptor only: no path is looked up twice. */
#include "kernel/mount.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "kernel/sys.h"

/* The kernel explains a refused option in a message that is read from the context itself. */
static void mount_why(int ctx, char *out, size_t size)
{
	ssize_t n = read(ctx, out, size - 1);

	out[n > 0 ? n : 0] = '\0';
	if (n > 0 && out[n - 1] == '\n')
		out[n - 1] = '\0';
}

int mount_new(const char *type, const struct mount_opt *opts, uint64_t attr, struct err *e)
{
	auto_close int ctx = sys_fsopen(type, FSOPEN_CLOEXEC);
	char why[160];
	int mnt;

	if (ctx < 0)
		return err_sys(e, "open file system type '%s'", type);
	for (; opts && opts->key; opts++) {
		int rc = opts->value ? sys_fsconfig(ctx, FSCONFIG_SET_STRING, opts->key, opts->value, 0)
				     : sys_fsconfig(ctx, FSCONFIG_SET_FLAG, opts->key, NULL, 0);
		if (rc < 0)
			return err_sys(e, "%s option '%s'", type, opts->key);
	}
	if (sys_fsconfig(ctx, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0) {
		int saved = errno;

		mount_why(ctx, why, sizeof(why));
		errno = saved;
		return err_sys(e, "create %s%s%s", type, why[0] ? ": " : "", why);
	}
	mnt = sys_fsmount(ctx, FSMOUNT_CLOEXEC, (unsigned)attr);
	if (mnt < 0)
		return err_sys(e, "mount %s", type);
	return mnt;
}

int mount_change(int mnt, const struct mount_opt *opts, struct err *e)
{
	auto_close int ctx = (int)syscall(SYS_fspick, mnt, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);

	if (ctx < 0)
		return err_sys(e, "change a file system");
	for (; opts->key; opts++)
		if (sys_fsconfig(ctx, FSCONFIG_SET_STRING, opts->key, opts->value, 0) < 0)
			return err_sys(e, "change option '%s'", opts->key);
	if (sys_fsconfig(ctx, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
		return err_sys(e, "change a file system");
	return 0;
}

int mount_restrict(int mnt, uint64_t attr, bool recursive, struct err *e)
{
	struct mount_attr a = { .attr_set = attr };

	if (sys_mount_setattr(mnt, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &a, sizeof(a)) < 0)
		return err_sys(e, "restrict a mount");
	return 0;
}

int mount_idmap(int mnt, int users, struct err *e)
{
	struct mount_attr a = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)users };

	if (sys_mount_setattr(mnt, "", AT_EMPTY_PATH, &a, sizeof(a)) == 0)
		return 0;
	err_sys(e, "map the ids of a mount");
	return err_hint(e, "this file system, or a kernel before 5.19, has no mapped ids: copy the folder in with --file");
}

int mount_copy(int dir, const char *path, bool recursive, uint64_t attr, struct err *e)
{
	auto_close int mnt = sys_open_tree(dir, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
						  AT_SYMLINK_NOFOLLOW | (*path ? 0 : AT_EMPTY_PATH) |
						  (recursive ? AT_RECURSIVE : 0));

	if (mnt < 0)
		return err_sys(e, "copy the mount of '%s'", path);
	if (attr && mount_restrict(mnt, attr, recursive, e) < 0)
		return err_wrap(e, "'%s'", path);
	return take_fd(&mnt);
}

int mount_attach(int mnt, int dir, const char *path, struct err *e)
{
	auto_close int at = sys_openat2(dir, path, O_PATH, 0,
					RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH);

	if (at < 0)
		return err_sys(e, "open mount point '%s'", path);
	if (sys_move_mount(mnt, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_sys(e, "attach a mount at '%s'", path);
	return 0;
}

int mount_private(struct err *e)
{
	struct mount_attr a = { .propagation = MS_PRIVATE };

	if (sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &a, sizeof(a)) < 0)
		return err_sys(e, "make mounts private");
	return 0;
}

int mount_pivot(int root, struct err *e)
{
	/* pivot_root(".", ".") stacks the old root on the new one; detaching "." then removes it
	 * (pivot_root(2), NOTES). */
	if (fchdir(root) < 0)
		return err_sys(e, "enter the new root");
	if (sys_pivot_root(".", ".") < 0)
		return err_sys(e, "pivot_root");
	if (sys_umount2(".", MNT_DETACH) < 0)
		return err_sys(e, "detach the old root");
	if (chdir("/") < 0)
		return err_sys(e, "enter /");
	return 0;
}
