/* SPDX-License-Identifier: Apache-2.0 */
/* belljar-bench, which `belljar bench` becomes: belljar beside what else is installed, in one interleaved run.
 *
 * For each job: every contender is tried once; then they take turns, one run each, for the latencies; then turns of some time with 1, 8 and 64 runs
 * in flight; then CPU time, each alone. A noisy machine is noisy for all of them, so ratios of one run can be trusted where times cannot. A contender
 * that is missing, does not work or gives a wrong result is named with the reason and never ends the bench. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/parse.h"
#include "bench/bench.h"
#include "cli/cli.h"

#define PAUSE_US     2000 /* between two runs: what the last one left to do is not the next one's */
#define ROUNDS_LEAST 3	  /* however slow a contender is */

/* ---- progress -------------------------------------------------------------------------------- */

static bool progress_on;

static void progress(const char *job, const char *what, const char *who, unsigned long long at, unsigned long long of)
{
	if (!progress_on)
		return;
	fprintf(stderr, "\r\033[K%s: %s", job, what);
	if (who)
		fprintf(stderr, ", %s", who);
	if (of)
		fprintf(stderr, " %llu/%llu", at, of);
	fflush(stderr);
}

static void progress_end(void)
{
	if (progress_on)
		fputs("\r\033[K", stderr);
}

/* ---- who takes part -------------------------------------------------------------------------- */

static int find_image(struct bench_host *h, const char *docker, char *reason, size_t size)
{
	const char *argv[] = { docker, "image", "ls", "--quiet", NULL };
	char out[1024];

	if (flight_probe(argv, out, sizeof(out), reason, size) < 0)
		return -1;
	out[strcspn(out, "\r\n")] = '\0';
	snprintf(h->image, sizeof(h->image), "%.100s", out);
	if (!out[0]) {
		snprintf(reason, size, "no local image (nothing is pulled)");
		return -1;
	}
	return 0;
}

/* Whether a row works at all: its program is there, and /bin/true goes well. */
static bool try_row(struct bench *b, struct bench_contender *c, const struct bench_row *row)
{
	static const struct bench_job *probe;
	struct err e = { 0 };

	for (size_t i = 0; i < bench_job_count; i++)
		if (strcmp(bench_jobs[i].name, "true") == 0)
			probe = &bench_jobs[i];
	c->row = row;
	if (row->flags & BENCH_BELLJAR)
		snprintf(c->program, sizeof(c->program), "%s", b->host.belljar);
	else if (row->program && !bench_find_program(row->program, c->program, sizeof(c->program))) {
		snprintf(c->reason, sizeof(c->reason), "not installed");
		return false;
	}
	if (row->flags & BENCH_BATCH) {
		struct batch batch;
		bool works = batch_start(&batch, c, probe, 1, NULL, &e) == 0 && batch_send(&batch, 1, &e) == 0 &&
			     batch_next(&batch, &e);

		batch_stop(&batch);
		if (!works)
			snprintf(c->reason, sizeof(c->reason), "%.200s", e.msg);
		return works;
	}
	if ((row->flags & BENCH_DOCKER) && find_image(&b->host, c->program, c->reason, sizeof(c->reason)) < 0)
		return false;
	if ((row->flags & BENCH_ROOT) && bench_host_bundles(&b->host, &e) < 0) {
		snprintf(c->reason, sizeof(c->reason), "%.200s", e.msg);
		return false;
	}
	return flight_probe(bench_command(&b->host, c, probe), NULL, 0, c->reason, sizeof(c->reason)) == 0;
}

static void find_contenders(struct bench *b, struct arena *a)
{
	struct bench_contender *c = NULL;

	b->contenders = arena_alloc(a, bench_row_count * sizeof(*b->contenders));
	for (size_t i = 0; i < bench_row_count && !bench_stop; i++) {
		const struct bench_row *row = &bench_rows[i];

		if (!stats_list_has(b->opt.only, row->name) || (c && c->row && strcmp(c->name, row->name) == 0))
			continue; /* not asked for, or a row of that name works */
		progress("bench", "trying", row->name, 0, 0);
		if (!c || strcmp(c->name, row->name) != 0)
			c = &b->contenders[b->contender_count++];
		c->name = row->name;
		if (!try_row(b, c, row))
			c->row = NULL;
	}
}

static void find_jobs(struct bench *b, struct arena *a)
{
	b->job_there = arena_alloc(a, bench_job_count * sizeof(*b->job_there));
	b->cells = arena_alloc(a, bench_job_count * b->contender_count * sizeof(*b->cells));
	for (size_t j = 0; j < bench_job_count; j++) {
		char why[64];

		b->job_there[j] = stats_list_has(b->opt.jobs_only, bench_jobs[j].name) &&
				  (!bench_jobs[j].optional || flight_probe(bench_jobs[j].argv, NULL, 0, why, sizeof(why)) == 0);
	}
}

/* ---- one run --------------------------------------------------------------------------------- */

static void count_flight(struct bench_cell *cell, const struct bench_job *job, const struct flight *f)
{
	bool good = f->status == 0 && f->len == strlen(job->want) && memcmp(f->text, job->want, f->len) == 0;

	if (bench_stop)
		return;
	cell->runs++;
	if (!good && !cell->errors++)
		snprintf(cell->error, sizeof(cell->error), "%s %d, output '%.60s'",
			 f->status == -1 ? "ended after 30 s" : "wait status", f->status, f->text);
}

static void leave(struct bench_cell *cell, const char *why)
{
	cell->out = true;
	snprintf(cell->reason, sizeof(cell->reason), "%.200s", why);
}

/* One run from nothing to its result; its milliseconds, or NAN when it could not be made. */
static double run_once(struct bench *b, size_t j, size_t c, struct batch *batch)
{
	const struct bench_job *job = &bench_jobs[j];
	struct bench_cell *cell = bench_cell(b, j, c);
	struct err e = { 0 };
	struct flight f;
	const char *line;
	uint64_t start;
	double ms;

	if (b->contenders[c].row->flags & BENCH_BATCH) {
		start = clock_mono_ns();
		if (batch_send(batch, 1, &e) < 0 || !(line = batch_next(batch, &e))) {
			leave(cell, e.msg);
			return NAN;
		}
		ms = (double)(clock_mono_ns() - start) / 1e6;
		batch_check(job, line, strlen(line), cell);
		return ms;
	}
	if (flight_start(&f, bench_command(&b->host, &b->contenders[c], job), false, &e) < 0) {
		leave(cell, e.msg);
		return NAN;
	}
	flight_wait(&f, 1);
	count_flight(cell, job, &f);
	return (double)(f.end_ns - f.start_ns) / 1e6;
}

/* Starts and warms the batches that take part. */
static void start_batches(struct bench *b, size_t j, unsigned width, bool timed, struct batch *batches)
{
	for (size_t c = 0; c < b->contender_count; c++) {
		struct bench_cell *cell = bench_cell(b, j, c);
		struct err e = { 0 };
		char times[96];

		batches[c] = (struct batch){ .in = -1, .out = -1, .err = -1 };
		if (cell->out || !(b->contenders[c].row->flags & BENCH_BATCH))
			continue;
		snprintf(times, sizeof(times), "%s/times-%zu-%zu", b->host.dir, j, c);
		if (batch_start(&batches[c], &b->contenders[c], &bench_jobs[j], width, timed ? times : NULL, &e) < 0 ||
		    batch_warm(&batches[c], &bench_jobs[j], width, &cell->never_warm, &e) < 0)
			leave(cell, e.msg);
	}
}

static void stop_batches(struct bench *b, struct batch *batches)
{
	for (size_t c = 0; c < b->contender_count; c++)
		batch_stop(&batches[c]);
}

/* ---- latencies ------------------------------------------------------------------------------- */

/* A first run of the very job, not counted: does it work, is everything in the page cache. */
static void first_runs(struct bench *b, size_t j)
{
	for (size_t c = 0; c < b->contender_count && !bench_stop; c++) {
		struct bench_cell *cell = bench_cell(b, j, c);
		char out[256], why[240];

		progress(bench_jobs[j].name, "first run", b->contenders[c].name, 0, 0);
		*cell = (struct bench_cell){ .cpu_ms = NAN };
		for (size_t w = 0; w < BENCH_WIDTHS; w++)
			cell->rate[w] = NAN;
		if (!b->contenders[c].row)
			leave(cell, b->contenders[c].reason);
		else if (!(b->contenders[c].row->flags & BENCH_BATCH) &&
			 flight_probe(bench_command(&b->host, &b->contenders[c], &bench_jobs[j]), out, sizeof(out), why,
				      sizeof(why)) < 0)
			leave(cell, why);
	}
}

static void latencies(struct bench *b, size_t j, struct batch *batches)
{
	double box = b->opt.quick ? 1500 : 4000;

	start_batches(b, j, 1, true, batches);
	for (uint64_t r = 0; r < b->opt.rounds && !bench_stop; r++) {
		progress(bench_jobs[j].name, "latency, round", NULL, r + 1, b->opt.rounds);
		for (size_t c = 0; c < b->contender_count && !bench_stop; c++) {
			struct bench_cell *cell = bench_cell(b, j, c);
			double ms;

			if (cell->out || (cell->spent_ms > box && cell->ms.n >= ROUNDS_LEAST))
				continue;
			ms = run_once(b, j, c, &batches[c]);
			if (isnan(ms) || bench_stop)
				continue;
			samples_add(&cell->ms, ms);
			cell->spent_ms += ms;
			usleep(PAUSE_US);
		}
	}
	stop_batches(b, batches);
	for (size_t c = 0; c < b->contender_count; c++)
		batch_times(&batches[c], &bench_cell(b, j, c)->inside);
}

/* ---- runs a second --------------------------------------------------------------------------- */

static void turn_of_flights(struct bench *b, size_t j, size_t c, unsigned width, uint64_t until, uint64_t *runs)
{
	struct flight f[BENCH_WIDTH_MAX] = { 0 };
	struct bench_cell *cell = bench_cell(b, j, c);
	struct err e = { 0 };
	unsigned flying = 0;
	int i;

	while (flying < width &&
	       flight_start(&f[flying], bench_command(&b->host, &b->contenders[c], &bench_jobs[j]), false, &e) == 0)
		flying++;
	while ((i = flight_wait(f, flying)) >= 0) {
		count_flight(cell, &bench_jobs[j], &f[i]);
		++*runs;
		if (!bench_stop && clock_mono_ns() < until &&
		    flight_start(&f[i], bench_command(&b->host, &b->contenders[c], &bench_jobs[j]), false, &e) < 0)
			break;
	}
	if (e.kind)
		leave(cell, e.msg);
}

/* Results are looked at when the turn is over: on a machine of few cores the looking would be measured too. */
static void check_lines(const struct bench_job *job, const struct buf *log, struct bench_cell *cell)
{
	for (size_t at = 0; at < log->len;) {
		size_t len = (size_t)((char *)memchr(log->data + at, '\n', log->len - at) - (log->data + at));

		log->data[at + len] = '\0';
		batch_check(job, log->data + at, len, cell);
		at += len + 1;
	}
}

static void turn_of_batch(struct bench_cell *cell, struct batch *batch, unsigned width, uint64_t until, uint64_t *runs,
			  struct buf *log)
{
	uint64_t flying = width;
	struct err e = { 0 };

	if (batch_send(batch, width, &e) < 0) {
		leave(cell, e.msg);
		return;
	}
	while (flying) {
		const char *text;
		size_t len;
		int n = batch_more(batch, &text, &len, &e);

		if (n < 0 || (clock_mono_ns() < until && batch_send(batch, (unsigned)n, &e) < 0)) {
			leave(cell, e.msg);
			return;
		}
		flying = batch->sent - batch->received;
		*runs += (uint64_t)n;
		buf_add(log, text, len);
	}
}

static void one_turn(struct bench *b, size_t j, size_t c, size_t w, uint64_t ms, struct batch *batch)
{
	struct bench_cell *cell = bench_cell(b, j, c);
	auto_buf log = BUF_INIT(1U << 30);
	uint64_t start = clock_mono_ns(), until = start + ms * NS_PER_MS, runs = 0, end;

	if (b->contenders[c].row->flags & BENCH_BATCH)
		turn_of_batch(cell, batch, bench_widths[w], until, &runs, &log);
	else
		turn_of_flights(b, j, c, bench_widths[w], until, &runs);
	end = clock_mono_ns();
	check_lines(&bench_jobs[j], &log, cell);
	cell->rate_runs[w] += runs;
	cell->rate_s[w] += (double)(end - start) / 1e9;
	if (!cell->out && runs)
		cell->rate[w] = (double)cell->rate_runs[w] / cell->rate_s[w];
}

/* 64 at a time of a slow contender would take longer than all others together. */
static bool too_slow(struct bench *b, struct bench_cell *cell, size_t w)
{
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);

	return bench_widths[w] > 8 && samples_percentile(&cell->ms, 50) * bench_widths[w] / cpus > (b->opt.quick ? 1500 : 5000);
}

static void rates(struct bench *b, size_t j, struct batch *batches)
{
	unsigned turns = b->opt.quick ? 1 : 3;

	for (size_t w = 0; w < BENCH_WIDTHS && !bench_stop; w++) {
		start_batches(b, j, bench_widths[w], false, batches);
		for (unsigned t = 0; t < turns; t++)
			for (size_t c = 0; c < b->contender_count && !bench_stop; c++) {
				struct bench_cell *cell = bench_cell(b, j, c);
				char what[48];

				if (cell->out || too_slow(b, cell, w))
					continue;
				snprintf(what, sizeof(what), "%u in flight, turn %u/%u", bench_widths[w], t + 1, turns);
				progress(bench_jobs[j].name, what, b->contenders[c].name, 0, 0);
				one_turn(b, j, c, w, b->opt.milliseconds / turns, &batches[c]);
				usleep(20000);
			}
		stop_batches(b, batches);
	}
}

/* ---- CPU time -------------------------------------------------------------------------------- */

static void cpu_of(struct bench *b, size_t j, size_t c)
{
	struct bench_cell *cell = bench_cell(b, j, c);
	struct batch batch = { .in = -1, .out = -1, .err = -1 };
	struct cpu_meter m;
	struct err e = { 0 };
	uint64_t until, runs = 0;
	double before;

	cpu_open(&m);
	if (b->contenders[c].row->flags & BENCH_BATCH) {
		if (batch_start(&batch, &b->contenders[c], &bench_jobs[j], 1, NULL, &e) < 0 ||
		    batch_warm(&batch, &bench_jobs[j], 1, &cell->never_warm, &e) < 0)
			goto out;
		usleep(100000); /* what the start left to do */
		m.tree = batch.pid;
	}
	before = cpu_read_ms(&m);
	until = clock_mono_ns() + (b->opt.quick ? 300 : 1000) * NS_PER_MS;
	while (!bench_stop && !cell->out && runs < 100 && (runs < ROUNDS_LEAST || clock_mono_ns() < until)) {
		run_once(b, j, c, &batch);
		runs++;
	}
	usleep(50000); /* what the last runs left to do is theirs */
	if (!cell->out && runs)
		cell->cpu_ms = (cpu_read_ms(&m) - before) / (double)runs;
	cell->cpu_by = b->contenders[c].row->flags & BENCH_CLIENT_CPU ? "the client alone, not its daemon" : cpu_how(&m);
out:
	batch_stop(&batch);
	cpu_close(&m);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void measure(struct bench *b, struct arena *a)
{
	struct batch *batches = arena_alloc(a, (b->contender_count + 1) * sizeof(*batches));

	for (size_t j = 0; j < bench_job_count && !bench_stop; j++) {
		if (!b->job_there[j])
			continue;
		first_runs(b, j);
		latencies(b, j, batches);
		rates(b, j, batches);
		for (size_t c = 0; c < b->contender_count && !bench_stop; c++)
			if (!bench_cell(b, j, c)->out) {
				progress(bench_jobs[j].name, "CPU time", b->contenders[c].name, 0, 0);
				cpu_of(b, j, c);
			}
	}
}

static void soak_progress(uint64_t runs)
{
	progress("soak", "run", NULL, runs, 0);
	if (progress_on)
		fprintf(stderr, " %llu", (unsigned long long)runs);
}

/* Memory and soak are of the default mode alone. */
static void measure_batch(struct bench *b)
{
	const struct bench_contender *c = NULL;

	b->memory = (struct bench_memory){ .pss_mb = NAN, .reason = "belljar-batch takes no part" };
	b->soaked.wanted = b->opt.soak;
	snprintf(b->soaked.reason, sizeof(b->soaked.reason), b->opt.soak ? "belljar-batch takes no part" : "only with --soak 100000");
	for (size_t i = 0; i < b->contender_count; i++)
		if (strcmp(b->contenders[i].name, "belljar-batch") == 0)
			c = &b->contenders[i];
	if (c && !c->row)
		snprintf(b->memory.reason, sizeof(b->memory.reason), "%s", c->reason);
	if (!c || !c->row || bench_stop)
		return;
	progress("memory", "of idle jars", NULL, 0, 0);
	bench_memory(c, &bench_jobs[0], &b->memory);
	if (!b->opt.soak)
		return;
	b->soaked.reason[0] = '\0';
	bench_soak(c, &bench_jobs[0], &b->soaked, soak_progress);
}

/* Names of --only and --jobs must be known: a typing error would leave somebody out unseen. */
static int check_names(const char *option, const char *list, const char *(*name)(size_t i), size_t n, struct err *e)
{
	char words[512];

	snprintf(words, sizeof(words), "%s", list ? list : "");
	for (char *save = NULL, *w = strtok_r(words, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		const char *near = NULL;
		bool known = false;

		for (size_t i = 0; i < n; i++) {
			known = known || strcmp(name(i), w) == 0;
			near = parse_is_near(w, name(i)) ? name(i) : near;
		}
		if (!known) {
			err_set(e, ERR_USAGE, "%s: no '%.40s'%s%s%s", option, w, near ? "; did you mean '" : "", near ? near : "",
				near ? "'?" : "");
			return err_hint(e, "belljar bench --help");
		}
	}
	return 0;
}

static const char *row_name(size_t i)
{
	return bench_rows[i].name;
}

static const char *job_name(size_t i)
{
	return bench_jobs[i].name;
}

static bool write_json(const struct bench *b, FILE *f)
{
	json_t *o = bench_json(b);
	bool good = json_dumpf(o, f, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0 && putc('\n', f) != EOF;

	json_decref(o);
	return good;
}

static int open_out(const char *path, FILE **out, struct err *e)
{
	*out = fopen(path, "we");
	if (*out)
		return 0;
	err_sys(e, "--out: open '%.300s'", path);
	return err_hint(e, "a file in a folder that is there and may be written to");
}

int main(int argc, char **argv)
{
	struct bench b = { 0 };
	struct arena a = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	const char *term = getenv("TERM");
	FILE *out = NULL;
	int status = 0;

	fd_fill_stdio();
	signal(SIGPIPE, SIG_IGN);
	if (cli_parse(&cmd_bench_opts, argc, argv, &b.opt, &rest, &a, &status))
		return status;
	b.opt.rounds = b.opt.rounds ? b.opt.rounds : b.opt.quick ? 10 : 60;
	b.opt.milliseconds = b.opt.milliseconds ? b.opt.milliseconds : b.opt.quick ? 300 : 1500;
	/* Before the environment is cleaned. */
	b.colour = cli_colour(1);
	progress_on = isatty(2) && (!term || strcmp(term, "dumb") != 0);
	if (check_names("--only", b.opt.only, row_name, bench_row_count, &e) < 0 ||
	    check_names("--jobs", b.opt.jobs_only, job_name, bench_job_count, &e) < 0 || (b.opt.out && open_out(b.opt.out, &out, &e) < 0) || bench_host_init(&b.host, &e) < 0)
		return cli_error(&e);
	find_contenders(&b, &a);
	find_jobs(&b, &a);
	measure(&b, &a);
	measure_batch(&b);
	progress_end();
	if (bench_stop)
		status = 130;
	else if (b.opt.json)
		write_json(&b, stdout);
	else
		bench_print(&b);
	/* Opened before anything was measured: nobody waits for minutes to hear that it cannot be. */
	if (out && (status || !write_json(&b, out) || fclose(out) != 0)) {
		err_set(&e, ERR_INPUT, "--out: %s was not written: %s", b.opt.out, status ? "the measurement was interrupted" : strerror(errno));
		status = status ? status : cli_error(&e);
	}
	if (!status && bench_errors(&b))
		status = 1;
	bench_host_done(&b.host);
	for (size_t i = 0; i < bench_job_count * b.contender_count; i++) {
		samples_done(&b.cells[i].ms);
		samples_done(&b.cells[i].inside);
	}
	arena_free(&a);
	return status;
}
