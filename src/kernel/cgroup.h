/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups, version 1, version 2 and both at once: limits and the counters behind verdicts. */
#ifndef BELLJAR_KERNEL_CGROUP_H
#define BELLJAR_KERNEL_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * On a hybrid host each controller lives in one hierarchy, v1 or v2, chosen by the host. So every controller is
 * looked up on its own, and one group is a folder in each hierarchy that is in use. Nothing above this file
 * knows which version serves which limit.
 */
enum cgroup_ctl {
	CGROUP_MEMORY,
	CGROUP_CPU,
	CGROUP_CPUACCT, /* part of cpu on v2 */
	CGROUP_PIDS,
	CGROUP_KILL,	/* any v2 folder with cgroup.kill, controllers or not */
	CGROUP_CTLS
};

enum cgroup_version { CGROUP_NONE, CGROUP_V1, CGROUP_V2, CGROUP_HYBRID };

struct cgroup_host {
	struct {
		int parent;   /* our folder in that hierarchy, -1: not to be had */
		uint8_t v2;
		int8_t same;  /* an earlier controller with the same folder, or -1 */
	} ctl[CGROUP_CTLS];
	int version;	      /* enum cgroup_version of what is in use */
	char why[160];	      /* why something is missing, "" when all is there */
};

/*
 * How a guest gets in matters more than anything else here: writing a pid to cgroup.procs takes a global lock whose first taker waits
 * for an RCU grace period (10 ms seen). A process that writes "0" to a v1 `tasks` file moves itself without that lock (from
 * 5.9 on), and on v2 clone3(CLONE_INTO_CGROUP) needs none. So nobody is ever moved: the guest-to-be enters v1 groups itself through
 * descriptors opened by the keeper, and is born in the v2 one.
 */
enum cgroup_counter {
	COUNTER_MEMORY_PEAK,
	COUNTER_MEMORY_HITS,
	COUNTER_OOM_KILLS,
	COUNTER_CPU,
	COUNTER_THROTTLED,
	COUNTER_PIDS_PEAK,
	COUNTER_PIDS_HITS,
	COUNTER_PIDS_NOW,
	CGROUP_COUNTERS
};

struct cgroup {
	int dir[CGROUP_CTLS];	/* -1: not there; a controller that shares a folder has its own fd */
	int tasks[CGROUP_CTLS]; /* v1: `tasks`, open for writing; -1: none */
	int maker;		/* v2: where the maker is born, beside the guests' folder; -1: no v2 */
	int counter[CGROUP_COUNTERS]; /* files opened ahead, -1: not yet */
	int reset;		/* v1: the highest memory use, open for writing, -1: not yet */
	char name[32];
};

struct cgroup_limits {
	uint64_t memory_bytes, pids, cpus_milli;
};

struct cgroup_counters {
	uint64_t memory_peak_bytes, memory_limit_hits, oom_kills;
	uint64_t cpu_ns, throttled_ns;
	uint64_t pids_peak, pids_limit_hits;
	uint64_t memory_now_bytes, pids_now;
	uint32_t have; /* bits 1 << enum cgroup_ctl that were read */
};

/* Looks for every controller and opens (and, where allowed, makes) our parent folder "belljar". Never
 * fails: what is missing is -1 and said in `why`. */
void cgroup_host_open(struct cgroup_host *h);
/* True on a host with v2 alone, by one look. */
bool cgroup_is_unified(void);
bool cgroup_has_v2(const struct cgroup_host *h);
void cgroup_host_close(struct cgroup_host *h);
const char *cgroup_version_name(int version);
const char *cgroup_ctl_name(int ctl);

/* Makes the group `name` in every hierarchy. A leftover of that name is emptied, removed and made anew: the caller
 * holds the lock that makes the name its own. On v2 `owner`, and `group` unless it is -1, may clone processes into it; on v1 processes of the user
 * `enters` can enter through `tasks`. */
int cgroup_make(struct cgroup *out, const struct cgroup_host *h, const char *name, uid_t owner, gid_t group, uid_t enters, struct err *e);
/* The same host as seen from inside group `name`: what is made there is its child on v2, where a process may only clone into groups that have
 * an ancestor in common with its own which it may write to. */
int cgroup_host_inside(struct cgroup_host *out, const struct cgroup_host *h, const char *name, struct err *e);
void cgroup_init(struct cgroup *g);
/* The v2 folder of guests, for CLONE_INTO_CGROUP; -1 when there is none. */
int cgroup_v2_dir(const struct cgroup *g, const struct cgroup_host *h);
int cgroup_limit(const struct cgroup *g, const struct cgroup_host *h, const struct cgroup_limits *l,
		 struct err *e);
/* Enters the v1 groups: the calling process, which must have one thread, moves itself through its `tasks` descriptors. */
int cgroup_enter_v1(const int *tasks, unsigned count, struct err *e);
/* Opens what cgroup_read reads, while nobody waits: at a guest's end everybody does. */
void cgroup_open_counters(struct cgroup *g, const struct cgroup_host *h);
/* Tasks in it, those that are not reaped too; -1: nobody can say. */
int64_t cgroup_pids_now(const struct cgroup *g, const struct cgroup_host *h);
/* Reads what there is; missing files leave zeros. `now`: also what is in use at this moment. */
void cgroup_read(const struct cgroup *g, const struct cgroup_host *h, bool now, struct cgroup_counters *out);
/* Sets the highest memory use back to what is used now; false where the kernel cannot. */
bool cgroup_reset_peaks(const struct cgroup *g, const struct cgroup_host *h);
/* Whether it counts the buffers of TCP sockets: v2 does, v1 where the kernel has memory.kmem.tcp. */
bool cgroup_counts_sockets(const struct cgroup *g, const struct cgroup_host *h);
/* v1: whether socket buffers have reached their limit since they were last asked about. Asking sets the highest use back. */
bool cgroup_sockets_full(const struct cgroup *g, const struct cgroup_host *h, uint64_t memory_bytes);
/* CPU time used so far in nanoseconds; 0 when not known. */
uint64_t cgroup_cpu_ns(const struct cgroup *g, const struct cgroup_host *h);
/* The file that cgroup_cpu_ns() reads, opened by cgroup_open_counters(); -1: there is none. Who has it can read the count and nothing else. */
int cgroup_cpu_file(const struct cgroup *g);
/* Kills everything in the group by the kernel's own means where there are any. */
void cgroup_kill(const struct cgroup *g);
/* Ends and removes what is left of the group `name`; the caller holds its lock. True when there was something. */
bool cgroup_clear(const struct cgroup_host *h, const char *name);
/* Calls `fn` with the name of every slot's group, in use or left behind. A slot comes once for each hierarchy that has a group of it. */
void cgroup_each_slot(const struct cgroup_host *h, void (*fn)(const char *name, void *ctx), void *ctx);
/* Removes the folders, waiting up to `wait_ms` for the last process to be gone. 0, or -1 when one stays. */
int cgroup_remove(struct cgroup *g, const struct cgroup_host *h, unsigned wait_ms);

#endif
