/* SPDX-License-Identifier: Apache-2.0 */
/* One run: a resolved request in, one result out. */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "jar/allow.h"
#include "jar/feed.h"
#include "jar/root.h"
#include "kernel/sys.h"
#include "run/ceiling.h"
#include "run/place.h"
#include "run/policy.h"
#include "run/state.h"
#include "run/syntax.h"

/*
 * Theory of operation
 *
 * A run is a small state machine that never blocks, so that one process drives many. It is moved on by its link (the keeper's answers)
 * and by its pipes (the guest's streams and its feed), both called from the event loop:
 *
 *	SOCKET   only with a pool that cannot serve this run: a keeper of its own was asked for
 *	SYNTAX   the language is asked whether the code is right (before the run: bash, and where it decides between two refusals)
 *	COMPILE  the compiler runs               SCRUB    what the guest before left behind is being killed
 *	MAIN     the program runs                RECHECK  it ended as code does that does not compile: the language is asked
 *	END      the jar is being ended          EXPORT   its files come out
 *	DONE     the result is complete; `finished` was called
 */

#define PROGRAM "/tmp/program" /* what a compiled language makes */
#define BLOCK	65536

static void finish(struct run *x);

/* ---- commands and environment ---- */

static const char *expand(const struct request *req, const char *word, struct arena *a)
{
	if (strcmp(word, "{file}") == 0 && req->driver)
		return req->driver;
	if (strcmp(word, "{file}") == 0)
		return arena_fmt(a, "/workspace/%s", req->code_name);
	if (strcmp(word, "{out}") == 0)
		return PROGRAM;
	if (strcmp(word, "{type}") == 0)
		return syntax_node_type(req, a);
	return word;
}

void run_command(const struct request *req, const char *const *words, struct arena *a, struct strlist *out)
{
	for (; words && *words; words++)
		strlist_add(a, out, expand(req, *words, a));
}

static void set_env(struct strlist *out, const char *pair, struct arena *a)
{
	size_t key = strcspn(pair, "=") + 1;

	for (size_t i = 0; i < out->n; i++)
		if (strncmp(out->v[i], pair, key) == 0) {
			out->v[i] = pair;
			return;
		}
	strlist_add(a, out, pair);
}

static void environment(const struct request *req, bool own, struct arena *a, struct strlist *out)
{
#define WORD(w) (w),
	static const char *const base[] = { ROOT_ENV(WORD) };
#undef WORD

	for (size_t i = 0; i < sizeof(base) / sizeof(base[0]); i++)
		set_env(out, base[i], a);
	for (const char *const *v = req->lang ? req->lang->env : NULL; v && *v; v++)
		set_env(out, *v, a);
	for (size_t i = 0; own && i < req->env.n; i++)
		set_env(out, req->env.v[i], a);
}

void run_environment(const struct request *req, struct arena *a, struct strlist *out)
{
	environment(req, true, a, out);
}

/* ---- what goes in ---- */

static int feed_workspace(struct run *x, struct err *e)
{
	struct stat st;

	if (stat(x->req->workspace, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, ERR_INPUT, "--workspace: %s is not a folder", x->req->workspace);
	if (feeder_add_path(&x->feeder, x->req->workspace, "", "--workspace", e) < 0)
		return -1;
	x->sent_count = x->feeder.count;
	return 0;
}

static int feed_file(struct run *x, const struct request_file *q, struct err *e)
{
	const struct request *r = x->req;
	struct stat st;

	/* It would cover a file of the caller's and then be copied over it. */
	if (r->workspace && lstat(arena_fmt(x->arena, "%s/%s", r->workspace, q->path), &st) == 0)
		return err_set(e, ERR_INPUT, "--file: --workspace has a '%s' of its own", q->path);
	return q->source ? feeder_add_path(&x->feeder, q->source, q->path, "--file", e)
			 : feeder_add_bytes(&x->feeder, q->path, q->content, q->len, q->mode, e);
}

static int feed_files(struct run *x, struct err *e)
{
	const struct request *r = x->req;
	struct feeder *f = &x->feeder;

	if (r->workspace && feed_workspace(x, e) < 0)
		return -1;
	for (size_t i = 0; i < r->file_count; i++)
		if (feed_file(x, &r->files[i], e) < 0)
			return -1;
	if (r->lang && !r->code_in_workspace && feeder_add_bytes(f, r->code_name, r->code, r->code_len, 0644, e) < 0)
		return -1;
	if (f->bytes > r->limits.disk_bytes) {
		err_set(e, ERR_INPUT, "the files have %llu bytes, the jar's disk has %llu", (unsigned long long)f->bytes,
			(unsigned long long)r->limits.disk_bytes);
		return err_hint(e, "raise --disk");
	}
	return 0;
}

/* ---- pipes ---- */

/*
 * Our own pipes, never the caller's streams: the guest gets no descriptor of the host's. Others may open the guest's end
 * again through /dev/stdout or /dev/stdin, in its own direction only: pipes belong to us, the guest is another user.
 */
enum { PIPE_IN, PIPE_OUT, PIPE_ERR, PIPE_FEED, PIPES };

struct pipes {
	int end[PIPES][2];
};

static struct pipes stock; /* for the next run */
static bool stocked;

static void drop_pipes(struct pipes *p)
{
	for (int i = 0; i < PIPES; i++)
		for (int k = 0; k < 2; k++)
			fd_close(&p->end[i][k]);
}

static int our_end(const struct pipes *p, int i)
{
	return p->end[i][i == PIPE_IN || i == PIPE_FEED];
}

static int make_pipes(struct pipes *p, struct err *e)
{
	static const mode_t modes[PIPES] = { 0444, 0222, 0222, 0400 };

	memset(p, -1, sizeof(*p));
	for (int i = 0; i < PIPES; i++)
		if (pipe2(p->end[i], O_CLOEXEC) < 0 || fchmod(p->end[i][0], modes[i]) < 0 || fcntl(our_end(p, i), F_SETFL, O_NONBLOCK) < 0) {
			err_sys(e, "make a pipe");
			drop_pipes(p);
			return -1;
		}
	return 0;
}

void run_prepare(void)
{
	struct err e = { 0 };

	/* Where it cannot be done the next run says so. */
	stocked = stocked || make_pipes(&stock, &e) == 0;
}

void run_unprepare(void)
{
	if (stocked)
		drop_pipes(&stock);
	stocked = false;
}

static int take_pipes(struct pipes *p, struct err *e)
{
	if (!stocked)
		return make_pipes(p, e);
	*p = stock;
	stocked = false;
	return 0;
}

static int open_stdin(struct run *x, struct err *e)
{
	const struct request *r = x->req;
	struct stat st;

	if (!r->stdin_path)
		return 0;
	if (strcmp(r->stdin_path, "-") == 0) {
		x->source.fd = fcntl(0, F_DUPFD_CLOEXEC, 3);
	} else {
		/* A FIFO without a writer must not hold us: the loop waits for it, and for the clock. */
		x->source.fd = open(r->stdin_path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	}
	if (x->source.fd < 0 || fstat(x->source.fd, &st) < 0) {
		err_sys(e, "--stdin: %s", r->stdin_path);
		e->kind = ERR_INPUT;
		return -1;
	}
	if (S_ISDIR(st.st_mode))
		return err_set(e, ERR_INPUT, "--stdin: %s is a folder", r->stdin_path);
	digest_init(&x->res->in_hash);
	x->res->in_hashed = true;
	/* A plain file is always ready, and the loop refuses to wait for it. */
	x->source_plain = loop_want(x->loop, &x->source, 0) < 0;
	return 0;
}

/* ---- while it runs ---- */

static void ask_kill(struct run *x, uint32_t why)
{
	if (x->killed)
		return;
	x->killed = true;
	x->link.ops->kill(&x->link, why);
}

/* The file that a stream's log gets when its view overflows. */
static void log_name(const struct run *x, int i, char *out, size_t size)
{
	snprintf(out, size, "%s/%s.%s%s", x->log_dir, x->res->execution_id, x->step == &x->res->compile ? "compile-" : "",
		 i ? "stderr" : "stdout");
}

/* One read of at most `max` bytes. The number read; 0 when there is nothing more for now, or ever. */
static size_t read_output(struct run *x, int i, size_t max)
{
	static char block[BLOCK];
	struct output *o = &x->step->out[i];
	char log[512] = "";
	ssize_t n;
	int rc;

	do
		n = read(x->out[i].fd, block, max < sizeof(block) ? max : sizeof(block));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return 0;
	if (n == 0) {
		watch_close(&x->out[i]);
		return 0;
	}
	if (x->opt->said && i == 0) {
		x->heard = true;
		x->opt->said(x, block, (size_t)n);
		return (size_t)n;
	}
	if (x->killed)
		return (size_t)n; /* past its cap: thrown away until it is dead */
	if (output_needs_log(o, (size_t)n))
		log_name(x, i, log, sizeof(log));
	rc = output_add(o, block, (size_t)n, log, &x->err);
	if (rc == 1)
		ask_kill(x, JAR_ENDED_OUTPUT);
	if (rc < 0) {
		/* The disk of the host is full: end the run rather than lose output silently. */
		x->failed = true;
		ask_kill(x, JAR_ENDED_CANCELLED);
	}
	if (o->live_broken)
		ask_kill(x, JAR_ENDED_CANCELLED);
	return (size_t)n;
}

static void on_stdout(struct watch *w, uint32_t events)
{
	(void)events;
	read_output(CONTAINER_OF(w, struct run, out[0]), 0, BLOCK);
}

static void on_stderr(struct watch *w, uint32_t events)
{
	(void)events;
	read_output(CONTAINER_OF(w, struct run, out[1]), 1, BLOCK);
}

static void close_source(struct run *x)
{
	/* It may be a copy of our own standard input. */
	loop_forget(x->loop, &x->source);
	watch_close(&x->source);
}

static void close_input(struct run *x)
{
	watch_close(&x->in);
	close_source(x);
	x->in_left = 0;
}

/* More of the guest's input, from where it comes. False when there is none for now. */
static bool read_source(struct run *x)
{
	ssize_t n;

	if (!x->in_block)
		x->in_block = arena_alloc(x->arena, BLOCK);
	n = read(x->source.fd, x->in_block, BLOCK);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return false;
	if (n <= 0) {
		close_source(x);
		return true;
	}
	if (x->opt->receipts) {
		digest_add(&x->res->in_hash, x->in_block, (size_t)n);
		x->res->in_bytes += (uint64_t)n;
	}
	x->in_data = x->in_block;
	x->in_left = (size_t)n;
	return true;
}

/* The request's input comes from a descriptor, and is the program's alone. */
static bool has_source(const struct run *x)
{
	return x->source.fd >= 0 && x->step != &x->res->asked;
}

/* The guest's standard input: as much as its pipe takes. */
static void write_input(struct run *x)
{
	while (x->in_left) {
		ssize_t n = write(x->in.fd, x->in_data, x->in_left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			/* The source waits until this is gone. */
			if (has_source(x) && !x->source_plain)
				loop_forget(x->loop, &x->source);
			loop_want(x->loop, &x->in, EPOLLOUT);
			return;
		}
		if (n < 0 && x->step == &x->res->asked) {
			watch_close(&x->in);
			x->in_left = 0;
			return;
		}
		if (n < 0) {
			/* It does not read any more: that is its business. */
			close_input(x);
			return;
		}
		x->in_data += n;
		x->in_left -= (size_t)n;
		if (!x->in_left && x->source_plain && has_source(x))
			read_source(x);
	}
	if (!has_source(x)) {
		watch_close(&x->in);
		return;
	}
	/* Of the guest's end only an error can come now: it was closed while we wait for our own input. */
	loop_want(x->loop, &x->in, 0);
	loop_want(x->loop, &x->source, EPOLLIN);
}

static void on_source(struct watch *w, uint32_t events)
{
	struct run *x = CONTAINER_OF(w, struct run, source);

	(void)events;
	if (x->in.fd >= 0 && !x->in_left && read_source(x))
		write_input(x);
}

/* ---- a conversation ---- */

/* What was said and not written yet, as much as the pipe takes. */
static void write_said(struct run *x)
{
	while (x->in.fd >= 0 && x->say_at < x->say.len) {
		ssize_t n = write(x->in.fd, x->say.data + x->say_at, x->say.len - x->say_at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			loop_want(x->loop, &x->in, EPOLLOUT);
			return;
		}
		if (n < 0) {
			watch_close(&x->in);
			return;
		}
		x->say_at += (size_t)n;
	}
	if (x->in.fd < 0)
		return;
	/* A pool that refuses the run has read nothing of it, and the next jar is told from the beginning. */
	if (x->heard)
		x->say.len = x->say_at = 0;
	if (x->hung_up)
		watch_close(&x->in);
	else if (x->in.added)
		loop_want(x->loop, &x->in, 0);
}

void run_say_later(struct run *x, const void *data, size_t len)
{
	if (buf_add(&x->say, data, len) < 0)
		abort(); /* a front without memory has nothing to say */
}

void run_say(struct run *x, const void *data, size_t len)
{
	run_say_later(x, data, len);
	write_said(x);
}

void run_hang_up(struct run *x)
{
	x->hung_up = true;
	write_said(x);
}

static void on_input(struct watch *w, uint32_t events)
{
	struct run *x = CONTAINER_OF(w, struct run, in);

	if (x->opt->said) {
		if (events & (EPOLLERR | EPOLLHUP))
			watch_close(w);
		else
			write_said(x);
		return;
	}
	if (x->in_left)
		write_input(x);
	else if (events & (EPOLLERR | EPOLLHUP))
		close_input(x);
}

static void begin_input(struct run *x)
{
	if (x->step == &x->res->asked) {
		x->in_data = x->req->code;
		x->in_left = x->req->code_len;
		write_input(x);
		return;
	}
	if (x->step == &x->res->compile) {
		/* The program's input is not the compiler's. */
		watch_close(&x->in);
		return;
	}
	if (x->opt->said) {
		x->say_at = 0;
		write_said(x);
		return;
	}
	x->in_data = x->req->stdin_data;
	x->in_left = x->req->stdin_data ? x->req->stdin_len : 0;
	if (x->source_plain && x->source.fd >= 0)
		read_source(x);
	write_input(x);
}

static void write_feed(struct run *x)
{
	struct err e = { 0 };
	int rc = feeder_write(&x->feeder, x->feed.fd, &e);

	if (rc == 0) {
		loop_want(x->loop, &x->feed, EPOLLOUT);
		return;
	}
	watch_close(&x->feed);
	if (rc < 0) {
		x->err = e;
		x->failed = true;
		ask_kill(x, JAR_ENDED_CANCELLED);
	}
}

static void on_feed(struct watch *w, uint32_t events)
{
	(void)events;
	write_feed(CONTAINER_OF(w, struct run, feed));
}

/* What the program wrote is in the pipe now. Who else holds it open, and goes on writing, does not matter. */
static void drain(struct run *x, int i)
{
	int left = 0;

	/* One read is enough unless the guest made its pipe larger. */
	if (x->out[i].fd < 0 || read_output(x, i, BLOCK) < BLOCK || ioctl(x->out[i].fd, FIONREAD, &left) < 0)
		return;
	while (left > 0 && x->out[i].fd >= 0) {
		size_t n = read_output(x, i, (size_t)left);

		if (!n)
			return;
		left -= (int)n;
	}
}

static void close_pipes(struct run *x)
{
	watch_close(&x->out[0]);
	watch_close(&x->out[1]);
	watch_close(&x->in);
	watch_close(&x->feed);
}

/* ---- a step ---- */

/* Of a descriptor that does not block. */
static void set_watch(struct watch *w, int fd, void (*ready)(struct watch *, uint32_t))
{
	*w = (struct watch){ .fd = fd, .ready = ready };
}

void run_watch_output(struct run *x)
{
	for (int i = 0; i < 2; i++)
		if (x->out[i].fd >= 0)
			loop_want(x->loop, &x->out[i], EPOLLIN);
}

/* Our ends of the guest's pipes are there, and do not block: writes what fits, so that it is there before the guest looks. */
static int use_pipes(struct run *x, int in, int out, int err, int feed, struct err *e)
{
	set_watch(&x->in, in, on_input);
	set_watch(&x->out[0], out, on_stdout);
	set_watch(&x->out[1], err, on_stderr);
	set_watch(&x->feed, feed, on_feed);
	feeder_rewind(&x->feeder);
	if (!x->opt->late_output)
		run_watch_output(x);
	else if (x->opt->said)
		loop_want(x->loop, &x->out[0], EPOLLIN);
	write_feed(x);
	begin_input(x);
	if (x->failed) {
		*e = x->err;
		return -1;
	}
	return 0;
}

/* Makes the pipes and asks for the guest. May be done twice: a pool that refuses has read nothing. */
static int launch(struct run *x, struct err *e)
{
	struct pipes p;

	x->failed = x->killed = false;
	if (take_pipes(&p, e) < 0)
		return -1;
	int fds[PIPES] = { p.end[PIPE_IN][0], p.end[PIPE_OUT][1], p.end[PIPE_ERR][1], p.end[PIPE_FEED][0] };

	if (use_pipes(x, our_end(&p, PIPE_IN), our_end(&p, PIPE_OUT), our_end(&p, PIPE_ERR), our_end(&p, PIPE_FEED), e) < 0) {
		for (int i = 0; i < PIPES; i++)
			fd_close(&fds[i]);
		return -1;
	}
	/* Code that may turn out not to compile leaves a jar in which the language can be asked. */
	bool last = x->state == RUN_RECHECK || (x->state == RUN_MAIN && !(x->req->lang && x->req->lang->syntax && !x->req->driver));

	return x->link.ops->start(&x->link, &x->step->limits, last, fds, e);
}

static void step_failed(struct run *x, const struct err *e)
{
	verdict_error(&x->step->verdict, e);
	/* Asked to end before it began: that is no failure of the set-up. */
	if (x->cancelled)
		verdict_cancelled(&x->step->verdict);
	x->res->verdict = x->step->verdict;
	finish(x);
}

static void begin_step(struct run *x, enum run_state state)
{
	struct step_result *s = state == RUN_COMPILE ? &x->res->compile : state == RUN_MAIN ? &x->res->run : &x->res->asked;
	bool asks = s == &x->res->asked;
	struct strlist env = { 0 };
	struct err e = { 0 };

	ceiling_held(&s->limits);
	x->state = state;
	x->step = s;
	s->there = true;
	for (int i = 0; i < 2; i++) {
		output_init(&s->out[i], s->limits.output_bytes, s->limits.log_bytes);
		s->out[i].live = x->opt->live && !asks ? 1 + i : -1;
		s->out[i].escape = x->opt->terminal[i];
		/* A caller who sees everything live needs no copy. */
		s->out[i].keep_log = !x->opt->live && !asks;
		s->out[i].hashing = x->opt->receipts && !asks;
	}
	environment(x->req, !asks, x->arena, &env);
	if (feeder_add_words(&x->feeder, FEED_ENV, env.v, &e) < 0 || feeder_add_words(&x->feeder, FEED_ARGV, s->command.v, &e) < 0) {
		step_failed(x, &e);
		return;
	}
	feeder_add_cwd(&x->feeder, asks ? "/" : x->req->workdir);
	feeder_go(&x->feeder);
	if (launch(x, &e) < 0)
		step_failed(x, &e);
}

/* The guest has ended, or never began. False when the step, and with it the run, is over. */
static bool end_step(struct run *x)
{
	struct step_result *s = x->step;

	for (int i = 0; i < 2; i++) {
		drain(x, i);
		output_end(&s->out[i]);
	}
	close_pipes(x);
	feeder_done(&x->feeder);
	feeder_init(&x->feeder, x->arena);
	if (x->failed) {
		step_failed(x, &x->err);
		return false;
	}
	verdict_make(&s->verdict, &s->evidence, &s->limits);
	return true;
}

/* The run ends because of something around the program. */
static void give_up(struct run *x, const struct err *e)
{
	verdict_error(&x->res->verdict, e);
	if (x->cancelled)
		verdict_cancelled(&x->res->verdict);
	finish(x);
}

/* It was called off while no guest ran. */
static void give_up_cancelled(struct run *x)
{
	verdict_cancelled(&x->res->verdict);
	finish(x);
}

/* ---- the two steps ---- */

static void begin_main(struct run *x)
{
	struct step_result *s = &x->res->run;

	if (x->req->lang) {
		run_command(x->req, x->req->lang->run, x->arena, &s->command);
	} else {
		for (size_t i = 0; i < x->req->argv.n; i++)
			strlist_add(x->arena, &s->command, x->req->argv.v[i]);
	}
	for (size_t i = 0; i < x->req->args.n; i++)
		strlist_add(x->arena, &s->command, x->req->args.v[i]);
	s->limits = x->req->limits;
	begin_step(x, RUN_MAIN);
}

/* The compiler is a guest like any other, with the request's own limits but room to work. */
static void begin_compile(struct run *x)
{
	struct step_result *s = &x->res->compile;

	run_command(x->req, x->req->lang->compile, x->arena, &s->command);
	s->limits = x->req->limits;
	if (s->limits.memory_bytes < 512ULL << 20)
		s->limits.memory_bytes = 512ULL << 20;
	if (s->limits.pids < 64)
		s->limits.pids = 64;
	s->limits.cpu_ms = 0;
	begin_step(x, RUN_COMPILE);
}

/* The program never ran: the compiler's own exit code is not the program's. */
static void blame_compiler(struct verdict *v, const struct step_result *s)
{
	*v = s->verdict;
	if (v->status == STATUS_COMPLETED) {
		v->status = STATUS_ERROR;
		v->reason = REASON_SYNTAX;
		v->exited = false;
		v->exit_status = 125;
		snprintf(v->error, sizeof(v->error), "it does not compile (%s ended with %s %d)", s->command.v[0],
			 s->verdict.exited ? "exit code" : "signal", s->verdict.exited ? s->verdict.exit_code : s->verdict.signal);
		snprintf(v->hint, sizeof(v->hint), "the compiler's messages are in stderr");
	} else {
		char text[sizeof(v->error)];

		snprintf(text, sizeof(text), "while compiling: %.*s", (int)sizeof(text) - 20, v->error);
		memcpy(v->error, text, sizeof(text));
	}
}

/* The jar goes on with another guest when nothing of the one before is left. */
static void scrub_then(struct run *x, void (*next)(struct run *x))
{
	struct err e = { 0 };
	int rc;

	x->state = RUN_SCRUB;
	x->next = next;
	rc = x->link.ops->scrub(&x->link, &e);
	if (rc < 0)
		give_up(x, &e);
	else if (rc == 1)
		next(x);
}

static void after_compile(struct run *x)
{
	const struct step_result *s = &x->res->compile;

	if (s->verdict.status != STATUS_COMPLETED || !s->verdict.exited || s->verdict.exit_code != 0) {
		blame_compiler(&x->res->verdict, s);
		finish(x);
		return;
	}
	scrub_then(x, begin_main);
}

/* ---- the syntax (syntax.h) ---- */

#define ASK_WALL_MS 10000

/* A program of ours, or the language's own switch; the request's environment, arguments and input are not for it. */
static void ask_language(struct run *x, enum run_state state)
{
	struct step_result *s = &x->res->asked;

	if (s->there)
		for (int i = 0; i < 2; i++)
			output_done(&s->out[i]);
	memset(s, 0, sizeof(*s));
	run_command(x->req, x->again ? x->req->lang->syntax_again : x->req->lang->syntax, x->arena, &s->command);
	s->limits = x->req->limits;
	if (s->limits.memory_bytes < 256ULL << 20)
		s->limits.memory_bytes = 256ULL << 20;
	if (s->limits.pids < 16)
		s->limits.pids = 16;
	if (s->limits.wall_ms > ASK_WALL_MS)
		s->limits.wall_ms = ASK_WALL_MS;
	s->limits.cpu_ms = 0;
	s->limits.output_bytes = 64 << 10;
	s->limits.log_bytes = 1 << 20;
	begin_step(x, state);
}

static void begin_syntax(struct run *x)
{
	ask_language(x, RUN_SYNTAX);
}

static void begin_recheck(struct run *x)
{
	ask_language(x, RUN_RECHECK);
}

static void blame_syntax(struct run *x)
{
	syntax_blame(x->req, &x->res->syntax, &x->res->verdict);
	finish(x);
}

static void after_syntax(struct run *x)
{
	struct result *res = x->res;
	struct syntax_report first = res->syntax;
	int said = syntax_read(x->req, &res->asked, &res->syntax, x->arena);
	struct err e = { 0 };

	if (x->again && said == 1)
		res->syntax = first; /* the answer without special options is the better one */
	if (said == 1 && !x->again && x->req->lang->syntax_again) {
		x->again = true;
		scrub_then(x, begin_syntax);
		return;
	}
	if (said == 1) {
		blame_syntax(x);
		return;
	}
	res->syntax = (struct syntax_report){ 0 };
	if (x->req->syntax_only || (said < 0 && x->cancelled)) {
		res->verdict = res->asked.verdict;
		finish(x);
		return;
	}
	if (policy_can_refuse(x->req) && res->check.broken) {
		policy_add_parse(x->req, x->arena, &res->check);
		policy_decide(x->req, &res->check, &e);
		give_up(x, &e);
		return;
	}
	scrub_then(x, begin_main);
}

/* ---- what comes out ---- */

static void on_files(struct watch *w, uint32_t events);
static void conclude(struct run *x);

static void begin_export(struct run *x)
{
	const struct request *r = x->req;
	static struct export_req req;
	struct artifacts *files = &x->res->files;
	struct err e = { 0 };
	int p[2];

	memset(&req, 0, sizeof(req));
	req.file_max_bytes = r->limits.disk_bytes;
	req.total_max_bytes = r->limits.disk_bytes * 2;
	if (r->workspace)
		snprintf(req.globs[req.count++], JAR_PATH_MAX, "**");
	for (size_t i = 0; i < r->get.n && req.count < JAR_GLOBS_MAX; i++)
		snprintf(req.globs[req.count++], JAR_PATH_MAX, "%s", request_get_pattern(r, i));
	files->out = x->target;
	files->workspace = r->workspace != NULL;
	files->keep_bytes = r->keep_bytes;
	if (r->workspace && r->lang && !r->code_in_workspace)
		files->skip = r->code_name;
	x->state = RUN_EXPORT;
	x->exported = false;
	if (pipe2(p, O_CLOEXEC) < 0 || fcntl(p[0], F_SETFL, O_NONBLOCK) < 0) {
		err_sys(&e, "make a pipe");
		give_up(x, &e);
		return;
	}
	set_watch(&x->files, p[0], on_files);
	loop_want(x->loop, &x->files, EPOLLIN);
	if (x->link.ops->export(&x->link, &req, p[1], &e) < 0)
		give_up(x, &e);
}

/* Both have come: the last record, and the maker's word that it was the last. */
static void end_export(struct run *x)
{
	if (x->failed) {
		give_up(x, &x->err);
		return;
	}
	if (x->req->workspace) {
		x->res->files.sent = feeder_sent(x->res->fed, x->sent_count, x->arena);
		x->res->files.sent_count = x->sent_count;
	}
	artifacts_place(&x->res->files);
	artifacts_done(&x->res->files);
	conclude(x);
}

static void on_files(struct watch *w, uint32_t events)
{
	struct run *x = CONTAINER_OF(w, struct run, files);
	int rc = artifacts_step(&x->res->files, w->fd, &x->err);

	(void)events;
	if (rc == 0)
		return;
	/* Should the maker have a reason of its own, that is the better one: it comes over the link. */
	x->failed = rc < 0;
	watch_close(w);
	if (x->exported)
		end_export(x);
}

/* All is done; what is left is the doubt whether it ran at all. */
static void conclude(struct run *x)
{
	struct err e = { 0 };

	if (!x->doubtful) {
		finish(x);
		return;
	}
	/* A jar of a pool's is used up: another one. */
	x->doubtful = false;
	close_source(x);
	x->link.ops->done(&x->link);
	pool_link(x->pool, &x->link);
	if (x->link.ops->make(&x->link, x->req, false, &e) < 0) {
		finish(x);
		return;
	}
	x->link.kind = POOL_EXEC;
	begin_recheck(x);
}

static void after_files(struct run *x)
{
	struct err e = { 0 };

	if (!x->req->get.n && !x->req->workspace) {
		conclude(x);
		return;
	}
	x->state = RUN_END;
	if (x->link.ops->end(&x->link, &e) < 0)
		give_up(x, &e);
}

/* Of code that does not compile nothing ran: its jar's files are what went in. */
static void after_recheck(struct run *x, bool failed)
{
	bool wrong = !failed && syntax_read(x->req, &x->res->asked, &x->res->syntax, x->arena) == 1;

	if (wrong) {
		x->res->files.list = NULL;
		x->res->files.count = 0;
		blame_syntax(x);
	} else if (!x->pool || x->recheck_here) {
		after_files(x);
	} else {
		finish(x);
	}
}

static void after_main(struct run *x)
{
	bool likely = syntax_is_likely(x->req, &x->res->run);

	x->res->verdict = x->res->run.verdict;
	/* A keeper of its own makes one jar: what it holds of the program is not looked at, the code comes by standard input. */
	x->recheck_here = likely && x->link.sock.fd >= 0;
	x->doubtful = likely && !x->recheck_here;
	if (x->recheck_here) {
		close_source(x);
		scrub_then(x, begin_recheck);
	} else {
		after_files(x);
	}
}

/* Before anything runs: a folder that cannot be written to afterwards would cost the caller the result. */
static int open_target(struct run *x, struct err *e)
{
	const char *to = x->req->workspace ? x->req->workspace : x->req->out_dir;

	if (!to)
		return 0;
	if (x->req->out_dir)
		mkdir(to, 0755);
	x->target = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (x->target < 0 || faccessat(x->target, ".", W_OK, AT_EACCESS) < 0) {
		err_sys(e, "%s: %s", x->req->workspace ? "--workspace" : "--out", to);
		e->kind = ERR_INPUT;
		return -1;
	}
	return 0;
}

/* ---- the whole ---- */

static bool in_step(const struct run *x)
{
	return x->state == RUN_COMPILE || x->state == RUN_MAIN || x->state == RUN_SYNTAX || x->state == RUN_RECHECK;
}

/* The jar, and the first guest in it. */
static void begin_jar(struct run *x)
{
	bool compiled = x->req->lang && x->req->lang->compile, asked = syntax_is_first(x->req, x->res);
	struct err e = { 0 };

	if (x->link.ops->make(&x->link, x->req, compiled || asked || x->req->get.n || x->req->workspace, &e) < 0) {
		give_up(x, &e);
		return;
	}
	/* Any jar will do to be asked in; a warmed interpreter is for the program. */
	if (asked && x->pool && x->link.sock.fd < 0)
		x->link.kind = POOL_EXEC;
	if (x->opt->before_start && x->opt->before_start(x->opt->ctx, &e) < 0) {
		give_up(x, &e);
		return;
	}
	if (x->step) {
		/* A pool refused it: the same once more. */
		x->state = x->step == &x->res->compile ? RUN_COMPILE : x->step == &x->res->run ? RUN_MAIN : x->res->run.there ? RUN_RECHECK : RUN_SYNTAX;
		if (launch(x, &e) < 0)
			step_failed(x, &e);
	} else if (asked) {
		begin_syntax(x);
	} else if (compiled) {
		begin_compile(x);
	} else {
		begin_main(x);
	}
}

static void ask_cold(struct run *x)
{
	struct err e = { 0 };

	x->state = RUN_SOCKET;
	if (pool_cold(x->pool, &x->link, &e) < 0)
		give_up(x, &e);
}

static void on_socket(struct run *x, int sock)
{
	struct err e = { 0 };

	if (link_direct(&x->link, sock, &e) < 0) {
		give_up(x, &e);
	} else if (x->cancelled) {
		give_up_cancelled(x);
	} else {
		begin_jar(x);
	}
}

static void on_failed(struct run *x, const struct err *e)
{
	/* A reason of our own (a file that could not be read) is the better one, but for artifacts the maker's is. */
	if (!x->failed || x->state == RUN_EXPORT)
		x->err = *e;
	if (x->state == RUN_RECHECK) {
		/* Nobody could be asked: the program's own end stands. */
		close_pipes(x);
		x->failed = false;
		finish(x);
		return;
	}
	x->failed = true;
	if (in_step(x))
		end_step(x);
	else
		give_up(x, &x->err);
}

static void on_exited(struct run *x)
{
	enum run_state state = x->state;

	if (!end_step(x))
		return;
	if (state == RUN_COMPILE)
		after_compile(x);
	else if (state == RUN_SYNTAX)
		after_syntax(x);
	else if (state == RUN_RECHECK)
		after_recheck(x, x->cancelled);
	else
		after_main(x);
}

/* A guest that was started before there was a request has had its pipes since then: ours were in vain. */
static void on_streams(struct run *x, const int fds[4])
{
	struct err e = { 0 };

	if (!in_step(x)) {
		link_close_fds(fds, 4);
		return;
	}
	close_pipes(x);
	for (int i = 0; i < 4; i++)
		fcntl(fds[i], F_SETFL, O_NONBLOCK);
	if (use_pipes(x, fds[0], fds[1], fds[2], fds[3], &e) < 0) {
		x->err = e;
		x->failed = true;
		ask_kill(x, JAR_ENDED_CANCELLED);
	}
}

/* An answer that belongs to no question of this state is late, and nobody's. */
static void on_link(struct link *l, const struct link_event *ev)
{
	struct run *x = CONTAINER_OF(l, struct run, link);

	if (ev->facts && x->state != RUN_RECHECK && !(x->state == RUN_SOCKET && x->step == &x->res->asked && x->res->run.there)) {
		x->res->facts = *ev->facts;
		x->res->have_facts = true;
	}
	switch (ev->type) {
	case LINK_MADE:
		break;
	case LINK_DENIED:
		if (in_step(x))
			x->step->denied = *ev->denied;
		break;
	case LINK_EXITED:
		if (!in_step(x))
			break;
		x->step->evidence = *ev->evidence;
		on_exited(x);
		break;
	case LINK_SCRUBBED:
		if (x->state == RUN_SCRUB)
			x->next(x);
		break;
	case LINK_ENDED:
		if (x->state == RUN_END && x->cancelled)
			give_up_cancelled(x);
		else if (x->state == RUN_END)
			begin_export(x);
		break;
	case LINK_EXPORTED:
		x->exported = true;
		if (x->state == RUN_EXPORT && x->files.fd < 0)
			end_export(x);
		break;
	case LINK_FAILED:
		on_failed(x, ev->err);
		break;
	case LINK_REFUSED:
		close_pipes(x);
		ask_cold(x);
		break;
	case LINK_STREAMS:
		on_streams(x, ev->fds);
		break;
	case LINK_METER:
		meter_set(&x->meter, ev->fd, ev->evidence->cg.cpu_ns);
		break;
	case LINK_SOCKET:
		on_socket(x, ev->fd);
		break;
	}
}

/* What is found does not decide whether it runs: somebody else has work to do meanwhile. */
static void check_late(struct run *x)
{
	struct err e = { 0 };

	if (!x->unchecked)
		return;
	x->unchecked = false;
	policy_check(x->req, x->arena, &x->res->check, &e);
}

static void finish(struct run *x)
{
	check_late(x);
	x->state = RUN_DONE;
	meter_close(&x->meter);
	close_pipes(x);
	close_source(x);
	watch_close(&x->files);
	fd_close(&x->target);
	feeder_done(&x->feeder);
	artifacts_done(&x->res->files);
	if (x->link.ops)
		x->link.ops->done(&x->link);
	x->finished(x);
}

void run_cancel(struct run *x)
{
	if (in_step(x)) {
		x->cancelled = true;
		ask_kill(x, JAR_ENDED_CANCELLED);
	} else if (x->state != RUN_DONE) {
		x->cancelled = true;
		/* A place in a pool is ours until its keeper has answered. */
		if (!x->pool || x->link.sock.fd >= 0)
			give_up_cancelled(x);
	}
}

void run_interrupt(struct run *x)
{
	if (in_step(x) && x->interrupts++ == 0)
		x->link.ops->signal(&x->link, SIGINT);
	else
		run_cancel(x);
}

void run_init(struct run *x, struct loop *loop, const struct run_options *opt, void (*finished)(struct run *))
{
	memset(x, 0, sizeof(*x));
	x->loop = x->link.loop = loop;
	x->opt = opt;
	x->finished = finished;
	x->link.event = on_link;
	x->state = RUN_DONE;
	meter_init(&x->meter);
}

/* The state folder once a process: a million runs of a batch need not ask for it again. */
static int log_dir(const char **out, struct err *e)
{
	static char dir[400];

	if (!dir[0] && state_log_dir(dir, sizeof(dir), e) < 0) {
		dir[0] = '\0';
		return -1;
	}
	*out = dir;
	return 0;
}

/* Everything that can be said no to before there is a jar. */
static int prepare(struct run *x, struct err *e)
{
	int rc = log_dir(&x->log_dir, e);

	if (rc == 0 && !x->req->syntax_only && x->req->policy == POLICY_WARN && !policy_can_refuse(x->req)) {
		rc = rules_of(x->req->rules, e) ? 0 : -1;
		x->unchecked = rc == 0;
	} else if (rc == 0 && !x->req->syntax_only) {
		rc = policy_check(x->req, x->arena, &x->res->check, e);
	}
	if (rc == 0)
		rc = policy_decide(x->req, &x->res->check, e);
	if (rc == 0 && (open_target(x, e) < 0 || open_stdin(x, e) < 0 || feed_files(x, e) < 0))
		rc = -1;
	x->res->fed = x->feeder.entries;
	for (const struct feeder_skipped *s = x->feeder.skipped; s; s = s->next) {
		struct artifact *f = artifacts_add(&x->res->files, s->name);

		f->on_host = true;
		artifacts_refuse(&x->res->files, f, s->why);
	}
	return rc;
}

static void reset(struct run *x, const struct request *req, struct arena *a, struct result *res)
{
	x->req = req;
	x->arena = a;
	x->res = res;
	x->pool = NULL;
	x->state = RUN_SOCKET;
	x->step = NULL;
	x->sent_count = 0;
	x->interrupts = 0;
	x->again = x->doubtful = x->recheck_here = x->unchecked = false;
	x->cancelled = x->killed = x->failed = x->exported = x->source_plain = false;
	x->in_block = NULL;
	x->in_left = 0;
	x->say.max = SIZE_MAX / 2;
	x->say.len = x->say_at = 0;
	x->heard = x->hung_up = false;
	x->target = -1;
	x->in.fd = x->out[0].fd = x->out[1].fd = x->feed.fd = x->files.fd = x->source.fd = x->link.sock.fd = -1;
	x->in.added = x->out[0].added = x->out[1].added = x->feed.added = x->files.added = x->source.added = x->link.sock.added = false;
	x->source.ready = on_source;
	x->link.ops = NULL;
	x->link.pool = NULL;
	feeder_init(&x->feeder, a);
	x->feeder.hashing = x->opt->receipts || req->workspace; /* what a program left as it was is known by its hash */
	artifacts_init(&res->files, a);
}

void run_begin(struct run *x, const struct request *req, int keeper, struct arena *a, struct result *res)
{
	struct err e = { 0 };

	reset(x, req, a, res);
	if (prepare(x, &e) < 0 || link_direct(&x->link, keeper, &e) < 0) {
		give_up(x, &e);
		return;
	}
	begin_jar(x);
	check_late(x);
}

void run_begin_pooled(struct run *x, const struct request *req, struct pool *pool, uint32_t number, struct arena *a, struct result *res)
{
	struct err e = { 0 };

	reset(x, req, a, res);
	x->pool = pool;
	x->link.number = number;
	if (prepare(x, &e) < 0) {
		give_up(x, &e);
		return;
	}
	if (!pool_can_serve(req)) {
		ask_cold(x);
	} else {
		pool_link(pool, &x->link);
		begin_jar(x);
	}
	/* The kernel takes whoever sends for somebody who is about to sleep, and lets the keeper wait for this CPU. */
	if (x->unchecked)
		sched_yield();
	check_late(x);
}

/* ---- one run alone ---- */

struct alone {
	struct run run;
	struct watch signals;
	bool over;
};

static void on_over(struct run *x)
{
	CONTAINER_OF(x, struct alone, run)->over = true;
}

/* Ctrl-C goes to the program once; the second one, and every other signal, ends the run. */
static void on_signal(struct watch *w, uint32_t events)
{
	struct alone *o = CONTAINER_OF(w, struct alone, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (read(w->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGINT)
		run_interrupt(&o->run);
	else
		run_cancel(&o->run);
}

void run_execute(const struct request *req, const struct run_options *opt, struct client *client, struct arena *a,
		 struct result *res)
{
	static struct alone o;
	struct loop loop;
	struct err e = { 0 };
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &old);
	o.over = false;
	o.signals = (struct watch){ .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_signal };
	if (loop_init(&loop, &e) < 0 || loop_want(&loop, &o.signals, EPOLLIN) < 0) {
		verdict_error(&res->verdict, &e);
	} else {
		run_init(&o.run, &loop, opt, on_over);
		run_begin(&o.run, req, take_fd(&client->sock), a, res);
		if (!o.over && opt->meanwhile)
			opt->meanwhile(opt->ctx);
		while (!o.over)
			loop_wait(&loop, -1);
	}
	watch_close(&o.signals);
	loop_done(&loop);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

void run_result_done(struct result *res)
{
	for (int i = 0; i < 2; i++) {
		if (res->compile.there)
			output_done(&res->compile.out[i]);
		if (res->run.there)
			output_done(&res->run.out[i]);
		if (res->asked.there)
			output_done(&res->asked.out[i]);
	}
}
