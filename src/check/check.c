/* SPDX-License-Identifier: Apache-2.0 */
/* The static check of one text, and where in it something was found. */
#include "check/check.h"

#include <string.h>

#include "base/utf8.h"
#include "check/decode.h"
#include "check/scan.h"

#define LINE_SHOWN 160 /* characters of a line that a finding shows */

static size_t count_chars(const char *p, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; n++) {
		size_t step = utf8_len((const unsigned char *)p + i, len - i);

		i += step ? step : 1;
	}
	return n;
}

static uint32_t line_of(const char *text, size_t at, size_t *line_start)
{
	const char *p = text, *nl;
	uint32_t line = 1;

	while ((nl = memchr(p, '\n', at - (size_t)(p - text)))) {
		line++;
		p = nl + 1;
	}
	*line_start = (size_t)(p - text);
	return line;
}

/* A piece of a long line around its beginning; at a character's boundary. */
static void show_line(struct check_finding *f, const char *line, size_t len, size_t at, struct arena *a)
{
	size_t from = 0;

	if (len > LINE_SHOWN && at > LINE_SHOWN / 2) {
		from = at - LINE_SHOWN / 4;
		while (from < at && ((unsigned char)line[from] & 0xc0) == 0x80)
			from++;
	}
	len -= from;
	if (len > LINE_SHOWN) {
		len = LINE_SHOWN;
		while (len > 1 && ((unsigned char)line[from + len] & 0xc0) == 0x80)
			len--;
	}
	f->text = arena_dup_len(a, line + from, len);
	/* A NUL would end it. */
	for (size_t i = 0; i < len; i++)
		if (!f->text[i])
			f->text[i] = '?';
	f->caret = (uint32_t)count_chars(line + from, at - from < len ? at - from : len);
}

static void locate(struct check_finding *f, const char *text, size_t len, struct arena *a)
{
	size_t start, end_start, line_len;
	const char *nl;

	f->line = line_of(text, f->start, &start);
	f->end_line = line_of(text, f->end, &end_start);
	nl = memchr(text + start, '\n', len - start);
	line_len = nl ? (size_t)(nl - (text + start)) : len - start;
	f->column = (uint32_t)count_chars(text + start, f->start - start) + 1;
	f->end_column = (uint32_t)count_chars(text + end_start, f->end - end_start) + 1;
	show_line(f, text + start, line_len, f->start - start, a);
	f->caret_len = f->end_line == f->line && f->end_column > f->column ? f->end_column - f->column : 1;
}

void check_add(struct check_result *out, const char *rule, bool error, const char *message, const char *why, const char *file, const char *text,
	       size_t len, uint32_t start, uint32_t end, struct arena *a)
{
	struct check_finding *f;

	/* A place in a text that was decoded may lie past the end of the one that came in. */
	start = start < len ? start : (uint32_t)len;
	end = end < len ? end : (uint32_t)len;
	for (size_t i = 0; i < out->count; i++)
		if (out->list[i].start == start && out->list[i].file == file && strcmp(out->list[i].rule, rule) == 0) {
			if (error && !out->list[i].error) {
				out->list[i].error = true;
				out->errors++;
			}
			return;
		}
	out->total++;
	out->errors += error;
	if (out->count == CHECK_FINDINGS_MAX)
		return;
	if (out->count == out->cap) {
		struct check_finding *list;

		out->cap = out->cap ? out->cap * 2 : 8;
		list = arena_alloc(a, out->cap * sizeof(*list));
		if (out->count)
			memcpy(list, out->list, out->count * sizeof(*list));
		out->list = list;
	}
	f = &out->list[out->count++];
	*f = (struct check_finding){ .rule = rule, .message = message, .why = why, .file = file, .error = error, .start = start, .end = end };
	locate(f, text, len, a);
}

/* In the order of the text; there are few. */
static void sort(struct check_result *out, size_t from)
{
	for (size_t i = from + 1; i < out->count; i++) {
		struct check_finding f = out->list[i];
		size_t k = i;

		for (; k > from && out->list[k - 1].start > f.start; k--)
			out->list[k] = out->list[k - 1];
		out->list[k] = f;
	}
}

static const struct check_modules any_module;

void check_text(enum check_language l, const struct check_rules *rules, const struct check_modules *modules, const char *file, const char *text,
		size_t len, struct arena *a, struct check_result *out)
{
	static void (*const walks[CHECK_LANGUAGES])(struct scan *) = {
		[CHECK_PYTHON] = scan_python, [CHECK_BASH] = scan_bash, [CHECK_JAVASCRIPT] = scan_javascript
	};
	size_t before = out->count;
	struct decoded d;
	struct scan s;

	if (!walks[l])
		return;
	/* One that is too large is not looked at in any encoding. */
	d = len > TREE_TEXT_MAX ? (struct decoded){ .text = text, .len = len } : decode_text(l, text, len, file != NULL, a);
	if (d.why)
		check_add(out, "encoding", true, d.why, NULL, file, text, len, d.at, d.end, a);
	scan_init(&s, l, d.text, d.len);
	s.rules = rules;
	s.modules = modules ? modules : &any_module;
	s.file = file;
	s.arena = a;
	s.out = out;
	if (s.tree.state != TREE_WHOLE)
		out->incomplete = true;
	else if (s.tree.count)
		walks[l](&s);
	if (s.tree.broken && !out->broken) {
		out->broken = true;
		out->broken_at = s.tree.broken_at;
		out->broken_end = s.tree.broken_end;
	}
	scan_done(&s);
	sort(out, before);
}
