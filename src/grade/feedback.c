/* SPDX-License-Identifier: Apache-2.0 */
/* Feedback: from a result to what somebody needs to put the code right. */
#include "grade/feedback.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grade/advice.h"
#include "grade/diff.h"
#include "grade/near.h"
#include "grade/trace.h"

#define VALUE_MAX   200 /* characters of an input, an expected value, an answer */
#define MESSAGE_MAX 200
#define CODE_MAX    120
#define NAME_MAX_   60
#define HINTS_MAX   6
#define CASES_MAX   1000 /* failed cases that are looked at; the others are counted */
#define SAME_MAX    5	/* names of cases that fail in the same way */
#define HINTS_ROOM  1600 /* bytes of the text that cases leave for hints */

/* ---- words ---- */

/* Reasons of cases and runs, and verdicts of judges, as one says them. `values`: expected and got are what it is about. */
static const struct reason {
	const char *name, *label;
	bool values;
} reasons[] = {
	{ "wrong_value", "wrong value", true },
	{ "wrong_type", "wrong type", true },
	{ "presentation", "only the white space is wrong", true },
	{ "exception", "exception", false },
	{ "no_exception", "no exception was raised", true },
	{ "timeout", "time limit", false },
	{ "wall_time", "wall-clock limit", false },
	{ "cpu_time", "CPU time limit", false },
	{ "memory", "memory limit", false },
	{ "output", "too much output", false },
	{ "crashed", "crashed", false },
	{ "signal", "ended by a signal", false },
	{ "exited", "ended the process", false },
	{ "unencodable", "the answer is no plain data", false },
	{ "args_unencodable", "the arguments afterwards are no plain data", false },
	{ "missing_function", "the function is missing", false },
	{ "load_error", "the solution cannot be loaded", false },
	{ "syntax", "syntax error", false },
	{ "policy", "refused by policy", false },
	{ "tampering", "tampering", false },
	{ "not_run", "not run", false },
	{ "syscall", "forbidden system call", false },
	{ "busy", "no room", false },
	{ "cancelled", "called off", false },
	{ "setup", "belljar could not set up the jar", false },
	{ "internal", "belljar failed", false },
	{ "failed", "failed", true },
};

static const struct {
	const char *verdict, *reason;
} verdicts[] = {
	{ "WA", "wrong_value" }, { "PE", "presentation" }, { "TLE", "timeout" }, { "MLE", "memory" },
	{ "OLE", "output" },	 { "RE", "exception" },	   { "CE", "syntax" },	 { "JE", "internal" },
};

static const struct reason *reason_row(const char *name)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strcmp(reasons[i].name, name) == 0)
			return &reasons[i];
	return &reasons[sizeof(reasons) / sizeof(reasons[0]) - 1];
}

/* ---- reading a result ---- */

/* One thing to say. Strings are clean; NULL: none. */
struct item {
	const char *kind, *name, *reason, *type, *text, *input, *expected, *got, *code, *suggestion, *key;
	struct diff diff;
	long line;
	struct strlist same; /* further cases that fail so */
	size_t same_more;
	struct span signature;
	bool values;
	bool untyped;	     /* the suggestion is not about the type of the exception */
};

struct maker {
	struct arena arena;
	const json_t *result;
	struct span source;
	const char *language;
	bool judge; /* cases are programs: their answers are output */
	struct item items[FEEDBACK_ITEMS_MAX];
	size_t n, cut;	/* cut: failed cases without an item */
	size_t failed, total;
	size_t by_reason[sizeof(reasons) / sizeof(reasons[0])];
};

static struct span span_value(const json_t *v)
{
	return json_is_string(v) ? (struct span){ json_string_value(v), json_string_length(v) } : SPAN_NONE;
}

static struct span get(const json_t *o, const char *name)
{
	return span_value(json_object_get(o, name));
}

/* The first of some names ("a|b") that is there and not null. */
static const json_t *get_any(const json_t *o, const char *names)
{
	char name[40];

	while (*names) {
		size_t n = strcspn(names, "|");
		const json_t *v;

		snprintf(name, sizeof(name), "%.*s", (int)n, names);
		v = json_object_get(o, name);
		if (v && !json_is_null(v))
			return v;
		names += n + (names[n] == '|');
	}
	return NULL;
}

/* A value for people: strings as they are, all else as JSON. NULL: it is not there. */
static const char *show(struct maker *m, const json_t *v, size_t max)
{
	char *text;
	const char *shown;

	if (!v || json_is_null(v))
		return NULL;
	if (json_is_string(v))
		return text_clean(&m->arena, span_value(v), max);
	text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
	shown = text_clean(&m->arena, span_of(text), max);
	free(text);
	return shown;
}

static void add_strings(struct maker *m, struct strlist *to, const json_t *list)
{
	size_t i;
	const json_t *v;

	json_array_foreach(list, i, v) {
		if (i < 256 && json_is_string(v) && !memchr(json_string_value(v), '\0', json_string_length(v)))
			strlist_add(&m->arena, to, json_string_value(v));
	}
}

/* The line's text out of the source, where the result does not have it. */
static struct span source_line(const struct maker *m, long line)
{
	struct span rest = m->source, text = SPAN_NONE;

	for (long i = 0; i < line; i++)
		if (!span_line(&rest, &text))
			return SPAN_NONE;
	return line > 0 ? text : SPAN_NONE;
}

static const char *signal_name(struct maker *m, const json_t *o)
{
	const json_t *v = json_object_get(o, "signal");
	const char *name = json_is_integer(v) ? sigabbrev_np((int)json_integer_value(v)) : NULL;

	return name ? arena_fmt(&m->arena, "SIG%s", name) : NULL;
}

/* ---- errors ---- */

/* What is known of the error of a case or a run, from its exception object, or from what was printed. */
static void read_error(struct maker *m, const json_t *o, struct advice_in *in, struct trace *t)
{
	const json_t *x = json_object_get(o, "exception"), *where = json_object_get(o, "where");

	*t = (struct trace){ 0 };
	if (json_is_object(x)) {
		t->type = get(x, "type");
		t->message = get(x, "message");
		t->code = get(x, "text");
		t->function = get(x, "function");
		t->line = (long)json_integer_value(json_object_get(x, "line"));
		add_strings(m, &in->bases, json_object_get(x, "bases"));
		add_strings(m, &in->near, json_object_get(x, "near"));
	} else if (json_is_string(x)) {
		trace_parse(span_value(x), m->language, t);
	}
	if (!t->type.n && !t->line && json_is_object(where)) {
		t->line = (long)json_integer_value(json_object_get(where, "line"));
		t->code = get(where, "text");
	}
	if (t->line < 0 || t->line > 100000000)
		t->line = 0;
}

/* Looks into stderr, of the compile step where that failed. */
static void read_stderr(struct maker *m, const json_t *o, struct trace *t)
{
	const json_t *compile = json_object_get(o, "compile");
	const json_t *v = json_object_get(compile, "exit_code");
	bool compiled = !compile || json_is_null(compile) || (json_is_integer(v) && json_integer_value(v) == 0);
	struct span text = get(compiled ? o : compile, "stderr");

	/* A check of the syntax speaks as the language itself does. */
	if (compiled || (!trace_parse(text, "compiler", t) && !trace_parse(get(compile, "stdout"), "compiler", t)))
		trace_parse(text, m->language, t);
}

/* Type, line and code of the error go into the item, and all that is known into what the table looks at. */
static void describe(struct maker *m, struct item *it, struct advice_in *in, const struct trace *t)
{
	in->language = t->language ? t->language : m->language ? m->language : "python";
	in->type = t->type;
	in->line = t->line;
	in->code = t->code.n ? t->code : source_line(m, t->line);
	in->source = m->source;
	if (t->type.n)
		in->subject = t->message;
	if (!in->function.n)
		in->function = t->function;
	it->line = t->line;
	it->code = span_trim(in->code).n ? text_clean(&m->arena, span_trim(in->code), CODE_MAX) : NULL;
	/* "bash" and "compile" are our own words for the table. */
	it->type = t->type.n && !span_is(t->type, "bash") && !span_is(t->type, "compile") ? text_clean(&m->arena, t->type, NAME_MAX_) : NULL;
}

static void advise(struct maker *m, struct item *it, struct advice_in *in)
{
	struct advice advice;

	advice_find(in, &m->arena, &advice);
	/* Advice about an exception that should have been another one is not about its own type. */
	it->untyped = !in->type.n;
	/* An exception that no row knows is somebody's own. */
	if (!advice.text && it->type) {
		in->type = SPAN_NONE;
		in->reason = "exception";
		advice_find(in, &m->arena, &advice);
	}
	it->suggestion = advice.text;
	it->key = advice.key;
}

/* "IndexError: list index out of range", "foo: command not found" */
static const char *error_text(struct maker *m, const struct item *it, const struct trace *t)
{
	const char *message = text_clean(&m->arena, t->message, MESSAGE_MAX);

	if (!it->type)
		return message[0] ? message : NULL;
	return message[0] ? arena_fmt(&m->arena, "%s: %s", it->type, message) : it->type;
}

static struct item *new_item(struct maker *m, const char *kind)
{
	if (m->n == FEEDBACK_ITEMS_MAX)
		return NULL;
	m->items[m->n].kind = kind;
	return &m->items[m->n++];
}

/* ---- cases ---- */

static bool case_passed(const json_t *c)
{
	const json_t *p = json_object_get(c, "passed");

	return json_is_boolean(p) ? json_is_true(p) : span_is(get(c, "verdict"), "AC");
}

/* A judge's verdict says more than how the process ended. */
static const char *case_reason(struct maker *m, const json_t *c)
{
	struct span reason = get(c, "reason"), verdict = get(c, "verdict");

	if (span_is(verdict, "RE") && span_is(reason, "signal"))
		return "crashed";
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
		if (span_is(verdict, verdicts[i].verdict))
			return verdicts[i].reason;
	if (json_is_null(json_object_get(c, "verdict")) && !reason.n)
		return "not_run";
	return reason.n ? text_clean(&m->arena, reason, 40) : "failed";
}

/* f(1, 2, **{'k': 3}) of {args: "(1, 2)", kwargs: "{'k': 3}"}; a program's stdin as it is. */
static const char *case_input(struct maker *m, const json_t *c)
{
	const json_t *input = get_any(c, "input|stdin|args");
	struct span args = get(input, "args"), kwargs = get(input, "kwargs");
	const char *function = text_clean(&m->arena, get(c, "function"), NAME_MAX_);

	if (!json_is_object(input) || (!args.n && !kwargs.n))
		return show(m, input, VALUE_MAX);
	if (args.n >= 2 && strchr("([", args.p[0]) && strchr(")]", args.p[args.n - 1])) {
		args = span_trim(span_head(span_from(args, 1), args.n - 2));
		if (span_ends(args, ","))
			args.n--;
	}
	if (span_is(kwargs, "{}"))
		kwargs = SPAN_NONE;
	return arena_fmt(&m->arena, "%s(%s%s%s)", function, text_clean(&m->arena, args, VALUE_MAX), args.n && kwargs.n ? ", **" : kwargs.n ? "**" : "",
			 text_clean(&m->arena, kwargs, VALUE_MAX));
}

/* What differs where the values are not shown whole: whoever compared them has found the place. */
static void far_diff(struct maker *m, const json_t *differs, struct item *it)
{
	const json_t *at = json_object_get(differs, "at");
	const char *path = text_clean(&m->arena, get(differs, "path"), NAME_MAX_), *place = "";

	if (json_is_integer(at))
		place = arena_fmt(&m->arena, "differs from %s %ld on: ", text_clean(&m->arena, get(differs, "unit"), 20), (long)json_integer_value(at) + 1);
	it->diff = (struct diff){ 0 };
	strlist_add(&m->arena, &it->diff.lines,
		    arena_fmt(&m->arena, "%s%s%sexpected %s, got %s", path, path[0] ? ": " : "", place, text_clean(&m->arena, get(differs, "expected"), VALUE_MAX),
			      text_clean(&m->arena, get(differs, "got"), VALUE_MAX)));
}

static void case_values(struct maker *m, const json_t *c, struct item *it)
{
	const json_t *expected = get_any(c, "expected|expected_output|expected_stdout"), *got = get_any(c, m->judge ? "got|output|stdout" : "output|got"),
		     *told = json_object_get(c, "diff"), *arguments = json_object_get(c, "arguments");

	if (json_is_object(arguments) && !m->judge) {
		expected = json_object_get(arguments, "expected");
		got = json_object_get(arguments, "got");
	}
	it->expected = show(m, expected, VALUE_MAX);
	if (!it->expected)
		it->expected = show(m, get_any(c, "expected_exception|expected_type"), VALUE_MAX);
	if (!it->values)
		return;
	it->got = show(m, got, VALUE_MAX);
	/* A judge that compares by tokens or numbers knows best where it differs. */
	if (json_is_object(told)) {
		long line = (long)json_integer_value(json_object_get(told, "line"));
		const json_t *token = json_object_get(told, "token");

		strlist_add(&m->arena, &it->diff.lines,
			    arena_fmt(&m->arena, "line %ld%s: expected '%s', got '%s'", line,
				      json_is_integer(token) ? arena_fmt(&m->arena, ", token %ld", (long)json_integer_value(token)) : "",
				      text_clean(&m->arena, get(told, "expected"), NAME_MAX_), text_clean(&m->arena, get(told, "got"), NAME_MAX_)));
		return;
	}
	/* A type is no value: the detail says which one came. */
	if (!json_is_string(expected) || !json_is_string(got) || strcmp(it->reason, "no_exception") == 0 || (strcmp(it->reason, "wrong_type") == 0 && get(c, "detail").n))
		return;
	if (m->judge)
		diff_output(span_value(expected), span_value(got), &m->arena, &it->diff);
	else if (json_is_object(json_object_get(c, "differs")))
		far_diff(m, json_object_get(c, "differs"), it);
	else
		diff_values(span_value(expected), span_value(got), &m->arena, &it->diff);
}

static bool is_nothing(struct span value)
{
	return span_is(value, "None") || span_is(value, "undefined");
}

/* The text that a value is when it is printed: without the quotes of a string. */
static struct span printed_form(struct span value)
{
	if (value.n >= 2 && (value.p[0] == '\'' || value.p[0] == '"') && value.p[value.n - 1] == value.p[0])
		return span_head(span_from(value, 1), value.n - 2);
	return value;
}

/* Why a local name has no value: it hides one of the module, it is updated, or its branch was not run. */
static void know_unbound(struct maker *m, struct advice_in *in, const struct trace *t)
{
	struct span kept[3] = { 0 }, rest = m->source, line;
	const char *name;

	if (!advice_match("*local variable '{}'*", t->message, kept) || !kept[0].n || kept[0].n > NAME_MAX_)
		return;
	name = arena_dup_len(&m->arena, kept[0].p, kept[0].n);
	in->reason = span_starts(span_trim(in->code), arena_fmt(&m->arena, "%s ", name)) ? "unbound_update" : "unbound_path";
	while (span_line(&rest, &line))
		if (span_starts(line, arena_fmt(&m->arena, "%s =", name)))
			in->reason = "unbound_global";
	in->type = SPAN_NONE;
}

/* Answers whose mistake can be told from what came: rows of the table with a word of their own. */
static void know_mistake(struct maker *m, const json_t *c, struct item *it, struct advice_in *in, const struct trace *t)
{
	struct span wanted = get(c, "expected_exception"), got = get(c, "output"), expected = get(c, "expected"), said = span_trim(get(c, "stdout"));
	bool value = strcmp(it->reason, "wrong_value") == 0 || strcmp(it->reason, "wrong_type") == 0;

	if (m->judge)
		return;
	if (strcmp(it->reason, "exited") == 0 && (span_starts(get(c, "detail"), "the s") || span_starts(get(c, "detail"), "while it was loaded"))) {
		in->reason = "exited_at_load";
		in->type = SPAN_NONE;
	} else if (strcmp(it->reason, "unencodable") == 0 && span_find(get(c, "detail"), "type coroutine") >= 0) {
		in->reason = "coroutine";
	} else if (strcmp(it->reason, "unencodable") == 0 && span_find(get(c, "detail"), "never settles") >= 0) {
		in->reason = "never_settles";
	} else if (it->type && span_is(t->type, "EOFError") && span_find(in->code, "input(") >= 0) {
		in->reason = "asked_input";
		in->type = SPAN_NONE;
	} else if (it->type && span_is(t->type, "UnboundLocalError") && t->line) {
		know_unbound(m, in, t);
	} else if (wanted.n && it->type) {
		in->reason = "other_exception";
		in->subject = span_of(arena_fmt(&m->arena, "%s instead of %s", it->type, text_clean(&m->arena, wanted, NAME_MAX_)));
		in->type = SPAN_NONE;
		it->text = arena_fmt(&m->arena, "expected %s, got %s", text_clean(&m->arena, wanted, NAME_MAX_), error_text(m, it, t));
	} else if (wanted.n) {
		in->subject = wanted;
		it->text = arena_fmt(&m->arena, "no exception was raised, %s is expected", text_clean(&m->arena, wanted, NAME_MAX_));
	} else if (json_is_object(json_object_get(c, "arguments"))) {
		in->reason = "changed_args";
		it->text = "wrong arguments after the call";
	} else if (value && is_nothing(got) && !is_nothing(expected)) {
		in->reason = !said.n ? "returned_nothing" : expected.n && span_same(said, printed_form(expected)) ? "printed_it" : "printed";
		in->subject = said;
	} else if (value && expected.n && got.n && !span_same(expected, got) && span_same(printed_form(expected), printed_form(got))) {
		in->reason = expected.p[0] == '\'' ? "not_text" : "text";
	}
}

/* Names of functions that do exist: told, or read from the source. */
static void add_functions(struct maker *m, const json_t *c, struct advice_in *in)
{
	const json_t *list = get_any(c, "available|names");

	if (!list)
		list = get_any(json_object_get(c, "exception"), "available|names");
	if (!list)
		list = get_any(m->result, "available|names|functions");
	add_strings(m, &in->names, list);
	if (!in->names.n && m->source.n)
		near_collect_functions(m->source, m->language ? m->language : "python", &m->arena, &in->names);
	if (!in->names.n)
		in->names = in->near;
}

/* Cases that fail in the same way become one item: twenty of a missing function say no more than one. */
static bool merge_case(struct maker *m, const struct item *it, const char *name)
{
	for (size_t i = 0; i < m->n && !it->values; i++) {
		struct item *other = &m->items[i];

		if (strcmp(other->kind, "case") != 0 || !span_same(other->signature, it->signature))
			continue;
		if (other->same.n < SAME_MAX)
			strlist_add(&m->arena, &other->same, name);
		else
			other->same_more++;
		return true;
	}
	return false;
}

static void make_case(struct maker *m, const json_t *c, size_t number)
{
	const json_t *exit_code = json_object_get(c, "exit_code");
	struct item it = { .kind = "case" }, *kept;
	struct advice_in in = { 0 };
	const struct reason *row;
	const char *error;
	struct trace t;

	it.reason = case_reason(m, c);
	row = reason_row(it.reason);
	m->by_reason[row - reasons]++;
	if (m->failed > CASES_MAX) {
		m->cut++;
		return;
	}
	it.name = get(c, "name").n ? text_clean(&m->arena, get(c, "name"), NAME_MAX_) : arena_fmt(&m->arena, "#%zu", number);
	in.reason = it.reason;
	it.values = row->values;
	read_error(m, c, &in, &t);
	/* Only what went wrong by an error has one in stderr, and all cases share that of loading. */
	if (!t.type.n && !t.line && !row->values && strcmp(it.reason, "not_run") != 0) {
		if (m->judge)
			read_stderr(m, c, &t);
		if (!t.type.n && (strcmp(it.reason, "load_error") == 0 || strcmp(it.reason, "syntax") == 0)) {
			read_error(m, m->result, &in, &t);
			if (!t.type.n)
				read_stderr(m, m->result, &t);
		}
	}
	if (strcmp(it.reason, "missing_function") == 0) {
		/* Its exception is the driver's own; the reason says more. */
		in.function = get(c, "function");
		add_functions(m, c, &in);
		t = (struct trace){ 0 };
	}
	if (signal_name(m, c))
		in.subject = span_of(signal_name(m, c));
	else if (m->judge && json_is_integer(exit_code) && json_integer_value(exit_code)) {
		in.subject = span_of(arena_fmt(&m->arena, "%d", (int)json_integer_value(exit_code)));
		if (strcmp(it.reason, "exception") == 0 && !t.type.n)
			in.reason = "exited";
	}
	describe(m, &it, &in, &t);
	error = error_text(m, &it, &t);
	it.text = error ? strcmp(it.reason, "exception") == 0 ? error : arena_fmt(&m->arena, "%s: %s", row->label, error) : row->label;
	if (!error && get(c, "function").n && strcmp(it.reason, "missing_function") == 0)
		it.text = arena_fmt(&m->arena, "there is no function '%s'", text_clean(&m->arena, get(c, "function"), NAME_MAX_));
	know_mistake(m, c, &it, &in, &t);
	it.signature = span_of(arena_fmt(&m->arena, "%s %ld %s", it.reason, it.line, it.text));
	if (merge_case(m, &it, it.name))
		return;
	kept = new_item(m, "case");
	if (!kept) {
		m->cut++;
		return;
	}
	advise(m, &it, &in);
	it.input = case_input(m, c);
	case_values(m, c, &it);
	/* Of these the first line says it already. */
	if (!it.diff.lines.n && get(c, "detail").n && !error && !get(c, "expected_exception").n && strcmp(it.reason, "missing_function") != 0)
		it.text = arena_fmt(&m->arena, "%s: %s", it.text, text_clean(&m->arena, get(c, "detail"), MESSAGE_MAX));
	*kept = it;
}

static const json_t *case_list(const json_t *result)
{
	const json_t *list = get_any(result, "test_results|cases|results");

	return json_is_array(list) ? list : NULL;
}

static void make_cases(struct maker *m)
{
	const json_t *list = case_list(m->result), *c;
	size_t i;

	json_array_foreach(list, i, c) {
		if (!json_is_object(c))
			continue;
		m->total++;
		if (case_passed(c))
			continue;
		m->failed++;
		make_case(m, c, i + 1);
	}
}

/* ---- policy ---- */

static bool is_refused(const json_t *result)
{
	const json_t *c;
	size_t i;

	if (span_is(get(result, "reason"), "policy"))
		return true;
	json_array_foreach(case_list(result), i, c) {
		if (span_is(get(c, "reason"), "policy"))
			return true;
	}
	return false;
}

static void add_violation(struct maker *m, const json_t *v)
{
	struct item *it = new_item(m, "policy");
	const char *rule, *message;

	if (!it)
		return;
	rule = show(m, get_any(v, "rule|id|name"), NAME_MAX_);
	message = show(m, get_any(v, "message|why|what"), MESSAGE_MAX);
	it->reason = "policy";
	it->line = (long)json_integer_value(json_object_get(v, "line"));
	if (it->line < 0)
		it->line = 0;
	it->code = show(m, get_any(v, "text|code"), CODE_MAX);
	it->text = json_is_string(v) ? show(m, v, MESSAGE_MAX) : arena_fmt(&m->arena, "%s%s%s", rule ? rule : "", rule && message ? ": " : "", message ? message : "");
	if (!it->text[0])
		it->text = "refused by policy";
}

static void make_policy(struct maker *m)
{
	struct advice_in in = { .reason = "policy" };
	const char *error = show(m, json_object_get(m->result, "error"), MESSAGE_MAX * 2), *const lists[] = { "violations", "denied" };
	struct advice advice;
	const json_t *v;
	struct item *it;
	size_t i;

	it = new_item(m, "policy");
	it->reason = "policy";
	it->text = error ? error : "the code was refused by policy; nothing ran";
	advice_find(&in, &m->arena, &advice);
	it->suggestion = advice.text;
	it->key = advice.key;
	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++)
		json_array_foreach(json_object_get(m->result, lists[k]), i, v) {
			if (m->n < 8)
				add_violation(m, v);
			else
				m->cut++;
		}
}

/* ---- the run itself ---- */

static void make_error(struct maker *m)
{
	const json_t *exit_code = json_object_get(m->result, "exit_code");
	const char *said = show(m, json_object_get(m->result, "error"), MESSAGE_MAX * 2), *error, *label;
	const json_t *lines = json_object_get(m->result, "limits_hit");
	struct advice_in in = { 0 };
	struct item *it = new_item(m, "error");
	struct trace t;

	if (!it)
		return;
	it->reason = get(m->result, "reason").n || get(m->result, "verdict").n ? case_reason(m, m->result) : "exited";
	in.reason = it->reason;
	read_error(m, m->result, &in, &t);
	/* Whoever was ended from outside may have printed anything before: its last error is not why it ended. */
	if (!t.type.n && (strcmp(it->reason, "exited") == 0 || strcmp(it->reason, "syntax") == 0 || strcmp(it->reason, "load_error") == 0))
		read_stderr(m, m->result, &t);
	if (strcmp(it->reason, "missing_function") == 0) {
		in.function = get(m->result, "function");
		add_functions(m, m->result, &in);
	}
	if (signal_name(m, m->result))
		in.subject = span_of(signal_name(m, m->result));
	else if (json_is_integer(exit_code) && json_integer_value(exit_code))
		in.subject = span_of(arena_fmt(&m->arena, "%d", (int)json_integer_value(exit_code)));
	describe(m, it, &in, &t);
	advise(m, it, &in);
	error = error_text(m, it, &t);
	label = strcmp(it->reason, "exited") == 0 && json_is_integer(exit_code) ?
		arena_fmt(&m->arena, "exit status %d", (int)json_integer_value(exit_code)) : reason_row(it->reason)->label;
	it->text = error ? error : said ? said : label;
	/* With something in stderr that no form knows, the generic line says more than a row for silence does. */
	if (!error && !said && strcmp(it->reason, "exited") == 0 && span_trim(get(m->result, "stderr")).n && !json_is_true(json_object_get(m->result, "success"))) {
		if (!in.subject.n || (!span_is(in.subject, "127") && !span_is(in.subject, "126")))
			it->suggestion = it->key = NULL;
	}
	size_t i;
	const json_t *v;
	json_array_foreach(lines, i, v) {
		struct advice_in felt = { .reason = json_string_value(v) };
		struct item *hint;
		struct advice advice;

		/* Limits that ended it are told already; these were felt. */
		if (!json_is_string(v) || (!span_is(span_value(v), "pids") && !span_is(span_value(v), "disk")) || !(hint = new_item(m, "hint")))
			continue;
		advice_find(&felt, &m->arena, &advice);
		hint->reason = json_string_value(v);
		hint->text = span_is(span_value(v), "pids") ? "the limit of processes and threads was reached" : "the disk was full";
		hint->suggestion = advice.text;
		hint->key = advice.key;
	}
}

/* No case was run: what is wrong is wrong with all of it. */
static bool none_ran(struct maker *m)
{
	const json_t *list = case_list(m->result), *c;
	size_t i;

	json_array_foreach(list, i, c) {
		if (strcmp(case_reason(m, c), "not_run") != 0)
			return false;
	}
	return true;
}

/* The result has an error that no case tells. */
static bool has_own_error(const struct maker *m)
{
	struct span reason = get(m->result, "reason");

	if (!reason.n || !get(m->result, "error").n)
		return false;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (m->by_reason[i] && span_is(reason, reasons[i].name))
			return false;
	return true;
}

/* Nothing fits: the error's own words. */
static void make_generic(struct maker *m)
{
	static const char *const places[] = { "error", "stderr", "exception", "reason", "detail", "result" };
	struct item *it = NULL;

	for (size_t i = 0; i < m->n; i++)
		if (m->items[i].suggestion || strcmp(m->items[i].kind, "case") == 0)
			return;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct span s = span_trim(get(m->result, places[i]));

		if (!s.n || (strcmp(places[i], "reason") == 0 && m->n) || !(it = new_item(m, "generic")))
			continue;
		it->text = text_clean(&m->arena, s, 200);
		/* What it is about stands there already. */
		if (m->n > 1 && strcmp(m->items[m->n - 2].text, it->text) == 0)
			m->n--;
		return;
	}
}

/* ---- writing ---- */

static void set_text(json_t *o, const char *name, const char *text)
{
	json_object_set_new(o, name, text ? json_string(text) : json_null());
}

static json_t *strings(const struct strlist *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(list, json_string(l->v[i]));
	return list;
}

static json_t *item_json(const struct item *it)
{
	json_t *o = json_object();

	set_text(o, "kind", it->kind);
	set_text(o, "case", it->name);
	set_text(o, "reason", it->reason);
	set_text(o, "type", it->type);
	set_text(o, "text", it->text);
	set_text(o, "input", it->input);
	set_text(o, "expected", it->expected);
	set_text(o, "got", it->got);
	json_object_set_new(o, "diff", strings(&it->diff.lines));
	json_object_set_new(o, "diff_more", json_integer((json_int_t)it->diff.more));
	json_object_set_new(o, "line", it->line ? json_integer(it->line) : json_null());
	set_text(o, "code", it->code);
	set_text(o, "suggestion", it->suggestion);
	json_object_set_new(o, "same", strings(&it->same));
	json_object_set_new(o, "same_more", json_integer((json_int_t)it->same_more));
	return o;
}

static const char *make_summary(struct maker *m)
{
	auto_buf out = BUF_INIT(2048);
	const char *sep = ": ";

	if (m->n && strcmp(m->items[0].kind, "policy") == 0)
		return "Refused by policy; nothing ran.";
	if (!m->failed) {
		buf_fmt(&out, "Failed: %s", m->n ? m->items[0].text : "no reason is known");
		if (m->n && m->items[0].line)
			buf_fmt(&out, " (line %ld)", m->items[0].line);
		buf_str(&out, ".");
		return arena_dup_len(&m->arena, out.data, out.len);
	}
	buf_fmt(&out, "%zu of %zu case%s failed", m->failed, m->total, m->total == 1 ? "" : "s");
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (!m->by_reason[i])
			continue;
		buf_fmt(&out, "%s%zu %s", sep, m->by_reason[i], reasons[i].label);
		sep = ", ";
	}
	buf_str(&out, ".");
	return arena_dup_len(&m->arena, out.data, out.len);
}

static void add_field(struct buf *out, const char *name, const char *value)
{
	if (value)
		buf_fmt(out, "  %s: %s\n", name, value);
}

/* `told`: its first line was said already. */
static void write_item(struct buf *out, const struct item *it, bool told)
{
	if (it->name)
		buf_fmt(out, "case '%s': %s\n", it->name, it->text);
	else if (!told)
		buf_fmt(out, "%s%s\n", strcmp(it->kind, "generic") == 0 ? "it said: " : "", it->text);
	add_field(out, "input", it->input);
	add_field(out, "expected", it->expected);
	add_field(out, "got", it->got);
	for (size_t i = 0; i < it->diff.lines.n; i++)
		add_field(out, "diff", it->diff.lines.v[i]);
	if (it->diff.more)
		buf_fmt(out, "  diff: and %zu more\n", it->diff.more);
	if (it->line)
		buf_fmt(out, "  at line %ld%s%s\n", it->line, it->code ? ": " : "", it->code ? it->code : "");
	else
		add_field(out, "at", it->code);
	if (it->same.n) {
		buf_str(out, "  the same in:");
		for (size_t i = 0; i < it->same.n; i++)
			buf_fmt(out, "%s '%s'", i ? "," : "", it->same.v[i]);
		if (it->same_more)
			buf_fmt(out, " and %zu more", it->same_more);
		buf_str(out, "\n");
	}
}

static void write_hints(struct maker *m, struct buf *out)
{
	size_t shown[HINTS_MAX], n = 0;

	for (size_t i = 0; i < m->n && n < HINTS_MAX; i++) {
		const struct item *it = &m->items[i];
		bool again = !it->suggestion;

		for (size_t k = 0; k < n && !again; k++)
			again = strcmp(m->items[shown[k]].key, it->key) == 0;
		if (again)
			continue;
		shown[n++] = i;
		if (out->len + strlen(it->suggestion) + 40 < FEEDBACK_TEXT_MAX)
			buf_fmt(out, "hint: %s%s%s\n", it->type && !it->untyped ? it->type : "", it->type && !it->untyped ? ": " : "", it->suggestion);
	}
}

static const char *make_text(struct maker *m, const char *summary)
{
	auto_buf out = BUF_INIT(FEEDBACK_TEXT_MAX);
	size_t left = m->cut;

	buf_fmt(&out, "%s\n", summary);
	for (size_t i = 0; i < m->n; i++) {
		auto_buf block = BUF_INIT(1 << 16);

		/* Of an error without cases the summary is the first line. */
		write_item(&block, &m->items[i], i == 0 && !m->failed && strcmp(m->items[0].kind, "error") == 0);
		if (out.len + block.len > FEEDBACK_TEXT_MAX - HINTS_ROOM)
			left += 1 + m->items[i].same.n + m->items[i].same_more;
		else
			buf_add(&out, block.data ? block.data : "", block.len);
	}
	if (left)
		buf_fmt(&out, "%zu more %s not shown here\n", left, left == 1 ? "is" : "are");
	write_hints(m, &out);
	return arena_dup_len(&m->arena, out.data, out.len);
}

/* ---- all of it ---- */

bool feedback_is_result(const json_t *result)
{
	return json_is_object(result) && (case_list(result) || get_any(result, "status|success|verdict|all_passed|test_results") ||
					  json_is_boolean(json_object_get(result, "passed")));
}

static bool went_well(const json_t *result)
{
	static const char *const flags[] = { "success", "all_passed", "passed" };
	const json_t *list = case_list(result), *c;
	struct span verdict = get(result, "verdict");
	size_t i;

	json_array_foreach(list, i, c) {
		if (json_is_object(c) && !case_passed(c))
			return false;
	}
	if (verdict.n)
		return span_is(verdict, "AC");
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (json_is_boolean(json_object_get(result, flags[i])))
			return json_is_true(json_object_get(result, flags[i]));
	return json_array_size(list) > 0;
}

static const char *language_of(const json_t *result)
{
	static const struct {
		const char *name, *is;
	} names[] = { { "python", "python" }, { "py", "python" }, { "node", "node" }, { "javascript", "node" }, { "js", "node" }, { "bash", "bash" },
		      { "sh", "bash" }, { "typescript", "typescript" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (span_is(get(result, "language"), names[i].name))
			return names[i].is;
	return NULL;
}

json_t *feedback_make(const json_t *result, struct span source)
{
	static const struct maker empty;
	struct maker *m;
	json_t *out, *items;
	const char *summary;

	if (!feedback_is_result(result) || went_well(result))
		return NULL;
	m = malloc(sizeof(*m));
	if (!m)
		return NULL;
	*m = empty;
	m->result = result;
	m->source = source;
	m->language = language_of(result);
	m->judge = get(result, "verdict").n || get(json_array_get(case_list(result), 0), "verdict").n;
	if (is_refused(result)) {
		make_policy(m);
	} else {
		bool none = none_ran(m);

		if (none)
			make_error(m);
		make_cases(m);
		if (!none && (!m->failed || has_own_error(m)))
			make_error(m);
		make_generic(m);
	}
	summary = make_summary(m);
	items = json_array();
	for (size_t i = 0; i < m->n; i++)
		json_array_append_new(items, item_json(&m->items[i]));
	out = json_object();
	set_text(out, "summary", summary);
	json_object_set_new(out, "items", items);
	set_text(out, "text", make_text(m, summary));
	json_object_set_new(out, "cut", json_integer((json_int_t)m->cut));
	arena_free(&m->arena);
	free(m);
	return out;
}
