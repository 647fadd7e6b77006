/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets: tasks, samples, results in the reference tools' form, pass@k. */
#include "grade/dataset.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/field.h"

#define LINE_MAX_BYTES (256U << 20)
#define BLOCK	       (128U << 10)
#define SAMPLE_MS      3000  /* as the reference harness of HumanEval has it; that is CPU time here */
#define MBPP_MS	       10000 /* the reference of its task 123 alone takes 3 to 4 s in plain python3 */

const struct dataset datasets[] = {
	{ "humaneval", "HumanEval", true, false, "canonical_solution", SAMPLE_MS, "python" },
	{ "mbpp", "MBPP", false, false, "code", MBPP_MS, "python" },
	{ "humaneval+", "HumanEval+", true, true, "canonical_solution", 60000, "python" },
	{ "mbpp+", "MBPP+", true, true, "canonical_solution", 60000, "python" },
	{ "humaneval-x", "HumanEval-X, JavaScript", true, false, "canonical_solution", SAMPLE_MS, "node", NULL, true },
	{ "multipl-e", "MultiPL-E, JavaScript", true, false, "canonical_solution", SAMPLE_MS, "node", "js", true },
	{ "multipl-e", "MultiPL-E, bash", true, false, "canonical_solution", SAMPLE_MS, "bash", "sh" },
	{ "quixbugs", "QuixBugs", false, false, "correct", 10000, "python" },
	{ "cases", "cases", false, false, "solution", 30000, "python" },
	{ .name = NULL },
};

const struct dataset *dataset_find(const char *name)
{
	for (const struct dataset *d = datasets; d->name; d++)
		if (strcmp(d->name, name) == 0)
			return d;
	return NULL;
}

const char *dataset_text(const char *line, size_t len, const char *key, struct arena *a, size_t *n)
{
	const char *at, *out;
	size_t size;
	json_t *v;

	if (!field_find(line, len, key, &at, &size))
		return NULL;
	if (*at != '"') {
		if (n)
			*n = size;
		return arena_dup_len(a, at, size);
	}
	v = json_loadb(at, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (!json_is_string(v)) {
		json_decref(v);
		return NULL;
	}
	if (n)
		*n = json_string_length(v);
	out = arena_dup_len(a, json_string_value(v), json_string_length(v));
	json_decref(v);
	return out;
}

/* ---- lines ---- */

struct dataset_lines {
	gzFile file;
	struct buf text;
	size_t at;
	bool ended;
};

struct dataset_lines *dataset_open(int fd, struct err *e)
{
	struct dataset_lines *l = calloc(1, sizeof(*l));

	if (l)
		l->file = gzdopen(fd, "rb");
	if (!l || !l->file) {
		free(l);
		err_set(e, ERR_INTERNAL, "no memory");
		return NULL;
	}
	l->text.max = LINE_MAX_BYTES;
	gzbuffer(l->file, BLOCK);
	return l;
}

static int fill(struct dataset_lines *l, struct err *e)
{
	static char block[BLOCK];
	int n;

	if (l->at) {
		memmove(l->text.data, l->text.data + l->at, l->text.len - l->at);
		l->text.len -= l->at;
		l->at = 0;
	}
	n = gzread(l->file, block, sizeof(block));
	if (n < 0) {
		int code;

		return err_set(e, ERR_INPUT, "cannot read: %s", gzerror(l->file, &code));
	}
	l->ended = n == 0;
	if (n && buf_add(&l->text, block, (size_t)n) < 0)
		return err_set(e, ERR_INPUT, "a line is longer than 256 MiB");
	return 0;
}

int dataset_next(struct dataset_lines *l, const char **line, size_t *len, struct err *e)
{
	size_t from = l->at;

	for (;;) {
		char *nl = l->text.len > from ? memchr(l->text.data + from, '\n', l->text.len - from) : NULL;

		if (nl || (l->ended && l->text.len > l->at)) {
			size_t end = nl ? (size_t)(nl - l->text.data) : l->text.len;

			*line = l->text.data + l->at;
			*len = end - l->at;
			l->at = nl ? end + 1 : end;
			from = l->at;
			if (field_is_blank(*line, *len))
				continue;
			return 1;
		}
		if (l->ended)
			return 0;
		from = l->text.len - l->at;
		if (fill(l, e) < 0)
			return -1;
	}
}

void dataset_close(struct dataset_lines *l)
{
	if (!l)
		return;
	gzclose(l->file);
	buf_done(&l->text);
	free(l);
}

/* ---- tasks ---- */

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261U;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619U;
	return h;
}

/* Ids are compared as the tools write them: 2, "2", "Mbpp/2", "MBPP/2" are the same one. */
static const char *plain_id(const char *id)
{
	const char *slash = strrchr(id, '/');

	return slash && strspn(slash + 1, "0123456789") == strlen(slash + 1) && slash[1] ? slash + 1 : id;
}

struct dataset_task *dataset_task(const struct dataset_tasks *t, const char *id)
{
	const char *plain = plain_id(id);

	for (size_t i = hash(plain) % t->index_size; t->index[i]; i = (i + 1) % t->index_size)
		if (strcmp(plain_id(t->list[t->index[i] - 1].id), plain) == 0)
			return &t->list[t->index[i] - 1];
	return NULL;
}

static int index_tasks(struct dataset_tasks *t, const char *name, struct err *e)
{
	t->index_size = t->count * 2 + 1;
	t->index = calloc(t->index_size, sizeof(*t->index));
	if (!t->index)
		return err_set(e, ERR_INTERNAL, "no memory");
	for (size_t i = 0; i < t->count; i++) {
		const char *plain = plain_id(t->list[i].id);
		size_t at = hash(plain) % t->index_size;

		if (dataset_task(t, t->list[i].id))
			return err_set(e, ERR_INPUT, "%s: task '%.60s' is there twice", name, t->list[i].id);
		while (t->index[at])
			at = (at + 1) % t->index_size;
		t->index[at] = (uint32_t)i + 1;
	}
	return 0;
}

const char *dataset_id(const char *line, size_t len, struct arena *a)
{
	const char *id = dataset_text(line, len, "task_id", a, NULL);

	return id ? id : dataset_text(line, len, "name", a, NULL);
}

/* Of a data set in several languages, one file has one. */
static int choose_language(struct dataset_tasks *t, const char *line, size_t len, const char *name, size_t number, struct err *e)
{
	const char *word;

	if (!t->kind->word)
		return 0;
	word = dataset_text(line, len, "language", &t->arena, NULL);
	/* Who does not say means the first row. */
	if (!word || strcmp(word, t->kind->word) == 0)
		return 0;
	for (const struct dataset *d = datasets; d->name && !t->count; d++)
		if (strcmp(d->name, t->kind->name) == 0 && strcmp(d->word, word) == 0) {
			t->kind = d;
			return 0;
		}
	err_set(e, ERR_INPUT, t->count ? "%s, line %zu: language '%.20s' among tasks of another" : "%s, line %zu: language '%.20s' is not one that belljar grades", name, number, word);
	return err_hint(e, "one file for each of js and sh");
}

int dataset_read(struct dataset_tasks *t, const struct dataset *kind, int fd, const char *name, struct err *e)
{
	struct dataset_lines *l = dataset_open(fd, e);
	const char *line;
	size_t len, cap = 0, number = 0;
	int rc;

	memset(t, 0, sizeof(*t));
	t->kind = kind;
	if (!l)
		return -1;
	while ((rc = dataset_next(l, &line, &len, e)) == 1) {
		const char *id;

		number++;
		if (t->count == cap) {
			struct dataset_task *more = realloc(t->list, (cap = cap ? cap * 2 : 256) * sizeof(*more));

			if (!more) {
				rc = err_set(e, ERR_INTERNAL, "no memory");
				break;
			}
			t->list = more;
		}
		if ((rc = choose_language(t, line, len, name, number, e)) < 0)
			break;
		id = dataset_id(line, len, &t->arena);
		if (!id) {
			err_set(e, ERR_INPUT, "%s, line %zu: no 'task_id'", name, number);
			rc = err_hint(e, "it must hold one task of %s a line", kind->title);
			break;
		}
		t->list[t->count++] = (struct dataset_task){ .id = id, .line = arena_dup_len(&t->arena, line, len), .len = len };
	}
	dataset_close(l);
	if (rc < 0)
		return -1;
	if (!t->count)
		return err_set(e, ERR_INPUT, "%s: there are no tasks in it", name);
	return index_tasks(t, name, e);
}

void dataset_done(struct dataset_tasks *t)
{
	free(t->list);
	free(t->index);
	arena_free(&t->arena);
}

double dataset_pass_at_k(unsigned n, unsigned c, unsigned k)
{
	double miss = 1;

	if (n - c < k)
		return 1;
	for (unsigned i = n - c + 1; i <= n; i++)
		miss *= 1 - (double)k / i;
	return 1 - miss;
}
