/* SPDX-License-Identifier: Apache-2.0 */
/* A command line: words separated by NUL. */
#include "fuzz.h"

#include "base/parse.h"
#include "run/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct opt_cmd cmd = { .name = "run", .usage = "", .summary = "", .opts = request_opts };
	char *text = malloc(size + 1), *argv[40] = { "run" }, shown[256];
	struct arena a = { 0 };
	struct request r = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	uint64_t v = 4711;
	int argc = 1;

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	for (char *p = text; p <= text + size && argc < 39; p += strlen(p) + 1)
		argv[argc++] = p;
	opt_defaults(request_opts, &r, &a);
	if (opt_parse(&cmd, argc, argv, &r, &rest, &a, &e) < 0)
		MUST(e.msg[0]);
	for (const struct opt *o = request_opts; o->name; o++) {
		opt_format(o, &r, shown, sizeof(shown));
		MUST(memchr(shown, 0, sizeof(shown)));
	}
	for (int i = 1; i < argc; i++) {
		if (parse_bytes(argv[i], &v, NULL) == 0)
			v = 4711;
		MUST(v == 4711);
		if (parse_ms(argv[i], &v, NULL) == 0 || parse_u64(argv[i], &v, NULL) == 0)
			v = 4711;
		MUST(v == 4711);
		MUST(parse_distance(argv[i], argv[i]) == 0 || strlen(argv[i]) >= 64);
		opt_near(request_opts, argv[i]);
	}
	arena_free(&a);
	free(text);
	return 0;
}
