/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a row of how a repository's tests are run from YAML; used by the build (tools/swe-gen.c) and for an operator's own rows. */
#include <stdlib.h>
#include <string.h>

#include "grade/swe_spec.h"
#include "grade/swe_words.h"
#include "run/yaml.h"

#define AT(field) offsetof(struct swe_spec, field)

/* NAMES is a list of NAME=VALUE, of which each name is a key of its own for `like`. */
enum key_kind { TEXT, LIST, NAMES, COMMANDS };

static const struct {
	const char *key;
	size_t offset;
	enum key_kind kind;
	bool needed;
} keys[] = {
	{ "name", AT(name), TEXT, true },
	{ "like", AT(like), TEXT, false },
	{ "repos", AT(repos), LIST, true },
	{ "from", AT(from), TEXT, false },
	{ "until", AT(until), TEXT, false },
	{ "kind", AT(kind), TEXT, true },
	{ "parser", AT(parser), TEXT, true },
	{ "argv", AT(argv), LIST, true },
	{ "env", AT(env), NAMES, false },
	{ "python", AT(python), TEXT, false },
	{ "environment", AT(environment), TEXT, false },
	{ "pythonpath", AT(pythonpath), LIST, false },
	{ "layers", AT(layers), LIST, false },
	{ "words", AT(words), TEXT, false },
	{ "strip", AT(strip), TEXT, false },
	{ "endings", AT(endings), LIST, false },
	{ "protected", AT(protected), LIST, true },
	{ "runner_files", AT(runner_files), LIST, true },
	{ "watched", AT(watched), LIST, false },
	{ "build", AT(build), COMMANDS, false },
	{ "wall", AT(wall), TEXT, false },
	{ "memory", AT(memory), TEXT, false },
	{ "cpus", AT(cpus), TEXT, false },
	{ "tmp", AT(tmp), TEXT, false },
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* Rows live as long as the process. */
static struct arena words_of_rows;

static void **field(struct swe_spec *s, size_t key)
{
	return (void **)(void *)((char *)s + keys[key].offset);
}

static void *const *field_const(const struct swe_spec *s, size_t key)
{
	return (void *const *)(const void *)((const char *)s + keys[key].offset);
}

/* ---- reading ---- */

/* "make all", or [make, all]. */
static const char *const *command_dup(struct fy_node *n, const char *path, struct err *e)
{
	struct strlist words = { 0 };
	char *text = yaml_scalar_dup(n);
	int rc = 0;

	if (!text) {
		const char *const *list = fy_node_is_sequence(n) ? yaml_list_dup(n) : NULL;

		if (!list || !*list)
			err_set(e, ERR_INPUT, "%s: 'build': a command is a list of words, or one text", path);
		return list && *list ? list : NULL;
	}
	rc = swe_words_split(text, &words, path, &words_of_rows, e);
	free(text);
	if (rc == 0 && !words.n)
		err_set(e, ERR_INPUT, "%s: 'build' has an empty command", path);
	return rc == 0 && words.n ? words.v : NULL;
}

static const char *const *const *commands_dup(struct fy_node *n, const char *path, struct err *e)
{
	int count = fy_node_is_sequence(n) ? fy_node_sequence_item_count(n) : -1;
	const char *const **out = count < 0 || count > 100 ? NULL : calloc((size_t)count + 1, sizeof(*out));

	if (!out)
		err_set(e, ERR_INPUT, "%s: 'build' is no list of commands", path);
	for (int i = 0; out && i < count; i++) {
		out[i] = command_dup(fy_node_sequence_get_by_index(n, i), path, e);
		if (!out[i]) {
			free(out);
			return NULL;
		}
	}
	return out;
}

static int fill(struct swe_spec *s, const char *key, struct fy_node *value, const char *path, struct err *e)
{
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].key, key) != 0)
			continue;
		if (keys[i].kind == COMMANDS)
			return (*field(s, i) = (void *)commands_dup(value, path, e)) ? 0 : -1;
		*field(s, i) = keys[i].kind == TEXT ? (void *)yaml_scalar_dup(value) : (void *)yaml_list_dup(value);
		if (!*field(s, i))
			return err_set(e, ERR_INPUT, "%s: '%s' has the wrong type", path, key);
		return 0;
	}
	return err_set(e, ERR_INPUT, "%s: unknown key '%s'", path, yaml_shown(key));
}

/* ---- like ---- */

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return strncmp(a, b, n + 1) == 0;
}

/* Those of `from` whose name `own` does not say, then `own`. */
static const char *const *merge_names(const char *const *own, const char *const *from)
{
	struct strlist out = { 0 };

	for (; *from; from++) {
		const char *const *o = own;

		while (*o && !same_name(*o, *from))
			o++;
		if (!*o)
			strlist_add(&words_of_rows, &out, *from);
	}
	for (; *own; own++)
		strlist_add(&words_of_rows, &out, *own);
	return out.n ? out.v : own;
}

static void take_over(struct swe_spec *s, const struct swe_spec *from)
{
	for (size_t i = 0; i < KEYS; i++) {
		void **own = field(s, i), *theirs = *field_const(from, i);

		if (!*own)
			*own = theirs;
		else if (keys[i].kind == NAMES && theirs)
			*own = (void *)merge_names(*own, theirs);
	}
}

struct rows {
	struct swe_spec *const *v;
	size_t n;
	const struct swe_spec *below;
};

static int follow(const struct rows *r, struct swe_spec *s, size_t depth, struct err *e)
{
	const struct swe_spec *from = NULL;
	const char *like = s->like;

	if (!like)
		return 0;
	if (depth >= r->n)
		return err_set(e, ERR_INPUT, "%s: 'like: %.60s' leads back to this row", s->file, like);
	for (size_t i = 0; i < r->n && !from; i++)
		if (r->v[i] != s && strcmp(r->v[i]->name, like) == 0) {
			if (follow(r, r->v[i], depth + 1, e) < 0)
				return -1;
			from = r->v[i];
		}
	for (const struct swe_spec *b = r->below; b && b->name && !from; b++)
		if (strcmp(b->name, like) == 0)
			from = b;
	if (!from) {
		err_set(e, ERR_INPUT, "%s: 'like: %.60s' names no other row", s->file, like);
		return err_hint(e, "name a row of ours (docs/swebench.md), or one of your own");
	}
	s->like = NULL;
	take_over(s, from);
	return 0;
}

int swe_spec_inherit(struct swe_spec *const *rows, size_t n, const struct swe_spec *below, struct err *e)
{
	struct rows r = { rows, n, below };

	for (size_t i = 0; i < n; i++)
		if (follow(&r, rows[i], 0, e) < 0)
			return -1;
	for (size_t i = 0; i < n; i++) {
		/* "from: ''" takes a key away. */
		for (size_t k = 0; k < KEYS; k++)
			if (keys[k].kind == TEXT && *field(rows[i], k) && !*(char *)*field(rows[i], k))
				*field(rows[i], k) = NULL;
		if (swe_spec_check(rows[i], rows[i]->file, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- what a row must say ---- */

static bool one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

int swe_spec_check(const struct swe_spec *s, const char *shown, struct err *e)
{
	static const char *const kinds[] = { "pytest", "django", "sympy", "unittest", NULL }, *const words[] = { "path", "module", NULL };
	static const char *const parsers[] = { "pytest", "pytest_options", "matplotlib", "django", "sympy", "unittest", NULL };

	for (size_t i = 0; i < KEYS; i++)
		if (keys[i].needed && !*field_const(s, i))
			return err_set(e, ERR_INPUT, "%s: '%s' is missing", shown, keys[i].key);
	if (!one_of(s->kind, kinds))
		return err_set(e, ERR_INPUT, "%s: 'kind' is none of pytest, django, sympy, unittest", shown);
	if (!one_of(s->parser, parsers))
		return err_set(e, ERR_INPUT, "%s: 'parser' is none of pytest, pytest_options, matplotlib, django, sympy, unittest", shown);
	if (s->words && !one_of(s->words, words))
		return err_set(e, ERR_INPUT, "%s: 'words' is neither path nor module", shown);
	/* Without them a runner would run all there is. */
	if (!one_of("{tests}", s->argv))
		return err_set(e, ERR_INPUT, "%s: 'argv' has no word {tests}", shown);
	for (const char *const *l = s->layers; l && *l; l++)
		if (**l != '/')
			return err_set(e, ERR_INPUT, "%s: 'layers': '%.100s' is not absolute", shown, *l);
	if (s->environment && s->environment[0] != '/')
		return err_set(e, ERR_INPUT, "%s: 'environment': '%.100s' is not absolute", shown, s->environment);
	if (s->python && s->python[0] != '/')
		return err_set(e, ERR_INPUT, "%s: 'python': '%.100s' is not absolute", shown, s->python);
	for (const char *const *v = s->env; v && *v; v++)
		if (!strchr(*v, '=') || **v == '=')
			return err_set(e, ERR_INPUT, "%s: 'env': '%.100s' is no NAME=VALUE", shown, *v);
	return 0;
}

struct swe_spec *swe_spec_parse(const char *path, struct err *e)
{
	struct fy_document *doc = NULL;
	struct fy_node *root;
	struct swe_spec *s = calloc(1, sizeof(*s));
	struct fy_node_pair *pair;
	void *it = NULL;
	int rc = s ? yaml_open(path, &doc, &root, e) : -1;

	while (rc == 0 && root && (pair = fy_node_mapping_iterate(root, &it))) {
		char *key = yaml_scalar_dup(fy_node_pair_key(pair));

		rc = fill(s, key ? key : "", fy_node_pair_value(pair), path, e);
		free(key);
	}
	if (rc == 0 && (!s->name || !*s->name))
		rc = err_set(e, ERR_INPUT, "%s: 'name' is missing", path);
	if (rc == 0)
		s->file = strdup(path);
	if (doc)
		fy_document_destroy(doc);
	if (rc == 0)
		return s;
	free(s);
	return NULL;
}
