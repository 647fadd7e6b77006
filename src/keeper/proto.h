/* SPDX-License-Identifier: Apache-2.0 */
/* What the front may ask of the keeper: fixed-size records and descriptors, never a path, never text to parse. */
#ifndef BELLJAR_KEEPER_PROTO_H
#define BELLJAR_KEEPER_PROTO_H

#include "jar/export.h"
#include "jar/spec.h"

#define KEEPER_FD 3 /* the keeper finds its socket here */

enum keeper_op_id {
	KEEPER_MAKE = 1, /* a jar; descriptors: one source for each bind, with JAR_CACHE one more */
	KEEPER_START,	 /* a guest in it; descriptors: stdin, stdout, stderr, feed */
	KEEPER_KILL,	 /* end the guest and say why it was ended */
	KEEPER_SIGNAL,	 /* pass a signal to the guest's main process */
	KEEPER_SCRUB,	 /* between two guests of one jar: end all that the first left */
	KEEPER_END,	 /* end the jar, wait until all in it is dead */
	KEEPER_EXPORT,	 /* artifacts of a dead jar; descriptor: a pipe */
	KEEPER_OPS
};

/* Sent as far as the specification says something (jar_spec_len). */
struct keeper_make {
	uint32_t op;
	struct jar_spec spec;
};

struct keeper_start {
	uint32_t op;
	uint32_t last; /* end the jar as soon as the main process ended */
	uint32_t meter; /* tell KEEPER_METER */
	struct jar_limits limits;
};

struct keeper_kill {
	uint32_t op;
	uint32_t why; /* JAR_ENDED_OUTPUT or JAR_ENDED_CANCELLED */
};

struct keeper_signal {
	uint32_t op;
	uint32_t signal;
};

struct keeper_plain {
	uint32_t op;
};

struct keeper_export {
	uint32_t op;
	struct export_req req;
};

enum keeper_event_type {
	KEEPER_MADE = 1, /* facts: together with whatever comes next, so that nobody is woken for it alone */
	KEEPER_DENIED,	 /* denied: before KEEPER_EXITED, when there are any */
	KEEPER_EXITED,	 /* evidence */
	KEEPER_SCRUBBED,
	KEEPER_ENDED,
	KEEPER_EXPORTED,
	KEEPER_FAILED,	 /* err: what was asked for did not happen */
	KEEPER_METER,	 /* evidence.cg.cpu_ns: the CPU count before the guest; descriptor: where it can be read (run/meter.h) */
};

struct keeper_event {
	uint32_t type;
	union {
		struct jar_facts facts;
		struct jar_evidence evidence;
		struct jar_denied denied;
		struct err err;
	};
};

#endif
