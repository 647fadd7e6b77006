/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts: how files leave a jar whose processes are all dead. */
#ifndef BELLJAR_JAR_EXPORT_H
#define BELLJAR_JAR_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "jar/spec.h"

#define EXPORT_DEPTH_MAX   64
#define EXPORT_ENTRIES_MAX 200000

/* What is wanted. A pattern is relative to /workspace or absolute; `*` stays within a folder, a pattern that names a folder
 * brings all below it, "**" brings the whole workspace. */
struct export_req {
	uint32_t count;
	uint64_t file_max_bytes, total_max_bytes;
	char globs[JAR_GLOBS_MAX][JAR_PATH_MAX];
};

/* Whether a path in the jar (relative to /workspace, or absolute) is one that a pattern wants. */
bool export_matches(const char *glob, const char *path);
/* Writes records (feed.h) for everything that matches, then FEED_END. Only regular files are read; a symlink is told, never followed; all
 * else is FEED_REFUSED. Runs in the maker, which may read the guest's files whatever their mode. */
int export_write(int data, const struct export_req *req, int out, struct err *e);

#endif
