/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical JSON, written: one object has one text. Keys come in order, there are no spaces, numbers are whole. */
#ifndef BELLJAR_STORE_CANON_H
#define BELLJAR_STORE_CANON_H

#include "base/buf.h"
#include "store/digest.h"

/* The caller gives keys in the order of their bytes (tests/unit/test_receipt.c holds it to that). */
struct canon {
	struct buf *out;
	bool first; /* nothing stands in the object or list at hand yet */
};

void canon_open(struct canon *c, const char *key); /* "key":{ ; NULL: the whole */
void canon_close(struct canon *c);		   /* } */
void canon_list(struct canon *c, const char *key); /* "key":[ */
void canon_end_list(struct canon *c);		   /* ] */
void canon_key(struct canon *c, const char *key);
/* Values; a NULL key: of a list. Text that is no UTF-8 has U+FFFD where it is not; past `max` bytes it is cut between characters. NULL is null. */
void canon_str(struct canon *c, const char *key, const char *text);
void canon_text(struct canon *c, const char *key, const char *text, size_t len, size_t max);
/* The same text as a string: cut and with its replacements. `out` has 3 * max + 1 bytes. */
void canon_clean(const char *text, size_t max, char *out);
void canon_int(struct canon *c, const char *key, int64_t v);
void canon_bool(struct canon *c, const char *key, bool v);
void canon_null(struct canon *c, const char *key);
void canon_hex(struct canon *c, const char *key, const uint8_t *data, size_t len);

#endif
