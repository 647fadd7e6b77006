/* SPDX-License-Identifier: Apache-2.0 */
/* The root of a jar with an allow-list (allow.h): what is there, and what of it can be executed or mapped to be executed. */
#ifndef BELLJAR_JAR_FENCE_H
#define BELLJAR_JAR_FENCE_H

#include "jar/allow.h"
#include "jar/jar.h"

/*
 * All three run in the jar's own mount namespace, before pivot.
 *
 *	the template, all of it		noexec
 *	/usr				a new overlay whose first layer has whiteouts for programs in folders of shared objects; noexec
 *	folders of shared objects	copies of their part of that overlay, executable
 *	/usr/bin and its like		tmpfs: links, and one executable copy of a file's mount for each program
 *	--ro				noexec but for programs in it that were named by their path
 *	all that is writable		noexec
 */

/* /usr and what is like it. */
int fence_root(struct jar *j, struct err *e);
/* Programs in what --ro shows, after it is attached. */
int fence_binds(struct jar *j, struct err *e);
/* What every place of the data file system gets. */
uint64_t fence_data_attr(const struct jar *j);

#endif
