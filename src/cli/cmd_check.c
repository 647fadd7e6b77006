/* SPDX-License-Identifier: Apache-2.0 */
/* belljar check: what the static check finds in files, and whether their language accepts them. Nothing of them runs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "check/tree.h"
#include "cli/cli.h"
#include "run/config.h"
#include "run/policy.h"
#include "run/rules.h"
#include "run/run.h"
#include "run/state.h"

struct check_options {
	struct request req; /* first: the rows of request.h fill it */
	bool json, list, no_syntax, quiet;
	uint64_t bench;
};

#define AT(field) offsetof(struct check_options, field)

static const struct opt check_opts[] = {
	{ "lang", 'l', "NAME", NULL, OPT_STR, REQUEST_AT(language), NULL, 0, 0, 0, "language of all files; else by ending, then #! line" },
	{ "rules", 'r', "NAMES", "standard", OPT_STR, REQUEST_AT(rules), NULL, 0, 0, OPT_CONFIG,
	  "sets of rules, with commas between: standard, strict, pure, your own; or a file of rules" },
	{ "allow-modules", 0, "MODULE", NULL, OPT_LIST, REQUEST_AT(allow_modules), NULL, 0, 0, 0, "imports of others are findings; may be repeated" },
	{ "deny-modules", 0, "MODULE", NULL, OPT_LIST, REQUEST_AT(deny_modules), NULL, 0, 0, 0, "imports of this are findings; may be repeated" },
	{ "allow-imports", 0, NULL, "true", OPT_FLAG, REQUEST_AT(allow_imports), NULL, 0, 0, 0, "with =false every import is a finding" },
	{ "no-syntax", 'S', NULL, NULL, OPT_FLAG, AT(no_syntax), NULL, 0, 0, 0, "do not ask the language itself (which takes a jar for each file)" },
	{ "list", 0, NULL, NULL, OPT_FLAG, AT(list), NULL, 0, 0, 0, "show the sets and the rules" },
	{ "json", 'j', NULL, NULL, OPT_FLAG, AT(json), NULL, 0, 0, 0, "print one object and nothing else" },
	{ "quiet", 'q', NULL, NULL, OPT_FLAG, AT(quiet), NULL, 0, 0, 0, "only the exit status, and errors of belljar" },
	{ "bench", 0, "N", NULL, OPT_U64, AT(bench), NULL, 1, 1000000, 0, "check each file N times and print how long one took (needs no jar)" },
	{ .name = NULL },
};

const struct opt_cmd cmd_check_opts = {
	.name = "check",
	.summary = "look for dangerous calls and syntax errors without running anything",
	.usage = "  belljar check [OPTIONS] FILE|FOLDER... | -\n"
		 "  belljar check --list [--rules NAMES]",
	.details = "Python, bash and JavaScript. Of a folder, the files with their endings are looked at.\n"
		   "Exit status: 0 nothing found, 1 findings, 2 usage, 125 belljar failed.",
	.words = true,
	.opts = check_opts,
};

/* What has been done so far. */
struct check_run {
	struct check_options *o;
	json_t *files;
	struct loop loop;
	struct pool pool;
	struct run run;
	bool pooled, over;
	size_t looked, found;
	bool failed;
};

/* ---- --list ---- */

static bool is_asked_for(const struct check_rule *r, const char *names)
{
	char copy[256], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", names);
	for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save))
		if (rule_in_set(r, name))
			return true;
	return false;
}

static json_t *json_names(const char *const *list)
{
	json_t *a = json_array();

	for (; list && *list; list++)
		json_array_append_new(a, json_string(*list));
	return a;
}

static int list_rules(const struct check_options *o, bool all)
{
	const struct check_set_row *s;
	const struct check_rule *r;
	json_t *sets = json_array(), *rules = json_array();

	for (size_t i = 0; (s = rules_set_at(i)); i++) {
		json_array_append_new(sets, json_pack("{s:s, s:s, s:b}", "name", s->name, "summary", s->summary, "raise", s->raise && strcmp(s->raise, "true") == 0));
		if (!o->json)
			printf("%-10s %s\n", s->name, s->summary);
	}
	if (!o->json)
		putchar('\n');
	for (size_t i = 0; (r = rules_at(i)); i++) {
		json_t *row;

		if (!all && !is_asked_for(r, o->req.rules))
			continue;
		row = json_pack("{s:s, s:s, s:s, s:s, s:s?, s:o}", "id", r->id, "language", r->language, "severity", r->severity, "message", r->message, "why", r->why, "sets",
				json_names(r->sets));
		json_array_append_new(rules, row);
		if (o->json)
			continue;
		printf("%-24s %-11s %-8s %s (", r->id, r->language, r->severity, r->message);
		for (const char *const *v = r->sets; v && *v; v++)
			printf("%s%s", v == r->sets ? "" : " ", *v);
		printf(")\n");
	}
	if (o->json) {
		json_t *root = json_pack("{s:O, s:O}", "sets", sets, "rules", rules);

		json_dumpf(root, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(root);
	}
	json_decref(sets);
	json_decref(rules);
	return 0;
}

/* ---- one file ---- */

static void on_over(struct run *x)
{
	CONTAINER_OF(x, struct check_run, run)->over = true;
}

/* The language itself, in a jar. */
static void ask_language(struct check_run *c, struct request *r, struct arena *a, struct result *res)
{
	r->syntax_only = true;
	c->over = false;
	run_begin_pooled(&c->run, r, &c->pool, 1, a, res);
	while (!c->over)
		loop_wait(&c->loop, -1);
}

static int bench(const struct check_options *o, const struct request *r, const char *path, struct err *e)
{
	const struct check_rules *rules = rules_of(r->rules, e);
	uint64_t best = UINT64_MAX, sum = 0;

	if (!rules)
		return -1;
	for (uint64_t i = 0; i < o->bench; i++) {
		struct check_result out = { 0 };
		struct arena a = { 0 };
		uint64_t from = clock_mono_ns(), took;

		check_text(policy_language(r), rules, NULL, NULL, r->code, r->code_len, &a, &out);
		took = clock_mono_ns() - from;
		best = took < best ? took : best;
		sum += took;
		arena_free(&a);
	}
	printf("%s: %zu bytes, best %.3f ms, mean %.3f ms of %llu\n", path, r->code_len, (double)best / 1e6, (double)sum / 1e6 / (double)o->bench,
	       (unsigned long long)o->bench);
	return 0;
}

static void report(struct check_run *c, const struct request *r, const struct result *res, const char *path)
{
	const struct check_options *o = c->o;

	c->looked++;
	c->found += res->check.total + (res->syntax.there ? 1 : 0);
	if (!res->syntax.there && res->verdict.error[0] && res->verdict.status != STATUS_COMPLETED) {
		cli_print_safe("%s: the language could not be asked: %s\n", path, res->verdict.error);
		c->failed = true;
	}
	if (o->quiet)
		return;
	if (o->json) {
		auto_buf text = BUF_INIT(1U << 30);
		struct json_out out = { .to = &text };

		json_out_open(&out, NULL, '{');
		json_out_str(&out, "file", path);
		json_out_str(&out, "language", r->lang->name);
		result_put_violations(&out, &res->check);
		json_out_int(&out, "violations_total", (int64_t)res->check.total);
		result_put_syntax(&out, &res->syntax);
		json_out_close(&out, '}');
		if (text.failed || json_array_append_new(c->files, json_loadb(text.data, text.len, 0, NULL)) < 0)
			c->failed = true;
		return;
	}
	if (res->syntax.there)
		cli_print_safe("%s: %s\n", path, res->verdict.error);
	result_print_findings(res, r, true, cli_colour(2));
}

/* What no row fits is an error when it was named, and is passed over in a folder. */
static int check_file(struct check_run *c, const char *path, bool named, struct err *e)
{
	static struct result res;
	struct request r;
	struct arena a = { 0 };
	int rc = 0;

	request_copy(&r, &c->o->req);
	r.file = path;
	r.policy = POLICY_WARN;
	if (request_resolve(&r, &a, e) < 0 || !policy_language(&r)) {
		if (named && !e->msg[0])
			err_set(e, ERR_USAGE, "%s: only Python, bash and JavaScript are checked", path);
		rc = named ? -1 : 0;
	} else if (c->o->bench) {
		rc = bench(c->o, &r, path, e);
	} else {
		memset(&res, 0, sizeof(res));
		rc = policy_check(&r, &a, &res.check, e);
		if (rc == 0 && c->pooled)
			ask_language(c, &r, &a, &res);
		if (rc == 0)
			report(c, &r, &res, path);
		run_result_done(&res);
	}
	if (!named)
		err_clear(e);
	arena_free(&a);
	return rc;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_ending(const char *name)
{
	const struct language *l = language_of_file(name, "", 0);

	return l && l->check;
}

static int check_path(struct check_run *c, const char *path, int depth, struct arena *a, struct err *e);

static int check_folder(struct check_run *c, const char *path, int depth, struct arena *a, struct err *e)
{
	struct strlist names = { 0 };
	DIR *d = opendir(path);
	struct dirent *x;
	int rc = 0;

	if (!d) {
		err_sys(e, "%s", path);
		e->kind = ERR_INPUT;
		return -1;
	}
	while ((x = readdir(d)))
		if (x->d_name[0] != '.')
			strlist_add(a, &names, arena_fmt(a, "%s/%s", path, x->d_name));
	closedir(d);
	if (names.n)
		qsort(names.v, names.n, sizeof(*names.v), compare);
	for (size_t i = 0; rc == 0 && i < names.n; i++)
		rc = check_path(c, names.v[i], depth + 1, a, e);
	return rc;
}

static int check_path(struct check_run *c, const char *path, int depth, struct arena *a, struct err *e)
{
	struct stat st;

	if (strcmp(path, "-") == 0 && depth == 0)
		return check_file(c, path, true, e);
	/* Links in folders may lead anywhere, also back. */
	if ((depth ? lstat(path, &st) : stat(path, &st)) < 0) {
		err_sys(e, "%s", path);
		e->kind = ERR_INPUT;
		return -1;
	}
	if (S_ISDIR(st.st_mode))
		return depth < 64 ? check_folder(c, path, depth, a, e) : 0;
	if (depth && (!S_ISREG(st.st_mode) || !has_ending(path)))
		return 0;
	return check_file(c, path, depth == 0, e);
}

/* ---- the whole ---- */

static void notice(struct pool *p, const struct err *e)
{
	(void)p, (void)e;
}

static int open_pool(struct check_run *c, struct client *client, struct err *e)
{
	static struct pool_open open = { .op = POOL_OPEN, .floor = 2, .ceiling = 4, .zygotes = 1 };
	static const struct run_options quietly = { .late_output = false };

	open.disk_bytes = c->o->req.limits.disk_bytes;
	if (loop_init(&c->loop, e) < 0 || pool_init(&c->pool, &c->loop, take_fd(&client->sock), &open, notice, e) < 0)
		return -1;
	run_init(&c->run, &c->loop, &quietly, on_over);
	c->pooled = true;
	return 0;
}

static bool wants_jar(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--no-syntax") == 0 || strcmp(argv[i], "-S") == 0 || strcmp(argv[i], "--list") == 0 || strncmp(argv[i], "--bench", 7) == 0 ||
		    strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return false;
	return argc > 1;
}

static int check_all(struct check_run *c, const struct opt_rest *rest, struct arena *a, struct err *e)
{
	if (rest->dashes)
		for (size_t i = 0; i < rest->after.n; i++)
			if (check_path(c, rest->after.v[i], 0, a, e) < 0)
				return -1;
	for (size_t i = 0; i < rest->words.n; i++)
		if (check_path(c, rest->words.v[i], 0, a, e) < 0)
			return -1;
	return 0;
}

static bool names_rules(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--rules", 7) == 0 || strncmp(argv[i], "-r", 2) == 0)
			return true;
	return false;
}

int cmd_check(int argc, char **argv)
{
	static struct check_options o;
	static struct check_run c;
	static struct config config;
	struct arena arena = { 0 };
	struct opt_rest rest;
	struct err e = { 0 }, start_error = { 0 };
	struct client client = { -1 };
	int status = 125;

	_Static_assert(offsetof(struct check_options, req) == 0, "rows of request.h count from there");
	/* Before anything foreign is read, as ever. */
	bool jar = wants_jar(argc, argv), early = jar && client_start(&client, true, &start_error) == 0;

	c.o = &o;
	c.files = json_array();
	if (client_drop_rights(false, &e) < 0)
		return cli_error(&e);
	opt_defaults(check_opts, &o, &arena);
	if (config_load(&config, &o.req, &arena, &e) < 0) {
		status = cli_error(&e);
		goto out;
	}
	if (cli_parse(&cmd_check_opts, argc, argv, &o, &rest, &arena, &status))
		goto out;
	if (rules_load_named(o.req.rules, &e) < 0) {
		status = cli_error(&e);
		goto out;
	}
	if (o.list) {
		status = list_rules(&o, !names_rules(argc, argv));
		goto out;
	}
	if (!rest.words.n && !rest.after.n) {
		err_set(&e, ERR_USAGE, "no file to check");
		err_hint(&e, "belljar check FILE, or - for standard input");
		status = cli_error(&e);
		goto out;
	}
	if (jar && !o.no_syntax && (!early || open_pool(&c, &client, &e) < 0)) {
		status = cli_error(early ? &e : &start_error);
		goto out;
	}
	if (check_all(&c, &rest, &arena, &e) < 0) {
		status = cli_error(&e);
		status = status == 125 || status == 2 ? status : 125;
		goto out;
	}
	status = c.failed ? 125 : c.found ? 1 : 0;
	if (o.json) {
		json_t *root = json_pack("{s:I, s:I, s:O}", "checked", (json_int_t)c.looked, "found", (json_int_t)c.found, "files", c.files);

		json_dumpf(root, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(root);
	} else if (!o.quiet && !o.bench) {
		fprintf(stderr, "%zu file%s checked, %zu finding%s\n", c.looked, c.looked == 1 ? "" : "s", c.found, c.found == 1 ? "" : "s");
	}
out:
	if (c.pooled)
		pool_done(&c.pool);
	json_decref(c.files);
	fflush(stdout);
	client_close(&client);
	arena_free(&arena);
	return status;
}
