/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: how a repository's tests are run; rows of data from swebench/<name>.yaml, compiled in at build time; an operator can add more. */
#ifndef BELLJAR_GRADE_SWE_SPEC_H
#define BELLJAR_GRADE_SWE_SPEC_H

#include "grade/swe_data.h"
#include "grade/swe_names.h"

/* Lists end with NULL; a list that is not there is NULL. In `argv` "{tests}" becomes the words for the tests; "{tree}" is the checkout. */
struct swe_spec {
	const char *name;
	const char *like;		/* the row whose keys this one takes over; NULL once it has them */
	const char *file;		/* the file that it was read from; NULL: it is compiled in */
	const char *const *repos;	/* "owner/name"; "*": those that no other row knows */
	const char *from, *until;	/* versions, the last one not included; NULL: no limit */
	const char *kind;		/* pytest, django, sympy, unittest: what the driver starts */
	const char *parser;		/* a style of swe_names.h */
	const char *const *argv;	/* behind python3 */
	const char *const *env;		/* K=V */
	const char *python;
	const char *environment;	/* a folder of the host with bin/python: a venv, a conda prefix */
	const char *const *pythonpath;
	const char *const *layers;	/* folders of the host that are shown read-only at the same place */
	const char *words;		/* path: "a/b.py"; module: "a.b" */
	const char *strip;		/* of a path, before it becomes a module */
	const char *const *endings;	/* of files that are tests; NULL: .py */
	const char *const *protected, *const *runner_files, *const *watched; /* globs, as the driver's job has them */
	const char *const *const *build; /* commands that prepare the tree, each a list of words; "{python}" and "{tree}" are replaced */
	const char *wall, *memory, *cpus, *tmp;
};

/* The rows compiled in, ended by a NULL name. */
extern const struct swe_spec swe_specs_builtin[];

/* The row for a repository at a version: an operator's before ours, one with versions before one without, the default for all others. */
const struct swe_spec *swe_spec_find(const char *repo, const char *version);
/* The i-th of all rows, NULL past the end. */
const struct swe_spec *swe_spec_at(size_t i);
/* Reads the rows of every *.yaml in /etc/belljar/swebench and ~/.config/belljar/swebench, in the order of their names. A folder that does not exist is no error. */
int swe_spec_load(struct err *e);
/* Reads one YAML file to a heap row (kept for the life of the process). swe_spec_inherit() completes and checks it. */
struct swe_spec *swe_spec_parse(const char *path, struct err *e);
/*
 * Follows `like` in `n` rows: a row takes every key of the row that it names and keeps those that it says itself. The name is looked for among the other
 * rows of `rows`, then in `below` (ended by a NULL name; NULL: none), so that a row may replace one of ours and take over its keys. Then every row is checked.
 */
int swe_spec_inherit(struct swe_spec *const *rows, size_t n, const struct swe_spec *below, struct err *e);
/* Looks whether a row says all that it must. `shown` is for errors. */
int swe_spec_check(const struct swe_spec *s, const char *shown, struct err *e);
/* -1, 0, 1: "1.10" is after "1.9". */
int swe_version_order(const char *a, const char *b);

/* How one instance's tests are run. Everything is in the arena, or in the row. */
struct swe_job {
	const struct swe_spec *spec;
	enum swe_style style;
	const char *kind, *python;
	struct strlist test_files; /* paths in the tree, after the test patch */
	struct strlist argv;	   /* behind python3 */
	struct strlist env;	   /* K=V */
	struct strlist pythonpath; /* absolute */
	struct strlist show;	   /* SRC:DST: folders of the host that the jar shows read-only */
	uint64_t wall_ms, memory_bytes, cpus_milli, tmp_bytes;
	const char *build;	   /* what is built in the tree, as tree.py reads it; NULL: nothing is */
	char build_key[17];	   /* of it: part of the tree's name; "" */
};

/* The row, the environment and the build of a job: all that a tree needs. swe_job_make() begins with it. */
int swe_job_begin(struct swe_job *j, const struct swe_instance *i, const char *tree, struct arena *a, struct err *e);

/*
 * Fills a job from the row and the instance: test files are those of the test patch (not the ones it deletes), or the ones that --meta names; its
 * test_cmd goes before the row's argv. `ids`: instead of files, these tests (NULL: none). `extra`: words for the runner, before the tests.
 * No tests at all is an error (ERR_INPUT): a runner without any runs everything.
 */
int swe_job_make(struct swe_job *j, const struct swe_instance *i, const char *tree, const struct strlist *ids, const struct strlist *extra,
		 struct arena *a, struct err *e);

#endif
