/* SPDX-License-Identifier: Apache-2.0 */
/* belljar judge: stdin tests. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/pooled.h"
#include "grade/judge.h"
#include "run/rules.h"

#define CODE_MAX (64U << 20)
#define TIME_MS	 10000
#define OUTPUT	 (16ULL << 20)

struct judge_options {
	struct request req; /* first: the rows of request.h fill it */
	const char *cases, *compare, *checker;
	struct strlist checker_with;
	uint64_t time_ms, wall_ms, memory_bytes, output_bytes, jobs;
	bool all, json, quiet;
};

#define AT(field) offsetof(struct judge_options, field)

static const struct opt judge_opts[] = {
	{ "cases", 'c', "DIR|FILE", NULL, OPT_STR, AT(cases), NULL, 0, 0, 0, "folder of NAME.in and NAME.out (or .ans), or a JSON file" },
	{ "lang", 'l', "NAME", NULL, OPT_STR, REQUEST_AT(language), NULL, 0, 0, 0, "language of the solution; else by its ending, then its #! line" },
	{ "compare", 0, "MODE", NULL, OPT_STR, AT(compare), NULL, 0, 0, 0,
	  "exact, tokens, float[:REL[,ABS]] or checker, for cases that do not say (default exact; checker where there is one)" },
	{ "checker", 0, "FILE", NULL, OPT_STR, AT(checker), NULL, 0, 0, 0,
	  "program that decides: called with input, output, answer; exit 0 right, 1 wrong" },
	{ "checker-with", 0, "FILE", NULL, OPT_LIST, AT(checker_with), NULL, 0, 0, 0,
	  "file that the checker is compiled and run with (testlib.h); may be repeated" },
	{ "time", 't', "TIME", NULL, OPT_MS, AT(time_ms), NULL, 1, 86400000, 0, "limit of CPU time of a case (default 10s)" },
	{ "wall", 0, "TIME", NULL, OPT_MS, AT(wall_ms), NULL, 1, 86400000, 0, "wall clock behind it (default three times that and 1 s)" },
	{ "memory", 'm', "SIZE", NULL, OPT_BYTES, AT(memory_bytes), NULL, 4ULL << 20, 1ULL << 40, 0, "memory limit of a case (default 512M)" },
	{ "output", 0, "SIZE", NULL, OPT_BYTES, AT(output_bytes), NULL, 1, CASES_OUTPUT_MAX, 0, "limit of each output stream of a case (default 16M)" },
	{ "all", 'a', NULL, NULL, OPT_FLAG, AT(all), NULL, 0, 0, 0, "run all cases, also after one that failed" },
	{ "jobs", 'j', "N", NULL, OPT_U64, AT(jobs), NULL, 1, POOL_CEILING_MAX, 0, "cases at once (default: one for each CPU)" },
	{ "cpus", 0, "N", "1.0", OPT_MILLI, REQUEST_AT(limits.cpus_milli), NULL, 10, 1024000, 0, "share of CPUs of a case" },
	{ "disk", 0, "SIZE", "100M", OPT_BYTES, REQUEST_AT(limits.disk_bytes), NULL, 64ULL << 10, 1ULL << 40, 0, "disk of a case; counts as memory" },
	{ "pids", 0, "N", "64", OPT_U64, REQUEST_AT(limits.pids), NULL, 1, 32768, 0, "processes and threads of a case" },
	REQUEST_ALLOW_OPT
	{ "json", 0, NULL, NULL, OPT_FLAG, AT(json), NULL, 0, 0, 0, "print the result object (docs/judge.md) and nothing else" },
	{ "quiet", 'q', NULL, NULL, OPT_FLAG, AT(quiet), NULL, 0, 0, 0, "no progress, no notices" },
	{ .name = NULL },
};

const struct opt_cmd cmd_judge_opts = {
	.name = "judge",
	.summary = "run a program on many inputs and compare what it prints",
	.usage = "  belljar judge [OPTIONS] SOLUTION --cases DIR|FILE.json",
	.details = "Verdicts: AC accepted, WA wrong answer, PE white space, TLE, MLE, OLE past a limit, RE did not exit with 0, CE does not\n"
		   "compile, PC a part of the points, JE the judge failed (docs/judge.md). Stops at the first failure unless --all.\n"
		   "Exit status: 0 all passed; 1 otherwise; 2 usage, or cases that cannot be read; 125 belljar failed; 130 stopped by a signal.",
	.words = true,
	.opts = judge_opts,
};

/* Everything that one call holds. */
struct call {
	struct judge_options o;
	struct judge_setup setup;
	struct judge_result result;
	struct config config;
	struct cases cases;
	struct cases_defaults defaults;
	struct program solution, checker;
	struct strlist folders; /* that may be read when all else is given up */
	const char *file;	/* the cases' JSON, in the folder `dir`; NULL: the folder itself has them */
	int dir;
	struct arena arena;
	struct pooled pooled;
};

/* ---- files ---- */

static int bad_file(struct err *e, const char *what, const char *name)
{
	err_sys(e, "%s%s", what, name);
	e->kind = ERR_INPUT;
	return -1;
}

static int read_whole(const char *what, const char *path, const char **data, size_t *len, struct arena *a, struct err *e)
{
	bool is_stdin = strcmp(path, "-") == 0;
	auto_close int fd = is_stdin ? fcntl(0, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	auto_buf text = BUF_INIT(CODE_MAX);
	static char block[65536];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return bad_file(e, what, path);
	if (!is_stdin && !S_ISREG(st.st_mode))
		return err_set(e, ERR_INPUT, "%s%s is not a plain file", what, path);
	while ((n = read(fd, block, sizeof(block))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return bad_file(e, what, path);
		if (buf_add(&text, block, (size_t)n) < 0)
			return err_set(e, ERR_INPUT, "%s%s is larger than 64 MiB", what, path);
	}
	*data = arena_dup_len(a, text.data ? text.data : "", text.len);
	*len = text.len;
	return 0;
}

static int load_solution(struct call *c, const char *path, struct err *e)
{
	const char *code = NULL;
	size_t len = 0;

	if (strcmp(path, "-") == 0 && !c->o.req.language) {
		err_set(e, ERR_USAGE, "standard input has no ending");
		return err_hint(e, "name its language with --lang");
	}
	c->solution.client = "judge-solution";
	if (read_whole("", path, &code, &len, &c->arena, e) < 0 || program_load(&c->solution, path, c->o.req.language, code, len, &c->arena, e) < 0)
		return -1;
	if (request_programs(&c->o.req, c->solution.lang, &c->arena, e) < 0)
		return -1;
	if (c->o.req.programs.n && !c->solution.lang) {
		err_set(e, ERR_DENIED, "--allow: %.200s is a program, and nothing in /workspace can be started under an allow-list", path);
		return err_hint(e, "leave --allow out, or judge a language that is interpreted");
	}
	return 0;
}

/* --checker may lie anywhere; it is read before everything else is given up. */
static int load_checker(struct call *c, struct err *e)
{
	struct program *p = &c->checker;
	const char *code = NULL;
	size_t len = 0;

	p->client = "judge-checker";
	p->ours = true;
	if (c->o.checker_with.n && !c->o.checker)
		return err_set(e, ERR_USAGE, "--checker-with needs --checker");
	if (!c->o.checker)
		return 0;
	p->with = arena_alloc(&c->arena, (c->o.checker_with.n + 1) * sizeof(*p->with));
	for (size_t i = 0; i < c->o.checker_with.n; i++) {
		const char *path = c->o.checker_with.v[i], *slash = strrchr(path, '/');
		struct request_file *f = &p->with[p->with_count++];

		*f = (struct request_file){ .path = slash ? slash + 1 : path, .mode = 0644 };
		if (read_whole("--checker-with: ", path, &f->content, &f->len, &c->arena, e) < 0)
			return -1;
	}
	if (read_whole("--checker: ", c->o.checker, &code, &len, &c->arena, e) < 0 || program_load(p, c->o.checker, NULL, code, len, &c->arena, e) < 0)
		return -1;
	c->setup.checker = p;
	return 0;
}

/* That of the cases' file, beneath their folder. */
static int load_named_checker(struct call *c, struct err *e)
{
	const struct cases_checker *k = &c->cases.checker;
	struct program *p = &c->checker;
	auto_buf code = BUF_INIT(CODE_MAX);

	p->with = arena_alloc(&c->arena, (k->with.n + 1) * sizeof(*p->with));
	for (size_t i = 0; i < k->with.n; i++) {
		const char *slash = strrchr(k->with.v[i], '/');
		auto_buf with = BUF_INIT(CODE_MAX);

		if (cases_read_file(c->dir, k->with.v[i], &with, e) < 0)
			return -1;
		p->with[p->with_count++] = (struct request_file){ .path = slash ? slash + 1 : k->with.v[i], .len = with.len, .mode = 0644,
								  .content = arena_dup_len(&c->arena, with.data ? with.data : "", with.len) };
	}
	if (cases_read_file(c->dir, k->path, &code, e) < 0)
		return -1;
	c->setup.checker = p;
	return program_load(p, k->path, k->lang, arena_dup_len(&c->arena, code.data ? code.data : "", code.len), code.len, &c->arena, e);
}

/* The names that a checker finds its three files under are theirs. */
static int check_checker(const struct program *p, struct err *e)
{
	static const char *const taken[] = { "input", "output", "answer" };

	for (size_t i = 0; i < 3; i++) {
		bool bad = strcmp(p->name, taken[i]) == 0;

		for (size_t k = 0; k < p->with_count; k++)
			bad = bad || strcmp(p->with[k].path, taken[i]) == 0;
		if (bad)
			return err_set(e, ERR_INPUT, "checker: no file of it may be called '%s'", taken[i]);
	}
	return 0;
}

/* The folder of the cases stays open, and readable; nothing else of the host does. */
static int open_cases(struct call *c, struct err *e)
{
	auto_free char *real = realpath(c->o.cases, NULL);
	struct stat st;
	char *slash;

	if (!real || stat(real, &st) < 0)
		return bad_file(e, "--cases: ", c->o.cases);
	if (S_ISREG(st.st_mode)) {
		slash = strrchr(real, '/');
		c->file = arena_dup(&c->arena, slash + 1);
		slash[slash == real] = '\0';
	} else if (!S_ISDIR(st.st_mode)) {
		return err_set(e, ERR_INPUT, "--cases: %s is neither a file nor a folder", c->o.cases);
	}
	c->dir = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->dir < 0)
		return bad_file(e, "--cases: ", real);
	strlist_add(&c->arena, &c->folders, arena_dup(&c->arena, real));
	return 0;
}

/* ---- what is to be judged ---- */

static int check_options(struct call *c, const struct opt_rest *rest, struct err *e)
{
	if (rest->words.n != 1 || rest->dashes) {
		err_set(e, ERR_USAGE, rest->words.n ? "give one solution" : "no solution");
		return err_hint(e, "belljar judge SOLUTION --cases DIR|FILE");
	}
	if (!c->o.cases) {
		err_set(e, ERR_USAGE, "no cases");
		return err_hint(e, "belljar judge SOLUTION --cases DIR|FILE");
	}
	if (!c->o.compare)
		return 0;
	c->defaults.has_compare = true;
	return compare_parse(c->o.compare, &c->defaults.compare, e) < 0 ? err_wrap(e, "--compare") : 0;
}

static int set_pool(struct call *c, struct err *e)
{
	struct judge_setup *s = &c->setup;

	s->cpus = pooled_cpus();
	if (!c->o.jobs)
		c->o.jobs = s->cpus < POOL_CEILING_MAX ? s->cpus : POOL_CEILING_MAX;
	/* Never recycled, whatever the configuration says: a jar that somebody was in is not for the next case. */
	if (pooled_sizes(&s->open, &c->o.jobs, &c->config, NULL, false, c->o.req.limits.disk_bytes, e) < 0)
		return -1;
	s->jobs = (size_t)c->o.jobs;
	return 0;
}

/* What must be opened with the caller's rights; then these are gone. */
static int prepare(struct call *c, const struct opt_rest *rest, struct err *e)
{
	const char *no_store;

	if (rules_load_named(c->o.req.rules, e) < 0 || !rules_of(c->o.req.rules, e))
		return -1;
	/* Results have no place for findings that do not refuse. */
	if (c->o.req.policy == POLICY_WARN)
		c->o.req.policy = POLICY_OFF;
	if (check_options(c, rest, e) < 0 || set_pool(c, e) < 0 || load_solution(c, rest->words.v[0], e) < 0 || load_checker(c, e) < 0 ||
	    open_cases(c, e) < 0 || pooled_store(&c->setup.ledger, &c->o.req, &no_store, e) < 0)
		return -1;
	return pooled_confine(&c->pooled, arena_fmt(&c->arena, "judge %s", rest->words.v[0]), &c->folders, c->o.quiet, &c->arena, e);
}

/* Past the operator's ceiling? `where`: the case, or the command line's "--". */
static int check_ceiling(const struct call *c, const struct cases_limits *k, const char *where, struct err *e)
{
	const struct {
		const char *row, *name;
		uint64_t value;
	} rows[] = { { "cpu-time", "time", k->time_ms }, { "timeout", "wall", k->wall_ms }, { "memory", "memory", k->memory_bytes }, { "output-log", "output", k->output_bytes } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char shown[128];

		snprintf(shown, sizeof(shown), "%.80s%s", where, rows[i].name);
		if (ceiling_number(&c->config.system, rows[i].row, rows[i].value, shown, e) < 0)
			return -1;
	}
	return 0;
}

static int set_rest(struct call *c, struct err *e)
{
	const struct jar_limits *l = &c->o.req.limits;

	if (check_ceiling(c, &c->defaults.limits, "--", e) < 0 || check_ceiling(c, &c->cases.checker.limits, "cases: checker: limits.", e) < 0)
		return -1;
	for (size_t i = 0; i < c->cases.count; i++) {
		struct cases_limits *k = &c->cases.v[i].limits;

		if (check_ceiling(c, k, arena_fmt(&c->arena, "cases: '%.40s': limits.", c->cases.v[i].name), e) < 0)
			return -1;
		k->time_ms = k->time_ms ? k->time_ms : l->cpu_ms ? l->cpu_ms : TIME_MS;
		k->memory_bytes = k->memory_bytes ? k->memory_bytes : l->memory_bytes;
		k->output_bytes = k->output_bytes ? k->output_bytes : OUTPUT;
	}
	return 0;
}

static int read_cases(struct call *c, struct err *e)
{
	struct cases_defaults *d = &c->defaults;
	auto_buf text = BUF_INIT(CASES_FILE_MAX);

	d->limits = (struct cases_limits){ c->o.time_ms, c->o.wall_ms, c->o.memory_bytes, c->o.output_bytes };
	d->has_checker = c->o.checker != NULL;
	if (!c->file) {
		if (cases_from_folder(&c->cases, c->dir, c->o.cases, d, &c->arena, e) < 0)
			return -1;
	} else {
		if (cases_read_file(c->dir, c->file, &text, e) < 0)
			return err_wrap(e, "--cases");
		if (cases_from_json(&c->cases, text.data ? text.data : "", text.len, d, &c->arena, e) < 0)
			return -1;
	}
	return set_rest(c, e) < 0 ? -1 : cases_check_files(&c->cases, c->dir, e);
}

static int set_checker(struct call *c, struct err *e)
{
	bool needed = false;

	for (size_t i = 0; i < c->cases.count; i++)
		needed = needed || c->cases.v[i].compare.mode == COMPARE_CHECKER;
	if (!needed) {
		c->setup.checker = NULL;
		return 0;
	}
	if (!c->setup.checker && load_named_checker(c, e) < 0)
		return err_wrap(e, "cases: checker");
	return check_checker(c->setup.checker, e);
}

/* ---- the whole ---- */

/* What was given is wrong: 2, as said in the help. */
static int tell_error(const struct err *e)
{
	int status = cli_error(e);

	return e->kind == ERR_USAGE || e->kind == ERR_REQUEST || e->kind == ERR_INPUT ? 2 : status;
}

static int judge(struct call *c)
{
	struct judge_setup *s = &c->setup;
	struct err e = { 0 };
	int rc;

	if (read_cases(c, &e) < 0 || set_checker(c, &e) < 0)
		return tell_error(&e);
	c->o.req.network = "none";
	s->cases = &c->cases;
	s->dir = c->dir;
	s->solution = &c->solution;
	s->base = &c->o.req;
	s->all = c->o.all;
	s->quiet = c->o.quiet;
	s->progress = !c->o.quiet && isatty(2);
	s->keeper = pooled_keeper(&c->pooled, &e);
	if (s->keeper < 0)
		return cli_error(&e);
	rc = judge_run(s, &c->result, &c->arena, &e);
	if (rc != 0) {
		cli_error(&e);
		return rc < 0 ? 125 : rc;
	}
	/* A result that nobody could read is no success. */
	if ((c->o.json ? judge_print_json(s, &c->result) : judge_print_table(s, &c->result, cli_colour(1))) < 0) {
		err_sys(&e, "write the result");
		return cli_error(&e);
	}
	return c->result.verdict == JUDGE_AC ? 0 : 1;
}

int cmd_judge(int argc, char **argv)
{
	static struct call c;
	static struct request before;
	struct err e = { 0 };
	struct opt_rest rest;
	int status = 125;

	_Static_assert(offsetof(struct judge_options, req) == 0, "rows of request.h count from there");
	c.dir = -1;
	if (pooled_start(&c.pooled, &e) < 0)
		return cli_error(&e);
	opt_defaults(judge_opts, &c.o, &c.arena);
	int loaded = config_load(&c.config, &c.o.req, &c.arena, &e);

	request_configured(&c.o.req);
	before = c.o.req;
	if (loaded < 0)
		status = cli_error(&e);
	else if (cli_parse(&cmd_judge_opts, argc, argv, &c.o, &rest, &c.arena, &status))
		;
	else if (config_hold(&c.config, &before, &c.o.req, &c.arena, &e) < 0 || prepare(&c, &rest, &e) < 0)
		status = tell_error(&e);
	else
		status = judge(&c);
	pooled_end(&c.pooled);
	fd_close(&c.dir);
	arena_free(&c.arena);
	return status;
}
