/* SPDX-License-Identifier: Apache-2.0 */
/* A jar that is to serve its client once more: proof that nothing of the guest before is left in it. */
#ifndef BELLJAR_JAR_CLEAN_H
#define BELLJAR_JAR_CLEAN_H

#include <sys/types.h>

#include "base/err.h"
#include "jar/root.h"

/* The writable folders of the jar that the caller is in. */
int clean_open(int places[static ROOT_PLACES], struct err *e);
/*
 * Runs inside the jar, in its pid, mount, ipc and user namespaces, as root of U2, or as the guest's own user, whose all of it is. Ends every process but init and the caller and waits until
 * the kernel has none left (the user may not be able to: the keeper lets nobody be born by a seat where there are any); empties the writable folders and compares their owner, mode and attributes with those they were made with; insists
 * that there is no System V object and, by `queues` (a mount of the ipc namespace's queues), no POSIX one. Fails where anything is in doubt:
 * such a jar is thrown away.
 */
int clean_jar(const int places[static ROOT_PLACES], int queues, uid_t guest, struct err *e);

#endif
