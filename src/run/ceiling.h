/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator has set: who comes after may ask for less, never for more (docs/operator.md). */
#ifndef BELLJAR_RUN_CEILING_H
#define BELLJAR_RUN_CEILING_H

#include "run/request.h"

#define CEILING_ROWS 64

/* Who asks: it is named in the error. */
enum ceiling_asker { CEILING_FILE, CEILING_ENV, CEILING_OPTION, CEILING_REQUEST };

struct ceiling {
	struct request at;		/* the values; only those of rows in `by` count */
	const char *by[CEILING_ROWS];	/* by row of request_opts: who has set it ("system file"); NULL: it was not set, and a default is no ceiling */
};

/* The row's value in `r` is a ceiling from now on. A row that is none (a host name) is passed over. */
void ceiling_set(struct ceiling *c, const struct opt *o, const struct request *r, const char *by);
/*
 * Holds `r`, which began as `began`, against the ceiling. A value that was asked for and is past it is an error (ERR_DENIED) that names the row as the asker
 * wrote it; one that was not asked for is lowered. Rules of the ceiling are added. `path`: the asking file, for CEILING_FILE.
 */
int ceiling_apply(const struct ceiling *c, const struct request *began, struct request *r, enum ceiling_asker asker, const char *path, struct arena *a, struct err *e);
/* Lowers what is past it, without a word: for values that nobody asked for. */
void ceiling_clamp(const struct ceiling *c, struct request *r);
/* One number of a row that somebody else has read ("memory" of a judge's cases); 0 asks for nothing. */
int ceiling_number(const struct ceiling *c, const char *row, uint64_t value, const char *shown, struct err *e);

/* The system file's ceiling, for every jar of this process, whichever way its request came about. It must live on. */
void ceiling_hold_all(const struct ceiling *c);
/* Lowers limits that are past it. */
void ceiling_held(struct jar_limits *l);

#endif
