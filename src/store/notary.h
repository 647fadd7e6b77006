/* SPDX-License-Identifier: Apache-2.0 */
/* What goes over the notary's socket: records of fixed size with 32-byte digests in them, and nothing else. */
#ifndef BELLJAR_STORE_NOTARY_H
#define BELLJAR_STORE_NOTARY_H

#include "store/checkpoint.h"

#define NOTARY_FD	 3    /* its socket */
#define NOTARY_DIR_FD	 4    /* its folder */
#define NOTARY_DIGESTS	 64   /* in one record */
#define NOTARY_WAIT_MS	 5000 /* for another notary of the same folder */
#define NOTARY_DIR	 "notary"
#define NOTARY_KEY	 "key"
#define NOTARY_PUBLIC	 "key.pub"
#define NOTARY_LAST_FILE "checkpoint"

enum notary_op {
	NOTARY_LAST = 1, /* begins: takes the folder's lock, answers with the last checkpoint */
	NOTARY_START,	 /* only when started for it: begin at `seq`, receipt digest[0], head digest[1] instead */
	NOTARY_CHECK,	 /* digest[0] is the receipt at the last checkpoint; answers with that */
	NOTARY_ADD,	 /* `count` digests of the receipts that follow; no answer */
	NOTARY_SIGN,	 /* the chain ends with `seq`, digest[0]: a checkpoint is the answer; ends */
	NOTARY_PRUNE, /* what was begun with START leads to the last checkpoint: a prune record of START's place is the answer; ends */
	NOTARY_LEAVE, /* ends without a signature; no answer */
	NOTARY_VERIFY, /* digest[0] is a public key, at digest[1] begins a checkpoint: OK when it was signed by that key. Only with --verify */
};

struct notary_msg {
	uint32_t op, count;
	uint64_t seq;
	uint8_t digest[NOTARY_DIGESTS][DIGEST_SIZE];
};

enum notary_status { NOTARY_OK, NOTARY_REFUSED, NOTARY_BUSY, NOTARY_FAILED };

struct notary_reply {
	uint32_t status; /* enum notary_status */
	uint32_t unused;
	struct checkpoint checkpoint;
	uint8_t pub[KEY_SIZE];
	char msg[232];
};

#endif
