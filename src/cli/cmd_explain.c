/* SPDX-License-Identifier: Apache-2.0 */
/* belljar explain: what went wrong in a result, and what to do about it. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "grade/feedback.h"
#include "run/client.h"

#define CODE_MAX (4 << 20)

struct explain {
	bool json;
	const char *code;
};

static const struct opt explain_opts[] = {
	{ "json", 'j', NULL, NULL, OPT_FLAG, offsetof(struct explain, json), NULL, 0, 0, 0, "print {n, id, feedback} for each result, one a line" },
	{ "code", 'c', "FILE", NULL, OPT_STR, offsetof(struct explain, code), NULL, 0, 0, 0,
	  "the program that was run: for the text of lines, and names that are near" },
	{ .name = NULL },
};

const struct opt_cmd cmd_explain_opts = {
	.name = "explain",
	.summary = "say what went wrong in a result, and what to do about it",
	.usage = "  belljar explain [OPTIONS] RESULT.json | -",
	.details = "Takes results of run, batch (one a line), test and judge (docs/feedback.md).\n"
		   "Exit status: 0 something was explained; 1 there is nothing to explain: all went well; 2 usage, or not a result.",
	.words = true,
	.opts = explain_opts,
};

struct counts {
	size_t seen, explained;
};

static int bad(struct err *e, const char *what, const char *name)
{
	err_sys(e, "%s%s", what, name);
	e->kind = ERR_USAGE;
	return -1;
}

static int read_code(const char *name, struct buf *out, struct err *e)
{
	auto_close int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char part[16384];
	ssize_t n;

	if (fd < 0)
		return bad(e, "--code: ", name);
	while ((n = read(fd, part, sizeof(part))) > 0)
		if (buf_add(out, part, (size_t)n) < 0)
			return err_set(e, ERR_USAGE, "--code: %.200s is larger than %d MB", name, CODE_MAX >> 20);
	return n < 0 ? bad(e, "--code: ", name) : 0;
}

static FILE *open_results(const char *name, struct err *e)
{
	int fd = strcmp(name, "-") == 0 ? dup(0) : open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	struct stat st;

	if (!in) {
		bad(e, "", name);
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		err_set(e, ERR_USAGE, "%.200s is a folder, not a result", name);
		fclose(in);
		return NULL;
	}
	return in;
}

/* ---- printing ---- */

/* Which one it is, where there may be several: "-- 3 (id 'x')". */
static void print_header(const json_t *result, size_t n)
{
	const char *id = json_string_value(json_object_get(result, "id"));
	auto_buf line = BUF_INIT(1024);

	buf_fmt(&line, "%s-- %zu", n > 1 ? "\n" : "", n);
	if (id) {
		buf_str(&line, " (id '");
		text_add(&line, span_of(id), 60);
		buf_str(&line, "')");
	}
	printf("%s\n", line.data);
}

static void print_json(const json_t *result, json_t *feedback, size_t n)
{
	const json_t *id = json_object_get(result, "id");
	json_t *o = json_object();

	json_object_set_new(o, "n", json_integer((json_int_t)n));
	json_object_set_new(o, "id", json_is_string(id) ? json_copy((json_t *)id) : json_null());
	json_object_set_new(o, "feedback", feedback ? json_incref(feedback) : json_null());
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

static int explain_one(const struct explain *p, const json_t *result, struct span code, bool several, struct counts *c, struct err *e)
{
	json_t *feedback;

	c->seen++;
	if (!feedback_is_result(result)) {
		err_set(e, ERR_USAGE, "number %zu is no result: it has neither status, success nor test_results", c->seen);
		return err_hint(e, "explain takes what 'belljar run --json', batch, test and judge print");
	}
	feedback = feedback_make(result, code);
	c->explained += feedback != NULL;
	if (p->json)
		print_json(result, feedback, c->seen);
	else if (feedback) {
		if (several)
			print_header(result, c->seen);
		fputs(json_string_value(json_object_get(feedback, "text")), stdout);
	}
	json_decref(feedback);
	return 0;
}

/* ---- reading ---- */

/* The next byte that is no white space, without taking it. */
static int peek(FILE *in)
{
	int c;

	do
		c = getc(in);
	while (c == ' ' || c == '\n' || c == '\t' || c == '\r');
	if (c != EOF)
		ungetc(c, in);
	return c;
}

/* One JSON value after the other, however they are laid out; a list is taken for what is in it. */
static int explain_all(const struct explain *p, FILE *in, const char *name, struct span code, struct counts *c, struct err *e)
{
	bool several = false;
	size_t values = 0;

	while (peek(in) != EOF) {
		json_error_t je;
		json_t *v = json_loadf(in, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &je);
		int rc = 0;

		values++;
		if (!v) {
			err_set(e, ERR_USAGE, "%.200s: value %zu is not JSON: %.100s (line %d of it)", name, values, je.text, je.line);
			return err_hint(e, "give a result, or results one a line; the file may be cut off");
		}
		several = several || json_is_array(v) || peek(in) != EOF;
		if (json_is_array(v))
			for (size_t i = 0; i < json_array_size(v) && rc == 0; i++)
				rc = explain_one(p, json_array_get(v, i), code, true, c, e);
		else
			rc = explain_one(p, v, code, several, c, e);
		json_decref(v);
		if (rc < 0)
			return err_wrap(e, "%.200s", name);
	}
	if (ferror(in))
		return bad(e, "", name);
	if (!values)
		return err_set(e, ERR_USAGE, "%.200s is empty", name);
	return 0;
}

static int explain_words(const struct explain *p, const struct opt_rest *rest, struct counts *c, struct err *e)
{
	auto_buf code = BUF_INIT(CODE_MAX);
	FILE *in;
	int rc;

	if (rest->words.n != 1 || rest->dashes) {
		err_set(e, ERR_USAGE, rest->words.n ? "give one file of results" : "no result to explain");
		return err_hint(e, "belljar explain RESULT.json, or - for standard input");
	}
	/* What is read from here on was written by whoever is graded. */
	if (client_drop_rights(false, e) < 0 || (p->code && read_code(p->code, &code, e) < 0))
		return -1;
	in = open_results(rest->words.v[0], e);
	if (!in)
		return -1;
	rc = explain_all(p, in, rest->words.v[0], (struct span){ code.data, code.len }, c, e);
	fclose(in);
	return rc;
}

int cmd_explain(int argc, char **argv)
{
	struct explain p = { false, NULL };
	struct counts c = { 0, 0 };
	struct arena a = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	int status = 0;

	if (cli_parse(&cmd_explain_opts, argc, argv, &p, &rest, &a, &status)) {
		arena_free(&a);
		return status;
	}
	if (explain_words(&p, &rest, &c, &e) < 0) {
		fflush(stdout);
		cli_error(&e);
		status = 2;
	} else {
		status = c.explained ? 0 : 1;
		if (!c.explained)
			fprintf(stderr, "nothing to explain: %s\n", c.seen == 1 ? "it went well" : "all went well");
		else if (c.seen > c.explained)
			fprintf(stderr, "%zu of %zu explained; the others went well\n", c.explained, c.seen);
		if (fflush(stdout) != 0 || ferror(stdout))
			status = 2;
	}
	arena_free(&a);
	return status;
}
