/* SPDX-License-Identifier: Apache-2.0 */
/* Names of tests, and what logs of real runners (pytest 7.2, Python 3.11, django 5.0, sympy 1.12) say about them. */
#include "unit.h"

#include "grade/swe_log.h"

struct row {
	const char *id;
	enum swe_outcome outcome;
};

static void check(enum swe_style style, const char *suffix, const char *text, const struct row *rows, size_t n)
{
	struct arena a = { 0 };
	struct swe_log l;

	swe_log_parse(&l, style, text, strlen(text), suffix, &a);
	for (size_t i = 0; i < n; i++) {
		enum swe_outcome got = swe_map_outcome(&l.map, swe_name_canon(style, span_of(rows[i].id), &a), false);

		ROW_OK(got == rows[i].outcome, "%s: %s", rows[i].id, swe_outcome_name(got));
	}
	swe_log_done(&l);
	arena_free(&a);
}

static const char ra[] =
	"============ PASSES ============\n"
	"----- Captured stdout call -----\n"
	"PASSED test_a.py::test_fail\n"
	"=== short test summary info ===\n"
	"PASSED test_a.py::test_p[a b]\n"
	"PASSED test_a.py::test_p[c::d]\n"
	"PASSED test_a.py::test_p[\\xfc]\n"
	"PASSED test_a.py::test_p[log(photon - x]\n"
	"PASSED test_a.py::test_p[/tmp/a/b.txt]\n"
	"PASSED test_a.py::test_p[a]]\n"
	"PASSED test_a.py::test_p[]\n"
	"PASSED test_a.py::test_teardown\n"
	"PASSED [100%]\n"
	"SKIPPED [1] test_a.py:9: why\n"
	"XFAIL test_a.py::test_xf - known - bug\n"
	"XFAIL test_a.py::TestU::test_ef - reason: \n"
	"XPASS test_a.py::test_xp \n"
	"ERROR test_bad.py\n"
	"ERROR test_a.py::test_teardown - ValueError: no - way\n"
	"FAILED test_a.py::test_p[[x]] - AssertionError: assert '[x]' != '[x]'\n"
	"FAILED test_a.py::test_q[a - b] - Exception: [\n"
	"FAILED test_a.py::test_fail - AssertionError: a - b\n"
	"PASSEDtest_a.py::test_glued\n"
	"FAILED\n";

TEST(pytest_summary)
{
	static const struct row rows[] = {
		/* a forged line does not win over the true one */
		{ "test_a.py::test_fail", SWE_FAILED },
		{ "test_a.py::test_p[a b]", SWE_PASSED },
		{ "test_a.py::test_p[a", SWE_PASSED },
		{ "test_a.py::test_p[c::d]", SWE_PASSED },
		{ "test_a.py::test_p[\\xfc]", SWE_PASSED },
		{ "test_a.py::test_p[log(photon - x]", SWE_PASSED },
		{ "test_a.py::test_p[log(photon", SWE_PASSED },
		{ "test_a.py::test_p[log(pho", SWE_PASSED },
		{ "test_a.py::test_p[a]]", SWE_PASSED },
		{ "test_a.py::test_p[]", SWE_PASSED },
		{ "test_a.py::test_p[[x]]", SWE_FAILED },
		{ "test_a.py::test_q[a - b]", SWE_FAILED },
		/* several begin so, and one of them failed */
		{ "test_a.py::test_p[", SWE_FAILED },
		/* whole names are no beginnings of others */
		{ "test_a.py::test_p", SWE_MISSING },
		{ "test_a.py::test_teardown", SWE_ERROR },
		{ "test_a.py::test_xf", SWE_XFAIL },
		{ "test_a.py::TestU::test_ef", SWE_XFAIL },
		{ "test_a.py::test_xf - known - bug", SWE_XFAIL },
		{ "test_a.py::test_xp", SWE_XPASS },
		{ "test_bad.py", SWE_ERROR },
		{ "[100%]", SWE_PASSED },
		{ "[1]", SWE_MISSING },
		{ "test_a.py::test_glued", SWE_MISSING },
	};

	check(SWE_PYTEST, NULL, ra, rows, COUNT(rows));
}

TEST(pytest_verbose)
{
	static const char text[] = "test_a.py::test_p[a b] PASSED                          [  4%]\n"
				   "test_a.py::test_p[[x]] FAILED                          [ 13%]\n"
				   "test_a.py::test_teardown PASSED                        [ 40%]\n"
				   "test_a.py::test_teardown ERROR                         [ 40%]\n"
				   "test_a.py::test_skip SKIPPED (why (not))               [ 45%]\n"
				   "test_a.py::test_xf XFAIL (known - bug)                 [ 50%]\n"
				   "\033[32mtest_a.py::test_colour\033[0m \033[32mPASSED\033[0m\033[32m [ 51%]\033[0m\n"
				   "test_a.py::test_old <- base.py PASSED\n"
				   "[gw1] [ 60%] PASSED test_a.py::test_far\r\n"
				   "something PASSED\n"
				   "    assert 'a::b PASSED yesterday'\n";
	static const struct row rows[] = {
		{ "test_a.py::test_p[a b]", SWE_PASSED },  { "test_a.py::test_p[[x]]", SWE_FAILED }, { "test_a.py::test_teardown", SWE_ERROR },
		{ "test_a.py::test_skip", SWE_SKIPPED },   { "test_a.py::test_xf", SWE_XFAIL },	     { "test_a.py::test_colour", SWE_PASSED },
		{ "test_a.py::test_old", SWE_PASSED },	   { "test_a.py::test_far", SWE_PASSED },    { "something", SWE_MISSING },
	};

	check(SWE_PYTEST, NULL, text, rows, COUNT(rows));
}

TEST(pytest_options)
{
	static const char text[] = "PASSED t.py::a[/home/x/file.txt]\nPASSED t.py::b[//host/x]\nFAILED t.py::c[/a/*/x] - no\nPASSED t.py::d[x/y]\n";
	static const struct row rows[] = {
		{ "t.py::a[/file.txt]", SWE_PASSED }, { "t.py::a[/other/file.txt]", SWE_PASSED }, { "t.py::b[//host/x]", SWE_PASSED },
		{ "t.py::b[/x]", SWE_MISSING },	      { "t.py::c[/a/*/x]", SWE_FAILED },	     { "t.py::d[x/y]", SWE_PASSED },
	};
	static const struct row plain[] = { { "t.py::a[/file.txt]", SWE_MISSING }, { "t.py::a[/home/x/file.txt]", SWE_PASSED } };
	static const struct row mouse[] = { { "t.py::m[1-3]", SWE_PASSED } };

	check(SWE_PYTEST_OPTIONS, NULL, text, rows, COUNT(rows));
	check(SWE_PYTEST, NULL, text, plain, COUNT(plain));
	check(SWE_MATPLOTLIB, NULL, "PASSED t.py::m[MouseButton.LEFT-MouseButton.RIGHT]\n", mouse, COUNT(mouse));
}

static const char unit[] = "test_doc (test_a.TestU.test_doc)\n"
			   "Says ... something. ... ok\n"
			   "test_doc2 (test_a.TestU.test_doc2)\n"
			   "Second says. ... noise\n"
			   "ok\n"
			   "test_ef (test_a.TestU.test_ef) ... expected failure\n"
			   "test_err (test_a.TestU.test_err) ... ERROR\n"
			   "test_m (test_a.TestU.test_m) ... \n"
			   "  test_m (test_a.TestU.test_m) (i=1) ... FAIL\n"
			   "test_out (test_a.TestU.test_out) ... hello\n"
			   "okay is not it\n"
			   "to err\n"
			   "ok\n"
			   "test_s (test_a.TestU.test_s) ... skipped 'why ... not'\n"
			   "test_us (test_a.TestU.test_us) ... unexpected success\n"
			   "test_sys (a.T) ... Testing against Django installed in '/testbed/django'\n"
			   "System check identified no issues (0 silenced).\n"
			   "ok\n"
			   "Applying sites.0002_alter_domain_unique...test_mig (a.T) ... ok\n"
			   "  Applying auth.0001_initial... OK\n"
			   "#24377 - a number first ... FAIL\n"
			   "test_hang (a.T) ... waiting\n"
			   "\n"
			   "======================================================================\n"
			   "ERROR: setUpClass (a.Broken)\n"
			   "----------------------------------------------------------------------\n"
			   "FAIL: test_m (test_a.TestU.test_m) (i=1)\n"
			   "Ran 8 tests in 0.002s\n"
			   "\n"
			   "OK\n";

TEST(unittest_and_django)
{
	static const struct row rows[] = {
		{ "Says ... something.", SWE_PASSED },
		/* a test with a docstring is found by both */
		{ "test_doc (test_a.TestU)", SWE_PASSED },
		{ "test_doc (test_a.TestU.test_doc)", SWE_PASSED },
		{ "Second says.", SWE_PASSED },
		{ "test_doc2 (test_a.TestU)", SWE_PASSED },
		{ "test_ef (test_a.TestU)", SWE_XFAIL },
		{ "test_err (test_a.TestU.test_err)", SWE_ERROR },
		/* a subtest that fails is a test that fails */
		{ "test_m (test_a.TestU)", SWE_FAILED },
		{ "test_m (test_a.TestU) (i=1)", SWE_FAILED },
		{ "test_out (test_a.TestU)", SWE_PASSED },
		{ "test_s (test_a.TestU)", SWE_SKIPPED },
		{ "test_us (test_a.TestU)", SWE_XPASS },
		{ "test_sys (a.T)", SWE_PASSED },
		{ "test_mig (a.T)", SWE_PASSED },
		{ "#24377 - a number first", SWE_FAILED },
		/* "OK" at the end is not its outcome */
		{ "test_hang (a.T)", SWE_MISSING },
		{ "setUpClass (a.Broken)", SWE_ERROR },
	};

	check(SWE_DJANGO, NULL, unit, rows, COUNT(rows));
	check(SWE_UNITTEST, NULL, unit, rows, COUNT(rows));
}

TEST(sympy)
{
	static const char text[] = "sympy/x/tests/test_a.py[5] \n"
				   "test_good ok\n"
				   "test_bad F\n"
				   "test_exc E\n"
				   "test_known f\n"
				   "test_slow Slow w\n"
				   "test_talks hello ok\n"
				   "test_lines hello\n"
				   "there\n"
				   "ok\n"
				   "test_last ok                                                 [OK]\n"
				   "\n"
				   "sympy/x/tests/test_b.py[2] \n"
				   "test_twice ok\n"
				   "test_end F                                                 [FAIL]\n"
				   "sympy/x/tests/test_c.py[1] \n"
				   "test_twice E\n"
				   "________________ sympy/x/tests/test_a.py:test_bad ________________\n"
				   "  File \"x\", test_nothing okay\n"
				   "tests finished: 3 passed\n";
	static const struct row rows[] = {
		{ "test_good", SWE_PASSED },  { "test_bad", SWE_FAILED },  { "test_exc", SWE_ERROR },	 { "test_known", SWE_XFAIL }, { "test_slow", SWE_SKIPPED },
		{ "test_talks", SWE_PASSED }, { "test_lines", SWE_PASSED }, { "test_last", SWE_PASSED }, { "test_end", SWE_FAILED },  { "test_twice", SWE_ERROR },
		{ "test_nothing", SWE_MISSING }, { "sympy/x/tests/test_a.py:test_bad", SWE_FAILED },
	};

	check(SWE_SYMPY, NULL, text, rows, COUNT(rows));
}

TEST(renamed)
{
	static const struct {
		enum swe_style style;
		const char *id, *out;
	} rows[] = {
		{ SWE_PYTEST, "a.py::T::test_y_q7[1_q7]", "a.py::T::test_y[1_q7]" },
		{ SWE_PYTEST, "a.py::test_y_q7", "a.py::test_y" },
		{ SWE_PYTEST, "a.py::test_y[_q7", NULL },
		{ SWE_DJANGO, "test_x_q7 (m.C.test_x_q7)", "test_x (m.C)" },
		{ SWE_DJANGO, "test_x_q7 (m.C) (i=1)", "test_x (m.C) (i=1)" },
		{ SWE_SYMPY, "test_x_q7", "test_x" },
		{ SWE_SYMPY, "test_x", NULL },
		{ SWE_SYMPY, "_q7", NULL },
	};
	struct arena a = { 0 };
	struct swe_log l;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *got = swe_name_unrename(rows[i].style, swe_name_canon(rows[i].style, span_of(rows[i].id), &a), "_q7", &a);

		ROW_OK(!got == !rows[i].out && (!got || strcmp(got, rows[i].out) == 0), "%s: %s", rows[i].id, got ? got : "-");
	}
	swe_log_parse(&l, SWE_SYMPY, "test_x ok\ntest_y_q7 ok\n", 23, "_q7", &a);
	assert_int_equal(swe_map_outcome(&l.map, "test_x", true), SWE_MISSING);
	assert_int_equal(swe_map_outcome(&l.map, "test_x", false), SWE_PASSED);
	assert_int_equal(swe_map_outcome(&l.map, "test_y", true), SWE_PASSED);
	swe_log_done(&l);
	arena_free(&a);
}

TEST(canonical)
{
	static const struct {
		enum swe_style style;
		const char *id, *out;
	} rows[] = {
		{ SWE_DJANGO, "test_x (m.C.test_x)", "test_x (m.C)" }, { SWE_DJANGO, "test_x (m.C)", "test_x (m.C)" },
		{ SWE_DJANGO, "test_x (test_x)", "test_x (test_x)" },  { SWE_DJANGO, "x (mx)", "x (mx)" },
		{ SWE_DJANGO, "  a \t b  ", "a b" },		       { SWE_DJANGO, " (x)", "(x)" },
		{ SWE_DJANGO, "x (", "x (" },			       { SWE_PYTEST, "test_x (m.test_x)", "test_x (m.test_x)" },
		{ SWE_PYTEST_OPTIONS, "a[/b/c", "a[/b/c" },	       { SWE_PYTEST_OPTIONS, "a[/]", "a[/]" },
	};
	struct arena a = { 0 };
	enum swe_style s;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *got = swe_name_canon(rows[i].style, span_of(rows[i].id), &a);

		ROW_OK(strcmp(got, rows[i].out) == 0, "%s: %s", rows[i].id, got);
	}
	assert_true(swe_style_find("parse_log_django", &s) && s == SWE_DJANGO);
	assert_true(swe_style_find("parse_log_requests", &s) && s == SWE_PYTEST_OPTIONS);
	assert_false(swe_style_find("parse_log_", &s));
	for (s = 0; s < SWE_STYLES; s++) {
		enum swe_style again;

		assert_true(swe_style_find(swe_style_name(s), &again) && again == s);
	}
	arena_free(&a);
}

TEST(full_map)
{
	struct arena a = { 0 };
	struct swe_map m = { 0 };

	for (unsigned i = 0; i < SWE_MAP_MAX + 10; i++)
		swe_map_add(&m, arena_fmt(&a, "n%u", i), SWE_PASSED, false, false);
	assert_true(m.cut && m.n == SWE_MAP_MAX);
	/* What is in it still learns of bad news. */
	swe_map_add(&m, "n5", SWE_FAILED, false, false);
	assert_int_equal(swe_map_outcome(&m, "n5", false), SWE_FAILED);
	assert_null(swe_map_find(&m, "n1048580"));
	swe_map_done(&m);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pytest_summary), cmocka_unit_test(pytest_verbose), cmocka_unit_test(pytest_options), cmocka_unit_test(unittest_and_django),
		cmocka_unit_test(sympy),	  cmocka_unit_test(renamed),	    cmocka_unit_test(canonical),      cmocka_unit_test(full_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
