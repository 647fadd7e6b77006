/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units as people write them: 512M, 1.5s, 0.5. */
#ifndef BELLJAR_BASE_PARSE_H
#define BELLJAR_BASE_PARSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Each parses the whole text or fails; the error says what was expected. Outputs are written only
 * on success. Negative and overflowing values are refused, never wrapped. */
int parse_bytes(const char *text, uint64_t *out, struct err *e);   /* 100, 64K, 512M, 2G (powers of 1024) */
int parse_ms(const char *text, uint64_t *out, struct err *e);      /* 30s, 500ms, 2m, 1h, 1.5 (seconds) */
int parse_milli(const char *text, uint64_t *out, struct err *e);   /* 1.0 -> 1000 */
int parse_u64(const char *text, uint64_t *out, struct err *e);

/* How far apart two words are (insertions, deletions, changes, swaps), for "did you mean".
 * Words past 63 characters are never near. */
unsigned parse_distance(const char *a, const char *b);
/* True when `word` is close enough to `candidate` to suggest it. */
bool parse_is_near(const char *word, const char *candidate);

/* "64K", "512M", "100": the shortest exact form. */
void format_bytes(uint64_t bytes, char *out, size_t size);

#endif
