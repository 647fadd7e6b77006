/* SPDX-License-Identifier: Apache-2.0 */
/* The result: one object for every run, as JSON (docs/result.md) and as a line for people. */
#ifndef BELLJAR_RUN_RESULT_H
#define BELLJAR_RUN_RESULT_H

#include "base/json_out.h"
#include "check/check.h"
#include "run/artifacts.h"
#include "run/output.h"
#include "run/request.h"
#include "run/verdict.h"
#include "store/receipt.h"

/* One started program: the compile step or the run itself. */
struct step_result {
	bool there;
	struct strlist command;
	struct verdict verdict;
	struct jar_evidence evidence;
	struct jar_denied denied; /* starts that an allow-list refused */
	struct jar_limits limits;
	struct output out[2]; /* stdout, stderr */
};

/* Where code is wrong, as its language says. */
struct syntax_report {
	bool there;
	uint32_t line, column; /* from 1; characters */
	char *message, *text;  /* the line, or the part of it around the place */
	uint32_t caret;	       /* characters of `text` before the place */
};

struct result {
	char execution_id[32];
	struct step_result compile, run;
	struct step_result asked; /* the language, about the code's syntax */
	struct syntax_report syntax;
	struct check_result check;
	struct verdict verdict; /* of the whole */
	bool have_facts;
	struct jar_facts facts;
	struct artifacts files;
	/* for its receipt */
	int64_t time_ms;	      /* when the request was taken up */
	const struct feed_entry *fed; /* what went in */
	bool in_hashed;		      /* standard input came from a descriptor: */
	uint64_t in_bytes;
	struct digest in_hash;
	struct receipt_place receipt; /* seq 0: there is none */
	const char *receipt_error;    /* why not, NULL: none was wanted */
};

/* A new one: an id and the time. Everything else is empty. */
void result_begin(struct result *r);
/* The same for one that is all zero. */
void result_stamp(struct result *r);
/* The highest memory use of one step. */
uint64_t result_memory_peak(const struct jar_evidence *ev);

/* The object on one line, with its line number in a batch, added to `out` without its receipt and its end: both come with result_end_line(). */
int result_add_line(const struct result *r, const struct request *req, uint64_t line, struct buf *out);
struct json_t;
/* The same for an object that is another kind's result: it gets the fields that every line has. */
int result_add_other(struct json_t *o, const char *execution_id, const struct request *req, uint64_t line, struct buf *out);
int result_end_line(const struct receipt_place *receipt, const char *error, struct buf *out);
/* A line that result_add_line() made (without its end), with another verdict: a receipt that had to be kept could not be. To be freed. */
char *result_change_line(const char *text, size_t len, const struct verdict *v);
/* The object as text, to be freed. */
char *result_to_json(const struct result *r, const struct request *req);
/* The fields `violations`, what the check found, and `syntax`, where it is wrong (null when it is not). */
void result_put_violations(struct json_out *o, const struct check_result *c);
void result_put_syntax(struct json_out *o, const struct syntax_report *s);
/* Whether pattern `i` of `get` matched nothing in the jar. */
bool result_got_nothing(const struct result *r, const struct request *req, size_t i);
/* One line for each finding of severity error of a run that went on (policy `warn`). */
void result_print_noted(const struct result *r, const struct request *req, bool colour);
/* What the check found, or where the syntax is wrong: each with its line and a caret, on stderr. */
void result_print_findings(const struct result *r, const struct request *req, bool warnings, bool colour);
/* "belljar: ended for memory: ...": nothing when it ended by itself, unless `always`. */
void result_print_line(const struct result *r, bool always, bool colour);

#endif
