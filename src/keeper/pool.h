/* SPDX-License-Identifier: Apache-2.0 */
/* belljar-keeper --pool: many jars, made ahead, for one front. */
#ifndef BELLJAR_KEEPER_POOL_H
#define BELLJAR_KEEPER_POOL_H

/* Serves the front at the other end of `front` (pool_proto.h) until it is gone. Rights were dropped before. */
int pool_main(int front);

#endif
