/* SPDX-License-Identifier: Apache-2.0 */
/* Where belljar keeps things: the state folder (logs), and the list of runs that are alive. */
#include "run/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "keeper/slot.h"

/* mkdir -p; only what is made here is made private. */
static int make_dirs(char *path)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST) {
			*p = '/';
			return -1;
		}
		*p = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -1 : 0;
}

int state_dir(char *out, size_t size, struct err *e)
{
	const char *own = getenv("BELLJAR_STATE_DIR"), *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (own && own[0] == '/')
		snprintf(out, size, "%s", own);
	else if (geteuid() == 0)
		snprintf(out, size, "/var/lib/belljar");
	else if (xdg && xdg[0] == '/')
		snprintf(out, size, "%s/belljar", xdg);
	else if (home && home[0] == '/')
		snprintf(out, size, "%s/.local/state/belljar", home);
	else if (slot_run_dir(out, size, e) < 0)
		return -1; /* private, or nowhere */
	if (make_dirs(out) < 0) {
		err_sys(e, "make the state folder %s", out);
		return err_hint(e, "set XDG_STATE_HOME to a folder that can be written");
	}
	return 0;
}

int state_log_dir(char *out, size_t size, struct err *e)
{
	size_t n;

	if (state_dir(out, size, e) < 0)
		return -1;
	n = strlen(out);
	snprintf(out + n, size - n, "/logs");
	if (mkdir(out, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make %s", out);
	return 0;
}

bool state_first_time(const char *what)
{
	char path[512];
	struct err e;
	size_t n;
	int fd;

	if (state_dir(path, sizeof(path), &e) < 0)
		return true;
	n = strlen(path);
	snprintf(path + n, sizeof(path) - n, "/seen-%.60s", what);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void state_new_id(char out[32])
{
	unsigned char b[6] = { 0 };

	if (getrandom(b, sizeof(b), 0) != sizeof(b)) {
		uint64_t t = (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();

		memcpy(b, &t, sizeof(b));
	}
	snprintf(out, 32, "exec-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
}

static int runs_dir(char *out, size_t size, struct err *e)
{
	size_t n;

	if (slot_run_dir(out, size, e) < 0)
		return -1;
	n = strlen(out);
	snprintf(out + n, size - n, "/runs");
	if (mkdir(out, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make %s", out);
	return 0;
}

int state_register(struct state_run *out, const char *id, const char *command, struct err *e)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char dir[256], fresh[320], line[256];
	size_t n;

	out->fd = -1;
	if (runs_dir(dir, sizeof(dir), e) < 0)
		return -1;
	snprintf(out->path, sizeof(out->path), "%s/%s", dir, id);
	snprintf(fresh, sizeof(fresh), "%s/.%s", dir, id);
	snprintf(line, sizeof(line), "%llu %.150s", (unsigned long long)time(NULL), command);
	for (n = 0; line[n]; n++)
		if ((unsigned char)line[n] < ' ' || line[n] == 0x7f)
			line[n] = '?';
	/* Locked before it has its name: an entry without a lock is a dead one to whoever lists them. */
	out->fd = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out->fd < 0 || fcntl(out->fd, F_SETLK, &lock) < 0 || fd_write_all(out->fd, line, n) < 0 || renameat2(AT_FDCWD, fresh, AT_FDCWD, out->path, RENAME_NOREPLACE) < 0) {
		err_sys(e, "enter the run in %s", dir);
		unlink(fresh);
		fd_close(&out->fd);
		return -1;
	}
	return 0;
}

void state_unregister(struct state_run *r)
{
	if (r->fd < 0)
		return;
	unlink(r->path);
	fd_close(&r->fd);
}

/* The process that holds an entry's lock, or 0. The kernel says it, not the file. */
static pid_t holder(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid;
}

int state_each(int (*fn)(const struct state_entry *, void *), void *ctx, struct err *e)
{
	char path[256];
	int count = 0;
	DIR *dir;
	struct dirent *d;

	if (runs_dir(path, sizeof(path), e) < 0)
		return -1;
	dir = opendir(path);
	if (!dir)
		return err_sys(e, "list %s", path);
	while ((d = readdir(dir))) {
		struct state_entry s = { .pid = 0 };
		char text[256], *rest;
		ssize_t n;

		if (strncmp(d->d_name, "exec-", 5) != 0)
			continue;
		auto_close int fd = openat(dirfd(dir), d->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		s.pid = holder(fd);
		if (!s.pid) {
			unlinkat(dirfd(dir), d->d_name, 0);
			continue;
		}
		n = read(fd, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = '\0';
		s.started_s = strtoull(text, &rest, 10);
		snprintf(s.id, sizeof(s.id), "%.32s", d->d_name);
		snprintf(s.command, sizeof(s.command), "%.150s", *rest == ' ' ? rest + 1 : "");
		count++;
		if (fn(&s, ctx) != 0)
			break;
	}
	closedir(dir);
	return count;
}

int state_kill(const char *id, struct err *e)
{
	char dir[256], path[320];
	auto_close int fd = -1, pidfd = -1;
	pid_t pid;

	if (strncmp(id, "exec-", 5) != 0 || strchr(id, '/') || strlen(id) > 32)
		return err_set(e, ERR_USAGE, "'%.60s' is not the id of a run", id);
	if (runs_dir(dir, sizeof(dir), e) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/%s", dir, id);
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	pid = fd < 0 ? 0 : holder(fd);
	if (!pid) {
		err_set(e, ERR_INPUT, "no run '%s' is alive", id);
		return err_hint(e, "belljar ps");
	}
	pidfd = pidfd_open(pid, 0);
	/* Asked again with the process pinned: its number cannot have been reused in between. */
	if (pidfd < 0 || holder(fd) != pid || pidfd_send_signal(pidfd, SIGTERM, NULL, 0) < 0)
		return err_set(e, ERR_INPUT, "run '%s' ended before it could be killed", id);
	return 0;
}

void state_remove_tree(int at, const char *name)
{
	struct statx st;
	struct dirent *entry;
	DIR *dir;
	int fd;

	if (statx(at, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) < 0 || (st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return;
	if (!S_ISDIR(st.stx_mode)) {
		unlinkat(at, name, 0);
		return;
	}
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			state_remove_tree(fd, entry->d_name);
	if (dir)
		closedir(dir);
	unlinkat(at, name, AT_REMOVEDIR);
}
