/* SPDX-License-Identifier: Apache-2.0 */
/* What the notary signs: the state of the chain at one receipt. */
#ifndef BELLJAR_STORE_CHECKPOINT_H
#define BELLJAR_STORE_CHECKPOINT_H

#include "base/buf.h"
#include "base/err.h"
#include "store/digest.h"

#define CHECKPOINT_HEAD_TAG "belljar head v1\n" /* before head and digest when they are folded */
#define CHECKPOINT_TEXT_MAX 320			/* of the bytes that are signed */
#define KEY_SIZE	    32
#define KEY_ID_SIZE	    8
#define SIGNATURE_SIZE	    64

enum checkpoint_kind {
	CHECKPOINT_HERE,   /* the chain has come this far */
	CHECKPOINT_PRUNED, /* everything up to here may be gone */
};

/* Of fixed size: it is the notary's file, and goes over its socket as it is. */
struct checkpoint {
	uint32_t kind; /* enum checkpoint_kind */
	uint32_t unused;
	uint64_t seq;
	uint8_t head[DIGEST_SIZE];    /* all receipt hashes up to seq, folded */
	uint8_t receipt[DIGEST_SIZE]; /* the last one */
	int64_t time_ms;
	uint8_t key[KEY_ID_SIZE];
	uint8_t signature[SIGNATURE_SIZE];
};

/* head = SHA-256(tag, head, digest) */
void checkpoint_fold(uint8_t head[DIGEST_SIZE], const uint8_t digest[DIGEST_SIZE]);
/* The bytes that are signed; their number. */
size_t checkpoint_text(const struct checkpoint *c, char out[CHECKPOINT_TEXT_MAX]);
/* First bytes of the SHA-256 of the public key. */
void checkpoint_key_id(const uint8_t pub[KEY_SIZE], uint8_t out[KEY_ID_SIZE]);
/* One line of canonical JSON, without its end. */
int checkpoint_to_json(const struct checkpoint *c, struct buf *out);
/* Its parser, strict: exactly the fields of the above. */
int checkpoint_from_json(const char *text, size_t len, struct checkpoint *out, struct err *e);

/* A public key in PEM, as openssl reads it; `out` has KEY_PEM_MAX bytes. */
#define KEY_PEM_MAX 160
void key_to_pem(const uint8_t pub[KEY_SIZE], char out[KEY_PEM_MAX]);
int key_from_pem(const char *text, uint8_t pub[KEY_SIZE], struct err *e);

#endif
