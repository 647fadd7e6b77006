/* SPDX-License-Identifier: Apache-2.0 */
/* The front's end of a keeper that holds a pool (keeper/pool_proto.h): many runs over one socket. */
#ifndef BELLJAR_RUN_POOL_H
#define BELLJAR_RUN_POOL_H

#include "base/loop.h"
#include "keeper/pool_proto.h"
#include "run/link.h"

struct pool_unsent;

struct pool {
	struct loop *loop;
	struct watch sock;
	bool dead;					/* the keeper is gone: nothing can be begun any more */
	void (*notice)(struct pool *p, const struct err *e); /* the keeper's word to the operator */
	struct link *links[POOL_CEILING_MAX + 1];	/* by number; 0 is nobody's */
	/* The keeper may be waiting for us to read: what it does not take at once waits here. Bounded by the runs that there are. */
	struct pool_unsent *first, **last;
};

/* Takes the keeper's socket and opens the pool. */
int pool_init(struct pool *p, struct loop *loop, int sock, const struct pool_open *open,
	      void (*notice)(struct pool *, const struct err *), struct err *e);
void pool_done(struct pool *p);
/* True when a jar of the pool is what this request asks for; all else gets a keeper of its own. */
bool pool_can_serve(const struct request *r);
/* Links a run, whose number nobody else has, to the pool. */
void pool_link(struct pool *p, struct link *l);
/* Asks for a keeper of its own: LINK_SOCKET or LINK_FAILED will come. */
int pool_cold(struct pool *p, struct link *l, struct err *e);
/* Whose run it is, for the keeper: 0 for nobody in particular. */
uint64_t pool_client(const char *name);

#endif
