/* SPDX-License-Identifier: Apache-2.0 */
/* An export of the chain: lines of JSON that whoever has the public key can verify. */
#ifndef BELLJAR_STORE_EXPORT_H
#define BELLJAR_STORE_EXPORT_H

#include "store/verify.h"

#define EXPORT_LINE_MAX (4U << 20)

/* Writing: each adds one line. */
int export_begin(const uint8_t pub[KEY_SIZE], bool has_key, struct buf *out);
int export_checkpoint(const struct checkpoint *c, struct buf *out);
int export_receipt(uint64_t seq, const uint8_t hash[DIGEST_SIZE], const char *body, size_t len, struct buf *out);
/* A receipt that is not shown: its hash alone. */
int export_digest(uint64_t seq, const uint8_t hash[DIGEST_SIZE], struct buf *out);

/* Reading: one line after the other, without its end. -1: it is not an export. */
struct export_reader {
	struct verify *verify;
	uint64_t line;
	bool began; /* the first line was read */
};

int export_read(struct export_reader *r, const char *line, size_t len, struct err *e);
/* A whole file; the verifier is ended too. */
int export_verify(int fd, struct verify *v, struct err *e);

#endif
