/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups, version 1, version 2 and both at once: limits and the counters behind verdicts. */
#include "kernel/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sysinfo.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/fd.h"
#include "base/hook.h"
#include "kernel/sys.h"

#define PARENT "belljar"

static const struct {
	const char *name, *v2_name;
	const char *guard; /* name of its test hook */
	const char *file;  /* only a v1 group with this controller has it */
} ctls[CGROUP_CTLS] = {
	[CGROUP_MEMORY]	 = { "memory",	"memory", "cgroup_memory", "memory.limit_in_bytes" },
	[CGROUP_CPU]	 = { "cpu",	"cpu",	  "cgroup_cpu",	   "cpu.cfs_quota_us" },
	[CGROUP_CPUACCT] = { "cpuacct", "cpu",	  "cgroup_cpu",	   "cpuacct.usage" },
	[CGROUP_PIDS]	 = { "pids",	"pids",	  "cgroup_pids",   "pids.max" },
	[CGROUP_KILL]	 = { "kill",	NULL,	  "cgroup_kill",   NULL },
};

const char *cgroup_ctl_name(int ctl)
{
	return ctls[ctl].name;
}

const char *cgroup_version_name(int version)
{
	static const char *const names[] = { "none", "v1", "v2", "hybrid" };

	return names[version];
}

/* True when `word` is one of the words of `list` separated by `sep` or white space. */
static bool has_word(const char *list, const char *word, char sep)
{
	size_t n = strlen(word);

	for (const char *p = list; *p;) {
		const char *end = p;

		while (*end && *end != sep && !isspace((unsigned char)*end))
			end++;
		if ((size_t)(end - p) == n && memcmp(p, word, n) == 0)
			return true;
		while (*end == sep || isspace((unsigned char)*end))
			end++;
		p = end;
	}
	return false;
}

/* mountinfo writes blanks in paths as \040 and the like. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (s[0] == '\\' && isdigit((unsigned char)s[1]) && isdigit((unsigned char)s[2]) &&
		    isdigit((unsigned char)s[3])) {
			*out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

struct hierarchy {
	char point[256];
	char controllers[256]; /* v1: superblock options; v2: cgroup.controllers */
	bool v2;
};

#define HIERARCHIES 20

static int find_hierarchies(struct hierarchy *out)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096];
	int n = 0;

	if (!f)
		return 0;
	while (n < HIERARCHIES && fgets(line, sizeof(line), f)) {
		char point[256], type[32], super[256];
		char *dash = strstr(line, " - ");

		if (!dash || sscanf(line, "%*s %*s %*s %*s %255s", point) != 1 ||
		    sscanf(dash, " - %31s %*s %255s", type, super) != 2 || strncmp(type, "cgroup", 6) != 0)
			continue;
		unescape(point);
		snprintf(out[n].point, sizeof(out[n].point), "%s", point);
		out[n].v2 = strcmp(type, "cgroup2") == 0;
		snprintf(out[n].controllers, sizeof(out[n].controllers), "%s", super);
		n++;
	}
	fclose(f);
	return n;
}

/* Makes sure that children of `dir` have the controllers; false when the kernel refuses one. */
static bool enable_v2(int dir, const char *ctl)
{
	char now[256], text[40];

	if (fd_read_file(dir, "cgroup.subtree_control", now, sizeof(now)) >= 0 && has_word(now, ctl, ' '))
		return true;
	snprintf(text, sizeof(text), "+%s", ctl);
	return fd_write_file(dir, "cgroup.subtree_control", text) == 0;
}

/* Opens `base`/belljar, making it where we may. */
static int open_parent(int base)
{
	if (mkdirat(base, PARENT, 0755) < 0 && errno != EEXIST)
		return -1;
	return openat(base, PARENT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * Where in a v2 hierarchy our folder goes. Root: at the top, since inner groups with processes cannot hand out
 * controllers. Others: the nearest delegated group above our own, for moving a process needs write access to the common
 * ancestor (cgroups(7), delegation).
 */
static int v2_base(const char *point)
{
	char own[512], path[1024], *start, *end;

	if (geteuid() == 0)
		return open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd_read_file(AT_FDCWD, "/proc/self/cgroup", own, sizeof(own)) < 0)
		return -1;
	start = strstr(own, "0::/");
	if (!start)
		return -1;
	start += 3;
	end = strchr(start, '\n');
	if (end)
		*end = '\0';
	while ((end = strrchr(start, '/'))) {
		int dir;

		*end = '\0';
		if (!*start)
			return -1;
		snprintf(path, sizeof(path), "%.255s%.511s", point, start);
		dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			continue;
		if (faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) == 0 &&
		    faccessat(dir, ".", W_OK, AT_EACCESS) == 0)
			return dir;
		close(dir);
	}
	return -1;
}

static void use_v2(struct cgroup_host *h, const struct hierarchy *hi)
{
	auto_close int base = v2_base(hi->point);
	auto_close int parent = -1;
	char list[256] = "";
	bool any = false;

	if (base < 0)
		return;
	if (fd_read_file(base, "cgroup.controllers", list, sizeof(list)) < 0)
		list[0] = '\0';
	parent = open_parent(base);
	if (parent < 0)
		return;
	for (int c = 0; c < CGROUP_CTLS; c++) {
		const char *name = ctls[c].v2_name;

		if (h->ctl[c].parent >= 0)
			continue;
		if (name && (!has_word(list, name, ' ') || !enable_v2(base, name) || !enable_v2(parent, name)))
			continue;
		/* cgroup.kill exists from 5.14 on, in every group but the root. Not worth a hierarchy of its own: init's death
		 * does the same. */
		if (!name && (!any || faccessat(parent, "cgroup.kill", F_OK, 0) < 0))
			continue;
		any = true;
		h->ctl[c].parent = fcntl(parent, F_DUPFD_CLOEXEC, 3);
		h->ctl[c].v2 = 1;
	}
}

static void use_v1(struct cgroup_host *h, const struct hierarchy *hi)
{
	for (int c = 0; c < CGROUP_KILL; c++) {
		auto_close int base = -1;

		if (h->ctl[c].parent >= 0 || !has_word(hi->controllers, ctls[c].name, ','))
			continue;
		/* A v1 group can only be made by root: delegation by chown is not safe there. */
		if (geteuid() != 0)
			continue;
		base = open(hi->point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (base >= 0)
			h->ctl[c].parent = open_parent(base);
	}
}

static bool same_dir(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool is_cgroup1(int dir)
{
	struct statfs s;

	return fstatfs(dir, &s) == 0 && s.f_type == CGROUP_SUPER_MAGIC;
}

static bool is_cgroup2(const char *path)
{
	struct statfs s;

	return statfs(path, &s) == 0 && s.f_type == CGROUP2_SUPER_MAGIC;
}

/* All of v1's where distributions put them, and our groups there: no list of mounts has to be read, which takes longer than all the rest. */
static bool use_usual_v1(struct cgroup_host *h)
{
	if (geteuid() != 0)
		return false;
	for (int c = 0; c < CGROUP_KILL; c++) {
		char path[64];

		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/" PARENT, ctls[c].name);
		h->ctl[c].parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (h->ctl[c].parent < 0 || !is_cgroup1(h->ctl[c].parent) || faccessat(h->ctl[c].parent, ctls[c].file, F_OK, 0) < 0) {
			for (int i = 0; i <= c; i++)
				fd_close(&h->ctl[i].parent);
			return false;
		}
	}
	return true;
}

void cgroup_host_open(struct cgroup_host *h)
{
	struct hierarchy hi[HIERARCHIES];
	int n = 1;
	bool v1 = false, v2 = false, mounted = false; /* a v2 tree, wherever */

	memset(h, 0, sizeof(*h));
	for (int c = 0; c < CGROUP_CTLS; c++) {
		h->ctl[c].parent = -1;
		h->ctl[c].same = -1;
	}
	if (use_usual_v1(h)) {
		mounted = is_cgroup2("/sys/fs/cgroup/unified");
	} else {
		n = find_hierarchies(hi);
		for (int i = 0; i < n; i++)
			if (hi[i].v2) {
				mounted = true;
				use_v2(h, &hi[i]);
			}
		for (int i = 0; i < n; i++)
			if (!hi[i].v2)
				use_v1(h, &hi[i]);
	}
	for (int c = 0; c < CGROUP_CTLS; c++) {
		if (hook_disabled(ctls[c].guard))
			fd_close(&h->ctl[c].parent);
		if (h->ctl[c].parent < 0)
			continue;
		if (c != CGROUP_KILL) {
			v1 = v1 || !h->ctl[c].v2;
			v2 = v2 || h->ctl[c].v2;
		}
		for (int d = 0; d < c; d++)
			if (h->ctl[d].parent >= 0 && same_dir(h->ctl[c].parent, h->ctl[d].parent)) {
				h->ctl[c].same = (int8_t)d;
				break;
			}
	}
	/* v1 controllers beside a mounted v2 tree is what systemd calls hybrid. */
	v2 = v2 || (v1 && mounted);
	h->version = v1 && v2 ? CGROUP_HYBRID : v1 ? CGROUP_V1 : v2 ? CGROUP_V2 : CGROUP_NONE;
	if (!n)
		snprintf(h->why, sizeof(h->why), "no cgroup file system is mounted");
	else if (h->version == CGROUP_NONE)
		snprintf(h->why, sizeof(h->why), "%s",
			 geteuid() == 0 ? "no controller could be enabled"
					: "no cgroup is delegated to this user (on systemd: run inside "
					  "'systemd-run --user --scope')");
}

bool cgroup_is_unified(void)
{
	return is_cgroup2("/sys/fs/cgroup");
}

bool cgroup_has_v2(const struct cgroup_host *h)
{
	for (int c = 0; c < CGROUP_CTLS; c++)
		if (h->ctl[c].parent >= 0 && h->ctl[c].v2)
			return true;
	return false;
}

void cgroup_host_close(struct cgroup_host *h)
{
	for (int c = 0; c < CGROUP_CTLS; c++)
		fd_close(&h->ctl[c].parent);
}

#define V2_JAR	 "jar"
#define V2_MAKER "maker"

static void kill_all(int dir)
{
	static char list[1 << 18]; /* as many as a pids limit allows */
	char *save = NULL;

	if (fd_write_file(dir, "cgroup.kill", "1") == 0 || fd_read_file(dir, "cgroup.procs", list, sizeof(list)) <= 0)
		return;
	for (char *p = strtok_r(list, "\n", &save); p; p = strtok_r(NULL, "\n", &save)) {
		pid_t pid = (pid_t)strtol(p, NULL, 10);

		if (pid > 1)
			kill(pid, SIGKILL);
	}
}

/* A group stays busy for a moment after its last process was reaped. */
static int remove_dir(int parent, const char *name, unsigned *wait_ms)
{
	while (unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno == EBUSY) {
		if (!*wait_ms)
			return -1;
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
		--*wait_ms;
	}
	return 0;
}

/* With all groups inside it, which only v2 has. */
static int remove_group(int parent, const char *name, bool v2, unsigned *wait_ms)
{
	int fd = v2 ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, rc = 0;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *d;

	while (dir && rc == 0 && (d = readdir(dir)))
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			rc = remove_group(fd, d->d_name, true, wait_ms);
	if (dir)
		closedir(dir);
	else
		fd_close(&fd);
	return rc < 0 ? -1 : remove_dir(parent, name, wait_ms);
}

/* Ends what a killed keeper may have left under our name: its jar is dead, its folders may not be. */
static void clear_leftover(int parent, const char *name, bool v2)
{
	auto_close int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned wait_ms = 1000;

	if (dir < 0)
		return;
	kill_all(dir);
	remove_group(parent, name, v2, &wait_ms);
}

bool cgroup_clear(const struct cgroup_host *h, const char *name)
{
	bool found = false;

	for (int c = 0; c < CGROUP_CTLS; c++)
		if (h->ctl[c].parent >= 0 && h->ctl[c].same < 0 && faccessat(h->ctl[c].parent, name, F_OK, 0) == 0) {
			clear_leftover(h->ctl[c].parent, name, h->ctl[c].v2);
			found = true;
		}
	return found;
}

void cgroup_each_slot(const struct cgroup_host *h, void (*fn)(const char *name, void *ctx), void *ctx)
{
	for (int c = 0; c < CGROUP_CTLS; c++) {
		struct dirent *d;
		DIR *dir;
		int fd;

		if (h->ctl[c].parent < 0 || h->ctl[c].same >= 0)
			continue;
		fd = openat(h->ctl[c].parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		dir = fd >= 0 ? fdopendir(fd) : NULL;
		if (!dir) {
			fd_close(&fd);
			continue;
		}
		while ((d = readdir(dir)))
			if (d->d_name[0] == 's' && d->d_name[1] >= '0' && d->d_name[1] <= '9')
				fn(d->d_name, ctx);
		closedir(dir);
	}
}

void cgroup_init(struct cgroup *g)
{
	memset(g, 0, sizeof(*g));
	for (int c = 0; c < CGROUP_CTLS; c++)
		g->dir[c] = g->tasks[c] = -1;
	for (int i = 0; i < CGROUP_COUNTERS; i++)
		g->counter[i] = -1;
	g->maker = g->reset = -1;
}

static int make_dir(int parent, const char *name, bool v2)
{
	if (mkdirat(parent, name, 0755) < 0) {
		if (errno != EEXIST)
			return -1;
		clear_leftover(parent, name, v2);
		if (mkdirat(parent, name, 0755) < 0)
			return -1;
	}
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * v2: name/ holds no process itself; name/maker and name/jar do. The kernel lets the maker clone into `jar` when it may write cgroup.procs of
 * that and of the common ancestor; the limits' files stay the keeper's.
 */
static int give(int dir, uid_t owner, gid_t group)
{
	if (geteuid() != 0)
		return 0;
	if (group != (gid_t)-1 && fchmodat(dir, "cgroup.procs", 0664, 0) < 0)
		return -1;
	return fchownat(dir, "cgroup.procs", owner, group, 0);
}

static int make_v2(struct cgroup *g, const struct cgroup_host *h, int ctl, uid_t owner, gid_t group)
{
	auto_close int top = make_dir(h->ctl[ctl].parent, g->name, true);

	if (top < 0)
		return -1;
	for (int c = ctl; c < CGROUP_KILL; c++)
		if (h->ctl[c].parent >= 0 && h->ctl[c].v2 && !enable_v2(top, ctls[c].v2_name))
			return -1;
	g->dir[ctl] = make_dir(top, V2_JAR, false);
	g->maker = make_dir(top, V2_MAKER, false);
	if (g->dir[ctl] < 0 || g->maker < 0)
		return -1;
	return give(top, owner, group) < 0 || give(g->dir[ctl], owner, group) < 0 ? -1 : 0;
}

int cgroup_host_inside(struct cgroup_host *out, const struct cgroup_host *h, const char *name, struct err *e)
{
	*out = *h;
	for (int c = 0; c < CGROUP_CTLS; c++) {
		if (h->ctl[c].parent < 0)
			continue;
		out->ctl[c].parent = h->ctl[c].v2 ? openat(h->ctl[c].parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
						  : fcntl(h->ctl[c].parent, F_DUPFD_CLOEXEC, 3);
		if (out->ctl[c].parent < 0)
			return err_sys(e, "open cgroup %s", name);
	}
	return 0;
}

/*
 * Who may be moved through a v1 `tasks` file is decided by who *opened* it: root's descriptor in other hands (a zygote's, a maker's) would put any process of
 * the host into a group, under its limits and under the kill that empties it. So it is opened as the user who will enter: it moves his own processes and
 * nobody else's. Only for these calls; changing the id has made us undumpable, which children would inherit.
 */
static int open_tasks(struct cgroup *g, const struct cgroup_host *h, uid_t enters)
{
	int rc = 0, saved, dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	bool as_user = !hook_disabled("cgroup_opener"), v1[CGROUP_CTLS], any = false;

	for (int c = 0; c < CGROUP_CTLS; c++) {
		v1[c] = h->ctl[c].parent >= 0 && h->ctl[c].same < 0 && !h->ctl[c].v2;
		any = any || v1[c];
		if (v1[c] && as_user && rc == 0)
			rc = fchownat(g->dir[c], "tasks", enters, (gid_t)-1, 0);
	}
	if (!any)
		return 0;
	if (as_user && rc == 0)
		rc = setresuid((uid_t)-1, enters, (uid_t)-1);
	for (int c = 0; c < CGROUP_CTLS && rc == 0; c++)
		if (v1[c]) {
			g->tasks[c] = openat(g->dir[c], "tasks", O_WRONLY | O_CLOEXEC);
			rc = g->tasks[c] < 0 ? -1 : 0;
		}
	saved = errno;
	if (as_user && setresuid((uid_t)-1, 0, (uid_t)-1) < 0)
		abort(); /* cannot be: it is our saved id */
	/* The descriptor remembers who opened it; the file is ours again. */
	for (int c = 0; c < CGROUP_CTLS && as_user; c++)
		if (v1[c] && fchownat(g->dir[c], "tasks", 0, (gid_t)-1, 0) < 0) {
			saved = errno;
			rc = -1;
		}
	if (as_user && dumpable == 1)
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	errno = saved;
	return rc;
}

int cgroup_make(struct cgroup *out, const struct cgroup_host *h, const char *name, uid_t owner, gid_t group, uid_t enters, struct err *e)
{
	struct cgroup g;

	cgroup_init(&g);
	snprintf(g.name, sizeof(g.name), "%s", name);
	for (int c = 0; c < CGROUP_CTLS; c++) {
		if (h->ctl[c].parent < 0)
			continue;
		if (h->ctl[c].same >= 0) {
			g.dir[c] = fcntl(g.dir[h->ctl[c].same], F_DUPFD_CLOEXEC, 3);
		} else if (h->ctl[c].v2) {
			if (make_v2(&g, h, c, owner, group) < 0)
				goto fail;
		} else {
			g.dir[c] = make_dir(h->ctl[c].parent, name, false);
		}
		if (g.dir[c] < 0)
			goto fail;
	}
	if (open_tasks(&g, h, enters) < 0)
		goto fail;
	*out = g;
	return 0;
fail:
	err_sys(e, "make cgroup %s/%s", PARENT, name);
	cgroup_remove(&g, h, 0);
	return -1;
}

int cgroup_v2_dir(const struct cgroup *g, const struct cgroup_host *h)
{
	for (int c = 0; c < CGROUP_CTLS; c++)
		if (g->dir[c] >= 0 && h->ctl[c].v2)
			return g->dir[c];
	return -1;
}

int cgroup_enter_v1(const int *tasks, unsigned count, struct err *e)
{
	for (unsigned i = 0; i < count; i++)
		if (write(tasks[i], "0", 1) != 1)
			return err_sys(e, "enter a cgroup");
	return 0;
}

static int write_num(int dir, const char *file, uint64_t v, struct err *e)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	if (fd_write_file(dir, file, text) < 0)
		return err_sys(e, "write %s to %s", text, file);
	return 0;
}

static uint64_t read_num(int dir, const char *file)
{
	char text[64];

	if (fd_read_file(dir, file, text, sizeof(text)) < 0)
		return 0;
	return strtoull(text, NULL, 10);
}

/*
 * v1 counts the buffers of TCP and UDP sockets apart from memory, and only when they have a limit. It is the memory limit, and at most a 64th of the host's
 * memory, so that one jar does not use up what all sockets of the host share (tcp_mem and udp_mem are three times that and more by default).
 */
static uint64_t socket_bytes(uint64_t memory_bytes)
{
	struct sysinfo s;
	uint64_t most;

	if (sysinfo(&s) < 0)
		return memory_bytes;
	most = (uint64_t)s.totalram * s.mem_unit / 64;
	return memory_bytes < most ? memory_bytes : most;
}

static int limit_sockets(int dir, uint64_t memory_bytes, struct err *e)
{
	if (hook_disabled("cgroup_sockets") || write_num(dir, "memory.kmem.tcp.limit_in_bytes", socket_bytes(memory_bytes), e) == 0)
		return 0;
	/* Absent in kernels without it: the number of sockets is bounded still (jar/sockets.h). EBUSY: sockets of the jar before it, whose limit holds meanwhile. */
	if (e->sys != ENOENT && e->sys != EBUSY)
		return -1;
	err_clear(e);
	return 0;
}

bool cgroup_counts_sockets(const struct cgroup *g, const struct cgroup_host *h)
{
	return h->ctl[CGROUP_MEMORY].v2 || faccessat(g->dir[CGROUP_MEMORY], "memory.kmem.tcp.limit_in_bytes", F_OK, 0) == 0;
}

bool cgroup_sockets_full(const struct cgroup *g, const struct cgroup_host *h, uint64_t memory_bytes)
{
	int dir = g->dir[CGROUP_MEMORY];
	uint64_t peak;

	if (dir < 0 || h->ctl[CGROUP_MEMORY].v2)
		return false;
	peak = read_num(dir, "memory.kmem.tcp.max_usage_in_bytes");
	(void)!fd_write_file(dir, "memory.kmem.tcp.max_usage_in_bytes", "0");
	/* The kernel refuses a buffer that does not fit: it need not have been filled to the last page. */
	return peak + (128 << 10) >= socket_bytes(memory_bytes);
}

static int limit_memory(int dir, bool v2, uint64_t bytes, struct err *e)
{
	if (v2) {
		/* No swap: a limit that can be dodged by swapping is no limit. The file is absent without swap support. */
		if (fd_write_file(dir, "memory.swap.max", "0") < 0 && errno != ENOENT)
			return err_sys(e, "write memory.swap.max");
		return write_num(dir, "memory.max", bytes, e);
	}
	if (limit_sockets(dir, bytes, e) < 0)
		return -1;
	/* v1 insists on memory <= memory+swap at every moment, so a raise goes the other way round. */
	if (write_num(dir, "memory.limit_in_bytes", bytes, e) < 0) {
		if (write_num(dir, "memory.memsw.limit_in_bytes", bytes, e) < 0 ||
		    write_num(dir, "memory.limit_in_bytes", bytes, e) < 0)
			return -1;
	}
	if (faccessat(dir, "memory.memsw.limit_in_bytes", F_OK, 0) == 0)
		return write_num(dir, "memory.memsw.limit_in_bytes", bytes, e);
	return 0;
}

static int limit_cpu(int dir, bool v2, uint64_t milli, struct err *e)
{
	uint64_t quota = milli * 100; /* of a period of 100,000 us */
	char text[48];

	/* The kernel refuses quotas under 1 ms. */
	if (quota < 1000)
		quota = 1000;
	if (!v2)
		return write_num(dir, "cpu.cfs_quota_us", quota, e);
	snprintf(text, sizeof(text), "%llu 100000", (unsigned long long)quota);
	if (fd_write_file(dir, "cpu.max", text) < 0)
		return err_sys(e, "write cpu.max");
	return 0;
}

int cgroup_limit(const struct cgroup *g, const struct cgroup_host *h, const struct cgroup_limits *l,
		 struct err *e)
{
	if (g->dir[CGROUP_MEMORY] >= 0 &&
	    limit_memory(g->dir[CGROUP_MEMORY], h->ctl[CGROUP_MEMORY].v2, l->memory_bytes, e) < 0)
		return -1;
	if (g->dir[CGROUP_PIDS] >= 0 && write_num(g->dir[CGROUP_PIDS], "pids.max", l->pids, e) < 0)
		return -1;
	if (g->dir[CGROUP_CPU] >= 0 &&
	    limit_cpu(g->dir[CGROUP_CPU], h->ctl[CGROUP_CPU].v2, l->cpus_milli, e) < 0)
		return -1;
	return 0;
}

/* A counter's file, and the key in it where it holds more than a number. */
static const struct counter {
	int ctl;
	struct {
		const char *file, *key;
		uint64_t unit; /* 0: as it is */
	} v1, v2;
} counter_rows[CGROUP_COUNTERS] = {
	[COUNTER_MEMORY_PEAK] = { CGROUP_MEMORY, { "memory.max_usage_in_bytes" }, { "memory.peak" } },
	[COUNTER_MEMORY_HITS] = { CGROUP_MEMORY, { "memory.failcnt" }, { "memory.events", "max" } },
	[COUNTER_OOM_KILLS] = { CGROUP_MEMORY, { "memory.oom_control", "oom_kill" }, { "memory.events", "oom_kill" } },
	[COUNTER_CPU] = { CGROUP_CPUACCT, { "cpuacct.usage" }, { "cpu.stat", "usage_usec", 1000 } },
	[COUNTER_THROTTLED] = { CGROUP_CPU, { "cpu.stat", "throttled_time" }, { "cpu.stat", "throttled_usec", 1000 } },
	[COUNTER_PIDS_PEAK] = { CGROUP_PIDS, { "pids.peak" }, { "pids.peak" } }, /* from 6.1 on */
	[COUNTER_PIDS_HITS] = { CGROUP_PIDS, { "pids.events", "max" }, { "pids.events", "max" } },
	[COUNTER_PIDS_NOW] = { CGROUP_PIDS, { "pids.current" }, { "pids.current" } },
};

/* The number after `key` in "key value" lines. */
static uint64_t find_key(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (strncmp(p, key, n) == 0 && p[n] == ' ')
			return strtoull(p + n, NULL, 10);
	return 0;
}

/* Its length, or less than 0. */
static ssize_t read_file(const struct cgroup *g, const struct cgroup_host *h, enum cgroup_counter i, char *text, size_t size)
{
	const struct counter *c = &counter_rows[i];
	ssize_t n;

	if (g->counter[i] < 0)
		return fd_read_file(g->dir[c->ctl], h->ctl[c->ctl].v2 ? c->v2.file : c->v1.file, text, size);
	n = pread(g->counter[i], text, size - 1, 0);
	if (n >= 0)
		text[n] = '\0';
	return n;
}

static uint64_t read_counter(const struct cgroup *g, const struct cgroup_host *h, enum cgroup_counter i)
{
	const struct counter *c = &counter_rows[i];
	bool v2 = h->ctl[c->ctl].v2;
	const char *key = v2 ? c->v2.key : c->v1.key;
	uint64_t unit = v2 ? c->v2.unit : c->v1.unit, value;
	char text[4096];

	if (read_file(g, h, i, text, sizeof(text)) < 0)
		return 0;
	value = key ? find_key(text, key) : strtoull(text, NULL, 10);
	return unit ? value * unit : value;
}

void cgroup_open_counters(struct cgroup *g, const struct cgroup_host *h)
{
	for (int i = 0; i < CGROUP_COUNTERS; i++) {
		const struct counter *c = &counter_rows[i];

		if (g->counter[i] < 0 && g->dir[c->ctl] >= 0)
			g->counter[i] = openat(g->dir[c->ctl], h->ctl[c->ctl].v2 ? c->v2.file : c->v1.file, O_RDONLY | O_CLOEXEC);
	}
	if (g->reset < 0 && g->dir[CGROUP_MEMORY] >= 0 && !h->ctl[CGROUP_MEMORY].v2)
		g->reset = openat(g->dir[CGROUP_MEMORY], "memory.max_usage_in_bytes", O_WRONLY | O_CLOEXEC);
}

uint64_t cgroup_cpu_ns(const struct cgroup *g, const struct cgroup_host *h)
{
	return g->dir[CGROUP_CPUACCT] < 0 ? 0 : read_counter(g, h, COUNTER_CPU);
}

int cgroup_cpu_file(const struct cgroup *g)
{
	return g->dir[CGROUP_CPUACCT] < 0 ? -1 : g->counter[COUNTER_CPU];
}

int64_t cgroup_pids_now(const struct cgroup *g, const struct cgroup_host *h)
{
	char text[32];

	if (g->dir[CGROUP_PIDS] < 0 || read_file(g, h, COUNTER_PIDS_NOW, text, sizeof(text)) <= 0)
		return -1;
	return (int64_t)strtoull(text, NULL, 10);
}

void cgroup_read(const struct cgroup *g, const struct cgroup_host *h, bool now, struct cgroup_counters *out)
{
	struct cgroup_counters c = { 0 };
	int dir = g->dir[CGROUP_MEMORY];

	if (dir >= 0) {
		c.have |= 1U << CGROUP_MEMORY;
		if (now)
			c.memory_now_bytes = read_num(dir, h->ctl[CGROUP_MEMORY].v2 ? "memory.current" : "memory.usage_in_bytes");
		c.memory_peak_bytes = read_counter(g, h, COUNTER_MEMORY_PEAK);
		c.memory_limit_hits = read_counter(g, h, COUNTER_MEMORY_HITS);
		c.oom_kills = read_counter(g, h, COUNTER_OOM_KILLS);
	}
	if (g->dir[CGROUP_CPUACCT] >= 0) {
		c.have |= 1U << CGROUP_CPUACCT;
		c.cpu_ns = cgroup_cpu_ns(g, h);
	}
	if (g->dir[CGROUP_CPU] >= 0) {
		c.have |= 1U << CGROUP_CPU;
		c.throttled_ns = read_counter(g, h, COUNTER_THROTTLED);
	}
	dir = g->dir[CGROUP_PIDS];
	if (dir >= 0) {
		c.have |= 1U << CGROUP_PIDS;
		c.pids_peak = read_counter(g, h, COUNTER_PIDS_PEAK);
		if (now || !c.pids_peak)
			c.pids_now = read_counter(g, h, COUNTER_PIDS_NOW);
		if (c.pids_peak < c.pids_now)
			c.pids_peak = c.pids_now;
		c.pids_limit_hits = read_counter(g, h, COUNTER_PIDS_HITS);
	}
	*out = c;
}

bool cgroup_reset_peaks(const struct cgroup *g, const struct cgroup_host *h)
{
	if (g->reset >= 0)
		return pwrite(g->reset, "0", 1, 0) == 1;
	return g->dir[CGROUP_MEMORY] >= 0 && !h->ctl[CGROUP_MEMORY].v2 &&
	       fd_write_file(g->dir[CGROUP_MEMORY], "memory.max_usage_in_bytes", "0") == 0;
}

void cgroup_kill(const struct cgroup *g)
{
	if (g->dir[CGROUP_KILL] >= 0)
		fd_write_file(g->dir[CGROUP_KILL], "cgroup.kill", "1");
}

int cgroup_remove(struct cgroup *g, const struct cgroup_host *h, unsigned wait_ms)
{
	int rc = 0;

	fd_close(&g->maker);
	for (int i = 0; i < CGROUP_COUNTERS; i++)
		fd_close(&g->counter[i]);
	fd_close(&g->reset);
	for (int c = 0; c < CGROUP_CTLS; c++) {
		fd_close(&g->tasks[c]);
		if (g->dir[c] < 0)
			continue;
		fd_close(&g->dir[c]);
		if (h->ctl[c].same < 0 && remove_group(h->ctl[c].parent, g->name, h->ctl[c].v2, &wait_ms) < 0)
			rc = -1;
	}
	return rc;
}
