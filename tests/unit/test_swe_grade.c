/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts: every witness believed, contradicted and missing; the reports. */
#include "unit.h"

#include "grade/swe_frames.h"
#include "grade/swe_report.h"

static struct strlist f2p, p2p;
static struct arena arena;

static int setup(void **state)
{
	(void)state;
	static const char *f[] = { "a.py::new" }, *p[] = { "a.py::old", "a.py::other" };

	f2p = (struct strlist){ .v = f, .n = 1 };
	p2p = (struct strlist){ .v = p, .n = 2 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static struct swe_verdict grade(const struct swe_run *run, bool strict)
{
	struct swe_grade_in in = { .fail_to_pass = &f2p, .pass_to_pass = &p2p, .has_patch = true, .applied = true, .run = run, .strict = strict };
	struct swe_verdict v;

	swe_grade(&v, &in, &arena);
	return v;
}

static bool tampered(const struct swe_verdict *v, const char *what)
{
	for (size_t i = 0; i < v->tampering_n; i++)
		if (strcmp(v->tampering[i].what, what) == 0)
			return true;
	return false;
}

#define GOOD_LOG "PASSED a.py::new\nPASSED a.py::old\nPASSED a.py::other\n"

/* Outcomes of new, old and other as the reporter saw them. */
static struct swe_run run_of(enum swe_outcome a, enum swe_outcome b, enum swe_outcome c, const char *log, int exit)
{
	struct swe_result *r = arena_alloc(&arena, 3 * sizeof(*r));

	r[0] = (struct swe_result){ .id = "a.py::new", .outcome = a };
	r[1] = (struct swe_result){ .id = "a.py::old", .outcome = b };
	r[2] = (struct swe_result){ .id = "a.py::other", .outcome = c };
	return (struct swe_run){ .style = SWE_PYTEST, .has_reporter = true, .results = r, .n = 3, .log = log, .log_len = log ? strlen(log) : 0, .finished = true, .has_exit = true, .exit = exit };
}

TEST(rules)
{
	static const struct {
		enum swe_outcome out[3];
		const char *log;
		int exit;
		const char *resolution;
		enum swe_reason f, p; /* of new and of old */
		const char *tamper;
	} rows[] = {
		{ { SWE_PASSED, SWE_PASSED, SWE_PASSED }, GOOD_LOG, 0, "RESOLVED_FULL", SWE_WHY_NONE, SWE_WHY_NONE, NULL },
		{ { SWE_XFAIL, SWE_XFAIL, SWE_PASSED }, "XFAIL a.py::new\nXFAIL a.py::old\nPASSED a.py::other\n", 0, "RESOLVED_FULL", SWE_WHY_NONE, SWE_WHY_NONE, NULL },
		{ { SWE_PASSED, SWE_SKIPPED, SWE_PASSED }, "PASSED a.py::new\nPASSED a.py::other\n", 0, "RESOLVED_FULL", SWE_WHY_NONE, SWE_WHY_NONE, NULL },
		{ { SWE_SKIPPED, SWE_PASSED, SWE_PASSED }, "PASSED a.py::old\nPASSED a.py::other\n", 0, "RESOLVED_NO", SWE_WHY_SKIPPED, SWE_WHY_NONE, NULL },
		{ { SWE_MISSING, SWE_PASSED, SWE_PASSED }, "PASSED a.py::old\nPASSED a.py::other\n", 0, "RESOLVED_NO", SWE_WHY_MISSING, SWE_WHY_NONE, NULL },
		{ { SWE_PASSED, SWE_MISSING, SWE_PASSED }, "PASSED a.py::new\nPASSED a.py::other\n", 0, "RESOLVED_NO", SWE_WHY_NONE, SWE_WHY_MISSING, NULL },
		{ { SWE_PASSED, SWE_ERROR, SWE_PASSED }, "PASSED a.py::new\nERROR a.py::old\nPASSED a.py::other\n", 1, "RESOLVED_NO", SWE_WHY_NONE, SWE_WHY_ERROR, NULL },
		{ { SWE_XPASS, SWE_PASSED, SWE_PASSED }, "XPASS a.py::new\nPASSED a.py::old\nPASSED a.py::other\n", 0, "RESOLVED_NO", SWE_WHY_XPASS, SWE_WHY_NONE, NULL },
		/* one of the two lies */
		{ { SWE_PASSED, SWE_PASSED, SWE_PASSED }, "FAILED a.py::new - x\nPASSED a.py::old\nPASSED a.py::other\n", 0, "RESOLVED_NO", SWE_WHY_LOG_DISAGREES, SWE_WHY_NONE, "log_disagrees" },
		{ { SWE_PASSED, SWE_FAILED, SWE_PASSED }, GOOD_LOG, 1, "RESOLVED_NO", SWE_WHY_NONE, SWE_WHY_LOG_DISAGREES, "log_disagrees" },
		{ { SWE_MISSING, SWE_PASSED, SWE_PASSED }, GOOD_LOG, 0, "RESOLVED_NO", SWE_WHY_LOG_DISAGREES, SWE_WHY_NONE, "log_disagrees" },
		/* a forged line beside the true one */
		{ { SWE_PASSED, SWE_PASSED, SWE_PASSED }, "FAILED a.py::new\n" GOOD_LOG, 0, "RESOLVED_NO", SWE_WHY_LOG_DISAGREES, SWE_WHY_NONE, "log_disagrees" },
		{ { SWE_PASSED, SWE_PASSED, SWE_PASSED }, "PASSED a.py::old\nPASSED a.py::other\n", 0, "RESOLVED_NO", SWE_WHY_LOG_SILENT, SWE_WHY_NONE, "log_silent" },
		/* named, and nobody can tell how it ended */
		{ { SWE_PASSED, SWE_PASSED, SWE_PASSED }, "a.py::new PASS\nPASSED a.py::old\nPASSED a.py::other\n", 0, "RESOLVED_FULL", SWE_WHY_NONE, SWE_WHY_NONE, NULL },
		/* the exit status says otherwise */
		{ { SWE_PASSED, SWE_FAILED, SWE_PASSED }, "PASSED a.py::new\nFAILED a.py::old\nPASSED a.py::other\n", 0, "RESOLVED_NO", SWE_WHY_EXIT_DISAGREES, SWE_WHY_FAILED, "exit_disagrees" },
		{ { SWE_PASSED, SWE_PASSED, SWE_PASSED }, GOOD_LOG, 1, "RESOLVED_NO", SWE_WHY_EXIT_DISAGREES, SWE_WHY_EXIT_DISAGREES, "exit_disagrees" },
		{ { SWE_MISSING, SWE_MISSING, SWE_MISSING }, "", 1, "RESOLVED_NO", SWE_WHY_MISSING, SWE_WHY_MISSING, NULL },
		/* no log was kept: the reporter and the exit status are what there is */
		{ { SWE_PASSED, SWE_PASSED, SWE_PASSED }, NULL, 0, "RESOLVED_FULL", SWE_WHY_NONE, SWE_WHY_NONE, NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct swe_run r = run_of(rows[i].out[0], rows[i].out[1], rows[i].out[2], rows[i].log, rows[i].exit);
		struct swe_verdict v = grade(&r, false);

		ROW_OK(strcmp(v.resolution, rows[i].resolution) == 0 && v.resolved == (strcmp(v.resolution, "RESOLVED_FULL") == 0), "%zu: %s", i, v.resolution);
		ROW_OK(v.f2p[0].reason == rows[i].f && v.p2p[0].reason == rows[i].p, "%zu: %s %s", i, swe_reason_name(v.f2p[0].reason), swe_reason_name(v.p2p[0].reason));
		ROW_OK(rows[i].tamper ? tampered(&v, rows[i].tamper) : v.tampering_n == 0, "%zu", i);
		ROW_OK(v.resolved == !v.reason, "%zu", i);
		ROW_OK(!rows[i].tamper || v.reason == SWE_WHY_TAMPERING || v.reason == SWE_WHY_EXIT_DISAGREES, "%zu", i);
	}
}

TEST(partial)
{
	static const char *two[] = { "a.py::new", "a.py::other" }, *one[] = { "a.py::old" };
	struct swe_run r = run_of(SWE_PASSED, SWE_PASSED, SWE_FAILED, "PASSED a.py::new\nPASSED a.py::old\nFAILED a.py::other\n", 1);
	struct swe_verdict v;

	f2p = (struct strlist){ .v = two, .n = 2 };
	p2p = (struct strlist){ .v = one, .n = 1 };
	v = grade(&r, false);
	assert_string_equal(v.resolution, "RESOLVED_PARTIAL");
	assert_true(!v.resolved && v.f2p_ok == 1 && v.p2p_ok == 1 && v.f2p_score == 0.5 && v.p2p_score == 1 && v.passed == 2 && v.failed == 1);
	/* nothing to compare with */
	f2p.n = p2p.n = 0;
	v = grade(&r, false);
	assert_true(!v.gradable && !v.resolved && v.reason == SWE_WHY_NOT_GRADABLE);
	/* one list alone is enough */
	p2p.n = 1;
	v = grade(&r, false);
	assert_true(v.gradable && v.resolved);
}

TEST(whole_runs)
{
	struct swe_run good = run_of(SWE_PASSED, SWE_PASSED, SWE_PASSED, GOOD_LOG, 0), r = good;
	struct swe_tamper seen[] = { { .what = "runner_file", .path = "conftest.py", .action = "removed" }, { .what = "reporter" } };
	struct swe_grade_in in = { .fail_to_pass = &f2p, .pass_to_pass = &p2p, .has_patch = true, .applied = true, .run = &good, .tampering = seen, .tampering_n = 1 };
	struct swe_verdict v;

	r.finished = false;
	v = grade(&r, false);
	assert_true(!v.resolved && v.reason == SWE_WHY_UNFINISHED && v.f2p[0].reason == SWE_WHY_UNFINISHED);
	r = good;
	r.signal = 9;
	v = grade(&r, false);
	assert_true(!v.resolved && v.reason == SWE_WHY_UNFINISHED);
	/* put right before the tests: named only, unless that is to be strict */
	swe_grade(&v, &in, &arena);
	assert_true(v.resolved && v.tampering_n == 1);
	in.strict = true;
	swe_grade(&v, &in, &arena);
	assert_true(!v.resolved && v.reason == SWE_WHY_TAMPERING);
	in.strict = false;
	in.tampering_n = 2;
	swe_grade(&v, &in, &arena);
	assert_true(!v.resolved && v.reason == SWE_WHY_TAMPERING);
	in.tampering_n = 0;
	in.applied = false;
	swe_grade(&v, &in, &arena);
	assert_true(!v.resolved && v.reason == SWE_WHY_NOT_APPLIED && strcmp(v.trust, "none") == 0);
	in.has_patch = false;
	swe_grade(&v, &in, &arena);
	assert_true(v.reason == SWE_WHY_NO_PATCH && v.p2p[0].reason == SWE_WHY_NO_PATCH);
	/* a log alone */
	r = (struct swe_run){ .style = SWE_PYTEST, .log = GOOD_LOG, .log_len = strlen(GOOD_LOG) };
	v = grade(&r, false);
	assert_true(v.resolved && strcmp(v.trust, "log_only") == 0 && v.passed == 3);
	r.has_exit = true;
	r.exit = 1;
	v = grade(&r, false);
	assert_true(!v.resolved && v.reason == SWE_WHY_EXIT_DISAGREES);
}

/* The product can turn a failure into an expected one: only the test's own source may say so, and only for tests that must get better. */
TEST(expected_failures)
{
	static const char *one[] = { "a.py::new" };
	struct strlist none = { 0 }, marked = { .v = one, .n = 1 };
	struct swe_run run = run_of(SWE_XFAIL, SWE_XFAIL, SWE_PASSED, "XFAIL a.py::new\nXFAIL a.py::old\nPASSED a.py::other\n", 0);
	struct swe_verdict v;

	run.marked = &marked;
	v = grade(&run, false);
	assert_true(v.resolved);
	run.marked = &none;
	v = grade(&run, false);
	assert_true(!v.resolved && v.f2p[0].reason == SWE_WHY_XFAIL && v.p2p[0].ok);
}

TEST(docstrings)
{
	static const char *f[] = { "Says what." }, *p[] = { "test_b (m.C)" };
	struct swe_result r[] = { { .id = "test_a (m.C)", .str = "test_a (m.C.test_a)", .doc = "\n   Says what.\n\n   More.", .outcome = SWE_PASSED },
				  { .id = "test_b (m.C)", .outcome = SWE_PASSED } };
	struct swe_run run = { .style = SWE_DJANGO, .has_reporter = true, .results = r, .n = 2, .finished = true, .has_exit = true };
	struct swe_verdict v;

	f2p = (struct strlist){ .v = f, .n = 1 };
	p2p = (struct strlist){ .v = p, .n = 1 };
	run.log = "test_a (m.C.test_a)\nSays what. ... ok\ntest_b (m.C.test_b) ... ok\n";
	run.log_len = strlen(run.log);
	v = grade(&run, false);
	assert_true(v.resolved);
	run.log = "test_a (m.C.test_a)\nSays what. ... FAIL\ntest_b (m.C.test_b) ... ok\n";
	run.log_len = strlen(run.log);
	v = grade(&run, false);
	assert_true(!v.resolved && v.f2p[0].reason == SWE_WHY_LOG_DISAGREES);
	/* a docstring that looks a little like a name */
	f[0] = "Foo (bar) works (m.C)";
	r[0].doc = "Foo (bar) works (m.C)";
	run.log = "test_a (m.C.test_a)\nFoo (bar) works (m.C) ... ok\ntest_b (m.C.test_b) ... ok\n";
	run.log_len = strlen(run.log);
	v = grade(&run, false);
	assert_true(v.resolved);
	f[0] = r[0].doc = "Foo (bar)";
	run.log = "test_a (m.C.test_a)\nFoo (bar) ... noise\nok\ntest_b (m.C.test_b) ... ok\n";
	run.log_len = strlen(run.log);
	v = grade(&run, false);
	assert_true(v.resolved);
}

TEST(junk_and_truncated)
{
	static const char *f[] = { "a.py::t[x y" }, *p[] = { "[100%]" };
	struct swe_result r[] = { { .id = "a.py::t[x y z]", .outcome = SWE_PASSED }, { .id = "a.py::t[x y w]", .outcome = SWE_PASSED } };
	struct swe_run run = { .style = SWE_PYTEST, .has_reporter = true, .results = r, .n = 2, .finished = true, .has_exit = true };
	struct swe_verdict v;

	f2p = (struct strlist){ .v = f, .n = 1 };
	p2p = (struct strlist){ .v = p, .n = 1 };
	run.log = "PASSED [100%]\nPASSED a.py::t[x y z]\nPASSED a.py::t[x y w]\n";
	run.log_len = strlen(run.log);
	v = grade(&run, false);
	assert_true(v.resolved);
	/* a reason that some parsers take for a part of the name */
	f2p = (struct strlist){ .v = (const char *[]){ "a.py::t[x y w] - why - not" }, .n = 1 };
	r[1].outcome = SWE_XFAIL;
	run.log = "PASSED [100%]\nPASSED a.py::t[x y z]\nXFAIL a.py::t[x y w] - why - not\n";
	run.log_len = strlen(run.log);
	v = grade(&run, false);
	assert_true(v.resolved);
	f2p = (struct strlist){ .v = f, .n = 1 };
	r[1].outcome = SWE_FAILED;
	run.exit = 1;
	run.log = "PASSED [100%]\nPASSED a.py::t[x y z]\nFAILED a.py::t[x y w]\n";
	run.log_len = strlen(run.log);
	v = grade(&run, false);
	assert_true(!v.resolved && v.f2p[0].reason == SWE_WHY_FAILED && v.p2p[0].ok);
}

TEST(rounds)
{
	static const char *const fatal[] = { "canary_passed", "canary_xfail", "canary_skipped", "canary_missing", "canary_elsewhere", "canary_exit", "original_unsteady", "round_unfinished" };
	struct swe_run run = run_of(SWE_PASSED, SWE_PASSED, SWE_PASSED, GOOD_LOG, 0);
	struct swe_grade_in in = { .fail_to_pass = &f2p, .pass_to_pass = &p2p, .has_patch = true, .applied = true, .run = &run, .canaries = true };
	struct swe_verdict v;

	swe_grade(&v, &in, &arena);
	assert_true(v.resolved);
	assert_string_equal(v.checks.v[v.checks.n - 1], "canary");
	for (size_t i = 0; i < COUNT(fatal); i++) {
		struct swe_tamper seen = { .what = fatal[i], .path = "a.py::new", .action = "seen" };

		in.tampering = &seen;
		in.tampering_n = 1;
		swe_grade(&v, &in, &arena);
		ROW_OK(!v.resolved && v.reason == SWE_WHY_TAMPERING && tampered(&v, fatal[i]), "%s", fatal[i]);
	}
}

TEST(reports)
{
	struct swe_run r = run_of(SWE_PASSED, SWE_FAILED, SWE_PASSED, "PASSED a.py::new\nFAILED a.py::old\nPASSED a.py::other\n", 1);
	struct swe_verdict v = grade(&r, false);
	struct swe_prediction p = { .instance_id = "x__y-1", .model = "bad \xff name", .patch = NULL };
	json_t *report = swe_report_instance("x__y-1", &p, true, &v), *o = swe_report_inner(report);
	char *text = swe_report_text(report);

	assert_true(json_is_true(json_object_get(o, "patch_is_None")) && json_is_false(json_object_get(o, "patch_exists")) && json_is_false(json_object_get(o, "resolved")));
	assert_non_null(strstr(text, "\"a.py::old\": \"failed\""));
	assert_non_null(strstr(text, "\"FAIL_TO_FAIL\""));
	assert_int_equal(text[strlen(text) - 1], '\n');
	free(text);
	json_decref(report);
}

TEST(run_report)
{
	struct swe_instance list[] = { { .id = "c" }, { .id = "b" }, { .id = "a" }, { .id = "d" }, { .id = "e" } };
	struct swe_instances t = { .v = list, .n = 5 };
	struct swe_prediction preds[] = { { .instance_id = "c", .model = "m", .instance = &list[0] }, { .instance_id = "b", .model = "m", .instance = &list[1] },
					  { .instance_id = "a", .model = "m", .instance = &list[2] }, { .instance_id = "d", .model = "m", .instance = &list[3] },
					  { .instance_id = "e", .model = "other", .instance = &list[4] } };
	struct swe_predictions p = { .v = preds, .n = 5 };
	static const enum swe_state states[] = { SWE_RESOLVED, SWE_UNRESOLVED, SWE_RESOLVED, SWE_EMPTY, SWE_FAILED_TO_RUN };
	json_t *o = swe_report_run(&t, &p, "m", states), *want;

	want = json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:[sss], s:[s], s:[s], s:[ssss], s:[ss], s:[s], s:[], s:i, s:s}", "total_instances", 5, "submitted_instances", 4,
			 "completed_instances", 3, "resolved_instances", 2, "unresolved_instances", 1, "empty_patch_instances", 1, "error_instances", 0, "completed_ids", "a", "b", "c",
			 "incomplete_ids", "e", "empty_patch_ids", "d", "submitted_ids", "a", "b", "c", "d", "resolved_ids", "a", "c", "unresolved_ids", "b", "error_ids", "schema_version", 2,
			 "model_name_or_path", "m");
	assert_non_null(want);
	assert_true(json_equal(o, want));
	json_decref(o);
	json_decref(want);
}

#define APPLY "{\"t\":\"apply\",\"outcome\":\"applied\"}"
#define READY "{\"t\":\"ready\",\"marked\":[\"a.py::other\"]}"
#define PASS(id) "{\"t\":\"test\",\"id\":\"" id "\",\"outcome\":\"passed\"}"
#define OUT "{\"t\":\"out\",\"data\":\"PASSED a.py::new\\nPASSED a.py::old\\nPASSED a.py::other\\n\"}"
#define ALL PASS("a.py::new"), PASS("a.py::old"), PASS("a.py::other")
#define FINISH "{\"t\":\"finish\",\"counts\":{\"passed\":3}}"
#define END "{\"t\":\"tests_end\",\"exit\":0,\"signal\":null,\"children_left\":0}"

TEST(sessions)
{
	static const struct {
		const char *said[12];
		bool resolved, bad;
		enum swe_reason reason;
	} rows[] = {
		{ { APPLY, READY, OUT, ALL, FINISH, END }, true, false, SWE_WHY_NONE },
		{ { APPLY, "{\"t\":\"tampering\",\"what\":\"runner_file\",\"path\":\"conftest.py\"}", READY, ALL, OUT, FINISH, END }, true, false, SWE_WHY_NONE },
		{ { APPLY, READY, OUT, ALL, FINISH, "{\"t\":\"tampering\",\"what\":\"reporter\"}", END }, false, false, SWE_WHY_TAMPERING },
		{ { APPLY, READY, OUT, ALL, PASS("a.py::more"), FINISH, END }, false, false, SWE_WHY_TAMPERING },
		{ { APPLY, READY, OUT, ALL, "{\"t\":\"finish\",\"exit\":1}", END }, false, false, SWE_WHY_TAMPERING },
		/* not to the end */
		{ { APPLY, READY, OUT, ALL, END }, false, false, SWE_WHY_UNFINISHED },
		{ { APPLY, READY, OUT, ALL, FINISH }, false, false, SWE_WHY_UNFINISHED },
		{ { APPLY, READY, OUT, ALL, FINISH, "{\"t\":\"tests_end\",\"exit\":null,\"signal\":null}" }, false, false, SWE_WHY_UNFINISHED },
		{ { APPLY, READY, OUT, ALL, FINISH, "{\"t\":\"tests_end\",\"exit\":null,\"signal\":9}" }, false, false, SWE_WHY_UNFINISHED },
		/* out of order, after the end, none at all */
		{ { APPLY, READY, OUT, ALL, FINISH, END, PASS("a.py::late") }, false, true, SWE_WHY_UNFINISHED },
		{ { APPLY, READY, OUT, "{\"t\":\"finish\"}", ALL, END }, false, true, SWE_WHY_UNFINISHED },
		{ { APPLY, ALL, READY, OUT, FINISH, END }, false, true, SWE_WHY_UNFINISHED },
		{ { APPLY, READY, OUT, ALL, FINISH, END, END }, false, true, SWE_WHY_UNFINISHED },
		{ { APPLY, APPLY, READY, OUT, ALL, FINISH, END }, false, true, SWE_WHY_UNFINISHED },
		{ { APPLY, READY, OUT, ALL, "[]", FINISH, END }, false, true, SWE_WHY_UNFINISHED },
		{ { APPLY, READY, OUT, ALL, "{\"t\":\"test\",\"id\":\"x\",\"outcome\":\"good\"}", FINISH, END }, false, true, SWE_WHY_UNFINISHED },
		{ { "{\"t\":\"apply\",\"outcome\":\"rejected\"}" }, false, false, SWE_WHY_NOT_APPLIED },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct swe_session s;
		struct swe_grade_in in = { .fail_to_pass = &f2p, .pass_to_pass = &p2p, .has_patch = true };
		struct swe_verdict v;
		struct swe_run run;

		swe_session_init(&s);
		for (size_t k = 0; k < COUNT(rows[i].said) && rows[i].said[k]; k++) {
			size_t n = strlen(rows[i].said[k]);
			char head[4] = { (char)n, (char)(n >> 8), 0, 0 };

			swe_session_add(&s, head, 4);
			swe_session_add(&s, rows[i].said[k], 3);
			swe_session_add(&s, rows[i].said[k] + 3, n - 3);
		}
		swe_session_run(&s, SWE_PYTEST, true, &run);
		in.run = &run;
		in.applied = s.applied;
		in.tampering = s.tampering;
		in.tampering_n = s.tampering_n;
		swe_grade(&v, &in, &arena);
		ROW_OK(v.resolved == rows[i].resolved && v.reason == rows[i].reason && s.bad == rows[i].bad, "%zu: %d %s %d", i, v.resolved, swe_reason_name(v.reason), s.bad);
		ROW_OK(!s.bad || tampered(&v, "frames"), "%zu", i);
		/* The kernel has the last word. */
		swe_session_run(&s, SWE_PYTEST, false, &run);
		swe_grade(&v, &in, &arena);
		ROW_OK(!v.resolved, "%zu", i);
		swe_session_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rules, setup, teardown),	 cmocka_unit_test_setup_teardown(partial, setup, teardown),
		cmocka_unit_test_setup_teardown(whole_runs, setup, teardown), cmocka_unit_test_setup_teardown(expected_failures, setup, teardown),
		cmocka_unit_test_setup_teardown(docstrings, setup, teardown), cmocka_unit_test_setup_teardown(junk_and_truncated, setup, teardown),
		cmocka_unit_test_setup_teardown(rounds, setup, teardown), cmocka_unit_test_setup_teardown(reports, setup, teardown),
		cmocka_unit_test(run_report),
		cmocka_unit_test_setup_teardown(sessions, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
