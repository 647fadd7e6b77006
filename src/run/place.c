/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of a copy out of a jar: what has come is put in its place. */
#include "run/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "jar/feed.h"
#include "kernel/sys.h"
#include "run/acting.h"
#include "run/repo.h"
#include "store/digest.h"

#define BENEATH	  (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
#define DEPTH_MAX 80 /* of a folder of the host that went in: the feeder takes fewer */

static const char not_placed[] = "could not be put in its place";
static const char host_changed[] = "the host changed what is there while the program ran: that stays";

struct named {
	const char *key; /* its path beneath the target folder */
	struct artifact *a;
};

struct place {
	struct artifacts *x;
	struct named *index; /* by path */
	size_t n;
	struct repos repos;
	const uint8_t **lost; /* hashes of files that were refused, sorted */
	size_t lost_count;
	struct stat top;       /* the target folder: what is new belongs to its owner */
	bool failed;	       /* a file could not be put in its place */
	const char *looked_at; /* the folder that was last asked about: has the host a repository there? */
	bool looked_found;
	unsigned *aside; /* names in the staging folder of what was there before something of another kind */
	size_t aside_count;
};

/* ---- what is known by path ---- */

/* Absolute names are put beneath the target folder as they are: tmp/x. */
static const char *key_of(const struct artifact *a)
{
	return a->path + (a->path[0] == '/');
}

static int compare_artifacts(const void *a, const void *b)
{
	const struct named *l = a, *r = b;
	int way = strcmp(l->key, r->key);

	return way ? way : (l->a->order > r->a->order) - (l->a->order < r->a->order);
}

static int compare_key(const void *key, const void *b)
{
	return strcmp(key, ((const struct named *)b)->key);
}

static struct artifact *find(const struct place *p, const char *path)
{
	const struct named *found = bsearch(path, p->index, p->n, sizeof(*p->index), compare_key);

	return found ? found->a : NULL;
}

static int compare_sent(const void *a, const void *b)
{
	return strcmp(((const struct sent *)a)->path, ((const struct sent *)b)->path);
}

static const struct sent *find_sent(const struct place *p, const char *path)
{
	struct sent key = { .path = path };

	return p->x->sent_count ? bsearch(&key, p->x->sent, p->x->sent_count, sizeof(key), compare_sent) : NULL;
}

/* Paths are as long as a guest likes, and there are many: none is kept that need not be. */
typedef char path_buf[FEED_NAME_MAX + 256];

/* The folder that a path lies in; "" for the top. */
static char *parent_of(const char *path, path_buf out)
{
	const char *slash = strrchr(path, '/');

	snprintf(out, sizeof(path_buf), "%.*s", slash ? (int)(slash - path) : 0, path);
	return out;
}

/* Adds a name to the path of a folder; false when it becomes too long. */
static bool path_add(path_buf path, const char *name, size_t len)
{
	size_t n = strlen(path);

	if (n + len + 2 > sizeof(path_buf))
		return false;
	if (n)
		path[n++] = '/';
	memcpy(path + n, name, len);
	path[n + len] = '\0';
	return true;
}

static struct artifact *find_above(const struct place *p, const char *path)
{
	path_buf dir;

	return find(p, parent_of(path, dir));
}

static int compare_hashes(const void *a, const void *b)
{
	return memcmp(*(const uint8_t *const *)a, *(const uint8_t *const *)b, DIGEST_SIZE);
}

/* Files whose bytes came and are refused. What the program removed may live on in them alone. Empty files have nothing to lose. */
static void list_lost(struct place *p)
{
	p->lost_count = 0;
	for (const struct artifact *a = p->x->list; a; a = a->next)
		if (a->refused && a->hashed && a->size)
			p->lost[p->lost_count++] = a->hash;
	if (p->lost_count)
		qsort(p->lost, p->lost_count, sizeof(*p->lost), compare_hashes);
}

static bool is_lost(const struct place *p, const struct sent *s)
{
	return s && s->hashed && p->lost_count && bsearch(&s->hash, p->lost, p->lost_count, sizeof(*p->lost), compare_hashes);
}

static bool is_repository(const struct place *p, const char *path)
{
	return acting_vcs(path) || repos_have(&p->repos, path);
}

/* A repository that the host has, also one that did not go in: --out may name its folder, and the host may have made it since. Files come folder by folder. */
static bool in_host_repository(struct place *p, const char *path)
{
	path_buf dir;

	if (p->x->out < 0)
		return false;
	parent_of(path, dir);
	if (!p->looked_at || strcmp(p->looked_at, dir) != 0) {
		p->looked_found = repos_on_host(p->x->out, dir);
		p->looked_at = arena_dup(p->x->arena, dir);
	}
	return p->looked_found;
}

/* The folder itself, by another name than .git: without what is in it, it is a folder like any other. */
static bool is_repository_top(const struct place *p, const char *path)
{
	path_buf above;

	return !acting_vcs(path) && !repos_have(&p->repos, parent_of(path, above));
}

/* ---- the host's side ---- */

static bool special(const struct stat *st)
{
	return !S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode) && !S_ISLNK(st->st_mode);
}

/* Is it still what went in? Without a list of that, the host's folder is taken as it is. */
static bool as_sent(const struct place *p, const struct sent *s, const struct stat *st)
{
	if (special(st))
		return false;
	if (!p->x->sent)
		return true;
	if (!s || s->dir != S_ISDIR(st->st_mode) || !s->link != !S_ISLNK(st->st_mode))
		return false;
	return s->dir || (s->size == (uint64_t)st->st_size && s->mtime_ns == feed_mtime(st));
}

/* Does a folder hold nothing but what went in, as it went in? Nothing that did not may be removed with it. */
static bool all_sent(const struct place *p, int dir, const char *name, const char *path, int depth)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool ok = d && depth < DEPTH_MAX;

	if (!d)
		fd_close(&fd);
	while (ok && (entry = readdir(d))) {
		const struct sent *s;
		struct stat st;
		path_buf sub;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(sub, sizeof(sub), "%s", path);
		s = path_add(sub, entry->d_name, strlen(entry->d_name)) ? find_sent(p, sub) : NULL;
		ok = s && !is_repository(p, sub) && !is_lost(p, s) && fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		     as_sent(p, s, &st) && (!s->dir || all_sent(p, fd, entry->d_name, sub, depth + 1));
	}
	if (d)
		closedir(d);
	return ok;
}

/* What the host has at a path now, found without following any link. */
static bool on_host(const struct place *p, const char *path, struct stat *st)
{
	auto_close int fd = sys_openat2(p->x->out, path, O_PATH | O_NOFOLLOW, 0, BENEATH);

	return fd >= 0 && fstat(fd, st) == 0;
}

/* Only root's front may give files away; for others the owner is the right one already, or stays. */
static void give_to(int dir, const char *name, const struct stat *owner)
{
	if ((owner->st_uid != geteuid() || owner->st_gid != getegid()) &&
	    fchownat(dir, name, owner->st_uid, owner->st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return;
}

/* ---- links ---- */

/*
 * A link may begin with "..", as npm's do, but has none later on: behind another link that would lead elsewhere than it seems. `at` becomes
 * what it names, as a path from the top. False when it leaves the folder.
 */
static bool link_target(const char *path, const char *target, path_buf at)
{
	bool begun = false;

	parent_of(path, at);
	if (target[0] == '/')
		return false;
	for (const char *c = target; *c;) {
		size_t n = strcspn(c, "/");

		if (n == 2 && c[0] == '.' && c[1] == '.') {
			char *slash = strrchr(at, '/');

			if (begun || !*at)
				return false;
			*(slash ? slash : at) = '\0';
		} else if (n && !(n == 1 && c[0] == '.')) {
			begun = true;
			if (!path_add(at, c, n))
				return false;
		}
		c += n + (c[n] == '/');
	}
	return true;
}

/* Is an open file beneath the target folder in a repository? True when it cannot be told. */
static bool in_repository(const struct place *p, int fd)
{
	char name[40], top[4096], path[4096];
	ssize_t a, b;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", p->x->out);
	a = readlink(name, top, sizeof(top));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	b = readlink(name, path, sizeof(path));
	if (a <= 0 || b < a || b == sizeof(path) || memcmp(top, path, (size_t)a) != 0)
		return true;
	path[b] = '\0';
	return is_repository(p, path + a + (path[a] == '/'));
}

/* Through links that the host has, it may lead elsewhere than it seems: the kernel knows. What is not there leads nowhere. */
static const char *link_leads(const struct place *p, const char *path, const char *target)
{
	auto_close int fd = -1;
	path_buf to;

	parent_of(path, to);
	if (!path_add(to, target, strlen(target)))
		return "is a symlink with too long a target";
	for (int i = 0; fd < 0 && i < 16 && (!i || errno == EAGAIN); i++)
		fd = sys_openat2(p->x->out, to, O_PATH, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? NULL : "is a symlink that leaves the folder";
	return in_repository(p, fd) ? "is a symlink into git's own data" : NULL;
}

static const char *link_problem(const struct place *p, const char *path, const char *target)
{
	path_buf to;

	if (!link_target(path, target, to))
		return p->x->workspace ? "is a symlink that leaves the folder" : "is a symlink";
	if (!p->x->workspace || p->x->out < 0)
		return "is a symlink";
	return is_repository(p, to) ? "is a symlink into git's own data" : NULL;
}

/* ---- what must not come ---- */

/* A name that programs of the host act on, or a part of a repository. */
static void mark(const struct place *p, struct artifact *a)
{
	path_buf beside;

	parent_of(key_of(a), beside);
	path_add(beside, "__init__.py", 11);
	if (acting_path(a->path) || repos_have(&p->repos, key_of(a)) || (acting_module(a->path) && !find(p, beside)))
		a->review = "executes-on-host";
}

/* What the program left as it was is no change, whatever the host did to its own. */
static bool untouched(const struct place *p, const struct artifact *a)
{
	const struct sent *s = find_sent(p, key_of(a));
	char now[FEED_NAME_MAX];
	ssize_t n;

	if (a->link && s && s->link && strcmp(s->link, a->link) == 0)
		return true;
	if (a->link && !p->x->sent && p->x->out >= 0) {
		auto_close int fd = sys_openat2(p->x->out, key_of(a), O_PATH | O_NOFOLLOW, 0, BENEATH);

		n = fd < 0 ? -1 : readlinkat(fd, "", now, sizeof(now));
		return n > 0 && strlen(a->link) == (size_t)n && memcmp(now, a->link, (size_t)n) == 0;
	}
	return a->hashed && s && s->hashed && !s->link && s->mode == a->raw_mode && memcmp(s->hash, a->hash, DIGEST_SIZE) == 0;
}

/* Something of another kind is there: the change is made only when nothing but what went in goes away with it. */
static const char *examine_turn(struct place *p, struct artifact *a, const struct stat *st)
{
	const struct sent *s = find_sent(p, key_of(a));

	a->late = true;
	if (p->x->incomplete)
		return "something else is there and stays: not everything could be brought back";
	if (!as_sent(p, s, st))
		return host_changed;
	if (is_lost(p, s))
		return "something else is there and stays: its content was refused under another name";
	if (S_ISDIR(st->st_mode) && !all_sent(p, p->x->out, key_of(a), key_of(a), 0))
		return "a folder is there that holds what did not go in, must not be removed, or was changed: it stays";
	return NULL;
}

static const char *examine_host(struct place *p, struct artifact *a)
{
	struct stat st;

	if (!on_host(p, key_of(a), &st))
		return NULL;
	if (special(&st))
		return "a FIFO, socket or device of the host is there";
	if (a->dir && S_ISDIR(st.st_mode))
		return NULL;
	if (a->dir || S_ISDIR(st.st_mode)) {
		a->late = true;
		return NULL;
	}
	return as_sent(p, find_sent(p, key_of(a)), &st) ? NULL : host_changed;
}

static const char *examine(struct place *p, struct artifact *a)
{
	const char *path = key_of(a), *why;
	const struct artifact *above = find_above(p, path);

	if (find(p, path) != a)
		return "another file has its place already";
	if (p->x->out >= 0 &&
	    ((is_repository(p, path) && !(a->dir && is_repository_top(p, path))) || in_host_repository(p, path))) {
		const char *vcs = acting_vcs(path), *way = p->x->workspace ? "back" : "out: bring it as an archive";

		/* Folders go without a word: what is in them is listed. */
		a->skipped = a->skipped || a->dir;
		return a->dir ? NULL : arena_fmt(p->x->arena, "%s's own data is not copied %s", vcs ? vcs : "git", way);
	}
	if (a->link && (why = link_problem(p, path, a->link)))
		return why;
	if (p->x->out < 0 || !p->x->workspace)
		return NULL;
	a->late = above && above->late;
	return examine_host(p, a);
}

/* Everything that is known to be refused is, before anything is moved. */
static void examine_all(struct place *p)
{
	struct artifacts *x = p->x;
	const char *why;
	struct stat st;

	for (struct artifact *a = x->list; a; a = a->next) {
		a->unchanged = a->unchanged || (x->workspace && untouched(p, a));
		if (a->unchanged)
			continue;
		mark(p, a);
		if (!a->refused && !a->skipped && (why = examine(p, a)))
			artifacts_refuse(x, a, why);
	}
	list_lost(p);
	for (struct artifact *a = x->list; a; a = a->next)
		if (a->late && !a->refused && !a->unchanged && !a->skipped && on_host(p, key_of(a), &st) &&
		    a->dir != S_ISDIR(st.st_mode) && (why = examine_turn(p, a, &st)))
			artifacts_refuse(x, a, why);
}

/* ---- into its place ---- */

/* Opens the folder that `name` goes into, making it beneath the target; symlinks on the way are never followed. */
static int open_parent(const struct place *p, char *name, const char **leaf)
{
	int dir = fcntl(p->x->out, F_DUPFD_CLOEXEC, 3);
	char *part = name, *slash;

	while (dir >= 0 && (slash = strchr(part, '/'))) {
		int next;

		*slash = '\0';
		if (mkdirat(dir, part, 0755) == 0)
			give_to(dir, part, &p->top);
		next = sys_openat2(dir, part, O_RDONLY | O_DIRECTORY, 0, BENEATH);
		close(dir);
		dir = next;
		part = slash + 1;
	}
	*leaf = part;
	return dir;
}

/* A guest's mode is a wish: no setuid, and others may write only to what they could write to before. A time before 1970 is no time. */
static int set_facts(const struct place *p, struct artifact *a, int dir, const char *name, const struct stat *old)
{
	struct timespec t[2] = { { 0, UTIME_OMIT }, { a->mtime_ns / 1000000000, a->mtime_ns % 1000000000 } };
	uint32_t open_for = old && S_ISREG(old->st_mode) ? old->st_mode & 022 : 0;

	give_to(dir, name, old ? old : &p->top);
	if (a->link)
		return 0;
	a->mode = a->raw_mode & 0777 & ~(022U & ~open_for);
	if (fchmodat(dir, name, a->mode, 0) < 0)
		return -1;
	return a->mtime_ns > 0 ? utimensat(dir, name, t, AT_SYMLINK_NOFOLLOW) : 0;
}

static int copy_bytes(int from, int to)
{
	static char block[65536];
	ssize_t n;

	while ((n = read(from, block, sizeof(block))) > 0)
		if (fd_write_all(to, block, (size_t)n) < 0)
			return -1;
	return n < 0 ? -1 : 0;
}

/* The folder is on another file system than the staging folder: a second copy, beside its place. */
static int put_across(const struct place *p, struct artifact *a, const char *name, int dir, const char *leaf,
		      const struct stat *old)
{
	const char *temp = p->x->stage_name;
	auto_close int from = -1, to = -1;

	if (a->link) {
		if (symlinkat(a->link, dir, temp) < 0)
			return -1;
	} else {
		from = openat(p->x->stage, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		to = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (to < 0)
			return -1;
	}
	if ((to >= 0 && (from < 0 || copy_bytes(from, to) < 0)) || set_facts(p, a, dir, temp, old) < 0 ||
	    renameat(dir, temp, dir, leaf) < 0) {
		unlinkat(dir, temp, 0);
		return -1;
	}
	return 0;
}

/* What was there is replaced whole, never written through: a hard link or symlink of the host's stays as it was. */
static int put(struct place *p, struct artifact *a, int dir, const char *leaf, const struct stat *old)
{
	char name[16];

	if (a->link) {
		if (artifacts_stage(p->x) < 0)
			return -1;
		a->staged = artifacts_next(p->x);
	}
	snprintf(name, sizeof(name), "%u", a->staged);
	if (!a->staged || (a->link && symlinkat(a->link, p->x->stage, name) < 0) || set_facts(p, a, p->x->stage, name, old) < 0)
		return -1;
	if (renameat(p->x->stage, name, dir, leaf) == 0)
		return 0;
	return errno == EXDEV ? put_across(p, a, name, dir, leaf, old) : -1;
}

static int make_dir(const struct place *p, const struct artifact *a, int dir, const char *leaf)
{
	if (mkdirat(dir, leaf, (a->raw_mode & 0755) | 0700) < 0)
		return -1;
	give_to(dir, leaf, &p->top);
	return 0;
}

/* All that went in below a path: it went away with its folder. What is in a folder is told before it. */
static void tell_deleted(struct place *p, const char *path)
{
	size_t n = strlen(path), low = 0, high = p->x->sent_count;
	path_buf end; /* "path0" is the first name after all of "path/..." */

	snprintf(end, sizeof(end), "%s0", path);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(p->x->sent[middle].path, end) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- > 0;) {
		const struct sent *s = &p->x->sent[i];

		if (strncmp(s->path, path, n) != 0 || s->path[n] != '/')
			return;
		strlist_add(p->x->arena, &p->x->deleted, s->path);
	}
}

/* What is there is moved aside first, and comes back should the new one fail. It is removed only in the end. */
static const char *turn(struct place *p, struct artifact *a, int dir, const char *leaf, const struct stat *old)
{
	unsigned number = artifacts_next(p->x);
	char name[16];

	snprintf(name, sizeof(name), "%u", number);
	if (!a->late || p->failed)
		return "something else is there and stays: not everything could be put in its place";
	if (artifacts_stage(p->x) < 0 || renameat(dir, leaf, p->x->stage, name) < 0)
		return not_placed;
	if (S_ISDIR(old->st_mode) && !all_sent(p, p->x->stage, name, key_of(a), 0)) {
		renameat(p->x->stage, name, dir, leaf);
		return host_changed;
	}
	if ((a->dir ? make_dir(p, a, dir, leaf) : put(p, a, dir, leaf, S_ISDIR(old->st_mode) ? NULL : old)) < 0) {
		renameat(p->x->stage, name, dir, leaf);
		return not_placed;
	}
	p->aside[p->aside_count++] = number;
	if (S_ISDIR(old->st_mode))
		tell_deleted(p, key_of(a));
	else
		strlist_add(p->x->arena, &p->x->deleted, key_of(a));
	return NULL;
}

static const char *place_one(struct place *p, struct artifact *a)
{
	const struct artifact *above = find_above(p, key_of(a));
	char name[FEED_NAME_MAX];
	const char *leaf, *why;
	struct stat st;
	bool there;

	if (above && above->refused)
		return "its folder was refused";
	if (a->link && (why = link_leads(p, key_of(a), a->link)))
		return why;
	snprintf(name, sizeof(name), "%s", key_of(a));
	auto_close int dir = open_parent(p, name, &leaf);
	if (dir < 0)
		return not_placed;
	there = fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (there && a->dir && S_ISDIR(st.st_mode))
		return NULL;
	if (there && p->x->workspace && (a->dir || S_ISDIR(st.st_mode)))
		return turn(p, a, dir, leaf, &st);
	return (a->dir ? make_dir(p, a, dir, leaf) : put(p, a, dir, leaf, there ? &st : NULL)) < 0 ? not_placed : NULL;
}

static void place_some(struct place *p, bool late, bool links)
{
	for (struct artifact *a = p->x->list; a; a = a->next) {
		const char *why;

		if (a->refused || a->skipped || a->unchanged || a->late != late || (a->link != NULL) != links)
			continue;
		why = place_one(p, a);
		if (!why)
			continue;
		artifacts_refuse(p->x, a, why);
		p->failed = p->failed || why == not_placed;
	}
}

/* ---- what the program removed ---- */

/* It, or a folder that it is in, has something in its place that was refused. */
static bool is_held(const struct place *p, const char *path)
{
	size_t len = strlen(path);
	path_buf at;

	snprintf(at, sizeof(at), "%s", path);
	while (*at) {
		const struct artifact *a = find(p, at);
		char *slash = strrchr(at, '/');

		if (a)
			return strlen(at) == len || a->refused;
		*(slash ? slash : at) = '\0';
	}
	return false;
}

static void stay(struct place *p, const char *path, const char *why)
{
	struct artifact *a = artifacts_add(p->x, path);

	a->on_host = true;
	artifacts_refuse(p->x, a, why);
}

static void remove_one(struct place *p, const struct sent *s)
{
	const char *path = s->path, *slash = strrchr(path, '/'), *leaf = slash ? slash + 1 : path;
	path_buf above;
	auto_close int dir = sys_openat2(p->x->out, slash ? parent_of(path, above) : ".", O_PATH | O_DIRECTORY, 0, BENEATH);
	struct stat st;

	if (dir < 0 || fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (!as_sent(p, s, &st))
		stay(p, path, "the program removed it, but the host changed it while the program ran: it stays");
	else if (is_lost(p, s))
		stay(p, path, "the program removed it, but its content was refused under another name: it stays");
	else if (unlinkat(dir, leaf, s->dir ? AT_REMOVEDIR : 0) == 0)
		strlist_add(p->x->arena, &p->x->deleted, path);
	else if (errno != ENOTEMPTY && errno != EEXIST)
		stay(p, path, "the program removed it, but it could not be removed here");
}

/* Backwards: what is in a folder comes after it. git's own data does not come back, and does not go away either. */
static void remove_deleted(struct place *p)
{
	list_lost(p);
	for (size_t i = p->x->sent_count; i-- > 0;) {
		const struct sent *s = &p->x->sent[i];

		if (!is_repository(p, s->path) && !is_held(p, s->path))
			remove_one(p, s);
	}
}

static void remove_tree(int dir, const char *name, int depth)
{
	int fd = unlinkat(dir, name, 0) == 0 || depth > DEPTH_MAX
			 ? -1
			 : openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!d) {
		fd_close(&fd);
		return;
	}
	while ((entry = readdir(d)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_tree(fd, entry->d_name, depth + 1);
	closedir(d);
	unlinkat(dir, name, AT_REMOVEDIR);
}

void place_clear(struct artifacts *x)
{
	remove_tree(x->out, x->stage_name, 0);
	fd_close(&x->stage);
}

/* What changed its kind is all there: what was there before goes. It is kept when something failed on the way. */
static void drop_aside(struct place *p)
{
	struct stat st;
	char name[16];

	if (!p->aside_count)
		return;
	if (!p->failed) {
		place_clear(p->x);
		if (fstatat(p->x->out, p->x->stage_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			stay(p, p->x->stage_name,
			     "holds what was in the place of files that changed their kind, and could not be removed");
		return;
	}
	for (const struct artifact *a = p->x->list; a; a = a->next) {
		snprintf(name, sizeof(name), "%u", a->staged);
		if (a->staged)
			unlinkat(p->x->stage, name, 0);
	}
	stay(p, p->x->stage_name,
	     "holds what was in the place of files that changed their kind: not everything could be written; look at it, then remove it");
	fd_close(&p->x->stage);
}

/* ---- the whole ---- */

static void know_all(struct place *p)
{
	struct artifacts *x = p->x;
	size_t kept = 0;

	p->index = arena_alloc(x->arena, (x->count + 1) * sizeof(*p->index));
	p->lost = arena_alloc(x->arena, (x->count + 1) * sizeof(*p->lost));
	p->aside = arena_alloc(x->arena, (x->count + 1) * sizeof(*p->aside));
	p->repos.arena = x->arena;
	for (struct artifact *a = x->list; a; a = a->next) {
		/* What did not go in is no record of the jar's. */
		if (a->on_host)
			continue;
		p->index[p->n++] = (struct named){ key_of(a), a };
		if (!a->skipped && !a->refused)
			repos_note(&p->repos, key_of(a), a->dir);
	}
	/* Two records of one name: the first is the one that counts. */
	qsort(p->index, p->n, sizeof(*p->index), compare_artifacts);
	for (size_t i = 0; i < p->n; i++)
		if (!kept || strcmp(p->index[kept - 1].key, p->index[i].key) != 0)
			p->index[kept++] = p->index[i];
	p->n = kept;
	if (x->sent_count)
		qsort(x->sent, x->sent_count, sizeof(*x->sent), compare_sent);
	for (size_t i = 0; i < x->sent_count; i++)
		repos_note(&p->repos, x->sent[i].path, x->sent[i].dir);
	repos_find(&p->repos, x->out);
}

void artifacts_place(struct artifacts *x)
{
	struct place p = { .x = x };

	know_all(&p);
	examine_all(&p);
	if (x->out < 0 || fstat(x->out, &p.top) < 0)
		return;
	place_some(&p, false, false);
	place_some(&p, true, false);
	place_some(&p, false, true);
	place_some(&p, true, true);
	if (x->workspace)
		x->incomplete = x->incomplete || p.failed;
	/* A list that is not whole says nothing about what is gone. */
	if (x->workspace && !x->incomplete)
		remove_deleted(&p);
	drop_aside(&p);
}
