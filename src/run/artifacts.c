/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts on the host's side: what came out of a jar, written where the caller wants it, and only there. */
#include "run/artifacts.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "jar/feed.h"
#include "kernel/sys.h"
#include "run/acting.h"
#include "run/place.h"

#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

void artifacts_init(struct artifacts *x, struct arena *a)
{
	memset(x, 0, sizeof(*x));
	x->arena = a;
	x->last = &x->list;
	x->out = x->stage = -1;
}

struct artifact *artifacts_add(struct artifacts *x, const char *path)
{
	struct artifact *a = arena_alloc(x->arena, sizeof(*a));

	a->path = arena_dup(x->arena, path);
	*x->last = a;
	x->last = &a->next;
	a->order = x->count++;
	return a;
}

void artifacts_refuse(struct artifacts *x, struct artifact *a, const char *why)
{
	if (!a->refused)
		x->refused++;
	a->refused = arena_dup(x->arena, why);
}

/* A name that no guest can foresee: a guest's file of the same name would be refused. */
int artifacts_stage(struct artifacts *x)
{
	uint64_t word;

	for (int i = 0; x->stage < 0 && i < 16; i++) {
		if (getrandom(&word, sizeof(word), 0) != sizeof(word))
			return -1;
		snprintf(x->stage_name, sizeof(x->stage_name), ".belljar-%016llx", (unsigned long long)word);
		if (mkdirat(x->out, x->stage_name, 0700) < 0) {
			if (errno != EEXIST)
				return -1;
			continue;
		}
		x->stage = openat(x->out, x->stage_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	return x->stage;
}

unsigned artifacts_next(struct artifacts *x)
{
	return ++x->staged;
}

/* Where a file's bytes go while they come: into the staging folder. It is put in its place when all has come (place.c). */
struct sink {
	int fd;
	unsigned name;
};

static int sink_open(struct sink *s, struct artifacts *x)
{
	char name[16];

	if (artifacts_stage(x) < 0)
		return -1;
	s->name = artifacts_next(x);
	snprintf(name, sizeof(name), "%u", s->name);
	s->fd = openat(x->stage, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return s->fd < 0 ? -1 : 0;
}

/* What is all zeros becomes a hole: a guest's sparse file is one on the host. */
static int sink_write(struct sink *s, const char *data, size_t len)
{
	if (len >= 4096 && data[0] == 0 && memcmp(data, data + 1, len - 1) == 0)
		return lseek(s->fd, (off_t)len, SEEK_CUR) < 0 ? -1 : 0;
	return fd_write_all(s->fd, data, len);
}

static bool is_like(int fd, const struct feed_rec *r)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == r->size &&
	       (st.st_mode & 0777) == (r->mode & 0777);
}

static bool same_bytes(int fd, const char *data, size_t len)
{
	static char block[65536];

	return fd_read_all(fd, block, len) == 0 && memcmp(block, data, len) == 0;
}

/* The new file, begun late: as long as all is the same nothing is made, and not even the folder's time changes. */
static int sink_begin(struct sink *s, struct artifacts *x, int old, uint64_t same_bytes_so_far)
{
	static char block[65536];
	uint64_t at = 0;

	if (sink_open(s, x) < 0)
		return -1;
	while (at < same_bytes_so_far) {
		size_t want = same_bytes_so_far - at < sizeof(block) ? (size_t)(same_bytes_so_far - at) : sizeof(block);
		ssize_t n = pread(old, block, want, (off_t)at);

		if (n <= 0 || sink_write(s, block, (size_t)n) < 0)
			return -1;
		at += (uint64_t)n;
	}
	return 0;
}

/* What was read of the record at hand. */
struct artifact_reader {
	enum { READ_HEAD, READ_NAME, READ_TEXT, READ_DATA } at;
	size_t got; /* of the part that is being read */
	struct feed_rec rec;
	char name[FEED_NAME_MAX], text[FEED_NAME_MAX];
	/* a file's data */
	struct artifact *file;
	uint64_t left;
	bool same, writing;
	char *kept; /* its place in memory, NULL: not kept */
	int old; /* the workspace's own, to compare with; -1: none */
	struct sink sink;
	/* The plain functions, not EVP: that would bring all of libcrypto into every start of belljar. */
	SHA256_CTX hash;
};

/* A file that the host has no room for: then what a program removed stays too, since the copy of it may be what is missing. */
static void give_up_file(struct artifacts *x, const char *why)
{
	artifacts_refuse(x, x->reader->file, why);
	x->reader->writing = false;
	x->incomplete = x->workspace;
}

static void begin_file(struct artifacts *x, struct artifact *a)
{
	struct artifact_reader *r = x->reader;

	r->at = READ_DATA;
	r->file = a;
	r->left = r->rec.size;
	r->sink = (struct sink){ -1, 0 };
	/* Compared by content: a guest that sets sizes and times back hides nothing (HI-11). */
	r->old = x->workspace ? sys_openat2(x->out, r->name, O_RDONLY | O_NONBLOCK, 0, BENEATH) : -1;
	r->same = is_like(r->old, &r->rec);
	r->writing = x->out >= 0 && !a->skipped && !acting_vcs(r->name);
	r->kept = NULL;
	if (x->keep_bytes && r->rec.size > x->keep_bytes) {
		artifacts_refuse(x, a, "past the limit for all artifacts together");
	} else if (x->keep_bytes) {
		x->keep_bytes -= r->rec.size;
		a->data = r->kept = arena_alloc(x->arena, (size_t)r->rec.size + 1);
	}
	SHA256_Init(&r->hash);
	if (r->writing && !r->same && sink_begin(&r->sink, x, r->old, 0) < 0)
		give_up_file(x, "could not be written to the target folder");
}

static void add_data(struct artifacts *x, const char *block, size_t len)
{
	struct artifact_reader *r = x->reader;

	SHA256_Update(&r->hash, block, len);
	if (r->kept)
		memcpy(r->kept + (r->rec.size - r->left), block, len);
	if (r->same && !same_bytes(r->old, block, len)) {
		r->same = false;
		if (r->writing && sink_begin(&r->sink, x, r->old, r->rec.size - r->left) < 0)
			give_up_file(x, "could not be written to the target folder");
	}
	if (r->writing && !r->same && sink_write(&r->sink, block, len) < 0)
		give_up_file(x, "the target folder is full or not writable");
	r->left -= len;
}

static void sink_drop(struct sink *s, const struct artifacts *x)
{
	char name[16];

	fd_close(&s->fd);
	snprintf(name, sizeof(name), "%u", s->name);
	if (s->name && x->stage >= 0)
		unlinkat(x->stage, name, 0);
	s->name = 0;
}

static void end_file(struct artifacts *x)
{
	struct artifact_reader *r = x->reader;
	struct artifact *a = r->file;

	a->unchanged = r->same;
	/* The end may be a hole. */
	if (r->writing && !r->same && ftruncate(r->sink.fd, (off_t)r->rec.size) < 0)
		give_up_file(x, "the target folder is full or not writable");
	if (r->writing && !r->same) {
		a->staged = r->sink.name;
		r->sink.name = 0;
	}
	SHA256_Final(a->hash, &r->hash);
	a->hashed = true;
	for (unsigned i = 0; i < sizeof(a->hash); i++)
		snprintf(a->sha256 + i * 2, 3, "%02x", a->hash[i]);
	a->size = r->rec.size;
	a->raw_mode = r->rec.mode & 0777;
	a->mode = r->rec.mode & 0777 & ~022U;
	a->mtime_ns = r->rec.mtime_ns;
	sink_drop(&r->sink, x);
	fd_close(&r->old);
	r->at = READ_HEAD;
	r->got = 0;
}

/* A whole record but for a file's data. */
static int take_record(struct artifacts *x, struct err *e)
{
	struct artifact_reader *r = x->reader;
	char *name = r->name;
	const char *relative = name[0] == '/' ? name + 1 : name;
	struct artifact *a;

	if (strlen(name) != r->rec.name_len || !feed_name_ok(relative, strlen(relative)))
		return err_set(e, ERR_INTERNAL, "artifacts hold a name that leaves its folder");
	a = artifacts_add(x, name);
	if (x->skip && strcmp(x->skip, name) == 0)
		a->skipped = true;
	/* Outside of the workspace copy, absolute names are put beneath --out as they are: tmp/x. */
	memmove(name, relative, strlen(relative) + 1);
	r->at = READ_HEAD;
	switch (r->rec.type) {
	case FEED_FILE:
		begin_file(x, a);
		return 0;
	case FEED_DIR:
		a->dir = true;
		a->raw_mode = r->rec.mode & 0777;
		return 0;
	case FEED_LINK:
		a->link = arena_dup(x->arena, r->text);
		return 0;
	case FEED_REFUSED:
		artifacts_refuse(x, a, r->text);
		return 0;
	default:
		return err_set(e, ERR_INTERNAL, "artifacts hold a record that does not belong there");
	}
}

/* One read of a part that has `len` bytes: 1 when it is whole, 0 when there is nothing now, -1. */
static int take_part(struct artifact_reader *r, int in, void *to, size_t len, struct err *e)
{
	static const char *const where[] = { "early", "in the middle of a record", "in the middle of a record" };

	while (r->got < len) {
		ssize_t n = read(in, (char *)to + r->got, len - r->got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return err_set(e, ERR_INTERNAL, "artifacts ended %s", where[r->at]);
		r->got += (size_t)n;
	}
	r->got = 0;
	return 1;
}

static int take_data(struct artifacts *x, int in, struct err *e)
{
	static char block[65536];
	struct artifact_reader *r = x->reader;

	while (r->left) {
		ssize_t n = read(in, block, r->left < sizeof(block) ? (size_t)r->left : sizeof(block));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return err_set(e, ERR_INTERNAL, "artifacts ended in the middle of a file");
		add_data(x, block, (size_t)n);
	}
	end_file(x);
	return 1;
}

static int take_head(struct artifacts *x, int in, struct err *e)
{
	struct artifact_reader *r = x->reader;
	int rc = take_part(r, in, &r->rec, sizeof(r->rec), e);

	if (rc <= 0)
		return rc;
	if (feed_check(&r->rec, e) < 0)
		return -1;
	if (r->rec.type == FEED_END)
		return 1;
	if (r->rec.name_len == 0)
		return err_set(e, ERR_INTERNAL, "artifacts hold a record that does not belong there");
	r->at = READ_NAME;
	return 1;
}

int artifacts_step(struct artifacts *x, int in, struct err *e)
{
	struct artifact_reader *r = x->reader;
	int rc;

	if (!r) {
		r = x->reader = arena_alloc(x->arena, sizeof(*r));
		r->old = r->sink.fd = -1;
	}
	for (;;) {
		switch (r->at) {
		case READ_HEAD:
			rc = take_head(x, in, e);
			if (rc == 1 && r->rec.type == FEED_END) {
				x->incomplete = x->incomplete || (r->rec.mode & FEED_INCOMPLETE) || (x->workspace && (r->rec.mode & FEED_LOST));
				return 1;
			}
			break;
		case READ_NAME:
			rc = take_part(r, in, r->name, r->rec.name_len, e);
			if (rc == 1) {
				r->name[r->rec.name_len] = '\0';
				r->at = READ_TEXT;
			}
			break;
		case READ_TEXT:
			rc = r->rec.type == FEED_FILE ? 1 : take_part(r, in, r->text, (size_t)r->rec.size, e);
			if (rc == 1) {
				r->text[r->rec.type == FEED_FILE ? 0 : r->rec.size] = '\0';
				rc = take_record(x, e) < 0 ? -1 : 1;
			}
			break;
		default:
			rc = take_data(x, in, e);
		}
		if (rc <= 0)
			return rc;
	}
}

int artifacts_read(struct artifacts *x, int in, struct err *e)
{
	int rc = artifacts_step(x, in, e);

	if (rc == 1)
		artifacts_place(x);
	artifacts_done(x);
	return rc == 1 ? 0 : -1;
}

void artifacts_done(struct artifacts *x)
{
	if (x->reader) {
		sink_drop(&x->reader->sink, x);
		fd_close(&x->reader->old);
		x->reader = NULL;
	}
	if (x->stage >= 0)
		place_clear(x);
}
