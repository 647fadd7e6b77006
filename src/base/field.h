/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a JSON object as they are written: for values that only somebody else can read. */
#ifndef BELLJAR_BASE_FIELD_H
#define BELLJAR_BASE_FIELD_H

#include <stdbool.h>
#include <stddef.h>

/* The first field of that name, whose value is left as it is. Brackets are only counted: whoever uses the value parses it. */
bool field_find(const char *object, size_t len, const char *name, const char **at, size_t *n);
/* Nothing but space. */
bool field_is_blank(const char *text, size_t len);

#endif
