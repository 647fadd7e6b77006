/* SPDX-License-Identifier: Apache-2.0 */
/* Function tests: from a solution and a file of cases to a result (docs/grading.md). */
#include "grade/functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "grade/feedback.h"
#include "grade/report.h"
#include "jar/root.h"
#include "run/language.h"

#define PIDS_TIGHT 16
#define SOURCE_MAX (16U << 20)

static void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value ? value : json_null());
}

static void move(json_t *to, const char *key, json_t *from, const char *name)
{
	json_t *v = json_object_get(from, name);

	json_object_set(to, key, v ? v : json_null());
}

/* How the functions of a language are called. */
struct function_language {
	const char *name, *word;     /* of the row in languages/; as the verifier calls it */
	const char *driver_language; /* what the driver is written in */
	const char *driver, *file;
	bool forks;		     /* the driver gives each case a process of its own */
	bool fresh;		     /* each case gets a jar of its own */
	bool setup;
};

static const struct function_language function_languages[] = {
	{ "python", "python", "python", ROOT_DRIVER_PY, "solution.py", true, false, true },
	{ "node", "js", "node", ROOT_DRIVER_JS, "solution.js", false, true, true },
	/* Every call is a process already. */
	{ "bash", "bash", "python", ROOT_DRIVER_PY, "solution.sh", false, false, false },
};

static const struct function_language *function_language(const struct language *lang)
{
	for (size_t i = 0; i < sizeof(function_languages) / sizeof(function_languages[0]); i++)
		if (strcmp(function_languages[i].name, lang->name) == 0)
			return &function_languages[i];
	return NULL;
}

const struct function_language *function_place(struct request *r, struct arena *a)
{
	const struct function_language *l = function_language(r->lang);

	if (!l)
		return NULL;
	/* The driver's language is the jar's. */
	r->lang = language_find(l->driver_language);
	r->driver = l->driver;
	r->code_name = l->file;
	if (strcmp(l->name, l->driver_language) != 0) {
		/* Not the driver's language: it goes in as a file, which is looked at as what it is. */
		struct request_file *more = arena_alloc(a, sizeof(*more) * (r->file_count + 1));

		if (r->file_count)
			memcpy(more, r->files, r->file_count * sizeof(*more));
		r->files = more;
		r->files[r->file_count++] = (struct request_file){ .path = l->file, .content = r->code, .len = r->code_len, .mode = 0644 };
		r->code = "";
		r->code_len = 0;
		r->code_name = "belljar_driver.py";
	}
	return l;
}

/* In the solution's language: .py, or .js and what else ends so. */
static bool is_source(const char *path, const char *solution)
{
	const char *dot = strrchr(path, '.');
	size_t n = strlen(path), m = strlen(solution);

	return strcmp(path, FUNCTIONS_SETUP) == 0 ||
	       (dot && n - (size_t)(dot - path) > 2 && strcmp(path + n - 2, solution + m - 2) == 0);
}

static void add_source(json_t *to, const char *text, size_t len)
{
	static const char unknown[] = "\xef\xbf\xbd";
	struct buf clean = BUF_INIT(3 * (size_t)SOURCE_MAX);

	if (!text || len > SOURCE_MAX)
		return;
	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		n = utf8_len((const unsigned char *)text + i, len - i);
		buf_add(&clean, n ? text + i : unknown, n ? n : sizeof(unknown) - 1);
	}
	json_array_append_new(to, json_stringn_nocheck(clean.data ? clean.data : "", clean.len));
	buf_done(&clean);
}

json_t *function_sources(const struct request *r)
{
	json_t *all = json_array();

	add_source(all, r->code, r->code_len);
	for (size_t i = 0; i < r->file_count; i++)
		if (is_source(r->files[i].path, r->code_name))
			add_source(all, r->files[i].content, r->files[i].len);
	return all;
}

int function_sample(struct grade_sample *s, const struct function_test *t, struct arena *a, struct err *e)
{
	struct request *r = &s->req;
	json_t *head = json_object();
	char *text;
	size_t n;

	if (!head)
		return err_set(e, ERR_INTERNAL, "no memory");
	const struct function_language *l = function_place(r, a);

	if (!l) {
		json_decref(head);
		err_set(e, ERR_USAGE, "function tests are for python, javascript and bash, not %s", r->lang->name);
		return err_hint(e, "belljar judge tests programs of any language by what they print");
	}
	set(head, "language", json_string(l->word));
	set(head, "path", json_sprintf("/workspace/%s", l->file));
	set(head, "fresh", json_boolean(l->fresh && !t->shared));
	/* The child of the next case would take a place that this one may need. */
	set(head, "tight", json_boolean(r->limits.pids < PIDS_TIGHT));
	if (t->setup && !l->setup) {
		json_decref(head);
		return err_set(e, ERR_USAGE, "setup code is not for %s", l->word);
	}
	if (t->setup) {
		struct request_file *files = arena_alloc(a, (r->file_count + 1) * sizeof(*files));

		if (r->file_count)
			memcpy(files, r->files, r->file_count * sizeof(*files));
		files[r->file_count++] = (struct request_file){ .path = FUNCTIONS_SETUP, .content = t->setup, .len = t->setup_len, .mode = 0644 };
		r->files = files;
	}
	set(head, "kind", json_string("function"));
	if (t->function)
		set(head, "function", json_string(t->function));
	if (t->setup)
		set(head, "setup", json_string("/workspace/" FUNCTIONS_SETUP));
	set(head, "shared", json_boolean(t->shared || !l->forks));
	set(head, "case_s", json_real((double)t->case_ms / 1000));
	if (strcmp(l->word, "bash") != 0)
		set(head, "sources", function_sources(r));
	text = json_dumps(head, JSON_COMPACT);
	json_decref(head);
	if (!text)
		return err_set(e, ERR_INTERNAL, "no memory");
	n = strlen(text);
	char *task = arena_alloc(a, n + 1 + t->cases_len);

	memcpy(task, text, n);
	task[n] = '\n';
	memcpy(task + n + 1, t->cases, t->cases_len);
	free(text);
	s->task = task;
	s->task_len = n + 1 + t->cases_len;
	return 0;
}

static json_t *view(const struct step_result *s, int i)
{
	struct buf text = BUF_INIT(256U << 20);
	json_t *v;

	if (!s->there || output_view(&s->out[i], &text) < 0) {
		buf_done(&text);
		return json_string("");
	}
	v = json_stringn(text.data ? text.data : "", text.len);
	if (!v) {
		/* Not UTF-8: what can be shown of it. */
		for (size_t k = 0; text.data && k < text.len; k++)
			if ((unsigned char)text.data[k] >= 128 || !text.data[k])
				text.data[k] = '?';
		v = json_stringn(text.data, text.len);
	}
	buf_done(&text);
	return v;
}

/* A process of a case that was ended by SIGKILL while the kernel counted a kill for memory. */
static void blame_memory(json_t *row, uint64_t *kills)
{
	json_t *signal = json_object_get(row, "signal");

	if (!*kills || json_integer_value(signal) != 9 || strcmp(json_string_value(json_object_get(row, "reason")), "crashed") != 0)
		return;
	--*kills;
	set(row, "reason", json_string("memory"));
	set(row, "detail", json_string("the kernel ended it: no memory left"));
}

/* The row of a case: every field is there. */
static json_t *case_row(json_t *row, uint64_t *kills)
{
	static const char *const fields[] = { "name", "function", "passed", "output", "expected", "detail", "duration_ms", "stdout", "reason", "trust", "input", "weight", "exception", "where", "names",
		"signal", "expected_exception", "arguments", "differs" };
	json_t *out = json_object();

	if (json_is_string(json_object_get(row, "reason")))
		blame_memory(row, kills);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (i < 12 || json_object_get(row, fields[i]))
			move(out, fields[i], row, fields[i]);
	return out;
}

struct totals {
	size_t total, passed;
	double weight, earned;
};

static json_t *all_rows(json_t *rows, uint64_t kills, struct totals *t)
{
	json_t *out = json_array(), *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		double weight = json_number_value(json_object_get(row, "weight"));
		bool passed = json_is_true(json_object_get(row, "passed"));

		json_array_append_new(out, case_row(row, &kills));
		t->total++;
		t->weight += weight;
		if (passed) {
			t->passed++;
			t->earned += weight;
		}
	}
	return out;
}

/* What stopped it before any case, or the first case that could not be run to its end. */
static void add_reason(json_t *out, json_t *report, const struct totals *t)
{
	json_t *load = json_object_get(report, "load"), *gone = json_object_get(report, "gone");

	if (load) {
		move(out, "reason", load, "reason");
		move(out, "error", load, "detail");
		move(out, "exception", load, "exception");
	} else if (gone || json_object_get(report, "reason")) {
		move(out, "reason", gone ? gone : report, "reason");
		move(out, "error", gone ? gone : report, "detail");
		set(out, "exception", NULL);
	} else {
		set(out, "reason", t->total ? NULL : json_string("no_cases"));
		set(out, "error", t->total ? NULL : json_string("there are no cases: nothing was shown"));
		set(out, "exception", NULL);
	}
}

json_t *function_result(const struct grade_outcome *o, struct err *e)
{
	json_t *report = report_read(o, e), *bad, *out, *rows;
	struct totals t = { 0 };
	bool loaded;

	if (!report)
		return NULL;
	bad = json_object_get(report, "bad");
	if (bad) {
		err_set(e, ERR_INPUT, "%.300s", json_string_value(bad));
		json_decref(report);
		return NULL;
	}
	out = json_object();
	rows = all_rows(json_object_get(report, "results"), o->oom_kills, &t);
	loaded = !json_object_get(report, "load") && !json_object_get(report, "gone") && json_array_size(rows);
	set(out, "success", json_boolean(t.total && t.passed == t.total && loaded));
	set(out, "all_passed", json_boolean(t.total && t.passed == t.total && loaded));
	set(out, "loaded", json_boolean(loaded));
	set(out, "score", json_real(t.weight > 0 ? t.earned / t.weight : 0));
	set(out, "exit_code", loaded ? json_integer(0) : json_object_get(report, "load") ? json_integer(1) : NULL);
	move(out, "stdout", report, "load_out");
	set(out, "stderr", view(&o->result->run, 1));
	add_reason(out, report, &t);
	set(out, "duration", json_real((double)o->elapsed_ns / 1e9));
	set(out, "cpu_s", json_real((double)o->cpu_ns / 1e9));
	set(out, "max_memory_mb", json_real((double)o->max_memory_bytes / (1 << 20)));
	set(out, "oom_kills", json_integer((json_int_t)o->oom_kills));
	set(out, "jars", json_integer(o->jars));
	set(out, "start", json_string(o->result->facts.warm ? "warm" : "cold"));
	set(out, "total", json_integer((json_int_t)t.total));
	set(out, "passed", json_integer((json_int_t)t.passed));
	set(out, "failed", json_integer((json_int_t)(t.total - t.passed)));
	move(out, "warnings", report, "warnings");
	move(out, "names", report, "names");
	set(out, "test_results", rows);
	json_decref(report);
	return out;
}

/* The language of the solution; the driver of a shell function is another one's. */
static const char *solution_language(const struct request *r)
{
	for (size_t i = 0; i < sizeof(function_languages) / sizeof(function_languages[0]); i++)
		if (r->driver && r->code_name && strcmp(function_languages[i].file, r->code_name) == 0)
			return function_languages[i].name;
	return r->driver || !r->lang ? "bash" : r->lang->name;
}

void function_feedback(json_t *result, const struct request *r)
{
	set(result, "language", json_string(solution_language(r)));
	set(result, "feedback", feedback_make(result, (struct span){ r->code, r->code_len }));
}

json_t *function_program_result(const struct result *r, bool has_function)
{
	json_t *out = json_object();
	const struct verdict *v = &r->verdict;
	bool good = v->status == STATUS_COMPLETED && v->exited && v->exit_code == 0;

	set(out, "success", json_boolean(good && !has_function));
	set(out, "all_passed", json_false());
	set(out, "loaded", json_boolean(good));
	set(out, "score", json_real(0));
	set(out, "exit_code", v->exited ? json_integer(v->exit_code) : NULL);
	set(out, "stdout", view(&r->run, 0));
	set(out, "stderr", view(&r->run, 1));
	set(out, "reason", has_function ? json_string("no_cases") : good ? NULL : json_string(verdict_reason_name(v->reason)));
	set(out, "error", has_function ? json_string("a function without cases: nothing was shown") : v->error[0] ? json_string(v->error) : NULL);
	set(out, "exception", NULL);
	set(out, "duration", json_real((double)(r->run.evidence.ended_ns - r->run.evidence.started_ns) / 1e9));
	set(out, "max_memory_mb", json_real((double)r->run.evidence.cg.memory_peak_bytes / (1 << 20)));
	set(out, "start", json_string(r->facts.warm ? "warm" : "cold"));
	set(out, "total", json_integer(0));
	set(out, "passed", json_integer(0));
	set(out, "failed", json_integer(0));
	set(out, "warnings", json_array());
	set(out, "test_results", json_array());
	return out;
}
