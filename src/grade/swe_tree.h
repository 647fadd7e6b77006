/* SPDX-License-Identifier: Apache-2.0 */
/* Base trees: a repository at one commit, unpacked once, shown to many jars. git itself only ever runs in a jar. */
#ifndef BELLJAR_GRADE_SWE_TREE_H
#define BELLJAR_GRADE_SWE_TREE_H

#include <jansson.h>

#include "grade/swe_spec.h"
#include "grade/swe_tar.h"
#include "run/result.h"

/*
 * A tree is a folder of the state folder: files of the commit as they are checked out, and a .git with that one commit. It is made in a jar
 * that sees the mirror and nothing else (src/guest/python/tree.py), comes out as a tar archive, and is never written again: guests have a layer
 * of their own over it. Where the row has build steps they run in that jar, which then sees the environment too; what they made is in the tree.
 *
 * A process that uses a tree holds a shared lock (flock) on its folder until swe_trees_close(). Who removes a tree needs the lock alone, and renames the
 * folder before the lock goes: who waits for it finds another folder there, or none. NAME.json beside a tree says what it is; its time is the last use.
 */
#define SWE_PATH_MAX 1024
#define SWE_TREE_NAME 280
#define SWE_TREE_LAYOUT "2" /* part of a tree's name: a tree of an older layout (tree.py) is made anew */
#define SWE_TREE     "/testbed" /* where a jar shows it */

struct swe_trees {
	char dir[SWE_PATH_MAX]; /* where they are kept */
	int fd;			/* the same, open */
	bool open_modes;	/* rootless: a guest is not the owner, so modes have to let it in */
	char canary_dir[SWE_PATH_MAX]; /* where plans of canaries are kept (swe_calibrate.h) */
	int canary_fd;
	uint64_t max_bytes;	/* together; before one is made, others go that nobody uses; 0: no bound */
	int *held;		/* locks of those in use */
	size_t held_n, held_cap;
};

/* Makes the folder when it is missing. With the caller's rights: before the front is confined. */
int swe_trees_open(struct swe_trees *t, struct err *e);
void swe_trees_close(struct swe_trees *t);

/* "owner/name", letters that can be a file name. */
bool swe_repo_ok(const char *repo);
/* A bare or plain repository of that name in `repos`: owner/name, owner__name, owner+name, name, each with or without .git. */
int swe_mirror_find(const char *repos, const char *repo, char out[SWE_PATH_MAX], struct err *e);
/* The name of its folder. `build_key` is of a job (swe_spec.h), "" without a build. */
void swe_tree_name(const char *repo, const char *commit, const char *build_key, char out[SWE_TREE_NAME]);
/* The tree when it is there: 1 and its path; else 0. From here on it is in use. */
int swe_tree_find(struct swe_trees *t, const char *repo, const char *commit, const char *build_key, char out[SWE_PATH_MAX]);
/* Removes a tree that no process uses; false: one does. */
bool swe_tree_remove(const struct swe_trees *t, const char *name);

/* What was said of it when it was made: commit, tree, files, submodules, lfs, bytes; NULL: not known any more. */
json_t *swe_tree_info(const struct swe_trees *t, const char *repo, const char *commit, const char *build_key);

/* One that is being made. */
struct swe_build {
	struct swe_trees *trees;
	const char *repo, *commit, *build_key; /* as they were asked for */
	char temp[64];	     /* its folder until it is whole */
	int root;
	struct swe_tar tar;
	struct buf line;     /* what comes before the archive */
	json_t *info;	     /* the same, read: commit, tree, files, submodules, lfs, or error, hint, output */
	struct err err;
};

/* Asks a jar for it; `base` has defaults, and `j` what is built. */
void swe_build_request(const struct swe_build *b, struct request *out, const struct request *base, const char *mirror, const struct swe_job *j, struct arena *a);
/* Makes room (max_bytes), and a folder for it. */
int swe_build_begin(struct swe_build *b, struct swe_trees *t, const char *repo, const char *commit, const char *build_key, struct err *e);
/* What the jar said on its stdout. */
void swe_build_said(struct swe_build *b, const char *data, size_t len);
/* The jar has ended like that: 0 and the tree's path, or why there is none. */
int swe_build_end(struct swe_build *b, const struct result *res, char out[SWE_PATH_MAX], struct err *e);
void swe_build_drop(struct swe_build *b);

#endif
