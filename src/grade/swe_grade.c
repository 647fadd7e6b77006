/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SWE-bench: from what was seen of a test run to a verdict.
 *
 * There are up to four witnesses: the reporter inside of the runner, the runner's own output, its exit status, and rounds in which tests are
 * replaced by versions of themselves that must fail (swe_canary.h). A test counts when the reporter saw it pass and no other witness contradicts
 * that. A witness that contradicts the whole run takes the belief from every test of it.
 */
#include "grade/swe_grade.h"

#include <string.h>

/* Bytes of log that are looked through for names without an outcome: enough for any honest run. */
#define MENTION_BUDGET (4ULL << 30)

static const char *const reasons[] = {
	[SWE_WHY_NONE] = NULL,
	[SWE_WHY_MISSING] = "missing",
	[SWE_WHY_FAILED] = "failed",
	[SWE_WHY_ERROR] = "error",
	[SWE_WHY_SKIPPED] = "skipped",
	[SWE_WHY_XFAIL] = "xfail",
	[SWE_WHY_XPASS] = "xpass",
	[SWE_WHY_LOG_DISAGREES] = "log_disagrees",
	[SWE_WHY_LOG_SILENT] = "log_silent",
	[SWE_WHY_EXIT_DISAGREES] = "exit_disagrees",
	[SWE_WHY_UNFINISHED] = "unfinished",
	[SWE_WHY_TIMEOUT] = "timeout",
	[SWE_WHY_MEMORY] = "memory",
	[SWE_WHY_OUTPUT] = "output",
	[SWE_WHY_TAMPERING] = "tampering",
	[SWE_WHY_NO_PATCH] = "no_patch",
	[SWE_WHY_NOT_APPLIED] = "not_applied",
	[SWE_WHY_NOT_RUN] = "not_run",
	[SWE_WHY_NOT_GRADABLE] = "not_gradable",
};

const char *swe_reason_name(enum swe_reason r)
{
	return reasons[r];
}

static const enum swe_reason why_of[] = {
	[SWE_MISSING] = SWE_WHY_MISSING, [SWE_PASSED] = SWE_WHY_NONE,  [SWE_FAILED] = SWE_WHY_FAILED, [SWE_ERROR] = SWE_WHY_ERROR,
	[SWE_SKIPPED] = SWE_WHY_SKIPPED, [SWE_XFAIL] = SWE_WHY_NONE, [SWE_XPASS] = SWE_WHY_XPASS,
};

/* Enough by itself: what belongs to us was touched while the tests ran, or a round with canaries says that tests are not what they were. Everything else was put
 * right before. */
static const char *const fatal[] = { "reporter", "frames", "counts_disagree", "exit_changed", "canary_passed", "canary_xfail", "canary_skipped", "canary_missing",
				     "canary_elsewhere", "canary_exit", "original_unsteady", "comparison_changed", "softened", "round_unfinished", NULL };

/* One run, read. */
struct view {
	const struct swe_run *run;
	struct swe_map seen;	/* of the reporter */
	struct swe_log log;
	bool has_log;
	uint64_t looked; /* bytes */
};

struct grading {
	struct swe_verdict *v;
	struct arena *a;
	size_t cap; /* of tampering */
	bool broken; /* something was found that takes all belief */
};

static void tamper(struct grading *g, const char *what, const char *path, const char *detail)
{
	struct swe_verdict *v = g->v;

	if (v->tampering_n == g->cap) {
		size_t cap = g->cap ? g->cap * 2 : 16;
		struct swe_tamper *more = arena_alloc(g->a, cap * sizeof(*more));

		if (v->tampering_n)
			memcpy(more, v->tampering, v->tampering_n * sizeof(*more));
		v->tampering = more;
		g->cap = cap;
	}
	v->tampering[v->tampering_n++] = (struct swe_tamper){ .what = what, .path = path, .action = "seen", .detail = detail };
}

/* ---- reading a run ---- */

static void add_name(struct view *w, const char *name, enum swe_outcome o, bool alias, struct arena *a)
{
	swe_map_add(&w->seen, swe_name_canon(w->run->style, span_of(name), a), o, false, alias);
}

static void read_result(struct view *w, const struct swe_result *r, struct arena *a)
{
	const char *canon = swe_name_canon(w->run->style, span_of(r->id), a);
	const char *blank = strchr(canon, ' ');
	struct span doc = span_of(r->doc), line;

	if (r->outcome == SWE_MISSING)
		return;
	add_name(w, r->id, r->outcome, false, a);
	if (r->str)
		add_name(w, r->str, r->outcome, true, a);
	/* A docstring is listed by its first line that says something. */
	doc = span_trim(doc);
	if (doc.n && span_line(&doc, &line))
		add_name(w, text_bytes(line, 1) ? arena_dup_len(a, line.p, line.n) : "", r->outcome, true, a);
	/* Ids that hold blanks are listed up to the first one by some parsers. */
	if (blank && strstr(canon, "::"))
		add_name(w, arena_dup_len(a, canon, (size_t)(blank - canon)), r->outcome, true, a);
}

static void view_init(struct view *w, const struct swe_run *run, struct arena *a)
{
	*w = (struct view){ .run = run };
	for (size_t i = 0; run->has_reporter && i < run->n; i++)
		read_result(w, &run->results[i], a);
	w->has_log = run->log != NULL;
	if (w->has_log)
		swe_log_parse(&w->log, run->style, run->log, run->log_len, NULL, a);
}

static void view_done(struct view *w)
{
	swe_map_done(&w->seen);
	swe_log_done(&w->log);
}

/* ---- one test ---- */

/* Is the name in the log, although nobody could tell an outcome from it? Runners print between the name and the outcome what tests print. */
static bool mentioned(struct view *w, const char *canon)
{
	bool function = swe_name_has_function(w->run->style, canon);
	struct span f = function ? swe_name_function(w->run->style, canon) : span_of(canon);

	w->looked += w->log.text.n;
	if (w->looked > MENTION_BUDGET)
		return false;
	return swe_log_mentions(&w->log, f);
}

/* What the log says of a name. */
static enum swe_outcome in_log(const struct view *w, const char *canon)
{
	return w->has_log ? swe_map_outcome(&w->log.map, canon, false) : SWE_MISSING;
}

static void test_log_only(struct swe_test *t, const struct view *w, const char *canon)
{
	t->outcome = in_log(w, canon);
	t->reason = why_of[t->outcome];
}

static void test_both(struct grading *g, struct swe_test *t, struct view *w, const char *canon)
{
	enum swe_outcome said = in_log(w, canon), saw = swe_map_outcome(&w->seen, canon, false);

	if (!saw && !swe_name_junk(w->run->style, canon) && strstr(canon, "::")) {
		struct span name = swe_name_before_message(span_of(canon));

		saw = name.n < strlen(canon) ? swe_map_outcome(&w->seen, arena_dup_len(g->a, name.p, name.n), false) : SWE_MISSING;
	}
	/* What no test can be called was read out of a log by those who made the list: the log is all there can be. */
	if (!saw && swe_name_junk(w->run->style, canon)) {
		test_log_only(t, w, canon);
		return;
	}
	t->outcome = saw;
	t->reason = why_of[saw];
	if (!w->has_log)
		return;
	if ((swe_outcome_good(saw) && swe_outcome_bad(said)) || (swe_outcome_bad(saw) && swe_outcome_good(said)) || (!saw && swe_outcome_good(said))) {
		t->reason = SWE_WHY_LOG_DISAGREES;
		tamper(g, "log_disagrees", t->id, arena_fmt(g->a, "the reporter: %s; the log: %s", swe_outcome_name(saw), swe_outcome_name(said)));
	} else if (swe_outcome_good(saw) && said == SWE_SKIPPED) {
		t->outcome = SWE_SKIPPED;
		t->reason = SWE_WHY_SKIPPED;
	} else if (swe_outcome_good(saw) && !said && w->run->finished && !w->run->log_cut && !w->log.map.cut && !mentioned(w, canon)) {
		t->reason = SWE_WHY_LOG_SILENT;
		tamper(g, "log_silent", t->id, "the reporter saw it pass, and the runner never named it");
	}
}

static bool is_marked(const struct view *w, const char *id)
{
	const struct strlist *m = w->run->marked;

	for (size_t i = 0; m && i < m->n; i++)
		if (strcmp(m->v[i], id) == 0)
			return true;
	return !m;
}

static void grade_list(struct grading *g, struct view *w, const struct strlist *ids, struct swe_test *out, bool keep)
{
	for (size_t i = 0; i < ids->n; i++) {
		struct swe_test *t = &out[i];
		const char *canon = swe_name_canon(w->run->style, span_of(ids->v[i]), g->a);

		t->id = ids->v[i];
		if (w->run->has_reporter)
			test_both(g, t, w, canon);
		else
			test_log_only(t, w, canon);
		/* The product can make a test an expected failure: that counts only where the test's own source says so. */
		if (!keep && t->reason == SWE_WHY_NONE && t->outcome == SWE_XFAIL && !is_marked(w, t->id))
			t->reason = SWE_WHY_XFAIL;
		/* A test that is left out is no regression. */
		if (keep && t->reason == SWE_WHY_SKIPPED)
			t->reason = SWE_WHY_NONE;
		t->ok = t->reason == SWE_WHY_NONE;
	}
}

/* ---- the whole run ---- */

static void count_run(struct swe_verdict *v, const struct view *w)
{
	const struct swe_map *m = w->run->has_reporter ? &w->seen : &w->log.map;

	for (size_t i = 0; i < m->n; i++) {
		if (m->v[i].alias)
			continue;
		v->passed += swe_outcome_good(m->v[i].outcome);
		v->failed += m->v[i].outcome == SWE_FAILED || m->v[i].outcome == SWE_XPASS;
		v->errors += m->v[i].outcome == SWE_ERROR;
		v->skipped += m->v[i].outcome == SWE_SKIPPED;
	}
}

static bool any_bad(const struct view *w)
{
	const struct swe_map *m = w->run->has_reporter ? &w->seen : &w->log.map;

	for (size_t i = 0; i < m->n; i++)
		if (swe_outcome_bad(m->v[i].outcome))
			return true;
	return false;
}

/* An expected failure that passes is a failure for some runners and none for others. */
static bool any_failed(const struct view *w)
{
	const struct swe_map *m = w->run->has_reporter ? &w->seen : &w->log.map;

	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].outcome == SWE_FAILED || m->v[i].outcome == SWE_ERROR)
			return true;
	return false;
}

static void check_exit(struct grading *g, const struct view *w)
{
	const struct swe_run *r = w->run;

	if (r->has_exit && !r->signal && r->exit == 0 && any_failed(w)) {
		tamper(g, "exit_disagrees", NULL, "the exit status is 0, although tests failed");
		g->broken = true;
	}
}

/* Why nothing of a run is believed; SWE_WHY_NONE: it is. */
static enum swe_reason distrust(struct grading *g, const struct view *w)
{
	const struct swe_run *r = w->run;

	if (r->has_reporter) {
		strlist_add(g->a, &g->v->checks, "finish");
		if (!r->finished && r->has_exit && r->exit == 0)
			tamper(g, "early_exit", NULL, "the runner ended with status 0, and its session never ended");
		if (!r->finished || r->signal)
			return r->stopped ? (enum swe_reason)r->stopped : SWE_WHY_UNFINISHED;
	}
	if (w->seen.cut || w->log.map.cut) {
		tamper(g, "flood", NULL, "more names than any test run has");
		return SWE_WHY_TAMPERING;
	}
	if (r->has_exit) {
		strlist_add(g->a, &g->v->checks, "exit");
		check_exit(g, w);
		if (g->broken)
			return SWE_WHY_EXIT_DISAGREES;
		if ((r->signal || r->exit != 0) && !any_bad(w))
			return SWE_WHY_EXIT_DISAGREES;
	}
	return g->broken ? SWE_WHY_TAMPERING : SWE_WHY_NONE;
}

/* ---- the verdict ---- */

/* It did not come to its end: a test that nobody saw may have been still to come. */
static bool is_cut(enum swe_reason why)
{
	return why >= SWE_WHY_UNFINISHED && why <= SWE_WHY_OUTPUT;
}

static void fail_all(struct swe_test *t, size_t n, enum swe_reason why)
{
	for (size_t i = 0; i < n; i++)
		if (t[i].ok || t[i].reason == SWE_WHY_NONE || (is_cut(why) && t[i].reason == SWE_WHY_MISSING)) {
			t[i].ok = false;
			t[i].reason = why;
		}
}

static void disbelieve(struct swe_verdict *v, enum swe_reason why)
{
	fail_all(v->f2p, v->f2p_n, why);
	fail_all(v->p2p, v->p2p_n, why);
	v->reason = why;
}

static bool contradicted(const struct swe_test *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (t[i].reason == SWE_WHY_LOG_DISAGREES || t[i].reason == SWE_WHY_LOG_SILENT)
			return true;
	return false;
}

static void conclude(struct swe_verdict *v)
{
	size_t n = v->f2p_n + v->p2p_n;
	bool kept;

	for (size_t i = 0; i < v->f2p_n; i++)
		v->f2p_ok += v->f2p[i].ok;
	for (size_t i = 0; i < v->p2p_n; i++)
		v->p2p_ok += v->p2p[i].ok;
	v->f2p_score = v->f2p_n ? (double)v->f2p_ok / (double)v->f2p_n : 1;
	v->p2p_score = v->p2p_n ? (double)v->p2p_ok / (double)v->p2p_n : 1;
	v->score = n ? (double)(v->f2p_ok + v->p2p_ok) / (double)n : 0;
	kept = v->gradable && v->p2p_ok == v->p2p_n;
	v->all_passed = v->resolved = kept && v->f2p_ok == v->f2p_n;
	v->resolution = v->resolved ? "RESOLVED_FULL" : kept && v->f2p_ok ? "RESOLVED_PARTIAL" : "RESOLVED_NO";
	if (!v->resolved && !v->reason)
		v->reason = contradicted(v->f2p, v->f2p_n) || contradicted(v->p2p, v->p2p_n) ? SWE_WHY_TAMPERING : SWE_WHY_FAILED;
	if (v->resolved)
		v->reason = SWE_WHY_NONE;
}

static bool all_ok(const struct swe_test *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!t[i].ok)
			return false;
	return true;
}

bool swe_tamper_fatal(const char *what)
{
	for (const char *const *f = fatal; *f; f++)
		if (strcmp(*f, what) == 0)
			return true;
	return false;
}

static void grade_run(struct grading *g, const struct swe_grade_in *in)
{
	struct swe_verdict *v = g->v;
	enum swe_reason why;
	struct view w;

	view_init(&w, in->run, g->a);
	v->trust = in->run->has_reporter ? "shared_interpreter" : "log_only";
	if (in->run->has_reporter && w.has_log)
		strlist_add(g->a, &v->checks, "log");
	/* The driver starts no tests without it. */
	if (in->run->has_reporter)
		strlist_add(g->a, &v->checks, "witness");
	count_run(v, &w);
	grade_list(g, &w, in->fail_to_pass, v->f2p, false);
	grade_list(g, &w, in->pass_to_pass, v->p2p, true);
	why = distrust(g, &w);
	if (why == SWE_WHY_EXIT_DISAGREES && !g->broken && all_ok(v->f2p, v->f2p_n) && all_ok(v->p2p, v->p2p_n))
		tamper(g, "exit_disagrees", NULL, arena_fmt(g->a, "the exit status is %d, although no test failed", in->run->exit));
	view_done(&w);
	if (in->canaries)
		strlist_add(g->a, &v->checks, "canary");
	for (size_t i = 0; i < in->tampering_n; i++)
		g->broken = g->broken || swe_tamper_fatal(in->tampering[i].what);
	g->broken = g->broken || in->fatal;
	if (why == SWE_WHY_NONE && (g->broken || (in->strict && v->tampering_n)))
		why = SWE_WHY_TAMPERING;
	if (why != SWE_WHY_NONE)
		disbelieve(v, why);
}

void swe_grade(struct swe_verdict *v, const struct swe_grade_in *in, struct arena *a)
{
	struct grading g = { .v = v, .a = a, .cap = in->tampering_n };

	*v = (struct swe_verdict){ .f2p_n = in->fail_to_pass->n, .p2p_n = in->pass_to_pass->n, .trust = "none" };
	v->gradable = v->f2p_n + v->p2p_n > 0;
	v->f2p = arena_alloc(a, (v->f2p_n + 1) * sizeof(*v->f2p));
	v->p2p = arena_alloc(a, (v->p2p_n + 1) * sizeof(*v->p2p));
	v->tampering = arena_alloc(a, (in->tampering_n + 1) * sizeof(*v->tampering));
	if (in->tampering_n)
		memcpy(v->tampering, in->tampering, in->tampering_n * sizeof(*v->tampering));
	v->tampering_n = in->tampering_n;
	for (size_t i = 0; i < v->f2p_n; i++)
		v->f2p[i].id = in->fail_to_pass->v[i];
	for (size_t i = 0; i < v->p2p_n; i++)
		v->p2p[i].id = in->pass_to_pass->v[i];
	if (!in->has_patch)
		disbelieve(v, SWE_WHY_NO_PATCH);
	else if (!in->applied)
		disbelieve(v, SWE_WHY_NOT_APPLIED);
	else if (!in->run)
		disbelieve(v, SWE_WHY_NOT_RUN);
	else
		grade_run(&g, in);
	conclude(v);
	if (!v->gradable)
		v->reason = SWE_WHY_NOT_GRADABLE;
}
