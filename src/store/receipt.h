/* SPDX-License-Identifier: Apache-2.0 */
/* A receipt: what was asked, what was in force, what came of it, bound to the receipt before it. docs/receipts.md has the exact bytes. */
#ifndef BELLJAR_STORE_RECEIPT_H
#define BELLJAR_STORE_RECEIPT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/digest.h"

#define RECEIPT_ID_MAX	 32
#define RECEIPT_WORD_MAX 16  /* status, reason */
#define RECEIPT_NAME_MAX 256 /* client, language, the caller's id: longer ones are cut */
#define RECEIPT_BODY_MAX (1U << 20)
#define RECEIPT_CODE_MAX (64U << 20)		/* as a request's */
#define RECEIPT_TAG	 "belljar receipt v1\n" /* before the body when it is hashed */

/*
 * A receipt on its way into the store. Its body is canonical JSON in three parts: `prev` and `seq` stand between them and are only known when
 * it is written. Everything is borrowed.
 */
struct receipt {
	char id[RECEIPT_ID_MAX];
	int64_t time_ms;
	const char *client, *language; /* NULL: none */
	char status[RECEIPT_WORD_MAX], reason[RECEIPT_WORD_MAX];
	bool has_code, keep_code;
	uint8_t code_hash[DIGEST_SIZE];
	const char *code;
	size_t code_len;
	const char *part[3];
	size_t part_len[3];
};

/* Where it stands in the chain. */
struct receipt_place {
	uint64_t seq;
	uint8_t hash[DIGEST_SIZE];
};

/* The body with `prev` and `seq` in it, in `out`. */
int receipt_join(const struct receipt *r, uint64_t seq, const uint8_t prev[DIGEST_SIZE], struct buf *out);
void receipt_hash(const char *body, size_t len, uint8_t out[DIGEST_SIZE]);
/* "2026-11-15T11:26:04.123Z"; `out` has 32 bytes. */
void receipt_time(int64_t time_ms, char out[32]);
int64_t receipt_now_ms(void);
/* A time as a person writes it: 2026-11-15, 2026-11-15T11:26[:04[.123]][Z], @SECONDS, or an age (90s, 2h, 7d). All in UTC. */
int receipt_parse_time(const char *text, int64_t *out, struct err *e);

/* A receipt's body, read again. */
struct receipt_body {
	uint64_t seq;
	uint8_t prev[DIGEST_SIZE];
	const char *id, *client, *language, *status, *reason;
	int64_t time_ms;
	bool has_code;
	uint8_t code_hash[DIGEST_SIZE];
};

/* Fails when it is no receipt of this version or not in its canonical form. */
int receipt_read(const char *body, size_t len, struct receipt_body *out, struct arena *a, struct err *e);

#endif
