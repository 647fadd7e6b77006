/* SPDX-License-Identifier: Apache-2.0 */
/* Names that programs of the host act on: which are marked, and which never come back. */
#ifndef BELLJAR_RUN_ACTING_H
#define BELLJAR_RUN_ACTING_H

#include <stdbool.h>

/* Does a program of the host act on a file of this path by itself (acting_table.h)? */
bool acting_path(const char *path);
/* Would it stand in for one of Python's own modules, should no __init__.py lie beside it? */
bool acting_module(const char *path);
/* The program whose own data a path is (`.git`, or anything below one): "git", "hg", "jj". NULL: of none. */
const char *acting_vcs(const char *path);

#endif
