/* SPDX-License-Identifier: Apache-2.0 */
/* pid 1 of a jar: builds the jar's mounts, gives everything away, reaps, and dies with its maker. */
#include "jar/jar.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/fd.h"
#include "base/hook.h"
#include "jar/fence.h"
#include "jar/order.h"
#include "jar/root.h"
#include "kernel/caps.h"
#include "kernel/mount.h"
#include "kernel/space.h"
#include "kernel/sys.h"

struct init_ctx {
	struct jar *j;
	int control, report;
	int proc; /* the jar's own proc, until it is attached */
	int sys;  /* /proc/sys of the host's, for what init sets in its own namespaces */
	int spaces[SPACES];
	const struct warm_birth *warm;
	int own[OWN_SPACES];
};

static int init_network(void *p, struct err *e)
{
	struct jar *j = ((struct init_ctx *)p)->j;

	if (j->net >= 0 && setns(j->net, CLONE_NEWNET) < 0)
		return err_sys(e, "enter the jar's network namespace");
	return 0;
}

/* Descriptors lead to the maker's mounts; ours are copies of them, found at the same place. */
static int init_root(void *p, struct err *e)
{
	struct jar *j = ((struct init_ctx *)p)->j;

	j->root = open(j->root_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (j->root < 0)
		return err_sys(e, "open the root template");
	/* The jar's own proc has none. */
	((struct init_ctx *)p)->sys = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

/*
 * Without a pids cgroup: the pid namespace's own highest pid, from 6.14 on. Through the old /proc, since the jar's has no sys. Older kernels have one for the
 * whole host and refuse us: RLIMIT_NPROC remains.
 */
static int init_pid_max(void *p, struct err *e)
{
	struct init_ctx *c = p;
	struct jar *j = c->j;
	/* Once the numbers have wrapped the kernel gives out none below 300. */
	uint64_t max = 300 + j->spec.pids + 64;
	char text[24];

	(void)e;
	if (!j->spec.pids)
		return 0;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)max);
	(void)!fd_write_file(c->sys, "kernel/pid_max", text);
	return 0;
}

/* Before the old tree is gone: the kernel lets a user namespace mount proc only where it already sees one. */
static int init_proc(void *p, struct err *e)
{
	struct init_ctx *c = p;
	struct mount_opt opts[] = { { "hidepid", "invisible" }, { "subset", "pid" }, { NULL, NULL } };

	if (hook_disabled("proc_subset"))
		opts[0].key = NULL;
	c->proc = mount_new("proc", opts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, e);
	if (c->proc < 0)
		return err_hint(e, "a container with a masked /proc forbids this: run belljar on the host, or "
				   "start that container with an unmasked /proc");
	return 0;
}

static int init_devpts(void *p, struct err *e)
{
	return root_devpts(((struct init_ctx *)p)->j->root, e);
}

/* mq_open() goes by Landlock's rules too, so they must be shown somewhere. A kernel may be built without them. */
static int init_queues(void *p, struct err *e)
{
	struct init_ctx *c = p;

	if (hook_disabled("ipcns"))
		return 0; /* they are the host's */
	if (root_queues(c->j->root, e) == 0)
		return 0;
	if (e->sys != ENODEV)
		return -1;
	err_clear(e);
	return 0;
}

/* Where the host's tree is gone. */
static int show_data(struct jar *j, uint64_t attr, struct err *e)
{
	/* From 6.15 on the kernel copies parts of what is attached nowhere. */
	if (root_show_data(j->root, j->data, attr, e) == 0)
		return 0;
	if (e->sys != EINVAL)
		return -1;
	err_clear(e);
	if (root_attach_data(j->root, j->data, ROOT_EMPTY, attr, e) < 0)
		return -1;
	if (sys_umount2(ROOT_EMPTY, MNT_DETACH) < 0)
		return err_sys(e, "detach the data file system");
	return 0;
}

static int init_show_data(void *p, struct err *e)
{
	struct jar *j = ((struct init_ctx *)p)->j;

	return show_data(j, j->spec.flags & JAR_NO_WRITE ? MOUNT_ATTR_RDONLY : 0, e);
}

static int init_data(void *p, struct err *e)
{
	struct init_ctx *c = p;

	return root_attach_data(c->j->root, c->j->data, NULL,
				(c->j->spec.flags & JAR_NO_WRITE ? MOUNT_ATTR_RDONLY : 0) | fence_data_attr(c->j), e);
}

static int init_binds(void *p, struct err *e)
{
	struct jar *j = ((struct init_ctx *)p)->j;

	for (uint32_t i = 0; i < j->spec.bind_count; i++) {
		if (mount_restrict(j->binds[i], ROOT_BIND_ATTR, true, e) < 0)
			return -1;
		if (jar_is_layer(&j->spec, i) ? root_attach_layer(j->root, j->root_path, &j->binds[i], j->spec.binds[i], j->spec.disk_bytes,
								  j->spec.flags & JAR_NO_WRITE ? MOUNT_ATTR_RDONLY : 0, j->ids.guest, e) < 0
					      : root_attach_bind(j->root, j->binds[i], j->spec.binds[i], j->ids.guest, e) < 0)
			return -1;
	}
	return 0;
}

/* An allow-list: /usr and its like are shown anew. Before what is attached in it. */
static int init_fence(void *p, struct err *e)
{
	return fence_root(((struct init_ctx *)p)->j, e);
}

static int init_fence_binds(void *p, struct err *e)
{
	return fence_binds(((struct init_ctx *)p)->j, e);
}

static int init_attach_proc(void *p, struct err *e)
{
	struct init_ctx *c = p;

	if (mount_attach(c->proc, c->j->root, "proc", e) < 0)
		return -1;
	fd_close(&c->proc);
	return 0;
}

static int init_readonly(void *p, struct err *e)
{
	return mount_restrict(((struct init_ctx *)p)->j->root, MOUNT_ATTR_RDONLY, false, e);
}

static int init_pivot(void *p, struct err *e)
{
	return mount_pivot(((struct init_ctx *)p)->j->root, e);
}

/* From here on what was below a spare folder of the host's is all there is. */
static int init_pivot_early(void *p, struct err *e)
{
	struct jar *j = ((struct init_ctx *)p)->j;

	j->root_path = "";
	return mount_pivot(j->root, e);
}

static int init_order(void *p, struct err *e)
{
	struct init_ctx *c = p;

	return order_take_jar(c->control, c->j, e);
}

static int init_order_spaces(void *p, struct err *e)
{
	struct init_ctx *c = p;

	return order_take_spaces(c->control, c->j, e) < 0 ? -1 : init_network(p, e);
}

static int init_hostname(void *p, struct err *e)
{
	struct jar *j = ((struct init_ctx *)p)->j;

	if (sethostname(j->spec.hostname, strlen(j->spec.hostname)) < 0)
		return err_sys(e, "set the host name");
	return 0;
}

/* While /proc/self may be read: a guest enters these. */
static int init_open_spaces(void *p, struct err *e)
{
	static const char *const names[SPACE_USER] = { "mnt", "ipc", "uts", "net" };

	return space_own(names, SPACE_USER, ((struct init_ctx *)p)->spaces, e);
}

/*
 * Second layer under the filter: inside U2 no user namespace can be made any more, and without one no other kind (KS-07, KS-15). A rootless
 * caller's jars share that user's inotify quota: none may take it all (RE-21). Few files, for each lookup in /proc/sys/user
 * walks past the entries of every other namespace.
 */
static int set_shares(int sys, bool shared_quota, struct err *e)
{
	static const struct {
		const char *name, *value;
	} files[] = {
		{ "user/max_user_namespaces", "0" },
		{ "user/max_inotify_instances", "16" },
		{ "user/max_inotify_watches", "8192" },
	};
	size_t count = shared_quota ? sizeof(files) / sizeof(files[0]) : 1;

	if (hook_disabled("max_userns"))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (fd_write_file(sys, files[i].name, files[i].value) < 0 && (i == 0 || errno != ENOENT))
			return err_sys(e, "forbid nested namespaces: write /proc/sys/%s", files[i].name);
	return 0;
}

uint32_t jar_init_uid(uint32_t guest_uid)
{
	return guest_uid == 65533 ? 65532 : 65533;
}

/* U2, which the maker had made and mapped. Every mount is made; from here on there is nothing left that U1's rights are needed for. */
static int init_userns(void *p, struct err *e)
{
	struct init_ctx *c = p;

	if (setns(c->j->user, CLONE_NEWUSER) < 0)
		return err_sys(e, "enter the guest's user namespace");
	return set_shares(c->sys, c->j->ids.shared_quota, e);
}

static int init_ids(void *p, struct err *e)
{
	struct jar *j = ((struct init_ctx *)p)->j;
	uint32_t id = j->ids.single ? j->spec.uid : jar_init_uid(j->spec.uid);

	if (!j->ids.single && setgroups(0, NULL) < 0)
		return err_sys(e, "drop init's groups");
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
		return err_sys(e, "take init's ids");
	return 0;
}

/* CAP_KILL alone: enough to end the jar's processes, nothing else. */
static int init_caps(void *p, struct err *e)
{
	(void)p;
	if (caps_drop_bounding(e) < 0 || caps_set(CAP_BIT(CAP_KILL), e) < 0)
		return -1;
	return caps_no_new_privs(e);
}

static int init_undumpable(void *p, struct err *e)
{
	(void)p;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "become undumpable");
	return 0;
}

/* After the last change of ids, which would clear it. */
static int init_deathsig(void *p, struct err *e)
{
	(void)p;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(e, "set the parent death signal");
	return 0;
}

static int init_signals(void *p, struct err *e)
{
	(void)p;
	(void)e;
	/* The kernel gives pid 1 no signal that it has no handler for, wherever it comes from, but for SIGKILL and SIGSTOP from outside. An ignored
	 * SIGCHLD reaps orphans without a wait. */
	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_NAME, "belljar-init", 0, 0, 0);
	return 0;
}

/* The jar can be entered, by the guest that may be waiting already: it gives its rights away while we do. */
static int init_gate(void *p, struct err *e)
{
	struct init_ctx *c = p;
	char byte = GATE_READY;

	c->spaces[SPACE_USER] = c->j->user;
	if (fd_send(c->j->gate[1], &byte, 1, c->spaces, SPACES) < 0)
		return err_sys(e, "open the jar's gate");
	return 0;
}

/* Nothing of ours is left to be had: so the guest may go on, and the maker gets what those who come later need. Init keeps its two channels
 * and nothing else. */
static int init_hand_over(void *p, struct err *e)
{
	struct init_ctx *c = p;
	struct jar_report r = { .type = REPORT_READY };
	char byte = GATE_DONE;

	if (fd_send(c->j->gate[1], &byte, 1, NULL, 0) < 0 || fd_send(c->report, &r, sizeof(r), c->spaces, SPACES) < 0)
		return err_sys(e, "hand the jar over");
	if (dup3(c->control, 0, O_CLOEXEC) < 0 || dup3(c->report, 1, O_CLOEXEC) < 0 || sys_close_range(2, ~0U, 0) < 0)
		return err_sys(e, "close init's descriptors");
	c->control = 0;
	c->report = 1;
	return 0;
}

/* What every init ends with. */
#define INIT_END \
	{ "init-spaces", NULL, init_open_spaces }, \
	{ "init-gate", NULL, init_gate }, \
	{ "init-userns", NULL, init_userns }, \
	{ "init-ids", "init_uid", init_ids }, \
	{ "init-caps", NULL, init_caps }, \
	{ "init-undumpable", "dumpable", init_undumpable }, \
	{ "init-deathsig", "pdeathsig", init_deathsig }, \
	{ "init-signals", NULL, init_signals }, \
	{ "init-hand-over", NULL, init_hand_over }

/* Born before the request: what it does not depend on comes first. */
const struct step init_steps[] = {
	{ "jar-root", NULL, init_root },
	{ "jar-proc", NULL, init_proc },
	{ "jar-attach-proc", NULL, init_attach_proc },
	{ "jar-queues", NULL, init_queues },
	{ "jar-pivot", NULL, init_pivot_early },
	{ "jar-order", NULL, init_order },
	{ "jar-pid-max", NULL, init_pid_max },
	{ "jar-data", NULL, init_show_data },
	{ "jar-binds", NULL, init_binds },
	{ "jar-readonly", "readonly", init_readonly },
	{ "jar-hostname", NULL, init_hostname },
	{ "jar-network", NULL, init_order_spaces },
	INIT_END,
};
const size_t init_step_count = sizeof(init_steps) / sizeof(init_steps[0]);

/* With an allow-list, for which the host's tree is needed: born when all is known. */
const struct step fence_init_steps[] = {
	{ "jar-network", NULL, init_network },
	{ "jar-root", NULL, init_root },
	{ "jar-pid-max", NULL, init_pid_max },
	{ "jar-proc", NULL, init_proc },
	{ "jar-fence", NULL, init_fence },
	{ "jar-data", NULL, init_data },
	{ "jar-binds", NULL, init_binds },
	{ "jar-fence-binds", NULL, init_fence_binds },
	{ "jar-attach-proc", NULL, init_attach_proc },
	{ "jar-queues", NULL, init_queues },
	{ "jar-readonly", "readonly", init_readonly },
	{ "jar-pivot", NULL, init_pivot },
	{ "jar-hostname", NULL, init_hostname },
	INIT_END,
};
const size_t fence_init_step_count = sizeof(fence_init_steps) / sizeof(fence_init_steps[0]);

/* ---- a warm jar: the template and the slot's namespaces are there ---- */

/*
 * The new proc was made in the maker's own mount namespace, which shows one already. The jar's namespace is a copy of another, which shows none: so
 * nothing has to be taken away here. That matters: whoever unmounts waits for all CPUs (synchronize_rcu_expedited).
 */
static int warm_mounts(void *p, struct err *e)
{
	struct init_ctx *c = p;

	if (setns(c->warm->template, CLONE_NEWNS) < 0 || unshare(CLONE_NEWNS) < 0)
		return err_sys(e, "copy the template's mounts");
	c->j->root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->j->root < 0)
		return err_sys(e, "open the root template");
	return 0;
}

static int warm_data(void *p, struct err *e)
{
	struct jar *j = ((struct init_ctx *)p)->j;

	j->data = root_data(j->spec.disk_bytes, j->ids.guest, e);
	return j->data < 0 ? -1 : show_data(j, 0, e);
}

static int warm_ruleset(void *p, struct err *e)
{
	struct init_ctx *c = p;

	if (!c->j->landlock_abi)
		return 0;
	c->own[OWN_LANDLOCK] = jar_landlock(c->j, c->j->root, -1, e);
	return c->own[OWN_LANDLOCK] < 0 ? -1 : jar_landlock_queues(c->j, c->j->root, c->own[OWN_LANDLOCK], e);
}

/* The process that recycles the jar looks whether there are any queues. */
static int warm_queues(void *p, struct err *e)
{
	struct init_ctx *c = p;

	if (init_queues(p, e) < 0)
		return -1;
	if (!c->warm->queues)
		return 0;
	c->own[OWN_QUEUES] = openat(c->j->root, &ROOT_QUEUES[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->own[OWN_QUEUES] < 0)
		return err_sys(e, "open the message queues");
	return 0;
}

static int warm_spaces(void *p, struct err *e)
{
	static const char *const names[] = { [OWN_PID] = "pid", [OWN_MNT] = "mnt", [OWN_IPC] = "ipc" };

	return space_own(names + OWN_PID, OWN_IPC - OWN_PID + 1, ((struct init_ctx *)p)->own + OWN_PID, e);
}

static int warm_enter_slot(void *p, struct err *e)
{
	static const int kinds[SLOT_SPACES] = { CLONE_NEWNET, CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_NEWUSER };
	struct init_ctx *c = p;

	for (int i = 0; i < SLOT_SPACES; i++)
		if (!(i == SLOT_NET && hook_disabled("netns")) && setns(c->warm->slot[i], kinds[i]) < 0)
			return err_sys(e, "enter the slot's namespaces");
	return 0;
}

static int warm_hand_over(void *p, struct err *e)
{
	struct init_ctx *c = p;
	struct jar_report r = { .type = REPORT_READY };
	int fds[OWN_SPACES + 1] = { c->j->data }, n = 1;

	for (int i = 0; i < OWN_SPACES; i++)
		if (c->own[i] >= 0) {
			fds[n++] = c->own[i];
			r.at_ns |= 1ULL << i;
		}
	if (fd_send(c->report, &r, REPORT_SHORT, fds, (unsigned)n) < 0)
		return err_sys(e, "hand the jar over");
	/* The data file system stays open here: whoever closes it last takes it apart, and that need not be the keeper. */
	if (dup3(c->report, 0, O_CLOEXEC) < 0 || dup3(c->j->data, 1, O_CLOEXEC) < 0 || sys_close_range(2, ~0U, 0) < 0)
		return err_sys(e, "close init's descriptors");
	c->control = c->report = 0;
	return 0;
}

const struct step warm_init_steps[] = {
	{ "jar-proc", NULL, init_proc },
	{ "jar-mounts", NULL, warm_mounts },
	{ "jar-devpts", NULL, init_devpts },
	{ "jar-data", NULL, warm_data },
	{ "jar-attach-proc", NULL, init_attach_proc },
	{ "jar-queues", NULL, warm_queues },
	{ "jar-ruleset", NULL, warm_ruleset },
	{ "init-spaces", NULL, warm_spaces },
	{ "init-slot", NULL, warm_enter_slot },
	{ "init-ids", "init_uid", init_ids },
	{ "init-caps", NULL, init_caps },
	{ "init-undumpable", "dumpable", init_undumpable },
	{ "init-deathsig", "pdeathsig", init_deathsig },
	{ "init-signals", NULL, init_signals },
	{ "init-hand-over", NULL, warm_hand_over },
};
const size_t warm_init_step_count = sizeof(warm_init_steps) / sizeof(warm_init_steps[0]);

/* Ends all but init itself, and waits until the kernel has none left. */
static int scrub(struct err *e)
{
	if (step_point("jar-scrub", e) < 0)
		return -1;
	for (int i = 0; i < 2000; i++) {
		if (kill(-1, SIGKILL) < 0 && errno == ESRCH)
			return 0;
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	return err_set(e, ERR_SETUP, "processes of the first step could not be ended");
}

static _Noreturn void serve(struct init_ctx *c, const struct step *steps, size_t count)
{
	struct jar_report r = { 0 };
	char byte;

	if (step_walk(steps, count, c, &r.err) < 0) {
		r.type = REPORT_ERROR;
		fd_send(c->report, &r, sizeof(r), NULL, 0);
		_exit(1);
	}
	for (;;) {
		ssize_t n = read(c->control, &byte, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n != 1)
			_exit(0); /* the maker is gone or done: the kernel ends the jar with us */
		if (byte == CONTROL_SCRUB) {
			r.type = scrub(&r.err) < 0 ? REPORT_ERROR : REPORT_SCRUBBED;
			if (fd_send(c->report, &r, sizeof(r), NULL, 0) < 0)
				_exit(1);
		}
	}
}

void init_main(struct jar *j, int control, int report)
{
	struct init_ctx c = { .j = j, .control = control, .report = report, .proc = -1, .sys = -1 };

	/* Until the last change of ids takes it back (init-deathsig): it may be a while before we are told what to make. The end of our control channel says the same. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	serve(&c, j->early ? init_steps : fence_init_steps, j->early ? init_step_count : fence_init_step_count);
}

void init_warm_main(struct jar *j, const struct warm_birth *b)
{
	struct init_ctx c = { .j = j, .control = b->chan, .report = b->chan, .proc = -1, .sys = -1, .warm = b };

	for (int i = 0; i < OWN_SPACES; i++)
		c.own[i] = -1;
	serve(&c, warm_init_steps, warm_init_step_count);
}
