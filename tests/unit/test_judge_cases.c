/* SPDX-License-Identifier: Apache-2.0 */
/* judge_cases: what is read, who has the last word, and errors that name the case and the field. */
#include "unit.h"

#include "grade/judge_cases.h"

static struct arena arena;

static int read_text(const char *text, const struct cases_defaults *d, struct cases *c, struct err *e)
{
	static const struct cases_defaults none;

	memset(e, 0, sizeof(*e));
	return cases_from_json(c, text, strlen(text), d ? d : &none, &arena, e);
}

TEST(refused)
{
	static const struct {
		const char *text, *words; /* what the message must have, separated by | */
	} rows[] = {
		{ "", "not JSON" }, { "[", "not JSON" }, { "1", "not JSON" }, { "[]", "there are none" }, { "{}", "'cases' is missing" }, { "{\"cases\":{}}", "'cases' must be a list" },
		{ "{\"cases\":[],\"case\":1}", "unknown field 'case'|'cases'" }, { "[1]", "case 1 must be an object" }, { "[{\"expected\":\"\"},3]", "case 2" },
		{ "[{\"name\":\"a\"}]", "case 'a'|'expected' is missing" }, { "[{\"name\":\"a\",\"expected\":null}]", "case 'a'|'expected' must be a string" },
		{ "[{\"name\":\"a\",\"expectd\":\"\"}]", "case 'a'|unknown field 'expectd'; did you mean 'expected'" }, { "[{\"name\":\"\",\"expected\":\"\"}]", "case 1|'name'" },
		{ "[{\"name\":\"a\",\"stdin\":1,\"expected\":\"\"}]", "case 'a'|'stdin' must be a string" }, { "[{\"expected\":\"\",\"output\":\"\"}]", "case '1'|says again" },
		{ "[{\"stdin\":\"\",\"stdin_file\":\"x\",\"expected\":\"\"}]", "case '1'|says again" }, { "[{\"expected_base64\":\"?\"}]", "'expected_base64' must be base64" },
		{ "[{\"expected_file\":\"../x\"}]", "'expected_file' must be a relative path" }, { "[{\"expected_file\":\"/etc/passwd\"}]", "'expected_file' must be a relative path" },
		{ "[{\"expected\":\"\",\"compare\":\"like\"}]", "case '1'|'compare' must be" }, { "[{\"expected\":\"\",\"compare\":{\"mode\":\"exact\",\"rel\":0.1}}]", "'rel' and 'abs' belong" },
		{ "[{\"expected\":\"\",\"compare\":{\"rel\":0.1}}]", "'compare.mode' is missing" }, { "[{\"expected\":\"\",\"compare\":{\"mode\":\"float\",\"rel\":2}}]", "'rel' must be" },
		{ "[{\"expected\":\"\",\"compare\":{\"mode\":\"float\",\"abs\":-1}}]", "'abs' must be" }, { "[{\"expected\":\"\",\"compare\":{\"mode\":\"float\",\"eps\":1}}]", "unknown field 'compare.eps'" },
		{ "[{\"expected\":\"\",\"compare\":\"checker\"}]", "case '1'|and there is none" }, { "[{\"expected\":\"\",\"points\":-1}]", "'points' must be" },
		{ "[{\"expected\":\"\",\"points\":\"1\"}]", "'points' must be" }, { "[{\"expected\":\"\",\"limits\":[]}]", "'limits' must be an object" },
		{ "[{\"expected\":\"\",\"limits\":{\"tiem\":1}}]", "unknown field 'limits.tiem'; did you mean 'time'" }, { "[{\"expected\":\"\",\"limits\":{\"time\":0}}]", "'limits.time' must be" },
		{ "[{\"expected\":\"\",\"limits\":{\"time\":\"-1s\"}}]", "'limits.time' must be" }, { "[{\"expected\":\"\",\"limits\":{\"time\":1e300}}]", "'limits.time' must be" },
		{ "[{\"expected\":\"\",\"limits\":{\"memory\":1.5}}]", "'limits.memory' must be" }, { "[{\"expected\":\"\",\"limits\":{\"memory\":\"1K\"}}]", "'limits.memory' must be" },
		{ "[{\"expected\":\"\",\"limits\":{\"output\":\"64M\"}}]", "'limits.output' must be" }, { "[{\"expected\":\"\",\"limits\":{\"memory\":-9223372036854775807}}]", "'limits.memory'" },
		{ "[{\"name\":\"a\",\"expected\":\"\"},{\"name\":\"a\",\"expected\":\"\"}]", "case 'a'|'name' is there twice" }, { "[{\"name\":\"2\",\"expected\":\"\"},{\"expected\":\"\"}]", "twice" },
		{ "[{\"name\":\"a\\u0000b\",\"expected\":\"\"}]", "'name' must be a string without NUL" }, { "{\"cases\":[],\"cases\":[]}", "not JSON" },
		{ "{\"cases\":[{\"expected\":\"\"}],\"subtasks\":[]}", "'subtasks' must be" }, { "{\"cases\":[{\"expected\":\"\"}],\"subtasks\":[{}]}", "subtask 1|'cases' is missing" },
		{ "{\"cases\":[{\"expected\":\"\"}],\"subtasks\":[{\"cases\":[2]}]}", "subtask 1|names '2'" }, { "{\"cases\":[{\"expected\":\"\"}],\"subtasks\":[{\"cases\":[]}]}", "subtask 1|not empty" },
		{ "{\"cases\":[{\"expected\":\"\"},{\"expected\":\"\"}],\"subtasks\":[{\"cases\":[1,1]}]}", "twice" }, { "{\"cases\":[{\"expected\":\"\"},{\"expected\":\"\"}],\"subtasks\":[{\"cases\":[1]}]}", "case '2' is in no subtask" },
		{ "{\"cases\":[{\"expected\":\"\"}],\"subtasks\":[{\"cases\":[1],\"points\":1,\"weight\":1}]}", "'points' and 'weight'" }, { "{\"cases\":[{\"expected\":\"\"}],\"subtasks\":[{\"cases\":[1],\"pionts\":1}]}", "unknown field 'pionts'" },
		{ "{\"cases\":[{\"expected\":\"\"}],\"subtasks\":[{\"name\":\"x\",\"cases\":[1]},{\"name\":\"x\",\"cases\":[1]}]}", "'x' is there twice" },
		{ "{\"cases\":[{\"expected\":\"\"}],\"checker\":{}}", "'checker.file' is missing" }, { "{\"cases\":[{\"expected\":\"\"}],\"checker\":\"../c.py\"}", "'checker' must be a relative path" },
		{ "{\"cases\":[{\"expected\":\"\"}],\"checker\":{\"file\":\"c.py\",\"with\":[\"/x\"]}}", "'checker.with'" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char words[200], *save = NULL;
		struct cases c;
		struct err e;

		ROW_OK(read_text(rows[i].text, NULL, &c, &e) == -1 && e.kind == ERR_REQUEST, "%s", rows[i].text);
		snprintf(words, sizeof(words), "%s", rows[i].words);
		for (char *w = strtok_r(words, "|", &save); w; w = strtok_r(NULL, "|", &save))
			ROW_OK(strstr(e.msg, w), "%s: '%s' is not in: %s", rows[i].text, w, e.msg);
	}
	arena_free(&arena);
}

TEST(taken)
{
	struct cases c;
	struct err e;

	assert_int_equal(read_text("{\"limits\":{\"time\":\"3s\",\"memory\":67108864},\"compare\":\"tokens\",\"checker\":\"c.py\",\"cases\":["
				   "{\"input\":\"a\\u0000b\",\"output\":\"\"},"
				   "{\"name\":\"x\",\"stdin_base64\":\"AAE=\",\"expected_file\":\"d/x.out\",\"points\":2.5,\"limits\":{\"time\":0.25,\"wall\":\"2s\",\"output\":10},"
				   "\"compare\":{\"mode\":\"float\",\"abs\":0.5}},{\"name\":9,\"compare\":\"checker\"}],"
				   "\"subtasks\":[{\"weight\":30,\"cases\":[\"x\",\"1\"]},{\"name\":\"b\",\"points\":70,\"cases\":[9,\"x\"]}]}", NULL, &c, &e), 0);
	assert_int_equal(c.count, 3);
	assert_string_equal(c.v[0].name, "1");
	assert_true(c.v[0].input.len == 3 && c.v[0].expected.there && c.v[0].expected.len == 0 && c.v[0].points == 1);
	assert_true(c.v[0].compare.mode == COMPARE_TOKENS && c.v[0].limits.time_ms == 3000 && c.v[0].limits.memory_bytes == 64U << 20);
	assert_true(c.v[1].input.len == 2 && c.v[1].points == 2.5 && c.v[1].limits.time_ms == 250 && c.v[1].limits.wall_ms == 2000);
	assert_true(c.v[1].limits.output_bytes == 10 && c.v[1].limits.memory_bytes == 64U << 20);
	assert_true(c.v[1].compare.mode == COMPARE_FLOAT && c.v[1].compare.abs == 0.5 && c.v[1].compare.rel == COMPARE_REL);
	assert_string_equal(c.v[1].expected.path, "d/x.out");
	assert_string_equal(c.v[2].name, "9");
	assert_true(!c.v[2].expected.there && !c.v[2].input.there && c.v[2].compare.mode == COMPARE_CHECKER);
	assert_int_equal(c.subtask_count, 2);
	assert_true(c.subtasks[0].points == 30 && c.subtasks[0].count == 2 && c.subtasks[0].cases[0] == 1 && c.subtasks[1].cases[0] == 2);
	arena_free(&arena);
}

/* The case's own word, then the command line's, then the file's. */
TEST(last_word)
{
	struct cases_defaults d = { .has_compare = true, .compare = { COMPARE_TOKENS, 0, 0 }, .limits = { .time_ms = 7 } };
	struct cases c;
	struct err e;

	assert_int_equal(read_text("{\"compare\":\"float\",\"limits\":{\"time\":1,\"wall\":2},\"cases\":[{\"expected\":\"\"},"
				   "{\"expected\":\"\",\"compare\":\"exact\",\"limits\":{\"time\":3}}]}", &d, &c, &e), 0);
	assert_true(c.v[0].compare.mode == COMPARE_TOKENS && c.v[0].limits.time_ms == 7 && c.v[0].limits.wall_ms == 2000);
	assert_true(c.v[1].compare.mode == COMPARE_EXACT && c.v[1].limits.time_ms == 3000);
	/* A checker that is there decides where nobody says otherwise. */
	assert_int_equal(read_text("{\"checker\":\"c.py\",\"cases\":[{}]}", NULL, &c, &e), 0);
	assert_int_equal(c.v[0].compare.mode, COMPARE_CHECKER);
	arena_free(&arena);
}

TEST(natural_order)
{
	static const char *const sorted[] = { "", "1", "01", "2", "9", "10", "010", "100", "1000000000000000000000000", "a", "a1", "a1b", "a2", "a10", "b" };

	for (size_t i = 0; i < COUNT(sorted); i++)
		for (size_t k = 0; k < COUNT(sorted); k++) {
			int d = cases_order(sorted[i], sorted[k]);

			/* Of the same value, the same text is equal and no other. */
			if (i == k)
				ROW_OK(d == 0, "%s", sorted[i]);
			else if ((i == 1 && k == 2) || (i == 2 && k == 1) || (i == 5 && k == 6) || (i == 6 && k == 5))
				ROW_OK(d != 0, "%s %s", sorted[i], sorted[k]);
			else
				ROW_OK((d < 0) == (i < k) && d != 0, "%s %s: %d", sorted[i], sorted[k], d);
		}
}

static void put(const struct temp *t, const char *name)
{
	int fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0 && write(fd, "x", 1) == 1);
	close(fd);
}

TEST(folders)
{
	static const struct cases_defaults d, checker = { .has_checker = true };
	struct temp t;
	struct cases c;
	struct err e = { 0 };

	temp_make(&t);
	assert_int_equal(cases_from_folder(&c, t.fd, "x", &d, &arena, &e), -1);
	assert_non_null(strstr(e.msg, "there are none"));
	put(&t, "10.in"), put(&t, "10.out"), put(&t, "2.in"), put(&t, "2.ans"), put(&t, "readme.txt"), put(&t, "a b.in"), put(&t, "a b.out");
	assert_int_equal(cases_from_folder(&c, t.fd, "x", &d, &arena, &e), 0);
	assert_int_equal(c.count, 3);
	assert_string_equal(c.v[0].name, "2");
	assert_string_equal(c.v[0].expected.path, "2.ans");
	assert_string_equal(c.v[1].name, "10");
	assert_string_equal(c.v[2].name, "a b");
	assert_int_equal(cases_check_files(&c, t.fd, &e), 0);
	put(&t, "3.in");
	assert_int_equal(cases_from_folder(&c, t.fd, "x", &d, &arena, &e), -1);
	assert_non_null(strstr(e.msg, "case '3'"));
	/* A checker may need no answer. */
	assert_int_equal(cases_from_folder(&c, t.fd, "x", &checker, &arena, &e), 0);
	unlinkat(t.fd, "3.in", 0);
	put(&t, "4.out");
	assert_int_equal(cases_from_folder(&c, t.fd, "x", &d, &arena, &e), -1);
	assert_non_null(strstr(e.msg, "4.out has no input"));
	unlinkat(t.fd, "4.out", 0);
	put(&t, "2.out");
	assert_int_equal(cases_from_folder(&c, t.fd, "x", &d, &arena, &e), -1);
	assert_non_null(strstr(e.msg, "both"));
	unlinkat(t.fd, "2.out", 0);
	unlinkat(t.fd, "2.ans", 0);
	/* Links that leave the folder, and what is no file, are not read. */
	assert_int_equal(symlinkat("/etc/passwd", t.fd, "2.ans"), 0);
	assert_int_equal(cases_from_folder(&c, t.fd, "x", &d, &arena, &e), 0);
	assert_int_equal(cases_check_files(&c, t.fd, &e), -1);
	assert_non_null(strstr(e.msg, "case '2'"));
	unlinkat(t.fd, "2.ans", 0);
	assert_int_equal(mkfifoat(t.fd, "2.ans", 0600), 0);
	assert_int_equal(cases_check_files(&c, t.fd, &e), -1);
	assert_non_null(strstr(e.msg, "not a plain file"));
	temp_remove(&t);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused), cmocka_unit_test(taken), cmocka_unit_test(last_word), cmocka_unit_test(natural_order), cmocka_unit_test(folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
