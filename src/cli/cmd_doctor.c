/* SPDX-License-Identifier: Apache-2.0 */
/* belljar doctor: one line per feature of this host, each failure with its fix. */
#include <errno.h>
#include <jansson.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "keeper/slot.h"
#include "kernel/cgroup.h"
#include "kernel/idmap.h"
#include "kernel/dumps.h"
#include "kernel/landlock.h"
#include "kernel/sys.h"
#include "run/config.h"
#include "run/logs.h"
#include "run/run.h"
#include "run/state.h"
#include "store/store.h"

struct doctor {
	bool json;
};

static const struct opt doctor_opts[] = {
	{ "json", 'j', NULL, NULL, OPT_FLAG, offsetof(struct doctor, json), NULL, 0, 0, 0, "print a JSON list" },
	{ .name = NULL },
};

const struct opt_cmd cmd_doctor_opts = {
	.name = "doctor",
	.summary = "say what this host offers for isolation, and how to get what is missing",
	.usage = "  belljar doctor [--json]",
	.details = "Exit status 0 when programs can be isolated here (perhaps with less), 1 when not.",
	.opts = doctor_opts,
};

enum level { GOOD, WEAKER, BROKEN };

struct finding {
	enum level level;
	char text[400], fix[300];
};

typedef void check_fn(struct finding *f);

static void say(struct finding *f, enum level level, const char *text, const char *fix)
{
	f->level = level;
	snprintf(f->text, sizeof(f->text), "%s", text);
	snprintf(f->fix, sizeof(f->fix), "%s", fix ? fix : "");
}

static void check_who(struct finding *f)
{
	struct utsname u;

	uname(&u);
	say(f, GOOD, "", NULL);
	snprintf(f->text, sizeof(f->text), "%s (uid %u), Linux %.100s", geteuid() ? "rootless" : "root", geteuid(), u.release);
}

/* Whether a child can make the namespaces, tried rather than read from settings. */
static bool try_clone(uint64_t flags)
{
	int status;
	pid_t pid = sys_clone(flags, NULL);

	if (pid == 0)
		_exit(0);
	return pid > 0 && waitpid(pid, &status, 0) == pid;
}

static void check_userns(struct finding *f)
{
	char text[32];

	if (try_clone(CLONE_NEWUSER))
		say(f, GOOD, "can be made", NULL);
	else if (fd_read_file(AT_FDCWD, "/proc/sys/kernel/unprivileged_userns_clone", text, sizeof(text)) > 0 && text[0] == '0')
		say(f, BROKEN, "switched off", "sysctl kernel.unprivileged_userns_clone=1");
	else if (fd_read_file(AT_FDCWD, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", text, sizeof(text)) > 0 && text[0] == '1')
		say(f, BROKEN, "restricted by AppArmor", "sysctl kernel.apparmor_restrict_unprivileged_userns=0");
	else
		say(f, BROKEN, "cannot be made", "sysctl user.max_user_namespaces=10000; in a chroot the kernel forbids them; in a container: allow them");
}

static void check_namespaces(struct finding *f)
{
	if (try_clone(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP))
		say(f, GOOD, "mount, pid, net, ipc, uts, cgroup", NULL);
	else
		say(f, BROKEN, "not all can be made", "a kernel with CONFIG_NAMESPACES and all of its kinds is needed");
}

static void check_ids(struct finding *f)
{
	struct slot s;
	struct err e = { 0 };
	char dir[256];

	if (slot_run_dir(dir, sizeof(dir), &e) < 0 || slot_claim(&s, dir, &e) < 0) {
		say(f, BROKEN, e.msg, e.hint);
		return;
	}
	close(s.lock);
	if (s.single)
		say(f, WEAKER, "guests share your own uid", "apt-get install uidmap; usermod --add-subuids 100000-165535 --add-subgids 100000-165535 YOU");
	else
		say(f, GOOD, "", NULL);
	if (!s.single)
		snprintf(f->text, sizeof(f->text), "guests get their own, from %u on", s.uids.start);
}

static void check_seccomp(struct finding *f)
{
	uint32_t action = SECCOMP_RET_USER_NOTIF;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
		say(f, GOOD, "filters with user notification", NULL);
	else
		say(f, BROKEN, "no user notification", "Linux 5.0 or newer with CONFIG_SECCOMP_FILTER is needed");
}

static void check_landlock(struct finding *f)
{
	int abi = landlock_abi();

	say(f, abi >= 6 ? GOOD : abi ? WEAKER : BROKEN, "", abi >= 6 ? NULL : abi ? "Linux 6.12 or newer adds scopes for signals and abstract sockets"
									    : "boot with lsm=landlock,...; or accept less with --allow-degraded");
	snprintf(f->text, sizeof(f->text), abi ? "ABI %d" : "not there", abi);
}

static void check_cgroup(struct finding *f, int ctl, const char *without)
{
	struct cgroup_host h;

	cgroup_host_open(&h);
	if (h.ctl[ctl].parent >= 0) {
		say(f, GOOD, "", NULL);
		snprintf(f->text, sizeof(f->text), "version %d", h.ctl[ctl].v2 ? 2 : 1);
	} else {
		say(f, WEAKER, without, h.why[0] ? h.why : "the controller is not enabled: see /sys/fs/cgroup/cgroup.controllers");
	}
	cgroup_host_close(&h);
}

static void check_memory(struct finding *f)
{
	check_cgroup(f, CGROUP_MEMORY, "limited by rlimits and polling only");
}

static void check_cpu(struct finding *f)
{
	check_cgroup(f, CGROUP_CPU, "no CPU share can be set");
}

static void check_cpuacct(struct finding *f)
{
	check_cgroup(f, CGROUP_CPUACCT, "CPU time is known of the main process only");
}

static void check_pids(struct finding *f)
{
	check_cgroup(f, CGROUP_PIDS, "limited by rlimits only");
}

static void check_kill(struct finding *f)
{
	check_cgroup(f, CGROUP_KILL, "jars are ended through their init alone (which suffices)");
	if (f->level == WEAKER)
		f->level = GOOD;
}

static void check_core(struct finding *f)
{
	struct err e = { 0 };
	char text[160] = "";

	if (fd_read_file(AT_FDCWD, "/proc/sys/kernel/core_pattern", text, sizeof(text)) < 0)
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (dumps_bar(&e) < 0) {
		say(f, BROKEN, e.msg, e.hint);
		return;
	}
	say(f, GOOD, "", NULL);
	snprintf(f->text, sizeof(f->text), "'%s'; guests never dump (RLIMIT_CORE 1, or 0 where no helper is named)", text);
}

static void check_keeper(struct finding *f)
{
	struct client c;
	struct err e = { 0 };

	if (client_start(&c, false, &e) < 0)
		say(f, BROKEN, e.msg, e.hint);
	else
		say(f, GOOD, "starts", NULL);
	client_close(&c);
}

/* The whole way, for real: /bin/true in a jar. Overlayfs and the rest show here. */
static void check_jar(struct finding *f)
{
	static struct request req;
	static struct result res;
	static struct config config;
	struct arena a = { 0 };
	struct run_options opt = { 0 };
	struct client c = { -1 };
	struct err e = { 0 };

	if (config_load(&config, &req, &a, &e) < 0 || client_start(&c, false, &e) < 0) {
		say(f, BROKEN, e.msg, e.hint);
		return;
	}
	strlist_add(&a, &req.argv, "/bin/true");
	if (request_resolve(&req, &a, &e) < 0) {
		say(f, BROKEN, e.msg, e.hint);
	} else {
		run_execute(&req, &opt, &c, &a, &res);
		if (res.verdict.status == STATUS_COMPLETED)
			say(f, res.facts.missing & JAR_MISSING_OVERLAY ? WEAKER : GOOD,
			    res.facts.missing & JAR_MISSING_OVERLAY ? "works; the root is shown by binds, not overlays" : "works, root by overlayfs",
			    res.facts.missing & JAR_MISSING_OVERLAY ? "overlayfs in user namespaces needs Linux 5.11 and no mounts below /usr" : NULL);
		else
			say(f, BROKEN, res.verdict.error, res.verdict.hint);
		run_result_done(&res);
	}
	client_close(&c);
	arena_free(&a);
}

/* The settings of this user here; false: they are broken, and that was said. */
static bool load_settings(struct config *config, struct arena *a, struct finding *f)
{
	static struct request req;
	struct err e = { 0 };

	if (config_load(config, &req, a, &e) == 0)
		return true;
	say(f, BROKEN, e.msg, e.hint);
	return false;
}

static void check_logs(struct finding *f)
{
	static struct config config;
	struct arena a = { 0 };
	struct logs_found found;
	struct err e = { 0 };
	char is[32], max[32];

	if (!load_settings(&config, &a, f)) {
		;
	} else if (logs_trim(&config.logs, config.logs.max_bytes, true, &found, &e) < 0) {
		say(f, WEAKER, e.msg, e.hint);
	} else {
		format_bytes(found.bytes, is, sizeof(is));
		format_bytes(config.logs.max_bytes, max, sizeof(max));
		say(f, GOOD, "", NULL);
		snprintf(f->text, sizeof(f->text), "%s in %zu logs (%.200s); kept: %s, %llu days, %d logs", is, found.files, found.dir, max,
			 (unsigned long long)config.logs.max_age_ms / 86400000, LOGS_FILES_MAX);
	}
	arena_free(&a);
}

static int measure_receipts(const char *dir, char *text, size_t size, struct err *e)
{
	static struct store store;
	uint64_t bytes, codes, removed;
	struct stat st = { 0 };
	char file[32], is[32];

	if (store_open(&store, dir, false, 1000, e) < 0)
		return -1;
	if (fstatat(store.dir, STORE_FILE, &st, 0) < 0 || store_code_size(&store, &bytes, &codes, &removed, e) < 0) {
		store_close(&store);
		return -1;
	}
	store_close(&store);
	format_bytes((uint64_t)st.st_size, file, sizeof(file));
	format_bytes(bytes, is, sizeof(is));
	snprintf(text, size, "%s in %.150s/" STORE_FILE "; %s of it is code (%llu texts, %llu removed for room)", file, dir, is, (unsigned long long)codes, (unsigned long long)removed);
	return 0;
}

static void check_receipts(struct finding *f)
{
	static struct config config;
	struct arena a = { 0 };
	struct err e = { 0 };
	char dir[400], text[340], max[32];

	if (load_settings(&config, &a, f)) {
		format_bytes(config.receipts.code_max, max, sizeof(max));
		if (state_dir(dir, sizeof(dir), &e) < 0) {
			say(f, BROKEN, e.msg, e.hint);
		} else if (!store_exists(dir)) {
			say(f, GOOD, "none yet", NULL);
		} else if (measure_receipts(dir, text, sizeof(text), &e) < 0) {
			say(f, WEAKER, e.msg, e.hint);
		} else {
			say(f, GOOD, "", NULL);
			snprintf(f->text, sizeof(f->text), "%s; kept of code: %s", text, max);
		}
	}
	arena_free(&a);
}

static const struct {
	const char *name;
	check_fn *check;
} checks[] = {
	{ "who I am", check_who },	    { "user namespaces", check_userns }, { "other namespaces", check_namespaces },
	{ "host ids", check_ids },	    { "seccomp", check_seccomp },	 { "landlock", check_landlock },
	{ "cgroup memory", check_memory },  { "cgroup cpu", check_cpu },	 { "cgroup cpuacct", check_cpuacct },
	{ "cgroup pids", check_pids },	    { "cgroup kill", check_kill },	 { "core dumps", check_core },
	{ "keeper", check_keeper },	    { "a jar", check_jar },		 { "logs", check_logs },
	{ "receipts", check_receipts },
};

int cmd_doctor(int argc, char **argv)
{
	static const char *const marks[] = { "ok", "weaker", "broken" }, *const colours[] = { "\033[32m", "\033[33m", "\033[31m" };
	struct doctor d = { false };
	struct arena a = { 0 };
	struct opt_rest rest;
	json_t *list = json_array();
	bool broken = false, colour = cli_colour(1);
	int status = 0;

	if (cli_parse(&cmd_doctor_opts, argc, argv, &d, &rest, &a, &status))
		return status;
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct finding f = { 0 };

		checks[i].check(&f);
		broken = broken || f.level == BROKEN;
		if (d.json) {
			json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s?}", "feature", checks[i].name, "state", marks[f.level],
							      "text", f.text, "fix", f.fix[0] ? f.fix : NULL));
			continue;
		}
		printf("%s%-7s%s %-17s %s\n", colour ? colours[f.level] : "", marks[f.level], colour ? "\033[0m" : "", checks[i].name, f.text);
		if (f.level != GOOD && f.fix[0])
			printf("%26sfix: %s\n", "", f.fix);
	}
	if (d.json)
		json_dumpf(list, stdout, JSON_INDENT(2)), putchar('\n');
	json_decref(list);
	arena_free(&a);
	return broken ? 1 : 0;
}
