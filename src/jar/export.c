/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts: how files leave a jar whose processes are all dead. */
#include "jar/export.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "jar/feed.h"
#include "jar/root.h"
#include "kernel/sys.h"

struct walk {
	const struct export_req *req;
	int out;
	uint64_t total_bytes;
	uint32_t entries;
	bool incomplete, lost;
	char path[FEED_NAME_MAX]; /* as the front sees it: relative to /workspace, or absolute */
	struct err *e;
};

static int send_record(struct walk *w, uint32_t type, const struct stat *st, const char *text, size_t size)
{
	struct feed_rec r = { .magic = FEED_MAGIC, .type = type, .size = size,
			      .mode = type == FEED_END ? (w->incomplete ? FEED_INCOMPLETE : 0) | (w->lost ? FEED_LOST : 0) : 0,
			      .name_len = type == FEED_END ? 0 : (uint32_t)strlen(w->path) };

	if (st) {
		r.mode = st->st_mode & 07777;
		r.mtime_ns = feed_mtime(st);
	}
	if (fd_write_all(w->out, &r, sizeof(r)) < 0 || fd_write_all(w->out, w->path, r.name_len) < 0 ||
	    (text && fd_write_all(w->out, text, size) < 0))
		return err_sys(w->e, "send artifacts");
	return 0;
}

static int refuse(struct walk *w, const char *why)
{
	return send_record(w, FEED_REFUSED, NULL, why, strlen(why));
}

/* The same for a file: its bytes may be all that is left of one that the guest removed. */
static int lose(struct walk *w, const char *why)
{
	w->lost = true;
	return refuse(w, why);
}

bool export_matches(const char *glob, const char *path)
{
	/* Relative patterns are about the workspace, absolute ones about the other places. */
	if ((glob[0] == '/') != (path[0] == '/'))
		return false;
	return strcmp(glob, "**") == 0 || fnmatch(glob, path, FNM_PATHNAME | FNM_LEADING_DIR) == 0;
}

static bool wanted(const struct walk *w)
{
	for (uint32_t i = 0; i < w->req->count; i++)
		if (export_matches(w->req->globs[i], w->path))
			return true;
	return false;
}

static int send_file(struct walk *w, int dir, const char *name)
{
	static char block[65536];
	auto_close int fd = sys_openat2(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0,
					RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);
	struct stat st;
	uint64_t left;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return lose(w, "could not be opened as a plain file");
	left = (uint64_t)st.st_size;
	if (left > w->req->file_max_bytes)
		return lose(w, "larger than the disk limit");
	if (left > w->req->total_max_bytes - w->total_bytes)
		return lose(w, "past the limit for all artifacts together");
	w->total_bytes += left;
	if (send_record(w, FEED_FILE, &st, NULL, left) < 0)
		return -1;
	while (left) {
		size_t want = left < sizeof(block) ? (size_t)left : sizeof(block);
		ssize_t n = read(fd, block, want);

		/* read(), never mmap(): a file that shrinks must not be a SIGBUS. Nothing lives that could, but if it
		 * did, zeros keep the stream whole. */
		if (n <= 0) {
			memset(block, 0, want);
			n = (ssize_t)want;
		}
		if (fd_write_all(w->out, block, (size_t)n) < 0)
			return err_sys(w->e, "send artifacts");
		left -= (uint64_t)n;
	}
	return 0;
}

static int send_entry(struct walk *w, int dir, const char *name, const struct stat *st)
{
	char target[FEED_NAME_MAX];
	ssize_t n;

	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		return send_file(w, dir, name);
	case S_IFDIR:
		return send_record(w, FEED_DIR, st, NULL, 0);
	case S_IFLNK:
		n = readlinkat(dir, name, target, sizeof(target) - 1);
		if (n <= 0)
			return refuse(w, "unreadable link");
		return send_record(w, FEED_LINK, NULL, target, (size_t)n);
	case S_IFIFO:
		return refuse(w, "is a FIFO");
	case S_IFSOCK:
		return refuse(w, "is a socket");
	default:
		return refuse(w, "is a device");
	}
}

/* Depth first with an explicit stack: a guest chooses the depth, we choose the limit. */
static int walk_place(struct walk *w, int top, size_t prefix)
{
	DIR *stack[EXPORT_DEPTH_MAX];
	size_t lens[EXPORT_DEPTH_MAX];
	int depth = 0, rc = -1;

	stack[0] = fdopendir(top);
	if (!stack[0]) {
		close(top);
		return err_sys(w->e, "list artifacts");
	}
	lens[0] = prefix;
	while (depth >= 0) {
		struct dirent *d = readdir(stack[depth]);
		int dir = dirfd(stack[depth]), sub;
		struct stat st;
		size_t len;

		if (!d) {
			closedir(stack[depth--]);
			continue;
		}
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		len = lens[depth] + strlen(d->d_name);
		if (++w->entries > EXPORT_ENTRIES_MAX) {
			snprintf(w->path + lens[depth], sizeof(w->path) - lens[depth], "...");
			w->incomplete = true;
			if (refuse(w, "too many files: the rest was left") < 0)
				goto out;
			break;
		}
		if (len + 2 > sizeof(w->path) || fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			w->incomplete = true;
			continue;
		}
		memcpy(w->path + lens[depth], d->d_name, strlen(d->d_name) + 1);
		if (wanted(w) && send_entry(w, dir, d->d_name, &st) < 0)
			goto out;
		if (!S_ISDIR(st.st_mode))
			continue;
		if (depth + 1 == EXPORT_DEPTH_MAX) {
			w->incomplete = true;
			if (wanted(w) && refuse(w, "too deep: what is below was left") < 0)
				goto out;
			continue;
		}
		sub = sys_openat2(dir, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
				  RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
		stack[depth + 1] = sub < 0 ? NULL : fdopendir(sub);
		if (!stack[depth + 1]) {
			fd_close(&sub);
			w->incomplete = true;
			continue;
		}
		w->path[len] = '/';
		w->path[len + 1] = '\0';
		lens[++depth] = len + 1;
	}
	rc = 0;
out:
	while (depth >= 0)
		closedir(stack[depth--]);
	return rc;
}

int export_write(int data, const struct export_req *req, int out, struct err *e)
{
	struct walk w = { .req = req, .out = out, .e = e };

	for (size_t i = 0; i < ROOT_PLACES; i++) {
		int top = openat(data, root_places[i].name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (top < 0)
			return err_sys(e, "open %s", root_places[i].path);
		/* The workspace's files have short names; the other places are named in full. */
		w.path[0] = '\0';
		if (i > 0)
			snprintf(w.path, sizeof(w.path), "%s/", root_places[i].path);
		if (walk_place(&w, top, strlen(w.path)) < 0)
			return -1;
	}
	w.path[0] = '\0';
	return send_record(&w, FEED_END, NULL, NULL, 0);
}
