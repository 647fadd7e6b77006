/* SPDX-License-Identifier: Apache-2.0 */
/* What a program printed beside what it should have printed. */
#include "grade/judge_compare.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const compare_mode_names[COMPARE_MODES] = { "exact", "tokens", "float", "checker" };

/* ---- words ---- */

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* One side, read word by word. */
struct words {
	const char *data;
	size_t len, at;
	size_t line_start;
	uint64_t line;
	const char *word; /* the last one read */
	size_t word_len;
};

static bool next_word(struct words *w)
{
	size_t start;

	while (w->at < w->len && is_space(w->data[w->at])) {
		if (w->data[w->at++] == '\n') {
			w->line++;
			w->line_start = w->at;
		}
	}
	start = w->at;
	while (w->at < w->len && !is_space(w->data[w->at]))
		w->at++;
	w->word = w->data + start;
	w->word_len = w->at - start;
	return w->word_len > 0;
}

static size_t line_end(const char *data, size_t len, size_t at)
{
	const char *end = at < len ? memchr(data + at, '\n', len - at) : NULL;

	return end ? (size_t)(end - data) : len;
}

static struct compare_line line_of(const struct words *w, bool there)
{
	struct compare_line l = { .text = w->data + w->line_start, .end = !there };

	if (there) {
		l.len = line_end(w->data, w->len, w->at) - w->line_start;
		l.at = (size_t)(w->word - l.text);
	}
	return l;
}

static bool same_word(const struct compare *c, const struct words *a, const struct words *b)
{
	if (a->word_len == b->word_len && memcmp(a->word, b->word, a->word_len) == 0)
		return true;
	return c->mode == COMPARE_FLOAT && compare_numbers(c, a->word, a->word_len, b->word, b->word_len);
}

static bool same_words(const struct compare *c, const char *expected, size_t expected_len, const char *got, size_t got_len, struct compare_diff *diff)
{
	struct words a = { .data = expected, .len = expected_len, .line = 1 }, b = { .data = got, .len = got_len, .line = 1 };

	for (uint64_t token = 1;; token++) {
		bool more_a = next_word(&a), more_b = next_word(&b);

		if (!more_a && !more_b)
			return true;
		if (more_a && more_b && same_word(c, &a, &b))
			continue;
		diff->token = token;
		diff->line = more_a ? a.line : b.line;
		diff->expected = line_of(&a, more_a);
		diff->got = line_of(&b, more_b);
		return false;
	}
}

/* ---- numbers ---- */

enum number { NUMBER_NONE, NUMBER_FINITE, NUMBER_NAN, NUMBER_PLUS_INF, NUMBER_MINUS_INF };

static bool is_one_of(const char *text, size_t len, const char *a, const char *b)
{
	return (len == strlen(a) && strncasecmp(text, a, len) == 0) || (len == strlen(b) && strncasecmp(text, b, len) == 0);
}

/* Digits, one point, one exponent: strtold() alone would take hexadecimal and "nan(x)" too. */
static bool is_decimal(const char *p, size_t len)
{
	size_t i = len && (p[0] == '+' || p[0] == '-'), digits = 0, n = 0;

	for (; i < len && p[i] >= '0' && p[i] <= '9'; i++)
		digits++;
	if (i < len && p[i] == '.')
		for (i++; i < len && p[i] >= '0' && p[i] <= '9'; i++)
			digits++;
	if (digits && i < len && (p[i] == 'e' || p[i] == 'E')) {
		i++;
		if (i < len && (p[i] == '+' || p[i] == '-'))
			i++;
		for (; i < len && p[i] >= '0' && p[i] <= '9'; i++)
			n++;
		if (!n)
			return false;
	}
	return digits && i == len;
}

static enum number read_number(const char *p, size_t len, long double *out)
{
	size_t sign = len && (p[0] == '+' || p[0] == '-');
	char text[COMPARE_NUMBER_MAX + 1];

	if (is_one_of(p + sign, len - sign, "nan", "nan"))
		return NUMBER_NAN;
	if (is_one_of(p + sign, len - sign, "inf", "infinity"))
		return p[0] == '-' ? NUMBER_MINUS_INF : NUMBER_PLUS_INF;
	if (len > COMPARE_NUMBER_MAX || !is_decimal(p, len))
		return NUMBER_NONE;
	memcpy(text, p, len);
	text[len] = '\0';
	*out = strtold(text, NULL);
	return isfinite(*out) ? NUMBER_FINITE : NUMBER_NONE;
}

bool compare_numbers(const struct compare *c, const char *expected, size_t expected_len, const char *got, size_t got_len)
{
	long double a = 0, b = 0, room;
	enum number ka = read_number(expected, expected_len, &a), kb = read_number(got, got_len, &b);

	if (ka == NUMBER_NONE || ka != kb)
		return false;
	if (ka != NUMBER_FINITE)
		return true;
	room = fabsl(a) * (long double)c->rel;
	if (room < (long double)c->abs)
		room = (long double)c->abs;
	/* The tolerance itself is inside, although a double holds 1e-6 only nearly. */
	room += room * 2 * (long double)DBL_EPSILON;
	/* Said this way round, nothing that is no number passes. */
	return fabsl(a - b) <= room;
}

/* ---- lines ---- */

static size_t without_blanks(const char *data, size_t len)
{
	while (len && (data[len - 1] == ' ' || data[len - 1] == '\t' || data[len - 1] == '\r'))
		len--;
	return len;
}

/* What is left when blanks and empty lines at the end are gone. */
static size_t without_tail(const char *data, size_t len)
{
	while (len && (data[len - 1] == '\n' || data[len - 1] == ' ' || data[len - 1] == '\t' || data[len - 1] == '\r'))
		len--;
	return len;
}

static bool same_lines(const char *expected, size_t expected_len, const char *got, size_t got_len, struct compare_diff *diff)
{
	size_t a = 0, b = 0, a_max = without_tail(expected, expected_len), b_max = without_tail(got, got_len);

	for (uint64_t line = 1; a < a_max || b < b_max; line++) {
		size_t a_end = line_end(expected, a_max, a), b_end = line_end(got, b_max, b);
		/* Past the end there is nothing to point at but the end itself. */
		struct compare_line x = { .text = expected + (a < a_max ? a : a_max), .end = a >= a_max };
		struct compare_line y = { .text = got + (b < b_max ? b : b_max), .end = b >= b_max };

		x.len = x.end ? 0 : without_blanks(x.text, a_end - a);
		y.len = y.end ? 0 : without_blanks(y.text, b_end - b);
		if (x.end != y.end || x.len != y.len || (x.len && memcmp(x.text, y.text, x.len) != 0)) {
			while (x.at < x.len && x.at < y.len && x.text[x.at] == y.text[x.at])
				x.at++;
			y.at = x.at;
			*diff = (struct compare_diff){ .line = line, .expected = x, .got = y };
			return false;
		}
		a = a_end + 1;
		b = b_end + 1;
	}
	return true;
}

enum compare_result compare_run(const struct compare *c, const char *expected, size_t expected_len, const char *got, size_t got_len,
				struct compare_diff *diff)
{
	struct compare_diff words;

	memset(diff, 0, sizeof(*diff));
	expected = expected ? expected : "";
	got = got ? got : "";
	if (c->mode != COMPARE_EXACT)
		return same_words(c, expected, expected_len, got, got_len, diff) ? COMPARE_SAME : COMPARE_OTHER;
	if (same_lines(expected, expected_len, got, got_len, diff))
		return COMPARE_SAME;
	return same_words(c, expected, expected_len, got, got_len, &words) ? COMPARE_SPACING : COMPARE_OTHER;
}

/* ---- options ---- */

bool compare_tolerance_ok(double rel, double abs)
{
	return rel >= 0 && rel <= 1 && abs >= 0 && abs <= 1e18;
}

static bool read_tolerance(const char **text, double *out)
{
	char number[64];
	size_t n = strcspn(*text, ",");

	if (!n || n >= sizeof(number) || !is_decimal(*text, n))
		return false;
	memcpy(number, *text, n);
	number[n] = '\0';
	*out = strtod(number, NULL);
	*text += n;
	return true;
}

int compare_parse(const char *text, struct compare *out, struct err *e)
{
	struct compare c = { .rel = COMPARE_REL, .abs = COMPARE_ABS };
	size_t n = strcspn(text, ":");
	bool good = false;

	for (int i = 0; i < COMPARE_MODES; i++)
		if (strlen(compare_mode_names[i]) == n && strncmp(text, compare_mode_names[i], n) == 0) {
			c.mode = (enum compare_mode)i;
			good = true;
		}
	if (good && text[n] == ':') {
		const char *p = text + n + 1;

		good = c.mode == COMPARE_FLOAT && read_tolerance(&p, &c.rel) && (*p != ',' || (p++, read_tolerance(&p, &c.abs))) && !*p &&
		       compare_tolerance_ok(c.rel, c.abs);
	}
	if (!good) {
		err_set(e, ERR_USAGE, "'%.60s' is no comparison", text);
		return err_hint(e, "exact, tokens, float, float:REL or float:REL,ABS (REL at most 1), checker");
	}
	*out = c;
	return 0;
}
