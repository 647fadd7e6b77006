/* SPDX-License-Identifier: Apache-2.0 */
/* Receipts of runs whose results are told later: put down as they come, waited for before anything of them is said. */
#ifndef BELLJAR_RUN_LEDGER_H
#define BELLJAR_RUN_LEDGER_H

#include "base/loop.h"
#include "run/result.h"

struct ledger {
	struct loop *loop;
	struct watch store;	 /* store/writer.h; -1: none */
	enum request_audit mode;
	struct buf to, from, text;
	size_t sent;		 /* of `to` */
	uint64_t put, settled;	 /* receipts that went in, and those that were answered */
	bool ending, failed;
	struct err err;		 /* why one could not be kept */
};

/* What a command brings along for it: the socket of a store (-1: there is none), and how much it matters. */
struct ledger_setup {
	int store;
	enum request_audit mode;
};

void ledger_begin(struct ledger *l, struct loop *loop, const struct ledger_setup *s);
/* A request and what came of it. Its ticket: what depends on it may be told when ledger_settled(). */
uint64_t ledger_put(struct ledger *l, const struct request *req, const struct result *res);
static inline bool ledger_settled(const struct ledger *l, uint64_t ticket)
{
	return l->settled >= ticket;
}
/* True when receipts are required and one could not be kept: nothing more should be begun, and nothing counts. */
bool ledger_refuses(const struct ledger *l);
/* Waits until all are kept and signed. -1 with the reason when that is required and did not happen. */
int ledger_end(struct ledger *l, struct err *e);

#endif
