/* SPDX-License-Identifier: Apache-2.0 */
/* Names that programs of the host act on: which are marked, and which never come back. */
#include "run/acting.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ACT_NAME(name) name,
#define ACT_GLOB(pattern)
#define ACT_MODULE(name)
static const char *names[] = {
#include "run/acting_table.h"
};
#undef ACT_NAME
#undef ACT_GLOB
#undef ACT_MODULE

#define ACT_NAME(name)
#define ACT_GLOB(pattern) pattern,
#define ACT_MODULE(name)
static const char *const globs[] = {
#include "run/acting_table.h"
};
#undef ACT_NAME
#undef ACT_GLOB
#undef ACT_MODULE

#define ACT_NAME(name)
#define ACT_GLOB(pattern)
#define ACT_MODULE(name) name,
static const char *modules[] = {
#include "run/acting_table.h"
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* These run commands that stand in their own data (hooks, filters, extensions, fsmonitor), many of them at a mere `status`. */
static const struct {
	const char *part, *program;
} vcs_names[] = {
	{ ".git", "git" },
	{ ".hg", "hg" },
	{ ".jj", "jj" },
};

static int compare(const void *a, const void *b)
{
	return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

/* A million paths may be asked about: the lists are sorted once. */
static bool in_list(const char **list, size_t count, bool *sorted, const char *part, size_t len)
{
	char word[256];
	const char *key = word;

	if (len >= sizeof(word))
		return false;
	memcpy(word, part, len);
	word[len] = '\0';
	if (!*sorted)
		qsort(list, count, sizeof(*list), compare);
	*sorted = true;
	return bsearch(&key, list, count, sizeof(*list), compare) != NULL;
}

static const char *leaf_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool acting_path(const char *path)
{
	static bool sorted;
	const char *leaf = leaf_of(path);

	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");

		if (in_list(names, COUNT(names), &sorted, p, n))
			return true;
		p += n + (p[n] == '/');
	}
	for (size_t i = 0; i < COUNT(globs); i++)
		if (fnmatch(globs[i], leaf, FNM_CASEFOLD) == 0)
			return true;
	return acting_vcs(path) != NULL;
}

bool acting_module(const char *path)
{
	static bool sorted;
	const char *leaf = leaf_of(path);
	size_t n = strlen(leaf);

	return n > 3 && strcasecmp(leaf + n - 3, ".py") == 0 && in_list(modules, COUNT(modules), &sorted, leaf, n - 3);
}

const char *acting_vcs(const char *path)
{
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");

		for (size_t i = 0; i < COUNT(vcs_names); i++)
			if (strlen(vcs_names[i].part) == n && strncasecmp(p, vcs_names[i].part, n) == 0)
				return vcs_names[i].program;
		p += n + (p[n] == '/');
	}
	return NULL;
}
