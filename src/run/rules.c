/* SPDX-License-Identifier: Apache-2.0 */
/* Reads rules from YAML; used by the build (tools/rules-gen.c) and for a user's own. */
#include "run/rules.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/yaml.h"

#define ROWS_MAX 1024

struct key {
	const char *name;
	size_t offset;
	bool list, needed;
};

#define AT(field) offsetof(struct check_rule, field)
static const struct key rule_keys[] = {
	{ "id", AT(id), false, true },		{ "language", AT(language), false, true }, { "severity", AT(severity), false, true },
	{ "message", AT(message), false, true }, { "why", AT(why), false, false },	   { "call", AT(call), true, false },
	{ "import", AT(import), true, false },	{ "attribute", AT(attribute), true, false }, { "computed", AT(computed), true, false },
	{ "command", AT(command), true, false }, { "redirect", AT(redirect), true, false }, { "except", AT(except), true, false },
	{ "argument", AT(argument), true, false }, { "matches", AT(matches), true, false }, { "args", AT(args), true, false },
	{ "unknown", AT(unknown), false, false }, { "piped", AT(piped), false, false },	   { "sets", AT(sets), true, false },
	{ .name = NULL },
};
#undef AT
#define AT(field) offsetof(struct check_set_row, field)
static const struct key set_keys[] = {
	{ "name", AT(name), false, true }, { "summary", AT(summary), false, true }, { "raise", AT(raise), false, false }, { .name = NULL },
};
#undef AT

static int fill(void *row, const struct key *keys, const char *key, struct fy_node *value, const char *path, struct err *e)
{
	for (const struct key *k = keys; k->name; k++) {
		char *at = (char *)row + k->offset;

		if (strcmp(k->name, key) != 0)
			continue;
		if (k->list)
			*(const char *const **)at = yaml_list_dup(value);
		else
			*(char **)at = yaml_scalar_dup(value);
		return *(void **)at ? 0 : err_set(e, ERR_INPUT, "%s: '%s' has the wrong type", path, key);
	}
	return err_set(e, ERR_INPUT, "%s: unknown key '%s'", path, yaml_shown(key));
}

static void *parse_row(struct fy_node *n, const struct key *keys, size_t size, const char *path, struct err *e)
{
	void *row = calloc(1, size), *it = NULL;
	struct fy_node_pair *pair;

	if (!row || !fy_node_is_mapping(n)) {
		err_set(e, ERR_INPUT, "%s: a row is a mapping", path);
		goto fail;
	}
	while ((pair = fy_node_mapping_iterate(n, &it))) {
		char *key = yaml_scalar_dup(fy_node_pair_key(pair));
		int rc = fill(row, keys, key ? key : "", fy_node_pair_value(pair), path, e);

		free(key);
		if (rc < 0)
			goto fail;
	}
	for (const struct key *k = keys; k->name; k++)
		if (k->needed && !*(void **)((char *)row + k->offset)) {
			err_set(e, ERR_INPUT, "%s: '%s' is missing", path, k->name);
			goto fail;
		}
	return row;
fail:
	free(row);
	return NULL;
}

/* What single keys cannot say. */
static int check_rule(const struct check_rule *r, const char *path, struct err *e)
{
	bool bash;

	/* parse_row() saw to it. */
	assert(r->id && r->language && r->severity);
	bash = strcmp(r->language, "bash") == 0;
	if (check_language_find(r->language) == CHECK_NONE)
		return err_set(e, ERR_INPUT, "%s: %s: 'language' is none of python, bash, javascript", path, r->id);
	if (strcmp(r->severity, "error") != 0 && strcmp(r->severity, "warning") != 0 && strcmp(r->severity, "off") != 0)
		return err_set(e, ERR_INPUT, "%s: %s: 'severity' is none of error, warning, off", path, r->id);
	if (!r->call && !r->import && !r->attribute && !r->computed && !r->command && !r->redirect && strcmp(r->severity, "off") != 0)
		return err_set(e, ERR_INPUT, "%s: %s: nothing is matched: give call, import, attribute, computed, command or redirect", path, r->id);
	if (bash ? r->call || r->import || r->attribute || r->computed : r->command || r->redirect)
		return err_set(e, ERR_INPUT, "%s: %s: bash has command and redirect, the others call, import, attribute, computed", path, r->id);
	if (r->argument && !r->matches)
		return err_set(e, ERR_INPUT, "%s: %s: 'argument' needs 'matches'", path, r->id);
	return 0;
}

static int parse_rows(struct fy_node *list, bool sets, const char *path, struct rules_file *out, struct err *e)
{
	struct fy_node *item;
	void *it = NULL;

	if (!fy_node_is_sequence(list))
		return err_set(e, ERR_INPUT, "%s: '%s' must be a list", path, sets ? "sets" : "rules");
	while ((item = fy_node_sequence_iterate(list, &it))) {
		void *row = sets ? parse_row(item, set_keys, sizeof(struct check_set_row), path, e) : parse_row(item, rule_keys, sizeof(struct check_rule), path, e);
		size_t *count = sets ? &out->set_count : &out->count;

		if (!row)
			return -1;
		if ((!sets && check_rule(row, path, e) < 0) || *count == ROWS_MAX) {
			free(row);
			return *count == ROWS_MAX ? err_set(e, ERR_INPUT, "%s: more than %d rows", path, ROWS_MAX) : -1;
		}
		if (sets)
			out->sets[(*count)++] = row;
		else
			out->rules[(*count)++] = row;
	}
	return 0;
}

int rules_parse(const char *path, struct rules_file *out, struct err *e)
{
	struct fy_document *doc;
	struct fy_node *root;
	struct fy_node_pair *pair;
	void *it = NULL;
	int rc = 0;

	*out = (struct rules_file){ .rules = calloc(ROWS_MAX, sizeof(void *)), .sets = calloc(ROWS_MAX, sizeof(void *)) };
	if (!out->rules || !out->sets)
		return err_set(e, ERR_INTERNAL, "no memory for rules");
	if (yaml_open(path, &doc, &root, e) < 0)
		return -1;
	while (root && rc == 0 && (pair = fy_node_mapping_iterate(root, &it))) {
		const char *key = fy_node_get_scalar0(fy_node_pair_key(pair));

		if (key && (strcmp(key, "rules") == 0 || strcmp(key, "sets") == 0))
			rc = parse_rows(fy_node_pair_value(pair), strcmp(key, "sets") == 0, path, out, e);
		else
			rc = err_set(e, ERR_INPUT, "%s: unknown key '%s'; a file of rules has 'rules' and 'sets'", path, yaml_shown(key ? key : ""));
	}
	if (doc)
		fy_document_destroy(doc);
	return rc;
}

int rules_load_file(const char *path, bool named, struct err *e)
{
	struct rules_file f;
	int rc = rules_parse(path, &f, e);

	for (size_t i = 0; rc == 0 && i < f.set_count; i++)
		rc = rules_add_set(f.sets[i], e);
	for (size_t i = 0; rc == 0 && i < f.count; i++)
		rc = rules_add(f.rules[i], named ? path : NULL, e);
	free(f.rules);
	free(f.sets);
	return rc < 0 ? err_hint(e, "docs/checks.md says how a rule is written") : 0;
}

int rules_load_dir(const char *dir, struct err *e)
{
	DIR *d = opendir(dir);
	struct dirent *f;
	int rc = 0;

	while (d && rc == 0 && (f = readdir(d))) {
		size_t n = strlen(f->d_name);
		char path[1024];

		if (n < 6 || strcmp(f->d_name + n - 5, ".yaml") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, f->d_name);
		rc = rules_load_file(path, false, e);
	}
	if (d)
		closedir(d);
	return rc;
}

bool rules_is_file(const char *name, size_t len)
{
	return memchr(name, '/', len) || (len > 5 && memcmp(name + len - 5, ".yaml", 5) == 0);
}

int rules_load_named(const char *names, struct err *e)
{
	for (const char *p = names; *p;) {
		size_t n = strcspn(p, ",");
		char path[1024];

		if (rules_is_file(p, n)) {
			snprintf(path, sizeof(path), "%.*s", (int)n, p);
			if (rules_load_file(path, true, e) < 0)
				return -1;
		}
		p += n + (p[n] == ',');
	}
	return 0;
}
