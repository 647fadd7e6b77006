/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of a batch's store: its sockets, and SQLite on files that are open already. It opens nothing, starts nothing, makes no socket.
 * What is not named answers EPERM. Rows as in seccomp_table.h.
 */
ALLOW(read) ALLOW(write) ALLOW(recvfrom) ALLOW(sendto) ALLOW(poll) ALLOW(ppoll) ALLOW(close)
/* SQLite: reading, writing, syncing, locks by fcntl; what it asks of names answers as if they were not there (Landlock), */
ALLOW(pread64) ALLOW(pwrite64) ALLOW(lseek) ALLOW(fdatasync) ALLOW(fsync) ALLOW(ftruncate) ALLOW(fallocate) ALLOW(fcntl) ALLOW(fstat) ALLOW(fstatfs)
ALLOW(stat) ALLOW(lstat) ALLOW(newfstatat) ALLOW(access) ALLOW(geteuid) ALLOW(getpid)
/* Memory, but nothing that can be executed */
WHEN(mmap, ACT_EPERM, ARG(2, 4, 4)) ALLOW(mmap) WHEN(mprotect, ACT_EPERM, ARG(2, 4, 4)) ALLOW(mprotect) ALLOW(brk) ALLOW(munmap) ALLOW(mremap) ALLOW(madvise)
ALLOW(clock_gettime) ALLOW(gettimeofday) ALLOW(clock_nanosleep) ALLOW(nanosleep) ALLOW(getrandom) ALLOW(futex) ALLOW(exit) ALLOW(exit_group)
ALLOW(restart_syscall) ALLOW(rt_sigprocmask) ALLOW(rt_sigreturn)
