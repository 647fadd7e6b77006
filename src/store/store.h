/* SPDX-License-Identifier: Apache-2.0 */
/* The database of receipts: one chain, appended to by any number of processes, durable when it says so. */
#ifndef BELLJAR_STORE_STORE_H
#define BELLJAR_STORE_STORE_H

#include <sqlite3.h>

#include "store/checkpoint.h"
#include "store/receipt.h"

#define STORE_FILE     "receipts.db"
#define STORE_CODE_MAX (1ULL << 30)

enum store_statement {
	STORE_LAST,
	STORE_ADD,
	STORE_HAS_CODE,
	STORE_FORGET_CODE,
	STORE_ADD_CODE,
	STORE_HASH_AT,
	STORE_HASHES,
	STORE_ADD_CHECKPOINT,
	STORE_LAST_CHECKPOINT,
	STORE_LAST_PRUNE,
	STORE_STATEMENTS
};

struct store {
	sqlite3 *db;
	sqlite3_stmt *st[STORE_STATEMENTS]; /* made when first used */
	void *zstd;
	int busy_ms;
	int wal_pages;	 /* in the log after the last commit */
	uint64_t code_added; /* bytes of code since store_trim_code() */
	int dir;	 /* the state folder, to ask for its room */
	struct buf body; /* of the receipt at hand */
	char path[512];
};

/* Opens `dir`/receipts.db for reading and writing; with `create` it is made when missing (0600). Who finds it locked waits `busy_ms`. */
int store_open(struct store *s, const char *dir, bool create, int busy_ms, struct err *e);
/* True when there is a database in `dir` at all. */
bool store_exists(const char *dir);
void store_close(struct store *s);
void store_set_busy(struct store *s, int busy_ms);
/* Could a receipt be kept now? Asks for the writer's lock and for room on the disk; writes nothing. */
int store_probe(struct store *s, struct err *e);
/* Makes ready what appending needs: SQLite compiles its statements. For whoever has to wait for something else. */
void store_warm(struct store *s);
/* Appends `n` receipts in one transaction. When it returns 0 they are on the disk and `out` says where they stand; else nothing was changed. */
int store_append(struct store *s, const struct receipt *r, size_t n, struct receipt_place *out, struct err *e);
/* Moves what was committed from the write-ahead log into the database when there is more than `pages` of it. Waits for nobody. `cut`: this process is
 * about to go. */
void store_tidy(struct store *s, int pages, bool cut);

/* The last receipt of the chain (seq 0: there is none). */
int store_last(struct store *s, struct receipt_place *out, struct err *e);
/* The hash of the receipt at `seq`; 1 when there is none. */
int store_hash_at(struct store *s, uint64_t seq, uint8_t out[DIGEST_SIZE], struct err *e);
/* The hashes after `seq`, in order. `fn` returning non-zero ends it, and is returned. */
int store_each_hash(struct store *s, uint64_t seq, int (*fn)(uint64_t seq, const uint8_t *hash, void *ctx), void *ctx,
		    struct err *e);

/* Checkpoints and prune records, as lines of JSON. */
int store_add_checkpoint(struct store *s, const struct checkpoint *c, struct err *e);
/* The last one; 1 when there is none. */
int store_last_checkpoint(struct store *s, struct checkpoint *out, struct err *e);
int store_last_prune(struct store *s, struct checkpoint *out, struct err *e);

/* How much code a database keeps, in this process (STORE_CODE_MAX when nobody says). */
void store_set_code_max(uint64_t bytes);
/* Removes the oldest code until there is room again; receipts keep its hash, and a mark that it was removed. Does nothing while all of it fits; who finds the database locked
 * leaves it to the next time. `always`: also when little was added since the last time. */
void store_trim_code(struct store *s, bool always);
/* How much there is: bytes of code as it is kept, codes, codes that were removed. */
int store_code_size(struct store *s, uint64_t *bytes, uint64_t *codes, uint64_t *removed, struct err *e);
/* The code of a hash, unpacked into `out`; 1 when it was not kept, 2 when it was removed for room. */
int store_code(struct store *s, const uint8_t hash[DIGEST_SIZE], struct buf *out, struct err *e);
/* Removes all receipts up to the record's seq and the code that no receipt has any more; adds the record. In one transaction. */
int store_prune(struct store *s, const struct checkpoint *record, uint64_t *receipts, uint64_t *codes, struct err *e);
/* A statement of the caller's own; NULL and `e` on failure. */
sqlite3_stmt *store_prepare(struct store *s, const char *sql, struct err *e);
int store_begin_read(struct store *s, struct err *e);
void store_end_read(struct store *s);
/* An error of SQLite's, in words; -1. */
int store_error(struct store *s, const char *what, struct err *e);

#endif
