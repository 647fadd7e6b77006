/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: what is kept in the state folder, and how it is removed: trees, cached canaries, mirrors of our own. */
#ifndef BELLJAR_GRADE_SWE_CLEAN_H
#define BELLJAR_GRADE_SWE_CLEAN_H

#include "grade/swe_tree.h"

#define SWE_CLEAN_NO_BOUND UINT64_MAX

enum swe_kept { SWE_KEPT_TREE, SWE_KEPT_CANARY, SWE_KEPT_MIRROR, SWE_KEPT_KINDS };

struct swe_clean {
	uint64_t older_ms;  /* only what was not used for so long; 0: any */
	uint64_t max_bytes; /* then what was used least recently, until the rest fits; SWE_CLEAN_NO_BOUND: `older_ms` alone decides */
	bool mirrors, dry_run;
};

struct swe_cleaned {
	size_t removed[SWE_KEPT_KINDS], kept[SWE_KEPT_KINDS], busy; /* busy: kept because a process uses it */
	uint64_t bytes, bytes_kept;
};

/* `said` (NULL: none) is called for each that is removed, or would be. */
int swe_clean(struct swe_trees *t, const struct swe_clean *c, struct swe_cleaned *out, void (*said)(enum swe_kept kind, const char *name, uint64_t bytes), struct err *e);
/* Removes the trees that were used least recently until the rest fits t->max_bytes; never one in use. */
void swe_clean_room(struct swe_trees *t);

#endif
