/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a data set, graded: one line a sample out, pass@k and reasons at the end. */
#include "grade/eval.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/field.h"
#include "grade/functions.h"
#include "grade/report.h"
#include "run/language.h"

#define REASONS 32
#define PROGRESS_MS 200

struct sample {
	struct grade_sample grade;
	struct dataset_task *task;
	size_t number;	  /* in the order of the file */
	const char *line; /* as it was read */
	size_t len;
	struct arena arena;
};

struct eval {
	struct eval_setup *setup;
	struct dataset_tasks tasks;
	struct dataset_lines *lines;
	struct err *err;
	bool bad;
	size_t read, next_out, done, passed, skip, next_reference;
	struct held {
		char *text;
		uint64_t ticket;
	} *held;	/* results that wait for an earlier one or for a receipt, by number */
	size_t held_cap;
	struct buf text; /* results that are to be written */
	struct {
		char word[32];
		size_t count;
	} reasons[REASONS];
	uint64_t began_ns, shown_ns, cpu_ns;
};

/* ---- counting ---- */

static void count_reason(struct eval *v, const char *word)
{
	for (size_t i = 0; i < REASONS; i++) {
		if (!v->reasons[i].count)
			snprintf(v->reasons[i].word, sizeof(v->reasons[i].word), "%s", word);
		if (strncmp(v->reasons[i].word, word, sizeof(v->reasons[i].word) - 1) == 0) {
			v->reasons[i].count++;
			return;
		}
	}
}

static void count(struct eval *v, struct dataset_task *t, bool passed, bool base, const char *reason)
{
	v->done++;
	v->passed += passed;
	t->samples++;
	t->correct += passed;
	t->correct_base += base;
	count_reason(v, passed ? "passed" : reason);
}

/* ---- results ---- */

static int flush(struct eval *v)
{
	size_t at = 0;

	while (at < v->text.len) {
		ssize_t n = write(v->setup->out, v->text.data + at, v->text.len - at);

		if (n < 0)
			return err_sys(v->err, "write %s", v->setup->out_name);
		at += (size_t)n;
	}
	v->text.len = 0;
	return 0;
}

/* In the order of the samples, and none before its receipt is kept. */
static void give_out(struct eval *v)
{
	while (v->next_out < v->held_cap && v->held[v->next_out].text && grade_settled(v->held[v->next_out].ticket)) {
		struct held *h = &v->held[v->next_out++];

		buf_str(&v->text, h->text);
		free(h->text);
		h->text = NULL;
	}
	if (v->text.len && flush(v) < 0)
		v->bad = true;
}

static void hold(struct eval *v, size_t number, char *text, uint64_t ticket)
{
	if (number >= v->held_cap) {
		size_t cap = (number + 1) * 2;
		struct held *more = realloc(v->held, cap * sizeof(*more));

		if (!more)
			abort();
		memset(more + v->held_cap, 0, (cap - v->held_cap) * sizeof(*more));
		v->held = more;
		v->held_cap = cap;
	}
	v->held[number] = (struct held){ text, ticket };
	give_out(v);
}

/* The sample's own line, with what we found added before its last brace. */
static char *result_line(const struct sample *s, json_t *ours)
{
	struct buf out = BUF_INIT(512U << 20);
	size_t len = s->len;
	char *text = json_dumps(ours, JSON_COMPACT | JSON_ENSURE_ASCII);

	while (len && s->line[len - 1] != '}')
		len--;
	if (len)
		len--;
	while (len && strchr(" \t", s->line[len - 1]))
		len--;
	buf_add(&out, s->line, len);
	/* An empty object has no field before ours. */
	buf_str(&out, len && s->line[len - 1] == '{' ? "" : ", ");
	buf_str(&out, text ? text + 1 : "}");
	buf_str(&out, "\n");
	free(text);
	return buf_take(&out);
}

/* What the reference tools say, and why in our words. */
static void judge(struct eval *v, struct sample *s, const struct grade_outcome *o)
{
	struct err failure = { 0 };
	json_t *report = report_read(o, &failure), *gone = json_object_get(report, "gone"), *said = gone ? gone : report, *ours = json_object(), *more = json_object();
	bool passed = json_is_true(json_object_get(report, "passed")), base = passed;
	const char *reason = report_text(said, "reason", &s->arena), *result = report_text(report, "result", &s->arena), *detail = report_text(said, "detail", &s->arena);
	json_t *status = json_object_get(report, "status"), *x;

	if (!report) {
		reason = "internal";
		detail = failure.msg;
	} else if (!passed && o->oom_kills && (strcmp(reason, "crashed") == 0 || strcmp(reason, "memory") == 0)) {
		reason = "memory";
	}
	if (gone || !result[0])
		result = strcmp(reason, "timeout") == 0 ? "timed out" : passed ? "passed" : NULL;
	json_object_set_new(ours, "passed", json_boolean(passed));
	json_object_set_new(ours, "result", result ? json_string(result) : json_sprintf("failed: %s", detail[0] ? detail : reason));
	if (v->setup->kind->two) {
		static const char *const names[] = { "base_status", "plus_status" };

		/* Each list of inputs for itself, as evalplus has it. */
		for (size_t i = 0; i < 2; i++) {
			const char *word = json_string_value(json_array_get(status, i));

			json_object_set_new(ours, names[i], json_string(word ? word : strcmp(reason, "timeout") == 0 ? "timeout" : "fail"));
		}
		base = strcmp(json_string_value(json_object_get(ours, "base_status")), "pass") == 0;
	}
	json_object_set_new(more, "reason", passed ? json_null() : json_string(reason));
	if (!passed && detail[0])
		json_object_set_new(more, "detail", json_string(detail));
	if ((x = json_object_get(report, "exception")) && !passed)
		json_object_set(more, "exception", x);
	json_object_set_new(more, "cpu_s", json_real((double)o->cpu_ns / 1e9));
	json_object_set_new(more, "elapsed_s", json_real((double)o->elapsed_ns / 1e9));
	json_object_set_new(more, "max_memory_mb", json_real((double)o->max_memory_bytes / (1 << 20)));
	json_object_set_new(more, "start", json_string(o->result && o->result->facts.warm ? "warm" : "cold"));
	json_object_set_new(ours, "belljar", more);
	v->cpu_ns += o->cpu_ns;
	count(v, s->task, passed, base, reason);
	hold(v, s->number, result_line(s, ours), o->ticket);
	json_decref(ours);
	json_decref(report);
}

/* ---- samples ---- */

static void sample_free(struct sample *s)
{
	arena_free(&s->arena);
	free(s);
}

static int make_code(struct eval *v, struct sample *s, struct err *e)
{
	const struct dataset *d = v->setup->kind;
	struct request *r = &s->grade.req;
	const char *code = dataset_text(s->line, s->len, "solution", &s->arena, &r->code_len), *prompt;
	size_t prompt_len = 0, len;

	if (!code) {
		code = dataset_text(s->line, s->len, "completion", &s->arena, &len);
		if (!code)
			return err_set(e, ERR_INPUT, "%s, line %zu: neither 'completion' nor 'solution'", v->setup->samples_name, s->number + 1);
		prompt = d->prompt ? dataset_text(s->task->line, s->task->len, "prompt", &s->arena, &prompt_len) : NULL;
		if (prompt) {
			char *whole = arena_alloc(&s->arena, prompt_len + len + 1);

			memcpy(whole, prompt, prompt_len);
			memcpy(whole + prompt_len, code, len + 1);
			code = whole;
		}
		r->code_len = prompt_len + len;
	}
	r->code = code;
	return 0;
}

static void make_task(struct eval *v, struct sample *s)
{
	static const char head[] = "{\"dataset\":\"%s\",\"case_s\":%llu,\"call_ms\":%llu,\"load_ms\":%llu,\"sources\":%s}\n";
	const struct request *r = &s->grade.req;
	unsigned long long wall = r->limits.wall_ms + 2000;
	/* Only cases may ask for classes of the solution's own. */
	json_t *sources = strcmp(v->setup->kind->name, "cases") == 0 ? function_sources(r) : json_array();
	char *list = json_dumps(sources, JSON_COMPACT);
	size_t room = sizeof(head) + 128 + strlen(list), n;
	char *task = arena_alloc(&s->arena, room + s->task->len);

	n = (size_t)snprintf(task, room, head, v->setup->kind->name, (unsigned long long)(r->limits.cpu_ms + 999) / 1000, wall, wall, list);
	free(list);
	json_decref(sources);
	memcpy(task + n, s->task->line, s->task->len);
	s->grade.task = task;
	s->grade.task_len = n + s->task->len;
}

static int make_setup(struct sample *s)
{
	struct request *r = &s->grade.req;
	size_t len;
	const char *setup = dataset_text(s->task->line, s->task->len, "setup", &s->arena, &len);

	if (!setup)
		return 0;
	r->files = arena_alloc(&s->arena, sizeof(*r->files));
	r->files[0] = (struct request_file){ .path = FUNCTIONS_SETUP, .content = setup, .len = len, .mode = 0644 };
	r->file_count = 1;
	return 0;
}

/* A sample from a line: one of the file's, or one made of a task's own solution. */
static struct sample *make_sample(struct eval *v, const char *line, size_t len, struct err *e)
{
	struct sample *s = calloc(1, sizeof(*s));
	const char *id;

	if (!s)
		abort();
	s->number = v->read++;
	s->line = arena_dup_len(&s->arena, line, len);
	s->len = len;
	id = dataset_id(line, len, &s->arena);
	s->task = id ? dataset_task(&v->tasks, id) : NULL;
	if (!s->task) {
		err_set(e, ERR_INPUT, id ? "%s, line %zu: no task '%.60s' in %s" : "%s, line %zu: no 'task_id'", v->setup->samples_name, s->number + 1, id ? id : "",
			v->setup->data_name);
		sample_free(s);
		return NULL;
	}
	request_copy(&s->grade.req, v->setup->request);
	s->grade.req.language = v->setup->kind->language;
	s->grade.req.client = NULL;
	s->grade.ctx = s;
	if (make_code(v, s, e) < 0 || request_resolve(&s->grade.req, &s->arena, e) < 0 || make_setup(s) < 0) {
		sample_free(s);
		return NULL;
	}
	function_place(&s->grade.req, &s->arena);
	make_task(v, s);
	return s;
}

/* The data set's own solution of a task, as a sample would have it. */
static int reference_line(struct eval *v, struct buf *out)
{
	const struct dataset *d = v->setup->kind;
	const struct dataset_task *t = &v->tasks.list[v->next_reference++];
	struct arena a = { 0 };
	const char *field = v->setup->field ? v->setup->field : d->reference, *at;
	size_t n;

	out->len = 0;
	if (!field_find(t->line, t->len, "task_id", &at, &n) && !field_find(t->line, t->len, "name", &at, &n))
		return -1;
	buf_str(out, "{\"task_id\": ");
	buf_add(out, at, n);
	if (!field_find(t->line, t->len, field, &at, &n))
		return -1;
	buf_str(out, d->prompt && !v->setup->field ? ", \"completion\": " : ", \"solution\": ");
	buf_add(out, at, n);
	buf_str(out, "}");
	arena_free(&a);
	return out->failed ? -1 : 0;
}

static struct grade_sample *next(void *ctx)
{
	static struct buf reference = BUF_INIT(SIZE_MAX / 2);
	struct eval *v = ctx;

	while (!v->bad) {
		const char *line;
		size_t len;
		struct sample *s;

		if (v->setup->references) {
			if (v->next_reference == v->tasks.count)
				return NULL;
			if (reference_line(v, &reference) < 0) {
				err_set(v->err, ERR_INPUT, "%s: task '%.60s' has no solution", v->setup->data_name, v->tasks.list[v->next_reference - 1].id);
				break;
			}
			line = reference.data;
			len = reference.len;
		} else {
			int rc = dataset_next(v->lines, &line, &len, v->err);

			if (rc == 0)
				return NULL;
			if (rc < 0)
				break;
		}
		if (v->read < v->skip) {
			v->read++;
			continue;
		}
		s = make_sample(v, line, len, v->err);
		if (!s)
			break;
		return &s->grade;
	}
	v->bad = true;
	return NULL;
}

static void done(void *ctx, struct grade_sample *g, const struct grade_outcome *o)
{
	struct eval *v = ctx;
	struct sample *s = g->ctx;

	/* What was called off has no verdict: --resume takes it up again. */
	if (!o->cancelled)
		judge(v, s, o);
	sample_free(s);
}

/* ---- what is there already ---- */

/* Counts the results that an earlier run has written, and drops a last line that is not whole. */
static int resume(struct eval *v, struct err *e)
{
	int copy = fcntl(v->setup->out, F_DUPFD_CLOEXEC, 3);
	struct dataset_lines *l = copy >= 0 ? dataset_open(copy, e) : NULL;
	off_t good = 0, end = lseek(v->setup->out, 0, SEEK_END);
	const char *line;
	size_t len;
	int rc = 0;

	if (!l)
		return err_sys(e, "read %s", v->setup->out_name);
	lseek(v->setup->out, 0, SEEK_SET);
	while ((rc = dataset_next(l, &line, &len, e)) == 1) {
		struct arena a = { 0 };
		const char *id = dataset_id(line, len, &a), *reason = NULL, *base = dataset_text(line, len, "base_status", &a, NULL), *at;
		struct dataset_task *t = id ? dataset_task(&v->tasks, id) : NULL;
		size_t n;
		bool passed = field_find(line, len, "passed", &at, &n) && n == 4;

		if (good + (off_t)len + 1 > end || !t || !field_find(line, len, "passed", &at, &n)) {
			arena_free(&a);
			break;
		}
		if (field_find(line, len, "belljar", &at, &n))
			reason = dataset_text(at, n, "reason", &a, NULL);
		count(v, t, passed, base ? strcmp(base, "pass") == 0 : passed, reason ? reason : "failed");
		good += (off_t)len + 1;
		v->skip++;
		arena_free(&a);
	}
	dataset_close(l);
	if (rc < 0)
		return -1;
	v->next_out = v->skip;
	if (ftruncate(v->setup->out, good) < 0 || lseek(v->setup->out, good, SEEK_SET) < 0)
		return err_sys(e, "go on in %s", v->setup->out_name);
	return 0;
}

/* ---- what is told ---- */

static void tick(void *ctx)
{
	struct eval *v = ctx;
	uint64_t now = clock_mono_ns();
	double s = (double)(now - v->began_ns) / 1e9;

	give_out(v);
	if (!v->setup->progress || now - v->shown_ns < PROGRESS_MS * NS_PER_MS)
		return;
	v->shown_ns = now;
	fprintf(stderr, "\r%zu done, %zu passed, %.0f/s\033[K", v->done, v->passed, s > 0 ? (double)(v->done - v->skip) / s : 0);
}

static size_t without_samples(const struct eval *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->tasks.count; i++)
		n += !v->tasks.list[i].samples;
	return n;
}

/* Over the tasks that have samples; less than zero when one has fewer than k. */
static double pass_at(const struct eval *v, unsigned k, bool base)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < v->tasks.count; i++) {
		const struct dataset_task *t = &v->tasks.list[i];

		if (!t->samples)
			continue;
		if (t->samples < k)
			return -1;
		sum += dataset_pass_at_k(t->samples, base ? t->correct_base : t->correct, k);
		n++;
	}
	return n ? sum / (double)n : -1;
}

static void print_report(const struct eval *v, double seconds)
{
	const struct eval_setup *s = v->setup;

	printf("%s: %zu samples of %zu tasks, %zu passed", s->kind->title, v->done, v->tasks.count - without_samples(v), v->passed);
	printf(" (%.1f s, %.0f samples/s)\n", seconds, seconds > 0 ? (double)(v->done - v->skip) / seconds : 0);
	for (size_t i = 0; i < s->k_count; i++)
		for (int base = s->kind->two; base >= 0; base--) {
			double p = pass_at(v, s->ks[i], base);

			if (p >= 0)
				printf("pass@%u%s: %.4f\n", s->ks[i], base ? " (base)" : s->kind->two ? " (base + extra)" : "", p);
		}
	for (size_t i = 0; i < REASONS && v->reasons[i].count; i++)
		printf("  %-18s %zu\n", v->reasons[i].word, v->reasons[i].count);
	if (s->out_name)
		printf("results: %s\n", s->out_name);
}

static void print_json(const struct eval *v, double seconds)
{
	const struct eval_setup *s = v->setup;
	json_t *o = json_object(), *at = json_object(), *reasons = json_object(), *base = json_object();
	char *text;

	json_object_set_new(o, "dataset", json_string(s->kind->name));
	json_object_set_new(o, "samples", json_integer((json_int_t)v->done));
	json_object_set_new(o, "tasks", json_integer((json_int_t)(v->tasks.count - without_samples(v))));
	json_object_set_new(o, "passed", json_integer((json_int_t)v->passed));
	for (size_t i = 0; i < s->k_count; i++) {
		char key[16];
		double p = pass_at(v, s->ks[i], false), q = pass_at(v, s->ks[i], true);

		snprintf(key, sizeof(key), "%u", s->ks[i]);
		json_object_set_new(at, key, p >= 0 ? json_real(p) : json_null());
		json_object_set_new(base, key, q >= 0 ? json_real(q) : json_null());
	}
	json_object_set_new(o, "pass_at", at);
	if (s->kind->two)
		json_object_set(o, "pass_at_base", base);
	json_decref(base);
	for (size_t i = 0; i < REASONS && v->reasons[i].count; i++)
		json_object_set_new(reasons, v->reasons[i].word, json_integer((json_int_t)v->reasons[i].count));
	json_object_set_new(o, "reasons", reasons);
	json_object_set_new(o, "seconds", json_real(seconds));
	json_object_set_new(o, "cpu_s", json_real((double)v->cpu_ns / 1e9));
	json_object_set_new(o, "out", s->out_name ? json_string(s->out_name) : json_null());
	text = json_dumps(o, JSON_INDENT(2));
	puts(text ? text : "{}");
	free(text);
	json_decref(o);
}

int eval_run(struct eval_setup *s, struct err *e)
{
	static struct eval v;
	int status;
	double seconds;

	memset(&v, 0, sizeof(v));
	v.setup = s;
	v.err = e;
	v.text.max = SIZE_MAX / 2;
	if (dataset_read(&v.tasks, s->kind, s->data, s->data_name, e) < 0)
		return 2;
	s->kind = v.tasks.kind;
	if (!s->references && !(v.lines = dataset_open(s->samples, e)))
		return 125;
	if (s->resume && resume(&v, e) < 0)
		return 2;
	s->grade.js = s->kind->js;
	s->grade.next = next;
	s->grade.done = done;
	s->grade.tick = tick;
	s->grade.ctx = &v;
	v.began_ns = clock_mono_ns();
	status = grade_all(&s->grade, e);
	seconds = (double)(clock_mono_ns() - v.began_ns) / 1e9;
	if (s->progress)
		fprintf(stderr, "\r\033[K");
	if (!status && v.bad)
		status = 2;
	if (!status && without_samples(&v) && !s->ignore_incomplete) {
		err_set(e, ERR_INPUT, "%zu of %zu tasks have no sample", without_samples(&v), v.tasks.count);
		err_hint(e, "--ignore-incomplete grades what there is");
		status = 2;
	}
	if (!status || status == 130) {
		if (s->json)
			print_json(&v, seconds);
		else if (!s->quiet)
			print_report(&v, seconds);
	}
	if (!status)
		status = v.passed == v.done ? 0 : 1;
	dataset_close(v.lines);
	dataset_done(&v.tasks);
	free(v.held);
	buf_done(&v.text);
	return status;
}
