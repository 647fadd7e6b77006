/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench from predictions to verdicts. */
#include "grade/swe_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "grade/swe_env.h"
#include "store/digest.h"

/*
 * Theory of operation
 *
 * An item waits for the tree of its repository at its base commit, which one jar makes for all that need it. It waits for the canaries of its instance
 * (swe_calibrate.h), which all predictions for that instance share, and goes through the rounds (swe_canary.h), each in a jar of its own. A patch that
 * turns failures into passes shows there. Last, a jar applies the model's patch and the tests' and runs all tests (src/guest/python/swe.py). Everything is
 * decided here, from what the jars said and from how the kernel says that they ended.
 *
 * The whole run comes last since it shows the original of every test. No jar is without every covert channel (the page cache is one): a patch that had seen the
 * originals could leave a note for its own rounds. For the same reason only one round is ever repeated: a patch that failed all originals at first,
 * and took notes, would know them when they come again.
 */

#define RAW_MAX	     (100U << 10) /* of a report; the whole is in the folder of logs */
#define ROUND_WALL_S 120	  /* a round takes at most this, and */
#define ROUND_FACTOR 20		  /* so many times what its tests take with the gold patch */

enum tree_state { TREE_NONE, TREE_MAKING, TREE_READY, TREE_FAILED };

/* One repository at one commit. */
struct tree {
	const char *repo, *commit;
	const struct swe_job *job; /* of the first item that needs it: what is built in it */
	enum tree_state state;
	char path[SWE_PATH_MAX];
	struct err err;
	struct swe_build build;
	struct swe_talk talk;
	uint64_t took_ns;
};

static struct {
	struct swe_evaluation *setup;
	struct tree *trees; /* one for each item at most */
	size_t tree_count;
	struct swe_canaries *canaries; /* likewise */
	size_t canary_count;
	size_t told, resolved, failed, resumed;
	uint64_t begun_ns, shown_ns;
} g;

/* 65 s are 1:05. */
static const char *clock_text(uint64_t ns, char out[32])
{
	uint64_t s = ns / NS_PER_MS / 1000;

	if (s >= 3600)
		snprintf(out, 32, "%llu:%02llu:%02llu", (unsigned long long)(s / 3600), (unsigned long long)(s / 60 % 60), (unsigned long long)(s % 60));
	else
		snprintf(out, 32, "%llu:%02llu", (unsigned long long)(s / 60), (unsigned long long)(s % 60));
	return out;
}

static const char *const stages[] = { [SWE_ITEM_TEST] = "tests", [SWE_ITEM_CANARIES] = "calibration", [SWE_ITEM_ROUNDS] = "rounds" };

/* Counts, time, and who is running: as much of it as fits one line. */
static void progress_text(char *out, size_t size, uint64_t now)
{
	char spent[32], left[32];
	size_t new_n = g.told - g.resumed, waiting = g.setup->count - g.told, making = 0;
	uint64_t took = now - g.begun_ns;
	int n = snprintf(out, size, "%zu of %zu, %zu resolved, %zu errors; %s", g.told, g.setup->count, g.resolved, g.failed, clock_text(took, spent));

	if (new_n && waiting)
		n += snprintf(out + n, size - (size_t)n, ", about %s left", clock_text(took / new_n * waiting, left));
	for (size_t i = 0; i < g.tree_count; i++)
		making += g.trees[i].state == TREE_MAKING;
	if (making)
		n += snprintf(out + n, size - (size_t)n, "; %zu trees in the making", making);
	for (size_t i = 0; i < g.setup->count && (size_t)n < size; i++) {
		const struct swe_item *x = &g.setup->items[i];

		if (x->state == SWE_ITEM_TEST || x->state == SWE_ITEM_CANARIES || x->state == SWE_ITEM_ROUNDS)
			n += snprintf(out + n, size - (size_t)n, "; %s (%s)", x->instance->id, stages[x->state]);
	}
}

static void progress(bool last)
{
	uint64_t now = clock_mono_ns(), step = (g.setup->columns ? 200 : 5000) * NS_PER_MS;
	char line[512];

	if (!g.setup->progress || (!last && now - g.shown_ns < step))
		return;
	if (last) {
		if (g.setup->columns && g.shown_ns)
			fprintf(stderr, "\r\033[K");
		return;
	}
	g.shown_ns = now;
	progress_text(line, sizeof(line), now);
	if (g.setup->columns)
		fprintf(stderr, "\r%.*s\033[K", (int)(g.setup->columns > 2 ? g.setup->columns - 1 : 1), line);
	else
		fprintf(stderr, "%s\n", line);
}

/* ---- trees ---- */

static struct tree *tree_of(const struct swe_item *i)
{
	struct tree *t = NULL;

	for (size_t k = 0; k < g.tree_count && !t; k++)
		if (strcmp(g.trees[k].repo, i->instance->repo) == 0 && strcmp(g.trees[k].commit, i->instance->base_commit) == 0 &&
		    strcmp(g.trees[k].job->build_key, i->job.build_key) == 0)
			t = &g.trees[k];
	if (t)
		return t;
	t = &g.trees[g.tree_count++];
	t->repo = i->instance->repo;
	t->commit = i->instance->base_commit;
	t->job = &i->job;
	if (!t->commit[0]) {
		t->state = TREE_FAILED;
		err_set(&t->err, ERR_INPUT, "%s has no 'base_commit'", i->instance->id);
		err_hint(&t->err, "a commit's id; HEAD means the newest commit of the mirror");
	} else if (!swe_repo_ok(t->repo)) {
		t->state = TREE_FAILED;
		err_set(&t->err, ERR_INPUT, "'%.100s' is not owner/name of a repository", t->repo);
	} else if (swe_tree_find(g.setup->trees, t->repo, t->commit, t->job->build_key, t->path)) {
		t->state = TREE_READY;
	}
	return t;
}

static void tree_said(struct swe_talk *talk, const char *data, size_t len)
{
	swe_build_said(&CONTAINER_OF(talk, struct tree, talk)->build, data, len);
}

static void tree_done(struct swe_talk *talk)
{
	struct tree *t = CONTAINER_OF(talk, struct tree, talk);

	t->state = swe_build_end(&t->build, &talk->res, t->path, &t->err) < 0 ? TREE_FAILED : TREE_READY;
	t->took_ns = talk->ended_ns - talk->begun_ns;
	swe_build_drop(&t->build);
	swe_talk_free(talk);
}

static void tree_begin(struct tree *t)
{
	char mirror[SWE_PATH_MAX];

	if (!g.setup->repos) {
		t->state = TREE_FAILED;
		err_set(&t->err, ERR_INPUT, "%s at %s was never checked out here", t->repo, t->commit);
		err_hint(&t->err, "--repos DIR with a mirror of it");
		return;
	}
	if (swe_mirror_find(g.setup->repos, t->repo, mirror, &t->err) < 0 || swe_build_begin(&t->build, g.setup->trees, t->repo, t->commit, t->job->build_key, &t->err) < 0) {
		t->state = TREE_FAILED;
		return;
	}
	swe_build_request(&t->build, &t->talk.req, g.setup->defaults, mirror, t->job, &t->talk.arena);
	t->talk.said = tree_said;
	t->talk.done = tree_done;
	t->state = TREE_MAKING;
	swe_jars_begin(&t->talk);
}

/* ---- an item's way ---- */

static void grade_item(struct swe_item *i);

/* Stopped by a signal: it has no verdict, and is run again the next time. */
static bool was_stopped(struct swe_item *i, const struct swe_ask *a)
{
	if (!swe_jars_stopping() || a->talk.res.verdict.reason != REASON_CANCELLED)
		return false;
	i->state = SWE_ITEM_NEW;
	return true;
}

static void fail_item(struct swe_item *i, const struct err *why)
{
	i->err = *why;
	grade_item(i);
}

/* What all jobs of an item have in common. */
static void fill_form(struct swe_ask *a, const struct swe_item *i, const char *tree)
{
	*a = (struct swe_ask){ .instance = i->instance, .how = &i->job, .tree = tree, .open_modes = g.setup->trees->open_modes, .defaults = g.setup->defaults,
			       .wall_ms = g.setup->wall_ms, .memory_bytes = g.setup->memory_bytes };
}

static void on_tested(struct swe_ask *a)
{
	struct swe_item *i = a->ctx;

	if (!was_stopped(i, a))
		grade_item(i);
}

static void begin_tests(struct swe_item *i)
{
	struct swe_ask *a = &i->ask;
	struct err e = { 0 };

	fill_form(a, i, i->tree);
	a->mode = i->apply_only ? SWE_MODE_APPLY : SWE_MODE_TEST;
	a->patch = i->bare ? NULL : i->pred.patch;
	a->patch_len = i->pred.patch_len;
	a->done = on_tested;
	a->ctx = i;
	i->state = SWE_ITEM_TEST;
	if (swe_ask_begin(a, &e) < 0)
		fail_item(i, &e);
}

/* The canaries of its instance, shared by all its predictions. */
static struct swe_canaries *canaries_of(struct swe_item *i)
{
	struct swe_ask form;

	for (size_t k = 0; k < g.canary_count && !i->canaries; k++)
		if (g.canaries[k].form.instance == i->instance)
			i->canaries = &g.canaries[k];
	if (!i->canaries) {
		i->canaries = &g.canaries[g.canary_count++];
		fill_form(&form, i, i->tree);
		swe_canaries_init(i->canaries, &form, g.setup->canary_folder);
	}
	return i->canaries;
}

/* ---- rounds ---- */

static void on_round(struct swe_ask *a);
static void on_check(struct swe_ask *a);

/* Where an item stands among its rounds. */
struct standing {
	size_t fresh, open;	 /* rounds that have not begun; that are under way */
	size_t doubted;		 /* ended with findings that chance can explain */
	struct swe_round *again; /* the last of these */
	bool sure;		 /* one ended with another finding, or without running any test */
};

static struct standing look_at_rounds(struct swe_item *i)
{
	struct standing s = { 0 };

	for (size_t k = 0; k < i->round_n; k++) {
		struct swe_round *r = &i->rounds[k];
		bool chance = r->found_n > 0;

		s.fresh += r->state == SWE_ROUND_NEW;
		s.open += r->state == SWE_ROUND_OPEN || r->state == SWE_ROUND_DOUBTED || r->state == SWE_ROUND_CHECKING;
		if (r->state != SWE_ROUND_DONE)
			continue;
		for (size_t n = 0; n < r->found_n; n++)
			chance = chance && canary_may_be_chance(r->found[n].what);
		s.sure = s.sure || !r->ask.session.ready || (r->found_n && !chance);
		if (chance) {
			s.doubted++;
			s.again = r;
		}
	}
	return s;
}

/* The rest can change nothing. */
static bool rounds_have_decided(const struct standing *s)
{
	return s->sure || s->doubted > 1;
}

/* A round has ended: one more look at the only one that was doubtful, or all tests. */
static void after_round(struct swe_item *i)
{
	struct standing s = look_at_rounds(i);

	if (s.open || (s.fresh && !rounds_have_decided(&s)))
		return;
	if (!rounds_have_decided(&s) && s.again && s.again->tries < 2)
		s.again->state = SWE_ROUND_NEW;
	else
		begin_tests(i);
}

/* One run of a round's versions, with the model's patch or the gold one. */
static int ask_round(struct swe_item *i, struct swe_round *r, struct swe_ask *a, bool gold, struct err *e)
{
	const struct canary_plan *p = &i->canaries->plan;
	uint64_t wall = (uint64_t)(ROUND_WALL_S + p->seconds * ROUND_FACTOR) * 1000;
	int rc;

	swe_ask_free(a);
	fill_form(a, i, i->tree);
	a->patch = gold ? i->instance->patch : i->pred.patch;
	a->patch_len = gold ? i->instance->patch_len : i->pred.patch_len;
	r->select = (struct strlist){ 0 };
	canary_select(p, r->choice, &r->select, &i->arena);
	a->select = &r->select;
	a->files = canary_files(p, r->choice, r->lines);
	a->done = gold ? on_check : on_round;
	a->ctx = i;
	if (!a->wall_ms || a->wall_ms > wall)
		a->wall_ms = wall < i->job.wall_ms ? wall : i->job.wall_ms;
	rc = swe_ask_begin(a, e);
	json_decref(a->files);
	a->files = NULL;
	return rc;
}

static void begin_round(struct swe_item *i, struct swe_round *r)
{
	struct err e = { 0 };

	r->tries++;
	r->state = SWE_ROUND_OPEN;
	if (ask_round(i, r, &r->ask, false, &e) < 0) {
		i->err = e;
		r->state = SWE_ROUND_DONE;
		after_round(i);
	}
}

static void begin_check(struct swe_item *i, struct swe_round *r)
{
	struct err e = { 0 };

	r->checked = true;
	r->state = SWE_ROUND_CHECKING;
	if (ask_round(i, r, &r->check, true, &e) < 0) {
		r->state = SWE_ROUND_DONE;
		after_round(i);
	}
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* What the gold patch shows in the same round is no fault of the model's: tests that call or disturb one another. */
static void drop_golds(struct swe_round *r)
{
	size_t n = 0;

	for (size_t k = 0; k < r->found_n; k++) {
		bool same = false;

		for (size_t m = 0; m < r->gold_found_n && !same; m++)
			same = same_text(r->gold_found[m].what, r->found[k].what) && same_text(r->gold_found[m].path, r->found[k].path);
		if (!same)
			r->found[n++] = r->found[k];
	}
	r->found_n = n;
}

static void judge_round(struct swe_item *i, struct swe_round *r)
{
	struct swe_run run;

	swe_ask_run(&r->ask, &run);
	r->found_n = canary_judge(&i->canaries->plan, r->choice, r->lines, &run, &r->found, &i->arena);
	drop_golds(r);
}

static void on_check(struct swe_ask *a)
{
	struct swe_item *i = a->ctx;
	struct swe_round *r = CONTAINER_OF(a, struct swe_round, check);
	struct swe_run run;

	i->ticket = a->talk.ticket > i->ticket ? a->talk.ticket : i->ticket;
	i->round_seconds += swe_ask_seconds(a);
	swe_ask_run(a, &run);
	if (a->session.ready)
		r->gold_found_n = canary_judge(&i->canaries->plan, r->choice, r->lines, &run, &r->gold_found, &i->arena);
	drop_golds(r);
	r->state = SWE_ROUND_DONE;
	if (swe_jars_stopping())
		i->state = SWE_ITEM_NEW;
	else
		after_round(i);
}

static void on_round(struct swe_ask *a)
{
	struct swe_item *i = a->ctx;
	struct swe_round *r = CONTAINER_OF(a, struct swe_round, ask);

	i->ticket = a->talk.ticket > i->ticket ? a->talk.ticket : i->ticket;
	i->round_seconds += swe_ask_seconds(a);
	if (a->talk.res.verdict.status == STATUS_ERROR && !i->err.kind) {
		err_set(&i->err, ERR_SETUP, "%s", a->talk.res.verdict.error);
		err_hint(&i->err, "%s", a->talk.res.verdict.hint);
	}
	judge_round(i, r);
	r->state = r->found_n && !r->checked && i->instance->patch_len && r->ask.session.ready ? SWE_ROUND_DOUBTED : SWE_ROUND_DONE;
	if (swe_jars_stopping())
		i->state = SWE_ITEM_NEW;
	else
		after_round(i);
}

static void prepare_rounds(struct swe_item *i)
{
	const struct canary_plan *p = &i->canaries->plan;
	unsigned char *choice;

	i->round_n = canary_rounds(p);
	choice = arena_alloc(&i->arena, i->round_n * p->slot_n + 1);
	canary_draw(p, choice, i->round_n);
	for (size_t k = 0; k < i->round_n; k++) {
		i->rounds[k].choice = choice + k * p->slot_n;
		i->rounds[k].lines = arena_alloc(&i->arena, (p->version_n + 1) * sizeof(*i->rounds[k].lines));
	}
	i->state = SWE_ITEM_ROUNDS;
}

/* Its canaries first, then its rounds. Without canaries only a prediction that fails all the same has a verdict. */
static void go_on(struct swe_item *i)
{
	struct swe_canaries *c = canaries_of(i);
	struct standing s;

	if (i->state == SWE_ITEM_CANARIES) {
		swe_canaries_more(c);
		if (c->state == CANARIES_FAILED)
			begin_tests(i);
		else if (c->state == CANARIES_READY)
			prepare_rounds(i);
	}
	for (size_t k = 0; i->state == SWE_ITEM_ROUNDS && k < i->round_n && swe_jars_room(); k++) {
		s = look_at_rounds(i);
		if (i->rounds[k].state == SWE_ROUND_DOUBTED)
			begin_check(i, &i->rounds[k]);
		else if (i->rounds[k].state == SWE_ROUND_NEW && !rounds_have_decided(&s))
			begin_round(i, &i->rounds[k]);
	}
}

/* Whether a verdict about it rests on rounds. */
static bool wants_rounds(const struct swe_item *i)
{
	return g.setup->canaries && !i->bare && !i->apply_only && i->instance->fail_to_pass.n;
}

static int prepare_item(struct swe_item *i, struct err *e)
{
	return i->job.spec ? 0 : swe_job_make(&i->job, i->instance, SWE_TREE, g.setup->tests, g.setup->extra, &i->arena, e);
}

static void go_forth(struct swe_item *i)
{
	struct err e = { 0 };
	struct tree *t;

	if (!i->bare && (!i->pred.patch || !i->pred.patch_len)) {
		grade_item(i);
		return;
	}
	if (prepare_item(i, &e) < 0) {
		fail_item(i, &e);
		return;
	}
	t = tree_of(i);
	if (t->state == TREE_NONE)
		tree_begin(t);
	if (t->state == TREE_FAILED) {
		fail_item(i, &t->err);
	} else if (t->state == TREE_READY) {
		i->tree_ns = t->took_ns;
		i->tree = t->path;
		if (wants_rounds(i))
			i->state = SWE_ITEM_CANARIES;
		else
			begin_tests(i);
	}
}

/* What there is room for; false: nothing will ever come again. Items that have begun go first. */
static bool more(void *ctx)
{
	bool left = false;

	(void)ctx;
	for (size_t k = 0; k < g.setup->count && swe_jars_room(); k++)
		if (g.setup->items[k].state == SWE_ITEM_CANARIES || g.setup->items[k].state == SWE_ITEM_ROUNDS)
			go_on(&g.setup->items[k]);
	for (size_t k = 0; k < g.setup->count && swe_jars_room(); k++)
		if (g.setup->items[k].state == SWE_ITEM_NEW)
			go_forth(&g.setup->items[k]);
	for (size_t k = 0; k < g.setup->count && !left; k++)
		left = g.setup->items[k].state < SWE_ITEM_GRADED;
	return left;
}

/* ---- what came of it ---- */

static const char *member(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/* How a jar ended. */
static json_t *tell_jar(const struct swe_ask *a)
{
	const struct swe_talk *t = &a->talk;
	const struct verdict *v = &t->res.verdict;

	return json_pack("{s:s, s:s, s:s, s:s?, s:f, s:f, s:f, s:o}", "execution_id", t->res.execution_id, "status", verdict_status_name(v->status), "reason",
			 verdict_reason_name(v->reason), "error", v->error[0] ? v->error : NULL, "seconds", swe_ask_seconds(a), "start_seconds",
			 a->ready_ns ? (double)(a->ready_ns - t->begun_ns) / 1e9 : 0.0, "cpu_seconds", (double)t->res.run.evidence.cg.cpu_ns / 1e9, "max_memory_mb",
			 json_real((double)result_memory_peak(&t->res.run.evidence) / 1048576));
}

/* What the runner printed: start and end when it is long. */
static json_t *raw_output(const struct buf *log)
{
	size_t head = RAW_MAX / 2, tail = log->len - head;
	struct arena a = { 0 };
	json_t *text;

	if (log->len > RAW_MAX) {
		/* Not in the middle of a character. */
		while (head && (log->data[head] & 0xc0) == 0x80)
			head--;
		while (tail < log->len && (log->data[tail] & 0xc0) == 0x80)
			tail++;
		text = json_string(arena_fmt(&a, "%.*s\n[... %zu bytes ...]\n%s", (int)head, log->data, tail - head, log->data + tail));
	} else {
		text = json_stringn(log->data ? log->data : "", log->len);
	}
	arena_free(&a);
	return text ? text : json_null();
}

static void item_key(const struct swe_item *i, const struct swe_evaluation *s, char out[DIGEST_SIZE * 2 + 1]);

/* How strong the canaries are, and what the rounds took. */
static json_t *tell_canaries(const struct swe_item *i)
{
	json_t *o = canary_report(&i->canaries->plan, i->job.style, &i->instance->fail_to_pass), *jars = json_array();

	for (size_t k = 0; k < i->round_n; k++)
		if (i->rounds[k].ask.talk.ended_ns)
			json_array_append_new(jars, tell_jar(&i->rounds[k].ask));
	json_object_set_new(o, "rounds", json_integer((json_int_t)i->round_n));
	json_object_set_new(o, "seconds", json_real(i->round_seconds));
	json_object_set_new(o, "calibration_seconds", json_real(i->canaries->seconds));
	json_object_set_new(o, "jars", jars);
	return o;
}

static void make_report(struct swe_item *i)
{
	char key[DIGEST_SIZE * 2 + 1];
	json_t *o;

	i->report = swe_report_instance(i->instance->id, i->bare ? NULL : &i->pred, i->ask.session.applied, &i->verdict);
	o = swe_report_inner(i->report);
	json_object_set_new(o, "error", i->err.kind ? json_string(text_clean(&i->arena, span_of(i->err.msg), sizeof(i->err.msg))) : json_null());
	json_object_set_new(o, "hint", i->err.kind && i->err.hint[0] ? json_string(text_clean(&i->arena, span_of(i->err.hint), sizeof(i->err.hint))) : json_null());
	item_key(i, g.setup, key);
	json_object_set_new(o, "key", json_string(key));
	if (i->ask.session.apply)
		json_object_set(o, "apply", i->ask.session.apply);
	else
		json_object_set_new(o, "apply", json_null());
	json_object_set_new(o, "exit_code", i->ask.session.has_exit ? json_integer(i->ask.session.exit) : json_null());
	/* Not where a run of many is reported: there it is a file of its own, and reports are the same each time. */
	if (g.setup->raw)
		json_object_set_new(o, "raw_output", raw_output(&i->ask.session.log));
	if (i->job.spec)
		json_object_set_new(o, "command", swe_report_words(&i->job.argv));
	if (i->ask.talk.begun_ns)
		json_object_set_new(o, "jar", tell_jar(&i->ask));
	if (i->round_n)
		json_object_set_new(o, "canaries", tell_canaries(i));
	json_object_set_new(o, "tree_seconds", json_real((double)i->tree_ns / 1e9));
}

/* Adds what is new: every jar sees the same patch, and what was put back in all of them is said once. */
static size_t add_tampering(struct swe_tamper *all, size_t n, const struct swe_tamper *more, size_t more_n)
{
	for (size_t i = 0; i < more_n; i++) {
		size_t k = 0;

		while (k < n && !(same_text(all[k].what, more[i].what) && same_text(all[k].path, more[i].path)))
			k++;
		if (k == n)
			all[n++] = more[i];
	}
	return n;
}

/*
 * The listed tests that may be expected failures. A mark may have a condition that the product decides: what is known to pass with the gold patch must
 * pass here.
 */
static const struct strlist *expected_failures(struct swe_item *i, const struct swe_run *run)
{
	struct strlist *left;

	if (!i->round_n || !i->instance->patch_len)
		return run->marked;
	left = arena_alloc(&i->arena, sizeof(*left));
	for (size_t k = 0; k < run->marked->n; k++)
		if (!canary_gold_passes(&i->canaries->plan, run->style, run->marked->v[k]))
			strlist_add(&i->arena, left, run->marked->v[k]);
	return left;
}

static void grade_now(struct swe_item *i)
{
	struct swe_run run;
	struct swe_tamper *all;
	size_t room = i->ask.session.tampering_n + 1;
	struct swe_grade_in in = { .fail_to_pass = &i->instance->fail_to_pass, .pass_to_pass = &i->instance->pass_to_pass,
				   .has_patch = i->bare || (i->pred.patch && i->pred.patch_len), .applied = i->bare || i->ask.session.applied, .strict = g.setup->strict };

	for (size_t k = 0; k < i->round_n; k++)
		room += i->rounds[k].found_n + i->rounds[k].ask.session.tampering_n;
	all = arena_alloc(&i->arena, room * sizeof(*all));
	in.tampering_n = add_tampering(all, 0, i->ask.session.tampering, i->ask.session.tampering_n);
	in.fatal = i->ask.session.fatal;
	for (size_t k = 0; k < i->round_n; k++) {
		const struct swe_round *r = &i->rounds[k];

		in.tampering_n = add_tampering(all, in.tampering_n, r->ask.session.tampering, r->ask.session.tampering_n);
		in.tampering_n = add_tampering(all, in.tampering_n, r->found, r->found_n);
		in.fatal = in.fatal || r->ask.session.fatal;
	}
	if (i->ask.session.ready && i->round_n) {
		const struct strlist *lists[] = { in.fail_to_pass, in.pass_to_pass };

		swe_ask_run(&i->ask, &run);
		for (size_t k = 0; k < 2; k++) {
			struct swe_tamper *soft, *more = arena_alloc(&i->arena, (in.tampering_n + run.n + 1) * sizeof(*more));
			size_t n = canary_softened(&i->canaries->plan, &run, lists[k], &soft, &i->arena);

			memcpy(more, all, in.tampering_n * sizeof(*more));
			all = more;
			in.tampering_n = add_tampering(all, in.tampering_n, soft, n);
		}
	}
	in.tampering = all;
	in.canaries = i->round_n > 0;
	if (i->ask.session.ready) {
		swe_ask_run(&i->ask, &run);
		run.marked = expected_failures(i, &run);
		in.run = &run;
	}
	swe_grade(&i->verdict, &in, &i->arena);
}

/* Belljar's own failure, or the data's: no verdict about the model. */
static void look_for_errors(struct swe_item *i)
{
	const struct swe_talk *t = &i->ask.talk;
	const char *outcome = i->ask.session.apply_outcome;

	if (i->err.kind || !t->begun_ns)
		return;
	if (t->res.verdict.status == STATUS_ERROR) {
		err_set(&i->err, ERR_SETUP, "%s", t->res.verdict.error);
		err_hint(&i->err, "%s", t->res.verdict.hint);
	} else if (i->ask.session.refused) {
		err_set(&i->err, ERR_INPUT, "%s cannot be tested: the test runner uses %s, which this repository holds, and would test its own copy", i->instance->repo,
			i->ask.session.refused);
		err_hint(&i->err, "a row with another kind of runner (docs/swebench.md, Rows), or leave its instances out");
	} else if (!outcome) {
		err_set(&i->err, ERR_INTERNAL, "the driver said nothing about the patch (%s)", verdict_reason_name(t->res.verdict.reason));
	} else if ((strcmp(outcome, "test_patch_failed") == 0 || strcmp(outcome, "error") == 0)) {
		err_set(&i->err, ERR_INPUT, strcmp(outcome, "error") == 0 ? "the patches could not be tried" : "the test patch does not apply to the base commit");
	}
	for (size_t k = 0; !i->err.kind && k < i->ask.session.tampering_n; k++) {
		const struct swe_tamper *w = &i->ask.session.tampering[k];

		/* Said before anything of the patch has run. */
		if (!i->ask.session.ready && strcmp(w->what, "witness_missing") == 0) {
			err_set(&i->err, ERR_SETUP, "%s cannot load belljar's witness (%s)", w->path ? w->path : "the interpreter", w->detail ? w->detail : "?");
			err_hint(&i->err, "use a CPython from 3.6 to 3.13");
		}
	}
}

/* Rounds count for a prediction that would be resolved without them: one whose tests fail has failed, and done nothing wrong. */
static void grade_with_rounds(struct swe_item *i)
{
	size_t rounds = i->round_n;

	i->round_n = 0;
	grade_now(i);
	if (!i->verdict.resolved || !i->canaries)
		return;
	i->round_n = rounds;
	if (i->canaries->state == CANARIES_FAILED)
		i->err = i->canaries->err;
	else
		grade_now(i);
}

static void grade_item(struct swe_item *i)
{
	bool empty = !i->bare && (!i->pred.patch || !i->pred.patch_len);

	look_for_errors(i);
	grade_with_rounds(i);
	if (i->err.kind)
		i->verdict.resolved = false;
	/* A patch that no step could apply is an error there, and no report: here it has one, which says why. */
	i->outcome = empty ? SWE_EMPTY : i->err.kind || (!i->bare && !i->ask.session.applied) ? SWE_FAILED_TO_RUN : i->verdict.resolved ? SWE_RESOLVED : SWE_UNRESOLVED;
	i->ticket = i->ask.talk.ticket > i->ticket ? i->ask.talk.ticket : i->ticket;
	if (i->canaries && i->canaries->ticket > i->ticket)
		i->ticket = i->canaries->ticket;
	make_report(i);
	i->state = SWE_ITEM_GRADED;
}

/* ---- logs ---- */

static void put_file(int dir, const char *name, const char *data, size_t len)
{
	auto_close int fd = -1;

	/* Whatever stands there: a new file takes its place. */
	unlinkat(dir, name, 0);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 || fd_write_all(fd, data, len) < 0)
		fprintf(stderr, "belljar: write %s: %s\n", name, strerror(errno));
}

static int item_folder(int logs, const struct swe_item *i, bool make, struct arena *a)
{
	const char *model = swe_model_folder(i->pred.model, a), *id = swe_model_folder(i->instance->id, a);
	auto_close int top = -1;

	if (make)
		mkdirat(logs, model, 0755);
	top = openat(logs, model, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top < 0)
		return -1;
	if (make)
		mkdirat(top, id, 0755);
	return openat(top, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void write_logs(struct swe_item *i)
{
	auto_close int dir = item_folder(g.setup->logs, i, true, &i->arena);
	auto_free char *apply = i->ask.session.apply ? json_dumps(i->ask.session.apply, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
	auto_free char *report = swe_report_text(i->report);

	if (dir < 0) {
		fprintf(stderr, "belljar: no folder for the logs of %s: %s\n", i->instance->id, strerror(errno));
		return;
	}
	if (i->pred.patch)
		put_file(dir, "patch.diff", i->pred.patch, i->pred.patch_len);
	if (apply)
		put_file(dir, "apply.json", apply, strlen(apply));
	if (i->ask.session.ready)
		put_file(dir, "test_output.txt", i->ask.session.log.data ? i->ask.session.log.data : "", i->ask.session.log.len);
	for (size_t k = 0; k < i->round_n; k++)
		if (i->rounds[k].ask.session.ready) {
			const struct buf *log = &i->rounds[k].ask.session.log;

			put_file(dir, arena_fmt(&i->arena, "canary_output.%zu.txt", k + 1), log->data ? log->data : "", log->len);
		}
	/* Last: it says that the others are there. */
	if (report)
		put_file(dir, "report.json", report, strlen(report));
}

static void add_text(struct digest *d, const char *text, size_t len)
{
	uint64_t n = len;

	digest_add(d, &n, sizeof(n));
	digest_add(d, text ? text : "", len);
}

/* Of all that a verdict depends on: a report counts for this and for nothing else. */
static void item_key(const struct swe_item *i, const struct swe_evaluation *s, char out[DIGEST_SIZE * 2 + 1])
{
	static const struct strlist none;
	const struct strlist *lists[] = { &i->instance->fail_to_pass, &i->instance->pass_to_pass, &i->instance->test_files, s->extra ? s->extra : &none };
	const char *texts[] = { i->instance->repo, i->instance->base_commit, i->instance->version, i->instance->test_cmd, s->canaries ? "canaries" : "", s->strict ? "strict" : "",
				i->pred.patch ? "patch" : "", swe_env_key(i->instance, (struct arena *)&i->arena) };
	uint8_t sum[DIGEST_SIZE];
	struct digest d;

	digest_init(&d);
	digest_add(&d, &s->wall_ms, sizeof(s->wall_ms));
	digest_add(&d, &s->memory_bytes, sizeof(s->memory_bytes));
	for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
		add_text(&d, texts[k], texts[k] ? strlen(texts[k]) : 0);
	add_text(&d, i->pred.patch, i->pred.patch ? i->pred.patch_len : 0);
	add_text(&d, i->instance->test_patch, i->instance->test_patch_len);
	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
		add_text(&d, "", 0);
		for (size_t n = 0; n < lists[k]->n; n++)
			add_text(&d, lists[k]->v[n], strlen(lists[k]->v[n]));
	}
	digest_get(&d, sum);
	digest_hex(sum, sizeof(sum), out);
}

bool swe_item_resume(const struct swe_evaluation *s, struct swe_item *i)
{
	auto_close int dir = item_folder(s->logs, i, false, &i->arena), fd = -1;
	auto_buf text = BUF_INIT(64U << 20);
	static char block[65536];
	const json_t *o, *apply;
	char key[DIGEST_SIZE * 2 + 1];
	const char *outcome;
	struct stat st;
	ssize_t n;

	fd = dir < 0 ? -1 : openat(dir, "report.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	item_key(i, s, key);
	while ((n = read(fd, block, sizeof(block))) > 0)
		if (buf_add(&text, block, (size_t)n) < 0)
			return false;
	i->report = json_loadb(text.data ? text.data : "", text.len, JSON_REJECT_DUPLICATES, NULL);
	o = json_object_get(i->report, i->instance->id);
	if (!o || !json_is_boolean(json_object_get(o, "resolved")) || !json_is_null(json_object_get(o, "error")) ||
	    !member(o, "key") || strcmp(member(o, "key"), key) != 0) {
		/* Not whole, of something else, or belljar failed: it is done again. */
		json_decref(i->report);
		i->report = NULL;
		return false;
	}
	apply = json_object_get(o, "apply");
	outcome = member(apply, "outcome");
	i->outcome = !i->pred.patch || !i->pred.patch_len			       ? SWE_EMPTY
		     : !outcome || (strcmp(outcome, "applied") != 0 && strcmp(outcome, "already") != 0) ? SWE_FAILED_TO_RUN
		     : json_is_true(json_object_get(o, "resolved")) ? SWE_RESOLVED
								       : SWE_UNRESOLVED;
	i->resumed = true;
	i->state = SWE_ITEM_TOLD;
	return true;
}

/* ---- the whole ---- */

static void free_talks(struct swe_item *i)
{
	swe_ask_free(&i->ask);
	for (size_t k = 0; k < SWE_ROUNDS; k++)
		swe_ask_free(&i->rounds[k].ask), swe_ask_free(&i->rounds[k].check);
}

static void tell_ready(void)
{
	for (size_t k = 0; k < g.setup->count; k++) {
		struct swe_item *i = &g.setup->items[k];

		if (i->state != SWE_ITEM_GRADED || !swe_jars_settled(i->ticket))
			continue;
		i->state = SWE_ITEM_TOLD;
		g.told++;
		g.resolved += i->outcome == SWE_RESOLVED;
		g.failed += i->outcome == SWE_FAILED_TO_RUN;
		if (g.setup->logs >= 0)
			write_logs(i);
		if (g.setup->told) {
			progress(true);
			g.setup->told(g.setup->ctx, i);
		}
		free_talks(i);
	}
}

static void tick(void *ctx)
{
	(void)ctx;
	tell_ready();
	progress(false);
}

int swe_evaluate(struct swe_evaluation *s, struct err *e)
{
	int rc;

	memset(&g, 0, sizeof(g));
	g.setup = s;
	g.begun_ns = clock_mono_ns();
	g.trees = calloc(s->count + 1, sizeof(*g.trees));
	g.canaries = calloc(s->count + 1, sizeof(*g.canaries));
	if (!g.trees || !g.canaries) {
		free(g.trees);
		free(g.canaries);
		return err_set(e, ERR_INTERNAL, "no memory");
	}
	for (size_t k = 0; k < s->count; k++)
		if (s->items[k].state == SWE_ITEM_TOLD) {
			g.told++;
			g.resumed++;
			g.resolved += s->items[k].outcome == SWE_RESOLVED;
			g.failed += s->items[k].outcome == SWE_FAILED_TO_RUN;
		}
	s->jars.more = more;
	s->jars.tick = tick;
	rc = swe_jars_run(&s->jars, e);
	if (rc == 0)
		tell_ready();
	progress(true);
	for (size_t k = 0; k < g.canary_count; k++)
		swe_canaries_free(&g.canaries[k]);
	free(g.canaries);
	free(g.trees);
	return rc;
}

void swe_item_free(struct swe_item *i)
{
	free_talks(i);
	json_decref(i->report);
	i->report = NULL;
	arena_free(&i->arena);
}
