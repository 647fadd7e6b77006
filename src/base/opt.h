/* SPDX-License-Identifier: Apache-2.0 */
/* Options as rows: one row drives parsing, --help, the man page, the environment variable, the configuration key and the JSON field. */
#ifndef BELLJAR_BASE_OPT_H
#define BELLJAR_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"

enum opt_kind {
	OPT_FLAG,  /* bool */
	OPT_STR,   /* const char * */
	OPT_LIST,  /* struct strlist; may be repeated */
	OPT_BYTES, /* uint64_t, as 512M */
	OPT_MS,	   /* uint64_t milliseconds, as 30s */
	OPT_MILLI, /* uint64_t thousandths, as 1.5 */
	OPT_U64,   /* uint64_t */
	OPT_CHOICE, /* uint64_t: which of the words of `arg` ("off|warn|enforce"), each tighter than the one before */
};

enum opt_flags {
	OPT_CONFIG  = 1 << 0, /* may stand in configuration files and the environment */
	OPT_TIGHTEN = 1 << 1, /* a project's file may lower it */
	OPT_NO_JSON = 1 << 2, /* not part of a request object */
};

struct opt {
	const char *name;
	char letter;	      /* 0: none */
	const char *arg;      /* what help calls its value; NULL for flags */
	const char *def;      /* default as text, NULL: unset */
	enum opt_kind kind;
	size_t at;	      /* offset in the structure that is filled */
	const char *json;     /* field of the request object, "limits.wall_ms"; NULL: none */
	uint64_t min, max;    /* numbers; 0,0: any */
	unsigned flags;
	const char *help;
};

/* A subcommand: its rows end with a NULL name. */
struct opt_cmd {
	const char *name;
	const char *usage;    /* lines of "belljar run ..." */
	const char *summary;
	const char *details;  /* further text of --help and the man page; may be NULL */
	bool words;	      /* takes words that are no options */
	const struct opt *opts;
};

#define OPT_ROWS_MAX 96

struct opt_rest {
	struct strlist words; /* not options */
	struct strlist after; /* after "--" */
	bool dashes;	      /* there was a "--" */
	bool help;	      /* --help was asked for */
	bool seen[OPT_ROWS_MAX]; /* by row: the command line has it */
};

/* Sets one row from text. The error names the option as `shown` ("--memory", "BELLJAR_MEMORY", "config: memory"). */
int opt_set(const struct opt *o, void *dst, const char *text, const char *shown, struct arena *a, struct err *e);
int opt_check(const struct opt *o, uint64_t value, const char *shown, struct err *e);
/* Sets the defaults of all rows. */
void opt_defaults(const struct opt *opts, void *dst, struct arena *a);
/* Parses a command line (argv[0] is the subcommand). */
int opt_parse(const struct opt_cmd *cmd, int argc, char **argv, void *dst, struct opt_rest *rest, struct arena *a,
	      struct err *e);
/* The number of a word among "a|b|c"; -1 when it is none of them. */
int opt_choice(const struct opt *o, const char *text);
const struct opt *opt_find(const struct opt *opts, const char *name);
/* The row with the nearest name, or NULL. */
const struct opt *opt_near(const struct opt *opts, const char *name);
/* "BELLJAR_OUTPUT_LOG" of "output-log". */
void opt_env_name(const struct opt *o, char *out, size_t size);
/* The value as text, as the user would write it. */
void opt_format(const struct opt *o, const void *src, char *out, size_t size);
void opt_help(const struct opt_cmd *cmd, FILE *out);

#endif
