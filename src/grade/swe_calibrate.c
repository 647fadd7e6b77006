/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: makes the canaries of an instance, once, and keeps them on disk. */
#include "grade/swe_calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "grade/swe_guest.h"
#include "store/digest.h"

#define PLAN_MAX    (64U << 20)
#define TRY_WALL_S  60	 /* all versions at once: this, and */
#define TRY_FACTOR  30	 /* so many times what the tests alone take: a variant may hang; and */
#define TRY_EACH_S  1	 /* for each version */
#define SAMPLE_MS   2000 /* a PASS_TO_PASS test that takes longer gets no variants */

/* ---- on disk ---- */

static void add_text(struct digest *d, const char *text, size_t len)
{
	uint64_t n = len;

	digest_add(d, &n, sizeof(n));
	digest_add(d, text ? text : "", len);
}

static void add_list(struct digest *d, const struct strlist *l)
{
	uint64_t n = l->n;

	digest_add(d, &n, sizeof(n));
	for (size_t i = 0; i < l->n; i++)
		add_text(d, l->v[i], strlen(l->v[i]));
}

/* A file's name made of all that a plan depends on: the tests, the gold patch, how they are run, and what of belljar runs in the jars. */
static void file_name(const struct swe_ask *form, char out[DIGEST_HEX + 8])
{
	const struct swe_instance *i = form->instance;
	const char *texts[] = { i->repo, i->base_commit, i->version, form->how->kind, form->how->python };
	const struct strlist *lists[] = { &i->fail_to_pass, &i->pass_to_pass, &form->how->argv, &form->how->env, &form->how->pythonpath };
	uint8_t sum[DIGEST_SIZE];
	char hex[DIGEST_HEX + 1];
	struct digest d;

	digest_init(&d);
	for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
		add_text(&d, texts[k], texts[k] ? strlen(texts[k]) : 0);
	add_text(&d, i->patch, i->patch_len);
	add_text(&d, i->test_patch, i->test_patch_len);
	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++)
		add_list(&d, lists[k]);
	for (const struct swe_guest_file *f = swe_guest_files; f->group; f++)
		add_text(&d, f->data, f->len);
	digest_get(&d, sum);
	digest_hex(sum, sizeof(sum), hex);
	snprintf(out, DIGEST_HEX + 8, "%s.json", hex);
}

static bool load(struct swe_canaries *c)
{
	char name[DIGEST_HEX + 8];
	auto_close int fd = -1;
	struct err e = { 0 };
	struct stat st;
	json_t *o;

	file_name(&c->form, name);
	fd = c->folder < 0 ? -1 : openat(c->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > PLAN_MAX)
		return false;
	o = json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);
	if (!o || canary_read(&c->plan, o, &e) < 0 || !c->plan.calibrated) {
		canary_done(&c->plan);
		return false;
	}
	/* `swebench clean` removes what was not used for long. */
	futimens(fd, NULL);
	return true;
}

/* A plan that cannot be kept is made again the next time. */
static void save(const struct swe_canaries *c)
{
	char name[DIGEST_HEX + 8], temp[DIGEST_HEX + 16];
	auto_close int fd = -1;
	bool ok;

	if (c->folder < 0)
		return;
	file_name(&c->form, name);
	snprintf(temp, sizeof(temp), ".%s.new", name);
	unlinkat(c->folder, temp, 0);
	fd = openat(c->folder, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	ok = fd >= 0 && json_dumpfd(c->plan.source, fd, JSON_COMPACT) == 0;
	if (!ok || renameat(c->folder, temp, c->folder, name) < 0)
		unlinkat(c->folder, temp, 0);
}

/* ---- the jobs ---- */

/* Another job of the same form. The answers of an earlier one are freed when it begins. */
static struct swe_ask *job(struct swe_canaries *c, struct swe_ask *a, void (*done)(struct swe_ask *a))
{
	swe_ask_free(a);
	*a = c->form;
	a->done = done;
	a->ctx = c;
	return a;
}

static void fail(struct swe_canaries *c, const struct err *e)
{
	c->err = *e;
	c->state = CANARIES_FAILED;
}

static void begin(struct swe_canaries *c, struct swe_ask *a, enum swe_canaries_state next)
{
	struct err e = { 0 };

	if (swe_ask_begin(a, &e) < 0) {
		fail(c, &e);
		return;
	}
	c->open++;
	c->state = next;
}

/* What every job has when it ends. True: it has something to say; else the state says what comes now. */
static bool ended(struct swe_canaries *c, const struct swe_ask *a)
{
	const struct verdict *v = &a->talk.res.verdict;
	struct err e = { 0 };

	c->open--;
	c->seconds += swe_ask_seconds(a);
	c->ticket = a->talk.ticket > c->ticket ? a->talk.ticket : c->ticket;
	if (c->state == CANARIES_FAILED)
		return false;
	if (swe_jars_stopping() && v->reason == REASON_CANCELLED) {
		err_set(&e, ERR_INTERNAL, "stopped by a signal");
		fail(c, &e);
	} else if (v->status == STATUS_ERROR) {
		err_set(&e, ERR_SETUP, "%s", v->error);
		err_hint(&e, "%s", v->hint);
		fail(c, &e);
	} else if (!a->session.applied) {
		err_set(&e, ERR_INPUT, "the %s patch of %s does not apply (%s): no canaries can be made for it", a->patch ? "gold" : "test", a->instance->id,
			a->session.apply_outcome ? a->session.apply_outcome : verdict_reason_name(v->reason));
		fail(c, &e);
	}
	return c->state != CANARIES_FAILED;
}

static const struct swe_run *run_of(const struct swe_ask *a, struct swe_run *out)
{
	if (!a->talk.ended_ns)
		return NULL;
	swe_ask_run(a, out);
	return out;
}

static void on_run(struct swe_ask *a)
{
	struct swe_canaries *c = a->ctx;

	if (ended(c, a) && !c->open && !c->gold_waits)
		c->state = CANARIES_PLAN;
}

/* ---- making one ---- */

static void draw_sample(struct swe_canaries *c)
{
	const struct strlist *all = &c->form.instance->pass_to_pass;
	uint32_t x;

	for (size_t want = SWE_SAMPLE, left = all->n, i = 0; i < all->n && want; i++, left--) {
		if (getrandom(&x, sizeof(x), 0) != sizeof(x))
			abort();
		if (x % left < want) {
			strlist_add(&c->arena, &c->sample, all->v[i]);
			want--;
		}
	}
}

static void begin_base(struct swe_canaries *c)
{
	struct swe_ask *a = job(c, &c->base, on_run);

	draw_sample(c);
	a->select = &c->form.instance->fail_to_pass;
	a->probe = true;
	c->gold_waits = c->form.instance->patch_len > 0;
	begin(c, a, CANARIES_RUNS);
}

static void begin_gold(struct swe_canaries *c)
{
	struct swe_ask *a;

	if (!c->gold_waits)
		return;
	c->gold_waits = false;
	a = job(c, &c->gold, on_run);
	a->patch = c->form.instance->patch;
	a->patch_len = c->form.instance->patch_len;
	begin(c, a, CANARIES_RUNS); /* all tests: what passes here may not be skipped later */
}

static void on_plan(struct swe_ask *a)
{
	struct swe_canaries *c = a->ctx;
	struct swe_run gold;
	struct err e = { 0 };

	if (!ended(c, a))
		return;
	if (!a->session.plan) {
		err_set(&e, ERR_INTERNAL, "%s: no canaries could be made: the generator gave no plan (%s)", a->instance->id, verdict_reason_name(a->talk.res.verdict.reason));
		fail(c, &e);
		return;
	}
	if (canary_read(&c->plan, canary_source(c->tests, json_deep_copy(a->session.plan), run_of(&c->gold, &gold)), &e) < 0) {
		fail(c, &e);
		return;
	}
	c->state = CANARIES_TRY;
}

static void begin_plan(struct swe_canaries *c)
{
	struct swe_ask *a = job(c, &c->ask, on_plan);
	unsigned char seed[16];
	char hex[sizeof(seed) * 2 + 1];
	struct swe_run base, gold;

	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed))
		abort();
	digest_hex(seed, sizeof(seed), hex);
	c->tests = canary_request(run_of(&c->base, &base), run_of(&c->gold, &gold), &c->form.instance->fail_to_pass, &c->sample, SAMPLE_MS);
	a->mode = SWE_MODE_PLAN;
	a->plan = json_pack("{s:s, s:O}", "seed", hex, "tests", c->tests);
	begin(c, a, CANARIES_PLANNING);
	json_decref(a->plan);
	a->plan = NULL;
}

/* An original has passed. */
static bool has_originals(const struct canary_plan *p)
{
	for (size_t i = 0; i < p->slot_n; i++)
		if (p->slots[i].versions[0].usable)
			return true;
	return false;
}

static void calibrated(struct swe_canaries *c, const struct swe_run *run)
{
	struct err e = { 0 };

	if (canary_calibrate(&c->plan, run, c->copies, c->lines, &e) < 0) {
		fail(c, &e);
		return;
	}
	c->state = CANARIES_READY;
	/* Where the time was over, or nothing was collected, versions that never ran are not usable: another try may do better. */
	if (!run || (run->finished && has_originals(&c->plan)))
		save(c);
}

static void on_try(struct swe_ask *a)
{
	struct swe_canaries *c = a->ctx;
	struct swe_run run;

	if (ended(c, a))
		calibrated(c, run_of(a, &run));
}

static void begin_try(struct swe_canaries *c)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char random[8];
	char word[sizeof(random) + 1] = "";
	struct swe_ask *a;

	if (!c->form.instance->patch_len || !c->plan.slot_n) {
		calibrated(c, NULL);
		return;
	}
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		abort();
	for (size_t i = 0; i < sizeof(random); i++)
		word[i] = letters[random[i] & 31];
	snprintf(c->copies, sizeof(c->copies), "__%s_", word);
	a = job(c, &c->ask, on_try);
	c->lines = arena_alloc(&c->arena, (c->plan.version_n + 1) * sizeof(*c->lines));
	a->patch = c->form.instance->patch;
	a->patch_len = c->form.instance->patch_len;
	c->selected = (struct strlist){ 0 };
	canary_select(&c->plan, NULL, &c->selected, &c->arena);
	a->select = &c->selected;
	a->copies = c->copies;
	a->files = canary_files_all(&c->plan, c->copies, c->lines);
	uint64_t wall = (uint64_t)((TRY_WALL_S + c->plan.seconds * TRY_FACTOR) * 1000) + c->plan.version_n * TRY_EACH_S * 1000, row = a->wall_ms ? a->wall_ms : a->how->wall_ms;

	a->wall_ms = wall < row ? wall : row;
	begin(c, a, CANARIES_TRYING);
	json_decref(a->files);
	a->files = NULL;
}

void swe_canaries_init(struct swe_canaries *c, const struct swe_ask *form, int folder)
{
	*c = (struct swe_canaries){ .form = *form, .folder = folder };
	if (load(c))
		c->state = CANARIES_READY;
}

void swe_canaries_more(struct swe_canaries *c)
{
	/* Each takes at most one place. */
	static void (*const steps[])(struct swe_canaries *c) = { [CANARIES_NEW] = begin_base, [CANARIES_RUNS] = begin_gold, [CANARIES_PLAN] = begin_plan, [CANARIES_TRY] = begin_try };

	if (c->state < sizeof(steps) / sizeof(steps[0]) && steps[c->state] && swe_jars_room())
		steps[c->state](c);
}

void swe_canaries_free(struct swe_canaries *c)
{
	swe_ask_free(&c->base);
	swe_ask_free(&c->gold);
	swe_ask_free(&c->ask);
	json_decref(c->tests);
	canary_done(&c->plan);
	arena_free(&c->arena);
}
