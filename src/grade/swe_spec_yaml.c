/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a row of how a repository's tests are run from YAML; used by the build (tools/swe-gen.c) and for an operator's own rows. */
#include <stdlib.h>
#include <string.h>

#include "grade/swe_spec.h"
#include "run/yaml.h"

#define AT(field) offsetof(struct swe_spec, field)

static const struct {
	const char *key;
	size_t offset;
	bool list, needed;
} keys[] = {
	{ "name", AT(name), false, true },
	{ "repos", AT(repos), true, true },
	{ "from", AT(from), false, false },
	{ "until", AT(until), false, false },
	{ "kind", AT(kind), false, true },
	{ "parser", AT(parser), false, true },
	{ "argv", AT(argv), true, true },
	{ "env", AT(env), true, false },
	{ "python", AT(python), false, false },
	{ "pythonpath", AT(pythonpath), true, false },
	{ "layers", AT(layers), true, false },
	{ "words", AT(words), false, false },
	{ "strip", AT(strip), false, false },
	{ "endings", AT(endings), true, false },
	{ "protected", AT(protected), true, true },
	{ "runner_files", AT(runner_files), true, true },
	{ "watched", AT(watched), true, false },
	{ "wall", AT(wall), false, false },
	{ "memory", AT(memory), false, false },
	{ "cpus", AT(cpus), false, false },
	{ "tmp", AT(tmp), false, false },
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

static int fill(struct swe_spec *s, const char *key, struct fy_node *value, const char *path, struct err *e)
{
	for (size_t i = 0; i < KEYS; i++) {
		char *at = (char *)s + keys[i].offset;

		if (strcmp(keys[i].key, key) != 0)
			continue;
		if (keys[i].list)
			*(const char *const **)at = yaml_list_dup(value);
		else
			*(char **)at = yaml_scalar_dup(value);
		if (!*(void **)at)
			return err_set(e, ERR_INPUT, "%s: '%s' has the wrong type", path, key);
		return 0;
	}
	return err_set(e, ERR_INPUT, "%s: unknown key '%s'", path, key);
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
		if (keys[i].needed && !*(void *const *)((const char *)s + keys[i].offset))
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
	if (rc == 0)
		rc = swe_spec_check(s, path, e);
	if (doc)
		fy_document_destroy(doc);
	if (rc == 0)
		return s;
	free(s);
	return NULL;
}
