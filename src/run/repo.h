/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that git would take as a repository, whatever their names are. */
#ifndef BELLJAR_RUN_REPO_H
#define BELLJAR_RUN_REPO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/*
 * git walks from the current folder upwards. It takes a folder as a repository when it holds a HEAD, and objects and refs, or a commondir
 * that says where these are (is_git_directory() in git's setup.c). Then it obeys the config in there, which may name commands. So a HEAD
 * beside any one of the others is enough for us: objects may be elsewhere (GIT_OBJECT_DIRECTORY), and what is missing may come later.
 */
struct repo_mark {
	const char *dir;
	unsigned bits;
};

struct repos {
	struct arena *arena;
	struct repo_mark *marks;
	size_t n, cap;
};

/* A path that is or will be on the host; `dir`: it is a folder. */
void repos_note(struct repos *r, const char *path, bool dir);
/* When all paths were noted: the folders among them that are repositories. What the host's folder `out` holds by now counts too. */
void repos_find(struct repos *r, int out);
/* Is it such a folder, or in one? */
bool repos_have(const struct repos *r, const char *path);
/* Does the host have a repository at this folder beneath `out`, or above it? */
bool repos_on_host(int out, const char *dir);

#endif
