/* SPDX-License-Identifier: Apache-2.0 */
/* The front's end of one run's jar: a keeper of its own (keeper/proto.h), or a place in a keeper's pool (keeper/pool_proto.h). */
#ifndef BELLJAR_RUN_LINK_H
#define BELLJAR_RUN_LINK_H

#include "base/loop.h"
#include "jar/export.h"
#include "jar/spec.h"
#include "run/request.h"

enum link_event_type {
	LINK_MADE,     /* facts */
	LINK_DENIED,   /* denied: before LINK_EXITED, when there are any */
	LINK_EXITED,   /* evidence; facts where LINK_MADE did not bring them */
	LINK_SCRUBBED, /* nothing of the guest before is left */
	LINK_ENDED,    /* all in the jar is dead */
	LINK_EXPORTED,
	LINK_FAILED,   /* err, perhaps facts */
	LINK_REFUSED,  /* a pool cannot serve this run; nothing happened */
	LINK_STREAMS,  /* `fds`: the guest's streams and feed are these, the receiver's from now on */
	LINK_METER,    /* `fd`: shows the jar's CPU time (run/meter.h), the receiver's from now on; evidence: the count before the guest */
	LINK_SOCKET,   /* what pool_cold() asked for: `fd` is a keeper's socket, the receiver's from now on */
};

struct link_event {
	enum link_event_type type;
	const struct jar_facts *facts; /* NULL: none */
	const struct jar_evidence *evidence;
	const struct jar_denied *denied;
	const struct err *err;
	int fd;
	const int *fds;
};

struct link;

/* Each asks; the answer comes as an event. Descriptors that are handed over are closed, whatever happens. */
struct link_ops {
	/* The jar itself: `keep` when more than one guest, or files, will be asked of it. */
	int (*make)(struct link *l, const struct request *req, bool keep, struct err *e);
	/* A guest; descriptors: stdin, stdout, stderr, feed. `last`: no other follows. */
	int (*start)(struct link *l, const struct jar_limits *limits, bool last, const int fds[4], struct err *e);
	void (*kill)(struct link *l, uint32_t why);
	void (*signal)(struct link *l, int signal);
	/* 0: wait for LINK_SCRUBBED; 1: it is done by the next start. */
	int (*scrub)(struct link *l, struct err *e);
	int (*end)(struct link *l, struct err *e);
	int (*export)(struct link *l, const struct export_req *req, int out, struct err *e);
	/* Nothing more is wanted. No event comes after this. */
	void (*done)(struct link *l);
};

struct link {
	const struct link_ops *ops; /* NULL: not linked */
	struct loop *loop;
	void (*event)(struct link *l, const struct link_event *ev);
	struct watch sock; /* of a keeper of its own */
	/* a place in a pool */
	struct pool *pool;
	uint32_t number, kind;
	bool keep, started;
	bool meter; /* LINK_METER is wanted */
	uint64_t client;
};

/* Links to a keeper that serves this run alone; the socket is closed at the end. */
int link_direct(struct link *l, int sock, struct err *e);
/* The descriptors that ride along with a request: closed when it is sent, or could not be. */
void link_close_fds(const int *fds, unsigned count);

#endif
