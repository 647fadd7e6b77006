/* SPDX-License-Identifier: Apache-2.0 */
/* What the front may ask of a keeper that holds a pool (`belljar-keeper --pool`): fixed-size records and descriptors, as in proto.h, for many
 * runs at once. */
#ifndef BELLJAR_KEEPER_POOL_PROTO_H
#define BELLJAR_KEEPER_POOL_PROTO_H

#include "jar/export.h"
#include "jar/spec.h"

#define POOL_PRELOAD_MAX  32
#define POOL_MODULE_MAX	  64
#define POOL_CEILING_MAX  256 /* jars at once */

enum pool_op_id {
	POOL_OPEN = 1, /* the first record: sizes and what to preload */
	POOL_RUN,      /* a guest in a fresh jar of the pool; descriptors: stdin, stdout, stderr, feed */
	POOL_NEXT,     /* another one in the jar of a run that was kept, after all that the first left is dead; the same descriptors */
	POOL_KILL,     /* end the guest and say why it was ended; before it started too */
	POOL_SIGNAL,   /* pass a signal to the guest's main process */
	POOL_END,      /* end a kept jar; POOL_ENDED when all in it is dead */
	POOL_EXPORT,   /* artifacts of an ended jar; descriptor: a pipe */
	POOL_DONE,     /* a kept jar is not needed any more */
	POOL_COLD,     /* a keeper of its own for a run that the pool cannot serve: POOL_SOCKET brings its socket, which speaks proto.h */
	POOL_OPS
};

/* What waits in a jar. */
enum pool_kind {
	POOL_EXEC,   /* nothing but us: executes whatever the feed says */
	POOL_PYTHON, /* a child of the zygote */
	POOL_NODE,   /* node, started, waiting for its feed */
	POOL_KINDS
};

struct pool_open {
	uint32_t op;
	uint32_t floor, ceiling; /* jars kept ready at least; jars at most */
	uint32_t zygotes;	 /* 0: as many as fit this machine */
	uint64_t disk_bytes;	 /* of jars made ahead */
	uint32_t recycle;	 /* a jar that is proven clean, and Python's memory put back to what it was (jar/seat.h), serve the same client again */
	uint32_t preload_count;
	char preload[POOL_PRELOAD_MAX][POOL_MODULE_MAX]; /* modules: dotted names */
};

enum pool_flag {
	POOL_KEEP = 1 << 0, /* the jar stays when the main process has ended: POOL_NEXT, POOL_END, POOL_EXPORT, at last POOL_DONE */
	POOL_METER = 1 << 1, /* tell POOL_METERED when the guest is sent off */
	POOL_FLAGS = (1 << 2) - 1,
};

/* `run` is the front's number for a run: it comes back in every event about it. A number is free again after POOL_EXITED or POOL_FAILED of a run
 * that is not kept, and after POOL_DONE. */
struct pool_run {
	uint32_t op, run;
	uint32_t kind, flags;
	uint64_t client; /* whose it is: no jar, and no namespace, ever serves two of them */
	struct jar_limits limits;
};

struct pool_next {
	uint32_t op, run;
	struct jar_limits limits;
};

struct pool_kill {
	uint32_t op, run;
	uint32_t why; /* JAR_ENDED_OUTPUT or JAR_ENDED_CANCELLED */
};

struct pool_signal {
	uint32_t op, run;
	uint32_t signal;
};

struct pool_plain {
	uint32_t op, run; /* POOL_END, POOL_DONE, POOL_COLD */
};

struct pool_export {
	uint32_t op, run;
	struct export_req req;
};

enum pool_event_type {
	POOL_EXITED = 1, /* facts, evidence */
	POOL_FAILED,	 /* err (facts too when there was a jar): nothing of the guest ran. ERR_BUSY: no jar is to be had */
	POOL_REFUSED,	 /* nothing happened, nothing of the feed was read: the pool cannot serve this run, POOL_COLD can */
	POOL_ENDED,
	POOL_EXPORTED,
	POOL_SOCKET,	 /* descriptor: the socket of a keeper of one jar */
	POOL_STREAMS,	 /* of POOL_NODE: the guest has had its streams since it was started. Descriptors, in place of the front's own ends: to stdin, from
			  * stdout, from stderr, to the feed, which is to be written from its beginning */
	POOL_METERED,	 /* evidence.cg.cpu_ns: the CPU count before the guest; descriptor: where it can be read (run/meter.h) */
	POOL_NOTICE,	 /* err: for the operator, about the pool (run is 0): a zygote that could not be started */
};

struct pool_event {
	uint32_t type, run;
	uint32_t have_facts;
	struct jar_facts facts;
	union {
		struct jar_evidence evidence;
		struct err err;
	};
};

#endif
