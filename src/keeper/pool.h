/* SPDX-License-Identifier: Apache-2.0 */
/* `belljar-keeper --pool`: many jars for one front (pool_proto.h). */
#ifndef BELLJAR_KEEPER_POOL_H
#define BELLJAR_KEEPER_POOL_H

/* Serves the front on KEEPER_FD until it is gone. Returns the exit status. */
int pool_main(void);

#endif
