/* SPDX-License-Identifier: Apache-2.0 */
/* verdict: evidence in, status, reason, limits and exit status out; fakes included. */
#include "unit.h"

#include <linux/audit.h>

#include "run/verdict.h"

#define EXITED(n) .code = CLD_EXITED, .status = (n)
#define KILLED(n) .code = CLD_KILLED, .status = (n)
#define NONE	  (-1)

static const struct {
	const char *what;
	struct jar_evidence ev;
	enum run_status status;
	enum run_reason reason;
	int exit_code; /* NONE: null */
	int signal;
	unsigned limits;
	int exit_status;
} rows[] = {
	/* It ended by itself, whatever it said. */
	{ "exit 0", { EXITED(0) }, STATUS_COMPLETED, REASON_EXITED, 0, 0, 0, 0 },
	{ "exit 1", { EXITED(1) }, STATUS_COMPLETED, REASON_EXITED, 1, 0, 0, 1 },
	{ "exit 255", { EXITED(255) }, STATUS_COMPLETED, REASON_EXITED, 255, 0, 0, 255 },
	{ "self-sent SIGKILL", { KILLED(SIGKILL) }, STATUS_COMPLETED, REASON_SIGNAL, NONE, SIGKILL, 0, 137 },
	{ "SIGSEGV", { KILLED(SIGSEGV) }, STATUS_COMPLETED, REASON_SIGNAL, NONE, SIGSEGV, 0, 139 },
	{ "core dumped", { .code = CLD_DUMPED, .status = SIGABRT }, STATUS_COMPLETED, REASON_SIGNAL, NONE, SIGABRT, 0, 134 },
	{ "SIGTERM", { KILLED(SIGTERM) }, STATUS_COMPLETED, REASON_SIGNAL, NONE, SIGTERM, 0, 143 },
	{ "SIGXCPU sent by itself", { KILLED(SIGXCPU) }, STATUS_COMPLETED, REASON_SIGNAL, NONE, SIGXCPU, 0, 128 + SIGXCPU },
	{ "a real-time signal", { KILLED(64) }, STATUS_COMPLETED, REASON_SIGNAL, NONE, 64, 0, 192 },
	/* Fakes. */
	{ "exit 137 is no OOM", { EXITED(137) }, STATUS_COMPLETED, REASON_EXITED, 137, 0, 0, 137 },
	{ "exit 124 is no time-out", { EXITED(124) }, STATUS_COMPLETED, REASON_EXITED, 124, 0, 0, 124 },
	{ "exit 125 is no failure of ours", { EXITED(125) }, STATUS_COMPLETED, REASON_EXITED, 125, 0, 0, 125 },
	{ "SIGSYS without the kernel's word", { KILLED(SIGSYS) }, STATUS_COMPLETED, REASON_SIGNAL, NONE, SIGSYS, 0, 128 + SIGSYS },
	{ "limit reached but nobody killed", { KILLED(SIGKILL), .cg.memory_limit_hits = 9, .cg.memory_peak_bytes = 1 << 30 },
	  STATUS_COMPLETED, REASON_SIGNAL, NONE, SIGKILL, 0, 137 },
	/* Felt and survived. */
	{ "a child killed for memory", { EXITED(0), .cg.oom_kills = 1 }, STATUS_COMPLETED, REASON_EXITED, 0, 0, LIMIT_MEMORY, 0 },
	{ "exit 137 and a child killed", { EXITED(137), .cg.oom_kills = 1 }, STATUS_COMPLETED, REASON_EXITED, 137, 0, LIMIT_MEMORY, 137 },
	{ "SIGSEGV and a child killed", { KILLED(SIGSEGV), .cg.oom_kills = 2 }, STATUS_COMPLETED, REASON_SIGNAL, NONE, SIGSEGV,
	  LIMIT_MEMORY, 139 },
	{ "EAGAIN of fork", { EXITED(1), .cg.pids_limit_hits = 3 }, STATUS_COMPLETED, REASON_EXITED, 1, 0, LIMIT_PIDS, 1 },
	{ "disk full", { EXITED(0), .disk_full = 1 }, STATUS_COMPLETED, REASON_EXITED, 0, 0, LIMIT_DISK, 0 },
	{ "all at once", { EXITED(3), .disk_full = 1, .cg = { .oom_kills = 1, .pids_limit_hits = 1 } }, STATUS_COMPLETED, REASON_EXITED, 3, 0,
	  LIMIT_DISK | LIMIT_PIDS | LIMIT_MEMORY, 3 },
	/* Ended. */
	{ "OOM", { KILLED(SIGKILL), .cg.oom_kills = 1 }, STATUS_KILLED, REASON_MEMORY, NONE, SIGKILL, LIMIT_MEMORY, 137 },
	{ "memory by polling", { KILLED(SIGKILL), .ended_by = JAR_ENDED_MEMORY }, STATUS_KILLED, REASON_MEMORY, NONE, SIGKILL, LIMIT_MEMORY, 137 },
	{ "wall clock", { KILLED(SIGKILL), .ended_by = JAR_ENDED_WALL }, STATUS_TIMEOUT, REASON_WALL_TIME, NONE, SIGKILL, LIMIT_WALL, 124 },
	{ "wall clock after a child's OOM", { KILLED(SIGKILL), .ended_by = JAR_ENDED_WALL, .cg.oom_kills = 1 }, STATUS_TIMEOUT,
	  REASON_WALL_TIME, NONE, SIGKILL, LIMIT_WALL | LIMIT_MEMORY, 124 },
	{ "CPU time", { KILLED(SIGKILL), .ended_by = JAR_ENDED_CPU }, STATUS_TIMEOUT, REASON_CPU_TIME, NONE, SIGKILL, LIMIT_CPU, 124 },
	{ "output", { KILLED(SIGKILL), .ended_by = JAR_ENDED_OUTPUT }, STATUS_KILLED, REASON_OUTPUT, NONE, SIGKILL, LIMIT_OUTPUT, 137 },
	{ "cancelled", { KILLED(SIGKILL), .ended_by = JAR_ENDED_CANCELLED }, STATUS_KILLED, REASON_CANCELLED, NONE, SIGKILL, 0, 137 },
	{ "system call", { KILLED(SIGKILL), .ended_by = JAR_ENDED_SYSCALL, .has_syscall = 1, .syscall = { 1, AUDIT_ARCH_X86_64, 169 } },
	  STATUS_KILLED, REASON_SYSCALL, NONE, SIGKILL, 0, 128 + SIGSYS },
	{ "system call of x32", { KILLED(SIGKILL), .ended_by = JAR_ENDED_SYSCALL, .has_syscall = 1,
				  .syscall = { 1, AUDIT_ARCH_X86_64, 0x40000000 | 1 } },
	  STATUS_KILLED, REASON_SYSCALL, NONE, SIGKILL, 0, 128 + SIGSYS },
	{ "system call that has no name", { KILLED(SIGKILL), .ended_by = JAR_ENDED_SYSCALL, .has_syscall = 1, .syscall = { 1, 7, -1 } },
	  STATUS_KILLED, REASON_SYSCALL, NONE, SIGKILL, 0, 128 + SIGSYS },
};

static const struct jar_limits limits = {
	.wall_ms = 1500, .cpu_ms = 500, .memory_bytes = 64 << 20, .pids = 7, .disk_bytes = 1 << 20, .log_bytes = 4096,
};

TEST(table)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct verdict v;

		memset(&v, 0xff, sizeof(v));
		verdict_make(&v, &rows[i].ev, &limits);
		ROW_OK(v.status == rows[i].status, "%s: %s", rows[i].what, verdict_status_name(v.status));
		ROW_OK(v.reason == rows[i].reason, "%s: %s", rows[i].what, verdict_reason_name(v.reason));
		ROW_OK(v.exited == (rows[i].exit_code != NONE), "%s", rows[i].what);
		ROW_OK(!v.exited || v.exit_code == rows[i].exit_code, "%s: %d", rows[i].what, v.exit_code);
		ROW_OK(v.signal == rows[i].signal, "%s: %d", rows[i].what, v.signal);
		ROW_OK(v.limits_hit == rows[i].limits, "%s: %x", rows[i].what, v.limits_hit);
		ROW_OK(v.exit_status == rows[i].exit_status, "%s: %d", rows[i].what, v.exit_status);
		/* A sentence when it did not exit; none when all is well; a hint for each limit. */
		ROW_OK(!!v.error[0] == (v.reason != REASON_EXITED), "%s: '%s'", rows[i].what, v.error);
		ROW_OK(!v.limits_hit || v.hint[0], "%s has no hint", rows[i].what);
		ROW_OK(strlen(v.error) < sizeof(v.error) && strlen(v.hint) < sizeof(v.hint), "%s", rows[i].what);
	}
}

TEST(sentences)
{
	struct verdict v;

	verdict_make(&v, &(struct jar_evidence){ KILLED(SIGKILL), .ended_by = JAR_ENDED_WALL }, &limits);
	assert_non_null(strstr(v.error, "1.5 s"));
	assert_non_null(strstr(v.hint, "--timeout"));
	verdict_make(&v, &(struct jar_evidence){ KILLED(SIGKILL), .cg.oom_kills = 3 }, &limits);
	assert_non_null(strstr(v.error, "64M"));
	assert_non_null(strstr(v.error, "3"));
	verdict_make(&v, &(struct jar_evidence){ KILLED(SIGKILL), .ended_by = JAR_ENDED_SYSCALL, .syscall = { 1, AUDIT_ARCH_X86_64, 169 } },
		     &limits);
	assert_non_null(strstr(v.error, "reboot"));
	verdict_make(&v, &(struct jar_evidence){ KILLED(SIGKILL), .ended_by = JAR_ENDED_SYSCALL, .syscall = { 1, AUDIT_ARCH_I386, 88 } }, &limits);
	assert_non_null(strstr(v.error, "i386"));
	verdict_make(&v, &(struct jar_evidence){ KILLED(SIGKILL), .ended_by = JAR_ENDED_SYSCALL,
						 .syscall = { 1, AUDIT_ARCH_X86_64, 0x40000001 } }, &limits);
	assert_non_null(strstr(v.error, "x32"));
}

TEST(errors)
{
	static const struct {
		int kind;
		enum run_reason reason;
		int exit_status;
	} kinds[] = {
		{ ERR_USAGE, REASON_SETUP, 2 }, { ERR_REQUEST, REASON_SETUP, 2 }, { ERR_INPUT, REASON_SETUP, 125 },
		{ ERR_SETUP, REASON_SETUP, 125 }, { ERR_NOT_FOUND, REASON_SETUP, 127 }, { ERR_NOT_EXEC, REASON_SETUP, 126 },
		{ ERR_DENIED, REASON_POLICY, 125 }, { ERR_BUSY, REASON_BUSY, 125 }, { ERR_INTERNAL, REASON_INTERNAL, 125 },
		{ 4711, REASON_INTERNAL, 125 },
	};
	struct err e;
	struct verdict v;

	for (size_t i = 0; i < COUNT(kinds); i++) {
		err_set(&e, kinds[i].kind, "what: why");
		err_hint(&e, "next");
		verdict_error(&v, &e);
		ROW_OK(v.status == STATUS_ERROR && v.reason == kinds[i].reason && v.exit_status == kinds[i].exit_status, "kind %d", kinds[i].kind);
		assert_false(v.exited);
		assert_string_equal(v.error, "what: why");
		assert_string_equal(v.hint, "next");
	}
	memset(e.msg, 'x', sizeof(e.msg) - 1);
	snprintf(e.step, sizeof(e.step), "guest-files");
	verdict_error(&v, &e);
	assert_memory_equal(v.error, "guest-files: xxx", 16);
	assert_true(strlen(v.error) < sizeof(v.error));
}

/* Asked to end before it began. */
TEST(cancelled_early)
{
	struct verdict v;

	memset(&v, 0xff, sizeof(v));
	verdict_cancelled(&v);
	assert_int_equal(v.status, STATUS_KILLED);
	assert_int_equal(v.reason, REASON_CANCELLED);
	assert_false(v.exited);
	assert_int_equal(v.limits_hit, 0);
	assert_int_equal(v.exit_status, 137);
	assert_true(v.error[0]);
}

TEST(names)
{
	assert_string_equal(verdict_status_name(STATUS_CREATED), "created");
	assert_string_equal(verdict_status_name(STATUS_KILLED), "killed");
	assert_string_equal(verdict_reason_name(REASON_EXITED), "exited");
	assert_string_equal(verdict_reason_name(REASON_CANCELLED), "cancelled");
	assert_string_equal(verdict_reason_name(REASON_INTERNAL), "internal");
	for (int i = 0; i < LIMIT_COUNT; i++)
		assert_non_null(run_limit_names[i]);
	assert_string_equal(run_limit_names[5], "output");
	assert_int_equal(1 << 5, LIMIT_OUTPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table), cmocka_unit_test(sentences), cmocka_unit_test(errors), cmocka_unit_test(cancelled_early), cmocka_unit_test(names),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
