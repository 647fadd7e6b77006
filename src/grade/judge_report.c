/* SPDX-License-Identifier: Apache-2.0 */
/* What a judge found: as an object, and as a table for people. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "grade/judge.h"

/* ---- the object ---- */

static json_t *text(const char *s)
{
	json_t *v = s ? json_string(s) : json_null();

	return v ? v : json_string("?"); /* no UTF-8: nothing of ours is */
}

static json_t *text_or_null(const char *s)
{
	return text(s && *s ? s : NULL);
}

static json_t *real(double v, double unit)
{
	return json_real(round(v / unit) * unit);
}

static json_t *u64(uint64_t v)
{
	return json_integer((json_int_t)v);
}

static void set_evidence(json_t *o, const struct judge_evidence *ev)
{
	json_t *hit = json_array();

	for (int i = 0; i < LIMIT_COUNT; i++)
		if (ev->v.limits_hit & 1U << i)
			json_array_append_new(hit, json_string(run_limit_names[i]));
	json_object_set_new(o, "status", text(verdict_status_name(ev->v.status)));
	json_object_set_new(o, "reason", text(verdict_reason_name(ev->v.reason)));
	json_object_set_new(o, "exit_code", ev->v.exited ? json_integer(ev->v.exit_code) : json_null());
	json_object_set_new(o, "signal", ev->v.signal ? json_integer(ev->v.signal) : json_null());
	json_object_set_new(o, "cpu_s", real((double)ev->cpu_ns / 1e9, 1e-6));
	json_object_set_new(o, "elapsed_s", real((double)ev->wall_ns / 1e9, 1e-6));
	json_object_set_new(o, "max_memory_mb", real((double)ev->memory_bytes / (1 << 20), 1e-3));
	json_object_set_new(o, "oom_kills", u64(ev->oom_kills));
	json_object_set_new(o, "limits_hit", hit);
	json_object_set_new(o, "stdout_bytes", u64(ev->stdout_bytes));
	json_object_set_new(o, "stderr_bytes", u64(ev->stderr_bytes));
	json_object_set_new(o, "start", text(ev->warm ? "warm" : "cold"));
}

static json_t *step_object(const struct judge_step *k)
{
	json_t *o, *command;

	if (!k->there || k->verdict == JUDGE_NOT_RUN)
		return json_null();
	o = json_object();
	command = json_array();
	for (size_t i = 0; i < k->command.n; i++)
		json_array_append_new(command, text(k->command.v[i]));
	json_object_set_new(o, "ok", json_boolean(k->verdict == JUDGE_AC));
	json_object_set_new(o, "kind", text(k->syntax ? "syntax" : "compile"));
	json_object_set_new(o, "command", command);
	set_evidence(o, &k->ev);
	json_object_set_new(o, "stdout", text(k->out));
	json_object_set_new(o, "stderr", text(k->err));
	json_object_set_new(o, "error", text_or_null(k->detail));
	json_object_set_new(o, "hint", text_or_null(k->hint));
	return o;
}

static json_t *limits_object(const struct jar_limits *l)
{
	return json_pack("{s:f, s:f, s:I, s:I}", "time", (double)l->cpu_ms / 1000, "wall", (double)l->wall_ms / 1000, "memory",
			 (json_int_t)l->memory_bytes, "output", (json_int_t)l->log_bytes - 1);
}

static json_t *diff_object(const struct judge_outcome *o)
{
	json_t *d;

	if (!o->line)
		return json_null();
	d = json_object();
	json_object_set_new(d, "line", u64(o->line));
	json_object_set_new(d, "token", o->token ? u64(o->token) : json_null());
	json_object_set_new(d, "expected", text(o->expected));
	json_object_set_new(d, "got", text(o->got));
	return d;
}

static json_t *case_object(const struct cases_case *c, const struct judge_outcome *o)
{
	json_t *v = json_object(), *checker;

	json_object_set_new(v, "name", text(c->name));
	json_object_set_new(v, "verdict", text(judge_verdict_name(o->verdict)));
	json_object_set_new(v, "passed", json_boolean(o->verdict == JUDGE_AC));
	json_object_set_new(v, "points", json_real(o->points));
	json_object_set_new(v, "max_points", json_real(c->points));
	if (o->verdict == JUDGE_NOT_RUN)
		return v;
	json_object_set_new(v, "compare", text(compare_mode_names[c->compare.mode]));
	json_object_set_new(v, "detail", text_or_null(o->detail));
	set_evidence(v, &o->ev);
	json_object_set_new(v, "limits", limits_object(&o->limits));
	json_object_set_new(v, "again", json_boolean(o->again));
	json_object_set_new(v, "diff", diff_object(o));
	json_object_set_new(v, "stdout", text(o->out));
	json_object_set_new(v, "stderr", text(o->err));
	checker = o->checked ? json_object() : json_null();
	if (o->checked)
		set_evidence(checker, &o->checker);
	json_object_set_new(v, "checker", checker);
	return v;
}

/* That of its first case that did not pass. */
static enum judge_verdict subtask_verdict(const struct cases_subtask *s, const struct judge_result *r)
{
	size_t first = SIZE_MAX;
	bool all = true;

	for (size_t k = 0; k < s->count; k++) {
		enum judge_verdict v = r->cases[s->cases[k]].verdict;

		all = all && v == JUDGE_AC;
		if (v != JUDGE_AC && v != JUDGE_NOT_RUN && s->cases[k] < first)
			first = s->cases[k];
	}
	return all ? JUDGE_AC : first == SIZE_MAX ? JUDGE_NOT_RUN : r->cases[first].verdict;
}

static json_t *subtask_object(const struct judge_setup *s, const struct judge_result *r, size_t i)
{
	const struct cases_subtask *k = &s->cases->subtasks[i];
	json_t *o = json_object(), *names = json_array();

	for (size_t n = 0; n < k->count; n++)
		json_array_append_new(names, text(s->cases->v[k->cases[n]].name));
	json_object_set_new(o, "name", text(k->name));
	json_object_set_new(o, "verdict", text(judge_verdict_name(subtask_verdict(k, r))));
	json_object_set_new(o, "passed", json_boolean(r->subtask_passed[i]));
	json_object_set_new(o, "points", json_real(r->subtask_passed[i] ? k->points : 0));
	json_object_set_new(o, "max_points", json_real(k->points));
	json_object_set_new(o, "cases", names);
	return o;
}

int judge_print_json(const struct judge_setup *s, const struct judge_result *r)
{
	json_t *o = json_object(), *cases = json_array(), *subtasks = json_array();
	const struct cases *c = s->cases;
	char *out;
	int rc;

	for (size_t i = 0; i < c->count; i++)
		json_array_append_new(cases, case_object(&c->v[i], &r->cases[i]));
	for (size_t i = 0; i < c->subtask_count; i++)
		json_array_append_new(subtasks, subtask_object(s, r, i));
	json_object_set_new(o, "verdict", text(judge_verdict_name(r->verdict)));
	json_object_set_new(o, "all_passed", json_boolean(r->verdict == JUDGE_AC));
	json_object_set_new(o, "score", json_real(r->score));
	json_object_set_new(o, "points", json_real(r->points));
	json_object_set_new(o, "max_points", json_real(r->points_max));
	json_object_set_new(o, "total", u64(c->count));
	json_object_set_new(o, "passed", u64(r->passed));
	json_object_set_new(o, "failed", u64(r->failed));
	json_object_set_new(o, "not_run", u64(r->not_run));
	json_object_set_new(o, "language", text(s->solution->lang ? s->solution->lang->name : NULL));
	json_object_set_new(o, "compile", step_object(&r->build));
	json_object_set_new(o, "checker_compile", step_object(&r->checker_build));
	json_object_set_new(o, "cases", cases);
	json_object_set_new(o, "subtasks", subtasks);
	out = json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	json_decref(o);
	rc = out && fd_write_all(1, out, strlen(out)) == 0 && fd_write_all(1, "\n", 1) == 0 ? 0 : -1;
	free(out);
	return rc;
}

/* ---- the table ---- */

/* Names, lines and complaints are a stranger's: nothing of them may steer a terminal, or begin a line of its own. */
static void add_safe(struct buf *out, const char *s, size_t len, bool lines)
{
	struct escaper esc = { ESCAPE_TEXT };
	auto_buf safe = BUF_INIT(len * 4 + 64);

	output_escape(&esc, s, len, &safe);
	for (size_t i = 0; i < safe.len; i++) {
		char c = safe.data[i];

		if (c == '\033')
			buf_str(out, "^[");
		else if (c == '\n')
			buf_str(out, lines ? "\n      " : "\\n");
		else if (c == '\t' && !lines)
			buf_str(out, "\\t");
		else
			buf_add(out, &c, 1);
	}
}

static void add_word(struct buf *out, const char *s)
{
	add_safe(out, s, strlen(s), false);
}

static const char *colour_of(enum judge_verdict v, bool colour)
{
	return !colour || v == JUDGE_NOT_RUN ? "" : v == JUDGE_AC ? "\033[32m" : v == JUDGE_JE ? "\033[35m" : "\033[31m";
}

static void add_stream(struct buf *out, const char *what, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	while (len && (s[len - 1] == '\n' || s[len - 1] == ' '))
		len--;
	if (!len)
		return;
	buf_fmt(out, "    %s:\n      ", what);
	add_safe(out, s, len, true);
	buf_str(out, "\n");
}

static void add_line(struct buf *out, const char *what, const char *line)
{
	buf_fmt(out, "    %-9s ", what);
	if (line)
		add_word(out, line);
	else
		buf_str(out, "(nothing more)");
	buf_str(out, "\n");
}

static void add_case(struct buf *out, const struct cases_case *c, const struct judge_outcome *o, size_t width, bool colour)
{
	const char *name = judge_verdict_name(o->verdict);
	auto_buf safe = BUF_INIT(1024);

	add_word(&safe, c->name);
	buf_fmt(out, "%-*s  %s%-4s%s", (int)width, safe.data ? safe.data : "", colour_of(o->verdict, colour), name ? name : "-",
		colour && name ? "\033[0m" : "");
	if (!name) {
		buf_str(out, "  not run\n");
		return;
	}
	buf_fmt(out, "  %8.3f s  %8.3f s  %8.1f MB", (double)o->ev.cpu_ns / 1e9, (double)o->ev.wall_ns / 1e9, (double)o->ev.memory_bytes / (1 << 20));
	if (c->points != 1 || (o->points > 0 && o->points < c->points))
		buf_fmt(out, "  %g/%g", o->points, c->points);
	if (o->verdict != JUDGE_AC && o->detail[0]) {
		buf_str(out, "  ");
		add_word(out, o->detail);
	}
	buf_str(out, "\n");
	if (o->line) {
		buf_fmt(out, "    line %llu\n", (unsigned long long)o->line);
		add_line(out, "expected", o->expected);
		add_line(out, "got", o->got);
	}
	if (o->verdict == JUDGE_RE)
		add_stream(out, "stderr", o->err);
}

static void add_step(struct buf *out, const char *what, const struct judge_step *k)
{
	if (!k->there || k->verdict == JUDGE_AC || k->verdict == JUDGE_NOT_RUN)
		return;
	buf_fmt(out, "%s: ", what);
	add_word(out, k->detail);
	buf_str(out, "\n");
	add_stream(out, "stdout", k->out);
	add_stream(out, "stderr", k->err);
}

int judge_print_table(const struct judge_setup *s, const struct judge_result *r, bool colour)
{
	const struct cases *c = s->cases;
	auto_buf out = BUF_INIT(1U << 30);
	const char *name = judge_verdict_name(r->verdict);
	size_t width = 4;

	for (size_t i = 0; i < c->count; i++)
		width = strlen(c->v[i].name) > width ? strlen(c->v[i].name) : width;
	width = width < 40 ? width : 40;
	add_step(&out, r->build.syntax ? "the solution cannot be read" : "the solution does not compile", &r->build);
	add_step(&out, "the checker does not compile", &r->checker_build);
	if (r->passed + r->failed)
		buf_fmt(&out, "%-*s        %8s    %8s    %8s\n", (int)width, "case", "CPU", "wall", "memory");
	for (size_t i = 0; i < c->count && r->passed + r->failed; i++)
		add_case(&out, &c->v[i], &r->cases[i], width, colour);
	for (size_t i = 0; i < c->subtask_count; i++) {
		buf_str(&out, "subtask ");
		add_word(&out, c->subtasks[i].name);
		buf_fmt(&out, ": %g of %g points\n", r->subtask_passed[i] ? c->subtasks[i].points : 0, c->subtasks[i].points);
	}
	buf_fmt(&out, "%s%s%s: %zu of %zu passed", colour_of(r->verdict, colour), name ? name : "?", colour ? "\033[0m" : "", r->passed, c->count);
	if (r->not_run && r->passed + r->failed)
		buf_fmt(&out, ", %zu not run", r->not_run);
	buf_fmt(&out, "; %g of %g points\n", r->points, r->points_max);
	return out.failed || fd_write_all(1, out.data, out.len) < 0 ? -1 : 0;
}
