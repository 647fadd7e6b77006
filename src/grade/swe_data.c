/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: instances and predictions, read strictly; bad ones name themselves and their field. */
#include "grade/swe_data.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/fd.h"
#include "grade/text.h"
#include "run/request.h"

#define ID_MAX	  200
#define TESTS_MAX 200000

int swe_read(int fd, const char *name, struct buf *out, struct err *e)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3), n, code;
	gzFile file = copy < 0 ? NULL : gzdopen(copy, "rb");
	auto_buf block = BUF_INIT(1U << 20);

	if (!file) {
		if (copy >= 0)
			close(copy);
		return err_set(e, ERR_INTERNAL, "no memory");
	}
	gzbuffer(file, 128U << 10);
	block.data = malloc(128U << 10);
	while (block.data && (n = gzread(file, block.data, 128U << 10)) > 0)
		if (buf_add(out, block.data, (size_t)n) < 0) {
			gzclose(file);
			return err_set(e, ERR_INPUT, "%.200s is larger than %zu MiB", name, out->max >> 20);
		}
	if (!block.data || n < 0) {
		err_set(e, ERR_INPUT, "%.200s: cannot read: %s", name, block.data ? gzerror(file, &code) : "no memory");
		gzclose(file);
		return -1;
	}
	gzclose(file);
	return 0;
}

/* ---- JSON, one thing after the other ---- */

/* Four hexadecimal digits behind "\\u"; -1: something else. */
static long escaped(const char *p, size_t n)
{
	long v = 0;

	if (n < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		const char *digits = "0123456789abcdef", *at = memchr(digits, p[i] | 0x20, 16);

		if (!at)
			return -1;
		v = v * 16 + (at - digits);
	}
	return v;
}

/*
 * Half of a surrogate pair is no character, but Python writes it for a byte that is no UTF-8. It is read as U+FFFD: one odd patch does not take a whole file with
 * it. The text is changed in place.
 */
static void mend_surrogates(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		long v = text[i] == '\\' ? escaped(text + i, len - i) : -1, low;

		if (text[i] == '\\' && v < 0) {
			i++;
			continue;
		}
		if (v < 0xd800 || v > 0xdfff)
			continue;
		low = v < 0xdc00 ? escaped(text + i + 6, len - i - 6) : -1;
		if (low >= 0xdc00 && low <= 0xdfff) {
			i += 11;
			continue;
		}
		memcpy(text + i, "\\ufffd", 6);
		i += 5;
	}
}

static json_t *read_json(const char *text, size_t len, size_t flags, json_error_t *je)
{
	bool odd = memmem(text, len, "\\ud", 3) || memmem(text, len, "\\uD", 3);
	char *copy = odd ? malloc(len) : NULL;
	json_t *o;

	if (copy) {
		memcpy(copy, text, len);
		mend_surrogates(copy, len);
	}
	o = json_loadb(copy ? copy : text, len, flags, je);
	free(copy);
	return o;
}

/* Called for each; `key` is NULL but for mappings. `where` is "file, line 3". */
typedef int entry_fn(void *ctx, const json_t *v, const char *key, const char *where, struct err *e);

static int each_line(struct span text, const char *name, entry_fn *fn, void *ctx, struct err *e)
{
	struct span line;
	size_t number = 0;

	while (span_line(&text, &line)) {
		char where[300];
		json_error_t je;
		json_t *v;
		int rc;

		number++;
		if (!span_trim(line).n)
			continue;
		snprintf(where, sizeof(where), "%.200s, line %zu", name, number);
		v = read_json(line.p, line.n, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &je);
		if (!v)
			return err_set(e, ERR_INPUT, "%s is not JSON: %.120s (byte %d)", where, je.text, je.position);
		rc = fn(ctx, v, NULL, where, e);
		json_decref(v);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int each_of(const json_t *whole, const char *name, entry_fn *fn, void *ctx, struct err *e)
{
	char where[300];
	const char *key;
	json_t *v;
	size_t i;

	json_array_foreach (whole, i, v) {
		snprintf(where, sizeof(where), "%.200s, entry %zu", name, i + 1);
		if (fn(ctx, v, NULL, where, e) < 0)
			return -1;
	}
	json_object_foreach ((json_t *)whole, key, v) {
		snprintf(where, sizeof(where), "%.200s, '%.60s'", name, key);
		if (fn(ctx, v, key, where, e) < 0)
			return -1;
	}
	return 0;
}

/* Lines, a list, or (`mapping`) an object that has no instance_id of its own. */
static int each_entry(const char *text, size_t len, const char *name, bool mapping, entry_fn *fn, void *ctx, struct err *e)
{
	struct span all = { text, len }, trimmed;
	json_error_t je;
	json_t *whole;
	int rc;

	/* A mark of the byte order that some editors put in front. */
	if (span_starts(all, "\xef\xbb\xbf"))
		all = span_from(all, 3);
	trimmed = span_trim(all);
	if (!trimmed.n)
		return err_set(e, ERR_INPUT, "%.200s is empty", name);
	if (trimmed.p[0] != '[' && !(mapping && trimmed.p[0] == '{'))
		return each_line(all, name, fn, ctx, e);
	whole = read_json(trimmed.p, trimmed.n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &je);
	if (trimmed.p[0] == '{' && (!whole || json_object_get(whole, "instance_id"))) {
		json_decref(whole);
		/* Several lines, or one. When it was meant to be a mapping, its first line says what is wrong. */
		return each_line(all, name, fn, ctx, e);
	}
	if (!whole)
		return err_set(e, ERR_INPUT, "%.200s is not JSON: %.120s (line %d)", name, je.text, je.line);
	rc = each_of(whole, name, fn, ctx, e);
	json_decref(whole);
	return rc;
}

/* ---- fields ---- */

static const char *type_name(const json_t *v)
{
	static const char *const names[] = { [JSON_OBJECT] = "a mapping", [JSON_ARRAY] = "a list", [JSON_STRING] = "text", [JSON_INTEGER] = "a number",
					     [JSON_REAL] = "a number", [JSON_TRUE] = "true", [JSON_FALSE] = "false", [JSON_NULL] = "null" };

	return v ? names[json_typeof(v)] : "missing";
}

/* Text of any bytes. `needed`: null and nothing are errors. */
static int text_field(const json_t *o, const char *key, bool needed, const char **out, size_t *len, struct arena *a, const char *where, struct err *e)
{
	const json_t *v = json_object_get(o, key);

	if ((!v || json_is_null(v)) && !needed)
		return 0;
	if (!json_is_string(v))
		return err_set(e, ERR_INPUT, "%s: '%s' is %s, not text", where, key, type_name(v));
	*out = arena_dup_len(a, json_string_value(v), json_string_length(v));
	if (len)
		*len = json_string_length(v);
	else if (strlen(*out) != json_string_length(v))
		return err_set(e, ERR_INPUT, "%s: '%s' holds a NUL", where, key);
	return 0;
}

static int add_words(const json_t *list, const char *key, struct strlist *out, struct arena *a, const char *where, struct err *e)
{
	const json_t *v;
	size_t i;

	if (json_array_size(list) > TESTS_MAX)
		return err_set(e, ERR_INPUT, "%s: '%s' has more than %d entries", where, key, TESTS_MAX);
	json_array_foreach (list, i, v) {
		if (!json_is_string(v))
			return err_set(e, ERR_INPUT, "%s: entry %zu of '%s' is %s, not text", where, i + 1, key, type_name(v));
		if (strlen(json_string_value(v)) != json_string_length(v))
			return err_set(e, ERR_INPUT, "%s: entry %zu of '%s' holds a NUL", where, i + 1, key);
		strlist_add(a, out, arena_dup(a, json_string_value(v)));
	}
	return 0;
}

/* A list, or text that holds one in JSON, as the official files have it. */
static int list_field(const json_t *o, const char *key, bool needed, struct strlist *out, struct arena *a, const char *where, struct err *e)
{
	const json_t *v = json_object_get(o, key);
	json_t *inner = NULL;
	json_error_t je;
	int rc;

	if (!v && !needed)
		return 0;
	if (json_is_string(v)) {
		inner = read_json(json_string_value(v), json_string_length(v), JSON_DECODE_ANY | JSON_ALLOW_NUL, &je);
		if (!inner)
			return err_set(e, ERR_INPUT, "%s: '%s' is text that is no JSON: %.100s", where, key, request_json_error(&je));
		v = inner;
	}
	if (!json_is_array(v))
		rc = err_set(e, ERR_INPUT, "%s: '%s' is %s, not a list (or text that holds one)", where, key, type_name(v));
	else
		rc = add_words(v, key, out, a, where, e);
	json_decref(inner);
	return rc;
}

/* An id names a folder of the results: nothing in it may lead elsewhere. */
static int check_id(const char *id, const char *where, struct err *e)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+");

	if (id[0] && !id[n] && n <= ID_MAX && id[0] != '.' && id[0] != '-')
		return 0;
	return err_set(e, ERR_INPUT, "%s: 'instance_id' '%.60s' is no name of letters, digits, . _ - + (at most %d)", where, id, ID_MAX);
}

static int id_field(const json_t *o, const char *key, const char **out, struct arena *a, const char *where, struct err *e)
{
	if (!json_is_object(o))
		return err_set(e, ERR_INPUT, "%s is %s, not a mapping", where, type_name(o));
	if (key && !json_object_get(o, "instance_id"))
		*out = arena_dup(a, key);
	else if (text_field(o, "instance_id", true, out, NULL, a, where, e) < 0)
		return -1;
	if (key && strcmp(*out, key) != 0)
		return err_set(e, ERR_INPUT, "%s: 'instance_id' is '%.60s'", where, *out);
	return check_id(*out, where, e);
}

static bool commit_ok(const char *s)
{
	size_t n = strspn(s, "0123456789abcdefABCDEF");

	return !*s || strcasecmp(s, "HEAD") == 0 || (!s[n] && n >= 4 && n <= 64);
}

/* ---- instances ---- */

struct instances_read {
	struct swe_instances *t;
	size_t cap;
};

static int one_instance(void *ctx, const json_t *o, const char *key, const char *where, struct err *e)
{
	struct instances_read *r = ctx;
	struct swe_instances *t = r->t;
	struct arena *a = &t->arena;
	struct swe_instance i = { .id = "", .repo = "", .version = "", .patch = "", .test_patch = "", .base_commit = "" };

	if (id_field(o, key, &i.id, a, where, e) < 0 || text_field(o, "repo", true, &i.repo, NULL, a, where, e) < 0 ||
	    text_field(o, "base_commit", false, &i.base_commit, NULL, a, where, e) < 0 || text_field(o, "version", false, &i.version, NULL, a, where, e) < 0 ||
	    text_field(o, "patch", false, &i.patch, &i.patch_len, a, where, e) < 0 ||
	    text_field(o, "test_patch", false, &i.test_patch, &i.test_patch_len, a, where, e) < 0 ||
	    list_field(o, "FAIL_TO_PASS", true, &i.fail_to_pass, a, where, e) < 0 || list_field(o, "PASS_TO_PASS", true, &i.pass_to_pass, a, where, e) < 0)
		return -1;
	if (!i.repo[0])
		return err_set(e, ERR_INPUT, "%s: 'repo' is empty", where);
	if (!commit_ok(i.base_commit))
		return err_set(e, ERR_INPUT, "%s: 'base_commit' '%.60s' is neither a commit's id nor HEAD", where, i.base_commit);
	if (t->n == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 64;
		struct swe_instance *v = realloc(t->v, cap * sizeof(*v));

		if (!v)
			return err_set(e, ERR_INTERNAL, "no memory");
		t->v = v;
		r->cap = cap;
	}
	t->v[t->n++] = i;
	return 0;
}

static uint32_t hash(const char *s, const char *more)
{
	uint32_t h = 2166136261U;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619U;
	for (h = (h ^ 255U) * 16777619U; *more; more++)
		h = (h ^ (unsigned char)*more) * 16777619U;
	return h;
}

const struct swe_instance *swe_instance_find(const struct swe_instances *t, const char *id)
{
	if (!t->index_size)
		return NULL;
	for (size_t i = hash(id, "") % t->index_size; t->index[i]; i = (i + 1) % t->index_size)
		if (strcmp(t->v[t->index[i] - 1].id, id) == 0)
			return &t->v[t->index[i] - 1];
	return NULL;
}

static int index_instances(struct swe_instances *t, const char *name, struct err *e)
{
	t->index = calloc(t->n * 2 + 1, sizeof(*t->index));
	if (!t->index)
		return err_set(e, ERR_INTERNAL, "no memory");
	t->index_size = t->n * 2 + 1;
	for (size_t i = 0; i < t->n; i++) {
		size_t at = hash(t->v[i].id, "") % t->index_size;

		if (swe_instance_find(t, t->v[i].id))
			return err_set(e, ERR_INPUT, "%.200s: instance '%.100s' is there twice", name, t->v[i].id);
		while (t->index[at])
			at = (at + 1) % t->index_size;
		t->index[at] = (uint32_t)i + 1;
	}
	return 0;
}

int swe_instances_parse(struct swe_instances *t, const char *text, size_t len, const char *name, struct err *e)
{
	struct instances_read r = { .t = t };

	*t = (struct swe_instances){ 0 };
	if (each_entry(text, len, name, false, one_instance, &r, e) < 0)
		return err_hint(e, "instances are JSON, one a line or in a list, with the fields of SWE-bench (docs/swebench.md)");
	if (!t->n)
		return err_set(e, ERR_INPUT, "%.200s: there are no instances in it", name);
	return index_instances(t, name, e);
}

static int one_meta(void *ctx, const json_t *o, const char *key, const char *where, struct err *e)
{
	struct swe_instances *t = ctx;
	struct swe_instance *i;
	const char *id = "";

	if (id_field(o, key, &id, &t->arena, where, e) < 0)
		return -1;
	i = (struct swe_instance *)swe_instance_find(t, id);
	if (!i)
		return 0;
	i->test_files = (struct strlist){ 0 };
	return text_field(o, "test_cmd", false, &i->test_cmd, NULL, &t->arena, where, e) < 0 ||
			       text_field(o, "log_parser", false, &i->log_parser, NULL, &t->arena, where, e) < 0 ||
			       list_field(o, "test_files", false, &i->test_files, &t->arena, where, e) < 0 ?
		       -1 :
		       0;
}

int swe_instances_meta(struct swe_instances *t, const char *text, size_t len, const char *name, struct err *e)
{
	return each_entry(text, len, name, true, one_meta, t, e);
}

void swe_instances_done(struct swe_instances *t)
{
	free(t->v);
	free(t->index);
	arena_free(&t->arena);
	*t = (struct swe_instances){ 0 };
}

/* ---- predictions ---- */

struct predictions_read {
	struct swe_predictions *p;
	const struct swe_instances *t;
	size_t cap;
	uint32_t *index; /* by instance and model */
	size_t index_size;
};

/* There must be room. */
static size_t place(const struct predictions_read *r, const char *id, const char *model)
{
	size_t at = hash(id, model) % r->index_size;

	for (; r->index[at]; at = (at + 1) % r->index_size) {
		const struct swe_prediction *v = &r->p->v[r->index[at] - 1];

		if (strcmp(v->instance_id, id) == 0 && strcmp(v->model, model) == 0)
			break;
	}
	return at;
}

static int more_room(struct predictions_read *r, struct err *e)
{
	size_t cap = r->cap ? r->cap * 2 : 64;
	struct swe_prediction *v = realloc(r->p->v, cap * sizeof(*v));
	uint32_t *index;

	if (v)
		r->p->v = v;
	index = v ? calloc(cap * 2, sizeof(*index)) : NULL;
	if (!index)
		return err_set(e, ERR_INTERNAL, "no memory");
	free(r->index);
	r->index = index;
	r->index_size = cap * 2;
	r->cap = cap;
	for (size_t i = 0; i < r->p->n; i++)
		index[place(r, v[i].instance_id, v[i].model)] = (uint32_t)i + 1;
	return 0;
}

static void add_once(struct strlist *l, const char *word, struct arena *a)
{
	for (size_t i = l->n; i-- > 0;)
		if (strcmp(l->v[i], word) == 0)
			return;
	strlist_add(a, l, word);
}

/* Each has a folder of its own: two that would share one are refused. */
static int add_model(struct swe_predictions *p, const char *model, const char *where, struct err *e)
{
	const char *folder = swe_model_folder(model, &p->arena);

	for (size_t i = 0; i < p->models.n; i++) {
		if (strcmp(p->models.v[i], model) == 0)
			return 0;
		if (strcasecmp(swe_model_folder(p->models.v[i], &p->arena), folder) == 0)
			return err_set(e, ERR_INPUT, "%s: the models '%.60s' and '%.60s' would have the same folder '%.60s'", where, p->models.v[i], model, folder);
	}
	if (p->models.n == SWE_MODELS_MAX)
		return err_set(e, ERR_INPUT, "%s: 'model_name_or_path' is another one again; more than %d in one file", where, SWE_MODELS_MAX);
	strlist_add(&p->arena, &p->models, model);
	return 0;
}

static int one_prediction(void *ctx, const json_t *o, const char *key, const char *where, struct err *e)
{
	struct predictions_read *r = ctx;
	struct swe_predictions *p = r->p;
	struct arena *a = &p->arena;
	struct swe_prediction n = { .instance_id = "" };
	size_t at;

	if (id_field(o, key, &n.instance_id, a, where, e) < 0 || text_field(o, "model_name_or_path", false, &n.model, NULL, a, where, e) < 0 ||
	    text_field(o, "model_patch", false, &n.patch, &n.patch_len, a, where, e) < 0)
		return -1;
	if (!n.model || !n.model[0]) {
		n.model = "unnamed";
		strlist_add(a, &p->warnings, arena_fmt(a, "%s: no 'model_name_or_path'; it is called 'unnamed'", where));
	}
	n.instance = swe_instance_find(r->t, n.instance_id);
	if (!n.instance) {
		if (p->unknown.n < SWE_UNKNOWN_MAX)
			add_once(&p->unknown, n.instance_id, a);
		return 0;
	}
	if (p->n == r->cap && more_room(r, e) < 0)
		return -1;
	if (!r->index)
		return err_set(e, ERR_INTERNAL, "no room");
	at = place(r, n.instance_id, n.model);
	if (r->index[at]) {
		strlist_add(a, &p->warnings, arena_fmt(a, "%s: another prediction for %s by '%.60s'; the last one counts", where, n.instance_id, n.model));
		p->v[r->index[at] - 1] = n;
		return 0;
	}
	if (add_model(p, n.model, where, e) < 0)
		return -1;
	p->v[p->n++] = n;
	r->index[at] = (uint32_t)p->n;
	return 0;
}

int swe_predictions_parse(struct swe_predictions *p, const struct swe_instances *t, const char *text, size_t len, const char *name, struct err *e)
{
	struct predictions_read r = { .p = p, .t = t };
	int rc;

	*p = (struct swe_predictions){ 0 };
	rc = each_entry(text, len, name, true, one_prediction, &r, e);
	free(r.index);
	if (rc < 0)
		return err_hint(e, "predictions are JSON: one a line, a list, or a mapping by instance id; each has instance_id, model_name_or_path, model_patch");
	if (!p->n)
		return err_set(e, ERR_INPUT, "%.200s: none of its predictions is for one of the instances", name);
	return 0;
}

void swe_predictions_done(struct swe_predictions *p)
{
	free(p->v);
	arena_free(&p->arena);
	*p = (struct swe_predictions){ 0 };
}

const char *swe_model_folder(const char *model, struct arena *a)
{
	char *out = arena_alloc(a, strlen(model) * 2 + 2), *to = out;

	for (const char *p = model; *p && to - out < ID_MAX; p++) {
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || strchr("._-+@=,", *p);

		if (*p == '/')
			*to++ = '_';
		*to = *p == '/' || !plain || (*p == '.' && to == out) ? '_' : *p;
		to++;
	}
	if (to == out)
		*to++ = '_';
	return out;
}
