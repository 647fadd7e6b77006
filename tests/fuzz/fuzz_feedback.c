/* SPDX-License-Identifier: Apache-2.0 */
/* A result that may be anything, and source code: feedback is bounded UTF-8, and each of its lines is ours. */
#include "fuzz.h"

#include <jansson.h>

#include "grade/feedback.h"
#include "grade/trace.h"

static void check_text(const char *text, bool lines)
{
	for (const char *p = text; *p; p++)
		MUST(((unsigned char)*p >= 0x20 && *p != 0x7f) || (lines && *p == '\n'));
}

static void check(const json_t *f)
{
	const json_t *items = json_object_get(f, "items"), *it, *v;
	const char *text = json_string_value(json_object_get(f, "text")), *key;
	size_t i;

	MUST(text && strlen(text) <= FEEDBACK_TEXT_MAX && json_is_string(json_object_get(f, "summary")));
	check_text(text, true);
	MUST(json_array_size(items) && json_array_size(items) <= FEEDBACK_ITEMS_MAX);
	json_array_foreach(items, i, it) {
		MUST(json_is_string(json_object_get(it, "kind")) && json_is_string(json_object_get(it, "text")));
		json_object_foreach((json_t *)it, key, v)
			if (json_is_string(v)) {
				check_text(json_string_value(v), false);
				MUST(json_string_length(v) < 8192);
			}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	size_t n = zero ? (size_t)(zero - data) : size;
	struct span source = { (const char *)data + n, size - n };
	json_t *result = json_loadb((const char *)data, n, JSON_ALLOW_NUL, NULL), *f;
	struct trace t;

	trace_parse((struct span){ (const char *)data, n }, NULL, &t);
	trace_parse((struct span){ (const char *)data, n }, "bash", &t);
	if (!result)
		return 0;
	f = feedback_make(result, source);
	if (f)
		check(f);
	json_decref(f);
	json_decref(result);
	return 0;
}
