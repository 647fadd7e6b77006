/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest's system call profile, as rows: what is not named here answers ENOSYS, as on an older kernel, so that
 * programs fall back instead of failing. tools/seccomp-gen.c compiles it at build time; tests/unit evaluates the result
 * for every number and diffs it with tests/unit/seccomp.golden.
 *
 *   ALLOW(name)	the kernel decides
 *   DENY(name)		EPERM: known and closed
 *   ZERO(name)		returns 0 and does nothing
 *   KILL(name)		no honest program calls it: reported to the supervisor, which ends the jar
 *   WHEN(name, action, conditions...)	before the row of `name`: the first WHEN whose conditions all hold decides.
 *					ARG(index, mask, value) compares (argument & mask) with value on the low 32
 *					bits only, as the kernel does with an int (CVE-2019-10063: bit 32 set walked
 *					through filters that compared 64).
 *					IS_NULL(index) is for pointers, of which the kernel looks at all 64: it counts
 *					as two of the three conditions that a row may have.
 *
 * Included by the generator with those macros defined. Sorted by theme; order inside a theme does not matter.
 */

/* Files */
ALLOW(access) ALLOW(chdir) ALLOW(chmod) ALLOW(chown) ALLOW(close) ALLOW(close_range) ALLOW(copy_file_range)
ALLOW(creat) ALLOW(dup) ALLOW(dup2) ALLOW(dup3) ALLOW(faccessat) ALLOW(faccessat2) ALLOW(fallocate)
ALLOW(fchdir) ALLOW(fchmod) ALLOW(fchmodat) ALLOW(fchown) ALLOW(fchownat) ALLOW(fdatasync) ALLOW(fgetxattr)
ALLOW(flistxattr) ALLOW(flock) ALLOW(fremovexattr) ALLOW(fstat) ALLOW(fstatfs) ALLOW(fsync)
ALLOW(ftruncate) ALLOW(futimesat) ALLOW(getcwd) ALLOW(getdents) ALLOW(getdents64) ALLOW(getxattr) ALLOW(lchown)
ALLOW(lgetxattr) ALLOW(link) ALLOW(linkat) ALLOW(listxattr) ALLOW(llistxattr) ALLOW(lremovexattr) ALLOW(lseek)
ALLOW(lstat) ALLOW(mkdir) ALLOW(mkdirat) ALLOW(newfstatat) ALLOW(open) ALLOW(openat) ALLOW(openat2)
ALLOW(pipe) ALLOW(pipe2) ALLOW(pread64) ALLOW(preadv) ALLOW(preadv2) ALLOW(pwrite64) ALLOW(pwritev) ALLOW(pwritev2)
ALLOW(read) ALLOW(readahead) ALLOW(readlink) ALLOW(readlinkat) ALLOW(readv) ALLOW(removexattr) ALLOW(rename)
ALLOW(renameat) ALLOW(renameat2) ALLOW(rmdir) ALLOW(sendfile) ALLOW(splice) ALLOW(stat) ALLOW(statfs)
ALLOW(statx) ALLOW(symlink) ALLOW(symlinkat) ALLOW(sync_file_range) ALLOW(tee) ALLOW(truncate) ALLOW(umask)
ALLOW(unlink) ALLOW(unlinkat) ALLOW(utime) ALLOW(utimensat) ALLOW(utimes) ALLOW(write) ALLOW(writev)
ALLOW(inotify_add_watch) ALLOW(inotify_init) ALLOW(inotify_init1) ALLOW(inotify_rm_watch)
/* A guest may not make the host write its disks back: one jar's sync() would stall all others. */
ZERO(sync) ZERO(syncfs)
/* POSIX_FADV_DONTNEED would drop files of the host from its page cache: a guest could evict a program and see later whether anybody ran it. */
WHEN(fadvise64, ACT_ZERO, ARG(3, ~0U, 4)) ALLOW(fadvise64)

/* mknod: plain files, FIFOs and sockets; device nodes and overlay whiteouts (char 0:0) are closed here too. */
WHEN(mknod, ACT_ALLOW, ARG(1, 0170000, 0)) WHEN(mknod, ACT_ALLOW, ARG(1, 0170000, 0100000))
WHEN(mknod, ACT_ALLOW, ARG(1, 0170000, 0010000)) WHEN(mknod, ACT_ALLOW, ARG(1, 0170000, 0140000)) DENY(mknod)
WHEN(mknodat, ACT_ALLOW, ARG(2, 0170000, 0)) WHEN(mknodat, ACT_ALLOW, ARG(2, 0170000, 0100000))
WHEN(mknodat, ACT_ALLOW, ARG(2, 0170000, 0010000)) WHEN(mknodat, ACT_ALLOW, ARG(2, 0170000, 0140000)) DENY(mknodat)

/* A POSIX ACL takes up to 64 KiB that the kernel charges to no cgroup, two for each folder. The filter cannot see an attribute's name: none can be set, as on a file system
 * without attributes. */
OTHER(setxattr, ACT_EOPNOTSUPP) OTHER(lsetxattr, ACT_EOPNOTSUPP) OTHER(fsetxattr, ACT_EOPNOTSUPP)

/* fcntl: leases let a guest stall whoever opens its file; F_NOTIFY signals on foreign access. F_OFD_SETLK and F_OFD_SETLKW do not exist, as before Linux 3.15: the kernel
 * charges locks to no cgroup, and the keeper, which counts them (keeper/locks.h), cannot tell whose these are. */
WHEN(fcntl, ACT_EPERM, ARG(1, ~0U, 1024)) WHEN(fcntl, ACT_EPERM, ARG(1, ~0U, 1026)) WHEN(fcntl, ACT_EINVAL, ARG(1, ~0U, 37))
WHEN(fcntl, ACT_EINVAL, ARG(1, ~0U, 38)) ALLOW(fcntl)

/* ioctl: terminal injection (TIOCSTI, TIOCLINUX), console and line discipline changes, inode flags. */
WHEN(ioctl, ACT_EPERM, ARG(1, ~0U, 0x5412)) WHEN(ioctl, ACT_EPERM, ARG(1, ~0U, 0x541c))
WHEN(ioctl, ACT_EPERM, ARG(1, ~0U, 0x541d)) WHEN(ioctl, ACT_EPERM, ARG(1, ~0U, 0x5423))
WHEN(ioctl, ACT_EPERM, ARG(1, ~0U, 0x40086602)) WHEN(ioctl, ACT_EPERM, ARG(1, ~0U, 0x40046602))
WHEN(ioctl, ACT_EPERM, ARG(1, ~0U, 0x401c5820)) WHEN(ioctl, ACT_EPERM, ARG(1, ~0U, 0x40087602)) ALLOW(ioctl)

/* Memory */
ALLOW(brk) ALLOW(get_mempolicy) ALLOW(membarrier) ALLOW(memfd_create) ALLOW(mincore) ALLOW(mlock)
ALLOW(mlock2) ALLOW(mlockall) ALLOW(mmap) ALLOW(mprotect) ALLOW(mremap) ALLOW(msync) ALLOW(munlock) ALLOW(munlockall)
ALLOW(munmap) ALLOW(pkey_alloc) ALLOW(pkey_free) ALLOW(pkey_mprotect) ALLOW(set_mempolicy)
WHEN(madvise, ACT_EPERM, ARG(2, ~0U, 12)) ALLOW(madvise)

/* Processes, threads, signals, time */
ALLOW(alarm) ALLOW(arch_prctl) ALLOW(capget) ALLOW(capset) ALLOW(clock_getres) ALLOW(clock_gettime)
ALLOW(clock_nanosleep) ALLOW(execve) ALLOW(execveat) ALLOW(exit) ALLOW(exit_group) ALLOW(fork) ALLOW(futex)
ALLOW(futex_waitv) ALLOW(get_robust_list) ALLOW(get_thread_area) ALLOW(getcpu) ALLOW(getegid) ALLOW(geteuid)
ALLOW(getgid) ALLOW(getgroups) ALLOW(getitimer) ALLOW(getpgid) ALLOW(getpgrp) ALLOW(getpid) ALLOW(getppid)
ALLOW(getpriority) ALLOW(getrandom) ALLOW(getresgid) ALLOW(getresuid) ALLOW(getrlimit) ALLOW(getrusage) ALLOW(getsid)
ALLOW(gettid) ALLOW(gettimeofday) ALLOW(getuid) ALLOW(ioprio_get) ALLOW(ioprio_set) ALLOW(nanosleep)
ALLOW(pause) ALLOW(pidfd_open) ALLOW(pidfd_send_signal) ALLOW(restart_syscall) ALLOW(rseq)
ALLOW(rt_sigaction) ALLOW(rt_sigpending) ALLOW(rt_sigprocmask) ALLOW(rt_sigqueueinfo) ALLOW(rt_sigreturn)
ALLOW(rt_sigsuspend) ALLOW(rt_sigtimedwait) ALLOW(rt_tgsigqueueinfo) ALLOW(sched_get_priority_max)
ALLOW(sched_get_priority_min) ALLOW(sched_getaffinity) ALLOW(sched_getattr) ALLOW(sched_getparam)
ALLOW(sched_getscheduler) ALLOW(sched_rr_get_interval) ALLOW(sched_setaffinity) ALLOW(sched_setattr)
ALLOW(sched_setparam) ALLOW(sched_setscheduler) ALLOW(sched_yield) ALLOW(set_robust_list) ALLOW(set_thread_area)
ALLOW(set_tid_address) ALLOW(setfsgid) ALLOW(setfsuid) ALLOW(setgid) ALLOW(setgroups) ALLOW(setitimer) ALLOW(setpgid)
ALLOW(setpriority) ALLOW(setregid) ALLOW(setresgid) ALLOW(setresuid) ALLOW(setreuid) ALLOW(setsid)
ALLOW(setuid) ALLOW(sigaltstack) ALLOW(sysinfo) ALLOW(tgkill) ALLOW(time) ALLOW(timer_create) ALLOW(timer_delete)
ALLOW(timer_getoverrun) ALLOW(timer_gettime) ALLOW(timer_settime) ALLOW(times) ALLOW(tkill) ALLOW(uname) ALLOW(vfork)
ALLOW(wait4) ALLOW(waitid)
ALLOW(landlock_add_rule) ALLOW(landlock_create_ruleset) ALLOW(landlock_restrict_self) ALLOW(seccomp)
/* A signal that does not exist (SECCOMP_END_SIGNAL): how an interpreter that waited says that it ends with 0. From anybody else it is as the kill set. */
WHEN(kill, ACT_NOTIFY, ARG(1, ~0U, 0x626a656eU)) ALLOW(kill)
/* init shares the guest's id where only one could be had: its limits are not the guest's to set. */
WHEN(prlimit64, ACT_EPERM, ARG(0, ~0U, 1))
/* RLIMIT_CORE stays 1: at 0 the kernel would start the host's core_pattern helper (kernel/dumps.h, KS-18). It can be read. Setting one's own
 * succeeds and does nothing, since programs that want no core files give up otherwise; anybody else's, or one's own by number, is closed. */
WHEN(prlimit64, ACT_ALLOW, ARG(1, ~0U, 4), IS_NULL(2)) WHEN(prlimit64, ACT_ZERO, ARG(1, ~0U, 4), ARG(0, ~0U, 0))
WHEN(prlimit64, ACT_EPERM, ARG(1, ~0U, 4)) ALLOW(prlimit64)
WHEN(setrlimit, ACT_ZERO, ARG(0, ~0U, 4)) ALLOW(setrlimit)
/* No CLONE_NEW*, and no CLONE_PARENT: a guest's children are its own. clone3 hides its flags behind a pointer: it is left
 * out above, so that it answers ENOSYS and threads fall back to clone (EPERM would break them). */
WHEN(clone, ACT_ALLOW, ARG(0, 0x7e028000U, 0)) DENY(clone)
/* PR_SET_MM, PR_SET_MEMORY_MERGE. PR_FUTEX_HASH does not exist, as before Linux 6.16: a process could take gigabytes that are in none of its mappings. */
WHEN(prctl, ACT_EPERM, ARG(0, ~0U, 35)) WHEN(prctl, ACT_EPERM, ARG(0, ~0U, 67)) WHEN(prctl, ACT_EINVAL, ARG(0, ~0U, 78)) ALLOW(prctl)
WHEN(personality, ACT_ALLOW, ARG(0, ~0U, 0)) WHEN(personality, ACT_ALLOW, ARG(0, ~0U, 0xffffffffU)) DENY(personality)

/* Waiting and local communication */
ALLOW(epoll_create) ALLOW(epoll_create1) ALLOW(epoll_ctl) ALLOW(epoll_ctl_old) ALLOW(epoll_pwait) ALLOW(epoll_pwait2)
ALLOW(epoll_wait) ALLOW(epoll_wait_old) ALLOW(eventfd) ALLOW(eventfd2) ALLOW(poll) ALLOW(ppoll) ALLOW(pselect6)
ALLOW(select) ALLOW(signalfd) ALLOW(signalfd4) ALLOW(timerfd_create) ALLOW(timerfd_gettime) ALLOW(timerfd_settime)
ALLOW(mq_getsetattr) ALLOW(mq_notify) ALLOW(mq_open) ALLOW(mq_timedreceive) ALLOW(mq_timedsend) ALLOW(mq_unlink)
ALLOW(msgctl) ALLOW(msgget) ALLOW(msgrcv) ALLOW(msgsnd) ALLOW(semctl) ALLOW(semget) ALLOW(semop) ALLOW(semtimedop)
ALLOW(shmat) ALLOW(shmctl) ALLOW(shmdt) ALLOW(shmget)

/* Sockets: UNIX; TCP and UDP over IPv4 and IPv6; route netlink (getifaddrs). AF_VSOCK is not namespaced before Linux 7.0;
 * MPTCP walks through Landlock's TCP rules; raw and packet sockets have no use here.
 * The supervisor sees every socket that is not a UNIX one (jar/sockets.h): it bounds their number, since the kernel does not charge all of their memory
 * to the jar, and it knows which network namespaces were never used. */
ALLOW(accept) ALLOW(accept4) ALLOW(bind) ALLOW(connect) ALLOW(getpeername) ALLOW(getsockname) ALLOW(getsockopt)
ALLOW(listen) ALLOW(recvfrom) ALLOW(recvmmsg) ALLOW(recvmsg) ALLOW(sendmmsg) ALLOW(sendmsg) ALLOW(sendto)
ALLOW(shutdown)
/* SO_RCVBUF does nothing: unread netlink replies are charged to no cgroup, so a socket keeps the kernel's default. Programs take less than they ask for
 * anyway, since the kernel cuts it at rmem_max. */
WHEN(setsockopt, ACT_ZERO, ARG(1, ~0U, 1), ARG(2, ~0U, 8))
/* SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF and _EBPF: compiled programs come from a pool of the whole host. A jar that uses it up keeps every other jar from
 * starting, since no filter can be loaded. IPV6_FLOWLABEL_MGR: labels are a pool of the whole host too. */
WHEN(setsockopt, ACT_EPERM, ARG(1, ~0U, 1), ARG(2, ~0U, 26)) WHEN(setsockopt, ACT_EPERM, ARG(1, ~0U, 1), ARG(2, ~0U, 50))
WHEN(setsockopt, ACT_EPERM, ARG(1, ~0U, 1), ARG(2, ~0U, 51)) WHEN(setsockopt, ACT_EPERM, ARG(1, ~0U, 1), ARG(2, ~0U, 52))
WHEN(setsockopt, ACT_EPERM, ARG(1, ~0U, 41), ARG(2, ~0U, 32)) ALLOW(setsockopt)
WHEN(socket, ACT_ALLOW, ARG(0, ~0U, 1))
WHEN(socket, ACT_NOTIFY, ARG(0, ~0U, 2), ARG(1, 0xf, 1), ARG(2, ~0U, 0))
WHEN(socket, ACT_NOTIFY, ARG(0, ~0U, 2), ARG(1, 0xf, 1), ARG(2, ~0U, 6))
WHEN(socket, ACT_NOTIFY, ARG(0, ~0U, 2), ARG(1, 0xf, 2), ARG(2, ~0U, 0))
WHEN(socket, ACT_NOTIFY, ARG(0, ~0U, 2), ARG(1, 0xf, 2), ARG(2, ~0U, 17))
WHEN(socket, ACT_EPROTONOSUPPORT, ARG(0, ~0U, 2))
WHEN(socket, ACT_NOTIFY, ARG(0, ~0U, 10), ARG(1, 0xf, 1), ARG(2, ~0U, 0))
WHEN(socket, ACT_NOTIFY, ARG(0, ~0U, 10), ARG(1, 0xf, 1), ARG(2, ~0U, 6))
WHEN(socket, ACT_NOTIFY, ARG(0, ~0U, 10), ARG(1, 0xf, 2), ARG(2, ~0U, 0))
WHEN(socket, ACT_NOTIFY, ARG(0, ~0U, 10), ARG(1, 0xf, 2), ARG(2, ~0U, 17))
WHEN(socket, ACT_EPROTONOSUPPORT, ARG(0, ~0U, 10))
WHEN(socket, ACT_NOTIFY, ARG(0, ~0U, 16), ARG(2, ~0U, 0)) OTHER(socket, ACT_EAFNOSUPPORT)
WHEN(socketpair, ACT_ALLOW, ARG(0, ~0U, 1)) OTHER(socketpair, ACT_EAFNOSUPPORT)

/* Known and closed. */
DENY(acct) DENY(add_key) DENY(adjtimex) DENY(bpf) DENY(chroot) DENY(clock_adjtime) DENY(clock_settime)
DENY(fanotify_init) DENY(fanotify_mark) DENY(fsconfig) DENY(fsmount) DENY(fsopen) DENY(fspick) DENY(io_uring_enter)
DENY(io_uring_register) DENY(io_uring_setup) DENY(ioperm) DENY(iopl) DENY(kcmp) DENY(keyctl) DENY(memfd_secret)
/* Policies of shared memory stay with the file, one for each page, and are charged to no cgroup. Docker closes it too. */
DENY(mbind)
DENY(migrate_pages) DENY(modify_ldt) DENY(mount) DENY(mount_setattr) DENY(move_mount) DENY(move_pages)
DENY(name_to_handle_at) DENY(open_by_handle_at) DENY(open_tree) DENY(perf_event_open) DENY(pidfd_getfd)
DENY(pivot_root) DENY(process_madvise) DENY(process_mrelease) DENY(process_vm_readv) DENY(process_vm_writev)
DENY(ptrace) DENY(quotactl) DENY(quotactl_fd) DENY(request_key) DENY(setdomainname) DENY(sethostname) DENY(setns)
DENY(settimeofday) DENY(syslog) DENY(umount2) DENY(unshare) DENY(userfaultfd) DENY(vhangup) DENY(vmsplice)

/* No honest program of ours calls these; neither do they exist on the 32-bit and x32 entries, which are killed whole. */
KILL(delete_module) KILL(finit_module) KILL(init_module) KILL(kexec_file_load) KILL(kexec_load) KILL(reboot)
KILL(swapoff) KILL(swapon)
