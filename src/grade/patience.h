/* SPDX-License-Identifier: Apache-2.0 */
/* When a run that the clock has ended gets a second chance. */
#ifndef BELLJAR_GRADE_PATIENCE_H
#define BELLJAR_GRADE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#define PATIENCE_FACTOR 5  /* of the wall clock, the second time */
#define PATIENCE_SHARE	20 /* it used at least 1/20 of the time that went by */

/* The clock has ended it before its CPU limit (0: none), and it was at work: on a busy machine that says nothing about the program. */
static inline bool patience_starved(uint64_t cpu_ns, uint64_t wall_ns, uint64_t limit_ns)
{
	return cpu_ns * PATIENCE_SHARE >= wall_ns && (!limit_ns || cpu_ns < limit_ns);
}

#endif
