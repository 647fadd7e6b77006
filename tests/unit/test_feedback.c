/* SPDX-License-Identifier: Apache-2.0 */
/* feedback: every row of the table can be reached and filled; order, repeats, bounds; foreign text stays on its line. */
#include "unit.h"

#include "grade/advice.h"
#include "grade/feedback.h"
#include "grade/trace.h"

/* ---- the table ---- */

static const struct {
	const char *pattern, *text, *kept; /* kept: by "|"; NULL: no match */
} patterns[] = {
	{ "", "", "" }, { "a", "a", "" }, { "a", "ab", NULL }, { "a*", "ab", "" }, { "*b", "ab", "" }, { "*b", "abc", NULL }, { "{}", "x", "x" },
	{ "name '{}' is not*", "name 'x' is not defined", "x" }, { "{}: {}", "a: b: c", "a|b: c" }, { "*'{}'", "a 'b'", "b" }, { "a{}c", "abcc", "bc" },
	{ "{} and {}", "a and b and c", "a|b and c" }, { "x*y*z", "xyz", "" }, { "x*y*z", "xzy", NULL },
};

TEST(matching)
{
	for (size_t i = 0; i < COUNT(patterns); i++) {
		struct span kept[3] = { 0 };
		char got[200] = "";
		bool fits = advice_match(patterns[i].pattern, span_of(patterns[i].text), kept);

		for (int k = 0; k < 3 && kept[k].n; k++)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%.*s", k ? "|" : "", (int)kept[k].n, kept[k].p);
		ROW_OK(fits == (patterns[i].kept != NULL) && (!fits || strcmp(got, patterns[i].kept) == 0), "%s in %s: %s", patterns[i].pattern,
		       patterns[i].text, fits ? got : "no");
	}
}

/* Brackets and braces of templates are closed, and every {word} is known or not ours. */
TEST(templates_are_whole)
{
	const char *when, *pattern, *say;
	size_t n = 0;

	for (; advice_row_at(n, &when, &pattern, &say); n++) {
		int depth = 0;

		for (const char *p = say; *p; p++) {
			depth += (*p == '[') - (*p == ']');
			ROW_OK(depth == 0 || depth == 1, "%s: %s", when, say);
		}
		ROW_OK(depth == 0 && strlen(say) < 260, "%s: %s", when, say);
	}
	assert_true(n > 100);
}

/* What the issue names, by type or reason: each must have a suggestion of its own, with its words filled in. */
static const struct {
	const char *language, *type, *reason, *message, *has;
} advised[] = {
	{ "python", "NameError", "exception", "name 'totl' is not defined", "did you mean 'total'?" },
	{ "python", "NameError", "exception", "name 'deque' is not defined", "from collections import deque" },
	{ "python", "NameError", "exception", "name 'qqqq' is not defined", "'qqqq' is not defined here: define" },
	{ "python", "TypeError", "exception", "f() missing 1 required positional argument: 'x'", "f() is called without 'x'" },
	{ "python", "TypeError", "exception", "f() takes 1 positional argument but 2 were given", "takes 1 positional argument, but 2 were given" },
	{ "python", "TypeError", "exception", "whatever", "wrong type" },
	{ "python", "ValueError", "exception", "invalid literal for int() with base 10: 'a'", "int() got 'a'" },
	{ "python", "ValueError", "exception", "", "the value is not accepted" },
	{ "python", "IndexError", "exception", "list index out of range", "past the end" },
	{ "python", "KeyError", "exception", "'totl'", "did you mean 'total'?" },
	{ "python", "AttributeError", "exception", "'list' object has no attribute 'push'", "type list has no 'push'" },
	{ "python", "AttributeError", "exception", "'NoneType' object has no attribute 'x'", "is None" },
	{ "python", "ModuleNotFoundError", "exception", "No module named 'colections'", "did you mean 'collections'?" },
	{ "python", "ImportError", "exception", "cannot import name 'a' from 'b' (x)", "module 'b' has no 'a'" },
	{ "python", "SyntaxError", "syntax", "invalid syntax", "not valid Python" },
	{ "python", "SyntaxError", "syntax", "'(' was never closed", "'('" },
	{ "python", "IndentationError", "syntax", "unexpected indent", "indented too far" },
	{ "python", "ZeroDivisionError", "exception", "division by zero", "division by zero" },
	{ "python", "RecursionError", "exception", "maximum recursion depth exceeded", "base case" },
	{ "python", "TimeoutError", "exception", "", "gave up waiting" },
	{ "python", "MemoryError", "exception", "", "memory limit" },
	{ "python", "AssertionError", "exception", "", "assertion does not hold" },
	{ "python", "mine.OwnError", "exception", "x", NULL },
	{ "python", "json.decoder.JSONDecodeError", "exception", "Expecting value", "not JSON" },
	{ "node", "ReferenceError", "exception", "totl is not defined", "did you mean 'total'?" },
	{ "node", "ReferenceError", "exception", "consol is not defined", "did you mean 'console'?" },
	{ "node", "TypeError", "exception", "Cannot read properties of null (reading 'x')", "before '.x' is null" },
	{ "node", "TypeError", "exception", "x", "wrong type" },
	{ "node", "SyntaxError", "syntax", "Unexpected token", "not valid JavaScript" },
	{ "node", "RangeError", "exception", "Invalid array length", "array" },
	{ "bash", "bash", "exited", "gerp: command not found", "did you mean 'grep'?" },
	{ "bash", "bash", "exited", "totl: unbound variable", "did you mean 'total'?" },
	{ NULL, "", "exited", "3", "exit status 3" },
	{ NULL, "", "exited", "", "inside a call" },
	{ NULL, "", "timeout", "", "did not end in time" },
	{ NULL, "", "wall_time", "", "did not end in time" },
	{ NULL, "", "memory", "", "memory" },
	{ NULL, "", "output", "", "prints" },
	{ NULL, "", "pids", "", "processes" },
	{ NULL, "", "disk", "", "disk" },
	{ NULL, "", "signal", "SIGSEGV", "SIGSEGV" },
	{ NULL, "", "crashed", "SIGUSR1", "SIGUSR1" },
	{ NULL, "", "crashed", "", "died" },
	{ NULL, "", "unencodable", "", "plain data" },
	{ NULL, "", "wrong_type", "", "type" },
	{ NULL, "", "tampering", "", "interferes" },
	{ NULL, "", "policy", "", "policy" },
	{ NULL, "", "missing_function", "", "exactly the name" },
	{ NULL, "", "nothing_known", "", NULL },
};

TEST(suggestions)
{
	for (size_t i = 0; i < COUNT(advised); i++) {
		struct arena a = { 0 };
		struct advice_in in = { .language = advised[i].language, .reason = advised[i].reason, .type = span_of(advised[i].type),
					.subject = span_of(advised[i].message), .source = span_of("total = 1\ncount = 2") };
		struct advice got;

		advice_find(&in, &a, &got);
		ROW_OK(advised[i].has ? got.text && strstr(got.text, advised[i].has) : !got.text, "%s/%s %s: %s", advised[i].type, advised[i].reason,
		       advised[i].message, got.text ? got.text : "none");
		arena_free(&a);
	}
}

TEST(bases_count)
{
	struct arena a = { 0 };
	struct advice_in in = { .language = "python", .type = span_of("Mine"), .subject = span_of("x") };
	struct advice got;

	strlist_add(&a, &in.bases, "KeyError");
	advice_find(&in, &a, &got);
	assert_true(got.text && strstr(got.text, "no key x"));
	arena_free(&a);
}

/* ---- traces ---- */

static const struct {
	const char *language, *text, *got; /* "language type message line code"; NULL: none */
} traces[] = {
	{ "python", "Traceback (most recent call last):\n  File \"/workspace/main.py\", line 4, in f\n    a()\n    ^^^\n  File \"/usr/lib/python3/x.py\", line 9, in y\n    z\n"
	  "m.Err: no: good\nmore\n", "python|m.Err|no: good|4|a()" },
	{ NULL, "  File \"/workspace/main.py\", line 1\n    def f(:\n          ^\nSyntaxError: invalid syntax\n", "python|SyntaxError|invalid syntax|1|def f(:" },
	{ "python", "Traceback (most recent call last):\n  File \"/workspace/main.py\", line 4, in f\nKeyError\n", "python|KeyError||4|" },
	{ "python", "ValueError: printed by somebody\n", NULL },
	{ "python", "Traceback (most recent call last):\n  File \"/workspace/a.py\", line 99999999999999999999\n    x\nE: y\n", NULL },
	{ "node", "/workspace/main.js:2\nf(x)\n  ^\n\nReferenceError: x is not defined\n    at f (/workspace/main.js:2:15)\n\nNode.js v20\n",
	  "node|ReferenceError|x is not defined|2|f(x)" },
	{ "node", "node:internal/x:12\n  throw err;\n  ^\n\nError [ERR_X]: no y\n    at a (node:internal/x:1:2)\n    at Object.<anonymous> (/workspace/main.js:3:1)\n", "node|Error|no y|3|" },
	{ "node", "/workspace/main.js:1\nthrow 5\n^\n5\n(Use `node`)\n", "node|throw|5|1|throw 5" },
	{ "bash", "/workspace/main.sh: line 3: foo: command not found\n", "bash|bash|foo: command not found|3|" },
	{ "bash", "x.sh: line 1: syntax error near unexpected token `)'\nx.sh: line 1: `echo )'\n", "bash|bash|syntax error near unexpected token `)'|1|echo )" },
	{ "bash", "one\ncat: x: No such file or directory\n\n", "bash|bash|cat: x: No such file or directory|0|" },
	{ "compiler", "main.c: In function 'main':\nmain.c:3:5: error: 'x' undeclared\n    3 |     x = 1;\n      |     ^\n", "compiler|compile|'x' undeclared|3|x = 1;" },
	{ "compiler", "error[E0425]: cannot find value `y`\n --> /workspace/main.rs:1:21\n  |\n1 | fn main() {}\n", "compiler|compile|cannot find value `y`|1|fn main() {}" },
	{ "compiler", "Main.java:2: error: ';' expected\n  int x\n", "compiler|compile|';' expected|2|int x" },
	{ "compiler", "# command\n./main.go:3:2: undefined: x\n", "compiler|compile|undefined: x|3|" },
	{ "compiler", "main.ts(4,5): error TS2322: no\n", "compiler|compile|TS2322: no|4|" },
	{ NULL, "", NULL }, { NULL, "just words\n", NULL },
};

TEST(of_stderr)
{
	for (size_t i = 0; i < COUNT(traces); i++) {
		struct trace t = { 0 };
		bool found = trace_parse(span_of(traces[i].text), traces[i].language, &t);
		char got[500] = "";

		if (found)
			snprintf(got, sizeof(got), "%s|%.*s|%.*s|%ld|%.*s", t.language, (int)t.type.n, t.type.p ? t.type.p : "", (int)t.message.n,
				 t.message.p ? t.message.p : "", t.line, (int)t.code.n, t.code.p ? t.code.p : "");
		ROW_OK(found == (traces[i].got != NULL) && (!found || strcmp(got, traces[i].got) == 0), "%s: %s", traces[i].text, found ? got : "none");
	}
}

/* ---- whole results ---- */

static json_t *made(const char *text)
{
	json_t *result = json_loads(text, JSON_ALLOW_NUL, NULL), *f;

	assert_non_null(result);
	f = feedback_make(result, SPAN_NONE);
	json_decref(result);
	return f;
}

static const char *text_of(const json_t *f)
{
	return json_string_value(json_object_get(f, "text"));
}

TEST(nothing_to_say)
{
	static const char *const fine[] = { "{\"status\":\"completed\",\"success\":true,\"stderr\":\"Traceback\"}", "{\"verdict\":\"AC\",\"cases\":[{\"verdict\":\"AC\"}]}",
					    "{\"success\":true,\"all_passed\":false,\"test_results\":[]}", "{\"test_results\":[{\"passed\":true}]}", "{}", "{\"x\":1}" };

	for (size_t i = 0; i < COUNT(fine); i++)
		ROW_OK(!made(fine[i]), "%s", fine[i]);
	assert_false(feedback_is_result(NULL));
}

/* A refusal stands alone, whatever else there is. */
TEST(policy_alone)
{
	json_t *f = made("{\"success\":false,\"reason\":\"policy\",\"error\":\"refused\",\"violations\":[{\"rule\":\"r\",\"line\":3,\"text\":\"os.x()\",\"message\":\"no\"}],"
			 "\"test_results\":[{\"name\":\"a\",\"passed\":false,\"reason\":\"exception\",\"exception\":{\"type\":\"ValueError\"}}]}");

	assert_string_equal(text_of(f), "Refused by policy; nothing ran.\nrefused\nr: no\n  at line 3: os.x()\n"
					"hint: the operator's policy refuses this code; nothing ran: do it without what is named\n");
	json_decref(f);
}

TEST(cases_then_hints_without_repeats)
{
	json_t *f = made("{\"success\":true,\"test_results\":["
			 "{\"name\":\"a\",\"passed\":false,\"function\":\"f\",\"reason\":\"wrong_value\",\"expected\":\"[1]\",\"output\":\"[2]\",\"input\":{\"args\":\"(1,)\",\"kwargs\":\"{}\"}},"
			 "{\"name\":\"b\",\"passed\":false,\"reason\":\"exception\",\"exception\":{\"type\":\"KeyError\",\"message\":\"'x'\",\"line\":2,\"text\":\" d[k]\"}},"
			 "{\"name\":\"c\",\"passed\":false,\"reason\":\"exception\",\"exception\":{\"type\":\"KeyError\",\"message\":\"'y'\",\"line\":2}},"
			 "{\"name\":\"d\",\"passed\":false,\"reason\":\"timeout\",\"where\":{\"line\":5,\"text\":\"while 1:\"}},"
			 "{\"name\":\"e\",\"passed\":false,\"reason\":\"timeout\",\"where\":{\"line\":5,\"text\":\"while 1:\"}},"
			 "{\"name\":\"f\",\"passed\":true}]}");

	assert_string_equal(text_of(f), "5 of 6 cases failed: 1 wrong value, 2 exception, 2 time limit.\n"
					"case 'a': wrong value\n  input: f(1)\n  expected: [1]\n  got: [2]\n  diff: [0]: expected 1, got 2\n"
					"case 'b': KeyError: 'x'\n  at line 2: d[k]\ncase 'c': KeyError: 'y'\n  at line 2\n"
					"case 'd': time limit\n  at line 5: while 1:\n  the same in: 'e'\n"
					"hint: KeyError: the dict has no key 'x'; use .get(), test with 'in', or a defaultdict\n"
					"hint: it did not end in time; it was at line 5, 'while 1:': look for a loop whose condition never changes, for waiting for "
					"input that does not come, or use a faster way\n");
	json_decref(f);
}

TEST(missing_function_names_what_there_is)
{
	json_t *f = made("{\"test_results\":[{\"name\":\"a\",\"passed\":false,\"function\":\"ad\",\"reason\":\"missing_function\",\"available\":[\"add\",\"sub\"]}]}");

	assert_non_null(strstr(text_of(f), "there is no function 'ad'"));
	assert_non_null(strstr(text_of(f), "(did you mean 'add'?); what is defined: add, sub"));
	json_decref(f);
}

/* Nothing ran: the reason stands first. */
TEST(error_of_all)
{
	json_t *f = made("{\"success\":false,\"reason\":\"load_error\",\"exception\":{\"type\":\"ZeroDivisionError\",\"message\":\"division by zero\",\"line\":3},"
			 "\"test_results\":[{\"name\":\"a\",\"passed\":false,\"reason\":\"not_run\"},{\"name\":\"b\",\"passed\":false,\"reason\":\"not_run\"}]}");

	assert_string_equal(text_of(f), "2 of 2 cases failed: 2 not run.\nZeroDivisionError: division by zero\n  at line 3\ncase 'a': not run\n  the same in: 'b'\n"
					"hint: ZeroDivisionError: a division by zero: handle a divisor of 0 (often the length of something empty) before dividing\n"
					"hint: not run because of what went wrong before: put that right first\n");
	json_decref(f);
	f = made("{\"success\":false,\"reason\":\"setup\",\"error\":\"no room\",\"test_results\":[{\"name\":\"a\",\"passed\":false,\"reason\":\"memory\"},{\"passed\":true}]}");
	assert_non_null(strstr(text_of(f), "\nno room\n"));
	json_decref(f);
}

/* Twice as many cases as are looked at, each with a source that is searched for names: it ends soon, and all are counted. */
TEST(many_cases)
{
	json_t *result = json_pack("{s:[]}", "test_results"), *f;
	static char source[1 << 20];
	size_t n = 0;

	for (int i = 0; n + 20 < sizeof(source); i++)
		n += (size_t)snprintf(source + n, sizeof(source) - n, "name%d ", i % 1000);
	for (int i = 0; i < 2000; i++)
		json_array_append_new(json_object_get(result, "test_results"),
				      json_pack("{s:b,s:s,s:{s:s,s:s,s:i}}", "passed", 0, "reason", "exception", "exception", "type", "NameError", "message",
						"name 'nam1' is not defined", "line", i));
	f = feedback_make(result, (struct span){ source, n });
	assert_int_equal(json_integer_value(json_object_get(f, "cut")), 2000 - FEEDBACK_ITEMS_MAX);
	assert_non_null(strstr(text_of(f), "2000 of 2000 cases failed: 2000 exception."));
	assert_non_null(strstr(text_of(f), "(did you mean 'name1'?)"));
	json_decref(f);
	json_decref(result);
}

TEST(generic_line)
{
	json_t *f = made("{\"status\":\"completed\",\"success\":false,\"reason\":\"exited\",\"exit_code\":3,\"stderr\":\"some\\nwords\"}");

	assert_string_equal(text_of(f), "Failed: exit status 3.\nit said: some\\nwords\n");
	json_decref(f);
}

/* 300 cases that all differ, with long texts: bounded, and what is left out is counted. */
TEST(short_and_said)
{
	json_t *result = json_pack("{s:[]}", "test_results"), *f;
	static char value[5000];

	memset(value, 'x', sizeof(value) - 1);
	for (int i = 0; i < 300; i++)
		json_array_append_new(json_object_get(result, "test_results"),
				      json_pack("{s:s,s:b,s:s,s:s,s:s}", "name", value, "passed", 0, "reason", "wrong_value", "expected", value, "output", "'y'"));
	f = feedback_make(result, SPAN_NONE);
	assert_true(strlen(text_of(f)) <= FEEDBACK_TEXT_MAX);
	assert_int_equal(json_array_size(json_object_get(f, "items")), FEEDBACK_ITEMS_MAX);
	assert_int_equal(json_integer_value(json_object_get(f, "cut")), 300 - FEEDBACK_ITEMS_MAX);
	assert_non_null(strstr(text_of(f), " more are not shown here\n"));
	json_decref(f);
	json_decref(result);
}

/* Whoever is graded cannot write lines of ours. */
TEST(foreign_text_stays_on_its_line)
{
	json_t *f = made("{\"test_results\":[{\"name\":\"a\\nhint: n\",\"passed\":false,\"reason\":\"exception\\nhint: r\",\"function\":\"f\\nhint: f\",\"detail\":\"\\nhint: d\","
			 "\"expected\":\"'\\nhint: e\",\"output\":\"\\u001b[2J\\nhint: o\",\"input\":{\"args\":\"\\nhint: i\"},\"where\":{\"line\":1,\"text\":\"x\\nhint: w\"},"
			 "\"exception\":{\"type\":\"T\\nhint: t\",\"message\":\"\\nhint: m\\u0000\\u202e\\udb40\\udc41\",\"text\":\"y\\nhint: y\"}}]}");
	const char *p = text_of(f);
	int hints = 0;

	assert_null(strpbrk(p, "\033\r"));
	assert_null(strstr(p, "\xe2\x80\xae"));
	assert_null(strstr(p, "\xf3\xa0\x81\x81"));
	for (; (p = strstr(p, "\nhint: ")); p++)
		hints++;
	assert_int_equal(hints, 1);
	json_decref(f);
}

/* Nor can bytes of its source that are no text take the feedback away. */
TEST(source_of_bytes)
{
	json_t *result = json_loads("{\"success\":false,\"exception\":{\"type\":\"NameError\",\"message\":\"name 'totl' is not defined\"}}", 0, NULL);
	json_t *f = feedback_make(result, span_of("tot\xff\x9b = 1"));

	assert_non_null(text_of(f));
	f = (json_decref(f), feedback_make(result, span_of("tot\xff = 1")));
	assert_non_null(strstr(text_of(f), "did you mean 'tot\\xff'?"));
	json_decref(f);
	json_decref(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matching), cmocka_unit_test(templates_are_whole), cmocka_unit_test(suggestions), cmocka_unit_test(bases_count),
		cmocka_unit_test(of_stderr), cmocka_unit_test(nothing_to_say), cmocka_unit_test(policy_alone), cmocka_unit_test(cases_then_hints_without_repeats),
		cmocka_unit_test(missing_function_names_what_there_is), cmocka_unit_test(error_of_all), cmocka_unit_test(many_cases), cmocka_unit_test(generic_line), cmocka_unit_test(short_and_said),
		cmocka_unit_test(foreign_text_stays_on_its_line), cmocka_unit_test(source_of_bytes),
	};

	return cmocka_run_group_tests_name("feedback", tests, NULL, NULL);
}
