/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles, ratios, verdicts and a table with aligned columns: the parts of a bench that touch nothing. */
#include "bench/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void samples_add(struct samples *s, double value)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 64;
		double *v = realloc(s->v, cap * sizeof(*v));

		if (!v)
			return;
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n++] = value;
	s->sorted = false;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double samples_percentile(struct samples *s, double percent)
{
	size_t rank;

	if (!s->n)
		return NAN;
	if (!s->sorted)
		qsort(s->v, s->n, sizeof(*s->v), compare);
	s->sorted = true;
	rank = (size_t)ceil(percent / 100 * (double)s->n);
	return s->v[rank < 1 ? 0 : rank > s->n ? s->n - 1 : rank - 1];
}

double samples_mean(const struct samples *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += s->v[i];
	return s->n ? sum / (double)s->n : NAN;
}

void samples_done(struct samples *s)
{
	free(s->v);
	memset(s, 0, sizeof(*s));
}

double stats_ratio(double over, double under)
{
	return isnan(over) || isnan(under) || under <= 0 ? NAN : over / under;
}

enum stats_verdict stats_judge(double measured, double wanted, bool at_most)
{
	if (isnan(measured))
		return STATS_UNKNOWN;
	return (at_most ? measured <= wanted : measured >= wanted) ? STATS_REACHED : STATS_MISSED;
}

const char *stats_verdict_text(enum stats_verdict v)
{
	static const char *const texts[] = { "not measured", "reached", "not reached" };

	return texts[v];
}

const char *stats_number(char *out, size_t size, double value, int digits)
{
	if (isnan(value))
		snprintf(out, size, "-");
	else
		snprintf(out, size, "%.*f",
			 value >= 1000	? 0
			 : digits < 2	? digits
			 : value >= 100 ? 1
			 : value < 0.1	? digits + 1
					: digits,
			 value);
	return out;
}

bool stats_list_has(const char *list, const char *word)
{
	size_t n = strlen(word);

	if (!list)
		return true;
	for (;; list++) {
		size_t len = strcspn(list, ",");

		if (len == n && strncmp(list, word, n) == 0)
			return true;
		list += len;
		if (!*list)
			return false;
	}
}

int64_t stats_field(const char *line, unsigned n)
{
	char *end;
	long long value;

	for (line += strspn(line, " \t"); n; n--) {
		line += strcspn(line, " \t\n");
		line += strspn(line, " \t");
	}
	value = strtoll(line, &end, 10);
	return end == line || value < 0 ? -1 : value;
}

void table_init(struct table *t, size_t columns, size_t left)
{
	*t = (struct table){ .columns = columns, .left = left };
}

void table_add(struct table *t, const char *text)
{
	strlist_add(&t->arena, &t->cells, arena_dup(&t->arena, text));
}

void table_number(struct table *t, double value, int digits)
{
	char text[32];

	table_add(t, stats_number(text, sizeof(text), value, digits));
}

static int column_width(const struct table *t, size_t column)
{
	size_t width = 0;

	for (size_t i = column; i < t->cells.n; i += t->columns)
		if (strlen(t->cells.v[i]) > width)
			width = strlen(t->cells.v[i]);
	return (int)width;
}

void table_print(const struct table *t, FILE *out, bool bold)
{
	for (size_t i = 0; i < t->cells.n; i++) {
		size_t column = i % t->columns;
		bool last = column + 1 == t->columns;
		/* The last column on the left needs no padding after it. */
		int width = last && column < t->left ? 0 : column_width(t, column);

		if (bold && i == 0)
			fputs("\033[1m", out);
		fprintf(out, "%s%*s", column ? "  " : "", column < t->left ? -width : width, t->cells.v[i]);
		if (last)
			fputs(bold && i + 1 == t->columns ? "\033[0m\n" : "\n", out);
	}
}

void table_done(struct table *t)
{
	arena_free(&t->arena);
	memset(t, 0, sizeof(*t));
}
