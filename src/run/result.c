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

static json_t *isolation(const struct jar_facts *f)
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
	set(o, "seccomp", json_string(seccomp_guest_profile));
	set(o, "landlock_abi", json_integer(f->landlock_abi));
	set(o, "no_new_privs", json_true());
	set(o, "network", json_string(f->net_host ? "host" : "none"));
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

static json_t *compile_object(const struct step_result *s)
{
	json_t *o = json_object();

	set_verdict(o, &s->verdict);
	set_step(o, s);
	set(o, "limits_hit", limits_hit(&s->verdict));
	set(o, "evidence", evidence(s));
	return o;
}

static json_t *to_object(const struct result *r, const struct request *req, uint64_t line)
{
	const struct step_result *s = r->run.there || !r->compile.there ? &r->run : &r->compile;
	json_t *o = json_object();

	set(o, "execution_id", json_string(r->execution_id));
	if (line)
		set(o, "line", u64(line));
	set_text(o, "id", req->id);
	set_text(o, "client", req->client);
	set_text(o, "language", req->lang ? req->lang->name : NULL);
	set_verdict(o, &r->verdict);
	set_step(o, s);
	set(o, "limits_hit", limits_hit(&r->verdict));
	set(o, "denied", json_array());
	set(o, "start", json_string(r->have_facts && r->facts.warm ? "warm" : "cold"));
	set(o, "evidence", s->evidence.started_ns ? evidence(s) : json_object());
	set(o, "isolation", r->have_facts ? isolation(&r->facts) : json_null());
	set(o, "violations", json_array());
	set(o, "files", files(r));
	if (r->files.incomplete)
		set(o, "files_incomplete", json_true());
	if (req->workspace)
		set(o, "deleted", strings(&r->deleted));
	if (r->compile.there)
		set(o, "compile", compile_object(&r->compile));
	return o;
}

char *result_to_json(const struct result *r, const struct request *req)
{
	json_t *o = to_object(r, req, 0);
	char *text = json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(12));

	json_decref(o);
	return text;
}

static int add_piece(const char *data, size_t len, void *ctx)
{
	return buf_add(ctx, data, len);
}

int result_add_line(const struct result *r, const struct request *req, uint64_t line, struct buf *out)
{
	json_t *o = to_object(r, req, line);
	int rc = json_dump_callback(o, add_piece, out, JSON_COMPACT | JSON_REAL_PRECISION(12));

	json_decref(o);
	return rc < 0 ? -1 : buf_str(out, "\n");
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

void result_print_line(const struct result *r, bool always, bool colour)
{
	struct verdict safe = r->verdict;
	const struct verdict *v = &safe;
	bool bad = v->status != STATUS_COMPLETED;
	const char *red = colour ? "\033[31m" : "", *dim = colour ? "\033[2m" : "", *off = colour ? "\033[0m" : "";

	make_safe(safe.error, sizeof(safe.error));
	make_safe(safe.hint, sizeof(safe.hint));
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
