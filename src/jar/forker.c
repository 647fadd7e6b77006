/* SPDX-License-Identifier: Apache-2.0 */
/* A process that bears guests into warm jars. */
#include "jar/forker.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/fd.h"
#include "base/hook.h"
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

static void bear(const struct forker *f, const struct forker_msg *msg, const int *fds)
{
	const struct forker_slot *t = &slots[msg->slot];
	struct sys_clone_args a = { .flags = CLONE_PARENT };
	struct warm_guest g = { .report = fds[0], .recycled = msg->recycled };
	static struct jar j;
	struct jar_report r = { .type = REPORT_ERROR };
	long pid = -1;

	if (f->tid) {
		a.flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
		a.child_tid = (uint64_t)(uintptr_t)f->tid;
	}
	if (t->v2 >= 0) {
		a.flags |= CLONE_INTO_CGROUP;
		a.cgroup = (uint64_t)t->v2;
	}
	memcpy(g.jar.own, fds + 1, sizeof(g.jar.own));
	memcpy(g.jar.slot, t->spaces, sizeof(g.jar.slot));
	forker_jar(&j, msg->slot);
	j.task_count = t->task_count;
	memcpy(j.tasks, t->tasks, sizeof(j.tasks));
	if (step_point("guest-clone", &r.err) == 0) {
		if (setns(g.jar.own[OWN_PID], CLONE_NEWPID) == 0)
			pid = syscall(SYS_clone3, &a, sizeof(a));
		if (pid == 0)
			f->guest(&j, &g);
		if (pid < 0)
			err_sys(&r.err, "start the guest's process");
	}
	if (pid < 0)
		fd_send(fds[0], &r, sizeof(r), NULL, 0);
}

void forker_serve(const struct forker *f)
{
	struct jar_report r = { .type = REPORT_READY };
	int listener = -1;

	/* The /proc that the shelf has shows the host's processes: it was good for the start. */
	if (sys_umount2("/proc", MNT_DETACH) < 0)
		err_sys(&r.err, "detach /proc");
	else
		listener = hook_disabled("seccomp") ? eventfd(0, EFD_CLOEXEC) : seccomp_load_zygote(&r.err);
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
		else
			_exit(1);
		for (unsigned i = 0; i < n; i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
}
