/* SPDX-License-Identifier: Apache-2.0 */
/* Syntax errors: when a run looks like one, and what the language said of it. */
#include "run/syntax.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "run/policy.h"

#define STDERR_MAX 65536 /* what an interpreter says of a wrong file is shorter */
#define TEXT_SHOWN 160

static bool is_bash(const struct request *r)
{
	return r->lang->syntax_first && strcmp(r->lang->syntax_first, "true") == 0;
}

bool syntax_is_first(const struct request *r, const struct result *res)
{
	if (!r->lang || !r->lang->syntax)
		return false;
	/* Refused it will be in any case; the question is only for what. */
	return is_bash(r) || r->syntax_only || (policy_can_refuse(r) && res->check.broken);
}

bool syntax_is_likely(const struct request *r, const struct step_result *run)
{
	static const char *const words[] = { "SyntaxError", "IndentationError", "TabError", "null byte", "RecursionError", "MemoryError", "OverflowError", "unknown encoding" };
	auto_buf view = BUF_INIT(STDERR_MAX * 4);

	/* A driver's exit code says nothing about the code. */
	if (r->driver || !r->lang || !r->lang->syntax || is_bash(r) || run->verdict.status != STATUS_COMPLETED || !run->verdict.exited || run->verdict.exit_code != 1 ||
	    run->out[0].total || !run->out[1].total || run->out[1].total > STDERR_MAX)
		return false;
	output_view(&run->out[1], &view);
	for (size_t i = 0; view.data && i < sizeof(words) / sizeof(words[0]); i++)
		if (memmem(view.data, view.len, words[i], strlen(words[i])))
			return true;
	return false;
}

/* ---- node ---- */

/* The "type" of a package.json. */
static const char *type_of(const char *text, size_t len)
{
	json_t *o = json_loadb(text, len, 0, NULL);
	const char *type = json_string_value(json_object_get(o, "type"));
	const char *is = type && strcmp(type, "module") == 0 ? "module" : type && strcmp(type, "commonjs") == 0 ? "commonjs" : "auto";

	json_decref(o);
	return is;
}

static const char *type_of_file(const char *path)
{
	/* The folder is a stranger's: what a link in it names is not opened, and nothing is waited for. */
	auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char text[65536];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	return n < 0 ? NULL : type_of(text, (size_t)n);
}

/* package.json of one folder of the workspace: from the request's files, or from --workspace. NULL: there is none. */
static const char *type_in(const struct request *r, const char *dir, size_t dir_len, struct arena *a)
{
	const char *name = arena_fmt(a, "%.*s%spackage.json", (int)dir_len, dir, dir_len ? "/" : "");

	for (size_t i = r->file_count; i-- > 0;)
		if (strcmp(r->files[i].path, name) == 0)
			return r->files[i].source ? type_of_file(r->files[i].source) : type_of(r->files[i].content, r->files[i].len);
	return r->workspace ? type_of_file(arena_fmt(a, "%s/%s", r->workspace, name)) : NULL;
}

const char *syntax_node_type(const struct request *r, struct arena *a)
{
	const char *dot = strrchr(r->code_name, '.');
	size_t len = strlen(r->code_name);

	if (dot && strcmp(dot, ".mjs") == 0)
		return "module";
	if (dot && strcmp(dot, ".cjs") == 0)
		return "commonjs";
	/* The nearest one, upwards. */
	while (len) {
		const char *is;

		while (len && r->code_name[len - 1] != '/')
			len--;
		len -= len > 0;
		is = type_in(r, r->code_name, len, a);
		if (is)
			return is;
	}
	return "auto";
}

/* ---- what the step said ---- */

/* The n-th line of the code. */
static const char *line_at(const struct request *r, uint32_t line, size_t *len)
{
	const char *p = r->code, *end = r->code + r->code_len, *nl;

	while (--line && (nl = memchr(p, '\n', (size_t)(end - p))))
		p = nl + 1;
	nl = memchr(p, '\n', (size_t)(end - p));
	*len = line ? 0 : nl ? (size_t)(nl - p) : (size_t)(end - p);
	if (*len && p[*len - 1] == '\r')
		--*len;
	return p;
}

static uint32_t chars(const char *p, size_t len)
{
	uint32_t n = 0;

	for (size_t i = 0; i < len; n++) {
		size_t step = utf8_len((const unsigned char *)p + i, len - i);

		i += step ? step : 1;
	}
	return n;
}

/* The line and where the caret stands in it; of a long one, the part around it. */
static void add_line(const struct request *r, struct syntax_report *out, struct arena *a)
{
	size_t len, from = 0;
	const char *p = line_at(r, out->line, &len);
	uint32_t skipped = 0;

	while (out->column > skipped + TEXT_SHOWN / 2 && from < len) {
		size_t step = utf8_len((const unsigned char *)p + from, len - from);

		from += step ? step : 1;
		skipped++;
	}
	out->text = arena_dup_len(a, p + from, len - from < TEXT_SHOWN * 2 ? len - from : TEXT_SHOWN * 2);
	for (char *t = out->text; t < out->text + (len - from < TEXT_SHOWN * 2 ? len - from : TEXT_SHOWN * 2); t++)
		if (!*t)
			*t = '?';
	out->caret = out->column - skipped ? out->column - skipped - 1 : 0;
}

/* "line<TAB>column<TAB>message", the last line of what our own program printed */
static int read_report(const char *text, struct syntax_report *out, struct arena *a)
{
	char *end;
	unsigned long line = strtoul(text, &end, 10), column;

	if (end == text || *end != '\t')
		return -1;
	text = end + 1;
	column = strtoul(text, &end, 10);
	if (end == text || *end != '\t')
		return -1;
	out->line = line && line < 1U << 30 ? (uint32_t)line : 1;
	out->column = column && column < 1U << 30 ? (uint32_t)column : 1;
	out->message = arena_dup_len(a, end + 1, strcspn(end + 1, "\n"));
	return 1;
}

/* "/workspace/main.sh: line 2: syntax error near unexpected token `then'" */
static int read_bash(const struct request *r, const char *text, struct syntax_report *out, struct arena *a)
{
	const char *at = strstr(text, ": line "), *end, *token;
	size_t len;

	out->line = 1;
	out->column = 1;
	out->message = "bash does not accept it";
	if (!at)
		return 1;
	out->line = (uint32_t)strtoul(at + 7, (char **)&end, 10);
	out->line = out->line ? out->line : 1;
	end += strspn(end, ": ");
	out->message = arena_dup_len(a, end, strcspn(end, "\n"));
	/* bash names the token, and not its place: the first of them on the line. */
	token = strstr(out->message, "token `");
	if (token && strchr(token + 7, '\'')) {
		size_t n = (size_t)(strrchr(token, '\'') - (token + 7));
		const char *line = line_at(r, out->line, &len), *hit = n ? memmem(line, len, token + 7, n) : NULL;

		if (hit)
			out->column = chars(line, (size_t)(hit - line)) + 1;
	}
	return 1;
}

int syntax_read(const struct request *r, const struct step_result *step, struct syntax_report *out, struct arena *a)
{
	auto_buf text = BUF_INIT(STDERR_MAX * 4);
	struct syntax_report s = { .there = true };
	int rc;

	if (step->verdict.status != STATUS_COMPLETED || !step->verdict.exited)
		return -1;
	if (is_bash(r)) {
		if (step->verdict.exit_code == 0)
			return 0;
		output_view(&step->out[1], &text);
		rc = read_bash(r, text.data ? text.data : "", &s, a);
	} else {
		if (step->verdict.exit_code != 0)
			return -1;
		output_view(&step->out[0], &text);
		if (!text.len)
			return 0;
		rc = read_report(text.data, &s, a);
	}
	if (rc == 1) {
		add_line(r, &s, a);
		*out = s;
	}
	return rc;
}

void syntax_blame(const struct request *r, const struct syntax_report *s, struct verdict *v)
{
	*v = (struct verdict){ .status = STATUS_ERROR, .reason = REASON_SYNTAX, .exit_status = 125 };
	snprintf(v->error, sizeof(v->error), "syntax error in %.100s line %u, column %u: %.200s", r->code_name, s->line, s->column, s->message);
	snprintf(v->hint, sizeof(v->hint), "nothing of it ran");
}
