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

enum request_policy { POLICY_OFF, POLICY_WARN, POLICY_ENFORCE };

struct json_error_t;

struct request {
	const char *id, *client;
	const char *language;	      /* NULL: find out */
	const char *code;	      /* NULL: a file or a program */
	size_t code_len;
	const char *file;	      /* host path of the code */
	struct strlist argv;	      /* a program instead of code */
	struct strlist args, env, env_files, file_opts, ro, layer, get;
	struct strlist allow;	      /* --allow, "git,python3"; while the configuration is read: its */
	/* The system file's, that of the other files and the environment, the project file's, the request object's. */
	struct strlist allow_system, allow_config, allow_project, allow_request;
	bool allow_in_request;	      /* an empty list allows nothing */
	const char *stdin_path;	      /* host path, "-": the caller's */
	const char *stdin_data;	      /* given in the request */
	size_t stdin_len;
	const char *workdir, *workspace, *out_dir, *hostname, *network, *image, *request_path;
	uint64_t uid;
	uint64_t policy;	      /* enum request_policy */
	const char *rules;	      /* sets of rules, "standard,mine" */
	struct strlist allow_modules, deny_modules;
	struct strlist allow_modules_request; /* the request object's: both lists hold */
	bool allow_imports;
	bool syntax_only;	      /* nothing is run: the language says whether the code is right (belljar check) */
	bool no_write, allow_degraded, json, quiet, verbose, dry_run, no_keep_code;
	const char *audit;	      /* required, best-effort, off */
	struct jar_limits limits;
	struct request_file *files;   /* from `files` of a request object and --file, in order */
	size_t file_count, file_cap;
	uint64_t keep_bytes;	      /* what `get` brings out is kept in memory, together up to so many bytes; 0: only told */
	/* resolved by request_resolve() */
	const struct language *lang;  /* NULL: a program */
	const char *code_name;	      /* the source's name in /workspace */
	const char *driver;	      /* a program of the jar's root that runs in place of the code; never from outside */
	bool metered;		      /* the front reads the jar's CPU time while it runs; never from outside */
	bool alone;		      /* a client of its own for the pool, which costs a place made anew: its jar, and its memory, is nobody's before and nobody's after; never from outside */
	bool code_in_workspace;	      /* it is a file of --workspace and comes in with that */
	struct strlist programs;      /* names of the allow-list in force (jar/allow.h); none: every program of the host's /usr */
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

#define REQUEST_ALLOW_OPT \
	{ "allow", 0, "A,B,C", NULL, OPT_LIST, REQUEST_AT(allow), "allow", 0, 0, OPT_CONFIG | OPT_TIGHTEN, \
	  "only these programs can be started (names or paths; 'default' is a set without a shell); may be repeated" },

/* The static check: rows of every command that runs something, as the limits. */
#define REQUEST_POLICY_OPTS \
	{ "policy", 0, "off|warn|enforce", "warn", OPT_CHOICE, REQUEST_AT(policy), "policy", 0, 0, OPT_CONFIG | OPT_TIGHTEN, \
	  "static check of the code: not at all, found and recorded, or refused before anything starts" }, \
	{ "rules", 0, "NAMES", "standard", OPT_STR, REQUEST_AT(rules), "rules", 0, 0, OPT_CONFIG, \
	  "sets of rules it goes by, with commas between: standard, strict, pure, your own; or a file of rules" }, \
	{ "allow-modules", 0, "MODULE", NULL, OPT_LIST, REQUEST_AT(allow_modules), "allow_modules", 0, 0, 0, \
	  "the code may import this module and no other; may be repeated" }, \
	{ "deny-modules", 0, "MODULE", NULL, OPT_LIST, REQUEST_AT(deny_modules), "deny_modules", 0, 0, 0, \
	  "the code may not import this module; may be repeated" }, \
	{ "allow-imports", 0, NULL, "true", OPT_FLAG, REQUEST_AT(allow_imports), "allow_imports", 0, 0, 0, \
	  "the code may import modules; --allow-imports=false forbids all" },

/* Receipts: rows of the same commands. The mode is never a request's to say, and nothing of it a project's file. */
#define REQUEST_AUDIT_OPTS \
	{ "audit", 0, "MODE", "required", OPT_STR, REQUEST_AT(audit), NULL, 0, 0, OPT_CONFIG | OPT_NO_JSON, \
	  "receipts: required (no run without one), best-effort (go on and say so), off" }, \
	{ "no-keep-code", 0, NULL, NULL, OPT_FLAG, REQUEST_AT(no_keep_code), "no_keep_code", 0, 0, OPT_CONFIG, \
	  "the receipt has the code's hash; the code itself is not kept" },

enum request_audit { AUDIT_REQUIRED, AUDIT_BEST_EFFORT, AUDIT_OFF };

/* The mode that `audit` names. */
int request_audit(const struct request *r, enum request_audit *out, struct err *e);

/* Rows of all fields; see opt.h. */
extern const struct opt request_opts[];

/* Reads a request object: strict. An unknown field, a wrong type, a value out of range is an error that names the field. */
int request_from_json(struct request *r, const char *text, size_t len, struct arena *a, struct err *e);
/* The same for an object with a field `apart` that somebody else reads, which only the fields `beside` may go with. */
int request_from_json_beside(struct request *r, const char *text, size_t len, const char *apart, const char *const *beside, struct arena *a, struct err *e);
/* What jansson says of a text, without the words of the text. */
const char *request_json_error(struct json_error_t *je);
/* The configuration has been read, the command line comes: an allow-list of its own takes the place of the operator's. */
void request_configured(struct request *r);
/* Finds the allow-list in force, `programs`, for code in a language (NULL: a program); request_resolve() does it too. */
int request_programs(struct request *r, const struct language *lang, struct arena *a, struct err *e);
/* A file of the caller's ("-": standard input), whole, with the limits of code. */
int request_read_file(const char *path, const char **out, size_t *len, struct arena *a, struct err *e);
/* A request that begins as a copy of another, whose lists it can add to on its own. */
void request_copy(struct request *dst, const struct request *src);
/* A pattern of `get` as the jar knows it: relative to /workspace, or absolute. */
const char *request_get_pattern(const struct request *r, size_t i);
/* Checks what single rows cannot, finds the language, loads the code. After this only the jar can say no. */
int request_resolve(struct request *r, struct arena *a, struct err *e);

#endif
