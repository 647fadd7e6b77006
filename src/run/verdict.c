/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict: from kernel evidence to status, reason, one sentence and a hint. */
#include "run/verdict.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

const char *const run_limit_names[LIMIT_COUNT] = { "wall_time", "cpu_time", "memory", "pids", "disk", "output", "sockets" };

const char *verdict_status_name(enum run_status s)
{
	static const char *const names[] = { "created", "running", "completed", "timeout", "error", "killed" };

	return names[s];
}

const char *verdict_reason_name(enum run_reason r)
{
	static const char *const names[REASON_COUNT] = { "exited", "signal", "wall_time", "cpu_time", "memory",
							 "pids", "output", "syscall", "policy", "syntax",
							 "busy", "cancelled", "setup", "internal" };

	return names[r];
}

/* Who ended it decides; what the guest's status looks like does not (exit 137 is no OOM, exit 124 no time-out). */
static const struct {
	enum run_status status;
	enum run_reason reason;
	unsigned limit;
	int exit_status;
} by_ended[] = {
	[JAR_ENDED_ITSELF]    = { STATUS_COMPLETED, REASON_EXITED, 0, 0 },
	[JAR_ENDED_WALL]      = { STATUS_TIMEOUT, REASON_WALL_TIME, LIMIT_WALL, 124 },
	[JAR_ENDED_CPU]	      = { STATUS_TIMEOUT, REASON_CPU_TIME, LIMIT_CPU, 124 },
	[JAR_ENDED_SYSCALL]   = { STATUS_KILLED, REASON_SYSCALL, 0, 128 + SIGSYS },
	[JAR_ENDED_OUTPUT]    = { STATUS_KILLED, REASON_OUTPUT, LIMIT_OUTPUT, 128 + SIGKILL },
	[JAR_ENDED_CANCELLED] = { STATUS_KILLED, REASON_CANCELLED, 0, 128 + SIGKILL },
	[JAR_ENDED_MEMORY]    = { STATUS_KILLED, REASON_MEMORY, LIMIT_MEMORY, 128 + SIGKILL },
	[JAR_ENDED_OUTSIDE]   = { STATUS_KILLED, REASON_CANCELLED, 0, 128 + SIGKILL },
};

/* What a signal usually means. The wait status does not say whether the kernel sent it for a fault, or a process of the jar did. */
static const char *signal_means(int signal)
{
	static const struct {
		int signal;
		const char *means;
	} rows[] = {
		{ SIGSEGV, "it used memory that it does not have (a crash)" },
		{ SIGBUS, "it used a part of a mapped file that is not there, or misaligned memory (a crash)" },
		{ SIGILL, "it executed an invalid instruction (a crash)" },
		{ SIGFPE, "it divided an integer by zero, or made a similar mistake (a crash)" },
		{ SIGABRT, "it gave up by abort(), as after a failed assertion" },
		{ SIGSYS, "it made a system call that is forbidden" },
		{ SIGTRAP, "it hit a breakpoint" },
		{ SIGXFSZ, "it made a file too large" },
		{ SIGXCPU, "it used up its CPU time" },
		{ SIGPIPE, "it wrote to a pipe that no process reads" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].signal == signal)
			return rows[i].means;
	return "a process in the jar sent it";
}

static void explain_itself(struct verdict *v, const struct jar_evidence *ev)
{
	const char *name;

	if (v->signal) {
		name = sigabbrev_np(v->signal);
		snprintf(v->error, sizeof(v->error), "the program was ended by signal %d (SIG%s): %s", v->signal, name ? name : "?", signal_means(v->signal));
	}
	(void)ev;
}

static void explain(struct verdict *v, const struct jar_evidence *ev, const struct jar_limits *l)
{
	char size[32];
	double wall = (double)l->wall_ms / 1000, cpu = (double)l->cpu_ms / 1000;

	switch (v->reason) {
	case REASON_WALL_TIME:
		snprintf(v->error, sizeof(v->error), "the program ran for %.3g s, its wall-clock limit", wall);
		if (v->limits_hit & LIMIT_MEMORY)
			snprintf(v->error, sizeof(v->error), "the kernel killed %llu of its processes for memory; the rest waited until "
				 "the wall-clock limit of %.3g s", (unsigned long long)ev->cg.oom_kills, wall);
		snprintf(v->hint, sizeof(v->hint), "raise --timeout (now %.3gs)%s", wall,
			 v->limits_hit & LIMIT_MEMORY ? ", or --memory" : "");
		break;
	case REASON_CPU_TIME:
		snprintf(v->error, sizeof(v->error), "the program used %.2f s of CPU, past its limit of %.3g s",
			 (double)ev->cg.cpu_ns / 1e9, cpu);
		snprintf(v->hint, sizeof(v->hint), "raise --cpu-time (now %.3gs)", cpu);
		break;
	case REASON_MEMORY:
		format_bytes(l->memory_bytes, size, sizeof(size));
		if (ev->cg.oom_kills)
			snprintf(v->error, sizeof(v->error), "the kernel ended the program for going past its memory limit of %s "
				 "(out-of-memory kills: %llu)", size, (unsigned long long)ev->cg.oom_kills);
		else if (ev->file_locks)
			snprintf(v->error, sizeof(v->error), "the program held %llu file locks or more, which take memory of the kernel",
				 (unsigned long long)ev->file_locks);
		else if (ev->open_sockets)
			snprintf(v->error, sizeof(v->error), "the program had %llu sockets and connections, which take memory of the kernel", (unsigned long long)ev->open_sockets);
		else
			snprintf(v->error, sizeof(v->error), "the program's processes together went past the memory limit of %s", size);
		snprintf(v->hint, sizeof(v->hint), "raise --memory (now %s)", size);
		break;
	case REASON_OUTPUT:
		format_bytes(l->log_bytes, size, sizeof(size));
		snprintf(v->error, sizeof(v->error), "the program wrote more than %s to one stream", size);
		snprintf(v->hint, sizeof(v->hint), "raise --output-log (now %s)", size);
		break;
	case REASON_SYSCALL: {
		const char *name = seccomp_syscall_name(ev->syscall.arch, ev->syscall.nr);

		snprintf(v->error, sizeof(v->error), "the program made the forbidden system call %s (number %d, %s)",
			 name ? name : "?", ev->syscall.nr & ~0x40000000, seccomp_arch_name(ev->syscall.arch, ev->syscall.nr));
		snprintf(v->hint, sizeof(v->hint), "no honest program needs it: look at the code before running it anywhere");
		break;
	}
	case REASON_CANCELLED:
		snprintf(v->error, sizeof(v->error), "%s", ev->ended_by == JAR_ENDED_OUTSIDE
			 ? "something on the host killed the jar's init, and the jar with it" : "the run was cancelled");
		break;
	default:
		explain_itself(v, ev);
	}
}

/* A limit that was felt and survived does not change the verdict, but it is said. */
static void explain_felt(struct verdict *v, const struct jar_evidence *ev, const struct jar_limits *l)
{
	char size[32];

	if (v->status != STATUS_COMPLETED || v->hint[0])
		return;
	if (v->limits_hit & LIMIT_MEMORY)
		snprintf(v->hint, sizeof(v->hint), "%llu of its processes were killed for memory: raise --memory",
			 (unsigned long long)ev->cg.oom_kills);
	else if (v->limits_hit & LIMIT_PIDS)
		snprintf(v->hint, sizeof(v->hint), "it could not start more processes or threads: raise --pids (now %llu)",
			 (unsigned long long)l->pids);
	else if (v->limits_hit & LIMIT_DISK) {
		format_bytes(l->disk_bytes, size, sizeof(size));
		snprintf(v->hint, sizeof(v->hint), "its disk was full: raise --disk (now %s)", size);
	} else if (v->limits_hit & LIMIT_SOCKETS) {
		format_bytes(l->memory_bytes, size, sizeof(size));
		snprintf(v->hint, sizeof(v->hint), "it had too many sockets, or too much data in them that was not read: raise --memory (now %s)", size);
	}
}

void verdict_make(struct verdict *v, const struct jar_evidence *ev, const struct jar_limits *l)
{
	memset(v, 0, sizeof(*v));
	v->status = by_ended[ev->ended_by].status;
	v->reason = by_ended[ev->ended_by].reason;
	v->limits_hit = by_ended[ev->ended_by].limit;
	v->exit_status = by_ended[ev->ended_by].exit_status;
	if (ev->cg.oom_kills)
		v->limits_hit |= LIMIT_MEMORY;
	if (ev->cg.pids_limit_hits)
		v->limits_hit |= LIMIT_PIDS;
	if (ev->disk_full)
		v->limits_hit |= LIMIT_DISK;
	if (ev->sockets_refused || ev->socket_memory_full || ev->open_sockets)
		v->limits_hit |= LIMIT_SOCKETS;
	if (ev->ended_by == JAR_ENDED_ITSELF) {
		if (ev->code == CLD_EXITED) {
			v->exited = true;
			v->exit_code = v->exit_status = ev->status;
		} else {
			v->signal = ev->status;
			v->reason = REASON_SIGNAL;
			v->exit_status = 128 + ev->status;
			/* The out-of-memory killer uses SIGKILL, and its counter says that it did. */
			if (ev->status == SIGKILL && ev->cg.oom_kills) {
				v->status = STATUS_KILLED;
				v->reason = REASON_MEMORY;
			}
		}
	} else {
		v->signal = SIGKILL;
	}
	explain(v, ev, l);
	explain_felt(v, ev, l);
}

void verdict_cancelled(struct verdict *v)
{
	memset(v, 0, sizeof(*v));
	v->status = STATUS_KILLED;
	v->reason = REASON_CANCELLED;
	v->exit_status = 128 + SIGKILL;
	snprintf(v->error, sizeof(v->error), "the run was cancelled");
}

void verdict_error(struct verdict *v, const struct err *e)
{
	const struct err_info *i = err_info(e->kind);

	memset(v, 0, sizeof(*v));
	v->status = STATUS_ERROR;
	v->reason = REASON_INTERNAL;
	for (int r = 0; r < REASON_COUNT; r++)
		if (strcmp(i->reason, verdict_reason_name(r)) == 0)
			v->reason = r;
	/* An error is never a success, whatever was forgotten. */
	v->exit_status = i->exit_status ? i->exit_status : 125;
	if (v->reason == REASON_EXITED)
		v->reason = REASON_INTERNAL;
	/* A policy that forbids, and a request that asks for what cannot be, are no steps that failed. */
	if (e->step[0] && e->kind != ERR_DENIED && e->kind != ERR_INPUT)
		snprintf(v->error, sizeof(v->error), "%s: %.*s", e->step, (int)sizeof(v->error) - 40, e->msg);
	else
		snprintf(v->error, sizeof(v->error), "%s", e->msg);
	snprintf(v->hint, sizeof(v->hint), "%s", e->hint);
}
