/* SPDX-License-Identifier: Apache-2.0 */
/* From a request and its result to the receipt of both. */
#include "run/account.h"

#include <stdio.h>
#include <string.h>

#include "belljar_config.h"
#include "kernel/cgroup.h"
#include "kernel/seccomp.h"
#include "run/feeder.h"
#include "store/canon.h"

#define FILES_LISTED 256	  /* of a request's files by name; all of them are in the digest */
#define LISTED_BYTES (256U << 10) /* past it no further name is listed: strangers choose them, and a receipt must fit */

/* ---- the gate ---- */

static void gate_of(struct account_gate *g, const struct request *req, const struct result *res)
{
	static const char *const names[] = { [POLICY_OFF] = "off", [POLICY_WARN] = "warn", [POLICY_ENFORCE] = "enforce" };
	const struct check_result *found = &res->check;
	struct digest d;

	memset(g, 0, sizeof(*g));
	g->allow = req->programs.n ? &req->programs : NULL;
	if (req->policy >= sizeof(names) / sizeof(names[0]))
		return;
	g->policy = names[req->policy];
	if (req->policy == POLICY_OFF)
		return;
	g->rules = req->rules;
	g->checked = true;
	g->violations = found->total;
	digest_init(&d);
	for (size_t i = 0; i < found->count; i++) {
		const struct check_finding *f = &found->list[i];
		char where[64];
		int n = snprintf(where, sizeof(where), ":%u:%u:%s\n", f->line, f->column, f->error ? "error" : "warning");

		digest_add(&d, f->rule, strlen(f->rule));
		digest_add(&d, where, (size_t)n);
	}
	digest_get(&d, g->violations_hash);
}

/* "standard,mine" as a list. */
static void add_rules(struct canon *c, const char *rules)
{
	if (!rules) {
		canon_null(c, "rules");
		return;
	}
	canon_list(c, "rules");
	while (*rules) {
		size_t n = strcspn(rules, ",");

		canon_text(c, NULL, rules, n, RECEIPT_NAME_MAX);
		rules += n + (rules[n] == ',');
	}
	canon_end_list(c);
}

static void add_names(struct canon *c, const char *key, const struct strlist *l)
{
	if (!l) {
		canon_null(c, key);
		return;
	}
	canon_list(c, key);
	for (size_t i = 0; i < l->n && c->out->len < LISTED_BYTES; i++)
		canon_text(c, NULL, l->v[i], strlen(l->v[i]), RECEIPT_NAME_MAX);
	canon_end_list(c);
}

static void add_violations(struct canon *c, const struct account_gate *g)
{
	if (!g->checked) {
		canon_null(c, "violations");
		return;
	}
	canon_open(c, "violations");
	canon_int(c, "count", (int64_t)g->violations);
	canon_hex(c, "sha256", g->violations_hash, DIGEST_SIZE);
	canon_close(c);
}

/* ---- what went in ---- */

static void hash_words(struct digest *d, const struct strlist *l)
{
	for (size_t i = 0; i < l->n; i++)
		digest_add(d, l->v[i], strlen(l->v[i]) + 1);
}

static void add_words(struct canon *c, const char *key, const struct strlist *a, const struct strlist *b)
{
	uint8_t hash[DIGEST_SIZE];
	struct digest d;

	if (!a->n && (!b || !b->n)) {
		canon_null(c, key);
		return;
	}
	digest_init(&d);
	hash_words(&d, a);
	if (b)
		hash_words(&d, b);
	digest_get(&d, hash);
	canon_open(c, key);
	canon_int(c, "count", (int64_t)(a->n + (b ? b->n : 0)));
	canon_hex(c, "sha256", hash, DIGEST_SIZE);
	canon_close(c);
}

static void add_code(struct canon *c, const struct receipt *r)
{
	if (!r->has_code) {
		canon_null(c, "code");
		return;
	}
	canon_open(c, "code");
	canon_int(c, "bytes", (int64_t)r->code_len);
	canon_bool(c, "kept", r->keep_code);
	canon_hex(c, "sha256", r->code_hash, DIGEST_SIZE);
	canon_close(c);
}

struct files {
	struct canon *c;
	const struct request *req;
	struct digest all;
	size_t count;
};

static void count_file(const struct feeder_file *f, void *ctx)
{
	struct files *s = ctx;

	s->count += f->data != s->req->code || !f->data;
}

/* A file that was not sent to its end (nothing was started) has no hash. */
static void add_file(const struct feeder_file *f, void *ctx)
{
	struct files *s = ctx;
	char hex[DIGEST_HEX] = "-";

	if (f->data && f->data == s->req->code)
		return;
	if (f->hashed)
		digest_hex(f->hash, DIGEST_SIZE, hex);
	digest_add(&s->all, hex, strlen(hex));
	digest_add(&s->all, " ", 1);
	digest_add(&s->all, f->path, strlen(f->path) + 1);
	if (s->count++ >= FILES_LISTED || s->c->out->len >= LISTED_BYTES)
		return;
	canon_open(s->c, NULL);
	canon_text(s->c, "path", f->path, strlen(f->path), RECEIPT_NAME_MAX * 4);
	canon_str(s->c, "sha256", f->hashed ? hex : NULL);
	canon_close(s->c);
}

static void add_files(struct canon *c, const struct request *req, const struct result *res)
{
	struct files s = { .c = c, .req = req };
	uint8_t hash[DIGEST_SIZE];

	feeder_each_file(res->fed, count_file, &s);
	if (!s.count) {
		canon_null(c, "files");
		return;
	}
	canon_open(c, "files");
	canon_int(c, "count", (int64_t)s.count);
	canon_list(c, "list");
	s.count = 0;
	digest_init(&s.all);
	feeder_each_file(res->fed, add_file, &s);
	canon_end_list(c);
	digest_get(&s.all, hash);
	canon_hex(c, "sha256", hash, DIGEST_SIZE);
	canon_close(c);
}

static void add_bytes(struct canon *c, const char *key, uint64_t bytes, const uint8_t hash[DIGEST_SIZE])
{
	canon_open(c, key);
	canon_int(c, "bytes", (int64_t)bytes);
	canon_hex(c, "sha256", hash, DIGEST_SIZE);
	canon_close(c);
}

static void add_stdin(struct canon *c, const struct request *req, const struct result *res)
{
	uint8_t hash[DIGEST_SIZE];

	if (req->stdin_data) {
		digest_of(req->stdin_data, req->stdin_len, hash);
		add_bytes(c, "stdin", req->stdin_len, hash);
	} else if (res->in_hashed) {
		digest_get(&res->in_hash, hash);
		add_bytes(c, "stdin", res->in_bytes, hash);
	} else {
		canon_null(c, "stdin");
	}
}

static void add_limits(struct canon *c, const struct jar_limits *l)
{
	canon_open(c, "limits");
	canon_int(c, "cpu_ms", (int64_t)l->cpu_ms);
	canon_int(c, "cpus_milli", (int64_t)l->cpus_milli);
	canon_int(c, "disk_bytes", (int64_t)l->disk_bytes);
	canon_int(c, "log_bytes", (int64_t)l->log_bytes);
	canon_int(c, "memory_bytes", (int64_t)l->memory_bytes);
	canon_int(c, "nofile", (int64_t)l->nofile);
	canon_int(c, "output_bytes", (int64_t)l->output_bytes);
	canon_int(c, "pids", (int64_t)l->pids);
	canon_int(c, "wall_ms", (int64_t)l->wall_ms);
	canon_close(c);
}

/* ---- what was in force, and what came of it ---- */

static void add_isolation(struct canon *c, const struct request *req, const struct result *res)
{
	static const char *const spaces[] = { "user", "mount", "pid", "net", "ipc", "uts", "cgroup" };
	const struct jar_facts *f = &res->facts;

	if (!res->have_facts) {
		canon_null(c, "isolation");
		return;
	}
	canon_open(c, "isolation");
	canon_str(c, "cgroup", cgroup_version_name(f->cgroup_version));
	canon_int(c, "host_uid", f->host_uid);
	canon_int(c, "landlock_abi", f->landlock_abi);
	canon_list(c, "missing");
	for (int i = 0; i < JAR_MISSING_COUNT; i++)
		if (f->missing & 1U << i)
			canon_str(c, NULL, jar_missing_names[i]);
	canon_end_list(c);
	canon_str(c, "mode", f->rootless ? "rootless" : "root");
	canon_list(c, "namespaces");
	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
		if (!(f->net_host && strcmp(spaces[i], "net") == 0))
			canon_str(c, NULL, spaces[i]);
	canon_end_list(c);
	canon_str(c, "network", f->net_host ? "host" : "none");
	canon_bool(c, "no_new_privs", true);
	canon_str(c, "seccomp", seccomp_profile(req->programs.n, f->missing & JAR_MISSING_MEMORY));
	canon_close(c);
}

static void add_stream(struct canon *c, const char *key, const struct step_result *s, int i)
{
	uint8_t hash[DIGEST_SIZE];

	if (!s->there) {
		canon_null(c, key);
		return;
	}
	digest_get(&s->out[i].hash, hash);
	add_bytes(c, key, s->out[i].total, hash);
}

static void add_exit(struct canon *c, const struct verdict *v)
{
	if (v->exited)
		canon_int(c, "exit_code", v->exit_code);
	else
		canon_null(c, "exit_code");
}

static void add_signal(struct canon *c, const struct verdict *v)
{
	if (v->signal)
		canon_int(c, "signal", v->signal);
	else
		canon_null(c, "signal");
}

static int64_t elapsed(const struct jar_evidence *ev)
{
	return ev->ended_ns > ev->started_ns ? (int64_t)(ev->ended_ns - ev->started_ns) : 0;
}

static void add_compile(struct canon *c, const struct result *res)
{
	const struct step_result *s = &res->compile;

	if (!s->there) {
		canon_null(c, "compile");
		return;
	}
	canon_open(c, "compile");
	canon_int(c, "cpu_ns", (int64_t)s->evidence.cg.cpu_ns);
	canon_int(c, "elapsed_ns", elapsed(&s->evidence));
	add_exit(c, &s->verdict);
	canon_str(c, "reason", verdict_reason_name(s->verdict.reason));
	canon_str(c, "status", verdict_status_name(s->verdict.status));
	add_stream(c, "stderr", s, 1);
	add_stream(c, "stdout", s, 0);
	canon_close(c);
}

static void add_limits_hit(struct canon *c, const struct verdict *v)
{
	canon_list(c, "limits_hit");
	for (int i = 0; i < LIMIT_COUNT; i++)
		if (v->limits_hit & 1U << i)
			canon_str(c, NULL, run_limit_names[i]);
	canon_end_list(c);
}

/* ---- the whole ---- */

static void add_name(struct canon *c, const char *key, const char *text)
{
	if (text)
		canon_text(c, key, text, strlen(text), RECEIPT_NAME_MAX);
	else
		canon_null(c, key);
}

/* Up to where `prev` belongs. */
static void first_part(struct canon *c, const struct receipt *r, const struct request *req, const struct result *res,
		       const struct account_gate *g)
{
	const struct jar_evidence *ev = &res->run.evidence;

	add_names(c, "allow", g->allow);
	add_words(c, "args", &req->argv, &req->args);
	canon_str(c, "belljar", BELLJAR_VERSION);
	canon_str(c, "client", r->client);
	add_code(c, r);
	add_compile(c, res);
	canon_int(c, "cpu_ns", (int64_t)ev->cg.cpu_ns);
	canon_int(c, "elapsed_ns", elapsed(ev));
	add_words(c, "env", &req->env, NULL);
	canon_str(c, "error", res->verdict.error[0] ? res->verdict.error : NULL);
	add_exit(c, &res->verdict);
	add_files(c, req, res);
	canon_str(c, "id", res->execution_id);
	add_isolation(c, req, res);
	canon_str(c, "language", req->lang ? req->lang->name : NULL);
	add_limits(c, &req->limits);
	add_limits_hit(c, &res->verdict);
	canon_int(c, "max_memory_bytes", (int64_t)result_memory_peak(ev));
	canon_int(c, "oom_kills", (int64_t)ev->cg.oom_kills);
	canon_int(c, "pids_peak", (int64_t)ev->cg.pids_peak);
	canon_str(c, "policy", g->policy);
}

/* From there to where `seq` belongs, and the rest. */
static void second_part(struct canon *c, const struct request *req, const struct result *res, const struct account_gate *g)
{
	const struct step_result *s = res->run.there || !res->compile.there ? &res->run : &res->compile;

	add_name(c, "program", s->command.n ? s->command.v[0] : req->argv.n ? req->argv.v[0] : NULL);
	canon_str(c, "reason", verdict_reason_name(res->verdict.reason));
	add_name(c, "request_id", req->id);
	add_rules(c, g->rules);
}

static void third_part(struct canon *c, const struct request *req, const struct result *res, const struct account_gate *g)
{
	char when[32];

	receipt_time(res->time_ms, when);
	add_signal(c, &res->verdict);
	canon_str(c, "start", res->have_facts ? res->facts.warm ? "warm" : "cold" : NULL);
	canon_str(c, "status", verdict_status_name(res->verdict.status));
	add_stream(c, "stderr", &res->run, 1);
	add_stdin(c, req, res);
	add_stream(c, "stdout", &res->run, 0);
	canon_str(c, "time", when);
	canon_int(c, "v", 1);
	add_violations(c, g);
}

int account_receipt(struct receipt *out, const struct request *req, const struct result *res, struct buf *text)
{
	static char client[RECEIPT_NAME_MAX * 3 + 1];
	struct canon c = { text, true };
	struct account_gate gate;
	size_t ends[3];

	memset(out, 0, sizeof(*out));
	snprintf(out->id, sizeof(out->id), "%s", res->execution_id);
	out->time_ms = res->time_ms;
	if (req->client) {
		canon_clean(req->client, RECEIPT_NAME_MAX, client);
		out->client = client;
	}
	out->language = req->lang ? req->lang->name : NULL;
	snprintf(out->status, sizeof(out->status), "%s", verdict_status_name(res->verdict.status));
	snprintf(out->reason, sizeof(out->reason), "%s", verdict_reason_name(res->verdict.reason));
	out->has_code = req->code != NULL;
	if (out->has_code) {
		out->keep_code = !req->no_keep_code;
		out->code = req->code;
		out->code_len = req->code_len ? req->code_len : strlen(req->code);
		digest_of(out->code, out->code_len, out->code_hash);
	}
	gate_of(&gate, req, res);
	text->len = 0;
	text->failed = false;
	canon_open(&c, NULL);
	first_part(&c, out, req, res, &gate);
	buf_add(text, ",", 1);
	ends[0] = text->len;
	second_part(&c, req, res, &gate);
	buf_add(text, ",", 1);
	ends[1] = text->len;
	third_part(&c, req, res, &gate);
	canon_close(&c);
	ends[2] = text->len;
	if (text->failed)
		return -1;
	for (int i = 0; i < 3; i++) {
		out->part[i] = text->data + (i ? ends[i - 1] : 0);
		out->part_len[i] = ends[i] - (i ? ends[i - 1] : 0);
	}
	return 0;
}
