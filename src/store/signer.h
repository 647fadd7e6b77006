/* SPDX-License-Identifier: Apache-2.0 */
/* The notary's client: starts it, and shows it the digests that came since it last signed. */
#ifndef BELLJAR_STORE_SIGNER_H
#define BELLJAR_STORE_SIGNER_H

#include "store/notary.h"
#include "store/store.h"

enum signer_mode { SIGNER_PLAIN, SIGNER_PRUNE, SIGNER_ADOPT, SIGNER_VERIFY };

/* A last checkpoint that is older than this is time for a new one (one-shot runs), and so is this many receipts (a batch). */
#define SIGNER_INTERVAL_MS 10000
#define SIGNER_RECEIPTS	   1000

/* Starts a notary for `state_dir`/notary, which is made when missing. Its socket, or -1. It ends when that is closed. */
int signer_start(const char *state_dir, enum signer_mode mode, struct err *e);
/* Has the chain as it stands signed, and keeps the checkpoint in the database. When nothing was added since the last one, that is the answer. */
int signer_sign(int sock, struct store *s, struct checkpoint *out, struct err *e);
/* Signs from the database's own beginning: only with a notary of SIGNER_ADOPT. */
int signer_adopt(int sock, struct store *s, struct checkpoint *out, struct err *e);
/* A record that says: everything up to `from` may be removed (`from`: seq, receipt and head). Only with a notary of SIGNER_PRUNE. */
int signer_prune(int sock, struct store *s, const struct checkpoint *from, struct checkpoint *out, struct err *e);

/* 0 when `pub` has signed it, 1 when not, -1. Only with a notary of SIGNER_VERIFY, which has no folder. */
int signer_check(int sock, const struct checkpoint *c, const uint8_t pub[KEY_SIZE], struct err *e);

/* The notary's own folder, for whoever may look: its last checkpoint and its public key. 1 when there is none. */
int signer_last(const char *state_dir, struct checkpoint *out, struct err *e);
int signer_key(const char *state_dir, uint8_t pub[KEY_SIZE], struct err *e);
/* True when it is time for a checkpoint. */
bool signer_is_due(struct store *s);

#endif
