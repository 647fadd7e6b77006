/* SPDX-License-Identifier: Apache-2.0 */
/* The monotonic clock: limits and durations never see the wall clock move. */
#ifndef BELLJAR_BASE_CLOCK_H
#define BELLJAR_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

static inline uint64_t clock_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

#endif
