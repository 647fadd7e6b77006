/* SPDX-License-Identifier: Apache-2.0 */
/* The allow-list of a jar: from the names that were asked for to the files that may be started, and what these need. */
#ifndef BELLJAR_JAR_ALLOW_H
#define BELLJAR_JAR_ALLOW_H

#include <stddef.h>

#include "base/err.h"
#include "jar/spec.h"

/*
 * Theory of operation
 *
 * Names become files of the jar's root (the host's /usr, and what --ro shows): links are followed, `#!` lines are read, the ELF loader is looked
 * up. All of that are rows of one list. Who builds the jar (fence.h) shows these files and no other program; Landlock grants execution to
 * them alone; every mount but theirs and those of the folders with shared objects is noexec, and in those folders programs are
 * masked (programs.h). Nothing of this compares names while a guest runs.
 *
 * It is done by the maker, which sees the host's tree and has no rights there. The front does the same for --dry-run.
 */

enum allow_kind {
	ALLOW_PROGRAM,	   /* asked for by name */
	ALLOW_INTERPRETER, /* a `#!` line of one above it needs it */
	ALLOW_HELPER,	   /* allow/programs.txt says that it is needed */
	ALLOW_LOADER,	   /* the ELF loader, which the kernel opens for a program */
	ALLOW_FILES,	   /* all above are files that can be started */
	ALLOW_LINK = ALLOW_FILES, /* a symlink that leads to one, in a folder of programs */
	ALLOW_TREE,	   /* a folder of shared objects */
};

struct allow_item {
	enum allow_kind kind;
	const char *path; /* in the jar; of files and trees without links on the way */
	const char *by;	  /* the name that it is there for */
};

#define ALLOW_ITEMS 512
#define ALLOW_TEXT  (64U << 10)

struct allow {
	size_t name_count;
	const char *names[JAR_ALLOW_MAX]; /* of those asked for, the ones that are there */
	size_t count;
	struct allow_item items[ALLOW_ITEMS];
	size_t text_len;
	char text[ALLOW_TEXT];
	/* what programs_find() came to, for fence.c */
	const char *masks; /* NUL-terminated paths */
	size_t masks_len;
};

extern const char allow_table[]; /* allow/programs.txt */

/* The search path of every jar whose request does not set its own. */
#define ALLOW_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* A name that can be asked for: bare, or an absolute path without empty, "." and ".." parts; `?` before it: may be missing. */
bool allow_name_ok(const char *name);
/* The i-th program of a set of the table, as text of `out`; false past the end. */
bool allow_set_at(const char *set, size_t i, char *out, size_t size);
/* Fills `a` from spec->allow. `binds` are the sources of spec->binds. A name that is not there is an error that names it. */
int allow_resolve(struct allow *a, const struct jar_spec *spec, const int *binds, struct err *e);
/* The folder of programs that `path` lies in ("/usr/bin"), or NULL: those folders show only what is allowed. */
const char *allow_folder(const char *path);
/* The bind that shows `path`, or -1. */
int allow_bind_of(const struct jar_spec *spec, const char *path);
/* Whether `path` is `dir` or beneath it. */
bool allow_beneath(const char *path, const char *dir);
/* Whether a file may be started. */
bool allow_has(const struct allow *a, const char *path);
/* "git, python3 ...": what was asked for and is there, cut to `size`. */
void allow_names(const struct allow *a, char *out, size_t size);

#define ALLOW_FOLDERS 10
extern const char *const allow_folders[ALLOW_FOLDERS];
/* Roots of the jar that come from the host, where they are no links. */
#define ALLOW_ROOTS 7
extern const char *const allow_roots[ALLOW_ROOTS];

#endif
