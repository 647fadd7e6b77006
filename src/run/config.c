/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration: system, user and project files and the environment, below what the command line says. */
#include "run/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "run/rules.h"
#include "run/yaml.h"
#include "store/store.h"

const char *config_source_name(enum config_source s)
{
	static const char *const names[] = { "default", "system file", "user file", "project file", "environment", "command line" };

	return names[s];
}

static int bad(struct err *e, const char *path, const char *key, const char *why)
{
	err_set(e, ERR_INPUT, "%s: '%s' %s", path, yaml_shown(key), why);
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

static const struct opt pool_opts[] = {
	{ "floor", 0, "N", NULL, OPT_U64, AT(floor), NULL, 1, 256, 0, "jars kept ready at least" },
	{ "ceiling", 0, "N", NULL, OPT_U64, AT(ceiling), NULL, 1, 256, 0, "jars at most" },
	{ "zygotes", 0, "N", NULL, OPT_U64, AT(zygotes), NULL, 1, 64, 0, "warmed interpreters" },
	{ "recycle", 0, NULL, NULL, OPT_FLAG, AT(recycle), NULL, 0, 0, 0, "a jar that is proven clean, and Python's memory put back to what it was, serve the same client again" },
	{ "preload", 0, "MODULE", NULL, OPT_LIST, AT(preload), NULL, 0, 0, 0, "modules that a zygote imports before any request" },
	{ .name = NULL },
};

static const struct opt trees_opts[] = {
	{ "max", 0, "SIZE", NULL, OPT_BYTES, offsetof(struct config_trees, max), NULL, 1ULL << 20, 1ULL << 50, 0, "trees of belljar swebench, together" },
	{ .name = NULL },
};

static const struct opt logs_opts[] = {
	{ "max-size", 0, "SIZE", "2G", OPT_BYTES, offsetof(struct logs_bounds, max_bytes), NULL, 1ULL << 20, 1ULL << 50, OPT_TIGHTEN, "logs of outputs, together; the oldest go first" },
	{ "max-age", 0, "TIME", "30d", OPT_MS, offsetof(struct logs_bounds, max_age_ms), NULL, 1000, 1ULL << 42, OPT_TIGHTEN, "age of a log" },
	{ .name = NULL },
};

static const struct opt receipts_opts[] = {
	{ "code-max-size", 0, "SIZE", "1G", OPT_BYTES, offsetof(struct config_receipts, code_max), NULL, 1ULL << 20, 1ULL << 50, OPT_TIGHTEN,
	  "code that is kept with receipts, together, as it is compressed; the oldest goes first" },
	{ .name = NULL },
};

const struct config_section config_sections[] = {
	{ "pool", pool_opts, offsetof(struct config, pool) },
	{ "trees", trees_opts, offsetof(struct config, trees) },
	{ "logs", logs_opts, offsetof(struct config, logs) },
	{ "receipts", receipts_opts, offsetof(struct config, receipts) },
	{ .name = NULL },
};

static int set_section_key(char *dst, const struct opt *o, struct fy_node *value, const char *shown, struct arena *a, struct err *e)
{
	struct fy_node *item;
	void *it = NULL;

	if (o->kind != OPT_LIST)
		return fy_node_get_scalar0(value) ? opt_set(o, dst, fy_node_get_scalar0(value), shown, a, e) : -1;
	if (!fy_node_is_sequence(value))
		return -1;
	*(struct strlist *)(void *)(dst + o->at) = (struct strlist){ 0 };
	while ((item = fy_node_sequence_iterate(value, &it)))
		if (!fy_node_get_scalar0(item) || opt_set(o, dst, fy_node_get_scalar0(item), shown, a, e) < 0)
			return -1;
	return 0;
}

/* What the system file sets of a section is a ceiling, where more is looser. */
static int hold_section(struct config *c, enum config_source from, const struct config_section *s, const struct opt *o, const struct config *before, const char *path,
			struct arena *a, struct err *e)
{
	uint32_t *has = &c->system_has[s - config_sections], bit = 1U << (o - s->opts);
	size_t at = s->at + o->at;

	if (from == CONFIG_SYSTEM)
		*has |= bit;
	else if (*has & bit && o->flags & OPT_TIGHTEN && *(const uint64_t *)(const void *)((const char *)c + at) > *(const uint64_t *)(const void *)((const char *)before + at))
		return bad(e, path, arena_fmt(a, "%s.%s", s->name, o->name), "is more than the system file says, and that holds");
	return 0;
}

static int set_section(struct config *c, enum config_source from, const struct config_section *s, struct fy_node *n, const char *path, struct arena *a, struct err *e)
{
	struct config before = *c;
	struct fy_node_pair *pair;
	void *it = NULL;

	if (!fy_node_is_mapping(n))
		return bad(e, path, s->name, "must be a mapping");
	while ((pair = fy_node_mapping_iterate(n, &it))) {
		const char *k = fy_node_get_scalar0(fy_node_pair_key(pair));
		const struct opt *o = k ? opt_find(s->opts, k) : NULL;

		if (!o)
			return bad(e, path, arena_fmt(a, "%s.%s", s->name, k ? k : ""), "is not a setting");
		err_clear(e);
		if (set_section_key((char *)c + s->at, o, fy_node_pair_value(pair), arena_fmt(a, "%s: %s.%s", path, s->name, k), a, e) < 0) {
			if (!e->msg[0])
				return bad(e, path, arena_fmt(a, "%s.%s", s->name, k), o->kind == OPT_LIST ? "must be a list" : "must be a single value");
			e->kind = ERR_INPUT;
			return -1;
		}
		if (hold_section(c, from, s, o, &before, path, a, e) < 0)
			return -1;
	}
	return 0;
}

static const char *unknown_setting(const char *key, struct arena *a)
{
	for (const struct opt *o = request_opts; o->name; o++)
		if (o->flags & OPT_CONFIG && parse_is_near(key, o->name))
			return arena_fmt(a, "is not a setting; did you mean '%s'?", o->name);
	return "is not a setting";
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
	for (const struct config_section *s = config_sections; s->name; s++)
		if (strcmp(key, s->name) == 0 && from != CONFIG_PROJECT)
			return set_section(c, from, s, value, path, a, e);
	if (strcmp(key, "allow-host-network") == 0 && from != CONFIG_PROJECT) {
		c->allow_host_network = text && strcmp(text, "true") == 0;
		if (from == CONFIG_SYSTEM)
			c->bars_host_network = !c->allow_host_network;
		if (c->allow_host_network && c->bars_host_network)
			return bad(e, path, key, "is false in the system file, and that holds");
		return 0;
	}
	/* The same as 'no-keep-code: true', said the other way round. */
	if (strcmp(key, "keep-code") == 0 && from != CONFIG_PROJECT && text) {
		r->no_keep_code = strcmp(text, "false") == 0;
		c->from[opt_find(request_opts, "no-keep-code") - request_opts] = from;
		return 0;
	}
	if (!o || !(o->flags & OPT_CONFIG))
		return bad(e, path, key, o && from == CONFIG_PROJECT ? "cannot be set by a project's file" : unknown_setting(key, a));
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

/* ---- files ---- */

/* Is it the caller's, as far as that can be told? Root's is anybody's; behind sudo, the one who called it is the caller too. */
static bool is_own(uid_t owner)
{
	const char *sudo = geteuid() == 0 ? getenv("SUDO_UID") : NULL;

	return owner == 0 || owner == geteuid() || (sudo && sudo[0] && strtoul(sudo, NULL, 10) == owner);
}

static int unreadable(const char *path, struct err *e)
{
	err_sys(e, "%s", path);
	e->kind = ERR_INPUT;
	return -1;
}

/* -1 and no error: there is none. A system file that cannot be reached may be there, and what it sets would not hold. */
static int open_own(const char *path, enum config_source from, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	err_clear(e);
	if (fd >= 0 || errno == ENOENT || errno == ENOTDIR || (errno == EACCES && from == CONFIG_USER && access(path, F_OK) < 0))
		return fd;
	return unreadable(path, e);
}

/*
 * A project's folder is as foreign as its code. A link in it would have root read, and quote in an error, a file of somebody else; a file that neither the caller nor
 * the folder's owner wrote was put there by a third one (/tmp).
 */
static int open_project(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st, dir;

	err_clear(e);
	if (fd < 0 && errno == ELOOP) {
		err_set(e, ERR_INPUT, "%s is a link, and a project's file is read where it lies", path);
		return err_hint(e, "put a copy in its place, or remove it");
	}
	if (fd < 0)
		return lstat(path, &st) < 0 ? -1 : unreadable(path, e);
	if (fstat(fd, &st) < 0 || stat(".", &dir) < 0) {
		unreadable(path, e);
	} else if (!is_own(st.st_uid) && st.st_uid != dir.st_uid) {
		err_set(e, ERR_INPUT, "%s belongs to user %u, who is neither you nor the owner of the folder", path, st.st_uid);
		err_hint(e, "remove it, or work in a folder of your own");
	} else {
		return fd;
	}
	close(fd);
	return -1;
}

/* Settings, languages and rules of a user lie in one folder: it must be the caller's. */
static int check_folder(const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0;
	if (!is_own(st.st_uid))
		err_set(e, ERR_INPUT, "%s belongs to user %u: these are not your settings", path, st.st_uid);
	else if (st.st_mode & S_IWOTH)
		err_set(e, ERR_INPUT, "%s can be written by every user of this host", path);
	else
		return 0;
	return err_hint(e, "chown or chmod it, or set HOME or XDG_CONFIG_HOME to a folder of your own");
}

static int load_file(struct config *c, struct request *r, enum config_source from, const char *path, struct arena *a,
		     struct err *e)
{
	struct fy_document *doc;
	struct fy_node *root;
	struct fy_node_pair *pair;
	void *it = NULL;
	int rc = 0;

	auto_close int fd = from == CONFIG_PROJECT ? open_project(path, e) : open_own(path, from, e);
	if (fd < 0)
		return e->msg[0] ? -1 : 0;
	snprintf(c->paths[from], sizeof(c->paths[from]), "%s", path);
	if (yaml_open_fd(fd, path, &doc, &root, e) < 0)
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

/* The folder of the system's files. Tests have one of their own: many run at once on one host. */
static const char *system_dir(void)
{
#ifdef BELLJAR_TEST_HOOKS
	const char *own = getenv("BELLJAR_SYSTEM_DIR");

	if (own && own[0] == '/')
		return own;
#endif
	return "/etc/belljar";
}

static int load_system(struct config *c, struct request *r, struct arena *a, struct err *e)
{
	const char *dir = system_dir();

	if (load_file(c, r, CONFIG_SYSTEM, arena_fmt(a, "%s/config.yaml", dir), a, e) < 0 || language_load_dir(arena_fmt(a, "%s/languages", dir), e) < 0 ||
	    rules_load_dir(arena_fmt(a, "%s/rules", dir), e) < 0)
		return -1;
	for (const struct opt *o = request_opts; o->name; o++)
		if (c->from[o - request_opts] == CONFIG_SYSTEM)
			ceiling_set(&c->system, o, r, config_source_name(CONFIG_SYSTEM));
	r->allow_system = r->allow;
	ceiling_hold_all(&c->system);
	return 0;
}

static int load_user(struct config *c, struct request *r, const char *base, struct arena *a, struct err *e)
{
	struct request before = *r;
	const char *path = arena_fmt(a, "%s/config.yaml", base);

	if (check_folder(base, e) < 0 || load_file(c, r, CONFIG_USER, path, a, e) < 0 || ceiling_apply(&c->system, &before, r, CEILING_FILE, path, a, e) < 0)
		return -1;
	return language_load_dir(arena_fmt(a, "%s/languages", base), e) < 0 || rules_load_dir(arena_fmt(a, "%s/rules", base), e) < 0 ? -1 : 0;
}

int config_load(struct config *c, struct request *r, struct arena *a, struct err *e)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char base[400] = "";
	struct request before;

	memset(c, 0, sizeof(*c));
	for (const struct config_section *s = config_sections; s->name; s++)
		opt_defaults(s->opts, (char *)c + s->at, a);
	opt_defaults(request_opts, r, a);
	if (xdg && xdg[0] == '/')
		snprintf(base, sizeof(base), "%s/belljar", xdg);
	else if (home && home[0] == '/')
		snprintf(base, sizeof(base), "%s/.config/belljar", home);
	if (load_system(c, r, a, e) < 0 || (base[0] && load_user(c, r, base, a, e) < 0) || load_file(c, r, CONFIG_PROJECT, ".belljar.yaml", a, e) < 0)
		return -1;
	logs_set_bounds(&c->logs);
	store_set_code_max(c->receipts.code_max);
	before = *r;
	return load_env(c, r, a, e) < 0 ? -1 : ceiling_apply(&c->system, &before, r, CEILING_ENV, NULL, a, e);
}

int config_hold(const struct config *c, const struct request *before, struct request *r, struct arena *a, struct err *e)
{
	return ceiling_apply(&c->system, before, r, CEILING_OPTION, NULL, a, e);
}

void config_ceiling(const struct config *c, const struct request *r, const struct opt_cmd *cmd, const struct opt_rest *rest, struct ceiling *out)
{
	memset(out, 0, sizeof(*out));
	for (const struct opt *o = request_opts; o->name; o++) {
		const struct opt *own = opt_find(cmd->opts, o->name);
		size_t i = (size_t)(o - request_opts);

		if (own && own->at == o->at && rest->seen[own - cmd->opts])
			ceiling_set(out, o, r, config_source_name(CONFIG_OPTION));
		else if (c->from[i] != CONFIG_DEFAULT)
			ceiling_set(out, o, r, config_source_name((enum config_source)c->from[i]));
	}
}

int config_allows(const struct config *c, const struct request *r, struct err *e)
{
	if (strcmp(r->network, "host") != 0 || c->allow_host_network)
		return 0;
	err_set(e, ERR_DENIED, "--net host: the operator does not allow it");
	return err_hint(e, "'allow-host-network: true' in /etc/belljar/config.yaml or ~/.config/belljar/config.yaml");
}
