/* SPDX-License-Identifier: Apache-2.0 */
/* From a request and its result to the receipt of both. */
#ifndef BELLJAR_RUN_ACCOUNT_H
#define BELLJAR_RUN_ACCOUNT_H

#include "run/result.h"
#include "store/receipt.h"

/* What the gate before the run had to say. One function of account.c fills it from request and result. */
struct account_gate {
	const char *policy;	     /* off, warn, enforce; NULL: there was no check */
	const struct strlist *rules; /* names of rule sets; NULL: none */
	const struct strlist *allow; /* programs that may start; NULL: all of them */
	bool checked;		     /* the next two are known */
	uint64_t violations;
	uint8_t violations_hash[DIGEST_SIZE]; /* of the list as it stands in the result */
};

/* Fills `out`; its texts stand in `text` (emptied first) and in the request. */
int account_receipt(struct receipt *out, const struct request *req, const struct result *res, struct buf *text);

#endif
