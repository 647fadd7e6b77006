/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a language row from YAML; used by the build (tools/lang-gen.c) and for an operator's own rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/language.h"
#include "run/yaml.h"

static const struct {
	const char *key;
	size_t offset;
	bool list, needed;
} keys[] = {
	{ "name", offsetof(struct language, name), false, true },
	{ "title", offsetof(struct language, title), false, true },
	{ "aliases", offsetof(struct language, aliases), true, false },
	{ "endings", offsetof(struct language, endings), true, true },
	{ "interpreters", offsetof(struct language, interpreters), true, false },
	{ "file", offsetof(struct language, file), false, true },
	{ "compile", offsetof(struct language, compile), true, false },
	{ "run", offsetof(struct language, run), true, true },
	{ "build", offsetof(struct language, build), true, false },
	{ "start", offsetof(struct language, start), true, false },
	{ "readable", offsetof(struct language, readable), true, false },
	{ "env", offsetof(struct language, env), true, false },
	{ "syntax", offsetof(struct language, syntax), true, false },
	{ "syntax_again", offsetof(struct language, syntax_again), true, false },
	{ "syntax_first", offsetof(struct language, syntax_first), false, false },
	{ "check", offsetof(struct language, check), false, false },
	{ "version", offsetof(struct language, version), true, true },
	{ "program", offsetof(struct language, program), false, true },
	{ "package", offsetof(struct language, package), false, true },
	{ "warm", offsetof(struct language, warm), false, false },
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

static int fill(struct language *l, const char *key, struct fy_node *value, const char *path, struct err *e)
{
	for (size_t i = 0; i < KEYS; i++) {
		char *at = (char *)l + keys[i].offset;

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
	return err_set(e, ERR_INPUT, "%s: unknown key '%s'", path, yaml_shown(key));
}

struct language *language_parse(const char *path, struct err *e)
{
	struct fy_document *doc;
	struct fy_node *root;
	struct language *l = calloc(1, sizeof(*l));
	struct fy_node_pair *pair;
	void *it = NULL;

	if (yaml_open(path, &doc, &root, e) < 0 || !l) {
		free(l);
		return NULL;
	}
	while (root && (pair = fy_node_mapping_iterate(root, &it))) {
		char *key = yaml_scalar_dup(fy_node_pair_key(pair));
		int rc = fill(l, key ? key : "", fy_node_pair_value(pair), path, e);

		free(key);
		if (rc < 0)
			goto fail;
	}
	for (size_t i = 0; i < KEYS; i++)
		if (keys[i].needed && !*(void **)((char *)l + keys[i].offset)) {
			err_set(e, ERR_INPUT, "%s: '%s' is missing", path, keys[i].key);
			goto fail;
		}
	if (l->warm && strcmp(l->warm, "python") != 0 && strcmp(l->warm, "node") != 0) {
		err_set(e, ERR_INPUT, "%s: 'warm' is neither python nor node", path);
		goto fail;
	}
	if (!l->build != !l->start) {
		err_set(e, ERR_INPUT, "%s: 'build' and 'start' belong together", path);
		goto fail;
	}
	if (doc)
		fy_document_destroy(doc);
	return l;
fail:
	if (doc)
		fy_document_destroy(doc);
	free(l);
	return NULL;
}
