/* SPDX-License-Identifier: Apache-2.0 */
/* Instances, predictions, patches' headers, and the rows of repositories. */
#include "unit.h"

#include "grade/swe_patch.h"
#include "grade/swe_spec.h"

#define ONE "{\"instance_id\": \"a__b-1\", \"repo\": \"a/b\", \"base_commit\": \"abcdef12\", \"version\": \"1.2\", \"test_patch\": \"\", "
#define LISTS "\"FAIL_TO_PASS\": \"[\\\"t1\\\", \\\"[100%]\\\"]\", \"PASS_TO_PASS\": [\"t[log(photon\"]}"

TEST(instances)
{
	static const struct {
		const char *text, *error; /* NULL: it is good */
	} rows[] = {
		{ ONE LISTS "\n\n", NULL },
		{ "[" ONE LISTS "]", NULL },
		{ "\xef\xbb\xbf" ONE LISTS, NULL },
		{ "", "is empty" },
		{ "[]", "no instances" },
		{ ONE LISTS "\n{]", "line 2 is not JSON" },
		{ ONE LISTS "\n" ONE LISTS, "twice" },
		{ ONE "\"FAIL_TO_PASS\": []}", "'PASS_TO_PASS' is missing" },
		{ ONE "\"FAIL_TO_PASS\": \"oops\", \"PASS_TO_PASS\": []}", "'FAIL_TO_PASS' is text that is no JSON" },
		{ ONE "\"FAIL_TO_PASS\": [1], \"PASS_TO_PASS\": []}", "entry 1 of 'FAIL_TO_PASS' is a number" },
		{ ONE "\"FAIL_TO_PASS\": \"{}\", \"PASS_TO_PASS\": []}", "not a list" },
		{ "{\"instance_id\": \"../x\", \"repo\": \"a/b\", \"FAIL_TO_PASS\": [], \"PASS_TO_PASS\": []}", "'instance_id'" },
		{ "{\"instance_id\": \"x\\u0000y\", \"repo\": \"a/b\", \"FAIL_TO_PASS\": [], \"PASS_TO_PASS\": []}", "NUL" },
		{ "{\"instance_id\": \"x\", \"FAIL_TO_PASS\": [], \"PASS_TO_PASS\": []}", "'repo' is missing" },
		{ "{\"instance_id\": \"x\", \"repo\": \"a/b\", \"base_commit\": \"--upload-pack\", \"FAIL_TO_PASS\": [], \"PASS_TO_PASS\": []}", "'base_commit'" },
		{ "[1]", "entry 1 is a number" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct swe_instances t;
		struct err e = { 0 };
		int rc = swe_instances_parse(&t, rows[i].text, strlen(rows[i].text), "f", &e);

		ROW_OK((rc == 0) == !rows[i].error && (rc == 0 || (e.kind == ERR_INPUT && strstr(e.msg, rows[i].error))), "%s: %s", rows[i].text, e.msg);
		if (rc == 0) {
			const struct swe_instance *x = swe_instance_find(&t, "a__b-1");

			assert_non_null(x);
			assert_null(swe_instance_find(&t, "a__b-2"));
			assert_int_equal(x->fail_to_pass.n, 2);
			assert_string_equal(x->fail_to_pass.v[1], "[100%]");
			assert_string_equal(x->pass_to_pass.v[0], "t[log(photon");
		}
		swe_instances_done(&t);
	}
}

#define P(id, model, patch) "{\"instance_id\": \"" id "\", \"model_name_or_path\": \"" model "\", \"model_patch\": " patch "}"

TEST(predictions)
{
	static const struct {
		const char *text, *error;
		size_t n, warnings, unknown, models;
		const char *first; /* patch of the first one */
	} rows[] = {
		{ P("a__b-1", "m", "\"x\""), NULL, 1, 0, 0, 1, "x" },
		{ P("a__b-1", "m", "\"x\"") "\n" P("a__b-1", "m", "\"y\""), NULL, 1, 1, 0, 1, "y" },
		{ P("a__b-1", "m", "\"x\"") "\n" P("a__b-1", "n", "\"y\""), NULL, 2, 0, 0, 2, "x" },
		{ "[" P("a__b-1", "m", "null") ", " P("zz", "m", "\"\"") "]", NULL, 1, 0, 1, 1, NULL },
		{ "{\"a__b-1\": {\"model_name_or_path\": \"m\", \"model_patch\": \"x\"},\n \"zz\": {}}", NULL, 1, 1, 1, 1, "x" },
		{ "{\"a__b-1\": " P("a__b-2", "m", "\"x\"") "}", "'instance_id' is 'a__b-2'", 0, 0, 0, 0, NULL },
		{ "{\"instance_id\": \"a__b-1\"}", NULL, 1, 1, 0, 1, NULL },
		{ P("a__b-1", "m", "3"), "line 1: 'model_patch' is a number", 0, 0, 0, 0, NULL },
		{ P("zz", "m", "\"x\""), "none of its predictions", 0, 0, 1, 0, NULL },
		{ P("a__b-1", "m/n", "\"x\"") "\n" P("a__b-1", "m__n", "\"y\""), "same folder", 0, 0, 0, 0, NULL },
		{ "nonsense", "line 1 is not JSON", 0, 0, 0, 0, NULL },
		{ "{\"a__b-1\": \"x\"}", "is text, not a mapping", 0, 0, 0, 0, NULL },
	};
	struct swe_instances t;
	struct err e = { 0 };

	assert_int_equal(swe_instances_parse(&t, ONE LISTS, strlen(ONE LISTS), "f", &e), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct swe_predictions p;
		int rc = swe_predictions_parse(&p, &t, rows[i].text, strlen(rows[i].text), "p", &e);

		ROW_OK((rc == 0) == !rows[i].error && (rc == 0 || strstr(e.msg, rows[i].error)), "%s: %s", rows[i].text, e.msg);
		if (rc == 0) {
			ROW_OK(p.n == rows[i].n && p.warnings.n == rows[i].warnings && p.unknown.n == rows[i].unknown && p.models.n == rows[i].models, "%s", rows[i].text);
			ROW_OK(!p.v[0].patch == !rows[i].first && (!rows[i].first || strcmp(p.v[0].patch, rows[i].first) == 0), "%s", rows[i].text);
			assert_ptr_equal(p.v[0].instance, t.v);
		}
		swe_predictions_done(&p);
	}
	assert_string_equal(swe_model_folder("org/model-1.0", &t.arena), "org__model-1.0");
	assert_string_equal(swe_model_folder("../x y", &t.arena), "_.__x_y");
	assert_string_equal(swe_model_folder("", &t.arena), "_");
	swe_instances_done(&t);
}

static const char diff[] = "diff --git a/one.py b/one.py\n"
			   "index 123..456 100644\n"
			   "--- a/one.py\n"
			   "+++ b/one.py\n"
			   "@@ -1,3 +1,3 @@ def f():\n"
			   " x\n"
			   "--- a/fake.py\n"
			   "+++ b/fake.py\n"
			   " y\n"
			   "diff --git a/new dir/n.py b/new dir/n.py\n"
			   "new file mode 100755\n"
			   "index 000..456\n"
			   "--- /dev/null\n"
			   "+++ b/new dir/n.py\n"
			   "@@ -0,0 +1 @@\n"
			   "+a\n"
			   "\\ No newline at end of file\n"
			   "diff --git a/gone.py b/gone.py\n"
			   "deleted file mode 100644\n"
			   "--- a/gone.py\n"
			   "+++ /dev/null\n"
			   "@@ -1 +0,0 @@\n"
			   "-a\n"
			   "diff --git a/old b/x.py b/moved b/x.py\n"
			   "similarity index 100%\n"
			   "rename from old b/x.py\n"
			   "rename to moved b/x.py\n"
			   "diff --git \"a/\\303\\274.py\" \"b/\\303\\274.py\"\n"
			   "old mode 100644\n"
			   "new mode 120000\n"
			   "diff --git a/i.png b/i.png\n"
			   "GIT binary patch\n"
			   "literal 3\n"
			   "--- plain.py\t2020-01-01 00:00:00\n"
			   "+++ plain.py\t2020-01-01 00:00:00\n"
			   "@@ -1,2 +1,2 @@\n"
			   "-a\n";

TEST(patches)
{
	static const char other[] = "diff --git a/x b/x\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
	struct arena a = { 0 };
	struct swe_patch p;

	swe_patch_read(&p, diff, strlen(diff), &a);
	assert_int_equal(p.n, 7);
	assert_string_equal(p.v[0].new_path, "one.py");
	assert_true(p.v[0].removed == 1 && p.v[0].added == 1 && p.v[0].new_mode == 0100644);
	assert_string_equal(swe_patch_path(&p.v[1]), "new dir/n.py");
	assert_true(p.v[1].created && !p.v[1].old_path && p.v[1].new_mode == 0100755 && p.v[1].added == 1);
	assert_true(p.v[2].deleted && !p.v[2].new_path && strcmp(swe_patch_path(&p.v[2]), "gone.py") == 0);
	assert_true(p.v[3].renamed && strcmp(p.v[3].old_path, "old b/x.py") == 0 && strcmp(p.v[3].new_path, "moved b/x.py") == 0);
	assert_true(p.v[4].new_mode == 0120000 && strcmp(p.v[4].new_path, "\303\274.py") == 0);
	/* Binary, then a plain diff without a header of git's, which is cut off. */
	assert_true(p.v[5].binary && strcmp(p.v[5].new_path, "i.png") == 0);
	assert_true(strcmp(p.v[6].new_path, "plain.py") == 0 && p.v[6].removed == 1 && p.cut);
	/* Other names below a header of git's. */
	swe_patch_read(&p, other, strlen(other), &a);
	assert_true(p.n == 2 && strcmp(p.v[0].new_path, "x") == 0 && strcmp(p.v[1].new_path, "y") == 0);
	arena_free(&a);
}

TEST(versions)
{
	static const struct {
		const char *a, *b;
		int order;
	} rows[] = { { "1.9", "1.10", -1 }, { "1.9", "1.9", 0 }, { "2", "1.9", 1 }, { "1.9", "1.9.1", -1 }, { "", "1", -1 }, { "3.0", "3.0.0", -1 } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		ROW_OK(swe_version_order(rows[i].a, rows[i].b) == rows[i].order, "%s %s", rows[i].a, rows[i].b);
		ROW_OK(swe_version_order(rows[i].b, rows[i].a) == -rows[i].order, "%s %s", rows[i].b, rows[i].a);
	}
	assert_string_equal(swe_spec_find("django/django", "5.0")->name, "django");
	assert_string_equal(swe_spec_find("django/django", "")->name, "django");
	assert_string_equal(swe_spec_find("Django/Django", "1.9")->name, "django-1.9");
	assert_string_equal(swe_spec_find("sympy/sympy", "1.12")->name, "sympy");
	assert_string_equal(swe_spec_find("some/thing", "9")->name, "default");
	/* A row that is like another one has what it does not say itself, and names of its environment beside its own. */
	assert_string_equal(swe_spec_find("django/django", "1.9")->strip, "tests/");
	assert_string_equal(swe_spec_find("django/django", "1.9")->wall, "30m");
	assert_true(swe_spec_find("sympy/sympy", "1.12")->env[3] && !swe_spec_find("sympy/sympy", "1.12")->env[4]);
	for (size_t i = 0; swe_spec_at(i); i++) {
		struct err e = { 0 };

		assert_null(swe_spec_at(i)->like);
		ROW_OK(swe_spec_check(swe_spec_at(i), swe_spec_at(i)->name, &e) == 0, "%s", e.msg);
	}
}

static bool has_words(const struct strlist *l, const char *const *words)
{
	size_t i = 0;

	for (; words[i]; i++)
		if (i >= l->n || strcmp(l->v[i], words[i]) != 0)
			return false;
	return i == l->n;
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

TEST(jobs)
{
	static const char patch[] = "diff --git a/tests/a/b.py b/tests/a/b.py\n--- a/tests/a/b.py\n+++ b/tests/a/b.py\n@@ -1 +1 @@\n-a\n+b\n"
				    "diff --git a/tests/a/x.json b/tests/a/x.json\nindex 1..2\n"
				    "diff --git a/tests/a/gone.py b/tests/a/gone.py\ndeleted file mode 100644\n";
	struct swe_instance i = { .id = "x", .repo = "django/django", .version = "5.0", .test_patch = patch, .test_patch_len = sizeof(patch) - 1 };
	struct strlist ids = { 0 }, extra = { 0 };
	struct arena a = { 0 };
	struct err e = { 0 };
	struct swe_job j;

	assert_int_equal(swe_job_make(&j, &i, "/testbed", NULL, NULL, &a, &e), 0);
	assert_true(has_words(&j.argv, WORDS("tests/runtests.py", "--verbosity", "2", "--settings=test_sqlite", "--parallel", "1", "a.b")));
	assert_true(has_words(&j.pythonpath, WORDS("/testbed")) && has_words(&j.test_files, WORDS("tests/a/b.py")));
	assert_true(j.wall_ms == 1800000 && j.memory_bytes == 2ULL << 30 && j.cpus_milli == 2000 && j.tmp_bytes == 256ULL << 20 && j.style == SWE_DJANGO);
	/* tests by name */
	strlist_add(&a, &ids, "test_x (a.b.C.test_x)");
	strlist_add(&a, &extra, "--failfast");
	assert_int_equal(swe_job_make(&j, &i, "/testbed", &ids, &extra, &a, &e), 0);
	assert_string_equal(j.argv.v[j.argv.n - 1], "a.b.C.test_x");
	assert_string_equal(j.argv.v[j.argv.n - 2], "--failfast");
	ids.v[0] = "A docstring.";
	assert_int_equal(swe_job_make(&j, &i, "/testbed", &ids, NULL, &a, &e), -1);
	/* never everything */
	ids.n = 0;
	assert_int_equal(swe_job_make(&j, &i, "/testbed", &ids, NULL, &a, &e), -1);
	assert_non_null(strstr(e.msg, "no test to run"));
	i.test_patch_len = 0;
	assert_int_equal(swe_job_make(&j, &i, "/testbed", NULL, NULL, &a, &e), -1);
	i.repo = "some/thing";
	i.test_patch_len = sizeof(patch) - 1;
	assert_int_equal(swe_job_make(&j, &i, "/t", NULL, NULL, &a, &e), 0);
	assert_true(has_words(&j.argv, WORDS("-rA", "-p", "no:cacheprovider", "tests/a/b.py")) && strcmp(j.kind, "pytest") == 0);
	/* a command of --meta */
	i.test_cmd = "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' bin/test -C --verbose sympy/a.py";
	i.repo = "sympy/sympy";
	assert_int_equal(swe_job_make(&j, &i, "/t", NULL, NULL, &a, &e), 0);
	assert_true(has_words(&j.argv, WORDS("bin/test", "-C", "--verbose", "sympy/a.py")));
	assert_string_equal(j.env.v[j.env.n - 1], "PYTHONWARNINGS=ignore::UserWarning,ignore::SyntaxWarning");
	i.test_cmd = "pytest a.py; rm -rf /";
	assert_int_equal(swe_job_make(&j, &i, "/t", NULL, NULL, &a, &e), -1);
	i.test_cmd = "pytest";
	assert_int_equal(swe_job_make(&j, &i, "/t", NULL, NULL, &a, &e), -1);
	i.test_cmd = "make test";
	assert_int_equal(swe_job_make(&j, &i, "/t", NULL, NULL, &a, &e), -1);
	i.test_cmd = NULL;
	strlist_add(&a, &i.test_files, "--co");
	assert_int_equal(swe_job_make(&j, &i, "/t", NULL, NULL, &a, &e), -1);
	i.test_files.v[0] = "a/../../b.py";
	assert_int_equal(swe_job_make(&j, &i, "/t", NULL, NULL, &a, &e), -1);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instances), cmocka_unit_test(predictions), cmocka_unit_test(patches), cmocka_unit_test(versions), cmocka_unit_test(jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
