/* SPDX-License-Identifier: Apache-2.0 */
/* belljar-keeper: the only process with rights on the host. Owns ids, cgroups, deadlines and death. */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hook.h"
#include "jar/maker.h"
#include "jar/root.h"
#include "jar/shelf.h"
#include "keeper/devices.h"
#include "keeper/keeper.h"
#include "keeper/pool.h"
#include "keeper/proto.h"
#include "keeper/scan.h"
#include "keeper/slot.h"
#include "keeper/u1.h"
#include "keeper/watch.h"
#include "kernel/caps.h"
#include "kernel/idmap.h"
#include "kernel/dumps.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/sys.h"

/*
 * Theory of operation
 *
 * The front starts this program before it looks at anything foreign and talks to it over one socket. Each record is checked
 * against one table (length, number of descriptors); anything else ends the conversation, and with it the jar.
 *
 * The maker is started at once, before the first record: making namespaces and the template root takes as long as the
 * front needs to read its request.
 *
 * When the front goes away, for whatever reason, the jar is killed and the cgroups are removed. When the keeper is killed, the maker's and
 * init's death signals end the jar; the cgroup folders are removed by whoever claims the slot next.
 */

#define SETUP_LIMIT_NS (120 * NS_PER_S) /* from START to exec: the feed is copied in this time */
#define CLEAR_LIMIT_NS (10 * NS_PER_S)	/* until all in a jar is dead */
#define EXPORT_LIMIT_NS (600 * NS_PER_S)

struct keeper {
	int front;
	struct u1 maker;
	char run_dir[256];
	struct slot slot;
	struct cgroup_host cg_host;
	struct cgroup cg;
	bool cg_made;
	struct err dumps; /* why crashes are not without effect on the host; kind 0: they are */
	/* the jar */
	struct jar_spec spec;
	struct jar_facts facts;
	bool asked, made;
	bool late; /* the maker is one for an allow-list */
	int init_pidfd;
	/* the guest */
	int guest_pidfd;
	uint32_t ended_by; /* enum jar_ended: what we decided, the first decision */
	bool running, last;
	bool failed;	/* nothing is begun any more: a front that has not heard of it yet may ask */
	bool told_made; /* the front has its facts */
	int signal;	/* to be passed on when the guest has begun; 0: none */
	unsigned guests;
	bool scrubbed; /* nothing of the guest before is left */
	struct watch watch;
	uint64_t busy_until_ns; /* END, SCRUB or EXPORT is under way until then at the latest */
};

/* Init first: its end is the end of every process of the jar, whatever they do. */
static void kill_jar(struct keeper *k)
{
	if (k->init_pidfd >= 0)
		sys_pidfd_send_signal(k->init_pidfd, SIGKILL, NULL, 0);
	if (k->cg_made)
		cgroup_kill(&k->cg);
	if (k->guest_pidfd >= 0)
		sys_pidfd_send_signal(k->guest_pidfd, SIGKILL, NULL, 0);
}

/* All bytes, the union's padding too: what is sent is not our stack. */
static struct keeper_event new_event(void)
{
	struct keeper_event ev;

	memset(&ev, 0, sizeof(ev));
	return ev;
}

/* The facts go out with the next event: the front is not to be woken while the guest wants the CPU. */
static void tell_made(struct keeper *k)
{
	struct keeper_event ev = new_event();

	if (!k->made || k->told_made)
		return;
	k->told_made = true;
	ev.type = KEEPER_MADE;
	ev.facts = k->facts;
	fd_send(k->front, &ev, sizeof(ev), NULL, 0);
}

static void tell(struct keeper *k, uint32_t type, struct keeper_event *ev)
{
	tell_made(k);
	ev->type = type;
	/* A front that is gone is noticed by its socket's end. */
	fd_send(k->front, ev, sizeof(*ev), NULL, 0);
}

/* Something that was asked for did not happen: whatever there is of a jar ends. */
static void tell_failed(struct keeper *k, const struct err *e)
{
	struct keeper_event ev = new_event();

	k->failed = true;
	kill_jar(k);
	k->running = false;
	ev.err = *e;
	tell(k, KEEPER_FAILED, &ev);
}

/* ---- the maker ---- */

static bool on_maker(struct keeper *k);

static int ask_maker(struct keeper *k, struct maker_msg *msg, uint32_t type, const int *fds, unsigned nfds,
		     struct err *e)
{
	msg->type = type;
	if (k->maker.sock < 0 || fd_send(k->maker.sock, msg, maker_msg_len(msg), fds, nfds) < 0) {
		/* Its last message says why, and the front believes the first that it gets. */
		if (k->maker.sock >= 0)
			on_maker(k);
		return err_set(e, ERR_INTERNAL, "the maker is gone");
	}
	return 0;
}

/* ---- death ---- */

/* May come before there is anything to kill: then it is done when there is (on_made, on_guest). */
static void end_guest(struct keeper *k, uint32_t why)
{
	/* The first reason stands: a program cancelled at its time limit was not cancelled twice. */
	if (!k->ended_by)
		k->ended_by = why;
	kill_jar(k);
}

static void cleanup(struct keeper *k)
{
	kill_jar(k);
	u1_stop(&k->maker);
	if (k->cg_made)
		cgroup_remove(&k->cg, &k->cg_host, 5000);
	/* The front has its result and is gone: nobody waits for this. */
	if (k->cg_made)
		slot_scrub(k->run_dir, &k->cg_host);
	k->cg_made = false;
}

/* ---- requests of the front ---- */

static int check_spec(const struct jar_spec *s, unsigned nfds, struct err *e)
{
	if (s->flags & ~(uint32_t)JAR_FLAGS || s->bind_count > JAR_BINDS_MAX || s->bind_count + !!(s->flags & JAR_CACHE) != nfds ||
	    s->allow_count > JAR_ALLOW_MAX || !!(s->flags & JAR_ALLOW) != !!s->allow_count || (s->flags & JAR_CACHE && !s->allow_count) ||
	    s->uid > 65535 || s->layers >> s->bind_count || !memchr(s->hostname, 0, sizeof(s->hostname)) || s->disk_bytes < 4096)
		return err_set(e, ERR_INTERNAL, "the jar's specification is out of range");
	for (uint32_t i = 0; i < s->bind_count; i++)
		if (!memchr(s->binds[i], 0, JAR_PATH_MAX) || !root_bind_path_ok(s->binds[i]))
			return err_set(e, ERR_INTERNAL, "a bind target is not allowed");
	for (uint32_t i = 0; i < s->allow_count; i++)
		if (!memchr(s->allow[i], 0, JAR_ALLOW_NAME) || !allow_name_ok(s->allow[i]))
			return err_set(e, ERR_INTERNAL, "a name of the allow-list is no name");
	return 0;
}

/* Without these nothing starts unless the caller accepts it. Where an ordinary user was given no cgroups, rlimits and polling stand in and the
 * result says so; root can have them on every kernel, so their absence is a mistake in the host's set-up. */
static int check_guards(const struct keeper *k, struct err *e)
{
	if (!landlock_abi()) {
		err_set(e, ERR_SETUP, "this kernel has no Landlock: a guard would be missing");
		return err_hint(e, "boot with lsm=landlock,..., or accept less with --allow-degraded");
	}
	if (k->dumps.kind) {
		*e = k->dumps;
		return -1;
	}
	if (!k->slot.rootless && k->cg_host.version == CGROUP_NONE) {
		err_set(e, ERR_SETUP, "there are no cgroups, which limit memory, processes and CPU: %s",
			k->cg_host.why[0] ? k->cg_host.why : "no controller is left");
		return err_hint(e, "mount -t cgroup2 none /sys/fs/cgroup, or accept limits by rlimits and polling with --allow-degraded");
	}
	return 0;
}

static int start_maker(struct keeper *k, struct err *e)
{
	auto_close int devices = devices_make();

	return u1_start(&k->maker, &k->slot, 1, k->cg.maker, devices, k->late ? maker_main_late : maker_main, e);
}

static int make_cgroups(struct keeper *k, struct err *e)
{
	if (k->cg_made)
		return 0;
	if (step_point("cgroup-make", e) < 0 || cgroup_make(&k->cg, &k->cg_host, k->slot.cgroup, k->slot.uids.start, (gid_t)-1, k->slot.uids.start, e) < 0)
		return -1;
	k->cg_made = true;
	return 0;
}

/* What belongs to the owner of the folder belongs to the guest, in this jar's view of it: so it can be changed there, in the layer over it. */
static int give_guest(const struct keeper *k, int mnt, struct err *e)
{
	struct stat st;
	auto_close int users = -1;

	if (fstat(mnt, &st) < 0)
		return err_sys(e, "look at it");
	users = idmap_space((struct idmap_extent){ st.st_uid, k->slot.uids.start + 2, 1 }, (struct idmap_extent){ st.st_gid, k->slot.gids.start + 2, 1 }, e);
	return users < 0 ? -1 : mount_idmap(mnt, users, e);
}

static int keeper_make(struct keeper *k, const void *req, int *fds, unsigned nfds, struct err *e)
{
	const struct keeper_make *r = req;
	static struct maker_msg msg;

	if (k->asked)
		return err_set(e, ERR_INTERNAL, "one keeper makes one jar");
	if (check_spec(&r->spec, nfds, e) < 0)
		return -1;
	if (!(r->spec.flags & JAR_DEGRADED) && check_guards(k, e) < 0)
		return -1;
	k->asked = true;
	memcpy(&k->spec, &r->spec, jar_spec_len(&r->spec));
	if (k->cg_host.ctl[CGROUP_PIDS].parent >= 0)
		k->spec.pids = 0;
	memcpy(&msg.spec, &k->spec, jar_spec_len(&k->spec));
	msg.mounts = !k->slot.rootless;
	for (unsigned i = 0; i < k->spec.bind_count && msg.mounts; i++) {
		int mnt = mount_copy(fds[i], "", false, ROOT_BIND_ATTR, e);

		if (mnt < 0)
			return err_wrap(e, "source of %s", k->spec.binds[i]);
		if (jar_is_layer(&k->spec, i) && give_guest(k, mnt, e) < 0) {
			close(mnt);
			return err_wrap(e, "layer over %s", k->spec.binds[i]);
		}
		close(fds[i]);
		fds[i] = mnt;
	}
	/* Nobody said before that there would be an allow-list: another maker. */
	if (k->spec.allow_count && !k->late) {
		u1_stop(&k->maker);
		k->late = true;
		if (start_maker(k, e) < 0)
			return -1;
	}
	/* The groups meanwhile. */
	return ask_maker(k, &msg, MAKER_MAKE, fds, nfds, e) < 0 ? -1 : make_cgroups(k, e);
}

static void tell_meter(struct keeper *k)
{
	struct keeper_event ev = new_event();
	int fd = watch_meter(&k->watch, &ev.evidence.cg.cpu_ns);

	ev.type = KEEPER_METER;
	if (fd >= 0)
		fd_send(k->front, &ev, sizeof(ev), &fd, 1);
}

static int keeper_start(struct keeper *k, const void *req, int *fds, unsigned nfds, struct err *e)
{
	const struct keeper_start *r = req;
	struct cgroup_limits l = { r->limits.memory_bytes, r->limits.pids, r->limits.cpus_milli };
	static struct maker_msg msg;
	int all[4 + CGROUP_CTLS], v2;

	if (!k->asked || !k->cg_made || k->failed || k->running || (k->guests && !k->scrubbed))
		return err_set(e, ERR_INTERNAL, "a guest cannot be started now");
	if (watch_check(&r->limits, e) < 0)
		return -1;
	k->scrubbed = false;
	watch_begin(&k->watch, &r->limits, SETUP_LIMIT_NS);
	k->watch.host_net = k->spec.flags & JAR_NET_HOST;
	msg.limits = k->watch.limits;
	k->last = r->last;
	k->running = true;
	if (step_point("cgroup-limits", e) < 0 || cgroup_limit(&k->cg, &k->cg_host, &l, e) < 0)
		return -1;
	watch_base(&k->watch, k->guests++ > 0);
	memcpy(all, fds, nfds * sizeof(*fds));
	msg.tasks = msg.v2 = 0;
	for (int c = 0; c < CGROUP_CTLS; c++)
		if (k->cg.tasks[c] >= 0)
			all[nfds + msg.tasks++] = k->cg.tasks[c];
	v2 = cgroup_v2_dir(&k->cg, &k->cg_host);
	if (v2 >= 0) {
		msg.v2 = 1;
		all[nfds + msg.tasks] = v2;
	}
	if (ask_maker(k, &msg, MAKER_START, all, nfds + msg.tasks + msg.v2, e) < 0)
		return -1;
	/* Now, while there is nothing else to do. */
	cgroup_open_counters(&k->cg, &k->cg_host);
	if (r->meter)
		tell_meter(k);
	return 0;
}

static int keeper_kill(struct keeper *k, const void *req, int *fds, unsigned nfds, struct err *e)
{
	const struct keeper_kill *r = req;

	(void)fds, (void)nfds;
	if (r->why != JAR_ENDED_OUTPUT && r->why != JAR_ENDED_CANCELLED)
		return err_set(e, ERR_INTERNAL, "not a reason to kill");
	end_guest(k, r->why);
	return 0;
}

static int keeper_signal(struct keeper *k, const void *req, int *fds, unsigned nfds, struct err *e)
{
	const struct keeper_signal *r = req;

	(void)fds, (void)nfds;
	if (r->signal < 1 || r->signal >= NSIG)
		return err_set(e, ERR_INTERNAL, "not a signal");
	/* We may not have heard yet that it has begun; what is still being set up is not to be interrupted. */
	if (k->running && !k->watch.started)
		k->signal = (int)r->signal;
	else if (k->running && k->guest_pidfd >= 0)
		sys_pidfd_send_signal(k->guest_pidfd, (int)r->signal, NULL, 0);
	return 0;
}

static int keeper_scrub(struct keeper *k, const void *req, int *fds, unsigned nfds, struct err *e)
{
	static struct maker_msg msg;

	(void)req, (void)fds, (void)nfds;
	k->busy_until_ns = clock_mono_ns() + CLEAR_LIMIT_NS;
	return ask_maker(k, &msg, MAKER_SCRUB, NULL, 0, e);
}

static int keeper_end(struct keeper *k, const void *req, int *fds, unsigned nfds, struct err *e)
{
	static struct maker_msg msg;

	(void)req, (void)fds, (void)nfds;
	kill_jar(k);
	k->busy_until_ns = clock_mono_ns() + CLEAR_LIMIT_NS;
	return ask_maker(k, &msg, MAKER_END, NULL, 0, e);
}

static int keeper_export(struct keeper *k, const void *req, int *fds, unsigned nfds, struct err *e)
{
	const struct keeper_export *r = req;
	static struct maker_msg msg;

	if (r->req.count > JAR_GLOBS_MAX)
		return err_set(e, ERR_INTERNAL, "too many patterns");
	for (uint32_t i = 0; i < r->req.count; i++)
		if (!memchr(r->req.globs[i], 0, JAR_PATH_MAX))
			return err_set(e, ERR_INTERNAL, "a pattern does not end");
	msg.export = r->req;
	k->busy_until_ns = clock_mono_ns() + EXPORT_LIMIT_NS;
	return ask_maker(k, &msg, MAKER_EXPORT, fds, nfds, e);
}

typedef int keeper_fn(struct keeper *k, const void *req, int *fds, unsigned nfds, struct err *e);

static const struct keeper_op {
	size_t size;		   /* exact length (of a specification, the longest); anything else drops the peer */
	unsigned min_fds, max_fds; /* descriptors that must ride along */
	keeper_fn *run;
} keeper_ops[KEEPER_OPS] = {
	[KEEPER_MAKE]	= { sizeof(struct keeper_make),	  0, JAR_BINDS_MAX + 1, keeper_make },
	[KEEPER_START]	= { sizeof(struct keeper_start),  4, 4, keeper_start },
	[KEEPER_KILL]	= { sizeof(struct keeper_kill),	  0, 0, keeper_kill },
	[KEEPER_SIGNAL] = { sizeof(struct keeper_signal), 0, 0, keeper_signal },
	[KEEPER_SCRUB]	= { sizeof(struct keeper_plain),  0, 0, keeper_scrub },
	[KEEPER_END]	= { sizeof(struct keeper_plain),  0, 0, keeper_end },
	[KEEPER_EXPORT] = { sizeof(struct keeper_export), 1, 1, keeper_export },
};

/* False when the peer is gone or broke the protocol. */
static bool on_front(struct keeper *k)
{
	static union {
		uint32_t op;
		struct keeper_make make;
		struct keeper_start start;
		struct keeper_export export;
	} req;
	int fds[JAR_BINDS_MAX + 1];
	unsigned nfds = 0;
	struct err e = { 0 };
	ssize_t n = fd_recv(k->front, &req, sizeof(req), fds, JAR_BINDS_MAX + 1, &nfds);
	const struct keeper_op *op;

	if (n < (ssize_t)sizeof(req.op) || req.op == 0 || req.op >= KEEPER_OPS)
		return false;
	op = &keeper_ops[req.op];
	if (req.op == KEEPER_MAKE ? n < (ssize_t)offsetof(struct keeper_make, spec) || !jar_spec_whole(&req.make.spec, (size_t)n - offsetof(struct keeper_make, spec))
				  : (size_t)n != op->size)
		return false;
	if (nfds < op->min_fds || nfds > op->max_fds)
		return false;
	if (op->run(k, &req, fds, nfds, &e) < 0)
		tell_failed(k, &e);
	for (unsigned i = 0; i < nfds; i++)
		close(fds[i]);
	return true;
}

/* ---- what the maker says ---- */

static void add_missing(struct keeper *k)
{
	struct jar_facts *f = &k->facts;

	if (f->landlock_abi == 0)
		f->missing |= JAR_MISSING_LANDLOCK;
	else if (f->landlock_abi < 6)
		f->missing |= JAR_MISSING_SCOPE;
	if (k->dumps.kind)
		f->missing |= JAR_MISSING_CORE;
	if (k->slot.single)
		f->missing |= JAR_MISSING_UID_RANGE | JAR_MISSING_GROUPS;
	if (k->cg.dir[CGROUP_MEMORY] < 0)
		f->missing |= JAR_MISSING_MEMORY;
	else if (!cgroup_counts_sockets(&k->cg, &k->cg_host))
		f->missing |= JAR_MISSING_SOCKETS;
	if (k->cg.dir[CGROUP_PIDS] < 0)
		f->missing |= JAR_MISSING_PIDS;
	if (k->cg.dir[CGROUP_CPU] < 0 || k->cg.dir[CGROUP_CPUACCT] < 0)
		f->missing |= JAR_MISSING_CPU;
	if (k->spec.flags & JAR_NET_HOST)
		f->missing |= JAR_MISSING_NETNS;
	f->cgroup_version = k->cg_host.version;
	f->rootless = k->slot.rootless;
	f->net_host = !!(k->spec.flags & JAR_NET_HOST);
	f->host_uid = k->slot.single ? getuid() : k->slot.uids.start + (k->slot.rootless ? 1 : 2);
}

static void on_made(struct keeper *k, const struct maker_msg *msg, int *fds)
{
	k->init_pidfd = take_fd(&fds[0]);
	k->watch.data = take_fd(&fds[1]);
	k->facts = msg->facts;
	add_missing(k);
	k->made = true;
	if (k->ended_by || k->failed)
		kill_jar(k);
}

static void on_guest(struct keeper *k, int *fds, pid_t pid)
{
	fd_close(&k->guest_pidfd);
	k->guest_pidfd = take_fd(&fds[0]);
	k->watch.guest_pid = pid;
	if (k->ended_by || k->failed)
		kill_jar(k);
}

/* A maker that was taken over must not have us signal other processes of the host: what it calls a guest or an init runs under an id of
 * this slot. (A rootless keeper has no rights that its maker has not.) */
static bool is_ours(struct keeper *k, int pidfd, pid_t *pid)
{
	return scan_owner(pidfd, pid, k->slot.uids) || k->slot.rootless;
}

static void on_started(struct keeper *k, const struct maker_msg *msg)
{
	watch_started(&k->watch, msg->evidence.started_ns);
	if (k->signal && k->running && k->guest_pidfd >= 0)
		sys_pidfd_send_signal(k->guest_pidfd, k->signal, NULL, 0);
	k->signal = 0;
}

static void on_exited(struct keeper *k, const struct maker_msg *msg)
{
	struct keeper_event ev = new_event();
	struct pollfd init = { k->init_pidfd, POLLIN, 0 };
	uint32_t ended_by = k->ended_by;

	if (!k->running)
		return;
	if (!k->watch.started && msg->evidence.started_ns)
		on_started(k, msg);
	/* init only dies before us when somebody else on the host killed it. */
	if (ended_by == JAR_ENDED_ITSELF && msg->evidence.code == CLD_KILLED && msg->evidence.status == SIGKILL && poll(&init, 1, 0) > 0)
		ended_by = JAR_ENDED_OUTSIDE;
	/* Counters first, while they are about this guest alone; then death for what it left behind. */
	watch_exited(&k->watch, &msg->evidence, ended_by);
	if (k->last)
		kill_jar(k);
	fd_close(&k->guest_pidfd);
	k->running = false;
	if (!k->watch.started) {
		struct err e = { 0 };

		/* Its own report would have come first. */
		err_set(&e, ERR_SETUP, "the guest's process ended while it was set up");
		if (k->watch.ev.cg.oom_kills)
			err_hint(&e, "its files and itself do not fit into the memory limit: raise --memory");
		tell_failed(k, &e);
		return;
	}
	ev.evidence = k->watch.ev;
	tell(k, KEEPER_EXITED, &ev);
}

static bool on_maker(struct keeper *k)
{
	static struct maker_msg msg;
	struct keeper_event ev = new_event();
	int fds[2] = { -1, -1 };
	unsigned nfds = 0;
	pid_t pid;
	ssize_t n = fd_recv(k->maker.sock, &msg, sizeof(msg), fds, 2, &nfds);

	if (n < 0 || !maker_msg_whole(&msg, (size_t)n))
		return false;
	switch (msg.type) {
	case MAKER_MADE:
		if (nfds != 2 || k->made || !is_ours(k, fds[0], &pid))
			return false;
		on_made(k, &msg, fds);
		break;
	case MAKER_GUEST:
		if (nfds != 1 || !is_ours(k, fds[0], &pid))
			return false;
		on_guest(k, fds, pid);
		break;
	case MAKER_STARTED:
		on_started(k, &msg);
		break;
	case MAKER_SYSCALL:
		k->watch.ev.has_syscall = 1;
		k->watch.ev.syscall = msg.evidence.syscall;
		end_guest(k, JAR_ENDED_SYSCALL);
		break;
	case MAKER_DENIED:
		ev.denied = msg.denied;
		tell(k, KEEPER_DENIED, &ev);
		break;
	case MAKER_EXITED:
		on_exited(k, &msg);
		break;
	case MAKER_SCRUBBED:
		k->scrubbed = true;
		k->busy_until_ns = 0;
		tell(k, KEEPER_SCRUBBED, &ev);
		break;
	case MAKER_ENDED:
		k->busy_until_ns = 0;
		fd_close(&k->init_pidfd);
		tell(k, KEEPER_ENDED, &ev);
		break;
	case MAKER_EXPORTED:
		k->busy_until_ns = 0;
		tell(k, KEEPER_EXPORTED, &ev);
		break;
	case MAKER_FAILED:
		err_received(&msg.err);
		tell_failed(k, &msg.err);
		break;
	default:
		return false;
	}
	for (unsigned i = 0; i < nfds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return true;
}

/* ---- the watch ---- */

static void look(struct keeper *k)
{
	uint64_t now = clock_mono_ns();
	uint32_t why;

	if (k->busy_until_ns && now >= k->busy_until_ns) {
		struct err e = { 0 };

		k->busy_until_ns = 0;
		err_set(&e, ERR_INTERNAL, "the jar could not be cleared away in time");
		u1_stop(&k->maker);
		tell_failed(k, &e);
	}
	if (!k->running)
		return;
	if (!k->watch.started && now >= k->watch.deadline_ns) {
		struct err e = { 0 };

		err_set(&e, ERR_SETUP, "the jar was not ready in time");
		tell_failed(k, &e);
		return;
	}
	why = watch_tick(&k->watch, now);
	if (why)
		end_guest(k, why);
}

static int poll_timeout(const struct keeper *k)
{
	uint64_t now = clock_mono_ns(), next = k->running ? watch_next(&k->watch) : k->busy_until_ns;

	if (!next)
		return -1;
	return next <= now ? 0 : (int)((next - now + NS_PER_MS - 1) / NS_PER_MS);
}

static void serve(struct keeper *k)
{
	for (;;) {
		struct pollfd p[] = { { k->maker.sock, POLLIN, 0 }, { k->front, POLLIN, 0 } };

		if (poll(p, 2, poll_timeout(k)) < 0 && errno != EINTR)
			return;
		if (p[0].revents && k->maker.sock >= 0 && !on_maker(k)) {
			struct err e = { 0 };

			err_set(&e, ERR_INTERNAL, "the jar's maker ended unexpectedly");
			fd_close(&k->maker.sock);
			tell_failed(k, &e);
		}
		if (p[1].revents && !on_front(k))
			return;
		look(k);
	}
}

/* ---- start ---- */

/* Rights on the host that are needed: id maps, sources of binds, killing guests, giving v2 cgroups to the maker, device nodes. All else goes at once. */
static int drop_rights(struct err *e)
{
	uint64_t keep = CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_KILL) | CAP_BIT(CAP_SYS_ADMIN) |
			CAP_BIT(CAP_DAC_OVERRIDE) | CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_CHOWN) | CAP_BIT(CAP_MKNOD);

	if (geteuid() != 0)
		return 0; /* newuidmap needs its own */
	/* Guests run at the usual priority, however belljar was started (PV-14). */
	setpriority(PRIO_PROCESS, 0, 0);
	if (setgroups(0, NULL) < 0)
		return err_sys(e, "drop the keeper's groups");
	return caps_set(keep & caps_effective(), e) < 0 ? -1 : caps_no_new_privs(e);
}

static int prepare(struct keeper *k, struct err *e)
{
	if (step_point("keeper-rights", e) < 0 || drop_rights(e) < 0 || step_point("keeper-slot", e) < 0 ||
	    slot_run_dir(k->run_dir, sizeof(k->run_dir), e) < 0 || slot_take(&k->slot, k->run_dir, e) < 0)
		return -1;
	/* On v2 the maker is born in its group. Elsewhere it can begin while the groups are looked for and made. Nothing foreign comes near it before all of
	 * this is done: so the ids can be looked up meanwhile, too. */
	if (cgroup_is_unified()) {
		cgroup_host_open(&k->cg_host);
		return make_cgroups(k, e) < 0 || start_maker(k, e) < 0 ? -1 : slot_check(&k->slot, e);
	}
	if (start_maker(k, e) < 0 || slot_check(&k->slot, e) < 0)
		return -1;
	cgroup_host_open(&k->cg_host);
	/* Made when the maker has its next task (keeper_make). */
	if (!cgroup_has_v2(&k->cg_host))
		return 0;
	/* A hybrid host that has given v2 a controller: once more, in the right order. */
	u1_stop(&k->maker);
	return make_cgroups(k, e) < 0 ? -1 : start_maker(k, e);
}

#ifdef BELLJAR_TEST_HOOKS
/* The names of all steps of warm jars that a test can make fail. */
static int print_warm_steps(void)
{
	static const char *const points[] = { "maker-clone", "maker-maps", "cgroup-make", "cgroup-limits", "slot-clone", "slot-root", "jar-maps",
					      "jar-clone", "guest-clone", "zygote-start" };

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		puts(points[i]);
	for (size_t i = 0; i < shelf_step_count; i++)
		puts(shelf_steps[i].name);
	for (size_t i = 0; i < warm_init_step_count; i++)
		puts(warm_init_steps[i].name);
	for (size_t i = 0; i < warm_enter_step_count; i++)
		puts(warm_enter_steps[i].name);
	for (size_t i = 0; i < warm_wait_step_count; i++)
		puts(warm_wait_steps[i].name);
	return 0;
}

/* The same of seats. */
static int print_seat_steps(void)
{
	puts("seat-start");
	for (size_t i = 0; i < seat_step_count; i++)
		puts(seat_steps[i].name);
	for (size_t i = 0; i < seat_enter_step_count; i++)
		puts(seat_enter_steps[i].name);
	for (size_t i = 0; i < warm_wait_step_count; i++)
		puts(warm_wait_steps[i].name);
	return 0;
}

/* The names of all steps that a test can make fail. */
static int print_steps(void)
{
	static const char *const points[] = { "keeper-rights", "keeper-slot", "maker-clone", "maker-maps", "cgroup-make",
					      "cgroup-limits", "jar-users", "jar-sources", "jar-maps",
					      "jar-allow", "jar-disk", "jar-clone", "guest-clone" };

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		puts(points[i]);
	for (size_t i = 0; i < maker_step_count; i++)
		puts(maker_steps[i].name);
	for (size_t i = 0; i < init_step_count; i++)
		puts(init_steps[i].name);
	for (size_t i = 0; i < enter_step_count; i++)
		puts(enter_steps[i].name);
	return 0;
}
#endif

int keeper_main(int argc, char **argv)
{
	static struct keeper k = { .front = KEEPER_FD, .maker = { .sock = -1 }, .init_pidfd = -1, .guest_pidfd = -1 };
	struct err e = { 0 };
	struct stat st;

	hook_init();
#ifdef BELLJAR_TEST_HOOKS
	if (argc == 2 && strcmp(argv[1], "--steps") == 0)
		return print_steps();
	if (argc == 2 && strcmp(argv[1], "--warm-steps") == 0)
		return print_warm_steps();
	if (argc == 2 && strcmp(argv[1], "--seat-steps") == 0)
		return print_seat_steps();
#endif
	if (fstat(KEEPER_FD, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		fputs("belljar-keeper: belljar starts this program; it does nothing by itself\n", stderr);
		return 2;
	}
	sys_close_range(KEEPER_FD + 1, ~0U, 0);
	fcntl(KEEPER_FD, F_SETFD, FD_CLOEXEC);
	clock_mono_ns(); /* libc looks for it once, here and not in each child */
	/* The terminal's signals are for the front; ours come over the socket. */
	setsid();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* a caller may ignore it, and we would hear of no child's end */
	/* Not when rootless: newuidmap and our own writes to a child's maps go by who owns its /proc entries. */
	if (geteuid() == 0)
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	dumps_bar(&k.dumps);
	if (argc == 2 && strcmp(argv[1], "--pool") == 0)
		return pool_main(KEEPER_FD, &k.dumps, drop_rights(&e) < 0 ? &e : NULL);
	k.late = argc == 2 && strcmp(argv[1], KEEPER_ALLOW) == 0;
	cgroup_init(&k.cg);
	k.watch = (struct watch){ .cg = &k.cg, .host = &k.cg_host, .data = -1, .meter = -1 };
	if (prepare(&k, &e) < 0) {
		tell_failed(&k, &e);
		/* The front may still be writing its request: let it read the answer. */
		shutdown(k.front, SHUT_WR);
		cleanup(&k);
		return 1;
	}
	serve(&k);
	cleanup(&k);
	return 0;
}
