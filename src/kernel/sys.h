/* SPDX-License-Identifier: Apache-2.0 */
/* System calls as they are. The keeper is linked with musl, which wraps few of the newer ones, the front with glibc: both use these. */
#ifndef BELLJAR_KERNEL_SYS_H
#define BELLJAR_KERNEL_SYS_H

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif
#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x00001000
#endif
#ifndef MNT_DETACH
#define MNT_DETACH 2
#endif
#ifndef P_PIDFD
#define P_PIDFD 3
#endif

struct sys_clone_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
		set_tid_size, cgroup;
};

/*
 * fork() with namespaces: the child continues at the call, on a copy of the parent's memory.
 * Only for single-threaded callers. Returns like fork(); *pidfd is close-on-exec. `cgroup` is the v2 folder
 * that the child is born in, -1: the parent's.
 */
static inline pid_t sys_clone_into(uint64_t flags, int *pidfd, int cgroup)
{
	struct sys_clone_args a = { .flags = flags, .exit_signal = SIGCHLD };

	if (cgroup >= 0) {
		a.flags |= CLONE_INTO_CGROUP;
		a.cgroup = (uint64_t)cgroup;
	}

	if (pidfd) {
		a.flags |= CLONE_PIDFD;
		a.pidfd = (uint64_t)(uintptr_t)pidfd;
	}
	return (pid_t)syscall(SYS_clone3, &a, sizeof(a));
}

static inline pid_t sys_clone(uint64_t flags, int *pidfd)
{
	return sys_clone_into(flags, pidfd, -1);
}

static inline int sys_openat2(int dir, const char *path, uint64_t flags, uint64_t mode,
			      uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .mode = mode, .resolve = resolve };

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

static inline int sys_pidfd_send_signal(int pidfd, int sig, siginfo_t *info, unsigned flags)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, sig, info, flags);
}

static inline int sys_close_range(unsigned first, unsigned last, unsigned flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

static inline int sys_fsopen(const char *type, unsigned flags)
{
	return (int)syscall(SYS_fsopen, type, flags);
}

static inline int sys_fsconfig(int fd, unsigned cmd, const char *key, const void *value, int aux)
{
	return (int)syscall(SYS_fsconfig, fd, cmd, key, value, aux);
}

static inline int sys_fsmount(int fd, unsigned flags, unsigned attr)
{
	return (int)syscall(SYS_fsmount, fd, flags, attr);
}

static inline int sys_open_tree(int dir, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dir, path, flags);
}

static inline int sys_move_mount(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	return (int)syscall(SYS_move_mount, from_dir, from, to_dir, to, flags);
}

static inline int sys_mount_setattr(int dir, const char *path, unsigned flags, struct mount_attr *attr, size_t size)
{
	return (int)syscall(SYS_mount_setattr, dir, path, flags, attr, size);
}

static inline int sys_umount2(const char *path, int flags)
{
	return (int)syscall(SYS_umount2, path, flags);
}

static inline int sys_pivot_root(const char *new_root, const char *put_old)
{
	return (int)syscall(SYS_pivot_root, new_root, put_old);
}

/* waitid with the resource usage, which glibc's wrapper leaves out. */
static inline int sys_waitid(int type, int id, siginfo_t *info, int options, struct rusage *ru)
{
	return (int)syscall(SYS_waitid, type, id, info, options, ru);
}

#endif
