/* SPDX-License-Identifier: Apache-2.0 */
/* What a guest under an allow-list tries to start: seen, noted, never decided here. */
#ifndef BELLJAR_JAR_STARTS_H
#define BELLJAR_JAR_STARTS_H

#include "jar/allow.h"
#include "kernel/seccomp.h"

/*
 * Theory of operation
 *
 * The filter of such a jar reports execve and execveat to the maker, which looks at the name, notes it when it is none of the allowed files, and
 * lets the call go on. Mounts, the root and Landlock decide. The guest can change the name, its working directory or its links between our look and
 * the kernel's: then the note is wrong and nothing else is. So the list is evidence for people, never the guard.
 *
 * A guest waits while we look, nobody else does: a maker has one jar. It is bounded in what it costs the host, since our time is not counted as the
 * guest's: STARTS_PER_S of them are taken, later ones wait; of those as many are looked at as fit into STARTS_LOOK_NS of CPU time a
 * second, the rest is counted.
 */

#define STARTS_PER_S   2000
#define STARTS_LOOK_NS 50000000ULL

struct starts {
	const struct allow *allow;
	struct jar_denied denied;
	uint64_t second_ns;	 /* when the second began that is counted now */
	unsigned taken;		 /* in it */
	uint64_t look_ns;	 /* spent in it */
	uint32_t last_pid;	 /* whose search for a name along PATH was noted last */
	char last_name[JAR_DENIED_NAME];
	bool known;		 /* `ids` are there */
	size_t id_count;
	struct {
		uint64_t dev, ino;
	} ids[ALLOW_ITEMS];
};

void starts_init(struct starts *s, const struct allow *allow);
/* Until when no more are taken: milliseconds from now, 0: they are. */
int starts_wait_ms(struct starts *s, uint64_t now_ns);
/* One of them, from `listener`; `note` is false for those of our own on the way to the program. */
void starts_see(struct starts *s, int listener, const struct seccomp_event *ev, bool note, uint64_t now_ns);

#endif
