/* SPDX-License-Identifier: Apache-2.0 */
/* What comes from a candidate's jar and from a verifier: frames, a report that may be anything, its result, its feedback. With an answer it is a verdict. */
#include "fuzz.h"

#include <jansson.h>

#include "grade/frames.h"
#include "grade/functions.h"
#include "grade/report.h"

/* Frames out of a stream that comes in pieces lie inside of it, and are none too long. */
static void check_frames(const uint8_t *data, size_t size)
{
	struct frames f = { 0 };
	size_t step = size ? data[0] % 7 + 1 : 1, n, sum = 0;
	const char *frame;

	frames_init(&f, 1 << 12);
	for (size_t i = 0; i < size; i += step) {
		frames_add(&f, (const char *)data + i, size - i < step ? size - i : step);
		while (frames_next(&f, &frame, &n)) {
			MUST(n <= 1 << 12);
			sum += n + 4;
		}
	}
	MUST(sum <= size);
	frames_done(&f);
}

static void check_result(json_t *result)
{
	char *text = json_dumps(result, JSON_ENSURE_ASCII);
	json_t *again;

	MUST(json_is_boolean(json_object_get(result, "all_passed")) && json_is_array(json_object_get(result, "test_results")));
	/* What is printed can be read again. */
	MUST(text);
	again = json_loads(text, JSON_ALLOW_NUL, NULL);
	MUST(again);
	json_decref(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct result run;
	static struct request req;
	struct grade_outcome o = { .report = (const char *)data, .report_len = size, .result = &run, .answered = true, .oom_kills = size % 3 };
	struct arena a = { 0 };
	struct err e = { 0 };
	json_t *report, *result;

	check_frames(data, size);
	report = report_read(&o, &e);
	MUST(report && !e.msg[0]);
	report_text(report, "detail", &a);
	json_decref(report);
	/* Without an answer it is a report, or a failure that says something. */
	o.answered = false;
	report = report_read(&o, &e);
	MUST(report || e.msg[0]);
	json_decref(report);
	o.answered = true;
	err_clear(&e);
	result = function_result(&o, &e);
	/* Only cases that are bad, which the candidate does not write, give none. */
	MUST(result || e.kind == ERR_INPUT);
	if (result) {
		req.code = "def f(x):\n    return x\n";
		req.code_len = strlen(req.code);
		function_feedback(result, &req);
		check_result(result);
		json_decref(result);
	}
	arena_free(&a);
	return 0;
}
