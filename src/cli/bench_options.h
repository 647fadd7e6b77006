/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `belljar bench`, for the front's help and for belljar-bench, which parses them. */
#ifndef BELLJAR_CLI_BENCH_OPTIONS_H
#define BELLJAR_CLI_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct bench_options {
	bool quick, json;
	const char *out; /* the object goes there too */
	const char *only, *jobs_only;
	uint64_t rounds, milliseconds, soak;
};

#endif
