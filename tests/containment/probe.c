/* SPDX-License-Identifier: Apache-2.0 */
/* The guest's side of the containment suite: one small try per door, answered by exit status. */

/*
 * Built static, so that it needs nothing of the jar it runs in:
 *
 *	cc -std=gnu17 -O1 -static -pthread -o probe probe.c
 *
 * `probe NAME [ARGS]` runs one row of the table at the end. The answer is the exit status, chosen so
 * that no success, crash or shell convention looks like it: 40 the door is closed, 41 the call reached
 * the kernel (or more), 42 there is no such door here, 43 the probe itself went wrong. What is printed
 * is for the person who reads a failure, and for tables that the host compares.
 *
 * No row carries an exploit. A system call is asked with arguments that the kernel must refuse with
 * EFAULT, EBADF, EINVAL or ESRCH: seeing one of these means that the filter let it through.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { DENIED = 40, REACHED = 41, ABSENT = 42, BROKEN = 43 };

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define BAD ((long)-8)		/* an address no process can have: EFAULT when it is looked at */
#define NOFD ((long)-1)
#define NOPID 0x7ffffff0L
#define HIGH (1UL << 32)	/* the half of an int argument that the kernel ignores */

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_statmount
#define SYS_statmount 457
#define SYS_listmount 458
#endif
#ifndef SYS_lsm_set_self_attr
#define SYS_lsm_set_self_attr 460
#endif

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static int broken(const char *what)
{
	say("broken: %s: %s", what, strerror(errno));
	return BROKEN;
}

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

/* Stays until somebody ends it; returns so that a probe can end with it. */
static int forever(void)
{
	for (;;)
		pause();
	return BROKEN;
}

static const char *err_name(int e)
{
	const char *s = e ? strerrorname_np(e) : "OK";

	return s ? s : "E?";
}

/* Every try may only make the answer worse. */
static void worse(int *verdict, int v)
{
	if (v > *verdict)
		*verdict = v;
}

/* One attempt that must fail: any success is REACHED. */
static void must_fail(int *verdict, const char *what, long r)
{
	say("%s %s", what, r >= 0 ? "OK" : err_name(errno));
	if (r >= 0)
		worse(verdict, REACHED);
}

static int listed(const char *list, int e)
{
	const char *name = err_name(e), *p = list;
	size_t n = strlen(name);

	while (p && *p) {
		if (strncmp(p, name, n) == 0 && (p[n] == 0 || p[n] == ','))
			return 1;
		p = strchr(p, ',');
		p = p ? p + 1 : NULL;
	}
	return 0;
}

/* ---- system calls that must not reach the kernel ------------------------------------------- */

struct row {
	const char *name;
	long nr;
	long a[6];
};

static const struct row sys_rows[] = {
	{ "io_uring_setup", SYS_io_uring_setup, { 1, BAD } },
	{ "io_uring_enter", SYS_io_uring_enter, { NOFD, 0, 0, 0, 0, 0 } },
	{ "io_uring_register", SYS_io_uring_register, { NOFD, 0, BAD, 1 } },
	{ "bpf", SYS_bpf, { 0, BAD, 120 } },
	{ "userfaultfd", SYS_userfaultfd, { 0x101 } },
	{ "perf_event_open", SYS_perf_event_open, { BAD, 0, -1, -1, 0 } },
	{ "add_key", SYS_add_key, { BAD, BAD, 0, 0, 0 } },
	{ "keyctl", SYS_keyctl, { 0xffff } },
	{ "request_key", SYS_request_key, { BAD, BAD, BAD, 0 } },
	{ "ptrace", SYS_ptrace, { 16, NOPID, 0, 0 } },
	{ "process_vm_readv", SYS_process_vm_readv, { NOPID, 0, 0, 0, 0, 1 } },
	{ "process_vm_writev", SYS_process_vm_writev, { NOPID, 0, 0, 0, 0, 1 } },
	{ "process_madvise", SYS_process_madvise, { NOFD, BAD, 1, 4, 0 } },
	{ "kcmp", SYS_kcmp, { NOPID, NOPID, 0, 0, 0 } },
	{ "pidfd_getfd", SYS_pidfd_getfd, { NOFD, 0, 1 } },
	{ "mount", SYS_mount, { BAD, BAD, BAD, 0, BAD } },
	{ "umount2", SYS_umount2, { BAD, 0 } },
	{ "pivot_root", SYS_pivot_root, { BAD, BAD } },
	{ "chroot", SYS_chroot, { BAD } },
	{ "fsopen", SYS_fsopen, { BAD, 0 } },
	{ "fsconfig", SYS_fsconfig, { NOFD, 0, BAD, BAD, 0 } },
	{ "fsmount", SYS_fsmount, { NOFD, 0, 0 } },
	{ "fspick", SYS_fspick, { NOFD, BAD, 0 } },
	{ "open_tree", SYS_open_tree, { NOFD, BAD, 0 } },
	{ "open_tree_attr", SYS_open_tree_attr, { NOFD, BAD, 0, BAD, 32 } },
	{ "move_mount", SYS_move_mount, { NOFD, BAD, NOFD, BAD, 0 } },
	{ "mount_setattr", SYS_mount_setattr, { NOFD, BAD, 0, BAD, 1 } },
	{ "setns", SYS_setns, { NOFD, 0 } },
	{ "unshare", SYS_unshare, { 1 } },
	{ "clone3", SYS_clone3, { BAD, 88 } },
	{ "acct", SYS_acct, { BAD } },
	{ "quotactl", SYS_quotactl, { 0xff, BAD, 0, BAD } },
	{ "quotactl_fd", SYS_quotactl_fd, { NOFD, 0xff, 0, BAD } },
	{ "syslog", SYS_syslog, { -1, 0, 0 } },
	{ "sethostname", SYS_sethostname, { BAD, -1 } },
	{ "setdomainname", SYS_setdomainname, { BAD, -1 } },
	{ "settimeofday", SYS_settimeofday, { BAD, 0 } },
	{ "clock_settime", SYS_clock_settime, { 0, BAD } },
	{ "clock_adjtime", SYS_clock_adjtime, { 0, BAD } },
	{ "adjtimex", SYS_adjtimex, { BAD } },
	{ "iopl", SYS_iopl, { 4 } },
	{ "ioperm", SYS_ioperm, { 0x7fffffff, 0x7fffffff, 1 } },
	{ "modify_ldt", SYS_modify_ldt, { 1, 0, 0 } },
	{ "name_to_handle_at", SYS_name_to_handle_at, { NOFD, BAD, BAD, BAD, 0 } },
	{ "open_by_handle_at", SYS_open_by_handle_at, { NOFD, BAD, 0 } },
	{ "fanotify_init", SYS_fanotify_init, { 0xffffffffL, 0 } },
	{ "fanotify_mark", SYS_fanotify_mark, { NOFD, 0, 0, NOFD, BAD } },
	{ "move_pages", SYS_move_pages, { 0, 0, 0, 0, 0, 0x100 } },
	{ "migrate_pages", SYS_migrate_pages, { 0, 64, BAD, BAD } },
	{ "vmsplice", SYS_vmsplice, { NOFD, BAD, 1, 0 } },
	{ "memfd_secret", SYS_memfd_secret, { 0xffff } },
	{ "lookup_dcookie", SYS_lookup_dcookie, { 0, BAD, 1 } },
	{ "uselib", SYS_uselib, { BAD } },
	{ "ustat", SYS_ustat, { 0, BAD } },
	{ "sysfs", SYS_sysfs, { 99, 0, 0 } },
	{ "_sysctl", SYS__sysctl, { BAD } },
	{ "nfsservctl", SYS_nfsservctl, { 0, BAD, BAD } },
	{ "vhangup", SYS_vhangup, { 0 } },
	{ "remap_file_pages", SYS_remap_file_pages, { 0, 0, 1, 0, 0 } },
	{ "lsm_set_self_attr", SYS_lsm_set_self_attr, { 0, BAD, 0, 0xff } },
	{ "process_mrelease", 448, { NOFD, 1 } },
};

/* Arguments whose upper half is ignored by the kernel: a filter that compares 64 bits is bypassed. */
static const struct row high_rows[] = {
	{ "ioctl.TIOCSTI", SYS_ioctl, { NOFD, TIOCSTI, BAD } },
	{ "ioctl.TIOCSTI.high", SYS_ioctl, { NOFD, (long)(HIGH | TIOCSTI), BAD } },
	{ "ioctl.TIOCLINUX", SYS_ioctl, { NOFD, TIOCLINUX, BAD } },
	{ "ioctl.TIOCLINUX.high", SYS_ioctl, { NOFD, (long)(HIGH | TIOCLINUX), BAD } },
	{ "ioctl.TIOCSETD.high", SYS_ioctl, { NOFD, (long)(HIGH | TIOCSETD), BAD } },
	{ "ioctl.TIOCCONS.high", SYS_ioctl, { NOFD, (long)(HIGH | TIOCCONS), 0 } },
	{ "ioctl.SETFLAGS", SYS_ioctl, { NOFD, 0x40086602, BAD } },
	{ "ioctl.SETFLAGS.high", SYS_ioctl, { NOFD, (long)(HIGH | 0x40086602), BAD } },
	{ "ioctl.FSSETXATTR.high", SYS_ioctl, { NOFD, (long)(HIGH | 0x401c5820), BAD } },
	{ "fcntl.SETLEASE", SYS_fcntl, { NOFD, F_SETLEASE, F_WRLCK } },
	{ "fcntl.SETLEASE.high", SYS_fcntl, { NOFD, (long)(HIGH | F_SETLEASE), F_WRLCK } },
	{ "fcntl.NOTIFY.high", SYS_fcntl, { NOFD, (long)(HIGH | F_NOTIFY), 1 } },
	{ "personality.high", SYS_personality, { (long)(HIGH | ADDR_NO_RANDOMIZE) } },
	{ "clone.NEWUSER.high", SYS_clone, { (long)(HIGH | CLONE_NEWUSER | CLONE_SIGHAND), 0 } },
	{ "unshare.high", SYS_unshare, { (long)(HIGH | 1) } },
	{ "socket.VSOCK.high", SYS_socket, { (long)(HIGH | AF_VSOCK), SOCK_STREAM, 0 } },
	{ "socket.VSOCK.ones", SYS_socket, { (long)(0xffffffffUL << 32 | AF_VSOCK), SOCK_STREAM, 0 } },
	{ "socket.MPTCP.high", SYS_socket, { AF_INET, SOCK_STREAM, (long)(HIGH | 262) } },
	{ "socket.RAWtype.high", SYS_socket, { AF_INET, (long)(HIGH | SOCK_RAW), 1 } },
};

static int denied_errno(int e)
{
	return e == EPERM || e == ENOSYS || e == EAFNOSUPPORT || e == EPROTONOSUPPORT ||
	       e == ESOCKTNOSUPPORT;
}

/* Runs one row in a child of its own: a row that does succeed then harms nobody else. */
static int try_row(const struct row *r)
{
	pid_t pid = fork();

	if (pid < 0)
		return broken("fork");
	if (pid == 0) {
		const long *a = r->a;
		pid_t self = (pid_t)syscall(SYS_getpid);

		errno = 0;
		long v = syscall(r->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		int e = v == -1 ? errno : 0;

		if ((pid_t)syscall(SYS_getpid) != self)
			_exit(REACHED);
		say("row %s %s", r->name, err_name(e));
		_exit(v == -1 && denied_errno(e) ? DENIED : REACHED);
	}

	int st;

	if (waitpid(pid, &st, 0) != pid)
		return broken("waitpid");
	if (WIFSIGNALED(st)) {
		say("row %s SIG%d", r->name, WTERMSIG(st));
		return WTERMSIG(st) == SIGSYS ? DENIED : REACHED;
	}
	return WEXITSTATUS(st);
}

static int try_rows(const struct row *rows, size_t n, int argc, char **argv)
{
	int verdict = DENIED, found = 0;

	for (size_t i = 0; i < n; i++) {
		int wanted = argc == 0;

		for (int k = 0; k < argc; k++)
			wanted |= strcmp(argv[k], rows[i].name) == 0;
		if (!wanted)
			continue;
		found++;
		worse(&verdict, try_row(&rows[i]));
	}
	return found ? verdict : BROKEN;
}

static int p_sys(int argc, char **argv)
{
	return try_rows(sys_rows, LEN(sys_rows), argc, argv);
}

static int p_high(int argc, char **argv)
{
	return try_rows(high_rows, LEN(high_rows), argc, argv);
}

/* The kill set: one call, then "still here" is REACHED. Arguments that the kernel would refuse. */
static int p_syskill(int argc, char **argv)
{
	static const struct row rows[] = {
		{ "kexec_load", SYS_kexec_load, { 0, 0, BAD, -1 } },
		{ "kexec_file_load", SYS_kexec_file_load, { NOFD, NOFD, 0, BAD, -1 } },
		{ "init_module", SYS_init_module, { BAD, 0, BAD } },
		{ "finit_module", SYS_finit_module, { NOFD, BAD, -1 } },
		{ "delete_module", SYS_delete_module, { BAD, 0 } },
		{ "reboot", SYS_reboot, { 0, 0, 0, 0 } },
		{ "swapon", SYS_swapon, { BAD, -1 } },
		{ "swapoff", SYS_swapoff, { BAD } },
		{ "x32", 0x40000000 | SYS_getpid, { 0 } },
	};

	for (size_t i = 0; argc > 0 && i < LEN(rows); i++) {
		const long *a = rows[i].a;

		if (strcmp(rows[i].name, argv[0]) != 0)
			continue;
		errno = 0;
		long v = syscall(rows[i].nr, a[0], a[1], a[2], a[3], a[4], a[5]);

		say("row %s %s", rows[i].name, v < 0 ? err_name(errno) : "OK");
		return v < 0 && denied_errno(errno) ? DENIED : REACHED;
	}
	return BROKEN;
}

/* The 32-bit door of a 64-bit process: getpid is 20 there. */
static int p_int80(int argc, char **argv)
{
	long nr = argc > 0 ? atol(argv[0]) : 20, r = nr;

	(void)argv;
	__asm__ volatile("int $0x80" : "+a"(r) : "b"(0L), "c"(0L), "d"(0L) : "memory", "r8", "r9", "r10", "r11");
	say("int80 %ld = %ld", nr, r);
	return r == -ENOSYS ? ABSENT : REACHED;
}

static int p_unknown(int argc, char **argv)
{
	long from = argc > 0 ? atol(argv[0]) : 470, to = argc > 1 ? atol(argv[1]) : 1023;
	int verdict = DENIED;

	for (long nr = from; nr <= to; nr++) {
		long v = syscall(nr, BAD, BAD, BAD, BAD, BAD, BAD);

		if (v != -1 || errno != ENOSYS) {
			say("row %ld %s", nr, v == -1 ? err_name(errno) : "OK");
			verdict = REACHED;
		}
	}
	for (long nr = -1; nr > -4; nr--)
		if (syscall(nr, BAD, BAD, BAD) != -1 || errno != ENOSYS)
			verdict = REACHED;
	return verdict;
}

/* ---- namespaces ----------------------------------------------------------------------------- */

static const struct { const char *name; unsigned long flag; } new_flags[] = {
	{ "NEWUSER", CLONE_NEWUSER }, { "NEWNS", CLONE_NEWNS }, { "NEWPID", CLONE_NEWPID },
	{ "NEWNET", CLONE_NEWNET }, { "NEWIPC", CLONE_NEWIPC }, { "NEWUTS", CLONE_NEWUTS },
	{ "NEWCGROUP", CLONE_NEWCGROUP }, { "NEWTIME", 0x80 },
};

static int p_newns(int argc, char **argv)
{
	const char *layer = argc > 0 ? argv[0] : "filter";
	int verdict = DENIED;

	for (size_t i = 0; i < LEN(new_flags); i++) {
		long r = new_flags[i].flag == 0x80 ? (errno = EPERM, -1L)
			: syscall(SYS_clone, new_flags[i].flag | SIGCHLD, 0, 0, 0, 0);
		int e = errno;

		if (r == 0)
			_exit(0);
		if (r > 0)
			waitpid((pid_t)r, NULL, 0);
		say("row clone.%s %s", new_flags[i].name, r < 0 ? err_name(e) : "OK");
		if (r >= 0 || (strcmp(layer, "filter") == 0 && e != EPERM))
			worse(&verdict, REACHED);

		pid_t pid = fork();

		if (pid < 0)
			return broken("fork");
		if (pid == 0) {
			long u = syscall(SYS_unshare, new_flags[i].flag);

			e = errno;
			say("row unshare.%s %s", new_flags[i].name, u < 0 ? err_name(e) : "OK");
			_exit(u == 0 || (strcmp(layer, "filter") == 0 && e != EPERM) ? REACHED : DENIED);
		}

		int st;

		waitpid(pid, &st, 0);
		worse(&verdict, WIFEXITED(st) ? WEXITSTATUS(st) : BROKEN);
	}
	return verdict;
}

/* Filter off: a user namespace must still be out of reach, and with it every file system type. */
static int p_userns_mount(int argc, char **argv)
{
	static const char *const types[] = { "tmpfs", "proc", "overlay", "fuse", "cgroup", "cgroup2",
					     "binfmt_misc", "mqueue", "devpts", "sysfs" };
	int verdict = DENIED;

	(void)argc, (void)argv;
	mkdir("/tmp/m", 0700);
	for (size_t i = 0; i < LEN(types); i++) {
		pid_t pid = fork();

		if (pid < 0)
			return broken("fork");
		if (pid == 0) {
			int v = DENIED;

			if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) {
				say("row userns OK");
				v = REACHED;
			} else {
				say("row userns %s", err_name(errno));
			}
			must_fail(&v, types[i], mount("x", "/tmp/m", types[i], 0, NULL));
			_exit(v);
		}

		int st;

		waitpid(pid, &st, 0);
		worse(&verdict, WIFEXITED(st) ? WEXITSTATUS(st) : BROKEN);
	}
	return verdict;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* open ERRNOS rd|wr PATH...: every path must fail with one of ERRNOS. */
static int p_open(int argc, char **argv)
{
	int verdict = DENIED;

	if (argc < 3)
		return BROKEN;
	for (int i = 2; i < argc; i++) {
		int flags = (strcmp(argv[1], "wr") == 0 ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_NOCTTY;
		int fd = open(argv[i], flags);
		int e = errno;

		say("row %s %s", argv[i], fd < 0 ? err_name(e) : "OK");
		if (fd >= 0) {
			worse(&verdict, REACHED);
			close(fd);
		} else if (!listed(argv[0], e)) {
			worse(&verdict, REACHED);
		}
	}
	return verdict;
}

/* Prints whatever can be read, without judging: the host looks for its secrets in it. */
static int p_cat(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_NONBLOCK | O_NOCTTY);
		char buf[4096];
		ssize_t n;

		say("== %s %s", argv[i], fd < 0 ? err_name(errno) : "OK");
		for (int k = 0; fd >= 0 && k < 64 && (n = read(fd, buf, sizeof(buf))) > 0; k++)
			fwrite(buf, 1, (size_t)n, stdout);
		if (fd >= 0)
			close(fd);
	}
	fflush(stdout);
	return DENIED;
}

static int p_dotdot(int argc, char **argv)
{
	char path[PATH_MAX] = "";
	struct stat a, b;
	int verdict = DENIED;

	if (argc < 1)
		return BROKEN;
	for (int i = 0; i < 64; i++)
		strcat(path, "../");
	strncat(path, argv[0][0] == '/' ? argv[0] + 1 : argv[0], 512);
	must_fail(&verdict, "cwd", open(path, O_RDONLY));
	for (int fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			must_fail(&verdict, "fd", openat(fd, path, O_RDONLY));
	if (stat("/", &a) < 0 || stat("/..", &b) < 0)
		return broken("stat");
	if (a.st_ino != b.st_ino || a.st_dev != b.st_dev)
		worse(&verdict, REACHED);

	char dir[] = "/tmp/goneXXXXXX";

	if (!mkdtemp(dir) || chdir(dir) < 0 || rmdir(dir) < 0)
		return broken("deleted cwd");
	must_fail(&verdict, "deleted cwd", open(path, O_RDONLY));
	return verdict;
}

/* links NS=INODE...: no magic link of any visible process may lead to a namespace of the host. */
static int p_links(int argc, char **argv)
{
	static const char *const one[] = { "root", "cwd", "exe" };
	DIR *proc = opendir("/proc");
	struct dirent *d;
	int verdict = DENIED, seen = 0;

	if (!proc)
		return broken("/proc");
	while ((d = readdir(proc))) {
		char path[512], link[PATH_MAX];
		int foreign, pid = atoi(d->d_name);
		ssize_t n;

		if (pid <= 0)
			continue;
		seen++;
		foreign = pid != getpid();
		for (size_t i = 0; i < LEN(one); i++) {
			snprintf(path, sizeof(path), "/proc/%d/%s", pid, one[i]);
			n = readlink(path, link, sizeof(link) - 1);
			link[n > 0 ? n : 0] = 0;
			say("link %s %s", path, n < 0 ? err_name(errno) : link);
			if (foreign && n >= 0)
				worse(&verdict, REACHED);
		}
		for (int i = 0; i < argc; i++) {
			char want[128], *eq = strchr(argv[i], '=');

			if (!eq)
				return BROKEN;
			snprintf(want, sizeof(want), "%.*s:[%s]", (int)(eq - argv[i]), argv[i], eq + 1);
			snprintf(path, sizeof(path), "/proc/%d/ns/%.*s", pid, (int)(eq - argv[i]), argv[i]);
			n = readlink(path, link, sizeof(link) - 1);
			link[n > 0 ? n : 0] = 0;
			say("link %s %s", path, n < 0 ? err_name(errno) : link);
			if (strcmp(link, want) == 0)
				worse(&verdict, REACHED);
		}
		snprintf(path, sizeof(path), "/proc/%d/map_files", pid);

		DIR *m = opendir(path);
		struct dirent *f;

		while (m && (f = readdir(m))) {
			snprintf(path, sizeof(path), "/proc/%d/map_files/%s", pid, f->d_name);
			n = readlink(path, link, sizeof(link) - 1);
			link[n > 0 ? n : 0] = 0;
			say("link %s %s", path, link);
		}
		if (m)
			closedir(m);
	}
	closedir(proc);

	struct stat a, b;

	if (stat("/proc/self/root/", &a) < 0 || stat("/", &b) < 0)
		return broken("stat");
	if (a.st_ino != b.st_ino)
		worse(&verdict, REACHED);
	return seen ? verdict : BROKEN;
}

static int p_fds(int argc, char **argv)
{
	int verdict = DENIED;

	(void)argc, (void)argv;
	for (int fd = 0; fd < 4096; fd++) {
		char path[64], link[512];
		struct stat st;

		if (fstat(fd, &st) < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t n = readlink(path, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = 0;
		say("fd %d mode %o %s", fd, (unsigned)st.st_mode, link);
		if (fd > 2 || S_ISDIR(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISBLK(st.st_mode) ||
		    strncmp(link, "anon_inode:", 11) == 0 || isatty(fd))
			worse(&verdict, REACHED);
		if (fchdir(fd) == 0)
			worse(&verdict, REACHED);
	}
	return verdict;
}

/* NE-14: what the caller of belljar uses as its own stdio must not be a socket in here. */
static int p_stdio_sockets(int argc, char **argv)
{
	int verdict = DENIED;

	(void)argc, (void)argv;
	for (int fd = 0; fd < 3; fd++) {
		struct ucred c;
		socklen_t n = sizeof(c);
		struct sockaddr_storage ss;
		socklen_t m = sizeof(ss);

		must_fail(&verdict, "peercred", getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n));
		must_fail(&verdict, "peername", getpeername(fd, (struct sockaddr *)&ss, &m));
	}
	return verdict;
}

static int p_cwd(int argc, char **argv)
{
	char buf[PATH_MAX + 64];
	long n = syscall(SYS_getcwd, buf, sizeof(buf));

	say("cwd %s", n > 0 ? buf : err_name(errno));
	if (n <= 0 || buf[0] != '/')
		return REACHED;
	for (int i = 0; i < argc; i++)
		if (access(argv[i], F_OK) == 0)
			return REACHED;
	return DENIED;
}

static int p_remount(int argc, char **argv)
{
	struct { uint64_t set, clr, prop, userns; } attr = { 0, 1 /* RDONLY */, 0, 0 };
	int verdict = DENIED;

	for (int i = 0; i < argc; i++) {
		must_fail(&verdict, argv[i], mount("none", argv[i], NULL, MS_REMOUNT | MS_BIND, NULL));
		must_fail(&verdict, argv[i], mount(argv[i], argv[i], NULL, MS_BIND, NULL));
		must_fail(&verdict, argv[i], syscall(SYS_mount_setattr, AT_FDCWD, argv[i], 0, &attr, sizeof(attr)));
	}
	return verdict;
}

static size_t slurp(const char *path, char *buf, size_t max)
{
	int fd = open(path, O_RDONLY);
	size_t n = 0;
	ssize_t r;

	while (fd >= 0 && n < max - 1 && (r = read(fd, buf + n, max - 1 - n)) > 0)
		n += (size_t)r;
	if (fd >= 0)
		close(fd);
	buf[n] = 0;
	return n;
}

static int p_umount_all(int argc, char **argv)
{
	static char before[1 << 16], after[1 << 16], work[1 << 16];
	int verdict = DENIED;

	(void)argc, (void)argv;
	if (!slurp("/proc/self/mountinfo", before, sizeof(before)))
		return broken("mountinfo");
	memcpy(work, before, sizeof(work));
	for (char *save, *line = strtok_r(work, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char where[4096];

		if (sscanf(line, "%*s %*s %*s %*s %4095s", where) != 1)
			return BROKEN;
		must_fail(&verdict, where, umount2(where, 0));
		must_fail(&verdict, where, umount2(where, MNT_DETACH));
	}
	slurp("/proc/self/mountinfo", after, sizeof(after));
	if (strcmp(before, after) != 0)
		worse(&verdict, REACHED);
	return verdict;
}

static int p_write_base(int argc, char **argv)
{
	int verdict = DENIED;

	for (int i = 0; i < argc; i++) {
		char other[PATH_MAX];
		struct timespec ts[2] = { { 0, 0 }, { 0, 0 } };
		struct stat st;

		if (stat(argv[i], &st) < 0)
			return broken(argv[i]);
		snprintf(other, sizeof(other), "%s.moved", argv[i]);
		must_fail(&verdict, "write", open(argv[i], O_WRONLY));
		must_fail(&verdict, "rename", rename(argv[i], other));
		must_fail(&verdict, "unlink", S_ISDIR(st.st_mode) ? rmdir(argv[i]) : unlink(argv[i]));
		must_fail(&verdict, "chmod", chmod(argv[i], 0777));
		must_fail(&verdict, "chown", chown(argv[i], getuid(), getgid()));
		must_fail(&verdict, "utimes", utimensat(AT_FDCWD, argv[i], ts, 0));
		must_fail(&verdict, "truncate", truncate(argv[i], 0));
		must_fail(&verdict, "setxattr", setxattr(argv[i], "user.x", "1", 1, 0));
		must_fail(&verdict, "create beside", open(other, O_WRONLY | O_CREAT | O_EXCL, 0600));
	}
	return verdict;
}

static int p_mknod(int argc, char **argv)
{
	static const struct { const char *name; mode_t type; unsigned maj, min; } nodes[] = {
		{ "mem", S_IFCHR, 1, 1 }, { "sda", S_IFBLK, 8, 0 }, { "fuse", S_IFCHR, 10, 229 },
		{ "kvm", S_IFCHR, 10, 232 }, { "null", S_IFCHR, 1, 3 },
	};
	int verdict = DENIED;

	for (int i = 0; i < argc; i++) {
		char path[512];

		for (size_t k = 0; k < LEN(nodes); k++) {
			snprintf(path, sizeof(path), "%s/node-%s", argv[i], nodes[k].name);
			must_fail(&verdict, path, mknod(path, nodes[k].type | 0666, makedev(nodes[k].maj, nodes[k].min)));
		}
		snprintf(path, sizeof(path), "%s/node-whiteout", argv[i]);
		say("%s %s", path, mknod(path, S_IFCHR | 0666, 0) < 0 ? err_name(errno) : "OK");
	}
	return verdict;
}

/* ---- credentials ---------------------------------------------------------------------------- */

static int status_is(const char *status, const char *key, const char *want)
{
	const char *p = strstr(status, key);

	if (!p)
		return 0;
	p += strlen(key);
	p += strspn(p, " \t");
	return strncmp(p, want, strlen(want)) == 0 && (p[strlen(want)] == '\n' || p[strlen(want)] == '\t');
}

/* creds UID: everything about this process is what a fresh guest must have. */
static int p_creds(int argc, char **argv)
{
	static const char *const zero[] = { "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:" };
	char status[8192], uid[64];
	int verdict = DENIED;

	if (argc < 1 || !slurp("/proc/self/status", status, sizeof(status)))
		return broken("status");
	snprintf(uid, sizeof(uid), "%s\t%s\t%s\t%s", argv[0], argv[0], argv[0], argv[0]);
	if (!status_is(status, "Uid:", uid))
		worse(&verdict, REACHED);
	for (size_t i = 0; i < LEN(zero); i++)
		if (!status_is(status, zero[i], "0000000000000000"))
			worse(&verdict, REACHED);
	if (!status_is(status, "NoNewPrivs:", "1") || !status_is(status, "Seccomp:", "2"))
		worse(&verdict, REACHED);
	if (verdict != DENIED)
		say("%s", status);
	return verdict;
}

static int copy_self(const char *to, mode_t mode)
{
	int in = open("/proc/self/exe", O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	char buf[65536];
	ssize_t n;

	if (in < 0 || out < 0)
		return -1;
	while ((n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, (size_t)n) != n)
			return -1;
	if (fchmod(out, mode) < 0)
		return -1;
	close(in);
	close(out);
	return 0;
}

/* run_copy PATH MODE PROBE ARGS: a copy of this program with that mode, executed. */
static int p_run_copy(int argc, char **argv)
{
	if (argc < 3)
		return BROKEN;
	if (copy_self(argv[0], (mode_t)strtol(argv[1], NULL, 8)) < 0)
		return broken("copy");
	argv[1] = argv[0];
	execv(argv[0], argv + 1);
	say("exec %s %s", argv[0], err_name(errno));
	return errno == EACCES || errno == EPERM ? DENIED : BROKEN;
}

static int p_exec(int argc, char **argv)
{
	if (argc < 1)
		return BROKEN;
	execv(argv[0], argv);
	say("exec %s %s", argv[0], err_name(errno));
	return errno == EACCES || errno == EPERM || errno == ENOENT ? DENIED : BROKEN;
}

/* exec_fd memfd|file PROBE ARGS: by descriptor, as fexecve does. */
static int p_exec_fd(int argc, char **argv)
{
	int in = open("/proc/self/exe", O_RDONLY), out;
	char buf[65536];
	ssize_t n;

	if (argc < 2 || in < 0)
		return BROKEN;
	out = strcmp(argv[0], "memfd") == 0 ? memfd_create("x", 0)
					    : open("/tmp/exec-me", O_RDWR | O_CREAT, 0700);
	if (out < 0)
		return errno == EPERM || errno == EACCES || errno == ENOSYS ? DENIED : BROKEN;
	while ((n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, (size_t)n) != n)
			return BROKEN;
	snprintf(buf, sizeof(buf), "/proc/self/fd/%d", out);

	int ro = open(buf, O_RDONLY);

	close(out);
	if (ro < 0)
		return broken("reopen");
	fexecve(ro, argv, (char *[]){ NULL });
	say("fexecve %s", err_name(errno));
	return errno == EACCES || errno == EPERM ? DENIED : BROKEN;
}

static int p_script(int argc, char **argv)
{
	FILE *f = fopen("/tmp/script", "w");

	if (argc < 1 || !f)
		return BROKEN;
	fprintf(f, "#!/workspace/probe %s\n", argv[0]);
	fclose(f);
	chmod("/tmp/script", 0755);
	execl("/tmp/script", "/tmp/script", (char *)NULL);
	return broken("exec script");
}

/* Run through a script: argv[0] is the script's path, so the answer is asked for by name only. */
static int p_seccomp2(int argc, char **argv)
{
	char status[8192];

	(void)argc, (void)argv;
	if (!slurp("/proc/self/status", status, sizeof(status)))
		return BROKEN;
	return status_is(status, "Seccomp:", "2") && status_is(status, "NoNewPrivs:", "1") ? DENIED : REACHED;
}

static int p_filecap(int argc, char **argv)
{
	struct vfs_cap_data v2 = { .magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE };
	struct vfs_ns_cap_data v3 = { .magic_etc = VFS_CAP_REVISION_3 | VFS_CAP_FLAGS_EFFECTIVE };
	const char *path = "/tmp/filecap";

	if (argc < 1 || copy_self(path, 0755) < 0)
		return broken("copy");
	v2.data[0].permitted = v3.data[0].permitted = 0xffffffff;
	say("v2 %s", setxattr(path, "security.capability", &v2, sizeof(v2), 0) ? err_name(errno) : "OK");
	say("v3 %s", setxattr(path, "security.capability", &v3, sizeof(v3), 0) ? err_name(errno) : "OK");
	execl(path, path, "creds", argv[0], (char *)NULL);
	return errno == EPERM || errno == EACCES ? DENIED : broken("exec");
}

static int p_ids(int argc, char **argv)
{
	gid_t zero = 0;
	uid_t u = argc > 0 ? (uid_t)atol(argv[0]) : 0;
	int verdict = DENIED;

	must_fail(&verdict, "setuid", syscall(SYS_setuid, u));
	must_fail(&verdict, "setgid", syscall(SYS_setgid, u));
	must_fail(&verdict, "setresuid", syscall(SYS_setresuid, u, u, u));
	must_fail(&verdict, "setresgid", syscall(SYS_setresgid, u, u, u));
	must_fail(&verdict, "setreuid", syscall(SYS_setreuid, u, u));
	must_fail(&verdict, "setgroups", syscall(SYS_setgroups, 1, &zero));
	setfsuid(u);
	if ((uid_t)setfsuid((uid_t)-1) == u)
		worse(&verdict, REACHED);
	return verdict;
}

static int p_regain(int argc, char **argv)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 1u << CAP_SYS_ADMIN, 1u << CAP_SYS_ADMIN, 0 } };
	int verdict = DENIED;

	must_fail(&verdict, "capset", syscall(SYS_capset, &h, d));
	must_fail(&verdict, "ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
	must_fail(&verdict, "securebits", prctl(PR_SET_SECUREBITS, 0x2f, 0, 0, 0));
	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0)
		worse(&verdict, REACHED);
	if (verdict != DENIED)
		return verdict;
	execl("/proc/self/exe", "probe", "creds", argc > 0 ? argv[0] : "1000", (char *)NULL);
	return broken("exec");
}

static int p_maps(int argc, char **argv)
{
	static const char *const files[] = { "uid_map", "gid_map", "setgroups", "projid_map" };
	int verdict = DENIED;

	(void)argc, (void)argv;
	for (size_t i = 0; i < LEN(files); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/%s", files[i]);
		int fd = open(path, O_WRONLY);

		if (fd < 0) {
			say("%s open %s", files[i], err_name(errno));
			continue;
		}
		must_fail(&verdict, files[i], i == 2 ? write(fd, "allow", 5) : write(fd, "0 0 1", 5));
		close(fd);
	}
	return verdict;
}

static int p_groups(int argc, char **argv)
{
	gid_t g[256];
	int n = getgroups(256, g), verdict = DENIED;

	for (int i = 0; i < n; i++) {
		say("group %u", g[i]);
		if (g[i] != getgid())
			worse(&verdict, REACHED);
	}
	for (int i = 0; i < argc; i++)
		must_fail(&verdict, argv[i], open(argv[i], O_RDONLY));
	return verdict;
}

/* Everything that a process inherits and that must be back at its default. */
static int p_inherited(int argc, char **argv)
{
	int verdict = DENIED;
	sigset_t mask;
	struct itimerval it;
	mode_t um = umask(0);

	(void)argc, (void)argv;
	umask(um);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int s = 1; s < 65; s++) {
		struct sigaction sa = { 0 };

		if (s == 32 || s == 33)
			continue;
		if (sigismember(&mask, s) == 1) {
			say("blocked %d", s);
			verdict = REACHED;
		}
		if (sigaction(s, NULL, &sa) == 0 && sa.sa_handler != SIG_DFL) {
			say("not default %d", s);
			verdict = REACHED;
		}
	}
	errno = 0;

	int nice_now = getpriority(PRIO_PROCESS, 0);

	say("umask %03o nice %d personality %x dumpable %d securebits %d pdeathsig ?", um, nice_now,
	    personality(0xffffffff), prctl(PR_GET_DUMPABLE), prctl(PR_GET_SECUREBITS));
	if (um != 022 || nice_now != 0 || personality(0xffffffff) != 0)
		verdict = REACHED;
	if (getitimer(ITIMER_REAL, &it) == 0 && (it.it_value.tv_sec || it.it_value.tv_usec)) {
		say("alarm pending");
		verdict = REACHED;
	}
	if (sched_getscheduler(0) != SCHED_OTHER)
		verdict = REACHED;
	if (getsid(0) == 0) {
		say("session outside of the pid namespace");
		verdict = REACHED;
	}

	sigset_t pending;

	sigpending(&pending);
	for (int s = 1; s < 32; s++)
		if (sigismember(&pending, s) == 1)
			verdict = REACHED;
	return verdict;
}

/* ---- links, renames, read-only inputs -------------------------------------------------------- */

static int p_hardlink(int argc, char **argv)
{
	int verdict = DENIED;

	for (int i = 0; i < argc; i++) {
		char to[64], via[64];

		snprintf(to, sizeof(to), "/workspace/link%d", i);
		must_fail(&verdict, argv[i], link(argv[i], to));

		int fd = open(argv[i], O_PATH);

		if (fd < 0)
			return broken(argv[i]);
		snprintf(via, sizeof(via), "/proc/self/fd/%d", fd);
		must_fail(&verdict, "by fd", linkat(AT_FDCWD, via, AT_FDCWD, to, AT_SYMLINK_FOLLOW));
		must_fail(&verdict, "empty path", linkat(fd, "", AT_FDCWD, to, AT_EMPTY_PATH));
		close(fd);
	}
	return verdict;
}

static int p_exchange(int argc, char **argv)
{
	int verdict = DENIED;

	if (argc < 1)
		return BROKEN;
	close(open("/workspace/mine", O_CREAT | O_WRONLY, 0600));
	for (unsigned f = 0; f < 8; f++) {
		must_fail(&verdict, "there", renameat2(AT_FDCWD, "/workspace/mine", AT_FDCWD, argv[0], f));
		must_fail(&verdict, "back", renameat2(AT_FDCWD, argv[0], AT_FDCWD, "/workspace/mine", f));
	}
	return verdict;
}

static int p_ro_write(int argc, char **argv)
{
	int verdict = DENIED;

	for (int i = 0; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY);
		char via[64];

		if (fd < 0)
			return broken(argv[i]);
		must_fail(&verdict, "O_TRUNC", open(argv[i], O_WRONLY | O_TRUNC));
		must_fail(&verdict, "O_APPEND", open(argv[i], O_WRONLY | O_APPEND));
		snprintf(via, sizeof(via), "/proc/self/fd/%d", fd);
		must_fail(&verdict, "reopen", open(via, O_RDWR));
		must_fail(&verdict, "truncate", truncate(argv[i], 1));
		must_fail(&verdict, "fallocate", fallocate(fd, 0, 0, 4096));
		must_fail(&verdict, "chmod", fchmod(fd, 0777));

		void *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		must_fail(&verdict, "mmap", m == MAP_FAILED ? -1 : 0);
		close(fd);
	}
	return verdict;
}

static int p_listmount(int argc, char **argv)
{
	struct { uint32_t size, spare; uint64_t mnt_id, param, mnt_ns_id; } req = { 32, 0, 0, 0, 0 };
	uint64_t ids[256];
	static char buf[65536];

	(void)argc, (void)argv;
	req.mnt_id = UINT64_MAX;	/* LSMT_ROOT */

	long n = syscall(SYS_listmount, &req, ids, 256, 0);

	say("listmount %ld %s", n, n < 0 ? err_name(errno) : "");
	for (long i = 0; i < n; i++) {
		req.mnt_id = ids[i];
		req.param = 0xff;
		if (syscall(SYS_statmount, &req, buf, sizeof(buf), 0) < 0)
			continue;
		for (size_t k = 0; k < sizeof(buf); k++)
			if (buf[k] >= 32 && buf[k] < 127)
				putchar(buf[k]);
		putchar('\n');
		memset(buf, 0, sizeof(buf));
	}
	fflush(stdout);
	return DENIED;
}

/* ---- filling ------------------------------------------------------------------------------- */

static int p_deep(int argc, char **argv)
{
	long n = argc > 0 ? atol(argv[0]) : 50000, i;

	for (i = 0; i < n; i++)
		if (mkdir("d", 0700) < 0 || chdir("d") < 0)
			break;
	say("levels %ld %s", i, i < n ? err_name(errno) : "");
	return DENIED;
}

static int p_many(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000, i;
	int dir = open(argc > 0 ? argv[0] : ".", O_PATH | O_DIRECTORY);

	for (i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "f%ld", i);
		int fd = openat(dir, name, O_CREAT | O_WRONLY, 0600);

		if (fd < 0)
			break;
		close(fd);
	}
	say("files %ld %s", i, i < n ? err_name(errno) : "");
	return i < n ? DENIED : REACHED;
}

/* fill MIB PATH [unlink]: write until refused. */
static int p_fill(int argc, char **argv)
{
	static char block[1 << 20];
	long max = argc > 0 ? atol(argv[0]) : 0, i;
	int fd = open(argc > 1 ? argv[1] : "fill", O_CREAT | O_RDWR, 0600);

	if (fd < 0)
		return broken("open");
	if (argc > 2)
		unlink(argv[1]);
	memset(block, 'x', sizeof(block));
	for (i = 0; i < max; i++) {
		ssize_t n = write(fd, block, sizeof(block));

		/* a short write has no errno: the next one says why */
		if (n < (ssize_t)sizeof(block) && (n < 0 || write(fd, block, sizeof(block)) < 0))
			break;
	}
	say("mib %ld %s", i, i < max ? err_name(errno) : "");
	return i < max ? DENIED : REACHED;
}

static int p_fallocate(int argc, char **argv)
{
	int fd = open("alloc", O_CREAT | O_RDWR, 0600), verdict = DENIED;
	struct { int64_t src; uint64_t off, len, dst; } clone = { fd, 0, 4096, 8192 };

	(void)argc, (void)argv;
	if (fd < 0)
		return broken("open");
	signal(SIGXFSZ, SIG_IGN);	/* the limit of a file's size answers with EFBIG then */
	must_fail(&verdict, "10 GiB", fallocate(fd, 0, 0, 10L << 30));
	must_fail(&verdict, "keep size", fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 10L << 30));
	must_fail(&verdict, "collapse", fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, 4096));
	must_fail(&verdict, "clone range", ioctl(fd, 0x4020940d, &clone));
	return verdict;
}

static int p_sparse(int argc, char **argv)
{
	int fd = open(argc > 0 ? argv[0] : "sparse", O_CREAT | O_RDWR, 0600);

	if (fd < 0)
		return broken("open");
	signal(SIGXFSZ, SIG_IGN);
	say("1 TiB %s", ftruncate(fd, 1L << 40) ? err_name(errno) : "OK");
	say("8 EiB %s", ftruncate(fd, INT64_MAX) ? err_name(errno) : "OK");
	return 0;
}

/* ---- processes ------------------------------------------------------------------------------ */

/* procs NONCE: nobody but this tree may be seen or signalled. */
static int p_procs(int argc, char **argv)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	int verdict = DENIED, others = 0;

	if (!proc || argc < 1)
		return BROKEN;
	while ((d = readdir(proc))) {
		char path[300], cmd[4096];
		int pid = atoi(d->d_name);

		if (pid <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
		slurp(path, cmd, sizeof(cmd));
		for (size_t i = 0; i < sizeof(cmd) - 1 && (cmd[i] || cmd[i + 1]); i++)
			if (!cmd[i])
				cmd[i] = ' ';
		say("pid %d %s", pid, cmd);
		if (pid != getpid()) {
			others++;
			if (strstr(cmd, argv[0]))
				worse(&verdict, REACHED);
		}
	}
	if (others > 1)
		worse(&verdict, REACHED);
	for (int pid = 2; pid < 32768; pid++) {
		if (pid == getpid())
			continue;
		if (kill(pid, 0) == 0 || errno != ESRCH) {
			say("kill %d: %s", pid, err_name(errno));
			worse(&verdict, REACHED);
		}
		int fd = (int)syscall(SYS_pidfd_open, pid, 0);

		if (fd >= 0) {
			say("pidfd_open %d", pid);
			worse(&verdict, REACHED);
			close(fd);
		}
	}
	return verdict;
}

static int p_kill_all(int argc, char **argv)
{
	int st, dead = 0;

	(void)argc, (void)argv;
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return broken("fork");
		if (pid == 0) {
			setsid();
			pause();
			_exit(1);
		}
	}
	usleep(50000);
	if (kill(-1, SIGKILL) < 0)
		return broken("kill");
	while (wait(&st) > 0)
		dead += WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL;
	return dead == 3 ? DENIED : BROKEN;
}

static int p_kill_group(int argc, char **argv)
{
	int sig = argc > 0 ? atoi(argv[0]) : SIGKILL;

	(void)argv;
	kill(0, sig);
	killpg(getpgrp(), sig);
	pause();
	return BROKEN;
}

/* Everything that can be sent to pid 1, then proof that it still reaps. */
static int p_attack_init(int argc, char **argv)
{
	int fd = (int)syscall(SYS_pidfd_open, 1, 0), sent = 0;

	(void)argc, (void)argv;
	for (int s = 1; s <= 64; s++) {
		siginfo_t si = { .si_signo = s, .si_code = -1 };

		sent += kill(1, s) == 0;
		sent += syscall(SYS_tgkill, 1, 1, s) == 0;
		sent += syscall(SYS_tkill, 1, s) == 0;
		sent += syscall(SYS_rt_sigqueueinfo, 1, s, &si) == 0;
		if (fd >= 0)
			sent += syscall(SYS_pidfd_send_signal, fd, s, NULL, 0) == 0;
	}
	say("accepted %d", sent);
	for (int i = 0; i < 1000; i++) {
		pid_t pid;
		long until = now_us() + 5000000;

		while ((pid = fork()) < 0)
			if (now_us() > until)
				return REACHED;		/* nobody reaps any more */
		if (pid == 0) {
			if (fork() == 0)
				_exit(0);		/* an orphan: init's to reap */
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return DENIED;
}

/* init's memory and descriptors; with the filter off these must still fail for ids and dumpability. */
static int p_ptrace_init(int argc, char **argv)
{
	static const char *const files[] = { "mem", "maps", "syscall", "stack", "environ", "auxv", "fd", "fdinfo",
					     "root", "cwd", "exe", "ns/mnt", "map_files", "io", "personality" };
	char buf[64];
	struct iovec l = { buf, 8 }, r = { (void *)0x400000, 8 };
	int verdict = DENIED;

	(void)argc, (void)argv;
	must_fail(&verdict, "attach", syscall(SYS_ptrace, 16, 1, 0, 0));
	must_fail(&verdict, "seize", syscall(SYS_ptrace, 0x4206, 1, 0, 0));
	must_fail(&verdict, "readv", syscall(SYS_process_vm_readv, 1, &l, 1, &r, 1, 0));
	must_fail(&verdict, "writev", syscall(SYS_process_vm_writev, 1, &l, 1, &r, 1, 0));
	must_fail(&verdict, "kcmp", syscall(SYS_kcmp, 1, getpid(), 0, 0, 0));

	int fd = (int)syscall(SYS_pidfd_open, 1, 0);

	if (fd >= 0)
		for (int i = 0; i < 16; i++)
			must_fail(&verdict, "pidfd_getfd", syscall(SYS_pidfd_getfd, fd, i, 0));
	for (size_t i = 0; i < LEN(files); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/1/%s", files[i]);
		must_fail(&verdict, path, open(path, O_RDONLY));
	}
	return verdict;
}

/* daemonize: leaves a grandchild in its own session and ends at once. */
static int p_daemonize(int argc, char **argv)
{
	long ms = argc > 0 ? atol(argv[0]) : 30000;
	int keep = argc > 1;

	(void)argv;
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			setpgid(0, 0);
			for (int i = 0; !keep && i < 1024; i++)
				close(i);
			for (int s = 1; s < 32; s++)
				signal(s, SIG_IGN);
			prctl(PR_SET_PDEATHSIG, 0);
			usleep((useconds_t)ms * 1000);
		}
		_exit(0);
	}
	usleep(50000);
	return 0;
}

static void *thread_sleep(void *p)
{
	for (;;)
		pause();
	return p;
}

/* wait [THREADS]: stays, so that the host can look at the process from outside. */
static int p_wait(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0;

	for (long i = 0; i < n; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, thread_sleep, NULL))
			return broken("pthread_create");
	}
	return forever();
}

/* stubborn NONCE: takes away every soft way to be ended, then stays. */
static int p_stubborn(int argc, char **argv)
{
	sigset_t all;

	(void)argc, (void)argv;
	for (int s = 1; s < 65; s++)
		signal(s, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_DUMPABLE, 0);
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			setsid();
			break;
		}
	return forever();
}

static int p_spin(int argc, char **argv)
{
	long n = argc > 0 ? atol(argv[0]) : 1;
	long until = now_us() + 20000000;
	volatile unsigned long x = 0;
	sigset_t all;

	for (int s = 1; s < 65; s++)
		signal(s, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (argc > 1) {
		cpu_set_t c;

		memset(&c, 0xff, sizeof(c));
		sched_setaffinity(0, sizeof(c), &c);
		(void)!nice(19);
	}
	(void)argv;
	for (long i = 1; i < n; i++)
		if (fork() == 0)
			break;
	while (now_us() < until)
		for (int i = 0; i < 1000000; i++)
			x++;
	return BROKEN;
}

static int p_stop_self(int argc, char **argv)
{
	if (argc > 0 && strcmp(argv[0], "group") == 0)
		kill(0, SIGSTOP);
	raise(SIGSTOP);
	return forever();
}

static int p_block(int argc, char **argv)
{
	const char *how = argc > 0 ? argv[0] : "";

	if (strcmp(how, "vfork") == 0) {
		if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0)
			for (;;)
				pause();
	} else if (strcmp(how, "fifo") == 0) {
		mkfifo("/tmp/fifo", 0600);
		(void)open("/tmp/fifo", O_RDONLY);
	} else if (strcmp(how, "futex") == 0) {
		static int word;

		syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
	} else if (strcmp(how, "flock") == 0) {
		int a = open("/tmp/l", O_CREAT | O_RDWR, 0600), b = open("/tmp/l", O_RDWR);

		flock(a, LOCK_EX);
		flock(b, LOCK_EX);
	} else if (strcmp(how, "stdin") == 0) {
		char c;

		while (read(0, &c, 1) >= 0)
			usleep(100000);
	}
	return BROKEN;
}

static int p_zombies(int argc, char **argv)
{
	long n = argc > 0 ? atol(argv[0]) : 3000;

	for (long i = 0; i < n; i++) {
		long until = now_us() + 5000000;
		pid_t pid;

		while ((pid = fork()) < 0) {
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
			if (now_us() > until)
				return REACHED;
		}
		if (pid == 0) {
			(void)!fork();		/* its child becomes an orphan */
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	return DENIED;
}

static int p_clone_parent(int argc, char **argv)
{
	long r = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

	(void)argc, (void)argv;
	if (r == 0)
		_exit(99);
	say("clone %ld %s", r, r < 0 ? err_name(errno) : "");
	usleep(200000);
	return 7;
}

static int p_spoof(int argc, char **argv)
{
	int verdict = 7;

	prctl(PR_SET_NAME, "belljar");
	must_fail(&verdict, "exe_file", prctl(PR_SET_MM, PR_SET_MM_EXE_FILE, 0, 0, 0));
	if (argc > 0)
		memset(argv[0], 'Z', strlen(argv[0]));
	return verdict;
}

static int p_sched(int argc, char **argv)
{
	struct sched_param p = { .sched_priority = 1 };
	struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t prio; uint64_t run, dl, per; } attr = {
		48, 6, 0, 0, 0, 10000000, 20000000, 20000000 };
	int verdict = DENIED;

	(void)argc, (void)argv;
	must_fail(&verdict, "FIFO", sched_setscheduler(0, SCHED_FIFO, &p));
	must_fail(&verdict, "RR", sched_setscheduler(0, SCHED_RR, &p));
	must_fail(&verdict, "DEADLINE", syscall(SYS_sched_setattr, 0, &attr, 0));
	must_fail(&verdict, "nice", setpriority(PRIO_PROCESS, 0, -20));
	must_fail(&verdict, "ioprio", syscall(SYS_ioprio_set, 1, 0, (1 << 13) | 0));
	attr = (typeof(attr)){ 56, 0, 0x20, 0, 0, 0, 0, 0 };
	must_fail(&verdict, "clamp", syscall(SYS_sched_setattr, 0, &attr, 0));

	int fd = open("/proc/self/autogroup", O_WRONLY);

	if (fd >= 0)
		must_fail(&verdict, "autogroup", write(fd, "-20", 3));
	return verdict;
}

static int p_rlimits(int argc, char **argv)
{
	int verdict = DENIED;

	(void)argc, (void)argv;
	for (int i = 0; i < 16; i++) {
		struct rlimit cur, now, up = { RLIM_INFINITY, RLIM_INFINITY };

		getrlimit(i, &cur);
		say("rlimit %d %ld %ld", i, (long)cur.rlim_cur, (long)cur.rlim_max);
		if (cur.rlim_max != RLIM_INFINITY) {
			int r = setrlimit(i, &up);

			/* That one answers 0 and does nothing (KS-18): what it is afterwards counts. */
			if (i == RLIMIT_CORE && getrlimit(i, &now) == 0)
				r = now.rlim_cur == cur.rlim_cur && now.rlim_max == cur.rlim_max ? -1 : 0;
			must_fail(&verdict, "raise", r);
		}
		must_fail(&verdict, "pid 1", syscall(SYS_prlimit64, 1, i, &up, NULL));
	}
	return verdict;
}

static int p_oom_adj(int argc, char **argv)
{
	static const char *const files[] = { "/proc/self/oom_score_adj", "/proc/self/oom_adj", "/proc/1/oom_score_adj" };
	int verdict = DENIED;

	(void)argc, (void)argv;
	for (size_t i = 0; i < LEN(files); i++) {
		int fd = open(files[i], O_WRONLY);

		if (fd < 0) {
			say("%s %s", files[i], err_name(errno));
			continue;
		}
		must_fail(&verdict, files[i], write(fd, i == 1 ? "-17" : "-1000", i == 1 ? 3 : 5));
		close(fd);
	}
	return verdict;
}

/* ---- network -------------------------------------------------------------------------------- */

static int p_ifaces(int argc, char **argv)
{
	struct ifaddrs *list, *i;
	int verdict = DENIED;

	(void)argc, (void)argv;
	if (getifaddrs(&list) < 0)
		return DENIED;
	for (i = list; i; i = i->ifa_next)
		if (strcmp(i->ifa_name, "lo") != 0) {
			say("iface %s", i->ifa_name);
			verdict = REACHED;
		}
	return verdict;
}

static int fill_addr(struct sockaddr_storage *ss, socklen_t *n, const char *addr, int port)
{
	struct sockaddr_in *a = (void *)ss;
	struct sockaddr_in6 *b = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, addr, &a->sin_addr) == 1) {
		a->sin_family = AF_INET;
		a->sin_port = htons((uint16_t)port);
		*n = sizeof(*a);
		return AF_INET;
	}
	if (inet_pton(AF_INET6, addr, &b->sin6_addr) == 1) {
		b->sin6_family = AF_INET6;
		b->sin6_port = htons((uint16_t)port);
		*n = sizeof(*b);
		return AF_INET6;
	}
	return -1;
}

/* connect tcp|udp ADDR PORT [ADDR PORT...]: refused at once, each of them. */
static int p_connect(int argc, char **argv)
{
	int verdict = DENIED;

	if (argc < 3)
		return BROKEN;
	for (int i = 1; i + 1 < argc; i += 2) {
		struct sockaddr_storage ss;
		socklen_t n = 0;
		int fam = fill_addr(&ss, &n, argv[i], atoi(argv[i + 1]));
		int udp = strcmp(argv[0], "udp") == 0;
		int fd = socket(fam, (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK, 0);
		long start = now_us();

		if (fd < 0) {
			say("socket %s", err_name(errno));
			continue;
		}
		long r = udp ? sendto(fd, "canary", 6, 0, (void *)&ss, n) : connect(fd, (void *)&ss, n);

		if (r < 0 && errno == EINPROGRESS) {
			struct pollfd p = { fd, POLLOUT, 0 };
			int e = ETIMEDOUT;
			socklen_t l = sizeof(e);

			if (poll(&p, 1, 1500) == 1)
				getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &l);
			errno = e;
			r = e ? -1 : 0;
		}
		say("row %s:%s %s %ld us", argv[i], argv[i + 1], r < 0 ? err_name(errno) : "OK", now_us() - start);
		if (r >= 0 || now_us() - start > 1000000)
			worse(&verdict, REACHED);
		close(fd);
	}
	return verdict;
}

/* connect_unix NAME: a leading @ is the abstract namespace. */
static int p_connect_unix(int argc, char **argv)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	int verdict = DENIED;

	for (int i = 0; i < argc; i++)
		for (size_t t = 0; t < LEN(types); t++) {
			struct sockaddr_un a = { .sun_family = AF_UNIX };
			size_t len = strlen(argv[i]);
			int fd = socket(AF_UNIX, types[t], 0);

			if (fd < 0 || len >= sizeof(a.sun_path))
				return broken("socket");
			memcpy(a.sun_path, argv[i], len);
			if (argv[i][0] == '@')
				a.sun_path[0] = 0;
			must_fail(&verdict, argv[i], connect(fd, (void *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)));
			close(fd);
		}
	return verdict;
}

/* socket FAMILY TYPE PROTOCOL, as raw 64-bit arguments: no socket may come into being. */
static int p_socket(int argc, char **argv)
{
	int verdict = DENIED;

	for (int i = 0; i + 2 < argc; i += 3) {
		long fd = syscall(SYS_socket, strtoul(argv[i], NULL, 0), strtoul(argv[i + 1], NULL, 0),
				  strtoul(argv[i + 2], NULL, 0));

		say("row %s/%s/%s %s", argv[i], argv[i + 1], argv[i + 2], fd < 0 ? err_name(errno) : "OK");
		if (fd >= 0) {
			verdict = REACHED;
			close((int)fd);
		} else if (!denied_errno(errno) && errno != EINVAL) {
			verdict = REACHED;
		}
	}
	return verdict;
}

/* Every family, type and upper half: prints what can be made, never uses one. */
static int p_families(int argc, char **argv)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM, 10 };

	(void)argc, (void)argv;
	for (unsigned long fam = 0; fam < 64; fam++)
		for (size_t t = 0; t < LEN(types); t++)
			for (int high = 0; high < 3; high++) {
				unsigned long hi = high == 0 ? 0 : high == 1 ? HIGH : 0xffffffffUL << 32;
				long fd = syscall(SYS_socket, fam | hi, types[t] | (long)(high == 2 ? HIGH : 0), 0);

				if (fd >= 0) {
					say("made %lu %d %d", fam, types[t], high);
					close((int)fd);
				}
				int sv[2];

				if (syscall(SYS_socketpair, fam | hi, (long)types[t], 0, sv) == 0) {
					say("pair %lu %d %d", fam, types[t], high);
					close(sv[0]);
					close(sv[1]);
				}
			}
	return DENIED;
}

static int p_netlink(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (int type = SOCK_DGRAM; type <= SOCK_RAW; type++)
		for (unsigned long p = 0; p < 32; p++)
			for (int high = 0; high < 2; high++) {
				long fd = syscall(SYS_socket, AF_NETLINK, type, p | (high ? HIGH : 0));

				if (fd >= 0) {
					say("made %lu %d %d", p, type, high);
					close((int)fd);
				}
			}
	return DENIED;
}

static int p_reconfigure(int argc, char **argv)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	struct sockaddr_in *a = (void *)&ifr.ifr_addr;
	struct {
		struct nlmsghdr h;
		struct ifinfomsg i;
		struct rtattr a;
		char name[8];
	} msg = { .h = { .nlmsg_len = sizeof(msg), .nlmsg_type = RTM_NEWLINK,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK },
		  .a = { sizeof(struct rtattr) + 8, IFLA_IFNAME }, .name = "jarx0" };
	int verdict = DENIED, one = 1, fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)argc, (void)argv;
	if (fd < 0)
		return broken("socket");
	a->sin_family = AF_INET;
	inet_pton(AF_INET, "127.0.0.9", &a->sin_addr);
	must_fail(&verdict, "SIOCSIFADDR", ioctl(fd, SIOCSIFADDR, &ifr));
	ifr.ifr_flags = 0;
	must_fail(&verdict, "SIOCSIFFLAGS", ioctl(fd, SIOCSIFFLAGS, &ifr));
	ifr.ifr_mtu = 1400;
	must_fail(&verdict, "SIOCSIFMTU", ioctl(fd, SIOCSIFMTU, &ifr));
	must_fail(&verdict, "SO_MARK", setsockopt(fd, SOL_SOCKET, SO_MARK, &one, sizeof(one)));
	must_fail(&verdict, "SO_RCVBUFFORCE", setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &one, sizeof(one)));
	must_fail(&verdict, "IP_TRANSPARENT", setsockopt(fd, SOL_IP, 19, &one, sizeof(one)));
	must_fail(&verdict, "tun", open("/dev/net/tun", O_RDWR));

	int nl = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (nl >= 0 && send(nl, &msg, sizeof(msg), 0) > 0) {
		struct { struct nlmsghdr h; struct nlmsgerr e; char more[512]; } in;

		if (recv(nl, &in, sizeof(in), 0) > 0 && in.h.nlmsg_type == NLMSG_ERROR) {
			say("RTM_NEWLINK %s", err_name(-in.e.error));
			if (in.e.error != -EPERM && in.e.error != -EACCES)
				worse(&verdict, REACHED);
		}
	}
	return verdict;
}

/* listen PORT: works for the guest itself, stays for the host to try. */
static int p_listen(int argc, char **argv)
{
	int port = argc > 0 ? atoi(argv[0]) : 8080, one = 1;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int s = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s, (void *)&a, sizeof(a)) < 0 || listen(s, 8) < 0)
		return broken("listen");
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(c, (void *)&a, sizeof(a)) < 0)
		return broken("connect to self");
	for (int i = 0; i < 20; i++)
		usleep(100000);
	return 0;
}

/* ---- kernel surface ------------------------------------------------------------------------- */

static int add_filter(int op, unsigned flags, unsigned ret)
{
	struct sock_filter f[] = { BPF_STMT(BPF_RET | BPF_K, ret) };
	struct sock_fprog p = { 1, f };

	return (int)syscall(SYS_seccomp, op, flags, &p);
}

static int p_weaken(int argc, char **argv)
{
	int verdict = DENIED, st;
	pid_t pid = fork();

	if (pid < 0)
		return broken("fork");
	if (pid == 0) {
		syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
		syscall(SYS_write, 1, "strict\n", 7);
		syscall(SYS_exit, 0);
	}
	waitpid(pid, &st, 0);
	must_fail(&verdict, "no_new_privs off", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
	must_fail(&verdict, "listener", add_filter(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_RET_ALLOW));
	say("permissive %d", add_filter(SECCOMP_SET_MODE_FILTER, 0, SECCOMP_RET_ALLOW));
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);
	worse(&verdict, p_sys(argc, argv));
	worse(&verdict, p_high(0, NULL));
	return verdict;
}

static int p_personality(int argc, char **argv)
{
	static const unsigned long tries[] = { ADDR_NO_RANDOMIZE, READ_IMPLIES_EXEC, PER_LINUX32, MMAP_PAGE_ZERO,
					       HIGH | READ_IMPLIES_EXEC };
	int verdict = DENIED;

	(void)argc, (void)argv;
	for (size_t i = 0; i < LEN(tries); i++) {
		long r = syscall(SYS_personality, tries[i]);

		say("row %lx %s", tries[i], r < 0 ? err_name(errno) : "OK");
		if (r >= 0)
			verdict = REACHED;
	}
	if (syscall(SYS_personality, 0xffffffffUL) != 0)
		verdict = REACHED;
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		verdict = REACHED;
	return verdict;
}

/* sysv KEY MQNAME: objects that the host made must not be found. */
static int p_sysv(int argc, char **argv)
{
	int verdict = DENIED;
	key_t key = argc > 0 ? (key_t)strtol(argv[0], NULL, 0) : 0;

	if (argc < 1)
		return BROKEN;
	must_fail(&verdict, "shmget", shmget(key, 0, 0));
	must_fail(&verdict, "semget", semget(key, 0, 0));
	must_fail(&verdict, "msgget", msgget(key, 0));
	if (argc > 1)
		must_fail(&verdict, "mq_open", mq_open(argv[1], O_RDONLY));
	return verdict;
}

static int p_sysv_make(int argc, char **argv)
{
	key_t key = argc > 0 ? (key_t)strtol(argv[0], NULL, 0) : 0;

	if (argc < 2)
		return BROKEN;
	say("shm %d", shmget(key, 4096, IPC_CREAT | 0666));
	say("sem %d", semget(key, 1, IPC_CREAT | 0666));
	say("msg %d", msgget(key, IPC_CREAT | 0666));
	say("mq %d", (int)mq_open(argv[1], O_CREAT | O_RDWR, 0666, NULL));
	if (argc > 2)
		return forever();
	return 0;
}

/* keyring SERIAL: with the filter off, the session keyring is not the host's. */
static int p_keyring(int argc, char **argv)
{
	long host = argc > 0 ? atol(argv[0]) : 0;
	long id = syscall(SYS_keyctl, 0 /* GET_KEYRING_ID */, -3L /* session */, 0L);

	say("session keyring %ld", id);
	if (argc > 1)
		return 0;
	return id == host ? REACHED : DENIED;
}

static int p_ioctl_storm(int argc, char **argv)
{
	unsigned seed = argc > 0 ? (unsigned)atoi(argv[0]) : 1;
	int p[2], fds[4];

	if (pipe(p) < 0)
		return broken("pipe");
	fds[0] = open("/dev/null", O_RDWR);
	fds[1] = p[0];
	fds[2] = open("/tmp/file", O_CREAT | O_RDWR, 0600);
	fds[3] = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	for (int i = 0; i < 2000; i++) {
		static char arg[65536];
		unsigned long nr = (unsigned)rand_r(&seed);

		if (i & 1)
			nr = (nr & 0xff) | ((unsigned long)("TtfVvBX"[nr % 7]) << 8);
		for (int k = 0; k < 4; k++)
			if (fds[k] >= 0)
				ioctl(fds[k], nr, arg);
	}
	return DENIED;
}

static int p_fcntl(int argc, char **argv)
{
	int verdict = DENIED, p[2], fd = open("/tmp/leased", O_CREAT | O_RDWR, 0600);

	(void)argc, (void)argv;
	if (fd < 0 || pipe(p) < 0)
		return broken("open");
	must_fail(&verdict, "SETLEASE", fcntl(fd, F_SETLEASE, F_WRLCK));
	must_fail(&verdict, "NOTIFY", fcntl(open("/tmp", O_RDONLY), F_NOTIFY, 0x80000002));
	must_fail(&verdict, "SETPIPE_SZ", fcntl(p[0], F_SETPIPE_SZ, 1 << 30));
	must_fail(&verdict, "SETOWN", fcntl(p[0], F_SETOWN, 30000));
	return verdict;
}

static int p_crash(int argc, char **argv)
{
	if (argc > 0 && chdir(argv[0]) < 0)
		return broken("chdir");
	struct rlimit r = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_CORE, &r);
	abort();
}

static pid_t other_tid;
static void *tell_tid(void *p)
{
	__atomic_store_n(&other_tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	pause();
	return p;
}

static void core_row(const char *name, long r)
{
	struct rlimit now = { 77, 77 };
	int e = errno;

	getrlimit(RLIMIT_CORE, &now);
	say("row %s %s", name, r < 0 ? err_name(e) : "OK");
	say("core %s %ld %ld", name, (long)now.rlim_cur, (long)now.rlim_max);
}

/* Every way to a core limit of 0 for this process, its parent and its child; then it waits, under another name, for somebody to look. */
static int p_core_limit(int argc, char **argv)
{
	/* An address of which the lower half is 0, as of no address at all. */
	struct rlimit *even = mmap((void *)HIGH, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	struct rlimit zero = { 0, 0 }, soft = { 0, 1 }, old;
	pthread_t t;
	int gate[2];
	pid_t child;

	(void)argc, (void)argv;
	if (even != (void *)HIGH || pipe(gate) < 0 || pthread_create(&t, NULL, tell_tid, NULL) != 0)
		return broken("core_limit");
	while (!__atomic_load_n(&other_tid, __ATOMIC_SEQ_CST))
		sched_yield();
	/* The soft limit alone first: a lower hard one could not be told from it afterwards. */
	core_row("setrlimit.soft", syscall(SYS_setrlimit, RLIMIT_CORE, &soft));
	core_row("prlimit.soft", syscall(SYS_prlimit64, 0, RLIMIT_CORE, &soft, NULL));
	core_row("setrlimit", syscall(SYS_setrlimit, RLIMIT_CORE, &zero));
	core_row("setrlimit.high", syscall(SYS_setrlimit, RLIMIT_CORE | HIGH, &zero));
	core_row("setrlimit.even", syscall(SYS_setrlimit, RLIMIT_CORE, even));
	core_row("libc", setrlimit(RLIMIT_CORE, &zero));
	core_row("prlimit", syscall(SYS_prlimit64, 0, RLIMIT_CORE, &zero, NULL));
	core_row("prlimit.old", syscall(SYS_prlimit64, 0, RLIMIT_CORE, &zero, &old));
	core_row("prlimit.even", syscall(SYS_prlimit64, 0, RLIMIT_CORE, even, NULL));
	core_row("prlimit.high-what", syscall(SYS_prlimit64, 0, RLIMIT_CORE | HIGH, &zero, NULL));
	core_row("prlimit.high-pid", syscall(SYS_prlimit64, HIGH, RLIMIT_CORE, &zero, NULL));
	core_row("prlimit.high-all", syscall(SYS_prlimit64, HIGH, RLIMIT_CORE | HIGH, even, NULL));
	core_row("own", syscall(SYS_prlimit64, getpid(), RLIMIT_CORE, &zero, NULL));
	core_row("own.even", syscall(SYS_prlimit64, getpid(), RLIMIT_CORE, even, NULL));
	core_row("own.high", syscall(SYS_prlimit64, getpid() | HIGH, RLIMIT_CORE | HIGH, even, NULL));
	core_row("thread", syscall(SYS_prlimit64, other_tid, RLIMIT_CORE, &zero, NULL));
	core_row("init", syscall(SYS_prlimit64, 1, RLIMIT_CORE, &zero, NULL));
	core_row("read", syscall(SYS_prlimit64, 0, RLIMIT_CORE, NULL, &old));
	core_row("read.own", syscall(SYS_prlimit64, getpid(), RLIMIT_CORE, NULL, &old));
	/* The child on its parent. It stays, so that the parent can try the same on it, and its own limits can be looked at. */
	child = fork();
	if (child == 0) {
		core_row("parent", syscall(SYS_prlimit64, getppid(), RLIMIT_CORE, &zero, NULL));
		core_row("parent.even", syscall(SYS_prlimit64, getppid(), RLIMIT_CORE, even, NULL));
		(void)!write(gate[1], "x", 1);
		forever();
	}
	(void)!read(gate[0], &(char){ 0 }, 1);
	core_row("child", syscall(SYS_prlimit64, child, RLIMIT_CORE, &zero, NULL));
	core_row("child.even", syscall(SYS_prlimit64, child, RLIMIT_CORE, even, NULL));
	prctl(PR_SET_NAME, "core-tried");
	return forever();
}

static sig_atomic_t volatile caught;
static void on_segv(int s)
{
	caught = s;
	_exit(44);
}

static int p_cpu_features(int argc, char **argv)
{
	const char *how = argc > 0 ? argv[0] : "";

	signal(SIGSEGV, on_segv);
	if (strcmp(how, "vsyscall") == 0) {
		time_t (*vtime)(time_t *) = (time_t(*)(time_t *))0xffffffffff600400UL;

		say("%ld", (long)vtime(NULL));
	} else if (strcmp(how, "rdtsc") == 0) {
		say("%lld", (long long)__builtin_ia32_rdtsc());
	} else if (strcmp(how, "cpuid") == 0) {
		unsigned a = 0, b, c = 0, d;

		__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
		say("%x", a);
	} else if (strcmp(how, "rseq") == 0) {
		say("%ld", syscall(334, BAD, 32, 0, 0));
	} else if (strcmp(how, "pkey") == 0) {
		say("%ld", syscall(SYS_pkey_alloc, 0, 0));
	} else if (strcmp(how, "vdso") == 0) {
		say("%ld", now_us());
	}
	return 0;
}

static int p_merge(int argc, char **argv)
{
	void *m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int verdict = DENIED;

	(void)argc, (void)argv;
	must_fail(&verdict, "prctl", prctl(67 /* PR_SET_MEMORY_MERGE */, 1, 0, 0, 0));
	must_fail(&verdict, "madvise", madvise(m, 1 << 20, MADV_MERGEABLE));
	return verdict;
}

/* Each ioctl on whatever this process has as a terminal: nothing may be typed into it. */
static int p_tty(int argc, char **argv)
{
	int verdict = DENIED, tty = open("/dev/tty", O_RDWR | O_NOCTTY), line = 0;

	(void)argc, (void)argv;
	say("/dev/tty %s", tty < 0 ? err_name(errno) : "OK");
	if (tty >= 0)
		verdict = REACHED;
	for (int fd = 0; fd < 4; fd++) {
		char c = 'X', paste[2] = { 3, 0 };

		if (fd < 3 && isatty(fd))
			say("fd %d is a terminal", fd);
		must_fail(&verdict, "TIOCSTI", ioctl(fd, TIOCSTI, &c));
		must_fail(&verdict, "TIOCLINUX", ioctl(fd, TIOCLINUX, paste));
		must_fail(&verdict, "TIOCSCTTY", ioctl(fd, TIOCSCTTY, 0));
		must_fail(&verdict, "TIOCSETD", ioctl(fd, TIOCSETD, &line));
		must_fail(&verdict, "TIOCCONS", ioctl(fd, TIOCCONS, 0));
		must_fail(&verdict, "TIOCSTI high", syscall(SYS_ioctl, fd, HIGH | TIOCSTI, &c));
	}
	return verdict;
}

/* ---- resources ------------------------------------------------------------------------------ */

static int p_forks(int argc, char **argv)
{
	long n = argc > 0 ? atol(argv[0]) : 300, i;
	pid_t *kids = calloc((size_t)n, sizeof(*kids));
	int e = 0;

	for (i = 0; i < n; i++) {
		kids[i] = fork();
		if (kids[i] < 0) {
			e = errno;
			break;
		}
		if (kids[i] == 0) {
			for (;;)
				pause();
		}
	}
	say("forks %ld %s", i, err_name(e));
	for (long k = 0; argc < 2 && k < i; k++)
		kill(kids[k], SIGKILL);
	return i == n ? REACHED : e == EAGAIN ? DENIED : BROKEN;
}

/* What a fork bomb does. All of it ends after two seconds by itself, should the jar not hold. */
static int p_storm(int argc, char **argv)
{
	long until = now_us() + 2000000;

	(void)argc, (void)argv;
	while (now_us() < until)
		(void)!fork();
	return REACHED;
}

static int p_threads(int argc, char **argv)
{
	long n = argc > 0 ? atol(argv[0]) : 300, i;
	pthread_attr_t a;
	int r = 0;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	for (i = 0; i < n; i++) {
		pthread_t t;

		r = pthread_create(&t, &a, thread_sleep, NULL);
		if (r)
			break;
	}
	say("threads %ld %s", i, err_name(r));
	return i == n ? REACHED : r == EAGAIN ? DENIED : BROKEN;
}

static int p_short_procs(int argc, char **argv)
{
	long n = argc > 0 ? atol(argv[0]) : 2000;

	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			for (volatile int k = 0; k < 20000; k++)
				;
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	return 0;
}

static void raise_nofile(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

static int grow_file(int fd, long mib)
{
	static char block[1 << 20];

	memset(block, 'm', sizeof(block));
	for (long i = 0; i < mib; i++)
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block)) {
			say("mib %ld %s", i, err_name(errno));
			return DENIED;
		}
	return REACHED;
}

/* Fills pipe or socket buffers: many of them, none read. */
static int grow_buffers(long mib, int sockets)
{
	static char block[65536];
	long done = 0, pairs = 0;

	raise_nofile();
	memset(block, 'b', sizeof(block));
	while (done < mib << 20) {
		int p[2];
		ssize_t n;

		if ((sockets ? socketpair(AF_UNIX, SOCK_STREAM, 0, p) : pipe(p)) < 0) {
			if (errno == EMFILE || errno == ENFILE) {
				/* this process holds all it may: let a child go on */
				pid_t pid = fork();

				if (pid < 0)
					break;
				if (pid > 0) {
					int st;

					waitpid(pid, &st, 0);
					return WIFEXITED(st) ? WEXITSTATUS(st) : DENIED;
				}
				continue;
			}
			break;
		}
		fcntl(p[1], F_SETFL, O_NONBLOCK);
		if (!sockets)
			fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
		while ((n = write(p[1], block, sizeof(block))) > 0)
			done += n;
		pairs++;
	}
	say("mib %ld in %ld pairs %s", done >> 20, pairs, err_name(errno));
	return done >= mib << 20 ? REACHED : DENIED;
}

/* mem KIND MIB: holds that much of one kind; REACHED when nothing stopped it. */
static int p_mem(int argc, char **argv)
{
	const char *kind = argc > 0 ? argv[0] : "anon";
	long mib = argc > 1 ? atol(argv[1]) : 256;

	if (strcmp(kind, "anon") == 0) {
		for (long i = 0; i < mib; i++) {
			char *m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (m == MAP_FAILED)
				return DENIED;
			memset(m, 'a', 1 << 20);
		}
		return REACHED;
	}
	if (strcmp(kind, "child") == 0) {
		pid_t pid = fork();
		int st;

		if (pid == 0)
			_exit(p_mem(2, (char *[]){ "anon", argv[1] }));
		waitpid(pid, &st, 0);
		say("child %s %d", WIFSIGNALED(st) ? "signal" : "exit", WIFSIGNALED(st) ? WTERMSIG(st) : WEXITSTATUS(st));
		return WIFSIGNALED(st) ? 0 : REACHED;
	}
	if (strcmp(kind, "memfd") == 0)
		return grow_file(memfd_create("x", 0), mib);
	if (strcmp(kind, "tmpfs") == 0)
		return grow_file(open("/tmp/grow", O_CREAT | O_RDWR, 0600), mib);
	if (strcmp(kind, "devshm") == 0)
		return grow_file(open("/dev/shm/grow", O_CREAT | O_RDWR, 0600), mib);
	if (strcmp(kind, "sysv") == 0) {
		int id = shmget(IPC_PRIVATE, (size_t)mib << 20, IPC_CREAT | 0600);
		char *m = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

		if (m == (void *)-1)
			return DENIED;
		memset(m, 's', (size_t)mib << 20);
		return REACHED;
	}
	if (strcmp(kind, "pipe") == 0)
		return grow_buffers(mib, 0);
	if (strcmp(kind, "socket") == 0)
		return grow_buffers(mib, 1);
	return BROKEN;
}

/* ---- kernel objects: one function makes one of a kind, the i-th; -1 with errno: it was refused ---- */

static int tmp_file(const char *prefix, long i, int flags)
{
	char name[64];

	snprintf(name, sizeof(name), "/tmp/%s%ld", prefix, i);
	return open(name, O_CREAT | flags, 0600);
}

static int tmp_folder(const char *prefix, long i, char name[static 64])
{
	snprintf(name, 64, "/tmp/%s%ld", prefix, i);
	return mkdir(name, 0700);
}

static int object_inode(long i)
{
	int fd = tmp_file("i", i, O_WRONLY);

	return fd < 0 ? -1 : close(fd);
}

/* Names that are looked for and not found. */
static int object_dentry(long i)
{
	char name[64];

	snprintf(name, sizeof(name), "/tmp/no-such-%ld-xxxxxxxxxxxxxxxxxxxx", i);
	access(name, F_OK);
	return 0;
}

static int object_socketpair(long i)
{
	int sv[2];

	(void)i;
	return socketpair(AF_UNIX, SOCK_STREAM, 0, sv);
}

/* Data that was sent and not read. */
static int object_unix_data(long i)
{
	static char block[65536];
	int sv[2], big = 4 << 20;

	(void)i;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) < 0)
		return -1;
	setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
	for (int k = 0; k < 64 && send(sv[0], block, sizeof(block), MSG_DONTWAIT) > 0; k++)
		;
	return 0;
}

static int object_pipe(long i)
{
	static char block[65536];
	int p[2];

	(void)i;
	if (pipe2(p, O_NONBLOCK) < 0)
		return -1;
	fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
	for (int k = 0; k < 16 && write(p[1], block, sizeof(block)) > 0; k++)
		;
	return 0;
}

static int object_eventfd(long i)
{
	(void)i;
	return eventfd(0, 0) < 0 || timerfd_create(CLOCK_MONOTONIC, 0) < 0 || epoll_create1(0) < 0 ? -1 : 0;
}

/* Entries of epoll sets: each set watches all descriptors there are. */
static int object_epoll(long i)
{
	static int fds[200], set = -1;
	struct epoll_event ev = { .events = EPOLLIN };

	if (i < 200)
		return fds[i] = eventfd(0, 0);
	if (i % 200 == 0)
		set = epoll_create1(0);
	return set < 0 ? -1 : epoll_ctl(set, EPOLL_CTL_ADD, fds[i % 200], &ev);
}

static int object_inotify(long i)
{
	static int fd = -1;
	char name[64];

	if (fd < 0)
		fd = inotify_init();
	return tmp_folder("w", i, name) < 0 ? -1 : inotify_add_watch(fd, name, IN_ALL_EVENTS);
}

static int object_inotify_instance(long i)
{
	(void)i;
	return inotify_init();
}

/* Ranges of bytes, a few hundred in each file: the kernel walks past all of a file's locks for each new one. */
static int object_lock(long i)
{
	static int fd = -1;
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i % 300 * 2, .l_len = 1 };

	if (i % 300 == 0)
		fd = tmp_file("l", i, O_RDWR);
	return fd < 0 ? -1 : fcntl(fd, F_SETLK, &l);
}

/* The same with locks of open files. */
static int object_ofd_lock(long i)
{
	static int fd = -1;
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i % 300 * 2, .l_len = 1 };

	if (i % 300 == 0)
		fd = tmp_file("o", i, O_RDWR);
	return fd < 0 ? -1 : fcntl(fd, F_OFD_SETLK, &l);
}

static int object_flock(long i)
{
	int fd = tmp_file("f", i, O_RDWR);

	return fd < 0 ? -1 : flock(fd, LOCK_EX);
}

static int object_timer(long i)
{
	struct sigevent ev = { .sigev_notify = SIGEV_NONE };
	timer_t t;

	(void)i;
	return timer_create(CLOCK_MONOTONIC, &ev, &t);
}

/* A page of tables for each 2 MiB of addresses. Only read, so that no limit for data counts it. */
static int object_pagetable(long i)
{
	static char *m;

	if (!m) {
		m = mmap(NULL, 1UL << 40, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (m == MAP_FAILED)
			return -1;
		madvise(m, 1UL << 40, MADV_NOHUGEPAGE);
	}
	if ((unsigned long)i << 21 >= 1UL << 40)
		return -1;
	(void)*(volatile char *)(m + ((unsigned long)i << 21));
	return 0;
}

static int object_vma(long i)
{
	return mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

static int object_queue(long i)
{
	static char block[8192];
	char name[32];
	mqd_t q;

	snprintf(name, sizeof(name), "/q%ld", i);
	q = mq_open(name, O_CREAT | O_RDWR | O_NONBLOCK, 0600, NULL);
	for (int k = 0; q != (mqd_t)-1 && k < 10; k++)
		if (mq_send(q, block, sizeof(block), 0) < 0)
			return -1;
	return q == (mqd_t)-1 ? -1 : 0;
}

static int object_signal(long i)
{
	sigset_t all;

	(void)i;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	return sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ 0 });
}

/* Descriptors on their way. */
static int object_scm(long i)
{
	int sv[2], fds[16], rc;
	char c = 0, ctl[CMSG_SPACE(sizeof(fds))];
	struct iovec io = { &c, 1 };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = ctl, .msg_controllen = sizeof(ctl) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	(void)i;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sv) < 0)
		return -1;
	for (int k = 0; k < 16; k++)
		fds[k] = sv[0];
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(h), fds, sizeof(fds));
	rc = (int)sendmsg(sv[0], &m, MSG_DONTWAIT);
	close(sv[0]);
	close(sv[1]);
	return rc;
}

static int object_memfd(long i)
{
	static char block[1 << 20];
	int fd = memfd_create("o", 0);

	(void)i;
	return fd < 0 || write(fd, block, sizeof(block)) < 0 ? -1 : 0;
}

static int object_shm(long i)
{
	int id = shmget(IPC_PRIVATE, 1 << 20, 0600);
	void *m = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	(void)i;
	if (m == (void *)-1)
		return -1;
	memset(m, 1, 1 << 20);
	return shmdt(m);
}

static int object_sem(long i)
{
	(void)i;
	return semget(IPC_PRIVATE, 30000, 0600);
}

static int object_msg(long i)
{
	static struct {
		long type;
		char text[8000];
	} m = { .type = 1 };
	int id = msgget(IPC_PRIVATE, 0600);

	(void)i;
	return id < 0 || msgsnd(id, &m, sizeof(m.text), IPC_NOWAIT) < 0 || msgsnd(id, &m, sizeof(m.text), IPC_NOWAIT) < 0 ? -1 : 0;
}

static int object_pty(long i)
{
	(void)i;
	return open("/dev/ptmx", O_RDWR | O_NOCTTY);
}

static int object_xattr(long i)
{
	static char value[60000];
	char name[64];

	return tmp_folder("x", i, name) < 0 ? -1 : setxattr(name, "user.o", value, sizeof(value), 0);
}

/* 64 KiB each, two for a folder. Those of one user may be many. */
static int object_acl(long i)
{
	enum { USERS = 8000 };
	static struct {
		uint32_t version;
		struct {
			uint16_t tag, perm;
			uint32_t id;
		} e[USERS + 4];
	} acl = { .version = 2 };
	char name[64];

	acl.e[0].tag = 0x01, acl.e[0].id = ~0U;
	for (int k = 1; k <= USERS; k++)
		acl.e[k].tag = 0x02, acl.e[k].perm = 6, acl.e[k].id = getuid();
	acl.e[USERS + 1].tag = 0x04, acl.e[USERS + 2].tag = 0x10, acl.e[USERS + 3].tag = 0x20;
	acl.e[USERS + 1].id = acl.e[USERS + 2].id = acl.e[USERS + 3].id = ~0U;
	if (tmp_folder("a", i, name) < 0)
		return -1;
	return setxattr(name, "system.posix_acl_access", &acl, sizeof(acl), 0) < 0 ? -1 : setxattr(name, "system.posix_acl_default", &acl, sizeof(acl), 0);
}

/* NUMA policies of a file's pages, every other page another. */
static int object_policy(long i)
{
	enum { PAGES = 8192 };
	static char *m;
	unsigned long node = 1;

	if (i % PAGES == 0) {
		int fd = tmp_file("n", i, O_RDWR);

		if (fd < 0 || ftruncate(fd, PAGES * 8192L) < 0)
			return -1;
		m = mmap(NULL, PAGES * 8192L, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
		close(fd);
	}
	return m == MAP_FAILED ? -1 : (int)syscall(SYS_mbind, m + i % PAGES * 8192, 4096, 2 /* MPOL_BIND */, &node, 64, 0);
}

/* Programs of sockets: 4,000 instructions each. */
static int object_filter(long i)
{
	static struct sock_filter code[4000];
	struct sock_fprog prog = { 4000, code };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	(void)i;
	for (int k = 0; k < 4000; k++)
		code[k] = (struct sock_filter){ BPF_RET | BPF_K, 0, 0, 0 };
	return fd < 0 ? -1 : setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

static int object_key(long i)
{
	static char value[20000];
	char name[32];

	snprintf(name, sizeof(name), "k%ld", i);
	return (int)syscall(SYS_add_key, "user", name, value, sizeof(value), -3);
}

static int object_mount(long i)
{
	(void)i;
	return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static int object_aio(long i)
{
	unsigned long ctx = 0;

	(void)i;
	return (int)syscall(SYS_io_setup, 128, &ctx);
}

static void *wait_for_ever(void *word)
{
	static int lock;

	(void)word;
	syscall(SYS_futex, &lock, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
	while (pause() < 0)
		;
	return NULL;
}

/* Threads with their kernel stacks, io contexts and waiters of futexes. */
static int object_thread(long i)
{
	pthread_attr_t a;
	pthread_t t;

	(void)i;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	errno = pthread_create(&t, &a, wait_for_ever, NULL);
	return errno ? -1 : (int)syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 4);
}

/* 64 MiB that are in no mapping of the process: PR_FUTEX_HASH, PR_FUTEX_HASH_SET_SLOTS. */
static int object_futex_hash(long i)
{
	(void)i;
	return prctl(78, 1, 1L << 20, 0, 0);
}

/* IPV6_FLOWLABEL_MGR: IPV6_FL_A_GET, IPV6_FL_F_CREATE. The host has one pool of them. */
static int object_flow_label(long i)
{
	struct {
		struct in6_addr dst;
		uint32_t label;
		uint8_t action, share;
		uint16_t flags, expires, linger;
		uint32_t pad;
	} req = { .dst = IN6ADDR_LOOPBACK_INIT, .label = htonl((uint32_t)i + 1), .share = 1, .flags = 1 };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	return fd < 0 ? -1 : setsockopt(fd, 41, 32, &req, sizeof(req));
}

static int object_ruleset(long i)
{
	struct {
		uint64_t handled;
	} attr = { 1 };
	struct {
		uint64_t allowed;
		int32_t parent;
	} __attribute__((packed)) rule = { 1, -1 };
	static int set = -1;
	char name[64];

	if (i % 1000 == 0)
		set = (int)syscall(444, &attr, sizeof(attr), 0);
	if (set < 0 || tmp_folder("r", i, name) < 0)
		return -1;
	rule.parent = open(name, O_PATH);
	if (rule.parent < 0 || syscall(445, set, 1, &rule, 0) < 0)
		return -1;
	return close(rule.parent);
}

/* objects KIND N [hold]: kernel objects until refused; the host watches the bill. */
static int p_objects(int argc, char **argv)
{
	static const struct {
		const char *kind;
		int (*make)(long i);
	} kinds[] = {
		{ "acls", object_acl }, { "aio", object_aio }, { "dentries", object_dentry }, { "epoll", object_epoll }, { "eventfds", object_eventfd },
		{ "filters", object_filter }, { "flocks", object_flock }, { "flow_labels", object_flow_label }, { "futex_hash", object_futex_hash }, { "inodes", object_inode }, { "inotify", object_inotify },
		{ "inotify_instances", object_inotify_instance }, { "keys", object_key }, { "locks", object_lock }, { "memfd", object_memfd },
		{ "mounts", object_mount }, { "mq", object_queue }, { "msg", object_msg }, { "ofd_locks", object_ofd_lock },
		{ "pagetables", object_pagetable }, { "pipes", object_pipe }, { "policies", object_policy }, { "ptys", object_pty },
		{ "rulesets", object_ruleset }, { "scm", object_scm }, { "sem", object_sem }, { "shm", object_shm }, { "signals", object_signal },
		{ "socketpairs", object_socketpair }, { "threads", object_thread }, { "timers", object_timer }, { "unix_data", object_unix_data },
		{ "vmas", object_vma }, { "xattrs", object_xattr },
	};
	long n = argc > 1 ? atol(argv[1]) : 100000, i;
	int (*make)(long) = NULL;

	for (size_t k = 0; argc > 0 && k < sizeof(kinds) / sizeof(kinds[0]); k++)
		if (strcmp(kinds[k].kind, argv[0]) == 0)
			make = kinds[k].make;
	if (!make)
		return BROKEN;
	raise_nofile();
	errno = 0;
	for (i = 0; i < n && make(i) >= 0; i++)
		;
	say("objects %ld %s", i, err_name(errno));
	if (argc > 2)
		return forever();	/* holds what it has */
	usleep(150000);			/* long enough to be seen */
	return i < n ? DENIED : REACHED;
}

static int p_argv_storm(int argc, char **argv)
{
	long n = argc > 0 ? atol(argv[0]) : 100;
	static char big[120 * 1024];
	static char *args[64];

	(void)argv;
	memset(big, 'A', sizeof(big) - 1);
	for (size_t i = 0; i < 48; i++)
		args[i] = i == 0 ? "probe" : i == 1 ? "true" : big;
	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			execv("/proc/self/exe", args);
			_exit(1);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	return 0;
}

static int p_true(int argc, char **argv)
{
	(void)argc, (void)argv;
	return 0;
}

static int p_mlock(int argc, char **argv)
{
	int verdict = DENIED;
	size_t big = 256UL << 20;
	void *m = mmap(NULL, big, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)argc, (void)argv;
	must_fail(&verdict, "mlock", mlock(m, big));
	must_fail(&verdict, "mlockall", mlockall(MCL_CURRENT | MCL_FUTURE));
	must_fail(&verdict, "shm hugetlb", shmget(IPC_PRIVATE, 2 << 20, IPC_CREAT | SHM_HUGETLB | 0600));
	void *h = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	must_fail(&verdict, "mmap hugetlb", h == MAP_FAILED ? -1 : 0);
	return verdict;
}

/* flood stdout|stderr|both MIB [small]: ends when a write fails or the amount is out. */
static int p_flood(int argc, char **argv)
{
	static char block[65536];
	long mib = argc > 1 ? atol(argv[1]) : 16;
	size_t step = argc > 2 ? 1 : sizeof(block);
	int a = argc > 0 && strcmp(argv[0], "stderr") == 0 ? 2 : 1;
	int b = argc > 0 && strcmp(argv[0], "both") == 0 ? 2 : a;

	memset(block, 'y', sizeof(block));
	for (long i = 0; i < (mib << 20) / (long)step; i++)
		if (write(a, block, step) < 0 || (b != a && write(b, block, step) < 0))
			return 3;
	return 0;
}

static int p_stdout_tricks(int argc, char **argv)
{
	int p[2];
	char path[] = "/proc/self/fd/1", buf[4096];

	(void)argc, (void)argv;
	fcntl(1, F_SETFL, O_NONBLOCK);
	fcntl(1, F_SETPIPE_SZ, 4096);
	if (pipe(p) < 0 || write(p[1], "spliced\n", 8) != 8)
		return broken("pipe");
	(void)!splice(p[0], NULL, 1, NULL, 8, SPLICE_F_NONBLOCK);
	(void)!write(1, "will be drained by the guest itself\n", 36);

	int r = open(path, O_RDONLY | O_NONBLOCK);

	if (r >= 0)
		(void)!read(r, buf, sizeof(buf));
	(void)!write(2, "stderr intact\n", 14);
	usleep(300000);
	return 7;
}

static int p_sync_storm(int argc, char **argv)
{
	long ms = argc > 0 ? atol(argv[0]) : 500, until = now_us() + ms * 1000, n = 0;
	int fd = open("/workspace/s", O_CREAT | O_RDWR | O_SYNC, 0600);

	(void)argv;
	while (now_us() < until) {
		sync();
		if (syscall(SYS_syncfs, fd) < 0)
			return broken("syncfs");
		(void)!write(fd, "x", 1);
		fsync(fd);
		fdatasync(fd);
		n++;
	}
	say("rounds %ld", n);
	return 0;
}

static int p_noise(int argc, char **argv)
{
	long ms = argc > 0 ? atol(argv[0]) : 500, until = now_us() + ms * 1000;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct itimerspec it = { { 0, 1 }, { 0, 1 } };
	char *m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)argv;
	timerfd_settime(fd, 0, &it, NULL);
	while (now_us() < until) {
		uint64_t v;

		syscall(SYS_membarrier, 1, 0, 0);
		mprotect(m, 1 << 20, PROT_READ);
		mprotect(m, 1 << 20, PROT_READ | PROT_WRITE);
		m[0]++;
		sched_yield();
		(void)!read(fd, &v, sizeof(v));
	}
	return 0;
}

static int p_thrash(int argc, char **argv)
{
	long ms = argc > 0 ? atol(argv[0]) : 500, until = now_us() + ms * 1000;
	static char buf[1 << 20];

	(void)argv;
	while (now_us() < until) {
		DIR *d = opendir("/usr/bin");
		struct dirent *e;

		while (d && (e = readdir(d)) && now_us() < until) {
			char path[512];

			snprintf(path, sizeof(path), "/usr/bin/%s", e->d_name);
			int fd = open(path, O_RDONLY);

			if (fd < 0)
				continue;
			posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
			while (read(fd, buf, sizeof(buf)) > 0 && now_us() < until)
				;
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
			close(fd);
		}
		if (d)
			closedir(d);
	}
	return 0;
}

static int p_mmaps(int argc, char **argv)
{
	long files = argc > 0 ? atol(argv[0]) : 20000, maps = argc > 1 ? atol(argv[1]) : 10000, i;

	for (i = 0; i < files; i++) {
		char name[32];

		snprintf(name, sizeof(name), "/tmp/t%ld", i);
		int fd = open(name, O_CREAT | O_WRONLY, 0600);

		if (fd < 0)
			break;
		close(fd);
	}
	for (long k = 0; k < maps; k++)
		mmap(NULL, 4096, k & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("files %ld", i);
	return 0;
}

/* cgroups: there must be no way to see or to mount one. */
static int p_cgroups(int argc, char **argv)
{
	static const char *const types[] = { "cgroup", "cgroup2" };
	int verdict = DENIED;
	FILE *f = fopen("/proc/self/mounts", "r");
	char line[4096];

	(void)argc, (void)argv;
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " cgroup"))
			verdict = REACHED;
	if (f)
		fclose(f);
	must_fail(&verdict, "/sys/fs/cgroup", open("/sys/fs/cgroup", O_RDONLY));
	mkdir("/tmp/cg", 0700);
	for (size_t i = 0; i < LEN(types); i++)
		must_fail(&verdict, types[i], mount("cg", "/tmp/cg", types[i], 0, i ? NULL : "memory"));
	return verdict;
}

/* ---- the witness ---------------------------------------------------------------------------- */

static int loopback_once(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0), d;
	char b = 'w';
	int ok = s >= 0 && c >= 0 && bind(s, (void *)&a, sizeof(a)) == 0 && listen(s, 1) == 0 &&
		 getsockname(s, (void *)&a, &n) == 0 && connect(c, (void *)&a, n) == 0 &&
		 (d = accept(s, NULL, NULL)) >= 0 && write(c, &b, 1) == 1 && read(d, &b, 1) == 1;

	if (ok)
		close(d);
	close(s);
	close(c);
	return ok;
}

/* One round of the things that every program does; false when any of them is refused. */
static int witness_round(void)
{
	int p[2], st, in = inotify_init(), ep = epoll_create1(0);
	char b = 'w';
	int fd = open("/tmp/witness", O_CREAT | O_RDWR, 0600);
	int ok = in >= 0 && ep >= 0 && fd >= 0 && inotify_add_watch(in, "/tmp", IN_CREATE) >= 0 && pipe(p) == 0;

	if (!ok)
		return 0;
	struct epoll_event ev = { .events = EPOLLIN };

	ok = epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev) == 0 && write(p[1], &b, 1) == 1 &&
	     epoll_wait(ep, &ev, 1, 1000) == 1;

	pid_t pid = fork();

	if (pid == 0)
		_exit(5);
	ok = ok && pid > 0 && waitpid(pid, &st, 0) == pid && WIFEXITED(st) && WEXITSTATUS(st) == 5;

	char *m = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ok = ok && m != MAP_FAILED;
	if (m != MAP_FAILED) {
		memset(m, 'w', 4 << 20);
		munmap(m, 4 << 20);
	}
	ok = ok && loopback_once();
	close(p[0]);
	close(p[1]);
	close(in);
	close(ep);
	close(fd);
	unlink("/tmp/witness");
	return ok;
}

/* witness MAX_MS: rounds until stdin ends; prints one latency per round, "bad" for a refused one. */
static int p_witness(int argc, char **argv)
{
	long until = now_us() + (argc > 0 ? atol(argv[0]) : 10000) * 1000;
	struct pollfd in = { 0, POLLIN | POLLHUP, 0 };

	(void)argv;
	while (now_us() < until) {
		long t = now_us();
		int ok = witness_round();
		char c;

		printf("%s %ld\n", ok ? "us" : "bad", now_us() - t);
		if (poll(&in, 1, 2) > 0 && read(0, &c, 1) <= 0)
			break;
	}
	fflush(stdout);
	return 0;
}

/* ---- two jars ------------------------------------------------------------------------------- */

/* lock_base hold|try PATH: a lock on a file both jars see must stay in its jar. */
static int p_lock_base(int argc, char **argv)
{
	if (argc < 2)
		return BROKEN;

	int fd = open(argv[1], O_RDONLY);
	struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int hold = strcmp(argv[0], "hold") == 0;

	if (fd < 0)
		return broken("open");
	if (hold) {
		if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fcntl(fd, F_SETLK, &l) < 0)
			return broken("lock");
		for (;;)
			pause();
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return REACHED;
	l.l_type = F_WRLCK;
	if (fcntl(fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK)
		return REACHED;
	return DENIED;
}

/* inotify PATH MS: an event within that time is the other jar's doing. */
static int p_inotify(int argc, char **argv)
{
	int fd = inotify_init();
	struct pollfd p = { fd, POLLIN, 0 };

	if (argc < 2 || fd < 0 || inotify_add_watch(fd, argv[0], IN_ALL_EVENTS) < 0)
		return broken("inotify");
	if (poll(&p, 1, atoi(argv[1])) == 1)
		return REACHED;
	return DENIED;
}

static void put_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, "mine", 4) != 4)
		exit(broken(path));
	close(fd);
}

/* swap file|folder TARGET PAUSE_US: an artifact, or its folder, that turns into a link to TARGET and back for ever. The process
 * that does it is left behind when this one ends, at another moment of the game each time. */
static int p_swap(int argc, char **argv)
{
	int file = argc > 0 && strcmp(argv[0], "file") == 0;

	if (argc != 3 || mkdir("out", 0755) < 0)
		return broken("swap");
	put_file("out/data");
	if (fork() == 0) {
		setsid();
		for (;;) {
			if (file) {
				(void)!symlink(argv[1], "t");
				rename("t", "out/data");
				put_file("u");
				rename("u", "out/data");
			} else {
				rename("out", "o2");
				(void)!symlink(argv[1], "out");
				unlink("out");
				rename("o2", "out");
			}
		}
	}
	usleep((useconds_t)atoi(argv[2]));
	return 0;
}

/* write PATH TEXT: pairs; leaves marks for others to look for. stays when the last is "stay". */
static int p_write(int argc, char **argv)
{
	for (int i = 0; i + 1 < argc; i += 2) {
		int fd = open(argv[i], O_CREAT | O_WRONLY, 0666);

		say("write %s %s", argv[i], fd < 0 ? err_name(errno) : "OK");
		if (fd >= 0) {
			(void)!write(fd, argv[i + 1], strlen(argv[i + 1]));
			close(fd);
		}
	}
	if (argc & 1)
		return forever();
	return 0;
}

static int p_write_all_sys(int argc, char **argv)
{
	(void)argc, (void)argv;
	struct stat st;

	if (stat("/proc/sys", &st) < 0) {
		say("/proc/sys %s", err_name(errno));
		return errno == ENOENT || errno == EACCES ? DENIED : BROKEN;
	}
	return REACHED;
}

static int p_list(int argc, char **argv);

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} probes[] = {
	{ "argv_storm", p_argv_storm }, { "attack_init", p_attack_init }, { "block", p_block },
	{ "cat", p_cat }, { "cgroups", p_cgroups }, { "clone_parent", p_clone_parent },
	{ "connect", p_connect }, { "connect_unix", p_connect_unix }, { "core_limit", p_core_limit }, { "cpu_features", p_cpu_features },
	{ "crash", p_crash }, { "creds", p_creds }, { "cwd", p_cwd }, { "daemonize", p_daemonize },
	{ "deep", p_deep }, { "dotdot", p_dotdot }, { "exchange", p_exchange }, { "exec", p_exec },
	{ "exec_fd", p_exec_fd }, { "fallocate", p_fallocate }, { "families", p_families }, { "fcntl", p_fcntl },
	{ "fds", p_fds }, { "filecap", p_filecap }, { "fill", p_fill }, { "flood", p_flood }, { "forks", p_forks },
	{ "groups", p_groups }, { "hardlink", p_hardlink }, { "high", p_high }, { "ids", p_ids },
	{ "ifaces", p_ifaces }, { "inherited", p_inherited }, { "inotify", p_inotify }, { "int80", p_int80 },
	{ "ioctl_storm", p_ioctl_storm }, { "keyring", p_keyring }, { "kill_all", p_kill_all },
	{ "kill_group", p_kill_group }, { "links", p_links }, { "list", p_list }, { "listen", p_listen },
	{ "listmount", p_listmount }, { "lock_base", p_lock_base }, { "many", p_many }, { "maps", p_maps },
	{ "mem", p_mem }, { "merge", p_merge }, { "mknod", p_mknod }, { "mlock", p_mlock }, { "mmaps", p_mmaps },
	{ "netlink", p_netlink }, { "newns", p_newns }, { "noise", p_noise }, { "objects", p_objects },
	{ "oom_adj", p_oom_adj }, { "open", p_open }, { "personality", p_personality }, { "procs", p_procs },
	{ "ptrace_init", p_ptrace_init }, { "reconfigure", p_reconfigure }, { "regain", p_regain },
	{ "remount", p_remount }, { "rlimits", p_rlimits }, { "ro_write", p_ro_write }, { "run_copy", p_run_copy },
	{ "sched", p_sched }, { "script", p_script }, { "seccomp2", p_seccomp2 }, { "short_procs", p_short_procs },
	{ "socket", p_socket }, { "sparse", p_sparse }, { "spin", p_spin }, { "spoof", p_spoof },
	{ "stdio_sockets", p_stdio_sockets }, { "stdout_tricks", p_stdout_tricks }, { "stop_self", p_stop_self },
	{ "storm", p_storm }, { "stubborn", p_stubborn }, { "swap", p_swap }, { "sync_storm", p_sync_storm }, { "sys", p_sys },
	{ "sys_writes", p_write_all_sys }, { "syskill", p_syskill }, { "sysv", p_sysv }, { "sysv_make", p_sysv_make },
	{ "thrash", p_thrash }, { "threads", p_threads }, { "true", p_true }, { "tty", p_tty },
	{ "umount_all", p_umount_all }, { "unknown", p_unknown }, { "userns_mount", p_userns_mount },
	{ "wait", p_wait }, { "weaken", p_weaken }, { "witness", p_witness }, { "write", p_write },
	{ "write_base", p_write_base }, { "zombies", p_zombies },
};

static int p_list(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (size_t i = 0; i < LEN(probes); i++)
		say("%s", probes[i].name);
	return 0;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < LEN(probes); i++)
		if (strcmp(argv[1], probes[i].name) == 0)
			return probes[i].run(argc - 2, argv + 2);
	fprintf(stderr, "usage: probe NAME [ARGS]; `probe list` names them\n");
	return BROKEN;
}
