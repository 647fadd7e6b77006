/* SPDX-License-Identifier: Apache-2.0 */
/* belljar run: one program in one jar. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "jar/allow.h"
#include "run/account.h"
#include "run/bind.h"
#include "run/config.h"
#include "run/rules.h"
#include "run/run.h"
#include "run/state.h"
#include "store/signer.h"

const struct opt_cmd cmd_run_opts = {
	.name = "run",
	.summary = "run code or a program in a jar",
	.usage = "  belljar run [OPTIONS] FILE | -c CODE | -     code in a language (--lang, else by ending, then #! line)\n"
		 "  belljar run [OPTIONS] -- PROGRAM ARGS...     any program of the host's /usr\n"
		 "  belljar run --request FILE                   a request object",
	.details = "Exit status: the program's own; 124 a time limit, 125 belljar failed or refused, 126 not executable,\n"
		   "127 not found, 128+n signal n, 2 usage. Sizes take 512M, times 10s.",
	.opts = request_opts,
};

#define REQUEST_MAX (256U << 20)

static int read_request(struct request *r, const struct ceiling *c, struct arena *a, struct err *e)
{
	struct request before = *r;
	auto_close int fd = strcmp(r->request_path, "-") == 0 ? fcntl(0, F_DUPFD_CLOEXEC, 3)
							      : open(r->request_path, O_RDONLY | O_CLOEXEC);
	auto_buf text = BUF_INIT(REQUEST_MAX);
	static char block[65536];
	ssize_t n;

	if (fd < 0) {
		err_sys(e, "--request: %s", r->request_path);
		e->kind = ERR_INPUT;
		return -1;
	}
	while ((n = read(fd, block, sizeof(block))) > 0)
		if (buf_add(&text, block, (size_t)n) < 0)
			return err_set(e, ERR_INPUT, "--request: larger than 256 MiB");
	if (n < 0) {
		err_sys(e, "--request: %s", r->request_path);
		e->kind = ERR_INPUT;
		return -1;
	}
	if (request_from_json(r, text.data ? text.data : "", text.len, a, e) < 0)
		return -1;
	return ceiling_apply(c, &before, r, CEILING_REQUEST, NULL, a, e);
}

/* --ro @NAME is a layer that the operator named. */
static int resolve_layers(struct request *r, const struct config *c, struct arena *a, struct err *e)
{
	for (size_t i = 0; i < r->ro.n; i++) {
		const char *name = r->ro.v[i], *found = NULL;

		if (name[0] != '@')
			continue;
		for (size_t k = 0; k < c->layers.n; k++) {
			size_t n = strlen(name + 1);

			if (strncmp(c->layers.v[k], name + 1, n) == 0 && c->layers.v[k][n] == '=')
				found = c->layers.v[k] + n + 1;
		}
		if (!found) {
			err_set(e, ERR_USAGE, "--ro: no layer '%.60s' in the configuration", name + 1);
			return err_hint(e, "name it under 'layers:' in /etc/belljar/config.yaml");
		}
		r->ro.v[i] = arena_dup(a, found);
	}
	return 0;
}

/* K alone is the caller's; one that the caller does not have is left out, as Docker does. */
static void add_env(struct strlist *to, const char *word, struct arena *a)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	const char *value;

	/* What is no name is refused later. */
	if (!word[0] || word[strspn(word, letters)]) {
		strlist_add(a, to, word);
		return;
	}
	value = getenv(word);
	if (value)
		strlist_add(a, to, arena_fmt(a, "%s=%s", word, value));
}

/* Files first: the command line has the last word. */
static int resolve_env(struct request *r, struct arena *a, struct err *e)
{
	struct strlist all = { 0 };

	for (size_t i = 0; i < r->env_files.n; i++) {
		const char *text;
		size_t len, n;

		if (request_read_file(r->env_files.v[i], &text, &len, a, e) < 0) {
			err_hint(e, "--env-file: a file with a line K=V each");
			return -1;
		}
		if (strlen(text) != len)
			return err_set(e, ERR_INPUT, "--env-file: %s has a NUL byte", r->env_files.v[i]);
		for (const char *line = text; *line; line += n + (line[n] == '\n')) {
			n = strcspn(line, "\n");
			const char *from = line + strspn(line, " \t\r");
			size_t left = from < line + n ? (size_t)(line + n - from) : 0;

			left -= left && from[left - 1] == '\r';
			if (left && from[0] != '#')
				add_env(&all, arena_fmt(a, "%.*s", (int)left, from), a);
		}
	}
	for (size_t i = 0; i < r->env.n; i++)
		add_env(&all, r->env.v[i], a);
	r->env = all;
	return 0;
}

static int resolve(struct request *r, const struct config *c, const struct opt_rest *rest, struct arena *a, struct err *e)
{
	static struct ceiling ceiling;

	if (resolve_env(r, a, e) < 0)
		return -1;
	if (r->request_path) {
		config_ceiling(c, r, &cmd_run_opts, rest, &ceiling);
		if (rest->words.n || rest->dashes || r->code)
			return err_set(e, ERR_USAGE, "--request: the request object says what to run");
		if (read_request(r, &ceiling, a, e) < 0)
			return -1;
	}
	if (rest->words.n > 1) {
		err_set(e, ERR_USAGE, "unexpected argument '%.60s'", rest->words.v[1]);
		return err_hint(e, "arguments of the code go with --arg");
	}
	if (rest->words.n)
		r->file = rest->words.v[0];
	if (rest->dashes && !rest->after.n)
		return err_set(e, ERR_USAGE, "no program after --");
	if (rest->dashes)
		r->argv = rest->after;
	if (rules_load_named(r->rules, e) < 0 || resolve_layers(r, c, a, e) < 0 || request_resolve(r, a, e) < 0)
		return -1;
	return config_allows(c, r, e);
}

/* What is piped into belljar is for the program, as with any other command, unless the code or the request comes that way. A terminal stays the caller's. */
static void take_stdin(struct request *r)
{
	struct stat st;

	if (r->stdin_path || r->stdin_data || (r->file && strcmp(r->file, "-") == 0) || (r->request_path && strcmp(r->request_path, "-") == 0))
		return;
	if (fstat(0, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode)))
		r->stdin_path = "-";
}

static json_t *json_list(const struct strlist *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(a, json_string(l->v[i]));
	return a;
}

/* The files that could be started: which, for which name, and why. */
static json_t *allow_plan(const struct request *r, struct err *e)
{
	static const char *const kinds[] = { "named", "interpreter", "helper", "loader" };
	static struct jar_spec spec;
	static struct allow allow;
	int fds[JAR_BINDS_MAX] = { 0 };
	json_t *list = NULL;

	for (size_t i = 0; i < r->programs.n; i++)
		snprintf(spec.allow[spec.allow_count++], JAR_ALLOW_NAME, "%s", r->programs.v[i]);
	for (size_t i = 0; i < r->ro.n; i++) {
		int fd = -1;

		if (bind_open("--ro", r->ro.v[i], &spec, &fd, e) < 0)
			goto out;
		fds[spec.bind_count - 1] = fd;
	}
	if (allow_resolve(&allow, &spec, fds, e) < 0)
		goto out;
	list = json_array();
	for (size_t i = 0; i < allow.count; i++) {
		const struct allow_item *it = &allow.items[i];

		if (it->kind < ALLOW_FILES)
			json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "path", it->path, "kind", kinds[it->kind], "for", it->by));
	}
out:
	for (uint32_t i = 0; i < spec.bind_count; i++)
		close(fds[i]);
	return list;
}

/* The plan: what would be started, with what around it. */
static int print_plan(const struct request *r, struct arena *a)
{
	struct err e = { 0 };
	json_t *allow = r->programs.n ? allow_plan(r, &e) : json_null();

	json_t *o = json_object(), *limits = json_object(), *files = json_array();
	struct strlist cmd = { 0 }, env = { 0 }, compile = { 0 };
	char *text;

	if (!allow)
		return cli_error(&e);
	if (r->lang) {
		run_command(r, r->lang->run, a, &cmd);
		run_command(r, r->lang->compile, a, &compile);
	} else {
		cmd = r->argv;
	}
	for (size_t i = 0; i < r->args.n; i++)
		strlist_add(a, &cmd, r->args.v[i]);
	run_environment(r, a, &env);
	for (const struct opt *f = request_opts; f->name; f++)
		if (f->json && strncmp(f->json, "limits.", 7) == 0) {
			uint64_t v = *(const uint64_t *)((const char *)r + f->at);

			json_object_set_new(limits, f->json + 7, f->kind == OPT_MILLI ? json_real((double)v / 1000)
								 : f->kind == OPT_MS && !v ? json_null() : json_integer((json_int_t)v));
		}
	for (size_t i = 0; i < r->file_count; i++)
		json_array_append_new(files, json_pack("{s:s, s:s?}", "path", r->files[i].path, "source", r->files[i].source));
	if (r->lang)
		json_array_append_new(files, json_pack("{s:s, s:I}", "path", r->code_name, "bytes", (json_int_t)r->code_len));
	json_object_set_new(o, "language", r->lang ? json_string(r->lang->name) : json_null());
	if (compile.n)
		json_object_set_new(o, "compile", json_list(&compile));
	json_object_set_new(o, "command", json_list(&cmd));
	json_object_set_new(o, "workdir", json_string(r->workdir));
	json_object_set_new(o, "env", json_list(&env));
	json_object_set_new(o, "files", files);
	json_object_set_new(o, "ro", json_list(&r->ro));
	json_object_set_new(o, "get", json_list(&r->get));
	json_object_set_new(o, "limits", limits);
	json_object_set_new(o, "uid", json_integer((json_int_t)r->uid));
	json_object_set_new(o, "hostname", json_string(r->hostname));
	json_object_set_new(o, "network", json_string(r->network));
	json_object_set_new(o, "allow", allow);
	json_object_set_new(o, "writable", json_boolean(!r->no_write));
	json_object_set_new(o, "policy", json_string(r->policy == POLICY_OFF ? "off" : r->policy == POLICY_WARN ? "warn" : "enforce"));
	json_object_set_new(o, "rules", json_string(r->rules));
	text = json_dumps(o, JSON_INDENT(2));
	json_decref(o);
	if (!text)
		return 125;
	puts(text);
	free(text);
	return 0;
}

static void warn_missing(const struct result *res, const struct request *r)
{
	const uint32_t quiet = JAR_MISSING_NETNS; /* asked for by name */
	char what[32];

	if (!res->have_facts || r->quiet || !(res->facts.missing & ~quiet))
		return;
	/* Once on this host: it is in every result, and doctor says it again. */
	snprintf(what, sizeof(what), "weaker-%x", res->facts.missing & ~quiet);
	if (!r->verbose && !state_first_time(what))
		return;
	fprintf(stderr, "belljar: weaker on this host, without:");
	for (int i = 0; i < JAR_MISSING_COUNT; i++)
		if (res->facts.missing & ~quiet & 1U << i)
			fprintf(stderr, " %s", jar_missing_names[i]);
	fprintf(stderr, " (belljar doctor says more)\n");
}

/* Not by stdio: a caller's stdout may be non-blocking, and then a part of the result would be lost without a word. */
static int print_json(const struct result *res, const struct request *r)
{
	char *text = result_to_json(res, r);
	int rc = text && fd_write_all(1, text, strlen(text)) == 0 && fd_write_all(1, "\n", 1) == 0 ? 0 : -1;

	free(text);
	return rc;
}

/* Fails when the result could not be written. */
static int report(const struct result *res, const struct request *r)
{
	bool colour = cli_colour(2);

	if (r->json)
		return print_json(res, r);
	/* An error is no notice: --quiet does not hide that belljar failed or refused. */
	if (r->quiet && res->verdict.status == STATUS_ERROR)
		result_print_line(res, false, colour);
	/* The compiler's words were shown live; say whose they were. */
	if (!r->quiet) {
		warn_missing(res, r);
		if (res->verdict.status == STATUS_ERROR || r->verbose)
			result_print_findings(res, r, r->verbose, colour);
		else
			result_print_noted(res, r, colour);
		result_print_line(res, r->verbose, colour);
		for (const struct artifact *f = res->files.list; f; f = f->next)
			if (f->refused)
				cli_print_safe(f->on_host ? "belljar: stays on the host as it is: %s (%s)\n" : "belljar: left in the jar: %s (%s)\n", f->path,
					       f->refused);
			else if (f->review && !f->unchanged && (r->workspace || r->out_dir))
				cli_print_safe("belljar: look before you use it: %s runs by itself on a host\n", f->path, NULL);
		for (size_t i = 0; i < r->get.n && res->run.there; i++)
			if (result_got_nothing(res, r, i))
				cli_print_safe("belljar: nothing in the jar matches --get %s%s\n", r->get.v[i], "");
		if (res->files.incomplete && r->workspace)
			fprintf(stderr, "belljar: not everything could be brought back: no deleted file was removed from the workspace\n");
	}
	return 0;
}

/* Output that could not be written (a full disk) was lost, however well the program ended. A reader that went away wanted no more. */
static void check_lost(struct result *res)
{
	struct err e = { 0 };

	for (int i = 0; i < 2; i++) {
		const struct output *o = &res->run.out[i];

		if (!res->run.there || !o->live_broken || o->live_errno == EPIPE)
			continue;
		errno = o->live_errno;
		err_sys(&e, "write standard %s", i ? "error" : "output");
		e.kind = ERR_INPUT;
		verdict_error(&res->verdict, &e);
	}
}

/* ---- the receipt ---- */

#define BUSY_MS	   5000
#define TIDY_PAGES 64 /* of the log: whoever comes next reads it first */

struct audit {
	enum request_audit mode;
	const struct request *req;
	bool open, due; /* due: it is time for a checkpoint */
	struct store store;
	char dir[400];
	struct err err; /* why it is not open, or could not be kept */
};

/* Before anything is started: could a receipt be kept? */
static int audit_open(struct audit *a, const struct request *r, struct err *e)
{
	if (request_audit(r, &a->mode, e) < 0)
		return -1;
	if (a->mode == AUDIT_OFF || a->open)
		return 0;
	if (state_dir(a->dir, sizeof(a->dir), &a->err) == 0 && store_open(&a->store, a->dir, true, BUSY_MS, &a->err) == 0) {
		if (store_probe(&a->store, &a->err) == 0) {
			a->open = true;
			return 0;
		}
		store_close(&a->store);
	}
	if (a->mode == AUDIT_BEST_EFFORT)
		return 0;
	*e = a->err;
	return -1;
}

static int audit_before_start(void *ctx, struct err *e)
{
	struct audit *a = ctx;

	return audit_open(a, a->req, e);
}

static void audit_meanwhile(void *ctx)
{
	struct audit *a = ctx;

	if (!a->open)
		return;
	store_warm(&a->store);
	a->due = signer_is_due(&a->store);
}

/* The result is complete; it is given out when its receipt is on the disk. */
static void audit_keep(struct audit *a, const struct request *r, struct result *res)
{
	auto_buf text = BUF_INIT(RECEIPT_BODY_MAX);
	struct receipt receipt;
	struct err e = { 0 };

	if (a->mode == AUDIT_OFF)
		return;
	/* Refused before it was time to open it. */
	if (!a->open && !a->err.msg[0])
		audit_open(a, r, &e);
	if (a->open && account_receipt(&receipt, r, res, &text) < 0)
		err_set(&a->err, ERR_INTERNAL, "it would be larger than 1 MiB");
	else if (a->open && store_append(&a->store, &receipt, 1, &res->receipt, &a->err) == 0)
		return;
	res->receipt_error = a->err.msg;
	if (a->mode == AUDIT_BEST_EFFORT || res->verdict.status == STATUS_ERROR)
		return;
	/* It has run, and nobody can prove it: that is no success. */
	err_set(&e, ERR_INTERNAL, "its receipt could not be kept, so it does not count: %.250s", a->err.msg);
	err_hint(&e, "%.200s", a->err.hint);
	verdict_error(&res->verdict, &e);
}

/* Everything was told: what can wait until now. */
static void audit_done(struct audit *a)
{
	struct checkpoint c;
	struct err e = { 0 };

	if (!a->open)
		return;
	store_trim_code(&a->store, a->due);
	store_tidy(&a->store, TIDY_PAGES, true);
	if (a->due) {
		auto_close int sock = signer_start(a->dir, SIGNER_PLAIN, &e);

		if (sock < 0 || signer_sign(sock, &a->store, &c, &e) < 0)
			cli_print_safe("belljar: receipts are not signed: %s (%s)\n", e.msg, e.hint);
	}
	/* Not closed: the process ends now, and the kernel is quicker. */
	a->open = false;
}

/* Errors before the jar: with --json they are a result like any other. What was a request leaves a receipt; a wrong command line is none. */
static int report_error(const struct err *e, const struct request *r, struct result *res, struct audit *audit)
{
	struct err ignored;

	verdict_error(&res->verdict, e);
	if (audit && e->kind != ERR_USAGE && audit_open(audit, r, &ignored) == 0)
		audit_keep(audit, r, res);
	if (!r->json)
		return cli_error(e);
	report(res, r);
	return res->verdict.exit_status;
}

static const char *describe(const struct request *r, struct arena *a)
{
	if (r->file)
		return r->file;
	return r->lang ? arena_fmt(a, "%s code", r->lang->name) : r->argv.v[0];
}

int cmd_run(int argc, char **argv)
{
	static struct request req, before;
	static struct result res;
	static struct config config;
	static struct audit audit;
	struct arena arena = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	struct client client = { -1 };
	struct state_run entry = { .fd = -1 };
	struct run_options opt = { 0 };
	int status;

	/* First of all, before anything foreign is read: it prepares a jar while we read the request. */
	bool early = client_start(&client, false, &e) == 0;
	struct err start_error = e;

	if (client_drop_rights(true, &e) < 0)
		return cli_error(&e);
	result_stamp(&res);
	if (config_load(&config, &req, &arena, &e) < 0) {
		status = report_error(&e, &req, &res, NULL);
		goto out;
	}
	request_configured(&req);
	before = req;
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		req.json = req.json || strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "-j") == 0;
	if (opt_parse(&cmd_run_opts, argc, argv, &req, &rest, &arena, &e) < 0) {
		status = report_error(&e, &req, &res, NULL);
		goto out;
	}
	if (rest.help) {
		opt_help(&cmd_run_opts, stdout);
		status = 0;
		goto out;
	}
	if (config_hold(&config, &before, &req, &arena, &e) < 0 || resolve(&req, &config, &rest, &arena, &e) < 0) {
		status = report_error(&e, &req, &res, req.dry_run ? NULL : &audit);
		goto out;
	}
	take_stdin(&req);
	if (req.dry_run) {
		status = print_plan(&req, &arena);
		goto out;
	}
	/* What comes back into a user's folder becomes the user's: no other run gives files away. */
	if (!req.workspace && !req.out_dir && client_drop_rights(false, &e) < 0) {
		status = report_error(&e, &req, &res, &audit);
		goto out;
	}
	if (!early) {
		status = report_error(&start_error, &req, &res, &audit);
		goto out;
	}
	if (request_audit(&req, &audit.mode, &e) < 0) {
		status = report_error(&e, &req, &res, NULL);
		goto out;
	}
	if (state_register(&entry, res.execution_id, describe(&req, &arena), &e) < 0) {
		status = report_error(&e, &req, &res, &audit);
		goto out;
	}
	opt.live = !req.json;
	opt.receipts = audit.mode != AUDIT_OFF;
	opt.before_start = audit_before_start;
	opt.meanwhile = audit_meanwhile;
	opt.ctx = &audit;
	audit.req = &req;
	opt.terminal[0] = isatty(1);
	opt.terminal[1] = isatty(2);
	run_execute(&req, &opt, &client, &arena, &res);
	check_lost(&res);
	audit_keep(&audit, &req, &res);
	status = res.verdict.exit_status;
	/* A result that nobody could read is no success. */
	if (report(&res, &req) < 0) {
		err_sys(&e, "write the result");
		status = cli_error(&e);
	}
	run_result_done(&res);
	state_unregister(&entry);
out:
	fflush(stdout);
	client_close(&client);
	audit_done(&audit);
	logs_tidy(true);
	arena_free(&arena);
#ifndef __SANITIZE_ADDRESS__
	/* All is written: nobody has to wait for the rest. */
	fflush(NULL);
	_exit(status);
#endif
	return status;
}
