/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: names of tests, how runners and lists spell them, and a map from them to outcomes. */
#ifndef BELLJAR_GRADE_SWE_NAMES_H
#define BELLJAR_GRADE_SWE_NAMES_H

#include <stdint.h>

#include "grade/text.h"

/* As the reference harness's parsers tell logs apart. */
enum swe_style {
	SWE_PYTEST,
	SWE_PYTEST_OPTIONS, /* "t[/a/b/c]" is listed as "t[/c]" */
	SWE_MATPLOTLIB,	    /* "MouseButton.LEFT" is listed as "1" */
	SWE_DJANGO,
	SWE_SYMPY,
	SWE_UNITTEST,
	SWE_STYLES
};

/* By our name ("pytest"), or the reference's ("parse_log_astropy"). False: unknown. */
bool swe_style_find(const char *name, enum swe_style *out);
const char *swe_style_name(enum swe_style s);
/* "pytest, pytest_options, ..." for hints. */
const char *swe_style_names(void);

enum swe_outcome { SWE_MISSING, SWE_PASSED, SWE_FAILED, SWE_ERROR, SWE_SKIPPED, SWE_XFAIL, SWE_XPASS, SWE_OUTCOMES };

/* "passed", "PASSED": any case. False: no outcome. */
bool swe_outcome_find(struct span word, enum swe_outcome *out);
/* "passed"; "missing". */
const char *swe_outcome_name(enum swe_outcome o);
bool swe_outcome_good(enum swe_outcome o); /* passed, xfail */
bool swe_outcome_bad(enum swe_outcome o);  /* failed, error, xpass */
/* Of two results of one name the one that counts: the worse one; a test that was only left out somewhere else does not count. */
enum swe_outcome swe_outcome_merge(enum swe_outcome a, enum swe_outcome b);

/*
 * The form in which names are compared: "test_x (m.C.test_x)" of Python 3.11 is "test_x (m.C)"; white space inside is one blank; pytest's
 * options as the style lists them. In the arena. Names of lists, logs and reporters all go through it.
 */
const char *swe_name_canon(enum swe_style s, struct span id, struct arena *a);
/* The function in a canonical name: "test_y" of "path::T::test_y[1]", of "test_y (m.T)", of "test_y". */
struct span swe_name_function(enum swe_style s, const char *canon);
/* The name without a suffix that the function was given for this run; NULL: it has none. */
const char *swe_name_unrename(enum swe_style s, const char *canon, const char *suffix, struct arena *a);
/* Cut off inside of its parameters, as hundreds of listed names are: "t[log(photon". */
bool swe_name_truncated(const char *canon);
/* "path::name - why", as some parsers list what has a reason: the name alone. Not inside of brackets, where it is part of a parameter. */
struct span swe_name_before_message(struct span id);
/* It names a function, as "path::test_y[1]", "test_y (m.T)", "test_y" (sympy) do, and is no docstring. */
bool swe_name_has_function(enum swe_style s, const char *canon);
/* No name that a test could have: "[100%]". */
bool swe_name_junk(enum swe_style s, const char *canon);

/* Outcomes by canonical name. */
struct swe_map_entry {
	const char *id;
	enum swe_outcome outcome; /* merged */
	enum swe_outcome renamed; /* merged of those that had the run's suffix */
	bool alias;		  /* another spelling of an entry: found, but not listed */
};

#define SWE_MAP_MAX (1U << 20)

struct swe_map {
	struct swe_map_entry *v;
	uint32_t *index; /* positions + 1 */
	size_t n, cap, index_size;
	uint64_t seed;
	bool cut; /* there were more than SWE_MAP_MAX */
};

void swe_map_add(struct swe_map *m, const char *id, enum swe_outcome o, bool renamed, bool alias);
const struct swe_map_entry *swe_map_find(const struct swe_map *m, const char *id);
/* The outcome of a listed name, also where it is truncated: then what all that begin so have in common, the worst otherwise. `renamed`: only
 * results that had the suffix count. */
enum swe_outcome swe_map_outcome(const struct swe_map *m, const char *canon, bool renamed);
void swe_map_done(struct swe_map *m);

#endif
