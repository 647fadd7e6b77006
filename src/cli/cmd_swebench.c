/* SPDX-License-Identifier: Apache-2.0 */
/* belljar swebench: patches for repositories, from instance to verdict. */
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
#include "cli/swebench.h"
#include "grade/swe_clean.h"
#include "grade/swe_report.h"
#include "grade/swe_spec.h"
#include "run/client.h"

#define LOG_MAX (256U << 20)

#define AT(field) offsetof(struct swebench, field)

static const struct opt swebench_opts[] = {
	{ "instances", 'i', "FILE", NULL, OPT_STR, AT(instances), NULL, 0, 0, 0, "SWE-bench instances: .jsonl, .jsonl.gz or a JSON list" },
	{ "meta", 0, "FILE", NULL, OPT_STR, AT(meta), NULL, 0, 0, 0, "by instance_id: test_cmd, test_files, log_parser" },
	{ "id", 0, "ID", NULL, OPT_STR, AT(id), NULL, 0, 0, 0, "grade: which instance" },
	{ "log", 0, "FILE|-", NULL, OPT_STR, AT(log), NULL, 0, 0, 0, "grade: what the test runner printed" },
	{ "exit-status", 0, "N", NULL, OPT_STR, AT(exit), NULL, 0, 0, 0, "grade: how the test runner ended, held against the log" },
	{ "kind", 0, "KIND", NULL, OPT_STR, AT(kind), NULL, 0, 0, 0, "parse, grade: pytest, pytest_options, matplotlib, django, sympy, unittest (grade: the repository's)" },
	{ "predictions", 'p', "FILE", NULL, OPT_STR, AT(predictions), NULL, 0, 0, 0, "run: patches of models (.jsonl, a list, a mapping), or 'gold': those of the instances" },
	{ "repos", 'r', "DIR", NULL, OPT_STR, AT(repos), NULL, 0, 0, 0, "folder of mirrors: OWNER__NAME.git, OWNER/NAME, ..." },
	{ "out", 'o', "DIR", NULL, OPT_STR, AT(out), NULL, 0, 0, 0, "run, validate: reports, and a folder of logs for each instance; run goes on where it stopped" },
	{ "ids", 0, "ID", NULL, OPT_LIST, AT(ids), NULL, 0, 0, 0, "run, validate: only these instances; may be repeated" },
	{ "patch", 0, "FILE|-", NULL, OPT_STR, AT(patch), NULL, 0, 0, 0, "apply, test: the patch, or 'gold' (default: none, only the tests')" },
	{ "test-id", 0, "ID", NULL, OPT_LIST, AT(tests), NULL, 0, 0, 0, "test: run this test instead of the test patch's files; may be repeated" },
	{ "python", 0, "PATH", NULL, OPT_STR, AT(python), NULL, 0, 0, 0, "interpreter that runs the tests (default: the environment's, the repository's)" },
	{ "env", 0, "DIR", NULL, OPT_STR, AT(env), NULL, 0, 0, 0, "environment for the tests: a venv or another folder of this host with bin/python; shown read-only" },
	{ "env-map", 0, "FILE", NULL, OPT_STR, AT(env_map), NULL, 0, 0, 0, "environments by repository: lines, YAML or JSON of OWNER/NAME@VERSION or OWNER/NAME and a folder" },
	{ "jobs", 'j', "N", NULL, OPT_U64, AT(jobs), NULL, 1, POOL_CEILING_MAX, 0, "jars at once (default: one for each CPU)" },
	{ "timeout", 't', "TIME", NULL, OPT_MS, AT(wall_ms), NULL, 1, 86400000, 0, "limit of one run of tests (default: the repository's, 1800s)" },
	{ "memory", 'm', "SIZE", NULL, OPT_BYTES, AT(memory_bytes), NULL, 4ULL << 20, 1ULL << 40, 0, "its memory (default: the repository's, 2G)" },
	{ "extra-arg", 0, "WORD", NULL, OPT_LIST, AT(extra), NULL, 0, 0, 0, "one more word for the test runner; may be repeated" },
	{ "strict-tampering", 0, NULL, NULL, OPT_FLAG, AT(strict), NULL, 0, 0, 0, "any suspicion fails" },
	{ "no-canaries", 0, NULL, NULL, OPT_FLAG, AT(no_canaries), NULL, 0, 0, 0, "what looks resolved is not run again with variants of its tests that must fail" },
	{ "again", 0, NULL, NULL, OPT_FLAG, AT(all), NULL, 0, 0, 0, "run: also what --out has a report of; checkout: make the tree anew" },
	{ "network", 0, NULL, NULL, OPT_FLAG, AT(network), NULL, 0, 0, 0, "checkout: fetch what the mirror lacks (120 s, no credentials); the only step that may" },
	{ "url", 0, "URL", NULL, OPT_STR, AT(url), NULL, 0, 0, 0, "checkout --network: from there (default: https://github.com/OWNER/NAME)" },
	{ "trees-max", 0, "SIZE", NULL, OPT_BYTES, AT(trees_max), NULL, 1ULL << 20, 1ULL << 50, 0, "size of all prepared trees together (default: the configuration's trees.max, 10G)" },
	{ "older-than", 0, "TIME", NULL, OPT_MS, AT(older_ms), NULL, 0, 0, 0, "clean: only what was not used for so long (7d, 12h)" },
	{ "max-size", 0, "SIZE", NULL, OPT_BYTES, AT(max_size), NULL, 0, 0, 0, "clean: only until the rest fits, what was used least recently first" },
	{ "all", 0, NULL, NULL, OPT_FLAG, AT(everything), NULL, 0, 0, 0, "clean: also mirrors that checkout --network made" },
	{ "dry-run", 'n', NULL, NULL, OPT_FLAG, AT(dry_run), NULL, 0, 0, 0, "clean: only say what would be removed" },
	REQUEST_AUDIT_OPTS
	{ "progress", 0, NULL, NULL, OPT_FLAG, AT(progress), NULL, 0, 0, 0, "show progress although standard error is no terminal" },
	{ "quiet", 'q', NULL, NULL, OPT_FLAG, AT(quiet), NULL, 0, 0, 0, "no progress, no notices" },
	{ "json", 0, NULL, NULL, OPT_FLAG, AT(json), NULL, 0, 0, 0, "print JSON" },
	{ .name = NULL },
};

const struct opt_cmd cmd_swebench_opts = {
	.name = "swebench",
	.summary = "evaluate patches for repositories, as SWE-bench does",
	.usage = "  belljar swebench run --instances FILE --predictions FILE --repos DIR [--out DIR]   everything, in parallel, resumable\n"
		 "  belljar swebench validate --instances FILE --repos DIR          which instances hold on this host\n"
		 "  belljar swebench checkout OWNER/NAME|PATH [COMMIT] --repos DIR  a tree of that commit, for later\n"
		 "  belljar swebench apply --instances FILE --id ID --patch FILE    does the patch apply, and how\n"
		 "  belljar swebench test --instances FILE --id ID --patch FILE     one instance, one patch\n"
		 "  belljar swebench grade --instances FILE --id ID --log LOG     what a plain log is worth for an instance\n"
		 "  belljar swebench parse --kind KIND LOG                        the tests in a log, and how they ended\n"
		 "  belljar swebench clean [--older-than TIME] [--max-size SIZE]  remove prepared trees and cached canaries",
	.details = "docs/swebench.md says how verdicts come about.\n"
		   "Exit status: 0 resolved, or done; 1 not resolved; 2 usage or bad files; 125 belljar failed.",
	.words = true,
	.opts = swebench_opts,
};

/* ---- files ---- */

int swebench_open(const char *path, const char *option, struct err *e)
{
	auto_close int fd = strcmp(path, "-") == 0 ? fcntl(0, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err_sys(e, "%s%.200s", option, path);
		e->kind = ERR_INPUT;
		return -1;
	}
	if (S_ISDIR(st.st_mode))
		return err_set(e, ERR_INPUT, "%s%.200s is a folder", option, path);
	return take_fd(&fd);
}

static int read_named(const char *path, const char *option, size_t max, struct buf *out, struct err *e)
{
	auto_close int fd = swebench_open(path, option, e);

	out->max = max;
	return fd < 0 ? -1 : swe_read(fd, path, out, e);
}

int swebench_open_instances(struct swebench *s, struct err *e)
{
	if (!s->instances)
		return err_set(e, ERR_USAGE, "--instances FILE is missing");
	s->instances_fd = swebench_open(s->instances, "--instances: ", e);
	if (s->instances_fd < 0)
		return -1;
	s->meta_fd = s->meta ? swebench_open(s->meta, "--meta: ", e) : -1;
	return s->meta && s->meta_fd < 0 ? -1 : 0;
}

int swebench_instances(struct swebench *s, struct swe_instances *t, struct err *e)
{
	auto_buf text = BUF_INIT(SWE_FILE_MAX), meta = BUF_INIT(SWE_FILE_MAX);

	if (swe_read(s->instances_fd, s->instances, &text, e) < 0 || swe_instances_parse(t, text.data ? text.data : "", text.len, s->instances, e) < 0)
		return -1;
	if (!s->meta)
		return 0;
	return swe_read(s->meta_fd, s->meta, &meta, e) < 0 ? -1 : swe_instances_meta(t, meta.data ? meta.data : "", meta.len, s->meta, e);
}

static const struct swe_instance *find_instance(const struct swe_instances *t, const char *id, struct err *e)
{
	const struct swe_instance *found = swe_instance_find(t, id), *near = NULL;

	for (size_t i = 0; !found && !near && i < t->n; i++)
		if (parse_is_near(id, t->v[i].id))
			near = &t->v[i];
	if (!found)
		err_set(e, ERR_INPUT, "--id: there is no instance '%.100s'%s%.100s%s", id, near ? "; did you mean '" : "", near ? near->id : "", near ? "'?" : "");
	return found;
}

/* The style that was asked for, or the one of the repository. */
static int find_style(const struct swebench *s, const struct swe_instance *i, enum swe_style *out, struct err *e)
{
	const struct swe_spec *spec = i ? swe_spec_find(i->repo, i->version) : NULL;
	const char *name = s->kind;

	if (!name && i)
		name = i->log_parser ? i->log_parser : spec ? spec->parser : NULL;
	if (!name) {
		err_set(e, ERR_USAGE, "--kind is missing");
		return err_hint(e, "%s", swe_style_names());
	}
	if (swe_style_find(name, out))
		return 0;
	err_set(e, s->kind ? ERR_USAGE : ERR_INPUT, "'%.60s' is no kind of log that belljar knows", name);
	return err_hint(e, "%s", swe_style_names());
}

/* ---- parse ---- */

static int sub_parse(struct swebench *s, struct arena *a, struct err *e)
{
	auto_buf text = BUF_INIT(LOG_MAX);
	enum swe_style style = SWE_PYTEST;
	struct swe_log log;
	json_t *o;

	if (s->words.n != 1)
		return err_set(e, ERR_USAGE, s->words.n ? "give one log" : "no log to read");
	if (find_style(s, NULL, &style, e) < 0 || read_named(s->words.v[0], "", LOG_MAX, &text, e) < 0)
		return -1;
	swe_log_parse(&log, style, text.data ? text.data : "", text.len, NULL, a);
	o = json_object();
	for (size_t i = 0; i < log.map.n; i++) {
		const struct swe_map_entry *m = &log.map.v[i];

		if (m->alias)
			continue;
		if (!s->json)
			cli_print_safe_to(stdout, "%s\t%s\n", swe_outcome_name(m->outcome), m->id);
		else
			json_object_set_new(o, text_clean(a, span_of(m->id), strlen(m->id)), json_string(swe_outcome_name(m->outcome)));
	}
	if (s->json) {
		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(o);
	swe_log_done(&log);
	return 0;
}

/* ---- grade ---- */

static void print_list(const char *title, const struct swe_test *t, size_t n, size_t ok)
{
	printf("%s %zu/%zu\n", title, ok, n);
	for (size_t i = 0; i < n; i++)
		if (!t[i].ok)
			cli_print_safe_to(stdout, "  %s: %s\n", swe_reason_name(t[i].reason), t[i].id);
}

static void print_verdict(const char *id, const struct swe_verdict *v)
{
	cli_print_safe_to(stdout, "%s: %s", id, v->resolved ? "resolved" : "not resolved");
	if (v->reason)
		printf(" (%s)", swe_reason_name(v->reason));
	printf(", %s\n", v->resolution);
	print_list("FAIL_TO_PASS", v->f2p, v->f2p_n, v->f2p_ok);
	print_list("PASS_TO_PASS", v->p2p, v->p2p_n, v->p2p_ok);
	for (size_t i = 0; i < v->tampering_n; i++)
		cli_print_safe_to(stdout, "tampering: %s: %s\n", v->tampering[i].what, v->tampering[i].detail);
	printf("trust: %s\n", v->trust);
}

static int grade_log(const struct swebench *s, const struct swe_instance *i, struct arena *a, struct err *e)
{
	auto_buf text = BUF_INIT(LOG_MAX);
	struct swe_run run = { .finished = true };
	struct swe_grade_in in = { .fail_to_pass = &i->fail_to_pass, .pass_to_pass = &i->pass_to_pass, .has_patch = true, .applied = true, .run = &run };
	struct swe_verdict v;
	uint64_t status = 0;
	json_t *report;
	char *out;

	if (s->exit && (parse_u64(s->exit, &status, e) < 0 || status > 255))
		return err_set(e, ERR_USAGE, "--exit-status: '%.40s' is no number up to 255", s->exit);
	if (find_style(s, i, &run.style, e) < 0 || read_named(s->log, "--log: ", LOG_MAX, &text, e) < 0)
		return -1;
	run.log = text.data ? text.data : "";
	run.log_len = text.len;
	run.has_exit = s->exit != NULL;
	run.exit = (int)status;
	swe_grade(&v, &in, a);
	if (s->json) {
		report = swe_report_instance(i->id, NULL, true, &v);
		out = swe_report_text(report);
		fputs(out ? out : "", stdout);
		free(out);
		json_decref(report);
	} else {
		print_verdict(i->id, &v);
	}
	return v.resolved ? 0 : 1;
}

static int sub_grade(struct swebench *s, struct arena *a, struct err *e)
{
	struct swe_instances t = { 0 };
	const struct swe_instance *i;
	int rc = -1;

	if (s->words.n)
		return err_set(e, ERR_USAGE, "unexpected argument '%.60s'", s->words.v[0]);
	if (!s->id || !s->log)
		return err_set(e, ERR_USAGE, s->id ? "--log FILE is missing" : "--id ID is missing");
	if (swebench_open_instances(s, e) == 0 && swebench_instances(s, &t, e) == 0 && (i = find_instance(&t, s->id, e)))
		rc = grade_log(s, i, a, e);
	swe_instances_done(&t);
	return rc;
}

/* ---- clean ---- */

uint64_t swebench_trees_max(const struct swebench *s)
{
	return s->trees_max ? s->trees_max : s->config.trees.max ? s->config.trees.max : 10ULL << 30;
}

static const char *const kept_words[SWE_KEPT_KINDS] = { "trees", "canaries", "mirrors" };

static void say_removed(enum swe_kept kind, const char *name, uint64_t bytes)
{
	char size[32];

	format_bytes((bytes + 1023) & ~1023ULL, size, sizeof(size));
	printf("%-8s %8s  ", kept_words[kind], size);
	cli_print_safe_to(stdout, "%s%s\n", name, "");
}

static json_t *cleaned_json(const struct swe_cleaned *c, bool dry_run)
{
	json_t *o = json_pack("{s:b, s:I, s:I, s:I}", "dry_run", dry_run, "bytes", (json_int_t)c->bytes, "bytes_kept", (json_int_t)c->bytes_kept, "in_use", (json_int_t)c->busy);
	json_t *removed = json_object(), *kept = json_object();

	for (int k = 0; k < SWE_KEPT_KINDS; k++) {
		json_object_set_new(removed, kept_words[k], json_integer((json_int_t)c->removed[k]));
		json_object_set_new(kept, kept_words[k], json_integer((json_int_t)c->kept[k]));
	}
	json_object_set_new(o, "removed", removed);
	json_object_set_new(o, "kept", kept);
	return o;
}

static int sub_clean(struct swebench *s, struct arena *a, struct err *e)
{
	struct swe_clean c = { .older_ms = s->older_ms == UINT64_MAX ? 0 : s->older_ms, .max_bytes = s->max_size, .mirrors = s->everything, .dry_run = s->dry_run };
	struct swe_trees t = { .fd = -1 };
	struct swe_cleaned out;
	json_t *o;
	int rc;

	(void)a;
	if (s->words.n)
		return err_set(e, ERR_USAGE, "unexpected argument '%.60s'", s->words.v[0]);
	rc = swe_trees_open(&t, e) < 0 ? -1 : swe_clean(&t, &c, &out, s->json || s->quiet ? NULL : say_removed, e);
	swe_trees_close(&t);
	if (rc < 0)
		return -1;
	if (s->json) {
		o = cleaned_json(&out, s->dry_run);
		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(o);
		return 0;
	}
	printf("%s %zu trees, %zu canaries, %zu mirrors: %.1f MB; kept %zu trees, %zu canaries, %zu mirrors: %.1f MB", s->dry_run ? "would remove" : "removed", out.removed[SWE_KEPT_TREE],
	       out.removed[SWE_KEPT_CANARY], out.removed[SWE_KEPT_MIRROR], (double)out.bytes / 1e6, out.kept[SWE_KEPT_TREE], out.kept[SWE_KEPT_CANARY], out.kept[SWE_KEPT_MIRROR],
	       (double)out.bytes_kept / 1e6);
	printf(out.busy ? "; %zu are in use\n" : "\n", out.busy);
	return 0;
}

/* ---- the command ---- */

/* Each returns an exit status, or -1 with an error. */
static const struct sub {
	const char *name;
	int (*run)(struct swebench *s, struct arena *a, struct err *e);
	bool jars;
} subs[] = {
	{ "run", swebench_run, true },
	{ "validate", swebench_validate, true },
	{ "checkout", swebench_checkout, true },
	{ "apply", swebench_apply, true },
	{ "test", swebench_test, true },
	{ "grade", sub_grade },
	{ "parse", sub_parse },
	{ "clean", sub_clean },
};
#define SUBS (sizeof(subs) / sizeof(subs[0]))

static const struct sub *find_sub(const char *word, struct err *e)
{
	const char *near = NULL;

	for (size_t i = 0; word && i < SUBS; i++) {
		if (strcmp(subs[i].name, word) == 0)
			return &subs[i];
		if (parse_is_near(word, subs[i].name))
			near = subs[i].name;
	}
	if (!word)
		err_set(e, ERR_USAGE, "what is to be done?");
	else
		err_set(e, ERR_USAGE, "swebench: unknown word '%.40s'%s%s%s", word, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	err_hint(e, "belljar swebench --help");
	return NULL;
}

/* A word that may stand anywhere among options: the keeper has to be started before they are read. */
static bool wants_jars(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < SUBS; k++)
			if (subs[k].jars && strcmp(argv[i], subs[k].name) == 0)
				return true;
	return false;
}

int cmd_swebench(int argc, char **argv)
{
	static struct swebench s = { .instances_fd = -1, .meta_fd = -1, .older_ms = UINT64_MAX, .max_size = UINT64_MAX };
	struct arena a = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	const struct sub *sub;
	bool jars = wants_jars(argc, argv);
	int status = 125;

	_Static_assert(offsetof(struct swebench, req) == 0, "rows of request.h count from there");
	if (jars && pooled_start(&s.pooled, &e) < 0)
		return cli_error(&e);
	opt_defaults(request_opts, &s.req, &a);
	opt_defaults(swebench_opts, &s, &a);
	if (config_load(&s.config, &s.req, &a, &e) < 0) {
		status = cli_error(&e);
		goto out;
	}
	request_configured(&s.req);
	if (cli_parse(&cmd_swebench_opts, argc, argv, &s, &rest, &a, &status))
		goto out;
	sub = find_sub(rest.words.n ? rest.words.v[0] : NULL, &e);
	for (size_t i = 1; i < rest.words.n; i++)
		strlist_add(&a, &s.words, rest.words.v[i]);
	if (sub && sub->jars && (s.req.allow_system.n || s.req.allow_config.n || s.req.allow_project.n)) {
		err_set(&e, ERR_DENIED, "the configuration has an allow-list, and the tests of a repository start what they like");
		err_hint(&e, "take 'allow' out of the configuration (belljar config shows where it stands), or run swebench with another one (XDG_CONFIG_HOME)");
		sub = NULL;
	}
	if (sub && sub->jars && s.config.system.by[opt_find(request_opts, "policy") - request_opts] && s.config.system.at.policy == POLICY_ENFORCE) {
		err_set(&e, ERR_DENIED, "the system file says 'policy: enforce', and the code of a repository is not looked at by the static check");
		err_hint(&e, "the operator of this host can take 'policy' out of the system file (belljar config shows where it stands)");
		sub = NULL;
	}
	if (sub && sub->jars && (ceiling_number(&s.config.system, "timeout", s.wall_ms, "--timeout", &e) < 0 || ceiling_number(&s.config.system, "memory", s.memory_bytes, "--memory", &e) < 0))
		sub = NULL;
	/* What is read from here on was written by whoever is graded. */
	if (!sub || (sub->jars && !jars) || (!sub->jars && (client_drop_rights(false, &e) < 0 || swe_spec_load(&e) < 0)))
		status = -1;
	else
		status = sub->run(&s, &a, &e);
	if (fflush(stdout) != 0 && status >= 0)
		status = 125;
	if (status < 0)
		status = e.kind == ERR_INPUT || e.kind == ERR_USAGE ? (cli_error(&e), 2) : cli_error(&e);
	else if (e.msg[0])
		cli_error(&e);
out:
	fd_close(&s.instances_fd);
	fd_close(&s.meta_fd);
	if (jars)
		pooled_end(&s.pooled);
	arena_free(&a);
	return status;
}
