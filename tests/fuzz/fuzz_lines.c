/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a batch, in pieces as a pipe brings them: split as a plain split would, and each read as a request. */
#include "fuzz.h"

#include <sys/socket.h>

#include "base/field.h"
#include "jar/feed.h"
#include "run/lines.h"
#include "run/request.h"

/* The next line of the whole input, by the plainest means. False: there is none. */
static bool plain_line(const uint8_t *data, size_t size, size_t *at, size_t *from, size_t *len, bool *cut)
{
	const uint8_t *end;

	if (*at >= size)
		return false;
	end = memchr(data + *at, '\n', size - *at);
	*from = *at;
	*len = end ? (size_t)(end - data) - *at : size - *at;
	*cut = !end;
	*at += *len + !!end;
	return true;
}

static void read_request(const char *text, size_t len)
{
	struct arena a = { 0 };
	struct request r = { 0 };
	struct err e = { 0 };

	opt_defaults(request_opts, &r, &a);
	if (request_from_json(&r, text, len, &a, &e) < 0) {
		MUST(e.kind == ERR_REQUEST && e.msg[0] && memchr(e.msg, 0, sizeof(e.msg)));
	} else {
		for (size_t i = 0; i < r.file_count; i++)
			MUST(feed_name_ok(r.files[i].path, strlen(r.files[i].path)));
	}
	/* A bad line's result has its id and client all the same. */
	MUST(!r.id || strlen(r.id) <= len);
	MUST(!r.client || strlen(r.client) <= len);
	arena_free(&a);
}

/* The field that a kind of lines has for itself: a piece of the line, which is taken out as it is written. */
static void cut_field(const char *text, size_t len)
{
	const char *at;
	size_t n;

	if (!field_find(text, len, "test", &at, &n))
		return;
	MUST(n > 0 && at > text && (size_t)(at - text) + n <= len);
	MUST(*at != ' ' && at[n - 1] != ' ');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t max, piece, sent = 0, at = 0, from, want, whole = 0;
	struct lines l;
	int sock[2];
	bool cut;

	if (size < 2)
		return 0;
	max = data[0] < 64 ? data[0] : 65536;
	piece = (size_t)data[1] * 3 + 1;
	data += 2;
	size -= 2;
	/* One message, one read. */
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sock) == 0);
	lines_init(&l, sock[0], max);
	for (;;) {
		const char *text = NULL;
		size_t len = 0;
		bool was_cut = false;
		enum lines_result got = lines_next(&l, &text, &len, &was_cut);

		MUST(l.at <= l.seen && l.seen <= l.buf.len && l.bytes <= size);
		if (got == LINES_MORE) {
			size_t n = size - sent < piece ? size - sent : piece;

			MUST(!l.eof);
			if (!n)
				MUST(shutdown(sock[1], SHUT_WR) == 0);
			else
				MUST(send(sock[1], data + sent, n, 0) == (ssize_t)n);
			sent += n;
			MUST(lines_fill(&l) == 0);
			continue;
		}
		if (got == LINES_END)
			break;
		MUST(plain_line(data, size, &at, &from, &want, &cut));
		MUST(l.number == ++whole && was_cut == cut && l.bytes == at);
		MUST((got == LINES_LONG) == (want > max));
		if (got == LINES_LINE) {
			MUST(len == want && memcmp(text, data + from, len) == 0);
			cut_field(text, len);
		read_request(text, len);
		}
	}
	MUST(!plain_line(data, size, &at, &from, &want, &cut));
	lines_done(&l);
	close(sock[0]);
	close(sock[1]);
	return 0;
}
