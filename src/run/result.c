/* SPDX-License-Identifier: Apache-2.0 */
/* The result: one object for every run, as JSON and as a line for people. */
#include "run/result.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/json_out.h"
#include "base/utf8.h"
#include "jar/export.h"
#include "kernel/cgroup.h"
#include "run/state.h"

#define RESULT_BYTES_MAX (8ULL << 30)

/* Text as it is; bytes that are no UTF-8 become U+FFFD in the text, and all of them stand in <name>_base64. */
static void put_bytes(struct json_out *o, const char *name, const char *data, size_t len)
{
	auto_free char *b = NULL;
	char key[64];

	if (json_out_text(o, name, data, len))
		return;
	b = malloc(BASE64_SIZE(len));
	if (b)
		base64_encode(data, len, b);
	snprintf(key, sizeof(key), "%s_base64", name);
	json_out_str(o, key, b ? b : "");
}

static void put_text(struct json_out *o, const char *name, const char *text)
{
	if (text)
		put_bytes(o, name, text, strlen(text));
	else
		json_out_raw(o, name, "null");
}

/* Arguments may be any bytes; a list keeps its shape, so what is no UTF-8 is replaced. */
static void put_strings(struct json_out *o, const char *name, const struct strlist *l)
{
	json_out_open(o, name, '[');
	for (size_t i = 0; i < l->n; i++)
		json_out_str(o, NULL, l->v[i]);
	json_out_close(o, ']');
}

static void put_u64(struct json_out *o, const char *name, uint64_t v)
{
	json_out_int(o, name, (int64_t)v);
}

uint64_t result_memory_peak(const struct jar_evidence *ev)
{
	if (ev->cg.have & 1U << CGROUP_MEMORY || ev->cg.memory_peak_bytes > ev->rusage_maxrss_bytes)
		return ev->cg.memory_peak_bytes;
	return ev->rusage_maxrss_bytes;
}

static uint64_t cpu_ns(const struct jar_evidence *ev)
{
	return ev->cg.cpu_ns;
}

/* The counters behind the reason, and where they were read. */
static void put_evidence(struct json_out *o, const struct step_result *s, bool there)
{
	static const char *const ended[] = { "itself", "wall_clock", "cpu_clock", "seccomp", "output_cap", "cancelled", "memory_poll", "outside" };
	const struct jar_evidence *ev = &s->evidence;

	json_out_open(o, "evidence", '{');
	if (there) {
		json_out_str(o, "ended_by", ended[ev->ended_by]);
		json_out_str(o, "wait_code", ev->code == CLD_EXITED ? "exited" : ev->code == CLD_DUMPED ? "dumped" : "killed");
		json_out_int(o, "wait_status", ev->status);
		put_u64(o, "oom_kills", ev->cg.oom_kills);
		put_u64(o, "memory_peak_bytes", result_memory_peak(ev));
		put_u64(o, "memory_limit_hits", ev->cg.memory_limit_hits);
		put_u64(o, "cpu_ns", cpu_ns(ev));
		put_u64(o, "cpu_throttled_ns", ev->cg.throttled_ns);
		put_u64(o, "pids_peak", ev->cg.pids_peak);
		put_u64(o, "pids_limit_hits", ev->cg.pids_limit_hits);
		put_u64(o, "disk_used_bytes", ev->disk_used_bytes);
		json_out_bool(o, "disk_full", ev->disk_full);
		if (ev->file_locks)
			put_u64(o, "file_locks", ev->file_locks);
		if (ev->open_sockets)
			put_u64(o, "open_sockets", ev->open_sockets);
		json_out_str(o, "memory_source", ev->cg.have & 1U << CGROUP_MEMORY ? "cgroup" : "polling");
		json_out_str(o, "cpu_source", ev->cg.have & 1U << CGROUP_CPUACCT ? "cgroup" : "polling");
	}
	if (there && ev->has_syscall) {
		json_out_open(o, "syscall", '{');
		json_out_str(o, "name", seccomp_syscall_name(ev->syscall.arch, ev->syscall.nr));
		json_out_int(o, "number", ev->syscall.nr & ~0x40000000);
		json_out_str(o, "arch", seccomp_arch_name(ev->syscall.arch, ev->syscall.nr));
		json_out_close(o, '}');
	}
	json_out_close(o, '}');
}

/* What an allow-list refused, as far as it was seen: the first names. */
static void put_denied(struct json_out *o, const struct jar_denied *d)
{
	json_out_open(o, "denied", '[');
	for (uint32_t i = 0; i < d->names && i < JAR_DENIED_MAX; i++) {
		json_out_open(o, NULL, '{');
		put_text(o, "program", d->list[i].name);
		put_u64(o, "count", d->list[i].count);
		json_out_close(o, '}');
	}
	json_out_close(o, ']');
}

/* Those that have no place in the list. */
static uint64_t denied_more(const struct jar_denied *d)
{
	uint64_t listed = 0;

	for (uint32_t i = 0; i < d->names && i < JAR_DENIED_MAX; i++)
		listed += d->list[i].count;
	return d->count - listed + d->unseen;
}

/* The names of the allow-list. */
static void put_programs(struct json_out *o, const struct strlist *l)
{
	if (!l->n) {
		json_out_raw(o, "programs", "null");
		return;
	}
	json_out_open(o, "programs", '[');
	for (size_t i = 0; i < l->n; i++)
		json_out_str(o, NULL, l->v[i] + (l->v[i][0] == '?'));
	json_out_close(o, ']');
}

/* The names of the bits that are set. */
static void put_bits(struct json_out *o, const char *name, uint32_t bits, const char *const *names, int count)
{
	json_out_open(o, name, '[');
	for (int i = 0; i < count; i++)
		if (bits & 1U << i)
			json_out_str(o, NULL, names[i]);
	json_out_close(o, ']');
}

static void put_isolation(struct json_out *o, const struct jar_facts *f, const struct request *req)
{
	static const char *const spaces[] = { "user", "mount", "pid", "net", "ipc", "uts", "cgroup" };
	enum { COUNT = sizeof(spaces) / sizeof(spaces[0]), NET = 3 };

	json_out_open(o, "isolation", '{');
	json_out_str(o, "mode", f->rootless ? "rootless" : "root");
	put_bits(o, "namespaces", f->net_host ? ~(1U << NET) : ~0U, spaces, COUNT);
	json_out_int(o, "host_uid", f->host_uid);
	json_out_str(o, "cgroup", cgroup_version_name(f->cgroup_version));
	json_out_str(o, "seccomp", seccomp_profile(req->programs.n, f->missing & JAR_MISSING_MEMORY));
	json_out_int(o, "landlock_abi", f->landlock_abi);
	json_out_bool(o, "no_new_privs", true);
	json_out_str(o, "network", f->net_host ? "host" : "none");
	put_programs(o, &req->programs);
	put_bits(o, "missing", f->missing, jar_missing_names, JAR_MISSING_COUNT);
	json_out_close(o, '}');
}

static void put_limits_hit(struct json_out *o, const struct verdict *v)
{
	put_bits(o, "limits_hit", v->limits_hit, run_limit_names, LIMIT_COUNT);
}

static void put_streams(struct json_out *o, const struct step_result *s)
{
	static const char *const names[] = { "stdout", "stderr" }, *const sizes[] = { "stdout_bytes", "stderr_bytes" };
	bool truncated = false, logged = false;

	for (int i = 0; i < 2; i++) {
		auto_buf view = BUF_INIT(s->out[i].view_max * 2 + 1024);

		if (s->there)
			output_view(&s->out[i], &view);
		put_bytes(o, names[i], view.data ? view.data : "", view.len);
		put_u64(o, sizes[i], s->out[i].total);
		truncated = truncated || output_truncated(&s->out[i]);
		logged = logged || s->out[i].log_path[0];
	}
	json_out_bool(o, "truncated", truncated);
	if (!logged) {
		json_out_raw(o, "log", "null");
		return;
	}
	json_out_open(o, "log", '{');
	for (int i = 0; i < 2; i++)
		if (s->out[i].log_path[0])
			json_out_str(o, names[i], s->out[i].log_path);
	json_out_close(o, '}');
}

static void put_int_or_null(struct json_out *o, const char *name, bool there, int v)
{
	if (there)
		json_out_int(o, name, v);
	else
		json_out_raw(o, name, "null");
}

static void put_verdict(struct json_out *o, const struct verdict *v)
{
	json_out_str(o, "status", verdict_status_name(v->status));
	json_out_str(o, "reason", verdict_reason_name(v->reason));
	json_out_bool(o, "success", v->status == STATUS_COMPLETED && v->exited && v->exit_code == 0);
	json_out_bool(o, "timed_out", v->status == STATUS_TIMEOUT);
	put_int_or_null(o, "exit_code", v->exited, v->exit_code);
	put_int_or_null(o, "signal", v->signal, v->signal);
	put_text(o, "error", v->error[0] ? v->error : NULL);
	put_text(o, "hint", v->hint[0] ? v->hint : NULL);
}

/* To the nearest microsecond. */
static void put_seconds(struct json_out *o, const char *name, uint64_t ns)
{
	json_out_fixed(o, name, (ns + 500) / 1000, 6);
}

/* What both steps and the whole have. */
static void put_step(struct json_out *o, const struct step_result *s)
{
	const struct jar_evidence *ev = &s->evidence;

	put_strings(o, "command", &s->command);
	put_streams(o, s);
	put_seconds(o, "elapsed_s", ev->ended_ns > ev->started_ns ? ev->ended_ns - ev->started_ns : 0);
	put_seconds(o, "cpu_s", cpu_ns(ev));
	json_out_fixed(o, "max_memory_mb", (uint64_t)llround((double)result_memory_peak(ev) / (1 << 20) * 1e3), 3);
	put_u64(o, "pids_peak", ev->cg.pids_peak);
	put_u64(o, "oom_kills", ev->cg.oom_kills);
}

bool result_got_nothing(const struct result *r, const struct request *req, size_t i)
{
	const char *glob = request_get_pattern(req, i);

	for (const struct artifact *f = r->files.list; f; f = f->next)
		if (export_matches(glob, f->path))
			return false;
	return true;
}

/* Patterns of `get` that matched nothing. */
static void put_missing(struct json_out *o, const struct result *r, const struct request *req)
{
	bool any = false;

	for (size_t i = 0; i < req->get.n; i++) {
		if (!result_got_nothing(r, req, i))
			continue;
		if (!any)
			json_out_open(o, "missing", '[');
		any = true;
		put_text(o, NULL, req->get.v[i]);
	}
	if (any)
		json_out_close(o, ']');
}

static void put_files(struct json_out *o, const struct result *r)
{
	char mode[16];

	json_out_open(o, "files", '[');
	for (const struct artifact *f = r->files.list; f; f = f->next) {
		if (f->unchanged || f->skipped || (f->dir && !f->refused))
			continue;
		json_out_open(o, NULL, '{');
		put_text(o, "path", f->path);
		put_u64(o, "size", f->size);
		json_out_str(o, "sha256", f->sha256[0] ? f->sha256 : NULL);
		snprintf(mode, sizeof(mode), "%04o", f->mode);
		json_out_str(o, "mode", mode);
		if (f->link)
			put_text(o, "link", f->link);
		if (f->review)
			put_text(o, "review", f->review);
		if (f->refused)
			put_text(o, "refused", f->refused);
		json_out_close(o, '}');
	}
	json_out_close(o, ']');
}

void result_put_violations(struct json_out *o, const struct check_result *c)
{
	json_out_open(o, "violations", '[');
	for (size_t i = 0; i < c->count; i++) {
		const struct check_finding *f = &c->list[i];

		json_out_open(o, NULL, '{');
		json_out_str(o, "rule", f->rule);
		json_out_str(o, "severity", f->error ? "error" : "warning");
		if (f->file)
			put_text(o, "file", f->file);
		json_out_int(o, "line", f->line);
		json_out_int(o, "column", f->column);
		json_out_int(o, "end_line", f->end_line);
		json_out_int(o, "end_column", f->end_column);
		put_text(o, "text", f->text);
		put_text(o, "message", f->message);
		if (f->why)
			put_text(o, "why", f->why);
		json_out_close(o, '}');
	}
	json_out_close(o, ']');
}

void result_put_syntax(struct json_out *o, const struct syntax_report *s)
{
	if (!s->there) {
		json_out_raw(o, "syntax", "null");
		return;
	}
	json_out_open(o, "syntax", '{');
	json_out_int(o, "line", s->line);
	json_out_int(o, "column", s->column);
	put_text(o, "text", s->text);
	put_text(o, "message", s->message);
	json_out_close(o, '}');
}

static void put_compile(struct json_out *o, const struct step_result *s)
{
	json_out_open(o, "compile", '{');
	put_verdict(o, &s->verdict);
	put_step(o, s);
	put_limits_hit(o, &s->verdict);
	put_evidence(o, s, true);
	json_out_close(o, '}');
}

static void put_common(struct json_out *o, const char *execution_id, const struct request *req, uint64_t line)
{
	json_out_str(o, "execution_id", execution_id[0] ? execution_id : NULL);
	if (line)
		put_u64(o, "line", line);
	put_text(o, "id", req->id);
	put_text(o, "client", req->client);
}

/* All but the receipt and the last brace. */
static int put_result(struct json_out *o, const struct result *r, const struct request *req, uint64_t line)
{
	const struct step_result *s = r->run.there ? &r->run : r->compile.there ? &r->compile : r->asked.there ? &r->asked : &r->run;

	json_out_open(o, NULL, '{');
	put_common(o, r->execution_id, req, line);
	put_text(o, "language", req->lang ? req->lang->name : NULL);
	put_verdict(o, &r->verdict);
	put_step(o, s);
	put_limits_hit(o, &r->verdict);
	put_denied(o, &s->denied);
	if (denied_more(&s->denied))
		put_u64(o, "denied_more", denied_more(&s->denied));
	json_out_str(o, "start", r->have_facts && r->facts.warm ? "warm" : "cold");
	put_evidence(o, s, s->evidence.started_ns);
	if (r->have_facts)
		put_isolation(o, &r->facts, req);
	else
		json_out_raw(o, "isolation", "null");
	result_put_violations(o, &r->check);
	if (r->check.total > r->check.count)
		put_u64(o, "violations_total", r->check.total);
	if (r->syntax.there)
		result_put_syntax(o, &r->syntax);
	put_files(o, r);
	if (r->run.there)
		put_missing(o, r, req);
	if (r->files.incomplete)
		json_out_bool(o, "files_incomplete", true);
	if (req->workspace)
		put_strings(o, "deleted", &r->files.deleted);
	if (r->compile.there)
		put_compile(o, &r->compile);
	return o->to->failed ? -1 : 0;
}

void result_begin(struct result *r)
{
	memset(r, 0, sizeof(*r));
	result_stamp(r);
}

void result_stamp(struct result *r)
{
	state_new_id(r->execution_id);
	r->time_ms = receipt_now_ms();
}

int result_add_line(const struct result *r, const struct request *req, uint64_t line, struct buf *out)
{
	struct json_out o = { .to = out };

	return put_result(&o, r, req, line);
}

/* What was written, to be shown otherwise, or changed. */
static json_t *parse(const struct buf *b)
{
	return b->failed ? NULL : json_loadb(b->data, b->len, JSON_ALLOW_NUL, NULL);
}

char *result_to_json(const struct result *r, const struct request *req)
{
	auto_buf line = BUF_INIT(RESULT_BYTES_MAX);
	char *text;
	json_t *o;

	if (result_add_line(r, req, 0, &line) < 0 || result_end_line(&r->receipt, r->receipt_error, &line) < 0)
		return NULL;
	o = parse(&line);
	text = json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	json_decref(o);
	return text;
}

static int add_piece(const char *data, size_t len, void *ctx)
{
	return buf_add(ctx, data, len);
}

int result_add_other(json_t *other, const char *execution_id, const struct request *req, uint64_t line, struct buf *out)
{
	auto_buf head = BUF_INIT(RESULT_BYTES_MAX);
	struct json_out o = { .to = &head };
	json_t *all;
	int rc;

	json_out_open(&o, NULL, '{');
	put_common(&o, execution_id, req, line);
	json_out_str(&o, "status", verdict_status_name(STATUS_COMPLETED));
	json_out_close(&o, '}');
	all = parse(&head);
	json_object_update(all, other);
	rc = all ? json_dump_callback(all, add_piece, out, JSON_COMPACT | JSON_REAL_PRECISION(12)) : -1;
	json_decref(all);
	if (rc < 0 || out->failed)
		return -1;
	out->len--; /* the last brace */
	return 0;
}

int result_end_line(const struct receipt_place *place, const char *error, struct buf *out)
{
	struct json_out o = { .to = out, .more = true };
	char hash[DIGEST_HEX];

	if (place->seq) {
		digest_hex(place->hash, DIGEST_SIZE, hash);
		json_out_open(&o, "receipt", '{');
		put_u64(&o, "seq", place->seq);
		json_out_str(&o, "hash", hash);
		json_out_close(&o, '}');
	} else if (error) {
		json_out_open(&o, "receipt", '{');
		json_out_str(&o, "error", error);
		json_out_close(&o, '}');
	} else {
		json_out_raw(&o, "receipt", "null");
	}
	return buf_str(out, "}\n");
}

char *result_change_line(const char *text, size_t len, const struct verdict *v)
{
	auto_buf whole = BUF_INIT(len + 2), said = BUF_INIT(1 << 16);
	struct json_out fields = { .to = &said };
	json_t *o;
	char *out = NULL;

	json_out_open(&fields, NULL, '{');

	buf_add(&whole, text, len);
	buf_str(&whole, "}");
	o = parse(&whole);
	if (o) {
		json_t *verdict;

		put_verdict(&fields, v);
		json_out_close(&fields, '}');
		verdict = parse(&said);
		json_object_update(o, verdict);
		json_decref(verdict);
		/* A test that does not count has not been passed. */
		if (json_object_get(o, "all_passed")) {
			json_object_set_new(o, "all_passed", json_false());
			json_object_set_new(o, "score", json_real(0));
		}
		out = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(12));
		json_decref(o);
	}
	if (out)
		out[strlen(out) - 1] = '\0';
	return out;
}

/* Errors can hold names that a guest or a stranger chose. */
static void make_safe(char *text, size_t size)
{
	struct escaper s = { ESCAPE_TEXT };
	auto_buf out = BUF_INIT(size * 4 + 64);

	output_escape(&s, text, strlen(text), &out);
	snprintf(text, size, "%s", out.data ? out.data : "");
	for (char *p = text; *p; p++)
		if (*p == '\n' || *p == '\033')
			*p = '?';
}

/* One line for all refused starts. */
static void print_denied(const struct jar_denied *d, const char *dim, const char *off)
{
	char name[JAR_DENIED_NAME];

	if (!d->names)
		return;
	fprintf(stderr, "belljar: %snot allowed to start:", dim);
	for (uint32_t i = 0; i < d->names && i < JAR_DENIED_MAX; i++) {
		snprintf(name, sizeof(name), "%s", d->list[i].name);
		make_safe(name, sizeof(name));
		fprintf(stderr, "%s %s", i ? "," : "", name);
	}
	fprintf(stderr, "%s%s\n", denied_more(d) ? " ..." : "", off);
}

static void print_text(const char *text)
{
	struct escaper s = { ESCAPE_TEXT };
	auto_buf out = BUF_INIT(1 << 16);

	output_escape(&s, text, strlen(text), &out);
	for (char *p = out.data; p && *p; p++)
		if (*p == '\n' || *p == '\033')
			*p = '?';
	fputs(out.data ? out.data : "", stderr);
}

/* The line, and a caret under the place; tabs stay tabs so that they fall together. */
static void print_caret(const char *text, uint32_t before, uint32_t length, const char *red, const char *off)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t left = strlen(text);

	fputs("    ", stderr);
	print_text(text);
	fputs("\n    ", stderr);
	for (uint32_t i = 0; i < before && left; i++) {
		size_t n = utf8_len(p, left);

		fputc(*p == '\t' ? '\t' : ' ', stderr);
		p += n ? n : 1;
		left -= n ? n : 1;
	}
	fputs(red, stderr);
	for (uint32_t i = 0; i == 0 || (i < length && i < 60 && i < left); i++)
		fputc('^', stderr);
	fprintf(stderr, "%s\n", off);
}

static void print_finding(const struct check_finding *f, const struct request *req, const char *word, const char *shade, const char *dim, const char *off)
{
	print_text(f->file ? f->file : req->file && strcmp(req->file, "-") != 0 ? req->file : req->code_name ? req->code_name : "code");
	fprintf(stderr, ":%u:%u: %s%s%s: ", f->line, f->column, shade, word, off);
	print_text(f->message);
	fprintf(stderr, " %s[%s]%s\n", dim, f->rule, off);
}

void result_print_noted(const struct result *r, const struct request *req, bool colour)
{
	const char *dim = colour ? "\033[2m" : "", *off = colour ? "\033[0m" : "";

	for (size_t i = 0; i < r->check.count; i++)
		if (r->check.list[i].error)
			print_finding(&r->check.list[i], req, "warning", "", dim, off);
}

void result_print_findings(const struct result *r, const struct request *req, bool warnings, bool colour)
{
	const char *red = colour ? "\033[31m" : "", *dim = colour ? "\033[2m" : "", *off = colour ? "\033[0m" : "";

	/* An interpreter that was started has shown it itself. */
	if (r->syntax.there && !r->run.there)
		print_caret(r->syntax.text, r->syntax.caret, 1, red, off);
	for (size_t i = 0; i < r->check.count; i++) {
		const struct check_finding *f = &r->check.list[i];

		if (!f->error && !warnings)
			continue;
		print_finding(f, req, f->error ? "error" : "warning", f->error ? red : "", dim, off);
		print_caret(f->text, f->caret, f->caret_len, red, off);
		if (f->why)
			fprintf(stderr, "    %swhy: %s%s\n", dim, f->why, off);
	}
	if (r->check.total > r->check.count)
		fprintf(stderr, "    and %zu more\n", r->check.total - r->check.count);
}

void result_print_line(const struct result *r, bool always, bool colour)
{
	struct verdict safe = r->verdict;
	const struct verdict *v = &safe;
	bool bad = v->status != STATUS_COMPLETED;
	const char *red = colour ? "\033[31m" : "", *dim = colour ? "\033[2m" : "", *off = colour ? "\033[0m" : "";

	make_safe(safe.error, sizeof(safe.error));
	make_safe(safe.hint, sizeof(safe.hint));
	print_denied(&r->run.denied, dim, off);
	if (v->status == STATUS_ERROR) {
		fprintf(stderr, "%serror:%s %s\n", red, off, v->error);
		if (v->hint[0])
			fprintf(stderr, "%shint: %s%s\n", dim, v->hint, off);
		return;
	}
	if (bad)
		fprintf(stderr, "%sbelljar: %s (%s):%s %s%s%s%s%s\n", red, verdict_status_name(v->status),
			verdict_reason_name(v->reason), off, v->error, v->hint[0] ? "; " : "", dim, v->hint, off);
	else if (v->limits_hit)
		fprintf(stderr, "belljar: %s%s%s\n", dim, v->hint, off);
	else if (v->signal && !always)
		fprintf(stderr, "belljar: %s\n", v->error);
	else if (always)
		fprintf(stderr, "belljar: completed (%s): %s %d, %.3f s, %.3f s CPU, %.1f MB\n", verdict_reason_name(v->reason),
			v->exited ? "exit code" : "signal", v->exited ? v->exit_code : v->signal,
			(double)(r->run.evidence.ended_ns - r->run.evidence.started_ns) / 1e9,
			(double)cpu_ns(&r->run.evidence) / 1e9, (double)result_memory_peak(&r->run.evidence) / (1 << 20));
}
