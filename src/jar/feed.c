/* SPDX-License-Identifier: Apache-2.0 */
/* The feed, reading side: runs in the process that becomes the guest. No heap, no stdio. */
#include "jar/feed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/sys.h"

bool feed_name_ok(const char *name, uint64_t len)
{
	const char *p = name, *end = name + len;

	if (!len || len >= FEED_NAME_MAX || name[0] == '/' || memchr(name, 0, len))
		return false;
	while (p < end) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		size_t n = (size_t)((slash ? slash : end) - p);

		if (n == 0 || n > 255 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		p += n;
		if (slash && ++p == end)
			return false;
	}
	return true;
}

int feed_check(const struct feed_rec *r, struct err *e)
{
	bool named = r->type == FEED_DIR || r->type == FEED_FILE || r->type == FEED_LINK || r->type == FEED_REFUSED;
	uint64_t max = r->type == FEED_FILE			      ? UINT64_MAX
		       : r->type == FEED_ARGV || r->type == FEED_ENV ? FEED_WORDS_MAX
		       : r->type == FEED_DIR || r->type == FEED_GO || r->type == FEED_END ? 0
										      : FEED_NAME_MAX - 1;

	if (r->magic != FEED_MAGIC || r->type < FEED_DIR || r->type > FEED_END || r->mode > 07777 ||
	    named != (r->name_len > 0) || r->name_len >= FEED_NAME_MAX || r->size > max)
		return err_set(e, ERR_INTERNAL, "the feed is damaged");
	return 0;
}

/* Makes the folders above `name`, and leaves the last part in *leaf. The folder it lies in: `root`, or one that stays open in *opened. */
static int open_parent(int root, char *name, const char **leaf, int *opened, struct err *e)
{
	char *part = name, *slash;
	int dir = root;

	while ((slash = strchr(part, '/'))) {
		int next;

		*slash = '\0';
		if (mkdirat(dir, part, 0755) < 0 && errno != EEXIST)
			return err_sys(e, "make folder '%s'", part);
		next = openat(dir, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return err_sys(e, "open folder '%s'", part);
		fd_close(opened);
		dir = *opened = next;
		part = slash + 1;
	}
	*leaf = part;
	return dir;
}

static char block[65536];
static char rooms[2][2048]; /* for words: the usual ones need no memory of their own */

void feed_prepare(void)
{
	__atomic_fetch_or(block, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		__atomic_fetch_or(rooms[i], 0, __ATOMIC_RELAXED);
}

/* What was read and not yet used lies in `block`: a small feed is one read. Nothing follows FEED_GO that somebody else would want to read. */
struct input {
	int fd;
	size_t at, len;
};

static int refill(struct input *in)
{
	ssize_t n;

	do
		n = read(in->fd, block, sizeof(block));
	while (n < 0 && errno == EINTR);
	in->at = 0;
	in->len = n > 0 ? (size_t)n : 0;
	return n > 0 ? 0 : -1;
}

/* At most `want` bytes of it, at least one. NULL: the feed has ended. */
static const char *take_some(struct input *in, uint64_t want, size_t *n)
{
	const char *p;

	if (in->at == in->len && refill(in) < 0)
		return NULL;
	*n = in->len - in->at < want ? in->len - in->at : (size_t)want;
	p = block + in->at;
	in->at += *n;
	return p;
}

static int take(struct input *in, void *out, size_t size)
{
	for (size_t done = 0, n; done < size; done += n) {
		const char *p = take_some(in, size - done, &n);

		if (!p)
			return -1;
		memcpy((char *)out + done, p, n);
	}
	return 0;
}

static int copy_data(struct input *in, int out, uint64_t size, struct err *e)
{
	while (size) {
		size_t n;
		const char *p = take_some(in, size, &n);

		if (!p)
			return err_set(e, ERR_INTERNAL, "the feed ended in the middle of a file");
		if (fd_write_all(out, p, n) < 0)
			return err_sys(e, "write");
		size -= n;
	}
	return 0;
}

static int set_times(int fd, int64_t mtime_ns)
{
	struct timespec t[2] = { { 0, UTIME_OMIT }, { mtime_ns / 1000000000, mtime_ns % 1000000000 } };

	return mtime_ns > 0 ? futimens(fd, t) : 0;
}

static int make_entry(struct input *in, int root, const struct feed_rec *r, char *name, struct err *e)
{
	char shown[128], target[FEED_NAME_MAX];
	const char *leaf = name;
	auto_close int fd = -1, opened = -1;
	int dir;

	snprintf(shown, sizeof(shown), "%.127s", name);
	dir = open_parent(root, name, &leaf, &opened, e);
	if (dir < 0)
		return err_wrap(e, "copy '%s' into the jar", shown);
	switch (r->type) {
	case FEED_DIR:
		if (mkdirat(dir, leaf, r->mode | 0700) < 0 && errno != EEXIST)
			return err_sys(e, "copy '%s' into the jar", shown);
		return 0;
	case FEED_LINK:
		if (take(in, target, (size_t)r->size) < 0)
			return err_set(e, ERR_INTERNAL, "the feed ended in a link");
		target[r->size] = '\0';
		if (symlinkat(target, dir, leaf) < 0)
			return err_sys(e, "copy link '%s' into the jar", shown);
		return 0;
	default:
		fd = openat(dir, leaf, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, r->mode);
		if (fd < 0)
			return err_sys(e, "copy '%s' into the jar", shown);
		if (copy_data(in, fd, r->size, e) < 0)
			return err_wrap(e, "copy '%s' into the jar", shown);
		/* The mode again: umask was applied to the first. */
		if (fchmod(fd, r->mode) < 0 || set_times(fd, r->mtime_ns) < 0)
			return err_sys(e, "copy '%s' into the jar", shown);
		return 0;
	}
}

static int read_words(struct input *in, uint64_t size, char **out, uint64_t *out_len, struct err *e)
{
	static unsigned used;
	char *p;

	if (*out)
		return err_set(e, ERR_INTERNAL, "the feed repeats itself");
	if (size < sizeof(rooms[0]) && used < 2)
		p = rooms[used++];
	else
		p = mmap(NULL, FEED_WORDS_MAX + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return err_sys(e, "map room for words");
	if (take(in, p, (size_t)size) < 0)
		return err_set(e, ERR_INTERNAL, "the feed ended in a list of words");
	if (size && p[size - 1] != '\0')
		return err_set(e, ERR_INTERNAL, "a list of words does not end");
	*out = p;
	*out_len = size;
	return 0;
}

static int read_record(struct input *in, int root, const struct feed_rec *r, struct feed_plan *out, struct err *e)
{
	char name[FEED_NAME_MAX];

	switch (r->type) {
	case FEED_DIR:
	case FEED_FILE:
	case FEED_LINK:
		if (take(in, name, r->name_len) < 0)
			return err_set(e, ERR_INTERNAL, "the feed ended in a name");
		name[r->name_len] = '\0';
		if (!feed_name_ok(name, r->name_len))
			return err_set(e, ERR_INTERNAL, "the feed holds a name that leaves its folder");
		out->entries++;
		return make_entry(in, root, r, name, e);
	case FEED_ARGV:
		return read_words(in, r->size, &out->argv_words, &out->argv_len, e);
	case FEED_ENV:
		return read_words(in, r->size, &out->env_words, &out->env_len, e);
	case FEED_CWD:
		if (take(in, out->cwd, (size_t)r->size) < 0)
			return err_set(e, ERR_INTERNAL, "the feed ended in a path");
		out->cwd[r->size] = '\0';
		return 0;
	case FEED_GO:
		out->go = true;
		return 0;
	default:
		return err_set(e, ERR_INTERNAL, "the feed holds a record that does not belong there");
	}
}

int feed_read(int fd, int root, struct feed_plan *out, struct err *e)
{
	struct input in = { .fd = fd };

	memset(out, 0, sizeof(*out));
	while (!out->go) {
		struct feed_rec r;

		if (take(&in, &r, sizeof(r)) < 0)
			return err_set(e, ERR_INTERNAL, "the feed ended early");
		if (feed_check(&r, e) < 0 || read_record(&in, root, &r, out, e) < 0)
			return -1;
	}
	if (!out->argv_len || !out->cwd[0])
		return err_set(e, ERR_INTERNAL, "the feed holds no command");
	return 0;
}
