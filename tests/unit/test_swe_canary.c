/* SPDX-License-Identifier: Apache-2.0 */
/* Derived canaries: plans read, files written, versions tried and drawn, rounds judged. */
#include "unit.h"

#include "grade/swe_canary.h"

static struct arena arena;

/* Two functions in one file: one with an original and three variants, one with an original and one variant. */
static const char plan_text[] =
	"{\"files\": [{\"path\": \"t.py\", \"pieces\": [\"import p\\n\\n\", 0, \"\\n\", 1, \"# end\\n\"]}],"
	" \"slots\": [{\"name\": \"test_a\", \"path\": \"t.py\", \"text\": \"def test_a(): VERBATIM\\n\", \"f2p\": true, \"tests\": [\"t.py::test_a[1]\", \"t.py::test_a[2]\"], \"versions\": ["
	"  {\"kind\": \"original\", \"strength\": \"original\", \"pre\": \"def \", \"post\": \"(x):\\n    y = p.f(x)\\n    assert y == x\\n\", \"from\": 0, \"to\": 0},"
	"  {\"kind\": \"const\", \"strength\": \"hidden_hot\", \"safe\": true, \"pre\": \"def \", \"post\": \"(x):\\n    y = p.f(x)\\n    assert y == 7\\n\", \"from\": 3, \"to\": 3},"
	"  {\"kind\": \"swap\", \"strength\": \"hidden\", \"pre\": \"def \", \"post\": \"(x):\\n    y = p.f(8)\\n    assert y == x\\n\", \"from\": 2, \"to\": 2},"
	"  {\"kind\": \"neg\", \"strength\": \"open\", \"safe\": true, \"pre\": \"def \", \"post\": \"(x):\\n    y = p.f(x)\\n    assert not y == x\\n\", \"from\": 3, \"to\": 3}]},"
	"  {\"name\": \"test_b\", \"path\": \"t.py\", \"text\": \"def test_b(): VERBATIM\\n\", \"f2p\": false, \"tests\": [\"t.py::test_b\"], \"versions\": ["
	"  {\"kind\": \"original\", \"strength\": \"original\", \"pre\": \"def \", \"post\": \"():\\n    assert p.g() == 1\\n\", \"from\": 0, \"to\": 0},"
	"  {\"kind\": \"const\", \"strength\": \"hidden\", \"pre\": \"def \", \"post\": \"():\\n    assert p.g() == 2\\n\", \"from\": 2, \"to\": 2}]}]}";

static const char tests_text[] = "[{\"id\": \"t.py::test_a[1]\", \"def\": \"t.py:3:test_a\", \"f2p\": true, \"gold\": \"passed\"},"
				 " {\"id\": \"t.py::test_a[2]\", \"def\": \"t.py:3:test_a\", \"f2p\": true, \"gold\": \"passed\"},"
				 " {\"id\": \"t.py::test_b\", \"def\": \"t.py:7:test_b\", \"f2p\": false, \"gold\": \"passed\"}]";

static void make_plan(struct canary_plan *p, double seconds)
{
	json_t *tests = json_loads(tests_text, 0, NULL), *reply = json_loads(plan_text, 0, NULL);
	struct swe_result took = { .id = "t.py::test_a[1]", .outcome = SWE_PASSED, .ms = (long)(seconds * 1000) };
	struct swe_run gold = { .results = &took, .n = 1 };
	struct err e = { 0 };

	assert_true(tests && reply);
	assert_int_equal(canary_read(p, canary_source(tests, reply, &gold), &e), 0);
	json_decref(tests);
}

static struct swe_result result(const char *id, enum swe_outcome o, const char *where)
{
	return (struct swe_result){ .id = id, .outcome = o, .where = where, .def = "t.py:3:test" };
}

static struct swe_run run_of(const struct swe_result *r, size_t n, int exit)
{
	return (struct swe_run){ .style = SWE_PYTEST, .has_reporter = true, .results = r, .n = n, .finished = true, .has_exit = true, .exit = exit };
}

/* With all versions in one file: test_a is at lines 3, 6, 9 and 12 with its copies, test_b at 16 and 18. */
static void calibrate(struct canary_plan *p)
{
	const struct swe_result r[] = {
		result("t.py::test_a[1]", SWE_PASSED, NULL),	    result("t.py::test_a[2]", SWE_PASSED, NULL),
		result("t.py::test_a_Q01[1]", SWE_FAILED, "t.py:8"), result("t.py::test_a_Q01[2]", SWE_PASSED, NULL),
		result("t.py::test_a_Q02[1]", SWE_FAILED, "t.py:11"), result("t.py::test_a_Q02[2]", SWE_FAILED, "other.py:10\nt.py:10\np.py:3"),
		result("t.py::test_a_Q03[1]", SWE_FAILED, "t.py:14"), result("t.py::test_a_Q03[2]", SWE_ERROR, "t.py:14"),
		result("t.py::test_b", SWE_PASSED, NULL),	    result("t.py::test_b_Q01", SWE_PASSED, NULL),
	};
	struct swe_run run = run_of(r, COUNT(r), 1);
	unsigned lines[8] = { 0 };
	json_t *files = canary_files_all(p, "_Q", lines);
	struct err e = { 0 };

	assert_int_equal(lines[0], 3);
	assert_int_equal(lines[1], 6);
	assert_int_equal(lines[3], 12);
	assert_int_equal(lines[4], 16);
	assert_int_equal(lines[5], 18);
	json_decref(files);
	assert_int_equal(canary_calibrate(p, &run, "_Q", lines, &e), 0);
}

TEST(files)
{
	unsigned char choice[] = { 1, CANARY_VERBATIM };
	struct canary_plan p;
	unsigned lines[8] = { 0 };
	json_t *o;

	make_plan(&p, 1);
	o = canary_files(&p, choice, lines);
	assert_string_equal(json_string_value(json_object_get(o, "t.py")),
			    "import p\n\ndef test_a(x):\n    y = p.f(x)\n    assert y == 7\n\ndef test_b(): VERBATIM\n# end\n");
	assert_int_equal(lines[1], 3);
	json_decref(o);
	o = canary_files_all(&p, "_Q", lines);
	assert_non_null(strstr(json_string_value(json_object_get(o, "t.py")), "def test_a(x):"));
	assert_non_null(strstr(json_string_value(json_object_get(o, "t.py")), "def test_a_Q03(x):"));
	json_decref(o);
	canary_done(&p);
}

TEST(calibration)
{
	static const char *listed[] = { "t.py::test_a[1]", "t.py::test_a[2]", "t.py::unknown" };
	struct strlist f2p = { .v = listed, .n = 2 };
	struct canary_plan p;
	struct err e = { 0 };
	json_t *o;

	make_plan(&p, 1);
	calibrate(&p);
	assert_true(p.calibrated);
	/* the first fails for [1] only, the second where nothing was planted for [1] */
	assert_true(p.slots[0].versions[1].must[0] && !p.slots[0].versions[1].must[1]);
	assert_true(!p.slots[0].versions[2].must[0] && p.slots[0].versions[2].must[1]);
	assert_true(p.slots[0].versions[3].must[0] && p.slots[0].versions[3].must[1]);
	assert_true(p.tests[0].strength == CANARY_HIDDEN_HOT && p.tests[1].strength == CANARY_HIDDEN && p.tests[2].strength == CANARY_NONE);
	/* a variant that passes with the gold patch is never used */
	assert_true(!p.slots[1].versions[1].usable && p.slots[1].versions[0].usable);
	o = canary_report(&p, SWE_PYTEST, &f2p);
	assert_string_equal(json_string_value(json_object_get(o, "weakest")), "hidden");
	json_decref(o);
	f2p.n = 3;
	o = canary_report(&p, SWE_PYTEST, &f2p);
	assert_string_equal(json_string_value(json_object_get(o, "weakest")), "none");
	json_decref(o);
	canary_done(&p);
	/* without a gold patch only the safe ones */
	make_plan(&p, 1);
	assert_int_equal(canary_calibrate(&p, NULL, "", NULL, &e), 0);
	assert_true(p.slots[0].versions[1].usable && !p.slots[0].versions[2].usable && p.slots[0].versions[3].usable && !p.slots[1].versions[1].usable);
	canary_done(&p);
}

/* An original that does not pass with the gold patch: its function stays as it stands in the file. */
TEST(broken_original)
{
	const struct swe_result r[] = { result("t.py::test_a[1]", SWE_FAILED, "t.py:4"), result("t.py::test_b", SWE_PASSED, NULL), result("t.py::test_b_Q01", SWE_FAILED, "t.py:19") };
	struct swe_run run = run_of(r, COUNT(r), 1);
	unsigned char choice[SWE_ROUNDS * 2];
	struct canary_plan p;
	unsigned lines[8] = { 0 };
	struct err e = { 0 };

	make_plan(&p, 1);
	json_decref(canary_files_all(&p, "_Q", lines));
	assert_int_equal(canary_calibrate(&p, &run, "_Q", lines, &e), 0);
	assert_true(p.tests[0].strength == CANARY_NONE && p.tests[2].strength == CANARY_HIDDEN);
	canary_draw(&p, choice, SWE_ROUNDS);
	for (size_t i = 0; i < SWE_ROUNDS; i++)
		assert_true(choice[i * 2] == CANARY_VERBATIM && choice[i * 2 + 1] <= 1);
	canary_done(&p);
}

TEST(draws)
{
	size_t first[4] = { 0 };
	struct canary_plan p;

	make_plan(&p, SWE_SLOW_S + 1);
	assert_int_equal(canary_rounds(&p), SWE_ROUNDS_SLOW);
	canary_done(&p);
	make_plan(&p, 1);
	assert_int_equal(canary_rounds(&p), SWE_ROUNDS);
	calibrate(&p);
	for (int n = 0; n < 200; n++) {
		unsigned char choice[SWE_ROUNDS * 2];
		size_t count[4] = { 0 };

		canary_draw(&p, choice, SWE_ROUNDS);
		for (size_t i = 0; i < SWE_ROUNDS; i++) {
			assert_true(choice[i * 2] < 4 && choice[i * 2 + 1] == 0);
			count[choice[i * 2]]++;
		}
		/* two originals, and each variant */
		assert_true(count[0] == 2 && count[1] && count[2] && count[3]);
		first[choice[0]]++;
	}
	/* Which one comes first is left to chance: none of four is missing in 200 draws. */
	for (size_t i = 0; i < 4; i++)
		assert_true(first[i] > 0);
	canary_done(&p);
}

TEST(judging)
{
	static const struct {
		unsigned char choice;
		enum swe_outcome one, two; /* of test_a[1] and [2] */
		const char *where;	   /* of both */
		int exit;
		bool finished;
		const char *found; /* NULL: as it must be */
	} rows[] = {
		{ 0, SWE_PASSED, SWE_PASSED, NULL, 0, true, NULL },
		{ 0, SWE_PASSED, SWE_FAILED, "t.py:5", 1, true, "original_unsteady" },
		{ 0, SWE_XFAIL, SWE_PASSED, NULL, 0, true, "original_unsteady" },
		{ 0, SWE_SKIPPED, SWE_PASSED, NULL, 0, true, "original_unsteady" },
		{ 0, SWE_PASSED, SWE_MISSING, NULL, 0, true, "original_unsteady" },
		{ 0, SWE_PASSED, SWE_PASSED, NULL, 0, false, "round_unfinished" },
		/* planted in line 3 of the function, which begins at line 3; [2] need not fail */
		{ 1, SWE_FAILED, SWE_PASSED, "p.py:9\nt.py:5", 1, true, NULL },
		{ 1, SWE_FAILED, SWE_FAILED, "t.py:5", 1, true, NULL },
		{ 1, SWE_FAILED, SWE_PASSED, "t.py:4", 1, true, "canary_elsewhere" },
		{ 1, SWE_FAILED, SWE_PASSED, "xt.py:5\nt.py:51\nt.py5", 1, true, "canary_elsewhere" },
		{ 1, SWE_FAILED, SWE_PASSED, NULL, 1, true, "canary_elsewhere" },
		{ 1, SWE_PASSED, SWE_PASSED, "t.py:5", 0, true, "canary_passed" },
		{ 1, SWE_XFAIL, SWE_PASSED, "t.py:5", 0, true, "canary_xfail" },
		{ 1, SWE_SKIPPED, SWE_PASSED, "t.py:5", 0, true, "canary_skipped" },
		{ 1, SWE_MISSING, SWE_PASSED, "t.py:5", 0, true, "canary_missing" },
		{ 1, SWE_FAILED, SWE_PASSED, "t.py:5", 0, true, "canary_exit" },
		{ 3, SWE_FAILED, SWE_PASSED, "t.py:5", 1, true, "canary_passed" },
		{ 3, SWE_FAILED, SWE_ERROR, "t.py:5", 1, true, NULL },
	};
	struct canary_plan p;

	make_plan(&p, 1);
	calibrate(&p);
	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned char choice[] = { rows[i].choice, 0 };
		struct swe_result r[3] = { result("t.py::test_b", SWE_PASSED, NULL) };
		struct swe_run run = run_of(r, 1, rows[i].exit);
		struct swe_tamper *found;
		unsigned lines[8] = { 0 };
		bool seen = false;
		size_t n;

		if (rows[i].one != SWE_MISSING)
			r[run.n++] = result("t.py::test_a[1]", rows[i].one, rows[i].where);
		if (rows[i].two != SWE_MISSING)
			r[run.n++] = result("t.py::test_a[2]", rows[i].two, rows[i].where);
		run.finished = rows[i].finished;
		json_decref(canary_files(&p, choice, lines));
		n = canary_judge(&p, choice, lines, &run, &found, &arena);
		for (size_t k = 0; rows[i].found && k < n; k++)
			seen = seen || strcmp(found[k].what, rows[i].found) == 0;
		ROW_OK(rows[i].found ? seen : n == 0, "%zu: %zu %s", i, n, n ? found[0].what : "");
		for (size_t k = 0; k < n; k++)
			ROW_OK(swe_tamper_fatal(found[k].what), "%s", found[k].what);
	}
	assert_true(canary_may_be_chance("original_unsteady") && !canary_may_be_chance("canary_passed") && !canary_may_be_chance("canary_xfail"));
	canary_done(&p);
	arena_free(&arena);
}

/* A test that is reported twice counts with its worse outcome for an original, and may not hide a variant's pass. */
TEST(reported_twice)
{
	struct swe_result r[] = { result("t.py::test_a[1]", SWE_FAILED, "t.py:5"), result("t.py::test_a[1]", SWE_PASSED, NULL), result("t.py::test_a[2]", SWE_PASSED, NULL),
				  result("t.py::test_b", SWE_PASSED, NULL) };
	struct swe_run run = run_of(r, COUNT(r), 0);
	unsigned char choice[] = { 0, 0 };
	unsigned lines[8] = { 0 };
	struct swe_tamper *found;
	struct canary_plan p;

	make_plan(&p, 1);
	calibrate(&p);
	json_decref(canary_files(&p, choice, lines));
	assert_int_equal(canary_judge(&p, choice, lines, &run, &found, &arena), 1);
	assert_string_equal(found[0].what, "original_unsteady");
	choice[0] = 1;
	run.exit = 1;
	json_decref(canary_files(&p, choice, lines));
	assert_int_equal(canary_judge(&p, choice, lines, &run, &found, &arena), 1);
	assert_string_equal(found[0].what, "canary_passed");
	canary_done(&p);
	arena_free(&arena);
}

TEST(requests)
{
	static const char *listed[] = { "test_x (m.C)", "Says what it does." };
	static const char *sampled[] = { "test_z (m.C)", "test_slow (m.C)", "test_bad (m.C)" };
	struct strlist f2p = { .v = listed, .n = 2 }, more = { .v = sampled, .n = 3 };
	struct swe_result base[] = { { .id = "test_x (m.C)", .outcome = SWE_FAILED, .def = "m.py:4:C.test_x", .where = "m.py:6", .value = "41" } };
	struct swe_result gold[] = { { .id = "test_x (m.C)", .outcome = SWE_PASSED, .def = "m.py:4:C.test_x" },
				     { .id = "test_y (m.C)", .doc = "Says what it does.", .outcome = SWE_PASSED, .def = "m.py:9:C.test_y" },
				     { .id = "test_z (m.C)", .outcome = SWE_PASSED, .def = "m.py:12:C.test_z", .ms = 10 },
				     { .id = "test_slow (m.C)", .outcome = SWE_PASSED, .def = "m.py:15:C.test_slow", .ms = 5000 },
				     { .id = "test_other (m.C)", .outcome = SWE_PASSED, .def = "m.py:17:C.test_other" },
				     { .id = "test_bad (m.C)", .outcome = SWE_FAILED, .def = "m.py:18:C.test_bad" } };
	struct swe_run b = run_of(base, 1, 1), g = run_of(gold, COUNT(gold), 1);
	json_t *o;

	b.style = g.style = SWE_DJANGO;
	o = canary_request(&b, &g, &f2p, &more, 2000);
	assert_int_equal(json_array_size(o), 3);
	assert_string_equal(json_string_value(json_object_get(json_array_get(o, 0), "where")), "m.py:6");
	assert_string_equal(json_string_value(json_object_get(json_array_get(o, 0), "value")), "41");
	assert_true(json_is_true(json_object_get(json_array_get(o, 1), "f2p")) && json_is_false(json_object_get(json_array_get(o, 2), "f2p")));
	json_decref(o);
	/* no gold patch: what was seen before, or the names alone */
	o = canary_request(&b, NULL, &f2p, NULL, 2000);
	assert_int_equal(json_array_size(o), 1);
	json_decref(o);
	b.n = 0;
	o = canary_request(&b, NULL, &f2p, NULL, 2000);
	assert_int_equal(json_array_size(o), 2);
	json_decref(o);
}

TEST(bad_plans)
{
	static const char *const rows[] = {
		"{}",
		"{\"files\": [], \"slots\": {}, \"tests\": []}",
		"{\"files\": [], \"slots\": [{}], \"tests\": []}",
		"{\"files\": [], \"slots\": [], \"tests\": [{\"id\": 3}]}",
		"{\"files\": [], \"slots\": [{\"name\": \"a\", \"path\": \"b\", \"text\": \"\", \"versions\": []}], \"tests\": []}",
		"{\"files\": [], \"slots\": [{\"name\": \"a\", \"path\": \"b\", \"text\": \"\", \"versions\": [{\"strength\": \"hidden\", \"pre\": \"\", \"post\": \"\"}]}], \"tests\": []}",
		"{\"files\": [], \"slots\": [{\"name\": \"a\", \"path\": \"b\", \"text\": \"\", \"versions\": [{\"strength\": \"original\"}]}], \"tests\": []}",
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct canary_plan p;
		struct err e = { 0 };

		ROW_OK(canary_read(&p, json_loads(rows[i], 0, NULL), &e) < 0 && e.msg[0], "%zu", i);
		canary_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files),    cmocka_unit_test(calibration),    cmocka_unit_test(broken_original), cmocka_unit_test(draws),
		cmocka_unit_test(judging), cmocka_unit_test(reported_twice), cmocka_unit_test(requests),	     cmocka_unit_test(bad_plans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
