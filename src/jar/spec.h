/* SPDX-License-Identifier: Apache-2.0 */
/* What a jar is to be, and what it turned out to be: fixed-size records without pointers. */
#ifndef BELLJAR_JAR_SPEC_H
#define BELLJAR_JAR_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/cgroup.h"
#include "kernel/seccomp.h"

#define JAR_BINDS_MAX	24
#define JAR_PATH_MAX	256
#define JAR_GLOBS_MAX	16
#define JAR_ALLOW_MAX	64
#define JAR_ALLOW_NAME	128

enum jar_flag {
	JAR_NET_HOST = 1 << 0, /* the host's network instead of an empty one */
	JAR_NO_WRITE = 1 << 1, /* nothing in the jar is writable */
	JAR_DEGRADED = 1 << 2, /* start although a guard is missing on this host */
	JAR_ALLOW = 1 << 3,    /* only the programs of `allow` can be started */
	JAR_CACHE = 1 << 4,    /* with JAR_ALLOW: the last descriptor is a file where the maker may remember what it found (programs.h) */
	JAR_GRADING = 1 << 5,  /* with what grades in /etc/belljar (root.h) */
	JAR_FLAGS = (1 << 6) - 1,
};

struct jar_limits {
	uint64_t wall_ms, cpu_ms, memory_bytes, cpus_milli, disk_bytes, pids, nofile, output_bytes, log_bytes;
	uint64_t nproc, data_bytes; /* rlimits, chosen by the keeper: they matter where cgroups are missing; 0: none */
};

/* A jar is made once; guests are started in it one after the other. Sources ride along as descriptors,
 * in the order of `binds`; the keeper never sees a path of the host. */
struct jar_spec {
	uint32_t flags;	     /* enum jar_flag */
	uint32_t uid;	     /* the guest's number inside; what it is outside is not the caller's to say */
	uint32_t bind_count;
	uint64_t disk_bytes;
	uint64_t pids;	     /* of the first guest; the keeper sets it to 0 where a cgroup counts them */
	char hostname[65];
	uint32_t layers;     /* bit i: binds[i] is a folder with a writable layer of its own over it */
	uint32_t allow_count;
	/* From here on only what is used is sent: most jars have neither. */
	char binds[JAR_BINDS_MAX][JAR_PATH_MAX]; /* where in the jar */
	char allow[JAR_ALLOW_MAX][JAR_ALLOW_NAME]; /* names, or paths of the jar (allow.h) */
};

/* The bytes of it that say something, for counts in range. */
static inline size_t jar_spec_len(const struct jar_spec *s)
{
	return s->allow_count ? sizeof(*s) : offsetof(struct jar_spec, binds) + s->bind_count * sizeof(s->binds[0]);
}

/* Whether `len` bytes that were received are one whole specification. */
static inline bool jar_spec_whole(const struct jar_spec *s, size_t len)
{
	return len >= offsetof(struct jar_spec, binds) && s->bind_count <= JAR_BINDS_MAX && s->allow_count <= JAR_ALLOW_MAX && len == jar_spec_len(s);
}

static inline bool jar_is_layer(const struct jar_spec *s, uint32_t bind)
{
	return s->layers >> bind & 1;
}

/* Guards that a host may not have. Landlock, the guarded loader and the core limit refuse the run unless JAR_DEGRADED is set. */
enum jar_missing {
	JAR_MISSING_LANDLOCK	  = 1 << 0,
	JAR_MISSING_SCOPE	  = 1 << 1, /* Landlock before ABI 6: no signal and abstract socket scope */
	JAR_MISSING_OVERLAY	  = 1 << 2,
	JAR_MISSING_UID_RANGE	  = 1 << 3, /* guest, init and caller share one host uid */
	JAR_MISSING_MEMORY	  = 1 << 4,
	JAR_MISSING_PIDS	  = 1 << 5,
	JAR_MISSING_CPU		  = 1 << 6,
	JAR_MISSING_GROUPS	  = 1 << 7, /* the caller's supplementary groups cannot be dropped */
	JAR_MISSING_NETNS	  = 1 << 8, /* asked for: network host */
	JAR_MISSING_LOADER	  = 1 << 9, /* with an allow-list: the ELF loader could not be guarded (loader.h) */
	JAR_MISSING_CORE	  = 1 << 10, /* a crash would reach the host's core_pattern helper or socket (dumps.h) */
	JAR_MISSING_DEVICES	  = 1 << 11, /* nodes in /dev are the host's inodes: locks and watches on them are seen by others */
	JAR_MISSING_SOCKETS	  = 1 << 12, /* buffers of TCP sockets have the kernel's own bounds: only the number of sockets is the jar's */
	JAR_MISSING_COUNT	  = 13,
};

extern const char *const jar_missing_names[JAR_MISSING_COUNT];

/* What was really in force, told by the processes that set it up. */
struct jar_facts {
	uint32_t missing;      /* enum jar_missing */
	uint32_t host_uid;     /* the guest's uid outside */
	int32_t landlock_abi;
	int32_t cgroup_version; /* enum cgroup_version */
	uint32_t rootless;
	uint32_t net_host;
	uint32_t warm;	       /* the guest waited in its jar before the request came */
};

/* How a guest ended and what the kernel counted. Everything a verdict is made of. */
struct jar_evidence {
	uint64_t started_ns, ended_ns; /* monotonic: exec succeeded; the main process ended */
	int32_t code, status;	       /* siginfo: CLD_EXITED with the exit code, CLD_KILLED/DUMPED with the signal */
	uint32_t ended_by;	       /* enum jar_ended: who ended it */
	uint64_t rusage_cpu_ns, rusage_maxrss_bytes; /* of the main process: what is left without cgroups */
	struct cgroup_counters cg;     /* since this guest's start */
	uint64_t disk_used_bytes, disk_size_bytes, inodes_free;
	uint32_t disk_full;	       /* the file system was seen full */
	uint32_t sockets, sockets_refused; /* asked for, other than UNIX ones; refused since there were too many (sockets.h) */
	uint32_t socket_memory_full;   /* v1: the kernel's limit for socket buffers was reached */
	uint64_t file_locks, open_sockets; /* so many that the keeper ended it (JAR_ENDED_MEMORY), else 0 */
	uint32_t has_syscall;
	struct seccomp_event syscall;
};

/* Starts that were asked for and not allowed, as far as they were seen (starts.h): evidence for people, not the guard. */
#define JAR_DENIED_MAX	16
#define JAR_DENIED_NAME 124

struct jar_denied {
	uint32_t count;	 /* refused, those of the list included */
	uint32_t unseen; /* starts that nobody looked at: there were too many */
	uint32_t names;
	struct {
		uint32_t count;
		char name[JAR_DENIED_NAME]; /* printable */
	} list[JAR_DENIED_MAX];
};

enum jar_ended {
	JAR_ENDED_ITSELF,
	JAR_ENDED_WALL,
	JAR_ENDED_CPU,
	JAR_ENDED_SYSCALL,
	JAR_ENDED_OUTPUT,    /* the front asked: log cap */
	JAR_ENDED_CANCELLED, /* the front asked: user, client gone */
	JAR_ENDED_MEMORY,    /* polled memory without cgroups */
	JAR_ENDED_OUTSIDE,   /* somebody else on the host killed init */
};

#endif
