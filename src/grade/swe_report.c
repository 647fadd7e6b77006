/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: reports in the reference harness's form, with our own fields beside it (docs/swebench.md). */
#include "grade/swe_report.h"

#include <stdlib.h>
#include <string.h>

/* Foreign text that need not be UTF-8: jansson takes nothing else. */
static json_t *text(const char *s)
{
	struct arena a = { 0 };
	json_t *out;

	if (!s)
		return json_null();
	out = json_string(s);
	if (!out) {
		out = json_string(text_clean(&a, span_of(s), strlen(s)));
		arena_free(&a);
	}
	return out ? out : json_string("?");
}

/* ---- one instance ---- */

static json_t *status_pair(const struct swe_test *t, size_t n)
{
	json_t *o = json_object(), *lists[2] = { json_array(), json_array() };

	for (size_t i = 0; i < n; i++)
		json_array_append_new(lists[t[i].ok ? 0 : 1], text(t[i].id));
	json_object_set_new(o, "success", lists[0]);
	json_object_set_new(o, "failure", lists[1]);
	return o;
}

static json_t *tests_status(const struct swe_verdict *v)
{
	json_t *o = json_object();

	json_object_set_new(o, "FAIL_TO_PASS", status_pair(v->f2p, v->f2p_n));
	json_object_set_new(o, "PASS_TO_PASS", status_pair(v->p2p, v->p2p_n));
	json_object_set_new(o, "FAIL_TO_FAIL", status_pair(NULL, 0));
	json_object_set_new(o, "PASS_TO_FAIL", status_pair(NULL, 0));
	return o;
}

static void set_text_key(json_t *o, const char *key, json_t *value)
{
	json_t *k = text(key);

	json_object_set_new(o, json_string_value(k), value);
	json_decref(k);
}

static json_t *passed_map(const struct swe_test *t, size_t n)
{
	json_t *o = json_object();

	for (size_t i = 0; i < n; i++)
		set_text_key(o, t[i].id, json_boolean(t[i].ok));
	return o;
}

static void add_reasons(json_t *o, const struct swe_test *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!t[i].ok)
			set_text_key(o, t[i].id, text(swe_reason_name(t[i].reason)));
}

static json_t *tampering(const struct swe_verdict *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->tampering_n; i++) {
		const struct swe_tamper *t = &v->tampering[i];
		json_t *o = json_object();

		json_object_set_new(o, "what", text(t->what));
		json_object_set_new(o, "path", text(t->path));
		json_object_set_new(o, "action", text(t->action));
		json_object_set_new(o, "detail", text(t->detail));
		json_array_append_new(list, o);
	}
	return list;
}

json_t *swe_report_words(const struct strlist *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(list, text(l->v[i]));
	return list;
}

static json_t *share(double x)
{
	/* Four places: what a reader needs, and the same text everywhere. */
	return json_real((double)(long)(x * 10000 + 0.5) / 10000);
}

json_t *swe_report_instance(const char *instance_id, const struct swe_prediction *p, bool applied, const struct swe_verdict *v)
{
	json_t *o = json_object(), *report = json_object(), *reasons = json_object();
	bool none = p && !p->patch;

	json_object_set_new(o, "patch_is_None", json_boolean(none));
	json_object_set_new(o, "patch_exists", json_boolean(!none));
	json_object_set_new(o, "patch_successfully_applied", json_boolean(applied));
	json_object_set_new(o, "resolved", json_boolean(v->resolved));
	json_object_set_new(o, "tests_status", tests_status(v));
	/* ours */
	if (p)
		json_object_set_new(o, "model_name_or_path", text(p->model));
	json_object_set_new(o, "gradable", json_boolean(v->gradable));
	json_object_set_new(o, "resolution", text(v->resolution));
	json_object_set_new(o, "reason", text(swe_reason_name(v->reason)));
	json_object_set_new(o, "all_passed", json_boolean(v->all_passed));
	json_object_set_new(o, "passed", json_integer((json_int_t)v->passed));
	json_object_set_new(o, "failed", json_integer((json_int_t)v->failed));
	json_object_set_new(o, "errors", json_integer((json_int_t)v->errors));
	json_object_set_new(o, "skipped", json_integer((json_int_t)v->skipped));
	json_object_set_new(o, "fail_to_pass", passed_map(v->f2p, v->f2p_n));
	json_object_set_new(o, "pass_to_pass", passed_map(v->p2p, v->p2p_n));
	add_reasons(reasons, v->f2p, v->f2p_n);
	add_reasons(reasons, v->p2p, v->p2p_n);
	json_object_set_new(o, "reasons", reasons);
	json_object_set_new(o, "score", json_pack("{s:o, s:o, s:o}", "fail_to_pass", share(v->f2p_score), "pass_to_pass", share(v->p2p_score), "all", share(v->score)));
	json_object_set_new(o, "tampering", tampering(v));
	json_object_set_new(o, "checks", swe_report_words(&v->checks));
	json_object_set_new(o, "trust", text(v->trust));
	json_object_set_new(report, instance_id, o);
	return report;
}

json_t *swe_report_inner(json_t *report)
{
	return json_object_iter_value(json_object_iter(report));
}

/* ---- a run ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *sorted(struct strlist *l)
{
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_text);
	return swe_report_words(l);
}

enum { COMPLETED, INCOMPLETE, EMPTY, SUBMITTED, DONE, NOT_DONE, ERRORS, LISTS };

static const struct {
	const char *count, *ids;
} lists[LISTS] = {
	[COMPLETED] = { "completed_instances", "completed_ids" }, [INCOMPLETE] = { NULL, "incomplete_ids" },
	[EMPTY] = { "empty_patch_instances", "empty_patch_ids" }, [SUBMITTED] = { "submitted_instances", "submitted_ids" },
	[DONE] = { "resolved_instances", "resolved_ids" },	  [NOT_DONE] = { "unresolved_instances", "unresolved_ids" },
	[ERRORS] = { "error_instances", "error_ids" },
};
/* The reference's order of the counts. */
static const int count_order[] = { SUBMITTED, COMPLETED, DONE, NOT_DONE, EMPTY, ERRORS };

json_t *swe_report_run(const struct swe_instances *t, const struct swe_predictions *p, const char *model, const enum swe_state *states)
{
	static const int list_of[] = { [SWE_NOT_RUN] = ERRORS, [SWE_RESOLVED] = DONE, [SWE_UNRESOLVED] = NOT_DONE, [SWE_EMPTY] = EMPTY, [SWE_FAILED_TO_RUN] = ERRORS };
	struct strlist ids[LISTS] = { 0 };
	struct arena a = { 0 };
	json_t *o = json_object();
	bool *has = arena_alloc(&a, t->n + 1);

	for (size_t i = 0; i < p->n; i++) {
		const struct swe_prediction *x = &p->v[i];

		if (strcmp(x->model, model) != 0)
			continue;
		has[x->instance - t->v] = true;
		strlist_add(&a, &ids[SUBMITTED], x->instance_id);
		strlist_add(&a, &ids[list_of[states[i]]], x->instance_id);
		if (states[i] == SWE_RESOLVED || states[i] == SWE_UNRESOLVED)
			strlist_add(&a, &ids[COMPLETED], x->instance_id);
	}
	for (size_t i = 0; i < t->n; i++)
		if (!has[i])
			strlist_add(&a, &ids[INCOMPLETE], t->v[i].id);
	json_object_set_new(o, "total_instances", json_integer((json_int_t)t->n));
	for (size_t i = 0; i < sizeof(count_order) / sizeof(count_order[0]); i++)
		json_object_set_new(o, lists[count_order[i]].count, json_integer((json_int_t)ids[count_order[i]].n));
	for (size_t i = 0; i < LISTS; i++)
		json_object_set_new(o, lists[i].ids, sorted(&ids[i]));
	json_object_set_new(o, "schema_version", json_integer(2));
	json_object_set_new(o, "model_name_or_path", text(model));
	arena_free(&a);
	return o;
}

char *swe_report_text(const json_t *report)
{
	char *out = json_dumps(report, JSON_INDENT(4) | JSON_REAL_PRECISION(6)), *more;
	size_t n = out ? strlen(out) : 0;

	more = out ? realloc(out, n + 2) : NULL;
	if (more)
		memcpy(more + n, "\n", 2);
	else
		free(out);
	return more;
}
