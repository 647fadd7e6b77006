/* SPDX-License-Identifier: Apache-2.0 */
/* belljar swebench: the sub-commands that need jars. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/swebench.h"
#include "grade/swe_env.h"
#include "grade/swe_run.h"
#include "run/state.h"

#define NETWORK_S 120
#define LOG_MAX	  (256U << 20)

/* Everything that one call holds. */
struct call {
	struct swebench *s;
	struct arena *a;
	struct swe_trees trees;
	struct swe_instances instances;
	struct swe_predictions predictions;
	struct swe_evaluation eval;
	struct strlist folders;
	const char *repos; /* real path; NULL: none */
	int out;
};

/* ---- before the front is confined ---- */

static int open_repos(struct call *c, struct err *e)
{
	auto_free char *real = c->s->repos ? realpath(c->s->repos, NULL) : NULL;

	if (!c->s->repos)
		return 0;
	if (!real) {
		err_sys(e, "--repos: %s", c->s->repos);
		e->kind = ERR_INPUT;
		return -1;
	}
	c->repos = arena_dup(c->a, real);
	strlist_add(c->a, &c->folders, c->repos);
	return 0;
}

static int open_out(struct call *c, struct err *e)
{
	auto_free char *real = NULL;

	if (!c->s->out)
		return 0;
	if (mkdir(c->s->out, 0755) < 0 && errno != EEXIST) {
		err_sys(e, "--out: make %s", c->s->out);
		e->kind = ERR_INPUT;
		return -1;
	}
	real = realpath(c->s->out, NULL);
	c->out = real ? open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (c->out < 0) {
		err_sys(e, "--out: %s", c->s->out);
		e->kind = ERR_INPUT;
		return -1;
	}
	strlist_add(c->a, &c->s->pooled.write, arena_dup(c->a, real));
	return 0;
}

/* All of them, before anything runs. */
static int open_environments(const struct swebench *s, struct err *e)
{
	if (swe_env_options(s->python, s->env, e) < 0 || (s->env_map && swe_env_map(s->env_map, e) < 0))
		return -1;
	return swe_env_rows(e);
}

static unsigned terminal_columns(void)
{
	struct winsize w = { 0 };

	if (!isatty(2))
		return 0;
	return ioctl(2, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : 80;
}

/* What must be done with the caller's rights; then these are gone. */
static int prepare(struct call *c, const char *what, struct err *e)
{
	struct swe_jars_setup *j = &c->eval.jars;
	const char *no_store;

	if (open_repos(c, e) < 0 || open_out(c, e) < 0 || swe_trees_open(&c->trees, e) < 0 || swe_spec_load(e) < 0 || open_environments(c->s, e) < 0)
		return -1;
	c->trees.max_bytes = swebench_trees_max(c->s);
	strlist_add(c->a, &c->s->pooled.write, c->trees.dir);
	strlist_add(c->a, &c->s->pooled.write, c->trees.canary_dir);
	if (!c->s->jobs)
		c->s->jobs = pooled_cpus();
	if (pooled_sizes(&j->open, &c->s->jobs, &c->s->config, "", false, c->s->req.limits.disk_bytes, e) < 0)
		return -1;
	/* Each jar is made for its repository: none is kept ahead. */
	j->open.floor = j->open.ceiling = j->open.zygotes = 0;
	j->jobs = (size_t)c->s->jobs;
	j->quiet = c->s->quiet;
	j->keeper = pooled_keeper(&c->s->pooled, e);
	if (j->keeper < 0 || pooled_store(&j->ledger, &c->s->req, &no_store, e) < 0)
		return -1;
	c->eval.repos = c->repos;
	c->eval.trees = &c->trees;
	c->eval.defaults = &c->s->req;
	c->eval.logs = c->out;
	c->eval.extra = &c->s->extra;
	c->eval.tests = c->s->tests.n ? &c->s->tests : NULL;
	c->eval.wall_ms = c->s->wall_ms;
	c->eval.memory_bytes = c->s->memory_bytes;
	c->eval.canaries = !c->s->no_canaries;
	c->eval.canary_folder = c->trees.canary_fd;
	c->eval.strict = c->s->strict;
	c->eval.progress = !c->s->quiet && (c->s->progress || (!c->s->json && isatty(2)));
	c->eval.columns = terminal_columns();
	c->eval.ctx = c;
	c->s->req.policy = POLICY_OFF;
	return pooled_confine(&c->s->pooled, arena_fmt(c->a, "swebench %s", what), &c->folders, c->s->quiet, c->a, e);
}

static void call_done(struct call *c)
{
	for (size_t i = 0; i < c->eval.count; i++)
		swe_item_free(&c->eval.items[i]);
	swe_predictions_done(&c->predictions);
	swe_instances_done(&c->instances);
	swe_trees_close(&c->trees);
	fd_close(&c->out);
}

/* ---- the table ---- */

static const char *inner_text(const json_t *report, const char *object, const char *key)
{
	const json_t *o = swe_report_inner((json_t *)report);

	if (object)
		o = json_object_get(o, object);
	return json_string_value(json_object_get(o, key));
}

static void count_of(const json_t *report, const char *list, size_t *ok, size_t *all)
{
	const json_t *o = json_object_get(json_object_get(swe_report_inner((json_t *)report), "tests_status"), list);

	*ok = json_array_size(json_object_get(o, "success"));
	*all = *ok + json_array_size(json_object_get(o, "failure"));
}

static const char *verdict_word(const struct swe_item *i)
{
	static const char *const words[] = { [SWE_NOT_RUN] = "not run", [SWE_RESOLVED] = "resolved", [SWE_UNRESOLVED] = "no", [SWE_EMPTY] = "empty patch",
					     [SWE_FAILED_TO_RUN] = "error" };

	return words[i->outcome];
}

static void print_head(void)
{
	printf("%-28s %-20s %-26s %9s %9s  %-11s %8s  %s\n", "INSTANCE", "MODEL", "APPLIED BY", "F2P", "P2P", "RESOLVED", "SECONDS", "REMARKS");
}

static void print_row(const struct swe_item *i)
{
	const char *method = inner_text(i->report, "apply", "method"), *outcome = inner_text(i->report, "apply", "outcome"), *error = inner_text(i->report, NULL, "error");
	const char *reason = inner_text(i->report, NULL, "reason");
	const json_t *o = swe_report_inner(i->report), *jar = json_object_get(o, "jar"), *rounds = json_object_get(o, "canaries"), *one;
	double seconds = json_number_value(json_object_get(jar, "seconds")) + json_number_value(json_object_get(rounds, "seconds"));
	size_t f, fn, p, pn, k;
	char f2p[40], p2p[40], remarks[512];
	int n;

	count_of(i->report, "FAIL_TO_PASS", &f, &fn);
	count_of(i->report, "PASS_TO_PASS", &p, &pn);
	snprintf(f2p, sizeof(f2p), "%zu/%zu", f, fn);
	snprintf(p2p, sizeof(p2p), "%zu/%zu", p, pn);
	n = snprintf(remarks, sizeof(remarks), "%.200s", error ? error : i->outcome == SWE_RESOLVED || !reason ? "" : reason);
	json_array_foreach(json_object_get(o, "tampering"), k, one) {
		const char *what = json_string_value(json_object_get(one, "what"));

		if (what && n >= 0 && (size_t)n < sizeof(remarks) - 60)
			n += snprintf(remarks + n, sizeof(remarks) - (size_t)n, "%s%.40s", k ? ", " : n ? "; tampering: " : "tampering: ", what);
	}
	struct arena a = { 0 };

	printf("%-28s %-20s %-26s %9s %9s  %-11s %8.2f  ", text_clean(&a, span_of(i->instance->id), 60), text_clean(&a, span_of(i->pred.model), 40),
	       text_clean(&a, span_of(method ? method : outcome ? outcome : "-"), 40), f2p, p2p, verdict_word(i), seconds);
	arena_free(&a);
	cli_print_safe_to(stdout, "%s%s\n", i->resumed ? "(earlier) " : "", remarks);
	fflush(stdout);
}

/* Of `apply`: how each way went, and what did not fit. */
static void print_apply(const struct swe_item *i)
{
	const json_t *o = json_object_get(swe_report_inner(i->report), "apply"), *v;
	const char *outcome = inner_text(i->report, "apply", "outcome"), *method = inner_text(i->report, "apply", "method"), *detail = inner_text(i->report, "apply", "detail");
	size_t k;

	cli_print_safe_to(stdout, "%s: %s", i->instance->id, outcome ? outcome : "not tried");
	if (method && outcome && strcmp(method, outcome) != 0)
		printf(" by %s", method);
	if (detail)
		cli_print_safe_to(stdout, " (%s%s)", detail, "");
	putchar('\n');
	json_array_foreach (json_object_get(o, "files"), k, v) {
		cli_print_safe_to(stdout, "  %s%s\n", json_string_value(v), "");
	}
	json_array_foreach (json_object_get(o, "attempts"), k, v) {
		if (json_integer_value(json_object_get(v, "exit")) != 0 || json_is_null(json_object_get(v, "exit")))
			printf("  tried and failed: %s\n", json_string_value(json_object_get(v, "method")));
	}
	json_array_foreach (json_object_get(o, "notes"), k, v) {
		printf("  note: %s\n", json_string_value(v));
	}
}

static void told(void *ctx, struct swe_item *i)
{
	struct call *c = ctx;

	if (!c->s->json)
		print_row(i);
}

/* ---- run ---- */

static bool is_wanted(const struct swebench *s, const char *id)
{
	bool wanted = !s->ids.n && !s->id;

	for (size_t i = 0; i < s->ids.n; i++)
		wanted = wanted || strcmp(s->ids.v[i], id) == 0;
	return wanted || (s->id && strcmp(s->id, id) == 0);
}

static int read_predictions(struct call *c, struct buf *text, struct err *e)
{
	if (swe_predictions_parse(&c->predictions, &c->instances, text->data ? text->data : "", text->len, c->s->predictions, e) < 0)
		return -1;
	for (size_t i = 0; i < c->predictions.warnings.n && !c->s->quiet; i++)
		cli_print_safe_to(stderr, "belljar: %s%s\n", c->predictions.warnings.v[i], "");
	for (size_t i = 0; i < c->predictions.unknown.n && !c->s->quiet; i++)
		cli_print_safe_to(stderr, "belljar: %s is not among the instances%s\n", c->predictions.unknown.v[i], "");
	return 0;
}

static void add_item(struct call *c, const struct swe_instance *i, const struct swe_prediction *p)
{
	struct swe_item *x = &c->eval.items[c->eval.count++];

	x->instance = i;
	x->pred = *p;
}

/* One report for each model, beside the folders of its logs. */
static void write_summaries(struct call *c)
{
	enum swe_state *states = arena_alloc(c->a, (c->predictions.n + 1) * sizeof(*states));
	json_t *all = json_array();

	for (size_t k = 0; k < c->eval.count; k++)
		for (size_t p = 0; p < c->predictions.n; p++)
			if (c->predictions.v[p].instance == c->eval.items[k].instance && strcmp(c->predictions.v[p].model, c->eval.items[k].pred.model) == 0)
				states[p] = c->eval.items[k].state == SWE_ITEM_TOLD ? c->eval.items[k].outcome : SWE_NOT_RUN;
	for (size_t m = 0; m < c->predictions.models.n; m++) {
		const char *model = c->predictions.models.v[m];
		json_t *report = swe_report_run(&c->instances, &c->predictions, model, states);
		auto_free char *text = swe_report_text(report);

		if (c->out >= 0 && text) {
			const char *name = arena_fmt(c->a, "%s.report.json", swe_model_folder(model, c->a));
			auto_close int fd = -1;

			unlinkat(c->out, name, 0);
			fd = openat(c->out, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

			if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
				fprintf(stderr, "belljar: write the report: %s\n", strerror(errno));
		}
		json_array_append_new(all, report);
	}
	if (c->s->json) {
		json_t *o = json_object(), *rows = json_array();

		for (size_t k = 0; k < c->eval.count; k++)
			if (c->eval.items[k].report)
				json_array_append(rows, c->eval.items[k].report);
		json_object_set_new(o, "instances", rows);
		json_object_set(o, "runs", all);
		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(o);
	}
	json_decref(all);
}

static int finish(struct call *c, int rc, uint64_t began, struct err *e)
{
	size_t by[5] = { 0 };

	if (rc < 0)
		return -1;
	for (size_t k = 0; k < c->eval.count; k++)
		by[c->eval.items[k].state == SWE_ITEM_TOLD ? c->eval.items[k].outcome : SWE_NOT_RUN]++;
	if (!c->s->json)
		printf("\n%zu predictions: %zu resolved, %zu not resolved, %zu empty, %zu errors%s; %.1f s\n", c->eval.count, by[SWE_RESOLVED], by[SWE_UNRESOLVED],
		       by[SWE_EMPTY], by[SWE_FAILED_TO_RUN], by[SWE_NOT_RUN] ? ", not all were run" : "", (double)(clock_mono_ns() - began) / 1e9);
	if (rc == 130)
		return err_set(e, ERR_INTERNAL, "stopped by a signal%s", c->out >= 0 ? "; the same command goes on where it stopped" : ""), 130;
	return by[SWE_RESOLVED] == c->eval.count ? 0 : 1;
}

int swebench_run(struct swebench *s, struct arena *a, struct err *e)
{
	static struct call c;
	auto_buf text = BUF_INIT(SWE_FILE_MAX);
	auto_close int fd = -1;
	uint64_t began = clock_mono_ns();
	int rc = -1;

	c = (struct call){ .s = s, .a = a, .out = -1, .trees = { .fd = -1, .canary_fd = -1 } };
	if (!s->predictions) {
		err_set(e, ERR_USAGE, "--predictions FILE is missing");
		return err_hint(e, "--predictions gold runs the patches of the instances themselves");
	}
	bool gold = strcmp(s->predictions, "gold") == 0;

	fd = gold ? -1 : swebench_open(s->predictions, "--predictions: ", e);
	if ((!gold && fd < 0) || swebench_open_instances(s, e) < 0 || prepare(&c, "run", e) < 0 || swebench_instances(s, &c.instances, e) < 0 ||
	    (!gold && swe_read(fd, s->predictions, &text, e) < 0))
		goto out;
	if (gold) {
		c.predictions.v = calloc(c.instances.n + 1, sizeof(*c.predictions.v));
		if (!c.predictions.v) {
			err_set(e, ERR_INTERNAL, "no memory");
			goto out;
		}
		strlist_add(a, &c.predictions.models, "gold");
		for (size_t i = 0; i < c.instances.n; i++)
			c.predictions.v[c.predictions.n++] = (struct swe_prediction){ c.instances.v[i].id, "gold", c.instances.v[i].patch, c.instances.v[i].patch_len, &c.instances.v[i] };
	} else if (read_predictions(&c, &text, e) < 0) {
		goto out;
	}
	c.eval.items = arena_alloc(a, (c.predictions.n + 1) * sizeof(*c.eval.items));
	for (size_t i = 0; i < c.predictions.n; i++)
		if (is_wanted(s, c.predictions.v[i].instance_id))
			add_item(&c, c.predictions.v[i].instance, &c.predictions.v[i]);
	if (!c.eval.count) {
		err_set(e, ERR_INPUT, "no prediction is for an instance that was asked for");
		goto out;
	}
	if (!s->json)
		print_head();
	for (size_t k = 0; k < c.eval.count && c.out >= 0 && !s->all; k++)
		if (swe_item_resume(&c.eval, &c.eval.items[k]) && !s->json)
			print_row(&c.eval.items[k]);
	c.eval.told = told;
	rc = swe_evaluate(&c.eval, e);
	if (rc >= 0)
		write_summaries(&c);
	rc = finish(&c, rc, began, e);
out:
	call_done(&c);
	return rc;
}

/* ---- validate ---- */

static const struct swe_item *find_item(const struct call *c, const struct swe_instance *i, bool bare)
{
	for (size_t k = 0; k < c->eval.count; k++)
		if (c->eval.items[k].instance == i && c->eval.items[k].bare == bare)
			return &c->eval.items[k];
	return NULL;
}

/* Without the gold patch no FAIL_TO_PASS test passes, with it all do. */
static bool holds(const struct call *c, const struct swe_instance *i, const char **why)
{
	const struct swe_item *before = find_item(c, i, true), *gold = find_item(c, i, false);

	if (before->state != SWE_ITEM_TOLD || gold->state != SWE_ITEM_TOLD)
		*why = "not run";
	else if (before->err.kind || gold->err.kind)
		*why = before->err.kind ? before->err.msg : gold->err.msg;
	else if (before->verdict.f2p_ok)
		*why = "a FAIL_TO_PASS test passes before";
	else if (!gold->verdict.resolved)
		*why = "the gold patch does not resolve it";
	else
		*why = NULL;
	return !*why;
}

int swebench_validate(struct swebench *s, struct arena *a, struct err *e)
{
	static struct call c;
	uint64_t began = clock_mono_ns();
	size_t good = 0, n = 0;
	json_t *rows = json_array();
	int rc = -1;

	c = (struct call){ .s = s, .a = a, .out = -1, .trees = { .fd = -1, .canary_fd = -1 } };
	if (swebench_open_instances(s, e) < 0 || prepare(&c, "validate", e) < 0 || swebench_instances(s, &c.instances, e) < 0)
		goto out;
	c.eval.items = arena_alloc(a, (c.instances.n * 2 + 1) * sizeof(*c.eval.items));
	for (size_t i = 0; i < c.instances.n; i++) {
		const struct swe_instance *x = &c.instances.v[i];

		if (!is_wanted(s, x->id))
			continue;
		add_item(&c, x, &(struct swe_prediction){ x->id, "before", NULL, 0, x });
		c.eval.items[c.eval.count - 1].bare = true;
		add_item(&c, x, &(struct swe_prediction){ x->id, "gold", x->patch, x->patch_len, x });
	}
	rc = swe_evaluate(&c.eval, e);
	if (rc < 0)
		goto out;
	if (!s->json)
		printf("%-28s %-14s %-14s %-6s %s\n", "INSTANCE", "F2P BEFORE", "F2P, P2P GOLD", "HOLDS", "WHY NOT");
	for (size_t i = 0; i < c.instances.n; i++) {
		const struct swe_instance *x = &c.instances.v[i];
		const struct swe_item *b = find_item(&c, x, true), *g = find_item(&c, x, false);
		char before[40], gold[80];
		const char *why;

		if (!b)
			continue;
		n++;
		good += holds(&c, x, &why);
		snprintf(before, sizeof(before), "%zu/%zu", b->verdict.f2p_ok, b->verdict.f2p_n);
		snprintf(gold, sizeof(gold), "%zu/%zu, %zu/%zu", g->verdict.f2p_ok, g->verdict.f2p_n, g->verdict.p2p_ok, g->verdict.p2p_n);
		if (!s->json)
			printf("%-28s %-14s %-14s %-6s %s\n", text_clean(a, span_of(x->id), 60), before, gold, why ? "no" : "yes", why ? text_clean(a, span_of(why), 300) : "");
		json_array_append_new(rows, json_pack("{s:s, s:b, s:s?}", "instance_id", x->id, "holds", !why, "reason", why));
	}
	if (s->json) {
		json_dumpf(rows, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		printf("\n%zu of %zu instances hold on this host; %.1f s\n", good, n, (double)(clock_mono_ns() - began) / 1e9);
	}
	rc = rc ? rc : good == n ? 0 : 1;
out:
	json_decref(rows);
	call_done(&c);
	return rc;
}

/* ---- apply, test: one instance, one patch ---- */

static int one_item(struct swebench *s, struct arena *a, bool apply_only, struct err *e)
{
	static struct call c;
	auto_buf patch = BUF_INIT(LOG_MAX);
	const struct swe_instance *i;
	struct swe_item *x;
	const char *outcome;
	auto_close int fd = -1;
	int rc = -1;

	c = (struct call){ .s = s, .a = a, .out = -1, .trees = { .fd = -1, .canary_fd = -1 } };
	if (!s->id)
		return err_set(e, ERR_USAGE, "--id ID is missing");
	bool own = s->patch && strcmp(s->patch, "gold") != 0;

	fd = own ? swebench_open(s->patch, "--patch: ", e) : -1;
	if ((own && fd < 0) || swebench_open_instances(s, e) < 0 || prepare(&c, apply_only ? "apply" : "test", e) < 0 || swebench_instances(s, &c.instances, e) < 0 ||
	    (own && swe_read(fd, s->patch, &patch, e) < 0))
		goto out;
	i = swe_instance_find(&c.instances, s->id);
	if (!i) {
		err_set(e, ERR_INPUT, "--id: there is no instance '%.100s'", s->id);
		goto out;
	}
	c.eval.items = arena_alloc(a, sizeof(*c.eval.items));
	add_item(&c, i, &(struct swe_prediction){ i->id, "patch", patch.data, patch.len, i });
	x = &c.eval.items[0];
	if (s->patch && strcmp(s->patch, "gold") == 0) {
		x->pred.patch = i->patch;
		x->pred.patch_len = i->patch_len;
	}
	x->bare = !s->patch;
	x->apply_only = apply_only;
	c.eval.raw = true;
	rc = swe_evaluate(&c.eval, e);
	if (rc != 0)
		goto out;
	if (x->err.kind) {
		*e = x->err;
		rc = -1;
		goto out;
	}
	json_t *shown = apply_only ? json_object_get(swe_report_inner(x->report), "apply") : x->report;

	if (s->json) {
		json_dumpf(shown ? shown : json_null(), stdout, JSON_INDENT(2));
		putchar('\n');
	} else if (apply_only) {
		print_apply(x);
	} else {
		print_head();
		print_row(x);
	}
	outcome = inner_text(x->report, "apply", "outcome");
	rc = apply_only ? !(outcome && strcmp(outcome, "applied") == 0) : !x->verdict.resolved;
out:
	call_done(&c);
	return rc;
}

int swebench_apply(struct swebench *s, struct arena *a, struct err *e)
{
	return one_item(s, a, true, e);
}

int swebench_test(struct swebench *s, struct arena *a, struct err *e)
{
	return one_item(s, a, false, e);
}

/* ---- checkout ---- */

/* git on the host, over the network, in a bare repository that no guest has ever touched: no credentials, no prompts, no hooks. */
static int git_host(const char *dir, const char *const *words, uint64_t until_ns, struct err *e)
{
	const char *argv[40] = { "git", "--git-dir", dir, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "credential.helper=", "-c", "gc.auto=0",
				 "-c", "http.followRedirects=true", "-c", "protocol.ext.allow=never" };
	static const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
					   "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false", "GIT_SSH_COMMAND=/bin/false", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C.UTF-8", NULL };
	size_t n = 15;
	int status = 0;
	pid_t pid;

	for (; *words && n < 38; words++)
		argv[n++] = *words;
	pid = fork();
	if (pid < 0)
		return err_sys(e, "start git");
	if (pid == 0) {
		setpgid(0, 0);
		dup2(2, 1);
		execve("/usr/bin/git", (char *const *)(void *)argv, (char *const *)(void *)env);
		_exit(127);
	}
	setpgid(pid, pid);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_mono_ns() > until_ns) {
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
			err_set(e, ERR_INPUT, "git took more than %d s", NETWORK_S);
			return err_hint(e, "make the mirror by hand: git clone --mirror URL DIR");
		}
		usleep(10000);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return err_set(e, ERR_INPUT, "git is not installed");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : err_set(e, ERR_INPUT, "git could not fetch it");
}

/*
 * A mirror of our own, in the state folder, has the commit afterwards: asked for by its id, and when the server does not give that, with all branches and
 * tags. git reads no repository's configuration here but that of one which nobody else has ever written to.
 */
static int fetch(struct swebench *s, struct arena *a, const char *repo, const char *commit, char out[SWE_PATH_MAX], struct err *e)
{
	const char *slash = strchr(repo, '/'), *url = s->url ? s->url : arena_fmt(a, "https://github.com/%s", repo), *dir = out;
	uint64_t until = clock_mono_ns() + NETWORK_S * NS_PER_MS * 1000;
	char state[400];
	struct err none = { 0 };
	struct stat st;
	bool by_id = commit && strlen(commit) >= 40;
	static int lock;

	if (url[0] == '-' || strstr(url, "::"))
		return err_set(e, ERR_USAGE, "--url: '%.100s' is no address", url);
	if (state_dir(state, sizeof(state), e) < 0)
		return -1;
	mkdir(arena_fmt(a, "%s/mirrors", state), 0700);
	snprintf(out, SWE_PATH_MAX, "%s/mirrors/%.*s__%s.git", state, (int)(slash - repo), repo, slash + 1);
	if (stat(dir, &st) < 0 && git_host(dir, (const char *const[]){ "init", "-q", "--bare", "--template=", NULL }, until, e) < 0)
		return -1;
	/* Until this process ends: nobody removes it. */
	lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock < 0 || flock(lock, LOCK_SH) < 0)
		return err_sys(e, "lock %s", dir);
	if (by_id && git_host(dir, (const char *const[]){ "cat-file", "-e", arena_fmt(a, "%s^{commit}", commit), NULL }, until, &none) == 0)
		return 0;
	if (by_id && git_host(dir, (const char *const[]){ "fetch", "-q", "--no-tags", "--depth=1", "--no-write-fetch-head", url, commit, NULL }, until, &none) == 0)
		return 0;
	if (git_host(dir, (const char *const[]){ "fetch", "-q", "--update-shallow", "--no-write-fetch-head", url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", NULL }, until, e) < 0)
		return err_wrap(e, "%s", url);
	if (!by_id)
		return git_host(dir, (const char *const[]){ "fetch", "-q", "--no-write-fetch-head", url, "+HEAD:refs/heads/belljar-newest", NULL }, until, e) < 0 ? err_wrap(e, "%s", url)
		     : git_host(dir, (const char *const[]){ "symbolic-ref", "HEAD", "refs/heads/belljar-newest", NULL }, until, e);
	/* It was shallow, and may still lack it. */
	if (git_host(dir, (const char *const[]){ "cat-file", "-e", arena_fmt(a, "%s^{commit}", commit), NULL }, until, &none) == 0)
		return 0;
	return git_host(dir, (const char *const[]){ "fetch", "-q", "--unshallow", url, NULL }, until, e);
}

struct checkout {
	struct swe_build build;
	struct swe_talk talk;
	struct call *c;
	const char *mirror, *repo, *commit;
	struct swe_job job; /* what is built in it */
	char path[SWE_PATH_MAX];
	struct err err;
	bool begun, done;
};

static void checkout_said(struct swe_talk *t, const char *data, size_t len)
{
	swe_build_said(&CONTAINER_OF(t, struct checkout, talk)->build, data, len);
}

static void checkout_done(struct swe_talk *t)
{
	struct checkout *k = CONTAINER_OF(t, struct checkout, talk);

	swe_build_end(&k->build, &t->res, k->path, &k->err);
	k->done = true;
}

static bool checkout_more(void *ctx)
{
	struct checkout *k = ctx;

	if (k->begun)
		return !k->done;
	k->begun = true;
	if (swe_build_begin(&k->build, &k->c->trees, k->repo, k->commit, k->job.build_key, &k->err) < 0)
		return false;
	swe_build_request(&k->build, &k->talk.req, &k->c->s->req, k->mirror, &k->job, &k->talk.arena);
	k->talk.said = checkout_said;
	k->talk.done = checkout_done;
	swe_jars_begin(&k->talk);
	return true;
}

/* --again: unless another process uses it. */
static void remove_tree(const struct checkout *k)
{
	char name[SWE_TREE_NAME];

	swe_tree_name(k->repo, k->commit, k->job.build_key, name);
	swe_tree_remove(&k->c->trees, name);
}

/* What a build step that failed printed last. */
static void tell_output(const struct checkout *k)
{
	struct span rest = span_of(json_string_value(json_object_get(k->build.info, "output"))), line;
	struct arena a = { 0 };

	while (span_line(&rest, &line))
		fprintf(stderr, "  %s\n", text_clean(&a, line, 2000));
	arena_free(&a);
}

static void tell_tree(const struct swebench *s, const struct checkout *k, uint64_t began)
{
	json_t *o = k->build.info ? json_deep_copy(k->build.info) : swe_tree_info(&k->c->trees, k->repo, k->commit, k->job.build_key), *one;
	size_t i;

	if (!json_is_object(o)) {
		json_decref(o);
		o = json_pack("{s:s}", "commit", k->commit);
	}

	json_object_set_new(o, "path", json_string(k->path));
	json_object_set_new(o, "made", json_boolean(k->begun));
	json_object_set_new(o, "seconds", json_real((double)(clock_mono_ns() - began) / 1e9));
	if (s->json) {
		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		puts(k->path);
		json_array_foreach(json_object_get(o, "submodules"), i, one) {
			cli_print_safe_to(stderr, "belljar: submodule %s is an empty folder%s\n", json_string_value(one), "");
		}
		json_array_foreach(json_object_get(o, "lfs"), i, one) {
			cli_print_safe_to(stderr, "belljar: %s is a Git LFS pointer, not the file itself%s\n", json_string_value(one), "");
		}
	}
	json_decref(o);
}

int swebench_checkout(struct swebench *s, struct arena *a, struct err *e)
{
	static struct call c;
	static struct checkout k;
	uint64_t began = clock_mono_ns();
	char mirror[SWE_PATH_MAX];
	const char *repo = s->words.n ? s->words.v[0] : NULL;
	int rc = -1;

	c = (struct call){ .s = s, .a = a, .out = -1, .trees = { .fd = -1, .canary_fd = -1 } };
	k = (struct checkout){ .c = &c, .commit = s->words.n > 1 ? s->words.v[1] : "HEAD" };
	if (!repo || s->words.n > 2) {
		err_set(e, ERR_USAGE, "checkout needs a repository, and may have a commit");
		return err_hint(e, "belljar swebench checkout OWNER/NAME|PATH [COMMIT] --repos DIR");
	}
	if (s->url && !s->network)
		return err_set(e, ERR_USAGE, "--url needs --network");
	if (repo[0] == '/' || repo[0] == '.') {
		/* A path: its mirror is the folder itself. */
		auto_free char *real = realpath(repo, NULL);
		auto_free char *inner = real ? malloc(strlen(real) + 6) : NULL;
		struct stat st;

		if (!real || !inner) {
			err_sys(e, "%s", repo);
			e->kind = ERR_INPUT;
			return -1;
		}
		sprintf(inner, "%s/.git", real);
		k.mirror = arena_dup(a, stat(inner, &st) == 0 && S_ISDIR(st.st_mode) ? inner : real);
		k.repo = arena_fmt(a, "local/%s", strrchr(real, '/') + 1);
		if (!swe_repo_ok(k.repo))
			k.repo = "local/repository";
		strlist_add(a, &c.folders, k.mirror);
	} else {
		if (!swe_repo_ok(repo))
			return err_set(e, ERR_USAGE, "'%.100s' is neither OWNER/NAME nor a path", repo);
		if (!s->repos && !s->network)
			return err_set(e, ERR_USAGE, "--repos DIR is missing: where mirrors are kept");
		if (s->network ? fetch(s, a, repo, k.commit, mirror, e) < 0 : swe_mirror_find(s->repos, repo, mirror, e) < 0)
			return -1;
		k.mirror = realpath(mirror, NULL);
		k.repo = repo;
	}
	/* Which version it is nobody says here: the row and the environment are those without one. */
	if (prepare(&c, "checkout", e) < 0 ||
	    swe_job_begin(&k.job, &(struct swe_instance){ .id = k.repo, .repo = k.repo, .base_commit = k.commit, .version = "" }, SWE_TREE, a, e) < 0)
		goto out;
	if (s->all)
		remove_tree(&k);
	if (strlen(k.commit) < 40 || !swe_tree_find(&c.trees, k.repo, k.commit, k.job.build_key, k.path)) {
		c.eval.jars.more = checkout_more;
		c.eval.jars.ctx = &k;
		rc = swe_jars_run(&c.eval.jars, e);
		if (rc != 0)
			goto out;
		if (k.err.kind) {
			tell_output(&k);
			*e = k.err;
			rc = -1;
			goto out;
		}
	}
	tell_tree(s, &k, began);
	rc = 0;
out:
	if (k.begun) {
		swe_build_drop(&k.build);
		swe_talk_free(&k.talk);
	}
	call_done(&c);
	return rc;
}
