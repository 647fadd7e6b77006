/* SPDX-License-Identifier: Apache-2.0 */
/* encode() and decode() of src/guest/python/data.py, in C. */
#ifndef BELLJAR_GUEST_VALUES_H
#define BELLJAR_GUEST_VALUES_H

#include "guest/interp.h"

/*
 * What most values are made of: None, bool, int of 64 bits, float, str, bytes, list, tuple, set, frozenset, dict, and nothing that comes from these. Everything else, and
 * everything that goes wrong, is left to the functions in Python, from the beginning: nothing here runs anybody's code, changes a value or takes anything from an iterator.
 * In Python the types that a value is compared with are each a page that every case writes to, for their reference counts.
 *
 * On the candidate's side only. What a verifier reads comes from a candidate, and is read in Python.
 */

/* Puts them in the place of those in `names`, which they keep for the rest. Where objects do not look as they should, nothing changes. */
void values_install(object *names);

#endif
