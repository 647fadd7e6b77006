/* SPDX-License-Identifier: Apache-2.0 */
/* The maker: root of the intermediate user namespace, unprivileged on the host. */
#include "jar/maker.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hook.h"
#include "jar/feed.h"
#include "jar/loader.h"
#include "jar/order.h"
#include "jar/programs.h"
#include "jar/root.h"
#include "jar/sockets.h"
#include "jar/starts.h"
#include "kernel/idmap.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/space.h"
#include "kernel/sys.h"

/*
 * A short program is over before anybody could do anything about what it says on its way: whoever is woken for it takes the CPU from it. So for a moment after
 * its birth only its end is looked for. What it said by then is read when that moment is over, or it is.
 */
#define QUIET_NS (3 * NS_PER_MS)

struct guest {
	pid_t pid;
	int pidfd, report, listener;
	uint64_t born_ns, exec_ns; /* when it says that it executes, held against our clock */
	bool exec, started; /* it said that it executes; it did */
	bool quiet;
	bool ended;
	uint32_t sockets, sockets_refused; /* as in jar_evidence */
};

struct maker {
	int sock;
	int devices; /* the mount for /dev, or -1 */
	struct jar jar;
	struct space_ahead ahead;
	int space_fds[SPACES]; /* the jar's namespaces, from init, for guests after the first */
	bool made;
	bool complete; /* init has its namespaces, or never needed to be given any */
	bool said_made;
	bool ready_used; /* init's own gate byte went to the first guest */
	struct guest guest;
	struct starts starts;
};

/* ---- prepared before any request is there ---- */

int maker_ids(void *p, struct err *e)
{
	(void)p;
	/* Root of U1: whatever host id the keeper mapped there. */
	if (getuid() != 0 || getgid() != 0)
		return err_set(e, ERR_SETUP, "the maker is not root of its namespace");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(e, "set the parent death signal");
	/* Changing ids made us undumpable, and our children's id maps root's to write: take that back. Nobody but the host's
	 * root can see us. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return err_sys(e, "become dumpable");
	prctl(PR_SET_NAME, "belljar-maker", 0, 0, 0);
	return 0;
}

/* A session keyring of its own, so that no guest's chain of keyrings leads to the caller's (KS-14). */
int maker_keyring(void *p, struct err *e)
{
	(void)p;
	/* Those of makers before us under the same id count until the kernel has taken their mounts apart: that passes. */
	for (int i = 0; i < 400; i++) {
		if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0 || errno == ENOSYS)
			return 0;
		if (errno != EDQUOT)
			break;
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	}
	return err_sys(e, "join a new session keyring");
}

/* Begun here, taken when the jar is made: by then the root is built. */
static int clone_init(struct maker *m, struct err *e);

/* Born before anybody asks: it brings the template into its own namespace and takes the host's tree away while the front reads its request. */
static int maker_init(void *p, struct err *e)
{
	struct maker *m = p;

	return m->jar.early ? clone_init(m, e) : 0;
}

static int maker_spaces(void *p, struct err *e)
{
	return space_begin(&((struct maker *)p)->ahead, e);
}

int maker_private(void *p, struct err *e)
{
	(void)p;
	return mount_private(e);
}

static int maker_root(void *p, struct err *e)
{
	struct maker *m = p;

	m->jar.root = root_build(m->devices, &m->jar.root_path, &m->jar.missing, e);
	return m->jar.root < 0 ? -1 : 0;
}

/* One maker, one jar: so it can be in the template. */
static int maker_devpts(void *p, struct err *e)
{
	return root_devpts(((struct maker *)p)->jar.root, e);
}

const struct step maker_steps[] = {
	{ "maker-ids", NULL, maker_ids },
	{ "maker-keyring", "keyring", maker_keyring },
	{ "maker-spaces", NULL, maker_spaces },
	{ "maker-private", NULL, maker_private },
	{ "maker-root", NULL, maker_root },
	{ "maker-devpts", NULL, maker_devpts },
	{ "maker-init", NULL, maker_init },
};
const size_t maker_step_count = sizeof(maker_steps) / sizeof(maker_steps[0]);

/* ---- talking to the keeper ---- */

size_t maker_msg_len(const struct maker_msg *msg)
{
	static const size_t parts[] = {
		[MAKER_START] = sizeof(msg->limits), [MAKER_EXPORT] = sizeof(msg->export), [MAKER_MADE] = sizeof(msg->facts),
		[MAKER_STARTED] = sizeof(msg->evidence), [MAKER_EXITED] = sizeof(msg->evidence), [MAKER_SYSCALL] = sizeof(msg->evidence),
		[MAKER_DENIED] = sizeof(msg->denied), [MAKER_FAILED] = sizeof(msg->err),
	};

	if (msg->type < MAKER_MAKE || msg->type > MAKER_FAILED)
		return 0;
	return offsetof(struct maker_msg, spec) + (msg->type == MAKER_MAKE ? jar_spec_len(&msg->spec) : parts[msg->type]);
}

bool maker_msg_whole(const struct maker_msg *msg, size_t len)
{
	if (len < offsetof(struct maker_msg, spec) || msg->type < MAKER_MAKE)
		return false;
	return msg->type == MAKER_MAKE ? jar_spec_whole(&msg->spec, len - offsetof(struct maker_msg, spec)) : len == maker_msg_len(msg);
}

static void say(struct maker *m, struct maker_msg *msg, uint32_t type, const int *fds, unsigned nfds)
{
	msg->type = type;
	/* A keeper that does not listen is dead: so are we. */
	if (fd_send(m->sock, msg, maker_msg_len(msg), fds, nfds) < 0)
		_exit(1);
}

static void say_failed(struct maker *m, const struct err *e)
{
	struct maker_msg msg = { .err = *e };

	say(m, &msg, MAKER_FAILED, NULL, 0);
}

/* ---- making a jar ---- */

/*
 * A source as the front opened it belongs to the host's mount namespace, which we cannot copy from without rights there. Look the same
 * path up in our own copy of the tree, and insist that it is the same file: a path swapped in between fails (SV-10).
 */
static int reopen_source(int fd, const char *target, struct err *e)
{
	char link[64], path[4096];
	struct stat a, b;
	auto_close int own = -1;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return err_sys(e, "find the source of %s", target);
	path[n] = '\0';
	own = sys_openat2(AT_FDCWD, path, O_PATH, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (own < 0)
		return err_sys(e, "open the source of %s", target);
	if (fstat(fd, &a) < 0 || fstat(own, &b) < 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return err_set(e, ERR_INPUT, "the source of %s changed while the jar was made", target);
	/* Without what is mounted below it; where the kernel insists that it all comes along (mounts that belong to the host), it does. */
	fd = mount_copy(own, "", false, 0, e);
	return fd >= 0 || e->sys != EINVAL ? fd : mount_copy(own, "", true, 0, e);
}

static int open_binds(struct maker *m, const struct maker_msg *msg, int *fds, struct err *e)
{
	struct jar *j = &m->jar;

	for (uint32_t i = 0; i < j->spec.bind_count; i++) {
		j->binds[i] = msg->mounts ? take_fd(&fds[i]) : reopen_source(fds[i], j->spec.binds[i], e);
		if (j->binds[i] < 0) {
			j->spec.bind_count = i;
			return -1;
		}
	}
	return 0;
}

/* A loader without room for its guard: refused, unless less is accepted. */
static int check_loaders(struct maker *m, const struct allow *a, struct err *e)
{
	for (size_t i = 0; i < a->count; i++) {
		auto_close int fd = -1;

		if (a->items[i].kind != ALLOW_LOADER)
			continue;
		fd = open(a->items[i].path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && loader_can_guard(fd) && allow_bind_of(&m->jar.spec, a->items[i].path) < 0 && !hook_disabled("loader_room"))
			continue;
		m->jar.missing |= JAR_MISSING_LOADER;
		if (m->jar.spec.flags & JAR_DEGRADED)
			continue;
		err_set(e, ERR_SETUP, "--allow: the ELF loader %.150s cannot be guarded: it could be used as a program", a->items[i].path);
		return err_hint(e, "accept that with --allow-degraded");
	}
	return 0;
}

/* Which programs can be started, and which lie where code can be mapped from. */
static int resolve_allow(struct maker *m, int cache, struct err *e)
{
	static struct allow allow;
	const char *trees[ALLOW_ITEMS];
	char *masks = NULL;
	size_t n = 0;

	if (!(m->jar.spec.flags & JAR_ALLOW))
		return 0;
	if (allow_resolve(&allow, &m->jar.spec, m->jar.binds, e) < 0)
		return -1;
	for (size_t i = 0; i < allow.count; i++)
		if (allow.items[i].kind == ALLOW_TREE)
			trees[n++] = allow.items[i].path;
	/* Kept as long as we live: init makes the masks. */
	if (programs_find(trees, n, cache, &masks, &allow.masks_len, e) < 0)
		return -1;
	if (check_loaders(m, &allow, e) < 0)
		return -1;
	allow.masks = masks;
	m->jar.allow = &allow;
	return 0;
}

/* The network namespace and U2, with U2's maps: the guest and init, each one id of U1. */
static int take_spaces(struct maker *m, struct err *e)
{
	struct jar *j = &m->jar;
	char map[96];
	int rc;

	if (j->ids.single)
		snprintf(map, sizeof(map), "%u 0 1\n", j->spec.uid);
	else
		snprintf(map, sizeof(map), "%u %u 1\n%u %u 1\n", j->spec.uid, j->ids.guest, jar_init_uid(j->spec.uid), j->ids.init);
	rc = space_wait(&m->ahead, e);
	if (rc == 0 && (step_point("jar-maps", e) < 0 || idmap_write(m->ahead.pid, map, map, j->ids.single, e) < 0))
		rc = -1;
	space_release(&m->ahead);
	if (!m->ahead.tcp_limited)
		j->missing |= JAR_MISSING_SOCKETS;
	j->net = m->ahead.net;
	j->user = m->ahead.user;
	/* The host's network was asked for: ours was made in vain. */
	if (j->spec.flags & JAR_NET_HOST || hook_disabled("netns"))
		fd_close(&j->net);
	return rc;
}

/* init: its own pid, mount, ipc and uts namespaces, all owned by U1; it enters its (empty) network namespace by itself. */
static int clone_init(struct maker *m, struct err *e)
{
	struct jar *j = &m->jar;
	int control[2] = { -1, -1 }, report[2] = { -1, -1 };
	uint64_t flags = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;

	if (hook_disabled("ipcns"))
		flags &= ~(uint64_t)CLONE_NEWIPC;
	if (step_point("jar-clone", e) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, j->gate) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0)
		return err_sys(e, "make init's channels");
	/* From here on our children are born in the jar's pid namespace; the first is its pid 1. */
	if (unshare(CLONE_NEWPID) < 0)
		return err_sys(e, "make a pid namespace");
	j->init_pid = sys_clone(flags, &j->init_pidfd);
	if (j->init_pid == 0) {
		close(control[1]);
		close(report[0]);
		close(m->sock);
		space_forget(&m->ahead);
		init_main(j, control[0], report[1]);
	}
	close(control[0]);
	close(report[1]);
	j->control = control[1];
	j->init_report = report[0];
	if (j->init_pid < 0)
		return err_sys(e, "start the jar's init");
	m->ready_used = false;
	return 0;
}

/* What an init that is gone has said, if anything, is the better reason. */
static int tell_init(struct maker *m, struct err *e)
{
	struct pollfd p = { m->jar.init_report, POLLIN, 0 };
	struct jar_report r;
	unsigned nfds;
	int fds[SPACES];

	if (order_give_jar(m->jar.control, &m->jar, e) == 0)
		return 0;
	if (poll(&p, 1, 0) > 0 && fd_recv(m->jar.init_report, &r, sizeof(r), fds, SPACES, &nfds) == sizeof(r) && r.type == REPORT_ERROR)
		*e = r.err;
	return -1;
}

/* The second half of what an early init is told. The first guest is born meanwhile: it waits at the gate. */
static int complete_jar(struct maker *m, struct err *e)
{
	if (!m->made || m->complete)
		return 0;
	m->complete = true;
	return take_spaces(m, e) < 0 || order_give_spaces(m->jar.control, &m->jar, e) < 0 ? -1 : 0;
}

static int make_jar(struct maker *m, const struct maker_msg *msg, int *fds, struct err *e)
{
	struct jar *j = &m->jar;

	if (m->made || j->data >= 0)
		return err_set(e, ERR_INTERNAL, "this maker has had its jar already");
	if (j->early && msg->spec.allow_count)
		return err_set(e, ERR_INTERNAL, "this maker makes no jar with an allow-list");
	memcpy(&j->spec, &msg->spec, jar_spec_len(&msg->spec));
	if (step_point("jar-users", e) < 0 ||
	    root_users(j->root, j->spec.uid, j->spec.flags & JAR_NET_HOST, e) < 0 || (j->spec.flags & JAR_GRADING && root_grading(j->root, e) < 0) ||
	    step_point("jar-sources", e) < 0 || open_binds(m, msg, fds, e) < 0 || step_point("jar-allow", e) < 0 ||
	    resolve_allow(m, j->spec.flags & JAR_CACHE ? fds[j->spec.bind_count] : -1, e) < 0 || step_point("jar-disk", e) < 0)
		return -1;
	j->data = root_data(j->spec.disk_bytes, j->ids.guest, e);
	if (j->data < 0)
		return -1;
	if (j->early ? tell_init(m, e) < 0 : take_spaces(m, e) < 0 || clone_init(m, e) < 0)
		return -1;
	m->made = true;
	m->complete = !j->early;
	m->said_made = false;
	return 0;
}

static void say_made(struct maker *m)
{
	static struct maker_msg out;
	int send[2] = { m->jar.init_pidfd, m->jar.data };
	struct err e = { 0 };
	int rc;

	if (!m->made || m->said_made)
		return;
	m->said_made = true;
	rc = complete_jar(m, &e);
	out.facts.missing = m->jar.missing;
	out.facts.landlock_abi = m->jar.landlock_abi;
	say(m, &out, MAKER_MADE, send, 2);
	if (rc < 0)
		say_failed(m, &e);
	space_reap(&m->ahead);
}

static void on_keeper(struct maker *m);
static void hear_init(struct maker *m);

static void on_make(struct maker *m, const struct maker_msg *msg, int *fds)
{
	struct err e = { 0 };
	struct pollfd more = { m->sock, POLLIN, 0 };

	if (make_jar(m, msg, fds, &e) < 0) {
		say_failed(m, &e);
		return;
	}
	/* Mostly the first guest is asked for already: it comes into the world before anybody hears of its jar. */
	if (poll(&more, 1, 0) > 0)
		on_keeper(m);
	say_made(m);
}

/* ---- starting a guest ---- */

static int clone_guest(struct maker *m, const struct maker_msg *msg, int *fds, struct err *e)
{
	struct jar *j = &m->jar;
	struct guest *g = &m->guest;
	int report[2];

	if (!m->made)
		return err_set(e, ERR_INTERNAL, "there is no jar");
	if (g->pidfd >= 0)
		return err_set(e, ERR_INTERNAL, "a guest runs already");
	if (m->ready_used) {
		const char ready = GATE_READY, done = GATE_DONE;

		/* The jar has long been ready: a fresh gate says so itself. */
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, j->gate) < 0 ||
		    fd_send(j->gate[1], &ready, 1, m->space_fds, SPACES) < 0 || fd_send(j->gate[1], &done, 1, NULL, 0) < 0)
			return err_sys(e, "make a gate");
	}
	m->ready_used = true;
	j->task_count = msg->tasks;
	memcpy(j->tasks, fds + 4, msg->tasks * sizeof(*fds));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0)
		return err_sys(e, "make a report channel");
	/* Born in the jar's pid namespace, as all our children since init. */
	starts_init(&m->starts, j->allow);
	g->born_ns = clock_mono_ns();
	/* Starts under an allow-list wait for us. */
	g->quiet = !j->allow;
	g->pid = sys_clone_into(0, &g->pidfd, msg->v2 ? fds[4 + msg->tasks] : -1);
	if (g->pid == 0) {
		close(report[0]);
		/* At once: init ends when its control channel does, and we wait for init. */
		close(j->control);
		close(j->init_report);
		close(m->sock);
		space_forget(&m->ahead);
		enter_main(j, report[1], fds, fds[3]);
	}
	close(report[1]);
	g->report = report[0];
	if (g->pid < 0) {
		g->pidfd = -1;
		return err_sys(e, "start the guest's process");
	}
	return 0;
}

static void on_start(struct maker *m, const struct maker_msg *msg, int *fds)
{
	struct err e = { 0 };
	static struct maker_msg out;

	m->jar.limits = msg->limits;
	m->guest.started = m->guest.exec = m->guest.ended = false;
	if (step_point("guest-clone", &e) < 0 || clone_guest(m, msg, fds, &e) < 0) {
		say_made(m);
		/* Where init is dead nobody can be born any more: its reason is the better one. */
		hear_init(m);
		say_failed(m, &e);
		return;
	}
	say_made(m);
	say(m, &out, MAKER_GUEST, &m->guest.pidfd, 1);
	close(m->jar.gate[0]);
	close(m->jar.gate[1]);
	m->jar.gate[0] = m->jar.gate[1] = -1;
}

static void on_scrub(struct maker *m)
{
	char byte = CONTROL_SCRUB;
	struct err e = { 0 };

	if (!m->made || write(m->jar.control, &byte, 1) != 1) {
		err_set(&e, ERR_INTERNAL, "there is no jar");
		say_failed(m, &e);
	}
}

/* Ends init and with it all in the jar; the kernel has them all when init can be reaped. */
static void end_jar(struct maker *m)
{
	struct jar *j = &m->jar;
	siginfo_t info;

	if (!m->made)
		return;
	sys_pidfd_send_signal(j->init_pidfd, SIGKILL, NULL, 0);
	while (waitid(P_PIDFD, (id_t)j->init_pidfd, &info, WEXITED) < 0 && errno == EINTR)
		;
	fd_close(&j->control);
	fd_close(&j->init_report);
	fd_close(&j->init_pidfd);
	m->made = false;
}

static void on_end(struct maker *m)
{
	struct maker_msg out = { 0 };

	end_jar(m);
	say(m, &out, MAKER_ENDED, NULL, 0);
}

static void on_export(struct maker *m, const struct maker_msg *msg, int *fds)
{
	struct err e = { 0 };
	struct maker_msg out = { 0 };

	if (m->made)
		err_set(&e, ERR_INTERNAL, "artifacts leave only when the jar is dead");
	else if (m->jar.data < 0)
		err_set(&e, ERR_INTERNAL, "there is no jar");
	else if (export_write(m->jar.data, &msg->export, fds[0], &e) == 0) {
		say(m, &out, MAKER_EXPORTED, NULL, 0);
		return;
	}
	say_failed(m, &e);
}

/* ---- events ---- */

static void on_init_report(struct maker *m)
{
	struct jar_report r;
	struct maker_msg out = { 0 };
	unsigned nfds = 0;
	int fds[SPACES];
	ssize_t n = fd_recv(m->jar.init_report, &r, sizeof(r), fds, SPACES, &nfds);

	if (nfds == SPACES)
		memcpy(m->space_fds, fds, sizeof(fds));
	if (n != sizeof(r)) {
		/* init died: everything in the jar dies with it, the guest's pidfd will tell. */
		fd_close(&m->jar.init_report);
		return;
	}
	if (r.type == REPORT_ERROR)
		say_failed(m, &r.err);
	else if (r.type == REPORT_SCRUBBED)
		say(m, &out, MAKER_SCRUBBED, NULL, 0);
}

/* All that it has said so far. */
static void hear_init(struct maker *m)
{
	struct pollfd p = { m->jar.init_report, POLLIN, 0 };

	while (m->jar.init_report >= 0 && poll(&p, 1, 0) > 0) {
		on_init_report(m);
		p.fd = m->jar.init_report;
	}
}

static void on_guest_report(struct maker *m)
{
	struct guest *g = &m->guest;
	struct jar_report r;
	static struct maker_msg out;
	unsigned nfds;
	int fd = -1;
	ssize_t n = fd_recv(g->report, &r, sizeof(r), &fd, 1, &nfds);

	if (n == REPORT_SHORT && r.type == REPORT_LISTENER) {
		fd_close(&g->listener);
		g->listener = fd;
		return;
	}
	fd_close(&fd);
	if (n == REPORT_SHORT && r.type == REPORT_EXEC) {
		uint64_t now = clock_mono_ns();

		g->exec = true;
		/* It has read foreign bytes by now: it does not choose the time from which it is counted. */
		g->exec_ns = r.at_ns < g->born_ns ? g->born_ns : r.at_ns > now ? now : r.at_ns;
		return;
	}
	fd_close(&g->report);
	if (n == sizeof(r) && r.type == REPORT_ERROR) {
		say_failed(m, &r.err);
		return;
	}
	/* The channel closed by itself. After REPORT_EXEC that was exec; before, the process died (its descriptors close before its
	 * pidfd tells) and never was a guest. */
	if (!g->exec)
		return;
	g->started = true;
	/* MAKER_EXITED says it too. */
	if (g->ended)
		return;
	memset(&out.evidence, 0, sizeof(out.evidence));
	out.evidence.started_ns = g->exec_ns;
	say(m, &out, MAKER_STARTED, NULL, 0);
}

/* A start under an allow-list: looked at, then the kernel's to decide. */
static void on_guest_start(struct maker *m, const struct seccomp_event *ev)
{
	struct pollfd report = { m->guest.report, POLLIN, 0 };

	/* Whether the program has begun: its channel has ended before this call was made, but perhaps after we last looked. */
	while (!m->guest.started && m->guest.report >= 0 && poll(&report, 1, 0) > 0) {
		on_guest_report(m);
		report.fd = m->guest.report;
	}
	starts_see(&m->starts, m->guest.listener, ev, m->guest.started, clock_mono_ns());
	seccomp_go_on(m->guest.listener, ev);
}

static void on_guest_socket(struct maker *m, const struct seccomp_event *ev)
{
	/* With the host's network the namespace is the host's: its sockets are not to be counted as the guest's. */
	int error = m->jar.spec.flags & JAR_NET_HOST ? 0 : sockets_check(ev, m->jar.limits.memory_bytes);

	m->starts.taken++;
	m->guest.sockets += !seccomp_is_unix_socket(ev);
	if (error) {
		m->guest.sockets_refused++;
		seccomp_refuse(m->guest.listener, ev, error);
	} else {
		seccomp_go_on(m->guest.listener, ev);
	}
}

static void on_guest_syscall(struct maker *m)
{
	struct maker_msg out = { 0 };

	if (seccomp_read_event(m->guest.listener, &out.evidence.syscall) < 0) {
		if (errno != ENOENT && errno != EINTR)
			fd_close(&m->guest.listener);
		return;
	}
	if (m->jar.allow && seccomp_is_start(&out.evidence.syscall)) {
		on_guest_start(m, &out.evidence.syscall);
		return;
	}
	if (seccomp_is_socket(&out.evidence.syscall)) {
		on_guest_socket(m, &out.evidence.syscall);
		return;
	}
	out.evidence.has_syscall = 1;
	say(m, &out, MAKER_SYSCALL, NULL, 0);
}

static void on_guest_exit(struct maker *m)
{
	struct guest *g = &m->guest;
	static struct maker_msg out;
	struct rusage ru;
	siginfo_t info = { 0 };

	if (sys_waitid(P_PIDFD, g->pidfd, &info, WEXITED | WNOHANG, &ru) < 0 || !info.si_pid)
		return;
	g->ended = true;
	/* Reports that are still unread come first: a failed step explains this exit, and init's explains the guest's. */
	hear_init(m);
	while (g->report >= 0)
		on_guest_report(m);
	if (m->starts.denied.count || m->starts.denied.unseen) {
		out.denied = m->starts.denied;
		say(m, &out, MAKER_DENIED, NULL, 0);
	}
	memset(&out.evidence, 0, sizeof(out.evidence));
	out.evidence.started_ns = g->started ? g->exec_ns : 0;
	out.evidence.ended_ns = clock_mono_ns();
	out.evidence.code = info.si_code;
	out.evidence.status = info.si_status;
	out.evidence.rusage_cpu_ns = (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * NS_PER_S +
				     (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000;
	out.evidence.rusage_maxrss_bytes = (uint64_t)ru.ru_maxrss * 1024;
	out.evidence.sockets = g->sockets;
	out.evidence.sockets_refused = g->sockets_refused;
	fd_close(&g->pidfd);
	fd_close(&g->report);
	fd_close(&g->listener);
	say(m, &out, MAKER_EXITED, NULL, 0);
}

static const struct maker_op {
	unsigned min_fds, max_fds;
} ops[] = {
	[MAKER_MAKE] = { 0, JAR_BINDS_MAX + 1 },
	[MAKER_START] = { 4, 4 + CGROUP_CTLS },
	[MAKER_SCRUB] = { 0, 0 },
	[MAKER_END] = { 0, 0 },
	[MAKER_EXPORT] = { 1, 1 },
};

static void on_keeper(struct maker *m)
{
	static struct maker_msg msg;
	int fds[JAR_BINDS_MAX + 1];
	unsigned nfds;
	ssize_t n = fd_recv(m->sock, &msg, sizeof(msg), fds, JAR_BINDS_MAX + 1, &nfds);

	if (n < 0 || !maker_msg_whole(&msg, (size_t)n) || msg.type > MAKER_EXPORT || nfds < ops[msg.type].min_fds ||
	    nfds > ops[msg.type].max_fds ||
	    (msg.type == MAKER_MAKE && nfds != msg.spec.bind_count + !!(msg.spec.flags & JAR_CACHE)) ||
	    (msg.type == MAKER_START && (msg.tasks > CGROUP_CTLS || nfds != 4 + msg.tasks + !!msg.v2)))
		_exit(0); /* init's death signal ends the jar */
	switch (msg.type) {
	case MAKER_MAKE:
		on_make(m, &msg, fds);
		break;
	case MAKER_START:
		on_start(m, &msg, fds);
		break;
	case MAKER_SCRUB:
		on_scrub(m);
		break;
	case MAKER_END:
		on_end(m);
		break;
	default:
		on_export(m, &msg, fds);
	}
	for (unsigned i = 0; i < nfds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static _Noreturn void serve(int sock, int devices, const struct jar_ids *ids, bool early)
{
	static struct maker m;
	struct err e = { 0 };

	m.sock = sock;
	m.jar.early = early;
	m.devices = devices;
	m.jar.ids = *ids;
	m.jar.root = m.jar.data = m.jar.net = m.jar.user = m.jar.init_pidfd = m.jar.control = m.jar.init_report = -1;
	m.jar.gate[0] = m.jar.gate[1] = -1;
	m.guest = (struct guest){ .pidfd = -1, .report = -1, .listener = -1 };
	signal(SIGPIPE, SIG_IGN);
	m.jar.landlock_abi = landlock_abi();
	if (step_walk(maker_steps, maker_step_count, &m, &e) < 0) {
		say_failed(&m, &e);
		_exit(1);
	}
	for (;;) {
		struct pollfd p[] = {
			{ m.guest.report, POLLIN, 0 },	 { m.guest.listener, POLLIN, 0 },
			{ m.guest.pidfd, POLLIN, 0 },	 { m.jar.init_report, POLLIN, 0 },
			{ m.sock, POLLIN, 0 },
		};

		int wait = m.guest.listener >= 0 ? starts_wait_ms(&m.starts, clock_mono_ns()) : 0;

		/* Too many starts or sockets in this second: they wait, all else does not. */
		if (wait)
			p[1].fd = -1;
		if (m.guest.quiet && m.guest.pidfd >= 0) {
			uint64_t age = clock_mono_ns() - m.guest.born_ns;

			m.guest.quiet = age < QUIET_NS;
			if (m.guest.quiet) {
				p[0].fd = p[1].fd = p[3].fd = -1;
				wait = (int)((QUIET_NS - age) / NS_PER_MS) + 1;
			}
		}
		if (poll(p, 5, wait ? wait : -1) < 0)
			continue;
		/* Init first: when it fails, its guest does, and has less to say. */
		if (p[3].revents && m.jar.init_report >= 0)
			on_init_report(&m);
		if (p[0].revents && m.guest.report >= 0)
			on_guest_report(&m);
		if (p[1].revents & POLLIN && m.guest.listener >= 0)
			on_guest_syscall(&m);
		else if (p[1].revents)
			fd_close(&m.guest.listener); /* the last process under the filter is gone */
		if (p[2].revents && m.guest.pidfd >= 0)
			on_guest_exit(&m);
		if (p[4].revents)
			on_keeper(&m);
	}
}

void maker_main(int sock, int devices, const struct jar_ids *ids)
{
	serve(sock, devices, ids, true);
}

void maker_main_late(int sock, int devices, const struct jar_ids *ids)
{
	serve(sock, devices, ids, false);
}
