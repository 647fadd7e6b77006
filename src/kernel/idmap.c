/* SPDX-License-Identifier: Apache-2.0 */
/* User namespaces' id maps, and the host ids that belljar may use. */
#include "kernel/idmap.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "kernel/sys.h"

int idmap_write(pid_t pid, const char *uid_map, const char *gid_map, bool deny_groups, struct err *e)
{
	char path[64];
	auto_close int dir = -1;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_sys(e, "open %s", path);
	if (deny_groups && fd_write_file(dir, "setgroups", "deny") < 0)
		return err_sys(e, "deny setgroups");
	if (fd_write_file(dir, "uid_map", uid_map) < 0)
		return err_sys(e, "write uid_map");
	if (fd_write_file(dir, "gid_map", gid_map) < 0)
		return err_sys(e, "write gid_map");
	return 0;
}

int idmap_space(struct idmap_extent uid, struct idmap_extent gid, struct err *e)
{
	int sock[2], fd = -1;
	unsigned got = 0;
	char byte = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make a socket pair");
	pid = sys_clone(CLONE_NEWUSER, NULL);
	if (pid == 0) {
		/* It is not dumpable, so nobody but itself can open this; it stays until its maps are written. */
		fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
		close(sock[0]);
		if (fd >= 0 && fd_send(sock[1], &byte, 1, &fd, 1) == 0)
			(void)!read(sock[1], &byte, 1);
		_exit(0);
	}
	close(sock[1]);
	if (pid < 0)
		err_sys(e, "make a user namespace for a mount");
	else if (fd_recv(sock[0], &byte, 1, &fd, 1, &got) != 1 || got != 1)
		err_set(e, ERR_SETUP, "the user namespace for a mount was not made");
	else if (idmap_write_extents(pid, &uid, &gid, 1, false, e) < 0)
		fd_close(&fd);
	close(sock[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return fd;
}

static bool overlaps(struct idmap_range a, uint64_t start, uint64_t count)
{
	return start < (uint64_t)a.start + a.count && (uint64_t)a.start < start + count;
}

/* The number in field `index` (from 0) of a colon-separated line; -1 when it is none. */
static int64_t line_number(const char *line, int index)
{
	for (; index; index--) {
		line = strchr(line, ':');
		if (!line)
			return -1;
		line++;
	}
	if (!isdigit((unsigned char)*line))
		return -1;
	return (int64_t)strtoull(line, NULL, 10);
}

/* Lines of a file, one after the other; of long ones the beginning. stdio would have to get itself memory for each file. */
struct lines {
	int fd;
	size_t at, len;
	bool cut; /* the rest of this line is not wanted */
	char text[4097];
};

static int lines_open(struct lines *f, const char *path)
{
	f->fd = open(path, O_RDONLY | O_CLOEXEC);
	f->at = f->len = 0;
	f->cut = false;
	return f->fd < 0 ? -1 : 0;
}

static char *lines_next(struct lines *f)
{
	for (;;) {
		char *line = f->text + f->at, *end = memchr(line, '\n', f->len - f->at);
		bool skip = f->cut;
		ssize_t n;

		if (end) {
			*end = '\0';
			f->at = (size_t)(end + 1 - f->text);
			f->cut = false;
			if (skip)
				continue;
			return line;
		}
		f->len -= f->at;
		memmove(f->text, line, f->len);
		f->at = 0;
		if (f->len == sizeof(f->text) - 1) {
			f->text[f->len] = '\0';
			f->at = f->len;
			f->cut = true;
			if (skip)
				continue;
			return f->text;
		}
		n = read(f->fd, f->text + f->len, sizeof(f->text) - 1 - f->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0) {
			f->len += (size_t)n;
			continue;
		}
		/* A last line without an end. */
		f->text[f->len] = '\0';
		f->at = f->len;
		n = (ssize_t)f->len;
		f->len = f->at = 0;
		return n && !skip ? f->text : NULL;
	}
}

int idmap_check_free(struct idmap_range r, struct err *e)
{
	static const struct {
		const char *path;
		int start, count; /* fields */
	} files[] = {
		{ "/etc/passwd", 2, -1 },
		{ "/etc/group", 2, -1 },
		{ "/etc/subuid", 1, 2 },
		{ "/etc/subgid", 1, 2 },
	};
	struct lines f;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const char *line;

		if (lines_open(&f, files[i].path) < 0)
			continue;
		while ((line = lines_next(&f))) {
			int64_t start = line_number(line, files[i].start);
			int64_t count = files[i].count < 0 ? 1 : line_number(line, files[i].count);

			if (start < 0 || count < 0 || !overlaps(r, (uint64_t)start, (uint64_t)count))
				continue;
			close(f.fd);
			err_set(e, ERR_SETUP, "host ids %u..%u are in use in %s", r.start,
				r.start + r.count - 1, files[i].path);
			return err_hint(e, "free that range in %s: belljar gives it to guests", files[i].path);
		}
		close(f.fd);
	}
	return 0;
}

int idmap_find_sub(const char *file, uid_t uid, const char *name, struct idmap_range *out)
{
	FILE *f = fopen(file, "re");
	char line[1024], number[16];
	int rc = -1;

	if (!f)
		return -1;
	snprintf(number, sizeof(number), "%u", uid);
	while (rc < 0 && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');
		int64_t start, count;

		if (!colon)
			continue;
		*colon = '\0';
		if (!line[0] || (strcmp(line, name) != 0 && strcmp(line, number) != 0))
			continue;
		*colon = ':';
		start = line_number(line, 1);
		count = line_number(line, 2);
		if (start <= 0 || count < IDMAP_SLOT_IDS || start > UINT32_MAX - count || count > UINT32_MAX)
			continue;
		out->start = (uint32_t)start;
		out->count = (uint32_t)count;
		rc = 0;
	}
	fclose(f);
	return rc;
}

int idmap_write_extents(pid_t pid, const struct idmap_extent *uids, const struct idmap_extent *gids, unsigned count, bool deny_groups,
			struct err *e)
{
	static char text[2][16384];

	for (int g = 0; g < 2; g++) {
		const struct idmap_extent *x = g ? gids : uids;
		size_t at = 0;

		for (unsigned i = 0; i < count; i++) {
			int n = snprintf(text[g] + at, sizeof(text[g]) - at, "%u %u %u\n", x[i].inside, x[i].outside, x[i].count);

			if (n < 0 || (size_t)n >= sizeof(text[g]) - at)
				return err_set(e, ERR_INTERNAL, "an id map is too long");
			at += (size_t)n;
		}
	}
	return idmap_write(pid, text[0], text[1], deny_groups, e);
}

#define HELPER_ARGS 1024

static int run_helper(const char *helper, pid_t pid, const struct idmap_extent *x, unsigned count, struct err *e)
{
	static char words[HELPER_ARGS][12];
	static char *argv[HELPER_ARGS + 3];
	char *envp[] = { NULL };
	unsigned n = 0, used = 0;
	int status;
	pid_t child;

	if (1 + 3 * count > HELPER_ARGS)
		return err_set(e, ERR_INTERNAL, "an id map is too long");
	argv[n++] = (char *)helper;
	snprintf(words[used], sizeof(words[0]), "%d", pid);
	argv[n++] = words[used++];
	for (unsigned i = 0; i < count; i++) {
		const uint32_t v[3] = { x[i].inside, x[i].outside, x[i].count };

		for (int k = 0; k < 3; k++) {
			snprintf(words[used], sizeof(words[0]), "%u", v[k]);
			argv[n++] = words[used++];
		}
	}
	argv[n] = NULL;
	child = fork();
	if (child < 0)
		return err_sys(e, "fork for %s", helper);
	if (child == 0) {
		execve(helper, argv, envp);
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for %s", helper);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(e, ERR_SETUP, "%s refused the id range", helper);
	return 0;
}

int idmap_run_helpers(pid_t pid, const struct idmap_extent *uids, const struct idmap_extent *gids, unsigned count, struct err *e)
{
	if (run_helper("/usr/bin/newuidmap", pid, uids, count, e) < 0)
		return -1;
	return run_helper("/usr/bin/newgidmap", pid, gids, count, e);
}
