/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: derived canaries. Versions of an instance's own tests that any correct product must fail, and rounds that mix them with the originals. */
#ifndef BELLJAR_GRADE_SWE_CANARY_H
#define BELLJAR_GRADE_SWE_CANARY_H

#include <jansson.h>

#include "grade/swe_grade.h"

/*
 * Theory of operation
 *
 * Patch and tests share an interpreter, so a patch can turn any failure into a pass. It cannot do that and still fail the tests that must fail,
 * unless it can tell them apart. A *version* of a test function is the whole function in a normal form: an original, or a variant that has another
 * expected value, exception or operand in one statement, the *planted* statement. Whoever does not know the right answer cannot tell which one it
 * has before it. The generator (src/guest/python/variants.py) makes versions from the test's source; a run with the gold patch keeps those
 * originals that pass and those variants that fail inside the planted statement. A *slot* is the place of one function in its file.
 *
 * A prediction that looks resolved then goes through rounds, each in a fresh jar: every slot holds one version, drawn by the kernel's random
 * numbers. It stays resolved when every original passed and every variant failed where it was planted.
 */
#define SWE_ROUNDS	 6
#define SWE_ROUNDS_SLOW	 3	/* where the tests alone take more than SWE_SLOW_S */
#define SWE_SLOW_S	 60
#define SWE_SAMPLE	 16	/* PASS_TO_PASS tests that get variants too */
#define CANARY_VERSIONS	 99
#define CANARY_VERBATIM	 255	/* a choice: the function as it stands in the file */

/* How much a canary is worth. */
enum canary_strength {
	CANARY_NONE,	   /* no variant */
	CANARY_OPEN,	   /* one that can be told from an original without knowing the right answer */
	CANARY_HIDDEN,	   /* one that cannot */
	CANARY_HIDDEN_HOT, /* the same, at the statement that failed before the patch */
	CANARY_ORIGINAL,   /* of a version: no variant at all */
	CANARY_STRENGTHS
};
const char *canary_strength_name(enum canary_strength s);

struct canary_version {
	enum canary_strength strength;
	const char *kind;	/* which rule of the generator made it */
	const char *pre, *post;	/* the function's text, around its name */
	unsigned from, to;	/* lines of the planted statement; the slot's first line is 1 */
	bool safe;		/* may be used without a gold patch to try it with */
	bool strict;		/* an original that compares by the expected value's own type */
	const bool *must;	/* of a variant, by the slot's tests: fails with the gold patch where it was planted */
	bool usable;		/* an original that passes, or a variant that fails somewhere */
};

struct canary_test {
	const char *id, *path;	/* as the reporter spells it; the file of its function */
	bool f2p;
	enum swe_outcome gold;	/* passed; xfail where the test's own source says so */
	enum canary_strength strength;
};

struct canary_slot {
	const char *name, *path, *text;
	bool f2p;
	size_t *tests, test_n;	/* into the plan's */
	const char **as;	/* their ids where a version stands in the file */
	struct canary_version *versions;
	size_t version_n;
	size_t first;		/* index of its first version among all versions of the plan */
};

/* Everything that the rounds of one instance need. */
struct canary_plan {
	json_t *source;		/* what it was read from, and what is kept on disk */
	struct canary_test *tests;
	size_t test_n;
	struct canary_slot *slots;
	size_t slot_n, version_n;
	double seconds;		/* the tests alone, with the gold patch */
	bool calibrated;
	struct arena arena;
};

/*
 * What the generator is asked: every test of `f2p` and `sample` that passed in `gold` (without a gold patch: every test of `base`), with where it failed
 * before the patch. Both are listed names; tests of the sample that take longer than `most_ms` are left out. In the form of a job's "plan".
 */
json_t *canary_request(const struct swe_run *base, const struct swe_run *gold, const struct strlist *f2p, const struct strlist *sample, long most_ms);
/* Reads a plan: the generator's reply with the request's tests put in by canary_source(), or what is on disk. Takes the reference. */
json_t *canary_source(const json_t *request, json_t *reply, const struct swe_run *gold);
/* Listed tests that pass with the gold patch, and that `run` skips or expects to fail: findings, in the arena. */
size_t canary_softened(const struct canary_plan *p, const struct swe_run *run, const struct strlist *listed, struct swe_tamper **found, struct arena *a);
int canary_read(struct canary_plan *p, json_t *source, struct err *e);
void canary_done(struct canary_plan *p);

/* The test files with one version of each slot: {path: text}. lines[slot.first + version] is the line at which that version begins. */
json_t *canary_files(const struct canary_plan *p, const unsigned char *choice, unsigned *lines);
/* The same with all versions: the first under the function's own name, the others under NAME + copies + two digits. */
json_t *canary_files_all(const struct canary_plan *p, const char *copies, unsigned *lines);
/* Keeps what a run of all versions with the gold patch shows. NULL: there was none, and only safe variants are kept. Reads the plan anew. */
int canary_calibrate(struct canary_plan *p, const struct swe_run *run, const char *copies, const unsigned *lines, struct err *e);

/* The ids of the plan's tests in such files: what is selected in a round, or (choice NULL) where all versions are tried. */
void canary_select(const struct canary_plan *p, const unsigned char *choice, struct strlist *out, struct arena *a);

size_t canary_rounds(const struct canary_plan *p);
/* choice[round * slot_n + slot]. */
void canary_draw(const struct canary_plan *p, unsigned char *choice, size_t rounds);
/* What one round shows: a list of findings, in the arena; 0: every test did what it must. */
size_t canary_judge(const struct canary_plan *p, const unsigned char *choice, const unsigned *lines, const struct swe_run *run, struct swe_tamper **found, struct arena *a);
/* A finding that a flaky test can cause too: the round is repeated once. */
bool canary_may_be_chance(const char *what);

/* Whether a listed test is known to pass with the gold patch. */
bool canary_gold_passes(const struct canary_plan *p, enum swe_style style, const char *id);
/* How strong the canaries of the listed tests are: {"weakest": word, "tests": {name: word}, ...}. */
json_t *canary_report(const struct canary_plan *p, enum swe_style style, const struct strlist *f2p);

#endif
