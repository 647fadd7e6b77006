/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: which interpreter runs a repository's tests, and what of the host it needs. */
#include "grade/swe_env.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "grade/text.h"
#include "jar/root.h"
#include "jar/spec.h"
#include "run/yaml.h"

#define HOST_PYTHON "/usr/bin/python3"
#define HOST_PATH   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define LINKS_MAX   40

struct env {
	const char *key;    /* of the map; NULL: not from there */
	const char *dir;    /* NULL: an interpreter alone */
	const char *python;
	bool venv;
	struct strlist show; /* SRC:DST */
};

static struct {
	struct arena a;
	const struct env *python, *dir; /* of the options */
	struct env **map;
	size_t map_n, map_cap;
	struct env **rows; /* by path: what rows name */
	size_t row_n, row_cap;
} g;

static void add(struct env ***v, size_t *n, size_t *cap, struct env *x)
{
	if (*n == *cap) {
		size_t more = *cap ? *cap * 2 : 16;
		struct env **bigger = arena_alloc(&g.a, more * sizeof(void *));

		if (*n)
			memcpy(bigger, *v, *n * sizeof(void *));
		*v = bigger;
		*cap = more;
	}
	(*v)[(*n)++] = x;
}

/* ---- what is shown ---- */

static bool is_beneath(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && (!path[n] || path[n] == '/');
}

/* Every jar has the host's /usr and the links that lead there. */
static bool is_in_every_jar(const char *path)
{
	static const char *const there[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives" };

	for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
		if (is_beneath(path, there[i]))
			return true;
	return false;
}

static int show_at(struct env *v, const char *real, const char *dst, const char *shown, struct err *e)
{
	/* What is below a folder of the guest's own can be moved away by the guest; the others are taken. */
	static const char *const ours[] = { "/tmp", "/var/tmp", "/workspace", "/home/guest", "/testbed", "/mirror" };
	bool good = strlen(dst) < JAR_PATH_MAX && !strchr(dst, ':') && !strchr(real, ':') && root_bind_path_ok(dst);

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		good = good && !is_beneath(dst, ours[i]);
	if (!good) {
		err_set(e, ERR_INPUT, "%s: the folder %.150s cannot be shown at its own path in a jar", shown, dst);
		return err_hint(e, "keep environments in a folder like /opt/envs");
	}
	for (size_t i = 0; i < v->show.n; i++)
		if (is_beneath(dst, strrchr(v->show.v[i], ':') + 1))
			return 0;
	strlist_add(&g.a, &v->show, arena_fmt(&g.a, "%s:%s", real, dst));
	return 0;
}

/* A folder at its own path, and where links on the way lead, at that path as well: interpreters look for their libraries from there. */
static int show(struct env *v, const char *folder, const char *shown, struct err *e)
{
	auto_free char *real = realpath(folder, NULL);

	if (!real || is_in_every_jar(folder))
		return 0;
	if (show_at(v, real, folder, shown, e) < 0)
		return -1;
	return is_in_every_jar(real) ? 0 : show_at(v, real, real, shown, e);
}

/* "/a/b" of "/a/b/bin/python"; the folder itself where that is not called bin. */
static const char *prefix_of(const char *program)
{
	char *dir = arena_dup(&g.a, program), *slash = strrchr(dir, '/');

	*slash = '\0';
	slash = strrchr(dir, '/');
	if (slash && slash > dir && strcmp(slash, "/bin") == 0)
		*slash = '\0';
	return dir;
}

/* Every place that a link on the way to the interpreter names. */
static int follow(struct env *v, const char *shown, struct err *e)
{
	const char *at = v->python;
	char target[JAR_PATH_MAX];
	ssize_t n;

	for (int i = 0; i < LINKS_MAX; i++) {
		if (show(v, prefix_of(at), shown, e) < 0)
			return -1;
		n = readlink(at, target, sizeof(target) - 1);
		if (n < 0)
			return 0;
		target[n] = '\0';
		at = target[0] == '/' ? arena_dup(&g.a, target) : arena_fmt(&g.a, "%.*s/%s", (int)(strrchr(at, '/') - at), at, target);
	}
	return 0;
}

/* "home = /opt/python3.8/bin" of pyvenv.cfg: where a venv's own interpreter and its library are. */
static int look_for_home(struct env *v, const char *shown, struct err *e)
{
	char text[8192];
	ssize_t n = fd_read_file(AT_FDCWD, arena_fmt(&g.a, "%s/pyvenv.cfg", v->dir), text, sizeof(text));
	struct span rest = { text, n > 0 ? (size_t)n : 0 }, line;

	v->venv = n >= 0;
	while (span_line(&rest, &line)) {
		const char *eq = line.n ? memchr(line.p, '=', line.n) : NULL;
		struct span key = eq ? span_trim(span_head(line, (size_t)(eq - line.p))) : SPAN_NONE, value;

		if (!span_is(key, "home"))
			continue;
		value = span_trim(span_from(line, (size_t)(eq - line.p) + 1));
		if (value.n && value.p[0] == '/')
			return show(v, prefix_of(arena_fmt(&g.a, "%.*s/python", (int)value.n, value.p)), shown, e);
	}
	return 0;
}

/* ---- one environment ---- */

static const char *absolute(const char *path)
{
	size_t n = strlen(path);
	char *real;

	while (n > 1 && path[n - 1] == '/')
		n--;
	/* Links stay: what is installed there names itself by this path. */
	if (path[0] == '/' && !strstr(path, "/./") && !strstr(path, "/../") && !strstr(path, "//"))
		return arena_dup_len(&g.a, path, n);
	real = realpath(path, NULL);
	path = arena_dup(&g.a, real ? real : path);
	free(real);
	return path;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

static const struct env *open_python(const char *path, const char *shown, struct err *e)
{
	struct env *v = arena_alloc(&g.a, sizeof(*v));

	v->python = absolute(path);
	if (v->python[0] != '/' || !is_program(v->python)) {
		err_set(e, ERR_INPUT, "%s: %.200s is no program", shown, path);
		err_hint(e, "name the interpreter itself, for example /usr/bin/python3");
		return NULL;
	}
	v->dir = prefix_of(v->python);
	if (follow(v, shown, e) < 0 || look_for_home(v, shown, e) < 0)
		return NULL;
	/* Only a venv is more than its interpreter. */
	v->dir = v->venv ? v->dir : NULL;
	return v;
}

static struct env *open_dir(const char *path, const char *shown, struct err *e)
{
	static const char *const names[] = { "python", "python3" };
	struct env *v = arena_alloc(&g.a, sizeof(*v));
	struct stat st;

	v->dir = absolute(path);
	if (stat(v->dir, &st) < 0 || !S_ISDIR(st.st_mode)) {
		err_set(e, ERR_INPUT, "%s: %.200s %s", shown, path, lstat(v->dir, &st) < 0 ? "does not exist" : "is no folder");
		err_hint(e, "name the folder of an environment: it has bin/python (python3 -m venv DIR makes one)");
		return NULL;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !v->python; i++) {
		const char *at = arena_fmt(&g.a, "%s/bin/%s", v->dir, names[i]);

		v->python = is_program(at) ? at : NULL;
	}
	if (!v->python) {
		const char *at = arena_fmt(&g.a, "%s/bin/python", v->dir);

		err_set(e, ERR_INPUT, "%s: %.200s %s", shown, at, lstat(at, &st) == 0 ? "leads to no program" : "does not exist");
		err_hint(e, "name the folder of an environment: it has bin/python (python3 -m venv DIR makes one)");
		return NULL;
	}
	return show(v, v->dir, shown, e) < 0 || follow(v, shown, e) < 0 || look_for_home(v, shown, e) < 0 ? NULL : v;
}

/* ---- where they come from ---- */

int swe_env_options(const char *python, const char *dir, struct err *e)
{
	if (python && !(g.python = open_python(python, "--python", e)))
		return -1;
	return dir && !(g.dir = open_dir(dir, "--env", e)) ? -1 : 0;
}

static int add_pair(struct span key, struct span dir, const char *where, struct err *e)
{
	const char *name = arena_dup_len(&g.a, key.p, key.n), *slash = strchr(name, '/');
	struct env *v;

	if (!slash || slash == name || !slash[1] || strchr(slash + 1, '/') || slash[1] == '@') {
		err_set(e, ERR_INPUT, "%s: '%.100s' is neither owner/name nor owner/name@version", where, name);
		return err_hint(e, "for example: django/django@3.2 /opt/envs/django-3.2");
	}
	if (!dir.n || dir.p[0] != '/') {
		err_set(e, ERR_INPUT, "%s: '%.100s' needs the absolute path of an environment's folder", where, name);
		return err_hint(e, "for example: django/django@3.2 /opt/envs/django-3.2");
	}
	for (size_t i = 0; i < g.map_n; i++)
		if (strcasecmp(g.map[i]->key, name) == 0)
			return err_set(e, ERR_INPUT, "%s: '%.100s' is there twice", where, name);
	v = open_dir(arena_dup_len(&g.a, dir.p, dir.n), where, e);
	if (!v)
		return -1;
	v->key = name;
	add(&g.map, &g.map_n, &g.map_cap, v);
	return 0;
}

static int read_lines(struct span text, const char *path, struct err *e)
{
	struct span line;

	for (size_t number = 1; span_line(&text, &line); number++) {
		size_t n = 0;

		line = span_trim(line);
		if (!line.n || line.p[0] == '#')
			continue;
		while (n < line.n && line.p[n] != ' ' && line.p[n] != '\t')
			n++;
		if (add_pair(span_head(line, n), span_trim(span_from(line, n)), arena_fmt(&g.a, "--env-map: %.150s, line %zu", path, number), e) < 0)
			return -1;
	}
	return 0;
}

static int read_yaml(const char *path, struct err *e)
{
	struct fy_document *doc = NULL;
	struct fy_node *root;
	struct fy_node_pair *pair;
	const char *where = arena_fmt(&g.a, "--env-map: %.150s", path);
	void *it = NULL;
	int rc = yaml_open(path, &doc, &root, e);

	while (rc == 0 && root && (pair = fy_node_mapping_iterate(root, &it))) {
		auto_free char *key = yaml_scalar_dup(fy_node_pair_key(pair));
		auto_free char *dir = yaml_scalar_dup(fy_node_pair_value(pair));

		rc = key && dir ? add_pair(span_trim(span_of(key)), span_trim(span_of(dir)), where, e) :
				  err_set(e, ERR_INPUT, "%s: it is no mapping of names to folders", where);
	}
	if (doc)
		fy_document_destroy(doc);
	return rc;
}

/* "{" of JSON, or "owner/name: folder" of YAML in the first line that says something. */
static bool is_mapping(struct span text)
{
	struct span line;

	while (span_line(&text, &line)) {
		line = span_trim(line);
		if (!line.n || line.p[0] == '#' || span_is(line, "---"))
			continue;
		return line.p[0] == '{' || span_find(line, ": ") >= 0 || span_ends(line, ":");
	}
	return false;
}

int swe_env_map(const char *path, struct err *e)
{
	static char text[1 << 20];
	ssize_t n = fd_read_file(AT_FDCWD, path, text, sizeof(text));

	if (n < 0) {
		err_sys(e, "--env-map: %.200s", path);
		e->kind = ERR_INPUT;
		return -1;
	}
	return is_mapping((struct span){ text, (size_t)n }) ? read_yaml(path, e) : read_lines((struct span){ text, (size_t)n }, path, e);
}

static const struct env *row_env(const char *path)
{
	for (size_t i = 0; path && i < g.row_n; i++)
		if (strcmp(g.rows[i]->key, path) == 0)
			return g.rows[i];
	return NULL;
}

int swe_env_rows(struct err *e)
{
	const struct swe_spec *s;

	for (size_t i = 0; (s = swe_spec_at(i)); i++) {
		const char *shown = arena_fmt(&g.a, "%.150s: '%s'", s->file ? s->file : s->name, s->environment ? "environment" : "python");
		const char *path = s->environment ? s->environment : s->python;
		const struct env *v;
		struct env *kept;

		if (!path || row_env(path))
			continue;
		v = s->environment ? open_dir(path, shown, e) : open_python(path, shown, e);
		if (!v)
			return -1;
		kept = arena_alloc(&g.a, sizeof(*kept));
		*kept = *v;
		kept->key = arena_dup(&g.a, path);
		add(&g.rows, &g.row_n, &g.row_cap, kept);
	}
	return 0;
}

/* ---- for an instance ---- */

static const struct env *in_map(const char *repo, const char *version)
{
	const struct env *any = NULL;
	size_t n = strlen(repo);

	for (size_t i = 0; i < g.map_n; i++) {
		const char *key = g.map[i]->key;

		if (strncasecmp(key, repo, n) != 0)
			continue;
		if (key[n] == '@' && *version && strcmp(key + n + 1, version) == 0)
			return g.map[i];
		if (!key[n])
			any = g.map[i];
	}
	return any;
}

static const struct env *find(const struct swe_instance *i, const struct swe_spec *s)
{
	const struct env *v = in_map(i->repo, i->version);

	if (!v)
		v = g.dir;
	if (!v && s)
		v = row_env(s->environment ? s->environment : s->python);
	return v;
}

static bool has_name(const struct strlist *env, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], name, n) == 0 && env->v[i][n] == '=')
			return true;
	return false;
}

static void show_all(struct swe_job *j, const struct env *v, struct arena *a)
{
	for (size_t i = 0; v && i < v->show.n; i++) {
		bool there = false;

		for (size_t k = 0; k < j->show.n; k++)
			there = there || strcmp(j->show.v[k], v->show.v[i]) == 0;
		if (!there)
			strlist_add(a, &j->show, v->show.v[i]);
	}
}

int swe_env_choose(struct swe_job *j, const struct swe_instance *i, struct arena *a, struct err *e)
{
	const struct env *v = find(i, j->spec), *python = g.python;
	const char *dir = v && v->dir ? v->dir : python ? python->dir : NULL;

	j->python = python ? python->python : v ? v->python : j->spec->python ? j->spec->python : HOST_PYTHON;
	show_all(j, v, a);
	show_all(j, python, a);
	for (const char *const *p = j->spec->layers; p && *p; p++)
		strlist_add(a, &j->show, arena_fmt(a, "%s:%s", *p, *p));
	if (dir && !has_name(&j->env, "PATH"))
		strlist_add(a, &j->env, arena_fmt(a, "PATH=%s/bin:" HOST_PATH, dir));
	if (((v && v->venv) || (python && python->venv)) && !has_name(&j->env, "VIRTUAL_ENV"))
		strlist_add(a, &j->env, arena_fmt(a, "VIRTUAL_ENV=%s", dir));
	if (j->show.n > JAR_BINDS_MAX - 4)
		return err_set(e, ERR_INPUT, "%s: more than %d folders of the host to show", i->id, JAR_BINDS_MAX - 4);
	return 0;
}

const char *swe_env_key(const struct swe_instance *i, struct arena *a)
{
	const struct swe_spec *s = swe_spec_find(i->repo, i->version);
	const struct env *v = find(i, s);

	return arena_fmt(a, "%s:%s", g.python ? g.python->python : "", v ? v->python : "");
}
