/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of jars: a candidate in one, what is expected in the other, and data between them; on somebody's loop. */
#include "grade/pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "grade/frames.h"
#include "grade/patience.h"
#include "jar/root.h"
#include "run/run.h"
#include "run/state.h"

/*
 * Theory of operation
 *
 * A pair is a verifier and a candidate, each in a jar of its own. The verifier lives on from sample to sample: only trusted code ever runs in it.
 * The candidate's jar is fresh for every sample. Neither knows of the other; we pass frames on, and never look into an answer:
 *
 *	verifier says   C ms cpu frame   ask the candidate, who has that long by the clock, and that much CPU time (0: what its jar has)
 *	                Q ms cpu nonce frame   the same, when whatever was asked before has been answered: by a frame that begins with its nonce
 *	                N            a new jar for the same candidate       N factor   the same, from the beginning: with all its time, by the clock `factor` times
 *	                R json       the report: the sample is done; the first one says that the verifier is ready
 *	we say to it    T json       a task       A us ms frame   the candidate's answer       X json   its jar has ended, and why
 *	                Y            what comes after this is of the new jar
 *
 * Time. The kernel counts the CPU time of all processes of the candidate's jar, and we read that count (run/meter.h): nothing in the jar can change it. What was used
 * since the answer before goes with each answer (us), and so does the time by the clock since the question (ms): the verifier decides by them. All CPU time belongs to some question:
 * what a process does between two questions, or leaves to another, counts for the next one. Who is past the CPU time of a question is ended here.
 *
 * Somebody is always to move, and has a deadline: a candidate that does not answer is ended, a verifier that does not go on is replaced.
 *
 * Questions of kind Q are what a verifier knows that it will ask. They wait here, never in the candidate's jar: what is asked later may tell what should
 * have been answered before. Their answers wait here too, for a moment, so that the verifier is woken once for all of them. It looks at them in their order
 * and by their nonces, so a candidate that makes the next question come by answering nonsense has answered nonsense.
 */

#define VERIFIER_MS	120000 /* its own work before it asks */
#define ANSWER_MS	30000  /* and with an answer; its own patience with one ends long before (src/guest/python/verifier.py) */
#define END_MS		2000   /* for a candidate that has been told that nothing more will come */
#define HOLD_MS		10     /* answers wait that long for others */
#define HOLD_MAX	(1U << 20)
#define BACKLOG_MAX	(64U << 20) /* answers that the verifier has not read yet: with more nothing is asked */
#define LOOSE_MAX	2	    /* frames that a driver gives to one question: the answer, and that its process has ended */
#define OVER_MS		200    /* past its CPU time before we end it: a driver may say meanwhile where it is */
#define LOOK_MS		20     /* not more often than that */
#define NONCE		16
#define TIMES		8      /* of an answer */
#define ANSWER_MAX	(64U << 20)

enum side_id { VERIFIER, CANDIDATE, SIDES };

struct pair {
	struct pairs *of;
	struct side {
		struct run run;
		struct result res;
		struct arena arena;
		struct frames frames;
		bool up;      /* its run is under way */
		bool over;    /* it has just ended: dealt with at the end of the round */
	} side[SIDES];
	bool ready;	      /* the verifier waits for a task */
	bool dying;	      /* it was ended by us, and may still be talking */
	struct grade_sample *sample;
	bool again;	      /* a new jar for the candidate when the old one is gone */
	bool reported;	      /* only the candidate's end is still missing */
	bool told;	      /* the verifier was told that the candidate is gone */
	bool late;	      /* we ended it because it did not answer */
	bool over;	      /* and that because it used too much CPU time */
	uint64_t late_ns, lost_ns; /* when that was, and what its question had used */
	bool answered;	      /* it has said something */
	unsigned broken;      /* verifiers that ended by themselves in a row */
	uint64_t end_ns;      /* when the sample has had all its time, whatever its jars have left */
	uint64_t due_ns;      /* when whoever is to move is late; 0: nobody is */
	struct buf unsent;    /* questions to a candidate whose jar is not there yet */
	struct buf queue;     /* questions that wait for answers to earlier ones: frames, as the verifier sent them */
	size_t queue_at;      /* the first of them */
	char nonce[NONCE];    /* what the answer begins with that they wait for */
	bool asked;	      /* they do wait */
	unsigned loose;	      /* frames since the last question that are not what they wait for */
	uint32_t cpu_ms;      /* what the question may use; 0: no limit of its own */
	uint64_t asked_ns;    /* when it was put */
	uint64_t used_ns;     /* CPU time of the candidate's jar when the one before was answered */
	uint64_t look_ns;     /* when to look at its CPU time; 0: never */
	bool anew;	      /* the jar that is still there does not count there */
	uint64_t spent_ns;    /* CPU time of its jars that have ended, since the beginning */
	uint64_t held_ns;     /* since when an answer is held back; 0: none is */
	struct grade_outcome out;
	struct buf report;
};

static void begin_candidate(struct pair *p);

/* Numbers in the pool: verifiers first, then candidates that bring none. */
static uint32_t own_number(const struct pair *p, enum side_id side)
{
	const struct pairs *all = p->of;

	return all->setup.number + (uint32_t)(side == CANDIDATE ? all->setup.count : 0) + (uint32_t)(p - all->list);
}

/* ---- frames ---- */

/* The beginning of a frame: the length of what follows, and its kind where it has one. */
static size_t frame_head(unsigned char head[5], char kind, size_t len)
{
	uint32_t n = (uint32_t)len + (kind ? 1 : 0);

	for (int i = 0; i < 4; i++)
		head[i] = (unsigned char)(n >> 8 * i);
	head[4] = (unsigned char)kind;
	return kind ? 5 : 4;
}

static void send_frame(struct run *x, char kind, const void *data, size_t len)
{
	unsigned char head[5];

	run_say_later(x, head, frame_head(head, kind, len));
	run_say(x, data, len);
}

static uint32_t get_u32(const char *at)
{
	const unsigned char *p = (const unsigned char *)at;

	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_u32(unsigned char *at, uint64_t n)
{
	if (n > UINT32_MAX)
		n = UINT32_MAX;
	for (int i = 0; i < 4; i++)
		at[i] = (unsigned char)(n >> 8 * i);
}

static void due_in(struct pair *p, uint64_t ms)
{
	p->due_ns = clock_mono_ns() + ms * NS_PER_MS;
}

/* To the verifier, after what was held back for it. */
static void tell(struct pair *p, char kind, const void *data, size_t len)
{
	p->held_ns = 0;
	send_frame(&p->side[VERIFIER].run, kind, data, len);
}

static void let_go(struct pair *p)
{
	if (p->held_ns)
		run_say(&p->side[VERIFIER].run, "", 0);
	p->held_ns = 0;
}

static void forget_questions(struct pair *p)
{
	p->queue.len = p->queue_at = p->unsent.len = 0;
	p->asked = false;
}

/* ---- the candidate's CPU time ---- */

/* What its jar has used since the last question was answered. A count that is not known yet is counted later. */
static uint64_t used_since(struct pair *p, uint64_t *total)
{
	*total = p->used_ns;
	meter_read(&p->side[CANDIDATE].run.meter, total);
	return *total > p->used_ns ? *total - p->used_ns : 0;
}

/* A question is put: it may use `cpu_ms`. */
static void measure(struct pair *p, uint32_t cpu_ms)
{
	p->asked_ns = clock_mono_ns();
	p->cpu_ms = cpu_ms;
	p->look_ns = cpu_ms ? p->asked_ns + LOOK_MS * NS_PER_MS : 0;
}

/* Whether it has used more than it may. Next time not before it could have. */
static bool look_at_cpu(struct pair *p, uint64_t now)
{
	const struct jar_limits *l = &p->sample->req.limits;
	uint64_t limit = (p->cpu_ms + OVER_MS) * NS_PER_MS, total, used, wait;

	if (!p->look_ns || now < p->look_ns)
		return false;
	used = used_since(p, &total);
	if (used > limit)
		return true;
	wait = (limit - used) * 1000 / (l->cpus_milli > 1000 ? l->cpus_milli : 1000);
	p->look_ns = now + (wait < LOOK_MS * NS_PER_MS ? LOOK_MS * NS_PER_MS : wait);
	return false;
}

/* ---- the candidate ---- */

/* Why its jar has ended, for the verifier. */
static void tell_gone(struct pair *p)
{
	static const struct {
		enum run_reason reason;
		const char *word;
	} words[] = {
		{ REASON_WALL_TIME, "timeout" }, { REASON_CPU_TIME, "timeout" }, { REASON_MEMORY, "memory" }, { REASON_OUTPUT, "output" }, { REASON_EXITED, "exited" },
		{ REASON_SIGNAL, "crashed" }, { REASON_SYSCALL, "crashed" }, { REASON_POLICY, "policy" },
	};
	const struct verdict *v = &p->side[CANDIDATE].res.verdict;
	const char *word = p->late ? "timeout" : "crashed";
	const struct jar_evidence *ev = &p->side[CANDIDATE].res.run.evidence;
	/* Of the question, where it was our clock; of the jar, where it was the keeper's. */
	uint64_t used = p->late ? p->lost_ns : ev->cg.cpu_ns, wall = p->late ? p->late_ns - p->asked_ns : ev->ended_ns - ev->started_ns;
	uint64_t limit = (p->late ? p->cpu_ms : p->sample->req.limits.cpu_ms) * NS_PER_MS;
	bool clock = p->late ? !p->over : v->reason == REASON_WALL_TIME;
	char text[700], *q = text;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !p->late; i++)
		if (words[i].reason == v->reason)
			word = words[i].word;
	q += snprintf(q, sizeof(text), "{\"reason\":\"%s\",\"starved\":%s,\"detail\":\"", word, clock && patience_starved(used, wall, limit) ? "true" : "false");
	if (p->over)
		q += snprintf(q, 100, "cpu time limit: it used %.2f s of %.2f s", (double)used / 1e9, (double)limit / 1e9);
	else if (p->late)
		q += snprintf(q, 100, "it did not answer in time");
	else if (v->status == STATUS_COMPLETED && v->exited)
		q += snprintf(q, 100, "its process ended with exit code %d before it answered", v->exit_code);
	else
		for (const char *s = v->error; *s && q < text + sizeof(text) - 8; s++)
			*q++ = *s == '"' || *s == '\\' || (unsigned char)*s < 32 ? ' ' : *s;
	q += snprintf(q, 8, "\"}");
	p->told = true;
	tell(p, 'X', text, (size_t)(q - text));
	due_in(p, VERIFIER_MS);
}

static void sample_done(struct pair *p);

/* A question for the candidate: as it is. */
static void pass_on(struct pair *p, uint32_t ms, uint32_t cpu_ms, const char *data, size_t len)
{
	struct side *s = &p->side[CANDIDATE];
	unsigned char head[5];

	due_in(p, ms + (uint64_t)(p->again ? END_MS : 0));
	p->loose = 0;
	measure(p, cpu_ms);
	if (p->again) {
		buf_add(&p->unsent, head, frame_head(head, 0, len));
		buf_add(&p->unsent, data, len);
	} else if (!s->up) {
		if (!p->told)
			tell_gone(p);
		else
			due_in(p, ANSWER_MS);
	} else if (!p->told) {
		send_frame(&s->run, 0, data, len);
	}
}

/* Bytes of answers that wait for the verifier. */
static size_t backlog(const struct pair *p)
{
	const struct run *to = &p->side[VERIFIER].run;

	return to->say.len - to->say_at;
}

/* The first question that waits, where nothing is asked. */
static void ask_next(struct pair *p)
{
	const char *q = p->queue.data + p->queue_at;
	uint32_t n;

	if (p->asked || p->queue_at == p->queue.len || backlog(p) > BACKLOG_MAX)
		return;
	n = get_u32(q);
	p->asked = true;
	memcpy(p->nonce, q + 12, NONCE);
	pass_on(p, get_u32(q + 4), get_u32(q + 8), q + 12 + NONCE, n - 8 - NONCE);
	p->queue_at += 4 + (size_t)n;
	if (p->queue_at == p->queue.len)
		p->queue.len = p->queue_at = 0;
}

/* An answer of the candidate's; alone: as it is. One after which somebody else is to move than the verifier may wait. */
static void pass_back(struct pair *p, const char *data, size_t len)
{
	struct run *to = &p->side[VERIFIER].run;
	bool hold = p->asked;
	unsigned char head[5 + TIMES];
	uint64_t now, total, used = used_since(p, &total);
	size_t n;

	p->answered = true;
	n = frame_head(head, 'A', TIMES + len);
	put_u32(head + n, used / 1000);
	put_u32(head + n + 4, (clock_mono_ns() - p->asked_ns) / NS_PER_MS);
	n += TIMES;
	if (!p->asked || (len >= NONCE && memcmp(data, p->nonce, NONCE) == 0)) {
		p->used_ns = total;
		p->look_ns = 0;
	}
	if (p->asked && len >= NONCE && memcmp(data, p->nonce, NONCE) == 0) {
		p->asked = false;
		ask_next(p);
		hold = p->asked;
	} else {
		p->loose++;
	}
	now = clock_mono_ns();
	if (!hold || len > HOLD_MAX || backlog(p) > HOLD_MAX || (p->held_ns && now - p->held_ns > HOLD_MS * NS_PER_MS)) {
		run_say_later(to, head, n);
		run_say(to, data, len);
		p->held_ns = 0;
	} else {
		run_say_later(to, head, n);
		run_say_later(to, data, len);
		p->held_ns = p->held_ns ? p->held_ns : now;
	}
	if (!hold)
		due_in(p, ANSWER_MS);
}

static void candidate_said(struct run *x, const char *data, size_t len)
{
	struct side *s = CONTAINER_OF(x, struct side, run);
	struct pair *p = CONTAINER_OF(s, struct pair, side[CANDIDATE]);
	const char *frame;
	size_t n;

	if (p->again || p->late)
		return; /* of one that is being replaced or ended: the next question is not for it, and neither are its words an answer */
	frames_add(&s->frames, data, len);
	while (p->loose <= LOOSE_MAX && frames_next(&s->frames, &frame, &n))
		if (!p->reported && !p->told)
			pass_back(p, frame, n);
	if ((s->frames.bad || p->loose > LOOSE_MAX) && !p->reported && !p->told) {
		/* Nothing that it says from now on can be told apart. */
		static const char why[] = "{\"reason\":\"tampering\",\"detail\":\"something on the driver's channel is no answer\"}";

		p->told = true;
		tell(p, 'X', why, sizeof(why) - 1);
		due_in(p, VERIFIER_MS);
		run_cancel(x);
	}
}

static void begin_candidate(struct pair *p)
{
	struct side *s = &p->side[CANDIDATE];
	uint32_t number = p->sample->number ? p->sample->number : own_number(p, CANDIDATE);

	p->again = p->told = p->late = p->over = false;
	p->loose = 0;
	p->used_ns = 0;
	/* A question may wait for it. */
	p->look_ns = p->unsent.len && p->cpu_ms ? clock_mono_ns() + LOOK_MS * NS_PER_MS : 0;
	if (p->anew)
		p->spent_ns = 0;
	p->anew = false;
	s->up = true;
	s->over = false;
	p->out.jars++;
	frames_init(&s->frames, ANSWER_MAX);
	memset(&s->res, 0, sizeof(s->res));
	result_begin(&s->res);
	run_begin_pooled(&s->run, &p->sample->req, p->of->setup.pool, number, &s->arena, &s->res);
	if (p->unsent.len && s->up) {
		run_say(&s->run, p->unsent.data, p->unsent.len);
		p->unsent.len = 0;
	}
}

static void on_candidate_end(struct pair *p)
{
	struct side *s = &p->side[CANDIDATE];
	const struct jar_evidence *ev = &s->res.run.evidence;
	uint64_t memory = ev->cg.memory_peak_bytes;

	s->up = false;
	p->out.ticket = p->of->setup.keep(p->of->setup.ctx, p->sample, &s->res);
	p->out.oom_kills += ev->cg.oom_kills;
	p->out.cpu_ns += ev->cg.cpu_ns ? ev->cg.cpu_ns : ev->rusage_cpu_ns;
	p->spent_ns += ev->cg.cpu_ns ? ev->cg.cpu_ns : ev->rusage_cpu_ns;
	if (memory > p->out.max_memory_bytes)
		p->out.max_memory_bytes = memory;
	p->out.elapsed_ns += ev->ended_ns - ev->started_ns;
	if (p->again && !p->out.cancelled) {
		run_result_done(&s->res);
		arena_reset(&s->arena);
		begin_candidate(p);
	} else if (p->reported || p->out.cancelled) {
		sample_done(p);
	} else if (s->res.verdict.status == STATUS_ERROR && s->res.verdict.reason != REASON_POLICY) {
		/* Nothing of it ran: that says nothing about the candidate. */
		err_set(&p->out.failure, ERR_INTERNAL, "%s", s->res.verdict.error);
		err_hint(&p->out.failure, "%s", s->res.verdict.hint);
		tell_gone(p);
	} else if (!p->told) {
		tell_gone(p);
	}
}

/* ---- the verifier ---- */

/* The limits are the sample's, not each jar's. */
static bool out_of_time(const struct pair *p)
{
	const struct jar_limits *l = &p->sample->req.limits;

	if (p->anew)
		return false;
	return clock_mono_ns() >= p->end_ns || (l->cpu_ms && p->spent_ns >= l->cpu_ms * NS_PER_MS);
}

/* The sample's time is all there again, and the clock is more patient. */
static void begin_anew(struct pair *p, unsigned factor)
{
	struct jar_limits *l = &p->sample->req.limits;

	p->anew = true;
	l->wall_ms *= factor;
	p->end_ns = clock_mono_ns() + (l->wall_ms + 2ULL * END_MS) * NS_PER_MS;
}

static void tell_no_time(struct pair *p)
{
	static const char why[] = "{\"reason\":\"timeout\",\"detail\":\"the time for all cases is over\"}";

	p->told = true;
	tell(p, 'X', why, sizeof(why) - 1);
	due_in(p, ANSWER_MS);
}

static void on_verifier_frame(struct pair *p, const char *data, size_t len)
{
	struct side *c = &p->side[CANDIDATE];
	unsigned char head[5];

	if (!len)
		return;
	switch (data[0]) {
	case 'C':
		if (p->sample && !p->reported && !p->out.cancelled && len >= 9)
			pass_on(p, get_u32(data + 1), get_u32(data + 5), data + 9, len - 9);
		break;
	case 'Q':
		if (p->sample && !p->reported && !p->out.cancelled && len >= 9 + NONCE) {
			if (buf_add(&p->queue, head, frame_head(head, 0, len - 1)) < 0 || buf_add(&p->queue, data + 1, len - 1) < 0)
				abort(); /* as run_say() does */
			ask_next(p);
		}
		break;
	case 'N':
		if (!p->sample || p->reported || p->out.cancelled)
			break;
		forget_questions(p);
		if (len > 1)
			begin_anew(p, (unsigned char)data[1]);
		if (out_of_time(p)) {
			tell(p, 'Y', "", 0);
			tell_no_time(p);
			break;
		}
		/* What comes after this is the new one's. */
		tell(p, 'Y', "", 0);
		if (c->up) {
			p->again = true;
			run_cancel(&c->run);
		} else {
			run_result_done(&c->res);
			arena_reset(&c->arena);
			begin_candidate(p);
		}
		break;
	case 'R':
		p->broken = 0;
		if (!p->sample) {
			p->ready = !p->dying;
			p->due_ns = 0;
			break;
		}
		if (p->out.cancelled)
			break;
		p->reported = true;
		p->again = false;
		p->report.len = 0;
		buf_add(&p->report, data + 1, len - 1);
		if (c->up) {
			due_in(p, END_MS);
			if (p->asked)
				run_cancel(&c->run); /* nobody wants to know any more */
			else
				run_hang_up(&c->run);
		} else {
			sample_done(p);
		}
		forget_questions(p);
		break;
	default:
		break;
	}
}

static void verifier_said(struct run *x, const char *data, size_t len)
{
	struct side *s = CONTAINER_OF(x, struct side, run);
	struct pair *p = CONTAINER_OF(s, struct pair, side[VERIFIER]);
	const char *frame;
	size_t n;

	frames_add(&s->frames, data, len);
	while (frames_next(&s->frames, &frame, &n))
		on_verifier_frame(p, frame, n);
}

static void begin_verifier(struct pair *p)
{
	struct side *s = &p->side[VERIFIER];
	
	s->up = true;
	s->over = p->ready = p->dying = false;
	frames_init(&s->frames, FRAME_MAX);
	arena_reset(&s->arena);
	memset(&s->res, 0, sizeof(s->res));
	state_new_id(s->res.execution_id);
	due_in(p, VERIFIER_MS);
	run_begin_pooled(&s->run, &p->of->verifier, p->of->setup.pool, own_number(p, VERIFIER), &s->arena, &s->res);
}

static void show_last_words(struct pair *p, const struct side *s)
{
	struct buf text = BUF_INIT(1 << 20);

	if (s->res.run.there && output_view(&s->res.run.out[1], &text) == 0 && text.len)
		err_hint(&p->of->err, "its last words: %.200s", text.data + (text.len > 200 ? text.len - 200 : 0));
	else
		err_hint(&p->of->err, "belljar doctor");
	buf_done(&text);
}

static void on_verifier_end(struct pair *p)
{
	struct side *s = &p->side[VERIFIER];

	s->up = p->ready = false;
	if (p->sample && !p->reported && !p->out.cancelled) {
		static const char lost[] = "{\"passed\":false,\"result\":\"failed: tampering\",\"reason\":\"tampering\",\"results\":[],"
					   "\"detail\":\"an answer that could not be looked at: the verifier ran out of time or memory with it\"}";

		p->reported = true;
		p->report.len = 0;
		/* Trusted code with an answer in its hands: that was too much for it. Without one it is our own failure. */
		if (p->answered)
			buf_add(&p->report, lost, sizeof(lost) - 1);
		else
			err_set(&p->out.failure, ERR_INTERNAL, "the verifier ended: %s", s->res.verdict.error[0] ? s->res.verdict.error : "it exited");
		if (p->side[CANDIDATE].up)
			run_cancel(&p->side[CANDIDATE].run);
		else
			sample_done(p);
	}
	p->broken = p->answered || p->dying ? 0 : p->broken + 1;
	if (p->broken > 3 && !p->of->failed) {
		p->of->failed = true;
		err_set(&p->of->err, ERR_INTERNAL, "verifiers do not stay: %s", s->res.verdict.error[0] ? s->res.verdict.error : "the last one exited");
		show_last_words(p, s);
	}
	run_result_done(&s->res);
}

/* ---- samples ---- */

static void begin_sample(struct pair *p, struct grade_sample *sample)
{
	p->sample = sample;
	sample->req.alone = p->of->setup.recycles;
	sample->req.metered = true;
	p->spent_ns = 0;
	p->anew = false;
	p->reported = p->answered = false;
	p->end_ns = clock_mono_ns() + (sample->req.limits.wall_ms + END_MS) * NS_PER_MS;
	p->ready = false;
	p->held_ns = 0;
	forget_questions(p);
	memset(&p->out, 0, sizeof(p->out));
	p->of->busy++;
	begin_candidate(p);
	tell(p, 'T', sample->task, sample->task_len);
	due_in(p, VERIFIER_MS);
}

static void sample_done(struct pair *p)
{
	struct grade_sample *sample = p->sample;

	p->sample = NULL;
	p->due_ns = 0;
	p->of->busy--;
	p->out.report = p->report.len ? p->report.data : NULL;
	p->out.report_len = p->report.len;
	p->out.answered = p->answered;
	p->out.result = &p->side[CANDIDATE].res;
	p->of->setup.done(p->of->setup.ctx, sample, &p->out);
	run_result_done(&p->side[CANDIDATE].res);
	arena_reset(&p->side[CANDIDATE].arena);
	if (p->report.cap > 1U << 20)
		buf_done(&p->report);
	p->ready = p->side[VERIFIER].up && !p->dying;
}

/* ---- who is next ---- */

static void put_last(struct pairs *all, struct grade_sample *s)
{
	s->next = NULL;
	*all->last = s;
	all->last = &s->next;
	all->pending++;
}

static struct grade_sample *take_first(struct pairs *all)
{
	struct grade_sample *s = all->first;

	if (!s)
		return NULL;
	all->first = s->next;
	if (!all->first)
		all->last = &all->first;
	all->pending--;
	return s;
}

static void begin_some(struct pairs *all)
{
	size_t starting = 0;

	for (size_t i = 0; i < all->setup.count && all->pending; i++) {
		struct pair *p = &all->list[i];

		if (p->sample)
			continue;
		if (p->ready)
			begin_sample(p, take_first(all));
		else
			starting += p->side[VERIFIER].up;
	}
	/* A verifier for each that waits. */
	for (size_t i = 0; i < all->setup.count && starting < all->pending; i++)
		if (!all->list[i].sample && !all->list[i].side[VERIFIER].up) {
			begin_verifier(&all->list[i]);
			starting++;
		}
}

/* Without any verifier nobody can be graded. */
static void fail_pending(struct pairs *all)
{
	struct grade_sample *s;

	while ((s = take_first(all))) {
		struct grade_outcome out = { .failure = all->err, .cancelled = true };

		all->setup.done(all->setup.ctx, s, &out);
	}
}

/* Whoever is late. */
static void look_at_clock(struct pairs *all)
{
	uint64_t now = clock_mono_ns();

	for (size_t i = 0; i < all->setup.count; i++) {
		struct pair *p = &all->list[i];
		struct side *c = &p->side[CANDIDATE];

		if (p->held_ns && now - p->held_ns > HOLD_MS * NS_PER_MS)
			let_go(p);
		if (p->sample && !p->reported && !p->told)
			ask_next(p);
		if (p->sample && c->up && !p->late && !p->reported && !p->told && !p->again && look_at_cpu(p, now))
			p->over = true;
		if ((!p->due_ns || now < p->due_ns) && !(p->over && !p->late))
			continue;
		if (c->up && !p->late) {
			p->late = true;
			p->late_ns = now;
			p->lost_ns = used_since(p, &(uint64_t){ 0 });
			due_in(p, VERIFIER_MS);
			run_cancel(&c->run);
		} else if (p->side[VERIFIER].up) {
			p->due_ns = 0;
			run_cancel(&p->side[VERIFIER].run);
		}
	}
}

/* Ends are dealt with here: no structure is used anew while events of its past may still be in hand. */
static void deal_with_ends(struct pairs *all)
{
	for (size_t i = 0; i < all->setup.count; i++) {
		struct pair *p = &all->list[i];

		for (int k = SIDES; k-- > 0;)
			while (p->side[k].over) {
				p->side[k].over = false;
				if (k == VERIFIER)
					on_verifier_end(p);
				else
					on_candidate_end(p);
			}
	}
}

static void on_finished(struct run *x)
{
	CONTAINER_OF(x, struct side, run)->over = true;
}

void pairs_forgive(struct pairs *all)
{
	all->failed = false;
	err_clear(&all->err);
	for (size_t i = 0; i < all->setup.count; i++)
		all->list[i].broken = 0;
}

void pairs_put(struct pairs *all, struct grade_sample *s)
{
	put_last(all, s);
}

void pairs_round(struct pairs *all)
{
	deal_with_ends(all);
	look_at_clock(all);
	deal_with_ends(all);
	if (all->failed)
		fail_pending(all);
	else
		begin_some(all);
}

/* The verifier is in the middle of it: another one takes its place. */
static void cancel_pair(struct pair *p)
{
	if (p->out.cancelled || p->reported)
		return;
	p->out.cancelled = true;
	if (p->side[VERIFIER].up) {
		p->dying = true;
		run_cancel(&p->side[VERIFIER].run);
	}
	if (p->side[CANDIDATE].up)
		run_cancel(&p->side[CANDIDATE].run);
	else
		sample_done(p);
}

static void cancel_pending(struct pairs *all)
{
	struct grade_sample *s;

	while ((s = take_first(all))) {
		struct grade_outcome out = { .cancelled = true };

		all->setup.done(all->setup.ctx, s, &out);
	}
}

void pairs_cancel(struct pairs *all)
{
	cancel_pending(all);
	for (size_t i = 0; i < all->setup.count; i++)
		if (all->list[i].sample)
			cancel_pair(&all->list[i]);
}

/* A program of the jar's own root, with room to work, and nothing of what the candidates get. */
static void verifier_request(struct pairs *all)
{
	static const char *const python[] = { "verifier" }, *const js[] = { "/usr/bin/node", ROOT_VERIFIER_JS };
	struct request *r = &all->verifier;

	request_copy(r, all->setup.defaults);
	r->language = NULL;
	r->alone = all->setup.recycles;
	r->env.n = r->file_count = 0;
	if (all->setup.js) {
		r->argv.v = (const char **)(void *)js;
		r->argv.n = 2;
	} else {
		/* Warm: a start of its own is as dear as grading five samples. */
		r->lang = language_find("python");
		r->driver = ROOT_START_PY;
		r->args.v = (const char **)(void *)python;
		r->args.n = 1;
		r->code = "";
		r->code_len = 0;
		r->code_name = "belljar_verifier.py";
	}
	r->limits.wall_ms = 86400000;
	r->limits.cpu_ms = 0;
	r->limits.memory_bytes = 2ULL << 30;
	r->limits.cpus_milli = 1000;
	r->limits.log_bytes = 1 << 20;
}

int pairs_init(struct pairs *all, const struct pairs_setup *s, struct err *e)
{
	static const struct run_options to_verifier = { .said = verifier_said }, to_candidate = { .said = candidate_said, .receipts = true };

	memset(all, 0, sizeof(*all));
	all->setup = *s;
	all->last = &all->first;
	all->list = calloc(s->count, sizeof(*all->list));
	if (!all->list)
		return err_set(e, ERR_INTERNAL, "no memory for %zu samples at once", s->count);
	verifier_request(all);
	for (size_t i = 0; i < s->count; i++) {
		struct pair *p = &all->list[i];

		p->of = all;
		p->report.max = FRAME_MAX;
		p->unsent.max = p->queue.max = FRAME_MAX * 2ULL;
		run_init(&p->side[VERIFIER].run, s->loop, &to_verifier, on_finished);
		run_init(&p->side[CANDIDATE].run, s->loop, &to_candidate, on_finished);
	}
	return 0;
}

void pairs_done(struct pairs *all)
{
	for (size_t i = 0; all->list && i < all->setup.count; i++) {
		struct pair *p = &all->list[i];

		for (int k = 0; k < SIDES; k++) {
			if (p->side[k].up)
				run_cancel(&p->side[k].run);
			frames_done(&p->side[k].frames);
			buf_done(&p->side[k].run.say);
			arena_free(&p->side[k].arena);
		}
		buf_done(&p->unsent);
		buf_done(&p->queue);
		buf_done(&p->report);
	}
	free(all->list);
	all->list = NULL;
}
