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
	uint64_t keep_bytes;	      /* what `get` brings out is kept in memory, together up to so many bytes; 0: only told */
	/* resolved by request_resolve() */
	const struct language *lang;  /* NULL: a program */
	const char *code_name;	      /* the source's name in /workspace */
	bool code_in_workspace;	      /* it is a file of --workspace and comes in with that */
};

#define REQUEST_AT(field) offsetof(struct request, field)
/* The limits: rows of every command that runs something; its structure begins with a struct request. */
#define REQUEST_LIMIT_OPTS \
	{ "timeout", 't', "TIME", "30s", OPT_MS, REQUEST_AT(limits.wall_ms), "limits.wall_ms", 1, 86400000, \
	  OPT_CONFIG | OPT_TIGHTEN, "wall-clock limit" }, \
	{ "cpu-time", 0, "TIME", NULL, OPT_MS, REQUEST_AT(limits.cpu_ms), "limits.cpu_ms", 1, 86400000, OPT_CONFIG | OPT_TIGHTEN, \
	  "limit of CPU time used by all processes together (default none)" }, \
	{ "memory", 'm', "SIZE", "512M", OPT_BYTES, REQUEST_AT(limits.memory_bytes), "limits.memory_bytes", 4ULL << 20, 1ULL << 40, \
	  OPT_CONFIG | OPT_TIGHTEN, "memory limit, files in the jar included" }, \
	{ "cpus", 0, "N", "1.0", OPT_MILLI, REQUEST_AT(limits.cpus_milli), "limits.cpus", 10, 1024000, OPT_CONFIG | OPT_TIGHTEN, \
	  "share of CPUs" }, \
	{ "disk", 0, "SIZE", "100M", OPT_BYTES, REQUEST_AT(limits.disk_bytes), "limits.disk_bytes", 64ULL << 10, 1ULL << 40, \
	  OPT_CONFIG | OPT_TIGHTEN, "one budget for /workspace, /tmp, /dev/shm and HOME" }, \
	{ "pids", 0, "N", "64", OPT_U64, REQUEST_AT(limits.pids), "limits.pids", 1, 32768, OPT_CONFIG | OPT_TIGHTEN, \
	  "processes and threads" }, \
	{ "nofile", 0, "N", "1024", OPT_U64, REQUEST_AT(limits.nofile), "limits.nofile", 8, 1048576, OPT_CONFIG | OPT_TIGHTEN, \
	  "open files of one process" }, \
	{ "output", 0, "SIZE", "100K", OPT_BYTES, REQUEST_AT(limits.output_bytes), "limits.output_bytes", 1ULL << 10, 64ULL << 20, \
	  OPT_CONFIG | OPT_TIGHTEN, "what the result shows of each stream (start and end are kept)" }, \
	{ "output-log", 0, "SIZE", "64M", OPT_BYTES, REQUEST_AT(limits.log_bytes), "limits.log_bytes", 1ULL << 10, 1ULL << 40, \
	  OPT_CONFIG | OPT_TIGHTEN, "what is kept of each stream; past it the program is ended" },

/* Rows of all fields; see opt.h. */
extern const struct opt request_opts[];

/* Reads a request object: strict. An unknown field, a wrong type, a value out of range is an error that names the field. */
int request_from_json(struct request *r, const char *text, size_t len, struct arena *a, struct err *e);
/* A request that begins as a copy of another, whose lists it can add to on its own. */
void request_copy(struct request *dst, const struct request *src);
/* Checks what single rows cannot, finds the language, loads the code. After this only the jar can say no. */
int request_resolve(struct request *r, struct arena *a, struct err *e);

#endif
