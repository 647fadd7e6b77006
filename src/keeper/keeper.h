/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper as a function: of its own program, and of the launcher's child. */
#ifndef BELLJAR_KEEPER_KEEPER_H
#define BELLJAR_KEEPER_KEEPER_H

/* An argument: there will be an allow-list. Not said, it costs time, nothing else. */
#define KEEPER_ALLOW "--allow"

/* Serves the front at the other end of KEEPER_FD; all other descriptors are closed. Returns the exit status. */
int keeper_main(int argc, char **argv);

#endif
