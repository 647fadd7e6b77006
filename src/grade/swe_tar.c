/* SPDX-License-Identifier: Apache-2.0 */
/* A tar archive as it comes, unpacked beneath one folder. What it says is not believed: nothing is written outside. */
#include "grade/swe_tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/sys.h"

#define BLOCK 512U
#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* Where the fields of a header are. */
enum { AT_NAME = 0, AT_MODE = 100, AT_SIZE = 124, AT_MTIME = 136, AT_SUM = 148, AT_TYPE = 156, AT_LINK = 157, AT_MAGIC = 257, AT_PREFIX = 345 };

void swe_tar_init(struct swe_tar *t, int root, unsigned open_modes, uint64_t max_entries, uint64_t max_bytes)
{
	memset(t, 0, sizeof(*t));
	t->root = root;
	t->open_modes = open_modes;
	t->out = -1;
	t->max_entries = max_entries;
	t->max_bytes = max_bytes;
}

/* Octal, or base 256 behind a byte of 0x80. */
static int number(const char *p, size_t len, uint64_t *out)
{
	uint64_t v = 0;
	size_t i = 0;

	if ((unsigned char)p[0] == 0x80) {
		for (i = 1; i < len; i++) {
			if (v >> 55)
				return -1;
			v = v << 8 | (unsigned char)p[i];
		}
		*out = v;
		return 0;
	}
	while (i < len && p[i] == ' ')
		i++;
	for (; i < len && p[i] >= '0' && p[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(p[i] - '0');
	for (; i < len; i++)
		if (p[i] != '\0' && p[i] != ' ')
			return -1;
	*out = v;
	return 0;
}

static bool sum_is_right(const char *h)
{
	uint64_t want, sum = 0;

	for (unsigned i = 0; i < BLOCK; i++)
		sum += i >= AT_SUM && i < AT_SUM + 8 ? ' ' : (unsigned char)h[i];
	return number(h + AT_SUM, 8, &want) == 0 && want == sum;
}

/* "./a/b/" as "a/b"; NULL: not a name below the folder. "" is the folder itself. */
static const char *clean(char *path)
{
	char *p = path;
	size_t n;

	while (p[0] == '.' && (p[1] == '/' || p[1] == '\0'))
		p += p[1] ? 2 : 1;
	n = strlen(p);
	while (n && p[n - 1] == '/')
		p[--n] = '\0';
	if (*p == '/')
		return NULL;
	for (const char *c = p; *c;) {
		size_t len = strcspn(c, "/");

		if (len == 0 || len > 255 || (len == 1 && c[0] == '.') || (len == 2 && c[0] == '.' && c[1] == '.'))
			return NULL;
		c += len;
		if (*c == '/' && !*++c)
			return NULL;
	}
	return p;
}

/* The folder that `path` lies in, and its last name. */
static int parent_of(const struct swe_tar *t, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char dir[SWE_TAR_PATH];

	*name = slash ? slash + 1 : path;
	if (!slash)
		return fcntl(t->root, F_DUPFD_CLOEXEC, 3);
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = '\0';
	return sys_openat2(t->root, dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, BENEATH);
}

static int bad(struct swe_tar *t, const char *what, const char *path)
{
	return err_set(&t->err, ERR_INPUT, "the archive: %s%s%.100s", what, *path ? ": " : "", path);
}

static int make_entry(struct swe_tar *t, char type)
{
	const char *path = clean(t->path), *name;
	auto_close int dir = -1;

	if (!path)
		return bad(t, "a name that is none below its folder", t->path);
	if (!*path)
		return type == '5' ? 0 : bad(t, "an entry without a name", "");
	dir = parent_of(t, path, &name);
	if (dir < 0) {
		err_sys(&t->err, "open the folder of %.100s", path);
		return -1;
	}
	switch (type) {
	case '5':
		/* One that is there already is as good. */
		if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
			return err_sys(&t->err, "make %.100s", path);
		if (t->open_modes) {
			auto_close int made = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			if (made < 0 || fchmod(made, 0755 | t->open_modes | 0111) < 0)
				return err_sys(&t->err, "make %.100s", path);
		}
		return 0;
	case '2':
		if (symlinkat(t->target, dir, name) < 0)
			return err_sys(&t->err, "link %.100s", path);
		return 0;
	case '0':
		t->out = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (t->out < 0)
			return err_sys(&t->err, "make %.100s", path);
		return 0;
	default:
		return bad(t, "an entry that is neither file, folder nor link", path);
	}
}

static int end_entry(struct swe_tar *t)
{
	unsigned mode = (t->mode & 0111 ? 0755 : 0644) | t->open_modes;
	const struct timespec times[2] = { { .tv_sec = t->mtime }, { .tv_sec = t->mtime } };

	if (t->long_to) {
		t->long_to[t->long_len] = '\0';
		t->long_to = NULL;
		return 0;
	}
	t->has_path = t->has_target = false;
	if (t->out < 0)
		return 0;
	if (fchmod(t->out, mode) < 0 || futimens(t->out, times) < 0) {
		err_sys(&t->err, "set the mode of %.100s", t->path);
		fd_close(&t->out);
		return -1;
	}
	fd_close(&t->out);
	return 0;
}

static int begin_entry(struct swe_tar *t)
{
	static const char nothing[BLOCK];
	const char *h = t->head;
	uint64_t size, mode, mtime;
	char type = h[AT_TYPE] ? h[AT_TYPE] : '0';

	if (memcmp(h, nothing, BLOCK) == 0) {
		t->ended = true;
		return 0;
	}
	if (t->ended)
		return bad(t, "something behind its end", "");
	if (!sum_is_right(h) || number(h + AT_SIZE, 12, &size) < 0 || number(h + AT_MODE, 8, &mode) < 0 || number(h + AT_MTIME, 12, &mtime) < 0)
		return bad(t, "a header that is none", "");
	if (++t->entries > t->max_entries || size > t->max_bytes || (t->bytes += size) > t->max_bytes)
		return bad(t, "more than a repository holds", "");
	t->left = size;
	t->pad = (BLOCK - size % BLOCK) % BLOCK;
	if (type == 'L' || type == 'K') {
		if (size == 0 || size > SWE_TAR_PATH - 1)
			return bad(t, "a name that is too long", "");
		t->long_to = type == 'L' ? t->path : t->target;
		t->long_len = 0;
		*(type == 'L' ? &t->has_path : &t->has_target) = true;
		return 0;
	}
	if (type != '0' && size)
		return bad(t, "an entry with data that has none", "");
	if (!t->has_path) {
		/* ustar's prefix; GNU tar has other things there. */
		if (memcmp(h + AT_MAGIC, "ustar\0", 6) == 0 && h[AT_PREFIX])
			snprintf(t->path, sizeof(t->path), "%.155s/%.100s", h + AT_PREFIX, h);
		else
			snprintf(t->path, sizeof(t->path), "%.100s", h);
	}
	if (!t->has_target)
		snprintf(t->target, sizeof(t->target), "%.100s", h + AT_LINK);
	t->mode = (unsigned)mode;
	t->mtime = (int64_t)mtime;
	if (make_entry(t, type) < 0)
		return -1;
	return t->left ? 0 : end_entry(t);
}

int swe_tar_add(struct swe_tar *t, const char *data, size_t len)
{
	if (t->err.kind)
		return -1;
	while (len) {
		size_t n;

		if (t->left) {
			n = t->left < len ? (size_t)t->left : len;
			if (t->long_to) {
				memcpy(t->long_to + t->long_len, data, n);
				t->long_len += n;
			} else if (fd_write_all(t->out, data, n) < 0) {
				return err_sys(&t->err, "write %.100s", t->path);
			}
			t->left -= n;
			if (!t->left && end_entry(t) < 0)
				return -1;
		} else if (t->pad) {
			n = t->pad < len ? (size_t)t->pad : len;
			t->pad -= n;
		} else {
			n = BLOCK - t->have < len ? BLOCK - t->have : len;
			memcpy(t->head + t->have, data, n);
			t->have += n;
			if (t->have == BLOCK) {
				t->have = 0;
				if (begin_entry(t) < 0)
					return -1;
			}
		}
		data += n;
		len -= n;
	}
	return 0;
}

int swe_tar_end(struct swe_tar *t)
{
	fd_close(&t->out);
	if (t->err.kind)
		return -1;
	return t->ended && !t->left && !t->have ? 0 : bad(t, "it ends in the middle", "");
}
