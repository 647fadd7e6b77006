/* SPDX-License-Identifier: Apache-2.0 */
/* belljar batch: one request a line in, one result a line out. */
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
#include "grade/test_lines.h"
#include "kernel/caps.h"
#include "run/batch.h"
#include "run/rules.h"
#include "run/state.h"
#include "store/signer.h"
#include "store/writer.h"

struct batch_options {
	struct request req; /* first: the rows of request.h fill it */
	uint64_t jobs, queue;
	const char *out, *times, *preload;
	struct strlist files_from;
	bool unordered, resume, busy, recycle, quiet;
};

#define AT(field) offsetof(struct batch_options, field)

static const struct opt batch_opts[] = {
	{ "jobs", 'j', "N", NULL, OPT_U64, AT(jobs), NULL, 1, POOL_CEILING_MAX, 0, "runs at once (default: two for each CPU)" },
	{ "unordered", 'u', NULL, NULL, OPT_FLAG, AT(unordered), NULL, 0, 0, 0, "results as they finish, not in the order of the lines" },
	{ "out", 'o', "FILE", NULL, OPT_STR, AT(out), NULL, 0, 0, 0, "write the results there (default: standard output)" },
	{ "resume", 'r', NULL, NULL, OPT_FLAG, AT(resume), NULL, 0, 0, 0, "skip what --out has results of already, and add to it" },
	{ "times", 0, "FILE", NULL, OPT_STR, AT(times), NULL, 0, 0, 0, "write there how long each line took, from when it was taken until its result was written" },
	{ "queue", 0, "N", "1024", OPT_U64, AT(queue), NULL, 1, 65536, 0, "requests that may wait" },
	{ "busy", 0, NULL, NULL, OPT_FLAG, AT(busy), NULL, 0, 0, 0, "answer error/busy when the queue is full, instead of reading no further" },
	{ "files-from", 0, "DIR", NULL, OPT_LIST, AT(files_from), NULL, 0, 0, 0,
	  "requests may take files (files.source) from beneath this folder; may be repeated" },
	{ "recycle", 0, NULL, NULL, OPT_FLAG, AT(recycle), NULL, 0, 0, 0, "a jar that is proven clean, and Python's memory put back to what it was, serve the same client again" },
	{ "preload", 0, "A,B,C", NULL, OPT_STR, AT(preload), NULL, 0, 0, 0, "Python modules that are imported before any request" },
	{ "lang", 'l', "NAME", NULL, OPT_STR, REQUEST_AT(language), NULL, 0, 0, 0, "language of lines that name none (default python)" },
	{ "client", 0, "NAME", NULL, OPT_STR, REQUEST_AT(client), NULL, 0, 0, 0, "whose lines they are that do not say" },
	REQUEST_LIMIT_OPTS
	REQUEST_ALLOW_OPT
	REQUEST_POLICY_OPTS
	REQUEST_AUDIT_OPTS
	{ "quiet", 'q', NULL, NULL, OPT_FLAG, AT(quiet), NULL, 0, 0, 0, "no progress, no notices" },
	{ .name = NULL },
};

const struct opt_cmd cmd_batch_opts = {
	.name = "batch",
	.summary = "run many requests: one JSON object a line in, one result a line out",
	.usage = "  belljar batch [OPTIONS] FILE.jsonl | -",
	.details = "A line is a request object (docs/batch.md); what options, environment and files set holds for lines that do\n"
		   "not say their own, and no line goes past it (docs/operator.md).\n"
		   "Exit status: 0 all lines were run, whatever became of them; 1 some line was bad or could not be run; 2 usage;\n"
		   "125 belljar failed; 130 stopped by a signal.",
	.words = true,
	.opts = batch_opts,
};

/* ---- files ---- */

static int bad_file(struct err *e, const char *what, const char *name)
{
	err_sys(e, "%s%s", what, name);
	e->kind = ERR_INPUT;
	return -1;
}

static int open_input(struct batch_setup *s, const char *name, struct err *e)
{
	struct stat st;

	s->in = strcmp(name, "-") == 0 ? 0 : open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (s->in < 0 || fstat(s->in, &st) < 0)
		return bad_file(e, "", name);
	return S_ISDIR(st.st_mode) ? err_set(e, ERR_INPUT, "%s is a folder, not lines of requests", name) : 0;
}

/* Standard output may be somebody else's too: opened anew it can be told not to block without changing theirs. */
static void open_stdout(struct batch_setup *s)
{
	struct stat st;
	int fd = fstat(1, &st) == 0 && S_ISFIFO(st.st_mode) ? open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) : -1;

	s->out = fd >= 0 ? fd : 1;
	s->out_waits = fd >= 0;
}

/* A file that is new, or empty, or (with --resume) added to. Its descriptor, or -1. */
static int open_lines(const char *name, const char *option, bool resume, struct err *e)
{
	struct stat st;
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | (resume ? 0 : O_EXCL), 0666);

	if (fd < 0 && errno == EEXIST) {
		/* A FIFO or a device is nobody's results; a file may be. */
		fd = open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		if (fd >= 0 && (fstat(fd, &st) < 0 || (S_ISREG(st.st_mode) && st.st_size > 0))) {
			close(fd);
			err_set(e, ERR_INPUT, "%s%s has something in it", option, name);
			return err_hint(e, "--resume adds to it; or remove it first");
		}
	}
	return fd < 0 ? bad_file(e, option, name) : fd;
}

static bool is_same_file(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && S_ISREG(one.st_mode) && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static int open_output(struct batch_setup *s, const struct batch_options *o, struct err *e)
{
	if (o->out && strcmp(o->out, "-") != 0) {
		s->out = open_lines(o->out, "--out: ", o->resume, e);
		if (s->out < 0)
			return -1;
	} else {
		open_stdout(s);
	}
	if (is_same_file(s->in, s->out))
		return err_set(e, ERR_USAGE, "%s%s is the input", o->out ? "--out: " : "", o->out ? o->out : "standard output");
	s->times = -1;
	if (!o->times)
		return 0;
	s->times = open_lines(o->times, "--times: ", o->resume, e);
	if (s->times < 0)
		return -1;
	(void)lseek(s->times, 0, SEEK_END);
	if (is_same_file(s->in, s->times) || is_same_file(s->out, s->times))
		return err_set(e, ERR_USAGE, "--times: %s is the input or the output", o->times);
	return 0;
}

static int resolve_folders(struct strlist *dirs, struct arena *a, struct err *e)
{
	for (size_t i = 0; i < dirs->n; i++) {
		auto_free char *real = realpath(dirs->v[i], NULL);
		struct stat st;

		if (!real || stat(real, &st) < 0)
			return bad_file(e, "--files-from: ", dirs->v[i]);
		if (!S_ISDIR(st.st_mode))
			return err_set(e, ERR_INPUT, "--files-from: %s is not a folder", dirs->v[i]);
		dirs->v[i] = arena_dup(a, real);
	}
	return 0;
}

static int open_store(struct batch_setup *s, const struct batch_options *o, struct err *e)
{
	struct ledger_setup l;

	if (pooled_store(&l, &o->req, &s->store_error, e) < 0)
		return -1;
	s->store = l.store;
	s->audit = l.mode;
	return 0;
}

static int check_options(const struct batch_options *o, const struct opt_rest *rest, struct err *e)
{
	if (rest->words.n != 1 || rest->dashes) {
		err_set(e, ERR_USAGE, rest->words.n ? "give one file of requests" : "no file of requests");
		return err_hint(e, "belljar batch FILE.jsonl, or - for standard input");
	}
	if (o->resume && (!o->out || strcmp(o->out, "-") == 0)) {
		err_set(e, ERR_USAGE, "--resume needs --out FILE: that is where it looks what is done");
		return err_hint(e, "belljar batch --resume --out results.jsonl requests.jsonl");
	}
	return 0;
}

static int prepare(struct batch_setup *s, struct batch_options *o, const struct config *c, struct ceiling *ceiling, const struct opt_rest *rest, struct pooled *p,
		   struct arena *a, struct err *e)
{
	s->defaults = &o->req;
	s->config = c;
	config_ceiling(c, &o->req, &cmd_batch_opts, rest, ceiling);
	s->ceiling = ceiling;
	s->files_from = &o->files_from;
	s->queue = (size_t)o->queue;
	s->unordered = o->unordered;
	s->busy = o->busy;
	s->quiet = o->quiet;
	s->progress = !o->quiet && isatty(2);
	if (rules_load_named(o->req.rules, e) < 0 || !rules_of(o->req.rules, e))
		return -1;
	if (check_options(o, rest, e) < 0 ||
	    pooled_sizes(&s->open, &o->jobs, c, o->preload, o->recycle || c->pool.recycle, o->req.limits.disk_bytes, e) < 0 ||
	    resolve_folders(&o->files_from, a, e) < 0 || open_input(s, rest->words.v[0], e) < 0 || open_output(s, o, e) < 0 || open_store(s, o, e) < 0)
		return -1;
	s->jobs = (size_t)o->jobs;
	/* One for a verifier, should there be tests. */
	if (s->open.ceiling <= o->jobs && o->jobs < POOL_CEILING_MAX)
		s->open.ceiling = (uint32_t)o->jobs + 1;
	return pooled_confine(p, arena_fmt(a, "batch %s", rest->words.v[0]), &o->files_from, o->quiet, a, e);
}

/* Lines that are tests begin with the limits of `belljar test`; the same words of the command line are for them too. */
static bool prepare_tests(struct test_lines *t, struct batch_options *o, int argc, char **argv, struct arena *a, int *status)
{
	static struct request verifier;
	struct opt_rest rest;

	verifier = o->req;
	verifier.policy = POLICY_OFF;
	t->verifier = &verifier;
	o->req.limits.cpu_ms = TEST_CPU_MS;
	o->req.limits.wall_ms = 0;
	o->req.limits.memory_bytes = TEST_MEMORY_BYTES;
	return cli_parse(&cmd_batch_opts, argc, argv, o, &rest, a, status);
}

int cmd_batch(int argc, char **argv)
{
	static struct batch_options o, o_tests, before;
	static struct ceiling ceiling;
	static struct test_lines tests;
	static struct batch_kind kinds[2];
	static struct batch_setup setup;
	static struct config config;
	struct arena arena = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	static struct pooled pooled;
	static struct resume done;
	int status = 125;

	_Static_assert(offsetof(struct batch_options, req) == 0, "rows of request.h count from there");
	if (pooled_start(&pooled, &e) < 0)
		return cli_error(&e);
	opt_defaults(batch_opts, &o, &arena);
	if (config_load(&config, &o.req, &arena, &e) < 0) {
		status = cli_error(&e);
		goto out;
	}
	request_configured(&o.req);
	o_tests = before = o;
	if (cli_parse(&cmd_batch_opts, argc, argv, &o, &rest, &arena, &status) || prepare_tests(&tests, &o_tests, argc, argv, &arena, &status))
		goto out;
	if (config_hold(&config, &before.req, &o.req, &arena, &e) < 0) {
		status = cli_error(&e);
		goto out;
	}
	tests.ceiling = &ceiling;
	kinds[0] = test_lines_kind(&tests, &o_tests.req);
	setup.kinds = kinds;
	setup.keeper = pooled_keeper(&pooled, &e);
	if (setup.keeper < 0 || prepare(&setup, &o, &config, &ceiling, &rest, &pooled, &arena, &e) < 0) {
		status = cli_error(&e);
		goto out;
	}
	if (o.resume && resume_load(&done, setup.out, o.out, &e) < 0) {
		status = cli_error(&e);
		goto out;
	}
	setup.resume = o.resume ? &done : NULL;
	status = batch_run(&setup, &e);
	if (e.msg[0])
		cli_error(&e);
out:
	pooled_end(&pooled);
	resume_done(&done);
	arena_free(&arena);
	return status;
}

#ifdef BELLJAR_TEST_HOOKS
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

static void try_it(const char *what, long rc)
{
	printf("%s %s\n", what, rc < 0 ? strerrorname_np(errno) : "ok");
}

int cmd_batch_debug(void)
{
	static struct batch_options o;
	static struct batch_setup setup;
	char *const none[] = { NULL };
	char path[512], state[400];
	struct arena arena = { 0 };
	static struct pooled pooled;
	struct err e = { 0 };

	o.req.audit = "required";
	if (pooled_start(&pooled, &e) < 0 || state_dir(path, sizeof(path), &e) < 0 || state_dir(state, sizeof(state), &e) < 0 || open_store(&setup, &o, &e) < 0 ||
	    pooled_confine(&pooled, "debug", &o.files_from, true, &arena, &e) < 0)
		return cli_error(&e);
	strncat(path, "/logs/debug-front", sizeof(path) - strlen(path) - 1);
	try_it("open:log", open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	unlink(path);
	snprintf(path, sizeof(path), "%s/" STORE_FILE, state);
	try_it("read:receipts", open(path, O_RDONLY | O_CLOEXEC));
	try_it("write:receipts", open(path, O_RDWR | O_CLOEXEC));
	try_it("unlink:receipts", unlink(path));
	snprintf(path, sizeof(path), "%s/" NOTARY_DIR, state);
	try_it("open:notary", open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	snprintf(path, sizeof(path), "%s/" NOTARY_DIR "/" NOTARY_LAST_FILE, state);
	try_it("write:notary", open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	try_it("open:/etc/shadow", open("/etc/shadow", O_RDONLY | O_CLOEXEC));
	try_it("open:/etc/passwd", open("/etc/passwd", O_RDONLY | O_CLOEXEC));
	try_it("open:/proc/self/environ", open("/proc/self/environ", O_RDONLY | O_CLOEXEC));
	try_it("create:/tmp", open("/tmp/belljar-debug-front", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	try_it("execve", execve("/bin/true", none, none));
	try_it("socket", socket(AF_INET, SOCK_STREAM, 0));
	try_it("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){ 0, 0 }));
	try_it("ptrace", ptrace(PTRACE_PEEKUSER, 1, NULL, NULL));
	try_it("unshare", unshare(CLONE_NEWUSER));
	try_it("kill", kill(getppid(), 0));
	printf("caps %llx\n", (unsigned long long)caps_effective());
	fflush(stdout);
	/* A child would print the same once more. */
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	try_it("fork", pid);
	pooled_end(&pooled);
	fflush(stdout);
	_exit(0);
}
#endif
