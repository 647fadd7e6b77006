/* SPDX-License-Identifier: Apache-2.0 */
/* Many runs at once: one request a line in, one result a line out. */
#include "run/batch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/field.h"
#include "base/json_out.h"
#include "run/account.h"
#include "run/lines.h"
#include "run/queue.h"
#include "run/run.h"
#include "run/state.h"
#include "store/writer.h"

/*
 * Theory of operation
 *
 *	lines -> task (a request) -> queue, by client -> slot (a run) -> result line -> waits for its receipt -> held until its turn -> out
 *
 * Everything is bounded. Lines are read only while there is room in the queue and in the window of results that wait for an earlier line;
 * nothing is begun while results wait to be written. Each round of the event loop ends with one write of all results that are ready, so
 * that whoever writes a line and waits gets its result at once.
 *
 * Receipts go to the store (store/writer.h), a process of its own that commits them in groups; its answers come in the order of the questions. A result
 * is given out when its receipt is on the disk. Where receipts are required and one cannot be kept, nothing more is begun.
 */

#define QUEUE_BYTES_MAX (64U << 20)  /* of lines that wait */
#define HELD_BYTES_MAX	(256U << 20) /* of results that wait for an earlier line: past it only the earliest is begun */
#define OUT_BYTES_MAX	(4U << 20)   /* of results that wait to be written: past it nothing is begun */
#define BUSY_WINDOW	16384	     /* results of lines that were turned away wait for their turn too */
#define STORE_BYTES_MAX	(16U << 20)  /* of receipts that go to the store, and of results that wait for it: past it nothing is begun */
#define STORE_WAIT_MS	10	     /* receipts gather so long while requests wait: one sync for several */
#define STORE_GROUP	64	     /* or until there are so many */
#define STORE_END_MS	30000	     /* for its last checkpoint */
#define PROGRESS_MS	200
#define LATE_MS		10 /* a run that lasts longer has its output read as it comes */

/* Whose turn it is: the place in the order, the line, and when that was taken. */
struct turn {
	uint64_t seq, line, taken_ns;
};

/* A result on its way out, which ends after so many bytes of them all. */
struct told {
	struct turn turn;
	uint64_t end;
};

/* A request that waits or runs. */
struct task {
	struct queue_item item;
	struct turn turn;
	struct task *next; /* of the free ones */
	struct arena arena;
	struct request req;
	const struct batch_kind *kind; /* NULL: a run */
	void *more;		       /* the kind's */
};

/* A run under way. */
struct slot {
	struct run run;
	struct result res;
	struct task *task; /* NULL: free */
	struct slot *next; /* of the finished, or free, ones */
	unsigned sweep;	   /* the number of the sweep before which it began */
	struct batch *batch;
	struct batch_job job; /* of a task that has a kind: in place of the run */
	struct parts *parts;  /* its receipts; NULL: none yet */
	char execution_id[32]; /* of its last jar */
};

/* A result that waits for its turn. */
struct held {
	char *text; /* NULL: not there yet */
	size_t len;
	struct turn turn;
};

/* A result whose receipt is on its way. */
struct waiting {
	struct waiting *next;
	struct parts *parts; /* one receipt of several, whose line is there; NULL: the only one */
	struct turn turn;
	size_t len;
	char text[];
};

/* The receipts of a line that several jars worked for. */
struct parts {
	size_t left;		   /* on their way */
	bool ended;		   /* there will be no more */
	bool failed;
	struct err err;		   /* why */
	struct receipt_place last;
	struct waiting *line;	   /* NULL: nothing waits for them (any more) */
};

#define KINDS_MAX 4

struct batch {
	const struct batch_setup *setup;
	struct run_options run_options;
	struct loop loop;
	struct pool pool;
	struct lines lines;
	struct watch in, out, signals;
	bool in_plain; /* a file: always ready */
	bool ended;    /* the input is */
	struct queue queue;
	struct task *free_tasks;
	struct slot *slots, *free_slots, *finished;
	size_t running, jobs; /* jobs: those of them that have a kind */
	bool opened[KINDS_MAX];
	unsigned sweep; /* how often the slots were looked through for runs that last */
	bool sweeping;	/* there may be such */
	uint64_t swept_ns;
	/* results */
	struct held *held; /* ring of `window` places, by seq */
	size_t window, held_bytes;
	uint64_t next_seq, write_seq; /* the next request's, the next result's */
	struct buf scratch, text;
	size_t written; /* of `text` */
	uint64_t given, gone;	/* bytes of results: all that there were, and those written */
	struct buf told, times; /* results that are not written yet (struct told); what is said of those that are */
	/* receipts */
	struct watch store;
	struct buf to_store, from_store, receipt;
	size_t sent;	     /* of `to_store` */
	size_t gathered;     /* receipts in it that wait for others */
	uint64_t gather_ns;  /* since when */
	struct waiting *waiting, **last_waiting;
	size_t waiting_bytes;
	bool refusing; /* receipts are required and cannot be kept */
	bool ending;   /* the store was told that nothing more comes: its end is no surprise */
	struct err store_err;
	/* the end */
	unsigned signalled;
	bool broken; /* some line was bad or could not be run */
	bool lost;   /* the output cannot be written */
	struct err *err;
	/* progress */
	uint64_t done, failed, began_ns, shown_ns;
	uint64_t total; /* lines of the input, where it is a file; 0: not known */
};

/* ---- results ---- */

/* For a reader who never quite catches up: what he has is not kept. */
static void drop_written(struct batch *b)
{
	if (b->written < b->text.len / 2)
		return;
	memmove(b->text.data, b->text.data + b->written, b->text.len - b->written);
	b->text.len -= b->written;
	b->written = 0;
}

/* How long each of those took that are written now. */
static void write_times(struct batch *b)
{
	uint64_t now = clock_mono_ns();
	struct json_out o = { .to = &b->times };
	struct told t;
	size_t at = 0;

	b->times.len = 0;
	for (; at < b->told.len; at += sizeof(t)) {
		memcpy(&t, b->told.data + at, sizeof(t));
		if (t.end > b->gone)
			break;
		json_out_open(&o, NULL, '{');
		json_out_int(&o, "line", (int64_t)t.turn.line);
		json_out_fixed(&o, "latency_s", (now - t.turn.taken_ns) / 1000, 6);
		json_out_close(&o, '}');
		buf_str(&b->times, "\n");
		o.more = false;
	}
	if (!at)
		return;
	memmove(b->told.data, b->told.data + at, b->told.len - at);
	b->told.len -= at;
	if (b->times.failed) {
		err_set(b->err, ERR_INTERNAL, "no memory for the times");
		b->lost = true;
	} else if (fd_write_all(b->setup->times, b->times.data, b->times.len) < 0) {
		err_sys(b->err, "write the times");
		b->lost = true;
	}
}

/* What is written is one result after the other; `text` keeps what the reader did not take yet. */
static void write_text(struct batch *b)
{
	while (b->written < b->text.len && !b->lost) {
		ssize_t n = write(b->out.fd, b->text.data + b->written, b->text.len - b->written);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && b->setup->out_waits) {
			loop_want(&b->loop, &b->out, EPOLLOUT);
			drop_written(b);
			return;
		}
		if (n < 0) {
			err_sys(b->err, "write the results");
			b->lost = true;
			return;
		}
		b->written += (size_t)n;
		b->gone += (size_t)n;
	}
	if (b->out.added)
		loop_forget(&b->loop, &b->out);
	if (b->text.cap > OUT_BYTES_MAX)
		buf_done(&b->text);
	b->text.len = b->written = 0;
}

static void flush(struct batch *b)
{
	write_text(b);
	if (b->told.len && !b->lost)
		write_times(b);
}

static void on_out(struct watch *w, uint32_t events)
{
	(void)events;
	flush(CONTAINER_OF(w, struct batch, out));
}

static void add_text(struct batch *b, const struct turn *t, const char *data, size_t len)
{
	struct told told = { .turn = *t, .end = b->given += len };

	if (buf_add(&b->text, data, len) < 0 || (b->setup->times >= 0 && buf_add(&b->told, &told, sizeof(told)) < 0)) {
		err_set(b->err, ERR_INTERNAL, "no memory for %zu bytes of results", len);
		b->lost = true;
	}
}

static struct held *place(struct batch *b, uint64_t seq)
{
	return &b->held[seq % b->window];
}

/* Gives out what is ready in order. With `all`, gaps of requests that will never be run are passed over. */
static void give_out(struct batch *b, bool all)
{
	for (; b->write_seq < b->next_seq; b->write_seq++) {
		struct held *h = place(b, b->write_seq);

		if (!h->text && !all)
			return;
		if (!h->text)
			continue;
		add_text(b, &h->turn, h->text, h->len);
		b->held_bytes -= h->len;
		free(h->text);
		h->text = NULL;
	}
}

/* One result, in `scratch`. */
static void deliver(struct batch *b, const struct turn *t)
{
	struct held *h = place(b, t->seq);

	if (b->setup->unordered) {
		add_text(b, t, b->scratch.data, b->scratch.len);
		b->write_seq++; /* how many: none waits for another */
		return;
	}
	if (t->seq == b->write_seq) {
		add_text(b, t, b->scratch.data, b->scratch.len);
		b->write_seq++;
		give_out(b, false);
		return;
	}
	h->turn = *t;
	h->len = b->scratch.len;
	h->text = malloc(h->len + 1);
	if (!h->text)
		abort(); /* a front without memory has nothing to say */
	memcpy(h->text, b->scratch.data, h->len);
	b->held_bytes += h->len;
}

/* ---- receipts ---- */

static void told_once(const struct batch_setup *s, const struct err *e);

/* The line is complete, in `scratch`, but for its receipt. */
static void end_line(struct batch *b, const struct turn *t, const struct receipt_place *place, const char *error)
{
	if (result_end_line(place, error, &b->scratch) < 0) {
		err_set(b->err, ERR_INTERNAL, "no memory for a result");
		b->lost = true;
		return;
	}
	deliver(b, t);
}

/* Its text is in `scratch` afterwards. */
static void unpack(struct batch *b, const struct waiting *w)
{
	b->waiting_bytes -= w->len;
	b->scratch.len = 0;
	buf_add(&b->scratch, w->text, w->len);
}

static struct waiting *take_waiting(struct batch *b)
{
	struct waiting *w = b->waiting;

	if (!w)
		return NULL;
	b->waiting = w->next;
	if (!b->waiting)
		b->last_waiting = &b->waiting;
	unpack(b, w);
	return w;
}

static void part_settled(struct batch *b, struct parts *p);

static void give_kept(struct batch *b, const struct receipt_place *place)
{
	struct waiting *w = take_waiting(b);

	if (!w)
		return;
	if (w->parts) {
		w->parts->last = *place;
		part_settled(b, w->parts);
	} else {
		end_line(b, &w->turn, place, NULL);
	}
	free(w);
}

/* It has run, and there is no receipt: best effort says so; else it does not count. `scratch` has the line. */
static void end_unkept(struct batch *b, const struct turn *t, const char *why)
{
	static const struct receipt_place none;

	if (b->setup->audit == AUDIT_REQUIRED) {
		struct verdict v;
		struct err internal;
		auto_free char *text = NULL;

		err_set(&internal, ERR_INTERNAL, "its receipt could not be kept, so it does not count: %.250s", why);
		err_hint(&internal, "--resume runs it again; --audit best-effort goes on without receipts");
		verdict_error(&v, &internal);
		text = result_change_line(b->scratch.data, b->scratch.len, &v);
		b->scratch.len = 0;
		buf_str(&b->scratch, text ? text : "{\"status\":\"error\"");
		b->broken = true;
	}
	end_line(b, t, &none, why);
}

/* All receipts of a line have been answered: it can be told. */
static void end_parts(struct batch *b, struct parts *p, const struct turn *t)
{
	if (p->failed)
		end_unkept(b, t, p->err.msg);
	else
		end_line(b, t, &p->last, NULL);
	free(p);
}

static void part_settled(struct batch *b, struct parts *p)
{
	struct waiting *line = p->line;

	if (--p->left || !p->ended)
		return;
	if (!line) {
		free(p);
		return;
	}
	unpack(b, line);
	end_parts(b, p, &line->turn);
	free(line);
}

static void part_failed(struct parts *p, const struct err *e)
{
	if (!p->failed)
		p->err = *e;
	p->failed = true;
}

static void give_unkept(struct batch *b, const struct err *e)
{
	struct waiting *w = take_waiting(b);

	if (!w)
		return;
	if (b->setup->audit == AUDIT_REQUIRED && !b->refusing) {
		b->store_err = *e;
		b->refusing = true;
	}
	if (w->parts) {
		part_failed(w->parts, e);
		part_settled(b, w->parts);
	} else {
		end_unkept(b, &w->turn, e->msg);
	}
	free(w);
}

static void store_gone(struct batch *b)
{
	struct err e = { 0 };

	watch_close(&b->store);
	if (b->ending && !b->waiting)
		return;
	err_set(&e, ERR_SETUP, "the store of receipts ended unexpectedly");
	if (!b->refusing)
		b->store_err = e;
	if (b->setup->audit == AUDIT_REQUIRED)
		b->refusing = true;
	else
		told_once(b->setup, &e);
	while (b->waiting)
		give_unkept(b, &e);
	buf_done(&b->to_store);
	b->sent = 0;
}

/*
 * Who waits for his result gets it at once: receipts only wait for others while requests wait for a free place, when nobody would be served
 * sooner by it. True when they wait now.
 */
static bool is_gathering(const struct batch *b)
{
	return b->gathered && b->gathered < STORE_GROUP && b->queue.count && b->running && !b->sent &&
	       clock_mono_ns() - b->gather_ns < STORE_WAIT_MS * NS_PER_MS;
}

static void send_receipts(struct batch *b)
{
	if (is_gathering(b))
		return;
	b->gathered = 0;
	while (b->store.fd >= 0 && b->sent < b->to_store.len) {
		ssize_t n = write(b->store.fd, b->to_store.data + b->sent, b->to_store.len - b->sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			loop_want(&b->loop, &b->store, EPOLLIN | EPOLLOUT);
			return;
		}
		if (n < 0) {
			store_gone(b);
			return;
		}
		b->sent += (size_t)n;
	}
	if (b->to_store.cap > OUT_BYTES_MAX)
		buf_done(&b->to_store);
	b->to_store.len = b->sent = 0;
	if (b->store.fd >= 0)
		loop_want(&b->loop, &b->store, EPOLLIN);
}

/* One answer at the beginning of `data`: its length, 0 when it is not whole yet. */
static size_t take_ack(struct batch *b, const char *data, size_t len)
{
	struct writer_ack a;
	struct receipt_place place;
	size_t total = sizeof(a);

	if (len < sizeof(a))
		return 0;
	memcpy(&a, data, sizeof(a));
	total += a.failed ? 0 : (size_t)a.count * DIGEST_SIZE;
	if (len < total)
		return 0;
	if (!a.count && a.err.msg[0])
		told_once(b->setup, &a.err);
	for (uint32_t i = 0; i < a.count; i++) {
		if (a.failed) {
			give_unkept(b, &a.err);
			continue;
		}
		place.seq = a.seq + i;
		memcpy(place.hash, data + sizeof(a) + (size_t)i * DIGEST_SIZE, DIGEST_SIZE);
		give_kept(b, &place);
	}
	return total;
}

static void read_store(struct batch *b)
{
	static char block[65536];
	ssize_t n = read(b->store.fd, block, sizeof(block));
	size_t used = 0, len;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || buf_add(&b->from_store, block, (size_t)n) < 0) {
		store_gone(b);
		return;
	}
	while ((len = take_ack(b, b->from_store.data + used, b->from_store.len - used)))
		used += len;
	memmove(b->from_store.data, b->from_store.data + used, b->from_store.len - used);
	b->from_store.len -= used;
}

static void on_store(struct watch *w, uint32_t events)
{
	struct batch *b = CONTAINER_OF(w, struct batch, store);

	if (events & ~(uint32_t)EPOLLOUT)
		read_store(b);
	if (b->store.fd >= 0 && events & EPOLLOUT)
		send_receipts(b);
}

/* All receipts are kept: its last checkpoint is signed before we say goodbye. */
static void end_store(struct batch *b)
{
	uint64_t end = clock_mono_ns() + STORE_END_MS * NS_PER_MS;

	if (b->store.fd < 0 || writer_put_end(&b->to_store) < 0)
		return;
	b->ending = true;
	b->gathered = 0; /* for nobody any more */
	send_receipts(b);
	while (b->store.fd >= 0 && clock_mono_ns() < end)
		loop_wait(&b->loop, 100);
	watch_close(&b->store);
}

/* A line, in `scratch`, that waits for something. */
static struct waiting *pack(struct batch *b, const struct turn *t, size_t len)
{
	struct waiting *w = malloc(sizeof(*w) + len);

	if (!w)
		abort(); /* a front without memory has nothing to say */
	w->next = NULL;
	w->parts = NULL;
	w->turn = *t;
	w->len = len;
	if (len)
		memcpy(w->text, b->scratch.data, len);
	b->waiting_bytes += len;
	return w;
}

/* A receipt goes to the store, and `w` waits for the answer. */
static void send_receipt(struct batch *b, const struct receipt *r, struct waiting *w)
{
	if (writer_put(r, &b->to_store) < 0)
		abort(); /* a front without memory has nothing to say */
	*b->last_waiting = w;
	b->last_waiting = &w->next;
	if (!b->gathered++)
		b->gather_ns = clock_mono_ns();
}

static const char *no_store(const struct batch *b)
{
	return b->setup->store_error ? b->setup->store_error : b->store_err.msg;
}

/* `scratch` has the line without its end. */
static void keep_receipt(struct batch *b, const struct result *res, const struct task *t)
{
	static const struct receipt_place none;
	struct receipt r;

	if (b->setup->audit == AUDIT_OFF) {
		end_line(b, &t->turn, &none, NULL);
		return;
	}
	if (b->store.fd < 0) {
		end_unkept(b, &t->turn, no_store(b));
		return;
	}
	if (account_receipt(&r, &t->req, res, &b->receipt) < 0) {
		end_unkept(b, &t->turn, "it would be larger than 1 MiB");
		return;
	}
	send_receipt(b, &r, pack(b, &t->turn, b->scratch.len));
}

static void empty_scratch(struct batch *b)
{
	if (b->scratch.cap > OUT_BYTES_MAX)
		buf_done(&b->scratch);
	b->scratch.len = 0;
}

/* The verdict is complete: a line of output. */
static void tell(struct batch *b, const struct result *res, const struct task *t)
{
	const struct verdict *v = &res->verdict;

	b->done++;
	b->failed += v->status != STATUS_COMPLETED || !v->exited || v->exit_code != 0;
	/* A program that does not compile was run as far as it can be. */
	b->broken = b->broken || (v->status == STATUS_ERROR && v->reason != REASON_SYNTAX);
	empty_scratch(b);
	if (result_add_line(res, &t->req, t->turn.line, &b->scratch) < 0) {
		err_set(b->err, ERR_INTERNAL, "no memory for a result");
		b->lost = true;
		return;
	}
	keep_receipt(b, res, t);
}

/* ---- tasks ---- */

static struct task *task_new(struct batch *b)
{
	struct task *t = b->free_tasks;

	if (t)
		b->free_tasks = t->next;
	else
		t = calloc(1, sizeof(*t));
	if (!t)
		abort(); /* a front without memory has nothing to say */
	request_copy(&t->req, b->setup->defaults);
	t->kind = NULL;
	return t;
}

static void task_free(struct batch *b, struct task *t)
{
	arena_reset(&t->arena);
	t->next = b->free_tasks;
	b->free_tasks = t;
}

/* A request that is not run: its result is the error. */
static void turn_away(struct batch *b, struct task *t, const struct err *e)
{
	static struct result res;

	result_begin(&res);
	verdict_error(&res.verdict, e);
	tell(b, &res, t);
	task_free(b, t);
}

static void turn_away_busy(struct batch *b, struct task *t)
{
	struct err e = { 0 };

	err_set(&e, ERR_BUSY, "%zu requests are waiting already", b->queue.count);
	err_hint(&e, "send it again later, or raise --queue (now %zu)", b->setup->queue);
	turn_away(b, t, &e);
}

/* The operator named the folders that requests may take files from; the kernel keeps to them too. */
static int check_sources(const struct batch *b, const struct request *r, struct err *e)
{
	for (size_t i = 0; i < r->file_count; i++) {
		const char *path = r->files[i].source;
		bool beneath = false;

		for (size_t k = 0; path && k < b->setup->files_from->n; k++) {
			const char *dir = b->setup->files_from->v[k];
			size_t n = strlen(dir);

			beneath = beneath || (strncmp(path, dir, n) == 0 && (path[n] == '/' || dir[n - 1] == '/'));
		}
		if (path && (!beneath || strstr(path, "/../") || (strlen(path) > 2 && strcmp(path + strlen(path) - 3, "/..") == 0))) {
			err_set(e, ERR_DENIED, "request: 'files.source': '%.200s' is a path of the host that this batch may not read", path);
			return err_hint(e, "give its bytes as 'content' or 'base64', or start the batch with --files-from DIR (absolute paths beneath it)");
		}
	}
	return 0;
}

static const struct batch_kind *kind_of(const struct batch *b, const char *text, size_t len, const char **value, size_t *n)
{
	for (const struct batch_kind *k = b->setup->kinds; k && k->field; k++)
		/* Most lines have none, and that is quickly seen. */
		if (memmem(text, len, k->field, strlen(k->field)) && field_find(text, len, k->field, value, n))
			return k;
	return NULL;
}

/* The kind's field is cut out: it may hold what only the kind can read (integers of any size). */
static int read_kind(struct task *t, const char *text, size_t len, const char *value, size_t n, struct err *e)
{
	size_t before = (size_t)(value - text), after = len - before - n;
	char *rest = arena_alloc(&t->arena, len + 5);

	memcpy(rest, text, before);
	memcpy(rest + before, "null", 4);
	memcpy(rest + before + 4, value + n, after);
	return request_from_json_beside(&t->req, rest, before + 4 + after, t->kind->field, t->kind->beside, &t->arena, e);
}

static int read_task(struct batch *b, struct task *t, const char *text, size_t len, struct err *e)
{
	const char *value = NULL;
	size_t n = 0;

	t->kind = kind_of(b, text, len, &value, &n);
	if (t->kind)
		request_copy(&t->req, t->kind->defaults);
	if ((t->kind ? read_kind(t, text, len, value, n, e) : request_from_json(&t->req, text, len, &t->arena, e)) < 0)
		return -1;
	if (ceiling_apply(b->setup->ceiling, t->kind ? t->kind->defaults : b->setup->defaults, &t->req, CEILING_REQUEST, NULL, &t->arena, e) < 0 ||
	    check_sources(b, &t->req, e) < 0 || request_resolve(&t->req, &t->arena, e) < 0)
		return -1;
	if (t->kind) {
		t->more = t->kind->read(t->kind->ctx, &t->req, value, n, &t->arena, e);
		if (!t->more)
			return -1;
	}
	return config_allows(b->setup->config, &t->req, e);
}

static void take_line(struct batch *b, enum lines_result got, const char *text, size_t len)
{
	struct task *t;
	struct err e = { 0 };
	int rc = -1;

	if (got == LINES_LINE && field_is_blank(text, len))
		return;
	t = task_new(b);
	t->turn = (struct turn){ .line = b->lines.number, .taken_ns = clock_mono_ns() };
	if (got == LINES_LONG) {
		err_set(&e, ERR_REQUEST, "line %llu is longer than 256 MiB", (unsigned long long)t->turn.line);
		err_hint(&e, "large inputs go in as files, with --files-from");
	} else {
		rc = read_task(b, t, text, len, &e);
	}
	if (b->setup->resume && resume_has(b->setup->resume, t->req.id, t->turn.line)) {
		task_free(b, t);
		return;
	}
	t->item.seq = t->turn.seq = b->next_seq++;
	t->item.bytes = len;
	t->item.client = pool_client(t->req.client);
	if (rc < 0) {
		turn_away(b, t, &e);
		return;
	}
	struct queue_item *out = queue_push(&b->queue, &t->item);
	if (out)
		turn_away_busy(b, CONTAINER_OF(out, struct task, item));
}

/* ---- input ---- */

/* Nothing more is begun. */
static bool is_stopping(const struct batch *b)
{
	return b->signalled || b->pool.dead || b->refusing;
}

/* Nobody takes what there is already. */
static bool is_held_up(const struct batch *b)
{
	return b->text.len - b->written >= OUT_BYTES_MAX || b->waiting_bytes + b->to_store.len >= STORE_BYTES_MAX;
}

static bool can_take(const struct batch *b)
{
	return !is_stopping(b) && !b->lost && b->next_seq - b->write_seq < b->window &&
	       !is_held_up(b) && (b->setup->busy || !queue_is_full(&b->queue));
}

/* All lines that there is room for. */
static void take_lines(struct batch *b)
{
	while (!b->ended && can_take(b)) {
		const char *text = NULL;
		size_t len = 0;
		enum lines_result got = lines_next(&b->lines, &text, &len, NULL);

		if (got == LINES_END)
			b->ended = true;
		else if (got != LINES_MORE)
			take_line(b, got, text, len);
		else if (!b->in_plain)
			break;
		else if (lines_fill(&b->lines) < 0) {
			err_sys(b->err, "read the requests");
			b->ended = b->broken = true;
		}
	}
	if (b->in_plain)
		return;
	if (!b->ended && can_take(b))
		loop_want(&b->loop, &b->in, EPOLLIN);
	else if (b->in.added)
		loop_forget(&b->loop, &b->in);
}

static void on_in(struct watch *w, uint32_t events)
{
	struct batch *b = CONTAINER_OF(w, struct batch, in);

	(void)events;
	if (lines_fill(&b->lines) < 0) {
		err_sys(b->err, "read the requests");
		b->ended = b->broken = true;
	}
	take_lines(b);
}

/* ---- slots ---- */

/* Deferred to the end of the round: no structure is used anew while events of its past may still be in hand. */
static void on_finished(struct run *x)
{
	struct slot *s = CONTAINER_OF(x, struct slot, run);

	s->next = s->batch->finished;
	s->batch->finished = s;
}

static void slot_free(struct batch *b, struct slot *s)
{
	task_free(b, s->task);
	s->task = NULL;
	s->next = b->free_slots;
	b->free_slots = s;
	b->running--;
}

static void end_finished(struct batch *b)
{
	struct slot *s;

	while ((s = b->finished)) {
		b->finished = s->next;
		tell(b, &s->res, s->task);
		run_result_done(&s->res);
		slot_free(b, s);
	}
}

/* ---- lines that are more than runs ---- */

static struct slot *slot_of(struct batch_job *j)
{
	return CONTAINER_OF(j, struct slot, job);
}

/* It works for nobody any more; receipts that are on their way need nobody. */
static void job_free(struct slot *s)
{
	struct batch *b = s->batch;

	if (s->parts) {
		s->parts->ended = true;
		if (!s->parts->left && !s->parts->line)
			free(s->parts);
		s->parts = NULL;
	}
	b->jobs--;
	slot_free(b, s);
}

void batch_job_keep(struct batch_job *j, const struct request *req, const struct result *res)
{
	struct slot *s = slot_of(j);
	struct batch *b = s->batch;
	struct receipt r;
	struct waiting *w;
	struct err e = { 0 };

	memcpy(s->execution_id, res->execution_id, sizeof(s->execution_id));
	if (b->setup->audit == AUDIT_OFF)
		return;
	if (!s->parts)
		s->parts = calloc(1, sizeof(*s->parts));
	if (!s->parts)
		abort(); /* a front without memory has nothing to say */
	if (b->store.fd < 0 || account_receipt(&r, req, res, &b->receipt) < 0) {
		err_set(&e, ERR_SETUP, "%s", b->store.fd < 0 ? no_store(b) : "it would be larger than 1 MiB");
		part_failed(s->parts, &e);
		return;
	}
	w = pack(b, &s->task->turn, 0);
	w->parts = s->parts;
	s->parts->left++;
	send_receipt(b, &r, w);
}

void batch_job_done(struct batch_job *j, struct json_t *result, bool failed)
{
	static const struct receipt_place none;
	struct slot *s = slot_of(j);
	struct batch *b = s->batch;
	struct parts *p = s->parts;
	struct turn t = s->task->turn;

	b->done++;
	b->failed += failed;
	empty_scratch(b);
	if (result_add_other(result, s->execution_id, &s->task->req, s->task->turn.line, &b->scratch) < 0) {
		err_set(b->err, ERR_INTERNAL, "no memory for a result");
		b->lost = true;
	} else if (!p) {
		end_line(b, &t, &none, NULL);
	} else if (p->left) {
		p->line = pack(b, &t, b->scratch.len);
	} else {
		s->parts = NULL;
		end_parts(b, p, &t);
	}
	job_free(s);
}

void batch_job_failed(struct batch_job *j, const struct err *e)
{
	static struct result res;
	struct slot *s = slot_of(j);

	result_begin(&res);
	if (e)
		verdict_error(&res.verdict, e);
	else
		verdict_cancelled(&res.verdict);
	tell(s->batch, &res, s->task);
	job_free(s);
}

static void begin_job(struct batch *b, struct slot *s)
{
	struct task *t = s->task;
	size_t i = (size_t)(t->kind - b->setup->kinds), spare = b->setup->open.ceiling - b->setup->jobs;
	struct batch_host h = { .loop = &b->loop, .pool = &b->pool, .recycles = b->setup->open.recycle, .jobs = b->setup->jobs, .spare = spare < b->setup->jobs ? spare : b->setup->jobs,
				.number = (uint32_t)b->setup->jobs + 1 };
	struct err e = { 0 };

	s->job = (struct batch_job){ .req = &t->req, .number = (uint32_t)(s - b->slots) + 1, .more = t->more };
	s->parts = NULL;
	s->execution_id[0] = '\0';
	b->jobs++;
	if (!b->opened[i] && t->kind->open(t->kind->ctx, &h, &e) < 0) {
		batch_job_failed(&s->job, &e);
		return;
	}
	b->opened[i] = true;
	t->kind->begin(t->kind->ctx, &s->job);
}

static void go_round(struct batch *b)
{
	for (size_t i = 0; i < KINDS_MAX; i++)
		if (b->opened[i])
			b->setup->kinds[i].round(b->setup->kinds[i].ctx);
}

static void cancel_kinds(struct batch *b)
{
	for (size_t i = 0; i < KINDS_MAX; i++)
		if (b->opened[i])
			b->setup->kinds[i].cancel(b->setup->kinds[i].ctx);
}

/* ---- what is begun ---- */

static struct task *next_task(struct batch *b)
{
	struct queue_item *i;

	if (b->held_bytes < HELD_BYTES_MAX)
		i = queue_pop(&b->queue);
	else
		/* All that is held waits for one line: no other makes sense now. */
		i = b->running ? NULL : queue_pop_oldest(&b->queue);
	return i ? CONTAINER_OF(i, struct task, item) : NULL;
}

static void begin_some(struct batch *b)
{
	while (b->free_slots && !is_stopping(b) && !b->lost && !is_held_up(b)) {
		struct task *t = next_task(b);
		struct slot *s = b->free_slots;

		if (!t)
			return;
		b->free_slots = s->next;
		s->task = t;
		b->running++;
		if (t->kind) {
			begin_job(b, s);
			continue;
		}
		s->sweep = b->sweep;
		b->sweeping = true;
		result_begin(&s->res);
		run_begin_pooled(&s->run, &t->req, &b->pool, (uint32_t)(s - b->slots) + 1, &t->arena, &s->res);
		/* One that failed at once makes room for the next. */
		end_finished(b);
	}
}

/* Runs that were there at the sweep before last longer than a pipe should wait. A compiled program begins a second step: all are asked again. */
static void sweep(struct batch *b)
{
	uint64_t now = clock_mono_ns();

	if (!b->sweeping || now - b->swept_ns < LATE_MS * NS_PER_MS)
		return;
	b->swept_ns = now;
	b->sweeping = false;
	for (size_t i = 0; i < b->setup->jobs; i++) {
		struct slot *s = &b->slots[i];

		if (!s->task || s->task->kind)
			continue;
		if (s->sweep == b->sweep)
			b->sweeping = true;
		else
			run_watch_output(&s->run);
		b->sweeping = b->sweeping || s->run.state != RUN_MAIN;
	}
	b->sweep++;
}

/* ---- signals ---- */

static void on_signal(struct watch *w, uint32_t events)
{
	struct batch *b = CONTAINER_OF(w, struct batch, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (read(w->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (b->signalled++ == 0) {
		if (!b->setup->quiet)
			fprintf(stderr, "%sbelljar: stopping when what runs has ended (%zu); once more cancels it\n",
				b->setup->progress ? "\r\033[K" : "", b->running);
		return;
	}
	cancel_kinds(b);
	for (size_t i = 0; i < b->setup->jobs; i++)
		if (b->slots[i].task && !b->slots[i].task->kind)
			run_cancel(&b->slots[i].run);
}

/* ---- progress ---- */

static void print_time(double s, char *out, size_t size)
{
	unsigned n = s > 0 && s < 1e8 ? (unsigned)(s + 0.5) : 0;

	if (n < 3600)
		snprintf(out, size, "%u:%02u", n / 60, n % 60);
	else
		snprintf(out, size, "%u:%02u:%02u", n / 3600, n / 60 % 60, n % 60);
}

/* A second look at the file, for people who wait: results are counted, not what was read ahead. */
static uint64_t count_lines(int fd, off_t from)
{
	static char block[1 << 16];
	uint64_t n = 0;
	bool open = false;
	ssize_t got;

	while ((got = pread(fd, block, sizeof(block), from)) > 0) {
		for (const char *p = block; (p = memchr(p, '\n', (size_t)(block + got - p))); p++)
			n++;
		open = block[got - 1] != '\n';
		from += got;
	}
	return n + open;
}

static void show_progress(struct batch *b, bool last)
{
	uint64_t now = clock_mono_ns();
	double elapsed = (double)(now - b->began_ns) / 1e9;
	char bar[64] = "", of[32] = "", eta[32] = "?", took[32];

	if (!b->setup->progress || (!last && now - b->shown_ns < PROGRESS_MS * NS_PER_MS))
		return;
	b->shown_ns = now;
	print_time(elapsed, took, sizeof(took));
	if (b->total) {
		double part = b->done < b->total ? (double)b->done / (double)b->total : 1;
		int full = (int)(part * 20);

		if (b->done)
			print_time(elapsed / part - elapsed, eta, sizeof(eta));
		snprintf(bar, sizeof(bar), "[%.*s%*s] %3.0f%% ", full, "####################", 20 - full, "", part * 100);
		snprintf(of, sizeof(of), " of %llu", (unsigned long long)b->total);
	}
	fprintf(stderr, "\r%s%llu%s done, %.0f/s, %llu failed, %s%s\033[K%s", bar, (unsigned long long)b->done, of,
		elapsed > 0 ? (double)b->done / elapsed : 0, (unsigned long long)b->failed, b->total && !last ? "ETA " : "took ",
		b->total && !last ? eta : took, last ? "\n" : "");
}

/* ---- the whole ---- */

/* Once, however often it is said. */
static void told_once(const struct batch_setup *s, const struct err *e)
{
	static char told[8][sizeof(e->msg)];

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		if (strcmp(told[i], e->msg) == 0)
			return;
		if (!told[i][0]) {
			snprintf(told[i], sizeof(told[i]), "%s", e->msg);
			fprintf(stderr, "%sbelljar: %s%s%s\n", s->progress ? "\r\033[K" : "", e->msg, e->hint[0] ? "; " : "", e->hint);
			return;
		}
	}
}

static void notice(struct pool *p, const struct err *e)
{
	const struct batch_setup *s = CONTAINER_OF(p, struct batch, pool)->setup;

	if (!s->quiet)
		told_once(s, e);
}

static int open_loop(struct batch *b, struct err *e)
{
	const struct batch_setup *s = b->setup;
	struct stat st;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	b->signals = (struct watch){ .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_signal };
	b->in = (struct watch){ .fd = s->in, .ready = on_in };
	b->out = (struct watch){ .fd = s->out, .ready = on_out };
	if (loop_init(&b->loop, e) < 0)
		return -1;
	if (loop_want(&b->loop, &b->signals, EPOLLIN) < 0)
		return err_sys(e, "wait for signals");
	b->store = (struct watch){ .fd = s->store, .ready = on_store };
	if (b->store.fd >= 0 && loop_want(&b->loop, &b->store, EPOLLIN) < 0)
		return err_sys(e, "wait for the store of receipts");
	b->in_plain = loop_want(&b->loop, &b->in, EPOLLIN) < 0;
	if (s->progress && b->in_plain && fstat(s->in, &st) == 0 && S_ISREG(st.st_mode))
		b->total = count_lines(s->in, lseek(s->in, 0, SEEK_CUR));
	return 0;
}

static int batch_init(struct batch *b, const struct batch_setup *s, struct err *e)
{
	memset(b, 0, sizeof(*b));
	b->setup = s;
	b->err = e;
	b->scratch.max = b->text.max = b->to_store.max = b->told.max = b->times.max = 8ULL << 30;
	b->from_store.max = 1U << 20;
	b->receipt.max = RECEIPT_BODY_MAX;
	b->last_waiting = &b->waiting;
	b->run_options = (struct run_options){ .late_output = true, .receipts = s->store >= 0 };
	b->window = s->queue + s->jobs + (s->busy ? BUSY_WINDOW : 0);
	b->held = calloc(b->window, sizeof(*b->held));
	b->slots = calloc(s->jobs, sizeof(*b->slots));
	if (!b->held || !b->slots)
		return err_set(e, ERR_INTERNAL, "no memory for %zu runs at once", s->jobs);
	lines_init(&b->lines, s->in, BATCH_LINE_MAX);
	queue_init(&b->queue, s->queue, QUEUE_BYTES_MAX);
	if (open_loop(b, e) < 0 || pool_init(&b->pool, &b->loop, s->keeper, &s->open, notice, e) < 0)
		return -1;
	for (size_t i = s->jobs; i-- > 0;) {
		struct slot *x = &b->slots[i];

		x->batch = b;
		run_init(&x->run, &b->loop, &b->run_options, on_finished);
		x->next = b->free_slots;
		b->free_slots = x;
	}
	b->began_ns = clock_mono_ns();
	return 0;
}

static bool is_over(const struct batch *b)
{
	bool stopping = is_stopping(b) || b->lost;

	if ((b->running || b->waiting) && !b->lost)
		return false;
	if (b->written < b->text.len && !b->lost && b->signalled < 3)
		return false;
	return stopping || (b->ended && !b->queue.count);
}

/* Something can be done without waiting for anybody: results that were just written made room. */
static bool has_work(const struct batch *b)
{
	bool room = !is_stopping(b) && !is_held_up(b);

	return (!b->ended && can_take(b) && (b->in_plain || !b->in.added)) ||
	       (room && b->queue.count && b->free_slots && (b->held_bytes < HELD_BYTES_MAX || !b->running));
}

/* How long there is nothing to do unless something happens. */
static int patience(const struct batch *b)
{
	if (has_work(b))
		return 0;
	if (b->gathered)
		return STORE_WAIT_MS / 2;
	if (b->sweeping)
		return LATE_MS;
	if (b->jobs)
		return BATCH_KIND_MS;
	return b->setup->progress ? PROGRESS_MS : -1;
}

static void batch_done(struct batch *b)
{
	struct task *t;
	struct queue_item *i;

	while ((i = queue_pop(&b->queue)))
		task_free(b, CONTAINER_OF(i, struct task, item));
	while ((t = b->free_tasks)) {
		b->free_tasks = t->next;
		arena_free(&t->arena);
		free(t);
	}
	for (size_t k = 0; k < KINDS_MAX; k++)
		if (b->opened[k])
			b->setup->kinds[k].close(b->setup->kinds[k].ctx);
	run_unprepare();
	pool_done(&b->pool);
	lines_done(&b->lines);
	buf_done(&b->scratch);
	buf_done(&b->text);
	buf_done(&b->told);
	buf_done(&b->times);
	buf_done(&b->to_store);
	buf_done(&b->from_store);
	buf_done(&b->receipt);
	watch_close(&b->store);
	watch_close(&b->signals);
	loop_done(&b->loop);
	free(b->held);
	free(b->slots);
}

static int status_of(const struct batch *b)
{
	if (b->lost || b->pool.dead || b->refusing)
		return 125;
	if (b->signalled)
		return 130;
	return b->broken;
}

int batch_run(const struct batch_setup *s, struct err *e)
{
	static struct batch b;
	int status;

	if (batch_init(&b, s, e) < 0)
		return 125;
	take_lines(&b);
	begin_some(&b);
	go_round(&b);
	send_receipts(&b);
	flush(&b);
	while (!is_over(&b)) {
		loop_wait(&b.loop, patience(&b));
		end_finished(&b);
		go_round(&b);
		begin_some(&b);
		take_lines(&b);
		begin_some(&b);
		go_round(&b);
		/* What was read and not begun is not run any more: results after it wait for nothing. */
		send_receipts(&b);
		if (!b.running && !b.waiting && is_stopping(&b) && !s->unordered)
			give_out(&b, true);
		flush(&b);
		run_prepare();
		sweep(&b);
		logs_tidy(false);
		show_progress(&b, false);
	}
	end_store(&b);
	show_progress(&b, true);
	if (b.refusing && !b.lost) {
		*e = b.store_err;
		err_wrap(e, "what was not begun was not run");
		err_hint(e, "start it again with --resume");
	}
	if (b.pool.dead && !b.lost) {
		err_set(e, ERR_INTERNAL, "belljar-keeper ended unexpectedly: what was not begun was not run");
		err_hint(e, "start it again with --resume");
	}
	status = status_of(&b);
	batch_done(&b);
	return status;
}
