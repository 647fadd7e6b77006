/* SPDX-License-Identifier: Apache-2.0 */
/* belljar-keeper --pool: many jars, made ahead, for one front. */
#ifndef BELLJAR_KEEPER_POOL_H
#define BELLJAR_KEEPER_POOL_H

#include <stdbool.h>

struct err;

/* Serves the front at the other end of `front` (pool_proto.h) until it is gone. Rights were dropped before; `broken` says why they could not be:
 * then every run fails with that. `dumps`: what dumps_bar() said. */
int pool_main(int front, const struct err *dumps, const struct err *broken);

#endif
