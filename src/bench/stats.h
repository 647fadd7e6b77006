/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles, ratios, verdicts and a table with aligned columns: the parts of a bench that touch nothing. A value that is not known is NAN. */
#ifndef BELLJAR_BENCH_STATS_H
#define BELLJAR_BENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"

struct samples {
	double *v;
	size_t n, cap;
	bool sorted;
};

/* A sample that finds no memory is dropped. */
void samples_add(struct samples *s, double value);
/* The smallest sample that `percent` of all samples do not exceed (nearest rank); NAN without samples. */
double samples_percentile(struct samples *s, double percent);
double samples_mean(const struct samples *s);
void samples_done(struct samples *s);

/* over / under; NAN when one of them is not known or `under` is not positive. */
double stats_ratio(double over, double under);

enum stats_verdict { STATS_UNKNOWN, STATS_REACHED, STATS_MISSED };

/* `at_most`: small is good. */
enum stats_verdict stats_judge(double measured, double wanted, bool at_most);
const char *stats_verdict_text(enum stats_verdict v);

/* "12.34", or "-" for NAN. As many digits as `digits` says, fewer for large values, one more below 0.1. */
const char *stats_number(char *out, size_t size, double value, int digits);
/* Whether a comma-separated list names the word; NULL names all. */
bool stats_list_has(const char *list, const char *word);

/* The n-th word (from 0) of a line as a number, as the files of /proc have them; -1 when there is none. */
int64_t stats_field(const char *line, unsigned n);

/* Rows of cells; the first `left` columns are aligned left, the others right. */
struct table {
	struct arena arena;
	struct strlist cells;
	size_t columns, left;
};

void table_init(struct table *t, size_t columns, size_t left);
void table_add(struct table *t, const char *text);
void table_number(struct table *t, double value, int digits);
/* `bold`: the first row is a heading, shown so on a terminal. */
void table_print(const struct table *t, FILE *out, bool bold);
void table_done(struct table *t);

#endif
