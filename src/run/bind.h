/* SPDX-License-Identifier: Apache-2.0 */
/* --ro, --layer: files and folders of the host that a jar shows. */
#ifndef BELLJAR_RUN_BIND_H
#define BELLJAR_RUN_BIND_H

#include "jar/spec.h"

/* "SRC:DST" of the option `opt` as descriptor and one more target in `spec`; what the guest could not read anyway, or what would show the host itself, is refused
 * with a reason. */
int bind_open(const char *opt, const char *text, struct jar_spec *spec, int *fd, struct err *e);

#endif
