/* SPDX-License-Identifier: Apache-2.0 */
/* Grading of many samples, on a loop and a pool of its own. */
#include "grade/grader.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "run/pool.h"
#include "run/run.h"

struct grading {
	const struct grade_setup *setup;
	struct loop loop;
	struct pool pool;
	struct ledger ledger;
	struct watch signals;
	struct pairs pairs;
	bool ended; /* there are no more samples */
	unsigned signalled;
	bool failed;
};

static uint64_t keep(void *ctx, struct grade_sample *s, const struct result *res)
{
	struct grading *g = ctx;

	return ledger_put(&g->ledger, &s->req, res);
}

static void done(void *ctx, struct grade_sample *s, const struct grade_outcome *o)
{
	const struct grade_setup *setup = ((struct grading *)ctx)->setup;

	setup->done(setup->ctx, s, o);
}

static bool is_stopping(const struct grading *g)
{
	return g->ended || g->signalled || g->pool.dead || g->failed || g->pairs.failed;
}

static void take_samples(struct grading *g)
{
	while (!is_stopping(g) && pairs_in_hand(&g->pairs) < g->setup->jobs && !ledger_refuses(&g->ledger)) {
		struct grade_sample *s = g->setup->next(g->setup->ctx);

		if (s)
			pairs_put(&g->pairs, s);
		else
			g->ended = true;
	}
}

static void on_signal(struct watch *w, uint32_t events)
{
	struct grading *g = CONTAINER_OF(w, struct grading, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (read(w->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (++g->signalled > 1)
		pairs_cancel(&g->pairs);
}

static void notice(struct pool *pool, const struct err *e)
{
	const struct grade_setup *s = CONTAINER_OF(pool, struct grading, pool)->setup;

	if (!s->quiet)
		fprintf(stderr, "belljar: %s%s%s\n", e->msg, e->hint[0] ? "; " : "", e->hint);
}

static int begin(struct grading *g, struct err *e)
{
	const struct grade_setup *s = g->setup;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	g->signals = (struct watch){ .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_signal };
	if (loop_init(&g->loop, e) < 0)
		return -1;
	if (loop_want(&g->loop, &g->signals, EPOLLIN) < 0)
		return err_sys(e, "wait for signals");
	if (pool_init(&g->pool, &g->loop, s->keeper, &s->open, notice, e) < 0)
		return -1;
	ledger_begin(&g->ledger, &g->loop, &s->ledger);
	return pairs_init(&g->pairs, &(struct pairs_setup){ .loop = &g->loop, .pool = &g->pool, .count = s->jobs, .number = 1, .defaults = s->defaults,
			  .js = s->js, .keep = keep, .done = done, .ctx = g }, e);
}

static void end(struct grading *g)
{
	pairs_done(&g->pairs);
	pool_done(&g->pool);
	watch_close(&g->signals);
	loop_done(&g->loop);
}

static struct grading g;

bool grade_settled(uint64_t ticket)
{
	return ledger_settled(&g.ledger, ticket);
}

int grade_all(const struct grade_setup *s, struct err *e)
{
	int status = 0;

	memset(&g, 0, sizeof(g));
	g.setup = s;
	if (begin(&g, e) < 0)
		return 125;
	take_samples(&g);
	pairs_round(&g.pairs);
	while (pairs_in_hand(&g.pairs) || !is_stopping(&g)) {
		loop_wait(&g.loop, PAIRS_TICK_MS);
		pairs_round(&g.pairs);
		take_samples(&g);
		pairs_round(&g.pairs);
		if (s->tick)
			s->tick(s->ctx);
		if (g.pool.dead && !g.failed) {
			g.failed = true;
			err_set(e, ERR_INTERNAL, "belljar-keeper ended unexpectedly");
			err_hint(e, "start it again; results that were written are kept");
		}
		if (g.pairs.failed && !g.failed) {
			g.failed = true;
			*e = g.pairs.err;
		}
		if (ledger_refuses(&g.ledger) && !g.failed) {
			g.failed = true;
			*e = g.ledger.err;
		}
		if (g.failed)
			break;
	}
	if (ledger_end(&g.ledger, e) < 0)
		g.failed = true;
	if (s->tick)
		s->tick(s->ctx);
	status = g.failed ? 125 : g.signalled ? 130 : 0;
	end(&g);
	return status;
}

/* ---- a program ---- */

struct alone {
	struct pool pool; /* first: notices find nobody else */
	struct ledger ledger;
	struct run run;
	bool over;
};

static void on_over(struct run *x)
{
	CONTAINER_OF(x, struct alone, run)->over = true;
}

static void no_notice(struct pool *pool, const struct err *e)
{
	(void)pool, (void)e;
}

int grade_program(const struct grade_setup *s, const struct request *req, struct arena *a, struct result *res, struct err *e)
{
	static const struct run_options quietly = { .receipts = true };
	static struct alone o;
	struct loop loop;
	int rc;

	memset(&o, 0, sizeof(o));
	if (loop_init(&loop, e) < 0 || pool_init(&o.pool, &loop, s->keeper, &s->open, no_notice, e) < 0)
		return -1;
	ledger_begin(&o.ledger, &loop, &s->ledger);
	run_init(&o.run, &loop, &quietly, on_over);
	result_begin(res);
	run_begin_pooled(&o.run, req, &o.pool, 1, a, res);
	while (!o.over)
		loop_wait(&loop, -1);
	ledger_put(&o.ledger, req, res);
	rc = ledger_end(&o.ledger, e);
	pool_done(&o.pool);
	loop_done(&loop);
	return rc;
}
