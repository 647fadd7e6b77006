/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 and its text: what receipts, the chain and the notary are made of. */
#ifndef BELLJAR_STORE_DIGEST_H
#define BELLJAR_STORE_DIGEST_H

#include <openssl/sha.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_SIZE 32
#define DIGEST_HEX  (DIGEST_SIZE * 2 + 1)

/* The plain functions of libcrypto: EVP wakes up its providers and configuration first, which takes longer than a run's whole bookkeeping. */
struct digest {
	SHA256_CTX ctx;
};

static inline void digest_init(struct digest *d)
{
	SHA256_Init(&d->ctx);
}

static inline void digest_add(struct digest *d, const void *data, size_t len)
{
	if (len)
		SHA256_Update(&d->ctx, data, len);
}

/* A copy is ended: the stream may go on. */
static inline void digest_get(const struct digest *d, uint8_t out[DIGEST_SIZE])
{
	SHA256_CTX copy = d->ctx;

	SHA256_Final(out, &copy);
}

void digest_of(const void *data, size_t len, uint8_t out[DIGEST_SIZE]);
/* Lower case, with its NUL: out has 2 * len + 1 bytes. */
void digest_hex(const uint8_t *data, size_t len, char *out);
/* Exactly 2 * len lower-case digits and nothing after them. */
bool digest_from_hex(const char *text, uint8_t *out, size_t len);

#endif
