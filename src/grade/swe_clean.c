/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: what is kept in the state folder, and how it is removed. */
#include "grade/swe_clean.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/state.h"

struct kept {
	enum swe_kept kind;
	char name[SWE_TREE_NAME];
	uint64_t bytes;
	int64_t used_s;
};

struct list {
	struct kept *v;
	size_t n, cap;
	int dirs[SWE_KEPT_KINDS]; /* -1: there is none */
};

/* ---- what there is ---- */

static uint64_t size_of(int at, const char *name, unsigned depth)
{
	auto_close int fd = -1;
	struct dirent *entry;
	struct stat st;
	uint64_t sum;
	DIR *dir;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	sum = (uint64_t)st.st_blocks * 512;
	if (!S_ISDIR(st.st_mode) || depth > 200)
		return sum;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return sum;
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			sum += size_of(fd, entry->d_name, depth + 1);
	(void)take_fd(&fd);
	closedir(dir);
	return sum;
}

/* NAME.json says how large a tree was when it was made, and its time is the last use. A tree without one is counted file by file. */
static void look_at_tree(int dir, struct kept *k)
{
	char file[SWE_TREE_NAME + 8], text[65536];
	struct stat st;
	ssize_t n;
	json_t *o;

	snprintf(file, sizeof(file), "%s.json", k->name);
	n = fd_read_file(dir, file, text, sizeof(text));
	o = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
	if (json_is_integer(json_object_get(o, "bytes")))
		k->bytes = (uint64_t)json_integer_value(json_object_get(o, "bytes"));
	else
		k->bytes = size_of(dir, k->name, 0);
	json_decref(o);
	if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
		k->used_s = st.st_mtime;
	else if (fstatat(dir, k->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		k->used_s = st.st_ctime;
}

static void add(struct list *l, enum swe_kept kind, const char *name, const struct stat *st)
{
	struct kept *k;

	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		struct kept *more = realloc(l->v, cap * sizeof(*more));

		if (!more)
			return;
		l->v = more;
		l->cap = cap;
	}
	k = &l->v[l->n];
	*k = (struct kept){ .kind = kind, .bytes = (uint64_t)st->st_size, .used_s = st->st_mtime };
	if ((size_t)snprintf(k->name, sizeof(k->name), "%s", name) >= sizeof(k->name))
		return;
	if (kind == SWE_KEPT_TREE)
		look_at_tree(l->dirs[kind], k);
	if (kind == SWE_KEPT_MIRROR)
		k->bytes = size_of(l->dirs[kind], name, 0);
	l->n++;
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

/* Names that this program makes; all others stay. */
static bool is_ours(enum swe_kept kind, const char *name, bool dir)
{
	if (kind == SWE_KEPT_TREE)
		return dir && ((strstr(name, "__") && strchr(name, '@')) || strncmp(name, "new-", 4) == 0);
	if (kind == SWE_KEPT_CANARY)
		return !dir && ends_with(name, ".json");
	return dir && ends_with(name, ".git");
}

static void list_kind(struct list *l, enum swe_kept kind)
{
	int fd = l->dirs[kind] < 0 ? -1 : openat(l->dirs[kind], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct stat st;

		if (entry->d_name[0] != '.' && fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) &&
		    is_ours(kind, entry->d_name, S_ISDIR(st.st_mode)))
			add(l, kind, entry->d_name, &st);
	}
	if (dir)
		closedir(dir);
}

static int by_use(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->used_s != y->used_s ? (x->used_s > y->used_s) - (x->used_s < y->used_s) : strcmp(x->name, y->name);
}

/* ---- removing ---- */

/* Whether a process holds its lock; a mirror is locked while it is fetched into and read. */
static bool is_busy(int dir, const struct kept *k)
{
	auto_close int fd = k->kind == SWE_KEPT_CANARY ? -1 : openat(dir, k->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

static bool remove_one(struct swe_trees *t, const struct list *l, const struct kept *k, bool dry_run)
{
	int dir = l->dirs[k->kind];

	if (dry_run || k->kind != SWE_KEPT_TREE) {
		if (is_busy(dir, k))
			return false;
		if (!dry_run)
			state_remove_tree(dir, k->name);
		return true;
	}
	return swe_tree_remove(t, k->name);
}

static void run(struct swe_trees *t, struct list *l, const struct swe_clean *c, struct swe_cleaned *out, void (*said)(enum swe_kept, const char *, uint64_t))
{
	int64_t now = time(NULL);
	uint64_t total = 0;

	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_use);
	for (size_t i = 0; i < l->n; i++)
		total += l->v[i].bytes;
	for (size_t i = 0; i < l->n; i++) {
		const struct kept *k = &l->v[i];
		bool old = (uint64_t)(now > k->used_s ? now - k->used_s : 0) * 1000 >= c->older_ms;
		bool wanted = c->max_bytes == SWE_CLEAN_NO_BOUND ? old : total > c->max_bytes || (c->older_ms && old);

		if (wanted && remove_one(t, l, k, c->dry_run)) {
			total -= k->bytes;
			out->removed[k->kind]++;
			out->bytes += k->bytes;
			if (said)
				said(k->kind, k->name, k->bytes);
		} else {
			out->busy += wanted;
			out->kept[k->kind]++;
			out->bytes_kept += k->bytes;
		}
	}
}

static void list_done(struct list *l)
{
	fd_close(&l->dirs[SWE_KEPT_CANARY]);
	fd_close(&l->dirs[SWE_KEPT_MIRROR]);
	free(l->v);
}

int swe_clean(struct swe_trees *t, const struct swe_clean *c, struct swe_cleaned *out, void (*said)(enum swe_kept kind, const char *name, uint64_t bytes), struct err *e)
{
	struct list l = { .dirs = { t->fd, -1, -1 } };
	char state[400], path[500];

	*out = (struct swe_cleaned){ 0 };
	if (state_dir(state, sizeof(state), e) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/canaries", state);
	l.dirs[SWE_KEPT_CANARY] = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/mirrors", state);
	l.dirs[SWE_KEPT_MIRROR] = c->mirrors ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	for (int kind = 0; kind < SWE_KEPT_KINDS; kind++)
		list_kind(&l, (enum swe_kept)kind);
	run(t, &l, c, out, said);
	list_done(&l);
	return 0;
}

void swe_clean_room(struct swe_trees *t)
{
	const struct swe_clean c = { .max_bytes = t->max_bytes };
	struct list l = { .dirs = { t->fd, -1, -1 } };
	struct swe_cleaned out = { 0 };

	list_kind(&l, SWE_KEPT_TREE);
	run(t, &l, &c, &out, NULL);
	list_done(&l);
}
