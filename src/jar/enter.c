/* SPDX-License-Identifier: Apache-2.0 */
/* From the maker's child to the guest: enter the jar, give everything away, read the request, execute. */
#include "jar/jar.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hook.h"
#include "jar/clean.h"
#include "jar/feed.h"
#include "jar/root.h"
#include "jar/seat.h"
#include "kernel/caps.h"
#include "kernel/landlock.h"
#include "kernel/sys.h"

struct enter_ctx {
	struct jar *j;
	int report, feed, workspace;
	int ruleset; /* -1: made at the end, by what is in the jar */
	int stdio[3], spaces[SPACES];
	const struct warm_guest *warm; /* NULL: the guest of a jar of its own */
	struct feed_plan plan;
};

/* Waits until the jar is ready: its namespaces come as descriptors. */
static int enter_gate(void *p, struct err *e)
{
	struct enter_ctx *c = p;
	unsigned count;
	char byte;

	close(c->j->gate[1]);
	if (fd_recv(c->j->gate[0], &byte, 1, c->spaces, SPACES, &count) != 1 || byte != GATE_READY || count != SPACES)
		return err_set(e, ERR_SETUP, "the jar was given up before it was ready");
	return 0;
}

/* Waits until init has given everything away, as we have: from here on foreign bytes may come. */
static int enter_init(void *p, struct err *e)
{
	struct enter_ctx *c = p;
	unsigned count;
	char byte;

	if (fd_recv(c->j->gate[0], &byte, 1, NULL, 0, &count) != 1 || byte != GATE_DONE)
		return err_set(e, ERR_SETUP, "the jar was given up before it was ready");
	return 0;
}

/* From here on everything counts against the guest's limits, the copying of its files too. */
static int enter_cgroups(void *p, struct err *e)
{
	struct jar *j = ((struct enter_ctx *)p)->j;

	return cgroup_enter_v1(j->tasks, j->task_count, e);
}

/* A session of our own: kill(0) must not reach the maker's process group (PR-03). */
static int enter_session(void *p, struct err *e)
{
	(void)p;
	if (setsid() < 0)
		return err_sys(e, "start a session");
	return 0;
}

/* From inside the jar's cgroups, so that /proc/self/cgroup shows "/". */
static int enter_cgroupns(void *p, struct err *e)
{
	(void)p;
	if (unshare(CLONE_NEWCGROUP) < 0)
		return err_sys(e, "make a cgroup namespace");
	return 0;
}

static int enter_namespaces(void *p, struct err *e)
{
	static const int kinds[SPACES] = { CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWNET, CLONE_NEWUSER };
	struct enter_ctx *c = p;
	bool host_net = c->j->spec.flags & JAR_NET_HOST || hook_disabled("netns");

	for (int i = 0; i < SPACES; i++) {
		/* The host's network belongs to the host's user namespace: it is inherited, not entered. */
		if ((i == SPACE_NET && host_net) || (i == SPACE_IPC && hook_disabled("ipcns")))
			continue;
		if (setns(c->spaces[i], kinds[i]) < 0)
			return err_sys(e, "enter the jar's namespaces");
	}
	if (chdir("/") < 0)
		return err_sys(e, "enter the jar's root");
	return 0;
}

static int set_limit(int which, const char *name, rlim_t value, struct err *e)
{
	struct rlimit now, want = { value, value };

	if (getrlimit(which, &now) < 0)
		return err_sys(e, "read limit %s", name);
	/* Raising a hard limit needs a privilege of the host's: keep the smaller. */
	if (now.rlim_max != RLIM_INFINITY && want.rlim_max > now.rlim_max)
		want.rlim_cur = want.rlim_max = now.rlim_max;
	if (now.rlim_cur == want.rlim_cur && now.rlim_max == want.rlim_max)
		return 0;
	if (setrlimit(which, &want) < 0)
		return err_sys(e, "set limit %s", name);
	/* Under a zygote's filter that did nothing: the keeper has set it before (kernel/dumps.h), and we make sure. */
	if (which == RLIMIT_CORE && (getrlimit(which, &now) < 0 || now.rlim_cur != want.rlim_cur || now.rlim_max != want.rlim_max))
		return err_set(e, ERR_SETUP, "set limit %s: it is %llu still", name, (unsigned long long)now.rlim_cur);
	return 0;
}

struct limit {
	int which;
	const char *name;
	rlim_t value;
};

static int set_limits(const struct limit *l, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (set_limit(l[i].which, l[i].name, l[i].value, e) < 0)
			return -1;
	return 0;
}

/* The same in every jar. */
static int enter_limits(void *p, struct err *e)
{
	static const struct limit table[] = {
		/* 1, not 0: the kernel then starts no pipe helper of core_pattern either (KS-18). */
		{ RLIMIT_CORE, "core", 1 },
		{ RLIMIT_MEMLOCK, "memlock", 8 << 20 },
		{ RLIMIT_MSGQUEUE, "msgqueue", 819200 },
		{ RLIMIT_SIGPENDING, "sigpending", 1024 },
		{ RLIMIT_NICE, "nice", 0 },
		{ RLIMIT_RTPRIO, "rtprio", 0 },
		{ RLIMIT_RTTIME, "rttime", 1000000 },
	};

	(void)p;
	return set_limits(table, sizeof(table) / sizeof(table[0]), e);
}

/* Those that the request has a say in. */
static int enter_rlimits(void *p, struct err *e)
{
	struct jar_limits *l = &((struct enter_ctx *)p)->j->limits;
	const struct limit table[] = {
		/* NOFILE comes later: what is needed until then may be more. */
		/* Threads and processes; cgroups count them better, this holds where there are none. */
		{ RLIMIT_NPROC, "nproc", l->nproc },
		/* Past the disk budget: real data meets ENOSPC first, sparse giants meet EFBIG. */
		{ RLIMIT_FSIZE, "fsize", l->disk_bytes * 4 },
		{ RLIMIT_DATA, "data", l->data_bytes ? l->data_bytes : RLIM_INFINITY },
		{ RLIMIT_CPU, "cpu", l->cpu_ms ? l->cpu_ms / 1000 + 2 : RLIM_INFINITY },
	};

	return set_limits(table, sizeof(table) / sizeof(table[0]), e);
}

static int enter_nofile(void *p, struct err *e)
{
	return set_limit(RLIMIT_NOFILE, "nofile", ((struct enter_ctx *)p)->j->limits.nofile, e);
}

static int enter_groups(void *p, struct err *e)
{
	struct jar *j = ((struct enter_ctx *)p)->j;

	/* With a single id the kernel insists on setgroups=deny; what stays is said in isolation.missing. */
	if (!j->ids.single && setgroups(0, NULL) < 0)
		return err_sys(e, "drop groups");
	return 0;
}

static int enter_ids(void *p, struct err *e)
{
	uint32_t id = ((struct enter_ctx *)p)->j->spec.uid;

	/* Undumpable until exec, which takes it back: where guest and maker share an id, nobody reaches in meanwhile. */
	if (setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "take the guest's ids");
	return 0;
}

/* Entering a user namespace refills the bounding set: only now can it be emptied for good. */
static int enter_bounding(void *p, struct err *e)
{
	(void)p;
	return caps_drop_bounding(e);
}

static int enter_caps(void *p, struct err *e)
{
	(void)p;
	return caps_set(0, e);
}

static int enter_deathsig(void *p, struct err *e)
{
	(void)p;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(e, "set the parent death signal");
	return 0;
}

static int enter_no_new_privs(void *p, struct err *e)
{
	(void)p;
	return caps_no_new_privs(e);
}

/* Nothing of how belljar was started shows: signals, mask, umask, timers, personality. */
static int enter_defaults(void *p, struct err *e)
{
	const struct warm_guest *g = ((struct enter_ctx *)p)->warm;
	sigset_t none;
	struct itimerval off = { { 0, 0 }, { 0, 0 } };

	/* An interpreter has the handlers it starts with. */
	for (int s = 1; s < NSIG && !(g && g->interpreter); s++)
		if (s != SIGKILL && s != SIGSTOP)
			signal(s, SIG_DFL);
	sigemptyset(&none);
	umask(022);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0 || setitimer(ITIMER_REAL, &off, NULL) < 0 ||
	    personality(PER_LINUX) < 0)
		return err_sys(e, "reset signals, timers and personality");
	return 0;
}

/* What stays open while the request is read, at fixed numbers. */
enum { FD_REPORT = 3, FD_FEED, FD_WORKSPACE, FD_RULESET, FD_KEPT };

/* Before the first foreign byte: the maker's socket, init's control pipe, namespaces, the template and all the rest are closed. */
static int enter_close(void *p, struct err *e)
{
	struct enter_ctx *c = p;
	auto_close int workspace = openat(c->j->data, root_places[0].name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int keep[FD_KEPT] = { c->stdio[0], c->stdio[1], c->stdio[2], c->report, c->feed, workspace, c->ruleset };
	int kept = c->ruleset >= 0 ? FD_KEPT : FD_RULESET;

	if (workspace < 0)
		return err_sys(e, "open the workspace");
	/* Out of the way first, then each to its place. */
	for (int i = 0; i < kept; i++) {
		keep[i] = fcntl(keep[i], F_DUPFD_CLOEXEC, 64);
		if (keep[i] < 0)
			return err_sys(e, "keep descriptors");
	}
	c->report = keep[FD_REPORT];
	for (int i = 0; i < kept; i++)
		if ((i < FD_REPORT ? dup2(keep[i], i) : dup3(keep[i], i, O_CLOEXEC)) < 0)
			return err_sys(e, "keep descriptors");
	c->report = FD_REPORT;
	c->feed = FD_FEED;
	c->workspace = FD_WORKSPACE;
	c->ruleset = kept == FD_KEPT ? FD_RULESET : -1;
	if (!hook_disabled("close_fds") && sys_close_range((unsigned)kept, ~0U, 0) < 0)
		return err_sys(e, "close descriptors");
	return 0;
}

static int enter_files(void *p, struct err *e)
{
	struct enter_ctx *c = p;

	if (feed_read(c->feed, c->workspace, &c->plan, e) < 0) {
		if (e->sys == ENOSPC)
			err_hint(e, "the files do not fit: raise --disk");
		if (e->sys == ENOMEM || e->sys == EFBIG)
			err_hint(e, "the files do not fit: raise --disk and --memory");
		return -1;
	}
	return 0;
}

/* The request is read: only the standard streams and, until exec, the report stay; and the ruleset until it is in force. */
static int enter_close_feed(void *p, struct err *e)
{
	struct enter_ctx *c = p;
	unsigned report = (unsigned)((struct enter_ctx *)p)->report;

	if (hook_disabled("close_fds"))
		return 0;
	if (c->ruleset >= 0) {
		if (sys_close_range(FD_FEED, FD_RULESET - 1, 0) < 0 || sys_close_range(FD_RULESET + 1, ~0U, 0) < 0)
			return err_sys(e, "close descriptors");
		return 0;
	}
	if (report > FD_FEED && sys_close_range(FD_FEED, report - 1, 0) < 0)
		return err_sys(e, "close descriptors");
	if (sys_close_range(report >= FD_FEED ? report + 1 : FD_FEED, ~0U, 0) < 0)
		return err_sys(e, "close descriptors");
	return 0;
}

static int open_cwd(const char *path)
{
	return sys_openat2(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0, RESOLVE_NO_MAGICLINKS | RESOLVE_IN_ROOT);
}

/* With the guest's own rights: all others are given away. What is there already, or cannot be made, shows when it is opened. */
static void make_folders(const char *path)
{
	char part[4096];

	for (size_t i = 1; path[i - 1] && i < sizeof(part); i++) {
		if (path[i] && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return;
	}
}

static int enter_cwd(void *p, struct err *e)
{
	struct enter_ctx *c = p;
	auto_close int dir = open_cwd(c->plan.cwd);
	int error;

	if (dir < 0 && errno == ENOENT) {
		make_folders(c->plan.cwd);
		error = errno;
		dir = open_cwd(c->plan.cwd);
		errno = dir < 0 && errno == ENOENT ? error : errno;
	}
	if (dir < 0 || fchdir(dir) < 0) {
		err_sys(e, "enter the working directory '%.100s'", c->plan.cwd);
		e->kind = ERR_INPUT;
		return err_hint(e, "--workdir: a folder that is not there is made, but only below /workspace, /tmp and /home/guest");
	}
	return 0;
}

/* The folders of the data file system, by the names they have there. */
static int open_place(int root, int data, const char *path)
{
	const uint64_t how = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH;

	for (int i = 0; i < ROOT_PLACES && data >= 0; i++)
		if (strcmp(root_places[i].path, path) == 0)
			return sys_openat2(data, root_places[i].name, O_PATH, 0, how);
	return sys_openat2(root, path[1] ? path + 1 : ".", O_PATH, 0, how);
}

int jar_landlock(const struct jar *j, int root, int data, struct err *e)
{
	bool rw = !(j->spec.flags & JAR_NO_WRITE), fenced = j->allow && !hook_disabled("allow_landlock");
	/* Under an allow-list only the files of the list can be executed. */
	enum landlock_right host = fenced ? LANDLOCK_READ : LANDLOCK_READ_EXEC;
	enum landlock_right own = rw ? (fenced ? LANDLOCK_WRITE_NOEXEC : LANDLOCK_WRITE) : host;
	int abi = j->landlock_abi;
	/* Rights add up along a path: execution is granted where programs are, not at "/". */
	enum { ALWAYS, RW, RO, TREE };
	const struct {
		const char *path;
		enum landlock_right right;
		int when; /* TREE: not where it is a link into /usr, which has its rule, or not there */
	} rules[] = {
		{ "/", LANDLOCK_READ, ALWAYS },
		{ "/usr", host, ALWAYS },
		{ "/bin", host, TREE },
		{ "/sbin", host, TREE },
		{ "/lib", host, TREE },
		{ "/lib32", host, TREE },
		{ "/lib64", host, TREE },
		{ "/libx32", host, TREE },
		{ "/workspace", own, ALWAYS },
		{ "/tmp", own, ALWAYS },
		{ ROOT_HOME, own, ALWAYS },
		{ "/dev/shm", LANDLOCK_WRITE_NOEXEC, RW },
		/* One rule for all that is in it, where /dev/shm may be written to anyway; otherwise one for each. */
		{ "/dev", LANDLOCK_DEVICE, RW },
		{ "/dev/null", LANDLOCK_DEVICE, RO },
		{ "/dev/zero", LANDLOCK_DEVICE, RO },
		{ "/dev/full", LANDLOCK_DEVICE, RO },
		{ "/dev/random", LANDLOCK_DEVICE, RO },
		{ "/dev/urandom", LANDLOCK_DEVICE, RO },
		{ "/dev/pts", LANDLOCK_TTY, ALWAYS },
	};
	auto_close int set = -1;

	set = landlock_new(abi, e);
	if (set < 0)
		return -1;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		auto_close int fd = rules[i].when == (rw ? RO : RW) ? -1 : open_place(root, data, rules[i].path);

		if (rules[i].when == (rw ? RO : RW) || (rules[i].when == TREE && fd < 0 && (errno == ELOOP || errno == ENOENT)))
			continue;
		if (fd < 0)
			return err_sys(e, "open '%s' for Landlock", rules[i].path);
		if (landlock_allow_fd(set, abi, fd, rules[i].path, rules[i].right, e) < 0)
			return -1;
	}
	return take_fd(&set);
}

int jar_landlock_queues(const struct jar *j, int root, int set, struct err *e)
{
	auto_close int fd = open_place(root, -1, ROOT_QUEUES);

	return landlock_allow_fd(set, j->landlock_abi, fd, ROOT_QUEUES, LANDLOCK_DEVICE, e);
}

int jar_landlock_own(const struct jar *j, int set, struct err *e)
{
	bool rw = !(j->spec.flags & JAR_NO_WRITE), fenced = j->allow && !hook_disabled("allow_landlock");
	enum landlock_right host = fenced ? LANDLOCK_READ : LANDLOCK_READ_EXEC;
	enum landlock_right data = rw ? (fenced ? LANDLOCK_WRITE_NOEXEC : LANDLOCK_WRITE) : host;
	int abi = j->landlock_abi;

	for (uint32_t i = 0; i < j->spec.bind_count; i++)
		if (landlock_allow(set, abi, j->spec.binds[i], jar_is_layer(&j->spec, i) ? data : host, e) < 0)
			return -1;
	for (size_t i = 0; fenced && i < j->allow->count; i++)
		if (j->allow->items[i].kind < ALLOW_FILES && landlock_allow(set, abi, j->allow->items[i].path, LANDLOCK_READ_EXEC, e) < 0)
			return -1;
	return 0;
}

/* While init makes the jar. An allow-list shows another /usr than the template's: its rules come at the end. */
static int enter_ruleset(void *p, struct err *e)
{
	struct enter_ctx *c = p;

	if (!c->j->landlock_abi || c->j->allow)
		return 0;
	c->ruleset = jar_landlock(c->j, c->j->root, c->j->data, e);
	return c->ruleset < 0 ? -1 : 0;
}

static int enter_landlock(void *p, struct err *e)
{
	struct enter_ctx *c = p;
	auto_close int root = -1, set = take_fd(&c->ruleset);

	if (!c->j->landlock_abi)
		return 0; /* the keeper refused this unless the caller allowed it */
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (set < 0)
		set = jar_landlock(c->j, root, -1, e);
	return set < 0 || jar_landlock_queues(c->j, root, set, e) < 0 || jar_landlock_own(c->j, set, e) < 0 ? -1 : landlock_enforce(set, e);
}

static int hand_over_listener(struct enter_ctx *c, int listener, struct err *e)
{
	struct jar_report r = { .type = REPORT_LISTENER };

	if (listener < 0)
		return -1;
	if (fd_send(c->report, &r, REPORT_SHORT, &listener, 1) < 0)
		return err_sys(e, "hand over the filter's listener");
	close(listener);
	return 0;
}

static bool allow_filter(const struct enter_ctx *c)
{
	return c->j->allow && !hook_disabled("allow_seccomp");
}

/* No memory cgroup: the keeper chose an rlimit instead. */
static bool is_uncounted(const struct enter_ctx *c)
{
	return c->j->limits.data_bytes != 0 && !hook_disabled("uncounted");
}

/* The larger half of the filter, with the two calls open that are still needed: also while init makes the jar, and before the first foreign byte. */
static int enter_filter(void *p, struct err *e)
{
	struct enter_ctx *c = p;

	return allow_filter(c) ? 0 : hand_over_listener(c, seccomp_load_zygote(is_uncounted(c), e), e);
}

static int enter_seccomp(void *p, struct err *e)
{
	struct enter_ctx *c = p;

	return allow_filter(c) ? hand_over_listener(c, seccomp_load_allow(is_uncounted(c), e), e) : seccomp_load_last(e);
}

#define WORDS_MAX 8192

/* Points into a list of NUL-terminated words. */
static int split(char *words, uint64_t len, char **out, const char *what, struct err *e)
{
	unsigned n = 0;

	for (char *w = words; w && w < words + len; w += strlen(w) + 1) {
		if (n == WORDS_MAX)
			return err_set(e, ERR_REQUEST, "more than %d %s", WORDS_MAX, what);
		out[n++] = w;
	}
	out[n] = NULL;
	return 0;
}

/* The kernel has refused: the allow-list says why. */
static int exec_denied(const struct allow *a, const char *program, struct err *e)
{
	char names[220];

	allow_names(a, names, sizeof(names));
	err_set(e, ERR_DENIED, "'%.100s' may not be started here; allowed: %s", program, names);
	return err_hint(e, "name it with --allow (or 'allow' of the request)");
}

static int exec_failed(const struct jar *j, const char *program, struct err *e)
{
	int saved = errno;

	if (j->allow && (saved == ENOENT || saved == EACCES || saved == EPERM || saved == ENOTDIR))
		return exec_denied(j->allow, program, e);
	err_sys(e, "start '%.100s'", program);
	e->kind = saved == ENOENT || saved == ENOTDIR ? ERR_NOT_FOUND : ERR_NOT_EXEC;
	if (saved == ENOENT)
		err_hint(e, "programs come from the host's /usr; files of the request are in /workspace");
	else if (saved == EACCES)
		err_hint(e, "is it a program, and executable (chmod +x)?");
	else if (saved == ENOEXEC)
		err_hint(e, "it is no program and has no '#!' line: name its language with --lang");
	return -1;
}

static int enter_exec(void *p, struct err *e)
{
	static char *argv[WORDS_MAX + 1], *envp[WORDS_MAX + 1];
	struct feed_plan *plan = &((struct enter_ctx *)p)->plan;
	const struct jar *j = ((struct enter_ctx *)p)->j;
	struct jar_report r = { .type = REPORT_EXEC, .at_ns = clock_mono_ns() };
	const char *path = NULL;
	int best = ENOENT;

	if (split(plan->argv_words, plan->argv_len, argv, "arguments", e) < 0 ||
	    split(plan->env_words, plan->env_len, envp, "environment variables", e) < 0)
		return -1;
	if (!argv[0])
		return err_set(e, ERR_INTERNAL, "no command");
	/* From here on the end of this channel means exec. */
	if (fd_send(((struct enter_ctx *)p)->report, &r, REPORT_SHORT, NULL, 0) < 0)
		return err_sys(e, "say that the guest starts");
	if (strchr(argv[0], '/')) {
		execve(argv[0], argv, envp);
		return exec_failed(j, argv[0], e);
	}
	for (char **v = envp; *v; v++)
		if (strncmp(*v, "PATH=", 5) == 0)
			path = *v + 5;
	while (path && *path && argv[0][0]) {
		const char *end = strchrnul(path, ':');
		char file[512];

		if (snprintf(file, sizeof(file), "%.*s/%s", (int)(end - path), path, argv[0]) < (int)sizeof(file)) {
			execve(file, argv, envp);
			if (errno != ENOENT && errno != ENOTDIR)
				best = errno;
		}
		path = *end ? end + 1 : end;
	}
	errno = best;
	return exec_failed(j, argv[0], e);
}

/*
 * The order matters: what does not need the jar comes before the gate, while init makes it; the cgroup namespace while U1's rights are there; ids before
 * the bounding set; the death signal after the last change of ids; no foreign byte before init has given everything away; the last of the
 * filter at the end, since it forbids some of the above.
 */
const struct step enter_steps[] = {
	{ "guest-cgroups", NULL, enter_cgroups },
	{ "guest-session", "setsid", enter_session },
	{ "guest-cgroupns", NULL, enter_cgroupns },
	{ "guest-limits", "rlimits", enter_limits },
	{ "guest-rlimits", "rlimits", enter_rlimits },
	{ "guest-defaults", NULL, enter_defaults },
	{ "guest-ruleset", "landlock", enter_ruleset },
	{ "guest-filter", "seccomp", enter_filter },
	{ "guest-gate", NULL, enter_gate },
	{ "guest-namespaces", NULL, enter_namespaces },
	{ "guest-groups", "groups", enter_groups },
	{ "guest-ids", "ids", enter_ids },
	{ "guest-bounding", "bounding", enter_bounding },
	{ "guest-caps", "caps", enter_caps },
	{ "guest-deathsig", "pdeathsig", enter_deathsig },
	{ "guest-no-new-privs", "no_new_privs", enter_no_new_privs },
	{ "guest-init", NULL, enter_init },
	{ "guest-close", NULL, enter_close },
	{ "guest-files", NULL, enter_files },
	{ "guest-cwd", NULL, enter_cwd },
	{ "guest-close-feed", NULL, enter_close_feed },
	{ "guest-nofile", "rlimits", enter_nofile },
	{ "guest-landlock", "landlock", enter_landlock },
	{ "guest-seccomp", "seccomp", enter_seccomp },
	{ "guest-exec", NULL, enter_exec },
};
const size_t enter_step_count = sizeof(enter_steps) / sizeof(enter_steps[0]);

void enter_main(struct jar *j, int report, const int stdio[3], int feed)
{
	struct enter_ctx c = { .j = j, .report = report, .feed = feed, .ruleset = -1, .stdio = { stdio[0], stdio[1], stdio[2] } };
	struct jar_report r = { .type = REPORT_ERROR };

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* until guest-deathsig */
	step_walk(enter_steps, enter_step_count, &c, &r.err);
	/* Still here: something failed. The guest never ran. */
	fd_send(c.report, &r, sizeof(r), NULL, 0);
	_exit(1);
}

/* ---- a guest that waits ---- */

static int warm_namespaces(void *p, struct err *e)
{
	struct enter_ctx *c = p;
	const struct warm_jar *w = &c->warm->jar;

	if (setns(w->slot[SLOT_CGROUP], CLONE_NEWCGROUP) < 0)
		return err_sys(e, "enter the jar's cgroup namespace");
	c->spaces[SPACE_MNT] = w->own[OWN_MNT];
	c->spaces[SPACE_IPC] = w->own[OWN_IPC];
	c->spaces[SPACE_UTS] = w->slot[SLOT_UTS];
	c->spaces[SPACE_NET] = w->slot[SLOT_NET];
	c->spaces[SPACE_USER] = w->slot[SLOT_USER];
	return enter_namespaces(p, e);
}

/* The first thing that an interpreter does: everything is given away. */
static int warm_settle(void *p, struct err *e)
{
	struct enter_ctx *c = p;

	(void)e;
	if (c->warm->settle)
		c->warm->settle();
	return 0;
}

/* We are in the jar, root of U2, and nothing of ours was given away yet; or we are the guest's user, whose all of it is. */
static int warm_clean(void *p, struct err *e)
{
	struct enter_ctx *c = p;
	const int *places = c->warm->places;
	int own[ROOT_PLACES];

	if (!c->warm->recycled)
		return 0;
	if (!places) {
		/* Closed with everything else. */
		if (clean_open(own, e) < 0)
			return -1;
		places = own;
	}
	return clean_jar(places, c->warm->jar.own[OWN_QUEUES], c->j->spec.uid, e);
}

static int warm_landlock(void *p, struct err *e)
{
	struct enter_ctx *c = p;

	if (!c->j->landlock_abi)
		return 0;
	return landlock_enforce(c->warm->jar.own[OWN_LANDLOCK], e);
}

static int warm_close(void *p, struct err *e)
{
	struct enter_ctx *c = p;

	if (c->report != FD_REPORT && dup3(c->report, FD_REPORT, O_CLOEXEC) < 0)
		return err_sys(e, "keep descriptors");
	c->report = FD_REPORT;
	if (!hook_disabled("close_fds") && sys_close_range(FD_REPORT + 1, ~0U, 0) < 0)
		return err_sys(e, "close descriptors");
	return 0;
}

/* The other half was inherited from the zygote, with its listener. */
static int warm_seccomp(void *p, struct err *e)
{
	(void)p;
	return seccomp_load_last(e);
}

/* Everything is given away. From here on time may pass: what comes next is the request. */
static int warm_wait(void *p, struct err *e)
{
	struct enter_ctx *c = p;
	struct jar_report r = { .type = REPORT_WAITING };
	struct warm_go go;
	unsigned count;
	int fds[5];

	c->workspace = open("/workspace", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c->workspace < 0)
		return err_sys(e, "open the workspace");
	if (fd_send(c->report, &r, REPORT_SHORT, NULL, 0) < 0)
		_exit(0);
	/* A keeper that is gone wants nothing any more. */
	if (fd_recv(c->report, &go, sizeof(go), fds, 5, &count) != sizeof(go) || count < 4)
		_exit(0);
	c->j->limits = go.limits;
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			return err_sys(e, "take the standard streams");
	c->feed = fds[3];
	if (count == 5) {
		c->report = fcntl(FD_REPORT, F_DUPFD_CLOEXEC, 16);
		if (c->report < 0 || dup2(fds[4], FD_REPORT) < 0)
			return err_sys(e, "take the program's own feed");
	}
	return 0;
}

static int warm_exec(void *p, struct err *e)
{
	struct enter_ctx *c = p;
	struct jar_report r = { .type = REPORT_EXEC, .at_ns = clock_mono_ns() };

	if (!c->warm->interpreter)
		return enter_exec(p, e);
	if (!c->warm->serves(&c->plan)) {
		r.type = REPORT_COLD;
		fd_send(c->report, &r, REPORT_SHORT, NULL, 0);
		_exit(0);
	}
	/* No exec makes it dumpable, as every program is that runs under one id. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return err_sys(e, "become dumpable");
	if (fd_send(c->report, &r, REPORT_SHORT, NULL, 0) < 0)
		return err_sys(e, "say that the guest starts");
	close(c->report);
	return 0;
}

/* The same as above in the same order, but for the ruleset, which is ready, and the filter, which comes before the wait. */
const struct step warm_enter_steps[] = {
	{ "guest-cgroups", NULL, enter_cgroups },
	{ "guest-session", "setsid", enter_session },
	{ "guest-namespaces", NULL, warm_namespaces },
	{ "guest-clean", NULL, warm_clean },
	{ "guest-limits", "rlimits", enter_limits },
	{ "guest-groups", "groups", enter_groups },
	{ "guest-ids", "ids", enter_ids },
	{ "guest-bounding", "bounding", enter_bounding },
	{ "guest-caps", "caps", enter_caps },
	{ "guest-deathsig", "pdeathsig", enter_deathsig },
	{ "guest-no-new-privs", "no_new_privs", enter_no_new_privs },
	{ "guest-defaults", NULL, enter_defaults },
	{ "guest-landlock", "landlock", warm_landlock },
};
const size_t warm_enter_step_count = sizeof(warm_enter_steps) / sizeof(warm_enter_steps[0]);

/* What follows, whoever bore it. */
const struct step warm_wait_steps[] = {
	{ "guest-close", NULL, warm_close },
	{ "guest-seccomp", "seccomp", warm_seccomp },
	{ "guest-settle", NULL, warm_settle },
	{ "guest-wait", NULL, warm_wait },
	{ "guest-rlimits", "rlimits", enter_rlimits },
	{ "guest-files", NULL, enter_files },
	{ "guest-cwd", NULL, enter_cwd },
	{ "guest-close-feed", NULL, enter_close_feed },
	{ "guest-nofile", "rlimits", enter_nofile },
	{ "guest-exec", NULL, warm_exec },
};
const size_t warm_wait_step_count = sizeof(warm_wait_steps) / sizeof(warm_wait_steps[0]);

/* ---- a guest of a seat ---- */

/* Its children are to be born there: from U2 nobody could say so. */
static int seat_namespaces(void *p, struct err *e)
{
	struct enter_ctx *c = p;

	if (setns(c->warm->jar.own[OWN_PID], CLONE_NEWPID) < 0)
		return err_sys(e, "enter the jar's pid namespace");
	return warm_namespaces(p, e);
}

static int seat_close(void *p, struct err *e)
{
	struct enter_ctx *c = p;
	int keep[1 + ROOT_PLACES];

	if (clean_open(keep + 1, e) < 0)
		return -1;
	keep[0] = c->warm->jar.own[OWN_QUEUES];
	for (int i = 0; i < 1 + ROOT_PLACES; i++)
		keep[i] = fcntl(keep[i], F_DUPFD_CLOEXEC, 64);
	for (int i = 0; i < 1 + ROOT_PLACES; i++)
		if (keep[i] < 0 || dup3(keep[i], SEAT_QUEUES + i, O_CLOEXEC) < 0)
			return err_sys(e, "keep a seat's descriptors");
	return sys_close_range(SEAT_FDS, ~0U, 0) < 0 ? err_sys(e, "close a seat's descriptors") : 0;
}

/* A seat gives away what its guests are not to have, once for all of them. */
const struct step seat_steps[] = {
	{ "guest-namespaces", NULL, seat_namespaces },
	{ "guest-limits", "rlimits", enter_limits },
	{ "guest-groups", "groups", enter_groups },
	{ "guest-ids", "ids", enter_ids },
	{ "guest-bounding", "bounding", enter_bounding },
	{ "guest-caps", "caps", enter_caps },
	{ "guest-deathsig", NULL, enter_deathsig }, /* new ids have taken it away */
	{ "guest-no-new-privs", "no_new_privs", enter_no_new_privs },
	{ "guest-landlock", "landlock", warm_landlock },
	{ "seat-close", NULL, seat_close },
};
const size_t seat_step_count = sizeof(seat_steps) / sizeof(seat_steps[0]);

int enter_seat(struct jar *j, const struct warm_guest *g, struct err *e)
{
	struct enter_ctx c = { .j = j, .report = -1, .feed = -1, .workspace = -1, .ruleset = -1, .warm = g };

	return step_walk(seat_steps, seat_step_count, &c, e);
}

/* The last guest's word on it is still there: it is the memory's. */
static int seat_undumpable(void *p, struct err *e)
{
	(void)p;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "become undumpable");
	return 0;
}

/* What a process does not have from its parent, or has only until then. */
const struct step seat_enter_steps[] = {
	{ "guest-session", "setsid", enter_session },
	{ "guest-dumpable", "ids", seat_undumpable },
	{ "guest-clean", NULL, warm_clean },
	{ "guest-deathsig", "pdeathsig", enter_deathsig },
	{ "guest-defaults", NULL, enter_defaults },
};
const size_t seat_enter_step_count = sizeof(seat_enter_steps) / sizeof(seat_enter_steps[0]);

void enter_warm(struct jar *j, const struct warm_guest *g, struct feed_plan *plan)
{
	struct enter_ctx c = { .j = j, .report = g->report, .feed = -1, .workspace = -1, .ruleset = -1, .warm = g };
	struct jar_report r = { .type = REPORT_ERROR };
	int rc = g->places ? step_walk(seat_enter_steps, seat_enter_step_count, &c, &r.err) : step_walk(warm_enter_steps, warm_enter_step_count, &c, &r.err);

	if (rc == 0 && step_walk(warm_wait_steps, warm_wait_step_count, &c, &r.err) == 0) {
		*plan = c.plan;
		return;
	}
	fd_send(c.report, &r, sizeof(r), NULL, 0);
	_exit(1);
}
