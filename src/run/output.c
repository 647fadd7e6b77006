/* SPDX-License-Identifier: Apache-2.0 */
/* One output stream of a guest: passed on live, shown with start and end, kept in a log. */
#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "run/logs.h"

void output_init(struct output *o, uint64_t view_max, uint64_t log_max)
{
	memset(o, 0, sizeof(*o));
	o->view_max = view_max;
	o->log_max = log_max;
	o->head_max = (size_t)(view_max / 2);
	o->ring_max = (size_t)(view_max - view_max / 2);
	o->live = o->log = -1;
	digest_init(&o->hash);
}

void output_done(struct output *o)
{
	free(o->head);
	free(o->ring);
	o->head = o->ring = NULL;
	if (o->log < 0)
		return;
	fd_close(&o->log);
	logs_written(o->logged);
}

void output_end(struct output *o)
{
	if (o->escape && o->escaper.coloured && o->live >= 0 && !o->live_broken)
		fd_write_all(o->live, "\033[0m", 4);
}

bool output_truncated(const struct output *o)
{
	return o->total > o->view_max;
}

static void ring_add(struct output *o, const char *data, size_t len)
{
	if (len >= o->ring_max) {
		data += len - o->ring_max;
		len = o->ring_max;
	}
	while (len) {
		size_t room = o->ring_max - o->ring_at, n = len < room ? len : room;

		memcpy(o->ring + o->ring_at, data, n);
		o->ring_at = (o->ring_at + n) % o->ring_max;
		o->ring_len = o->ring_len + n < o->ring_max ? o->ring_len + n : o->ring_max;
		data += n;
		len -= n;
	}
}

/* Memory comes as it is needed: most programs write little. */
static int head_add(struct output *o, const char *data, size_t len)
{
	if (o->head_len + len > o->head_cap) {
		size_t cap = o->head_cap ? o->head_cap * 2 : 512;
		char *p;

		while (cap < o->head_len + len)
			cap *= 2;
		cap = cap < o->head_max ? cap : o->head_max;
		p = realloc(o->head, cap + 1);
		if (!p)
			return -1;
		o->head = p;
		o->head_cap = cap;
	}
	if (len)
		memcpy(o->head + o->head_len, data, len);
	o->head_len += len;
	return 0;
}

static int ring_write(const struct output *o, int (*put)(void *, const void *, size_t), void *ctx)
{
	size_t start = o->ring_len < o->ring_max ? 0 : o->ring_at;
	size_t first = o->ring_len - (o->ring_len < o->ring_max ? 0 : start);

	if (first && put(ctx, o->ring + start, first) < 0)
		return -1;
	return o->ring_len > first ? put(ctx, o->ring, o->ring_len - first) : 0;
}

static int put_fd(void *ctx, const void *data, size_t len)
{
	return fd_write_all(*(int *)ctx, data, len);
}

static int put_buf(void *ctx, const void *data, size_t len)
{
	return buf_add(ctx, data, len);
}

/* The view is full and more comes: everything so far is still in memory, in order. */
static int open_log(struct output *o, const char *name, struct err *e)
{
	snprintf(o->log_path, sizeof(o->log_path), "%s", name);
	o->log = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* As long as it is written nobody removes it (run/logs.c). */
	if (o->log < 0 || flock(o->log, LOCK_SH) < 0 || fd_write_all(o->log, o->head, o->head_len) < 0 || ring_write(o, put_fd, &o->log) < 0)
		return err_sys(e, "keep the output in %s", name);
	o->logged = o->head_len + o->ring_len;
	return 0;
}

static void pass_on(struct output *o, const char *data, size_t len)
{
	auto_buf shown = BUF_INIT(len * 4 + 256);

	if (o->live < 0 || o->live_broken)
		return;
	if (o->escape) {
		output_escape(&o->escaper, data, len, &shown);
		data = shown.data;
		len = shown.len;
	}
	if (len && fd_write_all(o->live, data, len) < 0) {
		o->live_errno = errno;
		o->live_broken = true;
	}
}

bool output_needs_log(const struct output *o, size_t len)
{
	return o->keep_log && o->log < 0 && o->total + len > o->view_max;
}

int output_add(struct output *o, const char *data, size_t len, const char *log_name, struct err *e)
{
	size_t n;
	bool over = o->total + len > o->log_max;

	if (over)
		len = (size_t)(o->log_max - o->total);
	pass_on(o, data, len);
	if (o->hashing)
		digest_add(&o->hash, data, len);
	if (output_needs_log(o, len) && open_log(o, log_name, e) < 0)
		return -1;
	if (o->log >= 0) {
		if (fd_write_all(o->log, data, len) < 0)
			return err_sys(e, "keep the output in %s", o->log_path);
		o->logged += len;
	}
	o->total += len;
	n = o->head_max - o->head_len < len ? o->head_max - o->head_len : len;
	if (len > n && !o->ring)
		o->ring = malloc(o->ring_max + 1);
	if (head_add(o, data, n) < 0 || (len > n && !o->ring))
		return err_set(e, ERR_INTERNAL, "no memory for %llu bytes of output", (unsigned long long)o->view_max);
	ring_add(o, data + n, len - n);
	return over ? 1 : 0;
}

/* How many bytes at the end of `data` are the start of a UTF-8 character that is cut off. */
static size_t cut_tail(const char *data, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = (unsigned char)data[len - back];
		size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if ((c & 0xc0) == 0x80)
			continue;
		return need > back ? back : 0;
	}
	return 0;
}

int output_view(const struct output *o, struct buf *out)
{
	auto_buf tail = BUF_INIT(o->ring_max + 1);
	size_t head = o->head_len, skip = 0;
	uint64_t left_out;

	ring_write(o, put_buf, &tail);
	if (!output_truncated(o)) {
		buf_add(out, o->head, head);
		return buf_add(out, tail.data ? tail.data : "", tail.len);
	}
	/* Cut between characters, not inside one. */
	head -= cut_tail(o->head, head);
	while (skip < 3 && skip < tail.len && ((unsigned char)tail.data[skip] & 0xc0) == 0x80)
		skip++;
	left_out = o->total - head - (tail.len - skip);
	buf_add(out, o->head, head);
	buf_fmt(out, "\n[belljar: %llu bytes left out here%s%s]\n", (unsigned long long)left_out,
		o->log_path[0] ? "; all of it is in " : "", o->log_path);
	return buf_add(out, tail.data + skip, tail.len - skip);
}

/* Shows a byte that would steer the terminal. */
static void show_byte(unsigned char c, struct buf *out)
{
	if (c < 0x80)
		buf_fmt(out, "^%c", c ^ 0x40);
	else
		buf_fmt(out, "\\x%02x", c);
}

static void show_pending(struct escaper *s, struct buf *out)
{
	for (size_t i = 0; i < s->len; i++) {
		unsigned char c = (unsigned char)s->pending[i];

		if (c >= ' ' && c < 0x7f)
			buf_add(out, &c, 1);
		else
			show_byte(c, out);
	}
	s->len = 0;
	s->state = ESCAPE_TEXT;
}

/* 8-bit controls (U+0080..9F) and changes of direction (U+061C, 200E, 200F, 202A..202E, 2066..2069) steer a terminal too. */
static bool steers(const unsigned char *p, size_t len)
{
	if (len == 2)
		return (p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xd8 && p[1] == 0x9c);
	return len == 3 && p[0] == 0xe2 &&
	       ((p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xaa && p[2] <= 0xae))) ||
		(p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
}

static void escape_utf8(struct escaper *s, struct buf *out)
{
	const unsigned char *p = (const unsigned char *)s->pending;

	if (s->len < utf8_need(p[0]))
		return;
	if (!utf8_len(p, s->len) || steers(p, s->len)) {
		show_pending(s, out);
		return;
	}
	buf_add(out, s->pending, s->len);
	s->len = 0;
	s->state = ESCAPE_TEXT;
}

static void escape_text(struct escaper *s, unsigned char c, struct buf *out)
{
	if (c == 033 || utf8_need(c) > 1) {
		s->state = c == 033 ? ESCAPE_ESC : ESCAPE_UTF8;
		s->pending[0] = (char)c;
		s->len = 1;
	} else if (c == '\n' || c == '\t' || (c >= ' ' && c < 0x7f)) {
		buf_add(out, &c, 1);
	} else if (c != '\r') {
		/* A carriage return would let a line overwrite what was shown; with its line feed it is not missed. */
		show_byte(c, out);
	}
}

void output_escape(struct escaper *s, const char *data, size_t len, struct buf *out)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)data[i];
		bool fits = s->len + 1 < sizeof(s->pending);

		if (s->state == ESCAPE_UTF8 && (c & 0xc0) == 0x80) {
			s->pending[s->len++] = (char)c;
			escape_utf8(s, out);
		} else if ((s->state == ESCAPE_ESC && c == '[') ||
			   (s->state == ESCAPE_CSI && fits && ((c >= '0' && c <= '9') || c == ';'))) {
			s->state = ESCAPE_CSI;
			s->pending[s->len++] = (char)c;
		} else if (s->state == ESCAPE_CSI && c == 'm') {
			buf_add(out, s->pending, s->len);
			buf_str(out, "m");
			s->coloured = true;
			s->len = 0;
			s->state = ESCAPE_TEXT;
		} else {
			if (s->state != ESCAPE_TEXT)
				show_pending(s, out);
			escape_text(s, c, out);
		}
	}
}
