/* SPDX-License-Identifier: Apache-2.0 */
/* The error in what a program wrote to its stderr: type, message, line. */
#include "grade/trace.h"

#include <ctype.h>
#include <string.h>

#define TEXT_MAX (1 << 20)

/* Frames in these are the language's own. */
static const char *const not_users[] = { "/usr/", "/lib", "/etc/", "<frozen ", "node:", "internal/" };

static bool is_users(struct span file)
{
	for (size_t i = 0; i < sizeof(not_users) / sizeof(not_users[0]); i++)
		if (span_starts(file, not_users[i]))
			return false;
	return file.n > 0;
}

/* "/workspace/main.py" is main.py to whoever wrote it. */
static struct span short_file(struct span file)
{
	if (span_starts(file, "file://"))
		file = span_from(file, 7);
	return span_starts(file, "/workspace/") ? span_from(file, 11) : file;
}

static size_t indent(struct span s)
{
	size_t n = 0;

	while (n < s.n && (s.p[n] == ' ' || s.p[n] == '\t'))
		n++;
	return n;
}

/* Length of a dotted name at the start. */
static size_t name_length(struct span s)
{
	size_t n = 0;

	while (n < s.n && (isalnum((unsigned char)s.p[n]) || s.p[n] == '_' || s.p[n] == '.' || (unsigned char)s.p[n] >= 0x80))
		n++;
	return n && !isdigit((unsigned char)s.p[0]) && s.p[0] != '.' && n < 200 ? n : 0;
}

/* ---- Python ---- */

/* File "/workspace/main.py", line 3, in f */
static bool python_frame(struct span s, struct trace *f)
{
	long quote;
	size_t n;

	s = span_trim(s);
	if (!span_starts(s, "File \""))
		return false;
	s = span_from(s, 6);
	quote = span_find(s, "\", line ");
	if (quote < 0)
		return false;
	*f = (struct trace){ .file = span_head(s, (size_t)quote) };
	s = span_from(s, (size_t)quote + 8);
	f->line = span_number(s, &n);
	s = span_from(s, n);
	if (span_starts(s, ", in "))
		f->function = span_from(s, 5);
	return f->line > 0;
}

/* Exception groups draw a frame around their lines. */
static struct span without_bars(struct span s)
{
	struct span t = span_from(s, indent(s));

	return span_starts(t, "| ") || span_starts(t, "+ ") ? span_from(t, 2) : s;
}

static bool python_error(struct span s, struct trace *t)
{
	size_t n = name_length(s);

	if (!n || (n < s.n && s.p[n] != ':'))
		return false;
	t->type = span_head(s, n);
	t->message = span_trim(span_from(s, n + 1));
	return true;
}

static bool parse_python(struct span text, struct trace *t)
{
	struct trace user = { 0 }, frame;
	struct span line;
	bool frames = false, want_code = false, found = false;

	while (span_line(&text, &line)) {
		line = without_bars(line);
		if (span_starts(span_trim(line), "Traceback (most recent call last)") || span_starts(line, "Exception Group Traceback")) {
			user = (struct trace){ 0 };
			frames = want_code = false;
		} else if (python_frame(line, &frame)) {
			frames = true;
			want_code = is_users(frame.file);
			if (want_code)
				user = frame;
		} else if (indent(line)) {
			if (want_code)
				user.code = span_trim(line);
			want_code = false;
		} else if (frames && python_error(line, &user)) {
			*t = user;
			t->language = "python";
			found = true;
			frames = want_code = false;
		}
	}
	return found;
}

/* ---- node ---- */

/* /workspace/main.js:2, or with a column; *where gets the line. */
static bool node_place(struct span s, struct span *file, long *line)
{
	size_t at = s.n, n;
	long number[2] = { 0, 0 };
	int count = 0;

	while (count < 2) {
		size_t end = at;

		while (at && isdigit((unsigned char)s.p[at - 1]))
			at--;
		if (at == end || !at || s.p[at - 1] != ':')
			break;
		number[count++] = span_number((struct span){ s.p + at, end - at }, &n);
		at--;
	}
	if (!count)
		return false;
	/* Without a number it ended before the colon that was taken off last. */
	*file = span_head(s, number[count - 1] ? at : 0);
	while (span_ends(*file, ":"))
		file->n--;
	*line = number[count - 1];
	return *line > 0 && file->n > 0;
}

/* "    at f (/workspace/main.js:2:15)" */
static bool node_frame(struct span s, struct span *file, long *line, struct span *function)
{
	long open;

	s = span_trim(s);
	if (!span_starts(s, "at "))
		return false;
	s = span_from(s, 3);
	open = span_find(s, " (");
	*function = SPAN_NONE;
	if (open >= 0 && span_ends(s, ")")) {
		*function = span_head(s, (size_t)open);
		s = span_from(s, (size_t)open + 2);
		s.n--;
	}
	return node_place(s, file, line);
}

/* "TypeError: x", "Error [ERR_X]: y", "AssertionError" */
static bool node_error(struct span s, struct trace *t)
{
	size_t n = name_length(s);
	struct span type = span_head(s, n), rest = span_from(s, n);
	long close;

	if (!span_ends(type, "Error") && !span_ends(type, "Exception") && !span_ends(type, "Warning"))
		return false;
	if (span_starts(rest, " [") && (close = span_find(rest, "]")) > 0)
		rest = span_from(rest, (size_t)close + 1);
	if (rest.n && rest.p[0] != ':')
		return false;
	t->type = type;
	t->message = span_trim(span_from(rest, 1));
	return true;
}

static bool parse_node(struct span text, struct trace *t)
{
	struct span line, file, function, head_code = SPAN_NONE, head_file = SPAN_NONE;
	long number, head_line = 0;
	bool found = false, placed = false, want_code = false, want_value = false;

	while (span_line(&text, &line)) {
		if (want_code) {
			head_code = span_trim(line);
			want_code = false;
			continue;
		}
		if (!indent(line) && line.n && node_place(line, &file, &number) && span_find(line, " ") < 0) {
			head_file = file;
			head_line = number;
			want_code = true;
			head_code = SPAN_NONE;
		} else if (!indent(line) && node_error(line, t)) {
			found = true;
			placed = false;
			t->language = "node";
			t->line = 0;
			t->code = t->file = t->function = SPAN_NONE;
			if (is_users(head_file) && head_line) {
				t->line = head_line;
				t->file = head_file;
				t->code = head_code;
			}
		} else if (found && !placed && node_frame(line, &file, &number, &function) && is_users(file)) {
			placed = true;
			t->function = function;
			if (!t->line || t->line == number) {
				t->line = number;
				t->file = file;
			}
		} else if (head_line && !found && span_is(span_trim(line), "^")) {
			want_value = true;
		} else if (want_value && !found && span_trim(line).n) {
			/* throw 5 */
			*t = (struct trace){ .language = "node", .type = span_of("throw"), .message = line, .line = head_line, .file = head_file,
					     .code = head_code };
			/* An error may still come. */
			want_value = false;
		}
	}
	/* Anybody can print "Error: x"; node says where it was. */
	return (found && (head_line || placed)) || (t->language && span_is(t->type, "throw"));
}

/* ---- bash ---- */

/* /workspace/main.sh: line 3: foo: command not found */
static bool parse_bash(struct span text, struct trace *t)
{
	struct span line;
	bool found = false;

	while (span_line(&text, &line)) {
		long at = span_find(line, ": line "), number;
		struct span rest;
		size_t n;

		if (at <= 0 || indent(line))
			continue;
		rest = span_from(line, (size_t)at + 7);
		number = span_number(rest, &n);
		rest = span_from(rest, n);
		if (!number || !span_starts(rest, ": "))
			continue;
		rest = span_from(rest, 2);
		/* After a syntax error bash shows the line itself: `echo )' */
		if (found && t->line == number && span_starts(rest, "`") && span_ends(rest, "'")) {
			t->code = span_from(rest, 1);
			t->code.n--;
			continue;
		}
		found = true;
		*t = (struct trace){ .language = "bash", .type = span_of("bash"), .message = rest, .file = span_head(line, (size_t)at), .line = number };
	}
	return found;
}

/* What a command that bash started said last: "cat: x: No such file or directory". */
static bool parse_last_line(struct span text, struct trace *t)
{
	struct span line;
	bool found = false;

	while (span_line(&text, &line))
		if (span_trim(line).n) {
			*t = (struct trace){ .language = "bash", .type = span_of("bash"), .message = span_trim(line) };
			found = true;
		}
	return found;
}

/* ---- compilers ---- */

/* `skip`: what of it is not the message. */
static const struct {
	const char *word;
	size_t skip;
} error_words[] = { { ": error: ", 9 }, { ": fatal error: ", 15 }, { ": error TS", 8 }, { ": error[", 2 } };

/* main.c:3:5: error: …, Main.java:3: error: …, main.ts(3,5): error TS1: … */
static bool compiler_line(struct span s, struct trace *t)
{
	struct span before = SPAN_NONE, file;
	long at = -1, number, open;
	size_t n;

	for (size_t i = 0; i < sizeof(error_words) / sizeof(error_words[0]) && at < 0; i++) {
		at = span_find(s, error_words[i].word);
		if (at >= 0) {
			before = span_head(s, (size_t)at);
			t->message = span_from(s, (size_t)at + error_words[i].skip);
		}
	}
	/* go: ./main.go:3:2: undefined: x */
	if (at < 0 && (open = span_find(s, ".go:")) > 0) {
		long colon;

		before = span_head(s, (size_t)open + 3);
		s = span_from(s, (size_t)open + 4);
		number = span_number(s, &n);
		colon = span_find(s, ": ");
		if (!number || colon < 0)
			return false;
		*t = (struct trace){ .type = span_of("compile"), .message = span_from(s, (size_t)colon + 2), .file = before, .line = number };
		return true;
	}
	if (at < 0)
		return false;
	t->type = span_of("compile");
	if (node_place(before, &file, &number)) {
		t->file = file;
		t->line = number;
	} else if (span_ends(before, ")") && (open = span_find(before, "(")) > 0) {
		t->file = span_head(before, (size_t)open);
		t->line = span_number(span_from(before, (size_t)open + 1), &n);
	}
	return true;
}

/* "    3 |   int x = y;" */
static bool quoted_code(struct span s, struct trace *t)
{
	size_t n;
	long number;

	s = span_from(s, indent(s));
	number = span_number(s, &n);
	s = span_from(s, n);
	if (!number || number != t->line || !span_starts(span_from(s, indent(s)), "|"))
		return false;
	t->code = span_trim(span_from(s, indent(s) + 1));
	return true;
}

static bool parse_compiler(struct span text, struct trace *t)
{
	struct span line;
	bool found = false;

	while (span_line(&text, &line)) {
		if (!found) {
			*t = (struct trace){ 0 };
			/* rust says where in the line after: " --> /workspace/main.rs:2:5" */
			if (span_starts(line, "error[") || span_starts(line, "error: ")) {
				long colon = span_find(line, ": ");

				t->type = span_of("compile");
				t->message = span_from(line, colon < 0 ? 0 : (size_t)colon + 2);
				found = true;
			} else {
				found = compiler_line(line, t);
			}
			continue;
		}
		if (!t->line && span_starts(span_trim(line), "--> ")) {
			struct span file;
			long number;

			if (node_place(span_from(span_trim(line), 4), &file, &number)) {
				t->file = file;
				t->line = number;
			}
		} else if (quoted_code(line, t) || (!t->line && !line.n)) {
			break;
		} else if (span_ends(t->file, ".java")) {
			t->code = span_trim(line);
			break;
		}
	}
	if (found)
		t->language = "compiler";
	return found;
}

/* ---- all of them ---- */

static const struct {
	const char *language;
	bool (*parse)(struct span text, struct trace *t);
	bool only_named; /* tried for its language alone: it would see an error in anything */
} forms[] = {
	{ "python", parse_python, false },	{ "node", parse_node, false },	     { "typescript", parse_node, true },
	{ "typescript", parse_compiler, true }, { "bash", parse_bash, false },	     { "bash", parse_last_line, true },
	{ "compiler", parse_compiler, false },
};
#define FORMS (sizeof(forms) / sizeof(forms[0]))

bool trace_parse(struct span text, const char *language, struct trace *t)
{
	struct trace got = { 0 };
	bool found = false, known = false;

	if (text.n > TEXT_MAX)
		text = span_from(text, text.n - TEXT_MAX);
	for (size_t i = 0; i < FORMS && language && !known; i++)
		known = strcmp(language, forms[i].language) == 0;
	for (size_t i = 0; i < FORMS && !found; i++) {
		if (known ? strcmp(language, forms[i].language) != 0 : forms[i].only_named)
			continue;
		got = (struct trace){ 0 };
		found = forms[i].parse(text, &got);
	}
	if (!found)
		return false;
	got.file = short_file(got.file);
	*t = got;
	return true;
}
