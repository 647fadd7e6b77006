/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is built once and run many times, each time in a jar of its own. */
#ifndef BELLJAR_GRADE_JUDGE_PROGRAM_H
#define BELLJAR_GRADE_JUDGE_PROGRAM_H

#include "run/result.h"

struct program {
	const char *client;	     /* whose jars it runs in: no namespace of one program's ever serves the other's */
	const struct language *lang; /* NULL: an executable as it is */
	const char *name;	     /* of its source in /workspace */
	const char *code;
	size_t len;
	bool ours; /* no allow-list of what is judged holds for it */
	struct request_file *with; /* beside it, when it is built and when it runs */
	size_t with_count;
	/* built: */
	struct request_file *files;
	size_t file_count;
	struct strlist command; /* empty: the language runs the source */
};

/* Finds the language of `code`: by name, else by its file's ending and first line; without either an ELF executable is taken as it is. */
int program_load(struct program *p, const char *file, const char *lang, const char *code, size_t len, struct arena *a, struct err *e);
/* It has to be built before it can be run. */
bool program_needs_build(const struct program *p);
/* A build (or, of languages that need none, a look at the syntax): false when there is nothing to do. `base` has what all requests have in common. */
bool program_build_request(const struct program *p, const struct request *base, struct request *out, struct arena *a);
/* Takes what the build made. The bytes stay in the arena of `files`. -1: it made nothing that can be run. */
int program_built(struct program *p, const struct artifacts *files, uint64_t disk_bytes, struct arena *a, struct err *e);
/* A request that runs it; `room` more files can be put behind those that are there. */
void program_request(const struct program *p, const struct request *base, size_t room, struct request *out, struct arena *a);

#endif
