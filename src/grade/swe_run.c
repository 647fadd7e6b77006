/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench from predictions to verdicts. */
#include "grade/swe_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "grade/swe_guest.h"
#include "store/digest.h"

/*
 * Theory of operation
 *
 * An item waits for the tree of its repository at its base commit, which one jar makes for all that need it. Then a jar of its own applies the
 * model's patch and the tests' and runs the tests (src/guest/python/swe.py). When that looks resolved, a second jar does the same again with other
 * names and two tests more, one that must fail and one that must pass: whoever turns failures into passes shows there. Everything that is decided
 * is decided here, from what the two said and from how the kernel says that they ended.
 */

#define TREE	  "/testbed"
#define APPLY_S	  60
#define OUTPUT_MAX (1ULL << 30)
#define SAID_MAX  (192ULL << 20) /* of frames: output is kept up to 64 MB, and tests are not so many */
#define RAW_MAX	  (100U << 10) /* of a report; the whole is in the folder of logs */

enum tree_state { TREE_NONE, TREE_MAKING, TREE_READY, TREE_FAILED };

/* One repository at one commit. */
struct tree {
	const char *repo, *commit;
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
	size_t told, resolved, failed;
	uint64_t shown_ns;
} g;

static void progress(bool last)
{
	uint64_t now = clock_mono_ns();

	if (!g.setup->progress || (!last && now - g.shown_ns < 200 * NS_PER_MS))
		return;
	g.shown_ns = now;
	if (last) {
		fprintf(stderr, "\r\033[K");
		return;
	}
	size_t making = 0, running = 0;

	for (size_t i = 0; i < g.tree_count; i++)
		making += g.trees[i].state == TREE_MAKING;
	for (size_t i = 0; i < g.setup->count; i++)
		running += g.setup->items[i].state == SWE_ITEM_TEST || g.setup->items[i].state == SWE_ITEM_CHECKING;
	fprintf(stderr, "\r%zu of %zu, %zu resolved, %zu without a verdict; %zu running, %zu trees in the making\033[K", g.told, g.setup->count, g.resolved,
		g.failed, running, making);
}

/* ---- trees ---- */

static struct tree *tree_of(const struct swe_item *i)
{
	struct tree *t = NULL;

	for (size_t k = 0; k < g.tree_count && !t; k++)
		if (strcmp(g.trees[k].repo, i->instance->repo) == 0 && strcmp(g.trees[k].commit, i->instance->base_commit) == 0)
			t = &g.trees[k];
	if (t)
		return t;
	t = &g.trees[g.tree_count++];
	t->repo = i->instance->repo;
	t->commit = i->instance->base_commit;
	if (!swe_repo_ok(t->repo)) {
		t->state = TREE_FAILED;
		err_set(&t->err, ERR_INPUT, "'%.100s' is not owner/name of a repository", t->repo);
	} else if (swe_tree_find(g.setup->trees, t->repo, t->commit, t->path)) {
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
	if (swe_mirror_find(g.setup->repos, t->repo, mirror, &t->err) < 0 || swe_build_begin(&t->build, g.setup->trees, t->repo, t->commit, &t->err) < 0) {
		t->state = TREE_FAILED;
		return;
	}
	swe_build_request(&t->talk.req, g.setup->defaults, mirror, t->commit, &t->talk.arena);
	t->talk.said = tree_said;
	t->talk.done = tree_done;
	t->state = TREE_MAKING;
	swe_jars_begin(&t->talk);
}

/* ---- the job of a jar ---- */

/* Letters and digits that nobody can have guessed. */
static void nonce(char *out, size_t len)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char b[32] = { 0 };

	if (getrandom(b, len, 0) != (ssize_t)len)
		abort();
	for (size_t i = 0; i < len; i++)
		out[i] = letters[b[i] & 31];
	out[len] = '\0';
}

static json_t *list_of(const char *const *v)
{
	json_t *l = json_array();

	for (; v && *v; v++)
		json_array_append_new(l, json_string(*v));
	return l;
}

static json_t *strings(const struct strlist *s)
{
	json_t *l = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(l, json_string(s->v[i]));
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

static int make_job(struct swe_item *i, bool check, struct swe_talk *t, struct err *e)
{
	const struct swe_job *j = &i->job;
	json_t *o = json_object(), *patch = i->bare || !i->pred.patch ? json_null() : json_stringn(i->pred.patch, i->pred.patch_len);

	if (!patch) {
		json_decref(o);
		return err_set(e, ERR_INPUT, "%s: the patch is not UTF-8", i->instance->id);
	}
	json_object_set_new(o, "tree", json_string(TREE));
	json_object_set_new(o, "copy_from", json_null());
	json_object_set_new(o, "model_patch", patch);
	json_object_set_new(o, "test_patch", json_stringn(i->instance->test_patch, i->instance->test_patch_len));
	json_object_set_new(o, "mode", json_string(i->apply_only ? "apply" : "test"));
	json_object_set_new(o, "kind", json_string(j->kind));
	json_object_set_new(o, "argv", strings(&j->argv));
	json_object_set_new(o, "env", environment(&j->env));
	json_object_set_new(o, "pythonpath", strings(&j->pythonpath));
	json_object_set_new(o, "protected", list_of(j->spec->protected));
	json_object_set_new(o, "runner_files", list_of(j->spec->runner_files));
	json_object_set_new(o, "watched", list_of(j->spec->watched));
	json_object_set_new(o, "rename", json_pack("{s:s, s:o}", "suffix", i->suffix[check], "tests", strings(&i->instance->fail_to_pass)));
	json_object_set_new(o, "canary", check ? json_pack("{s:s, s:s}", "fail", i->canary_fail, "pass", i->canary_pass) : json_null());
	json_object_set_new(o, "select", check ? strings(&i->instance->fail_to_pass) : json_null());
	json_object_set_new(o, "apply_timeout_s", json_integer(APPLY_S));
	auto_free char *text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);

	json_decref(o);
	if (!text)
		return err_set(e, ERR_INTERNAL, "%s: no job could be written", i->instance->id);
	t->job_len = strlen(text);
	t->job = arena_dup_len(&t->arena, text, t->job_len);
	return 0;
}

static void make_request(const struct swe_item *i, const char *tree, struct swe_talk *t)
{
	static const char *const safe[] = { "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*" };
	const struct swe_job *j = &i->job;
	struct request *r = &t->req;
	struct arena *a = &t->arena;

	request_copy(r, g.setup->defaults);
	r->language = NULL;
	r->network = "none";
	swe_guest_add(r, j->python, "swe", 1, a);
	for (size_t k = 0; k < j->env.n; k++)
		strlist_add(a, &r->env, j->env.v[k]);
	/* Rootless the tree belongs to somebody else than the guest, which git minds. */
	for (size_t k = 0; g.setup->trees->open_modes && k < sizeof(safe) / sizeof(safe[0]); k++)
		strlist_add(a, &r->env, safe[k]);
	strlist_add(a, &r->layer, arena_fmt(a, "%s:" TREE, tree));
	for (const char *const *p = j->spec->layers; p && *p; p++)
		strlist_add(a, &r->ro, arena_fmt(a, "%s:%s", *p, *p));
	r->client = "swebench";
	r->id = i->instance->id;
	r->limits.wall_ms = g.setup->wall_ms ? g.setup->wall_ms : j->wall_ms;
	r->limits.cpu_ms = 0;
	r->limits.memory_bytes = g.setup->memory_bytes ? g.setup->memory_bytes : j->memory_bytes;
	r->limits.cpus_milli = j->cpus_milli;
	r->limits.disk_bytes = j->tmp_bytes;
	r->limits.pids = 256;
	r->limits.log_bytes = OUTPUT_MAX;
	/* What is graded is named in the receipt: its hash is that of this file. */
	if (i->pred.patch && !i->bare)
		r->files[r->file_count++] = (struct request_file){ .path = "model.patch", .content = i->pred.patch, .len = i->pred.patch_len, .mode = 0644 };
}

/* ---- an item's way ---- */

static void grade_item(struct swe_item *i);

static void test_said(struct swe_talk *t, const char *data, size_t len)
{
	struct swe_item *i = t->ctx;
	bool check = t == &i->check;

	/* More than any test run says: nothing of it is kept, and it is ended. */
	if (i->said_bytes[check] > SAID_MAX)
		return;
	i->said_bytes[check] += len;
	if (i->said_bytes[check] > SAID_MAX) {
		swe_jars_cancel(t);
		return;
	}
	swe_session_add(&i->session[check], data, len);
	if (!i->ready_ns[check] && i->session[check].ready)
		i->ready_ns[check] = clock_mono_ns();
}

static void test_done(struct swe_talk *t)
{
	struct swe_item *i = t->ctx;

	/* Stopped by a signal: it has no verdict, and is run again the next time. */
	if (swe_jars_stopping() && t->res.verdict.reason == REASON_CANCELLED) {
		i->state = SWE_ITEM_NEW;
		swe_session_done(&i->session[t == &i->check]);
		return;
	}
	grade_item(i);
}

static void fail_item(struct swe_item *i, const struct err *why)
{
	i->err = *why;
	grade_item(i);
}

static void begin_item(struct swe_item *i, const char *tree, bool check)
{
	struct swe_talk *t = check ? &i->check : &i->talk;
	struct err e = { 0 };

	i->state = check ? SWE_ITEM_CHECKING : SWE_ITEM_TEST;
	t->ctx = i;
	t->said = test_said;
	t->done = test_done;
	swe_session_init(&i->session[check]);
	if (make_job(i, check, t, &e) < 0) {
		fail_item(i, &e);
		return;
	}
	make_request(i, tree, t);
	swe_jars_begin(t);
}

static int prepare_item(struct swe_item *i, struct err *e)
{
	if (i->job.spec)
		return 0;
	for (int k = 0; k < 2; k++) {
		i->suffix[k][0] = '_';
		nonce(i->suffix[k] + 1, 6);
	}
	snprintf(i->canary_fail, sizeof(i->canary_fail), "test_");
	nonce(i->canary_fail + 5, 8);
	snprintf(i->canary_pass, sizeof(i->canary_pass), "test_");
	nonce(i->canary_pass + 5, 8);
	return swe_job_make(&i->job, i->instance, TREE, g.setup->tests, g.setup->extra, &i->arena, e);
}

/* What there is room for; false: nothing will ever come again. */
static bool more(void *ctx)
{
	bool left = false;
	size_t room = g.setup->jars.jobs;

	(void)ctx;
	for (size_t k = 0; k < g.setup->count; k++)
		room -= g.setup->items[k].state == SWE_ITEM_TEST || g.setup->items[k].state == SWE_ITEM_CHECKING;
	for (size_t k = 0; k < g.tree_count; k++)
		room -= g.trees[k].state == TREE_MAKING;
	/* Those that have begun first. */
	for (int round = 0; round < 2; round++)
		for (size_t k = 0; k < g.setup->count && room; k++) {
			struct swe_item *i = &g.setup->items[k];
			struct err e = { 0 };
			struct tree *t;

			if (i->state != (round == 0 ? SWE_ITEM_CHECK : SWE_ITEM_NEW))
				continue;
			if (round == 1 && !i->bare && (!i->pred.patch || !i->pred.patch_len)) {
				grade_item(i);
				continue;
			}
			if (prepare_item(i, &e) < 0) {
				fail_item(i, &e);
				continue;
			}
			t = tree_of(i);
			if (t->state == TREE_FAILED) {
				fail_item(i, &t->err);
			} else if (t->state == TREE_READY) {
				i->tree_ns = t->took_ns;
				begin_item(i, t->path, round == 0);
				room--;
			} else if (t->state == TREE_NONE) {
				tree_begin(t);
				room -= t->state == TREE_MAKING;
			}
		}
	for (size_t k = 0; k < g.setup->count && !left; k++)
		left = g.setup->items[k].state < SWE_ITEM_GRADED;
	return left;
}

/* ---- what came of it ---- */

static const char *member(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/* What a jar said, as the grading takes it. */
static void take_run(struct swe_run *r, const struct swe_item *i, bool check)
{
	const struct verdict *v = check ? &i->check.res.verdict : &i->talk.res.verdict;

	swe_session_run(&i->session[check], i->job.style, i->suffix[check], v->status == STATUS_COMPLETED && v->exited && v->exit_code == 0, r);
	if (check) {
		r->canary_fail = i->canary_fail;
		r->canary_pass = i->canary_pass;
	}
}

/* How the jar itself ended, when that is why there is nothing more to say. */
static void tell_jar(json_t *o, const char *name, const struct swe_talk *t, uint64_t ready_ns)
{
	const struct verdict *v = &t->res.verdict;
	double seconds = (double)(t->ended_ns - t->begun_ns) / 1e9;

	json_object_set_new(o, name,
			    json_pack("{s:s, s:s, s:s, s:s?, s:f, s:f, s:f, s:o}", "execution_id", t->res.execution_id, "status", verdict_status_name(v->status), "reason",
				      verdict_reason_name(v->reason), "error", v->error[0] ? v->error : NULL, "seconds", seconds, "start_seconds",
				      ready_ns ? (double)(ready_ns - t->begun_ns) / 1e9 : 0.0, "cpu_seconds", (double)t->res.run.evidence.cg.cpu_ns / 1e9,
				      "max_memory_mb", json_real((double)result_memory_peak(&t->res.run.evidence) / 1048576)));
}

/* What the runner printed, with the names as they are listed: start and end when it is long. */
static json_t *raw_output(const struct buf *log, const char *suffix)
{
	size_t n = strlen(suffix), half = RAW_MAX / 2;
	auto_buf out = BUF_INIT(SWE_LOG_MAX + 1);
	struct arena a = { 0 };
	json_t *text;

	for (size_t at = 0; at < log->len;) {
		const char *hit = n ? memmem(log->data + at, log->len - at, suffix, n) : NULL;
		size_t len = hit ? (size_t)(hit - log->data) - at : log->len - at;

		buf_add(&out, log->data + at, len);
		at += len + (hit ? n : 0);
	}
	if (out.len > RAW_MAX) {
		size_t head = half, tail = out.len - half;

		/* Not in the middle of a character. */
		while (head && (out.data[head] & 0xc0) == 0x80)
			head--;
		while (tail < out.len && (out.data[tail] & 0xc0) == 0x80)
			tail++;
		text = json_string(arena_fmt(&a, "%.*s\n[... %zu bytes ...]\n%s", (int)head, out.data, tail - head, out.data + tail));
	} else {
		text = json_stringn(out.data ? out.data : "", out.len);
	}
	arena_free(&a);
	return text ? text : json_null();
}

static void item_key(const struct swe_item *i, const struct swe_evaluation *s, char out[DIGEST_SIZE * 2 + 1]);

static void make_report(struct swe_item *i)
{
	char key[DIGEST_SIZE * 2 + 1];
	json_t *o;

	i->report = swe_report_instance(i->instance->id, i->bare ? NULL : &i->pred, i->session[0].applied, &i->verdict);
	o = swe_report_inner(i->report);
	json_object_set_new(o, "error", i->err.kind ? json_string(text_clean(&i->arena, span_of(i->err.msg), sizeof(i->err.msg))) : json_null());
	json_object_set_new(o, "hint", i->err.kind && i->err.hint[0] ? json_string(text_clean(&i->arena, span_of(i->err.hint), sizeof(i->err.hint))) : json_null());
	item_key(i, g.setup, key);
	json_object_set_new(o, "key", json_string(key));
	if (i->session[0].apply)
		json_object_set(o, "apply", i->session[0].apply);
	else
		json_object_set_new(o, "apply", json_null());
	json_object_set_new(o, "exit_code", i->session[0].has_exit ? json_integer(i->session[0].exit) : json_null());
	/* Not where a run of many is reported: there it is a file of its own, and reports are the same each time. */
	if (g.setup->raw)
		json_object_set_new(o, "raw_output", raw_output(&i->session[0].log, i->suffix[0]));
	if (i->job.spec)
		json_object_set_new(o, "command", strings(&i->job.argv));
	if (i->talk.begun_ns)
		tell_jar(o, "jar", &i->talk, i->ready_ns[0]);
	if (i->check.begun_ns)
		tell_jar(o, "canary_jar", &i->check, i->ready_ns[1]);
	json_object_set_new(o, "tree_seconds", json_real((double)i->tree_ns / 1e9));
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The second jar sees the same patch: what was put back there as well is not said twice. */
static bool is_among(const struct swe_session *s, const struct swe_tamper *t)
{
	for (size_t i = 0; i < s->tampering_n; i++)
		if (same_text(s->tampering[i].what, t->what) && same_text(s->tampering[i].path, t->path))
			return true;
	return false;
}

static void grade_now(struct swe_item *i)
{
	struct swe_run run, again;
	struct swe_tamper *all;
	struct swe_grade_in in = { .fail_to_pass = &i->instance->fail_to_pass, .pass_to_pass = &i->instance->pass_to_pass,
				   .has_patch = i->bare || (i->pred.patch && i->pred.patch_len), .applied = i->bare || i->session[0].applied, .strict = g.setup->strict };

	/* What was seen in either jar. */
	all = arena_alloc(&i->arena, (i->session[0].tampering_n + i->session[1].tampering_n + 1) * sizeof(*all));
	for (int k = 0; k < 2; k++)
		for (size_t n = 0; n < i->session[k].tampering_n; n++)
			if (k == 0 || !is_among(&i->session[0], &i->session[1].tampering[n]))
				all[in.tampering_n++] = i->session[k].tampering[n];
	in.tampering = all;
	in.fatal = i->session[0].fatal || i->session[1].fatal;
	if (i->session[0].ready) {
		take_run(&run, i, false);
		in.run = &run;
	}
	if (i->check.begun_ns) {
		take_run(&again, i, true);
		in.again = &again;
	}
	swe_grade(&i->verdict, &in, &i->arena);
}

/* Belljar's own failure, or the data's: no verdict about the model. */
static void look_for_errors(struct swe_item *i)
{
	const struct swe_talk *t = i->check.begun_ns ? &i->check : &i->talk;
	const char *outcome = i->session[0].apply_outcome;

	if (i->err.kind || !t->begun_ns)
		return;
	if (t->res.verdict.status == STATUS_ERROR) {
		err_set(&i->err, ERR_SETUP, "%s", t->res.verdict.error);
		err_hint(&i->err, "%s", t->res.verdict.hint);
	} else if (!outcome) {
		err_set(&i->err, ERR_INTERNAL, "the driver said nothing about the patch (%s)", verdict_reason_name(i->talk.res.verdict.reason));
	} else if ((strcmp(outcome, "test_patch_failed") == 0 || strcmp(outcome, "error") == 0)) {
		err_set(&i->err, ERR_INPUT, strcmp(outcome, "error") == 0 ? "the patches could not be tried" : "the test patch does not apply to the base commit");
	}
}

static void grade_item(struct swe_item *i)
{
	bool empty = !i->bare && (!i->pred.patch || !i->pred.patch_len);

	look_for_errors(i);
	grade_now(i);
	if (i->state == SWE_ITEM_TEST && !i->err.kind && i->verdict.resolved && g.setup->canaries && !i->bare) {
		i->state = SWE_ITEM_CHECK;
		return;
	}
	if (i->err.kind)
		i->verdict.resolved = false;
	/* A patch that no step could apply is an error there, and no report: here it has one, which says why. */
	i->outcome = empty ? SWE_EMPTY : i->err.kind || (!i->bare && !i->session[0].applied) ? SWE_FAILED_TO_RUN : i->verdict.resolved ? SWE_RESOLVED : SWE_UNRESOLVED;
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
	auto_free char *apply = i->session[0].apply ? json_dumps(i->session[0].apply, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
	auto_free char *report = swe_report_text(i->report);

	if (dir < 0) {
		fprintf(stderr, "belljar: no folder for the logs of %s: %s\n", i->instance->id, strerror(errno));
		return;
	}
	if (i->pred.patch)
		put_file(dir, "patch.diff", i->pred.patch, i->pred.patch_len);
	if (apply)
		put_file(dir, "apply.json", apply, strlen(apply));
	for (int k = 0; k < 2; k++)
		if (i->session[k].ready)
			put_file(dir, k ? "canary_output.txt" : "test_output.txt", i->session[k].log.data ? i->session[k].log.data : "", i->session[k].log.len);
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
				i->pred.patch ? "patch" : "" };
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
	swe_talk_free(&i->talk);
	swe_talk_free(&i->check);
	swe_session_done(&i->session[0]);
	swe_session_done(&i->session[1]);
}

static void tell_ready(void)
{
	for (size_t k = 0; k < g.setup->count; k++) {
		struct swe_item *i = &g.setup->items[k];

		if (i->state != SWE_ITEM_GRADED || !swe_jars_settled(i->talk.ticket > i->check.ticket ? i->talk.ticket : i->check.ticket))
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
	g.trees = calloc(s->count + 1, sizeof(*g.trees));
	if (!g.trees)
		return err_set(e, ERR_INTERNAL, "no memory");
	for (size_t k = 0; k < s->count; k++)
		if (s->items[k].state == SWE_ITEM_TOLD) {
			g.told++;
			g.resolved += s->items[k].outcome == SWE_RESOLVED;
			g.failed += s->items[k].outcome == SWE_FAILED_TO_RUN;
		}
	s->jars.more = more;
	s->jars.tick = tick;
	rc = swe_jars_run(&s->jars, e);
	if (rc == 0)
		tell_ready();
	progress(true);
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
