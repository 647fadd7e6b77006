/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that is written as it comes, into a buffer: for what is told thousands of times a second. */
#ifndef BELLJAR_BASE_JSON_OUT_H
#define BELLJAR_BASE_JSON_OUT_H

#include <stdint.h>

#include "base/buf.h"

/*
 * Every value has the name it gets in an object (one of our own: letters, digits, underscores), NULL in a list. Commas come by themselves. Whether there was room for
 * everything is known at the end, by the buffer.
 */
struct json_out {
	struct buf *to;
	bool more; /* a comma comes first */
};

void json_out_open(struct json_out *o, const char *name, char bracket);
void json_out_close(struct json_out *o, char bracket);
/* Anything that is JSON already. */
void json_out_raw(struct json_out *o, const char *name, const char *json);
void json_out_bool(struct json_out *o, const char *name, bool v);
void json_out_int(struct json_out *o, const char *name, int64_t v);
/* v / 10^decimals, at most 9 of them; as a number with a point. */
void json_out_fixed(struct json_out *o, const char *name, uint64_t v, unsigned decimals);
/* Bytes that are no UTF-8 become U+FFFD, each of them. False when there were any. */
bool json_out_text(struct json_out *o, const char *name, const char *data, size_t len);
/* NULL is null. */
bool json_out_str(struct json_out *o, const char *name, const char *text);

#endif
