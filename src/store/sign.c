/* SPDX-License-Identifier: Apache-2.0 */
/* Ed25519. */
#include "store/sign.h"

#include <string.h>

int sign_checkpoint(EVP_PKEY *key, struct checkpoint *c)
{
	char text[CHECKPOINT_TEXT_MAX];
	size_t len = checkpoint_text(c, text), size = SIGNATURE_SIZE;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
		    EVP_DigestSign(ctx, c->signature, &size, (const uint8_t *)text, len) == 1;

	EVP_MD_CTX_free(ctx);
	return good ? 0 : -1;
}

bool sign_check(const struct checkpoint *c, const uint8_t pub[KEY_SIZE])
{
	char text[CHECKPOINT_TEXT_MAX];
	size_t len = checkpoint_text(c, text);
	EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, pub, KEY_SIZE);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t id[KEY_ID_SIZE];
	bool good;

	checkpoint_key_id(pub, id);
	good = memcmp(id, c->key, KEY_ID_SIZE) == 0 && key && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
	       EVP_DigestVerify(ctx, c->signature, SIGNATURE_SIZE, (const uint8_t *)text, len) == 1;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return good;
}
