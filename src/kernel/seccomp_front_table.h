/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's own system calls while it reads foreign bytes (batch): pipes, its sockets, its logs. No program can be started from there, no
 * socket opened, no other process looked at; what is not named answers EPERM. Rows as in seccomp_table.h.
 */

/* Streams, descriptors, waiting */
ALLOW(read) ALLOW(write) ALLOW(readv) ALLOW(writev) ALLOW(pread64) ALLOW(close) ALLOW(pipe2) ALLOW(lseek) ALLOW(ftruncate)
ALLOW(recvmsg) ALLOW(sendmsg) ALLOW(epoll_create1) ALLOW(epoll_ctl) ALLOW(epoll_wait) ALLOW(epoll_pwait) ALLOW(poll) ALLOW(ppoll) ALLOW(fcntl)
ALLOW(signalfd4)
/* FIONREAD, TCGETS and TIOCGWINSZ: how much is in a pipe, is it a terminal, how wide. */
WHEN(ioctl, ACT_ALLOW, ARG(1, ~0U, 0x541b)) WHEN(ioctl, ACT_ALLOW, ARG(1, ~0U, 0x5401)) WHEN(ioctl, ACT_ALLOW, ARG(1, ~0U, 0x5413)) DENY(ioctl)

/* Files: Landlock says which. fchmod is for pipes. */
ALLOW(open) ALLOW(openat) ALLOW(openat2) ALLOW(fstat) ALLOW(stat) ALLOW(lstat) ALLOW(newfstatat) ALLOW(statx) ALLOW(access) ALLOW(faccessat)
ALLOW(faccessat2) ALLOW(readlink) ALLOW(readlinkat) ALLOW(getdents64) ALLOW(fchmod) ALLOW(mkdir) ALLOW(unlink) ALLOW(unlinkat)
/* Trees of repositories (src/grade/swe_tree.c) */
ALLOW(mkdirat) ALLOW(symlinkat) ALLOW(utimensat) ALLOW(renameat) ALLOW(fstatfs) ALLOW(flock)

/* Memory, but nothing that can be executed */
WHEN(mmap, ACT_EPERM, ARG(2, 4, 4)) ALLOW(mmap) WHEN(mprotect, ACT_EPERM, ARG(2, 4, 4)) ALLOW(mprotect)
ALLOW(brk) ALLOW(munmap) ALLOW(mremap) ALLOW(madvise)

/* The process itself */
ALLOW(clock_gettime) ALLOW(clock_nanosleep) ALLOW(exit) ALLOW(exit_group) ALLOW(futex) ALLOW(geteuid) ALLOW(getpid) ALLOW(getrandom)
ALLOW(getrusage) ALLOW(gettid) ALLOW(gettimeofday) ALLOW(getuid) ALLOW(restart_syscall) ALLOW(rt_sigaction) ALLOW(rt_sigprocmask)
ALLOW(rt_sigreturn) ALLOW(sched_yield) ALLOW(sigaltstack)
