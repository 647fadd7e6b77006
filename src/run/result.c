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
#include "base/utf8.h"
#include "kernel/cgroup.h"
#include "run/state.h"

/* Our own names are UTF-8: nobody needs to look at them again. */
static void set(json_t *o, const char *name, json_t *v)
{
	json_object_set_new_nocheck(o, name, v);
}

static bool is_utf8(const char *data, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = (unsigned char)data[i] < 0x80 ? 1 : utf8_len((const unsigned char *)data + i, len - i);

		if (!n)
			return false;
		i += n;
	}
	return true;
}

/* Text as it is; bytes that are no UTF-8 become U+FFFD in the text, and all of them stand in <name>_base64. */
static void set_bytes(json_t *o, const char *name, const char *data, size_t len)
{
	auto_buf text = BUF_INIT(len * 3 + 16);
	auto_free char *b = NULL;
	char key[64];

	if (is_utf8(data, len)) {
		set(o, name, json_stringn_nocheck(data, len));
		return;
	}
	for (size_t i = 0; i < len;) {
		size_t n = utf8_len((const unsigned char *)data + i, len - i);

		if (n)
			buf_add(&text, data + i, n);
		else
			buf_str(&text, "\xef\xbf\xbd");
		i += n ? n : 1;
	}
	set(o, name, json_stringn_nocheck(text.data ? text.data : "", text.len));
	b = malloc(BASE64_SIZE(len));
	if (b)
		base64_encode(data, len, b);
	snprintf(key, sizeof(key), "%s_base64", name);
	json_object_set_new(o, key, json_string(b ? b : ""));
}

static void set_text(json_t *o, const char *name, const char *text)
{
	if (!text)
		set(o, name, json_null());
	else
		set_bytes(o, name, text, strlen(text));
}

static json_t *strings(const struct strlist *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++) {
		/* Arguments may be any bytes; a list keeps its shape, so what is no UTF-8 is replaced. */
		json_t *o = json_object();

		set_bytes(o, "s", l->v[i], strlen(l->v[i]));
		json_array_append(a, json_object_get(o, "s"));
		json_decref(o);
	}
	return a;
}

static double round_to(double v, double unit)
{
	return round(v / unit) * unit;
}

static json_t *real(double v)
{
	return json_real(round_to(v, 1e-6));
}

static json_t *u64(uint64_t v)
{
	return json_integer((json_int_t)v);
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
static json_t *evidence(const struct step_result *s)
{
	static const char *const ended[] = { "itself", "wall_clock", "cpu_clock", "seccomp", "output_cap", "cancelled", "memory_poll", "outside" };
	const struct jar_evidence *ev = &s->evidence;
	json_t *o = json_object();

	set(o, "ended_by", json_string(ended[ev->ended_by]));
	set(o, "wait_code", json_string(ev->code == CLD_EXITED ? "exited" : ev->code == CLD_DUMPED ? "dumped" : "killed"));
	set(o, "wait_status", json_integer(ev->status));
	set(o, "oom_kills", u64(ev->cg.oom_kills));
	set(o, "memory_peak_bytes", u64(result_memory_peak(ev)));
	set(o, "memory_limit_hits", u64(ev->cg.memory_limit_hits));
	set(o, "cpu_ns", u64(cpu_ns(ev)));
	set(o, "cpu_throttled_ns", u64(ev->cg.throttled_ns));
	set(o, "pids_peak", u64(ev->cg.pids_peak));
	set(o, "pids_limit_hits", u64(ev->cg.pids_limit_hits));
	set(o, "disk_used_bytes", u64(ev->disk_used_bytes));
	set(o, "disk_full", json_boolean(ev->disk_full));
	set(o, "memory_source", json_string(ev->cg.have & 1U << CGROUP_MEMORY ? "cgroup" : "polling"));
	set(o, "cpu_source", json_string(ev->cg.have & 1U << CGROUP_CPUACCT ? "cgroup" : "polling"));
	if (ev->has_syscall) {
		const char *name = seccomp_syscall_name(ev->syscall.arch, ev->syscall.nr);
		json_t *c = json_object();

		set(c, "name", name ? json_string(name) : json_null());
		set(c, "number", json_integer(ev->syscall.nr & ~0x40000000));
		set(c, "arch", json_string(seccomp_arch_name(ev->syscall.arch, ev->syscall.nr)));
		set(o, "syscall", c);
	}
	return o;
}

/* The names of the allow-list. */
static json_t *programs(const struct strlist *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(a, json_string(l->v[i] + (l->v[i][0] == '?')));
	return a;
}

/* What an allow-list refused, as far as it was seen: the first names. */
static json_t *denied(const struct jar_denied *d)
{
	json_t *a = json_array();

	for (uint32_t i = 0; i < d->names && i < JAR_DENIED_MAX; i++) {
		json_t *o = json_object();

		set_text(o, "program", d->list[i].name);
		set(o, "count", u64(d->list[i].count));
		json_array_append_new(a, o);
	}
	return a;
}

/* Those that have no place in the list. */
static uint64_t denied_more(const struct jar_denied *d)
{
	uint64_t listed = 0;

	for (uint32_t i = 0; i < d->names && i < JAR_DENIED_MAX; i++)
		listed += d->list[i].count;
	return d->count - listed + d->unseen;
}

static json_t *isolation(const struct jar_facts *f, const struct request *req)
{
	static const char *const spaces[] = { "user", "mount", "pid", "net", "ipc", "uts", "cgroup" };
	json_t *o = json_object(), *ns = json_array(), *missing = json_array();

	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
		if (!(f->net_host && strcmp(spaces[i], "net") == 0))
			json_array_append_new(ns, json_string(spaces[i]));
	for (int i = 0; i < JAR_MISSING_COUNT; i++)
		if (f->missing & 1U << i)
			json_array_append_new(missing, json_string(jar_missing_names[i]));
	set(o, "mode", json_string(f->rootless ? "rootless" : "root"));
	set(o, "namespaces", ns);
	set(o, "host_uid", json_integer(f->host_uid));
	set(o, "cgroup", json_string(cgroup_version_name(f->cgroup_version)));
	set(o, "seccomp", json_string(req->programs.n ? seccomp_allow_profile : seccomp_guest_profile));
	set(o, "landlock_abi", json_integer(f->landlock_abi));
	set(o, "no_new_privs", json_true());
	set(o, "network", json_string(f->net_host ? "host" : "none"));
	set(o, "programs", req->programs.n ? programs(&req->programs) : json_null());
	set(o, "missing", missing);
	return o;
}

static json_t *limits_hit(const struct verdict *v)
{
	json_t *a = json_array();

	for (int i = 0; i < LIMIT_COUNT; i++)
		if (v->limits_hit & 1U << i)
			json_array_append_new(a, json_string(run_limit_names[i]));
	return a;
}

static void set_streams(json_t *o, const struct step_result *s)
{
	static const char *const names[] = { "stdout", "stderr" };
	json_t *log = json_object();
	bool truncated = false;
	char key[32];

	for (int i = 0; i < 2; i++) {
		auto_buf view = BUF_INIT(s->out[i].view_max * 2 + 1024);

		if (s->there)
			output_view(&s->out[i], &view);
		set_bytes(o, names[i], view.data ? view.data : "", view.len);
		snprintf(key, sizeof(key), "%s_bytes", names[i]);
		set(o, key, u64(s->out[i].total));
		truncated = truncated || output_truncated(&s->out[i]);
		if (s->out[i].log_path[0])
			set(log, names[i], json_string(s->out[i].log_path));
	}
	set(o, "truncated", json_boolean(truncated));
	if (json_object_size(log))
		set(o, "log", log);
	else {
		json_decref(log);
		set(o, "log", json_null());
	}
}

static void set_verdict(json_t *o, const struct verdict *v)
{
	set(o, "status", json_string(verdict_status_name(v->status)));
	set(o, "reason", json_string(verdict_reason_name(v->reason)));
	set(o, "success", json_boolean(v->status == STATUS_COMPLETED && v->exited && v->exit_code == 0));
	set(o, "timed_out", json_boolean(v->status == STATUS_TIMEOUT));
	set(o, "exit_code", v->exited ? json_integer(v->exit_code) : json_null());
	set(o, "signal", v->signal ? json_integer(v->signal) : json_null());
	set_text(o, "error", v->error[0] ? v->error : NULL);
	set_text(o, "hint", v->hint[0] ? v->hint : NULL);
}

/* What both steps and the whole have. */
static void set_step(json_t *o, const struct step_result *s)
{
	const struct jar_evidence *ev = &s->evidence;
	uint64_t ns = ev->ended_ns > ev->started_ns ? ev->ended_ns - ev->started_ns : 0;

	set(o, "command", strings(&s->command));
	set_streams(o, s);
	set(o, "elapsed_s", real((double)ns / 1e9));
	set(o, "cpu_s", real((double)cpu_ns(ev) / 1e9));
	set(o, "max_memory_mb", json_real(round_to((double)result_memory_peak(ev) / (1 << 20), 1e-3)));
	set(o, "pids_peak", u64(ev->cg.pids_peak));
	set(o, "oom_kills", u64(ev->cg.oom_kills));
}

static json_t *files(const struct result *r)
{
	json_t *a = json_array();

	for (const struct artifact *f = r->files.list; f; f = f->next) {
		json_t *o;

		if (f->unchanged || f->skipped || (f->dir && !f->refused))
			continue;
		o = json_object();
		set_text(o, "path", f->path);
		set(o, "size", u64(f->size));
		set(o, "sha256", f->sha256[0] ? json_string(f->sha256) : json_null());
		set(o, "mode", json_sprintf("%04o", f->mode));
		if (f->link)
			set_text(o, "link", f->link);
		if (f->review)
			set_text(o, "review", f->review);
		if (f->refused)
			set_text(o, "refused", f->refused);
		json_array_append_new(a, o);
	}
	return a;
}

json_t *result_violations(const struct check_result *c)
{
	json_t *a = json_array();

	for (size_t i = 0; i < c->count; i++) {
		const struct check_finding *f = &c->list[i];
		json_t *o = json_object();

		set(o, "rule", json_string(f->rule));
		set(o, "severity", json_string(f->error ? "error" : "warning"));
		if (f->file)
			set_text(o, "file", f->file);
		set(o, "line", u64(f->line));
		set(o, "column", u64(f->column));
		set(o, "end_line", u64(f->end_line));
		set(o, "end_column", u64(f->end_column));
		set_text(o, "text", f->text);
		set_text(o, "message", f->message);
		if (f->why)
			set_text(o, "why", f->why);
		json_array_append_new(a, o);
	}
	return a;
}

json_t *result_syntax(const struct syntax_report *s)
{
	json_t *o;

	if (!s->there)
		return json_null();
	o = json_object();
	set(o, "line", u64(s->line));
	set(o, "column", u64(s->column));
	set_text(o, "text", s->text);
	set_text(o, "message", s->message);
	return o;
}

static json_t *receipt(const struct receipt_place *p, const char *error)
{
	char hash[DIGEST_HEX];

	if (p->seq) {
		digest_hex(p->hash, DIGEST_SIZE, hash);
		return json_pack("{s:I, s:s}", "seq", (json_int_t)p->seq, "hash", hash);
	}
	return error ? json_pack("{s:s}", "error", error) : json_null();
}

static json_t *compile_object(const struct step_result *s)
{
	json_t *o = json_object();

	set_verdict(o, &s->verdict);
	set_step(o, s);
	set(o, "limits_hit", limits_hit(&s->verdict));
	set(o, "evidence", evidence(s));
	return o;
}

static void set_common(json_t *o, const struct request *req, uint64_t line)
{
	if (line)
		set(o, "line", u64(line));
	set_text(o, "id", req->id);
	set_text(o, "client", req->client);
}

static json_t *to_object(const struct result *r, const struct request *req, uint64_t line)
{
	const struct step_result *s = r->run.there ? &r->run : r->compile.there ? &r->compile : r->asked.there ? &r->asked : &r->run;
	json_t *o = json_object();

	set(o, "execution_id", json_string(r->execution_id));
	set_common(o, req, line);
	set_text(o, "language", req->lang ? req->lang->name : NULL);
	set_verdict(o, &r->verdict);
	set_step(o, s);
	set(o, "limits_hit", limits_hit(&r->verdict));
	set(o, "denied", denied(&s->denied));
	if (denied_more(&s->denied))
		set(o, "denied_more", u64(denied_more(&s->denied)));
	set(o, "start", json_string(r->have_facts && r->facts.warm ? "warm" : "cold"));
	set(o, "evidence", s->evidence.started_ns ? evidence(s) : json_object());
	set(o, "isolation", r->have_facts ? isolation(&r->facts, req) : json_null());
	set(o, "violations", result_violations(&r->check));
	if (r->check.total > r->check.count)
		set(o, "violations_total", u64(r->check.total));
	if (r->syntax.there)
		set(o, "syntax", result_syntax(&r->syntax));
	set(o, "files", files(r));
	if (r->files.incomplete)
		set(o, "files_incomplete", json_true());
	if (req->workspace)
		set(o, "deleted", strings(&r->deleted));
	if (r->compile.there)
		set(o, "compile", compile_object(&r->compile));
	return o;
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

char *result_to_json(const struct result *r, const struct request *req)
{
	json_t *o = to_object(r, req, 0);

	set(o, "receipt", receipt(&r->receipt, r->receipt_error));
	char *text = json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(12));

	json_decref(o);
	return text;
}

static int add_piece(const char *data, size_t len, void *ctx)
{
	return buf_add(ctx, data, len);
}

static int add_object(json_t *o, struct buf *out)
{
	int rc = json_dump_callback(o, add_piece, out, JSON_COMPACT | JSON_REAL_PRECISION(12));

	json_decref(o);
	if (rc < 0 || out->failed)
		return -1;
	out->len--; /* the last brace */
	return 0;
}

int result_add_line(const struct result *r, const struct request *req, uint64_t line, struct buf *out)
{
	return add_object(to_object(r, req, line), out);
}

int result_add_other(json_t *other, const char *execution_id, const struct request *req, uint64_t line, struct buf *out)
{
	json_t *o = json_object();

	set(o, "execution_id", execution_id[0] ? json_string(execution_id) : json_null());
	set_common(o, req, line);
	set(o, "status", json_string(verdict_status_name(STATUS_COMPLETED)));
	json_object_update(o, other);
	return add_object(o, out);
}

int result_end_line(const struct receipt_place *place, const char *error, struct buf *out)
{
	char hash[DIGEST_HEX];
	json_t *o;

	if (place->seq) {
		digest_hex(place->hash, DIGEST_SIZE, hash);
		return buf_fmt(out, ",\"receipt\":{\"seq\":%llu,\"hash\":\"%s\"}}\n", (unsigned long long)place->seq, hash);
	}
	o = receipt(place, error);
	buf_str(out, ",\"receipt\":");
	json_dump_callback(o, add_piece, out, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(o);
	return buf_str(out, "}\n");
}

char *result_change_line(const char *text, size_t len, const struct verdict *v)
{
	auto_buf whole = BUF_INIT(len + 2);
	json_t *o;
	char *out = NULL;

	buf_add(&whole, text, len);
	buf_str(&whole, "}");
	o = json_loadb(whole.data, whole.len, JSON_ALLOW_NUL, NULL);
	if (o) {
		set_verdict(o, v);
		/* A test that does not count has not been passed. */
		if (json_object_get(o, "all_passed")) {
			set(o, "all_passed", json_false());
			set(o, "score", json_real(0));
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
		print_text(f->file ? f->file : req->file && strcmp(req->file, "-") != 0 ? req->file : req->code_name ? req->code_name : "code");
		fprintf(stderr, ":%u:%u: %s%s%s: ", f->line, f->column, f->error ? red : "", f->error ? "error" : "warning", off);
		print_text(f->message);
		fprintf(stderr, " %s[%s]%s\n", dim, f->rule, off);
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
	else if (always)
		fprintf(stderr, "belljar: completed (%s): %s %d, %.3f s, %.3f s CPU, %.1f MB\n", verdict_reason_name(v->reason),
			v->exited ? "exit code" : "signal", v->exited ? v->exit_code : v->signal,
			(double)(r->run.evidence.ended_ns - r->run.evidence.started_ns) / 1e9,
			(double)cpu_ns(&r->run.evidence) / 1e9, (double)result_memory_peak(&r->run.evidence) / (1 << 20));
}
