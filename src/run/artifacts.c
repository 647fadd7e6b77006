/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts on the host's side: what came out of a jar, written where the caller wants it, and only there. */
#include "run/artifacts.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "jar/feed.h"
#include "kernel/sys.h"

#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

void artifacts_init(struct artifacts *x, struct arena *a)
{
	memset(x, 0, sizeof(*x));
	x->arena = a;
	x->last = &x->list;
	x->out = -1;
}

/* Names that editors, shells, package managers, test runners or agents of the host act on when they see them (HI-14): files, and folders
 * with all below them. */
static const char *const acting[] = {
	".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".inputrc", ".envrc",
	".npmrc", ".yarnrc", ".gdbinit", ".lldbinit", ".vimrc", ".exrc", ".nvimrc", ".pythonrc", ".gitmodules", ".gitattributes",
	".pre-commit-config.yaml", ".mcp.json", ".cursorrules", "conftest.py", "sitecustomize.py", "usercustomize.py", "setup.py",
	"pyproject.toml", "tox.ini", "pytest.ini", "Makefile", "makefile", "GNUmakefile", "package.json", "build.rs", "CLAUDE.md",
	"AGENTS.md", "GEMINI.md", ".vscode", ".idea", ".claude", ".github", ".husky", ".devcontainer", ".cargo", ".cursor", NULL,
};

/* Any part of the path; without case, for hosts that fold it. */
static bool has_part(const char *path, const char *const *names)
{
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");

		for (const char *const *name = names; *name; name++)
			if (strlen(*name) == n && strncasecmp(p, *name, n) == 0)
				return true;
		p += n + (p[n] == '/');
	}
	return false;
}

bool artifacts_is_git(const char *path)
{
	static const char *const git[] = { ".git", NULL };

	return has_part(path, git);
}

static bool runs_on_host(const char *path)
{
	size_t n = strlen(path);

	return artifacts_is_git(path) || has_part(path, acting) || (n > 4 && strcasecmp(path + n - 4, ".pth") == 0);
}

static struct artifact *add(struct artifacts *x, const char *path)
{
	struct artifact *a = arena_alloc(x->arena, sizeof(*a));

	a->path = arena_dup(x->arena, path);
	if (runs_on_host(path))
		a->review = "executes-on-host";
	*x->last = a;
	x->last = &a->next;
	x->count++;
	return a;
}

static void refuse(struct artifacts *x, struct artifact *a, const char *why)
{
	a->refused = arena_dup(x->arena, why);
	x->refused++;
}

/* Opens the folder that `name` goes into, making it beneath `out`; symlinks on the way are never followed. */
static int open_parent(int out, char *name, const char **leaf)
{
	int dir = fcntl(out, F_DUPFD_CLOEXEC, 3);
	char *part = name, *slash;

	while (dir >= 0 && (slash = strchr(part, '/'))) {
		int next;

		*slash = '\0';
		mkdirat(dir, part, 0755);
		next = sys_openat2(dir, part, O_RDONLY | O_DIRECTORY, 0, BENEATH);
		close(dir);
		dir = next;
		part = slash + 1;
	}
	*leaf = part;
	return dir;
}

/* A fresh file under a temporary name, renamed when complete: what was there is replaced whole, never written through (a hard link or
 * symlink of the host's stays as it was). */
struct sink {
	int dir, fd;
	const char *leaf;
	char temp[32];
};

static void temp_name(char *out, size_t size)
{
	static unsigned counter;

	snprintf(out, size, ".belljar-%d-%u", getpid(), counter++);
}

static int sink_open(struct sink *s, int out, char *name)
{
	s->dir = open_parent(out, name, &s->leaf);
	if (s->dir < 0)
		return -1;
	temp_name(s->temp, sizeof(s->temp));
	s->fd = openat(s->dir, s->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* Not ours to remove: somebody has a file of that name. */
	if (s->fd < 0)
		s->temp[0] = '\0';
	return s->fd < 0 ? -1 : 0;
}

static int sink_finish(struct sink *s, const struct feed_rec *r)
{
	struct timespec t[2] = { { 0, UTIME_OMIT }, { r->mtime_ns / 1000000000, r->mtime_ns % 1000000000 } };

	/* A guest's mode is a wish: no setuid, not writable for others. A time before 1970 is no time. */
	if (fchmod(s->fd, r->mode & 0777 & ~022U) < 0 || (r->mtime_ns > 0 && futimens(s->fd, t) < 0))
		return -1;
	return renameat(s->dir, s->temp, s->dir, s->leaf);
}

static void sink_done(struct sink *s)
{
	if (s->dir >= 0 && s->temp[0])
		unlinkat(s->dir, s->temp, 0);
	fd_close(&s->fd);
	fd_close(&s->dir);
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
static int sink_begin(struct sink *s, struct artifacts *x, char *name, int old, uint64_t same_bytes_so_far)
{
	static char block[65536];
	uint64_t at = 0;

	if (sink_open(s, x->out, name) < 0)
		return -1;
	while (at < same_bytes_so_far) {
		size_t want = same_bytes_so_far - at < sizeof(block) ? (size_t)(same_bytes_so_far - at) : sizeof(block);
		ssize_t n = pread(old, block, want, (off_t)at);

		if (n <= 0 || fd_write_all(s->fd, block, (size_t)n) < 0)
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

static void begin_file(struct artifacts *x, struct artifact *a)
{
	struct artifact_reader *r = x->reader;

	r->at = READ_DATA;
	r->file = a;
	r->left = r->rec.size;
	r->sink = (struct sink){ -1, -1, NULL, "" };
	/* Compared by content: a guest that sets sizes and times back hides nothing (HI-11). */
	r->old = x->workspace ? sys_openat2(x->out, r->name, O_RDONLY | O_NONBLOCK, 0, BENEATH) : -1;
	r->same = is_like(r->old, &r->rec);
	r->writing = x->out >= 0 && !a->skipped && !a->git;
	r->kept = NULL;
	if (x->keep_bytes && r->rec.size > x->keep_bytes) {
		refuse(x, a, "past the limit for all artifacts together");
	} else if (x->keep_bytes) {
		x->keep_bytes -= r->rec.size;
		a->data = r->kept = arena_alloc(x->arena, (size_t)r->rec.size + 1);
	}
	SHA256_Init(&r->hash);
	if (r->writing && !r->same && sink_begin(&r->sink, x, r->name, r->old, 0) < 0) {
		refuse(x, a, "could not be written to the target folder");
		r->writing = false;
	}
}

static void add_data(struct artifacts *x, const char *block, size_t len)
{
	struct artifact_reader *r = x->reader;

	SHA256_Update(&r->hash, block, len);
	if (r->kept)
		memcpy(r->kept + (r->rec.size - r->left), block, len);
	if (r->same && !same_bytes(r->old, block, len)) {
		r->same = false;
		if (r->writing && sink_begin(&r->sink, x, r->name, r->old, r->rec.size - r->left) < 0) {
			refuse(x, r->file, "could not be written to the target folder");
			r->writing = false;
		}
	}
	if (r->writing && !r->same && fd_write_all(r->sink.fd, block, len) < 0) {
		refuse(x, r->file, "the target folder is full or not writable");
		r->writing = false;
	}
	r->left -= len;
}

static void end_file(struct artifacts *x)
{
	struct artifact_reader *r = x->reader;
	struct artifact *a = r->file;
	unsigned char digest[SHA256_DIGEST_LENGTH];

	a->unchanged = r->same;
	if (a->git && !r->same)
		refuse(x, a, "git's own data is not copied back");
	if (r->writing && !r->same) {
		if (sink_finish(&r->sink, &r->rec) < 0)
			refuse(x, a, "could not be put in its place");
		else
			r->sink.temp[0] = '\0';
	}
	SHA256_Final(digest, &r->hash);
	for (unsigned i = 0; i < sizeof(digest); i++)
		snprintf(a->sha256 + i * 2, 3, "%02x", digest[i]);
	a->size = r->rec.size;
	a->mode = r->rec.mode & 0777 & ~022U;
	sink_done(&r->sink);
	fd_close(&r->old);
	r->at = READ_HEAD;
	r->got = 0;
}

static bool same_link(int out, const char *name, const char *target)
{
	auto_close int fd = sys_openat2(out, name, O_PATH | O_NOFOLLOW, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	char now[FEED_NAME_MAX];
	ssize_t n = fd < 0 ? -1 : readlinkat(fd, "", now, sizeof(now) - 1);

	return n > 0 && strlen(target) == (size_t)n && memcmp(now, target, (size_t)n) == 0;
}

/* A link comes back only into a workspace, only when it stays inside: relative and without "..". */
static void make_link(struct artifacts *x, struct artifact *a, char *name)
{
	const char *leaf;
	char temp[32];
	bool inside = a->link[0] != '/' && !strstr(a->link, "..");

	if (x->workspace && same_link(x->out, name, a->link)) {
		a->unchanged = true;
		return;
	}
	if (a->git) {
		refuse(x, a, "git's own data is not copied back");
		return;
	}
	if (!x->workspace || x->out < 0 || !inside) {
		refuse(x, a, inside ? "is a symlink" : "is a symlink that leaves the folder");
		return;
	}
	temp_name(temp, sizeof(temp));
	auto_close int dir = open_parent(x->out, name, &leaf);
	if (dir < 0 || symlinkat(a->link, dir, temp) < 0) {
		refuse(x, a, "could not be put in its place");
	} else if (renameat(dir, temp, dir, leaf) < 0) {
		unlinkat(dir, temp, 0);
		refuse(x, a, "could not be put in its place");
	}
}

static void make_dir(struct artifacts *x, struct artifact *a, char *name)
{
	const char *leaf;

	a->dir = true;
	if (x->out < 0 || a->git)
		return;
	auto_close int dir = open_parent(x->out, name, &leaf);
	if (dir < 0 || (mkdirat(dir, leaf, 0755) < 0 && errno != EEXIST))
		refuse(x, a, "could not be put in its place");
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
	a = add(x, name);
	if (x->skip && strcmp(x->skip, name) == 0)
		a->skipped = true;
	/* git acts on its own data (hooks, filters, fsmonitor) in many commands: a guest's never reaches a host's repository. */
	a->git = x->workspace && artifacts_is_git(name);
	/* Outside of the workspace copy, absolute names are put beneath --out as they are: tmp/x. */
	memmove(name, relative, strlen(relative) + 1);
	r->at = READ_HEAD;
	switch (r->rec.type) {
	case FEED_FILE:
		begin_file(x, a);
		return 0;
	case FEED_DIR:
		make_dir(x, a, name);
		return 0;
	case FEED_LINK:
		a->link = arena_dup(x->arena, r->text);
		make_link(x, a, name);
		return 0;
	case FEED_REFUSED:
		refuse(x, a, r->text);
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
		r->old = r->sink.fd = r->sink.dir = -1;
	}
	for (;;) {
		switch (r->at) {
		case READ_HEAD:
			rc = take_head(x, in, e);
			if (rc == 1 && r->rec.type == FEED_END) {
				x->incomplete = r->rec.mode & FEED_INCOMPLETE;
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

	artifacts_done(x);
	return rc == 1 ? 0 : -1;
}

void artifacts_done(struct artifacts *x)
{
	if (!x->reader)
		return;
	sink_done(&x->reader->sink);
	fd_close(&x->reader->old);
	x->reader = NULL;
}
