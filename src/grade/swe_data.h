/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: instances and predictions, read strictly; bad ones name themselves and their field. */
#ifndef BELLJAR_GRADE_SWE_DATA_H
#define BELLJAR_GRADE_SWE_DATA_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define SWE_FILE_MAX	(1U << 30)
#define SWE_MODELS_MAX	1000
#define SWE_UNKNOWN_MAX 1000

struct swe_instance {
	const char *id, *repo, *base_commit, *version; /* version: "" when not said */
	const char *patch, *test_patch;		       /* the gold one, "" when not said */
	size_t patch_len, test_patch_len;
	struct strlist fail_to_pass, pass_to_pass; /* as they are listed, junk and truncated ones too */
	/* of --meta; NULL and empty when not said */
	const char *test_cmd, *log_parser;
	struct strlist test_files;
};

struct swe_instances {
	struct swe_instance *v;
	size_t n;
	uint32_t *index;
	size_t index_size;
	struct arena arena;
};

struct swe_prediction {
	const char *instance_id, *model;
	const char *patch; /* NULL: null, or not there */
	size_t patch_len;
	const struct swe_instance *instance;
};

struct swe_predictions {
	struct swe_prediction *v; /* of instances that are known, in the file's order */
	size_t n;
	struct strlist models;	 /* in order of appearance */
	struct strlist unknown;	 /* ids of instances that nobody has, each once; the first SWE_UNKNOWN_MAX of them */
	struct strlist warnings; /* for people */
	struct arena arena;
};

/* A file that is open, plain or .gz, whole. `name` is for errors. */
int swe_read(int fd, const char *name, struct buf *out, struct err *e);

/* JSON lines, or a list. Errors are ERR_INPUT and say which line or entry, and which field. */
int swe_instances_parse(struct swe_instances *t, const char *text, size_t len, const char *name, struct err *e);
/* Adds test_cmd, test_files and log_parser by instance_id; ids that are not among the instances are passed over. */
int swe_instances_meta(struct swe_instances *t, const char *text, size_t len, const char *name, struct err *e);
const struct swe_instance *swe_instance_find(const struct swe_instances *t, const char *id);
void swe_instances_done(struct swe_instances *t);

/* JSON lines, a list, or a mapping by instance id. One prediction for each instance and model: of several the last one counts, with a warning. */
int swe_predictions_parse(struct swe_predictions *p, const struct swe_instances *t, const char *text, size_t len, const char *name, struct err *e);
void swe_predictions_done(struct swe_predictions *p);

/* A folder's name for a model: "/" is "__" as in the reference; whatever else could lead elsewhere is "_". */
const char *swe_model_folder(const char *model, struct arena *a);

#endif
