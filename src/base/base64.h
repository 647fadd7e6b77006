/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648, with padding), strict. */
#ifndef BELLJAR_BASE_BASE64_H
#define BELLJAR_BASE_BASE64_H

#include <stddef.h>

/* Bytes that base64_encode() writes, the NUL included. */
#define BASE64_SIZE(len) (((len) + 2) / 3 * 4 + 1)

void base64_encode(const void *data, size_t len, char *out);
/* Decodes to `out` (room for len / 4 * 3). Returns 0 and the length, or -1 on anything that an encoder would not have written. */
int base64_decode(const char *text, size_t len, void *out, size_t *out_len);

#endif
