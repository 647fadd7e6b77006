/* SPDX-License-Identifier: Apache-2.0 */
/* Values as Python writes them (repr), read into a small tree. The text is foreign: depth, size and count are bounded. */
#ifndef BELLJAR_GRADE_LITERAL_H
#define BELLJAR_GRADE_LITERAL_H

#include "grade/text.h"

#define LITERAL_TEXT_MAX  (64 << 10)
#define LITERAL_NODES_MAX 20000
#define LITERAL_DEPTH_MAX 100

enum lit_kind {
	LIT_NONE, LIT_BOOL, LIT_INT, LIT_FLOAT, LIT_COMPLEX, LIT_STR, LIT_BYTES, LIT_LIST, LIT_TUPLE, LIT_DICT, LIT_SET, LIT_FROZENSET,
	LIT_CALL,  /* Point(x=1, y=2), deque([1, 2]) */
	LIT_OTHER, /* <object at 0x7f…>, a name */
	LIT_KINDS
};

struct lit {
	enum lit_kind kind;
	bool cut;	   /* the text ended (or "..." stood) within it: what follows is not known */
	struct span src;   /* as it was written */
	struct span value; /* of strings and bytes: decoded; of a call: the name; of an int: its decimal digits with sign */
	double number;	   /* of bool, int, float */
	struct lit **items, **keys; /* keys: of a dict; of a call, NULL for those without a name */
	size_t n;
	uint64_t hash;	   /* equal values have equal ones, also 1, 1.0 and True */
};

/* NULL when it is no value, or is past a bound. All of it lives in the arena; `text` must stay. */
struct lit *literal_parse(struct span text, struct arena *a);
/* As Python's ==, but that nan equals itself; `strict`: types must be the same too. What was cut off counts as equal. */
bool literal_equal(const struct lit *a, const struct lit *b, bool strict);
/* "int", "list", the name of a call. */
struct span literal_type(const struct lit *l);
bool literal_is_number(const struct lit *l);
/* The item of a dict with that key, of a set that is equal; -1: none. `order` comes from literal_order() and is sorted by hash. */
size_t *literal_order(const struct lit *l, struct arena *a);
long literal_lookup(const struct lit *in, const size_t *order, const struct lit *key);

#endif
