/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration: system, user and project files and the environment, below what the command line says. */
#include "run/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/rules.h"
#include "run/yaml.h"

const char *config_source_name(enum config_source s)
{
	static const char *const names[] = { "default", "system file", "user file", "project file", "environment" };

	return names[s];
}

static int bad(struct err *e, const char *path, const char *key, const char *why)
{
	err_set(e, ERR_INPUT, "%s: '%.60s' %s", path, key, why);
	return err_hint(e, "belljar config lists the keys");
}

/* A project's file comes with code that nobody has read: it may lower limits and nothing else. */
static int check_tighter(const struct opt *o, const struct request *before, const struct request *after, const char *path,
			 struct err *e)
{
	const char *a = (const char *)before + o->at, *b = (const char *)after + o->at;
	bool looser;

	if (!(o->flags & OPT_TIGHTEN))
		return bad(e, path, o->name, "cannot be set by a project's file");
	if (o->kind == OPT_FLAG)
		looser = *(const bool *)a && !*(const bool *)b;
	else if (o->kind == OPT_CHOICE)
		looser = *(const uint64_t *)b < *(const uint64_t *)a;
	else
		/* 0 is "no limit". */
		looser = *(const uint64_t *)a && (*(const uint64_t *)b > *(const uint64_t *)a || !*(const uint64_t *)b);
	return looser ? bad(e, path, o->name, "can only be made tighter by a project's file") : 0;
}

static int set_layers(struct config *c, struct fy_node *n, const char *path, struct arena *a, struct err *e)
{
	struct fy_node_pair *pair;
	void *it = NULL;

	if (!fy_node_is_mapping(n))
		return bad(e, path, "layers", "must be a mapping of NAME: SRC:DST");
	while ((pair = fy_node_mapping_iterate(n, &it))) {
		const char *k = fy_node_get_scalar0(fy_node_pair_key(pair)), *v = fy_node_get_scalar0(fy_node_pair_value(pair));

		if (!k || !v || !strchr(v, ':'))
			return bad(e, path, "layers", "must be a mapping of NAME: SRC:DST");
		strlist_add(a, &c->layers, arena_fmt(a, "%s=%s", k, v));
	}
	return 0;
}

#define AT(field) offsetof(struct config_pool, field)

const struct opt config_pool_opts[] = {
	{ "floor", 0, "N", NULL, OPT_U64, AT(floor), NULL, 1, 256, 0, "jars kept ready at least" },
	{ "ceiling", 0, "N", NULL, OPT_U64, AT(ceiling), NULL, 1, 256, 0, "jars at most" },
	{ "zygotes", 0, "N", NULL, OPT_U64, AT(zygotes), NULL, 1, 64, 0, "warmed interpreters" },
	{ "recycle", 0, NULL, NULL, OPT_FLAG, AT(recycle), NULL, 0, 0, 0, "a jar that is proven clean, and Python's memory put back to what it was, serve the same client again" },
	{ "preload", 0, "MODULE", NULL, OPT_LIST, AT(preload), NULL, 0, 0, 0, "modules that a zygote imports before any request" },
	{ .name = NULL },
};

static int set_pool_key(struct config *c, const struct opt *o, struct fy_node *value, const char *shown, struct arena *a, struct err *e)
{
	struct fy_node *item;
	void *it = NULL;

	if (o->kind != OPT_LIST)
		return fy_node_get_scalar0(value) ? opt_set(o, &c->pool, fy_node_get_scalar0(value), shown, a, e) : -1;
	if (!fy_node_is_sequence(value))
		return -1;
	c->pool.preload = (struct strlist){ 0 };
	while ((item = fy_node_sequence_iterate(value, &it)))
		if (!fy_node_get_scalar0(item) || opt_set(o, &c->pool, fy_node_get_scalar0(item), shown, a, e) < 0)
			return -1;
	return 0;
}

static int set_pool(struct config *c, struct fy_node *n, const char *path, struct arena *a, struct err *e)
{
	struct fy_node_pair *pair;
	void *it = NULL;

	if (!fy_node_is_mapping(n))
		return bad(e, path, "pool", "must be a mapping");
	while ((pair = fy_node_mapping_iterate(n, &it))) {
		const char *k = fy_node_get_scalar0(fy_node_pair_key(pair));
		const struct opt *o = k ? opt_find(config_pool_opts, k) : NULL;

		if (!o)
			return bad(e, path, arena_fmt(a, "pool.%s", k ? k : ""), "is not a setting");
		err_clear(e);
		if (set_pool_key(c, o, fy_node_pair_value(pair), arena_fmt(a, "%s: pool.%s", path, k), a, e) < 0) {
			if (!e->msg[0])
				return bad(e, path, arena_fmt(a, "pool.%s", k), o->kind == OPT_LIST ? "must be a list" : "must be a single value");
			e->kind = ERR_INPUT;
			return -1;
		}
	}
	return 0;
}

/* A list takes the place of that of the file before. A project's is kept apart: it narrows. */
static int set_list(const struct opt *o, struct request *r, enum config_source from, const char *path, struct fy_node *value, struct arena *a,
		    struct err *e)
{
	struct strlist *l = from == CONFIG_PROJECT ? &r->allow_project : (struct strlist *)((char *)r + o->at);
	const char *text = fy_node_get_scalar0(value);
	struct fy_node *item;
	void *it = NULL;

	if (from == CONFIG_PROJECT && !(o->flags & OPT_TIGHTEN))
		return bad(e, path, o->name, "cannot be set by a project's file");
	*l = (struct strlist){ 0 };
	if (text)
		strlist_add(a, l, arena_dup(a, text));
	else if (!fy_node_is_sequence(value))
		return bad(e, path, o->name, "must be a list of names");
	while (!text && (item = fy_node_sequence_iterate(value, &it))) {
		if (!fy_node_get_scalar0(item))
			return bad(e, path, o->name, "must be a list of names");
		strlist_add(a, l, arena_dup(a, fy_node_get_scalar0(item)));
	}
	/* An empty list is one, too. */
	if (!l->n)
		strlist_add(a, l, "");
	return 0;
}

static int set_key(struct config *c, struct request *r, enum config_source from, const char *path, const char *key,
		   struct fy_node *value, struct arena *a, struct err *e)
{
	const struct opt *o = opt_find(request_opts, key);
	const char *text = fy_node_get_scalar0(value);
	struct request before = *r;

	if (strcmp(key, "layers") == 0 && from != CONFIG_PROJECT)
		return set_layers(c, value, path, a, e);
	if (strcmp(key, "pool") == 0 && from != CONFIG_PROJECT)
		return set_pool(c, value, path, a, e);
	if (strcmp(key, "allow-host-network") == 0 && from != CONFIG_PROJECT) {
		c->allow_host_network = text && strcmp(text, "true") == 0;
		return 0;
	}
	/* The same as 'no-keep-code: true', said the other way round. */
	if (strcmp(key, "keep-code") == 0 && from != CONFIG_PROJECT && text) {
		r->no_keep_code = strcmp(text, "false") == 0;
		return 0;
	}
	if (!o || !(o->flags & OPT_CONFIG))
		return bad(e, path, key, from == CONFIG_PROJECT ? "cannot be set by a project's file" : "is not a setting");
	if (o->kind == OPT_LIST) {
		if (set_list(o, r, from, path, value, a, e) < 0)
			return -1;
		c->from[o - request_opts] = from;
		return 0;
	}
	if (!text)
		return bad(e, path, key, "must be a single value");
	if (opt_set(o, r, text, arena_fmt(a, "%s: %s", path, key), a, e) < 0) {
		e->kind = ERR_INPUT;
		return -1;
	}
	if (from == CONFIG_PROJECT && check_tighter(o, &before, r, path, e) < 0)
		return -1;
	c->from[o - request_opts] = from;
	return 0;
}

static int load_file(struct config *c, struct request *r, enum config_source from, const char *path, struct arena *a,
		     struct err *e)
{
	struct fy_document *doc;
	struct fy_node *root;
	struct fy_node_pair *pair;
	void *it = NULL;
	int rc = 0;

	if (access(path, F_OK) < 0)
		return 0;
	snprintf(c->paths[from], sizeof(c->paths[from]), "%s", path);
	if (yaml_open(path, &doc, &root, e) < 0)
		return -1;
	while (root && rc == 0 && (pair = fy_node_mapping_iterate(root, &it))) {
		const char *key = fy_node_get_scalar0(fy_node_pair_key(pair));

		rc = set_key(c, r, from, path, key ? key : "", fy_node_pair_value(pair), a, e);
	}
	if (doc)
		fy_document_destroy(doc);
	return rc;
}

static int load_env(struct config *c, struct request *r, struct arena *a, struct err *e)
{
	for (const struct opt *o = request_opts; o->name; o++) {
		char name[64];
		const char *text;

		if (!(o->flags & OPT_CONFIG))
			continue;
		opt_env_name(o, name, sizeof(name));
		text = getenv(name);
		if (!text)
			continue;
		if (o->kind == OPT_LIST)
			*(struct strlist *)((char *)r + o->at) = (struct strlist){ 0 };
		if (opt_set(o, r, text, name, a, e) < 0)
			return -1;
		c->from[o - request_opts] = CONFIG_ENV;
	}
	return 0;
}

int config_load(struct config *c, struct request *r, struct arena *a, struct err *e)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char base[400] = "", path[512];

	memset(c, 0, sizeof(*c));
	opt_defaults(request_opts, r, a);
	if (xdg && xdg[0] == '/')
		snprintf(base, sizeof(base), "%s/belljar", xdg);
	else if (home && home[0] == '/')
		snprintf(base, sizeof(base), "%s/.config/belljar", home);
	if (load_file(c, r, CONFIG_SYSTEM, "/etc/belljar/config.yaml", a, e) < 0 || language_load_dir("/etc/belljar/languages", e) < 0 ||
	    rules_load_dir("/etc/belljar/rules", e) < 0)
		return -1;
	if (base[0]) {
		snprintf(path, sizeof(path), "%s/config.yaml", base);
		if (load_file(c, r, CONFIG_USER, path, a, e) < 0)
			return -1;
		snprintf(path, sizeof(path), "%s/languages", base);
		if (language_load_dir(path, e) < 0)
			return -1;
		snprintf(path, sizeof(path), "%s/rules", base);
		if (rules_load_dir(path, e) < 0)
			return -1;
	}
	if (load_file(c, r, CONFIG_PROJECT, ".belljar.yaml", a, e) < 0)
		return -1;
	return load_env(c, r, a, e);
}

int config_allows(const struct config *c, const struct request *r, struct err *e)
{
	if (strcmp(r->network, "host") != 0 || c->allow_host_network)
		return 0;
	err_set(e, ERR_DENIED, "--net host: the operator does not allow it");
	return err_hint(e, "'allow-host-network: true' in /etc/belljar/config.yaml or ~/.config/belljar/config.yaml");
}
