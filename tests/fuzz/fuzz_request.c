/* SPDX-License-Identifier: Apache-2.0 */
/* A request object: parsed, and what passes is inside the ranges of its rows. */
#include "fuzz.h"

#include "jar/feed.h"
#include "run/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct request r = { 0 };
	struct err e = { 0 };

	opt_defaults(request_opts, &r, &a);
	if (request_from_json(&r, (const char *)data, size, &a, &e) < 0) {
		MUST(e.kind == ERR_REQUEST && e.msg[0] && memchr(e.msg, 0, sizeof(e.msg)));
	} else {
		for (const struct opt *o = request_opts; o->name; o++)
			if (o->max && o->kind >= OPT_BYTES) {
				uint64_t v = *(uint64_t *)((char *)&r + o->at);

				MUST((v == 0 && !o->def) || (v >= o->min && v <= o->max));
			}
		for (size_t i = 0; i < r.file_count; i++)
			MUST(feed_name_ok(r.files[i].path, strlen(r.files[i].path)) && !r.files[i].source != !r.files[i].content);
		/* No host file is opened here: the target is the checks, not the disk. */
		if (!r.file_opts.n)
			request_resolve(&r, &a, &e);
	}
	arena_free(&a);
	return 0;
}
