/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of a stdin test: read from a folder of files or from JSON, strictly. */
#include "grade/judge_cases.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "jar/feed.h"
#include "kernel/sys.h"
#include "run/request.h"

/* What is being read: where errors point, and what holds where nothing is said. */
struct reader {
	struct cases *c;
	const struct cases_defaults *d;
	struct arena *a;
	struct compare compare;	    /* of the whole file */
	struct cases_limits limits; /* of the whole file */
	char where[160];	    /* "case 'x': ", "" for the file itself */
};

/* ---- values ---- */

static int bad(const struct reader *r, const char *field, const char *wanted, struct err *e)
{
	return err_set(e, ERR_REQUEST, "cases: %s'%.60s' must be %s", r->where, field, wanted);
}

static int unknown(const struct reader *r, const char *prefix, const char *field, const char *const *known, struct err *e)
{
	const char *near = NULL;

	for (; known && *known && !near; known++)
		if (parse_is_near(field, *known))
			near = *known;
	return err_set(e, ERR_REQUEST, "cases: %sunknown field '%s%.60s'%s%s%s", r->where, prefix, field, near ? "; did you mean '" : "", near ? near : "",
		       near ? "'?" : "");
}

static int read_text(const struct reader *r, json_t *v, const char *field, const char **out, struct err *e)
{
	if (!json_is_string(v) || !json_string_length(v))
		return bad(r, field, "a string that is not empty", e);
	if (strlen(json_string_value(v)) != json_string_length(v))
		return bad(r, field, "a string without NUL", e);
	*out = arena_dup(r->a, json_string_value(v));
	return 0;
}

static int read_points(const struct reader *r, json_t *v, const char *field, double *out, struct err *e)
{
	double d = json_is_number(v) ? json_number_value(v) : -1;

	if (!(d >= 0 && d <= 1e9))
		return bad(r, field, "a number from 0 to 1e9", e);
	*out = d;
	return 0;
}

static int read_tolerance(const struct reader *r, json_t *v, const char *field, double *out, struct err *e)
{
	double d = json_is_number(v) ? json_number_value(v) : -1;

	if (!compare_tolerance_ok(strcmp(field, "rel") == 0 ? d : 0, d))
		return bad(r, field, strcmp(field, "rel") == 0 ? "a number from 0 to 1" : "a number from 0 to 1e18", e);
	*out = d;
	return 0;
}

/* A path that stays beneath the folder of the cases, as openat2() will see to. */
static int read_path(const struct reader *r, json_t *v, const char *field, const char **out, struct err *e)
{
	if (read_text(r, v, field, out, e) < 0)
		return -1;
	if (!feed_name_ok(*out, strlen(*out)))
		return bad(r, field, "a relative path beneath the folder of the cases, without '..'", e);
	return 0;
}

/* ---- limits ---- */

static const struct limit_row {
	const char *name;
	size_t at;
	bool time; /* seconds or "2s"; else bytes or "64M" */
	uint64_t min, max;
	const char *wanted;
} limit_rows[] = {
	{ "time", offsetof(struct cases_limits, time_ms), true, 1, 86400000, "CPU time as \"2s\" or seconds, from 1 ms to 24 h" },
	{ "wall", offsetof(struct cases_limits, wall_ms), true, 1, 86400000, "a time as \"2s\" or seconds, from 1 ms to 24 h" },
	{ "memory", offsetof(struct cases_limits, memory_bytes), false, 4ULL << 20, 1ULL << 40, "a size as \"64M\" or bytes, from 4M to 1T" },
	{ "output", offsetof(struct cases_limits, output_bytes), false, 1, CASES_OUTPUT_MAX, "a size as \"64K\" or bytes, from 1 to 67108863" },
};
#define LIMIT_ROWS (sizeof(limit_rows) / sizeof(limit_rows[0]))

static int read_limit(const struct reader *r, const struct limit_row *row, json_t *v, struct cases_limits *out, struct err *e)
{
	char field[32] = "limits.";
	uint64_t n = 0;
	bool good = false;

	strncat(field, row->name, sizeof(field) - strlen(field) - 1);
	if (json_is_string(v) && strlen(json_string_value(v)) == json_string_length(v)) {
		good = (row->time ? parse_ms(json_string_value(v), &n, NULL) : parse_bytes(json_string_value(v), &n, NULL)) == 0;
	} else if (row->time && json_is_number(v)) {
		double d = json_number_value(v);

		good = d > 0 && d <= 86400;
		n = good ? (uint64_t)llround(d * 1000) : 0;
	} else if (json_is_integer(v)) {
		good = json_integer_value(v) > 0;
		n = (uint64_t)json_integer_value(v);
	}
	if (!good || n < row->min || n > row->max)
		return bad(r, field, row->wanted, e);
	*(uint64_t *)(void *)((char *)out + row->at) = n;
	return 0;
}

static int read_limits(const struct reader *r, json_t *v, struct cases_limits *out, struct err *e)
{
	static const char *const known[] = { "time", "wall", "memory", "output", NULL };
	const char *key;
	json_t *item;

	if (!json_is_object(v))
		return bad(r, "limits", "an object", e);
	json_object_foreach(v, key, item) {
		const struct limit_row *row = NULL;

		for (size_t i = 0; i < LIMIT_ROWS; i++)
			if (strcmp(limit_rows[i].name, key) == 0)
				row = &limit_rows[i];
		if (!row)
			return unknown(r, "limits.", key, known, e);
		if (read_limit(r, row, item, out, e) < 0)
			return -1;
	}
	return 0;
}

/* The most particular word holds: the case's, then the command line's, then the file's. */
static void settle_limits(struct cases_limits *own, const struct cases_limits *option, const struct cases_limits *whole)
{
	for (size_t i = 0; i < LIMIT_ROWS; i++) {
		size_t at = limit_rows[i].at;
		uint64_t *v = (void *)((char *)own + at);
		uint64_t o = *(const uint64_t *)(const void *)((const char *)option + at), w = *(const uint64_t *)(const void *)((const char *)whole + at);

		*v = *v ? *v : o ? o : w;
	}
}

/* ---- comparison ---- */

static int read_mode(const struct reader *r, json_t *v, const char *field, struct compare *out, struct err *e)
{
	for (int i = 0; json_is_string(v) && i < COMPARE_MODES; i++)
		if (strcmp(json_string_value(v), compare_mode_names[i]) == 0) {
			out->mode = (enum compare_mode)i;
			return 0;
		}
	return bad(r, field, "\"exact\", \"tokens\", \"float\" or \"checker\"", e);
}

/* "tokens", or {"mode": "float", "rel": 1e-6, "abs": 1e-9}. */
static int read_compare(const struct reader *r, json_t *v, struct compare *out, struct err *e)
{
	static const char *const known[] = { "mode", "rel", "abs", NULL };
	bool mode = false, tolerance = false;
	const char *key;
	json_t *item;

	*out = (struct compare){ .rel = COMPARE_REL, .abs = COMPARE_ABS };
	if (!json_is_object(v))
		return read_mode(r, v, "compare", out, e);
	json_object_foreach(v, key, item) {
		int rc;

		if (strcmp(key, "mode") == 0) {
			rc = read_mode(r, item, "compare.mode", out, e);
			mode = true;
		} else if (strcmp(key, "rel") == 0 || strcmp(key, "abs") == 0) {
			rc = read_tolerance(r, item, key, key[0] == 'r' ? &out->rel : &out->abs, e);
			tolerance = true;
		} else {
			rc = unknown(r, "compare.", key, known, e);
		}
		if (rc < 0)
			return -1;
	}
	if (!mode)
		return err_set(e, ERR_REQUEST, "cases: %s'compare.mode' is missing", r->where);
	if (tolerance && out->mode != COMPARE_FLOAT)
		return err_set(e, ERR_REQUEST, "cases: %s'compare': 'rel' and 'abs' belong to \"float\"", r->where);
	return 0;
}

/* ---- a case ---- */

enum form { FORM_TEXT, FORM_BASE64, FORM_FILE };

static const struct bytes_row {
	const char *name;
	size_t at;
	enum form form;
} bytes_rows[] = {
	{ "stdin", offsetof(struct cases_case, input), FORM_TEXT },
	{ "input", offsetof(struct cases_case, input), FORM_TEXT },
	{ "stdin_base64", offsetof(struct cases_case, input), FORM_BASE64 },
	{ "stdin_file", offsetof(struct cases_case, input), FORM_FILE },
	{ "expected", offsetof(struct cases_case, expected), FORM_TEXT },
	{ "output", offsetof(struct cases_case, expected), FORM_TEXT },
	{ "expected_base64", offsetof(struct cases_case, expected), FORM_BASE64 },
	{ "expected_file", offsetof(struct cases_case, expected), FORM_FILE },
};
#define BYTES_ROWS (sizeof(bytes_rows) / sizeof(bytes_rows[0]))

static int read_bytes(const struct reader *r, const struct bytes_row *row, json_t *v, struct cases_bytes *out, struct err *e)
{
	if (out->there)
		return err_set(e, ERR_REQUEST, "cases: %s'%s' says again what another field said", r->where, row->name);
	out->there = true;
	if (row->form == FORM_FILE)
		return read_path(r, v, row->name, &out->path, e);
	if (!json_is_string(v))
		return bad(r, row->name, "a string", e);
	if (row->form == FORM_TEXT) {
		out->len = json_string_length(v);
		out->data = arena_dup_len(r->a, json_string_value(v), out->len);
		return 0;
	}
	char *bytes = arena_alloc(r->a, json_string_length(v) / 4 * 3 + 4);

	out->data = bytes;
	return base64_decode(json_string_value(v), json_string_length(v), bytes, &out->len) < 0 ? bad(r, row->name, "base64", e) : 0;
}

static int read_case_field(struct reader *r, struct cases_case *c, const char *key, json_t *v, bool *compared, struct err *e)
{
	static const char *const known[] = { "name", "stdin", "expected", "compare", "limits", "points", "stdin_file", "expected_file", "stdin_base64",
					     "expected_base64", NULL };

	if (strcmp(key, "name") == 0)
		return 0; /* read first */
	if (strcmp(key, "compare") == 0) {
		*compared = true;
		return read_compare(r, v, &c->compare, e);
	}
	if (strcmp(key, "limits") == 0)
		return read_limits(r, v, &c->limits, e);
	if (strcmp(key, "points") == 0)
		return read_points(r, v, key, &c->points, e);
	for (size_t i = 0; i < BYTES_ROWS; i++)
		if (strcmp(bytes_rows[i].name, key) == 0)
			return read_bytes(r, &bytes_rows[i], v, (struct cases_bytes *)(void *)((char *)c + bytes_rows[i].at), e);
	return unknown(r, "", key, known, e);
}

static struct cases_case *add_case(struct cases *c, struct arena *a)
{
	if (c->count == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 64;
		struct cases_case *v = arena_alloc(a, cap * sizeof(*v));

		if (c->count)
			memcpy(v, c->v, c->count * sizeof(*v));
		c->v = v;
		c->cap = cap;
	}
	c->v[c->count] = (struct cases_case){ .points = 1 };
	return &c->v[c->count++];
}

static int read_case(struct reader *r, json_t *v, size_t number, struct err *e)
{
	struct cases_case *c = add_case(r->c, r->a);
	bool compared = false;
	json_t *name = json_object_get(v, "name"), *item;
	const char *key;

	snprintf(r->where, sizeof(r->where), "case %zu: ", number);
	c->name = arena_fmt(r->a, "%zu", number);
	if (!json_is_object(v))
		return err_set(e, ERR_REQUEST, "cases: case %zu must be an object", number);
	if (name && json_is_integer(name))
		c->name = arena_fmt(r->a, "%lld", (long long)json_integer_value(name));
	else if (name && read_text(r, name, "name", &c->name, e) < 0)
		return -1;
	if (strlen(c->name) > 100)
		return bad(r, "name", "at most 100 bytes long", e);
	snprintf(r->where, sizeof(r->where), "case '%s': ", c->name);
	json_object_foreach(v, key, item)
		if (read_case_field(r, c, key, item, &compared, e) < 0)
			return -1;
	if (!compared)
		c->compare = r->d->has_compare ? r->d->compare : r->compare;
	settle_limits(&c->limits, &r->d->limits, &r->limits);
	return 0;
}

/* ---- what holds for all cases together ---- */

static int compare_names(const void *a, const void *b, void *ctx)
{
	const struct cases_case *v = ctx;

	return strcmp(v[*(const size_t *)a].name, v[*(const size_t *)b].name);
}

/* Indices of the cases by name. */
static size_t *by_name(const struct cases *c, struct arena *a)
{
	size_t *order = arena_alloc(a, (c->count + 1) * sizeof(*order));

	for (size_t i = 0; i < c->count; i++)
		order[i] = i;
	qsort_r(order, c->count, sizeof(*order), compare_names, c->v);
	return order;
}

static int find_case(const struct cases *c, const size_t *order, const char *name, size_t *out)
{
	size_t low = 0, high = c->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int d = strcmp(c->v[order[mid]].name, name);

		if (d == 0) {
			*out = order[mid];
			return 0;
		}
		if (d < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return -1;
}

static int check_all(const struct cases *c, const size_t *order, const struct cases_defaults *d, struct err *e)
{
	if (!c->count) {
		err_set(e, ERR_REQUEST, "cases: there are none");
		return err_hint(e, "a folder with 1.in and 1.out, or a JSON file (docs/judge.md)");
	}
	for (size_t i = 1; i < c->count; i++)
		if (strcmp(c->v[order[i - 1]].name, c->v[order[i]].name) == 0)
			return err_set(e, ERR_REQUEST, "cases: case '%s': 'name' is there twice", c->v[order[i]].name);
	for (size_t i = 0; i < c->count; i++) {
		const struct cases_case *k = &c->v[i];

		if (k->compare.mode == COMPARE_CHECKER && !c->checker.path && !d->has_checker) {
			err_set(e, ERR_REQUEST, "cases: case '%s': 'compare' is \"checker\", and there is none", k->name);
			return err_hint(e, "name it as 'checker' in the file, or with --checker");
		}
		if (k->compare.mode != COMPARE_CHECKER && !k->expected.there)
			return err_set(e, ERR_REQUEST, "cases: case '%s': 'expected' is missing", k->name);
	}
	return 0;
}

/* ---- subtasks ---- */

/* `used` has the number of the last subtask that names a case. */
static int read_members(struct reader *r, struct cases_subtask *s, json_t *v, size_t self, const size_t *order, size_t *used, struct err *e)
{
	json_t *item;
	size_t i, number;

	if (!json_is_array(v) || !json_array_size(v))
		return bad(r, "cases", "a list of case names that is not empty", e);
	if (json_array_size(v) > r->c->count)
		return bad(r, "cases", "a list without repeats", e);
	s->cases = arena_alloc(r->a, json_array_size(v) * sizeof(*s->cases));
	json_array_foreach(v, i, item) {
		char text[32];
		const char *name = text;

		if (json_is_integer(item))
			snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(item));
		else if (read_text(r, item, "cases", &name, e) < 0)
			return -1;
		if (find_case(r->c, order, name, &number) < 0)
			return err_set(e, ERR_REQUEST, "cases: %s'cases' names '%.60s', and there is no such case", r->where, name);
		if (used[number] == self)
			return err_set(e, ERR_REQUEST, "cases: %s'cases' names '%.60s' twice", r->where, name);
		used[number] = self;
		s->cases[s->count++] = number;
	}
	return 0;
}

static int read_subtask(struct reader *r, struct cases_subtask *s, json_t *v, size_t number, const size_t *order, size_t *used,
			struct err *e)
{
	static const char *const known[] = { "name", "points", "weight", "cases", NULL };
	bool points = false;
	const char *key;
	json_t *item;

	snprintf(r->where, sizeof(r->where), "subtask %zu: ", number);
	*s = (struct cases_subtask){ .name = arena_fmt(r->a, "%zu", number), .points = 1 };
	if (!json_is_object(v))
		return err_set(e, ERR_REQUEST, "cases: subtask %zu must be an object", number);
	json_object_foreach(v, key, item) {
		int rc;

		if (strcmp(key, "name") == 0) {
			rc = read_text(r, item, key, &s->name, e);
		} else if (strcmp(key, "points") == 0 || strcmp(key, "weight") == 0) {
			rc = points ? err_set(e, ERR_REQUEST, "cases: %s'points' and 'weight' are one thing", r->where)
				    : read_points(r, item, key, &s->points, e);
			points = true;
		} else if (strcmp(key, "cases") == 0) {
			rc = read_members(r, s, item, number, order, used, e);
		} else {
			rc = unknown(r, "", key, known, e);
		}
		if (rc < 0)
			return -1;
	}
	return s->count ? 0 : err_set(e, ERR_REQUEST, "cases: %s'cases' is missing", r->where);
}

static int read_subtasks(struct reader *r, json_t *v, const size_t *order, struct err *e)
{
	struct cases *c = r->c;
	size_t *used = arena_alloc(r->a, c->count * sizeof(*used));
	json_t *item;
	size_t i;

	if (!json_is_array(v) || !json_array_size(v) || json_array_size(v) > 1000)
		return bad(r, "subtasks", "a list of 1 to 1000 objects", e);
	c->subtasks = arena_alloc(r->a, json_array_size(v) * sizeof(*c->subtasks));
	json_array_foreach(v, i, item) {
		if (read_subtask(r, &c->subtasks[i], item, i + 1, order, used, e) < 0)
			return -1;
		c->subtask_count++;
		for (size_t k = 0; k < i; k++)
			if (strcmp(c->subtasks[k].name, c->subtasks[i].name) == 0)
				return err_set(e, ERR_REQUEST, "cases: subtask %zu: 'name' '%.60s' is there twice", i + 1, c->subtasks[i].name);
	}
	for (i = 0; i < c->count; i++)
		if (!used[i]) {
			err_set(e, ERR_REQUEST, "cases: case '%s' is in no subtask", c->v[i].name);
			return err_hint(e, "a subtask of 0 points runs its cases and counts nothing");
		}
	return 0;
}

/* ---- the checker ---- */

static int read_with(struct reader *r, json_t *v, struct strlist *out, struct err *e)
{
	json_t *item;
	size_t i;

	if (!json_is_array(v) || json_array_size(v) > 64)
		return bad(r, "checker.with", "a list of at most 64 paths", e);
	json_array_foreach(v, i, item) {
		const char *path = NULL;

		if (read_path(r, item, "checker.with", &path, e) < 0)
			return -1;
		strlist_add(r->a, out, path);
	}
	return 0;
}

/* "check.py", or {"file": "check.cpp", "lang": "cpp", "with": ["testlib.h"], "limits": {…}}. */
static int read_checker(struct reader *r, json_t *v, struct err *e)
{
	static const char *const known[] = { "file", "lang", "with", "limits", NULL };
	struct cases_checker *k = &r->c->checker;
	const char *key;
	json_t *item;

	if (!json_is_object(v))
		return read_path(r, v, "checker", &k->path, e);
	json_object_foreach(v, key, item) {
		int rc;

		if (strcmp(key, "file") == 0)
			rc = read_path(r, item, "checker.file", &k->path, e);
		else if (strcmp(key, "lang") == 0)
			rc = read_text(r, item, "checker.lang", &k->lang, e);
		else if (strcmp(key, "with") == 0)
			rc = read_with(r, item, &k->with, e);
		else if (strcmp(key, "limits") == 0)
			rc = read_limits(r, item, &k->limits, e);
		else
			rc = unknown(r, "checker.", key, known, e);
		if (rc < 0)
			return -1;
	}
	return k->path ? 0 : err_set(e, ERR_REQUEST, "cases: 'checker.file' is missing");
}

/* ---- the file ---- */

static int read_list(struct reader *r, json_t *list, struct err *e)
{
	json_t *item;
	size_t i;

	if (!json_is_array(list))
		return err_set(e, ERR_REQUEST, "cases: 'cases' must be a list");
	if (json_array_size(list) > CASES_COUNT_MAX)
		return err_set(e, ERR_REQUEST, "cases: more than %d", CASES_COUNT_MAX);
	json_array_foreach(list, i, item)
		if (read_case(r, item, i + 1, e) < 0)
			return -1;
	r->where[0] = '\0';
	return 0;
}

static int read_root(struct reader *r, json_t *root, struct err *e)
{
	static const char *const known[] = { "cases", "subtasks", "compare", "checker", "limits", NULL };
	json_t *compare = json_object_get(root, "compare"), *limits = json_object_get(root, "limits"), *checker = json_object_get(root, "checker"),
	       *subtasks = json_object_get(root, "subtasks"), *list = json_is_array(root) ? root : json_object_get(root, "cases"), *item;
	const size_t *order;
	const char *key;

	if (!json_is_array(root) && !json_is_object(root))
		return err_set(e, ERR_REQUEST, "cases: must be a list, or an object with 'cases'");
	if (json_is_object(root))
		json_object_foreach(root, key, item) {
			bool there = false;

			for (const char *const *k = known; *k; k++)
				there = there || strcmp(key, *k) == 0;
			if (!there)
				return unknown(r, "", key, known, e);
		}
	if (!list)
		return err_set(e, ERR_REQUEST, "cases: 'cases' is missing");
	if (checker && read_checker(r, checker, e) < 0)
		return -1;
	/* A checker that nobody asks for by name is for all. */
	r->compare = (struct compare){ .mode = checker || r->d->has_checker ? COMPARE_CHECKER : COMPARE_EXACT, .rel = COMPARE_REL, .abs = COMPARE_ABS };
	if ((compare && read_compare(r, compare, &r->compare, e) < 0) || (limits && read_limits(r, limits, &r->limits, e) < 0) || read_list(r, list, e) < 0)
		return -1;
	order = by_name(r->c, r->a);
	if (check_all(r->c, order, r->d, e) < 0)
		return -1;
	return subtasks ? read_subtasks(r, subtasks, order, e) : 0;
}

int cases_from_json(struct cases *c, const char *text, size_t len, const struct cases_defaults *d, struct arena *a, struct err *e)
{
	struct reader r = { .c = c, .d = d, .a = a };
	json_error_t je;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
	int rc;

	memset(c, 0, sizeof(*c));
	if (!root)
		return err_set(e, ERR_REQUEST, "cases: not JSON: line %d, column %d: %s", je.line, je.column, request_json_error(&je));
	rc = read_root(&r, root, e);
	json_decref(root);
	return rc;
}

/* ---- a folder ---- */

int cases_order(const char *a, const char *b)
{
	const char *x = a, *y = b;

	while (*x && *y) {
		size_t n = strspn(x, "0123456789"), m = strspn(y, "0123456789");

		if (n && m) {
			size_t zx = strspn(x, "0"), zy = strspn(y, "0");
			int d;

			zx = zx < n ? zx : n;
			zy = zy < m ? zy : m;
			if (n - zx != m - zy)
				return n - zx < m - zy ? -1 : 1;
			d = memcmp(x + zx, y + zy, n - zx);
			if (d)
				return d;
			x += n;
			y += m;
			continue;
		}
		if (*x != *y)
			return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
		x++;
		y++;
	}
	if (*x || *y)
		return *x ? 1 : -1;
	/* 1 and 01: the same value, but not the same name. */
	return strcmp(a, b);
}

static int compare_natural(const void *a, const void *b)
{
	return cases_order(*(const char *const *)a, *(const char *const *)b);
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

static int list_folder(int dir, const char *shown, struct strlist *out, struct arena *a, struct err *e)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *f;

	if (!d) {
		err_sys(e, "cases: %s", shown);
		e->kind = ERR_INPUT;
		fd_close(&fd);
		return -1;
	}
	while ((f = readdir(d)) && out->n <= CASES_COUNT_MAX * 2)
		if (ends_with(f->d_name, ".in") || ends_with(f->d_name, ".out") || ends_with(f->d_name, ".ans"))
			strlist_add(a, out, arena_dup(a, f->d_name));
	closedir(d);
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), compare_natural);
	return out->n > CASES_COUNT_MAX * 2 ? err_set(e, ERR_INPUT, "cases: %s: more than %d", shown, CASES_COUNT_MAX) : 0;
}

static int compare_plain(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_listed(const struct strlist *sorted, const char *name)
{
	return sorted->n && bsearch(&name, sorted->v, sorted->n, sizeof(*sorted->v), compare_plain);
}

/* NAME.in and its answer. */
static int add_pair(struct cases *c, const struct strlist *all, const char *in, const struct cases_defaults *d, struct arena *a, struct err *e)
{
	const char *stem = arena_dup_len(a, in, strlen(in) - 3);
	const char *out = arena_fmt(a, "%s.out", stem), *ans = arena_fmt(a, "%s.ans", stem);
	bool has_out = is_listed(all, out), has_ans = is_listed(all, ans);
	struct cases_case *k;

	if (has_out && has_ans)
		return err_set(e, ERR_INPUT, "cases: case '%.100s' has both %.100s and %.100s", stem, out, ans);
	if (strlen(stem) > 100)
		return err_set(e, ERR_INPUT, "cases: '%.60s…': a name may have 100 bytes", stem);
	for (const char *p = stem; *p;) {
		size_t n = utf8_len((const unsigned char *)p, strlen(p));

		if (!n)
			return err_set(e, ERR_INPUT, "cases: '%s': a name must be UTF-8", stem);
		p += n;
	}
	k = add_case(c, a);
	k->name = stem;
	k->input = (struct cases_bytes){ .there = true, .path = in };
	k->compare = d->has_compare ? d->compare : (struct compare){ d->has_checker ? COMPARE_CHECKER : COMPARE_EXACT, COMPARE_REL, COMPARE_ABS };
	settle_limits(&k->limits, &d->limits, &d->limits);
	if (has_out || has_ans)
		k->expected = (struct cases_bytes){ .there = true, .path = has_out ? out : ans };
	else if (k->compare.mode != COMPARE_CHECKER)
		return err_set(e, ERR_INPUT, "cases: case '%s': there is no %.100s or %.100s beside %.100s", stem, out, ans, in);
	return 0;
}

int cases_from_folder(struct cases *c, int dir, const char *shown, const struct cases_defaults *d, struct arena *a, struct err *e)
{
	struct strlist natural = { 0 }, plain = { 0 };

	memset(c, 0, sizeof(*c));
	if (list_folder(dir, shown, &natural, a, e) < 0)
		return -1;
	for (size_t i = 0; i < natural.n; i++)
		strlist_add(a, &plain, natural.v[i]);
	if (plain.n)
		qsort(plain.v, plain.n, sizeof(*plain.v), compare_plain);
	for (size_t i = 0; i < natural.n; i++) {
		const char *name = natural.v[i];

		if (ends_with(name, ".in")) {
			if (add_pair(c, &plain, name, d, a, e) < 0)
				return -1;
		} else if (!is_listed(&plain, arena_fmt(a, "%.*s.in", (int)strlen(name) - 4, name))) {
			return err_set(e, ERR_INPUT, "cases: %.100s has no input beside it", name);
		}
	}
	if (c->count > CASES_COUNT_MAX)
		return err_set(e, ERR_INPUT, "cases: %s: more than %d", shown, CASES_COUNT_MAX);
	return check_all(c, by_name(c, a), d, e);
}

/* ---- files ---- */

static int open_file(int dir, const char *path, uint64_t *size, struct err *e)
{
	auto_close int fd = sys_openat2(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err_sys(e, "%.200s", path);
		e->kind = ERR_INPUT;
		return errno == EXDEV ? err_hint(e, "links may not leave the folder of the cases") : -1;
	}
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INPUT, "%.200s is not a plain file", path);
	*size = (uint64_t)st.st_size;
	return take_fd(&fd);
}

int cases_read_file(int dir, const char *path, struct buf *out, struct err *e)
{
	static char block[65536];
	uint64_t size;
	auto_close int fd = open_file(dir, path, &size, e);
	ssize_t n;

	if (fd < 0)
		return -1;
	while ((n = read(fd, block, sizeof(block))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err_sys(e, "read %.200s", path);
			e->kind = ERR_INPUT;
			return -1;
		}
		if (buf_add(out, block, (size_t)n) < 0)
			return err_set(e, ERR_INPUT, "%.200s is larger than %zu bytes", path, out->max);
	}
	return 0;
}

static int check_file(int dir, const char *name, const char *path, struct err *e)
{
	uint64_t size = 0;
	int fd;

	if (!path)
		return 0;
	fd = open_file(dir, path, &size, e);
	if (fd >= 0 && size <= CASES_BYTES_MAX) {
		close(fd);
		return 0;
	}
	if (fd >= 0) {
		err_set(e, ERR_INPUT, "%.200s is larger than 256 MiB", path);
		close(fd);
	}
	return name ? err_wrap(e, "cases: case '%s'", name) : err_wrap(e, "cases: checker");
}

int cases_check_files(const struct cases *c, int dir, struct err *e)
{
	for (size_t i = 0; i < c->count; i++)
		if (check_file(dir, c->v[i].name, c->v[i].input.path, e) < 0 || check_file(dir, c->v[i].name, c->v[i].expected.path, e) < 0)
			return -1;
	for (size_t i = 0; i < c->checker.with.n; i++)
		if (check_file(dir, NULL, c->checker.with.v[i], e) < 0)
			return -1;
	return check_file(dir, NULL, c->checker.path, e);
}
