/* SPDX-License-Identifier: Apache-2.0 */
/* The shelf: a maker of many warm jars. */
#include "jar/shelf.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/hook.h"
#include "jar/maker.h"
#include "jar/root.h"
#include "jar/seat.h"
#include "kernel/caps.h"
#include "kernel/idmap.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/net.h"
#include "kernel/sys.h"

#define GUEST_UID  1000
#define FDS_MAX	   16

struct shelf_slot {
	bool there;
	int spaces[SLOT_SPACES];
	int template; /* the mount namespace that its jars' are copies of */
	int tasks[CGROUP_CTLS], v2;
	unsigned task_count;
};

struct shelf {
	int sock;
	struct shelf_slot slots[SHELF_SLOTS + 1];
};

/* ---- roots ---- */

/* The kernel lets a user namespace mount proc only where it sees one. The shelf itself stays in its copy of the host's tree, which has one: inits
 * make theirs there. */
const struct step shelf_steps[] = {
	{ "maker-ids", NULL, maker_ids },
	{ "maker-keyring", "keyring", maker_keyring },
	{ "maker-private", NULL, maker_private },
};
const size_t shelf_step_count = sizeof(shelf_steps) / sizeof(shelf_steps[0]);

/*
 * In a child with a mount namespace of its own: becomes a template, with file systems of its own, since whoever shares an overlay shares its locks
 * and watches (MT-05, MT-06). `proc`: with the host's /proc for as long as it is needed.
 */
static int become_template(bool proc, int devices, uint32_t *missing, struct err *e)
{
	const char *where;
	auto_close int root = step_point("slot-root", e) < 0 ? -1 : root_build(devices, &where, missing, e);

	if (root < 0 || root_grading(root, e) < 0 || root_users(root, GUEST_UID, false, e) < 0)
		return -1;
	if (proc) {
		auto_close int mnt = mount_copy(AT_FDCWD, "/proc", true, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, e);

		if (mnt < 0 || mount_attach(mnt, root, "proc", e) < 0)
			return -1;
	}
	if (!hook_disabled("readonly") && mount_restrict(root, MOUNT_ATTR_RDONLY, false, e) < 0)
		return -1;
	return mount_pivot(root, e);
}

/* ---- births ---- */

/* As fork, but the child is the keeper's. The keeper reaps it. */
static pid_t bear(uint64_t flags)
{
	struct sys_clone_args a = { .flags = flags | CLONE_PARENT };

	return (pid_t)syscall(SYS_clone3, &a, sizeof(a));
}

static void say_error(int chan, const struct err *e)
{
	struct jar_report r = { .type = REPORT_ERROR, .err = *e };

	fd_send(chan, &r, sizeof(r), NULL, 0);
}

/* ---- a slot ---- */

static void clear_slot(struct shelf_slot *t)
{
	if (!t->there)
		return;
	for (int i = 0; i < SLOT_SPACES; i++)
		fd_close(&t->spaces[i]);
	for (unsigned i = 0; i < t->task_count; i++)
		fd_close(&t->tasks[i]);
	fd_close(&t->v2);
	fd_close(&t->template);
	t->there = false;
}

struct slot_birth {
	struct shelf_slot *t;
	int chan;	   /* to the shelf */
	int devices;	   /* the mount for /dev, or -1 */
	uint32_t inotify, missing;
	int spaces[SLOT_SPACES + 1]; /* the last: the template */
};

/* A slot's own share of what the kernel counts per user: all slots of a shelf have one creator (RE-21). And no user namespace below (KS-07). */
static int limit_users(const struct slot_birth *b, int sys, struct err *e)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", b->inotify);
	if (!hook_disabled("max_userns") && fd_write_file(sys, "max_user_namespaces", "0") < 0)
		return err_sys(e, "forbid nested namespaces");
	if (fd_write_file(sys, "max_inotify_instances", text) < 0 && errno != ENOENT)
		return err_sys(e, "limit inotify instances");
	if (fd_write_file(sys, "max_inotify_watches", "8192") < 0 && errno != ENOENT)
		return err_sys(e, "limit inotify watches");
	return 0;
}

/* In a child with fresh network and uts namespaces of U1's: fills b->spaces. */
static int slot_birth(struct slot_birth *b, struct err *e)
{
	static const char *const names[SLOT_SPACES] = { "net", "uts", "cgroup", "user" };
	auto_close int dir = open("/proc/self/ns", O_PATH | O_DIRECTORY | O_CLOEXEC), sys = open("/proc/sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char byte = 0;

	b->spaces[SLOT_SPACES] = openat(dir, "mnt", O_RDONLY | O_CLOEXEC);
	if (b->spaces[SLOT_SPACES] < 0)
		return err_sys(e, "open the slot's mount namespace");
	if (!hook_disabled("netns") && !net_limit_tcp()) /* while there is a /proc */
		b->missing |= JAR_MISSING_SOCKETS;
	if (become_template(false, b->devices, &b->missing, e) < 0)
		return -1;

	if (!hook_disabled("netns") && net_loopback_up(e) < 0)
		return -1;
	if (sethostname("jar", 3) < 0)
		return err_sys(e, "set the host name");
	/* From inside the slot's cgroups, so that /proc/self/cgroup shows "/". They are open for the zygotes' user: being able to become it is enough. */
	if (setresuid((uid_t)-1, (uid_t)-1, SHELF_ZYGOTE_ID) < 0)
		return err_sys(e, "take the zygote's id");
	if (cgroup_enter_v1(b->t->tasks, b->t->task_count, e) < 0)
		return -1;
	if (unshare(CLONE_NEWCGROUP) < 0)
		return err_sys(e, "make a cgroup namespace");
	for (int i = 0; i < SLOT_SPACES; i++) {
		if (i == SLOT_USER) {
			if (unshare(CLONE_NEWUSER) < 0)
				return err_sys(e, "make the guest's user namespace");
			if (write(b->chan, &byte, 1) != 1 || fd_read_all(b->chan, &byte, 1) != 0)
				return err_set(e, ERR_SETUP, "the maker gave the slot up");
			if (limit_users(b, sys, e) < 0)
				return -1;
		}
		b->spaces[i] = openat(dir, names[i], O_RDONLY | O_CLOEXEC);
		if (b->spaces[i] < 0)
			return err_sys(e, "open the slot's %s namespace", names[i]);
	}
	return 0;
}

static _Noreturn void slot_main(struct slot_birth *b)
{
	struct jar_report r = { .type = REPORT_READY };

	if (slot_birth(b, &r.err) < 0)
		r.type = REPORT_ERROR;
	else
		r.err.sys = (int)b->missing;
	fd_send(b->chan, &r, sizeof(r), b->spaces, r.type == REPORT_READY ? SLOT_SPACES + 1 : 0);
	_exit(0);
}

static int make_slot(struct shelf *s, unsigned number, const struct shelf_msg *msg, int devices, uint32_t *missing, struct err *e)
{
	struct shelf_slot *t = &s->slots[number];
	struct slot_birth b = { .t = t, .devices = devices, .inotify = msg->inotify };
	struct jar j;
	struct jar_report r = { 0 };
	char map[96], byte = 0;
	int chan[2], got[SLOT_SPACES + 1], rc = -1, status = 0;
	unsigned n = 0;
	pid_t pid;

	if (step_point("slot-clone", e) < 0)
		return -1;
	forker_jar(&j, number);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, chan) < 0)
		return err_sys(e, "make a channel");
	pid = sys_clone_into(CLONE_NEWNS | CLONE_NEWUTS | (hook_disabled("netns") ? 0 : CLONE_NEWNET), NULL, t->v2);
	if (pid == 0) {
		close(chan[0]);
		b.chan = chan[1];
		slot_main(&b);
	}
	close(chan[1]);
	snprintf(map, sizeof(map), "%u %u 1\n%u %u 1\n", j.spec.uid, j.ids.guest, jar_init_uid(j.spec.uid), j.ids.init);
	if (pid < 0) {
		err_sys(e, "start the slot's first process");
	} else if (fd_recv(chan[0], &r, sizeof(r), got, SLOT_SPACES + 1, &n) == 1 && step_point("jar-maps", e) == 0 &&
		   idmap_write(pid, map, map, false, e) == 0 && write(chan[0], &byte, 1) == 1) {
		if (fd_recv(chan[0], &r, sizeof(r), got, SLOT_SPACES + 1, &n) == (ssize_t)sizeof(r) && r.type == REPORT_READY &&
		    n == SLOT_SPACES + 1) {
			memcpy(t->spaces, got, sizeof(t->spaces));
			t->template = got[SLOT_SPACES];
			*missing = (uint32_t)r.err.sys;
			rc = 0;
		} else if (r.type == REPORT_ERROR)
			*e = r.err;
	} else if (r.type == REPORT_ERROR) {
		*e = r.err;
	}
	close(chan[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc < 0 && !e->kind)
		err_set(e, ERR_SETUP, "the slot's first process ended early (%s %d)", WIFSIGNALED(status) ? "signal" : "status",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return rc;
}

static void on_slot(struct shelf *s, const struct shelf_msg *msg, int *fds)
{
	struct shelf_slot *t = &s->slots[msg->slot];
	struct jar_report r = { .type = REPORT_READY };
	uint32_t missing = 0;

	clear_slot(t);
	t->template = -1;
	t->there = true;
	t->task_count = msg->tasks;
	for (unsigned i = 0; i < msg->tasks; i++)
		t->tasks[i] = take_fd(&fds[1 + i]);
	t->v2 = msg->v2 ? take_fd(&fds[1 + msg->tasks]) : -1;
	for (int i = 0; i < SLOT_SPACES; i++)
		t->spaces[i] = -1;
	if (make_slot(s, msg->slot, msg, msg->devices ? fds[1 + msg->tasks + !!msg->v2] : -1, &missing, &r.err) < 0) {
		say_error(fds[0], &r.err);
		clear_slot(t);
		return;
	}
	r.at_ns = missing;
	fd_send(fds[0], &r, REPORT_SHORT, t->spaces, SLOT_SPACES);
}

/* ---- jars and guests ---- */

static void on_jar(struct shelf *s, const struct shelf_msg *msg, int *fds)
{
	struct shelf_slot *t = &s->slots[msg->slot];
	uint64_t flags = CLONE_NEWPID | (hook_disabled("ipcns") ? 0 : CLONE_NEWIPC);
	struct warm_birth birth = { t->spaces, t->template, msg->recycle, fds[0] };
	struct err e = { 0 };
	struct jar j;
	pid_t pid;

	forker_jar(&j, msg->slot);
	j.spec.disk_bytes = msg->disk_bytes;
	if (step_point("jar-clone", &e) < 0) {
		say_error(fds[0], &e);
		return;
	}
	pid = bear(flags);
	if (pid == 0)
		init_warm_main(&j, &birth);
	if (pid < 0) {
		err_sys(&e, "start the jar's init");
		say_error(fds[0], &e);
	}
}

/* In a child: a slow reader must not keep other jars from being made. */
static void on_export(struct shelf *s, const struct shelf_msg *msg, int *fds)
{
	struct jar_report r = { .type = REPORT_READY };
	pid_t pid = bear(0);

	(void)s;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (export_write(fds[1], &msg->export, fds[2], &r.err) < 0)
			r.type = REPORT_ERROR;
		close(fds[2]);
		fd_send(fds[0], &r, sizeof(r), NULL, 0);
		_exit(0);
	}
	if (pid < 0) {
		err_sys(&r.err, "start the exporter");
		say_error(fds[0], &r.err);
	}
}

/* ---- a zygote ---- */

#define ZYGOTE_LIB  "/run/belljar-zygote.so"
#define ZYGOTE_SOCK 3

/* Python's library, in a file system of its own that only it sees. */
static int zygote_library(int lib, struct err *e)
{
	static const struct mount_opt opts[] = { { "size", "4m" }, { "mode", "755" }, { NULL, NULL } };
	auto_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), out = -1;
	auto_close int mnt = mount_new("tmpfs", opts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);
	static char block[65536];
	off_t at = 0;
	ssize_t n;

	if (mnt < 0 || mount_attach(mnt, root, &ROOT_EMPTY[1], e) < 0)
		return -1;
	out = open(ZYGOTE_LIB, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
	/* All shelves have the same open file: its position is nobody's. */
	for (n = 0; out >= 0 && (n = pread(lib, block, sizeof(block), at)) > 0; at += n)
		if (fd_write_all(out, block, (size_t)n) < 0)
			return err_sys(e, "copy the zygote's library");
	if (out < 0 || n < 0)
		return err_sys(e, "copy the zygote's library");
	fd_close(&out);
	return mount_restrict(mnt, MOUNT_ATTR_RDONLY, false, e);
}

static int zygote_session(struct err *e)
{
	if (setsid() < 0)
		return err_sys(e, "start a session");
	return 0;
}

/* Pipes, as every guest has: an interpreter looks at them when it starts. Nobody is at the other end. */
static int zygote_streams(struct err *e)
{
	for (int i = 0; i < 3; i++) {
		int p[2];

		if (pipe2(p, O_CLOEXEC) < 0 || dup2(p[i > 0], i) < 0)
			return err_sys(e, "make a zygote's streams");
		close(p[0]);
		close(p[1]);
	}
	return 0;
}

/* It needs to enter jars and nothing else: no files of others, no other processes, no mounts (the filter). Ambient, since it is executed. */
static int zygote_rights(struct err *e)
{
	uint64_t keep = CAP_BIT(CAP_SYS_ADMIN) | CAP_BIT(CAP_SYS_CHROOT);

	if (setgroups(0, NULL) < 0 || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setresgid(SHELF_ZYGOTE_ID, SHELF_ZYGOTE_ID, SHELF_ZYGOTE_ID) < 0 ||
	    setresuid(SHELF_ZYGOTE_ID, SHELF_ZYGOTE_ID, SHELF_ZYGOTE_ID) < 0)
		return err_sys(e, "take the zygote's ids");
	if (caps_keep_ambient(keep, e) < 0 || caps_no_new_privs(e) < 0)
		return -1;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(e, "set the parent death signal");
	return 0;
}

/* The socket at a number that it knows; everything else goes. */
static int zygote_close(int sock, struct err *e)
{
	if (dup2(sock, ZYGOTE_SOCK) != ZYGOTE_SOCK || sys_close_range(ZYGOTE_SOCK + 1, ~0U, 0) < 0)
		return err_sys(e, "close a zygote's descriptors");
	return 0;
}

static int exec_python(const struct shelf_msg *msg, struct err *e)
{
	char *argv[] = { "/usr/bin/python3", "/workspace/main.py", NULL };
	static char modules[SHELF_MODULES + 32], seed[40];
	/* What run_environment() gives to every Python; the last ones are gone before Python sees them, the seed before a guest does. */
#define WORD(w) (w),
	char *envp[] = { ROOT_ENV(WORD) "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", seed, "LD_BIND_NOW=1", "LD_PRELOAD=" ZYGOTE_LIB, modules,
			 HOOK_ENV msg->seats ? "BELLJAR_SEATS=1" : msg->uncounted ? "BELLJAR_UNCOUNTED=1" : NULL, NULL };
#undef WORD

	snprintf(seed, sizeof(seed), "PYTHONHASHSEED=%u", msg->hash_seed);
	snprintf(modules, sizeof(modules), "BELLJAR_ZYGOTE=%.*s", SHELF_MODULES - 1, msg->modules);
	for (int i = 1; i < NSIG; i++)
		if (i != SIGKILL && i != SIGSTOP)
			signal(i, SIG_DFL);
	umask(022);
	execve(argv[0], argv, envp);
	return err_sys(e, "start %s", argv[0]);
}

static void exec_guest(struct jar *j, struct warm_guest *g)
{
	struct feed_plan plan;

	enter_warm(j, g, &plan); /* never returns: it executes */
}

static _Noreturn void zygote_main(const struct shelf_msg *msg, const int *fds)
{
	const struct forker plain = { .sock = ZYGOTE_SOCK, .guest = exec_guest, .uncounted = msg->uncounted };
	struct err e = { 0 };
	uint32_t missing = 0;

	prctl(PR_SET_NAME, "belljar-forker", 0, 0, 0);
	if (step_point("zygote-start", &e) < 0 || become_template(true, -1, &missing, &e) < 0 || (msg->python && zygote_library(fds[1], &e) < 0) || zygote_session(&e) < 0 ||
	    zygote_streams(&e) < 0 || zygote_rights(&e) < 0 || zygote_close(fds[0], &e) < 0) {
		say_error(fds[0], &e);
		_exit(1);
	}
	if (!msg->python)
		forker_serve(&plain);
	exec_python(msg, &e);
	say_error(ZYGOTE_SOCK, &e);
	_exit(1);
}

static void on_forker(struct shelf *s, const struct shelf_msg *msg, int *fds)
{
	struct err e = { 0 };
	/* In an empty network: there is nobody it could talk to. */
	pid_t pid = bear(CLONE_NEWNS | (hook_disabled("ipcns") ? 0 : CLONE_NEWIPC) | (hook_disabled("netns") ? 0 : CLONE_NEWNET));

	(void)s;
	if (pid == 0)
		zygote_main(msg, fds);
	if (pid < 0) {
		err_sys(&e, "start a zygote");
		say_error(fds[0], &e);
	}
}

/* In an empty network too, and with no descriptor but its socket. */
static void on_restorer(struct shelf *s, const struct shelf_msg *msg, int *fds)
{
	struct err e = { 0 };
	pid_t pid = bear(hook_disabled("netns") ? 0 : CLONE_NEWNET);

	(void)s, (void)msg;
	if (pid == 0) {
		if (zygote_close(fds[0], &e) < 0) {
			say_error(fds[0], &e);
			_exit(1);
		}
		restorer_main(ZYGOTE_SOCK);
	}
	if (pid < 0) {
		err_sys(&e, "start the restorer");
		say_error(fds[0], &e);
	}
}

/* ---- requests ---- */

static void on_clear(struct shelf *s, const struct shelf_msg *msg, int *fds)
{
	(void)fds;
	clear_slot(&s->slots[msg->slot]);
}

static const struct {
	unsigned min_fds, max_fds;
	bool slot; /* it must have been made */
	void (*run)(struct shelf *s, const struct shelf_msg *msg, int *fds);
} ops[SHELF_OPS] = {
	[SHELF_SLOT] = { 1, 1 + CGROUP_CTLS + 2, false, on_slot },
	[SHELF_CLEAR] = { 0, 0, false, on_clear },
	[SHELF_JAR] = { 1, 1, true, on_jar },
	[SHELF_EXPORT] = { 3, 3, false, on_export },
	[SHELF_FORKER] = { 1, 2, false, on_forker },
	[SHELF_RESTORER] = { 1, 1, false, on_restorer },
};

void shelf_main(int sock, int devices, const struct jar_ids *ids)
{
	static struct shelf s;
	static struct shelf_msg msg;
	struct jar_report r = { .type = REPORT_READY };

	s.sock = sock;
	(void)ids, (void)devices;
	signal(SIGPIPE, SIG_IGN);
	if (step_walk(shelf_steps, shelf_step_count, &s, &r.err) < 0)
		r.type = REPORT_ERROR;
	if (fd_send(sock, &r, sizeof(r), NULL, 0) < 0 || r.type == REPORT_ERROR)
		_exit(1);
	for (;;) {
		int fds[FDS_MAX];
		unsigned nfds;
		ssize_t n = fd_recv(sock, &msg, sizeof(msg), fds, FDS_MAX, &nfds);

		/* A keeper that is gone takes all its children along. */
		if (n != sizeof(msg) || msg.op == 0 || msg.op >= SHELF_OPS || msg.slot > SHELF_SLOTS || nfds < ops[msg.op].min_fds ||
		    nfds > ops[msg.op].max_fds || (msg.op == SHELF_FORKER && nfds != 1 + !!msg.python) ||
		    (msg.op == SHELF_SLOT && (msg.tasks > CGROUP_CTLS || nfds != 1 + msg.tasks + !!msg.v2 + !!msg.devices)) ||
		    (ops[msg.op].slot && !s.slots[msg.slot].there))
			_exit(0);
		ops[msg.op].run(&s, &msg, fds);
		for (unsigned i = 0; i < nfds; i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
}
