/* SPDX-License-Identifier: Apache-2.0 */
/* belljar bench: what was measured, as tables for a person and as one object for a program (docs/bench.md). */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "belljar_config.h"
#include "bench/bench.h"
#include "cli/cli.h"

struct bench_cell *bench_cell(const struct bench *b, size_t job, size_t contender)
{
	return &b->cells[job * b->contender_count + contender];
}

/* ---- figures --------------------------------------------------------------------------------- */

enum figure_kind {
	FIGURE_P50,    /* how many times smaller the p50 is; of a batch inside of it, from the request line read to the result line written */
	FIGURE_RATE_8, /* how many times more runs a second, 8 in flight */
	FIGURE_MEMORY, /* megabytes of an idle jar */
	FIGURE_SOAK,   /* nothing grows */
};

/* What warm starts are for; the ratios that were asked for. */
static const struct figure {
	const char *name, *text;
	enum figure_kind kind;
	const char *job, *subject, *base;
	double wanted;
} figures[] = {
	{ "python_p50", "warm Python, p50, a fresh jar for each run", FIGURE_P50, "python", "belljar-batch", "bare", 9 },
	{ "python_p50_low", "warm Python, p50, lowest latency (recycled)", FIGURE_P50, "python", "belljar-recycle", "bare", 20 },
	{ "python_rate_8", "warm Python, runs/s, 8 in flight", FIGURE_RATE_8, "python", "belljar-batch", "bare", 8 },
	{ "python_rate_8_recycled", "the same, jars of one client recycled", FIGURE_RATE_8, "python", "belljar-recycle", "bare",
	  10 },
	{ "node_p50", "warm node, p50", FIGURE_P50, "node", "belljar-batch", "bare", 10 },
	{ "true_p50", "/bin/true in a pooled jar, p50", FIGURE_P50, "true", "belljar-batch", "bubblewrap", 3 },
	{ "numpy_p50", "import numpy, preloaded, p50", FIGURE_P50, "numpy", "belljar-batch", "bare", 40 },
	{ "idle_pss_mb", "memory (PSS) of an idle warm Python jar", FIGURE_MEMORY, NULL, NULL, NULL, 3 },
	{ "soak", "100,000 runs: nothing grows", FIGURE_SOAK, NULL, NULL, NULL, 100000 },
};
#define FIGURES (sizeof(figures) / sizeof(figures[0]))

struct judged {
	double measured;
	enum stats_verdict verdict;
	char wanted[64], shown[64], note[300];
};

static struct bench_cell *find_cell(const struct bench *b, const char *job, const char *contender, const char **why)
{
	for (size_t j = 0; j < bench_job_count; j++) {
		if (strcmp(bench_jobs[j].name, job) != 0)
			continue;
		if (!b->job_there[j]) {
			*why = "the job was not run";
			return NULL;
		}
		for (size_t c = 0; c < b->contender_count; c++)
			if (strcmp(b->contenders[c].name, contender) == 0)
				return bench_cell(b, j, c);
	}
	*why = "takes no part";
	return NULL;
}

static double value_of(struct bench_cell *cell, enum figure_kind kind)
{
	return kind == FIGURE_P50 ? samples_percentile(cell->inside.n ? &cell->inside : &cell->ms, 50) : cell->rate[BENCH_EIGHT];
}

static void judge_ratio(const struct bench *b, const struct figure *f, struct judged *out)
{
	const char *why = "";
	struct bench_cell *base = find_cell(b, f->job, f->base, &why),
			  *subject = base ? find_cell(b, f->job, f->subject, &why) : NULL;
	char over[32], under[32], pipes[32], outside[64] = "";

	snprintf(out->wanted, sizeof(out->wanted), "%.0f x %s", f->wanted, f->base);
	if (!base || !subject) {
		snprintf(out->note, sizeof(out->note), "%s: %s", base ? f->subject : f->base, why);
		return;
	}
	out->measured = f->kind == FIGURE_P50 ? stats_ratio(value_of(base, f->kind), value_of(subject, f->kind))
					      : stats_ratio(value_of(subject, f->kind), value_of(base, f->kind));
	if (isnan(out->measured)) {
		snprintf(out->note, sizeof(out->note), "%s", subject->out ? subject->reason : base->reason);
		return;
	}
	snprintf(out->shown, sizeof(out->shown), "%.1f x", out->measured);
	if (f->kind == FIGURE_P50 && subject->inside.n)
		snprintf(outside, sizeof(outside), "; %s with its client's pipes", stats_number(pipes, sizeof(pipes), samples_percentile(&subject->ms, 50), 2));
	snprintf(out->note, sizeof(out->note), "%s against %s %s%s%s",
		 stats_number(over, sizeof(over), value_of(subject, f->kind), 2),
		 stats_number(under, sizeof(under), value_of(base, f->kind), 2), f->kind == FIGURE_P50 ? "ms" : "runs/s", outside,
		 subject->cold && !subject->warm ? "; all cold starts"
		 : subject->cold		 ? "; some cold starts"
						 : "");
}

static void judge(const struct bench *b, const struct figure *f, struct judged *out)
{
	*out = (struct judged){ .measured = NAN, .shown = "-" };
	switch (f->kind) {
	case FIGURE_MEMORY:
		out->measured = b->memory.pss_mb;
		snprintf(out->wanted, sizeof(out->wanted), "at most %.0f MB", f->wanted);
		if (isnan(out->measured))
			snprintf(out->note, sizeof(out->note), "%s", b->memory.reason);
		else
			snprintf(out->shown, sizeof(out->shown), "%.2f MB", out->measured);
		break;
	case FIGURE_SOAK:
		snprintf(out->wanted, sizeof(out->wanted), "no growth");
		snprintf(out->note, sizeof(out->note), "%s", b->soaked.reason);
		if (b->soaked.runs) {
			snprintf(out->shown, sizeof(out->shown), "%llu runs", (unsigned long long)b->soaked.runs);
			out->verdict = b->soaked.grew			     ? STATS_MISSED
				       : (double)b->soaked.runs >= f->wanted ? STATS_REACHED
									     : STATS_UNKNOWN;
			if (!b->soaked.grew)
				snprintf(out->note, sizeof(out->note), "nothing grew%s",
					 out->verdict == STATS_REACHED ? "" : ", in fewer runs than asked for");
		}
		return;
	default:
		judge_ratio(b, f, out);
	}
	out->verdict = stats_judge(out->measured, f->wanted, f->kind == FIGURE_MEMORY);
}

/* ---- for a person ---------------------------------------------------------------------------- */

static void print_host(void)
{
	struct utsname u;

	uname(&u);
	printf("belljar %s, Linux %s, %ld CPUs, %s\n", BELLJAR_VERSION, u.release, sysconf(_SC_NPROCESSORS_ONLN),
	       geteuid() ? "rootless" : "root");
}

/* The p50 of a base divided by the contender's: how many times faster it is. */
static double speed_up(const struct bench *b, size_t j, struct bench_cell *cell, const char *base)
{
	const char *why;
	struct bench_cell *other = find_cell(b, bench_jobs[j].name, base, &why);

	return other ? stats_ratio(samples_percentile(&other->ms, 50), samples_percentile(&cell->ms, 50)) : NAN;
}

static void start_words(const struct bench_cell *cell, char *out, size_t size)
{
	if (cell->warm && cell->cold)
		snprintf(out, size, "%llu warm, %llu cold", (unsigned long long)cell->warm, (unsigned long long)cell->cold);
	else
		snprintf(out, size, "%s", cell->warm ? "warm" : cell->cold ? "cold" : "");
}

static void print_job(const struct bench *b, size_t j)
{
	bool colour = b->colour;
	static const char *const heads[] = { "",   "p50 ms", "p90 ms", "p99 ms", "inside",	 "runs/s x1", "x2",
					     "x8", "x64",    "CPU ms", "x bare", "x bubblewrap", "rounds",    "start" };
	struct table t;
	char text[64];

	printf("\n%s%s%s\n", colour ? "\033[1m" : "", bench_jobs[j].title, colour ? "\033[0m" : "");
	table_init(&t, sizeof(heads) / sizeof(heads[0]), 1);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		table_add(&t, heads[i]);
	for (size_t c = 0; c < b->contender_count; c++) {
		struct bench_cell *cell = bench_cell(b, j, c);

		if (!cell->ms.n)
			continue;
		table_add(&t, b->contenders[c].name);
		for (int p = 0; p < 3; p++)
			table_number(&t, samples_percentile(&cell->ms, (const double[]){ 50, 90, 99 }[p]), 2);
		table_number(&t, samples_percentile(&cell->inside, 50), 2);
		for (size_t w = 0; w < BENCH_WIDTHS; w++)
			table_number(&t, cell->rate[w], 0);
		table_number(&t, cell->cpu_ms, 2);
		table_number(&t, speed_up(b, j, cell, BENCH_BASE), 2);
		table_number(&t, speed_up(b, j, cell, "bubblewrap"), 2);
		snprintf(text, sizeof(text), "%zu", cell->ms.n);
		table_add(&t, text);
		start_words(cell, text, sizeof(text));
		table_add(&t, text);
	}
	table_print(&t, stdout, false);
	table_done(&t);
	for (size_t c = 0; c < b->contender_count; c++) {
		struct bench_cell *cell = bench_cell(b, j, c);

		/* Those that work nowhere are listed once, at the end. */
		if (cell->out && b->contenders[c].row)
			printf("  %s: left out: %s\n", b->contenders[c].name, cell->reason);
		if (cell->errors)
			printf("  %serror: %s: %llu of %llu results are wrong; the first: %s%s\n", colour ? "\033[31m" : "",
			       b->contenders[c].name, (unsigned long long)cell->errors, (unsigned long long)cell->runs,
			       cell->error, colour ? "\033[0m" : "");
	}
}

static void print_contenders(const struct bench *b)
{
	struct table t;

	printf("\nwho\n");
	table_init(&t, 2, 2);
	for (size_t c = 0; c < b->contender_count; c++) {
		const struct bench_contender *one = &b->contenders[c];
		char text[320];

		snprintf(text, sizeof(text), "%s%s", one->row ? one->row->what : "not measured: ", one->row ? "" : one->reason);
		table_add(&t, one->name);
		table_add(&t, text);
	}
	table_print(&t, stdout, false);
	table_done(&t);
}

static void print_how(const struct bench *b)
{
	const char *by = NULL;

	for (size_t i = 0; i < bench_job_count * b->contender_count && !by; i++)
		by = b->cells[i].cpu_by;
	printf("\nhow: contenders take turns, %llu rounds; x bare: the p50 of bare by theirs (above 1: faster); runs/s from turns of %.1f s in all with 1, 2, 8\n"
	       "and 64 in flight, -: too slow for so many; belljar-batch: from the request line written to the result line read, over pipes;\n"
	       "inside: the p50 as it says itself, from the line read to the result written (--times), which the figures below are about; CPU ms of one run, alone: %s\n",
	       (unsigned long long)b->opt.rounds, (double)b->opt.milliseconds / 1000, by ? by : "not measured");
}

static void print_soak(const struct bench *b)
{
	struct table t;
	char text[32];

	if (!b->soaked.runs)
		return;
	printf("\nsoak: %llu runs; %.0f runs/s in the first tenth, %.0f in the last\n", (unsigned long long)b->soaked.runs,
	       b->soaked.rate_first, b->soaked.rate_last);
	table_init(&t, 3, 1);
	table_add(&t, "");
	table_add(&t, "before");
	table_add(&t, "after");
	for (int i = 0; i < SOAK_FIELDS; i++) {
		table_add(&t, soak_names[i]);
		snprintf(text, sizeof(text), "%lld", (long long)b->soaked.before[i]);
		table_add(&t, text);
		snprintf(text, sizeof(text), "%lld", (long long)b->soaked.after[i]);
		table_add(&t, text);
	}
	table_print(&t, stdout, false);
	table_done(&t);
	if (b->soaked.cell.errors)
		printf("error: %llu wrong results; the first: %s\n", (unsigned long long)b->soaked.cell.errors,
		       b->soaked.cell.error);
}

void bench_print(const struct bench *b)
{
	struct table t;

	print_host();
	for (size_t j = 0; j < bench_job_count; j++)
		if (b->job_there[j])
			print_job(b, j);
	print_contenders(b);
	print_how(b);
	print_soak(b);
	printf("\n");
	table_init(&t, 5, 5);
	for (size_t i = 0; i < 5; i++)
		table_add(&t, (const char *const[]){ "figure", "wanted", "measured", "", "" }[i]);
	for (size_t i = 0; i < FIGURES; i++) {
		struct judged g;

		judge(b, &figures[i], &g);
		table_add(&t, figures[i].text);
		table_add(&t, g.wanted);
		table_add(&t, g.shown);
		table_add(&t, stats_verdict_text(g.verdict));
		table_add(&t, g.note);
	}
	table_print(&t, stdout, b->colour);
	table_done(&t);
}

/* ---- for a program --------------------------------------------------------------------------- */

static json_t *number(double v)
{
	return isnan(v) ? json_null() : json_real(v);
}

static json_t *words_of(const char *const *argv)
{
	json_t *list = json_array();

	for (; argv && *argv; argv++)
		json_array_append_new(list, json_string(*argv));
	return list;
}

/* What a guest or a peer printed may be no UTF-8. */
static json_t *text(const char *t)
{
	json_t *o = t && *t ? json_string(t) : NULL;

	return o ? o : t && *t ? json_string("(not UTF-8)") : json_null();
}

static json_t *cell_json(const struct bench *b, size_t j, size_t c)
{
	struct bench_cell *cell = bench_cell(b, j, c);
	json_t *o = json_object(), *rate = json_object();
	char width[16];

	for (size_t w = 0; w < BENCH_WIDTHS; w++) {
		snprintf(width, sizeof(width), "%u", bench_widths[w]);
		json_object_set_new(rate, width, number(cell->rate[w]));
	}
	json_object_set_new(o, "name", json_string(b->contenders[c].name));
	json_object_set_new(o, "reason", text(cell->out ? cell->reason : NULL));
	json_object_set_new(o, "rounds", json_integer((json_int_t)cell->ms.n));
	json_object_set_new(o, "p50_ms", number(samples_percentile(&cell->ms, 50)));
	json_object_set_new(o, "p90_ms", number(samples_percentile(&cell->ms, 90)));
	json_object_set_new(o, "p99_ms", number(samples_percentile(&cell->ms, 99)));
	json_object_set_new(o, "min_ms", number(samples_percentile(&cell->ms, 0)));
	json_object_set_new(o, "mean_ms", number(samples_mean(&cell->ms)));
	json_object_set_new(o, "inside_p50_ms", number(samples_percentile(&cell->inside, 50)));
	json_object_set_new(o, "inside_p90_ms", number(samples_percentile(&cell->inside, 90)));
	json_object_set_new(o, "runs_per_s", rate);
	json_object_set_new(o, "cpu_ms", number(cell->cpu_ms));
	json_object_set_new(o, "cpu_by", text(cell->cpu_by));
	json_object_set_new(o, "times_bare", number(speed_up(b, j, cell, BENCH_BASE)));
	json_object_set_new(o, "times_bubblewrap", number(speed_up(b, j, cell, "bubblewrap")));
	json_object_set_new(o, "runs", json_integer((json_int_t)cell->runs));
	json_object_set_new(o, "warm", json_integer((json_int_t)cell->warm));
	json_object_set_new(o, "cold", json_integer((json_int_t)cell->cold));
	json_object_set_new(o, "errors", json_integer((json_int_t)cell->errors));
	json_object_set_new(o, "first_error", text(cell->error));
	return o;
}

static json_t *jobs_json(const struct bench *b)
{
	json_t *list = json_array();

	for (size_t j = 0; j < bench_job_count; j++) {
		json_t *cells = json_array();

		for (size_t c = 0; b->job_there[j] && c < b->contender_count; c++)
			json_array_append_new(cells, cell_json(b, j, c));
		json_array_append_new(list,
				      json_pack("{s:s, s:o, s:b, s:o}", "name", bench_jobs[j].name, "command",
						words_of(bench_jobs[j].argv), "measured", b->job_there[j], "contenders", cells));
	}
	return list;
}

static json_t *contenders_json(const struct bench *b)
{
	json_t *list = json_array();

	for (size_t c = 0; c < b->contender_count; c++) {
		const struct bench_contender *one = &b->contenders[c];
		json_t *o = json_pack("{s:s, s:b}", "name", one->name, "available", one->row != NULL);

		json_object_set_new(o, "what", text(one->row ? one->row->what : NULL));
		json_object_set_new(o, "reason", text(one->row ? NULL : one->reason));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *figures_json(const struct bench *b)
{
	json_t *list = json_array();

	for (size_t i = 0; i < FIGURES; i++) {
		struct judged g;
		json_t *o;

		judge(b, &figures[i], &g);
		o = json_pack("{s:s, s:s, s:s}", "name", figures[i].name, "figure", figures[i].text, "verdict",
			      stats_verdict_text(g.verdict));
		json_object_set_new(o, "wanted", number(figures[i].wanted));
		json_object_set_new(o, "measured",
				    figures[i].kind == FIGURE_SOAK && b->soaked.runs ? json_integer((json_int_t)b->soaked.runs)
										     : number(g.measured));
		json_object_set_new(o, "reached",
				    g.verdict == STATS_UNKNOWN ? json_null() : json_boolean(g.verdict == STATS_REACHED));
		json_object_set_new(o, "note", text(g.note));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *soak_json(const struct bench *b)
{
	json_t *before = json_object(), *after = json_object();

	if (!b->soaked.runs) {
		json_decref(before);
		json_decref(after);
		return json_null();
	}
	for (int i = 0; i < SOAK_FIELDS; i++) {
		json_object_set_new(before, soak_names[i],
				    b->soaked.before[i] < 0 ? json_null() : json_integer(b->soaked.before[i]));
		json_object_set_new(after, soak_names[i],
				    b->soaked.after[i] < 0 ? json_null() : json_integer(b->soaked.after[i]));
	}
	return json_pack("{s:I, s:o, s:o, s:f, s:f, s:b, s:I}", "runs", (json_int_t)b->soaked.runs, "before", before, "after",
			 after, "runs_per_s_first", b->soaked.rate_first, "runs_per_s_last", b->soaked.rate_last, "grew",
			 b->soaked.grew, "errors", (json_int_t)b->soaked.cell.errors);
}

json_t *bench_json(const struct bench *b)
{
	json_t *o = json_object();
	struct utsname u;

	uname(&u);
	json_object_set_new(o, "belljar", json_string(BELLJAR_VERSION));
	json_object_set_new(o, "host",
			    json_pack("{s:s, s:I, s:b}", "kernel", u.release, "cpus", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN),
				      "root", geteuid() == 0));
	json_object_set_new(o, "settings",
			    json_pack("{s:b, s:I, s:f}", "quick", b->opt.quick, "rounds", (json_int_t)b->opt.rounds, "seconds",
				      (double)b->opt.milliseconds / 1000));
	json_object_set_new(o, "contenders", contenders_json(b));
	json_object_set_new(o, "jobs", jobs_json(b));
	json_object_set_new(o, "memory",
			    json_pack("{s:o, s:i, s:o}", "idle_python_jar_pss_mb", number(b->memory.pss_mb), "jars",
				      (int)b->memory.jars, "reason", text(b->memory.reason)));
	json_object_set_new(o, "soak", soak_json(b));
	json_object_set_new(o, "figures", figures_json(b));
	json_object_set_new(o, "errors", json_integer((json_int_t)bench_errors(b)));
	return o;
}

uint64_t bench_errors(const struct bench *b)
{
	uint64_t n = b->soaked.cell.errors;

	for (size_t j = 0; j < bench_job_count; j++)
		for (size_t c = 0; b->job_there[j] && c < b->contender_count; c++)
			if (b->contenders[c].row && (b->contenders[c].row->flags & BENCH_BELLJAR))
				n += bench_cell(b, j, c)->errors;
	return n;
}
