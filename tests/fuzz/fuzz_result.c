/* SPDX-License-Identifier: Apache-2.0 */
/* A guest's output on its way into the result: counts are right, and the object is JSON whatever the bytes. */
#include "fuzz.h"

#include <jansson.h>

#include "run/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct result r;
	struct request req = { .id = "x" };
	struct artifact file = { .path = "", .refused = "why" };
	struct arena a = { 0 };
	struct buf line = BUF_INIT(1 << 20);
	struct err e;
	uint64_t view, log;
	size_t step;
	char *text;
	json_t *o;

	if (size < 3)
		return 0;
	view = 1 + data[0];
	log = view + data[1] * 8U;
	step = 1 + data[2];
	data += 3;
	size -= 3;
	memset(&r, 0, sizeof(r));
	r.run.there = true;
	r.run.evidence.code = 1;
	for (int i = 0; i < 2; i++)
		output_init(&r.run.out[i], view, log);
	for (size_t at = 0; at < size; at += step)
		if (output_add(&r.run.out[at / step % 2], (const char *)data + at, size - at < step ? size - at : step, "/nowhere", &e))
			break;
	MUST(r.run.out[0].total + r.run.out[1].total <= size);
	/* File names are a guest's too. */
	file.path = arena_dup_len(&a, (const char *)data, size < 200 ? size : 200);
	r.files.list = &file;
	verdict_make(&r.verdict, &r.run.evidence, &r.run.limits);
	text = result_to_json(&r, &req);
	MUST(text);
	o = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	MUST(o && json_is_string(json_object_get(o, "stdout")));
	json_decref(o);
	free(text);
	/* The line of a batch is the same object, before anybody has parsed it. */
	MUST(result_add_line(&r, &req, 7, &line) == 0 && result_end_line(&r.receipt, NULL, &line) == 0);
	o = json_loadb(line.data, line.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	MUST(o && !memchr(line.data, '\n', line.len - 1));
	json_decref(o);
	buf_done(&line);
	for (int i = 0; i < 2; i++)
		output_done(&r.run.out[i]);
	arena_free(&a);
	return 0;
}
