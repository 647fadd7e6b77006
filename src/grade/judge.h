/* SPDX-License-Identifier: Apache-2.0 */
/* Stdin tests: one program, many inputs, a verdict for each. */
#ifndef BELLJAR_GRADE_JUDGE_H
#define BELLJAR_GRADE_JUDGE_H

#include "grade/judge_cases.h"
#include "grade/judge_program.h"
#include "grade/judge_verdict.h"
#include "keeper/pool_proto.h"
#include "run/ledger.h"

struct judge_setup {
	const struct cases *cases;
	int dir;			    /* the folder that files of cases lie in */
	struct program *solution, *checker; /* checker NULL: no case needs one */
	const struct request *base;	    /* what all requests have in common: disk, pids, … */
	struct pool_open open;
	struct ledger_setup ledger;	    /* receipts of all that runs */
	int keeper;			    /* socket of a keeper of a pool; the judge closes it */
	size_t jobs, cpus;
	bool all;			    /* go on after a failure */
	bool progress, quiet;
};

/* What the kernel counted of one program. */
struct judge_evidence {
	struct verdict v;
	uint64_t cpu_ns, wall_ns, memory_bytes, oom_kills, stdout_bytes, stderr_bytes;
	bool warm;
};

/* A build, or a look at the syntax. */
struct judge_step {
	bool there, syntax;
	enum judge_verdict verdict; /* JUDGE_AC: it went well */
	char detail[JUDGE_DETAIL], hint[JUDGE_DETAIL];
	struct judge_evidence ev;
	struct strlist command;
	const char *out, *err; /* what it printed: start and end, UTF-8 */
};

struct judge_outcome {
	enum judge_verdict verdict;
	double points;
	char detail[JUDGE_DETAIL];
	struct judge_evidence ev;
	struct jar_limits limits;
	const char *out, *err; /* start of what it printed, end of its complaints; NULL when it passed */
	/* the first difference; line 0: none */
	uint64_t line, token;
	const char *expected, *got; /* NULL: the text was over */
	bool again;   /* run twice: the first time it had too little of the CPU */
	bool checked; /* a checker ran */
	struct judge_evidence checker;
};

struct judge_result {
	enum judge_verdict verdict; /* of the whole: AC, or that of the first case that did not pass */
	struct judge_step build, checker_build;
	struct judge_outcome *cases;
	bool *subtask_passed;
	double points, points_max, score; /* score: from 0 to 1 */
	size_t passed, failed, not_run;
};

/* Judges. 0 and a whole result; 130: stopped by a signal; -1: belljar failed. */
int judge_run(const struct judge_setup *s, struct judge_result *r, struct arena *a, struct err *e);

/* The result as an object (docs/judge.md), and as a table for people. 0, or -1 when it could not be written. */
int judge_print_json(const struct judge_setup *s, const struct judge_result *r);
int judge_print_table(const struct judge_setup *s, const struct judge_result *r, bool colour);

#endif
