/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: what the driver in a jar says, frame by frame, as one run. */
#include "grade/swe_frames.h"

#include <stdlib.h>
#include <string.h>

void swe_session_init(struct swe_session *s)
{
	*s = (struct swe_session){ .log = BUF_INIT(SWE_LOG_MAX) };
	frames_init(&s->frames, SWE_FRAME_MAX);
}

void swe_session_done(struct swe_session *s)
{
	frames_done(&s->frames);
	buf_done(&s->log);
	json_decref(s->apply);
	json_decref(s->ready);
	json_decref(s->plan);
	json_decref(s->counts);
	free(s->results);
	free(s->tampering);
	arena_free(&s->arena);
	*s = (struct swe_session){ 0 };
}

static void add_tamper(struct swe_session *s, struct swe_tamper t)
{
	s->fatal = s->fatal || swe_tamper_fatal(t.what);
	if (s->tampering_n == s->tampering_cap) {
		size_t cap = s->tampering_cap ? s->tampering_cap * 2 : 16;
		struct swe_tamper *more = s->tampering_n < SWE_TAMPER_MAX ? realloc(s->tampering, cap * sizeof(*more)) : NULL;

		/* The first thousand say enough; what decides is remembered by itself. */
		if (!more)
			return;
		s->tampering = more;
		s->tampering_cap = cap;
	}
	s->tampering[s->tampering_n++] = t;
}

static void broken(struct swe_session *s, const char *why)
{
	if (s->bad)
		return;
	s->bad = true;
	add_tamper(s, (struct swe_tamper){ .what = "frames", .action = "seen", .detail = why });
}

/* Text of a frame, in the arena; NULL: there is none. */
static const char *text_of(struct swe_session *s, const json_t *o, const char *key)
{
	const char *v = json_string_value(json_object_get(o, key));

	return v ? arena_dup(&s->arena, v) : NULL;
}

/* ---- frames ---- */

static void on_apply(struct swe_session *s, json_t *o)
{
	s->apply = json_incref(o);
	s->apply_outcome = text_of(s, o, "outcome");
	if (!s->apply_outcome)
		broken(s, "'apply' without an outcome");
	else
		s->applied = strcmp(s->apply_outcome, "applied") == 0 || strcmp(s->apply_outcome, "already") == 0;
}

static void on_tampering(struct swe_session *s, json_t *o)
{
	const char *what = text_of(s, o, "what");

	if (what)
		add_tamper(s, (struct swe_tamper){ what, text_of(s, o, "path"), text_of(s, o, "action"), text_of(s, o, "detail") });
	else
		broken(s, "'tampering' that does not say what");
}

static void on_ready(struct swe_session *s, json_t *o)
{
	const json_t *v;
	size_t i;

	s->ready = json_incref(o);
	json_array_foreach (json_object_get(o, "marked"), i, v)
		if (json_is_string(v))
			strlist_add(&s->arena, &s->marked, arena_dup(&s->arena, json_string_value(v)));
}

static void on_refused(struct swe_session *s, json_t *o)
{
	const json_t *v;
	size_t i;

	s->refused = "";
	json_array_foreach (json_object_get(o, "modules"), i, v)
		if (json_is_string(v) && i < 10)
			s->refused = arena_fmt(&s->arena, "%s%s%.60s", s->refused, i ? ", " : "", json_string_value(v));
}

static void on_plan(struct swe_session *s, json_t *o)
{
	s->plan = json_incref(o);
}

static void on_out(struct swe_session *s, json_t *o)
{
	const json_t *data = json_object_get(o, "data");
	size_t n = json_string_length(data), room = s->log.max - s->log.len;

	if (!json_is_string(data)) {
		broken(s, "'out' without data");
		return;
	}
	if (n > room) {
		n = room;
		s->log_cut = true;
	}
	if (n && buf_add(&s->log, json_string_value(data), n) < 0)
		s->log_cut = true;
}

static void on_test(struct swe_session *s, json_t *o)
{
	struct swe_result r = { .id = text_of(s, o, "id"), .str = text_of(s, o, "str"), .doc = text_of(s, o, "doc"), .def = text_of(s, o, "def"),
				.where = text_of(s, o, "where"), .value = text_of(s, o, "value"), .ms = (long)json_integer_value(json_object_get(o, "ms")) };
	const char *outcome = json_string_value(json_object_get(o, "outcome"));

	if (!r.id || !outcome || !swe_outcome_find(span_of(outcome), &r.outcome)) {
		broken(s, "'test' without an id or an outcome");
		return;
	}
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 256;
		struct swe_result *more = s->n < SWE_RESULTS_MAX ? realloc(s->results, cap * sizeof(*more)) : NULL;

		if (!more) {
			broken(s, "more tests than any run has");
			return;
		}
		s->results = more;
		s->cap = cap;
	}
	s->results[s->n++] = r;
}

/* The reporter's own count at its end must be what came through. */
static void on_finish(struct swe_session *s, json_t *o)
{
	const json_t *code = json_object_get(o, "exit");
	json_int_t sum = 0;
	const char *key;
	json_t *v;

	s->finished = true;
	s->said_exit = json_is_integer(code) ? (int)(json_integer_value(code) & 255) : -1;
	s->counts = json_incref(json_object_get(o, "counts"));
	json_object_foreach (s->counts, key, v) {
		sum += json_is_integer(v) && json_integer_value(v) > 0 && json_integer_value(v) <= SWE_RESULTS_MAX ? json_integer_value(v) : 0;
	}
	if (json_is_object(s->counts) && (size_t)sum != s->n)
		add_tamper(s, (struct swe_tamper){ .what = "counts_disagree", .action = "seen",
						   .detail = arena_fmt(&s->arena, "the reporter counted %lld results, and %zu came", (long long)sum, s->n) });
}

static void on_tests_end(struct swe_session *s, json_t *o)
{
	const json_t *code = json_object_get(o, "exit"), *sig = json_object_get(o, "signal");

	s->ended = true;
	s->has_exit = json_is_integer(code);
	s->exit = s->has_exit ? (int)json_integer_value(code) : 0;
	/* Neither: it ended in a way that nobody knows, which is no good one. */
	s->signal = json_is_integer(sig) ? (int)json_integer_value(sig) : s->has_exit ? 0 : 9;
	/* Whatever came between the runner's last word and its end chose another status. */
	if (s->finished && s->said_exit >= 0 && s->has_exit && s->said_exit != s->exit)
		add_tamper(s, (struct swe_tamper){ .what = "exit_changed", .action = "seen",
						   .detail = arena_fmt(&s->arena, "the runner ended with %d and exited with %d", s->said_exit, s->exit) });
	s->children_left = (unsigned)json_integer_value(json_object_get(o, "children_left"));
}

enum { APPLIED = 1, READY = 2, FINISHED = 4, ENDED = 8, PLANNED = 16 };

static const struct {
	const char *t;
	void (*on)(struct swe_session *s, json_t *o);
	int needs, forbids; /* what must have been said before, and what must not */
} kinds[] = {
	{ "apply", on_apply, 0, APPLIED | READY | ENDED },
	{ "tampering", on_tampering, 0, ENDED },
	{ "refused", on_refused, APPLIED, PLANNED | READY | ENDED },
	{ "plan", on_plan, APPLIED, PLANNED | READY | ENDED },
	{ "ready", on_ready, APPLIED, PLANNED | READY | ENDED },
	{ "out", on_out, APPLIED, ENDED },
	{ "test", on_test, READY, FINISHED | ENDED },
	{ "finish", on_finish, READY, FINISHED | ENDED },
	{ "tests_end", on_tests_end, READY, ENDED },
};

static void take(struct swe_session *s, const char *data, size_t len)
{
	json_t *o = json_loadb(data, len, JSON_ALLOW_NUL, NULL);
	const char *t = json_string_value(json_object_get(o, "t"));
	int state = (s->apply ? APPLIED : 0) | (s->ready ? READY : 0) | (s->finished ? FINISHED : 0) | (s->ended ? ENDED : 0) | (s->plan ? PLANNED : 0);
	size_t i = 0;

	while (t && i < sizeof(kinds) / sizeof(kinds[0]) && strcmp(kinds[i].t, t) != 0)
		i++;
	if (!t || i == sizeof(kinds) / sizeof(kinds[0]))
		broken(s, "a frame that no driver writes");
	else if ((state & kinds[i].needs) != kinds[i].needs || (state & kinds[i].forbids))
		broken(s, arena_fmt(&s->arena, "'%s' out of order", kinds[i].t));
	else
		kinds[i].on(s, o);
	json_decref(o);
}

void swe_session_add(struct swe_session *s, const char *data, size_t len)
{
	const char *frame;
	size_t n;

	/* In pieces: the buffer holds one frame and a little more. */
	while (len && !s->bad) {
		size_t part = len < 32768 ? len : 32768;

		frames_add(&s->frames, data, part);
		while (!s->bad && frames_next(&s->frames, &frame, &n))
			take(s, frame, n);
		if (s->frames.bad)
			broken(s, "bytes that are no frame");
		data += part;
		len -= part;
	}
}

void swe_session_run(const struct swe_session *s, enum swe_style style, bool jar_ok, struct swe_run *out)
{
	*out = (struct swe_run){
		.style = style,
		.has_reporter = true,
		.results = s->results,
		.n = s->n,
		.log = s->log.data ? s->log.data : "",
		.log_len = s->log.len,
		.log_cut = s->log_cut,
		.finished = s->finished && s->ended && !s->bad && jar_ok,
		.has_exit = s->has_exit,
		.exit = s->exit,
		.signal = s->signal,
	};
}
