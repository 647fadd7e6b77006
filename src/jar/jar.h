/* SPDX-License-Identifier: Apache-2.0 */
/* One jar as its maker sees it: the trusted init inside, and the guest that enters. */
#ifndef BELLJAR_JAR_JAR_H
#define BELLJAR_JAR_JAR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "jar/allow.h"
#include "jar/feed.h"
#include "jar/spec.h"
#include "jar/step.h"

/*
 * Theory of operation
 *
 *   host user namespace         keeper          cgroups, id ranges, deadlines; never touches a jar's files
 *   intermediate namespace U1   maker           root of U1 = an unprivileged host uid. Owns every mount, network, pid
 *                                               and ipc namespace of its jars
 *   guest namespace U2 (in U1)  init, guest     own nothing: U2 owns no other namespace, so even a guest with all
 *                                               capabilities in U2 could not mount, configure or trace anything
 *
 * init is pid 1: it builds the jar's mounts with U1's rights, then enters U2, whose maps the maker wrote, takes an id of its own in it,
 * keeps CAP_KILL and waits. When its control pipe ends, or anything kills it, the kernel ends every process of the jar.
 *
 * A guest is a child of the maker that is born in the jar's pid namespace (and v2 cgroup), enters the v1 cgroups, and
 * enters the jar's namespaces. It gives everything away, then reads the request's bytes (feed.h), then executes.
 */

/* Ids in U1. Where only one id could be had, all three are 0. */
struct jar_ids {
	uid_t init, guest;
	bool single;
	bool shared_quota; /* rootless: the kernel charges all jars of a user to that user */
};

/* What init and guests inherit from the maker by fork. */
struct jar {
	struct jar_spec spec;
	struct jar_ids ids;
	struct jar_limits limits; /* of the guest being started */
	uint32_t missing;	  /* of the maker's own set-up */
	int landlock_abi;
	bool early;		  /* init is born before the request (order.h) */
	int root;		  /* template, in the maker's mount namespace; in init, in its own */
	const char *root_path;	  /* where it is attached in both */
	int data;		  /* writable file system */
	int net, user;		  /* its network namespace (-1: the host's) and U2, for init to enter */
	int binds[JAR_BINDS_MAX]; /* sources; descriptors of mounts */
	struct allow *allow;	  /* what can be started; NULL: whatever is there */
	int init_pidfd;
	pid_t init_pid;
	int control;		  /* maker's end, SOCK_SEQPACKET: init lives as long as it is open */
	int init_report;	  /* init says struct jar_report here */
	int gate[2];		  /* a guest waits here; what comes are the jar's namespaces */
	int tasks[CGROUP_CTLS];	  /* v1 cgroups for the guest to enter */
	unsigned task_count;
};

/* On the gate: the jar's namespaces can be entered; init has given everything away, so that foreign bytes may come. */
enum { GATE_READY = 'r', GATE_DONE = 'd', CONTROL_SCRUB = 's' };

/* The namespaces that a guest enters, as init hands them over: through its pidfd one would need the right to trace it, and init is
 * undumpable. The user namespace comes last: after it nothing else can be entered. */
enum { SPACE_MNT, SPACE_IPC, SPACE_UTS, SPACE_NET, SPACE_USER, SPACES };

enum jar_report_type {
	REPORT_READY = 1, REPORT_ERROR, REPORT_LISTENER, REPORT_EXEC, REPORT_SCRUBBED,
	REPORT_WAITING, /* a warm guest has given everything away and waits */
	REPORT_COLD,	/* this request needs an interpreter of its own: nothing of it ran */
};

/* Said by init or a guest-to-be to the maker; on an error nothing follows. Warm jars say it to the keeper. `err` is left out where there is none (but not by
 * init). */
struct jar_report {
	uint32_t type;
	uint64_t at_ns; /* REPORT_EXEC: when; REPORT_READY of a warm jar: bits 1 << OWN_..., which descriptors came */
	struct err err;
};
#define REPORT_SHORT offsetof(struct jar_report, err)

/*
 * The jar's Landlock ruleset, with the rules of what every jar has; -1 on failure. Rules go by what is there, not by how it is reached: so they can be made
 * with the template and the data file system, before there is a jar. `data` is -1 where `root` shows its folders.
 */
int jar_landlock(const struct jar *j, int root, int data, struct err *e);
/* Adds the rule of the message queues that `root` shows: they are the ipc namespace's, so no template has them. */
int jar_landlock_queues(const struct jar *j, int root, int set, struct err *e);
/* Adds the rules of what this one has besides, from inside it. */
int jar_landlock_own(const struct jar *j, int set, struct err *e);
/* The number init has inside U2. */
uint32_t jar_init_uid(uint32_t guest_uid);

/* pid 1 of a jar, right after clone. `control` and `report` are its ends. Never returns. */
_Noreturn void init_main(struct jar *j, int control, int report);
/* A guest, right after clone in the jar's pid namespace. Never returns. */
_Noreturn void enter_main(struct jar *j, int report, const int stdio[3], int feed);

/*
 * Warm jars: made before anybody asks for them, by a maker that makes many (shelf.h). What a slot keeps from jar to jar, and what each jar has of
 * its own, as descriptors.
 */
enum { SLOT_NET, SLOT_UTS, SLOT_CGROUP, SLOT_USER, SLOT_SPACES };
enum { OWN_PID, OWN_MNT, OWN_IPC, OWN_LANDLOCK, OWN_QUEUES, OWN_SPACES };

struct warm_jar {
	int slot[SLOT_SPACES];
	int own[OWN_SPACES];
};

/* pid 1 of a warm jar. `chan` is its end of a socket to the keeper, who gets the descriptor of the data file system and those of OWN_SPACES that
 * there are. */
struct warm_birth {
	const int *slot;      /* SLOT_SPACES descriptors */
	int template;	      /* the mount namespace that the jar's is a copy of */
	bool queues;	      /* it may be recycled: OWN_QUEUES is wanted */
	int chan;
};
_Noreturn void init_warm_main(struct jar *j, const struct warm_birth *b);

struct warm_guest {
	int report;	      /* its end of a socket to the keeper */
	struct warm_jar jar;
	bool recycled;	      /* a guest was here before: prove that nothing of it is left */
	const int *places;    /* it was born by a seat (seat.h), which has given everything away: the jar's writable folders, open. NULL: by a zygote */
	bool interpreter;     /* signals are the interpreter's, nothing is executed */
	void (*settle)(void); /* interpreter: what a fork leaves it to do, when everything is dropped */
	bool (*serves)(const struct feed_plan *plan); /* interpreter: whether this request can be served warm, now that its files are there */
};

/* What the keeper says to a waiting guest; descriptors: stdin, stdout, stderr, feed, and, where the program itself is to wait for the request,
 * what it is to find as descriptor 3. */
struct warm_go {
	struct jar_limits limits;
};

/* A guest that waits. Right after clone in the jar's pid namespace. Returns only in an interpreter's child, when its request is read. */
void enter_warm(struct jar *j, const struct warm_guest *g, struct feed_plan *plan);

/* A seat: it becomes what its guests will be, and keeps its descriptors of seat.h alone. -1: it is of no use. */
int enter_seat(struct jar *j, const struct warm_guest *g, struct err *e);

/* The tables of steps, for the test that makes each fail. */
extern const struct step init_steps[], fence_init_steps[], enter_steps[], warm_init_steps[], warm_enter_steps[], warm_wait_steps[], seat_steps[], seat_enter_steps[];
extern const size_t init_step_count, fence_init_step_count, enter_step_count, warm_init_step_count, warm_enter_step_count, warm_wait_step_count, seat_step_count, seat_enter_step_count;

#endif
