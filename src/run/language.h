/* SPDX-License-Identifier: Apache-2.0 */
/* Languages: rows of data from languages/<name>.yaml, compiled in at build time; an operator can add more. */
#ifndef BELLJAR_RUN_LANGUAGE_H
#define BELLJAR_RUN_LANGUAGE_H

#include <stddef.h>

#include "base/err.h"

/* Lists end with NULL. In commands "{file}" is the source's name, "{out}" the compiled program, "{class}" (of `start`) the class to start. */
struct language {
	const char *name, *title;
	const char *const *aliases, *const *endings, *const *interpreters; /* "python3" of a #! line */
	const char *file;		 /* what -c and - are called in /workspace */
	const char *const *compile;	 /* NULL: none */
	const char *const *run;
	/* Where one program is run many times: built once, then started each time. NULL: compile and run do it. */
	const char *const *build, *const *start;
	const char *const *readable;	 /* says by its exit status whether the source can be read; NULL: nobody does before it runs */
	const char *const *env;		 /* K=V */
	const char *const *syntax;	 /* says whether the code is right without running it: "{file}", or it reads standard input; NULL: none */
	const char *const *syntax_again; /* asked when that says no: its yes counts (bash's extglob) */
	const char *syntax_first;	 /* "true": before the run, since the language runs a file while it reads it; else when a run looks like one */
	const char *check;		 /* whose grammar the static check uses: python, bash, javascript; NULL: it is not looked at */
	const char *const *version;	 /* command that prints it */
	const char *program;		 /* must exist on the host */
	const char *package;		 /* Debian package that brings it */
	const char *warm;		 /* what of a pool can run it without starting anew: "python", "node"; NULL: nothing */
};

/* The rows compiled in, ended by a NULL name. */
extern const struct language languages_builtin[];

/* By name or alias; NULL when unknown. Operator's own rows (languages_load) are looked at first. */
const struct language *language_find(const char *name);
/* By a file's ending ("x.py"), then by its first line ("#!/usr/bin/env python3"). */
const struct language *language_of_file(const char *path, const char *head, size_t head_len);
/* Fills `e` with "unknown language 'pyton'; did you mean python?". Returns -1. */
int language_unknown(const char *name, struct err *e);
/* The i-th of all rows, NULL past the end. */
const struct language *language_at(size_t i);
/* Adds the rows of every *.yaml in `dir`; a folder that does not exist is no error. */
int language_load_dir(const char *dir, struct err *e);
/* Reads one YAML file to a heap row (kept for the life of the process). */
struct language *language_parse(const char *path, struct err *e);

#endif
