/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that git would take as a repository, whatever their names are. */
#include "run/repo.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "kernel/sys.h"

#define HEAD 1U

/* The bit of a name is its place in the list. */
static const char *const names[] = { "HEAD", "commondir", "objects", "refs" };

#define NAMES (sizeof(names) / sizeof(names[0]))

void repos_note(struct repos *r, const char *path, bool dir)
{
	const char *slash = strrchr(path, '/'), *leaf = slash ? slash + 1 : path;
	unsigned bit = 0;

	for (unsigned i = 0; i < NAMES; i++)
		if (strcmp(leaf, names[i]) == 0)
			bit = 1U << i;
	/* A folder is no HEAD to git. */
	if (!bit || (bit == HEAD && dir))
		return;
	if (r->n == r->cap) {
		struct repo_mark *more;

		r->cap = r->cap ? r->cap * 2 : 64;
		more = arena_alloc(r->arena, r->cap * sizeof(*more));
		if (r->n)
			memcpy(more, r->marks, r->n * sizeof(*more));
		r->marks = more;
	}
	r->marks[r->n++] = (struct repo_mark){ arena_dup_len(r->arena, path, slash ? (size_t)(slash - path) : 0), bit };
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct repo_mark *)a)->dir, ((const struct repo_mark *)b)->dir);
}

static unsigned bits_on_host(int out, const char *dir)
{
	auto_close int fd = sys_openat2(out, *dir ? dir : ".", O_PATH | O_DIRECTORY, 0,
					RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	unsigned bits = 0;
	struct stat st;

	for (unsigned i = 0; fd >= 0 && i < NAMES; i++)
		if (fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && !(1U << i == HEAD && S_ISDIR(st.st_mode)))
			bits |= 1U << i;
	return bits;
}

static bool is_one(unsigned bits)
{
	return (bits & HEAD) && (bits & ~HEAD);
}

bool repos_on_host(int out, const char *dir)
{
	char at[4096];

	if (strlen(dir) >= sizeof(at))
		return true;
	for (memcpy(at, dir, strlen(dir) + 1);;) {
		char *slash = strrchr(at, '/');

		if (is_one(bits_on_host(out, at)))
			return true;
		if (!at[0])
			return false;
		*(slash ? slash : at) = '\0';
	}
}

void repos_find(struct repos *r, int out)
{
	size_t kept = 0;

	if (r->n)
		qsort(r->marks, r->n, sizeof(*r->marks), compare);
	for (size_t i = 0; i < r->n;) {
		struct repo_mark m = r->marks[i];

		for (; i < r->n && strcmp(r->marks[i].dir, m.dir) == 0; i++)
			m.bits |= r->marks[i].bits;
		m.bits |= bits_on_host(out, m.dir);
		if (is_one(m.bits))
			r->marks[kept++] = m;
	}
	r->n = kept;
}

bool repos_have(const struct repos *r, const char *path)
{
	size_t len = strlen(path);
	char dir[4096];
	struct repo_mark key = { dir, 0 };

	if (!r->n || len >= sizeof(dir))
		return false;
	memcpy(dir, path, len + 1);
	for (;;) {
		char *slash;

		if (bsearch(&key, r->marks, r->n, sizeof(*r->marks), compare))
			return true;
		if (!dir[0])
			return false;
		slash = strrchr(dir, '/');
		*(slash ? slash : dir) = '\0';
	}
}
