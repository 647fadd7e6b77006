/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict: from kernel evidence to status, reason, one sentence and a hint. No input but the evidence. */
#ifndef BELLJAR_RUN_VERDICT_H
#define BELLJAR_RUN_VERDICT_H

#include "base/err.h"
#include "jar/spec.h"

enum run_status { STATUS_CREATED, STATUS_RUNNING, STATUS_COMPLETED, STATUS_TIMEOUT, STATUS_ERROR, STATUS_KILLED };

enum run_reason {
	REASON_EXITED, REASON_SIGNAL, REASON_WALL_TIME, REASON_CPU_TIME, REASON_MEMORY, REASON_PIDS, REASON_OUTPUT,
	REASON_SYSCALL, REASON_POLICY, REASON_SYNTAX, REASON_BUSY, REASON_CANCELLED, REASON_SETUP, REASON_INTERNAL,
	REASON_COUNT
};

enum run_limit { LIMIT_WALL = 1, LIMIT_CPU = 2, LIMIT_MEMORY = 4, LIMIT_PIDS = 8, LIMIT_DISK = 16, LIMIT_OUTPUT = 32, LIMIT_SOCKETS = 64, LIMIT_COUNT = 7 };

extern const char *const run_limit_names[LIMIT_COUNT];

struct verdict {
	enum run_status status;
	enum run_reason reason;
	bool exited;	      /* exit_code is the guest's own */
	int exit_code, signal; /* signal 0: none */
	unsigned limits_hit;  /* enum run_limit */
	char error[384], hint[256]; /* "" when it ended well */
	int exit_status;      /* what belljar's own exit status says */
};

void verdict_make(struct verdict *v, const struct jar_evidence *ev, const struct jar_limits *l);
/* The verdict of a run that never started. */
void verdict_error(struct verdict *v, const struct err *e);
/* Turns the verdict of a run that was called off into killed/cancelled. */
void verdict_cancelled(struct verdict *v);
const char *verdict_status_name(enum run_status s);
const char *verdict_reason_name(enum run_reason r);

#endif
