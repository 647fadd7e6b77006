/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets: tasks, samples, results in the reference tools' form, pass@k. */
#ifndef BELLJAR_GRADE_DATASET_H
#define BELLJAR_GRADE_DATASET_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* How the lines of one data set are read. The verifier knows how to test them (src/guest/python/verifier.py, DATASETS). */
struct dataset {
	const char *name;
	const char *title;
	bool prompt;	       /* a completion goes on where the prompt ends */
	bool two;	       /* two verdicts: the base inputs and the additional ones */
	const char *reference; /* field with a solution that is right; after the prompt where there is one */
	uint64_t cpu_ms;       /* of a sample, unless given */
	const char *language;  /* of the samples, a row of languages/ */
	const char *word;      /* what the tasks call it in `language`, where the same data set has several; NULL: they do not say */
	bool js;	       /* the tests are JavaScript */
};

extern const struct dataset datasets[];
const struct dataset *dataset_find(const char *name);

struct dataset_task {
	const char *id;
	const char *line; /* as it was read */
	size_t len;
	unsigned samples, correct, correct_base; /* counted as results come */
};

struct dataset_tasks {
	const struct dataset *kind; /* the row of the name that was asked for which has the tasks' language */
	struct dataset_task *list;
	size_t count;
	uint32_t *index; /* hash table of positions + 1 */
	size_t index_size;
	struct arena arena;
};

/* Reads all tasks of a file (.jsonl, .jsonl.gz) that is open. */
int dataset_read(struct dataset_tasks *t, const struct dataset *kind, int fd, const char *name, struct err *e);
void dataset_done(struct dataset_tasks *t);
/* The task that a line is, or is a sample of: `task_id`, or MultiPL-E's `name`. NULL: it does not say. */
const char *dataset_id(const char *line, size_t len, struct arena *a);
struct dataset_task *dataset_task(const struct dataset_tasks *t, const char *id);

/* A field of the outermost object of a line as text, in the arena: a string's contents, a number's digits. NULL: there is none. */
const char *dataset_text(const char *line, size_t len, const char *key, struct arena *a, size_t *n);

/* Lines of a file that may be compressed. */
struct dataset_lines;
struct dataset_lines *dataset_open(int fd, struct err *e);
/* 1: a line (without its end, valid until the next call), 0: the end, -1: error. */
int dataset_next(struct dataset_lines *l, const char **line, size_t *len, struct err *e);
void dataset_close(struct dataset_lines *l);

/* The unbiased estimator of pass@k for n samples of which c are right. */
double dataset_pass_at_k(unsigned n, unsigned c, unsigned k);

#endif
