/* SPDX-License-Identifier: Apache-2.0 */
/* The request: its rows, its JSON form, and what must hold before anything is started. */
#include "run/request.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/fd.h"
#include "jar/allow.h"
#include "jar/feed.h"
#include "jar/root.h"
#include "run/rules.h"

#define CODE_MAX (64ULL << 20)
#define AT(field) offsetof(struct request, field)

const struct opt request_opts[] = {
	{ "code", 'c', "CODE", NULL, OPT_STR, AT(code), "code", 0, 0, 0, "run this code (language: --lang, else python)" },
	{ "lang", 'l', "NAME", NULL, OPT_STR, AT(language), "language", 0, 0, 0,
	  "language of the code; else by the file's ending, then its #! line" },
	REQUEST_LIMIT_OPTS
	REQUEST_POLICY_OPTS
	{ "stdin", 0, "FILE|-", NULL, OPT_STR, AT(stdin_path), NULL, 0, 0, 0, "standard input (default: the caller's where it is a pipe or a file, else empty)" },
	{ "arg", 'a', "ARG", NULL, OPT_LIST, AT(args), "args", 0, 0, 0, "argument of the code; may be repeated" },
	{ "env", 'e', "K[=V]", NULL, OPT_LIST, AT(env), NULL, 0, 0, 0, "environment variable; without a value the caller's; may be repeated" },
	{ "env-file", 0, "FILE", NULL, OPT_LIST, AT(env_files), NULL, 0, 0, 0, "environment variables, a line K=V or K each; '#' begins a comment; may be repeated" },
	{ "file", 'f', "SRC[:DST]", NULL, OPT_LIST, AT(file_opts), NULL, 0, 0, 0,
	  "copy a file or folder into /workspace (not through a symlink); may be repeated" },
	{ "ro", 0, "SRC:DST", NULL, OPT_LIST, AT(ro), NULL, 0, 0, 0, "show a file or folder of the host read-only; may be repeated" },
	{ "layer", 0, "SRC:DST", NULL, OPT_LIST, AT(layer), NULL, 0, 0, 0,
	  "show a folder of the host with a private writable layer over it (its own budget); as root the guest has the rights of the folder's owner there, also to read; may be repeated" },
	{ "workspace", 'w', "DIR", NULL, OPT_STR, AT(workspace), NULL, 0, 0, 0,
	  "copy this folder in as /workspace and the changes back afterwards" },
	{ "get", 'g', "PATH", NULL, OPT_LIST, AT(get), "get", 0, 0, 0, "bring a file or pattern out of /workspace; may be repeated" },
	{ "out", 'o', "DIR", NULL, OPT_STR, AT(out_dir), NULL, 0, 0, 0, "where --get puts files (default: only in the result)" },
	{ "workdir", 0, "DIR", "/workspace", OPT_STR, AT(workdir), "workdir", 0, 0, 0, "working directory in the jar" },
	{ "hostname", 0, "NAME", "jar", OPT_STR, AT(hostname), "hostname", 0, 0, OPT_CONFIG, "host name in the jar" },
	{ "uid", 0, "N", "1000", OPT_U64, AT(uid), "uid", 0, 65535, OPT_CONFIG, "user id inside the jar" },
	{ "no-write", 0, NULL, NULL, OPT_FLAG, AT(no_write), "no_write", 0, 0, OPT_CONFIG | OPT_TIGHTEN,
	  "nothing is writable, not even /workspace" },
	{ "net", 0, "none|host", "none", OPT_STR, AT(network), "network", 0, 0, OPT_CONFIG,
	  "network: none, or the host's where the operator allows it" },
	REQUEST_ALLOW_OPT
	{ "image", 0, "NAME", NULL, OPT_STR, AT(image), "image", 0, 0, 0, "reserved for images" },
	{ "request", 0, "FILE|-", NULL, OPT_STR, AT(request_path), NULL, 0, 0, OPT_NO_JSON, "read a request object (JSON)" },
	{ "id", 0, "ID", NULL, OPT_STR, AT(id), "id", 0, 0, 0, "a name of yours for this run, echoed in the result" },
	{ "client", 0, "NAME", NULL, OPT_STR, AT(client), "client", 0, 0, 0, "whose run it is, echoed in the result" },
	REQUEST_AUDIT_OPTS
	{ "allow-degraded", 0, NULL, NULL, OPT_FLAG, AT(allow_degraded), NULL, 0, 0, OPT_CONFIG | OPT_NO_JSON,
	  "start although a guard is missing on this host" },
	{ "json", 'j', NULL, NULL, OPT_FLAG, AT(json), NULL, 0, 0, OPT_NO_JSON, "print the result object and nothing else" },
	{ "quiet", 'q', NULL, NULL, OPT_FLAG, AT(quiet), NULL, 0, 0, OPT_NO_JSON, "no verdict line, no warnings; what belljar itself fails at or refuses is told" },
	{ "verbose", 'v', NULL, NULL, OPT_FLAG, AT(verbose), NULL, 0, 0, OPT_NO_JSON, "say how it ended, always" },
	{ "dry-run", 'n', NULL, NULL, OPT_FLAG, AT(dry_run), NULL, 0, 0, OPT_NO_JSON, "print the resolved plan and start nothing" },
	{ .name = NULL },
};

/* ---- JSON ---- */

static int bad_type(const char *field, const char *wanted, struct err *e)
{
	return err_set(e, ERR_REQUEST, "request: '%s' must be %s", field, wanted);
}

static int json_text(json_t *v, const char *field, const char **out, size_t *len, struct arena *a, struct err *e)
{
	if (!json_is_string(v) || !out)
		return bad_type(field, "a string", e);
	if (!len && strlen(json_string_value(v)) != json_string_length(v))
		return err_set(e, ERR_REQUEST, "request: '%s' holds a NUL byte", field);
	*out = arena_dup_len(a, json_string_value(v), json_string_length(v));
	if (len)
		*len = json_string_length(v);
	return 0;
}

static int json_number(const struct opt *o, json_t *v, const char *field, uint64_t *out, struct err *e)
{
	char shown[64];
	uint64_t n;

	snprintf(shown, sizeof(shown), "request: '%s'", field);
	if (o->kind == OPT_MILLI) {
		double d = json_is_number(v) ? json_number_value(v) : -1;

		if (!(d >= 0 && d < 1e12))
			return bad_type(field, "a number that is not negative", e);
		n = (uint64_t)llround(d * 1000);
	} else {
		if (!json_is_integer(v) || json_integer_value(v) < 0)
			return bad_type(field, "a whole number that is not negative", e);
		n = (uint64_t)json_integer_value(v);
	}
	if (opt_check(o, n, shown, e) < 0) {
		e->kind = ERR_REQUEST;
		return -1;
	}
	*out = n;
	return 0;
}

static int json_strings(json_t *v, const char *field, struct strlist *out, struct arena *a, struct err *e)
{
	json_t *item;
	size_t i;

	if (!json_is_array(v))
		return bad_type(field, "a list of strings", e);
	json_array_foreach(v, i, item) {
		const char *text = NULL;

		if (json_text(item, field, &text, NULL, a, e) < 0)
			return -1;
		strlist_add(a, out, text);
	}
	return 0;
}

static int json_choice(const struct opt *o, json_t *v, const char *field, uint64_t *out, struct err *e)
{
	int i = json_is_string(v) ? opt_choice(o, json_string_value(v)) : -1;

	if (i < 0)
		return err_set(e, ERR_REQUEST, "request: '%s' must be one of %s", field, o->arg);
	*out = (uint64_t)i;
	return 0;
}

/* Names of sets only: a request does not say which files of the host are read. */
static int json_rules(json_t *v, struct request *r, struct arena *a, struct err *e)
{
	struct strlist names = { 0 };
	const char *all = NULL;

	if (json_is_string(v)) {
		if (json_text(v, "rules", &all, NULL, a, e) < 0)
			return -1;
		strlist_add(a, &names, all);
		all = NULL;
	} else if (!json_is_array(v) || !json_array_size(v)) {
		return bad_type("rules", "a list of names of sets", e);
	} else if (json_strings(v, "rules", &names, a, e) < 0) {
		return -1;
	}
	for (size_t i = 0; i < names.n; i++) {
		const char *name = names.v[i];

		if (!name[0] || strlen(name) > 60 || strpbrk(name, "/,") || rules_is_file(name, strlen(name)))
			return err_set(e, ERR_REQUEST, "request: 'rules': '%.60s' is not the name of a set", name);
		all = all ? arena_fmt(a, "%s,%s", all, name) : name;
	}
	r->rules = all;
	return 0;
}

static int json_env(json_t *v, struct request *r, struct arena *a, struct err *e)
{
	const char *key;
	json_t *item;

	if (!json_is_object(v))
		return bad_type("env", "an object of strings", e);
	json_object_foreach(v, key, item) {
		const char *text = NULL;

		if (!key[0] || strchr(key, '='))
			return err_set(e, ERR_REQUEST, "request: 'env' has a name that is empty or holds '=': '%.60s'", key);
		if (json_text(item, "env", &text, NULL, a, e) < 0)
			return -1;
		strlist_add(a, &r->env, arena_fmt(a, "%s=%s", key, text));
	}
	return 0;
}

static int decode_base64(const char *text, size_t len, struct request_file *f, struct arena *a)
{
	char *out = arena_alloc(a, len / 4 * 3 + 4);

	f->content = out;
	return base64_decode(text, len, out, &f->len);
}

static int add_file(struct request *r, const struct request_file *f, struct arena *a, struct err *e)
{
	struct request_file *all;

	if (!feed_name_ok(f->path, strlen(f->path)))
		return err_set(e, ERR_REQUEST, "file '%.100s': not a path inside /workspace", f->path);
	if (r->file_count == r->file_cap) {
		r->file_cap = r->file_cap ? r->file_cap * 2 : 16;
		all = arena_alloc(a, r->file_cap * sizeof(*all));
		if (r->file_count)
			memcpy(all, r->files, r->file_count * sizeof(*all));
		r->files = all;
	}
	r->files[r->file_count++] = *f;
	return 0;
}

static int json_file(json_t *v, struct request *r, struct arena *a, struct err *e)
{
	struct request_file f = { .mode = 0644 };
	const char *key, *text = NULL;
	json_t *item;
	size_t len = 0;
	int given = 0;

	if (!json_is_object(v))
		return bad_type("files", "a list of objects", e);
	json_object_foreach(v, key, item) {
		if (strcmp(key, "mode") == 0) {
			if (!json_is_integer(item) || json_integer_value(item) < 0 || json_integer_value(item) > 0777)
				return bad_type("files.mode", "permission bits as a number from 0 to 511", e);
			f.mode = (uint32_t)json_integer_value(item);
			continue;
		}
		if (strcmp(key, "path") != 0 && strcmp(key, "content") != 0 && strcmp(key, "base64") != 0 &&
		    strcmp(key, "source") != 0)
			return err_set(e, ERR_REQUEST, "request: unknown field 'files.%.40s'", key);
		if (json_text(item, key, &text, strcmp(key, "content") == 0 || strcmp(key, "base64") == 0 ? &len : NULL, a, e) < 0)
			return -1;
		if (strcmp(key, "path") == 0) {
			f.path = strncmp(text, "/workspace/", 11) == 0 ? text + 11 : text;
			continue;
		}
		given++;
		if (strcmp(key, "source") == 0) {
			f.source = text;
		} else if (strcmp(key, "content") == 0) {
			f.content = text;
			f.len = len;
		} else if (decode_base64(text, len, &f, a) < 0) {
			return err_set(e, ERR_REQUEST, "request: 'files.base64' is not base64");
		}
	}
	if (!f.path || given != 1)
		return err_set(e, ERR_REQUEST, "request: each of 'files' needs 'path' and one of 'content', 'base64', 'source'");
	return add_file(r, &f, a, e);
}

static int json_files(json_t *v, struct request *r, struct arena *a, struct err *e)
{
	json_t *item;
	size_t i;

	if (!json_is_array(v))
		return bad_type("files", "a list of objects", e);
	json_array_foreach(v, i, item)
		if (json_file(item, r, a, e) < 0)
			return -1;
	return 0;
}

/* A list of its own: it narrows what the command line allows. */
static int json_allow(json_t *v, struct request *r, struct arena *a, struct err *e)
{
	r->allow_in_request = true;
	return json_strings(v, "allow", &r->allow_request, a, e);
}

/* Fields that no option row describes. 1: handled, 0: not one of them, -1: error. */
static int json_special(const char *field, json_t *v, struct request *r, struct arena *a, struct err *e)
{
	int rc;

	if (strcmp(field, "code") == 0)
		rc = json_text(v, field, &r->code, &r->code_len, a, e);
	else if (strcmp(field, "stdin") == 0)
		rc = json_text(v, field, &r->stdin_data, &r->stdin_len, a, e);
	else if (strcmp(field, "argv") == 0)
		rc = json_strings(v, field, &r->argv, a, e);
	else if (strcmp(field, "env") == 0)
		rc = json_env(v, r, a, e);
	else if (strcmp(field, "files") == 0)
		rc = json_files(v, r, a, e);
	else if (strcmp(field, "allow") == 0)
		rc = json_allow(v, r, a, e);
	else if (strcmp(field, "allow_modules") == 0)
		rc = json_strings(v, field, &r->allow_modules_request, a, e);
	else if (strcmp(field, "rules") == 0)
		rc = json_rules(v, r, a, e);
	else
		return 0;
	return rc < 0 ? -1 : 1;
}

static const char *near_field(const char *name)
{
	static const char *const special[] = { "code", "stdin", "argv", "env", "files", "limits" };
	static char last[64];
	const struct opt *o;

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (strlen(name) > 2 && strncmp(name, special[i], strlen(name) - 1) == 0)
			return special[i];
	for (o = request_opts; o->name; o++) {
		const char *leaf = o->json && strchr(o->json, '.') ? strchr(o->json, '.') + 1 : o->json;

		if (leaf && (strcmp(o->name, name) == 0 || (strlen(name) > 3 && strncmp(leaf, name, strlen(name) - 1) == 0))) {
			snprintf(last, sizeof(last), "%s", o->json);
			return last;
		}
	}
	return NULL;
}

static int json_field(const char *field, json_t *v, struct request *r, struct arena *a, struct err *e)
{
	int rc = json_special(field, v, r, a, e);
	const char *near;

	if (rc)
		return rc < 0 ? -1 : 0;
	for (const struct opt *o = request_opts; o->name; o++) {
		void *at = (char *)r + o->at;

		if (!o->json || strcmp(o->json, field) != 0)
			continue;
		switch (o->kind) {
		case OPT_FLAG:
			if (!json_is_boolean(v))
				return bad_type(field, "true or false", e);
			*(bool *)at = json_is_true(v);
			return 0;
		case OPT_STR:
			return json_text(v, field, at, NULL, a, e);
		case OPT_LIST:
			return json_strings(v, field, at, a, e);
		case OPT_CHOICE:
			return json_choice(o, v, field, at, e);
		default:
			return json_number(o, v, field, at, e);
		}
	}
	if (opt_find(request_opts, field) && !opt_find(request_opts, field)->json) {
		err_set(e, ERR_REQUEST, "request: unknown field '%s'", field);
		return err_hint(e, "--%s is the command line's to say, not a request's", field);
	}
	near = near_field(field);
	return err_set(e, ERR_REQUEST, "request: unknown field '%.60s'%s%s%s", field, near ? "; did you mean '" : "",
		       near ? near : "", near ? "'?" : "");
}

/* Whose run it is, before anything can be wrong: an error is then told to the right one. */
static void json_whose(json_t *root, struct request *r, struct arena *a)
{
	struct err e;
	json_t *id = json_object_get(root, "id"), *client = json_object_get(root, "client");

	if (id)
		json_text(id, "id", &r->id, NULL, a, &e);
	if (client)
		json_text(client, "client", &r->client, NULL, a, &e);
}

/* 0: it may stand there, 1: it is not ours to read. */
static int json_place(const char *key, const char *apart, const char *const *beside, struct err *e)
{
	if (!apart)
		return 0;
	if (strcmp(key, apart) == 0)
		return 1;
	for (size_t i = 0; beside[i]; i++)
		if (strcmp(beside[i], key) == 0)
			return 0;
	return err_set(e, ERR_REQUEST, "request: '%.60s' is not for a request with '%s'", key, apart);
}

const char *request_json_error(json_error_t *je)
{
	char *near = strstr(je->text, " near '");

	/* A field that is there twice has to be named; one that long is none of ours. */
	if (near && (strncmp(je->text, "duplicate object key", 20) != 0 || strlen(near) > 48))
		*near = '\0';
	return je->text;
}

int request_from_json(struct request *r, const char *text, size_t len, struct arena *a, struct err *e)
{
	return request_from_json_beside(r, text, len, NULL, NULL, a, e);
}

int request_from_json_beside(struct request *r, const char *text, size_t len, const char *apart, const char *const *beside, struct arena *a, struct err *e)
{
	json_error_t je;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je), *v, *sub;
	const char *key, *name;
	int rc = 0;

	if (!root && je.line > 1)
		return err_set(e, ERR_REQUEST, "request: not JSON: line %d, column %d: %s", je.line, je.column, request_json_error(&je));
	if (!root)
		return err_set(e, ERR_REQUEST, "request: not JSON: column %d: %s", je.column, request_json_error(&je));
	if (!json_is_object(root)) {
		json_decref(root);
		return err_set(e, ERR_REQUEST, "request: must be an object");
	}
	json_whose(root, r, a);
	json_object_foreach(root, key, v) {
		rc = json_place(key, apart, beside, e);
		if (rc < 0)
			break;
		if (rc > 0) {
			rc = 0;
		} else if (strcmp(key, "limits") != 0) {
			rc = strchr(key, '.') ? err_set(e, ERR_REQUEST, "request: unknown field '%.60s'", key)
					      : json_field(key, v, r, a, e);
		} else if (!json_is_object(v)) {
			rc = bad_type("limits", "an object", e);
		} else {
			json_object_foreach(v, name, sub) {
				rc = json_field(arena_fmt(a, "limits.%s", name), sub, r, a, e);
				if (rc < 0)
					break;
			}
		}
		if (rc < 0)
			break;
	}
	json_decref(root);
	return rc;
}

/* ---- what must hold ---- */

int request_read_file(const char *path, const char **out, size_t *len, struct arena *a, struct err *e)
{
	bool from_stdin = strcmp(path, "-") == 0;
	auto_close int fd = from_stdin ? fcntl(0, F_DUPFD_CLOEXEC, 3)
				       : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	auto_buf text = BUF_INIT(CODE_MAX);
	static char block[65536];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err_sys(e, "%s", path);
		e->kind = ERR_INPUT;
		return err_hint(e, "code in the command line goes with -c; a program of the jar goes after --");
	}
	if (S_ISDIR(st.st_mode)) {
		err_set(e, ERR_INPUT, "%s is a folder, not code", path);
		return err_hint(e, "belljar run --workspace %s -- COMMAND", path);
	}
	if (!from_stdin && !S_ISREG(st.st_mode))
		return err_set(e, ERR_INPUT, "%s is not a plain file", path);
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > CODE_MAX) {
		err_set(e, ERR_INPUT, "%s has %lld bytes; code may have 64 MiB", path, (long long)st.st_size);
		return err_hint(e, "data goes in with --file");
	}
	while ((n = read(fd, block, sizeof(block))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err_sys(e, "read %s", path);
			e->kind = ERR_INPUT;
			return -1;
		}
		if (buf_add(&text, block, (size_t)n) < 0)
			return err_set(e, ERR_INPUT, "%s is larger than 64 MiB", path);
	}
	*out = arena_dup_len(a, text.data ? text.data : "", text.len);
	*len = text.len;
	return 0;
}

/*
 * A --workspace has files of its own. Code that is one of them runs as that file; other code gets a name that none of them has, so
 * that nothing of the caller's is covered, and it never comes back.
 */
static void name_in_workspace(struct request *r, struct arena *a)
{
	char dir[PATH_MAX], file[PATH_MAX];
	const char *name = r->code_name;

	if (r->file && realpath(r->workspace, dir) && realpath(r->file, file)) {
		size_t n = strlen(dir);

		if (strncmp(file, dir, n) == 0 && file[n] == '/') {
			r->code_name = arena_dup(a, file + n + 1);
			r->code_in_workspace = true;
			return;
		}
	}
	for (int i = 1; i < 10000; i++) {
		struct stat st;

		if (lstat(arena_fmt(a, "%s/%s", r->workspace, r->code_name), &st) < 0)
			return;
		r->code_name = arena_fmt(a, "belljar-%d-%s", i, name);
	}
}

static int find_language(struct request *r, struct arena *a, struct err *e)
{
	if (r->language) {
		r->lang = language_find(r->language);
		if (!r->lang)
			return language_unknown(r->language, e);
	} else if (r->file && strcmp(r->file, "-") != 0) {
		r->lang = language_of_file(r->file, r->code, r->code_len);
		if (!r->lang) {
			err_set(e, ERR_USAGE, "%s: no language has this ending, and there is no #! line", r->file);
			return err_hint(e, "name it with --lang; 'belljar languages' lists them");
		}
	} else {
		r->lang = language_find("python");
	}
	if (!r->lang)
		return err_set(e, ERR_INTERNAL, "no row for python");
	r->code_name = r->lang->file;
	if (r->file && strcmp(r->file, "-") != 0) {
		const char *slash = strrchr(r->file, '/');

		r->code_name = arena_dup(a, slash ? slash + 1 : r->file);
	}
	if (r->workspace)
		name_in_workspace(r, a);
	if (!feed_name_ok(r->code_name, strlen(r->code_name)))
		return err_set(e, ERR_INPUT, "'%.60s' cannot be a file's name in the jar", r->code_name);
	/* A batch asks for the same one a million times. */
	static const struct language *there;
	if (r->lang != there && access(r->lang->program, X_OK) < 0) {
		err_set(e, ERR_INPUT, "%s is not installed: there is no %s", r->lang->title, r->lang->program);
		return err_hint(e, "apt-get install %s", r->lang->package);
	}
	there = r->lang;
	return 0;
}

/* --file SRC[:DST], appended to the request's own files. */
static int add_file_opts(struct request *r, struct arena *a, struct err *e)
{
	for (size_t i = 0; i < r->file_opts.n; i++) {
		char *src = arena_dup(a, r->file_opts.v[i]), *colon = strrchr(src, ':');
		struct request_file f = { .source = src };

		if (colon && access(src, F_OK) < 0) {
			*colon = '\0';
			f.path = colon + 1;
			if (strncmp(f.path, "/workspace/", 11) == 0)
				f.path += 11;
		}
		if (!f.path) {
			size_t n = strlen(src);
			const char *slash;

			while (n > 1 && src[n - 1] == '/')
				src[--n] = '\0';
			slash = strrchr(src, '/');
			f.path = slash ? slash + 1 : src;
		}
		if (!feed_name_ok(f.path, strlen(f.path))) {
			err_set(e, ERR_USAGE, "--file: '%.100s' is not a path inside /workspace", f.path);
			return err_hint(e, "--file SRC:DST, where DST is relative to /workspace");
		}
		if (add_file(r, &f, a, e) < 0)
			return -1;
	}
	return 0;
}

static int check_env(const struct request *r, struct err *e)
{
	for (size_t i = 0; i < r->env.n; i++) {
		const char *eq = strchr(r->env.v[i], '=');

		if (!eq || eq == r->env.v[i])
			return err_set(e, ERR_USAGE, "--env: '%.60s' is not K=V", r->env.v[i]);
	}
	return 0;
}

static int check_words(const struct request *r, struct err *e)
{
	size_t n = strlen(r->hostname);

	if (r->image) {
		err_set(e, ERR_REQUEST, "--image: images do not exist yet; the jar's root is the host's /usr");
		return err_hint(e, "leave --image out; extra files come in with --ro");
	}
	if (strcmp(r->network, "none") != 0 && strcmp(r->network, "host") != 0)
		return err_set(e, ERR_REQUEST, "--net: '%.40s' is neither none nor host", r->network);
	if (!n || n > 63 || strspn(r->hostname, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") != n)
		return err_set(e, ERR_REQUEST, "--hostname: '%.70s' is not a host name", r->hostname);
	if (r->workdir[0] != '/' || strlen(r->workdir) >= FEED_NAME_MAX || strstr(r->workdir, "/../") ||
	    (strlen(r->workdir) >= 3 && strcmp(r->workdir + strlen(r->workdir) - 3, "/..") == 0) ||
	    strncmp(r->workdir, "/proc", 5) == 0 || strncmp(r->workdir, "/dev", 4) == 0) {
		err_set(e, ERR_REQUEST, "--workdir: '%.100s' is not a folder of the jar", r->workdir);
		return err_hint(e, "an absolute path like /workspace/src");
	}
	if (r->get.n > JAR_GLOBS_MAX)
		return err_set(e, ERR_REQUEST, "--get: at most %d patterns", JAR_GLOBS_MAX);
	for (size_t i = 0; i < r->get.n; i++) {
		unsigned stars = 0;

		for (const char *p = r->get.v[i]; *p; p++)
			stars += *p == '*';
		/* Matching takes time by the power of them. */
		if (stars > 6)
			return err_set(e, ERR_REQUEST, "--get: '%.60s' has more than 6 stars", r->get.v[i]);
		if (!r->get.v[i][0] || strlen(r->get.v[i]) >= JAR_PATH_MAX || strstr(r->get.v[i], ".."))
			return err_set(e, ERR_REQUEST, "--get: '%.60s' is not a path or pattern of the jar", r->get.v[i]);
	}
	if (r->out_dir && !r->get.n)
		return err_set(e, ERR_USAGE, "--out needs --get: nothing would be put there");
	if (r->workspace && r->get.n)
		return err_set(e, ERR_USAGE, "--get and --workspace exclude each other: all of the workspace comes back");
	if (r->policy == POLICY_OFF && (r->allow_modules.n || r->allow_modules_request.n || r->deny_modules.n || !r->allow_imports)) {
		err_set(e, ERR_REQUEST, "--%s: with --policy off nothing is looked at", r->allow_modules.n || r->allow_modules_request.n ? "allow-modules" : r->deny_modules.n ? "deny-modules" : "allow-imports");
		return err_hint(e, "--policy enforce");
	}
	if (r->workspace && r->no_write)
		return err_set(e, ERR_USAGE, "--workspace and --no-write exclude each other: nothing could change");
	return check_env(r, e);
}

/* ---- the allow-list ---- */

static bool has_word(const struct strlist *l, const char *word)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i] + (l->v[i][0] == '?'), word + (*word == '?')) == 0)
			return true;
	return false;
}

/* "git,default" in single names; those of a set may be missing on the host. */
static int split_names(const struct strlist *in, struct strlist *out, struct arena *a, struct err *e)
{
	for (size_t i = 0; i < in->n; i++) {
		for (const char *s = in->v[i]; *s;) {
			size_t n = strcspn(s, ",");
			const char *name = arena_dup_len(a, s, n);
			char word[JAR_ALLOW_NAME];
			bool set = false;

			s += n + (s[n] == ',');
			for (size_t k = 0; allow_set_at(name, k, word, sizeof(word)); k++) {
				set = true;
				if (!has_word(out, word))
					strlist_add(a, out, arena_fmt(a, "?%s", word));
			}
			if (set)
				continue;
			if (*name == '?' || !allow_name_ok(name)) {
				err_set(e, ERR_REQUEST, "--allow: '%.60s' is not a program's name", name);
				return err_hint(e, "names like git, or absolute paths of the jar like /usr/bin/git, with commas between them");
			}
			if (!has_word(out, name))
				strlist_add(a, out, name);
		}
	}
	return 0;
}

/* What both name. */
static void narrow(struct strlist *list, const struct strlist *by, struct arena *a)
{
	struct strlist out = { 0 };

	for (size_t i = 0; i < list->n; i++)
		if (has_word(by, list->v[i]))
			strlist_add(a, &out, list->v[i]);
	*list = out;
}

/*
 * The command line's, or that of the user's file and the environment; the system file, a project's file and a request object can only narrow it, or begin it.
 * Names are compared as they are written.
 */
int request_programs(struct request *r, const struct language *lang, struct arena *a, struct err *e)
{
	const struct {
		const struct strlist *list;
		bool given;
	} from[] = {
		{ &r->allow_system, r->allow_system.n > 0 },
		{ r->allow.n ? &r->allow : &r->allow_config, r->allow.n || r->allow_config.n },
		{ &r->allow_project, r->allow_project.n > 0 },
		{ &r->allow_request, r->allow_in_request },
	};
	bool any = false;

	r->programs = (struct strlist){ 0 };
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		struct strlist names = { 0 };

		if (!from[i].given)
			continue;
		if (split_names(from[i].list, &names, a, e) < 0)
			return -1;
		if (any)
			narrow(&r->programs, &names, a);
		else
			r->programs = names;
		any = true;
	}
	if (!any)
		return 0;
	if (!r->programs.n) {
		err_set(e, ERR_DENIED, "--allow: no program is allowed");
		return err_hint(e, "an empty list allows nothing; the system file, a project's file and a request can only narrow what the command line allows");
	}
	if (r->programs.n > JAR_ALLOW_MAX)
		return err_set(e, ERR_REQUEST, "--allow: at most %d programs", JAR_ALLOW_MAX);
	if (lang && lang->compile) {
		err_set(e, ERR_DENIED, "--allow: %s is compiled to a program in /tmp, and nothing there can be started under an allow-list",
			lang->title);
		return err_hint(e, "leave --allow out, or use a language that is interpreted");
	}
	return 0;
}

void request_configured(struct request *r)
{
	r->allow_config = r->allow;
	r->allow = (struct strlist){ 0 };
}

int request_audit(const struct request *r, enum request_audit *out, struct err *e)
{
	static const char *const names[] = { [AUDIT_REQUIRED] = "required", [AUDIT_BEST_EFFORT] = "best-effort", [AUDIT_OFF] = "off" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(r->audit, names[i]) == 0) {
			*out = (enum request_audit)i;
			return 0;
		}
	return err_set(e, ERR_USAGE, "--audit: '%.40s' is none of required, best-effort, off", r->audit);
}

const char *request_get_pattern(const struct request *r, size_t i)
{
	return strncmp(r->get.v[i], "/workspace/", 11) == 0 ? r->get.v[i] + 11 : r->get.v[i];
}

int request_resolve(struct request *r, struct arena *a, struct err *e)
{
	if (r->code && !r->code_len)
		r->code_len = strlen(r->code);
	if ((r->code != NULL) + (r->file != NULL) + (r->argv.n > 0) != 1) {
		err_set(e, ERR_USAGE, r->code || r->file || r->argv.n ? "give one of: a file, -c CODE, -- PROGRAM"
								      : "nothing to run");
		return err_hint(e, "belljar run FILE, belljar run -c CODE, or belljar run -- PROGRAM ARGS");
	}
	if (r->argv.n && !r->argv.v[0][0])
		return err_set(e, ERR_USAGE, "the program's name is empty");
	if (r->argv.n && r->language)
		return err_set(e, ERR_USAGE, "--lang: a program after -- has no language");
	if (check_words(r, e) < 0)
		return -1;
	if (r->file && request_read_file(r->file, &r->code, &r->code_len, a, e) < 0)
		return -1;
	if (!r->argv.n && find_language(r, a, e) < 0)
		return -1;
	return request_programs(r, r->lang, a, e) < 0 ? -1 : add_file_opts(r, a, e);
}

void request_copy(struct request *dst, const struct request *src)
{
	struct strlist *lists[] = { &dst->argv, &dst->args, &dst->env, &dst->file_opts, &dst->ro, &dst->layer, &dst->get, &dst->allow_request,
				    &dst->allow_modules, &dst->allow_modules_request, &dst->deny_modules };

	*dst = *src;
	/* No room left: the first word added makes a list of its own. */
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		lists[i]->cap = lists[i]->n ? lists[i]->n + 1 : 0;
}
