/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: which files a patch touches, read from its headers. */
#include "grade/swe_patch.h"

#include <string.h>

struct reader {
	struct swe_patch *p;
	struct swe_patch_file *f; /* of the headers that are being read; NULL: none */
	bool has_hunk;		  /* a "---" now begins another file */
	struct digest lines;	  /* of the hunks so far */
	struct arena *a;
};

static struct swe_patch_file *next_file(struct reader *r)
{
	struct swe_patch *p = r->p;

	if (p->n == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 16;
		struct swe_patch_file *v = arena_alloc(r->a, cap * sizeof(*v));

		if (p->n)
			memcpy(v, p->v, p->n * sizeof(*v));
		p->v = v;
		p->cap = cap;
	}
	r->has_hunk = false;
	r->f = &p->v[p->n++];
	*r->f = (struct swe_patch_file){ 0 };
	digest_init(&r->lines);
	return r->f;
}

/* ---- paths ---- */

static const struct {
	char letter, byte;
} escapes[] = { { 'a', '\a' }, { 'b', '\b' }, { 't', '\t' }, { 'n', '\n' }, { 'v', '\v' }, { 'f', '\f' }, { 'r', '\r' }, { '"', '"' }, { '\\', '\\' } };

/* A name in quotes as git writes it; *used is what it took of the text, 0: it is none. */
static struct span unquote(struct span s, size_t *used, struct arena *a)
{
	char *out = arena_alloc(a, s.n + 1);
	size_t n = 0, i;

	*used = 0;
	if (!s.n || s.p[0] != '"')
		return SPAN_NONE;
	for (i = 1; i < s.n && s.p[i] != '"'; i++) {
		if (s.p[i] != '\\') {
			out[n++] = s.p[i];
			continue;
		}
		if (++i >= s.n)
			return SPAN_NONE;
		if (s.p[i] >= '0' && s.p[i] <= '3' && i + 2 < s.n && (s.p[i + 1] & ~7) == '0' && (s.p[i + 2] & ~7) == '0') {
			out[n++] = (char)((s.p[i] - '0') << 6 | (s.p[i + 1] - '0') << 3 | (s.p[i + 2] - '0'));
			i += 2;
			continue;
		}
		size_t k = 0;

		while (k < sizeof(escapes) / sizeof(escapes[0]) && escapes[k].letter != s.p[i])
			k++;
		if (k == sizeof(escapes) / sizeof(escapes[0]))
			return SPAN_NONE;
		out[n++] = escapes[k].byte;
	}
	if (i >= s.n)
		return SPAN_NONE;
	*used = i + 1;
	return (struct span){ out, n };
}

static const char *keep(struct span s, struct arena *a)
{
	char *out = arena_dup_len(a, s.p ? s.p : "", s.n);

	/* A NUL ends a path for the kernel: none of them may look shorter than it is. */
	for (size_t i = 0; i < s.n; i++)
		if (!out[i])
			out[i] = '?';
	return out;
}

/* A path of "---", "+++", "rename from": quoted or not, a time behind a tab, with or without the first folder. */
static const char *path_of(struct span s, bool strip, struct arena *a)
{
	size_t used;
	struct span q = unquote(s, &used, a);
	const char *tab;

	if (used) {
		s = q;
	} else {
		tab = s.n ? memchr(s.p, '\t', s.n) : NULL;
		if (tab)
			s.n = (size_t)(tab - s.p);
	}
	if (strip && span_is(s, "/dev/null"))
		return NULL;
	if (strip && s.n > 2 && s.p[1] == '/')
		s = span_from(s, 2);
	return s.n ? keep(s, a) : NULL;
}

/* "a/x b/x" of a "diff --git" line: both are one name there, unless something else is said below. */
static void both_paths(struct reader *r, struct span s)
{
	size_t used;

	unquote(s, &used, r->a);
	if (used) {
		r->f->old_path = path_of(span_head(s, used), true, r->a);
		r->f->new_path = path_of(span_trim(span_from(s, used)), true, r->a);
		return;
	}
	/* Names may hold " b/" themselves: the cut that makes both the same is the right one. */
	for (size_t i = 3; i + 3 < s.n; i++)
		if (s.p[i] == ' ' && i * 2 + 1 == s.n && memcmp(s.p + 2, s.p + i + 3, i - 2) == 0) {
			r->f->old_path = r->f->new_path = keep((struct span){ s.p + 2, i - 2 }, r->a);
			return;
		}
	for (size_t i = s.n; i-- > 0;)
		if (s.n - i > 3 && (memcmp(s.p + i, " b/", 3) == 0 || memcmp(s.p + i, " \"b", 3) == 0)) {
			r->f->old_path = path_of(span_head(s, i), true, r->a);
			r->f->new_path = path_of(span_from(s, i + 1), true, r->a);
			return;
		}
}

/* ---- headers ---- */

static unsigned mode_of(struct span s)
{
	unsigned m = 0;

	for (size_t i = 0; i < s.n && i < 6 && (s.p[i] & ~7) == '0'; i++)
		m = m * 8 + (unsigned)(s.p[i] - '0');
	return m;
}

static void set_old_mode(struct reader *r, struct span s) { r->f->old_mode = mode_of(s); }
static void set_new_mode(struct reader *r, struct span s) { r->f->new_mode = mode_of(s); }
static void set_copy_from(struct reader *r, struct span s) { r->f->old_path = path_of(s, false, r->a), r->f->copied = true; }
static void set_rename_from(struct reader *r, struct span s) { r->f->old_path = path_of(s, false, r->a), r->f->renamed = true; }
static void set_to(struct reader *r, struct span s) { r->f->new_path = path_of(s, false, r->a); }
static void set_binary(struct reader *r, struct span s) { (void)s, r->f->binary = true; }

static void set_created(struct reader *r, struct span s)
{
	r->f->new_mode = mode_of(s);
	r->f->created = true;
	r->f->old_path = NULL;
}

static void set_deleted(struct reader *r, struct span s)
{
	r->f->old_mode = mode_of(s);
	r->f->deleted = true;
	r->f->new_path = NULL;
}

/* "index 123..456 100644" */
static void set_index(struct reader *r, struct span s)
{
	long at = span_find(s, " ");

	if (at > 0 && !r->f->old_mode && !r->f->new_mode)
		r->f->old_mode = r->f->new_mode = mode_of(span_from(s, (size_t)at + 1));
}

static const struct {
	const char *text;
	void (*set)(struct reader *, struct span);
} headers[] = {
	{ "old mode ", set_old_mode },	      { "new mode ", set_new_mode },	{ "new file mode ", set_created },
	{ "deleted file mode ", set_deleted }, { "rename from ", set_rename_from }, { "rename to ", set_to },
	{ "copy from ", set_copy_from },      { "copy to ", set_to },		{ "index ", set_index },
	{ "GIT binary patch", set_binary },   { "Binary files ", set_binary },
};

/* "@@ -1,2 +3,4 @@": how many lines of both sides follow. */
static bool hunk_sizes(struct span s, size_t *minus, size_t *plus)
{
	size_t *to[2] = { minus, plus }, n;

	for (int i = 0; i < 2; i++) {
		long at = span_find(s, i ? "+" : "-"), value;

		if (at < 0)
			return false;
		s = span_from(s, (size_t)at + 1);
		span_number(s, &n);
		if (!n)
			return false;
		s = span_from(s, n);
		*to[i] = 1;
		if (span_starts(s, ",")) {
			value = span_number(span_from(s, 1), &n);
			if (!n)
				return false;
			*to[i] = (size_t)value;
			s = span_from(s, 1 + n);
		}
	}
	return true;
}

static void read_hunk(struct reader *r, struct span *rest, size_t minus, size_t plus)
{
	struct span line, before;

	while (minus || plus) {
		before = *rest;
		if (!span_line(rest, &line)) {
			r->p->cut = true;
			return;
		}
		if (line.n && (line.p[0] == '-' || line.p[0] == '+')) {
			digest_add(&r->lines, line.p, line.n);
			digest_add(&r->lines, "\n", 1);
		}
		switch (line.n ? line.p[0] : ' ') {
		case ' ':
			minus -= minus > 0;
			plus -= plus > 0;
			break;
		case '-':
			minus -= minus > 0;
			r->f->removed++;
			break;
		case '+':
			plus -= plus > 0;
			r->f->added++;
			break;
		case '\\':
			break;
		default:
			*rest = before;
			r->p->cut = true;
			return;
		}
	}
}

static bool same_file(const struct swe_patch_file *f, const char *path)
{
	const char *known = swe_patch_path(f);

	return !known || !path || strcmp(known, path) == 0;
}

/* "--- x" with "+++ y" below it. */
static bool read_names(struct reader *r, struct span line, struct span *rest)
{
	struct span after = *rest, second;
	const char *old_path, *new_path;

	if (!span_starts(line, "--- ") || !span_line(&after, &second) || !span_starts(second, "+++ "))
		return false;
	*rest = after;
	old_path = path_of(span_from(line, 4), true, r->a);
	new_path = path_of(span_from(second, 4), true, r->a);
	/* Names that are not those of the headers above are of another file, and none is forgotten. */
	if (!r->f || r->has_hunk || r->f->binary || !same_file(r->f, new_path ? new_path : old_path))
		next_file(r);
	r->f->created = r->f->created || !old_path;
	r->f->deleted = r->f->deleted || !new_path;
	r->f->old_path = old_path;
	r->f->new_path = new_path;
	return true;
}

void swe_patch_read(struct swe_patch *p, const char *text, size_t len, struct arena *a)
{
	struct reader r = { .p = p, .a = a };
	struct span rest = { text, len }, line;

	*p = (struct swe_patch){ 0 };
	while (span_line(&rest, &line)) {
		size_t minus, plus;

		if (span_starts(line, "diff --git ")) {
			next_file(&r);
			both_paths(&r, span_from(line, 11));
		} else if (read_names(&r, line, &rest)) {
			continue;
		} else if (r.f && span_starts(line, "@@ -") && hunk_sizes(line, &minus, &plus)) {
			r.has_hunk = true;
			read_hunk(&r, &rest, minus, plus);
			digest_get(&r.lines, r.f->lines);
		} else if (r.f && !r.has_hunk) {
			for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
				if (span_starts(line, headers[i].text)) {
					headers[i].set(&r, span_from(line, strlen(headers[i].text)));
					break;
				}
		}
	}
}

const char *swe_patch_path(const struct swe_patch_file *f)
{
	return f->new_path ? f->new_path : f->old_path;
}
