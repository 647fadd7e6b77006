/* SPDX-License-Identifier: Apache-2.0 */
/* A receipt: its text, its hash, and reading it again. */
#include "store/receipt.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/parse.h"

int receipt_join(const struct receipt *r, uint64_t seq, const uint8_t prev[DIGEST_SIZE], struct buf *out)
{
	char hex[DIGEST_HEX], number[32];
	int n = snprintf(number, sizeof(number), "\"seq\":%llu", (unsigned long long)seq);

	digest_hex(prev, DIGEST_SIZE, hex);
	buf_add(out, r->part[0], r->part_len[0]);
	buf_add(out, "\"prev\":\"", 8);
	buf_add(out, hex, DIGEST_HEX - 1);
	buf_add(out, "\"", 1);
	buf_add(out, r->part[1], r->part_len[1]);
	buf_add(out, number, (size_t)n);
	return buf_add(out, r->part[2], r->part_len[2]);
}

void receipt_hash(const char *body, size_t len, uint8_t out[DIGEST_SIZE])
{
	struct digest d;

	digest_init(&d);
	digest_add(&d, RECEIPT_TAG, sizeof(RECEIPT_TAG) - 1);
	digest_add(&d, body, len);
	digest_get(&d, out);
}

/* ---- time ---- */

int64_t receipt_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The date of a day counted from 1970-01-01 in the Gregorian calendar, by eras of 400 years. gmtime_r() would read the host's time zone first, which
 * takes longer than all of this. */
static void date_of(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
	int64_t era, z = days + 719468;
	unsigned doe, yoe, doy, mp;

	era = (z >= 0 ? z : z - 146096) / 146097;
	doe = (unsigned)(z - era * 146097);
	yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	mp = (5 * doy + 2) / 153;
	*day = doy - (153 * mp + 2) / 5 + 1;
	*month = mp < 10 ? mp + 3 : mp - 9;
	*year = (int64_t)yoe + era * 400 + (*month <= 2);
}

void receipt_time(int64_t time_ms, char out[32])
{
	int64_t left = time_ms % 86400000, year;
	unsigned month, day;

	if (left < 0)
		left += 86400000;
	date_of((time_ms - left) / 86400000, &year, &month, &day);
	/* A clock that says the year 20000 is somebody's joke, not a longer text. */
	if (year < 0 || year > 9999) {
		snprintf(out, 32, "0000-01-01T00:00:00.000Z");
		return;
	}
	snprintf(out, 32, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", (unsigned)year % 10000, month % 100, day % 100,
		 (unsigned)(left / 3600000) % 100, (unsigned)(left / 60000 % 60), (unsigned)(left / 1000 % 60),
		 (unsigned)(left % 1000));
}

static int bad_time(const char *text, struct err *e)
{
	err_set(e, ERR_USAGE, "'%.60s' is no time", text);
	return err_hint(e, "2026-11-15, 2026-11-15T11:26:04Z (UTC), @SECONDS, or an age: 2h, 7d");
}

static int parse_date(const char *text, int64_t *out)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%Y-%m-%d", &tm);
	unsigned ms = 0;

	if (rest && (*rest == 'T' || *rest == ' '))
		rest = strptime(rest + 1, strchr(rest, ':') && strchr(strchr(rest, ':') + 1, ':') ? "%H:%M:%S" : "%H:%M", &tm);
	if (rest && *rest == '.') {
		char *end;

		if (strspn(rest + 1, "0123456789") != 3)
			return -1;
		ms = (unsigned)strtoul(rest + 1, &end, 10);
		rest = end;
	}
	if (!rest || (*rest && strcmp(rest, "Z") != 0))
		return -1;
	*out = (int64_t)timegm(&tm) * 1000 + ms;
	return 0;
}

int receipt_parse_time(const char *text, int64_t *out, struct err *e)
{
	struct err ignored;
	uint64_t age;
	char *end;

	if (text[0] == '@') {
		long long s = strtoll(text + 1, &end, 10);

		if (!text[1] || *end || s < -(1LL << 40) || s > 1LL << 40)
			return bad_time(text, e);
		*out = s * 1000;
		return 0;
	}
	if (parse_date(text, out) == 0)
		return 0;
	if (strchr(text, '-') || parse_ms(text, &age, &ignored) < 0 || age > INT64_MAX / 2)
		return bad_time(text, e);
	*out = receipt_now_ms() - (int64_t)age;
	return 0;
}

/* ---- reading ---- */

static int bad(struct err *e, const char *what)
{
	return err_set(e, ERR_INPUT, "not a receipt: %s", what);
}

/* A string, or null where that may be. */
static bool get_text(const json_t *o, const char *key, bool null, const char **out, struct arena *a)
{
	const json_t *v = json_object_get(o, key);

	*out = NULL;
	if (null && json_is_null(v))
		return true;
	if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
		return false;
	*out = arena_dup(a, json_string_value(v));
	return true;
}

static bool get_hash(const json_t *o, const char *key, uint8_t out[DIGEST_SIZE])
{
	const char *text = json_string_value(json_object_get(o, key));

	return text && digest_from_hex(text, out, DIGEST_SIZE);
}

static int read_object(const json_t *o, struct receipt_body *b, struct arena *a, struct err *e)
{
	const json_t *seq = json_object_get(o, "seq"), *code = json_object_get(o, "code"), *v = json_object_get(o, "v");
	const char *when = NULL;

	if (!json_is_integer(v) || json_integer_value(v) != 1)
		return bad(e, "its version is not 1");
	if (!json_is_integer(seq) || json_integer_value(seq) < 1)
		return bad(e, "it has no 'seq'");
	b->seq = (uint64_t)json_integer_value(seq);
	if (!get_hash(o, "prev", b->prev))
		return bad(e, "it has no 'prev'");
	if (!get_text(o, "id", false, &b->id, a) || !get_text(o, "status", false, &b->status, a) ||
	    !get_text(o, "reason", false, &b->reason, a) || !get_text(o, "client", true, &b->client, a) ||
	    !get_text(o, "language", true, &b->language, a) || !get_text(o, "time", false, &when, a) ||
	    parse_date(when, &b->time_ms) < 0)
		return bad(e, "id, time, client, language, status or reason is missing or of another type");
	b->has_code = json_is_object(code);
	if (b->has_code ? !get_hash(code, "sha256", b->code_hash) : !json_is_null(code))
		return bad(e, "it has no 'code'");
	return 0;
}

int receipt_read(const char *body, size_t len, struct receipt_body *out, struct arena *a, struct err *e)
{
	json_error_t je;
	json_t *o = len <= RECEIPT_BODY_MAX ? json_loadb(body, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je) : NULL;
	struct receipt_body b = { 0 };
	auto_free char *again = NULL;
	int rc;

	if (!json_is_object(o)) {
		json_decref(o);
		return bad(e, "its body is no JSON object");
	}
	rc = read_object(o, &b, a, e);
	if (rc == 0) {
		again = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
		if (!again || strlen(again) != len || memcmp(again, body, len) != 0)
			rc = bad(e, "its body is not in canonical form");
	}
	json_decref(o);
	if (rc == 0)
		*out = b;
	return rc;
}
