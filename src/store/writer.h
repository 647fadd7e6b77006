/* SPDX-License-Identifier: Apache-2.0 */
/* The store of a batch: a process of its own that takes finished receipts, commits them in groups, and says when they are on the disk. */
#ifndef BELLJAR_STORE_WRITER_H
#define BELLJAR_STORE_WRITER_H

#include "store/store.h"

/* A receipt on the wire: this, then client, language, the three parts, the code, without anything between. */
struct writer_head {
	uint32_t magic, flags;
	int64_t time_ms;
	char id[RECEIPT_ID_MAX], status[RECEIPT_WORD_MAX], reason[RECEIPT_WORD_MAX];
	uint8_t code_hash[DIGEST_SIZE];
	uint32_t client_len, language_len, part_len[3], code_len;
};

/* The answer to a group, in the order of the receipts: this, and when `failed` is 0 `count` hashes of receipts from `seq` on. One of no receipts with
 * an error is the notary's, to be told. */
struct writer_ack {
	uint64_t seq;
	uint32_t count, failed;
	struct err err; /* why */
};

/* Puts a receipt on the wire. */
int writer_put(const struct receipt *r, struct buf *out);
/* Nothing more comes: it signs, and ends. */
int writer_put_end(struct buf *out);

/* Starts the process: it opens the database in `dir` (made when missing), uses the notary's socket (-1: none; the caller closes its own copy), and
 * gives up everything else. Returns its socket (a stream, does not block) when it is ready, or -1 and its reason. It ends by itself when the socket is
 * closed, having kept what came whole, and had it signed. */
int writer_start(const char *dir, int notary, struct err *e);

#endif
