/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `belljar bench`. */
#include "cli/bench_options.h"

#include <stddef.h>

#include "cli/cli.h"

#define AT(f) offsetof(struct bench_options, f)

static const struct opt bench_opts[] = {
	{ "json", 0, NULL, NULL, OPT_FLAG, AT(json), NULL, 0, 0, 0, "print one JSON object (docs/bench.md)" },
	{ "out", 0, "FILE", NULL, OPT_STR, AT(out), NULL, 0, 0, 0, "write that object to FILE as well" },
	{ "quick", 'q', NULL, NULL, OPT_FLAG, AT(quick), NULL, 0, 0, 0, "a first look: 10 rounds, 0.3 seconds" },
	{ "rounds", 'r', "N", NULL, OPT_U64, AT(rounds), NULL, 1, 100000, 0,
	  "runs of each contender and job for the latencies (default 60)" },
	{ "seconds", 's', "S", NULL, OPT_MS, AT(milliseconds), NULL, 50, 600000, 0,
	  "time of each contender, job and number in flight (default 1.5s)" },
	{ "only", 'o', "NAME,...", NULL, OPT_STR, AT(only), NULL, 0, 0, 0, "these contenders only" },
	{ "jobs", 0, "NAME,...", NULL, OPT_STR, AT(jobs_only), NULL, 0, 0, 0, "these jobs only: python, true, node, numpy" },
	{ "soak", 0, "N", NULL, OPT_U64, AT(soak), NULL, 10, 100000000, 0,
	  "N runs through belljar batch as well: does anything grow?" },
	{ .name = NULL },
};

const struct opt_cmd cmd_bench_opts = {
	.name = "bench",
	.summary = "measure belljar beside bare programs and other sandboxes",
	.usage = "  belljar bench [--quick] [--rounds N] [--seconds S] [--only NAME,...] [--jobs NAME,...] [--json] [--out FILE]",
	.details = "Contenders: bare, bubblewrap, nsjail, firejail, runc, crun, runsc, docker, podman, belljar-run,\n"
		   "belljar-batch, belljar-recycle; whatever is not installed or does not work is listed with the reason.\n"
		   "Exit status 0 when it was measured, however fast; 1 when belljar itself gave a wrong result.",
	.opts = bench_opts,
};
