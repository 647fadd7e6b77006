/* SPDX-License-Identifier: Apache-2.0 */
/* The shelf: a maker of many warm jars. Root of its own intermediate user namespace, unprivileged on the host. */
#ifndef BELLJAR_JAR_SHELF_H
#define BELLJAR_JAR_SHELF_H

#include "jar/export.h"
#include "jar/forker.h"
#include "jar/jar.h"

/*
 * Theory of operation
 *
 * A shelf has slots, numbered from 1; slot 0's ids are its own and its zygote's. What a slot keeps (user, network, uts and cgroup namespace, ids,
 * cgroups) is made by a short-lived child and held by descriptors; each jar adds pid, mount and ipc namespaces of its own. The slot's mount
 * namespace is a template with overlays of its own; a jar's is a copy of that: a dozen mounts and nothing of the host's.
 *
 * Nobody is the shelf's child for long: inits, guests and zygotes are born as the keeper's children (CLONE_PARENT), which sees them all end and
 * dies with none of them left (PR_SET_PDEATHSIG). They talk to the keeper themselves, over sockets it made.
 */

#define SHELF_SLOTS   FORKER_SLOTS
#define SHELF_MODULES 2048
#define SHELF_ZYGOTE_ID 3 /* of slot 0: its zygotes' user and group */

enum shelf_op {
	SHELF_SLOT = 1, /* namespaces of a slot; descriptors: chan, `tasks` v1 cgroups, then the v2 one if `v2`, then the mount for /dev if `devices`. REPORT_READY with SLOT_SPACES of them, at_ns holds enum jar_missing */
	SHELF_CLEAR,	/* forget them */
	SHELF_JAR,	/* a jar; descriptors: init's end of its channel */
	SHELF_EXPORT,	/* artifacts; descriptors: report, the data file system, where to write */
	SHELF_FORKER,	/* a zygote; descriptors: its end of a socket to the keeper, for Python's also its library */
	SHELF_RESTORER, /* of the seats (jar/seat.h); descriptors: its end of a socket to the keeper */
	SHELF_OPS
};

struct shelf_msg {
	uint32_t op, slot;
	uint32_t tasks, v2, devices; /* SHELF_SLOT: which descriptors follow */
	uint32_t python;	 /* SHELF_FORKER: of Python; else of nothing, for programs that are executed */
	uint32_t seats;		 /* SHELF_FORKER: it is to bear seats */
	uint32_t uncounted;	 /* SHELF_FORKER: no memory cgroup counts its guests; never with `seats` */
	uint32_t hash_seed;	 /* SHELF_FORKER: of Python's, the same for all of a keeper's */
	uint64_t disk_bytes;	 /* SHELF_JAR */
	uint32_t recycle;	 /* SHELF_JAR: it may have to prove that it is clean */
	uint32_t inotify;	 /* SHELF_SLOT: instances that its guests may have */
	union {
		struct export_req export;
		char modules[SHELF_MODULES]; /* SHELF_FORKER: what to preload, with commas */
	};
};

/* A zygote speaks forker.h. That of Python says REPORT_ERROR with ERR_INPUT for a module that it cannot preload, and goes on. */

/* Runs in a child of the keeper, see u1.h. Says REPORT_READY or REPORT_ERROR first. */
_Noreturn void shelf_main(int sock, int devices, const struct jar_ids *ids);

extern const struct step shelf_steps[];
extern const size_t shelf_step_count;

#endif
