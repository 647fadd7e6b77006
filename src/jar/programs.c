/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a folder of shared objects are programs, with a memory. */
#include "jar/programs.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"

#define LIST_MAX  (32U << 20)
#define DEPTH_MAX 64
#define PH_MAX	  64

/* ---- one file ---- */

static bool is_dyn_program(int fd, const Elf64_Phdr *ph, size_t count)
{
	static Elf64_Dyn dyn[1024];
	bool interp = false, soname = false, pie = false;
	ssize_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (ph[i].p_type == PT_INTERP)
			interp = true;
		if (ph[i].p_type == PT_DYNAMIC)
			n = pread(fd, dyn, ph[i].p_filesz < sizeof(dyn) ? ph[i].p_filesz : sizeof(dyn), (off_t)ph[i].p_offset);
	}
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(dyn[0]) && dyn[i].d_tag != DT_NULL; i++) {
		if (dyn[i].d_tag == DT_SONAME)
			soname = true;
		if (dyn[i].d_tag == DT_FLAGS_1 && dyn[i].d_un.d_val & 0x08000000) /* DF_1_PIE */
			pie = true;
	}
	return pie || (interp && !soname);
}

/* Only by its name: a static program that says nothing of itself. Addons of node are libraries, too. */
static bool is_named_library(const char *name)
{
	size_t n = strlen(name);

	return strstr(name, ".so") || (n > 5 && strcmp(name + n - 5, ".node") == 0);
}

bool programs_is(int fd, const char *name)
{
	static Elf64_Phdr ph[PH_MAX];
	Elf64_Ehdr h;
	struct stat st;
	ssize_t n = pread(fd, &h, sizeof(h), 0);

	if (n < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	/* At the same place in both classes. Other byte orders cannot be run here. */
	if (h.e_ident[EI_DATA] != ELFDATA2LSB || (h.e_type != ET_EXEC && h.e_type != ET_DYN))
		return false;
	if (h.e_type == ET_EXEC)
		return true;
	/* 32-bit libraries cannot be mapped by a 64-bit loader, and the filter lets no 32-bit program make a call. */
	if (h.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	if (h.e_phnum == 0)
		return false;
	if (n < (ssize_t)sizeof(h) || h.e_phentsize != sizeof(ph[0]) || h.e_phnum > PH_MAX ||
	    pread(fd, ph, h.e_phnum * sizeof(ph[0]), (off_t)h.e_phoff) != (ssize_t)(h.e_phnum * sizeof(ph[0])))
		return true; /* strange: not to be mapped */
	if (is_dyn_program(fd, ph, h.e_phnum))
		return true;
	return !is_named_library(name) && fstat(fd, &st) == 0 && st.st_mode & 0111;
}

/* ---- records ---- */

/*
 * The file is a header and records, each a kind, numbers and a NUL-terminated path: a tree, its folders with what would change if a name came,
 * went or was exchanged in them (ctime: nobody can set it), its programs.
 */
#define MAGIC 0x31676f72706a62ULL /* "bjprog1" */

struct header {
	uint64_t magic, len, sum;
};

enum { REC_TREE = 1, REC_DIR, REC_PROGRAM };

struct rec {
	uint32_t kind, path_len; /* with its NUL */
	uint64_t dev, ino, ctime_s, ctime_ns;
};

static uint64_t checksum(const char *data, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)data[i]) * 0x100000001b3ULL;
	return h;
}

static int add_rec(struct buf *b, uint32_t kind, const char *path, const struct stat *st, struct err *e)
{
	struct rec r;

	memset(&r, 0, sizeof(r));
	r.kind = kind;
	r.path_len = (uint32_t)strlen(path) + 1;
	if (st) {
		r.dev = st->st_dev;
		r.ino = st->st_ino;
		r.ctime_s = (uint64_t)st->st_ctim.tv_sec;
		r.ctime_ns = (uint64_t)st->st_ctim.tv_nsec;
	}
	if (buf_add(b, &r, sizeof(r)) < 0 || buf_add(b, path, r.path_len) < 0)
		return err_set(e, ERR_SETUP, "too many folders of libraries");
	return 0;
}

/* The record at *at, its path in *path; moves on. False at the end, or where the rest makes no sense. */
static bool next_rec(const char *data, size_t len, size_t *at, struct rec *r, const char **path)
{
	if (len - *at < sizeof(*r))
		return false;
	memcpy(r, data + *at, sizeof(*r));
	*path = data + *at + sizeof(*r);
	if (r->path_len < 2 || r->path_len > len - *at - sizeof(*r) || (*path)[r->path_len - 1] || strlen(*path) + 1 != r->path_len)
		return false;
	*at += sizeof(*r) + r->path_len;
	return true;
}

static bool is_unchanged(const struct rec *r, const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && r->dev == st.st_dev && r->ino == st.st_ino &&
	       r->ctime_s == (uint64_t)st.st_ctim.tv_sec && r->ctime_ns == (uint64_t)st.st_ctim.tv_nsec;
}

/* The records of `tree` in what was remembered, when they still hold: 0 with [*from, *to), else -1. */
static int recall(const struct buf *old, const char *tree, size_t *from, size_t *to)
{
	size_t at = 0;
	const char *path;
	struct rec r;
	bool mine = false;

	for (size_t here = 0; next_rec(old->data, old->len, &at, &r, &path); here = at) {
		if (r.kind == REC_TREE) {
			if (mine)
				break;
			mine = strcmp(path, tree) == 0;
			if (mine)
				*from = here;
		}
		if (mine && r.kind == REC_DIR && !is_unchanged(&r, path))
			return -1;
		if (mine)
			*to = at;
	}
	return mine ? 0 : -1;
}

/* ---- looking ---- */

static int walk(int fd, char *path, unsigned depth, struct buf *out, struct err *e);

static int walk_entry(int dir, const struct dirent *d, char *path, unsigned depth, struct buf *out, struct err *e)
{
	size_t len = strlen(path);
	unsigned char type = d->d_type;
	struct stat st;
	int rc = 0;

	if (len + strlen(d->d_name) + 2 > PATH_MAX)
		return err_set(e, ERR_SETUP, "%s: too deep", path);
	if (type == DT_UNKNOWN && fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_CHR;
	if (type != DT_DIR && type != DT_REG)
		return 0;
	snprintf(path + len, PATH_MAX - len, "/%s", d->d_name);
	if (type == DT_DIR) {
		int sub = openat(dir, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		rc = sub < 0 || depth == DEPTH_MAX ? add_rec(out, REC_PROGRAM, path, NULL, e) : walk(sub, path, depth + 1, out, e);
		if (sub >= 0 && depth == DEPTH_MAX)
			close(sub);
	} else {
		auto_close int file = openat(dir, d->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

		/* EACCES: unreadable for us and for a guest. Anything else is no file to be left alone. */
		if (file >= 0 ? programs_is(file, d->d_name) : errno != EACCES && errno != ENOENT)
			rc = add_rec(out, REC_PROGRAM, path, NULL, e);
	}
	path[len] = '\0';
	return rc;
}

/* Takes `fd`. */
static int walk(int fd, char *path, unsigned depth, struct buf *out, struct err *e)
{
	DIR *dir = fdopendir(fd);
	struct stat st;
	struct dirent *d;
	int rc;

	if (!dir) {
		close(fd);
		return err_sys(e, "list %s", path);
	}
	/* Before the names: what changes meanwhile shows the next time. */
	rc = fstat(dirfd(dir), &st) < 0 ? err_sys(e, "look at %s", path) : add_rec(out, REC_DIR, path, &st, e);
	while (rc == 0 && (errno = 0, d = readdir(dir)))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			rc = walk_entry(dirfd(dir), d, path, depth, out, e);
	if (rc == 0 && errno && !d)
		rc = err_sys(e, "list %s", path);
	closedir(dir);
	return rc;
}

static int look_through(const char *tree, struct buf *out, struct err *e)
{
	char path[PATH_MAX];
	int fd = open(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open %s", tree);
	snprintf(path, sizeof(path), "%s", tree);
	if (add_rec(out, REC_TREE, tree, NULL, e) < 0) {
		close(fd);
		return -1;
	}
	return walk(fd, path, 0, out, e);
}

/* ---- the memory ---- */

static void load(int cache, struct buf *out)
{
	struct header h;
	static char block[65536];
	ssize_t n;

	if (cache < 0 || pread(cache, &h, sizeof(h), 0) != sizeof(h) || h.magic != MAGIC || h.len > LIST_MAX)
		return;
	for (off_t at = sizeof(h); out->len < h.len && (n = pread(cache, block, sizeof(block), at)) > 0; at += n)
		if (buf_add(out, block, (size_t)n) < 0)
			break;
	if (out->len != h.len || checksum(out->data, out->len) != h.sum)
		out->len = 0;
}

/* What was remembered of other trees stays. */
static int keep_others(const struct buf *old, const char *const *trees, size_t count, struct buf *out)
{
	size_t at = 0;
	const char *path;
	struct rec r;
	bool keep = false;

	for (size_t here = 0; next_rec(old->data, old->len, &at, &r, &path); here = at) {
		if (r.kind == REC_TREE) {
			keep = true;
			for (size_t i = 0; i < count; i++)
				keep = keep && strcmp(trees[i], path) != 0;
		}
		if (keep && buf_add(out, old->data + here, at - here) < 0)
			return -1;
	}
	return 0;
}

/* Nothing is lost when it cannot be written. Two who write at once write one after the other; who reads meanwhile finds a wrong sum. */
static void store(int cache, const struct buf *list)
{
	struct header h = { MAGIC, list->len, checksum(list->data, list->len) };

	if (flock(cache, LOCK_EX | LOCK_NB) < 0)
		return;
	for (size_t at = 0; at < list->len;) {
		ssize_t n = pwrite(cache, list->data + at, list->len - at, (off_t)(sizeof(h) + at));

		if (n <= 0) {
			h.magic = 0;
			break;
		}
		at += (size_t)n;
	}
	if (pwrite(cache, &h, sizeof(h), 0) == sizeof(h) && ftruncate(cache, (off_t)(sizeof(h) + list->len)) < 0)
		h.magic = 0;
	flock(cache, LOCK_UN);
}

int programs_find(const char *const *trees, size_t count, int cache, char **out, size_t *len, struct err *e)
{
	auto_buf old = BUF_INIT(LIST_MAX), now = BUF_INIT(LIST_MAX), paths = BUF_INIT(LIST_MAX);
	bool fresh = false;
	const char *path;
	struct rec r;
	size_t at = 0;

	load(cache, &old);
	for (size_t i = 0; i < count; i++) {
		size_t from, to;

		if (recall(&old, trees[i], &from, &to) == 0) {
			if (buf_add(&now, old.data + from, to - from) < 0)
				return err_set(e, ERR_SETUP, "too many folders of libraries");
			continue;
		}
		fresh = true;
		if (look_through(trees[i], &now, e) < 0)
			return -1;
	}
	while (next_rec(now.data, now.len, &at, &r, &path))
		if (r.kind == REC_PROGRAM && buf_add(&paths, path, r.path_len) < 0)
			return err_set(e, ERR_SETUP, "too many programs in folders of libraries");
	if (fresh && cache >= 0 && keep_others(&old, trees, count, &now) == 0)
		store(cache, &now);
	*out = take_ptr(paths.data);
	*len = paths.len;
	return 0;
}
