/* SPDX-License-Identifier: Apache-2.0 */
/* belljar eval: grades the samples of a data set. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "cli/pooled.h"
#include "grade/eval.h"
#include "run/rules.h"

struct eval_options {
	struct request req; /* first: the rows of request.h fill it */
	const char *data, *samples, *out, *ks, *preload, *field;
	uint64_t jobs;
	bool references, resume, force, ignore_incomplete, json, quiet;
};

#define AT(field) offsetof(struct eval_options, field)

static const struct opt eval_opts[] = {
	{ "data", 'd', "FILE", NULL, OPT_STR, AT(data), NULL, 0, 0, 0, "the data set: .jsonl or .jsonl.gz" },
	{ "samples", 's', "FILE", NULL, OPT_STR, AT(samples), NULL, 0, 0, 0, "lines with task_id and completion or solution; .gz too" },
	{ "references", 0, NULL, NULL, OPT_FLAG, AT(references), NULL, 0, 0, 0, "grade the data set's own solutions instead" },
	{ "field", 0, "NAME", NULL, OPT_STR, AT(field), NULL, 0, 0, 0, "with --references: solutions are in that field of the tasks" },
	{ "out", 'o', "FILE", NULL, OPT_STR, AT(out), NULL, 0, 0, 0, "results (default: SAMPLES_results.jsonl)" },
	{ "resume", 'r', NULL, NULL, OPT_FLAG, AT(resume), NULL, 0, 0, 0, "go on after the results that are there" },
	{ "force", 0, NULL, NULL, OPT_FLAG, AT(force), NULL, 0, 0, 0, "replace results that are there" },
	{ "pass", 'k', "K,K,K", "1,10,100", OPT_STR, AT(ks), NULL, 0, 0, 0, "which pass@k to print; those with enough samples are" },
	{ "ignore-incomplete", 0, NULL, NULL, OPT_FLAG, AT(ignore_incomplete), NULL, 0, 0, 0, "not every task needs a sample" },
	{ "jobs", 'j', "N", NULL, OPT_U64, AT(jobs), NULL, 1, 100, 0, "samples at once (default: two for each CPU)" },
	{ "preload", 0, "A,B,C", NULL, OPT_STR, AT(preload), NULL, 0, 0, 0, "Python modules that are imported before" },
	REQUEST_LIMIT_OPTS
	REQUEST_ALLOW_OPT
	REQUEST_POLICY_OPTS
	REQUEST_AUDIT_OPTS
	{ "json", 0, NULL, NULL, OPT_FLAG, AT(json), NULL, 0, 0, 0, "the summary as JSON" },
	{ "quiet", 'q', NULL, NULL, OPT_FLAG, AT(quiet), NULL, 0, 0, 0, "no progress, no summary" },
	{ .name = NULL },
};

const struct opt_cmd cmd_eval_opts = {
	.name = "eval",
	.summary = "grade samples of HumanEval, MBPP, their + versions, QuixBugs or own cases",
	.usage = "  belljar eval [OPTIONS] DATASET --data FILE --samples SAMPLES.jsonl\n"
		 "  belljar eval [OPTIONS] DATASET --data FILE --references",
	.details = "Data sets: humaneval, humaneval+, mbpp, mbpp+, humaneval-x, multipl-e, quixbugs, cases (docs/grading.md). The tests run in another jar than the sample.\n"
		   "Exit status: 0 all passed; 1 not; 2 usage or bad files; 125 belljar failed; 130 stopped by a signal (--resume goes on).",
	.words = true,
	.opts = eval_opts,
};

static int open_file(const char *path, const char *option, int flags, int *out, struct err *e)
{
	struct stat st;

	*out = open(path, flags | O_CLOEXEC | O_NOCTTY, 0666);
	if (*out < 0 || fstat(*out, &st) < 0) {
		err_sys(e, "%s: %s", option, path);
		e->kind = ERR_INPUT;
		return -1;
	}
	return S_ISDIR(st.st_mode) ? err_set(e, ERR_INPUT, "%s: %s is a folder", option, path) : 0;
}

static int read_ks(struct eval_setup *s, const char *text, struct err *e)
{
	while (*text) {
		char *end;
		unsigned long k = strtoul(text, &end, 10);

		if (end == text || (*end && *end != ',') || !k || k > 100000 || s->k_count == EVAL_KS)
			return err_set(e, ERR_USAGE, "--pass: '%.40s' is not a list of at most %d numbers", text, EVAL_KS);
		s->ks[s->k_count++] = (unsigned)k;
		text = *end ? end + 1 : end;
	}
	return 0;
}

static int open_out(struct eval_setup *s, const struct eval_options *o, struct arena *a, struct err *e)
{
	struct stat st;

	s->out_name = o->out ? o->out : o->references ? "/dev/null" : arena_fmt(a, "%s_results.jsonl", o->samples);
	if (open_file(s->out_name, "--out", O_RDWR | O_CREAT, &s->out, e) < 0)
		return -1;
	if (fstat(s->out, &st) == 0 && S_ISREG(st.st_mode) && st.st_size && !o->resume && !o->force) {
		err_set(e, ERR_INPUT, "%s has results in it", s->out_name);
		return err_hint(e, "--resume goes on after them, --force replaces them");
	}
	if (o->force && S_ISREG(st.st_mode) && ftruncate(s->out, 0) < 0)
		return err_sys(e, "empty %s", s->out_name);
	if (o->references && !o->out)
		s->out_name = NULL;
	return 0;
}

static int prepare(struct eval_setup *s, struct eval_options *o, const struct config *c, const struct opt_rest *rest, struct arena *a, struct err *e)
{
	if (rest->words.n != 1 || rest->dashes) {
		err_set(e, ERR_USAGE, rest->words.n ? "give one data set" : "which data set?");
		return err_hint(e, "humaneval, humaneval+, mbpp, mbpp+, humaneval-x, multipl-e, quixbugs or cases");
	}
	s->kind = dataset_find(rest->words.v[0]);
	if (!s->kind) {
		err_set(e, ERR_USAGE, "'%.60s' is no data set that belljar knows", rest->words.v[0]);
		return err_hint(e, "humaneval, humaneval+, mbpp, mbpp+, humaneval-x, multipl-e, quixbugs or cases");
	}
	if (!o->data)
		return err_set(e, ERR_USAGE, "--data FILE is missing: the tasks of %s", s->kind->title);
	if (!o->samples == !o->references)
		return err_set(e, ERR_USAGE, "give --samples FILE, or --references");
	if (o->field && !o->references)
		return err_set(e, ERR_USAGE, "--field goes with --references");
	if (rules_load_named(o->req.rules, e) < 0 || !rules_of(o->req.rules, e))
		return -1;
	/* Results have no place for findings that do not refuse. */
	if (o->req.policy == POLICY_WARN)
		o->req.policy = POLICY_OFF;
	if (read_ks(s, o->ks, e) < 0 || open_file(o->data, "--data", O_RDONLY, &s->data, e) < 0 ||
	    (o->samples && open_file(o->samples, "--samples", O_RDONLY, &s->samples, e) < 0) || open_out(s, o, a, e) < 0)
		return -1;
	s->data_name = o->data;
	s->samples_name = o->samples ? o->samples : "references";
	s->references = o->references;
	s->field = o->field;
	s->resume = o->resume;
	s->ignore_incomplete = o->ignore_incomplete;
	s->json = o->json;
	s->quiet = o->quiet;
	s->progress = !o->quiet && isatty(2);
	if (!o->req.limits.cpu_ms)
		o->req.limits.cpu_ms = s->kind->cpu_ms;
	if (!o->req.limits.wall_ms)
		o->req.limits.wall_ms = o->req.limits.cpu_ms * 3;
	ceiling_clamp(&c->system, &o->req);
	s->request = &o->req;
	return pooled_sizes(&s->grade.open, &o->jobs, c, o->preload, false, o->req.limits.disk_bytes, e);
}

int cmd_eval(int argc, char **argv)
{
	static struct eval_options o;
	static struct eval_setup setup;
	static struct request defaults, before;
	static struct config config;
	static struct pooled pooled;
	struct arena arena = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	const char *no_store;
	int status = 125;

	_Static_assert(offsetof(struct eval_options, req) == 0, "rows of request.h count from there");
	if (pooled_start(&pooled, &e) < 0)
		return cli_error(&e);
	opt_defaults(eval_opts, &o, &arena);
	if (config_load(&config, &o.req, &arena, &e) < 0) {
		status = cli_error(&e);
		goto out;
	}
	request_configured(&o.req);
	defaults = o.req;
	defaults.policy = POLICY_OFF;
	o.req.limits.cpu_ms = o.req.limits.wall_ms = 0;
	o.req.limits.memory_bytes = 1ULL << 30;
	before = o.req;
	if (cli_parse(&cmd_eval_opts, argc, argv, &o, &rest, &arena, &status))
		goto out;
	if (config_hold(&config, &before, &o.req, &arena, &e) < 0) {
		status = cli_error(&e);
		goto out;
	}
	if (prepare(&setup, &o, &config, &rest, &arena, &e) < 0) {
		status = e.kind == ERR_INPUT || e.kind == ERR_USAGE ? (cli_error(&e), 2) : cli_error(&e);
		goto out;
	}
	setup.grade.keeper = pooled_keeper(&pooled, &e);
	setup.grade.jobs = (size_t)o.jobs;
	setup.grade.defaults = &defaults;
	setup.grade.quiet = o.quiet;
	pooled_verifiers(&setup.grade.open, o.jobs);
	if (setup.grade.keeper < 0 || pooled_store(&setup.grade.ledger, &o.req, &no_store, &e) < 0 || pooled_confine(&pooled, arena_fmt(&arena, "eval %s", setup.kind->name), &(struct strlist){ 0 }, o.quiet, &arena, &e) < 0) {
		status = cli_error(&e);
		goto out;
	}
	status = eval_run(&setup, &e);
	if (e.msg[0])
		cli_error(&e);
out:
	fflush(stdout);
	pooled_end(&pooled);
	arena_free(&arena);
	return status;
}
