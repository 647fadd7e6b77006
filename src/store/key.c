/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of the chain's head, of a checkpoint and of a public key: all that the notary needs to know of them. */
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "store/checkpoint.h"

void checkpoint_fold(uint8_t head[DIGEST_SIZE], const uint8_t digest[DIGEST_SIZE])
{
	struct digest d;

	digest_init(&d);
	digest_add(&d, CHECKPOINT_HEAD_TAG, sizeof(CHECKPOINT_HEAD_TAG) - 1);
	digest_add(&d, head, DIGEST_SIZE);
	digest_add(&d, digest, DIGEST_SIZE);
	digest_get(&d, head);
}

size_t checkpoint_text(const struct checkpoint *c, char out[CHECKPOINT_TEXT_MAX])
{
	char head[DIGEST_HEX], receipt[DIGEST_HEX], key[KEY_ID_SIZE * 2 + 1];
	int n;

	digest_hex(c->head, DIGEST_SIZE, head);
	digest_hex(c->receipt, DIGEST_SIZE, receipt);
	digest_hex(c->key, KEY_ID_SIZE, key);
	n = snprintf(out, CHECKPOINT_TEXT_MAX, "belljar %s v1\n%llu\n%s\n%s\n%lld\n%s\n",
		     c->kind == CHECKPOINT_PRUNED ? "prune" : "checkpoint", (unsigned long long)c->seq, head, receipt,
		     (long long)c->time_ms, key);
	return (size_t)n;
}

void checkpoint_key_id(const uint8_t pub[KEY_SIZE], uint8_t out[KEY_ID_SIZE])
{
	uint8_t hash[DIGEST_SIZE];

	digest_of(pub, KEY_SIZE, hash);
	memcpy(out, hash, KEY_ID_SIZE);
}

/* SubjectPublicKeyInfo of Ed25519 is these bytes and the key. */
static const uint8_t spki[] = { 0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00 };
#define SPKI_SIZE (sizeof(spki) + KEY_SIZE)

void key_to_pem(const uint8_t pub[KEY_SIZE], char out[KEY_PEM_MAX])
{
	uint8_t der[SPKI_SIZE];
	char text[BASE64_SIZE(SPKI_SIZE)];

	memcpy(der, spki, sizeof(spki));
	memcpy(der + sizeof(spki), pub, KEY_SIZE);
	base64_encode((const char *)der, sizeof(der), text);
	snprintf(out, KEY_PEM_MAX, "-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n", text);
}

int key_from_pem(const char *text, uint8_t pub[KEY_SIZE], struct err *e)
{
	static const char begin[] = "-----BEGIN PUBLIC KEY-----\n";
	const char *at = strstr(text, begin);
	char der[SPKI_SIZE + 4];
	size_t len = 0, n;

	at = at ? at + sizeof(begin) - 1 : text;
	n = strcspn(at, "\n");
	if (n != 60 || base64_decode(at, n, der, &len) < 0 || len != SPKI_SIZE || memcmp(der, spki, sizeof(spki)) != 0) {
		err_set(e, ERR_INPUT, "not an Ed25519 public key in PEM");
		return err_hint(e, "belljar audit key prints this host's");
	}
	memcpy(pub, der + sizeof(spki), KEY_SIZE);
	return 0;
}
