/* SPDX-License-Identifier: Apache-2.0 */
/* One output stream of a guest: passed on live, shown with start and end, kept in a log. */
#ifndef BELLJAR_RUN_OUTPUT_H
#define BELLJAR_RUN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "store/digest.h"

/* What is known of a sequence that is not complete yet. */
struct escaper {
	enum { ESCAPE_TEXT, ESCAPE_ESC, ESCAPE_CSI, ESCAPE_UTF8 } state;
	char pending[40];
	size_t len;
	bool coloured; /* a colour was passed on */
};

/*
 * Memory is bounded by the view's cap whatever the guest writes: the first half of the cap is kept as it comes, the second half
 * is a ring of the last bytes. When the view overflows, the log is begun with what is in memory, so it holds everything.
 */
struct output {
	uint64_t total, view_max, log_max;
	char *head, *ring;
	size_t head_len, head_cap, head_max, ring_len, ring_max, ring_at;
	int live;	     /* where bytes go at once, -1: nowhere */
	bool escape;	     /* `live` is a terminal: control sequences are made visible */
	struct escaper escaper;
	bool live_broken;    /* it cannot be written any more */
	int live_errno;	     /* why */
	bool hashing;	     /* all bytes, whatever is shown or kept of them */
	struct digest hash;
	bool keep_log;
	int log;
	uint64_t logged;
	char log_path[512];
};

void output_init(struct output *o, uint64_t view_max, uint64_t log_max);
void output_done(struct output *o);
/* Takes bytes from the guest. 0; 1 when the log's cap is passed; -1 on an error of ours (log not writable). `log_name` is the file
 * that is made when the view overflows. */
int output_add(struct output *o, const char *data, size_t len, const char *log_name, struct err *e);
/* The stream is over: a terminal gets its own colours back, so that no verdict is printed invisible. */
void output_end(struct output *o);
/* True when `len` more bytes begin the log: only then output_add() looks at its name. */
bool output_needs_log(const struct output *o, size_t len);
bool output_truncated(const struct output *o);
/* The view: all bytes, or start, marker, end. */
int output_view(const struct output *o, struct buf *out);
/* Keeps only what cannot steer a terminal: text, line ends, tabs and colours; all else is made visible (^[, \x9b). */
void output_escape(struct escaper *s, const char *data, size_t len, struct buf *out);

#endif
