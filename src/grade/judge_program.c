/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is built once and run many times, each time in a jar of its own. */
#include "grade/judge_program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jar/feed.h"

/*
 * Theory of operation
 *
 * The build runs in a jar, like everything else that is foreign. What it leaves under OUT is brought out as any artifact is (plain files
 * only, after all in the jar is dead) and kept in the front's memory as bytes that nobody looks at; each run gets them as files of a jar
 * that has seen nothing yet.
 * So one case has nothing of another's, and a compiler that was taken over has nothing but its own output to change.
 */

#define OUT	  "/tmp/program"
#define FILES_MAX 4096
#define KEEP_MAX  (256ULL << 20)

static int find_language(struct program *p, const char *file, const char *lang, struct err *e)
{
	if (lang) {
		p->lang = language_find(lang);
		return p->lang ? 0 : language_unknown(lang, e);
	}
	p->lang = language_of_file(file, p->code, p->len);
	if (p->lang || (p->len > 4 && memcmp(p->code, "\177ELF", 4) == 0))
		return 0;
	err_set(e, ERR_INPUT, "%.200s: no language has this ending, and there is no #! line", file);
	return err_hint(e, "name its language; 'belljar languages' lists them");
}

int program_load(struct program *p, const char *file, const char *lang, const char *code, size_t len, struct arena *a, struct err *e)
{
	const char *slash = strrchr(file, '/');
	struct request_file *f;

	p->code = code;
	p->len = len;
	p->name = arena_dup(a, slash ? slash + 1 : file);
	if (find_language(p, file, lang, e) < 0)
		return -1;
	if (strcmp(p->name, "-") == 0)
		p->name = p->lang ? p->lang->file : "program";
	if (!feed_name_ok(p->name, strlen(p->name)))
		return err_set(e, ERR_INPUT, "'%.60s' cannot be a file's name in the jar", p->name);
	if (p->lang && access(p->lang->program, X_OK) < 0) {
		err_set(e, ERR_INPUT, "%s is not installed: there is no %s", p->lang->title, p->lang->program);
		return err_hint(e, "apt-get install %s", p->lang->package);
	}
	if (!p->lang) {
		f = p->files = arena_alloc(a, sizeof(*f));
		*f = (struct request_file){ .path = p->name, .content = code, .len = len, .mode = 0755 };
		p->file_count = 1;
		strlist_add(a, &p->command, arena_fmt(a, "/workspace/%s", p->name));
	}
	return 0;
}

static const char *const *build_words(const struct program *p)
{
	return !p->lang ? NULL : p->lang->build ? p->lang->build : p->lang->compile;
}

bool program_needs_build(const struct program *p)
{
	return build_words(p) != NULL;
}

static void add_file(struct request *r, const struct request_file *f)
{
	r->files[r->file_count++] = *f;
}

static void begin_request(const struct program *p, const struct request *base, size_t files, struct request *out, struct arena *a)
{
	request_copy(out, base);
	out->client = p->client;
	if (p->ours)
		out->programs = (struct strlist){ 0 };
	out->files = arena_alloc(a, (files + 1) * sizeof(*out->files));
	out->file_cap = files + 1;
	out->file_count = 0;
}

bool program_build_request(const struct program *p, const struct request *base, struct request *out, struct arena *a)
{
	struct request_file source = { .path = p->name, .content = p->code, .len = p->len, .mode = 0644 };
	const char *const *words = build_words(p);
	bool build = words != NULL;

	if (!build)
		words = p->lang ? p->lang->readable : NULL;
	if (!words)
		return false;
	begin_request(p, base, p->with_count + 1, out, a);
	/* A compiler's pages stay charged to the cgroup that it ran in: not one that a case is measured by. */
	out->client = arena_fmt(a, "%s-build", p->client);
	for (; *words; words++)
		strlist_add(a, &out->argv, strcmp(*words, "{file}") == 0  ? arena_fmt(a, "/workspace/%s", p->name)
					   : strcmp(*words, "{out}") == 0 ? OUT
									  : *words);
	for (const char *const *v = p->lang->env; v && *v; v++)
		strlist_add(a, &out->env, *v);
	add_file(out, &source);
	for (size_t i = 0; i < p->with_count; i++)
		add_file(out, &p->with[i]);
	if (build) {
		strlist_add(a, &out->get, OUT);
		out->keep_bytes = KEEP_MAX;
	}
	return true;
}

/* ---- what a build made ---- */

/* The class to start: Main, that of the source's name, or the only one. */
static const char *find_class(const struct program *p, const struct artifacts *files, struct arena *a, struct err *e)
{
	size_t stem = strcspn(p->name, ".");
	const char *only = NULL, *named = NULL;
	size_t count = 0;

	for (const struct artifact *f = files->list; f; f = f->next) {
		const char *path = f->path + strlen(OUT), *base;
		size_t n = strlen(path);
		char *name;

		if (f->refused || f->dir || n < 8 || strcmp(path + n - 6, ".class") != 0 || strchr(path, '$'))
			continue;
		name = arena_dup_len(a, path + 1, n - 7);
		base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
		count++;
		only = name;
		if (strcmp(base, "Main") == 0 || (!named && strlen(base) == stem && strncmp(base, p->name, stem) == 0))
			named = name;
		for (char *c = name; *c; c++)
			if (*c == '/')
				*c = '.';
	}
	if (named || count == 1)
		return named ? named : only;
	err_set(e, ERR_INPUT, "none of its %zu classes is called Main", count);
	err_hint(e, "call the class with main() Main, or as its file is called");
	return NULL;
}

static int build_command(struct program *p, const struct artifacts *files, const char *out, bool *source, struct arena *a, struct err *e)
{
	for (const char *const *w = p->lang->start ? p->lang->start : p->lang->run; *w; w++) {
		const char *word = *w;

		if (strcmp(word, "{file}") == 0) {
			word = arena_fmt(a, "/workspace/%s", p->name);
			*source = true;
		} else if (strcmp(word, "{out}") == 0) {
			word = arena_fmt(a, "/workspace/%s", out);
		} else if (strcmp(word, "{class}") == 0) {
			word = find_class(p, files, a, e);
			if (!word)
				return -1;
		}
		strlist_add(a, &p->command, word);
	}
	return 0;
}

int program_built(struct program *p, const struct artifacts *files, uint64_t disk_bytes, struct arena *a, struct err *e)
{
	const char *out = strcmp(p->name, "program") == 0 ? "program.out" : "program";
	uint64_t bytes = 0;
	size_t count = 0;
	bool source = false;

	for (const struct artifact *f = files->list; f; f = f->next) {
		if (f->dir)
			continue;
		if (strncmp(f->path, OUT, strlen(OUT)) != 0)
			return err_set(e, ERR_INTERNAL, "a file came out that was not asked for: %.100s", f->path);
		if (f->refused)
			return err_set(e, ERR_INPUT, "the build made something that cannot be taken: %.100s %s", f->path, f->refused);
		bytes += f->size;
		count++;
	}
	if (!count || files->incomplete || count > FILES_MAX)
		return err_set(e, ERR_INPUT, count ? "the build made too many files" : "the build made no program");
	/* It lies in the jar of each case, and leaves room there. */
	if (bytes > disk_bytes / 2) {
		err_set(e, ERR_INPUT, "the program has %llu bytes, the jar's disk %llu", (unsigned long long)bytes, (unsigned long long)disk_bytes);
		return err_hint(e, "raise --disk");
	}
	if (build_command(p, files, out, &source, a, e) < 0)
		return -1;
	p->files = arena_alloc(a, (count + 1) * sizeof(*p->files));
	for (const struct artifact *f = files->list; f; f = f->next)
		if (!f->dir)
			p->files[p->file_count++] = (struct request_file){ .path = arena_fmt(a, "%s%s", out, f->path + strlen(OUT)), .content = f->data,
									   .len = f->size, .mode = 0755 };
	if (source)
		p->files[p->file_count++] = (struct request_file){ .path = p->name, .content = p->code, .len = p->len, .mode = 0644 };
	return 0;
}

void program_request(const struct program *p, const struct request *base, size_t room, struct request *out, struct arena *a)
{
	begin_request(p, base, p->file_count + p->with_count + room, out, a);
	for (size_t i = 0; i < p->file_count; i++)
		add_file(out, &p->files[i]);
	for (size_t i = 0; i < p->with_count; i++)
		add_file(out, &p->with[i]);
	if (p->command.n) {
		for (size_t i = 0; i < p->command.n; i++)
			strlist_add(a, &out->argv, p->command.v[i]);
		for (const char *const *v = p->lang ? p->lang->env : NULL; v && *v; v++)
			strlist_add(a, &out->env, *v);
		return;
	}
	out->lang = p->lang;
	out->code = p->code;
	out->code_len = p->len;
	out->code_name = p->name;
}
