/* SPDX-License-Identifier: Apache-2.0 */
/* A tar archive as it comes, unpacked beneath one folder. What it says is not believed: nothing is written outside. */
#ifndef BELLJAR_GRADE_SWE_TAR_H
#define BELLJAR_GRADE_SWE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SWE_TAR_PATH 4096

struct swe_tar {
	int root;	      /* the folder; the caller's */
	unsigned open_modes;  /* added to every mode: 0666 where a guest is not the owner */
	char head[512];
	size_t have;	      /* bytes of `head` */
	uint64_t left, pad;   /* of the entry under way */
	int out;	      /* its file, -1: none */
	char path[SWE_TAR_PATH], target[SWE_TAR_PATH];
	size_t long_len;      /* of the long name under way */
	char *long_to;	      /* where it goes; NULL: this entry is none */
	bool has_path, has_target; /* the next entry's name came before it */
	int64_t mtime;
	unsigned mode;
	uint64_t entries, bytes, max_entries, max_bytes;
	bool ended;	      /* the archive's end was seen */
	struct err err;
};

void swe_tar_init(struct swe_tar *t, int root, unsigned open_modes, uint64_t max_entries, uint64_t max_bytes);
/* More of it. -1 when something is wrong (t->err), now and ever after. */
int swe_tar_add(struct swe_tar *t, const char *data, size_t len);
/* 0 when all of it came. */
int swe_tar_end(struct swe_tar *t);

#endif
