/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units as people write them, and near misses of words. */
#include "base/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Reads digits with up to three decimals as thousandths; -1 on anything else or past 2^53. */
static int read_milli(const char **p, uint64_t *out)
{
	const char *s = *p;
	uint64_t whole = 0, part = 0;
	int digits = 0, decimals = 0;

	for (; isdigit((unsigned char)*s); s++, digits++) {
		if (whole > (1ULL << 53) / 10)
			return -1;
		whole = whole * 10 + (uint64_t)(*s - '0');
	}
	if (*s == '.') {
		for (s++; isdigit((unsigned char)*s); s++, digits++) {
			if (decimals < 3) {
				part = part * 10 + (uint64_t)(*s - '0');
				decimals++;
			}
		}
		for (; decimals < 3; decimals++)
			part *= 10;
	}
	if (!digits || whole > UINT64_MAX / 1000 - 1)
		return -1;
	*out = whole * 1000 + part;
	*p = s;
	return 0;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit byte_units[] = {
	{ "", 1 },	  { "B", 1 },	     { "K", 1ULL << 10 }, { "KB", 1ULL << 10 },
	{ "KiB", 1ULL << 10 }, { "M", 1ULL << 20 }, { "MB", 1ULL << 20 }, { "MiB", 1ULL << 20 },
	{ "G", 1ULL << 30 }, { "GB", 1ULL << 30 }, { "GiB", 1ULL << 30 }, { "T", 1ULL << 40 },
	{ NULL, 0 },
};

static const struct unit time_units[] = {
	{ "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "min", 60000 },
	{ "h", 3600000 }, { "d", 86400000 }, { NULL, 0 },
};

static int parse_unit(const char *text, const struct unit *units, uint64_t *out)
{
	const char *p = text;
	uint64_t milli;

	if (read_milli(&p, &milli) < 0)
		return -1;
	for (; units->name; units++) {
		if (strcasecmp(units->name, p) != 0)
			continue;
		if (milli > UINT64_MAX / units->factor)
			return -1;
		*out = milli * units->factor / 1000;
		return 0;
	}
	return -1;
}

int parse_bytes(const char *text, uint64_t *out, struct err *e)
{
	if (parse_unit(text, byte_units, out) < 0)
		return err_set(e, ERR_USAGE, "'%.40s' is not a size (try 64K, 512M or 2G)", text);
	return 0;
}

int parse_ms(const char *text, uint64_t *out, struct err *e)
{
	if (parse_unit(text, time_units, out) < 0)
		return err_set(e, ERR_USAGE, "'%.40s' is not a time (try 500ms, 10s or 2m)", text);
	return 0;
}

int parse_milli(const char *text, uint64_t *out, struct err *e)
{
	const char *p = text;
	uint64_t v;

	if (read_milli(&p, &v) < 0 || *p)
		return err_set(e, ERR_USAGE, "'%.40s' is not a number (try 1.0 or 0.5)", text);
	*out = v;
	return 0;
}

int parse_u64(const char *text, uint64_t *out, struct err *e)
{
	uint64_t v = 0;

	for (const char *p = text; *p || p == text; p++) {
		if (!isdigit((unsigned char)*p) || v > (UINT64_MAX - 9) / 10)
			return err_set(e, ERR_USAGE, "'%.40s' is not a whole number", text);
		v = v * 10 + (uint64_t)(*p - '0');
	}
	*out = v;
	return 0;
}

#define WORD_MAX 64

unsigned parse_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned rows[3][WORD_MAX];

	if (n >= WORD_MAX || m >= WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *cur = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];

		cur[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned best = up[j - 1] + (a[i - 1] != b[j - 1]);

			if (up[j] + 1 < best)
				best = up[j] + 1;
			if (cur[j - 1] + 1 < best)
				best = cur[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    up2[j - 2] + 1 < best)
				best = up2[j - 2] + 1;
			cur[j] = best;
		}
	}
	return rows[n % 3][m];
}

bool parse_is_near(const char *word, const char *candidate)
{
	size_t n = strlen(word);
	unsigned allowed = n <= 2 ? 1 : n <= 5 ? 2 : 3;

	return parse_distance(word, candidate) <= allowed ||
	       (n >= 3 && strncmp(word, candidate, n) == 0);
}

void format_bytes(uint64_t bytes, char *out, size_t size)
{
	static const char suffix[] = { 'K', 'M', 'G' };
	int i = -1;

	while (i < 2 && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	if (i < 0)
		snprintf(out, size, "%llu", (unsigned long long)bytes);
	else
		snprintf(out, size, "%llu%c", (unsigned long long)bytes, suffix[i]);
}
