/* SPDX-License-Identifier: Apache-2.0 */
/* belljar bench: `belljar batch` over pipes, request lines in, result lines out; the memory of its idle jars; a soak. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "bench/bench.h"

#define COLD_MS	  200 /* the wait for a batch that was never warm */
#define WARM_MS	  5000
#define WARM_ROWS 8 /* of warm results, one after the other */
#define LINES_MAX (64U << 20)
#define STOP_MS	  5000

/* ---- the process ----------------------------------------------------------------------------- */

static void request_line(struct batch *b, const struct bench_job *job)
{
	json_t *o = job->code ? json_pack("{s:s, s:s}", "language", job->language, "code", job->code) : json_object(),
	       *argv = json_array();
	char *text;

	for (const char *const *w = job->argv; *w; w++)
		json_array_append_new(argv, json_string(*w));
	if (!job->code)
		json_object_set(o, "argv", argv);
	json_object_set_new(o, "client", json_string("bench"));
	text = json_dumps(o, JSON_COMPACT);
	b->line_len = (size_t)snprintf(b->line, sizeof(b->line), "%s\n", text ? text : "{}");
	free(text);
	json_decref(argv);
	json_decref(o);
}

/* What it said on stderr, its first line; or how it ended. */
static int batch_lost(struct batch *b, struct err *e)
{
	char text[400];
	ssize_t n = pread(b->err, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	for (char *c = text; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	if (strstr(text, "unknown command"))
		return err_set(e, ERR_SETUP, "belljar batch does not exist");
	return err_set(e, ERR_SETUP, "belljar batch ended: %.200s", text[0] ? text : "it says nothing");
}

static _Noreturn void become_batch(const char *const *argv, int in, int out, int err)
{
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(127);
	signal(SIGPIPE, SIG_DFL);
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

int batch_start(struct batch *b, const struct bench_contender *c, const struct bench_job *job, unsigned width, const char *times, struct err *e)
{
	const char *argv[16] = { c->program };
	char number[16];
	int in[2], out[2];
	size_t n = 1;

	*b = (struct batch){ .in = -1, .out = -1, .err = -1, .text = BUF_INIT(LINES_MAX) };
	request_line(b, job);
	for (const char *const *w = c->row->words; *w; w++)
		argv[n++] = *w;
	snprintf(number, sizeof(number), "%u", width);
	argv[n++] = "-j";
	argv[n++] = number;
	if (job->preload) {
		argv[n++] = "--preload";
		argv[n++] = job->preload;
	}
	if (times) {
		snprintf(b->times, sizeof(b->times), "%s", times);
		argv[n++] = "--times";
		argv[n++] = b->times;
	}
	b->err = memfd_create("bench-stderr", MFD_CLOEXEC);
	if (b->err < 0 || pipe2(in, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	if (pipe2(out, O_CLOEXEC) < 0) {
		close(in[0]);
		close(in[1]);
		return err_sys(e, "make a pipe");
	}
	b->pid = vfork();
	if (b->pid == 0)
		become_batch(argv, in[0], out[1], b->err);
	close(in[0]);
	close(out[1]);
	b->in = in[1];
	b->out = out[0];
	return b->pid < 0 ? err_sys(e, "start %s", c->program) : 0;
}

int batch_send(struct batch *b, unsigned lines, struct err *e)
{
	static char text[BENCH_WIDTH_MAX * sizeof(b->line)];
	size_t len = 0;

	/* One write for all that is free: the client is not what is measured. */
	for (unsigned i = 0; i < lines && i < BENCH_WIDTH_MAX; i++) {
		memcpy(text + len, b->line, b->line_len);
		len += b->line_len;
	}
	if (fd_write_all(b->in, text, len) < 0)
		return batch_lost(b, e);
	b->sent += lines;
	return 0;
}

/* Reads what there is, after a wait of BENCH_HANG_MS at most. */
static int batch_read(struct batch *b, struct err *e)
{
	static char block[65536];
	uint64_t end = clock_mono_ns() + BENCH_HANG_MS * NS_PER_MS;
	ssize_t n;

	for (;;) {
		struct pollfd p = { .fd = b->out, .events = POLLIN };
		int rc = poll(&p, 1, 200);

		if (bench_stop)
			return err_set(e, ERR_SETUP, "stopped");
		if (rc > 0)
			break;
		if (clock_mono_ns() > end)
			return err_set(e, ERR_SETUP, "no result line within %d s", BENCH_HANG_MS / 1000);
	}
	n = read(b->out, block, sizeof(block));
	if (n <= 0)
		return batch_lost(b, e);
	if (buf_add(&b->text, block, (size_t)n) < 0)
		return err_set(e, ERR_SETUP, "a result line of more than 64 MiB");
	return 0;
}

/* Forgets what was given out last time. */
static void drop_taken(struct batch *b)
{
	if (b->taken) {
		memmove(b->text.data, b->text.data + b->taken, b->text.len - b->taken);
		b->text.len -= b->taken;
		b->taken = 0;
	}
}

const char *batch_next(struct batch *b, struct err *e)
{
	char *end;

	drop_taken(b);
	while (!b->text.len || !(end = memchr(b->text.data, '\n', b->text.len)))
		if (batch_read(b, e) < 0)
			return NULL;
	*end = '\0';
	b->taken = (size_t)(end - b->text.data) + 1;
	b->received++;
	return b->text.data;
}

int batch_more(struct batch *b, const char **text, size_t *len, struct err *e)
{
	const char *end;
	int lines = 0;

	drop_taken(b);
	while (!b->text.len || !(end = memrchr(b->text.data, '\n', b->text.len)))
		if (batch_read(b, e) < 0)
			return -1;
	b->taken = (size_t)(end - b->text.data) + 1;
	for (const char *p = b->text.data; p <= end; p++) {
		p = memchr(p, '\n', (size_t)(end - p) + 1);
		lines++;
	}
	b->received += (uint64_t)lines;
	*text = b->text.data;
	*len = b->taken;
	return lines;
}

void batch_check(const struct bench_job *job, const char *line, size_t len, struct bench_cell *cell)
{
	json_t *o = json_loadb(line, len, 0, NULL);
	const char *status = json_string_value(json_object_get(o, "status")),
		   *out = json_string_value(json_object_get(o, "stdout")),
		   *start = json_string_value(json_object_get(o, "start")),
		   *error = json_string_value(json_object_get(o, "error"));
	json_t *code = json_object_get(o, "exit_code");
	bool good = status && strcmp(status, "completed") == 0 && json_is_integer(code) && json_integer_value(code) == 0 && out &&
		    strcmp(out, job->want) == 0;

	cell->runs++;
	if (start && strcmp(start, "warm") == 0)
		cell->warm++;
	else if (start)
		cell->cold++;
	if (!good && !cell->errors++) {
		if (!o)
			snprintf(cell->error, sizeof(cell->error), "not a JSON line: %.100s", line);
		else
			snprintf(cell->error, sizeof(cell->error), "status %.20s, exit code %lld, stdout '%.40s'%s%.100s",
				 status ? status : "(none)", (long long)json_integer_value(code), out ? out : "(none)",
				 error ? ": " : "", error ? error : "");
	}
	json_decref(o);
}

int batch_warm(struct batch *b, const struct bench_job *job, unsigned width, bool *never, struct err *e)
{
	uint64_t end = clock_mono_ns() + (*never ? COLD_MS : WARM_MS) * NS_PER_MS;
	unsigned rows = 0;

	/* Zygotes start, pools fill: until all runs of some rows are warm. */
	while (rows < WARM_ROWS && clock_mono_ns() < end) {
		struct bench_cell seen = { 0 };
		const char *line;

		if (batch_send(b, width, e) < 0)
			return -1;
		for (unsigned i = 0; i < width; i++) {
			if (!(line = batch_next(b, e)))
				return -1;
			batch_check(job, line, strlen(line), &seen);
		}
		if (seen.errors)
			return err_set(e, ERR_SETUP, "%.200s", seen.error);
		rows = seen.cold ? 0 : rows + 1;
		if (seen.cold)
			usleep(20000); /* not yet: give it time rather than work */
	}
	*never = rows < WARM_ROWS;
	b->uncounted = b->sent;
	return 0;
}

void batch_stop(struct batch *b)
{
	static const int signals[] = { 0, SIGTERM, SIGKILL };

	fd_close(&b->in);
	for (size_t i = 0; b->pid > 0 && i < sizeof(signals) / sizeof(signals[0]); i++) {
		uint64_t end = clock_mono_ns() + STOP_MS * NS_PER_MS;

		if (signals[i])
			kill(b->pid, signals[i]);
		/* It may have results to write that nobody wants any more. */
		fd_close(&b->out);
		while (b->pid > 0 && clock_mono_ns() < end) {
			if (waitpid(b->pid, NULL, WNOHANG) != 0)
				b->pid = 0;
			else
				usleep(1000);
		}
	}
	fd_close(&b->out);
	fd_close(&b->err);
	buf_done(&b->text);
}

void batch_times(const struct batch *b, struct samples *out)
{
	FILE *f = b->times[0] ? fopen(b->times, "re") : NULL;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		json_t *o = json_loads(line, 0, NULL);

		if (o && (uint64_t)json_integer_value(json_object_get(o, "line")) > b->uncounted)
			samples_add(out, json_number_value(json_object_get(o, "latency_s")) * 1e3);
		json_decref(o);
	}
	if (f)
		fclose(f);
}

/* ---- memory ---------------------------------------------------------------------------------- */

#define JARS_MAX 256

struct jar_seen {
	ino_t pid_namespace;
	uint64_t pss_kb;
	bool python;
};

struct jars_seen {
	struct jar_seen v[JARS_MAX];
	unsigned n;
	ino_t own;
};

static bool read_pss(pid_t pid, uint64_t *kb)
{
	char path[48], text[4096], *at;
	int64_t value;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	if (fd_read_file(AT_FDCWD, path, text, sizeof(text)) < 0 || !(at = strstr(text, "\nPss:")) ||
	    (value = stats_field(at + 5, 0)) < 0)
		return false;
	*kb += (uint64_t)value;
	return true;
}

/* A process of a jar is in a pid namespace that is not ours; makers and zygotes are in ours. */
static void see_jar(pid_t pid, void *ctx)
{
	struct jars_seen *s = ctx;
	struct jar_seen *jar = NULL;
	char path[48], exe[256];
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	if (stat(path, &st) < 0 || st.st_ino == s->own)
		return;
	for (unsigned i = 0; i < s->n; i++)
		if (s->v[i].pid_namespace == st.st_ino)
			jar = &s->v[i];
	if (!jar && s->n < JARS_MAX) {
		jar = &s->v[s->n++];
		*jar = (struct jar_seen){ .pid_namespace = st.st_ino };
	}
	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (!jar || stat(path, &st) < 0 || !read_pss(pid, &jar->pss_kb))
		return;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	jar->python = jar->python || strstr(exe, "python");
}

void bench_memory(const struct bench_contender *c, const struct bench_job *job, struct bench_memory *m)
{
	static struct jars_seen seen;
	struct err e = { 0 };
	struct batch b;
	struct stat st;
	uint64_t kb = 0;
	bool never = false;

	*m = (struct bench_memory){ .pss_mb = NAN };
	seen.n = 0;
	seen.own = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
	if (batch_start(&b, c, job, 8, NULL, &e) < 0 || batch_warm(&b, job, 1, &never, &e) < 0) {
		snprintf(m->reason, sizeof(m->reason), "%.200s", e.msg);
	} else {
		usleep(500000); /* pools fill; what is left of the last runs goes */
		tree_each(b.pid, see_jar, &seen);
	}
	batch_stop(&b);
	for (unsigned i = 0; i < seen.n; i++)
		if (seen.v[i].python) {
			kb += seen.v[i].pss_kb;
			m->jars++;
		}
	if (m->jars)
		m->pss_mb = (double)kb / 1024 / m->jars;
	else if (!m->reason[0])
		snprintf(m->reason, sizeof(m->reason), "no jar with a waiting Python below belljar batch%s",
			 geteuid() ? " (looking into jars needs root)" : "");
}

/* ---- soak ------------------------------------------------------------------------------------ */

const char *const soak_names[SOAK_FIELDS] = { "rss_kb", "fds", "processes", "cgroups", "mounts", "network_namespaces", "kuids" };

/* What noise is, beside a tenth: pools breathe, slabs are freed late. */
static const int64_t soak_slack[SOAK_FIELDS] = { 16384, 64, 16, 64, 256, 32, 32 };

static int64_t count_lines(const char *path)
{
	FILE *f = fopen(path, "re");
	int64_t n = 0;

	if (!f)
		return -1;
	for (int c; (c = getc(f)) != EOF;)
		n += c == '\n';
	fclose(f);
	return n;
}

static int64_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int64_t n = 0;

	if (!dir)
		return 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static void soak_process(pid_t pid, void *ctx)
{
	int64_t *v = ctx, mounts, pages;
	char path[48], text[256];

	v[SOAK_PROCESSES]++;
	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	if (fd_read_file(AT_FDCWD, path, text, sizeof(text)) > 0 && (pages = stats_field(text, 1)) > 0)
		v[SOAK_RSS] += pages * sysconf(_SC_PAGESIZE) / 1024;
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	v[SOAK_FDS] += count_entries(path);
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	mounts = count_lines(path);
	v[SOAK_MOUNTS] += mounts > 0 ? mounts : 0;
}

/* /proc/cgroups counts those that are removed and not yet gone, too. */
static int64_t count_cgroups(void)
{
	FILE *f = fopen("/proc/cgroups", "re");
	int64_t sum = 0, n;
	char line[256];

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (line[0] != '#' && (n = stats_field(line, 2)) > 0)
			sum += n;
	fclose(f);
	return sum;
}

static int64_t count_slab(const char *name)
{
	FILE *f = fopen("/proc/slabinfo", "re");
	char line[512];
	int64_t n = -1;

	while (f && n < 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ' ')
			n = stats_field(line, 1);
	if (f)
		fclose(f);
	return n;
}

static void soak_look(pid_t pid, int64_t *v)
{
	memset(v, 0, SOAK_FIELDS * sizeof(*v));
	tree_each(pid, soak_process, v);
	v[SOAK_CGROUPS] = count_cgroups();
	v[SOAK_NETNS] = count_slab("net_namespace");
	v[SOAK_KUIDS] = count_slab("uid_cache");
}

/* Keeps 8 in flight until `runs` are done; the rate. */
static int soak_run(struct batch *b, const struct bench_job *job, uint64_t runs, struct bench_soak *s, double *rate,
		    void (*progress)(uint64_t), struct err *e)
{
	uint64_t start = clock_mono_ns(), sent = runs < 8 ? runs : 8, got = 0;

	if (batch_send(b, (unsigned)sent, e) < 0)
		return -1;
	while (got < runs) {
		const char *line = batch_next(b, e);

		if (!line)
			return -1;
		batch_check(job, line, strlen(line), &s->cell);
		got++;
		if (sent < runs) {
			if (batch_send(b, 1, e) < 0)
				return -1;
			sent++;
		}
		if (++s->runs % 500 == 0 && progress)
			progress(s->runs);
	}
	*rate = (double)runs / ((double)(clock_mono_ns() - start) / 1e9);
	return 0;
}

static void soak_judge(struct bench_soak *s)
{
	for (int i = 0; i < SOAK_FIELDS; i++)
		if (s->before[i] >= 0 && s->after[i] > s->before[i] + s->before[i] / 10 + soak_slack[i]) {
			size_t n = strlen(s->reason);

			s->grew = true;
			snprintf(s->reason + n, sizeof(s->reason) - n, "%s%s grew from %lld to %lld", n ? ", " : "",
				 soak_names[i], (long long)s->before[i], (long long)s->after[i]);
		}
}

void bench_soak(const struct bench_contender *c, const struct bench_job *job, struct bench_soak *s,
		void (*progress)(uint64_t runs))
{
	uint64_t tenth = s->wanted / 10;
	struct err e = { 0 };
	struct batch b;
	double middle;
	bool never = false;

	if (batch_start(&b, c, job, 8, NULL, &e) < 0 || batch_warm(&b, job, 8, &never, &e) < 0)
		goto lost;
	/* Everything that grows once has grown after a thousand runs. */
	if (soak_run(&b, job, s->wanted < 1000 ? s->wanted : 1000, s, &middle, NULL, &e) < 0)
		goto lost;
	s->runs = 0;
	usleep(2000000);
	soak_look(b.pid, s->before);
	if (soak_run(&b, job, tenth, s, &s->rate_first, progress, &e) < 0 ||
	    soak_run(&b, job, s->wanted - 2 * tenth, s, &middle, progress, &e) < 0 ||
	    soak_run(&b, job, tenth, s, &s->rate_last, progress, &e) < 0)
		goto lost;
	usleep(3000000);
	soak_look(b.pid, s->after);
	soak_judge(s);
	batch_stop(&b);
	return;
lost:
	snprintf(s->reason, sizeof(s->reason), "%.200s", e.msg);
	s->grew = true;
	batch_stop(&b);
}
