/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration file: a project's one can only tighten, whatever it says. */
#include "fuzz.h"

#include "run/config.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config c;
	struct request r = { 0 }, before;
	struct arena a = { 0 };
	struct err e = { 0 };
	enum config_source from;
	char path[32];
	int fd, rc;

	if (!size)
		return 0;
	from = data[0] & 1 ? CONFIG_PROJECT : CONFIG_USER;
	fd = fuzz_fd(data + 1, size - 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(&c, 0, sizeof(c));
	opt_defaults(request_opts, &r, &a);
	before = r;
	rc = load_file(&c, &r, from, path, &a, &e);
	MUST(rc == 0 || e.msg[0]);
	if (rc == 0 && from == CONFIG_PROJECT) {
		MUST(!c.allow_host_network && !c.layers.n && !r.allow_degraded && strcmp(r.network, "none") == 0);
		for (const struct opt *o = request_opts; o->name; o++) {
			uint64_t was, is;

			if (o->kind < OPT_BYTES)
				continue;
			memcpy(&was, (char *)&before + o->at, sizeof(was));
			memcpy(&is, (char *)&r + o->at, sizeof(is));
			MUST(was == 0 || (is <= was && (is || !o->max)));
		}
	}
	close(fd);
	arena_free(&a);
	return 0;
}
