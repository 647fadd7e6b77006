/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notary's own system calls: one socket, files of one folder (Landlock says which), a clock. What is not named answers EPERM. Rows as in
 * seccomp_table.h.
 */
ALLOW(recvfrom) ALLOW(sendto) ALLOW(read) ALLOW(write) ALLOW(close) ALLOW(openat) ALLOW(fstat) ALLOW(newfstatat) ALLOW(fsync)
ALLOW(renameat) ALLOW(unlinkat) ALLOW(flock)
WHEN(mmap, ACT_EPERM, ARG(2, 4, 4)) ALLOW(mmap) WHEN(mprotect, ACT_EPERM, ARG(2, 4, 4)) ALLOW(mprotect) ALLOW(brk) ALLOW(munmap) ALLOW(mremap)
ALLOW(madvise) ALLOW(clock_gettime) ALLOW(clock_nanosleep) ALLOW(nanosleep) ALLOW(getrandom) ALLOW(getpid) ALLOW(futex) ALLOW(exit) ALLOW(exit_group)
ALLOW(restart_syscall)
