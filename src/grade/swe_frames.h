/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: what the driver in a jar says, frame by frame, as one run. Nothing that it says is believed more than it must be. */
#ifndef BELLJAR_GRADE_SWE_FRAMES_H
#define BELLJAR_GRADE_SWE_FRAMES_H

#include <jansson.h>

#include "grade/frames.h"
#include "grade/swe_grade.h"

#define SWE_FRAME_MAX	(64U << 20)
#define SWE_LOG_MAX	(64U << 20)
#define SWE_RESULTS_MAX 1000000
#define SWE_TAMPER_MAX	1000

struct swe_session {
	struct frames frames;
	struct arena arena;
	struct buf log; /* the runner's output, in order; may hold any byte */
	bool log_cut;
	json_t *apply, *ready, *plan, *counts; /* whole frames; `counts` of "finish"; NULL: not said */
	const char *apply_outcome;	/* NULL: not said */
	bool applied;			/* "applied" or "already" */
	const char *refused;		/* modules of the checkout that the runner itself uses; NULL: none, or not said */
	struct strlist marked;		/* of "ready": listed tests whose own source says expected failure */
	struct swe_result *results;
	size_t n, cap;
	struct swe_tamper *tampering;
	size_t tampering_n, tampering_cap;
	bool finished, ended, has_exit;
	int exit, signal;
	int said_exit; /* of "finish"; -1: not said */
	unsigned children_left;
	bool fatal; /* something was seen that no verdict survives, listed or not */
	bool bad; /* "frames" in tampering says why */
};

void swe_session_init(struct swe_session *s);
void swe_session_done(struct swe_session *s);
/* Bytes of the driver's standard output. Frames that are none, are out of order or come after the end are tampering ("frames"), and nothing after them counts. */
void swe_session_add(struct swe_session *s, const char *data, size_t len);
/* After its end: the run, borrowed from the session. `jar_ok`: the jar ended by itself, as the kernel says. */
void swe_session_run(const struct swe_session *s, enum swe_style style, bool jar_ok, struct swe_run *out);

#endif
