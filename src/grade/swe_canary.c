/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: derived canaries. */
#include "grade/swe_canary.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char *const strengths[CANARY_STRENGTHS] = {
	[CANARY_NONE] = "none", [CANARY_OPEN] = "open", [CANARY_HIDDEN] = "hidden", [CANARY_HIDDEN_HOT] = "hidden_hot", [CANARY_ORIGINAL] = "original",
};

const char *canary_strength_name(enum canary_strength s)
{
	return strengths[s];
}

static const char *text_at(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/* ---- names ---- */

/* Names under which a result can be listed: its id, its other spelling, the first line of its docstring. */
static bool is_listed(const struct swe_map *listed, enum swe_style style, const struct swe_result *r, struct arena *a)
{
	struct span doc = span_trim(span_of(r->doc)), line = SPAN_NONE;
	const char *names[3] = { r->id, r->str, NULL };

	if (doc.n && span_line(&doc, &line))
		names[2] = arena_dup_len(a, line.p, line.n);
	for (size_t i = 0; i < 3; i++) {
		const char *canon = names[i] ? swe_name_canon(style, span_of(names[i]), a) : NULL;

		if (!canon)
			continue;
		if (swe_map_find(listed, canon))
			return true;
		for (size_t k = 0; k < listed->n; k++)
			if (swe_name_truncated(listed->v[k].id) && strncmp(canon, listed->v[k].id, strlen(listed->v[k].id)) == 0)
				return true;
	}
	return false;
}

/* The file of "path:line:qualname". */
static const char *path_of_def(const char *def, struct arena *a)
{
	const char *end = def ? strrchr(def, ':') : NULL;

	while (end && end > def && end[-1] != ':')
		end--;
	return end && end > def ? arena_dup_len(a, def, (size_t)(end - 1 - def)) : NULL;
}

static const struct swe_result *result_of(const struct swe_run *run, const char *id)
{
	for (size_t i = 0; run && i < run->n; i++)
		if (strcmp(run->results[i].id, id) == 0)
			return &run->results[i];
	return NULL;
}

/* ---- asking the generator ---- */

static void list_names(struct swe_map *out, enum swe_style style, const struct strlist *names, struct arena *a)
{
	for (size_t i = 0; names && i < names->n; i++)
		swe_map_add(out, swe_name_canon(style, span_of(names->v[i]), a), SWE_PASSED, false, false);
}

json_t *canary_request(const struct swe_run *base, const struct swe_run *gold, const struct strlist *f2p, const struct strlist *sample, long most_ms)
{
	const struct swe_run *run = gold ? gold : base;
	json_t *tests = json_array();
	struct swe_map listed = { 0 }, others = { 0 };
	struct arena a = { 0 };

	list_names(&listed, run->style, f2p, &a);
	list_names(&others, run->style, sample, &a);
	for (size_t i = 0; i < run->n; i++) {
		const struct swe_result *r = &run->results[i], *was = result_of(base, r->id);
		bool is_f2p = is_listed(&listed, run->style, r, &a);

		if ((gold && !swe_outcome_good(r->outcome)) || (!gold && !is_f2p) || (gold && !r->def) || (!is_f2p && r->ms > most_ms))
			continue;
		if (!is_f2p && !is_listed(&others, run->style, r, &a))
			continue;
		json_array_append_new(tests, json_pack("{s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:b, s:s}", "id", r->id, "str", r->str, "doc", r->doc, "def", r->def, "where",
						       was && is_f2p ? was->where : NULL, "value", was && is_f2p ? was->value : NULL, "f2p", is_f2p, "gold",
						       gold ? swe_outcome_name(r->outcome) : "passed"));
	}
	/* Nothing was collected before the patch: the generator looks for the names that are listed. */
	bool names = !gold && !json_array_size(tests);

	for (size_t i = 0; names && i < f2p->n; i++)
		json_array_append_new(tests, json_pack("{s:s, s:b, s:s}", "id", f2p->v[i], "f2p", 1, "gold", "passed"));
	swe_map_done(&listed);
	swe_map_done(&others);
	arena_free(&a);
	return tests;
}

json_t *canary_source(const json_t *request, json_t *reply, const struct swe_run *gold)
{
	json_t *passed = json_array(), *t;
	double ms = 0;
	size_t i;

	for (i = 0; gold && i < gold->n; i++)
		if (gold->results[i].outcome == SWE_PASSED)
			json_array_append_new(passed, json_string(gold->results[i].id));
	json_array_foreach (request, i, t) {
		const struct swe_result *r = result_of(gold, text_at(t, "id"));

		ms += r ? (double)r->ms : 0;
	}
	json_object_set(reply, "tests", (json_t *)request);
	json_object_set_new(reply, "passed", passed);
	json_object_set_new(reply, "seconds", json_real(ms / 1000));
	json_object_set_new(reply, "calibrated", json_false());
	return reply;
}

/* ---- reading a plan ---- */

static int bad_plan(struct err *e, const char *what)
{
	return err_set(e, ERR_INTERNAL, "the plan of canaries cannot be read: %s", what);
}

static enum canary_strength strength_of(const char *word)
{
	size_t i = CANARY_NONE;

	for (i = 0; i < CANARY_STRENGTHS && (!word || strcmp(word, strengths[i]) != 0); i++)
		;
	return i == CANARY_STRENGTHS ? CANARY_NONE : (enum canary_strength)i;
}

static int read_tests(struct canary_plan *p, struct err *e)
{
	const json_t *tests = json_object_get(p->source, "tests"), *o;
	size_t i;

	p->test_n = json_array_size(tests);
	p->tests = arena_alloc(&p->arena, (p->test_n + 1) * sizeof(*p->tests));
	json_array_foreach (tests, i, o) {
		struct canary_test *t = &p->tests[i];
		const char *gold = text_at(o, "gold");

		*t = (struct canary_test){ .id = text_at(o, "id"), .path = path_of_def(text_at(o, "def"), &p->arena), .f2p = json_is_true(json_object_get(o, "f2p")) };
		if (!t->id || !gold || !swe_outcome_find(span_of(gold), &t->gold))
			return bad_plan(e, "a test without an id or an outcome");
	}
	return 0;
}

/* The tests of a slot: those of its list whose function stands in its file. */
static void find_tests(const struct canary_plan *p, struct canary_slot *s, const json_t *ids, const json_t *as)
{
	const json_t *id;
	size_t i;

	json_array_foreach (ids, i, id)
		for (size_t k = 0; json_is_string(id) && k < p->test_n; k++) {
			const struct canary_test *t = &p->tests[k];

			if (strcmp(t->id, json_string_value(id)) == 0 && (!t->path || strcmp(t->path, s->path) == 0)) {
				const char *other = json_string_value(json_array_get(as, i));

				s->as[s->test_n] = other ? other : t->id;
				s->tests[s->test_n++] = k;
				break;
			}
		}
}

/* Which of the slot's tests must fail: those that are named, or (before the calibration) all. */
static const bool *must_of(struct canary_plan *p, const struct canary_slot *s, const json_t *named, bool *any)
{
	bool *must = arena_alloc(&p->arena, s->test_n + 1);
	const json_t *id;
	size_t i;

	*any = !named;
	for (size_t k = 0; k < s->test_n; k++) {
		must[k] = !named;
		json_array_foreach (named, i, id)
			must[k] = must[k] || (json_is_string(id) && strcmp(json_string_value(id), p->tests[s->tests[k]].id) == 0);
		*any = *any || must[k];
	}
	return must;
}

static int read_slot(struct canary_plan *p, struct canary_slot *s, const json_t *o, struct err *e)
{
	const json_t *versions = json_object_get(o, "versions"), *v, *ids = json_object_get(o, "tests");
	size_t i;

	*s = (struct canary_slot){ .name = text_at(o, "name"), .path = text_at(o, "path"), .text = text_at(o, "text"), .f2p = json_is_true(json_object_get(o, "f2p")),
				   .version_n = json_array_size(versions), .first = p->version_n };
	if (!s->name || !s->path || !s->text || !s->version_n || s->version_n > CANARY_VERSIONS)
		return bad_plan(e, "a slot without a name, a file, its text or versions");
	s->tests = arena_alloc(&p->arena, (json_array_size(ids) + 1) * sizeof(*s->tests));
	s->versions = arena_alloc(&p->arena, s->version_n * sizeof(*s->versions));
	p->version_n += s->version_n;
	s->as = arena_alloc(&p->arena, (json_array_size(ids) + 1) * sizeof(*s->as));
	find_tests(p, s, ids, json_object_get(o, "as"));
	json_array_foreach (versions, i, v) {
		struct canary_version *x = &s->versions[i];
		const json_t *from = json_object_get(v, "from"), *to = json_object_get(v, "to");
		bool any;

		*x = (struct canary_version){ .strength = strength_of(text_at(v, "strength")), .kind = text_at(v, "kind"), .pre = text_at(v, "pre"), .post = text_at(v, "post"),
					      .from = (unsigned)json_integer_value(from), .to = (unsigned)json_integer_value(to), .safe = json_is_true(json_object_get(v, "safe")),
					      .strict = json_is_true(json_object_get(v, "strict")) };
		if (!x->pre || !x->post || x->strength == CANARY_NONE)
			return bad_plan(e, "a version without its text or strength");
		x->must = must_of(p, s, json_object_get(v, "must"), &any);
		x->usable = !p->calibrated ? true : x->strength == CANARY_ORIGINAL ? json_is_true(json_object_get(v, "passes")) : any;
	}
	if (s->versions[0].strength != CANARY_ORIGINAL)
		return bad_plan(e, "a slot whose first version is no original");
	return 0;
}

/* The best variant that a test must fail says how strong its canaries are; without an original that passes there are none. */
static void rate_slot(struct canary_plan *p, const struct canary_slot *s)
{
	for (size_t v = 0; v < s->version_n && s->versions[0].usable; v++)
		for (size_t k = 0; k < s->test_n; k++) {
			struct canary_test *t = &p->tests[s->tests[k]];

			if (s->versions[v].strength != CANARY_ORIGINAL && s->versions[v].usable && s->versions[v].must[k] && s->versions[v].strength > t->strength)
				t->strength = s->versions[v].strength;
		}
}

int canary_read(struct canary_plan *p, json_t *source, struct err *e)
{
	const json_t *slots = json_object_get(source, "slots"), *o;
	size_t i;

	*p = (struct canary_plan){ .source = source, .seconds = json_number_value(json_object_get(source, "seconds")),
				   .calibrated = json_is_true(json_object_get(source, "calibrated")) };
	if (!json_is_array(slots) || !json_is_array(json_object_get(source, "files")) || !json_is_array(json_object_get(source, "tests")))
		return bad_plan(e, "no files, slots or tests");
	if (read_tests(p, e) < 0)
		return -1;
	p->slots = arena_alloc(&p->arena, (json_array_size(slots) + 1) * sizeof(*p->slots));
	json_array_foreach (slots, i, o) {
		if (read_slot(p, &p->slots[i], o, e) < 0)
			return -1;
		p->slot_n++;
		if (p->calibrated)
			rate_slot(p, &p->slots[i]);
	}
	return 0;
}

void canary_done(struct canary_plan *p)
{
	json_decref(p->source);
	arena_free(&p->arena);
	*p = (struct canary_plan){ 0 };
}

/* ---- files ---- */

struct writer {
	struct buf text;
	unsigned line;
};

static void put(struct writer *w, const char *text)
{
	buf_str(&w->text, text);
	for (; *text; text++)
		w->line += *text == '\n';
}

static void put_version(struct writer *w, const struct canary_slot *s, size_t v, const char *copies, unsigned *lines)
{
	char number[8];

	snprintf(number, sizeof(number), "%02zu", v);
	lines[s->first + v] = w->line;
	put(w, s->versions[v].pre);
	put(w, s->name);
	if (copies && v) {
		put(w, copies);
		put(w, number);
	}
	put(w, s->versions[v].post);
}

static void put_slot(struct writer *w, const struct canary_slot *s, unsigned char choice, const char *copies, unsigned *lines)
{
	if (choice == CANARY_VERBATIM)
		put(w, s->text);
	else if (!copies)
		put_version(w, s, choice, NULL, lines);
	for (size_t v = 0; copies && v < s->version_n; v++)
		put_version(w, s, v, copies, lines);
}

static json_t *write_files(const struct canary_plan *p, const unsigned char *choice, const char *copies, unsigned *lines)
{
	const json_t *files = json_object_get(p->source, "files"), *file, *piece;
	json_t *out = json_object();
	size_t i, k;

	json_array_foreach (files, i, file) {
		struct writer w = { .text = BUF_INIT(64U << 20), .line = 1 };

		json_array_foreach (json_object_get(file, "pieces"), k, piece) {
			size_t slot = (size_t)json_integer_value(piece);

			if (json_is_string(piece))
				put(&w, json_string_value(piece));
			else if (slot < p->slot_n)
				put_slot(&w, &p->slots[slot], choice ? choice[slot] : 0, copies, lines);
		}
		if (text_at(file, "path") && w.text.data)
			json_object_set_new(out, text_at(file, "path"), json_stringn(w.text.data, w.text.len));
		buf_done(&w.text);
	}
	return out;
}

json_t *canary_files(const struct canary_plan *p, const unsigned char *choice, unsigned *lines)
{
	return write_files(p, choice, NULL, lines);
}

json_t *canary_files_all(const struct canary_plan *p, const char *copies, unsigned *lines)
{
	return write_files(p, NULL, copies, lines);
}

/* ---- what a run shows ---- */

/* Whether one of the frames "path:line" lies in these lines of the file. */
static bool fails_inside(const char *where, const char *path, unsigned from, unsigned to)
{
	struct span all = span_of(where), line;
	size_t n = strlen(path);

	while (span_line(&all, &line)) {
		unsigned long at;

		if (line.n <= n + 1 || memcmp(line.p, path, n) != 0 || line.p[n] != ':')
			continue;
		at = strtoul(line.p + n + 1, NULL, 10);
		if (at >= from && at <= to)
			return true;
	}
	return false;
}

static bool is_planted(const struct canary_slot *s, size_t v, unsigned line, const struct swe_result *r)
{
	const struct canary_version *x = &s->versions[v];

	return swe_outcome_bad(r->outcome) && r->where && fails_inside(r->where, s->path, line + x->from - 1, line + x->to - 1);
}

/* The result of a test in a run; NULL: none. Of several the one that is least wanted: who reports a test twice gains nothing. */
static const struct swe_result *find_result(const struct swe_run *run, const struct canary_slot *s, const struct canary_test *t, const char *id, bool must_fail, struct arena *a)
{
	const struct swe_result *found = NULL;

	for (size_t i = 0; i < run->n; i++) {
		const struct swe_result *r = &run->results[i];
		const char *path;

		if (strcmp(r->id, id) != 0)
			continue;
		path = path_of_def(r->def, a);
		/* sympy's ids are names of functions, which two files may share. */
		if (path && t->path && strcmp(path, s->path) != 0)
			continue;
		if (!found || (must_fail ? !swe_outcome_bad(r->outcome) : swe_outcome_merge(found->outcome, r->outcome) == r->outcome))
			found = r;
	}
	return found;
}

/* A test's id in which its function is called NAME + copies + number. */
static const char *copy_id(const struct swe_run *run, const struct canary_slot *s, const char *id, const char *copies, size_t v, struct arena *a)
{
	const char *at = v ? strstr(id, s->name) : NULL;

	/* The function, not a folder or class of the same name: the last whole match before the parameters. */
	for (const char *next = at; next; next = strstr(next + 1, s->name)) {
		const char *open = strchr(id, '[');

		if (run->style != SWE_DJANGO && run->style != SWE_UNITTEST && (!open || next < open))
			at = next;
	}
	return at ? arena_fmt(a, "%.*s%s%s%02zu%s", (int)(at - id), id, s->name, copies, v, at + strlen(s->name)) : id;
}

int canary_calibrate(struct canary_plan *p, const struct swe_run *run, const char *copies, const unsigned *lines, struct err *e)
{
	json_t *source = json_incref(p->source), *slots = json_object_get(source, "slots");
	struct arena a = { 0 };

	for (size_t i = 0; i < p->slot_n; i++) {
		const struct canary_slot *s = &p->slots[i];
		json_t *versions = json_object_get(json_array_get(slots, i), "versions");

		for (size_t v = 0; v < s->version_n; v++) {
			json_t *o = json_array_get(versions, v), *must = json_array();
			size_t passed = 0;

			for (size_t k = 0; k < s->test_n; k++) {
				const struct canary_test *t = &p->tests[s->tests[k]];
				const struct swe_result *r = run ? find_result(run, s, t, copy_id(run, s, s->as[k], copies, v, &a), false, &a) : NULL;

				passed += run ? r && r->outcome == t->gold : 1;
				if (run ? r && is_planted(s, v, lines[s->first + v], r) : s->versions[v].safe)
					json_array_append_new(must, json_string(t->id));
			}
			json_object_set_new(o, "must", must);
			json_object_set_new(o, "passes", json_boolean(s->test_n && passed == s->test_n && (run || !s->versions[v].strict)));
		}
	}
	arena_free(&a);
	json_object_set_new(source, "calibrated", json_true());
	json_object_set_new(source, "gold", json_boolean(run));
	canary_done(p);
	return canary_read(p, source, e);
}

/* ---- rounds ---- */

static unsigned below(unsigned n)
{
	uint32_t x;

	if (getrandom(&x, sizeof(x), 0) != sizeof(x))
		abort();
	return n ? (unsigned)(((uint64_t)x * n) >> 32) : 0;
}

static void shuffle(unsigned char *v, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = below((unsigned)i);
		unsigned char x = v[i - 1];

		v[i - 1] = v[k];
		v[k] = x;
	}
}

void canary_select(const struct canary_plan *p, const unsigned char *choice, struct strlist *out, struct arena *a)
{
	bool *placed = arena_alloc(a, p->test_n + 1);

	memset(placed, 0, p->test_n + 1);
	for (size_t i = 0; i < p->slot_n; i++)
		for (size_t k = 0; k < p->slots[i].test_n; k++) {
			const struct canary_slot *s = &p->slots[i];

			placed[s->tests[k]] = true;
			strlist_add(a, out, choice && choice[i] == CANARY_VERBATIM ? p->tests[s->tests[k]].id : s->as[k]);
		}
	for (size_t k = 0; k < p->test_n; k++)
		if (!placed[k])
			strlist_add(a, out, p->tests[k].id);
}

size_t canary_rounds(const struct canary_plan *p)
{
	return p->seconds > SWE_SLOW_S ? SWE_ROUNDS_SLOW : SWE_ROUNDS;
}

/* Whether one of the first `n` was made by the same rule. */
static bool has_kind(const struct canary_slot *s, const unsigned char *taken, size_t n, const char *kind)
{
	for (size_t i = 0; i < n; i++)
		if (kind && s->versions[taken[i]].kind && strcmp(s->versions[taken[i]].kind, kind) == 0)
			return true;
	return false;
}

/*
 * Up to `want` versions of at least and at most these strengths that are not taken yet, at random. As many kinds as there are: a trick that gets past one
 * kind (another exception) need not get past the next (an input for which nothing is raised).
 */
static size_t take(const struct canary_slot *s, enum canary_strength least, enum canary_strength most, size_t want, unsigned char *out, size_t n)
{
	unsigned char all[CANARY_VERSIONS];
	size_t count = 0, got = 0;

	for (size_t v = 0; v < s->version_n; v++)
		if (s->versions[v].usable && s->versions[v].strength >= least && s->versions[v].strength <= most && !memchr(out, (int)v, n))
			all[count++] = (unsigned char)v;
	shuffle(all, count);
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < count && got < want; i++)
			if (!memchr(out, all[i], n + got) && (pass || !has_kind(s, out, n + got, s->versions[all[i]].kind)))
				out[n + got++] = all[i];
	return got;
}

/*
 * The versions of one slot over the rounds. A FAIL_TO_PASS function: a third originals, half hidden variants, as many as can be at the statement that
 * failed before, one open variant. Another: half originals. What there is too little of is used again.
 */
static void draw_slot(const struct canary_slot *s, unsigned char *out, size_t rounds)
{
	size_t variants = s->f2p ? rounds - rounds / 3 : rounds / 2, hidden = s->f2p ? rounds / 2 : variants, n = 0, kinds;

	if (!s->versions[0].usable || !s->test_n) {
		memset(out, CANARY_VERBATIM, rounds);
		return;
	}
	n += take(s, CANARY_HIDDEN_HOT, CANARY_HIDDEN_HOT, s->f2p ? (hidden * 2 + 2) / 3 : hidden, out, n);
	n += take(s, CANARY_HIDDEN, CANARY_HIDDEN_HOT, hidden - n, out, n);
	n += take(s, CANARY_OPEN, CANARY_OPEN, variants - n, out, n);
	n += take(s, CANARY_HIDDEN, CANARY_HIDDEN_HOT, variants - n, out, n);
	kinds = n;
	for (; kinds && n < variants; n++)
		out[n] = out[below((unsigned)kinds)];
	/* A value that only says that it is equal must not pass for one: at least one original compares strictly. */
	for (size_t v = 0; v < s->version_n && n < rounds; v++)
		if (s->versions[v].strict && s->versions[v].usable)
			out[n++] = (unsigned char)v;
	while (n < rounds) {
		size_t got = take(s, CANARY_ORIGINAL, CANARY_ORIGINAL, rounds - n, out, n);

		n += got;
		if (!got && n < rounds)
			out[n++] = 0;
	}
	shuffle(out, rounds);
}

void canary_draw(const struct canary_plan *p, unsigned char *choice, size_t rounds)
{
	unsigned char column[SWE_ROUNDS];

	for (size_t s = 0; s < p->slot_n; s++) {
		draw_slot(&p->slots[s], column, rounds);
		for (size_t r = 0; r < rounds; r++)
			choice[r * p->slot_n + s] = column[r];
	}
}

/* What a result says of a variant that must fail; NULL: it did, where it was planted. */
static const char *fault_of(const struct canary_slot *s, size_t v, unsigned line, const struct swe_result *r)
{
	static const char *const by_outcome[] = {
		[SWE_MISSING] = "canary_missing", [SWE_PASSED] = "canary_passed",	 [SWE_FAILED] = "canary_elsewhere", [SWE_ERROR] = "canary_elsewhere",
		[SWE_SKIPPED] = "canary_skipped", [SWE_XFAIL] = "canary_xfail", [SWE_XPASS] = "canary_passed",
	};

	return r && is_planted(s, v, line, r) ? NULL : by_outcome[r ? r->outcome : SWE_MISSING];
}

bool canary_may_be_chance(const char *what)
{
	static const char *const chance[] = { "canary_missing", "canary_elsewhere", "original_unsteady", "comparison_changed", "round_unfinished", "canary_exit" };

	for (size_t i = 0; i < sizeof(chance) / sizeof(chance[0]); i++)
		if (strcmp(what, chance[i]) == 0)
			return true;
	return false;
}

size_t canary_judge(const struct canary_plan *p, const unsigned char *choice, const unsigned *lines, const struct swe_run *run, struct swe_tamper **found, struct arena *a)
{
	struct swe_tamper *out = arena_alloc(a, (p->test_n + 2) * sizeof(*out));
	size_t n = 0, must_fail = 0;

	*found = out;
	if (!run->finished || run->signal) {
		out[n++] = (struct swe_tamper){ .what = "round_unfinished", .action = "seen", .detail = "the same tests ended in order before" };
		return n;
	}
	for (size_t i = 0; i < p->slot_n; i++) {
		const struct canary_slot *s = &p->slots[i];
		size_t v = choice[i];

		for (size_t k = 0; v != CANARY_VERBATIM && k < s->test_n; k++) {
			const struct canary_test *t = &p->tests[s->tests[k]];
			bool original = s->versions[v].strength == CANARY_ORIGINAL;
			const struct swe_result *r = find_result(run, s, t, s->as[k], !original, a);
			const char *fault = NULL;

			if (original && (!r || (r->outcome != SWE_PASSED && r->outcome != t->gold)))
				fault = s->versions[v].strict ? "comparison_changed" : "original_unsteady";
			else if (!original && s->versions[v].must[k])
				fault = fault_of(s, v, lines[s->first + v], r);
			must_fail += !original && s->versions[v].must[k];
			if (fault)
				out[n++] = (struct swe_tamper){ .what = fault, .path = t->id, .action = "seen",
								.detail = arena_fmt(a, "a version of it that must %s: %s", original ? "pass" : "fail", swe_outcome_name(r ? r->outcome : SWE_MISSING)) };
		}
	}
	if (must_fail && run->has_exit && run->exit == 0)
		out[n++] = (struct swe_tamper){ .what = "canary_exit", .action = "seen", .detail = "the exit status of a round is 0, although versions of tests must fail in it" };
	return n;
}

size_t canary_softened(const struct canary_plan *p, const struct swe_run *run, const struct strlist *listed, struct swe_tamper **found, struct arena *a)
{
	const json_t *passed = json_object_get(p->source, "passed"), *id;
	struct swe_tamper *out = *found = arena_alloc(a, (run->n + 1) * sizeof(*out));
	struct swe_map names = { 0 };
	size_t n = 0, k;

	list_names(&names, run->style, listed, a);
	for (size_t i = 0; i < run->n; i++) {
		const struct swe_result *r = &run->results[i];

		if ((r->outcome != SWE_SKIPPED && r->outcome != SWE_XFAIL) || !is_listed(&names, run->style, r, a))
			continue;
		json_array_foreach (passed, k, id) {
			if (strcmp(json_string_value(id), r->id) == 0) {
				out[n++] = (struct swe_tamper){ .what = "softened", .path = r->id, .action = "seen",
								.detail = arena_fmt(a, "it passes with the right patch, and is %s here", swe_outcome_name(r->outcome)) };
				break;
			}
		}
	}
	swe_map_done(&names);
	return n;
}

/* ---- the report ---- */

bool canary_gold_passes(const struct canary_plan *p, enum swe_style style, const char *id)
{
	bool found = false;
	struct swe_map one = { 0 };
	struct arena a = { 0 };

	swe_map_add(&one, swe_name_canon(style, span_of(id), &a), SWE_PASSED, false, false);
	for (size_t k = 0; k < p->test_n && !found; k++) {
		const json_t *t = json_array_get(json_object_get(p->source, "tests"), k);
		struct swe_result r = { .id = p->tests[k].id, .str = text_at(t, "str"), .doc = text_at(t, "doc") };

		found = p->tests[k].gold == SWE_PASSED && is_listed(&one, style, &r, &a);
	}
	swe_map_done(&one);
	arena_free(&a);
	return found;
}

json_t *canary_report(const struct canary_plan *p, enum swe_style style, const struct strlist *f2p)
{
	enum canary_strength weakest = CANARY_ORIGINAL;
	json_t *tests = json_object(), *o = json_object();
	struct arena a = { 0 };

	for (size_t i = 0; i < f2p->n; i++) {
		enum canary_strength strength = CANARY_ORIGINAL;
		struct swe_map one = { 0 };

		swe_map_add(&one, swe_name_canon(style, span_of(f2p->v[i]), &a), SWE_PASSED, false, false);
		for (size_t k = 0; k < p->test_n; k++) {
			const json_t *t = json_array_get(json_object_get(p->source, "tests"), k);
			struct swe_result r = { .id = p->tests[k].id, .str = text_at(t, "str"), .doc = text_at(t, "doc") };

			if (p->tests[k].f2p && is_listed(&one, style, &r, &a) && p->tests[k].strength < strength)
				strength = p->tests[k].strength;
		}
		swe_map_done(&one);
		if (strength == CANARY_ORIGINAL)
			strength = CANARY_NONE;
		weakest = strength < weakest ? strength : weakest;
		json_object_set_new(tests, f2p->v[i], json_string(strengths[strength]));
	}
	json_object_set_new(o, "weakest", json_string(strengths[weakest == CANARY_ORIGINAL ? CANARY_NONE : weakest]));
	json_object_set_new(o, "tests", tests);
	json_object_set_new(o, "calibrated", json_boolean(p->calibrated && json_is_true(json_object_get(p->source, "gold"))));
	arena_free(&a);
	return o;
}
