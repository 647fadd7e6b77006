/* SPDX-License-Identifier: Apache-2.0 */
/* encode() and decode() of src/guest/python/data.py, in C. */
#ifndef BELLJAR_GUEST_VALUES_H
#define BELLJAR_GUEST_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "guest/interp.h"

/*
 * What most values are made of: None, bool, int of 64 bits, float, str, bytes, list, tuple, dict, and nothing that comes from these. Everything else, and
 * everything that goes wrong, is left to the functions in Python, from the beginning: nothing here runs anybody's code, changes a value or takes anything from an iterator.
 * In Python the types that a value is compared with are each a page that every case writes to, for their reference counts.
 *
 * On the candidate's side only. What a verifier reads comes from a candidate, and is read in Python.
 */

/* Puts them in the place of those in `names`, which they keep for the rest. False: objects do not look as they should here (an interpreter without its lock, or built to be
 * debugged); then nothing changes, and nothing of what follows may be used. */
bool values_install(object *names);

/* Bytes that are being made: in the caller's room, and when that is too small in memory of their own. */
struct out {
	char *start, *at, *end, *own;
	bool packs; /* long lists of floats as their bits */
};

static inline struct out out_in(char *room, size_t size)
{
	return (struct out){ room, room, room + size, NULL, false };
}

static inline size_t out_len(const struct out *o)
{
	return (size_t)(o->at - o->start);
}

void out_done(struct out *o);
/* False: no memory. */
bool out_put(struct out *o, const char *from, size_t len);
/* A letter, a number, and what ends it. */
bool out_number(struct out *o, char tag, long long value, char end);
/* A text or bytes; NULL is none, and false. */
bool out_text(struct out *o, char tag, const char *text, ssize_t len);

/* The type of an object; no reference. */
static inline object *values_type(object *o)
{
	return ((object **)o)[1]; /* behind the reference count */
}

/* False: not a value of ours, or an error that may be set. */
bool values_put(struct out *o, object *x);
/* The bytes of a value; NULL, and no error, where it is not one of ours. */
object *values_bytes(object *x);
/* NULL: the same. */
object *values_get(const char *text, size_t len);

#endif
