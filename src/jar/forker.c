/* SPDX-License-Identifier: Apache-2.0 */
/* A process that bears guests into warm jars. */
#include "jar/forker.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/hook.h"
#include "jar/seat.h"
#include "kernel/idmap.h"
#include "kernel/landlock.h"
#include "kernel/seccomp.h"
#include "kernel/sys.h"

#define FDS_MAX (SLOT_SPACES + CGROUP_CTLS + 1)

static struct forker_slot {
	bool there;
	int spaces[SLOT_SPACES], tasks[CGROUP_CTLS], v2;
	unsigned task_count;
} slots[FORKER_SLOTS + 1];

void forker_jar(struct jar *j, unsigned slot)
{
	memset(j, 0, sizeof(*j));
	j->spec.uid = 1000;
	snprintf(j->spec.hostname, sizeof(j->spec.hostname), "jar");
	j->ids = (struct jar_ids){ slot * IDMAP_SLOT_IDS + 1, slot * IDMAP_SLOT_IDS + 2, false, true };
	j->landlock_abi = landlock_abi();
	j->root = j->data = j->init_pidfd = j->control = j->init_report = j->gate[0] = j->gate[1] = -1;
}

static void clear_slot(struct forker_slot *t)
{
	if (!t->there)
		return;
	for (int i = 0; i < SLOT_SPACES; i++)
		fd_close(&t->spaces[i]);
	for (unsigned i = 0; i < t->task_count; i++)
		fd_close(&t->tasks[i]);
	fd_close(&t->v2);
	t->there = false;
}

static void take_slot(const struct forker_msg *msg, int *fds)
{
	struct forker_slot *t = &slots[msg->slot];

	clear_slot(t);
	for (int i = 0; i < SLOT_SPACES; i++)
		t->spaces[i] = take_fd(&fds[i]);
	t->task_count = msg->tasks;
	for (unsigned i = 0; i < msg->tasks; i++)
		t->tasks[i] = take_fd(&fds[SLOT_SPACES + i]);
	t->v2 = msg->v2 ? take_fd(&fds[SLOT_SPACES + msg->tasks]) : -1;
	t->there = true;
}

/* In the child: what it enters, and how it is told of. */
static _Noreturn void be_guest(const struct forker *f, const struct forker_slot *t, const struct forker_msg *msg, const int *fds)
{
	struct warm_guest g = { .report = fds[0], .recycled = msg->recycled };
	static struct jar j;

	memcpy(g.jar.own, fds + 1, sizeof(g.jar.own));
	memcpy(g.jar.slot, t->spaces, sizeof(g.jar.slot));
	forker_jar(&j, msg->slot);
	j.task_count = t->task_count;
	memcpy(j.tasks, t->tasks, sizeof(j.tasks));
	f->guest(&j, &g);
	_exit(1);
}

/* Into a pid namespace, -1: that which was entered before. `more` of CLONE_*; `cgroup` of v2, -1: its parent's. */
static long clone_guest(const struct forker *f, int space, uint64_t more, int cgroup, struct err *e)
{
	struct sys_clone_args a = { .flags = CLONE_PARENT | more };
	long pid = -1;

	if (f->tid) {
		a.flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
		a.child_tid = (uint64_t)(uintptr_t)f->tid;
	}
	if (cgroup >= 0) {
		a.flags |= CLONE_INTO_CGROUP;
		a.cgroup = (uint64_t)cgroup;
	}
	if (step_point("guest-clone", e) < 0)
		return -1;
	if (space < 0 || setns(space, CLONE_NEWPID) == 0)
		pid = syscall(SYS_clone3, &a, sizeof(a));
	if (pid < 0)
		err_sys(e, "start the guest's process");
	return pid;
}

static void say_failed(int report, const struct err *e)
{
	struct jar_report r = { .type = REPORT_ERROR, .err = *e };

	fd_send(report, &r, sizeof(r), NULL, 0);
}

static void bear(const struct forker *f, const struct forker_msg *msg, const int *fds)
{
	const struct forker_slot *t = &slots[msg->slot];
	struct err e = { 0 };
	long pid = clone_guest(f, fds[1 + OWN_PID], 0, t->v2, &e);

	if (pid == 0)
		be_guest(f, t, msg, fds);
	if (pid < 0)
		say_failed(fds[0], &e);
}

/* ---- a seat ---- */

enum { FIRST_SPACES = SEAT_SOCK + 1, FIRST_FDS = FIRST_SPACES + SLOT_SPACES }; /* what a seat has open before it has entered its jar */

static volatile struct seat_mail mail; /* somebody else writes to it */

/* What a seat is, and what its guests find there. */
static struct {
	char zygote_name[16]; /* as its guests are to be called */
	int places[ROOT_PLACES];
	struct jar jar;
	struct warm_guest guest;
} seat;

/* Of all that the zygote has open: the socket and the slot's namespaces, at numbers that do not change. */
static int seat_descriptors(const struct forker_slot *t, int sock, struct err *e)
{
	int keep[1 + SLOT_SPACES];

	keep[0] = fcntl(sock, F_DUPFD_CLOEXEC, 256);
	for (int i = 0; i < SLOT_SPACES; i++)
		keep[1 + i] = fcntl(t->spaces[i], F_DUPFD_CLOEXEC, 256);
	for (int i = 0; i < 1 + SLOT_SPACES; i++)
		if (keep[i] < 0 || dup3(keep[i], SEAT_SOCK + i, O_CLOEXEC) < 0)
			return err_sys(e, "keep a seat's descriptors");
	for (int i = 0; i < SLOT_SPACES; i++)
		seat.guest.jar.slot[i] = FIRST_SPACES + i;
	return sys_close_range(FIRST_FDS, ~0U, 0) < 0 ? err_sys(e, "close a seat's descriptors") : 0;
}

static int seat_prepare(const struct forker_slot *t, int *sock, struct err *e)
{
	sigset_t all;

	sigfillset(&all);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		return err_sys(e, "prepare a seat");
	if (step_point("seat-start", e) < 0 || cgroup_enter_v1(t->tasks, t->task_count, e) < 0 || seat_descriptors(t, *sock, e) < 0)
		return -1;
	*sock = SEAT_SOCK;
	prctl(PR_GET_NAME, seat.zygote_name, 0, 0, 0);
	prctl(PR_SET_NAME, "belljar-seat", 0, 0, 0);
	return 0;
}

static bool receive(struct forker_msg *msg, uint32_t op, int *fds, unsigned count)
{
	unsigned n = 0;

	return fd_recv(SEAT_SOCK, msg, sizeof(*msg), fds, count, &n) == sizeof(*msg) && msg->op == op && n == count && msg->slot <= FORKER_SLOTS;
}

/* From here on it has no rights that its guests have not. */
static int seat_settle(struct err *e)
{
	struct forker_msg msg;

	if (!receive(&msg, FORKER_SETTLE, seat.guest.jar.own, OWN_SPACES))
		_exit(0);
	forker_jar(&seat.jar, msg.slot);
	if (enter_seat(&seat.jar, &seat.guest, e) < 0)
		return -1;
	memset(&seat.guest.jar, -1, sizeof(seat.guest.jar));
	seat.guest.jar.own[OWN_QUEUES] = SEAT_QUEUES;
	for (int i = 0; i < ROOT_PLACES; i++)
		seat.places[i] = SEAT_PLACES + i;
	seat.guest.places = seat.places;
	return 0;
}

/* The child has our memory, and nothing else of ours. What it is to do it receives itself: we could not let go of it while it lives. */
static void bear_in_seat(const struct forker *f)
{
	struct forker_msg msg;
	struct err e = { 0 };
	int report;
	long pid;
	char byte;

	if (recv(SEAT_SOCK, &byte, 1, MSG_PEEK) != 1)
		_exit(0);
	pid = clone_guest(f, -1, CLONE_VM | CLONE_VFORK, -1, &e);
	/* Nobody has put our memory back. Only the restorer's absence could bring us here, and we die with it. */
	if (pid > 0)
		_exit(1);
	if (!receive(&msg, FORKER_ENTER, &report, 1))
		_exit(0);
	if (pid == 0) {
		prctl(PR_SET_NAME, seat.zygote_name, 0, 0, 0);
		seat.guest.report = report;
		seat.guest.recycled = msg.recycled;
		f->guest(&seat.jar, &seat.guest);
		_exit(1);
	}
	say_failed(report, &e);
	close(report);
}

/*
 * It stops once; what it has and where it is then is what the restorer gives it back after each guest. So everything below the stop happens once in each
 * life: what the last one left is cleared away, and the next guest is waited for.
 */
static _Noreturn void seat_main(const struct forker *f, const struct forker_slot *t, int sock)
{
	struct jar_report r = { .type = REPORT_WAITING, .at_ns = (uint64_t)(uintptr_t)&mail };
	volatile char *below;
	long end;

	if (seat_prepare(t, &sock, &r.err) < 0) {
		say_failed(sock, &r.err);
		_exit(1);
	}
	end = syscall(SYS_brk, 0);
	below = f->seat();
	/* Its pages are ours from the beginning: they are not among those that are given back. */
	for (size_t i = 0; i < sizeof(mail); i++)
		((volatile char *)&mail)[i] = 0;
	if (fd_send(SEAT_SOCK, &r, REPORT_SHORT, NULL, 0) < 0)
		_exit(0);
	if (seat_settle(&r.err) < 0) {
		say_failed(SEAT_SOCK, &r.err);
		_exit(1);
	}
	/* Only now is the stop waited for: others need the restorer too. */
	r.type = REPORT_READY;
	if (fd_send(SEAT_SOCK, &r, REPORT_SHORT, NULL, 0) < 0)
		_exit(0);
	kill(getpid(), SIGSTOP);
	/* What came after the last guest's birth was never reached. */
	if (syscall(SYS_brk, end) != end || sys_close_range(SEAT_FDS, ~0U, 0) < 0)
		_exit(1);
	for (uint32_t i = 0; i < mail.count; i++) {
		void *at = (void *)(uintptr_t)mail.errands[i].start;
		size_t len = mail.errands[i].end - mail.errands[i].start;

		if ((mail.errands[i].unmap ? munmap(at, len) : madvise(at, len, MADV_DONTNEED)) < 0)
			_exit(1);
	}
	/* What is in the stack's place must grow as it does. The kernel is to try: for us it would be a fault, and a stop that nobody waits for. */
	if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, below - 7, 8) < 0 || munmap((void *)((uintptr_t)below & ~4095UL), 4096) < 0)
		_exit(1);
	if (mail.stop)
		kill(getpid(), SIGSTOP);
	for (;;)
		bear_in_seat(f);
}

static void bear_seat(const struct forker *f, const struct forker_msg *msg, int sock)
{
	const struct forker_slot *t = &slots[msg->slot];
	struct sys_clone_args a = { .flags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID, .child_tid = (uint64_t)(uintptr_t)f->tid };
	struct err e = { 0 };
	long pid;

	if (t->v2 >= 0) {
		a.flags |= CLONE_INTO_CGROUP;
		a.cgroup = (uint64_t)t->v2;
	}
	pid = syscall(SYS_clone3, &a, sizeof(a));
	if (pid == 0)
		seat_main(f, t, sock);
	if (pid < 0) {
		err_sys(&e, "start a seat");
		say_failed(sock, &e);
	}
}

/* ---- requests ---- */

void forker_serve(const struct forker *f)
{
	struct jar_report r = { .type = REPORT_READY, .at_ns = f->seat && f->tid };
	int listener = -1;

	/* The /proc that the shelf has shows the host's processes: it was good for the start. */
	if (sys_umount2("/proc", MNT_DETACH) < 0)
		err_sys(&r.err, "detach /proc");
	else
		listener = hook_disabled("seccomp") ? eventfd(0, EFD_CLOEXEC) : f->seat ? seccomp_load_seat(&r.err) : seccomp_load_zygote(f->uncounted, &r.err);
	if (listener < 0) {
		r.type = REPORT_ERROR;
		fd_send(f->sock, &r, sizeof(r), NULL, 0);
		_exit(1);
	}
	if (fd_send(f->sock, &r, REPORT_SHORT, &listener, 1) < 0)
		_exit(1);
	close(listener);
	for (;;) {
		struct forker_msg msg;
		int fds[FDS_MAX];
		unsigned n;
		ssize_t got = fd_recv(f->sock, &msg, sizeof(msg), fds, FDS_MAX, &n);

		if (got != sizeof(msg) || msg.slot > FORKER_SLOTS || msg.tasks > CGROUP_CTLS)
			_exit(0);
		if (msg.op == FORKER_SLOT && n == SLOT_SPACES + msg.tasks + !!msg.v2)
			take_slot(&msg, fds);
		else if (msg.op == FORKER_CLEAR && n == 0)
			clear_slot(&slots[msg.slot]);
		else if (msg.op == FORKER_FORK && n == 1 + OWN_SPACES && slots[msg.slot].there)
			bear(f, &msg, fds);
		else if (msg.op == FORKER_SEAT && n == 1 && slots[msg.slot].there && f->seat && f->tid)
			bear_seat(f, &msg, fds[0]);
		else
			_exit(1);
		for (unsigned i = 0; i < n; i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
}
