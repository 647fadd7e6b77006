/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a batch that are function tests: {"code": …, "test": {"func": …, "cases": […]}} (docs/batch.md). */
#include "grade/test_lines.h"

#include <jansson.h>
#include <string.h>

#include "base/field.h"
#include "grade/functions.h"

/* What has a meaning for a function that is called. */
static const char *const beside[] = { "id", "client", "language", "code", "files", "limits", "policy", "rules", "allow_modules", "deny_modules", "allow_imports",
				      "no_keep_code", NULL };

/* ---- the field ---- */

static int bad_type(const char *field, const char *want, struct err *e)
{
	return err_set(e, ERR_REQUEST, "request: 'test.%s' must be %s", field, want);
}

static int read_field(const char *key, json_t *v, struct function_test *t, struct arena *a, struct err *e)
{
	if (strcmp(key, "cases") == 0)
		return 0;
	if (strcmp(key, "func") == 0 || strcmp(key, "setup") == 0) {
		const char *text;

		if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
			return bad_type(key, "text", e);
		text = arena_dup(a, json_string_value(v));
		if (key[0] == 'f') {
			t->function = text;
		} else {
			t->setup = text;
			t->setup_len = strlen(text);
		}
		return 0;
	}
	if (strcmp(key, "shared") == 0) {
		if (!json_is_boolean(v))
			return bad_type(key, "true or false", e);
		t->shared = json_is_true(v);
		return 0;
	}
	if (strcmp(key, "case_ms") == 0) {
		if (!json_is_integer(v) || json_integer_value(v) < 1 || json_integer_value(v) > 3600000)
			return bad_type(key, "a number of milliseconds from 1 to 3600000", e);
		t->case_ms = (uint64_t)json_integer_value(v);
		return 0;
	}
	err_set(e, ERR_REQUEST, "request: unknown field 'test.%.60s'", key);
	return err_hint(e, "test has func, cases, setup, shared, case_ms");
}

/* Cases stay as they were written: integers of any size are the verifier's to read. */
static int read_test(struct function_test *t, const char *value, size_t len, struct arena *a, struct err *e)
{
	const char *cases, *key;
	char *rest = arena_alloc(a, len + 5);
	size_t n, before;
	json_t *o, *v;
	int rc = 0;

	if (!len || value[0] != '{')
		return err_set(e, ERR_REQUEST, "request: 'test' must be an object");
	if (!field_find(value, len, "cases", &cases, &n)) {
		err_set(e, ERR_REQUEST, "request: 'test.cases' is missing");
		return err_hint(e, "a line without 'test' runs the code as a program");
	}
	before = (size_t)(cases - value);
	memcpy(rest, value, before);
	memcpy(rest + before, "null", 4);
	memcpy(rest + before + 4, cases + n, len - before - n);
	o = json_loadb(rest, len - n + 4, JSON_REJECT_DUPLICATES, NULL);
	if (!o)
		return err_set(e, ERR_REQUEST, "request: 'test' is no JSON, or has a field twice");
	json_object_foreach(o, key, v) {
		rc = read_field(key, v, t, a, e);
		if (rc < 0)
			break;
	}
	json_decref(o);
	t->cases = cases;
	t->cases_len = n;
	return rc;
}

static void *read_line(void *ctx, struct request *r, const char *value, size_t len, struct arena *a, struct err *e)
{
	const struct test_lines *lines = ctx;
	struct function_test t = { .case_ms = TEST_CASE_MS };
	struct grade_sample *s = arena_alloc(a, sizeof(*s));

	memset(s, 0, sizeof(*s));
	if (read_test(&t, value, len, a, e) < 0)
		return NULL;
	if (!r->limits.wall_ms)
		r->limits.wall_ms = r->limits.cpu_ms * 3;
	ceiling_clamp(lines->ceiling, r);
	request_copy(&s->req, r);
	if (function_sample(s, &t, a, e) < 0) {
		e->kind = ERR_REQUEST;
		err_wrap(e, "request: 'test'");
		return NULL;
	}
	return s;
}

/* ---- grading ---- */

static uint64_t keep(void *ctx, struct grade_sample *s, const struct result *res)
{
	(void)ctx;
	batch_job_keep(s->ctx, &s->req, res);
	return 0;
}

static void done(void *ctx, struct grade_sample *s, const struct grade_outcome *o)
{
	struct batch_job *j = s->ctx;
	struct err e = { 0 };
	json_t *result;

	(void)ctx;
	if (o->cancelled) {
		batch_job_failed(j, o->failure.msg[0] ? &o->failure : NULL);
		return;
	}
	result = function_result(o, &e);
	if (!result && e.kind == ERR_INPUT) {
		e.kind = ERR_REQUEST;
		err_wrap(&e, "request: 'test.cases'");
	}
	if (!result) {
		batch_job_failed(j, &e);
		return;
	}
	function_feedback(result, &s->req);
	batch_job_done(j, result, !json_is_true(json_object_get(result, "all_passed")));
	json_decref(result);
}

static int open_kind(void *ctx, const struct batch_host *h, struct err *e)
{
	struct test_lines *t = ctx;

	if (!h->spare) {
		err_set(e, ERR_SETUP, "no jar is left for a verifier: all %zu are for runs", h->jobs);
		return err_hint(e, "start the batch with a smaller -j");
	}
	return pairs_init(&t->pairs, &(struct pairs_setup){ .loop = h->loop, .pool = h->pool, .count = h->spare, .number = h->number, .defaults = t->verifier,
			  .recycles = h->recycles, .keep = keep, .done = done, .ctx = t }, e);
}

static void close_kind(void *ctx)
{
	pairs_done(&((struct test_lines *)ctx)->pairs);
}

static void begin(void *ctx, struct batch_job *j)
{
	struct grade_sample *s = j->more;

	s->ctx = j;
	s->number = j->number;
	pairs_put(&((struct test_lines *)ctx)->pairs, s);
}

static void go_round(void *ctx)
{
	struct test_lines *t = ctx;

	pairs_round(&t->pairs);
	/* The next line may have more luck. */
	if (t->pairs.failed && !t->pairs.pending)
		pairs_forgive(&t->pairs);
}

static void cancel(void *ctx)
{
	pairs_cancel(&((struct test_lines *)ctx)->pairs);
}

struct batch_kind test_lines_kind(struct test_lines *t, const struct request *defaults)
{
	return (struct batch_kind){ .field = "test", .beside = beside, .defaults = defaults, .ctx = t, .open = open_kind, .close = close_kind, .read = read_line,
				    .begin = begin, .round = go_round, .cancel = cancel };
}
