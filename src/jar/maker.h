/* SPDX-License-Identifier: Apache-2.0 */
/* The maker: root of the intermediate user namespace, unprivileged on the host. Makes jars, starts guests, brings artifacts out. */
#ifndef BELLJAR_JAR_MAKER_H
#define BELLJAR_JAR_MAKER_H

#include "jar/export.h"
#include "jar/jar.h"

enum maker_type {
	/* keeper to maker */
	MAKER_MAKE = 1,	 /* spec; descriptors: bind sources, then with JAR_CACHE that file */
	MAKER_START,	 /* limits; descriptors: stdin, stdout, stderr, feed, `tasks` v1 cgroups, then the v2 one if `v2` */
	MAKER_SCRUB,	 /* end every process but init */
	MAKER_END,	 /* end the jar, init too */
	MAKER_EXPORT,	 /* export; descriptor: where to write */
	/* maker to keeper */
	MAKER_MADE,	 /* facts; descriptors: init's pidfd, the data file system */
	MAKER_GUEST,	 /* descriptor: the guest's pidfd */
	MAKER_STARTED,	 /* evidence.started_ns */
	MAKER_EXITED,	 /* evidence: status, times (started_ns too: MAKER_STARTED is left out of a short run), rusage */
	MAKER_SYSCALL,	 /* evidence.syscall */
	MAKER_DENIED,	 /* denied: before MAKER_EXITED, when there are any */
	MAKER_SCRUBBED,
	MAKER_ENDED,
	MAKER_EXPORTED,
	MAKER_FAILED,	 /* err: what was asked for last did not happen */
};

struct maker_msg {
	uint32_t type;
	uint32_t mounts; /* MAKER_MAKE: sources are mounts already (keeper is root), not plain descriptors */
	uint32_t tasks, v2; /* MAKER_START: which descriptors follow */
	union {
		struct jar_spec spec;
		struct jar_limits limits;
		struct export_req export;
		struct jar_facts facts;
		struct jar_evidence evidence;
		struct jar_denied denied;
		struct err err;
	};
};

/* Bytes of a message of this kind, as it is sent; 0: there is no such kind. MAKER_MAKE's counts must be in range. */
size_t maker_msg_len(const struct maker_msg *msg);
/* Whether `len` received bytes are one whole message. */
bool maker_msg_whole(const struct maker_msg *msg, size_t len);

/* Runs in the child of the keeper, in its fresh user, mount and uts namespace, after its maps were written. It stays in the host's
 * network namespace, where it has no rights: sockets it makes there are not to be seen from a jar (SV-02). Serves one jar at
 * a time until `sock` ends. Never returns. */
_Noreturn void maker_main(int sock, int devices, const struct jar_ids *ids);
/* The same for a jar with an allow-list, whose init cannot be born before the request: maker_main refuses such. */
_Noreturn void maker_main_late(int sock, int devices, const struct jar_ids *ids);

/* Steps that every maker begins with. `p` is not used. */
int maker_ids(void *p, struct err *e);
int maker_keyring(void *p, struct err *e);
int maker_private(void *p, struct err *e);

extern const struct step maker_steps[];
extern const size_t maker_step_count;

#endif
