/* SPDX-License-Identifier: Apache-2.0 */
/* One run: a resolved request in, one result out. */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "jar/root.h"
#include "kernel/sys.h"
#include "jar/feed.h"
#include "keeper/slot.h"
#include "run/feeder.h"
#include "run/state.h"

#define PROGRAM "/tmp/program" /* what a compiled language makes */
#define BLOCK	65536

struct run {
	const struct request *req;
	const struct run_options *opt;
	struct client *client;
	struct arena *arena;
	struct result *res;
	int signals;
	int target; /* folder that files come back to, -1: none */
	unsigned interrupts;
	bool cancelled; /* a signal asked for the end */
	char log_dir[400];
	/* the step under way */
	struct step_result *step;
	struct feeder feeder;
	int feed, in, out[2]; /* our ends of the guest's pipes */
	int in_source;	      /* where stdin comes from, -1: memory or nothing */
	const char *in_data;
	size_t in_left;
	char in_block[BLOCK];
	bool killed, exited, failed;
	struct err err;
};

/* ---- commands and environment ---- */

static const char *expand(const struct request *req, const char *word, struct arena *a)
{
	if (strcmp(word, "{file}") == 0)
		return arena_fmt(a, "/workspace/%s", req->code_name);
	if (strcmp(word, "{out}") == 0)
		return PROGRAM;
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

void run_environment(const struct request *req, struct arena *a, struct strlist *out)
{
	static const char *const base[] = {
		"SANDBOX_MODE=1", ("HOME=" ROOT_HOME), "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LANG=C.UTF-8", "TMPDIR=/tmp",
	};

	for (size_t i = 0; i < sizeof(base) / sizeof(base[0]); i++)
		set_env(out, base[i], a);
	for (const char *const *v = req->lang ? req->lang->env : NULL; v && *v; v++)
		set_env(out, *v, a);
	for (size_t i = 0; i < req->env.n; i++)
		set_env(out, req->env.v[i], a);
}

/* ---- what goes in ---- */

static int feed_workspace(struct run *x, struct strlist *sent, struct err *e)
{
	struct stat st;

	if (stat(x->req->workspace, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, ERR_INPUT, "--workspace: %s is not a folder", x->req->workspace);
	if (feeder_add_path(&x->feeder, x->req->workspace, "", "--workspace", e) < 0)
		return -1;
	feeder_names(&x->feeder, sent);
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

/* `sent`: what of --workspace went in, to see later what is gone. */
static int feed_files(struct run *x, struct strlist *sent, struct err *e)
{
	const struct request *r = x->req;
	struct feeder *f = &x->feeder;

	if (r->workspace && feed_workspace(x, sent, e) < 0)
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

/* ---- the jar ---- */

/* procfs, sysfs and their kind tell about the host what the jar is there to hide (FS-23, PR-01, KS-12). */
static bool shows_kernel(int fd)
{
	static const long magics[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
				       TRACEFS_MAGIC, SECURITYFS_MAGIC, BPF_FS_MAGIC, DEVPTS_SUPER_MAGIC };
	struct statfs s;

	if (fstatfs(fd, &s) < 0)
		return true;
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if ((long)s.f_type == magics[i])
			return true;
	return false;
}

/* "/" and "/dev" of the host are no folders to show. */
static bool is_root(const struct stat *st)
{
	static const char *const paths[] = { "/", "/dev" };
	struct stat other;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (stat(paths[i], &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino)
			return true;
	return false;
}

/* "SRC:DST" as descriptor and target; what the guest could not read anyway is refused here, with a reason. */
static int open_bind(const char *text, struct jar_spec *spec, int *fd, struct err *e)
{
	char src[4096];
	const char *colon = strrchr(text, ':'), *dst = colon ? colon + 1 : NULL;
	struct stat st;

	if (!colon || colon == text || (size_t)(colon - text) >= sizeof(src))
		return err_set(e, ERR_USAGE, "--ro: '%.100s' is not SRC:DST", text);
	if (spec->bind_count == JAR_BINDS_MAX)
		return err_set(e, ERR_USAGE, "--ro: at most %d", JAR_BINDS_MAX);
	snprintf(src, sizeof(src), "%.*s", (int)(colon - text), text);
	if (strlen(dst) >= JAR_PATH_MAX || !root_bind_path_ok(dst)) {
		err_set(e, ERR_USAGE, "--ro: '%.100s' cannot be a target in the jar", dst);
		return err_hint(e, "choose a new absolute path like /data");
	}
	*fd = open(src, O_PATH | O_CLOEXEC);
	if (*fd < 0 || fstat(*fd, &st) < 0) {
		err_sys(e, "--ro: %s", src);
		e->kind = ERR_INPUT;
		return -1;
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return err_set(e, ERR_INPUT, "--ro: %s is neither a file nor a folder", src);
	if (shows_kernel(*fd) || (S_ISDIR(st.st_mode) && is_root(&st))) {
		err_set(e, ERR_INPUT, "--ro: %s shows the host's own processes, devices or settings", src);
		return err_hint(e, "name the folders that are needed");
	}
	if (!slot_is_single() && (S_ISDIR(st.st_mode) ? (st.st_mode & 05) != 05 : !(st.st_mode & 04))) {
		err_set(e, ERR_INPUT, "--ro: %s has mode %04o: a guest, who is nobody on this host, could not read it", src,
			st.st_mode & 07777);
		return err_hint(e, "chmod o+rX it, or copy it in with --file");
	}
	snprintf(spec->binds[spec->bind_count++], JAR_PATH_MAX, "%s", dst);
	return 0;
}

static int make_jar(struct run *x, struct err *e)
{
	static struct keeper_make m;
	int fds[JAR_BINDS_MAX] = { 0 }, rc = -1;

	memset(&m, 0, sizeof(m));
	m.op = KEEPER_MAKE;
	m.spec.uid = (uint32_t)x->req->uid;
	m.spec.disk_bytes = x->req->limits.disk_bytes;
	m.spec.pids = x->req->limits.pids;
	m.spec.flags = (strcmp(x->req->network, "host") == 0 ? JAR_NET_HOST : 0) | (x->req->no_write ? JAR_NO_WRITE : 0) |
		       (x->req->allow_degraded ? JAR_DEGRADED : 0);
	snprintf(m.spec.hostname, sizeof(m.spec.hostname), "%s", x->req->hostname);
	for (size_t i = 0; i < x->req->ro.n; i++) {
		auto_close int fd = -1;

		/* Checks that there is room before it counts one more. */
		if (open_bind(x->req->ro.v[i], &m.spec, &fd, e) < 0)
			goto out;
		fds[m.spec.bind_count - 1] = take_fd(&fd);
	}
	rc = client_send(x->client, &m, sizeof(m), fds, m.spec.bind_count, e);
out:
	for (uint32_t i = 0; i < m.spec.bind_count; i++)
		close(fds[i]);
	return rc;
}

/* ---- pipes ---- */

/*
 * Our own pipes, never the caller's streams: the guest gets no descriptor of the host's. Others may open the guest's end
 * again through /dev/stdout or /dev/stdin, in its own direction only: pipes belong to us, the guest is another user.
 */
static int make_pipe(int p[2], mode_t mode, struct err *e)
{
	if (pipe2(p, O_CLOEXEC) < 0 || fchmod(p[0], mode) < 0)
		return err_sys(e, "make a pipe");
	return 0;
}

static void no_block(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static int open_stdin(struct run *x, struct err *e)
{
	const struct request *r = x->req;
	struct stat st;

	x->in_source = -1;
	x->in_data = r->stdin_data;
	x->in_left = r->stdin_data ? r->stdin_len : 0;
	if (!r->stdin_path)
		return 0;
	if (strcmp(r->stdin_path, "-") == 0) {
		x->in_source = fcntl(0, F_DUPFD_CLOEXEC, 3);
	} else {
		/* A FIFO without a writer must not hold us: the loop waits for it, and for the clock. */
		x->in_source = open(r->stdin_path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	}
	if (x->in_source < 0 || fstat(x->in_source, &st) < 0) {
		err_sys(e, "--stdin: %s", r->stdin_path);
		e->kind = ERR_INPUT;
		return -1;
	}
	if (S_ISDIR(st.st_mode))
		return err_set(e, ERR_INPUT, "--stdin: %s is a folder", r->stdin_path);
	return 0;
}

static int start_step(struct run *x, const struct strlist *cmd, const struct jar_limits *limits, bool last, struct err *e)
{
	struct keeper_start s = { .op = KEEPER_START, .last = last, .limits = *limits };
	struct strlist env = { 0 };
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 }, feed[2] = { -1, -1 }, fds[4], rc;

	run_environment(x->req, x->arena, &env);
	if (feeder_add_words(&x->feeder, FEED_ENV, env.v, e) < 0 || feeder_add_words(&x->feeder, FEED_ARGV, cmd->v, e) < 0)
		return -1;
	feeder_add_cwd(&x->feeder, x->req->workdir);
	feeder_go(&x->feeder);
	if (make_pipe(in, 0444, e) < 0 || make_pipe(out, 0222, e) < 0 || make_pipe(err, 0222, e) < 0 ||
	    make_pipe(feed, 0400, e) < 0)
		return -1;
	fds[0] = in[0];
	fds[1] = out[1];
	fds[2] = err[1];
	fds[3] = feed[0];
	rc = client_send(x->client, &s, sizeof(s), fds, 4, e);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	x->in = in[1];
	x->out[0] = out[0];
	x->out[1] = err[0];
	x->feed = feed[1];
	no_block(x->in);
	no_block(x->out[0]);
	no_block(x->out[1]);
	no_block(x->feed);
	if (x->in_source < 0 && !x->in_left)
		fd_close(&x->in);
	return rc;
}

/* ---- while it runs ---- */

static void ask_kill(struct run *x, uint32_t why)
{
	struct keeper_kill k = { KEEPER_KILL, why };

	if (x->killed)
		return;
	x->killed = true;
	client_send(x->client, &k, sizeof(k), NULL, 0, NULL);
}

/* One read of at most `max` bytes; false when there is nothing more for now. */
static bool read_output(struct run *x, int i, size_t max)
{
	static char block[BLOCK];
	struct output *o = &x->step->out[i];
	char log[512];
	ssize_t n = read(x->out[i], block, max < sizeof(block) ? max : sizeof(block));
	int rc;

	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0)
		return false;
	if (n == 0) {
		fd_close(&x->out[i]);
		return false;
	}
	if (x->killed)
		return true; /* past its cap: thrown away until it is dead */
	snprintf(log, sizeof(log), "%s/%s.%s%s", x->log_dir, x->res->execution_id,
		 x->step == &x->res->compile ? "compile-" : "", i ? "stderr" : "stdout");
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
	return true;
}

/* The guest's standard input: as much as its pipe takes. */
static void write_input(struct run *x)
{
	if (!x->in_left && x->in_source >= 0) {
		ssize_t n = read(x->in_source, x->in_block, sizeof(x->in_block));

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return;
		if (n <= 0) {
			fd_close(&x->in_source);
		} else {
			x->in_data = x->in_block;
			x->in_left = (size_t)n;
		}
	}
	while (x->in_left) {
		ssize_t n = write(x->in, x->in_data, x->in_left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			/* It does not read any more: that is its business. */
			fd_close(&x->in);
			fd_close(&x->in_source);
			x->in_left = 0;
			return;
		}
		x->in_data += n;
		x->in_left -= (size_t)n;
	}
	if (x->in_source < 0)
		fd_close(&x->in);
}

static void write_feed(struct run *x)
{
	struct err e = { 0 };
	int rc = feeder_write(&x->feeder, x->feed, &e);

	if (rc == 0)
		return;
	fd_close(&x->feed);
	if (rc < 0) {
		x->err = e;
		x->failed = true;
		ask_kill(x, JAR_ENDED_CANCELLED);
	}
}

/* Ctrl-C goes to the program once; the second one ends the run. */
static void on_signal(struct run *x)
{
	struct signalfd_siginfo info;
	struct keeper_signal s = { KEEPER_SIGNAL, SIGINT };

	if (read(x->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGINT && x->interrupts++ == 0)
		client_send(x->client, &s, sizeof(s), NULL, 0, NULL);
	else {
		x->cancelled = true;
		ask_kill(x, JAR_ENDED_CANCELLED);
	}
}

static void on_event(struct run *x)
{
	struct keeper_event ev;

	client_read(x->client, &ev);
	switch (ev.type) {
	case KEEPER_MADE:
		x->res->facts = ev.facts;
		x->res->have_facts = true;
		break;
	case KEEPER_EXITED:
		x->step->evidence = ev.evidence;
		x->exited = true;
		break;
	case KEEPER_FAILED:
		/* A reason of our own (a file that could not be read) is the better one. */
		if (!x->failed)
			x->err = ev.err;
		x->failed = x->exited = true;
		break;
	default:
		break;
	}
}

/* What the program wrote is in the pipe now. Who else holds it open, and goes on writing, does not matter. */
static void drain(struct run *x, int i)
{
	int left = 0;

	if (x->out[i] < 0 || ioctl(x->out[i], FIONREAD, &left) < 0)
		return;
	while (left > 0 && x->out[i] >= 0) {
		if (!read_output(x, i, (size_t)left))
			return;
		left -= BLOCK;
	}
}

static void watch_step(struct run *x)
{
	x->exited = x->failed = x->killed = false;
	while (!x->exited) {
		bool want_in = x->in >= 0 && (x->in_left || x->in_source < 0);
		struct pollfd p[] = {
			{ x->client->sock, POLLIN, 0 },
			{ x->out[0], POLLIN, 0 },
			{ x->out[1], POLLIN, 0 },
			{ x->feed, POLLOUT, 0 },
			{ want_in ? x->in : -1, POLLOUT, 0 },
			{ x->in >= 0 && !x->in_left ? x->in_source : -1, POLLIN, 0 },
			{ x->signals, POLLIN, 0 },
			/* Only an error can come here: the guest closed its end while we wait for our own input. */
			{ x->in >= 0 && !want_in ? x->in : -1, 0, 0 },
		};

		if (poll(p, sizeof(p) / sizeof(p[0]), -1) < 0)
			continue;
		if (p[3].revents)
			write_feed(x);
		for (int i = 0; i < 2; i++)
			if (p[1 + i].revents && x->out[i] >= 0)
				read_output(x, i, BLOCK);
		if (p[4].revents || p[5].revents)
			write_input(x);
		if (p[7].revents) {
			fd_close(&x->in);
			fd_close(&x->in_source);
		}
		if (p[6].revents)
			on_signal(x);
		if (p[0].revents)
			on_event(x);
	}
	for (int i = 0; i < 2; i++) {
		drain(x, i);
		output_end(&x->step->out[i]);
		fd_close(&x->out[i]);
	}
	fd_close(&x->in);
	fd_close(&x->feed);
}

static int do_step(struct run *x, struct step_result *s, bool last)
{
	struct err e = { 0 };

	x->step = s;
	x->in = x->feed = x->out[0] = x->out[1] = -1;
	s->there = true;
	for (int i = 0; i < 2; i++) {
		if (output_init(&s->out[i], s->limits.output_bytes, s->limits.log_bytes, &e) < 0)
			goto fail;
		s->out[i].live = x->opt->live ? 1 + i : -1;
		s->out[i].escape = x->opt->terminal[i];
		/* A caller who sees everything live needs no copy. */
		s->out[i].keep_log = !x->opt->live;
	}
	if (start_step(x, &s->command, &s->limits, last, &e) < 0)
		goto fail;
	watch_step(x);
	feeder_done(&x->feeder);
	feeder_init(&x->feeder, x->arena);
	if (!x->failed) {
		verdict_make(&s->verdict, &s->evidence, &s->limits);
		return 0;
	}
	e = x->err;
fail:
	verdict_error(&s->verdict, &e);
	/* Asked to end before it began: that is no failure of the set-up. */
	if (x->cancelled)
		verdict_cancelled(&s->verdict);
	return -1;
}

/* Waits for one kind of answer outside of a step. A signal gives up: the keeper ends the jar when we are gone. */
static int await(struct run *x, uint32_t type, struct err *e)
{
	struct keeper_event ev = { .type = 0 };

	do {
		struct pollfd p[] = { { x->client->sock, POLLIN, 0 }, { x->signals, POLLIN, 0 } };

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents) {
			x->cancelled = true;
			return err_set(e, ERR_INTERNAL, "interrupted while the jar was cleared away");
		}
		client_read(x->client, &ev);
		if (ev.type == KEEPER_FAILED) {
			*e = ev.err;
			return -1;
		}
	} while (ev.type != type);
	return 0;
}

/* ---- the two steps ---- */

static int scrub(struct run *x, struct err *e)
{
	struct keeper_plain p = { KEEPER_SCRUB };

	return client_send(x->client, &p, sizeof(p), NULL, 0, e) < 0 ? -1 : await(x, KEEPER_SCRUBBED, e);
}

/* The compiler is a guest like any other, with the request's own limits but room to work. */
static int compile_step(struct run *x)
{
	struct step_result *s = &x->res->compile;
	struct verdict *v = &x->res->verdict;
	struct err e = { 0 };

	run_command(x->req, x->req->lang->compile, x->arena, &s->command);
	s->limits = x->req->limits;
	if (s->limits.memory_bytes < 512ULL << 20)
		s->limits.memory_bytes = 512ULL << 20;
	if (s->limits.pids < 64)
		s->limits.pids = 64;
	s->limits.cpu_ms = 0;
	if (do_step(x, s, false) < 0) {
		*v = s->verdict;
		return -1;
	}
	if (s->verdict.status == STATUS_COMPLETED && s->verdict.exited && s->verdict.exit_code == 0) {
		if (scrub(x, &e) == 0)
			return 0;
		verdict_error(v, &e);
		if (x->cancelled)
			verdict_cancelled(v);
		return -1;
	}
	*v = s->verdict;
	if (v->status == STATUS_COMPLETED) {
		/* The program never ran: the compiler's own exit code is not the program's. */
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
	return -1;
}

static int run_step(struct run *x)
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
	if (do_step(x, s, true) < 0) {
		x->res->verdict = s->verdict;
		return -1;
	}
	x->res->verdict = s->verdict;
	return 0;
}

/* ---- what comes out ---- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Files and folders that went in with --workspace and are gone in the jar are removed from the host's folder too. */
static void remove_deleted(struct run *x, const struct strlist *sent, int dir)
{
	struct artifacts *files = &x->res->files;
	const char **have = arena_alloc(x->arena, (files->count + 1) * sizeof(*have));
	size_t n = 0;

	for (const struct artifact *f = files->list; f; f = f->next)
		have[n++] = f->path;
	qsort(have, n, sizeof(*have), compare_names);
	/* Backwards: what is in a folder was listed after it. */
	for (size_t i = sent->n; i-- > 0;) {
		const char *name = sent->v[i], *slash = strrchr(name, '/'), *leaf = slash ? slash + 1 : name;
		auto_close int parent = -1;

		/* git's own data does not come back, and does not go away either. */
		if (artifacts_is_git(name) || bsearch(&name, have, n, sizeof(*have), compare_names))
			continue;
		parent = slash ? sys_openat2(dir, arena_dup_len(x->arena, name, (size_t)(slash - name)), O_PATH | O_DIRECTORY, 0,
					     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
			       : fcntl(dir, F_DUPFD_CLOEXEC, 3);
		if (parent >= 0 && (unlinkat(parent, leaf, 0) == 0 || (errno == EISDIR && unlinkat(parent, leaf, AT_REMOVEDIR) == 0)))
			strlist_add(x->arena, &x->res->deleted, name);
	}
}

static int export_files(struct run *x, const struct strlist *sent, struct err *e)
{
	const struct request *r = x->req;
	static struct keeper_export req;
	struct keeper_plain end = { KEEPER_END };
	struct artifacts *files = &x->res->files;
	auto_close int keep = -1;
	int p[2], out = x->target;

	memset(&req, 0, sizeof(req));
	req.op = KEEPER_EXPORT;
	req.req.file_max_bytes = r->limits.disk_bytes;
	req.req.total_max_bytes = r->limits.disk_bytes * 2;
	if (r->workspace)
		snprintf(req.req.globs[req.req.count++], JAR_PATH_MAX, "**");
	for (size_t i = 0; i < r->get.n && req.req.count < JAR_GLOBS_MAX; i++) {
		const char *g = r->get.v[i];

		if (strncmp(g, "/workspace/", 11) == 0)
			g += 11;
		snprintf(req.req.globs[req.req.count++], JAR_PATH_MAX, "%s", g);
	}
	if (client_send(x->client, &end, sizeof(end), NULL, 0, e) < 0 || await(x, KEEPER_ENDED, e) < 0)
		return -1;
	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	keep = p[0];
	if (client_send(x->client, &req, sizeof(req), &p[1], 1, e) < 0) {
		close(p[1]);
		return -1;
	}
	close(p[1]);
	files->out = out;
	files->workspace = r->workspace != NULL;
	if (r->workspace && r->lang && !r->code_in_workspace)
		files->skip = r->code_name;
	if (artifacts_read(files, keep, e) < 0) {
		struct err said;

		/* The maker's own reason is the better one. */
		if (await(x, KEEPER_EXPORTED, &said) < 0)
			*e = said;
		return -1;
	}
	/* A list that is not whole says nothing about what is gone. */
	if (r->workspace && !files->incomplete)
		remove_deleted(x, sent, out);
	return await(x, KEEPER_EXPORTED, e);
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

static void execute(struct run *x)
{
	struct err e = { 0 };
	struct strlist sent = { 0 };
	const struct request *r = x->req;

	feeder_init(&x->feeder, x->arena);
	if (state_log_dir(x->log_dir, sizeof(x->log_dir), &e) < 0 || open_target(x, &e) < 0 || open_stdin(x, &e) < 0 || feed_files(x, &sent, &e) < 0 ||
	    make_jar(x, &e) < 0) {
		verdict_error(&x->res->verdict, &e);
		return;
	}
	if (r->lang && r->lang->compile) {
		/* The program's input is not the compiler's. */
		int source = take_fd(&x->in_source);
		size_t left = x->in_left;

		x->in_left = 0;
		if (compile_step(x) < 0) {
			fd_close(&source);
			return;
		}
		x->in_source = source;
		x->in_left = left;
		x->in_data = r->stdin_data;
	}
	if (run_step(x) < 0)
		return;
	if ((r->get.n || r->workspace) && export_files(x, &sent, &e) < 0) {
		verdict_error(&x->res->verdict, &e);
		if (x->cancelled)
			verdict_cancelled(&x->res->verdict);
	}
}

void run_execute(const struct request *req, const struct run_options *opt, struct client *client, struct arena *a,
		 struct result *res)
{
	static struct run x;
	sigset_t set, old;

	memset(&x, 0, sizeof(x));
	x.req = req;
	x.opt = opt;
	x.client = client;
	x.arena = a;
	x.res = res;
	x.target = x.in_source = x.in = x.feed = x.out[0] = x.out[1] = -1;
	artifacts_init(&res->files, a);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &old);
	x.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	execute(&x);
	fd_close(&x.signals);
	fd_close(&x.target);
	fd_close(&x.in_source);
	feeder_done(&x.feeder);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

void run_result_done(struct result *res)
{
	for (int i = 0; i < 2; i++) {
		if (res->compile.there)
			output_done(&res->compile.out[i]);
		if (res->run.there)
			output_done(&res->run.out[i]);
	}
}
