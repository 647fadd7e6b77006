/* SPDX-License-Identifier: Apache-2.0 */
/* belljar bench: starting processes and waiting for them, their CPU time, and what is made on the host for them and removed again. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "bench/bench.h"
#include "keeper/spawn.h"
#include "run/state.h"

volatile sig_atomic_t bench_stop;

/* ---- programs -------------------------------------------------------------------------------- */

bool bench_find_program(const char *name, char *out, size_t size)
{
	const char *path = getenv("PATH");
	char all[4096];

	snprintf(all, sizeof(all), "%s:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", path ? path : "");
	for (char *save = NULL, *dir = strtok_r(all, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		snprintf(out, size, "%s/%s", dir, name);
		if (dir[0] == '/' && access(out, X_OK) == 0)
			return true;
	}
	return false;
}

/* `belljar` beside the front; where they are installed apart, the one that was called. */
static void find_belljar(char *out, size_t size)
{
	spawn_path("belljar", out, size);
	if (access(out, X_OK) == 0)
		return;
	if (strchr(program_invocation_name, '/'))
		snprintf(out, size, "%s", program_invocation_name);
	else
		bench_find_program(program_invocation_name, out, size);
}

/* ---- flights --------------------------------------------------------------------------------- */

/* Between vfork and exec: nothing but system calls. */
static _Noreturn void become(const char *const *argv, int null, int out, bool merge)
{
	if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(merge ? out : null, 2) < 0)
		_exit(127);
	/* We ignore it; what we start must not. */
	signal(SIGPIPE, SIG_DFL);
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

int flight_start(struct flight *f, const char *const *argv, bool merge, struct err *e)
{
	static int null = -1;
	int pipes[2];

	if (null < 0)
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	f->len = 0;
	f->end_ns = 0;
	f->start_ns = clock_mono_ns();
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	f->pid = vfork();
	if (f->pid == 0)
		become(argv, null, pipes[1], merge);
	close(pipes[1]);
	f->out = pipes[0];
	if (f->pid < 0) {
		close(f->out);
		f->pid = 0;
		return err_sys(e, "start %s", argv[0]);
	}
	f->pidfd = (int)syscall(SYS_pidfd_open, f->pid, 0);
	if (f->pidfd < 0) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
		close(f->out);
		f->pid = 0;
		return err_sys(e, "watch %s", argv[0]);
	}
	return 0;
}

static void flight_read(struct flight *f)
{
	char block[4096];
	ssize_t n = read(f->out, block, sizeof(block));
	size_t room = sizeof(f->text) - 1 - f->len;

	if (n <= 0) {
		fd_close(&f->out);
		return;
	}
	if ((size_t)n < room)
		room = (size_t)n;
	memcpy(f->text + f->len, block, room);
	f->len += room;
}

/* It has ended: the program is dead and its output is at its end. */
static void flight_end(struct flight *f)
{
	while (waitpid(f->pid, &f->status, 0) < 0 && errno == EINTR)
		;
	f->end_ns = clock_mono_ns();
	fd_close(&f->pidfd);
	fd_close(&f->out);
	f->text[f->len] = '\0';
	f->pid = 0;
}

static int flight_kill(struct flight *f)
{
	kill(f->pid, SIGKILL);
	flight_end(f);
	f->status = -1;
	return 0;
}

int flight_wait(struct flight *f, unsigned n)
{
	struct pollfd p[BENCH_WIDTH_MAX];
	unsigned of[BENCH_WIDTH_MAX];

	for (;;) {
		unsigned count = 0;

		/* The output first, to its end; then the exit. */
		for (unsigned i = 0; i < n; i++)
			if (f[i].pid > 0) {
				p[count] = (struct pollfd){ .fd = f[i].out >= 0 ? f[i].out : f[i].pidfd, .events = POLLIN };
				of[count++] = i;
			}
		if (!count)
			return -1;
		if (poll(p, count, 200) < 0 && errno != EINTR)
			return -1;
		for (unsigned k = 0; k < count; k++) {
			struct flight *one = &f[of[k]];

			/* Interrupted, a run may still end by itself: a killed client would leave its container. */
			if (clock_mono_ns() - one->start_ns > (bench_stop ? BENCH_STOP_MS : BENCH_HANG_MS) * NS_PER_MS) {
				flight_kill(one);
				return (int)of[k];
			}
			if (!p[k].revents)
				continue;
			if (one->out >= 0) {
				flight_read(one);
				continue;
			}
			flight_end(one);
			return (int)of[k];
		}
	}
}

int flight_probe(const char *const *argv, char *out, size_t size, char *reason, size_t reason_size)
{
	struct flight f = { 0 };
	struct err e = { 0 };
	char *line, *last = NULL;

	if (flight_start(&f, argv, true, &e) < 0) {
		snprintf(reason, reason_size, "%s", e.msg);
		return -1;
	}
	flight_wait(&f, 1);
	if (out)
		snprintf(out, size, "%s", f.text);
	if (f.status == 0)
		return 0;
	if (f.status == -1) {
		snprintf(reason, reason_size, "no answer within %d s", BENCH_HANG_MS / 1000);
		return -1;
	}
	/* The last line mostly says why. */
	for (char *save = NULL, *text = f.text; (line = strtok_r(text, "\r\n", &save)); text = NULL)
		last = line;
	for (char *c = last; c && *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	if (last)
		snprintf(reason, reason_size, "%.200s", last);
	else
		snprintf(reason, reason_size, "ends with status %d and says nothing",
			 WIFEXITED(f.status) ? WEXITSTATUS(f.status) : 128 + WTERMSIG(f.status));
	return -1;
}

/* ---- the words of a run ---------------------------------------------------------------------- */

static const char *value_of(const char *name, const struct bench_host *h, const struct bench_contender *c,
			    const struct bench_job *job, unsigned long id)
{
	static char text[320];

	if (strncmp(name, "{ID}", 4) == 0)
		snprintf(text, sizeof(text), "%s-%lu", h->group, id);
	else if (strncmp(name, "{BUNDLE}", 8) == 0)
		snprintf(text, sizeof(text), "%s/bundle-%s", h->dir, job->name);
	else if (strncmp(name, "{STATE}", 7) == 0)
		snprintf(text, sizeof(text), "%s/state-%s", h->dir, c->name);
	else if (strncmp(name, "{ROOT}", 6) == 0)
		snprintf(text, sizeof(text), "%s/root", h->dir);
	else if (strncmp(name, "{IMAGE}", 7) == 0)
		snprintf(text, sizeof(text), "%s", h->image);
	else
		snprintf(text, sizeof(text), "%s", h->group);
	return text;
}

const char *const *bench_command(const struct bench_host *h, const struct bench_contender *c, const struct bench_job *job)
{
	static const char *v[96];
	static char text[8192];
	static unsigned long id;
	const char *const *const lists[] = { c->row->words, job->alternatives ? c->row->alternatives : NULL, c->row->end,
					     c->row->flags & BENCH_BUNDLE ? NULL : job->argv };
	size_t n = 0, used = 0;

	id++;
	if (c->row->program)
		v[n++] = c->program;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (const char *const *w = lists[i]; w && *w && n < sizeof(v) / sizeof(v[0]) - 1; w++) {
			const char *open = strchr(*w, '{'), *close = open ? strchr(open, '}') : NULL;

			v[n++] = *w;
			if (!close || lists[i] == job->argv)
				continue;
			v[n - 1] = text + used;
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%.*s%s%s", (int)(open - *w), *w,
						 value_of(open, h, c, job, id), close + 1) +
				1;
		}
	v[n] = NULL;
	return v;
}

/* ---- the temporary folder -------------------------------------------------------------------- */

static json_t *mount_row(const char *dst, const char *type, const char *src, const char *options)
{
	json_t *list = json_array();
	char text[128];

	snprintf(text, sizeof(text), "%s", options);
	for (char *save = NULL, *o = strtok_r(text, ",", &save); o; o = strtok_r(NULL, ",", &save))
		json_array_append_new(list, json_string(o));
	return json_pack("{s:s, s:s, s:s, s:o}", "destination", dst, "type", type, "source", src, "options", list);
}

/* An OCI configuration: the host's /usr, read-only; all namespaces; no capabilities. */
static json_t *bundle_config(const struct bench_host *h, const struct bench_job *job)
{
	static const char *const namespaces[] = { "pid", "network", "ipc", "uts", "mount" };
	json_t *args = json_array(), *mounts = json_array(), *spaces = json_array(), *linux_part;
	char root[96];

	snprintf(root, sizeof(root), "%s/root", h->dir);
	for (const char *const *w = job->argv; *w; w++)
		json_array_append_new(args, json_string(*w));
	json_array_append_new(mounts, mount_row("/proc", "proc", "proc", "nosuid,noexec,nodev"));
	json_array_append_new(mounts, mount_row("/dev", "tmpfs", "tmpfs", "nosuid,mode=755,size=65536k"));
	json_array_append_new(mounts, mount_row("/tmp", "tmpfs", "tmpfs", "nosuid,nodev"));
	json_array_append_new(mounts, mount_row("/usr", "bind", "/usr", "rbind,ro"));
	if (job->alternatives)
		json_array_append_new(mounts, mount_row("/etc/alternatives", "bind", "/etc/alternatives", "rbind,ro"));
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
		json_array_append_new(spaces, json_pack("{s:s}", "type", namespaces[i]));
	linux_part = json_pack("{s:o}", "namespaces", spaces);
	if (geteuid() != 0) {
		json_array_append_new(spaces, json_pack("{s:s}", "type", "user"));
		json_object_set_new(linux_part, "uidMappings",
				    json_pack("[{s:i, s:I, s:i}]", "containerID", 0, "hostID", (json_int_t)geteuid(), "size", 1));
		json_object_set_new(linux_part, "gidMappings",
				    json_pack("[{s:i, s:I, s:i}]", "containerID", 0, "hostID", (json_int_t)getegid(), "size", 1));
	}
	return json_pack("{s:s, s:{s:b, s:{s:i, s:i}, s:o, s:[s], s:s, s:b}, s:{s:s, s:b}, s:s, s:o, s:o}", "ociVersion", "1.0.2",
			 "process", "terminal", 0, "user", "uid", 0, "gid", 0, "args", args, "env", "PATH=/usr/bin:/bin", "cwd",
			 "/tmp", "noNewPrivileges", 1, "root", "path", root, "readonly", 1, "hostname", "bench", "mounts", mounts,
			 "linux", linux_part);
}

int bench_host_bundles(struct bench_host *h, struct err *e)
{
	static const char *const dirs[] = { "root",	 "root/usr", "root/etc", "root/etc/alternatives",
					    "root/proc", "root/dev", "root/sys", "root/tmp" };
	static const char *const links[] = { "bin", "lib", "lib64", "sbin" };
	char path[512], target[32];

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", h->dir, dirs[i]);
		if (mkdir(path, 0755) < 0 && errno == EEXIST && i == 0)
			return 0; /* made before */
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		snprintf(path, sizeof(path), "%s/root/%s", h->dir, links[i]);
		snprintf(target, sizeof(target), "usr/%s", links[i]);
		if (symlink(target, path) < 0)
			return err_sys(e, "make %s", path);
	}
	for (size_t i = 0; i < bench_job_count; i++) {
		json_t *config = bundle_config(h, &bench_jobs[i]);
		int rc;

		snprintf(path, sizeof(path), "%s/bundle-%s", h->dir, bench_jobs[i].name);
		mkdir(path, 0755);
		snprintf(path, sizeof(path), "%s/bundle-%s/config.json", h->dir, bench_jobs[i].name);
		rc = json_dump_file(config, path, JSON_INDENT(2));
		json_decref(config);
		if (rc < 0)
			return err_sys(e, "write %s", path);
	}
	return 0;
}

/* What the caller's environment does to an interpreter (NODE_EXTRA_CA_CERTS alone doubles node's start) would be measured for some contenders
 * and not for those that clean it away. So nobody gets it. */
static void clean_environment(void)
{
	static const char *const kept[] = { "PATH=", "HOME=",	"USER=",    "LOGNAME=", "LANG=", "TMPDIR=",
					    "XDG_",  "DOCKER_", "BELLJAR_", "ASAN_",	"UBSAN_" };
	size_t n = 0;

	for (char **e = environ; e && *e; e++)
		for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
			if (strncmp(*e, kept[i], strlen(kept[i])) == 0) {
				environ[n++] = *e;
				break;
			}
	if (environ)
		environ[n] = NULL;
}

static void on_signal(int number)
{
	(void)number;
	bench_stop = 1;
}

int bench_host_init(struct bench_host *h, struct err *e)
{
	struct sigaction stop = { .sa_handler = on_signal };
	const char *tmp = getenv("TMPDIR");

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	find_belljar(h->belljar, sizeof(h->belljar));
	clean_environment();
	snprintf(h->group, sizeof(h->group), "belljar-bench-%d", getpid());
	snprintf(h->dir, sizeof(h->dir), "%.40s/belljar-bench-XXXXXX", tmp && strlen(tmp) <= 40 && tmp[0] == '/' ? tmp : "/tmp");
	if (!mkdtemp(h->dir)) {
		h->dir[0] = '\0';
		return err_sys(e, "make a temporary folder");
	}
	/* Others' ids must be able to walk to the root below it. */
	chmod(h->dir, 0711);
	return 0;
}

/* Containers that a runtime still knows: only when a run was ended by us. */
static void delete_left(const struct bench_host *h, const char *name)
{
	char path[160], program[512];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/state-%s", h->dir, name);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, "belljar-bench-", 14) == 0 && bench_find_program(name, program, sizeof(program))) {
			const char *argv[] = { program, "--root", path, "delete", "--force", entry->d_name, NULL };
			char why[64];

			flight_probe(argv, NULL, 0, why, sizeof(why));
		}
	if (dir)
		closedir(dir);
}

/* The same for docker, whose containers are its daemon's. */
static void delete_docker(const struct bench_host *h)
{
	char program[512], filter[96], ids[1024], why[64];

	snprintf(filter, sizeof(filter), "name=%s", h->group);
	if (!h->image[0] || !bench_find_program("docker", program, sizeof(program)))
		return;
	if (flight_probe((const char *const[]){ program, "ps", "--all", "--quiet", "--filter", filter, NULL }, ids, sizeof(ids),
			 why, sizeof(why)) < 0)
		return;
	for (char *save = NULL, *id = strtok_r(ids, "\r\n", &save); id; id = strtok_r(NULL, "\r\n", &save))
		flight_probe((const char *const[]){ program, "rm", "--force", id, NULL }, NULL, 0, why, sizeof(why));
}

/* podman leaves its parent group with conmon's in every hierarchy. */
static void remove_groups(const struct bench_host *h)
{
	DIR *dir = opendir("/sys/fs/cgroup");
	struct dirent *entry;
	char path[512];

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s/conmon",
			 strcmp(entry->d_name, "..") == 0 ? "." : entry->d_name, h->group);
		rmdir(path);
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
	if (dir)
		closedir(dir);
}

void bench_host_done(struct bench_host *h)
{
	static const char *const runtimes[] = { "runc", "crun", "runsc" };

	if (!h->dir[0])
		return;
	bench_stop = 0;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		delete_left(h, runtimes[i]);
	delete_docker(h);
	remove_groups(h);
	state_remove_tree(AT_FDCWD, h->dir);
	h->dir[0] = '\0';
}

/* ---- CPU time -------------------------------------------------------------------------------- */

void cpu_open(struct cpu_meter *m)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_TASK_CLOCK, .inherit = 1
	};

	*m = (struct cpu_meter){ .fd = -1 };
	m->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (m->fd < 0) {
		/* An ordinary user may not look into the kernel; the task clock runs there all the same. */
		attr.exclude_kernel = attr.exclude_hv = 1;
		m->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
}

/* /proc/PID/stat after the name, which may hold anything: field 3 (the state) is word 0. */
static const char *read_stat(pid_t pid, char *text, size_t size)
{
	char path[48], *rest;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (fd_read_file(AT_FDCWD, path, text, size) < 0 || !(rest = strrchr(text, ')')))
		return NULL;
	return rest + 1;
}

static void add_ticks(pid_t pid, void *ctx)
{
	uint64_t *sum = ctx;
	char text[1024];
	const char *stat = read_stat(pid, text, sizeof(text));

	/* utime, stime, cutime, cstime: fields 14 to 17 */
	for (unsigned field = 14; stat && field <= 17; field++) {
		int64_t ticks = stats_field(stat, field - 3);

		*sum += ticks > 0 ? (uint64_t)ticks : 0;
	}
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

double cpu_read_ms(const struct cpu_meter *m)
{
	uint64_t ns = 0, ticks = 0;
	struct timespec own;
	struct rusage u;

	if (m->fd >= 0 && read(m->fd, &ns, sizeof(ns)) == sizeof(ns)) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
		return (double)ns / 1e6 - (double)own.tv_sec * 1e3 - (double)own.tv_nsec / 1e6;
	}
	getrusage(RUSAGE_CHILDREN, &u);
	if (m->tree)
		tree_each(m->tree, add_ticks, &ticks);
	return (seconds_of(u.ru_utime) + seconds_of(u.ru_stime)) * 1e3 + (double)ticks * 1e3 / (double)sysconf(_SC_CLK_TCK);
}

const char *cpu_how(const struct cpu_meter *m)
{
	return m->fd >= 0 ? "perf task-clock of all descendants"
	       : m->tree  ? "/proc of the process tree"
			  : "getrusage of children";
}

void cpu_close(struct cpu_meter *m)
{
	fd_close(&m->fd);
}

/* ---- the process tree ------------------------------------------------------------------------ */

struct tree_node {
	pid_t pid, parent;
};

static pid_t parent_of(pid_t pid)
{
	char text[1024];
	const char *stat = read_stat(pid, text, sizeof(text));

	return stat ? (pid_t)stats_field(stat, 1) : 0;
}

static void visit(const struct tree_node *all, size_t n, pid_t root, void (*fn)(pid_t, void *), void *ctx, unsigned depth)
{
	fn(root, ctx);
	for (size_t i = 0; i < n && depth < 32; i++)
		if (all[i].parent == root)
			visit(all, n, all[i].pid, fn, ctx, depth + 1);
}

void tree_each(pid_t root, void (*fn)(pid_t pid, void *ctx), void *ctx)
{
	static struct tree_node all[32768];
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir)) && n < sizeof(all) / sizeof(all[0]))
		if (isdigit((unsigned char)entry->d_name[0])) {
			all[n].pid = (pid_t)strtol(entry->d_name, NULL, 10);
			all[n].parent = parent_of(all[n].pid);
			n++;
		}
	if (dir)
		closedir(dir);
	visit(all, n, root, fn, ctx, 0);
}
