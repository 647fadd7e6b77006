/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier's report on a sample, as JSON. */
#include "grade/report.h"

#include <string.h>

#include "grade/text.h"

#define WHY_MAX 300

/* What stands in the place of a report that nobody can use. */
static json_t *unreadable(const char *why)
{
	char clean[WHY_MAX + 1];
	size_t n = 0;

	for (; *why && n < WHY_MAX; why++)
		clean[n++] = *why >= 0x20 && *why < 0x7f ? *why : '?';
	clean[n] = '\0';
	return json_pack("{s:b, s:s, s:s, s:s+, s:[]}", "passed", 0, "result", "failed: the answer could not be judged", "reason", "unencodable", "detail",
			 "the verifier could not judge this answer: ", clean, "results");
}

static bool has_rows(const json_t *report)
{
	const json_t *rows = json_object_get(report, "results"), *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (!json_is_object(row))
			return false;
	}
	return !rows || json_is_array(rows);
}

json_t *report_read(const struct grade_outcome *o, struct err *e)
{
	json_error_t je = { .text = "it gave none" };
	json_t *report = NULL, *usable = NULL;
	const char *why;

	if (o->failure.msg[0]) {
		*e = o->failure;
		return NULL;
	}
	if (o->report)
		report = json_loadb(o->report, o->report_len, JSON_ALLOW_NUL, &je);
	if (json_is_object(report) && !json_object_get(report, "internal") && has_rows(report))
		return report;
	why = json_string_value(json_object_get(report, "internal"));
	if (!why)
		why = report ? "its report has another form" : je.text;
	if (o->answered)
		usable = unreadable(why);
	else
		err_set(e, ERR_INTERNAL, "the verifier failed: %.*s", WHY_MAX, why);
	json_decref(report);
	return usable;
}

const char *report_text(const json_t *o, const char *key, struct arena *a)
{
	const json_t *v = json_object_get(o, key);
	const char *s = json_string_value(v);
	size_t n = json_string_length(v);

	return !s ? "" : memchr(s, '\0', n) ? text_clean(a, (struct span){ s, n }, n) : s;
}
