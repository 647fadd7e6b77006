/* SPDX-License-Identifier: Apache-2.0 */
/* YAML files of an operator: read quietly; errors are ours to print. */
#ifndef BELLJAR_RUN_YAML_H
#define BELLJAR_RUN_YAML_H

#include <libfyaml.h>

#include "base/err.h"

/* The document of a file whose root is a mapping; *root is NULL for a file with nothing in it. The caller destroys the document
 * (which may be NULL with an empty file). -1 when it is no YAML or no mapping. */
int yaml_open(const char *path, struct fy_document **doc, struct fy_node **root, struct err *e);
/* The same of a file that is open; `path` is for errors. */
int yaml_open_fd(int fd, const char *path, struct fy_document **doc, struct fy_node **root, struct err *e);
/* A key, for an error: what is not a plain word is not shown. A file that is read with more rights than the reader of the error has may be any file. */
const char *yaml_shown(const char *key);
/* A scalar as a heap string; NULL when it is none. */
char *yaml_scalar_dup(struct fy_node *n);
/* A sequence of scalars, or a mapping as K=V, ended by NULL; NULL when it is neither, or longer than any row needs. */
const char *const *yaml_list_dup(struct fy_node *n);

#endif
