/* SPDX-License-Identifier: Apache-2.0 */
/* The feed, writing side: files, arguments and environment of a request, streamed without blocking. */
#include "run/feeder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "jar/feed.h"

#define BLOCK	    65536
#define ENTRIES_MAX 1000000
#define DEPTH_MAX   64

struct feed_entry {
	struct feed_entry *next;
	struct feed_rec rec;
	const char *name, *source, *data; /* source: host path of a file; else `data` */
	dev_t dev;
	ino_t ino; /* the file that was looked at: it must be the one that is opened */
	bool hashed;
	uint8_t hash[DIGEST_SIZE]; /* of what was sent of a file of the host */
};

void feeder_init(struct feeder *f, struct arena *a)
{
	memset(f, 0, sizeof(*f));
	f->arena = a;
	f->last = &f->entries;
	f->source = -1;
	f->out.max = BLOCK * 4;
}

void feeder_done(struct feeder *f)
{
	fd_close(&f->source);
	buf_done(&f->out);
}

static struct feed_entry *add(struct feeder *f, uint32_t type, const char *name)
{
	struct feed_entry *n = arena_alloc(f->arena, sizeof(*n));

	n->rec.magic = FEED_MAGIC;
	n->rec.type = type;
	n->name = name ? arena_dup(f->arena, name) : "";
	n->rec.name_len = (uint32_t)strlen(n->name);
	*f->last = n;
	f->last = &n->next;
	f->count++;
	return n;
}

int feeder_add_bytes(struct feeder *f, const char *name, const char *data, size_t len, uint32_t mode, struct err *e)
{
	struct feed_entry *n;

	if (!feed_name_ok(name, strlen(name)))
		return err_set(e, ERR_REQUEST, "'%.100s' is not a path inside /workspace", name);
	n = add(f, FEED_FILE, name);
	n->data = data;
	n->rec.size = len;
	n->rec.mode = mode;
	f->bytes += len;
	return 0;
}

static int bad_input(struct err *e, const char *option, const char *path)
{
	err_sys(e, "%s: %s", option, path);
	e->kind = ERR_INPUT;
	return -1;
}

static void skip(struct feeder *f, const char *name, mode_t mode)
{
	struct feeder_skipped *s = arena_alloc(f->arena, sizeof(*s));

	s->name = arena_dup(f->arena, name);
	s->why = S_ISFIFO(mode) ? "is a FIFO: it did not go in" : S_ISSOCK(mode) ? "is a socket: it did not go in" : "is a device: it did not go in";
	s->next = f->skipped;
	f->skipped = s;
}

/* A folder that is not the caller's own, a cloned repository say, may have links where files are expected: to what the caller may read. */
static int refuse_link(const char *option, const char *path, struct err *e)
{
	char target[FEED_NAME_MAX] = "";

	if (readlink(path, target, sizeof(target) - 1) < 0)
		target[0] = '\0';
	err_set(e, ERR_INPUT, "%s: %.200s is a symlink to %.200s, and links are not followed", option, path, target);
	return err_hint(e, "name the file that is meant; a link in a folder goes in as a link");
}

static int add_tree(struct feeder *f, int dir, const char *path, const char *name, const char *option, int depth,
		    struct err *e);

static int add_node(struct feeder *f, int dir, const char *base, const char *path, const char *name, const char *option,
		    int depth, struct err *e)
{
	struct feed_entry *n;
	struct stat st;
	char target[FEED_NAME_MAX];
	ssize_t len;

	if (f->count >= ENTRIES_MAX)
		return err_set(e, ERR_INPUT, "%s: more than %d files", option, ENTRIES_MAX);
	/* The top of a --workspace has no name: the caller's own word for a folder is followed, a link in its place is not. */
	if (fstatat(dir, base, &st, depth || *name ? AT_SYMLINK_NOFOLLOW : 0) < 0)
		return bad_input(e, option, path);
	if (!depth && S_ISLNK(st.st_mode))
		return refuse_link(option, path, e);
	if (*name && !feed_name_ok(name, strlen(name)))
		return err_set(e, ERR_INPUT, "%s: '%.100s' cannot be copied into the jar", option, path);
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		if (faccessat(dir, base, R_OK, AT_EACCESS) < 0)
			return bad_input(e, option, path);
		n = add(f, FEED_FILE, name);
		n->source = arena_dup(f->arena, path);
		n->dev = st.st_dev;
		n->ino = st.st_ino;
		n->rec.size = (uint64_t)st.st_size;
		n->rec.mode = st.st_mode & 0777;
		n->rec.mtime_ns = feed_mtime(&st);
		f->bytes += n->rec.size;
		return 0;
	case S_IFDIR:
		if (*name) {
			n = add(f, FEED_DIR, name);
			n->rec.mode = st.st_mode & 0777;
		}
		return add_tree(f, dir, path, name, option, depth, e);
	case S_IFLNK:
		len = readlinkat(dir, base, target, sizeof(target) - 1);
		if (len <= 0)
			return bad_input(e, option, path);
		n = add(f, FEED_LINK, name);
		n->data = arena_dup_len(f->arena, target, (size_t)len);
		n->rec.size = (uint64_t)len;
		n->rec.mtime_ns = feed_mtime(&st);
		return 0;
	default:
		if (!depth)
			return err_set(e, ERR_INPUT, "%s: %.200s is a device, FIFO or socket", option, path);
		/* One of them in a folder does not keep the rest from going in: it is left out, and said. */
		skip(f, name, st.st_mode);
		return 0;
	}
}

static int add_tree(struct feeder *f, int dir, const char *path, const char *name, const char *option, int depth,
		    struct err *e)
{
	const char *base = strrchr(path, '/') && depth ? strrchr(path, '/') + 1 : path;
	int fd = openat(dir, depth ? base : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth || *name ? O_NOFOLLOW : 0));
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *x;
	int rc = 0;

	if (!d) {
		bad_input(e, option, path);
		fd_close(&fd);
		return -1;
	}
	if (depth == DEPTH_MAX) {
		closedir(d);
		return err_set(e, ERR_INPUT, "%s: %.200s is nested too deeply", option, path);
	}
	while (rc == 0 && (x = readdir(d))) {
		if (strcmp(x->d_name, ".") == 0 || strcmp(x->d_name, "..") == 0)
			continue;
		rc = add_node(f, dirfd(d), x->d_name, arena_fmt(f->arena, "%s/%s", path, x->d_name),
			      *name ? arena_fmt(f->arena, "%s/%s", name, x->d_name) : x->d_name, option, depth + 1, e);
	}
	closedir(d);
	return rc;
}

int feeder_add_path(struct feeder *f, const char *source, const char *name, const char *option, struct err *e)
{
	size_t n = strlen(source);

	/* A slash at the end would follow a link. */
	while (*name && n > 1 && source[n - 1] == '/')
		n--;
	source = arena_dup_len(f->arena, source, n);
	return add_node(f, AT_FDCWD, source, source, name, option, 0, e);
}

int feeder_add_words(struct feeder *f, uint32_t type, const char *const *words, struct err *e)
{
	auto_buf b = BUF_INIT(FEED_WORDS_MAX);
	struct feed_entry *n;

	for (; words && *words; words++)
		buf_add(&b, *words, strlen(*words) + 1);
	if (b.failed)
		return err_set(e, ERR_REQUEST, "%s: more than 1 MiB", type == FEED_ARGV ? "arguments" : "environment");
	n = add(f, type, NULL);
	n->data = arena_dup_len(f->arena, b.data ? b.data : "", b.len);
	n->rec.size = b.len;
	return 0;
}

int feeder_add_cwd(struct feeder *f, const char *path)
{
	struct feed_entry *n = add(f, FEED_CWD, NULL);

	n->data = arena_dup(f->arena, path);
	n->rec.size = strlen(path);
	return 0;
}

int feeder_go(struct feeder *f)
{
	add(f, FEED_GO, NULL);
	feeder_rewind(f);
	return 0;
}

void feeder_rewind(struct feeder *f)
{
	fd_close(&f->source);
	f->at = f->entries;
	f->left = 0;
	f->out.len = f->out_at = 0;
	f->done = false;
}

struct sent *feeder_sent(const struct feed_entry *entries, size_t count, struct arena *a)
{
	struct sent *out = arena_alloc(a, (count + 1) * sizeof(*out));

	for (size_t i = 0; i < count && entries; i++, entries = entries->next)
		out[i] = (struct sent){ .path = entries->name, .link = entries->rec.type == FEED_LINK ? entries->data : NULL,
					.dir = entries->rec.type == FEED_DIR, .hashed = entries->hashed, .hash = entries->hash,
					.mode = entries->rec.mode, .size = entries->rec.size, .mtime_ns = entries->rec.mtime_ns };
	return out;
}

void feeder_each_file(const struct feed_entry *entries, void (*fn)(const struct feeder_file *, void *), void *ctx)
{
	for (const struct feed_entry *n = entries; n; n = n->next) {
		struct feeder_file f = { .path = n->name, .data = n->source ? NULL : n->data, .hashed = n->hashed };

		if (n->rec.type != FEED_FILE && n->rec.type != FEED_LINK)
			continue;
		if (n->source) {
			memcpy(f.hash, n->hash, DIGEST_SIZE);
		} else {
			digest_of(n->data, n->rec.size, f.hash);
			f.hashed = true;
		}
		fn(&f, ctx);
	}
}

/* Puts the next record's header and name into the buffer; opens its file. */
static int begin(struct feeder *f, struct err *e)
{
	struct feed_entry *n = f->at;

	f->left = n->rec.size;
	if (n->source) {
		struct stat st;

		f->source = open(n->source, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (f->source < 0 || fstat(f->source, &st) < 0)
			return bad_input(e, "copy", n->source);
		if (!S_ISREG(st.st_mode) || st.st_dev != n->dev || st.st_ino != n->ino)
			return err_set(e, ERR_INPUT, "%.200s changed into something else while it was copied", n->source);
		f->left = n->rec.size = (uint64_t)st.st_size;
		n->rec.mtime_ns = feed_mtime(&st);
		n->hashed = false;
		digest_init(&f->hash);
	}
	buf_add(&f->out, &n->rec, sizeof(n->rec));
	return buf_add(&f->out, n->name, n->rec.name_len);
}

/* More data of the record at hand. */
static int more(struct feeder *f, struct err *e)
{
	struct feed_entry *n = f->at;
	size_t want = f->left < BLOCK ? (size_t)f->left : BLOCK;
	static char block[BLOCK]; /* on the stack all of it would be touched */
	ssize_t got;

	if (f->source < 0) {
		buf_add(&f->out, n->data + (n->rec.size - f->left), want);
		f->left -= want;
		return 0;
	}
	got = read(f->source, block, want);
	if (got < 0)
		return bad_input(e, "copy", n->source);
	if (got == 0)
		return err_set(e, ERR_INPUT, "%.200s became shorter while it was copied", n->source);
	buf_add(&f->out, block, (size_t)got);
	if (f->hashing)
		digest_add(&f->hash, block, (size_t)got);
	f->left -= (uint64_t)got;
	return 0;
}

static int fill(struct feeder *f, struct err *e)
{
	bool begun = f->source >= 0 || f->left > 0;

	while (f->at && f->out.len < BLOCK) {
		if (!begun && begin(f, e) < 0)
			return -1;
		while (f->left && f->out.len < BLOCK * 2)
			if (more(f, e) < 0)
				return -1;
		if (f->left)
			return 0;
		if (f->source >= 0 && f->hashing) {
			digest_get(&f->hash, f->at->hash);
			f->at->hashed = true;
		}
		fd_close(&f->source);
		f->at = f->at->next;
		begun = false;
	}
	return 0;
}

int feeder_write(struct feeder *f, int fd, struct err *e)
{
	for (;;) {
		ssize_t n;

		if (f->out_at == f->out.len) {
			f->out_at = f->out.len = 0;
			if (fill(f, e) < 0)
				return -1;
			if (!f->out.len) {
				f->done = true;
				return 1;
			}
		}
		n = write(fd, f->out.data + f->out_at, f->out.len - f->out_at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return 1; /* the jar gave up: the keeper says why */
		f->out_at += (size_t)n;
	}
}
