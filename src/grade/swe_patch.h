/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: which files a patch touches, read from its headers. */
#ifndef BELLJAR_GRADE_SWE_PATCH_H
#define BELLJAR_GRADE_SWE_PATCH_H

#include "grade/text.h"
#include "store/digest.h"

struct swe_patch_file {
	const char *old_path, *new_path; /* without a/ and b/; NULL: /dev/null */
	unsigned old_mode, new_mode;	 /* octal as git says them; 0: not said */
	bool created, deleted, renamed, copied, binary;
	size_t added, removed; /* lines */
	uint8_t lines[DIGEST_SIZE]; /* of the lines that it adds and removes, in order, with their signs */
};

struct swe_patch {
	struct swe_patch_file *v;
	size_t n, cap;
	bool cut; /* a hunk ends before its time */
};

/*
 * Reads a diff of git, or a plain unified one. Nothing in the middle of a hunk is a header, whatever it looks like: lines are counted as the
 * hunk says. Paths are as they stand there (unquoted): nobody has looked whether they leave the tree. Everything is in the arena.
 */
void swe_patch_read(struct swe_patch *p, const char *text, size_t len, struct arena *a);
/* Where the file is after the patch, and before it when it is gone. */
const char *swe_patch_path(const struct swe_patch_file *f);

#endif
