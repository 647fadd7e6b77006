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

static int read_file(struct artifacts *x, int in, const struct feed_rec *r, struct artifact *a, char *name, struct err *e)
{
	struct sink s = { -1, -1, NULL, "" };
	/* Compared by content: a guest that sets sizes and times back hides nothing (HI-11). */
	auto_close int old = x->workspace ? sys_openat2(x->out, name, O_RDONLY | O_NONBLOCK, 0, BENEATH) : -1;
	bool same = is_like(old, r), writing = x->out >= 0 && !a->skipped && !a->git;
	/* The plain functions, not EVP: that would bring all of libcrypto into every start of belljar. */
	SHA256_CTX hash;
	unsigned char digest[SHA256_DIGEST_LENGTH];
	static char block[65536];
	uint64_t left = r->size;
	int rc = -1;

	SHA256_Init(&hash);
	if (writing && !same && sink_begin(&s, x, name, old, 0) < 0) {
		refuse(x, a, "could not be written to the target folder");
		writing = false;
	}
	while (left) {
		size_t want = left < sizeof(block) ? (size_t)left : sizeof(block);

		if (fd_read_all(in, block, want) != 0) {
			err_set(e, ERR_INTERNAL, "artifacts ended in the middle of a file");
			goto out;
		}
		SHA256_Update(&hash, block, want);
		if (same && !same_bytes(old, block, want)) {
			same = false;
			if (writing && sink_begin(&s, x, name, old, r->size - left) < 0) {
				refuse(x, a, "could not be written to the target folder");
				writing = false;
			}
		}
		if (writing && !same && fd_write_all(s.fd, block, want) < 0) {
			refuse(x, a, "the target folder is full or not writable");
			writing = false;
		}
		left -= want;
	}
	a->unchanged = same;
	if (a->git && !same)
		refuse(x, a, "git's own data is not copied back");
	if (writing && !same) {
		if (sink_finish(&s, r) < 0)
			refuse(x, a, "could not be put in its place");
		else
			s.temp[0] = '\0';
	}
	SHA256_Final(digest, &hash);
	for (unsigned i = 0; i < sizeof(digest); i++)
		snprintf(a->sha256 + i * 2, 3, "%02x", digest[i]);
	a->size = r->size;
	a->mode = r->mode & 0777 & ~022U;
	rc = 0;
out:
	sink_done(&s);
	return rc;
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

static int read_text(int in, uint64_t size, char *out, struct err *e)
{
	if (size && fd_read_all(in, out, (size_t)size) != 0)
		return err_set(e, ERR_INTERNAL, "artifacts ended in the middle of a record");
	out[size] = '\0';
	return 0;
}

static int read_record(struct artifacts *x, int in, const struct feed_rec *r, struct err *e)
{
	char name[FEED_NAME_MAX], text[FEED_NAME_MAX];
	const char *relative = name;
	struct artifact *a;

	if (read_text(in, r->name_len, name, e) < 0)
		return -1;
	if (r->type != FEED_FILE && read_text(in, r->size, text, e) < 0)
		return -1;
	if (name[0] == '/')
		relative++;
	if (strlen(name) != r->name_len || !feed_name_ok(relative, strlen(relative)))
		return err_set(e, ERR_INTERNAL, "artifacts hold a name that leaves its folder");
	a = add(x, name);
	if (x->skip && strcmp(x->skip, name) == 0)
		a->skipped = true;
	/* git acts on its own data (hooks, filters, fsmonitor) in many commands: a guest's never reaches a host's repository. */
	a->git = x->workspace && artifacts_is_git(name);
	/* Outside of the workspace copy, absolute names are put beneath --out as they are: tmp/x. */
	memmove(name, relative, strlen(relative) + 1);
	switch (r->type) {
	case FEED_FILE:
		return read_file(x, in, r, a, name, e);
	case FEED_DIR:
		make_dir(x, a, name);
		return 0;
	case FEED_LINK:
		a->link = arena_dup(x->arena, text);
		make_link(x, a, name);
		return 0;
	case FEED_REFUSED:
		refuse(x, a, text);
		return 0;
	default:
		return err_set(e, ERR_INTERNAL, "artifacts hold a record that does not belong there");
	}
}

int artifacts_read(struct artifacts *x, int in, struct err *e)
{
	for (;;) {
		struct feed_rec r;

		if (fd_read_all(in, &r, sizeof(r)) != 0)
			return err_set(e, ERR_INTERNAL, "artifacts ended early");
		if (feed_check(&r, e) < 0)
			return -1;
		if (r.type == FEED_END) {
			x->incomplete = r.mode & FEED_INCOMPLETE;
			return 0;
		}
		if (r.name_len == 0)
			return err_set(e, ERR_INTERNAL, "artifacts hold a record that does not belong there");
		if (read_record(x, in, &r, e) < 0)
			return -1;
	}
}
