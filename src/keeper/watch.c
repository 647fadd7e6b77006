/* SPDX-License-Identifier: Apache-2.0 */
/* The watch over one guest: deadlines, counters, and the evidence they come to. */
#include "keeper/watch.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "jar/sockets.h"
#include "keeper/scan.h"

#define POLL_NS (50 * NS_PER_MS)

int watch_check(const struct jar_limits *l, struct err *e)
{
	if (!l->wall_ms || l->wall_ms > 1ULL << 40 || l->cpu_ms > 1ULL << 40 || !l->pids || l->pids > 1U << 22 || !l->memory_bytes ||
	    l->memory_bytes > 1ULL << 60 || l->disk_bytes < 4096 || l->disk_bytes > 1ULL << 60 || !l->cpus_milli || l->cpus_milli > 1U << 30 ||
	    l->nofile < 4 || l->nofile > 1U << 30)
		return err_set(e, ERR_INTERNAL, "a limit is out of range");
	return 0;
}

static void read_counters(const struct watch *w, bool now, struct cgroup_counters *c)
{
	cgroup_read(w->cg, w->host, now, c);
	if (w->seat && c->pids_peak)
		c->pids_peak--;
	if (w->seat && c->pids_now)
		c->pids_now--;
}

void watch_base(struct watch *w, bool reused)
{
	/* Before the first guest every counter is zero. */
	memset(&w->base, 0, sizeof(w->base));
	w->reused = reused;
	if (!reused)
		return;
	read_counters(w, false, &w->base);
	w->peaks_reset = cgroup_reset_peaks(w->cg, w->host);
}

void watch_begin(struct watch *w, const struct jar_limits *limits, uint64_t setup_ns)
{
	w->limits = *limits;
	/* Where cgroups count, rlimits stay out of their way, so that the kernel's counters tell what was hit. */
	w->limits.nproc = w->cg->dir[CGROUP_PIDS] >= 0 ? limits->pids * 2 + 64 : limits->pids;
	w->limits.data_bytes = w->cg->dir[CGROUP_MEMORY] >= 0 ? 0 : limits->memory_bytes;
	memset(&w->ev, 0, sizeof(w->ev));
	w->started = w->disk_full = false;
	w->locks = (struct locks){ 0 };
	w->polled_cpu_ns = w->living_cpu_ns = w->lost_cpu_ns = w->polled_pids_peak = w->polled_memory_peak = 0;
	w->deadline_ns = clock_mono_ns() + setup_ns;
}

void watch_started(struct watch *w, uint64_t at_ns)
{
	w->started = true;
	w->ev.started_ns = at_ns;
	w->deadline_ns = at_ns + w->limits.wall_ms * NS_PER_MS;
	w->next_poll_ns = at_ns + POLL_NS;
	w->cpu_check_ns = w->limits.cpu_ms ? at_ns : 0;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void max_of(uint64_t *peak, uint64_t value)
{
	if (value > *peak)
		*peak = value;
}

static void look_at_disk(struct watch *w)
{
	struct statfs s;

	if (w->data < 0 || fstatfs(w->data, &s) < 0)
		return;
	w->ev.disk_size_bytes = (uint64_t)s.f_blocks * (uint64_t)s.f_bsize;
	w->ev.disk_used_bytes = (uint64_t)(s.f_blocks - s.f_bfree) * (uint64_t)s.f_bsize;
	w->ev.inodes_free = s.f_ffree;
	if (s.f_bfree == 0 || s.f_ffree == 0)
		w->disk_full = true;
}

static uint32_t look_at_cpu(struct watch *w, uint64_t now)
{
	uint64_t used, limit = w->limits.cpu_ms * NS_PER_MS, wait;

	if (!w->cpu_check_ns || now < w->cpu_check_ns)
		return JAR_ENDED_ITSELF;
	used = w->cg->dir[CGROUP_CPUACCT] >= 0 ? minus(cgroup_cpu_ns(w->cg, w->host), w->base.cpu_ns) : w->polled_cpu_ns;
	if (used >= limit)
		return JAR_ENDED_CPU;
	/* Not before the rest could be used up at full speed, and not more often than each 2 ms. */
	wait = (limit - used) * 1000 / (w->limits.cpus_milli > 1000 ? w->limits.cpus_milli : 1000);
	w->cpu_check_ns = now + (wait < 2 * NS_PER_MS ? 2 * NS_PER_MS : wait);
	return JAR_ENDED_ITSELF;
}

/* One size: who reads while it is written sees a number in any case. */
static void show_cpu(struct watch *w)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%020llu\n", (unsigned long long)w->polled_cpu_ns);

	if (w->meter >= 0)
		(void)!pwrite(w->meter, text, (size_t)n, 0);
}

/*
 * A process whose parent ignores SIGCHLD takes its CPU time with it: the sum over the living gets smaller, and the difference is kept. The sum also gets
 * smaller for a moment when a child is waited for between the look at its parent and the look at itself. So only what a second look confirms is kept.
 */
static void count_cpu(struct watch *w, struct scan *seen)
{
	struct scan again;

	if (seen->cpu_ns < w->living_cpu_ns) {
		scan_jar(w->guest_pid, &again);
		max_of(&seen->cpu_ns, again.cpu_ns);
		w->lost_cpu_ns += minus(w->living_cpu_ns, seen->cpu_ns);
	}
	w->living_cpu_ns = seen->cpu_ns;
	max_of(&w->polled_cpu_ns, w->living_cpu_ns + w->lost_cpu_ns);
}

/* Highest values seen; where there is no memory cgroup, the limit itself (DESIGN section 6: polling). */
static uint32_t look_at_tree(struct watch *w)
{
	struct cgroup_counters c;
	struct scan seen;

	if (w->cg->dir[CGROUP_MEMORY] >= 0 && w->cg->dir[CGROUP_CPUACCT] >= 0) {
		if (w->reused) {
			read_counters(w, true, &c);
			max_of(&w->polled_memory_peak, c.memory_now_bytes);
			max_of(&w->polled_pids_peak, c.pids_now);
		}
		return JAR_ENDED_ITSELF;
	}
	scan_jar(w->guest_pid, &seen);
	count_cpu(w, &seen);
	/* What is in the jar's files is memory too. */
	max_of(&w->polled_memory_peak, seen.memory_bytes + w->ev.disk_used_bytes);
	max_of(&w->polled_pids_peak, seen.processes);
	show_cpu(w);
	return w->cg->dir[CGROUP_MEMORY] < 0 && w->polled_memory_peak > w->limits.memory_bytes ? JAR_ENDED_MEMORY : JAR_ENDED_ITSELF;
}

static uint32_t look_at_locks(struct watch *w, uint64_t now)
{
	if (!w->ev.file_locks)
		w->ev.file_locks = locks_too_many(&w->locks, w->guest_pid, w->limits.memory_bytes, now);
	return w->ev.file_locks ? JAR_ENDED_MEMORY : JAR_ENDED_ITSELF;
}

static uint32_t look_at_sockets(struct watch *w)
{
	if (!w->ev.open_sockets && !w->host_net)
		w->ev.open_sockets = sockets_too_many(w->guest_pid, w->limits.memory_bytes);
	return w->ev.open_sockets ? JAR_ENDED_MEMORY : JAR_ENDED_ITSELF;
}

int watch_meter(struct watch *w, uint64_t *base_ns)
{
	int file = cgroup_cpu_file(w->cg);

	*base_ns = w->base.cpu_ns;
	if (file >= 0 || w->cg->dir[CGROUP_CPUACCT] >= 0)
		return file;
	*base_ns = 0;
	if (w->meter < 0)
		w->meter = memfd_create("belljar-cpu", MFD_CLOEXEC);
	show_cpu(w);
	return w->meter;
}

void watch_close_meter(struct watch *w)
{
	fd_close(&w->meter);
}

uint32_t watch_tick(struct watch *w, uint64_t now)
{
	uint32_t why;

	if (!w->started)
		return JAR_ENDED_ITSELF;
	if (now >= w->deadline_ns) {
		w->deadline_ns = now + NS_PER_S;
		return JAR_ENDED_WALL;
	}
	why = look_at_cpu(w, now);
	if (why || now < w->next_poll_ns)
		return why;
	look_at_disk(w);
	why = look_at_tree(w);
	if (!why)
		why = look_at_locks(w, now);
	if (!why)
		why = look_at_sockets(w);
	w->next_poll_ns = clock_mono_ns() + POLL_NS;
	return why;
}

void watch_seat_gone(struct watch *w)
{
	struct cgroup_counters c;

	if (!w->seat)
		return;
	/* Until now one of those that were counted was not the guest's. */
	cgroup_read(w->cg, w->host, false, &c);
	w->seat = false;
	w->base.pids_peak = c.pids_peak;
	max_of(&w->polled_pids_peak, minus(c.pids_peak, 1));
}

uint64_t watch_next(const struct watch *w)
{
	uint64_t next = w->deadline_ns;

	if (!w->started)
		return next;
	if (w->next_poll_ns < next)
		next = w->next_poll_ns;
	if (w->cpu_check_ns && w->cpu_check_ns < next)
		next = w->cpu_check_ns;
	return next;
}

void watch_exited(struct watch *w, const struct jar_evidence *how, uint32_t ended_by)
{
	struct cgroup_counters c;

	/* Counters first, while they are about this guest alone. */
	read_counters(w, w->reused && !w->peaks_reset, &c);
	look_at_disk(w);
	w->ev.ended_by = ended_by;
	w->ev.ended_ns = how->ended_ns;
	w->ev.code = how->code;
	w->ev.status = how->status;
	w->ev.rusage_cpu_ns = how->rusage_cpu_ns;
	w->ev.rusage_maxrss_bytes = how->rusage_maxrss_bytes;
	w->ev.sockets += how->sockets;
	w->ev.sockets_refused += how->sockets_refused;
	w->ev.socket_memory_full = w->ev.sockets && cgroup_sockets_full(w->cg, w->host, w->limits.memory_bytes);
	/* It may have ended by itself in the moment before our SIGKILL reached it. */
	if (ended_by != JAR_ENDED_ITSELF && !(how->code == CLD_KILLED && how->status == SIGKILL))
		w->ev.ended_by = JAR_ENDED_ITSELF;
	c.cpu_ns = minus(c.cpu_ns, w->base.cpu_ns);
	c.throttled_ns = minus(c.throttled_ns, w->base.throttled_ns);
	c.oom_kills = minus(c.oom_kills, w->base.oom_kills);
	c.memory_limit_hits = minus(c.memory_limit_hits, w->base.memory_limit_hits);
	c.pids_limit_hits = minus(c.pids_limit_hits, w->base.pids_limit_hits);
	if (w->reused) {
		/* Of the highest values only v1's memory can be set back. Another one that has grown is this guest's; else what was seen while it ran
		 * is what is known. */
		if (c.pids_peak <= w->base.pids_peak)
			c.pids_peak = w->polled_pids_peak > c.pids_now ? w->polled_pids_peak : c.pids_now ? c.pids_now : 1;
		if (!w->peaks_reset && c.memory_peak_bytes <= w->base.memory_peak_bytes)
			c.memory_peak_bytes = w->polled_memory_peak > c.memory_now_bytes ? w->polled_memory_peak : c.memory_now_bytes;
	}
	if (!(c.have & 1U << CGROUP_CPUACCT))
		c.cpu_ns = w->polled_cpu_ns > w->ev.rusage_cpu_ns ? w->polled_cpu_ns : w->ev.rusage_cpu_ns;
	if (!(c.have & 1U << CGROUP_MEMORY)) {
		c.memory_peak_bytes = w->polled_memory_peak;
		c.pids_peak = w->polled_pids_peak;
	}
	w->ev.cg = c;
	w->ev.disk_full = w->disk_full;
}
