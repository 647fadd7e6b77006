/* SPDX-License-Identifier: Apache-2.0 */
/* The request: one object for the command line, request files, batches and later the API. */
#ifndef BELLJAR_RUN_REQUEST_H
#define BELLJAR_RUN_REQUEST_H

#include "base/opt.h"
#include "jar/spec.h"
#include "run/language.h"

/* A file that goes into /workspace: from the host, or given in the request. */
struct request_file {
	const char *path;    /* where in /workspace, clean and relative */
	const char *source;  /* host path, or NULL */
	const char *content; /* otherwise these bytes */
	size_t len;
	uint32_t mode;	     /* of content */
};

struct request {
	const char *id, *client;
	const char *language;	      /* NULL: find out */
	const char *code;	      /* NULL: a file or a program */
	size_t code_len;
	const char *file;	      /* host path of the code */
	struct strlist argv;	      /* a program instead of code */
	struct strlist args, env, file_opts, ro, get;
	const char *stdin_path;	      /* host path, "-": the caller's */
	const char *stdin_data;	      /* given in the request */
	size_t stdin_len;
	const char *workdir, *workspace, *out_dir, *hostname, *network, *image, *request_path;
	uint64_t uid;
	bool no_write, allow_degraded, json, quiet, verbose, dry_run;
	struct jar_limits limits;
	struct request_file *files;   /* from `files` of a request object and --file, in order */
	size_t file_count, file_cap;
	/* resolved by request_resolve() */
	const struct language *lang;  /* NULL: a program */
	const char *code_name;	      /* the source's name in /workspace */
	bool code_in_workspace;	      /* it is a file of --workspace and comes in with that */
};

/* Rows of all fields; see opt.h. */
extern const struct opt request_opts[];

/* Reads a request object: strict. An unknown field, a wrong type, a value out of range is an error that names the field. */
int request_from_json(struct request *r, const char *text, size_t len, struct arena *a, struct err *e);
/* Checks what single rows cannot, finds the language, loads the code. After this only the jar can say no. */
int request_resolve(struct request *r, struct arena *a, struct err *e);

#endif
