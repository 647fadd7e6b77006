/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: which row a repository has, and what it makes of an instance. */
#include "grade/swe_spec.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/parse.h"
#include "grade/swe_env.h"
#include "grade/swe_patch.h"
#include "grade/swe_words.h"
#include "store/digest.h"

#define OWN_MAX 64

static struct swe_spec *own[OWN_MAX];
static size_t own_count;

/* ---- rows ---- */

const struct swe_spec *swe_spec_at(size_t i)
{
	if (i < own_count)
		return own[i];
	for (const struct swe_spec *s = swe_specs_builtin; s->name; s++) {
		bool replaced = false;

		for (size_t k = 0; k < own_count; k++)
			replaced = replaced || strcmp(own[k]->name, s->name) == 0;
		if (!replaced && i-- == own_count)
			return s;
	}
	return NULL;
}

int swe_version_order(const char *a, const char *b)
{
	while (*a || *b) {
		size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");

		if (n && m) {
			unsigned long x = strtoul(a, NULL, 10), y = strtoul(b, NULL, 10);

			if (x != y)
				return x < y ? -1 : 1;
			a += n;
			b += m;
		} else if (*a != *b) {
			/* "1.9" is before "1.9.1", and "2.0rc" before neither. */
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		} else {
			a++;
			b++;
		}
	}
	return 0;
}

static bool has_repo(const struct swe_spec *s, const char *repo)
{
	for (const char *const *r = s->repos; *r; r++)
		if (strcasecmp(*r, repo) == 0)
			return true;
	return false;
}

static bool has_version(const struct swe_spec *s, const char *version)
{
	return *version && (!s->from || swe_version_order(version, s->from) >= 0) && (!s->until || swe_version_order(version, s->until) < 0);
}

const struct swe_spec *swe_spec_find(const char *repo, const char *version)
{
	const struct swe_spec *s, *found = NULL;

	/* Its own rows, then the default. */
	for (int all = 0; all < 2 && !found; all++) {
		const char *wanted = all ? "*" : repo;

		for (size_t i = 0; (s = swe_spec_at(i)); i++)
			if (has_repo(s, wanted) && (s->from || s->until) && has_version(s, version))
				return s;
		for (size_t i = 0; (s = swe_spec_at(i)) && !found; i++)
			if (has_repo(s, wanted) && !s->from && !s->until)
				found = s;
	}
	return found;
}

static int only_yaml(const struct dirent *f)
{
	size_t n = strlen(f->d_name);

	return n > 5 && strcmp(f->d_name + n - 5, ".yaml") == 0;
}

static int read_dir(const char *dir, struct err *e)
{
	struct dirent **list = NULL;
	int n = scandir(dir, &list, only_yaml, alphasort), rc = 0;

	for (int i = 0; i < n; i++) {
		char path[1024];

		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		free(list[i]);
		if (rc < 0)
			continue;
		if (own_count == OWN_MAX) {
			rc = err_set(e, ERR_INPUT, "%s: more than %d rows", path, OWN_MAX);
			continue;
		}
		own[own_count] = swe_spec_parse(path, e);
		if (own[own_count])
			own_count++;
		else
			rc = -1;
	}
	free(list);
	return rc;
}

int swe_spec_load(struct err *e)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char path[1024] = "";

	if (read_dir("/etc/belljar/swebench", e) < 0)
		return -1;
	if (xdg && xdg[0] == '/')
		snprintf(path, sizeof(path), "%s/belljar/swebench", xdg);
	else if (home && home[0] == '/')
		snprintf(path, sizeof(path), "%s/.config/belljar/swebench", home);
	if (path[0] && read_dir(path, e) < 0)
		return -1;
	return swe_spec_inherit(own, own_count, swe_specs_builtin, e);
}

/* ---- tests as words ---- */

static bool ends_with(const char *text, const char *end)
{
	return span_ends(span_of(text), end);
}

static bool is_test_file(const struct swe_spec *s, const char *path)
{
	if (!s->endings)
		return ends_with(path, ".py");
	for (const char *const *x = s->endings; *x; x++)
		if (ends_with(path, *x))
			return true;
	return false;
}

static int find_files(struct swe_job *j, const struct swe_instance *i, struct arena *a, struct err *e)
{
	struct swe_patch p;

	if (i->test_files.n) {
		j->test_files = i->test_files;
	} else {
		swe_patch_read(&p, i->test_patch, i->test_patch_len, a);
		for (size_t k = 0; k < p.n; k++)
			if (p.v[k].new_path && is_test_file(j->spec, p.v[k].new_path))
				strlist_add(a, &j->test_files, p.v[k].new_path);
	}
	for (size_t k = 0; k < j->test_files.n; k++) {
		struct span path = span_of(j->test_files.v[k]);

		/* It becomes a word of a command: nothing that looks like an option, or leads out of the tree. */
		if (!path.n || path.p[0] == '-' || path.p[0] == '/' || span_starts(path, "../") || span_find(path, "/../") >= 0 || memchr(path.p, '\n', path.n))
			return err_set(e, ERR_INPUT, "%s: test file '%.100s' cannot be one", i->id, path.p);
	}
	return 0;
}

static const char *file_word(const struct swe_spec *s, const char *path, struct arena *a)
{
	char *out;

	if (!s->words || strcmp(s->words, "module") != 0)
		return path;
	if (s->strip && strncmp(path, s->strip, strlen(s->strip)) == 0)
		path += strlen(s->strip);
	out = arena_dup(a, path);
	if (ends_with(out, ".py"))
		out[strlen(out) - 3] = '\0';
	for (char *p = out; *p; p++)
		if (*p == '/')
			*p = '.';
	return out;
}

/* What the runner takes for one test: a node of pytest, "m.C.test_x" for unittest and django. NULL: it takes none. */
static const char *id_word(const struct swe_job *j, const char *id, struct arena *a)
{
	const char *canon, *open, *close;

	if (strcmp(j->kind, "pytest") == 0)
		return strstr(id, "::") && id[0] != '-' ? id : NULL;
	if (strcmp(j->kind, "sympy") == 0)
		return NULL;
	canon = swe_name_canon(j->style, span_of(id), a);
	open = strstr(canon, " (");
	close = open ? strchr(open, ')') : NULL;
	if (!close || close[1] || strchr(open + 1, ' ') || canon[0] == '-' || open[2] == '-')
		return NULL;
	return arena_fmt(a, "%.*s.%.*s", (int)(close - open - 2), open + 2, (int)(open - canon), canon);
}

static int find_words(struct swe_job *j, const struct swe_instance *i, const struct strlist *ids, struct strlist *words, struct arena *a, struct err *e)
{
	for (size_t k = 0; ids && k < ids->n; k++) {
		const char *w = id_word(j, ids->v[k], a);

		if (!w) {
			err_set(e, ERR_INPUT, "%s: '%.100s' is no test that %s takes by name", i->id, ids->v[k], j->kind);
			return err_hint(e, "run the test files instead");
		}
		strlist_add(a, words, w);
	}
	for (size_t k = 0; !ids && k < j->test_files.n; k++)
		strlist_add(a, words, file_word(j->spec, j->test_files.v[k], a));
	if (words->n)
		return 0;
	err_set(e, ERR_INPUT, "%s: there is no test to run: %s", i->id, ids ? "the list of ids is empty" : "the test patch has no test files");
	return err_hint(e, "--meta can name test_files for an instance; nothing is run without");
}

/* ---- test_cmd of --meta ---- */

static const struct {
	const char *word, *kind, *style;
	bool script; /* it stays in argv */
} runners[] = {
	{ "tests/runtests.py", "django", "django", true }, { "bin/test", "sympy", "sympy", true },
	{ "pytest", "pytest", "pytest", false },	   { "unittest", "unittest", "unittest", false },
};

static bool is_name(const char *w)
{
	size_t n = strcspn(w, "=");

	return w[n] && n && strspn(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == n;
}

/* "NAME=value python -m pytest -rA file": what comes before the runner is settings and Python; what is behind stays. */
static int from_command(struct swe_job *j, const struct swe_instance *i, const struct strlist *extra, struct arena *a, struct err *e)
{
	struct strlist words = { 0 };
	size_t at = 0, row = 0;
	enum swe_style style;

	if (swe_words_split(i->test_cmd, &words, arena_fmt(a, "%s: 'test_cmd'", i->id), a, e) < 0)
		return -1;
	for (; at < words.n && is_name(words.v[at]); at++)
		strlist_add(a, &j->env, words.v[at]);
	while (at < words.n && (strncmp(words.v[at], "python", 6) == 0 || strcmp(words.v[at], "-m") == 0))
		at++;
	for (; at < words.n; row++) {
		const char *w = words.v[at] + (strncmp(words.v[at], "./", 2) == 0 ? 2 : 0);

		if (row == sizeof(runners) / sizeof(runners[0]) || strcmp(w, runners[row].word) == 0)
			break;
	}
	if (at == words.n || row == sizeof(runners) / sizeof(runners[0])) {
		err_set(e, ERR_INPUT, "%s: 'test_cmd' starts none of pytest, unittest, tests/runtests.py, bin/test", i->id);
		return err_hint(e, "a row of your own may: docs/swebench.md");
	}
	j->kind = runners[row].kind;
	if (strcmp(j->kind, j->spec->kind) != 0 && swe_style_find(runners[row].style, &style))
		j->style = style;
	j->argv = (struct strlist){ 0 };
	if (runners[row].script)
		strlist_add(a, &j->argv, runners[row].word);
	for (size_t k = 0; extra && k < extra->n; k++)
		strlist_add(a, &j->argv, extra->v[k]);
	if (++at == words.n)
		return err_set(e, ERR_INPUT, "%s: 'test_cmd' names no test: that would run everything", i->id);
	for (; at < words.n; at++)
		strlist_add(a, &j->argv, words.v[at]);
	return 0;
}

/* ---- the job ---- */

static int limits(struct swe_job *j, struct err *e)
{
	const struct swe_spec *s = j->spec;

	if (parse_ms(s->wall ? s->wall : "30m", &j->wall_ms, e) < 0 || parse_bytes(s->memory ? s->memory : "2G", &j->memory_bytes, e) < 0 ||
	    parse_milli(s->cpus ? s->cpus : "2.0", &j->cpus_milli, e) < 0 || parse_bytes(s->tmp ? s->tmp : "256M", &j->tmp_bytes, e) < 0)
		return err_wrap(e, "swebench row '%s'", s->name);
	return 0;
}

/* ---- what is built in the tree ---- */

static const char *with_places(const char *word, const struct swe_job *j, const char *tree, struct arena *a)
{
	const struct {
		const char *place, *by;
	} rows[] = { { "{python}", j->python }, { "{tree}", tree } };
	const char *out = "";

	while (*word) {
		size_t n = 1, row = 0;

		while (row < 2 && strncmp(word, rows[row].place, strlen(rows[row].place)) != 0)
			row++;
		if (row < 2) {
			out = arena_fmt(a, "%s%s", out, rows[row].by);
			word += strlen(rows[row].place);
			continue;
		}
		while (word[n] && word[n] != '{')
			n++;
		out = arena_fmt(a, "%s%.*s", out, (int)n, word);
		word += n;
	}
	return out;
}

static int make_build(struct swe_job *j, const char *tree, struct arena *a, struct err *e)
{
	json_t *o, *commands = json_array(), *env = json_array();
	uint8_t sum[DIGEST_SIZE];

	for (const char *const *const *c = j->spec->build; *c; c++) {
		json_t *words = json_array();

		for (const char *const *w = *c; *w; w++)
			json_array_append_new(words, json_string(with_places(*w, j, tree, a)));
		json_array_append_new(commands, words);
	}
	for (size_t i = 0; i < j->env.n; i++)
		json_array_append_new(env, json_string(j->env.v[i]));
	o = json_pack("{s:s, s:s, s:o, s:o, s:I}", "tree", tree, "python", j->python, "commands", commands, "env", env, "timeout_ms", (json_int_t)j->wall_ms);
	auto_free char *text = o ? json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	json_decref(o);
	if (!text)
		return err_set(e, ERR_INPUT, "swebench row '%s': 'build' is not UTF-8", j->spec->name);
	j->build = arena_dup(a, text);
	digest_of(text, strlen(text), sum);
	digest_hex(sum, (sizeof(j->build_key) - 1) / 2, j->build_key);
	return 0;
}

int swe_job_begin(struct swe_job *j, const struct swe_instance *i, const char *tree, struct arena *a, struct err *e)
{
	*j = (struct swe_job){ .spec = swe_spec_find(i->repo, i->version) };
	if (!j->spec)
		return err_set(e, ERR_INPUT, "%s: no row for repository '%.100s', and no default", i->id, i->repo);
	j->kind = j->spec->kind;
	if (!swe_style_find(j->spec->parser, &j->style) || limits(j, e) < 0)
		return -1;
	for (const char *const *v = j->spec->env; v && *v; v++)
		strlist_add(a, &j->env, *v);
	if (swe_env_choose(j, i, a, e) < 0)
		return -1;
	return j->spec->build && *j->spec->build ? make_build(j, tree, a, e) : 0;
}

int swe_job_make(struct swe_job *j, const struct swe_instance *i, const char *tree, const struct strlist *ids, const struct strlist *extra,
		 struct arena *a, struct err *e)
{
	struct strlist words = { 0 };
	const char *parser;

	if (swe_job_begin(j, i, tree, a, e) < 0)
		return -1;
	for (const char *const *v = j->spec->pythonpath; v && *v; v++)
		strlist_add(a, &j->pythonpath, strncmp(*v, "{tree}", 6) == 0 ? arena_fmt(a, "%s%s", tree, *v + 6) : *v);
	if (find_files(j, i, a, e) < 0)
		return -1;
	if (i->test_cmd && !ids) {
		if (from_command(j, i, extra, a, e) < 0)
			return -1;
	} else {
		if (find_words(j, i, ids, &words, a, e) < 0)
			return -1;
		for (const char *const *v = j->spec->argv; *v; v++) {
			if (strcmp(*v, "{tests}") != 0) {
				strlist_add(a, &j->argv, *v);
				continue;
			}
			for (size_t k = 0; extra && k < extra->n; k++)
				strlist_add(a, &j->argv, extra->v[k]);
			for (size_t k = 0; k < words.n; k++)
				strlist_add(a, &j->argv, words.v[k]);
		}
	}
	parser = i->log_parser;
	if (parser && !swe_style_find(parser, &j->style)) {
		err_set(e, ERR_INPUT, "%s: 'log_parser' '%.60s' is unknown", i->id, parser);
		return err_hint(e, "%s, or the reference harness's names", swe_style_names());
	}
	return 0;
}
