/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces made ahead: an empty network and a user namespace, by a helper beside the caller's other work. */
#include "kernel/space.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/net.h"
#include "kernel/sys.h"

#define STACK_BYTES 16384

/* On the caller's memory, while the caller goes on: writes nothing but *s (and errno, which is the caller's too, on a failure only). */
static int helper(void *p)
{
	struct space_ahead *s = p;
	char byte = 0;

	if (unshare(CLONE_NEWNET) < 0)
		s->what = "make a network namespace";
	else if (s->tcp_limited = net_limit_tcp(), net_loopback_up(NULL) < 0)
		s->what = "bring the loopback interface up";
	else if (unshare(CLONE_NEWUSER) < 0)
		s->what = "make the guest's user namespace";
	else if ((s->net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) < 0 ||
		 (s->user = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC)) < 0)
		s->what = "open the jar's namespaces";
	s->error = s->what ? errno : 0;
	/* Stays until the other end is closed: a zombie's maps are not the caller's to write any more. The descriptors are shared, so the caller's death
	 * would close nothing: it has to be a signal, which a change of ids would have cleared. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == s->parent && write(s->sock[1], &byte, 1) == 1)
		(void)!read(s->sock[1], &byte, 1);
	return 0;
}

/* The kernel puts it behind its parent as long as all CPUs are taken, and leaves it there when another one becomes free: half a millisecond later. */
static void run_elsewhere(pid_t pid)
{
	unsigned cpu;
	cpu_set_t set;

	if (syscall(SYS_getcpu, &cpu, NULL, NULL) < 0 || sched_getaffinity(0, sizeof(set), &set) < 0 || cpu >= CPU_SETSIZE || CPU_COUNT(&set) < 2)
		return;
	CPU_CLR(cpu, &set);
	sched_setaffinity(pid, sizeof(set), &set);
}

int space_begin(struct space_ahead *s, struct err *e)
{
	static char stack[STACK_BYTES] __attribute__((aligned(64)));

	memset(s, 0, sizeof(*s));
	s->net = s->user = -1;
	s->parent = getpid();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s->sock) < 0)
		return err_sys(e, "make a channel to the helper that makes namespaces");
	s->pid = clone(helper, stack + STACK_BYTES, CLONE_VM | CLONE_FILES | SIGCHLD, s);
	if (s->pid < 0) {
		s->pid = 0;
		return err_sys(e, "start the helper that makes namespaces");
	}
	run_elsewhere(s->pid);
	return 0;
}

int space_wait(struct space_ahead *s, struct err *e)
{
	char byte;

	/* The other end is ours too: its death would not close it. */
	if (s->pid) {
		auto_close int pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
		struct pollfd p[] = { { .fd = s->sock[0], .events = POLLIN }, { .fd = pidfd, .events = POLLIN } };

		while (poll(p, 2, -1) < 0 && errno == EINTR)
			;
		if (!(p[0].revents & POLLIN))
			return err_set(e, ERR_SETUP, "the jar's namespaces were not made: somebody has ended the helper");
	}
	if (!s->pid || fd_read_all(s->sock[0], &byte, 1) != 0)
		return err_set(e, ERR_SETUP, "the jar's namespaces were not made");
	if (!s->what)
		return 0;
	errno = s->error;
	err_sys(e, "%s", s->what);
	return err_hint(e, "namespaces are off or used up: sysctl user.max_user_namespaces, user.max_net_namespaces");
}

void space_release(struct space_ahead *s)
{
	if (s->pid)
		fd_close(&s->sock[0]);
}

void space_forget(struct space_ahead *s)
{
	if (s->pid) {
		fd_close(&s->sock[0]);
		fd_close(&s->sock[1]);
	}
	s->pid = 0;
}

void space_reap(struct space_ahead *s)
{
	if (!s->pid)
		return;
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	fd_close(&s->sock[1]);
	s->pid = 0;
}

/* pidfd(2const), from 6.11 on */
static unsigned long pidfd_get(const char *name)
{
	static const struct {
		const char *name;
		unsigned number;
	} calls[] = { { "cgroup", 1 }, { "ipc", 2 }, { "mnt", 3 }, { "net", 4 }, { "pid", 5 }, { "user", 9 }, { "uts", 10 } };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return _IO(0xFF, calls[i].number);
	return 0;
}

int space_own(const char *const *names, int count, int *out, struct err *e)
{
	auto_close int self = (int)syscall(SYS_pidfd_open, getpid(), 0), dir = -1;

	for (int i = 0; i < count; i++) {
		/* The kernel wants a third argument of 0, and would take whatever is there for one. */
		out[i] = self < 0 ? -1 : ioctl(self, (int)pidfd_get(names[i]), 0);
		if (out[i] >= 0)
			continue;
		if (dir < 0)
			dir = open("/proc/self/ns", O_PATH | O_DIRECTORY | O_CLOEXEC);
		out[i] = openat(dir, names[i], O_RDONLY | O_CLOEXEC);
		if (out[i] < 0)
			return err_sys(e, "open the jar's %s namespace", names[i]);
	}
	return 0;
}
