/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying a chain: what was edited, removed, put in another order, inserted or cut off, and which receipts. */
#ifndef BELLJAR_STORE_VERIFY_H
#define BELLJAR_STORE_VERIFY_H

#include "store/checkpoint.h"
#include "store/receipt.h"

#define VERIFY_KEYS 16

enum verify_kind {
	VERIFY_EDITED,	  /* a body, or a column beside it, is not what it was */
	VERIFY_REMOVED,	  /* receipts are missing */
	VERIFY_REORDERED, /* a receipt stands in another's place */
	VERIFY_INSERTED,  /* a receipt that was never in the chain */
	VERIFY_TRUNCATED, /* the end is missing */
	VERIFY_REWRITTEN, /* sound in itself, but not what was signed */
	VERIFY_SIGNATURE, /* a checkpoint that its key has not signed */
	VERIFY_KEY,	  /* a checkpoint of a key that is not known */
	VERIFY_CODE,	  /* kept code is missing or damaged */
	VERIFY_NOTARY,	  /* the notary's own folder is damaged */
	VERIFY_KINDS
};

extern const char *const verify_kind_names[VERIFY_KINDS];

struct verify_finding {
	enum verify_kind kind;
	uint64_t seq;	/* of the receipt, 0: of none */
	const char *id; /* its id, NULL: not known */
	char text[384];
};

/* A receipt as it stands in the database or in an export. `columns` is NULL where there are none. */
struct verify_row {
	uint64_t seq;
	const char *body;
	size_t len;
	uint8_t hash[DIGEST_SIZE];
	const struct receipt_body *columns;
};

struct verify_checkpoint {
	struct checkpoint c;
	const char *where; /* "the database", "the notary", "the anchor" */
};

struct verify {
	/* the caller's: before anything else */
	uint8_t keys[VERIFY_KEYS][KEY_SIZE];
	size_t key_count;
	int (*check)(void *ctx, const struct checkpoint *c, const uint8_t pub[KEY_SIZE], struct err *e); /* 0 signed, 1 not, -1 */
	void (*found)(void *ctx, const struct verify_finding *f);
	void *ctx;
	/* what came of it */
	uint64_t receipts, digests, findings;
	uint64_t first, last; /* seq */
	uint64_t signed_seq;  /* covered by a good checkpoint */
	int64_t signed_ms;
	size_t checkpoints;
	struct checkpoint pruned; /* seq 0: nothing was */
	bool clock_went_back;	  /* between two checkpoints */
	/* inside */
	struct verify_checkpoint *list;
	size_t cap, next;
	bool begun, rewritten;
	bool gap;	/* somewhere before: the head leads nowhere any more */
	bool after_gap; /* just before */
	uint64_t seq;
	uint8_t head[DIGEST_SIZE], hash[DIGEST_SIZE], hash_before[DIGEST_SIZE];
	bool moved;    /* the last one stood in another's place */
	int64_t shift; /* by which seq and place differ since an insertion or removal */
	struct {
		bool is;
		uint64_t place, seq;
		char id[RECEIPT_ID_MAX];
	} odd;
	char last_id[RECEIPT_ID_MAX];
	struct arena arena;
};

/* Every checkpoint and prune record, before the first receipt. -1 only for errors of our own. */
int verify_add(struct verify *v, const struct checkpoint *c, const char *where, struct err *e);
/* Receipts in the order of their places. A digest is a receipt that is not shown. */
int verify_receipt(struct verify *v, const struct verify_row *row, struct err *e);
int verify_digest(struct verify *v, uint64_t seq, const uint8_t hash[DIGEST_SIZE], struct err *e);
int verify_end(struct verify *v, struct err *e);
void verify_done(struct verify *v);
/* A finding of the caller's own. */
void verify_tell(struct verify *v, enum verify_kind kind, uint64_t seq, const char *id, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

#endif
