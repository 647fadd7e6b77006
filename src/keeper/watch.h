/* SPDX-License-Identifier: Apache-2.0 */
/* The watch over one guest: deadlines, counters, and the evidence they come to. */
#ifndef BELLJAR_KEEPER_WATCH_H
#define BELLJAR_KEEPER_WATCH_H

#include <sys/types.h>

#include "jar/spec.h"
#include "keeper/locks.h"

struct watch {
	const struct cgroup *cg;
	const struct cgroup_host *host;
	int data;	  /* the jar's writable file system, -1: not known yet */
	pid_t guest_pid;
	bool started;
	bool seat;	  /* one process of the cgroup is not the guest's (jar/seat.h) */
	bool host_net;	  /* its network is the host's: sockets there are not the guest's alone */
	bool reused;	  /* the cgroup has counted another guest before */
	struct jar_limits limits;
	struct jar_evidence ev;
	struct cgroup_counters base; /* counters when this guest started */
	uint64_t deadline_ns, next_poll_ns, cpu_check_ns;
	bool disk_full, peaks_reset;
	struct locks locks;
	uint64_t polled_memory_peak, polled_pids_peak, polled_cpu_ns;
	uint64_t living_cpu_ns, lost_cpu_ns; /* the last look at /proc; of processes that ended without a wait() */
	int meter;	  /* without a CPU cgroup: where polled_cpu_ns is shown to the front; -1: nobody asked, and it is the cgroup's own */
};

/* Far past anything the front lets through: only what would not fit the arithmetic. */
int watch_check(const struct jar_limits *l, struct err *e);
/* Counters as they are now are not this guest's. `reused`: some were counted already. */
void watch_base(struct watch *w, bool reused);
/* A guest is about to be set up: it has until `setup_ns` from now to start. Chooses the rlimits of w->limits too. */
void watch_begin(struct watch *w, const struct jar_limits *limits, uint64_t setup_ns);
void watch_started(struct watch *w, uint64_t at_ns);
/* Looks at clocks and counters. enum jar_ended: why the guest is to be ended now, else JAR_ENDED_ITSELF (0). */
uint32_t watch_tick(struct watch *w, uint64_t now);
/*
 * A descriptor that shows the CPU time of all processes of the jar, as text in one of two forms (run/meter.h): the cgroup's own file, or, without one, what the
 * last look at /proc has found. The watch keeps it open. `base_ns`: what was counted before this guest. -1: there is none.
 */
int watch_meter(struct watch *w, uint64_t *base_ns);
void watch_close_meter(struct watch *w);
/* The seat is gone while its guest goes on. */
void watch_seat_gone(struct watch *w);
/* When to look again; 0: never. */
uint64_t watch_next(const struct watch *w);
/* The main process has ended: fills w->ev. `how` holds code, status, ended_ns and the resource usage; `ended_by` is what we decided. */
void watch_exited(struct watch *w, const struct jar_evidence *how, uint32_t ended_by);

#endif
