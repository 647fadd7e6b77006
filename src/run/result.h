/* SPDX-License-Identifier: Apache-2.0 */
/* The result: one object for every run, as JSON (docs/result.md) and as a line for people. */
#ifndef BELLJAR_RUN_RESULT_H
#define BELLJAR_RUN_RESULT_H

#include "run/artifacts.h"
#include "run/output.h"
#include "run/request.h"
#include "run/verdict.h"

/* One started program: the compile step or the run itself. */
struct step_result {
	bool there;
	struct strlist command;
	struct verdict verdict;
	struct jar_evidence evidence;
	struct jar_limits limits;
	struct output out[2]; /* stdout, stderr */
};

struct result {
	char execution_id[32];
	struct step_result compile, run;
	struct verdict verdict; /* of the whole */
	bool have_facts;
	struct jar_facts facts;
	struct artifacts files;
	struct strlist deleted; /* files of --workspace that the program removed */
};

/* The highest memory use of one step. */
uint64_t result_memory_peak(const struct jar_evidence *ev);
/* The object on one line, with its line number in a batch (0: none), added to `out` with a line end. */
int result_add_line(const struct result *r, const struct request *req, uint64_t line, struct buf *out);
/* The object as text, to be freed. */
char *result_to_json(const struct result *r, const struct request *req);
/* "belljar: ended for memory: ...": nothing when it ended by itself, unless `always`. */
void result_print_line(const struct result *r, bool always, bool colour);

#endif
