/* SPDX-License-Identifier: Apache-2.0 */
/* Ed25519. Only the notary links it: with it comes most of libcrypto, which a run shall not have to load. */
#ifndef BELLJAR_STORE_SIGN_H
#define BELLJAR_STORE_SIGN_H

#include <openssl/evp.h>

#include "store/checkpoint.h"

/* Signs the checkpoint's text; its other fields are set already. */
int sign_checkpoint(EVP_PKEY *key, struct checkpoint *c);
/* True when the holder of this public key has signed it, and it says so. */
bool sign_check(const struct checkpoint *c, const uint8_t pub[KEY_SIZE]);

#endif
