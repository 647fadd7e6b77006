/* SPDX-License-Identifier: Apache-2.0 */
/* Jars for SWE-bench: many conversations at once. */
#include "grade/swe_jar.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/clock.h"

#define TICK_MS 250

struct place {
	struct run run;
	struct swe_talk *talk; /* NULL: free */
	bool over;
};

struct swe_jars {
	const struct swe_jars_setup *setup;
	struct loop loop;
	struct pool pool;
	struct ledger ledger;
	struct watch signals;
	struct place *places;
	size_t busy;
	unsigned signalled;
	bool no_more;
};

static struct swe_jars g;

static void on_said(struct run *x, const char *data, size_t len)
{
	struct swe_talk *t = CONTAINER_OF(x, struct place, run)->talk;

	t->said(t, data, len);
}

/* ---- places ---- */

static void on_finished(struct run *x)
{
	CONTAINER_OF(x, struct place, run)->over = true;
}

size_t swe_jars_room(void)
{
	return g.setup->jobs - g.busy;
}

bool swe_jars_begin(struct swe_talk *t)
{
	size_t i = 0;

	while (i < g.setup->jobs && g.places[i].talk)
		i++;
	if (i == g.setup->jobs)
		return false;
	struct place *p = &g.places[i];
	unsigned char head[4] = { (unsigned char)t->job_len, (unsigned char)(t->job_len >> 8), (unsigned char)(t->job_len >> 16), (unsigned char)(t->job_len >> 24) };

	p->talk = t;
	p->over = false;
	g.busy++;
	t->begun_ns = clock_mono_ns();
	memset(&t->res, 0, sizeof(t->res));
	result_begin(&t->res);
	run_begin_pooled(&p->run, &t->req, &g.pool, (uint32_t)i + 1, &t->arena, &t->res);
	if (!p->over) {
		if (t->job) {
			run_say(&p->run, head, 4);
			run_say(&p->run, t->job, t->job_len);
		}
		run_hang_up(&p->run);
	}
	return true;
}

static void deal_with_ends(void)
{
	for (size_t i = 0; i < g.setup->jobs; i++) {
		struct place *p = &g.places[i];
		struct swe_talk *t = p->talk;

		if (!t || !p->over)
			continue;
		t->ended_ns = clock_mono_ns();
		t->ticket = ledger_put(&g.ledger, &t->req, &t->res);
		p->talk = NULL;
		p->over = false;
		g.busy--;
		t->done(t);
	}
}

void swe_jars_cancel(struct swe_talk *t)
{
	for (size_t i = 0; i < g.setup->jobs; i++)
		if (g.places[i].talk == t && !g.places[i].over)
			run_cancel(&g.places[i].run);
}

bool swe_jars_stopping(void)
{
	return g.signalled || g.pool.dead || ledger_refuses(&g.ledger);
}

bool swe_jars_settled(uint64_t ticket)
{
	return ledger_settled(&g.ledger, ticket);
}

void swe_talk_free(struct swe_talk *t)
{
	run_result_done(&t->res);
	arena_free(&t->arena);
}

/* ---- the whole ---- */

static void on_signal(struct watch *w, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	if (read(w->fd, &info, sizeof(info)) != sizeof(info))
		return;
	g.signalled++;
	for (size_t i = 0; i < g.setup->jobs; i++)
		if (g.places[i].talk && !g.places[i].over)
			run_cancel(&g.places[i].run);
}

static void notice(struct pool *pool, const struct err *e)
{
	(void)pool;
	if (!g.setup->quiet)
		fprintf(stderr, "belljar: %s%s%s\n", e->msg, e->hint[0] ? "; " : "", e->hint);
}

static int begin(struct err *e)
{
	static const struct run_options talking = { .said = on_said, .receipts = true };
	const struct swe_jars_setup *s = g.setup;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	g.signals = (struct watch){ .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_signal };
	g.places = calloc(s->jobs, sizeof(*g.places));
	if (!g.places)
		return err_set(e, ERR_INTERNAL, "no memory for %zu jars at once", s->jobs);
	if (loop_init(&g.loop, e) < 0)
		return -1;
	if (loop_want(&g.loop, &g.signals, EPOLLIN) < 0)
		return err_sys(e, "wait for signals");
	if (pool_init(&g.pool, &g.loop, s->keeper, &s->open, notice, e) < 0)
		return -1;
	ledger_begin(&g.ledger, &g.loop, &s->ledger);
	for (size_t i = 0; i < s->jobs; i++)
		run_init(&g.places[i].run, &g.loop, &talking, on_finished);
	return 0;
}

static void end(void)
{
	for (size_t i = 0; g.places && i < g.setup->jobs; i++)
		buf_done(&g.places[i].run.say);
	pool_done(&g.pool);
	watch_close(&g.signals);
	loop_done(&g.loop);
	free(g.places);
}

int swe_jars_run(const struct swe_jars_setup *s, struct err *e)
{
	int rc = 0;

	memset(&g, 0, sizeof(g));
	g.setup = s;
	if (begin(e) < 0) {
		end();
		return -1;
	}
	for (;;) {
		if (!g.no_more && !swe_jars_stopping() && g.busy < s->jobs)
			g.no_more = !s->more(s->ctx);
		/* One that could not even begin is over at once. */
		deal_with_ends();
		if (!g.busy && (g.no_more || swe_jars_stopping()))
			break;
		loop_wait(&g.loop, TICK_MS);
		deal_with_ends();
		if (s->tick)
			s->tick(s->ctx);
	}
	if (ledger_end(&g.ledger, e) < 0) {
		rc = -1;
	} else if (g.signalled) {
		rc = 130;
	} else if (g.pool.dead) {
		err_set(e, ERR_INTERNAL, "belljar-keeper ended unexpectedly");
		rc = err_hint(e, "belljar doctor");
	}
	if (s->tick)
		s->tick(s->ctx);
	end();
	return rc;
}
