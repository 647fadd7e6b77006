/* SPDX-License-Identifier: Apache-2.0 */
/* Stdin tests: one program, many inputs, a verdict for each. */
#include "grade/judge.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "grade/patience.h"
#include "run/run.h"
#include "run/state.h"

/*
 * Theory of operation
 *
 *	build of the solution, of the checker (if they need one) -> cases, -j at once: run -> compare, or run of the checker -> outcome
 *
 * Each run is in a jar that nothing ran in before. Expected answers are never in the jar of the solution, and its output is in the jar of the
 * checker only as a file. What decides is the kernel's evidence (judge_verdict.c) and bytes compared here (judge_compare.c).
 *
 * A look at the syntax, of languages that are not built, goes beside the first cases. It only names a failure: what passes all cases is
 * right, although something behind its last line cannot be parsed.
 *
 * The result does not depend on how many run at once: a failure ends the cases behind it, and what those did meanwhile is forgotten.
 */

#define PROGRESS_MS  200
#define SHOWN_MAX    2048 /* bytes of a stream that are kept for people */
#define LINE_MAX     160  /* of a line that differs */
#define BUILD_OUTPUT (4ULL << 20)

enum phase { PHASE_FREE, PHASE_BUILD, PHASE_CASE, PHASE_CHECK };

struct slot {
	struct run run;
	struct result res;
	struct request req;
	struct arena arena;
	enum phase phase;
	struct slot *next; /* of the finished, or free, ones */
	struct judge *judge;
	/* of a build */
	struct program *program;
	struct judge_step *step;
	/* of a case */
	size_t number;
	bool again; /* it had too little of the CPU the first time */
	struct buf input, expected, output;
	char *shown[2]; /* of its streams, should it fail */
};

/* Cases whose failure ends the others behind them: a subtask, or all of them. */
struct group {
	size_t first_failed;
};

struct judge {
	const struct judge_setup *setup;
	struct judge_result *result;
	struct arena *arena;
	struct err *err;
	struct loop loop;
	struct pool pool;
	struct ledger ledger;
	struct watch signals;
	struct slot *slots, *free_slots, *finished;
	size_t slot_count;
	size_t running, builds; /* builds: that cases wait for */
	bool stopped;		/* nothing is begun any more: a build failed, a signal */
	bool unreadable;	/* its syntax is wrong: should a case fail, that was why */
	bool impatient;		/* a second chance was in vain: there are no more */
	bool signalled;
	size_t next; /* case to be begun */
	size_t done, failed;
	struct group *groups;
	size_t *member_start, *members; /* groups of case i: members[member_start[i]] to members[member_start[i + 1] - 1] */
	uint64_t shown_ns;
};

static const struct run_options quietly = { .receipts = true };

/* ---- text for people ---- */

/* At most `max` bytes that are UTF-8 whatever they were, with … where something is left out: the start, or with `tail` the end. */
static char *shown_text(const char *data, size_t len, size_t max, bool tail)
{
	size_t from = tail && len > max ? len - max : 0, end = !tail && len > max ? max : len;
	struct buf out = BUF_INIT(max * 3 + 16);

	if (from)
		buf_str(&out, "…");
	for (size_t i = from; i < end;) {
		size_t n = utf8_len((const unsigned char *)data + i, len - i);

		if (n && data[i])
			buf_add(&out, data + i, n);
		else if (i > from + 3 || !tail || !from) /* the rest of a character that was cut is nobody's */
			buf_str(&out, "\xef\xbf\xbd");
		i += n ? n : 1;
	}
	if (end < len)
		buf_str(&out, "…");
	return buf_take(&out);
}

/* A line, from a little before the place that differs. */
static const char *shown_line(struct arena *a, const struct compare_line *l)
{
	size_t from = l->at > LINE_MAX / 2 ? l->at - LINE_MAX / 4 : 0, len = l->len;
	auto_free char *text = NULL;

	if (l->end)
		return NULL;
	/* Not from the middle of a character. */
	while (from && from < len && ((unsigned char)l->text[from] & 0xc0) == 0x80)
		from--;
	text = shown_text(l->text + from, len - from, LINE_MAX, false);
	return arena_fmt(a, "%s%s", from ? "…" : "", text);
}

static char *shown_stream(const struct output *o, bool tail)
{
	auto_buf view = BUF_INIT(o->view_max * 2 + 1024);

	output_view(o, &view);
	return shown_text(view.data ? view.data : "", view.len, SHOWN_MAX, tail);
}

static void take_evidence(struct judge_evidence *out, const struct result *res)
{
	const struct step_result *s = &res->run;
	const struct jar_evidence *ev = &s->evidence;

	out->v = res->verdict;
	out->cpu_ns = ev->cg.cpu_ns;
	out->wall_ns = ev->ended_ns > ev->started_ns ? ev->ended_ns - ev->started_ns : 0;
	out->memory_bytes = result_memory_peak(ev);
	out->oom_kills = ev->cg.oom_kills;
	out->stdout_bytes = s->out[0].total;
	out->stderr_bytes = s->out[1].total;
	out->warm = res->have_facts && res->facts.warm;
}

/* ---- which cases still matter ---- */

static bool is_dead(const struct judge *j, size_t i)
{
	if (j->setup->all)
		return false;
	for (size_t k = j->member_start[i]; k < j->member_start[i + 1]; k++)
		if (j->groups[j->members[k]].first_failed >= i)
			return false;
	return true;
}

static void note_failure(struct judge *j, size_t i)
{
	for (size_t k = j->member_start[i]; k < j->member_start[i + 1]; k++) {
		struct group *g = &j->groups[j->members[k]];

		if (i < g->first_failed)
			g->first_failed = i;
	}
	/* What runs behind it is in vain now. */
	for (size_t k = 0; k < j->slot_count; k++)
		if (j->slots[k].phase >= PHASE_CASE && is_dead(j, j->slots[k].number))
			run_cancel(&j->slots[k].run);
}

static void make_groups(struct judge *j)
{
	const struct cases *c = j->setup->cases;
	size_t groups = c->subtask_count ? c->subtask_count : 1, total = c->subtask_count ? 0 : c->count;
	size_t *fill;

	j->groups = arena_alloc(j->arena, groups * sizeof(*j->groups));
	for (size_t g = 0; g < groups; g++)
		j->groups[g].first_failed = SIZE_MAX;
	j->member_start = arena_alloc(j->arena, (c->count + 2) * sizeof(*j->member_start));
	for (size_t s = 0; s < c->subtask_count; s++)
		for (size_t k = 0; k < c->subtasks[s].count; k++, total++)
			j->member_start[c->subtasks[s].cases[k] + 1]++;
	for (size_t i = 0; i < c->count; i++)
		j->member_start[i + 1] = c->subtask_count ? j->member_start[i] + j->member_start[i + 1] : i + 1;
	j->members = arena_alloc(j->arena, (total + 1) * sizeof(*j->members));
	fill = arena_alloc(j->arena, (c->count + 1) * sizeof(*fill));
	for (size_t s = 0; s < c->subtask_count; s++)
		for (size_t k = 0; k < c->subtasks[s].count; k++) {
			size_t i = c->subtasks[s].cases[k];

			j->members[j->member_start[i] + fill[i]++] = s;
		}
}

/* ---- slots ---- */

static void on_finished(struct run *x)
{
	struct slot *s = CONTAINER_OF(x, struct slot, run);

	/* Deferred to the end of the round: no structure is used anew while events of its past may still be in hand. */
	s->next = s->judge->finished;
	s->judge->finished = s;
}

static void begin_run(struct slot *s, struct arena *a)
{
	struct judge *j = s->judge;

	memset(&s->res, 0, sizeof(s->res));
	result_begin(&s->res);
	run_begin_pooled(&s->run, &s->req, &j->pool, (uint32_t)(s - j->slots) + 1, a, &s->res);
}

static struct slot *take_slot(struct judge *j, enum phase phase)
{
	struct slot *s = j->free_slots;

	assert(s);
	j->free_slots = s->next;
	s->phase = phase;
	j->running++;
	return s;
}

static void free_slot(struct slot *s)
{
	struct judge *j = s->judge;

	s->phase = PHASE_FREE;
	arena_reset(&s->arena);
	buf_done(&s->input);
	buf_done(&s->expected);
	buf_done(&s->output);
	for (int i = 0; i < 2; i++) {
		free(s->shown[i]);
		s->shown[i] = NULL;
	}
	s->next = j->free_slots;
	j->free_slots = s;
	j->running--;
}

/* Nothing more is begun, and what runs ends. */
static void stop(struct judge *j)
{
	j->stopped = true;
	for (size_t k = 0; k < j->slot_count; k++)
		if (j->slots[k].phase != PHASE_FREE)
			run_cancel(&j->slots[k].run);
}

static void blame_syntax(struct judge *j)
{
	if (j->stopped || !j->unreadable || !j->failed)
		return;
	j->result->verdict = JUDGE_CE;
	stop(j);
}

/* ---- builds ---- */

static uint64_t at_least(uint64_t v, uint64_t min)
{
	return v > min ? v : min;
}

static void begin_build(struct judge *j, struct program *p, struct judge_step *step)
{
	struct slot *s = j->free_slots;

	if (!program_build_request(p, j->setup->base, &s->req, j->arena))
		return;
	s = take_slot(j, PHASE_BUILD);
	s->program = p;
	s->step = step;
	step->there = true;
	step->syntax = !program_needs_build(p);
	if (!step->syntax || step == &j->result->checker_build)
		j->builds++;
	/* A compiler is no part of the task: it has room. */
	s->req.no_write = false;
	s->req.limits.wall_ms = 180000;
	s->req.limits.cpu_ms = 60000;
	s->req.limits.memory_bytes = at_least(s->req.limits.memory_bytes, 1ULL << 30);
	s->req.limits.disk_bytes = at_least(s->req.limits.disk_bytes, 512ULL << 20);
	s->req.limits.pids = at_least(s->req.limits.pids, 256);
	s->req.limits.output_bytes = s->req.limits.log_bytes = BUILD_OUTPUT;
	/* What it makes is kept as long as there are cases. */
	begin_run(s, j->arena);
}

static enum judge_verdict build_verdict(struct slot *s)
{
	struct judge *j = s->judge;
	struct judge_step *k = s->step;
	enum judge_verdict v = judge_verdict_of_run(&s->res.verdict, &s->res.run, BUILD_OUTPUT - 1, k->detail);
	struct err e = { 0 };

	snprintf(k->hint, sizeof(k->hint), "%.*s", JUDGE_DETAIL - 1, s->res.verdict.hint);
	if (v == JUDGE_JE)
		return JUDGE_JE;
	if (v != JUDGE_AC)
		return JUDGE_CE;
	if (k->syntax || program_built(s->program, &s->res.files, j->setup->base->limits.disk_bytes, j->arena, &e) == 0)
		return JUDGE_AC;
	snprintf(k->detail, sizeof(k->detail), "%.*s", JUDGE_DETAIL - 1, e.msg);
	snprintf(k->hint, sizeof(k->hint), "%.*s", JUDGE_DETAIL - 1, e.hint);
	return e.kind == ERR_INTERNAL ? JUDGE_JE : JUDGE_CE;
}

static void end_build(struct slot *s)
{
	struct judge *j = s->judge;
	struct judge_step *k = s->step;
	bool checker = k == &j->result->checker_build;

	if (!k->syntax || checker)
		j->builds--;
	/* Called off: something else has decided already. */
	if (j->stopped) {
		run_result_done(&s->res);
		free_slot(s);
		return;
	}
	k->verdict = build_verdict(s);
	take_evidence(&k->ev, &s->res);
	k->command = s->res.run.command;
	for (int i = 0; i < 2 && s->res.run.there; i++)
		s->shown[i] = shown_stream(&s->res.run.out[i], false);
	k->out = arena_dup(j->arena, s->shown[0] ? s->shown[0] : "");
	k->err = arena_dup(j->arena, s->shown[1] ? s->shown[1] : "");
	if (k->verdict == JUDGE_CE && k->syntax && !checker) {
		j->unreadable = true;
		blame_syntax(j);
	} else if (k->verdict != JUDGE_AC) {
		/* A checker that cannot be built is the judge's failure. */
		j->result->verdict = checker ? JUDGE_JE : k->verdict;
		stop(j);
	}
	run_result_done(&s->res);
	free_slot(s);
}

/* ---- cases ---- */

static const struct cases_case *case_of(const struct slot *s)
{
	return &s->judge->setup->cases->v[s->number];
}

static struct judge_outcome *outcome_of(const struct slot *s)
{
	return &s->judge->result->cases[s->number];
}

static void finish_case(struct slot *s, enum judge_verdict v, double points)
{
	struct judge *j = s->judge;
	struct judge_outcome *o = outcome_of(s);

	o->verdict = v;
	o->points = points;
	if (v != JUDGE_AC && s->shown[0] && s->shown[1]) {
		o->out = arena_dup(j->arena, s->shown[0]);
		o->err = arena_dup(j->arena, s->shown[1]);
	}
	j->done++;
	if (v != JUDGE_AC && !j->stopped) {
		j->failed++;
		note_failure(j, s->number);
		blame_syntax(j);
	}
	free_slot(s);
}

static void fail_case(struct slot *s, const struct err *e)
{
	struct judge_outcome *o = outcome_of(s);

	snprintf(o->detail, sizeof(o->detail), "%.*s", JUDGE_DETAIL - 1, e->msg);
	finish_case(s, JUDGE_JE, 0);
}

/* The bytes of one side, read when they are needed. */
static int load(const struct judge *j, const struct cases_bytes *b, struct buf *into, const char **data, size_t *len, struct err *e)
{
	*data = b->data;
	*len = b->len;
	if (!b->path)
		return 0;
	into->max = CASES_BYTES_MAX;
	if (!into->data && cases_read_file(j->setup->dir, b->path, into, e) < 0)
		return -1;
	*data = into->data;
	*len = into->len;
	return 0;
}

/* CPU time decides; the wall clock is behind it, and further when runs share CPUs. */
static uint64_t wall_of(const struct judge *j, const struct cases_limits *l, uint64_t time_ms)
{
	size_t share = (j->setup->jobs + j->setup->cpus - 1) / j->setup->cpus;

	return (l->wall_ms ? l->wall_ms : time_ms * 3 + 1000) * share;
}

static void set_limits(const struct judge *j, struct jar_limits *out, const struct cases_limits *l)
{
	if (l->time_ms)
		out->cpu_ms = l->time_ms;
	out->wall_ms = wall_of(j, l, out->cpu_ms);
	if (l->memory_bytes)
		out->memory_bytes = l->memory_bytes;
	/* All of it is in memory, and one byte more: so what is too long is seen even in the last moment, and no log is written. */
	out->output_bytes = out->log_bytes = l->output_bytes + 1;
}

static void start_case(struct slot *s)
{
	struct judge *j = s->judge;
	const struct cases_case *c = case_of(s);
	struct err e = { 0 };

	program_request(j->setup->solution, j->setup->base, 0, &s->req, &s->arena);
	if (load(j, &c->input, &s->input, &s->req.stdin_data, &s->req.stdin_len, &e) < 0) {
		fail_case(s, &e);
		return;
	}
	set_limits(j, &s->req.limits, &c->limits);
	if (s->again)
		s->req.limits.wall_ms *= PATIENCE_FACTOR;
	outcome_of(s)->limits = s->req.limits;
	begin_run(s, &s->arena);
}

static void begin_case(struct judge *j, size_t number)
{
	struct slot *s = take_slot(j, PHASE_CASE);

	s->number = number;
	s->again = false;
	start_case(s);
}

static bool was_starved(const struct slot *s, enum judge_verdict v)
{
	const struct judge_outcome *o = outcome_of(s);

	if (v != JUDGE_TLE || o->ev.v.reason != REASON_WALL_TIME || s->again || s->judge->impatient || case_of(s)->limits.wall_ms)
		return false;
	return patience_starved(o->ev.cpu_ns, o->ev.wall_ns, o->limits.cpu_ms * NS_PER_MS);
}

static void begin_check(struct slot *s)
{
	static const char *const names[3] = { "input", "output", "answer" };
	struct judge *j = s->judge;
	const struct cases_case *c = case_of(s);
	struct request *r = &s->req;
	struct request_file f[3];
	const char *data[3] = { NULL, s->output.data, NULL };
	size_t len[3] = { 0, s->output.len, 0 };
	struct err e = { 0 };
	uint64_t bytes = 0;

	s->phase = PHASE_CHECK;
	arena_reset(&s->arena);
	if (load(j, &c->input, &s->input, &data[0], &len[0], &e) < 0 || load(j, &c->expected, &s->expected, &data[2], &len[2], &e) < 0) {
		fail_case(s, &e);
		return;
	}
	program_request(j->setup->checker, j->setup->base, 3, r, &s->arena);
	for (int i = 0; i < 3; i++) {
		f[i] = (struct request_file){ .path = names[i], .content = data[i] ? data[i] : "", .len = len[i], .mode = 0444 };
		r->files[r->file_count++] = f[i];
		bytes += len[i];
		/* Of a program these are words behind its own, of code they are its arguments: both end up there. */
		strlist_add(&s->arena, &r->args, names[i]);
	}
	r->limits.cpu_ms = 10000;
	r->limits.memory_bytes = at_least(r->limits.memory_bytes, 512ULL << 20);
	set_limits(j, &r->limits, &j->setup->cases->checker.limits);
	/* A busy machine is no reason to call the judge broken. */
	if (!j->setup->cases->checker.limits.wall_ms)
		r->limits.wall_ms = r->limits.cpu_ms * 5 + 10000;
	r->limits.output_bytes = r->limits.log_bytes = 1 << 20;
	/* Files are memory. */
	r->limits.memory_bytes += bytes;
	r->limits.disk_bytes += bytes + bytes / 16;
	begin_run(s, &s->arena);
}

static void compare(struct slot *s)
{
	static const enum judge_verdict verdicts[] = { [COMPARE_SAME] = JUDGE_AC, [COMPARE_SPACING] = JUDGE_PE, [COMPARE_OTHER] = JUDGE_WA };
	struct judge *j = s->judge;
	const struct cases_case *c = case_of(s);
	struct judge_outcome *o = outcome_of(s);
	struct compare_diff d;
	struct err e = { 0 };
	const char *expected;
	size_t len;
	enum compare_result r;

	if (load(j, &c->expected, &s->expected, &expected, &len, &e) < 0) {
		fail_case(s, &e);
		return;
	}
	r = compare_run(&c->compare, expected, len, s->output.data, s->output.len, &d);
	if (r != COMPARE_SAME) {
		o->line = d.line;
		o->token = d.token;
		o->expected = shown_line(j->arena, &d.expected);
		o->got = shown_line(j->arena, &d.got);
		if (r == COMPARE_SPACING)
			snprintf(o->detail, sizeof(o->detail), "the words are right, the white space is not");
	}
	finish_case(s, verdicts[r], r == COMPARE_SAME ? c->points : 0);
}

/* It died of its own size while it was copied into its jar: files are memory. */
static bool is_too_large(const struct slot *s)
{
	const struct program *p = s->judge->setup->solution;
	uint64_t bytes = p->file_count ? 0 : p->len;

	for (size_t i = 0; i < p->file_count; i++)
		bytes += p->files[i].len;
	return s->res.verdict.status == STATUS_ERROR && bytes > s->req.limits.memory_bytes / 2;
}

static void end_case(struct slot *s)
{
	struct judge *j = s->judge;
	struct judge_outcome *o = outcome_of(s);
	enum judge_verdict v = judge_verdict_of_run(&s->res.verdict, &s->res.run, case_of(s)->limits.output_bytes, o->detail);
	const struct step_result *step = &s->res.run;

	take_evidence(&o->ev, &s->res);
	if (v == JUDGE_JE && is_too_large(s)) {
		v = JUDGE_MLE;
		snprintf(o->detail, sizeof(o->detail), "the program itself, a file in its jar, leaves no room in its memory limit");
	}
	if (s->again && v == JUDGE_TLE && o->ev.v.reason == REASON_WALL_TIME)
		j->impatient = true;
	if (was_starved(s, v) && !j->stopped && !is_dead(j, s->number)) {
		run_result_done(&s->res);
		arena_reset(&s->arena);
		s->again = o->again = true;
		start_case(s);
		return;
	}
	if (v == JUDGE_AC) {
		s->output.max = CASES_OUTPUT_MAX + 1;
		/* Whole, since it was not past its limit. */
		if (output_view(&step->out[0], &s->output) < 0)
			v = JUDGE_JE;
	}
	if (step->there) {
		s->shown[0] = v == JUDGE_AC ? shown_text(s->output.data ? s->output.data : "", s->output.len, SHOWN_MAX, false)
					    : shown_stream(&step->out[0], false);
		s->shown[1] = shown_stream(&step->out[1], true);
	}
	run_result_done(&s->res);
	if (v != JUDGE_AC || j->stopped || is_dead(j, s->number))
		finish_case(s, v, 0);
	else if (case_of(s)->compare.mode == COMPARE_CHECKER)
		begin_check(s);
	else
		compare(s);
}

static void end_check(struct slot *s)
{
	struct judge_outcome *o = outcome_of(s);
	double points = 0;
	char words[JUDGE_DETAIL];
	enum judge_verdict v = judge_verdict_of_checker(&s->res.verdict, &s->res.run, case_of(s)->points, &points, words);

	/* It may be anything. */
	auto_free char *safe = shown_text(words, strlen(words), (JUDGE_DETAIL - 16) / 3, false);
	snprintf(o->detail, sizeof(o->detail), "%s", safe);
	o->checked = true;
	take_evidence(&o->checker, &s->res);
	run_result_done(&s->res);
	finish_case(s, v, points);
}

static void end_finished(struct judge *j)
{
	static void (*const ends[])(struct slot *) = { [PHASE_BUILD] = end_build, [PHASE_CASE] = end_case, [PHASE_CHECK] = end_check };
	struct slot *s;

	while ((s = j->finished)) {
		j->finished = s->next;
		ledger_put(&j->ledger, &s->req, &s->res);
		ends[s->phase](s);
	}
}

static void begin_some(struct judge *j)
{
	size_t count = j->setup->cases->count;

	while (j->free_slots && j->running < j->setup->jobs && !j->builds && !j->stopped && !j->pool.dead && j->next < count) {
		size_t i = j->next++;

		if (!is_dead(j, i))
			begin_case(j, i);
		/* One that failed at once makes room for the next. */
		end_finished(j);
	}
}

/* ---- the whole ---- */

static void on_signal(struct watch *w, uint32_t events)
{
	struct judge *j = CONTAINER_OF(w, struct judge, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (read(w->fd, &info, sizeof(info)) != sizeof(info))
		return;
	j->signalled = true;
	stop(j);
}

static void notice(struct pool *p, const struct err *e)
{
	static char told[sizeof(e->msg)];
	const struct judge_setup *s = CONTAINER_OF(p, struct judge, pool)->setup;

	if (s->quiet || strcmp(told, e->msg) == 0)
		return;
	snprintf(told, sizeof(told), "%s", e->msg);
	fprintf(stderr, "%sbelljar: %s%s%s\n", s->progress ? "\r\033[K" : "", e->msg, e->hint[0] ? "; " : "", e->hint);
}

static void show_progress(struct judge *j, bool last)
{
	uint64_t now = clock_mono_ns();

	if (!j->setup->progress || (!last && now - j->shown_ns < PROGRESS_MS * NS_PER_MS))
		return;
	j->shown_ns = now;
	if (last)
		fprintf(stderr, "\r\033[K");
	else if (j->builds)
		fprintf(stderr, "\rcompiling\033[K");
	else
		fprintf(stderr, "\r%zu of %zu cases, %zu failed\033[K", j->done, j->setup->cases->count, j->failed);
}

static int judge_init(struct judge *j, const struct judge_setup *s, struct judge_result *r, struct arena *a, struct err *e)
{
	sigset_t set;

	memset(j, 0, sizeof(*j));
	memset(r, 0, sizeof(*r));
	j->setup = s;
	j->result = r;
	j->arena = a;
	j->err = e;
	r->cases = arena_alloc(a, s->cases->count * sizeof(*r->cases));
	r->subtask_passed = arena_alloc(a, s->cases->subtask_count + 1);
	/* Solution and checker are built at once. */
	j->slot_count = s->jobs < 2 ? 2 : s->jobs;
	j->slots = calloc(j->slot_count, sizeof(*j->slots));
	if (!j->slots)
		return err_set(e, ERR_INTERNAL, "no memory for %zu runs at once", s->jobs);
	make_groups(j);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	j->signals = (struct watch){ .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_signal };
	if (loop_init(&j->loop, e) < 0)
		return -1;
	if (loop_want(&j->loop, &j->signals, EPOLLIN) < 0)
		return err_sys(e, "wait for signals");
	if (pool_init(&j->pool, &j->loop, s->keeper, &s->open, notice, e) < 0)
		return -1;
	ledger_begin(&j->ledger, &j->loop, &s->ledger);
	for (size_t i = j->slot_count; i-- > 0;) {
		struct slot *x = &j->slots[i];

		x->judge = j;
		run_init(&x->run, &j->loop, &quietly, on_finished);
		x->next = j->free_slots;
		j->free_slots = x;
	}
	return 0;
}

static void judge_done(struct judge *j)
{
	pool_done(&j->pool);
	watch_close(&j->signals);
	loop_done(&j->loop);
	for (size_t i = 0; j->slots && i < j->slot_count; i++)
		arena_free(&j->slots[i].arena);
	free(j->slots);
}

/* What was run behind a failure is forgotten: the result is the same however many ran at once. */
static void settle(struct judge *j)
{
	struct judge_result *r = j->result;
	const struct cases *c = j->setup->cases;

	for (size_t i = 0; i < c->count; i++) {
		struct judge_outcome *o = &r->cases[i];

		if (j->stopped || is_dead(j, i))
			*o = (struct judge_outcome){ 0 };
		r->passed += o->verdict == JUDGE_AC;
		r->not_run += o->verdict == JUDGE_NOT_RUN;
		if (o->verdict != JUDGE_AC && o->verdict != JUDGE_NOT_RUN && !r->verdict)
			r->verdict = o->verdict;
		/* That the judge failed matters more than what it found. */
		if (o->verdict == JUDGE_JE)
			r->verdict = JUDGE_JE;
		if (!c->subtask_count) {
			r->points += o->points;
			r->points_max += c->v[i].points;
		}
	}
	r->failed = c->count - r->passed - r->not_run;
	for (size_t s = 0; s < c->subtask_count; s++) {
		r->subtask_passed[s] = true;
		for (size_t k = 0; k < c->subtasks[s].count; k++)
			r->subtask_passed[s] = r->subtask_passed[s] && r->cases[c->subtasks[s].cases[k]].verdict == JUDGE_AC;
		r->points_max += c->subtasks[s].points;
		if (r->subtask_passed[s])
			r->points += c->subtasks[s].points;
	}
	if (r->passed == c->count && !r->verdict)
		r->verdict = JUDGE_AC;
	r->score = r->points_max > 0 ? r->points / r->points_max : 0;
}

static bool is_over(const struct judge *j)
{
	return !j->running && (j->stopped || j->pool.dead || (!j->builds && j->next >= j->setup->cases->count));
}

int judge_run(const struct judge_setup *s, struct judge_result *r, struct arena *a, struct err *e)
{
	static struct judge j;
	int rc = 0;

	if (judge_init(&j, s, r, a, e) < 0) {
		judge_done(&j);
		return -1;
	}
	begin_build(&j, s->solution, &r->build);
	if (s->checker)
		begin_build(&j, s->checker, &r->checker_build);
	end_finished(&j);
	begin_some(&j);
	while (!is_over(&j)) {
		loop_wait(&j.loop, s->progress ? PROGRESS_MS : -1);
		end_finished(&j);
		j.stopped = j.stopped || ledger_refuses(&j.ledger);
		begin_some(&j);
		show_progress(&j, false);
	}
	show_progress(&j, true);
	if (ledger_end(&j.ledger, e) < 0) {
		rc = -1;
	} else if (j.signalled) {
		err_set(e, ERR_INTERNAL, "stopped by a signal: nothing was decided");
		rc = 130;
	} else if (j.pool.dead) {
		err_set(e, ERR_INTERNAL, "belljar-keeper ended unexpectedly: nothing was decided");
		err_hint(e, "belljar doctor");
		rc = -1;
	} else {
		settle(&j);
	}
	judge_done(&j);
	return rc;
}
