/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time of all processes of a jar, as the kernel counts it, read while they run. */
#ifndef BELLJAR_RUN_METER_H
#define BELLJAR_RUN_METER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The keeper hands over a descriptor that can only be read: the cgroup's own file (v1: cpuacct.usage, a number of nanoseconds; v2: cpu.stat, whose line
 * usage_usec counts), or, without a CPU cgroup, a file in which the keeper notes what it finds in /proc every 50 ms. Nothing in the jar can reach either.
 */
struct meter {
	int fd; /* -1: there is none */
	uint64_t base_ns;
};

void meter_init(struct meter *m);
/* Takes the descriptor. */
void meter_set(struct meter *m, int fd, uint64_t base_ns);
void meter_close(struct meter *m);
/* False: not known (yet). */
bool meter_read(const struct meter *m, uint64_t *ns);

#endif
