/* SPDX-License-Identifier: Apache-2.0 */
/* belljar test: calls a solution's functions and compares what comes back, outside of its reach. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/pooled.h"
#include "grade/functions.h"
#include "grade/grader.h"
#include "grade/report.h"
#include "grade/test_lines.h"
#include "run/rules.h"
#include "run/run.h"

struct test_options {
	struct request req; /* first: the rows of request.h fill it */
	const char *function, *cases, *setup, *preload;
	uint64_t case_ms;
	bool shared, json, quiet;
};

#define AT(field) offsetof(struct test_options, field)

static const struct opt test_opts[] = {
	{ "func", 'f', "NAME", NULL, OPT_STR, AT(function), NULL, 0, 0, 0, "what to call: f, or Solution().f; a case may name its own" },
	{ "cases", 'c', "FILE", NULL, OPT_STR, AT(cases), NULL, 0, 0, 0, "the cases: JSON (docs/grading.md)" },
	{ "setup", 0, "FILE", NULL, OPT_STR, AT(setup), NULL, 0, 0, 0, "code that runs first, in the solution's namespace" },
	{ "shared", 0, NULL, NULL, OPT_FLAG, AT(shared), NULL, 0, 0, 0, "all cases in one process, one after the other" },
	{ "case-timeout", 0, "TIME", "10s", OPT_MS, AT(case_ms), NULL, 1, 3600000, 0, "CPU time of one case" },
	{ "lang", 'l', "NAME", NULL, OPT_STR, REQUEST_AT(language), NULL, 0, 0, 0, "language of the solution (default: by its ending)" },
	{ "client", 0, "NAME", NULL, OPT_STR, REQUEST_AT(client), NULL, 0, 0, 0, "whose solution it is" },
	{ "file", 0, "SRC[:DST]", NULL, OPT_LIST, REQUEST_AT(file_opts), NULL, 0, 0, 0, "copied into /workspace" },
	{ "preload", 0, "A,B,C", NULL, OPT_STR, AT(preload), NULL, 0, 0, 0, "Python modules that are imported before" },
	REQUEST_LIMIT_OPTS
	REQUEST_ALLOW_OPT
	REQUEST_POLICY_OPTS
	REQUEST_AUDIT_OPTS
	{ "json", 'j', NULL, NULL, OPT_FLAG, AT(json), NULL, 0, 0, 0, "the result object on standard output" },
	{ "quiet", 'q', NULL, NULL, OPT_FLAG, AT(quiet), NULL, 0, 0, 0, "nothing but the exit status, and errors of belljar" },
	{ .name = NULL },
};

const struct opt_cmd cmd_test_opts = {
	.name = "test",
	.summary = "call a solution's functions with given arguments and compare the values",
	.usage = "  belljar test [OPTIONS] SOLUTION --func NAME --cases CASES.json\n"
		 "  belljar test [OPTIONS] SOLUTION",
	.details = "What is expected never enters the jar of the solution, and nothing that it returns is ever executed (docs/grading.md).\n"
		   "Limits are for all cases together: 30s of CPU time, three times that by the clock, 256M, unless given.\n"
		   "Exit status: 0 all cases passed; 1 not; 2 usage or bad cases; 125 belljar failed.",
	.words = true,
	.opts = test_opts,
};

/* ---- input ---- */

static int read_whole(const char *path, const char *option, const char **out, size_t *len, struct arena *a, struct err *e)
{
	struct err inner = { 0 };

	if (request_read_file(path, out, len, a, &inner) == 0)
		return 0;
	*e = inner;
	snprintf(e->msg, sizeof(e->msg), "%s: %.200s", option, inner.msg);
	e->hint[0] = '\0';
	return -1;
}

static int prepare(struct test_options *o, struct function_test *t, const struct opt_rest *rest, struct arena *a, struct err *e)
{
	if (rest->words.n != 1 || rest->dashes) {
		err_set(e, ERR_USAGE, rest->words.n ? "give one solution" : "no solution");
		return err_hint(e, "belljar test SOLUTION --func NAME --cases CASES.json");
	}
	if (rules_load_named(o->req.rules, e) < 0 || !rules_of(o->req.rules, e))
		return -1;
	o->req.file = rest->words.v[0];
	if (request_resolve(&o->req, a, e) < 0)
		return -1;
	*t = (struct function_test){ .function = o->function, .shared = o->shared, .case_ms = o->case_ms };
	if (o->cases && read_whole(o->cases, "--cases", &t->cases, &t->cases_len, a, e) < 0)
		return -1;
	if (o->setup && read_whole(o->setup, "--setup", &t->setup, &t->setup_len, a, e) < 0)
		return -1;
	return 0;
}

/* ---- output ---- */

/* A solution without cases was run as a program: what it printed is all there is to see. */
static void print_program(json_t *result, struct arena *a)
{
	static const char *const streams[] = { "stdout", "stderr" };

	for (int i = 0; i < 2; i++) {
		const char *text = report_text(result, streams[i], a);

		for (size_t n; *text; text += n + (text[n] == '\n')) {
			n = strcspn(text, "\n");
			cli_print_safe_to(stdout, "%s%s\n", arena_fmt(a, "%.*s", (int)n, text), "");
		}
	}
	printf("no cases: it ran as a program and exited with %lld\n", json_integer_value(json_object_get(result, "exit_code")));
}

static void print_table(json_t *result, bool colour)
{
	struct arena a = { 0 };
	const char *const green = colour ? "\033[32m" : "", *const red = colour ? "\033[31m" : "", *const off = colour ? "\033[0m" : "";
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "test_results"), i, row) {
		bool passed = json_is_true(json_object_get(row, "passed"));

		printf("%s%s%s ", passed ? green : red, passed ? "passed" : "FAILED", off);
		fflush(stdout);
		cli_print_safe_to(stdout, "%s%s\n", report_text(row, "name", &a), "");
		if (!passed)
			cli_print_safe_to(stdout, "       %s: %s\n", report_text(row, "reason", &a), report_text(row, "detail", &a));
	}
	if (report_text(result, "error", &a)[0])
		cli_print_safe_to(stdout, "%s: %s\n", report_text(result, "reason", &a), report_text(result, "error", &a));
	json_array_foreach(json_object_get(result, "warnings"), i, row) {
		cli_print_safe_to(stdout, "warning: %s%s\n", json_string_value(row), "");
	}
	if (!json_array_size(json_object_get(result, "test_results")) && !json_is_null(json_object_get(result, "exit_code"))) {
		print_program(result, &a);
		arena_free(&a);
		return;
	}
	printf("%lld of %lld passed, score %.4g\n", json_integer_value(json_object_get(result, "passed")), json_integer_value(json_object_get(result, "total")),
	       json_real_value(json_object_get(result, "score")));
	arena_free(&a);
}

/* What is no verdict on the solution: nothing of it ran. */
static void print_error(json_t *result)
{
	static const char *const reasons[] = { "policy", "setup", "internal", "busy" };
	struct arena a = { 0 };

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strcmp(report_text(result, "reason", &a), reasons[i]) == 0)
			cli_print_safe("error: %s%s\n", report_text(result, "error", &a), "");
	arena_free(&a);
}

static int report(json_t *result, const struct test_options *o)
{
	bool good = json_is_true(json_object_get(result, "all_passed"));
	/* Without cases nothing can have been shown, but a program can have ended well. */
	bool program = !o->cases && !o->function && json_is_true(json_object_get(result, "success"));

	if (o->json) {
		char *text = json_dumps(result, JSON_ENSURE_ASCII | JSON_INDENT(2));

		if (!text || fd_write_all(1, text, strlen(text)) < 0 || fd_write_all(1, "\n", 1) < 0)
			good = program = false;
		free(text);
	} else if (!o->quiet) {
		print_table(result, cli_colour(1));
	} else {
		print_error(result);
	}
	return good || program ? 0 : 1;
}

/* ---- the one sample ---- */

struct one {
	struct grade_sample sample;
	bool given;
	json_t *result;
	struct err err;
};

static struct grade_sample *next(void *ctx)
{
	struct one *o = ctx;

	if (o->given)
		return NULL;
	o->given = true;
	return &o->sample;
}

static void done(void *ctx, struct grade_sample *s, const struct grade_outcome *out)
{
	struct one *o = ctx;

	o->result = function_result(out, &o->err);
	if (o->result)
		function_feedback(o->result, &s->req);
}

static int test_solution(struct test_options *o, const struct function_test *t, const struct config *c, struct pooled *p, const struct request *defaults,
			 struct arena *a, struct err *e)
{
	static struct grade_setup setup;
	static struct result res;
	static struct one one;
	struct strlist files = { 0 }; /* they are read when all else is given up */
	const char *no_store;
	uint64_t jobs = 1;
	int status;

	for (size_t i = 0; i < o->req.file_count; i++)
		if (o->req.files[i].source)
			strlist_add(a, &files, o->req.files[i].source);
	request_copy(&one.sample.req, &o->req);
	setup.defaults = defaults;
	setup.quiet = o->quiet || o->json;
	setup.next = next;
	setup.done = done;
	setup.ctx = &one;
	setup.jobs = 1;
	if (pooled_sizes(&setup.open, &jobs, c, o->preload, false, o->req.limits.disk_bytes, e) < 0)
		return cli_error(e);
	pooled_verifiers(&setup.open, jobs);
	if (t->cases && function_sample(&one.sample, t, a, e) < 0)
		return e->kind == ERR_USAGE ? (cli_error(e), 2) : cli_error(e);
	setup.keeper = pooled_keeper(p, e);
	if (setup.keeper < 0 || pooled_store(&setup.ledger, &o->req, &no_store, e) < 0 || pooled_confine(p, arena_fmt(a, "test %s", o->req.file), &files, o->quiet, a, e) < 0)
		return cli_error(e);
	if (t->cases) {
		status = grade_all(&setup, e);
		if (status)
			return e->msg[0] ? cli_error(e) : status;
		if (!one.result)
			return one.err.kind == ERR_INPUT ? (err_wrap(&one.err, "--cases"), cli_error(&one.err), 2) : cli_error(&one.err);
	} else {
		if (grade_program(&setup, &o->req, a, &res, e) < 0)
			return cli_error(e);
		one.result = function_program_result(&res, o->function != NULL);
		function_feedback(one.result, &o->req);
		run_result_done(&res);
	}
	status = report(one.result, o);
	json_decref(one.result);
	return status;
}

int cmd_test(int argc, char **argv)
{
	static struct test_options o;
	static struct request defaults, before;
	static struct config config;
	static struct pooled pooled;
	static struct function_test t;
	struct arena arena = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	int status = 125;

	_Static_assert(offsetof(struct test_options, req) == 0, "rows of request.h count from there");
	if (pooled_start(&pooled, &e) < 0)
		return cli_error(&e);
	opt_defaults(test_opts, &o, &arena);
	if (config_load(&config, &o.req, &arena, &e) < 0) {
		status = cli_error(&e);
		goto out;
	}
	request_configured(&o.req);
	defaults = o.req;
	defaults.policy = POLICY_OFF;
	o.req.limits.cpu_ms = TEST_CPU_MS;
	o.req.limits.wall_ms = 0;
	o.req.limits.memory_bytes = TEST_MEMORY_BYTES;
	before = o.req;
	if (cli_parse(&cmd_test_opts, argc, argv, &o, &rest, &arena, &status))
		goto out;
	if (config_hold(&config, &before, &o.req, &arena, &e) < 0) {
		status = cli_error(&e);
		goto out;
	}
	if (!o.req.limits.wall_ms)
		o.req.limits.wall_ms = o.req.limits.cpu_ms * 3;
	ceiling_clamp(&config.system, &o.req);
	if (prepare(&o, &t, &rest, &arena, &e) < 0) {
		status = e.kind == ERR_INPUT || e.kind == ERR_USAGE ? (cli_error(&e), 2) : cli_error(&e);
		goto out;
	}
	status = test_solution(&o, &t, &config, &pooled, &defaults, &arena, &e);
out:
	pooled_end(&pooled);
	arena_free(&arena);
	return status;
}
