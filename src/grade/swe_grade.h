/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: from what was seen of a test run to a verdict. Positive evidence only: what nobody saw pass has not passed. */
#ifndef BELLJAR_GRADE_SWE_GRADE_H
#define BELLJAR_GRADE_SWE_GRADE_H

#include "grade/swe_data.h"
#include "grade/swe_log.h"

/* One "test" frame of the reporter. */
struct swe_result {
	const char *id;	 /* as the reference's log parser would spell it */
	const char *str; /* another spelling, NULL: none */
	const char *doc; /* the docstring, whose first line django's logs show; NULL: none */
	enum swe_outcome outcome;
	long ms;
	/* Only in runs of selected tests; NULL: not said. */
	const char *def;   /* "path:line:qualname" of the test function */
	const char *where; /* "path:line" of each traceback frame in the tree, one a line */
	const char *value; /* of a probe: what the left side of the failing comparison was */
};

/* One run of the tests. Without a reporter the log is all there is. */
struct swe_run {
	enum swe_style style;
	bool has_reporter;
	const struct swe_result *results;
	size_t n;
	const char *log; /* NULL: none */
	size_t log_len;
	bool log_cut;	 /* more was said than was kept */
	bool finished;	 /* the reporter said so, and the runner ended by itself */
	bool has_exit;
	int exit;	 /* from wait4 */
	int signal;	 /* 0: none */
	int stopped;	 /* enum swe_reason: which limit ended it, when it is not finished; 0: nobody knows */
	const struct strlist *marked; /* listed tests whose own source says expected failure; NULL: not known, so all may be */
};

struct swe_tamper {
	const char *what, *path, *action, *detail; /* NULL: not said, but for `what` */
};

struct swe_grade_in {
	const struct strlist *fail_to_pass, *pass_to_pass;
	bool has_patch, applied;
	const struct swe_run *run;   /* NULL: there was none */
	bool canaries;		     /* the rounds with canaries were run; `tampering` has what they found */
	const struct swe_tamper *tampering;
	size_t tampering_n;
	bool fatal;  /* tampering that no verdict survives was seen, whether it is listed or not */
	bool strict; /* any suspicion fails */
};

enum swe_reason {
	SWE_WHY_NONE, /* it counts as passed */
	SWE_WHY_MISSING,
	SWE_WHY_FAILED,
	SWE_WHY_ERROR,
	SWE_WHY_SKIPPED,
	SWE_WHY_XFAIL,
	SWE_WHY_XPASS,
	SWE_WHY_LOG_DISAGREES,
	SWE_WHY_LOG_SILENT,
	SWE_WHY_EXIT_DISAGREES,
	SWE_WHY_UNFINISHED,
	SWE_WHY_TIMEOUT, /* likewise, and which limit it was */
	SWE_WHY_MEMORY,
	SWE_WHY_OUTPUT,
	SWE_WHY_TAMPERING,
	SWE_WHY_NO_PATCH,
	SWE_WHY_NOT_APPLIED,
	SWE_WHY_NOT_RUN,
	/* of the whole only */
	SWE_WHY_NOT_GRADABLE,
	SWE_WHYS
};

/* "missing", "log_disagrees"; NULL for SWE_WHY_NONE. */
const char *swe_reason_name(enum swe_reason r);

struct swe_test {
	const char *id; /* as it is listed */
	bool ok;	/* passed; of PASS_TO_PASS: still passing */
	enum swe_outcome outcome;
	enum swe_reason reason;
};

struct swe_verdict {
	bool gradable; /* there is something to compare with */
	bool resolved, all_passed;
	const char *resolution; /* "RESOLVED_FULL", "RESOLVED_PARTIAL", "RESOLVED_NO" */
	enum swe_reason reason; /* why it is not resolved */
	struct swe_test *f2p, *p2p;
	size_t f2p_n, f2p_ok, p2p_n, p2p_ok;
	double f2p_score, p2p_score, score; /* shares that are ok; 1 of nothing, as the reference counts */
	size_t passed, failed, errors, skipped; /* of all tests that were seen in the run, listed or not */
	struct swe_tamper *tampering;		/* what came in, then what was found here */
	size_t tampering_n;
	struct strlist checks; /* what was compared: log, witness, exit, finish, canary */
	const char *trust;     /* "shared_interpreter", "log_only", "none" */
};

/* Tampering that a verdict does not survive. */
bool swe_tamper_fatal(const char *what);
/* Never fails; everything that it makes is in the arena, and what it was given is borrowed for as long. */
void swe_grade(struct swe_verdict *v, const struct swe_grade_in *in, struct arena *a);

#endif
