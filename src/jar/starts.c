/* SPDX-License-Identifier: Apache-2.0 */
/* What a guest under an allow-list tries to start. */
#include "jar/starts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "kernel/sys.h"

void starts_init(struct starts *s, const struct allow *allow)
{
	memset(s, 0, sizeof(*s));
	s->allow = allow;
}

int starts_wait_ms(struct starts *s, uint64_t now_ns)
{
	if (now_ns - s->second_ns >= NS_PER_S) {
		s->second_ns = now_ns;
		s->taken = 0;
		s->look_ns = 0;
	}
	return s->taken < STARTS_PER_S ? 0 : (int)((s->second_ns + NS_PER_S - now_ns) / NS_PER_MS) + 1;
}

/* A string of the guest's, page by page: it may end right before one that is not there. */
static int read_text(pid_t pid, uint64_t at, char out[PATH_MAX])
{
	size_t have = 0;

	while (have < PATH_MAX) {
		size_t n = 4096 - (at + have) % 4096;
		struct iovec to = { out + have, n < PATH_MAX - have ? n : PATH_MAX - have }, from = { (void *)(uintptr_t)(at + have), 0 };
		ssize_t got;

		from.iov_len = to.iov_len;
		got = syscall(SYS_process_vm_readv, pid, &to, 1, &from, 1, 0);
		if (got <= 0)
			return -1;
		if (memchr(out + have, 0, (size_t)got))
			return 0;
		have += (size_t)got;
	}
	return -1;
}

static int open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return open(path, O_PATH | O_CLOEXEC);
}

/* The allowed files as the guest sees them: an overlay has numbers of its own. */
static void learn(struct starts *s, int root)
{
	for (size_t i = 0; i < s->allow->count; i++) {
		const struct allow_item *it = &s->allow->items[i];
		auto_close int fd = -1;
		struct stat st;

		if (it->kind >= ALLOW_FILES)
			continue;
		fd = sys_openat2(root, it->path, O_PATH, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
		if (fd < 0 || fstat(fd, &st) < 0)
			continue;
		s->ids[s->id_count].dev = st.st_dev;
		s->ids[s->id_count++].ino = st.st_ino;
	}
	s->known = s->id_count > 0;
}

static bool is_known(const struct starts *s, int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	for (size_t i = 0; i < s->id_count; i++)
		if (s->ids[i].dev == st.st_dev && s->ids[i].ino == st.st_ino)
			return true;
	return false;
}

/* "/proc/self/fd/3", "/dev/fd/3", "/proc/self/exe": the jar's /proc knows who asks, and it is not us. */
static const char *own_proc(const char *path)
{
	static const char *const heads[] = { "/proc/self/", "/proc/thread-self/" };

	if (strncmp(path, "/dev/fd/", 8) == 0)
		return path + 5;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (strncmp(path, heads[i], strlen(heads[i])) == 0)
			return path + strlen(heads[i]);
	return NULL;
}

/* What the call would open, as far as we can tell; -1: nothing. `path` becomes the whole name. */
static int open_target(pid_t pid, int root, int dirfd, bool empty, char path[PATH_MAX])
{
	char name[64], base[PATH_MAX], whole[PATH_MAX];
	const char *own;
	ssize_t n;

	if (empty) {
		snprintf(name, sizeof(name), "/proc/%d/fd/%d", pid, dirfd);
		n = readlink(name, path, PATH_MAX - 1);
		path[n > 0 ? n : 0] = '\0';
		return open(name, O_PATH | O_CLOEXEC);
	}
	own = own_proc(path);
	if (own && strlen(own) < 32 && !strstr(own, "..")) {
		return open_proc(pid, own);
	}
	if (path[0] != '/') {
		if (dirfd == AT_FDCWD)
			snprintf(name, sizeof(name), "/proc/%d/cwd", pid);
		else
			snprintf(name, sizeof(name), "/proc/%d/fd/%d", pid, dirfd);
		n = readlink(name, base, sizeof(base) - 1);
		if (n <= 0)
			return -1;
		if (snprintf(whole, sizeof(whole), "%.*s/%s", (int)n, base, path) >= (int)sizeof(whole))
			return -1;
		memcpy(path, whole, strlen(whole) + 1);
	}
	return sys_openat2(root, path, O_PATH, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

static void make_printable(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
}

static void note(struct starts *s, const char *name)
{
	struct jar_denied *d = &s->denied;

	d->count++;
	for (uint32_t i = 0; i < d->names; i++)
		if (strcmp(d->list[i].name, name) == 0) {
			d->list[i].count++;
			return;
		}
	if (d->names == JAR_DENIED_MAX)
		return;
	snprintf(d->list[d->names].name, JAR_DENIED_NAME, "%s", name);
	d->list[d->names++].count = 1;
}

static bool is_allowed_name(const struct allow *a, const char *name)
{
	for (size_t i = 0; i < a->count; i++) {
		const char *slash = strrchr(a->items[i].path, '/');

		if (a->items[i].kind <= ALLOW_LINK && slash && strcmp(slash + 1, name) == 0)
			return true;
	}
	return false;
}

/* A search along PATH asks for one name in many folders: it is one start, and none that was refused when the name is found in the end. */
static bool is_search(struct starts *s, uint32_t pid, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (!slash || is_allowed_name(s->allow, name))
		return true;
	if (pid == s->last_pid && strncmp(s->last_name, name, JAR_DENIED_NAME - 1) == 0)
		return true;
	s->last_pid = pid;
	snprintf(s->last_name, sizeof(s->last_name), "%.*s", JAR_DENIED_NAME - 1, name);
	return false;
}

static void look(struct starts *s, int listener, const struct seccomp_event *ev)
{
	pid_t pid = (pid_t)ev->pid;
	bool at = ev->nr == SYS_execveat;
	char path[PATH_MAX], shown[JAR_DENIED_NAME];
	auto_close int root = open_proc(pid, "root"), target = -1;
	int dirfd = at ? (int)ev->args[0] : AT_FDCWD;
	const char *name;

	if (root < 0 || read_text(pid, ev->args[at ? 1 : 0], path) < 0)
		return;
	if (!s->known)
		learn(s, root);
	target = open_target(pid, root, dirfd, at && !path[0], path);
	if (is_known(s, target) || !seccomp_still_waits(listener, ev))
		return;
	name = path;
	if (target < 0 && allow_folder(path)) {
		if (is_search(s, ev->pid, path))
			return;
		name = strrchr(path, '/') + 1;
	}
	snprintf(shown, sizeof(shown), "%.*s", (int)sizeof(shown) - 1, name);
	make_printable(shown);
	note(s, shown);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

void starts_see(struct starts *s, int listener, const struct seccomp_event *ev, bool noted, uint64_t now_ns)
{
	uint64_t began = cpu_ns();

	starts_wait_ms(s, now_ns);
	s->taken++;
	if (!noted)
		return;
	if (s->look_ns >= STARTS_LOOK_NS) {
		s->denied.unseen++;
		return;
	}
	look(s, listener, ev);
	s->look_ns += cpu_ns() - began;
}
