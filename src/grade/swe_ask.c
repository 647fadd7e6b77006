/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: one job for the driver in a jar, and what it said. */
#include "grade/swe_ask.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "grade/swe_guest.h"
#include "grade/swe_patch.h"

#define APPLY_S	   60
#define OUTPUT_MAX (1ULL << 30)
#define SAID_MAX   (192ULL << 20) /* of frames: output is kept up to 64 MB, and tests are not so many */

static const char *const modes[] = { [SWE_MODE_TEST] = "test", [SWE_MODE_APPLY] = "apply", [SWE_MODE_PLAN] = "plan" };

static json_t *list_of(const char *const *v)
{
	json_t *l = json_array();

	for (; v && *v; v++)
		json_array_append_new(l, json_string(*v));
	return l;
}

static void add_strings(json_t *l, const struct strlist *s)
{
	for (size_t i = 0; s && i < s->n; i++)
		json_array_append_new(l, json_string(s->v[i]));
}

static json_t *strings(const struct strlist *s)
{
	json_t *l = json_array();

	add_strings(l, s);
	return l;
}

static json_t *environment(const struct strlist *s)
{
	json_t *o = json_object();

	for (size_t i = 0; i < s->n; i++) {
		const char *eq = strchr(s->v[i], '=');

		if (eq)
			json_object_setn_new(o, s->v[i], (size_t)(eq - s->v[i]), json_string(eq + 1));
	}
	return o;
}

static json_t *selected(const struct swe_ask *a)
{
	json_t *l;

	if (!a->select && !a->more)
		return json_null();
	l = strings(a->select);
	add_strings(l, a->more);
	return l;
}

/* What the gold patch adds to and removes from each file, as a hash: {path: hex}. The patch itself never comes into a jar with a model's. */
static json_t *gold_lines(const struct swe_instance *i, struct arena *a)
{
	json_t *o = json_object();
	struct swe_patch p;
	char hex[DIGEST_HEX];

	swe_patch_read(&p, i->patch, i->patch_len, a);
	for (size_t k = 0; k < p.n; k++)
		if (swe_patch_path(&p.v[k]) && p.v[k].added + p.v[k].removed > 0 && !p.v[k].binary) {
			digest_hex(p.v[k].lines, DIGEST_SIZE, hex);
			json_object_set_new(o, swe_patch_path(&p.v[k]), json_string(hex));
		}
	return o;
}

static int make_job(struct swe_ask *a, struct err *e)
{
	const struct swe_job *j = a->how;
	json_t *o = json_object(), *patch = a->patch ? json_stringn(a->patch, a->patch_len) : json_null();

	if (!patch) {
		json_decref(o);
		return err_set(e, ERR_INPUT, "%s: the patch is not UTF-8", a->instance->id);
	}
	json_object_set_new(o, "tree", json_string(SWE_TREE));
	json_object_set_new(o, "copy_from", json_null());
	json_object_set_new(o, "model_patch", patch);
	json_object_set_new(o, "test_patch", json_stringn(a->instance->test_patch, a->instance->test_patch_len));
	json_object_set_new(o, "mode", json_string(modes[a->mode]));
	json_object_set_new(o, "kind", json_string(j->kind));
	json_object_set_new(o, "python", json_string(j->python));
	json_object_set_new(o, "argv", strings(&j->argv));
	/* Versions fail by the hundred, and pytest's own form of a traceback takes 0.15 s each. */
	if (a->files && strcmp(j->kind, "pytest") == 0)
		json_array_append_new(json_object_get(o, "argv"), json_string("--tb=native"));
	json_object_set_new(o, "env", environment(&j->env));
	json_object_set_new(o, "pythonpath", strings(&j->pythonpath));
	json_object_set_new(o, "protected", list_of(j->spec->protected));
	json_object_set_new(o, "runner_files", list_of(j->spec->runner_files));
	json_object_set_new(o, "watched", list_of(j->spec->watched));
	json_object_set_new(o, "tests", strings(&a->instance->fail_to_pass));
	json_object_set_new(o, "gold", gold_lines(a->instance, &a->talk.arena));
	json_object_set_new(o, "select", selected(a));
	json_object_set_new(o, "copies", json_string(a->copies ? a->copies : ""));
	json_object_set_new(o, "probe", json_boolean(a->probe));
	json_object_set_new(o, "apply_timeout_s", json_integer(APPLY_S));
	if (a->files)
		json_object_set(o, "files", a->files);
	if (a->plan)
		json_object_set(o, "plan", a->plan);
	auto_free char *text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);

	json_decref(o);
	if (!text)
		return err_set(e, ERR_INTERNAL, "%s: no job could be written", a->instance->id);
	a->talk.job_len = strlen(text);
	a->talk.job = arena_dup_len(&a->talk.arena, text, a->talk.job_len);
	return 0;
}

static void make_request(struct swe_ask *x)
{
	static const char *const safe[] = { "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*" };
	const struct swe_job *j = x->how;
	struct request *r = &x->talk.req;
	struct arena *a = &x->talk.arena;

	request_copy(r, x->defaults);
	r->language = NULL;
	r->network = "none";
	swe_guest_add(r, SWE_GUEST_PYTHON, "swe", 1, a);
	for (size_t k = 0; k < j->env.n; k++)
		strlist_add(a, &r->env, j->env.v[k]);
	/* Rootless the tree belongs to another user than the guest; git refuses such a tree unless it is told. */
	for (size_t k = 0; x->open_modes && k < sizeof(safe) / sizeof(safe[0]); k++)
		strlist_add(a, &r->env, safe[k]);
	strlist_add(a, &r->layer, arena_fmt(a, "%s:" SWE_TREE, x->tree));
	for (size_t k = 0; k < j->show.n; k++)
		strlist_add(a, &r->ro, j->show.v[k]);
	r->client = "swebench";
	/* A slot's network namespace outlives a run: what one round leaves there must not reach the next. */
	r->alone = true;
	r->id = x->instance->id;
	r->limits.wall_ms = x->wall_ms ? x->wall_ms : j->wall_ms;
	r->limits.cpu_ms = 0;
	r->limits.memory_bytes = x->memory_bytes ? x->memory_bytes : j->memory_bytes;
	r->limits.cpus_milli = j->cpus_milli;
	r->limits.disk_bytes = j->tmp_bytes;
	r->limits.pids = 256;
	r->limits.log_bytes = OUTPUT_MAX;
	/* The receipt names what is graded: it has the hash of this file. */
	if (x->patch)
		r->files[r->file_count++] = (struct request_file){ .path = "model.patch", .content = x->patch, .len = x->patch_len, .mode = 0644 };
}

static void on_said(struct swe_talk *t, const char *data, size_t len)
{
	struct swe_ask *a = CONTAINER_OF(t, struct swe_ask, talk);

	/* More than any test run says: the rest is dropped, and the jar is ended. */
	if (a->said_bytes > SAID_MAX)
		return;
	a->said_bytes += len;
	if (a->said_bytes > SAID_MAX) {
		swe_jars_cancel(t);
		return;
	}
	swe_session_add(&a->session, data, len);
	if (!a->ready_ns && a->session.ready)
		a->ready_ns = clock_mono_ns();
}

static void on_done(struct swe_talk *t)
{
	struct swe_ask *a = CONTAINER_OF(t, struct swe_ask, talk);

	a->open = false;
	a->done(a);
}

int swe_ask_begin(struct swe_ask *a, struct err *e)
{
	swe_ask_free(a);
	a->talk = (struct swe_talk){ .said = on_said, .done = on_done };
	a->said_bytes = a->ready_ns = 0;
	swe_session_init(&a->session);
	if (make_job(a, e) < 0)
		return -1;
	make_request(a);
	a->open = true;
	swe_jars_begin(&a->talk);
	return 0;
}

void swe_ask_run(const struct swe_ask *a, struct swe_run *out)
{
	const struct verdict *v = &a->talk.res.verdict;

	swe_session_run(&a->session, a->how->style, v->status == STATUS_COMPLETED && v->exited && v->exit_code == 0, out);
	out->marked = &a->session.marked;
	out->stopped = a->said_bytes > SAID_MAX || (v->limits_hit & LIMIT_OUTPUT) ? SWE_WHY_OUTPUT :
		       v->limits_hit & (LIMIT_WALL | LIMIT_CPU)			  ? SWE_WHY_TIMEOUT :
		       v->limits_hit & LIMIT_MEMORY				  ? SWE_WHY_MEMORY :
										    SWE_WHY_UNFINISHED;
}

double swe_ask_seconds(const struct swe_ask *a)
{
	return a->talk.ended_ns ? (double)(a->talk.ended_ns - a->talk.begun_ns) / 1e9 : 0;
}

void swe_ask_free(struct swe_ask *a)
{
	swe_talk_free(&a->talk);
	swe_session_done(&a->session);
	a->talk = (struct swe_talk){ 0 };
}
