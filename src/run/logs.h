/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of outputs in the state folder: bounded by size, age and number, the oldest go first. */
#ifndef BELLJAR_RUN_LOGS_H
#define BELLJAR_RUN_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define LOGS_FILES_MAX 20000

/* `logs:` of the system's or the user's file. */
struct logs_bounds {
	uint64_t max_bytes, max_age_ms;
};

struct logs_found {
	size_t files, removed;
	uint64_t bytes, freed; /* of the disk */
	char dir[512];
};

/* The bounds for logs_tidy() in this process. */
void logs_set_bounds(const struct logs_bounds *b);
/* A log of this process is complete, with so many bytes. */
void logs_written(uint64_t bytes);
/* Trims the folder when that is due: a minute after the last time, or when an eighth of what fits was written since, whoever wrote it. Without `always` only when this
 * process wrote something. Waits for nobody and tells nothing; what fails is tried again next time. */
void logs_tidy(bool always);
/* Removes logs that are too old, then the oldest until the rest is no more than `keep_bytes`. One that is still being written stays. `dry_run`: only counts. */
int logs_trim(const struct logs_bounds *b, uint64_t keep_bytes, bool dry_run, struct logs_found *out, struct err *e);

#endif
